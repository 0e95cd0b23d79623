"""`kl arch check` in every format and on a range: the same verdict, and nothing but data on
stdout.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.arch.shop import DRIFT, FILES, LAYERS, MANIFEST, ORDER
from tests.cli.conftest import Call
from tests.git.repos import commit, sh, write
from tests.support import checkout

PRICE = "src/shop/core/price.py"
SHAPES = ("json", "sarif", "github", "gitlab", "mermaid")


@pytest.mark.parametrize("shape", SHAPES)
def test_every_format_has_the_same_verdict_and_only_data_on_stdout(
    in_shop: Call, shape: str
) -> None:
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


def test_what_each_format_states(in_shop: Call) -> None:
    write(Path.cwd(), {ORDER: DRIFT})
    (result,) = json.loads(in_shop("arch", "check", "--format", "sarif")[1])["runs"][0]["results"]
    assert (result["ruleId"], result["baselineState"]) == ("layers/core/web", "new")
    row, outside = json.loads(in_shop("arch", "check", "--format", "gitlab")[1])
    assert outside["severity"] == "info" and "2 files in no layer" in outside["description"]
    assert row["location"] == {"path": ORDER, "lines": {"begin": 2}}
    line = in_shop("arch", "check", "--format", "github")[1]
    assert line.startswith(
        f"::error file={ORDER},line=2,title=core must not import web::from shop.web import page"
    )
    chart = in_shop("arch", "check", "--format", "mermaid")[1].splitlines()
    assert chart[:3] == ["flowchart TD", '    l0["web"]', '    l1["core"]']
    assert '    l0 -->|"1"| l1' in chart and '    l1 -.->|"1 new#44; order.py#58;2"| l0' in chart


@pytest.mark.parametrize(
    ("shape", "empty"), [("gitlab", []), ("github", ""), ("sarif", None), ("mermaid", None)]
)
def test_without_a_manifest_a_valid_empty_document(
    in_shop: Call, shape: str, empty: object
) -> None:
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
    assert [
        row["location"]["path"]
        for row in json.loads(
            in_shop("arch", "check", "--changed", "HEAD~1", "--format", "gitlab")[1]
        )
    ] == [PRICE, MANIFEST]
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
        assert (
            f'(layer rule, {MANIFEST}:5, ADR-0004 "Core stays pure")'
            in in_shop("arch", "check", *how)[1]
        )


# -- IDs
# -------------------------------------------------------------------------------------------------

OLD_BASELINE = """\
{
  "schema": "kl.baseline/1",
  "violations": [
    {"from": "core", "to": "web", "importer": "shop.core.order", "imported": "shop.web.page", "count": 2, "fingerprint": "0fb0e36cee763a0f"}
  ]
}
"""  # noqa: E501
"""Written by kl 0.1 before violations had IDs."""
TWICE = DRIFT + "def again():\n    from shop.web import page\n"


@pytest.mark.requirement("A50")
def test_an_id_is_the_fingerprint_of_old_baselines_and_sarif_with_a_number(in_shop: Call) -> None:
    write(Path.cwd(), {ORDER: TWICE})
    found = json.loads(in_shop("arch", "check", "--format", "json")[1])["violations"]
    assert [(one["line"], one["fingerprint"], one["id"]) for one in found] == [
        (2, "0fb0e36cee763a0f", "0fb0e36cee763a0f#1"),
        (5, "0fb0e36cee763a0f", "0fb0e36cee763a0f#2"),
    ]
    (run,) = json.loads(in_shop("arch", "check", "--format", "sarif")[1])["runs"]
    assert [one["partialFingerprints"] for one in run["results"]] == [
        {"klFinding/v1": "0fb0e36cee763a0f", "primaryLocationLineHash": f"0fb0e36cee763a0f:{n}"}
        for n in (1, 2)
    ]
    assert (
        "violation:0fb0e36cee763a0f#2"
        in in_shop("graph", "search", "--kind", "violation", "page")[1]
    )
    write(Path.cwd(), {".kl/baseline.json": OLD_BASELINE})
    code, out, _ = in_shop("arch", "check")
    assert code == 0 and "(2 accepted in baseline)" in out
    assert Path(".kl/baseline.json").read_text() == OLD_BASELINE
    write(Path.cwd(), {ORDER: TWICE + "def more():\n    import shop.web.page\n"})
    assert [
        one["id"]
        for one in json.loads(in_shop("arch", "check", "--format", "json")[1])["violations"]
    ] == ["0fb0e36cee763a0f#3"]


@pytest.mark.parametrize(
    ("statement", "carets"),
    [
        ("from shop.web import page, other", "                     ^^^^"),
        ("from shop.web.page import total as t", "     ^^^^^^^^^^^^^"),
        ("import shop.web, shop.web.page as p", "                 ^^^^^^^^^^^^^"),
        ("from ..web import page", "                  ^^^^"),
        ("from ..web.page import total", "     ^^^^^^^^^^"),
    ],
)
def test_carets_are_under_what_is_imported_and_the_fix_below(
    in_shop: Call, statement: str, carets: str
) -> None:
    write(Path.cwd(), {ORDER: f"{statement}\n", "src/shop/web/other.py": ""})
    lines = in_shop("arch", "check")[1].splitlines()
    place = next(n for n, line in enumerate(lines) if line == f"    {carets}")
    assert lines[place - 1] == f"    {statement}" and lines[place + 1].startswith("    hint: ")


# -- files in no layer
# ------------------------------------------------------------------------------------------------


def test_files_in_no_layer_are_counted_in_every_output_and_listed(in_shop: Call) -> None:
    outside = ["src/shop/__init__.py", "tests/test_order.py"]
    assert "; 2 files in no layer (--list-unassigned)" in in_shop("arch", "check")[1]
    code, out, _ = in_shop("arch", "check", "--list-unassigned")
    assert code == 0 and [line for line in out.splitlines() if line.endswith(": in no layer")] == [
        f"{path}: in no layer" for path in outside
    ]
    value = json.loads(in_shop("arch", "check", "--list-unassigned", "--format", "json")[1])
    assert (value["unassigned"], value["unassigned_files"]) == (2, outside)
    assert (
        json.loads(in_shop("arch", "check", "--format", "sarif")[1])["runs"][0]["properties"][
            "unassigned"
        ]
        == 2
    )
    assert (
        "::notice" in (out := in_shop("arch", "check", "--format", "github")[1])
        and "2 files in no layer" in out
    )
    assert "2 files in no layer" in in_shop("arch", "check", "--format", "gitlab")[1]
    assert "%% 2 files in no layer" in in_shop("arch", "check", "--format", "mermaid")[1]
    assert "2 files in no layer" in in_shop("arch", "show")[1]
    in_shop("init"), in_shop("arch", "check")
    assert "; 2 files in no layer" in in_shop("status")[1]
    assert in_shop("arch", "check", "--list-unassigned", "--format", "github")[0] == 2


def test_an_import_through_a_file_in_no_layer_is_followed(in_shop: Call) -> None:
    """Through a module and a package; a name leads only to where it comes from."""
    write(
        Path.cwd(),
        {
            "src/shop/__init__.py": (
                "from .web.page import total as show\nfrom .core.order import total\nV = 1\n"
            ),
            "src/shop/facade.py": (
                "from shop import deeper\n\ndef render():\n    return deeper.x()\n"
            ),
            "src/shop/deeper.py": "import shop.web.page\n\ndef x(): ...\n",
            ORDER: "from shop.facade import render\n",
            PRICE: "from shop import V, total\nimport shop\n",
            "src/shop/core/typed.py": (
                "import typing\nif typing.TYPE_CHECKING:\n    from shop import show\n"
            ),
            "src/shop/core/shown.py": "from shop import show\n",
        },
    )
    found = json.loads(in_shop("arch", "check", "--format", "json")[1])["violations"]
    assert [(one["path"], one["line"], one["imported"], one["method"]) for one in found] == [
        (ORDER, 1, "shop.web.page", "import through src/shop/facade.py:1 -> src/shop/deeper.py:1"),
        ("src/shop/core/shown.py", 1, "shop.web.page", "import through src/shop/__init__.py:1"),
    ]
    code, out, _ = in_shop("arch", "check")
    assert code == 1 and "give that file a layer" in out
    assert "    from shop.facade import render\n         ^^^^^^^^^^^" in out
    assert "kl arch baseline write" in out and "typed.py" not in out
    assert in_shop("arch", "explain", ORDER)[1].count("forbidden") == 1
    assert in_shop("arch", "baseline", "write")[0] == 0
    assert in_shop("arch", "check")[0] == 0
    rules = Path(MANIFEST).read_text()
    write(Path.cwd(), {MANIFEST: rules + "type_checking_imports: enforce\n"})
    assert "src/shop/core/typed.py:3: core must not import web" in in_shop("arch", "check")[1]
    Path(".kl/baseline.json").unlink()
    write(Path.cwd(), {MANIFEST: rules + "unassigned_imports: ignore\n"})
    assert in_shop("arch", "check")[0] == 0, "each import counts by itself"


# -- which rules
# -------------------------------------------------------------------------------------------------

SEED = """\
Language: Python
Layers:
  - Name: Core
    Paths: [src/shop/core]
    Namespaces: [shop.core]
    MayDependOn: []
  - Name: Web
    Paths: [src/shop/web]
    Namespaces: [shop.web.*, requests]
    MayDependOn: [Core]
"""


@pytest.mark.requirement("A48", "A49", "A50")
def test_a_seed_s_manifest_is_read_with_its_language_and_namespaces(in_shop: Call) -> None:
    write(
        Path.cwd(),
        {".fuseraft/architecture.yaml": SEED, ORDER: "import requests.adapters\nimport shop.web\n"},
    )
    before = in_shop("evidence", "list", "--format", "json")[1]
    code, out, err = in_shop("arch", "check", "--manifest", ".fuseraft/architecture.yaml")
    assert (code, err) == (1, "")
    for line, name in ((1, "requests.adapters"), (2, "shop.web")):
        assert (
            f"{ORDER}:{line}: Core must not import Web (layer rule, .fuseraft/architecture.yaml:6)"
            in out
        ), name
    assert (
        "baseline write" not in out and in_shop("evidence", "list", "--format", "json")[1] == before
    )
    write(Path.cwd(), {MANIFEST: SEED.replace("Python", "CSharp")})
    code, out, err = in_shop("arch", "check")
    assert code == 1 and f'{MANIFEST}:1:1: language "CSharp" is not supported' in err
    outside = "  - Name: Db\n    Namespaces: [sqlite3]\n    MayDependOn: []\n"
    write(Path.cwd(), {MANIFEST: SEED + outside, ORDER: "import sqlite3\n"})
    code, out, err = in_shop("arch", "check")
    assert (code, err) == (1, "") and f"{ORDER}:1: Core must not import Db" in out
    for command in (["show"], ["explain", "Db"], ["explain", ORDER], ["fix", "--dry-run"]):
        assert in_shop("arch", *command)[0] in (0, 1), command
    write(Path.cwd(), {MANIFEST: SEED.replace("[shop.core]", "[shop.web, 7up]")})
    code, _, err = in_shop("arch", "check")
    assert code == 2 and "both own the namespace shop.web" in err and '"7up"' in err
    code, _, err = in_shop("arch", "check", "--manifest", "none.yaml")
    assert code == 2 and "none.yaml: no such file." in err


@pytest.mark.requirement("A49")
def test_another_folder_is_checked_and_only_it_is_shown(
    in_shop: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(Path.cwd(), {ORDER: DRIFT})
    top = Path.cwd()
    monkeypatch.chdir(top.parent)
    assert in_shop("arch", "check", "--dir", "shop")[0] == 1


def test_a_folder_of_the_repository_limits_what_is_shown(in_shop: Call) -> None:
    write(Path.cwd(), {ORDER: DRIFT})
    assert in_shop("arch", "check", "--dir", "src/shop/web")[0] == 0
    assert ORDER in in_shop("arch", "check", "--dir", "src/shop/core")[1]


def test_a_folder_that_is_not_there(in_shop: Call) -> None:
    assert in_shop("arch", "check", "--dir", "nowhere")[0] == 2


@pytest.mark.parametrize("broken", ["layers:\n  - nme: x\n", "baseline"])
def test_rules_that_can_t_be_read_are_in_every_machine_format(in_shop: Call, broken: str) -> None:
    path = ".kl/baseline.json" if broken == "baseline" else MANIFEST
    write(Path.cwd(), {path: "{" if broken == "baseline" else broken})
    for shape in ("json", "sarif", "github", "gitlab", "mermaid"):
        code, out, err = in_shop("arch", "check", "--format", shape)
        assert code == 2 and path in err and path in out, shape
        if shape == "json":
            value = json.loads(out)
            assert (value["clean"], value["invalid"], value["problems"][0]["path"]) == (
                False,
                True,
                path,
            )
        elif shape == "sarif":
            (run,) = json.loads(out)["runs"]
            assert run["invocations"] == [{"executionSuccessful": False}]
            assert run["results"][0]["ruleId"] == "arch/invalid-rules"
        elif shape == "github":
            assert out.startswith(f"::error file={path},line=")


def test_a_missing_manifest_is_an_error_where_one_is_required(in_shop: Call) -> None:
    assert in_shop("arch", "check", "--require-manifest")[0] == 0
    Path(MANIFEST).unlink()
    assert in_shop("arch", "check")[0] == 0
    code, out, err = in_shop("arch", "check", "--require-manifest")
    assert (
        (code, out) == (2, "")
        and err.startswith(f"kl: {MANIFEST}: is missing")
        and "kl init" in err
    )
    code, out, _ = in_shop("arch", "check", "--require-manifest", "--format", "github")
    assert code == 2 and out.startswith(f"::error file={MANIFEST},line=1")


def test_quiet_prints_nothing_when_clean(in_shop: Call) -> None:
    more = "  - name: old\n    paths: [src/shop/wib/]\n"  # a warning
    write(Path.cwd(), {MANIFEST: Path(MANIFEST).read_text() + more})
    assert in_shop("arch", "check", "--quiet") == (0, "", "")
    write(Path.cwd(), {ORDER: DRIFT})
    code, out, err = in_shop("arch", "check", "--quiet")
    assert code == 1 and ORDER in out and "warning" in err


# -- rules loosened by the commits they judge
# --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "printed"),
    [
        (
            "may_depend_on: []",
            "may_depend_on: [web]",
            ":5:1: loosened since base: core may now import web.",
        ),
        (
            "[src/shop/core/]",
            "[src/shop/nowhere/]",
            ": loosened since base: files of core are now in no layer.",
        ),
        (
            "version: 1",
            "exceptions: [{from: core, to: web}]",
            "core is excepted from the rules for web.",
        ),
        (
            "version: 1",
            "exceptions: [{from: web, to: core}]\nindirect: ignore",
            "chains of imports are ignored",
        ),
        ("enforce", "ignore", "imports under TYPE_CHECKING are ignored."),
        (
            "version: 1",
            "unassigned_imports: ignore",
            "imports through files in no layer are ignored",
        ),
    ],
)
@pytest.mark.share(2)
def test_rules_loosened_in_the_commits_they_judge_are_named(
    in_shop: Call, old: str, new: str, printed: str
) -> None:
    top = Path.cwd()
    write(top, {MANIFEST: Path(MANIFEST).read_text() + "type_checking_imports: enforce\n"})
    if "indirect" in new:
        write(top, {MANIFEST: Path(MANIFEST).read_text() + "indirect: forbid\n"})
        new = new.removesuffix("\nindirect: ignore")
    commit(top, "base")
    sh(top, "branch", "base")
    text = Path(MANIFEST).read_text().replace(old, new, 1)
    write(top, {MANIFEST: text.replace("indirect: forbid", "")})
    assert "loosened" not in in_shop("arch", "check")[1], "nothing is committed yet"
    assert in_shop("arch", "check", "--trust-ref", "base")[0] == 1
    sh(top, "add", "-A")
    code, out, _ = in_shop("arch", "check", "--staged", "--quiet")
    assert code == 0 and "warning: " in out and printed.replace("base", "HEAD") in out
    commit(top, "loosened")
    code, out, _ = in_shop("arch", "check", "--changed", "base...HEAD")
    assert code == 0 and "warning: " in out and printed.partition("since base")[2] in out
    assert in_shop("arch", "check", "--at", "HEAD", "--format", "github")[1].startswith(
        "::warning "
    )
    code, out, _ = in_shop("arch", "check", "--at", "HEAD", "--trust-ref", "base")
    assert code == 1 and "error: " in out and printed in out
    value = json.loads(
        in_shop("arch", "check", "--at", "HEAD", "--trust-ref", "base", "--format", "json")[1]
    )
    assert (value["clean"], value["trusted"], value["loosened"][0]["path"]) == (
        False,
        "base",
        MANIFEST,
    )


HTTP = "  - name: http\n    namespaces: [requests, httpx]\n"
REQUESTS_FREE = (
    "loosened since base: core, web may now import requests: the namespace is now in no layer."
)


@pytest.mark.parametrize(
    ("new", "printed"),
    [
        ("", [REQUESTS_FREE, REQUESTS_FREE.replace("requests", "httpx")]),
        (HTTP.replace("requests, ", ""), [REQUESTS_FREE]),
        (
            HTTP.replace("requests, ", "")
            + "  - name: old\n    paths: [src/old/]\n    namespaces: [requests.compat]\n",
            [REQUESTS_FREE],
        ),
        (HTTP.replace("http\n", "client\n"), []),
        (HTTP.replace("requests", "requests.compat, requests"), []),
    ],
    ids=("layer removed", "namespace dropped", "part kept", "layer renamed", "namespace added"),
)
def test_a_namespace_that_no_layer_owns_any_more_is_named(
    in_shop: Call, new: str, printed: list[str]
) -> None:
    top, text = Path.cwd(), Path(MANIFEST).read_text()
    write(top, {MANIFEST: text + HTTP})
    commit(top, "base")
    sh(top, "branch", "base")
    write(top, {MANIFEST: text + new})
    commit(top, "changed")
    code, out, _ = in_shop(
        "arch", "check", "--at", "HEAD", "--trust-ref", "base", "--format", "json"
    )
    found = [one["message"] for one in json.loads(out)["loosened"]]
    assert (code, sorted(found)) == (1 if printed else 0, sorted(printed))


def test_a_namespace_that_moves_to_an_allowed_layer_is_named(in_shop: Call) -> None:
    top, text = Path.cwd(), Path(MANIFEST).read_text()
    write(top, {MANIFEST: text + HTTP})
    commit(top, "base")
    sh(top, "branch", "base")
    write(
        top,
        {
            MANIFEST: (
                (text + HTTP)
                .replace("name: core\n", "name: core\n    namespaces: [requests]\n")
                .replace("[requests, httpx]", "[httpx]")
            )
        },
    )
    commit(top, "moved")
    code, out, _ = in_shop("arch", "check", "--at", "HEAD", "--trust-ref", "base")
    assert code == 1 and "may now import requests: the namespace is now in core." in out


def test_a_baseline_that_grows_in_the_commits_it_judges_is_named(in_shop: Call) -> None:
    top = Path.cwd()
    write(top, {ORDER: TWICE})
    sh(top, "branch", "base")
    in_shop("arch", "baseline", "write")
    commit(top, "accepted")
    printed = "accepts core -> web: shop.core.order imports shop.web.page (2 times)."
    code, out, _ = in_shop("arch", "check", "--at", "HEAD")
    assert code == 0 and f"warning: .kl/baseline.json: loosened since HEAD^: {printed}" in out
    code, out, _ = in_shop("arch", "check", "--at", "HEAD", "--trust-ref", "base")
    assert code == 1 and f"error: .kl/baseline.json: loosened since base: {printed}" in out
    sh(top, "mv", ORDER, "src/shop/core/renamed.py")
    in_shop("arch", "check")
    commit(top, "renamed")
    code, out, _ = in_shop("arch", "check", "--at", "HEAD", "--trust-ref", "HEAD^")
    assert code == 0 and "loosened" not in out, "the same imports under the new name of a module"


def test_a_commit_that_repairs_invalid_rules_passes(in_shop: Call) -> None:
    top, text = Path.cwd(), Path(MANIFEST).read_text()
    write(top, {MANIFEST: "layers: nonsense\n"})
    commit(top, "broken")
    write(top, {MANIFEST: text})
    sh(top, "add", "-A")
    assert in_shop("arch", "check", "--staged")[0] == 0
    code, _, err = in_shop("arch", "check", "--staged", "--trust-ref", "HEAD")
    assert code == 2 and "can't be compared with the rules of HEAD, which are invalid" in err


def test_what_is_pushed_is_compared_with_what_the_remote_has(
    in_shop: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = Path.cwd()
    write(
        top,
        {MANIFEST: Path(MANIFEST).read_text().replace("may_depend_on: []", "may_depend_on: [web]")},
    )
    commit(top, "loosened")
    write(top, {ORDER: "x = 1\n"})
    commit(top, "one more")
    assert "loosened" not in in_shop("arch", "check", "--pushed")[1], (
        "only the last commit is known to be pushed"
    )
    monkeypatch.setenv("PRE_COMMIT_TO_REF", sh(top, "rev-parse", "HEAD"))
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", sh(top, "rev-parse", "HEAD~2"))
    code, out, _ = in_shop("arch", "check", "--pushed", "--quiet")
    assert code == 0 and "core may now import web" in out
    monkeypatch.delenv("PRE_COMMIT_FROM_REF")
    sh(top, "update-ref", "refs/remotes/origin/HEAD", "HEAD~2")
    assert "core may now import web" in in_shop("arch", "check", "--pushed")[1], (
        "a new branch: since it parted"
    )


def test_rules_that_forbid_as_much_under_other_names_are_not_loosened(in_shop: Call) -> None:
    top = Path.cwd()
    sh(top, "branch", "base")
    text = Path(MANIFEST).read_text().replace("name: core", "name: inner")
    write(
        top,
        {MANIFEST: text + "  - name: top\n    paths: [src/shop/top/]\n    may_depend_on: below\n"},
    )
    commit(top, "renamed")
    code, out, _ = in_shop("arch", "check", "--at", "HEAD", "--trust-ref", "base")
    assert code == 0 and "loosened" not in out
    sh(top, "rm", "-rq", ".kl")
    commit(top, "removed")
    assert "removed since HEAD^" in in_shop("arch", "check", "--at", "HEAD")[2]
    code, out, _ = in_shop("arch", "check", "--at", "HEAD", "--trust-ref", "base")
    assert code == 1 and "removed since base: nothing is forbidden any more" in out
    code, _, err = in_shop("arch", "check", "--trust-ref", "nowhere")
    assert code == 2 and "'nowhere' is not a commit" in err


def test_a_job_of_a_service_records_a_result_once_whatever_the_formats(
    tmp_path: Path, home: Path
) -> None:
    shop = checkout(tmp_path / "shop", {**FILES, MANIFEST: LAYERS})

    def receipts() -> int:
        shop.kl("evidence", "list")
        return sum(entry.receipt.source == "arch" for entry in shop.entries())

    job = {"GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "5", "GITHUB_JOB": "test"}
    for shape in ("sarif", "text", "github"):
        shop.kl("arch", "check", "--format", shape, env=job)
    assert receipts() == 1
    shop.kl("arch", "check", env={**job, "GITHUB_RUN_ID": "6"})
    assert receipts() == 2
    shop.write("src/shop/domain/more.py", "import os\n")
    shop.kl("arch", "check", env={**job, "GITHUB_RUN_ID": "6"})
    assert receipts() == 3
    # a person checks as often as he likes, and each is an observation
    shop.kl("arch", "check")
    shop.kl("arch", "check")
    assert receipts() == 5
