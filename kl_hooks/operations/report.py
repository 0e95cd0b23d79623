"""The operation of the report: the data of the page that shows what is proven here, the layers, the
tests with their history, and the knowledge.

It states nothing of its own: the verdict and its words are those of `kl verify` and `kl status`,
and the state of a symbol follows the rule of `kl verify --require proven`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks import __version__
from kl_hooks.arch.layer_map import LayerMap, read_layer_map
from kl_hooks.clock import iso
from kl_hooks.code.query.session import open_graph
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.git.commits import subject_of
from kl_hooks.git.identity import remote_name
from kl_hooks.git.run import one_moment
from kl_hooks.graph import links
from kl_hooks.kinds.catalog import DECISION, FAILURE, MEMORY, OBJECTIVE
from kl_hooks.kinds.objective import reported_progress
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.model.symbol import TestName, path_of, record_node
from kl_hooks.model.text import counted
from kl_hooks.operations.evidence_reading import IMPORTING, all_evidence
from kl_hooks.operations.operation import Operation
from kl_hooks.operations.report_code import (
    CodeRows,
    changed_places,
    code_rows,
    contract_rows,
    file_places,
    import_rows,
    layer_rows,
)
from kl_hooks.operations.report_tests import ReportTests, report_tests
from kl_hooks.operations.report_text import ReportTexts
from kl_hooks.operations.status import stale_claims
from kl_hooks.operations.verify import VERIFY, VerifyAnswer, VerifyRequest
from kl_hooks.proof.difference import difference, states_since
from kl_hooks.proof.facts import VALID
from kl_hooks.proof.failing import failing_tests
from kl_hooks.proof.impact import Content, Runs, changed_symbols, content_of
from kl_hooks.proof.symbol_states import Place, SymbolStates, failing_by_file
from kl_hooks.proof.verdict_text import content_text, open_symbols_text
from kl_hooks.records.liveness import quarantines, uncommitted_paths, with_stale_status
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.records.status_counts import records_by_status, waiting_for_a_person
from kl_hooks.workspace import require_setup

if TYPE_CHECKING:
    from kl_hooks.code.query.session import Graph
    from kl_hooks.context.access import Access
    from kl_hooks.evidence.snapshot import Snapshot
    from kl_hooks.model.claim import Claim
    from kl_hooks.model.record import Record
    from kl_hooks.model.symbol import Link
    from kl_hooks.proof.other_runs import OtherRun
    from kl_hooks.store.database import Rows
    from kl_hooks.workspace import Workspace

SCHEMA: Final = "kl.report/1"
ANONYMOUS: Final = "anonymous"
FULL: Final = "full"
_MOST_REASONS: Final = 200
_MOST_RECORDS: Final = 2_000
_MOST_LINKS: Final = 5_000
_KINDS: Final = (DECISION.name, OBJECTIVE.name, FAILURE.name)


class ReportRequest(NamedTuple):
    """For whom the report is, and which change it marks."""

    changed: Annotated[
        str,
        Parameter(
            "Mark the files and symbols that differ between two commits: what a reviewer wants to"
            " see.",
            metavar="A...B",
        ),
    ] = ""
    full: Annotated[
        bool,
        Parameter(
            "Everything that you may see, paths of this machine and what waits for a person with"
            " it: not to be published.",
        ),
    ] = False


class Report(NamedTuple):
    """The data of the page."""

    data: dict[str, Any]
    notes: tuple[str, ...]
    """What could not be read."""


@one_moment()
def _report(ws: Workspace, request: ReportRequest, access: Access) -> Report:
    if ws.repo is None:
        hint = "Run it inside a repository, or give --root."
        raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint=hint)
    require_setup(ws)
    texts = _texts(ws, request, access)
    if request.changed:
        change = content_of(ws, changed=request.changed)
    else:
        change = None
    answer: VerifyAnswer = VERIFY.run(ws, VerifyRequest(), access)
    layers = read_layer_map(ws)
    notes = list(answer.unread)
    with all_evidence(ws, notes) as evidence, open_graph(ws) as graph:
        parts = _Parts(ws, texts, answer, layers, evidence, graph)
        data = parts.report(change)
    return Report(data, tuple(dict.fromkeys(notes)))


def _texts(ws: Workspace, request: ReportRequest, access: Access) -> ReportTexts:
    if request.full:
        return ReportTexts(ws, access, is_published=False)
    from kl_hooks.context.access import shared_access

    return ReportTexts(ws, shared_access(ws), is_published=True)


class _Parts:
    """The parts of one report, made one after the other."""

    def __init__(
        self,
        ws: Workspace,
        texts: ReportTexts,
        answer: VerifyAnswer,
        layers: LayerMap,
        evidence: Snapshot,
        graph: Graph,
    ) -> None:
        self._ws = ws
        self._texts = texts
        self._answer = answer
        self._layers = layers
        self._evidence = evidence
        self._graph = graph
        content = content_of(ws)
        # what ran here needs no run of another content; those take long to compare
        is_own = answer.proof.state == "proven"
        self._runs = Runs(ws, evidence, content, transfers=not is_own)
        self._failing = [
            test
            for test in failing_tests(ws, evidence)
            if texts.shows_file(TestName(test.test).path)
        ]

    def report(self, change: Content | None) -> dict[str, Any]:
        """All of it, as JSON."""
        ws = self._ws
        texts = self._texts
        places = file_places(self._graph, texts)
        tests = report_tests(
            ws,
            self._evidence,
            self._runs,
            self._failing,
            self._answer.proof.missing,
            texts,
            places[0],
        )
        code = self._code(places, tests)
        imports = import_rows(self._layers, code.file_place, texts)
        knowledge = _knowledge(ws, texts, self._graph.db, code.symbol_ids)
        omitted = Counter(tests.omitted) + Counter(code.omitted) + Counter(knowledge.omitted)
        omitted += Counter({"imports": imports.omitted})
        return {
            "schema": SCHEMA,
            "viewer": ANONYMOUS if texts.is_published else FULL,
            "made": {"at": iso(ws.clock.now()), "kl": __version__},
            "repository": self._repository(),
            "change": self._change(change, code) if change else None,
            "now": self._now(tests),
            "layers": layer_rows(self._layers, texts),
            "contracts": contract_rows(self._layers, texts),
            "files": code.files,
            "symbols": code.symbols,
            "imports": imports.rows,
            "runs": tests.runs,
            "tests": tests.plain,
            "knowledge": knowledge.plain,
            "omitted": dict(sorted(omitted.items())),
        }

    def _code(self, places: tuple[dict[str, int], int], tests: ReportTests) -> CodeRows:
        def name_now(part: OtherRun, test: str) -> str:
            name = self._runs.names.current(test)
            if name in tests.place:
                return name
            return ""

        states = SymbolStates(self._runs.parts, self._runs.flaky)
        failing = (
            (TestName(test.test).path, test.symbols)
            for test in self._failing
            # what it rests on may have changed since another failed
            if test.verdict.state == VALID
        )
        return code_rows(
            self._graph,
            self._layers,
            self._texts,
            places,
            states,
            states.executing_tests(name_now),
            tests.place,
            failing_by_file(failing),
        )

    def _repository(self) -> dict[str, Any]:
        assert self._ws.repo is not None
        place = worktree_state(self._ws.repo)
        remote = remote_name(self._ws.repo)
        if place.head:
            subject = subject_of(self._ws.repo, place.head)
        else:
            subject = ""
        return {
            "name": self._texts.sentence(remote.rpartition("/")[2] or self._ws.root.name),
            "branch": self._texts.sentence(place.branch) if place.branch else None,
            "head": place.head or "",
            "subject": self._texts.sentence(subject),
            "changed": place.changed,
        }

    def _change(self, change: Content, code: CodeRows) -> dict[str, Any]:
        """The files and symbols of a change, among those that are on disk."""
        repo = self._ws.repo
        assert repo is not None
        states = states_since(repo, change.before, change.other)
        changes = difference(self._ws, repo, states, change.other).changes.values()
        symbols = (
            Place(file.path, local)
            for file in changes
            if file.is_python
            for local, _ in changed_symbols(file)
        )
        file_places, symbol_places = changed_places(states, symbols, code)
        return {
            "base": change.before,
            "head": change.other or "",
            "files": file_places,
            "symbols": symbol_places,
        }

    # now

    def _now(self, tests: ReportTests) -> dict[str, Any]:
        answer = self._answer
        texts = self._texts
        proof = self._answer.proof
        numbers = proof.tests
        runs = (*proof.runs, *(transfer.run for transfer in proof.transfers))
        return {
            "verdict": _verdict(answer, has_runs=bool(tests.runs)),
            "sentence": texts.sentence(_sentence(answer)),
            "tests": {
                "here": numbers.proven,
                "transferred": numbers.transferred,
                "stale": numbers.rerun,
                "failing": numbers.failing,
                "missing": numbers.never,
                "known_failures": numbers.known_failures,
                "running": numbers.running,
                "unfinished": numbers.unfinished,
                "uncollected_files": numbers.uncollected_files,
            },
            "runs": sorted({tests.run_place[run] for run in runs if run in tests.run_place}),
            "missing": self._reasons(),
            "command": texts.sentence(answer.command),
            "hints": texts.sentences(answer.hints),
            "violations": {
                "forbidden": self._shown_violations(forbidden=True),
                "accepted": self._shown_violations(forbidden=False),
                "checked": self._layers.checked is not None,
            },
            "flaky": tests.flaky,
            "stale_claims": [self._claim(claim) for claim in self._stale_claims()],
            "waiting": self._waiting(),
            "notes": texts.sentences((*proof.notes, *self._layers.notes, *answer.unread)),
        }

    def _reasons(self) -> list[str]:
        """Why it is not proven, in words."""
        if self._answer.is_accepted:
            return []
        proof = self._answer.proof
        reasons = self._texts.sentences(proof.reasons[:_MOST_REASONS])
        if len(proof.reasons) > _MOST_REASONS:
            number = counted(len(proof.reasons) - _MOST_REASONS, "more reason")
            reasons.append(f"{number}: kl verify")
        return reasons

    def _shown_violations(self, *, forbidden: bool) -> int:
        if forbidden:
            violations = self._layers.violations
        else:
            violations = self._layers.accepted
        return sum(self._texts.shows_file(violation.path) for violation in violations)

    def _stale_claims(self) -> Sequence[Claim]:
        db = self._evidence.db
        if db is None:
            return ()
        return [
            claim for claim in stale_claims(self._ws, db) if self._texts.readers.shows_claim(claim)
        ]

    def _claim(self, claim: Claim) -> dict[str, Any]:
        texts = self._texts
        return {
            "id": claim.id,
            # no person has read the text of a claim before it is published
            "statement": "" if texts.is_published else texts.sentence(claim.text),
            "reason": texts.sentence(claim.reasons[-1]),
        }

    def _waiting(self) -> dict[str, int]:
        ws = self._ws
        readers = self._texts.readers
        if self._texts.is_published or not ws.initialized:
            return {}
        counts = records_by_status(ws, readers.without_denied)
        return dict(waiting_for_a_person(ws, counts, readers.without_denied))


def _verdict(answer: VerifyAnswer, *, has_runs: bool) -> str:
    """The verdict of the gate in a word or two."""
    proof = answer.proof
    if proof.gaps or answer.is_accepted:
        return answer.state
    if proof.failed:
        return "failing"
    if proof.tests.is_partial:
        return "partly"
    if not has_runs:
        return "nothing recorded"
    return "not proven"


def _sentence(answer: VerifyAnswer) -> str:
    """The verdict in a sentence."""
    proof = answer.proof
    is_open = answer.is_by_symbol and not answer.is_accepted
    if is_open and not proof.failed and not proof.gaps:
        return f"not proven: {open_symbols_text(answer.states)}"
    return content_text(proof, answer.failure, answer.is_untracked)


# knowledge


class _Knowledge(NamedTuple):
    """The records of a report."""

    plain: dict[str, Any]
    """As JSON has it."""
    omitted: dict[str, int]
    """What is omitted because there is too much → how many."""


def _knowledge(
    ws: Workspace, texts: ReportTexts, graph: Rows, shown_symbols: Iterable[str]
) -> _Knowledge:
    """Return the records that the readers may see. `shown_symbols`: IDs of symbols that are shown.

    What is published has records of files alone: rows of the database are observations without a
    review.
    """
    kinds = _KINDS if texts.is_published else (*_KINDS, MEMORY.name)
    if ws.initialized:
        listed = list_records(ws, RecordFilter(kinds))
    else:
        listed = []
    records = with_stale_status(ws, list(_readable(ws, texts, listed)))
    shown = records[:_MOST_RECORDS]
    number_omitted = max(0, len(records) - _MOST_RECORDS)
    targets = _links(texts, graph, shown, set(shown_symbols))
    rows = targets[:_MOST_LINKS]
    about = _by_source(rows)
    of_kind = {
        kind: [record for record in shown if record.kind == kind] for kind in (*_KINDS, MEMORY.name)
    }
    objectives = of_kind[OBJECTIVE.name]
    progress = reported_progress(ws, objectives)
    plain: dict[str, Any] = {
        "decisions": [_decision(texts, record, about) for record in of_kind[DECISION.name]],
        "objectives": [
            _common(texts, record, about) | {"progress": _share(progress[record.id])}
            for record in objectives
        ],
        "failures": [
            _common(texts, record, about) | {"date": _date(record)}
            for record in of_kind[FAILURE.name]
        ],
        "memories": [
            _common(texts, record, about)
            | {"date": _date(record), "evidence": texts.sentence(record.text("evidence"))}
            for record in of_kind[MEMORY.name]
        ],
        "links": [[source, relation, target] for source, relation, target in rows],
        "about": _by_target(rows),
    }
    omitted = {"records": number_omitted, "links": max(0, len(targets) - _MOST_LINKS)}
    return _Knowledge(plain, {name: number for name, number in omitted.items() if number})


def _readable(ws: Workspace, texts: ReportTexts, records: Sequence[Record]) -> Iterator[Record]:
    """The records that the readers may see whole; of memory what waits for a person. Of what is
    published, no row of the database, and no uncommitted proposal.
    """
    shown = texts.readers.shown(records)
    hidden = {*quarantines(ws, shown)}
    proposals = [record for record in shown if record.status == ws.kinds[record.kind].proposal]
    if texts.is_published:
        uncommitted = uncommitted_paths(ws, [record.path for record in proposals if record.path])
        hidden |= {record.id for record in shown if not record.path}
        hidden |= {record.id for record in proposals if record.path in uncommitted}
    waiting = {record.id for record in proposals}
    for record in shown:
        is_wanted = record.kind != MEMORY.name or record.id in waiting
        if is_wanted and record.id not in hidden:
            yield record


def _common(texts: ReportTexts, record: Record, about: Mapping[str, list[str]]) -> dict[str, Any]:
    return {
        "id": record.id,
        "title": texts.sentence(record.title),
        "status": record.status,
        "about": about.get(record.id, []),
    }


def _decision(texts: ReportTexts, record: Record, about: Mapping[str, list[str]]) -> dict[str, Any]:
    successors = record.many("superseded_by")
    return _common(texts, record, about) | {
        "date": _date(record),
        "superseded_by": next(iter(successors), None),
        "path": texts.name(record.path),
    }


def _date(record: Record) -> str | None:
    """The day that its author wrote; None: unknown."""
    return record.text("date")[:10] or None


def _share(progress: Any) -> float | None:
    """The part of the tasks of an objective that are done; None: it has no tasks."""
    done = len(progress.completed)
    total = len(progress.completed) + len(progress.remaining)
    if not total:
        return None
    return round(done / total, 4)


_Row = tuple[str, str, str]
"""ID of a record, relation, ID of another record, of a symbol, or `file:PATH`."""


def _links(
    texts: ReportTexts, graph: Rows, records: Sequence[Record], symbols: set[str]
) -> list[_Row]:
    """The links of these records to each other, and to files and symbols that are shown."""
    id_of_node = {record_node(record.id): record.id for record in records}
    links_of_node = links.of_many(graph, sorted(id_of_node), incoming=False)
    rows = set[_Row]()
    for link in chain.from_iterable(links_of_node.values()):
        target = _shown_target(texts, link, id_of_node, symbols)
        if target and target != id_of_node[link.source]:
            rows.add((id_of_node[link.source], link.relation, target))
    return sorted(rows)


def _shown_target(
    texts: ReportTexts, link: Link, id_of_node: Mapping[str, str], symbols: set[str]
) -> str:
    """The end of a link; empty for one that is not in the report."""
    if link.target in id_of_node:
        return id_of_node[link.target]
    if link.target in symbols:
        return link.target
    path = path_of(link.target)
    if path and link.target.startswith("file:") and texts.shows_file(path):
        return f"file:{texts.name(path)}"
    return ""


def _by_source(rows: Iterable[_Row]) -> dict[str, list[str]]:
    targets: dict[str, list[str]] = {}
    for source, _, target in rows:
        targets.setdefault(source, []).append(target)
    return {source: list(dict.fromkeys(names)) for source, names in targets.items()}


def _by_target(rows: Iterable[_Row]) -> dict[str, list[str]]:
    """File or symbol → the records about it."""
    sources: dict[str, list[str]] = {}
    for source, _, target in rows:
        if ":" in target:
            sources.setdefault(target, []).append(source)
    return {target: list(dict.fromkeys(ids)) for target, ids in sorted(sources.items())}


REPORT: Final = Operation(
    "report",
    """Write a page that shows what is proven here: layers, files, tests with their history, and
    knowledge.

    One file, which needs no network and can be sent. It is made for anonymous readers:
    without what `.kl/policy.yaml` hides from any reader, memory and observations without a review,
    and paths of this machine. --full has what you may see.
    """,
    ReportRequest,
    _report,
    lambda report: report.data,
    SCHEMA,
    "kl report -o report.html",
    is_tool=False,
    progress=IMPORTING,
)

OPERATIONS: Final = (REPORT,)
