"""Prints docs/requirements.md: every requirement, its status, and the tests that carry its number
(`requirement`).

The tests are read, not run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tools.syntax import nodes

ROOT = Path(__file__).parent.parent
TITLES = Path(__file__).with_name("requirement_titles.txt")
PAGE = ROOT / "docs" / "requirements.md"
NUMBER = re.compile(r"[A-Z][1-9][0-9]*")
STATUSES = ("works", "partly", "not yet")
FROM_OUTSIDE = frozenset(
    {"kl", "kl_process", "pytest", "runpytest", "runpytest_subprocess", "call", "deliver"}
)
"""Calls that use the program as its users do: a command, a test run, an agent tool, a context
package.
"""
ALWAYS_OUTSIDE = ("tests/precommit/", "tests/whole/", "tests/test_api.py")
"""Folders whose tests only start programs, and the tests of the Python API."""
OPENING = """# Requirements

Printed by `make docs` from `tools/requirement_titles.txt` and the tests' markers (`@pytest.mark.requirement("A21")`).

**works**: a test sees the effect from outside, in a command's output, an agent tool's answer, a test run or a context
package. **partly**: something is missing and named, or only inner functions are tested. **not yet**: not built.
"""


class Marked(NamedTuple):
    """A test, or a whole file of them, that carries a number."""

    number: str
    path: str
    name: str
    """Empty: every test of the file."""
    line: int
    outside: bool
    """It uses the program as its users do."""


class Requirement(NamedTuple):
    """One line of the list of titles."""

    title: str
    remark: str
    """`partly: …` or `not yet: …`, where a person set it; else empty."""


def requirements() -> dict[str, dict[str, Requirement]]:
    """Heading of a system → number → requirement, in the order of the file."""
    found: dict[str, dict[str, Requirement]] = {}
    number = ""
    for line in TITLES.read_text(encoding="utf-8").splitlines():
        first, _, rest = line.partition(" ")
        if len(first) == 1 and first.isupper():
            current = found.setdefault(f"{first}. {rest.strip()}", {})
        elif NUMBER.fullmatch(first):
            number = first
            current[number] = Requirement(rest.strip(), "")
        elif line.startswith("  ") and line.strip():
            current[number] = current[number]._replace(remark=line.strip())
    return found


def status(requirement: Requirement, tests: list[Marked]) -> str:
    """`works`, `partly` or `not yet`, with the reason after a colon where there is one."""
    if requirement.remark:
        return requirement.remark
    if not tests:
        return "not yet"
    return (
        "works"
        if any(test.outside for test in tests)
        else "partly: only inner functions are tested"
    )


@cache
def marked(root: Path = ROOT) -> list[Marked]:
    """Every number that a test carries, by path and line."""
    found = []
    for path in sorted((root / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        where, outside = path.relative_to(root).as_posix(), _names_from_outside(tree)
        always = where.startswith(ALWAYS_OUTSIDE)
        found += [
            Marked(
                number, where, name, line, always or (name in outside if name else bool(outside))
            )
            for name, line, number in _numbers(tree)
        ]
    return found


def _names_from_outside(tree: ast.Module) -> set[str]:
    """The functions and fixtures of a file that call one of `FROM_OUTSIDE`, by themselves or
    through each other.
    """
    uses: dict[str, set[str]] = {}
    for node in nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            called = {
                (
                    one.func.attr
                    if isinstance(one.func, ast.Attribute)
                    else getattr(one.func, "id", "")
                )
                for one in nodes(node)
                if isinstance(one, ast.Call)
            }
            fixtures = (
                {arg.arg for arg in node.args.args} if isinstance(node, ast.FunctionDef) else set()
            )
            uses[node.name] = called | fixtures
    found: set[str] = set()
    while more := {
        name for name, used in uses.items() if name not in found and used & (FROM_OUTSIDE | found)
    }:
        found |= more
    return found


def _numbers(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets
        ):
            yield from (("", node.lineno, number) for number in _of(node.value))
    for node in nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                yield from ((node.name, node.lineno, number) for number in _of(decorator))


def _of(mark: ast.expr) -> Iterator[str]:
    """The numbers of a marker, or of those in a list of markers."""
    if isinstance(mark, ast.List | ast.Tuple):
        for one in mark.elts:
            yield from _of(one)
    if (
        isinstance(mark, ast.Call)
        and isinstance(mark.func, ast.Attribute)
        and mark.func.attr == "requirement"
    ):
        yield from (str(arg.value) for arg in mark.args if isinstance(arg, ast.Constant))


def text() -> str:
    """The page."""
    carried: dict[str, list[Marked]] = {}
    for one in marked():
        carried.setdefault(one.number, []).append(one)
    sections = requirements()
    parts = [OPENING, *_summary(sections, carried)]
    for heading, rows in sections.items():
        parts.append(f"## {heading}\n")
        parts += [_row(number, row, carried.get(number, [])) for number, row in rows.items()]
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def _summary(
    sections: dict[str, dict[str, Requirement]], carried: dict[str, list[Marked]]
) -> Iterator[str]:
    """How many numbers of each system have which status."""
    yield f"| system | {' | '.join(STATUSES)} |"
    yield "|---|" + "---|" * len(STATUSES)
    for heading, rows in sections.items():
        words = [
            status(row, carried.get(number, [])).partition(":")[0] for number, row in rows.items()
        ]
        yield f"| {heading} | " + " | ".join(str(words.count(word)) for word in STATUSES) + " |"
    yield ""


def _row(number: str, requirement: Requirement, tests: list[Marked]) -> str:
    lines = [f"- **{number}** {requirement.title} — {status(requirement, tests)}"]
    files: dict[str, list[str]] = {}
    for one in tests:
        files.setdefault(one.path, []).append(one.name)
    for path, names in files.items():
        listed = ", ".join(f"`{name}`" for name in dict.fromkeys(names) if name)
        lines.append(f"    - [{path}](../{path})" + (f": {listed}" if listed else ""))
    return "\n".join(lines)


def pages() -> Iterator[tuple[Path, str]]:
    """The page and where it is."""
    yield PAGE, text()
