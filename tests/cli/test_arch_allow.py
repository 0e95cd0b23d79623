"""`kl arch allow`: the advice that `kl arch check` gives, followed; the manifest keeps every other
byte.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.store.files import write_atomic
from tests.arch.shop import DRIFT, LAYERS, MANIFEST, ORDER
from tests.cli.conftest import Call
from tests.git.repos import commit, sh, write

FOLDER = Path(".kl/knowledge/decisions")
WHY = ("--until", "30d", "--reason", "orders are split in January")


@pytest.fixture
def drifted(in_shop: Call) -> Call:
    write(
        Path.cwd(), {ORDER: DRIFT, MANIFEST: "# ours\n" + LAYERS + "exceptions: []  # none yet\n"}
    )
    commit(Path.cwd(), "drift")
    return in_shop


def records() -> list[str]:
    return sorted(path.name for path in FOLDER.rglob("*.md"))


def test_the_advice_of_a_check_makes_it_green(drifted: Call) -> None:
    code, out, _ = drifted("arch", "check")
    advice = next(line for line in out.splitlines() if "kl arch allow" in line).partition(
        "kl arch allow "
    )[2]
    source, target = advice.split()[:2]
    code, out, err = drifted("arch", "allow", source, target, *WHY)
    assert (code, err) == (0, "")
    assert out.splitlines()[1:] == [
        f"wrote {FOLDER}/ADR-0005-shop-core-order-may-import-shop-web-page.md"
        " (proposed; accept it with: kl decision accept ADR-0005)",
        "1 import excused. Review and commit it.",
    ]
    assert drifted("arch", "check")[0] == 0
    diff = sh(Path.cwd(), "diff", "-U0", MANIFEST).splitlines()[5:]
    assert [line[:1] for line in diff] == ["-", "+", "+", "+"] and diff[3] == "+  ]  # none yet"
    assert (
        diff[2].startswith("+  {from: shop.core.order, to: shop.web.page, until: 20")
        and "ADR-0005}" in diff[2]
    )
    made = (FOLDER / records()[0]).read_text()
    assert "orders are split in January" in made and "status: proposed" in made


def test_an_accepted_record_is_written_only_where_a_person_asks_for_it(
    drifted: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KL_AGENT", "bot")
    code, _, err = drifted("arch", "allow", "core", "web", *WHY, "--accept")
    assert code == 2 and "accepting is for people" in err and records() == []
    monkeypatch.delenv("KL_AGENT")
    assert drifted("arch", "allow", "core", "web", *WHY, "--accept")[0] == 0
    assert "status: accepted" in (FOLDER / records()[0]).read_text()


def test_layers_json_and_a_decision_that_is_there(drifted: Call) -> None:
    write(Path.cwd(), {f"{FOLDER}/archive/ADR-0041-old.md": "x", f"{FOLDER}/ADR-0004-core.md": "x"})
    code, out, err = drifted(
        "arch", "allow", "core", "web", *WHY, "--decision", "ADR-0004", "--format", "json"
    )
    value = json.loads(out)
    assert (code, err, value["schema"], value["record"]) == (0, "", "kl.arch.allow/1", None)
    assert (value["from"], value["to"], value["decision"], value["imports"]) == (
        "core",
        "web",
        "ADR-0004",
        1,
    )
    assert (
        Path(MANIFEST)
        .read_text()
        .splitlines()[value["line"] - 1]
        .strip()
        .startswith("{from: core, to: web")
    )
    assert len(records()) == 2
    drifted("arch", "allow", "shop.core.order", "web", *WHY)
    assert "ADR-0042-shop-core-order-may-import-web.md" in records(), (
        "numbers of the archive are taken"
    )


def test_a_decision_that_is_not_there_is_reported(drifted: Call) -> None:
    code, out, err = drifted("arch", "allow", "core", "web", *WHY, "--decision", "ADR-0900")
    assert code == 0 and "1 import excused" in out and "ADR-0900 is not in" in err


CHAIN = """\
version: 1
indirect: forbid
layers:
  - {name: core, paths: [src/shop/core/], may_depend_on: []}
  - {name: web, paths: [src/shop/web/], may_depend_on: [core]}
  - {name: cli, paths: [src/shop/cli/], may_depend_on: [web]}
"""


@pytest.mark.parametrize(
    ("source", "target", "printed"),
    [
        ("shop.core", "shop.web.page", "no import that is forbidden"),
        ("shop.web.page", "shop.core.order", "no import that is forbidden"),
        ("web", "core", "no import that is forbidden"),
        ("shop.core.order", "shop.web", "no import that is forbidden"),
    ],
)
def test_what_would_excuse_nothing_is_refused(
    drifted: Call, source: str, target: str, printed: str
) -> None:
    code, out, err = drifted("arch", "allow", source, target, *WHY)
    assert (code, out) == (2, "") and printed in err and "See: kl arch check" in err
    assert sh(Path.cwd(), "status", "--porcelain") == "" and records() == []


def test_a_chain_is_not_excused(in_shop: Call) -> None:
    write(Path.cwd(), {MANIFEST: CHAIN, "src/shop/cli/main.py": "import shop.web.page\n"})
    commit(Path.cwd(), "chain")
    code, out, _ = in_shop("arch", "check")
    assert (
        code == 1
        and "shop.cli.main -> shop.web.page -> shop.core.order" in out
        and "kl arch allow" not in out
    )
    code, out, err = in_shop("arch", "allow", "shop.cli.main", "shop.core.order", *WHY)
    assert (code, out) == (2, "") and "take one import out of the chain" in err
    assert sh(Path.cwd(), "status", "--porcelain") == "" and records() == []


@pytest.mark.parametrize(
    ("args", "printed"),
    [
        (("core", "wbe", *WHY), 'Did you mean "web"?'),
        (("core", "core", *WHY), "the same"),
        (("core", "web", "--until", "soon", "--reason", "x"), "Write 30d, or YYYY-MM-DD."),
        (("core", "web", "--until", "2020-01-01", "--reason", "x"), "is over"),
        (("core", "web", "--until", "30d", "--reason", "  "), "--reason is empty"),
        (("core", "web", "--until", "30d", "--reason", "..."), "--reason has no word in it"),
        (("core", "web", "--until", "30d"), "--reason"),
        (("core", "web", *WHY, "--decision", "4"), "no id of a decision"),
    ],
    ids=range(8),
)
def test_usage_error_writes_nothing(drifted: Call, args: tuple[str, ...], printed: str) -> None:
    code, out, err = drifted("arch", "allow", *args)
    assert (code, out) == (2, "") and printed in err
    assert sh(Path.cwd(), "status", "--porcelain") == ""


def test_an_invalid_or_missing_manifest_is_refused(drifted: Call) -> None:
    before = Path(MANIFEST).read_text() + "exhaustive: maybe\n"
    Path(MANIFEST).write_text(before)
    code, _, err = drifted("arch", "allow", "core", "web", *WHY)
    assert (
        code == 2
        and "must be true or false" in err
        and Path(MANIFEST).read_text() == before
        and records() == []
    )
    Path(MANIFEST).unlink()
    code, _, err = drifted("arch", "allow", "core", "web", *WHY)
    assert code == 2 and "kl init" in err


def test_a_second_time_is_refused(drifted: Call) -> None:
    assert drifted("arch", "allow", "core", "web", *WHY)[0] == 0
    code, _, err = drifted("arch", "allow", "core", "web", *WHY)
    assert code == 2 and "allowed already until" in err and len(records()) == 1


def test_nothing_is_written_through_a_link(drifted: Call, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    Path(".kl/knowledge").symlink_to(tmp_path / "out")
    before = Path(MANIFEST).read_bytes()
    code, _, err = drifted("arch", "allow", "core", "web", *WHY)
    assert code == 3 and "is a link" in err
    assert Path(MANIFEST).read_bytes() == before and list((tmp_path / "out").iterdir()) == []
    Path(".kl/knowledge").unlink()
    Path(MANIFEST).rename(".kl/real.yaml")
    Path(MANIFEST).symlink_to("real.yaml")
    assert drifted("arch", "allow", "core", "web", *WHY)[0] == 3
    assert records() == [] and Path(MANIFEST).is_symlink()


def test_the_mode_of_the_manifest_stays(drifted: Call) -> None:
    Path(MANIFEST).chmod(0o600)
    assert drifted("arch", "allow", "core", "web", *WHY)[0] == 0
    assert Path(MANIFEST).stat().st_mode & 0o777 == 0o600


def test_a_secret_in_the_reason_is_not_written(drifted: Call) -> None:
    secret = "ghp_" + "A1b2C3d4" * 4 + "E5f6"
    assert (
        drifted(
            "arch", "allow", "core", "web", "--until", "30d", "--reason", f"token {secret} expires"
        )[0]
        == 0
    )
    made = (FOLDER / records()[0]).read_text()
    assert secret not in made and "expires" in made


@pytest.mark.parametrize(
    "command", [("allow", "shop.core.order", "shop.web.page", *WHY), ("baseline", "write")]
)
def test_what_is_compared_and_written_is_locked_meanwhile(
    command: tuple[str, ...], drifted: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = []

    def watched(path: Path, data: bytes, *args: Any, **more: Any) -> None:
        handle = os.open(".kl", os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(handle)
        locked.append(path.name)
        write_atomic(path, data, *args, **more)

    monkeypatch.setattr("kl_hooks.arch.exceptions.write_atomic", watched)
    monkeypatch.setattr("kl_hooks.arch.baseline.write_atomic", watched)
    assert drifted("arch", *command)[0] == 0
    assert locked[-1] in ("architecture.yaml", "baseline.json")
