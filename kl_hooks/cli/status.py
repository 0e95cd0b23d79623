"""`kl status`: what is known here and what is proven for this tree, on one screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import click

from kl_hooks.cli import status_layers
from kl_hooks.cli.common import counted, format_option, say, say_json, short, workspace
from kl_hooks.cli.reading import ledger_open
from kl_hooks.cli.receipts import line
from kl_hooks.cli.waiting import Counts, asked, by_status, waiting
from kl_hooks.evidence.ledger import Entry, known_tests, recent
from kl_hooks.evidence.place import place_of
from kl_hooks.model.manifest import MANIFEST
from kl_hooks.model.tier import Tier
from kl_hooks.proof.gate import judge, with_untracked
from kl_hooks.store.database import Database

_THINGS = ("commits", "tests", "asserted claims")


@click.command(epilog="Example: kl status --format json")
@format_option()
def status(shape: str) -> None:
    """What is known here, and what is proven for this tree."""
    from kl_hooks.cli.kind_read import told
    from kl_hooks.cli.left_out import say_left_out
    from kl_hooks.kinds.memory.glance import glance

    ws = workspace()
    place = place_of(ws.repo)
    with ledger_open(ws, place.head) as db:
        here, found = judge(ws, db, place.trees)
        facts: dict[str, Any] = {
            "schema": "kl.status/1",
            "root": str(ws.root),
            "state": str(ws.state.directory),
            "tree": place.tree,
            "head": place.head,
            "branch": place.branch,
            "changed": place.changed,
            "manifest": (ws.root / MANIFEST).is_file(),
            "manifest_mistakes": status_layers.has_mistakes(ws),
            "counts": _counts(db) if db else {},
            "proof": {
                "tier": found.tier.word, "run": found.run, "reasons": list(found.reasons),
                "untracked": with_untracked(here, found.run, place.tree),
            },
        }  # fmt: skip
        newest = recent(db, 5) if db else []
        drift = next(iter(recent(db, 1, "arch")), None) if db else None
    facts["drift"] = drift.receipt.result.get("verdict") if drift else None
    facts["memories"] = glance(ws)
    facts["records"] = by_status(ws) if ws.initialised else {}
    facts["waiting"] = waiting(ws, facts["records"])
    told()
    say_left_out(ws)
    if shape == "json":
        say_json(facts)
        return
    asks = asked(ws, {kind: number for kind, number in facts["waiting"].items() if kind != "memory"})
    for text in _lines(facts, newest, drift, found.tier, asks):
        say(text)


def _counts(db: Database) -> dict[str, int]:
    by_source = db.rows("SELECT source, COUNT(*) FROM receipt GROUP BY source")
    row = db.row("SELECT (SELECT COUNT(*) FROM commit_log), (SELECT COUNT(*) FROM claim)")
    assert row is not None
    things = dict(zip(_THINGS, (row[0], known_tests(db), row[1]), strict=True))
    return {f"receipts {source}": n for source, n in by_source} | things


def _lines(
    facts: dict[str, Any], newest: list[Entry], drift: Entry | None, tier: Tier, asks: Iterable[str]
) -> Iterator[str]:
    changed = f" + {facts['changed']} uncommitted" if facts["changed"] else ""
    at = short(facts["head"], 7) if facts["head"] else "no commit yet" if facts["tree"] else "no repository"
    yield f"{facts['root']}   {facts['branch'] or 'no branch'} {at}{changed}"
    yield f"  tree      {short(facts['tree'])}"
    yield f"  tests     {_proof(facts, tier)}"
    for reason in facts["proof"]["reasons"][:3]:
        yield f"            {reason}"
    yield f"  layers    {status_layers.told(facts, drift)}"
    yield f"  known     {_known(facts['counts']) or 'nothing yet'}"
    if any(facts["memories"].values()):
        yield "  memories  {approved} approved, {candidates} waiting for kl memory review".format(**facts["memories"])
    if known := _records(facts["records"]):
        yield f"  records   {known}"
    yield from (f"  waiting   {text}" for text in asks)
    yield f"  store     {facts['state']}"
    if newest:
        yield "  newest receipts"
        yield from (f"    {line(entry)}" for entry in newest)


def _known(counts: dict[str, int]) -> str:
    sources = {key.removeprefix("receipts "): n for key, n in counts.items() if key.startswith("receipts ")}
    total = counted(sum(sources.values()), "receipt")
    words = [f"{total} ({', '.join(f'{n} {source}' for source, n in sources.items())})"] if sources else []
    return ", ".join(words + [counted(n, key[:-1]) for key, n in counts.items() if n and key in _THINGS])


def _records(counts: Counts) -> str:
    """Those that are not archived, but memories, which have a line of their own."""
    words = []
    for kind, some in counts.items():
        number, stale = sum(some.values()) - some.get("archived", 0), some.get("stale", 0)
        if number and kind != "memory":
            words.append(counted(number, kind) + (f" ({stale} stale)" if stale else ""))
    return ", ".join(words)


def _proof(facts: dict[str, Any], tier: Tier) -> str:
    if tier is Tier.GUESSED:
        return "nothing proves this tree yet. Run: pytest"
    what = "this content, with untracked files beside it" if facts["proof"]["untracked"] else "exactly this content"
    return f"{tier.word}: run {short(facts['proof']['run'], 8)} passed on {what}"
