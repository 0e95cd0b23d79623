"""The opened repository: root, settings, store, cache, clock, plugin manager, catalog of kinds.

A workspace is made once, at the edge (a command, a test run), and passed to the functions of the
packages above. Opening it creates nothing. Pure functions never take it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import Clock, FixedClock, SystemClock
from kl_hooks.config.settings import Settings, load_settings
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.git.repository import (
    GitSettings,
    Repository,
    find_repository,
    is_tracked,
    read_git_settings,
)
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.problem import Problem
from kl_hooks.store.state import State, clone_id, locate_state, state_of_server
from kl_hooks.store.store import Store

if TYPE_CHECKING:
    import pluggy

    from kl_hooks.model.kind import Kind
    from kl_hooks.store.cache import Cache
    from kl_hooks.store.postgres import Address


_FAILURES: Final = 3
_PAUSE: Final = 60_000_000
"""Microseconds."""


class FailingSources:
    """The retrievers that failed three times in a row: they are asked again after 60 seconds. Safe
    for threads.

    Shared by the workspaces of a process that answers many questions: a source that takes its whole
    time to fail would cost each of them as much.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failed: dict[str, tuple[int, int]] = {}
        """Source → (failures in a row, when it failed last in microseconds)."""

    def is_paused(self, source: str, now: int) -> bool:
        """Return True where a source should not be asked now."""
        with self._lock:
            failures, last = self._failed.get(source, (0, 0))
        # a clock that was set back must not extend the pause
        return failures >= _FAILURES and 0 <= now - last < _PAUSE

    def record(self, source: str, now: int, *, failed: bool) -> None:
        """Record how a source answered: one success ends the count."""
        with self._lock:
            if failed:
                self._failed[source] = self._failed.get(source, (0, 0))[0] + 1, now
            else:
                self._failed.pop(source, None)


class Catalog(NamedTuple):
    """The kinds that can be used, and why others can't."""

    kinds: Mapping[str, Kind]
    """Name → kind."""
    problems: tuple[Problem, ...] = ()
    """What is wrong in `.kl/kinds/`: such a file gives no kind, and nobody guesses what it meant.
    """


def build_catalog(root: Path, kinds: Sequence[Kind]) -> Catalog:
    """These kinds, in the order given (a plugin's are listed before ours), then those of the
    repository at `root`.

    UsageProblem where two of `kinds` share a name, a plural or a prefix: what is installed does not
    fit together. Of two files of the repository that share one neither is taken: nobody knows which
    was there first.
    """
    found: dict[str, Kind] = {}
    for kind in kinds:
        other = next(iter(_conflicting(kind, found.values())), None)
        if other:
            reason = (
                f"the kind {kind.name!r} ({kind.prefix}) is there twice: from {other.by} and from"
                f" {kind.by}."
            )
            raise UsageProblem(
                reason, place=kind.by, hint="Give one of them another name and prefix."
            )
        found[kind.name] = kind
    described, problems = _described(root)
    for kind in described:
        others = _conflicting(kind, [*kinds, *(one for one in described if one is not kind)])
        if others:
            reason = (
                "its name, plural or prefix is there already: from"
                f" {', '.join(one.by for one in others)}."
            )
            problems.append(
                Problem(kind.by, 1, 1, reason, "Give one of them another name, plural and prefix.")
            )
        else:
            found[kind.name] = kind
    return Catalog(found, tuple(problems))


def _conflicting(kind: Kind, others: Iterable[Kind]) -> list[Kind]:
    """Those that have its name, plural or prefix."""
    names = {kind.name, kind.plural}
    return [one for one in others if names & {one.name, one.plural} or kind.prefix == one.prefix]


def _described(root: Path) -> tuple[list[Kind], list[Problem]]:
    """The kinds of `.kl/kinds/*.yaml`, and everything that is wrong there."""
    if not (root / ".kl" / "kinds").is_dir():
        return [], []
    from kl_hooks.config.kinds_file import read_kinds

    return read_kinds(root)


@dataclass(frozen=True)
class Workspace:
    """The opened repository. Made by `open_workspace`."""

    root: Path
    """Top of the working tree; without git the folder that contains `.kl/`, or the folder asked
    for.
    """
    repo: Repository | None
    git_settings: GitSettings | None
    settings: Settings
    state: State
    store: Store
    clock: Clock
    environ: Mapping[str, str]
    make_plugins: Callable[[], pluggy.PluginManager]
    failing_sources: FailingSources = field(default_factory=FailingSources)
    missing_plugins: tuple[UsageProblem, ...] = ()
    """Of the plugins that the user named, those that are not installed or can't be imported, and
    why.
    """

    @property
    def plugins(self) -> pluggy.PluginManager:
        """The plugin manager, made on first need."""
        return self.make_plugins()

    @cached_property
    def catalog(self) -> Catalog:
        """Every kind of knowledge: ours, those of plugins, those of `.kl/kinds/`; found on first
        need.
        """
        return build_catalog(self.root, _flat(self.plugins.hook.kl_kinds()))

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Name → kind, of those that can be used."""
        return self.catalog.kinds

    @cached_property
    def cache(self) -> Cache:
        """What can be derived again, opened on first need."""
        from kl_hooks.store.cache import Cache

        return Cache(self.state.cache)

    @property
    def initialized(self) -> bool:
        """True where the repository has a `.kl/` folder."""
        return (self.root / ".kl").is_dir()

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder of this path from the root. A text that no file can be
        named by, such as one of 300 characters, is none, and no error.
        """
        # Path.exists raises for a name that is too long
        return os.path.exists(self.root / path)  # noqa: PTH110


def find_kl_root(start: Path) -> Path | None:
    """The nearest folder at or above `start` that holds a `.kl/` folder; None where there is
    none.
    """
    for folder in (start, *start.parents):
        if (folder / ".kl").is_dir():
            return folder
    return None


def open_workspace(
    start: Path,
    *,
    clock: Clock | None = None,
    environ: Mapping[str, str] = os.environ,
    failing_sources: FailingSources | None = None,
    lenient: bool = False,
) -> Workspace:
    """The workspace that `start` lies in; reads git and the settings, creates nothing.

    `failing_sources`: of a workspace that was opened before in this process. `lenient`: for
    recorders, which need no setting of the checkout: where its file can't be read, the reason is in
    `settings.unread`. Raises GitMissing
    where a repository may be there but git is not, UsageProblem for settings that can't be read
    (a plugin that is not installed is reported by what needs one, and by redaction),
    EnvironmentProblem for a state directory that must not be used (git tracks it, or it is someone
    else's).
    """
    start = start.resolve()
    repo = find_repository(start)
    if repo:
        root = repo.top
    else:
        root = find_kl_root(start) or start
    asked = read_git_settings(repo) if repo else None
    override = environ.get("KL_STATE") or (asked.kl.get("state") if asked else None)
    state = locate_state(
        root, repo.common_dir if repo else None, repo.git_dir if repo else None, override, environ
    )
    if repo and override:
        _refuse_tracked(repo, state.directory)
    read = load_settings(root, asked.kl if asked else {}, environ, state.cache, lenient=lenient)

    missing: list[UsageProblem] = []

    @cache
    def plugins() -> pluggy.PluginManager:
        from kl_hooks.plugins import manager

        return manager(read.plugins, missing)

    if read.plugins:
        _add_redaction(plugins(), missing)
    address = _team_address(state, asked)
    if address:
        state = state_of_server(state, address.key)
    store = Store(state, lambda: _flat(plugins().hook.kl_schema()), environ, address)
    return Workspace(
        root,
        repo,
        asked,
        read,
        state,
        store,
        clock or SystemClock(),
        environ,
        plugins,
        failing_sources or FailingSources(),
        tuple(missing),
    )


def opener(ws: Workspace) -> Callable[[], Workspace]:
    """Return what opens a workspace anew: what stays for hours asks it for each question."""
    return partial(open_workspace, ws.root, failing_sources=ws.failing_sources)


def _team_address(state: State, asked: GitSettings | None) -> Address | None:
    """The team's database that `kl store use` has written into git's configuration; None: there is
    none.
    """
    url = asked.kl.get("store", "") if asked else ""
    if not asked or not url:
        return None
    from kl_hooks.store.postgres import Address

    return Address(url, asked.kl.get("storerepository", ""), clone_id(state))


@contextmanager
def workspace_at(ws: Workspace, commit: str) -> Iterator[Workspace]:
    """A workspace of a commit (id): its files, records and history, and nothing newer; removed when
    the block is left.

    Its time is that of the commit, unless the time of `ws` is fixed. What rests in the state
    directory is not there: receipts and rows are not part of a commit. EnvironmentProblem where it
    can't be made.
    """
    from tempfile import TemporaryDirectory

    from kl_hooks.git.repository import check_out_at, commit_time

    assert ws.repo is not None
    with TemporaryDirectory(prefix="kl-at-") as place:
        folder = Path(place).resolve()
        try:
            check_out_at(ws.repo, commit, folder / "tree")
        except OSError as problem:
            raise EnvironmentProblem(
                f"no copy of the revision can be made: {problem}.", place=place
            ) from problem
        environ = {name: value for name, value in ws.environ.items() if name != "KL_STATE"}
        environ |= {
            "XDG_CACHE_HOME": str(folder / "cache"),
            "XDG_STATE_HOME": str(folder / "state"),
        }
        time = FixedClock(commit_time(ws.repo, commit) * 1_000_000)
        if isinstance(ws.clock, FixedClock):
            clock = ws.clock
        else:
            clock = time
        yield open_workspace(folder / "tree", clock=clock, environ=environ)


def _add_redaction(plugins: pluggy.PluginManager, missing: Sequence[UsageProblem]) -> None:
    """What installed plugins redact counts from the first write on, so they are asked at once.

    Where one of them is missing, what it would hide is unknown: then whoever redacts a text gets
    an EnvironmentProblem, as where the store can't be written, and what redacts none goes on.
    """
    from kl_hooks.store.redaction import configure_redaction

    if missing:
        configure_redaction([("missing", partial(_refuse_text, missing[0]))])
        return
    functions = (pair for answer in plugins.hook.kl_redact() for pair in answer)
    configure_redaction([(name, function) for name, function in functions if name != "built-in"])


def _refuse_text(problem: UsageProblem, _: str) -> str:
    raise EnvironmentProblem(problem.reason, place=problem.place, hint=problem.hint)


def require_plugins(ws: Workspace) -> None:
    """EnvironmentProblem where a plugin that the user named is missing: what it would redact is
    unknown.
    """
    for problem in ws.missing_plugins:
        _refuse_text(problem, "")


def _flat(answers: list[Any]) -> list[Any]:
    """What the plugins answered, whether each gave one or several (one Schema is a sequence
    too).
    """
    from kl_hooks.hookspecs import Schema

    several = (
        many if isinstance(many, Sequence) and not isinstance(many, Schema) else [many]
        for many in answers
    )
    return [one for some in several for one in some]


def _refuse_tracked(repo: Repository, directory: Path) -> None:
    if directory.is_relative_to(repo.top) and is_tracked(repo, directory):
        raise EnvironmentProblem(
            "git tracks files in this state directory, so its content is part of the repository.",
            place=str(directory),
            hint="Choose another place (KL_STATE, or git config kl.state), or untrack it.",
        )


def is_set_up(ws: Workspace) -> bool:
    """True where kl was set up, or has recorded something: elsewhere nothing is created by
    looking.
    """
    return ws.initialized or ws.state.directory.exists()


def require_setup(ws: Workspace) -> None:
    """EnvironmentProblem with the next step where kl has no home."""
    if is_set_up(ws):
        return
    if ws.repo is None:
        hint = "kl keeps its evidence per repository; run it inside one, or give --root."
        raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint=hint)
    raise EnvironmentProblem(
        "kl is not set up here.", place=str(ws.root), hint="Set it up with: kl init"
    )


def require_initialized(ws: Workspace) -> None:
    """EnvironmentProblem where `kl init` has not been run: nobody would know of records that are
    written there.
    """
    if not ws.initialized:
        raise EnvironmentProblem(
            "kl is not set up here.", place=str(ws.root), hint="Set it up with: kl init"
        )


def refuse_linked_folder(root: Path) -> None:
    """UsageProblem where `.kl` is something else than a folder of this repository: a link would
    lead us out.
    """
    home = root / ".kl"
    if home.is_symlink() or (home.exists() and not home.is_dir()):
        raise UsageProblem(
            "is not a folder.", place=str(home), hint="Move it away, then run kl init again."
        )
