"""`kl arch`: layers, and imports checked against them."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

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
    counted,
    echo,
    echo_json,
    echo_line,
    echo_lines,
    format_option,
    path_from_root,
    warn,
    workspace,
    write,
)
from kl_hooks.errors import UsageProblem
from kl_hooks.model.manifest import BASELINE, MANIFEST
from kl_hooks.model.text import one_line
from kl_hooks.workspace import Workspace

if TYPE_CHECKING:
    from kl_hooks.arch.baseline import BaselineEntry
    from kl_hooks.arch.content import ChangedRange
    from kl_hooks.arch.importers import ImportedConfig

_MOST: Final = 40
"""Rows of one list; JSON has all."""


_COMMANDS = {
    "check": "Check the imports against the manifest.",
    "show": "A picture of the layers, and of what is imported across them.",
    "explain": "Why a file, module or layer is judged as it is.",
    "fix": "Move annotation-only imports under TYPE_CHECKING, drop unused ones.",
    "mv": "Give a moved folder its new path in the manifest, the baseline and imports.",
    "allow": "Allow an import until a day, and record why.",
    "baseline": "The violations that are accepted for now: write, show, prune.",
    "import": "Put a set-up of import-linter or tach into a manifest.",
}
"""Command → its line in the help."""


@click.group(cls=LazyGroup, module="kl_hooks.cli.arch", lines=_COMMANDS)
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
    return 0 if all(verdict is None or verdict.clean for _, verdict in whole) else 1


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
    folder = (
        _path_from_top(options["folder"], top).rstrip("/") if options["folder"] is not None else ""
    )
    manifest = options["manifest"] or ""
    if manifest:
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
    return {STAGED if options["staged"] else WORKTREE if rev is None else content_name(rev): ""}


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
    return sys.stdin.read().splitlines() if ready else []


@click.command(epilog="Example: kl arch show")
@format_option()
def show(shape: str) -> None:
    """Show the layers as they are stacked, what each imports from which, and what breaks the
    manifest.

    Of the files as they are on disk. A table below shows the same. Box characters where the
    terminal has them (a UTF-8 locale), ASCII otherwise. Violations are red, accepted ones yellow
    (not with NO_COLOR). To get an exit code, use: kl arch check
    """
    from kl_hooks.arch.overview import line_color, load_overview, overview_to_dict

    overview, notes = allowed(load_overview(workspace()))
    for remark in notes:
        warn(remark)
    if shape == "json":
        echo_json(overview_to_dict(overview))
        return
    if overview is None:
        echo(
            "no .kl/architecture.yaml in this repository - nothing to show. Create one with: kl"
            " init"
        )
        return
    for line in overview.picture(_has_boxes(os.environ)):
        echo(line, **line_color(line))


def _has_boxes(environ: Mapping[str, str]) -> bool:
    """True in a UTF-8 locale; Python itself writes UTF-8 even where the locale is C."""
    # PEP 538 and 540 give Python UTF-8 in the C locale, which a terminal of that locale need not
    # show
    locale = next(
        (environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), "C"
    )
    stated = locale.lower().replace("-", "").endswith("utf8") or "utf8." in locale.lower().replace(
        "-", ""
    )
    return stated and "utf" in (getattr(sys.stdout, "encoding", "") or "").lower()


@click.command(epilog="Example: kl arch explain src/shop/core/order.py")
@click.argument("what", metavar="FILE|LAYER|MODULE")
@format_option()
def explain(what: str, shape: str) -> None:
    """Explain a file (which module it is and why, its layer, what crosses layers), or a layer, of
    what is on disk.

    For a file: how it was mapped to a module, which path of the manifest owns it, what it imports
    from other layers and who of them imports it, each with the decision: allowed, excepted, in the
    baseline, ignored, forbidden. For a layer: its paths and files, what it may depend on and does,
    who uses it, and what breaks its rule.
    """
    from kl_hooks.arch.overview import EXPLAIN_SCHEMA, check_worktree

    ws = workspace()
    seen, notes = check_worktree(ws)
    for remark in allowed(tuple(notes)):
        warn(remark)
    if seen is None:
        if shape == "json":
            echo_json({"schema": EXPLAIN_SCHEMA, "kind": None})
        else:
            echo(
                "no .kl/architecture.yaml in this repository - nothing to explain. Create one with:"
                " kl init"
            )
        return
    try:
        paths = [_path_from_top(what, Path(ws.repo.top if ws.repo else ws.root)), what]
    except UsageProblem:
        paths = [what]
    answer = allowed(seen.explanation(what, paths))
    if shape == "json":
        echo_json(answer)
        return
    echo_lines(explanation_lines(answer))


@click.command(epilog="Example: kl arch fix --dry-run src/shop/core/")
@click.argument("paths", nargs=-1, metavar="[FILE]...")
@click.option("--dry-run", is_flag=True, help="Show what would change; write nothing.")
@click.option("--accepted", is_flag=True, help="Also fix what the baseline accepts.")
@format_option()
def fix(paths: tuple[str, ...], dry_run: bool, accepted: bool, shape: str) -> int:
    """Fix forbidden imports in FILEs and folders on disk (none given: everywhere), where that
    changes no behavior.

    An import that nothing uses is dropped. One that only annotations use is moved under `if
    TYPE_CHECKING:`, where the manifest ignores such imports. Whatever may be noticed at run time
    stays, and the reason is shown, as is the diff. What an exception or the baseline accepts is
    left alone.

    Exit 0: nothing is left to fix. 1: violations are left (or would be fixed: --dry-run). 2: a bad
    manifest.
    """
    from kl_hooks.arch.autofix import fix_violations

    ws = workspace()
    top = Path(ws.repo.top if ws.repo else ws.root)
    whole = fix_violations(ws, [_path_from_top(path, top) for path in paths], not dry_run, accepted)
    done = allowed(whole)
    for remark in done.notes:
        warn(remark)
    if shape == "json":
        echo_json(done.to_dict(written=not dry_run))
    elif not done.has_manifest:
        echo_line(
            "no .kl/architecture.yaml in this repository - nothing to enforce. Create one with: kl"
            " init"
        )
    else:
        for line in done.lines(written=not dry_run):
            echo_line(line)
    return 0 if whole.clean and not (dry_run and whole.fixed) else 1


@click.command(epilog="Example: kl arch mv src/shop/api src/shop/web --imports")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--imports", is_flag=True, help="Also rewrite the imports of all Python files.")
@click.option("--dry-run", is_flag=True, help="Show what would change; write nothing.")
@format_option()
def mv(old: str, new: str, imports: bool, dry_run: bool, shape: str) -> int:
    """Give the folder or file OLD the path NEW: in the layers, exceptions and contracts of the
    manifest, and in the baseline.

    Moves no file itself: use git mv, before or afterwards. Names of layers stay, as do comments and
    layout. The diff is shown. With --imports the imports on disk get the new names too; strings and
    what can't be rewritten surely are listed.

    Exit 0: done, or nothing to do. 1: something would change (--dry-run). 2: no rule and no file
    knows OLD, or a bad manifest.
    """
    from kl_hooks.arch.folder_move import move_folder

    ws = workspace()
    top = Path(ws.repo.top if ws.repo else ws.root)
    paths = (_path_from_top(path, top) for path in (old, new))
    done = move_folder(ws, *paths, write=not dry_run, imports=imports)
    for remark in done.notes:
        warn(remark)
    if shape == "json":
        echo_json(done.to_dict(written=not dry_run))
    else:
        for line in done.lines(written=not dry_run):
            echo_line(line)
    return 1 if dry_run and done.changes else 0


@click.command(
    epilog=(
        'Example: kl arch allow shop.core.order shop.web.page --until 30d --reason "until orders'
        ' are split"'
    )
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--until", required=True, help="Last day it applies: 30d, or YYYY-MM-DD.")
@click.option("--reason", required=True, help="Why; it becomes the decision record.")
@click.option(
    "--decision",
    default="",
    metavar="ADR-NNNN",
    help="Name this record instead of writing a new one.",
)
@click.option(
    "--accept",
    is_flag=True,
    help="Write the new record as accepted; for people. Else it is proposed.",
)
@format_option()
def allow(
    source: str, target: str, until: str, reason: str, decision: str, accept: bool, shape: str
) -> None:
    """Allow imports of TO by FROM (modules or layers) until a day, and record why.

    Adds an exception to `.kl/architecture.yaml`, every other byte of which stays as it is, and
    writes a decision into `.kl/knowledge/decisions/` unless --decision names one: proposed, or
    accepted with --accept. Review and commit both. Refused where it would excuse no import of
    today: no exception excuses a chain (`indirect: forbid`).
    """
    from kl_hooks.arch.exceptions import add_exception as run
    from kl_hooks.evidence.provenance import agent

    ws = workspace()
    if accept and (name := agent(ws.environ)):
        hint = "Leave it out: a person accepts the record with kl decision accept."
        raise UsageProblem(
            f"accepting is for people, and this is {name}.", place="--accept", hint=hint
        )
    made = run(ws, source, target, until, reason, decision, accept=accept)
    one = made.exception
    for remark in made.remarks:
        warn(remark)
    if shape == "json":
        row = {"from": one.source, "to": one.target, "until": one.until, "decision": one.decision}
        place = {
            "manifest": MANIFEST,
            "line": one.line,
            "record": made.record or None,
            "imports": made.imports,
        }
        echo_json({"schema": "kl.arch.allow/1", **row, **place})
        return
    echo(
        f"{MANIFEST}:{one.line}: {one.source} may import {one.target} until {one.until}"
        f" ({one.decision})"
    )
    if made.record:
        how = "" if accept else f" (proposed; accept it with: kl decision accept {one.decision})"
        echo(f"wrote {made.record}{how}")
    echo(f"{counted(made.imports, 'import')} excused. Review and commit it.")


@click.group()
def baseline() -> None:
    """The violations that are accepted for now, in `.kl/baseline.json`: only new ones block.

    Fixed ones leave the file by themselves at the next clean `kl arch check` of the working tree;
    it never grows by itself. Commit it: a grown baseline is a diff that a review sees.
    """


@baseline.command("write", epilog="Example: kl arch baseline write")
@click.option(
    "--grow", is_flag=True, help="Accept what is added to a baseline that is there already."
)
@format_option()
def baseline_write(grow: bool, shape: str) -> None:
    """Accept today's violations of the working tree. Exit 2, and nothing is written, if a baseline
    would grow.
    """
    from kl_hooks.arch.baseline import compare_baseline, replace_baseline

    ws = workspace()
    seen = compare_baseline(ws)
    grows = seen.before is not None and bool(seen.added)
    if not grows or grow:
        replace_baseline(ws, seen, seen.today)
    if shape == "json":
        rows = {
            "added": _entries_to_dicts(seen.added),
            "fixed": _entries_to_dicts(seen.fixed),
            "written": grow or not grows,
        }
        echo_json(
            {
                "schema": "kl.arch.baseline.write/1",
                "violations": _entries_to_dicts(seen.today),
                **rows,
            }
        )
    else:
        _print_entries(
            "added" if grow or not grows else "would be added",
            seen.added if seen.before is not None else (),
        )
        _print_entries("fixed", seen.fixed)
    # after the answer: what would be added is shown before it is refused
    if grows and not grow:
        more = counted(_total(seen.added), "violation")
        hint = "Fix them, or accept them too: kl arch baseline write --grow"
        raise UsageProblem(f"would grow by {more}; nothing was written.", place=BASELINE, hint=hint)
    if shape == "text":
        accepted = counted(_total(seen.today), "accepted violation")
        echo(
            f"wrote {BASELINE}   {accepted}; new ones will block, fixed ones are removed by kl."
            " Commit it."
        )


@baseline.command("show", epilog="Example: kl arch baseline show")
@format_option()
def baseline_show(shape: str) -> None:
    """List what is accepted, what of it is fixed or renamed, and what is new."""
    from kl_hooks.arch.baseline import compare_baseline

    seen = compare_baseline(workspace())
    if shape == "json":
        renamed = [
            {"entry": old, "today": new} for old, new in map(_entries_to_dicts, seen.found.renamed)
        ]
        rows = {
            "accepted": _entries_to_dicts(seen.entries),
            "fixed": _entries_to_dicts(seen.fixed),
            "new": _entries_to_dicts(seen.added),
        }
        there = BASELINE if seen.before is not None else None
        echo_json({"schema": "kl.arch.baseline/1", "baseline": there, "renamed": renamed, **rows})
        return
    if seen.before is None:
        echo(
            f"no {BASELINE}; {counted(_total(seen.today), 'violation')} today. Accept them with: kl"
            " arch baseline write"
        )
        return
    _print_entries("accepted", seen.found.needed)
    for old, new in allowed(seen.found.renamed):
        echo(f"  renamed   {old}  is now {new.importer} imports {new.imported}")
    _print_entries("fixed", seen.fixed)
    _print_entries("new", seen.added)
    sums = (_total(seen.found.needed), _total(seen.fixed), _total(seen.added))
    echo(
        f"{sums[0]} accepted, {sums[1]} fixed, {sums[2]} new"
        + (" - see: kl arch baseline prune" if sums[1] else "")
    )


@baseline.command("prune", epilog="Example: kl arch baseline prune")
@format_option()
def baseline_prune(shape: str) -> None:
    """Remove what is fixed, and give renamed modules their names of today. New violations are not
    added.
    """
    from kl_hooks.arch.baseline import compare_baseline, replace_baseline

    ws = workspace()
    seen = compare_baseline(ws)
    if seen.before is None:
        raise UsageProblem(
            "is not there.",
            place=BASELINE,
            hint="Accept today's violations: kl arch baseline write",
        )
    changed = seen.found.today != seen.entries
    if changed:
        replace_baseline(ws, seen, seen.found.today)
    if shape == "json":
        rows = {
            "fixed": _entries_to_dicts(seen.fixed),
            "violations": _entries_to_dicts(seen.found.today),
            "written": changed,
        }
        echo_json({"schema": "kl.arch.baseline.prune/1", **rows})
        return
    _print_entries("fixed", seen.fixed)
    left = (
        f"{_total(seen.fixed)} taken out, {len(seen.found.renamed)} renamed,"
        f" {_total(seen.found.today)} left"
    )
    echo(f"{BASELINE}: {left}." + (" Commit it." if changed else ""))


def _total(entries: tuple[BaselineEntry, ...]) -> int:
    return sum(one.count for one in entries)


def _print_entries(what: str, entries: tuple[BaselineEntry, ...]) -> None:
    for entry in allowed(entries):
        echo(f"  {what:<9} {entry}" + (f"  ({entry.count} times)" if entry.count > 1 else ""))


def _entries_to_dicts(entries: tuple[BaselineEntry, ...]) -> list[dict[str, Any]]:
    return [entry.to_dict() for entry in allowed(entries)]


@click.command("import", epilog="Example: kl arch import --write")
@click.argument("file", required=False)
@click.option(
    "--write", is_flag=True, help=f"Write {MANIFEST}; without it the text is only printed."
)
@click.option("--force", is_flag=True, help="With --write: replace the manifest that is there.")
@format_option()
def import_(file: str | None, write: bool, force: bool, shape: str) -> int:
    """Put a set-up of import-linter or tach (FILE, or the first one found) into a manifest for kl.

    Rules stay as strict as they were: what our layers can't express in full stays a contract that
    import-linter runs. What can't be translated is listed, a line each.
    """
    from kl_hooks.arch.importers import import_config

    ws = workspace()
    if force and not write:
        raise UsageProblem("--force goes with --write.", place="kl arch import")
    found = import_config(ws, path_from_root(ws.root, file) if file else None)
    text = found.manifest_text()
    if write:
        _write_manifest(ws, text, force)
    for line in found.left:
        warn(f"not translated: {line}")
    if shape == "json":
        echo_json(_import_to_dict(found, text, write))
    elif write:
        rules = (
            f"{counted(len(found.layers), 'layer')}, {counted(len(found.contracts), 'contract')}"
        )
        echo(f"wrote {MANIFEST} from {found.origin}: {rules}. Next: kl arch check")
    else:
        echo(text.rstrip("\n"))
    return 0


def _write_manifest(ws: Workspace, text: str, force: bool) -> None:
    from kl_hooks.store.files import write_atomic
    from kl_hooks.workspace import refuse_linked_folder

    refuse_linked_folder(ws.root)
    target = ws.root / MANIFEST
    # exists() follows links, and is False for one that leads nowhere
    if (target.exists() or target.is_symlink()) and not force:
        raise UsageProblem(
            "is there already.", place=MANIFEST, hint="Print it without --write, or add --force."
        )
    if target.is_symlink() or target.is_dir():
        raise UsageProblem("is not a file.", place=MANIFEST, hint="Move it away.")
    target.parent.mkdir(exist_ok=True)
    write_atomic(target, text.encode(), within=ws.root)


def _import_to_dict(found: ImportedConfig, text: str, wrote: bool) -> dict[str, object]:
    return {
        "schema": "kl.arch.import/1",
        "origin": found.origin,
        "layers": [layer.name for layer in found.layers],
        "contracts": [contract.name for contract in found.contracts],
        "not_translated": list(found.left),
        "text": text,
        "wrote": wrote,
    }


def explanation_lines(facts: Mapping[str, Any]) -> list[str]:
    """The lines to print."""
    return _layer_lines(facts) if facts["kind"] == "layer" else _file_lines(facts)


def _file_lines(facts: Mapping[str, Any]) -> list[str]:
    root = facts["root"] or "the top of the repository"
    lines = [
        one_line(facts["path"]),
        f"  module   {one_line(facts['module'])}",
        f"           {facts['because']}",
    ]
    lines.append(f"           source root: {one_line(root)}")
    if facts["same_name"]:
        others = ", ".join(facts["same_name"][:3]) + (
            ", ..." if len(facts["same_name"]) > 3 else ""
        )
        lines.append(f"           other files of that name: {one_line(others)}")
    if facts["others"]:
        lines.append(
            f"           other files of this module name: {one_line(', '.join(facts['others']))}"
        )
    if facts["problem"]:
        lines.append(f"  problem  {one_line(facts['problem'])}")
    if facts["layer"] is None:
        return [
            *lines,
            (
                f"  layer    none: no path of {facts['line']} covers it, so nothing it imports is"
                " judged"
            ),
        ]
    decision = f"  ({facts['decision']})" if facts["decision"] else ""
    lines.append(f"  layer    {facts['layer']}, by its path {facts['owned_by']}")
    for other in facts["also_covered_by"]:
        lines.append(
            f"           the shorter path {other['path']} of {other['layer']} covers it too, and"
            " gives way"
        )
    lines.append(
        f"           may depend on: {', '.join(facts['may_depend_on']) or '(nothing)'}   "
        f" {facts['line']}{decision}"
    )
    lines += _rows("imports from other layers", facts["imports"], "to", "imported")
    return lines + _rows(
        "imported from other layers", facts["imported_by"], "from", "importer", places=True
    )


def _rows(
    title: str, rows: Sequence[Mapping[str, Any]], layer: str, module: str, places: bool = False
) -> list[str]:
    """One import a line: where, which layer, which module, what is decided."""
    if not rows:
        return [f"  {title}: none"]
    shown = rows[:_MOST]
    where = [
        one_line(f"{row['path']}:{row['line']}") if places else f"line {row['line']}"
        for row in shown
    ]
    columns = [
        where,
        [one_line(row[layer]) for row in shown],
        [one_line(row[module]) for row in shown],
    ]
    widths = [max(map(len, column)) for column in columns]
    lines = [f"  {title}"]
    for row, cells in zip(shown, zip(*columns, strict=True), strict=True):
        how = "" if row["method"] == "import" else f"  ({row['method']})"
        padded = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        lines.append(f"    {padded}  {row['decided']}{how}")
    return lines + (
        [f"    ... and {len(rows) - _MOST} more: --format json"] if len(rows) > _MOST else []
    )


def _layer_lines(facts: Mapping[str, Any]) -> list[str]:
    decision = f"  ({facts['decision']})" if facts["decision"] else ""
    lines = [f"layer {facts['layer']}    {facts['line']}{decision}"]
    for one in facts["paths"]:
        lines.append(f"  path     {one_line(one['path'])}  {counted(one['files'], 'file')}")
    used = [f"{one['layer']} {one['imports']}" for one in facts["may_depend_on"] if one["imports"]]
    unused = [one["layer"] for one in facts["may_depend_on"] if not one["imports"]]
    if not used and not unused:
        lines.append("  may depend on: (nothing)")
    lines += [f"  may depend on, with imports: {', '.join(used)}"] if used else []
    lines += [f"  may depend on, unused: {', '.join(unused)}"] if unused else []
    by = [
        f"{one['layer']} {one['imports']}{'' if one['allowed'] else ' (not allowed)'}"
        for one in facts["used_by"]
    ]
    lines.append(f"  used by: {', '.join(by) or '(no layer)'}")
    return lines + _rows(
        "imports that the rule forbids", facts["broken"], "to", "imported", places=True
    )


def content_name(rev: str) -> str:
    """A revision as the name of a content: a branch called `staged` is not what is staged."""
    return f"{rev}^{{}}" if rev in (WORKTREE, STAGED) else rev


def _path_from_top(path: str, top: Path) -> str:
    """A path as it was typed, from the repository's root; empty for the root. UsageProblem where it
    leads out.
    """
    # as typed and with links resolved: git resolves its top, and /tmp of macOS is a link to
    # /private/tmp
    for here in (Path(os.path.abspath(path)), Path(path).resolve()):  # noqa: PTH100
        for base in (top, top.resolve()):
            if here.is_relative_to(base):
                found = here.relative_to(base).as_posix()
                return "" if found == "." else found
    raise UsageProblem("is not in this repository.", place=path, hint=f"The repository is {top}.")
