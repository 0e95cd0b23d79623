"""Whether an import would be circular: asked of the few modules that a way out may lead through."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final

from kl_hooks.arch.edges import TYPE_CHECKING_METHOD, file_of
from kl_hooks.model.ids import split
from kl_hooks.model.symbol import Link

if TYPE_CHECKING:
    from kl_hooks.arch.ready import Ready

_MOST_WALKS: Final = 30
"""Times that all imports from a module on are followed; whoever asks more often hears that they may be circular."""


class Circles:
    """Knows who imports whom, directly or through others; imports inside functions count."""

    def __init__(self, ready: Ready | None, links: Callable[[], Iterable[Link]], modules: Mapping[str, str]) -> None:
        """`ready`: all imports, or None: then those that `links` gives. `modules`: path → dotted name."""
        self._ready, self._links, self._modules = ready, links, modules
        self._walks: dict[tuple[str, str], set[str]] = {}

    def closes(self, path: str, importer: str) -> bool:
        """True if the file `path`, imported by the file `importer`, would import that again, or may."""
        key = (path, importer.rpartition("/")[0])
        if key not in self._walks:
            if len(self._walks) >= _MOST_WALKS:
                return True
            self._walks[key] = self._from(path, set(self._above(importer)))
        return importer in self._walks[key]

    def _from(self, start: str, running: set[str]) -> set[str]:
        """All files that are imported with this one. `running`: packages that are imported before it anyway."""
        seen, todo = {start}, [start]
        while todo:
            path = todo.pop()
            new = {*self._imported(path), *(one for one in self._above(path) if one not in running)} - seen
            seen |= new
            todo += new
        return seen

    def _imported(self, path: str) -> Iterator[str]:
        for target, method in self._ends(path):
            file = file_of(target, self._files) if method != TYPE_CHECKING_METHOD else None
            if file is not None:
                yield file

    def _ends(self, path: str) -> Iterable[tuple[str, str]]:
        """(module, manner) of the imports of a file."""
        if self._ready:
            flat = self._ready.links.get(path, [])
            return zip(flat[0::4], flat[2::4], strict=True)
        return ((split(link.target)[1], link.method) for link in self._given.get(path, ()))

    def _above(self, path: str) -> Iterator[str]:
        """The `__init__.py` files of the packages that a file is in, as they lie."""
        while path := path.rpartition("/")[0]:
            init = f"{path}/__init__.py"
            if init in self._modules:
                yield init

    @cached_property
    def _files(self) -> dict[str, str]:
        return {dotted: path for path, dotted in self._modules.items()}

    @cached_property
    def _given(self) -> Mapping[str, list[Link]]:
        found: dict[str, list[Link]] = defaultdict(list)
        for link in self._links():
            found[link.path].append(link)
        return found
