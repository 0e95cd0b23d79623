"""Related code: what the graph and recorded tests add to the code that the retrievers found.

What a range of commits changes, with its callers and tests; pinned symbols and files, the frames of
a pasted traceback or pytest report, the code that a failing test calls, the neighbors of the
nearest symbols (weight `high`); and of the nearest code its body and what recorded tests show of
it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kl_hooks.code.query.lookup import select_symbols, symbols_by_id, symbols_in_file
from kl_hooks.context.gather import NEIGHBORS, SEEDS, Gathered, code_of, near_code
from kl_hooks.context.page import qualname
from kl_hooks.context.ranking import file_here
from kl_hooks.errors import KlError, UsageProblem
from kl_hooks.evidence.assertions import known_assertions
from kl_hooks.evidence.claims import claims_about
from kl_hooks.git.repository import git_in
from kl_hooks.graph import links
from kl_hooks.model.claim import OLDER_TREE, REFUTED, Claim, Tier
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.package import CODE, Candidate, Task, symbol_candidate
from kl_hooks.model.request import BRIEF, Request
from kl_hooks.model.symbol import (
    dotted_name,
    is_test_path,
    language_of,
    record_node,
    split_id,
)
from kl_hooks.model.text import counted, name_list, one_line
from kl_hooks.proof.freshness import assess
from kl_hooks.proof.measured import coverage_words
from kl_hooks.proof.symbol_tests import results, tests_calling, tests_executing
from kl_hooks.records.citations import ended_citations
from kl_hooks.records.liveness import live_records

if TYPE_CHECKING:
    from pathlib import Path

    from kl_hooks.context.policy import Policy
    from kl_hooks.git.repository import Repository
    from kl_hooks.hookspecs import Scanner
    from kl_hooks.model.symbol import Symbol
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

_WITH_BODY: Final = 2
_BODY_LINES: Final = 40
_SUSPECTS: Final = 5
"""Failing tests of which is looked up what changed since they passed, and most symbols that are
shown for that.
"""
_NAMED: Final = 3
_WITH_TESTS: Final = 6
"""Nearest symbols, and half as many nearest files, of which recorded tests are counted."""
_NEIGHBORS: Final = 15
_NEIGHBOR_RELATIONS: Final = ("defines", "implements", "inherits", "references", "calls")
"""A5's relations, both ways: not imports, not what governs."""
_CHANGED_FILES: Final = 300
_USERS: Final = 15
"""Symbols that use what a range changes, and tests of it, that are offered."""
_USES: Final = ("calls", "references", "inherits", "implements")
_SUBJECTS: Final = 20
_HUNK: Final = lazy_pattern(r"(?m)^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_BLOBS: Final = lazy_pattern(r"(?m)^index ([0-9a-f]{40,64})\.\.([0-9a-f]{40,64})")
_FRAME_REASON: Final = "a frame of the traceback in the task"


_FILTER_KEYS: Final = ("kind", "status", "tag", "module")
_OTHER_KINDS: Final = ("code", *CODE, "claim", "commit", "failing test", "page", "violation")
_MOST_MATCHING: Final = 50
_Filters = Mapping[str, tuple[str, ...]]
"""Key → its values: one of them is enough, and every key must match."""


class Changes(NamedTuple):
    """What a range of commits changes."""

    span: str
    """As it was asked for."""
    paths: tuple[str, ...]
    names: tuple[str, ...]
    """`path:qualified.name` of the functions, methods and classes that hold a changed line, by path
    and line.
    """
    subjects: str
    """The first lines of its commits' messages, the newest first."""

    @property
    def text(self) -> str:
        """What is searched for where there is no task: the subjects, or the names of what is
        changed.
        """
        return self.subjects or " ".join(
            dict.fromkeys(name.rpartition(":")[2] for name in self.names)
        )


def find_changes(ws: Workspace, span: str) -> Changes:
    """Return what `A...B`, `A..B` or `A` (up to the files on disk) changes. UsageProblem for what
    is no commit.
    """
    from kl_hooks.arch.content import WORKTREE, changed_range, require_repository
    from kl_hooks.code.languages import is_source, scanners_of

    repo = require_repository(ws)
    span_range = changed_range(ws, span)
    ends = [span_range.before, *([] if span_range.source == WORKTREE else [span_range.source])]
    out = git_in(
        repo,
        "-c",
        "core.quotePath=false",
        "diff",
        "-U0",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--no-renames",
        "--full-index",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        *ends,
        "--",
    ).decode("utf-8", "replace")
    paths: dict[str, None] = {}
    names: list[str] = []
    scanners = scanners_of(ws)
    for part in re.split(r"(?m)^diff --git ", out)[1 : _CHANGED_FILES + 1]:
        # a path is the same on both sides (--no-renames): the half of `a/PATH b/PATH`
        head = part.partition("\n")[0].strip('"')
        path = head[len(head) // 2 + 3 :]
        paths[path] = None
        if is_source(path):
            hunks = [[int(number or 1) for number in hunk] for hunk in _HUNK.findall(part)]
            names += _symbols_at(repo, ws.root / path, path, _BLOBS.search(part), hunks, scanners)
    if span_range.source == WORKTREE:
        last = "HEAD"
    else:
        last = span_range.source
    log = (
        "log",
        "--no-merges",
        "--no-show-signature",
        "--no-color",
        f"--max-count={_SUBJECTS}",
        "--format=%s",
    )
    subjects = (
        git_in(repo, *log, f"{span_range.before}..{last}", "--").decode("utf-8", "replace").strip()
    )
    # of the working tree, not added to the index yet
    new = sorted(path for path in span_range.paths if path not in paths)
    return Changes(span, (*paths, *new), tuple(dict.fromkeys(names)), subjects)


def _symbols_at(
    repo: Repository,
    file: Path,
    path: str,
    blobs: re.Match[str] | None,
    hunks: Sequence[Sequence[int]],
    scanners: Sequence[Scanner],
) -> list[str]:
    """Return the innermost symbols that hold a changed line, before or after."""
    from kl_hooks.code.languages import scan_file
    from kl_hooks.git.objects import read_blobs

    if not blobs:
        return []
    texts = list(read_blobs(repo, blobs.groups()))
    if (
        texts[1] is None and blobs[2].strip("0") and file.is_file()
    ):  # git has no object of what was not added yet
        texts[1] = file.read_bytes()
    line_of_symbol: dict[str, int] = {}
    for side in (1, 0):  # as it is now comes first
        facts = scan_file(path, texts[side] or b"", "m", scanners)
        rows = [
            row
            for row in (facts["symbols"] if facts else ())
            if not row[0].startswith(("namespace:", "field:", "test:"))
        ]
        for hunk in hunks:
            first, count = hunk[2 * side : 2 * side + 2]
            for line in range(first, first + count):
                around = [(row[1], row[0]) for row in rows if row[1] <= line <= row[2]]
                if around:
                    name = dotted_name(max(around)[1]).partition(".")[2]
                else:
                    name = ""
                if name:
                    line_of_symbol.setdefault(f"{path}:{name}", line)
    return sorted(line_of_symbol, key=lambda name: line_of_symbol[name])


def _changed_code(db: Database, changes: Changes) -> Iterator[Candidate]:
    """Yield the files and symbols that a range changes, then what uses these, then their tests."""
    symbols_of_path = {path: symbols_in_file(db, path) for path in changes.paths}
    reason = f"changed in {changes.span}"
    ids: dict[str, None] = {}
    for name in changes.names:
        path, _, own = name.rpartition(":")
        for symbol in symbols_of_path.get(path, ()):
            if (
                dotted_name(symbol.id).endswith(f".{own}")
                and qualname(symbol_candidate(symbol, "")) == own
            ):
                ids[symbol.id] = None
                yield symbol_candidate(symbol, reason)
    for path, inside in symbols_of_path.items():
        if inside or db.rows("SELECT 1 FROM files WHERE path = ?", (path,)):
            yield Candidate(f"file:{path}", "file", path, "", "", path, reasons=(reason,))
    users: dict[str, str] = {}
    for changed, symbol_links in links.of_many(db, list(ids), incoming=True).items():
        for link in symbol_links:
            if link.relation in _USES and link.source not in ids:
                users.setdefault(link.source, changed)
    symbols = symbols_by_id(db, users)
    callers = [name for name in users if name in symbols and not is_test_path(symbols[name].path)]
    for name in callers[:_USERS]:
        yield symbol_candidate(symbols[name], f"uses {split_id(users[name])[1]}, {reason}")
    tests = {
        test: name
        for name, calling_tests in tests_calling(db, list(ids)).items()
        for test in sorted(calling_tests)
    }
    shown_tests = list(tests)[:_USERS]
    test_by_id = symbols_by_id(db, shown_tests)
    for test in shown_tests:
        path, _, own = test.removeprefix("test:").partition("::")
        functions = [
            symbol
            for symbol in symbols_in_file(db, path)
            if dotted_name(symbol.id).endswith("." + own.replace("::", "."))
        ]
        # a test of vitest and the like has no function with a name
        for symbol in functions or filter(None, [test_by_id.get(test)]):
            yield symbol_candidate(symbol, f"a test of {split_id(tests[test])[1]}, {reason}")


def _changed_records(ws: Workspace, changes: Changes) -> Iterator[Candidate]:
    """Yield the records whose files a range changes."""
    from kl_hooks.records.query import RecordFilter, list_records
    from kl_hooks.records.repository import KNOWLEDGE_FOLDER
    from kl_hooks.records.retrieval import current_candidates

    if any(path.startswith(KNOWLEDGE_FOLDER) for path in changes.paths):
        changed = [
            record for record in list_records(ws, RecordFilter()) if record.path in changes.paths
        ]
        for candidate in current_candidates(ws, live_records(ws, changed), len(changed)):
            yield candidate._replace(
                is_lasting=True,
                reasons=(*candidate.reasons, f"changed in {changes.span}"),
            )


def add_related(
    ws: Workspace,
    request: Request,
    task: Task,
    gathered: Gathered,
    clean: Callable[..., str],
    policy: Policy | None = None,
    changes: Changes | None = None,
) -> Gathered:
    """Return what was gathered, with related code, bodies and test results. UsageProblem for a pin
    that names nothing.

    `clean` redacts; what `policy` hides gets no body. Without a graph nothing is added; a graph
    that can't be read lowers the coverage.
    """
    coverage = dict(gathered.coverage)
    lists = _within_scope(ws, gathered.lists, request.scope)
    try:
        with ws.store.reading("graph") as db:
            if db is not None:
                lists = _with_related_code(ws, db, request, task, lists, changes)
                lists = _with_suspects(ws, db, lists, policy)
                lists = _with_text(ws, db, request, task, lists, clean, policy)
            elif request.pins:
                lists["pins"] = tuple(_pinned(ws, None, request.pins))
        if changes:
            lists["changed records"] = tuple(_changed_records(ws, changes))
        if request.filters:
            lists, coverage["filter"] = _filtered(ws, request, lists)
        lists = _with_ended_citations(ws, _with_claims(ws, lists, policy))
    except UsageProblem:
        # a pin that names nothing is a usage error; a graph that can't be read only lowers coverage
        raise
    except (KlError, OSError) as problem:
        coverage["related code"] = f"failed: {one_line(str(problem), 160)}"
    return replace(gathered, lists=lists, coverage=dict(sorted(coverage.items())))


def _within_scope(
    ws: Workspace, lists: Mapping[str, tuple[Candidate, ...]], scope: Sequence[str]
) -> dict[str, tuple[Candidate, ...]]:
    """The lists without code outside these folders. UsageProblem for a path that is not there."""
    for scope_path in scope:
        if not ws.exists(scope_path):
            raise UsageProblem(
                f"{scope_path!r} is no file or folder here.",
                place="--scope",
                hint="Give a path from the repository's root.",
            )
    if not scope:
        return dict(lists)
    return {
        name: tuple(row for row in rows if _in_scope(row, scope)) for name, rows in lists.items()
    }


def _with_related_code(
    ws: Workspace,
    db: Database,
    request: Request,
    task: Task,
    gathered: Mapping[str, tuple[Candidate, ...]],
    changes: Changes | None,
) -> dict[str, tuple[Candidate, ...]]:
    """The lists with pins, frames, changed code and neighbors; those of them that are not empty."""
    lists = dict(gathered)
    lists["pins"] = (*_pinned(ws, db, request.pins), *_named_files(db, task))
    lists["code"] = tuple(_with_frames(db, task, lists.get("code", ()), lists.pop("executed", ())))
    if changes:
        lists["changed code"] = tuple(_changed_code(db, changes))
    if request.weight == "high":
        lists[NEIGHBORS] = tuple(_neighbors(db, lists))
    return {name: rows for name, rows in lists.items() if rows or name in gathered}


def _with_text(
    ws: Workspace,
    db: Database,
    request: Request,
    task: Task,
    lists: dict[str, tuple[Candidate, ...]],
    clean: Callable[..., str],
    policy: Policy | None,
) -> dict[str, tuple[Candidate, ...]]:
    """The lists with what a brief states of its code, or else with bodies."""
    if request.profile != BRIEF:
        return _described(ws, db, lists, clean, policy)
    from kl_hooks.context.brief import with_facts

    shows = policy.shows if policy else bool
    code, _ = near_code(code_of(lists))
    return with_facts(ws, db, lists, code, task.signals.symbols, shows, clean)


def _filtered(
    ws: Workspace, request: Request, lists: Mapping[str, tuple[Candidate, ...]]
) -> tuple[dict[str, tuple[Candidate, ...]], str]:
    """The lists with only what the filters of the request match, and the coverage of that."""
    filters = _read_filters(request.filters, ws.kinds)
    exact = tuple(_matching_records(ws, filters))
    matching = _keep_matching(lists, filters, exact)
    if not exact:
        return matching, "empty"
    return {**matching, "filter": exact}, "ok"


def _in_scope(row: Candidate, scope: Sequence[str]) -> bool:
    if row.kind not in (*CODE, "page", "violation", "failing test"):
        return True
    folders = [path.removeprefix("./").rstrip("/") for path in scope]
    return any(
        folder in ("", ".", row.path) or row.path.startswith(f"{folder}/") for folder in folders
    )


def _read_filters(texts: Sequence[str], kinds: Mapping[str, object]) -> _Filters:
    """Parse `tag=money`, `kind=decision`. UsageProblem for an unknown key or kind."""
    values_of_key: dict[str, tuple[str, ...]] = {}
    for text in texts:
        key, _, value = (part.strip() for part in text.partition("="))
        if key not in _FILTER_KEYS or not value:
            hint = f"Give KEY=VALUE with one of: {', '.join(_FILTER_KEYS)}. Such as tag=money."
            raise UsageProblem(f"{text[:60]!r} is no filter.", place="--filter", hint=hint)
        if key == "kind" and value not in kinds and value not in _OTHER_KINDS:
            kind_names = ", ".join([*_OTHER_KINDS, *kinds])
            raise UsageProblem(
                f"there is no kind {value[:60]!r}.", place="--filter", hint=f"Kinds: {kind_names}."
            )
        values_of_key[key] = (*values_of_key.get(key, ()), value)
    return values_of_key


def _matching_records(ws: Workspace, filters: _Filters) -> list[Candidate]:
    """Return the records in force that match kind, status and tag, whatever their words are; none
    without these.
    """
    from kl_hooks.records.query import RecordFilter, list_records
    from kl_hooks.records.retrieval import current_candidates

    kinds = tuple(name for name in filters.get("kind", ()) if name in ws.kinds)
    if not (kinds or filters.get("status") or filters.get("tag")) or (
        filters.get("kind") and not kinds
    ):
        return []
    record_filters = [
        RecordFilter(kinds, filters.get("status", ()), tag) for tag in filters.get("tag", ("",))
    ]
    record_by_id = {
        record.id: record
        for record_filter in record_filters
        for record in list_records(ws, record_filter)
    }
    matching = current_candidates(ws, live_records(ws, list(record_by_id.values())), _MOST_MATCHING)
    reason = "matches " + ", ".join(
        f"{key}={' or '.join(values)}" for key, values in filters.items()
    )
    return [
        candidate._replace(is_lasting=True, reasons=(*candidate.reasons, reason))
        for candidate in matching
        if _in_module(candidate, filters)
    ]


def _keep_matching(
    lists: Mapping[str, tuple[Candidate, ...]], filters: _Filters, records: Sequence[Candidate]
) -> dict[str, tuple[Candidate, ...]]:
    """Return the lists with only what matches; pins stay. `records`: those that match exactly."""
    exact = {record.id for record in records}

    def matches(row: Candidate) -> bool:
        kinds = filters.get("kind")
        if kinds and row.kind not in kinds and not (row.kind in CODE and "code" in kinds):
            return False
        if (filters.get("status") or filters.get("tag")) and row.id not in exact:
            return False  # only records have a status and tags
        return _in_module(row, filters)

    return {
        name: rows if name == "pins" else tuple(filter(matches, rows))
        for name, rows in lists.items()
    }


def _in_module(row: Candidate, filters: _Filters) -> bool:
    """Return whether an item is in, or about, a module: `shop.price` is `src/shop/price.py`, or a
    package.
    """
    wanted = [
        f"/{name.removesuffix('.py').replace('.', '/')}" for name in filters.get("module", ())
    ]
    places = [
        f"/{path.strip('/').removesuffix('.py')}/" for path in (row.path, *row.touches) if path
    ]
    return not wanted or any(f"{name}/" in place for name in wanted for place in places)


def _pinned(ws: Workspace, db: Database | None, pins: Sequence[str]) -> Iterator[Candidate]:
    from kl_hooks.records.query import get_record
    from kl_hooks.records.retrieval import record_candidate

    if db is not None:
        symbol_by_id = symbols_by_id(db, pins)
    else:
        symbol_by_id = {}
    for pin in pins:
        path = pin.removeprefix("file:").removeprefix("./")
        if pin in symbol_by_id:
            yield symbol_candidate(symbol_by_id[pin], "pinned")._replace(pinned=True)
        elif db is not None and db.rows("SELECT 1 FROM files WHERE path = ?", (path,)):
            yield Candidate(
                f"file:{path}", "file", path, "", "", path, pinned=True, reasons=("pinned",)
            )
        else:
            try:
                record = get_record(ws, pin)
            except UsageProblem:
                raise UsageProblem(
                    f"{pin!r} is no record, symbol or source file here.",
                    place="--pin",
                    hint="Give an ID or a path: kl knowledge list, kl graph search NAME.",
                ) from None
            candidate = record_candidate(ws, record)
            yield candidate._replace(
                pinned=True, is_lasting=True, reasons=(*candidate.reasons, "pinned")
            )


def _named_files(db: Database, task: Task) -> Iterator[Candidate]:
    """Yield the source files whose path the task has as it is here, other than in a traceback or a
    test's name.
    """
    elsewhere = {path for path, _ in task.signals.frames} | {
        name.partition("::")[0] for name in task.signals.tests
    }
    for path in task.signals.paths:
        if path not in elsewhere and db.rows("SELECT 1 FROM files WHERE path = ?", (path,)):
            yield Candidate(
                f"file:{path}", "file", path, "", "", path, reasons=("the task names it",)
            )


def _with_frames(
    db: Database, task: Task, code: Sequence[Candidate], executed: Sequence[Candidate]
) -> list[Candidate]:
    """Return the ranked code with the symbols of a traceback first, the innermost before those that
    called it.

    The fault is seldom in the test: the symbols of tests come after those of source. What the
    failing test calls is lifted by a third of the best score, and what it and few other tests
    executed (the list `executed`) by half of it; where no task named that test, and it failed
    lately, by a fifth.
    """
    inside = [symbol for path, line in task.signals.frames for symbol in _symbol_at(db, path, line)]
    tests = [f"test:{name.partition('[')[0]}" for name in task.signals.tests]
    if not inside and not tests and not executed:
        return list(code)
    files = [row for row in code if row.kind == "file"]
    symbols = {(row.id, row.path): row for row in code if row.kind != "file"}
    best = max((row.score for row in symbols.values()), default=1)
    functions = {
        link.target
        for test_links in links.of_many(db, tests, incoming=False).values()
        for link in test_links
    }
    for name in _targets(
        db, sorted(functions | {symbol.id for symbol in inside if is_test_path(symbol.path)})
    ):
        for key in [key for key in symbols if key[0] == name and not is_test_path(key[1])]:
            symbols[key] = _lifted(symbols[key], best // 3, "called by the failing test")
    for row in executed:
        earlier_candidate = symbols.get((row.id, row.path), row._replace(score=0))
        # of several searches the scores are other numbers (`build.combine`)
        symbols[row.id, row.path] = _lifted(
            earlier_candidate, best * min(row.score, 5) // 10, row.reasons[0]
        )
    for place, symbol in enumerate(dict.fromkeys(reversed(inside))):
        row = symbols.get((symbol.id, symbol.path), symbol_candidate(symbol, _FRAME_REASON))
        if is_test_path(symbol.path):
            gain = 0
        else:
            gain = best * 2 - place
        symbols[symbol.id, symbol.path] = _lifted(row, gain, _FRAME_REASON)
    shown = {row.path for row in files}
    further_files = dict.fromkeys(symbol.path for symbol in inside if symbol.path not in shown)
    files += [
        Candidate(f"file:{path}", "file", path, "", "", path, score=1, reasons=(_FRAME_REASON,))
        for path in further_files
    ]
    return [*files, *sorted(symbols.values(), key=lambda row: (is_test_path(row.path), -row.score))]


def _lifted(row: Candidate, gain: int, reason: str) -> Candidate:
    if gain:
        parts = (*row.parts, ("failure", gain))
    else:
        parts = row.parts
    return row._replace(
        score=row.score + gain,
        parts=parts,
        beyond="",
        reasons=tuple(dict.fromkeys((reason, *row.reasons))),
    )


def _targets(db: Database, functions: Sequence[str]) -> set[str]:
    """Return what these functions call or mention, and what the called classes define."""
    out = links.of_many(db, functions, incoming=False)
    return {
        link.target
        for function_links in out.values()
        for link in function_links
        if link.relation in ("calls", "references")
    }


def _symbol_at(db: Database, path: str, line: int) -> list[Symbol]:
    """Return the innermost symbol around a line, of the one file that a path (of any machine)
    means; or nothing.
    """
    file_path = file_here(db, path)
    around = (
        "path = ? AND line <= ? AND end_line >= ? AND id NOT LIKE 'test:%' AND id NOT LIKE"
        " 'namespace:%'"
    )
    return select_symbols(db, around, (file_path, line, line))[-1:]


def _neighbors(db: Database, lists: Mapping[str, Sequence[Candidate]]) -> Iterator[Candidate]:
    """Yield at most 15 symbols one link away from the nearest ones (A5)."""
    # incoming first: who uses a symbol is what its own text does not show
    seeds = [item.candidate.id for item in near_code(code_of(lists))[0].symbols[:SEEDS]]
    ids: dict[str, None] = {}
    for incoming in (True, False):
        for near_links in links.of_many(db, seeds, incoming=incoming).values():
            near = (link for link in near_links if link.relation in _NEIGHBOR_RELATIONS)
            ids |= dict.fromkeys(link.source if incoming else link.target for link in near)
    symbol_by_id = symbols_by_id(db, [identifier for identifier in ids if identifier not in seeds])
    for identifier in [name for name in ids if name in symbol_by_id][:_NEIGHBORS]:
        yield symbol_candidate(symbol_by_id[identifier], "one link from a symbol near the task")


def _with_suspects(
    ws: Workspace, db: Database, lists: dict[str, tuple[Candidate, ...]], policy: Policy | None
) -> dict[str, tuple[Candidate, ...]]:
    """Return the lists with what changed since a failing test passed: noted at the test, and before
    all other code.
    """
    failing = list(
        dict.fromkeys(
            row.title for rows in lists.values() for row in rows if row.kind == "failing test"
        )
    )
    if not failing:
        return lists
    from kl_hooks.proof.failures import changed_since_pass

    changed = changed_since_pass(ws, failing[:_SUSPECTS])
    symbol_by_id = symbols_by_id(db, sorted(set().union(*changed.values())))
    code = {
        name: symbol_candidate(symbol, "changed since a failing test passed")
        for name, symbol in symbol_by_id.items()
    }
    code = {
        name: candidate
        for name, candidate in code.items()
        if not is_test_path(candidate.path) and (not policy or policy.shows(candidate))
    }
    if not code:
        return lists

    def noted(row: Candidate) -> Candidate:
        names = [
            split_id(symbol_id)[1] for symbol_id in changed.get(row.title, ()) if symbol_id in code
        ]
        if row.kind != "failing test" or not names:
            return row
        return row._replace(text=f"{row.text}\nchanged since it passed: {name_list(names, _NAMED)}")

    lists = {name: tuple(map(noted, rows)) for name, rows in lists.items()}
    # of many changes each is no suspect: the ranking weighs them
    return lists | ({"suspects": tuple(code.values())} if len(code) <= _SUSPECTS else {})


def _described(
    ws: Workspace,
    db: Database,
    lists: dict[str, tuple[Candidate, ...]],
    clean: Callable[..., str],
    policy: Policy | None,
) -> dict[str, tuple[Candidate, ...]]:
    """Return the lists with bodies and test results at the code that will be shown first."""
    code, _ = near_code(code_of(lists))
    symbols, files = ([item.candidate for item in items] for items in (code.symbols, code.files))
    if policy:
        symbols, files = (
            [candidate for candidate in items if policy.shows(candidate)]
            for items in (symbols, files)
        )
    # where a task is about tests, these are first; what they show is noted at the source after them
    source = [candidate for candidate in symbols if not is_test_path(candidate.path)][:_WITH_TESTS]
    files = [candidate for candidate in files if not is_test_path(candidate.path)][
        : _WITH_TESTS // 2
    ]
    symbols = symbols[:_WITH_TESTS]
    symbol_by_id = symbols_by_id(db, [candidate.id for candidate in symbols])
    # no class: its body is mostly methods that are listed anyway, and 40 lines of it end in a
    # docstring
    callables = [
        candidate.id
        for candidate in symbols
        if candidate.id in symbol_by_id and split_id(candidate.id)[0] in ("function", "method")
    ]
    bodies = {
        name: clean(_body(ws, symbol_by_id[name]), language_of(symbol_by_id[name].path))
        for name in callables[:_WITH_BODY]
    }
    tests, executing, assumed = _tests_of(ws, db, source, files)
    words = {
        name: f"executed by {counted(len(tests[name]), 'test')}, {Tier.ASSUMED.word}"
        for name in assumed & tests.keys()
    }
    words |= {
        name: result.words() for name, result in results(ws, tests, executing, assumed).items()
    }
    unexecuted = [candidate.id for candidate in source if candidate.id not in executing]
    for name, shown in coverage_words(ws, db, unexecuted).items():
        words[name] = "; ".join(filter(None, (words.get(name), shown)))
    lists = {name: tuple(_with(row, bodies, words) for row in rows) for name, rows in lists.items()}
    have = {row.id for rows in lists.values() for row in rows}
    extra = [
        file._replace(proof=words[file.id])
        for file in files
        if file.id in words and file.id not in have
    ]
    return lists | ({"file tests": tuple(extra)} if extra else {})


def _tests_of(
    ws: Workspace, db: Database, source: Sequence[Candidate], files: Sequence[Candidate]
) -> tuple[dict[str, set[str]], set[str], set[str]]:
    """Return (symbol or file → its tests, those of which tests are known to execute them, and that
    is assumed).
    """
    inside = {file.id: [symbol.id for symbol in symbols_in_file(db, file.path)] for file in files}
    ids = [symbol.id for symbol in source]
    executed, assumed = tests_executing(
        ws, db, list(dict.fromkeys([*ids, *(name for names in inside.values() for name in names)]))
    )
    assumed |= {
        file
        for file, names in inside.items()
        if (known_names := executed.keys() & set(names)) and assumed >= known_names
    }
    tests = {name: executed[name] for name in ids if name in executed}
    tests |= {
        file: file_tests
        for file, names in inside.items()
        if (file_tests := _union(executed, names))
    }
    executing = set(tests)
    tests |= tests_calling(db, [name for name in ids if name not in executing])
    for file, names in inside.items():
        if file not in executing:
            tests[file] = _union(tests_calling(db, names), names)
    return tests, executing, assumed


def _union(tests: Mapping[str, set[str]], names: Sequence[str]) -> set[str]:
    return set().union(*(tests.get(name, ()) for name in names))


def _with(row: Candidate, bodies: Mapping[str, str], words: Mapping[str, str]) -> Candidate:
    if row.kind not in CODE or (row.id not in bodies and row.id not in words):
        return row
    return row._replace(text=bodies.get(row.id, row.text), proof=words.get(row.id, ""))


def _with_claims(
    ws: Workspace, lists: dict[str, tuple[Candidate, ...]], policy: Policy | None
) -> dict[str, tuple[Candidate, ...]]:
    """Return the lists where each item has the tier and the end of the newest claim about it."""

    def names(row: Candidate) -> tuple[str, str]:
        return row.id, record_node(row.id)  # a claim names a decision either way

    claims = _newest_claims(
        ws, {name for rows in lists.values() for row in rows for name in names(row)}
    )

    def claimed(row: Candidate) -> Candidate:
        about = [claims[name] for name in names(row) if name in claims]
        claim = max(about, key=lambda claim: claim.made_at, default=None)
        if claim is None or (
            policy
            and not policy.shows(Candidate(f"claim:{claim.id}", "claim", "", "", "", row.path))
        ):
            return row
        status = {OLDER_TREE: f"{claim.tier.word}, stale", REFUTED: REFUTED}
        words = f"claim {status.get(claim.freshness, claim.tier.word)}" + (
            f" until {claim.expires[:10]}" if claim.expires else ""
        )
        if row.kind in CODE:
            return row._replace(proof=f"{row.proof}; {words}" if row.proof else words)
        return row._replace(marks=(*row.marks, words))

    if not claims:
        return lists
    return {name: tuple(map(claimed, rows)) for name, rows in lists.items()}


def _with_ended_citations(
    ws: Workspace, lists: dict[str, tuple[Candidate, ...]]
) -> dict[str, tuple[Candidate, ...]]:
    """Return the lists where each record that cites what has ended has that in its text."""
    ids = sorted({row.id for rows in lists.values() for row in rows if row.kind in ws.kinds})
    from kl_hooks.records.query import get_records

    if ids:
        lines = ended_citations(ws, get_records(ws, ids))
    else:
        lines = {}

    def marked(row: Candidate) -> Candidate:
        ended = lines.get(row.id, ())
        if not ended:
            return row
        return row._replace(text="\n".join([row.text, *ended]))

    if not lines:
        return lists
    return {name: tuple(map(marked, rows)) for name, rows in lists.items()}


def _newest_claims(ws: Workspace, ids: Collection[str]) -> dict[str, Claim]:
    """Return the newest asserted claim about each of these and that has not expired, as it counts
    today.
    """
    with ws.store.reading() as db:
        if db is None:
            return {}
        # first whether there is any: what evidence shows is much to read
        about = {
            claim.about for claim in known_assertions(ws, db) if claim.freshness != "expired"
        } & set(ids)
        if about:
            claims = claims_about(ws, db, about)
        else:
            claims = []
    live = [claim for claim in claims if claim.freshness != "expired"]
    newest = {
        claim.about: claim for claim in sorted(live, key=lambda claim: (claim.made_at, claim.id))
    }
    return {claim.about: claim for claim in assess(ws, list(newest.values()))}


def _body(ws: Workspace, symbol: Symbol) -> str:
    """Return the source of a symbol, cut after 40 lines; empty where the file changed or can't be
    read.
    """
    try:
        lines = (ws.root / symbol.path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    # a file that was edited since the graph was read has other lines here; the next package has the
    # right ones
    body = lines[symbol.line - 1 : symbol.end_line]
    return "\n".join([*body[:_BODY_LINES], *(["…"] if len(body) > _BODY_LINES else [])])
