"""Reads `.kl/knowledge/lifecycle.yaml`: the numbers of upkeep, with every problem of the file at once.

What is wrong there is said, and its default holds meanwhile; whoever is about to change something refuses instead.
"""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from kl_hooks.config.compiled import compiled
from kl_hooks.config.files import read_small
from kl_hooks.model.lifecycle import FILE, MOST_DAYS, Lifecycle
from kl_hooks.model.problem import Problem

KEYS: Final = tuple(one.name for one in fields(Lifecycle))
_KIND: Final = "lifecycle-1"


def load_lifecycle(root: Path, cache_dir: Path | None = None) -> tuple[Lifecycle, list[Problem]]:
    """The numbers for the repository at `root`, and what is wrong in its file. No file: the defaults.

    `cache_dir`: where the compiled form may rest. UsageProblem for what is no file, or a link that leads out.
    """
    text = read_small(root / FILE, within=root)
    if text is None:
        return Lifecycle(), []
    plain = compiled(cache_dir, text, _KIND, lambda: _plain(text))
    if not _is_whole(plain):
        plain = _plain(text)
    return replace(Lifecycle(), **plain["numbers"]), [Problem(*row) for row in plain["problems"]]


def _plain(text: bytes) -> dict[str, Any]:
    numbers, problems = read_lifecycle(text)
    return {
        "numbers": numbers,
        "problems": [[p.path, p.line, p.column, p.message, p.hint] for p in problems],
    }


def read_lifecycle(text: bytes) -> tuple[dict[str, int], list[Problem]]:
    """The numbers that a file gives, by their names here, and everything wrong with it. Raises nothing."""
    from kl_hooks.config.typed import Reader
    from kl_hooks.config.yaml import load

    root, problems = load(FILE, text)
    reader, numbers = Reader(FILE, problems), {}
    found = reader.keys(root, ("version", *KEYS)) if root else {}
    for key, (said, node) in found.items():
        before = len(problems)
        if key == "version":
            reader.choice(node, '"version"', ("1",))
            continue
        number = reader.number(node, f'"{said.value}"', 0, MOST_DAYS, 0)
        if len(problems) == before:
            numbers[key] = number
    return numbers, sorted(set(problems))


def _is_whole(plain: Any) -> bool:
    """True for what `_plain` gives; a compiled form is data from a file and looked at before it is used."""
    if not isinstance(plain, dict) or plain.keys() != {"numbers", "problems"}:
        return False
    numbers, problems = plain["numbers"], plain["problems"]
    if not isinstance(numbers, dict) or not isinstance(problems, list):
        return False
    fit = all(key in KEYS and type(value) is int and 0 <= value <= MOST_DAYS for key, value in numbers.items())
    return fit and all(
        isinstance(row, list) and [type(v) for v in row] == [str, int, int, str, str] for row in problems
    )
