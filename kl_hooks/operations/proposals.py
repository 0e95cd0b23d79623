"""Operations of proposals of skills: propose one, approve it, write its SKILL.md."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.kinds.catalog import PROPOSAL, SKILL
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.operations.operation import Operation
from kl_hooks.operations.record_changes import written, written_to_dict
from kl_hooks.operations.records import now
from kl_hooks.operations.written import Written
from kl_hooks.records.query import get_record
from kl_hooks.skills import proposals
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace


class ProposeRequest(NamedTuple):
    """A skill that is proposed."""

    name: Annotated[str, Parameter("Such as pdf-forms.", argument="NAME")]
    description: Annotated[str, Parameter("What it does and when to use it.", is_option=True)]
    instructions: Annotated[
        str,
        Parameter("What an agent does, step by step, in Markdown. Without them it stays a draft."),
    ] = ""
    category: Annotated[
        str, Parameter("Its category.", choices=tuple(SKILL.by_name["category"].choices))
    ] = ""
    requires: Annotated[
        tuple[str, ...], Parameter("A skill that it needs. Repeatable.", metavar="NAME")
    ] = ()
    enhances: Annotated[
        tuple[str, ...], Parameter("A skill that it makes better. Repeatable.", metavar="NAME")
    ] = ()
    composes: Annotated[
        tuple[str, ...],
        Parameter("A skill that it is put together of. Repeatable.", metavar="NAME"),
    ] = ()
    succeeds: Annotated[
        tuple[str, ...], Parameter("A skill whose place it takes. Repeatable.", metavar="NAME")
    ] = ()
    auto_approve: Annotated[
        bool,
        Parameter("Approve it, where the user's configuration trusts you; a person adopts it."),
    ] = False
    author: str = ""
    """As events name it."""


def _propose(ws: Workspace, request: ProposeRequest, access: Access) -> Written:
    from kl_hooks.context.access import shared_access

    require_initialized(ws)
    values = request._asdict()
    name = values.pop("name")
    approves = values.pop("auto_approve")
    author = values.pop("author")
    fields = {field: value for field, value in values.items() if value not in ("", ())}
    if author:
        fields |= {"authority": "agent", "agent": author}
    readers = shared_access(ws)
    proposal = proposals.propose(ws, name, fields, readers=readers, by=author)
    if not approves:
        return written(ws, proposal, access)
    proposal, why_not = proposals.approve_own(ws, proposal, readers=readers, by=author)
    return written(ws, proposal, access, *([why_not] if why_not else ()))


def _proposal_to_dict(proposal: Written) -> dict[str, Any]:
    if proposal.notes:
        why_not = {"note": proposal.notes[0]}
    else:
        why_not = {}
    return written_to_dict(PROPOSAL, proposal) | why_not


PROPOSE: Final = Operation(
    "skill propose",
    """Propose a skill: what is recorded about it is added, and how much that is. A person reviews
    it.

    Nothing is added that the policy hides from anybody.
    """,
    ProposeRequest,
    _propose,
    _proposal_to_dict,
    "kl.proposal/1",
    'kl skill propose pdf-forms --description "Fills in PDF forms."',
    writes=True,
)


class ProposalRequest(NamedTuple):
    """One proposal."""

    id: Annotated[str, Parameter("Its ID, such as PROP-0001.", argument="ID")]


class Approval(NamedTuple):
    """A proposal that was approved, and what was proposed with it."""

    proposal: Written
    needed: tuple[Written, ...]
    """New proposals of what it requires, or of what is near."""
    suspicions: tuple[str, ...]
    """Why its text reads like an attack on its readers."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever approves has to know, of what he may be shown."""
        record = self.proposal.record
        suspected = (
            f"{record.id} reads like an instruction to its reviewer: {reason}"
            for reason in self.suspicions
        )
        proposed = (
            f"{change.record.id} proposed: {change.record.title}, which {record.title} needs"
            for change in self.needed
        )
        return (*suspected, *proposed)


def _approve(ws: Workspace, request: ProposalRequest, access: Access) -> Approval:
    from kl_hooks.context.access import shared_access

    require_initialized(ws)
    # nobody states that a text is good which he may not read
    access.require_shown(get_record(ws, request.id, PROPOSAL.name))
    proposal, needed = proposals.approve(ws, request.id, readers=shared_access(ws))
    moment = now(ws)
    return Approval(
        written(ws, proposal, access),
        tuple(Written(record, moment) for record in needed),
        proposals.suspicions(proposal),
    )


APPROVE: Final = Operation(
    "proposal approve",
    """Approve a proposal, and propose what it requires and does not exist: at most three skills,
    three levels deep.
    """,
    ProposalRequest,
    _approve,
    lambda approval: written_to_dict(PROPOSAL, approval.proposal),
    "kl.record/1",
    "kl proposal approve PROP-0001",
    is_tool=False,
    writes=True,
)


def _adopt(ws: Workspace, request: ProposalRequest, access: Access) -> Written:
    require_initialized(ws)
    return written(ws, proposals.adopt(ws, request.id), access)


ADOPT: Final = Operation(
    "skill adopt",
    """Write the SKILL.md of a proposal that a person approved, exactly as it was then.

    For people.
    """,
    ProposalRequest,
    _adopt,
    partial(written_to_dict, SKILL),
    "kl.record/1",
    "kl skill adopt PROP-0001",
    is_tool=False,
    writes=True,
)

OPERATIONS: Final = (PROPOSE, APPROVE, ADOPT)
