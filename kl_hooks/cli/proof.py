"""`kl claim` and `kl proof`: what is claimed, and what recorded runs prove of symbols and show of
tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.output import (
    counted,
    echo,
    echo_lines,
    path_from_root,
    short,
    warn,
    workspace,
)
from kl_hooks.cli.request_options import operation_command
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.executed import test_path
from kl_hooks.evidence.trust import origin_meaning
from kl_hooks.model.claim import DOUBTFUL, Claim, Tier, tier_words
from kl_hooks.model.package import WITHHELD
from kl_hooks.model.symbol import ID_PREFIXES, RECORD_ID, full_record_id, split_id
from kl_hooks.model.text import name_list, one_line
from kl_hooks.operations import claims
from kl_hooks.operations import proof as operations
from kl_hooks.operations.operation import Listing

if TYPE_CHECKING:
    from kl_hooks.proof.impact import SymbolTest
    from kl_hooks.proof.impacted import Impacted


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
        if colons:
            return f"test:{path}::{test}"
        return f"file:{path}"
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
    if not request.about:
        return request
    return request._replace(about=_checked_id(request.about))


@operation_command(claims.ADD, _about_id, group=claim)
def add(written: claims.Written, request: claims.AddRequest) -> None:
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


@operation_command(claims.LIST, _about_id, group=claim)
def list_(claim_list: claims.ClaimList, request: claims.ListRequest) -> None:
    """Print claims."""
    if request.about or request.tier:
        none = "no such claim. See: kl claim list"
    elif request.stale:
        none = "no claim is stale."
    else:
        none = _NO_CLAIMS
    _print_claims(claim_list, none)


_NO_CLAIMS = "no claims yet. A passing test makes one: run pytest."


def _print_claims(claim_list: claims.ClaimList, none: str) -> None:
    echo_lines(_claim_rows(claim_list.claims.shown))
    if claim_list.total > len(claim_list.claims.shown):
        warn(
            f"these are the first {len(claim_list.claims.shown)} of {claim_list.total}; more "
            "with --top."
        )
    if not claim_list.total:
        echo(none)


def _claim_rows(claims: Sequence[Claim]) -> list[str]:
    rows = []
    for claim in claims:
        words = tier_words(claim.tier.word, claim.freshness)
        if len(words) == 1:
            status = words[0]
        else:
            status = f"{words[0]:<8}  {words[1]:<12}"
        rows.append(f"{claim.id}  {status}  {claim.text}")
        rows += _doubt_rows(claim)
        rows += [f"{'':<18}{line}" for line in claim.ended]
    return rows


def _doubt_rows(claim: Claim) -> list[str]:
    """Of an asserted claim that does not count as true: why, and what makes it current again."""
    doubtful = claim.freshness in DOUBTFUL and claim.author != "auto"
    if not doubtful:
        return []
    return [f"{'':<18}{claim.reasons[-1]}"]


@operation_command(claims.SEARCH, group=claim)
def search(claim_list: claims.ClaimList, request: claims.SearchRequest) -> None:
    """Print the claims that match."""
    _print_claims(claim_list, f"no matches for: {one_line(request.query)}")


@operation_command(claims.SHOW, group=claim)
def show(shown: claims.ShownClaim, request: claims.ClaimRequest) -> None:
    """Print a claim."""
    print_claim(shown)


def print_claim(shown: claims.ShownClaim) -> None:
    """Print a claim with every reason for its tier."""
    echo_lines(_reason_lines(shown.claim))


@operation_command(claims.CONFIRM, group=claim)
def confirm(shown: claims.ShownClaim, request: claims.ConfirmRequest) -> None:
    """Print what was confirmed."""
    echo_lines(_claim_rows([shown.claim]))


def _origin_lines(claim: Claim) -> Iterator[str]:
    """Where its evidence comes from: each origin once, with what that proves and what it does
    not.
    """
    for origin in dict.fromkeys(one.origin for one in claim.support if one.origin):
        meaning = origin_meaning(origin)
        kind, _, name = origin.partition("; ")[0].partition(":")
        if kind in ("ci", "signed"):
            key = f": {name}"
        else:
            key = ""
        if reason := origin.partition("; ")[2]:
            why = f" ({reason})"
        else:
            why = ""
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
    if claim.cites:
        lines += [f"cites      {', '.join(claim.cites)}"]
    lines += [f"           {line}" for line in claim.ended]
    if not stale:
        lines += [f"freshness  {claim.freshness}"]
    lines += [f"           {reason}" for reason in claim.reasons]
    for s in claim.support:
        if s.observation.hard:
            weight = "hard"
        else:
            weight = f"not hard: {s.observation.why_not}"
        if s.tree:
            where = f"   tree {short(s.tree, 7)}"
        else:
            where = ""
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


def _print_rows(rows: Iterable[str], listing: Listing, none: str = "") -> None:
    """Print the rows of a list that is shown in part; `none` where there is nothing."""
    echo_lines(rows)
    _warn_of_more(listing)
    if none and not listing.total:
        echo(none)


def _warn_of_more(listing: Listing) -> None:
    if listing.total > len(listing.shown):
        warn(f"these are the first {len(listing.shown)} of {listing.total}; more with --top.")


@operation_command(operations.TESTS, group=proof)
def tests(executing: operations.ExecutingTests, request: operations.SymbolRequest) -> None:
    """Print the tests that executed a symbol."""
    if executing.is_executed:
        none = "no test that you may see executed it."
    elif executing.runs:
        none = ""
    else:
        none = _NOT_EXECUTED
    _print_rows((_test_line(test) for test in executing.tests.shown), executing.tests, none)
    echo_lines(_measured_lines(executing.runs))


_NOT_EXECUTED = "no recorded test executed it."


def _measured_lines(rows: Sequence[operations.MeasuredByRun]) -> Iterator[str]:
    for row in rows:
        when = row.shown.ended[:16].replace("T", " ")
        yield f"{split_id(row.symbol)[1]}: {row.shown.words()}; measured {when}"
    if any(row.shown.is_executed for row in rows):
        yield "Which test executed it is not known: such a report names none."


def _test_line(test: SymbolTest) -> str:
    if test.commits:
        age = f", {counted(test.commits, 'commit')} ago"
    else:
        age = ""
    runs = f", in {test.runs} runs" if test.runs > 1 else ""
    flaky = f", {test.flaky}" if test.flaky else ""
    reason = f": {test.reason}" if test.reason else ""
    when = f"{test.ended[:16].replace('T', ' ')}  run {short(test.run, 8)}"
    return f"{test.outcome:<8} {when}  {test.test}  {test.state}{reason}{age}{runs}{flaky}"


@operation_command(operations.SYMBOLS, group=proof)
def symbols(executed: operations.ExecutedSymbols, request: operations.TestRequest) -> None:
    """Print what a test executed."""
    if executed.reason:
        reason = f" ({executed.reason})"
    else:
        reason = ""
    echo(f"{executed.test}: run {short(executed.run, 8)}, {executed.state}{reason}")
    echo_lines(f"  {row.phase:<9} {row.symbol}  {row.path}" for row in executed.symbols)


def _for_pytest(impacted: operations.ImpactedTests) -> str:
    return "".join(f"{argument}\n" for argument in impacted.arguments)


_MOST_ROWS = 5
"""Rows of impacted tests without `--all`: with headings and what is not listed ten lines."""
_FEWEST_ROWS = 2
"""Of them those of never recorded tests, where there are any."""
_HEADINGS = {
    "known": "known to execute what changed",
    "imports": "may reach it by imports, never recorded",
    "unconnected": "no import path found, never recorded",
}


@operation_command(operations.IMPACTED, group=proof, formats={"pytest": _for_pytest})
@click.option("--all", "is_whole", is_flag=True, help="List each test, in text.")
def impacted(
    impacted_tests: operations.ImpactedTests, request: operations.ImpactedRequest, is_whole: bool
) -> None:
    """Print the tests that must run."""
    groups = {name: tests for name, tests in impacted_tests.groups.items() if tests}
    total = impacted_tests.tests.total
    lists_each = is_whole or request.limit < total or total <= _MOST_ROWS
    echo_lines((_whole_lines if lists_each else _file_lines)(groups, request.limit))
    _warn_of_more(impacted_tests.tests)
    known_total = len(groups.get("known", ()))
    if impacted_tests.settled == 1:
        others = "1 other result is valid"
    else:
        others = f"the results of {impacted_tests.settled} others are valid"
    # a part that was asked for, such as a range, is not what the command would run
    is_narrower = 0 < known_total < total and not request.changed and not request.staged
    if is_narrower:
        narrow = f" ({known_total} known: pytest --kl-impacted --kl-unrecorded=none)"
    else:
        narrow = ""
    echo(f"{counted(total, 'test')} to run{narrow}; {others}")


def _whole_lines(groups: Mapping[str, Sequence[Impacted]], limit: int) -> Iterator[str]:
    """A line for each test, at most `limit`."""
    left = limit
    for name, tests in groups.items():
        if left and list(groups) != ["known"]:
            yield f"{_HEADINGS[name]}: {counted(len(tests), 'test')}"
        for test in tests[:left]:
            yield f"{test.test}: {test.reason}{_distance_text(test)}"
        left = max(0, left - len(tests))


def _file_lines(groups: Mapping[str, Sequence[Impacted]], _limit: int) -> Iterator[str]:
    """A line for each file and cause, at most `_MOST_ROWS`; those without an import path are only
    counted.
    """
    rows = {name: _rows_of_files(tests) for name, tests in groups.items()}
    known_rows = rows.get("known", [])
    others = rows.get("imports", [])
    most_known = _MOST_ROWS - min(_FEWEST_ROWS, len(others))
    shown = {
        "known": known_rows[:most_known],
        "imports": others[: _MOST_ROWS - min(most_known, len(known_rows))],
    }
    for name, tests in groups.items():
        if list(groups) != ["known"]:
            files = len({test_path(test.test) for test in tests})
            yield f"{_HEADINGS[name]}: {counted(len(tests), 'test')} in {counted(files, 'file')}"
        indent = "" if list(groups) == ["known"] else "  "
        yield from (f"{indent}{row}" for row in shown.get(name, ()))
    hidden = sum(len(rows[name]) - len(shown.get(name, ())) for name in rows)
    if hidden:
        yield f"not listed: {counted(hidden, 'row')} (kl proof impacted --all lists each test)"


def _rows_of_files(tests: Sequence[Impacted]) -> list[str]:
    """A row for the tests of a file that must run for one cause, in the order of the tests."""
    causes: dict[tuple[str, str], list[Impacted]] = {}
    for test in tests:
        if test.run:
            cause = test.reason
        else:
            cause = _distance_text(test) or test.reason
        causes.setdefault((test_path(test.test), cause), []).append(test)
    return [_row_of_file(path, members) for (path, _), members in causes.items()]


def _row_of_file(path: str, tests: Sequence[Impacted]) -> str:
    first = tests[0]
    if len(tests) == 1:
        name = first.test
    else:
        name = f"{path} ({len(tests)} tests)"
    is_near = first.distance is not None and not first.run
    if is_near and len(tests) > 1:
        reason = ""
    else:
        reason = f": {first.reason}"
    return f"{name}{reason}{_distance_text(first)}"


def _distance_text(test: Impacted) -> str:
    """`, 2 imports away` or `, 3 calls away`, of a test that was never recorded."""
    if test.distance is None or test.run:
        return ""
    if not test.distance:
        return ", its file changed"
    if test.uses is not None:
        return f", {counted(test.uses, 'call')} away"
    return f", {counted(test.distance, 'import')} away"


@operation_command(operations.WHY, group=proof)
def why(history: operations.TestHistory, request: operations.TestRequest) -> None:
    """Print the history of a test."""
    echo_lines(_history_lines(history))


def _history_lines(history: operations.TestHistory) -> Iterator[str]:
    yield f"test      {history.test}"
    if history.earlier_names:
        yield f"before    called {name_list(history.earlier_names, _CHANGED)}"
    if history.has_failed:
        yield from _failure_lines(history)
    else:
        yield f"failures  none in {counted(len(history.results), 'recorded run')}"
    if history.distributions:
        installed = [
            f"{Path(name).name} ({name})" if name.startswith("/") else f"{name} {version}"
            for name, version in history.distributions.items()
        ]
        yield f"imports   {name_list(installed, _CHANGED)}"
    for index, result in enumerate(history.results[:_RESULTS]):
        ended = result.ended[:16].replace("T", " ")
        content = f"tree {short(result.tree, 7)}{'+dirty' if result.dirty else ''}"
        if result.test != history.test:
            name = f"  as {result.test}"
        else:
            name = ""
        yield (
            f"{'' if index else 'runs':<9} {short(result.run, 8)}  {ended}  {result.outcome:<7} "
            f" {content}{name}"
        )
    if len(history.results) > _RESULTS:
        yield f"{'':<9} {len(history.results) - _RESULTS} more: --format json"


def _failure_lines(history: operations.TestHistory) -> Iterator[str]:
    if not history.failures:
        yield f"failure   {WITHHELD}"
    for failure in history.failures:
        detail = failure.detail
        yield f"failure   {one_line(str(detail.get('message') or 'no message'), 300)}"
        has_place = detail.get("path") and detail.get("line")
        if has_place:
            place = f"{detail['path']}:{detail['line']}"
        else:
            place = ""
        if where := ", at ".join(filter(None, (str(detail.get("frame") or ""), place))):
            yield f"raised    {where}"
    if history.changed and history.passed_before:
        names = name_list([split_id(symbol)[1] for symbol in history.changed], _CHANGED)
        yield f"changed   {names}, since it passed in run {short(history.passed_before, 8)}"
    lines = ("no earlier failure like it",) if history.history is None else history.history
    yield from (f"{'' if index else 'earlier':<9} {line}" for index, line in enumerate(lines))


@operation_command(operations.FLAKY, group=proof)
def flaky(flaky_tests: operations.FlakyTests, request: operations.FlakyRequest) -> None:
    """Print the tests that failed and passed."""
    rows = (
        f"{test.now}: {test.rate}; runs {short(test.failed, 8)} failed, {short(test.passed, 8)}"
        f" passed{'' if test.now == test.test else f', as {test.test}'}"
        for test in flaky_tests.tests.shown
    )
    _print_rows(rows, flaky_tests.tests, "no flaky tests in the recorded runs.")


@operation_command(operations.AUDIT, group=proof)
def audit(answer: operations.AuditAnswer, request: operations.AuditRequest) -> None:
    """Print the results that were called valid and are not."""
    echo_lines(_audit_lines(answer))


def _audit_lines(answer: operations.AuditAnswer) -> Iterator[str]:
    if not answer.checked:
        yield (
            "nothing to compare yet: no recorded run has tests that an earlier result was "
            "valid for."
        )
        return
    yield (
        f"{answer.wrong} of {counted(answer.checked, 'valid result')} wrong"
        f" ({answer.wrong / answer.checked:.2%}; 95 %: {answer.low:.2%} to {answer.high:.2%}), in"
        f" {counted(answer.runs, 'run')}"
    )
    for disagreement in answer.disagreements:
        yield (
            f"{disagreement.test}: {disagreement.outcome} in run "
            f"{short(disagreement.run, 8)}; {disagreement.state}"
        )
        yield (
            f"  was valid by run {short(disagreement.valid_by, 8)}: it executed nothing "
            "that differs"
        )
        yield f"  changed: {name_list(disagreement.changed, _CHANGED)}"
        yield from (f"  {outcome}" for outcome in disagreement.again)
        if not disagreement.again:
            yield f"  hint: {'; '.join(disagreement.commands)}"
