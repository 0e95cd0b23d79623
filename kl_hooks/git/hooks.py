"""Native git hooks: put beside what is there, taken away without a trace, and their state in plain words.

Nothing is ever overwritten. A git hook that was there first is kept as `NAME.kl-chained` and run by ours. Where
pre-commit or prek rule, ours becomes their `NAME.legacy`, which they run and give back: so each of the three can be
installed and uninstalled in any order.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.git import hookfiles
from kl_hooks.git.hookfiles import CHAINED, LEGACY, NAMES, content, is_edited, is_ours, runs_legacy
from kl_hooks.git.repository import Repository, settings

_LINES: Final = {
    "post-commit": "kl commits record",
    "pre-commit": "kl arch check --staged --quiet || exit $?",
    "pre-push": "kl arch check --pushed --quiet || exit $?",
}
"""What to add by hand to a git hook that is not ours to change."""


@dataclass(frozen=True, slots=True)
class Done:
    """What was done about one git hook."""

    name: str
    path: Path
    action: str
    """installed, updated, unchanged · removed, restored · inert, refused, kept: not done, for `reason`."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class HookState:
    """How one git hook stands."""

    name: str
    path: Path
    state: str
    """installed, called (by somebody's own git hook), missing, edited, broken (its interpreter is gone), inert (git
    does not run it)."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Place:
    folder: Path
    ours_to_change: bool


def install(repo: Repository, names: Sequence[str], python: str, state_spool: Path) -> list[Done]:
    """Installs the git hooks `names` (none: all). `python`: absolute path; `state_spool`: the spool's folder.

    UsageProblem for a name that is none of ours; EnvironmentProblem where the folder can't be written.
    """
    for name in names:
        if name not in NAMES:
            raise UsageProblem(f"{name!r} is no git hook of kl.", hint=f"There are: {', '.join(NAMES)}")
    place = _place(repo)
    done = []
    for name in names or NAMES:
        path = place.folder / name
        if not place.ours_to_change:
            done.append(_not_ours(repo, place, name))
            continue
        word = hookfiles.spool_word(state_spool, place.folder, repo.common_dir)
        try:
            place.folder.mkdir(parents=True, exist_ok=True)
            done.append(_install(path, hookfiles.make(name, python, word)))
        except OSError as problem:
            raise EnvironmentProblem(f"can't be written: {problem}.", place=str(path)) from problem
    return done


def _install(path: Path, text: bytes) -> Done:
    main, legacy = path, path.with_name(path.name + LEGACY)
    host = runs_legacy(content(main)) and not is_ours(content(main))
    if not host and is_ours(content(legacy)) and not is_edited(content(legacy) or b""):
        legacy.unlink()  # pre-commit is gone; nothing runs this one any more
    target = legacy if host else main
    there = content(target)
    if there is not None and is_ours(there):
        if there == text:
            return Done(path.name, target, "unchanged")
        if is_edited(there):
            return Done(path.name, target, "kept", "somebody has edited it; take it away by hand to get it anew.")
        _write(target, text)
        return Done(path.name, target, "updated")
    if not os.path.lexists(target):
        _write(target, text)
        return Done(path.name, target, "installed", "pre-commit's own file runs it." if host else "")
    chained = path.with_name(path.name + CHAINED)
    if os.path.lexists(chained) or target.is_dir():
        return Done(path.name, target, "refused", f"{chained.name} is there already; join the two by hand.")
    _keep(target, chained)
    _write(target, text)
    return Done(path.name, target, "installed", f"the git hook that was there is run after it, as {chained.name}.")


def _keep(target: Path, chained: Path) -> None:
    """A second name for the git hook that is there, so that at no moment there is none."""
    try:
        os.link(target, chained, follow_symlinks=False)
    except OSError:  # a file system without hard links
        target.rename(chained)


def _write(path: Path, text: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text)
        os.chmod(temporary, 0o755)  # noqa: PTH101
        os.replace(temporary, path)  # noqa: PTH105
    except BaseException:
        os.unlink(temporary)  # noqa: PTH108
        raise


def uninstall(repo: Repository) -> list[Done]:
    """Takes all of ours away and puts back what was there, byte for byte. What is not ours stays as it is."""
    done = []
    for folder in dict.fromkeys((repo.common_dir / "hooks", *_inside(repo))):
        for name in NAMES:
            for suffix in ("", LEGACY):
                done += _uninstall(folder / name, folder / (name + suffix))
            done += _orphan(folder / name)
    return done


def _uninstall(path: Path, target: Path) -> list[Done]:
    there, chained = content(target), path.with_name(path.name + CHAINED)
    if there is None or not is_ours(there):
        return []
    if is_edited(there):
        return [Done(path.name, target, "kept", "somebody has edited it; take it away by hand.")]
    if os.path.lexists(chained):
        chained.replace(target)
        return [Done(path.name, target, "restored")]
    target.unlink()
    return [Done(path.name, target, "removed")]


def _orphan(path: Path) -> list[Done]:
    """An earlier git hook that we put aside, after somebody has deleted or replaced ours."""
    chained = path.with_name(path.name + CHAINED)
    if not os.path.lexists(chained) or is_ours(content(path)):
        return []
    if not os.path.lexists(path):
        chained.replace(path)
        return [Done(path.name, path, "restored")]
    return [Done(path.name, chained, "kept", f"an earlier git hook, and {path.name} is another; join them by hand.")]


def status(repo: Repository) -> list[HookState]:
    """How each of our git hooks stands. One git process."""
    place = _place(repo)
    return [_state(repo, place, name) for name in NAMES]


def _state(repo: Repository, place: _Place, name: str) -> HookState:
    path = place.folder / name
    if not place.ours_to_change:
        installed = is_ours(content(repo.common_dir / "hooks" / name))
        told = _not_ours(repo, place, name)
        if not told.reason:
            return HookState(name, told.path, "called")
        return HookState(name, told.path, "inert" if installed else "missing", told.reason)
    main = content(path)
    legacy = path.with_name(name + LEGACY)
    target, text = (path, main) if is_ours(main) else (legacy, content(legacy))
    if text is None or not is_ours(text) or (target == legacy and not runs_legacy(main)):
        called = main is not None and _called(name) in main
        return HookState(name, path, "called" if called else "missing", "" if called else "kl hooks install")
    if not os.access(target, os.X_OK):
        return HookState(name, target, "inert", f"make it executable: chmod +x {target}")
    python = hookfiles.interpreter(text)
    if python is not None and not os.access(python, os.X_OK):
        return HookState(name, target, "broken", f"{python} is gone.")
    if is_edited(text):
        return HookState(name, target, "edited", "somebody has changed it; kl leaves it alone.")
    return HookState(name, target, "installed", "run by pre-commit's file." if target == legacy else "")


def _called(name: str) -> bytes:
    """What somebody's own git hook holds if it calls kl: the command without options that only change its output."""
    return _LINES[name].partition(" ||")[0].removesuffix(" --quiet").encode()


def _place(repo: Repository) -> _Place:
    """Where git looks for git hooks, and whether that is inside `.git`: anything else belongs to somebody."""
    usual, asked = repo.common_dir / "hooks", settings(repo).hooks_path
    folder = repo.top / os.path.expanduser(asked) if asked else usual  # noqa: PTH111
    real = folder.resolve()
    return _Place(usual if real == usual.resolve() else folder, repo.common_dir.resolve() in real.parents)


def _inside(repo: Repository) -> list[Path]:
    place = _place(repo)
    return [place.folder] if place.ours_to_change else []


def _not_ours(repo: Repository, place: _Place, name: str) -> Done:
    """`core.hooksPath` leads out of `.git`: what to add there by hand, or nothing if it is there already."""
    folder = place.folder.parent if place.folder.name == "_" else place.folder  # husky's wrappers stand in `_`
    path = folder / name
    shown = path.relative_to(repo.top) if path.is_relative_to(repo.top) else path
    line = _LINES[name]
    if _called(name) in (content(path) or b""):
        return Done(name, path, "unchanged")
    if not place.folder.is_dir():
        return Done(name, path, "inert", "core.hooksPath is no folder; git config --unset core.hooksPath")
    return Done(name, path, "inert", f"git runs the files in {place.folder}; add to {shown}: {line}")
