"""`kl context`: a small, ranked, cited package for a task; its history, and how well packages find
code.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.output import (
    Option,
    counted,
    echo,
    echo_json,
    echo_lines,
    format_option,
    progress,
    warn,
    workspace,
    write,
    write_file,
)
from kl_hooks.cli.request_options import request_options
from kl_hooks.clock import FixedClock, micros
from kl_hooks.context.critical import MOST, SECTIONS, CriticalRequest, critical, render_critical
from kl_hooks.context.deliver import (
    Delivered,
    deliver,
    explain_items,
    explain_one,
    find_package,
    make_request,
)
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.git.repository import Repository, find_repository
from kl_hooks.model.actors import trace_id
from kl_hooks.model.canonical import replace_surrogates
from kl_hooks.model.package import Candidate
from kl_hooks.model.parameter import values_of
from kl_hooks.model.request import STYLE_NAMES, Request
from kl_hooks.model.text import inert_json
from kl_hooks.workspace import Workspace

if TYPE_CHECKING:
    from kl_hooks.context.replay import Replayed

_TASK = "TASK"
_LONGEST_TASK = 1_000_000
"""Bytes that are read from stdin; signals are read from the first 50,000."""


class _TaskContext(click.Context):
    """Of a command that nobody types: usage, hints and variables name its group."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        if self.parent:
            self.auto_envvar_prefix = self.parent.auto_envvar_prefix

    @property
    def command_path(self) -> str:
        return self.parent.command_path if self.parent else super().command_path


class _TaskCommand(click.Command):
    """What a group does with a task."""

    context_class = _TaskContext


class _TaskFirst(click.Group):
    """A group whose first word is a task unless it is one of its commands; `--` before it makes any
    word a task.
    """

    # click asks for a command first; here the first word is a task unless it names one
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = args[: args.index("--")] if "--" in args else args
        if not args or args[0] not in self.commands:
            args = ["--help"] if {"-h", "--help"} & set(words) else [_TASK, *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [p for p in self.commands[_TASK].params if isinstance(p, click.Option)]
        records = [record for option in options if (record := option.get_help_record(ctx))]
        with formatter.section("Options"):
            formatter.write_dl(records)
        self.format_commands(ctx, formatter)


@click.command(
    "critical", epilog="Example: kl context critical --command feature-build --feature FEAT-AUTH-12"
)
@request_options(CriticalRequest)
@click.option(
    "--without",
    multiple=True,
    type=click.Choice([s.name for s in SECTIONS]),
    help="Omit a section.",
)
@click.option(
    "--top",
    "max_items",
    cls=Option,
    old=("--max-items",),
    default=MOST,
    show_default=True,
    type=click.IntRange(1, 100),
    help="Most in a section.",
)
@format_option()
def critical_(without: tuple[str, ...], max_items: int, shape: str, **options: Any) -> None:
    """Show what binds every piece of work here: decisions, known failures, gates, what this system
    is.
    """
    request = CriticalRequest(**values_of(CriticalRequest, options))
    found = critical(workspace(), request, max_items, without)
    if shape == "json":
        sections = {part.section.name: [_to_dict(one) for one in part.items] for part in found}
        omitted = {part.section.name: part.omitted for part in found if part.omitted}
        echo_json({"schema": "kl.critical/1", **sections, "omitted": omitted})
        return
    echo_lines(render_critical(found, max_items))
    if not any(part.items for part in found):
        warn(
            "nothing binds work here yet. See: kl decision new --edit, kl gate new --edit, kl seed"
            " --system"
        )


def _to_dict(one: Candidate) -> dict[str, Any]:
    return {
        "id": one.id,
        "kind": one.kind,
        "title": one.title,
        "text": one.text,
        "summary": one.summary,
        "path": one.path,
        "tier": one.tier.word if one.tier is not None else None,
        "authority": one.authority,
    }


@click.group(
    cls=_TaskFirst,
    options_metavar="[OPTIONS]",
    subcommand_metavar="TASK",
    epilog='Example: kl context "fix rounding in checkout totals" --budget 1500tok',
)
def context() -> None:
    """A small, ranked, cited package of the knowledge here for a TASK in plain words.

    It is never larger than its budget. The same task on the same tree gives the same bytes. `-`
    reads the TASK from stdin, such as a pytest report.
    """


@context.command(_TASK, cls=_TaskCommand, hidden=True)
@click.argument("words", nargs=-1, metavar="TASK")
@request_options(Request)
@format_option("markdown", "xml")
@click.option(
    "--explain", "explained", is_flag=True, help="Then every item's score, its parts and reasons."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file instead.",
)
@click.option("--now", metavar="ISO", help="Answer as of this time, such as 2027-01-31T12:00:00Z.")
def task(
    words: tuple[str, ...],
    shape: str,
    explained: bool,
    output: Path | None,
    now: str | None,
    **asked: Any,
) -> None:
    """A package for a task in plain words."""
    ws = _at(workspace(), now)
    if words == (
        "-",
    ):  # a long pytest report is no argument of a command: the kernel limits those (execve(2))
        words = (sys.stdin.buffer.read(_LONGEST_TASK).decode("utf-8", "replace"),)
    style = shape if shape in STYLE_NAMES else "text"
    for one in asked["have"]:
        if not _is_package(one):
            raise UsageProblem(
                f"{one!r} is not a package.", place="--have", hint="Try: cp-3f9a1c20b7de"
            )
    request = make_request(" ".join(words), style, trace_id(ws.environ), asked)
    with progress("Reading code, records and history"):
        made = deliver(ws, request)
    _print_warnings(made)
    text = ascii_json(made.document) + "\n" if shape == "json" else made.text
    if explained and shape != "json":
        text += "\n" + "".join(f"{line}\n" for line in explain_items(made.document))
    if output is None:
        _echo_exactly(text, ws.environ)
        return
    write_file(output, text, "replace")
    warn(f"{made.document['package_id']} written to {output}")


def ascii_json(value: Mapping[str, Any]) -> str:
    """Return indented ASCII JSON, keys sorted, in which no text delimits a conversation."""
    return inert_json(json.dumps(replace_surrogates(dict(value)), indent=2, sort_keys=True))


@context.command(
    short_help="A package that was made here.",
    epilog="Example: kl context show cp-3f9a1c20b7de --format json",
)
@click.argument("words", nargs=-1, metavar="PACKAGE")
@format_option()
def show(words: tuple[str, ...], shape: str) -> None:
    """A package made here, by its id or the beginning of it; after half an hour built again from
    its request.
    """
    _require(len(words) == 1 and _is_package(words[-1]), "show", "PACKAGE", words)
    ws = workspace()
    made = find_package(ws, words[0])
    _print_warnings(made)
    _echo_exactly(ascii_json(made.document) + "\n" if shape == "json" else made.text, ws.environ)


@context.command(
    "why",
    short_help="Why one item is, or is not, in a package.",
    epilog="Example: kl context why function:shop.price.total cp-3f9a1c20b7de",
)
@click.argument("words", nargs=-1, metavar="ID PACKAGE")
def why_(words: tuple[str, ...]) -> None:
    """Why one item is, or is not, in a package: its score and reasons, or why it was omitted."""
    _require(len(words) == 2 and _is_package(words[-1]), "why", "ID PACKAGE", words)
    made = find_package(workspace(), words[1])
    _print_warnings(made)
    echo_lines(explain_one(made.document, words[0]))


@context.command(
    "audit",
    short_help="What the policy decided, package by package.",
    epilog="Example: kl context audit --package cp-3f9a1c20b7de --format json",
)
@click.argument("words", nargs=-1, metavar="")
@click.option(
    "--package",
    default="",
    metavar="PACKAGE",
    help="Only this package, by its id or the beginning of it.",
)
@format_option()
def audit_(words: tuple[str, ...], package: str, shape: str) -> None:
    """What `.kl/policy.yaml` decided about each package made here, and each answer to an agent, the
    newest first.

    For whom, which rules, how many items each, and which ones were denied or redacted; agents get
    no items.
    """
    from kl_hooks.context.policy import (
        audit,
    )  # here: other commands import it only where there is a policy

    _refuse_words("audit", words)
    if package and not _is_package(package):
        raise UsageProblem(
            f"{package!r} is not a package.", place="--package", hint="Try: cp-3f9a1c20b7de"
        )
    found = audit(workspace(), package)
    if shape == "json":
        echo_json({"schema": "kl.context.audit/1", "decisions": found})
        return
    for one in found:
        counts = ", ".join(f"{number} {effect}" for effect, number in one["counts"].items())
        what = one["package_id"] or one["purpose"]
        echo(
            f"{one['created_at']}  {one['policy_decision_id']}  {what}  {one['subject']}  {counts}"
        )
        echo_lines(f"  {effect}  {name}  ({rule})" for effect, rule, name in one["items"])
        if one["more_items"]:
            echo(f"  … and {one['more_items']} more, which are not logged")
    if not found:
        warn("no decision is recorded. Packages are governed where there is a .kl/policy.yaml")


@context.command(
    "replay",
    short_help="Grade the ranking of code on past commits.",
    epilog="Example: kl context replay --last 500 --tasks 30 --repo ../flask --repo ../click",
)
@click.argument("words", nargs=-1, metavar="")
@click.option(
    "--last",
    default=500,
    show_default=True,
    type=click.IntRange(1),
    help="Newest commits to choose from.",
)
@click.option(
    "--tasks",
    default=30,
    show_default=True,
    type=click.IntRange(1),
    help="Most tasks of a repository, drawn at random.",
)
@click.option("--seed", default=0, show_default=True, help="Of the draw and of the intervals.")
@click.option(
    "--repo",
    "repos",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A clone to replay instead of this repository; may be given several times.",
)
@format_option()
def replay_(
    words: tuple[str, ...], last: int, tasks: int, seed: int, repos: tuple[Path, ...], shape: str
) -> None:
    """Grade the ranking of code on past commits.

    Each task is the message of a commit without paths, file names and IDs; the answer is what the
    commit changed. Only the content and history of its parent are seen. Printed beside grep, BM25
    over files and over symbols, past commits, and the fusion (RRF) of the last three: recall of
    files among the first 1, 5 and 10, the mean reciprocal rank, and which files and symbols are in
    the delivered text. Writes nothing.
    """
    _refuse_words("replay", words)

    _replay(repos, last, tasks, seed, shape == "json")


context.add_command(critical_)


def _at(ws: Workspace, now: str | None) -> Workspace:
    if now is None:
        return ws
    try:
        return replace(ws, clock=FixedClock(micros(now)))
    except ValueError:
        raise UsageProblem(
            f"{now!r} is not a time.", place="--now", hint="Try: 2027-01-31T12:00:00Z"
        ) from None


def _is_package(word: str) -> bool:
    return re.fullmatch(r"cp-[0-9a-f]{1,12}", word) is not None


def _require(fine: bool, command: str, needs: str, words: tuple[str, ...]) -> None:
    if not fine:
        typed = " ".join([command, *words])
        raise UsageProblem(
            f"needs {needs}, where PACKAGE is an id such as cp-3f9a1c20b7de.",
            place=f"kl context {command}",
            hint=f"If {typed!r} is a task: kl context -- {typed}",
        )


def _refuse_words(command: str, words: tuple[str, ...]) -> None:
    if words:
        typed = " ".join([command, *words])
        raise UsageProblem(
            f"takes options only, not {words[0]!r}.",
            place=f"kl context {command}",
            hint=f"If {typed!r} is a task: kl context -- {typed}",
        )


def _print_warnings(made: Delivered) -> None:
    if made.remark:
        warn(made.remark)
    coverage: dict[str, Any] = made.document["coverage"]
    for name, how in coverage.items():
        if how.startswith("failed"):
            warn(f"{name} {how.rstrip('.')}. The package goes on without it.")


def _echo_exactly(text: str, environ: Mapping[str, str]) -> None:
    """Print exactly as many characters as `text` has: an ASCII terminal gets one for each, so the
    size is unchanged.
    """
    locale = next((environ[k] for k in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(k)), "")
    encoding = "ascii" if locale in ("C", "POSIX") else sys.stdout.encoding or "utf-8"
    text = text.encode("utf-8", "replace").decode()
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = (
            text.translate({ord("·"): "-", ord("…"): "~"})
            .encode(encoding, "replace")
            .decode(encoding)
        )
    write(text, is_governed=True)


def _replay(repos: Sequence[Path], last: int, tasks: int, seed: int, as_json: bool) -> None:
    """Replay commits of these clones, of this repository where none is named, and print what was
    found.
    """
    from kl_hooks.context.replay import Replay, find_tasks, report_lines, report_to_dict

    done: list[Replayed] = []
    for name, repo in _repositories(repos):
        chosen = find_tasks(repo, last, tasks, seed)
        if not chosen:
            warn(
                f"{name}: no commit here is a task: one that changes existing source and has a"
                " message of some words."
            )
        one = Replay(repo, name)
        with progress(f"Replaying {counted(len(chosen), 'commit')} of {name}"):
            done += [one.replay(task) for task in chosen]
    if as_json:
        echo_json(report_to_dict(done, seed))
    else:
        echo_lines(report_lines(done, seed))


def _repositories(paths: Sequence[Path]) -> list[tuple[str, Repository]]:
    if not paths:
        repo = workspace().repo
        if repo is None:
            raise EnvironmentProblem(
                "a replay needs a git repository.", hint="Name one: --repo PATH"
            )
        return [(repo.top.name, repo)]
    found = [(path.resolve().name, find_repository(path.resolve())) for path in paths]
    missing = [name for name, repo in found if repo is None]
    if missing:
        raise UsageProblem(f"{missing[0]!r} is in no git repository.", place="--repo")
    return [(name, repo) for name, repo in found if repo is not None]
