"""What an object holds, read so that two moments can be compared."""

from __future__ import annotations

import abc
import ctypes
import datetime
import decimal
import functools
import gc
import io
import logging
import re
import struct
import sys
import tempfile
import threading
import uuid
import weakref
import zoneinfo
from email.message import EmailMessage
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree.ElementTree import Element

import pytest

from kl_hooks.model.definitions import lazy_pattern
from pytest_kl.contents import Contents, Node
from pytest_kl.registered import Subclasses

TEXT = "one\ntwo\nthree\n"


class Link:
    """A node of a list."""

    def __init__(self, after: Link | None) -> None:
        self.after = after
        self.name = "x"


def own_classes(value: Any) -> bool:
    """As a repository with this file."""
    return getattr(value, "__module__", "") == __name__


@pytest.fixture
def contents() -> Contents:
    """The classes of this file are the repository's."""
    return Contents(own_classes)


def noted(contents: Contents, value: object) -> Node:
    """What an object holds at this moment."""
    node = contents.node(value)
    assert node is not None
    return node


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """A file of three lines."""
    path = tmp_path / "lines.txt"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize(
    "reads",
    [
        lambda file: file.readline(),
        lambda file: file.read(1),
        lambda file: file.seek(4),
    ],
)
@pytest.mark.parametrize("options", [("r",), ("rb",), ("rb", 0)])
def test_an_open_file_is_another_one_where_it_was_read(
    contents: Contents, lines: Path, reads: Any, options: Any
) -> None:
    with lines.open(*options) as file:
        file.readline()
        node = noted(contents, file)
        assert contents.is_same(file, node)
        reads(file)
        assert not contents.is_same(file, node) or file.tell() == 4
        file.seek(4)
        assert contents.is_same(file, node)


@pytest.mark.parametrize("options", ["w+", "w+b", "r+", "a+"])
def test_to_compare_an_open_file_writes_nothing_to_it(
    contents: Contents, lines: Path, options: str
) -> None:
    with lines.open(options) as file:
        size = lines.stat().st_size
        file.write(b"x" if "b" in options else "x")
        node = noted(contents, file)
        assert not contents.is_same(file, node)
        assert lines.stat().st_size == size


@pytest.mark.parametrize("options", [("w+",), ("w+b",), ("w+b", 0)])
def test_an_open_file_is_another_one_where_it_was_written(contents: Contents, options: Any) -> None:
    with tempfile.TemporaryFile(*options) as file:
        node = noted(contents, file)
        file.write("x" if options == ("w+",) else b"x")
        assert not contents.is_same(file, node)
        after = noted(contents, file)
        file.seek(0)
        assert not contents.is_same(file, after)
        file.write("y" if options == ("w+",) else b"y")
        assert not contents.is_same(file, after)


def test_a_file_in_an_object_of_the_library_is_followed(contents: Contents) -> None:
    with tempfile.NamedTemporaryFile("w+") as file, tempfile.SpooledTemporaryFile(9, "w+") as other:
        nodes = noted(contents, file), noted(contents, other)
        file.write("x")
        other.write("x")
        assert not contents.is_same(file, nodes[0])
        assert not contents.is_same(other, nodes[1])


def test_what_cannot_be_asked_for_its_place(contents: Contents, lines: Path) -> None:
    with lines.open() as file:
        next(file)  # no place can be asked for now
        node = noted(contents, file)
        assert not contents.is_same(file, node)
        assert contents.is_opaque(node)
    assert contents.parts(file) == []
    with lines.open("w") as file:
        assert contents.parts(file) == []  # who reads it opens it by its name
    assert contents.parts(sys.stdout) in (None, [])


def test_a_file_that_a_program_made_up_is_never_what_it_was(contents: Contents) -> None:
    class Raw(io.RawIOBase):
        def seekable(self) -> bool:
            raise AssertionError("code of the program runs")

        def readable(self) -> bool:
            return True

    file = io.BufferedReader(Raw())
    assert contents.is_opaque(noted(contents, file))


def test_a_short_list_of_nodes_is_followed_to_its_end(contents: Contents) -> None:
    last = Link(None)
    head: Link = last
    for _ in range(12):
        head = Link(head)
    node = noted(contents, head)
    assert not node.is_cut
    last.after = Link(None)
    assert not contents.is_same(head, node)


def test_what_is_deep_inside_is_known_by_the_names_that_differ(contents: Contents) -> None:
    last = Link(None)
    head: Link = last
    for _ in range(200):
        head = Link(head)
    node, inside = noted(contents, head), contents.inside(head)
    assert node.is_cut
    assert len(inside) == 201
    assert contents.names_inside(head, inside) == set()
    last.name = "y"
    assert contents.is_same(head, node)
    assert contents.names_inside(head, inside) == {"name"}
    last.after = Link(None)
    assert contents.names_inside(head, inside) == {"after", "name"}
    for _ in range(1_000):
        head = Link(head)
    assert contents.inside(head) == {}


def test_items_deep_inside_have_no_name(contents: Contents) -> None:
    inner: list[object] = [Link(None)]
    value = [[[[[inner]]]], [Link(None) for _ in range(60)]]
    inside = contents.inside(value)
    assert contents.names_inside(value, inside) == set()
    inner.append(1)
    assert contents.names_inside(value, inside) == {""}


def test_classes_that_are_made_of_one_are_read_where_they_are() -> None:
    class Base:
        pass

    class First:
        pass

    subclasses = Subclasses()
    subclasses.add([First, Base])
    assert subclasses.read() == []
    assert subclasses.grow()
    assert not subclasses.grow()
    module = ModuleType("kl_test_of_subclasses")
    exec("class Inner(Base): pass\nclass Further(Inner): pass", {"Base": Base, **vars(module)})
    assert len(subclasses.read()) == 2
    assert subclasses.read() == subclasses.read()


def test_an_expression_that_compiles_itself_is_the_same_then() -> None:
    contents = Contents(lambda value: getattr(value, "__module__", "").startswith("kl_hooks."))
    pattern = lazy_pattern("a+")
    holder = [pattern]
    node = noted(contents, holder)
    assert pattern.fullmatch("aa")
    assert contents.is_same(holder, node)
    holder.append(pattern)
    assert not contents.is_same(holder, node)


class Shape(abc.ABC):
    """A class whose metaclass has state in C."""

    log = logging.getLogger("shape")

    @abc.abstractmethod
    def area(self) -> int:
        """Nothing yet."""


CONSTANTS: dict[str, Any] = {
    "an expression": re.compile("a"),
    "a match": re.match("a", "a"),
    "a moment": datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
    "a zone": zoneinfo.ZoneInfo("UTC"),
    "a number": decimal.Decimal(1),
    "an identifier": uuid.UUID(int=1),
    "a lock": threading.RLock(),
    "a structure": struct.Struct("i"),
    "an error of the system": OSError(2, "none"),
    "a key": functools.cmp_to_key(max),
    "an abstract class": Shape,
    "a logger": logging.getLogger("shape"),
    "read-only memory": memoryview(bytes(2_000_000)),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_what_nobody_stores_in_stays_as_it_is(contents: Contents, name: str) -> None:
    value = CONSTANTS[name]
    node = contents.node(value)
    logging.getLogger("shape").isEnabledFor(10)
    assert node is None or contents.is_same(value, node)


STORES: dict[str, tuple[Any, Any]] = {
    "an element": (Element("a"), lambda value: value.set("x", "1")),
    "a number of C": (ctypes.c_int(), lambda value: setattr(value, "value", 1)),
    "a view": (memoryview(bytearray(3)), lambda value: value.__setitem__(0, 1)),
    "a lock": (threading.RLock(), lambda value: value.acquire()),
    "a level": (logging.getLogger("level"), lambda value: value.setLevel(10)),
    "a header": (EmailMessage(), lambda value: value.add_header("X", "1")),
}


@pytest.mark.parametrize("name", STORES)
def test_what_is_stored_in_objects_of_c_and_of_the_library_is_seen(
    contents: Contents, name: str
) -> None:
    value, store = STORES[name]
    node = noted(contents, value)
    store(value)
    assert not contents.is_same(value, node)


def test_what_a_reference_leads_to_is_seen(contents: Contents) -> None:
    link = Link(None)
    reference = weakref.ref(link)
    node = noted(contents, reference)
    assert contents.is_same(reference, node)
    link.name = "y"
    assert not contents.is_same(reference, node)


def test_what_a_reference_leads_to_lives_no_longer(contents: Contents) -> None:
    def local() -> None: ...

    reference = weakref.ref(local)
    node = noted(contents, [reference])
    del local
    gc.collect()
    assert reference() is None
    assert not contents.is_same([reference], node)
