"""The formats of decisions: files of other tools read as entries and written from them, detected by
name and text.

- MADR 4: front matter (status, date, decision-makers, consulted, informed) and its sections; older
  MADR is read.
- Michael Nygard's form, as adr-tools writes it: `# 7. Title`, `Date:`, Status with its links,
  Context, Decision, …
- log4brains: MADR's sections below a list (`- Status:`, `- Date:`, `- Tags:`), in files named
  `YYYYMMDD-slug.md`.
- JSON: an object per decision, or a list; keys as in `docs/decisions.md`, in any of the usual
  spellings.

What has no field of ours goes to `more` under its own heading, so that nothing is lost on the way
there and back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from kl_hooks.clock import micros
from kl_hooks.config.yaml import ListNode, MapNode, Node, TextNode, load_yaml
from kl_hooks.kinds.catalog import DECISION
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.kind import Field
from kl_hooks.model.record import Value
from kl_hooks.model.text import slug
from kl_hooks.records.document import format_entry
from kl_hooks.records.markdown import blank_code, close_open_blocks, headings, with_sections

_ITEM: Final = lazy_pattern(r"[-*+] (?: {0,2}(?=\S))")
_HASHES: Final = lazy_pattern(r"(#{1,12})(?=[ \t]|$)")


class Section(NamedTuple):
    """A section: its heading and its text, subsections included."""

    heading: str
    text: str
    line: int
    """Of the heading, from 1."""
    lines: int = 0
    """How many it has, including its heading."""


class _Parts(NamedTuple):
    """A Markdown text, split at its headings."""

    title: str
    head: str
    """Between the title and the first section."""
    sections: tuple[Section, ...]


def tidy(text: str) -> str:
    """Return the text with `\\n` at the ends of lines, without blank lines around it and without
    blanks at its end.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    return "\n".join(lines[first:]).rstrip()


def split_sections(text: str, level: int = 2, title: bool = True) -> _Parts:
    """Split at the headings of `level` and above; with `title`, the first heading of level 1 is the
    title.
    """
    lines = text.split("\n")
    cuts = headings(text, level)
    if title and cuts and cuts[0].level == 1:
        top = cuts.pop(0)
    else:
        top = None
    head = lines[: cuts[0].line] if cuts else lines[:]
    if top is not None:
        del head[top.line : top.line + top.lines]
    sections = tuple(
        Section(
            heading.words,
            tidy("\n".join(lines[part.start : part.stop])),
            heading.line + 1,
            part.stop - heading.line,
        )
        for heading, part in with_sections(cuts, len(lines))
    )
    return _Parts(top.words if top else "", tidy("\n".join(head)), sections)


def _shift_headings(text: str, levels: int = 1) -> str:
    """Return the text with headings so many levels deeper; a negative `levels` undoes it, beyond
    level 6 as well.
    """
    lines = text.split("\n")
    shown = blank_code(text).split("\n")
    for heading in headings(text):
        # an underlined heading has two levels at most (CommonMark 4.3), so it gets signs before it
        # is shifted
        if heading.lines == 2:
            lines[heading.line], lines[heading.line + 1] = (
                f"{'#' * heading.level} {heading.words}",
                "",
            )
            shown[heading.line] = lines[heading.line]
    for number, line in enumerate(shown):
        if mark := _HASHES.match(line):
            # CommonMark ends at six; deeper ones are text there, and headings again when the shift
            # is undone
            level = min(12, max(1, len(mark[1]) + levels))
            lines[number] = "#" * level + lines[number][len(mark[1]) :]
    return "\n".join(lines)


def _bullet_list(items: Sequence[str]) -> str:
    """Return a list in Markdown; lines after the first of an item are indented."""
    return "\n".join(
        "- " + tidy(item).replace("\n", "\n  ").replace("\n  \n", "\n\n") for item in items
    )


def list_items(text: str) -> tuple[str, ...]:
    """Return the items of a list in Markdown without bullets; text that is not wholly a list is one
    item.
    """
    # unlike `records.document`, which makes an item of every paragraph: an export must give back
    # the text as it was
    items: list[list[str]] = []
    for line in tidy(text).split("\n"):
        if _ITEM.match(line):
            items.append([line[2:].strip()])
        elif items and (not line.strip() or line.startswith((" ", "\t")) or items[-1][-1].strip()):
            items[-1].append(line)  # the last case is CommonMark's lazy continuation line
        else:
            whole = tidy(text)
            if whole:
                return (whole,)
            return ()
    return tuple(item_text for lines in items if (item_text := _item(lines)))


def _item(lines: list[str]) -> str:
    """An item without the indentation of its further lines."""
    indents = [len(line) - len(line.lstrip(" ")) for line in lines[1:] if line.strip()]
    # two columns at most: what `_bullet_list` adds; deeper ones are the item's own (a list inside,
    # code)
    cut = min(2, min(indents, default=0))
    return tidy("\n".join([lines[0], *(line[cut:] if line.strip() else "" for line in lines[1:])]))


REFERENCES: Final = (
    "supersedes",
    "superseded_by",
    "amends",
    "amended_by",
    "related_adrs",
    "related",
)
"""Fields that name other decisions: in an Entry by whatever name the file gives them."""
_LIST_FIELDS: Final = frozenset(
    one.name for one in DECISION.fields if one.section and one.type == "lines"
)
"""Fields that are lists in Markdown."""
_OTHER_KEYS: Final = "Front matter"
"""Heading in `more` of the keys without a field."""
_ID: Final = lazy_pattern(r"(?i)(?:adr[-_ ]?)?\d{1,9}")
# the plain scalars that YAML's core schema reads as null; in quotes they are text
_EMPTY: Final = frozenset(("", "null", "~"))
_DETAILS: Final = lazy_pattern(r"```yaml\n(.*)\n```", re.DOTALL)


class Entry(NamedTuple):
    """A decision, read from or to be written to another tool's file."""

    values: Mapping[str, Value]
    """By field of the kind `decision`; `more` has what fits no other field."""
    name: str = ""
    """Its name in the file: `7`, `ADR-0007`, `20261122-use-x`; empty: none."""

    def text(self, name: str) -> str:
        """Return a field that holds text; empty where it is missing."""
        value = self.values.get(name, "")
        if isinstance(value, tuple):
            return "\n".join(value)
        if isinstance(value, Mapping):
            return ""
        return str(value)

    def many(self, name: str) -> tuple[str, ...]:
        """Return a field that holds a list; a single text is a list of one."""
        value = self.values.get(name, ())
        if isinstance(value, tuple):
            return value
        if value:
            return (str(value),)
        return ()


class Other(NamedTuple):
    """Another decision, as a link to it is written."""

    number: str
    title: str
    file: str
    """Name of its file, in the same folder."""


class NotReadable(ValueError):
    """A file that is no decision in this format: the reason, and the line (0: the file as a
    whole).
    """

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
        """Add a field's value; further texts of a section and further items of a list are
        appended.
        """
        field = DECISION.by_name[name]
        value = _typed(field, value)
        if value in ("", (), {}, None):
            return
        old = self.values.get(field.name)
        if (
            old is None or field.name == "title"
        ):  # a key `title` is exact, a heading is what Markdown leaves of it
            self.values[field.name] = value
        elif isinstance(old, tuple):
            self.values[field.name] = (
                *old,
                *(one for one in value if field.section or one not in old),
            )
        elif field.section:
            self.values[field.name] = f"{old}\n\n{value}"
        elif old != value:
            self._keys[field.name] = value

    def key(self, name: str, value: Any) -> None:
        """Add a key of front matter and its value."""
        field = _field_of_key(name)
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
            self.put(name, list_items(part.text) if name in _LIST_FIELDS else part.text)
        else:
            self.leave(part.heading, part.text)

    def put_status(self, text: str) -> None:
        """Add the status, the decisions that replaced it, and the rest of the text."""
        word, newer, remaining = _status_words(text)
        self.put("status", word)
        self.put("superseded_by", newer)
        self.leave("Status" if remaining else "", remaining)

    def put_date(self, text: str) -> None:
        """Add the date; what can't be read as one stays as text."""
        if date := iso_date(text):
            self.put("date", date)
        else:
            self.leave("Date" if text.strip() else "", text)

    def leave(self, heading: str, text: str) -> None:
        """Add what has no field to `more`."""
        text = _until_stable(text, _demote_headings)
        if heading:
            # an open comment reaches to the end of the text (`blank_code`): it would hide every
            # section below
            words = " ".join(heading.split()).replace("<!--", "&lt;!--")
            self._more.append(tidy(f"### {words}\n\n{_shift_headings(text)}"))
        elif text:
            self._more.append(text)

    def entry(self, name: str = "") -> Entry:
        """Return the Entry, in the one form that every writer and reader reproduces."""
        values = dict(self.values)
        if "more" in values:
            further_text = [values["more"], *self._more]
        else:
            further_text = list(self._more)
        if keys := {key: value for key, value in self._keys.items() if value not in ("", (), {})}:
            further_text.append(f"### {_OTHER_KEYS}\n\n```yaml\n{_yaml_block(keys)}\n```")
        if further_text:
            values["more"] = "\n\n".join(further_text)
        order = {field.name: number for number, field in enumerate(DECISION.all_fields)}
        return Entry({key: values[key] for key in sorted(values, key=order.__getitem__)}, name)


def _typed(field: Field, value: Any) -> Value | None:
    """A value in the form of its field; text that does not fit stays text, for the validation to
    report.
    """
    if field.section and field.type == "text":
        # MADR's sections of the third level in it are other fields
        if field.name == "decision":
            least = 4
        else:
            least = 3
        if isinstance(value, tuple | list):
            text = "\n".join(map(str, value))
        else:
            text = str(value)
        return _until_stable(text, lambda multiline: _demote_headings(multiline, least))
    if field.type == "lines":
        items = [
            str(item) for item in ([value] if isinstance(value, str) else value) if item is not None
        ]
        clean = (lambda item: _until_stable(item, _as_item)) if field.section else _one_line
        return tuple(filter(None, map(clean, items)))
    if field.type in ("ids", "words"):
        return _words(field, value)
    text = _one_line(", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value))
    if field.type == "choice":
        word = text.lower().replace("-", "_").replace(" ", "_")
        return field.also.get(word, word)
    if field.type != "number":
        return text
    return _percent(text)


def _demote_headings(text: str, least: int = 3) -> str:
    """The tidy text with no heading above level `least`, and no block left open that would hide
    what follows.
    """
    text = close_open_blocks(tidy(text))
    shallow = min((one.level for one in headings(text)), default=least)
    return tidy(_shift_headings(text, max(0, least - shallow)))


def _until_stable(text: str, step: Callable[[str], str]) -> str:
    """Repeat a step until it changes nothing: closing a fence may make a heading of what follows,
    and so on.
    """
    for _ in range(10):
        if (after := step(text)) == text:
            break
        text = after
    return text


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _as_item(text: str) -> str:
    """An item of a section's list as Markdown gives it back."""
    return next(iter(list_items(_bullet_list((_demote_headings(text),)))), "")


def _percent(text: str) -> int | str:
    """`0.82` → 82, `82` → 82; what is no number stays as it is."""
    # nine digits at most: int() raises ValueError for more than 4,300 (CPython 3.11,
    # sys.set_int_max_str_digits)
    if re.fullmatch(r"0?\.\d{1,9}|[01]\.0{1,9}", text):
        return round(float(text) * 100)
    if not re.fullmatch(r"\d{1,9}", text):
        return text
    return int(text)


def _words(field: Field, value: Any) -> tuple[str, ...]:
    items: Iterable[Any] = value.split(",") if isinstance(value, str) else value
    words = [_one_line(str(item)) for item in items if item is not None]
    if field.type == "words":
        words = ["-".join(word.replace(",", " ").split()) for word in words]
    elif field.name not in REFERENCES:
        words = [word for item in words for word in item.split(",")]
    return tuple(dict.fromkeys(word.strip() for word in words if word.strip()))


_FIELD_OF_HEADING: Final[Mapping[str, str]] = {
    "context": "context",
    "context and problem statement": "context",
    "problem": "context",
    "problem statement": "context",
    "background": "context",
    "issue": "context",
    "context and problem": "context",
    "decision": "decision",
    "decision outcome": "decision",
    "outcome": "decision",
    "solution": "decision",
    "decision drivers": "drivers",
    "drivers": "drivers",
    "rationale": "rationale",
    "justification": "rationale",
    "considered options": "alternatives",
    "alternatives": "alternatives",
    "options": "alternatives",
    "alternatives considered": "alternatives",
    "considered alternatives": "alternatives",
    "options considered": "alternatives",
    "pros and cons of the options": "comparison",
    "comparison": "comparison",
    "consequences": "consequences",
    "implications": "consequences",
    "confirmation": "confirmation",
    "validation": "confirmation",
    "compliance": "confirmation",
    "violation symptoms": "violation_symptoms",
    "more information": "more",
    "notes": "more",
}


def field_of_heading(heading: str) -> str:
    """Return the field of a heading; empty: none of ours."""
    return _FIELD_OF_HEADING.get(_plain_heading(heading), "")


def _plain_heading(heading: str) -> str:
    """Return the words of a heading in small letters, without numbers before, signs around and
    comments after them.
    """
    # cut: after every `<!--` an end is searched for, which is quadratic in the length where none
    # comes
    return _one_line(re.sub(r"<!--.*?-->|^[\d.)\s]+|[*_`:]+", "", heading[:2_000]).lower())


def _field_of_key(key: str) -> Field | None:
    """Return the field of a key such as `kl-governs`, `alternativesConsidered`, `CreatedAt`; None:
    none of ours.
    """
    name = (
        re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key.strip())
        .lower()
        .replace("-", "_")
        .replace(" ", "_")
    )
    return DECISION.by_name.get(name) or DECISION.by_name.get(name.removeprefix("kl_"))


def front_matter(text: str) -> tuple[dict[str, object], str]:
    """Return the keys and values between the lines `---` at the top, and the rest; ({}, text) where
    there are none.

    Values are text, lists of text, or maps of text. NotReadable with the line for invalid YAML.
    """
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return {}, text
    # `...` ends a YAML document too, and pandoc ends front matter with either
    end = next(
        (number for number, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), 0
    )
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


def _yaml_block(values: Mapping[str, Value]) -> str:
    """Return YAML with these keys and values, which is read back as they are."""
    dates = {name for name in values if (field := _field_of_key(name)) and field.type == "date"}
    return "\n".join(
        line for name, value in values.items() for line in format_entry(name, value, name in dates)
    )


def _yaml_values(text: str, above: int = 0) -> dict[str, object]:
    """The keys and values of a block of YAML with so many lines above it. NotReadable."""
    root, problems = load_yaml("", text.encode("utf-8", "replace"))
    for problem in problems:
        raise NotReadable(f"{problem.message} {problem.hint}".rstrip(), above + problem.line)
    if root is None:
        return {}
    if not isinstance(root, MapNode):
        raise NotReadable("front matter must be keys and values.", above + root.line)
    return {key.value: _value(node) for key, node in root.entries}


def _value(node: Node) -> object:
    if isinstance(node, TextNode):
        if node.plain and node.value.lower() in _EMPTY:
            return ""
        return node.value
    if isinstance(node, ListNode):
        return tuple(map(_node_text, node.items))
    return {key.value: _node_text(item) for key, item in node.entries}


def _node_text(node: Node) -> str:
    """No field is deeper than a list: what is deeper becomes one text."""
    if isinstance(node, TextNode):
        return node.value
    return json.dumps(_value(node), ensure_ascii=False)


def _details_section(values: Mapping[str, Value]) -> str:
    """Return a last section of YAML for what a format has no words for; empty where there is
    nothing.
    """
    if not values:
        return ""
    return f"\n## Details\n\n```yaml\n{_yaml_block(values)}\n```\n"


def _read_details(part: Section) -> dict[str, object]:
    """The values of such a section; none for another one of that name."""
    match = _DETAILS.fullmatch(part.text)
    if part.heading.strip().lower() != "details" or not match:
        return {}
    try:
        keys = _yaml_values(match[1])
    except NotReadable:
        return {}
    if all(_field_of_key(key) for key in keys):
        return keys
    return {}


_NUMBERED: Final = lazy_pattern(
    r"(?i:adr)[-_ ]?(\d{1,9})(?:\s*[:.\u2013\u2014-]+\s*|\s+)(\S.*)|(\d{1,9})[.:]\s+(\S.*)"
    r"|(0\d{1,8})\s+[\u2013\u2014-]\s+(\S.*)"
)
_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_DAY_FIRST: Final = lazy_pattern(
    r"(\d{1,2})(?:st|nd|rd|th)?[ .-]+([A-Za-z]{3})[a-z]*\.?,?[ .-]+(\d{4})"
)
_MONTH_FIRST: Final = lazy_pattern(
    r"([A-Za-z]{3})[a-z]*\.?[ ]+(\d{1,2})(?:st|nd|rd|th)?,?[ ]+(\d{4})"
)
_DIGITS: Final = lazy_pattern(r"(\d{4})[/.-](\d{1,2})[/.-](\d{1,2})")
_LINK: Final = lazy_pattern(r"\[([^\[\]]*)\]\(<?([^()<>\s]+)>?[^()]*\)")
_RELATION: Final = lazy_pattern(
    r"(?i)\W*(supersedes|superseded by|superceded by|supercedes|replaces|replaced"
    r" by|deprecates|amends|amended by"
    r"|clarifies|clarified by|refines|refined by|relates to|related to|related|see"
    r" also)\b[:*_]*\s*(.*)"
)
# `Superceded by` is how adr-tools spells its own links
_FIELD: Final = {
    "supersedes": "supersedes",
    "supercedes": "supersedes",
    "replaces": "supersedes",
    "superseded by": "superseded_by",
    "superceded by": "superseded_by",
    "replaced by": "superseded_by",
    "amends": "amends",
    "amended by": "amended_by",
}
_PLAIN_NAME: Final = lazy_pattern(r"(?i)[\w./-]+\.md\b|\d{8}-[\w-]+|(?:adr[-_ ]?)?\d{1,9}(?![\w-])")
_LINE: Final = lazy_pattern(
    r"(?:[-*+] +)?[*_]{0,2}([A-Za-z][A-Za-z ]{2,20}?)[*_]{0,2}\s*:[*_]{0,2}(?:\s+(.*)|)"
)
_PEOPLE: Final = {
    "deciders": "deciders",
    "decision makers": "deciders",
    "consulted": "consulted",
    "informed": "informed",
}


def _read_markdown(text: str) -> tuple[Draft, str, tuple[Section, ...]]:
    """Read front matter, title and head; return (draft, number of the decision, sections).
    NotReadable.
    """
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


def _title_heading(title: str, number: str = "") -> tuple[str, bool]:
    """Return the heading with a title, and whether reading it gives exactly that title."""
    words = title.replace("<!--", "&lt;!--")
    if number:
        line = f"# {number}. {words}"
    else:
        line = f"# {words}"
    read = split_sections(f"{line}\n\nText.")
    return line, read.head == "Text." and _numbered(read.title) == (number, title)


def _numbered(title: str) -> tuple[str, str]:
    """Split `7. Use X`, `ADR-0007: Use X`, `0007 - Use X` into (`7`, `Use X`); the number may be
    empty.
    """
    match = _NUMBERED.fullmatch(title.strip())
    if not match:
        return "", title.strip()
    number, words = next(
        pair for pair in (match.group(1, 2), match.group(3, 4), match.group(5, 6)) if pair[0]
    )
    return number.lstrip("0") or "0", words.strip()


def iso_date(text: str) -> str:
    """Return a date as ISO 8601 where it can be read as one (`12 Feb 2016`, `2016/02/12`, a
    moment); else empty.
    """
    date = text.strip().strip("*_` ")
    if match := _DIGITS.fullmatch(date):
        date = _iso(match[1], int(match[2]), match[3])
    elif (match := _DAY_FIRST.fullmatch(date)) and match[2].lower() in _MONTHS:
        date = _iso(match[3], _MONTHS.index(match[2].lower()) + 1, match[1])
    elif (match := _MONTH_FIRST.fullmatch(date)) and match[1].lower() in _MONTHS:
        date = _iso(match[3], _MONTHS.index(match[1].lower()) + 1, match[2])
    try:
        micros(date)
    except (ValueError, OverflowError):
        return ""
    if re.match(r"\d{4}-\d\d-\d\d", date):
        return date
    return ""


def _iso(year: str, month: int, day: str) -> str:
    return f"{year}-{month:02}-{int(day):02}"


def relation(line: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the field and the decisions of a line such as `Superseded by [2. Use
    Y](0002-use-y.md)`.

    None for a line that is anything else, or has more words than that.
    """
    relation_match = _RELATION.fullmatch(line.strip())
    if not relation_match:
        return None
    # by link (the file it leads to), or as `ADR-0007`
    without_links = _LINK.sub("", relation_match[2])
    links = [
        match[2].partition("#")[0].rpartition("/")[2] or match[1]
        for match in _LINK.finditer(relation_match[2])
    ]
    names = tuple(dict.fromkeys([*links, *_PLAIN_NAME.findall(without_links)]))
    # other words besides `and` between two names: then it is prose, and stays as it is
    if not names or re.search(r"\w", _PLAIN_NAME.sub("", without_links).replace("and", "")):
        return None
    return _FIELD.get(relation_match[1].lower(), "related_adrs"), names


def _status_words(text: str) -> tuple[str, tuple[str, ...], str]:
    """(the word of a status, the decisions that replaced it, the rest of the text).

    `superseded by [ADR-0005](0005-x.md)` → (`superseded`, (`0005-x.md`,), ``).
    """
    line = text.strip().strip("*_` ")
    if (related := relation(line)) and related[0] == "superseded_by":
        return "superseded", related[1], ""
    match = re.match(r"[A-Za-z]+(?:[ -][Rr]eview)?", line)
    word = match[0] if match else ""
    if word.lower().replace(" ", "_") not in {*DECISION.statuses, *DECISION.spellings}:
        return " ".join(line.lower().split()), (), ""
    return word.lower(), (), line[len(word) :].strip(" .,:;")


def _is_superseded_line(text: str, names: tuple[str, ...]) -> bool:
    """Return True where a status means exactly that these decisions replaced it."""
    return _status_words(text) == ("superseded", names, "")


def _read_list(draft: Draft, text: str) -> str:
    """Read a list such as `- Status: accepted` before the first section; return the lines that are
    anything else.
    """
    return "\n".join(line for line in text.split("\n") if not _read_line(draft, line))


def _read_line(draft: Draft, line: str) -> bool:
    match = _LINE.fullmatch(line.rstrip())
    key, value = (match[1].strip().lower(), (match[2] or "").strip()) if match else ("", "")
    if key == "status" and value and "status" not in draft.values:
        draft.put_status(value)
    elif key == "date" and iso_date(value) and "date" not in draft.values:
        draft.put("date", iso_date(value))
    elif key == "tags" and value:
        draft.put("tags", tuple(value.split(",")) if "," in value else tuple(value.split()))
    elif key in _PEOPLE and value:
        draft.put(_PEOPLE[key], tuple(one.strip() for one in value.split(",")))
    elif match and (related := relation(line.strip("-*+ "))):
        draft.put(*related)
    else:
        return False
    return True


def _is_exact_line(line: str, values: Mapping[str, Value], field: str) -> bool:
    """Return True where a line of the head, read back, gives exactly this field."""
    draft = Draft()
    return (
        field in values
        and "<!--" not in line
        and not _read_list(draft, line).strip()
        and draft.entry().values == {field: values[field]}
    )


_HEADS: Final = (
    ("context", "## Context and Problem Statement"),
    ("drivers", "## Decision Drivers"),
    ("alternatives", "## Considered Options"),
    ("decision", "## Decision Outcome"),
    ("rationale", "### Rationale"),
    ("consequences", "### Consequences"),
    ("confirmation", "### Confirmation"),
    ("violation_symptoms", "### Violation symptoms"),
    ("comparison", "## Pros and Cons of the Options"),
    ("more", "## More Information"),
)
"""Field → its heading, in the order of the format."""
_IN_BODY: Final = frozenset(name for name, _ in _HEADS) | {"title"}
"""Fields in the body of the file."""
_INSIDE: Final = frozenset(name for name, heading in _HEADS if heading.startswith("###"))
_CONSEQUENCES: Final = ("positive consequences", "negative consequences")
_KEYS: Final = {
    "status": "status",
    "date": "date",
    "deciders": "decision-makers",
    "consulted": "consulted",
    "informed": "informed",
}


def read_madr(text: str) -> Entry:
    """Return the decision in a file. NotReadable with line and reason."""
    return _read_sections(
        text, lambda heading: field_of_heading(heading) == "decision", _read_outcome, "# …"
    )


def _read_sections(
    text: str, is_special: Callable[[str], bool], read: Callable[[Draft, Section], None], title: str
) -> Entry:
    """Return the decision in a file, of which `read` reads the sections whose headings are
    special.
    """
    draft, number, sections = _read_markdown(text)
    for part in sections:
        if is_special(part.heading):
            read(draft, part)
        else:
            draft.section(part)
    if "title" not in draft.values:
        raise NotReadable(f"has no title: a heading `{title}` is missing.")
    return draft.entry(number)


def _read_outcome(draft: Draft, part: Section) -> None:
    """The decision, without the subsections that are fields of their own."""
    lines: list[str | None] = list(part.text.split("\n"))
    for sub in split_sections(part.text, 3, title=False).sections:
        text = _shift_headings(sub.text, -1)
        if _plain_heading(sub.heading) in _CONSEQUENCES:
            draft.put("consequences", f"### {sub.heading}\n\n{text}")
        elif field_of_heading(sub.heading) in _INSIDE:
            draft.section(Section(sub.heading, text, sub.line))
        else:
            continue
        # None, not deleted: the line numbers of the subsections after this one must stay right
        lines[sub.line - 1 : sub.line - 1 + sub.lines] = [None] * sub.lines
    draft.put("decision", "\n".join(line for line in lines if line is not None))


def _write_madr(entry: Entry, names: Mapping[str, Other]) -> str:
    """Return the file of a decision. `names`: decisions that are linked to; others are named as
    they are.
    """
    front: dict[str, Value] = {
        key: entry.values[field] for field, key in _KEYS.items() if entry.values.get(field)
    }
    line, exact = _title_heading(entry.text("title"))
    for field, value in entry.values.items():
        if field not in _KEYS and (field not in _IN_BODY or (field == "title" and not exact)):
            # the prefix keeps our keys apart from those that MADR has or will have
            front[f"kl-{field.replace('_', '-')}"] = value
    newer = entry.many("superseded_by")
    if entry.text("status") == "superseded" and len(newer) == 1:
        status = f"superseded by {newer[0]}"
        if _is_superseded_line(status, newer):
            if newer[0] in names:
                front["status"] = f"superseded by [{newer[0]}]({names[newer[0]].file})"
            else:
                front["status"] = status
            del front["kl-superseded-by"]
    if front:
        return f"---\n{_yaml_block(front)}\n---\n\n{line}\n{_outline(entry)}"
    return f"{line}\n{_outline(entry)}"


def _outline(entry: Entry) -> str:
    """Return the sections that are not empty, each after a blank line."""
    sections = []
    for name, heading in _HEADS:
        if name in _LIST_FIELDS:
            text = _bullet_list(entry.many(name))
        else:
            text = entry.text(name)
        # an empty Decision Outcome is written where subsections follow: they are read as its parts
        # only under it
        if text or (name == "decision" and any(map(entry.values.get, _INSIDE))):
            sections.append(
                f"\n{heading}\n\n{_shift_headings(text) if name in _INSIDE else text}".rstrip()
                + "\n"
            )
    return "".join(sections)


_FIRST: Final = ("context", "decision", "consequences")
_SECTIONS: Final = tuple(
    (one.name, one.section)
    for one in sorted(DECISION.fields, key=lambda one: one.name not in _FIRST)
    if one.section
)
_LINKS: Final = (
    ("supersedes", "Supersedes"),
    ("superseded_by", "Superseded by"),
    ("amends", "Amends"),
    ("amended_by", "Amended by"),
    ("related_adrs", "Related to"),
)
# in the text of a Markdown link these would end it early
_NO_LINK: Final = str.maketrans("[]()<>", "      ")


def read_nygard(text: str) -> Entry:
    """Return the decision in a file. NotReadable with line and reason."""
    return _read_sections(
        text, lambda heading: heading.strip().lower() == "status", _read_status, "# 1. …"
    )


def _read_status(draft: Draft, part: Section) -> None:
    for line in filter(str.strip, part.text.split("\n")):
        if related := relation(line.strip().strip("-*+ ")):
            draft.put(*related)
            if related[0] == "superseded_by":
                # adr-tools writes this line in place of the status that was there (`adr new -s`)
                draft.values["status"] = "superseded"
        elif "status" not in draft.values:
            draft.put_status(line)
        else:
            draft.leave("Status", line)


def write_nygard(entry: Entry, names: Mapping[str, Other]) -> str:
    """Return the file of a decision; what the form has no words for is in a block of YAML at the
    end.
    """
    if entry.name.isdecimal() and entry.name.isascii():
        number = entry.name.lstrip("0")
    else:
        number = ""
    title, exact = _title_heading(entry.text("title"), number)
    shown = {name for name, _ in _SECTIONS} | ({"title"} if exact else set())
    left = {key: value for key, value in entry.values.items() if key not in shown}
    blocks = [title]
    if _is_exact_line(f"Date: {entry.text('date')}", left, "date"):
        blocks.append(f"Date: {left.pop('date')}")
    status = _pop_status(left, names)
    if status:
        blocks += ["## Status", *status]
    for name, section in _SECTIONS:
        if text := _bullet_list(entry.many(name)) if name in _LIST_FIELDS else entry.text(name):
            blocks += [f"## {section}", text]
    return "\n\n".join(blocks) + "\n" + _details_section(left)


def _pop_status(left: dict[str, Value], names: Mapping[str, Other]) -> list[str]:
    """The paragraphs of the section Status; their fields are removed from `left`."""
    paragraphs = []
    links = [
        (field, word, identifiers)
        for field, word in _LINKS
        if isinstance(identifiers := left.get(field), tuple)
    ]
    links = [
        one
        for one in links
        if all(relation(f"{one[1]} {name}") == (one[0], (name,)) for name in one[2])
    ]
    word = str(left.get("status", ""))
    superseded = any(field == "superseded_by" for field, _, _ in links)
    if (
        word.isalpha()
        and word.isascii()
        and word == word.lower()
        and superseded == (word == "superseded")
    ):
        del left["status"]
        if not superseded:
            paragraphs += [word.capitalize()]
    elif superseded:
        links = [one for one in links if one[0] != "superseded_by"]
    for field, verb, targets in links:
        del left[field]
        paragraphs += [f"{verb} {_link(name, names)}" for name in targets]
    return paragraphs


def _link(name: str, names: Mapping[str, Other]) -> str:
    other = names.get(name)
    if not other:
        return name
    return f"[{other.number}. {other.title.translate(_NO_LINK)}]({other.file})"


_WORDS: Final = (("status", "Status"), ("deciders", "Deciders"), ("date", "Date"), ("tags", "Tags"))

_read_log4brains = read_madr
"""The same reader: a list is only another head."""


def _write_log4brains(entry: Entry, names: Mapping[str, Other]) -> str:
    """Return the file of a decision; what its list has no word for is in a block of YAML at the
    end.
    """
    title, exact = _title_heading(entry.text("title"))
    shown = _IN_BODY if exact else _IN_BODY - {"title"}
    left = {key: value for key, value in entry.values.items() if key not in shown}
    lines = []
    for field, word in _WORDS:
        line = f"- {word}: {', '.join(entry.many(field))}"
        if _is_exact_line(line, left, field):
            lines.append(line)
            del left[field]
    newer = entry.many("superseded_by")
    is_superseded = lines[:1] == ["- Status: superseded"] and len(newer) == 1
    if is_superseded and _is_superseded_line(f"superseded by {newer[0]}", newer):
        if newer[0] in names:
            file = names[newer[0]].file
        else:
            file = ""
        lines[0] += f" by [{file.removesuffix('.md')}]({file})" if file else f" by {newer[0]}"
        del left["superseded_by"]
    head = "\n" + "\n".join(lines) + "\n" if lines else ""
    return f"{title}\n{head}{_outline(entry)}{_details_section(left)}"


_ORDER: Final = (
    "id",
    "title",
    "status",
    "date",
    "context",
    "decision",
    "alternatives",
    "consequences",
    "supersedes",
    "tags",
    "governs",
)
"""The fields that every object has."""
_LISTS: Final = frozenset(("alternatives", "consequences", "supersedes", "tags", "governs"))
_ID_KEYS: Final = ("id", "adr_id", "adrid")


def read_json(text: str) -> list[Entry]:
    """Return the decisions of an object, a list of them, or a list under `decisions` or `adrs`.
    NotReadable.
    """
    try:
        found = json.loads(text.lstrip("\ufeff"))
    except json.JSONDecodeError as error:
        raise NotReadable(f"is no JSON: {error.msg}.", error.lineno) from None
    # json raises a plain ValueError for an integer of more than 4,300 digits (CPython 3.11)
    except (RecursionError, ValueError) as error:
        raise NotReadable(f"is no JSON that can be read: {error}.") from None
    if isinstance(found, dict):
        inner = next(
            (value for key, value in found.items() if key.lower() in ("decisions", "adrs")), None
        )
        if isinstance(inner, list):
            found = inner
        else:
            found = [found]
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise NotReadable(
            "must be an object with the fields of a decision, or a list of such objects."
        )
    return [_entry(one, number) for number, one in enumerate(found, 1)]


def _write_json(entry: Entry, names: Mapping[str, Any] | None = None) -> str:
    """Return the object of a decision: the fields that every object has, then the others."""
    return json.dumps(entry_to_dict(entry), indent=2, ensure_ascii=False) + "\n"


def entry_to_dict(entry: Entry) -> dict[str, Any]:
    """Return the object that `_write_json` prints."""
    plain: dict[str, Any] = {}
    for name in _ORDER:
        plain[name] = list(entry.many(name)) if name in _LISTS else entry.text(name)
    status = entry.text("status")
    plain["id"] = entry.name
    # people write it so; a text that would not be read back from that stays as it is
    plain["status"] = status.capitalize() if status.capitalize().lower() == status else status
    plain["consequences"] = _many(entry.text("consequences"))
    for name, value in entry.values.items():
        if name not in plain:
            plain[name] = list(value) if isinstance(value, tuple) else value
    return plain


def _many(text: str) -> list[str]:
    """The items of a list in Markdown; other text is a list of one."""
    items = list_items(text)
    if len(items) > 1 and _bullet_list(items) == text:
        return list(items)
    if text:
        return [text]
    return []


def _entry(plain: Mapping[str, Any], number: int) -> Entry:
    draft = Draft()
    name = ""
    for key, value in plain.items():
        field = _field_of_key(key)
        if key.lower() in _ID_KEYS and isinstance(value, str | int):
            name = str(value)
        elif value is None or isinstance(value, bool):
            draft.key(key, "" if value is None else str(value).lower())
        elif field and field.name == "consequences" and isinstance(value, list):
            items = [str(item) for item in value if item is not None]
            draft.put("consequences", items[0] if len(items) == 1 else _bullet_list(items))
        elif field and field.name == "status" and isinstance(value, str):
            _status(draft, value)
        elif field and field.name == "date" and isinstance(value, str):
            draft.put_date(value)
        else:
            draft.key(key, _leaf(value))
    if "title" not in draft.values:
        raise NotReadable(f"decision {number} has no title.")
    return draft.entry(name)


def _status(draft: Draft, value: str) -> None:
    if value.strip().isalpha():
        draft.put("status", value.strip().lower())
    else:
        draft.put_status(value)


def _leaf(value: Any) -> Any:
    """A value without depth: deeper values become JSON text."""
    if isinstance(value, Mapping):
        return {str(key): _text(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_text(item) for item in value if item is not None)
    if isinstance(value, str):
        return value
    return str(value)


def _text(item: Any) -> str:
    if isinstance(item, str):
        return item
    return json.dumps(item, ensure_ascii=False)


_DATED: Final = lazy_pattern(r"\d{8}-.*\.md")


class Format(NamedTuple):
    """A way to write decisions down."""

    name: str
    read: Callable[[str], Sequence[Entry]]
    """Text of a file → its decisions. NotReadable."""
    write: Callable[[Entry, Mapping[str, Other]], str]
    """(decision, how the others are linked to) → text of a file."""
    file: Callable[[str, str, str], str]
    """(number, title, date) → name of the file."""


def _numbered_file(number: str, title: str, date: str) -> str:
    return f"{number.zfill(4)}-{slug(title) or 'decision'}.md"


def _dated_file(number: str, title: str, date: str) -> str:
    return f"{date[:10].replace('-', '') or '00000000'}-{slug(title) or f'decision-{number}'}.md"


FORMATS: Final[Mapping[str, Format]] = {
    one.name: one
    for one in (
        Format("madr", lambda text: [read_madr(text)], _write_madr, _numbered_file),
        Format("nygard", lambda text: [read_nygard(text)], write_nygard, _numbered_file),
        Format("log4brains", lambda text: [_read_log4brains(text)], _write_log4brains, _dated_file),
        Format(
            "json",
            read_json,
            _write_json,
            lambda number, title, date: f"ADR-{number.zfill(4)}.json",
        ),
    )
}


def format_of(name: str, text: str) -> Format:
    """Return the format of a file, by its name and its text; MADR, the most forgiving, where
    nothing decides.
    """
    if name.lower().endswith(".json") or text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        return FORMATS["json"]
    # only MADR has front matter: log4brains has a list below the title, adr-tools a section Status
    if text.lstrip("\ufeff").startswith("---"):
        return FORMATS["madr"]
    parts = split_sections(text.replace("\r\n", "\n"))
    if any(one.heading.strip().lower() == "status" for one in parts.sections):
        return FORMATS["nygard"]
    return FORMATS["log4brains" if _DATED.fullmatch(name) else "madr"]
