"""What no command can do without, as a process of its own: `python floor.py staged|worktree
[FILE]`.

The interpreter, click, the questions to git that a check asks, and the changed file parsed, if any;
nothing of kl.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import click

EVERY = (
    ("rev-parse", "--git-dir", "--show-toplevel"),
    ("config", "-z", "--get-regexp", "^kl"),
    ("rev-parse", "HEAD", "HEAD^{tree}"),
)
QUESTIONS = {
    "staged": (
        ("ls-files", "-s", "-z", "--", "*.py"),
        ("diff-index", "--cached", "--raw", "-z", "HEAD"),
    ),
    "worktree": (
        ("ls-files", "-s", "-z", "--others", "--exclude-standard"),
        ("diff-files", "--raw", "-z", "--", "*.py"),
        ("diff-index", "--raw", "-z", "HEAD"),
    ),
}


def main() -> None:
    """Asks and parses; prints nothing."""
    source, *changed = sys.argv[1:]
    for question in (*EVERY, *QUESTIONS[source]):
        subprocess.run(["git", "--no-optional-locks", *question], capture_output=True, check=False)
    for path in changed:
        subprocess.run(
            ["git", "cat-file", "--batch"],
            input=f":{path}\n".encode(),
            capture_output=True,
            check=True,
        )
        ast.parse(Path(path).read_bytes())
    assert click


if __name__ == "__main__":
    main()
