"""From a call of a tool to a finding: what it is about, what sort it is, what it says, how sure that is. Pure.

What is kept is said in our words, with the beginning of the result as evidence, redacted before anything is cut.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import Final

from kl_hooks.kinds.finding.call import Call
from kl_hooks.kinds.finding.kind import LONGEST_ENTITY, LONGEST_EVIDENCE, LONGEST_FINDING
from kl_hooks.kinds.finding.tools import only_looks, role
from kl_hooks.model.text import one_line, safe_text
from kl_hooks.model.tier import Tier
from kl_hooks.store.redact import redact

PATHS: Final = ("path", "file_path", "file", "filename", "notebook_path", "absolute_path", "target_file")
"""Arguments that name a file, in the order in which they count; then `pattern`, then `query`, then any text."""
LOOKED, ACTED, UNKNOWN = 85, 90, 70
"""Percent, where nothing of ours supports it: a tool that looked, one that acted, any other."""
BY_TIER: Final = {Tier.VERIFIED: 95, Tier.INFERRED: 80, Tier.ASSUMED: 60, Tier.GUESSED: 40}
"""Percent, where our own evidence speaks of it."""
_NUMBERED: Final = re.compile(r"^\s*\d+[→\t:|]\s?")
_DECORATION: Final = "#/*-=\"'!<> \t;%"
_DECISION: Final = re.compile(r"(?:^|/)(?:adrs?|decisions)/[^/]+\.md$|(?:^|/)adr-\d+[^/]*\.md$", re.IGNORECASE)
_DEPENDENCIES: Final = re.compile(
    r"(?:^|/)(?:requirements[^/]*\.(?:txt|in)|pyproject\.toml|setup\.(?:cfg|py)|package(?:-lock)?\.json|Cargo\.(?:toml|lock)"
    r"|go\.(?:mod|sum)|Gemfile(?:\.lock)?|poetry\.lock|uv\.lock|Pipfile(?:\.lock)?|pom\.xml|build\.gradle)$"
)
_PATCHED: Final = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (\S.*)$", re.MULTILINE)
_INSTALL: Final = re.compile(
    r"(?:^|[;&|]\s*)(?:\S*/)?(?:pip3?|uv|poetry|npm|yarn|pnpm|cargo|go|gem|apt(?:-get)?|brew|python3? -m pip)\s+"
    r"(?:pip\s+)?(?:install|add|get)\b"
)
_ERROR: Final = re.compile(r"\b[A-Z]\w*(?:Error|Exception|Warning)\b")
_TROUBLE: Final = re.compile(
    r"error|exception|fail|fatal|denied|not found|no such|cannot|can't|traceback", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Found:
    """A finding before it is tied to content and kept."""

    entity: str
    is_path: bool
    finding: str
    sort: str
    confidence: int
    evidence: str
    tool: str
    session: str
    agent: str
    command: str = ""
    """Of a shell: what it ran."""


def extract(call: Call, root: str = "") -> Found | None:
    """The finding of a call; None where the tool leaves none, its result is missing, or nothing is named.

    `root`: the folder that paths are made relative to; a path outside of it is nobody's finding.
    """
    part = role(call.tool)
    command = call.text("command", "cmd", "script") or _joined(call)
    if not part or call.omitted or (part != "shell" and call.failed):
        return None
    if part == "shell" and (not command or only_looks(command)):
        return None
    entity, is_path = entity_of(call, root)
    if not entity:
        return None
    said = _said(call, part, command)
    clean = redact(call.result)
    sort = sort_of(part, entity if is_path else "", command, failed=call.failed)
    confidence = ACTED if part in ("acting", "shell") else LOOKED if part == "looking" else UNKNOWN
    return Found(
        one_line(redact(entity), LONGEST_ENTITY), is_path, one_line(redact(said), LONGEST_FINDING), sort, confidence,
        safe_text(clean)[:LONGEST_EVIDENCE].strip(), one_line(call.tool, 100), one_line(redact(call.session), 100),
        one_line(redact(call.agent), 100), command,
    )  # fmt: skip


def _joined(call: Call) -> str:
    words = call.given.get("command")
    return " ".join(str(word) for word in words[:100])[:4000] if isinstance(words, list) else ""


def entity_of(call: Call, root: str = "") -> tuple[str, bool]:
    """(what a call is about, whether that is a path in the repository); empty for a path outside, and for none."""
    if path := call.text(*PATHS):
        inside = _inside(path, root, call.folder)
        return inside, bool(inside)
    if patched := _PATCHED.search(call.text("input", "patch")):
        inside = _inside(patched[1].strip(), root, call.folder)
        return inside, bool(inside)
    named = call.text("pattern") or call.text("query") or call.text("command", "cmd") or _joined(call)
    return named or next((v.strip() for v in call.given.values() if isinstance(v, str) and v.strip()), ""), False


def _inside(path: str, root: str, folder: str) -> str:
    """The path from the root, `/` between; empty for one that leads out."""
    path = path.replace("\\", "/") if "/" not in path and "\\" in path else path
    if not posixpath.isabs(path) and folder and posixpath.isabs(folder):
        path = posixpath.join(folder, path)
    path = posixpath.normpath(path)
    if posixpath.isabs(path):
        base = posixpath.normpath(root) if root else ""
        if not base or not (path + "/").startswith(base.rstrip("/") + "/"):
            return ""
        path = posixpath.relpath(path, base)
    odd = path.startswith("../") or path in ("..", ".") or safe_text(path) != path or "\n" in path
    return "" if odd else path


def sort_of(part: str, path: str, command: str, *, failed: bool) -> str:
    """What sort of finding it is."""
    if failed:
        return "pitfall"
    if _DECISION.search(path):
        return "architectural_decision"
    if path.rpartition("/")[2] == "CODEOWNERS":
        return "ownership"
    if _DEPENDENCIES.search(path) or _INSTALL.search(command[:4_000]):
        return "dependency"
    return "observation" if part == "looking" else "change"


def _said(call: Call, part: str, command: str) -> str:
    lines = [text for line in call.result.splitlines()[:2000] if (text := _NUMBERED.sub("", line).strip())]
    if part == "shell":
        if not call.failed:
            return f"ran: {one_line(command, 160)}"
        why = _why(lines)
        return f"fails: {one_line(command, 90)}: {one_line(why, 100)}"
    if part == "acting":
        new = call.text("new_string", "new_str", "content", "file_text", "patch", "input")
        first = next((line.strip() for line in new.splitlines() if line.strip(_DECORATION)), "")
        return (
            f"{_DONE.get(call.tool.lower()[:5], 'changed')}: {first}"
            if first
            else _DONE.get(call.tool.lower()[:5], "changed")
        )
    searched = call.text("pattern") or call.text("query")
    if searched:
        return f"{one_line(searched, 60)!r}: " + (", ".join(lines[:5]) if lines else "found nowhere")
    first = next((line.strip(_DECORATION) for line in lines if line.strip(_DECORATION)), "")
    return f"{len(call.result.splitlines())} lines: {first}" if first else "empty"


def _why(lines: list[str]) -> str:
    """The line that says best why a command failed: the last that names an error, else of trouble."""
    named = (line for pattern in (_ERROR, _TROUBLE) for line in reversed(lines) if pattern.search(line))
    return next(named, lines[-1] if lines else "it says nothing")


_DONE: Final = {"write": "written", "creat": "written", "delet": "deleted", "patch": "changed", "edit": "changed"}
