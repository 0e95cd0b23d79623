"""From imports to Links: what each spelling leads to."""

from __future__ import annotations

import pytest

from kl_hooks.code.imports import import_links
from kl_hooks.code.scan import scan_python
from kl_hooks.model.symbol import Link

MODULES = {
    "shop/__init__.py": "shop", "shop/a.py": "shop.a", "shop/core/__init__.py": "shop.core",
    "shop/core/order.py": "shop.core.order", "run.py": "run",
    "one/conftest.py": "conftest@one/conftest.py", "two/conftest.py": "conftest@two/conftest.py",
    "two/test_b.py": "test_b",
}  # fmt: skip


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
    assert [link.target for link in links(path, source)] == [f"namespace:{name}" for name in targets]


def test_a_link_says_who_where_how_and_how_sure() -> None:
    source = "import shop\ndef f():\n    import shop.made\nif TYPE_CHECKING:\n    from shop import a\n"
    assert links("run.py", source) == [
        Link("namespace:run", "imports", "namespace:shop", "run.py", 1, "import", 100),
        Link("namespace:run", "imports", "namespace:shop", "run.py", 3, "lazy import", 50),
        Link("namespace:run", "imports", "namespace:shop.a", "run.py", 5, "type-checking import", 100),
    ]


def test_links_come_by_path_and_line_whatever_the_order_of_the_facts() -> None:
    facts = {path: scan_python(b"import z\nimport a\n", path, MODULES[path]) for path in reversed(MODULES)}
    found = [(link.path, link.line) for link in import_links(facts, MODULES)]
    assert found == sorted(found) and len(found) == 2 * len(MODULES)


def test_of_a_package_and_a_module_beside_it_the_package_is_imported() -> None:
    both = {"shop/web.py": "shop.web@shop/web.py", "shop/web/__init__.py": "shop.web", "shop/core/a.py": "shop.core.a"}
    facts = scan_python(b"import shop.web", "shop/core/a.py", "shop.core.a")
    for modules in (both, dict(reversed(both.items()))):
        (link,) = import_links({"shop/core/a.py": facts}, modules)
        assert link.target == "namespace:shop.web"
