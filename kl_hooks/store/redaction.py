"""Redaction: secrets are removed before the first write, the spool included.

`[redacted:<rule>]` replaces a secret. Ours first (values of the environment, key blocks, URLs,
headers, assignments, words that look like a token), then what plugins add. Control characters
become visible escapes, and colors are dropped. Applying it twice changes nothing more.

Best effort: a secret of no known form, without a revealing name or a value in the environment, is
not found.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, Final

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.text import replace_spans, safe_text

_compile: Final = re.compile
"""For patterns that wait for their first need: in a run of tests, a suite may have replaced it by
then.
"""
MARK: Final = "[redacted:"
"""How the mark begins that replaces a secret."""
_SECRET_WORDS: Final = ("pass", "pwd", "secret", "token", "cred", "auth", "key", "bearer")
"""Everything that `_assignment` matches begins with one of these or of `_PASSWORD_WORDS`, in small
or capital letters.
"""
_PASSWORD_PHRASES: Final = ("mot de passe", "kata sandi")
_PASSWORD_WORDS: Final = (
    *("kennwort", "mdp", "senha", "clave", "contrasena", "wachtwoord", "parola", "adgangskode"),
    *("losenord", "salasana", "haslo", "heslo", "jelszo", "lozinka"),
    # what is several words in prose is one name in configuration: mot_de_passe, motDePasse
    *(phrase.replace(" ", joint) for phrase in _PASSWORD_PHRASES for joint in (" ", "_", "-", "")),
)
"""`password` in other languages, as typed on a keyboard without accents …"""
_PASSWORD_LETTERS: Final = (
    *("contraseña", "lösenord", "hasło", "jelszó", "şifre", "parolă", "mật khẩu", "пароль"),
    *("密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호", "κωδικός", "סיסמה"),
    *("كلمة السر", "كلمة المرور", "पासवर्ड", "รหัสผ่าน"),
)
"""… and in their own letters, looked for in texts that are not ASCII only."""
_WORDS: Final = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALONE: Final = _words("""
    password passwords passwd passphrase passcode passwort passord pwd pass pw secret secrets token
    tokens credential
    credentials creds auth authorization apikey jwt bearer pat otp
    """)
_WITH_KEY: Final = _words("""
    api access private secret signing signature encryption account master ssh auth shared client license
    storage deploy service webhook session hmac aes master recovery decryption
    """)
_GLUED: Final = lazy_pattern(
    r"passw(?:or)?[dt]|passphrase|(?:store|key|db|user|root|admin|my|bind)pass$|secret(?!ar)|credential|(?:api|access|private|secret|encryption|signing)key|"
    r"(?:access|auth|refresh|bearer|id|session)token"
)
_FOREIGN: Final = _PASSWORD_WORDS + _PASSWORD_LETTERS
_PUBLIC_KEYS: Final = _words("""
    public primary foreign cache object content sort partition dedupe idempotency restore storage
    """)
"""Words before `key` that make it no secret."""
_ABOUT: Final = _words("""
    count counts type types name names len length size sizes limit limits file files filename path paths
    url uri field fields ttl expiry expires expiration max min estimator kind class re regex pattern
    budget sock socket dir directory policy policies prompt hash algorithm method methods mode scheme
    format header headers index offset id ids start end line column position usage used per total error
    errors required enabled disabled valid invalid manager provider handler backend backends server host
    port version module plugin test tests page view form reset change changed status state level
    endpoint
    """)
"""Last words of names whose value is something *about* the secret."""
_PLACEHOLDER: Final = lazy_pattern(
    r"none|null|nil|true|false|undefined|self|str|bytes|bytearray|int|float|bool|object|any|optional|string|text|"
    r"required|optional|changeme|example|dummy|x{3,}|\*+|\.+|-+|_+|<.*|\{.*|\$.*|%.*|\[.*|\(.*",
    re.IGNORECASE | re.DOTALL,
)
_CODE: Final = lazy_pattern(
    r"[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*|\[[^\]]{0,40}\]?)*[(\[.,;:]*"
)


@lru_cache(maxsize=4096)
def _is_secret_name(name: str) -> bool:
    """True for `DB_PASSWORD`, `apiKey`, `x-auth-token`; False for `token_count`, `author`, `key`,
    `bypass`.
    """
    if name.lower().endswith(_FOREIGN):
        return True
    words = [w.lower() for w in _WORDS.findall(name)]
    while words and words[-1].isdigit():
        words.pop()
    if not words or words[-1] in _ABOUT:
        return False
    if not _ALONE.isdisjoint(words):
        return True
    if any(b in ("key", "keys") and a in _WITH_KEY for a, b in pairwise(words)):
        return True
    return bool(_GLUED.search("".join(words)))


def _is_password(name: str) -> bool:
    """The name speaks of one password or secret, whose value may be any word or number (a token's
    may not).
    """
    low = name.lower()
    if low.endswith(_FOREIGN):
        return True
    return ("pass" in low or "pwd" in low or "secret" in low) and not low.endswith(
        ("words", "secrets")
    )


def _is_placeholder(value: str) -> bool:
    """Nothing to hide: empty, `None`, `***`, `<token>`, `$TOKEN`, a type's name, or already
    redacted.
    """
    return not value or _PLACEHOLDER.fullmatch(value) is not None


def _looks_like_code(value: str) -> bool:
    """`self.token`, `get_token(`, `tokens[0]`: an expression of a program that does not look like a
    random word.
    """
    return _CODE.fullmatch(value) is not None and not _is_random_word(value)


def _is_random_word(value: str) -> bool:
    """At least eight characters that mix letters with digits or signs more than a name does."""
    if len(value) < 8:
        return False
    digits = sum(c.isdigit() for c in value)
    letters = sum(c.isalpha() for c in value)
    signs = sum(c in "!@#$%^&*?~+/=" for c in value)
    if not letters or not digits + signs:
        return False
    return _turns(value) // 3 + signs >= 2


_CASE: Final = lazy_pattern(r"(?<=[a-z])(?=[A-Z])|(?<=[a-z][A-Z])(?=[A-Z])|(?<=[A-Z]{2})(?=[a-z])")
_DIGIT: Final = lazy_pattern(r"(?<=[0-9])(?=[A-Za-z])|(?<=[A-Za-z])(?=[0-9])")


def _turns(word: str) -> int:
    """A score for changes within a word: 2 where capitals and small letters meet, 3 where letters
    and digits do.
    """
    return 2 * len(_CASE.findall(word)) + 3 * len(_DIGIT.findall(word))


_BEGIN: Final = lazy_pattern(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END: Final = lazy_pattern(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINE: Final = lazy_pattern(r"[A-Za-z0-9+/=]+")
_BREAK: Final = lazy_pattern(r"\\n|\n")
_PEM: Final = "[redacted:private-key]"
# possessive (CPython 3.11) and bounded repetitions: hostile text costs its length, not the square
# of it
_URL: Final = lazy_pattern(r"://(?!\[redacted:)([^\s/:@'\"<>`]{0,128}+):([^\s/'\"<>`]{1,256})@")
# `Cookie: …` and `Set-Cookie: …`, to the end of the line
_COOKIE: Final = lazy_pattern(
    r"((?:[Cc]ookie|COOKIE)\\{0,3}[\"']?: {0,4}\\{0,3}[\"']?)([^\s\"'\\\[][^\n\"'\\]*)"
)


def _hide_key_blocks(text: str) -> str:
    """PEM private keys: from BEGIN to END, or to the end of the text where END is cut off; the
    lines of base64 before an END whose BEGIN is cut off.
    """
    if "PRIVATE KEY" not in text:
        return text
    parts: list[str] = []
    position = 0
    while begin := _BEGIN.search(text, position):
        parts += [_hide_headless(text[position : begin.start()]), _PEM]
        end = _END.search(text, begin.end())
        position = end.end() if end else len(text)
    return "".join([*parts, _hide_headless(text[position:])])


def _hide_headless(text: str) -> str:
    """Each part of `text` that ends in an END mark loses the key lines at its end, and the mark."""
    parts: list[str] = []
    position = 0
    for end in _END.finditer(text):
        parts += [_without_key_lines(text[position : end.start()]), _PEM]
        position = end.end()
    return "".join([*parts, text[position:]])


def _without_key_lines(text: str) -> str:
    """`text` up to the last line that is not base64 (line breaks may be written as `\\n`)."""
    keep = 0
    position = 0
    for line_break in [*_BREAK.finditer(text), None]:
        line = text[position : line_break.start() if line_break else len(text)].strip()
        if line_break:
            after = line_break.end()
        else:
            after = len(text)
        if line and (
            not _KEY_LINE.fullmatch(line) or (len(line) < 16 and line_break and keep == position)
        ):
            keep = after
        position = after
    return text[:keep]


_B64: Final = "[A-Za-z0-9_-]"


class _Tokens(NamedTuple):
    """The tokens of a service."""

    rule: str
    signs: tuple[str, ...]
    """Each token of the service has one of these in it. Most texts have none, and then no pattern
    is compiled, which takes 5 ms.
    """
    pattern: str


_TOKENS: Final = (
    _Tokens(
        "aws",
        ("A3T", "AKIA", "ASIA", "ABIA", "ACCA", "AGPA", "AIDA", "AROA", "AIPA", "ANPA", "ANVA"),
        r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    ),
    _Tokens(
        "github",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255}",
    ),
    _Tokens(
        "gitlab",
        (
            *("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-"),
            "glsoat-",
            "glagent-",
            "gloas-",
        ),
        rf"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas)-{_B64}{{20,300}}(?:\.{_B64}{{1,40}}){{0,3}}",
    ),
    _Tokens(
        "slack",
        ("xox", "xapp-"),
        r"xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-[A-Za-z0-9-]{10,250}|xoxe\.xox[bp]-[A-Za-z0-9-]{10,250}",
    ),
    _Tokens(
        "stripe",
        ("k_live_", "k_test_", "k_prod_", "whsec_"),
        r"(?:sk|rk|pk)_(?:live|test|prod)_[A-Za-z0-9]{10,250}|whsec_[A-Za-z0-9+/=]{20,100}",
    ),
    _Tokens(
        "openai",
        ("sk-",),
        rf"sk-(?:proj|ant|svcacct|admin|or|lf)-{_B64}{{16,300}}|sk-[A-Za-z0-9]{{20,100}}",
    ),
    _Tokens(
        "google",
        ("AIza", "ya29.", "GOCSPX-", "1//0"),
        rf"AIza{_B64}{{30,60}}|ya29\.{_B64}{{20,500}}|GOCSPX-{_B64}{{20,60}}|1//0{_B64}{{30,120}}",
    ),
    _Tokens("npm", ("npm_",), r"npm_[A-Za-z0-9]{30,60}"),
    _Tokens("pypi", ("pypi-",), rf"pypi-{_B64}{{32,1000}}"),
    _Tokens("digitalocean", ("_v1_",), r"do[opr]_v1_[a-f0-9]{40,80}"),
    _Tokens(
        "huggingface",
        ("hf_", "api_org_"),
        r"(?:hf_[A-Za-z]{30,60}|hf_[A-Za-z0-9]{30,60}|api_org_[A-Za-z]{30,60})",
    ),
    _Tokens("sendgrid", ("SG.",), rf"SG\.{_B64}{{16,32}}\.{_B64}{{32,64}}"),
    _Tokens(
        "shopify",
        ("shpat_", "shpca_", "shppa_", "shpss_", "shpua_"),
        r"shp(?:at|ca|pa|ss|ua)_[A-Fa-f0-9]{32,64}",
    ),
    _Tokens(
        "mail",
        ("key-", "-us", "xkeysib-"),
        rf"key-[0-9a-f]{{32}}|[0-9a-f]{{32}}-us[0-9]{{1,2}}(?![0-9])|xkeysib-{_B64}{{60,120}}",
    ),
    _Tokens("vault", ("hvb.", "hvs."), rf"hv[bs]\.{_B64}{{24,300}}"),
    _Tokens("hashicorp", (".atlasv1.",), rf"[A-Za-z0-9]{{14}}\.atlasv1\.{_B64}{{40,100}}"),
    _Tokens("databricks", ("dapi",), r"dapi[0-9a-f]{32}(?:-[0-9])?"),
    _Tokens(
        "grafana",
        ("gla_", "glsa_", "glc_"),
        r"gls?a_[A-Za-z0-9_]{32,60}|glc_[A-Za-z0-9+/]{32,400}={0,2}",
    ),
    _Tokens("linear", ("lin_",), r"lin_(?:api|oauth)_[A-Za-z0-9]{32,80}"),
    _Tokens("notion", ("secret_", "ntn_"), r"(?:secret|ntn)_[A-Za-z0-9]{40,60}"),
    _Tokens(
        "misc",
        (
            *("EAACEdEose0cBA", "PMAK-", "dckr_pat_", "sntrys_", "figd_", "NRAK-", "rubygems_"),
            *("tskey-", "CCIPAT_", "sl.", "AGE-SECRET-KEY-1", "gsk_", "pplx-", "r8_", "xai-"),
            *("sbp_", "pscale_", "SK", "EAAA", "sq0"),
        ),
        r"EAACEdEose0cBA[A-Za-z0-9]{10,300}|PMAK-[A-Za-z0-9-]{50,70}|"
        rf"dckr_pat_{_B64}{{20,60}}|"
        rf"sntrys_[A-Za-z0-9+/=_]{{30,300}}|figd_{_B64}{{30,60}}|NRAK-[A-Z0-9]{{27}}|rubygems_[a-f0-9]{{48}}|"
        rf"tskey-[a-z]{{2,12}}-[A-Za-z0-9-]{{16,100}}|CCIPAT_[A-Za-z0-9_]{{20,100}}|sl\.{_B64}{{60,300}}|"
        rf"AGE-SECRET-KEY-1[A-Z0-9]{{58}}|gsk_[A-Za-z0-9]{{40,60}}|pplx-[A-Za-z0-9]{{40,60}}|r8_[A-Za-z0-9]{{30,50}}|"
        rf"xai-[A-Za-z0-9]{{60,100}}|sbp_[a-f0-9]{{40}}|pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{{30,70}}|"
        rf"SK[a-f0-9]{{32}}(?![A-Za-z0-9])|EAAA{_B64}{{60}}|sq0[a-z]{{3}}-{_B64}{{22,50}}",
    ),
)
_TOKEN_SIGNS: Final = tuple(sign for tokens in _TOKENS for sign in tokens.signs)


def _may_hold_token(text: str) -> bool:
    return any(sign in text for sign in _TOKEN_SIGNS)


@cache
def _known_tokens() -> re.Pattern[str]:
    """Tokens where a word begins (also after a written `\\n`): `task-…` holds no `sk-…`. Compiled
    on first need.
    """
    alternatives = "|".join(f"(?P<{rule}>{pattern})" for rule, _, pattern in _TOKENS)
    return _compile(rf"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?:{alternatives})")


_RULE: Final = lazy_pattern(r"\[redacted:([a-z0-9-]+)")
_WORD: Final = lazy_pattern(r"[A-Za-z0-9_+/=.~-]{16,}+")
_PART: Final = lazy_pattern(r"[A-Za-z0-9_+/-]{16,}+={0,2}")
_PIECE: Final = lazy_pattern(r"[A-Za-z0-9]{4,}")
_HEX: Final = lazy_pattern(r"(?:0x)?(?:[0-9a-f]+|[0-9A-F]+)")
_INTEGRITY: Final = lazy_pattern(r"(?:sha(?:1|224|256|384|512)|md5|blake2[bs]|h1)[-:=]", re.ASCII)
_LONGEST_CACHED: Final = 100
"""Characters of a word that is worth remembering."""
_MAX_CACHED: Final = 20_000
_harmless_words: Final[set[str]] = set()
"""Words that are no secret, cached: source repeats the same long words over and over, and the
verdict on a word depends on nothing around it.
"""
_MAY_TURN: Final = lazy_pattern(r"[0-9]|[A-Z](?:[^A-Z]*[A-Z]){3}")
"""Part of every word with more than nine turns: without a digit each takes a capital letter, or two
for one more.
"""
_HEX_DIGITS: Final = "0123456789abcdef"


def _hide_words(text: str) -> str:
    """`text` with each word or part of a word that is a secret by itself as `[redacted:<rule>]`."""
    return "".join(
        part if is_public else _hide_private_words(part)
        for part, is_public in _parts_by_privacy(text)
    )


def _hide_private_words(text: str) -> str:
    new = set(_WORD.findall(text)) - _harmless_words
    if not new:
        return text
    if len(_harmless_words) > _MAX_CACHED:
        _harmless_words.clear()
    # of the whole text, once: for each word it costs more than the pattern
    may_hold_token = _may_hold_token(text)
    _harmless_words.update(
        word
        for word in new
        if len(word) <= _LONGEST_CACHED and _redact_word(word, may_hold_token) == word
    )
    if new <= _harmless_words:
        return text
    return _WORD.sub(lambda match: _redact_word(match[0], may_hold_token), text)


def _redact_word(word: str, may_hold_token: bool) -> str:
    if not word.strip(
        _HEX_DIGITS
    ):  # an id of git or ours: most long words are one, and none is taken for a secret
        return word
    if may_hold_token:
        word = _known_tokens().sub(lambda m: f"[redacted:{m.lastgroup}]", word)
    start = word.find("eyJ")
    # a JSON web token: three parts or more, all that hangs together by dots
    if start >= 0 and "." in word[start:] and len(word) - start >= 20:
        word = f"{word[:start]}[redacted:jwt]"
    if _MAY_TURN.search(word) and _turns(word) > 9:
        return _PART.sub(_redact_part, word)
    return word


def _redact_part(match: re.Match[str]) -> str:
    # an integrity hash (`sha512-…`, `sha256=…`) identifies a file and opens nothing
    before = match.string[max(0, match.start() - 10) : match.start()]
    is_hash = _INTEGRITY.match(match[0]) or re.search(_INTEGRITY.pattern + r"\Z", before)
    if _looks_random(match[0]) and not is_hash:
        return "[redacted:random]"
    return match[0]


def _looks_random(part: str) -> bool:
    """Its longer alphanumeric pieces turn (see `_turns`) more often than names do. Pure hexadecimal
    never counts.

    The figures come from 40,000 words of the standard library (0.7 % taken for random, nearly all
    of them base64) and from random words of 20 to 64 characters (over 97 % found from 24 characters
    on).
    """
    pieces = [p for p in _PIECE.findall(part) if not _HEX.fullmatch(p)]
    length = sum(map(len, pieces))
    return length >= 18 and sum(map(_turns, pieces)) >= 0.6 * (length - len(pieces))


_QUOTED: Final = lazy_pattern(r"[^\"'`\n\\]+")
_BARE: Final = lazy_pattern(r"[^\s\"'`,;&|<>(){}\[\]\\]+")
_VALUE_HEAD: Final = 72
_HEAD: Final = lazy_pattern(r"[A-Za-z0-9_.-]*\Z")


def _letters() -> str:
    # not by a flag: what it takes for the same letter is more than `str.lower` does
    return "|".join(f"{word}|{word.capitalize()}" for word in _PASSWORD_LETTERS)


_IN_PROSE: Final = (
    r"(?<=\s)(?:(?:value|code|string) )?"
    r"(?:(?:of|for|to|in|on) (?:(?:the|our|my|this) )?[A-Za-z0-9_.-]{1,30} )?"
    r"(?:(?:is|are|was|has|been|should|must|will|be|now|set|changed|to) ){0,5}+\(?"
)
"""What a sentence puts between a secret's noun and its value: `the token of the shop is now …`."""


@cache
def _assignment() -> re.Pattern[str]:
    """A name that may mean a secret, with the sign after it; compiled on first need. Tried at
    `_keywords` only.
    """
    return _compile(
        r"(?:[Pp](?:[Aa][Ss][Ss]|[Ww][Dd])|[Ss][Ee][Cc][Rr][Ee][Tt]|[Tt][Oo][Kk][Ee][Nn]|[Cc][Rr][Ee][Dd]|[Aa][Uu][Tt][Hh]|"
        rf"[Kk][Ee][Yy]|[Bb]earer|(?ai:{'|'.join(_PASSWORD_WORDS)})|{_letters()})"
        r"(?P<rest>[A-Za-z0-9_.-]{0,40}+)(?:\\{0,3}[\"'`])?\]?"
        r"(?P<type>: ?[A-Za-z]{1,20}(?: \| None)?(?= ?=))?"
        r"(?P<sep>[ \t]{0,4}+(?:(?P<sign>:=|=>|==?|:(?!:)|：)[ \t]{0,4}+)?"
        rf"(?(sign)|(?:{_IN_PROSE})?)(?:is |was |ist |est |es |é |è |är |jest )?)"
        r"(?P<scheme>(?:[Bb]asic|[Bb]earer|[Dd]igest|[Tt]oken|[Aa]pi[Kk]ey|[Nn]egotiate)[ ]{1,4}+)?"
        r"(?P<open>[bBrRuUfF]{0,2}\\{0,3}[\"'`])?+(?=[^\s\"'`,;&|<>(){}\\])(?!\[redacted:)"
    )


_ASCII_WORDS: Final = _SECRET_WORDS + _PASSWORD_WORDS
_ALL_WORDS: Final = _SECRET_WORDS + _FOREIGN


def _keywords(text: str) -> list[int]:
    """Where one of `_SECRET_WORDS` is, in order: `str.find` costs a fifth of a search for the
    pattern of them all.
    """
    low = text.replace("İ", "i").lower()  # the one character whose small form is of another length
    positions = []
    for word in _ASCII_WORDS if text.isascii() else _ALL_WORDS:
        position = low.find(word)
        while position >= 0:
            positions.append(position)
            position = low.find(word, position + 1)
    return sorted(positions)


def _assigned_secrets(text: str) -> list[tuple[int, int]]:
    """Where values of names that mean a secret are, in order. What could be code (`token =
    self.token`) is none.
    """
    spans: list[tuple[int, int]] = []
    position = 0
    for place in _keywords(text):
        if place >= position:
            match = _assignment().match(text, place)
        else:
            match = None
        if match is None:
            continue
        # a sentence between a noun and its value may name another secret
        position = match.end("rest")
        name = _assigned_name(match)
        if not match["sep"] or not (_is_secret_name(name) or _is_bare_key(name)):
            continue
        quoted = match["open"] is not None
        pattern = _QUOTED if quoted else _BARE
        # the beginning of a value decides; all of it is read only where it is going to be hidden
        first = pattern.match(text, match.end(), match.end() + _VALUE_HEAD)
        if first and _is_assigned_secret(match, name, first[0], quoted):
            end = pattern.match(text, match.end())
            if end:
                position = end.end()
            spans.append((match.end(), position))
    return spans


def _hide_assignments(text: str) -> str:
    return replace_spans(text, _assigned_secrets(text), "[redacted:assignment]")


def _assigned_name(match: re.Match[str]) -> str:
    """The identifier around the keyword: what precedes it (at most 40 characters) belongs to the
    name.
    """
    start = match.start()
    head = _HEAD.search(match.string, max(0, start - 40), start)
    name = (head[0] if head else "") + match.string[start : match.end("rest")]
    # `the signing key is …`: a name that is written as words
    is_spaced = name.lower() == "key" and match["sep"]
    if is_spaced:
        before = _WORD_BEFORE.search(match.string, max(0, start - 20), start)
    else:
        before = None
    if before is None:
        return name
    word = before[1].lower()
    is_named = bool(match["sep"].strip()) or word in _PUBLIC_KEYS or word in _WITH_KEY
    if is_named:
        return f"{word} key"
    return name


_WORD_BEFORE: Final = lazy_pattern(r"(?<![A-Za-z])([A-Za-z]{3,15}) \Z")
_KEY_OF_256_BITS: Final = lazy_pattern(r"[0-9a-fA-F]{64}")


def _is_bare_key(name: str) -> bool:
    """`key`, alone or after a word that does not make it public: a value of 256 bits opens
    something.
    """
    before, _, key = name.lower().rpartition(" ")
    return key == "key" and before not in _PUBLIC_KEYS


def _is_assigned_secret(match: re.Match[str], name: str, value: str, quoted: bool) -> bool:
    if _is_placeholder(value):
        return False
    if not _is_secret_name(name):  # a key of something
        return _KEY_OF_256_BITS.fullmatch(value) is not None
    sign = match["sign"]
    # `API key bearer authentication` is prose
    if match["scheme"] and (sign or " " not in name):
        return len(value) >= 6
    if sign is None:
        return _is_secret_after_name(name, value, match["sep"])
    if value.strip("-+.,").isdigit() and len(value) < (4 if _is_password(name) else 12):
        return False
    if quoted:
        return not value.isspace() and (" " not in value.strip() or _is_password(name))
    if sign == "=" and match["sep"] == "=":
        return not (
            value.endswith(":") or ("." in value and _looks_like_code(value)) or value == name
        )
    if _is_random_word(value):
        return True
    if any(c.isdigit() for c in value) and (
        not _looks_like_code(value) or (_is_password(name) and value.replace("_", "").isalnum())
    ):
        return True
    # `password: swordfish` at the end of a line, as a settings file has it, unlike `:param
    # password: what it is for`
    after = match.string[match.end() + len(value) :][:1]
    return sign in (":", "：") and _is_password(name) and after in ("", "\r", "\n")


def _is_secret_after_name(name: str, value: str, sep: str) -> bool:
    """No sign between: `--password value`, `Bearer value`, `the password is value`."""
    if name.startswith("-"):
        return not value.startswith("-") and not (value.isupper() and value.isalpha())
    value = value.rstrip(".:!?*")
    is_bearer = name.lower() == "bearer"
    if (is_bearer or " " in name) and "=" in value.rstrip("="):
        return False  # an assignment, with a name of its own: a bearer token ends in `=` (RFC 6750)
    if is_bearer:
        return len(value) >= 16
    return (_is_random_word(value) and not _looks_like_code(value)) or _is_long_mixture(value)


def _is_long_mixture(value: str) -> bool:
    """At least twelve letters and digits, two digits or more among them; no ID in hexadecimal."""
    digits = sum(c.isdigit() for c in value)
    is_mixed = len(value) >= 12 and value.isalnum() and 2 <= digits < len(value)
    return is_mixed and _HEX.fullmatch(value) is None


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
    return _compile(rf"(?<![\w.-])(?:{names})(?:\.exe)?(?=[\s\"'])")


@cache
def _arguments(row: int, is_list: bool) -> re.Pattern[str]:
    """An option of a row of `_CREDENTIALS`, and the secret after it. An argument in a list has
    quotation marks and spaces as they are.
    """
    credential = _CREDENTIALS[row]
    # a name is not the secret: it is in receipts and logs anyway, and a reader wants to know whose
    name = ""
    if credential.after:
        # a mark that an earlier rule left has the sign in it
        user = rf"\[redacted:[a-z-]+\]|(?!\[redacted:)[^\s\"'{credential.after}]{{0,120}}+"
        name = f"(?:{user}){credential.after}"
    quoted = rf"(?P<quote>[\"']){name}(?P<quoted>[^\"'\n]+)"
    bare = rf"{name}(?P<bare>(?![\"'\\]|-)[^\s\"'|;&<>]+)"
    if is_list:
        quoted = r"(?P<quote>(?!))(?P<quoted>)"
        bare = rf"{name}(?P<bare>(?!-)[^{_GAP}]+)"
    return _compile(rf"(?<=\s)(?:{credential.options}){credential.gap}(?:{quoted}|{bare})")


# the look behind comes second: a search for one character is the fast one
_OPTION: Final = lazy_pattern(r"-(?<=\s-)(?:[a-zA-Z]{0,8}[uUpPaAw]|-user|-proxy-user|-auth|auth)")
"""An option of `_CREDENTIALS`. Nearly no text has one, and it is cheaper to find than a program."""
_LINE_END: Final = lazy_pattern(r"(?<!\\)\n")
_COMMAND_END: Final = lazy_pattern(r"[|;&]{1,2}(?=\s)")
"""Of a command that does not end with its line."""


def _hide_command_secrets(text: str) -> str:
    """Return the text with the arguments of programs that are passwords as
    `[redacted:command]`.
    """
    spans: list[tuple[int, int]] = []
    done = 0
    for option in _OPTION.finditer(text):
        if option.start() >= done:
            lines = [match.end() for match in _LINE_END.finditer(text, done, option.start())]
            start = max([done, option.start() - _MOST, *lines])
            ends = _LINE_END.search(text, option.end(), option.end() + _MOST)
            if ends:
                done = ends.start()
            else:
                done = min(len(text), option.end() + _MOST)
            spans += _secret_arguments(text, start, done)
    return replace_spans(text, spans, f"{MARK}command]")


def _secret_arguments(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    programs = list(_programs().finditer(text, start, end))
    # each up to the next one: a line of nothing but names costs its length, not the square of it
    for program, limit in zip(programs, [*(p.start() for p in programs[1:]), end], strict=False):
        row = next(n for n in range(len(_CREDENTIALS)) if program[f"p{n}"])
        stop = _COMMAND_END.search(text, program.end(), limit)
        arguments = _arguments(row, _GAP in text)
        for match in arguments.finditer(text, program.end(), stop.start() if stop else limit):
            group = "quoted" if match["quote"] else "bare"
            if not _is_common(match[group]) and not match[group].startswith(MARK):
                yield match.span(group)


def _hide_in_arguments(arguments: list[str]) -> list[str]:
    """The same for a command that is a list of its arguments."""
    text = _GAP.join(argument.replace(_GAP, safe_text(_GAP)) for argument in arguments)
    return _hide_command_secrets(text).split(_GAP)


# The issuer's first digits and the length decide (ISO/IEC 7812-1), then the check digit. Digits in
# groups are those of one card, never of two numbers side by side.
_CARD: Final = lazy_pattern(
    # the sign before it comes second: a search for a set of first characters is the fast one
    r"[2-6](?<![\w.+-].)[0-9]{3}(?:[0-9]{9,15}+|(?P<sign>[ -])"
    r"(?:[0-9]{4}(?P=sign)[0-9]{4}(?P=sign)[0-9]{1,4}|[0-9]{6}(?P=sign)[0-9]{5})"
    r")(?![\w-]|\.[0-9])"
)
_ISSUERS: Final = lazy_pattern(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}"
    r"|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|5\d\d|4[4-9]\d)\d{12}"
    r"|35(?:2[89]|[3-8]\d)\d{12}"
)


def _hide_cards(text: str) -> str:
    """Return the text with numbers of payment cards as `[redacted:card]`."""
    return _CARD.sub(lambda match: f"{MARK}card]" if _is_card(match[0]) else match[0], text)


def _is_card(number: str) -> bool:
    digits = number.replace(" ", "").replace("-", "")
    if _ISSUERS.fullmatch(digits) is None or len(set(digits)) < 2:
        return False
    doubled = [2 * int(digit) for digit in digits[-2::-2]]
    return (sum(map(int, digits[-1::-2])) + sum(n - 9 * (n > 9) for n in doubled)) % 10 == 0


_URL_USER: Final = lazy_pattern(r"://(?P<user>[A-Za-z0-9+/=_-]{16,256}+)(?=:?@|:\[redacted:url\]@)")


def _hide_url_users(text: str) -> str:
    """Return the text with a user of a URL that is a key (a DSN of Sentry, a token before
    `@github.com`) as `[redacted:url]`.
    """
    return _URL_USER.sub(
        lambda match: f"://{MARK}url]" if _is_key(match["user"]) else match[0], text
    )


def _hide_by_grammar(text: str) -> str:
    """Return the text without the secrets that their grammar reveals: what a program, RFC 3986 or
    ISO/IEC 7812 makes one, whatever the other words of the text are.
    """
    if "://" in text:
        text = _hide_url_users(text)
    return _hide_cards(_hide_command_secrets(text))


@cache
def _public() -> re.Pattern[str]:
    """What states that it is content, a certificate or a fingerprint: none of it opens anything."""
    return _compile(
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
    from binascii import a2b_base64  # a library of its own, which few texts need

    try:
        start = a2b_base64(word[:32])
    except ValueError:  # binascii.Error is one
        return False
    size = int.from_bytes(start[:4], "big")
    return 6 < size < 40 and start[4:].startswith(_KEY_TYPES)


_Redactor = Callable[[str], str]

_COLOR: Final = lazy_pattern(r"\x1b\[[0-9;:]{0,32}m")
_HARMLESS_ID: Final = lazy_pattern(
    r"(?:[a-z_/.,\[\]()-]*+(?:::|[0-9]{1,12}+(?![0-9A-Za-z]|-[0-9]{4})|(?<![a-z])[A-Z]{1,6}+(?![A-Z])|[A-Z](?![A-Z0-9])))*+[a-z_/.,\[\]()-]*+"
).fullmatch
"""A test ID that does not look like a token: small letters and the signs of a path, `:` in pairs,
digits that no letter follows, few capitals. A random word of sixteen characters is none of these
but by a rare accident.
"""
_OPTION_NAME: Final = lazy_pattern(r"--?([A-Za-z][A-Za-z0-9_-]{0,60})")
_COMMON_VALUES: Final = frozenset(
    (
        "password",
        "postgres",
        "postgresql",
        "changeme",
        "testtest",
        "testpass",
        "username",
        "disabled",
        "internal",
    )
)

_FOLDER: Final = "PWD"
"""A variable of every shell that names a folder, although it sounds like a password."""

_added: tuple[_Redactor, ...] = ()
_hidden: tuple[str, ...] = ()


def configure_redaction(
    functions: Iterable[tuple[str, _Redactor]] = (), environ: Mapping[str, str] | None = None
) -> None:
    """Set what is applied after our own rules (answers of the hookspec `kl_redact`; ours among them
    is skipped), and whose environment's secrets are looked for (default: this process's, as it is
    now).
    """
    global _added, _hidden
    _added = tuple(function for _, function in functions if function is not builtin_rules)
    _hidden = _secret_values(os.environ if environ is None else environ)


def _secret_values(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Values (eight characters or more, longest first) of variables whose names mean a secret."""
    named = {
        k: v for k, v in environ.items() if k != _FOLDER and len(v) >= 8 and _is_secret_name(k)
    }
    values = {v for v in named.values() if not _is_placeholder(v)}
    # longest first: replacing a value that is part of another would leave the rest of that one
    return tuple(
        sorted((v for v in values if v.lower() not in _COMMON_VALUES), key=lambda v: (-len(v), v))
    )


def may_hold_secret(text: str) -> bool:
    """A cheap look: False means that `redact(text)` is `text`. Made for test ids, of which nearly
    all are harmless.
    """
    # these tokens may consist of small letters alone, as the name of a test does
    if _added or not _HARMLESS_ID(text) or "glpat-" in text or "hf_" in text or "sk-" in text:
        return True
    for value in _hidden:  # noqa: SIM110 - a generator costs as much as all of the rest
        if value in text:
            return True
    return False


def redact(text: str, language: str = "") -> str:
    """`text` without the secrets that can be recognised, and without control characters (newline
    and tab stay).

    `language`: `python` for source or a part of it, of which only string literals and comments can
    hold a secret; empty for everything else, where `password=token` may be one.
    """
    if language == "python":
        return _redact_python(text)
    if not may_hold_secret(text):
        return text
    # until nothing changes, but not for ever: a plugin's function may change its own output each
    # time
    for _ in range(4):
        new = builtin_rules(text)
        for function in _added:
            new = function(new)
        if new == text:
            break
        text = new
    return text


def redact_or_omit(text: str, language: str = "") -> str:
    """The same, and a mark instead of the text where what redacts is not complete: for an answer
    that does not depend on the text, and is not stored.
    """
    try:
        return redact(text, language)
    except EnvironmentProblem:
        return "[redacted:unknown]"


def _redact_python(source: str) -> str:
    """Python source whose names and operators are as they were: `password=token` is code.

    What is before a literal decides whether it is a secret, so assignments are looked for in the
    whole source; what they find outside of a literal is none.
    """
    if redact(source) == source:  # nearly all source ends here
        return source
    from kl_hooks.model.source_literals import python_literals  # only source with secrets needs it

    # of a value of the environment it is known that it is one, whatever it looks like
    source = _hide_environment(safe_text(_COLOR.sub("", source)))
    literals = python_literals(source)
    secrets = iter(_assigned_secrets(source))
    secret = next(secrets, None)
    parts: list[str] = []
    copied = 0
    for start, end in literals:
        inside: list[tuple[int, int]] = []
        while secret and secret[0] < end:
            # one that begins before the literal is code: `replace_spans` omits it
            inside.append((secret[0] - start, min(secret[1], end) - start))
            secret = next(secrets, None)
        literal = replace_spans(source[start:end], inside, "[redacted:assignment]")
        parts += [source[copied:start], redact(literal)]
        copied = end
    return "".join([*parts, source[copied:]])


def shows_secret(text: str) -> bool:
    """Whether redaction removes more of a text than words that only look random, as names of tests
    may.
    """
    # counted: one that is redacted already must not hide the next one
    counts = Counter(_RULE.findall(redact(text)))
    counts.subtract(Counter(_RULE.findall(text)))
    return any(number > 0 for rule, number in counts.items() if rule != "random")


def builtin_rules(text: str) -> str:
    """Our own rules, once."""
    text = safe_text(_COLOR.sub("", text) if "\x1b" in text else text)
    text = _hide_key_blocks(_hide_environment(text))
    # the searches before the patterns: most texts have none of these, and `in` costs a fraction of
    # a pattern
    if "://" in text:
        text = _URL.sub(r"://\1:[redacted:url]@", text)
    if "ookie" in text or "OOKIE" in text:
        text = _COOKIE.sub(r"\1[redacted:cookie]", text)
    text = _hide_by_grammar(text)
    return _hide_words(_hide_assignments(text))


def _hide_environment(text: str) -> str:
    for value in _hidden:
        if value in text:
            text = text.replace(value, "[redacted:environment]")
    return text


def _is_key(word: str) -> bool:
    """Whether a word by itself opens something, such as the user of a URL."""
    return (
        _HEX.fullmatch(word) is not None
        or _looks_random(word)
        or (_may_hold_token(word) and _known_tokens().search(word) is not None)
    )


def _is_common(value: str) -> bool:
    """Whether a value is a placeholder, or what documentation writes for one."""
    return _is_placeholder(value) or value.lower() in _COMMON_VALUES


def redact_value(value: Any) -> Any:
    """The same plain value with every string redacted, keys of dicts too.

    Under a key that means a secret (`"password"`), a string is hidden whole; so is the argument
    after `--password`.
    """
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(key): _redact_under(key, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return _redact_list(value)
    return value


def _redact_under(key: str, item: Any) -> Any:
    if not _is_secret_name(key):
        return redact_value(item)
    if isinstance(item, str):
        if _is_placeholder(item):
            return item
        return "[redacted:key]"
    if isinstance(item, list | tuple):
        return [_redact_under(key, part) for part in item]
    return redact_value(item)


def _redact_list(items: list[Any] | tuple[Any, ...]) -> list[Any]:
    if items and all(isinstance(item, str) for item in items):
        items = _hide_in_arguments(list(items))
    redacted: list[Any] = []
    after_secret_option = False
    for item in items:
        hide = (
            after_secret_option
            and isinstance(item, str)
            and not item.startswith(("-", "[redacted:"))
        )
        redacted.append("[redacted:option]" if hide else redact_value(item))
        if isinstance(item, str):
            option = _OPTION_NAME.fullmatch(item)
        else:
            option = None
        after_secret_option = option is not None and _is_secret_name(option[1])
    return redacted


configure_redaction()
