"""Asserted claims: how they are stored, shared and archived, and what their authors cite.

An asserted claim is a receipt of its own (class AgentAssertion), and a row to find it by. What its
author cites counts while it is valid: the package that knows records answers for them (hook
`kl_citations`). Which tier a claim has is decided in `claims`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kl_hooks.clock import iso
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.foreign import foreign_evidence
from kl_hooks.evidence.high_water import ledger_writer
from kl_hooks.evidence.ledger import append, assertions, basis_of
from kl_hooks.evidence.provenance import agent, producer, worktree_state
from kl_hooks.hookspecs import CommonEvent
from kl_hooks.model.canonical import digest
from kl_hooks.model.claim import Anchor, CitedTest, Claim, Confirmation, Observation, Support
from kl_hooks.model.receipt import Evidence, Receipt
from kl_hooks.model.symbol import is_hex
from kl_hooks.store.database import Database
from kl_hooks.store.redaction import redact, shows_secret
from kl_hooks.workspace import Workspace, require_setup

_CLAIMED: Final = "claimed"
"""The name of an event of another clone."""
_UNOBSERVED: Final = "nobody has observed it"
_COLUMNS: Final = "text, about, author, made_at, expires"


def add_claim(
    ws: Workspace,
    text: str,
    about: str,
    expires: int | None,
    cites: Sequence[str] = (),
    author: str = "",
    rests_on: Sequence[Anchor] = (),
    tests: Sequence[CitedTest] = (),
    *,
    confirms: bool = False,
) -> Claim:
    """Record an assertion of whoever runs this, or of `author`. Asserting it again renews it.

    `rests_on`: what it names, as it is now; `tests`: what it cites, likewise. `confirms`: it is one
    of this store, which stays its author's: this one has looked again, and it is still so.
    """
    require_setup(ws)
    if not text.strip() or not about.strip():
        raise UsageProblem(
            "a claim needs a sentence, and an Id that it is about.",
            hint='Example: kl claim add "parses UTF-8" --about file:src/names.py',
        )
    author = redact(author or _author(ws))
    with ledger_writer(ws) as db:
        asserted_at = iso(ws.clock.now())
        until = iso(expires) if expires else None
        # redacted before the claim is made: its ID is a digest of the text, and must be that of
        # what is stored
        claim = _asserted_claim(
            redact(text.strip()),
            redact(about.strip()),
            author,
            asserted_at,
            until,
            now=asserted_at,
            cites=tuple(cites),
        )
        named = tuple(anchor for anchor in rests_on if not shows_secret(anchor.name))
        head = worktree_state(ws.repo).head or ""
        claim = claim._replace(rests_on=named, tests=tuple(tests), head=head)
        claim = claim._replace(confirmed=Confirmation(author, asserted_at) if confirms else None)
        append(db, [_assertion_receipt(claim)])
        if confirms:
            return claim
        db.execute("DELETE FROM claim WHERE id = ?", (claim.id,))
        values = (claim.id, claim.text, claim.about, author, asserted_at, until)
        db.execute(f"INSERT INTO claim (id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", values)
    return count_citations(ws, [claim])[0]


def _author(ws: Workspace) -> str:
    name = agent(ws.environ)
    if name:
        return f"agent:{name}"
    return producer(ws.environ)


def _assertion_receipt(claim: Claim) -> Receipt:
    author = claim.last_author
    asserted_at = claim.since
    detail: dict[str, Any] = {"text": claim.text, "author": author, "expires": claim.expires}
    if claim.cites:
        detail |= {"support": list(claim.cites)}
    detail |= {key: value for key, value in claim.basis_to_dict().items() if value}
    if claim.confirmed:
        detail |= {"confirms": True}
    return Receipt(
        run=digest("claim/1", [claim.id, author, asserted_at])[:32],
        source="claim",
        observer=author,
        producer=author,
        started=asserted_at,
        ended=asserted_at,
        evidence=(Evidence("AgentAssertion", claim.about, "asserted", 0, None, detail),),
        result={
            "exit": None,
            "complete": True,
            "how": "finished",
            "verdict": "asserted",
            "reasons": [],
            "counts": {"asserted": 1},
        },
    )


def _asserted_claim(
    text: str,
    about: str,
    author: str,
    made_at: str,
    expires: str | None,
    *,
    now: str,
    cites: tuple[str, ...] = (),
) -> Claim:
    observation = Observation(
        "AgentAssertion", author, author, "", False, "an assertion is not an observation"
    )
    expired = expires is not None and expires <= now
    return Claim(
        text,
        about,
        author,
        made_at,
        expires,
        (Support(observation, "", "asserted", None, made_at, "for"),),
        "expired" if expired else "not assessed",
        (f"expired on {expires}" if expired else _UNOBSERVED,),
        cites=cites,
    )


def asserted_claims(db: Database, now: int) -> list[Claim]:
    """The assertions, oldest first; expired ones are marked as such."""
    rows = db.rows(f"SELECT {_COLUMNS} FROM claim ORDER BY made_at, id")
    claims = [_asserted_claim(*row, now=iso(now)) for row in rows]
    return _with_receipts(db, claims)


def _with_receipts(db: Database, claims: Sequence[Claim]) -> list[Claim]:
    """The claims of some rows, with what only receipts have: what is cited and named."""
    recorded = list(assertions(db)) if claims else []
    stated = {(key, word.made_at): word for key, word in recorded if word.confirmed is None}
    confirmed: dict[str, list[Claim]] = {}
    for key, word in recorded:
        if word.confirmed is not None:
            confirmed.setdefault(key, []).append(word)
    return [
        _with_basis(claim, stated.get((claim.id, claim.made_at)), confirmed.get(claim.id, ()))
        for claim in claims
    ]


def _with_basis(claim: Claim, assertion: Claim | None, confirmations: Iterable[Claim]) -> Claim:
    """A claim with what it rested on when somebody last stated it."""
    if assertion is not None:
        claim = _resting_on(claim, assertion)
    for confirmation in confirmations:
        is_same = (confirmation.rests_on, confirmation.tests) == (claim.rests_on, claim.tests)
        # an agent's word adds nothing to a person's about the same content
        adds = not (is_same and confirmation.author.startswith("agent:")) or claim.is_of_agent
        if confirmation.made_at >= claim.made_at and adds:
            claim = _resting_on(claim, confirmation)._replace(confirmed=confirmation.confirmed)
    return claim


def _resting_on(claim: Claim, word: Claim) -> Claim:
    """A claim with what another statement of it rests on."""
    return claim._replace(
        cites=word.cites, rests_on=word.rests_on, head=word.head, tests=word.tests
    )


def claims_to_share(ws: Workspace) -> list[CommonEvent]:
    """The assertions of this clone that have not ended, as other clones should know them."""
    with ws.store.reading() as db:
        if db:
            claims = asserted_claims(db, ws.clock.now())
        else:
            claims = []
    return [
        CommonEvent(
            _CLAIMED,
            one.about,
            one.author,
            one.made_at,
            {
                "text": one.text,
                "expires": one.expires,
                "cites": list(one.cites),
                **one.basis_to_dict(),
                **({"confirmed": list(one.confirmed)} if one.confirmed else {}),
            },
        )
        for one in claims
        if one.freshness != "expired"
    ]


def known_assertions(ws: Workspace, db: Database, *, archived: bool = False) -> list[Claim]:
    """The assertions of this clone, and those of others that count; expired ones are marked as
    such. `archived`: then those that maintenance archived and nobody made again.

    Of one claim the one that was made here, but a person's before an agent's.
    """
    own = asserted_claims(db, ws.clock.now())
    by_person_and_claim = {
        claim.id: (not claim.author.startswith("agent:"), claim) for claim in own
    }
    here = {claim.id for claim in own}
    for event in foreign_evidence(ws).events(db, (_CLAIMED,)):
        try:
            body = event.body
            author = f"{event.author} (signed by {event.signer})"
            cites = tuple(map(str, body["cites"]))
            claim_of_other = _asserted_claim(
                body["text"],
                event.record,
                author,
                event.at,
                body["expires"],
                now=iso(ws.clock.now()),
                cites=cites,
            )
            confirmed = body.get("confirmed")
            claim_of_other = claim_of_other._replace(
                confirmed=Confirmation(*map(str, confirmed)) if confirmed else None,
                **basis_of(body),
            )
            key = claim_of_other.id
        except (KeyError, TypeError, ValueError):
            continue  # whoever has a trusted key wrote something else; the rest of it counts
        # oldest first, so that of two from elsewhere the newer one counts
        before = by_person_and_claim.get(key)
        if (
            before is None
            or event.by_person > before[0]
            or (event.by_person == before[0] and key not in here)
        ):
            by_person_and_claim[key] = event.by_person, claim_of_other
    claims = [claim for _, claim in by_person_and_claim.values()]
    if archived:
        claims += [
            claim
            for claim in archived_claims(db, ws.clock.now())
            if claim.id not in by_person_and_claim
        ]
    return claims


def archived_claims(db: Database, now: int) -> list[Claim]:
    """The assertions that maintenance archived, oldest first, but for those that were made again
    since.
    """
    rows = db.rows(
        f"SELECT {_COLUMNS}, archived_at FROM claim_archive WHERE id NOT IN (SELECT id FROM claim)"
        " ORDER BY made_at, id"
    )
    claims = _with_receipts(db, [_asserted_claim(*row[:5], now=iso(now)) for row in rows])
    claims_and_times = zip(claims, (row[5] for row in rows), strict=True)
    # a dictionary in the order of the rows: of a claim that was archived twice the newer one counts
    newest = {
        claim.id: claim._replace(
            freshness="expired", reasons=(*claim.reasons, f"archived on {archived_at}")
        )
        for claim, archived_at in claims_and_times
    }
    return list(newest.values())


def count_citations(ws: Workspace, claims: Sequence[Claim]) -> list[Claim]:
    """The same claims, with what their authors cite counted."""
    cited = sorted({ref for claim in claims for ref in claim.cites})
    if not cited:
        return list(claims)
    observed = {
        ref: observation_and_why
        for answer in ws.plugins.hook.kl_citations(workspace=ws, ids=cited)
        for ref, observation_and_why in answer.items()
    }
    return [_with_citations(claim, observed) for claim in claims]


def _with_citations(claim: Claim, observed: Mapping[str, tuple[Observation, str]]) -> Claim:
    support = list(claim.support)
    reasons = list(claim.reasons)
    for ref in claim.cites:
        # what nobody answers for counts as removed: an unknown ID must not support anything
        removed = (
            Observation("AgentAssertion", claim.author, claim.author, ref, False, "removed"),
            "removed",
        )
        observation, why = observed.get(ref, removed)
        support.append(
            Support(observation, "", "cited", None, claim.made_at, "nothing" if why else "for")
        )
        if why:
            reasons += [f"{ref[:12] if is_hex(ref) else ref} supports nothing: it is {why}"]
    if any(one.outcome == "cited" and one.speaks == "for" for one in support):
        reasons = [one for one in reasons if one != _UNOBSERVED]
    return claim._replace(support=tuple(support), reasons=tuple(reasons))
