"""One check from end to end: reads the content, judges it, records evidence. The verdict itself
needs no database.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kl_hooks.arch.content import (
    STAGED,
    WORKTREE,
    Content,
    Rules,
    ended_decisions,
    load_content,
    require_repository,
    utc_day,
)
from kl_hooks.arch.import_survey import Survey, survey_imports
from kl_hooks.arch.layer_check import Verdict, judge
from kl_hooks.arch.layers import ManifestProblems, unmatched_paths
from kl_hooks.arch.manifest import load_manifest
from kl_hooks.errors import KlError, UsageProblem
from kl_hooks.evidence.capture import new_run_id, not_recorded, record_check
from kl_hooks.evidence.provenance import ci, producer
from kl_hooks.git.objects import read_blobs
from kl_hooks.git.repository import Repository, merge_base, resolve_commit
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.manifest import BASELINE, MANIFEST, Manifest, Violation
from kl_hooks.model.problem import Problem
from kl_hooks.store.files import read_small
from kl_hooks.workspace import Workspace

if TYPE_CHECKING:
    from kl_hooks.git.worktree import WorktreeState


class CheckOptions(NamedTuple):
    """What a check compares with, besides the rules of the content itself."""

    since: str = ""
    """The commit that the judged ones start from; empty: the one before."""
    trust: str = ""
    """The revision whose rules are trusted: allowing more than they do blocks."""
    manifest: str = ""
    """Path of another manifest than the content's own: no baseline is used, and nothing is
    recorded.
    """


def run_check(
    ws: Workspace, source: str = WORKTREE, options: CheckOptions | None = None
) -> tuple[Verdict | None, list[str]]:
    """The verdict on `worktree`, `staged` or a revision, None where that content has no manifest;
    and remarks.

    Raises ManifestProblems, BaselineProblems, UsageProblem (no such revision), EnvironmentProblem
    (git).
    """
    options = options or CheckOptions()
    content = load_content(ws, source)
    if options.manifest:
        content = replace(
            content, manifest=_manifest_bytes(ws, source, options.manifest), baseline=None
        )
    if content.manifest is None:
        return _verdict_without_rules(ws, content, source, options)
    manifest = load_manifest(ws.state.cache, options.manifest or MANIFEST, content.manifest)
    survey = survey_imports(ws, content, manifest)
    # with a baseline most violations are accepted ones: suggestions wait until the new ones are
    # known
    verdict = judge(manifest, survey, utc_day(ws), source, None if content.baseline is None else ())
    verdict = _with_other_rules(ws, verdict, survey, content, options)
    verdict, shrunk = _with_baseline(ws, verdict, survey)
    if verdict.violations:
        from kl_hooks.arch.content import decision_titles

        verdict = verdict._replace(
            titles=decision_titles(content, {one.decision for one in verdict.violations})
        )
    if options.manifest:
        return verdict, list(survey.notes)
    ended = ended_decisions(ws, content, manifest)
    verdict = verdict._replace(warnings=(*verdict.warnings, *ended))
    run = new_run_id()
    remarks = [*survey.notes, *shrunk, *_record(ws, verdict, content, run)]
    return verdict, [*remarks, *(_index_violations(ws, verdict, run) if source == WORKTREE else ())]


def _verdict_without_rules(
    ws: Workspace, content: Content, source: str, options: CheckOptions
) -> tuple[Verdict | None, list[str]]:
    """The verdict on a content without a manifest: none, unless removing it is what loosens."""
    nothing = Verdict(Manifest(MANIFEST, ()), (), (), (), 0, source, trusted=options.trust)
    before = _rules_before(ws, content, options)
    removed = nothing._replace(loosened=_loosened(before, nothing, None, content, options))
    if removed.clean:
        return None, [f"warning: {problem}" for problem in removed.loosened]
    return removed, []


def _with_other_rules(
    ws: Workspace, verdict: Verdict, survey: Survey, content: Content, options: CheckOptions
) -> Verdict:
    """The verdict with what is not a rule between layers: imports of runs, paths without files,
    contracts, and rules that were loosened.
    """
    manifest = verdict.manifest
    # a gate that only reports would have nobody to read it, and a commit pays for no database
    if manifest.runtime_imports == "forbid" or (
        manifest.runtime_imports == "report" and verdict.source == WORKTREE
    ):
        from kl_hooks.arch.runtime_imports import with_runtime_imports

        verdict = with_runtime_imports(ws, verdict, survey, utc_day(ws))
    before = _rules_before(ws, content, options)
    verdict = _with_unmatched_paths(verdict, survey, before, options)
    if manifest.contracts:
        verdict = _with_contracts(ws, verdict, survey)
    # before the baseline is applied: the rules of both contents are compared with the accepted
    # violations too
    return verdict._replace(
        loosened=_loosened(before, verdict, survey, content, options),
        trusted=options.trust,
    )


def _rules_before(ws: Workspace, content: Content, options: CheckOptions) -> Rules | None:
    """The rules that those of the content are compared with; None for none."""
    repo = require_repository(ws)
    if options.manifest:
        return None
    if options.trust:
        return _trusted_rules(repo, content.source, options.trust)
    if options.since:
        return _rules_at(repo, options.since, options.since[:12])
    return content.before


def _with_unmatched_paths(
    verdict: Verdict, survey: Survey, before: Rules | None, options: CheckOptions
) -> Verdict:
    """Return the verdict with an error for each path of a layer whose files were moved or removed,
    and a warning for each layer that never had a file.
    """
    content = survey.content
    unmatched = unmatched_paths(verdict.manifest, survey.modules)
    if not unmatched:
        return verdict
    # most repositories have files in all layers
    from kl_hooks.arch.moved_files import check_unmatched

    if content.source in (STAGED, WORKTREE):
        revisions = [("since HEAD", "HEAD")]
    else:
        revisions = []
    if before is not None:
        revisions.append((f"since {before.name}", before.rev))

    def accepted_layers() -> Mapping[str, int]:
        from kl_hooks.arch.baseline import read_baseline

        counts: Counter[str] = Counter()
        if content.baseline:
            entries = read_baseline(BASELINE, content.baseline)
        else:
            entries = ()
        for entry in entries:
            counts.update(dict.fromkeys({entry.source_layer, entry.target_layer}, entry.count))
        return counts

    errors, warnings = check_unmatched(
        verdict.manifest, content, survey.modules, unmatched, revisions, accepted_layers
    )
    return verdict._replace(emptied=tuple(errors), warnings=(*warnings, *verdict.warnings))


def _with_contracts(ws: Workspace, verdict: Verdict, survey: Survey) -> Verdict:
    """Return the verdict with the contracts. ManifestProblems for one that can't be judged."""
    # import-linter and grimp start only where they are asked for
    from kl_hooks.arch.contracts import check_contracts

    cache = ws.state.cache
    try:
        return verdict.with_contracts(
            check_contracts(cache, survey.content, survey.python_modules, verdict.manifest)
        )
    except ManifestProblems as problem:
        # a contract that names a module which was moved: the new folder is what helps
        raise ManifestProblems([*problem.problems, *verdict.emptied]) from None


def _loosened(
    before: Rules | None,
    verdict: Verdict,
    survey: Survey | None,
    content: Content,
    options: CheckOptions,
) -> tuple[Problem, ...]:
    """Return how the rules allow more than those `before`. `survey`: None without a manifest."""
    after = Rules("", content.manifest, content.baseline)
    if before is None or before.manifest is None:
        return ()
    if survey and before.same(after):
        from kl_hooks.arch.moved_files import MovedModules

        rules = verdict.manifest
        moves = MovedModules(before, rules, rules, content, survey.modules)
        return tuple(moves.out_of_layers())
    from kl_hooks.arch.baseline import loosened_rules

    manifest, modules = (verdict.manifest, survey.modules) if survey else (None, {})
    try:
        return loosened_rules(before, after, manifest, modules, verdict.violations, content)
    except UsageProblem:
        if options.trust:
            raise
        return ()  # the rules before were invalid: a commit that repairs them must pass


def _with_baseline(ws: Workspace, verdict: Verdict, survey: Survey) -> tuple[Verdict, list[str]]:
    """Return the verdict without what the baseline accepts, and what was removed from the
    baseline.
    """
    if survey.content.baseline is None:
        return verdict, []
    from kl_hooks.arch.baseline import apply_baseline, shrink_baseline

    verdict, matched = apply_baseline(verdict, survey.content.baseline, survey.modules)
    if verdict.violations:  # suggestions read sources, so only new violations get one
        new = {(one.path, one.line) for one in verdict.violations}
        again = judge(verdict.manifest, survey, utc_day(ws), verdict.source, new).violations
        verdict = verdict._replace(violations=_with_suggestions(verdict.violations, again))
    shrunk = shrink_baseline(ws, verdict, matched, survey.content)
    return verdict, [shrunk] if shrunk else []


def _index_violations(ws: Workspace, verdict: Verdict, run: str) -> list[str]:
    """Make the violations of the working tree searchable."""
    from kl_hooks.arch.violation_index import index_violations

    def receipt() -> str:
        from kl_hooks.evidence.journal import pending_receipt_id

        return pending_receipt_id(ws, run)

    trouble = index_violations(ws, verdict, receipt)
    if not trouble:
        return []
    return [trouble]


def _record(ws: Workspace, verdict: Verdict, content: Content, run: str) -> list[str]:
    """Record evidence of the check; a failure is only a remark."""
    if not ws.initialized:
        return []
    detail = {
        "violations": len(verdict.violations),
        "accepted": len(verdict.accepted),
        "contracts": len(verdict.contracts),
        "problems": len(verdict.problems),
        "files": verdict.files,
        "layers": len(verdict.manifest.layers),
        "unassigned": len(verdict.unassigned),
        "emptied": len(verdict.emptied),
        "source": verdict.source,
        "found": [
            f"{v.path}:{v.line} {v.source_layer} -> {v.target_layer}"
            for v in verdict.violations[:20]
        ],
    }
    outcome = "clean" if verdict.clean else "failed"
    place = content.place()
    try:
        if _is_recorded_by_job(ws, outcome, detail, place):
            return []
        trouble = record_check(ws, "arch", outcome, detail, place, run)
    except (KlError, OSError) as problem:
        trouble = not_recorded(ws, problem)
    if not trouble:
        return []
    return [trouble]


def _is_recorded_by_job(
    ws: Workspace, outcome: str, detail: Mapping[str, Any], place: WorktreeState
) -> bool:
    """Whether this job of a CI service has recorded the same result on the same content: it checks
    once for each format of the report.
    """
    if not ci(ws.environ) or not place.tree:
        return False
    from kl_hooks.evidence.ingestion import sync_evidence
    from kl_hooks.evidence.ledger import recent

    sync_evidence(ws)
    with ws.store.reading() as db:
        if db is not None:
            receipts = [entry.receipt for entry in recent(db, 1, "arch")]
        else:
            receipts = []
    return any(
        receipt.producer == producer(ws.environ)
        and (receipt.tree, receipt.tree_all) == (place.tree, place.tree_all)
        and [(fact.outcome, fact.detail) for fact in receipt.evidence] == [(outcome, detail)]
        for receipt in receipts
    )


def _manifest_bytes(ws: Workspace, source: str, path: str) -> bytes:
    """Another file as the manifest: from disk for the working tree, else as the content has it.
    UsageProblem for none.

    `path`: from the repository's root, or absolute for a file outside it.
    """
    repo = require_repository(ws)
    if source == WORKTREE:
        manifest_content = read_small(repo.top / path)
    else:
        # gitrevisions(7): `:path` is the path in the index
        (manifest_content,) = read_blobs(repo, [f"{'' if source == STAGED else source}:{path}"])
    if manifest_content is None:
        raise UsageProblem(
            "no such file.",
            place=path,
            hint="Give --manifest a file of the content that is checked.",
        )
    return manifest_content


def _rules_at(repo: Repository, rev: str, name: str) -> Rules:
    """The rules of a revision; none where git knows no such revision. One git process."""
    manifest, baseline = read_blobs(repo, [f"{rev}:{MANIFEST}", f"{rev}:{BASELINE}"])
    return Rules(name, manifest, baseline, rev)


def _trusted_rules(repo: Repository, source: str, ref: str) -> Rules:
    """The rules of the commit where the judged content and a trusted revision parted. UsageProblem
    for no revision.
    """
    trusted = resolve_commit(repo, ref)
    judged = resolve_commit(repo, "HEAD" if source in (WORKTREE, STAGED) else source)
    # what the trusted branch changed since then is not the work of the judged commits
    return _rules_at(repo, merge_base(repo, trusted, judged), ref)


def _with_suggestions(
    violations_without: Iterable[Violation], again: Iterable[Violation]
) -> tuple[Violation, ...]:
    """`violations_without`, each as another, closer look has it."""
    better = {(one.path, one.line, one.fingerprint): one for one in again}
    return tuple(
        better.get((one.path, one.line, one.fingerprint), one) for one in violations_without
    )
