"""Access: what answers that are no packages may show to whoever asks: searches, tools that read,
what hooks inject.

Rules and audit are those of packages (`kl_hooks.context.policy`), which is imported only where
there is a policy: an agent's hooks run this module after every command.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.config.settings import POLICY_FILE
from kl_hooks.errors import Denied, KlError, UnknownRecord
from kl_hooks.model.text import OwnText
from kl_hooks.workspace import require_plugins

if TYPE_CHECKING:
    from kl_hooks.context.policy import Policy
    from kl_hooks.context.veil import HiddenKnowledge
    from kl_hooks.model.claim import Claim
    from kl_hooks.model.package import Candidate
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace

Effect = tuple[str, str]
"""`allow`, `redact` or `deny`, and the name of the rule."""
_ANY_AGENT: Final = "agent:"
"""An agent that no rule names."""


def find_policy(ws: Workspace, actor: str = "") -> Policy | None:
    """Return the policy of the working tree for an actor, as `load_policy`; None where there is no
    such file.

    Every answer to an agent asks for it. EnvironmentProblem where a plugin is missing that may
    redact.
    """
    require_plugins(ws)
    try:
        # lstat: a link to nothing, or a file that can't be looked at, must not switch the rules off
        os.lstat(ws.root / POLICY_FILE)
    except (FileNotFoundError, NotADirectoryError):
        return None
    from kl_hooks.context.policy import load_policy

    return load_policy(ws, actor)


@contextmanager
def access(ws: Workspace, purpose: str, actor: str = "") -> Iterator[Access]:
    """Yield what may be shown in one answer; then append the decision on it to the audit.

    `actor`: `human` or `agent:NAME`; empty: whoever runs this. Raises Problems for a wrong policy,
    as `load_policy`: without the rules nothing may be shown.
    """
    granted = Access(ws, find_policy(ws, actor), actor)
    try:
        yield granted
    except KlError as problem:
        granted.conceal_in_error(problem)
        raise
    finally:
        granted.audit(purpose)


def shared_access(ws: Workspace) -> Access:
    """Return what may be written where everybody reads it: what the policy hides from nobody.

    Raises Problems for a wrong policy, as `load_policy`.
    """
    policy = find_policy(ws)
    if policy is None:
        return Access(ws, None)
    from kl_hooks.context.policy import SharedPolicy

    # as an agent reads it: without the text of what nobody has reviewed
    return Access(ws, SharedPolicy(policy.rules, _ANY_AGENT, policy.key), _ANY_AGENT)


class Access:
    """What may be shown in one answer. Without a policy everything is."""

    def __init__(self, ws: Workspace, policy: Policy | None, actor: str = "") -> None:
        """`actor`: as `access`."""
        self._ws = ws
        self._policy = policy
        self._actor = actor
        self._effects: dict[tuple[str, str], Effect] = {}

    @property
    def shows_all(self) -> bool:
        """Whether there is no policy."""
        return self._policy is None

    @property
    def is_agent(self) -> bool:
        """Whether an agent asks."""
        from kl_hooks.model.actors import agent

        if self._actor:
            return self._actor.startswith("agent:")
        return bool(agent(self._ws.environ))

    def shows(self, record: Record) -> bool:
        """Return whether a record is neither denied nor redacted."""
        return self._decide_record(record)[0] == "allow"

    def shows_node(self, identifier: str, kind: str, path: str) -> bool:
        """Return whether a page, a claim or another item that is no record is neither denied nor
        redacted.
        """
        # a rule may name a page of docs by either kind
        kinds = (kind, "document") if kind == "page" else (kind,)
        return (
            self._policy is None
            or self._decide(
                *(_candidate(identifier, possible_kind, path) for possible_kind in kinds)
            )[0]
            == "allow"
        )

    def shows_claim(self, claim: Claim) -> bool:
        """Return whether a claim is neither denied nor redacted, by what it is about."""
        return self.effect_on_claim(claim)[0] == "allow"

    def effect_on_claim(self, claim: Claim) -> Effect:
        """Return the effect on a claim, by what it is about, and the rule."""
        if self._policy is None or self._hidden is None:
            return "allow", ""
        return self._decide(*self._hidden.claim_candidates(claim.id, claim.about))

    def claim(self, claim: Claim) -> Claim:
        """Return a claim that somebody asked for by its ID. UsageProblem where it is hidden."""
        return claim if self.shows_claim(claim) else refuse(claim.id)

    def text(self, text: str) -> str:
        """Return a text of an answer without the words of what is hidden, and without the names of
        files that are denied, and of the tests and symbols in them. Of kl's own words none is
        hidden.
        """
        if isinstance(text, OwnText) or self._hidden is None:
            return text
        return self._hidden.names.text(self._hidden.veil.text(text))

    def denies_name(self, name: str) -> bool:
        """Return whether the ID of a test or a symbol names a file that is denied, also one that
        the graph does not have.
        """
        return self._hidden is not None and self._hidden.names.text(name) != name

    def plain(self, value: Any) -> Any:
        """Return a plain value of an answer without the words of what is hidden."""
        if self._hidden is None:
            return value
        return self._hidden.veil.plain(value)

    def conceal_in_error(self, problem: KlError) -> None:
        """Take the words of what is hidden out of an error."""
        from kl_hooks.model.problem import Problems

        if self._hidden is None:
            return
        if isinstance(problem, UnknownRecord) and self._denies(problem.nearest):
            problem.hint = problem.other_hint
        problem.place, problem.reason, problem.hint = map(
            self.text, (problem.place, problem.reason, problem.hint)
        )
        if isinstance(problem, Problems):
            problem.problems = tuple(
                part._replace(
                    path=self.text(part.path),
                    message=self.text(part.message),
                    hint=self.text(part.hint),
                )
                for part in problem.problems
            )

    def records(self, records: Sequence[Record]) -> list[Record]:
        """Return the records without the denied ones; of a redacted one its ID, status and place
        are left. Its file is named after its title, which is not shown.
        """
        shown: list[Record] = []
        for record in records:
            effect, rule = self._decide_record(record)
            if effect == "redact":
                shown.append(_redacted_record(record, rule))
            elif effect == "allow":
                shown.append(record)
        return shown

    def without_denied(self, records: Sequence[Record]) -> list[Record]:
        """Return the records that are not denied, redacted ones as they are: those that are
        counted.
        """
        if self._policy is None:
            return list(records)
        return [record for record in records if self._decide_record(record)[0] != "deny"]

    def shown(self, records: Sequence[Record]) -> list[Record]:
        """Return the records of which everything may be shown."""
        return [record for record in records if self.shows(record)]

    def require_shown(self, record: Record) -> None:
        """UsageProblem for a record of which not everything may be shown."""
        if not self.shows(record):
            refuse(record.id)

    def require_shown_file(self, path: str) -> None:
        """UsageProblem for a file, given from the root, of which not everything may be shown."""
        if not self.shows_node(f"file:{path}", "page", path):
            refuse(path)

    def require_not_denied(self, node: str) -> None:
        """UsageProblem for a record, a file or a symbol that is denied."""
        if self._denies(node):
            refuse(node)

    def _denies(self, node: str) -> bool:
        return any(effect == "deny" for effect, _ in self.effects([node]).values())

    def record(self, record: Record) -> Record:
        """Return a record that somebody asked for by its ID, as `records`. UsageProblem where it is
        denied.
        """
        return next(iter(self.records([record])), None) or refuse(record.id)

    def written(self, record: Record) -> Record:
        """Return a record that was just written, as `records`; of a denied one what is left of a
        redacted one, so that whoever wrote it can name it.
        """
        effect, rule = self._decide_record(record)
        if effect == "allow":
            return record
        return _redacted_record(record, rule)

    def audit(self, purpose: str) -> None:
        """Append what was decided to the package log; nothing where nothing was."""
        if "_hidden" in vars(self) and self._hidden is not None:
            self._effects |= self._hidden.withheld()
        if self._policy is None or not self._effects:
            return
        from kl_hooks.clock import iso
        from kl_hooks.context.package_log import append_event
        from kl_hooks.context.policy import audit_event
        from kl_hooks.model.canonical import digest
        from kl_hooks.model.package import PolicyDecision

        rows = tuple((*key, *self._effects[key]) for key in sorted(self._effects))
        name = f"pd-{digest('policy-decision/1', [self._policy.key, rows])[:12]}"
        decision = PolicyDecision(name, self._policy.key, self._policy.actor, rows)
        about = {"package_id": "", "created_at": iso(self._ws.clock.now()), "request_id": purpose}
        append_event(self._ws.state, audit_event(decision, about))

    @cached_property
    def _hidden(self) -> HiddenKnowledge | None:
        """What the policy hides; None without a policy, and where it hides nothing from whoever
        asks. Read once for an answer, when the first part of it is shown.
        """
        if self._policy is None or not self._policy.concerns_actor:
            return None
        from kl_hooks.context.veil import HiddenKnowledge

        return HiddenKnowledge(self._ws, self._policy)

    def _decide(self, *variants: Candidate) -> Effect:
        """Return the effect on an item, of which the variants are different facts, and the rule;
        note it.
        """
        assert self._policy is not None
        effect = self._policy.decide(variants)
        self._effects[variants[0].id, ""] = effect
        return effect

    def _decide_record(self, record: Record) -> Effect:
        if self._policy is None:
            return "allow", ""
        from kl_hooks.records.retrieval import textless_candidate

        return self._decide(textless_candidate(self._ws, record))

    def effects(self, nodes: Iterable[str]) -> dict[str, Effect]:
        """Return node ID → what the policy does to it, and by which rule, for each record, file and
        symbol among these.
        """
        from kl_hooks.code.query.lookup import symbols_by_id
        from kl_hooks.model.symbol import RECORD_ID, path_of
        from kl_hooks.records.query import get_records

        if self._policy is None:
            return {}
        node_ids = sorted(set(nodes))
        # `adr:ADR-0007` is the node of a decision, `DOC-0001#L3-L9` a passage of a document
        node_without_passage = {name: name.partition("#")[0] for name in node_ids}
        record_id_by_node = {
            name: document.partition(":")[2] or document
            for name, document in node_without_passage.items()
            if RECORD_ID.fullmatch(document.rpartition(":")[2])
        }
        records = {
            record.id: record
            for record in get_records(self._ws, sorted(set(record_id_by_node.values())))
        }
        effects = {
            name: self._decide_record(records[record_id])
            for name, record_id in record_id_by_node.items()
            if record_id in records
        }
        with self._ws.store.reading("graph") as db:
            if db is not None:
                symbols = symbols_by_id(db, [name for name in node_ids if ":" in name])
            else:
                symbols = {}
        for name in node_ids:
            if name in symbols:
                # what denies a file denies what it defines, as in a package
                effects[name] = self._decide(
                    *(_candidate(name, kind, symbols[name].path) for kind in ("symbol", "file"))
                )
            elif name.startswith("file:"):
                path = path_of(name)
                if path in self._records_in_files:
                    effects[name] = self._decide_record(self._records_in_files[path])
                    continue
                # a rule may name a page by each of these kinds
                effects[name] = self._decide(
                    *(_candidate(name, kind, path) for kind in ("file", "page", "document"))
                )
        return effects

    @cached_property
    def _records_in_files(self) -> dict[str, Record]:
        """Path → the record that the file holds, archived and expired ones too."""
        from kl_hooks.records.query import RecordFilter, list_records

        records = list_records(self._ws, RecordFilter(archived=True, expired=True))
        return {record.path: record for record in records if record.path}

    def effect_on_place(self, node: str, path: str, kind: str) -> Effect:
        """Return the effect on what is in a file: a symbol, a page or a violation."""
        if self._policy is None:
            return "allow", ""
        kinds = (kind, "file") if kind == "symbol" else (kind,)
        return self._decide(
            *(_candidate(node or f"file:{path}", possible_kind, path) for possible_kind in kinds)
        )


def redacted_title(rule: str) -> str:
    """Return what is shown in place of a text that a rule redacts."""
    return f"(redacted by policy: {rule})"


def _redacted_record(record: Record, rule: str) -> Record:
    """Return what is left of a record that a rule redacts."""
    from kl_hooks.model.record import Record, untitled_path

    values = {"title": redacted_title(rule), "status": record.status}
    return Record(record.kind, record.id, values, path=untitled_path(record.path, record.id))


def _candidate(identifier: str, kind: str, path: str) -> Candidate:
    from kl_hooks.model.package import placed

    return placed(identifier, kind, path)


def refuse(identifier: str) -> Any:
    """Denied: what was asked for is hidden."""
    hint = OwnText("Ask a person, who can open it.")
    raise Denied(OwnText(f"{POLICY_FILE} denies it to you."), place=identifier, hint=hint)
