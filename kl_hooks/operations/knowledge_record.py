"""Operations on one record of any kind, by its ID: show it, accept or reject what is proposed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.errors import ForPeople
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.kind import Kind, Verb
from kl_hooks.model.parameter import Parameter
from kl_hooks.operations import claims, memory, record_changes, records
from kl_hooks.operations.claims import ShownClaim
from kl_hooks.operations.memory import Changed
from kl_hooks.operations.operation import Operation
from kl_hooks.operations.parts import Kinds
from kl_hooks.operations.records import ShownRecord
from kl_hooks.operations.written import Written
from kl_hooks.records.query import get_record

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace

_CLAIM: Final = "claim:"
"""What the ID of a claim begins with, where other IDs are taken too."""


class ShowRequest(NamedTuple):
    """What is shown."""

    id: Annotated[str, Parameter("Its id; of a claim `claim:…`.", argument="ID")]


class Shown(NamedTuple):
    """A record of any kind, or a claim."""

    shown: ShownRecord | ShownClaim
    kinds: Kinds

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be read."""
        return self.shown.notes


def _show(ws: Workspace, request: ShowRequest, access: Access) -> Shown:
    kinds = Kinds(ws.kinds)
    if request.id.lower().startswith(_CLAIM):
        return Shown(claims.SHOW.run(ws, claims.ClaimRequest(request.id), access), kinds)
    return Shown(records.shown_record(ws, get_record(ws, request.id)), kinds)


def _show_to_dict(shown: Shown) -> dict[str, Any]:
    if isinstance(shown.shown, ShownClaim):
        return claims.SHOW.plain(shown.shown)
    kind = shown.kinds.by_name[shown.shown.record.kind]
    return records.shown_to_dict(kind, shown.shown)


SHOW: Final = Operation(
    "knowledge show",
    "Show one record of any kind, or a claim (`claim:…`), by its ID.",
    ShowRequest,
    _show,
    _show_to_dict,
    "kl.record/1",
    "kl knowledge show FEAT-AUTH-12",
    is_tool=False,
)


class DecideRequest(NamedTuple):
    """What is decided about."""

    id: Annotated[str, Parameter("Its id.", argument="ID")]


class Decided(NamedTuple):
    """A record, after what was proposed of it was accepted or rejected."""

    change: Written | Changed
    """`Changed`: it is a memory that was reviewed."""
    kinds: Kinds

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known of it."""
        return self.change.notes


def _decide(is_accepted: bool, ws: Workspace, request: DecideRequest, access: Access) -> Decided:
    from kl_hooks.records.permissions import agent_author

    record = get_record(ws, request.id)
    word = _WORDS[is_accepted]
    if author := agent_author(ws, ""):
        raise ForPeople(
            f"{word} is for people, and this is {author.removeprefix('agent:')}.",
            place=record.id,
            hint=f"Ask a person to run: kl knowledge {word} {record.id}",
        )
    return Decided(_change(ws, record, access, is_accepted=is_accepted), Kinds(ws.kinds))


_WORDS: Final = {True: "accept", False: "reject"}


def _change(
    ws: Workspace, record: Record, access: Access, *, is_accepted: bool
) -> Written | Changed:
    """Accept or reject a record that is proposed, else the changes that are proposed for it."""
    from kl_hooks.records.write import apply_verb

    verb = _deciding_verb(ws.kinds[record.kind], record, is_accepted=is_accepted)
    if verb is None:
        return record_changes.decide(ws, record, access, is_accepted=is_accepted)
    if record.kind != "memory":
        return record_changes.written(ws, apply_verb(ws, record.id, verb.name, {}), access)
    # not by the verb alone: a review also writes rejected.txt and the Event that it took place
    if is_accepted:
        change: Changed = memory.APPROVE.run(ws, memory.ApproveRequest(record.id), access)
    else:
        change = memory.REJECT.run(ws, memory.ReasonRequest(record.id), access)
    return change


def _deciding_verb(kind: Kind, record: Record, *, is_accepted: bool) -> Verb | None:
    """Return the verb that takes this record, which is proposed, on, or refuses it; None where the
    record itself is not proposed.
    """
    if not kind.proposal or record.status != kind.proposal:
        return None
    verbs = (verb for verb in kind.verbs if verb.person and kind.proposal in verb.of)
    return next((verb for verb in verbs if (verb.to in kind.live) == is_accepted), None)


def _decided_to_dict(decided: Decided) -> dict[str, Any]:
    change = decided.change
    if isinstance(change, Changed):
        return memory.APPROVE.plain(change)
    return record_changes.written_to_dict(decided.kinds.by_name[change.record.kind], change)


def _decision(is_accepted: bool) -> Operation:
    word = _WORDS[is_accepted]
    return Operation(
        f"knowledge {word}",
        f"{word.capitalize()} a proposed record, or the changes that are proposed for it. For"
        " people.",
        DecideRequest,
        partial(_decide, is_accepted),
        _decided_to_dict,
        "kl.record/1",
        f"kl knowledge {word} OBJ-0001",
        is_tool=False,
    )


ACCEPT: Final = _decision(True)
REJECT: Final = _decision(False)
