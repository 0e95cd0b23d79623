"""Which cases of a table are in the share that `make test` tries."""

from __future__ import annotations

import pytest

CONFTEST = """
from tests.shares import mark_sweep


def pytest_collection_modifyitems(items):
    mark_sweep(items)
"""
TABLE = """
import pytest


@pytest.mark.share({})
@pytest.mark.parametrize("color", ["red", "dark-blue", "green", "white"])
def test_color(color):
    pass


def test_alone():
    pass
"""
INI = "[pytest]\nmarkers =\n  share\n  sweep\n"


def tried(pytester: pytest.Pytester, arguments: str) -> list[str]:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_table=TABLE.format(arguments))
    pytester.makefile(".ini", pytest=INI)
    done = pytester.inline_run("-m", "not sweep", "-p", "no:cacheprovider")
    passed, _, failed = done.listoutcomes()
    assert not failed
    return [report.nodeid.partition("::")[2] for report in passed]


@pytest.mark.parametrize(
    ("arguments", "colors"),
    [
        ("2", ["red", "green"]),
        ('"green", "white"', ["green", "white"]),
        ('"blue"', ["dark-blue"]),
        ('"dark-blue"', ["dark-blue"]),
        ("", []),
    ],
)
def test_a_share_is_every_nth_case_or_those_that_are_named(
    pytester: pytest.Pytester, arguments: str, colors: list[str]
) -> None:
    assert tried(pytester, arguments) == [*(f"test_color[{one}]" for one in colors), "test_alone"]


def test_a_name_that_no_case_has_is_an_error(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_table=TABLE.format('"yellow"'))
    pytester.makefile(".ini", pytest=INI)
    done = pytester.inline_run("-p", "no:cacheprovider")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
