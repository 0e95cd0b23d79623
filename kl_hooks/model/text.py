"""Untrusted text made safe for a terminal, a log, a page, a file name or a reader."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from kl_hooks.model.definitions import lazy_pattern

# Bidirectional characters change the order in which a person reads (CVE-2021-42574), invisible ones
# hide text.
# An emoji may be followed by one variation selector and joined to the next emoji (Unicode TR51,
# ED-9a and ED-16): there they are part of what a person sees. A second selector shows nothing, and
# hides a byte.
_EMOJI: Final = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
"""What is, or may become, an emoji: the inside of a character class."""
EMOJI_JOIN: Final = rf"(?:(?<=[{_EMOJI}])|(?<=[{_EMOJI}]\ufe0f))\u200d(?=[{_EMOJI}])"
_UNSAFE: Final = lazy_pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0d\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
    rf"|(?<![{_EMOJI}0-9#*])[\ufe0e\ufe0f]"
    rf"|(?!{EMOJI_JOIN})\u200d"
)

CHARACTERS_OF_A_TOKEN: Final = 4
"""About: English and code are near it with every common tokenizer, and no library is needed."""


class OwnText(str):
    """Words of kl, or of what describes a kind: they quote no record, so no policy hides any of
    them.
    """


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\U{code:08x}"


def safe_text(text: str) -> str:
    """`text` with control, bidirectional, invisible and undecodable characters as visible escapes.

    Newline and tab stay. What it returns moves no cursor, sets no title and hides nothing; it is
    stable (`safe_text(safe_text(x)) == safe_text(x)`).
    """
    # nearly all texts end here, without the search, whose compilation takes 1 ms
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return _UNSAFE.sub(_escape, text)


def visible_line_ends(text: str) -> str:
    """The text with each newline as a visible escape: one in the name of a file begins no line."""
    return text.replace("\n", r"\x0a")


def brief(text: str, limit: int = 1000) -> str:
    """The safe text, no line of it longer than `limit` characters, `…` where one was cut."""
    lines = safe_text(text).split("\n")
    return "\n".join(line if len(line) <= limit else line[: limit - 1] + "…" for line in lines)


def one_line(text: str, limit: int = 200) -> str:
    """The safe text on one line, at most `limit` characters, `…` where it was cut."""
    line = " ".join(safe_text(text).split())
    if len(line) <= limit:
        return line
    return line[: limit - 1] + "…"


def name_list(names: Sequence[str], most: int, total: int | None = None) -> str:
    """Return the first names, and how many more there are (of `total`, else of these): `a, b and 3
    more`.
    """
    remaining = (len(names) if total is None else total) - len(names[:most])
    return ", ".join(names[:most]) + (f" and {remaining} more" if remaining > 0 else "")


def counted(number: int, noun: str) -> str:
    """`1 layer`, `2 layers`; `2 memories`, `2 days`, `2 classes`."""
    ies = noun[-1:] == "y" and noun[-2:-1] not in "aeiou"
    if ies:
        many = f"{noun[:-1]}ies"
    elif noun.endswith("ss"):
        many = f"{noun}es"
    else:
        many = f"{noun}s"
    return f"{number} {noun if number == 1 else many}"


_OTHER: Final = lazy_pattern(r"[^a-z0-9\s-]")
_GAPS: Final = lazy_pattern(r"[\s-]+")


def slug(text: str, most: int | None = 60) -> str:
    """`Two scanners, one contract` → `two-scanners-one-contract`; at most `most` characters, cut
    between words.

    Lower case; what is no ASCII letter, digit, space or `-` is dropped. Empty where nothing is
    left.
    """
    shortened = _GAPS.sub("-", _OTHER.sub("", text.lower())).strip("-")
    if most is None or len(shortened) <= most:
        return shortened
    return shortened[: most + 1].rpartition("-")[0].strip("-") or shortened[:most].strip("-")


_TAG: Final = lazy_pattern(r"(?m)<(?![ =]|(?:locals|lambda|module|genexpr)>|$)")
"""A `<` that could open a tag. `<locals>` and its like stay: they are parts of Python names."""
_DELIMITERS: Final = (
    r"antml:\w+|system(?:[-_]\w+)?|assistant|human|user|developer|instructions?|invoke|parameter"
    r"|functions?|function_(?:calls?|results?)|tools?|tool_\w+|im_start|im_end|knowledge|thinking"
)
_DELIMITER: Final = lazy_pattern(rf"(?i)<(?=/?(?:{_DELIMITERS})[\s/>]|\||<SYS>>)")
"""A `<` of what agents delimit turns and tools with."""
_ENCLOSURE: Final = lazy_pattern(rf"(?i)<(?=/\w|[!?|]|(?:{_DELIMITERS})[\s/>]|<SYS>>)")
"""The same, and of every closing tag: whoever puts an answer into a conversation may enclose it in
one of any name.
"""
_SIGNATURE: Final = lazy_pattern(
    rf"<(?=/\w|[!?|]|<SYS>>)|(?<!\w)<(?=(?i:{_DELIMITERS})[\s/>])|<(?=(?:{_DELIMITERS})[\s/>])"
)
"""The same for code outside of quoted lines, where `Option<User>` is the name of a type."""
_FENCE: Final = lazy_pattern(r"`{3,}|~{3,}")


def defuse(text: str) -> str:
    """The text without control, hidden and bidirectional characters, tags or fences; its lines
    stay.
    """
    return _unfenced(_TAG.sub(r"\\x3c", safe_text(text)))


def defuse_signature(signature: str) -> str:
    """A signature as its file has it (`Option<u64>`), but for control, hidden and bidirectional
    characters, fences, and what opens a turn or closes a tag, since it may be outside of quoted
    lines.
    """
    return _unfenced(_SIGNATURE.sub(r"\\x3c", safe_text(signature)))


def _unfenced(text: str) -> str:
    return _FENCE.sub(lambda fence: f"\\x{ord(fence[0][0]):02x}" * len(fence[0]), text)


def _defuse_code(source: str) -> str:
    """Source as its file has it, but for control, hidden and bidirectional characters and what
    delimits a conversation.

    An agent puts it into an edit: `if a <b:` must stay. No page shows it as HTML, and no fence
    begins in the middle of a quoted line.
    """
    return _DELIMITER.sub(r"\\x3c", safe_text(source))


def inert_json(text: str) -> str:
    """JSON of the same value, in which no tag is closed, and no turn or fence begins, of the
    conversation that it is put into. Other tags stay: code with `a <b` reads as it is.
    """
    unopened = _ENCLOSURE.sub(r"\\u003c", text)
    return _FENCE.sub(lambda fence: f"\\u{ord(fence[0][0]):04x}" * len(fence[0]), unopened)


_ROLE_MARKUP: Final = lazy_pattern(
    r"(?i)<(?=/?(?:antml:)?(?:system(?:[-_]\w+)?|assistant|human|user|developer|tool_(?:calls?|use|results?)"
    r"|function_(?:calls?|results?)|invoke|im_(?:start|end))(?=[\s/>])[^>\n]{0,80}>)"
    r"|<(?=\|[\w-]{2,30}\|>)|<(?=</?SYS>>)|\[(?=/?(?:INST|SYS(?:TEM)?|TOOL_CALLS?)\])"
)
_LOOKALIKES: Final = {"<": "\u2039", "[": "\uff3b"}


def without_role_markup(value: Any) -> Any:
    """Return a text, or a plain value, in which no text opens a turn, a tool call or its result in
    the conversation that it is put into.

    One character of such a tag is replaced by one that looks like it, so positions stay; other
    markup and code stay as they are.
    """
    if isinstance(value, str):
        return _ROLE_MARKUP.sub(lambda tag: _LOOKALIKES[tag[0]], value)
    if isinstance(value, Mapping):
        return {key: without_role_markup(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [without_role_markup(entry) for entry in value]
    return value


def quoted_field(text: str, limit: int = 300) -> str:
    """One defused line for a place among our own words, such as an id or a path; no backtick in
    it.
    """
    return defuse(one_line(text, limit)).replace("`", "\\x60")


def quoted_lines(text: str, prefix: str, *, is_code: bool = False) -> str:
    """The defused lines, each after `prefix`, without blank ones at both ends. `is_code`: of
    source only what delimits a conversation is defused, so that an edit can have it.
    """
    safe = _defuse_code(text) if is_code else defuse(text)
    lines = [line.rstrip() for line in safe.strip("\n").split("\n")]
    return "\n".join((prefix + line).rstrip() for line in lines)


def replace_spans(text: str, spans: list[tuple[int, int]], mark: str) -> str:
    """Return the text with each of the spans, which are in order, replaced by a mark; one that
    begins before the text, or in another one, is omitted.
    """
    parts: list[str] = []
    copied = 0
    for start, end in spans:
        if start >= copied:
            parts += [text[copied:start], mark]
            copied = end
    if not parts:
        return text
    return "".join([*parts, text[copied:]])


def suggest_spelling(word: str, words: Collection[str]) -> str:
    """`Did you mean "…"?` with the known word most like `word`; empty where none is like it."""
    from difflib import get_close_matches  # a millisecond that only a wrong word costs

    # difflib takes the square of the length in the worst case, and the word comes from a file
    close = get_close_matches(word[:80], sorted(words), n=1, cutoff=0.6)
    if not close:
        return ""
    return f'Did you mean "{close[0]}"?'
