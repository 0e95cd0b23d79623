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
from kl_hooks.kinds.memory.patterns import MESSAGE_CUT, Pattern, Sighting, is_trivial, merge_same, shorten
from kl_hooks.kinds.memory.receipt_mining import cut, is_generated, write_patterns
from kl_hooks.model.text import one_line

_SHORTEST, _LONGEST = 16, 400
"""Characters of a statement."""
_FEWEST_WORDS: Final = 4
_MENTIONS_OF_SETTING: Final = 2
"""A settings file must be opened so often, with an edit among them."""
_FIX_IMPORTANCE: Final = 60
_MOST_OUTPUT: Final = 20_000
"""Characters of a failed call's output that are searched for names of variables."""
_WRITERS: Final = frozenset(("edit", "write", "multiedit", "notebookedit", "apply_patch", "str_replace", "create_file"))
_SETTINGS: Final = (".toml", ".yaml", ".yml", ".ini", ".cfg", ".conf", ".properties", ".json")
_COMMON_VARIABLES: Final = frozenset(("PATH", "HOME", "USER", "PWD", "SHELL", "TERM", "LANG", "TMPDIR"))

_STATED: Final = re.compile(
    r"(?:^|(?<=[.!?] ))\W{0,6}(?:(?:I|we)(?:'ve| have)?(?: just| also)? learn(?:ed|t) that|"
    r"(?:note(?: to self)?|important|remember|lessons?(?: learned)?|gotcha|caveat|til)\*{0,2}:\*{0,2})"
    r"\s+(\S.{0,2000})",
    re.IGNORECASE,
)
_OF_SESSION: Final = re.compile(
    r"(?:i'll|i will|i'm|i am|let me|let's|we'll|now |next|first,|then |this (?:is|was) (?:done|fixed)|done|ok)\b",
    re.IGNORECASE,
)
"""Beginnings of a sentence about the session, not about the repository."""
_MISSING: Final = re.compile(
    r"(?:environment variable|env(?:ironment)? var)s? [`'\"]?([A-Z][A-Z0-9_]{2,60})\b"
    r"|KeyError: ['\"]([A-Z][A-Z0-9]*_[A-Z0-9_]{1,60})['\"]"
    r"|\b([A-Z][A-Z0-9]*_[A-Z0-9_]{1,60})[`'\"]? (?:is not set|is not defined|must be set|is required|unset)"
)
_GIVEN: Final = re.compile(r"(?:^|[;&|]\s*|export |env )((?:[A-Z][A-Z0-9_]{2,60}=\S*\s+)+)\S")
_ASSIGNED: Final = re.compile(r"([A-Z][A-Z0-9_]{2,60})=")
_ENDPOINT: Final = re.compile(r"https?://(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?(?:/[\w./{}-]{0,100})?")


def transcript_patterns(transcripts: Sequence[Transcript]) -> list[Pattern]:
    """Return the patterns of transcripts, those seen in most sessions first."""
    found = [one for each in transcripts for one in (*_stated(each), *_fixed(each), *_configured(each))]
    writes = ((path, _sighting(each, did.at, "EvidenceGraph")) for each in transcripts for did, path in _writes(each))
    return merge_same([*found, *write_patterns(writes)])


def _sighting(transcript: Transcript, at: str, proof: str = "AgentAssertion") -> Sighting:
    return Sighting(f"agent:{transcript.session}", f"transcript:{transcript.session}", proof, at)


def _pattern(transcript: Transcript, at: str, text: str, category: str, importance: int = 50) -> Pattern:
    seen = (_sighting(transcript, at),)
    return Pattern(text, category, seen, True, importance, untrusted=True, source="transcript")


def _stated(transcript: Transcript) -> Iterator[Pattern]:
    for item in transcript.items:
        if isinstance(item, Message):
            yield from (_pattern(transcript, item.at, text, "discovery") for text in statements(item.text))


def statements(text: str) -> Iterator[str]:
    """Yield what follows `I learned that …`, `Note: …`, `Important: …`, each on one line."""
    fenced = False
    for line in text.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith(">") and (found := _STATED.search(line)):
            statement = found[1].strip().strip("*_ ").strip()
            if _is_lasting(statement):
                yield statement[0].upper() + statement[1:]


def _is_lasting(statement: str) -> bool:
    long_enough = _SHORTEST <= len(statement) <= _LONGEST and len(statement.split()) >= _FEWEST_WORDS
    return long_enough and not statement.endswith("?") and not _OF_SESSION.match(statement)


def _writes(transcript: Transcript) -> Iterator[tuple[ToolCall, str]]:
    """Yield the calls that wrote a file of the repository, with its path."""
    for item in transcript.items:
        path = relative(item.path, transcript.folder) if isinstance(item, ToolCall) else ""
        if isinstance(item, ToolCall) and path and not item.failed and item.name.lower() in _WRITERS:
            yield item, path


def relative(path: str, folder: str) -> str:
    """Return the path from the folder worked in; empty for one outside of it."""
    inside = path.removeprefix(folder.rstrip("/") + "/") if folder else path
    return "" if inside.startswith(("/", "~")) or ".." in PurePosixPath(inside).parts else inside


def _fixed(transcript: Transcript) -> Iterator[Pattern]:
    """Yield commands that failed, and passed after files were edited."""
    failed: dict[str, ToolCall] = {}
    edited: dict[str, list[str]] = {}
    writes = {id(did): path for did, path in _writes(transcript)}
    for item in transcript.items:
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
                error, named = _error(bad.result), shorten(files)
                text = f"`{cut(command)}` failed with: {error}; it passed after {named} was edited"
                yield _pattern(transcript, item.at, text, "discovery", _FIX_IMPORTANCE)


def _error(result: str) -> str:
    lines = [line.strip() for line in result.splitlines() if line.strip()]
    errors = [line for line in lines if re.search("error|exception", line, re.IGNORECASE)]
    return one_line((errors or lines or ["no output"])[-1], MESSAGE_CUT)


def _configured(transcript: Transcript) -> Iterator[Pattern]:
    """Yield environment variables, local endpoints and settings files of the project."""
    calls = [item for item in transcript.items if isinstance(item, ToolCall)]
    for item in calls:
        for text in _configuration(item):
            yield _pattern(transcript, item.at, text, "fact")
    opened = [path for item in calls if (path := relative(item.path, transcript.folder))]
    for path in dict.fromkeys(path for _, path in _writes(transcript)):
        often = opened.count(path) >= _MENTIONS_OF_SETTING
        if often and path.endswith(_SETTINGS) and not is_generated(path):
            yield _pattern(transcript, "", f"Configuration is in {path}", "fact")


def _configuration(call: ToolCall) -> Iterator[str]:
    if call.failed:
        for names in _MISSING.findall(call.result[:_MOST_OUTPUT]):
            yield f"Environment variable {''.join(names)} must be set"
        return
    if call.command and not is_trivial(call.command):
        for name in _given(call.command):
            yield f"Environment variable {name} is set for `{cut(_without_values(call.command))}`"
    if "curl" in call.command and (endpoint := _ENDPOINT.search(call.command)):
        yield f"API endpoint: {endpoint[0]}"


def _given(command: str) -> list[str]:
    names = [name for part in _GIVEN.findall(command) for name in _ASSIGNED.findall(part)]
    return [name for name in dict.fromkeys(names) if name not in _COMMON_VARIABLES]


def _without_values(command: str) -> str:
    return re.sub(r"\b([A-Z][A-Z0-9_]{2,60})=\S*", r"\1=…", command)
