"""Blocks of tests of vitest, jest, mocha and Node: tests of the graph, and who they call."""

from __future__ import annotations

from pathlib import Path

import pytest

from kl_hooks.code.query.session import open_graph
from kl_hooks.code.typescript.scanner import scan_javascript, scan_typescript
from kl_hooks.proof import symbol_tests
from tests.code.making import repository
from tests.support import checkout

BLOCKS: dict[str, tuple[str, list[str]]] = {
    "globals": (
        "describe('Cart', () => {\n  it('adds', () => {})\n  test(`has a\n    total`, async () => {})\n"
        "})\nit('alone', function () {})\n",
        ["Cart > adds", "Cart > has a total", "alone"],
    ),
    "groups in groups": (
        "suite('a', () => { describe('b', () => { context('c', () => { specify('d', () => {}) }) }) })",
        ["a > b > c > d"],
    ),
    "what is set on them": (
        "describe.skip('a', () => {\n  it.only('b', () => {})\n  it.each([1, 2])('c %i', (n) => {})\n"
        "  it.each`n\n    ${1}`('d', ({ n }) => {})\n  test.concurrent.failing('e', () => {})\n})\n",
        ["a > b", "a > c %i", "a > d", "a > e"],
    ),
    "imported names": (
        "import { describe as group, it as check } from 'vitest'\n"
        "group('a', () => { check('b', () => {}) })\nit('a global', () => {})\n",
        ["a > b", "a global"],
    ),
    "the function of a module": (
        "import test from 'node:test'\ntest('a', (t) => {})\n",
        ["a"],
    ),
    "options before the function": ("test('a', { timeout: 1 }, () => {})", ["a"]),
    "a function after the function": ("it('a', () => {}, 5000)", ["a"]),
    "Playwright's": (
        "import { test as base } from '@playwright/test'\nconst test = base.extend({})\n"
        "test.describe('a', () => {\n  test('b', async () => { await test.step('c', () => {}) })\n})\n",
        ["a > b"],
    ),
    "a title that is no text": ("it(title, () => {})", ["title"]),
    "no function": ("it('later')\nit.todo('later, too')\ntest('a', 1)\n", []),
    "names of others": (
        "import { it } from './mine'\nfunction test(a, b) {}\nconst describe = other\n"
        "it('a', () => {})\ntest('b', () => {})\ndescribe('c', () => {})\n",
        [],
    ),
    "a parameter": ("function run(it) { it('a', () => {}) }", []),
    "a method": ("cart.it('a', () => {})\ncart.test('b', () => {})\n", []),
    "a colon, a number sign and dots": (
        "it('a::b: c # d.e', () => {})",
        ["a::b: c # d.e"],
    ),
}


def titles(facts: object) -> list[str]:
    rows = facts["symbols"]  # type: ignore[index]
    return [row[0].removeprefix("test:_::") for row in rows if row[0].startswith("test:")]


@pytest.mark.parametrize("name", BLOCKS)
def test_the_tests_of_a_file(name: str) -> None:
    source, expected = BLOCKS[name]
    facts = scan_typescript(source.encode(), "a.test.ts", "_")
    assert (facts["error"], titles(facts)) == ("", expected)


def test_modules_that_require_their_runner() -> None:
    source = "const { it, describe: d } = require('mocha')\nconst check = require('node:test')\n"
    calls = "it('a', () => {})\ncheck('b', () => {})\nconst it2 = 1\n"
    facts = scan_javascript((source + calls).encode(), "a.test.js", "_")
    assert titles(facts) == ["a", "b"]


def test_a_test_is_no_definition_and_its_functions_keep_their_names() -> None:
    source = "it('a', () => { function helper() {} })\nfunction helper() {}\n"
    facts = scan_typescript(source.encode(), "a.test.ts", "_")
    assert facts["outline"]["defs"] == {"<locals>.helper": "function", "helper": "function"}


CART = "export class Cart {\n  total(): number { return sum(1) }\n}\nexport function sum(n: number) { return n }\n"
CART_TEST = (
    "import { Cart, sum } from './cart'\nfunction made() { return new Cart() }\n"
    "describe('Cart', () => {\n  it('has a total', () => { made().total() })\n"
    "  it('sums', () => { sum(1) })\n  it('is text', () => {})\n})\nsum(2)\n"
)


def test_who_calls_a_symbol_in_its_function_or_through_a_helper_is_a_test_of_it(
    tmp_path: Path,
) -> None:
    ws = repository(tmp_path / "repo", {"web/cart.ts": CART, "web/cart.test.ts": CART_TEST})
    cart, added = "type:web/cart.ts#Cart", "function:web/cart.ts#sum"
    with open_graph(ws) as graph:
        tests = symbol_tests.tests_calling(graph.db, [cart, added])
    place = "test:web/cart.test.ts::Cart >"
    # `sum(2)` is called by the file, which is no test
    assert tests == {cart: {f"{place} has a total"}, added: {f"{place} sums"}}


@pytest.mark.usefixtures("home")
def test_a_package_names_the_tests_and_a_report_of_vitest_their_outcome(tmp_path: Path) -> None:
    files = {
        "web/cart.ts": CART,
        "web/cart.test.ts": CART_TEST,
        "web/other.test.ts": "it('sum of a cart', () => {})\n",
        "package.json": "{}\n",
    }
    repo = checkout(tmp_path / "repo", files)
    assert repo.kl("init", "--yes").returncode == 0
    repo.commit("kl")
    report = (
        '<testsuites><testsuite><testcase classname="web/cart.test.ts" name="Cart &gt; sums"'
        ' time="0.1"/></testsuite></testsuites>'
    )
    (tmp_path / "report.xml").write_text(report)
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    imported = repo.kl("evidence", "import", "junit", str(tmp_path / "report.xml"), "--tree", tree)
    assert imported.returncode == 0, imported.stderr
    package = repo.kl("context", "sum in cart.ts adds twice").stdout
    assert "web/cart.test.ts  | 1 test for sum; run: npm test -- web/cart.test.ts" in package
    assert "1 test that uses it passed" in repo.kl("context", "sum", "--budget", "6000").stdout


def test_a_secret_in_a_title_is_not_stored(tmp_path: Path) -> None:
    token = "ghp_" + "0123456789abcdefghij" * 2
    source = f"it('accepts {token}', () => {{}})\n"
    ws = repository(tmp_path / "repo", {"a.test.ts": source})
    with open_graph(ws) as graph:
        rows = graph.db.rows("SELECT outer, name, signature FROM symbol_rows WHERE sort = 'test'")
    assert len(rows) == 1
    assert token not in str(rows)
