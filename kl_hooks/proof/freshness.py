"""Freshness of claims: what each rests on, compared with the files as they are now.

A claim that a test passes rests on what the test executed. One that somebody asserted rests on what
it names (the symbol, class or file that it is about, symbols in backticks in its text) and on the
tests that its author cites (`proof.claim_basis`). It is stale from the change of one of these on,
and current again once a cited test that is as it was has passed and executed the new code, once
somebody confirms it, or once the old code is back. Nothing is stored for it, so that no reader
makes a claim fresh. Approved memories age in the same way, by what they rested on then.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from functools import cache, cached_property
from typing import TYPE_CHECKING, Final

from kl_hooks.clock import micros
from kl_hooks.errors import KlError
from kl_hooks.evidence.ledger import UNREADABLE, basis_of
from kl_hooks.evidence.snapshot import snapshot
from kl_hooks.git.commits import commits_of_file
from kl_hooks.git.files import states_at, worktree_files
from kl_hooks.model.claim import DOUBTFUL, OLDER_TREE, REFUTED, Anchor, CitedTest, Claim
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import REFUTES
from kl_hooks.model.symbol import last_name, split_id
from kl_hooks.proof.claim_basis import DiskFiles
from kl_hooks.proof.difference import symbols_of_files
from kl_hooks.proof.facts import VALID
from kl_hooks.proof.impact import PROVEN, Runs, content_of, state_of
from kl_hooks.proof.other_runs import pytest_command
from kl_hooks.records.events import BASIS, Event, events_by_record

if TYPE_CHECKING:
    from kl_hooks.git.repository import Repository
    from kl_hooks.model.receipt import Receipt
    from kl_hooks.model.record import Record
    from kl_hooks.proof.facts import FileSymbols
    from kl_hooks.proof.impact import Result
    from kl_hooks.proof.other_runs import OtherRun
    from kl_hooks.workspace import Workspace

_CURRENT: Final = "current"
_NOT_ASSESSED: Final = "not assessed"
_TRANSFERRED: Final = "transferred"
"""Of a result of another content that is valid for today's, which did not run."""
_WORST_FIRST: Final = (REFUTED, OLDER_TREE, _NOT_ASSESSED)
_COMMITS: Final = 30
"""Commits of a file that are looked into for the change of a symbol."""
_SHORT: Final = 7


def assess(
    ws: Workspace, claims: Sequence[Claim], confirm: str = "kl claim confirm {0.id}"
) -> list[Claim]:
    """The same claims, each with its freshness for the files as they are now, and the reason.

    `confirm`: the command by which somebody states that a claim is still so.
    """
    repo = ws.repo
    if repo is None or not any(_is_assessable(claim) for claim in claims):
        return list(claims)
    with ExitStack() as stack:
        paths = {anchor.path for claim in claims for anchor in claim.rests_on}
        content = _Content(ws, repo, stack, paths, confirm)
        return [content.assess(claim) if _is_assessable(claim) else claim for claim in claims]


def _is_assessable(claim: Claim) -> bool:
    if claim.author == "auto":
        return claim.freshness == OLDER_TREE and claim.about.startswith("test:")
    return claim.freshness != "expired" and bool(claim.rests_on or _tests(claim))


def _tests(claim: Claim) -> list[str]:
    """The tests that the author of a claim cites."""
    return [ref.removeprefix("test:") for ref in claim.cites if ref.startswith("test:")]


class _Finding(NamedTuple):
    """Why a claim is not simply current."""

    freshness: str
    reason: str


class _Content:
    """The files as they are now, and what recorded runs show of them."""

    def __init__(
        self, ws: Workspace, repo: Repository, stack: ExitStack, paths: set[str], confirm: str
    ) -> None:
        self._ws = ws
        self._repo = repo
        self._stack = stack
        self._confirm = confirm
        self._disk = DiskFiles(ws)
        self._symbols = self._disk.symbols(
            sorted(path for path in paths if path.endswith(self._disk.suffixes))
        )
        self._since: dict[tuple[str, str, str, str], str] = {}

    @cached_property
    def _runs(self) -> Runs:
        return Runs(self._ws, self._stack.enter_context(snapshot(self._ws)), content_of(self._ws))

    def assess(self, claim: Claim) -> Claim:
        """The claim with its freshness."""
        if claim.author == "auto":
            return self._of_test(claim)
        try:
            rewritten = dict(self._rewritten_tests(claim))
            results = (
                self._of_result(self._name_now(nodeid))
                for nodeid in _tests(claim)
                if nodeid not in rewritten
            )
            # the last one of these is shown in lists
            findings = [*filter(None, results), *self._of_names(claim), *rewritten.values()]
        except KlError as problem:  # git or the store has no answer
            findings = [_Finding(_NOT_ASSESSED, f"not assessed: {problem}")]
        states = {finding.freshness for finding in findings}
        worst = next((state for state in _WORST_FIRST if state in states), _CURRENT)
        reasons = [finding.reason for finding in findings if worst in (_CURRENT, finding.freshness)]
        if not reasons:
            if claim.confirmed:
                since = "it was confirmed"
            else:
                since = "it was made"
            reasons = [f"nothing that it rests on has changed since {since}"]
        return claim._replace(freshness=worst, reasons=(*claim.reasons, *reasons))

    def _of_test(self, claim: Claim) -> Claim:
        """A claim that a test passes, which was observed on another content."""
        name = claim.about.removeprefix("test:")
        result = self._runs.results.get(name)
        if result is None or not any(
            support.observation.run == result.run for support in claim.support
        ):
            return claim
        if result.settled:
            reason = (
                f"transferred from run {result.run[:8]}: nothing differs that the test executed"
            )
            return claim._replace(freshness=_TRANSFERRED, reasons=(reason,))
        return claim._replace(reasons=(*claim.reasons, self._why_not(name, result)))

    # the tests that it cites

    def _rewritten_tests(self, claim: Claim) -> Iterator[tuple[str, _Finding]]:
        """The cited tests that are not what they were when the claim was made or confirmed."""
        for test in claim.tests:
            if change := self._change_of(test):
                yield test.nodeid, _Finding(OLDER_TREE, f"stale: {change}; {self._again(claim)}")

    def _of_result(self, name: str) -> _Finding | None:
        """Why a cited test is no evidence for this content; None where it is."""
        result = self._runs.results.get(name)
        if result is None:
            return _Finding(
                _NOT_ASSESSED,
                f"not assessed: no recorded run has {name}; run: {pytest_command([name])}",
            )
        if result.state != VALID:
            return _Finding(OLDER_TREE, self._why_not(name, result))
        if not result.run:
            return _Finding(_NOT_ASSESSED, f"not assessed: {name}: {result.reason}")
        run = f"in run {result.run[:8]}"
        if result.outcome in REFUTES:
            if self._ran_here(result.run):
                moved = ""
            else:
                moved = ", and nothing that it executed changed"
            return _Finding(REFUTED, f"refuted: {name} {result.outcome} {run}{moved}")
        if result.settled:
            why = self._runs.flaky.why(name, self._receipt(result.run))
        else:
            why = "flaky"
        if result.outcome != "passed" or why:
            reason = f"{name} shows nothing: {why or result.outcome} {run}"
            return _Finding(_NOT_ASSESSED, f"not assessed: {reason}")
        return None

    def _name_now(self, cited: str) -> str:
        """What a test is called now; as it was cited where it is there no more."""
        return next(iter(self._runs.names_now([cited])), cited)

    def _change_of(self, recorded: CitedTest) -> str:
        """In words how a cited test differs from what it was; empty: not at all."""
        name = self._name_now(recorded.nodeid)
        change = self._disk.tests.change(recorded, name)
        is_removed = bool(change) and not self._disk.tests.parts(name)
        if not is_removed:
            return change
        return f"{change}; no test takes its place"

    def _witnesses(self, claim: Claim) -> set[str]:
        """The cited tests that are as they were, by their names of then and now: what they show,
        they showed then.
        """
        unchanged = [test.nodeid for test in claim.tests if not self._change_of(test)]
        return {*unchanged, *map(self._name_now, unchanged)}

    @cached_property
    def _compared_runs(self) -> dict[str, OtherRun]:
        """Run → its results, of those that ended by themselves."""
        return {part.original.receipt.run: part for part in self._runs.parts}

    def _receipt(self, run: str) -> Receipt:
        return self._compared_runs[run].original.receipt

    def _ran_here(self, run: str) -> bool:
        """Whether a run was of this very content. A failure of any other one counts only here, such
        as one that `pytest -x` stopped at.
        """
        compared = self._compared_runs.get(run)
        return compared is None or not compared.changes.changes

    def _why_not(self, name: str, result: Result) -> str:
        if result.symbols:
            when = self._commit_of(result)
        else:
            when = ""
        why = result.reason or f"{name} {result.outcome} in run {result.run[:8]}"
        cure = self._cure([name], "no test takes its place")
        if result.state == VALID and result.outcome in REFUTES:
            state = REFUTED
        else:
            state = result.state
        return f"{state}{f' since {when}' if when else ''}: {why}; {cure}"

    def _cure(self, tests: Sequence[str], none: str) -> str:
        """The command that runs these tests, as they are called now; `none` where none of them is
        there any more.
        """
        now = self._runs.names_now(tests)
        if not now:
            return none
        return f"re-verify: {pytest_command(now)}"

    # the symbols and files that it names

    def _of_names(self, claim: Claim) -> Iterator[_Finding]:
        """What differs of the symbols and files that a claim names, if anything: the first, and how
        many.
        """
        prefix = split_id(claim.about)[0]
        last = last_name(claim.about)
        named = any(re.split(r"[.:#]", anchor.symbol)[-1] == last for anchor in claim.rests_on)
        if prefix in ("function", "method") and claim.rests_on and not named:
            # only what its text names is here: that this is unchanged shows nothing of what the
            # claim is about
            yield _Finding(
                _NOT_ASSESSED, f"not assessed: {claim.about} was not in the files when it was made"
            )
        differing = [
            (anchor, now)
            for anchor in claim.rests_on
            if (now := self._now(anchor, claim.head)) != anchor.content_hash
        ]
        if not differing:
            return
        unreadable = [
            anchor.path
            for anchor, _ in differing
            if anchor.path in self._symbols and self._symbols[anchor.path].error
        ]
        if unreadable:
            error = self._symbols[unreadable[0]].error
            yield _Finding(_NOT_ASSESSED, f"not assessed: {unreadable[0]} can't be read: {error}")
            return
        yield self._of_changes(claim, differing)

    def _of_changes(self, claim: Claim, differing: Sequence[tuple[Anchor, str]]) -> _Finding:
        """Whether cited tests have settled these changes (what a claim rests on, its hash now)."""
        witnesses = self._witnesses(claim)
        passes = [self._pass(anchor, now, claim, witnesses) for anchor, now in differing]
        unsettled = [change for change, passed in zip(differing, passes, strict=True) if not passed]
        anchor, now = (unsettled or differing)[0]
        others = len(unsettled or differing) - 1
        what = f"{anchor.name}{f' and {others} more' if others else ''}"
        what += " changed" if now else " was removed"
        since = self._first_change(claim.head, anchor)
        if not unsettled:
            return _Finding(
                _CURRENT, f"{what}{f' in {since}' if since else ' since'}, and {passes[0]}"
            )
        rerun = [test for changed, _ in unsettled for test in self._executing(changed, witnesses)]
        if now:
            cure = self._cure(list(dict.fromkeys(rerun)), self._again(claim))
        else:
            cure = self._again(claim)
        return _Finding(OLDER_TREE, f"stale{f' since {since}' if since else ''}: {what}; {cure}")

    def _now(self, anchor: Anchor, head: str) -> str:
        """The content hash today; empty where it is not there."""
        if not anchor.symbol:
            return self._disk.blob(anchor.path)
        if anchor.path not in self._symbols and head:
            self._symbols |= self._moved(anchor.path, head)
        symbols = self._symbols.get(anchor.path)
        if not symbols:
            return ""
        return symbols.hashes.get(anchor.symbol, "")

    def _moved(self, path: str, head: str) -> dict[str, FileSymbols]:
        """What the only other file defines that has the content which this one had in a commit."""
        blob = states_at(self._repo, head, [path]).get(path, "").partition(" ")[2]
        if blob:
            same = [
                entry.path
                for entry in worktree_files(self._repo, self._disk.suffixes)
                if entry.blob == blob
            ]
        else:
            same = []
        if len(same) == 1:
            symbols = self._disk.symbols(same)
        else:
            symbols = {}
        if not symbols:
            return {}
        return {path: symbols[same[0]]}

    def _pass(self, anchor: Anchor, now: str, claim: Claim, witnesses: Collection[str]) -> str:
        """In words the pass by which a cited test settles a change; empty: none does."""
        if not anchor.symbol or not now or not witnesses:
            return ""
        # an earlier run may have had this code too, and the claim was not about that
        since = micros(claim.since)
        later = [part for part in self._runs.parts if micros(part.original.receipt.ended) > since]
        for part in later:
            state, _, tests = state_of(
                anchor.path, anchor.symbol, now, [part], self._runs.flaky, witnesses
            )
            if state == PROVEN:
                run = f"passed in run {part.original.receipt.run[:8]}"
                moved = ", transferred: nothing differs here that it executed"
                return f"{tests[0]}, which has not, {run}{moved if part.changes.changes else ''}"
        return self._pass_without_symbols(later, witnesses)

    def _pass_without_symbols(self, later: Sequence[OtherRun], witnesses: Collection[str]) -> str:
        """The same by a run of this very content that recorded no symbols."""
        for part in later:
            if part.executed is not None or part.changes.changes:
                continue
            for row in part.original.receipt.evidence:
                test = row.subject.removeprefix("test:")
                receipt = part.original.receipt
                flaky = self._runs.flaky.why(test, receipt)
                if test in witnesses and row.outcome == "passed" and not flaky:
                    return (
                        f"{test}, which has not, passed in run {receipt.run[:8]} on this content"
                        " (what it executed was not recorded)"
                    )
        return ""

    def _executing(self, anchor: Anchor, witnesses: Collection[str]) -> tuple[str, ...]:
        """Those of the cited tests that a run should show to execute a symbol: all of them where
        no run recorded symbols.
        """
        # no hash is empty: nothing is proven, and what must run is known from every run
        parts = self._runs.parts
        flaky = self._runs.flaky
        if not any(part.executed for part in parts):
            if not anchor.symbol:
                return ()
            return tuple(sorted(witnesses))
        return state_of(anchor.path, anchor.symbol, "", parts, flaky, witnesses)[2]

    def _again(self, claim: Claim) -> str:
        return f"if it still is so: {self._confirm.format(claim)}"

    # since when

    def _commit_of(self, result: Result) -> str:
        """The first commit after a run in which the first stale symbol is another one; empty: it is
        not committed.
        """
        part = self._compared_runs[result.run]
        if part.executed is None or part.symbols is None or not part.original.receipt.head:
            return ""
        index = next(
            at for at, one in enumerate(part.executed.symbols) if one.symbol == result.symbols[0]
        )
        value = part.executed.symbols[index].content_hash
        anchor = Anchor(part.symbols.paths[index], part.symbols.local(index), value)
        return self._first_change(part.original.receipt.head, anchor)

    def _first_change(self, head: str, anchor: Anchor) -> str:
        """The first commit after another one in which a symbol differs; empty: none that git
        knows.
        """
        key = (head, *anchor)
        if key not in self._since:
            self._since[key] = self._changed_in(head, anchor) if head else ""
        return self._since[key]

    def _changed_in(self, head: str, anchor: Anchor) -> str:
        for commit in self._commits(head, anchor.path):
            if not anchor.symbol:
                return commit[:_SHORT]
            symbols = self._symbols_in(commit, anchor.path)
            if symbols is None or symbols.hashes.get(anchor.symbol) != anchor.content_hash:
                return commit[:_SHORT]
        return ""

    @cache  # noqa: B019 - an object of one question
    def _commits(self, head: str, path: str) -> list[str]:
        return commits_of_file(self._repo, head, path, _COMMITS)

    @cache  # noqa: B019 - as above: claims about one file ask for the same commits
    def _symbols_in(self, commit: str, path: str) -> FileSymbols | None:
        state = states_at(self._repo, commit, [path]).get(path, "")
        return symbols_of_files(self._ws, self._repo, {path: (state, "")}, 0, None).get(path)


def stale_memories(ws: Workspace, records: Sequence[Record]) -> dict[str, str]:
    """ID of each memory under which something changed since it was approved → why."""
    claims = []
    for name, events in events_by_record(ws, [one.id for one in records], (BASIS,)).items():
        if events and (claim := _as_claim(name, events[-1])):
            claims.append(claim)
    if claims:
        assessed = assess(ws, claims, "kl memory approve {0.about}")
    else:
        assessed = []
    return {one.about: one.reasons[-1] for one in assessed if one.freshness in DOUBTFUL}


def _as_claim(memory: str, event: Event) -> Claim | None:
    """A memory as a claim about itself; None where it rests on nothing that can be compared."""
    try:
        cites = tuple(str(ref) for ref in event.body.get("support", ()))
        claim = Claim("", memory, event.session, event.at, cites=cites, **basis_of(event.body))
    except UNREADABLE:
        return None
    if claim.rests_on or claim.cites:
        return claim
    return None
