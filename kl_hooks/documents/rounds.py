"""Search in rounds: what the best results of a query do not have is looked for again; the answer
quotes the best.

No model is needed. One can be plugged in by the hookspec `kl_summarize`; the sources are stated all
the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.documents.search import (
    AS_USUAL,
    MOST,
    Options,
    Result,
    SearchAnswer,
    result_to_dict,
    search,
)
from kl_hooks.index.postings import search_terms, significant_words
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.text import safe_text, without_role_markup

if TYPE_CHECKING:
    from kl_hooks.documents.indexing import Visibility
    from kl_hooks.workspace import Workspace

MOST_ROUNDS: Final = 5
_ENOUGH: Final = 3
"""Results that are not weak from which an answer suffices, if no word of the query is missing."""
_SHORTEST: Final = 3
"""Characters of a word that is looked for again."""
_QUOTED: Final = 3
"""Passages of an answer."""
_QUOTE: Final = 1000
"""Characters of each."""


class Round(NamedTuple):
    """One search of an answer."""

    query: str
    new: int
    """Results that no round before found."""
    missing: tuple[str, ...]
    """Words of the question that no result so far has."""


class Answer(NamedTuple):
    """The answer to a question."""

    found: SearchAnswer
    """The results of all rounds, best first."""
    rounds: tuple[Round, ...]
    text: str
    """The best passages, each with its source; or what a model made of them."""


def search_in_rounds(
    ws: Workspace,
    question: str,
    mode: str,
    collections: Collection[str] = (),
    top_k: int = 10,
    *,
    rounds: int = 3,
    kinds: Collection[str] = (),
    may: Visibility | None = None,
    options: Options = AS_USUAL,
) -> Answer:
    """Return the answer after at most `rounds` searches; the arguments are those of `search`.

    It ends where three results are not weak and every word of the question is in one of the
    results, and where a round finds nothing new.
    """
    best: dict[str, Result] = {}
    earlier_rounds: list[Round] = []
    query, first = question, None
    while len(earlier_rounds) < min(rounds, MOST_ROUNDS):
        answer = search(ws, query, mode, collections, top_k, kinds=kinds, may=may, options=options)
        first = first or answer
        new = [result for result in answer.results if result.id not in best]
        # later rounds look for a part of the question: a text that has all of it has less of the
        # whole
        weight = 0.9 ** len(earlier_rounds) * _share(query, question)
        best |= {result.id: _scaled(result, weight) for result in new}
        missing = _missing(question, list(best.values()))
        earlier_rounds.append(Round(query, len(new), tuple(missing)))
        strong = sum(not result.is_weak for result in best.values())
        if not new or (not missing and strong >= _ENOUGH):
            break
        # all words of the question are in the query before already: the missing ones alone find
        # other passages
        query = " ".join(missing) if missing else question
        if query in {earlier_round.query for earlier_round in earlier_rounds}:
            break
    assert first is not None
    results = sorted(best.values(), key=lambda result: (-result.score, result.id))[
        : min(top_k, MOST)
    ]
    last_answer = SearchAnswer(
        question,
        first.mode,
        first.took_part,
        tuple(results),
        max(first.total, len(best)),
        first.counts,
        first.notes,
        first.communities,
    )
    return Answer(last_answer, tuple(earlier_rounds), _summary(ws, question, results))


def _share(query: str, question: str) -> float:
    """How much of the question the words of a query are."""
    # "?" has none, and is searched for once
    return min(1.0, len(significant_words(query)) / (len(significant_words(question)) or 1))


def _scaled(result: Result, weight: float) -> Result:
    return replace(result, score=round(result.score * weight, 6))


def _missing(question: str, results: Collection[Result]) -> list[str]:
    """The words of a question that no result has, in any inflection."""
    terms = {term for one in results for term in search_terms([one.title, _text(one)])}
    words = [word for word in significant_words(question) if len(word) >= _SHORTEST]
    return [word for word in words if terms.isdisjoint(search_terms([word]))]


def _text(result: Result) -> str:
    if result.chunk is not None:
        return result.chunk.text
    return result.snippet.text


def _summary(ws: Workspace, question: str, results: Collection[Result]) -> str:
    quotes = list(_quotes(results))
    if results and not quotes:
        return "No passage answers this: there are only weak matches."
    if quotes:
        plugin_summary = ws.plugins.hook.kl_summarize(
            workspace=ws, question=question, passages=quotes
        )
    else:
        plugin_summary = ""
    text = safe_text(str(plugin_summary or quoted(quotes)))
    # a plugin's text need not name its sources; a reader must be able to check it
    unnamed = [source for source, _ in quotes if source not in text]
    return text + ("\n\nSources:\n" + "\n".join(f"- {one}" for one in unnamed) if unnamed else "")


def quoted(passages: Sequence[tuple[str, str]]) -> str:
    """Each passage (source, text) under its source."""
    return "\n\n".join(
        f"{source}\n" + "\n".join(f"> {line}" for line in text.split("\n"))
        for source, text in passages
    )


def _quotes(results: Collection[Result]) -> Iterator[tuple[str, str]]:
    """(source, text) of the best results that are not weak. Quoted: what a document contains is
    data, also where it reads as an order.
    """
    for result in [result for result in results if not result.is_weak][:_QUOTED]:
        text = str(without_role_markup(safe_text(_text(result)))).strip()
        if result.path:
            place = f"{result.path}:{result.line}"
        else:
            place = result.id
        yield (
            f"{place} {without_role_markup(safe_text(result.title))}",
            text if len(text) <= _QUOTE else f"{text[:_QUOTE]}…",
        )


def answer_to_dict(answer: Answer, *, explain: bool = False) -> dict[str, Any]:
    """An answer as JSON has it."""
    return {
        "answer": answer.text,
        "rounds": [{**part._asdict(), "missing": list(part.missing)} for part in answer.rounds],
        "sources": [result.id for result in answer.found.results if not result.is_weak][:_QUOTED],
        "results": [result_to_dict(result, explain=explain) for result in answer.found.results],
    }
