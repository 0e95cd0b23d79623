"""Where the state is, and how it appears."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.store.state import State, locate_state, prepare_state, spool_directories, spool_key

REPO = Path(__file__).parents[2]


def _git(tmp_path: Path, **environ: str) -> State:
    common = tmp_path / "repo" / ".git"
    common.mkdir(parents=True, exist_ok=True)
    return locate_state(
        tmp_path / "repo", common, common, None, {"HOME": str(tmp_path / "home"), **environ}
    )


def _tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_with_git_it_is_in_the_common_directory(tmp_path: Path) -> None:
    state = _git(tmp_path)
    top = tmp_path / "repo" / ".git" / "kl"
    assert state.directory == top
    assert (state.database, state.spool, state.lock) == (
        top / "kl.db",
        top / "spool",
        top / "store.lock",
    )
    assert state.graph == top / "graph" / "main.db"
    assert state.cache.parent == tmp_path / "home" / ".cache" / "kl"
    assert state.origin == "git"


def test_worktrees_share_all_but_the_graph(tmp_path: Path) -> None:
    main = _git(tmp_path)
    common = tmp_path / "repo" / ".git"
    a, b = (
        locate_state(
            tmp_path / name,
            common,
            common / "worktrees" / name,
            None,
            {"HOME": str(tmp_path / "home")},
        )
        for name in ("a", "b")
    )
    assert a.directory == b.directory == main.directory
    assert a.cache == main.cache
    assert len({a.graph, b.graph, main.graph}) == 3


def test_without_git_it_is_the_users_by_path(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "one")
    environ = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    one, two, link = (
        locate_state(tmp_path / name, None, None, None, environ) for name in ("one", "two", "link")
    )
    assert one.directory.parent == tmp_path / "state" / "kl"
    assert one.cache.parent == tmp_path / "cache" / "kl"
    assert one.directory == link.directory != two.directory
    assert one.origin == "user"


def test_a_relative_xdg_folder_counts_for_nothing(tmp_path: Path) -> None:
    state = locate_state(
        tmp_path, None, None, None, {"HOME": "/h", "XDG_STATE_HOME": "rel", "XDG_CACHE_HOME": ""}
    )
    assert state.directory.is_relative_to("/h/.local/state/kl")
    assert state.cache.is_relative_to("/h/.cache/kl")


@pytest.mark.parametrize(
    "override", ["/abs/place", "rel/place", "~/place", "~nobody-of-this-name/place"]
)
def test_the_user_may_name_another_place(
    tmp_path: Path, override: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/h")
    state = locate_state(tmp_path, tmp_path / ".git", tmp_path / ".git", override, {"HOME": "/h"})
    assert state.directory.is_absolute()
    assert state.directory.name == "place"
    assert state.origin == "override"


def test_without_a_home_there_is_still_a_place(tmp_path: Path) -> None:
    code = (
        "import os; os.environ.clear(); from pathlib import Path; from kl_hooks.store.state import"
        " locate_state\n"
    )
    code += (
        f"s = locate_state(Path({str(tmp_path)!r}), None, None, None, {{}}); print(s.directory,"
        " s.cache)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPO, capture_output=True, text=True, check=True
    )
    assert all(place.startswith("/") for place in done.stdout.split())


def test_knowing_the_place_creates_nothing(tmp_path: Path) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    before = _tree(tmp_path)
    state = _git(tmp_path)
    spool_directories(state, tmp_path / "repo", {"HOME": str(tmp_path / "home")})
    assert _tree(tmp_path) == before


def test_places_for_a_spool(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path / "home")}
    state = _git(tmp_path)
    places = spool_directories(state, tmp_path / "repo", environ)
    assert [origin for _, origin in places] == ["local", "spool:user", "spool:checkout"]
    assert places[0][0] == state.spool
    assert places[1][0].is_relative_to(tmp_path / "home" / ".local" / "state" / "kl")
    assert places[2][0] == tmp_path / "repo" / ".kl" / "spool"
    alone = locate_state(tmp_path / "repo", None, None, None, environ)
    assert spool_directories(alone, tmp_path / "repo", environ)[0] == (alone.spool, "local")


def test_it_appears_with_an_explanation_and_for_us_alone(tmp_path: Path) -> None:
    state = _git(tmp_path)
    prepare_state(state)
    prepare_state(state)
    assert _tree(state.directory) == {"README", ".gitignore", "spool", "spool.key", "graph"}
    assert "Deleting it loses the evidence" in (state.directory / "README").read_text()
    assert (state.directory / ".gitignore").read_text() == "*\n"
    for path in (state.directory, state.spool, state.graph.parent):
        assert path.stat().st_mode & 0o777 == 0o700
    assert list((tmp_path / "repo" / ".git").iterdir()) == [state.directory]


def test_many_at_once_make_one(tmp_path: Path) -> None:
    for attempt in range(20):
        state = _git(tmp_path / str(attempt))
        barrier = threading.Barrier(4)
        faults: list[BaseException] = []

        def make(
            state: State = state,
            barrier: threading.Barrier = barrier,
            faults: list[BaseException] = faults,
        ) -> None:
            barrier.wait()
            try:
                prepare_state(state)
            except BaseException as fault:
                faults.append(fault)

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        assert _tree(state.directory) == {"README", ".gitignore", "spool", "spool.key", "graph"}
        assert list(state.directory.parent.iterdir()) == [state.directory]


def test_threads_that_make_the_key_at_once_leave_one(tmp_path: Path) -> None:
    for attempt in range(100):
        state = _git(tmp_path / str(attempt))
        prepare_state(state)
        (state.directory / "spool.key").unlink()
        barrier = threading.Barrier(4)

        def make(state: State = state, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            prepare_state(state)

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(spool_key(state)) == 32
        assert _tree(state.directory) == {"README", ".gitignore", "spool", "spool.key", "graph"}


def test_a_spool_that_was_first_gets_its_explanation_later(tmp_path: Path) -> None:
    state = _git(tmp_path)
    state.spool.mkdir(parents=True)
    state.directory.chmod(0o755)
    prepare_state(state)
    assert (state.directory / "README").exists()
    assert state.directory.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_holds_other_items_is_not_marked_or_closed(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir(mode=0o755)
    (place / "thesis.txt").write_text("mine")
    prepare_state(locate_state(tmp_path, None, None, str(place), {"HOME": str(tmp_path)}))
    assert _tree(place) == {"thesis.txt", "spool", "spool.key", "graph"}
    assert place.stat().st_mode & 0o777 == 0o755


def test_a_file_or_a_dead_link_in_its_place_is_reported(tmp_path: Path) -> None:
    state = _git(tmp_path)
    state.directory.write_text("")
    with pytest.raises(EnvironmentProblem, match=r"is not a folder\. Move it away"):
        prepare_state(state)
    state.directory.unlink()
    state.directory.symlink_to(tmp_path / "nowhere")
    with pytest.raises(EnvironmentProblem, match="leads nowhere"):
        prepare_state(state)
    assert not (tmp_path / "nowhere").exists()


def test_a_file_that_somebody_named_as_the_state_directory_states_who_names_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("")
    state = locate_state(tmp_path, tmp_path / ".git", None, str(tmp_path / "file"), {})
    with pytest.raises(
        EnvironmentProblem, match=r"is not a folder\. KL_STATE, or git config kl\.state, names it"
    ):
        prepare_state(state)


def test_a_link_to_a_folder_of_ours_is_followed(tmp_path: Path) -> None:
    state = _git(tmp_path)
    (tmp_path / "disk").mkdir()
    state.directory.symlink_to(tmp_path / "disk")
    prepare_state(state)
    assert (tmp_path / "disk" / "spool").is_dir()


def test_a_link_to_somebody_elses_folder_is_refused(tmp_path: Path) -> None:
    theirs = Path("/usr")
    if os.geteuid() == 0:
        theirs = tmp_path / "theirs"
        theirs.mkdir()
        os.chown(theirs, 65534, 65534)
    state = _git(tmp_path)
    state.directory.symlink_to(theirs)
    with pytest.raises(EnvironmentProblem, match=r"a link to somebody else's folder .*KL_STATE"):
        prepare_state(state)
    assert not (theirs / "spool").exists()
