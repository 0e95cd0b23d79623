"""A review as a plain state: what is shown, what was decided, and the way back. Nothing is done until it ends. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from kl_hooks.model.problem import Problem

DOES: Final = ("approve", "reject", "skip", "edit")
KEYS: Final[Mapping[str, str]] = {
    "a": "approve", "r": "reject", "s": "skip", "": "skip", "e": "edit", "u": "undo", "q": "quit", "?": "help",
}  # fmt: skip
"""Key → what it does; the whole word does too."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done with one memory."""

    id: str
    do: str
    """`approve`, `reject` or `skip`."""
    text: str = ""
    """What it shall say from now on; empty: what it says."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Review:
    """How far a review has come."""

    ids: tuple[str, ...]
    made: tuple[Decision, ...] = ()
    """One for each that was shown, in their order."""
    text: str = ""
    """What the one that is shown shall say, where it was edited."""
    ended: bool = False

    @property
    def at(self) -> str:
        """The id that is shown; empty: the review is over."""
        return "" if self.ended or len(self.made) >= len(self.ids) else self.ids[len(self.made)]

    @property
    def decided(self) -> tuple[Decision, ...]:
        """What is to be done: skips are nothing, but an edited text is kept."""
        return tuple(one for one in self.made if one.do != "skip" or one.text)


def step(review: Review, word: str, said: str = "") -> Review:
    """The review after one answer; `said` is the new text of `edit`, or the reason of `reject`.

    An answer that is none changes nothing. `undo` shows the one before again, as it was before it was decided.
    """
    do = KEYS.get(word.strip().lower(), word.strip().lower())
    if do == "quit":
        return replace(review, ended=True)
    if do == "undo":
        return replace(review, made=review.made[:-1], text="", ended=False)
    if not review.at or do not in DOES:
        return review
    if do == "edit":
        return replace(review, text=said.strip() or review.text)
    reason = said.strip() if do == "reject" else ""
    return replace(review, made=(*review.made, Decision(review.at, do, review.text, reason)), text="")


def answers(plain: Any, place: str) -> tuple[list[Decision], list[Problem]]:
    """The decisions in `{"answers": [{"id", "do", "text", "reason"}]}` (or the list alone), and all that is wrong."""
    given = plain.get("answers") if isinstance(plain, Mapping) else plain
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        hint = 'Write {"answers": [{"id": "MEM-…", "do": "approve"}]}.'
        return [], [Problem(place, 0, 0, "holds no list of answers.", hint)]
    made: list[Decision] = []
    problems: list[Problem] = []
    for number, one in enumerate(given, 1):
        wrong = _wrong(one, {decision.id for decision in made})
        if wrong:
            problems.append(Problem(place, 0, 0, f"answer {number}: {wrong}"))
        else:
            made.append(_decision(one))
    return made, problems


def _decision(one: Mapping[str, Any]) -> Decision:
    do = "skip" if one["do"] == "edit" else one["do"]
    return Decision(
        one["id"].strip().upper()[:4] + one["id"].strip()[4:].lower(),
        do,
        one.get("text") or "",
        one.get("reason") or "",
    )


def _wrong(one: Any, seen: set[str]) -> str:
    if not isinstance(one, Mapping):
        return "must be an object with id and do."
    for key in ("id", "do"):
        if not isinstance(one.get(key), str) or not one[key].strip():
            return f'"{key}" is missing.'
    if one["do"] not in DOES:
        return f'"do" must be one of: {", ".join(DOES)}.'
    for key in ("text", "reason"):
        if not isinstance(one.get(key) or "", str):
            return f'"{key}" must be text.'
    if one["do"] == "edit" and not (one.get("text") or "").strip():
        return '"edit" needs "text".'
    if strange := [key for key in one if key not in ("id", "do", "text", "reason")]:
        return f'"{strange[0]}" is not known. Known: id, do, text, reason.'
    return f"{one['id']} is answered twice." if one["id"].strip().lower() in {i.lower() for i in seen} else ""
