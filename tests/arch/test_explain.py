"""Explaining: a file, a module, a layer, each from a real repository; and names that nothing
has.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kl_hooks.arch.overview import check_worktree
from kl_hooks.cli.arch_layers import explanation_lines
from kl_hooks.errors import UsageProblem
from tests.arch.shop import LAYERS, MANIFEST, ORDER, opened, shop

RULES = (
    LAYERS.replace("paths: [src/shop/web/]", "paths: [src/shop/web/, ./]")
    + "exceptions: [{from: shop.core.cart, to: shop.web.page, until: 2100-01-31}]\n"
)
MORE = {
    MANIFEST: RULES,
    ORDER: "from shop.web.page import total\nif TYPE_CHECKING:\n    import shop.web.form\n",
    "src/shop/core/cart.py": "import shop.web.page\n",
    "src/shop/web/form.py": "",
    "tests/a/conftest.py": "",
    "tests/b/conftest.py": "import conftest\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shop(tmp_path_factory.mktemp("explain") / "shop", MORE)


def reported(folder: Path, what: str, *paths: str) -> dict[str, Any]:
    seen, _ = check_worktree(opened(folder))
    assert seen is not None
    return seen.explanation(what, list(paths or (what,)))


def test_a_file(folder: Path) -> None:
    found = reported(folder, ORDER)
    assert (found["kind"], found["module"], found["root"], found["rule"]) == (
        "file",
        "shop.core.order",
        "src",
        "package",
    )
    assert (found["layer"], found["owned_by"], found["decision"]) == (
        "core",
        "src/shop/core/",
        "ADR-0004",
    )
    assert found["also_covered_by"] == [{"layer": "web", "path": "./"}]
    assert [(row["line"], row["imported"], row["decided"]) for row in found["imports"]] == [
        (1, "shop.web.page", "forbidden"),
        (3, "shop.web.form", "ignored: for type checkers only"),
    ]
    assert [(row["path"], row["line"], row["decided"]) for row in found["imported_by"]] == [
        ("src/shop/web/page.py", 1, "allowed"),
        ("tests/test_order.py", 1, "allowed"),
    ]


def test_a_module_is_its_file_and_a_package_its_init(folder: Path) -> None:
    assert reported(folder, "shop.core.order", "src/shop.core.order") == reported(folder, ORDER)
    assert reported(folder, "src/shop/core/")["path"] == "src/shop/core/__init__.py"


def test_an_excepted_import_states_until_when(folder: Path) -> None:
    (row,) = reported(folder, "shop.core.cart")["imports"]
    assert row["decided"] == f"excepted until 2100-01-31 ({MANIFEST}:10)"


def test_files_of_one_name(folder: Path) -> None:
    found = reported(folder, "tests/a/conftest.py")
    assert (found["module"], found["same_name"]) == (
        "conftest@tests/a/conftest.py",
        ["tests/b/conftest.py"],
    )
    assert reported(folder, "conftest")["others"] == ["tests/b/conftest.py"]


def test_a_layer(folder: Path) -> None:
    found = reported(folder, "core")
    assert (found["kind"], found["files"], found["may_depend_on"]) == ("layer", 3, [])
    assert found["paths"] == [{"path": "src/shop/core/", "files": 3}]
    assert found["used_by"] == [{"layer": "web", "imports": 2, "allowed": True}]
    assert [row["decided"][:8] for row in found["broken"]] == ["excepted", "forbidde"]
    web = reported(folder, "web")
    assert web["may_depend_on"] == [{"layer": "core", "imports": 2}]
    assert web["paths"] == [{"path": "src/shop/web/", "files": 3}, {"path": "./", "files": 4}]


@pytest.mark.parametrize(
    ("what", "near"),
    [
        ("coer", "core"),
        ("shop.core.ordre", "shop.core.order"),
        ("src/shop/core/odrer.py", ORDER),
        ("zzzz", "kl arch show"),
    ],
)
def test_a_name_that_nothing_has(folder: Path, what: str, near: str) -> None:
    with pytest.raises(UsageProblem, match="no such file, module or layer") as refused:
        reported(folder, what)
    assert near in str(refused.value)


def test_the_text_of_a_file(folder: Path) -> None:
    assert explanation_lines(reported(folder, ORDER)) == [
        ORDER,
        "  module   shop.core.order",
        (
            "           it is in a package: the name starts with the outermost folder that has an"
            " __init__.py"
        ),
        "           source root: src",
        "  layer    core, by its path src/shop/core/",
        "           the shorter path ./ of web covers it too, and gives way",
        "           may depend on: (nothing)    .kl/architecture.yaml:5  (ADR-0004)",
        "  imports from other layers",
        "    line 1  web  shop.web.page  forbidden",
        "    line 3  web  shop.web.form  ignored: for type checkers only  (type-checking import)",
        "  imported from other layers",
        "    src/shop/web/page.py:1  web  shop.web.page     allowed",
        "    tests/test_order.py:1   web  tests.test_order  allowed",
    ]


def test_the_text_of_a_layer(folder: Path) -> None:
    assert explanation_lines(reported(folder, "core")) == [
        "layer core    .kl/architecture.yaml:5  (ADR-0004)",
        "  path     src/shop/core/  3 files",
        "  may depend on: (nothing)",
        "  used by: web 2",
        "  imports that the rule forbids",
        (
            "    src/shop/core/cart.py:1   web  shop.web.page  excepted until 2100-01-31"
            " (.kl/architecture.yaml:10)"
        ),
        "    src/shop/core/order.py:1  web  shop.web.page  forbidden",
    ]
