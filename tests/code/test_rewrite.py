"""Rewriting: nothing but the imports asked for changes, whatever the file looks like."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kl_hooks.code.rewrite.edit import Unfixable, comments, rewrite
from kl_hooks.code.scanner.python import scan_python

FUTURE = "from __future__ import annotations\n"
HEADS = st.sampled_from(["", '"""Doc."""\n', f"#!/bin/x\n# c\n\n{FUTURE}", f'"""Doc."""\n\n{FUTURE}', FUTURE])
LINES = st.sampled_from([
    "import os\n", "import os, sys\n", "from typing import Any\n", "from typing import (\n    Any,\n)\n", "# above\n",
    "\n", "from w import A\n", "from w import A, B  # beside\n", "from w import (\n    A,  # one\n    B,\n    C,\n)\n",
    "import w.a as D\n", "from w import (A,\n  B)\n", "import zlib\n", "from .near import E\n", "x = 1\n",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from o import P\n    # foot\n", "import w.b; z = 1\n",
    "try:\n    import x\nexcept ImportError:\n    x = None\n", "if True:\n\ty = 2\n", "from w import \\\n    F\n",
    "def f(a: A) -> B:\n    return 1  # r\n", "class K: ...\n",
])  # fmt: skip
FILES = st.builds(lambda head, lines: head + "".join(lines), HEADS, st.lists(LINES, max_size=9))


def rows_of(content: bytes) -> list[list[Any]]:
    """The imports of the file that come from `w`."""
    return [row for row in scan_python(content, "x.py", "m")["imports"] if row[0].partition(".")[0] == "w"]


def rest(content: bytes, rows: list[list[Any]], added: bool) -> list[str]:
    """The statements without these imports; without what a move adds, if `added`."""
    gone = {(row[0], row[1]) for row in rows}
    found = []
    for node in ast.parse(content).body:
        if isinstance(node, ast.If) and added and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = [part for part in node.body if not _emptied(part, gone)]
            if not node.body:
                continue
        elif _emptied(node, gone | ({("__future__", "annotations"), ("typing", "TYPE_CHECKING")} if added else set())):
            continue
        found.append(ast.dump(node))
    return found


def _emptied(node: ast.stmt, gone: set[tuple[str, str]]) -> bool:
    if isinstance(node, ast.ImportFrom):
        node.names = [alias for alias in node.names if (node.module, alias.name) not in gone]
    elif isinstance(node, ast.Import):
        node.names = [alias for alias in node.names if (alias.name, "") not in gone]
    return isinstance(node, ast.Import | ast.ImportFrom) and not node.names


@settings(suppress_health_check=list(HealthCheck))
@given(FILES, st.booleans(), st.booleans(), st.data())
def test_everything_else_stays(text: str, moving: bool, crlf: bool, data: st.DataObject) -> None:
    content = (text.replace("\n", "\r\n") if crlf else text).encode()
    try:
        compile(content, "x", "exec", dont_inherit=True)
    except SyntaxError:
        assume(False)
    rows = rows_of(content)
    assume(rows)
    chosen = data.draw(st.lists(st.sampled_from(rows), min_size=1, unique_by=repr))
    try:
        after = rewrite(content, chosen if moving else [], [] if moving else chosen)
    except Unfixable as problem:
        assert str(problem)
        return
    every = [row for row in rows if (row[0], row[1]) in {(one[0], one[1]) for one in chosen}]
    assert rest(after, every, moving) == rest(content, every, moving)
    assert comments(after) == comments(content)
    assert (b"\r\n" in after) == (crlf and b"\n" in after) and after.count(b"\r") in (0, after.count(b"\n"))
    kept = {line.strip() for line in content.splitlines()}
    new = [line for line in after.splitlines() if line.strip() not in kept and b"import" not in line]
    assert all(line.strip() in (b"", b"if TYPE_CHECKING:", b"A,", b"B,", b"C,", b")", b"A", b"F") for line in new), new
    if moving:
        assert b"from __future__ import annotations" in after
        there = [row[:5] for row in rows_of(after)]
        if not any(row[:5] in there for row in chosen):  # another import of the name may stand in its place now
            with pytest.raises(Unfixable):
                rewrite(after, chosen, [])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("\n%s\nimport os\nfrom typing import Any\n\nfrom w import A\nfrom z import y\n" % FUTURE,
         "\n%s\nimport os\nfrom typing import Any\nfrom typing import TYPE_CHECKING\n\n"
         "from z import y\n\nif TYPE_CHECKING:\n    from w import A\n" % FUTURE),
        (f"{FUTURE}\nfrom w import A\n\nx = 1\n",
         f"{FUTURE}\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from w import A\n\nx = 1\n"),
        (f"{FUTURE}from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n\tfrom a import b\n\t# f\nfrom w import A\n",
         f"{FUTURE}from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n\tfrom a import b\n\tfrom w import A\n\t# f\n"),
        (f"{FUTURE}\nfrom w import (\n    A,\n    B,\n)\n",
         f"{FUTURE}\nfrom typing import TYPE_CHECKING\n\nfrom w import (\n    B,\n)\n\n"
         "if TYPE_CHECKING:\n    from w import A\n"),
    ],
)  # fmt: skip
def test_where_things_go(before: str, after: str) -> None:
    rows = [row for row in rows_of(before.encode()) if row[1] == "A"]
    assert rewrite(before.encode(), rows, []).decode() == after


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("from w import A  # mine\n", "a comment would be lost"),
        (f"{FUTURE}TYPE_CHECKING = 1\nfrom w import A\n", "called TYPE_CHECKING"),
        (f"{FUTURE}from typing import Any as TYPE_CHECKING\nfrom w import A\n", "called TYPE_CHECKING"),
        ("from w import A\n", "annotations are evaluated"),
        (f"{FUTURE}import w.b; x = 1\n", "not there any more"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    rows = rows_of(text.encode())
    moves, drops = ([], rows) if "mine" in text else (rows, [])
    with pytest.raises(Unfixable, match=said):
        rewrite(text.encode(), moves, drops)


def test_what_is_nested_deeply_is_edited_or_refused() -> None:
    text = b"from w import A\nx = " + b"(" * 90 + b"+".join([b"1"] * 3000) + b")" * 90 + b"\n"
    # CPython 3.11 can't scan this text: its import is that of the first line alone
    try:
        content = rewrite(text, [], rows_of(text.partition(b"x = ")[0]))
    except Unfixable as problem:
        assert str(problem)
    else:
        assert content == text.removeprefix(b"from w import A\n")
