"""Fixing: what goes, what stays and why; and that nobody notices when the program runs.

Replacing a file: all or nothing, its mode preserved, nobody's edit lost, no link followed.
"""

from __future__ import annotations

import errno
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, event, example, given, settings
from hypothesis import strategies as st

from kl_hooks.arch.autofix import FixResult, fix_violations, on_disk, replace_files
from kl_hooks.arch.check import run_check
from kl_hooks.code.import_edits import Unfixable
from tests.arch.shop import LAYERS, MANIFEST, ORDER, opened, shop
from tests.git.repos import write

PAGE = "src/shop/web/page.py"
FUTURE = "from __future__ import annotations\n\n"
QUIET = "class Page: ...\n\n\nclass Form: ...\n\n\nLIMIT = 3\n"


def repaired(folder: Path, *paths: str, dry: bool = False) -> FixResult:
    return fix_violations(opened(folder), paths, not dry)


def order(tmp_path: Path, text: str, more: dict[str, str] | None = None) -> Path:
    """The shop with another order.py, and a page that does nothing when it is imported."""
    return shop(tmp_path / "shop", {PAGE: QUIET, ORDER: text, **(more or {})})


def reason(tmp_path: Path, text: str, more: dict[str, str] | None = None) -> str:
    folder = order(tmp_path, text, more)
    done = repaired(folder)
    assert (folder / ORDER).read_text() == text, "what is not fixed is not touched"
    return done.left[0][1]


def test_annotations_alone_move_and_an_unused_name_of_the_statement_with_them(
    tmp_path: Path,
) -> None:
    text = FUTURE + "from shop.web.page import Form, Page\n\n\ndef f(page: Page) -> None: ...\n"
    folder = order(tmp_path, text)
    dry = repaired(folder, dry=True)
    assert (folder / ORDER).read_text() == text and len(dry.fixed) == 1
    done = repaired(folder)
    assert done.clean and len(done.fixed) == 1
    assert (
        (folder / ORDER).read_text()
        == "from __future__ import annotations\n\nfrom typing import TYPE_CHECKING\n\n"
        "if TYPE_CHECKING:\n    from shop.web.page import Form, Page\n\n\n"
        "def f(page: Page) -> None: ...\n"
    )
    verdict, _ = run_check(opened(folder))
    assert verdict is not None and verdict.clean
    again = repaired(folder)
    assert again.clean and not again.changes and not again.fixed


def test_where_the_manifest_enforces_them_annotations_stay(tmp_path: Path) -> None:
    rules = {MANIFEST: LAYERS + "type_checking_imports: enforce\n"}
    assert "the manifest enforces" in reason(
        tmp_path, FUTURE + "from shop.web.page import Page\nx: Page\n", rules
    )


def test_annotations_that_are_evaluated_stay(tmp_path: Path) -> None:
    assert "its annotations are evaluated at run time" in reason(
        tmp_path, "from shop.web.page import Page\nx: Page\n"
    )


STORED = [
    ("from shop.web.page import Page\nx = Page()\n", "used at run time (line 2)"),
    ("from shop.web.page import Page\n__all__ = ['Page']\n", "a string names it (line 2)"),
    ("from shop.web.page import Page as Page\n", "offers it to others"),
    ("from shop.web.page import Page  # noqa: F401\n", "a comment asks to leave it"),
    ("def f():\n    from shop.web.page import Page\n", "inside a function"),
    (
        "try:\n    from shop.web.page import Page\nexcept ImportError:\n    pass\n",
        "by itself at the top level",
    ),
    ("from shop.web.page import *\n", "imports everything"),
    ("from shop.web.page import Page\nprint(globals())\n", "looks at its own names (line 2)"),
    (
        FUTURE + "from shop.web.page import Page\nimport pydantic\nx: Page\n",
        "pydantic reads annotations",
    ),
    (
        FUTURE + "from shop.web.page import Page\nfrom hypothesis import given\nx: Page\n",
        "hypothesis reads annotations",
    ),
    (
        FUTURE
        + "from shop.web.page import Page\nx: Page\nfrom app import a\n@a.get('/')\ndef f(): ...\n",
        "a.get may read",
    ),
    (
        "from shop.web.page import Page\n# why\nx = 1\nfrom shop.web.page import Page\n",
        "called Page too",
    ),
    (
        "from shop.web.page import Page\nx = b'cshop.core.m11\\nPage\\n.'\n",
        "a string names it (line 2)",
    ),
    ("import os, shop.web.page\n", "other imports share its line"),
    ("from shop.web import other, page\n", "other imports share its line"),
    ("from shop.web.page import Page\n", "as ruff check --select F401 --fix does"),
    (
        "from shop.web.page import Page\ndef __getattr__(name): return name\n",
        "__getattr__ would answer",
    ),
    (
        FUTURE + "from shop.web.page import Page\nclass K:\n    v: Page\nx ="
        " K.__dict__['__annotations__']\n",
        "reads annotations",
    ),
]


def test_what_may_be_needed_stays(tmp_path: Path) -> None:
    files = {f"src/shop/core/m{n}.py": text for n, (text, _) in enumerate(STORED)}
    files["src/shop/core/p/__init__.py"] = "from shop.web.page import Page\n"
    folder = shop(tmp_path / "shop", {PAGE: QUIET, "src/shop/web/other.py": QUIET, **files})
    reasons = {violation.path: why for violation, why in repaired(folder).left}
    assert [
        printed
        for n, (_, printed) in enumerate(STORED)
        if printed not in reasons[f"src/shop/core/m{n}.py"]
    ] == []
    assert "in an __init__.py" in reasons["src/shop/core/p/__init__.py"]
    assert {path: (folder / path).read_text() for path in files} == files, (
        "what is not fixed is not touched"
    )


@pytest.mark.parametrize(
    ("more", "printed"),
    [
        (
            {"tests/test_x.py": "from shop.core.order import Page\n"},
            "tests/test_x.py:1 may import Page from here",
        ),
        (
            {"tests/test_x.py": "from shop.core import order\n\norder.Page\n"},
            "tests/test_x.py:3 may import Page",
        ),
        (
            {"tests/test_x.py": "patch('shop.core.order.Page')\n"},
            "tests/test_x.py:1 may import Page",
        ),
        ({"src/shop/core/z.py": "from .order import *\n"}, "src/shop/core/z.py:1 may import Page"),
        (
            {
                "tests/test_x.py": (
                    "import shop.core.order as order\n\n\ndef go():\n    raise ValueError('x') \\\n"
                    "        from order.Page('y')\n"
                )
            },
            "tests/test_x.py:6 may import Page",
        ),
        (
            {
                "tests/test_x.py": (
                    "from shop.core import order\n\n\ndef go():\n    yield \\\n    from"
                    " order.Page()\n"
                )
            },
            "tests/test_x.py:6 may import Page",
        ),
        ({"tests/test_x.py": "import order\n\norder.Page\n"}, "test_x.py:3 may import Page"),
        (
            {"docs/use.md": "Use it:\n\n>>> from shop.core.order import Page\n"},
            "docs/use.md:3 may import Page",
        ),
        (
            {"README.rst": "  >>> import shop.core.order as o\n  >>> o.Page()\n"},
            "README.rst:2 may import Page",
        ),
        ({"tests/test_x.py": "from order import Page\n"}, "test_x.py:1 may import Page"),
        (
            {"tests/test_x.py": "from shop.core.order import f\nprint order.Page\n"},
            "test_x.py:2 may import Page",
        ),
        (
            {"tests/test_x.py": "from shop.core import order\n\ngetattr(order, 'Page')\n"},
            "test_x.py:3 may import Page",
        ),
        (
            {
                "tests/test_x.py": (
                    "from shop.core import order\n\ndef test_x(monkeypatch):\n"
                    "    monkeypatch.setattr(order, 'Page', 1)\n"
                )
            },
            "test_x.py:4 may import Page",
        ),
        (
            {
                "tests/test_x.py": (
                    "from shop.core import order\nfrom unittest.mock import patch\n\n"
                    "patch.multiple(order, Page=1)\n"
                )
            },
            "test_x.py:4 may import Page",
        ),
        (
            {"tests/test_x.py": "import shop.core as c\n\np = c.order\np.Page()\n"},
            "test_x.py:4 may import Page",
        ),
        (
            {
                "src/shop/m.py": "from shop.core import order as o\n",
                "tests/test_x.py": "from shop import m\n\nm.o.Page()\n",
            },
            "test_x.py:3 may import Page",
        ),
        (
            {
                "src/shop/m.py": "from shop.core import order as o\n",
                "tests/test_x.py": "from shop.m import o\n\no.Page()\n",
            },
            "test_x.py:3 may import Page",
        ),
        (
            {"tests/test_x.py": "exec('from shop.core.order import Page')\n"},
            "test_x.py:1 may import Page",
        ),
        (
            {"tests/test_x.py": "exec(b'import shop.core.order as o; o.Page')\n"},
            "test_x.py:1 may import Page",
        ),
        (
            {
                "tests/test_x.py": (
                    "from shop.core import order\n\nmatch order:\n    case object(Page=p):\n      "
                    "  p\n"
                )
            },
            "test_x.py:4 may import Page",
        ),
        (
            {"tests/test_x.py": "from shop.core import order\n\norder . \\\n Page\n"},
            "test_x.py:4 may import Page",
        ),
        (
            {"pyproject.toml": "[project.scripts]\nx = 'shop.core.order:Page'\n"},
            "pyproject.toml:2 may import Page",
        ),
        (
            {
                "tests/test_x.py": (
                    "import shop.web\n\n\ndef go():\n    raise ValueError('x') \\\n"
                    "        from shop.web.page.Page()\n"
                )
            },
            "tests/test_x.py:6 may use web.page",
        ),
        (
            {"tests/test_x.py": "import shop.web as w\n\nw.page.Form()\n"},
            "tests/test_x.py:3 may use web.page",
        ),
        (
            {"tests/test_x.py": "import shop.web as w\n\ngetattr(w, 'page')\n"},
            "tests/test_x.py:3 may use web.page",
        ),
        (
            {PAGE: "print('hello')\n" + QUIET},
            "page.py does more than define (line 1: print('hello'))",
        ),
        (
            {"src/shop/web/__init__.py": "import atexit\natexit.register(print)\n"},
            "web/__init__.py does more",
        ),
        (
            {
                PAGE: "from shop.web.deep import B\n" + QUIET,
                "src/shop/web/deep.py": "class B:\n    def __init_subclass__(cls): ...\n",
            },
            "deep.py does more than define (line 2: def __init_subclass__",
        ),
        (
            {PAGE: "from django.db.models import Model\nclass Page(Model): ...\n"},
            "class Page(Model)",
        ),
        (
            {
                PAGE: "import shop.web.other\n" + QUIET,
                "src/shop/web/other.py": "import shop.web.page\n",
            },
            "import each other",
        ),
        (
            {"tests/test_x.py": "import shop.web\n\nshop.web.page\n"},
            "may use web.page because it is imported here",
        ),
        (
            {"src/shop/di.py": "from typing import get_type_hints\n"},
            "src/shop/di.py:1 looks at annotations",
        ),
        (
            {"src/shop/api.py": "import fastapi\nfrom shop.core.order import f\n"},
            "src/shop/api.py imports it and fastapi",
        ),
    ],
)
@pytest.mark.share(3)
def test_what_others_may_notice_stays(tmp_path: Path, more: dict[str, str], printed: str) -> None:
    assert printed in reason(
        tmp_path,
        FUTURE + "from shop.web.page import Page\n\n\ndef f(page: Page) -> None: ...\n",
        more,
    )


@pytest.mark.parametrize(
    "text",
    [
        "from shop.core import order  # Page, order.Page\n",
        'from shop.core import order\n\n\ndef f():\n    """A Page, of order.Page."""\n',
        "from shop.core import order\nfrom shop.web.page import Page\n\nPage()\n",
        (
            "from shop.core import order\n\n\ndef f(Page, Pages, order_Page):\n    Page ="
            " order.Pages\n"
        ),
    ],
)
def test_what_others_state_of_something_else_holds_nothing_up(tmp_path: Path, text: str) -> None:
    noted = FUTURE + "from shop.web.page import Page\n\nx: Page\n"
    folder = order(tmp_path, noted, {"tests/test_x.py": text})
    assert len(repaired(folder).fixed) == 1


@pytest.mark.parametrize(
    "text",
    [
        "from shop.core import order\nfrom shop.web import page\n\npage.Page\n",
        (
            "import shop.core.order\nimport shop.web.page\n\n\nclass C:\n    def f(self):\n       "
            " return self.Page\n"
        ),
        "from shop.core import order\nimport ast\n\nast.Page\n",
    ],
)
def test_attributes_of_that_name_count_whatever_they_are_of(tmp_path: Path, text: str) -> None:
    assert "may import Page" in reason(
        tmp_path, "from shop.web.page import Page\n", {"tests/test_x.py": text}
    )


def test_what_is_imported_anyway_may_do_what_it_likes(tmp_path: Path) -> None:
    text = (
        FUTURE + "import shop.web.page as p\nfrom shop.web.page import Page\n\nx: Page = p.Page()\n"
    )
    folder = order(tmp_path, text, {PAGE: "print('hello')\n" + QUIET})
    done = repaired(folder)
    assert len(done.fixed) == 1
    assert [why for _, why in done.left] == ["it is used at run time (line 6)"]


def test_only_the_files_that_are_named(tmp_path: Path) -> None:
    drift = FUTURE + "from shop.web.page import Page\n\nx: Page\n"
    folder = order(tmp_path, drift, {"src/shop/core/b.py": drift})
    assert [change.path for change in repaired(folder, "src/shop/core/b.py").changes] == [
        "src/shop/core/b.py"
    ]
    assert [change.path for change in repaired(folder, "src/shop").changes] == [ORDER]


def test_encoding_line_endings_mode_and_mark_stay(tmp_path: Path) -> None:
    folder = order(tmp_path, "")
    for text in (
        (
            b"\xef\xbb\xbffrom __future__ import annotations\r\nfrom shop.web.page import"
            b" Page\r\nx: Page  # \xc3\xa9\r\n"
        ),
        (
            b"# coding: latin-1\nfrom __future__ import annotations\nfrom shop.web.page import"
            b" Page\nx: Page = '\xe9'\n"
        ),
    ):
        (folder / ORDER).write_bytes(text)
        (folder / ORDER).chmod(0o751)
        assert repaired(folder).clean
        new = (folder / ORDER).read_bytes()
        assert b"TYPE_CHECKING" in new and (folder / ORDER).stat().st_mode & 0o777 == 0o751
        assert new.startswith(text[:3]) and new.endswith(text[-8:])
        assert (b"\r\n" in text) is (b"\r\n" in new) and new.count(b"\n") in (
            new.count(b"\r\n"),
            new.count(b"\n"),
        )
        assert b"\n" not in new.replace(b"\r\n", b"") or b"\r\n" not in text


def test_a_file_that_kills_the_rewriting_is_left_and_the_others_are_fixed(tmp_path: Path) -> None:
    drift = FUTURE + "from shop.web.page import Page\n\nx: Page\n"
    deep = drift + "x = " + "-" * 30_000 + "1\n"
    folder = order(
        tmp_path, drift, {"src/shop/core/a.py": drift + "x = " + "+".join(["1"] * 2500) + "\n"}
    )
    write(folder, {"src/shop/core/deep.py": deep})
    done = repaired(folder)
    assert "if TYPE_CHECKING:\n    from shop.web" in (folder / ORDER).read_text()
    assert (folder / "src/shop/core/deep.py").read_text() == deep
    assert all(why for _, why in done.left)


# -- nobody notices
# -------------------------------------------------------------------------------------------------

BODIES = st.lists(
    st.sampled_from(
        [
            "class B(A): ...",
            "L = len('x')",
            "print('side')",
            "x: N",
            "y: 'N' = None",
            "def f(a: N) -> N: ...",
            "def g(a=K): ...",
            "def h():\n    return N",
            "import sys; sys.seen = getattr(sys, 'seen', 0) + 1",
            "from dataclasses import dataclass\n@dataclass\nclass D:\n    a: N = None",
            "seen = sorted(globals())",
            "if True:\n    z = 2",
            "__all__ = ['A']",
            "# a comment",
            "class A(A):\n    n: N",
            "def k(n: m.A): ...",
        ]
    ),
    max_size=4,
)
NAMES = ["pkg.low.a", "pkg.low.b", "pkg.low", "pkg.high.c", "pkg.high.d", "pkg.high"]


def imports(place: int) -> st.SearchStrategy[list[str]]:
    """Imports for a module that mostly look ahead in the list: few cycles, so that most programs
    run at all.
    """
    ahead = st.sampled_from(NAMES[place + 1 :] or ["os"])
    first = ahead.map(
        lambda name: "class N: ...\nM = 1" if name == "os" else f"from {name} import A as N, K as M"
    )
    other = st.one_of(ahead, ahead, st.sampled_from(NAMES))
    more = st.one_of(
        other.map(lambda name: f"import {name}"),
        other.map(lambda name: f"import {name} as m"),
        other.map(lambda name: f"from {name} import *"),
        st.just("from pkg.high import c"),
    )
    return st.builds(lambda one, some: [one, *some], first, st.lists(more, max_size=1))


FILES = {
    name: f"{name.replace('.', '/')}{'' if name.count('.') > 1 else '/__init__'}.py"
    for name in NAMES
}
LOOK = """
import importlib, json, os, sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
def look(first):
    found = {}
    for name in [first, *sys.argv[2:]]:
        try:
            module = importlib.import_module(name)
        except Exception as problem:
            found[name] = {"failed": type(problem).__name__}
        else:
            found[name] = {key: type(value).__name__ for key, value in vars(module).items() if key[0] != "_"}
    print(json.dumps([getattr(sys, "seen", 0), found]), flush=True)
for first in sys.argv[2:]:
    pid = os.fork()
    if not pid:
        look(first)
        os._exit(0)
    os.waitpid(pid, 0)
"""
QUICK = [phase for phase in Phase if phase is not Phase.shrink]


def seen(folder: Path) -> list[Any]:
    """What a run sees, for each module that may come first: lines printed, effects, namespaces,
    exceptions.
    """
    command = [sys.executable, "-c", LOOK, str(folder), *NAMES]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return [json.loads(line) if line.startswith("[") else line for line in done.stdout.splitlines()]


@settings(max_examples=4, phases=QUICK, suppress_health_check=list(HealthCheck))
@given(
    st.fixed_dictionaries(
        {name: st.tuples(imports(place), BODIES) for place, name in enumerate(NAMES)}
    )
)
@example(
    {  # what `*` takes of a package are the modules of it that were imported before, too
        "pkg.low.a": (["from pkg.low.b import A as N, K as M", "import pkg.high.d as m"], []),
        "pkg.low.b": (["from pkg.high import A as N, K as M"], []),
        "pkg.low": (["from pkg.high.c import A as N, K as M", "from pkg.high import c"], []),
        "pkg.high.c": (["from pkg.high import A as N, K as M"], []),
        "pkg.high.d": (["from pkg.high import A as N, K as M", "from pkg.low import *"], []),
        "pkg.high": (["class N: ...\nM = 1"], []),
    }
)
@example(
    {  # an import of `pkg.high.c` takes no `c` of `pkg.low.b`, though there is one
        "pkg.low.a": (["from pkg.low.b import A as N, K as M", "import pkg.high.c"], []),
        "pkg.low.b": (["from pkg.high.d import A as N, K as M", "from pkg.high import c"], []),
        "pkg.low": (["from pkg.high.d import A as N, K as M", "from pkg.high import c"], []),
        "pkg.high.c": (["from pkg.high import A as N, K as M"], ["__all__ = ['A']"]),
        "pkg.high.d": (
            ["from pkg.high import A as N, K as M", "import pkg.high.c"],
            ["def g(a=K): ..."],
        ),
        "pkg.high": (["class N: ...\nM = 1", "from pkg.high import c"], ["__all__ = ['A']"]),
    }
)
def test_a_program_runs_as_before(modules: dict[str, tuple[list[str], list[str]]]) -> None:
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "repo"
        files = {
            # without the future import nothing is moved
            FILES[n]: "\n".join(
                [FUTURE if n != "pkg.low.b" else "", "class A: ...", "K = 1", *some, *body, ""]
            )
            for n, (some, body) in modules.items()
        }
        layers = "layers:\n- {name: low, paths: [pkg/low/]}\n- {name: high, paths: [pkg/high/]}\n"
        shop(folder, {**files, "pkg/__init__.py": "", MANIFEST: layers})
        before = seen(folder)
        assume("failed" not in json.dumps(before))
        done = repaired(folder)
        event(f"{len(done.fixed)} fixed")
        after = seen(folder)
        assert len(before) == len(after)
        bound: dict[str, set[str]] = {}
        for violation in done.fixed:
            words = re.findall(r"\w+", " ".join(modules[violation.importer][0]))
            bound.setdefault(violation.importer, set()).update(words)
        for old, new in zip(before, after, strict=True):
            if isinstance(old, str) or isinstance(new, str):
                assert old == new
                continue
            assert old[0] == new[0]
            for name, names in old[1].items():
                now = new[1][name]
                submodules = (
                    {"high", "low", "a", "b", "c", "d"}
                    if name in ("pkg.low", "pkg.high")
                    else set()
                )
                assert names.keys() - now.keys() - submodules <= bound.get(name, set())
                assert now.keys() - names.keys() - submodules <= {"annotations", "TYPE_CHECKING"}
                assert all(now[key] == names[key] for key in now.keys() & names.keys())
        assert not repaired(folder).changes


def test_the_new_text_is_there_with_the_old_mode(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"old")
    file.chmod(0o755)
    replace_files(tmp_path, "a.py", b"old", b"new", tmp_path)
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"new", 0o755)
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_new_text_is_made_where_nobody_adds_it(
    elsewhere: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed writer leaves what it made. Where git's folder is on another file system, it has to
    be beside.
    """
    aside, work = tmp_path / "git", tmp_path / "work"
    for folder in (aside, work):
        folder.mkdir()
    (work / "a.py").write_bytes(b"old")
    made, real = [], Path.replace

    def watched(self: Path, target: Path) -> Path:
        made.append(self.parent.name)
        if elsewhere and self.parent == aside:
            raise OSError(errno.EXDEV, "another file system")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    replace_files(work, "a.py", b"old", b"new", aside)
    assert made == (["git", "work"] if elsewhere else ["git"])
    assert ((work / "a.py").read_bytes(), list(aside.iterdir()), len(list(work.iterdir()))) == (
        b"new",
        [],
        1,
    )


def test_a_file_that_changed_meanwhile_is_left(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"newer")
    with pytest.raises(Unfixable, match="changed meanwhile"):
        replace_files(tmp_path, "a.py", b"old", b"new", tmp_path)
    assert (tmp_path / "a.py").read_bytes() == b"newer"


def test_line_endings_of_git_are_no_change_and_another_text_is(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"a\r\n")
    assert on_disk(tmp_path, "a.py", b"a\n") == b"a\r\n"
    with pytest.raises(Unfixable):
        on_disk(tmp_path, "a.py", b"b\n")


@pytest.mark.parametrize("linked", ["a.py", "in"])
def test_links_are_not_followed(tmp_path: Path, linked: str) -> None:
    top, outside = tmp_path / "top", tmp_path / "outside"
    for folder in (top, outside):
        folder.mkdir()
    (outside / "a.py").write_bytes(b"old")
    (top / linked).symlink_to(outside / "a.py" if linked == "a.py" else outside)
    with pytest.raises(Unfixable, match="symbolic link"):
        replace_files(top, "a.py" if linked == "a.py" else "in/a.py", b"old", b"new", tmp_path)
    assert (outside / "a.py").read_bytes() == b"old"


def test_a_file_that_was_removed(tmp_path: Path) -> None:
    with pytest.raises(Unfixable, match="can't be read"):
        replace_files(tmp_path, "a.py", b"old", b"new", tmp_path)
