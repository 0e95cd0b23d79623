"""The operation that removes kl from a clone: each package removes what it wrote."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.errors import CLEAN, FINDINGS, ForPeople, KlError
from kl_hooks.hookspecs import Removal, Uninstaller
from kl_hooks.model.actors import agent
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.operations.operation import Operation

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace


class UninstallRequest(NamedTuple):
    """Whether it is only shown."""

    is_dry_run: Annotated[
        bool, Parameter("List what would be removed, and remove nothing.", name="dry_run")
    ] = False


class Uninstallation(NamedTuple):
    """What was removed, and what stays."""

    is_dry_run: bool
    removals: tuple[Removal, ...]

    @property
    def has_failed(self) -> bool:
        """Whether something was to be removed and could not be."""
        return any(removal.has_failed for removal in self.removals)


def _uninstall(ws: Workspace, request: UninstallRequest, _access: Access) -> Uninstallation:
    if name := agent(ws.environ):
        raise ForPeople("only a person removes kl from a clone.", place=f"agent:{name}")
    removals = [
        removal
        for uninstallers in ws.plugins.hook.kl_uninstallers()
        for uninstaller in uninstallers
        for removal in _removals(ws, uninstaller, request.is_dry_run)
    ]
    return Uninstallation(request.is_dry_run, (*removals, *_of_user(ws)))


def _removals(ws: Workspace, uninstaller: Uninstaller, is_dry_run: bool) -> Sequence[Removal]:
    """What one package removes. Where that fails, the others still do."""
    try:
        return uninstaller.uninstall(ws, is_dry_run)
    except KlError as problem:
        place = problem.place or uninstaller.name
        return [Removal(place, uninstaller.name, problem.reason, problem.hint, has_failed=True)]
    except OSError as problem:
        place = str(problem.filename or uninstaller.name)
        reason = f"can't be removed: {problem.strerror or problem}."
        return [Removal(place, uninstaller.name, reason, has_failed=True)]


def _of_user(ws: Workspace) -> Iterator[Removal]:
    """What the user has for all repositories."""
    from kl_hooks.config.settings import user_settings_file

    settings_file = user_settings_file(ws.environ)
    if settings_file is not None and settings_file.exists():
        reason = "your settings for every repository."
        yield Removal(
            str(settings_file), "settings", reason, f"rm {shlex.quote(str(settings_file))}"
        )
    reason = "the program, which other repositories may use."
    yield Removal("kl-hooks", "Python package", reason, "pip uninstall kl-hooks")


def exit_code(uninstallation: Uninstallation, _request: Any) -> int:
    """Return 1 where something was to be removed and could not be."""
    return FINDINGS if uninstallation.has_failed else CLEAN


def _to_dict(uninstallation: Uninstallation) -> dict[str, Any]:
    removed = [removal for removal in uninstallation.removals if not removal.reason]
    staying = [removal for removal in uninstallation.removals if removal.reason]
    return {
        "dry_run": uninstallation.is_dry_run,
        "removed": [{"place": removal.place, "what": removal.sort} for removal in removed],
        "stays": [
            {
                "place": removal.place,
                "what": removal.sort,
                "reason": removal.reason,
                "command": removal.command,
                "failed": removal.has_failed,
            }
            for removal in staying
        ],
    }


UNINSTALL: Final = Operation(
    "uninstall",
    """Remove kl from this clone: git hooks, agents' entries, settings of git, state and caches.

    Evidence and candidates that are stored in this clone alone are lost: kl evidence export writes
    receipts to a file before. Files that people author, in .kl/, stay. All that stays is named, with
    the command that removes it. Ends with 1 where something could not be removed.
    """,
    UninstallRequest,
    _uninstall,
    _to_dict,
    "kl.uninstall/1",
    "kl uninstall --dry-run",
    is_tool=False,
    writes=True,
)
OPERATIONS: Final = (UNINSTALL,)
