"""Docstrings that installed code reads: `inspect.getdoc`, a case of unittest that describes itself,
a server that offers functions as its tools.

No event shows that an attribute is read. So the functions that ask something for `__doc__`, as
their bytecode shows, are watched, and each call of one notes whose docstring it may read: that of
what it is called with.
"""

# Tests may have replaced `os` when a Path would be made.
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from inspect import CO_OPTIMIZED
from os.path import dirname, join
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from pytest_kl.contents import PLAIN, classes_of, identity, module_namespace, namespace_of
from pytest_kl.operations import loads_attribute
from pytest_kl.reads import EVERYTHING, file_of

_DOC: Final = "__doc__"
_STANDARD_READERS: Final = ("cmd", "doctest", "inspect", "pydoc", "unittest.case")
"""Modules of the standard library that do something with a docstring. What others read they copy to
another object (`functools`, `contextlib`).
"""
_CONTAINERS: Final = (tuple, list, set, frozenset)
_MOST_PARTS: Final = 20
"""Of a container: of a larger one it is not looked whose docstrings may be read."""


class Docstrings:
    """Knows which code reads docstrings, and of whom.

    `path_of`: the path from the top of the repository of a file that is part of it.
    """

    def __init__(self, path_of: Callable[[str], str | None]) -> None:
        self._path_of = path_of
        self._loaded = sys.modules
        library = dirname(os.__file__)
        self._readers = {join(library, *name.split(".")) + ".py" for name in _STANDARD_READERS}
        self._library = library + os.sep
        self._packages = (join(library, "site-packages"), join(library, "dist-packages"))
        self._pytest = dirname(sys.modules["_pytest"].__file__ or "") + os.sep

    def readers(self, module: CodeType) -> list[CodeType]:
        """The functions in the code of a module that is not of the repository."""
        if not self._may_read(module.co_filename):
            return []
        return [
            code
            for code in _inner(module)
            if code.co_flags & CO_OPTIMIZED and loads_attribute(code, _DOC)
        ]

    def loaded_readers(self) -> Iterator[CodeType]:
        """Those of the modules that are loaded already."""
        for module in [*self._loaded.values()]:
            file = file_of(module)
            if file is None or not self._may_read(file) or self._path_of(file):
                continue
            for function in _functions(module_namespace(module), file):
                yield from self.readers(function.__code__)

    def _may_read(self, file: str) -> bool:
        """Whether a file that is not of the repository is asked for readers: not pytest's own, by
        which it shows what it collects.
        """
        if file.startswith(self._library) and not file.startswith(self._packages):
            return file in self._readers
        return not file.startswith(self._pytest)

    def owners(self, frame: FrameType) -> set[str]:
        """The files in which the docstrings are that a call of a reader may read; `EVERYTHING`
        where what it is called with does not lead to them. Empty where code of the repository did
        not call it, directly or through others.
        """
        if not self._is_for_repository(frame):
            return set()
        code = frame.f_code
        number = code.co_argcount + code.co_kwonlyargcount
        variables = frame.f_locals
        arguments = [variables[name] for name in code.co_varnames[:number] if name in variables]
        files = set[str]()
        is_known = True
        for argument in arguments:
            found = self._files(argument)
            is_known &= found is not None
            files.update(found or ())
        if files or is_known:
            return files
        return {EVERYTHING}

    def _is_for_repository(self, frame: FrameType | None) -> bool:
        while frame is not None:
            file = frame.f_code.co_filename
            if self._path_of(file):
                return True
            # it makes the cases of unittest itself
            if file.startswith(self._pytest):
                return False
            frame = frame.f_back
        return False

    def _files(self, value: Any) -> set[str] | None:
        """The files of the repository that define a function or a class, its bases or those of the
        class of an object; None where the object may lead to others.
        """
        if type(value) is MethodType:
            value = value.__func__
        kind = type(value)
        if kind in PLAIN:
            return set()
        if kind is FunctionType:
            return self._of_file(value.__code__.co_filename)
        if issubclass(kind, ModuleType):
            return self._of_file(file_of(value))
        if kind in _CONTAINERS and len(value) <= _MOST_PARTS:
            parts = [self._files(part) for part in value if type(part) not in _CONTAINERS]
            if None in parts or len(parts) < len(value):
                return None
            return set().union(*(part or () for part in parts))
        is_class = issubclass(kind, type)
        classes = classes_of(value if is_class else kind)
        files = set[str]().union(*map(self._of_class, classes))
        if files or is_class:
            return files
        return None

    def _of_class(self, kind: type) -> set[str]:
        name = namespace_of(kind).get("__module__")
        module = self._loaded.get(name) if type(name) is str else None
        return self._of_file(file_of(module))

    def _of_file(self, file: str | None) -> set[str]:
        path = self._path_of(file) if file else None
        return {path} if path else set()


def _functions(module: Mapping[str, Any], file: str) -> Iterator[FunctionType]:
    """Those that a module and its classes define in their file."""
    name = module.get("__name__")
    namespaces = [module]
    seen = set[int]()
    for namespace in namespaces:
        for value in [*namespace.values()]:
            kind = type(value)
            if kind is classmethod or kind is staticmethod:
                value = value.__func__
                kind = type(value)
            if kind is FunctionType and value.__code__.co_filename == file:
                yield value
            elif issubclass(kind, type) and identity(value) not in seen:
                seen.add(identity(value))
                members = namespace_of(value)
                if members.get("__module__") == name:
                    namespaces.append(members)


def _inner(code: CodeType) -> Iterable[CodeType]:
    """A code object and all that are defined in it."""
    codes = [code]
    for outer in codes:
        codes += [constant for constant in outer.co_consts if type(constant) is CodeType]
    return codes
