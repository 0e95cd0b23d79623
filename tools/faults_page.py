"""Prints docs/faults.md: what can go wrong around kl, what it promises then, the tests that inject
it (`fault`), and what the soak has reached.

The tests are read, not run. The figures are those of bench/data/soak.json, which `make soak` writes.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from tools.syntax import nodes

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = ROOT / "docs" / "faults.md"
FIGURES: Final = ROOT / "bench" / "data" / "soak.json"
SUBJECTS: Final = {
    "killed process": "kills",
    "power loss": "power",
    "failing call": "calls",
    "full disk": "calls",
    "no locks": "calls",
    "many writers": "crowd",
    "damaged file": "damage",
    "lost tail": "damage",
    "clock jump": "clock",
    "working tree state": "trees",
}
"""Fault → the subject of the soak that injects it, too."""
FAULTS: Final = (
    *SUBJECTS,
    "stale lock",
    "moved file",
    "read-only place",
    "newer format",
    "crafted file",
    "fault of kl",
    "hostile test",
)
"""Every fault, in the order of the page."""
OPENING: Final = """# Faults

Printed by `make docs` from the tests' markers (`@pytest.mark.fault`) and from `bench/data/soak.json`.

Two kinds of programs inject these faults. Tests do on each run of the suite, with few cases. The soak runs for as long
as you let it, with random cases from a seed that it prints. Stopped and called again, it goes on where it was:

<!-- not run: runs for hours -->
```console
$ make soak                                # until every figure is reached
$ make soak MINUTES=60 ONLY=kills,power SEED=7
```

After every injection it checks: nothing acknowledged is lost, nothing is stored twice, nothing is called proven that
is not, no command ends with a traceback, and the next command works. A problem names its round, which `--round` plays
again.
"""


class MarkedFault(NamedTuple):
    """A test that injects a fault."""

    fault: str
    promised: str
    injected: str
    path: str
    """Of the file, from the root of the repository."""
    test: str


@cache
def marked_faults(root: Path = ROOT) -> list[MarkedFault]:
    """Every marker of a test, by path and line. ValueError for one that lacks a text."""
    faults = []
    for path in sorted((root / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "mark.fault(" not in text:
            continue
        name = path.relative_to(root).as_posix()
        for node in nodes(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                faults += [
                    MarkedFault(*texts, name, node.name)
                    for decorator in node.decorator_list
                    if (texts := _texts(decorator, f"{name}: {node.name}"))
                ]
    return faults


def _texts(mark: ast.expr, place: str) -> tuple[str, str, str] | None:
    """The fault, what is promised, and how it is injected; None for another decorator."""
    if not (
        isinstance(mark, ast.Call)
        and isinstance(mark.func, ast.Attribute)
        and mark.func.attr == "fault"
    ):
        return None
    texts = {
        keyword.arg: keyword.value.value
        for keyword in mark.keywords
        if isinstance(keyword.value, ast.Constant)
    }
    fault = mark.args[0].value if mark.args and isinstance(mark.args[0], ast.Constant) else None
    if fault not in FAULTS or texts.keys() != {"promised", "injected"}:
        raise ValueError(f"{place}: fault(NAME, promised=…, injected=…), and NAME in {FAULTS}")
    return str(fault), str(texts["promised"]), str(texts["injected"])


def figures() -> dict[str, Any]:
    """What the soak reached: subjects with the units asked, and for each seed the units done."""
    if not FIGURES.exists():
        return {}
    content: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return content


def total(reached: dict[str, Any], subject: str, figure: str) -> int:
    """A figure of a subject, of all seeds together."""
    return sum(
        seed["reached"][subject][figure]
        for seed in reached["seeds"].values()
        if subject in seed["reached"]
    )


def text() -> str:
    """The page."""
    reached = figures()
    parts = [OPENING, *_figures(reached)]
    for fault in FAULTS:
        rows = [row for row in marked_faults() if row.fault == fault]
        parts += [f"## {fault.capitalize()}\n", *_soaked(fault, reached), *_table(rows), ""]
    return "\n".join(parts).rstrip() + "\n"


def _figures(reached: dict[str, Any]) -> Iterator[str]:
    if not reached:
        return
    seeds = ", ".join(
        f"{number} (on {seed['date']}, Python {seed['python']}, SQLite {seed['sqlite']})"
        for number, seed in reached["seeds"].items()
    )
    yield f"Reached, with seed {seeds}:\n"
    yield "| soak | injects | asked | reached | problems |"
    yield "|---|---|---|---|---|"
    for name, subject in reached["subjects"].items():
        done, problems = (total(reached, name, figure) for figure in ("done", "problems"))
        yield (
            f"| {name} | {subject['injected']} | {subject['asked']:,} | {done:,} {subject['unit']}"
            f" | {problems} |"
        )
    yield ""


def _soaked(fault: str, reached: dict[str, Any]) -> Iterator[str]:
    name = SUBJECTS.get(fault, "")
    if reached and name in reached["subjects"]:
        done, unit = total(reached, name, "done"), reached["subjects"][name]["unit"]
        yield f"Soak `{name}`: {done:,} {unit}.\n"


def _table(rows: list[MarkedFault]) -> Iterator[str]:
    if not rows:
        return
    yield "| promised | injected | test |"
    yield "|---|---|---|"
    for row in rows:
        link = f"[{row.test}](../{row.path})"
        yield f"| {row.promised} | {row.injected} | {link} |"


def pages() -> Iterator[tuple[Path, str]]:
    """The page and where it is."""
    yield PAGE, text()
