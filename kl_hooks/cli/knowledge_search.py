"""`kl knowledge search`: records of every kind, and pages, with some words."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, note, say, say_json, workspace
from kl_hooks.cli.knowledge_list import refuse_unknown
from kl_hooks.model.text import one_line


@click.command(epilog="Example: kl knowledge search utf-8 names")
@click.argument("words", nargs=-1, required=True)
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only of this kind, or `page`; may be repeated.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="Most shown.")
@format_option()
def search(words: tuple[str, ...], kinds: tuple[str, ...], limit: int, shape: str) -> None:
    """Search records of every kind and the pages of the docs folder for any of the WORDS, best first.

    Archived records are included. A page is found by its sections: each hit names the heading and its line.
    """
    from kl_hooks.cli.kind_read import told
    from kl_hooks.cli.left_out import say_left_out
    from kl_hooks.cli.record_text import plain_record, rows
    from kl_hooks.model.record import Record
    from kl_hooks.records.ask import Wanted
    from kl_hooks.records.fresh import shown
    from kl_hooks.records.linked import plain_passage, search_everywhere
    from kl_hooks.records.pages.take import KIND

    ws = workspace()
    refuse_unknown(tuple(kind for kind in kinds if kind != KIND))
    found, total = search_everywhere(ws, words, Wanted(kinds, archived=True), limit)
    records = shown(ws, [one for one in found if isinstance(one, Record)])
    pages = [one for one in found if not isinstance(one, Record)]
    told()
    say_left_out(ws)
    order = [one.id if isinstance(one, Record) else one.hit.id for one in found]
    if shape == "json":
        known = [plain_record(ws, record, whole=False) for record in records]
        sections = [plain_passage(one, words) for one in pages]
        say_json(
            {"schema": "kl.knowledge.search/1", "records": known, "pages": sections, "order": order, "total": total}
        )
        return
    lines = dict(zip((one.id for one in records), rows(ws, records, of_kind=True), strict=True))
    wide = max((len(one.kind) for one in records), default=0)
    for one in pages:
        lines[one.hit.id] = f"{KIND:<{wide}}  {one.hit.path}:{one.hit.line}  {one_line(one.hit.title, 120)}"
    for identifier in order:
        say(lines[identifier])
    if total > len(found):
        note(f"these are the first {len(found)} of {total} matches; more with --limit.")
    if not found:
        say(f"no matches for: {one_line(' '.join(words))}")
