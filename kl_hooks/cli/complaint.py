"""What goes to stderr when a call did not succeed: safe for a terminal, and no longer than anybody reads."""

from __future__ import annotations

import sys

import click

from kl_hooks.model.text import brief, one_line, safe_text

LONGEST = 1000
"""Characters of a message about how kl was called: it may quote an argument."""


def complain(text: str) -> None:
    """One remark under our name."""
    _write(f"kl: {brief(text)}\n")


def complain_of_use(problem: click.ClickException) -> None:
    """What click says about a call, as it says it, but for what an argument may hold."""
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
    _write("\n".join([*lines, f"Error: {one_line(problem.format_message(), LONGEST)}", ""]))


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
