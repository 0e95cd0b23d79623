"""Entry: a decision of another tool's file, in values of our kind; and Draft, which builds it from a text.

What has no field of ours goes to `more` under its own heading, so that nothing is lost on the way there and back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kl_hooks.clock import micros
from kl_hooks.config.yaml import ListNode, MapNode, Node, TextNode, load_yaml
from kl_hooks.kinds.catalog import DECISION
from kl_hooks.kinds.decision.formats.sections import (
    Section,
    bullet_list,
    list_items,
    shift_headings,
    split_sections,
    tidy,
)
from kl_hooks.model.kind import Field
from kl_hooks.model.record import Value
from kl_hooks.records.document import format_entry
from kl_hooks.records.markdown import close_open_blocks, headings

REFERENCES: Final = ("supersedes", "superseded_by", "amends", "amended_by", "related_adrs", "related")
"""Fields that name other decisions: in an Entry by whatever name the file gives them."""
LIST_FIELDS: Final = frozenset(one.name for one in DECISION.fields if one.section and one.type == "lines")
"""Fields that are lists in Markdown."""
_OTHER_KEYS: Final = "Front matter"
"""Heading in `more` of the keys without a field."""
_ID: Final = re.compile(r"(?i)(?:adr[-_ ]?)?\d{1,9}")
# the plain scalars that YAML's core schema reads as null; in quotes they are text
_EMPTY: Final = frozenset(("", "null", "~"))
_DETAILS: Final = re.compile(r"```yaml\n(.*)\n```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Entry:
    """A decision, read from or to be written to another tool's file."""

    values: Mapping[str, Value]
    """By field of the kind `decision`; `more` has what fits no other field."""
    name: str = ""
    """Its name in the file: `7`, `ADR-0007`, `20261122-use-x`; empty: none."""

    def text(self, name: str) -> str:
        """Return a field that holds text; empty where it is missing."""
        value = self.values.get(name, "")
        return "\n".join(value) if isinstance(value, tuple) else "" if isinstance(value, Mapping) else str(value)

    def many(self, name: str) -> tuple[str, ...]:
        """Return a field that holds a list; a single text is a list of one."""
        value = self.values.get(name, ())
        return value if isinstance(value, tuple) else (str(value),) if value else ()


@dataclass(frozen=True, slots=True)
class Other:
    """Another decision, as a link to it is written."""

    number: str
    title: str
    file: str
    """Name of its file, in the same folder."""


class NotReadable(ValueError):
    """A file that is no decision in this format: the reason, and the line (0: the file as a whole)."""

    def __init__(self, reason: str, line: int = 0) -> None:
        self.reason, self.line = reason, line
        super().__init__(reason)


class Draft:
    """An Entry in the making."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._more: list[str] = []
        self._keys: dict[str, Any] = {}

    def put(self, name: str, value: Any) -> None:
        """Add a field's value; further texts of a section and further items of a list are appended."""
        field = DECISION.by_name[name]
        value = _typed(field, value)
        if value in ("", (), {}, None):
            return
        old = self.values.get(field.name)
        if old is None or field.name == "title":  # a key `title` is exact, a heading is what Markdown leaves of it
            self.values[field.name] = value
        elif isinstance(old, tuple):
            self.values[field.name] = (*old, *(one for one in value if field.section or one not in old))
        elif field.section:
            self.values[field.name] = f"{old}\n\n{value}"
        elif old != value:
            self._keys[field.name] = value

    def key(self, name: str, value: Any) -> None:
        """Add a key of front matter and its value."""
        field = field_of_key(name)
        if field is None or (isinstance(value, Mapping) and field.type != "map"):
            self._keys[name] = value
        else:
            self.put(field.name, value)

    def section(self, part: Section) -> None:
        """Add a section of the body, by its heading."""
        if keys := _read_details(part):
            for key, value in keys.items():
                self.key(key, value)
            return
        name = field_of_heading(part.heading)
        if name == "more":
            self.leave("", part.text)
        elif name:
            self.put(name, list_items(part.text) if name in LIST_FIELDS else part.text)
        else:
            self.leave(part.heading, part.text)

    def put_status(self, text: str) -> None:
        """Add the status, the decisions that replaced it, and the rest of the text."""
        word, newer, rest = _status_words(text)
        self.put("status", word)
        self.put("superseded_by", newer)
        self.leave("Status" if rest else "", rest)

    def put_date(self, text: str) -> None:
        """Add the date; what can't be read as one stays as text."""
        if found := iso_date(text):
            self.put("date", found)
        else:
            self.leave("Date" if text.strip() else "", text)

    def leave(self, heading: str, text: str) -> None:
        """Add what has no field to `more`."""
        text = _until_stable(text, _demote_headings)
        if heading:
            # an open comment reaches to the end of the text (`blank_code`): it would hide every section below
            words = " ".join(heading.split()).replace("<!--", "&lt;!--")
            self._more.append(tidy(f"### {words}\n\n{shift_headings(text)}"))
        elif text:
            self._more.append(text)

    def entry(self, name: str = "") -> Entry:
        """Return the Entry, in the one form that every writer and reader reproduces."""
        values = dict(self.values)
        more = [values["more"], *self._more] if "more" in values else list(self._more)
        if keys := {key: value for key, value in self._keys.items() if value not in ("", (), {})}:
            more.append(f"### {_OTHER_KEYS}\n\n```yaml\n{yaml_block(keys)}\n```")
        if more:
            values["more"] = "\n\n".join(more)
        order = {field.name: number for number, field in enumerate(DECISION.all_fields)}
        return Entry({key: values[key] for key in sorted(values, key=order.__getitem__)}, name)


def _typed(field: Field, value: Any) -> Value | None:
    """A value in the form of its field; text that does not fit stays text, for the validation to report."""
    if field.section and field.type == "text":
        least = 4 if field.name == "decision" else 3  # MADR's sections of the third level in it are other fields
        text = "\n".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
        return _until_stable(text, lambda one: _demote_headings(one, least))
    if field.type == "lines":
        items = [str(item) for item in ([value] if isinstance(value, str) else value) if item is not None]
        clean = (lambda item: _until_stable(item, _as_item)) if field.section else _one_line
        return tuple(filter(None, map(clean, items)))
    if field.type in ("ids", "words"):
        return _words(field, value)
    text = _one_line(", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value))
    if field.type == "choice":
        word = text.lower().replace("-", "_").replace(" ", "_")
        return field.also.get(word, word)
    return _percent(text) if field.type == "number" else text


def _demote_headings(text: str, least: int = 3) -> str:
    """The tidy text with no heading above level `least`, and no block left open that would hide what follows."""
    text = close_open_blocks(tidy(text))
    shallow = min((one.level for one in headings(text)), default=least)
    return tidy(shift_headings(text, max(0, least - shallow)))


def _until_stable(text: str, step: Callable[[str], str]) -> str:
    """Repeat a step until it changes nothing: closing a fence may make a heading of what follows, and so on."""
    for _ in range(10):
        if (after := step(text)) == text:
            break
        text = after
    return text


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _as_item(text: str) -> str:
    """An item of a section's list as Markdown gives it back."""
    return next(iter(list_items(bullet_list((_demote_headings(text),)))), "")


def _percent(text: str) -> int | str:
    """`0.82` → 82, `82` → 82; what is no number stays as it is."""
    # nine digits at most: int() raises ValueError for more than 4,300 (CPython 3.11, sys.set_int_max_str_digits)
    if re.fullmatch(r"0?\.\d{1,9}|[01]\.0{1,9}", text):
        return round(float(text) * 100)
    return int(text) if re.fullmatch(r"\d{1,9}", text) else text


def _words(field: Field, value: Any) -> tuple[str, ...]:
    items: Iterable[Any] = value.split(",") if isinstance(value, str) else value
    found = [_one_line(str(item)) for item in items if item is not None]
    if field.type == "words":
        found = ["-".join(one.replace(",", " ").split()) for one in found]
    elif field.name not in REFERENCES:
        found = [one for item in found for one in item.split(",")]
    return tuple(dict.fromkeys(one.strip() for one in found if one.strip()))


_FIELD_OF_HEADING: Final[Mapping[str, str]] = {
    "context": "context", "context and problem statement": "context", "problem": "context",
    "problem statement": "context", "background": "context", "issue": "context", "context and problem": "context",
    "decision": "decision", "decision outcome": "decision", "outcome": "decision", "solution": "decision",
    "decision drivers": "drivers", "drivers": "drivers",
    "rationale": "rationale", "justification": "rationale",
    "considered options": "alternatives", "alternatives": "alternatives", "options": "alternatives",
    "alternatives considered": "alternatives", "considered alternatives": "alternatives",
    "options considered": "alternatives",
    "pros and cons of the options": "comparison", "comparison": "comparison",
    "consequences": "consequences", "implications": "consequences",
    "confirmation": "confirmation", "validation": "confirmation", "compliance": "confirmation",
    "violation symptoms": "violation_symptoms",
    "more information": "more", "notes": "more",
}  # fmt: skip


def field_of_heading(heading: str) -> str:
    """Return the field of a heading; empty: none of ours."""
    return _FIELD_OF_HEADING.get(plain_heading(heading), "")


def plain_heading(heading: str) -> str:
    """Return the words of a heading in small letters, without numbers before, signs around and comments after them."""
    # cut: after every `<!--` an end is searched for, which is quadratic in the length where none comes
    return _one_line(re.sub(r"<!--.*?-->|^[\d.)\s]+|[*_`:]+", "", heading[:2_000]).lower())


def field_of_key(key: str) -> Field | None:
    """Return the field of a key such as `kl-governs`, `alternativesConsidered`, `CreatedAt`; None: none of ours."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key.strip()).lower().replace("-", "_").replace(" ", "_")
    return DECISION.by_name.get(name) or DECISION.by_name.get(name.removeprefix("kl_"))


def front_matter(text: str) -> tuple[dict[str, object], str]:
    """Return the keys and values between the lines `---` at the top, and the rest; ({}, text) where there are none.

    Values are text, lists of text, or maps of text. NotReadable with the line for invalid YAML.
    """
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return {}, text
    # `...` ends a YAML document too, and pandoc ends front matter with either
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), 0)
    if not end:
        raise NotReadable("front matter begins here and never ends; a line `---` is missing.", 1)
    return _yaml_values("\n".join(lines[1:end]), 1), "\n".join(lines[end + 1 :])


def _take_number(keys: dict[str, object]) -> str:
    """Remove the ID of a decision from the keys, and return it; empty where there is none."""
    identifier = keys.get("id")
    if not isinstance(identifier, str) or not _ID.fullmatch(identifier.strip()):
        return ""
    del keys["id"]
    return identifier.strip()


def yaml_block(values: Mapping[str, Value]) -> str:
    """Return YAML with these keys and values, which is read back as they are."""
    dates = {name for name in values if (field := field_of_key(name)) and field.type == "date"}
    return "\n".join(line for name, value in values.items() for line in format_entry(name, value, name in dates))


def _yaml_values(text: str, above: int = 0) -> dict[str, object]:
    """The keys and values of a block of YAML with so many lines above it. NotReadable."""
    root, problems = load_yaml("", text.encode("utf-8", "replace"))
    for one in problems:
        raise NotReadable(f"{one.message} {one.hint}".rstrip(), above + one.line)
    if root is None:
        return {}
    if not isinstance(root, MapNode):
        raise NotReadable("front matter must be keys and values.", above + root.line)
    return {key.value: _value(node) for key, node in root.entries}


def _value(node: Node) -> object:
    if isinstance(node, TextNode):
        return "" if node.plain and node.value.lower() in _EMPTY else node.value
    if isinstance(node, ListNode):
        return tuple(map(_leaf, node.items))
    return {key.value: _leaf(item) for key, item in node.entries}


def _leaf(node: Node) -> str:
    """No field is deeper than a list: what is deeper becomes one text."""
    return node.value if isinstance(node, TextNode) else json.dumps(_value(node), ensure_ascii=False)


def details_section(values: Mapping[str, Value]) -> str:
    """Return a last section of YAML for what a format has no words for; empty where there is nothing."""
    return f"\n## Details\n\n```yaml\n{yaml_block(values)}\n```\n" if values else ""


def _read_details(part: Section) -> dict[str, object]:
    """The values of such a section; none for another one of that name."""
    found = _DETAILS.fullmatch(part.text)
    if part.heading.strip().lower() != "details" or not found:
        return {}
    try:
        keys = _yaml_values(found[1])
    except NotReadable:
        return {}
    return keys if all(field_of_key(key) for key in keys) else {}


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
    number = _take_number(keys) or number
    for key, value in keys.items():
        if key.lower() in ("status", "date") and isinstance(value, str):
            (draft.put_status if key.lower() == "status" else draft.put_date)(value)
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
        draft.put_status(value)
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
