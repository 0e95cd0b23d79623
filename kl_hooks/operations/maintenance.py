"""The operation of periodic maintenance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.operations.operation import Operation

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.upkeep.run import ActionResult
    from kl_hooks.workspace import Workspace


class MaintainRequest(NamedTuple):
    """What is done."""

    only_due: Annotated[bool, Parameter("Only what was not done lately.", name="due")] = False


class Maintenance(NamedTuple):
    """What was done."""

    actions: tuple[ActionResult, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What failed, and why."""
        return tuple(
            f"{action.name}: {action.trouble}" for action in self.actions if action.trouble
        )


def _maintain(ws: Workspace, request: MaintainRequest, _access: Access) -> Maintenance:
    from kl_hooks.upkeep.run import run_maintenance

    return Maintenance(tuple(run_maintenance(ws, only_due=request.only_due)))


def _to_dict(maintenance: Maintenance) -> dict[str, Any]:
    rows = [
        {"action": action.name, "result": action.result, "trouble": action.trouble}
        for action in maintenance.actions
    ]
    return {"done": rows}


MAINTAIN: Final = Operation(
    "maintain",
    """Run periodic maintenance: import captures, mine receipts, tidy the state, check the chain.

    Nothing in the working tree is touched. To run it automatically, at most once a day, in the
    background of another command, and never in CI or a git hook: git config kl.maintain daily
    """,
    MaintainRequest,
    _maintain,
    _to_dict,
    "kl.maintain/1",
    "kl maintain --due",
    is_tool=False,
)
