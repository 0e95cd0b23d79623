"""`kl config`: the effective settings, and where each comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from kl_hooks.cli.output import echo, echo_json, format_option, warn, workspace

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

_SETTINGS: Final = (
    "budget",
    "context_cache",
    "context_weights",
    "docs",
    "drift_alert",
    "embedder",
    "maintain",
    "memory_auto_extract",
    "memory_top_k",
    "plugins",
    "redis",
    "reviewers",
    "significance",
    "trusted_agents",
    "verified_requires",
    "verify_exclude",
)
_DEFAULT: Final = "default"


class _Row(NamedTuple):
    """One setting: its value now, and the file, variable or option that set it."""

    name: str
    value: Any
    source: str


@click.command(epilog="Example: kl config --format json")
@format_option()
def config(shape: str) -> None:
    """Show the effective settings and where each comes from.

    From the weakest: built-in defaults, the repository's .kl/config.yaml, your own kl/config.yaml,
    git config kl.…, environment variables, the command line. A repository may tighten what you set,
    not loosen it.
    """
    ws = workspace()
    rows = list(_rows(ws, click.get_current_context().find_root().params.get("root")))
    for warning in ws.settings.warnings:
        warn(f"warning: {warning}")
    if shape == "json":
        echo_json({"schema": "kl.config/1", "settings": [row._asdict() for row in rows]})
        return
    name_width, value_width = (
        max(len(text) for text in column) for column in zip(*map(_texts, rows), strict=True)
    )
    for row, (name, value) in zip(rows, map(_texts, rows), strict=True):
        echo(f"{name:<{name_width}}  {value:<{min(value_width, 40)}}  {row.source}")


def _texts(row: _Row) -> tuple[str, str]:
    value = row.value
    if isinstance(value, list):
        return row.name, ", ".join(value) or "none"
    return row.name, str(value).lower() if isinstance(value, bool) else str(value) or "none"


def _rows(ws: Workspace, root: str | None) -> Iterator[_Row]:
    yield _Row("root", str(ws.root), "command line (--root)" if root else "current folder")
    git = ws.git_settings.kl if ws.git_settings else {}
    state = "environment (KL_STATE)" if ws.environ.get("KL_STATE") else "git config kl.state"
    yield _Row(
        "state", str(ws.state.directory), state if ws.state.origin == "override" else _DEFAULT
    )
    sources = _Sources(ws, git)
    for name in _SETTINGS:
        value = getattr(ws.settings, name)
        yield _Row(name, list(value) if isinstance(value, tuple) else value, sources.of(name))
    policy, source = ws.settings.verify, sources.of("verify_exclude")
    yield _Row("verify_mode", policy.mode or "block", source if policy.mode else _DEFAULT)
    paths = [f"{one.folder}: {one.require} ({one.origin})" for one in policy.paths]
    yield _Row("verify_paths", paths, source if paths else _DEFAULT)
    # every option can be set by a variable (click's auto_envvar_prefix), so these are settings too
    for name in sorted(ws.environ):
        if name.startswith("KL_") and name != "KL_STATE" and ws.environ[name]:
            yield _Row(name, ws.environ[name], "environment")


class _Sources:
    """Which source set a setting, by the rules of `config.settings.merge_settings`."""

    def __init__(self, ws: Workspace, git: Mapping[str, str]) -> None:
        from kl_hooks.config.settings import SETTINGS_FILE, user_settings_file

        self._git = git
        own = user_settings_file(ws.environ)
        self._user = _places(own, str(own)) if own else {}
        self._checkout = _places(ws.root / SETTINGS_FILE, SETTINGS_FILE)
        self._refused = {f"{one.path}:{one.line}" for one in ws.settings.warnings}

    def of(self, name: str) -> str:
        """Return `default`, `.kl/config.yaml:3`, `git config kl.budget` …; two sources where both
        decide.
        """
        key = "verify" if name == "verify_exclude" else name
        checkout = self._checkout.get(key, "")
        if checkout in self._refused:
            checkout = ""
        git_key = key.replace("_", "-")
        user = f"git config kl.{git_key}" if git_key in self._git else self._user.get(key, "")
        if name == "verify_exclude":
            return checkout or _DEFAULT
        # what a repository asks for here is refused (config/settings.py), so it is never the source
        if name in ("plugins", "maintain", "redis", "drift_alert", "embedder", "trusted_agents"):
            return user or _DEFAULT
        if name == "reviewers":  # the repository may name fewer of the user's
            if user and checkout:
                return f"{user}, {checkout}"
            return user or _DEFAULT
        if name in ("significance", "docs", "context_cache", "context_weights"):
            return user or checkout or _DEFAULT
        return checkout or user or _DEFAULT


def _places(path: Path, name: str) -> dict[str, str]:
    """Return the keys of a file of settings → `name:line`."""
    from kl_hooks.config.yaml import MapNode, load_yaml
    from kl_hooks.store.files import read_small

    root, _ = load_yaml(name, read_small(path) or b"")
    if not isinstance(root, MapNode):
        return {}
    return {key.value: f"{name}:{node.line}" for key, node in root.entries}
