"""How the git hooks stand, pre-commit's part included: it may run kl's entries where no git hook of kl is."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kl_hooks.cli.init_precommit import CONFIG
from kl_hooks.config.files import read_small
from kl_hooks.errors import UsageProblem
from kl_hooks.git.hookfiles import content, runs_legacy
from kl_hooks.git.hooks import HookState

if TYPE_CHECKING:
    from kl_hooks.git.repository import Repository

_IDS: Final = {
    "post-commit": rb"kl-record-commit", "pre-commit": rb"kl-check", "pre-push": rb"kl-(check-push|verify)",
}  # fmt: skip
"""Git hook → our pre-commit hooks that do its work."""


def standing(repo: Repository) -> list[HookState]:
    """As `git.hooks.status`; but what pre-commit runs is called, and what it would run is installed by it."""
    from kl_hooks.git.hooks import status

    try:
        config = read_small(repo.top / CONFIG, within=repo.top) or b""
    except UsageProblem:
        config = b""
    return [_with_pre_commit(one, config) for one in status(repo)]


def all_run(repo: Repository) -> bool:
    """True where git runs every one of them."""
    return all(one.state in ("installed", "called", "edited") for one in standing(repo))


def _with_pre_commit(one: HookState, config: bytes) -> HookState:
    if one.state != "missing" or not re.search(rb"\b" + _IDS[one.name] + rb"(?![\w-])", config):
        return one
    if runs_legacy(content(one.path)):
        return replace(one, state="called", reason=f"pre-commit runs kl's entry in {CONFIG}.")
    return replace(one, reason=f"pre-commit install -t {one.name}   (kl's entry is in {CONFIG})")
