"""Suggested fixes are the same whether few modules are asked for one by one or all imports were put
in order.

Who takes an argument already: counted where all were looked at, and no more looked at than one
sentence needs.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kl_hooks.arch import import_survey, suggestions
from kl_hooks.arch.check import run_check
from kl_hooks.arch.content import STAGED, WORKTREE
from kl_hooks.arch.layer_check import violations
from kl_hooks.arch.manifest_parser import read_manifest
from kl_hooks.code.scanner.parser import cached_tree
from kl_hooks.model.symbol import Link
from tests.arch.shop import LAYERS, MANIFEST, ORDER, opened, shop
from tests.git.repos import sh, write

RULES = (
    LAYERS.replace("may_depend_on: []", "may_depend_on: [ports]")
    + """\
  - name: ports
    paths: [src/shop/ports/]
    may_depend_on: [web]
"""
)
BRIDGED = "get it through shop.ports.{n} (ports), which may import shop.web.w{n}"
FEW = 3


def suggested_fixes(folder: Path) -> list[str]:
    verdict, _ = run_check(opened(folder))
    assert verdict is not None
    return [one.suggested_fix for one in verdict.violations]


def drifted(folder: Path) -> Path:
    """A shop that is known, and then three imports that are forbidden."""
    web = {f"src/shop/web/w{n}.py": "x = 1\n" for n in range(FEW)}
    ports = {f"src/shop/ports/{n}.py": f"from shop.web import w{n}\n" for n in "012"}
    shop(
        folder,
        {
            **web,
            "src/shop/ports/__init__.py": "",
            **ports,
            MANIFEST: RULES,
            ".kl/config.yaml": "version: 1\n",
        },
    )
    assert suggested_fixes(folder) == []
    write(folder, {ORDER: "".join(f"from shop.web import w{n}\nw{n}.x()\n" for n in range(FEW))})
    return folder


@pytest.mark.parametrize("looks", [0, 3, 100])
def test_the_way_through_another_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    monkeypatch.setattr(suggestions, "_MOST_LOOKS", looks)
    folder = drifted(tmp_path / "shop")
    assert suggested_fixes(folder) == [BRIDGED.format(n=n) for n in range(FEW)]


def test_of_few_modules_only_their_own_imports_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = drifted(tmp_path / "shop")
    monkeypatch.setattr(import_survey.Survey, "crossing", None)
    monkeypatch.setattr(import_survey.Survey, "links", None)
    asked = list[set[str]]()
    into = import_survey.ImportIndex.into
    monkeypatch.setattr(
        import_survey.ImportIndex,
        "into",
        lambda self, names: asked.append(set(names)) or into(self, names),
    )
    assert suggested_fixes(folder) == [BRIDGED.format(n=n) for n in range(FEW)]
    assert asked == [one for n in range(FEW) for one in ({f"shop.web.w{n}"}, {f"shop.ports.{n}"})]


@pytest.mark.parametrize(
    "link",
    ["from shop.core import order", "def f():\n    import shop.core.order", "from .b import x"],
)
def test_no_way_leads_through_a_module_that_comes_back(tmp_path: Path, link: str) -> None:
    folder = drifted(tmp_path / "shop")
    write(folder, {"src/shop/ports/0.py": f"from shop.web import w0\n{link}\n"})
    write(
        folder,
        {
            "src/shop/ports/b.py": "from shop.ports import c\n",
            "src/shop/ports/c.py": "import shop.core.order\n",
        },
    )
    found = suggested_fixes(folder)
    assert [way for way in found if "through shop.ports" in way] == [
        BRIDGED.format(n=n) for n in (1, 2)
    ]


@pytest.mark.parametrize("named", ["shop.web.w0", "shop.web.w0@src/shop/web/w0.py"])
def test_modules_that_share_their_name_with_others_are_found(named: str) -> None:
    modules = {
        ORDER: "shop.core.order",
        "src/shop/web/w0.py": named,
        "src/shop/ports/p.py": "shop.ports.p@src/p.py",
    }
    links = [
        Link(f"namespace:{modules[path]}", "imports", f"namespace:{named}", path, 1, "import")
        for path in (ORDER, "src/shop/ports/p.py")
    ]
    (found,) = violations(read_manifest(MANIFEST, RULES.encode()), links, modules)
    assert (
        found.suggested_fix == "get it through shop.ports.p (ports), which may import shop.web.w0"
    )


def test_of_two_imports_on_a_line_each_is_asked_for_itself(tmp_path: Path) -> None:
    folder = shop(
        tmp_path / "shop", {"src/shop/core/price.py": "x = 1\n", "src/shop/web/form.py": "x = 1\n"}
    )
    write(
        folder,
        {
            ORDER: (
                "import shop.core.price as p; import shop.web.page as w; import shop.web.form as"
                " f\np.x(w)\n"
            )
        },
    )
    verdict, _ = run_check(opened(folder))
    assert verdict is not None
    assert [(one.imported, one.statement) for one in verdict.violations] == [
        ("shop.web.form", "import shop.web.form as f"),
        ("shop.web.page", "import shop.web.page as w"),
    ]


def test_of_two_names_on_a_line_each_is_needed_for_itself(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", {"src/shop/web/form.py": "x = 1\n"})
    write(folder, {ORDER: "from shop.web import form, page\n\nform.x()\n"})
    verdict, _ = run_check(opened(folder))
    assert verdict is not None
    assert [
        (one.imported, one.suggested_fix.startswith("nothing uses it"))
        for one in verdict.violations
    ] == [
        ("shop.web.form", False),
        ("shop.web.page", True),
    ]


USING = "from shop.web.page import Page\n\n\ndef total() -> int:\n    return Page()\n"
TAKING = "def {name}(page: str) -> str:\n    return page\n"
CORE = "src/shop/core/"


def fix(folder: Path, source: str = WORKTREE) -> str:
    verdict, _ = run_check(opened(folder), source)
    assert verdict is not None
    (found,) = verdict.violations
    return found.suggested_fix


def test_they_are_those_of_the_content_that_is_judged(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    write(
        folder,
        {
            ORDER: USING,
            f"{CORE}a.py": TAKING.format(name="a"),
            f"{CORE}b.py": TAKING.format(name="b"),
        },
    )
    sh(folder, "add", "-A")
    write(folder, {f"{CORE}a.py": "\n\n" + TAKING.format(name="a"), f"{CORE}b.py": "x = 1\n"})
    printed = "pass the page in as an argument of total() (order.py:4); "
    assert fix(folder) == f"{printed}1 other core function already takes one (a.py:3)"
    assert (
        fix(folder, STAGED) == f"{printed}2 other core functions already take one (a.py:1, b.py:1)"
    )


def test_where_too_much_would_be_parsed_no_number_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suggestions, "_MOST_PARSED", 50)
    folder = shop(tmp_path / "shop")
    write(
        folder,
        {
            ORDER: USING,
            f"{CORE}a.py": TAKING.format(name="a"),
            f"{CORE}b.py": TAKING.format(name="b"),
        },
    )
    printed = "pass the page in as an argument of total() (order.py:4)"
    assert fix(folder) == f"{printed}; other core functions already take one (a.py:1, ...)"
    monkeypatch.setattr(suggestions, "_MOST_PARSED", 10)
    assert fix(folder) == printed


def test_only_the_file_itself_and_files_with_examples_are_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shop(tmp_path / "shop")
    others = {
        f"{CORE}{n}.py": f"import page\n\n\ndef f(x):  # a page\n    page(page={n})\n"
        for n in range(20)
    }
    write(folder, {**others, f"{CORE}a.py": TAKING.format(name="a")})
    run_check(opened(folder))
    cached_tree.cache_clear()
    seen: list[bytes] = []
    compiled = ast.parse
    monkeypatch.setattr(
        ast, "parse", lambda content, *args: seen.append(content) or compiled(content, *args)
    )
    write(folder, {ORDER: USING})
    assert fix(folder).endswith("1 other core function already takes one (a.py:1)")
    assert seen == [USING.encode(), TAKING.format(name="a").encode()]


def test_a_large_layer_is_not_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    write(folder, {ORDER: USING, f"{CORE}a.py": TAKING.format(name="a")})
    monkeypatch.setattr(suggestions, "_MOST_FILES", 2)
    assert fix(folder) == "pass the page in as an argument of total() (order.py:4)"
