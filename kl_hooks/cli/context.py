"""`kl context`: a small, ranked, cited package for a task; its history, and how well packages find
code.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import click

from kl_hooks.cli.output import (
    command_access,
    echo,
    echo_lines,
    format_option,
    progress,
    warn,
    workspace,
    write,
    write_file,
)
from kl_hooks.cli.request_options import operation_command, request_options
from kl_hooks.context.access import Access, find_policy
from kl_hooks.context.critical import CriticalRequest, render_critical
from kl_hooks.context.deliver import explain_items
from kl_hooks.errors import UsageProblem
from kl_hooks.model.canonical import replace_surrogates
from kl_hooks.model.request import STYLE_NAMES, Request
from kl_hooks.model.text import inert_json
from kl_hooks.operations import context as operations
from kl_hooks.operations.operation import Operation, perform

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
        if self.parent:
            return self.parent.command_path
        return super().command_path


class _TaskCommand(click.Command):
    """What a group does with a task."""

    context_class = _TaskContext


class _TaskFirst(click.Group):
    """A group whose first word is a task unless it is one of its commands; `--` before it makes any
    word a task.
    """

    # click asks for a command first; here the first word is a task unless it names one
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            words = args[: args.index("--")]
        else:
            words = args
        if not args or args[0] not in self.commands:
            if {"-h", "--help"} & set(words):
                args = ["--help"]
            else:
                args = [_TASK, *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [p for p in self.commands[_TASK].params if isinstance(p, click.Option)]
        records = [record for option in options if (record := option.get_help_record(ctx))]
        with formatter.section("Options"):
            formatter.write_dl(records)
        self.format_commands(ctx, formatter)


class _WordCommand(click.Command):
    """A command of the group, whose name may be the first word of a task as well."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        arguments = [field for field in self.params if isinstance(field, click.Argument)]
        names = [argument.metavar or "" for argument in arguments]
        ctx.allow_extra_args = True
        words = self._words(ctx, args)
        try:
            rest = super().parse_args(ctx, args)
        except click.MissingParameter:
            self._refuse(names, words)
        values = [ctx.params[str(argument.name)] for argument in arguments]
        if rest or not all(map(operations.is_package_id, [*filter(None, values)][-1:])):
            self._refuse(names, words)
        return rest

    def _words(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Return the words of a call that are neither options nor values of options."""
        values, rest, order = self.make_parser(ctx).parse_args([*args])
        arguments = (one.name for one in order if isinstance(one, click.Argument))
        words = [values[name] for name in arguments if name]
        return [word for word in (*words, *rest) if isinstance(word, str)]

    def _refuse(self, names: list[str], words: list[str]) -> NoReturn:
        typed = " ".join([str(self.name), *words])
        need = f"needs {' '.join(names)}, where PACKAGE is an id such as cp-3f9a1c20b7de."
        raise UsageProblem(
            need if names else f"takes options only, not {words[0]!r}.",
            place=f"kl context {self.name}",
            hint=f"If {typed!r} is a task: kl context -- {typed}",
        )


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
    "--explain",
    "explained",
    is_flag=True,
    help="Also print every item's score, its parts and reasons.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file instead.",
)
@click.option(
    "--now", default="", metavar="ISO", help="Answer as of this time, such as 2027-01-31T12:00:00Z."
)
def task(
    words: tuple[str, ...],
    shape: str,
    explained: bool,
    output: Path | None,
    now: str,
    **options: Any,
) -> None:
    """A package for a task in plain words."""
    if words == (
        "-",
    ):  # a long pytest report is no argument of a command: the kernel limits those (execve(2))
        words = (sys.stdin.buffer.read(_LONGEST_TASK).decode("utf-8", "replace"),)
    style = shape if shape in STYLE_NAMES else "text"
    request = operations.PackageRequest(" ".join(words), chosen=options, style=style, now=now)
    with progress("Reading code, records and history"):
        package = _performed(operations.PACKAGE, request)
    text = _text_of(package, shape)
    if explained and shape != "json":
        text += "\n" + "".join(f"{line}\n" for line in explain_items(package.document))
    if output is None:
        _echo_exactly(text, workspace().environ)
        return
    write_file(output, text, "replace")
    warn(f"{package.document['package_id']} written to {output}")


def _performed(operation: Operation, request: Any) -> operations.Package:
    ws = workspace()
    access = command_access()
    if not access.shows_all:
        # the audit has what was decided on each item of the package already
        access = Access(ws, find_policy(ws))
    package: operations.Package = perform(ws, operation, request, access)
    for note in package.notes:
        warn(note)
    return package


def _text_of(package: operations.Package, shape: str) -> str:
    if shape == "json":
        return f"{ascii_json(package.document)}\n"
    return package.text


def ascii_json(value: Mapping[str, Any]) -> str:
    """Return indented ASCII JSON, keys sorted, in which no text delimits a conversation."""
    return inert_json(json.dumps(replace_surrogates(dict(value)), indent=2, sort_keys=True))


@context.command(
    cls=_WordCommand, help=operations.SHOW.help, epilog=f"Example: {operations.SHOW.example}"
)
@request_options(operations.ShowRequest)
@format_option()
def show(id: str, shape: str) -> None:
    """Print a package that was made before."""
    package = _performed(operations.SHOW, operations.ShowRequest(id))
    _echo_exactly(_text_of(package, shape), workspace().environ)


@operation_command(operations.WHY, group=context, command_class=_WordCommand)
def why(explanation: operations.Explanation, _request: operations.WhyRequest) -> None:
    """Print the score and reasons of an item."""
    echo_lines(explanation.lines)


@operation_command(operations.AUDIT, group=context, command_class=_WordCommand)
def audit(log: operations.Audit, _request: operations.AuditRequest) -> None:
    """Print each decision of the policy."""
    for decision in log.decisions:
        counts = ", ".join(f"{number} {effect}" for effect, number in decision["counts"].items())
        subject = decision["package_id"] or decision["purpose"]
        name = decision["policy_decision_id"]
        echo(f"{decision['created_at']}  {name}  {subject}  {decision['subject']}  {counts}")
        echo_lines(f"  {effect}  {item}  ({rule})" for effect, rule, item in decision["items"])
        if decision["more_items"]:
            echo(f"  … and {decision['more_items']} more, which are not logged")
    if not log.decisions:
        warn("no decision is recorded. Packages are governed where there is a .kl/policy.yaml")


def _with_progress(request: operations.ReplayRequest) -> operations.ReplayRequest:
    return request._replace(progress=progress)


@operation_command(operations.REPLAY, _with_progress, group=context, command_class=_WordCommand)
def replay(report: operations.Replay, _request: operations.ReplayRequest) -> None:
    """Print how well code was found."""
    echo_lines(report.lines)


@operation_command(operations.CRITICAL, group=context)
def critical(binding: operations.CriticalContext, request: CriticalRequest) -> None:
    """Print what binds every piece of work."""
    echo_lines(render_critical(binding.sections, request.limit))
    if binding.is_empty:
        warn(
            "nothing binds work here yet. See: kl decision new --edit, kl gate new --edit, kl seed"
            " --system"
        )


def _echo_exactly(text: str, environ: Mapping[str, str]) -> None:
    """Print exactly as many characters as `text` has: an ASCII terminal gets one for each, so the
    size is unchanged.
    """
    locale = next((environ[k] for k in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(k)), "")
    if locale in ("C", "POSIX"):
        encoding = "ascii"
    else:
        encoding = sys.stdout.encoding or "utf-8"
    text = text.encode("utf-8", "replace").decode()
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = (
            text.translate({ord("·"): "-", ord("…"): "~"})
            .encode(encoding, "replace")
            .decode(encoding)
        )
    write(text)
