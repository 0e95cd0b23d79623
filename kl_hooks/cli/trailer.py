"""`kl commits trailer`: names the context packages in a commit."""

from __future__ import annotations

import sys

from kl_hooks.cli.output import echo_lines, warn
from kl_hooks.cli.request_options import no_output_option, operation_command
from kl_hooks.operations.commits import TRAILER, TrailerRequest, Trailers


@operation_command(TRAILER, output_option=no_output_option)
def trailer(trailers: Trailers, request: TrailerRequest) -> None:
    """Print the trailers where they go into no file: `git commit --trailer` takes them."""
    if request.file:
        return
    echo_lines(trailers.lines)
    if not trailers.lines and sys.stderr.isatty():
        warn("no package was made since the last commit.")
