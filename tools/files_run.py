"""Count the files of kl_hooks in which a command runs code.

    python tools/files_run.py [--repo DIR] [--list] [--cold] COMMAND [ARG ...]

The command runs in this process, in DIR or in a temporary repository of five Python files in two
layers with kl set up. Before it is counted it runs once in another process, so that databases and
caches are there, as they are on any day but the first. Two numbers are printed: files with a
function that was called, and files that were imported. A module body that only has definitions
counts as imported, not as called. Exit status: that of the command.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = f"{ROOT / 'kl_hooks'}{os.sep}"
FILES: Final = {
    ".kl/architecture.yaml": (
        """version: 1
layers:
  - name: core
    paths: [src/shop/core/]
    may_depend_on: []
  - name: cli
    paths: [src/shop/cli/]
    may_depend_on: [core]
"""
    ),
    ".kl/config.yaml": "version: 1\n",
    "src/shop/__init__.py": '"""A shop."""\n',
    "src/shop/core/__init__.py": '"""The core."""\n',
    "src/shop/core/order.py": "def total(prices: list[int]) -> int:\n    return sum(prices)\n",
    "src/shop/cli/__init__.py": '"""The command line."""\n',
    "src/shop/cli/main.py": (
        "from shop.core.order import total\n\n\ndef main() -> None:\n    print(total([1, 2]))\n"
    ),
}
_INHERITED: Final = ("PATH", "TMPDIR")
"""Variables that the command sees: nothing of an agent, of CI or of this machine's git settings."""


def count(arguments: Sequence[str]) -> tuple[set[str], set[str], int]:
    """Run a command; return the files with a called function, the files that were imported, and the
    exit status.
    """
    called: set[str] = set()
    imported: set[str] = set()

    def record(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE):
            name = code.co_filename.removeprefix(PACKAGE)
            imported.add(name)
            # Bodies of modules and classes are not optimized; a comprehension belongs to the body
            # around it.
            if code.co_flags & inspect.CO_OPTIMIZED and (
                code.co_name[0] != "<" or code.co_name == "<lambda>"
            ):
                called.add(name)

    threading.setprofile(record)
    sys.setprofile(record)  # not sys.monitoring, which 3.11 does not have
    try:
        from kl_hooks.cli.main import run

        status = run(arguments)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return called, imported, status


def make_repository(folder: Path, home: Path) -> None:
    """Make a repository with one commit of `FILES` and kl set up; this process then sees its
    environment only.
    """
    home.mkdir()
    values = {name: os.environ[name] for name in _INHERITED if name in os.environ} | {
        "HOME": str(home),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "PYTHONPATH": str(ROOT),
        "LC_ALL": "C.UTF-8",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
    }
    os.environ.clear()
    os.environ.update(values)
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    run_quietly(folder, "init", "--yes")


def run_quietly(folder: Path, *arguments: str) -> None:
    """Run a command in another process. It may fail: the run that is counted shows how."""
    subprocess.run(
        [sys.executable, "-m", "kl_hooks", *arguments], cwd=folder, capture_output=True, check=False
    )


def main() -> int:
    """Count, print, and return the exit status of the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--repo", type=Path, metavar="DIR", help="run in this repository; nothing is set up in it"
    )
    parser.add_argument(
        "--list", action="store_true", help="print the files too; those only imported have a minus"
    )
    parser.add_argument(
        "--cold", action="store_true", help="count the first run, which builds databases and caches"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND [ARG ...]")
    options = parser.parse_args()
    if not options.command:
        parser.error("no command to run, such as: arch check")
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory(
        prefix="kl-files-run-", ignore_cleanup_errors=True
    ) as temporary:
        folder = options.repo or Path(temporary, "shop")
        if options.repo is None:
            make_repository(folder, Path(temporary, "home"))
        if not options.cold:
            run_quietly(folder, *options.command)
        output = io.StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stdout(output):
            called, imported, status = count(options.command)
    sys.stderr.write(output.getvalue())
    print(
        f"kl {' '.join(options.command)}: code ran in {len(called)} files of kl_hooks,"
        f" {len(imported)} were imported"
    )
    if options.list:
        for name in sorted(imported):
            print(f"{' ' if name in called else '-'} {name}")
    return status


if __name__ == "__main__":
    sys.exit(main())
