"""Whoever writes rows redacts their texts himself, or names the module that did before.

A new module with an `INSERT` fails here until it does either. What the rows hold is tested where
secrets are planted in every input (tests/cli/test_planted_secrets.py, tests/cli/test_secrets.py).
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2] / "kl_hooks"
_WRITES: Final = re.compile(r"\s*(INSERT|UPDATE|REPLACE)\b")
_WORDS: Final = re.compile(r"INSERT|UPDATE|REPLACE|redaction")
_REDACTION: Final = ("kl_hooks.store.redaction", "kl_hooks.records.redaction")
NO_TEXT: Final = "numbers, hashes, IDs and names of small letters alone"
COPY: Final = "rows of another store, as they are there"

REDACTED_BEFORE: Final[dict[str, str | tuple[str, ...]]] = {
    "code/file_index.py": "code/file_facts.py",
    "code/linker.py": "code/file_facts.py",
    "code/name_index.py": "code/file_facts.py",
    "code/update.py": "code/file_facts.py",
    "context/recall.py": NO_TEXT,
    "documents/adding.py": "documents/indexing.py",
    "documents/collections.py": NO_TEXT,
    "documents/meaning.py": NO_TEXT,
    "evidence/compaction.py": COPY,
    "evidence/executed.py": "store/spool.py",
    "evidence/ledger.py": "store/spool.py",
    "graph/links.py": NO_TEXT,
    "index/history.py": "context/ranking.py",
    "index/index.py": ("records/sync.py", "arch/violation_index.py", "evidence/assertions.py"),
    "index/vectors.py": NO_TEXT,
    "index/postings.py": (
        "code/file_facts.py",
        "documents/indexing.py",
        "records/sync.py",
        "arch/violation_index.py",
        "evidence/assertions.py",
    ),
    "proof/audit.py": NO_TEXT,
    "records/repository.py": "records/write.py",
    "store/migration.py": COPY,
    "store/store.py": NO_TEXT,
    "tiers/named_store.py": ("tiers/contexts.py", "tiers/pools.py"),
    "tiers/router.py": "tiers/entries.py",
}
"""Module that writes → the modules through which its texts come, or what else its rows hold."""


def _writes_rows(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and _WRITES.match(node.value) is not None
        for node in ast.walk(tree)
    )


def _redacts(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.ImportFrom) and node.module in _REDACTION for node in ast.walk(tree)
    )


def test_no_module_writes_rows_whose_texts_nobody_redacted() -> None:
    sources = {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in ROOT.rglob("*.py")
    }
    # to parse and walk all files takes seconds; these words are in all that can matter
    trees = {name: ast.parse(text) for name, text in sources.items() if _WORDS.search(text)}
    writers = {name for name, tree in trees.items() if _writes_rows(tree)}
    redacting = {name for name, tree in trees.items() if _redacts(tree)}
    assert sorted(writers - redacting) == sorted(REDACTED_BEFORE)
    listed = (names if isinstance(names, tuple) else (names,) for names in REDACTED_BEFORE.values())
    before = {name for names in listed for name in names} - {NO_TEXT, COPY}
    assert sorted(before - redacting) == []
