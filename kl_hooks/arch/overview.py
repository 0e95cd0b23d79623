"""`kl arch show` and `kl arch explain`: the layers as they are, and why a file or module is judged
as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from kl_hooks.arch.baseline import apply_baseline
from kl_hooks.arch.content import WORKTREE, ended_decisions, load_content, utc_day
from kl_hooks.arch.import_survey import Survey, survey_imports
from kl_hooks.arch.layer_check import Verdict, is_excepted, is_expired, judge
from kl_hooks.arch.layers import TYPE_CHECKING_METHOD, Edge, covers, edges, layer_lookup
from kl_hooks.arch.manifest import load_manifest
from kl_hooks.arch.report import unassigned_count
from kl_hooks.code.languages import EXTRA, is_file_module, is_source
from kl_hooks.code.modules import PATH_RULE, RULES, Mapped, explain, imported_names, plain_name
from kl_hooks.errors import UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.manifest import MANIFEST, Layer, Manifest, Violation
from kl_hooks.model.symbol import Link
from kl_hooks.model.text import counted, one_line
from kl_hooks.workspace import Workspace


class Arrow(NamedTuple):
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
        if self.allowed:
            return 0
        return max(self.imports - len(direct), 0)


class Overview(NamedTuple):
    """All layers, the highest first, and the arrows between them."""

    layers: tuple[tuple[str, tuple[str, ...], int], ...]
    """Name, paths, number of files."""
    arrows: tuple[Arrow, ...]
    """In the order of the layers they start from and lead to, without those neither used nor
    allowed.
    """
    verdict: Verdict

    def picture(self, box: bool) -> list[str]:
        """The lines: stack, legend, table. `box`: whether the terminal shows more than ASCII."""
        signs = _BOX if box else _ASCII
        width = max((len(_name(name, signs)) for name, _, _ in self.layers), default=0)
        lines = [_rule(signs.top, width)]
        for place, (name, _, files) in enumerate(self.layers):
            if place:
                lines += [_rule(signs.middle, width)]
            beside = _beside(
                [one for one in self.arrows if one.source == name], files, signs, WIDTH - width - 8
            )
            for number, text in enumerate(beside):
                if number == 0:
                    title = _name(name, signs)
                else:
                    title = ""
                lines.append(f"  {signs.side} {title:<{width}} {signs.side} {text}".rstrip())
        lines += [_rule(signs.bottom, width), *_legend(self.arrows, signs), ""]
        return [*lines, *_table(self, signs, width), "", _closing(self)]


class CheckedWorktree(NamedTuple):
    """The working tree checked against its manifest, with nothing recorded."""

    manifest: Manifest
    survey: Survey
    verdict: Verdict
    today: str
    """`YYYY-MM-DD`."""

    def explanation(self, what: str, paths: list[str]) -> dict[str, Any]:
        """The explanation of a layer, module or file as plain data.

        `paths`: how `what` may be read as a path from the repository's root. UsageProblem where it
        is none of these.
        """
        modules = self.survey.modules
        layer = next((one for one in self.manifest.layers if one.name == what), None)
        named = [path for path, module in modules.items() if what in (module, plain_name(module))]
        inits = [f"{path.rstrip('/')}/__init__.py" for path in paths if path]
        files = [path for path in dict.fromkeys((*paths, *inits)) if path in modules] or (
            [] if layer else sorted(named)
        )
        if files:
            return {
                "kind": "file",
                **_file(self, files[0]),
                "others": files[1:] if named else [],
            }
        if layer is not None:
            return {"kind": "layer", **_layer(self, layer)}
        top = self.survey.content.repo.top
        if any(
            path.rstrip("/") and not path.endswith(".py") and (top / path).is_file()
            for path in paths
        ):
            hint = "Files that kl reads are called *.py, *.ts, *.js, *.rs and the like."
            if any(is_source(path) for path in paths):
                hint = f"No scanner reads it. Install it: {EXTRA}"
            raise UsageProblem(
                f'"{what}" is there, but not judged.', place="kl arch explain", hint=hint
            )
        names_here = [
            *(one.name for one in self.manifest.layers),
            *map(plain_name, modules.values()),
            *modules,
        ]
        near = get_close_matches(what, names_here, 1) or get_close_matches(
            paths[0] if paths else what, names_here, 1
        )
        if near:
            hint = f'Did you mean "{near[0]}"?'
        else:
            hint = "Give a source file, a module or a layer. See: kl arch show"
        raise UsageProblem(
            f'no such file, module or layer: "{what}".', place="kl arch explain", hint=hint
        )


def check_worktree(ws: Workspace) -> tuple[CheckedWorktree | None, tuple[str, ...]]:
    """Check the working tree (None without a manifest), and return remarks. Writes nothing. Raises
    as `run_check`.
    """
    content = load_content(ws, WORKTREE)
    if content.manifest is None:
        return None, ()
    manifest = load_manifest(ws.state.cache, MANIFEST, content.manifest)
    survey = survey_imports(ws, content, manifest)
    verdict = judge(manifest, survey, utc_day(ws), WORKTREE)
    if content.baseline is not None:
        verdict, _ = apply_baseline(verdict, content.baseline, survey.modules)
    ended = (f"warning: {problem}" for problem in ended_decisions(ws, content, manifest))
    return CheckedWorktree(manifest, survey, verdict, utc_day(ws)), (*survey.notes, *ended)


def load_overview(ws: Workspace) -> tuple[Overview | None, tuple[str, ...]]:
    """Return the working tree's layers (None without a manifest), and remarks. Raises as
    `run_check`.
    """
    checked, notes = check_worktree(ws)
    if checked is None:
        return None, notes
    return build_overview(
        checked.manifest,
        checked.survey.links_under(checked.manifest),
        checked.survey.modules,
        checked.verdict,
    ), notes


def build_overview(
    manifest: Manifest, links: Iterable[Link], modules: Mapping[str, str], verdict: Verdict
) -> Overview:
    """The layers and arrows of what a verdict was made on."""
    layer_of = layer_lookup(manifest.layers)
    files = Counter(layer.name for path in modules if (layer := layer_of(path)) is not None)
    imports = Counter(
        (edge.source.name, edge.target.name) for edge in edges(manifest, links, modules)
    )
    order = [layer.name for layer in reversed(manifest.layers)]
    allowed = {
        (layer.name, name)
        for layer in manifest.layers
        for name in layer.may_depend_on
        if name != layer.name
    }
    pairs = (
        allowed
        | set(imports)
        | {(v.source_layer, v.target_layer) for v in (*verdict.violations, *verdict.accepted)}
    )
    arrows = []
    for pair in sorted(pairs, key=lambda pair: (order.index(pair[0]), order.index(pair[1]))):
        new, accepted = (
            tuple(v for v in some if (v.source_layer, v.target_layer) == pair)
            for some in (verdict.violations, verdict.accepted)
        )
        arrows.append(Arrow(*pair, pair in allowed, imports[pair], new, accepted))
    layers = tuple(
        (layer.name, layer.paths, files[layer.name]) for layer in reversed(manifest.layers)
    )
    return Overview(layers, tuple(arrows), verdict)


def overview_to_dict(overview: Overview | None) -> dict[str, Any]:
    """Return the overview as `--format json` prints it; None: there is no manifest."""
    if overview is None:
        return {"manifest": None, "layers": [], "arrows": []}
    return {
        "manifest": overview.verdict.manifest.path,
        "unassigned": len(overview.verdict.unassigned),
        "layers": [
            {"name": name, "paths": list(paths), "files": files}
            for name, paths, files in overview.layers
        ],
        "arrows": [
            {
                "from": arrow.source,
                "to": arrow.target,
                "allowed": arrow.allowed,
                "imports": arrow.imports,
                "new": [f"{v.path}:{v.line}" for v in arrow.new],
                "baseline": [f"{v.path}:{v.line}" for v in arrow.accepted],
                "excepted": arrow.excepted,
            }
            for arrow in overview.arrows
        ],
    }


WIDTH: Final = 100
_NAME: Final = 28
"""Columns for the name of a layer."""
_PLACES: Final = 3


class Signs(NamedTuple):
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


_BOX: Final = Signs("┌─┐", "├─┤", "└─┘", "│", "──▶", "··▷", "─x▶", "─e▶", "…")
_ASCII: Final = Signs("+-+", "+-+", "+-+", "|", "-->", "..>", "-x>", "-e>", "...")


def line_color(line: str) -> dict[str, int]:
    """From which character on a line of the picture is red (a violation) or yellow (accepted,
    excepted).

    No information is in the color alone.
    """
    signs = [
        sign
        for some in (_BOX, _ASCII)
        for sign in (f" {some.broken} ", f" {some.excepted} ", " no: ")
    ]
    start = max(line.rfind(sign) for sign in signs) + 1
    if start == 0 or line.startswith("  legend"):
        return {}
    new = " NEW" in line[start:] or " new" in line[start:]
    return {"red" if new else "yellow": start}


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
    used = [
        f"{_name(arrow.target, signs)} {arrow.imports}"
        for arrow in arrows
        if arrow.allowed and arrow.imports
    ]
    unused = [_name(arrow.target, signs) for arrow in arrows if arrow.allowed and not arrow.imports]
    lines = [*_wrapped(signs.used, used, width), *_wrapped(signs.unused, unused, width)]
    for arrow in arrows:
        target = _name(arrow.target, signs)
        for violations, what in ((arrow.new, "NEW"), (arrow.accepted, "baseline")):
            if violations:
                start = f"{signs.broken} {target} {len(violations)} {what}"
                lines.append(_with_places(start, violations, signs, width))
        if arrow.excepted:
            lines.append(f"{signs.excepted} {target} {arrow.excepted} excepted")
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
    for violation in violations[:_PLACES]:
        place = one_line(f"{violation.path.rpartition('/')[2]}:{violation.line}", 60)
        if len(line) + len(place) + 2 + len(signs.more) + 2 > width:
            break
        line, shown = f"{line}  {place}", shown + 1
    if shown == len(violations):
        return line
    return f"{line}  {signs.more}"


def _legend(arrows: Iterable[Arrow], signs: Signs) -> list[str]:
    """The meaning of the signs that are in this picture."""
    arrows = list(arrows)
    meant = [
        (
            signs.used,
            "allowed, with the number of imports",
            any(one.allowed and one.imports for one in arrows),
        ),
        (signs.unused, "allowed, unused", any(one.allowed and not one.imports for one in arrows)),
        (signs.broken, "violation", any(one.new or one.accepted for one in arrows)),
        (signs.excepted, "excepted", any(one.excepted for one in arrows)),
    ]
    entries = [f"{sign} {text}" for sign, text, there in meant if there]
    if not entries:
        return []
    return ["  legend  " + "   ".join(entries)]


def _table(overview: Overview, signs: Signs, width: int) -> list[str]:
    """The same in rows, for who reads line by line."""
    if not overview.arrows:
        return ["  no layer imports another, and none may"]
    width = max(width, 4)
    lines = [f"  {'from':<{width}}  {'to':<{width}}  imports  allowed"]
    for arrow in overview.arrows:
        if arrow.allowed and not arrow.imports:
            continue
        ends = f"  {_name(arrow.source, signs):<{width}}  {_name(arrow.target, signs):<{width}}"
        lines.append(f"{ends}  {arrow.imports:>7}  {_allowed(arrow)}")
    unused = sum(arrow.allowed and not arrow.imports for arrow in overview.arrows)
    return [*lines, *([f"  and {unused} allowed, unused ({signs.unused} above)"] if unused else [])]


def _allowed(arrow: Arrow) -> str:
    if arrow.allowed:
        return "yes"
    counts = (
        (len(arrow.new), "new"),
        (len(arrow.accepted), "in the baseline"),
        (arrow.excepted, "excepted"),
    )
    return "no: " + ", ".join(f"{count} {what}" for count, what in counts if count)


def _closing(overview: Overview) -> str:
    new = len(overview.verdict.violations)
    accepted = len(overview.verdict.accepted)
    files = sum(files for _, _, files in overview.layers)
    if accepted:
        baseline = f", {accepted} in the baseline"
    else:
        baseline = ""
    violations_text = f"{counted(new, 'new violation')}{baseline}"
    if overview.verdict.unassigned:
        outside = f"; {unassigned_count(overview.verdict)}"
    else:
        outside = ""
    return (
        f"{counted(len(overview.layers), 'layer')}, {counted(files, 'file')}: "
        f"{violations_text}{outside}"
    )


def _file(checked: CheckedWorktree, path: str) -> dict[str, Any]:
    survey = checked.survey
    mapped = _mapped(survey, path)
    layer = layer_lookup(checked.manifest.layers)(path)
    covering = sorted(
        (
            (own, owner_layer)
            for owner_layer in checked.manifest.layers
            for own in owner_layer.paths
            if covers(own, path)
        ),
        # the longest path owns the file, as in `layer_lookup`
        key=lambda pair: -len(pair[0].rstrip("/")) if pair[0] != "./" else 0,
    )
    across = list(_across(checked))
    return {
        "path": path,
        "module": mapped.module,
        "root": mapped.root,
        "rule": mapped.rule,
        "because": RULES[mapped.rule],
        "same_name": list(mapped.same),
        "layer": layer.name if layer else None,
        "owned_by": covering[0][0] if covering else None,
        "also_covered_by": [
            {"layer": owner_layer.name, "path": own} for own, owner_layer in covering[1:]
        ],
        "may_depend_on": list(layer.may_depend_on) if layer else [],
        "line": f"{checked.manifest.path}:{layer.line}" if layer else checked.manifest.path,
        "decision": layer.decision if layer else "",
        "problem": next((str(problem) for problem in survey.unread if problem.path == path), ""),
        "imports": [row for edge, row in across if edge.link.path == path],
        "imported_by": [row for edge, row in across if edge.imported == plain_name(mapped.module)],
    }


def _mapped(survey: Survey, path: str) -> Mapped:
    """How the module of a file got its name."""
    if is_file_module(path):
        return Mapped(path, "", PATH_RULE)
    every = [entry.path for entry in survey.content.entries]
    mapped = explain(every, imported_names(survey.facts.values()), path)
    assert mapped is not None, "what has a module is named by these rules"
    return mapped


def _across(checked: CheckedWorktree) -> Iterator[tuple[Edge, dict[str, Any]]]:
    """Every import across layers with what is decided about it; those for type checkers only as
    well.
    """
    everything = checked.manifest._replace(type_checking_imports="enforce")
    accepted = {
        (accepted_violation.path, accepted_violation.line, accepted_violation.imported)
        for accepted_violation in checked.verdict.accepted
    }
    for edge in edges(everything, checked.survey.links_under(everything), checked.survey.modules):
        yield (
            edge,
            {
                "path": edge.link.path,
                "line": edge.link.line,
                "importer": edge.importer,
                "imported": edge.imported,
                "from": edge.source.name,
                "to": edge.target.name,
                "method": edge.link.method,
                "decided": _decided(
                    checked, edge, (edge.link.path, edge.link.line, edge.imported) in accepted
                ),
            },
        )


def _decided(checked: CheckedWorktree, edge: Edge, accepted: bool) -> str:
    """`allowed`, `ignored …`, `excepted …`, `in the baseline` or `forbidden`."""
    if edge.allowed:
        return "allowed"
    if (
        edge.link.method == TYPE_CHECKING_METHOD
        and checked.manifest.type_checking_imports == "ignore"
    ):
        return "ignored: for type checkers only"
    matching = [
        exception for exception in checked.manifest.exceptions if is_excepted(exception, edge)
    ]
    for exception in matching:
        if not is_expired(exception, checked.today):
            if exception.until:
                until = f" until {exception.until}"
            else:
                until = ""
            return f"excepted{until} ({checked.manifest.path}:{exception.line})"
    if matching:
        ended = f": its exception ended on {matching[0].until}"
    else:
        ended = ""
    if accepted:
        return "in the baseline"
    return f"forbidden{ended}"


def _layer(checked: CheckedWorktree, layer: Layer) -> dict[str, Any]:
    whole: Overview = build_overview(
        checked.manifest,
        checked.survey.links_under(checked.manifest),
        checked.survey.modules,
        checked.verdict,
    )
    layer_of = layer_lookup(checked.manifest.layers)
    counts = _counts(checked.survey.modules, layer, layer_of)
    imports = {(one.source, one.target): one.imports for one in whole.arrows}
    return {
        "layer": layer.name,
        "paths": [{"path": path, "files": count} for path, count in counts.items()],
        "files": sum(counts.values()),
        "line": f"{checked.manifest.path}:{layer.line}",
        "decision": layer.decision,
        "may_depend_on": [
            {"layer": to, "imports": imports.get((layer.name, to), 0)} for to in layer.may_depend_on
        ],
        "used_by": [
            {"layer": one.source, "imports": one.imports, "allowed": one.allowed}
            for one in whole.arrows
            if one.target == layer.name and one.imports
        ],
        "broken": [
            row
            for edge, row in _across(checked)
            if edge.source.name == layer.name and _counts_as_broken(row)
        ],
    }


def _counts_as_broken(row: Mapping[str, Any]) -> bool:
    return not str(row["decided"]).startswith(("allowed", "ignored"))


def _counts(modules: Mapping[str, str], layer: Layer, layer_of: Any) -> dict[str, int]:
    """Path of the layer → files that it owns through this path (the longest that covers them)."""
    file_counts = dict.fromkeys(layer.paths, 0)
    for file in modules:
        if layer_of(file) is layer:
            # `./` has two signs, but covers everything: no path is shorter
            path = max(
                (own for own in layer.paths if covers(own, file)),
                key=lambda own: len(own) if own != "./" else 0,
            )
            file_counts[path] += 1
    return file_counts
