"""The check of imports against the manifest. A commit waits for it, so it is a module of its own:
what it imports, every commit pays for (ADR-0025).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.arch.check import CheckOptions, run_check
from kl_hooks.arch.content import (
    STAGED,
    WORKTREE,
    ChangedRange,
    content_name,
    manifest_on_disk,
    path_from_top,
    pushed_commits,
    require_repository,
)
from kl_hooks.arch.layer_check import Verdict
from kl_hooks.errors import CLEAN, FINDINGS, UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.manifest import BASELINE, MANIFEST, Manifest
from kl_hooks.model.parameter import InputFile, Parameter
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.model.text import counted
from kl_hooks.operations.operation import Operation

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace

_COMMAND: Final = "kl arch check"


class CheckRequest(NamedTuple):
    """What is checked, against which rules, and what is shown of it."""

    is_staged: Annotated[
        bool, Parameter("What is staged, as a commit would hold it.", name="staged")
    ] = False
    revision: Annotated[
        str,
        Parameter("A revision instead of the files as they are now.", name="at", metavar="REV"),
    ] = ""
    is_pushed: Annotated[
        bool,
        Parameter("What a pre-push git hook is about to push.", name="pushed", is_personal=True),
    ] = False
    span: Annotated[
        str,
        Parameter(
            "B, but only what is found in files changed since A and B parted.",
            name="changed",
            metavar="A...B",
        ),
    ] = ""
    trust: Annotated[
        str,
        Parameter(
            "Fail where the rules allow more than they did at REV.", name="trust_ref", metavar="REV"
        ),
    ] = ""
    manifest: Annotated[
        InputFile,
        Parameter(
            f"Rules to check against instead of {MANIFEST}; nothing is recorded.",
            metavar="FILE",
            is_personal=True,
        ),
    ] = InputFile("")
    folder: Annotated[
        str,
        Parameter(
            "Check the repository of DIR and show what is found in DIR.",
            name="dir",
            metavar="DIR",
            is_personal=True,
        ),
    ] = ""
    is_required: Annotated[
        bool,
        Parameter(
            "A missing manifest is an error (exit 2).", name="require_manifest", is_personal=True
        ),
    ] = False
    lists: Annotated[
        bool,
        Parameter("List the files that belong to no layer.", name="list_unassigned"),
    ] = False
    is_quiet: Annotated[
        bool, Parameter("Print nothing when clean.", name="quiet", short="-q", is_personal=True)
    ] = False
    pushed_lines: tuple[str, ...] = ()
    """What git gives to a pre-push git hook."""


class CheckedContent(NamedTuple):
    """One content, and what was found."""

    source: str
    """`worktree`, `staged`, or a revision."""
    verdict: Verdict | None
    """None: it has no manifest."""


class LayerCheck(NamedTuple):
    """A check of the layers."""

    contents: tuple[CheckedContent, ...]
    seconds: float
    has_manifest_on_disk: bool
    is_clean: bool
    """Whether nothing blocks, whether it may be shown or not."""
    lists: bool
    is_quiet: bool
    remarks: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be judged, and what is to be known of the rules."""
        return (*self.remarks, *self._warnings())

    def _warnings(self) -> Iterator[str]:
        for content in self.contents:
            verdict = content.verdict
            if verdict and not verdict.invalid and not (self.is_quiet and verdict.clean):
                yield from (f"warning: {warning}" for warning in verdict.warnings)


def _check(ws: Workspace, request: CheckRequest, _access: Access) -> LayerCheck:
    choices = (request.is_staged, request.is_pushed, request.revision, request.span)
    if sum(map(bool, choices)) > 1:
        raise UsageProblem(
            "give only one of --staged, --at, --pushed and --changed.", place=_COMMAND
        )
    span = _span(ws, request)
    folder = _folder(ws, request)
    options = CheckOptions(trust=request.trust, manifest=_manifest(ws, request))
    started = time.perf_counter()
    sources = _sources(ws, request, span)
    contents = list[CheckedContent]()
    remarks = list[str]()
    try:
        for source, since in sources.items():
            verdict, notes = run_check(ws, source, options._replace(since=since))
            if verdict is None and request.is_required:
                hint = "Create one with: kl init (or: pre-commit run kl-init --hook-stage manual)"
                reason = "is missing, and --require-manifest demands it."
                raise UsageProblem(reason, place=MANIFEST, hint=hint)
            remarks += notes
            if verdict is not None and span is not None:
                verdict, others = verdict.in_files(span.paths)
                remarks += [_not_shown(others, span)] if others else []
            if verdict is not None and folder:
                verdict = verdict.in_folder(folder)
            contents.append(CheckedContent(source, verdict))
    except UsageProblem as problem:
        problem.result = _without_rules(next(iter(sources)), problem, request)
        raise
    return LayerCheck(
        tuple(contents),
        time.perf_counter() - started,
        manifest_on_disk(ws),
        all(content.verdict is None or content.verdict.clean for content in contents),
        request.lists,
        request.is_quiet,
        tuple(remarks),
    )


def _not_shown(others: int, span: ChangedRange) -> str:
    return f"{counted(others, 'finding')} in files that {span.text} does not change: not shown."


def _span(ws: Workspace, request: CheckRequest) -> ChangedRange | None:
    if not request.span:
        return None
    from kl_hooks.arch.content import changed_range

    return changed_range(ws, request.span)


def _folder(ws: Workspace, request: CheckRequest) -> str:
    """Return the folder of which findings are shown, from the root with `/` at its end; empty:
    all.
    """
    if not request.folder:
        return ""
    folder = path_from_top(request.folder, require_repository(ws).top).rstrip("/")
    if folder:
        return f"{folder}/"
    return ""


def _manifest(ws: Workspace, request: CheckRequest) -> str:
    """Return the path of other rules, from the root, or absolute for a file outside; empty:
    none.
    """
    if not request.manifest:
        return ""
    top = require_repository(ws).top
    place = Path(request.manifest).absolute()
    if place.is_relative_to(top):
        return place.relative_to(top).as_posix()
    return str(place)


def _sources(ws: Workspace, request: CheckRequest, span: ChangedRange | None) -> dict[str, str]:
    """Return what is judged → the commit that it starts from, empty where that is the one before
    it.
    """
    if request.is_pushed:
        from kl_hooks.git.repository import fork_point

        repo = require_repository(ws)
        return {
            commit: since or fork_point(repo, commit)
            for commit, since in pushed_commits(ws.environ, request.pushed_lines).items()
        }
    if span:
        return {span.source: span.before}
    if request.is_staged:
        return {STAGED: ""}
    return {content_name(request.revision) if request.revision else WORKTREE: ""}


def _without_rules(source: str, problem: UsageProblem, request: CheckRequest) -> LayerCheck | None:
    """Return a check in which nothing was judged, because the rules can't be used; None where
    something else is wrong.
    """
    if not isinstance(problem, Problems) and problem.place not in (MANIFEST, BASELINE):
        return None
    single = (Problem(problem.place, 0, 0, problem.reason, problem.hint),)
    if isinstance(problem, Problems):
        problems = problem.problems
    else:
        problems = single
    verdict = Verdict(Manifest(MANIFEST, ()), (), problems, (), 0, source, invalid=True)
    content = CheckedContent(source, verdict)
    return LayerCheck((content,), 0.0, True, False, request.lists, request.is_quiet)


def exit_code(check: LayerCheck, _request: CheckRequest) -> int:
    """Return 1 where something blocks."""
    if check.is_clean:
        return CLEAN
    return FINDINGS


def _to_dict(check: LayerCheck) -> dict[str, Any]:
    from kl_hooks.arch.formats import checks_to_dict

    return checks_to_dict(check.contents, lists=check.lists)


CHECK: Final = Operation(
    "arch check",
    """Check the imports against `.kl/architecture.yaml`. Exit 0 for clean, 1 for violations, 2 for
    a bad manifest.

    By default the files as they are on disk. The manifest and the baseline are those of the same
    content.

    --changed takes A...B, A..B (no common ancestor is looked for), or A alone (up to the files on
    disk).

    Commits that loosen the manifest or the baseline they are checked by are named; with --trust-ref
    they fail.
    """,
    CheckRequest,
    _check,
    _to_dict,
    "kl.arch.check/3",
    "kl arch check --staged",
    progress="Reading imports",
)
OPERATIONS: Final = (CHECK,)
