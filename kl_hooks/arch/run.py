"""One check from end to end: fetches, judges, leaves its evidence. The verdict itself never needs the store."""

from __future__ import annotations

from kl_hooks.arch.check import unowned, violations, warnings
from kl_hooks.arch.kept import load_manifest
from kl_hooks.arch.manifest import MANIFEST
from kl_hooks.arch.paths import owner
from kl_hooks.arch.source import WORKTREE, Content, content
from kl_hooks.arch.survey import Survey, survey
from kl_hooks.arch.verdict import Verdict
from kl_hooks.clock import iso
from kl_hooks.errors import KlError
from kl_hooks.evidence.capture import record_check
from kl_hooks.model.manifest import Manifest
from kl_hooks.workspace.open import Workspace

_DAY = 86_400_000_000


def check(ws: Workspace, source: str = WORKTREE) -> tuple[Verdict | None, list[str]]:
    """The verdict on `worktree`, `staged` or a revision, None where that content has no manifest; and remarks.

    Raises ManifestProblems, UsageProblem (no such revision), EnvironmentProblem (git).
    """
    seen = content(ws, source)
    if seen.manifest is None:
        return None, []
    manifest = load_manifest(ws.state.cache, MANIFEST, seen.manifest)
    found = survey(ws, seen)
    verdict = judge(manifest, found, day(ws), source)
    return verdict, [*found.notes, *_record(ws, verdict, seen)]


def day(ws: Workspace, later: int = 0) -> str:
    """Today (or so many days later), `YYYY-MM-DD`, UTC."""
    return iso(ws.clock.now() + later * _DAY)[:10]


def judge(manifest: Manifest, found: Survey, today: str, source: str) -> Verdict:
    """Holds what a survey found against a manifest. Pure."""
    layer_of = owner(manifest.layers)
    governed = {path for path in found.modules if layer_of(path) is not None}
    unread = [problem for problem in found.unread if problem.path in governed]
    others = [problem for problem in found.unread if problem.path not in governed]
    outside = unowned(manifest, found.modules) if manifest.exhaustive else []
    return Verdict(
        manifest=manifest,
        violations=tuple(violations(manifest, found.links, found.modules, found, today)),
        problems=(*unread, *outside),
        warnings=(*warnings(manifest, found.links, found.modules), *others),
        files=len(governed) - len(unread),
        source=source,
        unjudged=len(unread),
    )


def _record(ws: Workspace, verdict: Verdict, seen: Content) -> list[str]:
    """Leaves Validator evidence; what keeps it from that is a remark and no more."""
    detail = {
        "violations": len(verdict.violations),
        "problems": len(verdict.problems),
        "files": verdict.files,
        "layers": len(verdict.manifest.layers),
        "source": verdict.source,
        "found": [f"{v.path}:{v.line} {v.source_layer} -> {v.target_layer}" for v in verdict.violations[:20]],
    }
    try:
        trouble = record_check(ws, "arch", "clean" if verdict.clean else "failed", detail, seen.tree())
    except (KlError, OSError) as problem:
        trouble = f"not recorded: {problem}"
    return [trouble] if trouble else []
