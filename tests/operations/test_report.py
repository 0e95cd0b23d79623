"""The data of the report: what it states is what other commands state, and what is published has
nothing that is for the user alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.code.query.session import open_graph
from kl_hooks.evidence.snapshot import snapshot
from kl_hooks.operations.report_tests import UNASSESSED
from kl_hooks.proof.impact import NEVER, PROVEN, Runs, content_of, state_of
from kl_hooks.proof.symbol_states import TRANSFERRED, Place, SymbolStates
from tests.support import Checkout

needs_symbols = pytest.mark.skipif(
    not hasattr(sys, "monitoring"), reason="executed symbols are recorded from CPython 3.12 on"
)
MANIFEST = """version: 1
layers:
  - {name: core, paths: [shop/core/], may_depend_on: []}
  - {name: web, paths: [shop/web/], may_depend_on: [core], decision: ADR-0001}
  - {name: tests, paths: [tests/], may_depend_on: below}
"""
FILES = {
    ".kl/architecture.yaml": MANIFEST,
    "shop/__init__.py": "",
    "shop/core/__init__.py": "",
    "shop/core/price.py": "RATE = 2\n\n\ndef total(n):\n    return n * RATE\n\n\n"
    "def unused(n):\n    return n\n",
    "shop/core/order.py": "from shop.core.price import total\n\n\nclass Order:\n"
    "    def sum(self):\n        return total(3)\n",
    "shop/web/__init__.py": "",
    "shop/web/page.py": "from shop.core.order import Order\n\n\ndef render():\n"
    "    return str(Order().sum())\n",
    "tests/test_price.py": "from shop.core.price import total\n\n\ndef test_total():\n"
    "    assert total(2) == 4\n",
    "tests/test_page.py": "from shop.web.page import render\n\n\ndef test_render():\n"
    "    assert render() == '6'\n",
    "conftest.py": "",
}


@pytest.fixture
def shop(repo: Checkout) -> Checkout:
    """A shop in two layers, whose tests ran and passed."""
    for path, text in FILES.items():
        repo.write(path, text)
    repo.commit("the shop")
    assert repo.pytest("-q").returncode == 0
    return repo


def report(repo: Checkout, *options: str, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    done = repo.kl("report", "--format", "json", *options, env=env)
    assert done.returncode == 0, done.stderr
    data: dict[str, Any] = json.loads(done.stdout)
    return data


def answer(repo: Checkout, command: str) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(repo.kl(command, "--format", "json").stdout)
    return plain


def files_by_path(data: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {file["path"]: file for file in data["files"]}


def symbols_by_name(data: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {symbol[0]: symbol for symbol in data["symbols"]}


def edit_price(repo: Checkout) -> None:
    text = FILES["shop/core/price.py"].replace("return n * RATE", "return RATE * n")
    repo.write("shop/core/price.py", text)


def test_the_verdict_and_its_words_are_those_of_other_commands(shop: Checkout) -> None:
    for change in (lambda: None, lambda: edit_price(shop)):
        change()
        now, verify = report(shop)["now"], answer(shop, "verify")
        assert f"  tests     {now['sentence']}\n" in shop.kl("status").stdout
        assert now["verdict"] in (verify["state"], "partly")
        assert now["tests"]["here"] == verify["tests"]["proven"]
        assert now["tests"]["stale"] == verify["tests"]["rerun"]
        assert (now["missing"], now["command"]) == (verify["reasons"], verify["command"])
        assert now["hints"] == verify["hints"]


def test_the_verdict_of_each_content_in_one_word(shop: Checkout) -> None:
    assert report(shop)["now"]["verdict"] == "proven"
    shop.write("shop/web/page.py", FILES["shop/web/page.py"] + "\n\nLAST = 1\n")
    shop.write("README.md", "Shop\n")
    assert report(shop)["now"]["verdict"] == "partly"
    shop.write("tests/test_price.py", FILES["tests/test_price.py"].replace("== 4", "== 5"))
    assert shop.pytest("-q").returncode == 1
    data = report(shop)
    assert data["now"]["verdict"] == "failing"
    assert "1 failed" in data["now"]["sentence"]


def test_without_a_run_nothing_is_recorded_and_nothing_is_invented(repo: Checkout) -> None:
    repo.write("a.py", "def a():\n    return 1\n")
    repo.commit()
    data = report(repo)
    assert data["now"]["verdict"] == "nothing recorded"
    assert (data["runs"], data["tests"]["name"], data["layers"]) == ([], [], [])
    assert data["now"]["violations"] == {"forbidden": 0, "accepted": 0, "checked": False}
    (file,) = data["files"]
    assert (file["state"], file["layer"]) == ("unassessed", None)
    assert file["reason"] == "no run with executed symbols was recorded"
    assert data["change"] is None


@needs_symbols
def test_each_symbol_has_its_state_and_its_tests(shop: Checkout) -> None:
    data = report(shop)
    symbols, names = symbols_by_name(data), data["tests"]["name"]
    _, kind, file, line, last, number, tests, state = symbols["shop.core.price.total"]
    assert (kind, data["files"][file]["path"], line, last) == (
        *("function", "shop/core/price.py", 4, 5),
    )
    # the test that executes least besides comes first
    assert [names[test] for test in tests] == [
        "tests/test_price.py::test_total",
        "tests/test_page.py::test_render",
    ]
    assert (number, state) == (2, 0)
    assert symbols["shop.core.price.unused"][5:] == [0, [], 3]
    assert symbols["shop.core.order.Order.sum"][5:7] == [
        1,
        [names.index("tests/test_page.py::test_render")],
    ]
    price = files_by_path(data)["shop/core/price.py"]
    assert (price["state"], price["reason"]) == ("here", "1 of 2 symbols never executed")
    assert price["proven"] == [2, 0, 0, 2, 0]
    begin, end = price["symbols"]
    assert [symbol[0] for symbol in data["symbols"][begin:end]] == [
        "shop.core.price.total",
        "shop.core.price.unused",
    ]


@needs_symbols
def test_an_edit_leaves_stale_and_transferred(shop: Checkout) -> None:
    shop.write("shop/web/page.py", FILES["shop/web/page.py"].replace("str(", "repr("))
    data = report(shop)
    files = files_by_path(data)
    assert files["shop/web/page.py"]["state"] == "stale"
    assert "shop.web.page.render changed" in files["shop/web/page.py"]["reason"]
    assert files["shop/core/price.py"]["state"] == "transferred"
    # an empty body is nothing that a test could execute
    assert files["shop/core/__init__.py"]["state"] == "unassessed"
    states = dict(zip(data["tests"]["name"], data["tests"]["state"], strict=True))
    assert states == {"tests/test_page.py::test_render": 2, "tests/test_price.py::test_total": 1}


@needs_symbols
def test_the_state_of_all_symbols_is_that_of_each(shop: Checkout) -> None:
    edit_price(shop)
    assert shop.pytest("-q", "tests/test_price.py").returncode == 0
    shop.write("shop/web/page.py", FILES["shop/web/page.py"] + "\n\ndef other():\n    return 1\n")
    ws = shop.workspace()
    with snapshot(ws) as evidence, open_graph(ws) as graph:
        runs = Runs(ws, evidence, content_of(ws))
        states = SymbolStates(runs.parts, runs.flaky)
        sql = """SELECT f.path, r.sort,
            CASE r.sort WHEN 'namespace' THEN r.outer ELSE r.outer || r.name END,
            lower(hex(r.content_hash)) FROM symbol_rows r JOIN files f ON f.number = r.file
            WHERE r.sort NOT IN ('test', 'field')"""
        rows = graph.db.rows(sql)
        assert len(rows) > 10
        seen = set()
        for path, kind, name, content_hash in rows:
            place = Place(path, f"{kind}:_{name}")
            # no run executed the other content
            for value in (content_hash, "0" * 16):
                proof = states.proof_of(place, value)
                state, reason, _ = state_of(*place, value, runs.parts, runs.flaky)
                assert proof.state.replace(TRANSFERRED, PROVEN) == state, (place, value)
                assert state == PROVEN or proof.reason == reason, (place, value)
                seen.add(proof.state)
    assert seen >= {TRANSFERRED, "stale", NEVER}


def test_of_many_changes_since_a_pass_a_few_are_named(repo: Checkout) -> None:
    numbers = range(7)
    parts = "".join(f"def part_{n}():\n    return {{}}\n\n\n" for n in numbers)
    repo.write("a.py", parts.format(*numbers))
    calls = "".join(f"    assert a.part_{n}() == {n}\n" for n in numbers)
    repo.write("test_a.py", f"import a\n\n\ndef test_all():\n{calls}")
    repo.commit("parts")
    assert repo.pytest("-q").returncode == 0
    repo.write("a.py", parts.format(*(number + 10 for number in numbers)))
    assert repo.pytest("-q").returncode == 1
    (since,) = report(repo)["tests"]["since"]
    if hasattr(sys, "monitoring"):
        assert since.endswith("a.part_0, a.part_1, a.part_2, a.part_3 and 3 more")


def test_the_history_of_a_test_is_a_letter_for_each_run(shop: Checkout) -> None:
    shop.write("tests/test_price.py", FILES["tests/test_price.py"].replace("== 4", "== 5"))
    assert shop.pytest("-q").returncode == 1
    assert shop.pytest("-q", "tests/test_price.py").returncode == 1
    data = report(shop)
    tests = data["tests"]
    place = tests["name"].index("tests/test_price.py::test_total")
    other = tests["name"].index("tests/test_page.py::test_render")
    assert (tests["strip"][place], tests["strip"][other]) == ("pff", "pp.")
    assert (tests["red_since"][place], tests["red_since"][other]) == (1, None)
    assert (tests["outcome"][place], tests["outcome"][other]) == ("f", "p")
    assert tests["since"][other] == ""
    passed = data["runs"][0]["id"][:8]
    assert tests["since"][place].startswith(f"since it passed in run {passed}: ")
    assert "test_price.test_total" in tests["since"][place]
    assert len(tests["ms"][other]) == 3 and tests["ms"][other][2] is None
    assert [(run["status"], run["by"], run["failed"]) for run in data["runs"]] == [
        *(("passed", "here", 0), ("failed", "here", 1), ("failed", "here", 1)),
    ]
    assert files_by_path(data)["tests/test_price.py"]["failing"] == 1
    if hasattr(sys, "monitoring"):
        assert files_by_path(data)["shop/core/price.py"]["failing"] == 1
    edit_price(shop)
    # it may pass now, so it does not fail now
    data = report(shop)
    assert files_by_path(data)["tests/test_price.py"]["failing"] == data["now"]["tests"]["failing"]


JUNIT = """<testsuites><testsuite>
<testcase classname="tests.test_price" name="test_total" time="0.02"><failure message="no"/></testcase>
<testcase classname="tests.test_page" name="test_other" time="0.5"/>
<testcase classname="cart has a total" name="of zero" time="0.1"/>
</testsuite></testsuites>"""


def test_imported_results_of_other_tools_are_in_the_history(shop: Checkout) -> None:
    shop.kl("status")
    (shop.root / "junit.xml").write_text(JUNIT)
    assert shop.kl("evidence", "import", "junit", "junit.xml").returncode == 0
    (shop.root / "junit.xml").unlink()
    assert shop.pytest("-q", "tests/test_price.py").returncode == 0
    data = report(shop, "--full")
    tests = data["tests"]
    strips = dict(zip(tests["name"], tests["strip"], strict=True))
    # nobody recorded in which environment they ran
    assert strips == {
        "tests/test_page.py::test_render": "p..",
        "tests/test_page.py::test_other": ".P.",
        "tests/test_price.py::test_total": "pFp",
        "cart has a total::of zero": ".P.",
    }
    assert [run["by"] for run in data["runs"]] == ["here", "imported", "here"]
    other = tests["name"].index("tests/test_page.py::test_other")
    assert (tests["ms"][other], tests["outcome"][other]) == ([None, 500, None], "p")
    assert tests["state"][other] == UNASSESSED
    published = report(shop)
    assert set(published["tests"]["name"]) == strips.keys() - {"cart has a total::of zero"}
    assert published["omitted"]["imported tests without a file"] == 1


def test_layers_have_floors_and_imports_their_rule(shop: Checkout) -> None:
    text = "from shop.web.page import render\nfrom shop.core.price import RATE\n"
    shop.write("shop/core/bad.py", text)
    data = report(shop)
    assert [(layer["name"], layer["rank"]) for layer in data["layers"]] == [
        *(("core", 0), ("web", 1), ("tests", 2)),
    ]
    paths = [file["path"] for file in data["files"]]
    imports = {(paths[one[0]], paths[one[1]]): one[2:] for one in data["imports"]}
    assert imports["shop/core/bad.py", "shop/web/page.py"] == [
        *(1, 1, "core must not import web (layer rule, .kl/architecture.yaml:3)", ""),
    ]
    assert imports["shop/core/bad.py", "shop/core/price.py"] == [2, 0, "", ""]
    assert imports["shop/web/page.py", "shop/core/order.py"] == [1, 0, "", ""]
    assert data["now"]["violations"] == {"forbidden": 1, "accepted": 0, "checked": True}
    assert [layer["violations"] for layer in data["layers"]] == [1, 0, 0]
    assert data["layers"][1]["decision"] == "ADR-0001"
    assert shop.kl("arch", "baseline", "write").returncode == 0
    data = report(shop)
    assert data["now"]["violations"] == {"forbidden": 0, "accepted": 1, "checked": True}
    assert data["imports"][0][3:5] == [
        *(2, "core must not import web (layer rule, .kl/architecture.yaml:3); in the baseline"),
    ]


CONTRACTS = """contracts:
  - name: Web over core
    type: layers
    layers: [web, core]
    containers: [shop]
    decision: ADR-0004
  - name: Pages alone
    type: forbidden
    source_modules: [shop.core.price]
    forbidden_modules: [shop.web]
"""


def test_imports_that_break_a_contract_of_import_linter_are_marked(shop: Checkout) -> None:
    shop.write("shop/__init__.py", "")
    shop.write("shop/core/bad.py", "from shop.core import worse\n")
    shop.write("shop/core/worse.py", "\nfrom shop import between\n")
    shop.write("shop/between.py", "import shop.web.page\n")
    shop.write(".kl/architecture.yaml", f"version: 1\n{CONTRACTS}")
    data = report(shop)
    assert data["contracts"] == [
        {"name": "Web over core", "type": "layers", "breaches": 1, "decision": "ADR-0004"},
        {"name": "Pages alone", "type": "forbidden", "breaches": 0, "decision": ""},
    ]
    paths = [file["path"] for file in data["files"]]
    marked = {(paths[row[0]], paths[row[1]]): row[2:] for row in data["imports"] if row[3]}
    rule = 'contract "Web over core" of import-linter (.kl/architecture.yaml:3)'
    reason = f"a step of a chain of imports that breaks {rule}"
    assert marked == {
        ("shop/core/worse.py", "shop/between.py"): [2, 1, reason, "ADR-0004"],
        ("shop/between.py", "shop/web/page.py"): [1, 1, reason, "ADR-0004"],
    }
    broken = 'contract "Web over core" of import-linter is broken (.kl/architecture.yaml:3).'
    assert any(broken in note for note in data["now"]["notes"])
    shop.write("shop/between.py", "def broken(:\n")
    data = report(shop)
    assert data["contracts"] == []
    assert any("of import-linter are not judged" in note for note in data["now"]["notes"])


def test_rules_that_cannot_be_used_are_a_note(shop: Checkout) -> None:
    shop.write(".kl/architecture.yaml", "version: 1\nlayers: 3\n")
    data = report(shop)
    assert data["layers"] == [] and data["now"]["violations"]["checked"] is False
    assert any("the layers are not checked" in note for note in data["now"]["notes"])
    assert data["imports"], "who imports whom needs no rule"


@needs_symbols
def test_a_change_marks_what_differs(shop: Checkout) -> None:
    edit_price(shop)
    shop.write("shop/core/new.py", "def new():\n    return 1\n")
    shop.write("README.md", "Shop\n")
    shop.commit("faster")
    data = report(shop, "--changed", "HEAD~1...HEAD")
    change = data["change"]
    assert [data["files"][at]["path"] for at in change["files"]] == [
        *("shop/core/new.py", "shop/core/price.py"),
    ]
    assert [data["symbols"][at][0] for at in change["symbols"]] == [
        *("shop.core.new.new", "shop.core.price.total"),
    ]


def test_what_is_published_has_no_path_of_this_machine(shop: Checkout, home: Path) -> None:
    cases = [str(shop.root / "a.txt"), "/etc/passwd", "me@example.org", "/api/users", "plain"]
    text = (
        f"import pytest\n\n\n@pytest.mark.parametrize('x', {cases!r})\ndef test_x(x):\n    pass\n"
    )
    shop.write("tests/test_x.py", text)
    shop.commit(f"see {home}/notes of me@example.org")
    assert shop.pytest("-q").returncode == 0
    data = report(shop)
    whole = json.dumps(data)
    for word in (str(shop.root), str(home), "me@example.org", "/etc/passwd", "root@", "local:"):
        assert word not in whole, word
    names = {name.partition("[")[2] for name in data["tests"]["name"] if "[" in name}
    assert {"/api/users]", "plain]", "a.txt]", "(address)]", "(path)]"} == names
    full = json.dumps(report(shop, "--full"))
    assert "me@example.org" in full and str(shop.root) in full


def test_what_waits_for_a_person_is_in_a_full_report_alone(shop: Checkout) -> None:
    memory = ("memory", "add", "zqround half up", "--category", "pattern")
    assert shop.kl(*memory, env={"KL_AGENT": "bot"}).returncode == 0
    claim = ("claim", "add", "zqclaim is quick", "--about", "file:shop/core/price.py")
    assert shop.kl(*claim).returncode == 0
    edit_price(shop)
    published, full = report(shop), report(shop, "--full")
    assert (published["viewer"], full["viewer"]) == ("anonymous", "full")
    assert "zq" not in json.dumps(published)
    assert published["now"]["waiting"] == {}
    assert full["now"]["waiting"] == answer(shop, "status")["waiting"]
    assert [memory["title"] for memory in full["knowledge"]["memories"]] == ["zqround half up"]
    assert len(published["now"]["stale_claims"]) == len(full["now"]["stale_claims"]) == 1
    assert full["now"]["stale_claims"][0]["statement"] == "zqclaim is quick"


def test_decisions_are_linked_to_what_they_govern(shop: Checkout) -> None:
    new = ("decision", "new", "Whole prices", "--context", "c", "--decision", "d")
    assert shop.kl(*new, "--governs", "shop/core/price.py").returncode == 0
    assert shop.kl(*new[:2], "Cents", *new[3:], "--governs", "shop/core/").returncode == 0
    for name in ("ADR-0001", "ADR-0002"):
        assert shop.kl("decision", "accept", name).returncode == 0
    assert shop.kl("decision", "supersede", "ADR-0001", "ADR-0002").returncode == 0
    knowledge = report(shop)["knowledge"]
    first, second = knowledge["decisions"]
    assert (first["title"], first["status"], first["superseded_by"]) == (
        *("Whole prices", "superseded", "ADR-0002"),
    )
    assert (second["status"], second["superseded_by"]) == ("accepted", None)
    assert knowledge["about"]["file:shop/core/price.py"] == ["ADR-0001"]
    assert ["ADR-0001", "adr_governs", "file:shop/core/price.py"] in knowledge["links"]
    assert ["ADR-0002", "supersedes", "ADR-0001"] in knowledge["links"]


@pytest.mark.parametrize("effect", ["deny", "redact"])
@pytest.mark.parametrize("actors", ["agent", '"agent:other"', "human"])
@pytest.mark.share(3)
def test_what_the_policy_hides_from_anybody_is_not_published(
    shop: Checkout, effect: str, actors: str
) -> None:
    shop.write(
        "veiled/zqplan.py",
        "from shop.core.price import total\n\n\ndef zqsum():\n    return total(1)\n",
    )
    shop.write(
        "veiled/test_zqplan.py",
        "from veiled.zqplan import zqsum\n\n\ndef test_zqsum():\n    assert zqsum() == 3\n",
    )
    new = (
        "decision",
        "new",
        "zqsecret plan",
        "--context",
        "c",
        "--decision",
        "d",
        "--tags",
        "hidden",
    )
    assert shop.kl(*new, "--governs", "veiled/zqplan.py").returncode == 0
    shop.write(
        ".kl/policy.yaml",
        "version: 1\nrules:\n"
        f'  - name: files\n    {effect}: {{paths: ["veiled/**"], actors: [{actors}]}}\n'
        f"  - name: tags\n    {effect}: {{tags: [hidden], actors: [{actors}]}}\n",
    )
    shop.commit("plans")
    assert shop.pytest("-q").returncode == 1
    edit_price(shop)
    data = report(shop)
    if effect == "redact":
        # what a rule redacts keeps its name in reasons and commands, as in those of `kl verify`
        assert "zqsecret" not in json.dumps(data.pop("now"))
    assert "zq" not in json.dumps(data)
    assert "ADR-0001" not in json.dumps(data["knowledge"])
    assert "shop/core/price.py" in files_by_path(data)
    assert "zq" in json.dumps(report(shop, "--full")), "a person may open the files"
