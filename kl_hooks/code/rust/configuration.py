"""The scanner of `Cargo.toml`: what it states of crates, targets and dependencies."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from kl_hooks.code.rust.modules import PACKAGE, identifier
from kl_hooks.code.scanner.parser import LARGEST, Facts, too_large_facts, unreadable_facts

_TARGETS: Final = ("bin", "example", "test", "bench")
_AUTOMATIC: Final = {
    "autobins": "src/bin",
    "autotests": "tests",
    "autoexamples": "examples",
    "autobenches": "benches",
}
"""What turns off that the files of a folder are targets → the folder."""
_DEPENDENCIES: Final = ("dependencies", "dev-dependencies", "build-dependencies")


def scan_cargo(content: bytes, path: str, module: str) -> Facts:
    """The facts of a `Cargo.toml`: no symbols, and what it states of modules."""
    facts = unreadable_facts("")
    if len(content) > LARGEST:
        return too_large_facts()
    try:
        stated = tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as problem:
        return unreadable_facts(f"0:0: it is no TOML ({problem})")
    facts["outline"]["settings"] = {**_package(stated), **_dependencies(stated)}
    return facts


def _package(stated: Mapping[str, Any]) -> dict[str, str]:
    settings: dict[str, str] = {}
    name = _table(stated.get("package")).get("name")
    library = _table(stated.get("lib"))
    if isinstance(name, str):
        settings["name"] = PACKAGE + identifier(name)
        settings["crate"] = identifier(str(library.get("name", name)))
    package = _table(stated.get("package"))
    excluded = [folder for key, folder in _AUTOMATIC.items() if package.get(key) is False]
    if excluded:
        settings["excluded"] = json.dumps(excluded)
    if isinstance(library.get("path"), str):
        settings["library"] = library["path"]
    targets = [
        [kind, identifier(str(target.get("name", ""))), target["path"]]
        for kind in _TARGETS
        for target in _tables(stated.get(kind))
        if isinstance(target.get("path"), str)
    ]
    if targets:
        settings["targets"] = json.dumps(targets, ensure_ascii=False)
    return settings


def _dependencies(stated: Mapping[str, Any]) -> dict[str, str]:
    tables = [_table(stated.get(key)) for key in _DEPENDENCIES]
    for target in _table(stated.get("target")).values():  # `[target.'cfg(unix)'.dependencies]`
        tables += [_table(_table(target).get(key)) for key in _DEPENDENCIES]
    settings = {"dependencies": _rows(tables)}
    if "workspace" in stated:
        settings["workspace"] = _rows([_table(_table(stated["workspace"]).get("dependencies"))])
    return settings


def _rows(tables: list[dict[str, Any]]) -> str:
    """Name in code → [package, path, whether the workspace states more], as JSON."""
    rows = {}
    for table in tables:
        for name, dependency in table.items():
            parts = _table(dependency)
            package = parts.get("package", name)
            path = parts.get("path", "")
            if isinstance(package, str) and isinstance(path, str):
                is_shared = parts.get("workspace") is True
                rows[identifier(name)] = [identifier(package), path, is_shared]
    return json.dumps(rows, ensure_ascii=False)


def _table(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    return {}


def _tables(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [part for part in value if isinstance(part, dict)]
    return []
