"""Several processes give what one would; what kills one of them costs that one content and no other."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from kl_hooks.code import facts as facts_module
from kl_hooks.code.catch_up import catch_up
from kl_hooks.code.pool import scan_in_processes
from tests.code.making import graph_of, repository, workspace

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def squares(items: Sequence[int]) -> list[tuple[int, int]]:
    for item in items:
        if item in (41, 170):
            os.kill(os.getpid(), signal.SIGSEGV)
    return [(item, item * item) for item in items if item != 7]


def test_every_result_and_a_word_for_what_killed_its_process() -> None:
    found = dict(scan_in_processes(list(range(200)), squares, lambda item: (item, -1), count=2))
    assert found == {n: -1 if n in (41, 170) else n * n for n in range(200) if n != 7}


def test_an_error_of_the_scan_is_raised() -> None:
    def fails(items: Sequence[int]) -> list[int]:
        raise LookupError(items[0])

    with pytest.raises(LookupError):
        list(scan_in_processes([1, 2], fails, lambda item: item, count=2))


def test_a_graph_by_processes_equals_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"p/m{n}.py": f"from p.m{n - 1} import f as g\ndef f(x): return g(x) + {n}\n" for n in range(60)}
    ws = repository(tmp_path / "repo", {"p/__init__.py": "", **files})
    catch_up(ws)
    plain = graph_of(ws)
    monkeypatch.setattr(facts_module, "MANY", 10)
    monkeypatch.setattr("kl_hooks.code.pool.processes", lambda: 2)
    other = workspace(tmp_path / "repo", "elsewhere")
    assert catch_up(other).parsed == 61
    assert graph_of(other) == plain
