"""Build: a workspace, a task and a budget in; a package out.

`assemble` is pure: the same input gives the same package, its ID included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kl_hooks.context.estimator import QUARTERS, write_budget
from kl_hooks.context.fit import Chosen, Fitted, fit
from kl_hooks.context.fuse import fuse
from kl_hooks.context.gather import Gathered, all_retrievers, gather
from kl_hooks.context.render import STYLES, UNKNOWN_ID, Style
from kl_hooks.context.sift import sift
from kl_hooks.context.signals import read_signals
from kl_hooks.errors import UsageProblem
from kl_hooks.model.canonical import digest
from kl_hooks.model.package import Budget, Item, Package, Signals, Task

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


NO_WORDS: Final = "The task holds no word to search by: name a thing, a file or an error."


def assemble(task: Task, found: Gathered, budget: Budget, style: str = "text", tree: str = "") -> Package:
    """The package of what was found. `tree`: what it was made for. KeyError for a style not in `STYLES`."""
    chosen_style = STYLES[style]
    kept, left = sift(fuse(found.lists, found.weights), task.signals)
    fitted = fit(kept, budget, chosen_style, notes=_notes(task.signals, found.coverage), left=left)
    items = tuple(_item(chosen) for chosen in fitted.chosen)
    config = {"budget": write_budget(budget), "style": style, "weights": dict(found.weights)}
    facts = {"task": task.text, "tree": tree, "config": config, "coverage": dict(found.coverage)}
    package_id = _id(fitted, chosen_style, facts)
    text = fitted.page(chosen_style, package_id)
    return Package(package_id, task.text, fitted.budget, items, fitted.left, found.coverage, text, _shares(fitted))


def _notes(signals: Signals, coverage: Mapping[str, str]) -> list[str]:
    """What a reader must know of an answer before trusting that it is whole."""
    failed = [name for name, how in coverage.items() if how.startswith("failed")]
    notes = [NO_WORDS] if signals == Signals() else []
    return [*notes, f"Not searched: {', '.join(failed)}. See: kl doctor"] if failed else notes


def _item(chosen: Chosen) -> Item:
    ranked = chosen.ranked
    return Item(ranked.candidate, chosen.form, chosen.text, QUARTERS.count(chosen.block), ranked.score, ranked.parts)


def _shares(fitted: Fitted) -> dict[str, int]:
    shares: Counter[str] = Counter()
    for chosen in fitted.chosen:
        shares[chosen.ranked.candidate.kind] += len(chosen.block)
    return dict(sorted(shares.items()))


def _id(fitted: Fitted, style: Style, facts: Mapping[str, object]) -> str:
    """Over everything but time and caller; the text is hashed with the placeholder where the id will stand."""
    items = [[c.ranked.candidate.id, c.form, c.ranked.score, list(c.ranked.candidate.reasons)] for c in fitted.chosen]
    whole = digest("package/1", {**facts, "items": items, "text": fitted.page(style)})
    return "cp-" + whole[: len(UNKNOWN_ID) - len("cp-")]


def build(ws: Workspace, task_text: str, budget: Budget, *, style: str = "text") -> Package:
    """The package for a task: what is known, ranked, cited, and never larger than its budget when rendered.

    The same task, budget, style and knowledge give the same package, its id included. Retrievers that fail are named in
    `coverage`; a task without words
    gets what holds for every task. Raises UsageProblem for a task without text, EnvironmentProblem where kl
    has not been set up: nothing is created by asking.
    """
    from kl_hooks.git.worktree import tree_of_revision
    from kl_hooks.store.redaction import redact
    from kl_hooks.workspace import require_setup

    if not task_text.strip():
        raise UsageProblem("the task is empty.", place="kl context", hint='Say what you will do: kl context "…"')
    require_setup(ws)
    task = Task(task_text, read_signals(task_text))
    retrievers, failed = all_retrievers(ws.plugins)
    if task.signals == Signals():  # nothing to search by: only what holds whatever the words are
        retrievers, failed = [one for one in retrievers if one.name == "standing"], {}
    found = gather(retrievers, ws, task, redact)
    found = replace(found, coverage=dict(sorted({**found.coverage, **failed}.items())))
    tree = (tree_of_revision(ws.repo, "HEAD") or "") if ws.repo else ""
    return assemble(task, found, budget, style, tree)
