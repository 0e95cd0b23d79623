"""Fit: as many of the best items as the budget holds, measured on the very text that is given out. Pure.

What does not fit is skipped and the next is tried; what is large for its budget stands there as one line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kl_hooks.context.estimator import estimator_of
from kl_hooks.context.fuse import Ranked
from kl_hooks.context.render import NOTHING, UNKNOWN_ID, Facts, Style, page, whole
from kl_hooks.context.weights import LARGE, LEFT_OUT_FROM, LEFT_OUT_ROOM
from kl_hooks.model.package import Budget, Candidate, Omission
from kl_hooks.model.text import one_line

SUMMARY: Final = 160
"""Characters of a summary."""
_SHORTER: Final = (100, 60, 40, 30, 20)
NO_ROOM: Final = "Nothing fits this budget."


@dataclass(frozen=True, slots=True)
class Chosen:
    """An item that stands in the package, as it stands there."""

    ranked: Ranked
    form: str
    text: str
    """What is quoted of it."""
    block: str
    """The item as rendered."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The budget, filled."""

    chosen: tuple[Chosen, ...]
    left: tuple[Omission, ...]
    notes: tuple[str, ...]
    budget: Budget
    of: int
    """How many candidates there were."""

    def page(self, style: Style, package_id: str = UNKNOWN_ID) -> str:
        """The rendered package; as long, whatever the id."""
        notes = [note.replace(UNKNOWN_ID, package_id) for note in self.notes]
        facts = Facts(package_id, self.budget, len(self.chosen), self.of)
        return page(style, facts, self._blocks(), notes)

    def widest(self, style: Style) -> str:
        """The rendered package with its counts as long as they can become."""
        facts = Facts(UNKNOWN_ID, replace(self.budget, used=self.budget.total), self.of, self.of)
        return page(style, facts, self._blocks(), self.notes)

    def _blocks(self) -> list[tuple[str, str]]:
        return [(c.ranked.candidate.kind, c.block) for c in self.chosen]


def fit(
    ranked: Sequence[Ranked], budget: Budget, style: Style, *, notes: Sequence[str] = (), left: Sequence[Omission] = ()
) -> Fitted:
    """The items of `ranked` (best first) that a package of this budget holds; it is never larger when rendered.

    `notes` are lines to be said where they fit; `left` is what has been left out before, and is counted too.
    """
    count = estimator_of(budget).count
    frame = Fitted((), tuple(left), (), budget, len(ranked) + len(left))
    said = (*(() if ranked else (NOTHING,)), *notes)
    small = count("x" * LEFT_OUT_FROM) > budget.total
    if small:  # what is pinned comes before what is said about the package
        fitted = _note(_fill(frame, ranked, style, 0), said, style)
    else:
        fitted = _fill(_note(frame, said, style), ranked, style, LEFT_OUT_ROOM)
    fitted = _note(fitted, _left_out(fitted, bool(ranked)), style)
    return _settle(fitted, style)


def _settle(fitted: Fitted, style: Style) -> Fitted:
    """With `used` true: the number stands in the text that it counts, so it is lowered until it is its own size."""
    count, used = estimator_of(fitted.budget).count, fitted.budget.total
    while True:
        fitted = replace(fitted, budget=replace(fitted.budget, used=used))
        size = count(fitted.page(style))
        if size >= used:
            return fitted
        used = size


def _note(fitted: Fitted, notes: Sequence[str], style: Style) -> Fitted:
    count = estimator_of(fitted.budget).count
    for note in notes:
        longer = replace(fitted, notes=(*fitted.notes, note))
        fitted = longer if count(longer.widest(style)) <= fitted.budget.total else fitted
    return fitted


def _fill(frame: Fitted, ranked: Sequence[Ranked], style: Style, spare: int) -> Fitted:
    """The page grows at its end here: its size, unlike its order, is what it will be."""
    count, total = estimator_of(frame.budget).count, frame.budget.total
    written, kinds = frame.widest(style) + "x" * spare, set[str]()
    chosen: list[Chosen] = []
    left = list(frame.left)
    for item in sorted(ranked, key=lambda one: not one.candidate.pinned):
        kind = item.candidate.kind
        heading = "" if kind in kinds else style.heading(kind)
        for shown, form, text in _forms(item, count, total):
            if count(written) + count(text) <= total + 1:
                block = style.item(shown, form, text)
                if count(written + heading + block) <= total:
                    chosen.append(Chosen(item, form, text, block))
                    written, kinds = written + heading + block, kinds | {kind}
                    break
        else:
            left.append(
                Omission(item.candidate.id, f"did not fit: {total - count(written)} {frame.budget.unit} were left")
            )
    return replace(frame, chosen=tuple(chosen), left=tuple(left))


def _forms(item: Ranked, count: Callable[[str], int], total: int) -> list[tuple[Candidate, str, str]]:
    """What can stand for an item, the fullest first: the whole unless it is large, and one line if shorter.

    What is pinned has shorter and shorter lines besides, without its place.
    """
    one = item.candidate
    full = whole(one)
    summary = one_line(one.summary or one.title or full, SUMMARY)
    bare = replace(one, path="", line=0, marks=())
    short = [(bare, "summary", one_line(summary, size)) for size in _SHORTER] if one.pinned else []
    if len(summary) >= len(full):
        return [(one, "full", full), *short]
    small = count(full) * 100 <= total * LARGE
    return [*([(one, "full", full)] if small else []), (one, "summary", summary), *short]


def _left_out(fitted: Fitted, any_ranked: bool) -> list[str]:
    notes = [] if fitted.chosen or not any_ranked else [NO_ROOM]
    if fitted.left:
        reasons = Counter(left.reason.partition(":")[0] for left in fitted.left)
        listed = ", ".join(f"{n} {reason}" for reason, n in sorted(reasons.items()))
        notes.append(f"left out: {listed}. Why: kl context why ID {UNKNOWN_ID}")
    return notes
