"""What to add to `.pre-commit-config.yaml`, and whether it can be appended without touching what is there. Pure."""

from __future__ import annotations

import re
from typing import Final

from kl_hooks.config.nodes import Listing, Mapping, Node, Text
from kl_hooks.config.yaml import load
from kl_hooks.shipped import form

CONFIG: Final = ".pre-commit-config.yaml"
STAGES: Final = "default_install_hook_types: [pre-commit, post-commit, pre-push]\n"


def snippet(indent: int = 0) -> str:
    """The entry of the list `repos` that runs our hooks with the installed `kl`, moved in by so many blanks."""
    return "".join(" " * indent + line for line in form("pre-commit.yaml").splitlines(keepends=True))


def mentions_kl(text: bytes) -> bool:
    """True if the configuration names one of our pre-commit hooks already."""
    return re.search(rb"\bkl-(init|check|check-push|record-commit|verify)\b", text) is not None


def addition(text: bytes) -> str | None:
    """What to append to a configuration so that it holds our entry; None where appending is not plainly right.

    Plainly right: the file is read without problems, `repos` is a block list and stands last, and the longer file
    reads as the old one with one repository more.
    """
    root, problems = load(CONFIG, text)
    if problems or not isinstance(root, Mapping) or not root.entries or b"\r" in text:
        return None
    last, repos = root.entries[-1]
    if last.value != "repos" or not isinstance(repos, Listing) or not repos.items or repos.line == last.line:
        return None
    added = ("" if text.endswith(b"\n") else "\n") + snippet(repos.column - 1)
    if "default_install_hook_types" not in {key.value for key, _ in root.entries}:
        added += STAGES
    return added if _is_old_plus_one(root, text + added.encode()) else None


def _is_old_plus_one(old: Mapping, text: bytes) -> bool:
    root, problems = load(CONFIG, text)
    if problems or not isinstance(root, Mapping):
        return False
    before, after = _plain(old), _plain(root)
    if not isinstance(before, dict) or not isinstance(after, dict):
        return False
    rest = {key: value for key, value in after.items() if key in before and key != "repos"}
    return rest == {k: v for k, v in before.items() if k != "repos"} and after["repos"][:-1] == before["repos"]


def _plain(node: Node) -> object:
    if isinstance(node, Text):
        return node.value
    if isinstance(node, Listing):
        return [_plain(item) for item in node.items]
    return {key.value: _plain(value) for key, value in node.entries}
