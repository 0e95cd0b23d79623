"""Secrets that the grammar around them reveals: arguments of programs, users of URLs, card numbers;
and values that announce themselves as public.

What is a secret follows from the form that a program, RFC 3986 or ISO/IEC 7812 gives it, and from
no other word in the text. `redaction` applies these rules.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final, NamedTuple

from kl_hooks.model.text import replace_spans

_MARK: Final = "[redacted:"
_GAP: Final = "\x1f"
"""Between the arguments of a command that is a list: no argument holds it, and `\\s` matches it."""
_MOST: Final = 4_000
"""Characters of a command that are looked at."""


class _Credential(NamedTuple):
    """How programs take a secret as an argument."""

    programs: str
    """A pattern of their names."""
    options: str
    """A pattern of the options before it."""
    after: str = ""
    """The sign between a name and the secret in one argument: `user:secret`."""
    gap: str = r"[\s=]\s?"
    """What is between an option and its argument; empty: it is glued to it."""


# Each row is from the manual of its programs. `-p` alone decides nothing: it is a port of docker, and
# a folder of mkdir.
_CREDENTIALS: Final = (
    _Credential("curl", r"-[a-zA-Z]{0,8}[uU]|--(?:proxy-)?user", ":", r"[\s=]?\s?"),
    _Credential("https?|xhs?", "-a|--auth", ":"),
    _Credential("wget2?|ab|lynx", "-A|-P|-auth", ":"),
    _Credential("lftp", "-u|--user", ","),
    _Credential("smbclient|smbget|rpcclient|smbmap", "-U|--user", "%"),
    _Credential("(?:mysql|mariadb|mysqli|perror)[a-z-]{0,12}", "-p", gap=""),
    _Credential("sshpass", "-p", gap=r"\s?"),
    _Credential(
        r"(?:docker|podman|nerdctl|buildah|skopeo|oras|crane|helm\sregistry|az|oc|cf|gcloud)\slogin",
        "-p",
        gap=r"[\s=]?\s?",
    ),
    _Credential("redis-cli|valkey-cli|keydb-cli", "-a", gap=r"\s"),
    _Credential("mongo(?:sh|dump|restore|export|import)?", "-p", gap=r"\s?"),
    _Credential("sqlcmd|bcp|osql|ipmitool|zip|unzip", "-P", gap=r"\s?"),
    _Credential("7z[ar]?|rar|unrar", "-p", gap=""),
    _Credential("ldap(?:search|add|modify|delete|passwd|whoami)", "-w", gap=r"\s?"),
)


@cache
def _programs() -> re.Pattern[str]:
    """A program of `_CREDENTIALS`, up to the end of its command."""
    names = "|".join(f"(?P<p{n}>{row.programs})" for n, row in enumerate(_CREDENTIALS))
    return re.compile(rf"(?<![\w.-])(?:{names})(?:\.exe)?(?=[\s\"'])")


@cache
def _arguments(row: int, is_list: bool) -> re.Pattern[str]:
    """An option of a row of `_CREDENTIALS`, and the secret after it. An argument in a list has
    quotation marks and spaces as they are.
    """
    credential = _CREDENTIALS[row]
    # a name is not the secret: it is in receipts and logs anyway, and a reader wants to know whose
    name = rf"[^\s\"'{credential.after}]{{0,120}}+{credential.after}" if credential.after else ""
    quoted = rf"(?P<quote>[\"']){name}(?P<quoted>[^\"'\n]+)"
    bare = rf"{name}(?P<bare>(?![\"'\\]|-)[^\s\"'|;&<>]+)"
    if is_list:
        quoted, bare = r"(?P<quote>(?!))(?P<quoted>)", rf"{name}(?P<bare>(?!-)[^{_GAP}]+)"
    return re.compile(rf"(?<=\s)(?:{credential.options}){credential.gap}(?:{quoted}|{bare})")


# the look behind comes second: a search for one character is the fast one
_OPTION: Final = re.compile(r"-(?<=\s-)(?:[a-zA-Z]{0,8}[uUpPaAw]|-user|-proxy-user|-auth|auth)")
"""An option of `_CREDENTIALS`. Nearly no text has one, and it is cheaper to find than a program."""
_LINE_END: Final = re.compile(r"(?<!\\)\n")
_COMMAND_END: Final = re.compile(r"(?<!\\)\n|[|;&]{1,2}(?=\s)")


def _hide_command_secrets(text: str, is_placeholder: Callable[[str], bool]) -> str:
    """Return the text with the arguments of programs that are passwords as
    `[redacted:command]`.
    """
    spans: list[tuple[int, int]] = []
    done = 0
    for option in _OPTION.finditer(text):
        if option.start() >= done:
            lines = [match.end() for match in _LINE_END.finditer(text, done, option.start())]
            start = max([done, option.start() - _MOST, *lines[-1:]])
            ends = _LINE_END.search(text, option.end(), option.end() + _MOST)
            done = ends.start() if ends else min(len(text), option.end() + _MOST)
            spans += _secret_arguments(text, start, done, is_placeholder)
    return replace_spans(text, spans, f"{_MARK}command]")


def _secret_arguments(
    text: str, start: int, end: int, is_placeholder: Callable[[str], bool]
) -> Iterator[tuple[int, int]]:
    programs = list(_programs().finditer(text, start, end))
    # each up to the next one: a line of nothing but names costs its length, not the square of it
    for program, limit in zip(programs, [*(p.start() for p in programs[1:]), end], strict=False):
        row = next(n for n in range(len(_CREDENTIALS)) if program[f"p{n}"])
        stop = _COMMAND_END.search(text, program.end(), limit)
        arguments = _arguments(row, _GAP in text)
        for match in arguments.finditer(text, program.end(), stop.start() if stop else limit):
            group = "quoted" if match["quote"] else "bare"
            if not is_placeholder(match[group]) and not match[group].startswith(_MARK):
                yield match.span(group)


def _hide_in_arguments(arguments: list[str], is_placeholder: Callable[[str], bool]) -> list[str]:
    """The same for a command that is a list of its arguments."""
    text = _GAP.join(arguments)
    hidden = _hide_command_secrets(text, is_placeholder)
    changed = hidden.split(_GAP)
    return changed if hidden != text and len(changed) == len(arguments) else arguments


# The issuer's first digits and the length decide (ISO/IEC 7812-1), then the check digit. Digits in
# groups are those of one card, never of two numbers side by side.
_CARD: Final = re.compile(
    # the sign before it comes second: a search for a set of first characters is the fast one
    r"[2-6](?<![\w.+-].)[0-9]{3}(?:[0-9]{9,15}+|(?P<sign>[ -])"
    r"(?:[0-9]{4}(?P=sign)[0-9]{4}(?P=sign)[0-9]{1,4}|[0-9]{6}(?P=sign)[0-9]{5})"
    r")(?![\w-]|\.[0-9])"
)
_ISSUERS: Final = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}"
    r"|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|5\d\d|4[4-9]\d)\d{12}"
    r"|35(?:2[89]|[3-8]\d)\d{12}"
)


def _hide_cards(text: str) -> str:
    """Return the text with numbers of payment cards as `[redacted:card]`."""
    return _CARD.sub(lambda match: f"{_MARK}card]" if _is_card(match[0]) else match[0], text)


def _is_card(number: str) -> bool:
    digits = number.replace(" ", "").replace("-", "")
    if _ISSUERS.fullmatch(digits) is None or len(set(digits)) < 2:
        return False
    doubled = [2 * int(digit) for digit in digits[-2::-2]]
    return (sum(map(int, digits[-1::-2])) + sum(n - 9 * (n > 9) for n in doubled)) % 10 == 0


_URL_USER: Final = re.compile(r"://(?P<user>[A-Za-z0-9+/=_-]{16,256}+)(?=:?@|:\[redacted:url\]@)")


def _hide_url_users(text: str, is_key: Callable[[str], bool]) -> str:
    """Return the text with a user of a URL that is a key (a DSN of Sentry, a token before
    `@github.com`) as `[redacted:url]`.
    """
    return _URL_USER.sub(
        lambda match: f"://{_MARK}url]" if is_key(match["user"]) else match[0], text
    )


def _hide_by_grammar(
    text: str, is_placeholder: Callable[[str], bool], is_key: Callable[[str], bool]
) -> str:
    """Return the text without the secrets that their grammar reveals. `is_placeholder`: a value
    that hides nothing; `is_key`: a word that opens something by itself.
    """
    text = _hide_url_users(text, is_key) if "://" in text else text
    return _hide_cards(_hide_command_secrets(text, is_placeholder))


@cache
def _public() -> re.Pattern[str]:
    """What states that it is content, a certificate or a fingerprint: none of it opens anything."""
    return re.compile(
        r"data:[\w.+-]{1,60}+/[\w.+-]{1,80}+(?:;[\w=.-]{1,60}+){0,4};base64,[A-Za-z0-9+/=_-]*+"
        # no `-` in it: where the end is missing, the next line of dashes ends the search
        r"|-----BEGIN (?P<label>(?:(?!PRIVATE)[A-Z0-9 ]){1,40}+)-----[A-Za-z0-9+/=\s:.,()\\]*+"
        r"-----END (?P=label)-----"
        r"|(?<![A-Za-z0-9+/])(?P<key>AAAA[A-Za-z0-9+/]{28,}+={0,2})"
        r"|(?:SHA|sha)(?:224|256|384|512):[A-Za-z0-9+/=]{27,88}+"
    )


_MAY_BE_PUBLIC: Final = (";base64,", "-----BEGIN ", "AAAA", "224:", "256:", "384:", "512:")


def _parts_by_privacy(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text in order, and of each whether it states that it is public."""
    copied = 0
    if any(word in text for word in _MAY_BE_PUBLIC):
        for match in _public().finditer(text):
            if match["key"] and not _is_public_key(match["key"]):
                continue
            yield text[copied : match.start()], False
            yield match[0], True
            copied = match.end()
    yield text[copied:], False


_KEY_TYPES: Final = (b"ssh-", b"ecdsa-", b"sk-ssh-", b"sk-ecdsa-")


def _is_public_key(word: str) -> bool:
    """Return whether a word is an SSH public key: base64 of the length of its type, then the type
    (RFC 4253, 6.6). A private key begins with `openssh-key-v1`.
    """
    if not word.startswith("AAAA"):
        return False
    try:
        start = base64.b64decode(word[:32])
    except (binascii.Error, ValueError):
        return False
    size = int.from_bytes(start[:4], "big")
    return 6 < size < 40 and start[4:].startswith(_KEY_TYPES)


class Grammar(NamedTuple):
    """What the grammar around a value reveals of it."""

    is_placeholder: Callable[[str], bool]
    """Whether a value hides nothing."""
    is_key: Callable[[str], bool]
    """Whether a word opens something by itself."""

    def hide(self, text: str) -> str:
        """Return the text without the secrets that their grammar reveals."""
        return _hide_by_grammar(text, self.is_placeholder, self.is_key)

    def hide_arguments(self, arguments: list[str]) -> list[str]:
        """The same for a command that is a list of its arguments."""
        return _hide_in_arguments(arguments, self.is_placeholder)

    @staticmethod
    def parts(text: str) -> Iterator[tuple[str, bool]]:
        """Yield the parts of a text in order, and of each whether it states that it is public."""
        return _parts_by_privacy(text)
