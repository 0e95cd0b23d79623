"""`kl arch check` in every format and on a range: the same verdict, and nothing but data on stdout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.arch.shop import DRIFT, MANIFEST, ORDER
from tests.cli.conftest import Call
from tests.git.repos import commit, sh, write

PRICE = "src/shop/core/price.py"
SHAPES = ("json", "sarif", "github", "gitlab", "mermaid")


@pytest.mark.parametrize("shape", SHAPES)
def test_every_format_has_the_same_verdict_and_only_data_on_stdout(in_shop: Call, shape: str) -> None:
    more = "  - name: old\n    paths: [src/shop/wib/]\n"  # a warning, for stderr
    write(Path.cwd(), {MANIFEST: Path(MANIFEST).read_text() + more})
    code, out, err = in_shop("arch", "check", "--format", shape)
    assert code == 0 and "warning" in err and "warning" not in out.replace('"warnings"', "")
    write(Path.cwd(), {ORDER: DRIFT})
    sh(Path.cwd(), "add", "-A")
    for how in ((), ("--staged",)):
        code, out, _ = in_shop("arch", "check", *how, "--format", shape)
        assert code == 1
        if shape in ("json", "sarif", "gitlab"):
            assert ORDER in json.dumps(json.loads(out))
        else:
            assert "order.py" in out


def test_what_each_format_says(in_shop: Call) -> None:
    write(Path.cwd(), {ORDER: DRIFT})
    (result,) = json.loads(in_shop("arch", "check", "--format", "sarif")[1])["runs"][0]["results"]
    assert (result["ruleId"], result["baselineState"]) == ("layers/core/web", "new")
    (row,) = json.loads(in_shop("arch", "check", "--format", "gitlab")[1])
    assert row["location"] == {"path": ORDER, "lines": {"begin": 2}}
    line = in_shop("arch", "check", "--format", "github")[1]
    assert line.startswith(f"::error file={ORDER},line=2,title=core may not depend on web::from shop.web import page")
    chart = in_shop("arch", "check", "--format", "mermaid")[1].splitlines()
    assert chart[:3] == ["flowchart TD", '    l0["web"]', '    l1["core"]']
    assert '    l0 -->|"1"| l1' in chart and '    l1 -.->|"1 new#44; order.py#58;2"| l0' in chart


@pytest.mark.parametrize(("shape", "empty"), [("gitlab", []), ("github", ""), ("sarif", None), ("mermaid", None)])
def test_without_a_manifest_a_valid_empty_document(in_shop: Call, shape: str, empty: object) -> None:
    Path(MANIFEST).unlink()
    code, out, err = in_shop("arch", "check", "--format", shape)
    assert (code, err) == (0, "")
    if shape == "sarif":
        assert [run["results"] for run in json.loads(out)["runs"]] == [[]]
    elif shape == "mermaid":
        assert out.splitlines()[0] == "flowchart TD"
    else:
        assert (json.loads(out) if out else out) == empty


def test_a_file_that_does_not_parse_is_in_every_report(in_shop: Call) -> None:
    write(Path.cwd(), {ORDER: "def f(:\n"})
    for shape in ("sarif", "github", "gitlab", "json"):
        code, out, _ = in_shop("arch", "check", "--format", shape)
        assert code == 1 and "can't be parsed" in out and ORDER in out


def test_a_range_reports_what_it_changes(in_shop: Call) -> None:
    write(Path.cwd(), {ORDER: DRIFT})
    commit(Path.cwd(), "old drift")
    write(Path.cwd(), {PRICE: "import shop.web.page\n"})
    commit(Path.cwd(), "new drift")
    code, out, err = in_shop("arch", "check", "--changed", "HEAD~1...HEAD")
    assert code == 1 and PRICE in out and ORDER not in out
    assert err == "kl: 1 finding in files that HEAD~1...HEAD does not change: not shown.\n"
    assert [row["location"]["path"] for row in json.loads(
        in_shop("arch", "check", "--changed", "HEAD~1", "--format", "gitlab")[1]
    )] == [PRICE]  # fmt: skip
    write(Path.cwd(), {PRICE: "x = 1\n"})
    commit(Path.cwd(), "mended")
    assert in_shop("arch", "check", "--changed", "HEAD~1..HEAD")[0] == 0
    for wrong in ("nowhere", "nowhere...HEAD", "-x...HEAD"):
        code, out, err = in_shop("arch", "check", f"--changed={wrong}")
        assert (code, out) == (2, "") and "is not a commit of this repository" in err
    for other in ("--staged", "--pushed", "--at=HEAD"):
        assert in_shop("arch", "check", "--changed", "HEAD", other)[0] == 2


def test_the_title_of_the_decision_is_shown(in_shop: Call) -> None:
    record = "---\nid: ADR-0004\ntitle: Core stays pure\nstatus: accepted\n---\n"
    write(Path.cwd(), {".kl/knowledge/decisions/ADR-0004-core.md": record, ORDER: DRIFT})
    sh(Path.cwd(), "add", "-A")
    for how in ((), ("--staged",)):
        assert f'{MANIFEST}:5  (ADR-0004 "Core stays pure")' in in_shop("arch", "check", *how)[1]
