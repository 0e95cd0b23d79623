"""Coding agents as data: names of their events, files and keys; an event read from a payload, an
answer in their form.

Sources, read in November 2026: `types.py` of claude-agent-sdk-python;
codex-rs/hooks/schema/generated of openai/codex; docs/hooks/reference.md of
google-gemini/gemini-cli; cursor.com/docs/hooks. The payloads were not tried on real installations.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from kl_hooks.model.definitions import NamedTuple


class Moment(StrEnum):
    """When a hook is called."""

    START = "start"
    SUBAGENT = "subagent"
    """When an agent that works for the session's agent starts: it has nothing of the
    conversation.
    """
    PROMPT = "prompt"
    EDIT = "edit"
    """Before an edit."""
    USED = "used"
    """After a tool."""
    FAILED = "failed"
    """After a tool that failed."""
    COMPACT = "compact"
    """Before the conversation is compacted."""
    STOP = "stop"
    """At the end of the agent's work."""
    END = "end"
    """At the end of the session."""


class Reply(StrEnum):
    """Sorts of answers."""

    CONTEXT = "context"
    """Text for the agent."""
    DENY = "deny"
    """An edit is refused."""
    AGAIN = "again"
    """The agent goes on once."""
    NOTE = "note"
    """A remark."""


SETTING: Final = "kl.agents"
"""In git's configuration of the clone: the agents whose hooks do something, separated by spaces."""
ASKING: Final = f"{SETTING}-asking"
"""The same for those that have a source of context of their own, and ask it: prompts bring them no
package.
"""
PYTHON: Final = "kl.python"
"""In git's configuration of the clone: the interpreter that entries run kl with which others get
with the repository. A file in the repository can't set it.
"""
FOLDER: Final = "agents"
"""In the state directory."""
MAX_PAYLOAD: Final = 4 * 1024 * 1024
"""Bytes of a payload; a larger one is ignored."""
_TEXT, _EVENT = "{text}", "{event}"
_SPECIFIC: Final = {"hookSpecificOutput": {"hookEventName": _EVENT, "additionalContext": _TEXT}}


class Agent(NamedTuple):
    """What is particular about one agent."""

    name: str
    actor: str
    """What evidence calls it, see `model.actors`."""
    events: Mapping[Moment, str]
    """Our event → the agent's name of it."""
    answers: Mapping[Reply, Any]
    """Sort of answer → its JSON."""
    matchers: Mapping[Moment, str]
    """Our event → which tools it is for, as a pattern."""
    hooks_file: str
    servers_file: str
    page: str
    """The page of instructions that it reads."""
    shared_file: str = ""
    """Where hooks are registered with `--shared`; empty: in `hooks_file`."""
    timeout: int = 30
    """Of a hook, in the agent's own unit."""
    is_flat: bool = False
    """True where a hook is registered without a group around it."""
    success_is_zero: bool = False
    """True where the event after a tool means that a command exited with 0."""
    takes_late: bool = False
    """True where a prompt and a failed tool take no text, but the next tool does."""

    def read_event(self, name: str, content: bytes) -> Event | None:
        """Return the event in a payload; None for a name that is not known, and for what is no JSON
        object.

        `name`: the agent's own, as it was registered. Anything in the payload may be missing or of
        another type.
        """
        ours = next((own for own, native in self.events.items() if native == name), None)
        if ours is None or not content or len(content) > MAX_PAYLOAD:
            return None
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            return None
        if not isinstance(found, dict):
            return None
        roots = found.get("workspace_roots")
        folder = _text(found, "cwd") or (roots[0] if isinstance(roots, list) and roots else "")
        loops = found.get("loop_count")
        return Event(
            ours,
            self,
            _text(found, "session_id", "conversation_id")[:200],
            folder if isinstance(folder, str) else "",
            _text(found, "prompt"),
            _text(found, "source"),
            _text(found, "tool_name")[:100],
            _mapping(found.get("tool_input")),
            _result(found),
            _text(found, "error", "error_message"),
            _text(found, "transcript_path"),
            found.get("stop_hook_active") is True
            or (isinstance(loops, int) and loops > 0)
            or found.get("status") in ("aborted", "error"),
            found.get("failure_type") == "permission_denied" or found.get("is_interrupt") is True,
            _text(found, "last_assistant_message", "prompt_response"),
            "cursor_version" in found,
        )


_CLAUDE_ANSWERS: Final[Mapping[Reply, Any]] = {
    Reply.CONTEXT: _SPECIFIC,
    Reply.DENY: {
        "hookSpecificOutput": {
            "hookEventName": _EVENT,
            "permissionDecision": "deny",
            "permissionDecisionReason": _TEXT,
        }
    },
    Reply.AGAIN: {"decision": "block", "reason": _TEXT},
    Reply.NOTE: {"systemMessage": _TEXT},
}
_CLAUDE_EVENTS: Final = {
    Moment.START: "SessionStart",
    Moment.SUBAGENT: "SubagentStart",
    Moment.PROMPT: "UserPromptSubmit",
    Moment.EDIT: "PreToolUse",
    Moment.USED: "PostToolUse",
    Moment.FAILED: "PostToolUseFailure",
    Moment.COMPACT: "PreCompact",
    Moment.STOP: "Stop",
    Moment.END: "SessionEnd",
}
_EDITS, _SHELL = "Edit|MultiEdit|Write", "Bash"
AGENTS: Final = {
    one.name: one
    for one in (
        Agent(
            "claude",
            "claude-code",
            _CLAUDE_EVENTS,
            _CLAUDE_ANSWERS,
            {Moment.EDIT: _EDITS, Moment.USED: f"{_EDITS}|{_SHELL}", Moment.FAILED: _SHELL},
            ".claude/settings.local.json",
            ".mcp.json",
            "CLAUDE.md",
            ".claude/settings.json",
            success_is_zero=True,
        ),
        Agent(
            "codex",
            "codex",
            {
                name: event
                for name, event in _CLAUDE_EVENTS.items()
                if name not in (Moment.FAILED, Moment.END)
            },
            _CLAUDE_ANSWERS,
            {Moment.EDIT: "apply_patch", Moment.USED: "apply_patch|Bash"},
            ".codex/hooks.json",
            ".codex/config.toml",
            "AGENTS.md",
        ),
        Agent(
            "gemini",
            "gemini-cli",
            {
                Moment.START: "SessionStart",
                Moment.PROMPT: "BeforeAgent",
                Moment.EDIT: "BeforeTool",
                Moment.USED: "AfterTool",
                Moment.COMPACT: "PreCompress",
                Moment.STOP: "AfterAgent",
                Moment.END: "SessionEnd",
            },
            {
                Reply.CONTEXT: _SPECIFIC,
                Reply.DENY: {"decision": "deny", "reason": _TEXT},
                Reply.AGAIN: {"decision": "deny", "reason": _TEXT},
                Reply.NOTE: {"systemMessage": _TEXT},
            },
            {
                Moment.EDIT: "write_file|replace",
                Moment.USED: "write_file|replace|run_shell_command",
            },
            ".gemini/settings.json",
            ".gemini/settings.json",
            "GEMINI.md",
            timeout=30_000,  # milliseconds
        ),
        Agent(
            "cursor",
            "cursor",
            {
                Moment.START: "sessionStart",
                Moment.PROMPT: "beforeSubmitPrompt",
                Moment.EDIT: "preToolUse",
                Moment.USED: "postToolUse",
                Moment.FAILED: "postToolUseFailure",
                Moment.COMPACT: "preCompact",
                Moment.STOP: "stop",
                Moment.END: "sessionEnd",
            },
            {
                Reply.CONTEXT: {"additional_context": _TEXT},
                Reply.DENY: {"permission": "deny", "user_message": _TEXT, "agent_message": _TEXT},
                Reply.AGAIN: {"followup_message": _TEXT},
                Reply.NOTE: {"user_message": _TEXT},
            },
            {Moment.EDIT: "Write", Moment.USED: "Write|Shell", Moment.FAILED: "Shell"},
            ".cursor/hooks.json",
            ".cursor/mcp.json",
            "AGENTS.md",
            is_flat=True,
            takes_late=True,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in an agent's session."""

    name: Moment
    """One of ours."""
    agent: Agent
    session: str = ""
    folder: str = ""
    """Where the agent works; empty: unknown."""
    prompt: str = ""
    source: str = ""
    """Why a session starts: `startup`, `resume`, `clear`, `compact`; empty: unknown."""
    tool: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    """The arguments of the tool."""
    result: Any = ""
    """What the tool answered, as it was."""
    error: str = ""
    transcript: str = ""
    """The file with the conversation; empty: unknown."""
    is_repeated: bool = False
    """True where the agent must not be sent back to work: a hook did that already, or its user
    stopped it.
    """
    was_refused: bool = False
    """True for a tool that failed because it was not allowed to run, or because its user stopped
    it.
    """
    message: str = ""
    """The agent's last message, at the end of its work."""
    is_in_cursor: bool = False
    """True where Cursor calls the hook; it calls those of Claude Code too."""

    def answer(self, sort: Reply, text: str) -> str:
        """Return an answer in the agent's form, as one line of ASCII JSON."""

        def filled(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: filled(one) for key, one in value.items()}
            return {_TEXT: text, _EVENT: self.agent.events[self.name]}.get(value, value)

        return json.dumps(filled(self.agent.answers[sort]))


def _text(found: Mapping[str, Any], *names: str) -> str:
    values = (found.get(name) for name in names)
    return next((one for one in values if isinstance(one, str) and one), "")


def _mapping(value: Any) -> Mapping[str, Any]:
    value = _parsed(value)
    if isinstance(value, dict):
        return value
    return {}


def _parsed(value: Any) -> Any:
    """The value of a text that is a JSON object:

    Cursor gives what tools take and answer as texts.
    """
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _result(found: Mapping[str, Any]) -> Any:
    answer = _parsed(
        found.get("tool_response", found.get("tool_output", found.get("tool_result", "")))
    )
    if isinstance(answer, dict) and "llmContent" in answer:
        # Gemini's parts; what is displayed is the same for people
        return {
            "content": answer["llmContent"],
            **({"is_error": True} if answer.get("error") else {}),
        }
    return answer
