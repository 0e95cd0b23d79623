"""`kl arch check`: check the imports against the manifest."""

from __future__ import annotations

import os
import select
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.arch.render import text
from kl_hooks.arch.run import Terms
from kl_hooks.arch.run import check as run_check
from kl_hooks.arch.source import STAGED, WORKTREE, on_disk, parted, pushed, repository, revision
from kl_hooks.arch.verdict import Verdict
from kl_hooks.cli.common import counted, format_option, note, say, workspace
from kl_hooks.cli.paths import from_top
from kl_hooks.errors import UsageProblem
from kl_hooks.model.manifest import BASELINE, MANIFEST
from kl_hooks.workspace.open import Workspace

if TYPE_CHECKING:
    from kl_hooks.arch.changed import Range

_PATIENCE = 2.0
"""Seconds to wait for git's lines on stdin."""
_NONE = "no .kl/architecture.yaml in"


@dataclass(frozen=True, slots=True)
class _Asked:
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
    span: Range | None = None


@click.command(epilog="Example: kl arch check --staged")
@click.option("--staged", is_flag=True, help="What is staged, as a commit would hold it.")
@click.option("--at", "rev", metavar="REV", help="A revision instead of the files as they are now.")
@click.option("--pushed", "push", is_flag=True, help="What a pre-push git hook is about to push.")
@click.option(
    "--changed", "span", metavar="A...B", help="B, but only what is found in files changed since A and B parted."
)
@click.option("--trust-ref", "trust", metavar="REV", help="Fail where the rules allow more than they did at REV.")
@click.option("--manifest", metavar="FILE", help=f"Rules to check against instead of {MANIFEST}; nothing is recorded.")
@click.option("--dir", "folder", metavar="DIR", help="Check the repository of DIR and show what is found in DIR.")
@click.option("--require-manifest", "required", is_flag=True, help="A missing manifest is an error (exit 2).")
@click.option("--list-unassigned", "lists", is_flag=True, help="List the Python files that belong to no layer.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing when clean.")
@format_option("sarif", "github", "gitlab", "mermaid")
def check(rev: str | None, span: str | None, **options: Any) -> int:
    """Check the imports against `.kl/architecture.yaml`. Exit 0 for clean, 1 for violations, 2 for a bad manifest.

    By default the files as they are on disk. The manifest and the baseline are those of the same content.

    --changed takes A...B, A..B (no common ancestor is looked for), or A alone (up to the files on disk).

    Commits that loosen the manifest or the baseline they are checked by are named; with --trust-ref they fail.
    """
    if options["staged"] + options["push"] + (rev is not None) + (span is not None) > 1:
        raise UsageProblem("give only one of --staged, --at, --pushed and --changed.", place="kl arch check")
    if options["lists"] and options["shape"] not in ("text", "json"):
        raise UsageProblem("--list-unassigned goes with --format text or json.", place="kl arch check")
    ws = _workspace(options["folder"])
    asked = _asked(ws, span, options)
    started = time.perf_counter()
    sources = _sources(ws, rev, asked.span, options)
    try:
        found = [(source, _judged(ws, source, since, asked)) for source, since in sources.items()]
    except UsageProblem as problem:
        _print_invalid(ws, asked.shape, next(iter(sources)), problem)
        raise
    seconds = time.perf_counter() - started
    if asked.shape == "text":
        _print(ws, found, seconds, asked)
    else:
        from kl_hooks.arch.formats.document import document

        click.echo(document(ws, asked.shape, found, asked.lists), nl=False)
    return 0 if all(verdict is None or verdict.clean for _, verdict in found) else 1


def _workspace(folder: str | None) -> Workspace:
    if folder is not None:
        if not Path(folder).is_dir():
            raise UsageProblem("no such folder.", place=folder, hint="Give --dir a folder of a repository.")
        click.get_current_context().find_root().ensure_object(dict)["root"] = folder
    return workspace()


def _asked(ws: Workspace, span: str | None, options: dict[str, Any]) -> _Asked:
    top = repository(ws).top
    folder = from_top(options["folder"], top).rstrip("/") if options["folder"] is not None else ""
    manifest = options["manifest"] or ""
    if manifest:
        place = Path(os.path.abspath(manifest))  # noqa: PTH100 (which follows links)
        manifest = place.relative_to(top).as_posix() if place.is_relative_to(top) else str(place)
    names = {key: options[key] for key in ("shape", "quiet", "lists", "required")}
    asked = _Asked(**names, trust=options["trust"] or "", manifest=manifest, folder="")
    if folder not in ("", "."):
        asked = replace(asked, folder=folder + "/")
    if span is None:
        return asked
    from kl_hooks.arch.changed import changed

    return replace(asked, span=changed(ws, span))


def _sources(ws: Workspace, rev: str | None, span: Range | None, options: dict[str, Any]) -> dict[str, str]:
    """What is judged → the commit that it starts from, empty where that is the one before it."""
    if options["push"]:
        repo = repository(ws)
        return {commit: since or parted(repo, commit) for commit, since in pushed(os.environ, _stdin()).items()}
    if span:
        return {span.source: span.before}
    return {STAGED if options["staged"] else WORKTREE if rev is None else revision(rev): ""}


def _judged(ws: Workspace, source: str, since: str, asked: _Asked) -> Verdict | None:
    verdict, remarks = run_check(ws, source, Terms(since, asked.trust, asked.manifest))
    for remark in remarks:
        note(remark)
    if verdict is None and asked.required:
        hint = "Create one with: kl init (or: pre-commit run kl-init --hook-stage manual)"
        raise UsageProblem("is missing, and --require-manifest demands it.", place=MANIFEST, hint=hint)
    for warning in verdict.warnings if verdict and not (asked.quiet and verdict.clean) else ():
        note(f"warning: {warning}")
    if verdict is not None and asked.span is not None:
        from kl_hooks.arch.changed import narrowed

        verdict, others = narrowed(verdict, asked.span)
        if others:
            note(f"{counted(others, 'finding')} in files that {asked.span.text} does not change: not shown.")
    if verdict is not None and asked.folder:
        from kl_hooks.arch.changed import within

        verdict = within(verdict, asked.folder)
    return verdict


def _print_invalid(ws: Workspace, shape: str, source: str, problem: UsageProblem) -> None:
    """Unusable rules in the form that was asked for; the message on stderr and exit 2 follow."""
    from kl_hooks.config.problems import Problems
    from kl_hooks.model.manifest import Manifest
    from kl_hooks.model.problem import Problem

    rules = isinstance(problem, Problems) or problem.place in (MANIFEST, BASELINE)
    if shape == "text" or not rules:
        return
    from kl_hooks.arch.formats.document import document

    single = (Problem(problem.place, 0, 0, problem.reason, problem.hint),)
    problems = problem.problems if isinstance(problem, Problems) else single
    verdict = Verdict(Manifest(MANIFEST, ()), (), problems, (), 0, source, invalid=True)
    click.echo(document(ws, shape, [(source, verdict)]), nl=False)


def _print(ws: Workspace, found: list[tuple[str, Verdict | None]], seconds: float, asked: _Asked) -> None:
    for source, verdict in found:
        if asked.quiet and (verdict is None or (verdict.clean and not verdict.loosened)):
            continue
        if verdict is not None:
            for path in verdict.unassigned if asked.lists else ():
                say(f"{path}: in no layer")
            for line in text(verdict, seconds):
                say(line)
        elif on_disk(ws):
            where = "what is staged" if source == STAGED else source
            say(f"{_NONE} {where} - nothing to enforce. The one on disk is not in git there.")
        else:
            say(f"{_NONE} this repository - nothing to enforce. Create one with: kl init")


def _stdin() -> list[str]:
    """The lines that git gives to a pre-push git hook; none on a terminal, from pre-commit, or if nothing comes."""
    if os.environ.get("PRE_COMMIT") or sys.stdin is None or sys.stdin.isatty():
        return []
    try:
        ready, _, _ = select.select([sys.stdin], [], [], _PATIENCE)
    except (OSError, ValueError):
        return []
    return sys.stdin.read().splitlines() if ready else []
