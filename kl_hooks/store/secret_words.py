"""Secrets that show by their own look: tokens with a known beginning, JSON web tokens, random words.

One pass over the words of a text; within a word every step is linear.
"""

from __future__ import annotations

import re
from typing import Final

from kl_hooks.store.secret_names import turns

_WORD: Final = re.compile(r"[A-Za-z0-9_+/=.~-]{16,}+")
_PART: Final = re.compile(r"[A-Za-z0-9_+/-]{16,}+={0,2}")
_PIECE: Final = re.compile(r"[A-Za-z0-9]{4,}")
_HEX: Final = re.compile(r"(?:0x)?(?:[0-9a-f]+|[0-9A-F]+)")
_INTEGRITY: Final = re.compile(r"(?:sha(?:1|224|256|384|512)|md5|blake2[bs]|h1)[-:=]", re.ASCII)
_B64: Final = "[A-Za-z0-9_-]"
_PREFIXES: Final = (
    ("aws", r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("github", r"gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255}"),
    ("gitlab", rf"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas)-{_B64}{{20,300}}(?:\.{_B64}{{1,40}}){{0,3}}"),
    ("slack", r"xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-[A-Za-z0-9-]{10,250}|xoxe\.xox[bp]-[A-Za-z0-9-]{10,250}"),
    ("stripe", r"(?:sk|rk|pk)_(?:live|test|prod)_[A-Za-z0-9]{10,250}|whsec_[A-Za-z0-9+/=]{20,100}"),
    ("openai", rf"sk-(?:proj|ant|svcacct|admin|or|lf)-{_B64}{{16,300}}|sk-[A-Za-z0-9]{{20,100}}"),
    ("google", rf"AIza{_B64}{{30,60}}|ya29\.{_B64}{{20,500}}|GOCSPX-{_B64}{{20,60}}|1//0{_B64}{{30,120}}"),
    ("npm", r"npm_[A-Za-z0-9]{30,60}"),
    ("pypi", rf"pypi-{_B64}{{32,1000}}"),
    ("digitalocean", r"do[opr]_v1_[a-f0-9]{40,80}"),
    ("huggingface", r"(?:hf_[A-Za-z]{30,60}|hf_[A-Za-z0-9]{30,60}|api_org_[A-Za-z]{30,60})"),
    ("sendgrid", rf"SG\.{_B64}{{16,32}}\.{_B64}{{32,64}}"),
    ("shopify", r"shp(?:at|ca|pa|ss|ua)_[A-Fa-f0-9]{32,64}"),
    ("mail", rf"key-[0-9a-f]{{32}}|[0-9a-f]{{32}}-us[0-9]{{1,2}}(?![0-9])|xkeysib-{_B64}{{60,120}}"),
    ("vault", rf"hv[bs]\.{_B64}{{24,300}}"),
    ("hashicorp", rf"[A-Za-z0-9]{{14}}\.atlasv1\.{_B64}{{40,100}}"),
    ("databricks", r"dapi[0-9a-f]{32}(?:-[0-9])?"),
    ("grafana", r"gls?a_[A-Za-z0-9_]{32,60}|glc_[A-Za-z0-9+/]{32,400}={0,2}"),
    ("linear", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,80}"),
    ("notion", r"(?:secret|ntn)_[A-Za-z0-9]{40,60}"),
    ("misc", r"EAACEdEose0cBA[A-Za-z0-9]{10,300}|PMAK-[A-Za-z0-9-]{50,70}|" rf"dckr_pat_{_B64}{{20,60}}|"
             rf"sntrys_[A-Za-z0-9+/=_]{{30,300}}|figd_{_B64}{{30,60}}|NRAK-[A-Z0-9]{{27}}|rubygems_[a-f0-9]{{48}}|"
             rf"tskey-[a-z]{{2,12}}-[A-Za-z0-9-]{{16,100}}|CCIPAT_[A-Za-z0-9_]{{20,100}}|sl\.{_B64}{{60,300}}|"
             rf"AGE-SECRET-KEY-1[A-Z0-9]{{58}}|gsk_[A-Za-z0-9]{{40,60}}|pplx-[A-Za-z0-9]{{40,60}}|r8_[A-Za-z0-9]{{30,50}}|"
             rf"xai-[A-Za-z0-9]{{60,100}}|sbp_[a-f0-9]{{40}}|pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{{30,70}}|"
             rf"SK[a-f0-9]{{32}}(?![A-Za-z0-9])|EAAA{_B64}{{60}}|sq0[a-z]{{3}}-{_B64}{{22,50}}"),
)  # fmt: skip
_KNOWN: Final = re.compile(
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?:" + "|".join(f"(?P<{name}>{pattern})" for name, pattern in _PREFIXES) + ")"
)
"""Where a word begins (also after a written `\\n`): `task-…` holds no `sk-…`."""


def hide_words(text: str) -> str:
    """`text` with each word or part of a word that is a secret by itself as `[redacted:<rule>]`."""
    return _WORD.sub(_word, text)


def _word(match: re.Match[str]) -> str:
    word = match[0]
    word = _KNOWN.sub(lambda m: f"[redacted:{m.lastgroup}]", word)
    if "eyJ" in word:
        word = _hide_jwt(word)
    return _PART.sub(_part, word) if turns(word) > 9 else word


def _hide_jwt(word: str) -> str:
    """Replaces `eyJ….….…` (three parts or more); the parts of one token are all that hangs together by dots."""
    start = word.find("eyJ")
    token = word[start:]
    if token.count(".") < 1 or len(token) < 20:
        return word
    return word[:start] + "[redacted:jwt]"


def _part(match: re.Match[str]) -> str:
    return "[redacted:random]" if random_looking(match[0]) and not _allowed(match) else match[0]


def _allowed(match: re.Match[str]) -> bool:
    """An integrity hash (`sha512-…`, `sha256=…`): says what a file is, opens nothing."""
    before = match.string[max(0, match.start() - 10) : match.start()]
    return bool(_INTEGRITY.match(match[0]) or re.search(_INTEGRITY.pattern + r"\Z", before))


def random_looking(part: str) -> bool:
    """Its longer alphanumeric pieces turn (see `turns`) more often than names do. Pure hexadecimal never counts.

    The figures come from 40,000 words of the standard library (0.7 % taken for random, nearly all of them base64) and
    from random words of 20 to 64 characters (over 97 % found from 24 characters on).
    """
    pieces = [p for p in _PIECE.findall(part) if not _HEX.fullmatch(p)]
    length = sum(map(len, pieces))
    return length >= 18 and sum(map(turns, pieces)) >= 0.6 * (length - len(pieces))
