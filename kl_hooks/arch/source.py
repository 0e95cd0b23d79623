"""Which content is looked at: what is on disk, what is staged, or a revision; with the manifest that it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kl_hooks.code.marks import MARKERS, is_marker
from kl_hooks.config.files import read_small
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.evidence.place import Place
from kl_hooks.git import files, trees
from kl_hooks.git.files import Entry
from kl_hooks.git.look import Look, look_at
from kl_hooks.git.repository import Repository, head
from kl_hooks.model.manifest import BASELINE, MANIFEST
from kl_hooks.workspace.open import Workspace

_SUFFIXES = (".py", *MARKERS)
_WAY = (MANIFEST, MANIFEST.partition("/")[0])
LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a baseline that is read."""
WORKTREE, STAGED = "worktree", "staged"


@dataclass(frozen=True, slots=True)
class Content:
    """The Python files of one content of the repository."""

    repo: Repository
    source: str
    """`worktree`, `staged`, or a revision."""
    entries: tuple[Entry, ...]
    """Python files, and the files that mark a project."""
    manifest: bytes | None
    baseline: bytes | None = None
    """Of the same content, as the manifest is."""
    look: Look | None = None
    """At the work tree."""

    def read(self, wanted: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
        """The contents of these files; what can't be had is left out."""
        return files.read(self.repo, wanted, "worktree" if self.source == WORKTREE else "objects")

    def place(self) -> Place:
        """Where evidence about it belongs: its git tree id (None in a conflict), the commit and the branch."""
        if self.source == WORKTREE:
            found = trees.snapshot(self.repo, look=self.look)
            return Place(found.tree_all or found.tree, None, found.head, found.branch)
        if self.source == STAGED:
            found = trees.staged(self.repo)
            return Place(found.tree, None, found.head, found.branch)
        return Place(trees.tree_of(self.repo, self.source), None, *head(self.repo))


def repository(ws: Workspace) -> Repository:
    """The workspace's repository. EnvironmentProblem where there is none."""
    if ws.repo is None:
        hint = "Run it inside one, or give --root."
        raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint=hint)
    return ws.repo


def content(ws: Workspace, source: str = WORKTREE) -> Content:
    """The content called `worktree`, `staged`, or by a revision.

    UsageProblem if there is no such revision, or if its manifest stands behind a symbolic link: git has no more of it
    than where the link leads, and a gate that finds nothing there must not open.
    """
    repo = repository(ws)
    if source == WORKTREE:
        look = look_at(repo)
        found = files.worktree(repo, _SUFFIXES, look)
        manifest = read_small(repo.top / MANIFEST, within=repo.top)
        baseline = read_small(repo.top / BASELINE, within=repo.top, most=LARGEST)
    else:
        look, wanted = None, (*_SUFFIXES, MANIFEST, BASELINE)
        found = files.staged(repo, wanted) if source == STAGED else files.at(repo, source, wanted)
        rules = [entry for entry in found if entry.path in (MANIFEST, BASELINE)]
        texts = {entry.path: text for entry, text in files.read(repo, rules, "objects")}
        manifest, baseline = texts.get(MANIFEST), texts.get(BASELINE)
        for entry in rules:
            if entry.path not in texts:
                raise EnvironmentProblem("git can't give its content.", place=entry.path, hint="See: git fsck")
        linked = [] if manifest is not None else files.links(repo, "" if source == STAGED else source, _WAY)
        if linked:
            said = f"a link in {'what is staged' if source == STAGED else source}, so its rules can't be read there."
            raise UsageProblem(said, place=linked[0], hint="Commit the file itself in its place.")
    code = [entry for entry in found if entry.path.endswith(".py") or is_marker(entry.path)]
    return Content(repo, source, tuple(code), manifest, baseline, look)


def revision(rev: str) -> str:
    """A revision as the name of a content: a branch called `staged` is not what is staged."""
    return f"{rev}^{{}}" if rev in (WORKTREE, STAGED) else rev


def on_disk(ws: Workspace) -> bool:
    """True if the work tree has a manifest, whatever the content looked at has."""
    return (ws.root / MANIFEST).exists()


def pushed(environ: Mapping[str, str], lines: Sequence[str]) -> list[str]:
    """The commits that a pre-push git hook is about: from pre-commit's environment, or git's own lines on stdin.

    A line is `<local ref> <local sha> <remote ref> <remote sha>`; a deleted branch has no commit. Neither: HEAD.
    """
    if environ.get("PRE_COMMIT_TO_REF"):
        return [environ["PRE_COMMIT_TO_REF"]]
    words = [line.split() for line in lines if line.strip()]
    commits = [word[1] for word in words if len(word) == 4 and word[1].strip("0")]
    return list(dict.fromkeys(commits)) if words else ["HEAD"]
