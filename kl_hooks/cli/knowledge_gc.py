"""`kl knowledge gc`: what upkeep would change; with `--apply` it is changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from kl_hooks.cli.common import counted, format_option, note, say, say_json, workspace
from kl_hooks.errors import CLEAN, ENVIRONMENT
from kl_hooks.model.text import one_line

if TYPE_CHECKING:
    from kl_hooks.upkeep.run import Looked, Report


@click.command(epilog="Example: kl knowledge gc --apply")
@click.option("--apply", "really", is_flag=True, help="Make the changes; without it they are only shown.")
@click.option("--policy", "only", multiple=True, metavar="NAME", help="Only this policy; may be repeated.")
@format_option()
def gc(really: bool, only: tuple[str, ...], shape: str) -> int:
    """What upkeep would change now, policy by policy: archive, demote, prune, fold, delete what is over.

    The numbers it goes by stand in .kl/knowledge/lifecycle.yaml. Nothing is changed without --apply, and a second
    --apply finds nothing to do.
    """
    from kl_hooks.upkeep.run import look, plain, run, troubles

    ws = workspace()
    _refuse_unknown(only)
    report = run(ws, only) if really else look(ws, only)
    for problem in report.problems:
        note(f"{problem} The default holds; --apply waits until this is right.")
    for line in troubles(report):
        note(line)
    if shape == "json":
        say_json(plain(report))
    for line in _lines(report, really) if shape == "text" else ():
        say(line)
    return ENVIRONMENT if any(one.trouble for one in report.looked) else CLEAN


def _refuse_unknown(only: tuple[str, ...]) -> None:
    from kl_hooks.upkeep.run import policies

    known = [one.name for one in policies(workspace())] if only else []
    for name in only:
        if name not in known:
            raise click.UsageError(f"--policy {one_line(name, 60)}: there is none of this name: {', '.join(known)}.")


def _lines(report: Report, done: bool) -> Iterator[str]:
    for one in report.looked:
        if one.changes:
            yield from _policy(one)
            yield ""
    count = len(report.changes)
    if not count:
        yield "Nothing to do."
    elif done:
        yield f"{counted(sum(len(one.changes) for one in report.looked if one.applied), 'change')} made."
    else:
        yield f"{counted(count, 'change')}, none of them made. Make them with: kl knowledge gc --apply"


def _policy(looked: Looked) -> Iterator[str]:
    yield f"{looked.policy.name}: {looked.policy.says}"
    for change in looked.changes:
        way = f"{change.old} → {change.new or 'gone'}" if change.old else change.new
        yield f"  {change.what:<8} {change.id}   {one_line(way, 120)}".rstrip()
        yield f"           {one_line(change.reason, 200)}"
