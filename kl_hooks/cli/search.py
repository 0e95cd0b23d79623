"""`kl search`: one ranked list over documents, records and code."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.options import format_option
from kl_hooks.cli.output import echo_lines, print_list, warn, workspace
from kl_hooks.cli.record_output import agent_access, warn_of_index_problems
from kl_hooks.context.package_log import record_search
from kl_hooks.documents.rounds import MOST_ROUNDS, answer_to_dict, search_in_rounds
from kl_hooks.documents.search import KINDS, MODES, MOST, Options, communities_to_dict, result_to_dict
from kl_hooks.documents.search import search as search_everything
from kl_hooks.index.fusion import FUSIONS
from kl_hooks.model.text import counted, name_list, one_line

if TYPE_CHECKING:
    from kl_hooks.documents.search import Result

_MANY = 2000
"""Passages from which embedding them takes longer than a moment."""


@click.command(epilog='Example: kl search "how are secrets removed" --top-k 5')
@click.argument("query", nargs=-1, required=True)
@click.option("--mode", type=click.Choice(MODES), default=MODES[0], show_default=True, help="How to search.")
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only matches of this kind; may be repeated."
)
@click.option(
    "--collection", "collections", multiple=True, metavar="NAME",
    help="Only documents of this collection; may be repeated.",
)  # fmt: skip
@click.option(
    "--top", "--top-k", "top_k", type=click.IntRange(1, MOST), default=10, show_default=True, help="Most results shown."
)
@click.option(
    "--fusion", type=click.Choice(FUSIONS), default=Options().fusion, show_default=True,
    help="How a hybrid search makes one list of two.",
)  # fmt: skip
@click.option("--rerank", is_flag=True, help="Rank the best 50 again by how many words of QUERY each has.")
@click.option("--freshness", is_flag=True, help="Mark passages that name code which changed after they were written.")
@click.option(
    "--rounds", type=click.IntRange(0, MOST_ROUNDS), default=0,
    help="Search again for what is missing, at most so often, and quote the best passages.",
)  # fmt: skip
@click.option(
    "--hops", type=click.IntRange(1, 3), default=Options().hops, show_default=True,
    help="Of --mode graph: most links from a match to what is shown with it.",
)  # fmt: skip
@click.option(
    "--budget", type=click.IntRange(50, 100_000), default=Options().budget, show_default=True,
    help="Of --mode graph: most tokens of summaries and snippets.",
)  # fmt: skip
@click.option("--explain", is_flag=True, help="Show what each score is made of.")
@format_option()
def search(
    query: tuple[str, ...], mode: str, kinds: tuple[str, ...], collections: tuple[str, ...], top_k: int, fusion: str,
    rerank: bool, freshness: bool, rounds: int, hops: int, budget: int, explain: bool, shape: str,
) -> None:  # fmt: skip
    """Search documents, records in force and code for the words of QUERY, best first.

    `--mode vector` finds passages and records of the same meaning in other words, `hybrid` both in one list; they need
    the extra kl-hooks[embeddings], and search by words without it. `graph` finds what is linked with the best five
    matches of both: passages that name the same code, records about it, code that it uses; with a summary of each
    group.

    Documents are README files, the docs folder, other Markdown and reStructuredText files, and what `kl document add`
    added. Each match states its file, its line, its headings, and the lines with the words.
    """
    ws, text = workspace(), " ".join(query)
    with agent_access(ws) as may:
        options, began = Options(fusion, rerank, _show_progress, freshness, hops, budget), time.perf_counter()
        if rounds:
            answer = search_in_rounds(
                ws, text, mode, collections, top_k, rounds=rounds, kinds=kinds, may=may, options=options
            )
            found = answer.found
        else:
            found = search_everything(ws, text, mode, collections, top_k, kinds=kinds, may=may, options=options)
        record_search(ws, found, 1000 * (time.perf_counter() - began))
    warn_of_index_problems()
    for note in found.notes:
        warn(note)
    plain = {
        "schema": "kl.search/1", "query": found.query, "mode": found.mode, "total": found.total,
        "counts": dict(found.counts), "notes": list(found.notes),
        "results": [result_to_dict(one, explain=explain) for one in found.results],
    }  # fmt: skip
    if found.mode == "graph":
        plain["communities"] = communities_to_dict(found)
    rows = [_lines(number, one, explain) for number, one in enumerate(found.results, 1)]
    if rounds:
        plain |= answer_to_dict(answer, explain=explain)
        rows = [*answer.text.split("\n"), "", *(_round_line(*one) for one in answer.rounds)] if found.results else []
    if shape != "json":
        echo_lines(f" =  {one.summary}" for one in found.communities)
    print_list(shape, plain, rows, found.total, f"no matches for: {one_line(text)}")


def _round_line(query: str, new: int, missing: Sequence[str]) -> str:
    rest = f"; not found: {name_list(list(missing), 8)}" if missing else ""
    return f"searched for: {one_line(query, 120)} ({counted(new, 'new result')}{rest})"


def _show_progress(done: int, total: int) -> None:
    """On a terminal only, and where it takes longer than a moment."""
    if total > _MANY and sys.stderr.isatty():
        end = "\n" if done == total else ""
        sys.stderr.write(f"\rembedding {done:,} of {total:,} passages{end}")
        sys.stderr.flush()


def _lines(number: int, one: Result, explain: bool) -> str:
    place = f"{one.path}:{one.line}" if one.path else one.id
    marks = "".join(f"  [{mark}]" for mark in one.marks)
    lines = [f"{number:>2}  {one.score:.2f}  {place}  {one_line(one.title, 160)}{marks}"]
    lines += [f"          {line.rstrip()}" for line in one.snippet.text.split("\n") if line.strip()]
    if explain:
        parts: dict[str, Any] = {name: round(value, 2) for name, value in one.parts.items()}
        lines.append(f"          score: {', '.join(f'{name} {value}' for name, value in parts.items())}")
    return "\n".join(lines)
