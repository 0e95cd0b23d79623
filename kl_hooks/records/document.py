"""Authored files: front matter and sections parsed into a record, a new file rendered, fields
changed in place.

Every YAML reader reads a written scalar as exactly the same text, and no character in it is
invisible to a reviewer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kl_hooks.config.yaml import ListNode, MapNode, Node, TextNode, load_yaml
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.kind import Field, Kind
from kl_hooks.model.problem import Problem
from kl_hooks.model.record import Record, Value
from kl_hooks.model.text import safe_text
from kl_hooks.records.repository import identity_digest
from kl_hooks.records.validate import node_in, takes_titles, validate
from kl_hooks.store.files import MAX_BYTES

_FENCE: Final = lazy_pattern(r"---[ \t]*")
_CONFLICT_BEGIN: Final = "<<<<<<< "
_CONFLICT_END: Final = ">>>>>>> "
_PLAIN_SCALAR: Final = lazy_pattern(r"[A-Za-z0-9](?:[A-Za-z0-9 ._/@()+-]|:(?=[A-Za-z0-9_./]))*")
# Plain words that readers of YAML 1.1 take for a boolean, a number or base 60 (PyYAML: `no`,
# `12:30`).
_OTHER_TYPE: Final = lazy_pattern(
    r"(?i:true|false|yes|no|on|off|null|y|n)|[-+]?[0-9.][0-9_.]*(?:e[-+]?[0-9]+)?|0[xob][0-9a-f]+|[0-9]+(?::[0-9]+)+"
)
_DATE: Final = lazy_pattern(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*")
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# Control and bidirectional characters (CVE-2021-42574): text with one goes into the front matter,
# escaped.
_UNSAFE_IN_BODY: Final = lazy_pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]"
)
_TITLE: Final = lazy_pattern(r"# +(.+?) *#*")
_BULLET: Final = lazy_pattern(r"[-*+] +(.*)")
_COMMENTS_ONLY: Final = lazy_pattern(r"(?:<!--(?:(?!-->).)*-->\s*)+", re.DOTALL)
_UNQUOTED_TYPES: Final = ("date", "number", "flag")


class KeySpan(NamedTuple):
    """The lines (from 0, end exclusive) of a key and its value, and the column of the value from
    0.
    """

    key: str
    start: int
    end: int
    column: int
    one_line: bool
    """True where the value is a plain scalar on the line of its key: a comment may follow it."""


class FrontMatter(NamedTuple):
    """Parsed front matter."""

    raw: dict[str, Any]
    """Key → text, list of text or map of text, as written."""
    spans: tuple[KeySpan, ...]
    end: int
    """The line of the second `---`, from 0; the body begins after it."""


class Section(NamedTuple):
    """A heading of the second level and the text under it: lines `start` (from 0) to `end`
    (exclusive) of a body.
    """

    heading: str
    """As written; empty: the text before the first heading."""
    start: int
    end: int

    def text_in(self, lines: Sequence[str]) -> str:
        """Its text without empty lines around it; a comment alone, as in a template, counts as
        none.
        """
        own = lines[self.start + bool(self.heading) : self.end]
        filled = [number for number, line in enumerate(own) if line.strip()]
        if filled:
            text = "\n".join(own[filled[0] : filled[-1] + 1])
        else:
            text = ""
        if _COMMENTS_ONLY.fullmatch(text):
            return ""
        return text


class ParsedDocument(NamedTuple):
    """The result of reading an authored file."""

    record: Record | None
    """None where anything in it is invalid."""
    problems: tuple[Problem, ...]
    remarks: tuple[Problem, ...] = ()
    """What is odd but harmless: unknown keys, an ID that is not in the file's name."""


def duplicate_id(
    kind: str, identifier: str, path: str, others: Sequence[str], line: int = 1
) -> Problem:
    """Return the problem of a file whose ID other files have too."""
    hint = "Give one of them another id, and a name that begins with it."
    if kind == "decision":  # the only kind with a command for it
        hint = f"Give one of them a new id: kl decision renumber {path}"
    return Problem(path, line, 1, f"{identifier} is the id of {', '.join(others)} too.", hint)


def read_front_matter(
    path: str, lines: list[str], *, lenient: bool = False
) -> tuple[FrontMatter | None, list[Problem]]:
    """Return the front matter of these lines and its problems; None where it can't be read.

    `lenient`: what is nested deeper than ours ever is belongs to another program, and is omitted.
    """
    conflict = next((n for n, line in enumerate(lines) if line.startswith(_CONFLICT_BEGIN)), None)
    if conflict is not None and any(line.startswith(_CONFLICT_END) for line in lines[conflict:]):
        return None, [
            Problem(
                path,
                conflict + 1,
                1,
                "holds an unfinished merge.",
                "Resolve it, then save the file.",
            )
        ]
    if not lines or not _FENCE.fullmatch(lines[0]):
        return None, [
            Problem(
                path, 1, 1, "has no front matter.", "Begin the file with `---`, `title: …`, `---`."
            )
        ]
    end = next((n for n, line in enumerate(lines[1:], 1) if _FENCE.fullmatch(line)), None)
    if end is None:
        return None, [
            Problem(path, 1, 1, "the front matter never ends.", "Close it with a line `---`.")
        ]
    # an empty first line, so that the parser counts lines of the file
    text = "\n" + "\n".join(lines[1:end]) + "\n"
    node, problems = load_yaml(path, text.encode("utf-8", "surrogatepass"))
    if problems:
        return None, problems
    if node is None:
        return FrontMatter({}, (), end), []
    if not isinstance(node, MapNode):
        return None, [
            Problem(path, 2, 1, "the front matter must be keys and values.", "Write `title: …`.")
        ]
    raw = {
        key.value: _node_value(path, value, [] if lenient else problems)
        for key, value in node.entries
    }
    return (None if problems else FrontMatter(raw, tuple(_spans(node, lines, end)), end)), problems


def format_entry(name: str, value: Value, typed: bool = False) -> list[str]:
    """Return the lines of a key and its value. `typed`: the field makes it a date or number: no
    quotes.
    """
    if isinstance(value, Mapping):
        return [f"{name}:", *(f"  {_scalar(key)}: {_scalar(item)}" for key, item in value.items())]
    if not isinstance(value, tuple):
        return [f"{name}: {_scalar(value, typed)}"]
    shown = [_scalar(item) for item in value]
    flow = f"{name}: [{', '.join(shown)}]"
    if len(flow) <= 100 and all(
        len(item) <= 24 and re.fullmatch(r"[\w.-]+", item) for item in shown
    ):
        return [flow]
    return [f"{name}:", *(f"  - {item}" for item in shown)]


def _spans(node: MapNode, lines: list[str], end: int) -> Iterator[KeySpan]:
    """Yield where each key is; empty lines and comments before the next key belong to neither."""
    starts = [key.line - 1 for key, _ in node.entries]
    for (key, value), start, following in zip(
        node.entries, starts, [*starts[1:], end], strict=True
    ):
        last = following
        while last > start + 1 and (
            not lines[last - 1].strip() or lines[last - 1].lstrip().startswith("#")
        ):
            last -= 1
        one_line = (
            isinstance(value, TextNode) and value.plain and bool(value.value) and last == start + 1
        )
        yield KeySpan(key.value, start, last, value.column - 1, one_line)


def _node_value(path: str, node: Node, problems: list[Problem]) -> Any:
    if isinstance(node, TextNode):
        if node.value or not node.plain:
            return node.value
        return None
    if isinstance(node, ListNode):
        inner = node.items
    else:
        inner = tuple(value for _, value in node.entries)
    for inner_node in inner:
        if not isinstance(inner_node, TextNode):
            problems.append(
                Problem(
                    path,
                    inner_node.line,
                    inner_node.column,
                    "is nested too deep here.",
                    "Write text.",
                )
            )
    if isinstance(node, ListNode):
        return [inner_node.value for inner_node in node.items if isinstance(inner_node, TextNode)]
    return {
        key.value: inner_node.value
        for key, inner_node in node.entries
        if isinstance(inner_node, TextNode)
    }


def _scalar(value: str | int | bool, typed: bool = False) -> str:
    if isinstance(value, bool):
        if value:
            return "true"
        return "false"
    if isinstance(value, int):
        return str(value)
    plain = _PLAIN_SCALAR.fullmatch(value) and not value.endswith(" ")
    if plain and (typed or not (_OTHER_TYPE.fullmatch(value) or _DATE.fullmatch(value))):
        return value
    # U+FFFE and U+FFFF are no characters of YAML, and not among those that `safe_text` escapes
    letters = (
        f"\\u{ord(c):04x}" if c in "\ufffe\uffff" else _ESCAPES.get(c) or safe_text(c)
        for c in value
    )
    return f'"{"".join(letters)}"'


def read_document(kind: Kind, path: str, data: bytes) -> ParsedDocument:
    """Read the authored file `path` with the content `data`. Raises nothing, whatever the bytes."""
    if len(data) > MAX_BYTES:
        problem = Problem(
            path, 0, 0, f"is larger than {MAX_BYTES} bytes.", "Shorten it; link to the rest."
        )
        return ParsedDocument(None, (problem,))
    try:
        text = data.decode("utf-8-sig")  # some editors on Windows write a byte order mark
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return ParsedDocument(
            None, (Problem(path, line, 0, "this line is not UTF-8.", "Save the file as UTF-8."),)
        )
    lines = split_lines(text)
    front, problems = read_front_matter(path, lines, lenient=bool(kind.folders))
    if front is None:
        return ParsedDocument(None, tuple(problems))
    if kind.folders:
        return _read_skill(kind, path, front, lines[front.end + 1 :])
    places = {span.key: span.start + 1 for span in front.spans}
    raw: dict[str, Any] = dict(front.raw)
    body = lines[front.end + 1 :]
    for name, (line, value) in _section_values(kind, body, front).items():
        raw[name], places[name] = value, front.end + 2 + line
    stated_id = raw.pop("id", None)

    def locate(name: str) -> tuple[str, int, int]:
        return (path, places.get(name, 1), 1)

    remarks: list[Problem] = []
    values, wrong = validate(kind, raw, locate, unknown=remarks)
    name = path.rpartition("/")[2]
    if not isinstance(stated_id, str) or not kind.has_id(stated_id):
        wrong.append(
            Problem(
                *locate("id"), f"the id must be like {kind.prefix}-0001.", "Write it as `id: …`."
            )
        )
    elif not name.startswith(stated_id) or name[len(stated_id)] not in "-.":
        remarks.append(
            Problem(
                *locate("id"),
                f"{stated_id} is in a file of another name.",
                f"Rename it: {stated_id}-….md",
            )
        )
    if wrong:
        return ParsedDocument(None, tuple(sorted(wrong)), tuple(remarks))
    values.setdefault("status", kind.statuses[0])
    lines_of_fields = {
        field.name: places[name] for name in places if (field := kind.by_name.get(name))
    }
    return ParsedDocument(
        Record(kind.name, str(stated_id), values, "\n".join(body), path, lines_of_fields),
        (),
        tuple(remarks),
    )


def _section_values(kind: Kind, body: list[str], front: FrontMatter) -> dict[str, tuple[int, Any]]:
    """Return field → (line in the body, value of its section)."""
    value_of_field: dict[str, tuple[int, Any]] = {}
    for section in split_sections(body):
        field = _section_field(kind, section)
        if field is not None and field.name not in value_of_field and field.name not in front.raw:
            value_of_field[field.name] = (section.start, _section_value(field, body, section))
    if "title" not in front.raw and (title := leading_title(body)):
        value_of_field.setdefault("title", (0, title))
    return value_of_field


def _section_field(kind: Kind, section: Section) -> Field | None:
    """Return the field whose section has this heading: its own, or the name or alias of such a
    field.
    """
    named = {name.replace("_", " "): field for name, field in kind.by_name.items() if field.section}
    named |= {field.section.lower(): field for field in kind.all_fields if field.section}
    return named.get(section.heading.strip().lower())


def _section_value(field: Field, body: list[str], section: Section) -> Any:
    text = section.text_in(body)
    if field.type != "lines":
        return text
    return list(list_items(text))


def text_outside_fields(kind: Kind, record: Record) -> str:
    """Return the body of a file without the sections whose content is the value of a field."""
    body = split_lines(record.body)
    dropped: set[int] = set()
    fields_read: set[str] = set()
    for section in split_sections(body):
        field = _section_field(kind, section)
        if field is None or field.name in fields_read:
            continue
        fields_read.add(field.name)
        values, _ = validate(
            kind,
            {field.name: _section_value(field, body, section)},
            lambda _: ("", 0, 0),
            whole=False,
        )
        if field.name in values and values[field.name] == record.values.get(field.name):
            dropped.update(range(section.start, section.end))
    return "\n".join(line for number, line in enumerate(body) if number not in dropped).strip("\n")


def render_document(kind: Kind, record: Record) -> str:
    """Return a record as a new file: front matter, its body, then a section for each field that has
    one.
    """
    if kind.folders:
        return _change_skill(kind, f"---\n---\n\n{record.body.strip()}\n", record.values)
    head = ["---", f"id: {record.id}"]
    if record.body.strip():
        body = [record.body.strip("\n"), ""]
    else:
        body = []
    sections: list[str] = []
    instead: list[str] = []
    """The entries of the front matter for these sections."""
    for field in kind.all_fields:
        value = record.values.get(field.name)
        if value is None:
            continue
        if field.section and _fits_in_section(field, value):
            sections += [f"## {field.section}", "", _value_to_markdown(value), ""]
            instead += format_entry(field.name, value)
        else:
            head += format_entry(field.name, value, field.type in _UNQUOTED_TYPES)
    text = "\n".join([*head, "---", "", *body, *sections])
    # read back: the body may have a section of its own for one of these fields, which would be read
    # instead
    read = read_document(kind, f"{record.id}.md", text.encode("utf-8", "replace")).record
    if read is None or read.values != record.values:
        text = "\n".join([*head, *instead, "---", "", *body])
    return text


def change_fields(kind: Kind, text: str, values: Mapping[str, Value | None]) -> str:
    """Return the text of a file with some fields changed, every other byte as its author left it.

    None takes a field out. ValueError for a text that can't be read: what is not understood is not
    changed.
    """
    if kind.folders:
        return _change_skill(kind, text, values)
    for name, value in values.items():
        field = kind.by_name[name]
        changed = _change_field(kind, text, field, value)
        read = read_document(kind, "a.md", changed.encode("utf-8", "replace")).record
        # a section that would be read as another text (one with a heading in it) goes to the front
        # matter, escaped
        if read is not None and read.values.get(field.name) != value:
            changed = _change_field(kind, text, field, value, as_section=False)
        text = changed
    return text


def template(kind: Kind, raw: Mapping[str, Any] | None = None) -> str:
    """Return an empty file of a kind, each field with a line about its use; the values of `raw` are
    filled in.
    """
    stated_values = dict(raw or {})
    if kind.folders:
        return _skill_template(kind, stated_values)
    head = ["---", f"# A {kind.name}: {kind.purpose}", f"id: {kind.prefix}-0000"]
    body: list[str] = []
    for field in kind.all_fields:
        if field.internal or field.name in ("updated", "superseded_by"):
            continue
        value = stated_values.get(field.name)
        if field.section:
            if isinstance(value, list):
                text = "\n".join(f"- {one}" for one in value)
            else:
                text = str(value or "")
            body += [f"## {field.section}", "", text or f"<!-- {field.description} -->", ""]
        elif value is not None:
            head += format_entry(field.name, tuple(value) if isinstance(value, list) else value)
        else:
            if field.choices:
                choices = f" One of: {', '.join(field.choices)}."
            else:
                choices = ""
            empty = f"# {field.name}:{' []' if field.type in ('lines', 'words', 'ids') else ''}"
            if field.name == "status" or field.required:
                if field.name == "status":
                    empty = f"status: {kind.statuses[0]}"
                else:
                    empty = f"{field.name}:"
            head += [f"# {field.description}{choices}", empty]
    return "\n".join([*head, "---", "", *body])


def _fits_in_section(field: Field, value: Value) -> bool:
    """Return True if a section with this value, and another one after it, would be read back as
    this very value.
    """
    text = _value_to_markdown(value)
    if _UNSAFE_IN_BODY.search(text):
        return False
    lines = ["## X", "", *split_lines(text), "", f"## {field.section}", ""]
    sections = split_sections(lines)
    if len(sections) != 3 or sections[2].start != len(lines) - 2:
        return False
    read = sections[1].text_in(lines)
    return (list_items(read) if isinstance(value, tuple) else read) == value


def _change_field(
    kind: Kind, text: str, field: Field, value: Value | None, *, as_section: bool = True
) -> str:
    """Change a field where it is; a new one becomes a section where it can, else an entry of the
    front matter.
    """
    lines = split_lines(text.removeprefix("\ufeff"))
    front, problems = read_front_matter("", lines)
    if front is None:
        raise ValueError(str(problems[0]))
    span = next((one for one in front.spans if kind.by_name.get(one.key) == field), None)
    if span is None and field.section:
        in_section = value is None or (as_section and _fits_in_section(field, value))
        body = front.end + 1
        section = next(
            (one for one in split_sections(lines[body:]) if _section_field(kind, one) == field),
            None,
        )
        block: list[str] = []
        if value is not None and in_section:
            if section:
                heading = section.heading
            else:
                heading = field.section
            block = [f"## {heading}", "", *split_lines(_value_to_markdown(value)), ""]
        if section is not None:
            lines[body + section.start : body + section.end] = block
        elif block:
            while lines and not lines[-1].strip():
                lines.pop()
            lines += ["", *block]
        if in_section:
            return _join_lines(text, lines)
    if value is None:
        new = []
    else:
        new = format_entry(span.key if span else field.name, value, field.type in _UNQUOTED_TYPES)
    if span is None:
        lines[front.end : front.end] = new
        return _join_lines(text, lines)
    after_value = lines[span.start][span.column + len(str(front.raw[span.key])) :]
    if span.one_line and len(new) == 1 and re.match(r"\s+#", after_value):
        new[0] += after_value  # the comment after the old value is its author's, and stays
    lines[span.start : span.end] = new
    return _join_lines(text, lines)


def _join_lines(before: str, lines: list[str]) -> str:
    """Join the lines with the line ends, and the byte order mark, of the text before."""
    # A checkout may have CRLF (`core.autocrlf`): mixed line ends would show as a change of every
    # line.
    if "\r\n" in before.partition("\n")[0] + "\n":
        end = "\r\n"
    else:
        end = "\n"
    return ("\ufeff" if before.startswith("\ufeff") else "") + end.join(lines)


def split_lines(body: str) -> list[str]:
    """Return the lines of a text without their ends; only newlines divide."""
    return [line.removesuffix("\r") for line in body.split("\n")]


def split_sections(lines: Sequence[str]) -> list[Section]:
    """Return the sections of an authored file, in order; the first is what precedes them."""
    # commands that read no file need no parser
    from kl_hooks.records.markdown import section_headings, with_sections

    sections = list(with_sections(section_headings(lines), len(lines)))
    begin = sections[0][0].line if sections else len(lines)
    return [
        Section("", 0, begin),
        *(Section(heading.words, heading.line, text.stop) for heading, text in sections),
    ]


def leading_title(lines: Sequence[str]) -> str:
    """Return the heading of the first level that begins the text; empty where there is none."""
    match = _TITLE.fullmatch(next((line for line in lines if line.strip()), ""))
    if not match:
        return ""
    return match[1]


def fields_by_heading(
    lines: Sequence[str], texts: Mapping[str, str], lists: Mapping[str, str]
) -> dict[str, Any]:
    """Return field → the text or the list items under its headings, several of them joined in their
    order.

    `texts` and `lists`: heading in small letters → field.
    """
    found_texts: dict[str, list[str]] = {}
    found_lists: dict[str, list[str]] = {}
    for section in split_sections(lines)[1:]:
        heading = section.heading.strip().lower().rstrip(":")
        text = section.text_in(lines)
        if text and heading in lists:
            found_lists.setdefault(lists[heading], []).extend(list_items(text))
        elif text and heading in texts:
            found_texts.setdefault(texts[heading], []).append(text)
    return {**{name: "\n\n".join(parts) for name, parts in found_texts.items()}, **found_lists}


def list_items(text: str) -> tuple[str, ...]:
    """Return the items of a list, continuation lines joined to them; a paragraph outside a list is
    an item too.
    """
    item_lines: list[list[str]] = []
    gap = True
    for line in split_lines(text):
        bullet = _BULLET.fullmatch(line)
        if bullet:
            item_lines.append([bullet[1]])
        elif line.strip() and (not gap or (item_lines and line.startswith("  "))):
            if gap:
                item_lines[-1].append("")
            item_lines[-1].append(line[2:] if line.startswith("  ") else line)
        elif line.strip():
            item_lines.append([line])
        gap = not line.strip()
    return tuple("\n".join(item) for item in item_lines)


def _value_to_markdown(value: Value) -> str:
    """Return text as it is, a tuple as a list."""
    if not isinstance(value, tuple):
        return str(value)
    return "\n".join("- " + item.replace("\n", "\n  ") for item in value)


# --- SKILL.md: the format of agentskills.io, which coding agents read by themselves. What it has no
# key for is in `metadata`, text by text, which the format leaves to whoever adds something.

SKILL_NAME: Final = lazy_pattern(r"(?=.{1,64}\Z)[a-z0-9]+(?:-[a-z0-9]+)*")
"""What the format allows as a name."""
_SKILL_KEYS: Final = {
    "title": "name",
    "description": "description",
    "license": "license",
    "compatibility": "compatibility",
    "allowed_tools": "allowed-tools",
}
"""Field → its key in the front matter of the format."""
_OUR_KEY: Final = "kl-"


def skill_node(name: str) -> str:
    """Return the ID of a skill in the graph, and in fields that name other skills:
    `skill:pdf-tools`.
    """
    return node_in("skill", name)


def _read_skill(kind: Kind, path: str, front: FrontMatter, body: list[str]) -> ParsedDocument:
    """Read a SKILL.md, whoever wrote it. Without our keys its status is active, and nobody vouches
    for it.
    """
    folder_name = path.rpartition("/")[0].rpartition("/")[2]
    raw: dict[str, Any] = {"status": kind.statuses[0]}
    for name, key in _SKILL_KEYS.items():
        value = front.raw.get(key)
        # one agent writes its tools as a list
        raw[name] = " ".join(value) if isinstance(value, list) else value
    raw["title"] = raw["title"] or folder_name
    first_text_line = next(
        (one for one in body if one.strip() and not one.startswith("<!--")), None
    )
    raw["description"] = raw["description"] or (first_text_line and first_text_line.lstrip("# "))
    metadata = front.raw.get("metadata")
    metadata_by_key = metadata if isinstance(metadata, dict) else {}
    raw["version"] = metadata_by_key.get("version") or front.raw.get("version")
    ours = {
        key.removeprefix(_OUR_KEY).replace("-", "_"): text
        for key, text in metadata_by_key.items()
        if key.startswith(_OUR_KEY)
    }
    for name, value in ours.items():
        field = kind.by_name.get(name)
        if field is not None and field.type in ("ids", "words", "lines"):
            raw[name] = _listed(str(value))
        else:
            raw[name] = value
    metadata_line = next((span.start + 1 for span in front.spans if span.key == "metadata"), 1)
    line_by_field = {
        key: span.start + 1
        for span in front.spans
        for key, k in _SKILL_KEYS.items()
        if k == span.key
    }

    def locate(name: str) -> tuple[str, int, int]:
        return (path, line_by_field.get(name, metadata_line), 1)

    remarks: list[Problem] = []
    values, problems = validate(kind, raw, locate, unknown=remarks)
    if problems:
        return ParsedDocument(None, tuple(sorted(problems)), tuple(remarks))
    name = str(values["title"])
    if folder_name and name != folder_name:
        hint = (
            f"Rename the folder to {name}, or the skill to {folder_name}: both must have one name."
        )
        remarks.append(Problem(*locate("title"), f"{name} is in the folder {folder_name}.", hint))
    if not SKILL_NAME.fullmatch(name):
        hint = "Small letters, digits and single hyphens, at most 64 characters."
        remarks.append(Problem(*locate("title"), f"{safe_text(name)} is no name of a skill.", hint))
    identifier = f"{kind.prefix}-{identity_digest(kind, values)}"
    lines_of_fields = {name: locate(name)[1] for name in values}
    return ParsedDocument(
        Record(kind.name, identifier, values, "\n".join(body), path, lines_of_fields),
        (),
        tuple(remarks),
    )


def _listed(text: str) -> str | list[str]:
    """Return a list that `_joined` made a text; what a person wrote is split at its commas, as
    everywhere.
    """
    try:
        if text.startswith("["):
            decoded = json.loads(text)
        else:
            decoded = None
    except (ValueError, RecursionError):
        return text
    if isinstance(decoded, list) and all(isinstance(one, str) for one in decoded):
        return decoded
    return text


def _joined(kind: Kind, field: Field, value: Value) -> str:
    """Return a value as the text that the format allows in `metadata`."""
    if not isinstance(value, tuple):
        return str(value)
    # names alone, as people write them
    bare = [
        one.partition(":")[2]
        if takes_titles(kind, field) and node_in(kind.name, one.partition(":")[2]) == one
        else one
        for one in value
    ]
    joined = ", ".join(bare)
    is_plain = (
        not joined.startswith("[")
        and joined.split(", ") == bare
        and not any("," in one for one in bare)
    )
    if is_plain:
        return joined
    return json.dumps(bare, ensure_ascii=False)


def _change_skill(kind: Kind, text: str, values: Mapping[str, Value | None]) -> str:
    """Return a SKILL.md with some fields changed. ValueError where that would lose what another
    program wrote.
    """
    lines = split_lines(text.removeprefix("\ufeff"))
    front, problems = read_front_matter("", lines)
    if front is None:
        raise ValueError(str(problems[0]))
    metadata = front.raw.get("metadata")
    written: dict[str, str] = {**metadata} if isinstance(metadata, dict) else {}
    ours = dict(written)
    changed: dict[str, Value | None] = {}
    for field in kind.all_fields:
        if field.name not in values:
            continue
        value = values[field.name]
        if field.name in _SKILL_KEYS:
            changed[_SKILL_KEYS[field.name]] = value
            continue
        if field.name == "version":
            key = "version"
        else:
            key = f"{_OUR_KEY}{field.name.replace('_', '-')}"
        ours.pop(key, None)
        if value is not None:
            ours[key] = _joined(kind, field, value)
    if ours != written:
        changed["metadata"] = ours or None
    for key, value in changed.items():
        front, _ = read_front_matter("", lines)
        assert front is not None
        span = next((one for one in front.spans if one.key == key), None)
        if value is None:
            new = []
        else:
            new = format_entry(key, value)
        if span is None:
            lines[front.end : front.end] = new
        else:
            lines[span.start : span.end] = new
    return _join_lines(text, lines)


def _skill_template(kind: Kind, stated_values: Mapping[str, Any]) -> str:
    """Return an empty SKILL.md, or one with these values."""
    head = ["---", f"# A {kind.name}: {kind.purpose}"]
    for name, key in _SKILL_KEYS.items():
        field = kind.by_name[name]
        value = stated_values.get(name)
        if value:
            entry = format_entry(key, str(value))
        else:
            entry = [f"{key}:" if field.required else f"# {key}:"]
        head += [f"# {field.description}", *entry]
    head += [
        "metadata:",
        *(format_entry("  version", str(stated_values.get("version") or "1.0.0"))),
    ]
    for field in kind.all_fields:
        if field.name in (*_SKILL_KEYS, "version", "updated", "superseded_by") or field.internal:
            continue
        value = stated_values.get(field.name)
        if isinstance(value, list):
            text = ", ".join(map(str, value))
        else:
            text = str(value or "")
        if field.choices:
            choices = f" One of: {', '.join(field.choices)}."
        else:
            choices = ""
        key = f"  {_OUR_KEY}{field.name.replace('_', '-')}"
        head += [
            f"  # {field.description}{choices}",
            *(format_entry(key, text) if text else [f"  # {key.strip()}:"]),
        ]
    return "\n".join([*head, "---", "", "<!-- What an agent does, step by step. -->", ""])
