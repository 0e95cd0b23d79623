"""Prints docs/requirements.md: every requirement, and the tests that carry its number in the marker `requirement`.

The tests are read, not run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
TITLES = Path(__file__).with_name("requirement_titles.txt")
PAGE = ROOT / "docs" / "requirements.md"
NUMBER = re.compile(r"[A-Z][1-9][0-9]*")
OPENING = """# Requirements

Printed by `make docs` from `tools/requirement_titles.txt` and the tests' markers (`@pytest.mark.requirement("A21")`).
A number stands beside the tests that see its effect from outside.
"""


class Marked(NamedTuple):
    """A test, or a whole file of them, that carries a number."""

    number: str
    path: str
    name: str
    """Empty: every test of the file."""
    line: int


def titles() -> dict[str, dict[str, str]]:
    """Heading of a system → number → title, in the order of the file."""
    found: dict[str, dict[str, str]] = {}
    for line in TITLES.read_text(encoding="utf-8").splitlines():
        first, _, rest = line.partition(" ")
        if len(first) == 1 and first.isupper():
            current = found.setdefault(f"{first}. {rest.strip()}", {})
        elif NUMBER.fullmatch(first):
            current[first] = rest.strip()
    return found


def marked(root: Path = ROOT) -> list[Marked]:
    """Every number that a test carries, by path and line."""
    found = []
    for path in sorted((root / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        where = path.relative_to(root).as_posix()
        found += [Marked(number, where, name, line) for name, line, number in _numbers(tree)]
    return found


def _numbers(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets):
            yield from (("", node.lineno, number) for number in _of(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                yield from ((node.name, node.lineno, number) for number in _of(decorator))


def _of(mark: ast.expr) -> Iterator[str]:
    """The numbers of a marker, or of those in a list of markers."""
    if isinstance(mark, ast.List | ast.Tuple):
        for one in mark.elts:
            yield from _of(one)
    if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Attribute) and mark.func.attr == "requirement":
        yield from (str(arg.value) for arg in mark.args if isinstance(arg, ast.Constant))


def text() -> str:
    """The page."""
    carried: dict[str, list[Marked]] = {}
    for one in marked():
        carried.setdefault(one.number, []).append(one)
    sections = titles()
    parts = [OPENING]
    for heading, rows in sections.items():
        parts.append(f"## {heading}\n")
        parts += [_row(number, title, carried.get(number, [])) for number, title in rows.items()]
        parts.append("")
    missing = [number for rows in sections.values() for number in rows if number not in carried]
    parts.append("## Not yet\n")
    parts.append(f"Without a test of their own: {', '.join(missing)}." if missing else "Every number has a test.")
    return "\n".join(parts) + "\n"


def _row(number: str, title: str, tests: list[Marked]) -> str:
    lines = [f"- **{number}** {title}"]
    files: dict[str, list[str]] = {}
    for one in tests:
        files.setdefault(one.path, []).append(one.name)
    for path, names in files.items():
        said = ", ".join(f"`{name}`" for name in dict.fromkeys(names) if name)
        lines.append(f"  - [{path}](../{path})" + (f": {said}" if said else ""))
    return "\n".join(lines)


def pages() -> Iterator[tuple[Path, str]]:
    """The page and where it stands."""
    yield PAGE, text()
