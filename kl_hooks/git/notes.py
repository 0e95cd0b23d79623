"""Refs for what clones exchange: each clone writes its own, by compare-and-swap; a remote's are
fetched too.

A clone writes `refs/notes/kl/<sort>/<writer>`, one for each sort of data; those of a remote are
fetched to `refs/notes/kl-remote/<remote>/<sort>/<writer>`. Most are git notes: files of JSON lines,
named by what they are about. Refs are moved by compare-and-swap, since `git notes add` in two
processes loses writes without a word (of 32 parallel ones 1 to 4 survived). Two refs of one writer
(a copied clone) are merged as `git notes merge -s cat_sort_uniq` does.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from kl_hooks.errors import UsageProblem
from kl_hooks.git.objects import object_id, read_blobs
from kl_hooks.git.repository import Repository, git_in
from kl_hooks.git.run import GitFailed
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.text import one_line

FETCHED: Final = "refs/notes/kl-remote/"
OWN: Final = "refs/notes/kl/"
_TRIES: Final = 8
_MOST_BYTES: Final = 64 * 1024 * 1024
"""Of one ref that is read: a hostile one must not fill the memory."""
_MOST_LINES: Final = 20_000
_MOST_ROWS: Final = 16 * 1024 * 1024
"""Bytes of a tree object that is listed: 400,000 rows."""
_NAME: Final = lazy_pattern(r"[0-9a-f]{40}|[0-9a-f]{64}")
_WRITER: Final = lazy_pattern(r"[a-z0-9][a-z0-9-]{3,39}")
_REMOTE: Final = lazy_pattern(r"[^-\s\0][^\s\0]*")
_TIMEOUT: Final = 120.0
_MODES: Final = {"blob": "100644", "tree": "040000"}
_Lines = Mapping[str, list[bytes]]


def writer_name(repo: Repository, remote: str, *, create: bool) -> str:
    """The name of this clone's refs, from `kl.writer` in its git configuration; where it has none a
    random one, or (not `create`) nothing.

    UsageProblem for another name, and for what can't be the name, the path or the address of a
    remote.
    """
    if not _REMOTE.fullmatch(remote):
        raise UsageProblem(
            "that is no remote.", place=f"--remote {remote}", hint="See: git remote -v"
        )
    named = (
        git_in(repo, "config", "--get", "kl.writer", ok=(0, 1)).decode("utf-8", "replace").strip()
    )
    if not named:
        if not create:
            return ""
        # random, not the host's name: two containers of one image would write the same ref
        named = secrets.token_hex(8)
        git_in(repo, "config", "--local", "kl.writer", named)
    if not _WRITER.fullmatch(named):
        raise UsageProblem(
            "use small letters, digits and `-`, at least 4.", place=f"git config kl.writer {named}"
        )
    return named


def own_ref(sort: str, writer: str) -> str:
    """The ref of this clone for a sort of data."""
    return f"{OWN}{sort}/{writer}"


def _folder(remote: str) -> str:
    """A name for the refs of a remote that may be a path or an address."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", remote).strip("-") or "remote"


class NoteRef(NamedTuple):
    """A ref of a writer."""

    name: str
    commit: str
    tree: str
    """Two refs with the same one have the same content."""
    time: int
    """When it was committed (seconds), as its writer states it."""


def refs_of(repo: Repository, sort: str) -> list[NoteRef]:
    """The refs of all writers of a sort of data: those of this clone, and fetched ones."""
    fields = "%(objectname) %(tree) %(committerdate:unix) %(refname)"
    rows = git_in(repo, "for-each-ref", f"--format={fields}", FETCHED, OWN)
    refs = []
    for row in rows.decode("utf-8", "replace").splitlines():
        commit, tree, time, name = row.split(" ", 3)
        if name.rpartition("/")[0].rpartition("/")[2] == sort:
            # what is no commit has neither tree nor time
            refs.append(NoteRef(name, commit, tree or commit, int(time or 0)))
    return refs


def _tip(repo: Repository, ref: str) -> str:
    """The commit of a ref; empty where there is none."""
    out = git_in(
        repo,
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        f"{ref}^{{commit}}",
        ok=(0, 1, 128),
    )
    return out.decode("ascii", "replace").strip()


def rows_of(
    repo: Repository, commit: str, *options: str, folder: str = ""
) -> dict[str, tuple[str, str]]:
    """Path → (kind, ID) of the entries of a folder; nothing where it is not there, or larger than
    any of ours.

    `options`: of git-ls-tree(1).
    """
    tree = f"{commit}:{folder}"
    size = git_in(repo, "cat-file", "-s", tree, ok=(0, 1, 128)).decode("ascii", "replace").strip()
    if not size.isdigit() or int(size) > _MOST_ROWS:
        return {}
    row_of = {}
    for row in (
        git_in(repo, "ls-tree", "-z", "--full-tree", *options, tree)
        .decode("utf-8", "replace")
        .split("\0")
    ):
        about, tab, path = row.partition("\t")
        _, kind, identifier = about.split() if tab else ("", "", "")
        if kind in _MODES:  # no submodules
            row_of[path] = (kind, identifier)
    return row_of


def commits_with(repo: Repository, commits: Sequence[str], folder: str) -> list[str]:
    """Those of these commits that have such a folder, each content of it once; one process for
    all.
    """
    if not commits:
        return []
    asked = "".join(f"{commit}:{folder}\n" for commit in commits).encode()
    form = "--batch-check=%(objecttype) %(objectname)"
    rows = git_in(repo, "cat-file", form, stdin=asked).decode().splitlines()
    by_content = {row: commit for commit, row in zip(commits, rows, strict=True)}
    return [commit for row, commit in by_content.items() if row.startswith("tree ")]


# -- writing


def move_ref(repo: Repository, ref: str, make_tree: Callable[[str], str], other: str = "") -> None:
    """Move a ref to a commit of a tree, if nobody else moved it meanwhile; else again. GitFailed
    after the last try.

    `make_tree`: the commit that the ref is at (empty: none) → the tree. `other`: a commit that is
    merged, the second parent.
    """
    for attempt in range(_TRIES):
        old = _tip(repo, ref)
        tree = make_tree(old)
        if (
            old
            and not other
            and tree == git_in(repo, "rev-parse", f"{old}^{{tree}}").decode().strip()
        ):
            return
        parents = [arg for parent in (old, other) if parent for arg in ("-p", parent)]
        identity = [
            ("user.name", "kl"),
            ("user.email", "kl@localhost"),
            ("commit.gpgSign", "false"),
        ]
        message = f"kl: {ref.removeprefix(OWN).partition('/')[0]}\n".encode()
        commit = (
            git_in(repo, "commit-tree", tree, *parents, stdin=message, config=identity)
            .decode()
            .strip()
        )
        try:
            # all zeros: the ref must not exist (git-update-ref)
            git_in(repo, "update-ref", ref, commit, old or "0" * len(commit))
            return
        except GitFailed:
            if attempt == _TRIES - 1:
                raise


def write_tree(repo: Repository, rows: Mapping[str, tuple[str, str]]) -> str:
    """The ID of a tree with these entries (name → (kind, ID)), which is written."""
    lines = (
        f"{_MODES[kind]} {kind} {identifier}\t{name}\n"
        for name, (kind, identifier) in sorted(rows.items())
    )
    return git_in(repo, "mktree", stdin="".join(lines).encode()).decode().strip()


def write_blobs(repo: Repository, contents: Iterable[bytes]) -> list[str]:
    """Write contents that git does not have yet; the ID of each, in order. Two processes, however
    many there are.
    """
    by_id = {}
    ids = []
    for content in contents:
        ids.append(object_id(repo.object_format, b"blob", content))
        by_id[ids[-1]] = content
    asked = "".join(f"{one}\n" for one in by_id).encode()
    if by_id:
        rows = git_in(repo, "cat-file", "--batch-check", stdin=asked).decode().splitlines()
    else:
        rows = []
    missing = [row.split()[0] for row in rows if row.endswith(" missing")]
    if missing:
        stream = b"".join(b"blob\ndata %d\n%b\n" % (len(by_id[one]), by_id[one]) for one in missing)
        git_in(repo, "fast-import", "--quiet", stdin=stream, timeout=_TIMEOUT)
    return ids


# -- files of lines


def read_lines(
    repo: Repository, ref: str, remarks: list[str] | None = None, *, place: str = ""
) -> dict[str, list[bytes]]:
    """Name → lines of each file of a ref or commit, up to `_MOST_BYTES` and `_MOST_LINES`.

    `remarks` gets one where that is not all, about `place`.
    """
    blobs = _blobs_of(repo, ref)
    lines_of: dict[str, list[bytes]] = {}
    size = number = 0
    for name, content in zip(blobs, read_blobs(repo, list(blobs.values())), strict=False):
        size += len(content or b"")
        # counted first: a file of a million lines must not become a million objects
        number += (content or b"").count(b"\n")
        if content is None or size > _MOST_BYTES or number > _MOST_LINES:
            if remarks is not None:
                if content is None:
                    why = "incomplete here, or "
                else:
                    why = ""
                remarks.append(
                    f"{place or ref}: not all of it was read: it is {why}larger than any "
                    "that kl writes."
                )
            break
        lines_of[name] = [line for line in content.splitlines() if line.strip()]
    return lines_of


def _blobs_of(repo: Repository, ref: str) -> dict[str, str]:
    """Name → blob.

    Other tools fan notes out in folders: the parts of their names are put together.
    """
    named = {path.replace("/", ""): one for path, one in rows_of(repo, ref, "-r").items()}
    return {
        name: one for name, (kind, one) in named.items() if kind == "blob" and _NAME.fullmatch(name)
    }


def change_lines(repo: Repository, ref: str, change: Callable[[_Lines], _Lines]) -> None:
    """Change the files of a ref; raises as `move_ref`."""

    def make_tree(old: str) -> str:
        before = read_lines(repo, old) if old else {}
        after = change(before)
        blobs = _blobs_of(repo, old) if old else {}
        edited = [
            name for name, lines in after.items() if before.get(name) != lines or name not in blobs
        ]
        written = write_blobs(
            repo, (b"".join(line + b"\n" for line in after[name]) for name in edited)
        )
        blobs |= zip(edited, written, strict=True)
        return write_tree(repo, {name: ("blob", blobs[name]) for name in after})

    move_ref(repo, ref, make_tree)


def with_lines(files: _Lines, lines: Iterable[tuple[str, str]]) -> dict[str, list[bytes]]:
    """The files with these lines too. Sorted and unique, so that any order of merges gives the same
    bytes.
    """
    lines_of = {name: set(file_lines) for name, file_lines in files.items()}
    for name, line in lines:
        lines_of.setdefault(name, set()).add(line.encode())
    return {name: sorted(file_lines) for name, file_lines in lines_of.items()}


# -- travelling


def fetch_notes(repo: Repository, remote: str, remarks: list[str]) -> bool:
    """Fetch what others wrote; False, with a remark, where the remote does not give it."""
    try:
        # no tags, no FETCH_HEAD: a sync must not change what the next `git merge` merges. No
        # filter: a partial clone has to have the contents of notes
        args = (
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-filter",
        )
        git_in(repo, *args, remote, _refspec(remote), timeout=_TIMEOUT, network=True)
        return True
    except GitFailed as problem:
        remarks.append(f"not fetched: {one_line(str(problem), 200)}")
        return False


def push_notes(repo: Repository, remote: str, writer: str, remarks: list[str]) -> bool:
    """Push the refs of this clone, where the remote does not have them; whether it took them."""
    for _ in range(_TRIES):
        refs = {
            ref: ref.replace(OWN, f"{FETCHED}{_folder(remote)}/", 1)
            for ref in _own_refs(repo, writer)
        }
        moved = [ref for ref, there in refs.items() if _tip(repo, ref) != _tip(repo, there)]
        if not moved:
            return False
        try:
            specs = [f"{ref}:{ref}" for ref in moved]
            git_in(
                repo,
                "push",
                "--quiet",
                "--no-verify",
                remote,
                *specs,
                timeout=_TIMEOUT,
                network=True,
            )
            return True
        except GitFailed as problem:
            # a copied clone writes the same refs: what it wrote is merged, and the push is tried
            # again
            if "fetch first" not in problem.stderr and "non-fast-forward" not in problem.stderr:
                remarks.append(
                    f"not pushed: {one_line(str(problem), 200)} Nothing is lost: run kl sync again."
                )
                return False
            if not fetch_notes(repo, remote, remarks):
                return False
            for ref, there in refs.items():
                _merge(repo, ref, _tip(repo, there))
    remarks.append(
        f"not pushed: another push was first in each of {_TRIES} tries. Nothing is lost: run kl"
        " sync again."
    )
    return False


def _own_refs(repo: Repository, writer: str) -> list[str]:
    refs = git_in(repo, "for-each-ref", "--format=%(refname)", OWN).decode().split()
    return [ref for ref in refs if ref.rpartition("/")[2] == writer]


def _merge(repo: Repository, ref: str, theirs: str) -> None:
    """Add what another commit of the same writer has: its files and folders, and the lines of files
    that both have.
    """
    if theirs in ("", *git_in(repo, "rev-list", ref).decode().split()):
        return

    def make_tree(old: str) -> str:
        here = rows_of(repo, old)
        there = rows_of(repo, theirs)
        differing = [
            name
            for name in here.keys() & there.keys()
            if here[name] != there[name] and here[name][0] == "blob"
        ]
        contents = read_blobs(repo, [rows[name][1] for name in differing for rows in (here, there)])
        merged = write_blobs(repo, (_all_lines(mine, next(contents)) for mine in contents))
        return write_tree(
            repo,
            there
            | here
            | {
                name: ("blob", merged_id) for name, merged_id in zip(differing, merged, strict=True)
            },
        )

    move_ref(repo, ref, make_tree, theirs)


def _all_lines(mine: bytes | None, theirs: bytes | None) -> bytes:
    """The lines of both, sorted; ours alone where the other is larger than any that we write."""
    if theirs is None or theirs.count(b"\n") > _MOST_LINES:
        return mine or b""
    return b"".join(
        line + b"\n" for line in sorted({*(mine or b"").splitlines(), *theirs.splitlines()})
    )


def fetch_with(repo: Repository, remote: str) -> str:
    """Let `git fetch REMOTE` bring notes too, and commands import them; the refspec. UsageProblem
    for no remote.
    """
    if remote not in git_in(repo, "remote").decode("utf-8", "replace").split():
        raise UsageProblem(
            "there is no such remote.", place=f"--sync {remote}", hint="See: git remote -v"
        )
    key = f"remote.{remote}.fetch"
    spec = _refspec(remote)
    if (
        spec
        not in git_in(repo, "config", "--get-all", key, ok=(0, 1))
        .decode("utf-8", "replace")
        .splitlines()
    ):
        git_in(repo, "config", "--local", "--add", key, spec)
    git_in(repo, "config", "--local", "kl.sync", "true")
    return spec


def _refspec(remote: str) -> str:
    """What `git fetch` must fetch so that evidence comes with the commits."""
    return f"+{OWN}*:{FETCHED}{_folder(remote)}/*"
