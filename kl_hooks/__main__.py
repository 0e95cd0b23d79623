"""The entry: makes sure that no file of the repository being looked at is imported, then runs the command line."""

from __future__ import annotations

import os
import sys


def _forget_the_checkout() -> None:
    """Takes the current folder off `sys.path`: a `click.py` in somebody's repository must not become ours."""
    here = os.path.realpath(os.getcwd()) if os.path.isdir(".") else None  # noqa: PTH109
    ours = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120
    sys.path[:] = [p for p in sys.path if p and (os.path.realpath(p) != here or os.path.realpath(p) == ours)]


def main() -> None:
    """Runs `kl`; the process ends with the exit codes of `errors`."""
    _forget_the_checkout()
    from kl_hooks.cli.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
