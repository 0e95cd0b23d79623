"""`kl knowledge search`: records in force, claims and pages that match some words."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, note, say, say_json, workspace
from kl_hooks.cli.kind_read import NOT_IN_FORCE
from kl_hooks.cli.knowledge_list import refuse_unknown, topic_option
from kl_hooks.model.text import one_line


@click.command(epilog="Example: kl knowledge search utf-8 names")
@click.argument("words", nargs=-1, required=True)
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only of this kind, or `page`; may be repeated.")
@topic_option
@click.option("--all", "everything", is_flag=True, help=NOT_IN_FORCE)
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="Most shown.")
@format_option()
def search(
    words: tuple[str, ...], kinds: tuple[str, ...], topic: str, everything: bool, limit: int, shape: str
) -> None:
    """Search records in force, claims, and the pages of the docs folder for any of the WORDS, best first.

    A page is found by its sections: each hit names the heading and its line. With --topic only records are searched.
    """
    from kl_hooks.cli.kind_read import note_omitted, told
    from kl_hooks.cli.left_out import say_left_out
    from kl_hooks.cli.record_text import rows
    from kl_hooks.evidence.book import plain_claim
    from kl_hooks.kinds.topics import Selection
    from kl_hooks.model.record import Record
    from kl_hooks.proof.claims import search_claims
    from kl_hooks.records.liveness import with_stale_status
    from kl_hooks.records.page_search import search_all, section_to_dict
    from kl_hooks.records.query import NO_LIMIT, RecordFilter, record_to_dict
    from kl_hooks.records.sync import PAGE_KIND

    ws = workspace()
    refuse_unknown(tuple(kind for kind in kinds if kind != PAGE_KIND))
    meant = Selection(ws.kinds, topic) if topic else None
    wanted = RecordFilter(kinds or (meant.kinds if meant else ()), archived=True, expired=everything)
    found, total, omitted = search_all(ws, words, wanted, NO_LIMIT if meant else limit)
    if meant is not None:
        some = [one for one in found if isinstance(one, Record) and meant.holds(one)]
        found, total = list(some[:limit]), len(some)
    records = with_stale_status(ws, [one for one in found if isinstance(one, Record)])
    pages = [one for one in found if not isinstance(one, Record)]
    claims, matching = ([], 0) if kinds or meant else search_claims(ws, list(words), limit)
    told()
    note_omitted(omitted)
    say_left_out(ws)
    order = [one.id if isinstance(one, Record) else one.hit.id for one in found]
    if shape == "json":
        known = [record_to_dict(ws, record, whole=False) for record in records]
        sections = [section_to_dict(one, words) for one in pages]
        say_json(
            {
                "schema": "kl.knowledge.search/1", "records": known, "pages": sections, "order": order, "total": total,
                "not_in_force": omitted, "claims": [plain_claim(one) for one in claims], "claims_total": matching,
            }
        )  # fmt: skip
        return
    lines = dict(zip((one.id for one in records), rows(ws, records, of_kind=True), strict=True))
    wide = max((len(one.kind) for one in records), default=0)
    for one in pages:
        lines[one.hit.id] = f"{PAGE_KIND:<{wide}}  {one.hit.path}:{one.hit.line}  {one_line(one.hit.title, 120)}"
    for identifier in order:
        say(lines[identifier])
    for claim in claims:
        say(f"claim  {claim.id}  {claim.tier.word}  {one_line(claim.text, 120)}")
    given, matching = len(found) + len(claims), total + matching
    if matching > given:
        note(f"these are the first {given} of {matching} matches; more with --limit.")
    if not found and not claims:
        say(f"no matches for: {one_line(' '.join(words))}")
