"""Redaction: what must not be written is taken out before the first write, the spool included.

`[redacted:<rule>]` stands where a secret was. Ours first (values of the environment, key blocks, URLs, headers,
assignments, words with the look of a token), then what plugins add. Control characters become visible escapes, and
colours go. Applying it twice changes nothing more.

A net, not a promise: a secret without a known look, a telling name or a place in the environment passes through.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from kl_hooks.model.text import safe_text
from kl_hooks.store.secret_names import NAMING, placeholder, secret_name
from kl_hooks.store.secret_shapes import hide_cookies, hide_key_blocks, hide_url_passwords
from kl_hooks.store.secret_words import hide_words

Redactor = Callable[[str], str]

_COLOUR: Final = re.compile(r"\x1b\[[0-9;:]{0,32}m")
_HARMLESS: Final = re.compile(
    r"(?:[a-z_/.,\[\]()-]*+(?:::|[0-9]++(?![A-Za-z])|(?<![a-z])[A-Z]{1,6}+(?![A-Z])|[A-Z](?![A-Z0-9])))*+[a-z_/.,\[\]()-]*+"
).fullmatch
"""A test id without the look of a token: small letters and the signs of a path, `:` in pairs, digits that no letter
follows, few capitals. A random word of sixteen characters is none of these but by a rare accident.
"""
_OPTION_NAME: Final = re.compile(r"--?([A-Za-z][A-Za-z0-9_-]{0,60})")
_COMMON: Final = frozenset(
    ("password", "postgres", "postgresql", "changeme", "testtest", "testpass", "username", "disabled", "internal")
)

_FOLDERS: Final = frozenset(("PWD", "OLDPWD"))
"""Variables of every shell that name a folder, although they sound like a password."""

_added: tuple[Redactor, ...] = ()
_hidden: tuple[str, ...] = ()


def configure(functions: Iterable[tuple[str, Redactor]] = (), environ: Mapping[str, str] | None = None) -> None:
    """Sets what is applied after ours (answers of the hookspec `kl_redact`; ours among them is known and left out),
    and whose environment's secrets are looked for (default: this process's, as it is now).
    """
    global _added, _hidden
    _added = tuple(function for _, function in functions if function is not ours)
    _hidden = _secret_values(os.environ if environ is None else environ)


def _secret_values(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Values (eight characters or more, longest first) of variables whose names say secret."""
    named = {k: v for k, v in environ.items() if k not in _FOLDERS and len(v) >= 8 and secret_name(k)}
    values = {v for v in named.values() if not placeholder(v)}
    return tuple(sorted((v for v in values if v.lower() not in _COMMON), key=lambda v: (-len(v), v)))


def suspicious(text: str) -> bool:
    """A cheap look: False means that `redact(text)` is `text`. Made for test ids, of which nearly all are harmless."""
    if _added or not _HARMLESS(text) or "glpat-" in text or "hf_" in text or "sk-" in text:
        return True
    for value in _hidden:  # noqa: SIM110 - a generator costs as much as all of the rest
        if value in text:
            return True
    return False


def redact(text: str) -> str:
    """`text` without the secrets that can be recognised, and without control characters (newline and tab stay)."""
    if not suspicious(text):
        return text
    for _ in range(4):
        new = ours(text)
        for function in _added:
            new = function(new)
        if new == text:
            break
        text = new
    return text


def ours(text: str) -> str:
    """Our own rules, once."""
    text = safe_text(_COLOUR.sub("", text) if "\x1b" in text else text)
    for value in _hidden:
        if value in text:
            text = text.replace(value, "[redacted:environment]")
    return hide_words(_assignments(hide_cookies(hide_url_passwords(hide_key_blocks(text)))))


def _assignments(text: str) -> str:
    low = text.lower()
    if not any(word in low for word in NAMING):
        return text
    from kl_hooks.store.secret_assigned import hide_assignments

    return hide_assignments(text)


def redact_value(value: Any) -> Any:
    """The same plain value with every string redacted, keys of dicts too.

    Under a key that says secret (`"password"`), a string is hidden whole; so is the argument after `--password`.
    """
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(key): _under(key, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return _list(value)
    return value


def _under(key: str, item: Any) -> Any:
    if not secret_name(key):
        return redact_value(item)
    if isinstance(item, str):
        return item if placeholder(item) or item.startswith("[redacted:") else "[redacted:key]"
    if isinstance(item, list | tuple):
        return [_under(key, part) for part in item]
    return redact_value(item)


def _list(items: list[Any] | tuple[Any, ...]) -> list[Any]:
    found: list[Any] = []
    after_secret_option = False
    for item in items:
        hide = after_secret_option and isinstance(item, str) and not item.startswith(("-", "[redacted:"))
        found.append("[redacted:option]" if hide else redact_value(item))
        option = _OPTION_NAME.fullmatch(item) if isinstance(item, str) else None
        after_secret_option = option is not None and secret_name(option[1])
    return found


configure()
