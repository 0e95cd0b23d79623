"""Patterns in transcripts of agents: explicit statements, errors and their fixes, configuration. Pure.

All of it was written by an agent, or is what an agent was shown: it is redacted, and nothing of it is trusted.
Values of environment variables are never read, only their names. Output of tools is never a statement: whoever can
write a file could plant one. Nor is what a code block or a quotation holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from kl_hooks.evidence.sources.transcript import Message, ToolCall, Transcript
from kl_hooks.kinds.memory.patterns import (
    LONGEST_STATEMENT,
    MENTIONS_OF_SETTING,
    MESSAGE_CUT,
    SHORTEST_STATEMENT,
    Pattern,
    Sighting,
    by_sessions,
    is_trivial,
    merge_same,
    shorten,
)
from kl_hooks.kinds.memory.receipt_mining import cut, is_generated, write_patterns
from kl_hooks.model.text import one_line

_STATED: Final = re.compile(
    r"(?:^|(?<=[.!?] ))\W{0,6}(?:(?:I|we)(?:'ve| have)?(?: just| also)? learn(?:ed|t) that|"
    r"(?:note(?: to self)?|important|remember|lessons?(?: learned)?|gotcha|caveat|til)\*{0,2}:\*{0,2})"
    r"\s+(\S.{0,2000})",
    re.IGNORECASE,
)
_PASSING: Final = re.compile(
    r"(?:i'll|i will|i'm|i am|let me|let's|we'll|now |next|first,|then |this (?:is|was) (?:done|fixed)|done|ok)\b",
    re.IGNORECASE,
)
"""Beginnings of what speaks about the session, not about the repository."""


def statements(text: str) -> Iterator[str]:
    """Each statement, on one line, without the words that introduce it."""
    fenced = False
    for line in text.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith(">") and (found := _STATED.search(line)):
            said = found[1].strip().strip("*_ ").strip()
            if _is_statement(said):
                yield said[0].upper() + said[1:]


def _is_statement(said: str) -> bool:
    long_enough = SHORTEST_STATEMENT <= len(said) <= LONGEST_STATEMENT and len(said.split()) >= 4
    return long_enough and not said.endswith("?") and not _PASSING.match(said)


_WRITERS: Final = frozenset(("edit", "write", "multiedit", "notebookedit", "apply_patch", "str_replace", "create_file"))
_MISSING: Final = re.compile(
    r"(?:environment variable|env(?:ironment)? var)s? [`'\"]?([A-Z][A-Z0-9_]{2,60})\b"
    r"|KeyError: ['\"]([A-Z][A-Z0-9]*_[A-Z0-9_]{1,60})['\"]"
    r"|\b([A-Z][A-Z0-9]*_[A-Z0-9_]{1,60})[`'\"]? (?:is not set|is not defined|must be set|is required|unset)"
)
_GIVEN: Final = re.compile(r"(?:^|[;&|]\s*|export |env )((?:[A-Z][A-Z0-9_]{2,60}=\S*\s+)+)\S")
_ASSIGNED: Final = re.compile(r"([A-Z][A-Z0-9_]{2,60})=")
_ENDPOINT: Final = re.compile(r"https?://(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?(?:/[\w./{}-]{0,100})?")
_SETTINGS: Final = (".toml", ".yaml", ".yml", ".ini", ".cfg", ".conf", ".properties", ".json")
_COMMON_VARIABLES: Final = frozenset(("PATH", "HOME", "USER", "PWD", "SHELL", "TERM", "LANG", "TMPDIR"))


def transcript_patterns(transcripts: Sequence[Transcript]) -> list[Pattern]:
    """Every pattern that the transcripts show, those seen in most sessions first."""
    found = [one for told in transcripts for one in (*_stated(told), *_fixed(told), *_configured(told))]
    writes = ((path, _sighting(told, did.at, "EvidenceGraph")) for told in transcripts for did, path in _writes(told))
    return by_sessions(merge_same([*found, *write_patterns(writes)]))


def _sighting(told: Transcript, at: str, proof: str = "AgentAssertion") -> Sighting:
    return Sighting(f"agent:{told.session}", f"transcript:{told.session}", proof, at)


def _pattern(told: Transcript, at: str, pattern: str, category: str, importance: int = 50) -> Pattern:
    return Pattern(pattern, category, (_sighting(told, at),), True, importance, untrusted=True, source="transcript")


def _stated(told: Transcript) -> Iterator[Pattern]:
    for item in told.items:
        if isinstance(item, Message):
            yield from (_pattern(told, item.at, text, "discovery") for text in statements(item.text))


def _writes(told: Transcript) -> Iterator[tuple[ToolCall, str]]:
    """Calls that wrote a file of the repository, with its path."""
    for item in told.items:
        path = relative(item.path, told.folder) if isinstance(item, ToolCall) else ""
        if isinstance(item, ToolCall) and path and not item.failed and item.name.lower() in _WRITERS:
            yield item, path


def relative(path: str, folder: str) -> str:
    """The path from the folder worked in; empty for one that lies elsewhere."""
    inside = path.removeprefix(folder.rstrip("/") + "/") if folder else path
    return "" if inside.startswith(("/", "~")) or ".." in PurePosixPath(inside).parts else inside


def _fixed(told: Transcript) -> Iterator[Pattern]:
    """Commands that failed, and passed after files were edited."""
    failed: dict[str, ToolCall] = {}
    edited: dict[str, list[str]] = {}
    writes = {id(did): path for did, path in _writes(told)}
    for item in told.items:
        if not isinstance(item, ToolCall):
            continue
        if id(item) in writes:
            for files in edited.values():
                files.append(writes[id(item)])
        command = item.command
        if not command or is_trivial(command):
            continue
        if item.failed:
            failed[command], edited[command] = item, []
        elif command in failed:
            files, bad = list(dict.fromkeys(edited.pop(command))), failed.pop(command)
            if files:
                text = (
                    f"`{cut(command)}` failed with: {_error(bad.result)}; it passed after {shorten(files)} was edited"
                )
                yield _pattern(told, item.at, text, "discovery", 60)


def _error(result: str) -> str:
    lines = [line.strip() for line in result.splitlines() if line.strip()]
    telling = [line for line in lines if re.search("error|exception", line, re.IGNORECASE)]
    return one_line((telling or lines or ["no output"])[-1], MESSAGE_CUT)


def _configured(told: Transcript) -> Iterator[Pattern]:
    """Environment variables, endpoints and files that configure the project."""
    written_to = [path for _, path in _writes(told)]
    named_files = [path for i in told.items if isinstance(i, ToolCall) if (path := relative(i.path, told.folder))]
    for item in told.items:
        if not isinstance(item, ToolCall):
            continue
        if item.failed:
            for names in _MISSING.findall(item.result[:20_000]):
                name = "".join(names)
                yield _pattern(told, item.at, f"Environment variable {name} must be set", "fact")
        elif item.command and not is_trivial(item.command):
            for name in _given(item.command):
                text = f"Environment variable {name} is set for `{cut(_without_values(item.command))}`"
                yield _pattern(told, item.at, text, "fact")
        if not item.failed and (endpoint := _ENDPOINT.search(item.command)) and "curl" in item.command:
            yield _pattern(told, item.at, f"API endpoint: {endpoint[0]}", "fact")
    for path in dict.fromkeys(written_to):
        often = named_files.count(path) >= MENTIONS_OF_SETTING
        if often and path.endswith(_SETTINGS) and not is_generated(path):
            yield _pattern(told, "", f"Configuration is in {path}", "fact")


def _given(command: str) -> list[str]:
    names = [name for part in _GIVEN.findall(command) for name in _ASSIGNED.findall(part)]
    return [name for name in dict.fromkeys(names) if name not in _COMMON_VARIABLES]


def _without_values(command: str) -> str:
    return re.sub(r"\b([A-Z][A-Z0-9_]{2,60})=\S*", r"\1=…", command)
