"""`kl verify`: the gate before a push."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from kl_hooks.cli.evidence import all_evidence, failure_text, hints, proven_content
from kl_hooks.cli.options import format_option
from kl_hooks.cli.output import echo, echo_json, echo_lines, short, workspace
from kl_hooks.errors import CLEAN, ENVIRONMENT_ERROR, FINDINGS, EnvironmentProblem, UsageProblem
from kl_hooks.evidence.ingestion import Snapshot
from kl_hooks.evidence.ledger import Entry
from kl_hooks.git.repository import Repository, resolve_commit
from kl_hooks.model.claim import Tier
from kl_hooks.model.text import name_list
from kl_hooks.proof.gate import NOTHING_TRACKED, Proof, had_untracked_files
from kl_hooks.workspace import Workspace, require_setup

if TYPE_CHECKING:
    from kl_hooks.kinds.gate import Demand
    from kl_hooks.model.record import Record
    from kl_hooks.proof.gate import Nearest

_NEEDED: Final = {Tier.INFERRED: "one complete passing run", Tier.VERIFIED: "two independent observations"}
"""What `--require` asks for, in words."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """The verdict of the gate on a content."""

    tree: str
    proof: Proof
    seen: Snapshot
    entries: list[Entry]
    required: Tier
    nearest: Nearest | None

    @property
    def proven(self) -> bool:
        return self.proof.tier >= self.required

    @property
    def untracked(self) -> bool:
        return had_untracked_files(self.entries, self.proof.run, self.tree)

    @property
    def exit_code(self) -> int:
        """3 where something could not be read: the environment must be fixed first."""
        return ENVIRONMENT_ERROR if self.seen.unread else CLEAN if self.proven else FINDINGS

    def to_dict(self) -> dict[str, Any]:
        """`kl.verify/1`."""
        found = self.proof
        return {
            "schema": "kl.verify/1", "tree": self.tree, "tier": found.tier.word, "required": self.required.word,
            "proven": self.proven, "run": found.run, "untracked": self.untracked,
            "runs": list(found.runs), "reasons": [] if self.proven else list(found.reasons), "notes": list(found.notes),
            "missing": [one._asdict() for one in found.missing], "not_assessed": list(found.not_assessed),
            "assessed": not self.seen.gaps, **self.seen.to_dict(),
            "nearest": self.nearest.to_dict() if self.nearest else None,
        }  # fmt: skip


@click.command(epilog="Example: kl verify --require verified")
@click.option("--at", "rev", help="A commit instead of the files as they are now. Default at pre-push: what is pushed.")
@click.option(
    "--require",
    type=click.Choice([Tier.INFERRED.word, Tier.VERIFIED.word]),
    default=Tier.INFERRED.word,
    show_default=True,
    help="The tier. inferred: one complete, passing run; verified: two independent ones.",
)
@click.option(
    "--trust-ref",
    metavar="REF",
    help="Read verify.exclude from this commit (such as origin/main), not from the content that is judged.",
)
@click.option("--task", metavar="ID", help="Apply the gate that fits this task, by its type and complexity.")
@click.option("--type", "task_type", help="Apply the gate for this type of work: feature, docs …")
@click.option("--complexity", type=click.IntRange(1, 10), help="From 1 to 10, with --type. Default: 5.")
@format_option()
def verify(
    rev: str | None, require: str, trust_ref: str | None, task: str | None, task_type: str | None,
    complexity: int | None, shape: str,
) -> int:  # fmt: skip
    """Check for a complete, passing test run of exactly this content.

    With --task or --type the gate for that work is applied: what it demands and evidence can show decides, the rest is
    listed as not checked. Without them no gate is.

    Exit 0: proven. 1: not proven, or the store has lost receipts (see: kl evidence accept). 3: not assessed, because
    captured runs or the store can't be read, or because kl is not set up here (see: kl init).
    """
    ws = workspace()
    if ws.repo is None:
        hint = "Evidence is checked against a git tree: run it inside a repository, or give --root."
        raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint=hint)
    require_setup(ws)  # exit 3, not 0: a gate that was never set up has proven nothing
    gate = _gate_of(ws, task, task_type, complexity)
    # pre-commit sets it at pre-push: the commit that is pushed, which need not be checked out
    answer = _answer(ws, rev or os.environ.get("PRE_COMMIT_TO_REF"), Tier[require.upper()], trust_ref)
    asked = _check_demands(gate, answer.proven, answer.entries) if gate else []
    if shape == "json":
        echo_json(answer.to_dict() | ({"gate": _gate_to_dict(gate, asked)} if gate else {}))
    echo_lines(_lines(answer) if shape == "text" else ())
    if gate is None:
        return answer.exit_code
    if shape == "text":
        _print_gate(gate, asked)
    if answer.seen.unread:
        return ENVIRONMENT_ERROR
    return FINDINGS if answer.seen.lost or any(one.met is False for one in asked) else CLEAN


def _answer(ws: Workspace, rev: str | None, required: Tier, trust_ref: str | None) -> _Answer:
    from kl_hooks.proof.gate import judge, nearest

    assert ws.repo is not None
    trees = _trees_at(ws, rev)
    trusted = resolve_commit(ws.repo, trust_ref) if trust_ref else ""
    base = _known_commit(ws.repo, ws.environ.get("PRE_COMMIT_FROM_REF", "")) if rev else ""
    with all_evidence(ws) as seen:
        entries, found = judge(ws, seen, trees, rev is not None, rev=rev or "", trust_ref=trusted, base=base)
        near = nearest(ws, seen, trees, trees[0] if rev else None) if found.tier is Tier.GUESSED else None
    return _Answer(trees[0], found, seen, entries, required, near)


def _trees_at(ws: Workspace, rev: str | None) -> tuple[str, ...]:
    """The tree ids that evidence may carry: of a commit, or of the content now.

    UsageProblem for a commit that is none, EnvironmentProblem for a content that can't be determined.
    """
    from kl_hooks.evidence.provenance import worktree_state
    from kl_hooks.git.worktree import tree_of_revision

    if rev is None or ws.repo is None:
        trees = worktree_state(ws.repo).trees
    else:
        trees = tuple(tree for tree in [tree_of_revision(ws.repo, rev)] if tree)
    if not trees and rev is not None:
        raise UsageProblem(f"{rev!r} is not a revision of this repository.", hint="See: git log --oneline")
    if not trees:
        what = "the tree of this content can't be determined (no git?)."
        raise EnvironmentProblem(what, place=str(ws.root), hint="See: kl doctor")
    return trees


def _known_commit(repo: Repository, rev: str) -> str:
    """The commit that a revision means; empty where there is none, as for the first push of a branch."""
    try:
        return resolve_commit(repo, rev)
    except UsageProblem:
        return ""


def _lines(answer: _Answer) -> Iterator[str]:
    tree = f"tree {short(answer.tree)}"
    if answer.seen.gaps:
        yield from (f"{tree}: not assessed: {one}" for one in answer.seen.gaps)
        yield from (f"hint: {one}" for one in hints(answer.seen))
    elif answer.proven:
        yield f"{tree}: proven ({answer.proof.tier.word})"
        yield from _passed_lines(answer)
    elif answer.proof.tier >= Tier.INFERRED:
        yield f"{tree}: not proven: {answer.proof.tier.word} ({_NEEDED[answer.required]} required)"
        yield from (f"  {reason}" for reason in answer.proof.reasons)
        yield from _notes(answer.proof)
        yield "hint: the tests passed in one way; run them under another interpreter, or in another way: pytest -n 2"
    else:
        yield from _not_proven_lines(answer, tree)


def _notes(found: Proof) -> Iterator[str]:
    """What is worth knowing beside the reasons."""
    yield from (f"  note: {one}" for one in found.notes)
    if found.not_assessed:
        yield f"  note: not assessed: {name_list(found.not_assessed, 3)}"


def _passed_lines(answer: _Answer) -> Iterator[str]:
    found = answer.proof
    run = short(found.run, 8)
    yield from _notes(found)
    which = (
        f"runs {name_list([one[:8] for one in found.runs], 3)} passed together"
        if found.together
        else f"run {run} passed"
    )
    yield f"  {which} on {proven_content(answer.untracked)}: kl evidence show {run}"
    if answer.untracked:
        yield "  These files are not committed. hint: if the tests need them, git add them, then run pytest"


def _not_proven_lines(answer: _Answer, tree: str) -> Iterator[str]:
    why = failure_text(answer.proof, answer.entries) or f"no evidence ({_NEEDED[answer.required]} required)"
    yield f"{tree}: not proven: {why}"
    yield from (f"  {reason}" for reason in answer.proof.reasons if reason not in answer.proof.notes)
    yield from _notes(answer.proof)
    if answer.nearest:
        yield f"  {answer.nearest}"
    if NOTHING_TRACKED in answer.proof.reasons:
        yield "hint: git add your files, then run pytest"
    elif answer.proof.failed:
        yield "hint: fix the failing tests, then run pytest"
    elif answer.proof.missing:
        yield "hint: run the missing tests; files that are no tests belong in verify.exclude in .kl/config.yaml"
    else:
        yield "  no passing full test run recorded for this content. hint: run pytest"


def _gate_of(ws: Workspace, task: str | None, task_type: str | None, complexity: int | None) -> Record | None:
    """The gate for a task, or for a type of work and a complexity: the narrowest one; None where nothing was asked.

    UsageProblem for a task without a type, and where no gate covers the complexity.
    """
    if task:
        from kl_hooks.records.query import get_record

        record = get_record(ws, task, "task")
        task_type = task_type or record.text("task_type")
        complexity = complexity or record.number("complexity") or None
        if not task_type:
            hint = f"kl task edit {record.id} --task-type feature --complexity 5"
            raise UsageProblem("has no type of work, so no gate fits it.", place=record.id, hint=hint)
    if not task_type:
        if complexity:
            raise UsageProblem("--complexity needs --type or --task.", place="--complexity", hint="Add --type feature")
        return None
    from kl_hooks.kinds.gate import fitting_gates

    found = fitting_gates(ws, task_type, complexity or 5)
    if not found:
        raise UsageProblem(f"no gate covers complexity {complexity or 5}.", place=task_type, hint="See: kl gate list")
    return found[0]


def _check_demands(gate: Record, tests_pass: bool, entries: Sequence[Entry]) -> list[Demand]:
    """What the gate asks for, checked against the receipts of a content (newest first)."""
    from kl_hooks.kinds.gate import Gate

    commands: dict[str, bool] = {}
    for entry in entries:
        # a content that changed under way, or a receipt of another store, is no evidence here (ADR-0003, ADR-0006)
        if entry.receipt.source != "command" or entry.receipt.moved or entry.origin.startswith("imported"):
            continue
        for one in entry.receipt.evidence:
            if one.kind == "ExitCode":
                # the newest comes first, and decides
                commands.setdefault(one.subject.removeprefix("command:"), one.outcome == "passed")
    return Gate(gate).check(tests_pass, commands)


def _gate_to_dict(gate: Record, found: Sequence[Demand]) -> dict[str, Any]:
    """The gate in `kl verify --format json`."""
    rows = [{"demand": one.name, "met": one.met, "reason": one.reason} for one in found]
    unchecked = [one.name for one in found if one.met is None]
    return {"id": gate.id, "title": gate.title, "demands": rows, "not_checked": unchecked}


def _print_gate(gate: Record, found: Sequence[Demand]) -> None:
    """The gate, and what became of each of its demands."""
    from kl_hooks.kinds.gate import Gate

    echo(Gate(gate).line())
    for one in found:
        echo(f"  {'not checked' if one.met is None else 'met' if one.met else 'NOT met':<12} {one.reason}")
