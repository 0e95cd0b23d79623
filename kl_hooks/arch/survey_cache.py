"""The imports of the last check, cached: of thousands of files only those that changed are read again.

Cached are the names of all modules, what decided them, and the imports that stay inside the repository. The
cache is valid for another content as long as the same files are there under the same names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, Final

from kl_hooks.arch.layers import file_of
from kl_hooks.code.modules import ModuleIndex, QueriedNames, file_links, imported_names, module_names, plain_name
from kl_hooks.config.compile_cache import read_entry, write_entry
from kl_hooks.git.files import FileEntry
from kl_hooks.model.symbol import Link

MAX_REREAD: Final = 8
"""Changed files that cost less to read again than to remember."""
_INDEX_KIND: Final = "survey-1"
_FactsByPath = Mapping[str, Mapping[str, Any]]


@dataclass(slots=True)
class ImportIndex:
    """Who imports whom, of one list of files."""

    blobs: dict[str, str]
    """Path → blob, files that mark a project included."""
    modules: dict[str, str]
    """Path → dotted name, of the Python files."""
    errors: dict[str, str]
    """Path → why it could not be read, "line:column: reason"."""
    asked: dict[str, int]
    """Name that decided about a module's → how many files import it."""
    asks: dict[str, list[str]]
    """Path → those of these names that it imports."""
    links: dict[str, list[Any]]
    """Path → [target, line, method, confidence, target, …] of its imports of modules of the repository."""

    def into(self, names: Collection[str]) -> Iterator[Link]:
        """The imports of the modules that are called so (see `plain_name`), in no promised order."""
        called = {target for flat in self.links.values() for target in flat[0::4]} if names else set()
        wanted = {target for target in called if plain_name(target) in names}
        for path, flat in self.links.items() if wanted else ():
            if not wanted.isdisjoint(flat[0::4]):
                yield from (link for link in self.of(path) if link.target.partition(":")[2] in wanted)

    def of(self, path: str) -> Iterator[Link]:
        """The imports of a file, in its order."""
        source, flat = f"namespace:{self.modules[path]}", self.links[path]
        for target, line, method, confidence in zip(flat[0::4], flat[1::4], flat[2::4], flat[3::4], strict=True):
            yield Link(source, "imports", f"namespace:{target}", path, line, method, confidence)

    def plain(self) -> list[Any]:
        """What JSON can hold."""
        return [self.blobs, self.modules, self.errors, self.asked, self.asks, self.links]


def cache_key(root: Path, versions: Iterable[str]) -> str:
    """Under which a work tree's survey is kept: its place, and by which scanners."""
    return sha256("\0".join([str(root), *versions]).encode("utf-8", "surrogateescape")).hexdigest()


def load_index(cache_dir: Path, key: str) -> ImportIndex | None:
    """What was kept; None for nothing, and for what is not as we leave it."""
    found = read_entry(cache_dir, _INDEX_KIND, key)
    if not isinstance(found, list) or len(found) != 6 or not all(isinstance(one, dict) for one in found):
        return None
    ready = ImportIndex(*found)
    return ready if _is_whole(ready) else None


def _is_whole(ready: ImportIndex) -> bool:
    python = {path for path in ready.blobs if path.endswith(".py")}
    texts = (ready.blobs, ready.modules, ready.errors)
    return (
        python == ready.modules.keys() == ready.links.keys()
        and python >= ready.errors.keys() | ready.asks.keys()
        and all(set(map(type, some.values())) <= {str} for some in texts)
        and all(type(count) is int and count >= 0 for count in ready.asked.values())
        and all(_are_names(names, ready.asked) for names in ready.asks.values())
        and _are_links(ready.links.values())
    )


def _are_names(names: Any, asked: Mapping[str, int]) -> bool:
    return type(names) is list and all(type(name) is str and name in asked for name in names)


def _are_links(some: Iterable[Any]) -> bool:
    """Lists of (target, line, method, confidence), over and over."""
    if not set(map(type, some)) <= {list} or any(len(flat) % 4 for flat in some):
        return False
    sorts = list(map(type, chain.from_iterable(some)))
    return set(sorts[0::4]) | set(sorts[2::4]) <= {str} and set(sorts[1::4]) | set(sorts[3::4]) <= {int}


def save_index(cache_dir: Path, key: str, ready: ImportIndex) -> None:
    """Keeps it for the next time. Names that are not UTF-8 can't be kept: then nothing is."""
    write_entry(cache_dir, _INDEX_KIND, key, ready.plain())


def changed_entries(ready: ImportIndex, entries: Sequence[FileEntry]) -> list[FileEntry] | None:
    """The Python files that are not as they were; None where the files are not the same ones."""
    if len(entries) != len(ready.blobs):
        return None
    found = []
    for entry in entries:
        blob = ready.blobs.get(entry.path)
        if blob is None:
            return None
        if blob != entry.blob and entry.path.endswith(".py"):
            found.append(entry)
    return found


def update_index(ready: ImportIndex, entries: Sequence[FileEntry], facts: _FactsByPath) -> bool:
    """Takes in the facts of changed files; False (and nothing is of use) where modules may now be called otherwise."""
    before = {name for name, count in ready.asked.items() if count}
    for path, one in facts.items():
        mine = imported_names({path: one})
        for name in ready.asks.pop(path, ()):
            ready.asked[name] -= 1
        ready.asks[path] = [name for name in ready.asked if name in mine]
        for name in ready.asks[path]:
            ready.asked[name] += 1
    if before != {name for name, count in ready.asked.items() if count}:
        return False
    known, files = ModuleIndex(ready.modules), paths_by_module(ready.modules)
    for path, one in facts.items():
        ready.errors.pop(path, None)
        if one["error"]:
            ready.errors[path] = one["error"]
        ready.links[path] = _links(path, one, known, files)
    ready.blobs.update((entry.path, entry.blob) for entry in entries)
    return True


def build_index(entries: Sequence[FileEntry], facts: _FactsByPath) -> ImportIndex:
    """From the facts of all Python files among the entries."""
    asked = QueriedNames(imported_names(facts))
    modules = module_names([entry.path for entry in entries], asked)
    asks = {
        path: [name for name in imported_names({path: one}) if name in asked.answers] for path, one in facts.items()
    }
    counts = Counter(name for names in asks.values() for name in names)
    known, files = ModuleIndex(modules), paths_by_module(modules)
    return ImportIndex(
        blobs={entry.path: entry.blob for entry in entries},
        modules=modules,
        errors={path: one["error"] for path, one in facts.items() if one["error"]},
        asked={name: counts[name] for name in asked.answers},
        asks={path: names for path, names in asks.items() if names},
        links={path: _links(path, one, known, files) for path, one in facts.items()},
    )


def paths_by_module(modules: Mapping[str, str]) -> dict[str, str]:
    """Dotted name → path."""
    return {dotted: path for path, dotted in modules.items()}


def _links(path: str, facts: Mapping[str, Any], known: ModuleIndex, files: Mapping[str, str]) -> list[Any]:
    flat: list[Any] = []
    for link in file_links(path, facts["imports"], known):
        target = link.target.partition(":")[2]
        if file_of(target, files) is not None:
            flat += (target, link.line, link.method, link.confidence)
    return flat


_RECENT_KIND: Final = "imports-1"
_ROW: Final = (str, str, int, int, str, str)
"""What stands in a row of imports, see `code.imports_found`."""
_FileFacts = Mapping[str, Any]
ImportReader = Callable[[Sequence[FileEntry]], Mapping[str, _FileFacts]]
"""Reads `error` and `imports` of files, by path; what can't be had is left out."""


def cached_imports(
    cache_dir: Path | None, key: str, entries: Sequence[FileEntry], read: ImportReader
) -> dict[str, _FileFacts]:
    """Path → `error` and `imports` of these files: those of the last time, where the content is the same, else read.

    `key`: as of the survey. Of what was kept only these files stay.
    """
    memory = read_entry(cache_dir, _RECENT_KIND, key) if cache_dir else None
    memory = memory if isinstance(memory, dict) else {}
    known = {entry.path: facts for entry in entries if (facts := _facts(memory.get(entry.path), entry.blob))}
    fresh = read([entry for entry in entries if entry.path not in known]) if len(known) < len(entries) else {}
    found = {**known, **fresh}
    if cache_dir and fresh:
        rows = {e.path: [e.blob, found[e.path]["error"], found[e.path]["imports"]] for e in entries if e.path in found}
        write_entry(cache_dir, _RECENT_KIND, key, rows)
    return found


def _facts(one: Any, blob: str) -> _FileFacts | None:
    """What was kept of a file; None where it is another content, or not as we leave it."""
    if type(one) is not list or len(one) != 3 or one[0] != blob or type(one[1]) is not str or type(one[2]) is not list:
        return None
    whole = all(type(row) is list and tuple(map(type, row)) == _ROW for row in one[2])
    return {"error": one[1], "imports": one[2]} if whole else None
