"""Text as it can stand in YAML, so that every reader gets exactly that text back, and a reviewer sees what it holds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from kl_hooks.model.record import Value
from kl_hooks.model.text import safe_text

_PLAIN: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._/@()+-]|:(?=[A-Za-z0-9_./]))*")
_OTHER_TYPE: Final = re.compile(
    r"(?i:true|false|yes|no|on|off|null|y|n)|[-+]?[0-9.][0-9_.]*(?:e[-+]?[0-9]+)?|0[xob][0-9a-f]+|[0-9]+(?::[0-9]+)+"
)
"""Plain words that other readers of YAML take for something else than text."""
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_NO_YAML: Final = re.compile("[\ufffe\uffff]")


def scalar(value: str | int | bool, typed: bool = False) -> str:
    """A scalar on one line. `typed`: it is a date or a number by its field, so no quotes are needed for that."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    plain = _PLAIN.fullmatch(value) and not value.endswith(" ")
    if plain and (typed or not (_OTHER_TYPE.fullmatch(value) or _is_date(value))):
        return value
    return f'"{"".join(map(_escaped, value))}"'


def entry(name: str, value: Value, typed: bool = False) -> list[str]:
    """The lines of a key and its value, as they stand in front matter."""
    if isinstance(value, Mapping):
        return [f"{name}:", *(f"  {scalar(key)}: {scalar(item)}" for key, item in value.items())]
    if isinstance(value, tuple):
        return _list(name, value)
    return [f"{name}: {scalar(value, typed)}"]


def _list(name: str, items: Sequence[str]) -> list[str]:
    shown = [scalar(item) for item in items]
    flow = f"{name}: [{', '.join(shown)}]"
    if len(flow) <= 100 and all(len(item) <= 24 and re.fullmatch(r"[\w.-]+", item) for item in shown):
        return [flow]
    return [f"{name}:", *(f"  - {item}" for item in shown)]


def _is_date(value: str) -> bool:
    return bool(re.fullmatch(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*", value))


def _escaped(letter: str) -> str:
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if _NO_YAML.match(letter):
        return f"\\u{ord(letter):04x}"
    return safe_text(letter)
