"""How receipts are printed. A run is named by the first 8 digits of its ID, as pytest's line names it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kl_hooks.cli.common import counted, short
from kl_hooks.evidence.ledger import Entry
from kl_hooks.evidence.weight import observation
from kl_hooks.model.outcome import word_of_run
from kl_hooks.model.receipt import Receipt
from kl_hooks.model.text import one_line


def line(entry: Entry) -> str:
    """`5d1e0a77  2026-11-21 22:58  pytest    passed  tree 3f9a1c2  211 passed, 2 skipped`, in columns."""
    receipt = entry.receipt
    when = receipt.ended[:16].replace("T", " ")
    word = word_of_run(receipt.result)
    what = f"{receipt.source:<8} {word:<16} {tree(receipt):<18} {counts(receipt)}"
    return f"{short(receipt.run, 8)}  {when}  {what}".rstrip()


def counts(receipt: Receipt) -> str:
    """`1 failed, 211 passed`; the command itself for a single command."""
    if receipt.source == "command" and receipt.evidence:
        return one_line(receipt.evidence[0].subject.removeprefix("command:"), 32)
    return ", ".join(f"{n} {what}" for what, n in sorted((receipt.result.get("counts") or {}).items()) if n)


def failed_run(entries: Iterable[Entry]) -> Entry | None:
    """The first of these runs of tests that failed."""
    runs = (one for one in entries if one.receipt.source in ("pytest", "junit"))
    return next((one for one in runs if one.receipt.result.get("verdict") == "failed"), None)


def tree(receipt: Receipt) -> str:
    """`tree 3f9a1c2`, with `+dirty` where it was not the commit's, `moved` where it changed under way."""
    return f"tree {short(receipt.tree, 7)}{'+dirty' if receipt.dirty else ''}{' moved' if receipt.moved else ''}"


def describe(entry: Entry) -> Iterator[str]:
    """The whole receipt: its facts, what failed, what it weighs."""
    r = entry.receipt
    parent = f", inside run {short(r.parent, 8)}" if r.parent else ""
    yield f"run       {short(r.run, 8)}   {r.source}, seen by {r.observer}{parent}"
    yield f"by        {r.producer}   {r.started} to {r.ended}   origin {entry.origin}"
    yield f"content   {tree(r)} ({short(r.tree, 40)})   head {short(r.head)}   branch {r.branch or 'none'}"
    yield f"verdict   {word_of_run(r.result)}   {counts(r)}   exit {r.result.get('exit')}"
    for reason in r.result.get("reasons") or ():
        yield f"          {reason}"
    limits = {k: v for k, v in r.selection.items() if v not in (None, "", [], False)}
    if limits:
        yield "selection " + ", ".join(f"{k} {v}" for k, v in limits.items())
    if told := imported(r.environment.get("imported")):
        yield f"imported  {told}"
    yield from _evidence(entry)


def imported(found: object) -> str:
    """Where the modules of a run came from, in one line; empty where that was not recorded."""
    if not isinstance(found, Mapping):
        return ""
    total = found.get("total")
    total = total if isinstance(total, Mapping) else {}

    def rows(key: str) -> tuple[list[str], int]:
        listed = found.get(key)
        listed = listed if isinstance(listed, list | tuple) else []
        names = [str(one.get("module")) if isinstance(one, Mapping) else str(one) for one in listed]
        return names[:3], total.get(key) or len(names)

    parts = [f"{counted(found.get('in_place') or 0, 'module')} in place"]
    if same := found.get("same"):
        copies = "1 installed copy" if same == 1 else f"{same} installed copies"
        parts.append(f"{copies}, same content ({_first(rows('same_first')[0], same)})")
    if compiled := found.get("compiled"):
        parts.append(f"{counted(compiled, 'compiled module')} {'was' if compiled == 1 else 'were'} not compared")
    for key, words in (("generated", "generated"), ("different", "different"), ("missing", "not in this checkout"),
                       ("not_compared", "could not be compared")):  # fmt: skip
        names, number = rows(key)
        if names:
            parts.append(f"{words}: {_first(names, number)}")
    return ", ".join(parts)


def _first(names: list[str], number: int) -> str:
    more = f" and {number - len(names)} more" if number > len(names) else ""
    return one_line(", ".join(names), 200) + more


def _evidence(entry: Entry) -> Iterator[str]:
    if entry.folded:
        yield f"evidence  folded on {entry.folded}: the results of its tests were removed, their digest is kept"
        return
    order = {"failed": 0, "error": 1, "flaky": 2, "xpassed": 3}
    shown = sorted(entry.receipt.evidence, key=lambda e: (order.get(e.outcome, 9), e.subject))
    yield f"evidence  {counted(len(shown), 'observation')}"
    for one in shown[:40]:
        weak = observation(entry.receipt, one, entry.origin).why_not
        yield f"  {one.outcome:<9} {one_line(one.subject, 120)}" + (f"   not hard: {weak}" if weak else "")
        for key in ("message", "tail"):
            if text := one.detail.get(key):
                yield from (f"            {row}" for row in str(text).splitlines()[-12:])
    if len(shown) > 40:
        yield f"  … and {len(shown) - 40} more: --format json shows all"
