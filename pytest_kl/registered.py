"""What the interpreter registers for classes in C, so that no name and no attribute shows it: the
subclasses of a class (`__subclasses__()`), and what is registered of an abstract one
(`abc.ABCMeta.register`).

Runs no code of the program, and keeps no class alive.
"""

from __future__ import annotations

import abc
from abc import ABCMeta
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final
from weakref import ref

from kl_hooks.model.definitions import NamedTuple

_identity: Final = object.__hash__
"""`id` would raise an audit event for each class."""
_subclasses_of: Final = type.__subclasses__
_token: Final[Callable[[], object]] = abc.get_cache_token
_dump_of: Final[Callable[[type], tuple[Any, ...]] | None] = getattr(abc, "_get_dump", None)
"""CPython's own, for its tests: what is registered of a class has no other reader."""


class _Classes:
    """Classes, as long as the program has them. A metaclass may have a hash of its own."""

    def __init__(self) -> None:
        self._references: dict[int, ref[type]] = {}

    def add(self, kind: type) -> bool:
        """Whether it is new."""
        key = _identity(kind)
        reference = self._references.get(key)
        if reference is not None and reference() is kind:
            return False
        self._references[key] = ref(kind)
        return True

    def __iter__(self) -> Iterator[type]:
        for reference in [*self._references.values()]:
            kind = reference()
            if kind is not None:
                yield kind


class Subclasses:
    """The classes that are made of some, at whatever place."""

    def __init__(self) -> None:
        self._roots = _Classes()
        self._new: list[ref[type]] = []
        """Those that are followed from the next moment on."""

    def add(self, classes: Iterable[type]) -> None:
        """Follow these, too, once `grow` was called."""
        self._new += map(ref, classes)

    def grow(self) -> bool:
        """Whether more are followed from now on."""
        new, self._new = self._new, []
        classes = [kind for reference in new if (kind := reference()) is not None]
        # all of them: `any` of a generator ends with the first
        return bool([kind for kind in classes if self._roots.add(kind)])

    def read(self) -> list[int]:
        """The identities of all classes that are made of them."""
        identities = set[int]()
        waiting = [*self._roots]
        while waiting:
            for subclass in _subclasses_of(waiting.pop()):
                if _identity(subclass) not in identities:
                    identities.add(_identity(subclass))
                    waiting.append(subclass)
        return sorted(identities)


class Registration(NamedTuple):
    """Classes are registered of an abstract one."""

    owner: type
    classes: list[type]


class Registrations:
    """What is registered of abstract classes. The interpreter counts registrations, so there is
    mostly nothing to compare.
    """

    def __init__(self) -> None:
        self._owners = _Classes()
        self._registered: dict[int, frozenset[int]] = {}
        """By the identity of the abstract class."""
        self._last = _token()

    def add(self, classes: Iterable[ABCMeta]) -> None:
        """Compare these, too, with this moment."""
        for kind in classes:
            if self._owners.add(kind):
                self._registered[_identity(kind)] = _identities(_registered_of(kind))

    def compare(self) -> Iterator[Registration]:
        """What was registered since the last time."""
        token = _token()
        if token == self._last:
            return
        self._last = token
        for owner in self._owners:
            classes = _registered_of(owner)
            before = self._registered[_identity(owner)]
            self._registered[_identity(owner)] = _identities(classes)
            new = [kind for kind in classes if _identity(kind) not in before]
            if new:
                yield Registration(owner, new)


def _registered_of(kind: type) -> list[type]:
    try:
        references = _dump_of(kind)[0] if _dump_of is not None else ()
    except AttributeError:  # made by `type.__new__`: nothing can be registered
        return []
    return [registered for reference in references if (registered := reference()) is not None]


def _identities(classes: Iterable[type]) -> frozenset[int]:
    return frozenset(map(_identity, classes))
