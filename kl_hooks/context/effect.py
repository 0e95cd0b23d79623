"""What a session did with what it was given: which items of packages, and which files that answers
named, the agent then read, edited or ran.

Only what is later counts, by the times of the transcript: a file that was read before a package
named it is no effect of the package. The measure is per file: an item is used where a file that it
is about was read, edited or named in a command, and a record also where its ID was in a later call.
What follows from it changes no package: a person commits the weights that are proposed
(`source_weights`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso, micros
from kl_hooks.context.package_log import EFFECT, QUERY, append_event, events_newest_first
from kl_hooks.context.recall import (
    LEAST_PACKAGES,
    is_about,
    logged_items,
    percent,
    suggested_weights,
)
from kl_hooks.errors import KlError
from kl_hooks.kinds.call_files import CallFiles, files_of, united
from kl_hooks.kinds.finding import Call
from kl_hooks.model.definitions import NamedTuple

if TYPE_CHECKING:
    from kl_hooks.evidence.sources.transcript import Transcript
    from kl_hooks.workspace import Workspace

_OWN: Final = ".kl/"
_BEFORE: Final = 3_600_000_000
"""Microseconds before the first message in which a package of the session may have been made."""
_LONGEST_CALL: Final = 4_000
"""Characters of the arguments of a call in which IDs of records are looked for."""


class _TimedCall(NamedTuple):
    at: str
    """ISO 8601, as events have it."""
    files: CallFiles
    words: str
    """Its arguments: they may name a record."""


class _Given(NamedTuple):
    """What a session was given at one moment."""

    at: str
    items: Sequence[Sequence[Any]]
    """As in the event: (kind, ID, paths, retrievers)."""
    commit: str


def record_effect(ws: Workspace, transcript: Transcript, session: str, agent: str) -> None:
    """Append the event of what a session did with what it was given; nothing where it was given
    nothing, or where its transcript has no times. Raises KlError, OSError.
    """
    calls = _timed_calls(transcript, str(ws.root))
    began = next(filter(None, (_moment(item.at) for item in transcript.items)), "")
    if not calls or not began:
        return
    packages, queries = _given(ws, session, agent, began)
    if not packages and not queries:
        return
    effect = session_effect(packages, queries, calls, _files_before(ws, packages))
    about = {"event": EFFECT, "created_at": iso(ws.clock.now()), "session": session, "agent": agent}
    append_event(ws.state, {**about, **effect})


def session_effect(
    packages: Sequence[_Given],
    queries: Sequence[Mapping[str, Any]],
    calls: Sequence[_TimedCall],
    files_before: Collection[str] | None = None,
) -> dict[str, Any]:
    """Return the counts of one session. Pure. `files_before`: those that a package could name;
    None: unknown.
    """
    sections: dict[str, Counter[str]] = defaultdict(Counter)
    sources: dict[str, Counter[str]] = defaultdict(Counter)
    named: dict[str, set[str]] = defaultdict(set)
    if packages:
        edited = _after(calls, packages[0].at).files.edited
    else:
        edited = frozenset()
    edited = frozenset(path for path in edited if not path.startswith(_OWN))
    if files_before is not None:
        edited &= frozenset(files_before)
    known: set[tuple[str, str]] = set()
    for package in packages:
        later = _after(calls, package.at)
        for kind, identifier, paths, brought in package.items:
            if (kind, identifier) in known:
                continue
            known.add((kind, identifier))
            counts = _item_counts(str(identifier), paths, later)
            sections[kind].update(counts)
            named[kind] |= edited.intersection(paths)
            for source in brought:
                sources[source].update(items=1, touched=counts["used"])
    return {
        "packages": len(packages),
        "queries": len(queries),
        "edited": len(edited),
        "edited_named": len(set().union(*named.values())),
        "sections": {
            kind: {**sections[kind], "edited_named": len(named[kind])} for kind in sorted(sections)
        },
        "sources": {name: dict(sources[name]) for name in sorted(sources)},
        "tools": _tool_counts(queries, calls),
    }


def _item_counts(identifier: str, paths: Sequence[str], later: _TimedCall) -> dict[str, int]:
    is_read, is_edited, was_run = (is_about(paths, files) for files in later.files)
    # the ID of a record, as a command or a tool takes it; of code the path decides
    is_named = ":" not in identifier and identifier in later.words
    return {
        "items": 1,
        "read": int(is_read or is_named),
        "edited": int(is_edited),
        "ran": int(was_run),
        "used": int(is_read or is_edited or was_run or is_named),
    }


def _tool_counts(
    queries: Sequence[Mapping[str, Any]], calls: Sequence[_TimedCall]
) -> dict[str, dict[str, int]]:
    """Return operation → how often it was asked, found nothing, how many files its answers named,
    and how many of these were used later.
    """
    tools: dict[str, Counter[str]] = defaultdict(Counter)
    for query in queries:
        later = _after(calls, str(query["created_at"])).files.all_files
        paths = [str(path) for path in query.get("paths", ())]
        tools[str(query["operation"])].update(
            queries=1,
            empty=int(not query.get("results")),
            files=len(paths),
            used=len(later.intersection(paths)),
        )
    return {name: dict(tools[name]) for name in sorted(tools)}


def _after(calls: Sequence[_TimedCall], moment: str) -> _TimedCall:
    """Return the calls after a moment as one call."""
    later = [call for call in calls if call.at > moment]
    words = "\n".join(call.words for call in later)
    return _TimedCall(moment, united(call.files for call in later), words)


def _timed_calls(transcript: Transcript, root: str) -> list[_TimedCall]:
    """Return the calls of a transcript that have a time, in its order."""
    from kl_hooks.evidence.sources.transcript import ToolCall

    times = [item.at for item in transcript.items if isinstance(item, ToolCall)]
    calls = []
    for at, call in zip(times, Call.in_transcript(transcript), strict=True):
        # without a time nothing is known to come later
        if moment := _moment(at):
            words = "\n".join(map(str, call.given.values()))[:_LONGEST_CALL]
            calls.append(_TimedCall(moment, files_of(call, root), words))
    return calls


def _moment(at: str) -> str:
    """Return a time of a transcript as events have it; empty for none."""
    try:
        return iso(micros(at))
    except (ValueError, OverflowError):
        return ""


def _given(
    ws: Workspace, session: str, agent: str, began: str
) -> tuple[list[_Given], list[dict[str, Any]]]:
    """Return the packages of a session and its queries, oldest first.

    What an agent asks by a tool or a command names no session: it is of this one where it is of the
    same agent, in this working tree, since the first message.
    """
    oldest = iso(micros(began) - _BEFORE)
    assembled: dict[str, dict[str, Any]] = {}
    queries: list[dict[str, Any]] = []
    for event in events_newest_first(ws.state):
        created_at = str(event.get("created_at", ""))
        if created_at < oldest:
            break  # the log may be 16 MB long
        if not _is_of(ws, event, session, agent if created_at >= began else None):
            continue
        if event.get("event") == QUERY:
            queries.append(event)
        elif event.get("event") == "context_assembly":
            assembled[str(event.get("package_id"))] = event  # the first delivery counts
    items = logged_items(ws, assembled) if assembled else {}
    packages = [
        _Given(str(event["created_at"]), items[name], str(event["commit"]))
        for name, event in assembled.items()
        if name in items
    ]
    return sorted(packages, key=lambda package: package.at), queries[::-1]


def _is_of(ws: Workspace, event: Mapping[str, Any], session: str, agent: str | None) -> bool:
    """Whether an event is of a session. `agent`: whose events without a session are; None: none
    are.
    """
    if event.get("worktree") != ws.state.graph.stem:
        return False
    if event.get("session"):
        return bool(event["session"] == session)
    # a server of tools may not know which agent started it; only agents have events of queries
    is_unnamed = event.get("event") == QUERY and not event.get("agent")
    return agent is not None and (is_unnamed or event.get("agent") == agent)


def _files_before(ws: Workspace, packages: Sequence[_Given]) -> frozenset[str] | None:
    """Return the files of the commit that the first package was made on; None: unknown."""
    from kl_hooks.git.files import files_at

    if ws.repo is None or not packages or not packages[0].commit:
        return None
    try:
        return frozenset(entry.path for entry in files_at(ws.repo, packages[0].commit))
    except KlError:
        return None


def effect_statistics(events: Iterable[Mapping[str, Any]], since: str = "") -> dict[str, Any]:
    """Return the effect of all sessions from `since` (ISO 8601) on; `kl.stats.effect/2` but for its
    schema. Pure. `events`: the newest first.

    Sums, not means of sessions: a session with one item must not weigh as much as one with twenty.
    """
    newest: dict[str, Mapping[str, Any]] = {}
    for event in events:
        if event.get("event") == EFFECT and str(event.get("created_at", "")) >= since:
            newest.setdefault(str(event.get("session")), event)
    sums = {name: _sums(newest.values(), name) for name in ("sections", "sources", "tools")}
    edited, edited_named = (_total(newest.values(), key) for key in ("edited", "edited_named"))
    sessions = sum(bool(event.get("packages")) for event in newest.values())
    sections = {
        kind: {
            **counts,
            "precision": percent(counts["used"], counts["items"]),
            "recall": percent(counts["edited_named"], edited),
        }
        for kind, counts in sums["sections"].items()
    }
    # `touched`: its name in events
    uses = {name: (use["items"], use["touched"]) for name, use in sums["sources"].items()}
    sources = {
        name: {"items": items, "used": used, "utility": percent(used, items)}
        for name, (items, used) in uses.items()
    }
    tools = {
        name: {**counts, "precision": percent(counts["used"], counts["files"])}
        for name, counts in sums["tools"].items()
    }
    return {
        "sessions": sessions,
        "needed": max(LEAST_PACKAGES - sessions, 0),
        "packages": _total(newest.values(), "packages"),
        "queries": _total(newest.values(), "queries"),
        "edited": edited,
        "edited_named": edited_named,
        "sections": sections,
        "sources": sources,
        "tools": tools,
        "proposed_weights": suggested_weights(sessions, uses),
    }


def _total(events: Iterable[Mapping[str, Any]], key: str) -> int:
    return sum(int(event.get(key, 0)) for event in events)


def _sums(events: Iterable[Mapping[str, Any]], key: str) -> dict[str, Counter[str]]:
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for event in events:
        for name, counts in event.get(key, {}).items():
            sums[str(name)].update(counts)
    return {name: sums[name] for name in sorted(sums)}
