"""Freshness of claims: what each rests on, compared with the files as they are now.

A claim that a test passes rests on what the test executed. One that somebody asserted rests on what
it names: the symbol, class or file that it is about, symbols in backticks in its text, and the
tests that its author cites. It is stale from the change of one of these on, and current again once
a passing test has executed the new code, or the old code is back. Nothing is stored for it, so that
no reader makes a claim fresh.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from kl_hooks.clock import micros
from kl_hooks.code.query.session import SYMBOL_KINDS
from kl_hooks.errors import KlError, UsageProblem
from kl_hooks.evidence.ingestion import snapshot
from kl_hooks.git.commits import commits_of_file
from kl_hooks.git.files import FileEntry, states_at, worktree_files
from kl_hooks.git.objects import object_id
from kl_hooks.model.claim import OLDER_TREE, Anchor, Claim
from kl_hooks.model.symbol import split_id
from kl_hooks.proof.difference import symbols_of_content, symbols_of_files
from kl_hooks.proof.impact import PROVEN, Runs, content_of, state_of
from kl_hooks.proof.other_runs import pytest_command
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.git.repository import Repository
    from kl_hooks.proof.facts import FileSymbols
    from kl_hooks.proof.impact import Result
    from kl_hooks.workspace import Workspace

_CURRENT: Final = "current"
_NOT_ASSESSED: Final = "not assessed"
_COMMITS: Final = 30
"""Commits of a file that are looked into for the change of a symbol."""
_SHORT: Final = 7
_MOST: Final = 1000
"""Symbols that a claim rests on: those of a larger file are too many to name."""
_MOST_BYTES: Final = 4 * 1024 * 1024
_NAMES_IN_TEXT: Final = re.compile(r"`([A-Za-z_][\w.:]*)(?:\(\))?`")


def anchors_of(ws: Workspace, about: str, text: str) -> tuple[Anchor, ...]:
    """What a claim names, as it is now: of a class all its methods, of a file or module all that it
    defines.

    Empty where nothing of it is in the files here.
    """
    repo, (prefix, name) = ws.repo, split_id(about)
    if repo is None:
        return ()
    if prefix == "file" and not name.endswith(".py"):
        content = _on_disk(repo, name)
        return (
            (Anchor(name, "", object_id(repo.object_format, b"blob", content)),)
            if content is not None
            else ()
        )
    paths = [one.path for one in worktree_files(repo, (".py",))]
    found: dict[tuple[str, str], Anchor] = {}
    known: dict[str, FileSymbols] = {}
    for identifier in (about, *_NAMES_IN_TEXT.findall(text)):
        # a bare name in the text is looked for in the file that the claim is about
        own = () if identifier == about or "." in identifier else {path for path, _ in found}
        for path, locals_ in (
            *_places(identifier, paths),
            *((path, _any_kind(f"_.{identifier}")) for path in own),
        ):
            if path not in known:
                known |= _symbols_now(ws, repo, [path])
            if path in known and (some := list(_inside(known[path], locals_))):
                found.update(
                    {
                        (path, local): Anchor(path, local, known[path].hashes[local])
                        for local in some
                    }
                )
                break
    return tuple(found.values()) if len(found) <= _MOST else ()


def _places(identifier: str, paths: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The files that an ID may be of, the longest module first, and what it may be called in
    each.
    """
    prefix, name = split_id(identifier)
    if prefix in ("file", "test"):
        path, _, test = name.partition("::")
        own = test.partition("[")[0].replace("::", ".")
        yield path, _any_kind(f"_.{own}" if own else "_")
        return
    parts = name.split(".")
    modules = {
        path: "." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for path in paths
    }
    for number in range(len(parts), 0, -1):
        ending, own = "." + ".".join(parts[:number]), ".".join(["_", *parts[number:]])
        locals_ = (
            (f"{prefix}:{own}",) if prefix in SYMBOL_KINDS else _any_kind(own) if not prefix else ()
        )
        yield from ((path, locals_) for path, module in modules.items() if module.endswith(ending))


def _any_kind(own: str) -> tuple[str, ...]:
    return tuple(f"{kind}:{own}" for kind in SYMBOL_KINDS)


def _inside(symbols: FileSymbols, locals_: Sequence[str]) -> Iterator[str]:
    """Those of these names that a file defines, with what is inside a class or a module."""
    for local in locals_:
        if local not in symbols.hashes:
            continue
        yield local
        kind, _, own = local.partition(":")
        if kind in ("type", "interface", "namespace"):
            # a field is part of the body that it is in
            inner = (one for one in symbols.hashes if one.partition(":")[2].startswith(f"{own}."))
            yield from (one for one in inner if not one.startswith("field:"))


def _on_disk(repo: Repository, path: str) -> bytes | None:
    """A file as it is on disk; None for none, or one that can't be read."""
    try:
        return read_small(repo.top / path, within=repo.top, most=_MOST_BYTES)
    except UsageProblem:
        return None


def _symbols_now(ws: Workspace, repo: Repository, paths: Sequence[str]) -> dict[str, FileSymbols]:
    """Path → what the file defines on disk; a file that is absent is omitted."""
    contents = {path: content for path in paths if (content := _on_disk(repo, path)) is not None}
    entries = [
        FileEntry(path, object_id(repo.object_format, b"blob", text), "100644")
        for path, text in contents.items()
    ]
    return symbols_of_content(ws, entries, lambda some: ((one, contents[one.path]) for one in some))


def assess(ws: Workspace, claims: Sequence[Claim]) -> list[Claim]:
    """The same claims, each with its freshness for the files as they are now, and the reason."""
    repo = ws.repo
    if repo is None or not any(_is_assessable(one) for one in claims):
        return list(claims)
    with ExitStack() as stack:
        content = _Content(
            ws, repo, stack, {one.path for claim in claims for one in claim.rests_on}
        )
        return [content.assess(one) if _is_assessable(one) else one for one in claims]


def _is_assessable(claim: Claim) -> bool:
    if claim.author == "auto":
        return claim.freshness == OLDER_TREE and claim.about.startswith("test:")
    return claim.freshness != "expired" and bool(claim.rests_on or _tests(claim))


def _tests(claim: Claim) -> list[str]:
    """The tests that the author of a claim cites."""
    return [one.removeprefix("test:") for one in claim.cites if one.startswith("test:")]


class _Finding(NamedTuple):
    """Why a claim is not simply current."""

    freshness: str
    reason: str


class _Content:
    """The files as they are now, and what recorded runs show of them."""

    def __init__(self, ws: Workspace, repo: Repository, stack: ExitStack, paths: set[str]) -> None:
        self._ws, self._repo, self._stack = ws, repo, stack
        self._symbols = _symbols_now(
            ws, repo, sorted(path for path in paths if path.endswith(".py"))
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
            found = [
                *self._of_names(claim),
                *(one for name in _tests(claim) if (one := self._of_cited(name))),
            ]
        except KlError as problem:  # git or the store has no answer
            found = [_Finding(_NOT_ASSESSED, f"not assessed: {problem}")]
        worst = next(
            (
                state
                for state in (OLDER_TREE, _NOT_ASSESSED)
                if state in {one.freshness for one in found}
            ),
            _CURRENT,
        )
        reasons = [one.reason for one in found if worst in (_CURRENT, one.freshness)]
        reasons = reasons or ["nothing that it rests on has changed since it was made"]
        return replace(claim, freshness=worst, reasons=(*claim.reasons, *reasons))

    def _of_test(self, claim: Claim) -> Claim:
        """A claim that a test passes, which was observed on another content."""
        name = claim.about.removeprefix("test:")
        result = self._runs.results.get(name)
        if result is None or not any(one.observation.run == result.run for one in claim.support):
            return claim
        if result.settled:
            reason = (
                f"transferred from run {result.run[:8]}: nothing differs that the test executed"
            )
            return replace(claim, freshness=_CURRENT, reasons=(reason,))
        return replace(claim, reasons=(*claim.reasons, self._why_not(name, result)))

    def _of_cited(self, name: str) -> _Finding | None:
        """Why a test that the author cites is no evidence for this content; None where it is."""
        name = next(iter(self._runs.names_now([name])), name)
        result = self._runs.results.get(name)
        if result is None:
            return _Finding(
                _NOT_ASSESSED,
                f"not assessed: no recorded run has {name}; run: {pytest_command([name])}",
            )
        return None if result.settled else _Finding(OLDER_TREE, self._why_not(name, result))

    def _why_not(self, name: str, result: Result) -> str:
        when = self._commit_of(result) if result.symbols else ""
        why = result.reason or f"{name} {result.outcome} in run {result.run[:8]}"
        cure = self._cure([name], "no test takes its place")
        return f"{result.state}{f' since {when}' if when else ''}: {why}; {cure}"

    def _cure(self, tests: Sequence[str], none: str) -> str:
        """The command that runs these tests, as they are called now; `none` where none of them is
        there any more.
        """
        now = self._runs.names_now(tests)
        return f"re-verify: {pytest_command(now)}" if now else none

    def _of_names(self, claim: Claim) -> Iterator[_Finding]:
        """What differs of the symbols and files that a claim names, if anything: the first, and how
        many.
        """
        prefix, name = split_id(claim.about)
        last = name.rpartition(".")[2]
        named = any(re.split(r"[.:]", one.symbol)[-1] == last for one in claim.rests_on)
        if prefix in ("function", "method") and claim.rests_on and not named:
            # only what its text names is here: that this is unchanged shows nothing of what the
            # claim is about
            yield _Finding(
                _NOT_ASSESSED, f"not assessed: {claim.about} was not in the files when it was made"
            )
        differing = [
            (one, now)
            for one in claim.rests_on
            if (now := self._now(one, claim.head)) != one.content_hash
        ]
        if not differing:
            return
        unreadable = [
            one
            for one, _ in differing
            if one.path in self._symbols and self._symbols[one.path].error
        ]
        if unreadable:
            path = unreadable[0].path
            yield _Finding(
                _NOT_ASSESSED, f"not assessed: {path} can't be read: {self._symbols[path].error}"
            )
            return
        passed, tests, open_ = "", [], []
        for one, now in differing:
            state, why, some = self._state(one, now, claim)
            passed = passed or (why if state == PROVEN else "")
            open_ += [] if state == PROVEN else [(one, now)]
            tests += [] if state == PROVEN else [test for test in some if test not in tests]
        first, now = (open_ or differing)[0]
        more = f" and {len(open_ or differing) - 1} more" if len(open_ or differing) > 1 else ""
        since = self._first_change(claim.head, first)
        what = f"{first.name}{more} {'changed' if now else 'was removed'}"
        if not open_:
            yield _Finding(_CURRENT, f"{what}{f' in {since}' if since else ' since'}, and {passed}")
            return
        cure = self._cure(tests, f"no recorded test executes it; {_again(claim)}")
        yield _Finding(OLDER_TREE, f"stale{f' since {since}' if since else ''}: {what}; {cure}")

    def _now(self, anchor: Anchor, head: str) -> str:
        """The content hash today; empty where it is not there."""
        if not anchor.symbol:
            content = _on_disk(self._repo, anchor.path)
            return (
                object_id(self._repo.object_format, b"blob", content) if content is not None else ""
            )
        if anchor.path not in self._symbols and head:
            self._symbols |= self._moved(anchor.path, head)
        found = self._symbols.get(anchor.path)
        return found.hashes.get(anchor.symbol, "") if found else ""

    def _moved(self, path: str, head: str) -> dict[str, FileSymbols]:
        """What the only other file defines that has the content which this one had in a commit."""
        blob = states_at(self._repo, head, [path]).get(path, "").partition(" ")[2]
        same = (
            [one.path for one in worktree_files(self._repo, (".py",)) if one.blob == blob]
            if blob
            else []
        )
        found = _symbols_now(self._ws, self._repo, same) if len(same) == 1 else {}
        return {path: found[same[0]]} if found else {}

    def _state(self, anchor: Anchor, now: str, claim: Claim) -> tuple[str, str, tuple[str, ...]]:
        """What runs after the claim was made prove of the new code, as `impact.state_of`."""
        if not anchor.symbol:
            return "", "", ()
        # an earlier run may have had this code too, and the claim was not about that
        made = micros(claim.made_at)
        later = [one for one in self._runs.parts if micros(one.original.receipt.ended) > made]
        state = state_of(anchor.path, anchor.symbol, now, later, self._runs.flaky)
        # no hash is empty: nothing is proven, and what must run is known from every run
        if state[0] == PROVEN:
            return state
        return state_of(anchor.path, anchor.symbol, "", self._runs.parts, self._runs.flaky)

    # since when

    def _commit_of(self, result: Result) -> str:
        """The first commit after a run in which the first stale symbol is another one; empty: it is
        not committed.
        """
        part = next(one for one in self._runs.parts if one.original.receipt.run == result.run)
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
            found = self._symbols_in(commit, anchor.path)
            if found is None or found.hashes.get(anchor.symbol) != anchor.content_hash:
                return commit[:_SHORT]
        return ""

    @cache  # noqa: B019 - an object of one question
    def _commits(self, head: str, path: str) -> list[str]:
        return commits_of_file(self._repo, head, path, _COMMITS)

    @cache  # noqa: B019 - as above: claims about one file ask for the same commits
    def _symbols_in(self, commit: str, path: str) -> FileSymbols | None:
        state = states_at(self._repo, commit, [path]).get(path, "")
        return symbols_of_files(self._ws, self._repo, {path: (state, "")}, 0, None).get(path)


def _again(claim: Claim) -> str:
    return (
        f"if it still is so: kl claim add {shlex.quote(claim.text)} --about"
        f" {shlex.quote(claim.about)}"
    )
