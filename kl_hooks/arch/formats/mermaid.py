"""A check as a Mermaid flowchart: the layers, their imports counted, violations dashed and red. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kl_hooks.arch.formats.findings import Checked, unassigned
from kl_hooks.model.manifest import Violation
from kl_hooks.model.text import one_line

Flows = Mapping[tuple[str, str], int]
"""(layer, layer) → how many imports cross from one to the other."""
_RED, _ORANGE, _GREY = "#cc0000", "#cc7700", "#888888"
_MOST_PLACES: Final = 2


def mermaid(found: Sequence[Checked], flows: Flows) -> list[str]:
    """The lines of the diagram; of several contents, everything that was found in any of them.

    `flows` count all imports between layers, forbidden ones too. Without a manifest: a diagram with nothing in it.
    """
    verdicts = [verdict for _, verdict in found if verdict]
    if not verdicts:
        return ["flowchart TD", "    %% no .kl/architecture.yaml"]
    names = list(dict.fromkeys(layer.name for verdict in verdicts for layer in reversed(verdict.manifest.layers)))
    ids = {name: f"l{number}" for number, name in enumerate(names)}
    new = _by_pair(one for verdict in verdicts for one in verdict.violations)
    accepted = _by_pair(one for verdict in verdicts for one in verdict.accepted)
    allowed = {
        (layer.name, to) for verdict in verdicts for layer in verdict.manifest.layers for to in layer.may_depend_on
    }
    lines = ["flowchart TD", *(f'    {ids[name]}["{label(name)}"]' for name in names)]
    styles: list[str] = []

    def arrow(pair: tuple[str, str], text: str, colour: str) -> None:
        source, target = (ids[name] for name in pair)
        lines.append(f'    {source} {"-.->" if colour else "-->"}|"{label(text)}"| {target}')
        styles.append(colour)

    for pair in sorted({*flows, *new, *accepted}, key=lambda pair: [names.index(name) for name in pair]):
        count = flows.get(pair, 0)
        left = count - len(new[pair]) - len(accepted[pair])
        if pair in allowed and count:
            arrow(pair, str(count), "")
        elif left > 0:
            arrow(pair, f"{left} excepted", _GREY)
        if accepted[pair]:
            arrow(pair, f"{len(accepted[pair])} accepted", _ORANGE)
        if new[pair]:
            arrow(pair, _said(new[pair]), _RED)
    for colour, numbers in _numbers(styles).items():
        lines.append(f"    linkStyle {','.join(numbers)} stroke:{colour},color:{colour}")
    invalid = [one for verdict in verdicts if verdict.invalid for one in verdict.problems]
    remarks = [*invalid, *(one for verdict in verdicts for one in verdict.loosened)]
    lines += [f"    %% {one_line(str(one), 200)}" for one in remarks]
    outside = len(unassigned(found))
    return [*lines, *([f"    %% {outside} file{'s' * (outside > 1)} in no layer"] if outside else [])]


def label(text: str) -> str:
    """Text inside the quotes of a label: whatever Mermaid or HTML could take for a sign of its own as its number."""
    return "".join(sign if sign.isalnum() or sign in " _-." else f"#{ord(sign)};" for sign in one_line(text, 80))


def _said(found: Sequence[Violation]) -> str:
    """`3 new, order.py:3, price.py:4 ...`, each file with its first line."""
    places = list(dict.fromkeys(f"{one.path.rpartition('/')[2]}:{one.line}" for one in found))
    more = " ..." if len(places) > _MOST_PLACES else ""
    return f"{len(found)} new, {', '.join(places[:_MOST_PLACES])}{more}"


def _by_pair(found: Iterable[Violation]) -> defaultdict[tuple[str, str], list[Violation]]:
    pairs: defaultdict[tuple[str, str], list[Violation]] = defaultdict(list)
    seen: Counter[tuple[str, str, int]] = Counter()
    for one in found:
        key = (one.fingerprint, one.path, one.line)
        if not seen[key]:
            pairs[one.source_layer, one.target_layer].append(one)
        seen[key] += 1
    return pairs


def _numbers(styles: Sequence[str]) -> dict[str, list[str]]:
    """Colour → numbers of the arrows that have it."""
    found: dict[str, list[str]] = {}
    for number, colour in enumerate(styles):
        if colour:
            found.setdefault(colour, []).append(str(number))
    return found
