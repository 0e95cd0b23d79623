"""What is wrong with the skills: conflicts with their states and repairs, and their health as one
number of terms.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import DAY, age_in_days, is_older, iso, micros
from kl_hooks.errors import UsageProblem
from kl_hooks.graph.algorithms import components
from kl_hooks.hookspecs import Policy
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.lifecycle import Change, Lifecycle
from kl_hooks.model.text import CHARACTERS_OF_A_TOKEN, counted, one_line
from kl_hooks.records.document import SKILL_NAME, change_fields, skill_node
from kl_hooks.records.events import Event, append_events, list_events
from kl_hooks.records.write import change_record
from kl_hooks.skills.library import (
    RELATIONS,
    all_skills,
    coverage,
    demanded_categories,
    edges_of,
    stems,
)
from kl_hooks.skills.uses import (
    STARTED,
    better_variants,
    effectiveness_of,
    outcomes,
    uses,
    variants,
)
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.model.record import Record
    from kl_hooks.skills.uses import Effectiveness, Use
    from kl_hooks.workspace import Workspace

SEVERITIES: Final[Mapping[str, int]] = {"critical": 8, "high": 4, "medium": 2, "low": 1}
"""Severity → its weight."""
STATES: Final = ("detected", "acknowledged", "resolved", "dismissed")
_SORTS: Final[Mapping[str, str]] = {
    "duplicate": "critical",
    "circular_dependency": "high",
    "dependency": "high",
    "contradiction": "high",
    "overlapping": "medium",
    "version_mismatch": "medium",
    "naming": "low",
    "stale": "low",
    "orphan": "low",
}
"""Conflict → its severity."""
_CONFLICT: Final = "skill_conflict"
_REPAIRED: Final = "kl skill check --apply"
"""Reason of a conflict that was resolved by a change."""
_SUPPRESSED: Final = 30
"""Days in which a conflict that was resolved or dismissed is not reported again."""
_DUPLICATE = 0.92
_OVERLAPPING = 0.70
_CONNECTED = 0.5
"""Similarities from which two skills are one, get in each other's way, and belong together."""
_MOST_LINKS: Final = 5
_LONGEST_TEXT: Final = 5_000
"""Tokens of instructions: https://agentskills.io/specification, "Progressive disclosure"."""
_TOGETHER: Final = 3
"""Sessions that used two skills, from which they belong together."""
_LONGEST_CYCLE: Final = 10
_CROWDED: Final = 32
"""Skills with one rare word that a skill is compared with: those nearest to it in length. It bounds
the work where thousands of skills have one text."""
_REQUIREMENT: Final = lazy_pattern(r"([a-z0-9-]+)>=([0-9][0-9.]*)")


class Repair(NamedTuple):
    """A change of one skill that ends a conflict."""

    skill: str
    """Its name."""
    changes: Mapping[str, Any]
    """Field → its new value; `+ NODE` and `- NODE`: one relation that is added or removed."""
    text: str
    """The change, in one line."""


class Conflict(NamedTuple):
    """Something that is wrong with one skill, or between some."""

    sort: str
    skills: tuple[str, ...]
    """Names."""
    reason: str
    similarity: float = 0.0
    repairs: tuple[Repair, ...] = ()
    """What `kl skill check --apply` changes; none: a person has to think."""
    state: str = STATES[0]
    since: int = 0
    """When it was detected first, microseconds."""

    @property
    def key(self) -> str:
        """The name it is acknowledged or dismissed by: the same as long as sort and skills are."""
        return hashlib.sha256(
            "\0".join((self.sort, *self.skills)).encode("utf-8", "replace")
        ).hexdigest()[:8]

    @property
    def severity(self) -> str:
        """critical, high, medium or low."""
        return _SORTS[self.sort]

    def priority(self, now: int) -> float:
        """Return its weight, up to three times as much the longer it is there, and up to twice for
        alike texts.
        """
        if self.since:
            days = age_in_days(now, self.since)
        else:
            days = 0.0
        return SEVERITIES[self.severity] * min(max(days / 30, 1.0), 3.0) * (1 + self.similarity)

    def to_dict(self, now: int) -> dict[str, Any]:
        """Return it as in JSON."""
        return {
            "key": self.key,
            "type": self.sort,
            "severity": self.severity,
            "skills": list(self.skills),
            "reason": self.reason,
            "similarity": round(self.similarity, 3),
            "state": self.state,
            "since": iso(self.since) if self.since else "",
            "priority": round(self.priority(now), 2),
            "repairs": [one._asdict() for one in self.repairs],
        }


class Facts(NamedTuple):
    """The use and the age of a skill."""

    uses: int = 0
    idle: float = 0.0
    """Days since it was used last; since it was made where it never was."""
    age: float = 0.0
    """Days since it was made."""


class Suggestion(NamedTuple):
    """Something that would make skills do better, by what was recorded of their uses. Nothing is
    changed by itself.
    """

    type: str
    """promote, revise, relate, shorten or cover."""
    skills: tuple[str, ...]
    """Names; of `cover` a category."""
    reason: str
    command: str
    """What a person runs."""


class Report(NamedTuple):
    """The answer of a check."""

    open: tuple[Conflict, ...]
    """Highest priority first."""
    suppressed: int
    """Conflicts that were resolved or dismissed less than 30 days ago."""


class Health(NamedTuple):
    """The health of all skills, with its terms."""

    coverage: float
    edges: float
    """Relations that a skill has, in either direction, on average."""
    used: float
    """The share that was used in the last 30 days."""
    effectiveness: float
    conflicts: float
    """Open conflicts per skill."""

    @property
    def terms(self) -> dict[str, float]:
        """Name → points, of 100. The weights of the model are divided by 0.9, or 90 would be the
        most.
        """
        parts = {
            "coverage": 0.25 * self.coverage,
            "relations": 0.20 * min(self.edges / 3, 1),
            "used": 0.20 * self.used,
            "effectiveness": 0.25 * self.effectiveness,
            "conflicts": -0.10 * min(self.conflicts, 1),
        }
        return {name: 100 * part / 0.9 for name, part in parts.items()}

    @property
    def score(self) -> float:
        """0 to 100."""
        return min(max(sum(self.terms.values()), 0.0), 100.0)

    @property
    def grade(self) -> str:
        """A from 90, B from 80, C from 70, D from 60, else F."""
        # rounded: 90 points are added up from five parts
        score = round(self.score, 6)
        return next(
            (
                grade
                for grade, least in (("A", 90), ("B", 80), ("C", 70), ("D", 60))
                if score >= least
            ),
            "F",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as in `kl.skill.health/2`."""
        return {
            "score": round(self.score, 1),
            "grade": self.grade,
            "terms": {name: round(points, 2) for name, points in self.terms.items()},
            "values": {name: round(value, 3) for name, value in self._asdict().items()},
        }


def check(ws: Workspace, *, record: bool = True) -> Report:
    """Return the conflicts that are open. `record`: those that are new are recorded as detected,
    which dates them.
    """
    return _check(ws, all_skills(ws), record)[0]


def _check(
    ws: Workspace, every: Sequence[Record], record: bool
) -> tuple[Report, dict[str, Effectiveness]]:
    now = ws.clock.now()
    measured, strengths = effectiveness_of(ws, every)
    created = {skill.title: _made_at(ws, skill) for skill in every}
    # before the first use that was recorded here nothing is recorded: a clone must not begin with
    # everything stale
    since = min((micros(event.at) for event in list_events(ws, name=STARTED)), default=now)
    facts = {
        skill.title: Facts(
            measured[skill.id].uses,
            age_in_days(now, measured[skill.id].last or max(created[skill.title], since)),
            age_in_days(now, created[skill.title]),
        )
        for skill in every
    }
    conflicts = list(detect(every, facts, strengths))
    states = _states(ws)
    open_ = []
    suppressed = 0
    new = []
    ids = {skill.title: skill.id for skill in every}
    for conflict in conflicts:
        state, since, decided = states.get(conflict.key, ("", 0, 0))
        if state in STATES[2:]:
            if now - decided < _SUPPRESSED * DAY:
                suppressed += 1
                continue
            state = ""
        if not state:
            new.append(
                Event(
                    _CONFLICT,
                    ids[conflict.skills[0]],
                    "",
                    {"key": conflict.key, "state": STATES[0]},
                    iso(now),
                )
            )
        open_.append(conflict._replace(state=state or STATES[0], since=since if state else now))
    if record and new:
        append_events(ws, new)
    # name last, so that equal priorities have one order
    open_.sort(key=lambda conflict: (-conflict.priority(now), conflict.sort, conflict.skills))
    return Report(tuple(open_), suppressed), measured


def decide(ws: Workspace, key: str, state: str, reason: str = "") -> Conflict:
    """Record the state of a conflict. UsageProblem where none of this key is open."""
    conflict = next(
        (open_conflict for open_conflict in check(ws).open if open_conflict.key == key), None
    )
    if conflict is None:
        raise UsageProblem("no open conflict has this key.", place=key, hint="See: kl skill check")
    append_events(
        ws,
        [
            Event(
                _CONFLICT,
                _named(ws, conflict.skills[0]).id,
                "",
                {"key": key, "state": state, "reason": reason},
            )
        ],
    )
    return conflict


def apply_repairs(ws: Workspace, conflicts: Sequence[Conflict]) -> list[Repair]:
    """Make the changes that end these conflicts, each in its SKILL.md; return them. For people.

    One by one, and each from the file as it is then: two conflicts may change one skill. Not made,
    so still open: what would change a file that kl can't write, and a duplicate of a skill that was
    retired before (of a like b like c, c is no duplicate of a).
    """
    done = []
    for conflict in conflicts:
        active = {skill.title for skill in all_skills(ws) if skill.status == "active"}
        if conflict.sort == "duplicate" and not active.issuperset(conflict.skills):
            continue
        # looked at before the first change: half of a repair is none
        if not conflict.repairs or not all(_is_writable(ws, repair) for repair in conflict.repairs):
            continue
        for repair in conflict.repairs:
            record = _named(ws, repair.skill)  # read again: two changes may be of one file
            if changes := _changes(record, repair):
                change_record(ws, record, changes)
                done.append(repair)
        body = {"key": conflict.key, "state": "resolved", "reason": _REPAIRED}
        append_events(ws, [Event(_CONFLICT, _named(ws, conflict.repairs[0].skill).id, "", body)])
    return done


def _named(ws: Workspace, name: str) -> Record:
    """Return the skill of exactly this name.

    UsageProblem for none: its file was removed meanwhile.
    """
    for skill in all_skills(ws):
        if skill.title == name:
            return skill
    raise UsageProblem("there is no skill of this name any more.", place=name)


def _is_writable(ws: Workspace, repair: Repair) -> bool:
    """Return whether kl can make a change in the file of a skill: other programs may have written
    it.
    """
    try:
        record = _named(ws, repair.skill)
        changes = _changes(record, repair)
        text = (read_small(ws.root / record.path, within=ws.root) or b"").decode("utf-8")
        change_fields(ws.kinds["skill"], text, changes)
    except (UsageProblem, ValueError):  # also a UnicodeDecodeError
        return False
    return True


def _changes(record: Record, repair: Repair) -> dict[str, Any]:
    """Return the fields that a repair changes in the skill as it is now: relations are added or
    removed one by one.
    """
    changes: dict[str, Any] = {}
    for name, value in repair.changes.items():
        sign, _, node = str(value).partition(" ")
        if sign in ("+", "-"):
            items = [one for one in record.many(name) if one != node] + (
                [node] if sign == "+" else []
            )
            if tuple(items) != record.many(name):
                changes |= {name: items or None}
        elif record.values.get(name) != value:
            changes[name] = value
    return changes


def _states(ws: Workspace) -> dict[str, tuple[str, int, int]]:
    """Return key → (state, when it was detected, when it got this state): a fold over Events."""
    state_of: dict[str, tuple[str, int, int]] = {}
    for event in list_events(ws, name=_CONFLICT):
        key = str(event.body.get("key"))
        state = str(event.body.get("state"))
        moment = micros(event.at)
        if key in state_of and state != STATES[0]:
            since = state_of[key][1]
        else:
            since = moment
        # a repair that is taken back (git checkout) leaves the conflict open again: no person
        # decided about it
        state_of[key] = ("" if event.body.get("reason") == _REPAIRED else state, since, moment)
    return state_of


def _made_at(ws: Workspace, record: Record) -> int:
    """Return when a skill was made: its date, else the time of its file, which a clone has from its
    checkout on.
    """
    if record.text("date"):
        return micros(record.text("date"))
    try:
        return (ws.root / record.path).stat().st_mtime_ns // 1000
    except OSError:
        return ws.clock.now()


def detect(
    every: Sequence[Record],
    facts: Mapping[str, Facts],
    strengths: Mapping[tuple[str, str, str], float],
) -> Iterator[Conflict]:
    """Yield what is wrong. Pure. `facts`: name → its use and age; `strengths`: of the relations.

    Outcomes move strengths, and of a cycle the weakest relation is the one to remove.
    """
    active = [skill for skill in every if skill.status == "active"]
    yield from _names(active)
    yield from _relations(active, {skill_node(skill.title): skill for skill in every})
    yield from _cycles(active, strengths)
    edges = edges_of(every)
    linked = {name for edge in edges for name in (edge[0], edge[2])}
    lonely = [
        skill
        for skill in active
        if skill.title not in linked
        and not skill.many("agents")
        and facts.get(skill.title, Facts()).age > 30
    ]
    # without the name: two skills with one text are one, whatever they are called
    texts = [" ".join((skill.text("description"), *skill.many("tags"))) for skill in active]
    pairs = alike(texts, _CONNECTED if lonely else _OVERLAPPING)
    yield from _alike(active, pairs, facts)
    near: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for a, b, similarity in pairs:
        near[active[a].title].append((similarity, active[b].title))
        near[active[b].title].append((similarity, active[a].title))
    for skill in lonely:
        nearest = sorted((s, name) for s, name in near[skill.title] if s < _OVERLAPPING)[::-1][
            :_MOST_LINKS
        ]
        repairs = tuple(_link(skill.title, name) for _, name in nearest)
        # where no skill states agents or relations, that one has none is no news
        if repairs or (facts[skill.title].age > 60 and len(lonely) < len(active)):
            if repairs:
                advice = ""
            else:
                advice = ": name an agent or a related skill, or archive it"
            reason = f"no agent has {skill.title}, and no relation leads to it{advice}"
            yield Conflict("orphan", (skill.title,), reason, 0.0, repairs)
    for skill in active:
        usage = facts.get(skill.title, Facts())
        if usage.idle > 90 and usage.uses < 5 and usage.age > 30:
            reason = (
                f"{skill.title} was used {counted(usage.uses, 'time')}, not in the last"
                f" {int(usage.idle)} days"
            )
            yield Conflict("stale", (skill.title,), reason)


def _link(name: str, other: str) -> Repair:
    return Repair(name, {"enhances": f"+ {skill_node(other)}"}, f"{name}: enhances {other}")


def _names(active: Sequence[Record]) -> Iterator[Conflict]:
    spelled: dict[str, list[str]] = defaultdict(list)
    for skill in active:
        folder = skill.path.rpartition("/")[0].rpartition("/")[2]
        spelled[re.sub(r"[^a-z0-9]", "", skill.title.casefold())].append(skill.title)
        if not SKILL_NAME.fullmatch(skill.title):
            yield Conflict(
                "naming",
                (skill.title,),
                f"{skill.title} is no name: small letters, digits, single hyphens",
            )
        elif folder and folder != skill.title:
            yield Conflict(
                "naming",
                (skill.title,),
                f"{skill.title} is in the folder {folder}: both must have one name",
            )
    for names in spelled.values():
        if len(names) > 1:
            yield Conflict(
                "naming",
                tuple(sorted(names)),
                f"{' and '.join(sorted(names))} differ in case or signs alone",
            )


def _relations(active: Sequence[Record], skill_by_node: Mapping[str, Record]) -> Iterator[Conflict]:
    """Yield requirements that are missing, retired or too old, and relations that exclude each
    other.
    """
    for skill in active:
        for to in (*skill.many("requires"), *skill.many("composes")):
            other = skill_by_node.get(to)
            if other is None or other.status != "active":
                if other is None:
                    what = "does not exist"
                else:
                    what = f"is {other.status}"
                name = to.removeprefix("skill:")
                yield Conflict(
                    "dependency", (skill.title, name), f"{skill.title} needs {name}, which {what}"
                )
        for to in skill.many("succeeds"):
            other = skill_by_node.get(to)
            if other is None or other.title == skill.title:
                continue
            if skill_node(skill.title) in other.many("succeeds") and skill.title < other.title:
                pair = (skill.title, other.title)
                yield Conflict(
                    "contradiction",
                    pair,
                    f"{pair[0]} and {pair[1]} each state that they took the place of the other",
                )
            uses = next((name for name in RELATIONS[:3] if to in skill.many(name)), "")
            if uses:
                pair = (skill.title, other.title)
                yield Conflict(
                    "contradiction",
                    pair,
                    f"{skill.title} takes the place of {other.title}, and {uses} it",
                )
        for text in skill.many("least_versions"):
            match = _REQUIREMENT.fullmatch(text)
            if not match:
                reason = (
                    f"{skill.title} states the least version {one_line(text, 60)!r}, which is not"
                    " read: NAME>=1.2"
                )
                yield Conflict("version_mismatch", (skill.title, one_line(text, 60)), reason)
            if match:
                other = skill_by_node.get(skill_node(match[1]))
            else:
                other = None
            if match and other and _number(other.text("version")) < _number(match[2]):
                stated_version = other.text("version") or "none"
                reason = (
                    f"{skill.title} needs version {match[2]} of {other.title}, which "
                    f"has {stated_version}"
                )
                yield Conflict("version_mismatch", (skill.title, other.title), reason)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(one) for one in re.findall(r"[0-9]+", version)[:4])


def _cycles(
    active: Sequence[Record], strengths: Mapping[tuple[str, str, str], float]
) -> Iterator[Conflict]:
    """Yield one cycle of each set of skills that need each other; the next check finds what is left
    of the set.
    """
    edges = [edge for edge in edges_of(active) if edge[1] in ("requires", "composes")]
    relation = {(source, target): name for source, name, target in edges}
    needs: dict[str, list[str]] = defaultdict(list)
    for source, _, target in edges:
        needs[source].append(target)
    for skill in active:
        own = next(
            (
                name
                for name in ("requires", "composes")
                if skill_node(skill.title) in skill.many(name)
            ),
            "",
        )
        if own:
            repair = Repair(
                skill.title,
                {own: f"- {skill_node(skill.title)}"},
                f"{skill.title}: no longer {own} itself",
            )
            yield Conflict(
                "circular_dependency", (skill.title,), f"{skill.title} {own} itself", 0.0, (repair,)
            )
    for group in components([skill.title for skill in active], needs):
        if len(group) < 2:
            continue
        path = _shortest_cycle(min(group), needs, set(group))
        steps = list(zip(path, [*path[1:], path[0]], strict=True))
        weakest = min(
            steps, key=lambda step: (strengths.get((step[0], relation[step], step[1]), 0.5), step)
        )
        text = f"{weakest[0]}: no longer {relation[weakest]} {weakest[1]}"
        repair = Repair(weakest[0], {relation[weakest]: f"- {skill_node(weakest[1])}"}, text)
        if len(path) > _LONGEST_CYCLE:
            remainder = f" and {len(path) - _LONGEST_CYCLE} more"
        else:
            remainder = ""
        shown = " → ".join([*path[:_LONGEST_CYCLE], *([] if remainder else path[:1])])
        yield Conflict(
            "circular_dependency",
            tuple(path[:_LONGEST_CYCLE]),
            f"{shown}{remainder}",
            0.0,
            (repair,),
        )


def _shortest_cycle(start: str, needs: Mapping[str, Sequence[str]], group: set[str]) -> list[str]:
    """Return the shortest way from a node back to itself, within its strongly connected
    component.
    """
    before: dict[str, str] = {}
    front = [start]
    for node in front:
        for target in sorted(needs.get(node, ())):
            if target == start:
                path = [node]
                while path[-1] != start:
                    path.append(before[path[-1]])
                return path[::-1]
            if target in group and target not in before:
                before[target] = node
                front.append(target)
    return [start]


def _alike(
    active: Sequence[Record], pairs: Sequence[tuple[int, int, float]], facts: Mapping[str, Facts]
) -> Iterator[Conflict]:
    for a, b, similarity in pairs:
        first = active[a]
        second = active[b]
        if similarity >= _DUPLICATE:
            # first the one that took the place of the other already, by a repair that was cut off
            # or by hand; then the one that is used more and so known to work; then the first by
            # name, which never changes
            order = sorted(
                (first, second),
                key=lambda skill: (
                    not {skill_node(first.title), skill_node(second.title)}
                    & set(skill.many("succeeds")),
                    -facts.get(skill.title, Facts()).uses,
                    skill.title,
                ),
            )
            stays, ends = (skill.title for skill in order)
            # in this order: once one is deprecated they are no duplicates, and nothing would add
            # the relation
            repairs = (
                Repair(stays, {"succeeds": f"+ {skill_node(ends)}"}, f"{stays}: succeeds {ends}"),
                Repair(ends, {"status": "deprecated"}, f"{ends}: deprecated"),
            )
            names = tuple(sorted((stays, ends)))
            yield Conflict(
                "duplicate", names, f"{stays} and {ends} have the same words", similarity, repairs
            )
        elif similarity >= _OVERLAPPING and first.text("category") == second.text("category"):
            names = tuple(sorted((first.title, second.title)))
            reason = f"{names[0]} and {names[1]} have {similarity:.0%} of their words in common"
            yield Conflict("overlapping", names, reason, similarity)


def alike(texts: Sequence[str], least: float) -> list[tuple[int, int, float]]:
    """Return (one, other, cosine of their words) of the pairs of texts that reach `least`. Pure.

    Prefix filtering (Bayardo, Ma, Srikant 2007): of two texts that reach it, the rare words of each
    have one in common, so only texts that share a rare word are compared. Of texts with the very
    same words each is paired with the first alone, or a thousand copies would be half a million
    pairs.
    """
    bags = [frozenset(stems(text)) for text in texts]
    first: dict[frozenset[str], int] = {}
    pairs = [
        (first[bag], number, 1.0)
        for number, bag in enumerate(bags)
        if bag and first.setdefault(bag, number) != number
    ]
    spread = Counter(word for bag in first for word in bag)
    holders: dict[str, list[int]] = defaultdict(list)
    # by length: a text can only reach a longer one by as much as it has words
    for number in sorted(first.values(), key=lambda index: (len(bags[index]), index)):
        bag = bags[number]
        rare = sorted(bag, key=lambda word: (spread[word], word))
        prefix = rare[: len(bag) - math.ceil(least * least * len(bag)) + 1]
        for other in {index for word in prefix for index in holders[word][-_CROWDED:]}:
            similarity = len(bag & bags[other]) / math.sqrt(len(bag) * len(bags[other]))
            if similarity >= least:
                pairs.append((min(number, other), max(number, other), similarity))
        for word in prefix:
            holders[word].append(number)
    return sorted(pairs)


def health(ws: Workspace) -> Health | None:
    """Return the health of the active skills; None where there is none."""
    every = all_skills(ws)
    report, measured = _check(ws, every, False)
    active = [one for one in every if one.status == "active"]
    if not active:
        return None
    now = ws.clock.now()
    skill_coverage = coverage(every, demanded_categories(ws))
    used = [
        one
        for one in active
        if measured[one.id].last and not is_older(now, measured[one.id].last, 30)
    ]
    scores = [measured[one.id].score if measured[one.id].is_known else 0.5 for one in active]
    size = len(active)
    return Health(
        skill_coverage.ratio if skill_coverage.categories else 0.0,
        2 * skill_coverage.edges / size,
        len(used) / size,
        sum(scores) / size,
        len(report.open) / size,
    )


def suggestions(ws: Workspace) -> list[Suggestion]:
    """Return what would make the skills in use do better, what was measured first."""
    every = all_skills(ws)
    recorded_uses = uses(ws)
    results = {key: outcome.success for key, outcome in outcomes(ws, recorded_uses).items()}
    active = sorted(
        (skill for skill in every if skill.status == "active"), key=lambda skill: skill.title
    )
    better = better_variants(recorded_uses, results)
    measured = effectiveness_of(ws, active)[0]
    proposed = []
    for skill in active:
        variant, rates = better.get(skill.id, ("", ""))
        measured_skill = measured[skill.id]
        if variant and variant in variants(ws, skill):
            command = f"kl skill promote {skill.title} {variant}"
            proposed.append(
                Suggestion("promote", (skill.title,), f"{variant} does better ({rates})", command)
            )
        elif measured_skill.is_known and (measured_skill.rate < 0.5 or measured_skill.is_falling):
            reason = (
                f"{measured_skill.successes} of {measured_skill.judged} judged uses succeeded"
                + ", falling" * measured_skill.is_falling
            )
            command = f"write another text as {skill.path.removesuffix('.md')}.b.md, and commit it"
            proposed.append(Suggestion("revise", (skill.title,), reason, command))
    proposed += _used_together(every, recorded_uses)
    for skill in active:
        if (tokens := len(skill.body) // CHARACTERS_OF_A_TOKEN) > _LONGEST_TEXT:
            reason = f"about {tokens:,} tokens; the format recommends fewer than {_LONGEST_TEXT:,}"
            command = f"move parts of {skill.path} into skills that it composes"
            proposed.append(Suggestion("shorten", (skill.title,), reason, command))
    categories = coverage(every, demanded_categories(ws)).categories
    for name in [name for name, count in categories.items() if not count]:
        command = f'kl skill propose NAME --category {name} --description "…"'
        proposed.append(Suggestion("cover", (name,), "no active skill of this category", command))
    return proposed


def _used_together(every: Sequence[Record], recorded_uses: Sequence[Use]) -> Iterator[Suggestion]:
    """Yield pairs of skills that three sessions or more used both, and that have no relation."""
    linked = {frozenset((source, target)) for source, _, target in edges_of(every)}
    active = {skill.title for skill in every if skill.status == "active"}
    sessions: dict[str, set[str]] = defaultdict(set)
    for use in recorded_uses:
        if use.session and use.name in active:
            sessions[use.session].add(use.name)
    pairs = Counter(pair for names in sessions.values() for pair in combinations(sorted(names), 2))
    for (name, other), count in sorted(pairs.items(), key=lambda item: (-item[1], item[0])):
        if count >= _TOGETHER and frozenset((name, other)) not in linked:
            reason = f"used in the same {counted(count, 'session')}, and without a relation"
            yield Suggestion(
                "relate", (name, other), reason, f"kl skill edit {name} --enhances {other}"
            )


def _find_new(ws: Workspace, numbers: Lifecycle, now: int) -> Sequence[Change]:
    states = _states(ws)
    return [
        Change("record", one.key, _SCAN, f"{one.sort}: {one.reason}")
        for one in check(ws, record=False).open
        if states.get(one.key, ("",))[0] not in STATES[:2]
    ]


def _record_new(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    check(ws)


_SCAN: Final = "skill conflicts"
CONFLICT_SCAN: Final = Policy(
    _SCAN,
    "Conflicts of skills that are new are recorded, which dates them.",
    _find_new,
    _record_new,
)
"""Idempotent: a conflict that is recorded is not new."""
