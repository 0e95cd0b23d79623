"""What paths mean and what uses are linked to, in repositories with Rust, asked as a user does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kl_hooks.code.query.lookup import NO
from kl_hooks.code.query.references import callers
from kl_hooks.code.query.session import open_graph, refresh_graph
from kl_hooks.graph import links
from kl_hooks.proof import symbol_tests
from kl_hooks.workspace import Workspace
from tests.code.linking import imports, links_before_and_after, rebuilt_links, uses
from tests.code.making import repository
from tests.support import checkout

SHOP = {
    "shop/core.py": "class Cart:\n    def total(self):\n        return 1\n",
    "Cargo.toml": (
        '[workspace]\nmembers = ["crates/*"]\n[workspace.dependencies]\n'
        'cart-core = { path = "crates/cart" }\n'
    ),
    "crates/cart/Cargo.toml": '[package]\nname = "cart-core"\n',
    "crates/cart/src/lib.rs": (
        "//! The cart.\npub mod cart;\nmod ops;\npub mod total;\n"
        "pub mod prelude { pub use crate::cart::*; }\n"
        "pub use cart::{Cart, Line as Item};\npub use total::total;\n"
    ),
    "crates/cart/src/cart.rs": (
        "/// Holds lines.\n#[derive(Debug)]\npub struct Cart { pub last: Line }\n"
        "pub struct Line { pub price: u32 }\n"
        "impl Line { pub fn cost(&self) -> u32 { self.price } }\n"
        "impl Cart {\n    pub fn new() -> Self { Cart { last: Line { price: 0 } } }\n"
        "    pub fn add(&mut self, line: Line) -> &mut Self { self.refresh(); self }\n}\n"
        "pub trait Shop { fn close(&self); fn reopen(&self) { self.close() } }\n"
        "pub enum Color { Red, Green }\n"
        "#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n"
        "    fn adds() { let mut cart = Cart::new(); assert_eq!(cart.sum(), Color::Red); }\n}\n"
    ),
    "crates/cart/src/ops/mod.rs": (
        "use super::cart::{self, Cart};\npub mod rates;\n"
        "impl Cart {\n    pub fn refresh(&self) -> u32 { self.sum() }\n"
        "    pub fn sum(&self) -> u32 { crate::total(self) }\n}\n"
        "impl cart::Shop for Cart { fn close(&self) {} }\n"
    ),
    "crates/cart/src/ops/rates.rs": "pub(super) fn rate() -> u32 { super::super::total::zero() }\n",
    "crates/cart/src/total.rs": (
        "use crate::Cart;\npub fn total(cart: &Cart) -> u32 { cart.last.cost() }\n"
        "pub fn zero() -> u32 { 0 }\n"
    ),
    "crates/app/Cargo.toml": (
        '[package]\nname = "app"\n[dependencies]\n'
        'basket = { package = "cart-core", path = "../cart" }\n'
        'cart-core = { workspace = true }\nserde = "1"\n'
    ),
    "crates/app/src/main.rs": (
        "use basket::prelude::*;\nuse cart_core::{total as whole, Item};\nuse serde::Serialize;\n"
        "fn main() {\n    let cart = Cart::new();\n    whole(&cart);\n    cart.reopen();\n"
        "    let item = Item { price: 2 };\n    item.cost();\n"
        '    cart_core::total::zero();\n    println!("{}", cart.add(item).sum());\n}\n'
        "fn maybe(thing: impl Unknown) { thing.sum() }\n"
    ),
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return repository(tmp_path_factory.mktemp("shop") / "repo", SHOP)


def test_imports_lead_to_files_through_mod_and_cargo(shop: Workspace) -> None:
    assert imports(shop, "crates/cart/src/lib.rs") == {
        "crates/cart/src/cart.rs",
        "crates/cart/src/ops/mod.rs",
        "crates/cart/src/total.rs",
    }
    assert imports(shop, "crates/cart/src/ops/mod.rs") == {
        "crates/cart/src/cart.rs",
        "crates/cart/src/lib.rs",  # by `crate::total(self)`
        "crates/cart/src/ops/rates.rs",
    }
    assert imports(shop, "crates/app/src/main.rs") == {
        "crates/cart/src/lib.rs",
        "crates/cart/src/total.rs",
        "extern/serde",
    }


def test_uses_of_paths_lead_through_re_exports_globs_and_renames(shop: Workspace) -> None:
    main = "crates/app/src/main.rs#main"
    assert f"{main} calls 5 import" in uses(shop, "Cart.new")
    assert f"{main} references 8 import" in uses(shop, "type:crates/cart/src/cart.rs#Line")
    assert {
        f"{main} calls 6 import",
        "crates/cart/src/ops/mod.rs#Cart.sum calls 5 import",
    } <= uses(shop, "function:crates/cart/src/total.rs#total")
    assert uses(shop, "zero") == {
        f"{main} calls 10 import",
        "crates/cart/src/ops/rates.rs#rate calls 1 import",
    }
    assert uses(shop, "Color.Red") == {"crates/cart/src/cart.rs#tests.adds references 16 import"}


def test_a_method_is_linked_where_its_receiver_is_plain(shop: Workspace) -> None:
    main = "crates/app/src/main.rs#main"
    assert uses(shop, "Line.cost") == {
        f"{main} calls 9 instance",
        "crates/cart/src/total.rs#total calls 2 instance",
    }
    with open_graph(shop) as graph:
        unresolved = links.incoming(graph.db, "name:sum")
    assert {link.source for link in unresolved} == {"function:crates/app/src/main.rs#maybe"}


@pytest.mark.requirement("C17")
def test_a_method_in_another_file_belongs_to_its_type(shop: Workspace) -> None:
    total = "method:crates/cart/src/ops/mod.rs#Cart.sum"
    assert uses(shop, total) == {
        "crates/cart/src/ops/mod.rs#Cart.refresh calls 4 instance",
        "crates/cart/src/cart.rs#tests.adds calls 16 return annotation",
        "crates/app/src/main.rs#main calls 11 return annotation",
    }
    assert uses(shop, "Cart.refresh") == {"crates/cart/src/cart.rs#Cart.add calls 8 self"}
    with open_graph(shop) as graph:
        (definition,) = [
            link for link in links.incoming(graph.db, total) if link.relation == "defines"
        ]
    assert definition.source == "type:crates/cart/src/cart.rs#Cart"


def test_a_method_of_a_trait_is_known_by_the_types_that_implement_it(shop: Workspace) -> None:
    assert uses(shop, "Shop.reopen") == {"crates/app/src/main.rs#main calls 7 return annotation"}
    assert "crates/cart/src/cart.rs#Shop.reopen calls 10 self" in uses(shop, "Shop.close")


def test_a_python_class_of_that_name_is_another_symbol(shop: Workspace) -> None:
    assert uses(shop, "shop.core.Cart") == set()
    assert uses(shop, "cart.rs#Cart")


PATHS: dict[str, tuple[dict[str, str], str, str]] = {
    "a file": ({"src/lib.rs": "mod a;", "src/a.rs": "fn it() {}"}, "src/lib.rs: a::it", "src/a.rs"),
    "a folder": (
        {"src/lib.rs": "mod a;", "src/a/mod.rs": "fn it() {}"},
        "src/lib.rs: a::it",
        "src/a/mod.rs",
    ),
    "a file below a file": (
        {"src/lib.rs": "mod a;", "src/a.rs": "mod b;", "src/a/b.rs": "fn it() {}"},
        "src/lib.rs: a::b::it",
        "src/a/b.rs",
    ),
    "a path of its own": (
        {"src/lib.rs": '#[path = "x/y.rs"] mod a;', "src/x/y.rs": "fn it() {}"},
        "src/lib.rs: crate::a::it",
        "src/x/y.rs",
    ),
    "above a path of its own": (
        {"src/lib.rs": '#[path = "x/y.rs"] mod a; fn it() {}', "src/x/y.rs": ""},
        "src/x/y.rs: super::it",
        "src/lib.rs",
    ),
    "a file below an inline module": (
        {"src/lib.rs": "mod a { pub mod b; }", "src/a/b.rs": "fn it() {}"},
        "src/lib.rs: a::b::it",
        "src/a/b.rs",
    ),
    "above an inline module": (
        {"src/lib.rs": "mod a { fn it() {} pub mod b; }", "src/a/b.rs": ""},
        "src/a/b.rs: super::it",
        "src/lib.rs#a",
    ),
    "above above": (
        {"src/lib.rs": "mod a; fn it() {}", "src/a.rs": "mod b;", "src/a/b.rs": ""},
        "src/a/b.rs: super::super::it",
        "src/lib.rs",
    ),
    "the root of a program": (
        {"src/main.rs": "mod a; fn it() {}", "src/a.rs": "", "src/lib.rs": "fn it() {}"},
        "src/a.rs: crate::it",
        "src/main.rs",
    ),
    "the library of a program": (
        {"src/lib.rs": "pub fn it() {}", "src/main.rs": ""},
        "src/main.rs: my_lib::it",
        "src/lib.rs",
    ),
    "the library of a test": (
        {"src/lib.rs": "pub fn it() {}", "tests/t.rs": ""},
        "tests/t.rs: my_lib::it",
        "src/lib.rs",
    ),
    "a module of a test": (
        {"tests/t.rs": "mod common;", "tests/common/mod.rs": "pub fn it() {}"},
        "tests/t.rs: common::it",
        "tests/common/mod.rs",
    ),
    "a test of several files": (
        {
            "Cargo.toml": (
                '[package]\nname = "x"\nautotests = false\n'
                '[[test]]\nname = "all"\npath = "tests/tests.rs"\n'
            ),
            "tests/tests.rs": "mod misc; mod util;",
            "tests/util.rs": "pub fn it() {}",
            "tests/misc.rs": "",
        },
        "tests/misc.rs: crate::util::it",
        "tests/util.rs",
    ),
    "a program with a path of its own": (
        {
            "Cargo.toml": '[package]\nname = "my-lib"\n[[bin]]\nname = "b"\npath = "cli/b.rs"\n',
            "cli/b.rs": "mod a; fn it() {}",
            "cli/a.rs": "",
        },
        "cli/a.rs: crate::it",
        "cli/b.rs",
    ),
    "a library with a name and path of its own": (
        {
            "Cargo.toml": '[package]\nname = "x"\n[dependencies]\ny = { path = "y" }\n',
            "src/main.rs": "",
            "y/Cargo.toml": '[package]\nname = "y"\n[lib]\nname = "why"\npath = "why.rs"\n',
            "y/why.rs": "pub fn it() {}",
        },
        "src/main.rs: why::it",
        "y/why.rs",
    ),
    "a module and a function of one name": (
        {"src/lib.rs": "mod it; pub use it::it;", "src/it.rs": "pub fn it() {}"},
        "src/lib.rs: crate::it",
        "src/it.rs",
    ),
    "a module of the name of a function": (
        {
            "src/lib.rs": "mod sleep; pub use sleep::sleep;",
            "src/sleep.rs": "pub fn sleep() {} pub fn it() {}",
        },
        "src/lib.rs: crate::sleep::it",
        "src/sleep.rs",
    ),
    "a path through a module that is imported": (
        {
            "src/lib.rs": "mod a; use a::b::{self as c, D}; fn g() { D::it() }",
            "src/a.rs": (
                "pub mod b { pub mod c { pub fn it() {} } pub struct D; impl D { fn it() {} } }"
            ),
        },
        "src/lib.rs: c::c::it",
        "src/a.rs#b.c",
    ),
    "a crate that an inline module uses": (
        {
            "Cargo.toml": '[package]\nname = "x"\n[dev-dependencies]\ny = { path = "y" }\n',
            "y/Cargo.toml": '[package]\nname = "y"\n',
            "y/src/lib.rs": "pub mod a; pub use a::Made;",
            "y/src/a.rs": "pub struct Made; impl Made { pub fn it() {} }",
            "src/lib.rs": (
                "mod tests { use y::Made; use super::*; fn f() { Made::it() } }\nuse y::Made as M;"
            ),
        },
        "src/lib.rs: M::it",
        "y/src/a.rs#Made",
    ),
    "a re-export of a re-export": (
        {
            "src/lib.rs": "mod a; mod b; pub use b::renamed as last;",
            "src/a.rs": "pub fn it() {}",
            "src/b.rs": "pub use super::a::it as renamed;",
        },
        "src/lib.rs: last",
        "src/a.rs",
    ),
    "a glob of a glob": (
        {
            "src/lib.rs": "mod a; mod b; use b::*;",
            "src/a.rs": "pub fn it() {}",
            "src/b.rs": "pub use crate::a::*;",
        },
        "src/lib.rs: it",
        "src/a.rs",
    ),
    "globs in a cycle": (
        {
            "src/lib.rs": "mod a; mod b; use b::*;",
            "src/a.rs": "pub use crate::b::*; pub fn it() {}",
            "src/b.rs": "pub use crate::a::*;",
        },
        "src/lib.rs: it",
        "src/a.rs",
    ),
}


MACRO = "macro_rules! it { () => {} }"
MACROS: dict[str, tuple[dict[str, str], str, str]] = {
    "the crate's own, from a module": (
        {"src/lib.rs": f"{MACRO} mod a;", "src/a.rs": ""},
        "src/a.rs: it!",
        "src/lib.rs",
    ),
    "one of a sibling": (
        {"src/lib.rs": "#[macro_use] mod a; mod b;", "src/a.rs": MACRO, "src/b.rs": ""},
        "src/b.rs: it!",
        "src/a.rs",
    ),
    "in a test of a module": (
        {"src/lib.rs": f"{MACRO} mod a;", "src/a.rs": "mod tests { use super::*; fn f() {} }"},
        "src/a.rs: it!",
        "src/lib.rs",
    ),
    "one that the library exports": (
        {"src/lib.rs": "mod a;", "src/a.rs": f"#[macro_export] {MACRO}", "tests/t.rs": ""},
        "tests/t.rs: my_lib::it!",
        "src/a.rs",
    ),
    "one that is imported": (
        {
            "src/lib.rs": "mod a;",
            "src/a.rs": f"#[macro_export] {MACRO}",
            "tests/t.rs": "use my_lib::it;",
        },
        "tests/t.rs: it!",
        "src/a.rs",
    ),
    "one that a prelude hands on": (
        {
            "src/lib.rs": "mod a; pub mod prelude { pub use crate::*; }",
            "src/a.rs": f"#[macro_export] {MACRO}",
            "tests/t.rs": "use my_lib::prelude::*;",
        },
        "tests/t.rs: it!",
        "src/a.rs",
    ),
    "one of the crate where another one has a macro of that name, too": (
        {"src/lib.rs": f"{MACRO} mod a;", "src/a.rs": "", "tests/t.rs": MACRO},
        "src/a.rs: it!",
        "src/lib.rs",
    ),
}


@pytest.mark.parametrize("name", PATHS | MACROS)
def test_a_path_means(name: str, tmp_path: Path) -> None:
    files, question, target = (PATHS | MACROS)[name]
    path, _, called = question.partition(": ")
    files = {"Cargo.toml": '[package]\nname = "my-lib"\n', **files}
    files[path] = f"{files[path]}\nfn asks() {{ {called}() }}\n"
    ws = repository(tmp_path / "repo", files)
    with open_graph(ws) as graph:
        called_ids = {
            link.target
            for link in links.outgoing(graph.db, f"function:{path}#asks")
            if link.relation == "calls"
        }
    kind = "method" if target.endswith("#Made") else "function"
    name_in_file = "it" if "#" not in target else f"{target.partition('#')[2]}.it"
    assert called_ids == {f"{kind}:{target.partition('#')[0]}#{name_in_file}"}


def test_of_two_macros_of_one_name_in_a_crate_none_is_taken(tmp_path: Path) -> None:
    files = {
        "Cargo.toml": '[package]\nname = "my-lib"\n',
        "src/lib.rs": f"{MACRO} mod a; mod b;",
        "src/a.rs": f"mod c; {MACRO}",
        "src/b.rs": "fn asks() { it!() }",
    }
    ws = repository(tmp_path / "repo", files)
    with open_graph(ws) as graph:
        (link,) = links.outgoing(graph.db, "function:src/b.rs#asks", "calls")
    assert (link.target, link.method) == ("name:it", "name only")


def test_a_macro_is_no_name_of_a_module_but_the_root(tmp_path: Path) -> None:
    files = {
        "Cargo.toml": '[package]\nname = "my-lib"\n',
        "src/lib.rs": f"{MACRO} mod a; mod b;",
        "src/a.rs": "made!();",
        "src/b.rs": "fn asks() { crate::a::it() }",
    }
    ws = repository(tmp_path / "repo", files)
    assert users(ws, "function:src/lib.rs#it") == set()


FIELDS = {
    "Cargo.toml": '[package]\nname = "my-lib"\n',
    "src/lib.rs": "pub mod cart;\n",
    "src/cart.rs": (
        "pub struct Line { pub price: u32 }\n"
        "impl Line { pub fn cost(&self) -> u32 { self.price } }\n"
        "pub struct Cart { last: Line, pub count: u32 }\n"
        "impl Cart {\n"
        "    pub fn last(&self) -> u32 { self.last.cost() }\n"
        "    pub fn count(&self) -> u32 { self.count }\n"
        "    pub fn both(&self) -> u32 { self.count() + self.last() }\n"
        "}\n"
        "pub enum Shape { Round { price: u32 } }\n"
    ),
    "src/main.rs": (
        "use my_lib::cart::{Cart, Line, Shape};\n"
        "fn makes(price: u32) { Line { price: 1 }; }\n"
        "fn short(price: u32) { Line { price }; }\n"
        "fn takes(line: Line) { let Line { price } = line; }\n"
        "fn macros() { assert!(ok(&Line { price: 1 })) }\n"
        "fn varies() { Shape::Round { price: 1 }; }\n"
        "fn reads(cart: Cart) { cart.count; }\n"
        "fn calls(cart: Cart) { cart.count(); }\n"
    ),
}


def test_a_field_is_used_where_it_is_named_with_its_type(tmp_path: Path) -> None:
    ws = repository(tmp_path / "repo", FIELDS)
    prices = {use.partition(" ")[0].partition("#")[2] for use in uses(ws, "cart.rs#Line.price")}
    assert prices == {"Line.cost", "makes", "short", "takes", "macros"}


def test_of_a_field_and_a_method_of_one_name_the_one_that_is_used_is_meant(tmp_path: Path) -> None:
    ws = repository(tmp_path / "repo", FIELDS)
    field, method = "field:src/cart.rs#Cart.count", "method:src/cart.rs#Cart.count"
    assert users(ws, field) == {"Cart.count", "reads"}
    assert users(ws, method) == {"Cart.both", "calls"}
    assert users(ws, "field:src/cart.rs#Cart.last") == {"Cart.last"}
    assert users(ws, "method:src/cart.rs#Cart.last") == {"Cart.both"}
    # what the field is decides, not what the method returns
    assert users(ws, "method:src/cart.rs#Line.cost") == {"Cart.last"}


def users(ws: Workspace, identifier: str) -> set[str]:
    """The names of what uses a symbol."""
    with open_graph(ws) as graph:
        return {
            link.source.partition("#")[2]
            for link in links.incoming(graph.db, identifier)
            if link.relation in ("calls", "references")
        }


def test_a_module_that_a_path_leads_through_is_used(tmp_path: Path) -> None:
    files = {
        "Cargo.toml": '[package]\nname = "my-lib"\n',
        "src/lib.rs": "mod frames; mod a;",
        "src/frames.rs": "pub fn it() {}",
        "src/a.rs": "use crate::frames; fn asks() { frames::it() } fn whole() { crate::frames::it() }",
    }
    ws = repository(tmp_path / "repo", files)
    assert users(ws, "namespace:src/frames.rs") == {"asks", "whole"}


def test_a_crate_is_known_in_an_inline_module(tmp_path: Path) -> None:
    files = PATHS["a crate that an inline module uses"][0]
    ws = repository(tmp_path / "repo", files)
    assert "src/lib.rs#tests.f calls 1 import" in uses(ws, "Made.it")


CHANGES: dict[str, Mapping[str, str | None]] = {
    "a method named as a field": {
        "crates/cart/src/cart.rs": SHOP["crates/cart/src/cart.rs"]
        + "impl Cart { fn last(&self) -> u32 { self.last.price } }\n"
    },
    "a re-export": {"crates/cart/src/lib.rs": "pub mod cart;\nmod ops;\npub mod total;\n"},
    "a module's path": {
        "crates/cart/src/lib.rs": SHOP["crates/cart/src/lib.rs"].replace(
            "pub mod total", '#[path = "sum.rs"]\npub mod total'
        ),
        "crates/cart/src/sum.rs": "pub fn zero() {}\n",
    },
    "a file that is gone": {"crates/cart/src/total.rs": None},
    "a shared dependency": {
        "Cargo.toml": '[workspace.dependencies]\ncart-core = { path = "crates/other" }\n'
    },
    "a glob in a module": {
        "crates/cart/src/cart.rs": SHOP["crates/cart/src/cart.rs"].replace("use super::*;", "")
    },
    "a method in another file": {
        "crates/cart/src/ops/mod.rs": SHOP["crates/cart/src/ops/mod.rs"].replace("sum(", "add_up(")
    },
    "a type that is extended no longer": {
        "crates/cart/src/ops/mod.rs": SHOP["crates/cart/src/ops/mod.rs"].replace(
            "use super::cart::{self, Cart};", "use super::cart; struct Cart;"
        )
    },
    "a type that is extended now": {
        "crates/cart/src/total.rs": (
            SHOP["crates/cart/src/total.rs"] + "impl Cart { pub fn sum(&self) {} }\n"
        )
    },
    "a crate that was outside": {
        "serde/Cargo.toml": '[package]\nname = "serde"\n',
        "serde/src/lib.rs": "pub trait Serialize {}\n",
    },
    "a nearer manifest": {"crates/app/src/Cargo.toml": '[package]\nname = "x"\n'},
    "a broken manifest": {"crates/app/Cargo.toml": "["},
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


CALLS_OF_MACROS = {
    "Cargo.toml": '[package]\nname = "my-lib"\n',
    "src/lib.rs": "mod a; mod b; mod c;",
    "src/a.rs": f"#[macro_export] {MACRO}",
    "src/b.rs": "fn asks() { it!() } fn other() {}",
    "src/c.rs": "",
    "tests/t.rs": "use my_lib::*; fn asks() { it!(); my_lib::other!() }",
}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"src/a.rs": ""}, id="it is gone"),
        pytest.param({"src/c.rs": MACRO}, id="there are two"),
        pytest.param({"src/a.rs": "", "src/c.rs": MACRO}, id="it was moved"),
        pytest.param({"src/c.rs": "macro_rules! other { () => {} }"}, id="there is another one"),
        pytest.param({"src/a.rs": "", "src/lib.rs": "pub fn it() {}"}, id="it is a function"),
    ],
)
def test_where_macros_change_calls_in_other_files_are_linked_again(
    changes: Mapping[str, str], tmp_path: Path
) -> None:
    ws = repository(tmp_path / "repo", CALLS_OF_MACROS)
    before, after = links_before_and_after(ws, changes)
    assert after != before
    assert after == rebuilt_links(ws)


@pytest.mark.requirement("C18")
@pytest.mark.usefixtures("home")
def test_a_decision_is_about_a_type_in_rust_and_a_context_package_has_its_code(
    tmp_path: Path,
) -> None:
    repo = checkout(tmp_path / "repo", SHOP)
    cart = "type:crates/cart/src/cart.rs#Cart"
    assert repo.kl("init", "--yes").returncode == 0
    options = ("--context", "c", "--decision", "Carts add their lines", "--about", cart)
    process = repo.kl("decision", "new", "Carts sum", *options)
    assert process.returncode == 0, process.stderr
    assert "about in adr:ADR-0001" in repo.kl("graph", "show", cart).stdout
    package = repo.kl("context", "refresh the cart after adding a line", "--budget", "6000")
    assert "pub fn refresh(&self) -> u32 { self.sum() }" in package.stdout, package.stdout
    assert "Cart.refresh" in repo.kl("graph", "search", "refresh").stdout
    dependents = repo.kl("graph", "dependents", "crates/cart/src/total.rs").stdout
    assert "crates/app/src/main.rs" in dependents
    listed = repo.kl("graph", "symbols", "crates/cart/src/ops/mod.rs").stdout.splitlines()
    assert [line.strip() for line in listed[2:]] == [
        "4    pub fn refresh(&self) -> u32",
        "5    pub fn sum(&self) -> u32",
        "impl cart::Shop",
        "7    fn close(&self)",
    ]


def test_no_callers_are_certain_of_what_no_trait_and_no_attribute_calls(tmp_path: Path) -> None:
    source = (
        "use std::fmt;\npub struct Cart;\n"
        "impl fmt::Display for Cart { fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {} }\n"
        "#[inline]\nfn lone() {}\n#[tokio::main]\nasync fn main() {}\n"
    )
    ws = repository(tmp_path / "repo", {"a.rs": source})
    with open_graph(ws) as graph:
        assert callers(graph, "lone").answer.verdict == NO
        assert callers(graph, "a.rs#main").answer.doubts == ("#[tokio::main] may call it",)
        (doubt,) = callers(graph, "Cart.fmt").answer.doubts
    assert doubt == "it is of the trait fmt::Display: a call by the trait may reach it"


def test_a_file_that_is_read_in_part_is_not_assessed_and_in_the_graph(tmp_path: Path) -> None:
    ws = repository(tmp_path / "repo", {"a.rs": "pub struct A;\nfn (((;\n"})
    (problem,) = refresh_graph(ws).problems
    assert (problem.path, problem.line) == ("a.rs", 2)
    assert "read in part" in str(problem)
    assert uses(ws, "A") == set()


def test_no_secret_in_rust_is_stored(tmp_path: Path) -> None:
    token = "ghp_" + "0123456789abcdefghij" * 2
    source = (
        f'const KEY: &str = "{token}";\n#[mark = "{token}"]\nstruct A;\n'
        f'/// Not {token}.\nfn f() {{ say(r#"{token}"#) }}\n'
    )
    ws = repository(tmp_path / "repo", {"a.rs": source})
    with open_graph(ws) as graph:
        rows = graph.db.rows("SELECT * FROM symbol_rows")
    assert len(rows) == 4, "the module and what is in it"
    assert token not in repr(rows)


ODD = (
    "fn f() { ::mio(); ::a::b(); crate(); self(); super(); crate::x; m!(::q, ::r()); <T>::new() }",
    "use ::{a}; use {b}; use {}; use self; use super; use crate as c; use *; use ::*; use a::{};",
    "use self::*; use crate::*; use super::*; use super::super::*; use super::super::super::x;",
    "extern crate self as me; extern crate a; mod a { mod b { use super::super::super::c; } }",
    '#[path = ""] mod e; #[path] mod g; #[path = "../../../../x.rs"] mod h; mod r#mod;',
    "impl Trait for fn(u8) {} impl !Send for X {} impl<T> T {} impl dyn A + B { fn f() {} }",
    "use a::b; use b::a; use c as c; use d::{self as d}; type A = B; type B = A;",
    "trait A: B {} trait B: A {} struct S; impl A for S {} fn f(s: S) { s.missing().other() }",
)


def test_odd_paths_are_linked_without_an_error(tmp_path: Path) -> None:
    files = {f"src/odd{number}.rs": f"{source}\n" for number, source in enumerate(ODD)}
    files["src/lib.rs"] = "".join(f"mod odd{number};\n" for number in range(len(ODD)))
    for place, source in enumerate(ODD):
        files[f"tests/t{place}.rs"] = f"mod inner {{ {source} }}\nfn g() {{ {source} }}\n"
    files["Cargo.toml"] = (
        '[package]\nname = ""\n[lib]\nname = 3\npath = "../x.rs"\n[dependencies]\na = 1\n'
    )
    ws = repository(tmp_path / "repo", files)
    refresh_graph(ws)
    with open_graph(ws) as graph:
        assert len(graph.db.rows("SELECT path FROM files")) == len(files)


def test_functions_that_an_attribute_marks_are_tests(tmp_path: Path) -> None:
    source = (
        "pub fn total(n: u64) -> u64 { n }\npub fn other() {}\n"
        "#[cfg(test)]\nmod tests {\n    use super::*;\n"
        "    #[test]\n    fn adds() { assert_eq!(total(2), select(2)); }\n"
        "    #[tokio::test]\n    async fn waits() { total(1); }\n"
        "    fn helper() { other(); }\n}\n"
    )
    files = {"Cargo.toml": '[package]\nname = "cart"\n', "src/lib.rs": source}
    shop = repository(tmp_path / "repo", files)
    # a function that is called in the arguments of a macro may come from a glob import
    assert uses(shop, "function:src/lib.rs#total") == {
        "src/lib.rs#tests.adds calls 7 import",
        "src/lib.rs#tests.waits calls 9 import",
    }
    total, other = "function:src/lib.rs#total", "function:src/lib.rs#other"
    with open_graph(shop) as graph:
        tests = symbol_tests.tests_calling(graph.db, [total, other])
    adds, waits = "test:src/lib.rs::tests::adds", "test:src/lib.rs::tests::waits"
    assert tests == {total: {adds, waits}, other: set()}
