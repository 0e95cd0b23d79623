"""Uses of skills: the variant that was chosen when a use began, its outcome by receipts, and
effectiveness.

A use is recorded when it **begins**, with its variant and the seed that chose it; what happened
later is joined to it from the receipts of the same session. So no outcome can be credited to a
skill, or a variant, that did not take part.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import sys
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import DAY, iso, micros
from kl_hooks.errors import ForPeople, UsageProblem
from kl_hooks.evidence.commits import newest_commits
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.ledger import receipts_since
from kl_hooks.evidence.provenance import agent, producer, session
from kl_hooks.git.repository import head
from kl_hooks.graph.algorithms import components
from kl_hooks.model.decay import idle_periods, idle_score
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.text import CHARACTERS_OF_A_TOKEN, counted, one_line
from kl_hooks.records.document import SKILL_NAME, change_fields, read_document, skill_node
from kl_hooks.records.events import CONTENT, Event, append_events, list_events
from kl_hooks.records.liveness import not_live_reason, uncommitted_paths
from kl_hooks.records.permissions import agent_author
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.records.repository import FileChanges
from kl_hooks.skills.library import (
    BUDGET,
    Found,
    all_skills,
    edges_of,
    find_skill,
    instructions,
    skills_in_force,
)
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.evidence.commits import LoggedCommit
    from kl_hooks.model.receipt import Receipt
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace

STARTED: Final = "skill_started"
_ENDED: Final = "skill_ended"
_LONGEST: Final = 8 * 3_600_000_000
"""Microseconds after which a use that nobody ended is over."""
_ENOUGH: Final = 5
"""Judged uses from which a skill's effectiveness is stated (requirement D35)."""
_MAIN: Final = "main"
_TRAFFIC: Final = 20
"""Percent of the uses that try a variant which states no number."""
_COMMITS: Final = 20_000
"""Newest commits that uses are joined with."""
_SECOND: Final = 1_000_000
"""Git states the moment of a commit in whole seconds: it may seem to be before the use that it is
of.
"""
_NEUTRAL: Final = 0.5
_STEP, _LEAST_EDGE = 0.05, 0.1
_Z: Final = 1.96
"""Of a 95 % interval."""


class Use(NamedTuple):
    """One use of a skill, from its beginning."""

    id: str
    skill: str
    """ID of its record."""
    name: str
    variant: str
    version: str
    seed: str
    actor: str
    session: str
    """Empty: nobody named one."""
    producer: str
    at: int
    """Microseconds."""
    path: str = ""
    """The file with the instructions that were chosen."""
    head: str = ""
    """The commit that was checked out."""
    ended: int = 0
    """0: it is not over."""
    asserted: bool | None = None
    """The outcome that was stated at its end; None: none."""
    by: str = ""
    """Who stated it."""

    def until(self) -> int:
        """Return up to when receipts belong to it."""
        return self.ended or self.at + _LONGEST


class Outcome(NamedTuple):
    """The outcome of a use."""

    success: bool | None
    """None: nothing shows it."""
    reasons: tuple[str, ...]


class Effectiveness(NamedTuple):
    """How well a skill, or a variant, does."""

    uses: int
    judged: int
    successes: int
    graph: float
    """0.1 to 1: the mean of its relations, each moved by the outcomes at its ends."""
    learning: float
    """The share of memories about it that were approved."""
    idle: int
    """Whole periods of 30 days without a use."""
    trend: float
    """Success rate of the last 7 days less that of the 7 before; 0 where either has none."""
    last: int = 0
    """When it was used last, microseconds; 0: never."""

    @property
    def is_known(self) -> bool:
        """Return whether there were enough uses for a number."""
        return self.judged >= _ENOUGH

    @property
    def is_falling(self) -> bool:
        """Return whether the success rate of the last 7 days is clearly lower than that of the 7
        before.
        """
        return self.trend < -_STEP

    @property
    def rate(self) -> float:
        """The share of judged uses that succeeded; 0.5 where there is none."""
        if not self.judged:
            return _NEUTRAL
        return self.successes / self.judged

    @property
    def score(self) -> float:
        """0 to 1, by the stated formula; it falls by 0.05 for each 30 days without a use, as long
        as it is over 0.2.
        """
        return idle_score(self._combined(self.rate), self.idle)

    @property
    def interval(self) -> tuple[float, float]:
        """Between which values it is with 95 % (Wilson, for the success rate)."""
        low, high = wilson(self.successes, self.judged)
        return self._combined(low), self._combined(high)

    def _combined(self, rate: float) -> float:
        return 0.3 * self.graph + 0.5 * rate + 0.2 * self.learning

    def to_dict(self) -> dict[str, Any]:
        """Return it as in JSON, each term of the score with its weight."""
        measured = {
            "score": round(self.score, 3),
            "interval": [round(bound, 3) for bound in self.interval],
        }
        return {
            "known": self.is_known,
            "uses": self.uses,
            "judged": self.judged,
            "successes": self.successes,
            "terms": {
                "graph": [0.3, round(self.graph, 3)],
                "success_rate": [0.5, round(self.rate, 3)],
                "learning": [0.2, round(self.learning, 3)],
                "idle": [-_STEP, self.idle],
            },
            "trend": round(self.trend, 3),
            "last_used": iso(self.last) if self.last else "",
            **(measured if self.is_known else {"needs": f"{_ENOUGH} judged uses"}),
        }

    def line(self) -> str:
        """Return it for people."""
        if not self.is_known:
            return f"not known yet: {self.judged} of {_ENOUGH} judged uses"
        low, high = self.interval
        if self.trend > _STEP:
            word = "rising"
        elif self.is_falling:
            word = "falling"
        else:
            word = "steady"
        return f"{self.score:.2f} ({low:.2f} to {high:.2f}, {self.judged} judged uses, {word})"


def start_use(ws: Workspace, name: str, seed: str = "", author: str = "") -> Use:
    """Record that a skill is used from now on, and return which variant. UsageProblem for one that
    is not in force.

    The same seed gets the same variant as long as the variants are the same. Without one the
    session is the seed. `author`: `agent:NAME` for a tool, which is an agent's whoever the
    environment names; empty: whoever runs this.
    """
    record = find_skill(ws, name)
    if SKILL_NAME.fullmatch(record.title):
        misnamed = ""
    else:
        misnamed = "agents do not load a skill of this name"
    if reason := not_live_reason(ws, record) or misnamed:
        hint = "A person commits its file, or changes its status: kl skill activate"
        if reason == misnamed:
            hint = "A person renames it. See: kl skill check"
        raise UsageProblem(
            f"is not in force ({reason}), so it is not to be followed.",
            place=record.title,
            hint=hint,
        )
    session_id = session(ws.environ) or ""
    seed = one_line(seed, 200) or session_id or os.urandom(8).hex()
    variant_of = variants(ws, record)
    chosen = assign(record.id, {one: traffic for one, (_, traffic) in variant_of.items()}, seed)
    if chosen in variant_of:
        variant = variant_of[chosen][0]
    else:
        variant = record
    use = Use(
        os.urandom(6).hex(),
        record.id,
        record.title,
        chosen,
        variant.text("version"),
        seed,
        _actor(ws, author),
        session_id,
        producer(ws.environ),
        ws.clock.now(),
        variant.path,
        head(ws.repo)[0] or "" if ws.repo else "",
    )
    body = {
        "use": use.id,
        "name": use.name,
        "variant": chosen,
        "version": use.version,
        "seed": seed,
        "actor": use.actor,
        "producer": use.producer,
        "path": use.path,
        "head": use.head,
    }
    append_events(ws, [Event(STARTED, record.id, session_id, body, iso(use.at))])
    return use


def _actor(ws: Workspace, author: str) -> str:
    """Return who uses a skill: `agent:NAME`, or `human`."""
    return agent_author(ws, author) or "human"


def end_use(ws: Workspace, which: str, success: bool | None = None, author: str = "") -> Use:
    """Record that a use is over; `which`: its ID, or the name of a skill, for the last use that is
    not over.

    UsageProblem where the caller has none that is open. `success`: what the caller states; receipts
    count for more. `author`: as of `start_use`.
    """
    session_id = session(ws.environ) or ""
    actor = _actor(ws, author)
    mine = [
        own_use
        for own_use in uses(ws)
        if own_use.actor == actor and which in (own_use.id, own_use.name, own_use.skill)
    ]
    open_uses = [
        own_use
        for own_use in mine
        if not own_use.ended and (own_use.session == session_id or own_use.id == which)
    ]
    if not open_uses:
        if elsewhere := [own_use for own_use in mine if not own_use.ended]:
            hint = f"Name it by its ID: kl skill done {elsewhere[-1].id}"
            raise UsageProblem(
                "the use that is open was begun in another session.", place=which, hint=hint
            )
        if mine:
            reason = "this use is over already."
        else:
            reason = "you began no use of it."
        raise UsageProblem(reason, place=which, hint="Begin one: kl skill use NAME")
    use = open_uses[-1]
    body = {"use": use.id, "success": success, "actor": actor}
    append_events(ws, [Event(_ENDED, use.skill, session_id, body)])
    return use._replace(ended=ws.clock.now(), asserted=success, by=actor)


def uses(ws: Workspace) -> list[Use]:
    """Return every use, oldest first: a fold over Events."""
    use_by_id: dict[str, Use] = {}
    for event in list_events(ws, name=STARTED):
        body = {key: str(value) for key, value in event.body.items()}
        with suppress(KeyError, ValueError):
            use_by_id[body["use"]] = Use(
                body["use"],
                event.record,
                body["name"],
                body["variant"],
                body["version"],
                body["seed"],
                body["actor"],
                event.session,
                body["producer"],
                micros(event.at),
                body["path"],
                body["head"],
            )
    for event in list_events(ws, name=_ENDED):
        use = use_by_id.get(str(event.body.get("use")))
        if use is not None and not use.ended:
            stated = event.body.get("success")
            author = str(event.body.get("actor", ""))
            if isinstance(stated, bool):
                asserted = stated
            else:
                asserted = None
            use_by_id[use.id] = use._replace(ended=micros(event.at), asserted=asserted, by=author)
    return list(use_by_id.values())


def variants(ws: Workspace, record: Record) -> dict[str, tuple[Record, int]]:
    """Return variant → (the skill as its file has it, percent of the uses), of `SKILL.NAME.md`
    beside the SKILL.md.

    Only what is committed: nobody has reviewed the others.
    """
    kind = ws.kinds["skill"]
    folder = record.path.rpartition("/")[0]
    variant_of: dict[str, tuple[Record, int]] = {}
    for path in sorted((ws.root / folder).glob("SKILL.*.md")) if folder else ():
        name = f"{folder}/{path.name}"
        with suppress(UsageProblem):  # no plain file, or too large
            data = read_small(path, within=ws.root) or b""
            variant = read_document(kind, name, data).record
            if variant is not None and not uncommitted_paths(ws, [name]):
                share = min(max(variant.number("traffic", _TRAFFIC), 1), 99)
                variant_of[path.name.removeprefix("SKILL.").removesuffix(".md")] = (variant, share)
    return variant_of


def assign(skill: str, shares: Mapping[str, int], seed: str) -> str:
    """Return the variant of a use: by the hash of skill, variants and seed, so anybody can compute
    it again. Pure.
    """
    names = sorted(shares)
    key = "\0".join([skill, *(f"{one}={shares[one]}" for one in names), seed])
    place = int(hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:12], 16) / 16**12 * 100
    # variants never take all of the uses: without some of the old one there is nothing to compare
    # with
    whole = max(100, sum(shares.values()) + 1)
    for name in names:
        place -= shares[name] * 100 / whole
        if place < 0:
            return name
    return _MAIN


def outcomes(ws: Workspace, recorded_uses: Sequence[Use]) -> dict[str, Outcome]:
    """Return ID of a use → what the receipts of its session show of it."""
    if not recorded_uses:
        return {}
    sync_evidence(ws)
    with ws.store.reading() as db:
        if db is None:
            return {}
        runs = receipts_since(db, iso(min(use.at for use in recorded_uses)))
        commits = newest_commits(db, _COMMITS)
    by_start = sorted(((_moment(run.started), number) for number, run in enumerate(runs)))
    by_time = sorted((_moment(commit.at), number) for number, commit in enumerate(commits))
    by_use = sorted((use.at, number) for number, use in enumerate(recorded_uses))
    reverted = {sha for commit in commits for sha in _reverted(commit)}
    outcome_of = {}
    for use in recorded_uses:
        mine = [
            runs[n] for n in _within(by_start, use.at, use.until()) if _same_session(use, runs[n])
        ]
        # a commit names no session: it is attributed only where no other session could have made it
        others = (recorded_uses[n] for n in _within(by_use, use.at - _LONGEST, use.until()))
        if any(_overlap(use, other) for other in others):
            own = []
        else:
            own = _within(by_time, use.at - _SECOND, use.until())
        outcome_of[use.id] = judge(
            use, mine, [commits[n].sha for n in own if commits[n].sha != use.head], reverted
        )
    return outcome_of


def _within(moments: Sequence[tuple[int, int]], start: int, end: int) -> list[int]:
    """Return the numbers of what happened between two moments, oldest first."""
    return [
        number
        for _, number in moments[
            bisect_left(moments, (start, -1)) : bisect_right(moments, (end, sys.maxsize))
        ]
    ]


def judge(
    use: Use, runs: Sequence[Receipt], commits: Sequence[str], reverted: Collection[str]
) -> Outcome:
    """Return the outcome of a use: by its last run of tests and its commits; else by a person.
    Pure.

    A commit that was reverted is a failure, whatever the tests showed. What an agent states of its
    own use is no evidence. `runs` and `commits`: of its session, oldest first; `reverted`: hashes
    that later commits reverted.
    """
    tests = [
        one
        for one in runs
        if one.source == "pytest" and one.result.get("verdict") in ("passed", "failed")
    ]
    failed = [
        one for one in runs if one.source == "command" and one.result.get("exit") not in (0, None)
    ]
    if failed:
        reasons = [f"{counted(len(failed), 'command')} failed"]
    else:
        reasons = []
    back = [sha for sha in commits if any(sha.startswith(one) for one in reverted)]
    if commits:
        reasons.append(
            f"{counted(len(commits) - len(back), 'commit')} not reverted, {len(back)} reverted"
        )
    if tests:
        verdict = str(tests[-1].result.get("verdict"))
        reasons.insert(0, f"tests {verdict} (run {tests[-1].run[:8]})")
        return Outcome(verdict == "passed" and not back, tuple(reasons))
    if commits:
        return Outcome(not back, tuple(reasons))
    if use.asserted is not None and use.by == "human":
        return Outcome(
            use.asserted, (*reasons, f"a person stated: {'success' if use.asserted else 'failure'}")
        )
    if use.asserted is not None:
        stated = ["its agent stated it, which is no evidence"]
    else:
        stated = []
    return Outcome(None, (*reasons, *stated) or ("no receipt of its session",))


def _same_session(use: Use, receipt: Receipt) -> bool:
    named = str(receipt.environment.get("session") or "")
    # where neither names a session, the same producer in the same hours is as near as can be known
    if named or use.session:
        return named == use.session
    return receipt.producer == use.producer


def _overlap(use: Use, other: Use) -> bool:
    same = (use.session, use.producer) == (other.session, other.producer)
    return not same and other.at <= use.until() and use.at <= other.until()


def _moment(text: str) -> int:
    try:
        return micros(text)
    except (ValueError, OverflowError):
        return 0


def _reverted(commit: LoggedCommit) -> list[str]:
    # the sentence that `git revert` writes
    _, sentence, after = commit.body.partition("This reverts commit ")
    if sentence and after.split():
        return [after.partition(".")[0].split()[0]]
    return []


def wilson(successes: int, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927); all of 0 to 1 where nothing was
    counted.
    """
    if not count:
        return 0.0, 1.0
    share = successes / count
    square = _Z * _Z / count
    middle = (share + square / 2) / (1 + square)
    spread = _Z * math.sqrt(share * (1 - share) / count + square / (4 * count)) / (1 + square)
    return max(0.0, middle - spread), min(1.0, middle + spread)


def effectiveness_of(
    ws: Workspace, records: Sequence[Record], variant: str = ""
) -> tuple[dict[str, Effectiveness], dict[tuple[str, str, str], float]]:
    """Return (ID → effectiveness of these skills, of one variant where it is named; relation → its
    strength).
    """
    every = uses(ws)
    results = {key: outcome.success for key, outcome in outcomes(ws, every).items()}
    by_skill: dict[str, list[Use]] = defaultdict(list)
    for use in every:
        if variant in ("", use.variant):
            by_skill[use.skill].append(use)
    strengths = edge_strengths(
        edges_of(all_skills(ws)), [(use.name, results.get(use.id)) for use in every]
    )
    by_name: dict[str, list[float]] = defaultdict(list)
    for (source, _, target), value in strengths.items():
        by_name[source].append(value)
        by_name[target].append(value)
    learned = _learned(ws)
    now = ws.clock.now()
    effectiveness_by_id = {
        skill.id: measure(by_skill[skill.id], results, now)._replace(
            graph=_mean(by_name[skill.title]),
            learning=learned.get(skill.id, learned.get(skill.title, _NEUTRAL)),
        )
        for skill in records
    }
    return effectiveness_by_id, strengths


def measure(
    recorded_uses: Sequence[Use], results: Mapping[str, bool | None], now: int
) -> Effectiveness:
    """Return what these uses show. `results`: ID → success; None, or none: unknown. Pure."""
    judged = [use for use in recorded_uses if results.get(use.id) is not None]
    last = max((use.at for use in recorded_uses), default=0)
    rates = []
    for start, end in ((now - 7 * DAY, now), (now - 14 * DAY, now - 7 * DAY)):
        outcomes_of_window = [bool(results[use.id]) for use in judged if start < use.at <= end]
        rates.append(
            sum(outcomes_of_window) / len(outcomes_of_window) if outcomes_of_window else None
        )
    if rates[0] is not None and rates[1] is not None:
        trend = rates[0] - rates[1]
    else:
        trend = 0.0
    return Effectiveness(
        len(recorded_uses),
        len(judged),
        sum(bool(results[use.id]) for use in judged),
        _NEUTRAL,
        _NEUTRAL,
        idle_periods(last, now),
        trend,
        last,
    )


def better_variants(
    recorded_uses: Sequence[Use], results: Mapping[str, bool | None]
) -> dict[str, tuple[str, str]]:
    """Return ID of a skill → (its best variant, the rates as text), where two or more can be
    compared. Pure.

    By success rate, from five judged uses on; of two equal ones it is the SKILL.md, which needs no
    change then.
    """
    judged: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for use in recorded_uses:
        if (success := results.get(use.id)) is not None:
            judged[use.skill][use.variant].append(success)
    best_of_skill = {}
    for skill, by_variant in judged.items():
        rated = {
            name: rated_outcomes
            for name, rated_outcomes in by_variant.items()
            if len(rated_outcomes) >= _ENOUGH
        }
        order = sorted(
            rated, key=lambda name: (-sum(rated[name]) / len(rated[name]), name != _MAIN, name)
        )
        if len(rated) > 1:
            best_of_skill[skill] = (
                order[0],
                ", ".join(
                    f"{name_of_variant} {sum(rated[name_of_variant])} of "
                    f"{len(rated[name_of_variant])}"
                    for name_of_variant in order
                ),
            )
    return best_of_skill


def edge_strengths(
    edges: Sequence[tuple[str, str, str]], results: Iterable[tuple[str, bool | None]]
) -> dict[tuple[str, str, str], float]:
    """Return relation → strength from 0.1 to 1: half at first, 0.05 more or less per outcome at its
    ends. Pure.
    """
    moves: dict[str, list[float]] = defaultdict(list)
    for name, success in results:
        if success is not None:
            moves[name].append(_STEP if success else -_STEP)
    strengths = dict.fromkeys(edges, _NEUTRAL)
    for edge in strengths:
        for move in (*moves[edge[0]], *moves[edge[2]]):
            strengths[edge] = min(max(strengths[edge] + move, _LEAST_EDGE), 1.0)
    return strengths


def _mean(values: Sequence[float]) -> float:
    if not values:
        return _NEUTRAL
    return sum(values) / len(values)


def _learned(ws: Workspace) -> dict[str, float]:
    """Return skill, as memories name it → the share of those that people approved."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for memory in list_records(
        ws, RecordFilter(("memory",), ("approved", "rejected"), expired=True)
    ):
        for named in memory.many("about"):
            counts[named.removeprefix("skill:")][memory.status == "approved"] += 1
    return {name: yes / (yes + no) for name, (no, yes) in counts.items()}


def promote(ws: Workspace, name: str, variant: str) -> tuple[str, str]:
    """Make a variant the skill: its text becomes the SKILL.md, one minor version on; return (path,
    version).

    ForPeople for an agent, UsageProblem for a variant that does not exist or is not committed.
    """
    record = find_skill(ws, name)
    if agent_name := agent(ws.environ):
        raise ForPeople(f"promote is for people, and this is {agent_name}.", place=record.title)
    variant_of = variants(ws, record)
    if variant not in variant_of:
        if variant_of:
            hint = f"There are: {', '.join(variant_of)}."
        else:
            hint = f"Write {record.path.removesuffix('.md')}.b.md, commit it."
        raise UsageProblem(
            "there is no committed variant of this name.",
            place=f"{record.title} {variant}",
            hint=hint,
        )
    promoted, _ = variant_of[variant]
    version = next_version(record.text("version"))
    text = (read_small(ws.root / promoted.path, within=ws.root) or b"").decode("utf-8")
    fields = {"title": record.title, "traffic": None, "version": version, "change_type": "minor"}
    data = change_fields(ws.kinds["skill"], text, fields).encode("utf-8")
    with FileChanges(ws) as files:
        files.write(record.path, data)
        files.write(promoted.path, None)
        body = {"variant": variant, "version": version, CONTENT: files.digests[record.path]}
        append_events(ws, [Event("promoted", record.id, "", body)])
    return record.path, version


def next_version(version: str) -> str:
    """Return the next minor version: 1.2.3 → 1.3.0. Pure."""
    numbers = [int(one) for one in re.findall(r"[0-9]+", version)[:2]]
    major, minor = [*numbers, 0, 0][:2] if numbers else (1, 0)
    return f"{major}.{minor + 1}.0"


class RequiredSkill(NamedTuple):
    """A skill in force that another one requires."""

    record: Record
    has_instructions: bool
    """Whether they fit into the budget."""


class SkillContext(NamedTuple):
    """A skill, and what it needs."""

    record: Record
    is_in_force: bool
    required: tuple[RequiredSkill, ...]
    """Each after what it needs itself."""
    missing: tuple[str, ...]
    """Names of those that don't exist or are not in force."""
    relations: tuple[tuple[str, str, str], ...]
    """(name, relation, name)."""
    effectiveness: Effectiveness


def skill_context(ws: Workspace, name: str, budget: int = BUDGET) -> SkillContext:
    """Return a skill whole, with what it needs as far as the budget allows. UsageProblem for none
    of this name.
    """
    record = find_skill(ws, name)
    every = all_skills(ws)
    live = {skill.title: skill for skill in skills_in_force(ws, every)}
    needed, missing = requirements(every, record.title)
    matches = [Found(live[name], 1, 1, "") for name in needed if name in live]
    texts = instructions(matches, max(budget - len(record.body) // CHARACTERS_OF_A_TOKEN, 0))
    return SkillContext(
        record,
        any(skill.id == record.id for skill in live.values()),
        tuple(RequiredSkill(match.record, match.record.id in texts) for match in matches),
        (*missing, *(name for name in needed if name not in live)),
        tuple(edge for edge in edges_of(every) if record.title in (edge[0], edge[2])),
        effectiveness_of(ws, [record])[0][record.id],
    )


def requirements(records: Sequence[Record], name: str) -> tuple[list[str], list[str]]:
    """Return (all that a skill requires or is composed of, each after what it needs; names that do
    not exist). Pure.
    """
    by_name = {one.title: one for one in records}
    names = {skill_node(one.title): one.title for one in records}
    missing = list[str]()
    wanted = [name]
    needs: dict[str, list[str]] = {}
    for current in wanted:
        if current in needs:
            continue
        targets = [
            to for relation in ("requires", "composes") for to in by_name[current].many(relation)
        ]
        missing += [to.removeprefix("skill:") for to in targets if to not in names]
        needs[current] = [names[to] for to in targets if to in names]
        wanted += needs[current]
    ordered = [one for group in components(list(needs), needs) for one in group]
    return [one for one in ordered if one != name], list(dict.fromkeys(missing))
