"""The content that is checked, working tree, index or revision: its files, rules, and the decisions
behind these.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kl_hooks.clock import DAY, iso
from kl_hooks.code.languages import READ_NAMES, is_read
from kl_hooks.code.modules import MARKERS, is_marker
from kl_hooks.errors import EnvironmentProblem, KlError, UsageProblem
from kl_hooks.git import files, worktree
from kl_hooks.git.files import FileEntry
from kl_hooks.git.objects import read_blobs
from kl_hooks.git.repository import Repository, head, merge_base, resolve_commit
from kl_hooks.git.worktree import WorktreeScan, scan_worktree
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.manifest import BASELINE, MANIFEST, Manifest
from kl_hooks.model.problem import Problem
from kl_hooks.model.symbol import RECORD_ID
from kl_hooks.model.text import one_line
from kl_hooks.store.files import read_small
from kl_hooks.workspace import Workspace

_CODE_SUFFIXES = (*READ_NAMES, *MARKERS)
_WAY = (MANIFEST, MANIFEST.partition("/")[0])
MAX_BASELINE_BYTES: Final = 16 * 1024 * 1024
"""Bytes of a baseline that is read."""
WORKTREE, STAGED = "worktree", "staged"


_REVIEW_HINT: Final = "Review this change of the rules by itself."


class Rules(NamedTuple):
    """Manifest and baseline of one content, unread."""

    name: str
    """What messages call the content: a revision as it was given, or the first digits of a commit.
    """
    manifest: bytes | None
    baseline: bytes | None
    rev: str = ""
    """The revision of the content, as git takes it."""

    def same(self, other: Rules) -> bool:
        """True where both are byte for byte the same."""
        return (self.manifest, self.baseline) == (other.manifest, other.baseline)

    def loosened(self, path: str, line: int, text: str, hint: str = _REVIEW_HINT) -> Problem:
        """A way in which more is allowed than by these rules, at its place in the new ones."""
        message = f"loosened since {self.name}: {text}."
        return Problem(path, line, 1 if line else 0, message, hint)


@dataclass(frozen=True, slots=True)
class Content:
    """The source files of one content of the repository."""

    repo: Repository
    source: str
    """`worktree`, `staged`, or a revision."""
    entries: tuple[FileEntry, ...]
    """Source files, whether their scanner is installed or not, and what decides about their
    imports: configuration, and the files that mark a project.
    """
    manifest: bytes | None
    baseline: bytes | None = None
    """Of the same content, as the manifest is."""
    look: WorktreeScan | None = None
    """What git reports about the working tree; None for other contents."""
    before: Rules | None = None
    """The rules of the commit before (HEAD for what is staged); None for the working tree, which is
    no commit yet.
    """
    _staged: list[worktree.WorktreeState] = field(default_factory=list, compare=False, repr=False)
    """What git reports about the index, once it was asked."""

    def staged_changes(self) -> Mapping[str, str]:
        """Path → `<mode> <blob>` of what is staged and differs from HEAD, empty for a removed file;
        nothing where files are in conflict.
        """
        return self._staged_state().differences

    def _staged_state(self) -> worktree.WorktreeState:
        # a check asks it for its verdict and for its receipt
        if not self._staged:
            self._staged.append(worktree.staged_tree(self.repo))
        return self._staged[0]

    def read(self, wanted: Sequence[FileEntry]) -> Iterator[tuple[FileEntry, bytes]]:
        """Yield the contents of these files, without those that can't be read."""
        return files.read_files(
            self.repo, wanted, "worktree" if self.source == WORKTREE else "objects"
        )

    def place(self) -> worktree.WorktreeState:
        """Where evidence about it belongs: its git tree id (None in a conflict), the commit and the
        branch.
        """
        if self.source == WORKTREE:
            state = worktree.snapshot(self.repo, scan=self.look)
            return worktree.WorktreeState(
                state.tree_all or state.tree, None, state.head, state.branch
            )
        if self.source == STAGED:
            state = self._staged_state()
            return worktree.WorktreeState(state.tree, None, state.head, state.branch)
        return worktree.WorktreeState(
            worktree.tree_of_revision(self.repo, self.source), None, *head(self.repo)[:2]
        )


def require_repository(ws: Workspace) -> Repository:
    """The workspace's repository. EnvironmentProblem where there is none."""
    if ws.repo is None:
        hint = "Run it inside one, or give --root."
        raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint=hint)
    return ws.repo


def load_content(ws: Workspace, source: str = WORKTREE) -> Content:
    """The content called `worktree`, `staged`, or by a revision.

    UsageProblem if there is no such revision, or if its manifest is behind a symbolic link: git
    stores only where the link leads, and a gate that finds no rules would open.
    """
    repo = require_repository(ws)
    before = None
    if source == WORKTREE:
        look = scan_worktree(repo)
        entries = files.worktree_files(repo, _CODE_SUFFIXES, look)
        manifest = read_small(repo.top / MANIFEST, within=repo.top)
        baseline = read_small(repo.top / BASELINE, within=repo.top, most=MAX_BASELINE_BYTES)
    else:
        look = None
        wanted = (*_CODE_SUFFIXES, MANIFEST, BASELINE)
        if source == STAGED:
            entries = files.staged_files(repo, wanted)
        else:
            entries = files.files_at(repo, source, wanted)
        rules = [entry for entry in entries if entry.path in (MANIFEST, BASELINE)]
        if source == STAGED:
            parent = "HEAD"
        else:
            parent = f"{source}^"
        older = [f"{parent}:{path}" for path in (MANIFEST, BASELINE)]
        # the rules before along with today's: one `git cat-file --batch` for both
        *now, old_manifest, old_baseline = read_blobs(
            repo, [*(entry.blob for entry in rules), *older]
        )
        texts = {entry.path: text for entry, text in zip(rules, now, strict=True)}
        manifest = texts.get(MANIFEST)
        baseline = texts.get(BASELINE)
        if source == STAGED:
            name = parent
        else:
            name = f"{source[:12]}^"
        before = Rules(name, old_manifest, old_baseline, parent)
        for path, text in texts.items():
            if text is None:
                raise EnvironmentProblem(
                    "git can't give its content.", place=path, hint="See: git fsck"
                )
        # asked only where no manifest was found: it is one more look into git
        if manifest is not None:
            linked = []
        else:
            linked = files.symbolic_links(repo, "" if source == STAGED else source, _WAY)
        if linked:
            message = (
                f"a link in {'what is staged' if source == STAGED else source}, so its rules can't"
                " be read there."
            )
            raise UsageProblem(
                message, place=linked[0], hint="Commit the file itself in its place."
            )
    code = [entry for entry in entries if is_read(entry.path) or is_marker(entry.path)]
    return Content(repo, source, tuple(code), manifest, baseline, look, before)


def manifest_on_disk(ws: Workspace) -> bool:
    """True if the working tree has a manifest, whatever the content looked at has."""
    return (ws.root / MANIFEST).exists()


def pushed_commits(environ: Mapping[str, str], lines: Sequence[str]) -> dict[str, str]:
    """The commits that a pre-push git hook is about → what the remote has of their branch, empty
    where unknown.

    From pre-commit's environment, or git's own lines on stdin: `<local ref> <local sha> <remote
    ref> <remote sha>`; a deleted branch has no commit. Neither: HEAD.
    """
    if environ.get("PRE_COMMIT_TO_REF"):
        return {environ["PRE_COMMIT_TO_REF"]: environ.get("PRE_COMMIT_FROM_REF", "")}
    words = [line.split() for line in lines if line.strip()]
    # githooks(5), pre-push: an object name of zeros only is a ref that does not exist, here or on
    # the remote
    commits = {
        word[1]: word[3].strip("0") and word[3]
        for word in words
        if len(word) == 4 and word[1].strip("0")
    }
    if words:
        return commits
    return {"HEAD": ""}


_RANGE: Final = lazy_pattern(r"(.*?)(\.{2,3})(.*)", re.DOTALL)
_JUDGED_SUFFIXES: Final = (*READ_NAMES, MANIFEST, BASELINE)


class ChangedRange(NamedTuple):
    """What a range asks for."""

    text: str
    """As it was written."""
    source: str
    """What is judged: `worktree`, or the id of a commit."""
    before: str
    """The commit that it starts from."""
    paths: frozenset[str]
    """The files that differ; of a rename both names."""


def changed_range(ws: Workspace, text: str) -> ChangedRange:
    """The range in `text`: `A...B` since the two parted, `A..B` between them, `A` since it parted,
    to the working tree.

    An omitted side is HEAD. UsageProblem for what is no commit.
    """
    repo = require_repository(ws)
    match = _RANGE.fullmatch(text)
    if match is None:
        source = WORKTREE
        before = merge_base(repo, resolve_commit(repo, text), resolve_commit(repo, "HEAD"))
        now = files.worktree_files(repo, _JUDGED_SUFFIXES)
    else:
        first, source = (resolve_commit(repo, rev or "HEAD") for rev in (match[1], match[3]))
        if match[2] == "..":
            before = first
        else:
            before = merge_base(repo, first, source)
        now = files.files_at(repo, source, _JUDGED_SUFFIXES)
    return ChangedRange(
        text,
        source,
        before,
        frozenset(_differing(files.files_at(repo, before, _JUDGED_SUFFIXES), now)),
    )


def _differing(before: Collection[FileEntry], now: Collection[FileEntry]) -> set[str]:
    old, new = ({entry.path: entry.blob for entry in entries} for entries in (before, now))
    return {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}


def utc_day(ws: Workspace, later: int = 0) -> str:
    """Today (or so many days later), `YYYY-MM-DD`, UTC."""
    return iso(ws.clock.now() + later * DAY)[:10]


DECISIONS: Final = ".kl/knowledge/decisions/"
_TITLE: Final = lazy_pattern(r"title:[ \t]*(.+)")
_HEADING: Final = lazy_pattern(r"#[ \t]+(.+?)[ \t]*#*")


def decision_titles(content: Content, wanted: Collection[str]) -> dict[str, str]:
    """Record id → title, for those of `wanted` whose records are there and have one. Never a reason
    to fail.
    """
    ids = {one for one in wanted if RECORD_ID.fullmatch(one)}
    if not ids:
        return {}
    try:
        titles = ((record_id(path), title_of(text)) for path, text in _decision_files(content, ids))
        return {name: title for name, title in titles if title}
    except (KlError, OSError):
        return {}


def decided_rules(manifest: Manifest) -> Iterator[tuple[str, str, int]]:
    """(rule in words, the decision behind it or empty, line) of each rule."""
    for layer in manifest.layers:
        yield f'layer "{layer.name}"', layer.decision, layer.line
    for exception in manifest.exceptions:
        yield (
            f"exception {exception.source} → {exception.target}",
            exception.decision,
            exception.line,
        )
    for contract in manifest.contracts:
        yield f'contract "{contract.name}"', contract.decision, contract.line


def ended_decisions(ws: Workspace, content: Content, manifest: Manifest) -> list[Problem]:
    """A warning for each rule whose decision is superseded, or has ended otherwise, in the content
    that is checked. Never a reason to fail.
    """
    rules = [rule for rule in decided_rules(manifest) if RECORD_ID.fullmatch(rule[1])]
    if not rules:
        return []
    # most manifests name no decision, and a gate imports what it needs
    from kl_hooks.records.citations import ended_words
    from kl_hooks.records.document import read_document

    kind = ws.kinds["decision"]
    ended = dict[str, str]()
    try:
        for path, text in _decision_files(content, {decision for _, decision, _ in rules}):
            record = read_document(kind, path, text.encode()).record
            if record is not None and (words := ended_words(kind, record)):
                ended[record.id] = words
    except (KlError, OSError):
        return []
    hint = "Name the decision that counts now."
    return [
        Problem(
            manifest.path, line, 1, f"{name} rests on {decision}, which is {ended[decision]}.", hint
        )
        for name, decision, line in rules
        if decision in ended
    ]


def title_of(text: str) -> str:
    """The title in the front matter of a record, else its first heading; empty where it has
    neither.
    """
    lines = text.lstrip("\ufeff").splitlines()
    if lines[:1] == ["---"] and "---" in lines[1:]:
        front = lines[1 : lines.index("---", 1)]
    else:
        front = []
    for line in front:
        if match := _TITLE.fullmatch(line.rstrip()):
            return one_line(_unquoted(match[1]), 120)
    body = lines[len(front) + 2 if front else 0 :]
    heading = next((match[1] for line in body if (match := _HEADING.fullmatch(line.rstrip()))), "")
    return one_line(heading, 120)


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        if text[0] == "'":
            return text[1:-1].replace("''", "'")
        return text[1:-1].replace('\\"', '"')
    return text


def record_id(path: str) -> str:
    """`ADR-0004` of `.kl/knowledge/decisions/ADR-0004-domain.md`; empty for a file that is no
    record's.
    """
    name = path.rpartition("/")[2]
    match = RECORD_ID.match(name)
    if match and name.endswith(".md") and name[match.end()] in "-.":
        return match[0]
    return ""


def _decision_files(checked_content: Content, ids: Collection[str]) -> Iterator[tuple[str, str]]:
    """(path, text) of the decisions with these IDs, archived ones too."""
    if checked_content.source == WORKTREE:
        top = checked_content.repo.top
        for path in sorted((top / DECISIONS).glob("**/*.md")):
            if record_id(path.name) in ids:
                # only title and status are read: a byte that is not UTF-8 does not matter
                content = read_small(path, within=top) or b""
                yield path.relative_to(top).as_posix(), content.decode("utf-8", "replace")
        return
    if checked_content.source == STAGED:
        entries = files.staged_files(checked_content.repo, (".md",))
    else:
        entries = files.files_at(checked_content.repo, checked_content.source, (".md",))
    wanted = [
        one for one in entries if one.path.startswith(DECISIONS) and record_id(one.path) in ids
    ]
    for entry, data in files.read_files(checked_content.repo, wanted, "objects"):
        yield entry.path, data.decode("utf-8", "replace")


def content_name(rev: str) -> str:
    """A revision as the name of a content: a branch called `staged` is not what is staged."""
    if rev not in (WORKTREE, STAGED):
        return rev
    return f"{rev}^{{}}"


def path_from_top(path: str, top: Path) -> str:
    """A path as it was typed, from the repository's root; empty for the root. UsageProblem where it
    leads out.
    """
    # as typed and with links resolved: git resolves its top, and /tmp of macOS is a link to
    # /private/tmp
    for here in (Path(os.path.abspath(path)), Path(path).resolve()):  # noqa: PTH100
        for base in (top, top.resolve()):
            if here.is_relative_to(base):
                path_in_top = here.relative_to(base).as_posix()
                if path_in_top == ".":
                    return ""
                return path_in_top
    raise UsageProblem("is not in this repository.", place=path, hint=f"The repository is {top}.")
