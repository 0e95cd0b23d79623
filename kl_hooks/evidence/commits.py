"""Commits as evidence: read from git since the last time, and retained when git forgets them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.clock import iso
from kl_hooks.evidence.ledger import append
from kl_hooks.evidence.provenance import producer
from kl_hooks.git.repository import git_in, head
from kl_hooks.model.canonical import digest
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import Evidence, Receipt
from kl_hooks.model.symbol import make_id
from kl_hooks.store.database import Database, Row, placeholders
from kl_hooks.workspace import Workspace

if TYPE_CHECKING:
    from kl_hooks.git.commits import Commit

_FIRST_READ: Final = 2000
"""Commits that are read the first time, newest first; older ones matter little for today's code."""
CURSOR: Final = "commits"
_CHECKED: Final = 100
"""Newest commits that are looked at for a check of their layers."""
COLUMNS: Final = "sha, tree, parents, at, author, subject, body, files, trailers"
_LOGGED: Final = (
    "SELECT sha, at, subject, body, files, tree, author, receipt, parents FROM commit_log"
)


class NewCommits(NamedTuple):
    """Commits since the last reading, and the head they were read from."""

    head: str
    branch: str | None
    producer: str
    """Of their receipt."""
    read_at: str
    """ISO 8601."""
    rows: tuple[Row, ...]
    """Of the log (`COLUMNS`), redacted, newest first."""


class LoggedCommit(NamedTuple):
    """A commit in the log."""

    sha: str
    at: str
    subject: str
    body: str
    files: tuple[str, ...]
    tree: str = ""
    author: str = ""
    receipt: str = ""
    """The receipt that names it."""
    parents: tuple[str, ...] = ()


def read_cursor(db: Database, name: str) -> str | None:
    """How far something outside has been read, by name; None: not yet."""
    row = db.row("SELECT value FROM evidence_cursor WHERE name = ?", (name,))
    if not row:
        return None
    return str(row[0])


def write_cursor(db: Database, name: str, value: str) -> None:
    """Record how far something was read, in a transaction of the caller."""
    db.execute("DELETE FROM evidence_cursor WHERE name = ?", (name,))
    db.execute("INSERT INTO evidence_cursor (name, value) VALUES (?, ?)", (name, value))


def unlogged_commits(
    ws: Workspace, db: Database | None, head_now: str | None = None
) -> NewCommits | None:
    """The commits since the last reading; None where HEAD has not moved since. GitFailed."""
    if ws.repo is None:
        return None
    sha = head_now or head(ws.repo)[0]
    last = read_cursor(db, CURSOR) if db else None
    if sha is None or sha == last:
        return None
    # imported here: nearly every call ends above, where HEAD has not moved
    from kl_hooks.git.commits import commits_since
    from kl_hooks.store.redaction import redact

    commits = commits_since(ws.repo, [last] if last else [], _FIRST_READ)
    branch = head(ws.repo)[1]
    return NewCommits(
        sha,
        redact(branch) if branch else branch,
        redact(producer(ws.environ)),
        iso(ws.clock.now()),
        tuple(map(_row, commits)),
    )


def add_commits(db: Database, new: NewCommits) -> int:
    """Log the commits that are not in the log yet, with one receipt that names them, in a
    transaction of the caller.

    The cursor moves on. How many receipts are new: 0 or 1.
    """
    # also what another process logged while we waited for the lock
    logged = {row[0] for row in db.rows("SELECT sha FROM commit_log")}
    rows = [row for row in new.rows if row[0] not in logged]
    if rows:
        receipt = _receipt_of_commits(new, rows)
    else:
        receipt = None
    db.many(
        f"INSERT INTO commit_log ({COLUMNS}, receipt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(*row, receipt.id if receipt else "") for row in rows],
    )
    write_cursor(db, CURSOR, new.head)
    if not receipt:
        return 0
    return append(db, [receipt])


def _receipt_of_commits(new: NewCommits, rows: Sequence[Row]) -> Receipt:
    """One receipt that names these commits; the same commits read twice give one run ID."""
    facts = tuple(
        Evidence(
            "GitHistory",
            make_id("commit", sha),
            "committed",
            0,
            None,
            {"tree": tree, "parents": parents.split(), "time": time},
        )
        for sha, tree, parents, time, *_ in rows
    )
    tree = rows[0][1]
    return Receipt(
        run=digest("commits/1", [row[0] for row in rows])[:32],
        source="commits",
        observer="git",
        producer=new.producer,
        evidence=facts,
        started=new.read_at,
        ended=new.read_at,
        tree=tree,
        tree_end=tree,
        head=new.head,
        branch=new.branch,
        selection={"args": [], "collected": len(facts), "deselected": 0, "ran": len(facts)},
        result={
            "exit": 0,
            "complete": True,
            "how": "finished",
            "verdict": "passed",
            "reasons": [],
            "counts": {"committed": len(facts)},
            "log": _digest(rows),
        },
    )


def _row(commit: Commit) -> Row:
    from kl_hooks.store.redaction import redact

    return (
        commit.sha,
        commit.tree,
        " ".join(commit.parents),
        commit.time,
        redact(commit.author),
        redact(commit.subject),
        redact(commit.body),
        json.dumps([redact(path) for path in commit.files]),
        json.dumps([[redact(key), redact(value)] for key, value in commit.trailers]),
    )


def log_digest(db: Database, receipt: str) -> str:
    """Digest of the rows of the log that this receipt names: it has the same, unless somebody
    edited the log.
    """
    return _digest(db.rows(f"SELECT {COLUMNS} FROM commit_log WHERE receipt = ?", (receipt,)))


def _digest(rows: Iterable[Row]) -> str:
    return digest("commit-log/1", sorted(list(row) for row in rows))


def _logged(row: Row) -> LoggedCommit:
    sha, logged_at, subject, body, files, tree, author, receipt, parents = row
    return LoggedCommit(
        sha,
        logged_at,
        subject,
        body,
        tuple(json.loads(files)),
        tree,
        author,
        receipt,
        tuple(parents.split()),
    )


def newest_commits(db: Database, limit: int) -> Sequence[LoggedCommit]:
    """The newest commits of the log, newest first."""
    return [_logged(row) for row in db.rows(f"{_LOGGED} ORDER BY at DESC, sha LIMIT ?", (limit,))]


def commits_by_sha(db: Database, shas: Sequence[str]) -> dict[str, LoggedCommit]:
    """Those of these commits that are in the log, by hash."""
    if shas:
        rows = db.rows(f"{_LOGGED} WHERE sha IN ({placeholders(shas)})", tuple(shas))
    else:
        rows = []
    return {row[0]: _logged(row) for row in rows}


def commits_without_check(ws: Workspace, db: Database) -> list[str]:
    """Return the commits of HEAD without a check of their layers here, newest first.

    Of those that are on no branch of a remote, and newer than one that was checked: a hook was
    skipped, or git ran none (rebase, `--no-verify`).
    """
    if ws.repo is None:
        return []
    options = (f"--max-count={_CHECKED}", "--no-merges", "HEAD")
    # 128: there is no commit yet
    log = git_in(ws.repo, "log", "--format=%H %T", *options, ok=(0, 128))
    rows = [line.split() for line in log.decode().splitlines()]
    trees = tuple({tree for _, tree in rows})
    sql = f"SELECT tree FROM receipt WHERE source = 'arch' AND tree IN ({placeholders(trees)})"
    if trees:
        checked = {tree for (tree,) in db.rows(sql, trees)}
    else:
        checked = set()
    # older ones are from before the hook; where none was checked, no hook does it
    newer = rows[: max((at for at, (_, tree) in enumerate(rows) if tree in checked), default=0)]
    unchecked = [sha for sha, tree in newer if tree not in checked]
    if not unchecked:
        return []
    here = set(git_in(ws.repo, "rev-list", *options, "--not", "--remotes").decode().split())
    return [sha for sha in unchecked if sha in here]
