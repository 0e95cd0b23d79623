"""`kl graph` as people and programs see it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kl_hooks.cli import output
from kl_hooks.cli.main import run
from kl_hooks.code.query.search import ALL_KINDS
from kl_hooks.operations.graph import SEARCHED_KINDS
from tests.code.making import repository
from tests.git.repos import write

ROOT = Path(__file__).resolve().parents[2]
Kl = Callable[..., tuple[int, str, str]]


@pytest.fixture
def kl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kl:
    """Runs `kl ARGS…` in the repository and gives exit code, stdout and stderr."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("KL_STATE", raising=False)
    repository(tmp_path / "repo")
    (tmp_path / "repo" / ".kl").mkdir()
    monkeypatch.chdir(tmp_path / "repo")

    def call(*args: str) -> tuple[int, str, str]:
        code = run(args)
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.mark.requirement("A28", "A29", "C16")
def test_build_counts(kl: Kl) -> None:
    assert kl("graph", "build") == (
        0,
        (
            "4 files (4 newly read, 0 removed), 11 symbols, 23 links\n  symbols  1 field, 2"
            " functions, 2 methods, 4 namespaces, 1 test, 1 type\n  links    3 calls, 10 defines, 2"
            " depends_on, 5 imports, 3 references; 0 unresolved (matched by name only)\n  0 files"
            " not assessed\n"
        ),
        "",
    )
    assert kl("graph", "build")[1].startswith("4 files (0 newly read, 0 removed)")
    write(Path.cwd(), {"src/shop/web.py": "from . import core\n\nEXTRA = core.LIMIT\n"})
    assert kl("graph", "build")[1].startswith("4 files (1 newly read, 0 removed)")
    assert kl("graph", "search", "EXTRA")[1].splitlines()[0] == "src/shop/web.py"


UNREAD = "3 files not assessed, no scanner reads Kotlin (2), Go (1)"


def test_files_of_other_languages_are_counted_where_nothing_is_found(kl: Kl) -> None:
    assert "unread" not in kl("graph", "build")[1]
    rows = {"web/cart.kt": "class Ledger\n", "web/view.kts": "", "src/lib.go": ""}
    write(Path.cwd(), rows)
    subprocess.run(["git", "add", "web"], check=True)
    assert kl("graph", "build")[1].endswith(f"1 type\n{UNREAD}\n".partition("\n")[2])
    for command, name in (("search", "Ledger"), ("show", "Ledger"), ("symbols", "web/cart.kt")):
        assert UNREAD in kl("graph", command, name)[2]
    assert UNREAD not in "".join(kl("graph", "search", "Basket")[1:])
    answer = json.loads(kl("graph", "search", "Ledger", "--format", "json")[1])
    assert answer["unread"] == {"Kotlin": 2, "Go": 1}


def test_a_revision_counts_its_own_files(kl: Kl) -> None:
    write(Path.cwd(), {"web/cart.kt": ""})
    assert "Kotlin" not in kl("graph", "search", "Ledger", "--at", "HEAD")[2]
    subprocess.run(["git", "add", "web"], check=True)
    identity = ("-c", "user.name=t", "-c", "user.email=t@t")
    subprocess.run(["git", *identity, "commit", "-qm", "Web"], check=True)
    (Path.cwd() / "web" / "cart.kt").unlink()
    assert "Kotlin (1)" in kl("graph", "search", "Ledger", "--at", "HEAD")[2]
    assert "Kotlin" not in kl("graph", "search", "Ledger")[2], "it is there no more"


def test_build_names_what_does_not_parse_and_goes_on(kl: Kl) -> None:
    write(Path.cwd(), {"bad.py": "x = = 1\n"})
    code, out, err = kl("graph", "build")
    assert code == 0
    assert out.startswith("5 files (5 newly read, 0 removed), 11 symbols, 23 links\n")
    assert out.endswith("  1 file not assessed\n")
    assert err == "kl: bad.py:1:5: invalid syntax. It is not in the graph.\n"
    answer = json.loads(kl("graph", "build", "--format", "json")[1])
    assert answer["schema"] == "kl.graph.build/2"
    counts = [
        answer[name] for name in ("files", "parsed", "removed", "symbols", "links", "unresolved")
    ]
    assert counts == [5, 0, 0, 11, 23, 0]
    assert sum(answer["nodes"].values()) == 11
    assert sum(answer["relations"].values()) == 23
    assert answer["problems"] == [
        {"path": "bad.py", "line": 1, "column": 5, "message": "invalid syntax."}
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_only(kl: Kl, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert run(["graph", "build"]) == 0
    assert "Reading files" in terminal.getvalue()
    assert "100%" in terminal.getvalue()
    monkeypatch.undo()


def test_slow_work_is_shown_on_a_terminal(kl: Kl, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    with monkeypatch.context() as patched:
        patched.setattr(output, "PROGRESS_DELAY", 0.0)
        patched.setattr(sys, "stderr", terminal)
        assert run(["graph", "refs", "Basket"]) == 0
    shown = terminal.getvalue()
    assert shown.startswith("\rUpdating the code graph … ") and shown.endswith("\r\x1b[K")
    assert kl("graph", "refs", "Basket")[2] == "", "not where nobody watches"


def test_lists_are_grouped_by_file_and_no_line_is_long(kl: Kl) -> None:
    name = "a_function_with_a_name_that_is_much_too_long_for_any_line_of_a_list" + "_and_more" * 4
    calls = "".join(f"def {name}_{n}():\n    show_page(None)\n\n\n" for n in range(2))
    source = f"from shop.web import show_page\n\n\n{calls}"
    write(
        Path.cwd(),
        {"src/shop/last.py": source, "tests/test_last.py": source, "src/shop/a.py": source},
    )
    for verb in ("callers", "refs", "dependents"):
        out = kl("graph", verb, "show_page", "--tests")[1].splitlines()[1:]
        assert [line for line in out if len(line) > 100] == []
        files = [line for line in out if not line.startswith(" ")]
        assert files == ["src/shop/a.py", "src/shop/last.py", "tests/test_last.py"], verb
        assert kl("graph", verb, "show_page")[1].splitlines()[-1].startswith("tests: "), verb


@pytest.mark.requirement("A30", "A32", "C17")
def test_search_gives_id_place_and_signature(kl: Kl) -> None:
    code, out, err = kl("graph", "search", "add", "line")
    assert (code, err) == (0, "")
    assert out.splitlines()[:2] == [
        "src/shop/core.py",
        "     8  method:shop.core.Basket.add_line  def add_line(self, item: str) -> None",
    ]


@pytest.mark.requirement("A32", "C18")
def test_search_as_json_with_kind_and_limit(kl: Kl) -> None:
    answer = json.loads(kl("graph", "search", "basket", "--kind", "type", "--format", "json")[1])
    (hit,) = answer["hits"]
    assert (hit["id"], hit["path"], hit["line"], hit["signature"]) == (
        "type:shop.core.Basket",
        "src/shop/core.py",
        5,
        "class Basket",
    )
    assert (hit["name"], hit["kind"], hit["owner"]) == ("Basket", "type", "shop.core")
    assert answer["schema"] == "kl.graph.search/2"
    assert (
        len(
            json.loads(kl("graph", "search", "shop", "--limit", "2", "--format", "json")[1])["hits"]
        )
        == 2
    )


@pytest.mark.requirement("A33", "C15")
def test_packages_nested_classes_relative_imports_and_bases(kl: Kl) -> None:
    source = (
        "from ..core import Basket\n\n\n@staticmethod\ndef free() -> None: ...\n\n\n"
        "class Large(Basket):\n    SIZE = 9\n\n    class Handle:\n"
        "        def lift(self) -> int:\n            return Large.SIZE\n"
    )
    write(Path.cwd(), {"src/shop/deep/__init__.py": source})
    found = {
        hit["id"]: hit
        for hit in json.loads(kl("graph", "symbols", "deep/__init__.py", "--format", "json")[1])[
            "symbols"
        ]
    }
    assert set(found) == {
        "namespace:shop.deep",
        "function:shop.deep.free",
        "type:shop.deep.Large",
        "field:shop.deep.Large.SIZE",
        "type:shop.deep.Large.Handle",
        "method:shop.deep.Large.Handle.lift",
    }
    assert "inherits" in kl("graph", "refs", "shop.core.Basket")[1]


@pytest.mark.parametrize("words", [["zebra"], ['"'], ["AND", "("], ["*"]])
def test_nothing_found_is_reported(kl: Kl, words: list[str]) -> None:
    code, out, err = kl("graph", "search", *words)
    assert (code, out) == (0, "")
    assert err == f"kl: no matches for: {' '.join(words)}\n"


def test_usage_error_is_exit_2(kl: Kl) -> None:
    assert kl("graph", "search")[0] == 2
    assert kl("graph", "search", "x", "--kind", "nothing")[0] == 2
    assert kl("graph", "search", "x", "--limit", "0")[0] == 2


def test_the_kinds_offered_are_those_there_are() -> None:
    assert SEARCHED_KINDS == ALL_KINDS


@pytest.mark.requirement("A32", "C18")
def test_refs_and_callers_by_file_and_line(kl: Kl) -> None:
    assert kl("graph", "callers", "Basket.total")[1].splitlines()[1:] == [
        "tests: 1 in 1 file (--tests lists them)"
    ]
    assert kl("graph", "callers", "Basket.total", "--tests") == (
        0,
        (
            "method:shop.core.Basket.total  src/shop/core.py:11\ntests/test_core.py\n"
            "     5  calls       in function:tests.test_core.test_total  (instance, 80%)\n"
        ),
        "",
    )
    answer = json.loads(kl("graph", "refs", "Basket", "--format", "json", "--limit", "2")[1])
    assert (answer["schema"], answer["answer"], answer["unresolved"]) == (
        "kl.graph.refs/2",
        "yes",
        0,
    )
    assert (answer["not_assessed"], answer["total"]) == ([], 4)
    assert [(one["line"], one["links"][0]["relation"]) for one in answer["refs"]] == [
        (2, "imports"),
        (5, "references"),
    ]
    place = answer["refs"][1]
    assert (place["path"], place["line"]) == ("src/shop/web.py", 5)
    assert place["links"] == [
        {
            "source": "function:shop.web.show_page",
            "relation": "references",
            "target": "type:shop.core.Basket",
            "method": "import",
            "confidence": 100,
        }
    ]
    assert kl("graph", "refs", "Basket", "--limit", "1")[2] == "kl: 1 of 2; more with --top 2.\n"


@pytest.mark.requirement("C19")
def test_none_is_reported_three_ways(kl: Kl) -> None:
    assert kl("graph", "callers", "show_page")[1].splitlines()[1:] == ["No callers."]
    write(Path.cwd(), {"late.py": "def f(x):\n    x.show_page()\n", "bad.py": "x = = 1\n"})
    code, out, err = kl("graph", "callers", "show_page")
    assert (code, err) == (0, "kl: there may be more: 1 file not assessed: bad.py.\n")
    assert out.splitlines()[1:] == [
        "possible calls by name, the receiver's likely type in brackets:",
        "late.py",
        "     2  x.show_page()  in f",
    ]
    listed = kl("graph", "callers", "show_page", "--unresolved")[1].splitlines()[1:]
    assert listed == ["late.py", "     2  calls       in function:late.f  (name only, 0%)"]
    answer = json.loads(kl("graph", "callers", "show_page", "--format", "json")[1])
    assert (answer["answer"], answer["unresolved"], answer["not_assessed"]) == (
        "not assessed",
        1,
        ["bad.py"],
    )
    assert (
        kl("graph", "callers", "Basket.total")[2]
        == "kl: there may be more: 1 file not assessed: bad.py.\n"
    )


@pytest.mark.requirement("A32")
def test_dependents_by_level(kl: Kl) -> None:
    code, out, _ = kl("graph", "dependents", "LIMIT", "--depth", "2")
    assert code == 0
    assert out.splitlines()[1:] == [
        "src/shop/core.py",
        "    12  level 1  references  in method:shop.core.Basket.total  (same scope)",
        "src/shop/web.py",
        "     7  level 1  references  in function:shop.web.show_page  (import)",
        "tests: 1 in 1 file (--tests lists them)",
    ]
    assert kl("graph", "dependents", "LIMIT", "--depth", "2", "--tests")[1].splitlines()[-2:] == [
        "tests/test_core.py",
        "     5  level 2  calls       in function:tests.test_core.test_total  (instance, 80%)",
    ]
    answer = json.loads(kl("graph", "dependents", "LIMIT", "--format", "json")[1])
    assert [(one["level"], one["relation"]) for one in answer["dependents"]][-1] == (3, "calls")
    far = kl("graph", "dependents", "LIMIT", "--depth", "99", "--format", "json")
    assert (far[0], json.loads(far[1])["depth"]) == (0, 10), "clamped"


@pytest.mark.requirement("A27", "C18")
def test_path_symbols_and_show(kl: Kl) -> None:
    assert kl("graph", "path", "test_total", "LIMIT")[1].splitlines() == [
        (
            "function:tests.test_core.test_total  tests/test_core.py:4  (2 links to"
            " field:shop.core.LIMIT)"
        ),
        "  calls method:shop.core.Basket.total  tests/test_core.py:5 (instance, 80%)",
        "  references field:shop.core.LIMIT  src/shop/core.py:12 (same scope)",
    ]
    assert kl("graph", "path", "LIMIT", "test_total")[1] == "No path.\n"
    assert kl("graph", "symbols", "web.py")[1].splitlines() == [
        "src/shop/web.py",
        "     1  module shop.web",
        "     5    def show_page(basket: Basket) -> str",
    ]
    out = kl("graph", "show", "Basket.total")[1]
    assert "defined by     type:shop.core.Basket" in out
    assert "tests          1\n    test:tests/test_core.py::test_total" in out
    for words in (("path", "test_total", "LIMIT"), ("symbols", "web.py"), ("show", "Basket")):
        number = 2 if words[0] == "show" else 1
        schema = json.loads(kl("graph", *words, "--format", "json")[1])["schema"]
        assert schema == f"kl.graph.{words[0]}/{number}"


def test_show_names_the_layer(kl: Kl) -> None:
    manifest = (
        "version: 1\nlayers:\n  - name: core\n    paths: [src/shop/core.py]\n    may_depend_on:"
        " []\n"
    )
    write(Path.cwd(), {".kl/architecture.yaml": manifest})
    assert "governed by    layer:core" in kl("graph", "show", "Basket")[1]
    assert json.loads(kl("graph", "show", "web.py", "--format", "json")[1])["layer"] == ""
    write(Path.cwd(), {".kl/architecture.yaml": "version: [\n"})
    assert kl("graph", "show", "Basket")[0] == 0


def test_what_means_several_items_or_none_is_exit_2(kl: Kl) -> None:
    write(Path.cwd(), {"more.py": "def total(): pass\n"})
    code, out, err = kl("graph", "callers", "total")
    assert (code, out) == (2, "")
    assert err.splitlines()[1:] == [
        "  function:more.total  more.py:1",
        "  method:shop.core.Basket.total  src/shop/core.py:11",
    ]
    answer = json.loads(kl("graph", "callers", "total", "--format", "json")[1])
    assert answer["schema"] == "kl.graph.candidates/1"
    assert [one["id"] for one in answer["candidates"]] == [
        "function:more.total",
        "method:shop.core.Basket.total",
    ]
    code, out, err = kl("graph", "refs", "show_pag")
    assert (code, out) == (2, "")
    assert "Did you mean function:shop.web.show_page?" in err


def test_every_question_can_be_put_to_a_revision(kl: Kl) -> None:
    write(Path.cwd(), {"src/shop/web.py": "def other(): pass\n"})
    for words in (
        ("refs", "show_page"),
        ("callers", "show_page"),
        ("dependents", "show_page"),
        ("symbols", "web.py"),
        ("path", "show_page", "LIMIT"),
        ("show", "show_page"),
        ("search", "show_page"),
    ):
        code, out, err = kl("graph", *words, "--at", "HEAD")
        assert (code, err) == (0, "")
        assert "show_page" in out
    assert kl("graph", "build", "--at", "HEAD")[1].startswith(
        "4 files (0 newly read, 0 removed), 11 symbols"
    )
    assert kl("graph", "show", "show_page")[0] == 2
    assert kl("graph", "show", "show_page", "--at", "nope")[0] == 2


def test_without_git_is_exit_3(kl: Kl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "plain")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    code, out, err = kl("graph", "build")
    assert (code, out) == (3, "")
    assert "not a git repository" in err


def test_a_repository_that_does_not_use_kl_gets_no_state(kl: Kl, tmp_path: Path) -> None:
    (tmp_path / "repo" / ".kl").rmdir()
    for words in (("build",), ("search", "basket")):
        code, out, err = kl("graph", *words)
        assert (code, out) == (3, "")
        assert "kl init" in err
    assert not (tmp_path / "repo" / ".git" / "kl").exists()


def test_unresolved_uses_of_a_part_leave_dependents_open(kl: Kl) -> None:
    write(
        Path.cwd(),
        {"late.py": "class Late:\n    def feed(self): pass\n\n\ndef f(x):\n    x.feed()\n"},
    )
    assert kl("graph", "dependents", "Late")[1].splitlines()[1:] == [
        "none found; 1 unresolved use of its name or a part's (kl graph dependents Late"
        " --unresolved lists them)"
    ]
    listed = kl("graph", "dependents", "Late", "--unresolved")[1].splitlines()[1:]
    assert listed == ["late.py", "     6  calls      feed  in function:late.f  (name only, 0%)"]
    answer = json.loads(kl("graph", "dependents", "Late", "--unresolved", "--format", "json")[1])
    assert [link["target"] for link in answer["unresolved_uses"]] == ["name:feed"]
    out = kl("graph", "show", "late.f")[1].splitlines()
    assert out[-2:] == ["unresolved     1: feed", "used by        nothing"]


def test_a_name_that_is_only_imported_has_a_user(kl: Kl) -> None:
    write(Path.cwd(), {"a.py": "LIMIT_OF_A = 1\n", "b.py": "from a import LIMIT_OF_A\n"})
    printed = kl("graph", "refs", "LIMIT_OF_A")[1].splitlines()
    assert printed[1:] == ["b.py", "     1  imports     in namespace:b  (import)"]
    assert (
        kl("graph", "path", "b", "LIMIT_OF_A")[1].splitlines()[1]
        == "  imports field:a.LIMIT_OF_A  b.py:1 (import)"
    )


def test_show_counts_in_plain_words(kl: Kl) -> None:
    source = (
        "class Base: pass\nclass One(Base): pass\nclass Two(Base): pass\n\ndef f():\n    Base()\n  "
        "  return [Base]\n"
    )
    write(Path.cwd(), {"a.py": source, "b.py": "from a import Base\n"})
    out = kl("graph", "show", "a.Base")[1]
    assert "used by        1 call, 1 import, 2 subclasses, 1 reference\n" in out
    assert "    calls in function:a.f  a.py:6 (same scope)\n" in out
    assert (
        "uses           1 base class\n    inherits type:a.Base  a.py:2"
        in kl("graph", "show", "a.One")[1]
    )


def test_a_name_with_a_line_end_ends_no_line(kl: Kl) -> None:
    """Lines that begin with `::` are orders to whoever runs a job on GitHub."""
    write(
        Path.cwd(),
        {"a\n::add-mask::x.py": "from shop.core import LIMIT\ndef odd(): return LIMIT\n"},
    )
    write(Path.cwd(), {"b\n::error::y.py": "x = = 1\n"})
    asked = [
        ("build",),
        ("search", "odd"),
        ("show", "odd"),
        ("symbols", "::add-mask::x.py"),
        ("refs", "LIMIT"),
    ]
    asked += [("dependents", "LIMIT"), ("path", "odd", "LIMIT"), ("callers", "odd")]
    for question in asked:
        code, out, err = kl("graph", *question)
        assert code in (0, 2) and (out or err)
        assert not [line for line in (out + err).splitlines() if line.startswith("::")], question


IMPORTED = (
    "import os, sys; from kl_hooks.cli.main import run; code = run(sys.argv[1:]);"
    " sys.stdout.flush(); os.write(2, ' '.join(sys.modules).encode()); os._exit(code)"
)
NEVER = {
    "shutil",
    "tempfile",
    "random",
    "rich",
    "yaml",
    "logging",
    "multiprocessing",
    "concurrent.futures",
    "libcst",
    "grimp",
    "diskcache",
    "socket",
    "importlib.metadata",
    "kl_hooks.code.precise",
    "kl_hooks.records.sync",
    "kl_hooks.records.query",
    "kl_hooks.evidence.ledger",
    "kl_hooks.arch.manifest_parser",
    "kl_hooks.cli.kind_commands",
}
"""What no question to the code needs, whether a file was changed or not."""
WRITING = {
    f"kl_hooks.{name}"
    for name in (
        "code.update",
        "code.file_facts",
        "code.linker",
        "code.name_index",
        "code.scanner.imports",
        "code.scanner.references",
        "code.scanner.symbols",
        "code.scanner.visitor",
        "store.redaction",
    )
}
"""What only a changed file needs."""


def imported(root: Path, *argv: str) -> set[str]:
    """The modules that a command imported."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("KL_", "GIT_"))} | {
        "PYTHONPATH": str(ROOT)
    }
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, *argv],
        cwd=root,
        env=environ,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def test_a_question_imports_what_it_needs(kl: Kl, tmp_path: Path) -> None:
    root = tmp_path / "repo"
    assert kl("graph", "symbols", "src/shop/core.py")[0] == 0
    unchanged = imported(root, "graph", "symbols", "src/shop/core.py")
    assert unchanged & (NEVER | WRITING) == set()
    write(root, {"src/shop/core.py": "def fresh(): pass\n"})
    changed = imported(root, "graph", "symbols", "src/shop/core.py")
    assert changed & NEVER == set()
    assert WRITING - changed == set(), "what is never imported proves nothing above"


@pytest.mark.slow
@pytest.mark.parametrize("seen", [True, False])
def test_what_takes_long_is_announced_to_whoever_watches(
    kl: Kl, monkeypatch: pytest.MonkeyPatch, seen: bool
) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: seen)
    monkeypatch.setattr("sys.stderr", screen)
    assert kl("graph", "build", "--precise")[0] == 0
    assert ("with libcst and grimp too; that takes a while." in screen.getvalue()) == seen


def _many_calls(folder: str, number: int) -> dict[str, str]:
    source = "".join(f"def f{n}(x):\n    x.feed()\n\n\n" for n in range(number))
    return {f"{folder}/test_calls.py" if folder == "tests" else f"{folder}/calls.py": source}


FEEDER = {"feeder.py": "class Feeder:\n    def feed(self): ...\n"}


def test_the_first_possible_calls_are_listed_and_the_others_counted(kl: Kl) -> None:
    write(Path.cwd(), {**FEEDER, **_many_calls("src", 17), **_many_calls("tests", 7)})
    code, out, err = kl("graph", "callers", "Feeder.feed")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[1:4] == [
        "possible calls by name, the receiver's likely type in brackets:",
        "src/calls.py",
        "     2  x.feed()  in f0",
    ]
    assert sum("x.feed()" in line for line in lines) == 15 + 5
    assert lines[-1] == (
        "not listed: 4 more possible ones, 2 of them in tests (kl graph callers Feeder.feed --all"
        " lists them)"
    )
    every = kl("graph", "callers", "Feeder.feed", "--all")[1]
    assert every.count("x.feed()") == 17 + 7 and "not listed" not in every
    answer = json.loads(kl("graph", "callers", "Feeder.feed", "--format", "json")[1])
    assert (answer["schema"], answer["answer"]) == ("kl.graph.callers/2", "not assessed")
    assert (len(answer["possible"]), answer["possible_total"]) == (20, 24)
    assert answer["possible"][0] == {
        "path": "src/calls.py",
        "line": 2,
        "kind": "call",
        "certainty": "possible",
        "in": "function:calls.f0",
        "receiver": "x",
        "types": [],
        "text": "x.feed()",
    }


def test_a_name_that_is_everywhere_is_counted_but_for_the_likely_calls(kl: Kl) -> None:
    typed = {
        "typed.py": "from feeder import Feeder\n\n\ndef f(x: Feeder | None, feeder):\n    "
        "x.feed()\n"
    }
    write(Path.cwd(), {**FEEDER, **_many_calls("src", 50), **typed})
    untyped = {"guess.py": "def g(feeder):\n    feeder.feed()\n"}
    write(Path.cwd(), untyped)
    lines = kl("graph", "callers", "Feeder.feed")[1].splitlines()
    assert "     2  feeder.feed()  in g" in lines
    assert not any("x.feed()  in f1" in line for line in lines)
    assert lines[-1].startswith("not listed: 50 more possible ones (kl graph callers")


def test_calls_of_another_meaning_are_counted_and_listed_with_all(kl: Kl) -> None:
    write(Path.cwd(), {**FEEDER, "use.py": "import feeder, os\n\n\ndef f():\n    os.feed()\n"})
    assert kl("graph", "callers", "Feeder.feed")[1].splitlines()[-1] == (
        "not listed: 1 of that name with another meaning (kl graph callers Feeder.feed --all lists"
        " them)"
    )
    every = kl("graph", "callers", "Feeder.feed", "--all")[1].splitlines()
    assert every[-3:] == [
        "the same name, but another meaning:",
        "use.py",
        "     5  os.feed()  in f  [outside of the repository]",
    ]


def test_a_class_that_is_only_used_as_a_type_shows_where(kl: Kl) -> None:
    source = "class Kind: ...\n\n\ndef f(x: Kind):\n    return isinstance(x, Kind)\n"
    write(Path.cwd(), {"kinds.py": source})
    lines = kl("graph", "callers", "Kind")[1].splitlines()
    assert lines[1:5] == [
        "not called; used in 2 places:",
        "kinds.py",
        "     4  references  in function:kinds.f  (same scope)",
        "     5  references  in function:kinds.f  (same scope)",
    ]


def test_reads_and_writes_of_an_attribute(kl: Kl) -> None:
    source = (
        "class Slot:\n    def __init__(self):\n        self.closing = None\n\n"
        "    def close(self):\n        if self.closing:\n            self.closing = 1\n\n\n"
        "def f(slot, x):\n    slot.closing = x\n"
    )
    write(Path.cwd(), {"slot.py": source})
    code, out, err = kl("graph", "uses", "Slot.closing")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "Slot.closing  type:slot.Slot  slot.py:1",
        "written: 2",
        "slot.py",
        "     3  self.closing = None  in Slot.__init__",
        "     7  self.closing = 1  in Slot.close",
        "read: 1",
        "slot.py",
        "     6  if self.closing:  in Slot.close",
        "possible uses by name, the receiver's likely type in brackets: 1",
        "slot.py",
        "    11  write: slot.closing = x  in f",
    ]
    answer = json.loads(kl("graph", "uses", "Slot.closing", "--format", "json")[1])
    assert (answer["schema"], answer["answer"], answer["name"]) == (
        "kl.graph.uses/1",
        "yes",
        "Slot.closing",
    )
    assert [(site["line"], site["in"]) for site in answer["writes"]] == [
        (3, "method:slot.Slot.__init__"),
        (7, "method:slot.Slot.close"),
    ]
    assert (answer["writes_total"], answer["reads_total"], answer["possible_total"]) == (2, 1, 1)


def test_nothing_reads_it_is_printed_only_without_possible_uses(kl: Kl) -> None:
    write(Path.cwd(), FEEDER)
    assert kl("graph", "uses", "Feeder.feed")[1].splitlines()[1:] == ["Nothing reads or writes it."]
    write(Path.cwd(), {"use.py": "def f(x):\n    x.feed()\n"})
    assert kl("graph", "uses", "Feeder.feed")[1].splitlines()[1:] == [
        "possible uses by name, the receiver's likely type in brackets: 1",
        "use.py",
        "     2  x.feed()  in f",
    ]


def test_possible_uses_that_the_policy_hides_leave_the_answer_open(
    kl: Kl, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = "{name: hidden, deny: {paths: [use.py], actors: [agent]}}"
    policy = {".kl/policy.yaml": f"version: 1\nrules:\n  - {rule}\n"}
    write(Path.cwd(), {**FEEDER, **policy, "use.py": "def f(x):\n    x.feed()\n"})
    monkeypatch.setenv("KL_AGENT", "bot")
    for command in ("callers", "refs", "uses"):
        code, out, err = kl("graph", command, "Feeder.feed")
        assert (code, err) == (0, "")
        assert out.splitlines()[1].startswith("none found; ")
        assert out.splitlines()[1].endswith("possible uses are withheld")


def test_of_a_redacted_file_a_place_is_listed_without_its_text(
    kl: Kl, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = "{name: short, redact: {paths: [use.py], actors: [agent]}}"
    policy = {".kl/policy.yaml": f"version: 1\nrules:\n  - {rule}\n"}
    write(Path.cwd(), {**FEEDER, **policy, "use.py": "def merge(x):\n    x.feed = 1\n"})
    monkeypatch.setenv("KL_AGENT", "bot")
    assert kl("graph", "uses", "Feeder.feed")[1].splitlines()[1:] == [
        "possible uses by name, the receiver's likely type in brackets: 1",
        "use.py",
        "     2  write: (redacted by policy)",
    ]
    (site,) = json.loads(kl("graph", "uses", "Feeder.feed", "--format", "json")[1])["possible"]
    assert (site["kind"], site["certainty"], site["text"]) == ("write", "possible", "")
    assert (site["receiver"], site["types"]) == ("", [])
