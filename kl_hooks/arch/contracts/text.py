"""Broken contracts as text for people, and as plain data for programs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from kl_hooks.model.contract import Breach, Step
from kl_hooks.model.text import one_line

_COLUMN: Final = 34


def contract_lines(breaches: Sequence[Breach]) -> list[str]:
    """The lines to print: each broken contract with every chain of imports that breaks it."""
    lines: list[str] = []
    for (name, rule), found in groupby(breaches, key=lambda one: (one.contract, one.rule)):
        many = list(found)
        decision = f"  ({one_line(many[0].decision, 40)})" if many[0].decision else ""
        lines.append(f"  contract broken: {one_line(name, 100)} ({many[0].type})    {rule}{decision}")
        for one in many:
            lines += _breach(one)
        if many[0].guidance:
            lines.append(f"    {one_line(many[0].guidance, 200)}")
        lines.append("")
    return lines


def _breach(one: Breach) -> list[str]:
    lines = [f"    {one_line(one.said, 160)}"] if one.said else []
    for number, step in enumerate(one.chain):
        lines.append(_line(step, "" if not number else "  "))
    lines += [_line(step, "  or ") for step in one.also]
    if len(one.chain) > 1 or (one.chain and one.chain[0].importer != one.importer):
        lines.append(f"    {'':<{_COLUMN}} ^^^^ {_about(one)}")
    return lines


def _line(step: Step, lead: str) -> str:
    """`    src/a.py:3, 9     a -> b`."""
    numbers = ", ".join(str(line) for line in step.lines) or "?"
    place = one_line(f"{step.path or step.importer}:{numbers}", 100)
    return f"    {place:<{_COLUMN}} {lead}{one_line(step.importer, 100)} -> {one_line(step.imported, 100)}"


def _about(one: Breach) -> str:
    if one.type == "acyclic_siblings":
        return f"part of a circle between the children of {one_line(one.importer, 100)}"
    return f"{one_line(one.importer, 100)} may not depend on {one_line(one.imported, 100)}"


def plain_breach(one: Breach) -> dict[str, Any]:
    """A breach as plain data, its fingerprint with it."""
    keys = ("contract", "type", "importer", "imported", "rule", "decision", "said", "guidance", "fingerprint")
    steps = {"chain": [_plain(step) for step in one.chain], "also": [_plain(step) for step in one.also]}
    return {key: getattr(one, key) for key in keys} | steps


def _plain(step: Step) -> dict[str, Any]:
    return {"importer": step.importer, "imported": step.imported, "path": step.path, "lines": list(step.lines)}
