"""The cache of packages: by ID for half an hour, and by request for five minutes, while nothing changes.

An equal request is answered with the package made before only where everything that a package is made from is equal:
the content of the working tree, HEAD, records, evidence, claims, the graph, settings, policy, reader, and the day. What
ends with time (records, claims, the age of evidence) is counted at the time of the request: it is never shown longer.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kl_hooks import __version__
from kl_hooks.clock import iso, micros
from kl_hooks.config.settings import load_lifecycle
from kl_hooks.errors import KlError
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.provenance import agent, worktree_state
from kl_hooks.model.canonical import digest
from kl_hooks.records.repository import authored_files, docs_pages
from kl_hooks.records.sync import sync

if TYPE_CHECKING:
    from pathlib import Path

    from kl_hooks.model.package import Request
    from kl_hooks.workspace import Workspace

_DAY: Final = 86_400_000_000
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
    "SELECT name, strategy, chunk_size, chunk_overlap, status, made_at FROM document_collection ORDER BY name",
    "SELECT COUNT(*) FROM record WHERE expires < ?",
    # each package adds such events, and none of them decides what is in another one
    "SELECT MAX(seq) FROM record_event WHERE name <> 'injected'",
)
"""What of the store a package depends on. `?`: the time, or for receipts that from which on a tier decays."""


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

    SCHEMA: Final = "kl.package/3"
    TTL_SECONDS: Final = 1_800

    def __init__(self, ws: Workspace, policy: str) -> None:
        self._ws, self._policy = ws, policy

    def get(self, package_id: str) -> Entry | None:
        """Return the package of an ID, for half an hour after it was made."""
        value = self._ws.cache.get(_name(package_id)) if self._ws.state.cache.is_dir() else None
        if value is None:
            return None
        try:
            read = json.loads(value)
            shown, text = read["document"], read["text"]
            over = micros(shown["created_at"]) + shown["ttl_seconds"] * 1_000_000
            # the cache's digest shows that an entry is whole, not that it is a package of this version
            known = shown["schema"] == self.SCHEMA and shown["package_id"] == package_id and isinstance(text, str)
            known = known and read.get("policy", "") == self._policy
        except (ValueError, KeyError, TypeError):
            return None
        return self.Entry(shown, text) if known and self._ws.clock.now() < over else None

    def put(self, document: Mapping[str, Any], text: str) -> None:
        """Store a package under its ID. It may hold what the caller may see, but no secret that its task quotes."""
        from kl_hooks.store.redaction import redact

        entry = {"document": {**document, "task": redact(document["task"])}, "text": text, "policy": self._policy}
        self._ws.cache.set(_name(document["package_id"]), json.dumps(entry).encode(), ttl=self.TTL_SECONDS)

    def key(self, request: Request, given: Collection[str]) -> str:
        """Return a key of the request and of all that its package is made from; empty where that can't be known."""
        ws = self._ws
        plugins = (name.startswith("kl_hooks.") for name, _ in ws.plugins.list_name_plugin())
        if not ws.settings.context_cache or ws.settings.redis or ws.repo is None or not all(plugins):
            return ""  # what a plugin finds may depend on anything
        try:
            state = [f"commit {request.at}"] if request.at else list(_state(ws))
        except (KlError, OSError):
            return ""
        asked = repr(asdict(replace(request, trace_id="")))
        reader = [self._policy, agent(ws.environ) or "", repr(ws.settings), __version__]
        return digest("package-request/1", [asked, sorted(given), *reader, state]) if all(state) else ""

    def answer(self, key: str) -> Entry | None:
        """Return the package that was made for an equal request in the last minutes; None where anything changed."""
        value = self._ws.cache.get(f"answer/{key}") if key and self._ws.state.cache.is_dir() else None
        try:
            read = json.loads(value or b"null")
            age = self._ws.clock.now() - read["at"]
            if not 0 <= age < self._ws.settings.context_cache * 1_000_000 or read["graph"] != _graph(self._ws):
                return None
            found = self.get(read["package"])
            return found._replace(events=read["events"], injected=read["injected"]) if found else None
        except (ValueError, KeyError, TypeError):
            return None

    def remember(self, key: str, document: Mapping[str, Any], events: Sequence[Any], injected: Sequence[str]) -> None:
        """Let the next equal request have this package."""
        from kl_hooks.store.redaction import redact_value

        entry = {"at": self._ws.clock.now(), "package": document["package_id"], "graph": _graph(self._ws),
                 "events": [redact_value(dict(one)) for one in events], "injected": list(injected)}  # fmt: skip
        self._ws.cache.set(f"answer/{key}", json.dumps(entry).encode(), ttl=self._ws.settings.context_cache)


def _name(package_id: str) -> str:
    return f"package/{package_id}"


def _state(ws: Workspace) -> Iterator[str]:
    """Yield what a package of the content as it is now is made from; an empty text where something is unknown."""
    taken, read = sync_evidence(ws), sync(ws)
    here, now = worktree_state(ws.repo), ws.clock.now()
    known = not (taken.trouble or taken.blind or taken.waiting or read.trouble)
    yield here.tree_all or "" if known else ""
    yield f"HEAD {here.head}, {iso(now)[:10]}"
    decay = load_lifecycle(ws.root, ws.state.cache)[0].confidence_decay_days
    with ws.store.reading() as db:
        for sql in _EVIDENCE if db else ():
            since = now - decay * _DAY if "ended" in sql else now
            yield repr(db.rows(sql, (iso(since),) if "?" in sql else ()) if db else "")
    with ws.store.reading("graph") as db:
        yield repr(db.row("SELECT COUNT(*) FROM authored WHERE expires < ?", (iso(now),)) if db else "none")
    # also what git ignores: pages and records that are nobody's business but this clone's
    stamps = {**authored_files(ws.root, ws.kinds, now * 1000), **docs_pages(ws)}
    yield repr(sorted((path, stamp or _content(ws.root / path)) for path, stamp in stamps.items()))
    folders = (ws.root / ".kl", ws.root / ".kl" / "kinds")
    own = sorted(path for folder in folders if folder.is_dir() for path in folder.iterdir() if path.is_file())
    yield repr([(path.name, _content(path)) for path in own])


def _content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _graph(ws: Workspace) -> list[list[int]]:
    """Return what changes with each write of the graph: it has the violations of the last check, and precise links."""
    found = []
    for path in (ws.state.graph, ws.state.graph.with_name(ws.state.graph.name + "-wal")):
        try:
            state = os.stat(path)  # noqa: PTH116 (no link of ours)
            with path.open("rb") as file:  # its change counter: two writes may have one time (sqlite.org/fileformat2)
                counter = int.from_bytes(file.read(28)[24:], "big")
            found.append([state.st_ino, state.st_size, state.st_mtime_ns, counter])
        except OSError:
            found.append([])
    return found
