"""How `kl evidence verify` says what it checked, and what that proves and does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kl_hooks.cli.common import counted, short
from kl_hooks.model.text import one_line

if TYPE_CHECKING:
    from kl_hooks.evidence.audit import Audit
    from kl_hooks.records.events import Event


def plain_audit(done: Audit, accepted: Sequence[Event]) -> dict[str, Any]:
    """`kl.evidence.verify/1`."""
    return {
        "schema": "kl.evidence.verify/1", "receipts": done.receipts, "head": done.head,
        "problems": list(done.problems), "anchors": list(done.anchors), "folded": done.folded,
        "accepted": [{"at": one.at, **one.body} for one in accepted],
    }  # fmt: skip


def accepted_line(one: Event) -> str:
    """`2026-11-22: this store had 41 receipts, then 17: kl.db restored (local:ada@host)`."""
    lost = one.body.get("lost") or [{}]
    numbers = f"had {lost[0].get('had')} receipts, then {lost[0].get('found')}"
    return f"{one.at[:10]}: this store {numbers}: {one_line(str(one.body.get('reason')), 200)} ({one.body.get('by')})"


def audit_lines(done: Audit, accepted: Sequence[Event]) -> Iterator[str]:
    """For people."""
    for problem in done.problems:
        yield f"  problem  {problem}"
    yield f"{done.receipts} receipts, {'chain intact' if not done.problems else f'{len(done.problems)} problems'}."
    yield f"  head     {short(done.head, 16)}"
    if done.folded:
        yield f"  folded   {counted(done.folded, 'old run')}: header and chain checked, results of tests were removed"
    yield from (f"  accepted {accepted_line(one)}" for one in accepted)
    for anchor in done.anchors:
        yield f"  anchor   {anchor}"
    yield "It proves that nothing before a remembered head was edited, removed or reordered. It does not prove that"
    yield "what was recorded is true, nor that everything was recorded."
