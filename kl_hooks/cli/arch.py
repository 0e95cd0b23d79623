"""`kl arch`: layers, and imports checked against them."""

from __future__ import annotations

import os
import select
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.arch.check import CheckOptions, run_check
from kl_hooks.arch.content import (
    STAGED,
    WORKTREE,
    manifest_on_disk,
    pushed_commits,
    require_repository,
)
from kl_hooks.arch.layer_check import Verdict
from kl_hooks.arch.report import output_lines
from kl_hooks.cli.groups import LazyGroup
from kl_hooks.cli.output import (
    REPORT_FORMATS,
    allowed,
    command_access,
    counted,
    format_option,
    warn,
    workspace,
    write,
)
from kl_hooks.errors import UsageProblem
from kl_hooks.model.manifest import BASELINE, MANIFEST
from kl_hooks.workspace import Workspace

if TYPE_CHECKING:
    from kl_hooks.arch.content import ChangedRange

_COMMANDS = {
    "check": "Check the imports against the manifest.",
    "show": "Draw the layers, and what is imported across them.",
    "explain": "Explain why a file, module or layer is judged as it is.",
    "fix": "Move imports that only annotations use under TYPE_CHECKING.",
    "mv": "Give a moved folder its new path in the manifest, the baseline and imports.",
    "allow": "Allow an import until a day, and record why.",
    "baseline": "Accept today's violations, so that only new ones block: write, show, prune.",
    "import": "Convert the configuration of import-linter or tach into a manifest.",
}
"""Command → its line in the help."""


@click.group(
    cls=LazyGroup,
    module="kl_hooks.cli.{}",
    lines=_COMMANDS,
    places=dict.fromkeys(_COMMANDS, "arch_layers") | {"check": "arch"},
)
def arch() -> None:
    """Layers: who may depend on whom."""


_STDIN_TIMEOUT = 2.0
"""Seconds to wait for git's lines on stdin."""


@dataclass(frozen=True, slots=True)
class _Request:
    """One call."""

    shape: str
    quiet: bool
    lists: bool
    """Whether files in no layer are listed."""
    required: bool
    """Whether a missing manifest is an error."""
    trust: str
    manifest: str
    folder: str
    """Of `--dir`, from the repository's root with `/` at its end; empty: everything."""
    span: ChangedRange | None = None


@click.command(epilog="Example: kl arch check --staged")
@click.option("--staged", is_flag=True, help="What is staged, as a commit would hold it.")
@click.option("--at", "rev", metavar="REV", help="A revision instead of the files as they are now.")
@click.option("--pushed", "push", is_flag=True, help="What a pre-push git hook is about to push.")
@click.option(
    "--changed",
    "span",
    metavar="A...B",
    help="B, but only what is found in files changed since A and B parted.",
)
@click.option(
    "--trust-ref",
    "trust",
    metavar="REV",
    help="Fail where the rules allow more than they did at REV.",
)
@click.option(
    "--manifest",
    metavar="FILE",
    help=f"Rules to check against instead of {MANIFEST}; nothing is recorded.",
)
@click.option(
    "--dir",
    "folder",
    metavar="DIR",
    help="Check the repository of DIR and show what is found in DIR.",
)
@click.option(
    "--require-manifest", "required", is_flag=True, help="A missing manifest is an error (exit 2)."
)
@click.option(
    "--list-unassigned",
    "lists",
    is_flag=True,
    help="List the Python files that belong to no layer.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing when clean.")
@format_option(*REPORT_FORMATS, "mermaid")
def check(rev: str | None, span: str | None, **options: Any) -> int:
    """Check the imports against `.kl/architecture.yaml`. Exit 0 for clean, 1 for violations, 2 for
    a bad manifest.

    By default the files as they are on disk. The manifest and the baseline are those of the same
    content.

    --changed takes A...B, A..B (no common ancestor is looked for), or A alone (up to the files on
    disk).

    Commits that loosen the manifest or the baseline they are checked by are named; with --trust-ref
    they fail.
    """
    if options["staged"] + options["push"] + (rev is not None) + (span is not None) > 1:
        raise UsageProblem(
            "give only one of --staged, --at, --pushed and --changed.", place="kl arch check"
        )
    if options["lists"] and options["shape"] not in ("text", "json"):
        raise UsageProblem(
            "--list-unassigned goes with --format text or json.", place="kl arch check"
        )
    ws = _workspace(options["folder"])
    asked = _request(ws, span, options)
    started = time.perf_counter()
    sources = _sources(ws, rev, asked.span, options)
    try:
        whole = [(source, _verdict(ws, source, since, asked)) for source, since in sources.items()]
    except UsageProblem as problem:
        _print_invalid(ws, asked.shape, next(iter(sources)), problem)
        raise
    seconds = time.perf_counter() - started
    # what the policy hides is withheld, and changes no verdict
    reports = [(source, allowed(verdict)) for source, verdict in whole]
    if asked.shape == "text":
        on_disk = manifest_on_disk(ws)
        for line in output_lines(
            reports, seconds, quiet=asked.quiet, on_disk=on_disk, lists=asked.lists
        ):
            write(f"{line}\n")
    else:
        from kl_hooks.arch.formats import render_document

        write(render_document(ws, asked.shape, reports, asked.lists))
    if all(verdict is None or verdict.clean for _, verdict in whole):
        return 0
    return 1


def _workspace(folder: str | None) -> Workspace:
    if folder is not None:
        if not Path(folder).is_dir():
            raise UsageProblem(
                "no such folder.", place=folder, hint="Give --dir a folder of a repository."
            )
        click.get_current_context().find_root().ensure_object(dict)["root"] = folder
    return workspace()


def _request(ws: Workspace, span: str | None, options: dict[str, Any]) -> _Request:
    top = require_repository(ws).top
    if options["folder"] is not None:
        folder = path_from_top(options["folder"], top).rstrip("/")
    else:
        folder = ""
    manifest = options["manifest"] or ""
    if manifest:
        from kl_hooks.operations.file_access import require_shown_files

        require_shown_files(ws, command_access(), [Path(manifest)])
        place = Path(os.path.abspath(manifest))  # noqa: PTH100 (which follows links)
        manifest = place.relative_to(top).as_posix() if place.is_relative_to(top) else str(place)
    names = {key: options[key] for key in ("shape", "quiet", "lists", "required")}
    asked = _Request(**names, trust=options["trust"] or "", manifest=manifest, folder="")
    if folder not in ("", "."):
        asked = replace(asked, folder=folder + "/")
    if span is None:
        return asked
    from kl_hooks.arch.content import changed_range

    return replace(asked, span=changed_range(ws, span))


def _sources(
    ws: Workspace, rev: str | None, span: ChangedRange | None, options: dict[str, Any]
) -> dict[str, str]:
    """What is judged → the commit that it starts from, empty where that is the one before it."""
    if options["push"]:
        from kl_hooks.git.repository import fork_point

        repo = require_repository(ws)
        return {
            commit: since or fork_point(repo, commit)
            for commit, since in pushed_commits(os.environ, _stdin()).items()
        }
    if span:
        return {span.source: span.before}
    if options["staged"]:
        return {STAGED: ""}
    return {WORKTREE if rev is None else content_name(rev): ""}


def _verdict(ws: Workspace, source: str, since: str, asked: _Request) -> Verdict | None:
    verdict, remarks = run_check(ws, source, CheckOptions(since, asked.trust, asked.manifest))
    for remark in allowed(tuple(remarks)):
        warn(remark)
    if verdict is None and asked.required:
        hint = "Create one with: kl init (or: pre-commit run kl-init --hook-stage manual)"
        raise UsageProblem(
            "is missing, and --require-manifest demands it.", place=MANIFEST, hint=hint
        )
    has_warnings = verdict and not (asked.quiet and verdict.clean)
    for warning in allowed(verdict.warnings) if verdict and has_warnings else ():
        warn(f"warning: {warning}")
    if verdict is not None and asked.span is not None:
        verdict, others = verdict.in_files(asked.span.paths)
        if others:
            warn(
                f"{counted(others, 'finding')} in files that {asked.span.text} does not change: not"
                " shown."
            )
    if verdict is not None and asked.folder:
        verdict = verdict.in_folder(asked.folder)
    return verdict


def _print_invalid(ws: Workspace, shape: str, source: str, problem: UsageProblem) -> None:
    """Unusable rules in the form that was asked for; the message on stderr and exit 2 follow."""
    from kl_hooks.model.manifest import Manifest
    from kl_hooks.model.problem import Problem, Problems

    rules = isinstance(problem, Problems) or problem.place in (MANIFEST, BASELINE)
    if shape == "text" or not rules:
        return
    from kl_hooks.arch.formats import render_document

    single = (Problem(problem.place, 0, 0, problem.reason, problem.hint),)
    problems = problem.problems if isinstance(problem, Problems) else single
    verdict = Verdict(Manifest(MANIFEST, ()), (), problems, (), 0, source, invalid=True)
    write(render_document(ws, shape, [(source, allowed(verdict))]))


def _stdin() -> list[str]:
    """The lines that git gives to a pre-push git hook; none on a terminal, from pre-commit, or if
    nothing comes.
    """
    # pre-commit gives the range in PRE_COMMIT_FROM_REF and PRE_COMMIT_TO_REF instead of git's lines
    if os.environ.get("PRE_COMMIT") or sys.stdin is None or sys.stdin.isatty():
        return []
    try:
        # a caller that is not git may leave stdin open and send nothing: a push must not hang on it
        ready, _, _ = select.select([sys.stdin], [], [], _STDIN_TIMEOUT)
    except (OSError, ValueError):
        return []
    if not ready:
        return []
    return sys.stdin.read().splitlines()


def content_name(rev: str) -> str:
    """A revision as the name of a content: a branch called `staged` is not what is staged."""
    if rev not in (WORKTREE, STAGED):
        return rev
    return f"{rev}^{{}}"


def path_from_top(path: str, top: Path) -> str:
    """A path as it was typed, from the repository's root; empty for the root. UsageProblem where it
    leads out.
    """
    # as typed and with links resolved: git resolves its top, and /tmp of macOS is a link to
    # /private/tmp
    for here in (Path(os.path.abspath(path)), Path(path).resolve()):  # noqa: PTH100
        for base in (top, top.resolve()):
            if here.is_relative_to(base):
                found = here.relative_to(base).as_posix()
                if found == ".":
                    return ""
                return found
    raise UsageProblem("is not in this repository.", place=path, hint=f"The repository is {top}.")
