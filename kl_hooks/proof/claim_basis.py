"""What a claim rests on, as the files are now: the symbols that it names and the tests that it
cites.

Recorded when somebody makes or confirms a claim; `proof.freshness` compares it with later contents.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.languages import scanners_of, source_suffixes
from kl_hooks.code.modules import ModuleIndex, module_names
from kl_hooks.code.query.session import SYMBOL_KINDS
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.git.files import FileEntry, worktree_files
from kl_hooks.git.objects import object_id
from kl_hooks.model.claim import Anchor, CitedTest, Claim
from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.symbol import FILE_SIGN, split_id
from kl_hooks.proof.collected_names import reported_names
from kl_hooks.proof.difference import symbols_of_content
from kl_hooks.proof.test_parts import TestSource
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.proof.facts import FileSymbols
    from kl_hooks.workspace import Workspace

_MOST: Final = 1000
"""Symbols that a claim rests on: those of a larger file are too many to name."""
_MOST_BYTES: Final = 4 * 1024 * 1024
_NAMES_IN_TEXT: Final = lazy_pattern(r"`([A-Za-z_][\w.:]*)(?:\(\))?`")


class DiskFiles:
    """The files that claims rest on, as they are on disk."""

    def __init__(self, ws: Workspace) -> None:
        """Without a repository nothing rests on anything."""
        self._ws = ws
        self._repo = ws.repo
        self.suffixes = source_suffixes(scanners_of(ws))
        """The ends of the names of files that are compared symbol by symbol, others as a whole."""

    def anchors(self, about: str, text: str) -> tuple[Anchor, ...]:
        """What a claim names, as it is now: of a class all its methods, of a file or module all
        that it defines.

        Empty where nothing of it is in the files here.
        """
        prefix, name = split_id(about)
        if self._repo is None:
            return ()
        if prefix == "file" and not name.endswith(self.suffixes):
            blob = self.blob(name)
            if not blob:
                return ()
            return (Anchor(name, "", blob),)
        anchors: dict[tuple[str, str], Anchor] = {}
        files: dict[str, FileSymbols] = {}
        for identifier in (about, *_NAMES_IN_TEXT.findall(text)):
            # a bare name in the text is looked for in the file that the claim is about
            is_bare = identifier != about and "." not in identifier
            own = {path for path, _ in anchors} if is_bare else ()
            for path, locals_ in (
                *_places(identifier, self._paths),
                *((path, _in_module(identifier)) for path in own),
            ):
                if path not in files:
                    files |= self.symbols([path])
                if path in files and (symbols := list(_inside(files[path], locals_))):
                    hashes = files[path].hashes
                    anchors |= {
                        (path, local): Anchor(path, local, hashes[local]) for local in symbols
                    }
                    break
        if len(anchors) <= _MOST:
            return tuple(anchors.values())
        return ()

    def cited_tests(self, cites: Collection[str]) -> tuple[CitedTest, ...]:
        """The tests among what an author cites, as they are now; those not there are omitted."""
        nodeids = [ref.removeprefix("test:") for ref in cites if ref.startswith("test:")]
        tests = (CitedTest(nodeid, self.tests.parts(nodeid)) for nodeid in nodeids)
        return tuple(test for test in tests if test.parts)

    @cached_property
    def _paths(self) -> list[str]:
        if not self._repo:
            return []
        return [entry.path for entry in worktree_files(self._repo, self.suffixes)]

    def read(self, path: str) -> bytes | None:
        """A file; None for none, or one that can't be read."""
        if self._repo is None:
            return None
        try:
            return read_small(self._repo.top / path, within=self._repo.top, most=_MOST_BYTES)
        except UsageProblem:
            return None

    def blob(self, path: str) -> str:
        """The blob ID of a file; empty for none."""
        content = self.read(path)
        if content is None:
            return ""
        return self._blob(content)

    def _blob(self, content: bytes) -> str:
        assert self._repo is not None, "without a repository no file was read"
        return object_id(self._repo.object_format, b"blob", content)

    def symbols(self, paths: Sequence[str]) -> dict[str, FileSymbols]:
        """Path → what the file defines; a file that is absent is omitted."""
        contents = {path: text for path in paths if (text := self.read(path)) is not None}
        entries = [FileEntry(path, self._blob(text), "100644") for path, text in contents.items()]
        return symbols_of_content(
            self._ws, entries, lambda wanted: ((entry, contents[entry.path]) for entry in wanted)
        )

    @cached_property
    def tests(self) -> TestSource:
        """The test files, and what tests consist of."""
        return TestSource(self.read, self._modules, self._reported)

    def _modules(self) -> ModuleIndex:
        return ModuleIndex(module_names(self._paths))

    def _reported(self, path: str) -> frozenset[str]:
        start = f"{path}::"
        with self._ws.store.reading() as db:
            if db:
                rows = db.rows(
                    "SELECT nodeid FROM test WHERE SUBSTR(nodeid, 1, ?) = ?", (len(start), start)
                )
            else:
                rows = []
        return reported_names(str(nodeid) for (nodeid,) in rows)


def basis_of_memory(ws: Workspace, about: Sequence[str], text: str) -> Mapping[str, Any]:
    """What a memory rests on, as it is now: the symbols and files that it is about or names in
    backticks, and the tests that it is about.
    """
    disk = DiskFiles(ws)
    cites = tuple(f"test:{name.removeprefix('test:')}" for name in about if "::" in name)
    subjects = [name for name in about if "::" not in name] or [""]
    anchors = dict.fromkeys(
        anchor for subject in subjects for anchor in disk.anchors(_node(subject), text)
    )
    head = worktree_state(ws.repo).head or ""
    tests = disk.cited_tests(cites)
    claim = Claim(text, "", "", "", rests_on=tuple(anchors), head=head, tests=tests)
    return claim.basis_to_dict() | {"support": [f"test:{test.nodeid}" for test in tests]}


def _node(subject: str) -> str:
    """A path as an ID."""
    if ":" in subject or not subject:
        return subject
    return f"file:{subject}"


def _places(identifier: str, paths: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The files that an ID may be of, the longest module first, and what it may be called in
    each.
    """
    prefix, name = split_id(identifier)
    if prefix in ("file", "test"):
        path, _, test = name.partition("::")
        own = test.partition("[")[0].replace("::", ".")
        yield path, _in_module(own) if own else _any_kind("_")
        return
    if FILE_SIGN in name:
        path, _, own = name.rpartition(FILE_SIGN)
        yield path, (f"{prefix}:_{FILE_SIGN}{own}",)
        return
    parts = name.split(".")
    modules = {
        path: "." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for path in paths
    }
    for number in range(len(parts), 0, -1):
        ending = "." + ".".join(parts[:number])
        own = ".".join(["_", *parts[number:]])
        locals_: tuple[str, ...] = ()
        if prefix in SYMBOL_KINDS:
            locals_ = (f"{prefix}:{own}",)
        elif not prefix:
            locals_ = _any_kind(own)
        yield from ((path, locals_) for path, module in modules.items() if module.endswith(ending))


def _in_module(own: str) -> tuple[str, ...]:
    """What a name of a module may be called, whatever the language."""
    return (*_any_kind(f"_.{own}"), *_any_kind(f"_{FILE_SIGN}{own}"))


def _any_kind(own: str) -> tuple[str, ...]:
    return tuple(f"{kind}:{own}" for kind in SYMBOL_KINDS)


def _inside(symbols: FileSymbols, locals_: Sequence[str]) -> Iterator[str]:
    """Those of these names that a file defines, with what is inside a class or a module."""
    for local in locals_:
        if local not in symbols.hashes:
            continue
        yield local
        kind, _, own = local.partition(":")
        if kind in ("type", "interface", "namespace"):
            # a field is part of the body that it is in
            inner = (
                name
                for name in symbols.hashes
                if name.partition(":")[2].startswith((f"{own}.", f"{own}{FILE_SIGN}"))
            )
            yield from (name for name in inner if not name.startswith("field:"))
