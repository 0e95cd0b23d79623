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
from collections.abc import Callable, Iterator, Mapping
from inspect import CO_OPTIMIZED, CO_VARARGS, CO_VARKEYWORDS
from os.path import dirname, join
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from pytest_kl.contents import PLAIN, classes_of, identity, module_namespace, namespace_of
from pytest_kl.operations import loads_attribute
from pytest_kl.reads import EVERYTHING, file_of, inner_codes

_DOCS: Final = ("__doc__", "_testMethodDoc")
"""The attributes that have a docstring: a case of unittest takes that of its method when pytest
makes it, and `shortDescription` shows it later.
"""
_STANDARD_READERS: Final = ("cmd", "doctest", "inspect", "pdb", "pydoc", "unittest.case")
"""Modules of the standard library that show a docstring. What others read they copy to another
object (`functools`, `contextlib`).
"""
_MOST_WRAPPERS: Final = 20
"""So many functions around one are followed."""


class Docstrings:
    """Knows which code reads docstrings, and of whom.

    `path_of`: the path from the top of the repository of a file that is part of it.
    """

    def __init__(self, path_of: Callable[[str], str | None]) -> None:
        self._path_of = path_of
        self._loaded = sys.modules
        """Tests may replace it."""
        library = dirname(os.__file__)
        self._readers = {join(library, *name.split(".")) + ".py" for name in _STANDARD_READERS}
        """The files of `_STANDARD_READERS`."""
        self._library = library + os.sep
        """The folder of the standard library, …"""
        self._packages = (join(library, "site-packages"), join(library, "dist-packages"))
        """… and those in it where others are installed."""
        self._pytest = dirname(sys.modules["_pytest"].__file__ or "") + os.sep
        site = dirname(dirname(__file__))
        own = [join(site, package) + os.sep for package in ("pytest_kl", "kl_hooks")]
        self._recording = (self._pytest, *own)
        """Code there shows docstrings for no test."""

    def readers(self, code: CodeType) -> list[CodeType]:
        """The functions in code that is not of the repository: of a module, or of a function."""
        if not self._may_read(code.co_filename):
            return []
        return [
            inner
            for inner in inner_codes(code)
            if inner.co_flags & CO_OPTIMIZED and any(loads_attribute(inner, doc) for doc in _DOCS)
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
        which it shows what it collects, and not ours.
        """
        if file.startswith(self._library) and not file.startswith(self._packages):
            return file in self._readers
        return not file.startswith(self._recording)

    def files(self, frame: FrameType) -> set[str]:
        """The files in which the docstrings are that a call of a reader may read, with `EVERYTHING`
        where what it is called with may lead to others. Empty where code of the repository did not
        call it, directly or through others.
        """
        if not self._is_for_repository(frame):
            return set()
        code = frame.f_code
        variables = frame.f_locals
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        files: set[str] = set()
        # a function that is called with nothing of the kind has it from elsewhere: a registry
        is_everything_known = not (
            code.co_flags & (CO_VARARGS | CO_VARKEYWORDS) or code.co_freevars
        )
        has_documented = False
        for value in (variables[name] for name in names if name in variables):
            if type(value) not in PLAIN:
                files_of_value, is_known = self._files_of(value)
                files |= files_of_value
                is_everything_known = is_everything_known and is_known
                has_documented = True
        if not (is_everything_known and has_documented):
            files.add(EVERYTHING)
        return files

    def _is_for_repository(self, frame: FrameType | None) -> bool:
        """Whether code of the repository called it, or a thread that it may have started."""
        while frame is not None:
            file = frame.f_code.co_filename
            if self._path_of(file):
                return True
            # it makes the cases of unittest itself
            if file.startswith(self._pytest):
                return False
            frame = frame.f_back
        return True

    def _files_of(self, value: Any) -> tuple[set[str], bool]:
        """The files of the repository that define a function, a class with its bases, or the class
        of an object; and whether it surely leads to no other docstring.
        """
        kind = type(value)
        if kind is MethodType:
            return self._files_of(value.__func__)
        if kind is FunctionType:
            return self._files_of_function(value)
        if issubclass(kind, ModuleType):
            return self._of_file(file_of(value)), True
        is_class = issubclass(kind, type)
        classes = classes_of(value if is_class else kind)
        return set().union(*map(self._of_class, classes)), is_class

    def _files_of_function(self, function: FunctionType) -> tuple[set[str], bool]:
        """Those of a function, and of what it wraps (`functools.wraps`). A method without a docstring
        may have that of a class above (`inspect.getdoc`).
        """
        files: set[str] = set()
        has_own = function.__doc__ is not None
        wrapped: Any = function
        for _ in range(_MOST_WRAPPERS):
            if type(wrapped) is not FunctionType:
                break
            files |= self._of_file(wrapped.__code__.co_filename)
            wrapped = wrapped.__dict__.get("__wrapped__")
        return files, has_own and wrapped is None

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
            value = _unwrapped(value)
            kind = type(value)
            if kind is FunctionType and value.__code__.co_filename == file:
                yield value
            elif issubclass(kind, type) and identity(value) not in seen:
                seen.add(identity(value))
                members = namespace_of(value)
                if members.get("__module__") == name:
                    namespaces.append(members)


def _unwrapped(value: Any) -> Any:
    """The function in a member of a class, and in what `functools.wraps` made of it."""
    kind = type(value)
    if kind is classmethod or kind is staticmethod:
        value = value.__func__
    elif kind is property:
        value = value.fget
    if type(value) is FunctionType:
        return value.__dict__.get("__wrapped__", value)
    return value
