"""An explanation (`kl.arch.explain/1`) as lines for people. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kl_hooks.model.text import one_line

_MOST: Final = 40
"""Rows of one list; JSON has all."""


def text(told: Mapping[str, Any]) -> list[str]:
    """The lines to print."""
    return _layer(told) if told["kind"] == "layer" else _file(told)


def _file(told: Mapping[str, Any]) -> list[str]:
    root = told["root"] or "the top of the repository"
    lines = [one_line(told["path"]), f"  module   {one_line(told['module'])}", f"           {told['because']}"]
    lines.append(f"           source root: {one_line(root)}")
    if told["same_name"]:
        others = ", ".join(told["same_name"][:3]) + (", ..." if len(told["same_name"]) > 3 else "")
        lines.append(f"           other files of that name: {one_line(others)}")
    if told["others"]:
        lines.append(f"           the module is also called so in: {one_line(', '.join(told['others']))}")
    if told["problem"]:
        lines.append(f"  problem  {one_line(told['problem'])}")
    if told["layer"] is None:
        return [*lines, f"  layer    none: no path of {told['line']} covers it, so nothing it imports is judged"]
    decision = f"  ({told['decision']})" if told["decision"] else ""
    lines.append(f"  layer    {told['layer']}, by its path {told['owned_by']}")
    for other in told["also_covered_by"]:
        lines.append(f"           the shorter path {other['path']} of {other['layer']} covers it too, and gives way")
    lines.append(
        f"           may depend on: {', '.join(told['may_depend_on']) or '(nothing)'}    {told['line']}{decision}"
    )
    lines += _rows("imports from other layers", told["imports"], "to", "imported")
    return lines + _rows("imported from other layers", told["imported_by"], "from", "importer", places=True)


def _rows(title: str, rows: Sequence[Mapping[str, Any]], layer: str, module: str, places: bool = False) -> list[str]:
    """One import a line: where, which layer, which module, what is decided."""
    if not rows:
        return [f"  {title}: none"]
    shown = rows[:_MOST]
    where = [one_line(f"{row['path']}:{row['line']}") if places else f"line {row['line']}" for row in shown]
    columns = [where, [one_line(row[layer]) for row in shown], [one_line(row[module]) for row in shown]]
    widths = [max(map(len, column)) for column in columns]
    lines = [f"  {title}"]
    for row, cells in zip(shown, zip(*columns, strict=True), strict=True):
        how = "" if row["method"] == "import" else f"  ({row['method']})"
        padded = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        lines.append(f"    {padded}  {row['decided']}{how}")
    return lines + ([f"    ... and {len(rows) - _MOST} more: --format json"] if len(rows) > _MOST else [])


def _layer(told: Mapping[str, Any]) -> list[str]:
    decision = f"  ({told['decision']})" if told["decision"] else ""
    lines = [f"layer {told['layer']}    {told['line']}{decision}"]
    for one in told["paths"]:
        lines.append(f"  path     {one_line(one['path'])}  {_count(one['files'], 'file')}")
    used = [f"{one['layer']} {one['imports']}" for one in told["may_depend_on"] if one["imports"]]
    unused = [one["layer"] for one in told["may_depend_on"] if not one["imports"]]
    if not used and not unused:
        lines.append("  may depend on: (nothing)")
    lines += [f"  may depend on, with imports: {', '.join(used)}"] if used else []
    lines += [f"  may depend on, unused: {', '.join(unused)}"] if unused else []
    by = [f"{one['layer']} {one['imports']}{'' if one['allowed'] else ' (not allowed)'}" for one in told["used_by"]]
    lines.append(f"  used by: {', '.join(by) or '(no layer)'}")
    return lines + _rows("imports that the rule forbids", told["broken"], "to", "imported", places=True)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
