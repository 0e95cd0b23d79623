"""`kl proof why · flaky`: what recorded runs show of a test."""

from __future__ import annotations

from collections.abc import Iterator

import click

from kl_hooks.cli.options import format_option, top_option
from kl_hooks.cli.output import counted, initialized_workspace, print_answer, print_list, short
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.model.text import one_line
from kl_hooks.proof.failures import FlakyTest, TestRecord, flaky_tests, history_lines, record_of_test, record_to_dict

_RESULTS = 10
"""Results of a test that are listed; JSON has all."""


@click.group()
def proof() -> None:
    """What recorded runs prove of tests and symbols."""


@proof.command(epilog="Example: kl proof why test_basket.py::test_total")
@click.argument("test")
@format_option()
def why(test: str, shape: str) -> None:
    """Show why TEST failed the last time, how often it did so before, and what ended it.

    TEST is a node ID, or the end of one.
    """
    found = record_of_test(initialized_workspace(), test)
    print_answer(shape, record_to_dict(found), _record_lines(found))


def _record_lines(found: TestRecord) -> Iterator[str]:
    yield f"test      {found.test}"
    failure = found.newest_failure
    if failure is None:
        yield f"failures  none in {counted(len(found.attempts), 'recorded run')}"
    else:
        detail = failure.result.detail
        yield f"failure   {one_line(str(detail.get('message') or 'no message'), 300)}"
        place = f"{detail['path']}:{detail['line']}" if detail.get("path") and detail.get("line") else ""
        where = ", at ".join(filter(None, (str(detail.get("frame") or ""), place)))
        yield from [f"raised    {where}"] if where else []
        lines = history_lines(found.history) if found.history else ["no earlier failure like it"]
        yield from (f"{'' if at else 'earlier':<9} {line}" for at, line in enumerate(lines))
    for at, one in enumerate(found.attempts[:_RESULTS]):
        ended = one.receipt.ended[:16].replace("T", " ")
        content = f"tree {short(one.receipt.tree, 7)}{'+dirty' if one.receipt.dirty else ''}"
        yield f"{'' if at else 'runs':<9} {one.run}  {ended}  {one.result.outcome:<7}  {content}"
    if len(found.attempts) > _RESULTS:
        yield f"{'':<9} {len(found.attempts) - _RESULTS} more: --format json"


@proof.command(epilog="Example: kl proof flaky")
@top_option(20)
@format_option()
def flaky(limit: int, shape: str) -> None:
    """List the tests that failed and passed where nothing that they depend on differs, with two runs as witnesses.

    No test is run again for this: recorded runs are compared.
    """
    ws = initialized_workspace()
    sync_evidence(ws)
    found = flaky_tests(ws)
    plain = {"schema": "kl.proof.flaky/1", "tests": [one.to_dict() for one in found[:limit]], "total": len(found)}
    none = "no flaky tests in the recorded runs."
    print_list(shape, plain, (line for one in found[:limit] for line in _flaky_lines(one)), len(found), none)


def _flaky_lines(one: FlakyTest) -> Iterator[str]:
    low, high = one.interval
    rate = f"failed in {one.failures} of {one.runs} runs ({low:.0%} to {high:.0%})"
    yield f"{one.test}: {rate}; runs {one.failed.run} failed, {one.passed.run} passed"
