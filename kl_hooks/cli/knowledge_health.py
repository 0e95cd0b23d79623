"""`kl knowledge health`: what speaks against what is known, as counts that can fail CI."""

from __future__ import annotations

import click

from kl_hooks.cli.common import counted, format_option, note, say, say_json, workspace
from kl_hooks.errors import CLEAN, FOUND
from kl_hooks.model.text import one_line


@click.command(epilog="Example: kl knowledge health --fail-under 90")
@click.option(
    "--fail-under", type=click.IntRange(0, 100), metavar="PERCENT", help="Exit 1 if fewer records are healthy."
)
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 100_000), help="Most lines of a sort.")
@format_option()
def health(fail_under: int | None, limit: int, shape: str) -> int:
    """What speaks against what is known: broken, stale, contradicted, unanchored, over-long or unused records.

    Contradicted are two accepted decisions that govern one thing without naming each other, and memories that ask for
    an import which the manifest forbids. How alike two texts are never counts.
    """
    from kl_hooks.cli.left_out import say_left_out
    from kl_hooks.evidence.home import require_home
    from kl_hooks.upkeep.health import look, plain
    from kl_hooks.upkeep.judge import SORTS

    ws = workspace()
    require_home(ws)
    found = look(ws)
    say_left_out(ws)
    for line in found.not_assessed:
        note(f"not assessed: {line}")
    bad = fail_under is not None and found.score < fail_under
    if shape == "json":
        say_json(plain(found))
        return FOUND if bad else CLEAN
    for sort in SORTS:
        some = [one for one in found.found if one.sort == sort]
        if some:
            say(f"{sort}: {found.counts[sort]}")
        for one in some[:limit]:
            say(f"  {one.id}  {one_line(one.reason, 200)}")
        if len(some) > limit:
            say(f"  … and {len(some) - limit} more: --limit {len(some)}")
    say(f"{found.healthy} of {counted(found.records, 'live record')} healthy ({found.score} %).")
    if bad:
        note(f"fewer than {fail_under} % are healthy.")
    return FOUND if bad else CLEAN
