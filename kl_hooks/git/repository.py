"""The repository: where it is, where HEAD is, what its configuration sets for kl, which commits
revisions name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.git.run import GitFailed, git, once, verb_of
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.text import one_line

# A flag that rev-parse does not know is printed as it is: a separator that paths with newlines
# survive.
_MARK: Final = "--kl-next"


_trees: Final[dict[tuple[Path, str], str]] = {}
"""(common directory, commit) → its tree, as git stated it: a command asks for HEAD up to five
times. HEAD may move meanwhile, so its file is read each time; what a commit contains never changes.
"""


class Repository(NamedTuple):
    """A git repository with a working tree."""

    top: Path
    """Top folder of the working tree (of a linked worktree: that worktree's)."""
    git_dir: Path
    """Of this worktree; the same as `common_dir` in the main one."""
    common_dir: Path
    """Shared by all worktrees."""
    bare: bool
    """Marked bare although a working tree was found: most git commands will refuse."""
    object_format: str
    """`sha1` or `sha256`."""


class GitSettings(NamedTuple):
    """The part of git's configuration that matters to kl."""

    kl: Mapping[str, str] = {}
    """`kl.*`, names in lower case and without the `kl.`."""
    hooks_path: str | None = None
    """`core.hooksPath` as written."""
    drivers: tuple[str, ...] = ()
    """Filter drivers that the repository's own configuration defines: programs we never run."""
    file_mode: bool = True
    """`core.fileMode`: the executable bit on disk counts."""


_READING: Final = frozenset(
    ("cat-file", "diff-index", "diff-tree", "log", "ls-tree", "merge-base", "rev-list", "rev-parse")
)
"""Commands of git that change nothing, and whose answer is cached in a moment."""


def git_in(repo: Repository, *args: str, **options: Any) -> bytes:
    """`git ARGS…` in this repository and no other; options as `run.git`. In one moment a reading
    command is run once.
    """

    def ask() -> bytes:
        return git(*directory_options(repo), *args, cwd=repo.top, **options)

    if verb_of(args) not in _READING:
        return ask()
    return once((repo, args, repr(options)), ask)


def ignored_by(repo: Repository, path: str) -> str:
    """Return the rule by which git ignores a path that it does not have: `.gitignore:11 (.*)`;
    empty: none.
    """
    rule = (
        git_in(repo, "check-ignore", "-v", "--", path, ok=(0, 1))
        .decode("utf-8", "replace")
        .partition("\t")[0]
    )
    place, _, pattern = rule.rpartition(":")
    if not rule:
        return ""
    return one_line(f"{place} ({pattern})", 120)


def directory_options(repo: Repository) -> tuple[str, str]:
    """The arguments that name the repository, so that git need not look for it and can't find
    another.
    """
    return f"--git-dir={repo.git_dir}", f"--work-tree={repo.top}"


def find_repository(start: Path) -> Repository | None:
    """The repository that contains `start`; None if there is none. One git process.

    EnvironmentProblem where git is missing, too old or refuses (not our folder), or the repository
    is bare.
    """
    args = ["rev-parse", "--path-format=absolute", "--is-bare-repository", "--show-object-format"]
    for what in ("--git-dir", "--git-common-dir", "--show-toplevel"):
        args += [_MARK, what]
    try:
        out = git(*args, cwd=start, ok=(0, 128))
    except GitFailed as problem:
        if not start.is_dir():
            raise EnvironmentProblem("is not a folder.", place=str(start)) from problem
        raise
    if out.startswith(
        b"--path-format"
    ):  # new in git 2.31; an older one prints it as an unknown revision
        version = ".".join(map(str, git_version())) or "(unknown version)"
        raise EnvironmentProblem(f"git {version} is too old.", hint="Install git 2.31 or newer.")
    parts = out.split(f"{_MARK}\n".encode())
    if len(parts) < 3:
        return _why_not(args, start)
    bare, object_format = parts[0].decode().split()
    git_dir, common_dir = (Path(os.fsdecode(p.removesuffix(b"\n"))) for p in parts[1:3])
    if len(parts) > 3 and parts[3]:
        top = Path(os.fsdecode(parts[3].removesuffix(b"\n")))
    else:
        top = None
    if top is None and git_dir.name != ".git":
        raise _bare(start)
    return Repository(top or git_dir.parent, git_dir, common_dir, bare == "true", object_format)


def _why_not(args: list[str], start: Path) -> Repository | None:
    """None if there is no repository at all; else the exception with git's reason, asked for
    again.
    """
    try:
        git(*args, cwd=start)
    except GitFailed as problem:
        if "not a git repository" in problem.stderr:
            return None
        if "bareRepository" in problem.stderr or "bare repository" in problem.stderr:
            raise _bare(start) from problem
        raise
    raise GitFailed("git rev-parse: no answer", returncode=0, stderr="no answer")


def _bare(start: Path) -> EnvironmentProblem:
    return EnvironmentProblem(
        "is a bare repository or the inside of .git: kl needs a working tree.",
        place=str(start),
        hint="Run kl in a clone or a worktree of it.",
    )


def head(repo: Repository) -> tuple[str | None, str | None, str]:
    """(commit, branch, tree ID) of HEAD. No commit yet: (None, branch, empty); detached: (commit,
    None, tree).
    """
    commit, branch = _stored_head(repo)
    if tree := _trees.get((repo.common_dir, commit)):
        return commit, branch, tree
    out = git_in(
        repo, "rev-parse", "HEAD", "HEAD^{tree}", "--symbolic-full-name", "HEAD", ok=(0, 128)
    )
    lines = out.decode("utf-8", "replace").splitlines()
    if len(lines) != 3:
        ref = (
            git_in(repo, "symbolic-ref", "-q", "HEAD", ok=(0, 1, 128))
            .decode("utf-8", "replace")
            .strip()
        )
        lines = ["", "", ref]
    commit, tree, ref = lines
    _trees[repo.common_dir, commit] = tree
    return (
        commit or None,
        ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else None,
        tree,
    )


def _stored_head(repo: Repository) -> tuple[str, str | None]:
    """Commit and branch as the files of git's usual ref storage state them; no commit where only
    git knows it.
    """
    branch = None
    try:
        stored = (repo.git_dir / "HEAD").read_text("utf-8", "replace")
        if stored.startswith("ref: refs/heads/"):
            branch = stored.removeprefix("ref: refs/heads/").removesuffix("\n")
            stored = (repo.common_dir / "refs" / "heads" / branch).read_text("utf-8", "replace")
    except (
        OSError,
        ValueError,
    ):  # packed, or in a reftable, whose HEAD names a branch that can't be
        return "", None
    return stored.removesuffix("\n"), branch


def is_shallow(repo: Repository) -> bool:
    """True if history was cut off when this was cloned."""
    try:
        return (repo.common_dir / "shallow").stat().st_size > 0
    except OSError:
        return False


def completing_fetch(repo: Repository) -> str:
    """The command that fetches what a shallow or partial clone does not have; empty for any other
    one.
    """
    if is_shallow(repo):
        return "git fetch --unshallow"
    # of a partial clone each pack of its remote has such a mark (git's partial-clone.txt)
    partial = any((repo.common_dir / "objects" / "pack").glob("*.promisor"))
    if partial:
        return "git fetch --refetch --no-filter"
    return ""


def git_version() -> tuple[int, ...]:
    """Of git, as numbers: `(2, 39, 5)`. GitMissing if there is none."""
    out = git("version", cwd=os.sep).decode("ascii", "replace")
    match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", out)
    if not match:
        return ()
    return tuple(int(n) for n in match.groups() if n)


def read_git_settings(repo: Repository) -> GitSettings:
    """Read from git's configuration, includes and worktree configuration included.

    One git process.
    """
    pattern = r"^(kl\..*|filter\..*|core\.hookspath|core\.filemode)$"
    out = git_in(repo, "config", "-z", "--show-scope", "--get-regexp", pattern, ok=(0, 1))
    kl: dict[str, str] = {}
    hooks_path = None
    drivers = set()
    file_mode = True
    cells = out.decode("utf-8", "surrogateescape").split("\0")
    for scope, pair in zip(cells[::2], cells[1::2], strict=False):
        name, equals, value = pair.partition("\n")
        if scope == "command":  # what we ourselves put in front of every call
            continue
        if name.startswith("kl."):
            kl[name.removeprefix("kl.")] = value if equals else "true"
        elif name == "core.hookspath":
            hooks_path = value
        elif name == "core.filemode":
            # a name without `=` is true (git-config)
            file_mode = not equals or value.lower() not in ("false", "no", "off", "0", "")
        # a driver in the user's own configuration, such as git-lfs, is a program that the user
        # chose
        elif scope in ("local", "worktree"):
            drivers.add(name.removeprefix("filter.").rpartition(".")[0])
    return GitSettings(kl, hooks_path, tuple(sorted(drivers)), file_mode)


_WORTH_ASKING: Final = lazy_pattern(rb"filter|include|filemode\s*(?:=(?!\s*true\b)|$)", re.I | re.M)


def content_settings(repo: Repository) -> GitSettings:
    """`read_git_settings` for whoever hashes content; no git process where the files plainly set
    nothing of it.
    """
    for path in (repo.common_dir / "config", repo.git_dir / "config.worktree"):
        try:
            if _WORTH_ASKING.search(path.read_bytes()):
                return read_git_settings(repo)
        except FileNotFoundError:
            continue
        except OSError:
            return read_git_settings(repo)
    return GitSettings()


def filters_off(settings: GitSettings) -> list[tuple[str, str]]:
    """Configuration that switches the repository's own filter drivers off: an empty command is no
    command.
    """
    off = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    return [(f"filter.{name}.{key}", value) for name in settings.drivers for key, value in off]


def is_commit_index(repo: Repository) -> bool:
    """True if `GIT_INDEX_FILE` names an index of this repository: the one of a commit being made
    here.

    One that a git hook of another repository left in the environment must not be looked at.
    """
    # `git commit -a` and `git commit FILE` run their hooks on a temporary index in the git
    # directory
    index_file = os.environ.get("GIT_INDEX_FILE")
    return (
        bool(index_file) and (repo.top / str(index_file)).parent.resolve() == repo.git_dir.resolve()
    )


def is_tracked(repo: Repository, path: Path | str) -> bool:
    """True if git tracks this file, or something in this folder.

    A path from the top, or absolute.
    """
    inside = os.path.relpath(repo.top / path, repo.top)
    if inside == ".." or inside.startswith("../"):
        return False
    return bool(git_in(repo, "--literal-pathspecs", "ls-files", "-z", "--", inside))


def tracked_among(
    repo: Repository, paths: Iterable[str], *, only_skipped: bool = False
) -> set[str]:
    """Return those of these paths from the top that the index has: a file, or a folder with
    something in it. One git process.

    `only_skipped`: only those that a sparse checkout omits.
    """
    wanted = sorted(paths)
    if not wanted:
        return set()
    tracked = set[str]()
    command = ("--literal-pathspecs", "ls-files", "-z", "-t", "--", *wanted)
    for line in git_in(repo, *command).split(b"\0"):
        tag, _, file = line.partition(b" ")
        # `S`: --skip-worktree
        if only_skipped and tag != b"S":
            continue
        path = os.fsdecode(file)
        tracked.add(path)
        tracked.update(path[:end] for end, character in enumerate(path) if character == "/")
    return tracked & set(wanted)


def resolve_commit(repo: Repository, rev: str) -> str:
    """The id of the commit that a revision means. UsageProblem if there is none."""
    if rev and not rev.startswith("-") and "\0" not in rev:
        out = git_in(repo, "rev-parse", "-q", "--verify", f"{rev}^{{commit}}", ok=(0, 1, 128))
        if len(out.split()) == 1:  # a range has two
            return out.decode("ascii").strip()
    if is_shallow(repo):
        hint = "The history here is cut off: fetch more (fetch-depth: 0)."
    else:
        hint = "See: git log --oneline"
    raise UsageProblem(f"{rev!r} is not a commit of this repository.", hint=hint)


def commit_time(repo: Repository, commit: str) -> int:
    """When a commit (id) was made, seconds since 1970."""
    return int(
        git_in(
            repo, "show", "-s", "--no-show-signature", "--format=%ct", f"{commit}^{{commit}}"
        ).split()[-1]
    )


def check_out_at(repo: Repository, commit: str, folder: Path) -> None:
    """Make a repository in `folder` with a commit (id) checked out, its history, and no
    configuration of this one.

    Objects are borrowed: nothing is copied, and the working tree, refs and hooks of this repository
    stay as they are.
    """
    algorithm = "sha256" if len(commit) == 64 else "sha1"
    git("init", "-q", "--template=", f"--object-format={algorithm}", str(folder), cwd=repo.top)
    git_dir = folder / ".git"
    (git_dir / "objects" / "info").mkdir(exist_ok=True)
    (git_dir / "objects" / "info" / "alternates").write_bytes(
        os.fsencode(repo.common_dir / "objects") + b"\n"
    )
    if (repo.common_dir / "shallow").exists():
        (git_dir / "shallow").write_bytes((repo.common_dir / "shallow").read_bytes())
    (git_dir / "HEAD").write_text(f"{commit}\n", encoding="ascii")
    # read-tree, not checkout: it runs no hook. Filters of the user's configuration would: git-lfs
    # fetches
    off = [("filter.lfs.smudge", ""), ("filter.lfs.process", ""), ("filter.lfs.required", "false")]
    git("read-tree", "-u", "--reset", commit, cwd=folder, config=off, timeout=300.0)


def merge_base(repo: Repository, first: str, second: str) -> str:
    """The newest commit that both (ids) have in their history. UsageProblem if there is none."""
    out = git_in(repo, "merge-base", first, second, ok=(0, 1)).split()
    if out:
        return out[0].decode("ascii")
    if is_shallow(repo):
        hint = "The history here is cut off: fetch more (fetch-depth: 0)."
    else:
        hint = "Write A..B instead."
    raise UsageProblem(f"{first[:12]} and {second[:12]} have no commit in common.", hint=hint)


def fork_point(repo: Repository, commit: str) -> str:
    """Where a commit of a branch that the remote does not have parted from its default branch;
    empty if unknown.
    """
    # exit codes that are answers: `rev-parse -q --verify` and `merge-base` exit 1 for none, 128 for
    # an unknown commit
    default = git_in(
        repo, "rev-parse", "-q", "--verify", "refs/remotes/origin/HEAD^{commit}", ok=(0, 1, 128)
    ).split()
    if default:
        bases = git_in(
            repo, "merge-base", default[0].decode("ascii"), commit, ok=(0, 1, 128)
        ).split()
    else:
        bases = []
    if not bases:
        return ""
    return bases[0].decode("ascii")


def ref_trees(repo: Repository) -> set[str]:
    """Tree ids of everything that has a name in git. One git process. GitFailed as it comes."""
    # `*`: of an annotated tag the tree of what it names, since the tag itself has none
    out = git_in(repo, "for-each-ref", "--format=%(tree)%0a%(*tree)").decode("ascii", "replace")
    return {line for line in out.split() if line}
