"""Claims with what their authors cite, and the history of one subject.

The tier of a claim is never set by hand: it follows from what is cited, today. What was superseded,
disproven or is not in the repository supports nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kl_hooks.clock import micros
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.assertions import add_claim, asserted_claims, known_assertions
from kl_hooks.evidence.claims import all_claims, claims_about
from kl_hooks.evidence.commits import LoggedCommit, newest_commits
from kl_hooks.evidence.flaky import FlakyPasses
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.ledger import Entry, recent, results_of, selection_limits
from kl_hooks.evidence.search import find_assertions
from kl_hooks.evidence.trust import observation, stance
from kl_hooks.model.claim import DOUBTFUL, REFUTED, Claim, Observation
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.package import Candidate
from kl_hooks.model.receipt import Evidence
from kl_hooks.model.symbol import RECORD_ID, full_record_id, is_hex, record_node, split_id
from kl_hooks.model.text import name_list, one_line
from kl_hooks.proof.claim_basis import DiskFiles
from kl_hooks.proof.freshness import assess
from kl_hooks.proof.other_runs import pytest_command
from kl_hooks.proof.test_names import TestNames
from kl_hooks.records.citations import cited_id, ended_ids, ended_words
from kl_hooks.records.liveness import not_live_reason
from kl_hooks.records.query import get_record, get_records
from kl_hooks.records.sync import sync as sync_records
from kl_hooks.store.database import Database

if TYPE_CHECKING:
    from kl_hooks.model.package import Task
    from kl_hooks.workspace import Workspace


RECENT_RUNS: Final = 50
_RECENT_COMMITS: Final = 2000
_MOST_CITED: Final = 20
_RESULTS: Final = 200
"""Newest runs among which the result of a cited test is looked for."""
_SPAN: Final = lazy_pattern(r"([0-9]{1,5})([dhm])")
_SECONDS: Final = {"d": 86_400, "h": 3_600, "m": 60}


def record_claim(
    ws: Workspace,
    text: str,
    about: str = "",
    cited: Sequence[str] = (),
    expires: str | None = None,
    author: str = "",
) -> Claim:
    """Assert something, with what supports it; returned as it counts now. Without `about` it is
    about the first citation.

    UsageProblem for an ID that is none, for what is cited and not there, and for an end in the
    past.
    """
    refs = tuple(dict.fromkeys(ref for name in cited for ref in _resolved(ws, name)))
    if len(refs) > _MOST_CITED:
        raise UsageProblem(
            f"too many citations: {len(refs)} (at most {_MOST_CITED}).",
            place="--support",
            hint="Each case of a parametrized test is one: cite those that matter.",
        )
    subject = about or (_node(refs[0]) if refs else "")
    if expires is not None:
        until = parse_expiry(expires, ws.clock.now())
    else:
        until = None
    disk = DiskFiles(ws)
    anchors = disk.anchors(subject, text)
    tests = disk.cited_tests(refs)
    claim = add_claim(ws, text, subject, until, refs, author, anchors, tests)
    # a cited test may fail right now: the answer states that at once
    return _with_ended(ws, assess(ws, [claim]))[0]


def claim_with_id(ws: Workspace, typed: str, warn: Callable[[str], None]) -> Claim:
    """The claim whose ID begins so, as it counts now; also as packages write it, `claim:3f9a…`.

    UsageProblem for none, or for several.
    """
    name = typed.strip().lower().removeprefix("claim:")
    hint = "See: kl claim list --all"
    if not is_hex(name):
        raise UsageProblem(
            "an id is at least 4 hexadecimal digits.", place=typed or "''", hint=hint
        )
    claims = [claim for claim in claims_now(ws, warn) if claim.id.startswith(name)]
    if not claims:
        raise UsageProblem("no claim has this id.", place=typed, hint=hint)
    if len(claims) > 1:
        reason = "several claims begin like this; give more digits."
        raise UsageProblem(reason, place=typed, hint=hint)
    return claims[0]


def confirm_claim(
    ws: Workspace, typed: str, warn: Callable[[str], None], author: str = ""
) -> Claim:
    """Record that a claim is still so, for the files as they are now: what it rests on is theirs.

    The word is that of `author`, else of whoever runs this, as an assertion is. UsageProblem for a
    claim that follows from evidence, that has ended, or that a cited test refutes.
    """
    claim = claim_with_id(ws, typed, warn)
    if claim.author == "auto":
        hint = f"Run it: {pytest_command([claim.about.removeprefix('test:')])}"
        reason = "it follows from evidence, and nobody's word makes it current."
        raise UsageProblem(reason, place=claim.id, hint=hint)
    again = f"kl claim add {shlex.quote(claim.text)} --about {shlex.quote(claim.about)}"
    if claim.freshness == "expired":
        raise UsageProblem("it has expired.", place=claim.id, hint=f"Claim it again: {again}")
    if claim.freshness == REFUTED:
        hint = f"Fix what fails, or claim it without that test: {again}"
        raise UsageProblem(f"it is {claim.reasons[-1]}.", place=claim.id, hint=hint)
    disk = DiskFiles(ws)
    cites = _citations_now(ws, disk, claim)
    anchors = disk.anchors(claim.about, claim.text)
    tests = disk.cited_tests(cites)
    with ws.store.reading() as db:
        if db:
            own = {one.id for one in asserted_claims(db, ws.clock.now())}
        else:
            own = set()
    until = micros(claim.expires) if claim.expires else None
    # one of another clone is here this word alone
    here = claim.id in own
    add_claim(ws, claim.text, claim.about, until, cites, author, anchors, tests, confirms=here)
    return claim_with_id(ws, claim.id, warn)


def claims_now(ws: Workspace, warn: Callable[[str], None], about: str | None = None) -> list[Claim]:
    """All claims as they count for the files as they are now. `warn` is called where the answer may
    be smaller.

    One that is stale has the reason, since which commit, and the command that observes it again.
    """
    synced = sync_evidence(ws)
    claims = all_claims(ws, _both_ids(ws, about) if about else None)
    # afterwards: a store that can't be read either raises that trouble, and it must not be reported
    # twice
    if synced.trouble:
        warn(synced.trouble)
    return _with_ended(ws, assess(ws, claims))


def _with_ended(ws: Workspace, claims: Sequence[Claim]) -> list[Claim]:
    """The same claims, each with the records that it is about or cites and that have ended."""
    named = {
        claim.id: [name for ref in (claim.about, *claim.cites) if (name := cited_id(ref))]
        for claim in claims
    }
    ids = sorted({name for names in named.values() for name in names})
    if not ids:
        return list(claims)
    sync_records(ws)
    present = {record.id for record in get_records(ws, ids)}
    ended = ended_ids(ws, ids)
    ended |= {name: "not in this repository" for name in ids if name not in present}
    return [
        claim._replace(
            ended=tuple(
                f"{'about' if name == cited_id(claim.about) else 'cites'} {name}, which is "
                f"{ended[name]}"
                for name in dict.fromkeys(named[claim.id])
                if name in ended
            ),
        )
        for claim in claims
    ]


def _citations_now(ws: Workspace, disk: DiskFiles, claim: Claim) -> tuple[str, ...]:
    """What a claim cites, without tests that are there no more; renamed ones by their new name."""
    sync_evidence(ws)
    with ws.store.reading() as db:
        names = TestNames(ws, db)
        cites = [
            f"test:{names.current(ref.removeprefix('test:'))}" if ref.startswith("test:") else ref
            for ref in claim.cites
        ]
    present = {f"test:{test.nodeid}" for test in disk.cited_tests(cites)}
    return tuple(ref for ref in cites if not ref.startswith("test:") or ref in present)


def search_claims(ws: Workspace, words: Sequence[str], limit: int = 20) -> tuple[list[Claim], int]:
    """Return the asserted claims that match any of the words and have not expired, best first, and
    how many match.

    At most `limit` of them; the number is of all.
    """
    # without a limit: expired claims are dropped here, and the number returned is of all that match
    keys = find_assertions(ws, words)
    if keys:
        claim_by_id = {claim.id: claim for claim in all_claims(ws)}
    else:
        claim_by_id = {}
    live = [
        claim_by_id[key]
        for key in keys
        if key in claim_by_id and claim_by_id[key].freshness != "expired"
    ]
    return _with_ended(ws, assess(ws, live[:limit])), len(live)


def find_claims(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """Return the claims that match a task; only asserted ones, since tests have a retriever of
    their own.
    """
    signals = task.signals
    words = [*signals.symbols, *signals.paths, *signals.keywords, *signals.failures]
    return [_candidate(one) for one in search_claims(ws, words, limit)[0]]


def parse_expiry(text: str, now: int) -> int:
    """`30d`, `12h`, `90m` from now, or a date, in microseconds. UsageProblem for anything else, or
    for the past.
    """
    span = _SPAN.fullmatch(text)
    try:
        if span:
            when = now + int(span[1]) * _SECONDS[span[2]] * 1_000_000
        else:
            when = micros(text)
    except (ValueError, OverflowError):
        raise UsageProblem(
            "give 30d, 12h or a date such as 2027-01-31.", place=f"--expires {text}"
        ) from None
    if when <= now:
        raise UsageProblem("that is in the past.", place=f"--expires {text}")
    return when


def _candidate(claim: Claim) -> Candidate:
    by_agent = claim.is_of_agent
    if claim.confirmed:
        cited = f", confirmed by {claim.confirmed.author}"
    else:
        cited = ""
    if claim.confirmed:
        cited += f" on {claim.confirmed.at[:10]}"
    if claim.cites:
        cited += f"\nsupported by {', '.join(claim.cites)}"
    if claim.freshness in DOUBTFUL:
        cited += f"\n{claim.reasons[-1]}"
    cited += "".join(f"\n{line}" for line in claim.ended)
    prefix, name = split_id(claim.about)
    return Candidate(
        id=f"claim:{claim.id}",
        kind="claim",
        title=claim.text,
        text=(
            f"{claim.text}\nabout {claim.about}, claimed by {claim.author} on"
            f" {claim.made_at[:10]}{cited}"
        ),
        summary=f"{one_line(claim.text, 120)} (about {claim.about})",
        path=name if prefix == "file" else "",
        tier=claim.tier,
        freshness=claim.freshness,
        authority="agent" if by_agent else "human",
        marks=("agent",) if by_agent else (),
        reasons=("a claim that matches words of the task",),
    )


def citations(ws: Workspace, ids: Sequence[str]) -> dict[str, tuple[Observation, str]]:
    """What a claim can cite as the tier rule sees it, and why it does not count (empty: it does),
    by ID.

    What was removed is absent. A record supports nothing once it was superseded or disproven.
    """
    names = [ref for ref in ids if RECORD_ID.fullmatch(ref)]
    if names:
        sync_records(ws)
    observed: dict[str, tuple[Observation, str]] = {}
    for record in get_records(ws, names) if names else ():
        why = ended_words(ws.kinds[record.kind], record) or not_live_reason(ws, record)
        kind = ws.kinds[record.kind].proof or "AgentAssertion"
        note = why or "cited, not observed"
        observed[record.id] = (
            Observation(kind, "records", record.authority, record.id, False, note),
            why,
        )
    observed |= _cited_results(ws, [ref for ref in ids if ref.startswith("test:")])
    for ref in ids:
        if ref not in observed and is_hex(ref):
            if _commit(ws, ref):
                why = ""
            else:
                why = "not in this repository"
            # it shows that something was committed, and nothing of what is claimed
            note = why or "cited, not observed"
            observed[ref] = Observation("GitHistory", "git", "git", ref, False, note), why
    return observed


def _cited_results(ws: Workspace, refs: Sequence[str]) -> dict[str, tuple[Observation, str]]:
    """The newest result of each test that is cited, as the tier rule sees it; whether it is valid
    for the files as they are now is the claim's freshness.
    """
    if not refs:
        return {}
    observed: dict[str, tuple[Observation, str]] = {}
    with ws.store.reading() as db:
        names = TestNames(ws, db)
        if db:
            flaky = FlakyPasses(ws, db, names.pairs)
        else:
            flaky = None
        for ref in refs:
            nodeid = names.current(ref.removeprefix("test:"))
            wanted = {nodeid, *names.earlier(nodeid), ref.removeprefix("test:")}
            if db:
                entry = next(iter(_results(db, wanted)), None)
            else:
                entry = None
            if entry is None or flaky is None:
                observed[ref] = _unobserved(ref), "a test of no recorded run"
                continue
            row = entry.receipt.evidence[0]
            observation_of_test = observation(entry.receipt, row, entry.origin)
            if row.outcome == "passed":
                chance = flaky.why(row.subject, entry.receipt)
            else:
                chance = ""
            if chance:
                observation_of_test = observation_of_test._replace(
                    hard=False, asserted=False, why_not=chance
                )
            stopped = f"a test that {row.outcome} in run {observation_of_test.run[:8]}"
            if stance(row) == "for":
                stopped = ""
            observed[ref] = observation_of_test, stopped
    return observed


def _results(db: Database, tests: Collection[str]) -> list[Entry]:
    """The newest run that has a result of these tests."""
    return results_of(db, tests, _RESULTS) or results_of(db, tests, _RESULTS, "junit")


def _unobserved(ref: str) -> Observation:
    return Observation("TestResult", "pytest", "pytest", ref, False, "cited, not observed")


def _resolved(ws: Workspace, cited: str) -> list[str]:
    """The ID of a record, or the full hash of a commit, that somebody cites; of a parametrized test
    without its parameters each case. UsageProblem for what is not there.
    """
    name = cited.strip()
    prefix, bare = split_id(name)
    hint = (
        "Cite a decision (ADR-0007), a memory (MEM-3f9a1c2b), a commit or a recorded test"
        " (test_a.py::test_b)."
    )
    if prefix == "test" or "::" in bare:
        if tests := _recorded_tests(ws, bare):
            return [f"test:{test}" for test in tests]
        if cases := _recorded_tests(ws, bare.partition("[")[0]):
            hint = f"Recorded are: {name_list(cases, 5)}"
    bare = full_record_id(bare)
    if "-" in bare and "::" not in bare:
        return [get_record(ws, bare).id]
    if (sha := _commit(ws, bare)) and bare:
        return [sha]
    raise UsageProblem(
        "no such record, commit or recorded test.", place=f"--support {name}", hint=hint
    )


def _recorded_tests(ws: Workspace, nodeid: str) -> list[str]:
    """The node ID of a test that some run reported; of a function with parameters its cases in the
    newest run that was not limited to a part, else all.
    """
    sync_evidence(ws)
    with ws.store.reading() as db:
        if db is None:
            return []
        if db.row("SELECT 1 FROM test WHERE nodeid = ?", (nodeid,)):
            return [nodeid]
        sql = "SELECT nodeid FROM test WHERE SUBSTR(nodeid, 1, ?) = ?"
        cases = {str(name) for (name,) in db.rows(sql, (len(nodeid) + 1, f"{nodeid}["))}
        for entry in _results(db, cases) if cases else ():
            if not selection_limits(entry.receipt.selection):
                cases = {split_id(result.subject)[1] for result in entry.receipt.evidence}
                break
        return sorted(cases)


def _commit(ws: Workspace, name: str) -> str:
    """The full hash of a commit; empty where there is none."""
    from kl_hooks.git.repository import git_in
    from kl_hooks.git.run import GitFailed

    if ws.repo is None or not name or name.startswith("-"):
        return ""
    try:
        # `^{commit}`: --verify alone accepts any 40 digits, whether or not there is such an object
        # (git-rev-parse)
        out = git_in(
            ws.repo, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
        )
        return out.decode("ascii", "replace").strip()
    except GitFailed:
        return ""


def _both_ids(ws: Workspace, about: str) -> set[str]:
    """An ID, and the other one of a record: a claim names a decision as `ADR-0007` or as
    `adr:ADR-0007`.
    """
    prefix, name = split_id(about)
    bare = full_record_id(name if prefix or ":" not in name else name.partition(":")[2])
    if RECORD_ID.fullmatch(bare):
        return {about, bare, _node(bare)}
    return {about}


def _node(ref: str) -> str:
    if ref.startswith("test:"):
        return ref
    if is_hex(ref):
        return f"commit:{ref}"
    return record_node(ref)


class LatestResult(NamedTuple):
    """The newest observation of one subject, and the receipt that has it."""

    entry: Entry
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class SubjectHistory:
    """The history of a test, a file or a folder."""

    tests: tuple[LatestResult, ...]
    """In the order of their subjects."""
    commits: tuple[LoggedCommit, ...]
    """Those that touched the file, newest first."""
    claims: tuple[Claim, ...]
    """Asserted ones about it."""

    def __bool__(self) -> bool:
        return bool(self.tests or self.commits or self.claims)


def history_of(ws: Workspace, db: Database, name: str) -> SubjectHistory:
    """The history of a test (`tests/test_a.py::test_b`, `test:…`), a file or a folder (`src/`,
    `file:…`).

    Tests that match the name, lie in it, or failed in it.
    """
    prefix, bare = split_id(name)
    bare = bare.removeprefix("./").rstrip("/")
    runs = sorted(
        [*recent(db, RECENT_RUNS, "pytest"), *recent(db, RECENT_RUNS, "junit")],
        key=lambda e: -e.seq,
    )
    # of a test that was renamed since its last run, the results under its earlier name
    names = [bare, *(TestNames(ws, db).earlier(bare) if "::" in bare else ())]
    results = (
        _latest_results(runs[:RECENT_RUNS], one) for one in names if prefix in ("", "test", "file")
    )
    tests = next(filter(None, results), {})
    commits = [
        c
        for c in newest_commits(db, _RECENT_COMMITS)
        if any(_is_inside(path, bare) for path in c.files)
    ]
    about = {name, f"{prefix or 'file'}:{bare}", f"test:{bare}"}
    asserted = {claim.id for claim in known_assertions(ws, db) if claim.about in about}
    if asserted:
        claims = assess(ws, [one for one in claims_about(ws, db, about) if one.id in asserted])
    else:
        claims = []
    return SubjectHistory(tuple(tests[key] for key in sorted(tests)), tuple(commits), tuple(claims))


def _latest_results(runs: Sequence[Entry], name: str) -> dict[str, LatestResult]:
    latest: dict[str, LatestResult] = {}
    for entry in runs:
        for evidence in entry.receipt.evidence:
            places = _enclosing_ids(evidence.subject.removeprefix("test:"))
            concerned = evidence.detail.get("path") == name or any(
                _is_inside(place, name) for place in places
            )
            if concerned and evidence.subject not in latest:
                latest[evidence.subject] = LatestResult(entry, evidence)
    return latest


def _enclosing_ids(nodeid: str) -> Iterator[str]:
    """The id, and what it is a case or a part of."""
    yield nodeid
    test, bracket, _ = nodeid.partition("[")
    if bracket:
        yield test
    while "::" in test:
        test = test.rpartition("::")[0]
        yield test


def _is_inside(path: str, name: str) -> bool:
    return path == name or path.startswith(f"{name}/")
