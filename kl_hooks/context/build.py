"""Build: the one verb of this room. A workspace, a task and a budget in; a package out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kl_hooks.context.estimator import QUARTERS, write_budget
from kl_hooks.context.fit import Fitted, fit
from kl_hooks.context.fuse import fuse
from kl_hooks.context.gather import gather, retrievers_of
from kl_hooks.context.render import STYLES, UNKNOWN_ID, Style
from kl_hooks.context.sift import sift
from kl_hooks.context.signals import read_signals
from kl_hooks.errors import UsageProblem
from kl_hooks.model.canonical import digest
from kl_hooks.model.package import Budget, Item, Package
from kl_hooks.model.task import Signals, Task

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

NO_WORDS: Final = "The task holds no word to search by: name a thing, a file or an error."


def build(ws: Workspace, task_text: str, budget: Budget, *, style: str = "text") -> Package:
    """The package for a task: what is known, ranked, cited, and never larger than its budget when rendered.

    The same task, budget, style and knowledge give the same package, its id included. Retrievers that fail are named in
    `coverage`. Raises UsageProblem for a task without text, KeyError for a style that is not one of `STYLES`.
    """
    from kl_hooks.store.redact import redact

    if not task_text.strip():
        raise UsageProblem(
            "the task is empty.", place="kl context", hint='Say what you are about to do: kl context "…"'
        )
    chosen, task = STYLES[style], Task(task_text, read_signals(task_text))
    retrievers, failed = ([], {}) if task.signals == Signals() else retrievers_of(ws.plugins)
    found = gather(retrievers, ws, task, redact)
    coverage = dict(sorted({**found.coverage, **failed}.items()))
    kept, left = sift(fuse(found.lists, found.weights), task.signals)
    fitted = fit(kept, budget, chosen, notes=_notes(task.signals, coverage), left=left)
    config = {"budget": write_budget(budget), "style": style, "weights": dict(found.weights)}
    return _package(fitted, chosen, task_text, coverage, {"config": config, "tree": _tree(ws)})


def _tree(ws: Workspace) -> str:
    """The tree of the last commit: what the package was made for; empty where there is none."""
    from kl_hooks.git.trees import tree_of

    return (tree_of(ws.repo, "HEAD") or "") if ws.repo else ""


def _notes(signals: Signals, coverage: Mapping[str, str]) -> list[str]:
    """What a reader must know of an answer before trusting that it is whole."""
    failed = [name for name, how in coverage.items() if how.startswith("failed")]
    notes = [NO_WORDS] if signals == Signals() else []
    return [*notes, f"Not searched: {', '.join(failed)}. See: kl doctor"] if failed else notes


def _package(
    fitted: Fitted, style: Style, task: str, coverage: Mapping[str, str], inputs: Mapping[str, object]
) -> Package:
    items = tuple(
        Item(c.ranked.candidate, c.form, c.text, QUARTERS.count(c.block), c.ranked.score, c.ranked.parts)
        for c in fitted.chosen
    )
    shares: Counter[str] = Counter()
    for chosen in fitted.chosen:
        shares[chosen.ranked.candidate.kind] += len(chosen.block)
    scores = [[i.candidate.id, i.form, i.score] for i in items]
    facts = {"task": task, "inputs": dict(inputs), "items": scores, "coverage": dict(coverage)}
    package_id = "cp-" + digest("package/1", {**facts, "text": fitted.page(style)})[: len(UNKNOWN_ID) - 3]
    return Package(
        package_id, task, fitted.budget, items, fitted.left, coverage, fitted.page(style, package_id),
        dict(sorted(shares.items())),
    )  # fmt: skip
