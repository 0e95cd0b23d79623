"""What the person at the terminal reads: one line at the start, at most three at the end, one where we fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kl_hooks.evidence.place import Place
from kl_hooks.model.receipt import run_outcome
from kl_hooks.model.text import one_line
from pytest_kl.account import phrase

SHORT = 8
"""Digits of a run's id that a person is shown."""
WIDTH = 400


def header(place: Place, previous: str, elsewhere: str) -> str:
    """`kl: recording for tree 3f9a1c2 + uncommitted changes (2 files)`."""
    line = f"kl: recording for tree {place.tree[:7]}" if place.tree else "kl: recording, the tree is not known"
    if place.tree and place.dirty:
        line += f" + uncommitted changes ({place.changed} file{'' if place.changed == 1 else 's'})"
    if elsewhere:
        line += f", kept in {one_line(elsewhere, WIDTH)}"
    if previous:
        line += f"; the run before ({previous[:SHORT]}) has no end and is no evidence of success"
    return line


def closing(run: str, result: Mapping[str, Any], elsewhere: str = "") -> list[str]:
    """What the run is worth, why if it is no pass, and how to look at it: two or three lines.

    `elsewhere` as in the header, which a quiet pytest leaves out.
    """
    told = phrase(result["counts"]) or "no test was run"
    kept = f", kept in {one_line(elsewhere, WIDTH)}" if elsewhere else ""
    lines = [f"kl: run {run[:SHORT]}: {told}; recorded as {run_outcome(result)}{kept}"]
    if result["verdict"] == "inconclusive":
        lines.append(one_line(f"kl: no evidence of success: {'; '.join(result['reasons'])}", WIDTH))
    return [*lines, f"kl: kl evidence show {run[:SHORT]}"]


def correction(run: str, result: Mapping[str, Any]) -> list[str]:
    """What is printed where the run turned out to be worth something else after pytest had printed its summary."""
    why = one_line("; ".join(result["reasons"]), WIDTH)
    return [f"kl: run {run[:SHORT]}: now recorded as {run_outcome(result)}: {why}"]


def trouble(problem: BaseException, *, started: bool) -> str:
    """One line for our own failure: what it means, and why."""
    what = "recording stopped, this run is kept as incomplete" if started else "not recorded"
    return one_line(f"kl: {what} - {str(problem) or type(problem).__name__}", WIDTH)
