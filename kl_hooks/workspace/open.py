"""Opening a repository: finds its root, its settings and its state, and creates nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kl_hooks.clock import Clock, SystemClock
from kl_hooks.config.settings import Settings, load_settings
from kl_hooks.git.repository import GitSettings, Repository, find, is_tracked, settings
from kl_hooks.store.state import State, locate
from kl_hooks.store.store import Store

if TYPE_CHECKING:
    import pluggy

    from kl_hooks.model.kind import Kind
    from kl_hooks.store.cache import Cache
    from kl_hooks.workspace.kinds import Catalogue


@dataclass(frozen=True)
class Workspace:
    """The opened repository. Made by `open_workspace`."""

    root: Path
    """Top of the work tree; without git the folder that holds `.kl/`, or the folder asked for."""
    repo: Repository | None
    git_settings: GitSettings | None
    settings: Settings
    state: State
    store: Store
    clock: Clock
    environ: Mapping[str, str]
    make_plugins: Callable[[], pluggy.PluginManager]

    @property
    def plugins(self) -> pluggy.PluginManager:
        """The plugin manager, made on first need."""
        return self.make_plugins()

    @cached_property
    def catalogue(self) -> Catalogue:
        """Every kind of knowledge: ours, those of plugins, those of `.kl/kinds/`; found on first need."""
        from kl_hooks.workspace.kinds import catalogue

        return catalogue(self.root, _flat(self.plugins.hook.kl_kinds()))

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Name → kind, of those that can be used."""
        return self.catalogue.kinds

    @cached_property
    def cache(self) -> Cache:
        """What can be derived again, opened on first need."""
        from kl_hooks.store.cache import Cache

        return Cache(self.state.cache)

    @property
    def initialised(self) -> bool:
        """True where the repository has a `.kl/` folder."""
        return (self.root / ".kl").is_dir()


def home_of_kl(start: Path) -> Path | None:
    """The nearest folder at or above `start` that holds a `.kl/` folder; None where there is none."""
    for folder in (start, *start.parents):
        if (folder / ".kl").is_dir():
            return folder
    return None


def open_workspace(start: Path, *, clock: Clock | None = None, environ: Mapping[str, str] = os.environ) -> Workspace:
    """The workspace that `start` lies in; reads git and the settings, creates nothing.

    Raises GitMissing where a repository may be there but git is not, UsageProblem for settings that can't be read,
    EnvironmentProblem for a state directory that must not be used (git tracks it, or it is someone else's).
    """
    start = start.resolve()
    repo = find(start)
    root = repo.top if repo else home_of_kl(start) or start
    asked = settings(repo) if repo else None
    override = environ.get("KL_STATE") or (asked.kl.get("state") if asked else None)
    state = locate(root, repo.common_dir if repo else None, repo.git_dir if repo else None, override, environ)
    if repo and override:
        _refuse_tracked(repo, state.directory)
    read = load_settings(root, asked.kl if asked else {}, environ, state.cache)

    @cache
    def plugins() -> pluggy.PluginManager:
        from kl_hooks.plugins import manager

        return manager(read.plugins)

    if read.plugins:
        _add_redaction(plugins())
    store = Store(state, lambda: _flat(plugins().hook.kl_schema()), environ)
    return Workspace(root, repo, asked, read, state, store, clock or SystemClock(), environ, plugins)


def _add_redaction(plugins: pluggy.PluginManager) -> None:
    """What installed plugins redact counts from the first write on, so they are asked at once."""
    from kl_hooks.store.redact import configure

    found = (one for answer in plugins.hook.kl_redact() for one in answer)
    configure([(name, function) for name, function in found if name != "built-in"])


def _flat(answers: list[Any]) -> list[Any]:
    """What the plugins answered, whether each gave one or several (one Schema is a sequence too)."""
    from kl_hooks.hookspecs import Schema

    several = (many if isinstance(many, Sequence) and not isinstance(many, Schema) else [many] for many in answers)
    return [one for some in several for one in some]


def _refuse_tracked(repo: Repository, directory: Path) -> None:
    from kl_hooks.errors import EnvironmentProblem

    if directory.is_relative_to(repo.top) and is_tracked(repo, directory):
        raise EnvironmentProblem(
            "git tracks files in this state directory, so its content came with the repository.",
            place=str(directory),
            hint="Choose another place (KL_STATE, or git config kl.state), or untrack it.",
        )
