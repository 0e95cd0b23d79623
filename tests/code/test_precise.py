"""`kl graph build --precise`: equality and differences are shown, a crash costs one file, nothing
is executed.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from kl_hooks.cli import graph as shown
from kl_hooks.code.precise import process as precise_run
from kl_hooks.code.precise.compare import (
    DYNAMIC,
    NEAREST,
    OUTSIDE,
    SHARED,
    Comparison,
    Difference,
    compare_imports,
    export_packages,
)
from kl_hooks.code.precise.process import assess_files, compare_file, grimp_edges
from kl_hooks.code.scanner.python import scan_python
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.model.problem import Problem
from kl_hooks.operations.graph import _comparison_to_dict
from tests.support import Checkout

TRAP = (
    "import os, pathlib\npathlib.Path(os.environ['TRAP']).write_text(__file__)\nraise"
    " SystemExit('sprung')\n"
)
FILES = {
    "src/shop/__init__.py": TRAP,
    "src/shop/core.py": TRAP + "class Basket:\n    lines = 1\n",
    "src/shop/web/__init__.py": TRAP,
    "src/shop/web/page.py": (
        TRAP + "from shop.core import Basket\nfrom .. import core\nimport json.tool\n"
    ),
    "json/__init__.py": TRAP,
    "json/tool.py": TRAP,
    "grimp/__init__.py": TRAP + "import json\n",
    "libcst/__init__.py": TRAP,
    "sitecustomize.py": TRAP,
    "usercustomize.py": TRAP,
    "setup.py": TRAP,
    "typing.py": TRAP,
    "conftest.py": TRAP,
    "broken.py": "def f(:\n",
}


def test_nothing_of_the_repository_is_executed_and_nothing_is_left(
    repo: Checkout, tmp_path: Path
) -> None:
    """Every file would leave a mark and end its process; some have the names of what the children
    import.
    """
    for name, text in FILES.items():
        repo.write(name, text)
    repo.commit()
    before = sorted(path for path in repo.root.rglob("*") if ".git" not in path.parts)
    trap = tmp_path / "sprung"
    done = repo.kl("graph", "build", "--precise", "--format", "json", env={"TRAP": str(trap)})
    assert done.returncode == 0, done.stderr
    assert not trap.exists()
    assert sorted(path for path in repo.root.rglob("*") if ".git" not in path.parts) == before
    answer = json.loads(done.stdout)
    assert [problem["path"] for problem in answer["problems"]] == ["broken.py"]
    precise = answer["precise"]
    assert precise["equal"] is True
    assert (precise["files"], precise["definitions"], precise["edges"]) == (13, 2, 4)
    assert precise["differences"] == precise["not_assessed"] == []


def test_what_people_read_of_an_equal_result(repo: Checkout) -> None:
    repo.write("pkg/__init__.py", "from . import a\n")
    repo.write("pkg/a.py", "import pkg.b\n\ndef f(): import_module('pkg.b')\n")
    repo.write("pkg/b.py", "X = 1\n")
    done = repo.kl("graph", "build", "--precise")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[4:] == [
        "precise: 3 files, 2 definitions, 3 imports, 2 edges; equal",
        f"  not compared with grimp: 1 time {DYNAMIC}",
    ]


def test_differences_are_lines_and_do_not_fail() -> None:
    rows = (Difference("a.py", 3, "function:a.f", "defined", "not there"),)
    found = Comparison(
        2, 5, 1, 1, rows, (Problem("b.py", 0, 0, "took longer than 60 seconds."),), {}
    )
    assert shown._comparison_lines(found) == [
        "precise: 2 files, 5 definitions, 1 import, 1 edge; 1 not assessed; 1 difference:",
        "  a.py:3: function:a.f: fast 'defined', precise 'not there'",
    ]
    plain = _comparison_to_dict(found)
    assert plain["equal"] is False
    assert plain["differences"] == [
        {
            "path": "a.py",
            "line": 3,
            "what": "function:a.f",
            "fast": "defined",
            "precise": "not there",
        }
    ]
    assert plain["not_assessed"] == [
        {"path": "b.py", "line": 0, "message": "took longer than 60 seconds."}
    ]


@pytest.mark.parametrize(
    ("fast", "differences"),
    [
        ("import a\ndef f(x): 'doc'\n", []),
        ("import a\ndef f(y): 'doc'\n", [[2, "signature of function:m.f", "def f(y)", "def f(x)"]]),
        ("import a\ndef f(x): 'dog'\n", [[2, "docstring of function:m.f", "dog", "doc"]]),
        (
            "import a\n\ndef f(x): 'doc'\n",
            [
                [1, "end line of namespace:m", "3", "2"],
                [3, "end line of function:m.f", "3", "2"],
                [3, "line of function:m.f", "3", "2"],
            ],
        ),
        (
            "import a\ng = f(x)or'doc'\n",
            [[2, "field:m.g", "defined", "not there"], [2, "function:m.f", "not there", "defined"]],
        ),
        (
            "import b\ndef f(x): 'doc'\n",
            [
                [1, "import of a (import a)", "not there", "imported"],
                [1, "import of b (import b)", "imported", "not there"],
            ],
        ),
    ],
)
def test_every_difference_between_two_readings_is_found(
    fast: str, differences: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fast side is given other source, as if it had misread it."""
    seen = scan_python(fast.encode(), "m.py", "m")
    monkeypatch.setattr("kl_hooks.code.precise.process.scan_guarded", lambda *_: seen)
    assert compare_file(b"import a\ndef f(x): 'doc'\n", "m.py", "m")["differences"] == differences


def test_what_the_fast_scanner_refuses_is_skipped() -> None:
    assert compare_file(b"def f(:", "m.py", "m") == {"skipped": "1:7: invalid syntax"}


JOBS = [(f"{stem}.py", stem, b"x = 1\n") for stem in ("a", "b", "bad_1", "c", "bad_2", "d")]
FAULT = (
    "import sys; sys.path += sys.argv[2:]\n"
    "import os, kl_hooks.code.precise.process as it\n"
    "real = it.compare_file\n"
    "def fault(content, path, module):\n"
    "    if 'bad' in path: {fault}\n"
    "    return real(content, path, module)\n"
    "it.compare_file = fault\n"
    "it.SECONDS = 2 if {seconds} else 60\n"
    "it.main(sys.argv[1])\n"
)


@pytest.mark.parametrize(
    ("fault", "printed"),
    [
        (
            f"os.kill(os.getpid(), {signal.SIGSEGV}); __import__('signal').pause()",
            "ended the process that read it (SIGSEGV)",
        ),
        ("os._exit(3)", "ended the process that read it"),
        ("import time; time.sleep(30)", "took longer than 60 seconds"),
        ("raise ZeroDivisionError('no')", "ZeroDivisionError: no"),
        ("raise MemoryError", "it takes too much memory"),
        ("(lambda f: f(f))(lambda f: f(f))", "nested too deeply for a visitor in Python"),
    ],
)
@pytest.mark.share(3)
def test_a_child_that_ends_costs_the_file_it_was_at(
    fault: str, printed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precise_run, "_START", FAULT.format(fault=fault, seconds="sleep" in fault))
    found = assess_files(JOBS, processes=1)
    assert sorted(found) == sorted(path for path, _, _ in JOBS)
    assert {path: one.get("failed") for path, one in found.items()} == {
        path: printed if "bad" in path else None for path, _, _ in JOBS
    }


def test_a_crash_of_libcst_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million nested brackets end a process whatever its stack; CPython's parser, asked first,
    refuses them.
    """
    fault = "from kl_hooks.code.precise.scan import scan_precise as s; s(b'(' * 10**6, path, 'm')"
    monkeypatch.setattr(precise_run, "_START", FAULT.format(fault=fault, seconds=False))
    found = assess_files(JOBS[1:4], processes=1)
    assert "ended the process that read it (SIG" in found["bad_1.py"]["failed"]
    assert found["b.py"]["differences"] == found["c.py"]["differences"] == []


def test_a_child_that_can_not_even_start_is_the_environments_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(precise_run, "_START", "import nothing_of_that_name")
    with pytest.raises(EnvironmentProblem, match="No module named 'nothing_of_that_name'"):
        assess_files(JOBS)
    with pytest.raises(EnvironmentProblem, match=r"grimp gave up: .*No module named"):
        grimp_edges({"a": "/nowhere"})


def test_export_puts_every_file_where_its_modules_name_states(tmp_path: Path) -> None:
    modules = {
        "src/p/__init__.py": "p",
        "src/p/m.py": "p.m",
        "ns/deep/n.py": "ns.deep.n",
        "alone.py": "alone",
        "x/conftest.py": "conftest@x/conftest.py",
        "b/../etc.py": "b....etc",
    }
    packages = export_packages(
        tmp_path / "out", [(path, path.encode()) for path in modules], modules
    )
    assert {
        p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*.py")
    } == {"p/__init__.py", "p/m.py", "ns/deep/n.py", "alone.py"}
    assert packages == {"ns": str(tmp_path / "out/ns"), "p": str(tmp_path / "out/p")}


def test_edges_of_grimp_without_an_import_of_the_package(tmp_path: Path) -> None:
    for name, text in {
        "json/__init__.py": TRAP,
        "json/a.py": "import json.b\n",
        "json/b.py": "import os, json\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert "TRAP" not in os.environ
    assert grimp_edges({"json": str(tmp_path / "json")}) == (
        {"json", "json.a", "json.b"},
        {("json.a", "json.b"): [1], ("json.b", "json"): [1]},
    )


def test_edges_are_compared_and_what_grimp_can_not_see_is_counted() -> None:
    sources = {
        "p/__init__.py": "",
        "p/a.py": "import p.b\nfrom p import c\nimport_module('p.b')\nimport p.made_later\n",
        "p/b.py": "",
        "p/c.py": "",
        "x/conftest.py": "",
        "y/conftest.py": "",
    }
    modules = {path: path.removesuffix(".py").replace("/", ".") for path in sources} | {
        "p/__init__.py": "p",
        "x/conftest.py": "conftest@x",
        "y/conftest.py": "conftest@y",
    }
    facts = {path: scan_python(text.encode(), path, "m") for path, text in sources.items()}
    seen = {"p", "p.a", "p.b"}
    count, differences, unseen = compare_imports(
        facts, modules, seen, {("p.a", "p.b"): [1, 9], ("p.b", "p"): [2]}
    )
    assert count == 1
    assert differences == [
        ["p/a.py", 9, "import p.a -> p.b", "not there", "imported"],
        ["p/b.py", 2, "import p.b -> p", "not there", "imported"],
    ]
    assert unseen == {DYNAMIC: 1, NEAREST: 1, SHARED: 2, OUTSIDE: 1}
