"""The operation that shows the effective settings, and where each comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.problem import Problem
from kl_hooks.operations.operation import Operation

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
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
    "source_weights",
    "trusted_agents",
    "verified_requires",
    "verify_exclude",
)
_DEFAULT: Final = "default"


class ConfigRequest(NamedTuple):
    """What only whoever asks knows."""

    has_root: bool = False
    """Whether the root was given."""


class Setting(NamedTuple):
    """One setting: its value now, and the file, variable or option that set it."""

    name: str
    value: Any
    source: str


class Config(NamedTuple):
    """The effective settings."""

    settings: tuple[Setting, ...]
    warnings: tuple[Problem, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a file sets and may not set."""
        return tuple(f"warning: {warning}" for warning in self.warnings)


def _config(ws: Workspace, request: ConfigRequest, _access: Access) -> Config:
    settings = tuple(_settings(ws, has_root=request.has_root))
    return Config(settings, tuple(ws.settings.warnings))


def _settings(ws: Workspace, *, has_root: bool) -> Iterator[Setting]:
    if has_root:
        origin = "command line (--root)"
    else:
        origin = "current folder"
    yield Setting("root", str(ws.root), origin)
    git = ws.git_settings.kl if ws.git_settings else {}
    if ws.environ.get("KL_STATE"):
        state = "environment (KL_STATE)"
    else:
        state = "git config kl.state"
    yield Setting(
        "state", str(ws.state.directory), state if ws.state.origin == "override" else _DEFAULT
    )
    sources = _Sources(ws, git)
    for name in _SETTINGS:
        value = getattr(ws.settings, name)
        if isinstance(value, Mapping):
            value = [f"{key}: {number}" for key, number in value.items()]
        yield Setting(name, list(value) if isinstance(value, tuple) else value, sources.of(name))
    policy = ws.settings.verify
    source = sources.of("verify_exclude")
    yield Setting("verify_mode", policy.mode or "block", source if policy.mode else _DEFAULT)
    paths = [f"{path.folder}: {path.require} ({path.origin})" for path in policy.paths]
    yield Setting("verify_paths", paths, source if paths else _DEFAULT)
    # every option can be set by a variable (click's auto_envvar_prefix), so these are settings too
    for name in sorted(ws.environ):
        if name.startswith("KL_") and name != "KL_STATE" and ws.environ[name]:
            yield Setting(name, ws.environ[name], "environment")


class _Sources:
    """Which source set a setting, by the rules of `config.settings.merge_settings`."""

    def __init__(self, ws: Workspace, git: Mapping[str, str]) -> None:
        from kl_hooks.config.settings import SETTINGS_FILE, user_settings_file

        self._git = git
        own = user_settings_file(ws.environ)
        self._user = _places(own, str(own)) if own else {}
        self._checkout = _places(ws.root / SETTINGS_FILE, SETTINGS_FILE)
        self._refused = {f"{warning.path}:{warning.line}" for warning in ws.settings.warnings}

    def of(self, name: str) -> str:
        """Return `default`, `.kl/config.yaml:3`, `git config kl.budget` …; two sources where both
        decide.
        """
        key = "verify" if name == "verify_exclude" else name
        checkout = self._checkout.get(key, "")
        if checkout in self._refused:
            checkout = ""
        git_key = key.replace("_", "-")
        if git_key in self._git:
            user = f"git config kl.{git_key}"
        else:
            user = self._user.get(key, "")
        if name in ("verify_exclude", "source_weights"):
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


CONFIG: Final = Operation(
    "config",
    """Show the effective settings and where each comes from.

    From the weakest: built-in defaults, the repository's .kl/config.yaml, your own kl/config.yaml,
    git config kl.…, environment variables, the command line. A repository may tighten what you set,
    not loosen it.
    """,
    ConfigRequest,
    _config,
    lambda config: {"settings": [setting._asdict() for setting in config.settings]},
    "kl.config/1",
    "kl config --format json",
    is_tool=False,
)
OPERATIONS: Final = (CONFIG,)
