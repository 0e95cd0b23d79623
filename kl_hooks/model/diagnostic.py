"""A finding of a check as one plain value; what other programs read of it is in
`report_formats`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kl_hooks.model.canonical import digest
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.text import one_line

_LONGEST: Final = 1000
"""Characters of a message: it may quote a file."""


class Rule(NamedTuple):
    """What a finding breaks."""

    id: str
    """`layers/core/web`, stable."""
    title: str
    """`core must not import web`"""
    help: str
    """Where the rule is, what is allowed instead, or what to do."""


class Diagnostic(NamedTuple):
    """One finding at one place."""

    rule: Rule
    path: str
    """From the top of the repository; empty: the content as a whole."""
    line: int
    """From 1; 0: the file as a whole."""
    message: str
    fingerprint: str
    """Without line numbers; several findings may share it."""
    hint: str = ""
    """How to fix it; empty: the message states it."""
    column: int = 0
    """From 1; 0: not known."""
    level: str = "error"
    """`error`, `warning` or `note`."""
    number: int = 1
    """Which of those that share the fingerprint it is, from 1 in the order of lines."""
    accepted: bool = False
    """A baseline accepts it: no annotation, and a note where all findings are listed."""
    minor: bool = False
    """Shown after others, where only some are shown."""

    @property
    def text(self) -> str:
        """Message and hint on one line, safe for a log and a terminal."""
        hint = f" hint: {self.hint}" if self.hint else ""
        return one_line(f"{self.message}{hint}", _LONGEST)

    @property
    def unique_fingerprint(self) -> str:
        """That of the first one, and for each further one its own, still without a line."""
        if self.number == 1:
            return self.fingerprint
        return digest("occurrence/1", [self.fingerprint, self.number])[:16]


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found in one content."""

    category: str
    """`kl/arch/`: up to its last slash the name by which GitHub separates the analyses of a
    commit.
    """
    diagnostics: Sequence[Diagnostic]
    successful: bool = True
    """Whether the check could be made."""
    properties: Mapping[str, Any] = field(default_factory=dict)
    remarks: Sequence[Diagnostic] = ()
    """On the content as a whole, for formats that merge the reports of several contents."""
    ranked: Callable[[Iterable[Diagnostic]], list[Diagnostic]] = list
    """The order of findings in a format that shows only the first ones."""


def merged(reports: Iterable[Report]) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """The findings of several contents, each once, and their remarks."""
    return _once(reports, lambda report: report.diagnostics), _once(
        reports, lambda report: report.remarks
    )


def _once(
    reports: Iterable[Report], listed: Callable[[Report], Sequence[Diagnostic]]
) -> list[Diagnostic]:
    # no place in the key: of two pushed commits each may have the same finding on another line
    first: dict[str, Diagnostic] = {}
    for report in reports:
        for diagnostic in listed(report):
            first.setdefault(diagnostic.unique_fingerprint, diagnostic)
    return list(first.values())


def numbered(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Each in its order, with its number among those of its fingerprint, by line."""
    listed = list(diagnostics)
    counts: Counter[str] = Counter()
    numbers = {}
    for place in sorted(range(len(listed)), key=lambda n: (listed[n].path, listed[n].line, n)):
        counts[listed[place].fingerprint] += 1
        numbers[place] = counts[listed[place].fingerprint]
    return [entry._replace(number=numbers[place]) for place, entry in enumerate(listed)]
