"""`kl arch` beyond the check: layers as they are, and what changes them or the imports."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from kl_hooks.arch.content import path_from_top
from kl_hooks.cli.output import counted, echo, echo_line, echo_lines, path_from_root, workspace
from kl_hooks.cli.request_options import operation_command
from kl_hooks.errors import UsageProblem
from kl_hooks.model.manifest import BASELINE, MANIFEST
from kl_hooks.model.text import one_line
from kl_hooks.operations import arch as operations

_MOST: Final = 40
"""Rows of one list; JSON has all."""


def _without_manifest(purpose: str) -> str:
    return (
        f"no .kl/architecture.yaml in this repository - nothing to {purpose}. Create one with: kl"
        " init"
    )


def _from_top(path: str) -> str:
    ws = workspace()
    return path_from_top(path, Path(ws.repo.top if ws.repo else ws.root))


def _exit_code(result: operations.Fixes | operations.Move, _request: Any) -> int:
    return result.exit_code


@operation_command(operations.SHOW)
def show(layers: operations.ShownLayers, _request: operations.NoRequest) -> None:
    """Print the picture of the layers."""
    from kl_hooks.arch.overview import line_color

    if layers.overview is None:
        echo(_without_manifest("show"))
        return
    for line in layers.overview.picture(_has_boxes(os.environ)):
        echo(line, **line_color(line))


def _has_boxes(environ: Mapping[str, str]) -> bool:
    """True in a UTF-8 locale; Python itself writes UTF-8 even where the locale is C."""
    # PEP 538 and 540 give Python UTF-8 in the C locale, which a terminal of that locale need not
    # show
    locale = next(
        (environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), "C"
    )
    stated = locale.lower().replace("-", "").endswith("utf8") or "utf8." in locale.lower().replace(
        "-", ""
    )
    return stated and "utf" in (getattr(sys.stdout, "encoding", "") or "").lower()


def _with_path(request: operations.ExplainRequest) -> operations.ExplainRequest:
    try:
        return request._replace(paths=(_from_top(request.subject),))
    except UsageProblem:
        return request


@operation_command(operations.EXPLAIN, _with_path)
def explain(explanation: operations.Explanation, _request: operations.ExplainRequest) -> None:
    """Print why something is judged as it is."""
    explained = explanation.explained
    if explained is None:
        echo(_without_manifest("explain"))
    elif not explained.facts:
        echo_lines([one_line(explained.path or ""), "  redacted"])
    else:
        echo_lines(explanation_lines(explained.to_dict()))


def _with_paths(request: operations.FixRequest) -> operations.FixRequest:
    return request._replace(paths=tuple(map(_from_top, request.paths)))


@operation_command(operations.FIX, _with_paths, exit_code=_exit_code)
def fix(fixes: operations.Fixes, _request: operations.FixRequest) -> None:
    """Print the diff, and what is left."""
    if not fixes.result.has_manifest:
        echo_line(_without_manifest("enforce"))
        return
    for line in fixes.result.lines(written=fixes.is_written):
        echo_line(line)


def _with_both_paths(request: operations.MoveRequest) -> operations.MoveRequest:
    return request._replace(old=_from_top(request.old), new=_from_top(request.new))


@operation_command(operations.MOVE, _with_both_paths, exit_code=_exit_code)
def mv(move: operations.Move, _request: operations.MoveRequest) -> None:
    """Print the diff, and what still has the old name."""
    for line in move.result.lines(written=move.is_written):
        echo_line(line)


@operation_command(operations.ALLOW)
def allow(allowed: operations.Allowed, _request: operations.AllowRequest) -> None:
    """Print the exception, and the record that was written."""
    added = allowed.added
    exception = allowed.added.exception
    echo(
        f"{MANIFEST}:{exception.line}: {exception.source} may import {exception.target} until"
        f" {exception.until} ({exception.decision})"
    )
    if added.record:
        step = f" (proposed; accept it with: kl decision accept {exception.decision})"
        echo(f"wrote {added.record}{'' if allowed.is_accepted else step}")
    echo(f"{counted(added.imports, 'import')} excused. Review and commit it.")


@click.group()
def baseline() -> None:
    """The violations that are accepted for now, in `.kl/baseline.json`: only new ones block.

    Fixed ones leave the file by themselves at the next clean `kl arch check` of the working tree;
    it never grows by itself. Commit it: a grown baseline is a diff that a review sees.
    """


def _refuse_growth(result: operations.Baseline, _request: operations.WriteRequest) -> int:
    # after the answer: what would be added is shown before it is refused
    if not result.is_written:
        growth = counted(result.added.total, "violation")
        hint = "Fix them, or accept them too: kl arch baseline write --grow"
        raise UsageProblem(
            f"would grow by {growth}; nothing was written.", place=BASELINE, hint=hint
        )
    return 0


@operation_command(operations.BASELINE_WRITE, group=baseline, exit_code=_refuse_growth)
def baseline_write(result: operations.Baseline, _request: operations.WriteRequest) -> None:
    """Print what is accepted from now on."""
    if result.is_there:
        _print_entries("added" if result.is_written else "would be added", result.added)
    _print_entries("fixed", result.fixed)
    if result.is_written:
        accepted = counted(result.today.total, "accepted violation")
        echo(
            f"wrote {BASELINE}   {accepted}; new ones will block, fixed ones are removed by kl."
            " Commit it."
        )


@operation_command(operations.BASELINE_SHOW, group=baseline)
def baseline_show(result: operations.Baseline, _request: operations.NoRequest) -> None:
    """Print what is accepted, fixed and new."""
    if not result.is_there:
        echo(
            f"no {BASELINE}; {counted(result.today.total, 'violation')} today. Accept them with: kl"
            " arch baseline write"
        )
        return
    _print_entries("accepted", result.needed)
    for renamed in result.renamed:
        today = renamed.today
        echo(f"  renamed   {renamed.entry}  is now {today.importer} imports {today.imported}")
    _print_entries("fixed", result.fixed)
    _print_entries("new", result.added)
    if result.fixed.total:
        prune = " - see: kl arch baseline prune"
    else:
        prune = ""
    counts = f"{result.needed.total} accepted, {result.fixed.total} fixed, {result.added.total} new"
    echo(f"{counts}{prune}")


@operation_command(operations.BASELINE_PRUNE, group=baseline)
def baseline_prune(result: operations.Baseline, _request: operations.NoRequest) -> None:
    """Print what was taken out."""
    _print_entries("fixed", result.fixed)
    left = (
        f"{result.fixed.total} taken out, {len(result.renamed)} renamed, {result.pruned.total} left"
    )
    echo(f"{BASELINE}: {left}.{' Commit it.' if result.is_written else ''}")


def _print_entries(label: str, entries: operations.Entries) -> None:
    for entry in entries.shown:
        if entry.count > 1:
            times = f"  ({entry.count} times)"
        else:
            times = ""
        echo(f"  {label:<9} {entry}{times}")


def _with_file(request: operations.ImportRequest) -> operations.ImportRequest:
    if not request.file:
        return request
    return request._replace(path=path_from_root(workspace().root, request.file))


@operation_command(operations.IMPORT, _with_file)
def import_(rules: operations.ImportedRules, _request: operations.ImportRequest) -> None:
    """Print the manifest, or what was written."""
    if not rules.is_written:
        echo(rules.text.rstrip("\n"))
        return
    layers = len(rules.layers)
    contracts = len(rules.contracts)
    count = f"{counted(layers, 'layer')}, {counted(contracts, 'contract')}"
    echo(f"wrote {MANIFEST} from {rules.origin}: {count}. Next: kl arch check")


def explanation_lines(facts: Mapping[str, Any]) -> list[str]:
    """The lines to print."""
    if facts["kind"] == "layer":
        return _layer_lines(facts)
    return _file_lines(facts)


def _file_lines(facts: Mapping[str, Any]) -> list[str]:
    root = facts["root"] or "the top of the repository"
    lines = [
        one_line(facts["path"]),
        f"  module   {one_line(facts['module'])}",
        f"           {facts['because']}",
    ]
    lines.append(f"           source root: {one_line(root)}")
    if facts["same_name"]:
        others = ", ".join(facts["same_name"][:3]) + (
            ", ..." if len(facts["same_name"]) > 3 else ""
        )
        lines.append(f"           other files of that name: {one_line(others)}")
    if facts["others"]:
        lines.append(
            f"           other files of this module name: {one_line(', '.join(facts['others']))}"
        )
    if facts["problem"]:
        lines.append(f"  problem  {one_line(facts['problem'])}")
    if facts["layer"] is None:
        return [
            *lines,
            (
                f"  layer    none: no path of {facts['line']} covers it, so nothing it imports is"
                " judged"
            ),
        ]
    if facts["decision"]:
        decision = f"  ({facts['decision']})"
    else:
        decision = ""
    lines.append(f"  layer    {facts['layer']}, by its path {facts['owned_by']}")
    for other in facts["also_covered_by"]:
        lines.append(
            f"           the shorter path {other['path']} of {other['layer']} covers it too, and"
            " gives way"
        )
    lines.append(
        f"           may depend on: {', '.join(facts['may_depend_on']) or '(nothing)'}   "
        f" {facts['line']}{decision}"
    )
    lines += _rows("imports from other layers", facts["imports"], "to", "imported")
    return lines + _rows(
        "imported from other layers", facts["imported_by"], "from", "importer", places=True
    )


def _rows(
    title: str, rows: Sequence[Mapping[str, Any]], layer: str, module: str, places: bool = False
) -> list[str]:
    """One import a line: where, which layer, which module, what is decided."""
    if not rows:
        return [f"  {title}: none"]
    shown = rows[:_MOST]
    where = [
        one_line(f"{row['path']}:{row['line']}") if places else f"line {row['line']}"
        for row in shown
    ]
    columns = [
        where,
        [one_line(row[layer]) for row in shown],
        [one_line(row[module]) for row in shown],
    ]
    widths = [max(map(len, column)) for column in columns]
    lines = [f"  {title}"]
    for row, cells in zip(shown, zip(*columns, strict=True), strict=True):
        if row["method"] == "import":
            how = ""
        else:
            how = f"  ({row['method']})"
        padded = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        lines.append(f"    {padded}  {row['decided']}{how}")
    return lines + (
        [f"    ... and {len(rows) - _MOST} more: --format json"] if len(rows) > _MOST else []
    )


def _layer_lines(facts: Mapping[str, Any]) -> list[str]:
    if facts["decision"]:
        decision = f"  ({facts['decision']})"
    else:
        decision = ""
    lines = [f"layer {facts['layer']}    {facts['line']}{decision}"]
    for one in facts["paths"]:
        lines.append(f"  path     {one_line(one['path'])}  {counted(one['files'], 'file')}")
    used = [f"{one['layer']} {one['imports']}" for one in facts["may_depend_on"] if one["imports"]]
    unused = [one["layer"] for one in facts["may_depend_on"] if not one["imports"]]
    if not used and not unused:
        lines.append("  may depend on: (nothing)")
    if used:
        lines += [f"  may depend on, with imports: {', '.join(used)}"]
    if unused:
        lines += [f"  may depend on, unused: {', '.join(unused)}"]
    by = [
        f"{one['layer']} {one['imports']}{'' if one['allowed'] else ' (not allowed)'}"
        for one in facts["used_by"]
    ]
    lines.append(f"  used by: {', '.join(by) or '(no layer)'}")
    return lines + _rows(
        "imports that the rule forbids", facts["broken"], "to", "imported", places=True
    )
