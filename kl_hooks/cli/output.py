"""What commands share: options, the workspace of this call, text and JSON on stdout, notes on
stderr.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import click

from kl_hooks.errors import KlError, UsageProblem
from kl_hooks.model.text import brief, safe_text, visible_line_ends
from kl_hooks.model.text import counted as counted
from kl_hooks.workspace import Workspace, open_workspace, require_initialized

if TYPE_CHECKING:
    from kl_hooks.context.access import Access

_SHOWN_PROBLEMS: Final = "broken kinds are shown"
REPORT_FORMATS: Final = ("sarif", "github", "gitlab", "junit")
"""Formats of findings: each is a module of `kl_hooks.model.report_formats`, imported when asked
for.
"""
T = TypeVar("T")
PROGRESS_DELAY = 1.0
"""Seconds before `progress` shows anything: a shorter command should not flicker."""


def workspace() -> Workspace:
    """The workspace of this call: `--root`, or the current folder. Opened once per process."""
    context = click.get_current_context().find_root()
    shared: dict[str, Any] = context.ensure_object(dict)
    if "workspace" not in shared:
        shared["workspace"] = open_workspace(Path(shared.get("root") or os.getcwd()))  # noqa: PTH109
        for problem in shared["workspace"].missing_plugins:
            warn(f"warning: {problem} Nothing that it may redact is written.")
        context.call_on_close(lambda: _warn_of_broken_kinds(shared["workspace"]))
        # a command reads 20 times; what stays for hours (`kl mcp`, `kl serve`) opens a workspace
        # for each question
        context.with_resource(shared["workspace"].store.reusing())
        state = shared["workspace"].state
        if state.is_emptied:  # before it is made anew: memory in it is lost without a trace
            warn(
                f"warning: {state.database} is empty (0 bytes): what was stored in it is lost. See:"
                " kl doctor"
            )
    opened: Workspace = shared["workspace"]
    return opened


def initialized_workspace() -> Workspace:
    """The workspace of this call. EnvironmentProblem where `kl init` has not been run."""
    ws = workspace()
    require_initialized(ws)
    return ws


def _warn_of_broken_kinds(ws: Workspace) -> None:
    """Report, after a command that used the kinds, which files of `.kl/kinds/` are broken."""
    shown = click.get_current_context().find_root().ensure_object(dict).get(_SHOWN_PROBLEMS)
    if "catalog" in vars(ws) and not shown:
        problems = ws.catalog.problems
    else:
        problems = ()
    for problem in allowed(tuple(problems)):
        warn(f"warning: {problem}")


def broken_kinds_are_shown() -> None:
    """Called by commands that report broken files of `.kl/kinds/` themselves: each is reported
    once.
    """
    click.get_current_context().find_root().ensure_object(dict)[_SHOWN_PROBLEMS] = True


class _AccessOfPerson:
    """The access of a person: everything. The module of policies is imported where more is asked,
    for a person's `kl status` has to be fast.
    """

    shows_all, is_agent = True, False

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws

    def __getattr__(self, name: str) -> Any:
        from kl_hooks.context.access import Access

        return getattr(Access(self._ws, None), name)


def command_access() -> Access:
    """Return what an agent may be shown by this command; a person may be shown everything: he can
    open the files. What was decided is appended to the audit when the command ends.

    Raises Problems for a wrong policy: without the rules nothing may be shown.
    """
    from kl_hooks.model.actors import agent

    context = click.get_current_context()
    root = context.find_root()
    shared: dict[str, Any] = root.ensure_object(dict)
    if "access" not in shared:
        ws = workspace()
        if agent(ws.environ) is None:
            shared["access"] = _AccessOfPerson(ws)
        else:
            from kl_hooks.context.access import Access, find_policy

            shared["access"] = Access(ws, find_policy(ws))
            root.call_on_close(lambda: shared["access"].audit(context.command_path))
    access: Access = shared["access"]
    return access


@contextmanager
def answer_access(ws: Workspace, purpose: str) -> Iterator[Access]:
    """Yield what `command_access` returns, for one answer of a command that stays for hours.

    `purpose`: what the audit has of it. The policy is that of the moment.
    """
    from kl_hooks.context.access import access
    from kl_hooks.model.actors import agent

    if agent(ws.environ) is None:
        yield cast("Access", _AccessOfPerson(ws))
        return
    with access(ws, purpose) as granted:
        yield granted


def allowed(result: T) -> T:
    """Return what of a typed result whoever runs this may be shown, as `perform` does for
    operations.
    """
    access = command_access()
    if access.shows_all:
        return result
    from kl_hooks.operations.operation import visible_result

    shown: T = visible_result(access, result)
    return shown


def _shown(value: Any) -> Any:
    """Return a text, or a plain value, without the words that are hidden from whoever runs this.
    Every output passes here; a command that opened no repository has none of its words.
    """
    if not _is_governed():
        return value
    return command_access().plain(value)


def _is_governed() -> bool:
    """Return whether an agent runs a command that has opened a repository."""
    from kl_hooks.model.actors import agent

    context = click.get_current_context(silent=True)
    if context:
        opened = context.find_root().ensure_object(dict).get("workspace")
    else:
        opened = None
    return opened is not None and agent(opened.environ) is not None


def conceal_in_error(problem: KlError) -> None:
    """Take out of an error of a command what is hidden from whoever runs it. Raises as
    `command_access`: under a wrong policy that is the error to be shown.
    """
    if _is_governed():
        command_access().conceal_in_error(problem)


def write(text: str, *, err: bool = False) -> None:
    """Write a text as it is, without a line end: a document, or a part of a conversation."""
    click.echo(_shown(text), nl=False, err=err)


def write_file(path: Path, text: str, errors: str = "strict") -> None:
    """Write an answer into a file, in one step; what is hidden from whoever runs this is omitted
    as on stdout.
    """
    from kl_hooks.store.files import write_atomic

    write_atomic(path, str(_shown(text)).encode("utf-8", errors))


def echo(text: str = "", *, red: int = -1, yellow: int = -1) -> None:
    """A line of the answer, on stdout, made safe for a terminal.

    `red`, `yellow`: from which character on it has that colour (-1: it has none), where anybody
    sees colours.
    """
    text, start = _shown(text), max(red, yellow)
    head, tail = (text[:start], text[start:]) if start >= 0 else (text, "")
    if tail:
        paint = click.style(safe_text(tail), fg="red" if red >= 0 else "yellow")
    else:
        paint = ""
    click.echo(safe_text(head) + paint)


def echo_line(text: str) -> None:
    """The same for a line that quotes names of files or of what is in them: a line end in those
    does not end it.
    """
    echo(visible_line_ends(text))


def echo_lines(lines: Iterable[str]) -> None:
    """Print each line as `echo` does."""
    for line in lines:
        echo(line)


def echo_json(value: Any) -> None:
    """The answer as JSON on stdout: sorted keys, two spaces, ASCII only (so any terminal and any
    pipe can take it).
    """
    # ensure_ascii: no encoding of a pipe can fail
    click.echo(json.dumps(_shown(value), indent=2, sort_keys=True))


def print_answer(shape: str, plain: Any, lines: Iterable[str]) -> None:
    """The answer in the form that was asked for: `plain` as JSON, or the lines."""
    if shape == "json":
        echo_json(plain)
    else:
        echo_lines(lines)


def print_list(shape: str, plain: Any, rows: Iterable[str], total: int, none: str) -> None:
    """As `print_answer`, of the first rows of `total`; people see how many more there are, or
    `none`.
    """
    if shape == "json":
        echo_json(plain)
    else:
        print_rows(rows, total, none)


def print_rows(rows: Iterable[str], total: int, none: str) -> None:
    """Print the first rows of `total`, and how many more there are, or `none`."""
    shown = list(rows)
    echo_lines(shown)
    if total > len(shown):
        warn(f"these are the first {len(shown)} of {total}; more with --top.")
    if not total:
        echo(none)


def warn(text: str) -> None:
    """A remark, on stderr, in one line."""
    click.echo(f"kl: {brief(_shown(text)).replace(chr(10), ' ')}", err=True)


_steps: Final = list[str]()
"""What `progress` shows beside its label: at most one text."""


@contextmanager
def progress(label: str) -> Iterator[None]:
    """Show on a terminal that work is going on, once it has taken a second, and what `show_step`
    was given last. Nothing of it remains.
    """
    if not (sys.stderr is not None and sys.stderr.isatty()):
        yield
        return
    import threading

    _steps.clear()
    done = threading.Event()
    started = time.monotonic()

    def show() -> None:
        wait = PROGRESS_DELAY
        while not done.wait(wait):
            steps = "".join(f", {step}" for step in _steps)
            sys.stderr.write(f"\r{label}{steps} … {time.monotonic() - started:.0f} s\x1b[K")
            sys.stderr.flush()
            wait = 0.5
        if time.monotonic() - started > PROGRESS_DELAY:
            sys.stderr.write("\r\x1b[K")

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()  # `__main__` ends the process at once only where no other thread is alive


def show_step(step: str) -> None:
    """Name the part that the work within `progress` is at: `30 of 200 passages`."""
    _steps[:] = [step]


def confirm(question: str) -> None:
    """Ask on stderr, and return where the answer is yes. click.Abort for no; UsageProblem where
    nobody can answer.
    """
    try:
        click.confirm(_shown(question), abort=True, err=True)
    except click.Abort:
        if sys.stdin is None or not sys.stdin.isatty():
            raise UsageProblem(
                "not confirmed, so nothing was changed.", hint="Without asking: --yes"
            ) from None
        raise


def short(identifier: str | None, digits: int = 12) -> str:
    """The first digits of a hash, as people read it; `unknown` for None."""
    if not identifier:
        return "unknown"
    return identifier[:digits]


def path_from_root(root: Path, name: str) -> str:
    """Return a path as typed, from `root`; unchanged where it leads out of it."""
    full = Path(os.path.abspath(name))  # noqa: PTH100 (Path.resolve would follow links)
    if not full.is_relative_to(root):
        return name
    return full.relative_to(root).as_posix()


F = TypeVar("F", bound=Callable[..., Any])


class Option(click.Option):
    """An option that is also read under `old` spellings. These are in no help and in no message."""

    def __init__(self, *args: Any, old: Sequence[str] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        self._old = list(old)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        # click has no hidden spellings (8.1 to 8.5): the parser alone is given all of them
        shown, self.opts = self.opts, [*self.opts, *self._old]
        super().add_to_parser(parser, ctx)
        self.opts = shown

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """Return the variable `KL_<COMMAND>_<OPTION>`; one named after the parameter is read,
        too.
        """
        option = max(self.opts, key=len).lstrip("-").replace("-", "_").upper()
        by_option = os.environ.get(f"{ctx.auto_envvar_prefix}_{option}")
        return by_option or super().resolve_envvar_value(ctx)


class _FormatOption(click.Option):
    """`--format`, with the variable KL_…_FORMAT although the parameter has another name: `format`
    is a builtin.
    """

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        return os.environ.get(f"{ctx.auto_envvar_prefix}_FORMAT") or None


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given, by name; an option that may be repeated as a list."""
    return {
        name: list(v) if isinstance(v, tuple) else v
        for name, v in options.items()
        if v not in (None, "", ())
    }


def format_option(*more: str) -> Callable[[F], F]:
    """`--format text|json` and whatever else fits; the parameter is `shape`."""
    choices = click.Choice(["text", "json", *more])
    return click.option(
        "--format",
        "shape",
        cls=_FormatOption,
        type=choices,
        default="text",
        show_default=True,
        help="Output format.",
    )


def top_option(
    default: int, most: int = 100_000, text: str = "Most results shown."
) -> Callable[[F], F]:
    """`--top N`; the parameter is `limit`, so that KL_…_LIMIT still sets it."""
    return click.option(
        "--top",
        "limit",
        cls=Option,
        old=("--limit",),
        type=click.IntRange(1, most),
        default=default,
        show_default=True,
        help=text,
    )
