"""What imports mean and what uses are linked to, in repositories with TypeScript, asked as a user
does.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kl_hooks.code.languages import own_scanners, read_imports
from kl_hooks.code.query.lookup import NO, NOT_ASSESSED
from kl_hooks.code.query.references import callers, symbol_page
from kl_hooks.code.query.session import open_graph, refresh_graph
from kl_hooks.code.typescript.scanner import scan_typescript
from kl_hooks.git.files import worktree_files
from kl_hooks.graph import links
from kl_hooks.index.postings import OTHER, corpus_of
from kl_hooks.model.symbol import is_test_path
from kl_hooks.workspace import Workspace
from tests.code.linking import all_links, imports, links_before_and_after, rebuilt_links, uses
from tests.code.making import repository
from tests.git.repos import write
from tests.support import checkout

SHOP = {
    "shop/__init__.py": "",
    "shop/core.py": "class Cart:\n    def total(self):\n        return 1\n",
    "web/package.json": '{"name": "web"}',
    "web/tsconfig.json": (
        '{ // aliases\n "compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["src/*"],}, }, }\n'
    ),
    "web/src/cart.ts": (
        "import { formatPrice } from '@/lib/format';\nimport { Base } from './base.js';\n"
        "export class Cart extends Base {\n  lines: Line[] = [];\n"
        "  add(line: Line): this { this.lines.push(line); return this; }\n"
        "  total(): string { return formatPrice(this.sum()) }\n}\n"
        "export interface Line { price: number }\n"
        "export function makeCart(): Cart { return new Cart() }\nexport default Cart;\n"
    ),
    "web/src/base.ts": "export abstract class Base {\n  constructor() {}\n  sum() { return 0 "
    "}\n}\n",
    "web/src/lib/format.ts": "export const formatPrice = (cents: number) => `${cents}`;\n",
    "web/src/index.ts": "export * from './cart';\nexport { Base as Root } from './base';\n",
    "web/src/App.tsx": (
        "import Shop, { makeCart, type Line } from './cart';\nimport { Root } from '.';\n"
        "import * as shop from './index';\nimport { Button } from '@acme/ui';\n"
        "import React from 'react';\n"
        "export function App({ line }: { line: Line }) {\n  const cart = new Shop();\n"
        "  cart.add(line).total();\n  makeCart().sum();\n  shop.makeCart();\n"
        "  const Base = Root;\n  return <Button label={cart.total()} />;\n}\n"
        "export function maybe(thing: any) { return thing.total() }\n"
    ),
    "packages/ui/package.json": (
        '{"name": "@acme/ui", "exports": {".": {"import": "./dist/index.js"},'
        ' "./icons/*": "./dist/icons/*.js"}}'
    ),
    "packages/ui/src/index.ts": "export { Button } from './button';\n",
    "packages/ui/src/button.tsx": "export function Button(props: any) { return <b /> }\n",
    "packages/ui/src/icons/arrow.ts": "export const Arrow = 1;\n",
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return repository(tmp_path_factory.mktemp("shop") / "repo", SHOP)


def test_imports_lead_to_files_by_the_rules_of_the_compiler(shop: Workspace) -> None:
    assert imports(shop, "web/src/cart.ts") == {"web/src/lib/format.ts", "web/src/base.ts"}
    assert imports(shop, "web/src/App.tsx") == {
        "web/src/cart.ts",
        "web/src/index.ts",
        "packages/ui/src/index.ts",
        "node_modules/react",
    }


def test_uses_of_imported_names_lead_through_aliases_and_exports(shop: Workspace) -> None:
    assert uses(shop, "formatPrice") == {
        "web/src/cart.ts imports 1 import",
        "web/src/cart.ts#Cart.total calls 6 import",
    }
    assert "web/src/App.tsx#App references 11 import" in uses(shop, "type:web/src/base.ts#Base")
    assert {
        "web/src/App.tsx#App calls 9 import",
        "web/src/App.tsx#App calls 10 import",
    } <= uses(shop, "makeCart")
    assert "web/src/App.tsx#App calls 12 import" in uses(shop, "Button")


def test_a_method_is_linked_where_its_receiver_is_plain(shop: Workspace) -> None:
    assert uses(shop, "method:web/src/cart.ts#Cart.total") == {
        "web/src/App.tsx#App calls 8 return annotation",
        "web/src/App.tsx#App calls 12 instance",
    }
    assert uses(shop, "Cart.add") == {"web/src/App.tsx#App calls 8 instance"}
    assert uses(shop, "Base.sum") == {
        "web/src/cart.ts#Cart.total calls 6 self",
        "web/src/App.tsx#App calls 9 return annotation",
    }
    with open_graph(shop) as graph:
        unresolved = links.incoming(graph.db, "name:total")
    assert {link.source for link in unresolved} == {"function:web/src/App.tsx#maybe"}


def test_a_class_that_is_called_leads_to_its_constructor_the_inherited_one_too(
    shop: Workspace,
) -> None:
    found = uses(shop, "Base.constructor")
    assert "web/src/App.tsx#App calls 7 constructor" in found


def test_a_base_is_inherited(shop: Workspace) -> None:
    assert "web/src/cart.ts#Cart inherits 3 import" in uses(shop, "type:web/src/base.ts#Base")


def test_a_python_class_of_that_name_is_another_symbol(shop: Workspace) -> None:
    assert uses(shop, "shop.core.Cart") == set()
    assert "web/src/App.tsx#App calls 7 import" in uses(shop, "cart.ts#Cart")


RESOLUTIONS: dict[str, tuple[dict[str, str], str, str]] = {
    "a folder": ({"a/index.ts": ""}, "./a", "a/index.ts"),
    "a file before a folder": ({"a.ts": "", "a/index.ts": ""}, "./a", "a.ts"),
    "a declaration": ({"a.d.ts": ""}, "./a", "a.d.ts"),
    "JavaScript": ({"a.js": ""}, "./a", "a.js"),
    "a source by its built name": ({"a.tsx": ""}, "./a.js", "a.tsx"),
    "a name with a dot": ({"a.service.ts": ""}, "./a.service", "a.service.ts"),
    "the main file of a folder": (
        {"a/package.json": '{"main": "lib/x.js"}', "a/lib/x.js": ""},
        "./a",
        "a/lib/x.js",
    ),
    "baseUrl": (
        {"tsconfig.json": '{"compilerOptions": {"baseUrl": "src"}}', "src/a.ts": ""},
        "a",
        "src/a.ts",
    ),
    "the longest pattern": (
        {
            "tsconfig.json": '{"compilerOptions": {"paths": {"@/*": ["x/*"], "@/lib/*": ["y/*"]}}}',
            "y/a.ts": "",
            "x/lib/a.ts": "",
        },
        "@/lib/a",
        "y/a.ts",
    ),
    "the second target": (
        {
            "tsconfig.json": '{"compilerOptions": {"paths": {"@/*": ["x/*", "y/*"]}}}',
            "y/a.ts": "",
        },
        "@/a",
        "y/a.ts",
    ),
    "what is extended": (
        {
            "tsconfig.json": '{"extends": "./config/tsconfig.base.json"}',
            "config/tsconfig.base.json": '{"compilerOptions": {"paths": {"@/*": ["../src/*"]}}}',
            "src/a.ts": "",
        },
        "@/a",
        "src/a.ts",
    ),
    "what is extended of a package": (
        {
            "tsconfig.json": '{"extends": "@acme/settings/tsconfig.base.json"}',
            "settings/package.json": '{"name": "@acme/settings"}',
            "settings/tsconfig.base.json": '{"compilerOptions": {"paths": {"@/*": ["../src/*"]}}}',
            "src/a.ts": "",
        },
        "@/a",
        "src/a.ts",
    ),
    "what is extended, in a circle": (
        {
            "tsconfig.json": '{"extends": "./tsconfig.app.json"}',
            "tsconfig.app.json": (
                '{"extends": "./tsconfig.json", "compilerOptions": {"paths": {"@/*": ["src/*"]}}}'
            ),
            "src/a.ts": "",
        },
        "@/a",
        "src/a.ts",
    ),
    "the pattern with an end": (
        {
            "tsconfig.json": (
                '{"compilerOptions": {"paths": {"@/*.view": ["x/*"], "@/*": ["y/*"]}}}'
            ),
            "x/a.ts": "",
            "y/a.view.ts": "",
        },
        "@/a.view",
        "x/a.ts",
    ),
    "what is referred to": (
        {
            "tsconfig.json": '{"files": [], "references": [{"path": "./tsconfig.app.json"}]}',
            "tsconfig.app.json": '{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}',
            "src/a.ts": "",
        },
        "@/a",
        "src/a.ts",
    ),
    "a private import": (
        {"package.json": '{"imports": {"#lib/*": "./src/*.ts"}}', "src/a.ts": ""},
        "#lib/a",
        "src/a.ts",
    ),
    "the package itself": (
        {"package.json": '{"name": "me", "exports": {"./a": "./dist/a.mjs"}}', "src/a.ts": ""},
        "me/a",
        "src/a.ts",
    ),
    "a condition of the project's own": (
        {
            "p/package.json": (
                '{"name": "p", "exports": {".": {"types": "./index.d.cts", "@p/source": '
                '"./src/m.ts"}}}'
            ),
            "p/src/m.ts": "",
            "p/index.d.cts": "",
        },
        "p",
        "p/src/m.ts",
    ),
    "a part of a package": (
        {"p/package.json": '{"name": "p"}', "p/lib/a.js": ""},
        "p/lib/a",
        "p/lib/a.js",
    ),
    "types of a package": (
        {"p/package.json": '{"name": "p", "types": "dist/m.d.ts"}', "p/src/m.ts": ""},
        "p",
        "p/src/m.ts",
    ),
    "nothing above the repository": ({}, "../../x", "../../x"),
    "another package": ({}, "react/jsx-runtime", "node_modules/react/jsx-runtime"),
    "a module of Node": ({}, "node:fs", "node:fs"),
    "a missing file": ({}, "./missing", "missing"),
}


@pytest.mark.parametrize("name", RESOLUTIONS)
def test_an_import_means(name: str, tmp_path: Path) -> None:
    files, specifier, target = RESOLUTIONS[name]
    ws = repository(tmp_path / "repo", {**files, "main.ts": f"import '{specifier}';\n"})
    assert imports(ws, "main.ts") == {target}


RING = {
    "a.ts": "export * from './b';\nexport * from 'outside';\n",
    "b.ts": "export * from './c';\nexport * from './a';\n",
    "c.ts": "export * from './a';\nexport * from './d';\n",
    "d.ts": "export function found() {}\n",
    "main.ts": "import { found } from './a';\nimport { lost } from './b';\nfound(); lost();\n",
}
"""Files that hand on each other's exports."""


def test_the_configuration_that_the_compiler_writes_is_read_in_time(tmp_path: Path) -> None:
    """`tsc --init`: a comment on each line, and a comma before many of them. All ways to part these
    are more than anybody can try.
    """
    options = "".join(
        f'    // "option{number}": true,    /* What it is for, and what else it needs. */\n'
        for number in range(80)
    )
    text = (
        '{\n  "compilerOptions": {\n    /* Basic Options */\n    "target": "es5" /* The version. */,\n'
        f'{options}    "baseUrl": ".", // "a"\n    "paths": {{"@/*": ["./src/*"],}}, /* "b", }} */\n  }},\n}}\n'
    )
    files = {
        "tsconfig.json": text,
        "src/a.ts": "export const a = 1;\n",
        "main.ts": "import { a } from '@/a';\n",
    }
    ws = repository(tmp_path / "repo", files)
    assert imports(ws, "main.ts") == {"src/a.ts"}


def test_files_that_hand_on_each_others_exports_all_export_what_one_has(tmp_path: Path) -> None:
    ws = repository(tmp_path / "repo", RING)
    assert "main.ts calls 3 import" in uses(ws, "found")
    write(ws.root, {"c.ts": f"{RING['c.ts']}export function lost() {{}}\n"})
    after = all_links(ws)
    assert "main.ts calls 3 import" in uses(ws, "lost")
    assert after == rebuilt_links(ws)


def test_exports_that_very_many_files_hand_on_are_followed(tmp_path: Path) -> None:
    files = {f"m{n}.ts": f"export * from './m{n + 1}';\n" for n in range(100)}
    files["m100.ts"] = "export function found() {}\n"
    files["main.ts"] = "import { found } from './m0';\nfound();\n"
    ws = repository(tmp_path / "repo", files)
    assert "main.ts calls 2 import" in uses(ws, "found")


CHANGES: dict[str, Mapping[str, str | None]] = {
    "an alias": {
        "web/tsconfig.json": '{"compilerOptions": {"paths": {"@/*": ["other/*"]}}}',
        "web/other/lib/format.ts": "export const formatPrice = 1;\n",
    },
    "a nearer file": {"web/src/cart/index.ts": "", "web/src/base.js": ""},
    "a file that is gone": {"web/src/base.ts": None},
    "a package's name": {"packages/ui/package.json": '{"name": "@acme/other"}'},
    "a package of that name": {
        "packages/ui/package.json": None,
        "ui/package.json": '{"name": "@acme/ui"}',
        "ui/index.ts": "export function Button() {}\n",
    },
    "a package that was outside": {
        "react/package.json": '{"name": "react"}',
        "react/index.ts": "export const other = 1;\n",
    },
    "a re-export": {"web/src/index.ts": "export { makeCart } from './lib/format';\n"},
    "a nearer configuration": {"web/src/tsconfig.json": "{}"},
    "a broken configuration": {"web/tsconfig.json": "{"},
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.share(3)
def test_after_an_edit_the_links_are_those_of_a_graph_built_from_nothing(
    name: str, tmp_path: Path
) -> None:
    ws = repository(tmp_path / "repo", SHOP)
    before, after = links_before_and_after(ws, CHANGES[name])
    assert after != before
    assert after == rebuilt_links(ws)


@pytest.mark.usefixtures("home")
def test_a_decision_is_about_a_class_in_typescript_and_a_context_package_finds_it(
    tmp_path: Path,
) -> None:
    repo = checkout(tmp_path / "repo", SHOP)
    cart = "type:web/src/cart.ts#Cart"
    assert repo.kl("init", "--yes").returncode == 0
    options = ("--context", "c", "--decision", "Carts add their lines", "--about", cart)
    process = repo.kl("decision", "new", "Carts sum", *options)
    assert process.returncode == 0, process.stderr
    assert "about in adr:ADR-0001" in repo.kl("graph", "show", cart).stdout
    assert "ADR-0001" in repo.kl("decision", "list", "--about", cart).stdout
    package = repo.kl("context", "formatPrice shows the wrong currency in the web cart")
    assert "web/src/lib/format.ts" in package.stdout, package.stdout + package.stderr
    listed = repo.kl("graph", "symbols", "web/src/cart.ts").stdout.splitlines()
    assert [line.strip() for line in listed[2:5]] == [
        "3    export class Cart extends Base",
        "4      lines: Line[] = []",
        "5      add(line: Line): this",
    ]


@pytest.mark.usefixtures("home")
def test_a_claim_about_a_method_is_stale_by_its_code_and_not_by_comments_or_layout(
    tmp_path: Path,
) -> None:
    repo = checkout(tmp_path / "repo", SHOP)
    assert repo.kl("init", "--yes").returncode == 0
    total = "method:web/src/cart.ts#Cart.total"
    for text, about in (
        ("Totals are formatted", total),
        ("Carts hold lines", "type:web/src/cart.ts#Cart"),
        ("Prices are in cents", "file:web/src/lib/format.ts"),
    ):
        process = repo.kl("claim", "add", text, "--about", about)
        assert (process.returncode, process.stderr) == (0, "")
    before = SHOP["web/src/cart.ts"]
    laid_out = before.replace(
        "total(): string {", "total( ) /* in cents */\n: string\n{ /* here */"
    )
    write(repo.root, {"web/src/cart.ts": f"// the cart\n{laid_out}"})
    assert repo.kl("claim", "list").stdout.count("assumed   current") == 3
    write(repo.root, {"web/src/cart.ts": laid_out.replace("this.sum()", "this.sum() + 1")})
    listed = repo.kl("claim", "list").stdout
    assert listed.count("stale: Cart.total in web/src/cart.ts changed") == 2
    assert "assumed   current       Prices are in cents" in listed


def test_a_file_that_is_read_in_part_is_not_assessed_and_in_the_graph(tmp_path: Path) -> None:
    ws = repository(tmp_path / "repo", {"a.ts": "export class A {}\nexport function (((;\n"})
    (problem,) = refresh_graph(ws).problems
    assert (problem.path, problem.line) == ("a.ts", 2)
    assert "read in part" in str(problem)
    assert "not in the graph" not in str(problem)
    assert uses(ws, "A") == set()


TEST_PATHS = {
    "web/src/cart.test.ts": True,
    "web/src/cart.spec.tsx": True,
    "web/src/cart.test-d.ts": True,
    "web/src/__tests__/cart.ts": True,
    "web/tests/cart.ts": True,
    "web/src/latest.ts": False,
    "web/src/helper/testing/index.ts": False,
    "web/src/test.ts": False,
    "web/src/cart.test.py": False,
}


@pytest.mark.parametrize("path", TEST_PATHS)
def test_files_with_tests_are_those_of_vitest_and_jest(path: str) -> None:
    assert is_test_path(path) == TEST_PATHS[path]
    assert (corpus_of(path) == OTHER) == TEST_PATHS[path]


@pytest.mark.usefixtures("home")
def test_callers_in_tests_are_counted_apart(tmp_path: Path) -> None:
    test = "import { makeCart } from './cart';\ntest('a', () => { makeCart() });\n"
    repo = checkout(tmp_path / "repo", {**SHOP, "web/src/cart.test.ts": test})
    assert "tests: 1 in 1 file" in repo.kl("graph", "callers", "makeCart").stdout


def test_a_script_that_is_not_read_leaves_answers_about_python_certain(tmp_path: Path) -> None:
    files = {
        "shop.py": "def unused(): pass\n",
        "static/jquery.min.js": "var a=1;" * 5_000,
        "web/cart.ts": "export function unusedToo() {}\n",
    }
    ws = repository(tmp_path / "repo", files)
    with open_graph(ws) as graph:
        assert [problem.path for problem in graph.not_assessed] == ["static/jquery.min.js"]
        assert callers(graph, "unused").answer.verdict == NO
        assert callers(graph, "unusedToo").answer.verdict == NOT_ASSESSED


def test_an_unresolved_use_in_a_script_may_mean_no_python(shop: Workspace) -> None:
    with open_graph(shop) as graph:
        assert callers(graph, "shop.core.Cart.total").answer.unresolved == ()
        in_script = callers(graph, "cart.ts#Cart.total").answer.unresolved
    assert [link.path for link in in_script] == ["web/src/App.tsx"]


def test_no_secret_in_a_template_of_typescript_is_stored(tmp_path: Path) -> None:
    """Python has no such literals: by its rules the text between backticks is code."""
    token = "ghp_" + "0123456789abcdefghij" * 2
    source = (
        f"export const key = `{token}`;\nexport function f(a = `{token}`) {{}}\n"
        f"@mark(`{token}`)\nexport class A {{}}\nconst page = import('./page?key={token}')\n"
    )
    ws = repository(tmp_path / "repo", {"a.ts": source})
    with open_graph(ws) as graph:
        rows = graph.db.rows("SELECT signature FROM symbol_rows")
        page = symbol_page(graph, "A")
    assert len(rows) == 5, "the module and what is in it"
    assert page.symbol.decorators == ("@mark(`[redacted:github]`)",)
    assert token not in repr(rows)
    assert ws.repo is not None
    entries = worktree_files(ws.repo, (".ts",))
    statements = read_imports(
        entries, lambda batch: [(entry, source.encode()) for entry in batch], own_scanners()
    )
    assert "[redacted:github]" in statements["a.ts"]["imports"][0][5]
    facts = scan_typescript(source.encode(), "a.ts", "a.ts")
    assert token not in repr((facts["text"], facts["words"]))
