"""Executed symbols beside what others have in the same process: coverage, debuggers, reruns, random
order, asyncio.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from .recorded import HERE, only, repository, run_pytest
from .test_symbols import clear, executed

pytest.importorskip("pytest_cov")
pytest.importorskip("random_order")

SHOP = """
import asyncio
class Cart:
    def __init__(self):
        self.prices = []
    def add(self, price):
        self.prices.append(price)
        return self
    def total(self):
        return sum(self.each())
    def each(self):
        yield from self.prices
async def fetch():
    await asyncio.sleep(0)
    return Cart().add(1)
def once(seen=[]):
    seen.append(1)
    return len(seen)
"""
TESTS = """
import bdb
import pytest
import shop
@pytest.fixture
def anyio_backend():
    return "asyncio"
@pytest.fixture(scope="module")
def cart():
    return shop.Cart().add(2)
def test_total(cart):
    assert cart.total() == 2
@pytest.mark.parametrize("n", [1, 2])
def test_add(n):
    assert shop.Cart().add(n).prices == [n]
@pytest.mark.anyio
async def test_fetch():
    assert (await shop.fetch()).prices == [1]
def test_second_time(request):
    assert shop.once() % 2 == 0 or not request.config.getoption("reruns", None)
def test_debugged():
    class Quiet(bdb.Bdb):
        def user_line(self, frame):
            self.set_continue()
    assert Quiet().runcall(shop.Cart().add, 3).prices == [3]
"""
INTERPRETER = """
import sys
import pytest, shop
def test_before():
    assert shop.Cart().add(1).prices == [1]
def test_inside():
    found = pytest.importorskip("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
    number = found.create()
    assert not found.run_string(number, "import sys; sys.path.insert(0, '.'); import shop; shop.Cart().add(1)")
    found.destroy(number)
    assert shop.once()
"""
CROWD = """
import sys
sys.monitoring.use_tool_id(sys.monitoring.DEBUGGER_ID, "a debugger")
# its own events, of all code: what we disable must not be silent for it
events = sys.monitoring.events
SEEN = []
def started(code, at):
    SEEN.append((code.co_filename[-7:], code.co_name))
sys.monitoring.register_callback(0, events.PY_START, started)
sys.monitoring.set_events(0, events.PY_START)
def pytest_sessionfinish():
    sys.monitoring.set_events(0, 0)
    print("add was seen", SEEN.count(("shop.py", "add")))
"""


def sets(folder: Path) -> dict[str, set[str]]:
    found = executed(folder)
    return {
        test: {found.symbols[at].symbol for at in found.tests.indexes(test)} for test in found.tests
    }


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="recorded from CPython 3.12 on")
def test_neighbours_and_symbols_do_not_change_each_other(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r", {"shop.py": SHOP, "test_shop.py": TESTS, "crowd.py": CROWD})
    where = {"PYTHONPATH": f"{folder}{os.pathsep}{HERE}"}

    def run(*args: str, core: str = "", symbols: str = "on") -> dict[str, set[str]]:
        clear(folder)
        done = run_pytest(
            folder,
            f"--kl-symbols={symbols}",
            "-p",
            "anyio",
            *args,
            env=where | {"COVERAGE_CORE": core, "COVERAGE_FILE": str(tmp_path / "data")},
        )
        assert "6 passed" in done.stdout, done.stdout + done.stderr
        if "crowd" in args:
            assert "add was seen 5" in done.stdout, done.stdout
        assert only(folder).end["result"]["verdict"] == "passed"
        return sets(folder) if symbols == "on" else {}

    def lines(core: str, symbols: str) -> tuple[object, dict[str, set[str]]]:
        report = tmp_path / "report.json"
        found = run(
            "-p",
            "pytest_cov",
            "--cov=shop",
            f"--cov-report=json:{report}",
            core=core,
            symbols=symbols,
        )
        return {
            name: one["executed_lines"]
            for name, one in json.loads(report.read_text())["files"].items()
        }, found

    alone = run()
    assert alone["test_shop.py::test_fetch"] >= {"function:shop.fetch", "method:shop.Cart.add"}
    assert alone["test_shop.py::test_total"] >= {"method:shop.Cart.total", "method:shop.Cart.each"}
    assert all(
        "method:shop.Cart.add" in alone[f"test_shop.py::test_{one}"]
        for one in ("add[1]", "add[2]", "debugged")
    )
    measured, _ = lines("ctrace", "off")
    assert lines("ctrace", "on") == (measured, alone)
    assert lines("sysmon", "on") == (measured, alone)
    crowd = (
        "-p",
        "crowd",
        "-s",
        "--reruns=1",
        "-p",
        "random_order",
        "--random-order",
        "--random-order-seed=3",
    )
    assert run(*crowd) == alone


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="recorded from CPython 3.12 on")
def test_another_interpreter_of_the_process_is_not_seen_and_that_is_known(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r", {"shop.py": SHOP, "test_shop.py": INTERPRETER})
    done = run_pytest(folder, "--kl-symbols=on")
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    found = sets(folder)
    assert "method:shop.Cart.add" in found["test_shop.py::test_before"]
    assert "function:shop.once" in found["test_shop.py::test_inside"]
    why = "it may have used another interpreter of this process"
    assert executed(folder).incomplete == {"test_shop.py::test_inside": why}
