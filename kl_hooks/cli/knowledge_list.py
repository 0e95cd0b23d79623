"""`kl knowledge list`: records of every kind."""

from __future__ import annotations

import click

from kl_hooks.cli.common import counted, format_option, note, say, say_json, workspace
from kl_hooks.model.text import one_line

topic_option = click.option(
    "--topic", "--group", "topic", default="", metavar="NAME",
    help="Only of this topic (stack, workflow …), or of this group of older layouts (failure_patterns …).",
)  # fmt: skip
"""For commands that look at records of several kinds."""


@click.command("list", epilog="Example: kl knowledge list --about src/names.py")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only of this kind; may be repeated.")
@click.option("--status", "statuses", multiple=True, metavar="STATUS", help="Only in this status; may be repeated.")
@click.option("--tag", default="", help="Only those with this tag.")
@click.option("--about", default="", metavar="ID|PATH", help="Only those about this file, folder, symbol or record.")
@topic_option
@click.option("--all", "everything", is_flag=True, help="Archived and expired ones too.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 100_000), help="Most shown.")
@format_option()
def list_(
    kinds: tuple[str, ...], statuses: tuple[str, ...], tag: str, about: str, topic: str, everything: bool, limit: int,
    shape: str,
) -> None:  # fmt: skip
    """What is known, of every kind."""
    from kl_hooks.cli.kind_read import told
    from kl_hooks.cli.left_out import say_left_out
    from kl_hooks.cli.record_text import rows
    from kl_hooks.kinds.topics import Selection
    from kl_hooks.records.liveness import with_stale_status
    from kl_hooks.records.query import RecordFilter, list_and_count, list_records, record_to_dict

    ws = workspace()
    refuse_unknown(kinds)
    meant = Selection(ws.kinds, topic) if topic else None
    wanted = RecordFilter(kinds or (meant.kinds if meant else ()), statuses, tag, about, "", everything, everything)
    if meant is None:
        found, total = list_and_count(ws, wanted, limit)
    else:
        some = [one for one in list_records(ws, wanted) if meant.holds(one)]
        found, total = some[:limit], len(some)
    found = with_stale_status(ws, found)
    told()
    say_left_out(ws)
    if shape == "json":
        plain = [record_to_dict(ws, record, whole=False) for record in found]
        say_json({"schema": "kl.knowledge.list/1", "records": plain, "total": total})
        return
    for line in rows(ws, found, of_kind=True):
        say(line)
    if total > len(found):
        note(f"these are the first {len(found)} of {counted(total, 'record')}; more with --limit.")
    if not found:
        asked = kinds or statuses or tag or about or topic
        say(
            "nothing of that is known."
            if asked
            else "nothing is known yet. Begin with: kl seed, or kl decision new --edit"
        )


def refuse_unknown(kinds: tuple[str, ...]) -> None:
    """Wrong use where a kind is named that there is not."""
    from kl_hooks.config.typed import nearest

    known = workspace().kinds
    for name in kinds:
        if name not in known:
            hint = nearest(name, known) or f"There are: {', '.join(known)}."
            raise click.UsageError(f"--kind {one_line(name, 60)}: there is no kind of this name. {hint}")
