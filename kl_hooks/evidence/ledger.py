"""The receipts of a store: appended once to a hash chain, read by ID, run, tree or order.

The chain proves that no receipt before a remembered head was edited, removed, inserted or
reordered. It does not prove that what a receipt states was true, nor anything after the last head
that somebody else remembers.

The outcomes of a run are one small blob over an interned list of tests: a run of 20,000 tests costs
about two bytes a test, since outcomes repeat and durations are small numbers.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any, Final

from kl_hooks.errors import StoreDamaged, UsageProblem
from kl_hooks.evidence.trust import ran_no_test
from kl_hooks.model.canonical import canonical, digest
from kl_hooks.model.claim import Anchor, CitedTest, Claim, Confirmation, TestPart
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import REFUTES, TEST_OUTCOMES, Evidence, Receipt, receipt_from_header
from kl_hooks.model.symbol import is_hex
from kl_hooks.store.database import Database, chunks, placeholders

CHAIN_START: Final = "0" * 64
COMPACTABLE: Final = ("pytest", "junit")
"""Sources of the receipts that can be compacted: runs of tests."""
RETAINED: Final = 50
"""The newest receipts, and the newest runs of tests, that are never compacted: claims look back so
far.
"""
UNREADABLE: Final = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    RecursionError,
    zlib.error,
)
"""What reading a row that was edited may raise."""
_LIMITING_KEYS: Final = (
    "keyword",
    "markers",
    "lf",
    "collect_only",
    "setup_only",
    "setup_plan",
    "overridden",
    "config_file",
    "deselected",
    "dropped",
    "transferred",
)
"""Keys of a run's `selection` that mean, where they are not empty, that it omitted tests."""
COUNTED_LIMITS: Final = frozenset({"keyword", "markers", "deselected", "dropped"})
"""Those of a run that still collects everything, and counts it."""
_ENTRY: Final = "SELECT seq, chain, origin, id, header, test_list, outcomes, folded FROM receipt"
_CODE: Final = {outcome: code for code, outcome in enumerate(TEST_OUTCOMES)}
_REFUTING_CODES: Final = frozenset(_CODE[outcome] for outcome in REFUTES if outcome in _CODE)
_OURS: Final = "origin NOT LIKE 'imported:notes%'"
"""Receipts without those of git notes: whoever can push may write any, so only the gate asks for
them, with the keys that the reader trusts (`foreign.with_origins`).
"""
_LARGEST_COLUMN: Final = 64 * 1024 * 1024
"""Bytes a blob may unpack to: more is not ours (5 million tests)."""


class Entry(NamedTuple):
    """A receipt and its position in this store."""

    seq: int
    chain: str
    origin: str
    id: str
    """As stored; equal to `receipt.id` unless somebody edited the row."""
    receipt: Receipt
    folded: str = ""
    """When it was compacted (ISO 8601); empty: it is whole."""


def chain_link(previous: str, receipt: str, origin: str = "local") -> str:
    """The chain's value after `receipt`, given its value before: 64 hexadecimal digits.

    The origin of a receipt decides what it weighs, so an origin that is not `local` is part of it.
    """
    origin_part = "" if origin == "local" else f"\0{origin}"
    return hashlib.sha256(f"kl/chain/1\0{previous}{receipt}{origin_part}".encode()).hexdigest()


def chain_head(db: Database) -> tuple[int, str]:
    """Sequence number and chain value of the newest receipt; (0, CHAIN_START) for none."""
    row = db.row("SELECT seq, chain FROM receipt ORDER BY seq DESC LIMIT 1")
    if not row:
        return (0, CHAIN_START)
    return (int(row[0]), str(row[1]))


def has_receipt(db: Database, run: str) -> bool:
    """Whether the store has a receipt of a run."""
    return db.row("SELECT 1 FROM receipt WHERE run = ?", (run,)) is not None


def append(db: Database, receipts: Iterable[Receipt], origin: str = "local") -> int:
    """Add the receipts that are not there yet, in a transaction that the caller holds; how many
    were new.
    """
    new = 0
    seq, chain = chain_head(db)
    for receipt in receipts:
        if db.row("SELECT 1 FROM receipt WHERE id = ?", (receipt.id,)):
            continue
        seq, chain, new = seq + 1, chain_link(chain, receipt.id, origin), new + 1
        test_list, outcomes, unpacked = _columns(db, receipt.evidence)
        db.execute(
            "INSERT INTO receipt (seq, id, run, parent, source, tree, tree_all, ended, header,"
            " chain, origin, test_list, outcomes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                seq,
                receipt.id,
                receipt.run,
                receipt.parent,
                receipt.source,
                receipt.tree,
                receipt.tree_all,
                receipt.ended,
                canonical(receipt.header()).decode(),
                chain,
                origin,
                test_list,
                outcomes,
            ),
        )
        db.many(
            "INSERT INTO evidence (receipt, position, subject, body) VALUES (?, ?, ?, ?)",
            [(seq, place, e.subject, canonical(e.to_dict()).decode()) for place, e in unpacked],
        )
    return new


def _columns(
    db: Database, evidence: Sequence[Evidence]
) -> tuple[int | None, bytes | None, list[tuple[int, Evidence]]]:
    """The interned list, the packed outcomes, and what does not fit in a column (with its
    position).

    The column holds the tests at the beginning of the evidence; what follows has rows of its own.
    """

    def fits(evidence_item: Evidence) -> bool:
        return (
            evidence_item.kind == "TestResult"
            and evidence_item.subject.startswith("test:")
            and evidence_item.outcome in _CODE
        )

    # not a filter: the evidence has to be restored in its order, over which its digest is
    tests = list(takewhile(fits, evidence))
    special = [
        (at, e)
        for at, e in enumerate(evidence)
        if at >= len(tests) or e.detail or e.executed is not None
    ]
    if not tests:
        return None, None, special
    blob = pack_outcomes([(e.outcome, e.duration_us) for e in tests])
    return _intern(db, [e.subject.removeprefix("test:") for e in tests]), blob, special


def _intern(db: Database, names: Sequence[str]) -> int:
    key = list_digest(names)
    stored = db.row("SELECT id FROM test_list WHERE digest = ?", (key,))
    if not stored:
        db.many(
            "INSERT INTO test (nodeid) VALUES (?) ON CONFLICT DO NOTHING",
            [(name,) for name in names],
        )
        ids = {str(nodeid): int(id) for id, nodeid in db.rows("SELECT id, nodeid FROM test")}
        db.execute(
            "INSERT INTO test_list (digest, tests) VALUES (?, ?)",
            (key, pack_ids([ids[n] for n in names])),
        )
        stored = db.row("SELECT id FROM test_list WHERE digest = ?", (key,))
    assert stored is not None
    return int(stored[0])


def list_digest(names: Sequence[str]) -> str:
    """The identity of a list of tests. A name may contain a newline: then newlines can't separate
    the names.
    """
    text = "\n".join(names)
    if text.count("\n") >= len(names):
        return digest("test-list/1", list(names))
    return hashlib.sha256(text.encode()).hexdigest()


def test_names(db: Database, test_list: int) -> list[str]:
    """The node IDs of an interned list, in its order."""
    row = db.row("SELECT tests FROM test_list WHERE id = ?", (test_list,))
    ids = unpack_ids(row[0]) if row else []
    # a range, since a statement takes a limited number of values (999 before SQLite 3.32)
    low = min(ids, default=0)
    high = max(ids, default=0)
    names: dict[int, str] = dict(
        db.rows("SELECT id, nodeid FROM test WHERE id BETWEEN ? AND ?", (low, high))
    )
    return [names[key] for key in ids]


def read_entry(
    db: Database, row: Sequence[object], subjects_of_list: dict[int, list[str]] | None = None
) -> Entry:
    """A row of the table as an Entry, with all of its evidence. One of `UNREADABLE` for an edited
    row.

    `subjects_of_list`: list of tests → their IDs, where several rows are read: runs of one suite
    share their list, which is read once, and stored once in memory.
    """
    seq, chain, origin, stored, header, test_list, outcomes, folded = row
    assert isinstance(seq, int)
    if folded is not None:
        bare = receipt_from_header(json.loads(str(header)), (), folded=True)
        return Entry(seq, str(chain), str(origin), str(stored), bare, str(folded))
    special = {
        int(place): Evidence.from_dict(json.loads(body))
        for place, body in db.rows(
            "SELECT position, body FROM evidence WHERE receipt = ? ORDER BY position", (seq,)
        )
    }
    plain: list[Evidence] = []
    if isinstance(test_list, int) and isinstance(outcomes, bytes):
        if subjects_of_list is not None:
            lists = subjects_of_list
        else:
            lists = {}
        if test_list not in lists:
            lists[test_list] = [f"test:{name}" for name in test_names(db, test_list)]
        subjects = lists[test_list]
        column = unpack_outcomes(outcomes, len(subjects))
        plain = [
            Evidence("TestResult", subject, what, us)
            for subject, (what, us) in zip(subjects, column, strict=True)
        ]
    whole = dict(enumerate(plain)) | special
    if whole.keys() != set(range(len(whole))):
        raise ValueError("a piece of its evidence is missing")
    evidence = tuple(whole[at] for at in sorted(whole))
    return Entry(
        seq,
        str(chain),
        str(origin),
        str(stored),
        receipt_from_header(json.loads(str(header)), evidence),
    )


def _entries(db: Database, clause: str, values: Sequence[object] = ()) -> list[Entry]:
    """The entries that SQL after `FROM receipt` selects. StoreDamaged, naming the receipt, for an
    edited one.
    """
    entries = []
    subjects_of_list: dict[int, list[str]] = {}
    for row in db.rows(f"{_ENTRY} {clause}", tuple(values)):
        try:
            entries.append(read_entry(db, row, subjects_of_list))
        except UNREADABLE as problem:
            reason = (
                f"receipt {row[0]} of the store can't be read ({type(problem).__name__}:"
                f" {problem})."
            )
            raise StoreDamaged(reason, hint="See: kl evidence verify") from problem
    return entries


def recent(
    db: Database,
    limit: int,
    source: str | None = None,
    *,
    everything: bool = False,
    signers: Sequence[str] = (),
) -> list[Entry]:
    """The newest receipts, newest first; of one source where it is named. `everything`: also those
    of notes.

    `signers`: fingerprints; then those of notes alone that one of these keys signed, by the time
    when they ended.
    """
    where, values = ("source = ?", (source,)) if source else ("1 = 1", ())
    if signers:
        signed = f"SELECT receipt FROM attestation WHERE fingerprint IN ({placeholders(signers)})"
        order = f"WHERE {where} AND NOT ({_OURS}) AND id IN ({signed}) ORDER BY ended DESC LIMIT ?"
        return _entries(db, order, (*values, *signers, limit))
    ours = "" if everything else f"AND {_OURS} "
    return _entries(db, f"WHERE {where} {ours}ORDER BY seq DESC LIMIT ?", (*values, limit))


def list_receipts(
    db: Database, limit: int, source: str | None = None, *, everything: bool = False
) -> tuple[list[Entry], int, int]:
    """(the newest receipts, newest first; how many there are; how many more are hidden).

    Hidden are runs that only listed tests, or that pytest refused to begin, unless `everything` is
    asked for.
    """
    where, values = (" WHERE source = ?", (source,)) if source else ("", ())
    row = db.row(f"SELECT COUNT(*) FROM receipt{where}", values)
    if everything or source not in (None, "pytest"):
        hidden = set()
    else:
        hidden = _runs_without_tests(db)
    # as many more as are hidden, because all of these may be among the newest
    newest = db.rows(
        f"SELECT seq FROM receipt{where} ORDER BY seq DESC LIMIT ?", (*values, limit + len(hidden))
    )
    wanted = [seq for (seq,) in newest if seq not in hidden][:limit]
    entries = [
        entry
        for batch in chunks(wanted)
        for entry in _entries(db, f"WHERE seq IN ({placeholders(batch)})", batch)
    ]
    return (
        sorted(entries, key=lambda entry: -entry.seq),
        (int(row[0]) if row else 0) - len(hidden),
        len(hidden),
    )


def _runs_without_tests(db: Database) -> set[int]:
    """The numbers of the runs of pytest that ran no test."""
    sql = (
        "SELECT seq, header FROM receipt WHERE source = 'pytest'"
        # LIKE only narrows it down: an argument of the run may have the same words
        " AND (header LIKE '%\"usage-error\"%' OR header LIKE '%\"collect_only\"%')"
    )
    numbers = set()
    for seq, header in db.rows(sql):
        with suppress(*UNREADABLE):  # an edited row is listed, and reading it reports what is wrong
            plain = json.loads(header)
            if ran_no_test(plain["selection"], plain["result"]):
                numbers.add(seq)
    return numbers


def newest_before(
    db: Database, seq: int, fits: Callable[[Mapping[str, Any]], bool], among: int = 50
) -> Entry | None:
    """The newest of the `among` pytest receipts of this store before a number whose header fits;
    None for none.
    """
    header = newest_header(db, fits, seq, among)
    if not header:
        return None
    return next(iter(_entries(db, "WHERE seq = ?", (header[0],))), None)


def newest_header(
    db: Database, fits: Callable[[Mapping[str, Any]], bool], seq: int = sys.maxsize, among: int = 50
) -> tuple[int, Mapping[str, Any]] | None:
    """The number and the header alone of such a receipt: its results are not unpacked."""
    sql = (
        "SELECT seq, header FROM receipt WHERE source = 'pytest' AND origin = 'local' AND folded IS"
        " NULL AND seq < ?"
    )
    for number, header in db.rows(f"{sql} ORDER BY seq DESC LIMIT ?", (seq, among)):
        with suppress(*UNREADABLE):
            if fits(plain := json.loads(header)):
                return int(number), plain
    return None


def count_tests(db: Database, among: int = 200) -> int:
    """How many tests the newest complete run had, of all tests if there is one; 0 for none.

    Names in the store are no count: a parameter that holds a clock makes a new name in every run.
    """
    part = 0
    for (header,) in db.rows(
        "SELECT header FROM receipt WHERE source IN ('pytest', 'junit') ORDER BY seq DESC LIMIT ?",
        (among,),
    ):
        try:
            plain = json.loads(header)
            selection = plain["selection"]
            result = plain["result"]
            ran = selection.get("ran") or sum((result.get("counts") or {}).values())
            complete = bool(result.get("complete"))
            limited = bool(selection_limits(selection))
        except UNREADABLE:
            continue
        if complete and ran and not limited:
            return int(ran)
        part = part or (int(ran) if complete else 0)
    return part


def selection_limits(selection: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a run's `selection` that omitted tests; empty: none did, as far as it can be
    seen.
    """
    omitted = selection.get("left_out")
    limits = {key: selection[key] for key in _LIMITING_KEYS if selection.get(key)}
    return limits | (
        {"left_out": omitted} if isinstance(omitted, Mapping) and omitted.get("files") else {}
    )


def entries_of_tree(db: Database, trees: Sequence[str], *, notes: bool = False) -> list[Entry]:
    """The receipts whose `tree` or `tree_all` is one of these, newest first. `notes`: those of
    notes, and no others.
    """
    marks = placeholders(trees)
    which = f"NOT ({_OURS})" if notes else _OURS
    where = f"WHERE (tree IN ({marks}) OR tree_all IN ({marks})) AND {which} ORDER BY seq DESC"
    if not trees:
        return []
    return _entries(db, where, (*trees, *trees))


def here_first(entries: Iterable[Entry], trees: Sequence[str]) -> list[Entry]:
    """Return the receipts of these trees first, each part newest first: a newer run of other
    content shows less.
    """
    return sorted(
        entries,
        key=lambda entry: (
            not {entry.receipt.tree, entry.receipt.tree_all} & set(trees),
            -entry.seq,
        ),
    )


def entry_of_run(db: Database, run: str) -> Entry | None:
    """The receipt of a run; one that was imported under the same name only where there is no
    other.
    """
    entries = _entries(
        db, "WHERE run = ? ORDER BY origin LIKE 'imported%', seq DESC LIMIT 1", (run,)
    )
    if not entries:
        return None
    return entries[0]


def parents_of(db: Database, entries: Iterable[Entry]) -> dict[str, Entry]:
    """The receipts of the commands that started these runs, by run."""
    parent_of = {
        run: entry_of_run(db, run)
        for run in {e.receipt.parent for e in entries if e.receipt.parent}
    }
    return {run: entry for run, entry in parent_of.items() if entry}


def find_receipt(db: Database, prefix: str) -> Entry:
    """The receipt whose ID or run begins with `prefix` (4 digits or more). UsageProblem for none,
    or for several.
    """
    wanted = prefix.lower().removeprefix("r-")
    if not is_hex(wanted):
        reason = "nothing is known about it, and an id is at least 4 hexadecimal digits."
        raise UsageProblem(reason, place=prefix, hint="See: kl evidence list")
    # only hexadecimal digits get here, so LIKE sees neither `%` nor `_`
    where = "WHERE id LIKE ? OR run LIKE ? ORDER BY seq DESC LIMIT"
    number = len(db.rows(f"SELECT seq FROM receipt {where} 3", (f"{wanted}%", f"{wanted}%")))
    if number == 1:
        return _entries(db, f"{where} 1", (f"{wanted}%", f"{wanted}%"))[0]
    if number:
        reason = "several receipts begin like this; give more digits."
    else:
        reason = "no receipt has this id."
    raise UsageProblem(reason, place=prefix, hint="See: kl evidence list")


def receipt_headers(db: Database, ids: Sequence[str]) -> dict[str, tuple[Receipt, str]]:
    """ID → (the receipt without its evidence, its origin), for those that are here and can be
    read.
    """
    header_of: dict[str, tuple[Receipt, str]] = {}
    for batch in chunks(ids):
        sql = f"SELECT id, header, origin FROM receipt WHERE id IN ({placeholders(batch)})"
        for id, header, origin in db.rows(sql, batch):
            with suppress(*UNREADABLE):
                header_of[str(id)] = (receipt_from_header(json.loads(header), ()), str(origin))
    return header_of


def receipts_since(db: Database, moment: str) -> list[Receipt]:
    """The receipts of this clone that ended at a moment or later, oldest first, without their
    evidence.
    """
    # headers alone: a run of 20,000 tests is as cheap as a command
    sql = "SELECT header FROM receipt WHERE origin = 'local' AND ended >= ? ORDER BY seq"
    receipts = []
    for (header,) in db.rows(sql, (moment,)):
        with suppress(*UNREADABLE):
            receipts.append(receipt_from_header(json.loads(header), (), folded=True))
    return receipts


def assertions(db: Database) -> Iterator[tuple[str, Claim]]:
    """The claims that receipts of this store assert or confirm, oldest first: ID, and claim with
    what it rested on at that time.

    What somebody edited is omitted: the audit reports it.
    """
    for asserted_at, body in db.rows(
        "SELECT r.ended, e.body FROM receipt r JOIN evidence e ON e.receipt = r.seq"
        " WHERE r.source = 'claim' AND r.origin = 'local' ORDER BY r.seq"
    ):
        try:
            plain = json.loads(body)
            if plain.get("confirms"):
                confirmed = Confirmation(plain["author"], asserted_at)
            else:
                confirmed = None
            claim = Claim(
                plain["text"],
                plain["subject"],
                plain["author"],
                asserted_at,
                plain["expires"],
                cites=tuple(str(ref) for ref in plain.get("support", ())),
                confirmed=confirmed,
                **basis_of(plain),
            )
            key = claim.id
        except UNREADABLE:
            continue
        yield key, claim


def basis_of(plain: Mapping[str, Any]) -> dict[str, Any]:
    """What a claim rests on, as its receipt or event has it: fields of `Claim`.

    Raises one of `UNREADABLE` for anything else; what an earlier version did not record is absent.
    """
    return {
        "rests_on": tuple(Anchor(*map(str, row)) for row in plain.get("rests_on", ())),
        "head": str(plain.get("head") or ""),
        "tests": tuple(
            CitedTest(str(nodeid), tuple(TestPart(*map(str, row)) for row in parts))
            for nodeid, parts in plain.get("tests", ())
        ),
    }


def failing_runs(db: Database, limit: int, source: str) -> list[Entry]:
    """The newest runs of a source, newest first, with the results of the tests that failed in one
    of them.

    These are few in any suite. A row that somebody edited is omitted.
    """
    lists: dict[int, list[str]] = {}
    runs: list[tuple[Entry, list[str], bytes]] = []
    failed: set[str] = set()
    for row in db.rows(
        f"{_ENTRY} WHERE source = ? AND {_OURS} ORDER BY seq DESC LIMIT ?", (source, limit)
    ):
        seq, chain, origin, stored, header, test_list, outcomes, _ = row
        with suppress(*UNREADABLE):
            # runs of one suite share their list: it is read once
            if test_list is not None and test_list not in lists:
                lists[test_list] = test_names(db, test_list)
            names = lists.get(test_list, [])
            if names:
                codes = _unpack_codes(outcomes, len(names))
            else:
                codes = b""
            bodies = db.rows(
                "SELECT body FROM evidence WHERE receipt = ? ORDER BY position", (seq,)
            )
            special = tuple(Evidence.from_dict(json.loads(body)) for (body,) in bodies)
            receipt = receipt_from_header(json.loads(header), special)
            runs.append((Entry(seq, str(chain), str(origin), str(stored), receipt), names, codes))
            failed.update(one.subject for one in special if one.outcome in REFUTES)
            # most runs fail nowhere, and one look at the bytes shows it
            if not _REFUTING_CODES.isdisjoint(codes):
                column = zip(names, codes, strict=True)
                failed.update(f"test:{name}" for name, code in column if code in _REFUTING_CODES)
    # of 20,000 names few are wanted, and they are at the same places in all runs of a list
    wanted_of_list = {
        id(names): [(at, name) for at, name in enumerate(names) if f"test:{name}" in failed]
        for names in lists.values()
    }
    return [
        _failing_entry(entry, wanted_of_list.get(id(names), ()), codes)
        for entry, names, codes in runs
    ]


def results_of(
    db: Database, tests: Collection[str], limit: int, source: str = "pytest"
) -> list[Entry]:
    """The newest `limit` runs of a source, newest first, each with the results of these tests (node
    IDs) alone.

    Runs without any are omitted, and so is a row that somebody edited. Reads of each run one blob,
    not its tests.
    """
    ids: dict[int, str] = {}
    for batch in chunks(sorted(tests)):
        ids.update(
            db.rows(f"SELECT id, nodeid FROM test WHERE nodeid IN ({placeholders(batch)})", batch)
        )
    places: dict[int, tuple[int, list[tuple[int, str]]]] = {}
    entries: list[Entry] = []
    sql = f"{_ENTRY} WHERE source = ? AND folded IS NULL AND {_OURS} ORDER BY seq DESC LIMIT ?"
    for row in db.rows(sql, (source, limit)):
        seq, chain, origin, stored, header, test_list, outcomes, _ = row
        with suppress(*UNREADABLE):
            if test_list is not None and test_list not in places:
                interned = unpack_ids(
                    db.rows("SELECT tests FROM test_list WHERE id = ?", (test_list,))[0][0]
                )
                places[test_list] = (
                    len(interned),
                    [(at, ids[key]) for at, key in enumerate(interned) if key in ids],
                )
            number, wanted = places.get(test_list, (0, []))
            codes = _unpack_codes(outcomes, number) if wanted else b""
            bodies = (
                db.rows("SELECT body FROM evidence WHERE receipt = ? ORDER BY position", (seq,))
                if wanted
                else ()
            )
            detailed = {
                one.subject: one
                for (body,) in bodies
                for one in [Evidence.from_dict(json.loads(body))]
            }
            evidence = tuple(
                detailed.get(f"test:{name}")
                or Evidence("TestResult", f"test:{name}", TEST_OUTCOMES[codes[at]])
                for at, name in wanted
            )
            if evidence:
                receipt = receipt_from_header(json.loads(header), evidence)
                entries.append(Entry(seq, str(chain), str(origin), str(stored), receipt))
    return entries


def functions_of_runs(
    db: Database, limit: int, source: str = "pytest"
) -> list[tuple[Receipt, frozenset[str]]]:
    """The newest runs of a source, newest first, without their results, and node IDs of their tests
    without cases.
    """
    # all at once: reading the names of each list takes longer from the second list on
    names = {
        int(key): str(nodeid).partition("[")[0]
        for key, nodeid in db.rows("SELECT id, nodeid FROM test")
    }
    lists: dict[int | None, frozenset[str]] = {None: frozenset()}
    runs = []
    sql = f"SELECT header, test_list FROM receipt WHERE source = ? AND folded IS NULL AND {_OURS}"
    for header, test_list in db.rows(f"{sql} ORDER BY seq DESC LIMIT ?", (source, limit)):
        with suppress(*UNREADABLE):
            if test_list not in lists:
                row = db.row("SELECT tests FROM test_list WHERE id = ?", (test_list,))
                lists[test_list] = frozenset(
                    map(names.__getitem__, unpack_ids(row[0]) if row else ())
                )
            runs.append((receipt_from_header(json.loads(header), ()), lists[test_list]))
    return runs


def failed_results(db: Database, limit: int) -> list[tuple[str, Evidence]]:
    """(ID of the receipt's run, the failure) of the newest failed results of tests, newest
    first.
    """
    rows = db.rows(
        "SELECT r.run, e.body FROM evidence e JOIN receipt r ON r.seq = e.receipt"
        f" WHERE e.subject LIKE 'test:%' AND r.{_OURS} ORDER BY e.receipt DESC, e.position LIMIT ?",
        (limit,),
    )
    failures = []
    for run, body in rows:
        with suppress(*UNREADABLE):
            evidence = Evidence.from_dict(json.loads(body))
            if evidence.outcome in REFUTES:
                failures += [(str(run), evidence)]
    return failures


def _failing_entry(entry: Entry, wanted: Sequence[tuple[int, str]], codes: bytes) -> Entry:
    """The entry with the results of these tests alone, by their places in its list; `entry` has
    those with details.
    """
    special = entry.receipt.evidence
    detailed = {one.subject for one in special}
    plain = [
        Evidence("TestResult", f"test:{name}", TEST_OUTCOMES[codes[at]])
        for at, name in wanted
        if f"test:{name}" not in detailed
    ]
    evidence = (*plain, *(one for one in special if one.kind == "TestResult"))
    return entry._replace(receipt=entry.receipt._replace(evidence=evidence))


def _varints(numbers: Iterable[int]) -> bytes:
    out = bytearray()
    for number in numbers:
        while number > 0x7F:
            out.append(number & 0x7F | 0x80)
            number >>= 7
        out.append(number)
    return bytes(out)


def _read_varints(data: bytes, start: int = 0) -> Iterator[int]:
    number = shift = 0
    for byte in data[start:]:
        number |= (byte & 0x7F) << shift
        if byte & 0x80:
            shift += 7
        else:
            yield number
            number = shift = 0


def _unpack(blob: bytes) -> bytes:
    # with a limit: zlib.decompress would first unpack all of a crafted blob
    plain = zlib.decompressobj().decompress(blob, _LARGEST_COLUMN + 1)
    if len(plain) > _LARGEST_COLUMN:
        raise ValueError("the column is larger than any run")
    return plain


def pack_outcomes(outcomes: Sequence[tuple[str, int]]) -> bytes:
    """(outcome, microseconds) per test, in the order of the list, as a blob. KeyError for an
    outcome that is none.
    """
    codes = bytes(_CODE[outcome] for outcome, _ in outcomes)
    # all outcomes, then all durations: a row of equal bytes compresses to nearly nothing
    return zlib.compress(codes + _varints(max(0, micros) for _, micros in outcomes), 9)


def unpack_outcomes(blob: bytes, count: int) -> list[tuple[str, int]]:
    """The inverse.

    ValueError, IndexError or zlib.error where the blob is not one of `count` tests.
    """
    plain = _unpack(blob)
    durations = list(_read_varints(plain, count))
    if len(durations) != count:
        raise ValueError(f"the column holds {len(durations)} durations for {count} tests")
    return [
        (TEST_OUTCOMES[code], micros) for code, micros in zip(plain[:count], durations, strict=True)
    ]


def _unpack_codes(blob: bytes, count: int) -> bytes:
    """The outcomes alone: for each test its place in `TEST_OUTCOMES`. ValueError or zlib.error as
    above.
    """
    plain = _unpack(blob)
    if len(plain) < count or any(code >= len(TEST_OUTCOMES) for code in set(plain[:count])):
        raise ValueError(f"the column does not hold outcomes of {count} tests")
    return plain[:count]


def pack_ids(ids: Sequence[int]) -> bytes:
    """Positive IDs, any order, as a blob of zigzag differences."""
    steps = (b - a for a, b in zip([0, *ids], ids, strict=False))
    return zlib.compress(_varints(step * 2 if step >= 0 else -step * 2 - 1 for step in steps), 9)


def unpack_ids(blob: bytes) -> list[int]:
    """The inverse."""
    ids = []
    identifier = 0
    for zigzag in _read_varints(_unpack(blob)):
        identifier += zigzag // 2 if zigzag % 2 == 0 else -(zigzag + 1) // 2
        ids.append(identifier)
    return ids
