"""`kl arch baseline`: the violations that are accepted for now; only new ones block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.common import counted, format_option, say, say_json, workspace
from kl_hooks.errors import UsageProblem

if TYPE_CHECKING:
    from kl_hooks.arch.baseline.file import Accepted


@click.group()
def baseline() -> None:
    """The violations that are accepted for now, in `.kl/baseline.json`: only new ones block.

    Fixed ones leave the file by themselves at the next clean `kl arch check` of the work tree; it never grows by
    itself. Commit it: a grown baseline is a diff that a review sees.
    """


@baseline.command("write", epilog="Example: kl arch baseline write")
@click.option("--grow", is_flag=True, help="Accept what is added to a baseline that is there already.")
@format_option()
def write(grow: bool, shape: str) -> None:
    """Accept today's violations of the work tree. Exit 2, and nothing is written, if a baseline would grow."""
    from kl_hooks.arch.baseline_verbs import look, rewrite
    from kl_hooks.model.manifest import BASELINE

    ws = workspace()
    seen = look(ws)
    grows = seen.before is not None and bool(seen.added)
    if not grows or grow:
        rewrite(ws, seen, seen.today)
    if shape == "json":
        rows = {"added": _rows(seen.added), "fixed": _rows(seen.fixed), "written": grow or not grows}
        say_json({"schema": "kl.arch.baseline.write/1", "violations": _rows(seen.today), **rows})
    else:
        _lines("added" if grow or not grows else "would be added", seen.added if seen.before is not None else ())
        _lines("fixed", seen.fixed)
    if grows and not grow:
        more = counted(_total(seen.added), "violation")
        hint = "Fix them, or accept them too: kl arch baseline write --grow"
        raise UsageProblem(f"would grow by {more}; nothing was written.", place=BASELINE, hint=hint)
    if shape == "text":
        kept = counted(_total(seen.today), "accepted violation")
        say(f"wrote {BASELINE}   {kept}; new ones will block, fixed ones are removed by kl. Commit it.")


@baseline.command("show", epilog="Example: kl arch baseline show")
@format_option()
def show(shape: str) -> None:
    """List what is accepted, what of it is fixed or renamed, and what is new."""
    from kl_hooks.arch.baseline_verbs import look
    from kl_hooks.model.manifest import BASELINE

    seen = look(workspace())
    if shape == "json":
        renamed = [{"entry": old, "today": new} for old, new in map(_rows, seen.found.renamed)]
        rows = {"accepted": _rows(seen.entries), "fixed": _rows(seen.fixed), "new": _rows(seen.added)}
        there = BASELINE if seen.before is not None else None
        say_json({"schema": "kl.arch.baseline/1", "baseline": there, "renamed": renamed, **rows})
        return
    if seen.before is None:
        say(
            f"no {BASELINE}; {counted(_total(seen.today), 'violation')} today. Accept them with: kl arch baseline write"
        )
        return
    _lines("accepted", seen.found.needed)
    for old, new in seen.found.renamed:
        say(f"  renamed   {old}  is now {new.importer} imports {new.imported}")
    _lines("fixed", seen.fixed)
    _lines("new", seen.added)
    sums = (_total(seen.found.needed), _total(seen.fixed), _total(seen.added))
    say(f"{sums[0]} accepted, {sums[1]} fixed, {sums[2]} new" + (" - see: kl arch baseline prune" if sums[1] else ""))


@baseline.command("prune", epilog="Example: kl arch baseline prune")
@format_option()
def prune(shape: str) -> None:
    """Take out what is fixed, and give renamed modules their names of today. New violations are not taken in."""
    from kl_hooks.arch.baseline_verbs import look, rewrite
    from kl_hooks.model.manifest import BASELINE

    ws = workspace()
    seen = look(ws)
    if seen.before is None:
        raise UsageProblem("is not there.", place=BASELINE, hint="Accept today's violations: kl arch baseline write")
    changed = seen.found.today != seen.entries
    if changed:
        rewrite(ws, seen, seen.found.today)
    if shape == "json":
        rows = {"fixed": _rows(seen.fixed), "violations": _rows(seen.found.today), "written": changed}
        say_json({"schema": "kl.arch.baseline.prune/1", **rows})
        return
    _lines("fixed", seen.fixed)
    left = f"{_total(seen.fixed)} taken out, {len(seen.found.renamed)} renamed, {_total(seen.found.today)} left"
    say(f"{BASELINE}: {left}." + (" Commit it." if changed else ""))


def _total(entries: tuple[Accepted, ...]) -> int:
    return sum(one.count for one in entries)


def _lines(what: str, entries: tuple[Accepted, ...]) -> None:
    for one in entries:
        say(f"  {what:<9} {one}" + (f"  ({one.count} times)" if one.count > 1 else ""))


def _rows(entries: tuple[Accepted, ...]) -> list[dict[str, Any]]:
    from kl_hooks.arch.baseline.file import plain

    return [plain(one) for one in entries]
