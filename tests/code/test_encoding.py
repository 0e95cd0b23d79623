"""The lines of a file as the parser sees them: every codec that Python has, compared with `ast`
itself.
"""

from __future__ import annotations

import ast
import encodings
import pkgutil
import warnings
from encodings.aliases import aliases

import pytest

from kl_hooks.code.scanner.parser import encoding_of, lines_of

SUFFIXED = [
    "latin-1-unix",
    "iso-8859-1-dos",
    "iso-latin-1-mac",
    "utf-8-unix",
    "UTF_8_x",
    "Latin_1",
    "utf8",
]
CODECS = sorted(
    {module.name for module in pkgutil.iter_modules(encodings.__path__)}
    | set(aliases)
    | set(SUFFIXED)
)
LINE = "def f(a='{}'): pass"


@pytest.mark.parametrize("letter", [b"e", b"\xe9"], ids=["ascii", "high"])
def test_every_codec_gives_the_text_that_the_parser_reads(letter: bytes) -> None:
    """Where the parser accepts the file, the string's source is where the tree states, and is that
    string.
    """
    compared = 0
    for name in CODECS:
        content = (
            b"# coding: " + name.encode() + b"\n" + LINE.encode().replace(b"{}", letter) + b"\n"
        )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(content)
        except (SyntaxError, ValueError):
            continue
        if not tree.body:  # UTF-16 and the like: the file is one comment
            continue
        (function,) = tree.body
        assert isinstance(function, ast.FunctionDef)
        (default,) = function.args.defaults
        assert isinstance(default, ast.Constant)
        shown = lines_of(content)[default.lineno - 1][
            default.col_offset : default.end_col_offset
        ].decode()
        assert shown == repr(default.value) or letter != b"e", name
        assert ast.literal_eval(shown) == default.value, name
        compared += 1
    assert compared > 80


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"", "utf-8"),
        (b"x = 1\n# coding: latin-1\n", "utf-8"),
        (b"\n# coding: latin-1\n", "iso-8859-1"),
        (b"#!python\r# coding: cp1252\r", "cp1252"),
        (b"#" + b"x" * 5000 + b" coding: cp1252\n", "cp1252"),
        (b"\x0c# vim: set fileencoding=utf8 :\n", "utf-8"),
        (b"'a' # coding: latin-1\n", "utf-8"),
    ],
)
def test_where_an_encoding_may_be_declared(content: bytes, encoding: str) -> None:
    assert encoding_of(content) == encoding


def test_what_can_not_be_decoded_still_has_lines() -> None:
    assert lines_of(b"# coding: nope\nx = 1\r\ny = '\xff'") == [
        b"# coding: nope",
        b"x = 1",
        b"y = '\xff'",
    ]
