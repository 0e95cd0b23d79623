"""`kl report`: the page of what is proven here, as one file, or its data as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from kl_hooks.cli.output import command_access, echo, progress, warn, workspace, write, write_file
from kl_hooks.cli.request_options import request_options
from kl_hooks.operations.operation import perform
from kl_hooks.operations.report import REPORT, ReportRequest

_STDOUT: Final = "-"
_PAGE: Final = "report.html"
"""In the folder of the state, where no other place is named: a page in the working tree would be a
file of its content.
"""


@click.command("report", help=REPORT.help, epilog=f"Example: {REPORT.example}")
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    help="Write it to FILE; - for stdout. Default: JSON to stdout, the page to "
    ".git/kl/report.html.",
)
@click.option(
    "--format",
    "shape",
    type=click.Choice(["html", "json"]),
    default="html",
    show_default=True,
    help="Output format.",
)
@request_options(ReportRequest)
def report(output: str | None, shape: str, **fields: Any) -> None:
    """Write the page."""
    request = ReportRequest(**{name: value for name, value in fields.items() if value})
    with progress(REPORT.progress):
        result = perform(workspace(), REPORT, request, command_access())
    for note in result.notes:
        warn(note)
    if shape == "json":
        _write(_json(REPORT.plain(result)), output or _STDOUT)
        return
    from kl_hooks.report.page import render

    place = output or str(workspace().state.directory / _PAGE)
    _write(render(REPORT.plain(result)), place)
    if place != _STDOUT:
        echo(f"written to {place}")


def _json(data: Mapping[str, Any]) -> str:
    """In one line: the columns of 20,000 tests, each number on its own line, would be four times as
    long.
    """
    return json.dumps(data, separators=(",", ":"), sort_keys=True) + "\n"


def _write(text: str, place: str) -> None:
    if place == _STDOUT:
        write(text)
    else:
        write_file(Path(place), text)
