"""`kl proof tests · symbols · impacted · why · flaky`: what recorded runs prove of symbols and show of tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from kl_hooks.cli.evidence import all_evidence
from kl_hooks.cli.options import format_option, top_option
from kl_hooks.cli.output import counted, echo_lines, initialized_workspace, print_answer, print_list, short
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.flaky import flaky_tests
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import name_list, one_line
from kl_hooks.proof.failures import TestRecord, history_lines, record_of_test, record_to_dict

if TYPE_CHECKING:
    from kl_hooks.proof.impact import Runs, SymbolTest

_CHANGED = 5
"""Symbols that are named of those that changed."""
_RESULTS = 10
"""Results of a test that are listed; JSON has all."""


@click.group()
def proof() -> None:
    """What recorded runs prove of tests and symbols."""


@proof.command(epilog="Example: kl proof tests shop.cart.total")
@click.argument("symbol", metavar="ID")
@top_option(50)
@format_option()
def tests(symbol: str, limit: int, shape: str) -> None:
    """List the tests that executed a symbol: when, with which result, and whether that is valid for this content.

    ID is a symbol (function:shop.cart.total), its name or the end of it, a name that a module has from another
    (shop.total), or a file.
    """
    from kl_hooks.proof.impact import tests_of

    with _runs() as runs:
        try:
            found = tests_of(runs, symbol)
        except UsageProblem:
            definition = _definition(symbol)
            if definition is None:
                raise
            found = tests_of(runs, definition)
    shown = found[:limit]
    plain = {"schema": "kl.proof.tests/1", "tests": [one.to_dict() for one in shown], "total": len(found)}
    print_list(shape, plain, map(_test_line, shown), len(found), "no recorded test executed it.")


def _definition(name: str) -> str | None:
    """The ID of what a module hands on under this name: `click.echo` is defined in `click.utils`."""
    from kl_hooks.code.query.lookup import reexported_symbol
    from kl_hooks.code.query.session import open_graph

    with open_graph(initialized_workspace()) as graph:
        found = reexported_symbol(graph, split_id(name)[1])
    return found.id if found else None


def _test_line(one: SymbolTest) -> str:
    age = f", {counted(one.commits, 'commit')} ago" if one.commits else ""
    more = f"{age}{f', in {one.runs} runs' if one.runs > 1 else ''}{f', {one.flaky}' if one.flaky else ''}"
    when = f"{one.ended[:16].replace('T', ' ')}  run {short(one.run, 8)}"
    return f"{one.outcome:<8} {when}  {one.test}  {one.state}{f': {one.reason}' if one.reason else ''}{more}"


@proof.command(epilog="Example: kl proof symbols test_basket.py::test_total")
@click.argument("test")
@format_option()
def symbols(test: str, shape: str) -> None:
    """List what TEST executed in its newest recorded run, by the phase in which it ran first.

    TEST is a node ID, or the end of one.
    """
    from kl_hooks.proof.impact import symbols_of

    with _runs() as runs:
        name, part, rows = symbols_of(runs, test)
    verdict = part.verdicts.get(name)
    plain = {
        "schema": "kl.proof.symbols/1", "test": name, "run": part.original.receipt.run,
        "state": verdict.state if verdict else "not assessed", "reason": verdict.reason if verdict else "",
        "symbols": [one._asdict() for one in rows], "total": len(rows),
    }  # fmt: skip
    head = f"{name}: run {short(part.original.receipt.run, 8)}, {plain['state']}"
    lines = [head + (f" ({plain['reason']})" if plain["reason"] else "")]
    print_answer(shape, plain, [*lines, *(f"  {one.phase:<9} {one.symbol}  {one.path}" for one in rows)])


@proof.command(epilog="Example: pytest $(kl proof impacted --format pytest)")
@click.option("--changed", metavar="A...B", default="", help="Those that the change between two commits reaches.")
@click.option("--staged", is_flag=True, help="Those that must run to prove what is staged.")
@format_option("pytest")
def impacted(changed: str, staged: bool, shape: str) -> None:
    """List the tests that must run to know how they end on this content, and why each.

    All others have a valid result of an earlier run: they executed nothing that differs. A test that was
    never recorded, or of which that is unknown, is always listed. `--format pytest` prints IDs for pytest.
    """
    from kl_hooks.proof.impact import content_of, impacted_answer

    if changed and staged:
        raise click.UsageError("--changed and --staged name different contents. Give one.")
    ws = initialized_workspace()
    content = content_of(ws, staged=staged, changed=changed)
    with all_evidence(ws) as seen:
        plain = {"schema": "kl.proof.impacted/1", **impacted_answer(ws, seen, content, bool(changed))}
    if shape == "pytest":
        echo_lines(plain["arguments"])
        return
    end = f"{counted(plain['total'], 'test')} to run; the results of {plain['settled']} others are valid"
    print_answer(shape, plain, [*(f"{one['test']}: {one['reason']}" for one in plain["tests"]), end])


@contextmanager
def _runs() -> Iterator[Runs]:
    """The recorded runs, as far as they speak about the files as they are now."""
    from kl_hooks.proof.impact import Runs, content_of

    ws = initialized_workspace()
    with all_evidence(ws) as seen:
        yield Runs(ws, seen, content_of(ws))


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
        if found.suspects and found.passed_before:
            names = name_list([split_id(one)[1] for one in found.suspects], _CHANGED)
            yield f"changed   {names}, since it passed in run {found.passed_before.run}"
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
    with ws.store.reading() as db:
        found = flaky_tests(ws, db)
    plain = {"schema": "kl.proof.flaky/1", "tests": [one.to_dict() for one in found[:limit]], "total": len(found)}
    none = "no flaky tests in the recorded runs."
    lines = (f"{one.test}: {one.rate}; runs {one.failed.run} failed, {one.passed.run} passed" for one in found[:limit])
    print_list(shape, plain, lines, len(found), none)
