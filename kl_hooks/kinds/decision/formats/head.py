"""The head of a decision in any format: number and title, date, status, people, and the decisions it replaces."""

from __future__ import annotations

import re
from typing import Final

from kl_hooks.clock import micros
from kl_hooks.kinds.catalog import DECISION
from kl_hooks.kinds.decision.formats.entry import Draft
from kl_hooks.kinds.decision.formats.sections import split_sections

_NUMBERED: Final = re.compile(
    r"(?i:adr)[-_ ]?(\d{1,9})(?:\s*[:.\u2013\u2014-]+\s*|\s+)(\S.*)|(\d{1,9})[.:]\s+(\S.*)"
    r"|(0\d{1,8})\s+[\u2013\u2014-]\s+(\S.*)"
)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY_FIRST: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?[ .-]+([A-Za-z]{3})[a-z]*\.?,?[ .-]+(\d{4})")
_MONTH_FIRST: Final = re.compile(r"([A-Za-z]{3})[a-z]*\.?[ ]+(\d{1,2})(?:st|nd|rd|th)?,?[ ]+(\d{4})")
_DIGITS: Final = re.compile(r"(\d{4})[/.-](\d{1,2})[/.-](\d{1,2})")
_LINK: Final = re.compile(r"\[([^\[\]]*)\]\(<?([^()<>\s]+)>?[^()]*\)")
_RELATION: Final = re.compile(
    r"(?i)\W*(supersedes|superseded by|superceded by|supercedes|replaces|replaced by|deprecates|amends|amended by"
    r"|clarifies|clarified by|refines|refined by|relates to|related to|related|see also)\b[:*_]*\s*(.*)"
)
_FIELD: Final = {
    "supersedes": "supersedes", "supercedes": "supersedes", "replaces": "supersedes",
    "superseded by": "superseded_by", "superceded by": "superseded_by", "replaced by": "superseded_by",
    "amends": "amends", "amended by": "amended_by",
}  # fmt: skip
_PLAIN_NAME: Final = re.compile(r"(?i)[\w./-]+\.md\b|\d{8}-[\w-]+|(?:adr[-_ ]?)?\d{1,9}(?![\w-])")


def numbered(title: str) -> tuple[str, str]:
    """`7. Use X`, `ADR-0007: Use X`, `0007 - Use X` → (`7`, `Use X`); the number is empty where there is none."""
    found = _NUMBERED.fullmatch(title.strip())
    if not found:
        return "", title.strip()
    number, words = next(pair for pair in (found.group(1, 2), found.group(3, 4), found.group(5, 6)) if pair[0])
    return number.lstrip("0") or "0", words.strip()


def iso_date(text: str) -> str:
    """A date as ISO 8601 where it can be read as one (`12 Feb 2016`, `2016/02/12`, a moment); else empty."""
    spoken = text.strip().strip("*_` ")
    parts: tuple[str, str, str] | None
    if found := _DIGITS.fullmatch(spoken):
        parts = found[1], found[2], found[3]
    elif (found := _DAY_FIRST.fullmatch(spoken)) and found[2].lower() in _MONTHS:
        parts = found[3], str(_MONTHS.index(found[2].lower()) + 1), found[1]
    elif (found := _MONTH_FIRST.fullmatch(spoken)) and found[1].lower() in _MONTHS:
        parts = found[3], str(_MONTHS.index(found[1].lower()) + 1), found[2]
    else:
        parts = None
    written = f"{parts[0]}-{int(parts[1]):02}-{int(parts[2]):02}" if parts else spoken
    try:
        micros(written)
    except (ValueError, OverflowError):
        return ""
    return written if re.match(r"\d{4}-\d\d-\d\d", written) else ""


def relation(line: str) -> tuple[str, tuple[str, ...]] | None:
    """The field and the decisions of a line such as `Superseded by [2. Use Y](0002-use-y.md)`.

    None for a line that is anything else, or says more than that.
    """
    found = _RELATION.fullmatch(line.strip())
    if not found:
        return None
    names, rest = _references(found[2])
    if not names or re.search(r"\w", rest.replace("and", "")):
        return None
    return _FIELD.get(found[1].lower(), "related_adrs"), names


def _references(text: str) -> tuple[tuple[str, ...], str]:
    """The decisions that a text names, by link (the file it leads to) or as `ADR-0007`; and what else it says."""
    names = []

    def taken(match: re.Match[str]) -> str:
        names.append(match[2].partition("#")[0].rpartition("/")[2] or match[1])
        return ""

    rest = _LINK.sub(taken, text)

    def plain(match: re.Match[str]) -> str:
        names.append(match[0])
        return ""

    return tuple(dict.fromkeys([*names, *_found(rest)])), _PLAIN_NAME.sub("", rest)


def _found(text: str) -> list[str]:
    return [match[0] for match in _PLAIN_NAME.finditer(text)]


def _status_words(text: str) -> tuple[str, tuple[str, ...], str]:
    """The word of a status, the decisions that took its place, and what else the text says.

    `superseded by [ADR-0005](0005-x.md)` → (`superseded`, (`0005-x.md`,), ``).
    """
    line = text.strip().strip("*_` ")
    if found := relation(line):
        field, names = found
        if field == "superseded_by":
            return "superseded", names, ""
    match = re.match(r"[A-Za-z]+(?:[ -][Rr]eview)?", line)
    word = match[0] if match else ""
    rest = line[len(word) :].strip(" .,:;")
    if word.lower().replace(" ", "_") not in {*DECISION.statuses, *DECISION.spellings}:
        return " ".join(line.lower().split()), (), ""
    return word.lower(), (), rest


def put_status(draft: Draft, text: str) -> None:
    """The status, and the decisions that took its place; what else it says is kept."""
    word, newer, rest = _status_words(text)
    draft.put("status", word)
    draft.put("superseded_by", newer)
    draft.leave("Status" if rest else "", rest)


def put_date(draft: Draft, text: str) -> None:
    """The date; what can't be read as one is kept."""
    if found := iso_date(text):
        draft.put("date", found)
    else:
        draft.leave("Date" if text.strip() else "", text)


def is_superseded_line(text: str, names: tuple[str, ...]) -> bool:
    """True where the words of a status say exactly that these decisions took its place."""
    return _status_words(text) == ("superseded", names, "")


_LINE: Final = re.compile(r"(?:[-*+] +)?[*_]{0,2}([A-Za-z][A-Za-z ]{2,20}?)[*_]{0,2}\s*:[*_]{0,2}(?:\s+(.*)|)")
_PEOPLE: Final = {
    "deciders": "deciders",
    "decision makers": "deciders",
    "consulted": "consulted",
    "informed": "informed",
}


def read_list_head(draft: Draft, text: str) -> str:
    """Takes what it knows out of the text before the first section; the rest comes back."""
    return "\n".join(line for line in text.split("\n") if not _taken(draft, line))


def _taken(draft: Draft, line: str) -> bool:
    found = _LINE.fullmatch(line.rstrip())
    key, value = (found[1].strip().lower(), (found[2] or "").strip()) if found else ("", "")
    if key == "status" and value and "status" not in draft.values:
        put_status(draft, value)
    elif key == "date" and iso_date(value) and "date" not in draft.values:
        draft.put("date", iso_date(value))
    elif key == "tags" and value:
        draft.put("tags", tuple(value.split(",")) if "," in value else tuple(value.split()))
    elif key in _PEOPLE and value:
        draft.put(_PEOPLE[key], tuple(one.strip() for one in value.split(",")))
    elif found and (related := relation(line.strip("-*+ "))):
        draft.put(*related)
    else:
        return False
    return True


def title_heading(title: str, number: str = "") -> tuple[str, bool]:
    """The heading with the title, and whether reading it gives exactly that title."""
    words = title.replace("<!--", "&lt;!--")
    line = f"# {number}. {words}" if number else f"# {words}"
    read = split_sections(f"{line}\n\nText.")
    return line, read.head == "Text." and numbered(read.title) == (number, title)
