"""What is proven about the tests of a content: the gate's question, asked in one way by everybody who asks it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache

from kl_hooks.evidence.claims import parents_of
from kl_hooks.evidence.gate import Proof, proof
from kl_hooks.evidence.ledger import Entry, of_tree
from kl_hooks.git.files import holds
from kl_hooks.git.repository import Repository
from kl_hooks.store.database import Database
from kl_hooks.workspace.open import Workspace


def proven(
    ws: Workspace, db: Database | None, trees: Sequence[str], committed: bool = False
) -> tuple[list[Entry], Proof]:
    """The receipts of a content (newest first), and what they prove.

    `trees`: its tree ids. `committed`: it is a tree in git, not the files as they are now.
    """
    entries = of_tree(db, trees) if db else []
    parents = parents_of(db, entries) if db else {}
    there = _there(ws.repo, trees[0] if committed else "") if ws.repo else lambda path: True
    return entries, proof(entries, parents, ws.settings.verified_requires, trees, there)


def _there(repo: Repository, tree: str) -> Callable[[str], bool]:
    """Whether a path is in this tree; without one: whether it is on disk."""

    @cache
    def there(path: str) -> bool:
        if tree:
            return holds(repo, tree, path)
        try:
            return os.path.lexists(repo.top / path)
        except ValueError:
            return True

    return there
