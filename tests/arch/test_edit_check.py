"""The imports that an edit adds: found by the parser, or excluded by the changed lines alone."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from kl_hooks.arch import edit_check
from kl_hooks.arch.edit_check import Edit, added_imports

LINES = [
    "import a",
    "from b import (",
    "    c,",
    "    d as e",
    "    q, r,",
    "    , s)",
    "    (t)",
    "from u import \\",
    ")",
    "x = (",
    "y",
    "'''",
    '"""',
    "text\\",
    "def f():",
    "    return g(1)",
    "    z = 'import q'",
    "",
    "if x: import h",
    "pass  # import",
    "# c",
    "x = 1",
]
sources = st.lists(st.sampled_from(LINES), max_size=8).map("\n".join)


@given(sources, sources)
@example("from b import (\n    c,\n)", "from b import (\n    c,\n    d as e\n)")
@example("from b import (\n    c)", "from b import (\n    d)")
@example("from b import (\n    c, d,\n)", "from b import (\n    c, d, e,\n)")
@example("'''\nimport a\n'''", "\nimport a\n'''\n'''")
def test_what_the_changed_lines_exclude_the_parser_does_not_find(before: str, after: str) -> None:
    edit = Edit("a.py", before, after)
    if edit_check._has_the_same_imports(edit):
        try:
            old = {key for key, _ in edit_check._imports(before)}
        except SyntaxError:
            return  # then nothing is refused
        try:
            assert [key for key, _ in edit_check._imports(after) if key not in old] == []
        except SyntaxError:
            return


def test_most_edits_need_no_parser() -> None:
    source = "import a\n\n\ndef f(x):\n    return g(x, 1)\n"
    assert edit_check._has_the_same_imports(
        Edit("a.py", source, source.replace("g(x, 1)", "g(x, 2)"))
    )
    assert added_imports(
        Edit("a.py", source, source.replace("import a\n", "import a\nimport b\n"))
    ) == [2]
    assert added_imports(
        Edit("a.py", "", "def f():\n    try:\n        import b\n    finally:\n        pass\n")
    ) == [3]


ELSEWHERE = {
    "a.ts": [
        'import { x } from "../web";',
        "import {",
        "  y,",
        "  type Z as W",
        '} from "./b";',
        'export * from "./c"',
        "const f = await import(",
        '  "./d"',
        ")",
        "`",
        "/*",
        "*/",
        "return g(1);",
        'const r = require("e");',
        "",
    ],
    "a.rs": [
        "use crate::web::page;",
        "use crate::{",
        "    core,",
        "    web::page as shown",
        "    r#api,",
        "    shop};",
        "};",
        "mod inner {",
        "}",
        "fn f() { crate::web::page(); }",
        "let x = g(1);",
        "/*",
        "*/",
        'let t = "',
        '";',
        "",
    ],
}
edits = st.sampled_from(sorted(ELSEWHERE)).flatmap(
    lambda path: st.tuples(
        st.just(path),
        *[st.lists(st.sampled_from(ELSEWHERE[path]), max_size=8).map("\n".join)] * 2,
    )
)


@given(edits)
@example(("a.rs", "use crate::{\n    a,\n    b};", "use crate::{\n    a,\n    web};"))
@example(("a.rs", "use crate::{\n    a,\n};", "use crate::{\n    a,\n    r#web,\n};"))
def test_what_the_changed_lines_exclude_the_scanner_does_not_find(
    case: tuple[str, str, str],
) -> None:
    edit = Edit(*case)
    if edit_check._has_the_same_imports(edit):
        try:
            old = {key for key, _ in edit_check._scanned_imports(edit.path, edit.before)}
            new = [key for key, _ in edit_check._scanned_imports(edit.path, edit.after)]
        except SyntaxError:
            return  # then nothing is refused
        assert [key for key in new if key not in old] == []


def test_imports_of_other_languages_are_found() -> None:
    before = 'import { a } from "./a";\n\nexport const one = 1;\n'
    after = before.replace("\n\n", '\nimport type { Page } from "../web/page";\n\n')
    assert added_imports(Edit("src/core/order.ts", before, after)) == [2]
    assert added_imports(Edit("src/core/order.ts", before, before.replace("= 1", "= 2"))) == []
    rust = "use crate::core::Order;\n\nfn total() -> u32 {\n    1\n}\n"
    called = rust.replace("    1", "    crate::web::page()")
    assert added_imports(Edit("src/core.rs", rust, called)) == [4]
    assert added_imports(Edit("notes.md", "", "import x")) == []


def test_a_long_line_of_names_takes_no_longer_than_its_length() -> None:
    line = "a " * 200_000
    for path in ("a.py", "a.ts"):
        assert added_imports(Edit(path, "", f"{line}= 1")) == []
