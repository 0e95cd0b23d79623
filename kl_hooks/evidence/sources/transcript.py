"""Transcripts of coding agents (JSON lines): messages, and calls of tools with their results.

Read: Claude Code, Codex, and plain chat messages with tool calls. A line that is none of these is
counted, not fatal. Texts are those of the file: whoever stores one redacts it first, and none of it
is trusted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.model.canonical import digest
from kl_hooks.model.definitions import NamedTuple, lazy_pattern

LARGEST: Final = 256 * 1024 * 1024
"""Bytes of a transcript that is read."""
LONGEST_LINE: Final = 4 * 1024 * 1024
_NAME: Final = lazy_pattern(r"[A-Za-z0-9._:-]{1,80}")
_SILENT: Final = (
    "summary",
    "system",
    "file-history-snapshot",
    "turn_context",
    "event_msg",
    "reasoning",
    "queue-operation",
)
"""Types of lines without a message or a call."""


class Message(NamedTuple):
    """A text of the user or of the agent."""

    role: str
    """`user` or `assistant`."""
    text: str
    at: str = ""


class ToolCall(NamedTuple):
    """A call of a tool, and its result."""

    name: str
    given: Mapping[str, Any]
    result: str = ""
    failed: bool = False
    at: str = ""

    @property
    def command(self) -> str:
        """The command line, where the tool runs one; else empty."""
        argument = self.given.get("command") or self.given.get("cmd") or ""
        if isinstance(argument, list | tuple):
            words = [str(word) for word in argument]
            if len(words) > 2 and words[1] in ("-c", "-lc"):
                return words[-1]
            return " ".join(words)
        if isinstance(argument, str):
            return argument
        return ""

    @property
    def path(self) -> str:
        """The file it is about, where it names one; else empty."""
        argument = (
            self.given.get("file_path")
            or self.given.get("path")
            or self.given.get("notebook_path")
            or ""
        )
        if isinstance(argument, str):
            return argument
        return ""


class Transcript(NamedTuple):
    """One session of an agent."""

    session: str
    folder: str = ""
    """Where it worked."""
    items: tuple[Message | ToolCall, ...] = ()
    bad: int = 0
    """Lines that could not be read."""


@dataclass
class _Reading:
    """What has been read so far."""

    session: str = ""
    folder: str = ""
    items: list[Message | ToolCall] = field(default_factory=list)
    waiting: dict[str, int] = field(default_factory=dict)
    """Id of a call → its place in `items`."""
    bad: int = 0


def read_transcript(path: Path) -> Transcript:
    """The transcript in a file. UsageProblem where it can't be read, or holds no line of a
    transcript.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise UsageProblem(
                f"is larger than {LARGEST >> 20} MB.", place=str(path), hint="Give a part of it."
            )
        with path.open("rb") as lines:
            transcript = parse(lines)
    except OSError as problem:
        raise UsageProblem(
            f"can't be read: {problem.strerror}.", place=str(path), hint="Check the name."
        ) from problem
    if not transcript.items and transcript.bad:
        hint = (
            "Expected: JSON lines as Claude Code or Codex write them. The JSON of one tool call:"
            " kl finding add --hook"
        )
        raise UsageProblem("holds no line of a transcript.", place=str(path), hint=hint)
    return transcript


def parse(lines: Iterable[bytes]) -> Transcript:
    """The transcript that these lines are. A session without a name, or with an odd one, is known
    by a digest.
    """
    reading = _Reading()
    for line in lines:
        if line.strip():
            _line(reading, line)
    name = reading.session or repr([repr(item)[:2000] for item in reading.items])
    return Transcript(
        name if _NAME.fullmatch(name) else digest("transcript/1", name)[:16],
        reading.folder,
        tuple(reading.items),
        reading.bad,
    )


def _line(reading: _Reading, line: bytes) -> None:
    try:
        if len(line) <= LONGEST_LINE:
            plain = json.loads(line)
        else:
            plain = None
    except (ValueError, RecursionError):
        plain = None
    if not isinstance(plain, dict):
        reading.bad += 1
        return
    if isinstance(plain.get("payload"), dict):
        inner = plain.get("payload")
    else:
        inner = plain.get("message")
    body = inner if isinstance(inner, dict) else plain
    time = str(plain.get("timestamp") or "")[:40]
    reading.session = (
        reading.session or _text(plain.get("sessionId")) or _text(plain.get("session_id"))
    )
    if plain.get("type") == "session_meta":
        reading.session = reading.session or _text(body.get("id"))
    reading.folder = reading.folder or _text(plain.get("cwd")) or _text(body.get("cwd"))
    is_known = _take(reading, body, time)
    reading.bad += not is_known and plain.get("type") not in (*_SILENT, "session_meta")


def _take(reading: _Reading, body: Mapping[str, Any], time: str) -> bool:
    """Add the texts, calls and results of a message; False where it has none that we know."""
    kind = body.get("type")
    role = body.get("role")
    if kind == "function_call":
        _call(reading, body.get("call_id"), body.get("name"), body.get("arguments"), time)
    elif kind == "function_call_output":
        _answer(reading, body.get("call_id"), body.get("output"), None)
    elif role == "tool":
        _answer(reading, body.get("tool_call_id"), body.get("content"), None)
    elif role in ("user", "assistant"):
        _message(reading, str(role), body, time)
    else:
        return False
    return True


def _message(reading: _Reading, role: str, body: Mapping[str, Any], time: str) -> None:
    for part in _parts(body.get("content")):
        kind = part.get("type")
        if kind == "tool_use":
            _call(reading, part.get("id"), part.get("name"), part.get("input"), time)
        elif kind == "tool_result":
            _answer(reading, part.get("tool_use_id"), part.get("content"), part.get("is_error"))
        elif isinstance(part.get("text"), str) and kind != "thinking":
            reading.items.append(Message(role, part["text"], time))
    for call in _parts(body.get("tool_calls")):
        function = call.get("function")
        if isinstance(function, dict):
            _call(reading, call.get("id"), function.get("name"), function.get("arguments"), time)


def _parts(content: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, list):
        yield from (part for part in content if isinstance(part, dict))


def _call(reading: _Reading, id: Any, name: Any, arguments: Any, time: str) -> None:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = {"command": arguments}
    reading.waiting[str(id)] = len(reading.items)
    reading.items.append(
        ToolCall(_text(name), arguments if isinstance(arguments, dict) else {}, at=time)
    )


def _answer(reading: _Reading, id: Any, content: Any, failed: Any) -> None:
    place = reading.waiting.pop(str(id), None)
    if place is None:
        return
    call = reading.items[place]
    assert isinstance(call, ToolCall)
    text = "\n".join(str(part.get("text") or "") for part in _parts(content))
    text, code = _exit_code(text)
    bad = bool(failed) or code not in (None, 0)
    reading.items[place] = ToolCall(call.name, call.given, text, bad, call.at)


def _exit_code(text: str) -> tuple[str, int | None]:
    """Codex wraps what a command printed: `{"output": …, "metadata": {"exit_code": 1}}`."""
    if not text.startswith("{"):
        return text, None
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        return text, None
    if isinstance(plain, dict):
        about = plain.get("metadata")
    else:
        about = None
    if not isinstance(about, dict) or not isinstance(about.get("exit_code"), int):
        return text, None
    return str(plain.get("output") or ""), about["exit_code"]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    return value[:200]
