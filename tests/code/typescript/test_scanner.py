"""The contract of scanners for TypeScript, TSX and JavaScript: what is written, and the facts of
it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pytest

from kl_hooks.code.languages import SCANNED
from kl_hooks.code.scanner.grammars import parse
from kl_hooks.code.scanner.parser import PARTIAL_WITH_IMPORTS, unreadable_facts
from kl_hooks.code.scanner.python import scan_python
from kl_hooks.code.typescript.scanner import scan_javascript, scan_tsx, scan_typescript

Scan = Callable[[bytes, str, str], Any]
SCANNERS: dict[str, Scan] = {"ts": scan_typescript, "tsx": scan_tsx, "js": scan_javascript}

TABLE: dict[str, tuple[str, list[str], list[str]]] = {
    "empty": ("", [], []),
    "a class and its members": (
        "/** Holds lines. */\nexport class Cart<T> extends Base implements Shop<Line> {\n"
        "  private lines: Line[] = [];\n  #count = 0;\n  static readonly max = 3;\n"
        "  constructor(private store: Store, name: string) { super(name); }\n"
        "  /**\n   * Adds a line.\n   * Twice.\n   */\n  add(line: Line): this { return this; }\n"
        "  get total(): number { return 1 }\n  set total(value: number) {}\n"
        "  onClick = (event: Event) => { this.add(event) };\n"
        "  abstract close(): void;\n  [Symbol.iterator]() {}\n  'content-type' = 1;\n}\n",
        [
            "type:Cart 2-18 export class Cart<T> extends Base implements Shop<Line> 'Holds lines.'",
            "field:Cart.lines 3-3 private lines: Line[] = []",
            "field:Cart.#count 4-4 #count = 0",
            "field:Cart.max 5-5 static readonly max = 3",
            "method:Cart.constructor 6-6 constructor(private store: Store, name: string)",
            "field:Cart.store 6-6 private store: Store",
            "method:Cart.add 11-11 add(line: Line): this 'Adds a line.'",
            "property:Cart.total 12-12 get total(): number",
            "method:Cart.onClick 14-14 onClick = (event: Event) =>",
            "method:Cart.close 15-15 abstract close(): void",
            "method:Cart.[iterator] 16-16 [Symbol.iterator]()",
            "field:Cart.content-type 17-17 'content-type' = 1",
        ],
        [],
    ),
    "classes in expressions": (
        "/** Sold. */\nexport const Outer = class Inner { me(): Inner { return new Inner() } };\n"
        "const one = 1, Two = class { b() {} };\nnew Outer().me();\n",
        [
            "type:Outer 2-2 export const Outer = class Inner 'Sold.'",
            "method:Outer.me 2-2 me(): Inner",
            "field:one 3-3 one = 1",
            "type:Two 3-3 Two = class",
            "method:Two.b 3-3 b()",
        ],
        [],
    ),
    "interfaces, types, enums": (
        "export interface Line extends A, b.B<C> {\n  readonly price: number;\n"
        "  total(rate: number): Cart;\n  (call: string): void;\n  [key: string]: unknown;\n}\n"
        "type Named = Line & { name: string };\ndeclare const enum Color { Red, Green = 'g' }\n",
        [
            "interface:Line 1-6 export interface Line extends A, b.B<C>",
            "field:Line.price 2-2 readonly price: number",
            "method:Line.total 3-3 total(rate: number): Cart",
            "type:Named 7-7 type Named = Line & { name: string }",
            "field:Named.name 7-7 name: string",
            "type:Color 8-8 declare const enum Color",
            "field:Color.Red 8-8 Red",
            "field:Color.Green 8-8 Green = 'g'",
        ],
        [],
    ),
    "functions and constants": (
        "export const make = async (n: number): Promise<Cart> => {\n"
        "  function inner() {}\n  const local = 1;\n};\n"
        "export const LIMIT = 3, OTHER = { a() {} };\nconst { a, b: { c } } = thing;\n"
        "let [d, ...e] = list;\nfunction over(a: string): void;\n"
        "function over(a: any) {}\nexport default function () {}\nfunction* gen() {}\n"
        "if (x) { var hoisted = 1; let block = 2 }\n",
        [
            "function:make 1-4 export const make = async (n: number): Promise<Cart> =>",
            "function:make.<locals>.inner 2-2 function inner()",
            "field:LIMIT 5-5 LIMIT = 3",
            "field:OTHER 5-5 OTHER = { a() {} }",
            "field:a 6-6 const { a, b: { c } } = thing",
            "field:c 6-6 const { a, b: { c } } = thing",
            "field:d 7-7 let [d, ...e] = list",
            "field:e 7-7 let [d, ...e] = list",
            "function:over 9-9 function over(a: any)",
            "function:default 10-10 export default function ()",
            "function:gen 11-11 function* gen()",
            "field:hoisted 12-12 var hoisted = 1",
        ],
        [],
    ),
    "namespaces": (
        "export namespace N.M {\n  export const q = 1;\n  export function f(): void {}\n}\n"
        "declare global { interface Window { shop: string } }\n"
        "declare module 'other' { export const x: number }\n",
        [
            "namespace:N 1-4 export namespace N.M",
            "namespace:N.M 1-4 export namespace N.M",
            "field:N.M.q 2-2 export const q = 1",
            "function:N.M.f 3-3 export function f(): void",
            "interface:Window 5-5 interface Window",
            "field:Window.shop 5-5 shop: string",
        ],
        [],
    ),
    "decorators": (
        "@Component({ tag: 'a' })\nexport class Page {\n  @Input() name = '';\n"
        "  @Listen('x')\n  go() {}\n}\n",
        [
            "type:Page 2-6 export class Page",
            "field:Page.name 3-3 name = ''",
            "method:Page.go 5-5 go()",
        ],
        [],
    ),
    "imports": (
        "import './side';\nimport React, { useState as use, type Foo } from 'react';\n"
        "import * as ns from '@/lib';\nimport type { T } from './t';\n"
        "import old = require('./old');\nexport { x as y } from './x';\nexport * from './star';\n"
        "export * as all from './all';\nexport type { U } from './u';\n"
        "const lazy = import('./lazy');\nfunction f() { require('./late') }\n",
        ["field:lazy 10-10 const lazy = import('./lazy')", "function:f 11-11 function f()"],
        [
            "1 ./side  import",
            "2 react default import",
            "2 react useState import",
            "2 react Foo type-checking import",
            "3 @/lib  import",
            "4 ./t T type-checking import",
            "5 ./old  import",
            "6 ./x x import",
            "7 ./star * star import",
            "8 ./all  import",
            "9 ./u U type-checking import",
            "10 ./lazy  dynamic import",
            "11 ./late  lazy import",
        ],
    ),
    "comments in signatures": (
        "function f(\n  a: string, // one\n  /* two */ b: number,\n): void {}\n",
        ["function:f 1-4 function f(a: string, b: number): void"],
        [],
    ),
}
"""What is written → symbols as `kind:name line-end signature 'doc'`, imports as `line module name
manner`.
"""


def reported(facts: Any) -> tuple[list[str], list[str]]:
    """The facts as the table writes them, without the module."""
    symbols = []
    for identifier, line, end_line, signature, doc, _ in facts["symbols"][1:]:
        kind, _, name = identifier.partition(":")
        shown = f"{kind}:{name.removeprefix('_#')} {line}-{end_line} {signature}"
        symbols.append(f"{shown} {doc!r}" if doc else shown)
    imports = [
        f"{line} {module} {name} {how}" for module, name, _, line, how, _ in facts["imports"]
    ]
    return sorted(symbols), sorted(imports)


@pytest.mark.parametrize("name", TABLE)
def test_the_table(name: str) -> None:
    source, symbols, imports = TABLE[name]
    facts = scan_typescript(source.encode(), "a.ts", "_")
    assert facts["error"] == ""
    assert reported(facts) == (sorted(symbols), sorted(imports))


def test_javascript_has_the_members_that_methods_set_and_what_modules_export() -> None:
    source = (
        b"class Lines {}\nconst { helper } = require('./helper');\nclass Cart extends Base {\n"
        b"  constructor() { super(); this.lines = new Lines(); }\n  add() { return "
        b"helper(this.lines) }\n}\nfunction make() {}\nmodule.exports = { Cart, build: make "
        b"};\nexports.last = make;\n"
    )
    facts = scan_javascript(source, "a.js", "_")
    assert "field:_#Cart.lines" in [row[0] for row in facts["symbols"]]
    assert facts["outline"]["names"] == {"build": "=make", "last": "=make"}
    assert facts["outline"]["types"]["Cart.lines"] == "~=Lines>"
    assert [*facts["uses"]["@./helper:*=|helper"]][1:] == [1, 5]


@pytest.mark.parametrize("scan", SCANNERS.values(), ids=SCANNERS)
def test_the_facts_of_every_scanner_have_the_same_parts(scan: Scan) -> None:
    facts = scan(b"export class A { m() { return this } }\n", "a", "_")
    python = scan_python(b"class A:\n    def m(self): return self\n", "a.py", "_")
    assert facts.keys() == python.keys() == unreadable_facts("").keys()
    assert set(facts["outline"]) == set(python["outline"])
    assert [len(row) for row in facts["symbols"]] == [len(row) for row in python["symbols"]]
    assert len(facts["words"]) == len(facts["symbols"])
    places = [text[0] for text in facts["text"]]
    assert places == sorted(places)


def test_each_grammar_has_a_key_of_its_own() -> None:
    versions = [language.version for language in SCANNED]
    assert len(versions) == len(set(versions)), "the same bytes mean another thing in TSX"


UNCHANGED = {
    "comments": "// new\nexport class A {\n  /* here */ m(a: number) { return a + 1; } // end\n}\n",
    "a comment inside": "export class A { m(a /* x */: number) { return a + /* y */ 1; } }\n",
    "layout": "export class A { m( a : number )\n{ return a+1; } }\n",
    "quotes": "export class A { m(a: number) { return a + 1; } }\n",
    "a comma at the end": "export class A { m(a: number,) { return a + 1; } }\n",
}
BEFORE = "export class A { m(a: number) { return a + 1; } }\n"


def hashes(source: str, scan: Scan = scan_typescript) -> dict[str, str]:
    return {row[0]: row[5] for row in scan(source.encode(), "a.ts", "_")["symbols"]}


@pytest.mark.parametrize("change", UNCHANGED)
def test_comments_and_layout_change_no_hash(change: str) -> None:
    assert hashes(UNCHANGED[change]) == hashes(BEFORE)


CHANGED = {
    "a body": ("a + 1", "a + 2", {"method:_#A.m"}),
    "a parameter": ("a: number", "a: string", {"method:_#A.m"}),
    "a base": ("class A", "class A extends B", {"type:_#A"}),
    "a space that parts words": ("return a", "returna", {"method:_#A.m"}),
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_change_of_code_changes_the_hash_of_its_symbol_alone(change: str) -> None:
    old, new, symbols = CHANGED[change]
    before, after = hashes(BEFORE), hashes(BEFORE.replace(old, new))
    assert {name for name in before if before[name] != after[name]} == symbols


def test_what_a_string_holds_counts_and_its_quotes_do_not() -> None:
    assert hashes("const a = 'x  y';\n") == hashes('const a = "x  y";\n')
    assert hashes("const a = 'x  y';\n") != hashes("const a = 'x y';\n")
    assert hashes("const a = `x\n  y`;\n") != hashes("const a = `x\n y`;\n")


def test_a_line_end_that_ends_a_statement_counts() -> None:
    assert hashes("function f() { return\na }\n") != hashes("function f() { return a }\n")


def test_a_file_with_errors_is_read_in_part_and_reports_it() -> None:
    source = b"export class A { m() {} }\nexport function (((;\nexport class B {}\n"
    facts = scan_typescript(source, "a.ts", "_")
    assert facts["error"].startswith("2:")
    assert facts["error"].endswith(PARTIAL_WITH_IMPORTS)
    assert {"type:_#A", "method:_#A.m"} <= {row[0] for row in facts["symbols"]}


MISREAD = {
    "parameters that are called as types": "type F = (any, string) => void;\n",
    "the type of a module as an argument": "const m = load<typeof import('m')>();\n",
    "a quoted sign in the type of a text": "type T = `a \\` ${string}`;\n",
}
"""What is TypeScript, and the grammar does not know."""


@pytest.mark.parametrize("name", MISREAD)
def test_what_the_grammar_misreads_is_no_error(name: str) -> None:
    facts = scan_typescript(f"{MISREAD[name]}import {{ b }} from './b';\n".encode(), "a.ts", "_")
    assert (facts["error"], facts["imports"][-1][0]) == ("", "./b")


def test_a_minified_or_huge_file_is_not_read_and_reported() -> None:
    minified = b"var a=1;" * 5000
    assert scan_javascript(minified, "a.js", "_")["error"] == "0:0: minified, so it was not read"
    huge = b"var a = 1;\n" * 100_000
    assert "larger than 1,000,000 bytes" in scan_javascript(huge, "a.js", "_")["error"]


NESTS = {
    "brackets": "x = " + "(" * 20_000 + ")" * 20_000,
    "arrays": "x = " + "[\n" * 20_000 + "]" * 20_000,
    "calls": "x = " + "f(\n" * 20_000 + ")" * 20_000,
    "a chain": "x = a" + ".b()\n" * 20_000,
    "blocks": "{\n" * 20_000 + "}" * 20_000,
    "functions": "function f() {\n" * 2_000 + "}" * 2_000,
    "types": "type X = " + "A<\n" * 5_000 + "B" + ">" * 5_000,
    "unclosed": "class A { m() { [(" * 3_000,
    "a template": "x = " + "`${\n" * 3_000 + "}`" * 3_000,
    "operators": "x = 1" + " +\n 1" * 20_000,
}


@pytest.mark.parametrize("nest", NESTS)
@pytest.mark.share(5)
def test_deep_nesting_is_read_without_recursion(nest: str) -> None:
    start = time.process_time()
    facts = scan_typescript(NESTS[nest].encode(), "a.ts", "_")
    assert facts["symbols"] or facts["error"]
    assert "could not cope" not in facts["error"]
    assert time.process_time() - start < 20


def test_no_bytes_make_a_scanner_raise() -> None:
    random_source = random.Random(31)
    pieces = [piece.encode() for source, *_ in TABLE.values() for piece in source.split(" ")]
    for _ in range(150):
        chosen = [*random_source.sample(pieces, 30), random_source.randbytes(3)]
        random_source.shuffle(chosen)
        for scan in SCANNERS.values():
            facts = scan(b" ".join(chosen), "a.ts", "_")
            assert "could not cope" not in facts["error"]


def test_a_secret_in_source_is_in_no_words() -> None:
    secret = "ghp_" + "Zk3vQ9xW7mN2bL5cR8tY1uJ4hG6fD0sAqE9p"
    facts = scan_typescript(f"const token = '{secret}';\nconst b = 2;\n".encode(), "a.ts", "_")
    assert secret not in str(facts["text"])
    assert " b" in facts["text"][0][3]


UNKNOWN_TO_THE_GRAMMAR = {
    "exports of all types": "export type * from './a'\nexport type * as b from './b'\n",
    "variance": "export interface A<in out T, out U = T> { m(): void }\n",
    "a comment before a condition": (
        "type A<T> = T extends (...a: any[]) => any // a function\n  ? 1\n  : 2\nclass B {}\n"
    ),
    "call signatures without semicolons": (
        "/** Doc. */\nexport interface A {\n  (a: string): void\n  /** One. */\n"
        "  <T>(a: T): (b: T) => A\n  (a: number): void // why\n  m(): void\n}\n"
    ),
    "the same of a constant": (
        "export const f: {\n  <A>(a: A): <B>(b: B) => A\n  <A, B>(a: A, b: B): A\n} = dual<\n"
        "  // one\n  <A>(a: A) => A\n>(2)\nexport const g = 1\n"
    ),
}


@pytest.mark.parametrize("name", UNKNOWN_TO_THE_GRAMMAR)
def test_what_the_grammar_does_not_know_is_read(name: str) -> None:
    facts = scan_typescript(UNKNOWN_TO_THE_GRAMMAR[name].encode(), "a.ts", "_")
    assert facts["error"] == ""


def test_a_repaired_file_has_its_comments_lines_and_hashes() -> None:
    source = UNKNOWN_TO_THE_GRAMMAR["call signatures without semicolons"]
    facts = scan_typescript(source.encode(), "a.ts", "_")
    assert reported(facts)[0] == [
        "interface:A 2-8 export interface A 'Doc.'",
        "method:A.m 7-7 m(): void",
    ]
    assert hashes(source) == hashes(source.replace(" // why", "").replace("/** One. */", ""))


def test_a_file_is_not_repaired_where_that_would_make_it_worse() -> None:
    source = b"export function (((;\nexport const x = [a\n  < b];\nexport const y = 1;\n"
    tree, comments = parse(source, "typescript")
    assert (tree.root_node.text, comments) == (source, [])


def test_the_name_of_a_local_value_alone_is_no_use_of_what_it_was_made_of() -> None:
    source = (
        b"import { config } from './c';\nfunction f() {\n  const { report } = config;\n"
        b"  if (report) {\n    report.send(1);\n    report(2);\n  }\n}\n"
    )
    uses = scan_typescript(source, "a.ts", "_")["uses"]
    assert uses == {
        "@./c:config": [1, 0, 3],
        "@./c:config|report.send": [1, 1, 5],
        "@./c:config|report": [1, 1, 6],
    }


def test_the_name_of_a_class_in_an_expression_is_known_inside_of_it_and_not_outside() -> None:
    source = b"const Outer = class Inner { me() { return new Inner() } };\nnew Inner();\n"
    uses = scan_typescript(source, "a.ts", "a.ts")["uses"]
    assert uses["=Outer"] == [2, 1, 1]
    assert uses["?Inner"] == [0, 1, 2]


def test_a_decorator_is_one_use() -> None:
    source = b"function mark(x: any) {}\n@mark\nclass Plain {}\n@mark\nexport class Shown {}\n"
    facts = scan_typescript(source, "a.ts", "a.ts")
    assert facts["uses"]["=mark"] == [3, 0, 4, 2, 0, 2]
    assert facts["decorators"] == {"2": ["@mark"], "3": ["@mark"]}
