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
