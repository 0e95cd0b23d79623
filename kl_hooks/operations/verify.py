"""The operation of the gate: is there complete, passing evidence of a content?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.clock import DAY, iso
from kl_hooks.code.languages import is_file_module
from kl_hooks.errors import CLEAN, ENVIRONMENT_ERROR, FINDINGS, EnvironmentProblem, UsageProblem
from kl_hooks.evidence.executed import test_path
from kl_hooks.evidence.shared_names import lasting_name
from kl_hooks.evidence.trust import ATTESTED
from kl_hooks.git.repository import Repository, completing_fetch, resolve_commit
from kl_hooks.model.claim import Tier
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.model.symbol import TestName, split_id
from kl_hooks.model.text import counted, name_list, one_line
from kl_hooks.operations.evidence_reading import IMPORTING, EvidenceState, all_evidence
from kl_hooks.operations.operation import Operation
from kl_hooks.proof.content_proof import IMPORT_REPORT, Proof
from kl_hooks.proof.content_runs import had_untracked_files
from kl_hooks.proof.gate import NOTHING_TRACKED
from kl_hooks.proof.impact import Content
from kl_hooks.proof.other_runs import pytest_command
from kl_hooks.proof.verdict_text import failure_text, rerun_text, without_variables_text
from kl_hooks.workspace import Workspace, require_setup

if TYPE_CHECKING:
    from kl_hooks.config.settings import VerifyPolicy
    from kl_hooks.context.access import Access
    from kl_hooks.evidence.ledger import Entry
    from kl_hooks.evidence.snapshot import Snapshot
    from kl_hooks.kinds.gate import Demand
    from kl_hooks.model.record import Record
    from kl_hooks.proof.impact import SymbolState
    from kl_hooks.proof.nearest import Nearest

NEEDED: Final = {
    Tier.INFERRED: "one complete passing run",
    Tier.VERIFIED: "two independent observations",
}
"""What `--require` asks for, in words."""
_BY_CI: Final = "one complete passing run of this content signed by a CI"
"""The same of `--require verified --from ci`."""
PROVEN: Final = "proven"
RAN: Final = "ran"
"""Of `--require`: this content itself ran."""
_PROPOSED_DAYS: Final = 30


class VerifyRequest(NamedTuple):
    """Which content, and what is asked of it."""

    rev: Annotated[
        str,
        Parameter(
            "A commit or tree instead of the files as they are now. Default at pre-push: what is"
            " pushed.",
            name="at",
            metavar="REV",
            aliases=("tree",),
            is_personal=True,
        ),
    ] = ""
    staged: Annotated[
        bool,
        Parameter("What is staged, and each symbol that differs from HEAD.", is_personal=True),
    ] = False
    changed: Annotated[
        str,
        Parameter(
            "Each symbol that differs between two commits; B is judged.",
            metavar="A...B",
            is_personal=True,
        ),
    ] = ""
    paths: Annotated[
        tuple[str, ...],
        Parameter(
            "Only changed symbols in this file or folder; repeatable.",
            metavar="PATH",
            is_personal=True,
        ),
    ] = ()
    require: Annotated[
        str,
        Parameter(
            "inferred: one complete, passing run of the content, or results of other contents that"
            " are valid for it; ran: a run of this very content; verified: two independent"
            " observations; proven: of each changed symbol a test that executed it and passed.",
            choices=(RAN, PROVEN, Tier.INFERRED.word, Tier.VERIFIED.word),
            is_default_shown=True,
            is_personal=True,
        ),
    ] = Tier.INFERRED.word
    origin: Annotated[
        str,
        Parameter(
            "ci: only runs that a trusted key of a CI signed (see: kl trust); one is enough.",
            name="from",
            choices=("any", "ci"),
            is_default_shown=True,
            is_personal=True,
        ),
    ] = "any"
    trust_ref: Annotated[
        str,
        Parameter(
            "Read verify of .kl/config.yaml, and the keys of .kl/trust, from this commit (such as"
            " origin/main), not from the content that is judged.",
            metavar="REF",
            is_personal=True,
        ),
    ] = ""
    advise: Annotated[
        bool,
        Parameter(
            "Print the verdict, and exit 0 unless verify.mode in the settings is block.",
            is_personal=True,
        ),
    ] = False
    task: Annotated[
        str,
        Parameter(
            "Apply the gate that fits this task, by its type and complexity.",
            metavar="ID",
            is_personal=True,
        ),
    ] = ""
    task_type: Annotated[
        str,
        Parameter(
            "Apply the gate for this type of work: feature, docs …",
            name="type",
            is_personal=True,
        ),
    ] = ""
    complexity: Annotated[
        int,
        Parameter("From 1 to 10, with --type. Default: 5.", bounds=(1, 10), is_personal=True),
    ] = 0
    strict: Annotated[
        bool,
        Parameter(
            "With --task or --type: exit 1 also where a demand of the gate can't be checked.",
            is_personal=True,
        ),
    ] = False
    propose_known_failures: Annotated[
        bool,
        Parameter(
            "Print the entries of verify.known_failures for the tests that fail now, with an end in"
            " 30 days, and exit 0.",
            is_personal=True,
        ),
    ] = False

    @property
    def by_symbol(self) -> bool:
        """Whether changed symbols are asked about."""
        return bool(self.changed or self.staged or self.paths or self.require == PROVEN)

    @property
    def signed_by(self) -> str:
        """`ci`, or empty for any."""
        if self.origin == "any":
            return ""
        return self.origin


class Demanded(NamedTuple):
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
        return tuple(state for state in self.states if state.state != PROVEN)


class _Judgment(NamedTuple):
    """The judgment of the gate on a content, before the policy is applied to it."""

    tree: str
    proof: Proof
    evidence: EvidenceState
    entries: list[Entry]
    required: str
    nearest: Nearest | None
    demanded: tuple[Demanded, ...] = ()
    """Asked for by `--require proven`, `--changed`, `--staged` or `--paths`, and by the
    repository's settings.
    """
    origin: str = ""
    """`ci`, or empty for any."""
    fetch: str = ""
    """What fetches contents that runs could not be compared with; empty where nothing would."""
    is_failing_before: bool = False
    """Whether each failing test failed without the uncommitted changes, too."""

    @property
    def needed(self) -> str:
        """What a content needs for the tier, in words."""
        if self.origin and self.tier is Tier.VERIFIED:
            return _BY_CI
        return NEEDED[self.tier]

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
        if self.proof.tier < Tier.INFERRED:
            return PROVEN
        return self.proof.state

    @property
    def accepted(self) -> bool:
        """Whether the content is proven or transferred, as it was asked for: exit 0."""
        if self.proof.gaps or self.proof.failed:
            return False
        # without a changed symbol there is nothing that a test of one could show
        whole = self.proof.tier >= self.tier or (self.required == PROVEN and bool(self.states))
        return whole and all(
            _is_met(demand, self.proof) for demand in self.demanded if demand.decides
        )

    @property
    def states(self) -> list[SymbolState]:
        """The changed symbols that were asked about, each once."""
        state_of = {state.symbol: state for demand in self.demanded for state in demand.states}
        # what a stricter demand leaves open is shown
        state_of |= {state.symbol: state for demand in self.demanded for state in demand.open}
        return sorted(state_of.values(), key=lambda state: (state.path, state.line, state.symbol))

    @property
    def untracked(self) -> bool:
        return had_untracked_files(self.entries, self.proof.cited_runs, self.tree)

    @property
    def command(self) -> str:
        """The one pytest command that would prove the rest; empty: none does."""
        if self.accepted or self.proof.failed or self.proof.gaps:
            return ""
        tests = [test for state in self.states if state.state != PROVEN for test in state.tests]
        if self.required == PROVEN and tests:
            return pytest_command(tests)
        return self.proof.command

    @property
    def exit_code(self) -> int:
        """3 where something could not be read: the environment must be fixed first."""
        if self.evidence.unread:
            return ENVIRONMENT_ERROR
        if self.accepted:
            return CLEAN
        return FINDINGS


def _tier_of(required: str) -> Tier:
    if required in (PROVEN, RAN):
        return Tier.INFERRED
    return Tier[required.upper()]


def _is_met(demand: Demanded, proof: Proof) -> bool:
    if demand.require == PROVEN or demand.origin != "any":
        return not demand.open
    ran = demand.require != RAN or proof.state == PROVEN
    return not demand.states or (ran and proof.tier >= _tier_of(demand.require))


class GateCheck(NamedTuple):
    """A gate, and what became of each of its demands."""

    gate: Record
    demands: tuple[Demand, ...]

    @property
    def unchecked(self) -> list[str]:
        """The demands that can't be checked from what is recorded."""
        return [demand.name for demand in self.demands if demand.met is None]


class FailureProposal(NamedTuple):
    """An entry of `known_failures` in the settings of verify."""

    test: TestName
    reason: str
    until: str


class VerifyAnswer(NamedTuple):
    """The verdict. What decides is decided before the policy is applied: what it hides is withheld
    from the reasons, and changes no verdict.
    """

    tree: str
    proof: Proof
    evidence: EvidenceState
    required: str
    needed: str
    """What the content needs for the tier that is required, in words."""
    state: str
    """`proven`, `transferred`, `not proven`, `not assessed`."""
    is_accepted: bool
    """Whether the content is proven or transferred, as it was asked for."""
    is_below: bool
    """Whether it is proven, and not well enough."""
    is_by_symbol: bool
    """Whether changed symbols decide."""
    states: tuple[SymbolState, ...]
    """The changed symbols that were asked about."""
    nearest: Nearest | None
    origin: str
    """`ci`, where only its runs count; else empty."""
    command: str
    """The one pytest command that would prove the rest; empty: none does."""
    is_untracked: bool
    """Whether untracked files were there in the runs that prove it."""
    failure: str
    """What failed, in words; empty: nothing did."""
    signers: tuple[str, ...]
    """Whose keys signed runs that prove it."""
    fetch: str
    """What fetches contents that runs could not be compared with; empty where nothing would."""
    is_failing_before: bool
    """Whether each failing test failed without the uncommitted changes, too."""
    gates: tuple[GateCheck, ...]
    """The gate that was asked for."""
    proposals: tuple[FailureProposal, ...] | None
    """Entries for the settings; None: not asked for."""
    is_advice: bool
    """Whether it blocks nothing, though it would."""
    exit_code: int
    """3 where something could not be read: the environment must be fixed first."""
    unread: tuple[str, ...]
    """What could not be read or imported."""
    is_strict: bool
    """Whether a demand that can't be checked is not met."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be read, and which demands of a gate that may be shown were not
        checked.
        """
        unchecked = (_unchecked_note(check, is_strict=self.is_strict) for check in self.gates)
        return (*self.unread, *(note for notes in unchecked for note in notes))

    @property
    def hints(self) -> list[str]:
        """What to do."""
        return list(_hints(self))


def _verify(ws: Workspace, request: VerifyRequest, _access: Access) -> VerifyAnswer:
    if ws.repo is None:
        hint = "Evidence is checked against a git tree: run it inside a repository, or give --root."
        raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint=hint)
    require_setup(ws)  # exit 3, not 0: a gate that was never set up has proven nothing
    if sum([bool(request.rev), request.staged, bool(request.changed)]) > 1:
        raise UsageProblem(
            "--at, --staged and --changed name different contents.",
            place="kl verify",
            hint="Give one.",
        )
    gate = _gate_of(ws, request)
    if request.strict and gate is None:
        raise UsageProblem(
            "--strict needs --type or --task.", place="--strict", hint="Add --type feature"
        )
    notes: list[str] = []
    judgment = _judged(ws, request, notes)
    check = _checked(gate, judgment) if gate else None
    code = _exit_code(judgment, check, is_strict=request.strict)
    # exit 3 stays: a store that can't be read is no verdict that could be advice
    mode = _policy(ws, request.trust_ref).mode
    is_advice = code == FINDINGS and mode != "block" and (request.advise or mode == "advise")
    if request.propose_known_failures:
        proposals = _proposals(ws, judgment)
    else:
        proposals = None
    is_done = proposals is not None or is_advice
    return VerifyAnswer(
        tree=judgment.tree,
        proof=judgment.proof,
        evidence=judgment.evidence,
        required=judgment.required,
        needed=judgment.needed,
        state=judgment.state,
        is_accepted=judgment.accepted,
        is_below=Tier.INFERRED <= judgment.proof.tier < judgment.tier,
        is_by_symbol=any(demand.decides for demand in judgment.demanded),
        states=tuple(judgment.states),
        nearest=judgment.nearest,
        origin=judgment.origin,
        command=judgment.command,
        is_untracked=judgment.untracked,
        failure=failure_text(judgment.proof, judgment.entries),
        signers=_signers(judgment),
        fetch=judgment.fetch,
        is_failing_before=judgment.is_failing_before,
        gates=(check,) if check else (),
        proposals=proposals,
        is_advice=is_advice,
        exit_code=CLEAN if is_done else code,
        unread=tuple(notes),
        is_strict=request.strict,
    )


def _checked(gate: Record, judgment: _Judgment) -> GateCheck:
    """What the gate asks for, checked against the receipts of a content."""
    from kl_hooks.kinds.gate import Gate
    from kl_hooks.kinds.gate_evidence import GateEvidence

    evidence = GateEvidence.of(judgment.accepted, judgment.entries)
    return GateCheck(gate, tuple(Gate(gate).check(evidence)))


def _exit_code(judgment: _Judgment, check: GateCheck | None, *, is_strict: bool) -> int:
    if judgment.evidence.unread:
        return ENVIRONMENT_ERROR
    if check is None:
        if judgment.accepted:
            return CLEAN
        return FINDINGS
    is_unmet = any(demand.met is False for demand in check.demands)
    has_failed = judgment.proof.gaps or is_unmet or (is_strict and check.unchecked)
    if has_failed:
        return FINDINGS
    return CLEAN


def _unchecked_note(check: GateCheck, *, is_strict: bool) -> Iterator[str]:
    if unchecked := check.unchecked:
        number = counted(len(unchecked), "demand")
        if is_strict:
            hint = ""
        else:
            hint = " With --strict that is exit 1."
        names = name_list(unchecked, len(unchecked))
        yield f"{check.gate.id}: {number} not checked: {names}.{hint}"


def _proposals(ws: Workspace, judgment: _Judgment) -> tuple[FailureProposal, ...]:
    """Entries for the settings, of the tests that fail and are not known yet."""
    until = iso(ws.clock.now() + _PROPOSED_DAYS * DAY)[:10]
    messages = {
        (split_id(result.subject)[1], entry.receipt.run): result.detail.get("message")
        for entry in judgment.entries
        for result in entry.receipt.evidence
    }
    return tuple(
        FailureProposal(
            TestName(failure.test),
            lasting_name(one_line(str(messages.get((failure.test, failure.run)) or "failed"), 120)),
            until,
        )
        for failure in judgment.proof.failing
    )


def _policy(ws: Workspace, trust_ref: str) -> VerifyPolicy:
    """`verify:` of the settings, of the trusted commit where one is given."""
    if not trust_ref or ws.repo is None:
        return ws.settings.verify
    from kl_hooks.config.settings import SETTINGS_FILE, verify_policy
    from kl_hooks.proof.content_source import content_source

    commit = resolve_commit(ws.repo, trust_ref)
    return verify_policy(
        f"{trust_ref}:{SETTINGS_FILE}", content_source(ws.repo, commit).text(SETTINGS_FILE)
    )


def _content_asked(ws: Workspace, repo: Repository, asked: VerifyRequest) -> tuple[Content, str]:
    """(the content that is judged, the revision that it is compared with; empty for none)"""
    from kl_hooks.proof.impact import content_of

    if asked.rev:
        pushed_from = _known_commit(repo, ws.environ.get("PRE_COMMIT_FROM_REF", ""))
    else:
        pushed_from = ""
    if asked.staged or asked.changed:
        content = content_of(ws, staged=asked.staged, changed=asked.changed)
        return content, content.before if asked.changed else pushed_from
    trees = _trees_at(ws, asked.rev)
    if asked.rev:
        return Content(trees, trees[0], pushed_from or f"{asked.rev}^"), pushed_from
    return Content(trees, None, "HEAD"), pushed_from


def _judged(ws: Workspace, asked: VerifyRequest, notes: list[str]) -> _Judgment:
    from kl_hooks.proof.gate import judge
    from kl_hooks.proof.nearest import nearest
    from kl_hooks.proof.since_pass import failed_before, failed_before_text

    assert ws.repo is not None
    if asked.trust_ref:
        trusted = resolve_commit(ws.repo, asked.trust_ref)
    else:
        trusted = ""
    content, base = _content_asked(ws, ws.repo, asked)
    trees = content.trees
    committed = content.other is not None
    with all_evidence(ws, notes, trust_ref=trusted) as evidence:
        entries, proof = judge(
            ws,
            evidence,
            trees,
            committed,
            rev=asked.rev,
            trust_ref=trusted,
            base=base,
            staged=asked.staged,
            origin=asked.signed_by,
            transfer=asked.require != RAN,
        )
        if committed and not asked.staged:
            at = content.other
        else:
            at = None
        if proof.tier is Tier.GUESSED and not asked.staged:
            near = nearest(ws, evidence, trees, at)
        else:
            near = None
        if not proof.gaps:
            demanded = tuple(_demands(ws, asked, content, evidence))
        else:
            demanded = ()
        unknown = proof.tier is Tier.GUESSED and bool(proof.not_compared)
        before = failed_before(ws, evidence) if proof.failed and not committed else {}
    if before:
        line = failed_before_text(before, proof.tests.failing)
        proof = proof._replace(reasons=(*proof.reasons, line))
    fetch = completing_fetch(ws.repo) if unknown else ""
    return _Judgment(
        trees[0],
        proof,
        EvidenceState.of(evidence),
        entries,
        asked.require,
        near,
        demanded,
        asked.signed_by,
        fetch,
        len(before) == proof.tests.failing > 0 and not proof.tests.uncollected_files,
    )


def _demands(
    ws: Workspace, asked: VerifyRequest, content: Content, evidence: Snapshot
) -> Iterator[Demanded]:
    """What the command line and the settings ask of changed symbols, with their states."""
    from kl_hooks.proof.impact import symbol_states, unmatched_paths

    if asked.by_symbol:
        for path in unmatched_paths(ws, content, asked.paths):
            raise UsageProblem(
                "no file has this path.", place=f"--paths {path}", hint="Paths start at the root."
            )
        # where a tier is asked for, it is that of the whole content, and the symbols are shown
        states_of_paths = tuple(symbol_states(ws, evidence, content, asked.paths, asked.signed_by))
        yield Demanded(asked.paths, PROVEN, "any", states_of_paths, asked.require == PROVEN)
    for demand in _policy(ws, asked.trust_ref).paths:
        states = symbol_states(
            ws, evidence, content, (demand.folder,), "ci" if demand.origin == "ci" else ""
        )
        yield Demanded((demand.folder,), demand.require, demand.origin, tuple(states))


def _trees_at(ws: Workspace, rev: str) -> tuple[str, ...]:
    """The tree ids that evidence may carry: of a commit, or of the content now.

    UsageProblem for a commit that is none, EnvironmentProblem for a content that can't be
    determined.
    """
    from kl_hooks.evidence.provenance import worktree_state
    from kl_hooks.git.worktree import tree_of_revision

    if not rev or ws.repo is None:
        trees = worktree_state(ws.repo).trees
    else:
        trees = tuple(tree for tree in [tree_of_revision(ws.repo, rev)] if tree)
    if not trees and rev:
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


def _signers(judgment: _Judgment) -> tuple[str, ...]:
    """`CI github`: whose trusted keys signed runs that prove the content."""
    here = (one.origin for one in judgment.entries if one.receipt.run in judgment.proof.runs)
    signed = {
        one
        for one in (*here, *(part.origin for part in judgment.proof.transfers))
        if one.startswith(ATTESTED)
    }
    return tuple(
        f"{'CI ' if kind == 'ci' else ''}{name}"
        for kind, _, name in (origin.partition(":") for origin in sorted(signed))
    )


def _gate_of(ws: Workspace, request: VerifyRequest) -> Record | None:
    """The gate for a task, or for a type of work and a complexity: the narrowest one; None where
    nothing was asked.

    UsageProblem for a task without a type, and where no gate covers the complexity.
    """
    task_type = request.task_type
    complexity = request.complexity
    if request.task:
        from kl_hooks.records.query import get_record

        record = get_record(ws, request.task, "task")
        task_type = task_type or record.text("task_type")
        complexity = complexity or record.number("complexity") or 0
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

    gates = fitting_gates(ws, task_type, complexity or 5)
    if not gates:
        raise UsageProblem(
            f"no gate covers complexity {complexity or 5}.",
            place=task_type,
            hint="See: kl gate list",
        )
    return gates[0]


def _hints(answer: VerifyAnswer) -> Iterator[str]:
    proof = answer.proof
    if proof.gaps:
        yield from answer.evidence.hints()
    elif answer.is_accepted:
        if answer.is_untracked and not proof.transfers and proof.tier >= Tier.INFERRED:
            yield "if the tests need them, git add them, then run pytest"
    elif answer.is_below:
        if not answer.origin:
            yield (
                "the tests passed in one way; run them under another interpreter, or in "
                "another way: pytest -n 2"
            )
    elif answer.is_by_symbol and not proof.failed:
        if answer.command:
            yield answer.command
        if any(state.needs_test for state in answer.states if state.state != PROVEN):
            yield "a symbol that no test executes needs a test"
    else:
        yield from _hints_to_prove(answer)


def _hints_to_prove(answer: VerifyAnswer) -> Iterator[str]:
    """What to do where the whole content is not proven."""
    proof = answer.proof
    if answer.fetch:
        yield f"contents that runs are compared with may be missing in this clone: {answer.fetch}"
    if NOTHING_TRACKED in proof.reasons:
        yield "git add your files, then run pytest"
    elif proof.failed:
        if not answer.is_failing_before:
            yield f"fix the failing tests, then {_step_after_the_fix(proof)}"
        yield "list those that may fail for now: kl verify --propose-known-failures"
    elif proof.unmet_coverage:
        yield answer.command
        if unset := without_variables_text(proof):
            yield unset
    elif proof.missing:
        yield from _hints_to_run_missing(answer)
    else:
        yield proof.first_step


def _hints_to_run_missing(answer: VerifyAnswer) -> Iterator[str]:
    proof = answer.proof
    if any(is_file_module(test_path(test.name)) for test in proof.missing):
        yield IMPORT_REPORT.format(tree=answer.tree)
    if answer.command == "pytest":
        yield (
            "run the missing tests; files that are no tests belong in verify.exclude in"
            " .kl/config.yaml"
        )
        return
    if answer.command:
        limits = proof.undone_addopts
        yield f"{f'addopts deselect tests ({limits}): ' if limits else ''}{answer.command}"
        if unset := without_variables_text(proof):
            yield unset
    if not proof.transfers and not rerun_text(proof):
        yield "files that are no tests belong in verify.exclude in .kl/config.yaml"


def _step_after_the_fix(proof: Proof) -> str:
    """What records that failing tests pass again: pytest, or the report of another runner."""
    others = [failure for failure in proof.failing if is_file_module(failure.path)]
    if not others:
        return "run pytest"
    report = "import the report of a new run: kl evidence import junit FILE"
    return report if len(others) == len(proof.failing) else f"run pytest, and {report}"


def _to_dict(answer: VerifyAnswer) -> dict[str, Any]:
    proof = answer.proof
    plain = {
        "tree": answer.tree,
        "tier": proof.tier.word,
        "required": answer.required,
        "state": answer.state,
        "accepted": answer.is_accepted,
        "proven": answer.state == PROVEN,
        "run": proof.run,
        "untracked": answer.is_untracked,
        "runs": list(proof.runs),
        "reasons": [] if answer.is_accepted else list(proof.reasons),
        "notes": list(proof.notes),
        "hints": answer.hints,
        "missing": [test._asdict() for test in proof.missing],
        "not_assessed": list(proof.not_assessed),
        "transferred": [transfer.to_dict() for transfer in proof.transfers],
        "ran": proof.ran,
        "tests": proof.tests.to_dict(),
        "failing": [failure.test for failure in proof.failing],
        "known_failures": [failure._asdict() for failure in proof.known_failures],
        "not_compared": list(proof.not_compared),
        "command": answer.command,
        "flaky": list(proof.flaky),
        "symbols": [state.to_dict() for state in answer.states],
        "assessed": not proof.gaps,
        **answer.evidence.to_dict(),
        "nearest": answer.nearest.to_dict() if answer.nearest else None,
    }
    gates = [_gate_to_dict(check) for check in answer.gates]
    return plain | ({"gate": gates[0]} if gates else {})


def _gate_to_dict(check: GateCheck) -> dict[str, Any]:
    rows = [
        {"demand": demand.name, "met": demand.met, "reason": demand.reason}
        for demand in check.demands
    ]
    gate = {"id": check.gate.id, "title": check.gate.title}
    return gate | {"demands": rows, "not_checked": check.unchecked}


VERIFY: Final = Operation(
    "verify",
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
    """,
    VerifyRequest,
    _verify,
    _to_dict,
    "kl.verify/6",
    "kl verify --require verified",
    progress=IMPORTING,
)

OPERATIONS: Final = (VERIFY,)
