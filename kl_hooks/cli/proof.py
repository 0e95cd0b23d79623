"""`kl claim` and `kl proof`: what is claimed, and what recorded runs prove of symbols and show of
tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.evidence import all_evidence
from kl_hooks.cli.output import (
    counted,
    echo,
    echo_lines,
    format_option,
    initialized_workspace,
    path_from_root,
    print_answer,
    print_list,
    progress,
    short,
    top_option,
    warn,
    workspace,
)
from kl_hooks.cli.request_options import operation_command
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.flaky import flaky_tests
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.trust import origin_meaning
from kl_hooks.model.claim import DOUBTFUL, Claim, Tier, tier_words
from kl_hooks.model.symbol import ID_PREFIXES, RECORD_ID, full_record_id, split_id
from kl_hooks.model.text import name_list, one_line
from kl_hooks.operations import claims as operations
from kl_hooks.proof.failures import TestRecord, history_lines, record_of_test, record_to_dict
from kl_hooks.proof.test_names import TestNames

if TYPE_CHECKING:
    from kl_hooks.evidence.snapshot import Snapshot
    from kl_hooks.proof.audit import Audit
    from kl_hooks.proof.impact import Runs, SymbolTest
    from kl_hooks.workspace import Workspace


def _checked_id(given: str) -> str:
    """Return the ID that `--about` means: as given, or that of a file or test. UsageProblem for
    anything else.
    """
    prefix, name = split_id(given)
    if (prefix and name) or RECORD_ID.fullmatch(given):
        return given
    if RECORD_ID.fullmatch(full_record_id(given)):
        return full_record_id(given)
    path, colons, test = given.partition("::")
    if path and Path(path).exists():
        path = path_from_root(workspace().root, path)
        return f"test:{path}::{test}" if colons else f"file:{path}"
    if colons:
        hint = f"Did you mean {f'test:{given}'!r}?"
    else:
        hint = f"It begins with one of: {', '.join(f'{p}:' for p in ID_PREFIXES)}"
    raise UsageProblem(f"{given!r} is not an ID.", place="--about", hint=hint)


@click.group()
def claim() -> None:
    """Claims, their tier and the reasons."""


def _about_id(request: Any) -> Any:
    """A request about the ID that `--about` means."""
    return request._replace(about=_checked_id(request.about)) if request.about else request


@operation_command(operations.ADD, _about_id, group=claim)
def add(written: operations.Written, request: operations.AddRequest) -> None:
    """Print what was asserted, and what it can't be compared with."""
    from kl_hooks.code.query.session import SYMBOL_KINDS

    for made in written.claims:
        if not made.rests_on and split_id(made.about)[0] in ("file", "test", *SYMBOL_KINDS):
            warn(
                f"{made.about} is not in the files here: no change of code makes this claim stale."
            )
        for line in made.ended:
            warn(f"claim {made.id}: {line}.")
        rows = [f"claim {made.id}  {tier_words(made.tier.word, made.freshness)[0]}  {made.text}"]
        echo_lines([*rows, *_doubt_rows(made)])
    if not written.claims:  # what it rests on is hidden from whoever made it
        echo_lines([f"claim {written.id}"])


@operation_command(operations.LIST, _about_id, group=claim)
def list_(found: operations.ClaimList, request: operations.ListRequest) -> None:
    """Print claims."""
    none = (
        "no such claim. See: kl claim list"
        if request.about or request.tier
        else "no claim is stale."
        if request.stale
        else _NO_CLAIMS
    )
    _print_claims(found, none)


_NO_CLAIMS = "no claims yet. A passing test makes one: run pytest."


def _print_claims(found: operations.ClaimList, none: str) -> None:
    echo_lines(_claim_rows(found.claims.shown))
    if found.total > len(found.claims.shown):
        warn(f"these are the first {len(found.claims.shown)} of {found.total}; more with --top.")
    if not found.total:
        echo(none)


def _claim_rows(claims: Sequence[Claim]) -> list[str]:
    rows = []
    for claim in claims:
        words = tier_words(claim.tier.word, claim.freshness)
        status = words[0] if len(words) == 1 else f"{words[0]:<8}  {words[1]:<12}"
        rows.append(f"{claim.id}  {status}  {claim.text}")
        rows += _doubt_rows(claim)
        rows += [f"{'':<18}{line}" for line in claim.ended]
    return rows


def _doubt_rows(claim: Claim) -> list[str]:
    """Of an asserted claim that does not count as true: why, and what makes it current again."""
    doubtful = claim.freshness in DOUBTFUL and claim.author != "auto"
    return [f"{'':<18}{claim.reasons[-1]}"] if doubtful else []


@operation_command(operations.SEARCH, group=claim)
def search(found: operations.ClaimList, request: operations.SearchRequest) -> None:
    """Print the claims that match."""
    _print_claims(found, f"no matches for: {one_line(request.query)}")


@operation_command(operations.SHOW, group=claim)
def show(shown: operations.ShownClaim, request: operations.ClaimRequest) -> None:
    """Print a claim with every reason for its tier."""
    echo_lines(_reason_lines(shown.claim))


@operation_command(operations.CONFIRM, group=claim)
def confirm(shown: operations.ShownClaim, request: operations.ConfirmRequest) -> None:
    """Print what was confirmed."""
    echo_lines(_claim_rows([shown.claim]))


def _origin_lines(claim: Claim) -> Iterator[str]:
    """Where its evidence comes from: each origin once, with what that proves and what it does
    not.
    """
    for origin in dict.fromkeys(one.origin for one in claim.support if one.origin):
        meaning = origin_meaning(origin)
        kind, _, name = origin.partition("; ")[0].partition(":")
        key = f": {name}" if kind in ("ci", "signed") else ""
        why = f" ({reason})" if (reason := origin.partition("; ")[2]) else ""
        yield f"origin     {meaning.name}{key}{why}"
        yield f"           proves: {meaning.proves}"
        yield f"           does not prove: {meaning.not_proven}"


def _reason_lines(claim: Claim) -> list[str]:
    """The claim and the reasons for its tier, one line each."""
    lines = [f"claim      {claim.id}", f"text       {claim.text}", f"about      {claim.about}"]
    lines += [f"made by    {claim.author} on {claim.made_at}"]
    if claim.confirmed:
        lines.append(f"confirmed  by {claim.confirmed.author} on {claim.confirmed.at}")
    stale = claim.freshness in DOUBTFUL
    lines += (
        [f"status     {tier_words(claim.tier.word, claim.freshness)[0]}"]
        if stale
        else [f"tier       {claim.tier.word}"]
    )
    lines += [f"cites      {', '.join(claim.cites)}"] if claim.cites else []
    lines += [f"           {line}" for line in claim.ended]
    lines += [] if stale else [f"freshness  {claim.freshness}"]
    lines += [f"           {reason}" for reason in claim.reasons]
    for s in claim.support:
        weight = "hard" if s.observation.hard else f"not hard: {s.observation.why_not}"
        where = f"   tree {short(s.tree, 7)}" if s.tree else ""
        lines.append(
            f"{s.speaks:<10} {s.observation.kind} {s.outcome}, seen by"
            f" {s.observation.observer}{where}   {weight}"
        )
        if s.receipt:
            lines.append(
                f"           run {short(s.observation.run, 8)}, {s.observation.producer}, {s.at}"
            )
    lines += _origin_lines(claim)
    if claim.tier < Tier.VERIFIED:
        lines.append(
            "verified needs two executions: under another interpreter, or in another way (pytest -n"
            " 2, a random order)."
        )
    return lines


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
    """List the tests that executed a symbol: when, with which result, and whether that is valid for
    this content.

    ID is a symbol (function:shop.cart.total), its name or the end of it, a name that a module has
    from another (shop.total), or a file.
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
    plain = {
        "schema": "kl.proof.tests/1",
        "tests": [one.to_dict() for one in shown],
        "total": len(found),
    }
    print_list(shape, plain, map(_test_line, shown), len(found), "no recorded test executed it.")


def _definition(name: str) -> str | None:
    """The ID of what a module hands on under this name:

    `click.echo` is defined in `click.utils`.
    """
    from kl_hooks.code.query.lookup import reexported_symbol
    from kl_hooks.code.query.session import open_graph

    with open_graph(initialized_workspace()) as graph:
        found = reexported_symbol(graph, split_id(name)[1])
    return found.id if found else None


def _test_line(one: SymbolTest) -> str:
    age = f", {counted(one.commits, 'commit')} ago" if one.commits else ""
    more = f"{age}{f', in {one.runs} runs' if one.runs > 1 else ''}{f', {one.flaky}' if one.flaky else ''}"
    when = f"{one.ended[:16].replace('T', ' ')}  run {short(one.run, 8)}"
    return (
        f"{one.outcome:<8} {when}  {one.test} "
        f" {one.state}{f': {one.reason}' if one.reason else ''}{more}"
    )


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
        "schema": "kl.proof.symbols/1",
        "test": name,
        "run": part.original.receipt.run,
        "state": verdict.state if verdict else "not assessed",
        "reason": verdict.reason if verdict else "",
        "symbols": [one._asdict() for one in rows],
        "total": len(rows),
    }
    head = f"{name}: run {short(part.original.receipt.run, 8)}, {plain['state']}"
    lines = [head + (f" ({plain['reason']})" if plain["reason"] else "")]
    print_answer(
        shape, plain, [*lines, *(f"  {one.phase:<9} {one.symbol}  {one.path}" for one in rows)]
    )


@proof.command(epilog="Example: pytest $(kl proof impacted --format pytest)")
@click.option(
    "--changed",
    metavar="A...B",
    default="",
    help="Those that the change between two commits reaches.",
)
@click.option("--staged", is_flag=True, help="Those that must run to prove what is staged.")
@format_option("pytest")
def impacted(changed: str, staged: bool, shape: str) -> None:
    """List the tests that must run to know how they end on this content, and why each.

    All others have a valid result of an earlier run: they executed nothing that differs. A test
    that was never recorded, or of which that is unknown, is always listed. `--format pytest` prints
    IDs for pytest.
    """
    from kl_hooks.proof.impact import content_of, impacted_answer

    if changed and staged:
        raise click.UsageError("--changed and --staged name different contents. Give one.")
    ws = initialized_workspace()
    content = content_of(ws, staged=staged, changed=changed)
    with _all_evidence(ws) as seen:
        plain = {
            "schema": "kl.proof.impacted/1",
            **impacted_answer(ws, seen, content, bool(changed)),
        }
    if shape == "pytest":
        echo_lines(plain["arguments"])
        return
    others = (
        "1 other result is valid"
        if plain["settled"] == 1
        else f"the results of {plain['settled']} others are valid"
    )
    end = f"{counted(plain['total'], 'test')} to run; {others}"
    print_answer(
        shape, plain, [*(f"{one['test']}: {one['reason']}" for one in plain["tests"]), end]
    )


@contextmanager
def _runs() -> Iterator[Runs]:
    """The recorded runs, as far as they speak about the files as they are now."""
    from kl_hooks.proof.impact import Runs, content_of

    ws = initialized_workspace()
    with _all_evidence(ws) as seen:
        yield Runs(ws, seen, content_of(ws))


@contextmanager
def _all_evidence(ws: Workspace) -> Iterator[Snapshot]:
    """As `all_evidence`; what can't be read may have failed since, so it is named."""
    with all_evidence(ws) as seen:
        for gap in seen.gaps:
            warn(f"not in this answer: {gap}")
        yield seen


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
    yield from [f"before    called {name_list(found.names, _CHANGED)}"] if found.names else []
    failure = found.newest_failure
    if failure is None:
        yield f"failures  none in {counted(len(found.attempts), 'recorded run')}"
    else:
        detail = failure.result.detail
        yield f"failure   {one_line(str(detail.get('message') or 'no message'), 300)}"
        place = (
            f"{detail['path']}:{detail['line']}"
            if detail.get("path") and detail.get("line")
            else ""
        )
        where = ", at ".join(filter(None, (str(detail.get("frame") or ""), place)))
        yield from [f"raised    {where}"] if where else []
        if found.suspects and found.passed_before:
            names = name_list([split_id(one)[1] for one in found.suspects], _CHANGED)
            yield f"changed   {names}, since it passed in run {found.passed_before.run}"
        lines = history_lines(found.history) if found.history else ["no earlier failure like it"]
        yield from (f"{'' if at else 'earlier':<9} {line}" for at, line in enumerate(lines))
    if found.distributions:
        installed = [
            f"{Path(name).name} ({name})" if name.startswith("/") else f"{name} {version}"
            for name, version in found.distributions.items()
        ]
        yield f"imports   {name_list(installed, _CHANGED)}"
    for at, one in enumerate(found.attempts[:_RESULTS]):
        ended = one.receipt.ended[:16].replace("T", " ")
        content = f"tree {short(one.receipt.tree, 7)}{'+dirty' if one.receipt.dirty else ''}"
        name = f"  as {one.test}" if one.test != found.test else ""
        yield (
            f"{'' if at else 'runs':<9} {one.run}  {ended}  {one.result.outcome:<7} "
            f" {content}{name}"
        )
    if len(found.attempts) > _RESULTS:
        yield f"{'':<9} {len(found.attempts) - _RESULTS} more: --format json"


@proof.command(epilog="Example: kl proof flaky")
@top_option(20)
@format_option()
def flaky(limit: int, shape: str) -> None:
    """List the tests that failed and passed where nothing that they depend on differs, with two
    runs as witnesses.

    No test is run again for this: recorded runs are compared.
    """
    ws = initialized_workspace()
    sync_evidence(ws)
    with ws.store.reading() as db:
        found = flaky_tests(ws, db)
        names = TestNames(ws, db)
        now = {one.test: names.current(one.test) for one in found[:limit]}
    rows = [{**one.to_dict(), "now": now[one.test]} for one in found[:limit]]
    plain = {"schema": "kl.proof.flaky/2", "tests": rows, "total": len(found)}
    none = "no flaky tests in the recorded runs."
    lines = (
        f"{now[one.test]}: {one.rate}; runs {one.failed.run} failed, {one.passed.run} passed"
        f"{'' if now[one.test] == one.test else f', as {one.test}'}"
        for one in found[:limit]
    )
    print_list(shape, plain, lines, len(found), none)


@proof.command(epilog="Example: kl proof audit")
@top_option(50)
@format_option()
def audit(limit: int, shape: str) -> None:
    """List results that were called valid for a content on which the test then failed.

    Each recorded run is compared once with what earlier runs state of its tests. `--top` is the
    number of runs. A test that passes on the same content is flaky, and does not count; one that
    failed with few others counts once it has failed again.
    """
    from kl_hooks.proof.audit import audit as audit_runs

    ws = initialized_workspace()
    with progress("Comparing runs with earlier results"), _all_evidence(ws) as seen:
        answer = audit_runs(ws, seen, limit)
    plain = {"schema": "kl.proof.audit/1", **answer.to_dict()}
    print_answer(shape, plain, _audit_lines(answer))


def _audit_lines(answer: Audit) -> Iterator[str]:
    if not answer.checked:
        yield "nothing to compare yet: no recorded run has tests that an earlier result was valid for."
        return
    low, high = answer.interval
    yield (
        f"{answer.wrong} of {counted(answer.checked, 'valid result')} wrong"
        f" ({answer.wrong / answer.checked:.2%}; 95 %: {low:.2%} to {high:.2%}), in"
        f" {counted(answer.runs, 'run')}"
    )
    for disagreement in answer.disagreements:
        yield (
            f"{disagreement.test}: {disagreement.outcome} in run {short(disagreement.run, 8)};"
            f" {disagreement.state}"
        )
        yield f"  was valid by run {short(disagreement.valid_by, 8)}: it executed nothing that differs"
        yield f"  changed: {name_list(disagreement.changed, _CHANGED)}"
        yield from (f"  {outcome}" for outcome in disagreement.again)
        if not disagreement.again:
            yield f"  hint: {'; '.join(disagreement.commands)}"
