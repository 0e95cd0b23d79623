"""`kl arch show`: the layers as they are, and how many imports lead from one to another, as a picture and a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kl_hooks.arch.baseline import apply_baseline
from kl_hooks.arch.content import WORKTREE, load_content, utc_day
from kl_hooks.arch.import_survey import Survey, survey_imports
from kl_hooks.arch.layer_check import Verdict, judge
from kl_hooks.arch.layers import edges, layer_lookup
from kl_hooks.arch.manifest import load_manifest
from kl_hooks.arch.report import unassigned_count
from kl_hooks.model.manifest import MANIFEST, Manifest, Violation
from kl_hooks.model.symbol import Link
from kl_hooks.model.text import one_line
from kl_hooks.workspace import Workspace

SCHEMA: Final = "kl.arch.show/1"


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one layer to another: what is imported, and what may be."""

    source: str
    target: str
    allowed: bool
    imports: int
    """All imports from the one to the other."""
    new: tuple[Violation, ...] = ()
    accepted: tuple[Violation, ...] = ()
    """Violations that the baseline accepts."""

    @property
    def excepted(self) -> int:
        """Forbidden imports that an exception of the manifest excuses."""
        direct = [one for one in (*self.new, *self.accepted) if one.method != "indirect import"]
        return 0 if self.allowed else max(self.imports - len(direct), 0)


@dataclass(frozen=True, slots=True)
class Overview:
    """All layers, the highest first, and the arrows between them."""

    layers: tuple[tuple[str, tuple[str, ...], int], ...]
    """Name, paths, number of files."""
    arrows: tuple[Arrow, ...]
    """In the order of the layers they start from and lead to, without those neither used nor allowed."""
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class CheckedWorktree:
    """The working tree checked against its manifest, with nothing recorded."""

    manifest: Manifest
    survey: Survey
    verdict: Verdict
    today: str
    """`YYYY-MM-DD`."""


def check_worktree(ws: Workspace) -> tuple[CheckedWorktree | None, tuple[str, ...]]:
    """Check the working tree (None without a manifest), and return remarks. Writes nothing. Raises as `run_check`."""
    seen = load_content(ws, WORKTREE)
    if seen.manifest is None:
        return None, ()
    manifest = load_manifest(ws.state.cache, MANIFEST, seen.manifest)
    found = survey_imports(ws, seen)
    verdict = judge(manifest, found, utc_day(ws), WORKTREE)
    if seen.baseline is not None:
        verdict, _ = apply_baseline(verdict, seen.baseline, found.modules)
    return CheckedWorktree(manifest, found, verdict, utc_day(ws)), found.notes


def load_overview(ws: Workspace) -> tuple[Overview | None, tuple[str, ...]]:
    """Return the working tree's layers (None without a manifest), and remarks. Raises as `run_check`."""
    seen, notes = check_worktree(ws)
    if seen is None:
        return None, notes
    return build_overview(
        seen.manifest, seen.survey.links_under(seen.manifest), seen.survey.modules, seen.verdict
    ), notes


def build_overview(manifest: Manifest, links: Iterable[Link], modules: Mapping[str, str], verdict: Verdict) -> Overview:
    """The layers and arrows of what a verdict was made on."""
    layer_of = layer_lookup(manifest.layers)
    files = Counter(layer.name for path in modules if (layer := layer_of(path)) is not None)
    imports = Counter((edge.source.name, edge.target.name) for edge in edges(manifest, links, modules))
    order = [layer.name for layer in reversed(manifest.layers)]
    allowed = {(layer.name, name) for layer in manifest.layers for name in layer.may_depend_on if name != layer.name}
    pairs = (
        allowed | set(imports) | {(v.source_layer, v.target_layer) for v in (*verdict.violations, *verdict.accepted)}
    )
    arrows = []
    for pair in sorted(pairs, key=lambda pair: (order.index(pair[0]), order.index(pair[1]))):
        new, accepted = (
            tuple(v for v in some if (v.source_layer, v.target_layer) == pair)
            for some in (verdict.violations, verdict.accepted)
        )
        arrows.append(Arrow(*pair, pair in allowed, imports[pair], new, accepted))
    layers = tuple((layer.name, layer.paths, files[layer.name]) for layer in reversed(manifest.layers))
    return Overview(layers, tuple(arrows), verdict)


def overview_to_dict(seen: Overview) -> dict[str, Any]:
    """As `--format json` prints it."""
    return {
        "schema": SCHEMA,
        "manifest": seen.verdict.manifest.path,
        "unassigned": len(seen.verdict.unassigned),
        "layers": [{"name": name, "paths": list(paths), "files": files} for name, paths, files in seen.layers],
        "arrows": [
            {
                "from": one.source,
                "to": one.target,
                "allowed": one.allowed,
                "imports": one.imports,
                "new": [f"{v.path}:{v.line}" for v in one.new],
                "baseline": [f"{v.path}:{v.line}" for v in one.accepted],
                "excepted": one.excepted,
            }
            for one in seen.arrows
        ],
    }


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
    """The name, shortened in the middle where it is too long: layers differ at both ends."""
    text = one_line(name, 400)
    if len(text) <= _NAME:
        return text
    columns = _NAME - len(signs.more)
    return text[: columns - columns // 2] + signs.more + text[-(columns // 2) :]


def _beside(arrows: Sequence[Arrow], files: int, signs: Signs, width: int) -> list[str]:
    """The text to the right of one layer."""
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
    """The meaning of the signs that are in this picture."""
    arrows = list(arrows)
    meant = [
        (signs.used, "allowed, with the number of imports", any(one.allowed and one.imports for one in arrows)),
        (signs.unused, "allowed, unused", any(one.allowed and not one.imports for one in arrows)),
        (signs.broken, "violation", any(one.new or one.accepted for one in arrows)),
        (signs.excepted, "excepted", any(one.excepted for one in arrows)),
    ]
    entries = [f"{sign} {text}" for sign, text, there in meant if there]
    return ["  legend  " + "   ".join(entries)] if entries else []


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
