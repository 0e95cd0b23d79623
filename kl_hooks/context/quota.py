"""The profile `quota`: what kind of work a task is, how large its package may be, and how that
budget is divided.

Ten categories share the budget; how much each gets depends on the traits of the task: its type,
phase and complexity, whether such a task was done before, which attempt it is, and who does it. All
numbers are tables at the top.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.config.kinds_file import BUDGET_CATEGORIES
from kl_hooks.errors import UsageProblem
from kl_hooks.index.postings import text_terms
from kl_hooks.kinds.feature import feature_ids
from kl_hooks.kinds.gate import DO_NOT_ADJUST, Gate, find_role, render_role
from kl_hooks.kinds.objective import continuation, last_turns
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.package import Candidate
from kl_hooks.model.request import TYPE_ALIASES, TYPES, Request
from kl_hooks.model.text import one_line
from kl_hooks.records.liveness import live_records
from kl_hooks.records.query import RecordFilter, list_records, search_records
from kl_hooks.records.retrieval import demote_uncommitted, record_candidate

if TYPE_CHECKING:
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace

_TASK_ID: Final = lazy_pattern(r"\bTASK-[A-Za-z0-9][\w-]*")

_DEFAULT_COMPLEXITY: Final = 5
_BASE_TOKENS: Final = ((3, 2_000), (6, 4_000), (10, 6_000))
"""(Up to this complexity, tokens)."""
_SIMILARITY_THRESHOLD: Final = 70
"""Percent, above which a task that was done before counts as one of the same sort."""
_FEW_SIMILAR: Final = 3
_DEFAULT_TURNS: Final = 3.0
_DEFAULT_SUCCESS: Final = 0.8
_MOST_OUTCOMES: Final = 20

Weights = Mapping[str, int]
"""Category → its share of the budget, in thousandths before they are divided by their sum."""
_STANDARD: Final[Weights] = {
    "feature_context": 150,
    "similar_outcomes": 250,
    "relevant_patterns": 200,
    "architecture_context": 200,
    "warnings": 150,
    "domain_knowledge": 50,
}
_BY_TYPE: Final[Mapping[str, Weights]] = {
    "review": {"relevant_patterns": 300, "architecture_context": 250, "similar_outcomes": 150},
    "planning": {"feature_context": 250, "architecture_context": 300, "similar_outcomes": 150},
}
_BY_PHASE: Final[Mapping[str, Weights]] = {
    "implement": {"relevant_patterns": 300, "warnings": 200},
    "test": {"similar_outcomes": 350},
}
_FIRST_OF_TYPE: Final[Weights] = {"architecture_context": 300, "relevant_patterns": 250}
_REFINEMENT: Final[Weights] = {
    "warnings": 350,
    "similar_outcomes": 300,
    "relevant_patterns": 150,
    "architecture_context": 100,
    "feature_context": 50,
    "domain_knowledge": 50,
}
_AUTOBUILD: Final[Weights] = {
    "feature_context": 100,
    "similar_outcomes": 150,
    "relevant_patterns": 150,
    "architecture_context": 100,
    "warnings": 100,
    "domain_knowledge": 50,
    "role_constraints": 100,
    "quality_gate_configs": 100,
    "turn_states": 100,
    "implementation_modes": 50,
}
_BY_ACTOR: Final[Mapping[str, Weights]] = {
    "player": {"role_constraints": 150, "implementation_modes": 100},
    "coach": {"role_constraints": 120, "quality_gate_configs": 150},
}
_LATER_TURN: Final[Weights] = {"turn_states": 175, "similar_outcomes": 80, "feature_context": 80}
_AUTOBUILD_REFINEMENT: Final[Weights] = {
    "turn_states": 200,
    "warnings": 150,
    "similar_outcomes": 80,
}
_THRESHOLDS: Final[Mapping[str, Mapping[str, int]]] = {
    "": {"autobuild": 500, "first": 500, "refinement": 550, "standard": 600},
    "strict": {"autobuild": 600, "first": 600, "refinement": 650, "standard": 700},
    "relaxed": {"autobuild": 350, "first": 350, "refinement": 400, "standard": 450},
}
"""Preset → sort of task → the least relevance of an item, in thousandths; the first sort that a
task is of counts.
"""
_ACCEPTABLE: Final = 0.7
"""The least share of items above the threshold for which a retrieval counts as acceptable."""
_CATEGORY: Final = {
    "file": "relevant_patterns",
    "symbol": "relevant_patterns",
    "failing test": "warnings",
    "violation": "warnings",
    "commit": "similar_outcomes",
}
"""Kind of item that is no record → category; others are domain knowledge."""
_FIRST_WORDS: Final = {
    "review": "review",
    "audit": "review",
    "plan": "planning",
    "design": "planning",
    "document": "documentation",
}
_GATES: Final = {
    "implementation": ("implementation", "feature"),
    "refinement": ("refinement", "feature"),
    "documentation": ("documentation", "docs"),
}
"""Type of work → the types that gates name it by."""


class Traits(NamedTuple):
    """What kind of work a task is."""

    task_id: str = ""
    description: str = ""
    tech_stack: str = "python"
    task_type: str = "implementation"
    current_phase: str = "load"
    complexity: int = _DEFAULT_COMPLEXITY
    is_first_of_type: bool = False
    similar_task_count: int = 0
    feature_id: str = ""
    is_refinement: bool = False
    refinement_attempt: int = 0
    previous_failure_type: str = ""
    avg_turns_for_type: float = _DEFAULT_TURNS
    success_rate_for_type: float = _DEFAULT_SUCCESS
    current_actor: str = "player"
    turn_number: int = 0
    is_autobuild: bool = False
    has_previous_turns: bool = False

    @property
    def sort(self) -> str:
        """The key of its relevance threshold."""
        if self.is_autobuild:
            return "autobuild"
        if self.is_first_of_type:
            return "first"
        if self.is_refinement:
            return "refinement"
        return "standard"


def budget_tokens(traits: Traits) -> tuple[int, list[tuple[str, int]]]:
    """Return (tokens, the adjustments that made them: reason and percent, in order)."""
    total = next(
        (tokens for most, tokens in _BASE_TOKENS if 1 <= traits.complexity <= most),
        _BASE_TOKENS[1][1],
    )
    if traits.similar_task_count < _FEW_SIMILAR:
        novel = ("fewer than 3 similar tasks", 15)
    else:
        novel = ("", 0)
    candidates = [
        ("first task of its sort", 30) if traits.is_first_of_type else novel,
        ("another attempt", 20) if traits.is_refinement else ("", 0),
        ("a later turn", 15) if traits.is_autobuild and traits.turn_number > 1 else ("", 0),
        ("earlier turns", 10) if traits.is_autobuild and traits.has_previous_turns else ("", 0),
    ]
    adjustments = [(reason, percent) for reason, percent in candidates if percent]
    for _, percent in adjustments:  # in whole numbers: int(6000 * 1.15) is 6899
        total = total * (100 + percent) // 100
    return total, adjustments


def weights_of(traits: Traits) -> dict[str, int]:
    """Return the share of every category; 0 for those that only automated work has."""
    if traits.is_autobuild:
        weights = {**_AUTOBUILD, **_BY_ACTOR.get(traits.current_actor, {})}
        if traits.turn_number > 1:
            weights |= _LATER_TURN
        if traits.is_refinement:
            weights |= _AUTOBUILD_REFINEMENT
    else:
        weights = {
            **_STANDARD,
            **_BY_TYPE.get(traits.task_type, {}),
            **_BY_PHASE.get(traits.current_phase, {}),
        }
        if traits.is_first_of_type:
            weights |= _FIRST_OF_TYPE
        if traits.is_refinement:
            weights |= _REFINEMENT
    return {name: weights.get(name, 0) for name in BUDGET_CATEGORIES}


def read_threshold(text: str, traits: Traits) -> int:
    """Return the relevance threshold in thousandths. UsageProblem for what is no preset and not
    from 0 to 1.
    """
    if text in _THRESHOLDS:
        return _THRESHOLDS[text][traits.sort]
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise UsageProblem(
            f"takes strict, relaxed or 0 to 1, not {text[:40]!r}.", place="--threshold"
        )
    return round(value * 1000)


class Quota(NamedTuple):
    """A divided budget."""

    traits: Traits
    tokens: int
    """The total where none is asked for."""
    adjustments: Sequence[tuple[str, int]]
    weights: Weights
    threshold: int
    """The least relevance of an item, in thousandths."""
    categories: Mapping[str, str]
    """Kind of record → category."""

    def allocation(self, category: str, total: int) -> int:
        """Return what a category may use of so many; 0 for one that is not known."""
        return total * self.weights.get(category, 0) // sum(self.weights.values())

    def category(self, kind: str) -> str:
        """Return the category that items of a kind use."""
        return self.categories.get(kind) or _CATEGORY.get(kind, "domain_knowledge")

    def metrics(
        self, measured: Sequence[tuple[str, int, bool, bool]], used: int, total: int
    ) -> dict[str, Any]:
        """Return how good a retrieval was, of `Measured` candidates."""
        return metrics([Measured(*one) for one in measured], used, total)

    def to_dict(self, total: int) -> dict[str, Any]:
        """Return traits, shares and threshold as plain values."""
        whole = sum(self.weights.values())
        shares = {
            name: {
                "share": round(self.weights[name] / whole, 4),
                "allocated": self.allocation(name, total),
            }
            for name in BUDGET_CATEGORIES
        }
        adjustments = [
            {"reason": reason, "percent": percent} for reason, percent in self.adjustments
        ]
        return {
            "traits": self.traits._asdict(),
            "adjustments": adjustments,
            "shares": shares,
            "threshold": self.threshold / 1000,
        }


def plan_quota(ws: Workspace, request: Request, text: str) -> Quota:
    """Return the divided budget for a request. UsageProblem for options that name nothing known."""
    traits = _read_traits(ws, request, text)
    tokens, adjustments = budget_tokens(traits)
    categories = {kind.name: kind.budget_category for kind in ws.kinds.values()}
    threshold = read_threshold(request.threshold, traits)
    return Quota(traits, tokens, adjustments, weights_of(traits), threshold, categories)


def _read_traits(ws: Workspace, request: Request, text: str) -> Traits:
    """Return the traits of a task, from the request, its text, and how similar tasks ended."""
    words = text.split()
    if words:
        first = _FIRST_WORDS.get(words[0].lower().strip(":,."), TYPES[0])
    else:
        first = TYPES[0]
    feature = feature_ids(text)
    traits = Traits(
        task_id=_named_task(text),
        description=one_line(text),
        task_type=TYPE_ALIASES.get(request.type, request.type) or first,
        current_phase=request.phase or "load",
        complexity=request.complexity or _DEFAULT_COMPLEXITY,
        feature_id=feature[0] if feature else "",
        is_refinement=request.attempt > 0,
        refinement_attempt=request.attempt,
        current_actor=request.actor or "player",
        turn_number=request.turn,
        is_autobuild=bool(request.turn or request.actor),
    )
    if traits.task_type not in TYPES:
        raise UsageProblem(
            f"{traits.task_type!r} is no type of work.",
            place="--type",
            hint=f"Use {', '.join(TYPES)}.",
        )
    built_in_actors = ("player", "coach")
    if (
        traits.current_actor not in built_in_actors
        and find_role(_live(ws, "role"), traits.current_actor) is None
    ):
        hint = "Use player, coach, or the name of a role: kl role list"
        raise UsageProblem(f"{traits.current_actor!r} is no role here.", place="--actor", hint=hint)
    traits = traits._replace(has_previous_turns=bool(_turns(ws, traits)))
    return _with_history(ws, traits, text)


def _named_task(text: str) -> str:
    """Return the ID of a task in a text: `TASK-42`; empty where there is none."""
    match = _TASK_ID.search(text)
    if not match:
        return ""
    return match[0]


def _with_history(ws: Workspace, traits: Traits, text: str) -> Traits:
    """Return the traits with what the outcomes of tasks with such words show."""
    outcomes = live_records(
        ws, search_records(ws, words_of(text), RecordFilter(("outcome",)), _MOST_OUTCOMES)
    )
    asked = set(text_terms(text))
    near = [outcome for outcome in outcomes if _similarity(asked, outcome) > _SIMILARITY_THRESHOLD]
    cycles = [
        outcome.number("review_cycles") + 1 for outcome in near if "review_cycles" in outcome.values
    ]
    ends = [bool(outcome.values["success"]) for outcome in near if "success" in outcome.values]
    failed = [outcome for outcome in near if outcome.values.get("success") is False]
    failed.sort(key=lambda outcome: (outcome.text("date"), outcome.id))
    return traits._replace(
        similar_task_count=len(near),
        is_first_of_type=not near,
        avg_turns_for_type=round(sum(cycles) / len(cycles), 2) if cycles else _DEFAULT_TURNS,
        success_rate_for_type=round(sum(ends) / len(ends), 2) if ends else _DEFAULT_SUCCESS,
        previous_failure_type=failed[-1].text("outcome_type")
        if failed and traits.is_refinement
        else "",
    )


def words_of(text: str) -> list[str]:
    """Return the words of a task to search outcomes by."""
    return list(dict.fromkeys(re.findall(r"\w{3,}", text[:2_000])))[:40]


def _similarity(asked: set[str], outcome: Record) -> int:
    """Return the cosine of two sets of terms, in percent: of the task, and of the title and
    requirements of another.
    """
    terms = [set(text_terms(outcome.text(name))) for name in ("title", "task_requirements")]
    similarities = (
        round(100 * len(asked & outcome_terms) / sqrt(len(asked) * len(outcome_terms)))
        for outcome_terms in terms
        if asked and outcome_terms
    )
    return max(similarities, default=0)


def _live(ws: Workspace, kind: str) -> list[Record]:
    return live_records(ws, list_records(ws, RecordFilter((kind,))))


def _turns(ws: Workspace, traits: Traits) -> list[Record]:
    if not traits.is_autobuild or not traits.feature_id:
        return []
    return last_turns(_live(ws, "turn"), traits.feature_id, traits.task_id)


def actor_items(ws: Workspace, traits: Traits) -> list[Candidate]:
    """Return what automated work gets by role, type and turn, whatever its words are: role, gates,
    turns, modes.
    """
    if not traits.is_autobuild:
        return []
    candidates: list[Candidate] = []
    role = find_role(_live(ws, "role"), traits.current_actor, "feature-build")
    if role:
        candidate = record_candidate(ws, role)
        candidates.append(
            candidate._replace(
                text=render_role(role).strip(),
                reasons=(*candidate.reasons, "the role of the actor"),
            )
        )
    types = (
        ("testing",)
        if traits.current_phase == "test"
        else _GATES.get(traits.task_type, (traits.task_type,))
    )
    gates = _live(ws, "gate")
    for gate in next(
        (some for one in types if (some := Gate.fitting(gates, one, traits.complexity))), []
    ):
        line = Gate(gate).line()
        candidates.append(
            record_candidate(ws, gate)._replace(text=f"{line}\n{DO_NOT_ADJUST}", summary=line)
        )
    turns = _turns(ws, traits)
    if turns:
        candidates.append(
            record_candidate(ws, turns[-1])._replace(text=continuation(turns).strip())
        )
    modes = _live(ws, "mode")
    candidates += [record_candidate(ws, one) for one in modes if one.values.get("default")]
    lasting = [one._replace(is_lasting=True) for one in candidates]
    return demote_uncommitted(ws, lasting)


class Measured(NamedTuple):
    """A candidate of a divided budget, as the metrics count it."""

    category: str
    relevance: int
    """Thousandths."""
    above: bool
    """Whether that is enough."""
    included: bool


def metrics(measured: Sequence[Measured], used: int, total: int) -> dict[str, Any]:
    """Return how good a retrieval was: relevance, coverage of the categories, use of the budget."""
    above = [one for one in measured if one.above]
    rate = len(above) / len(measured) if measured else 0.0
    coverage = {}
    for name in BUDGET_CATEGORIES:
        fitting = [one.included for one in above if one.category == name]
        coverage[name] = round(sum(fitting) / len(fitting), 4) if fitting else None
    if measured:
        mean = sum(one.relevance for one in measured) / len(measured) / 1000
    else:
        mean = 0.0
    return {
        "avg_relevance_score": round(mean, 4),
        "total_items_retrieved": len(measured),
        "items_above_threshold": len(above),
        "items_below_threshold": len(measured) - len(above),
        "category_coverage": coverage,
        "budget_utilization": round(used / total, 4),
        "relevance_rate": round(rate, 4),
        "acceptable": rate >= _ACCEPTABLE,
    }
