"""Claims that somebody asserted: each is a receipt of its own (class AgentAssertion), and a row to be found by.

An assertion is no observation: alone it is *assumed*, whoever makes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from kl_hooks.clock import iso
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.ledger import append
from kl_hooks.model.canonical import digest
from kl_hooks.model.claim import Claim, Observation, Support
from kl_hooks.model.receipt import Evidence, Receipt
from kl_hooks.store.database import Database
from kl_hooks.store.redaction import redact


def assert_claim(
    db: Database, text: str, about: str, author: str, now: int, expires: int | None, cites: Sequence[str] = ()
) -> Claim:
    """Keeps an assertion, in a transaction that the caller holds. Asserting it again renews it.

    `cites`: what its author cites for it; it rests in the receipt.
    """
    if not text.strip() or not about.strip():
        raise UsageProblem(
            "a claim needs a sentence, and an Id that it is about.",
            hint='Example: kl claim add "parses UTF-8" --about file:src/names.py',
        )
    author, at, until = redact(author), iso(now), iso(expires) if expires else None
    claim = Claim(redact(text.strip()), redact(about.strip()), author, at, until, cites=tuple(cites))
    append(db, [_receipt(claim)])
    db.execute("DELETE FROM claim WHERE id = ?", (claim.id,))
    db.execute(
        "INSERT INTO claim (id, text, about, author, made_at, expires) VALUES (?, ?, ?, ?, ?, ?)",
        (claim.id, claim.text, claim.about, claim.author, claim.made_at, claim.expires),
    )
    return replace(_asserted(claim.text, claim.about, author, at, until, now=at), cites=claim.cites)


def _receipt(claim: Claim) -> Receipt:
    said: dict[str, Any] = {"text": claim.text, "author": claim.author, "expires": claim.expires}
    said |= {"support": list(claim.cites)} if claim.cites else {}
    return Receipt(
        run=digest("claim/1", [claim.id, claim.author, claim.made_at])[:32],
        source="claim",
        observer=claim.author,
        producer=claim.author,
        evidence=(Evidence("AgentAssertion", claim.about, "asserted", 0, None, said),),
        started=claim.made_at,
        ended=claim.made_at,
        result={
            "exit": None, "complete": True, "how": "finished", "verdict": "asserted", "reasons": [],
            "counts": {"asserted": 1},
        },
    )  # fmt: skip


def asserted(db: Database, now: int, about: str | None = None) -> list[Claim]:
    """The assertions, oldest first; expired ones say so."""
    where, values = (" WHERE about = ?", (about,)) if about else ("", ())
    rows = db.rows(f"SELECT text, about, author, made_at, expires FROM claim{where} ORDER BY made_at, id", values)
    cites = _cited(db) if rows else {}
    made = (_asserted(*row, now=iso(now)) for row in rows)
    return [replace(one, cites=cites.get((one.id, one.made_at), ())) for one in made]


def _cited(db: Database) -> dict[tuple[str, str], tuple[str, ...]]:
    """(claim, when it was made) → what its author cited, as the receipts have it."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for at, body in db.rows(
        "SELECT r.ended, e.body FROM receipt r JOIN evidence e ON e.receipt = r.seq"
        " WHERE r.source = 'claim' AND r.origin = 'local' ORDER BY r.seq"
    ):
        try:
            plain = json.loads(body)
            cites = tuple(str(one) for one in plain.get("support", ()))
            if cites:
                found[Claim(plain["text"], plain["subject"], plain["author"], at).id, at] = cites
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return found


def archived(db: Database, now: int, about: str | None = None) -> list[Claim]:
    """The assertions that upkeep archived, oldest first, but for those that were made anew since."""
    where, values = (" AND about = ?", (about,)) if about else ("", ())
    rows = db.rows(
        "SELECT text, about, author, made_at, expires, archived_at FROM claim_archive"
        f" WHERE id NOT IN (SELECT id FROM claim){where} ORDER BY made_at, id",
        values,
    )
    newest = {Claim(row[0], row[1], row[2], row[3]).id: row for row in rows}
    return [_over(_asserted(*row[:5], now=iso(now)), row[5]) for row in newest.values()]


def _over(claim: Claim, at: str) -> Claim:
    return replace(claim, freshness="expired", reasons=(*claim.reasons, f"archived on {at}"))


def to_archive(db: Database, ids: Sequence[str], now: int) -> int:
    """Moves these assertions to the archive, in a transaction that the caller holds; how many were there."""
    moved = 0
    for key in ids:
        row = db.row("SELECT id, text, about, author, made_at, expires FROM claim WHERE id = ?", (key,))
        if row is None:
            continue
        db.execute(
            "INSERT INTO claim_archive (id, text, about, author, made_at, expires, archived_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id, made_at) DO NOTHING",
            (*row, iso(now)),
        )
        db.execute("DELETE FROM claim WHERE id = ?", (key,))
        moved += 1
    return moved


def _asserted(text: str, about: str, author: str, made_at: str, expires: str | None, *, now: str) -> Claim:
    seen = Observation("AgentAssertion", author, author, "", False, "an assertion is not an observation")
    support = Support(seen, "", "asserted", None, made_at, "for")
    gone = expires is not None and expires <= now
    reasons = (f"expired on {expires}",) if gone else ("nobody has observed it",)
    freshness = "expired" if gone else "not assessed"
    return Claim(text, about, author, made_at, expires, (support,), freshness, reasons)


def altered_assertions(db: Database) -> Iterator[str]:
    """The claims that are not what their receipts say, in words."""
    told = _told(db)
    rows = {
        row[0]: tuple(row[1:])
        for table in ("claim_archive", "claim")
        for row in db.rows(f"SELECT id, text, about, author, made_at, expires FROM {table} ORDER BY made_at, id")
    }
    for key in sorted(told.keys() | rows.keys()):
        if key not in rows:
            yield f"claim {key}: it was asserted, and is not there any more"
        elif told.get(key) != rows[key]:
            yield f"claim {key}: it is not what was asserted"


def _told(db: Database) -> dict[str, tuple[Any, ...]]:
    """Id of a claim → its newest assertion as a row."""
    found: dict[str, tuple[Any, ...]] = {}
    for at, body in db.rows(
        "SELECT r.ended, e.body FROM receipt r JOIN evidence e ON e.receipt = r.seq"
        " WHERE r.source = 'claim' AND r.origin = 'local' ORDER BY r.seq"
    ):
        try:
            plain = json.loads(body)
            claim = Claim(plain["text"], plain["subject"], plain["author"], at, plain["expires"])
            found[claim.id] = (claim.text, claim.about, claim.author, claim.made_at, claim.expires)
        except (ValueError, KeyError, TypeError):
            continue  # the receipt itself is found to be edited
    return found
