"""The picture of `kl arch show`: the layers as they are stacked, what each imports beside it, and the same as a table.

Pure. Box characters or ASCII; no colours (the command adds them). No line is wider than `WIDTH`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kl_hooks.arch.looking.overview import Arrow, Overview
from kl_hooks.arch.render import unassigned_count
from kl_hooks.model.manifest import Violation
from kl_hooks.model.text import one_line

WIDTH: Final = 100
_NAME: Final = 28
"""Columns for the name of a layer."""
_PLACES: Final = 3


@dataclass(frozen=True, slots=True)
class Signs:
    """What the picture is drawn with."""

    top: str
    middle: str
    bottom: str
    side: str
    used: str
    unused: str
    broken: str
    excepted: str
    more: str


BOX: Final = Signs("┌─┐", "├─┤", "└─┘", "│", "──▶", "··▷", "─x▶", "─e▶", "…")
ASCII: Final = Signs("+-+", "+-+", "+-+", "|", "-->", "..>", "-x>", "-e>", "...")


def picture(seen: Overview, box: bool) -> list[str]:
    """The lines: stack, legend, table. `box`: whether the terminal shows more than ASCII."""
    signs = BOX if box else ASCII
    width = max((len(_name(name, signs)) for name, _, _ in seen.layers), default=0)
    lines = [_rule(signs.top, width)]
    for place, (name, _, files) in enumerate(seen.layers):
        lines += [_rule(signs.middle, width)] if place else []
        beside = _beside([one for one in seen.arrows if one.source == name], files, signs, WIDTH - width - 8)
        for number, text in enumerate(beside):
            title = _name(name, signs) if number == 0 else ""
            lines.append(f"  {signs.side} {title:<{width}} {signs.side} {text}".rstrip())
    lines += [_rule(signs.bottom, width), *_legend(seen.arrows, signs), ""]
    return [*lines, *_table(seen, signs, width), "", _closing(seen)]


def _rule(ends: str, width: int) -> str:
    return f"  {ends[0]}{ends[1] * (width + 2)}{ends[2]}"


def _name(name: str, signs: Signs) -> str:
    """The name, its middle left out where it is too long: both ends tell layers apart."""
    text = one_line(name, 400)
    if len(text) <= _NAME:
        return text
    kept = _NAME - len(signs.more)
    return text[: kept - kept // 2] + signs.more + text[-(kept // 2) :]


def _beside(arrows: Sequence[Arrow], files: int, signs: Signs, width: int) -> list[str]:
    """What stands to the right of one layer."""
    used = [f"{_name(one.target, signs)} {one.imports}" for one in arrows if one.allowed and one.imports]
    unused = [_name(one.target, signs) for one in arrows if one.allowed and not one.imports]
    lines = [*_wrapped(signs.used, used, width), *_wrapped(signs.unused, unused, width)]
    for one in arrows:
        target = _name(one.target, signs)
        for violations, what in ((one.new, "NEW"), (one.accepted, "baseline")):
            if violations:
                start = f"{signs.broken} {target} {len(violations)} {what}"
                lines.append(_with_places(start, violations, signs, width))
        if one.excepted:
            lines.append(f"{signs.excepted} {target} {one.excepted} excepted")
    if not files:
        return ["(no files)", *lines]
    return lines or ["(depends on nothing)"]


def _wrapped(sign: str, words: Sequence[str], width: int) -> list[str]:
    """The sign and the words on as many lines as they need."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + len(word) + 3 <= width:
            lines[-1] += f"   {word}"
        else:
            lines.append(f"{sign if not lines else ' ' * len(sign)} {word}")
    return lines


def _with_places(start: str, violations: Sequence[Violation], signs: Signs, width: int) -> str:
    """The start and the first places that fit, `...` for the rest."""
    line, shown = start, 0
    for one in violations[:_PLACES]:
        place = one_line(f"{one.path.rpartition('/')[2]}:{one.line}", 60)
        if len(line) + len(place) + 2 + len(signs.more) + 2 > width:
            break
        line, shown = f"{line}  {place}", shown + 1
    return line if shown == len(violations) else f"{line}  {signs.more}"


def _legend(arrows: Iterable[Arrow], signs: Signs) -> list[str]:
    """What the signs in this picture mean; signs that are not in it are left out."""
    arrows = list(arrows)
    meant = [
        (signs.used, "allowed, with the number of imports", any(one.allowed and one.imports for one in arrows)),
        (signs.unused, "allowed, unused", any(one.allowed and not one.imports for one in arrows)),
        (signs.broken, "violation", any(one.new or one.accepted for one in arrows)),
        (signs.excepted, "excepted", any(one.excepted for one in arrows)),
    ]
    said = [f"{sign} {text}" for sign, text, there in meant if there]
    return ["  legend  " + "   ".join(said)] if said else []


def _table(seen: Overview, signs: Signs, width: int) -> list[str]:
    """The same in rows, for who reads line by line."""
    if not seen.arrows:
        return ["  no layer imports another, and none may"]
    width = max(width, 4)
    lines = [f"  {'from':<{width}}  {'to':<{width}}  imports  allowed"]
    for one in seen.arrows:
        if one.allowed and not one.imports:
            continue
        ends = f"  {_name(one.source, signs):<{width}}  {_name(one.target, signs):<{width}}"
        lines.append(f"{ends}  {one.imports:>7}  {_allowed(one)}")
    unused = sum(one.allowed and not one.imports for one in seen.arrows)
    return [*lines, *([f"  and {unused} allowed, unused ({signs.unused} above)"] if unused else [])]


def _allowed(one: Arrow) -> str:
    if one.allowed:
        return "yes"
    counts = ((len(one.new), "new"), (len(one.accepted), "in the baseline"), (one.excepted, "excepted"))
    return "no: " + ", ".join(f"{count} {what}" for count, what in counts if count)


def _closing(seen: Overview) -> str:
    new, accepted = len(seen.verdict.violations), len(seen.verdict.accepted)
    files = sum(files for _, _, files in seen.layers)
    baseline = f", {accepted} in the baseline" if accepted else ""
    found = f"{new} new violation{'' if new == 1 else 's'}{baseline}"
    outside = f"; {unassigned_count(seen.verdict)}" if seen.verdict.unassigned else ""
    return f"{len(seen.layers)} layers, {files} files: {found}{outside}"
