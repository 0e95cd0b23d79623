"""Which tools of agents look and which act, by the names that agents give them. Pure."""

from __future__ import annotations

import re
from typing import Final

LOOKING: Final = frozenset((
    "readfile", "grepfile", "getfilesummary", "searchcontent", "listfiles",
    "read", "grep", "glob", "ls", "notebookread", "listdir", "grepfiles", "searchfilecontent", "listdirectory", "view",
))  # fmt: skip
ACTING: Final = frozenset((
    "writefile", "patchfile", "deletefile", "write", "edit", "multiedit", "notebookedit", "applypatch", "replace",
    "strreplaceeditor", "createfile",
))  # fmt: skip
SHELLS: Final = frozenset((
    "shellrun", "shellrunscript", "bash", "shell", "localshell", "execcommand", "runshellcommand", "terminal",
))  # fmt: skip
LOOKS: Final = frozenset((
    "cat", "cd", "echo", "env", "fgrep", "egrep", "file", "find", "grep", "head", "jq", "less", "ls", "nl", "printf",
    "ps", "pwd", "rg", "sed", "sleep", "sort", "stat", "tail", "test", "tree", "true", "type", "uniq", "wc", "which",
    "[", "awk", "date", "diff", "cmp", "git status", "git diff", "git log", "git show", "git branch", "git blame",
    "git grep", "git ls-files", "git rev-parse", "git shortlog",
))  # fmt: skip
"""Commands that look: that they end well is no change, that they end badly is an answer and no pitfall."""
_SIGNS: Final = re.compile(r"[^a-z]")
_ASSIGNED: Final = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*=\S*\s+)+")


def role(tool: str) -> str:
    """`looking`, `acting` or `shell`; empty for a tool that leaves no finding. Case and `_`, `-` do not matter."""
    name = _SIGNS.sub("", tool.lower())
    for word, names in (("looking", LOOKING), ("acting", ACTING), ("shell", SHELLS)):
        if name in names:
            return word
    return ""


def only_looks(command: str) -> bool:
    """True for a command line each of whose commands only looks."""
    parts = [part.strip() for part in re.split(r"&&|\|\||[;|\n]", command)]
    return all(_looks(part) for part in parts if part)


def _looks(part: str) -> bool:
    words = _ASSIGNED.sub("", part + " ", count=1).split() if "=" in part.split(" ")[0] else part.split()
    return not words or words[0] in LOOKS or " ".join(words[:2]) in LOOKS
