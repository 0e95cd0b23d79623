"""Gather: every retriever is asked; one that fails lowers the coverage, never the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.context.weights import ROWS
from kl_hooks.evidence.provenance import agent
from kl_hooks.hookspecs import Retriever
from kl_hooks.model.package import Candidate, Task
from kl_hooks.model.text import one_line

if TYPE_CHECKING:
    import pluggy


OWN_DOCUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "claude-code": ("CLAUDE.md",), "codex": ("AGENTS.md",), "gemini-cli": ("GEMINI.md",), "cursor": ("AGENTS.md",),
}  # fmt: skip
"""Agent → the documents that it puts into its own context: what was seeded from them would be there twice."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the retrievers answered."""

    lists: Mapping[str, tuple[Candidate, ...]]
    """Retriever → its candidates, best first, at most `ROWS`."""
    weights: Mapping[str, int]
    coverage: Mapping[str, str]
    """Retriever → `ok`, `empty` or `failed: reason`."""


def all_retrievers(plugins: pluggy.PluginManager) -> tuple[list[Retriever], dict[str, str]]:
    """(all retrievers in the order of their names, coverage of the plugins that failed to name theirs)."""
    found: list[Retriever] = []
    failed: dict[str, str] = {}
    try:
        answers: Iterable[Any] = plugins.hook.kl_retrievers()
    except Exception:  # one broken plugin: ask each by itself, to know which
        answers = list(_one_by_one(plugins, failed))
    for many in answers:
        found.extend([many] if isinstance(many, Retriever) else many)
    return sorted(found, key=lambda retriever: retriever.name), failed


def _one_by_one(plugins: pluggy.PluginManager, failed: dict[str, str]) -> Iterable[Any]:
    for implementation in plugins.hook.kl_retrievers.get_hookimpls():
        try:
            yield implementation.function()
        except Exception as problem:
            failed[f"plugin {implementation.plugin_name}"] = _failure(problem)


def gather(
    retrievers: Sequence[Retriever], workspace: Any, task: Task, clean: Callable[[str], str] = lambda text: text
) -> Gathered:
    """What each retriever finds for the task; `clean` is applied to every text of it (redaction, once more)."""
    reader = agent(getattr(workspace, "environ", None) or {}) or ""
    lists: dict[str, tuple[Candidate, ...]] = {}
    weights: dict[str, int] = {}
    coverage: dict[str, str] = {}
    for retriever in retrievers:
        name = retriever.name
        if name in coverage:
            coverage[f"{name} (again)"] = "failed: the name is taken; only the first was asked"
            continue
        try:
            rows = [_checked(row, clean, reader) for row in islice(retriever.find(workspace, task, ROWS), ROWS)]
        except Exception as problem:  # whatever a retriever raises is its answer: the package goes on without it
            coverage[name] = _failure(problem)
            continue
        lists[name], weights[name] = tuple(rows), retriever.weight
        coverage[name] = "ok" if rows else "empty"
    return Gathered(lists, weights, coverage)


def _checked(row: Any, clean: Callable[[str], str], reader: str = "") -> Candidate:
    if not isinstance(row, Candidate):
        raise TypeError(f"gave a {type(row).__name__} where a Candidate belongs")
    found: Candidate = row
    if found.read_from and found.read_from in OWN_DOCUMENTS.get(reader, ()):
        found = replace(found, omit=f"{reader} reads {found.read_from} itself")
    title, text, summary = clean(found.title), clean(found.text), clean(found.summary)
    if (title, text, summary) == (found.title, found.text, found.summary):
        return found
    return replace(found, title=title, text=text, summary=summary)


def _failure(problem: Exception) -> str:
    return f"failed: {one_line(str(problem), 160) or type(problem).__name__}"
