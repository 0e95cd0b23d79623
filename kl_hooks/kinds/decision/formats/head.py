"""The head of a decision in any format: number and title, date, status, people, and the decisions it replaces."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kl_hooks.clock import micros
from kl_hooks.kinds.catalog import DECISION
from kl_hooks.kinds.decision.formats.entry import Draft, front_matter, take_number
from kl_hooks.kinds.decision.formats.sections import Section, split_sections, tidy
from kl_hooks.model.record import Value

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
# `Superceded by` is how adr-tools spells its own links
_FIELD: Final = {
    "supersedes": "supersedes", "supercedes": "supersedes", "replaces": "supersedes",
    "superseded by": "superseded_by", "superceded by": "superseded_by", "replaced by": "superseded_by",
    "amends": "amends", "amended by": "amended_by",
}  # fmt: skip
_PLAIN_NAME: Final = re.compile(r"(?i)[\w./-]+\.md\b|\d{8}-[\w-]+|(?:adr[-_ ]?)?\d{1,9}(?![\w-])")
_LINE: Final = re.compile(r"(?:[-*+] +)?[*_]{0,2}([A-Za-z][A-Za-z ]{2,20}?)[*_]{0,2}\s*:[*_]{0,2}(?:\s+(.*)|)")
_PEOPLE: Final = {
    "deciders": "deciders", "decision makers": "deciders", "consulted": "consulted", "informed": "informed",
}  # fmt: skip


def read_markdown(text: str) -> tuple[Draft, str, tuple[Section, ...]]:
    """Read front matter, title and head; return (draft, number of the decision, sections). NotReadable."""
    keys, body = front_matter(tidy(text.lstrip("\ufeff")))
    parts = split_sections(body)
    draft = Draft()
    number, title = _numbered(parts.title)
    draft.put("title", title)
    number = take_number(keys) or number
    for key, value in keys.items():
        if key.lower() in ("status", "date") and isinstance(value, str):
            (put_status if key.lower() == "status" else put_date)(draft, value)
        else:
            draft.key(key, value)
    draft.leave("", _read_list(draft, parts.head))
    return draft, number, parts.sections


def title_heading(title: str, number: str = "") -> tuple[str, bool]:
    """Return the heading with a title, and whether reading it gives exactly that title."""
    words = title.replace("<!--", "&lt;!--")
    line = f"# {number}. {words}" if number else f"# {words}"
    read = split_sections(f"{line}\n\nText.")
    return line, read.head == "Text." and _numbered(read.title) == (number, title)


def _numbered(title: str) -> tuple[str, str]:
    """Split `7. Use X`, `ADR-0007: Use X`, `0007 - Use X` into (`7`, `Use X`); the number may be empty."""
    found = _NUMBERED.fullmatch(title.strip())
    if not found:
        return "", title.strip()
    number, words = next(pair for pair in (found.group(1, 2), found.group(3, 4), found.group(5, 6)) if pair[0])
    return number.lstrip("0") or "0", words.strip()


def iso_date(text: str) -> str:
    """Return a date as ISO 8601 where it can be read as one (`12 Feb 2016`, `2016/02/12`, a moment); else empty."""
    date = text.strip().strip("*_` ")
    if found := _DIGITS.fullmatch(date):
        date = _iso(found[1], int(found[2]), found[3])
    elif (found := _DAY_FIRST.fullmatch(date)) and found[2].lower() in _MONTHS:
        date = _iso(found[3], _MONTHS.index(found[2].lower()) + 1, found[1])
    elif (found := _MONTH_FIRST.fullmatch(date)) and found[1].lower() in _MONTHS:
        date = _iso(found[3], _MONTHS.index(found[1].lower()) + 1, found[2])
    try:
        micros(date)
    except (ValueError, OverflowError):
        return ""
    return date if re.match(r"\d{4}-\d\d-\d\d", date) else ""


def _iso(year: str, month: int, day: str) -> str:
    return f"{year}-{month:02}-{int(day):02}"


def relation(line: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the field and the decisions of a line such as `Superseded by [2. Use Y](0002-use-y.md)`.

    None for a line that is anything else, or has more words than that.
    """
    found = _RELATION.fullmatch(line.strip())
    if not found:
        return None
    # by link (the file it leads to), or as `ADR-0007`
    rest = _LINK.sub("", found[2])
    links = [match[2].partition("#")[0].rpartition("/")[2] or match[1] for match in _LINK.finditer(found[2])]
    names = tuple(dict.fromkeys([*links, *_PLAIN_NAME.findall(rest)]))
    # other words besides `and` between two names: then it is prose, and stays as it is
    if not names or re.search(r"\w", _PLAIN_NAME.sub("", rest).replace("and", "")):
        return None
    return _FIELD.get(found[1].lower(), "related_adrs"), names


def _status_words(text: str) -> tuple[str, tuple[str, ...], str]:
    """(the word of a status, the decisions that replaced it, the rest of the text).

    `superseded by [ADR-0005](0005-x.md)` → (`superseded`, (`0005-x.md`,), ``).
    """
    line = text.strip().strip("*_` ")
    if (found := relation(line)) and found[0] == "superseded_by":
        return "superseded", found[1], ""
    match = re.match(r"[A-Za-z]+(?:[ -][Rr]eview)?", line)
    word = match[0] if match else ""
    if word.lower().replace(" ", "_") not in {*DECISION.statuses, *DECISION.spellings}:
        return " ".join(line.lower().split()), (), ""
    return word.lower(), (), line[len(word) :].strip(" .,:;")


def put_status(draft: Draft, text: str) -> None:
    """Add the status, the decisions that replaced it, and the rest of the text."""
    word, newer, rest = _status_words(text)
    draft.put("status", word)
    draft.put("superseded_by", newer)
    draft.leave("Status" if rest else "", rest)


def put_date(draft: Draft, text: str) -> None:
    """Add the date; what can't be read as one stays as text."""
    if found := iso_date(text):
        draft.put("date", found)
    else:
        draft.leave("Date" if text.strip() else "", text)


def is_superseded_line(text: str, names: tuple[str, ...]) -> bool:
    """Return True where a status means exactly that these decisions replaced it."""
    return _status_words(text) == ("superseded", names, "")


def _read_list(draft: Draft, text: str) -> str:
    """Read a list such as `- Status: accepted` before the first section; return the lines that are anything else."""
    return "\n".join(line for line in text.split("\n") if not _read_line(draft, line))


def _read_line(draft: Draft, line: str) -> bool:
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


def is_exact_line(line: str, values: Mapping[str, Value], field: str) -> bool:
    """Return True where a line of the head, read back, gives exactly this field."""
    draft = Draft()
    return (
        field in values and "<!--" not in line and not _read_list(draft, line).strip()
        and draft.entry().values == {field: values[field]}
    )  # fmt: skip
