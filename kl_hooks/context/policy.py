"""Policy: what of the knowledge base may be shown to whom, by the rules in `.kl/policy.yaml`.

Evaluated over the fused candidates, before the budget: what is denied uses none of it. The
strongest effect wins (deny, redact, allow), so the order of the rules does not matter. A policy
only ever takes something away: that is why the one of a cloned repository needs no trust. It
governs what kl shows, not who can open a file; what it shows besides packages is in
`kl_hooks.context.access`.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.config.compile_cache import load_compiled
from kl_hooks.config.settings import POLICY_FILE
from kl_hooks.context import package_log
from kl_hooks.context.fuse import Code, Ranked
from kl_hooks.errors import UsageProblem
from kl_hooks.git.files import path_matches
from kl_hooks.model.actors import agent
from kl_hooks.model.canonical import digest
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.package import CODE, WITHHELD, Candidate, Omission, PolicyDecision
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.model.record import untitled_path
from kl_hooks.model.symbol import RECORD_ID
from kl_hooks.model.text import one_line
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.config.yaml import Node, NodeReader
    from kl_hooks.workspace import Workspace

EFFECTS: Final = ("deny", "redact", "allow")
"""The strongest first."""
NO_RULE: Final = "no rule allows it"
_KINDS: Final = ("code", *CODE, "claim", "commit", "evidence", "failing test", "page", "violation")
"""Kinds of candidates that are no records. `code`: files and symbols."""
_CONDITIONS: Final = ("paths", "kinds", "tags", "classification", "actors")
_ACTOR: Final = lazy_pattern(r"human|agent|agent:.{1,80}")
_LONGEST: Final = 200
_LOGGED: Final = 100
"""Items of a decision in the audit, the denied ones first; the rest is counted."""


class Rule(NamedTuple):
    """One rule. An empty condition is met by everything; of a condition's values one is enough."""

    name: str
    effect: str
    """One of `EFFECTS`."""
    paths: tuple[str, ...] = ()
    """Globs from the root: `*` stays within a name, `**` is any folders; a folder means all in it.
    """
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    classification: tuple[str, ...] = ()
    actors: tuple[str, ...] = ()

    def matches(self, candidate: Candidate, actor: str) -> bool:
        """Return whether an item meets every condition.

        Of several files of an item one is enough to hide it, and all are needed to allow it.
        """
        paths = [posixpath.normpath(path) for path in (candidate.path, *candidate.touches) if path]
        quantifier = all if self.effect == "allow" else any
        kinds = (candidate.kind, "code") if candidate.kind in CODE else (candidate.kind,)
        return (
            self.names_actor(actor)
            and (not self.kinds or not set(kinds).isdisjoint(self.kinds))
            and (not self.tags or not set(candidate.tags).isdisjoint(self.tags))
            and (not self.classification or candidate.classification in self.classification)
            and (
                not self.paths
                or (bool(paths) and quantifier(self._has_path(path) for path in paths))
            )
        )

    def names_actor(self, actor: str) -> bool:
        """Return whether the rule is for an actor: by name, or for all agents or all people."""
        return not self.actors or actor in self.actors or actor.partition(":")[0] in self.actors

    def _has_path(self, path: str) -> bool:
        return any(path_matches(path, glob) for glob in self.paths)


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules, and whom they are evaluated for."""

    rules: tuple[Rule, ...]
    actor: str
    """`human`, or `agent:NAME`."""
    key: str = ""
    """Digest of the text of the rules and of the actor."""

    @property
    def concerns_actor(self) -> bool:
        """Return whether any rule can hide something from whom it is evaluated for."""
        return any(rule.effect == "allow" or rule.names_actor(self.actor) for rule in self.rules)

    def decide(self, candidates: Iterable[Candidate]) -> tuple[str, str]:
        """Return (effect, name of the rule) for one item, of which several retrievers may know
        different facts.

        Where any rule allows, only what a rule allows or redacts is shown, as with sshd's
        AllowUsers.
        """
        variants = tuple(candidates)
        matches = [
            (EFFECTS.index(rule.effect), rule.name)
            for rule in self.rules
            if any(rule.matches(variant, self.actor) for variant in variants)
        ]
        if matches:
            effect, name = min(matches)
            return EFFECTS[effect], name
        if any(rule.effect == "allow" for rule in self.rules):
            return ("deny", NO_RULE)
        return ("allow", "")

    def shows(self, candidate: Candidate) -> bool:
        """Return whether an item is neither denied nor redacted."""
        return self.decide((candidate,))[0] == "allow"


@dataclass(frozen=True, slots=True)
class SharedPolicy(Policy):
    """The rules, evaluated for everybody: what they hide from one actor is hidden."""

    @property
    def concerns_actor(self) -> bool:
        """Return whether any rule can hide something from somebody."""
        return bool(self.rules)

    def decide(self, candidates: Iterable[Candidate]) -> tuple[str, str]:
        """Return the strongest effect that an item has for an actor, and the name of the rule."""
        variants = tuple(candidates)
        named = {actor for rule in self.rules for actor in rule.actors}
        # an agent that no rule names, and the others
        actors = sorted({"human", "agent:"} | named - {"agent"})
        effects = (Policy(self.rules, actor).decide(variants) for actor in actors)
        return min(effects, key=lambda effect: EFFECTS.index(effect[0]))


def load_policy(ws: Workspace, actor: str = "") -> Policy | None:
    """Return the policy of the working tree, for an actor (empty: whoever runs this); None where
    there is none.

    Raises Problems for a wrong file and UsageProblem for an unreadable one. A gate fails closed: a
    package without the rules could show what they deny, and an empty one would read as if nothing
    were known, so there is no package.
    """
    path = ws.root / POLICY_FILE
    text = read_small(path, within=ws.root)
    if text is None:
        if path.is_symlink():  # else a link to nothing would switch the rules off
            raise UsageProblem(
                "a link to nothing.", place=POLICY_FILE, hint="Put the file itself here."
            )
        return None
    rules = _compiled(ws, text)
    named = agent(ws.environ)
    actor = actor or (f"agent:{named}" if named else "human")
    return Policy(rules, actor, digest("policy/1", [text.decode(), actor]))


def _compiled(ws: Workspace, text: bytes) -> tuple[Rule, ...]:
    """Return the rules, from the cache where this text was read before: YAML is not parsed for
    every answer.
    """
    kinds = sorted(ws.kinds)

    def compile() -> Any:
        return [[getattr(rule, name) for name in Rule._fields] for rule in read_rules(text, kinds)]

    # the kinds belong to the key, since a rule may name only those that there are
    plain = load_compiled(ws.state.cache, text + repr(kinds).encode(), "policy-1", compile)
    return tuple(Rule(*row[:2], *map(tuple, row[2:])) for row in plain)


def read_rules(text: bytes, kinds: Collection[str]) -> tuple[Rule, ...]:
    """Return the rules of a policy file. `kinds`: those of records. Raises Problems with everything
    that is wrong.
    """
    from kl_hooks.config.yaml import NodeReader, load_yaml

    root, problems = load_yaml(POLICY_FILE, text)
    reader = NodeReader(POLICY_FILE, problems)
    if root:
        nodes = reader.keys(root, ("version", "rules"))
    else:
        nodes = {}
    if "version" in nodes:
        reader.choice(nodes["version"][1], '"version"', ("1",))
    rules: list[Rule] = []
    if "rules" in nodes:
        for node in reader.items(nodes["rules"][1], '"rules"'):
            rules += _read_rule(reader, node, kinds, [rule.name for rule in rules])
    elif not problems:
        problems.append(
            Problem(POLICY_FILE, 0, 0, '"rules" is missing.', "Write `rules: []` for none.")
        )
    if problems:
        raise Problems(problems)
    return tuple(rules)


def _read_rule(
    reader: NodeReader, node: Node, kinds: Collection[str], names: Collection[str]
) -> Iterator[Rule]:
    nodes = reader.keys(node, ("name", *EFFECTS), " in a rule")
    if not nodes:
        reader.report(node, "a rule needs a name and an effect.", f"Effects: {', '.join(EFFECTS)}.")
        return
    if "name" in nodes:
        name = reader.text(nodes["name"][1], '"name"')
    else:
        name = ""
    if "name" not in nodes:
        reader.report(node, 'a rule needs a "name".', "The audit and the package name it.")
    elif name in names:
        reader.report(
            nodes["name"][1],
            f'the name "{one_line(name, 80)}" is given twice.',
            "Name each rule once.",
        )
    elif len(name) > _LONGEST or name == NO_RULE:
        reader.report(
            nodes["name"][1], "this can't be the name of a rule.", f"At most {_LONGEST} characters."
        )
    effects = [effect for effect in EFFECTS if effect in nodes]
    if len(effects) != 1:
        reader.report(
            node,
            f"a rule has one effect, not {len(effects)}.",
            f"Give one of: {', '.join(EFFECTS)}.",
        )
        return
    where = f' in "{effects[0]}"'
    conditions = reader.keys(nodes[effects[0]][1], _CONDITIONS, where)
    values = {
        key: tuple(_read_values(reader, key, value, kinds))
        for key, (_, value) in conditions.items()
    }
    yield Rule(name, effects[0], **values)


def _read_values(reader: NodeReader, key: str, node: Node, kinds: Collection[str]) -> Iterator[str]:
    from kl_hooks.model.text import suggest_spelling

    known_kinds = {*_KINDS, *kinds}
    texts = reader.texts(node, f'"{key}"')
    if not texts:
        reader.report(
            node, f'"{key}" must name something.', "Leave the condition out to match everything."
        )
    for text in texts:
        value = text.value
        if key == "kinds" and value not in known_kinds:
            hint = (
                suggest_spelling(value, known_kinds) or f"Known: {', '.join(sorted(known_kinds))}."
            )
            reader.report(text, f'unknown kind "{one_line(value, 80)}".', hint)
        elif key == "actors" and not _ACTOR.fullmatch(value):
            reader.report(
                text, f'unknown actor "{one_line(value, 80)}".', "Write human, agent or agent:NAME."
            )
        elif key == "paths" and (
            len(value) > _LONGEST or value.startswith("/") or ".." in value.split("/")
        ):
            reader.report(
                text, "must be a glob of files in this repository.", "Such as src/payments/**."
            )
        yield value


class Governed(NamedTuple):
    """The candidates that may be shown."""

    ranked: list[Ranked]
    """Those to be redacted are marked, not yet emptied: their text still decides whether they are
    relevant.
    """
    code: Code
    omissions: list[Omission]
    decision: PolicyDecision


def govern(
    policy: Policy, ranked: Sequence[Ranked], code: Code, lists: Mapping[str, Sequence[Candidate]]
) -> Governed:
    """Drop what is denied and mark what is redacted. `lists`: the candidates before fusion, each of
    which counts.
    """
    variants: dict[tuple[str, str], list[Candidate]] = {}
    fused = [item.candidate for item in (*ranked, *code.files, *code.symbols)]
    for candidate in (*fused, *(row for rows in lists.values() for row in rows)):
        variants.setdefault(_key(candidate), []).append(candidate)
    effects = {key: policy.decide(facts) for key, facts in variants.items()}
    denied_files = {
        path: rule
        for (name, path), (effect, rule) in effects.items()
        if effect == "deny" and name == f"file:{path}"
    }
    for candidate in fused:
        if candidate.kind == "symbol" and candidate.path in denied_files:
            effects[_key(candidate)] = ("deny", denied_files[candidate.path])
    omissions: list[Omission] = []

    def allowed(items: Sequence[Ranked], conceal_now: bool) -> Iterator[Ranked]:
        for item in items:
            effect, rule = effects[_key(item.candidate)]
            if effect == "deny":
                if policy.actor == "human":
                    name = item.candidate.id
                else:
                    name = WITHHELD
                omissions.append(Omission(name, f"denied by policy: {rule}"))
            elif effect == "redact":
                marked = item.candidate._replace(redacted_by=rule)
                yield item._replace(candidate=conceal(marked) if conceal_now else marked)
            else:
                yield item

    remaining = list(allowed(ranked, False))
    shown = Code(tuple(allowed(code.files, True)), tuple(allowed(code.symbols, True)))
    rows = tuple(
        (name, path, *effects[name, path])
        for name, path in sorted({_key(candidate) for candidate in fused})
    )
    decision = PolicyDecision(
        f"pd-{digest('policy-decision/1', [policy.key, rows])[:12]}", policy.key, policy.actor, rows
    )
    return Governed(remaining, shown, omissions, decision)


def _key(candidate: Candidate) -> tuple[str, str]:
    # of code the same ID may be in several files; anything else is one item, whatever path a
    # retriever knows
    return candidate.id, candidate.path if candidate.kind in CODE else ""


def conceal(candidate: Candidate) -> Candidate:
    """Return an item with nothing but its ID, kind and place, where it is to be redacted."""
    if not candidate.redacted_by:
        return candidate
    return Candidate(
        candidate.id,
        candidate.kind,
        "",
        "",
        "",
        _place(candidate),
        candidate.line,
        authority=candidate.authority,
        pinned=candidate.pinned,
        is_lasting=candidate.is_lasting,
        beyond=candidate.beyond,
        reasons=(f"redacted by policy: {candidate.redacted_by}",),
        redacted_by=candidate.redacted_by,
    )


def _place(candidate: Candidate) -> str:
    """Return where an item is; the file of a record is named after its title, which is omitted."""
    if RECORD_ID.fullmatch(candidate.id):
        return untitled_path(candidate.path, candidate.id)
    return candidate.path


def audit_event(decision: PolicyDecision, shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event of a decision. `shown`: the document of the package."""
    items = sorted(
        (EFFECTS.index(effect), rule, name) for name, _, effect, rule in decision.effects
    )
    logged = [
        [EFFECTS[effect], one_line(rule, 40), one_line(name, 100)]
        for effect, rule, name in items
        if effect < 2
    ]
    return {
        "event": "policy_decision",
        "policy_decision_id": decision.id,
        "package_id": shown["package_id"],
        "trace_id": shown.get("trace_id", ""),
        "created_at": shown["created_at"],
        "subject": decision.actor,
        "purpose": shown["request_id"],
        "counts": {name: sum(row[2] == name for row in decision.effects) for name in EFFECTS},
        "rules": dict(sorted(Counter(row[3] for row in decision.effects if row[3]).items())),
        "items": logged[:_LOGGED],
        "more_items": max(0, len(logged) - _LOGGED),
    }


def audit(ws: Workspace, package_id: str = "") -> list[dict[str, Any]]:
    """Return the logged decisions, the newest first; of one package where its ID or the beginning
    of it is given.

    An agent gets no items: the audit must not list to it what the packages withhold.
    """
    decisions = [
        event
        for event in package_log.events_newest_first(ws.state)
        if event.get("event") == "policy_decision"
        and str(event.get("package_id")).startswith(package_id)
    ]
    if not agent(ws.environ):
        return decisions
    return [{**decision, "items": []} for decision in decisions]
