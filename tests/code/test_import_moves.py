"""Imports after a module got a new name: the same text, with the new name in it."""

from __future__ import annotations

import ast

import pytest

from kl_hooks.code.import_moves import ModuleNames, rewrite_moved_imports

MODULES = {"shop", "shop.core", "shop.core.store", "shop.api", "shop.api.http", "tool"}


def renaming(old: str, new: str) -> ModuleNames:
    def renamed(name: str) -> str:
        return new + name[len(old) :] if f"{name}.".startswith(f"{old}.") else name

    return ModuleNames(MODULES, renamed, old)


WEB = renaming("shop.api", "shop.web")
REST = renaming("shop.api.http", "shop.api.rest")
FAR = renaming("shop.api", "other.web")


def rewritten(text: str, names: ModuleNames, module: str = "tool") -> str:
    content = rewrite_moved_imports(
        text.encode(),
        module,
        names.renamed(module),
        names,
        is_package=module in ("shop", "shop.api", "shop.core"),
    ).content
    ast.parse(content)
    return content.decode()


@pytest.mark.parametrize(
    ("before", "names", "after"),
    [
        ("import shop.api.http as h  # it\n", WEB, "import shop.web.http as h  # it\n"),
        ("import os, shop.api\nshop.api.f()\n", WEB, "import os, shop.web\nshop.web.f()\n"),
        ("from shop.api import (\n  http,\n)\n", WEB, "from shop.web import (\n  http,\n)\n"),
        ("from shop.api.http import a, b\n", WEB, "from shop.web.http import a, b\n"),
        ("from shop import api\n", WEB, "from shop import web as api\n"),
        ("from shop import core, api as x\n", WEB, "from shop import core, web as x\n"),
        ("from shop.api import http, y\n", REST, "from shop.api import rest as http, y\n"),
        ("from shop import api\n", FAR, "from other import web as api\n"),
        (
            "import shop.api.http\nx = shop.api.http.f(shop.api.g)\n",
            REST,
            "import shop.api.rest\nx = shop.api.rest.f(shop.api.g)\n",
        ),
        ("\ufefffrom shop.api import a\n", WEB, "\ufefffrom shop.web import a\n"),
        ("é = 1; from shop.api import a\r\n", WEB, "é = 1; from shop.web import a\r\n"),
        ("def f():\n\timport shop.api.http\n", WEB, "def f():\n\timport shop.web.http\n"),
        ("import shopping.api\nfrom shop.apis import a\n", WEB, None),
        ("from api import x\nimport core.api\n", WEB, None),
        ("from shop.core import api\n", WEB, None),
    ],
)
def test_imports_get_the_new_name(before: str, names: ModuleNames, after: str | None) -> None:
    assert rewritten(before, names) == (before if after is None else after)


@pytest.mark.parametrize(
    ("module", "before", "names", "after"),
    [
        ("shop.core.store", "from ..api import http\n", WEB, "from ..web import http\n"),
        ("shop.core.store", "from ..api.http import a\n", FAR, "from other.web.http import a\n"),
        ("shop.core.store", "from .. import api\n", WEB, "from .. import web as api\n"),
        ("shop", "from .api import http\nfrom . import api\n", WEB, None),
        # the module itself moves: what it imports relatively stays where it is
        ("shop.api.http", "from ..core import store\n", WEB, None),
        ("shop.api.http", "from . import helper\n", FAR, None),
        ("shop.api.http", "from ..core import store\n", FAR, "from shop.core import store\n"),
        ("shop.api.http", "from . import a\n", renaming("shop.api.http", "shop.http"), None),
    ],
)
def test_relative_imports_mean_the_same_modules(
    module: str, before: str, names: ModuleNames, after: str | None
) -> None:
    expected = {
        "from .api import http\nfrom . import api\n": (
            "from .web import http\nfrom . import web as api\n"
        ),
        "from . import a\n": "from .api import a\n",
    }.get(before, before)
    assert rewritten(before, names, module) == (expected if after is None else after)


@pytest.mark.parametrize(
    ("text", "names", "left"),
    [
        ("from shop import core, api\n", FAR, [(1, "other names share the statement")]),
        (
            "import shop.api\ndef f(shop):\n    return shop.api\n",
            WEB,
            [(3, "shop is bound at line 2 too")],
        ),
        ("x = 'see shop.api.http'\n", WEB, [(1, "a string names it")]),
        ("from shop.api import (\n", WEB, [(1, "the file does not parse, or is not UTF-8")]),
        ("x = 1\ny = (\n", WEB, []),
        (
            "# coding: latin-1\nimport shop.api\n",
            WEB,
            [(1, "the file does not parse, or is not UTF-8")],
        ),
        ("from shop \\\n .api import a\n", WEB, [(1, "its module is written over several lines")]),
        ("x.shop.api = 'shop.apis'\n", WEB, []),
    ],
)
def test_what_is_not_sure_is_left_with_its_reason(
    text: str, names: ModuleNames, left: list[tuple[int, str]]
) -> None:
    result = rewrite_moved_imports(text.encode(), "tool", "tool", names, is_package=False)
    assert list(result.left) == left


def test_statements_are_counted() -> None:
    text = b"import shop.api, shop.api.http\nfrom shop.api import a, b\nimport os\n"
    assert rewrite_moved_imports(text, "tool", "tool", WEB, is_package=False).imports == 2
