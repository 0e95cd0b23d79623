"""`kl status`: what is recorded here and what is proven for this content, on one screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.evidence import all_evidence, receipt_line
from kl_hooks.cli.output import counted, echo_json, echo_lines, format_option, short, workspace
from kl_hooks.cli.record_output import (
    records_by_status,
    waiting_for_a_person,
    waiting_lines,
    warn_of_index_problems,
    warn_of_unreadable_records,
)
from kl_hooks.errors import KlError
from kl_hooks.evidence.assertions import known_assertions
from kl_hooks.evidence.commits import commits_without_check
from kl_hooks.evidence.ledger import Entry, count_tests, recent
from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.kinds.catalog import MEMORY
from kl_hooks.model.claim import DOUBTFUL, Claim, Tier
from kl_hooks.model.manifest import MANIFEST
from kl_hooks.model.text import name_list
from kl_hooks.operations.evidence_reading import EvidenceState
from kl_hooks.proof.content_proof import Proof
from kl_hooks.proof.content_runs import had_untracked_files
from kl_hooks.proof.difference import edits_since_green
from kl_hooks.proof.facts import VALID
from kl_hooks.proof.failing import failing_tests
from kl_hooks.proof.freshness import assess
from kl_hooks.proof.gate import judge
from kl_hooks.proof.verdict_text import failure_text, passed_text, rerun_text
from kl_hooks.records.events import count_records
from kl_hooks.records.repository import authored_files
from kl_hooks.store.database import Database

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


_AUDITED = 20
"""Newest runs that are compared with earlier results."""
_REASONS = 3
_COUNTED = ("commits", "tests", "asserted claims")


@click.command(epilog="Example: kl status --format json")
@format_option()
def status(shape: str) -> None:
    """Show what is recorded here, and what is proven for this content."""
    from kl_hooks.kinds.memory.status import is_outdated
    from kl_hooks.proof.nearest import nearest

    ws = workspace()
    place = worktree_state(ws.repo)
    with all_evidence(ws, place.head) as seen:
        db = seen.db
        here, found = judge(ws, seen, place.trees)
        near = (
            nearest(ws, seen, place.trees, None)
            if place.trees and found.tier is Tier.GUESSED
            else None
        )
        facts: dict[str, Any] = {
            "schema": "kl.status/3",
            "root": str(ws.root),
            "state": str(ws.state.directory),
            "shared": ws.store.address.place if ws.store.address else None,
            "tree": place.tree,
            "head": place.head,
            "branch": place.branch,
            "changed": place.changed,
            "manifest": (ws.root / MANIFEST).is_file(),
            "manifest_mistakes": _manifest_has_mistakes(ws),
            "counts": _counts(db) if db else {},
            "proof": {
                "tier": found.tier.word,
                "run": found.run,
                "reasons": list(found.notes if found.run else found.reasons),
                "untracked": had_untracked_files(here, found.cited_runs, place.tree),
                "assessed": not found.gaps,
                **EvidenceState.of(seen).to_dict(),
                "nearest": near.to_dict() if near else None,
                "tests": found.tests.to_dict(),
            },
        }
        edits = (
            edits_since_green(ws, db, place)
            if found.tier is Tier.GUESSED and not found.gaps
            else ""
        )
        from kl_hooks.proof.audit import audit

        # only where runs failed: others show no disagreement
        facts["wrong"] = audit(ws, seen, _AUDITED, failed_only=True).wrong
        facts["failing"] = [test.to_dict() for test in failing_tests(ws, seen)]
        newest = seen.recent(5)
        drift = next(iter(recent(db, 1, "arch")), None) if db else None
        facts["unchecked_commits"] = (
            commits_without_check(ws, db) if db and drift and facts["manifest"] else []
        )
        facts["stale_claims"] = (
            [{"id": one.id, "reason": one.reasons[-1]} for one in _stale_claims(ws, db)]
            if db
            else []
        )
    facts["drift"] = drift.receipt.result.get("verdict") if drift else None
    if is_outdated(ws):
        # only where something is new: the modules that mine and review add 60 ms
        # (kinds/memory/status.py)
        from kl_hooks.kinds.memory.add import update_memories

        update_memories(ws)
    facts["memories"] = _memory_counts(ws)
    facts["records"] = records_by_status(ws) if ws.initialized else {}
    facts["waiting"] = waiting_for_a_person(ws, facts["records"])
    warn_of_index_problems()
    warn_of_unreadable_records(ws)
    if shape == "json":
        echo_json(facts)
        return
    asks = waiting_lines(
        ws, {kind: number for kind, number in facts["waiting"].items() if kind != "memory"}
    )
    tests = [
        *_proof_lines(facts, found, here),
        *([f"  {edits}"] if edits else []),
        *([f"  {near}"] if near else []),
        *(f"hint: {one}" for one in EvidenceState.of(seen).hints()),
    ]
    echo_lines(_lines(facts, newest, drift, tests, asks))


def _stale_claims(ws: Workspace, db: Database) -> list[Claim]:
    """Return the asserted claims that are stale, oldest first."""
    live = [one for one in known_assertions(ws, db) if one.freshness != "expired"]
    return [one for one in assess(ws, live) if one.freshness in DOUBTFUL]


def _memory_counts(ws: Workspace) -> dict[str, int]:
    """Return `{"approved": 3, "candidates": 2}`; empty where kl was not set up.

    Approved memories are counted by their files, unread: a status must not cost more than it shows.
    """
    if not ws.initialized:
        return {}
    files = authored_files(ws.root, {MEMORY.name: MEMORY}, 0)
    approved = sum("/archive/" not in path for path in files)
    return {"approved": approved, "candidates": count_records(ws, MEMORY.name, "candidate")}


def _counts(db: Database) -> dict[str, int]:
    by_source = db.rows("SELECT source, COUNT(*) FROM receipt GROUP BY source")
    row = db.row("SELECT (SELECT COUNT(*) FROM commit_log), (SELECT COUNT(*) FROM claim)")
    assert row is not None  # a SELECT without FROM gives one row
    totals = dict(zip(_COUNTED, (row[0], count_tests(db), row[1]), strict=True))
    return {f"receipts {source}": n for source, n in by_source} | totals


def _lines(
    facts: dict[str, Any],
    newest: list[Entry],
    drift: Entry | None,
    tests: list[str],
    asks: Iterable[str],
) -> Iterator[str]:
    changed = f" + {facts['changed']} uncommitted" if facts["changed"] else ""
    at = (
        short(facts["head"], 7)
        if facts["head"]
        else "no commit yet"
        if facts["tree"]
        else "no repository"
    )
    yield f"{facts['root']}   {facts['branch'] or 'no branch'} {at}{changed}"
    yield f"  tree      {short(facts['tree'])}"
    yield from (f"  {'tests' if n == 0 else '':<9} {one}" for n, one in enumerate(tests))
    yield from _failing_lines(facts["failing"])
    if wrong := facts["wrong"]:
        yield f"  audit     {counted(wrong, 'valid result')} wrong: kl proof audit"
    yield f"  layers    {_layers_line(facts, drift)}"
    if unchecked := facts["unchecked_commits"]:
        names = name_list([short(sha, 7) for sha in unchecked], _REASONS)
        yield (
            f"              no check record, made without the hook: {names}. hint: kl arch check"
            f" --at {names[:7]}"
        )
    yield f"  evidence  {_store_line(facts['counts']) or 'none yet'}"
    if stale := facts["stale_claims"]:
        total = counted(facts["counts"]["asserted claims"], "asserted claim")
        yield f"  claims    {len(stale)} of {total} stale: kl claim list --stale"
    if any(facts["memories"].values()):
        yield "  memories  {approved} approved, {candidates} waiting for kl memory review".format(
            **facts["memories"]
        )
    if known := _records_line(facts["records"]):
        yield f"  records   {known}"
    yield from (f"  waiting   {text}" for text in asks)
    yield f"  store     {facts['shared'] or facts['state']}"
    if newest:
        yield "  newest receipts"
        yield from (f"    {receipt_line(entry)}" for entry in newest)


def _store_line(counts: dict[str, int]) -> str:
    sources = {
        key.removeprefix("receipts "): n for key, n in counts.items() if key.startswith("receipts ")
    }
    total = counted(sum(sources.values()), "receipt")
    words = (
        [f"{total} ({', '.join(f'{source}: {n}' for source, n in sources.items())})"]
        if sources
        else []
    )
    return ", ".join(
        words + [counted(n, key[:-1]) for key, n in counts.items() if n and key in _COUNTED]
    )


def _records_line(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Those that are not archived, but memories, which have a line of their own."""
    words = []
    for kind, some in counts.items():
        number, stale = sum(some.values()) - some.get("archived", 0), some.get("stale", 0)
        if number and kind != "memory":
            words.append(counted(number, kind) + (f" ({stale} stale)" if stale else ""))
    return ", ".join(words)


def _proof_lines(facts: dict[str, Any], found: Proof, entries: list[Entry]) -> Iterator[str]:
    """What the tests prove, then up to three reasons, and how many more."""
    plain, failed = facts["proof"], failure_text(found, entries)
    reasons = plain["reasons"]
    if not plain["assessed"]:
        reasons = [one.removeprefix("not assessed: ") for one in reasons]
        yield "not assessed:"
    elif found.transfers:
        yield f"transferred ({found.tier.word}) {found.transfer_text}{found.except_flaky}"
    elif found.tier >= Tier.INFERRED:
        passed = passed_text(found, plain["untracked"])
        yield f"{found.tier.word}: {passed}{found.but_for_known}{found.except_flaky}"
    elif failed or (failed := rerun_text(found)):
        yield f"not proven: {failed}"
    elif found.tests.is_partial:
        yield "not proven: a part of the tests has a valid result"
    else:
        yield "no passing full test run recorded for this content. hint: run pytest"
    if found.tests.is_partial and not found.gaps:
        yield f"  {found.tests}"
    yield from (f"  {reason}" for reason in reasons[:_REASONS])
    if len(reasons) > _REASONS:
        yield f"  … and {len(reasons) - _REASONS} more: kl verify"


def _manifest_has_mistakes(ws: Workspace) -> bool:
    """True for a manifest that `kl arch check` would refuse. One that was read before is not read
    as YAML again.
    """
    from kl_hooks.arch.manifest import load_manifest
    from kl_hooks.store.files import read_small

    try:
        text = read_small(ws.root / MANIFEST, within=ws.root)
        if text is not None:
            load_manifest(ws.state.cache, MANIFEST, text)
    except KlError:
        return True
    return False


def _failing_lines(failing: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """The tests that fail on this content; those that failed before what they rest on changed."""
    current = [test["test"] for test in failing if test["state"] == VALID]
    tests = [name for name in current if "::" in name]
    files = [name for name in current if "::" not in name]
    outdated = [test for test in failing if test["state"] != VALID]
    if tests:
        yield f"  failing   {counted(len(tests), 'test')}: {name_list(tests, _REASONS)}"
    if files:
        number = f"{counted(len(files), 'file')} can't be collected"
        yield f"  failing   {number}: {name_list(files, _REASONS)}"
    if outdated:
        words = [f"{test['test']} ({test['reason']})" for test in outdated]
        yield f"  failed    {counted(len(outdated), 'test')} must run again: {name_list(words, _REASONS)}"


def _layers_line(facts: dict[str, Any], drift: Entry | None) -> str:
    """The line. `drift`: the last check of a whole content."""
    if not facts["manifest"]:
        return f"no {MANIFEST}: nothing is enforced. Propose one with: kl init"
    if facts["manifest_mistakes"]:
        return f"{MANIFEST} has mistakes. See: kl arch check"
    if drift is None:
        return "not checked yet. Run: kl arch check"
    found = "clean" if facts["drift"] == "passed" else "violations"
    same = (
        "this tree"
        if drift.receipt.tree == facts["tree"]
        else f"tree {short(drift.receipt.tree, 7)}"
    )
    checked = f"{found} at the last check ({same}, {drift.receipt.ended[:16].replace('T', ' ')})"
    outside = next(
        (one.detail.get("unassigned", 0) for one in drift.receipt.evidence if one.detail), 0
    )
    return checked + (
        f"; {counted(outside, 'file')} in no layer" if isinstance(outside, int) and outside else ""
    )
