"""Decisions in `pyproject.toml` and `requirements.txt`: what is declared, and how much uses it. Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kl_hooks.kinds.decision.discover.libraries import LIBRARIES, TOOLS
from kl_hooks.kinds.decision.discover.proposal import Proposal

FILES: Final = ("pyproject.toml", "requirements.txt")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def declared(files: Mapping[str, str]) -> dict[str, str]:
    """Name of each dependency → the file that declares it. A file that can't be read declares nothing."""
    found: dict[str, str] = {}
    for path, text in files.items():
        names = _of_requirements(text) if path.endswith(".txt") else _of_project(text)
        for name in names:
            found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), path)
    return found


def from_dependencies(dependencies: Mapping[str, str], importers: Mapping[str, list[str]]) -> Iterator[Proposal]:
    """A proposal for each library that decides something. `importers`: module → the files that import it."""
    for name, path in sorted(dependencies.items()):
        if name in LIBRARIES:
            shown, module, use = LIBRARIES[name]
            files = sorted(importers.get(module, ()))
            evidence = [f"{path} declares {name}."]
            if files:
                more = f" and {len(files) - 3} more" if len(files) > 3 else ""
                evidence.append(f"{', '.join(files[:3])}{more} import{'s' if len(files) == 1 else ''} it.")
            confidence = 95 if len(files) > 2 else 85 if files else 60
            yield _use(f"dependency:{name}", shown, use, evidence, confidence, path)
        elif name in TOOLS:
            shown, use = TOOLS[name]
            yield _use(f"tool:{name}", shown, use, [f"{path} declares {name}."], 75, path)


def _use(key: str, shown: str, use: str, evidence: list[str], confidence: int, path: str) -> Proposal:
    says = f"{shown} is used for {use}."
    return Proposal(key, f"Use {shown} for {use}", says, tuple(evidence), confidence, (path,))


def _of_project(text: str) -> Iterator[str]:
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    project, tool = _table(data, "project"), _table(data, "tool")
    poetry = _table(tool, "poetry")
    lists = [project.get("dependencies"), *_table(project, "optional-dependencies").values()]
    lists += _table(data, "dependency-groups").values()
    for one in lists:
        yield from _names(one)
    for table in (poetry, *(group for group in _table(poetry, "group").values() if isinstance(group, dict))):
        yield from (name for key in ("dependencies", "dev-dependencies") for name in _table(table, key))


def _of_requirements(text: str) -> Iterator[str]:
    yield from _names([line for line in text.splitlines() if not line.lstrip().startswith(("#", "-"))])


def _names(rows: Any) -> Iterator[str]:
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, str) and (found := _NAME.match(row.strip())):
            yield found[0]


def _table(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = data.get(key)
    return found if isinstance(found, dict) else {}
