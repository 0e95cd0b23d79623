"""Operations of a review of memories: list what waits, carry out what was decided."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import STDIN, InputFile, Parameter
from kl_hooks.model.problem import Problems
from kl_hooks.operations.operation import TOP, Listing, Operation
from kl_hooks.records.query import NO_LIMIT

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.kinds.memory.review import Decision, ReviewItem
    from kl_hooks.workspace import Workspace


class ReviewRequest(NamedTuple):
    """Which memories are reviewed."""

    everything: Annotated[
        bool, Parameter("Those that were approved or rejected too.", name="all")
    ] = False
    limit: Annotated[int, TOP._replace(help="Most results shown.", bounds=(1, 10_000))] = 50


class ReviewList(NamedTuple):
    """Memories that wait for a review, those that most sessions saw first."""

    items: Listing
    """Of `ReviewItem`s."""
    unread: int
    """Those beyond the list, which were counted alone."""
    notes: tuple[str, ...]

    @property
    def total(self) -> int:
        """How many there are."""
        return self.items.total + self.unread


def _review(ws: Workspace, request: ReviewRequest, access: Access) -> ReviewList:
    from kl_hooks.kinds.memory.add import mine_receipts
    from kl_hooks.kinds.memory.review import review_items, review_queue
    from kl_hooks.records.liveness import withhold_quarantined

    if ws.settings.memory_auto_extract:
        trouble = mine_receipts(ws).trouble
    else:
        trouble = ""
    # under a policy all: those that are hidden are not counted
    limit = request.limit if access.shows_all else NO_LIMIT
    records, total = review_queue(ws, limit, everything=request.everything)
    if access.is_agent:
        shown = withhold_quarantined(ws, records)
    else:
        shown = records
    items = Listing(tuple(review_items(ws, shown)), request.limit)
    return ReviewList(items, total - len(records), notes_of(trouble, page_trouble(ws)))


def page_trouble(ws: Workspace) -> str:
    """Write the page of memories again; return why that failed."""
    from kl_hooks.kinds.memory.inject import write_page

    return write_page(ws)


def notes_of(*notes: str) -> tuple[str, ...]:
    """Return those that are not empty."""
    return tuple(filter(None, notes))


def _review_to_dict(reviewed: ReviewList) -> dict[str, Any]:
    rows = [item.to_dict() | item.cost_to_dict() for item in reviewed.items.shown]
    return {"memories": rows, "total": reviewed.total}


REVIEW: Final = Operation(
    "memory review",
    """Go through the candidates, those that most sessions saw first: approve, reject, edit, skip,
    undo, quit.

    One key and Enter each; `r` takes a reason after it. Nothing is done before the last question is
    answered, so undo always works; Ctrl-C drops it all. `--format json` lists the candidates for a
    program, `--answers` takes its decisions.
    """,
    ReviewRequest,
    _review,
    _review_to_dict,
    "kl.memory.review/3",
    "kl memory review --format json | my-reviewer | kl memory review --answers -",
    is_tool=False,
)


class DecideRequest(NamedTuple):
    """What was decided in a review."""

    decisions: tuple[Any, ...] = ()
    """The `Decision`s of a person who was asked; else the file has them."""
    file: Annotated[
        InputFile,
        Parameter(
            'Take decisions from this JSON file, or - for stdin: {"answers": [{"id": …, "do":'
            ' "approve"}]}.',
            name="answers",
            metavar="FILE",
        ),
    ] = InputFile("")
    stdin: str = ""
    """What was read from it, where it is the file."""


class Reviewed(NamedTuple):
    """Memories that a review changed."""

    items: tuple[ReviewItem, ...]
    total: int
    """How many were changed, also of those that whoever decided may not read."""
    notes: tuple[str, ...]


def _apply_decisions(ws: Workspace, request: DecideRequest, _access: Access) -> Reviewed:
    from kl_hooks.kinds.memory.review import Reviewer, review_items

    if request.file:
        decisions = _read_decisions(request)
    else:
        decisions = request.decisions
    if decisions:
        records = Reviewer.current(ws, "kl memory review").apply(ws, decisions)
    else:
        records = []
    items = tuple(review_items(ws, records))
    return Reviewed(items, len(records), notes_of(page_trouble(ws)))


def _read_decisions(request: DecideRequest) -> tuple[Decision, ...]:
    """Return the decisions in a file. Problems with everything wrong."""
    import json

    from kl_hooks.kinds.memory.review import Decision

    is_stdin = request.file == STDIN
    name = "stdin" if is_stdin else request.file
    try:
        if is_stdin:
            text = request.stdin
        else:
            text = Path(request.file).read_text("utf-8")
        decisions, problems = Decision.read_all(json.loads(text), name)
    except OSError as problem:
        raise UsageProblem(f"can't be read: {problem.strerror}.", place=name) from problem
    except (ValueError, RecursionError) as problem:
        raise UsageProblem(
            f"is no JSON: {problem}", place=name, hint="See: kl memory review --format json"
        ) from None
    if problems:
        raise Problems(problems)
    return tuple(decision for decision in decisions if decision.do != "skip" or decision.text)


DECIDE: Final = Operation(
    "memory review",
    "Carry out the decisions of a review: all of them, or none.",
    DecideRequest,
    _apply_decisions,
    lambda reviewed: {
        "memories": [item.to_dict() | item.cost_to_dict() for item in reviewed.items]
    },
    "kl.memory.review/3",
    "kl memory review --answers answers.json",
    is_tool=False,
)
