"""Reports of runners other than pytest (`kl evidence import junit`): what they show of a content.

A report names tests, and nothing that they executed: it proves the content that it was imported
for, and shows nothing of another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kl_hooks.code.languages import is_file_module
from kl_hooks.evidence.ledger import Entry
from kl_hooks.model.symbol import split_id
from kl_hooks.proof.content_runs import ContentFacts
from kl_hooks.proof.expected_tests import NOT_REPORTED, Expected, Missing

REPORTED: Final = "junit"
"""The source of receipts with results that another tool wrote (`kl evidence import junit`)."""


def outdated_tests(facts: ContentFacts) -> list[Missing]:
    """The tests of other runners that were reported for other contents alone, whose files the
    content has.

    Of each file the newest report counts: what that does not name is removed or renamed.
    """
    reported_here = {path for entry in facts.entries for path, _ in _tests(entry)}
    newest: dict[str, Entry] = {}
    for entry in facts.reports():
        for path in {path for path, _ in _tests(entry)} - reported_here:
            newest.setdefault(path, entry)
    expected = facts.expected() if facts.expected else None
    return [
        Missing(test, f"run {entry.receipt.run[:8]} reported it for another content")
        for path, entry in sorted(newest.items(), key=lambda item: item[0])
        if facts.path_exists(path) and not (expected and expected.excludes(path))
        for own_path, test in _tests(entry)
        if own_path == path
    ]


def unreported_files(expected: Expected, reports: Sequence[Entry]) -> list[Missing]:
    """The files with tests for pytest that these reports do not name: they are of another runner,
    or of a part.
    """
    reported = {
        split_id(result.subject)[1].partition("::")[0]
        for entry in reports
        for result in entry.receipt.evidence
    }
    return [
        Missing(path, NOT_REPORTED)
        for path in sorted(expected.files.keys() - reported)
        if (defined := expected.functions.get(path)) is None or defined.functions or defined.error
    ]


def _tests(entry: Entry) -> Iterator[tuple[str, str]]:
    """(file, test) of the tests of a receipt whose files are of other languages than Python."""
    if entry.receipt.source != REPORTED:
        return
    for result in entry.receipt.evidence:
        test = split_id(result.subject)[1]
        path = test.partition("::")[0]
        if result.kind == "TestResult" and is_file_module(path):
            yield path, test
