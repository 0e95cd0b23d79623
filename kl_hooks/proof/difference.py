"""What differs between the content of a recorded run and another content, read from git and the
facts of the code.

The content of a run is a tree in git, or HEAD of that moment with the files that differed from it:
a dirty working tree was never written to git, and its receipt names their states. Files are
compared by blob ID, and only those that differ are looked into; their symbols come from the cache
of facts, where the run left them.
"""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial
from typing import Any, Final

from kl_hooks.code.file_facts import definitions_of
from kl_hooks.code.languages import content_keys, scanners_of
from kl_hooks.code.scanner.parser import Facts, Key, Read
from kl_hooks.config.settings import SETTINGS_FILE, verify_exclude
from kl_hooks.evidence import provenance
from kl_hooks.evidence.ledger import newest_header
from kl_hooks.git.files import FileEntry, path_matches, read_files, states_at
from kl_hooks.git.repository import Repository, git_in
from kl_hooks.git.run import once
from kl_hooks.git.worktree import STAGED, WorktreeState, changed_files, tree_of_revision
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.problem import Problems
from kl_hooks.model.receipt import Receipt
from kl_hooks.proof.content_source import content_source
from kl_hooks.proof.facts import LINK, Difference, FileChange, FileSymbols
from kl_hooks.proof.pytest_config import (
    CONFIG_NAMES,
    PytestConfig,
    PytestConfigs,
    config_paths,
    pytest_table,
)
from kl_hooks.proof.requirements import install_options, requirement_changes
from kl_hooks.proof.source_facts import source_facts
from kl_hooks.store.database import Database, chunks
from kl_hooks.workspace import Workspace

_COMPILED: Final = (".c", ".h", ".cc", ".cpp", ".pyx", ".pxd", ".rs", ".so", ".pyd", ".pth")
"""What is executed, and not as Python's source."""
_BUILDERS: Final = frozenset({"setup.py", "conf.py", "noxfile.py", "tasks.py"})
"""Python files that read documentation and are no test."""


class Base(NamedTuple):
    """The content of a run: a tree that git has, and the files that were different."""

    tree: str
    states: Mapping[str, str]


def content_of_run(repo: Repository, receipt: Receipt) -> Base | None:
    """What a run ran on; None where git does not have it (any more)."""
    untracked = receipt.environment.get("untracked")
    # of a run of others nobody may have written down which there were
    if isinstance(untracked, Mapping):
        none = not untracked.get("files")
    else:
        none = receipt.tree_all is None
    for tree in (receipt.tree_all, receipt.tree):
        # without the untracked files a tree is the content only if no test could have needed them
        whole = tree == receipt.tree_all or none
        if tree and whole and tree_of_revision(repo, tree):
            return Base(tree, {})
    states = receipt.environment.get("changes")
    if receipt.tree_all and isinstance(states, Mapping) and receipt.head:
        # removed after a rewrite of history and `git gc`; until then the reflog keeps it
        # (gc.reflogExpire, 90 days)
        tree = tree_of_revision(repo, receipt.head)
        if not tree:
            return None
        return Base(tree, {str(path): str(state) for path, state in states.items()})
    return None


def changed_states(repo: Repository, base: Base, other: str | None) -> dict[str, tuple[str, str]]:
    """Path → its state in the content of a run and in `other` (see `changed_files`), where they
    differ. GitFailed.
    """
    states = changed_files(repo, base.tree, other) or {}
    unchanged = [path for path in base.states if path not in states]
    if unchanged:
        same = states_at(repo, base.tree, unchanged)
    else:
        same = {}
    for path, before in base.states.items():
        states[path] = (before, states[path][1] if path in states else same.get(path, ""))
    return {path: pair for path, pair in states.items() if pair[0] != pair[1]}


def states_since(repo: Repository, revision: str, other: str | None) -> dict[str, tuple[str, str]]:
    """As `changed_states`, since a revision; nothing where there is none of this name."""
    tree = tree_of_revision(repo, revision) if revision else None
    if tree is None:
        return {}
    return changed_states(repo, Base(tree, {}), other)


def difference(
    ws: Workspace, repo: Repository, changed: Mapping[str, tuple[str, str]], other: str | None
) -> Difference:
    """Everything about these changes that decides which results are valid. GitFailed."""
    reader = _Reader(repo, changed, other)
    changes = file_changes(ws, repo, changed, other)
    exclude = _exclude(reader)
    documents = frozenset(path for path in changed if is_document(path, exclude))
    # setup.py is run by what installs the project, before any test, and not imported by one
    others = [path for path in sorted(changed) if not changes[path].is_python or path == "setup.py"]
    relevant = [path for path in others if path not in documents]
    whole = [why for path in relevant if (why := _affects_all(path, reader))]
    reader.load(relevant)
    required, unread = requirement_changes(relevant, reader.before, reader.now)
    reads = {path: why for path in sorted(documents) if (why := _reader_of(path, reader))}
    return Difference(
        changes,
        (*whole, *unread),
        documents,
        reads,
        lambda words: mentions(repo, words, other),
        lambda path, side: reader.now(path) if side else reader.before(path),
        source_facts(ws.cache),
        cache(lambda folder: _is_lasting(repo, changed, other, folder)),
        tuple(required),
        partial(_python_files, repo, other),
        cache(reader.pytest_config),
    )


def _python_files(repo: Repository, other: str | None) -> frozenset[str]:
    """Those of the other content. Many runs are compared with it: within a moment git is asked
    once.
    """

    def ask() -> frozenset[str]:
        paths = content_source(repo, other or "", untracked=True).blobs
        return frozenset(path for path in paths if path.endswith(".py"))

    return once(("Python files", repo.top, other), ask)


def _is_lasting(
    repo: Repository, changed: Mapping[str, tuple[str, str]], other: str | None, folder: str
) -> bool:
    """Whether a folder has a file in both contents. One git process."""
    if any(
        before and now and path.startswith(f"{folder}/") for path, (before, now) in changed.items()
    ):
        return True
    command = (
        ("ls-files", "-z", "--full-name")
        if other in (None, STAGED)
        else ("ls-tree", "-r", "-z", "--full-name", "--name-only", str(other))
    )
    out = git_in(
        repo, *command, "--", f":(top,literal){folder}" if other in (None, STAGED) else folder
    )
    return any(os.fsdecode(path) not in changed for path in out.split(b"\0") if path)


def file_changes(
    ws: Workspace, repo: Repository, changed: Mapping[str, tuple[str, str]], other: str | None
) -> dict[str, FileChange]:
    """Path → the change of a file, with what both contents define in it. GitFailed."""
    old = symbols_of_files(ws, repo, changed, 0, other)
    new = symbols_of_files(ws, repo, changed, 1, other)
    return {
        path: FileChange(path, before, now, old.get(path), new.get(path))
        for path, (before, now) in changed.items()
    }


def is_document(path: str, exclude: Sequence[str] = ()) -> bool:
    """Whether a file is documentation, or no test needs it for another reason. `exclude`:
    `verify.exclude`.
    """
    if path.endswith(".py"):
        return False
    return provenance.is_document(path) or any(path_matches(path, one) for one in exclude)


_IDENTIFIER: Final = lazy_pattern(r"\w+", re.ASCII)
"""What has no character that means something in a regular expression."""
_AT_ONCE: Final = 200
"""Python files that are read together: more would be read in vain."""


class _Reader:
    """The changed files of both contents."""

    def __init__(
        self, repo: Repository, changed: Mapping[str, tuple[str, str]], other: str | None
    ) -> None:
        self._repo = repo
        self._changed = changed
        self._other = other
        self._texts: dict[tuple[str, int], bytes] = {}
        self._loaded: set[str] = set()
        sources = frozenset(path for path in changed if path.endswith(".py"))
        self._together = sources if len(sources) <= _AT_ONCE else frozenset()
        """Who asks for one of these soon asks for the next."""

    def files_with(self, text: str) -> frozenset[str]:
        """The Python files of the other content that have this text somewhere."""
        return once(
            ("files with", text, self._repo.top, self._other),
            lambda: frozenset(_grep(self._repo, ("-l", "-F", "-e", text), self._other)),
        )

    def load(self, paths: Sequence[str]) -> None:
        """Read changed files of both contents at once, so that git is not started for each."""
        self._loaded.update(paths)
        for side in (0, 1):
            states = [(path, state) for path in paths if (state := self._changed[path][side])]
            for entry, text in _read(self._repo, states, side, self._other):
                self._texts[entry.path, side] = text

    def text(self, path: str, side: int) -> bytes | None:
        """The content of a changed file before (0) or now (1); empty where it is not there, None
        for none.
        """
        if not self._changed[path][side]:
            return b""
        if path not in self._loaded:
            self.load(sorted(self._together) if path in self._together else [path])
        return self._texts.get((path, side))

    def before(self, path: str) -> bytes | None:
        """A file of the run's content; None where there is none."""
        if path in self._changed:
            if not self._changed[path][0]:
                return None
            return self.text(path, 0)
        return self.now(path)

    def now(self, path: str) -> bytes | None:
        """A file of the other content, changed or not; None where there is none."""
        if path in self._changed:
            if not self._changed[path][1]:
                return None
            return self.text(path, 1)
        if self._other not in (None, STAGED):
            state = states_at(self._repo, str(self._other), [path]).get(path, "")
            if not state:
                return None
            return next((text for _, text in _read(self._repo, [(path, state)], 0, None)), None)
        try:
            return (self._repo.top / path).read_bytes()
        except OSError:
            return None

    def pytest_config(self, path: str) -> PytestConfig:
        """The configuration of the other content that decides about a file."""
        folder = path.rpartition("/")[0]
        key = ("pytest config", folder, self._repo.top, self._other)
        return once(key, lambda: self._read_pytest_config(path))

    def _read_pytest_config(self, path: str) -> PytestConfig:
        if self._other == STAGED:
            return self._staged_configs.for_file(path)
        paths = list(config_paths(path))
        if self._other is not None:
            paths = list(states_at(self._repo, str(self._other), paths))
        return PytestConfigs.of(paths, self.now).for_file(path)

    @cached_property
    def _staged_configs(self) -> PytestConfigs:
        source = content_source(self._repo, STAGED)
        return PytestConfigs.of(source.blobs, source.text)


def _read(
    repo: Repository, states: Iterable[tuple[str, str]], side: int, other: str | None
) -> Iterator[tuple[FileEntry, bytes]]:
    """Files, and of links where they lead."""
    entries = [
        FileEntry(path, state[7:], state[:6])
        for path, state in states
        if state.startswith(("100", LINK))
    ]
    if not side or other is not None:
        yield from read_files(repo, entries, "objects")
        return
    for entry in entries:
        if entry.mode == LINK:
            with suppress(OSError):
                yield entry, os.fsencode((repo.top / entry.path).readlink())
    files = [entry for entry in entries if entry.mode != LINK]
    yield from read_files(repo, files, "worktree")


def symbols_of_files(
    ws: Workspace,
    repo: Repository,
    changed: Mapping[str, tuple[str, str]],
    side: int,
    other: str | None,
) -> dict[str, FileSymbols]:
    """Path → what each changed Python file defines before (0) or now (1)."""
    states = {
        path: pair[side]
        for path, pair in changed.items()
        if path.endswith(".py") and pair[side].startswith("100")
    }
    entries = [FileEntry(path, state[7:], state[:6]) for path, state in sorted(states.items())]
    if side and other is None:
        source = "worktree"
    else:
        source = "objects"
    return symbols_of_content(
        ws, entries, lambda entries_to_read: read_files(repo, entries_to_read, source)
    )


def symbols_of_content(
    ws: Workspace, entries: Sequence[FileEntry], read: Read
) -> dict[str, FileSymbols]:
    """Path → what each of these files defines. `read`: as `facts_of`; only contents never seen
    before are read.

    Many runs are compared with one content: within a moment each file is looked up once.
    """
    scanners = scanners_of(ws)
    keys = content_keys(entries, scanners)
    symbols_by_key: dict[Key, FileSymbols] = once("what contents define", dict)
    symbols_by_path = {
        path: symbols_by_key[key] for path, key in keys.items() if key in symbols_by_key
    }
    unasked = [entry for entry in entries if entry.path not in symbols_by_path]
    for path, facts in definitions_of(ws.store, unasked, read, scanners).items():
        symbols = symbols_by_path[path] = file_symbols(facts)
        # one that can't be read here may be read from elsewhere
        if not symbols.error:
            symbols_by_key[keys[path]] = symbols
    return {path: symbols_by_path[path] for path in keys}


def file_symbols(facts: Facts) -> FileSymbols:
    if facts["error"]:
        return FileSymbols(error=facts["error"])
    rows = facts["symbols"]
    module = rows[0][0].partition(":")[2] if rows else ""
    ids = [
        f"{kind}:_{name.removeprefix(module)}"
        for kind, _, name in (row[0].partition(":") for row in rows)
    ]
    used = frozenset(facts["names"].split()).union(*(words.split() for words in facts["words"]))
    return FileSymbols(
        {name: row[5] for name, row in zip(ids, rows, strict=True)},
        used,
        {name: row[1] for name, row in zip(ids, rows, strict=True)},
    )


def _exclude(reader: _Reader) -> Sequence[str]:
    try:
        return verify_exclude(SETTINGS_FILE, reader.now(SETTINGS_FILE))
    except Problems:  # the gate itself names it
        return ()


def _affects_all(path: str, reader: _Reader) -> str:
    """Why a change of this file speaks against every result; empty where opened files decide."""
    name = path.rpartition("/")[2]
    if name.endswith(_COMPILED):
        return f"{path} changed, which is compiled"
    if name not in CONFIG_NAMES:
        return ""
    before = reader.text(path, 0)
    now = reader.text(path, 1)
    if before is None or now is None:
        return f"{path} changed, and its earlier content is not known any more"
    try:
        if pytest_table(name, before) != pytest_table(name, now):
            return f"pytest's configuration in {path} changed"
        if install_options(name, before) != install_options(name, now):
            return f"how {path} installs the project changed"
    except (ValueError, configparser.Error, RecursionError):
        return f"{path} can't be read"
    return ""


def _reader_of(path: str, reader: _Reader) -> str:
    """Why a test may read this documentation, where nobody recorded which files were opened; empty
    for no reason.
    """
    name = path.rpartition("/")[2]
    for config in CONFIG_NAMES:
        content = reader.now(config)
        if (
            content
            and path.endswith((".md", ".rst", ".txt"))
            and re.search(rb"doctest[-_]?glob|markdown|sybil", content)
        ):
            return f"{path} changed, and {config} makes tests of documentation"
    if name.endswith(".txt") and PytestConfig(python_files=("test*.txt",)).collects(path):
        return f"{path} changed, which pytest collects as doctests"
    folder = ".kl" if path.startswith(".kl/") else ""
    if "." in name[1:]:
        ending = name[name.rindex(".") :]
    else:
        ending = ""
    parent = path.rpartition("/")[0].rpartition("/")[2]
    for word in filter(None, (folder or name, ending, parent and f"{parent}/")):
        for file in sorted(reader.files_with(word)):
            tests = PytestConfig().collects(file) or file.endswith("conftest.py")
            if file.rpartition("/")[2] not in _BUILDERS and (tests or word != ending):
                return f"{path} changed, and {file} names {word!r}"
    return ""


def edits_since_green(ws: Workspace, db: Database | None, place: WorktreeState) -> str:
    """`your last green run (5d1e0a77) predates your last edit to src/a.py, src/b.py`; empty where
    nothing is known.

    From what the receipt names of its content: no file is read, and git is asked only where HEAD is
    another commit.
    """
    if db:
        found_header = newest_header(db, _is_green)
    else:
        found_header = None
    if found_header is None or ws.repo is None or not place.head:
        return ""
    header = found_header[1]
    return provenance.edits_since(
        ws.repo, {**header, "changes": header["environment"].get("changes") or {}}, place
    )


def _is_green(header: Mapping[str, Any]) -> bool:
    result = header["result"]
    return bool(result.get("complete")) and result.get("verdict") == "passed"


def mentions(
    repo: Repository, words: Iterable[str], other: str | None
) -> dict[str, frozenset[str]]:
    """Words → the Python files of a content that have them as words.

    Many runs are compared with one content: within a moment git is asked for each word once.
    """
    wanted = set(words)
    files_by_word: dict[str, frozenset[str]] = once(("files with words", repo.top, other), dict)
    unasked = wanted - files_by_word.keys()
    files_by_word |= dict.fromkeys(unasked, frozenset()) | _grep_words(repo, unasked, other)
    return {word: files_by_word[word] for word in wanted if files_by_word[word]}


def _grep_words(
    repo: Repository, words: Iterable[str], other: str | None
) -> dict[str, frozenset[str]]:
    files_by_word: dict[str, set[str]] = {}
    for patterns in _patterns(sorted(words)):
        rows = iter(_grep(repo, ("-o", "-w", *patterns), other))
        for path in rows:
            files_by_word.setdefault(next(rows, ""), set()).add(path)
    return {word: frozenset(files) for word, files in files_by_word.items()}


def _patterns(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The words as patterns for git, with the option for their sort."""
    identifiers = [word for word in words if _IDENTIFIER.fullmatch(word)]
    # git tries one pattern after the other at each match, so that 300 words in 1,300 files take
    # 16 s; as one expression, which is one automaton, half a second
    for batch in chunks(identifiers):
        yield "-E", "-e", "|".join(batch)
    for batch in chunks([word for word in words if not _IDENTIFIER.fullmatch(word)]):
        yield "-F", *(part for word in batch for part in ("-e", word))


def _grep(repo: Repository, options: Sequence[str], other: str | None) -> Iterator[str]:
    """The cells of git's answer: paths, and what matched where that was asked for."""
    # --untracked: what is on disk includes what nobody has added yet (git-grep(1)); ignored files
    # are omitted
    place: tuple[str, ...] = ()
    if other is None:
        place = ("--untracked",)
    elif other == STAGED:
        place = ("--cached",)
    rev = (str(other),) if other not in (None, STAGED) else ()
    # 1: no file matches
    out = git_in(
        repo,
        "grep",
        "-I",
        "-z",
        "--full-name",
        "--no-color",
        *place,
        *options,
        *rev,
        "--",
        "*.py",
        ok=(0, 1),
    )
    for line in out.split(b"\n" if "-l" not in options else b"\0"):
        for number, cell in enumerate(line.split(b"\0")):
            if cell:
                yield os.fsdecode(cell).removeprefix(f"{other}:" if rev and not number else "")
