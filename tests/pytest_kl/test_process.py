"""What a test leaves changed in the whole process, and functions of the library at the end of a run."""

from __future__ import annotations

import abc
import asyncio
import builtins
import codecs
import collections.abc
import copyreg
import csv
import gc
import importlib
import logging
import mimetypes
import os
import re
import reprlib
import shutil
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest
from hypothesis.internal.conjecture import junkdrawer

from pytest_kl.original import original_functions
from pytest_kl.process import Difference, Process


class OwnLogger(logging.Logger):
    """A class of loggers."""


set_depth = sys.set_coroutine_origin_tracking_depth


def names(process: Process) -> set[tuple[str, bool]]:
    """(name, whether it is as before), of what differs."""
    return {(difference.name, difference.is_as_before) for difference in process.compare()}


@pytest.fixture
def own() -> Iterator[ModuleType]:
    """A module of the repository."""
    module = ModuleType("kl_test_of_process")
    module.__dict__.update({"LIMIT": 3, "time": time})
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


@pytest.fixture
def process(own: ModuleType) -> Process:
    """A process as the first test finds it."""
    process = Process(lambda value: value is own)
    process.begin()
    return process


def test_nothing_differs_where_nothing_was_changed(process: Process) -> None:
    assert names(process) == set()


def test_what_a_function_inside_another_one_computes_is_no_state(own: ModuleType) -> None:
    # hypothesis notes the time of each garbage collection
    junkdrawer.gc_cumulative_time()
    process = Process(lambda value: value is own)
    process.begin()
    gc.collect()
    assert names(process) == set()


def test_how_a_test_failed_is_no_state(own: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "last_type", ValueError, raising=False)
    process = Process(lambda value: value is own)
    process.begin()
    monkeypatch.setattr(sys, "last_type", TypeError)
    assert names(process) == set()


def test_how_often_caches_of_imports_were_dropped_is_no_state(own: ModuleType) -> None:
    own.__dict__["kind"] = importlib._bootstrap_external._NamespacePath  # type: ignore[attr-defined]
    process = Process(lambda value: value is own)
    process.begin()
    importlib.invalidate_caches()
    assert names(process) == set()


def test_what_is_replaced_in_a_library_and_put_back_differs_twice(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr("json.JSONEncoder.default", None)
    assert {("time.sleep", False)} <= names(process)
    monkeypatch.undo()
    assert ("time.sleep", True) in names(process)


def test_settings_of_the_library_are_compared(process: Process) -> None:
    before = csv.field_size_limit(5)
    try:
        assert names(process) == {("csv.field_size_limit", False)}
    finally:
        csv.field_size_limit(before)
    assert names(process) == {("csv.field_size_limit", True)}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("mimetypes.add_type", lambda: mimetypes.add_type("text/shop", ".kl-test")),
        (
            "xml.etree.ElementTree.register_namespace",
            lambda: ElementTree.register_namespace("shop", "urn:kl-test"),
        ),
        (
            "urllib.request.install_opener",
            lambda: urllib.request.install_opener(urllib.request.build_opener()),
        ),
        (
            "codecs.register_error",
            lambda: codecs.register_error("kl_test", codecs.ignore_errors),
        ),
        ("sys.set_coroutine_origin_tracking_depth", lambda: set_depth(2)),
        ("builtins.kl_test", lambda: setattr(builtins, "kl_test", 1)),
        ("tempfile.tempdir", lambda: setattr(tempfile, "tempdir", "/kl-test")),
    ],
)
def test_what_the_library_keeps_to_itself_is_compared(
    process: Process, monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[[], None]
) -> None:
    monkeypatch.setattr(mimetypes, "_db", mimetypes.MimeTypes())
    names(process)
    monkeypatch.setattr(ElementTree, "_namespace_map", ElementTree._namespace_map.copy())  # type: ignore[attr-defined]
    monkeypatch.setattr(urllib.request, "_opener", None)
    monkeypatch.setattr(tempfile, "tempdir", None)
    names(process)
    change()
    assert (name, False) in names(process)
    set_depth(0)
    vars(builtins).pop("kl_test", None)


def test_what_the_library_makes_when_it_is_asked_first_is_no_state(
    own: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mimetypes, "_db", None)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(asyncio.events, "_event_loop_policy", None)
    process = Process(lambda value: value is own)
    process.begin()
    mimetypes.guess_type("a.txt")
    tempfile.gettempdir()
    asyncio.events._init_event_loop_policy()  # type: ignore[attr-defined]
    assert names(process) == set()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("logging._levelToName", lambda: logging.addLevelName(35, "LOUD")),
        ("logging._loggerClass", lambda: logging.setLoggerClass(OwnLogger)),
        ("shutil._ARCHIVE_FORMATS", lambda: shutil.register_archive_format("kl", print)),
        ("reprlib.aRepr.maxstring", lambda: setattr(reprlib.aRepr, "maxstring", 90)),
    ],
)
def test_what_functions_of_the_library_set_is_compared(
    own: ModuleType, monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[[], None]
) -> None:
    own.__dict__.update({"logging": logging, "shutil": shutil, "reprlib": reprlib, "re": re})
    monkeypatch.setattr(logging, "_levelToName", dict(logging._levelToName))
    monkeypatch.setattr(logging, "_nameToLevel", dict(logging._nameToLevel))
    monkeypatch.setattr(logging, "_loggerClass", logging.Logger)
    monkeypatch.setattr(shutil, "_ARCHIVE_FORMATS", dict(vars(shutil)["_ARCHIVE_FORMATS"]))
    monkeypatch.setattr(reprlib.aRepr, "maxstring", 30)
    process = Process(lambda value: value is own)
    process.begin()
    re.compile("what the library [c]omputes")
    logging.getLogger("kl.test.of.process").debug("x")
    assert names(process) == set()
    change()
    assert (name, False) in names(process)
    assert names(process) == set()


def test_what_is_registered_of_an_abstract_class_is_compared(own: ModuleType) -> None:
    class Shape(abc.ABC):  # noqa: B024
        pass

    class Round:
        pass

    class Foreign:
        pass

    Shape.__module__ = Round.__module__ = own.__name__
    own.__dict__["Shape"] = Shape
    process = Process(lambda value: value is own)
    process.begin()
    collections.abc.Sized.register(Foreign)
    assert names(process) == set()
    Shape.register(Round)
    (difference,) = process.compare()
    assert difference == Difference(own, "Shape", is_as_before=False, is_inside=True)
    collections.abc.Sized.register(Round)
    assert names(process) == {("collections.abc.Sized.register", False)}
    assert names(process) == set()


def test_a_thread_that_goes_on_is_compared(process: Process) -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    assert names(process) == {("threading.Thread.start", False)}
    end.set()
    thread.join()
    assert names(process) == {("threading.Thread.start", True)}


def test_names_of_the_repository_are_compared_however_they_were_set(
    process: Process, own: ModuleType
) -> None:
    exec("LIMIT = 4\nextra = 1", vars(own))
    (limit,) = process.compare()
    assert limit.name == "LIMIT"
    assert limit.owner is own
    assert not limit.is_as_before


def test_a_stub_in_the_place_of_a_module_differs_and_an_import_does_not(
    process: Process, own: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "kl_test_new", ModuleType("kl_test_new"))
    assert names(process) == set()
    monkeypatch.setitem(sys.modules, "kl_test_stub", None)
    assert names(process) == {("sys.modules.kl_test_stub", False)}


def test_what_the_import_of_a_library_registers_does_not_differ(
    process: Process, own: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = ModuleType("kl_test_library")
    exec("class Money: ...\ndef reduce(money): ...", vars(library))
    monkeypatch.setitem(sys.modules, library.__name__, library)
    monkeypatch.setitem(copyreg.dispatch_table, library.Money, library.reduce)
    assert names(process) == set()
    # by a test, after the import
    monkeypatch.setitem(copyreg.dispatch_table, int, library.reduce)
    assert ("copyreg.dispatch_table", False) in names(process)


@pytest.fixture
def library(own: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """An installed module that the repository uses."""
    library = ModuleType("kl_test_library")
    library.__dict__.update({"_settings": {"mode": "plain"}, "_handlers": [], "_seen": set()})
    monkeypatch.setitem(sys.modules, library.__name__, library)
    own.__dict__["library"] = library
    return library


@pytest.fixture
def with_library(library: ModuleType, own: ModuleType) -> Process:
    process = Process(lambda value: value is own)
    process.begin()
    return process


def test_settings_and_registrations_that_an_installed_module_keeps_are_compared(
    with_library: Process, library: ModuleType
) -> None:
    library.__dict__["_settings"]["mode"] = "loud"
    assert names(with_library) == {("kl_test_library._settings", False)}
    library.__dict__["_settings"]["mode"] = "plain"
    assert names(with_library) == {("kl_test_library._settings", True)}
    library.__dict__["_handlers"].append(len)
    assert names(with_library) == {("kl_test_library._handlers", False)}
    library.__dict__["_handlers"].clear()
    assert names(with_library) == {("kl_test_library._handlers", True)}


def test_what_an_installed_module_computes_is_no_state_and_what_it_is_given_is(
    with_library: Process, library: ModuleType, own: ModuleType
) -> None:
    library.__dict__["_settings"]["/a"] = "computed"
    library.__dict__["_seen"].update(("a", "b"))
    assert names(with_library) == set()
    exec("def handle(): ...", vars(own))
    library.__dict__["_settings"]["/b"] = own.handle
    assert names(with_library) == {("kl_test_library._settings", False)}


def test_code_and_defaults_of_functions_are_compared(own: ModuleType) -> None:
    exec("def limit(number=3): return number\ndef other(): return 4\ndef lazy(): ...", vars(own))
    # a wrapper, whose code is made when it is called first
    own.lazy.__qualname__ = own.lazy.__name__ = "wrapped"
    process = Process(lambda value: value is own)
    process.begin()
    code, own.limit.__code__ = own.limit.__code__, own.other.__code__
    own.lazy.__code__ = own.other.__code__
    assert names(process) == {("kl_test_of_process.limit.__code__", False)}
    own.limit.__code__ = code
    assert names(process) == {("kl_test_of_process.limit.__code__", True)}
    own.limit.__defaults__ = (5,)
    assert names(process) == {("kl_test_of_process.limit.__code__", False)}


def test_bytes_and_members_of_enumerations_are_compared(own: ModuleType) -> None:
    exec("import enum\nDATA = bytearray(b'abc')\nclass Color(enum.Enum): RED = 1", vars(own))
    process = Process(lambda value: value is own)
    process.begin()
    memoryview(own.DATA)[0] = 120
    own.Color.RED.label = "x"
    changed = {("kl_test_of_process.DATA", False), ("kl_test_of_process.Color.RED", False)}
    assert names(process) == changed


def test_functions_are_what_they_were_and_then_what_was_left() -> None:
    original, read = os.listdir, os.read
    os.listdir = None  # type: ignore[assignment]
    del os.read
    try:
        with original_functions():
            assert os.listdir is original
            assert os.read is read
        assert os.listdir is None
        assert not hasattr(os, "read")
    finally:
        os.listdir, os.read = original, read


@pytest.mark.slow
def test_the_last_lines_agree_where_a_test_left_os_read_replaced(
    tmp_path: Path, home: Path
) -> None:
    from tests.pytest_kl.recorded import repository, run_pytest

    repository(tmp_path, {"test_a.py": "import os\ndef test_a(): os.read = None\n"})
    done = run_pytest(tmp_path)
    text = done.stdout + done.stderr
    assert "recorded as passed" in text
    assert "recording stopped" not in text
