"""`kl arch import`: what it prints and writes, what it refuses, and that `kl init` points to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kl_hooks.store.files import read_small
from tests.arch.shop import DRIFT, LAYERS, MANIFEST, ORDER
from tests.cli.test_arch import Kl
from tests.cli.test_arch import kl as kl
from tests.git.repos import sh, write

SET_UP = """\
[importlinter]
root_package = shop
contract_types =
    mine: shop.Mine

[importlinter:contract:1]
name = Web over core
type = layers
containers = shop
layers =
    web
    core
"""
TACH = """\
source_roots = ["src"]
forbid_circular_dependencies = true
[[modules]]
path = "shop.core"
depends_on = []
[[modules]]
path = "shop.web"
depends_on = ["shop.core"]
"""
PRINTED = """\
# From .importlinter by kl arch import. Review it, then see: kl arch check
# Not translated: "contract_types": such contracts are code of the checkout, and none of it is run
version: 1

contracts:
  # .importlinter: contract 1; stays a contract: it also forbids chains through modules that are in no layer (src/shop/__init__.py)
  - name: "Web over core"
    type: layers
    containers: [shop]
    layers: [web, core]
    root_packages: [shop]
"""  # noqa: E501


def test_it_prints_and_writes_nothing(kl: Kl) -> None:
    write(Path.cwd(), {".importlinter": SET_UP})
    printed = (
        'kl: not translated: "contract_types": such contracts are code of the checkout, and none of'
        " it is run\n"
    )
    assert kl("arch", "import") == (0, PRINTED, printed)
    assert Path(MANIFEST).read_text() == LAYERS


def test_it_writes_once_and_replaces_only_when_asked(kl: Kl) -> None:
    write(Path.cwd(), {".importlinter": SET_UP})
    code, out, err = kl("arch", "import", "--write")
    assert (code, out) == (2, "") and f"{MANIFEST}: is there already." in err
    code, out, _ = kl("arch", "import", ".importlinter", "--write", "--force")
    assert (code, out) == (
        0,
        f"wrote {MANIFEST} from .importlinter: 0 layers, 1 contract. Next: kl arch check\n",
    )
    assert Path(MANIFEST).read_text() == PRINTED
    assert kl("arch", "check")[0] == 0
    write(Path.cwd(), {ORDER: DRIFT})
    code, out, _ = kl("arch", "check")
    assert code == 1 and f"{ORDER}:2" in out and "contract broken: Web over core" in out
    value = json.loads(kl("arch", "check", "--format", "json")[1])
    assert [one["contract"] for one in value["contracts"]] == ["Web over core"]
    Path(MANIFEST).unlink()
    assert kl("arch", "import", "--write")[0] == 0


def test_a_manifest_that_is_a_link_is_left_alone(kl: Kl, tmp_path: Path) -> None:
    write(Path.cwd(), {".importlinter": SET_UP})
    Path(MANIFEST).unlink()
    Path(MANIFEST).symlink_to(tmp_path / "elsewhere")
    assert kl("arch", "import", "--write", "--force")[0] == 2
    assert not (tmp_path / "elsewhere").exists()


def test_tach_becomes_layers_and_the_rest_is_in_the_json(kl: Kl) -> None:
    write(Path.cwd(), {"tach.toml": TACH})
    value = json.loads(kl("arch", "import", "--format", "json")[1])
    assert (value["schema"], value["origin"], value["wrote"]) == (
        "kl.arch.import/1",
        "tach.toml",
        False,
    )
    assert (value["layers"], value["contracts"]) == (["shop.core", "shop.web"], [])
    assert value["not_translated"] == ["forbid_circular_dependencies"]
    assert kl("arch", "import", "--write", "--force")[0] == 0
    assert kl("arch", "check")[0] == 0
    write(Path.cwd(), {ORDER: DRIFT})
    assert kl("arch", "check")[0] == 1


def test_layers_that_state_the_same_are_layers(kl: Kl) -> None:
    text = SET_UP.replace("root_package = shop", "root_packages =\n    shop\n    tool").replace(
        "containers = shop\n", ""
    )
    text = text.replace("contract_types =\n    mine: shop.Mine\n", "").replace(
        "    web\n    core", "    tool\n    shop"
    )
    write(Path.cwd(), {".importlinter": text, "tool/__init__.py": "import shop.core\n"})
    code, out, err = kl("arch", "import")
    assert (code, err) == (0, "")
    assert (
        "  - name: tool\n    paths: [tool/]\n    may_depend_on: [shop]\n" in out
        and "contracts:" not in out
    )
    # import-linter does not see a call of import_module, our layers do: then it stays a contract
    write(Path.cwd(), {ORDER: 'import importlib\nimportlib.import_module("tool")\n'})
    assert (
        "stays a contract: import-linter sees other imports here than kl does"
        in kl("arch", "import")[1]
    )


def test_nothing_to_import_and_usage_error(kl: Kl) -> None:
    code, _, err = kl("arch", "import")
    assert (
        code == 2
        and "no set-up of import-linter or tach here (looked for setup.cfg, .importlinter," in err
    )
    assert kl("arch", "import", "nowhere.ini")[0] == 2
    write(Path.cwd(), {"setup.cfg": "[metadata]\n"})
    assert "holds no set-up of import-linter" in kl("arch", "import", "setup.cfg")[2]
    assert "--force goes with --write" in kl("arch", "import", "--force")[2]
    write(Path.cwd(), {"pyproject.toml": "[tool.importlinter\n"})
    code, _, err = kl("arch", "import", "pyproject.toml")
    assert code == 2 and "pyproject.toml: can't be read" in err


@pytest.mark.parametrize(
    ("name", "text", "tool"),
    [(".importlinter", SET_UP, "import-linter"), ("tach.toml", TACH, "tach")],
)
def test_init_points_to_the_rules_that_are_there(kl: Kl, name: str, text: str, tool: str) -> None:
    sh(Path.cwd(), "rm", "-q", MANIFEST)
    write(Path.cwd(), {name: text})
    code, out, _ = kl("init", "--yes")
    assert code == 0
    assert f"  found   rules           {name:<14}  {tool}\n" in out
    assert f"or keep your own rules    kl arch import --write --force   (from {name})" in out
    assert read_small(Path(MANIFEST)) is not None
    assert "keep your own rules" not in kl("init", "--yes")[1], (
        "a manifest that is there is the user's"
    )


def test_a_file_is_named_from_where_one_is_and_its_paths_are_relative(
    kl: Kl, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(Path.cwd(), {"src/tach.toml": TACH.replace('"src"', '"."')})
    monkeypatch.chdir("src")
    value = json.loads(kl("arch", "import", "tach.toml", "--format", "json")[1])
    assert (value["origin"], value["layers"]) == ("src/tach.toml", ["shop.core", "shop.web"])
    assert "paths: [src/shop/core/]" in value["text"]
