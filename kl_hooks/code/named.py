"""The facts of a content as those of a file: the same, under the name of its module, with its tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kl_hooks.code.parse import Facts, lost
from kl_hooks.code.remembered import Key
from kl_hooks.code.symbols import namespace_signature
from kl_hooks.code.tests_found import is_test_file, test_rows

UNNAMED: Final = "_"
"""The module that every content is scanned as: facts are remembered by content, and named afterwards."""


def under(facts: Facts, module: str, path: str) -> Facts:
    """The facts of a content as those of a file, with its tests (see `code.tests_found`) under the key `tests`."""
    return {**facts, **_renamed(facts, module, path)}


def _renamed(facts: Facts, module: str, path: str) -> Facts:
    """Of these only what differs from the facts of the content: `symbols` and `tests`."""
    symbols = []
    for identifier, line, end_line, signature, doc, content_hash in facts["symbols"]:
        prefix, _, name = identifier.partition(":")
        shown = namespace_signature(module) if prefix == "namespace" else signature
        identifier = f"{prefix}:{module}{name.removeprefix(UNNAMED)}"
        symbols.append([identifier, line, end_line, shown, doc, content_hash])
    tests = []
    if symbols and is_test_file(path) and facts["outline"]:
        tests = test_rows(path, symbols, facts["outline"].get("bases", {}))
    return {"symbols": symbols, "tests": tests}


class Named(Mapping[str, Facts]):
    """Path → facts as `under` gives them, made anew, and only as far as they are asked for, each time."""

    def __init__(self, facts: Mapping[Key, Facts], files: Mapping[str, tuple[Key, str]]) -> None:
        """`files`: path → its content and its module. What is not among the facts could not be had."""
        self._facts, self._files = facts, files

    def __getitem__(self, path: str) -> Facts:
        key, module = self._files[path]
        return _Under(self._facts.get(key) or lost(), module, path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


class _Under(dict[str, Any]):
    def __init__(self, facts: Facts, module: str, path: str) -> None:
        super().__init__()
        self._facts, self._module, self._path = facts, module, path

    def __missing__(self, part: str) -> Any:
        if part in ("symbols", "tests"):
            self.update(_renamed(self._facts, self._module, self._path))
        else:
            self[part] = self._facts[part]
        return self[part]
