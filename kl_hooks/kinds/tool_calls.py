"""Calls of agents' tools, and the finding that each one leaves. Pure.

A call is read from an agent hook's JSON or from a transcript. What comes in was written by others: anything may be
missing or of another type, and nothing of it is followed. A finding is worded by us, with the beginning of the
result as evidence, redacted before anything is cut.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.catalog import LONGEST_ENTITY, LONGEST_EVIDENCE, LONGEST_FINDING
from kl_hooks.model.text import one_line, safe_text
from kl_hooks.model.tier import Tier
from kl_hooks.store.redact import redact

if TYPE_CHECKING:
    from kl_hooks.evidence.sources.transcript import Transcript


MAX_HOOK_BYTES: Final = 4 * 1024 * 1024
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


def call_from_hook(content: bytes, place: str = "stdin") -> Call:
    """The call in an agent hook's JSON (`tool_name`, `tool_input`, `tool_response`).

    UsageProblem for what is too large, no JSON, or not of that shape.
    """
    import json

    hint = "Expected the JSON of an agent hook after a tool: tool_name, tool_input, tool_response."
    if len(content) > MAX_HOOK_BYTES:
        raise UsageProblem(f"is larger than {MAX_HOOK_BYTES >> 20} MB.", place=place, hint=hint)
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


def with_agent_and_session(call: Call, environ: Mapping[str, str]) -> Call:
    """The call with the agent and session that the environment names, where the call itself names none."""
    from kl_hooks.evidence.who import agent, session

    return replace(call, agent=call.agent or agent(environ) or "", session=call.session or session(environ) or "")


def calls_in_transcript(found: Transcript, agent: str = "") -> Iterator[Call]:
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


_READING: Final = frozenset((
    "readfile", "grepfile", "getfilesummary", "searchcontent", "listfiles",
    "read", "grep", "glob", "ls", "notebookread", "listdir", "grepfiles", "searchfilecontent", "listdirectory", "view",
))  # fmt: skip
_WRITING: Final = frozenset((
    "writefile", "patchfile", "deletefile", "write", "edit", "multiedit", "notebookedit", "applypatch", "replace",
    "strreplaceeditor", "createfile",
))  # fmt: skip
_SHELLS: Final = frozenset((
    "shellrun", "shellrunscript", "bash", "shell", "localshell", "execcommand", "runshellcommand", "terminal",
))  # fmt: skip
_READ_ONLY_COMMANDS: Final = frozenset((
    "cat", "cd", "echo", "env", "fgrep", "egrep", "file", "find", "grep", "head", "jq", "less", "ls", "nl", "printf",
    "ps", "pwd", "rg", "sed", "sleep", "sort", "stat", "tail", "test", "tree", "true", "type", "uniq", "wc", "which",
    "[", "awk", "date", "diff", "cmp", "git status", "git diff", "git log", "git show", "git branch", "git blame",
    "git grep", "git ls-files", "git rev-parse", "git shortlog",
))  # fmt: skip
"""Commands that look: that they end well is no change, that they end badly is an answer and no pitfall."""
_SIGNS: Final = re.compile(r"[^a-z]")
_ASSIGNED: Final = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*=\S*\s+)+")


def _role_of(tool: str) -> str:
    """`looking`, `acting` or `shell`; empty for a tool that leaves no finding. Case and `_`, `-` do not matter."""
    name = _SIGNS.sub("", tool.lower())
    for word, names in (("looking", _READING), ("acting", _WRITING), ("shell", _SHELLS)):
        if name in names:
            return word
    return ""


def _is_read_only(command: str) -> bool:
    """True for a command line each of whose commands only looks."""
    parts = [part.strip() for part in re.split(r"&&|\|\||[;|\n]", command)]
    return all(_is_read_only_command(part) for part in parts if part)


def _is_read_only_command(part: str) -> bool:
    words = _ASSIGNED.sub("", part + " ", count=1).split() if "=" in part.split(" ")[0] else part.split()
    return not words or words[0] in _READ_ONLY_COMMANDS or " ".join(words[:2]) in _READ_ONLY_COMMANDS


_PATH_ARGUMENTS: Final = ("path", "file_path", "file", "filename", "notebook_path", "absolute_path", "target_file")
"""Arguments that name a file, in the order in which they count; then `pattern`, then `query`, then any text."""
LOOKED, ACTED, UNKNOWN = 85, 90, 70
"""Percent, where nothing of ours supports it: a tool that looked, one that acted, any other."""
CONFIDENCE_OF_TIER: Final = {Tier.VERIFIED: 95, Tier.INFERRED: 80, Tier.ASSUMED: 60, Tier.GUESSED: 40}
"""Percent, where our own evidence speaks of it."""
_NUMBERED: Final = re.compile(r"^\s*\d+[→\t:|]\s?")
_SHOWN: Final = 5
"""Names in a summary."""
_NAMED: Final = (
    ("defines", re.compile(
        r"[+ \t]{0,40}(?:export\s+|pub\s+|async\s+|static\s+|public\s+|default\s+){0,3}"
        r"(?:def|class|func|function|fn|struct|interface|trait|enum|type)\s+(\w{1,80})"
    )),
    ("sections", re.compile(r"#{1,4}\s+(\S.{0,80})")),
    ("tables", re.compile(r"\[{1,2}([\w.\"'-]{1,80})\]{1,2}\s*$")),
    ("keys", re.compile(r"\s{0,2}[\"']?([A-Za-z][\w.-]{0,60})[\"']?\s*:(?:\s|$)")),
)  # fmt: skip
"""What a text is summed up by: names of code, headings, tables of TOML, keys of YAML or JSON."""
_HIT: Final = re.compile(r"([^\s:]{1,200}):\d+(?::|$)|([^\s:]{1,200}\.\w{1,8}|[^\s:]{0,200}/[^\s:]{1,200})$")
"""A line of a search that names a file: `src/a.py:3: …`, or the path alone."""
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
    part = _role_of(call.tool)
    command = call.text("command", "cmd", "script") or _joined(call)
    if not part or call.omitted or (part != "shell" and call.failed):
        return None
    if part == "shell" and (not command or _is_read_only(command)):
        return None
    entity, is_path = _entity_of(call, root)
    if not entity:
        return None
    said = _said(call, part, command)
    clean = redact(call.result)
    sort = _sort_of(part, entity if is_path else "", command, failed=call.failed)
    confidence = ACTED if part in ("acting", "shell") else LOOKED if part == "looking" else UNKNOWN
    return Found(
        one_line(redact(entity), LONGEST_ENTITY), is_path, one_line(redact(said), LONGEST_FINDING), sort, confidence,
        safe_text(clean)[:LONGEST_EVIDENCE].strip(), one_line(call.tool, 100), one_line(redact(call.session), 100),
        one_line(redact(call.agent), 100), command,
    )  # fmt: skip


def _joined(call: Call) -> str:
    words = call.given.get("command")
    return " ".join(str(word) for word in words[:100])[:4000] if isinstance(words, list) else ""


def _entity_of(call: Call, root: str = "") -> tuple[str, bool]:
    """(what a call is about, whether that is a path in the repository); empty for a path outside, and for none."""
    if path := call.text(*_PATH_ARGUMENTS):
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


def _sort_of(part: str, path: str, command: str, *, failed: bool) -> str:
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
    lines = [text for line in call.result.splitlines()[:2000] if (text := _NUMBERED.sub("", line).rstrip()).strip()]
    if part == "shell":
        if not call.failed:
            return f"ran: {one_line(command, 160)}"
        why = _why(lines)
        return f"fails: {one_line(command, 90)}: {one_line(why.strip(), 100)}"
    if part == "acting":
        new = call.text("new_string", "new_str", "content", "file_text", "patch", "input")
        done = _DONE.get(call.tool.lower()[:5], "changed")
        return f"{done}: {_summary(new.splitlines(), call.text(*_PATH_ARGUMENTS))}" if new else done
    searched = call.text("pattern") or call.text("query")
    if searched:
        return f"{one_line(searched, 60)!r}: {_hits(lines)}"
    return _summary(lines, call.text(*_PATH_ARGUMENTS)) if lines else "empty"


def _summary(lines: list[str], name: str = "") -> str:
    """What a text is, not how it begins: how long it is, and what it defines, its headings or its keys.

    `name`: of its file; only a document has headings, elsewhere `#` begins a comment.
    """
    count = f"{len(lines)} line{'s' * (len(lines) != 1)}"
    for says, pattern in _NAMED:
        if says == "sections" and not name.lower().endswith((".md", ".markdown")):
            continue
        names = list(dict.fromkeys(found[1].strip() for line in lines[:2000] if (found := pattern.match(line))))
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            return f"{count}; {says} {', '.join(one_line(name, 40) for name in names[:_SHOWN])}{more}"
    return count


def _hits(lines: list[str]) -> str:
    """Where a search found something: files by their names, of any other answer only how much it is."""
    if not lines:
        return "found nowhere"
    files = list(dict.fromkeys(found[1] or found[2] for line in lines if (found := _HIT.match(line))))
    if not files:
        return f"{len(lines)} line{'s' * (len(lines) != 1)} found"
    more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return f"found in {', '.join(one_line(name, 60) for name in files[:_SHOWN])}{more}"


def _why(lines: list[str]) -> str:
    """The line that says best why a command failed: the last that names an error, else of trouble."""
    named = (line for pattern in (_ERROR, _TROUBLE) for line in reversed(lines) if pattern.search(line))
    return next(named, lines[-1] if lines else "it says nothing")


_DONE: Final = {"write": "written", "creat": "written", "delet": "deleted", "patch": "changed", "edit": "changed"}
