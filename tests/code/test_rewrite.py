"""Rewriting: nothing but the imports asked for changes, whatever the file looks like."""

from __future__ import annotations

import ast
import io
import tokenize

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kl_hooks.code.import_edits import Unfixable, move_imports
from kl_hooks.code.scanner.python import scan_python

FUTURE = "from __future__ import annotations\n"
HEADS = st.sampled_from(
    ["", '"""Doc."""\n', f"#!/bin/x\n# c\n\n{FUTURE}", f'"""Doc."""\n\n{FUTURE}', FUTURE]
)
LINES = st.sampled_from(
    [
        "import os\n",
        "import os, sys\n",
        "from typing import Any\n",
        "from typing import (\n    Any,\n)\n",
        "# above\n",
        "\n",
        "from w import A\n",
        "from w import A, B  # beside\n",
        "from w import (\n    A,  # one\n    B,\n    C,\n)\n",
        "import w.a as D\n",
        "from w import (A,\n  B)\n",
        "import zlib\n",
        "from .near import E\n",
        "x = 1\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from o import P\n    # foot\n",
        "import w.b; z = 1\n",
        "try:\n    import x\nexcept ImportError:\n    x = None\n",
        "if True:\n\ty = 2\n",
        "from w import \\\n    F\n",
        "def f(a: A) -> B:\n    return 1  # r\n",
        "class K: ...\n",
    ]
)
FILES = st.builds(lambda head, lines: head + "".join(lines), HEADS, st.lists(LINES, max_size=9))


def lines_of(content: bytes) -> list[int]:
    """The lines of the imports that take nothing but from `w`."""
    rows = scan_python(content, "x.py", "m")["imports"]
    others = {row[3] for row in rows if row[0].partition(".")[0] != "w"}
    return sorted({row[3] for row in rows} - others)


def rest(content: bytes, chosen: list[str]) -> list[str]:
    """The statements without these, and without what a move adds."""
    found = []
    for node in ast.parse(content).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = [part for part in node.body if ast.unparse(part) not in chosen]
            if not node.body:
                continue
        if ast.unparse(node) not in (*chosen, "from typing import TYPE_CHECKING"):
            found.append(ast.dump(node))
    return found


@settings(suppress_health_check=list(HealthCheck))
@given(FILES, st.booleans(), st.data())
def test_everything_else_stays(text: str, crlf: bool, data: st.DataObject) -> None:
    content = (text.replace("\n", "\r\n") if crlf else text).encode()
    try:
        compile(content, "x", "exec", dont_inherit=True)
    except SyntaxError:
        assume(False)
    lines = lines_of(content)
    assume(lines)
    chosen = data.draw(st.lists(st.sampled_from(lines), min_size=1, unique=True))
    texts = [ast.unparse(node) for node in ast.parse(content).body if node.lineno in chosen]
    try:
        after = move_imports(content, chosen)
    except Unfixable as problem:
        assert str(problem)
        return
    assert rest(after, texts) == rest(content, texts)
    assert comments(after) == comments(content)
    assert (b"\r\n" in after) == (crlf and b"\n" in after) and after.count(b"\r") in (
        0,
        after.count(b"\n"),
    )
    stored = {line.strip() for line in content.splitlines()}
    new = [line.strip() for line in after.splitlines() if line.strip() not in stored]
    assert all(
        line in (b"if TYPE_CHECKING:", b"from typing import TYPE_CHECKING", b"") for line in new
    ), new


def comments(content: bytes) -> list[str]:
    tokens = tokenize.tokenize(io.BytesIO(content).readline)
    return sorted(token.string.strip() for token in tokens if token.type == tokenize.COMMENT)


def line_of(text: str) -> int:
    return next(
        number
        for number, line in enumerate(text.splitlines(), 1)
        if "from w" in line or "import w" in line
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            (
                f'"""D."""\n\n{FUTURE}\nimport os\nfrom typing import Any\n\nfrom w import A\nfrom'
                " z import y\n"
            ),
            (
                f'"""D."""\n\n{FUTURE}\nimport os\nfrom typing import Any\nfrom typing import'
                " TYPE_CHECKING\n\nfrom z import y\n\nif TYPE_CHECKING:\n    from w import A\n"
            ),
        ),
        (
            f"{FUTURE}\nfrom w import A\n\nx = 1\n",
            (
                f"{FUTURE}\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from w"
                " import A\n\nx = 1\n"
            ),
        ),
        (
            (
                f"{FUTURE}from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n\tfrom a import"
                " b\n\t# f\nfrom w import A\n"
            ),
            (
                f"{FUTURE}from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n\tfrom a import"
                " b\n\tfrom w import A\n\t# f\n"
            ),
        ),
        (
            f"{FUTURE}\nfrom w import (\n    A,\n    B,\n)\n",
            (
                f"{FUTURE}\nfrom typing import TYPE_CHECKING\n\n"
                "if TYPE_CHECKING:\n    from w import (\n        A,\n        B,\n    )\n"
            ),
        ),
    ],
)
def test_where_items_go(before: str, after: str) -> None:
    assert move_imports(before.encode(), [line_of(before)]).decode() == after


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("from w import A  # mine\n", "a comment belongs to it"),
        (f"{FUTURE}TYPE_CHECKING = 1\nfrom w import A\n", "called TYPE_CHECKING"),
        (
            f"{FUTURE}from typing import Any as TYPE_CHECKING\nfrom w import A\n",
            "called TYPE_CHECKING",
        ),
        ("from w import A\n", "annotations are evaluated"),
        (f"{FUTURE}import w.b; x = 1\n", "not there any more"),
    ],
)
def test_what_is_refused(text: str, printed: str) -> None:
    with pytest.raises(Unfixable, match=printed):
        move_imports(text.encode(), [line_of(text)])


def test_what_is_nested_deeply_is_edited_or_refused() -> None:
    head, imported = FUTURE.encode(), b"from w import A\n"
    text = head + imported + b"x = " + b"(" * 90 + b"+".join([b"1"] * 3000) + b")" * 90 + b"\n"
    try:
        content = move_imports(text, [2])
    except Unfixable as problem:
        assert str(problem)
    else:
        assert content.endswith(text.removeprefix(head + imported))
