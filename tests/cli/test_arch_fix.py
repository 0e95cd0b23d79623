"""`kl arch fix` as people and programs see it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.arch.shop import MANIFEST, ORDER
from tests.cli.conftest import Call

USED = "from shop.web.page import total\n\nx = total\n"
NOTED = "from __future__ import annotations\n\nfrom shop.web.page import Total\n\nx: Total\n"
MOVED = (
    "from __future__ import annotations\n\nfrom typing import TYPE_CHECKING\n\n"
    "if TYPE_CHECKING:\n    from shop.web.page import Total\n\nx: Total\n"
)


def test_the_diff_is_shown_and_the_exit_code_states_what_is_left(in_shop: Call) -> None:
    Path("src/shop/web/page.py").write_text("class Total: ...\n")
    Path(ORDER).write_text(NOTED)
    code, out, _ = in_shop("arch", "fix", "--dry-run")
    assert code == 1 and Path(ORDER).read_text() == NOTED
    assert f"--- a/{ORDER}\n+++ b/{ORDER}\n@@ -1,5 +1,8 @@\n" in out
    assert "would be moved: from shop.web.page import Total  (core -> web)" in out
    assert out.endswith(
        "1 violation could be fixed in 1 file, 0 left. Nothing was written: kl arch fix does\n"
    )
    code, out, _ = in_shop("arch", "fix")
    assert (
        code == 0
        and Path(ORDER).read_text() == MOVED
        and "1 violation fixed in 1 file, 0 left\n" in out
    )
    assert in_shop("arch", "fix")[:2] == (0, "clean: nothing to fix\n")


def test_what_is_left_is_listed_with_its_reason(in_shop: Call) -> None:
    Path(ORDER).write_text(USED)
    code, out, _ = in_shop("arch", "fix")
    assert code == 1
    assert f"{ORDER}:1" in out and "not fixed: from shop.web.page import total" in out
    assert "it is used at run time (line 3)\n" in out and out.endswith(
        "nothing to fix, 1 left: see kl arch check\n"
    )


def test_an_import_that_nothing_uses_is_left_to_ruff(in_shop: Call) -> None:
    text = "from shop.web.page import total\n"
    Path("src/shop/web/page.py").write_text("total = 1\n")
    Path(ORDER).write_text(text)
    code, out, _ = in_shop("arch", "fix")
    assert (code, Path(ORDER).read_text()) == (1, text)
    why = "nothing uses it here: remove it, as ruff check --select F401 --fix does"
    assert why in out and why in in_shop("arch", "check")[1]


def test_json(in_shop: Call) -> None:
    Path(ORDER).write_text(USED)
    code, out, _ = in_shop("arch", "fix", "--format", "json")
    found = json.loads(out)
    assert (code, found["schema"], found["written"], found["fixed"], found["files"]) == (
        1,
        "kl.arch.fix/2",
        True,
        [],
        [],
    )
    assert found["left"][0]["reason"] == "it is used at run time (line 3)"


def test_a_file_that_does_not_parse_is_left(in_shop: Call) -> None:
    Path(ORDER).write_text("def f(:\n")
    code, out, _ = in_shop("arch", "fix")
    assert code == 1 and f"{ORDER}:1:7: can't be parsed" in out


def test_usage_error_and_no_manifest(in_shop: Call) -> None:
    code, _, err = in_shop("arch", "fix", "src/shop/core/ordr.py")
    assert code == 2 and f"Did you mean {ORDER}?" in err
    assert in_shop("arch", "fix", "/")[0] == 2
    Path(MANIFEST).write_text("layers: []\n")
    assert in_shop("arch", "fix")[0] == 2
    Path(MANIFEST).unlink()
    code, out, _ = in_shop("arch", "fix")
    assert code == 0 and "nothing to enforce" in out
    assert json.loads(in_shop("arch", "fix", "--format", "json")[1])["files"] == []


def test_what_the_baseline_or_an_exception_accepts_is_left_alone(in_shop: Call) -> None:
    Path("src/shop/web/page.py").write_text("class Total: ...\n")
    Path(ORDER).write_text(NOTED)
    assert in_shop("arch", "baseline", "write")[0] == 0
    code, out, _ = in_shop("arch", "fix")
    assert (code, Path(ORDER).read_text()) == (0, NOTED)
    assert (
        out
        == "clean: nothing to fix (1 accepted in baseline; fix them too: kl arch fix --accepted)\n"
    )
    Path("src/shop/core/price.py").write_text(NOTED)
    code, out, _ = in_shop("arch", "fix")
    assert (
        code == 0
        and Path("src/shop/core/price.py").read_text() == MOVED
        and Path(ORDER).read_text() == NOTED
    )
    assert json.loads(in_shop("arch", "fix", "--format", "json")[1])["accepted"] == 1
    assert in_shop("arch", "fix", "--accepted")[0] == 0 and Path(ORDER).read_text() == MOVED
    Path(".kl/baseline.json").unlink()
    Path(ORDER).write_text(NOTED)
    excepted = "exceptions: [{from: shop.core.order, to: shop.web.page, until: 2999-01-31}]\n"
    Path(MANIFEST).write_text(Path(MANIFEST).read_text() + excepted)
    assert (
        in_shop("arch", "fix")[:2] == (0, "clean: nothing to fix\n")
        and Path(ORDER).read_text() == NOTED
    )
    Path(MANIFEST).write_text(Path(MANIFEST).read_text().replace("2999", "1999"))
    assert in_shop("arch", "fix")[0] == 0 and Path(ORDER).read_text() == MOVED


def test_a_reason_is_what_really_keeps_the_import(in_shop: Call) -> None:
    """An import of the module elsewhere needs no other; what the code does with a name comes before
    where it is.
    """
    Path("src/shop/web/page.py").write_text("total = 1\n")
    Path("src/shop/core/__init__.py").write_text(USED)
    Path("src/shop/core/price.py").write_text(
        "def f():\n    from shop.web import page\n    return page\n"
    )
    Path(ORDER).write_text(
        NOTED.replace(".page import Total", " import page").replace("Total", "page")
    )
    Path("src/shop/facade.py").write_text("import shop.web.page\n")
    Path("src/shop/core/through.py").write_text("import shop.facade\n")
    found = json.loads(in_shop("arch", "fix", "--format", "json")[1])
    assert [one["path"] for one in found["fixed"]] == [ORDER]
    assert {one["path"].rpartition("/")[2]: one["reason"] for one in found["left"]} == {
        "__init__.py": "it is used at run time (line 3)",
        "price.py": "it is imported inside a function, when that runs",
        "through.py": "it leads through src/shop/facade.py:1, in no layer",
    }
