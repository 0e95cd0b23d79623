"""What speaks against a record, sort by sort. Pure: records, what happened to them, what is there today, the time.

Contradictions are found by subject alone, never by how alike two texts are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kl_hooks.clock import micros
from kl_hooks.model.lifecycle import Lifecycle
from kl_hooks.model.record import Record

SORTS: Final = ("broken", "stale", "contradicted", "unanchored", "over-long", "unused")
"""Worst first."""
LONGEST: Final = 4_000
"""Characters of a record; a longer one takes most of a package's budget."""
UNUSED_DAYS: Final = 90
USES: Final = ("injected", "opened", "reinforced", "outcome")
"""Events that show that somebody had use of a record."""


@dataclass(frozen=True, slots=True)
class Against:
    """One thing that speaks against one record."""

    id: str
    kind: str
    sort: str
    """One of `SORTS`."""
    reason: str


def against(record: Record, sort: str, reason: str) -> Against:
    """It, of this record."""
    return Against(record.id, record.kind, sort, reason)


def broken(records: Iterable[Record]) -> Iterator[Against]:
    """Records whose files can't be read today."""
    return (against(one, "broken", f"{one.path}: {one.broken}") for one in records if one.broken)


def stale(records: Iterable[Record], reasons: Mapping[str, str], ended: Iterable[str]) -> Iterator[Against]:
    """Records whose subject has changed since (`reasons`), and those that still stand there although they ended."""
    over = set(ended)
    for one in records:
        if one.id in reasons:
            yield against(one, "stale", reasons[one.id])
        elif one.id in over:
            yield against(one, "stale", f"it ended on {one.text('expires')}")


def long(records: Iterable[Record], sizes: Mapping[str, int]) -> Iterator[Against]:
    """Records that say more than anybody is going to read."""
    for one in records:
        if sizes.get(one.id, 0) > LONGEST:
            yield against(one, "over-long", f"{sizes[one.id]} characters; more than {LONGEST} crowd others out")


def unanchored(
    records: Iterable[Record], named: Mapping[str, Sequence[str]], there: Iterable[str]
) -> Iterator[Against]:
    """Records that name files, symbols or records of which none is there. `named`: id → Ids that it names."""
    known = set(there)
    for one in records:
        gone = [name for name in named.get(one.id, ()) if name not in known]
        if gone and len(gone) == len(named[one.id]):
            yield against(one, "unanchored", f"nothing that it names is there: {', '.join(gone[:3])}")


def unused(records: Iterable[Record], used: Mapping[str, int], now: int, since: int = 0) -> Iterator[Against]:
    """Records that nobody had use of for so long. `used`: id → when it was last of use, microseconds.

    `since`: from when on anybody watched; of the time before, nobody can tell.
    """
    for one in records:
        said = one.text("updated") or one.text("date")
        last = max(used.get(one.id, 0), micros(said) if said else 0, since)
        if last and Lifecycle.old(now, last, UNUSED_DAYS):
            yield against(one, "unused", f"nobody was given it for {(now - last) // 86_400_000_000} days")


def ruled_twice(decisions: Iterable[Record], subjects: Mapping[str, Sequence[str]]) -> Iterator[Against]:
    """Accepted decisions that govern one and the same thing, and do not know of each other.

    `subjects`: id → Ids that it governs. Two that name each other, in whatever field, know.
    """
    ruling: dict[str, list[Record]] = {}
    for one in decisions:
        for subject in dict.fromkeys(subjects.get(one.id, ())):
            ruling.setdefault(subject, []).append(one)
    for subject, some in sorted(ruling.items()):
        for one in some:
            others = [other.id for other in some if other.id != one.id and not _know(one, other)]
            if others:
                yield against(one, "contradicted", f"{', '.join(others)} governs {subject} too")


def _know(one: Record, other: Record) -> bool:
    return _names(one, other.id) or _names(other, one.id)


def _names(one: Record, identifier: str) -> bool:
    return any(identifier in value for value in one.values.values() if isinstance(value, tuple))
