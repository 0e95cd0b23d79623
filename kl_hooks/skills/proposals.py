"""Proposals of skills: researched in the knowledge base, reviewed by a person, then written as a
SKILL.md.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import DAY, iso
from kl_hooks.documents.search import search
from kl_hooks.errors import ForPeople, UsageProblem
from kl_hooks.evidence.provenance import agent
from kl_hooks.model.canonical import canonical
from kl_hooks.model.text import one_line, slug
from kl_hooks.records.document import SKILL_NAME, skill_node
from kl_hooks.records.permissions import agent_author
from kl_hooks.records.prompt_injection import injection_reasons
from kl_hooks.records.query import RecordFilter, get_record, list_records
from kl_hooks.records.repository import is_expired
from kl_hooks.records.write import apply_verb, change_record, create_record
from kl_hooks.skills.library import RELATIONS, all_skills, similarities, text_of

if TYPE_CHECKING:
    from kl_hooks.documents.indexing import Visibility
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace

_FINDINGS: Final = 20
"""Matches of a search that count."""
_NEAR: Final = (0.4, 0.7)
"""Similarity of findings that are another subject, and near: from these further skills are
proposed.
"""
_OVERLAP: Final = 0.7
_DEEPEST = 3
_MOST_CHILDREN = 3
_CHILD = 0.8
"""Levels of proposals that need each other, those of one level, and the share of the confidence
that one has left.
"""
_EXTENSION: Final = 30 * DAY
_REVIEWED: Final = ("title", "description", "category", "instructions", *RELATIONS)
"""Fields of which a skill is made."""


def confidence(sources: int, findings: int, overlap: float) -> float:
    """Return how well research supports a proposal, 0 to 0.9: less where a skill like it exists
    already. Pure.
    """
    support = min(0.15 * sources, 0.6) + min(0.02 * findings, 0.3) - 2 * max(overlap - _OVERLAP, 0)
    return min(max(support, 0.0), 1.0)


def research(
    ws: Workspace, topic: str, name: str = "", readers: Visibility | None = None
) -> dict[str, Any]:
    """Return what records, documents and code have about a topic, as fields of a proposal. Nothing
    is asked outside.

    `readers`: what those who will read the proposal may be shown; None: everything.
    """
    answer = search(ws, topic, "hybrid", top_k=_FINDINGS, may=readers)
    findings = [
        finding
        for finding in answer.results
        if not (finding.record is not None and finding.record.kind == "skill")
    ]
    scores = similarities(
        topic, [f"{finding.title} {finding.snippet.text}" for finding in findings]
    )
    # of prose alone: the name of a function is no subject that somebody could learn
    scored = [
        (finding.title, score)
        for finding, score in zip(findings, scores, strict=True)
        if finding.kind != "code"
    ]
    near = [title for title, score in scored if _NEAR[0] <= score <= _NEAR[1]]
    others = [
        skill
        for skill in all_skills(ws)
        if skill.title != name and (readers is None or readers.shows(skill))
    ]
    overlap = max(similarities(topic, [text_of(skill) for skill in others]), default=0.0)
    places = {finding.path or finding.id for finding in findings}
    return {
        "sources": [
            one_line(f"{finding.path or finding.id}: {finding.title}", 300) for finding in findings
        ],
        "findings": len(findings),
        "near": [one_line(title, 200) for title in dict.fromkeys(near)],
        "overlap": round(100 * overlap),
        "confidence": round(100 * confidence(len(places), len(findings), overlap)),
    }


def propose(
    ws: Workspace,
    name: str,
    raw: Mapping[str, Any],
    *,
    readers: Visibility | None,
    parent: Record | None = None,
    by: str = "",
) -> Record:
    """Make a proposal with what research finds; it is submitted where it has instructions, else a
    draft.

    `readers`: as `research`. `by`: `agent:NAME` for a tool, which is an agent's whether it has a
    name or not.

    UsageProblem for a name that is none, or that a skill or an open proposal has.
    """
    if not SKILL_NAME.fullmatch(name):
        if slug(name):
            hint = f"Such as: {slug(name)}"
        else:
            hint = "Small letters, digits and hyphens, at most 64 characters."
        raise UsageProblem("is no name of a skill.", place=one_line(name, 80), hint=hint)
    if any(one.title == name and one.status != "archived" for one in all_skills(ws)):
        hint = f"A person changes it: kl skill edit {name}"
        raise UsageProblem("there is a skill of this name.", place=name, hint=hint)
    if any(
        one.title == name and one.status not in ("rejected", "created") for one in _proposals(ws)
    ):
        raise UsageProblem("it is proposed already.", place=name, hint="See: kl proposal list")
    topic = f"{name.replace('-', ' ')} {raw.get('description') or ''}"
    findings = research(ws, topic, name, readers)
    values: dict[str, Any] = {
        "title": name,
        **findings,
        **{key: value for key, value in raw.items() if value},
    }
    proposer = agent_author(ws, by)
    values.setdefault("agent", agent(ws.environ) or "")
    if parent is not None:
        share = round(parent.number("confidence") * _CHILD)
        values |= {"parent": [parent.id], "depth": parent.number("depth") + 1, "confidence": share}
    record = create_record(ws, ws.kinds["proposal"], values, by=proposer)
    if not values.get("instructions"):
        return record
    return apply_verb(ws, record.id, "submit", by=proposer)


def approve(
    ws: Workspace, identifier: str, *, readers: Visibility | None, by: str = ""
) -> tuple[Record, list[Record]]:
    """Approve a proposal, and propose what it requires and does not exist; return it and the new
    proposals. `readers`: as `research`.

    UsageProblem for an agent that is no reviewer and not trusted with its own, for an agent where
    the text reads like an attack, and for a proposal without instructions.
    """
    record = get_record(ws, identifier, "proposal")
    _refuse_expired(ws, record)
    if not record.text("instructions"):
        hint = f"Write them: kl proposal edit {record.id} --instructions …"
        raise UsageProblem(
            "has no instructions, so there is nothing to approve.", place=record.id, hint=hint
        )
    if (reasons := suspicions(record)) and agent_author(ws, by):
        reason = f"reads like an attack ({reasons[0]}), so only a person approves it."
        raise ForPeople(
            reason, place=record.id, hint=f"Ask a person to run: kl proposal approve {record.id}"
        )
    approved = apply_verb(ws, record.id, "approve", {"approved_text": _digest(record)}, by=by)
    return approved, _propose_needed(ws, approved, by, readers)


def _refuse_expired(ws: Workspace, proposal: Record) -> None:
    """UsageProblem for a proposal that nobody decided on in time: what it rests on may have
    changed.
    """
    if is_expired(ws, proposal):
        day = proposal.text("expires")[:10]
        later = iso(ws.clock.now() + _EXTENSION)[:10]
        hint = f"Read it again, then: kl proposal edit {proposal.id} --expires {later}"
        raise UsageProblem(f"expired on {day}.", place=proposal.id, hint=hint)


def approve_own(
    ws: Workspace, proposal: Record, *, readers: Visibility | None, by: str = ""
) -> tuple[Record, str]:
    """Approve what the caller has just proposed, where it may; return it, and why it waits for a
    review otherwise.

    An agent may where the user's own configuration trusts it (`kl.trusted-agents`). What is
    approved still has no file: a person adopts it.
    """
    try:
        return approve(ws, proposal.id, readers=readers, by=by)[0], ""
    except UsageProblem as problem:
        return proposal, f"{proposal.id} is not approved: {problem.reason}"


def _propose_needed(
    ws: Workspace, record: Record, by: str, readers: Visibility | None
) -> list[Record]:
    """Propose up to three skills that an approved proposal needs, three levels deep at most.

    What is near it is listed in the proposal, and not proposed: the title of a page or of a gate is
    no name of a skill, and nobody asked for one.
    """
    if record.number("depth") >= _DEEPEST:
        return []
    existing = {skill.title for skill in (*all_skills(ws), *_proposals(ws))}
    needed = [
        skill_name for relation in ("requires", "composes") for skill_name in record.many(relation)
    ]
    names = [
        skill_name
        for skill_name in dict.fromkeys(needed)
        if SKILL_NAME.fullmatch(skill_name) and skill_name not in existing
    ]
    fields = {"description": f"Needed by {record.title}.", "category": record.text("category")}
    return [
        propose(ws, skill_name, fields, readers=readers, parent=record, by=by)
        for skill_name in names[:_MOST_CHILDREN]
    ]


def adopt(ws: Workspace, identifier: str) -> Record:
    """Write the SKILL.md of an approved proposal: version 1.0.0, with its relations; return the
    skill. For people.

    UsageProblem for one that is not approved, or that was changed since.
    """
    proposal = get_record(ws, identifier, "proposal")
    if agent := agent_author(ws, ""):
        raise ForPeople(
            f"adopt is for people, and this is {agent.removeprefix('agent:')}.", place=proposal.id
        )
    if proposal.status != "approved":
        hint = f"A person approves it: kl proposal approve {proposal.id}"
        raise UsageProblem(f"is {proposal.status}, not approved.", place=proposal.id, hint=hint)
    if proposal.text("approved_text") != _digest(proposal):
        hint = f"Reject it, and propose it anew: kl proposal reject {proposal.id} --reason …"
        raise UsageProblem("was changed after it was approved.", place=proposal.id, hint=hint)
    related = {name: [skill_node(one) for one in proposal.many(name)] for name in RELATIONS}
    values = {
        "title": proposal.title,
        "description": proposal.text("description"),
        "version": "1.0.0",
        "status": "active",
        "category": proposal.text("category"),
        "source": proposal.id,
        **related,
    }
    body = proposal.text("instructions")
    skill = create_record(
        ws, ws.kinds["skill"], {key: value for key, value in values.items() if value}, body=body
    )
    change_record(ws, proposal, {"status": "created"}, how="adopt")
    return skill


def suspicions(record: Record) -> tuple[str, ...]:
    """Return why the text of a proposal reads like an attack on its readers, for the person who
    reviews it.
    """
    return tuple(injection_reasons(f"{record.text('description')}\n{record.text('instructions')}"))


def _proposals(ws: Workspace) -> Sequence[Record]:
    return list_records(ws, RecordFilter(("proposal",)))


def _digest(record: Record) -> str:
    plain = {name: re.sub(r"\s+", " ", record.text(name)).strip() for name in _REVIEWED}
    # of the instructions every byte counts: indentation is code
    return hashlib.sha256(
        canonical({**plain, "instructions": record.text("instructions")})
    ).hexdigest()
