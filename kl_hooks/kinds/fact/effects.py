"""What answers of the interview change: thresholds of gates, the default mode, what roles ask about.

An answer takes effect when it is given, and again on records that are made later (`kl seed --system` after the
interview). Only a person's answer does: what an agent answers is a fact with an agent's name, and changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.kinds.fact.kind import KIND
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.records.ask import Wanted, every
from kl_hooks.records.interview.sentences import sentences
from kl_hooks.records.liveness import is_live
from kl_hooks.records.write import change

if TYPE_CHECKING:
    from kl_hooks.records.interview.question import Place
    from kl_hooks.workspace.open import Workspace

Effect = Callable[[str, Sequence[Record]], Mapping[str, Mapping[str, Any]]]
"""(answer, live records of the kind) → ID → fields that change."""
_WORDS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER: Final = re.compile(rf"\b(?:(\d{{1,3}})|({'|'.join(_WORDS)}))\b", re.IGNORECASE)
_SIZE: Final = re.compile(
    r"(?:complexity|size)\D{0,20}(\d{1,2})|(?<![\d.])(\d{1,2})\s*(?:and|or)\s+(?:more|above|up|higher)", re.IGNORECASE
)
"""From which complexity on: `complexity 4`, `4 and more`."""
_LEAST: Final = re.compile(
    r"(?:at least|minimum|not below|score\D{0,12})\s*(\d{1,3})|(\d{1,3})\s*(?:%|percent|of 100|points)", re.IGNORECASE
)
"""At least how much: `at least 60`, `80 %`."""


def take_effect(ws: Workspace, key: str, answer: str, adds_to: Place | None, before: str, by: str) -> list[Record]:
    """Puts an answer where it takes effect; the records that it changed. `before`: the answer it takes the place of."""
    if adds_to is not None:
        kind, effect = adds_to.kind, _listed(adds_to, before)
    elif key in _EFFECTS:
        kind, effect = _EFFECTS[key]
    else:
        return []
    return _applied(ws, effect(answer, _live(ws, kind)), by)


def is_understood(ws: Workspace, key: str, answer: str) -> bool:
    """False for an answer that should change gates or modes, and names no number and no mode of theirs."""
    if key not in _EFFECTS:
        return True
    kind, effect = _EFFECTS[key]
    records = _live(ws, kind)
    return not records or bool(effect(answer, records))


def late_effects(ws: Workspace, made: Iterable[Record]) -> list[Record]:
    """The same for records that were made after the answers were given."""
    from kl_hooks.kinds.fact.questions import QUESTIONS

    new = {one.id: one for one in made}
    answers = {
        one.text("answers"): one.text("answer")
        for one in every(ws, Wanted((KIND.name,), ("current",)))
        if one.authority == "human" and is_live(ws, one)
    }
    changed: dict[str, Record] = {}
    for question in QUESTIONS:
        if question.key not in answers or (question.adds_to is None and question.key not in _EFFECTS):
            continue
        kind, effect = (
            (question.adds_to.kind, _listed(question.adds_to, "")) if question.adds_to else _EFFECTS[question.key]
        )
        found = effect(answers[question.key], _live(ws, kind))
        some = {i: values for i, values in found.items() if i in new}
        changed |= {one.id: one for one in _applied(ws, some, "interview")}
    return list(changed.values())


def _live(ws: Workspace, kind: str) -> list[Record]:
    return [one for one in every(ws, Wanted((kind,))) if is_live(ws, one)] if kind in ws.kinds else []


def _applied(ws: Workspace, found: Mapping[str, Mapping[str, Any]], by: str) -> list[Record]:
    from kl_hooks.records.ask import by_ids

    changed = []
    for record in by_ids(ws, list(found)):
        values = {
            n: v
            for n, v in found[record.id].items()
            if record.values.get(n) != (tuple(v) if isinstance(v, list) else v)
        }
        if values:
            changed.append(change(ws, record, values, how="interview", by=by))
    return changed


def _listed(place: Place, before: str) -> Effect:
    """Adds the sentences of an answer to a list of the record of this name, in place of those of the one before."""

    def effect(answer: str, records: Sequence[Record]) -> dict[str, dict[str, Any]]:
        record = next((one for one in records if one.text(place.kind).casefold() == place.value), None)
        if record is None:
            return {}
        said, old = sentences(answer) or (one_line(answer, 200),), sentences(before) or (one_line(before, 200),)
        kept = [one for one in record.many(place.field) if one not in old or one in said]
        return {record.id: {place.field: [*kept, *(one for one in said if one not in kept)]}}

    return effect


def _coverage(answer: str, gates: Sequence[Record]) -> dict[str, dict[str, Any]]:
    """Every gate that demands coverage demands this much."""
    least = _percent(answer)
    if least is None:
        return {}
    demanding = [one for one in gates if _demands(one, "coverage")]
    return {one.id: {"coverage_required": True, "coverage_threshold": least} for one in demanding}


def _architecture(answer: str, gates: Sequence[Record]) -> dict[str, dict[str, Any]]:
    """From this complexity on a review of at least this score; of the types of work that are reviewed at all."""
    size = next((int(a or b) for a, b in _SIZE.findall(answer)), None)
    least = _percent(_SIZE.sub("", answer))
    if size is None and least is None:
        return {}
    types = {one.text("task_type") for one in gates if _demands(one, "arch_review")}
    found: dict[str, dict[str, Any]] = {}
    for one in (gate for gate in gates if gate.text("task_type") in types):
        wanted = _demands(one, "arch_review") if size is None else one.number("complexity_to", 10) >= size
        number = least if least is not None else one.number("arch_review_threshold")
        found[one.id] = {"arch_review_required": wanted}
        if wanted and number:
            found[one.id]["arch_review_threshold"] = number
    return found


def _mode(answer: str, modes: Sequence[Record]) -> dict[str, dict[str, Any]]:
    """The mode that the answer names first is the default; its own words say when to use it."""
    said = " ".join(re.findall(r"\w+", answer.casefold()))
    places: dict[str, int] = {}
    for one in modes:
        names = (" ".join(re.findall(r"\w+", name.casefold())) for name in (one.text("mode"), one.title))
        at = [seen.start() for name in names if name and (seen := re.search(rf"\b{re.escape(name)}\b", said))]
        if at:
            places[one.id] = min(at)
    if not places:
        return {}
    chosen = min(places, key=lambda name: (places[name], name))
    found: dict[str, dict[str, Any]] = {
        one.id: {"default": None} for one in modes if one.id != chosen and one.values.get("default")
    }
    record = next(one for one in modes if one.id == chosen)
    word = f"By default: {one_line(answer, 200)}"
    kept = [one for one in record.many("when_to_use") if not one.startswith("By default: ")]
    return found | {chosen: {"default": True, "when_to_use": [*kept, word]}}


def _turns(answer: str, modes: Sequence[Record]) -> dict[str, dict[str, Any]]:
    """Modes that work in turns stop after so many."""
    most = _number(answer)
    turning = [
        one for one in modes if one.number("max_turns") or "turn" in f"{one.text('mode')} {one.title}".casefold()
    ]
    return {} if not most else {one.id: {"max_turns": most} for one in turning}


def _demands(gate: Record, name: str) -> bool:
    required = gate.values.get(f"{name}_required")
    return required is True or (required is None and bool(gate.number(f"{name}_threshold")))


def _percent(text: str) -> int | None:
    found = next((int(a or b) for a, b in _LEAST.findall(text)), None)
    number = found if found is not None else _number(text)
    return number if number is not None and 0 <= number <= 100 else None


def _number(text: str) -> int | None:
    found = _NUMBER.search(text)
    return (int(found[1]) if found[1] else _WORDS.index(found[2].lower())) if found else None


_EFFECTS: Final[Mapping[str, tuple[str, Effect]]] = {
    "coverage_threshold": ("gate", _coverage),
    "arch_review_threshold": ("gate", _architecture),
    "implementation_mode_preference": ("mode", _mode),
    "max_auto_turns": ("mode", _turns),
}
"""Key of a question → the kind that its answer changes, and how."""
