"""The skills in force: which of them a task needs, what these need in turn, who has them, and what
is missing.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.documents.meaning import find_near
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.index.index import stem
from kl_hooks.index.postings import significant_words
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.text import CHARACTERS_OF_A_TOKEN, one_line
from kl_hooks.records.document import SKILL_NAME, skill_node
from kl_hooks.records.liveness import live_records
from kl_hooks.records.query import RecordFilter, get_record, list_records
from kl_hooks.records.retrieval import current_candidates

if TYPE_CHECKING:
    from kl_hooks.model.package import Candidate, Task
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace

RELATIONS: Final = ("requires", "enhances", "composes", "succeeds")
MODES: Final = ("auto", "manifest")
"""auto: with the instructions, as far as the budget allows. manifest: names and descriptions alone.
"""
BUDGET: Final = 2_000
"""Tokens of the instructions that one answer has (requirement D38)."""
_SEEDS = 10
_DEPTH = 3
_NEAR = 0.4
"""Skills that a search starts from, how far it follows relations, and the similarity that a start
needs.
"""
_TEAM: Final = 5
_OFFERED: Final = 5
"""Skills that a context package is offered."""
_UNKNOWN: Final = 0.25
"""What a word counts that no skill has: a task names much that no skill can know of."""
_LEARNED: Final = 70
"""Importance in percent from which a memory shows what is needed."""
_SAME_SORT: Final = 3
"""Memories of one category without a skill that are a gap."""
_TAUGHT: Final = 0.5
"""Similarity from which a skill covers a memory."""


class Found(NamedTuple):
    """A skill that a task needs, and why."""

    record: Record
    score: float
    """0 to 1.1."""
    depth: int
    """Relations between it and what the task names; 0: it matches itself."""
    reason: str


class Discovery(NamedTuple):
    """The answer to a task."""

    found: tuple[Found, ...]
    """Best first."""
    instructions: Mapping[str, str]
    """ID → text of the skill, of those that fit."""
    by: tuple[str, ...]
    """What took part: words, meaning, graph."""
    not_in_force: int
    """Skills that are drafts, deprecated, without a valid name, or not accepted."""
    note: str = ""
    """Why meaning took no part; empty: it did."""


class Coverage(NamedTuple):
    """What the skills in force cover."""

    categories: Mapping[str, int]
    """Category that is in demand → skills in force."""
    edges: int
    skills: int

    @property
    def ratio(self) -> float:
        """The share of the categories in demand that have a skill."""
        if not self.categories:
            return 0.0
        return sum(map(bool, self.categories.values())) / len(self.categories)

    @property
    def connectivity(self) -> float:
        """Relations of all that are possible: edges / (n(n - 1))."""
        if self.skills > 1:
            return self.edges / (self.skills * (self.skills - 1))
        return 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return it as in JSON."""
        return {
            "ratio": round(self.ratio, 3),
            "connectivity": round(self.connectivity, 5),
            **self._asdict(),
        }


class Team(NamedTuple):
    """Agents that together have what a task needs."""

    needed: tuple[str, ...]
    members: Mapping[str, tuple[str, ...]]
    """Agent → the needed skills that nobody before it has."""
    missing: tuple[str, ...]
    """Needed skills that no agent has."""


def all_skills(ws: Workspace) -> list[Record]:
    """Return every skill, whatever its status."""
    return list_records(ws, RecordFilter(("skill",), expired=True))


def skills_in_force(ws: Workspace, every: Sequence[Record] | None = None) -> list[Record]:
    """Return the skills that an agent may be shown: active, and committed or written by a person
    with kl.

    Without those whose names the format does not allow: agents that read the folders do not load
    them.
    """
    skills = all_skills(ws) if every is None else every
    return live_records(
        ws,
        [
            skill
            for skill in skills
            if skill.status == "active" and SKILL_NAME.fullmatch(skill.title)
        ],
    )


def find_skill(ws: Workspace, name: str) -> Record:
    """Return a skill by its name or ID. UsageProblem for none."""
    return get_record(ws, name.removeprefix("skill:"), "skill")


def summary(record: Record) -> dict[str, Any]:
    """Return what a list has of a skill."""
    return {
        "id": record.id,
        "name": record.title,
        "description": one_line(record.text("description"), 300),
        "category": record.text("category"),
        "version": record.text("version"),
        "status": record.status,
        "path": record.path,
    }


def edges_of(records: Sequence[Record]) -> list[tuple[str, str, str]]:
    """Return (name, relation, name) of every relation between these skills; one to itself or to
    nothing is none.
    """
    title_of = {skill_node(skill.title): skill.title for skill in records}
    return [
        (skill.title, relation, title_of[to])
        for skill in records
        for relation in RELATIONS
        for to in skill.many(relation)
        if title_of.get(to, skill.title) != skill.title
    ]


def stems(text: str) -> list[str]:
    """Return the stems of the words of a text that mean something, each once."""
    words = significant_words(text.lower().replace("-", " ").replace("_", " "))
    # of a word with digits nothing is an ending: `v11` is not `v1`
    return list(dict.fromkeys(stem(one) if one.isalpha() else one for one in words))


def text_of(record: Record) -> str:
    """Return what a skill is found by."""
    return " ".join(
        (record.title, record.text("description"), record.text("category"), *record.many("tags"))
    )


def similarities(query: str, texts: Sequence[str]) -> list[float]:
    """Return which share of a query each text has: its rare words count more, what no text has
    hardly. Pure.
    """
    bags = [frozenset(stems(one)) for one in texts]
    wanted = stems(query)
    spread = Counter(word for bag in bags for word in bag)
    weights = {
        word: (
            math.log(1 + len(bags) / spread[word])
            if spread[word]
            else _UNKNOWN * math.log(1 + len(bags))
        )
        for word in wanted
    }
    whole = sum(weights.values())
    return [
        sum(weights[word] for word in wanted if word in bag) / whole if whole else 0.0
        for bag in bags
    ]


def discover(
    ws: Workspace,
    task: str,
    mode: str = "auto",
    budget: int = BUDGET,
    limit: int = 10,
    select: Callable[[Sequence[Record]], list[Record]] = list,
) -> Discovery:
    """Return the skills that a task needs: by its words, by meaning where there is an embedder,
    then by relations. `select`: of all skills those that may be named.
    """
    every = select(all_skills(ws))
    live = skills_in_force(ws, every)
    scores = dict(
        zip(
            (skill.id for skill in live),
            similarities(task, [text_of(skill) for skill in live]),
            strict=True,
        )
    )
    methods = ["words"]
    note = ""
    try:
        for skill, score in find_near(ws, task, (), live, 4 * _SEEDS) if live else ():
            scores[skill.id] = max(scores[skill.id], score)  # type: ignore[index]  # no passages were asked for
        methods.append("meaning")
    except EnvironmentProblem as problem:
        note = f"without meaning: {problem}"
    matches = follow(live, {skill.title: scores[skill.id] for skill in live})
    if any(skill.depth for skill in matches):
        methods += ["graph"]
    matches = matches[:limit]
    if mode == "auto":
        texts = instructions(matches, budget)
    else:
        texts = {}
    return Discovery(tuple(matches), texts, tuple(methods), len(every) - len(live), note)


def follow(records: Sequence[Record], scores: Mapping[str, float]) -> list[Found]:
    """Return the skills that match, and those that lead on from them, best first. `scores`: name →
    similarity. Pure.

    From a skill the way leads to what it requires and is composed of, what enhances it, and what
    took its place.
    """
    by_name = {skill.title: skill for skill in records}
    ways: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for source, relation, target in sorted(edges_of(records)):
        if relation in ("requires", "composes"):
            ways[source].append((target, f"{source} {relation} it"))
        else:
            ways[target].append((source, f"it {relation} {target}"))
    # name last, so that equal scores have one order
    seeds = sorted(
        (name for name in by_name if scores.get(name, 0) >= _NEAR),
        key=lambda name: (-scores[name], name),
    )
    found_by_name: dict[str, Found] = {}
    front = [(name, scores[name], "matches the task") for name in seeds[:_SEEDS]]
    for depth in range(_DEPTH + 1):
        after = []
        for name, score, reason in front:
            record = by_name[name]
            # the similarity of the start fades on the way; one that states when to use it is worth
            # more
            value = score * (1 - 0.15 * depth) + (0.1 if record.text("description") else 0)
            if name in found_by_name and found_by_name[name].score >= value:
                continue
            found_by_name[name] = Found(record, value, depth, reason)
            after += [(target, score, why) for target, why in ways[name]]
        # sorted: of two equal ways to a skill the reason is always the same one
        front = sorted(after)
    return sorted(
        found_by_name.values(), key=lambda match: (-match.score, match.depth, match.record.title)
    )


def instructions(matches: Sequence[Found], budget: int = BUDGET) -> dict[str, str]:
    """Return ID → instructions, best first, of those that fit into a budget of tokens; one that
    does not hides none.
    """
    left = budget * CHARACTERS_OF_A_TOKEN
    text_of = dict[str, str]()
    for match in matches:
        text = match.record.body.strip()
        if text and len(text) <= left:
            text_of[match.record.id] = text
            left -= len(text)
    return text_of


def coverage(records: Sequence[Record], demanded: Sequence[str] = ()) -> Coverage:
    """Return what the active skills among these cover. `demanded`: further categories that are
    asked for. Pure.
    """
    active = [one for one in records if one.status == "active"]
    counts = Counter(one.text("category") for one in active)
    # a category that only a draft or a retired skill has is in demand, and not covered
    names = dict.fromkeys([*(one.text("category") for one in records), *demanded])
    return Coverage(
        {name: counts[name] for name in sorted(names) if name}, len(edges_of(active)), len(active)
    )


def demanded_categories(ws: Workspace) -> list[str]:
    """Return the categories of proposals that wait for a skill."""
    wanted = RecordFilter(("proposal",), ("draft", "proposed", "under_review", "approved"))
    return [one.text("category") for one in list_records(ws, wanted) if one.text("category")]


def team(matches: Sequence[Found]) -> Team:
    """Return at most five agents that have as much as possible of what was found; each adds the
    most that is left.

    Of two that add as much the first by name: the same task gives the same team. Pure.
    """
    skills_of_agent: dict[str, set[str]] = defaultdict(set)
    for match in matches:
        for agent in match.record.many("agents"):
            skills_of_agent[agent].add(match.record.title)
    needed = tuple(match.record.title for match in matches)
    left = set(needed)
    members = dict[str, tuple[str, ...]]()
    while len(members) < _TEAM:
        best = max(
            sorted(skills_of_agent),
            key=lambda agent: len(skills_of_agent[agent] & left),
            default="",
        )
        if not best or not skills_of_agent[best] & left:
            break
        members[best] = tuple(
            skill_name for skill_name in needed if skill_name in skills_of_agent[best] & left
        )
        left -= skills_of_agent[best]
    return Team(needed, members, tuple(skill_name for skill_name in needed if skill_name in left))


def gaps(ws: Workspace) -> list[dict[str, Any]]:
    """Return what was learned three times or more without a skill that teaches it, by category of
    the memories.
    """
    memories = live_records(ws, list_records(ws, RecordFilter(("memory",), ("approved",))))
    texts = [text_of(record) for record in skills_in_force(ws)]
    untaught: dict[str, list[Record]] = defaultdict(list)
    for record in memories:
        # nobody stated how much it matters: a person approved it, so it does
        matters = record.number("importance", _LEARNED) >= _LEARNED
        if matters and max(similarities(record.text("pattern"), texts), default=0) < _TAUGHT:
            untaught[record.text("category") or "pattern"].append(record)
    return [
        {
            "category": category,
            "memories": [record.id for record in some],
            "recommendation": (
                f"Propose a skill from {len(some)} memories of the category {category}: kl skill"
                " propose"
            ),
        }
        for category, some in sorted(untaught.items())
        if len(some) >= _SAME_SORT
    ]


def find_skills(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """Return the skills that a task needs, as candidates for its package: by words and relations,
    the best five.

    Only what is in force: a file that is not committed is an instruction that nobody has reviewed.
    """
    live = skills_in_force(ws)
    scores = similarities(task.text, [text_of(skill) for skill in live])
    matches = follow(live, {skill.title: score for skill, score in zip(live, scores, strict=True)})
    best = {match.record.id: match for match in matches[: min(limit, _OFFERED)]}
    return [
        candidate._replace(reasons=(*candidate.reasons, best[candidate.id].reason))
        for candidate in current_candidates(ws, [match.record for match in best.values()], limit)
    ]
