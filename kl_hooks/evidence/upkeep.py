"""How evidence tidies: claims that are over go to their archive, what age takes from others is said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.clock import micros
from kl_hooks.evidence.assertions import asserted, to_archive
from kl_hooks.evidence.book import all_claims
from kl_hooks.evidence.home import has_home
from kl_hooks.evidence.spools import spools
from kl_hooks.evidence.waiting import ASIDE
from kl_hooks.model.claim import Claim, Tier
from kl_hooks.model.lifecycle import Change, Lifecycle

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

CLAIMS: Final = "expired claims"
DECAY: Final = "claim decay"
SPOOL: Final = "set aside"


def over(claims: Iterable[Claim], numbers: Lifecycle, now: int) -> list[Change]:
    """The asserted claims that are to be archived. Pure."""
    found = []
    for claim in claims:
        if claim.freshness == "expired":
            reason = f"expired on {claim.expires}"
        elif numbers.max_provenance_age_days and numbers.old(
            now, micros(claim.made_at), numbers.max_provenance_age_days
        ):
            reason = f"asserted on {claim.made_at[:10]}; max_provenance_age_days: {numbers.max_provenance_age_days}"
        else:
            continue
        found.append(Change("archive", claim.id, CLAIMS, reason, "claims", "archive of claims"))
    return found


def look_claims(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Asserted claims that are over."""
    with ws.store.reading() as db:
        return over(asserted(db, now), numbers, now) if db else []


def archive_claims(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Moves them to their archive, all or none."""
    with ws.store.writing(what="upkeep") as db, db.transaction():
        to_archive(db, [one.id for one in changes], now)


def look_decay(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Verified claims that count as inferred by now. It is computed at every look: nothing is to be done."""
    if not has_home(ws):
        return []
    held = [claim for claim in all_claims(ws, lambda _: None) if claim.most < Tier.VERIFIED]
    return [Change("decay", one.about, DECAY, one.reasons[-1], Tier.VERIFIED.word, one.tier.word) for one in held]


def look_spool(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Captures that could not be understood and were set aside: told, and left for a person to look at."""
    found = []
    for folder, _ in spools(ws):
        for path in sorted(folder.glob(f"*{ASIDE}")) if folder.is_dir() else ():
            reason = "a capture that could not be understood; look at it, then delete it yourself"
            found.append(Change("keep", str(path), SPOOL, reason))
    return found
