"""`kl report`: the page of what is proven here, as one file or from a server, or its data as JSON."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import click

from kl_hooks.cli.output import (
    answer_access,
    command_access,
    echo,
    progress,
    warn,
    workspace,
    write,
    write_file,
)
from kl_hooks.cli.request_options import request_options
from kl_hooks.operations.operation import perform
from kl_hooks.operations.report import REPORT, ReportRequest
from kl_hooks.workspace import opener, require_setup

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
@click.option(
    "--picture",
    metavar="FILE",
    help="Write its first picture to FILE too, as Mermaid: for the summary of a CI job.",
)
@click.option(
    "--serve",
    "is_served",
    is_flag=True,
    help=(
        "Serve the page on 127.0.0.1 until it is interrupted: an open page loads itself again after"
        " a run or a commit. The address has a token, new at each start."
    ),
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    help="The port of --serve; 0, the default: one that is free.",
)
@request_options(ReportRequest)
def report(
    output: str | None, shape: str, picture: str | None, is_served: bool, port: int, **fields: Any
) -> None:
    """Write the page, or serve it."""
    request = ReportRequest(**{name: value for name, value in fields.items() if value})
    if is_served:
        if output or picture or shape != "html":
            raise click.UsageError(
                "--serve writes no file: it takes no --output, --picture or --format."
            )
        _serve(request, port)
        return
    with progress(REPORT.progress):
        result = perform(workspace(), REPORT, request, command_access())
    for note in result.notes:
        warn(note)
    data = REPORT.plain(result)
    if picture:
        from kl_hooks.report import mermaid

        _write(mermaid.picture(data), picture)
    if shape == "json":
        _write(_json(data), output or _STDOUT)
        return
    from kl_hooks.report.page import render

    place = output or str(workspace().state.directory / _PAGE)
    _write(render(data), place)
    if place != _STDOUT:
        echo(f"written to {place}")


def _serve(request: ReportRequest, port: int) -> None:
    from kl_hooks.operations.report_version import report_version
    from kl_hooks.report.page import render, require_templates
    from kl_hooks.tools.local_server import cache_closed
    from kl_hooks.tools.report_server import ReportServer

    require_setup(workspace())
    require_templates()
    open_again = opener(workspace())

    def page(version: str) -> str:
        with cache_closed(open_again()) as ws, answer_access(ws, "kl report --serve") as access:
            result = perform(ws, REPORT, request, access)
            return str(access.plain(render(REPORT.plain(result), live=version)))

    def version() -> str:
        with cache_closed(open_again()) as ws:
            return report_version(ws)

    token = secrets.token_urlsafe(32)
    with ReportServer(page, version, token, port=port) as server:
        echo(server.address)
        echo("reads only, for whoever has this address; Ctrl-C ends it")
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            server.serve_forever()


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
