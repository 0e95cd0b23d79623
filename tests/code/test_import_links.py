"""From imports to Links: what each spelling leads to.

Modules as the table holds them answer as those in memory do.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.code.modules import ModuleIndex, import_links, module_names
from kl_hooks.code.scanner.python import scan_python
from kl_hooks.code.update import StoredModuleIndex
from kl_hooks.model.symbol import Link
from tests.code.test_name_index import Rows

MODULES = {
    "shop/__init__.py": "shop",
    "shop/a.py": "shop.a",
    "shop/core/__init__.py": "shop.core",
    "shop/core/order.py": "shop.core.order",
    "run.py": "run",
    "one/conftest.py": "conftest@one/conftest.py",
    "two/conftest.py": "conftest@two/conftest.py",
    "two/test_b.py": "test_b",
}


def links(path: str, source: str) -> list[Link]:
    facts = scan_python(source.encode(), path, MODULES[path])
    assert facts["error"] == ""
    return import_links({path: facts}, MODULES)


@pytest.mark.parametrize(
    ("path", "source", "targets"),
    [
        ("run.py", "import shop.core.order", ["shop.core.order"]),
        ("run.py", "import shop.core.order as o, shop", ["shop", "shop.core.order"]),
        ("run.py", "from shop import a", ["shop.a"]),
        ("run.py", "from shop import a, VERSION", ["shop", "shop.a"]),
        ("run.py", "from shop.core.order import Order, Line", ["shop.core.order"]),
        ("run.py", "from shop.core import *", ["shop.core"]),
        ("run.py", "import os.path\nfrom click import echo", ["os.path", "click"]),
        ("run.py", "import shop.generated.deep", ["shop"]),
        ("shop/a.py", "from . import core", ["shop.core"]),
        ("shop/a.py", "from .core import order", ["shop.core.order"]),
        ("shop/a.py", "from .core.order import x", ["shop.core.order"]),
        ("shop/a.py", "from . import VERSION", ["shop"]),
        ("shop/a.py", "from .. import nothing", []),
        ("shop/a.py", "from ..run import nothing", []),
        ("shop/core/__init__.py", "from . import order", ["shop.core.order"]),
        ("shop/core/__init__.py", "from .. import a", ["shop.a"]),
        ("shop/core/__init__.py", "from . import NAME", []),
        ("shop/core/order.py", "from ..a import x", ["shop.a"]),
        ("shop/core/order.py", "import shop.core.order", []),
        ("run.py", "from . import shop", []),
        ("run.py", "importlib.import_module('shop.a')", ["shop.a"]),
        ("shop/a.py", "import_module('.core', __package__)", ["shop.core"]),
        ("two/test_b.py", "import conftest", ["conftest@two/conftest.py"]),
    ],
)
def test_targets(path: str, source: str, targets: list[str]) -> None:
    assert [link.target for link in links(path, source)] == [
        f"namespace:{name}" for name in targets
    ]


def test_a_link_states_who_where_how_and_how_sure() -> None:
    source = (
        "import shop\ndef f():\n    import shop.made\nif TYPE_CHECKING:\n    from shop import a\n"
    )
    assert links("run.py", source) == [
        Link("namespace:run", "imports", "namespace:shop", "run.py", 1, "import", 100),
        Link("namespace:run", "imports", "namespace:shop", "run.py", 3, "lazy import", 50),
        Link(
            "namespace:run", "imports", "namespace:shop.a", "run.py", 5, "type-checking import", 100
        ),
    ]


def test_links_come_by_path_and_line_whatever_the_order_of_the_facts() -> None:
    facts = {
        path: scan_python(b"import z\nimport a\n", path, MODULES[path])
        for path in reversed(MODULES)
    }
    found = [(link.path, link.line) for link in import_links(facts, MODULES)]
    assert found == sorted(found) and len(found) == 2 * len(MODULES)


def test_of_a_package_and_a_module_next_to_it_the_package_is_imported() -> None:
    both = {
        "shop/web.py": "shop.web@shop/web.py",
        "shop/web/__init__.py": "shop.web",
        "shop/core/a.py": "shop.core.a",
    }
    facts = scan_python(b"import shop.web", "shop/core/a.py", "shop.core.a")
    for modules in (both, dict(reversed(both.items()))):
        (link,) = import_links({"shop/core/a.py": facts}, modules)
        assert link.target == "namespace:shop.web"


FOLDERS = ["", "a/", "a/b/", "src/a/", "other/", "other/a/", "@x/", "a/@b.c/", "a-b/"]
PATHS = st.sets(
    st.sampled_from(
        [f"{folder}{name}.py" for folder in FOLDERS for name in ("__init__", "a", "b", "c@d")]
    )
)
NAMES = [
    "a",
    "a.b",
    "b",
    "a.a",
    "a.b.c",
    "src",
    "other",
    "other.a",
    "@x",
    "a@src",
    "c",
    "c@d",
    "zz",
    "a.",
    "__init__",
]


@given(PATHS, st.sets(st.sampled_from(NAMES)))
def test_it_answers_as_the_modules_in_memory_do(paths: set[str], imported: set[str]) -> None:
    modules = module_names(sorted(paths), imported)
    known = ModuleIndex(modules)
    with closing(sqlite3.connect(":memory:")) as connection:
        db = Rows(connection)
        db.many(
            "INSERT INTO files (path, blob, scanner, module, error) VALUES (?, 'b', 's', ?, '')",
            modules.items(),
        )
        stored = StoredModuleIndex(db)
        for _ in range(2):  # the second time from what it remembers
            for path, module in modules.items():
                assert stored.module_of(path) == module
                assert stored.path_of(module) == known.path_of(module) == path
            for name in [*NAMES, *modules.values()]:
                assert stored.inside(name) == known.inside(name), name
                for importer in ("a/b/x.py", "other/y.py", "z.py"):
                    assert stored.find(name, importer) == known.find(name, importer), name
        assert stored.path_of("nowhere") == ""
        with pytest.raises(KeyError):
            stored.module_of("nowhere.py")
