"""Results of cargo-nextest and jest are those of the tests that the code graph has."""

from __future__ import annotations

from pathlib import Path

from kl_hooks.code.query.reported_tests import tests_by_reported_name as by_reported_name
from kl_hooks.code.query.session import open_graph
from tests.support import checkout

TEST = "#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn adds() {}\n}\n"
FILES = {
    "Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n',
    "crates/core/Cargo.toml": (
        '[package]\nname = "shop-core"\n[[test]]\nname = "whole"\npath = "tests/all/tests.rs"\n'
        '[[test]]\npath = "tests/nameless/tests.rs"\n'
    ),
    "crates/core/src/lib.rs": (
        "pub mod cart;\nmod outer {\n    mod inner;\n}\n"
        '#[path = "elsewhere/rates.rs"]\nmod rate;\n'
        "pub fn total(price: u32) -> u32 { price }\n" + TEST
    ),
    "crates/core/src/cart/mod.rs": "mod line;\n",
    "crates/core/src/cart/line.rs": (
        "mod tests {\n    #[rstest]\n    fn has(#[case] n: u32) {}\n"
        "    #[test]\n    fn costs() { crate::total(1); }\n}\n"
    ),
    "crates/core/src/outer/inner.rs": TEST,
    "crates/core/src/elsewhere/rates.rs": TEST,
    "crates/core/src/orphan.rs": TEST,
    "crates/core/tests/all/tests.rs": "#[test]\nfn sells() {}\n",
    "crates/core/tests/nameless/tests.rs": "#[test]\nfn sells() {}\n",
    "crates/core/tests/on-its-own.rs": "mod common;\n#[test]\nfn sells() {}\n",
    "crates/core/tests/common/mod.rs": "#[test]\nfn helps() {}\n",
    "crates/core/tests/deep/main.rs": "#[test]\nfn sells() {}\n",
    "crates/core/benches/speed.rs": "#[test]\nfn sells() {}\n",
    "crates/core/examples/demo.rs": "#[test]\nfn sells() {}\n",
    "crates/core/src/bin/tool.rs": "#[test]\nfn sells() {}\n",
    "crates/app/Cargo.toml": (
        '[package]\nname = "app"\n[[bin]]\nname = "shop"\npath = "src/shop.rs"\n'
        '[dependencies]\nshop-core = { path = "../core" }\n'
    ),
    "crates/app/src/shop.rs": "#[test]\nfn runs() {}\n",
    "crates/app/src/main.rs": "#[test]\nfn runs() {}\n",
    "loose.rs": "#[test]\nfn runs() {}\n",
    "web/cart.test.ts": (
        "import { describe, it } from 'vitest';\n"
        "describe('Cart', () => { it('adds', () => {}); it('has > a sign', () => {}); });\n"
        "describe('A', () => { it('b c', () => {}); });\n"
        "describe('A b', () => { it('c', () => {}); });\n"
        "it('alone', () => {});\n"
    ),
    "tests/test_cart.py": "def test_cart():\n    pass\n",
}
CORE = "crates/core"
NAMES = {
    "shop-core::tests::adds": f"{CORE}/src/lib.rs::tests::adds",
    "shop-core::cart::line::tests::has::case_1": f"{CORE}/src/cart/line.rs::tests::has[case_1]",
    "shop-core::cart::line::tests::has::case_2::x": (
        f"{CORE}/src/cart/line.rs::tests::has[case_2::x]"
    ),
    "shop-core::outer::inner::tests::adds": f"{CORE}/src/outer/inner.rs::tests::adds",
    "shop-core::rate::tests::adds": f"{CORE}/src/elsewhere/rates.rs::tests::adds",
    "shop-core::orphan::tests::adds": "",
    "shop-core::whole::sells": f"{CORE}/tests/all/tests.rs::sells",
    "shop-core::nameless::sells": "",
    "shop-core::on-its-own::sells": f"{CORE}/tests/on-its-own.rs::sells",
    # a file that each binary of `tests/` may have as its own module
    "shop-core::on-its-own::common::helps": "",
    "shop-core::deep::sells": f"{CORE}/tests/deep/main.rs::sells",
    "shop-core::bench/speed::sells": f"{CORE}/benches/speed.rs::sells",
    "shop-core::example/demo::sells": f"{CORE}/examples/demo.rs::sells",
    "shop-core::bin/tool::sells": f"{CORE}/src/bin/tool.rs::sells",
    "app::bin/shop::runs": "crates/app/src/shop.rs::runs",
    "app::bin/app::runs": "crates/app/src/main.rs::runs",
    "app::bin/other::runs": "",
    "other::tests::adds": "",
    "shop-core": "",
    "web/cart.test.ts::Cart adds": "web/cart.test.ts::Cart > adds",
    "web/cart.test.ts::Cart has > a sign": "",
    "web/cart.test.ts::Cart > adds": "",
    "web/cart.test.ts::A b c": "",
    "web/cart.test.ts::alone": "",
    "web/other.test.ts::Cart adds": "",
    "tests/test_cart.py::test_cart": "",
}
"""Name in a report → of the graph; empty: it stays as it is."""


def test_names_of_a_report_are_those_of_the_graph(tmp_path: Path, home: Path) -> None:
    repo = checkout(tmp_path / "shop", files=FILES)
    with open_graph(repo.workspace()) as graph:
        renamed = by_reported_name(graph.db, NAMES)
        assert by_reported_name(graph.db, []) == {}
    assert renamed == {reported: name for reported, name in NAMES.items() if name}


NEXTEST = """<testsuites name="nextest-run"><testsuite name="shop-core">
<testcase classname="shop-core" name="cart::line::tests::costs" time="0.1">{costs}</testcase>
<testcase classname="shop-core" name="cart::line::tests::has::case_1" time="0.1"/>
<testcase classname="shop-core" name="gone::adds" time="0.1"/>
</testsuite></testsuites>"""


def test_an_imported_result_is_shown_with_the_code_that_the_test_calls(
    tmp_path: Path, home: Path
) -> None:
    repo = checkout(tmp_path / "shop", files=FILES)
    tree = repo.git("rev-parse", "HEAD^{tree}")

    def imported(costs: str) -> None:
        (tmp_path / "report.xml").write_text(NEXTEST.format(costs=costs))
        done = repo.kl("evidence", "import", "junit", str(tmp_path / "report.xml"), "--tree", tree)
        assert done.stdout.startswith("1 new"), done.stderr

    imported('<failure message="panicked"/>')
    shown = repo.kl("context", "total is wrong").stdout
    assert "1 of 1 test that uses it failed" in shown
    verified = repo.kl("verify")
    assert verified.returncode == 1
    test = f"{CORE}/src/cart/line.rs::tests::costs"
    assert f"{test} failed in run" in verified.stdout
    assert (
        "hint: fix the failing tests, then import the report of a new run: kl evidence import"
        in verified.stdout
    )
    imported("")
    shown = repo.kl("context", "total is wrong", "--budget", "3000").stdout
    assert "1 test that uses it passed, inferred" in shown
    names = {evidence.subject for evidence in repo.entries()[0].receipt.evidence}
    assert names == {
        f"test:{test}",
        f"test:{CORE}/src/cart/line.rs::tests::has[case_1]",
        "test:shop-core::gone::adds",
    }


def test_names_of_receipts_stay_as_they_were_recorded(tmp_path: Path, home: Path) -> None:
    repo = checkout(tmp_path / "a", files=FILES)
    other = checkout(tmp_path / "b", files={"x.py": ""})
    report, receipts = tmp_path / "report.xml", tmp_path / "receipts.jsonl"
    report.write_text(NEXTEST.format(costs=""))
    assert other.kl("evidence", "import", "junit", str(report)).stdout.startswith("1 new")
    assert other.kl("evidence", "export", "-o", str(receipts)).returncode == 0
    assert repo.kl("evidence", "import", "receipts", str(receipts)).returncode == 0
    (entry,) = (entry for entry in repo.entries() if entry.receipt.source == "junit")
    assert "test:shop-core::cart::line::tests::costs" in {
        evidence.subject for evidence in entry.receipt.evidence
    }
