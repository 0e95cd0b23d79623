"""`kl knowledge search`: records of every kind that bear some words."""

from __future__ import annotations

import click

from kl_hooks.cli.common import counted, format_option, note, say, say_json, workspace
from kl_hooks.cli.kind_read import NOT_IN_FORCE
from kl_hooks.cli.knowledge_list import refuse_unknown
from kl_hooks.model.text import one_line


@click.command(epilog="Example: kl knowledge search utf-8 names")
@click.argument("words", nargs=-1, required=True)
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only of this kind; may be repeated.")
@click.option("--all", "everything", is_flag=True, help=NOT_IN_FORCE)
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="Most shown.")
@format_option()
def search(words: tuple[str, ...], kinds: tuple[str, ...], everything: bool, limit: int, shape: str) -> None:
    """Find records of every kind, in force, that match any of the WORDS, best first."""
    from kl_hooks.cli.kind_read import note_omitted, told
    from kl_hooks.cli.left_out import say_left_out
    from kl_hooks.cli.record_text import plain_record, rows
    from kl_hooks.evidence.book import plain_claim
    from kl_hooks.proof.claims import search_claims
    from kl_hooks.records.ask import Wanted
    from kl_hooks.records.fresh import shown
    from kl_hooks.records.retrieve import search_in_force

    ws = workspace()
    refuse_unknown(kinds)
    wanted = Wanted(kinds, archived=True, expired=everything)
    found, total, omitted = search_in_force(ws, list(words), wanted, limit)
    found = shown(ws, found)
    claims = [] if kinds else search_claims(ws, list(words), limit)
    told()
    note_omitted(omitted)
    say_left_out(ws)
    if shape == "json":
        plain = [plain_record(ws, record, whole=False) for record in found]
        said = {"records": plain, "total": total, "not_in_force": omitted}
        say_json({"schema": "kl.knowledge.search/1", **said, "claims": [plain_claim(one) for one in claims]})
        return
    for line in rows(ws, found, of_kind=True):
        say(line)
    if total > len(found):
        note(f"these are the first {len(found)} of {counted(total, 'record')}; more with --limit.")
    for one in claims:
        say(f"claim  {one.id}  {one.tier.word}  {one_line(one.text, 120)}")
    if not found and not claims:
        say(f"no matches for: {one_line(' '.join(words))}")
