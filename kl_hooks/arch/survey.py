"""Reads the imports of one content of the repository: modules, links, and what could not be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kl_hooks.arch.source import Content
from kl_hooks.code.annotations import only_in_annotations
from kl_hooks.code.facts import facts_of, scanners_of
from kl_hooks.code.imports import Known, file_links, import_links
from kl_hooks.code.modules import imported_names, module_names
from kl_hooks.model.problem import Problem
from kl_hooks.model.symbol import Link
from kl_hooks.workspace.open import Workspace


@dataclass(frozen=True, slots=True)
class Survey:
    """What the source says about who imports what."""

    facts: Mapping[str, dict[str, Any]]
    """Path → facts of the Python files that could be had."""
    modules: Mapping[str, str]
    """Path → dotted name of every Python file."""
    links: tuple[Link, ...]
    unread: tuple[Problem, ...]
    """Files that could not be read, each with its place and reason."""
    content: Content
    notes: tuple[str, ...] = ()
    """What went slower than it should have."""

    def statement(self, link: Link) -> str:
        """The import statement behind a link."""
        known = Known(self.modules)
        for row in self.facts.get(link.path, {}).get("imports", ()):
            if row[3] == link.line and any(one.target == link.target for one in file_links(link.path, [row], known)):
                return str(row[5])
        return ""

    def annotation_only(self, link: Link) -> bool:
        """True if nothing but annotations needs this import."""
        entries = [entry for entry in self.content.entries if entry.path == link.path]
        return any(only_in_annotations(source, link.line) for _, source in self.content.read(entries))


def survey(ws: Workspace, content: Content) -> Survey:
    """Reads the imports of `content`. The store only makes it faster: trouble with it is a note."""
    python = [entry for entry in content.entries if entry.path.endswith(".py")]
    notes: list[str] = []
    store = ws.store if ws.initialised else None  # a look at a repository without .kl/ leaves nothing
    facts = facts_of(store, python, content.read, scanners_of(ws.plugins), symbols=False, warn=notes.append)
    modules = module_names([entry.path for entry in content.entries], imported_names(facts))
    unread = [_unread(path, one["error"]) for path, one in facts.items() if one["error"]]
    return Survey(facts, modules, tuple(import_links(facts, modules)), tuple(sorted(unread)), content, tuple(notes))


def _unread(path: str, error: str) -> Problem:
    """`line:column: reason` of the facts as a problem."""
    line, column, reason = error.split(":", 2)
    return Problem(path, int(line), int(column), f"can't be parsed: {reason.strip()}.")
