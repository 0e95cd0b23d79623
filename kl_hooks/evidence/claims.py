"""Claims: those that follow from evidence, and those that somebody asserted. Tiers are computed,
never stored.

An asserted claim is a receipt of its own (class AgentAssertion), and a row to find it by. An
assertion is no observation: alone it is *assumed*, whoever makes it. What its author cites counts
while it is valid: the package that knows records answers for them (hook `kl_citations`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso, micros
from kl_hooks.config.settings import load_lifecycle
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.foreign import foreign_evidence, with_origins
from kl_hooks.evidence.high_water import ledger_writer
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.ledger import (
    Entry,
    append,
    assertions,
    basis_of,
    entries_of_tree,
    parents_of,
    recent,
)
from kl_hooks.evidence.provenance import agent, producer, worktree_state
from kl_hooks.evidence.trust import (
    NOTES,
    contradiction,
    observation,
    parent_confirmation,
    stance,
)
from kl_hooks.hookspecs import CommonEvent
from kl_hooks.model.canonical import digest
from kl_hooks.model.claim import (
    OLDER_TREE,
    Anchor,
    CitedTest,
    Claim,
    Confirmation,
    Observation,
    Support,
    Tier,
)
from kl_hooks.model.lifecycle import Lifecycle
from kl_hooks.model.receipt import Evidence, Receipt
from kl_hooks.model.symbol import is_hex, split_id
from kl_hooks.model.text import counted
from kl_hooks.store.database import Database
from kl_hooks.store.redaction import redact, shows_secret
from kl_hooks.workspace import Workspace, require_setup

if TYPE_CHECKING:
    from kl_hooks.evidence.flaky import FlakyPasses

DAY: Final = 86_400_000_000
"""Microseconds."""
RECENT_RECEIPTS: Final = 50
"""Receipts that are searched for subjects that were not observed on today's tree."""
SENTENCES: Final = {
    "TestResult": "Test passes: {}",
    "ExitCode": "Command succeeds: {}",
    "Validator": "Check is clean: {}",
}
"""Class of evidence → the claim that it makes by itself."""
_CLAIMED: Final = "claimed"
"""The name of an event of another clone."""
FLAKY: Final = "flaky: it passed and failed on the same content"
UNOBSERVED: Final = "nobody has observed it"
_COLUMNS: Final = "text, about, author, made_at, expires"


def all_claims(
    ws: Workspace, warn: Callable[[str], None], about: Collection[str] | None = None
) -> list[Claim]:
    """Asserted claims, then those that follow from evidence. `warn` is called where the answer may
    be smaller.
    """
    require_setup(ws)
    synced = sync_evidence(ws)
    with ws.store.reading() as db:
        # inside: a store that can't be read either raises that trouble, and it must not be reported
        # twice
        if synced.trouble:
            warn(synced.trouble)
        return claims_about(ws, db, about) if db else []


def claims_about(ws: Workspace, db: Database, about: Collection[str] | None = None) -> list[Claim]:
    """The claims in a store, as they count today: the one place where the tier of a claim is
    decided.
    """
    trees, now = worktree_state(ws.repo).trees, ws.clock.now()
    # a dictionary, since a receipt of today's tree is often one of the newest too
    here = [*entries_of_tree(db, trees), *entries_of_tree(db, trees, notes=True)]
    entries = {entry.seq: entry for entry in [*here, *recent(db, RECENT_RECEIPTS)]}
    judged = with_origins(ws, db, list(entries.values()))
    entries = {entry.seq: entry for entry in judged if not entry.origin.startswith(NOTES)}
    derived = current_claims(
        ws, db, [entries[seq] for seq in sorted(entries, reverse=True)], trees, about
    )
    known = known_assertions(ws, db)
    archived = [
        one for one in archived_claims(db, now) if one.id not in {claim.id for claim in known}
    ]
    asserted = [claim for claim in (*known, *archived) if not about or claim.about in about]
    # an assertion of what evidence shows too makes no second claim: it is one more reason for the
    # first
    shown = {claim.id: claim for claim in derived}
    for claim in asserted:
        if claim.id in shown and claim.freshness != "expired":
            shown[claim.id] = replace(
                shown[claim.id], support=shown[claim.id].support + claim.support
            )
    return _count_citations(
        ws, [*(claim for claim in asserted if claim.id not in shown), *shown.values()]
    )


def current_claims(
    ws: Workspace,
    db: Database,
    entries: Sequence[Entry],
    trees: Sequence[str],
    about: Collection[str] | None = None,
) -> list[Claim]:
    """The claims that these receipts (newest first) make, by the settings of the repository and at
    their age.
    """
    found = derived_claims(
        entries, trees, parents_of(db, entries), about, ws.settings.verified_requires
    )
    # what is wrong in that file is not reported here: upkeep does, and the default counts meanwhile
    days = load_lifecycle(ws.root, ws.state.cache)[0].confidence_decay_days
    from kl_hooks.evidence.flaky import (
        FlakyPasses,
    )  # here: most commands that import claims ask for none

    flaky, receipts = FlakyPasses(ws, db), {one.id: one.receipt for one in entries}
    return [aged(_without_flaky(claim, flaky, receipts), ws.clock.now(), days) for claim in found]


def _without_flaky(claim: Claim, flaky: FlakyPasses, receipts: Mapping[str, Receipt]) -> Claim:
    """The claim in which a pass of a flaky test is no hard evidence, and no word for one."""
    if not claim.about.startswith("test:"):
        return claim
    found = {
        one.receipt: why
        for one in claim.support
        if one.speaks == "for"
        and (one.observation.hard or one.observation.asserted)
        and one.receipt in receipts
        and (why := flaky.why(claim.about, receipts[one.receipt]))
    }
    support = [
        (
            replace(
                one,
                observation=replace(
                    one.observation, hard=False, asserted=False, why_not=found[one.receipt]
                ),
            )
            if one.receipt in found
            else one
        )
        for one in claim.support
    ]
    return replace(
        claim, support=tuple(support), reasons=(*claim.reasons, *dict.fromkeys(found.values()))
    )


def aged(claim: Claim, now: int, days: int) -> Claim:
    """The claim as it counts at `now`: a verified one whose newest observation is older than `days`
    is inferred.

    A claim with an end of its own does not decay, and with 0 days none does. Applied again it
    changes nothing.
    """
    if not days or claim.expires or claim.tier is not Tier.VERIFIED:
        return claim
    newest = max(
        (micros(one.at) for one in claim.support if one.speaks == "for" and one.observation.hard),
        default=now,
    )
    if not Lifecycle.old(now, newest, days):
        return claim
    age = counted((now - newest) // DAY, "day")
    reason = f"last observed {age} ago; after {counted(days, 'day')} it counts as inferred"
    return replace(claim, max_tier=Tier.INFERRED, reasons=(*claim.reasons, reason))


def _count_citations(ws: Workspace, claims: Sequence[Claim]) -> list[Claim]:
    """The same claims, with what their authors cite counted."""
    cited = sorted({ref for one in claims for ref in one.cites})
    if not cited:
        return list(claims)
    known = {
        ref: one
        for answer in ws.plugins.hook.kl_citations(workspace=ws, ids=cited)
        for ref, one in answer.items()
    }
    return [_with_citations(claim, known) for claim in claims]


def _with_citations(claim: Claim, known: Mapping[str, tuple[Observation, str]]) -> Claim:
    support, reasons = list(claim.support), list(claim.reasons)
    for ref in claim.cites:
        # what nobody answers for counts as removed: an unknown ID must not support anything
        removed = (
            Observation("AgentAssertion", claim.author, claim.author, ref, False, "removed"),
            "removed",
        )
        seen, why = known.get(ref, removed)
        support.append(Support(seen, "", "cited", None, claim.made_at, "nothing" if why else "for"))
        reasons += (
            [f"{ref[:12] if is_hex(ref) else ref} supports nothing: it is {why}"] if why else []
        )
    if any(one.outcome == "cited" and one.speaks == "for" for one in support):
        reasons = [one for one in reasons if one != UNOBSERVED]
    return replace(claim, support=tuple(support), reasons=tuple(reasons))


def derived_claims(
    entries: Sequence[Entry],
    trees: Sequence[str],
    parents: Mapping[str, Entry],
    about: Collection[str] | None = None,
    rule: str = "independent",
) -> list[Claim]:
    """The claims that these receipts (newest first) make, in the order of their subjects. Pure.

    For each subject the receipts of `trees` (the content now) count; where there are none, those of
    the newest tree that was observed, and the claim is marked so. A claim is made where something
    speaks for it. `about` limits it to these subjects. `parents` maps a run to the receipt of the
    command that started it; `rule` is `verified_requires`.
    """
    seen: dict[str, list[tuple[Entry, Support, str]]] = {}
    for entry in entries:
        for evidence in entry.receipt.evidence:
            if evidence.kind in SENTENCES and (about is None or evidence.subject in about):
                support = _support(entry, evidence, parents)
                seen.setdefault(evidence.subject, []).append(
                    (entry, support, SENTENCES[evidence.kind])
                )
    made = (
        _derived_claim(subject, found, trees, parents, rule)
        for subject, found in sorted(seen.items())
    )
    return [claim for claim in made if claim]


def _support(entry: Entry, evidence: Evidence, parents: Mapping[str, Entry]) -> Support:
    seen = observation(entry.receipt, evidence, entry.origin)
    parent = parents.get(entry.receipt.parent or "")
    if parent and seen.hard and (why := contradiction(parent.receipt, entry.receipt)):
        seen = replace(seen, hard=False, why_not=why)
    return Support(
        seen,
        entry.id,
        evidence.outcome,
        entry.receipt.tree,
        entry.receipt.ended,
        stance(evidence),
        entry.origin,
    )


def _derived_claim(
    subject: str,
    found: Sequence[tuple[Entry, Support, str]],
    trees: Sequence[str],
    parents: Mapping[str, Entry],
    rule: str,
) -> Claim | None:
    here = [one for one in found if {one[0].receipt.tree, one[0].receipt.tree_all} & set(trees)]
    newest = found[0][0].receipt.tree
    counted = here or [one for one in found if one[0].receipt.tree == newest]
    if not any(support.speaks == "for" for _, support, _ in counted):
        return None
    support = [s for _, s, _ in counted]
    for entry, own, _ in counted:
        if (
            own.speaks == "for"
            and own.observation.hard
            and (parent := parents.get(entry.receipt.parent or ""))
        ):
            # shown as what it is: one more look at the one execution that the run recorded itself
            for evidence in parent_confirmation(parent.receipt, entry.receipt):
                seen = _support(parent, evidence, {})
                support.append(
                    replace(seen, observation=replace(seen.observation, run=entry.receipt.run))
                )
    reasons = (
        []
        if here
        else [f"observed on tree {(newest or 'unknown')[:12]}; the content has changed since"]
    )
    if any(s.speaks == "against" for s in support):
        support = [
            replace(
                s, observation=replace(s.observation, hard=False, asserted=False, why_not=FLAKY)
            )
            for s in support
        ]
        reasons.append("it also failed on this very content: flaky, until something is changed")
    return Claim(
        found[0][2].format(split_id(subject)[1]),
        subject,
        "auto",
        found[-1][0].receipt.started,
        None,
        tuple(support),
        "current" if here else OLDER_TREE,
        tuple(reasons),
        rule,
    )


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
        at, until = iso(ws.clock.now()), iso(expires) if expires else None
        # redacted before the claim is made: its ID is a digest of the text, and must be that of
        # what is stored
        claim = _asserted_claim(
            redact(text.strip()),
            redact(about.strip()),
            author,
            at,
            until,
            now=at,
            cites=tuple(cites),
        )
        named = tuple(anchor for anchor in rests_on if not shows_secret(anchor.name))
        head = worktree_state(ws.repo).head or ""
        claim = replace(claim, rests_on=named, tests=tuple(tests), head=head)
        claim = replace(claim, confirmed=Confirmation(author, at) if confirms else None)
        append(db, [_assertion_receipt(claim)])
        if confirms:
            return claim
        db.execute("DELETE FROM claim WHERE id = ?", (claim.id,))
        values = (claim.id, claim.text, claim.about, author, at, until)
        db.execute(f"INSERT INTO claim (id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", values)
    return _count_citations(ws, [claim])[0]


def plain_basis(claim: Claim) -> dict[str, Any]:
    """What a claim rests on as plain data: `ledger.basis_of` reads it."""
    return {
        "rests_on": [list(anchor) for anchor in claim.rests_on],
        "head": claim.head,
        "tests": [[test.nodeid, [list(part) for part in test.parts]] for test in claim.tests],
    }


def _author(ws: Workspace) -> str:
    name = agent(ws.environ)
    return f"agent:{name}" if name else producer(ws.environ)


def _assertion_receipt(claim: Claim) -> Receipt:
    author, at = claim.last_author, claim.since
    detail: dict[str, Any] = {"text": claim.text, "author": author, "expires": claim.expires}
    detail |= {"support": list(claim.cites)} if claim.cites else {}
    detail |= {key: value for key, value in plain_basis(claim).items() if value}
    detail |= {"confirms": True} if claim.confirmed else {}
    return Receipt(
        run=digest("claim/1", [claim.id, author, at])[:32],
        source="claim",
        observer=author,
        producer=author,
        started=at,
        ended=at,
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
    seen = Observation(
        "AgentAssertion", author, author, "", False, "an assertion is not an observation"
    )
    expired = expires is not None and expires <= now
    return Claim(
        text,
        about,
        author,
        made_at,
        expires,
        (Support(seen, "", "asserted", None, made_at, "for"),),
        "expired" if expired else "not assessed",
        (f"expired on {expires}" if expired else UNOBSERVED,),
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
            claim = replace(_resting_on(claim, confirmation), confirmed=confirmation.confirmed)
    return claim


def _resting_on(claim: Claim, word: Claim) -> Claim:
    """A claim with what another statement of it rests on."""
    return replace(
        claim, cites=word.cites, rests_on=word.rests_on, head=word.head, tests=word.tests
    )


def claims_to_share(ws: Workspace) -> list[CommonEvent]:
    """The assertions of this clone that have not ended, as other clones should know them."""
    with ws.store.reading() as db:
        claims = asserted_claims(db, ws.clock.now()) if db else []
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
                **plain_basis(one),
                **({"confirmed": list(one.confirmed)} if one.confirmed else {}),
            },
        )
        for one in claims
        if one.freshness != "expired"
    ]


def known_assertions(ws: Workspace, db: Database) -> list[Claim]:
    """The assertions of this clone, and those of others that count; expired ones are marked as
    such.

    Of one claim the one that was made here, but a person's before an agent's.
    """
    own = asserted_claims(db, ws.clock.now())
    found = {one.id: (not one.author.startswith("agent:"), one) for one in own}
    here = {one.id for one in own}
    for one in foreign_evidence(ws).events(db, (_CLAIMED,)):
        try:
            body = one.body
            author = f"{one.author} (signed by {one.signer})"
            cites = tuple(map(str, body["cites"]))
            made = _asserted_claim(
                body["text"],
                one.record,
                author,
                one.at,
                body["expires"],
                now=iso(ws.clock.now()),
                cites=cites,
            )
            confirmed = body.get("confirmed")
            made = replace(
                made,
                confirmed=Confirmation(*map(str, confirmed)) if confirmed else None,
                **basis_of(body),
            )
            key = made.id
        except (KeyError, TypeError, ValueError):
            continue  # whoever has a trusted key wrote something else; the rest of it counts
        # oldest first, so that of two from elsewhere the newer one counts
        before = found.get(key)
        if (
            before is None
            or one.by_person > before[0]
            or (one.by_person == before[0] and key not in here)
        ):
            found[key] = one.by_person, made
    return [claim for _, claim in found.values()]


def archived_claims(db: Database, now: int) -> list[Claim]:
    """The assertions that maintenance archived, oldest first, but for those that were made again
    since.
    """
    rows = db.rows(
        f"SELECT {_COLUMNS}, archived_at FROM claim_archive WHERE id NOT IN (SELECT id FROM claim)"
        " ORDER BY made_at, id"
    )
    claims = _with_receipts(db, [_asserted_claim(*row[:5], now=iso(now)) for row in rows])
    made = zip(claims, (row[5] for row in rows), strict=True)
    # a dictionary in the order of the rows: of a claim that was archived twice the newer one counts
    newest = {
        one.id: replace(one, freshness="expired", reasons=(*one.reasons, f"archived on {at}"))
        for one, at in made
    }
    return list(newest.values())


def claim_to_dict(claim: Claim) -> dict[str, Any]:
    """`kl.claim/3`."""
    return {
        "schema": "kl.claim/3",
        "id": claim.id,
        "text": claim.text,
        "about": claim.about,
        "author": claim.author,
        "made_at": claim.made_at,
        "expires": claim.expires,
        "tier": claim.tier.word,
        "freshness": claim.freshness,
        "reasons": list(claim.reasons),
        "cites": list(claim.cites),
        "rests_on": [one._asdict() for one in claim.rests_on],
        "ended": list(claim.ended),
        "confirmed": claim.confirmed._asdict() if claim.confirmed else None,
        "support": [
            {
                "class": s.observation.kind,
                "observer": s.observation.observer,
                "producer": s.observation.producer,
                "run": s.observation.run,
                "hard": s.observation.hard,
                "why_not": s.observation.why_not,
                "receipt": s.receipt,
                "outcome": s.outcome,
                "tree": s.tree,
                "at": s.at,
                "speaks": s.speaks,
                "origin": s.origin,
            }
            for s in claim.support
        ],
    }
