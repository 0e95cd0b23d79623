"""The entry: makes sure that no file of the repository being looked at is imported, then runs the command line."""

from __future__ import annotations

import sys
from pathlib import Path


def _forget_the_checkout() -> None:
    """Takes the current folder off `sys.path`: a `click.py` in somebody's repository must not become ours."""
    ours = Path(__file__).resolve().parent.parent
    try:
        here = Path.cwd().resolve()
    except OSError:  # the folder is gone
        return
    if here != ours:
        sys.path[:] = [entry for entry in sys.path if entry and Path(entry).resolve() != here]


def main() -> None:
    """Runs `kl`; the process ends with the exit codes of `errors`."""
    _forget_the_checkout()
    from kl_hooks.cli.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
