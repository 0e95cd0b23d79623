"""Secrets that show by what stands around them: key blocks, passwords in URLs, cookies.

Every pattern starts at a rare literal and is bounded, so that time grows with the length of the text and not faster,
whatever the text is. Assignments have a file of their own.
"""

from __future__ import annotations

import re
from typing import Final

_BEGIN: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINE: Final = re.compile(r"[A-Za-z0-9+/=]+")
_BREAK: Final = re.compile(r"\\n|\n")
_PEM: Final = "[redacted:private-key]"
_URL: Final = re.compile(r"://([^\s/:@'\"<>`]{0,128}+):([^\s/'\"<>`]{1,256})@")
_COOKIE: Final = re.compile(r"((?:[Cc]ookie|COOKIE)\\{0,3}[\"']?: {0,4}\\{0,3}[\"']?)([^\s\"'\\\[][^\n\"'\\]*)")


def hide_key_blocks(text: str) -> str:
    """PEM private keys: from BEGIN to END, or to the end of the text where END is cut off; the lines of base64 before
    an END whose BEGIN is cut off.
    """
    if "PRIVATE KEY" not in text:
        return text
    parts: list[str] = []
    at = 0
    while begin := _BEGIN.search(text, at):
        parts += [_hide_headless(text[at : begin.start()]), _PEM]
        end = _END.search(text, begin.end())
        at = end.end() if end else len(text)
    return "".join([*parts, _hide_headless(text[at:])])


def _hide_headless(text: str) -> str:
    """Each part of `text` that ends in an END mark loses the key lines at its end, and the mark."""
    parts: list[str] = []
    at = 0
    for end in _END.finditer(text):
        parts += [_without_key_lines(text[at : end.start()]), _PEM]
        at = end.end()
    return "".join([*parts, text[at:]])


def _without_key_lines(text: str) -> str:
    """`text` up to the last line that is not base64 (line breaks may be written as `\\n`)."""
    keep = 0
    at = 0
    for line_break in [*_BREAK.finditer(text), None]:
        line = text[at : line_break.start() if line_break else len(text)].strip()
        after = line_break.end() if line_break else len(text)
        if line and (not _KEY_LINE.fullmatch(line) or (len(line) < 16 and line_break and keep == at)):
            keep = after
        at = after
    return text[:keep]


def hide_url_passwords(text: str) -> str:
    """`scheme://user:password@host`: the password."""
    return _URL.sub(r"://\1:[redacted:url]@", text) if "://" in text else text


def hide_cookies(text: str) -> str:
    """`Cookie: …` and `Set-Cookie: …`, to the end of the line."""
    return _COOKIE.sub(r"\1[redacted:cookie]", text) if "ookie" in text or "OOKIE" in text else text
