"""`kl arch`: layers, and imports checked against them."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import click

from kl_hooks.arch.report import output_lines
from kl_hooks.cli.groups import LazyGroup
from kl_hooks.cli.output import REPORT_FORMATS, workspace, write
from kl_hooks.cli.request_options import operation_command
from kl_hooks.errors import UsageProblem
from kl_hooks.operations.arch_check import CHECK, CheckRequest, LayerCheck, exit_code

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


def _of_this_call(request: CheckRequest) -> CheckRequest:
    """Return the request with what git gives to a hook; the repository is that of `--dir`."""
    if request.folder:
        if not Path(request.folder).is_dir():
            raise UsageProblem(
                "no such folder.", place=request.folder, hint="Give --dir a folder of a repository."
            )
        click.get_current_context().find_root().ensure_object(dict)["root"] = request.folder
    if request.is_pushed:
        return request._replace(pushed_lines=tuple(_stdin()))
    return request


def _report(shape: str, check: LayerCheck) -> str:
    from kl_hooks.arch.formats import mermaid_text, report_text

    if check.lists:
        raise UsageProblem(
            "--list-unassigned goes with --format text or json.", place="kl arch check"
        )
    if shape == _MERMAID:
        return mermaid_text(workspace(), check.contents)
    return report_text(shape, check.contents)


_MERMAID: Final = "mermaid"
_FORMATS: Final[dict[str, Callable[[LayerCheck], str]]] = {
    shape: partial(_report, shape) for shape in (*REPORT_FORMATS, _MERMAID)
}


@operation_command(CHECK, _of_this_call, formats=_FORMATS, exit_code=exit_code)
def check(check: LayerCheck, _request: CheckRequest) -> None:
    """Print each violation with its fix, what could not be judged, and the totals."""
    lines = output_lines(
        check.contents,
        check.seconds,
        quiet=check.is_quiet,
        on_disk=check.has_manifest_on_disk,
        lists=check.lists,
    )
    for line in lines:
        write(f"{line}\n")


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
