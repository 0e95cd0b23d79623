"""Brings graph and index up to the work tree: what changed is replaced, what vanished goes, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kl_hooks.code import remembered
from kl_hooks.code.facts import keys, lost, modules_of, scan_missing, scanners_of, under
from kl_hooks.code.imports import Known, file_links
from kl_hooks.code.scan import Facts
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.graph import links
from kl_hooks.index import index
from kl_hooks.model.ids import split
from kl_hooks.model.problem import Problem
from kl_hooks.model.text import safe_text

if TYPE_CHECKING:
    from kl_hooks.git.files import Entry
    from kl_hooks.store.database import Database
    from kl_hooks.store.store import Store
    from kl_hooks.workspace.open import Workspace

_File = tuple[str, str, str]
"""(blob, scanner, module)"""


@dataclass(frozen=True, slots=True)
class Scan:
    """What catching up did."""

    files: int
    """Source files in the work tree, whether they could be read or not."""
    parsed: int
    """Contents that had never been read before."""
    removed: int
    """Files that the graph knew and that are gone."""
    problems: list[Problem] = field(default_factory=list)
    """Files whose content could not be understood, by path."""


def catch_up(ws: Workspace) -> Scan:
    """Makes the graph database say what the work tree holds; writes nothing if it does already.

    A file that does not parse keeps its row in `files`, with the error, and has no symbols; the others go on.
    EnvironmentProblem without git, or if the store can't be read or written.
    """
    from kl_hooks.git import files

    repo = ws.repo
    if repo is None:
        raise EnvironmentProblem("the code graph needs a git repository.", place=str(ws.root), hint="Run: git init")
    scanners = scanners_of(ws.plugins)
    suffixes = sorted({suffix for scanner in scanners for suffix in scanner.suffixes})
    entries, odd = _readable_names(files.worktree(repo, suffixes))
    wanted = keys(entries, scanners)
    before, errors, facts = _known(ws.store, wanted)
    if {path: file[:2] for path, file in before.items()} == wanted:
        return Scan(len(wanted), 0, 0, sorted([*odd, *_problems(errors)]))
    fresh = scan_missing(entries, wanted, facts, lambda some: files.read(repo, some), scanners)
    with ws.store.writing("graph") as db, db.transaction():
        removed = _write(db, wanted, facts, fresh)
        errors = _errors(db)
    return Scan(len(wanted), len(fresh), removed, sorted([*odd, *_problems(errors)]))


def _known(
    store: Store, wanted: Mapping[str, remembered.Key]
) -> tuple[dict[str, _File], dict[str, str], remembered.Known]:
    """What the graph knows: its files, their errors, and the facts of what is wanted.

    The facts of files that stay as they are come without symbols; nothing at all is loaded if every file does.
    """
    with store.reading("graph") as db:
        if db is None:
            return {}, {}, {}
        before = _files(db)
        stale = {key for path, key in wanted.items() if before.get(path, ("", ""))[:2] != key}
        same = not stale and before.keys() == wanted.keys()
        facts = {} if same else remembered.load(db, set(wanted.values()) - stale, symbols=False)
        return before, _errors(db), facts | remembered.load(db, stale)


def _write(
    db: Database, wanted: Mapping[str, remembered.Key], known: Mapping[remembered.Key, Facts],
    fresh: Mapping[remembered.Key, Facts],
) -> int:  # fmt: skip
    """Writes what differs from `wanted`; returns how many files are gone. Inside one transaction."""
    remembered.save(db, fresh)
    heads = {path: {**known, **fresh}.get(key) or lost() for path, key in wanted.items()}
    modules = modules_of(heads)
    before = _files(db)
    now = {path: (*key, modules.get(path, path)) for path, key in wanted.items()}
    gone = sorted(before.keys() - now.keys())
    changed = sorted(path for path, file in now.items() if before.get(path) != file)
    symbols = remembered.load(db, [wanted[path] for path in changed])
    named = {p: under(symbols.get(wanted[p]) or heads[p], modules.get(p, p)) for p in changed}
    _replace_files(db, gone, {path: (now[path], named[path]) for path in changed})
    moved = {p: f[2] for p, f in before.items()} != {p: f[2] for p, f in now.items()}
    targets = Known(modules)
    for path in gone:
        links.remove(db, path)
    for path in sorted(now) if moved else changed:  # a module came or went: anybody's import may lead elsewhere
        if path in modules:
            links.replace(db, path, file_links(path, heads[path]["imports"], targets))
    documents: dict[str, Sequence[index.Document]] = {path: _documents(path, named[path]) for path in changed}
    index.replace_many(db, {**dict.fromkeys(gone, ()), **documents})
    return len(gone)


def _replace_files(db: Database, gone: Iterable[str], changed: Mapping[str, tuple[_File, Facts]]) -> None:
    old = [(path,) for path in (*gone, *changed)]
    db.many("DELETE FROM files WHERE path = ?", old)
    db.many("DELETE FROM symbols WHERE path = ?", old)
    rows = [(path, *file, facts["error"]) for path, (file, facts) in changed.items()]
    db.many("INSERT INTO files (path, blob, scanner, module, error) VALUES (?, ?, ?, ?, ?)", rows)
    symbols = [(row[0], path, *row[1:]) for path, (_, facts) in changed.items() for row in facts["symbols"]]
    columns = "id, path, line, end_line, signature, doc, content_hash"
    db.many(f"INSERT INTO symbols ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", symbols)


def _documents(path: str, facts: Facts) -> list[index.Document]:
    return [
        index.Document(identifier, split(identifier)[0], path, line, signature, f"{doc} {words}")
        for (identifier, line, _, signature, doc, _), words in zip(facts["symbols"], facts["words"], strict=True)
    ]


def _files(db: Database) -> dict[str, _File]:
    return {path: (blob, scanner, module) for path, blob, scanner, module in db.rows(
        "SELECT path, blob, scanner, module FROM files"
    )}  # fmt: skip


def _errors(db: Database) -> dict[str, str]:
    return dict(db.rows("SELECT path, error FROM files WHERE error <> ''"))


def _problems(errors: Mapping[str, str]) -> list[Problem]:
    return [problem(path, error) for path, error in errors.items()]


def problem(path: str, error: str) -> Problem:
    """The error of a file's facts, "line:column: reason", as a Problem."""
    line, column, reason = error.split(":", 2)
    return Problem(path, int(line), int(column), f"{reason.strip().rstrip('.')}.", "It is not in the graph.")


def _readable_names(entries: Sequence[Entry]) -> tuple[list[Entry], list[Problem]]:
    """Without the files whose names are not UTF-8: no Id and no row could hold them. They are reported."""
    good: list[Entry] = []
    odd: list[Problem] = []
    for entry in entries:
        if entry.path.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in entry.path):
            good.append(entry)
        else:
            odd.append(Problem(safe_text(entry.path), 0, 0, "its name is not UTF-8.", "It is not in the graph."))
    return good, odd
