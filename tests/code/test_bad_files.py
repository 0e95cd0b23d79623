"""Bad files: each is named with its place and the reason, the others are read, and nothing of the
graph is lost.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.code.query.lookup import SYMBOLS
from kl_hooks.code.scanner import python
from kl_hooks.code.scanner.python import LARGEST, scan_python
from tests.support import Checkout, checkout, isolate

DEEP = 10_000
PYTHON = "{}.{}".format(*sys.version_info)
NEW = f"it may be newer than Python {PYTHON}"
BAD: dict[str, tuple[bytes, int, str]] = {
    "syntax": (b"x = 1\ndef f(:\n", 2, "invalid syntax"),
    "indent": (b"if 1:\n x\n\ty\n", 3, "nconsistent use of tabs"),
    "print_2": (b"print 'x'\n", 1, "Missing parentheses"),
    "nul": (b"a = 1\nb\0 = 2\n", 0, "null bytes"),
    "bytes_not_utf8": (b"x = '\xff'\n", 1, "utf-8"),
    "utf16": ("x = 1\n".encode("utf-16"), 0, "null bytes"),
    "codec_unknown": (b"# coding: nope\nx = 1\n", 0, "nope"),
    "codec_no_text": (b"# coding: hex\nx = 1\n", 0, "hex"),
    "codec_rot13": (b"# coding: rot13\nk = 1\n", 0, "rot13"),
    "codec_undecodable": (b"# coding: ascii\nx = '\xe9'\n", 0, "ascii"),
    "bom_against_cookie": (b"\xef\xbb\xbf# coding: latin-1\nx = 1\n", 0, "BOM"),
    "deep_round": (b"x = " + b"(" * DEEP + b"1" + b")" * DEEP, 1, "too many nested parentheses"),
    "deep_square": (b"x = " + b"[" * DEEP + b"]" * DEEP, 1, "too many nested parentheses"),
    "deep_calls": (b"x = " + b"f(" * DEEP + b")" * DEEP, 1, "too many nested parentheses"),
    "deep_comprehensions": (
        b"x = " + b"[y for y in " * DEEP + b"z" + b"]" * DEEP,
        1,
        "too many nested parentheses",
    ),
    "deep_unclosed": (b"x = " + b"{" * DEEP, 1, "too many nested parentheses"),
    "deep_minus": (b"x = " + b"-" * DEEP + b"1\n", 0, "nested too deeply"),
    "deep_not": (b"x = " + b"not " * DEEP + b"1\n", 0, "nested too deeply"),
    "deep_lambdas": (b"x = " + b"lambda:" * DEEP + b"1\n", 0, "nested too deeply"),
    "deep_ternaries": (b"x = " + b"1 if a else " * DEEP + b"1\n", 0, "nested too deeply"),
    "deep_powers": (b"x = a" + b"**a" * DEEP + b"\n", 0, "nested too deeply"),
    "deep_blocks": (
        b"".join(b" " * n + b"if a:\n" for n in range(DEEP // 10)),
        101,
        "too many levels of indentation",
    ),
    "deep_functions": (
        b"".join(b" " * n + b"def f():\n" for n in range(200)),
        101,
        "too many levels of indentation",
    ),
    "long_attributes": (b"x = a" + b".b" * 2 * DEEP + b"\n", 0, "nested too deeply"),
    "long_calls": (b"x = a" + b".b()" * DEEP + b"\n", 0, "nested too deeply"),
    "long_sum": (b"x = a" + b"+a" * 2 * DEEP + b"\n", 0, "nested too deeply"),
    "long_elif": (b"if a:\n 1\n" + b"elif a:\n 1\n" * DEEP, 0, "nested too deeply"),
    "long_import": (b"\nimport a" + b".a" * 100_000 + b"\n", 2, "a name of more than 200 parts"),
    "long_number": (b"x = " + b"9" * 5000 + b"\n", 1, "Exceeds the limit"),
    "large": (b"# large\n" + b"x = 1\n" * (LARGEST // 6), 0, "larger than 1,000,000 bytes"),
    "large_import": (b"import a" + b".a" * (LARGEST // 2), 0, "larger than 1,000,000 bytes"),
    "lfs": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
        0,
        "Git LFS pointer",
    ),
    "newer_3_15": (b"lazy import a\n", 1, NEW),
    "newer_after_form_feed": (b"x = 1\n\x0c\ny = 2\nlazy import a\n", 4, NEW),
}
"""Stem of the file → content, line of the problem (0: the file as a whole), what its message
states.
"""
GOOD: dict[str, bytes] = {
    "empty": b"",
    "newline": b"\n",
    "bom": b"\xef\xbb\xbf# coding: utf-8\ndef f(): pass\n",
    "latin": b"# coding: latin-1\ndef f(a='\xe9'): pass\n",
    "utf7": b"# coding: utf-7\ndef f(): pass\n",
    "only_cr": b"x = 1\rdef f(): pass\r",
    "form_feed": b"\x0c\ndef f(): pass\n\x0c\n",
    "long_line": b"x = '" + b"a" * 200_000 + b"'\ndef f(): pass\n",
    "long_strings": b"x = (" + b"'a' " * 20_000 + b")\ndef f(): pass\n",
    "many_names": b"from a import (" + b"b, " * 20_000 + b")\ndef f(): pass\n",
    "wide": b"x = [" + b"1, " * 100_000 + b"]\ndef f(): pass\n",
    "deep_enough": b"x = " + b"(" * 150 + b"1" + b")" * 150 + b"\ndef f(): pass\n",
    "chain_enough": b"x = a" + b".b" * 500 + b"\ndef f(): pass\n",
    "dots": b"x = '''" + b"." * 20_000 + b"'''\ndef f(): pass\n",
}
VERSIONED = {
    "syntax_3_12": (b"x = 1\ntype X = int\n", (3, 12)),
    "generic_3_12": (b"x = 1\nclass C[T]: pass\n", (3, 12)),
    "quotes_3_12": (b"x = 1\ny = f'{'a'}'\n", (3, 12)),
    "default_3_13": (b"x = 1\ndef f[T = int](): pass\n", (3, 13)),
    "template_3_14": (b"x = 1\ny = t'{x}'\n", (3, 14)),
    "except_3_14": (b"try: pass\nexcept A, B: pass\n", (3, 14)),
}
for _stem, (_content, _since) in VERSIONED.items():
    if sys.version_info < _since:
        BAD[_stem] = (_content, 2, NEW)
MANIFEST = "version: 1\nlayers:\n  - name: core\n    paths: [src/core/]\n    may_depend_on: []\n"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One repository with every file of both tables, and what `kl graph build` and `kl arch check`
    state of it.
    """
    base = tmp_path_factory.mktemp("bad")
    with pytest.MonkeyPatch.context() as patch:
        isolate(patch, base / "home")
        repo = checkout(
            base / "repo", {".kl/architecture.yaml": MANIFEST, "src/core/__init__.py": ""}
        )
        for stem, content in {**{stem: bad[0] for stem, bad in BAD.items()}, **GOOD}.items():
            (repo.root / "src" / "core" / f"{stem}.py").write_bytes(content)
        build = repo.kl("graph", "build", "--format", "json")
        check = repo.kl("arch", "check", "--format", "json")
        with repo.workspace().store.reading("graph") as db:
            assert db is not None
            ids = {row[0] for row in db.rows(f"SELECT id FROM {SYMBOLS}")}
        yield build, check, ids


def problems(output: str) -> dict[str, dict[str, Any]]:
    return {Path(p["path"]).stem: p for p in json.loads(output)["problems"]}


def test_building_names_every_bad_file_and_passes(found: Any) -> None:
    build, _, _ = found
    assert build.returncode == 0, build.stderr
    assert sorted(problems(build.stdout)) == sorted(BAD)
    assert json.loads(build.stdout)["files"] == len(BAD) + len(GOOD) + 1


@pytest.mark.parametrize("stem", BAD)
def test_each_bad_file_is_reported_with_its_place_and_reason(found: Any, stem: str) -> None:
    build, check, ids = found
    _, line, printed = BAD[stem]
    problem = problems(build.stdout)[stem]
    assert printed in problem["message"]
    assert problem["line"] == line
    assert problems(check.stdout)[stem]["line"] == line
    assert printed in problems(check.stdout)[stem]["message"]
    assert not [one for one in ids if f".{stem}" in one]


def test_a_governed_file_that_can_not_be_judged_fails_the_check(found: Any) -> None:
    _, check, _ = found
    assert check.returncode == 1, check.stderr
    assert sorted(problems(check.stdout)) == sorted(BAD)
    assert json.loads(check.stdout)["files"] == len(GOOD) + 1


def test_the_good_files_among_them_are_in_the_graph(found: Any) -> None:
    _, _, ids = found
    for stem, content in GOOD.items():
        assert f"namespace:core.{stem}" in ids
        assert (f"function:core.{stem}.f" in ids) == (b"def f" in content)


@pytest.mark.parametrize("codec", [b"latin-1-unix", b"iso-latin-1", b"idna"])
def test_a_codec_that_the_parser_knows_is_known(codec: bytes) -> None:
    assert scan_python(b"# coding: " + codec + b"\ndef f(): pass\n", "m.py", "m")["error"] == ""


def test_a_failure_of_our_reader_costs_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(content: bytes, path: str, module: str) -> Any:
        raise LookupError("unknown encoding")

    monkeypatch.setattr("kl_hooks.code.scanner.python.scan_python", failing)
    error = python.scan_guarded(b"x = 1\n", "m.py", "m")["error"]
    assert error == "0:0: our reader could not cope with it (LookupError: unknown encoding)"


@pytest.mark.parametrize(
    ("start", "gap"),
    [
        (b"import a", b""),
        (b"x = 1; from a", b" "),
        (b"import \\\na", b"\\\n"),
        (b"import b, a", b" \\\r\n "),
    ],
)
def test_a_name_without_end_never_reaches_the_parser(start: bytes, gap: bytes) -> None:
    """CPython would take 10 GB for it."""
    facts = python.scan_guarded(b"x = 1\n" + start + (gap + b".a") * 100_000 + b"\n", "m.py", "m")
    assert "more than 200 parts" in facts["error"]


@pytest.mark.parametrize(
    "content",
    [b"x = a" + b".a" * 2900, b"import a" + b".a" * 199 + b"\n#" + b"." * 9000],
)
def test_other_dots_are_nobodys_business(content: bytes) -> None:
    assert python.scan_guarded(content, "m.py", "m") == scan_python(content, "m.py", "m")


def built(repo: Checkout) -> tuple[dict[str, str], int]:
    """Path → message of `kl graph build`, and the number of files; it must pass."""
    done = repo.kl("graph", "build", "--format", "json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    return {p["path"]: p["message"] for p in answer["problems"]}, answer["files"]


def test_what_is_no_regular_file_is_left_alone(repo: Checkout) -> None:
    """Symbolic links (loops, dangling, outside), a FIFO and a socket hold no source; reading them
    could hang.
    """
    repo.write("good.py", "x = 1\n")
    (repo.root / "loop.py").symlink_to("loop.py")
    (repo.root / "dangling.py").symlink_to("nowhere.py")
    (repo.root / "outside.py").symlink_to(__file__)
    (repo.root / "around").symlink_to(".")
    os.mkfifo(repo.root / "fifo.py")
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(repo.root)  # the path of a socket is limited to 108 bytes
        try:
            server.bind("socket.py")
        finally:
            os.chdir(here)
        printed, files = built(repo)
        assert (printed, files) == ({}, 1)
        repo.git("add", "loop.py", "dangling.py", "outside.py", "around", "good.py")
        assert built(repo) == ({}, 1)


def test_a_tracked_file_that_became_something_else_is_not_lost_silently(repo: Checkout) -> None:
    """Replaced by a FIFO the file was removed, as git reports; nothing waits for a writer."""
    repo.write("x.py", "x = 1\n")
    repo.write("y.py", "y = 1\n")
    repo.commit()
    (repo.root / "x.py").unlink()
    os.mkfifo(repo.root / "x.py")
    printed, files = built(repo)
    assert files - len(printed) == 1


def test_odd_names(repo: Checkout) -> None:
    """Newlines, quotes, spaces, differences in case only; what is not UTF-8 can have no Id and is
    reported.
    """
    for name in (
        "a\nb.py",
        "Case.py",
        "case.py",
        "q\"u'o.py",
        " lead.py",
        "-dash.py",
        "é.py",
        "tab\t.py",
    ):
        repo.write(name, "def f(): pass\n")
    (repo.root / os.fsdecode(b"\xff\xfe.py")).write_text("x = 1\n")
    printed, files = built(repo)
    assert list(printed.values()) == ["its name is not UTF-8."]
    assert files == 8
    with repo.workspace().store.reading("graph") as db:
        assert db is not None
        names = {row[0] for row in db.rows(f"SELECT id FROM {SYMBOLS} WHERE sort = 'function'")}
    assert len(names) == 8
    assert {"function:Case.f", "function:case.f", "function:é.f"} <= names
    assert repo.kl("graph", "search", "f").returncode == 0


def test_a_submodule_has_a_graph_of_its_own(repo: Checkout, tmp_path: Path) -> None:
    other = checkout(tmp_path / "other", {"inner.py": "def inside(): pass\n"}, kl=False)
    repo.write("outer.py", "def outside(): pass\n")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.root), "sub")
    assert built(repo) == ({}, 1)
    repo.commit()
    assert built(repo) == ({}, 1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_reported(repo: Checkout) -> None:
    repo.write("open.py", "x = 1\n")
    repo.write("shut.py", "x = 1\n").chmod(0)
    printed, files = built(repo)
    assert (list(printed), files) == (["shut.py"], 2)
    assert "could not be read" in printed["shut.py"]


def test_an_edited_file_of_a_hundred_megabytes_is_reported_and_never_loaded(repo: Checkout) -> None:
    repo.write("small.py", "x = 1\n")
    with (repo.root / "huge.py").open("wb") as file:
        file.truncate(100_000_000)  # a hole: no disk is used
    printed, files = built(repo)
    assert (list(printed), files) == (["huge.py"], 2)
    assert "too large" in printed["huge.py"]


def synced_while_a_file_vanished(repo: Checkout) -> list[tuple[str, str]]:
    """Syncs in this process; `goes.py` is deleted between the listing of the files and their
    reading.
    """
    from kl_hooks.code.query.session import refresh_graph
    from kl_hooks.git import files

    repo.write("stays.py", "def f(): pass\n")
    repo.write("goes.py", "def g(): pass\n")
    listed = files.worktree_files

    def vanishing(*args: Any) -> Any:
        entries = listed(*args)
        (repo.root / "goes.py").unlink()
        return entries

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "worktree_files", vanishing)
        return [
            (problem.path, problem.message) for problem in refresh_graph(repo.workspace()).problems
        ]


def test_a_file_that_vanishes_while_it_is_read_costs_itself_only(repo: Checkout) -> None:
    ((path, message),) = synced_while_a_file_vanished(repo)
    assert path == "goes.py"
    assert "could not be read" in message
    assert built(repo) == ({}, 1)


def test_a_file_that_comes_back_is_read(repo: Checkout) -> None:
    """As with an editor that writes by deleting and making anew."""
    synced_while_a_file_vanished(repo)
    repo.write("goes.py", "def g(): pass\n")
    assert built(repo) == ({}, 2)
