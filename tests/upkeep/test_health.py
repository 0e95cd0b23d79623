"""What speaks against a record: by subject, by age, by what is there; never by how alike two texts
are.
"""

from __future__ import annotations

from kl_hooks.clock import DAY, iso
from kl_hooks.model.manifest import Layer, Manifest
from kl_hooks.model.record import Record
from kl_hooks.upkeep.health import (
    contradicting_decisions,
    forbidden_imports,
    imported_modules,
    long_records,
    stale_records,
    unanchored_records,
    unused_records,
)
from tests.support import NOW, Checkout

MANIFEST = Manifest(
    ".kl/architecture.yaml",
    (
        Layer("core", ("src/shop/core/",), (), 4),
        Layer("cli", ("src/shop/cli/", "src/shop/main.py"), ("core",), 7),
    ),
)


def record(identifier: str, kind: str = "decision", **values: object) -> Record:
    return Record(kind, identifier, {"title": "Feed bytes", **values})  # type: ignore[dict-item]


def test_decisions_that_supersede_the_same_one_contradict_unless_they_name_each_other() -> None:
    decisions = [
        record("ADR-2", supersedes=("ADR-1",)),
        record("ADR-3", supersedes=("ADR-1",)),
        record("ADR-4", supersedes=("ADR-1",), related=("ADR-2",)),
        record("ADR-5", supersedes=("ADR-6",)),
    ]
    assert [(issue.id, issue.reason) for issue in contradicting_decisions(decisions)] == [
        ("ADR-2", "ADR-3 supersedes ADR-1 too"),
        ("ADR-3", "ADR-2, ADR-4 supersede ADR-1 too"),
        ("ADR-4", "ADR-3 supersedes ADR-1 too"),
    ]


def test_decisions_on_one_file_and_equal_words_are_no_contradiction() -> None:
    decisions = [
        record("ADR-1", decision="Always.", governs=("src/a.py",)),
        record("ADR-2", decision="Never.", governs=("src/a.py",)),
    ]
    assert list(contradicting_decisions(decisions)) == []


def test_a_memory_that_asks_for_a_forbidden_import() -> None:
    asks = record(
        "MEM-1", "memory", pattern="In core use `from shop.cli.options import Options` for this."
    )
    fine = record("MEM-2", "memory", pattern="In cli use from shop.core import order")
    talk = record(
        "MEM-3", "memory", pattern="core may not import shop from cli, and cli is important to core"
    )
    named = {
        "MEM-1": ["file:src/shop/core/a.py"],
        "MEM-2": ["file:src/shop/cli/a.py"],
        "MEM-3": ["file:src/shop/core/a.py"],
    }
    found = list(forbidden_imports([asks, fine, talk], named, MANIFEST))
    assert [(f.id, f.sort) for f in found] == [("MEM-1", "contradicted")]
    assert found[0].reason == (
        ".kl/architecture.yaml:4: src/shop/core/a.py (core) may not import shop.cli.options (cli)"
    )
    assert list(forbidden_imports([asks], named, None)) == []
    assert imported_modules("import os\nfrom a import b, and import c.d") == ["a", "c.d"]


def test_unanchored_is_what_names_only_items_that_were_removed() -> None:
    named = {"A": ["file:a", "file:b"], "B": ["file:b"], "C": []}
    found = list(unanchored_records([record("A"), record("B"), record("C")], named, {"file:a"}))
    assert [(f.id, f.reason) for f in found] == [("B", "nothing that it names exists: file:b")]


def test_unused_long_and_stale() -> None:
    old, new = record("A", date=iso(NOW - 200 * DAY)), record("B", date=iso(NOW - 2 * DAY))
    assert [f.id for f in unused_records([old, new], {}, NOW)] == ["A"]
    assert list(unused_records([old], {"A": NOW - DAY}, NOW)) == []
    assert list(unused_records([old], {}, NOW, NOW - DAY)) == [], (
        "imported yesterday with a date of long ago"
    )
    assert [f.id for f in long_records([old, new], {"A": 4001, "B": 4000})] == ["A"]
    assert next(
        (f.id, f.reason) for f in stale_records([old, new], {"A": "a.py has changed since"}, ["B"])
    ) == (
        "A",
        "a.py has changed since",
    )


def test_a_memory_about_a_test_is_anchored_and_a_name_that_is_not_there_is_noted(
    repo: Checkout,
) -> None:
    assert repo.kl("init", "--yes").returncode == 0
    repo.write("tests/test_a.py", "def test_x() -> None:\n    pass\n")
    right = repo.kl("memory", "add", "Tests want cents.", "--about", "tests/test_a.py::test_x")
    assert right.stderr == ""
    wrong = repo.kl("memory", "add", "Tests want euros.", "--about", "tests/test_a.py::test_y")
    assert "nothing here has this name: tests/test_a.py::test_y." in wrong.stderr
    health = repo.kl("knowledge", "health").stdout
    assert "unanchored: 1\n" in health and "test:tests/test_a.py::test_y" in health
    # whoever edits the file is given the memory of its test
    assert "Tests want cents." in repo.kl("context", "edit tests/test_a.py").stdout
