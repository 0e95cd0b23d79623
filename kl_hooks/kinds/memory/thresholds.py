"""How much must be seen before something is worth a person's time. One table; changing a number is changing it here.

What stays below is not forgotten: it counts as soon as more is seen, as long as the receipts are looked at.
"""

from __future__ import annotations

from typing import Final

# what must be seen                                  sessions, times
SUCCEEDS_IN_SESSIONS: Final = 2
"""`Shell command succeeds`: exit 0 in this many sessions."""
FAILS_IN_A_ROW: Final = 2
"""`Shell command fails repeatedly`: this many failures without a success between them."""
TEST_PASSES_IN_SESSIONS: Final = 2
"""`Test passes`: passed in this many sessions, after it had failed. A test that never failed says nothing."""
WRITES_IN_A_SESSION: Final = 2
"""`File is modified repeatedly in sessions`: commits (or edits of an agent) that wrote it, within one session …"""
WRITES_IN_SESSIONS: Final = 2
"""… and in this many sessions …"""
MOST_FILES: Final = 5
"""… if it is among so many that were written in most sessions, and most often."""
LARGEST_COMMIT: Final = 30
"""A commit that touches more files says nothing about any one of them (a move, a formatter)."""
LARGEST_FIX: Final = 12
"""The same for a commit that made something pass."""
MENTIONS_OF_SETTING: Final = 2
"""A configuration file that an agent opens: this often, with an edit among them."""
SHORTEST_STATEMENT: Final = 16
LONGEST_STATEMENT: Final = 400
"""Characters of an explicit statement."""

COMMAND_CUT: Final = 120
"""Characters of a command in a pattern."""
MESSAGE_CUT: Final = 140
"""Characters of a failure's message in a pattern."""

MOST_NEW: Final = 20
"""Candidates made at once, those seen in most sessions first; the others wait for the next receipts."""
COMMANDS_LOOKED_AT: Final = 500
RUNS_LOOKED_AT: Final = 80
COMMITS_LOOKED_AT: Final = 500
"""The newest receipts and commits that are looked at."""

TRIVIAL_COMMANDS: Final = frozenset((
    "ls", "ll", "la", "dir", "cd", "pwd", "echo", "printf", "cat", "head", "tail", "less", "more", "bat", "wc",
    "sort", "uniq", "cut", "tr", "tee", "which", "type", "whereis", "whoami", "id", "date", "true", "false", "test",
    "[", ":", "sleep", "clear", "history", "env", "printenv", "export", "set", "unset", "alias", "man", "help",
    "file", "stat", "du", "df", "ps", "top", "kill", "find", "fd", "grep", "rg", "ag", "sed", "awk", "tree",
    "touch", "mkdir", "rmdir", "rm", "cp", "mv", "ln", "chmod", "chown", "open", "xdg-open", "vi", "vim", "nano",
    "emacs", "code", "hostname", "uname", "basename", "dirname", "realpath", "readlink", "diff", "cmp", "xargs",
    "exit", "seq", "yes", "jobs", "fg", "bg", "wait", "source", ".", "hexdump", "xxd", "od", "nl", "column", "jq",
    "yq",
))  # fmt: skip
"""Words that only look around, or move files about: nothing is learned from them."""
TRIVIAL_VERBS: Final = {
    "git": frozenset((
        "status", "log", "diff", "show", "branch", "add", "commit", "checkout", "switch", "restore", "stash",
        "fetch", "pull", "push", "blame", "remote", "rev-parse", "ls-files", "ls-tree", "cat-file", "tag", "reflog",
        "config", "describe", "shortlog", "grep", "init", "clone", "merge", "rebase", "reset",
    )),
    "kl": frozenset((
        "run", "status", "doctor", "evidence", "claim", "context", "memory", "decision", "graph", "knowledge",
        "arch", "verify", "init",
    )),
    "pip": frozenset(("list", "show", "freeze")),
    "npm": frozenset(("ls", "list")),
    "docker": frozenset(("ps", "images", "logs")),
    "gh": frozenset(("pr", "issue", "run", "auth")),
}  # fmt: skip
"""The same, by the first argument."""
TRIVIAL_OPTIONS: Final = frozenset({"--version", "-V", "--help", "-h", "version", "help"})
"""A command with one of these as its only argument."""
INTERRUPTED: Final = frozenset({129, 130, 131, 137, 141, 143})
"""Exit codes of a command that somebody stopped: no failure of its own."""
GENERATED: Final = (
    "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "poetry.lock", "uv.lock", "Cargo.lock", "Gemfile.lock",
    "go.sum", "composer.lock", "Pipfile.lock", "CHANGELOG.md", "CHANGES.md", "CHANGELOG", "MEMORY.md", ".gitignore",
    "VERSION",
    "go.sum", "composer.lock", "Pipfile.lock", "CHANGELOG.md", "CHANGES.md", "CHANGELOG", "MEMORY.md", ".gitignore",
    "VERSION",
)  # fmt: skip
"""Names of files that are written often because a tool or a habit writes them."""
