"""Deliver: build a package, or take it from the cache, and record that it was shown.

Packages are cached by ID for half an hour, and by request for five minutes, while nothing changes.
An equal request is answered with the package made before only where everything that a package is
made from is equal: the content of the working tree, HEAD, records, evidence, claims, the graph,
settings, policy, reader, and the day. What ends with time (records, claims, the age of evidence) is
counted at the time of the request: it is never shown longer.

As JSON (`kl.package/4`) what differs between two runs that found the same is in the envelope,
outside the ID.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks import __version__
from kl_hooks.clock import DAY, iso, micros
from kl_hooks.config.settings import load_lifecycle
from kl_hooks.context import package_log
from kl_hooks.context.access import find_policy
from kl_hooks.context.build import build
from kl_hooks.context.gather import NEIGHBORS
from kl_hooks.context.page import write_budget
from kl_hooks.context.signals import read_signals, without_secrets
from kl_hooks.errors import KlError, UsageProblem
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.provenance import agent, session, worktree_state
from kl_hooks.git.repository import resolve_commit
from kl_hooks.git.run import one_moment
from kl_hooks.model.canonical import digest
from kl_hooks.model.claim import tier_words
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.package import WITHHELD, Budget, Item, Omission, Package
from kl_hooks.model.parameter import fields_of, values_of
from kl_hooks.model.request import BRIEF, QUOTA, QUOTA_FIELDS, STYLE_NAMES, Request
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import one_line, safe_text
from kl_hooks.records.repository import authored_files, docs_pages
from kl_hooks.records.sync import sync

if TYPE_CHECKING:
    from pathlib import Path

    from kl_hooks.workspace import Workspace


_EVIDENCE: Final = (
    "SELECT chain FROM receipt ORDER BY seq DESC LIMIT 1",
    "SELECT COUNT(folded) FROM receipt",
    "SELECT COUNT(*) FROM receipt WHERE ended < ?",
    "SELECT COUNT(*), MAX(sha) FROM commit_log",
    "SELECT COUNT(*), MAX(part) FROM executed_run",
    "SELECT COUNT(*) FROM package_recall",
    "SELECT id, made_at, expires, expires < ? FROM claim ORDER BY id",
    "SELECT COUNT(*) FROM claim_archive",
    "SELECT COUNT(*), MAX(change) FROM record",
    "SELECT id, collection, checksum FROM document_text ORDER BY id",
    (
        "SELECT name, strategy, chunk_size, chunk_overlap, status, made_at FROM document_collection"
        " ORDER BY name"
    ),
    "SELECT COUNT(*) FROM record WHERE expires < ?",
    # each package adds such events, and none of them decides what is in another one
    "SELECT MAX(seq) FROM record_event WHERE name <> 'injected'",
)
"""What of the store a package depends on. `?`: the time, or for receipts that from which on a tier
decays.
"""


class PackageCache:
    """The cached packages for one policy and reader. Any trouble is a miss."""

    class Entry(NamedTuple):
        """A package that was made before."""

        document: Mapping[str, Any]
        text: str
        events: Sequence[Mapping[str, Any]] = ()
        """As they were logged when it was made."""
        injected: Sequence[str] = ()
        """IDs of the records in it."""
        omissions: Sequence[Omission] = ()

    SCHEMA: Final = "kl.package/4"
    TTL_SECONDS: Final = 1_800

    def __init__(self, ws: Workspace, policy: str) -> None:
        self._ws, self._policy = ws, policy

    def get(self, package_id: str) -> Entry | None:
        """Return the package of an ID, for half an hour after it was made."""
        if self._ws.state.cache.is_dir():
            value = self._ws.cache.get(_name(package_id))
        else:
            value = None
        if value is None:
            return None
        try:
            read = json.loads(value)
            shown, omissions = _without_list(read["document"], read.get("omissions", ()))
            text = read["text"]
            over = micros(shown["created_at"]) + shown["ttl_seconds"] * 1_000_000
            # the cache's digest shows that an entry is whole, not that it is a package of this
            # version
            is_whole = (
                shown["schema"] == self.SCHEMA
                and shown["package_id"] == package_id
                and isinstance(text, str)
            )
            is_whole = is_whole and read.get("policy", "") == self._policy
        except (ValueError, KeyError, TypeError):
            return None
        if is_whole and self._ws.clock.now() < over:
            return self.Entry(shown, text, omissions=omissions)
        return None

    def put(self, delivered: Delivered) -> None:
        """Store a package under its ID. It may hold what the caller may see; its task was redacted
        before anything was read from it (`without_secrets`).
        """
        entry = {
            "document": delivered.document,
            "text": delivered.text,
            "omissions": [[omission.id, omission.reason] for omission in delivered.omissions],
            "policy": self._policy,
        }
        name = _name(delivered.document["package_id"])
        self._ws.cache.set(name, json.dumps(entry).encode(), ttl=self.TTL_SECONDS)

    def key(self, request: Request, excluded: Collection[str]) -> str:
        """Return a key of the request and of all that its package is made from; empty where that
        can't be known.
        """
        ws = self._ws
        plugins = (name.startswith("kl_hooks.") for name, _ in ws.plugins.list_name_plugin())
        if (
            not ws.settings.context_cache
            or ws.settings.redis
            or ws.repo is None
            or not all(plugins)
        ):
            return ""  # what a plugin finds may depend on anything
        try:
            if request.at:
                state = [f"commit {request.at}"]
            else:
                state = list(_state(ws))
        except (KlError, OSError):
            return ""
        asked = repr(request._replace(trace_id=""))
        reader = [self._policy, agent(ws.environ) or "", repr(ws.settings), __version__]
        if not all(state):
            return ""
        return digest("package-request/1", [asked, sorted(excluded), *reader, state])

    def answer(self, key: str) -> Entry | None:
        """Return the package that was made for an equal request in the last minutes; None where
        anything changed.
        """
        if key and self._ws.state.cache.is_dir():
            value = self._ws.cache.get(f"answer/{key}")
        else:
            value = None
        try:
            read = json.loads(value or b"null")
            age = self._ws.clock.now() - read["at"]
            if not 0 <= age < self._ws.settings.context_cache * 1_000_000 or read[
                "graph"
            ] != _graph(self._ws):
                return None
            entry = self.get(read["package"])
            if not entry:
                return None
            return entry._replace(events=read["events"], injected=read["injected"])
        except (ValueError, KeyError, TypeError):
            return None

    def remember(
        self, key: str, document: Mapping[str, Any], events: Sequence[Any], injected: Sequence[str]
    ) -> None:
        """Let the next equal request have this package."""
        from kl_hooks.store.redaction import redact_value

        entry = {
            "at": self._ws.clock.now(),
            "package": document["package_id"],
            "graph": _graph(self._ws),
            "events": [redact_value(dict(one)) for one in events],
            "injected": list(injected),
        }
        self._ws.cache.set(
            f"answer/{key}", json.dumps(entry).encode(), ttl=self._ws.settings.context_cache
        )


def _name(package_id: str) -> str:
    return f"package/{package_id}"


def _without_list(
    shown: Mapping[str, Any], stored: Sequence[Sequence[str]]
) -> tuple[dict[str, Any], tuple[Omission, ...]]:
    """Return a stored package as this version has it, and what was omitted from it.

    An older one (`kl.package/3`) has the list in itself. Raises KeyError, TypeError, ValueError for
    what is no package.
    """
    if shown["schema"] == _LISTING_SCHEMA:
        rows = [(row["id"], row["reason"]) for row in shown["omitted"]]
    else:
        rows = [(name, reason) for name, reason in stored]
    omissions = tuple(Omission(name, reason) for name, reason in rows)
    current = {"schema": PackageCache.SCHEMA, "omitted": omitted_counts(omissions)}
    known = shown["schema"] in (_LISTING_SCHEMA, PackageCache.SCHEMA)
    return ({**shown, **current} if known else dict(shown)), omissions


_LISTING_SCHEMA: Final = "kl.package/3"


def _state(ws: Workspace) -> Iterator[str]:
    """Yield what a package of the content as it is now is made from; an empty text where something
    is unknown.
    """
    taken = sync_evidence(ws)
    read = sync(ws)
    here = worktree_state(ws.repo)
    now = ws.clock.now()
    is_known = not (taken.trouble or taken.blind or taken.waiting or read.trouble)
    yield here.tree_all or "" if is_known else ""
    yield f"HEAD {here.head}, {iso(now)[:10]}"
    decay = load_lifecycle(ws.root, ws.state.cache)[0].confidence_decay_days
    with ws.store.reading() as db:
        for sql in _EVIDENCE if db else ():
            if "ended" in sql:
                since = now - decay * DAY
            else:
                since = now
            yield repr(db.rows(sql, (iso(since),) if "?" in sql else ()) if db else "")
    with ws.store.reading("graph") as db:
        yield repr(
            db.row("SELECT COUNT(*) FROM authored WHERE expires < ?", (iso(now),)) if db else "none"
        )
    # also what git ignores: pages and records that are nobody's business but this clone's
    stamps = {**authored_files(ws.root, ws.kinds, now * 1000), **docs_pages(ws)}
    yield repr(sorted((path, stamp or _content(ws.root / path)) for path, stamp in stamps.items()))
    folders = (ws.root / ".kl", ws.root / ".kl" / "kinds")
    own = sorted(
        path for folder in folders if folder.is_dir() for path in folder.iterdir() if path.is_file()
    )
    yield repr([(path.name, _content(path)) for path in own])


def _content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _graph(ws: Workspace) -> list[list[int]]:
    """Return what changes with each write of the graph: it has the violations of the last check,
    and precise links.
    """
    stamps = []
    for path in (ws.state.graph, ws.state.graph.with_name(ws.state.graph.name + "-wal")):
        try:
            state = os.stat(path)  # noqa: PTH116 (no link of ours)
            with path.open(
                "rb"
            ) as file:  # its change counter: two writes may have one time (sqlite.org/fileformat2)
                counter = int.from_bytes(file.read(28)[24:], "big")
            stamps.append([state.st_ino, state.st_size, state.st_mtime_ns, counter])
        except OSError:
            stamps.append([])
    return stamps


RECORDED_TASK: Final = 4_000
"""Characters of a task in the package log; a longer one can't be built again from there."""
_MOST_ITEMS: Final = 12_000
"""Characters of its items: an event has at most 16,000 bytes, and redaction may lengthen one."""
_LONGEST_WORD: Final = 100


class Delivered(NamedTuple):
    """A package as the caller gets it."""

    document: Mapping[str, Any]
    """`kl.package/4`."""
    text: str
    """The rendered package."""
    omissions: tuple[Omission, ...] = ()
    """What is not in it, which the document only counts."""
    remark: str = ""
    """A warning about this delivery, for stderr."""


def make_request(task: str, style: str, trace: str, options: Mapping[str, Any]) -> Request:
    """Return the request of these options, each by the name of its field or of its option (`pins`,
    `pin`); what is empty was not given.

    Without a profile, options that describe the work choose `quota`, which alone reads them. A task
    alone gets a `brief`: any other option asks for more than what decides it.
    UsageProblem for what is no option, and for a value that an option does not take.
    """
    values = values_of(Request, options)
    if style not in STYLE_NAMES:
        raise UsageProblem(f"takes {', '.join(STYLE_NAMES)}, not {style[:40]!r}.", place="style")
    request = Request(task, "", style, trace)._replace(**values)
    if "profile" in values:
        return request
    if any(name in values for name in QUOTA_FIELDS):
        return request._replace(profile=QUOTA)
    # a style changes no content, and what the reader has already makes a package smaller
    others = request._replace(style="text", trace_id="", have=())
    if request.budget or others.options():
        return request
    return request._replace(profile=BRIEF)


def deliver(
    ws: Workspace, request: Request, excluded: Collection[str] = (), actor: str = "", turn: int = 0
) -> Delivered:
    """Build, cache and record the package of a request, without what was `excluded` before. Raises
    as
    `build`.

    An equal request on equal content gets the package that was made before. `actor`: whom the
    policy is evaluated for; empty: whoever runs this. `turn`: of the session of an agent, from 1.
    """
    began = time.perf_counter()
    now = ws.clock.now()
    request = without_secrets(request)
    if (
        request.at and ws.repo
    ):  # logged as what it means now: a branch moves, and this package is built again from it
        request = request._replace(at=resolve_commit(ws.repo, request.at))
    wanted = {*excluded, *(name for one in request.have for name in _items_of(ws, one))}
    try:
        policy = find_policy(ws, actor)
        cache = PackageCache(ws, policy.key if policy else "")
        with one_moment():
            key = cache.key(request, wanted)
            cached = cache.answer(key)
            if cached:
                package = None
            else:
                package = build(ws, request, wanted, actor)
    except KlError as problem:
        if ws.state.directory.is_dir():
            trace = {
                "trace_id": request.trace_id,
                "created_at": iso(now),
                "task": one_line(request.task),
            }
            package_log.append_event(
                ws.state, {"event": "context_failed", **trace, "error": str(problem)}
            )
        if request.trace_id:
            problem.add_note(f"trace {request.trace_id}")
        raise
    if cached:
        return _deliver_again(ws, request, cached, began, turn)
    assert package is not None
    delivered, events, records = _record(ws, request, package, began, turn)
    cache.put(delivered)
    # what changed meanwhile may be in it or not: then it is the package of this moment only
    whole = not any(how.startswith("failed") for how in package.coverage.values())
    with one_moment(is_later=True):
        is_unchanged = key and whole and cache.key(request, wanted) == key
    if is_unchanged:
        cache.remember(key, delivered.document, events, records)
    return delivered


def _record(
    ws: Workspace, request: Request, package: Package, began: float, turn: int
) -> tuple[Delivered, list[dict[str, Any]], list[str]]:
    """Record that a package was shown; return it, what was logged of it but its items, and the
    records in it.
    """
    now = ws.clock.now()
    about = envelope(
        request.task,
        request.budget or write_budget(package.budget),
        request.style,
        request.trace_id,
        now,
    )
    omissions = tuple(
        Omission(safe_text(omission.id), safe_text(omission.reason))
        for omission in package.omissions
    )
    delivered = Delivered(document(package, about), package.text, omissions)
    elapsed_ms = round((time.perf_counter() - began) * 1000)
    events = _events(ws, request, package, delivered, {"assembly_ms": elapsed_ms, "turn": turn})
    if package.decision:
        from kl_hooks.context.policy import audit_event

        events.append(audit_event(package.decision, delivered.document))
    failed = [why for event in events if (why := package_log.append_event(ws.state, event))]
    shown = (one.candidate for one in package.items if one.form != "redacted")
    records = [one.id for one in shown if one.kind in ws.kinds]
    # what would have been given at an older revision was given to nobody
    remark = failed[0] if failed else ""
    if not remark and not request.at:
        remark = _record_injections(ws, package.id, records) or _update_recall(ws)
    return (
        delivered._replace(remark=remark),
        [one for one in events if one["event"] != package_log.ITEMS],
        records,
    )


def _deliver_again(
    ws: Workspace, request: Request, cached: PackageCache.Entry, began: float, turn: int
) -> Delivered:
    """Record once more the package of an equal request: when, for whom, and that no source was
    asked.
    """
    shown = cached.document
    now = ws.clock.now()
    budget = request.budget or write_budget(Budget(**shown["budget"]))
    about = envelope(request.task, budget, request.style, request.trace_id, now)
    text = "\n".join(question for question in (request.task, *request.queries) if question.strip())
    when = {"trace_id": about.trace_id, "created_at": iso(now)}
    shown = {
        **shown,
        **when,
        "request_id": about.request_id,
        "task": safe_text(text) or shown["task"],
    }
    whose = {"agent": agent(ws.environ) or "", "session": session(ws.environ) or ""}
    elapsed_ms = round((time.perf_counter() - began) * 1000)
    assembly = {
        "request_id": about.request_id,
        "assembly_ms": elapsed_ms,
        "turn": turn,
        "cached": True,
        **whose,
    }
    changes: dict[str, dict[str, Any]] = {
        "knowledge_lookup": {"sources": []},
        "context_assembly": assembly,
        "policy_decision": {"purpose": about.request_id},
    }
    events = [
        {**known_event, **when, **changes.get(known_event["event"], {})}
        for known_event in cached.events
    ]
    failed = [why for event in events if (why := package_log.append_event(ws.state, event))]
    if failed:
        remark = failed[0]
    elif request.at:
        remark = ""
    else:
        remark = _record_injections(ws, shown["package_id"], cached.injected)
    return Delivered(shown, cached.text, tuple(cached.omissions), remark)


def _record_injections(ws: Workspace, package_id: str, records: Sequence[str]) -> str:
    """Record an Event for each record in the package; return why that failed, or nothing. The
    package is not lost.
    """
    from kl_hooks.records.events import Event, append_events

    try:
        append_events(ws, [Event("injected", one, body={"package": package_id}) for one in records])
    except (KlError, OSError) as problem:
        return f"injections not recorded: {problem}"
    return ""


def _update_recall(ws: Workspace) -> str:
    """Compare new commits with the packages they name; return why that failed, or nothing."""
    from kl_hooks.context.recall import update_recall

    try:
        update_recall(ws)
    except (KlError, OSError) as problem:
        return f"commits not compared with packages: {problem}"
    return ""


def _events(
    ws: Workspace,
    request: Request,
    package: Package,
    delivered: Delivered,
    about: Mapping[str, int],
) -> list[dict[str, Any]]:
    """Return what was asked of whom (A64, B14), whether something was found, the items, and the
    assembly (A63).
    """
    shown = delivered.document
    signals = read_signals(package.task)
    identity = {key: shown[key] for key in ("package_id", "trace_id", "created_at")}
    counts = {
        "retrieved": len(shown["items"]) + len(delivered.omissions),
        "included": len(shown["items"]),
    }
    lookup = {
        "event": "knowledge_lookup",
        **identity,
        "weight": request.weight,
        "symbols": _cut(signals.symbols),
        "keywords": _cut(signals.keywords),
        "failure_patterns": _cut(signals.failures),
        "query_count": len({*signals.symbols, *signals.keywords, *signals.failures}),
        "sources": [one._asdict() for one in package.queries],
    }
    if counts["included"]:
        hit_or_miss = {"event": "knowledge_hit", **identity, **counts}
    else:
        hit_or_miss = {"event": "knowledge_miss", **identity}
    return [
        lookup,
        hit_or_miss,
        {"event": package_log.ITEMS, **identity, **_package_items(package)},
        _assembly(ws, request, delivered, package.commit, about),
    ]


def _cut(words: Sequence[str]) -> list[str]:
    """Return the words as an event can hold them: a task may be one word of a million
    characters.
    """
    return [one_line(word, _LONGEST_WORD) for word in words]


def _package_items(package: Package) -> dict[str, Any]:
    """Return the files, symbols and records of a package, each with the retrievers that brought it.

    `cut` is true where not all fit into an event.
    """
    rows: list[list[Any]] = []
    size = 0
    named = {*package.coverage, "pins", "trace", NEIGHBORS}
    for item in package.items:
        candidate = item.candidate
        # the parts of code are the signals of its ranking, unless something named it
        sources = sorted((item.parts.keys() & named) or {"code"})
        # of the files of a past commit, those that the reader was shown
        about = (
            path for path in candidate.touches if candidate.kind != "commit" or path in item.text
        )
        row = [candidate.kind, candidate.id, sorted({candidate.path, *about} - {""}), sources]
        size += len(json.dumps(row))
        if size > _MOST_ITEMS:
            break
        rows.append(row)
    return {"items": rows, "cut": len(rows) < len(package.items)}


def _assembly(
    ws: Workspace, request: Request, delivered: Delivered, commit: str, about: Mapping[str, int]
) -> dict[str, Any]:
    shown = delivered.document
    whole = len(request.task) <= RECORDED_TASK
    kinds = Counter(item["kind"] for item in shown["items"])
    if "memory" in ws.kinds:
        memory = ws.kinds["memory"].prefix
    else:
        memory = "MEM"
    omitted = sum(omission.id.startswith(f"{memory}-") for omission in delivered.omissions)
    return {
        "event": "context_assembly",
        **{
            key: shown[key]
            for key in ("package_id", "request_id", "trace_id", "created_at", "coverage")
        },
        "task": request.task if whole else one_line(request.task, RECORDED_TASK),
        "task_cut": not whole,
        "budget": request.budget,
        "style": request.style,
        "options": request.options(),
        "metrics": (shown["quota"] or {}).get("metrics"),
        "knowledge_retrieved": len(shown["items"]) + len(delivered.omissions),
        "knowledge_included": len(shown["items"]),
        "context_chars": len(delivered.text),
        "context_chars_breakdown": shown["characters"],
        "artifacts": dict(sorted(kinds.items())),
        "memory_loaded": kinds["memory"] + omitted,
        "memory_included": kinds["memory"],
        "budget_unit": shown["budget"]["unit"],
        "budget_total": shown["budget"]["total"],
        "budget_used": shown["budget"]["used"],
        "commit": commit,
        "worktree": ws.state.graph.stem,
        "agent": agent(ws.environ) or "",
        "session": session(ws.environ) or "",
        **about,
    }


def find_package(ws: Workspace, package_id: str, actor: str = "") -> Delivered:
    """Return the package of an ID (or of its beginning): from the cache, or built again from its
    logged request.

    What was made for another actor, or by another policy, is built again too: it may show more than
    is allowed now.

    Raises UsageProblem where no such package is known.
    """
    policy = find_policy(ws, actor)
    cache = PackageCache(ws, policy.key if policy else "")
    if cached := cache.get(package_id):
        return Delivered(cached.document, cached.text, tuple(cached.omissions))
    record = _logged_request(ws, package_id)
    full_id = record["package_id"]
    if cached := cache.get(full_id) if full_id != package_id else None:
        return Delivered(cached.document, cached.text, tuple(cached.omissions))
    if record.get("task_cut"):
        raise UsageProblem(
            "its task was too long to be recorded whole.",
            place=full_id,
            hint="Ask again: kl context …",
        )
    request = _request(record)
    again = deliver(ws, request, actor=actor)
    now_id = again.document["package_id"]
    whose = f" for {policy.actor}" if policy else ""
    if policy:
        changed = "the policy, its reader or the knowledge base has changed"
    else:
        changed = "the knowledge base has changed"
    if now_id == full_id:
        same = "the same"
    else:
        same = f"now {now_id}: {changed} since"
    remark = f"{full_id} is no longer cached{whose}; built again from its request, {same}."
    return again._replace(remark=remark)


def _request(record: Mapping[str, Any]) -> Request:
    """Return the request that an event of the package log holds; an earlier version wrote no
    options.
    """
    plain = Request(record["task"], record["budget"], record["style"], record.get("trace_id", ""))
    stored_options = record.get("options")
    options: Mapping[str, Any] = stored_options if isinstance(stored_options, dict) else {}
    changes: dict[str, Any] = {}
    for field in fields_of(Request):
        if field.name in options:
            value = options[field.name]
            changes[field.name] = tuple(value) if field.value_type is tuple else value
    return plain._replace(**changes)


def _items_of(ws: Workspace, package_id: str) -> list[str]:
    """Return the IDs of what was in a package, as it is logged. UsageProblem where no such package
    is known.
    """
    full_id = _logged_request(ws, package_id)["package_id"]
    logged = (
        one
        for one in package_log.events_newest_first(ws.state)
        if one.get("event") == package_log.ITEMS
    )
    return [row[1] for one in logged if one.get("package_id") == full_id for row in one["items"]]


def _logged_request(ws: Workspace, package_id: str) -> dict[str, Any]:
    wanted = ("package_id", "task", "budget", "style")
    for event in package_log.events_newest_first(ws.state):
        if event.get("event") != "context_assembly" or not all(
            isinstance(event.get(k), str) for k in wanted
        ):
            continue
        if event["package_id"].startswith(package_id):
            return event
    raise UsageProblem(
        "no package of this id was made here.",
        place=package_id,
        hint='A task is asked for like this: kl context "…"',
    )


class Envelope(NamedTuple):
    """When and for whom a package was made."""

    request_id: str
    trace_id: str
    created_at: int
    """Microseconds since 1970."""


def envelope(task: str, budget: str, style: str, trace_id: str, now: int) -> Envelope:
    """Return the envelope of a request; its ID follows from the request and the time."""
    return Envelope("rq-" + digest("request/1", [task, budget, style, now])[:12], trace_id, now)


def document(package: Package, about: Envelope) -> dict[str, Any]:
    """Return `kl.package/4`. Every text is made safe; `budget.used` is the size of the rendered
    package. What was omitted is counted by reason: there may be a hundred times more of it than of
    what is shown.
    """
    return {
        "schema": PackageCache.SCHEMA,
        "package_id": package.id,
        "request_id": about.request_id,
        "task": safe_text(package.task),
        "trace_id": about.trace_id,
        "created_at": iso(about.created_at),
        "ttl_seconds": PackageCache.TTL_SECONDS,
        "budget": package.budget._asdict(),
        "items": [_item_to_dict(item) for item in package.items],
        "omitted": omitted_counts(package.omissions),
        "coverage": dict(package.coverage),
        "policy_decision_id": package.decision.id if package.decision else None,
        "characters": dict(package.characters),
        "searches": [
            {"name": one.name, "text": safe_text(one.text), "found": one.found}
            for one in package.searches
        ],
        "quota": dict(package.quota) or None,
    }


def omitted_counts(omissions: Iterable[Omission]) -> dict[str, int]:
    """Return reason, without its details → how many were omitted for it; the most frequent
    first.
    """
    reasons = Counter(safe_text(omission.reason.partition(":")[0]) for omission in omissions)
    return dict(reasons.most_common())


def _item_to_dict(item: Item) -> dict[str, Any]:
    candidate = item.candidate
    return {
        "id": safe_text(candidate.id),
        "kind": candidate.kind,
        "title": safe_text(candidate.title),
        "form": item.form,
        "text": safe_text(item.text),
        "tokens": item.tokens,
        "tier": candidate.tier.word if candidate.tier is not None else None,
        "freshness": candidate.freshness,
        "authority": candidate.authority,
        "proof": safe_text(candidate.proof),
        "path": safe_text(candidate.path),
        "line": candidate.line,
        "score": {"total": item.score, "parts": dict(item.parts)},
        "reasons": [safe_text(reason) for reason in candidate.reasons],
        "pinned": candidate.pinned,
        "category": item.category or None,
    }


def explain_items(shown: Mapping[str, Any]) -> list[str]:
    """Return a line for every item of a package, best first, with the parts of its score, and its
    reasons below.

    Before them the searches, where there were several, and how the budget was divided, where it
    was.
    """
    items = sorted(shown["items"], key=lambda item: (-item["score"]["total"], item["id"]))
    searches = [
        f"{one['name']}: {one['found']} new candidates  {one_line(one['text'])}"
        for one in shown["searches"]
    ]
    return [
        *searches,
        *_quota_lines(shown),
        *(line for item in items for line in _item_lines(item)),
    ]


def _quota_lines(shown: Mapping[str, Any]) -> list[str]:
    quota = shown["quota"]
    if not quota:
        return []
    traits = quota["traits"]
    unit = shown["budget"]["unit"]
    percents = "".join(f", {one['reason']} +{one['percent']} %" for one in quota["adjustments"])
    lines = [
        f"traits: {traits['task_type']}, phase {traits['current_phase']}, complexity"
        f" {traits['complexity']}, {traits['similar_task_count']} similar tasks{percents};"
        f" relevance threshold {quota['threshold']:g}"
    ]
    lines += [
        f"share of {name.replace('_', ' ')}: {share['share']:.1%}, {share['allocated']} {unit},"
        f" {share['used']} used"
        for name, share in quota["shares"].items()
        if share["allocated"] or share["used"]
    ]
    metrics = quota["metrics"]
    if metrics["acceptable"]:
        acceptable = "acceptable"
    else:
        acceptable = "not acceptable"
    return [
        *lines,
        (
            f"retrieval: {metrics['items_above_threshold']} of "
            f"{metrics['total_items_retrieved']} above the threshold, mean relevance "
            f"{metrics['avg_relevance_score']:g}, {acceptable}"
        ),
    ]


def explain_omissions(package_id: str, omissions: Sequence[Omission]) -> list[str]:
    """Return what was omitted from a package, below each reason; the most frequent first."""
    ids_of_reason: dict[str, list[str]] = {}
    for omission in omissions:
        ids_of_reason.setdefault(omission.reason, []).append(omission.id)
    lines = []
    for reason, ids in sorted(ids_of_reason.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        lines.append(f"{len(ids)} omitted from {package_id}: {one_line(reason)}")
        lines += [f"  {one_line(name)}" for name in ids]
    return lines or [f"nothing was omitted from {package_id}"]


def explain_one(shown: Mapping[str, Any], omissions: Sequence[Omission], wanted: str) -> list[str]:
    """Return why the candidate `wanted` (an ID, or a name or place as packages print it) is in a
    package, or not.
    """
    package = shown["package_id"]
    # `.total`: below another method of its class
    if wanted[:1] == "." and wanted[1:].isidentifier():
        wanted = wanted[1:]
    for place, item in enumerate(
        sorted(shown["items"], key=lambda i: (-i["score"]["total"], i["id"])), 1
    ):
        if wanted in _names_of(item):
            return [f"in {package}, {place} of {len(shown['items'])} by score:", *_item_lines(item)]
    for omission in omissions:
        if wanted in _names_of({"id": omission.id}):
            return [f"omitted from {package}: {omission.reason}"]
    asked = ", ".join(f"{name} ({how})" for name, how in shown["coverage"].items()) or "none"
    if any(omission.id == WITHHELD for omission in omissions):
        withheld = ", or the policy denies it"
    else:
        withheld = ""
    return [f"not in {package}: no retriever brought {one_line(wanted)}{withheld}. Asked: {asked}"]


def _names_of(item: Mapping[str, Any]) -> set[str]:
    """Return the ID, the qualified name and every end of it, and of code the path and
    `path:line`.
    """
    name = split_id(item["id"])[1]
    path = item.get("path", "")
    if ":" in item["id"]:
        ends = {name.split(".", cut)[-1] for cut in range(name.count(".") + 1)}
    else:
        ends = set()
    if path:
        return {item["id"], path, f"{path}:{item.get('line')}", *ends} - {""}
    return {item["id"], *ends}


def _item_lines(item: Mapping[str, Any]) -> list[str]:
    parts = "  ".join(f"{name} {_decimal(value)}" for name, value in item["score"]["parts"].items())
    if item["tier"]:
        tier = [tier_words(item["tier"], item.get("freshness", ""))[0]]
    else:
        tier = []
    line = (
        f"{_decimal(item['score']['total'])}  {one_line(item['id'])} "
        f" [{', '.join([*tier, item['form']])}]  {parts}"
    )
    return [line, *(f"          {one_line(reason)}" for reason in item["reasons"])]


def _decimal(value: int) -> str:
    return f"{value // 1_000_000}.{value % 1_000_000:06d}"
