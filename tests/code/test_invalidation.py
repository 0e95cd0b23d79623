"""Which files must be linked again: never fewer than those whose links change, and no others than
depend on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kl_hooks.code.query.session import refresh
from kl_hooks.code.scanner.parser import VERSION
from kl_hooks.code.scanner.python import scan_python
from kl_hooks.git.files import FileEntry
from kl_hooks.graph import links
from kl_hooks.hookspecs import Scanner
from kl_hooks.plugins import manager
from kl_hooks.store.state import locate_state
from kl_hooks.store.store import Store
from kl_hooks.workspace import _flat
from tests.code.making import graph_of

SCANNER = Scanner("python", (".py",), VERSION, scan_python)
PATHS = [
    "p/__init__.py",
    "p/m.py",
    "p/q.py",
    "p/inner/__init__.py",
    "p/inner/m.py",
    "m.py",
    "t/use.py",
    "z.py",
    "hub.py",
    "t.py",
]
PIECES = [
    "def f(): pass",
    "def f() -> C: pass",
    "class C:\n    def g(self): self.h()",
    "class C: pass",
    "class C(B):\n    x = 1",
    "class B:\n    def h(self) -> 'C': pass\n    def __init__(self): self.c = C()",
    "x = C()",
    "y: C = f()",
    "D = C",
    "mm = m",
    "import p.m",
    "import p.m as mm",
    "import p",
    "import m",
    "from p import m",
    "from p import m as mm",
    "from . import m",
    "from .m import C",
    "from .m import C as E",
    "from .. import m",
    "from ..q import mm",
    "from p.q import mm",
    "from p import *",
    "from .m import *",
    "from p.m import *",
    "from . import *",
    "from .q import *",
    "import p.inner.m",
    "import json",
    "from p import q",
    "from p.q import D, x",
    "from p.m import f as made",
    "__all__ = ['C', 'f']",
    "__all__ = ['m']",
    "from p.q import E, y",
    "f().g()",
    "C().h().g()",
    "mm.f().g()",
    "mm.C().c.g()",
    "p.m.C().h()",
    "m.f()",
    "p.inner.m.f()",
    "q.mm.C.g",
    "D().g()",
    "x.g()",
    "y.h().x",
    "E().g()",
    "made().g()",
    "q.x.c.x",
    "def k(c: C): c.h().g()",
    "class K(E):\n    def l(self): self.g(); super().h()",
    "def k(a: mm.C): a.g()",
    "with f() as w: w.g()",
    "json.dumps()",
    "def json(): pass",
    "p.mm.f()",
    "q.json()",
    "def broken(:",
    "from hub import *",
    "import hub",
    "from hub import m",
    "hub.m.f()",
    "from hub import D",
    "__all__ = ['m', 'q']",
    "from .hub import q",
    "from .q import f",
    "def हिन्दी(): pass",
    "m.हिन्दी()",
]
FILES = st.dictionaries(
    st.sampled_from(PATHS),
    st.lists(st.sampled_from(PIECES), max_size=5).map("\n".join),
    min_size=1,
    max_size=7,
)


class World:
    """A graph of files that are nowhere but in memory."""

    def __init__(self, folder: Path) -> None:
        plugins = manager()
        state = locate_state(folder, None, None, str(folder / "state"), {"HOME": str(folder)})
        self.state = state
        self.store = Store(state, lambda: _flat(plugins.hook.kl_schema()), {})

    def becomes(self, files: dict[str, str]) -> dict[str, Any]:
        """Makes the graph hold these files, and gives all that it contains then."""
        blobs = {hashlib.sha256(text.encode()).hexdigest(): text for text in files.values()}
        entries = [
            FileEntry(path, hashlib.sha256(text.encode()).hexdigest(), "100644")
            for path, text in files.items()
        ]

        def read(some: Sequence[FileEntry]) -> Iterator[tuple[FileEntry, bytes]]:
            return ((entry, blobs[entry.blob].encode()) for entry in some)

        refresh(self.store, sorted(entries), read, [SCANNER])
        return graph_of(self)  # type: ignore[arg-type]


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    FILES,
    st.lists(st.tuples(FILES, st.sets(st.sampled_from(PATHS), max_size=1)), min_size=1, max_size=3),
)
def test_after_any_edits_the_links_are_those_of_a_graph_from_nothing(
    files: dict[str, str], edits: list[tuple[dict[str, str], set[str]]]
) -> None:
    with TemporaryDirectory() as folder:
        world = World(Path(folder) / "one")
        grown = world.becomes(files)
        for changed, removed in edits:
            few = dict(list(changed.items())[:2])
            files = {path: text for path, text in {**files, **few}.items() if path not in removed}
            grown = world.becomes(files)
        assert grown == World(Path(folder) / "fresh").becomes(files)


OLD, NEW = "class A: pass\n", "class A:\n    def save(self): pass\ndef other(): pass\n"
CHAINS = {
    "an instance": ({"b.py": "from core.low import A\nbox = A()\n"}, "import b\nb.box.save()\n"),
    "a subclass": (
        {"b.py": "from core.low import A\nclass D(A): pass\n"},
        "from b import D\nD().save()\n",
    ),
    "what a function returns": (
        {"b.py": "from core.low import A\ndef f() -> A: pass\n"},
        "import b\nb.f().save()\n",
    ),
    "a method of a field": (
        {
            "b.py": "import core.low as n\nclass K:\n    k: n.A\n",
            "d.py": "from b import K\nx = K()\n",
        },
        "import d\nd.x.k.save()\n",
    ),
    "another name of the module": (
        {"b.py": "import core.low as n\n"},
        "from b import n\nn.A().save()\nn.other()\n",
    ),
    "another name of that": (
        {"b.py": "import core.low as n\n", "d.py": "from b import n as o\n"},
        "import d\nd.o.other()\n",
    ),
    "a field that is the module": (
        {"b.py": "from core import low\nn = low\n"},
        "from b import n\nn.other()\n",
    ),
    "its own name in another module": (
        {"b.py": "from core import low\n"},
        "import b\nb.low.A().save()\nb.low.other()\n",
    ),
    "its own name twice passed on": (
        {"b.py": "from core import low\n", "d.py": "from b import low\n"},
        "import d\nd.low.other()\n",
    ),
    "its own name as a star import brings it": (
        {"core/__init__.py": "from . import low\n", "b.py": "from core import *\n"},
        "from b import low\nlow.other()\n",
    ),
    "a field of its own name": (
        {"b.py": "import core.low\nclass K:\n    def __init__(self): self.low = core.low\n"},
        "from b import K\nK().low.other()\n",
    ),
    "another name of the package": (
        {"b.py": "import core as c\n"},
        "from b import c\nc.low.other()\n",
    ),
    "a star import": ({"b.py": "from core.low import *\n"}, "import b\nb.A().save()\nb.other()\n"),
    "two star imports": (
        {"b.py": "from core.low import *\n", "d.py": "from b import *\n"},
        "from d import A, other\nA().save()\n",
    ),
    "the package": (
        {"core/__init__.py": "from .low import A, other\n"},
        "from core import A, other\nA().save()\n",
    ),
    "nothing": ({}, "from core.low import A\nA().save()\n"),
}


@pytest.mark.slow
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.share(3)
def test_what_reaches_a_name_by_way_of_others_is_resolved_again(tmp_path: Path, chain: str) -> None:
    between, use = CHAINS[chain]
    files = {"core/__init__.py": "", "core/low.py": OLD, "use.py": use, "borne.py": NEW, **between}
    world = World(tmp_path / "one")
    for text in (OLD, NEW, OLD):
        files = files | {"core/low.py": text}
        grown = world.becomes(files)
        assert grown == World(tmp_path / f"fresh{len(text)}").becomes(files)
        found = {row[2] for row in grown["links"] if row[3] == "use.py"}
        assert bool(found & {"method:core.low.A.save", "function:core.low.other"}) == (text == NEW)


@pytest.mark.parametrize("text", ["", "def f(): pass\n"])
def test_a_package_that_comes_or_goes_is_seen_by_relative_imports_inside_it(
    tmp_path: Path, text: str
) -> None:
    """They need not contain its name."""
    files = {"p/q.py": "", "p/inner/m.py": "from .. import m, f\nm.f()\nf()\n"}
    world = World(tmp_path / "one")
    for number, more in enumerate(
        [{}, {"p/__init__.py": text}, {"p/__init__.py": "def broken(:\n"}, {}]
    ):
        assert world.becomes(files | more) == World(tmp_path / f"fresh{number}").becomes(
            files | more
        )


@pytest.mark.parametrize(
    "printed", ["from .zz import q\n", "from . import q\nq.f()\n", "from .q import f\nf()\n"]
)
def test_a_module_beside_a_folder_of_its_name_is_seen_by_relative_imports_there(
    tmp_path: Path, printed: str
) -> None:
    """The folder has no `__init__.py`: what is in it is under the module as soon as that is
    there.
    """
    files = {"k/t.py": printed, "k/s/t.py": printed, "other.py": "def f(): pass\n"}
    world = World(tmp_path / "one")
    for number, more in enumerate([{}, {"k.py": "X = 1\n"}, {"k.py": ""}, {}]):
        assert world.becomes(files | more) == World(tmp_path / f"fresh{number}").becomes(
            files | more
        )


def test_a_module_that_becomes_a_package_imports_from_elsewhere(tmp_path: Path) -> None:
    """Its outline is the same text before and after, but its relative imports start one level
    deeper.
    """
    text = "from .m import C\n"
    files = {"p/__init__.py": "", "p/m.py": "class C: pass\n", "use.py": "from p.k import C\nC()\n"}
    world = World(tmp_path / "one")
    for number, more in enumerate(
        [{"p/k.py": text}, {"p/k/__init__.py": text, "p/k/m.py": "X = 1\n"}]
    ):
        assert world.becomes(files | more) == World(tmp_path / f"fresh{number}").becomes(
            files | more
        )


LISTS = [
    "X = 1\n__all__ = ['sub']\n",
    "X = 1\n__all__ = []\n",
    "X = 1\n",
    "__all__ = ['sub']\n",
    "__all__ = []\n",
]


@pytest.mark.parametrize("before", LISTS)
@pytest.mark.parametrize("after", LISTS)
@pytest.mark.share(4)
def test_a_submodule_that_all_names_is_a_name_of_its_package(
    tmp_path: Path, before: str, after: str
) -> None:
    files = {"pkg/sub.py": "def f(): pass\n", "use.py": "from pkg import *\nsub.f()\n"}
    world = World(tmp_path / "one")
    world.becomes(files | {"pkg/__init__.py": before})
    now = files | {"pkg/__init__.py": after}
    assert world.becomes(now) == World(tmp_path / "fresh").becomes(now)


STARRED = {
    "q.py": "from hub import *\n",
    "r.py": "from q import *\n",
    "m.py": "from q import D\ndef f() -> D: pass\n",
    "m2.py": "import r as s\ndef f() -> s.D: pass\n",
    "m3.py": "from m2 import s\nclass K(s.D): pass\n",
    "m4.py": "from m3 import K\nK.x()\nfrom m import f\nf().x()\n",
    "other.py": "class D:\n    def x(self): pass\n",
}
INNER = {f"p/{path}": text.replace("from hub", "from .hub") for path, text in STARRED.items()}
INNER = {
    path: text.replace("from q", "from .q").replace("import r", "from . import r")
    for path, text in INNER.items()
}


@pytest.mark.slow
@pytest.mark.parametrize("hub", ["hub.py", "hub/x.py", "p/hub.py", "p/hub/__init__.py", "a/hub.py"])
def test_a_module_that_is_imported_with_a_star_comes_and_goes(tmp_path: Path, hub: str) -> None:
    """A name that it does not have may have come from outside as long as it was not there."""
    files = INNER | {"p/__init__.py": ""} if hub.startswith("p/") else STARRED
    world = World(tmp_path / "one")
    for number, more in enumerate([{}, {hub: "X = 1\n"}, {hub: ""}, {hub: "class D: pass\n"}, {}]):
        assert world.becomes(files | more) == World(tmp_path / f"fresh{number}").becomes(
            files | more
        )


def test_of_two_that_a_star_import_may_mean_the_nearer_one_comes(tmp_path: Path) -> None:
    files = {
        "a/hub.py": "class D: pass\n",
        "b/hub.py": "",
        "c/q.py": "from hub import *\n",
        "m.py": STARRED["m.py"],
    }
    files |= {"use.py": "from c.q import D\nD()\n", "c/m.py": STARRED["m.py"]}
    world = World(tmp_path / "one")
    for number, more in enumerate([{}, {"c/hub.py": "X = 1\n"}, {}]):
        assert world.becomes(files | more) == World(tmp_path / f"fresh{number}").becomes(
            files | more
        )


@pytest.mark.parametrize("name", ["हिन्दी", "a·b", "π·x", "℘x", "_é"])
def test_every_name_that_python_takes_is_followed(tmp_path: Path, name: str) -> None:
    files = {
        "use.py": f"import core\ncore.{name}()\n",
        "other.py": f"def {name}(): pass\n",
        "core.py": "X = 1\n",
    }
    world = World(tmp_path / "one")
    for number, more in enumerate(
        [{}, {"core.py": f"def {name}(): pass\n"}, {"core.py": "def π(): pass\n"}]
    ):
        assert world.becomes(files | more) == World(tmp_path / f"fresh{number}").becomes(
            files | more
        )


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose links are written, one after the other."""
    paths: list[str] = []
    true = links.replace_columns

    def noted(db: Any, batch: dict[str, Any], *more: Any) -> int:
        paths.extend(batch)
        return true(db, batch, *more)

    monkeypatch.setattr(links, "replace_columns", noted)
    return paths


def test_what_many_mention_concerns_few(tmp_path: Path, written: list[str]) -> None:
    """Hundreds of files import json, and define and call `save`; none of them can come to `low`."""
    many = {
        f"m{n}.py": f"import json\nclass A{n}:\n    def save(self): json.dumps(self.save())\n"
        for n in range(300)
    }
    files = {
        "core/__init__.py": "",
        "core/low.py": OLD,
        "use.py": "from core.low import A\nA().save()\n",
        **many,
    }
    world = World(tmp_path)
    world.becomes(files)
    written.clear()
    world.becomes(files | {"core/low.py": f"import json\n{OLD}"})
    assert written == ["core/low.py"]
    world.becomes(files | {"core/low.py": f"import json\n{NEW}"})
    assert sorted(written[1:]) == ["core/low.py", "use.py"]


def test_a_star_import_concerns_those_who_come_to_it(tmp_path: Path, written: list[str]) -> None:
    """None where its package was there before, and only who mentions the name where another module
    of it was added.
    """
    many = {f"m{n}.py": f"from json import *\nimport q{n}\nq{n}.dumps(D)\n" for n in range(60)}
    files = {
        "q.py": "from core.hub import *\n",
        "use.py": "from q import D\nD()\n",
        "core/a.py": "",
        **many,
    }
    world = World(tmp_path)
    world.becomes(files)
    for come, others in (
        ("core/hub/a.py", ["use.py"]),
        ("core/hub/b.py", []),
        ("other/hub.py", ["q.py"]),
    ):
        written.clear()
        files = files | {come: "X = 1\n"}
        world.becomes(files)
        assert written == [come, *others]
