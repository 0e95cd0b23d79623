"""Reads the imports of one content of the repository: modules, links, and what could not be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kl_hooks.arch.edges import file_of
from kl_hooks.arch.paths import owner, owner_by_name
from kl_hooks.arch.read_facts import Read
from kl_hooks.arch.ready import FEW, Ready, by_name, changed, key_of, load, made, save, updated
from kl_hooks.arch.recent import recent
from kl_hooks.arch.source import Content
from kl_hooks.arch.unassigned import first_file, is_through, through
from kl_hooks.code.imports import Known, file_links
from kl_hooks.code.imports_read import imports_of, scanners_of
from kl_hooks.code.modules import plain_name
from kl_hooks.code.parse import lost
from kl_hooks.model.problem import Problem
from kl_hooks.model.symbol import Link
from kl_hooks.workspace.open import Workspace

if TYPE_CHECKING:
    from kl_hooks.code.rewriting.need import Source
    from kl_hooks.git.files import Entry
    from kl_hooks.model.manifest import Layer, Manifest


class _Where(dict[str, str | None]):
    """Dotted name → name of the layer that it belongs to, by a namespace or by its file; None: to none."""

    def __init__(self, modules: Mapping[str, str], layers: Mapping[str, Layer | None], manifest: Manifest) -> None:
        self._files, self._layers, self._named = by_name(modules), layers, owner_by_name(manifest.layers)

    def __missing__(self, dotted: str) -> str | None:
        file = file_of(dotted, self._files)
        layer = self._named(plain_name(dotted)) or (self._layers[file] if file is not None else None)
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

    def links_under(self, manifest: Manifest) -> tuple[Link, ...]:
        """`links`, and those that only a manifest makes: into its namespaces, and forbidden ones through no layer."""
        layer_of = owner(manifest.layers)
        layers = {path: layer_of(path) for path in self.modules}
        return (*self.links, *self._outside(manifest, layers), *self._through(manifest, layers))

    def forbidden(self, manifest: Manifest, layers: Mapping[str, Layer | None]) -> tuple[Link, ...]:
        """Those of `links_under` that lead from one layer into another that it may not depend on: mostly none.

        `layers`: path → layer of every Python file.
        """
        direct = self._leading(manifest, layers, lambda source: (None, source.name, *source.may_depend_on))
        return (*direct, *self._outside(manifest, layers), *self._through(manifest, layers))

    def crossing(self, manifest: Manifest, layers: Mapping[str, Layer | None]) -> tuple[Link, ...]:
        """Those of `links` that lead from one layer into another, allowed or not."""
        return self._leading(manifest, layers, lambda source: (None, source.name))

    def _through(self, manifest: Manifest, layers: Mapping[str, Layer | None]) -> list[Link]:
        """The forbidden imports that lead through files in no layer; with `indirect: forbid` those are chains."""
        if manifest.indirect == "forbid" or manifest.unassigned_imports == "ignore":
            return []

        def is_wanted(source: Layer, target: Layer) -> bool:
            return target.name not in (source.name, *source.may_depend_on)

        return self.through(layers, is_wanted, manifest)

    def through(
        self, layers: Mapping[str, Layer | None], is_wanted: Callable[[Layer, Layer], bool], manifest: Manifest
    ) -> list[Link]:  # fmt: skip
        """The imports through files in no layer, see `unassigned.through`."""
        return through(self, layers, is_wanted, manifest)

    def _outside(self, manifest: Manifest, layers: Mapping[str, Layer | None]) -> list[Link]:
        """The imports of packages from outside that belong to a layer by a namespace."""
        if not any(layer.namespaces for layer in manifest.layers):
            return []
        named, files = owner_by_name(manifest.layers), by_name(self.modules)
        found = []
        for path in sorted(path for path, layer in layers.items() if layer is not None):
            for link in file_links(path, self.facts.get(path, {}).get("imports", ()), self.known()):
                dotted = link.target.partition(":")[2]
                if file_of(dotted, files) is None and named(dotted):
                    found.append(link)
        return found

    def _leading(
        self,
        manifest: Manifest,
        layers: Mapping[str, Layer | None],
        passed_over: Callable[[Layer], Iterable[str | None]],
    ) -> tuple[Link, ...]:
        """The links into a layer that is not among those `passed_over` for the layer they come from."""
        where, found, known = _Where(self.modules, layers, manifest), list[Link](), dict[str, frozenset[str | None]]()
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

        if is_through(link.method):
            return KEPT  # what it is needed for is decided in the files between
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
        if is_through(link.method):
            files, first = by_name(self.modules), first_file(link.method)

            def leads_there(row: list[Any]) -> bool:
                some = file_links(link.path, [row], self.known())
                return any(file_of(one.target.partition(":")[2], files) == first for one in some)

            return [row for row in rows if leads_there(row)]
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
