"""The rules about what tests read as data: files that they opened, and folders that they listed."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from kl_hooks.evidence.executed import Executed
from kl_hooks.evidence.provenance import is_document
from kl_hooks.evidence.reads import VARIABLES, Read
from kl_hooks.proof.comparison import Comparison
from kl_hooks.proof.effect import ChangeRule, Effect, TestRule, needs
from kl_hooks.proof.facts import (
    LINK,
    NOT_ASSESSED,
    STALE,
    Difference,
    FileChange,
    RunFacts,
    Verdict,
)
from kl_hooks.proof.run_files import CONFTEST
from kl_hooks.proof.touch import TestFacts
from kl_hooks.proof.variables import set_reason

_MAGIC: Final = frozenset("*?[")
"""What makes a pattern of a glob more than one name."""


# rules of a run: what no test of it escapes


def link_changed(run: RunFacts, difference: Difference) -> Verdict | None:
    """What a link or a submodule leads to may be anything."""
    if run.executed is None or not run.opened:
        return None
    for change in difference.changes.values():
        states = (change.state_before, change.state_now)
        is_file = all(not state or state.startswith("100") for state in states)
        if not is_file and not _leads_to_documents(change, difference):
            return Verdict(NOT_ASSESSED, f"{change.path} is a link or a submodule, and changed")
    return None


def _leads_to_documents(change: FileChange, difference: Difference) -> bool:
    """Whether a link is a document and leads to documents of the repository, before and now."""
    if change.path not in difference.documents:
        return False
    for side, state in enumerate((change.state_before, change.state_now)):
        target = link_target(change, difference, side)
        is_link = state.startswith(LINK)
        if not (is_link or not state or state.startswith("100")):
            return False
        if is_link and (target.startswith("..") or not is_document(target)):
            return False
    return True


def link_target(change: FileChange, difference: Difference, side: int) -> str:
    """The path in the repository that a link leads to; `..` where that is none, empty for no
    link.
    """
    if not (change.state_before, change.state_now)[side].startswith(LINK):
        return ""
    target = os.fsdecode(difference.text(change.path, side) or b"/")
    if target.startswith("/"):
        return ".."
    return posixpath.normpath(posixpath.join(posixpath.dirname(change.path), target))


def data_file_changed(run: RunFacts, difference: Difference) -> Verdict | None:
    """A file that is not Python's source, and that the run may have read: which test did so is not
    recorded.
    """
    if run.executed is not None and run.executed.reads is not None:
        return None
    if run.executed and run.opened:
        opened = run.executed.files
    else:
        opened = None
    for change in difference.changes.values():
        if change.is_python:
            continue
        if opened is None:
            if why := _why_maybe_read(change, difference):
                return Verdict(NOT_ASSESSED, why)
        elif why := _why_opened(change, opened):
            return Verdict(STALE, why)
    return None


def _why_maybe_read(change: FileChange, difference: Difference) -> str:
    if change.path not in difference.documents:
        return f"{change.path} changed, and which files the tests opened was not recorded"
    return difference.read_documents.get(change.path, "")


def _why_opened(change: FileChange, opened: Iterable[str]) -> str:
    if change.path in opened:
        return f"{change.path} changed, which the tests opened"
    if not _is_in_both(change) and siblings(change.path, opened):
        return f"{change.path} was {_verb(change)} beside files that tests opened"
    return ""


def siblings(path: str, others: Iterable[str]) -> list[str]:
    """Those of the same folder and ending: whoever read all of them would read this one too."""
    folder = path.rpartition("/")[0]
    ending = path.rpartition(".")[2]
    return [
        other
        for other in others
        if other.rpartition("/")[0] == folder and other.rpartition(".")[2] == ending
    ]


def _is_in_both(change: FileChange) -> bool:
    return bool(change.state_before and change.state_now)


def _verb(change: FileChange) -> str:
    if change.state_now:
        return "added"
    return "removed"


# rules of a change: which tests it reaches


def read_file_changed(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """A file that a test opened as data, Python's source too, or by a link."""
    target = link_target(change, comparison.difference, 0)
    reads = comparison.uses.reads.intersection(
        [Read(change.path), *([Read(target)] if target else [])]
    )
    if reads:
        if _is_in_both(change):
            word = "changed"
        else:
            word = f"was {_verb(change)}"
        reason = f"{change.path} {word}, which the test opened"
        yield from effects_of_reads(comparison, sorted(reads), reason)


def _bytes_changed(comparison: Comparison, path: str, reason: str) -> Iterator[Effect]:
    """A file that a test opened has other bytes, and git stores the same content, or ignores it."""
    if comparison.executed.reads is None:
        yield Effect(reason)  # which tests did is not recorded
    elif Read(path) in comparison.uses.reads:
        yield from effects_of_reads(comparison, [Read(path)], reason)


def _appeared(comparison: Comparison, path: str) -> Iterator[Effect]:
    """Where a test looked in vain something is on disk now, such as a file that git ignores; pytest
    looks for each `conftest.py`.
    """
    folder, _, name = path.rpartition("/")
    reason = f"{path} is there now"
    if name == CONFTEST:
        yield Effect(reason, below=folder)
    reads = comparison.uses.reads.intersection([Read(path), Read(folder, name)])
    yield from effects_of_reads(comparison, sorted(reads), f"{reason}, which the test looked for")


def _relisted(comparison: Comparison, listing: str) -> Iterator[Effect]:
    """A folder that a test listed has other names on disk, such as that of an ignored file."""
    folder, _, pattern = listing.rpartition("/")
    reason = f"{folder}/ has other files on disk than when the test listed it"
    yield from effects_of_reads(comparison, [Read(folder, pattern)], reason)


def _variable_set(comparison: Comparison, name: str) -> Iterator[Effect]:
    """A variable of the environment is set that a test looked for in vain."""
    reason = set_reason(name)
    yield from effects_of_reads(comparison, [Read(VARIABLES, name)], reason)


def disk_effects(
    comparison: Comparison, run: RunFacts, changes: Collection[str]
) -> Iterator[Effect]:
    """Of what differs on disk and in the environment, beside the `changes` that git shows."""
    for path in sorted(run.other_bytes.keys() - changes):
        yield from _bytes_changed(comparison, path, run.other_bytes[path])
    for rule, places in (
        (_appeared, run.appeared.difference(changes)),
        (_relisted, run.relisted),
        (_variable_set, run.variables),
    ):
        for place in sorted(places):
            yield from rule(comparison, place)


def listed_folder_changed(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """A file is added or removed where a test listed a folder, if its pattern matches, or where it
    looked for a module of that name.
    """
    if _is_in_both(change):
        return
    listings = [
        read
        for read in comparison.uses.reads
        if read.pattern and _is_listed(change.path, read, comparison.difference.is_lasting)
    ]
    modules = [read for read in listings if _is_module(read)]
    reason = f"{change.path} was {_verb(change)}, which the test looked for"
    yield from effects_of_reads(comparison, modules, reason)
    folders = [read for read in listings if not _is_module(read)]
    reason = f"{change.path} was {_verb(change)} in a folder that the test listed"
    yield from effects_of_reads(comparison, folders, reason)


def _is_module(read: Read) -> bool:
    """Whether it is a module that was looked for, not a listing: its pattern is one name."""
    return bool(read.pattern) and not _MAGIC.intersection(read.pattern)


def _is_listed(path: str, listing: Read, is_lasting: Callable[[str], bool]) -> bool:
    """Whether a listing shows a file, or a folder that comes or goes with it."""
    if listing.path and not path.startswith(f"{listing.path}/"):
        return False
    parts = path[len(listing.path) :].lstrip("/").split("/")
    pattern = [part for part in listing.pattern.split("/") if part not in ("", ".")]
    for depth in range(1, len(parts) + 1):
        if _matches(parts[:depth], pattern):
            shown = "/".join(filter(None, [listing.path, *parts[:depth]]))
            if depth == len(parts) or not is_lasting(shown):
                return True
    return False


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the parts of a path match those of a glob; `**` is any number of folders. A glob may
    be asked to pass over upper and lower case.
    """
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[at:], pattern[1:]) for at in range(len(parts) + 1))
    is_fitting = bool(parts) and fnmatchcase(parts[0].lower(), pattern[0].lower())
    return is_fitting and _matches(parts[1:], pattern[1:])


def sibling_added_or_removed(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """A file beside one of its ending that a test opened: the test may have looked whether it is
    there, which raises no event.
    """
    if _is_in_both(change) or change.is_python:
        return
    opened = [read.path for read in comparison.uses.reads if not read.pattern]
    reads = [Read(path) for path in siblings(change.path, opened)]
    reason = f"{change.path} was {_verb(change)} beside files that the test opened"
    yield from effects_of_reads(comparison, reads, reason)


def effects_of_reads(
    comparison: Comparison, reads: Sequence[Read], reason: str
) -> Iterator[Effect]:
    """For the tests that read one of these, and those that need a file whose import did."""
    if not reads:
        return
    yield Effect(reason, (comparison.uses.read_by(reads),))
    for path in comparison.uses.readers(reads):
        yield Effect(reason, needs(comparison.imports.users(path) if path else None))


READ_RULES: Final[Sequence[ChangeRule]] = (
    read_file_changed,
    listed_folder_changed,
    sibling_added_or_removed,
)


# rules of a test


def data_test_changed(
    comparison: Comparison, effects: Iterable[Effect], test: TestFacts
) -> Verdict | None:
    """A test whose own file is no Python, such as a text with doctests."""
    if test.path in comparison.data_changes:
        return Verdict(STALE, f"{test.path} changed")
    return None


def process_may_have_read(
    comparison: Comparison, effects: Iterable[Effect], test: TestFacts
) -> Verdict | None:
    """A test of which not all was seen, such as one that starts another process."""
    if test.nodeid not in comparison.executed.incomplete:
        return None
    return unseen_read(comparison.difference)


def unseen_read(difference: Difference) -> Verdict | None:
    """Why such a test may have read what changed. Documentation counts where something names it."""
    for path in difference.changes:
        if path not in difference.documents or difference.read_documents.get(path):
            why = f"{path} changed, and what its processes opened was not recorded"
            return Verdict(NOT_ASSESSED, why)
    return None


READ_TEST_RULES: Final[Sequence[TestRule]] = (data_test_changed, process_may_have_read)


# what no event shows


def unrecorded_reads(
    executed: Executed, difference: Difference, others: Iterable[Executed]
) -> list[str]:
    """The changed data files of which no event shows who reads them, in folders that tests read
    from, list, or have code in: whatever looks whether they exist, or opens them in C, does so
    unseen. In the top folder, which has files of all sorts of tools, only those with the ending of
    one that was opened. Not so what `others`, runs of the content itself, opened.
    """
    if executed.reads is None:
        return []
    comparison = Comparison(executed, difference)
    read_from = {
        read.path if read.pattern else _folder(read.path)
        for read in comparison.uses.reads
        if not _is_module(read)
    }
    code = {_folder(path) for path in (*executed.modules, *executed.tests.files)}
    opened = {read.path for other in others if other.reads for read in other.reads.everything()}

    def is_near(path: str) -> bool:
        folder = _folder(path)
        if not folder:
            return bool(siblings(path, (read.path for read in comparison.uses.reads)))
        return folder in read_from or _is_at_or_below(folder, code)

    return [
        path
        for path, change in sorted(comparison.data_changes.items())
        if path not in difference.documents
        and path not in opened
        and is_near(path)
        and not any(True for rule in READ_RULES for _ in rule(comparison, change))
    ]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _is_at_or_below(folder: str, folders: Collection[str]) -> bool:
    return any(folder == other or folder.startswith(f"{other}/") for other in folders)


# runs of an earlier kl


def may_have_been_asked_for(difference: Difference) -> bool:
    """Whether a data file differs: a run that did not record which files its tests looked for, or
    asked for their state, has no word on it.
    """
    return any(
        not change.is_python and change.path not in difference.documents
        for change in difference.changes.values()
    )


def may_have_been_looked_for(difference: Difference) -> bool:
    """Whether a file of Python comes or goes: a run that did not record which modules were looked
    for in vain has no word on it.
    """
    return any(
        change.path.endswith(".py") and not _is_in_both(change)
        for change in difference.changes.values()
    )


def may_have_been_read(difference: Difference) -> bool:
    """Whether a file of Python differs, or a file is added or removed: a run that did not record
    who reads source as data, and who lists folders, has no word on it.
    """
    return any(
        change.path.endswith(".py")
        or (not _is_in_both(change) and change.path not in difference.documents)
        for change in difference.changes.values()
    )


READ_SUBJECTS: Final[Mapping[str, Callable[[Difference], bool]]] = {
    "reads": may_have_been_read,
    "lookups": may_have_been_looked_for,
    "looks": may_have_been_asked_for,
}
"""Class of facts → whether two contents differ in what it is about."""
