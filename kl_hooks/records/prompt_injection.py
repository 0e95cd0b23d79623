"""Prompt injection: reasons to quarantine a directive of untrusted origin until a person has read
it. Pure.

For text of untrusted origin only (agents, transcripts, what tools print). It inspects the text
before anything is escaped. A net, not a promise: wordings that nobody thought of pass, and a person
reads them in the review.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from typing import Final


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in patterns), re.IGNORECASE | re.MULTILINE)


_EARLIER: Final = (
    r"(?:previous|prior|above|earlier|preceding|former|foregoing|other|existing|system|original|initial|safety"
    r"|developer)"
)
_DIRECTIVES: Final = (
    r"(?:instructions?|prompts?|rules?|directions?|guidelines?|messages?|directives?|policies"
    r"|policy|constraints?)"
)
_MODEL: Final = (
    r"(?:ai|llm|language model|assistant|chatbot|coding agent|ai"
    r" agent|claude|copilot|codex|chatgpt|gpt-?\d*|gemini"
    r"|cursor)"
)
_SECRET: Final = (
    r"(?:secrets?|api[ _-]?keys?|access keys?|tokens?|passwords?|credentials?|private keys?|ssh"
    r" keys?|\.env\b|id_rsa"
    r"|~/\.ssh|~/\.aws|environment variables|cookies?)"
)
_DESTINATION: Final = (
    r"(?:https?://|www\.|ftp://|\b[\w.+-]{1,64}@[\w-]{1,64}\.\w|webhooks?|pastebin|\bgist\b|ngrok|requestbin"
    r"|remote server|external (?:server|service|url))"
)
_FETCH: Final = r"(?:curl|wget|iwr|invoke-webrequest|nc|ncat|telnet)"

PHRASES: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    (
        "it instructs the reader to set other instructions aside",
        _any_of(
            rf"\b(?:ignore|disregard|forget|override|bypass|discard|drop|overlook|do not"
            rf" (?:follow|obey)|don't"
            rf" (?:follow|obey))\b[\w\s,'’]{{0,40}}?\b{_EARLIER}\b[\w\s,'’]{{0,30}}?\b{_DIRECTIVES}\b",
            r"\b(?:ignore|disregard|forget) (?:all |everything |anything )?(?:of )?(?:what |that"
            r" )?(?:you (?:have"
            r" |were |are )|(?:said |written |stated )?(?:above|before this))",
            rf"\bforget (?:all|any|your) {_DIRECTIVES}",
            r"\bignorier\w* (?:alle |die |sämtliche )?(?:vorherigen|bisherigen|obigen|vorigen)"
            r" (?:anweisungen"
            r"|regeln|befehle)",
            r"\bignora (?:todas )?(?:las |tus )?(?:instrucciones|reglas) (?:anteriores|previas)",
            r"\bignore[zr]? (?:toutes )?(?:les |tes |vos )?(?:instructions|consignes|règles)"
            r" (?:précédentes"
            r"|antérieures)",
            r"忽略(?:之前|以上|先前|所有|前面)[^\n]{0,8}(?:指令|指示|规则|提示)",
            r"(?:以前|前|上記)の(?:指示|命令)を無視",
        ),
    ),
    (
        "it gives the reader a new part to play",
        _any_of(
            r"\byou are (?:now|no longer|actually) (?:an? |the |my |in |bound |called |running )",
            r"\bfrom now on,? (?:you|your|always|act|respond|reply)\b",
            r"\bpretend (?:to be|you are|that you)\b",
            r"\b(?:your|the) (?:new|real|true|actual|updated)"
            r" (?:instructions?|task|goal|objective|mission|system"
            r" prompt)\b[^\n]{0,10}(?::|\bis\b|\bare\b)",
            r"\b(?:developer|god|jailbreak|dan|unrestricted)"
            r" mode\b[^\n]{0,12}\b(?:enabled|on|activated)\b",
            rf"\b(?:if you are|as) an? {_MODEL}\b[^\n]{{0,60}}\b(?:must|should|shall|have to|need"
            r" to|will|always"
            rf"|never|do)\b",
            rf"\b(?:any|all|every|each) {_MODEL}s?(?: agents?| assistants?|"
            r" models?)?\b[^\n]{0,40}\b(?:must"
            rf"|should|shall|have to|need to)\b",
            rf"\b(?:note|message|attention|instructions?|important)\b[ ,:]{{1,3}}(?:to|for)?"
            rf" ?(?:the |all |any"
            rf" )?{_MODEL}s?(?: agents?| assistants?| models?)?\b[^\n]{{0,20}}:",
        ),
    ),
    (
        "it asks to keep something from the user",
        _any_of(
            r"\b(?:do not|don't|never|without)"
            r" (?:tell|telling|inform|informing|mention|mentioning|reveal"
            r"|revealing|show|showing|alert|alerting|notify|notifying|ask|asking"
            r"|disclos\w+)\b[^\n.]{0,40}\b(?:the"
            r" )?(?:user|human|developer|operator|reviewer|maintainer|owner)s?\b",
            r"\b(?:hide|conceal|keep) (?:this|it|that)\b[^\n.]{0,20}\bfrom (?:the"
            r" )?(?:user|human|developer"
            r"|operator|reviewer|maintainer)s?\b",
            r"\b(?:reveal|print|repeat|output|show|leak) (?:me )?(?:your|the) (?:full |entire"
            r" |hidden )?(?:system"
            r"|initial|developer) (?:prompt|message|instructions?)\b",
        ),
    ),
    (
        "it has the markup of a tool call or of a conversation",
        _any_of(
            r"</?(?:tool_call|tool_use|tool_result|function_calls?|function_results?|invoke|antml:\w+|system"
            r"|system-reminder|assistant|human|user|instructions?|im_start|im_end)\b[^>\n]{0,80}>",
            r"<\|[a-z_]{2,30}\|>",
            r"\[/?(?:INST|SYS|SYSTEM|TOOL_CALLS?)\]",
            r"<</?SYS>>",
            r"^\s{0,8}(?:#{1,6} *)?(?:system|assistant|human|user)(?: prompt| message)? ?:\s",
            r"\"(?:tool_calls?|function_call|tool_use)\"\s{0,4}:",
            r"\bBEGIN (?:SYSTEM|NEW) (?:PROMPT|INSTRUCTIONS?|MESSAGE)\b",
        ),
    ),
    (
        "it instructs the reader to run what comes from the network",
        _any_of(
            rf"\b{_FETCH}\b[^\n|]{{0,200}}\|\s{{0,4}}(?:sudo\s{{1,4}})?(?:ba|z|k|da)?sh\b",
            rf"\b{_FETCH}\b[^\n|]{{0,200}}\|\s{{0,4}}(?:sudo\s{{1,4}})?(?:python3?|perl|ruby|node)\b",
            rf"\b(?:eval|source|(?:ba|z)?sh)\b[^\n]{{0,20}}[$<]\(\s?{_FETCH}\b",
            r"\bbase64 (?:-d|-D|--decode)\b[^\n]{0,80}\|\s{0,4}(?:ba|z)?sh\b",
            rf"\b(?:always|you must|you should|you have to|you need to|you shall|make sure to|be"
            rf" sure to|never"
            r" forget to|remember"
            rf" to)\b[^\n.]{{0,60}}\b{_FETCH}\b(?![^\n]{{0,80}}(?:localhost|127\.0\.0\.1|::1"
            rf"|0\.0\.0\.0))",
        ),
    ),
    (
        "it asks to send something away that is secret",
        _any_of(
            rf"\b(?:send|post|upload|e-?mail|exfiltrate|leak|forward|transmit|copy|paste|share|submit|append"
            rf"|include|put|report)\b[^\n]{{0,80}}{_SECRET}[^\n]{{0,80}}{_DESTINATION}",
            rf"{_DESTINATION}[^\n]{{0,60}}\?[^\n]{{0,40}}=[^\n]{{0,10}}(?:\$\{{?[A-Z_]{{3,}}|\{{\{{)",
            r"!\[[^\]\n]{0,80}\]\(https?://[^)\n]{0,200}\?[^)\n]{0,200}\)",
            rf"\bcat\b[^\n|]{{0,60}}{_SECRET}[^\n|]{{0,60}}\|\s{{0,4}}{_FETCH}\b",
            rf"\b{_FETCH}\b[^\n]{{0,160}}(?:-d|--data\S*|-F|-T|--upload-file)["
            r" =]?['\"]?[^\n]{0,30}(?:@|\$\("
            rf"|{_SECRET})",
        ),
    ),
    (
        "it instructs the reader to bypass what protects the work",
        _any_of(
            r"\b(?:always|you must|you should|you have to|must always|make sure to|be sure"
            r" to)\b[^\n.]{0,60}(?:--no-verify|--dangerously-skip-permissions|--force\b|--no-gpg-sign|git"
            r" push"
            r" -f\b|rm -rf [/~]|chmod 777|verify=False|--insecure\b)",
            r"\b(?:always |automatically |silently |you must |you should |please"
            r" )(?:approve|accept|merge|grant"
            r"|allow)\b[^\n.]{0,30}\b(?:this|all|every|any|each|these)\b[^\n.]{0,30}\b(?:memor\w+|candidates?"
            r"|changes?|pull requests?|requests?|permissions?|tool calls?|commands?)\b",
            r"(?<!we )\b(?:disable|turn off|switch off|bypass|circumvent) (?:all |the |any |your"
            r" )?(?:safety|security"
            r"|sandbox\w*|guard ?rails?|permission checks?|content"
            r" filters?)\b(?![^\n.]{0,20}\b(?:test|in"
            r" tests)\b)",
            r"\brm -rf (?:/|~|\$HOME)(?:\s|$|\*)",
        ),
    ),
)
"""Reason → pattern."""

LONGEST: Final = 20_000
"""Characters that are inspected; a longer text is quarantined for its length."""
_COLOUR: Final = re.compile(r"\x1b\[[0-9;:]{0,32}m")
# Control, bidirectional, zero width and tag characters: a person who reads the text does not see
# what they hide.
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
# The zero width joiner is legitimate between emoji.
_EMOJI_JOIN: Final = re.compile(
    "(?<=[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff])\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff])"
)
_QUOTED: Final = re.compile(r"`[^`\n]{1,200}`")
# Base64 in either alphabet; hashes of Subresource Integrity (`sha256-…`) look the same and are
# none.
_BLOB: Final = re.compile(
    r"(?<![A-Za-z0-9+/=_-])(?<!sha256-)(?<!sha384-)(?<!sha512-)[A-Za-z0-9+/_-]{40,}={0,2}"
)
_HEX: Final = re.compile(r"(?:[0-9A-Fa-f]{2}){24,}")
# A Latin and a Cyrillic letter in one word: a word that looks like another one.
_MIXED: Final = re.compile(r"(?:[a-z][а-яё]|[а-яё][a-z])", re.IGNORECASE)
_LONG_BLOB: Final = 400


def injection_reasons(text: str) -> tuple[str, ...]:
    """Return why a text should be quarantined, one reason each; empty: it need not be."""
    found = [f"it is longer than {LONGEST} characters"] if len(text) > LONGEST else []
    text = _COLOUR.sub("", text[:LONGEST].replace("\r\n", "\n"))
    bare = _EMOJI_JOIN.sub("", text)
    if _INVISIBLE.search(bare):
        found.append("it has characters that nobody can see")
    # one spelling of full-width and mathematical letters, of accents typed apart, and of spaces
    plain = re.sub(r"[ \t\u00a0]+", " ", unicodedata.normalize("NFKC", _INVISIBLE.sub("", bare)))
    if _MIXED.search(plain):
        found.append("it mixes letters of two scripts in a word")
    if "<!--" in _QUOTED.sub("", plain):
        found.append("it has an HTML comment, which is not shown where Markdown is rendered")
    if any(map(_is_encoded_text, _BLOB.findall(text))):
        found.append("it has a block of encoded text")
    found += [reason for reason, pattern in PHRASES if pattern.search(plain)]
    return tuple(dict.fromkeys(found))


def _is_encoded_text(word: str) -> bool:
    if _HEX.fullmatch(word):
        return _readable(bytes.fromhex(word))
    standard = word.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        # validate: else characters outside the alphabet are skipped, and any text decodes to
        # something
        data = base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError):
        data = b""  # a path, or a name in words
    return _readable(data) or len(word) >= _LONG_BLOB


def _readable(data: bytes) -> bool:
    """Return True for a sentence: printable, with spaces."""
    printable = sum(32 <= byte < 127 or byte in (9, 10) for byte in data)
    return len(data) >= 24 and printable * 20 >= len(data) * 19 and data.count(b" ") >= 2
