"""One wrapper that turns whatever goes wrong into one clear line on stderr and the right exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from kl_hooks.errors import CLEAN, ENVIRONMENT_ERROR, INTERNAL_ERROR, INTERRUPTED, USAGE_ERROR, KlError
from kl_hooks.model.text import brief, one_line, safe_text

_LONGEST = 1000
"""Characters of a message about how kl was called: it may quote an argument."""


def print_problem(text: str) -> None:
    """One remark under our name."""
    _write(f"kl: {brief(text)}\n")


def _print_usage_error(problem: click.ClickException) -> None:
    """Print click's message about a call as click does, but cut and made safe: it may quote an argument."""
    if _is_help(problem):
        _write(safe_text(problem.format_message()) + "\n")
        return
    lines = []
    context = getattr(problem, "ctx", None)
    if context is not None:
        lines.append(context.get_usage())
        if context.command.get_help_option(context) is not None:
            lines.append(f"Try '{context.command_path} {context.help_option_names[-1]}' for help.")
        lines.append("")
    _write("\n".join([*lines, f"Error: {one_line(problem.format_message(), _LONGEST)}", ""]))


def _is_help(problem: click.ClickException) -> bool:
    """True for the whole help, which a group without a command is answered with. An older click prints it by itself."""
    kind = getattr(click.exceptions, "NoArgsIsHelpError", None)
    return kind is not None and isinstance(problem, kind)


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # nobody is listening


_OBSERVERS = (("commits", "record"),)
"""Commands that git runs after the fact: they warn, and always end with 0."""
_COMMIT_GATES = (("arch", "check"), ("knowledge", "check"))
"""Commands whose internal errors must not block a commit (outside CI), with `--staged`."""


def run_safely(command: click.Command, argv: list[str], environ: Mapping[str, str]) -> int:
    """Runs the command and returns its exit code; never raises, never shows a traceback unless KL_DEBUG is set."""
    words = _command_words(argv)
    try:
        code = _call(command, argv)
    except KlError as problem:
        # a place may be what was typed, line ends and all: it is shown on one line
        print_problem(str(problem).replace(problem.place or "\n", one_line(problem.place, 300) or "\n", 1))
        code = problem.exit_code
    except Exception as fault:  # the one place where internal errors end
        code = _internal_error(fault, argv, environ)
        if words in _COMMIT_GATES and "--staged" in argv and not environ.get("CI"):
            print_problem("your commit was not blocked by this.")
            return CLEAN
    if words in _OBSERVERS and code != INTERRUPTED:
        return CLEAN
    return code


def _command_words(argv: Sequence[str]) -> tuple[str, ...]:
    """The first two words of a call that are no options of `kl` itself: which command it is, whatever follows."""
    words = list(argv)
    while words and words[0].startswith("-"):  # `--root` is the only option of `kl` itself with a value
        del words[: 2 if words[0] == "--root" else 1]
    return tuple(words[:2])


def _call(command: click.Command, argv: list[str]) -> int:
    try:
        answer = command.main(args=argv, prog_name="kl", standalone_mode=False)
        sys.stdout.flush()  # a full disk: at exit it would be code 120 of Python
        return answer if isinstance(answer, int) else CLEAN
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as problem:
        _print_usage_error(problem)
        return USAGE_ERROR
    except UnicodeEncodeError:  # bytes of an argument that do not decode are lone surrogates (PEP 383)
        odd = [arg for arg in argv if any("\ud800" <= letter <= "\udfff" for letter in arg)]
        if not odd:
            raise
        print_problem(f"{odd[0]}: is not {sys.getfilesystemencoding()}, so nothing here has this name.")
        return USAGE_ERROR
    except (click.Abort, KeyboardInterrupt):
        print_problem("interrupted.")
        return INTERRUPTED
    except (BrokenPipeError, SystemExit) as end:  # click exits with 1 where a pipe breaks: the code of a finding
        if isinstance(end, SystemExit) and "_KL_COMPLETE" in os.environ:  # it also exits after a shell completion
            return end.code if isinstance(end.code, int) else CLEAN
        # the reader has seen enough; give the interpreter something it can flush into at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 128 + 13  # as a shell reports a process that SIGPIPE ended
    except OSError as problem:
        if problem.filename is None and problem.errno is None:  # raised by our own code, not by the system
            raise
        if problem.filename is None and isinstance(problem, FileNotFoundError):
            print_problem("the current folder was removed. Change into one that exists, or give --root.")
        else:
            print_problem(f"{problem.filename or 'the system'}: {problem.strerror or problem}. See: kl doctor")
        if os.environ.get("KL_DEBUG"):
            _print_traceback()
        return ENVIRONMENT_ERROR


def _print_traceback() -> None:
    import traceback

    traceback.print_exc()


def _internal_error(fault: Exception, argv: list[str], environ: Mapping[str, str]) -> int:
    if environ.get("KL_DEBUG"):
        _print_traceback()
    report = _write_report(fault, argv)
    print_problem(
        f"internal error (a bug of kl): {type(fault).__name__}: {fault}. Details: {report}. Please attach it."
    )
    return INTERNAL_ERROR


def _write_report(fault: Exception, argv: list[str]) -> str:
    import tempfile
    import traceback

    from kl_hooks.store.redaction import redact

    text = "kl " + " ".join(argv) + f"\nPython {sys.version}\n\n" + "".join(traceback.format_exception(fault))
    try:
        # mkstemp() makes it for this user alone (0600) and follows no link: the arguments may be private
        handle, name = tempfile.mkstemp(prefix="kl-crash-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(redact(text))
        return str(Path(name))
    except OSError as problem:
        return f"(not written: {problem})"
