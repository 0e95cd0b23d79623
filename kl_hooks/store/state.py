"""The state directory: where it is, how it is created, and where a spool goes when it can't be
written.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.store.files import sync_folder

_README: Final = """This is the state directory of kl (the knowledge layer of this repository).

  kl.db          receipts of test runs, commands, commits and checks; claims
  spool/         captures that have not been ingested yet
  graph/         the code graph, one file per worktree; can be built again
  events.jsonl   which context packages were made, and from what
  high-water     how many receipts kl.db had at the last write
  spool.key      by which captures in .kl/spool are known to be of this clone

It is private to this clone. Deleting it loses the evidence recorded here; kl verify then exits 1 until you confirm it
with: kl evidence accept --reason TEXT
"""


_KEY: Final = "spool.key"
_KEY_BYTES: Final = 32


class State(NamedTuple):
    """Paths in the state directory. Knowing them creates nothing."""

    directory: Path
    spool: Path
    database: Path
    graph: Path
    """The derived database of this worktree."""
    cache: Path
    """Outside the repository; everything in it can be derived again."""
    crash: Path
    high_water: Path
    lock: Path
    origin: str
    """`git`, `user` (no git) or `override` (`KL_STATE`, `kl.state`); `cache`: a derived database
    alone, no spool.
    """

    @property
    def is_emptied(self) -> bool:
        """Whether the database has no bytes, and no journal: nobody is making it at this moment."""
        try:
            size = self.database.lstat().st_size
        except OSError:
            return False
        return size == 0 and not self.database.with_name(f"{self.database.name}-journal").exists()


def locate_state(
    root: Path,
    common_dir: Path | None,
    git_dir: Path | None,
    override: str | None,
    environ: Mapping[str, str],
) -> State:
    """Where the state of the repository at `root` is. Pure: looks at no file but `~`.

    `<common dir>/kl/` with git, else a folder of the user's, by path. EnvironmentProblem where
    there is neither git nor a home.
    """
    key = _key(common_dir or root)
    if override:
        # os.path: Path.expanduser raises where there is no home
        directory = root / os.path.expanduser(override)  # noqa: PTH111
        origin = "override"
    elif common_dir:
        directory = common_dir / "kl"
        origin = "git"
    else:
        directory = _user(environ, "XDG_STATE_HOME", ".local/state") / key
        origin = "user"
    if not git_dir or git_dir == common_dir:
        worktree = "main"
    else:
        worktree = f"{_harmless(git_dir.name)}-{_key(git_dir)[:8]}"
    return State(
        directory=directory,
        spool=directory / "spool",
        database=directory / "kl.db",
        graph=directory / "graph" / f"{worktree}.db",
        cache=_user(environ, "XDG_CACHE_HOME", ".cache") / key,
        crash=directory / "crash",
        high_water=directory / "high-water",
        lock=directory / "store.lock",
        origin=origin,
    )


def state_of_server(state: State, server: str) -> State:
    """The paths where evidence is in a team's database: what is derived from one, and its mark, are
    its own.
    """
    key = hashlib.sha256(server.encode()).hexdigest()[:8]
    return state._replace(
        graph=state.graph.with_name(f"{state.graph.stem}-{key}.db"),
        high_water=state.directory / f"high-water-{key}",
    )


def clone_id(state: State) -> str:
    """What this clone is called in a team's database: another one in each folder of each
    machine.
    """
    return hashlib.sha256(f"{os.uname().nodename}\0{_key(state.directory)}".encode()).hexdigest()[
        :12
    ]


def spool_directories(
    state: State, root: Path, environ: Mapping[str, str]
) -> list[tuple[Path, str]]:
    """Where a spool may be written, in order, each with the origin of what is written there."""
    places = [(state.spool, "local")]
    user = user_state_directory(environ) / _key(state.directory) / "spool"
    if user != state.spool:
        places.append((user, "spool:user"))
    places.append((root / ".kl" / "spool", "spool:checkout"))
    return places


def missing_run_directories(state: State, environ: Mapping[str, str]) -> list[Path]:
    """Where a mark that a run is missing is left, in order: outside of the repository."""
    temporary = Path(environ.get("TMPDIR") or "/tmp") / f"kl-{os.getuid()}"
    key = _key(state.directory)
    return [folder / key / "missing" for folder in (user_state_directory(environ), temporary)]


def user_state_directory(environ: Mapping[str, str]) -> Path:
    """Return kl's folder in the user's state folder (`$XDG_STATE_HOME/kl`); it need not exist."""
    return _user(environ, "XDG_STATE_HOME", ".local/state")


def remove_empty(*folders: Path) -> None:
    """Remove folders of the user's that kl made, the innermost first, while nothing is in them."""
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:  # another repository has something there
            return


def prepare_state(state: State) -> None:
    """Make the state directory if it is not there: whole or not at all, 0700, with a page that
    explains it.

    OSError where it can't be made; EnvironmentProblem where what is there is somebody else's, or no
    directory.
    """
    directory = state.directory
    if state.origin == "cache":
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check(state)
        return
    if not os.path.lexists(directory):
        directory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _appear(directory)
    _check(state)
    for folder in (state.spool, state.graph.parent):
        folder.mkdir(mode=0o700, exist_ok=True)
    _make_spool_key(state)
    if not (directory / "README").exists() and _only_ours(
        directory
    ):  # a spool was there before anybody prepared
        _explain(directory)


def spool_key(state: State) -> bytes:
    """The key by which this clone knows captures that it wrote into the working tree; empty where
    there is none.
    """
    try:
        key = (state.directory / _KEY).read_bytes()
    except OSError:
        return b""
    if len(key) == _KEY_BYTES:
        return key
    return b""


def _make_spool_key(state: State) -> None:
    """Make the key while the state directory can be written: in a sandbox it can't."""
    path = state.directory / _KEY
    if os.path.lexists(path):
        return
    # written whole under a name that nobody else has, another thread neither: whoever is faster,
    # and a kill, leave no half of it
    hidden = state.directory / f".{_KEY}.{os.urandom(8).hex()}"
    try:
        with open(os.open(hidden, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:  # noqa: PTH123
            file.write(os.urandom(_KEY_BYTES))
        os.link(hidden, path)
    except OSError:  # a full disk, no hard links, or somebody was faster: next time
        pass
    finally:
        hidden.unlink(missing_ok=True)


def _appear(directory: Path) -> None:
    import shutil
    import tempfile

    # mkdtemp: 0700 whatever the umask; the rename below shows it complete or not at all
    fresh = Path(tempfile.mkdtemp(prefix=".kl-", dir=directory.parent))
    (fresh / "spool").mkdir(mode=0o700)
    (fresh / "graph").mkdir(mode=0o700)
    _explain(fresh)
    try:
        fresh.rename(directory)
        sync_folder(directory.parent)
    except OSError:
        shutil.rmtree(fresh, ignore_errors=True)
        if not directory.is_dir():  # otherwise somebody was faster, which is as good
            raise


def _explain(directory: Path) -> None:
    (directory / "README").write_text(_README, encoding="utf-8")
    # KL_STATE may name a folder in the working tree: nothing in it is to be committed
    (directory / ".gitignore").write_text("*\n", encoding="utf-8")


def _only_ours(directory: Path) -> bool:
    """No file of anybody else's in it: a folder that somebody named with `KL_STATE` may contain
    other files.
    """
    names = {
        "kl.db",
        "spool",
        "graph",
        "crash",
        "backup",
        "high-water",
        "store.lock",
        "store.queue",
        _KEY,
    }
    return all(name in names or name.startswith("kl.db-") for name in os.listdir(directory))  # noqa: PTH208


def _check(state: State) -> None:
    """EnvironmentProblem unless it is a folder of ours. Root may use folders of others, but follows
    no link there.
    """
    directory = state.directory
    us = os.geteuid()
    link = directory.is_symlink()
    if not directory.is_dir():
        if link and not directory.exists():
            reason = "is a link that leads nowhere."
        else:
            reason = "is not a folder."
        named = "KL_STATE, or git config kl.state, names it: name a folder there."
        if state.origin == "override":
            hint = named
        else:
            hint = "Move it away, then try again."
        raise EnvironmentProblem(reason, place=str(directory), hint=hint)
    info = directory.stat()
    if info.st_uid != us and (link or us != 0):
        reason = f"is {'a link to ' if link else ''}somebody else's folder (user {info.st_uid})."
        hint = "Choose another place: KL_STATE=<folder>, or git config kl.state <folder>."
        raise EnvironmentProblem(reason, place=str(directory), hint=hint)
    if state.origin != "override" and info.st_uid == us and info.st_mode & 0o077:
        directory.chmod(0o700)


def _key(path: Path) -> str:
    return hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:24]


def _harmless(name: str) -> str:
    """The name of a worktree, unless it must not be written."""
    from kl_hooks.store.redaction import builtin_rules

    # our own rules: which plugins there are is not known yet
    if builtin_rules(name) == name:
        return name
    return "worktree"


def _user(environ: Mapping[str, str], variable: str, default: str) -> Path:
    named = environ.get(variable, "")
    if named.startswith("/"):
        return Path(named) / "kl"
    home = environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111
    if not home.startswith("/"):
        import tempfile

        home = tempfile.gettempdir() + f"/kl-{os.getuid()}"
    return Path(home) / default / "kl"
