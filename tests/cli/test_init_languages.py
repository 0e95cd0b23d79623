"""`kl init` in repositories with TypeScript and JavaScript: layers from their folders and
imports.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kl_hooks.arch.manifest_parser import read_manifest
from kl_hooks.code import languages
from kl_hooks.model.manifest import MANIFEST, Manifest
from tests.git.repos import make
from tests.support import Checkout

WEB = {
    "package.json": '{"name": "@acme/shop"}',
    "vite.config.ts": "export default {};\n",
    "src/main.tsx": "import { page } from './pages/page';\npage();\n",
    "src/pages/page.tsx": "import { total } from '../model/cart';\nexport const page = total;\n",
    "src/pages/page.test.tsx": "import '../main';\nimport { page } from './page';\npage();\n",
    "src/model/cart.ts": "import { money } from '../format';\nexport const total = money;\n",
    "src/format/index.ts": "export const money = 1;\n",
    "src/__tests__/all.ts": "import '../main';\n",
    "scripts/build.js": "require('../src/main');\n",
}
PYTHON = {
    "shop/__init__.py": "",
    "shop/core/__init__.py": "",
    "shop/core/order.py": "",
    "shop/api/__init__.py": "import shop.core.order\n",
}
Start = Callable[[dict[str, str]], tuple[str, Manifest | None, str]]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Runs `kl init` and `kl arch check` on these files; gives what both print, and the
    manifest.
    """
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def run(files: dict[str, str]) -> tuple[str, Manifest | None, str]:
        make(tmp_path / "web", files)
        checkout = Checkout(tmp_path / "web")
        printed = checkout.kl("init").stdout
        path = checkout.root / MANIFEST
        manifest = read_manifest(MANIFEST, path.read_bytes()) if path.exists() else None
        check = checkout.kl("arch", "check")
        return printed, manifest, check.stdout + check.stderr

    return run


@pytest.fixture
def without_the_extra(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As where tree-sitter is not installed: None in `sys.modules` is a package that is not
    found.
    """
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    languages._are_installed.cache_clear()
    yield
    languages._are_installed.cache_clear()


def paths_by_layer(manifest: Manifest | None) -> dict[str, tuple[str, ...]]:
    assert manifest is not None
    return {layer.name: layer.paths for layer in manifest.layers}


def test_folders_are_layers_from_the_bottom_up_by_todays_imports(start: Start) -> None:
    printed, manifest, check = start(WEB)
    assert (
        "  found   typescript      shop            .               7 modules, 6 imports\n"
        in printed
    )
    assert "record a run of tests     kl run -- npm test\n" in printed
    assert paths_by_layer(manifest) == {
        "format": ("src/format/",),
        "model": ("src/model/",),
        "pages": ("src/pages/",),
        "main": ("src/main.tsx",),
    }
    assert manifest is not None
    assert manifest.layers[1].may_depend_on == ("format",)
    assert check.startswith("clean: ")


def test_parts_that_import_each_other_are_layers_with_a_baseline(start: Start) -> None:
    back = {"src/format/index.ts": "import '../model/cart';\nexport const money = 1;\n"}
    printed, manifest, check = start({**WEB, **back})
    assert set(paths_by_layer(manifest)) == {"format", "model", "pages", "main"}
    assert "2 imports against these layers accepted" in printed
    assert check.startswith("clean: ")


def test_of_several_packages_each_has_layers_of_its_own(start: Start) -> None:
    files = {
        f"packages/{name}/{path}": text
        for name in ("cart", "pay")
        for path, text in {
            "package.json": f'{{"name": "@acme/{name}"}}',
            "src/index.ts": "import './model/a';\nimport './view/b';\n",
            "src/model/a.ts": "",
            "src/view/b.ts": "import '../model/a';\n",
        }.items()
    }
    assert paths_by_layer(start(files)[1]) == {
        "cart-model": ("packages/cart/src/model/",),
        "cart-view": ("packages/cart/src/view/",),
        "cart-index": ("packages/cart/src/index.ts",),
        "pay-model": ("packages/pay/src/model/",),
        "pay-view": ("packages/pay/src/view/",),
        "pay-index": ("packages/pay/src/index.ts",),
    }


def test_of_many_packages_each_is_a_layer(start: Start) -> None:
    files = {
        f"packages/{name}/{path}": text
        for number, name in enumerate(("a", "b", "c", "d"))
        for path, text in {
            "package.json": f'{{"name": "@acme/{name}"}}',
            "src/index.ts": f"import '@acme/{'abcd'[number - 1]}';\n" if number else "",
            "src/more.ts": "",
        }.items()
    }
    _, manifest, check = start(files)
    assert manifest is not None
    assert [(layer.name, layer.may_depend_on) for layer in manifest.layers] == [
        ("a", ()),
        ("b", ("a",)),
        ("c", ("b",)),
        ("d", ("c",)),
    ]
    assert check.startswith("clean: ")


def test_both_languages_have_layers(start: Start) -> None:
    files = {**PYTHON, **{f"web/{path}": text for path, text in WEB.items()}}
    printed, manifest, check = start(files)
    assert "python " in printed and "typescript " in printed
    assert "record a run of tests     pytest\n" in printed
    assert {"core", "api", "model", "pages"} <= set(paths_by_layer(manifest))
    assert manifest is not None and manifest.language == ""
    assert check.startswith("clean: ")


def test_packages_that_are_installed_are_none_and_those_of_one_language_are_counted_alone(
    start: Start,
) -> None:
    assets = {
        f"assets/node_modules/{name}/{path}": text
        for name in ("a", "b", "c", "d")
        for path, text in {"package.json": f'{{"name": "{name}"}}', "index.js": ""}.items()
    }
    tools = {
        f"web{number}/{path}": text
        for number in range(3)
        for path, text in {"package.json": "{}", "index.js": "", "more.js": ""}.items()
    }
    _, manifest, check = start({**PYTHON, **assets, **tools})
    assert {"core", "api"} <= set(paths_by_layer(manifest))
    assert not any("node_modules" in path for path in sum(paths_by_layer(manifest).values(), ()))
    assert check.startswith("clean: ")


def test_scripts_in_a_python_package_are_not_checked(start: Start) -> None:
    _, manifest, check = start({**PYTHON, "shop/api/static/app.js": "const = ;\n"})
    assert set(paths_by_layer(manifest)) == {"core", "api", "shop"}
    assert manifest is not None and manifest.language == "python"
    assert check.startswith("clean: ")


@pytest.mark.usefixtures("without_the_extra")
def test_without_the_extra_it_names_what_to_install(start: Start) -> None:
    printed, manifest, _ = start(WEB)
    assert manifest is None
    assert "no scanner reads TypeScript (7), JavaScript (1)" in printed
    assert (
        "1. have TypeScript and JavaScript read, too: pip install 'kl-hooks[languages]'" in printed
    )


@pytest.mark.usefixtures("without_the_extra")
def test_without_the_extra_a_proposal_for_python_is_clean(start: Start) -> None:
    _, manifest, check = start({**PYTHON, "shop/api/static/app.js": ""})
    assert manifest is not None and manifest.language == "python"
    assert check.startswith("clean: ")
