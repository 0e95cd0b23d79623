"""Native git hooks: install them next to what is there, uninstall them without a trace, report
their state.

Nothing is ever overwritten. An earlier git hook is renamed to `NAME.kl-chained` and run by ours.
Where pre-commit or prek manage the git hooks, ours becomes their `NAME.legacy`, which they run and
restore: so each of the three can be installed and uninstalled in any order.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.git.repository import Repository, read_git_settings
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.shipped import shipped

HOOK_NAMES: Final = ("post-commit", "pre-commit", "pre-push")
_OPT_IN: Final = "commit-msg"
"""Installed only where it is asked for by its name: it adds to people's messages."""
_CHAINED: Final = ".kl-chained"
"""Appended to the name of the git hook that was there before ours."""
_LEGACY: Final = ".legacy"
"""Where pre-commit and prek keep the git hook that they found, and run it first."""

_MARK: Final = lazy_pattern(rb"^# kl git hook \d+ ([0-9a-f]{64})$", re.M)
_PYTHON: Final = lazy_pattern(rb"^python='((?:[^']|'\\'')*)'$", re.M)
_BLANK: Final = b"@sum@"
_MAX_BYTES: Final = 1 << 20


def _hook_text(name: str, python: str, spool: str) -> bytes:
    """The file for git hook `name`. `python`: path of the interpreter; `spool`: a word of shell,
    see `_spool_word`.
    """
    text = shipped(f"hooks/{name}").read_bytes()
    text = text.replace(b"@python@", _quoted(python)).replace(b"@spool@", os.fsencode(spool))
    return text.replace(_BLANK, _sum(text), 1)


def _spool_word(spool: Path, hooks: Path, common_dir: Path) -> str:
    """The list of commits as a word of shell: from the git hook's own place while both move
    together, else absolute.
    """
    file = spool / "commits"
    if hooks == common_dir / "hooks" and common_dir in file.parents:
        return '"${0%/*}"/' + os.fsdecode(_quoted(os.path.relpath(file, hooks)))
    return os.fsdecode(_quoted(str(file)))


def _hook_content(path: Path) -> bytes | None:
    """The file's content; None where there is nothing to read."""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES)
    except OSError:
        return None


def _is_ours(text: bytes | None) -> bool:
    """True for a git hook that kl has put there, even if somebody has edited it since."""
    return text is not None and _MARK.search(text) is not None


def _is_edited(text: bytes) -> bool:
    """True if one of ours is not as we wrote it."""
    mark = _MARK.search(text)
    return mark is None or _sum(text.replace(mark[1], _BLANK, 1)) != mark[1]


def _runs_legacy_hook(text: bytes | None) -> bool:
    """True for the file of pre-commit or prek: it runs `NAME.legacy` first, and puts it back when
    it leaves.
    """
    return text is not None and b"hook-impl" in text


def _quoted(text: str) -> bytes:
    return b"'" + os.fsencode(text).replace(b"'", b"'\\''") + b"'"


def _sum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode("ascii")


_LINES: Final = {
    "post-commit": "kl commits record",
    "pre-commit": "kl arch check --staged --quiet || exit $?",
    "pre-push": "kl arch check --pushed --quiet || exit $?",
    _OPT_IN: 'kl commits trailer --write "$1"',
}
"""What to add by hand to a git hook that is not ours to change."""
PRE_COMMIT_FILE: Final = ".pre-commit-config.yaml"
_PRE_COMMIT_IDS: Final = {
    "post-commit": rb"kl-record-commit",
    "pre-commit": rb"kl-check",
    "pre-push": rb"kl-(check-push|verify)",
}
"""Git hook → our pre-commit hooks that do its work."""


def mentions_pre_commit_hooks(config: bytes) -> bool:
    """True if a configuration of pre-commit names one of our hooks."""
    return re.search(rb"\bkl-(init|check|check-push|record-commit|verify)\b", config) is not None


class HookChange(NamedTuple):
    """What was done about one git hook."""

    name: str
    path: Path
    action: str
    """installed, updated, unchanged · removed, restored · inert, refused, `kept`: not done, for
    `reason`.
    """
    reason: str = ""


class HookState(NamedTuple):
    """The state of one git hook."""

    name: str
    path: Path
    state: str
    """installed, called (by somebody's own git hook), missing, edited, broken (its interpreter was
    removed), inert (git does not run it)."""
    reason: str = ""


class _Place(NamedTuple):
    folder: Path
    ours_to_change: bool


def install_hooks(
    repo: Repository, names: Sequence[str], python: str, state_spool: Path
) -> list[HookChange]:
    """Install the git hooks `names` (none: all but commit-msg, which is brought up to date where it
    is installed).

    `python`: absolute path; `state_spool`: the spool's folder.

    UsageProblem for a name that is none of ours; EnvironmentProblem where the folder can't be
    written.
    """
    for name in names:
        if name not in (*HOOK_NAMES, _OPT_IN):
            names_text = ", ".join((*HOOK_NAMES, _OPT_IN))
            raise UsageProblem(f"{name!r} is no git hook of kl.", hint=f"There are: {names_text}")
    place = _place(repo)
    done = []
    for name in names or (one.name for one in hook_states(repo)):
        path = place.folder / name
        if not place.ours_to_change:
            done.append(_not_ours(repo, place, name))
            continue
        word = _spool_word(state_spool, place.folder, repo.common_dir)
        try:
            place.folder.mkdir(parents=True, exist_ok=True)
            done.append(_install(path, _hook_text(name, python, word)))
        except OSError as problem:
            raise EnvironmentProblem(f"can't be written: {problem}.", place=str(path)) from problem
    return done


def _install(path: Path, text: bytes) -> HookChange:
    main = path
    legacy = path.with_name(path.name + _LEGACY)
    host = _runs_legacy_hook(_hook_content(main)) and not _is_ours(_hook_content(main))
    if (
        not host
        and _is_ours(_hook_content(legacy))
        and not _is_edited(_hook_content(legacy) or b"")
    ):
        legacy.unlink()  # pre-commit was uninstalled: nothing runs this one any more
    target = legacy if host else main
    there = _hook_content(target)
    if there is not None and _is_ours(there):
        if there == text:
            return HookChange(path.name, target, "unchanged")
        if _is_edited(there):
            return HookChange(
                path.name,
                target,
                "kept",
                "somebody has edited it; take it away by hand to get it anew.",
            )
        _write(target, text)
        return HookChange(path.name, target, "updated")
    if not os.path.lexists(target):
        _write(target, text)
        return HookChange(
            path.name, target, "installed", "pre-commit's own file runs it." if host else ""
        )
    chained = path.with_name(path.name + _CHAINED)
    if os.path.lexists(chained) or target.is_dir():
        return HookChange(
            path.name, target, "refused", f"{chained.name} is there already; join the two by hand."
        )
    try:
        # a second name, so that at no moment there is no git hook; of one that is a link, for the
        # link, not its target
        os.link(target, chained, follow_symlinks=False)
    except OSError:  # a file system without hard links
        target.rename(chained)
    _write(target, text)
    reason = f"the git hook that was there is run after it, as {chained.name}."
    return HookChange(path.name, target, "installed", reason)


def _write(path: Path, text: bytes) -> None:
    # in the same folder: rename(2) does not work across file systems
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text)
        os.chmod(temporary, 0o755)  # noqa: PTH101
        os.replace(temporary, path)  # noqa: PTH105
    except BaseException:
        os.unlink(temporary)  # noqa: PTH108
        raise


def uninstall_hooks(repo: Repository, *, is_dry_run: bool = False) -> list[HookChange]:
    """Remove all of ours and restore what was there, byte for byte. What is not ours stays as it
    is. `is_dry_run`: only return what would be done.
    """
    done = []
    place = _place(repo)
    for folder in dict.fromkeys(
        (repo.common_dir / "hooks", *([place.folder] if place.ours_to_change else ()))
    ):
        for name in (*HOOK_NAMES, _OPT_IN):
            for suffix in ("", _LEGACY):
                done += _uninstall(folder / name, folder / (name + suffix), is_dry_run)
            done += _orphan(folder / name, is_dry_run)
    return done


def _uninstall(path: Path, target: Path, is_dry_run: bool) -> list[HookChange]:
    there = _hook_content(target)
    chained = path.with_name(path.name + _CHAINED)
    if there is None or not _is_ours(there):
        return []
    if _is_edited(there):
        return [
            HookChange(path.name, target, "kept", "somebody has edited it; take it away by hand.")
        ]
    if os.path.lexists(chained):
        if not is_dry_run:
            chained.replace(target)
        return [HookChange(path.name, target, "restored")]
    if not is_dry_run:
        target.unlink()
    return [HookChange(path.name, target, "removed")]


def _orphan(path: Path, is_dry_run: bool) -> list[HookChange]:
    """An earlier git hook that we put aside, after somebody has deleted or replaced ours."""
    chained = path.with_name(path.name + _CHAINED)
    if not os.path.lexists(chained) or _is_ours(_hook_content(path)):
        return []
    if not os.path.lexists(path):
        if not is_dry_run:
            chained.replace(path)
        return [HookChange(path.name, path, "restored")]
    reason = f"an earlier git hook, and {path.name} is another; join them by hand."
    return [HookChange(path.name, chained, "kept", reason)]


def hook_states(repo: Repository, pre_commit_config: bytes = b"") -> list[HookState]:
    """The states of our git hooks, of commit-msg only where it is installed or called. One git
    process.

    With the text of `.pre-commit-config.yaml`, what pre-commit runs is `called`; what it would run,
    it installs.
    """
    place = _place(repo)
    states = [_with_pre_commit(_state(repo, place, name), pre_commit_config) for name in HOOK_NAMES]
    asked = _state(repo, place, _OPT_IN)
    if asked.state == "missing":
        return states
    return [*states, asked]


def _with_pre_commit(hook: HookState, config: bytes) -> HookState:
    # (?![\w-]): kl-check is also the beginning of kl-check-push
    if hook.state != "missing" or not re.search(
        rb"\b" + _PRE_COMMIT_IDS[hook.name] + rb"(?![\w-])", config
    ):
        return hook
    if _runs_legacy_hook(_hook_content(hook.path)):
        return hook._replace(
            state="called", reason=f"pre-commit runs kl's entry in {PRE_COMMIT_FILE}."
        )
    return hook._replace(
        reason=f"pre-commit install -t {hook.name}   (kl's entry is in {PRE_COMMIT_FILE})"
    )


def _state(repo: Repository, place: _Place, name: str) -> HookState:
    path = place.folder / name
    if not place.ours_to_change:
        installed = _is_ours(_hook_content(repo.common_dir / "hooks" / name))
        advice = _not_ours(repo, place, name)
        if not advice.reason:
            return HookState(name, advice.path, "called")
        return HookState(name, advice.path, "inert" if installed else "missing", advice.reason)
    main = _hook_content(path)
    legacy = path.with_name(name + _LEGACY)
    target, text = (path, main) if _is_ours(main) else (legacy, _hook_content(legacy))
    if text is None or not _is_ours(text) or (target == legacy and not _runs_legacy_hook(main)):
        called = main is not None and _call_of(name) in main
        return HookState(
            name, path, "called" if called else "missing", "" if called else "kl hooks install"
        )
    if not os.access(target, os.X_OK):
        return HookState(name, target, "inert", f"make it executable: chmod +x {target}")
    named = _PYTHON.search(text)  # post-commit needs no interpreter
    if named:
        python = os.fsdecode(named[1].replace(b"'\\''", b"'"))
    else:
        python = ""
    if named and not os.access(python, os.X_OK):
        return HookState(name, target, "broken", f"{python} does not exist any more.")
    if _is_edited(text):
        return HookState(name, target, "edited", "somebody has changed it; kl leaves it alone.")
    return HookState(
        name, target, "installed", "run by pre-commit's file." if target == legacy else ""
    )


def outdated_hooks(repo: Repository) -> list[HookState]:
    """Return our installed git hooks that an older version of kl has written. One git process."""
    outdated = []
    for hook in hook_states(repo):
        pattern = re.escape(shipped(f"hooks/{hook.name}").read_bytes())
        # whatever interpreter and spool it names
        for blank in (b"@python@", b"@spool@", _BLANK):
            pattern = pattern.replace(re.escape(blank), b"[^\n]*")
        if hook.state == "installed" and not re.fullmatch(pattern, _hook_content(hook.path) or b""):
            outdated.append(hook)
    return outdated


def _call_of(name: str) -> bytes:
    """What somebody's own git hook holds if it calls kl: the command without options that only
    change its output.
    """
    return _LINES[name].partition(" ||")[0].removesuffix(" --quiet").encode()


def _place(repo: Repository) -> _Place:
    """Where git looks for git hooks, and whether that is inside `.git`: anything else belongs to
    somebody.
    """
    usual = repo.common_dir / "hooks"
    asked = read_git_settings(repo).hooks_path
    folder = repo.top / os.path.expanduser(asked) if asked else usual  # noqa: PTH111
    real = folder.resolve()
    return _Place(
        usual if real == usual.resolve() else folder, repo.common_dir.resolve() in real.parents
    )


def _not_ours(repo: Repository, place: _Place, name: str) -> HookChange:
    """`core.hooksPath` leads out of `.git`: what to add there by hand, or nothing if it is there
    already.
    """
    # husky's wrappers are in `_`
    if place.folder.name == "_":
        folder = place.folder.parent
    else:
        folder = place.folder
    path = folder / name
    if path.is_relative_to(repo.top):
        shown = path.relative_to(repo.top)
    else:
        shown = path
    line = _LINES[name]
    if _call_of(name) in (_hook_content(path) or b""):
        return HookChange(name, path, "unchanged")
    if not place.folder.is_dir():
        return HookChange(
            name, path, "inert", "core.hooksPath is no folder; git config --unset core.hooksPath"
        )
    return HookChange(
        name, path, "inert", f"git runs the files in {place.folder}; add to {shown}: {line}"
    )
