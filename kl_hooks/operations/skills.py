"""Operations of skills: discover, read and list them, begin and end a use, compare variants,
check.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.clock import iso
from kl_hooks.errors import EnvironmentProblem, ForPeople, UsageProblem
from kl_hooks.kinds.catalog import SKILL
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.model.problem import Problem
from kl_hooks.model.record import Record
from kl_hooks.model.symbol import NodeId
from kl_hooks.operations.operation import TOP, Listing, Operation
from kl_hooks.skills import health as conflicts
from kl_hooks.skills import library
from kl_hooks.skills.uses import (
    Effectiveness,
    Outcome,
    SkillContext,
    Use,
    better_variants,
    effectiveness_of,
    end_use,
    outcomes,
    promote,
    skill_context,
    start_use,
    uses,
    variants,
)
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace

_BUDGET: Final = Parameter(
    "Most tokens of instructions.", bounds=(0, 100_000), is_default_shown=True
)
_NAME: Final = Parameter(
    "Its name or ID.", name="skill", argument="NAME", aliases=("skill_id", "id", "name")
)
_SEED: Final = Parameter(
    "What chooses the variant; else the session. The same seed, the same variant."
)


class DiscoverRequest(NamedTuple):
    """A task."""

    task: Annotated[str, Parameter("The task.", argument="TASK", aliases=("description", "query"))]
    mode: Annotated[
        str,
        Parameter(
            "auto: with instructions; manifest: names and descriptions.",
            choices=library.MODES,
            is_default_shown=True,
        ),
    ] = library.MODES[0]
    budget: Annotated[int, _BUDGET] = library.BUDGET
    limit: Annotated[int, TOP._replace(bounds=(1, 100))] = 10


class Match(NamedTuple):
    """A skill that a task needs."""

    record: Record
    score: float
    depth: int
    reason: str
    has_instructions: bool
    """Whether they fit into the budget."""


class Matches(NamedTuple):
    """The skills that a task needs."""

    matches: tuple[Match, ...]
    discovery: tuple[str, ...]
    """What took part: words, meaning, graph."""
    not_in_force: int
    note: str
    """Why meaning took no part."""


def _hidden_names(ws: Workspace, access: Access) -> frozenset[str]:
    """Return the names of the skills that are hidden: a name is one word, which no text is searched
    for.
    """
    if access.shows_all:
        return frozenset()
    skills = library.all_skills(ws)
    return frozenset(skill.title for skill in skills if not access.shows(skill))


def _discover(ws: Workspace, request: DiscoverRequest, access: Access) -> Matches:
    discovery = library.discover(
        ws, request.task, request.mode, request.budget, request.limit, access.shown
    )
    matches = tuple(
        Match(*match, has_instructions=match.record.id in discovery.instructions)
        for match in discovery.found
    )
    return Matches(matches, discovery.by, discovery.not_in_force, discovery.note)


def _matches_to_dict(matches: Matches) -> dict[str, Any]:
    return {
        "skills": [_match_to_dict(match) for match in matches.matches],
        "by": list(matches.discovery),
        "not_in_force": matches.not_in_force,
        "note": matches.note,
    }


def _match_to_dict(match: Match) -> dict[str, Any]:
    row = {
        **library.summary(match.record),
        "score": round(match.score, 3),
        "depth": match.depth,
        "reason": match.reason,
    }
    return row | ({"instructions": match.record.body.strip()} if match.has_instructions else {})


DISCOVER: Final = Operation(
    "skill discover",
    """List the skills in force that TASK needs: by words, by meaning where an embedder is
    installed, by relations.
    """,
    DiscoverRequest,
    _discover,
    _matches_to_dict,
    "kl.skill.discovery/1",
    'kl skill discover "fill in a PDF form" --mode manifest',
    tool="discover_skills",
)


class ContextRequest(NamedTuple):
    """One skill."""

    name: Annotated[str, _NAME]
    budget: Annotated[int, _BUDGET] = library.BUDGET


def _context(ws: Workspace, request: ContextRequest, access: Access) -> SkillContext:
    context = skill_context(ws, request.name, request.budget)
    hidden = _hidden_names(ws, access)
    missing = tuple(name for name in context.missing if name not in hidden)
    relations = tuple(edge for edge in context.relations if not {edge[0], edge[2]} & hidden)
    return context._replace(missing=missing, relations=relations)


def _context_to_dict(context: SkillContext) -> dict[str, Any]:
    return {
        **library.summary(context.record),
        "in_force": context.is_in_force,
        # what nobody has accepted is no instruction: the file is named, and not quoted
        "instructions": context.record.body.strip() if context.is_in_force else "",
        "requires": [
            library.summary(required.record)
            | {"instructions": required.record.body.strip() if required.has_instructions else ""}
            for required in context.required
        ],
        "missing": list(context.missing),
        "relations": [list(relation) for relation in context.relations],
        "effectiveness": _effectiveness_to_dict(context.effectiveness),
    }


def _effectiveness_to_dict(effectiveness: Effectiveness) -> dict[str, Any]:
    return {"line": effectiveness.line(), **effectiveness.to_dict()}


CONTEXT: Final = Operation(
    "skill context",
    "Show one skill with its instructions, what it requires, and how well it does.",
    ContextRequest,
    _context,
    _context_to_dict,
    "kl.skill.context/1",
    "kl skill context pdf-forms",
    tool="get_skill_context",
)


class ListRequest(NamedTuple):
    """Which skills."""

    category: Annotated[
        str, Parameter("Its category.", choices=tuple(SKILL.by_name["category"].choices))
    ] = ""
    status: Annotated[str, Parameter("Only in this status.", choices=tuple(SKILL.statuses))] = ""
    limit: Annotated[int, TOP._replace(bounds=(1, 500))] = 50


class SkillList(NamedTuple):
    """Skills."""

    skills: Listing


def _list(ws: Workspace, request: ListRequest, _access: Access) -> SkillList:
    from kl_hooks.records.liveness import live_records
    from kl_hooks.records.query import RecordFilter, list_records

    statuses = (request.status,) if request.status else SKILL.live
    records = list_records(ws, RecordFilter(("skill",), statuses))
    # what nobody accepted is listed where its status is asked for, and never as something to follow
    if not request.status:
        records = live_records(ws, records)
    listed = (record for record in records if request.category in ("", record.text("category")))
    return SkillList(Listing(tuple(listed), request.limit))


def _list_to_dict(skill_list: SkillList) -> dict[str, Any]:
    rows = [library.summary(record) for record in skill_list.skills.shown]
    return {"skills": rows, "total": skill_list.skills.total}


LIST: Final = Operation(
    "skill list",
    "List the skills; those in force unless a status is named.",
    ListRequest,
    _list,
    _list_to_dict,
    "kl.skill.list/1",
    "kl skill list --status active",
    tool="list_skills",
)


class UseRequest(NamedTuple):
    """What is used."""

    name: Annotated[str, _NAME]
    seed: Annotated[str, _SEED] = ""
    author: str = ""


def _use(ws: Workspace, request: UseRequest, access: Access) -> Use:
    require_initialized(ws)
    # nobody follows what he may not read
    access.require_shown(library.find_skill(ws, request.name))
    return start_use(ws, request.name, request.seed, request.author)


def _use_to_dict(use: Use) -> dict[str, Any]:
    names = ("name", "variant", "path", "version", "seed", "session")
    return {"use": use.id, **{name: getattr(use, name) for name in names}, "at": iso(use.at)}


USE: Final = Operation(
    "skill use",
    """Record that a skill is used from now on; print the file to follow. Receipts of this session
    count for it.
    """,
    UseRequest,
    _use,
    _use_to_dict,
    "kl.skill.use/1",
    "kl skill use pdf-forms --seed TASK-42",
    writes=True,
)


class DoneRequest(NamedTuple):
    """Which use is over."""

    use: Annotated[
        str,
        Parameter("Its ID, or the name of the skill.", argument="USE|NAME", aliases=("name",)),
    ]
    result: Annotated[
        str,
        Parameter(
            "Its outcome; runs of tests and commits count for more.",
            choices=("success", "failure"),
            flags=("It succeeded; runs of tests and commits count for more.", "It failed."),
            is_personal=True,
        ),
    ] = ""
    author: str = ""


class EndedUse(NamedTuple):
    """A use that is over."""

    use: Use
    outcome: Outcome


def _done(ws: Workspace, request: DoneRequest, _access: Access) -> EndedUse:
    require_initialized(ws)
    success = {"success": True, "failure": False}.get(request.result)
    use = end_use(ws, request.use, success, request.author)
    return EndedUse(use, outcomes(ws, uses(ws))[use.id])


def _done_to_dict(ended: EndedUse) -> dict[str, Any]:
    use, outcome = ended
    return {
        "use": use.id,
        "name": use.name,
        "variant": use.variant,
        "success": outcome.success,
        "reasons": list(outcome.reasons),
    }


DONE: Final = Operation(
    "skill done",
    "Record that a use is over, and print its outcome by the receipts of its session.",
    DoneRequest,
    _done,
    _done_to_dict,
    "kl.skill.done/1",
    "kl skill done pdf-forms --success",
    writes=True,
)


class SkillRequest(NamedTuple):
    """One skill."""

    name: Annotated[str, _NAME]


class Variant(NamedTuple):
    """How well a variant of a skill does."""

    name: str
    traffic: int | None
    """Percent of the uses; None: that of the others leaves."""
    effectiveness: Effectiveness


class Variants(NamedTuple):
    """The variants of a skill."""

    record: Record
    variants: tuple[Variant, ...]
    winner: str
    """The one that does better; empty: none."""


def _versions(ws: Workspace, request: SkillRequest, _access: Access) -> Variants:
    require_initialized(ws)
    record = library.find_skill(ws, request.name)
    shares = {name: share for name, (_, share) in variants(ws, record).items()}
    skill_uses = [use for use in uses(ws) if use.skill == record.id]
    names = dict.fromkeys(("main", *shares, *(use.variant for use in skill_uses)))
    rows = [
        Variant(name, shares.get(name), effectiveness_of(ws, [record], name)[0][record.id])
        for name in names
    ]
    results = {use: outcome.success for use, outcome in outcomes(ws, skill_uses).items()}
    winner = better_variants(skill_uses, results).get(record.id, ("",))[0]
    return Variants(record, tuple(rows), winner)


def _versions_to_dict(compared: Variants) -> dict[str, Any]:
    rows = [
        {
            "variant": variant.name,
            "traffic": variant.traffic,
            **_effectiveness_to_dict(variant.effectiveness),
        }
        for variant in compared.variants
    ]
    record = compared.record
    return {"id": record.id, "name": record.title, "variants": rows, "winner": compared.winner}


VERSIONS: Final = Operation(
    "skill versions",
    """Compare the variants of a skill: the SKILL.md, and each `SKILL.NAME.md` in its folder that is
    committed.
    """,
    SkillRequest,
    _versions,
    _versions_to_dict,
    "kl.skill.versions/1",
    "kl skill versions pdf-forms",
    is_tool=False,
)


class PromoteRequest(NamedTuple):
    """Which variant of which skill."""

    name: Annotated[str, _NAME]
    variant: Annotated[str, Parameter("Its name.", argument="VARIANT")]


class Promoted(NamedTuple):
    """A variant that became the skill."""

    path: str
    version: str
    variant: str


def _promote(ws: Workspace, request: PromoteRequest, _access: Access) -> Promoted:
    require_initialized(ws)
    return Promoted(*promote(ws, request.name, request.variant), request.variant)


PROMOTE: Final = Operation(
    "skill promote",
    "Make a variant the SKILL.md, as the next minor version. For people.",
    PromoteRequest,
    _promote,
    Promoted._asdict,
    "kl.skill.promoted/1",
    "kl skill promote pdf-forms b",
    is_tool=False,
)


class CheckRequest(NamedTuple):
    """What to do about conflicts, beside listing them; only a person changes anything."""

    apply: Annotated[
        bool,
        Parameter("Make the changes that are shown. For people.", is_personal=True),
    ] = False
    acknowledged: Annotated[
        str,
        Parameter("A person knows of it.", name="acknowledge", metavar="KEY", is_personal=True),
    ] = ""
    resolved: Annotated[
        str,
        Parameter(
            "It is dealt with: not reported for 30 days.",
            name="resolve",
            metavar="KEY",
            is_personal=True,
        ),
    ] = ""
    dismissed: Annotated[
        str,
        Parameter(
            "It is none: not reported for 30 days.",
            name="dismiss",
            metavar="KEY",
            is_personal=True,
        ),
    ] = ""
    reason: Annotated[str, Parameter("Why; --dismiss needs it.", is_personal=True)] = ""
    limit: Annotated[int, TOP] = 50
    author: str = ""
    """Then a tool asks, which records nothing."""


class ShownConflict(NamedTuple):
    """A conflict, and its weight at this moment."""

    conflict: conflicts.Conflict
    now: int


class Check(NamedTuple):
    """Conflicts between skills."""

    conflicts: Listing
    """Of `ShownConflict`, the most urgent first."""
    suppressed: int
    changes: tuple[conflicts.Repair, ...]
    """That were made."""
    unread: tuple[Problem, ...]
    """Files that can't be read."""
    is_urgent: bool
    """Whether a critical or high one is left."""


def _check(ws: Workspace, request: CheckRequest, access: Access) -> Check:
    from kl_hooks.records.sync import last_sync

    if request.author:
        report = conflicts.check(ws, record=False)
    else:
        require_initialized(ws)
        _decide(ws, request)
        report = conflicts.check(ws)
    state = last_sync(ws)
    if state.trouble:  # a check of what was indexed before could pass what is wrong now
        raise EnvironmentProblem(
            f"the skills can't be read: {state.trouble}", place=str(ws.root), hint="See: kl doctor"
        )
    folders = tuple(f"{folder}/" for folder in SKILL.folders)
    if request.apply:
        changes = conflicts.apply_repairs(ws, report.open)
    else:
        changes = []
    left = conflicts.check(ws) if request.apply else report
    hidden = _hidden_names(ws, access)
    shown = (conflict for conflict in report.open if not hidden.intersection(conflict.skills))
    return Check(
        Listing(
            tuple(ShownConflict(conflict, ws.clock.now()) for conflict in shown), request.limit
        ),
        report.suppressed,
        tuple(changes),
        tuple(problem for problem in state.problems if problem.path.startswith(folders)),
        any(conflict.severity in ("critical", "high") for conflict in left.open),
    )


def _decide(ws: Workspace, request: CheckRequest) -> None:
    """Store what a person states about conflicts. ForPeople for an agent."""
    from kl_hooks.evidence.provenance import agent

    decisions = {name: getattr(request, name) for name in ("acknowledged", "resolved", "dismissed")}
    name = agent(ws.environ)
    if name and (request.apply or any(decisions.values())):
        raise ForPeople(
            f"only a person changes skills or conflicts, and this is {name}.",
            place="kl skill check",
        )
    if request.dismissed and not request.reason.strip():
        hint = "Give it: --reason …"
        raise UsageProblem("dismiss needs a reason.", place=request.dismissed, hint=hint)
    for state, key in decisions.items():
        if key:
            conflicts.decide(ws, key, state, request.reason)


def _check_to_dict(check: Check) -> dict[str, Any]:
    return {
        "conflicts": [shown.conflict.to_dict(shown.now) for shown in check.conflicts.shown],
        "total": check.conflicts.total,
        "suppressed": check.suppressed,
        "changed": [repair._asdict() for repair in check.changes],
        "unread": [
            {"path": problem.path, "line": problem.line, "reason": problem.message}
            for problem in check.unread
        ],
    }


CHECK: Final = Operation(
    "skill check",
    """List conflicts: duplicates, overlaps, cycles, missing requirements, contradictions, stale and
    unconnected skills.

    Exit code 1 where there is a critical or high one that --apply does not end, or a file that
    can't be read. Nothing is changed without it.
    """,
    CheckRequest,
    _check,
    _check_to_dict,
    "kl.skill.check/2",
    "kl skill check --apply",
    progress="Reading skills",
)


class HealthRequest(NamedTuple):
    """How many suggestions."""

    limit: Annotated[int, TOP._replace(bounds=(1, 500))] = 10


class ShownHealth(NamedTuple):
    """The health of all skills, and what would improve it."""

    health: conflicts.Health | None
    """None: there is no active skill."""
    coverage: library.Coverage
    suggestions: Listing


def _health(ws: Workspace, request: HealthRequest, access: Access) -> ShownHealth:
    covered = library.coverage(library.all_skills(ws), library.demanded_categories(ws))
    hidden = _hidden_names(ws, access)
    shown = (
        suggestion
        for suggestion in conflicts.suggestions(ws)
        if not hidden.intersection(suggestion.skills)
    )
    return ShownHealth(conflicts.health(ws), covered, Listing(tuple(shown), request.limit))


def _health_to_dict(shown: ShownHealth) -> dict[str, Any]:
    suggestions = {
        "suggestions": [suggestion._asdict() for suggestion in shown.suggestions.shown],
        "suggestions_total": shown.suggestions.total,
    }
    if shown.health is None:
        return {"score": None, **suggestions}
    return {**shown.health.to_dict(), "coverage": shown.coverage.to_dict(), **suggestions}


HEALTH: Final = Operation(
    "skill health",
    """Show the health of the active skills: 0 to 100, with the points of each term; then what would
    improve them.

    Suggestions follow from recorded uses: a variant that does better, a skill that mostly fails,
    skills that are used together without a relation, instructions that are too long for an answer,
    categories without a skill.
    """,
    HealthRequest,
    _health,
    _health_to_dict,
    "kl.skill.health/2",
    "kl skill health",
    progress="Reading skills",
)


class GapsRequest(NamedTuple):
    """Nothing is asked."""


class Gap(NamedTuple):
    """Memories that no skill teaches."""

    category: str
    memories: tuple[NodeId, ...]
    recommendation: str


class Gaps(NamedTuple):
    """What no skill teaches."""

    gaps: tuple[Gap, ...]


def _gaps(ws: Workspace, _request: GapsRequest, _access: Access) -> Gaps:
    require_initialized(ws)
    return Gaps(
        tuple(
            Gap(gap["category"], tuple(map(NodeId, gap["memories"])), gap["recommendation"])
            for gap in library.gaps(ws)
        )
    )


def _gaps_to_dict(gap_list: Gaps) -> dict[str, Any]:
    return {"gaps": [{**gap._asdict(), "memories": list(gap.memories)} for gap in gap_list.gaps]}


GAPS: Final = Operation(
    "skill gaps",
    "List what was learned three times or more, and no skill teaches.",
    GapsRequest,
    _gaps,
    _gaps_to_dict,
    "kl.skill.gaps/1",
    "kl skill gaps",
    is_tool=False,
    progress="Reading skills",
)


class TeamRequest(NamedTuple):
    """A task."""

    task: Annotated[str, Parameter("The task.", argument="TASK")]


def _team(ws: Workspace, request: TeamRequest, access: Access) -> library.Team:
    return library.team(
        list(library.discover(ws, request.task, "manifest", select=access.shown).found)
    )


def _team_to_dict(team: library.Team) -> dict[str, Any]:
    members: Mapping[str, Any] = {agent: list(skills) for agent, skills in team.members.items()}
    return {**team._asdict(), "members": members}


TEAM: Final = Operation(
    "skill team",
    "Put at most five agents together that have the skills TASK needs.",
    TeamRequest,
    _team,
    _team_to_dict,
    "kl.skill.team/1",
    'kl skill team "fill in a PDF form and mail it"',
)


OPERATIONS: Final = (
    DISCOVER,
    CONTEXT,
    LIST,
    USE,
    DONE,
    VERSIONS,
    PROMOTE,
    CHECK,
    HEALTH,
    GAPS,
    TEAM,
)
