"""`kl arch baseline` and the checks that hold it: only new violations block, fixed ones leave,
nothing grows unseen.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kl_hooks.arch.baseline import baseline_bytes, entries_for, read_baseline
from kl_hooks.model.manifest import BASELINE
from tests.arch.shop import DRIFT, MANIFEST, ORDER
from tests.cli.conftest import Call
from tests.git.repos import commit, sh, write

TWICE = (
    "from shop.web import page\n\n\ndef total() -> int:\n    from shop.web import page\n   "
    " return 1\n"
)
OTHER = "src/shop/core/price.py"
FILE = Path(BASELINE)


def entries() -> list[str]:
    return [
        f"{one.importer} {one.imported} {one.count}"
        for one in read_baseline(BASELINE, FILE.read_bytes())
    ]


@pytest.fixture
def legacy(in_shop: Call) -> Call:
    """A shop with one accepted violation, committed."""
    write(Path.cwd(), {ORDER: DRIFT})
    code, out, err = in_shop("arch", "baseline", "write")
    assert (code, err) == (0, "")
    assert out.startswith(f"wrote {BASELINE}   1 accepted violation; new ones will block")
    commit(Path.cwd(), "legacy")
    return in_shop


def test_day_one_is_green_everywhere(legacy: Call) -> None:
    for how in ((), ("--staged",), ("--at", "HEAD")):
        code, out, err = legacy("arch", "check", *how)
        assert (code, err) == (0, "")
        assert "(1 accepted in baseline); 2 files in no layer" in out
    assert legacy("arch", "check", "--at", "HEAD~1")[0] == 0, "it was clean before"


def test_only_what_is_new_blocks(legacy: Call) -> None:
    write(Path.cwd(), {OTHER: "import shop.web.page\n"})
    code, out, _ = legacy("arch", "check")
    assert (
        code == 1
        and "\n1 new violation (1 accepted in baseline)\n" in out
        and "baseline write" not in out
    )
    assert OTHER in out and ORDER not in out
    value = json.loads(legacy("arch", "check", "--format", "json")[1])
    assert [v["path"] for v in value["violations"]] == [OTHER] and [
        v["path"] for v in value["accepted"]
    ] == [ORDER]
    assert value["baseline"] == BASELINE


def test_the_same_import_once_more_is_new_and_a_moved_one_is_not(legacy: Call) -> None:
    write(Path.cwd(), {ORDER: "\n\n\n# further down\n" + DRIFT})
    assert legacy("arch", "check")[0] == 0
    write(Path.cwd(), {ORDER: TWICE})
    code, out, _ = legacy("arch", "check")
    assert (
        code == 1
        and "\n1 new violation (1 accepted in baseline)\n" in out
        and "baseline write" not in out
        and f"{ORDER}:5" in out
    )


def test_a_renamed_file_stays_accepted(legacy: Call) -> None:
    sh(Path.cwd(), "mv", ORDER, "src/shop/core/orders.py")
    write(Path.cwd(), {"src/shop/web/page.py": "from ..core.orders import total\n"})
    sh(Path.cwd(), "add", "-A")
    assert legacy("arch", "check", "--staged")[0] == 0
    assert entries() == ["shop.core.order shop.web.page 1"], "only a look at the work tree writes"
    assert "is now shop.core.orders imports" in legacy("arch", "baseline", "show")[1]
    code, out, _ = legacy("arch", "baseline", "prune")
    assert (code, out) == (0, f"{BASELINE}: 0 taken out, 1 renamed, 1 left. Commit it.\n")
    assert entries() == ["shop.core.orders shop.web.page 1"]


def test_a_renamed_file_is_called_by_its_new_name_after_the_next_clean_check(legacy: Call) -> None:
    sh(Path.cwd(), "mv", ORDER, "src/shop/core/orders.py")
    write(
        Path.cwd(),
        {
            "src/shop/web/page.py": "from ..core.orders import total\n",
            OTHER: "import shop.web.page\n",
        },
    )
    assert legacy("arch", "check")[0] == 1
    assert entries() == ["shop.core.order shop.web.page 1"], "not while anything blocks"
    write(Path.cwd(), {OTHER: "x = 1\n"})
    code, _, err = legacy("arch", "check")
    assert (code, err) == (0, f"kl: {BASELINE}: 1 renamed, 1 left. Commit it.\n")
    assert entries() == ["shop.core.orders shop.web.page 1"]
    assert legacy("arch", "check")[2] == "", "said once"


def test_what_is_fixed_leaves_at_the_next_clean_check_of_the_working_tree(
    legacy: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(Path.cwd(), {ORDER: "x = 1\n"})
    before = FILE.read_bytes()
    sh(Path.cwd(), "add", "-A")
    for variable in ("CI", "PRE_COMMIT"):
        with monkeypatch.context() as patch:
            patch.setenv(variable, "1")
            assert legacy("arch", "check")[0] == 0
    for how in ("--staged", "--at=HEAD"):
        assert legacy("arch", "check", how)[0] == 0
    assert FILE.read_bytes() == before
    code, _, err = legacy("arch", "check")
    assert (code, err) == (0, f"kl: {BASELINE}: 1 fixed, 0 left. Commit it.\n")
    assert FILE.read_bytes() == baseline_bytes([])
    assert legacy("arch", "check")[2] == "", "said once"
    write(Path.cwd(), {ORDER: DRIFT})
    assert legacy("arch", "check")[0] == 1, "what has left does not come back by itself"


def test_it_does_not_shrink_while_anything_is_wrong(legacy: Call) -> None:
    before = FILE.read_bytes()
    for other in ({OTHER: "import shop.web.page\n"}, {OTHER: "def f(:\n"}):
        write(Path.cwd(), {ORDER: "x = 1\n", **other})
        assert legacy("arch", "check")[0] == 1
        assert FILE.read_bytes() == before
    code, _, err = legacy("arch", "baseline", "prune")
    assert code == 2 and "can't be parsed" in err and FILE.read_bytes() == before


def test_a_baseline_that_can_not_be_written_is_a_remark(legacy: Call) -> None:
    write(Path.cwd(), {ORDER: "x = 1\n"})
    Path(".kl").rename("real")
    Path(".kl").symlink_to("real")
    before = FILE.read_bytes()
    code, _, err = legacy("arch", "check")
    assert code == 0 and "1 fixed, but it can't be written" in err and FILE.read_bytes() == before


def test_the_baseline_is_that_of_the_same_content(legacy: Call) -> None:
    FILE.write_bytes(baseline_bytes([]))
    assert legacy("arch", "check")[0] == 1
    assert legacy("arch", "check", "--staged")[0] == 0
    assert legacy("arch", "check", "--at", "HEAD")[0] == 0
    sh(Path.cwd(), "add", "-A")
    assert legacy("arch", "check", "--staged")[0] == 1
    assert legacy("arch", "check", "--at", "HEAD")[0] == 0


@pytest.mark.parametrize("how", [(), ("--staged",), ("--at", "HEAD")], ids=str)
def test_a_bad_baseline_never_passes(legacy: Call, how: tuple[str, ...]) -> None:
    FILE.write_text("<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> other\n")
    commit(Path.cwd(), "conflict")
    code, out, err = legacy("arch", "check", *how)
    assert (code, out) == (2, "")
    assert [line.split(": ")[0] for line in err.splitlines()[1:]] == [
        f"{BASELINE}:{n}:1" for n in (1, 3, 5)
    ]


def test_write_never_grows_unseen(legacy: Call) -> None:
    write(Path.cwd(), {OTHER: "import shop.web.page\n"})
    before = FILE.read_bytes()
    code, out, err = legacy("arch", "baseline", "write")
    assert (
        code == 2 and out == "  would be added core -> web: shop.core.price imports shop.web.page\n"
    )
    assert (
        err
        == f"kl: {BASELINE}: would grow by 1 violation; nothing was written. "
        + "Fix them, or accept them too: kl arch baseline write --grow\n"
    )
    assert FILE.read_bytes() == before
    code, out, _ = legacy("arch", "baseline", "write", "--format", "json")
    assert code == 2 and json.loads(out)["written"] is False
    assert legacy("arch", "baseline", "write", "--grow")[0] == 0
    assert entries() == ["shop.core.order shop.web.page 1", "shop.core.price shop.web.page 1"]
    write(Path.cwd(), {OTHER: "x = 1\n"})
    code, out, _ = legacy("arch", "baseline", "write")
    assert code == 0 and "fixed     core -> web: shop.core.price" in out and len(entries()) == 1


def test_prune_takes_out_and_takes_nothing_in(legacy: Call) -> None:
    write(
        Path.cwd(),
        {
            ORDER: "x = 1\n",
            "src/shop/core/__init__.py": "import shop.web.page\nimport shop.web.page\n",
        },
    )
    code, out, _ = legacy("arch", "baseline", "prune")
    assert (
        code == 0
        and out.endswith("1 taken out, 0 renamed, 0 left. Commit it.\n")
        and entries() == []
    )


def test_show_states_what_is_where(in_shop: Call) -> None:
    write(Path.cwd(), {ORDER: TWICE})
    code, out, _ = in_shop("arch", "baseline", "show")
    assert (code, out) == (
        0,
        f"no {BASELINE}; 2 violations today. Accept them with: kl arch baseline write\n",
    )
    in_shop("arch", "baseline", "write")
    write(Path.cwd(), {ORDER: DRIFT, OTHER: "import shop.web.page\n"})
    _, out, _ = in_shop("arch", "baseline", "show")
    assert out.splitlines() == [
        "  accepted  core -> web: shop.core.order imports shop.web.page",
        "  fixed     core -> web: shop.core.order imports shop.web.page",
        "  new       core -> web: shop.core.price imports shop.web.page",
        "1 accepted, 1 fixed, 1 new - see: kl arch baseline prune",
    ]
    value = json.loads(in_shop("arch", "baseline", "show", "--format", "json")[1])
    assert [[row["count"] for row in value[key]] for key in ("accepted", "fixed", "new")] == [
        [2],
        [1],
        [1],
    ]
    assert value["accepted"][0]["fingerprint"] == accept_fingerprint()


def accept_fingerprint() -> str:
    (one,) = read_baseline(BASELINE, FILE.read_bytes())
    assert entries_for([]) == ()
    return one.fingerprint


def test_where_there_is_nothing_to_do_it_reports_it(in_shop: Call) -> None:
    code, _, err = in_shop("arch", "baseline", "prune")
    assert code == 2 and "Accept today's violations" in err
    Path(MANIFEST).unlink()
    for verb in ("write", "show", "prune"):
        code, _, err = in_shop("arch", "baseline", verb)
        assert code == 2 and "kl init" in err


def test_what_is_accepted_is_not_looked_at_closely(
    legacy: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kl_hooks.arch.import_survey import Survey

    asked: list[str] = []
    real = Survey.kind
    monkeypatch.setattr(
        Survey, "kind", lambda self, link: asked.append(link.path) or real(self, link)
    )
    assert legacy("arch", "check")[0] == 0 and asked == [], "no file is read and parsed for it"
    write(
        Path.cwd(),
        {
            OTHER: (
                "from shop.web.page import total as Page\n\n\ndef f(page: Page) -> None:\n   "
                " pass\n"
            )
        },
    )
    code, out, _ = legacy("arch", "check")
    assert code == 1 and asked == [OTHER] and "hint: only annotations use it here" in out
