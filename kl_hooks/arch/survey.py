"""Reads the imports of one content of the repository: modules, links, and what could not be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kl_hooks.arch.edges import file_of
from kl_hooks.arch.read_facts import Read
from kl_hooks.arch.ready import FEW, Ready, by_name, changed, key_of, load, made, save, updated
from kl_hooks.arch.recent import recent
from kl_hooks.arch.source import Content
from kl_hooks.code.imports import Known, file_links
from kl_hooks.code.imports_read import imports_of, scanners_of
from kl_hooks.code.parse import lost
from kl_hooks.model.problem import Problem
from kl_hooks.model.symbol import Link
from kl_hooks.workspace.open import Workspace

if TYPE_CHECKING:
    from kl_hooks.code.rewriting.need import Source
    from kl_hooks.git.files import Entry
    from kl_hooks.model.manifest import Layer


class _Where(dict[str, str | None]):
    """Dotted name → name of the layer that its file belongs to; None: to none."""

    def __init__(self, modules: Mapping[str, str], layers: Mapping[str, Layer | None]) -> None:
        self._files, self._layers = by_name(modules), layers

    def __missing__(self, dotted: str) -> str | None:
        file = file_of(dotted, self._files)
        layer = self._layers[file] if file is not None else None
        name = self[dotted] = layer.name if layer else None
        return name


@dataclass(frozen=True, slots=True)
class Survey:
    """What the source says about who imports what."""

    ready: Ready
    facts: Mapping[str, dict[str, Any]]
    """Path → facts of the Python files; read when somebody asks."""
    unread: tuple[Problem, ...]
    """Files that could not be read, each with its place and reason."""
    content: Content
    notes: tuple[str, ...] = ()
    """What went slower than it should have."""

    _memory: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """What was read to find statements and ways out: only files with violations, each once."""

    @property
    def modules(self) -> Mapping[str, str]:
        """Path → dotted name of every Python file."""
        return self.ready.modules

    @property
    def links(self) -> tuple[Link, ...]:
        """The imports of modules of the repository, by path and line."""
        return tuple(link for path in sorted(self.ready.links) for link in self.ready.of(path))

    def forbidden(self, layers: Mapping[str, Layer | None]) -> tuple[Link, ...]:
        """Those of `links` that lead from one layer into another that it may not depend on: mostly none.

        `layers`: path → layer of every Python file.
        """
        return self._leading(layers, lambda source: (None, source.name, *source.may_depend_on))

    def crossing(self, layers: Mapping[str, Layer | None]) -> tuple[Link, ...]:
        """Those of `links` that lead from one layer into another, allowed or not."""
        return self._leading(layers, lambda source: (None, source.name))

    def _leading(
        self, layers: Mapping[str, Layer | None], passed_over: Callable[[Layer], Iterable[str | None]]
    ) -> tuple[Link, ...]:  # fmt: skip
        """The links into a layer that is not among those `passed_over` for the layer they come from."""
        where, found, known = _Where(self.modules, layers), list[Link](), dict[str, frozenset[str | None]]()
        for path, flat in self.ready.links.items():
            source = layers[path]
            if source is None:
                continue
            if source.name not in known:
                known[source.name] = frozenset(passed_over(source))
            fine, targets = known[source.name], flat[0::4]
            if not fine.issuperset(map(where.__getitem__, targets)):
                links = zip(self.ready.of(path), targets, strict=True)
                found += [link for link, target in links if where[target] not in fine]
        return tuple(found)

    def statement(self, link: Link) -> str:
        """The import statement behind a link."""
        return next((str(row[5]) for row in self._rows(link)), "")

    def kind(self, link: Link) -> str:
        """What the import is needed for in its file: `unused`, `annotations`, or `kept` (see `code.rewriting.need`)."""
        from kl_hooks.code.rewriting.need import KEPT, NOTED, UNUSED, mention

        source = self._source(link.path)
        kinds = {mention(source, row).kind for row in self._rows(link)} if source else set()
        return KEPT if KEPT in kinds or not kinds else NOTED if NOTED in kinds else UNUSED

    def known(self) -> Known:
        """The modules, asked by the names that imports use."""
        if "known" not in self._memory:
            self._memory["known"] = Known(self.modules)
        known: Known = self._memory["known"]
        return known

    def _rows(self, link: Link) -> list[list[Any]]:
        """The imports of a file (see `code.imports_found`) behind a link."""
        rows = self._lines(link.path).get(link.line, [])
        if len(rows) < 2:
            return rows
        key = ("targets", link.path, link.line)
        if key not in self._memory:
            found: dict[str, list[list[Any]]] = {}
            for row in rows:
                for one in file_links(link.path, [row], self.known()):
                    found.setdefault(one.target, []).append(row)
            self._memory[key] = found
        behind: dict[str, list[list[Any]]] = self._memory[key]
        return behind.get(link.target, [])

    def _lines(self, path: str) -> dict[int, list[list[Any]]]:
        """Line → the imports of a file that stand there; grouped once, for a file may have thousands of violations."""
        key = ("lines", path)
        if key not in self._memory:
            found: dict[int, list[list[Any]]] = {}
            for row in self.facts.get(path, {}).get("imports", ()):
                found.setdefault(row[3], []).append(row)
            self._memory[key] = found
        lines: dict[int, list[list[Any]]] = self._memory[key]
        return lines

    def _source(self, path: str) -> Source | None:
        from kl_hooks.code.rewriting.need import Source
        from kl_hooks.code.rewriting.parsed import parsed

        key = ("source", path)
        if key not in self._memory:
            content = self.read([path]).get(path, b"\0")
            tree = parsed(content)
            self._memory[key] = Source(path, content, tree) if tree else None
        source: Source | None = self._memory[key]
        return source

    def read(self, paths: Sequence[str]) -> Mapping[str, bytes]:
        """The contents of files, each read once; what can't be had is left out."""
        known: dict[str, bytes] = self._memory.setdefault("contents", {})
        asked: set[str] = self._memory.setdefault("asked", set())
        missing = set(paths) - asked
        if missing:
            entries = [entry for entry in self.content.entries if entry.path in missing]
            known.update((entry.path, text) for entry, text in self.content.read(entries))
            asked |= missing
        return {path: known[path] for path in paths if path in known}


def survey(ws: Workspace, content: Content) -> Survey:
    """Reads the imports of `content`. Store and cache only make it faster: trouble with them is a note, or nothing."""
    scanners, notes = scanners_of(ws.plugins), list[str]()
    store = ws.store if ws.initialised else None  # a look at a repository without .kl/ leaves nothing
    cache = ws.state.cache if ws.initialised else None
    key = key_of(ws.root, [scanner.version for scanner in scanners])

    def read(entries: Sequence[Entry]) -> dict[str, Any]:
        from kl_hooks.code.facts import facts_of

        return facts_of(store, entries, content.read, scanners, symbols=False, warn=notes.append)

    def look(entries: Sequence[Entry]) -> dict[str, Any]:
        """What is asked for first: the imports alone, where that is sooner than asking the store."""
        if len(entries) > FEW:
            return read(entries)
        found = recent(cache, key, entries, lambda some: imports_of(some, content.read, scanners))
        return {entry.path: found.get(entry.path) or lost() for entry in entries}

    python = {entry.path: entry for entry in content.entries if entry.path.endswith(".py")}
    ready = load(cache, key) if cache else None
    fresh = changed(ready, content.entries) if ready else None
    facts = look(fresh) if fresh else {}
    anew = ready is None or fresh is None or not updated(ready, fresh, facts)
    if ready is None or anew:
        facts = read(list(python.values()))
        ready = made(content.entries, facts)
    if cache and (anew or len(fresh or ()) > FEW):
        save(cache, key, ready)
    unread = sorted(_unread(path, error) for path, error in ready.errors.items())
    return Survey(ready, Read(facts, python, read), tuple(unread), content, tuple(notes))


def _unread(path: str, error: str) -> Problem:
    """`line:column: reason` of the facts as a problem."""
    line, column, reason = error.split(":", 2)
    return Problem(path, int(line), int(column), f"can't be parsed: {reason.strip()}.")
