"""`kl search`: one ranked list over documents, records and code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kl_hooks.cli.output import counted, echo_lines, print_rows, show_step
from kl_hooks.cli.request_options import operation_command
from kl_hooks.model.text import (
    defuse,
    name_list,
    one_line,
    quoted_field,
    visible_line_ends,
    without_role_markup,
)
from kl_hooks.operations import search as operations

if TYPE_CHECKING:
    from kl_hooks.documents.rounds import Answer, Round
    from kl_hooks.documents.search import Result

_SUMMARY = 160
"""Characters of a community's line."""
_MANY = 2000
"""Passages from which embedding them takes longer than a moment."""


def _watched(request: operations.SearchRequest) -> operations.SearchRequest:
    return request._replace(progress=_show_progress)


@operation_command(operations.SEARCH, _watched)
def search(matches: operations.Matches, request: operations.SearchRequest) -> None:
    search_answer = matches.found
    rows = [
        _result_lines(number, result, request)
        for number, result in enumerate(search_answer.results, 1)
    ]
    if matches.answer and rows:
        rows = list(_answer_lines(matches.answer))
    print_rows(rows, search_answer.total, f"no matches for: {one_line(request.query)}")
    # after the matches, in a line each: JSON has them whole
    echo_lines(
        f" =  {one_line(community.summary, _SUMMARY)}" for community in search_answer.communities
    )


def _answer_lines(answer: Answer) -> Iterator[str]:
    yield from (*answer.text.split("\n"), "")
    yield from map(_round_line, answer.rounds)


def _round_line(part: Round) -> str:
    if part.missing:
        missing = f"; not found: {name_list(list(part.missing), 8)}"
    else:
        missing = ""
    return f"searched for: {one_line(part.query, 120)} ({counted(part.new, 'new result')}{missing})"


def _show_progress(done: int, total: int) -> None:
    """Name how many passages are embedded, where there are many."""
    if total > _MANY:
        show_step(f"{done:,} of {total:,} passages embedded")


def _result_lines(number: int, result: Result, request: operations.SearchRequest) -> str:
    place = visible_line_ends(f"{result.path}:{result.line}" if result.path else result.id)
    weak = ("weak",) if result.is_weak else ()
    marks = "".join(f"  [{mark}]" for mark in (*weak, *result.marks))
    lines = [f"{number:>2}  {result.score:.2f}  {place}  {quoted_field(result.title, 160)}{marks}"]
    text = result.snippet.text
    if result.kind != "code":
        text = defuse(without_role_markup(text))
    lines += [f"        | {line.rstrip()}" for line in text.split("\n") if line.strip()]
    if request.explain:
        parts = (f"{name} {round(value, 2)}" for name, value in result.parts.items())
        lines.append(f"          score: {', '.join(parts)}")
    return "\n".join(lines)
