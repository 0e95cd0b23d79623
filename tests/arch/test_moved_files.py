"""Layers that lost their files: what a moved or removed folder is in each content, and its new
folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kl_hooks.arch import gate
from kl_hooks.arch.baseline import baseline_bytes, entries_for
from kl_hooks.arch.check import CheckOptions, run_check
from kl_hooks.arch.content import STAGED, WORKTREE
from kl_hooks.arch.formats import report_text, verdict_to_dict
from kl_hooks.arch.layer_check import Verdict
from kl_hooks.arch.layers import unmatched_paths
from kl_hooks.arch.manifest_parser import read_manifest
from kl_hooks.arch.moved_files import EarlierContent, folder_now
from kl_hooks.git import renames
from tests.arch.shop import LAYERS, MANIFEST, opened, shop
from tests.arch.verdicts import broken
from tests.git.repos import commit, make, sh, write

API = "  - name: api\n    paths: [src/shop/api/]\n    may_depend_on: [core]\n"
FILES = {
    MANIFEST: LAYERS + API,
    "src/shop/api/__init__.py": "",
    "src/shop/api/http.py": "from shop.core.order import total\n\nPRICE = total()\n",
    "src/shop/api/rpc.py": "from shop.core.order import total\n\nSUM = total() + 1\n",
}
MOVED = f'{MANIFEST}:12: src/shop/api/ is now src/shop/rest/: layer "api" lost 3 files since HEAD.'
MOVE = "kl arch mv src/shop/api src/shop/rest"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The shop with a third layer."""
    return shop(tmp_path / "shop", FILES)


def verdict(folder: Path, source: str = STAGED, **options: str) -> Verdict:
    found, _ = run_check(opened(folder), source, CheckOptions(**options))
    assert found is not None
    return found


def errors(found: Verdict) -> list[str]:
    return [f"{one.path}:{one.line}: {one.message}" for one in found.emptied]


def move(folder: Path, old: str = "src/shop/api", new: str = "src/shop/rest") -> None:
    sh(folder, "mv", old, new)


def test_a_moved_folder_blocks_the_commit_and_names_its_new_place(folder: Path) -> None:
    assert verdict(folder).clean
    move(folder)
    found = verdict(folder)
    assert errors(found) == [MOVED] and found.emptied[0].hint == MOVE
    assert not found.clean and found.loosened == ()
    assert errors(verdict(folder, WORKTREE)) == [MOVED]


def test_the_error_stays_after_the_commit_that_made_it(folder: Path) -> None:
    move(folder)
    moved = commit(folder, "moved")
    write(folder, {"README": "later"})
    commit(folder, "later")
    late = MOVED.replace("since HEAD", f"in {moved[:12]}")
    for source in (WORKTREE, STAGED, "HEAD"):
        assert errors(verdict(folder, source)) == [late]
    at_once = verdict(folder, moved)
    assert errors(at_once) == [MOVED.replace("HEAD", f"{moved[:12]}^")]
    assert errors(verdict(folder, WORKTREE, trust="HEAD~2")) == [MOVED.replace("HEAD", "HEAD~2")]
    assert errors(verdict(folder, "HEAD", since=sh(folder, "rev-parse", "HEAD~2")))


def test_a_folder_that_was_moved_by_hand_and_edited_is_found(folder: Path) -> None:
    (folder / "src/shop/api").rename(folder / "src/shop/rest")
    write(folder, {"src/shop/rest/http.py": "x = 1\n"})  # nothing of it is left to compare
    assert errors(verdict(folder, WORKTREE)) == [MOVED]
    sh(folder, "add", "-A")
    assert errors(verdict(folder)) == [MOVED]


def test_a_removed_layer_and_its_path_leave_in_one_commit(folder: Path) -> None:
    sh(folder, "rm", "-rq", "src/shop/api")
    found = verdict(folder)
    assert errors(found) == [
        f'{MANIFEST}:12: src/shop/api/ was removed: layer "api" lost 3 files since HEAD.'
    ]
    assert found.emptied[0].hint.startswith("Remove the path, or the layer;")
    write(folder, {MANIFEST: LAYERS})
    sh(folder, "add", "-A")
    assert verdict(folder).clean and verdict(folder).loosened == ()


def test_one_path_of_several_can_be_lost(folder: Path) -> None:
    write(folder, {MANIFEST: (LAYERS + API).replace("api/]", "api/, src/shop/cli.py]")})
    write(folder, {"src/shop/cli.py": "COMMAND = 'shop'\n"})
    commit(folder, "two paths")
    move(folder, "src/shop/cli.py", "src/shop/command.py")
    assert errors(verdict(folder)) == [
        f"{MANIFEST}:12: src/shop/cli.py is now src/shop/command.py:"
        ' layer "api" lost 1 file since HEAD.'
    ]


def test_files_spread_over_folders_name_these(folder: Path) -> None:
    for number, name in enumerate(("http.py", "rpc.py", "__init__.py")):
        (folder / f"src/shop/part{number}").mkdir()
        move(folder, f"src/shop/api/{name}", f"src/shop/part{number}/{name}")
    (found,) = verdict(folder).emptied
    assert "src/shop/api/ matches no file any more" in found.message
    assert "1 in src/shop/part0/" in found.message
    assert found.hint == 'Name them in the paths of layer "api", or remove the path.'


def test_a_layer_that_never_had_a_file_is_a_warning(folder: Path) -> None:
    write(folder, {MANIFEST: LAYERS + API.replace("shop/api/", "shop/appi/")})
    sh(folder, "add", "-A")
    for source in (WORKTREE, STAGED):
        found = verdict(folder, source)
        assert found.clean and [str(one) for one in found.warnings] == [
            f'{MANIFEST}: layer "api" matches no file (paths: src/shop/appi/).'
            " Closest: src/shop/api/."
        ]


def test_a_repository_without_a_commit_has_nothing_to_compare_with(tmp_path: Path) -> None:
    make(tmp_path / "new")
    write(tmp_path / "new", {MANIFEST: LAYERS, "a.py": ""})
    sh(tmp_path / "new", "add", "-A")
    assert verdict(tmp_path / "new").clean and len(verdict(tmp_path / "new").warnings) == 2


def test_a_baseline_shows_that_a_layer_had_files(folder: Path) -> None:
    accepted = entries_for([broken(source="api", target="web")])
    write(folder, {MANIFEST: LAYERS + API.replace("shop/api/", "shop/appi/")})
    (folder / ".kl/baseline.json").write_bytes(baseline_bytes(accepted))
    (error,) = errors(verdict(folder, WORKTREE))
    assert 'layer "api" matches no file' in error and "accepts 1 import of it" in error


def test_files_that_a_move_takes_out_of_all_layers_are_named(folder: Path) -> None:
    move(folder, "src/shop/api/http.py", "src/shop/front.py")
    expected = (
        f"{MANIFEST}:12:1: loosened since HEAD: 1 file of api moved to where no layer is:"
        " src/shop/api/http.py to src/shop/front.py."
    )
    found = verdict(folder)
    assert found.clean and found.emptied == ()
    assert [str(one).partition(" Name their")[0] for one in found.loosened] == [expected]
    commit(folder, "half")
    for source in (WORKTREE, "HEAD"):
        found = verdict(folder, source, trust="HEAD~1")
        assert not found.clean and len(found.loosened) == 1
    # to another layer: its rules apply
    sh(folder, "reset", "-q", "--hard", "HEAD~1")
    move(folder, "src/shop/api/http.py", "src/shop/web/http.py")
    assert verdict(folder).loosened == ()


def test_a_layer_that_is_removed_while_its_folder_moves_is_named(folder: Path) -> None:
    move(folder)
    write(folder, {MANIFEST: LAYERS})
    sh(folder, "add", "-A")
    (found,) = verdict(folder).loosened
    assert "3 files of api moved to where no layer is" in str(found)
    commit(folder, "moved")
    assert not verdict(folder, "HEAD", trust="HEAD~1").clean


def test_an_exception_under_the_new_name_of_a_module_is_no_new_one(folder: Path) -> None:
    rules = LAYERS + API + "exceptions:\n  - {from: shop.api.http, to: shop.web.page}\n"
    write(folder, {MANIFEST: rules})
    commit(folder, "excepted")
    move(folder)
    write(folder, {MANIFEST: rules.replace("shop/api", "shop/rest").replace("p.api", "p.rest")})
    sh(folder, "add", "-A")
    assert verdict(folder).loosened == () and verdict(folder).emptied == ()
    write(folder, {MANIFEST: (folder / MANIFEST).read_text().replace("rest.http", "rest.rpc")})
    sh(folder, "add", "-A")
    assert "shop.rest.rpc is excepted" in str(verdict(folder).loosened)


def test_a_check_asks_git_only_where_a_path_matches_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    for name in ("renamed_files", "last_commit_touching"):
        original = getattr(renames, name)

        def counting(*args: object, call: object = original, name: str = name) -> object:
            asked.append(name)
            return call(*args)  # type: ignore[operator]

        monkeypatch.setattr(renames, name, counting)
    write(folder, {"src/shop/core/price.py": "x = 1\n", "tool.py": "y = 2\n"})
    sh(folder, "rm", "-q", "src/shop/web/page.py")
    sh(folder, "mv", "src/shop/api/rpc.py", "src/shop/api/call.py")
    sh(folder, "add", "src")
    assert verdict(folder).clean and asked == []
    sh(folder, "add", "tool.py")  # removed from a layer, and added to none: it may be the same file
    assert verdict(folder).clean and asked == ["renamed_files"]


def test_the_hook_blocks_it_without_the_command_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert gate.main(["--staged", "--quiet"]) == 0
    move(folder)
    assert gate.main(["--staged", "--quiet"]) == 1
    assert capsys.readouterr().out.splitlines()[:2] == [MOVED, f"    hint: {MOVE}"]


def test_a_range_and_a_folder_keep_it(folder: Path) -> None:
    move(folder)
    found = verdict(folder)
    assert found.in_files({"src/shop/core/order.py"})[0].emptied == found.emptied
    assert found.in_folder("tests/").emptied == found.emptied


def test_every_format_has_it_under_its_own_rule(folder: Path) -> None:
    move(folder)
    found = [("staged", verdict(folder))]

    def shown(shape: str) -> str:
        return report_text(shape, found)

    annotation, _ = shown("github").splitlines()
    assert annotation.startswith(f"::error file={MANIFEST},line=12,col=1,title=A layer lost its")
    assert MOVE in annotation
    assert [(row["check_name"], row["severity"]) for row in json.loads(shown("gitlab"))] == [
        ("arch/layer-emptied", "major"),
        ("arch/unassigned", "info"),
    ]
    (run,) = json.loads(shown("sarif"))["runs"]
    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [
        ("arch/layer-emptied", "error")
    ]


def test_import_linter_refuses_the_same_tree(folder: Path) -> None:
    contract = (
        "[importlinter]\nroot_package = shop\n[importlinter:contract:1]\nname = order\n"
        "type = layers\nlayers =\n    shop.api\n    shop.web\n    shop.core\n"
    )
    write(folder, {"setup.cfg": contract})
    commit(folder, "as a contract too")

    def fails() -> tuple[bool, bool]:
        command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
        paths = os.environ | {"PYTHONPATH": str(folder / "src")}
        done = subprocess.run(command, cwd=folder, env=paths, capture_output=True, check=False)
        return done.returncode != 0, not verdict(folder).clean

    assert fails() == (False, False)
    move(folder)
    assert fails() == (True, True)


RULES = read_manifest(MANIFEST, (LAYERS + API).encode())


def test_paths_that_match_nothing() -> None:
    files = ["src/shop/core/a/b/c.py", "src/shop/web.py", "src/shop/apis/x.py"]
    assert [path for _, path in unmatched_paths(RULES, files)] == [
        "src/shop/web/",
        "src/shop/api/",
    ]
    whole = read_manifest(MANIFEST, b"layers:\n- {name: all, paths: [./]}\n")
    assert unmatched_paths(whole, []) == []


@pytest.mark.parametrize(
    ("now", "moved", "folder"),
    [
        (["b/x.py", "b/y.py", "b/z.py"], {}, "b/"),
        (["b/x.py", "c/y.py", "d/z.py"], {}, ""),
        (["b/x.py", "b/y2.py", "d/z.py"], {"a/y.py": "b/y2.py"}, "b/"),
        (["k/b/x.py", "k/b/y.py"], {}, "k/b/"),
        (["x.py", "y.py", "z.py"], {"a/x.py": "x.py", "a/y.py": "y.py", "a/z.py": "z.py"}, ""),
    ],
)
def test_the_folder_that_most_files_are_in(
    now: list[str], moved: dict[str, str], folder: str
) -> None:
    earlier = EarlierContent("", dict.fromkeys(("a/x.py", "a/y.py", "a/z.py"), "1"), moved)
    assert folder_now("a/", earlier, now) == folder


def test_the_answer_of_a_program_names_them(folder: Path) -> None:
    move(folder)
    value = json.loads(json.dumps(verdict_to_dict(verdict(folder))))
    assert (value["schema"], value["clean"], len(value["emptied"])) == (
        "kl.arch.check/3",
        False,
        1,
    )
