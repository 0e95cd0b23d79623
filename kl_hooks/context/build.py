"""Build: a workspace, a task and a budget in; a context package out.

Every retriever is asked; one that fails lowers the coverage, never the answer. `assemble` is pure: the same input
gives the same package, its ID included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.context.estimator import QUARTERS, write_budget
from kl_hooks.context.fit import STYLES, UNKNOWN_ID, Chosen, Fitted, Style, fit
from kl_hooks.context.fuse import fuse, sift
from kl_hooks.context.signals import read_signals
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.provenance import agent
from kl_hooks.hookspecs import Retriever
from kl_hooks.model.canonical import digest
from kl_hooks.model.package import Budget, Candidate, Item, Package, Signals, Task
from kl_hooks.model.text import one_line

if TYPE_CHECKING:
    import pluggy

    from kl_hooks.workspace import Workspace

NO_WORDS: Final = "The task holds no word to search by: name a symbol, a file or an error."
ROWS: Final = 50
"""Most candidates of one retriever."""
_OWN_DOCUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "claude-code": ("CLAUDE.md",), "codex": ("AGENTS.md",), "gemini-cli": ("GEMINI.md",), "cursor": ("AGENTS.md",),
}  # fmt: skip
"""Agent → the documents that it puts into its own context: records seeded from them would be there twice."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the retrievers answered."""

    lists: Mapping[str, tuple[Candidate, ...]]
    """Retriever → its candidates, best first, at most `ROWS`."""
    weights: Mapping[str, int]
    coverage: Mapping[str, str]
    """Retriever → `ok`, `empty` or `failed: reason`."""


def build(ws: Workspace, task_text: str, budget: Budget, *, style: str = "text") -> Package:
    """Return the package for a task: ranked, cited, and never larger than its budget when rendered.

    The same task, budget, style and knowledge give the same package, its ID included. Retrievers that fail are named in
    `coverage`. Raises UsageProblem for a task without text, EnvironmentProblem where kl has not been set up.
    """
    from kl_hooks.git.worktree import tree_of_revision
    from kl_hooks.store.redaction import redact
    from kl_hooks.workspace import require_setup

    if not task_text.strip():
        raise UsageProblem("the task is empty.", place="kl context", hint='Describe the work: kl context "…"')
    require_setup(ws)
    task = Task(task_text, read_signals(task_text))
    retrievers, failed = all_retrievers(ws.plugins)
    if task.signals == Signals():  # no words to search by: only what applies to every task
        retrievers, failed = [one for one in retrievers if one.name == "standing"], {}
    found = gather(retrievers, ws, task, redact)
    found = replace(found, coverage=dict(sorted({**found.coverage, **failed}.items())))
    tree = (tree_of_revision(ws.repo, "HEAD") or "") if ws.repo else ""
    return assemble(task, found, budget, style, tree)


def all_retrievers(plugins: pluggy.PluginManager) -> tuple[list[Retriever], dict[str, str]]:
    """Return (all retrievers by name, coverage of the plugins that failed to list theirs)."""
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
    """Return what each retriever finds for the task. `clean` redacts every text once more, whoever wrote the plugin."""
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
        except Exception as problem:  # a plugin may raise anything, and the package is still wanted
            coverage[name] = _failure(problem)
            continue
        lists[name], weights[name] = tuple(rows), retriever.weight
        coverage[name] = "ok" if rows else "empty"
    return Gathered(lists, weights, coverage)


def _checked(row: Any, clean: Callable[[str], str], reader: str = "") -> Candidate:
    if not isinstance(row, Candidate):
        raise TypeError(f"gave a {type(row).__name__} where a Candidate belongs")
    found: Candidate = row
    if found.read_from and found.read_from in _OWN_DOCUMENTS.get(reader, ()):
        found = replace(found, omit=f"{reader} reads {found.read_from} itself")
    title, text, summary = clean(found.title), clean(found.text), clean(found.summary)
    if (title, text, summary) == (found.title, found.text, found.summary):
        return found
    return replace(found, title=title, text=text, summary=summary)


def _failure(problem: Exception) -> str:
    return f"failed: {one_line(str(problem), 160) or type(problem).__name__}"


def assemble(task: Task, found: Gathered, budget: Budget, style: str = "text", tree: str = "") -> Package:
    """Return the package of what was found for a content tree. KeyError for a style not in `STYLES`."""
    chosen_style = STYLES[style]
    relevant, omissions = sift(fuse(found.lists, found.weights), task.signals)
    fitted = fit(relevant, budget, chosen_style, notes=_notes(task.signals, found.coverage), omissions=omissions)
    items = tuple(_item(chosen) for chosen in fitted.chosen)
    config = {"budget": write_budget(budget), "style": style, "weights": dict(found.weights)}
    facts = {"task": task.text, "tree": tree, "config": config, "coverage": dict(found.coverage)}
    package_id = _id(fitted, chosen_style, facts)
    text, sizes = fitted.page(chosen_style, package_id), _characters_by_kind(fitted)
    return Package(package_id, task.text, fitted.budget, items, fitted.omissions, found.coverage, text, sizes)


def _notes(signals: Signals, coverage: Mapping[str, str]) -> list[str]:
    """Return what a reader must know before taking the package for complete."""
    failed = [name for name, how in coverage.items() if how.startswith("failed")]
    notes = [NO_WORDS] if signals == Signals() else []
    return [*notes, f"Not searched: {', '.join(failed)}. See: kl doctor"] if failed else notes


def _item(chosen: Chosen) -> Item:
    ranked = chosen.ranked
    return Item(ranked.candidate, chosen.form, chosen.text, QUARTERS.count(chosen.block), ranked.score, ranked.parts)


def _characters_by_kind(fitted: Fitted) -> dict[str, int]:
    sizes: Counter[str] = Counter()
    for chosen in fitted.chosen:
        sizes[chosen.ranked.candidate.kind] += len(chosen.block)
    return dict(sorted(sizes.items()))


def _id(fitted: Fitted, style: Style, facts: Mapping[str, object]) -> str:
    """Return a digest of everything but time and caller; the text is hashed with a placeholder for the ID."""
    items = [[c.ranked.candidate.id, c.form, c.ranked.score, list(c.ranked.candidate.reasons)] for c in fitted.chosen]
    whole = digest("package/1", {**facts, "items": items, "text": fitted.page(style)})
    return "cp-" + whole[: len(UNKNOWN_ID) - len("cp-")]
