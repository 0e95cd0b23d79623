"""Tokens: what a task needs and gives, `artifact:NAME`, `file:PATH` or `symbol:NAME`, whatever the case."""

from __future__ import annotations

from typing import Final

SORTS: Final = ("artifact", "file", "symbol")


def token(text: str) -> str:
    """The token as it is compared: lower case, no spaces around its parts, paths without `./` and with `/` between.

    ValueError, with what is wrong, for anything else.
    """
    sort, colon, name = text.strip().partition(":")
    sort, name = sort.strip().casefold(), " ".join(name.split()).casefold()
    if not colon or sort not in SORTS:
        raise ValueError(f'"{text.strip()[:80]}" is no token; it begins with artifact:, file: or symbol:')
    if sort == "file":
        name = name.replace("\\", "/").removeprefix("./")
    if not name:
        raise ValueError(f'"{text.strip()[:80]}" names nothing after the colon')
    return f"{sort}:{name}"
