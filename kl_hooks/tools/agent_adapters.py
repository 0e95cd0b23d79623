"""Coding agents as data: names of their events, files and keys; an event read from a payload, an answer in their form.

Sources, read in November 2026: `types.py` of claude-agent-sdk-python; codex-rs/hooks/schema/generated of openai/codex;
docs/hooks/reference.md of google-gemini/gemini-cli; cursor.com/docs/hooks. The payloads were not tried on real
installations.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

START, PROMPT, EDIT, USED, FAILED, COMPACT, STOP = "start", "prompt", "edit", "used", "failed", "compact", "stop"
"""Our events: a session starts, a prompt is given, before an edit, after a tool, after a tool that failed, before the
conversation is compacted, at the end of the agent's work."""
CONTEXT, DENY, AGAIN, NOTE = "context", "deny", "again", "note"
"""Sorts of answers: text for the agent, an edit refused, the agent goes on once, a remark."""
MAX_PAYLOAD: Final = 4 * 1024 * 1024
"""Bytes of a payload; a larger one is ignored."""
_TEXT, _EVENT = "{text}", "{event}"
_SPECIFIC: Final = {"hookSpecificOutput": {"hookEventName": _EVENT, "additionalContext": _TEXT}}


@dataclass(frozen=True, slots=True)
class Agent:
    """What is particular about one agent."""

    name: str
    actor: str
    """What evidence calls it, see `model.actors`."""
    events: Mapping[str, str]
    """Our event → the agent's name of it."""
    answers: Mapping[str, Any]
    """Sort of answer → its JSON."""
    matchers: Mapping[str, str]
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
    """True where a prompt takes no text, but the next tool does."""


_CLAUDE_ANSWERS: Final = {
    CONTEXT: _SPECIFIC,
    DENY: {
        "hookSpecificOutput": {
            "hookEventName": _EVENT, "permissionDecision": "deny", "permissionDecisionReason": _TEXT,
        }
    },
    AGAIN: {"decision": "block", "reason": _TEXT},
    NOTE: {"systemMessage": _TEXT},
}  # fmt: skip
_CLAUDE_EVENTS: Final = {
    START: "SessionStart", PROMPT: "UserPromptSubmit", EDIT: "PreToolUse", USED: "PostToolUse",
    FAILED: "PostToolUseFailure", COMPACT: "PreCompact", STOP: "Stop",
}  # fmt: skip
_EDITS, _SHELL = "Edit|MultiEdit|Write", "Bash"
AGENTS: Final = {
    one.name: one
    for one in (
        Agent(
            "claude", "claude-code", _CLAUDE_EVENTS, _CLAUDE_ANSWERS,
            {EDIT: _EDITS, USED: f"{_EDITS}|{_SHELL}", FAILED: _SHELL},
            ".claude/settings.local.json", ".mcp.json", "CLAUDE.md", ".claude/settings.json", success_is_zero=True,
        ),
        Agent(
            "codex", "codex", {name: event for name, event in _CLAUDE_EVENTS.items() if name != FAILED},
            _CLAUDE_ANSWERS, {EDIT: "apply_patch", USED: "apply_patch|Bash"},
            ".codex/hooks.json", ".codex/config.toml", "AGENTS.md",
        ),
        Agent(
            "gemini", "gemini-cli",
            {
                START: "SessionStart", PROMPT: "BeforeAgent", EDIT: "BeforeTool", USED: "AfterTool",
                COMPACT: "PreCompress", STOP: "AfterAgent",
            },
            {
                CONTEXT: _SPECIFIC, DENY: {"decision": "deny", "reason": _TEXT},
                AGAIN: {"decision": "deny", "reason": _TEXT}, NOTE: {"systemMessage": _TEXT},
            },
            {EDIT: "write_file|replace", USED: "write_file|replace|run_shell_command"},
            ".gemini/settings.json", ".gemini/settings.json", "GEMINI.md", timeout=30_000,  # milliseconds
        ),
        Agent(
            "cursor", "cursor",
            {
                START: "sessionStart", PROMPT: "beforeSubmitPrompt", EDIT: "preToolUse", USED: "postToolUse",
                FAILED: "postToolUseFailure", COMPACT: "preCompact", STOP: "stop",
            },
            {
                CONTEXT: {"additional_context": _TEXT},
                DENY: {"permission": "deny", "user_message": _TEXT, "agent_message": _TEXT},
                AGAIN: {"followup_message": _TEXT}, NOTE: {"user_message": _TEXT},
            },
            {EDIT: "Write", USED: "Write|Shell", FAILED: "Shell"},
            ".cursor/hooks.json", ".cursor/mcp.json", "AGENTS.md", is_flat=True, takes_late=True,
        ),
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in an agent's session."""

    name: str
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
    is_repeated: bool = False
    """True where the agent goes on because a hook made it."""


def read_event(agent: Agent, name: str, content: bytes) -> Event | None:
    """Return the event in a payload; None for a name that is not known, and for what is no JSON object.

    `name`: the agent's own, as it was registered. Anything in the payload may be missing or of another type.
    """
    ours = next((own for own, native in agent.events.items() if native == name), None)
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
        ours, agent, _text(found, "session_id", "conversation_id")[:200], folder if isinstance(folder, str) else "",
        _text(found, "prompt"), _text(found, "source"), _text(found, "tool_name")[:100],
        _mapping(found.get("tool_input")), _result(found), _text(found, "error", "error_message"),
        found.get("stop_hook_active") is True or (isinstance(loops, int) and loops > 0),
    )  # fmt: skip


def _text(found: Mapping[str, Any], *names: str) -> str:
    values = (found.get(name) for name in names)
    return next((one for one in values if isinstance(one, str) and one), "")


def _mapping(value: Any) -> Mapping[str, Any]:
    value = _parsed(value)
    return value if isinstance(value, dict) else {}


def _parsed(value: Any) -> Any:
    """The value of a text that is a JSON object: Cursor gives what tools take and answer as texts."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _result(found: Mapping[str, Any]) -> Any:
    answer = _parsed(found.get("tool_response", found.get("tool_output", found.get("tool_result", ""))))
    if isinstance(answer, dict) and "llmContent" in answer:
        # Gemini's parts; what is displayed is the same for people
        return {"content": answer["llmContent"], **({"is_error": True} if answer.get("error") else {})}
    return answer


def answer_json(event: Event, sort: str, text: str) -> str:
    """Return an answer in the agent's form, as one line of ASCII JSON."""

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: filled(one) for key, one in value.items()}
        return {_TEXT: text, _EVENT: event.agent.events[event.name]}.get(value, value)

    return json.dumps(filled(event.agent.answers[sort]))
