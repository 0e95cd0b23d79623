"""`kl verify`: the gate before a push."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from kl_hooks.cli.evidence import (
    all_evidence,
    failure_text,
    hints,
    passed_text,
    rerun_text,
)
from kl_hooks.cli.output import (
    counted,
    echo,
    echo_json,
    echo_lines,
    format_option,
    short,
    warn,
    workspace,
    write,
)
from kl_hooks.clock import iso
from kl_hooks.errors import CLEAN, ENVIRONMENT_ERROR, FINDINGS, EnvironmentProblem, UsageProblem
from kl_hooks.evidence.ledger import Entry
from kl_hooks.evidence.snapshot import Snapshot
from kl_hooks.evidence.trust import ATTESTED
from kl_hooks.git.repository import Repository, completing_fetch, resolve_commit
from kl_hooks.model.claim import Tier
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import name_list, one_line
from kl_hooks.proof.content_proof import Proof
from kl_hooks.proof.content_runs import had_untracked_files
from kl_hooks.proof.gate import NOTHING_TRACKED
from kl_hooks.proof.impact import Content
from kl_hooks.proof.other_runs import pytest_command
from kl_hooks.workspace import Workspace, require_setup

if TYPE_CHECKING:
    from kl_hooks.config.settings import VerifyPolicy
    from kl_hooks.kinds.gate import Demand
    from kl_hooks.model.record import Record
    from kl_hooks.proof.impact import SymbolState
    from kl_hooks.proof.nearest import Nearest

_NAMED: Final = 3
_NEEDED: Final = {
    Tier.INFERRED: "one complete passing run",
    Tier.VERIFIED: "two independent observations",
}
"""What `--require` asks for, in words."""
_ANOTHER_WAY: Final = (
    "hint: the tests passed in one way; run them under another interpreter, or in another way:"
    " pytest -n 2"
)
_BY_CI: Final = "one complete passing run of this content signed by a CI"
"""The same of `--require verified --from ci`."""
_PROVEN: Final = "proven"
_RAN: Final = "ran"
"""Of `--require`: this content itself ran."""
_PROPOSED_DAYS: Final = 30
_SHOWN: Final = 20
"""Most symbols that are listed as text."""


@dataclass(frozen=True, slots=True)
class _Demanded:
    """What is asked of the changed symbols below some paths."""

    paths: tuple[str, ...]
    require: str
    origin: str
    states: tuple[SymbolState, ...]
    decides: bool = True
    """Whether it is demanded, and not only shown."""

    @property
    def open(self) -> tuple[SymbolState, ...]:
        """Those that are not proven."""
        return tuple(one for one in self.states if one.state != _PROVEN)


@dataclass(frozen=True, slots=True)
class _Answer:
    """The verdict of the gate on a content."""

    tree: str
    proof: Proof
    seen: Snapshot
    entries: list[Entry]
    required: str
    nearest: Nearest | None
    demanded: tuple[_Demanded, ...] = ()
    """Asked for by `--require proven`, `--changed`, `--staged` or `--paths`, and by the
    repository's settings.
    """
    origin: str = ""
    """`ci`, or empty for any."""
    fetch: str = ""
    """What fetches contents that runs could not be compared with; empty where nothing would."""

    @property
    def needed(self) -> str:
        """What a content needs for the tier, in words."""
        return _BY_CI if self.origin and self.tier is Tier.VERIFIED else _NEEDED[self.tier]

    @property
    def tier(self) -> Tier:
        """The tier that the content must have as a whole."""
        return _tier_of(self.required)

    @property
    def state(self) -> str:
        """`proven`, `transferred`, `not proven`, `not assessed`."""
        if self.proof.gaps:
            return "not assessed"
        if not self.accepted:
            return "not proven"
        # by changed symbols alone: each was executed by a test with a valid result
        return _PROVEN if self.proof.tier < Tier.INFERRED else self.proof.state

    @property
    def accepted(self) -> bool:
        """Whether the content is proven or transferred, as it was asked for: exit 0."""
        if self.proof.gaps or self.proof.failed:
            return False
        # without a changed symbol there is nothing that a test of one could show
        whole = self.proof.tier >= self.tier or (self.required == _PROVEN and bool(self.states))
        return whole and all(_is_met(one, self.proof) for one in self.demanded if one.decides)

    @property
    def states(self) -> list[SymbolState]:
        """The changed symbols that were asked about, each once."""
        found = {one.symbol: one for demand in self.demanded for one in demand.states}
        # what a stricter demand leaves open is shown
        found |= {one.symbol: one for demand in self.demanded for one in demand.open}
        return sorted(found.values(), key=lambda one: (one.path, one.line, one.symbol))

    @property
    def untracked(self) -> bool:
        return had_untracked_files(self.entries, self.proof.cited_runs, self.tree)

    @property
    def command(self) -> str:
        """The one pytest command that would prove the rest; empty: none does."""
        if self.accepted or self.proof.failed or self.proof.gaps:
            return ""
        tests = [test for one in self.states if one.state != _PROVEN for test in one.tests]
        return pytest_command(tests) if self.required == _PROVEN and tests else self.proof.command

    @property
    def exit_code(self) -> int:
        """3 where something could not be read: the environment must be fixed first."""
        return ENVIRONMENT_ERROR if self.seen.unread else CLEAN if self.accepted else FINDINGS

    def to_dict(self) -> dict[str, Any]:
        """`kl.verify/5`."""
        found = self.proof
        return {
            "schema": "kl.verify/5",
            "tree": self.tree,
            "tier": found.tier.word,
            "required": self.required,
            "state": self.state,
            "accepted": self.accepted,
            "proven": self.state == _PROVEN,
            "run": found.run,
            "untracked": self.untracked,
            "runs": list(found.runs),
            "reasons": [] if self.accepted else list(found.reasons),
            "notes": list(found.notes),
            "missing": [one._asdict() for one in found.missing],
            "not_assessed": list(found.not_assessed),
            "transferred": [one.to_dict() for one in found.transfers],
            "ran": found.ran,
            "tests": found.tests.to_dict(),
            "failing": [failure.test for failure in found.failing],
            "known_failures": [failure._asdict() for failure in found.known_failures],
            "not_compared": list(found.not_compared),
            "command": self.command,
            "flaky": list(found.flaky),
            "symbols": [one.to_dict() for one in self.states],
            "assessed": not self.proof.gaps,
            **self.seen.to_dict(),
            "nearest": self.nearest.to_dict() if self.nearest else None,
        }


def _tier_of(required: str) -> Tier:
    return Tier.INFERRED if required in (_PROVEN, _RAN) else Tier[required.upper()]


def _is_met(demand: _Demanded, found: Proof) -> bool:
    if demand.require == _PROVEN or demand.origin != "any":
        return not demand.open
    ran = demand.require != _RAN or found.state == _PROVEN
    return not demand.states or (ran and found.tier >= _tier_of(demand.require))


@click.command(epilog="Example: kl verify --require verified")
@click.option(
    "--at",
    "--tree",
    "rev",
    metavar="REV",
    help=(
        "A commit or tree instead of the files as they are now. Default at pre-push: what is"
        " pushed."
    ),
)
@click.option(
    "--staged", is_flag=True, help="What is staged, and each symbol that differs from HEAD."
)
@click.option(
    "--changed",
    metavar="A...B",
    default="",
    help="Each symbol that differs between two commits; B is judged.",
)
@click.option(
    "--paths",
    multiple=True,
    metavar="PATH",
    help="Only changed symbols in this file or folder; repeatable.",
)
@click.option(
    "--require",
    type=click.Choice([_RAN, _PROVEN, Tier.INFERRED.word, Tier.VERIFIED.word]),
    default=Tier.INFERRED.word,
    show_default=True,
    help=(
        "inferred: one complete, passing run of the content, or results of other contents that are"
        " valid for it; ran: a run of this very content; verified: two independent observations;"
        " proven: of each changed symbol a test that executed it and passed."
    ),
)
@click.option(
    "--from",
    "origin",
    type=click.Choice(["any", "ci"]),
    default="any",
    show_default=True,
    help="ci: only runs that a trusted key of a CI signed (see: kl trust); one is enough.",
)
@click.option(
    "--trust-ref",
    metavar="REF",
    help=(
        "Read verify of .kl/config.yaml, and the keys of .kl/trust, from this commit (such as"
        " origin/main), not from the content that is judged."
    ),
)
@click.option(
    "--advise",
    is_flag=True,
    help="Print the verdict, and exit 0 unless verify.mode in the settings is block.",
)
@click.option(
    "--task", metavar="ID", help="Apply the gate that fits this task, by its type and complexity."
)
@click.option("--type", "task_type", help="Apply the gate for this type of work: feature, docs …")
@click.option(
    "--complexity", type=click.IntRange(1, 10), help="From 1 to 10, with --type. Default: 5."
)
@click.option(
    "--strict",
    is_flag=True,
    help="With --task or --type: exit 1 also where a demand of the gate can't be checked.",
)
@click.option(
    "--propose-known-failures",
    is_flag=True,
    help=(
        "Print the entries of verify.known_failures for the tests that fail now, with an end in 30"
        " days, and exit 0."
    ),
)
@format_option("github", "gitlab", "sarif")
def verify(
    rev: str | None,
    staged: bool,
    changed: str,
    paths: tuple[str, ...],
    require: str,
    origin: str,
    trust_ref: str | None,
    advise: bool,
    task: str | None,
    task_type: str | None,
    complexity: int | None,
    strict: bool,
    propose_known_failures: bool,
    shape: str,
) -> int:
    """Check for a complete, passing test run of exactly this content.

    Proven: this content ran. Transferred: it did not, or not all of it; results of other contents
    count where their tests executed nothing that differs, in the same environment (--require ran
    asks for a run). What can't be compared never counts; the tests that must run are named with
    the command that runs them.

    With --task or --type the gate for that work is applied: tests, linters that kl run recorded,
    and the total that pytest-cov reported. What is not recorded is listed as not checked: exit 0,
    with --strict 1. Without them no gate is.

    Exit 0: proven or transferred. 1: not proven, or the store has lost receipts (see: kl evidence accept). 3: not
    assessed, because captured runs or the store can't be read, or because kl is not set up here
    (see: kl init).
    """
    ws = workspace()
    if ws.repo is None:
        hint = "Evidence is checked against a git tree: run it inside a repository, or give --root."
        raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint=hint)
    require_setup(ws)  # exit 3, not 0: a gate that was never set up has proven nothing
    if sum([bool(rev), staged, bool(changed)]) > 1:
        raise UsageProblem(
            "--at, --staged and --changed name different contents.",
            place="kl verify",
            hint="Give one.",
        )
    gate = _gate_of(ws, task, task_type, complexity)
    if strict and gate is None:
        raise UsageProblem(
            "--strict needs --type or --task.", place="--strict", hint="Add --type feature"
        )
    # pre-commit sets it at pre-push: the commit that is pushed, which need not be checked out
    pushed = None if staged or changed else os.environ.get("PRE_COMMIT_TO_REF")
    asked_for = _Question(
        rev or pushed, staged, changed, paths, require, trust_ref, "" if origin == "any" else origin
    )
    answer = _answer(ws, asked_for)
    if propose_known_failures:
        echo_lines(_proposed_known_failures(ws, answer))
        return CLEAN
    demands = _check_demands(gate, answer.accepted, answer.entries) if gate else []
    if shape == "json":
        echo_json(answer.to_dict() | ({"gate": _gate_to_dict(gate, demands)} if gate else {}))
    elif shape != "text":
        from kl_hooks.proof.formats import render

        write(
            render(shape, answer.tree, answer.accepted, answer.states, answer.proof, answer.command)
        )
    echo_lines(_lines(answer) if shape == "text" else ())
    code = answer.exit_code
    if gate is not None:
        if shape == "text":
            _print_gate(gate, demands)
        unmet = [demand for demand in demands if demand.met is False]
        unchecked = [demand.name for demand in demands if demand.met is None]
        failed = answer.proof.gaps or unmet or (strict and unchecked)
        code = ENVIRONMENT_ERROR if answer.seen.unread else FINDINGS if failed else CLEAN
        if unchecked:
            number = counted(len(unchecked), "demand")
            hint = "" if strict else " With --strict that is exit 1."
            warn(f"{gate.id}: {number} not checked: {name_list(unchecked, len(unchecked))}.{hint}")
    return _by_mode(ws, code, advise, trust_ref, shape)


def _proposed_known_failures(ws: Workspace, answer: _Answer) -> Iterator[str]:
    """Entries for the settings, of the tests that fail and are not known yet."""
    if not answer.proof.failing:
        yield "# nothing to propose: no test fails that is not a known failure"
        return
    until = iso(ws.clock.now() + _PROPOSED_DAYS * 86_400_000_000)[:10]
    messages = {
        (split_id(result.subject)[1], entry.receipt.run): result.detail.get("message")
        for entry in answer.entries
        for result in entry.receipt.evidence
    }
    yield "# for .kl/config.yaml; write why each may fail for now"
    yield "verify:"
    yield "  known_failures:"
    for failure in answer.proof.failing:
        reason = str(messages.get((failure.test, failure.run)) or "failed")
        # a JSON string is a double-quoted scalar of YAML 1.2
        yield f"    - test: {json.dumps(failure.test)}"
        yield f"      reason: {json.dumps(one_line(reason, 120))}"
        yield f"      until: {until}"


def _by_mode(ws: Workspace, code: int, advise: bool, trust_ref: str | None, shape: str) -> int:
    """The exit code by `verify: mode:`: what only advises does not block, but for what can't be
    read.
    """
    mode = _policy(ws, trust_ref).mode
    # exit 3 stays: a store that can't be read is no verdict that could be advice
    if code != FINDINGS or mode == "block" or not (advise or mode == "advise"):
        return code
    if shape == "text":
        echo(
            "  advice only: nothing is blocked (verify: mode: block in .kl/config.yaml makes it a"
            " gate)"
        )
    return CLEAN


def _policy(ws: Workspace, trust_ref: str | None) -> VerifyPolicy:
    """`verify:` of the settings, of the trusted commit where one is given."""
    if not trust_ref or ws.repo is None:
        return ws.settings.verify
    from kl_hooks.config.settings import SETTINGS_FILE, verify_policy
    from kl_hooks.proof.content_source import content_source

    commit = resolve_commit(ws.repo, trust_ref)
    return verify_policy(
        f"{trust_ref}:{SETTINGS_FILE}", content_source(ws.repo, commit).text(SETTINGS_FILE)
    )


class _Question(NamedTuple):
    """What was asked for on the command line."""

    rev: str | None
    staged: bool
    changed: str
    paths: tuple[str, ...]
    require: str
    trust_ref: str | None
    origin: str
    """`ci`, or empty for any."""

    @property
    def by_symbol(self) -> bool:
        """Whether changed symbols are asked about."""
        return bool(self.changed or self.staged or self.paths or self.require == _PROVEN)


def _answer(ws: Workspace, asked: _Question) -> _Answer:
    from kl_hooks.proof.gate import judge
    from kl_hooks.proof.impact import content_of
    from kl_hooks.proof.nearest import nearest

    assert ws.repo is not None
    trusted = resolve_commit(ws.repo, asked.trust_ref) if asked.trust_ref else ""
    pushed_from = (
        _known_commit(ws.repo, ws.environ.get("PRE_COMMIT_FROM_REF", "")) if asked.rev else ""
    )
    if asked.staged or asked.changed:
        content = content_of(ws, staged=asked.staged, changed=asked.changed)
        trees, committed = content.trees, content.other is not None
    else:
        trees, committed = _trees_at(ws, asked.rev), asked.rev is not None
        content = Content(
            trees,
            trees[0] if committed else None,
            pushed_from or (f"{asked.rev}^" if asked.rev else "HEAD"),
        )
    base = content.before if asked.changed else pushed_from
    with all_evidence(ws, trust_ref=trusted) as seen:
        entries, found = judge(
            ws,
            seen,
            trees,
            committed,
            rev=asked.rev or "",
            trust_ref=trusted,
            base=base,
            staged=asked.staged,
            origin=asked.origin,
            transfer=asked.require != _RAN,
        )
        at = content.other if committed and not asked.staged else None
        near = (
            nearest(ws, seen, trees, at)
            if found.tier is Tier.GUESSED and not asked.staged
            else None
        )
        demanded = tuple(_demands(ws, asked, content, seen)) if not found.gaps else ()
        unknown = found.tier is Tier.GUESSED and bool(found.not_compared)
    fetch = completing_fetch(ws.repo) if unknown else ""
    return _Answer(
        trees[0], found, seen, entries, asked.require, near, demanded, asked.origin, fetch
    )


def _demands(
    ws: Workspace, asked: _Question, content: Content, seen: Snapshot
) -> Iterator[_Demanded]:
    """What the command line and the settings ask of changed symbols, with their states."""
    from kl_hooks.proof.impact import symbol_states, unmatched_paths

    if asked.by_symbol:
        for path in unmatched_paths(ws, content, asked.paths):
            raise UsageProblem(
                "no file has this path.", place=f"--paths {path}", hint="Paths start at the root."
            )
        # where a tier is asked for, it is that of the whole content, and the symbols are shown
        found = tuple(symbol_states(ws, seen, content, asked.paths, asked.origin))
        yield _Demanded(asked.paths, _PROVEN, "any", found, asked.require == _PROVEN)
    for one in _policy(ws, asked.trust_ref).paths:
        states = symbol_states(ws, seen, content, (one.folder,), "ci" if one.origin == "ci" else "")
        yield _Demanded((one.folder,), one.require, one.origin, tuple(states))


def _trees_at(ws: Workspace, rev: str | None) -> tuple[str, ...]:
    """The tree ids that evidence may carry: of a commit, or of the content now.

    UsageProblem for a commit that is none, EnvironmentProblem for a content that can't be
    determined.
    """
    from kl_hooks.evidence.provenance import worktree_state
    from kl_hooks.git.worktree import tree_of_revision

    if rev is None or ws.repo is None:
        trees = worktree_state(ws.repo).trees
    else:
        trees = tuple(tree for tree in [tree_of_revision(ws.repo, rev)] if tree)
    if not trees and rev is not None:
        raise UsageProblem(
            f"{rev!r} is not a revision of this repository.", hint="See: git log --oneline"
        )
    if not trees:
        what = "the tree of this content can't be determined (no git?)."
        raise EnvironmentProblem(what, place=str(ws.root), hint="See: kl doctor")
    return trees


def _known_commit(repo: Repository, rev: str) -> str:
    """The commit that a revision means; empty where there is none, as for the first push of a
    branch.
    """
    try:
        return resolve_commit(repo, rev)
    except UsageProblem:
        return ""


def _lines(answer: _Answer) -> Iterator[str]:
    tree = f"tree {short(answer.tree)}"
    if answer.proof.gaps:
        yield from (f"{tree}: not assessed: {one}" for one in answer.proof.gaps)
        yield from (f"hint: {one}" for one in hints(answer.seen))
    elif answer.accepted:
        whole = answer.proof.tier >= Tier.INFERRED
        word = answer.proof.tier.word + _by_whom(answer) if whole else "each changed symbol"
        if answer.state == "transferred":
            how = f"transferred ({word}) {answer.proof.transfer_text}"
        else:
            how = f"proven ({word}){answer.proof.but_for_known}"
        yield f"{tree}: {how}{answer.proof.except_flaky}"
        yield from _symbol_lines(answer)
        yield from _passed_lines(answer) if whole else ()
    elif Tier.INFERRED <= answer.proof.tier < answer.tier:
        yield f"{tree}: not proven: {answer.proof.tier.word} ({answer.needed} required)"
        yield from (f"  {reason}" for reason in answer.proof.reasons)
        yield from _notes(answer.proof)
        yield from (f"  {one}" for one in answer.proof.not_compared[:2])
        yield from () if answer.origin else (_ANOTHER_WAY,)
    elif any(one.decides for one in answer.demanded) and not answer.proof.failed:
        yield from _open_symbol_lines(answer, tree)
    else:
        yield from _not_proven_lines(answer, tree)


def _by_whom(answer: _Answer) -> str:
    """` by CI github` where a trusted key signed a run that proves the content."""
    here = (one.origin for one in answer.entries if one.receipt.run in answer.proof.runs)
    signed = {
        one
        for one in (*here, *(part.origin for part in answer.proof.transfers))
        if one.startswith(ATTESTED)
    }
    names = [
        f"{'CI ' if kind == 'ci' else ''}{name}"
        for kind, _, name in (one.partition(":") for one in sorted(signed))
    ]
    return f" by {name_list(names, _NAMED)}" if names else ""


def _symbol_lines(answer: _Answer) -> Iterator[str]:
    """The changed symbols: what is open first."""
    ranked = sorted(answer.states, key=lambda one: one.state == _PROVEN)
    yield from (
        f"  {one.state:<15} {one.symbol.partition(':')[2]}: {one.reason}" for one in ranked[:_SHOWN]
    )
    if len(ranked) > _SHOWN:
        yield f"  … and {len(ranked) - _SHOWN} more: kl verify --format json"


def _open_symbol_lines(answer: _Answer, tree: str) -> Iterator[str]:
    """Changed symbols that are not proven, and the command that proves what a run of tests can
    prove.
    """
    open_ = [one for one in answer.states if one.state != _PROVEN]
    number = (
        f"{len(open_)} of {len(answer.states)} changed symbols"
        if open_
        else "no changed symbol to prove it by"
    )
    yield (
        f"{tree}: not proven:"
        f" {number}{' are not proven' if open_ else '; ' + 'no evidence of the whole content'}"
    )
    yield from _symbol_lines(answer)
    yield from _notes(answer.proof)
    if answer.command:
        yield f"hint: {answer.command}"
    if any(one.needs_test for one in open_):
        yield "hint: a symbol that no test executes needs a test"


def _notes(found: Proof) -> Iterator[str]:
    """What is worth knowing beside the reasons."""
    yield from (f"  note: {one}" for one in found.notes)
    if 0 < len(found.not_assessed) <= _NAMED:
        yield f"  note: not assessed: {name_list(found.not_assessed, _NAMED)}"
    elif found.not_assessed:
        # nobody acts on the first three of fifty: where most of them are is what helps
        files = Counter(one.partition("::")[0].partition(" (")[0] for one in found.not_assessed)
        [(name, most)] = files.most_common(1)
        where = f"{most} in {name}" if most > 1 else f"in {counted(len(files), 'file')}"
        yield (
            f"  note: {len(found.not_assessed)} tests not assessed, {where}: kl verify --format"
            " json lists them"
        )


def _passed_lines(answer: _Answer) -> Iterator[str]:
    found = answer.proof
    run = short(found.run, 8)
    yield from _notes(found)
    if found.transfers:
        yield f"  see: kl proof tests SYMBOL, kl evidence show {run}"
        return
    yield f"  {passed_text(found, answer.untracked)}: kl evidence show {run}"
    if answer.untracked:
        yield (
            "  These files are not committed. hint: if the tests need them, git add them, then run"
            " pytest"
        )


def _not_proven_lines(answer: _Answer, tree: str) -> Iterator[str]:
    why = failure_text(answer.proof, answer.entries) or f"no evidence ({answer.needed} required)"
    if why_again := rerun_text(answer.proof):
        why = why_again
    yield f"{tree}: not proven: {why}"
    if answer.proof.tests.is_partial:
        yield f"  {answer.proof.tests}"
    yield from (
        f"  {reason}" for reason in answer.proof.reasons if reason not in answer.proof.notes
    )
    yield from _notes(answer.proof)
    if answer.nearest:
        yield f"  {answer.nearest}"
    yield from (f"  {one}" for one in answer.proof.not_compared[:2])
    if answer.fetch:
        yield (
            "hint: contents that runs are compared with may be missing in this clone:"
            f" {answer.fetch}"
        )
    if NOTHING_TRACKED in answer.proof.reasons:
        yield "hint: git add your files, then run pytest"
    elif answer.proof.failed:
        yield "hint: fix the failing tests, then run pytest"
        yield "hint: list those that may fail for now: kl verify --propose-known-failures"
    elif answer.proof.missing and answer.command != "pytest":
        limits = answer.proof.undone_addopts
        yield f"hint: {f'addopts deselect tests ({limits}): ' if limits else ''}{answer.command}"
        if not answer.proof.transfers and not rerun_text(answer.proof):
            yield "hint: files that are no tests belong in verify.exclude in .kl/config.yaml"
    elif answer.proof.missing:
        yield (
            "hint: run the missing tests; files that are no tests belong in verify.exclude in"
            " .kl/config.yaml"
        )
    else:
        yield "  no passing full test run recorded for this content. hint: run pytest"


def _gate_of(
    ws: Workspace, task: str | None, task_type: str | None, complexity: int | None
) -> Record | None:
    """The gate for a task, or for a type of work and a complexity: the narrowest one; None where
    nothing was asked.

    UsageProblem for a task without a type, and where no gate covers the complexity.
    """
    if task:
        from kl_hooks.records.query import get_record

        record = get_record(ws, task, "task")
        task_type = task_type or record.text("task_type")
        complexity = complexity or record.number("complexity") or None
        if not task_type:
            hint = f"kl task edit {record.id} --task-type feature --complexity 5"
            raise UsageProblem(
                "has no type of work, so no gate fits it.", place=record.id, hint=hint
            )
    if not task_type:
        if complexity:
            raise UsageProblem(
                "--complexity needs --type or --task.",
                place="--complexity",
                hint="Add --type feature",
            )
        return None
    from kl_hooks.kinds.gate import fitting_gates

    found = fitting_gates(ws, task_type, complexity or 5)
    if not found:
        raise UsageProblem(
            f"no gate covers complexity {complexity or 5}.",
            place=task_type,
            hint="See: kl gate list",
        )
    return found[0]


def _check_demands(gate: Record, tests_pass: bool, entries: Sequence[Entry]) -> list[Demand]:
    """What the gate asks for, checked against the receipts of a content (newest first)."""
    from kl_hooks.kinds.gate import Gate
    from kl_hooks.kinds.gate_evidence import GateEvidence

    return Gate(gate).check(GateEvidence.of(tests_pass, entries))


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
        echo(
            f"  {'not checked' if one.met is None else 'met' if one.met else 'NOT met':<12}"
            f" {one.reason}"
        )
