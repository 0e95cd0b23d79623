"""The layers as they are: how many files each has, and how many imports lead from one to another. Pure at its heart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kl_hooks.arch.baseline.ratchet import held
from kl_hooks.arch.edges import edges
from kl_hooks.arch.kept import load_manifest
from kl_hooks.arch.paths import owner
from kl_hooks.arch.run import day, judge
from kl_hooks.arch.source import WORKTREE, content
from kl_hooks.arch.survey import Survey, survey
from kl_hooks.arch.verdict import Verdict
from kl_hooks.model.manifest import MANIFEST, Manifest, Violation
from kl_hooks.model.symbol import Link
from kl_hooks.workspace.open import Workspace

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
    """In the order of the layers they start from and lead to; those neither used nor allowed are left out."""
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Seen:
    """The work tree held against its manifest, nothing of it recorded."""

    manifest: Manifest
    survey: Survey
    verdict: Verdict
    today: str
    """`YYYY-MM-DD`."""


def survey_now(ws: Workspace) -> tuple[Seen | None, tuple[str, ...]]:
    """The work tree, None without a manifest; and remarks. Nothing is written. Errors as `run.check`."""
    seen = content(ws, WORKTREE)
    if seen.manifest is None:
        return None, ()
    manifest = load_manifest(ws.state.cache, MANIFEST, seen.manifest)
    found = survey(ws, seen)
    verdict = judge(manifest, found, day(ws), WORKTREE)
    if seen.baseline is not None:
        verdict, _ = held(verdict, seen.baseline, found.modules)
    return Seen(manifest, found, verdict, day(ws)), found.notes


def look(ws: Workspace) -> tuple[Overview | None, tuple[str, ...]]:
    """The work tree's layers, None without a manifest; and remarks. Errors as `run.check`."""
    seen, notes = survey_now(ws)
    if seen is None:
        return None, notes
    return overview(seen.manifest, seen.survey.links_under(seen.manifest), seen.survey.modules, seen.verdict), notes


def overview(manifest: Manifest, links: Iterable[Link], modules: Mapping[str, str], verdict: Verdict) -> Overview:
    """The layers and arrows of what a verdict was made on."""
    layer_of = owner(manifest.layers)
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


def plain(seen: Overview) -> dict[str, Any]:
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
