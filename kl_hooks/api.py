"""The Python API: context, verdicts and records of a repository, for programs and agent frameworks
that import kl.

The command line and the agents' tools call the same functions. Here none of them fails because a
source did: what can't be read gives less, named in the coverage of the answer and in the log
`kl_hooks.api`. Nothing is served and nothing is connected to: there is no host, port or background
thread. See docs/api.md.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, TypeVar

from kl_hooks.errors import EnvironmentProblem, KlError, UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.record import Record
from kl_hooks.workspace import (
    FailingSources,
    Workspace,
    open_workspace,
    require_initialized,
    require_plugins,
    require_setup,
)

if TYPE_CHECKING:
    from kl_hooks.clock import Clock
    from kl_hooks.context.access import Access
    from kl_hooks.context.critical import FilledSection
    from kl_hooks.model.claim import Claim
    from kl_hooks.model.package import Candidate
    from kl_hooks.operations.context import Package

__all__ = [
    "Context",
    "CriticalContext",
    "CriticalDecision",
    "EnvironmentProblem",
    "FailedApproach",
    "Item",
    "KlError",
    "Knowledge",
    "Record",
    "UsageProblem",
    "Verdict",
    "format_context_for_injection",
    "open",
]

_LOG: Final = logging.getLogger(__name__)
_LONGEST_WAIT: Final = 600
T = TypeVar("T")


class Item(NamedTuple):
    """What a package or a section shows."""

    id: str
    kind: str
    title: str
    text: str
    path: str = ""
    line: int = 0
    """From 1; 0: none."""
    tier: str = ""
    """`verified`, `inferred`, `assumed` or `guessed`; empty for source, which claims nothing."""
    authority: str = "auto"
    """`human`, `agent` or `auto`."""
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """A context package."""

    id: str
    """`cp-…`; empty where none could be made."""
    text: str
    """Never larger than the budget."""
    items: tuple[Item, ...]
    omitted: Mapping[str, str]
    """ID → why it is not in the package."""
    coverage: Mapping[str, str]
    """Source → `ok`, `empty` or `failed: reason`."""
    document: Mapping[str, Any]
    """As `kl context --format json`; empty where none could be made."""


@dataclass(frozen=True, slots=True)
class CriticalContext:
    """What binds every piece of work, by section; sections that were not asked for are empty."""

    architecture_decisions: tuple[Item, ...] = ()
    failure_patterns: tuple[Item, ...] = ()
    quality_gates: tuple[Item, ...] = ()
    system_context: tuple[Item, ...] = ()
    feature_overview: tuple[Item, ...] = ()
    role_context: tuple[Item, ...] = ()
    successful_patterns: tuple[Item, ...] = ()
    similar_task_outcomes: tuple[Item, ...] = ()
    relevant_adrs: tuple[Item, ...] = ()
    applicable_patterns: tuple[Item, ...] = ()
    relevant_rules: tuple[Item, ...] = ()
    omitted: Mapping[str, int] = field(default_factory=dict)
    """Section → how many more there are."""
    problem: str = ""
    """Why nothing could be read; empty: it could."""
    _sections: tuple[FilledSection, ...] = field(default=(), repr=False, compare=False)


class CriticalDecision(TypedDict):
    """An accepted decision, briefly."""

    id: str
    title: str
    decision: str
    violation_symptoms: list[str]


class FailedApproach(TypedDict):
    """Something that failed here before."""

    approach: str
    symptom: str
    prevention: str
    related_adrs: list[str]


class Verdict(NamedTuple):
    """Whether complete, passing test evidence is recorded for the files as they are."""

    proven: bool
    """This very content ran."""
    tier: str
    run: str
    """The newest run that proves it; empty: none."""
    tree: str
    """Of the content that was judged; empty: unknown."""
    reasons: tuple[str, ...]
    assessed: bool
    """False where evidence is missing or can't be read: then nothing is proven, and nothing is
    refuted.
    """
    state: str = "not proven"
    """`proven`, `transferred` (results of other contents are valid for this one), `not proven`,
    `not assessed`.
    """


@dataclass(frozen=True)
class Knowledge:
    """The knowledge of one repository. Immutable, and safe for threads: each call opens its own
    connections.

    Methods raise UsageProblem for wrong arguments, and for settings or a policy that can't be read;
    never because the repository, git or the store is missing, locked or damaged.
    """

    root: Path
    """Where it was opened."""
    budget: str = ""
    """Of packages, unless a call gives another; empty: as configured."""
    agent: str = ""
    """Name of the agent on whose behalf this is called; empty: as the environment names it."""
    wait: float = 5.0
    """Seconds to wait for a lock that another process holds."""
    enabled: bool = True
    clock: Clock | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    _failing: FailingSources = field(default_factory=FailingSources, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not math.isfinite(self.wait) or not 0 < self.wait <= _LONGEST_WAIT:
            raise UsageProblem(
                f"must be more than 0 and at most {_LONGEST_WAIT} seconds.", place="wait"
            )
        if self.budget:
            from kl_hooks.context.page import read_budget

            read_budget(self.budget)
        if not self.root.is_dir():
            raise UsageProblem("is no folder.", place=str(self.root))

    def problem(self) -> str:
        """Return why nothing can be read or recorded now; empty where it can."""
        try:
            ws = self._open()
            require_setup(ws)
            found = ws.store.problem()
        except (EnvironmentProblem, OSError) as problem:
            return str(problem)
        if not found:
            return ""
        return str(found)

    @property
    def available(self) -> bool:
        """True where knowledge can be read and recorded now."""
        return not self.problem()

    def build_context(
        self,
        task: str = "",
        *,
        style: str = "text",
        given: Sequence[str] = (),
        trace_id: str = "",
        **options: Any,
    ) -> Context:
        """Return the package for a task.

        `options`: those of `kl context`, by the names of the fields of
        `kl_hooks.model.request.Request` or of the options: `budget="1500tok"`, `pins=["ADR-0007"]`,
        `iterate=2`. `given`: IDs of what the reader has already.
        """
        from kl_hooks.operations.context import PACKAGE, PackageRequest
        from kl_hooks.operations.operation import perform

        options = {"budget": self.budget} | options
        request = PackageRequest(
            task, chosen=options, style=style, trace_id=trace_id, omit=tuple(given)
        )

        def make(ws: Workspace, access: Access) -> Context:
            package = perform(ws, PACKAGE, request, access)
            if package.remark:
                _LOG.warning("%s", package.remark)
            return _context(package)

        return self._read(
            "build_context",
            make,
            lambda why: Context("", "", (), {}, {"repository": f"failed: {why}"}, {}),
        )

    def verify(self) -> Verdict:
        """Return whether the files as they are now are proven, as `kl verify` does."""
        from kl_hooks.operations.operation import perform
        from kl_hooks.operations.verify import VERIFY, VerifyRequest
        from kl_hooks.proof.verdict_text import NO_RUN

        def judge(ws: Workspace, access: Access) -> Verdict:
            answer = perform(ws, VERIFY, VerifyRequest(), access)
            proof = answer.proof
            if proof.run:
                reasons = proof.notes
            else:
                reasons = proof.reasons or proof.gaps or (NO_RUN,)
            is_assessed = not proof.gaps
            return Verdict(
                answer.state == "proven",
                proof.tier.word,
                proof.run or "",
                answer.tree,
                reasons,
                is_assessed,
                answer.state,
            )

        return self._read(
            "verify", judge, lambda why: Verdict(False, "guessed", "", "", (why,), False)
        )

    def search(self, query: str, kinds: Sequence[str] = (), limit: int = 10) -> list[Record]:
        """Return the records in force that match any of the words, best first. `kinds`: names;
        empty: all.
        """
        from kl_hooks.records.query import RecordFilter
        from kl_hooks.records.retrieval import search_live

        def find(ws: Workspace, access: Access) -> list[Record]:
            _refuse_unknown(ws, kinds)
            wanted = RecordFilter(tuple(kinds))
            return search_live(ws, query.split(), wanted, limit, access.without_denied).records

        return self._read("search", find, lambda why: [])

    def retrieve(self, identifier: str) -> Record | None:
        """Return the record of an ID, whatever its status; None where there is none, or it can't be
        read.

        Of a claim (`claim:3f9a…`, as packages write it) a record of kind `claim`, whose status is
        its freshness.
        """
        from kl_hooks.proof.claims import claim_with_id
        from kl_hooks.records.query import get_record

        def find(ws: Workspace, _access: Access) -> list[Record | Claim]:
            try:
                if identifier.lower().startswith("claim:"):
                    return [claim_with_id(ws, identifier, lambda _: None)]
                return [get_record(ws, identifier)]
            except UsageProblem:
                return []

        # a list, of which what is denied is omitted
        for shown in self._read("retrieve", find, lambda why: []):
            if isinstance(shown, Record):
                return shown
            return _claim_record(shown)
        return None

    def record(self, kind: str, values: Mapping[str, Any]) -> str | None:
        """Create a record of a kind and return its ID; None where the store can't be written.

        An outcome is put aside then, to be recorded with the next one, and has its ID all the same.
        A failure that is known is counted once more, a known memory confirmed. What an agent
        creates waits for a person, as everywhere. UsageProblem, with everything that is wrong, for
        values that do not fit the kind.
        """
        from kl_hooks.kinds.failure import record_failure
        from kl_hooks.kinds.memory.add import add_memory
        from kl_hooks.kinds.task import record_outcome, record_queued
        from kl_hooks.records.write import create_record

        def make(ws: Workspace) -> str | None:
            require_initialized(ws)
            _refuse_unknown(ws, (kind,))
            if kind == "failure":
                return record_failure(ws, values)[0].id
            if kind == "memory":
                text = str(values.get("pattern", ""))
                more = {k: v for k, v in values.items() if k != "pattern"}
                return add_memory(ws, text, tags=more.pop("tags", ()), further_values=more)[0].id
            if kind == "outcome":
                identifier, aside = record_outcome(ws, values)
                if aside:
                    _LOG.warning("%s %s is put aside.", aside, identifier)
                else:
                    record_queued(ws)
                return identifier
            return create_record(ws, ws.kinds[kind], values).id

        return self._ask(make, lambda why: None)

    def record_claim(
        self, claim: str, support: Sequence[str] = (), about: str = "", expires: str | None = None
    ) -> str | None:
        """Assert a claim and return its ID; None where the store can't be written. Its tier follows
        from `support`.
        """
        from kl_hooks.model.actors import agent
        from kl_hooks.proof.claims import record_claim

        def make(ws: Workspace) -> str:
            require_initialized(ws)
            name = agent(ws.environ)
            return record_claim(
                ws, claim, about, support, expires, f"agent:{name}" if name else "human"
            ).id

        return self._ask(make, lambda why: None)

    def load_critical_context(
        self, task: str = "", feature: str = "", command: str = "", max_items: int = 10
    ) -> CriticalContext:
        """Return what binds every piece of work, and what fits the task; of `feature-build` also
        the architecture.
        """
        from kl_hooks.context.critical import CriticalRequest, critical

        def load(ws: Workspace, _access: Access) -> CriticalContext:
            require_setup(ws)
            found = critical(ws, CriticalRequest(task, feature, command, limit=max_items))
            sections: dict[str, Any] = {
                one.section.name: tuple(map(_item, one.items)) for one in found
            }
            omitted = {part.section.name: part.omitted for part in found if part.omitted}
            return replace(CriticalContext(omitted=omitted, _sections=tuple(found)), **sections)

        return self._read("load_critical_context", load, lambda why: CriticalContext(problem=why))

    def load_feature_overview(self, name: str) -> Record | None:
        """Return the feature of this ID or title; None where there is none."""
        found = self._in_force("feature")
        wanted = name.strip().casefold()
        return next(
            (one for one in found if wanted in (one.id.casefold(), one.title.casefold())), None
        )

    def load_critical_adrs(self, limit: int = 10) -> list[CriticalDecision]:
        """Return the accepted decisions, the newest first."""
        return [
            CriticalDecision(
                id=one.id,
                title=one.title,
                decision=one.text("decision"),
                violation_symptoms=list(one.many("violation_symptoms")),
            )
            for one in self._in_force("decision", limit=limit)
        ]

    def load_failed_approaches(self, query: str, limit: int = 5) -> list[FailedApproach]:
        """Return the failures that share words with a text, the nearest first."""
        return [
            FailedApproach(
                approach=one.text("approach") or one.title,
                symptom=one.text("symptom"),
                prevention=one.text("prevention"),
                related_adrs=list(one.many("related_adrs")),
            )
            for one in self._in_force("failure", query, limit)
        ]

    def load_role_context(self, role: str, context: str = "feature-build") -> str | None:
        """Return what somebody in a role must do, must not do and asks about first, as Markdown;
        None without one.
        """
        from kl_hooks.kinds.gate import find_role, render_role

        found = find_role(self._in_force("role"), role, context)
        if not found:
            return None
        return render_role(found)

    def capture_task_outcome(
        self, title: str, *, success: bool = True, **fields: Any
    ) -> str | None:
        """Record how a task ended and return the ID, as `record("outcome", …)`: also while the
        store can't be written.

        `fields`: those of an outcome, such as `task_requirements`, `summary`, `lessons_learned`.
        """
        kind = {"outcome_type": "task_completed" if success else "task_failed"}
        return self.record("outcome", {"title": title, "success": success, **kind, **fields})

    def find_similar_task_outcomes(self, requirements: str, limit: int = 5) -> list[Record]:
        """Return the outcomes of tasks whose requirements share words with a text, the nearest
        first.
        """
        from kl_hooks.kinds.task import record_queued

        self._ask(record_queued, lambda why: [])
        return self._in_force("outcome", requirements, limit)

    def _in_force(
        self, kind: str, query: str | None = None, limit: int = 1_000_000
    ) -> list[Record]:
        from kl_hooks.context.critical import find_in_force

        words = None if query is None else query.split()
        return self._read(kind, lambda ws, _: find_in_force(ws, kind, words, limit), lambda why: [])

    def _open(self) -> Workspace:
        if not self.enabled:
            raise EnvironmentProblem("disabled by the caller.", place="enabled")
        environ = {**self.environ, "KL_LOCK_WAIT": str(self.wait)}
        if self.agent:
            environ["KL_AGENT"] = self.agent
        # anew for each call: threads share nothing of it, and a program that runs for days sees new
        # settings
        ws = open_workspace(
            self.root, clock=self.clock, environ=environ, failing_sources=self._failing
        )
        require_plugins(ws)
        return ws

    def _read(
        self,
        purpose: str,
        call: Callable[[Workspace, Access], T],
        failed: Callable[[str], T],
    ) -> T:
        """Return of what is read what the policy shows to the agent that this was opened for; a
        person is shown everything, as by commands.
        """

        def read(ws: Workspace) -> T:
            from kl_hooks.context.access import Access, access
            from kl_hooks.model.actors import agent
            from kl_hooks.operations.operation import visible_result

            if agent(ws.environ) is None:
                return call(ws, Access(ws, None))
            with access(ws, f"api {purpose}") as agent_access:
                shown: T = visible_result(agent_access, call(ws, agent_access))
                return shown

        return self._ask(read, failed)

    def _ask(self, call: Callable[[Workspace], T], failed: Callable[[str], T]) -> T:
        try:
            return call(self._open())
        except (EnvironmentProblem, OSError) as problem:
            _LOG.warning("%s", problem)
            return failed(str(problem))


def open(
    path: str | os.PathLike[str] = ".",
    *,
    budget: str = "",
    agent: str = "",
    wait: float = 5.0,
    enabled: bool = True,
    clock: Clock | None = None,
    environ: Mapping[str, str] | None = None,
) -> Knowledge:
    """Open the knowledge of the repository that `path` lies in; creates nothing. See `Knowledge`
    for the arguments.

    UsageProblem for wrong arguments and for settings that can't be read. A repository that kl is
    not set up in gives empty answers: ask `available`.
    """
    own = dict(os.environ if environ is None else environ)
    made = Knowledge(Path(path).absolute(), budget, agent, wait, enabled, clock, own)
    made.problem()  # for the UsageProblem of settings: at once, not in the middle of some work
    return made


def format_context_for_injection(
    context: CriticalContext,
    *,
    include_system_context: bool = True,
    include_quality_gates: bool = True,
    include_adrs: bool = True,
    include_failures: bool = True,
    max_items_per_section: int = 10,
) -> str:
    """Return critical context as Markdown for a prompt: a heading for each section, at most so many
    items below.

    As `kl context critical` prints it: stored text is quoted as data.
    """
    from kl_hooks.context.critical import render_critical

    sections = {
        "system_context": include_system_context,
        "quality_gates": include_quality_gates,
        "architecture_decisions": include_adrs,
        "relevant_adrs": include_adrs,
        "failure_patterns": include_failures,
    }
    shown = [one for one in context._sections if sections.get(one.section.name, True)]
    return "".join(f"{line}\n" for line in render_critical(shown, max_items_per_section))


def _refuse_unknown(ws: Workspace, kinds: Sequence[str]) -> None:
    for name in kinds:
        if name not in ws.kinds:
            raise UsageProblem(
                f"there is no kind {name!r}.", place="kind", hint=f"Kinds: {', '.join(ws.kinds)}."
            )


def _item(one: Candidate) -> Item:
    tier = one.tier.word if one.tier is not None else ""
    return Item(
        one.id, one.kind, one.title, one.text, one.path, one.line, tier, one.authority, one.reasons
    )


def _context(package: Package) -> Context:
    document = package.document
    items = tuple(
        Item(
            one["id"],
            one["kind"],
            one["title"],
            one["text"],
            one["path"],
            one["line"],
            one["tier"] or "",
            one["authority"],
            tuple(one["reasons"]),
        )
        for one in document["items"]
    )
    omitted = {omission.id: omission.reason for omission in package.omissions}
    return Context(
        document["package_id"], package.text, items, omitted, dict(document["coverage"]), document
    )


def _claim_record(claim: Claim) -> Record:
    from kl_hooks.evidence.claims import claim_to_dict

    plain = claim_to_dict(claim)
    values = {"title": plain["text"], "status": plain["freshness"], **plain}
    return Record("claim", f"claim:{plain['id']}", values)
