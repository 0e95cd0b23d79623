"""Assemble: from what the retrievers gave to the package. Pure: the same input gives the same package, id included."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from kl_hooks.context.estimator import QUARTERS, write_budget
from kl_hooks.context.fit import Chosen, Fitted, fit
from kl_hooks.context.fuse import fuse
from kl_hooks.context.gather import Gathered
from kl_hooks.context.render import STYLES, UNKNOWN_ID, Style
from kl_hooks.context.sift import sift
from kl_hooks.model.canonical import digest
from kl_hooks.model.package import Budget, Item, Package
from kl_hooks.model.task import Signals, Task

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
