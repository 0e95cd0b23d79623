"""Files that git ignores in this clone alone, by `info/exclude` (gitignore(5)).

What others wrote there stays, byte for byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kl_hooks.git.repository import ignored_by, tracked_among
from kl_hooks.store.files import write_atomic

if TYPE_CHECKING:
    from pathlib import Path

    from kl_hooks.git.repository import Repository


def exclude(repo: Repository, path: str) -> bool:
    """Make git ignore a file, given from the top folder; False where git has it, so that no rule
    hides it. Raises OSError.
    """
    if tracked_among(repo, {path}):
        return False
    if not ignored_by(repo, path):
        rules_file = _rules_file(repo)
        rules = _read(rules_file)
        if not rules or rules.endswith(b"\n"):
            end = b""
        else:
            end = b"\n"
        rules_file.parent.mkdir(exist_ok=True)
        with rules_file.open("ab") as appended:
            appended.write(end + _rule(path))
    return True


def end_exclusion(repo: Repository, path: str, *, is_dry_run: bool = False) -> bool:
    """Remove what `exclude` wrote; False where there is nothing of it. `is_dry_run`: only look.
    Raises OSError.
    """
    rules_file = _rules_file(repo)
    rules = _read(rules_file)
    if _rule(path) not in rules:
        return False
    if not is_dry_run:
        # others wrote there: whole or not at all
        target = rules_file.resolve()
        mode = target.stat().st_mode & 0o777
        write_atomic(target, rules.replace(_rule(path), b""), mode)
    return True


def _rules_file(repo: Repository) -> Path:
    return repo.common_dir / "info" / "exclude"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _rule(path: str) -> bytes:
    return f"# by kl: it names an interpreter of this machine\n/{path}\n".encode()
