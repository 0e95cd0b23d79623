"""`kl init`: green on day one, overwrites nothing, and takes back exactly what it wrote."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kl_hooks.cli import init as init_command
from kl_hooks.cli.init import _pre_commit_addition, _pre_commit_entry
from kl_hooks.cli.main import run
from kl_hooks.config.yaml import load_yaml
from kl_hooks.git.hooks import PRE_COMMIT_FILE
from tests.arch.shop import FILES, MANIFEST
from tests.git.repos import fingerprint, make, sh, write
from tests.support import Checkout

LIFECYCLE = ".kl/knowledge/lifecycle.yaml"
Kl = Callable[..., tuple[int, str, str]]
PRE_COMMIT = (
    "repos:\n  - repo: https://example.org/black\n    rev: '24'\n    hooks:\n      - id: black  #"
    " mine\n"
)


@pytest.fixture
def kl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kl:
    """Runs `kl ARGS…` in a shop without `.kl/` and gives exit code, stdout and stderr."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    make(tmp_path / "shop", FILES)
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))

    def call(*args: str) -> tuple[int, str, str]:
        code = run(args)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def ours() -> dict[str, bytes]:
    """The files of the working tree."""
    return {
        p.as_posix(): p.read_bytes()
        for p in Path().rglob("*")
        if p.is_file() and ".git" not in p.parts
    }


def test_files_that_no_scanner_reads_are_counted(kl: Kl) -> None:
    write(Path.cwd(), {"web/cart.kt": "", "web/view.kts": "", "notes/todo.txt": ""})
    assert "  found   2 files not assessed, no scanner reads Kotlin (2)\n" in kl("init")[1]
    kl("init", "--undo")
    write(Path.cwd(), {".gitignore": "web/\n"})
    assert "not assessed" not in kl("init")[1]


@pytest.mark.requirement("A49")
def test_init_writes_layers_that_are_green_and_states_what_to_do_next(kl: Kl) -> None:
    code, out, err = kl("init")
    assert (code, err) == (0, "")
    assert sorted(set(ours()) - set(FILES)) == [
        ".kl/.gitignore",
        MANIFEST,
        ".kl/config.yaml",
        LIFECYCLE,
    ]
    for part in (
        "found   python",
        "5 modules, 1 import",
        f"wrote   {MANIFEST}",
        "3 layers, proposed from your imports",
        "private to this clone",
        "1. look at the proposal",
        "kl hooks install",
        "Undo with: kl init --undo",
    ):
        assert part in out, part
    assert kl("arch", "check")[0] == 0
    sh(Path.cwd(), "add", "-A")
    assert kl("arch", "check", "--staged")[0] == 0


def test_the_written_settings_are_read_back_as_the_defaults(kl: Kl) -> None:
    from kl_hooks.config.settings import Settings, load_settings

    kl("init")
    assert load_settings(Path.cwd(), {}, {}, None) == Settings()


def test_undo_restores_everything(kl: Kl) -> None:
    write(Path.cwd(), {PRE_COMMIT_FILE: PRE_COMMIT})
    before = ours()
    assert kl("init", "--yes")[0] == 0
    assert ours() != before
    code, out, _ = kl("init", "--undo")
    assert (code, ours(), Path(".kl").exists()) == (0, before, False)
    assert out.count("removed") == 4 and "restored" in out
    assert kl("init", "--undo")[0] == 3


def test_undo_takes_kl_s_git_hooks_away_and_restores_those_before_them(kl: Kl) -> None:
    own = b"#!/bin/sh\n# mine\n"
    (hooks := Path(".git/hooks")).mkdir(exist_ok=True)
    (hooks / "pre-push").write_bytes(own)
    (hooks / "pre-push").chmod(0o700)
    (hooks / "commit-msg").write_bytes(own)
    before = {path: (path.read_bytes(), path.stat().st_mode) for path in hooks.iterdir()}
    assert kl("init")[0] == kl("hooks", "install")[0] == 0
    edited = hooks / "post-commit"
    edited.write_bytes(edited.read_bytes() + b"echo mine\n")
    code, out, _ = kl("init", "--undo", "--format", "json")
    done = {one["path"]: one["what"] for one in json.loads(out)["done"]}
    assert (code, done[".git/hooks/pre-push"], done[".git/hooks/pre-commit"]) == (
        0,
        "restored",
        "removed",
    )
    assert done[".git/hooks/post-commit"].startswith("left: somebody has edited it")
    edited.unlink()
    assert {path: (path.read_bytes(), path.stat().st_mode) for path in hooks.iterdir()} == before


def test_undo_keeps_what_was_changed_since(kl: Kl) -> None:
    kl("init")
    write(Path.cwd(), {MANIFEST: "# mine\n", ".kl/notes.txt": "mine\n"})
    code, out, _ = kl("init", "--undo")
    assert code == 0 and "left: changed since" in out
    assert set(ours()) - set(FILES) == {MANIFEST, ".kl/notes.txt"}
    Path(MANIFEST).unlink()
    assert kl("init", "--undo")[0] == 0


def test_a_second_init_overwrites_nothing_and_undo_still_knows_the_first(kl: Kl) -> None:
    kl("init")
    write(Path.cwd(), {".kl/config.yaml": "budget: 900\n"})
    Path(".kl/.gitignore").unlink()
    code, out, _ = kl("init")
    assert code == 0 and "exists  .kl/config.yaml" in out and "wrote   .kl/.gitignore" in out
    assert Path(".kl/config.yaml").read_text() == "budget: 900\n"
    kl("init", "--undo")
    assert set(ours()) - set(FILES) == {".kl/config.yaml"}


def test_without_consent_the_pre_commit_configuration_is_printed_not_touched(kl: Kl) -> None:
    write(Path.cwd(), {PRE_COMMIT_FILE: PRE_COMMIT})
    code, out, _ = kl("init")
    assert code == 0 and Path(PRE_COMMIT_FILE).read_text() == PRE_COMMIT
    assert (
        "- id: kl-check" in out
        and "default_install_hook_types: [pre-commit, post-commit, pre-push]" in out
    )


def test_with_consent_it_is_appended_and_stays_byte_for_byte(kl: Kl) -> None:
    write(Path.cwd(), {PRE_COMMIT_FILE: PRE_COMMIT})
    assert "added   .pre-commit-config.yaml" in kl("init", "--yes")[1]
    text = Path(PRE_COMMIT_FILE).read_text()
    assert text.startswith(PRE_COMMIT) and "  - repo: local\n" in text
    code, out, _ = kl("init", "--yes")
    assert code == 0 and Path(PRE_COMMIT_FILE).read_text() == text and "(has our hooks)" in out


def test_the_appended_configuration_is_valid_for_pre_commit(kl: Kl, tmp_path: Path) -> None:
    from pre_commit.clientlib import load_config

    for number, text in enumerate(
        (PRE_COMMIT, "default_install_hook_types: [commit-msg]\n" + PRE_COMMIT)
    ):
        added = _pre_commit_addition(text.encode())
        assert added is not None
        path = tmp_path / f"{number}.yaml"
        path.write_text(text + added)
        config = load_config(str(path))
        assert [hook["id"] for repo in config["repos"] for hook in repo["hooks"]][1:] == [
            "kl-check",
            "kl-check-push",
            "kl-record-commit",
            "kl-verify",
        ]


@pytest.mark.parametrize(
    "text",
    [
        "repos: []\n",
        "repos: [{repo: local, hooks: []}]\n",
        PRE_COMMIT + "ci: {}\n",
        "x: &a 1\n" + PRE_COMMIT,
        "",
        "- a\n",
        "repos:\n",
        PRE_COMMIT.replace("\n", "\r\n"),
        PRE_COMMIT + "\t\n: x",
        "repos:\n- &a {repo: local}\n",
    ],
)
def test_where_appending_is_not_plainly_right_nothing_is_appended(text: str) -> None:
    assert _pre_commit_addition(text.encode()) is None


def test_the_snippet_states_the_same_as_the_hooks_we_publish() -> None:
    import yaml

    every = yaml.safe_load((Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text())
    published = [hook for hook in every if hook["id"] != "kl-init"]
    published = [hook for hook in published if not hook["description"].endswith("Opt-in.")]
    (ours,) = yaml.safe_load(_pre_commit_entry())
    for hook in published:
        for key in ("description", "minimum_pre_commit_version"):
            hook.pop(key, None)
        hook["language"] = "system"
    assert ours["hooks"] == published


def test_the_snippet_reads_at_any_depth() -> None:
    for indent in (0, 2, 4):
        assert load_yaml("f", b"repos:\n" + _pre_commit_entry(indent).encode())[1] == []


def test_a_repository_without_python_gets_settings_only(kl: Kl, tmp_path: Path) -> None:
    make(tmp_path / "empty", {"README": "hello\n"})
    code, out, _ = kl("--root", str(tmp_path / "empty"), "init")
    assert code == 0 and "no layers to propose" in out
    assert (
        not (tmp_path / "empty" / MANIFEST).exists()
        and (tmp_path / "empty" / ".kl/config.yaml").exists()
    )


def test_a_home_that_leads_elsewhere_is_refused(kl: Kl, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    Path(".kl").symlink_to(tmp_path / "outside")
    code, _, err = kl("init")
    assert (
        code == 2
        and "leads out of the repository" in err
        and list((tmp_path / "outside").iterdir()) == []
    )


def test_a_file_in_its_place_is_refused(kl: Kl) -> None:
    Path(".kl").write_text("mine")
    code, _, err = kl("init")
    assert (
        code == 2 and "is not a folder. Move it away" in err and Path(".kl").read_text() == "mine"
    )


def test_no_repository_no_init(kl: Kl, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    code, _, err = kl("--root", str(tmp_path / "plain"), "init")
    assert (
        code == 3 and "not a git repository" in err and list((tmp_path / "plain").iterdir()) == []
    )


def test_json(kl: Kl) -> None:
    code, out, _ = kl("init", "--format", "json")
    value = json.loads(out)
    assert code == 0 and value["schema"] == "kl.init/2" and value["layers"] == 3
    assert value["wrote"] == [".kl/.gitignore", MANIFEST, ".kl/config.yaml", LIFECYCLE]
    code, out, _ = kl("init", "--undo", "--format", "json")
    assert {row["what"] for row in json.loads(out)["done"]} == {"removed"}


def test_a_proposal_states_which_files_it_could_not_read(kl: Kl) -> None:
    write(Path.cwd(), {"src/shop/core/bad.py": "def (\n"})
    code, out, _ = kl("init")
    assert code == 0 and "unread" in out and "src/shop/core/bad.py:1:5" in out


def test_init_touches_nothing_in_git_but_its_state(kl: Kl) -> None:
    before = fingerprint(Path(".git"))
    kl("init")
    after = {
        path: facts
        for path, facts in fingerprint(Path(".git")).items()
        if not path.startswith(".git/kl")
    }
    assert after == before


def test_two_at_once_write_once_and_one_undo_takes_it_back(
    kl: Kl, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(Path.cwd(), {PRE_COMMIT_FILE: PRE_COMMIT})
    sh(Path.cwd(), "add", "-A")
    real = init_command._survey

    def late(*args: object, **options: object) -> object:
        found = real(*args, **options)  # type: ignore[arg-type]
        monkeypatch.setattr(init_command, "_survey", real)
        assert kl("init", "--yes")[0] == 0  # the other one, between our look and our writing
        return found

    monkeypatch.setattr(init_command, "_survey", late)
    assert kl("init", "--yes")[0] == 0
    assert Path(PRE_COMMIT_FILE).read_text().count("id: kl-check\n") == 1
    assert kl("init", "--undo")[0] == 0
    assert Path(PRE_COMMIT_FILE).read_text() == PRE_COMMIT
    assert not Path(".kl").exists()


def test_another_file_that_appeared_meanwhile_is_left(
    kl: Kl, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = init_command._survey

    def late(*args: object, **options: object) -> object:
        found = real(*args, **options)  # type: ignore[arg-type]
        write(Path.cwd(), {MANIFEST: "mine\n"})
        return found

    monkeypatch.setattr(init_command, "_survey", late)
    code, _, err = kl("init")
    assert (code, "appeared just now" in err) == (2, True)
    assert Path(MANIFEST).read_text() == "mine\n"


README = "# Shop\n\nA shop for tests, open to all.\n\n## Installation\n\npip install shop\n"


@pytest.mark.requirement("B4", "B6")
def test_with_consent_the_documents_become_records_and_undo_takes_them_back(kl: Kl) -> None:
    write(Path.cwd(), {"README.md": README})
    before = ours()
    code, out, _ = kl("init", "--yes")
    assert code == 0 and "seeded  2 records" in out
    made = {name for name in ours() if name.startswith(".kl/knowledge/") and name.endswith(".md")}
    assert made == {
        ".kl/knowledge/facts/FACT-0001-what-this-project-is.md",
        ".kl/knowledge/guides/GUIDE-0001-installation.md",
    }
    assert "2 skipped" in kl("seed")[1]
    assert kl("init", "--undo")[0] == 0
    assert (ours(), Path(".kl").exists()) == (before, False)
    assert "seeded  2 records" in kl("init", "--yes")[1]


@pytest.mark.requirement("B6")
def test_without_consent_seeding_is_a_step_that_is_named(kl: Kl) -> None:
    write(Path.cwd(), {"README.md": README})
    assert "kl seed   (2 records)" in kl("init")[1]
    assert not Path(".kl/knowledge/facts").exists()
    value = json.loads(kl("init", "--format", "json")[1])
    assert (value["seeds"], value["seeded"]) == (2, [])


class Terminal(io.StringIO):
    """A person who types this."""

    def isatty(self) -> bool:
        return True


def test_a_second_time_only_what_is_still_open_is_asked_and_advised(
    kl: Kl, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(Path.cwd(), {"README.md": README, PRE_COMMIT_FILE: PRE_COMMIT})
    monkeypatch.setattr("sys.stdin", Terminal("y\ny\n"))
    code, out, err = kl("init")
    assert (code, err.count("[y/N]")) == (0, 2)
    assert "seeded  2 records" in out and f"added   {PRE_COMMIT_FILE}" in out
    kl("hooks", "install")
    monkeypatch.setattr("sys.stdin", Terminal(""))
    code, out, err = kl("init")
    assert (code, err) == (0, "")
    for done in ("kl seed", "look at the proposal", "install the git hooks", "seeded", "wrote"):
        assert done not in out
    write(Path.cwd(), {"README.md": README + "\n## Usage\n\nshop --open\n"})
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    _, out, err = kl("init")
    assert "Make 1 record of what your documents state?" in err and "kl seed   (1 record)" in out


def test_nobody_is_asked_about_a_file_that_nothing_can_be_appended_to(
    kl: Kl, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(Path.cwd(), {PRE_COMMIT_FILE: "repos: []\n"})
    monkeypatch.setattr("sys.stdin", Terminal(""))
    code, out, err = kl("init")
    assert (code, err) == (0, "") and "To check commits, add this" in out


def test_undo_where_nothing_was_made_speaks_of_no_files(kl: Kl) -> None:
    code, out, err = kl("init", "--undo")
    assert (code, out) == (3, "")
    assert "nothing to undo: there is no .kl/" in err and "by hand" not in err


def test_files_named_like_tests_outside_testpaths_are_proposed_as_excluded(repo: Checkout) -> None:
    for name in (
        "tests/test_a.py",
        "docs/ex/test_b.py",
        "docs/ex/deep/test_c.py",
        "test_root.py",
        "src/plain.py",
    ):
        repo.write(name, "def test_x():\n    pass\n")
    repo.write("pytest.ini", "[pytest]\ntestpaths = tests\n")
    repo.commit("tests here and there")
    assert repo.kl("init", "--yes").returncode == 0
    text = (repo.root / ".kl/config.yaml").read_text()
    assert '    - "docs/ex"\n    - "test_root.py"\n' in text
    assert "test_a" not in text
    assert repo.workspace().settings.verify_exclude == ("docs/ex", "test_root.py")


CIRCULAR = {
    "src/shop/core/order.py": "def total():\n    from shop.web import page\n    return 1\n",
    "src/shop/web/page.py": "from ..core.order import total\nimport shop.core\n",
}


@pytest.mark.requirement("A49")
def test_parts_that_import_each_other_are_layers_with_a_baseline(kl: Kl) -> None:
    write(Path.cwd(), CIRCULAR)
    code, out, _ = kl("init")
    assert code == 0 and "1 import against these layers accepted; only new ones block" in out
    text = Path(MANIFEST).read_text()
    assert text.index("name: core") < text.index("name: web") and "core-web" not in text
    assert "# in the baseline: 1 import of web, the first at src/shop/core/order.py:2" in text
    assert kl("arch", "check")[0] == 0
    write(Path.cwd(), {"src/shop/core/new.py": "import shop.web.page\n"})
    assert kl("arch", "check")[0] == 1
    kl("init", "--undo")
    assert not Path(".kl").exists()
    assert "baseline" not in kl("init", "--exact")[1]
    assert "name: core-web" in Path(MANIFEST).read_text() and kl("arch", "check")[0] == 0


def test_run_by_pre_commit_it_speaks_of_pre_commit(kl: Kl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRE_COMMIT", "1")
    out = kl("init")[1]
    assert (
        "pre-commit run kl-check" in out
        and "pre-commit install" in out
        and "kl arch check" not in out
    )
