"""Imports that no statement shows and recorded test runs saw: `importlib` with a computed name,
plugins, `sys.path`.

They are reported where the layers forbid them, and are violations only where the manifest has
`runtime_imports: forbid`: what runs on this machine were recorded decides what is found, so another
clone may find less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kl_hooks.arch.import_survey import Survey
from kl_hooks.arch.layer_check import Verdict, is_excepted, is_expired
from kl_hooks.arch.layers import EdgeFinder
from kl_hooks.errors import EnvironmentProblem, KlError
from kl_hooks.model.manifest import Violation
from kl_hooks.model.problem import Problem
from kl_hooks.model.symbol import Link
from kl_hooks.model.text import name_list
from kl_hooks.workspace import Workspace

_METHOD: Final = "runtime-only import"
_NAMED: Final = 3
_RUNS: Final = 5
"""The newest runs that are asked."""
_NO_RUNS: Final = "no recorded run has executed symbols, which CPython 3.12 and newer record"


def imports_seen(ws: Workspace, modules: Mapping[str, str]) -> dict[Link, str]:
    """The imports between these files (path → module) that only the newest recorded runs show → the
    run.

    KlError where the store can't be read.
    """
    # looked for first: most checks need not load what reads and imports runs
    if not _has_runs(ws):
        return {}
    from kl_hooks.evidence.executed import runtime_imports
    from kl_hooks.evidence.ingestion import sync_evidence

    sync_evidence(ws)
    with ws.store.reading() as db:
        if db is not None:
            run_of_import = runtime_imports(db, _RUNS)
        else:
            run_of_import = {}
    pairs = {
        pair: (modules[pair[0]], modules[pair[1]])
        for pair in run_of_import
        if modules.keys() >= set(pair)
    }
    # the packages above a module are imported with it
    above = {(source, target[:at]) for source, target in pairs.values() for at in _dots(target)}
    return {
        Link(
            f"namespace:{source}", "imports", f"namespace:{target}", importer, 1, _METHOD
        ): run_of_import[importer, one]
        for (importer, one), (source, target) in sorted(pairs.items())
        if (source, target) not in above
    }


def _has_runs(ws: Workspace) -> bool:
    """Whether a run of which executed symbols are known is stored, or waits to be."""
    if any(ws.state.spool.glob("*.executed")):
        return True
    if not ws.store.exists():
        return False
    with ws.store.reading() as db:
        return bool(
            db and db.has_table("executed_run") and db.row("SELECT 1 FROM executed_run LIMIT 1")
        )


def _dots(name: str) -> list[int]:
    return [at for at, sign in enumerate(name) if sign == "."]


def with_runtime_imports(ws: Workspace, verdict: Verdict, survey: Survey, today: str) -> Verdict:
    """The verdict with the forbidden ones among these imports: as warnings, or as violations. Where
    they are violations, it states that no run shows any.
    """
    manifest = verdict.manifest
    try:
        if manifest.runtime_imports == "forbid" and not _has_runs(ws):
            raise EnvironmentProblem(_NO_RUNS, place="runtime_imports")
        run_of_link = imports_seen(ws, survey.modules)
    except (KlError, OSError) as problem:
        trouble = Problem(
            manifest.path, 0, 0, f"runtime-only imports were not looked at: {problem}"
        )
        if manifest.runtime_imports != "forbid":
            return verdict
        return verdict._replace(warnings=(*verdict.warnings, trouble))
    # a statement that was added since shows it
    if run_of_link:
        known_imports = {(link.path, link.target) for link in survey.links}
    else:
        known_imports = set()
    known_imports |= {(path, target[:at]) for path, target in known_imports for at in _dots(target)}
    new: list[Violation] = []
    for edge in EdgeFinder(manifest, survey.modules).edges(
        link for link in run_of_link if (link.path, link.target) not in known_imports
    ):
        allowed = (one for one in manifest.exceptions if is_excepted(one, edge))
        if edge.allowed or any(not is_expired(one, today) for one in allowed):
            continue
        way = f"seen in test run {run_of_link[edge.link][:8]}; kl graph show {edge.link.source}"
        new.append(
            Violation(
                edge.link.path,
                1,
                edge.importer,
                edge.imported,
                edge.source.name,
                edge.target.name,
                f"import {edge.imported}",
                _METHOD,
                f"{manifest.path}:{edge.source.line}",
                edge.source.decision,
                way,
                edge.source.may_depend_on,
            )
        )
    if manifest.runtime_imports == "forbid":
        return verdict.with_violations(new)
    by_importer: dict[str, list[Violation]] = {}
    for violation in new:
        by_importer.setdefault(violation.path, []).append(violation)
    warnings = [
        Problem(path, 0, 0, _words(of_file), of_file[0].suggested_fix)
        for path, of_file in by_importer.items()
    ]
    return verdict._replace(warnings=(*verdict.warnings, *warnings))


def _words(of_file: Sequence[Violation]) -> str:
    """A line for all of a file: a module that loads plugins imports one of each package."""
    first = of_file[0]
    if len(of_file) > 1:
        imported = name_list(sorted(violation.imported for violation in of_file), _NAMED)
        return (
            f"{first.importer} imports at run time only what {first.source_layer} must not "
            f"import (layer rule, {first.rule}): {imported}; runtime-only, no violation."
        )
    rule = f"{first.source_layer} must not import {first.target_layer} (layer rule, {first.rule})"
    return (
        f"{first.importer} imports {first.imported} at run time only: {rule}; "
        "runtime-only, no violation."
    )
