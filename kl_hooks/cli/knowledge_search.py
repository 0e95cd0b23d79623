"""`kl knowledge search`: records of every kind that bear some words."""

from __future__ import annotations

import click

from kl_hooks.cli.common import counted, format_option, note, say, say_json, workspace
from kl_hooks.cli.knowledge_list import refuse_unknown, topic_option
from kl_hooks.model.text import one_line


@click.command(epilog="Example: kl knowledge search utf-8 names")
@click.argument("words", nargs=-1, required=True)
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only of this kind; may be repeated.")
@topic_option
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="Most shown.")
@format_option()
def search(words: tuple[str, ...], kinds: tuple[str, ...], topic: str, limit: int, shape: str) -> None:
    """What is known that bears any of the WORDS, of every kind, best first; the archive too."""
    from kl_hooks.cli.kind_read import told
    from kl_hooks.cli.left_out import say_left_out
    from kl_hooks.cli.record_text import plain_record, rows
    from kl_hooks.kinds.groups import Selection
    from kl_hooks.records.ask import EVERYTHING, Wanted
    from kl_hooks.records.ask import search as find
    from kl_hooks.records.fresh import shown

    ws = workspace()
    refuse_unknown(kinds)
    meant = Selection(ws.kinds, topic) if topic else None
    all_ = find(ws, list(words), Wanted(kinds or (meant.kinds if meant else ()), archived=True), EVERYTHING)
    all_ = [one for one in all_ if meant is None or meant.holds(one)]
    found = shown(ws, all_[:limit])
    told()
    say_left_out(ws)
    if shape == "json":
        plain = [plain_record(ws, record, whole=False) for record in found]
        say_json({"schema": "kl.knowledge.search/1", "records": plain, "total": len(all_)})
        return
    for line in rows(ws, found, of_kind=True):
        say(line)
    if len(all_) > len(found):
        note(f"these are the first {len(found)} of {counted(len(all_), 'record')}; more with --limit.")
    if not found:
        say(f"no matches for: {one_line(' '.join(words))}")
