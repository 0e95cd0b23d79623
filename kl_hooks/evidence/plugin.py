"""The hooks of `evidence`: its tables, the readers of evidence files, and what it offers to a task
and to upkeep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kl_hooks.hookspecs import (
    CommonEvent,
    Policy,
    Retriever,
    Schema,
    Source,
    Uninstaller,
    hookimpl,
    schema_hook,
)

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

# A step that has landed is never edited, its comments included: two of them name
# `evidence/columns.py`, whose functions are in `ledger.py` today.
_STEP_1: Final = """
CREATE TABLE receipt (
    -- One capture. A row is written once and never updated.
    seq INTEGER PRIMARY KEY,          -- its place in the chain of this store, from 1, without gaps
    id TEXT NOT NULL UNIQUE,          -- sha256 of the canonical header
    run TEXT NOT NULL,                -- random id of the capture
    parent TEXT,                      -- the run that started this one
    source TEXT NOT NULL,             -- pytest, command, commits, junit, arch
    tree TEXT,                        -- tracked files as they were on disk
    tree_all TEXT,                    -- the same with untracked, not ignored files
    ended TEXT NOT NULL,              -- ISO 8601, UTC
    header TEXT NOT NULL,             -- canonical JSON, everything but the evidence
    chain TEXT NOT NULL,              -- sha256 over the previous row's chain and this id
    origin TEXT NOT NULL,             -- local, imported, or the fallback place its spool rested in
    test_list INTEGER,                -- which tests the column below speaks of; null: none
    outcomes BLOB                     -- compressed outcomes and durations of these tests, see evidence/columns.py
);
CREATE INDEX receipt_run ON receipt (run);
CREATE INDEX receipt_parent ON receipt (parent);
CREATE INDEX receipt_tree ON receipt (tree);
CREATE INDEX receipt_tree_all ON receipt (tree_all);
CREATE TABLE evidence (
    -- Evidence that is not a plain test outcome, and test outcomes that carry details.
    receipt INTEGER NOT NULL,         -- receipt.seq
    position INTEGER NOT NULL,        -- its place in the receipt's evidence, from 0
    subject TEXT NOT NULL,            -- the Id it speaks about
    body TEXT NOT NULL,               -- canonical JSON of the whole of it
    PRIMARY KEY (receipt, position)
);
CREATE INDEX evidence_subject ON evidence (subject);
CREATE TABLE test (
    -- Every test ever seen, once.
    id INTEGER PRIMARY KEY,
    nodeid TEXT NOT NULL UNIQUE
);
CREATE TABLE test_list (
    -- A set of tests that a run had, shared by all runs with the same set.
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,      -- sha256 over the node ids
    tests BLOB NOT NULL               -- compressed ids into test, see evidence/columns.py
);
CREATE TABLE commit_log (
    -- Commits as git told them when they were read; they stay when git forgets them.
    sha TEXT PRIMARY KEY,
    tree TEXT NOT NULL,
    parents TEXT NOT NULL,            -- separated by spaces
    at TEXT NOT NULL,                 -- author time, ISO 8601
    author TEXT NOT NULL,
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    files TEXT NOT NULL,              -- JSON list of paths, at most 500
    trailers TEXT NOT NULL,           -- JSON list of [key, value]
    receipt TEXT NOT NULL             -- the receipt that names it
);
CREATE INDEX commit_log_at ON commit_log (at);
CREATE TABLE claim (
    -- Claims that somebody asserted. Those that follow from evidence are computed.
    id TEXT PRIMARY KEY,
    text TEXT NOT NULL,
    about TEXT NOT NULL,
    author TEXT NOT NULL,
    made_at TEXT NOT NULL,
    expires TEXT                      -- ISO 8601; null: never
);
CREATE INDEX claim_about ON claim (about);
CREATE TABLE evidence_cursor (
    -- How far something outside has been read, by name.
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
"""

_STEP_2: Final = """
ALTER TABLE receipt ADD COLUMN
    -- When upkeep took the evidence of this run out, ISO 8601: its header, with the digest, stays. Null: it is whole.
    folded TEXT;
CREATE TABLE claim_archive (
    -- Asserted claims that are over: upkeep moves them here, and nothing takes them out again.
    id TEXT NOT NULL,
    text TEXT NOT NULL,
    about TEXT NOT NULL,
    author TEXT NOT NULL,
    made_at TEXT NOT NULL,
    expires TEXT,
    archived_at TEXT NOT NULL,        -- ISO 8601
    PRIMARY KEY (id, made_at)
);
"""

SCHEMA: Final = Schema(
    owner="evidence",
    database="kl",
    steps=(_STEP_1, _STEP_2),
    private=("evidence_cursor",),
    append_only=("receipt", "evidence", "test", "test_list", "commit_log"),
)

_EXECUTED: Final = """
CREATE TABLE executed_symbol (
    -- Every symbol that a recorded test ever executed, once.
    id INTEGER PRIMARY KEY,
    symbol TEXT NOT NULL UNIQUE
);
CREATE TABLE executed_part (
    -- What runs have in common, each once: see evidence/executed.py.
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,      -- sha256 of the body before it was compressed
    body BLOB NOT NULL                -- compressed JSON, its first item: file, tests, opened, incomplete, run
);
CREATE TABLE executed_in (
    -- Which parts name a symbol.
    symbol INTEGER NOT NULL,          -- executed_symbol.id
    part INTEGER NOT NULL,            -- executed_part.id
    PRIMARY KEY (symbol, part)
) WITHOUT ROWID;
CREATE INDEX executed_in_part ON executed_in (part);
CREATE TABLE executed_run (
    -- A run of which executed symbols are known.
    run TEXT PRIMARY KEY,             -- receipt.run
    recorder TEXT NOT NULL,           -- sys.monitoring, sys.setprofile, coverage
    part INTEGER NOT NULL             -- executed_part.id of the list of its parts
) WITHOUT ROWID;
"""
EXECUTED: Final = Schema(
    owner="executed",
    database="kl",
    steps=(_EXECUTED,),
    append_only=("executed_symbol", "executed_part", "executed_in", "executed_run"),
)


_RECALL: Final = """
CREATE TABLE package_recall (
    -- A context package and a commit that names it, compared once (context/recall.py).
    sha TEXT NOT NULL,
    package TEXT NOT NULL,            -- cp-…
    body TEXT NOT NULL,               -- JSON: touched files, the missing ones, symbols, retrievers
    PRIMARY KEY (sha, package)
);
"""
# here and below, not in `context` and `proof`: every command that opens the database would run one
# file more
_RECALL_SCHEMA: Final = Schema(owner="recall", database="kl", steps=(_RECALL,))

_AUDIT: Final = """
CREATE TABLE run_audit (
    -- A run whose results were compared with what earlier runs said of them, once (proof/audit.py).
    run TEXT PRIMARY KEY,             -- receipt.run
    body TEXT NOT NULL                -- JSON: tests that were checked, and each disagreement
);
"""
_AUDIT_SCHEMA: Final = Schema(owner="audit", database="kl", steps=(_AUDIT,), private=("run_audit",))


kl_schema = schema_hook(SCHEMA, EXECUTED, _RECALL_SCHEMA, _AUDIT_SCHEMA)


@hookimpl
def kl_common_events(workspace: Workspace) -> list[CommonEvent]:
    from kl_hooks.evidence.assertions import claims_to_share

    return claims_to_share(workspace)


@hookimpl
def kl_sources() -> list[Source]:
    # imported here and below: every command loads this module, and few need one of these
    from kl_hooks.evidence.sources.junit import read_junit
    from kl_hooks.evidence.sources.receipts import read_lines

    return [Source("junit", read_junit), Source("receipts", read_lines)]


@hookimpl
def kl_retrievers() -> list[Retriever]:
    from kl_hooks.evidence.search import find_commits

    return [Retriever("commits", 100, find_commits, rows=4)]


@hookimpl
def kl_policies() -> list[Policy]:
    from kl_hooks.evidence.compaction import POLICIES

    return list(POLICIES)


@hookimpl
def kl_uninstallers() -> list[Uninstaller]:
    from kl_hooks.evidence.high_water import remove_second_mark

    return [Uninstaller("mark of receipts", remove_second_mark)]
