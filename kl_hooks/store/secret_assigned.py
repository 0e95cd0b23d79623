"""Secrets that show by the name they are given to: `NAME=value`, `"name": "value"`, `--name value`, `Bearer value`.

Found in two steps, so that time grows with the length of the text: a pattern finds a name that may say secret with
the sign after it; only then, and only at that place, is the value looked at (its first characters decide).
"""

from __future__ import annotations

import re
from typing import Final

from kl_hooks.store.secret_names import is_password, looks_like_code, placeholder, random_word, secret_name

_FIND: Final = re.compile(
    r"(?:[Pp](?:[Aa][Ss][Ss]|[Ww][Dd])|[Ss][Ee][Cc][Rr][Ee][Tt]|[Tt][Oo][Kk][Ee][Nn]|[Cc][Rr][Ee][Dd]|[Aa][Uu][Tt][Hh]|"
    r"[Kk][Ee][Yy]|[Bb]earer)"
    r"(?P<rest>[A-Za-z0-9_.-]{0,40}+)(?:\\{0,3}[\"'`])?\]?"
    r"(?P<type>: ?[A-Za-z]{1,20}(?: \| None)?(?= ?=))?"
    r"(?P<sep>[ \t]{0,4}+(?:(?P<sign>:=|=>|==?|:(?!:))[ \t]{0,4}+)?(?:is |was )?)"
    r"(?P<scheme>(?:[Bb]asic|[Bb]earer|[Dd]igest|[Tt]oken|[Aa]pi[Kk]ey|[Nn]egotiate)[ ]{1,4}+)?"
    r"(?P<open>[bBrRuUfF]{0,2}\\{0,3}[\"'`])?(?=[^\s\"'`,;&|<>(){}\\])(?!\[redacted:)"
)
_QUOTED: Final = re.compile(r"[^\"'`\n\\]+")
_BARE: Final = re.compile(r"[^\s\"'`,;&|<>(){}\[\]\\]+")
_SHORT: Final = 64
_HEAD: Final = re.compile(r"[A-Za-z0-9_.-]*\Z")


def hide_assignments(text: str) -> str:
    """The values of names that say secret. What could be code (`token = self.token`) stays."""
    parts: list[str] = []
    kept = at = 0
    while match := _FIND.search(text, at):
        at = max(match.end(), match.start() + 1)
        name = _name(match)
        if not match["sep"] or not secret_name(name):
            continue
        quoted = match["open"] is not None
        pattern = _QUOTED if quoted else _BARE
        first = pattern.match(text, match.end(), match.end() + _SHORT)
        if first and _is_secret(match, name, first[0], quoted):
            end = pattern.match(text, match.end())
            parts += [text[kept : match.end()], "[redacted:assignment]"]
            kept = at = end.end() if end else at
    return "".join([*parts, text[kept:]]) if parts else text


def _name(match: re.Match[str]) -> str:
    """The identifier around the keyword: what stands before it (at most 40 characters) belongs to the name."""
    head = _HEAD.search(match.string, max(0, match.start() - 40), match.start())
    return (head[0] if head else "") + match.string[match.start() : match.end("rest")]


def _is_secret(match: re.Match[str], name: str, value: str, quoted: bool) -> bool:
    if placeholder(value) or value.startswith("[redacted:"):
        return False
    if match["scheme"]:
        return len(value) >= 6
    sign = match["sign"]
    if sign is None:
        return _follows(name, value, match["sep"])
    if value.strip("-+.,").isdigit() and len(value) < (4 if is_password(name) else 12):
        return False
    if quoted:
        return not value.isspace() and (" " not in value.strip() or is_password(name))
    if sign == "=" and match["sep"] == "=":
        return not (value.endswith(":") or ("." in value and looks_like_code(value)) or value == name)
    if random_word(value) or (any(c.isdigit() for c in value) and not looks_like_code(value)):
        return True
    return sign == ":" and is_password(name) and _ends_the_line(match.string, match.end() + len(value))


def _ends_the_line(text: str, at: int) -> bool:
    """`password: swordfish` as a settings file has it, unlike `:param password: what it is for`."""
    return at == len(text) or text[at] in "\r\n"


def _follows(name: str, value: str, sep: str) -> bool:
    """No sign between: `--password value`, `Bearer value`, `the password is value`."""
    if name.startswith("-"):
        return not value.startswith("-") and not (value.isupper() and value.isalpha())
    value = value.rstrip(".:!?")
    if name.lower() == "bearer":
        return len(value) >= 16
    return random_word(value) and not looks_like_code(value)
