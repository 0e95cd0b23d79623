"""What agents' transcripts show: explicit statements, errors and their fixes, configuration. Pure.

All of it is told by an agent, or by what it was shown: it is redacted here, and nothing of it is trusted. Values of
environment variables are never taken, only their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from kl_hooks.evidence.sources.transcript import Did, Said, Transcript
from kl_hooks.kinds.memory.mine_commands import cut
from kl_hooks.kinds.memory.mine_files import generated, written
from kl_hooks.kinds.memory.seen import Found, Sighting, in_order, joined, named
from kl_hooks.kinds.memory.statements import statements
from kl_hooks.kinds.memory.thresholds import MENTIONS_OF_SETTING, MESSAGE_CUT
from kl_hooks.kinds.memory.trivia import trivial
from kl_hooks.model.text import one_line

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
_UNTOLD: Final = frozenset(("PATH", "HOME", "USER", "PWD", "SHELL", "TERM", "LANG", "TMPDIR"))


def mine_sessions(transcripts: Sequence[Transcript]) -> list[Found]:
    """Every pattern that the transcripts show, those seen in most sessions first."""
    found = [one for told in transcripts for one in (*_stated(told), *_fixed(told), *_configured(told))]
    writes = ((path, _seen(told, did.at, "EvidenceGraph")) for told in transcripts for did, path in _writes(told))
    return in_order(joined([*found, *written(writes)]))


def _seen(told: Transcript, at: str, proof: str = "AgentAssertion") -> Sighting:
    return Sighting(f"agent:{told.session}", f"transcript:{told.session}", proof, at)


def _found(told: Transcript, at: str, pattern: str, category: str, importance: int = 50) -> Found:
    return Found(pattern, category, (_seen(told, at),), True, importance, untrusted=True, source="transcript")


def _stated(told: Transcript) -> Iterator[Found]:
    for item in told.items:
        if isinstance(item, Said):
            yield from (_found(told, item.at, text, "discovery") for text in statements(item.text))


def _writes(told: Transcript) -> Iterator[tuple[Did, str]]:
    """Calls that wrote a file of the repository, with its path."""
    for item in told.items:
        path = relative(item.path, told.folder) if isinstance(item, Did) else ""
        if isinstance(item, Did) and path and not item.failed and item.name.lower() in _WRITERS:
            yield item, path


def relative(path: str, folder: str) -> str:
    """The path from the folder worked in; empty for one that lies elsewhere."""
    inside = path.removeprefix(folder.rstrip("/") + "/") if folder else path
    return "" if inside.startswith(("/", "~")) or ".." in PurePosixPath(inside).parts else inside


def _fixed(told: Transcript) -> Iterator[Found]:
    """Commands that failed, and passed after files were edited."""
    failed: dict[str, Did] = {}
    edited: dict[str, list[str]] = {}
    writes = {id(did): path for did, path in _writes(told)}
    for item in told.items:
        if not isinstance(item, Did):
            continue
        if id(item) in writes:
            for files in edited.values():
                files.append(writes[id(item)])
        command = item.command
        if not command or trivial(command):
            continue
        if item.failed:
            failed[command], edited[command] = item, []
        elif command in failed:
            files, bad = list(dict.fromkeys(edited.pop(command))), failed.pop(command)
            if files:
                text = f"`{cut(command)}` failed with: {_error(bad.result)}; it passed after {named(files)} was edited"
                yield _found(told, item.at, text, "discovery", 60)


def _error(result: str) -> str:
    lines = [line.strip() for line in result.splitlines() if line.strip()]
    telling = [line for line in lines if re.search("error|exception", line, re.IGNORECASE)]
    return one_line((telling or lines or ["no output"])[-1], MESSAGE_CUT)


def _configured(told: Transcript) -> Iterator[Found]:
    """Environment variables, endpoints and files that configure the project."""
    written_to = [path for _, path in _writes(told)]
    named_files = [path for i in told.items if isinstance(i, Did) if (path := relative(i.path, told.folder))]
    for item in told.items:
        if not isinstance(item, Did):
            continue
        if item.failed:
            for names in _MISSING.findall(item.result[:20_000]):
                name = "".join(names)
                yield _found(told, item.at, f"Environment variable {name} must be set", "fact")
        elif item.command and not trivial(item.command):
            for name in _given(item.command):
                text = f"Environment variable {name} is set for `{cut(_without_values(item.command))}`"
                yield _found(told, item.at, text, "fact")
        if not item.failed and (endpoint := _ENDPOINT.search(item.command)) and "curl" in item.command:
            yield _found(told, item.at, f"API endpoint: {endpoint[0]}", "fact")
    for path in dict.fromkeys(written_to):
        often = named_files.count(path) >= MENTIONS_OF_SETTING
        if often and path.endswith(_SETTINGS) and not generated(path):
            yield _found(told, "", f"Configuration is in {path}", "fact")


def _given(command: str) -> list[str]:
    names = [name for part in _GIVEN.findall(command) for name in _ASSIGNED.findall(part)]
    return [name for name in dict.fromkeys(names) if name not in _UNTOLD]


def _without_values(command: str) -> str:
    return re.sub(r"\b([A-Z][A-Z0-9_]{2,60})=\S*", r"\1=…", command)
