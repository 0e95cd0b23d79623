"""A call of an agent's tool with its result: read from an agent hook's JSON, or from a transcript. Pure.

What comes in was written by others: anything may be missing or of another type, and nothing of it is followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import UsageProblem

if TYPE_CHECKING:
    from kl_hooks.evidence.sources.transcript import Transcript

LARGEST: Final = 4 * 1024 * 1024
"""Bytes of an agent hook's JSON."""
_LONGEST: Final = 20_000
_OMITTED: Final = ("[result omitted",)
_FAILED: Final = ("[ERROR]", "Error:", "<tool_use_error>", "[error]")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that was called, and what came of it."""

    tool: str
    given: Mapping[str, Any]
    result: str
    failed: bool = False
    session: str = ""
    agent: str = ""
    folder: str = ""
    """Where the agent worked."""

    @property
    def omitted(self) -> bool:
        """True where the result was taken out of the transcript."""
        return self.result.startswith(_OMITTED)

    def text(self, *names: str) -> str:
        """The first of these arguments that is a text and says something."""
        found = (self.given.get(name) for name in names)
        return next((one.strip() for one in found if isinstance(one, str) and one.strip()), "")


def from_hook(content: bytes, place: str = "stdin") -> Call:
    """The call in an agent hook's JSON (`tool_name`, `tool_input`, `tool_response`).

    UsageProblem for what is too large, no JSON, or not of that shape.
    """
    import json

    hint = "Expected the JSON of an agent hook after a tool: tool_name, tool_input, tool_response."
    if len(content) > LARGEST:
        raise UsageProblem(f"is larger than {LARGEST >> 20} MB.", place=place, hint=hint)
    try:
        plain = json.loads(content)
    except (ValueError, RecursionError) as problem:
        raise UsageProblem(f"is no JSON ({type(problem).__name__}).", place=place, hint=hint) from None
    if not isinstance(plain, dict) or not isinstance(plain.get("tool_name"), str):
        raise UsageProblem("names no tool.", place=place, hint=hint)
    given, answer = (
        plain.get("tool_input"),
        plain.get("tool_response", plain.get("tool_result", plain.get("error", ""))),
    )
    result = text_of(answer)
    failed = "Failure" in str(plain.get("hook_event_name", "")) or "error" in plain or _says_failed(answer)
    return Call(
        plain["tool_name"][:100], given if isinstance(given, dict) else {}, result,
        failed or result.startswith(_FAILED), _short(plain.get("session_id")), _short(plain.get("agent_name")),
        _short(plain.get("cwd"), 4000),
    )  # fmt: skip


def named(call: Call, environ: Mapping[str, str]) -> Call:
    """The call with the agent and session that the environment names, where the call itself names none."""
    from kl_hooks.evidence.who import agent, session

    return replace(call, agent=call.agent or agent(environ) or "", session=call.session or session(environ) or "")


def from_transcript(found: Transcript, agent: str = "") -> Iterator[Call]:
    """The calls of a transcript, in its order."""
    from kl_hooks.evidence.sources.transcript import Did

    for item in found.items:
        if isinstance(item, Did):
            result = item.result[:_LONGEST]
            failed = item.failed or result.startswith(_FAILED)
            yield Call(item.name, item.given, result, failed, found.session, agent, found.folder)


def _says_failed(answer: Any) -> bool:
    if not isinstance(answer, dict):
        return False
    code = answer.get("exit_code", answer.get("exitCode", answer.get("returncode")))
    bad = isinstance(code, int) and not isinstance(code, bool) and code != 0
    return bad or answer.get("is_error") is True or answer.get("success") is False or answer.get("interrupted") is True


def text_of(answer: Any) -> str:
    """What a tool gave back, as text: of a map the parts that hold text. Bounded."""
    if isinstance(answer, str):
        return answer[:_LONGEST]
    if isinstance(answer, dict):
        file = answer.get("file")
        parts = [answer.get(name) for name in ("content", "stdout", "output", "text", "result", "error", "stderr")]
        names = answer.get("filenames")
        parts += [file.get("content") if isinstance(file, dict) else "", names if isinstance(names, list) else ""]
        return "\n".join(text for part in parts if (text := text_of(part)))[:_LONGEST]
    if isinstance(answer, list):
        some = (one if isinstance(one, str) else text_of(one) for one in answer[:200] if isinstance(one, str | dict))
        return "\n".join(some)[:_LONGEST]
    return ""


def _short(value: Any, most: int = 200) -> str:
    return value[:most] if isinstance(value, str) else ""
