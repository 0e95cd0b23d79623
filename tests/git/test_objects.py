"""The ids computed here are git's own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kl_hooks.git.objects import TreeBuilder, _tree_reader, object_id
from kl_hooks.git.run import GitFailed
from tests.git.repos import CLEAN, make, opened, sh

NAMES = st.sampled_from(
    [b"a", b"a.b", b"a-b", b"a0", b"b", b"\xff\xfe", b"\xc3\xa9", b"new\nline", b"Z", b"aa"]
)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(b"/".join)
MODES = st.sampled_from([b"100644", b"100755", b"120000", b"160000"])
ROWS = st.dictionaries(
    PATHS, st.tuples(MODES, st.integers(1, 5).map(lambda n: f"{n:x}" * 40)), max_size=12
)


def consistent(rows: dict[bytes, tuple[bytes, str]]) -> dict[bytes, tuple[bytes, str]]:
    """Without files that are where another file has its folder."""
    return {p: v for p, v in rows.items() if not any(o.startswith(p + b"/") for o in rows)}


def by_git(folder: Path, rows: dict[bytes, tuple[bytes, str]]) -> str:
    lines = b"".join(
        b"%s %s 0\t%s\0" % (mode, blob.encode(), path) for path, (mode, blob) in rows.items()
    )
    env = CLEAN | {"GIT_INDEX_FILE": str(folder / ".git/scratch-index")}
    subprocess.run(["git", "read-tree", "--empty"], cwd=folder, env=env, check=True)
    subprocess.run(
        ["git", "update-index", "-z", "--index-info"], input=lines, cwd=folder, env=env, check=True
    )
    made = subprocess.run(
        ["git", "write-tree", "--missing-ok"], cwd=folder, env=env, check=True, capture_output=True
    )
    return made.stdout.decode().strip()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=ROWS, after=ROWS)
def test_a_changed_tree_has_the_id_git_gives_it(tmp_path: Path, before: dict, after: dict) -> None:  # type: ignore[type-arg]
    folder = tmp_path / "r"
    if not folder.exists():
        make(folder)
    before, after = consistent(before), consistent(after)
    builder = TreeBuilder("sha1")
    for path, (mode, blob) in before.items():
        builder.put(path, mode, blob)
    first = builder.root()
    for path in before.keys() - after.keys():
        builder.drop(path)
    for path, (mode, blob) in after.items():
        builder.put(path, mode, blob)
    assert (first, builder.root()) == (by_git(folder, before), by_git(folder, after))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=ROWS, after=ROWS)
def test_a_tree_that_is_there_is_changed(tmp_path: Path, before: dict, after: dict) -> None:  # type: ignore[type-arg]
    folder = tmp_path / "r"
    repo = opened(folder) if folder.exists() else make(folder)
    before, after = consistent(before), consistent(after)
    with _tree_reader(repo) as load:
        builder = TreeBuilder("sha1", by_git(folder, before), load)
        for path in (before.keys() - after.keys()) | {b"nowhere/at/all", b"a/\xff"} - after.keys():
            builder.drop(path)
        for path, (mode, blob) in after.items():
            builder.put(path, mode, blob)
        assert builder.root() == by_git(folder, after)


def test_only_folders_that_change_are_read(tmp_path: Path) -> None:
    repo = make(tmp_path / "r", {f"{a}/{b}/f": f"{a}{b}\n" for a in "abc" for b in "xyz"})
    asked = []
    with _tree_reader(repo) as load:
        builder = TreeBuilder(
            "sha1",
            sh(repo.top, "rev-parse", "HEAD^{tree}"),
            lambda tree: asked.append(tree) or load(tree),
        )
        builder.put(b"a/x/g", b"100644", "1" * 40)
        builder.put(b"a/x/h", b"100644", "1" * 40)
        builder.root()
    assert len(asked) == 3


def test_a_folder_that_git_lost(tmp_path: Path) -> None:
    repo = make(tmp_path / "r", {"a/f": "1\n"})
    with _tree_reader(repo) as load, pytest.raises(GitFailed, match="no tree"):
        TreeBuilder("sha1", "1" * 40, load).put(b"a/g", b"100644", "1" * 40)


def test_folders_as_deep_as_a_path_may_be() -> None:
    deep = b"/".join([b"d"] * 2000)
    builder = TreeBuilder("sha1")
    builder.put(deep, b"100644", "1" * 40)
    one = builder.root()
    builder.drop(deep)
    assert len(one) == 40
    assert builder.root() == object_id("sha1", b"tree", b"")


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_the_empty_tree(tmp_path: Path, algorithm: str) -> None:
    repo = make(tmp_path / "r", None, f"--object-format={algorithm}")
    assert TreeBuilder(algorithm).root() == sh(repo.top, "mktree", stdin=b"")
