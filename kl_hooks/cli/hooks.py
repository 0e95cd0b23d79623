"""`kl hooks`: native git hooks, installed beside whatever is there and removed without a trace;
pre-commit's part.
"""

from __future__ import annotations

from typing import Any

import click

from kl_hooks.cli.output import echo, warn
from kl_hooks.cli.request_options import operation_command
from kl_hooks.operations import git_hooks as operations


@click.group()
def hooks() -> None:
    """Native git hooks: install, uninstall, status.

    post-commit notes that a commit was made; pre-commit and pre-push check what is staged or pushed
    against the layers. commit-msg names the context packages made since the last commit in a
    trailer; it is installed only by its name.
    """


def _print_hooks(result: operations.GitHooks, _request: Any) -> None:
    for hook in result.hooks:
        echo(f"{hook.state:<10} {hook.path}")
        if hook.reason:
            echo(f"           {hook.reason}")
    if not result.hooks:
        warn("no git hook of kl is here.")


for _operation in operations.OPERATIONS:
    operation_command(_operation, group=hooks, exit_code=operations.exit_code)(_print_hooks)
