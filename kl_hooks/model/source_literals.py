"""Where a program has text: the literals and comments of source. Everything else in it is names,
and a name is no secret.
"""

from __future__ import annotations

import io
import tokenize
from itertools import accumulate
from typing import Final

_OPENS: Final = frozenset(
    number for name, number in vars(tokenize).items() if name in ("FSTRING_START", "TSTRING_START")
)
_CLOSES: Final = frozenset(
    number for name, number in vars(tokenize).items() if name in ("FSTRING_END", "TSTRING_END")
)


def python_literals(source: str) -> list[tuple[int, int]]:
    """Return where the string literals and comments of Python source are, in order.

    The source may be a part of a file. Where Python's tokenizer gives up (a literal that is cut
    off), all that follows counts as one literal, so that it is redacted as plain text.
    """
    lines = io.StringIO(source, newline="").readlines()
    starts = [0, *accumulate(map(len, lines))]
    spans: list[tuple[int, int]] = []
    depth = opened = end = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(source, newline="").readline):
            start = starts[token.start[0] - 1] + token.start[1]
            end = min(starts[min(token.end[0], len(starts)) - 1] + token.end[1], len(source))
            if token.type in _OPENS:
                depth += 1
                if depth == 1:
                    opened = start
            elif token.type in _CLOSES:
                depth -= 1
                if not depth:
                    spans.append((opened, end))
            elif not depth and token.type in (tokenize.STRING, tokenize.COMMENT):
                spans.append((start, end))
            elif token.string in ("'", '"'):
                end = start
                break  # CPython 3.11 goes on after a literal that does not end
        else:
            return spans
    except (tokenize.TokenError, SyntaxError):
        pass
    # the last token that was read may be of an f-string that does not end
    return [*spans, (opened if depth else end, len(source))]
