"""What a test leaves changed in the whole process, and functions of the library at the end of a run."""

from __future__ import annotations

import copyreg
import csv
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from pytest_kl.original import original_functions
from pytest_kl.process import Process


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
