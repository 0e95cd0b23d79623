"""Findings: what agents' tools found out or changed, each recorded once and bound to the content it
rests on.

A call of a tool is read from an agent hook's JSON or from a transcript. Others wrote what comes in:
anything may be missing or of another type, and nothing of it is followed. A finding is worded by
us, with the beginning of the result as evidence, redacted before anything is cut.

A finding is stale when its file, or the one symbol that it names, has changed. That is computed on
every look and stored nowhere: with the old content back, the finding is valid again.
"""

from __future__ import annotations

import json
import posixpath
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.evidence.provenance import agent, session
from kl_hooks.evidence.sources.transcript import ToolCall, Transcript
from kl_hooks.git.objects import object_id
from kl_hooks.kinds.catalog import FINDING
from kl_hooks.kinds.shell import Command, simple_commands
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.record import Record
from kl_hooks.model.symbol import make_id, split_id
from kl_hooks.model.text import name_list, one_line, safe_text
from kl_hooks.store.redaction import redact

if TYPE_CHECKING:
    from kl_hooks.code.query.session import Graph
    from kl_hooks.model.claim import Tier
    from kl_hooks.model.symbol import Symbol
    from kl_hooks.workspace import Workspace


MAX_HOOK_BYTES: Final = 4 * 1024 * 1024
"""Of an agent hook's JSON."""
_READING_CONFIDENCE, _WRITING_CONFIDENCE = 85, 90
"""Percent; the agent's own report of what it saw, or did."""
_VERIFIED_CONFIDENCE, _REFUTED_CONFIDENCE = 95, 40
"""Percent, where our own evidence for a command is verified, or speaks against it. What somebody
asserts is neither.
"""
_MAX_RESULT: Final = 20_000
_MAX_FINDING = 200
_MAX_EVIDENCE = 500
_MAX_ENTITY = 200
_MAX_LINES: Final = 2_000
_MAX_NAMES: Final = 5
"""Names in a summary."""
_OMITTED: Final = "[result omitted"
_FAILED: Final = ("[ERROR]", "Error:", "<tool_use_error>", "[error]")
_HINT: Final = (
    "Expected the JSON of an agent hook after a tool: tool_name, tool_input, tool_response."
)

_READING_TOOLS: Final = frozenset(
    (
        "readfile",
        "grepfile",
        "getfilesummary",
        "searchcontent",
        "listfiles",
        "read",
        "grep",
        "glob",
        "ls",
        "notebookread",
        "listdir",
        "grepfiles",
        "searchfilecontent",
        "listdirectory",
        "view",
    )
)
_WRITING_TOOLS: Final = frozenset(
    (
        "writefile",
        "patchfile",
        "deletefile",
        "write",
        "edit",
        "multiedit",
        "notebookedit",
        "applypatch",
        "replace",
        "strreplaceeditor",
        "createfile",
    )
)
_SHELLS: Final = frozenset(
    (
        "shellrun",
        "shellrunscript",
        "bash",
        "shell",
        "localshell",
        "execcommand",
        "runshellcommand",
        "terminal",
    )
)
_READ_ONLY_COMMANDS: Final = frozenset(
    (
        "cat",
        "cd",
        "echo",
        "env",
        "fgrep",
        "egrep",
        "file",
        "find",
        "grep",
        "head",
        "jq",
        "less",
        "ls",
        "nl",
        "printf",
        "ps",
        "pwd",
        "rg",
        "sed",
        "sleep",
        "sort",
        "stat",
        "tail",
        "test",
        "tree",
        "true",
        "type",
        "uniq",
        "wc",
        "which",
        "[",
        "awk",
        "date",
        "diff",
        "cmp",
        "git status",
        "git diff",
        "git log",
        "git show",
        "git branch",
        "git blame",
        "git grep",
        "git ls-files",
        "git rev-parse",
        "git shortlog",
    )
)
"""Their success is no change, and their failure is an answer, no pitfall."""
_WRITING_ARGUMENTS: Final = {
    "sed": r"-[nErsuz]*i.*|--in-place.*",
    "awk": "inplace",
    "sort": "-[a-z]*o.*|--output.*",
    "tree": "-o",
    "date": "-s.*|--set.*",
    "find": r"-(?:delete|exec(?:dir)?|ok(?:dir)?|fprint[0f]?|fls)",
    "git branch": (
        "-[dDmMcCfu].*|--(?:delete|move|copy|force|set-upstream|unset-upstream|edit-description)"
    ),
    **dict.fromkeys(("git diff", "git log", "git show"), "--output.*"),
}
"""Arguments with which one of them writes all the same, as patterns."""
PATH_ARGUMENTS: Final = (
    "path",
    "file_path",
    "file",
    "filename",
    "notebook_path",
    "absolute_path",
    "target_file",
)
"""Arguments that name a file, in the order in which they count; then `pattern`, then `query`, then
any text.
"""
_PAST_TENSE: Final = {
    "write": "written",
    "creat": "written",
    "delet": "deleted",
    "patch": "changed",
    "edit": "changed",
}
"""First letters of a tool that writes → what it did."""

# agents' read tools number lines as `cat -n` does, some with an arrow: `    12→text`
_LINE_NUMBER: Final = lazy_pattern(r"^\s*\d+[→\t:|]\s?")
_OUTLINES: Final = (
    (
        "defines",
        lazy_pattern(
            r"[+ \t]{0,40}(?:export\s+|pub\s+|async\s+|static\s+|public\s+|default\s+){0,3}"
            r"(?:def|class|func|function|fn|struct|interface|trait|enum|type)\s+(\w{1,80})"
        ),
    ),
    ("sections", lazy_pattern(r"#{1,4}\s+(\S.{0,80})")),
    ("tables", lazy_pattern(r"\[{1,2}([\w.\"'-]{1,80})\]{1,2}\s*$")),
    ("keys", lazy_pattern(r"\s{0,2}[\"']?([A-Za-z][\w.-]{0,60})[\"']?\s*:(?:\s|$)")),
)
"""What a text is summarized by: names of code, headings, tables of TOML, keys of YAML or JSON."""
_HIT: Final = lazy_pattern(
    r"([^\s:]{1,200}):\d+(?::|$)|([^\s:]{1,200}\.\w{1,8}|[^\s:]{0,200}/[^\s:]{1,200})$"
)
"""A line of a search that names a file: `src/a.py:3: …`, or the path alone."""
_DECISION: Final = lazy_pattern(
    r"(?:^|/)(?:adrs?|decisions)/[^/]+\.md$|(?:^|/)adr-\d+[^/]*\.md$", re.IGNORECASE
)
_DEPENDENCIES: Final = lazy_pattern(
    r"(?:^|/)(?:requirements[^/]*\.(?:txt|in)|pyproject\.toml|setup\.(?:cfg|py)|package(?:-lock)?\.json|Cargo\.(?:toml|lock)"
    r"|go\.(?:mod|sum)|Gemfile(?:\.lock)?|poetry\.lock|uv\.lock|Pipfile(?:\.lock)?|pom\.xml|build\.gradle)$"
)
# the envelope of Codex's apply_patch: one tool call, files named inside the text
PATCHED: Final = lazy_pattern(r"^\*\*\* (?:Update|Add|Delete) File: (\S.*)$", re.MULTILINE)
_INSTALL: Final = lazy_pattern(
    r"(?:^|[;&|]\s*)(?:\S*/)?(?:pip3?|uv|poetry|npm|yarn|pnpm|cargo|go|gem|apt(?:-get)?|brew|python3?"
    r" -m pip)\s+"
    r"(?:pip\s+)?(?:install|add|get)\b"
)
_ERROR: Final = lazy_pattern(r"\b[A-Z]\w*(?:Error|Exception|Warning)\b")
_TROUBLE: Final = lazy_pattern(
    r"error|exception|fail|fatal|denied|not found|no such|cannot|can't|traceback", re.IGNORECASE
)


class Call(NamedTuple):
    """A tool that was called, and its result."""

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
        """True where the result was removed from the transcript."""
        return self.result.startswith(_OMITTED)

    @property
    def command(self) -> str:
        """The command line of a shell; the words of a list are joined."""
        words = self.given.get("command")
        if not isinstance(words, list):
            return ""
        return " ".join(map(str, words[:100]))[:4000]

    def text(self, *names: str) -> str:
        """Return the first of these arguments that is a text and not blank."""
        arguments = (self.given.get(name) for name in names)
        return next(
            (
                argument.strip()
                for argument in arguments
                if isinstance(argument, str) and argument.strip()
            ),
            "",
        )

    @classmethod
    def from_hook(cls, content: bytes, place: str = "stdin") -> Call:
        """Return the call in an agent hook's JSON (`tool_name`, `tool_input`, `tool_response`).

        UsageProblem for what is too large, not JSON, or not of that shape.
        """
        if len(content) > MAX_HOOK_BYTES:
            raise UsageProblem(
                f"is larger than {MAX_HOOK_BYTES >> 20} MB.", place=place, hint=_HINT
            )
        try:
            hook = json.loads(content)
        except (ValueError, RecursionError) as problem:
            raise UsageProblem(
                f"is no JSON ({type(problem).__name__}).", place=place, hint=_HINT
            ) from None
        if not isinstance(hook, dict) or not isinstance(hook.get("tool_name"), str):
            raise UsageProblem("names no tool.", place=place, hint=_HINT)
        arguments = hook.get("tool_input")
        answer = hook.get("tool_response", hook.get("tool_result", hook.get("error", "")))
        result = text_of(answer)
        failed = (
            "Failure" in str(hook.get("hook_event_name", ""))
            or "error" in hook
            or _is_failure(answer)
        )
        return cls(
            hook["tool_name"][:100],
            arguments if isinstance(arguments, dict) else {},
            result,
            failed or result.startswith(_FAILED),
            _short(hook.get("session_id")),
            _short(hook.get("agent_name")),
            _short(hook.get("cwd"), 4000),
        )

    @classmethod
    def in_transcript(cls, transcript: Transcript, agent: str = "") -> Iterator[Call]:
        """Yield the calls of a transcript, in its order."""
        for item in transcript.items:
            if isinstance(item, ToolCall):
                result = item.result[:_MAX_RESULT]
                failed = item.failed or result.startswith(_FAILED)
                yield cls(
                    item.name,
                    item.given,
                    result,
                    failed,
                    transcript.session,
                    agent,
                    transcript.folder,
                )


def _is_failure(answer: Any) -> bool:
    if not isinstance(answer, dict):
        return False
    code = answer.get("exit_code", answer.get("exitCode", answer.get("returncode")))
    # True is an int (PEP 285), and no exit status
    bad = isinstance(code, int) and not isinstance(code, bool) and code != 0
    return (
        bad
        or answer.get("is_error") is True
        or answer.get("success") is False
        or answer.get("interrupted") is True
    )


def text_of(answer: Any) -> str:
    """Return a tool's result as text, bounded: of a map the parts that hold text."""
    if isinstance(answer, str):
        return answer[:_MAX_RESULT]
    if isinstance(answer, dict):
        file = answer.get("file")
        parts = [
            answer.get(name)
            for name in ("content", "stdout", "output", "text", "result", "error", "stderr")
        ]
        names = answer.get("filenames")
        parts += [
            file.get("content") if isinstance(file, dict) else "",
            names if isinstance(names, list) else "",
        ]
        return "\n".join(text for part in parts if (text := text_of(part)))[:_MAX_RESULT]
    if isinstance(answer, list):
        return "\n".join(text_of(one) for one in answer[:200] if isinstance(one, str | dict))[
            :_MAX_RESULT
        ]
    return ""


def _short(value: Any, most: int = 200) -> str:
    if not isinstance(value, str):
        return ""
    return value[:most]


class Found(NamedTuple):
    """A finding before it is bound to content and recorded."""

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
    """Return the finding of a call; None where the tool leaves none, its result is missing, or
    nothing is named.

    `root`: the folder that paths are made relative to; a path outside of it is nobody's finding.
    """
    role = role_of(call.tool)
    command = call.text("command", "cmd", "script") or call.command
    if not role or call.omitted:
        return None
    if (not command or _is_read_only(command)) if role == "shell" else call.failed:
        return None
    entity, is_path = _entity_of(call, root)
    if not entity:
        return None
    sort = _sort_of(role, entity if is_path else "", command, failed=call.failed)
    return Found(
        one_line(redact(entity), _MAX_ENTITY),
        is_path,
        one_line(redact(_wording(call, role, command)), _MAX_FINDING),
        sort,
        _READING_CONFIDENCE if role == "reading" else _WRITING_CONFIDENCE,
        safe_text(redact(call.result))[:_MAX_EVIDENCE].strip(),
        one_line(call.tool, 100),
        one_line(redact(call.session), 100),
        one_line(redact(call.agent), 100),
        command,
    )


def role_of(tool: str) -> str:
    """Return `reading`, `writing` or `shell`; empty for a tool that leaves no finding. Case and
    `_`, `-` do not matter.
    """
    name = re.sub(r"[^a-z]", "", tool.lower())
    roles = (("reading", _READING_TOOLS), ("writing", _WRITING_TOOLS), ("shell", _SHELLS))
    return next((role for role, names in roles if name in names), "")


def _is_read_only(line: str) -> bool:
    """True where each command of the line only reads."""
    return all(map(reads_only, simple_commands(line)))


def reads_only(command: Command) -> bool:
    """Return whether a command changes nothing."""
    if command.name == "git":
        name = f"git {command.verb}"
    else:
        name = command.name
    writing = _WRITING_ARGUMENTS.get(name, "(?!)")
    changes = command.written or any(re.fullmatch(writing, word) for word in command.words[1:])
    return not changes and name in ("", *_READ_ONLY_COMMANDS)


def _entity_of(call: Call, root: str) -> tuple[str, bool]:
    """(what a call is about, whether that is a path in the repository); empty for a path outside,
    and for none.
    """
    path = call.text(*PATH_ARGUMENTS)
    if not path and (patched := PATCHED.search(call.text("input", "patch"))):
        path = patched[1].strip()
    if path:
        inside = path_inside(path, root, call.folder)
        return inside, bool(inside)
    named = (
        call.text("pattern") or call.text("query") or call.text("command", "cmd") or call.command
    )
    return named or call.text(*call.given), False


def path_inside(path: str, root: str, folder: str) -> str:
    """Return a path from the root, `/` between its parts; empty for one that leads out. `folder`:
    what a relative one is from.
    """
    if "/" not in path:
        path = path.replace("\\", "/")
    if not posixpath.isabs(path) and folder and posixpath.isabs(folder):
        path = posixpath.join(folder, path)
    path = posixpath.normpath(path)
    if posixpath.isabs(path):
        base = posixpath.normpath(root) if root else ""
        if not base or not (path + "/").startswith(base.rstrip("/") + "/"):
            return ""
        path = posixpath.relpath(path, base)
    odd = path.startswith("../") or path in ("..", ".") or safe_text(path) != path or "\n" in path
    if odd:
        return ""
    return path


def _sort_of(role: str, path: str, command: str, *, failed: bool) -> str:
    if failed:
        return "pitfall"
    if _DECISION.search(path):
        return "architectural_decision"
    if path.rpartition("/")[2] == "CODEOWNERS":
        return "ownership"
    if _DEPENDENCIES.search(path) or _INSTALL.search(command[:4_000]):
        return "dependency"
    if role == "reading":
        return "observation"
    return "change"


def _wording(call: Call, role: str, command: str) -> str:
    """The finding in our words."""
    lines = [
        text
        for line in call.result.splitlines()[:_MAX_LINES]
        if (text := _LINE_NUMBER.sub("", line).rstrip())
    ]
    if role == "shell":
        if not call.failed:
            return f"ran: {one_line(command, 160)}"
        return f"fails: {one_line(command, 90)}: {one_line(_error_line(lines), 100)}"
    if role == "writing":
        new = call.text("new_string", "new_str", "content", "file_text", "patch", "input")
        done = _PAST_TENSE.get(call.tool.lower()[:5], "changed")
        if not new:
            return done
        return f"{done}: {_summary(new.splitlines(), call.text(*PATH_ARGUMENTS))}"
    if searched := call.text("pattern") or call.text("query"):
        return f"{one_line(searched, 60)!r}: {_search_hits(lines)}"
    if not lines:
        return "empty"
    return _summary(lines, call.text(*PATH_ARGUMENTS))


def _summary(lines: list[str], name: str) -> str:
    """How long a text is, and what it defines, its headings or its keys; never how it begins.

    `name`: of its file; only a document has headings, elsewhere `#` begins a comment.
    """
    for label, pattern in _OUTLINES:
        if label == "sections" and not name.lower().endswith((".md", ".markdown")):
            continue
        names = list(
            dict.fromkeys(
                match[1].strip() for line in lines[:_MAX_LINES] if (match := pattern.match(line))
            )
        )
        if names:
            return (
                f"{_line_count(lines)}; {label}"
                f" {name_list([one_line(one, 40) for one in names], _MAX_NAMES)}"
            )
    return _line_count(lines)


def _search_hits(lines: list[str]) -> str:
    """The files that a search found; of any other answer only how much it is."""
    if not lines:
        return "found nowhere"
    files = list(
        dict.fromkeys(match[1] or match[2] for line in lines if (match := _HIT.match(line)))
    )
    if not files:
        return f"{_line_count(lines)} found"
    return f"found in {name_list([one_line(name, 60) for name in files], _MAX_NAMES)}"


def _line_count(lines: list[str]) -> str:
    return f"{len(lines)} line{'s' * (len(lines) != 1)}"


def _error_line(lines: list[str]) -> str:
    """The line that explains best why a command failed: the last that names an error, else trouble
    of any sort.
    """
    # from the end: CPython's traceback ends with the exception
    named = (
        line for pattern in (_ERROR, _TROUBLE) for line in reversed(lines) if pattern.search(line)
    )
    return next(named, lines[-1] if lines else "no output").strip()


_MAX_FILE_BYTES: Final = 16 * 1024 * 1024
"""Of a file that is hashed; a finding about a larger one is bound to nothing."""


class RecordedFindings(NamedTuple):
    """What some calls left."""

    new: tuple[Record, ...] = ()
    existing: tuple[str, ...] = ()
    """IDs of findings that were recorded before."""
    nothing: int = 0
    """Calls that leave no finding."""


def record_findings(ws: Workspace, calls: Iterable[Call]) -> RecordedFindings:
    """Record what these calls found out or changed, all in one step. One that exists is bound to
    today's content.
    """
    extracted: list[Found] = []
    nothing = 0
    for call in calls:
        caller = call.agent or agent(ws.environ) or ""
        observed = extract(
            call._replace(agent=caller, session=call.session or session(ws.environ) or ""),
            str(ws.root),
        )
        if observed is None:
            nothing += 1
        else:
            extracted.append(observed)
    return store_findings(ws, extracted, nothing)


_DISCOVERY: Final = "discovery"


def stored_findings(content: bytes) -> list[Found] | None:
    """Return the findings of a `knowledge_findings.json`: a list of objects with `entity`,
    `finding`, `confidence`, `agentName`, `kind` and `source`; None where the content is no such
    list.
    """
    try:
        rows = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(rows, list) or not all(
        isinstance(row, dict)
        and all(isinstance(row.get(key), str) for key in ("entity", "finding"))
        for row in rows
    ):
        return None
    return [_stored_finding(row) for row in rows if row["entity"] and row["finding"]]


def _stored_finding(row: Mapping[str, Any]) -> Found:
    confidence = row.get("confidence", 0.7)
    is_share = type(confidence) in (int, float) and 0 <= confidence <= 1
    entity = one_line(redact(row["entity"]), _MAX_ENTITY)
    kind = str(row.get("kind") or _DISCOVERY).replace("_", "").replace("-", "").lower()
    return Found(
        entity,
        "/" in entity or bool(PurePosixPath(entity).suffix),
        one_line(redact(row["finding"]), _MAX_FINDING),
        "observation" if kind == _DISCOVERY else "change",
        round(100 * confidence) if is_share else 70,
        safe_text(redact(str(row.get("evidence") or "")))[:_MAX_EVIDENCE].strip(),
        "",
        one_line(redact(str(row.get("source") or "")), 100),
        one_line(redact(str(row.get("agentName") or "")), 100),
    )


def store_findings(ws: Workspace, extracted: Sequence[Found], nothing: int = 0) -> RecordedFindings:
    """Record findings, all in one step. `nothing`: calls that left none."""
    if not extracted:
        return RecordedFindings(nothing=nothing)
    # here: after most calls of an agent there is nothing to record
    from kl_hooks.records.query import get_records
    from kl_hooks.records.repository import identity_digest
    from kl_hooks.records.sync import sync

    finding_by_id: dict[str, Found] = {}
    for observed in extracted:
        digest = identity_digest(FINDING, {"entity": observed.entity, "finding": observed.finding})
        # the first of equal ones: the ID is a hash of entity and wording, so they are one finding
        finding_by_id.setdefault(f"{FINDING.prefix}-{digest}", observed)
    sync(ws)
    existing = {record.id: record for record in get_records(ws, list(finding_by_id))}
    fresh = [observed for key, observed in finding_by_id.items() if key not in existing]
    today = _anchors_of(ws, [finding_by_id[key] for key in existing])
    moved = [
        (record, anchors)
        for record, anchors in zip(existing.values(), today, strict=True)
        if anchors and anchors != record.values.get("anchors")
    ]
    if not fresh and not moved:
        return RecordedFindings((), tuple(sorted(existing)), nothing)
    from kl_hooks.records.write import change_record, create_records

    if any(observed.command for observed in fresh):
        tiers = _observed_tiers(ws)
    else:
        tiers = {}
    raws = [
        _fields_of(observed, anchors, tiers)
        for observed, anchors in zip(fresh, _anchors_of(ws, fresh), strict=True)
    ]
    if raws:
        records = create_records(ws, FINDING, raws, by=raws[0].get("source", ""))
    else:
        records = []
    for record, anchors in moved:
        change_record(ws, record, {"anchors": anchors}, how="found again")
    return RecordedFindings(tuple(records), tuple(sorted(existing)), nothing)


def _observed_tiers(ws: Workspace) -> dict[str, Tier]:
    """Return the tier of each claim that our own evidence makes, by what it is about."""
    from kl_hooks.evidence.claims import all_claims
    from kl_hooks.evidence.ingestion import sync_evidence

    sync_evidence(ws)
    return {claim.about: claim.tier for claim in all_claims(ws) if claim.author == "auto"}


def _fields_of(
    finding: Found, anchors: Mapping[str, str], tiers: Mapping[str, Tier]
) -> dict[str, Any]:
    about = list(anchors) or ([make_id("file", finding.entity)] if finding.is_path else [])
    from kl_hooks.model.claim import Tier

    if finding.command:
        tier = tiers.get(make_id("command", finding.command))
    else:
        tier = None
    if tier is Tier.GUESSED:
        confidence = _REFUTED_CONFIDENCE
    else:
        confidence = finding.confidence
    if tier is Tier.VERIFIED:
        confidence = max(confidence, _VERIFIED_CONFIDENCE)
    return {
        "title": f"{finding.entity}: {finding.finding}"[:300],
        "entity": finding.entity,
        "finding": finding.finding,
        "kind": finding.sort,
        "confidence": confidence,
        "agent": finding.agent,
        "tool": finding.tool,
        "source": finding.session,
        "anchors": anchors,
        "evidence": finding.evidence,
        "about": about,
        "authority": "agent",
    }


def _anchors_of(ws: Workspace, findings: Sequence[Found]) -> list[dict[str, str]]:
    """For each finding: ID → digest of its file, and of the symbol of its name where there is one.

    The graph is opened once and each file read once, however many findings there are.
    """
    symbols = _symbols_named(ws, {finding.entity for finding in findings if not finding.is_path})
    paths = {finding.entity for finding in findings if finding.is_path} | {
        symbol.path for symbol in symbols.values()
    }
    blobs = {path: blob_of(ws, path) for path in sorted(paths)}
    anchors_of_findings = []
    for finding in findings:
        if finding.is_path:
            symbol = None
        else:
            symbol = symbols.get(finding.entity)
        path = symbol.path if symbol else finding.entity
        if blobs.get(path):
            anchors = {make_id("file", path): blobs[path]}
        else:
            anchors = {}
        anchors_of_findings.append(anchors | ({symbol.id: symbol.content_hash} if symbol else {}))
    return anchors_of_findings


def _symbols_named(ws: Workspace, names: Iterable[str]) -> dict[str, Symbol]:
    """Name → the only symbol with that name; none where the graph is not available."""
    wanted = sorted(name for name in names if name.replace(".", "_").isidentifier())
    if not wanted:
        return {}
    from kl_hooks.code.query.session import open_graph

    try:
        with open_graph(ws) as graph:
            return {name: symbol for name in wanted if (symbol := _only_symbol_named(graph, name))}
    except EnvironmentProblem:
        return {}


def _only_symbol_named(graph: Graph, name: str) -> Symbol | None:
    from kl_hooks.code.query.lookup import symbols_by_id
    from kl_hooks.code.query.search import find_all

    hits, _ = find_all(graph, (name,), (), "", 20)
    # a dot before both: `get` is the end of `Basket.get`, and not of `forget`
    matching_ids = {
        hit.id
        for hit in hits
        if split_id(hit.id)[0] != "file" and f".{split_id(hit.id)[1]}".endswith(f".{name}")
    }
    if len(matching_ids) != 1:
        return None
    return symbols_by_id(graph.db, matching_ids).get(next(iter(matching_ids)))


def blob_of(ws: Workspace, path: str) -> str:
    """Return git's blob ID of a file as it is on disk; empty for what is no file, or too large.
    Follows no link.
    """
    place = ws.root / path
    try:
        state = place.lstat()
        # lstat() sees a link at the end of a path only; resolve() one in a folder above it too
        inside = place.resolve().is_relative_to(ws.root.resolve())
        if not stat.S_ISREG(state.st_mode) or state.st_size > _MAX_FILE_BYTES or not inside:
            return ""
        content = place.read_bytes()
    except (
        OSError,
        ValueError,
        RuntimeError,
    ):  # RuntimeError: a loop of links, before CPython 3.13
        return ""
    # what `git hash-object` prints, without a process for each file
    return object_id(ws.repo.object_format if ws.repo else "sha1", b"blob", content)


def stale_findings(ws: Workspace, records: Sequence[Record]) -> dict[str, str]:
    """ID of each stale finding → why. Symbols are looked up only where their file has changed."""
    ids = {one for record in records for one in _anchors(record) if one.startswith("file:")}
    files = {one: blob_of(ws, split_id(one)[1]) for one in ids}
    moved = [
        record
        for record in records
        if any(files.get(one, digest) != digest for one, digest in _anchors(record).items())
    ]
    symbols = _symbol_digests(
        ws, {one for record in moved for one in _anchors(record) if not one.startswith("file:")}
    )
    reasons = ((record.id, stale_reason(_anchors(record), files | symbols)) for record in moved)
    return {key: reason for key, reason in reasons if reason}


def _anchors(record: Record) -> Mapping[str, str]:
    anchors = record.values.get("anchors")
    if isinstance(anchors, Mapping):
        return anchors
    return {}


def _symbol_digests(ws: Workspace, ids: Iterable[str]) -> dict[str, str]:
    wanted = sorted(ids)
    if not wanted:
        return {}
    from kl_hooks.code.query.lookup import symbols_by_id
    from kl_hooks.code.query.session import open_graph

    try:
        with open_graph(ws) as graph:
            symbol_by_id = symbols_by_id(graph.db, wanted)
    except EnvironmentProblem:
        return {}  # not assessed: the file decides
    return {
        symbol_id: symbol_by_id[symbol_id].content_hash if symbol_id in symbol_by_id else ""
        for symbol_id in wanted
    }


def stale_reason(anchors: Mapping[str, str], today: Mapping[str, str]) -> str:
    """Return why a finding with these anchors is stale, given the digests of today; empty: it is
    valid. Pure.

    Where a symbol is known, it decides, and its file may change around it. An empty digest means
    that it was removed; an ID that `today` does not have was not looked up.
    """
    symbols = {
        anchor: digest
        for anchor, digest in anchors.items()
        if not anchor.startswith("file:") and anchor in today
    }
    for anchor, digest in (symbols or anchors).items():
        if anchor in today and today[anchor] != digest:
            if anchor.startswith("file:"):
                name = split_id(anchor)[1]
            else:
                name = anchor
            if today[anchor]:
                return f"{name} has changed since"
            return f"{name} was removed"
    return ""
