"""Operations of coding agents: register kl with one, remove it again, show what is registered."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.agents.adapters import AGENTS
from kl_hooks.errors import EnvironmentProblem, KlError, UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.model.symbol import FilePath
from kl_hooks.operations.operation import Operation
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.agents.setup import Change
    from kl_hooks.context.access import Access
    from kl_hooks.git.repository import Repository
    from kl_hooks.workspace import Workspace

_NAMES: Final = tuple(AGENTS)
_AGENT: Final = Parameter("The agent.", choices=_NAMES, argument=f"{{{'|'.join(_NAMES)}}}")
_DRY_RUN: Final = Parameter("Show what would change, and change nothing.", name="dry_run")


class InstallRequest(NamedTuple):
    """With which agent kl is registered, and how."""

    agent: Annotated[str, _AGENT]
    is_shared: Annotated[
        bool,
        Parameter("Claude Code: .claude/settings.json, which the team shares.", name="shared"),
    ] = False
    has_block: Annotated[
        bool,
        Parameter(
            "Make AGENTS.md (CLAUDE.md, GEMINI.md) for the block where it is missing.",
            name="block",
        ),
    ] = False
    has_prompts: Annotated[
        bool,
        Parameter(
            "A prompt brings what decides its task, in at most 2,000 characters.", name="prompts"
        ),
    ] = False
    asks: Annotated[bool, Parameter("As without --prompts: the default now.", is_hidden=True)] = (
        False
    )
    is_dry_run: Annotated[bool, _DRY_RUN] = False


class UninstallRequest(NamedTuple):
    """From which agent kl is removed."""

    agent: Annotated[str, _AGENT]
    is_dry_run: Annotated[bool, _DRY_RUN] = False


class Action(StrEnum):
    """What is done with a file."""

    UNCHANGED = "unchanged"
    CREATED = "created"
    REMOVED = "removed"
    UPDATED = "updated"


class FileEdit(NamedTuple):
    """What is done with a file of an agent."""

    path: FilePath
    action: Action
    remark: str
    """Why something in it was left as it is."""
    diff: tuple[str, ...]
    """Unified, without line ends."""
    is_ignored: bool | None = None
    """Whether git ignores it in this clone; False: git tracks it. None: it may be committed."""


class Installation(NamedTuple):
    """What is done with the files of an agent."""

    agent: str
    is_dry_run: bool
    files: tuple[FileEdit, ...]
    is_complete: bool
    """Whether nothing was left as it is, in files that are hidden either."""
    has_prompts: bool | None = None
    """Whether prompts bring something from now on; None: that was not decided."""
    graph_files: int | None = None
    """Source files in the code graph, which notes after an edit rest on; None: it was not built."""
    graph_problem: str = ""
    """Why it could not be built."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Why something was left as it is, of what may be shown."""
        remarks = [f"{edit.path}: {edit.remark}." for edit in self.files if edit.remark]
        if self.graph_problem:
            remarks.append(f"there are no notes after an edit: {self.graph_problem}")
        tracked = [edit.path for edit in self.files if edit.is_ignored is False]
        return (*remarks, *(f"{path}: {_TRACKED} hint: git rm --cached {path}" for path in tracked))


_TRACKED: Final = "git tracks it, and it names an interpreter of this machine."


def _repository(ws: Workspace) -> Repository:
    require_initialized(ws)
    if ws.repo is None:
        hint = "Agents are enabled per clone: git init, or give --root."
        raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint=hint)
    return ws.repo


def _install(ws: Workspace, request: InstallRequest, _access: Access) -> Installation:
    from kl_hooks.agents.exclude import exclude
    from kl_hooks.agents.setup import install_agent

    if request.has_prompts and request.asks:
        raise UsageProblem("--prompts and --asks exclude each other.")
    agent = AGENTS[request.agent]
    repo = _repository(ws)
    changes = install_agent(
        ws,
        repo,
        agent,
        shared=request.is_shared,
        block=request.has_block,
        dry=request.is_dry_run,
        asks=not request.has_prompts,
    )
    installation = _installation(request.agent, changes, is_dry_run=request.is_dry_run)
    installation = installation._replace(has_prompts=request.has_prompts)
    if not request.is_dry_run:
        installation = _with_graph(ws, installation)
    names_machine = bool(agent.shared_file) and not request.is_shared
    if request.is_dry_run or not names_machine:
        return installation
    is_ignored = exclude(repo, agent.hooks_file)
    files = (
        edit._replace(is_ignored=is_ignored) if edit.path == agent.hooks_file else edit
        for edit in installation.files
    )
    return installation._replace(files=tuple(files))


def _with_graph(ws: Workspace, installation: Installation) -> Installation:
    """With the code graph as of now. A hook after an edit must not wait for a first one, so that
    without it the first session would have no notes.
    """
    from kl_hooks.code.query.session import refresh_graph

    try:
        return installation._replace(graph_files=refresh_graph(ws).files)
    except KlError as problem:
        return installation._replace(graph_problem=str(problem))


def _uninstall(ws: Workspace, request: UninstallRequest, _access: Access) -> Installation:
    from kl_hooks.agents.exclude import end_exclusion
    from kl_hooks.agents.setup import uninstall_agent

    agent = AGENTS[request.agent]
    repo = _repository(ws)
    changes = uninstall_agent(ws, repo, agent, dry=request.is_dry_run)
    if not request.is_dry_run:
        end_exclusion(repo, agent.hooks_file)
    return _installation(request.agent, changes, is_dry_run=request.is_dry_run)


def _installation(agent: str, changes: Sequence[Change], *, is_dry_run: bool) -> Installation:
    files = tuple(
        FileEdit(FilePath(change.path), _action(change), change.remark, _diff(change))
        for change in changes
    )
    is_complete = not any(change.remark for change in changes)
    return Installation(agent, is_dry_run, files, is_complete)


def _action(change: Change) -> Action:
    if change.before == change.after:
        return Action.UNCHANGED
    if change.before is None:
        return Action.CREATED
    if change.after is None:
        return Action.REMOVED
    return Action.UPDATED


def _diff(change: Change) -> tuple[str, ...]:
    before, after = ((text or "").splitlines() for text in (change.before, change.after))
    names = (f"a/{change.path}", f"b/{change.path}")
    return tuple(difflib.unified_diff(list(before), list(after), *names, lineterm=""))


def _installation_to_dict(installation: Installation) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "agent": installation.agent,
        "dry_run": installation.is_dry_run,
        "files": [
            {
                "path": edit.path,
                "action": edit.action.value,
                "reason": edit.remark,
                "ignored": edit.is_ignored,
            }
            for edit in installation.files
        ],
    }
    if installation.has_prompts is not None:
        plain["prompts"] = installation.has_prompts
    if installation.graph_files is not None:
        plain["graph"] = {"files": installation.graph_files}
    return plain


INSTALL: Final = Operation(
    "agents install",
    """Register kl's hooks and its MCP server with AGENT, and enable them in this clone (git config
    kl.agents).

    What is in these files already stays. A page of instructions that exists gets a managed block of
    a few lines; a block that was edited is never overwritten. Ends with 1 where something was left
    as it is; the reason is shown.

    A file that names an interpreter of this machine is ignored by git, by .git/info/exclude. The
    code graph is built, which notes after an edit rest on.
    """,
    InstallRequest,
    _install,
    _installation_to_dict,
    "kl.agents.install/2",
    "kl agents install claude --dry-run",
    is_tool=False,
    writes=True,
    progress="reading the code for notes after an edit",
)

UNINSTALL: Final = Operation(
    "agents uninstall",
    "Remove kl's entries for AGENT, and nothing else.",
    UninstallRequest,
    _uninstall,
    _installation_to_dict,
    "kl.agents.uninstall/2",
    "kl agents uninstall claude",
    is_tool=False,
    writes=True,
)


class StatusRequest(NamedTuple):
    """Nothing is asked."""


class RegisteredFile(NamedTuple):
    """A file in which kl is registered."""

    path: FilePath
    content: str
    """What of kl is in it."""


class AgentStatus(NamedTuple):
    """What is registered with one agent."""

    agent: str
    is_enabled: bool
    asks: bool
    """Prompts get no context: it asks by itself."""
    files: tuple[RegisteredFile, ...]


class AgentStates(NamedTuple):
    """What is registered with each agent."""

    agents: tuple[AgentStatus, ...]
    python: str
    """The interpreter that shared entries run kl with (git config kl.python); empty: none."""
    has_python: bool
    """Whether it is there."""


def _status(ws: Workspace, _request: StatusRequest, _access: Access) -> AgentStates:
    from kl_hooks.agents.setup import agent_states, named_python

    repo = _repository(ws)
    python = named_python(repo)
    return AgentStates(
        tuple(
            AgentStatus(
                state.agent,
                state.enabled,
                state.asks,
                tuple(
                    RegisteredFile(FilePath(path), content) for path, content in state.files.items()
                ),
            )
            for state in agent_states(repo)
        ),
        python,
        bool(python) and os.access(python, os.X_OK),
    )


def _states_to_dict(states: AgentStates) -> dict[str, Any]:
    rows = [
        {
            "agent": state.agent,
            "enabled": state.is_enabled,
            "asks": state.asks,
            "files": {file.path: file.content for file in state.files},
        }
        for state in states.agents
    ]
    return {"agents": rows, "python": states.python, "has_python": states.has_python}


STATUS: Final = Operation(
    "agents status",
    "Show which agents are enabled in this clone, and what is registered in which file.",
    StatusRequest,
    _status,
    _states_to_dict,
    "kl.agents.status/2",
    "kl agents status --format json",
    is_tool=False,
)

OPERATIONS: Final = (INSTALL, UNINSTALL, STATUS)
