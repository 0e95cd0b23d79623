"""`kl commits record`: what post-commit git hooks call."""

from __future__ import annotations

import os
from pathlib import Path

import click


@click.group()
def commits() -> None:
    """Take note of new commits."""


@commits.command(epilog="Example: kl commits record")
@click.pass_context
def record(context: click.Context) -> None:
    """Note that a commit was made; it is read from git when evidence is next asked for.

    Always ends with 0: a commit that has been made is not called back.
    """
    from kl_hooks.evidence.capture import record_new_commit

    record_new_commit(Path(context.find_root().params.get("root") or os.getcwd()), os.environ)  # noqa: PTH109
