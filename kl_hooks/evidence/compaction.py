"""Periodic maintenance of evidence: old test runs are compacted, expired claims archived.

Compaction removes the per-test rows of old runs; the receipt's header, its digest and its position
in the chain stay. It never touches the newest result of a test, a run on a tree that has a name or
is worked on, the newest runs, what a record cites, or anything but runs of tests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.clock import is_older, iso, micros
from kl_hooks.evidence.assertions import asserted_claims
from kl_hooks.evidence.executed import forget_runs
from kl_hooks.evidence.ledger import COMPACTABLE, RETAINED, test_names
from kl_hooks.evidence.spool_places import QUARANTINED, spool_places
from kl_hooks.hookspecs import Policy
from kl_hooks.model.claim import Claim
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.lifecycle import Change, Lifecycle
from kl_hooks.store.database import Database

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


_CLAIMS, _SPOOL = "expired claims", "set aside"


class Run(NamedTuple):
    """A receipt as compaction sees it."""

    seq: int
    id: str
    run: str
    source: str
    ended: str
    origin: str
    trees: tuple[str, ...]
    tests: frozenset[str]
    """Subjects of its evidence; of a compacted one none."""
    folded: bool = False


def compactable_runs(
    db: Database, now: int, days: int, trees: Collection[str], cited: Collection[str]
) -> list[Run]:
    """The runs of the store that can be compacted, oldest first. Arguments as of
    `choose_compactable`.
    """
    return choose_compactable(all_runs(db), now, days, trees, cited)


def choose_compactable(
    runs: Sequence[Run], now: int, days: int, trees: Collection[str], cited: Collection[str]
) -> list[Run]:
    """Those of these runs (given newest first) that can be compacted, oldest first. Pure.

    `trees`: tree IDs whose runs stay whole. `cited`: prefixes of receipt and run IDs that something
    cites.
    """
    if not days:
        return []
    newer_tests: set[str] = set()
    # sets that were added: 200 runs of 20,000 tests took 2 s, of which nearly all was adding the
    # same names again
    added: set[int] = set()
    compactable = []
    of_tests = 0
    for age, run in enumerate(runs):
        of_tests += run.source in COMPACTABLE
        newest = age < RETAINED or (run.source in COMPACTABLE and of_tests <= RETAINED)
        cites = any(run.id.startswith(word) or run.run.startswith(word) for word in cited)
        old = run.source in COMPACTABLE and is_older(now, micros(run.ended), days)
        if (
            old
            and not (run.folded or newest or cites or set(run.trees) & set(trees))
            and (id(run.tests) in added or run.tests <= newer_tests)
        ):
            compactable.append(run)
        # an import is not hard evidence (ADR-0003), so it takes no local run's place
        if (
            run.source in COMPACTABLE
            and not run.origin.startswith("imported")
            and id(run.tests) not in added
        ):
            newer_tests |= run.tests
            added.add(id(run.tests))
    return compactable[::-1]


def all_runs(db: Database) -> list[Run]:
    """All receipts, newest first."""
    lists: dict[int, frozenset[str]] = {}
    special: dict[int, set[str]] = {}
    for seq, subject in db.rows("SELECT receipt, subject FROM evidence"):
        special.setdefault(seq, set()).add(subject)
    runs = []
    for seq, key, run, source, ended, origin, tree, tree_all, tests, folded in db.rows(
        "SELECT seq, id, run, source, ended, origin, tree, tree_all, test_list, folded FROM receipt"
        " ORDER BY seq DESC"
    ):
        if tests is not None and tests not in lists:
            lists[tests] = frozenset(f"test:{name}" for name in test_names(db, tests))
        names = lists.get(tests, frozenset())
        special_names = special.get(seq, set())
        # nearly always a part of the list: then runs of one list share one set, see
        # `choose_compactable`
        names = names if special_names <= names else names | special_names
        trees = tuple(one for one in (tree, tree_all) if one)
        runs.append(Run(seq, key, run, source, ended, origin, trees, names, folded is not None))
    return runs


def compact(db: Database, ids: Iterable[str], now: int) -> int:
    """Remove the evidence of these receipts, in a transaction that the caller holds; how many were
    whole before.
    """
    count = 0
    marks = ", ".join(f"'{source}'" for source in COMPACTABLE)
    for key in ids:
        row = db.row(
            f"SELECT seq FROM receipt WHERE id = ? AND folded IS NULL AND source IN ({marks})",
            (key,),
        )
        if row is None:
            continue
        db.execute("DELETE FROM evidence WHERE receipt = ?", (row[0],))
        db.execute(
            "UPDATE receipt SET test_list = NULL, outcomes = NULL, folded = ? WHERE seq = ?",
            (iso(now), row[0]),
        )
        count += 1
    if count:
        # IS NOT NULL: in SQL, NOT IN a list with a NULL is never true
        db.execute(
            "DELETE FROM test_list WHERE id NOT IN (SELECT test_list FROM receipt WHERE test_list"
            " IS NOT NULL)"
        )
        forget_runs(db)
    return count


def expired_claims(claims: Iterable[Claim], numbers: Lifecycle, now: int) -> list[Change]:
    """The asserted claims that are to be archived. Pure."""
    changes = []
    days = numbers.max_provenance_age_days
    for claim in claims:
        if claim.freshness == "expired":
            reason = f"expired on {claim.expires}"
        elif days and is_older(now, micros(claim.made_at), days):
            reason = f"asserted on {claim.made_at[:10]}; max_provenance_age_days: {days}"
        else:
            continue
        changes.append(Change("archive", claim.id, _CLAIMS, reason, "claims", "archive of claims"))
    return changes


def _inspect_claims(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Asserted claims to archive: expired, or older than `max_provenance_age_days`."""
    with ws.store.reading() as db:
        if not db:
            return []
        return expired_claims(asserted_claims(db, now), numbers, now)


def _archive_claims(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Move them to their archive, all or none."""
    columns = "text, about, author, made_at, expires"
    with ws.store.writing(what="upkeep") as db, db.transaction():
        for change in changes:
            db.execute(
                f"INSERT INTO claim_archive (id, {columns}, archived_at) SELECT id, {columns}, ?"
                " FROM claim WHERE id = ? ON CONFLICT DO NOTHING",
                (iso(now), change.id),
            )
            db.execute("DELETE FROM claim WHERE id = ?", (change.id,))


def inspect_spool(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Quarantined captures: reported, for a person to inspect."""
    reason = "a capture that could not be understood; look at it, then delete it yourself"
    folders = [place.folder for place in spool_places(ws) if place.folder.is_dir()]
    paths = [path for folder in folders for path in sorted(folder.glob(f"*{QUARANTINED}"))]
    return [Change("keep", str(path), _SPOOL, reason) for path in paths]


POLICIES: Final = (
    Policy(_CLAIMS, "Expired claims are moved to their archive.", _inspect_claims, _archive_claims),
    Policy(
        _SPOOL, "Captures that kl can't read are listed for a person to inspect.", inspect_spool
    ),
)
