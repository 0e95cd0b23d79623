"""How `kl evidence verify` says what it checked, and what that proves and does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kl_hooks.cli.common import counted, short
from kl_hooks.evidence.audit import Audit


def plain_audit(done: Audit) -> dict[str, Any]:
    """`kl.evidence.verify/1`."""
    return {
        "schema": "kl.evidence.verify/1", "receipts": done.receipts, "head": done.head,
        "problems": list(done.problems), "anchors": list(done.anchors), "folded": done.folded,
    }  # fmt: skip


def audit_lines(done: Audit) -> Iterator[str]:
    """For people."""
    for problem in done.problems:
        yield f"  problem  {problem}"
    yield f"{done.receipts} receipts, {'chain intact' if not done.problems else f'{len(done.problems)} problems'}."
    yield f"  head     {short(done.head, 16)}"
    if done.folded:
        yield f"  folded   {counted(done.folded, 'old run')}: header and chain checked, the rows of the tests are gone"
    for anchor in done.anchors:
        yield f"  anchor   {anchor}"
    yield "It proves that nothing before a remembered head was edited, removed or reordered. It does not prove that"
    yield "what was recorded is true, nor that everything was recorded."
