"""The contract of scanners for Rust: what is written, and the facts of it."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

from kl_hooks.code.rust.configuration import scan_cargo
from kl_hooks.code.rust.scanner import scan_rust
from kl_hooks.code.scanner.parser import PARTIAL, unreadable_facts
from kl_hooks.code.scanner.python import scan_python

TABLE: dict[str, tuple[str, list[str], list[str]]] = {
    "empty": ("", [], []),
    "a struct and its methods": (
        "/// Holds lines.\n///\n/// Twice.\n#[derive(Debug)]\n"
        "pub struct Cart<'a, T: Shop>\nwhere\n    T: Clone,\n{\n    /// All.\n"
        "    pub lines: Vec<Line<'a>>,\n    count: u32,\n}\n"
        "impl<'a, T: Shop> Cart<'a, T> {\n    pub const MAX: u32 = 3;\n"
        "    /** Adds. */\n    pub fn add(&mut self, line: Line) -> &mut Self { self }\n}\n"
        "struct Pair(u32, pub i32);\nstruct Unit;\n",
        [
            "type:Cart 5-12 pub struct Cart<'a, T: Shop> where T: Clone, 'Holds lines.'",
            "field:Cart.lines 10-10 pub lines: Vec<Line<'a>> 'All.'",
            "field:Cart.count 11-11 count: u32",
            "field:Cart.MAX 14-14 pub const MAX: u32 = 3",
            "method:Cart.add 16-16 pub fn add(&mut self, line: Line) -> &mut Self 'Adds.'",
            "type:Pair 18-18 struct Pair(u32, pub i32)",
            "type:Unit 19-19 struct Unit",
        ],
        [],
    ),
    "enums, unions and other names": (
        "pub enum Color {\n    /// Hot.\n    Red = 1,\n    Green(u8),\n"
        "    Blue { deep: bool },\n}\n"
        "union Bits { a: u8 }\ntype Colors<T> = Vec<T>;\n",
        [
            "type:Color 1-6 pub enum Color",
            "field:Color.Red 3-3 Red = 1 'Hot.'",
            "field:Color.Green 4-4 Green(u8)",
            "field:Color.Blue 5-5 Blue { deep: bool }",
            "type:Bits 7-7 union Bits",
            "field:Bits.a 7-7 a: u8",
            "type:Colors 8-8 type Colors<T> = Vec<T>",
        ],
        [],
    ),
    "traits and their implementations": (
        "pub trait Shop: Base + 'static {\n    type Item: Clone;\n    const N: u8 = 1;\n"
        "    fn open(&self) -> Self::Item;\n    fn close(&self) where Self: Sized {}\n}\n"
        "impl<T> shop::Shop for &Vec<T> { type Item = T; fn open(&self) -> T { } }\n"
        "impl Shop for [u8] { }\nimpl<T> Shop for (T, u8) { fn open(&self) {} }\n",
        [
            "interface:Shop 1-6 pub trait Shop: Base + 'static",
            "type:Shop.Item 2-2 type Item: Clone",
            "field:Shop.N 3-3 const N: u8 = 1",
            "method:Shop.open 4-4 fn open(&self) -> Self::Item",
            "method:Shop.close 5-5 fn close(&self) where Self: Sized",
            "type:Vec.Item 7-7 type Item = T",
            "method:Vec.open 7-7 fn open(&self) -> T",
            "method:tuple.open 9-9 fn open(&self)",
        ],
        ["7 shop  path"],
    ),
    "functions, constants, macros and foreign items": (
        "pub async unsafe fn go<T>(a: u8, (b, c): (u8, u8)) -> Result<T, E>\nwhere T: Shop {\n"
        "    fn inner() {}\n    struct Local { x: u8 }\n    const HERE: u8 = 1;\n}\n"
        "static mut COUNT: u32 = 0;\nconst _: () = ();\n"
        "#[macro_export]\nmacro_rules! sum { ($x:expr) => { $x }; }\n"
        'extern "C" { fn abs(a: i32) -> i32; }\n',
        [
            "function:go 1-6 pub async unsafe fn go<T>(a: u8, (b, c): (u8, u8)) -> Result<T, E>"
            " where T: Shop",
            "function:go.<locals>.inner 3-3 fn inner()",
            "type:go.<locals>.Local 4-4 struct Local",
            "field:go.<locals>.Local.x 4-4 x: u8",
            "field:COUNT 7-7 static mut COUNT: u32 = 0",
            "function:sum 10-10 macro_rules! sum",
            "function:abs 11-11 fn abs(a: i32) -> i32",
        ],
        [],
    ),
    "modules": (
        "mod cart;\npub mod shop {\n    pub mod line;\n    fn f() {}\n"
        "    mod deep { struct S; }\n}\n",
        [
            "namespace:shop 2-6 pub mod shop",
            "function:shop.f 4-4 fn f()",
            "namespace:shop.deep 5-5 mod deep",
            "type:shop.deep.S 5-5 struct S",
        ],
        ["1 mod::cart  import", "3 mod::shop.line  import"],
    ),
    "what one cfg each defines is one symbol": (
        "#[cfg(unix)]\nfn go() {}\n#[cfg(windows)]\n/// Goes.\nfn go(a: u8) {}\n",
        ["function:go 2-2 fn go() 'Goes.'"],
        [],
    ),
    "use": (
        "use std::fmt;\nuse crate::{cart::{self, Cart as Basket}, shop::*};\n"
        "use super::super::x::Y;\n"
        "pub use ::serde;\nextern crate log as logging;\nuse helper as h;\n"
        "mod inner { use super::Z; use self::a::B; fn f() { use super::C; } }\n",
        ["namespace:inner 7-7 mod inner", "function:inner.f 7-7 fn f()"],
        [
            "1 std fmt import",
            "2 crate cart import",
            "2 crate::cart Cart import",
            "2 crate::shop * star import",
            "3 super::super::x Y import",
            "4  serde import",
            "5 ::log  import",
            "6 helper  import",
            "7 self Z import",
            "7 self::inner::a B import",
            "7 self C import",
        ],
    ),
    "items in the arguments of a macro": (
        "cfg_rt! {\n    /// Runs.\n    #[inline]\n    pub fn run() {}\n    mod io;\n"
        "    cfg_io! { use std::io; impl Cart { fn read(&self) {} } }\n}\n"
        "mod inner { cfg_rt! { struct S; } }\nflags! { A = 1, B = 2 }\nm!(fn f() {});\n"
        "fn g() { m! { fn h() {} } }\n",
        [
            "function:run 4-4 pub fn run() 'Runs.'",
            "method:Cart.read 6-6 fn read(&self)",
            "namespace:inner 8-8 mod inner",
            "type:inner.S 8-8 struct S",
            "function:g 11-11 fn g()",
        ],
        ["5 mod::io  import", "6 std io import"],
    ),
    "raw names": ("fn r#async() {}\n", ["function:async 1-1 fn r#async()"], []),
}


def scan(source: str) -> Any:
    return scan_rust(source.encode(), "a.rs", "_")


def reported(facts: Any) -> tuple[list[str], list[str]]:
    symbols = [
        f"{row[0].replace('_#', '', 1)} {row[1]}-{row[2]} {row[3]}"
        + (f" {row[4]!r}" * bool(row[4]))
        for row in facts["symbols"][1:]
    ]
    imports = [f"{row[3]} {row[0]} {row[1]} {row[4]}" for row in facts["imports"]]
    return symbols, imports


@pytest.mark.requirement("C15")
@pytest.mark.parametrize("name", TABLE)
def test_what_is_written_is_reported(name: str) -> None:
    source, symbols, imports = TABLE[name]
    facts = scan(source)
    assert facts["error"] == ""
    assert reported(facts) == (symbols, imports)


def test_the_facts_have_the_shape_of_those_of_python() -> None:
    facts = scan(TABLE["a struct and its methods"][0])
    python = scan_python(b"class A:\n    def m(self): return self\n", "a.py", "_")
    assert facts.keys() == python.keys() == unreadable_facts("").keys()
    assert set(facts["outline"]) == set(python["outline"])
    assert {len(row) for row in facts["symbols"]} == {len(row) for row in python["symbols"]}
    assert len(facts["words"]) == len(facts["symbols"])
    places = [text[0] for text in facts["text"]]
    assert places == sorted(places)


def test_a_module_has_its_documentation_and_an_item_its_attributes() -> None:
    facts = scan('//! The cart.\n//! More.\n\n#[test]\n#[doc = "Adds."]\nfn adds() {}\n')
    assert facts["symbols"][0][4] == "The cart."
    assert facts["symbols"][1][4] == "Adds."
    assert facts["decorators"] == {"1": ["#[test]", '#[doc = "Adds."]']}


BEFORE = (
    "struct Cart { a: u8 }\nimpl Cart {\n    fn add(&self, n: u8) -> u8 { return n + 1; }\n}\n"
    "mod inner { fn f() { a(b) } }\n"
)
UNCHANGED = {
    "comments": BEFORE.replace("fn add", "/// Adds.\n    fn add").replace("n + 1", "n /* x */ + 1"),
    "layout": BEFORE.replace(" { return n + 1; }", "\n{\n    return\n        n+1;\n}"),
    "a comma at the end": BEFORE.replace("a(b)", "a(\n    b,\n)"),
}


def hashes(source: str) -> dict[str, str]:
    return {row[0]: row[5] for row in scan(source)["symbols"]}


@pytest.mark.parametrize("change", UNCHANGED)
def test_comments_and_layout_change_no_hash(change: str) -> None:
    assert UNCHANGED[change] != BEFORE
    assert hashes(UNCHANGED[change]) == hashes(BEFORE)


CHANGED = {
    "a body": ("n + 1", "n + 2", {"method:_#Cart.add"}),
    "an attribute": ("    fn add", "    #[inline]\n    fn add", {"method:_#Cart.add"}),
    "a field": ("a: u8", "a: u16", {"type:_#Cart", "field:_#Cart.a"}),
    "what is in a module": ("a(b)", "a(c)", {"function:_#inner.f"}),
    "the head of an impl": ("impl Cart", "impl Shop for Cart", {"namespace:_"}),
    "a lifetime": ("&self", "&'a self", {"method:_#Cart.add"}),
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_change_of_code_changes_the_hash_of_its_symbol_alone(change: str) -> None:
    old, new, symbols = CHANGED[change]
    before, after = hashes(BEFORE), hashes(BEFORE.replace(old, new))
    assert {name for name in before if before[name] != after[name]} == symbols


def test_what_a_literal_holds_counts() -> None:
    assert hashes('const A: &str = "x  y";\n') != hashes('const A: &str = "x y";\n')
    assert hashes('const A: &str = r"x  y";\n') != hashes('const A: &str = r"x y";\n')
    assert hashes("const A: char = ' ';\n") != hashes("const A: char = '.';\n")


def test_words_are_neither_lifetimes_nor_literals() -> None:
    source = (
        'fn add<\'a>(cart: &\'a Cart, line: &\'a Line) { say(\'x\', r#"raw "word""#, "text") }\n'
    )
    words = [text[3] for text in scan(source)["text"]]
    assert words == ["", '( add a cart a Cart line a Line . say " x r raw word text']


def test_a_file_with_errors_is_read_in_part_and_reports_it() -> None:
    facts = scan("struct A;\nimpl A { fn m(&self) {} }\nfn (((;\nstruct B;\n")
    assert facts["error"].startswith("3:")
    assert facts["error"].endswith(PARTIAL)
    assert {"type:_#A", "method:_#A.m"} <= {row[0] for row in facts["symbols"]}


def test_a_macro_with_the_name_of_a_type_is_read() -> None:
    facts = scan('fn f() { let a = str![[r#"x"#]]; cart.add() }\n')
    assert facts["error"] == ""
    assert "?cart|add" in facts["uses"]


def test_a_generated_or_huge_file_is_not_read_and_reported() -> None:
    assert scan("const A:u8=1;" * 5000)["error"] == "0:0: minified, so it was not read"
    assert "larger than 1,000,000 bytes" in scan("const A: u8 = 1;\n" * 100_000)["error"]


NESTS = {
    "brackets": "const A: u8 = " + "(\n" * 20_000 + "1" + ")" * 20_000 + ";",
    "calls": "fn f() { " + "f(\n" * 20_000 + ")" * 20_000 + "}",
    "a chain": "fn f() { a" + ".b()\n" * 20_000 + "}",
    "blocks": "fn f() " + "{\n" * 10_000 + "}" * 10_000,
    "functions": "fn f() {\n" * 2_000 + "}" * 2_000,
    "modules": "mod a {\n" * 2_000 + "}" * 2_000,
    "types": "type X = " + "A<\n" * 5_000 + "B" + ">" * 5_000 + ";",
    "items in macros": "m! {\nuse a;\n" * 4_000 + "}" * 4_000,
    "a macro": "fn f() { m!" + "(\n" * 10_000 + ")" * 10_000 + " }",
    "use": "use a::" + "{b::\n" * 3_000 + "c" + "}" * 3_000 + ";",
    "unclosed": "impl A { fn m() { [(" * 3_000,
    "lets": "fn f() {\n" + "let a = a + 1;\n" * 5_000 + "}",
    "patterns": "fn f() { let " + "Some(\n" * 5_000 + "x" + ")" * 5_000 + " = y; }",
    "items": "#[x]\nconst A: u8 = 1;\n" * 20_000,
}


def test_imports_in_the_arguments_of_very_many_macros_are_read() -> None:
    facts = scan("".join(f"cfg! {{ mod a{number}; }}\n" for number in range(3_000)))
    assert (len(facts["imports"]), facts["error"]) == (3_000, "")


def test_macros_that_nest_too_deeply_are_reported() -> None:
    facts = scan(NESTS["items in macros"])
    assert "macros nest too deeply, read in part" in facts["error"]
    assert facts["error"].endswith(PARTIAL), "layers block what may lack an import"


@pytest.mark.parametrize("nest", NESTS)
@pytest.mark.share(5)
def test_deep_nesting_is_read_without_recursion(nest: str) -> None:
    start = time.process_time()
    facts = scan(NESTS[nest])
    assert facts["symbols"] or facts["error"]
    assert "could not cope" not in facts["error"]
    assert time.process_time() - start < 20


def test_no_bytes_make_the_scanner_raise() -> None:
    random_source = random.Random(31)
    pieces = [piece.encode() for source, *_ in TABLE.values() for piece in source.split(" ")]
    for _ in range(300):
        chosen = [*random_source.sample(pieces, 30), random_source.randbytes(3)]
        random_source.shuffle(chosen)
        facts = scan_rust(b" ".join(chosen), "a.rs", "_")
        assert "could not cope" not in facts["error"]


def test_a_secret_in_source_is_in_no_words() -> None:
    secret = "ghp_" + "Zk3vQ9xW7mN2bL5cR8tY1uJ4hG6fD0sAqE9p"
    facts = scan(f'const TOKEN: &str = "{secret}";\nconst B: u8 = 2;\n')
    assert secret not in str(facts["text"])
    assert " B" in facts["text"][0][3]


def test_a_local_that_hides_another_is_what_it_was_made_of() -> None:
    source = (
        "fn f(cart: Cart) {\n    cart.add();\n    let cart = cart.total();\n    cart.round();\n"
        "    let line = Line { price: 1 };\n    if let Some(line) = first() { line.cost() }\n}\n"
        "struct Cart; struct Line { price: u8 }\nfn first() -> Option<Line> {}\n"
    )
    uses = scan(source)["uses"]
    assert {
        "~=Cart>|add",
        "~=Cart>|total",
        "~~=Cart>|total>|round",
        "~=first>|cost",
    } <= uses.keys()


def test_calls_in_the_arguments_of_a_macro_are_uses() -> None:
    source = (
        "use crate::cart::Cart;\nfn f(cart: &Cart) {\n"
        '    assert_eq!(cart.lines.first().cost(), Cart::limit(cart::MAX), "{}", name = 1);\n}\n'
    )
    uses = scan(source)["uses"]
    assert uses["~~@crate%3A%3Acart:Cart>|lines.first>|cost"] == [1, 1, 3]
    assert uses["@crate%3A%3Acart:Cart|limit"] == [1, 1, 3]
    assert uses["@use:cart|MAX"] == [1, 0, 3]
    assert "?name" not in uses


def test_a_name_that_is_imported_or_a_type_parameter_is_no_use_of_what_is_behind_it() -> None:
    source = (
        "mod state { pub struct Version; }\nuse state::Version;\n"
        "fn f<T: Shop>(v: Version, t: T) -> T { t.open(); T::make() }\n"
        "trait Shop { fn open(&self); fn make(); }\n"
    )
    uses = scan(source)["uses"]
    place = [row[0] for row in scan(source)["symbols"]].index("function:_#f")
    numbers = iter(uses["=Shop"])
    rows = zip(numbers, numbers, numbers, strict=True)
    assert [line for owner, _, line in rows if owner == place] == [3], "the bound alone"
    assert uses["@self%3A%3Astate:Version"] == [place, 0, 3]
    assert {"~=Shop>|open", "~=Shop>|make"} <= uses.keys()


def test_a_manifest_states_crates_targets_and_dependencies() -> None:
    source = (
        '[package]\nname = "cart-core"\n[lib]\nname = "cart"\npath = "src/cart.rs"\n'
        '[[bin]]\nname = "x"\npath = "cli/x.rs"\n[dependencies]\nserde = "1"\n'
        'money-lib = { package = "money", path = "../money" }\n'
        "[target.'cfg(unix)'.dependencies]\nlibc = { workspace = true }\n"
    )
    facts = scan_cargo(source.encode(), "Cargo.toml", "_")
    assert facts["symbols"] == []
    assert facts["outline"]["settings"] == {
        "name": "crate:cart_core",
        "crate": "cart",
        "library": "src/cart.rs",
        "targets": '[["bin", "x", "cli/x.rs"]]',
        "dependencies": (
            '{"serde": ["serde", "", false], "money_lib": ["money", "../money", false],'
            ' "libc": ["libc", "", true]}'
        ),
    }
    assert scan_cargo(b"[package", "Cargo.toml", "_")["error"].startswith("0:0: it is no TOML")
