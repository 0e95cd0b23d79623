"""Tests of the graph by the names that reports of their runners have for them.

pytest and vitest call a test as the graph does. jest joins the titles of groups by spaces, and
cargo-nextest names a binary instead of a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from kl_hooks.code.file_facts import outlines
from kl_hooks.code.languages import is_named, names_of_language
from kl_hooks.model.symbol import make_id

if TYPE_CHECKING:
    from kl_hooks.store.database import Rows

_BETWEEN_TITLES: Final = " > "
_RUST: Final = names_of_language("Rust")
"""Of its sources, and of what Cargo states."""


def tests_by_reported_name(db: Rows, reported: Iterable[str]) -> dict[str, str]:
    """Name in a report, after `test:` → the name that the graph has; of those that mean one test of
    it, and are called otherwise there.

    A case of a parametrized Rust test comes in brackets after it: `src/cart.rs::adds[case_1]` of
    `cart::adds::case_1`.
    """
    tests = [identifier.partition(":")[2] for identifier in _tests(db)]
    graph_names = set(tests)
    wanted = sorted({*reported} - graph_names)
    if not wanted:
        return {}
    rust_tests = [test for test in tests if is_named(test.partition("::")[0], _RUST)]
    joined = _unambiguous(
        (test.replace(_BETWEEN_TITLES, " "), test) for test in graph_names - {*rust_tests}
    )
    in_binaries = _rust_names(db, rust_tests) if rust_tests else {}
    renamed = {}
    for name in wanted:
        test = joined.get(name) or _rust_test(name, in_binaries)
        if test:
            renamed[name] = test
    return renamed


def _tests(db: Rows) -> list[str]:
    """The IDs of the tests of files that are modules by their paths."""
    sql = """SELECT f.path, r.outer, r.name FROM symbol_rows r JOIN files f ON f.number = r.file
        WHERE r.sort = 'test' AND f.module = f.path"""
    return [make_id("test", f"{path}{outer}{name}") for path, outer, name in db.rows(sql)]


def _unambiguous(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Without the names that mean several tests."""
    tests_of: dict[str, set[str]] = {}
    for name, test in pairs:
        tests_of.setdefault(name, set()).add(test)
    return {name: min(tests) for name, tests in tests_of.items() if len(tests) == 1}


def _rust_names(db: Rows, tests: Iterable[str]) -> dict[str, str]:
    """Name in a report of cargo-nextest → test."""
    from kl_hooks.code.module_systems import ListedFiles
    from kl_hooks.code.rust.binaries import name_in_report

    files = ListedFiles((), _settings(db))
    return _unambiguous((name_in_report(test, files), test) for test in tests)


def _settings(db: Rows) -> dict[str, Mapping[str, str]]:
    """What each Rust file and `Cargo.toml` states of modules, by path."""
    rows = [
        row for row in db.rows("SELECT path, blob, scanner FROM files") if is_named(row[0], _RUST)
    ]
    outline_of = outlines(db, {(blob, scanner) for _, blob, scanner in rows})
    return {
        path: outline_of.get((blob, scanner), {}).get("settings") or {}
        for path, blob, scanner in rows
    }


def _rust_test(name: str, in_binaries: Mapping[str, str]) -> str:
    """The test that a name in a report means, or its case; empty for none."""
    from kl_hooks.code.rust.modules import identifier

    parts = identifier(name).split("::")
    for length in range(len(parts), 1, -1):
        test = in_binaries.get("::".join(parts[:length]))
        if test:
            case = "::".join(name.split("::")[length:])
            return f"{test}[{case}]" if case else test
    return ""
