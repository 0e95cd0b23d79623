"""Interchange: records of any kind as JSON or YAML, in the layouts of other tools too, and the plan
of an import.

Fields are known by every name that a kind has for them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.config.yaml import ListNode, Node, TextNode, load_yaml
from kl_hooks.errors import UsageProblem
from kl_hooks.model.canonical import replace_surrogates
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.kind import SEEDED, Kind
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.model.record import Record, Value
from kl_hooks.records.document import format_entry, text_outside_fields
from kl_hooks.records.events import stored_records
from kl_hooks.records.query import get_records
from kl_hooks.records.repository import identity_digest
from kl_hooks.records.sync import sync
from kl_hooks.records.validate import has_field, validate
from kl_hooks.records.write import redact_values

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

_MAX_RECORDS: Final = 10_000
# `format_entry` puts such characters between double quotes, where YAML has escapes.
_NOT_ASCII: Final = lazy_pattern("[^\x00-\x7f]")
_SEEDED: Final = frozenset(field.name for field in SEEDED)
# Where a record is stored (column `rests`) → why its ID is taken, and a hint.
_WHY_TAKEN: Final = {
    "gone": (
        "was deleted, and its id is never used again.",
        "Leave the id out: the record gets a new one.",
    ),
    "file": ("has a file that is not here.", "Bring it back from git, or leave the id out."),
    "state": ("is the id of another record.", "Leave it out: the record gets a new one."),
}


class ImportedRecord(NamedTuple):
    """A record in a file that is imported."""

    id: str
    raw: Mapping[str, Any]
    """Values under names of fields, as `records.validate` takes them."""
    body: str
    """Markdown, with the values of unknown fields."""
    place: tuple[str, int, int]
    """The file and the number of the record in it, line and column, as in a Problem."""


class ImportPlan(NamedTuple):
    """The result of checking an import."""

    new: tuple[ImportedRecord, ...]
    """Each with an ID that is free, or without one."""
    existing: tuple[str, ...]
    """IDs of records that are there already."""
    by: str
    """The author of the import."""


def parse_records(kind: Kind, path: str, data: bytes) -> tuple[list[ImportedRecord], list[Problem]]:
    """Return the records of a file, or, if anything in it is wrong, its problems.

    A file has one object or a list of them; it is JSON if its name ends so, else YAML.
    """
    whole, problems = _parse_file(path, data)
    items = whole if isinstance(whole, list) else [whole]
    if len(items) > _MAX_RECORDS:
        return [], [
            Problem(path, 0, 0, f"holds {len(items)} records; at most {_MAX_RECORDS} are read.")
        ]
    if not items:
        hint = "Leave it out, or put one object, or a list of them, in it."
        return [], [Problem(path, 0, 0, "holds no record.", hint)]
    imported: list[ImportedRecord] = []
    for number, item in enumerate([] if problems else items, 1):
        place = (path if len(items) == 1 else f"{path} ({number})", 0, 0)
        if not isinstance(item, Mapping):
            problems.append(
                Problem(*place, "expected keys and values.", "One object, or a list of them.")
            )
            continue
        raw = {str(key): value for key, value in item.items()}
        identifier = str(
            next((raw.pop(name) for name in ("id", "Id", "ID") if name in raw), "") or ""
        )
        body = next((raw.pop(name) for name in ("body", "Body") if name in raw), "") or ""
        if not isinstance(body, str):
            problems.append(
                Problem(*place, '"body" must be text.', "Markdown: the text outside of fields.")
            )
            continue
        problems += validate(kind, raw, _at(place), unknown=[])[1]
        known_fields = {name: value for name, value in raw.items() if has_field(kind, name)}
        unknown_fields = {
            n: value
            for n, value in raw.items()
            if n not in known_fields and value not in (None, "", [], {})
        }
        body = _with_unknown_fields(replace_surrogates(body), unknown_fields)
        imported.append(ImportedRecord(identifier, known_fields, body, place))
    return ([] if problems else imported), problems


def format_records(
    kinds: Mapping[str, Kind], records: Sequence[Record], form: str, *, ascii_only: bool = False
) -> str:
    """Return the records as one file: an object, or a list of them where there are several.

    `ascii_only`: escape every other character, as JSON and YAML do it, so that any terminal can
    print the text.
    """
    texts = [text_outside_fields(kinds[one.kind], one) for one in records]
    bodies: list[dict[str, Value]] = [{"body": text} if text else {} for text in texts]
    if form == "json":
        plain = [
            {"id": one.id} | dict(one.values) | body
            for one, body in zip(records, bodies, strict=True)
        ]
        return (
            json.dumps(plain[0] if len(plain) == 1 else plain, indent=2, ensure_ascii=ascii_only)
            + "\n"
        )
    blocks = [
        [
            f"id: {one.id}",
            *(line for n, v in {**one.values, **body}.items() for line in format_entry(n, v)),
        ]
        for one, body in zip(records, bodies, strict=True)
    ]
    text = "".join(
        f"{'- ' if not n else '  '}{line}\n" for block in blocks for n, line in enumerate(block)
    )
    if len(blocks) == 1:
        text = "\n".join(blocks[0]) + "\n"
    # eight digits: the `\u` of YAML has four, and no surrogate pairs as JSON has them
    if not ascii_only:
        return text
    return _NOT_ASCII.sub(lambda match: f"\\U{ord(match[0]):08x}", text)


def plan_import(
    ws: Workspace,
    kind: Kind,
    imported_records: Sequence[ImportedRecord],
    sign: Callable[[dict[str, Any]], str],
) -> ImportPlan:
    """Check an import as a whole; write nothing. Problems, with everything that blocks it.

    `sign` sets the authority in the values of a record, and returns the author of the import.
    """
    problems: list[Problem] = []
    named = []
    author = ""
    for imported in imported_records:
        valid, wrong = validate(kind, redact_values(imported.raw), _at(imported.place))
        problems += wrong
        values: dict[str, Any] = {
            name: value for name, value in valid.items() if name not in _SEEDED
        }
        if imported.raw.get("expires", "") is None:
            values["expires"] = None
        try:
            author = sign(values)
        except UsageProblem as refused:
            problems.append(Problem(*imported.place, refused.reason, refused.hint))
        if kind.nature == "directive" and not values.get("source"):
            values["source"] = "import:" + PurePath(imported.place[0]).name.partition(" (")[0]
        named.append(
            imported._replace(
                raw=values,
                id=_imported_id(kind, imported.id, values, problems, imported.place),
            )
        )
    sync(ws)
    existing = {
        record.id for record in get_records(ws, [imported.id for imported in named if imported.id])
    }
    new = [imported for imported in named if imported.id not in existing]
    problems += _id_conflicts(ws, kind, new)
    if problems:
        raise Problems(problems)
    if kind.numbering == "hash":  # the ID follows from the values when they are written
        new = [imported._replace(id="") for imported in new]
    return ImportPlan(
        tuple(new),
        tuple(dict.fromkeys(imported.id for imported in named if imported.id in existing)),
        author,
    )


def _at(place: tuple[str, int, int]) -> Callable[[str], tuple[str, int, int]]:
    return lambda name: place


def _with_unknown_fields(body: str, unknown_fields: Mapping[str, Any]) -> str:
    """Return the body with the values of unknown fields after it, as a Markdown list."""
    if not unknown_fields:
        return body
    lines = [
        f"- {name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in unknown_fields.items()
    ]
    return "\n".join([*([body, ""] if body else []), "Imported besides:", "", *lines])


def _parse_file(path: str, data: bytes) -> tuple[Any, list[Problem]]:
    if not path.endswith(".json"):
        node, problems = load_yaml(path, data)
        if node is None:
            return None, problems or [Problem(path, 0, 0, "is empty.")]
        return _plain_value(node), problems
    try:
        return json.loads(data), []
    # ValueError: also bytes that are no UTF (UnicodeDecodeError), which has no line and column
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 0)
        return None, [
            Problem(path, line, getattr(error, "colno", 0), f"can't be read as JSON: {error}.")
        ]


def _plain_value(node: Node) -> Any:
    if isinstance(node, TextNode):
        if node.value or not node.plain:
            return node.value
        return None
    if isinstance(node, ListNode):
        return [_plain_value(one) for one in node.items]
    return {key.value: _plain_value(value) for key, value in node.entries}


def _imported_id(
    kind: Kind,
    stated_id: str,
    values: dict[str, Any],
    problems: list[Problem],
    place: tuple[str, int, int],
) -> str:
    """Return the ID that a record will have; empty: a new one."""
    if kind.numbering == "hash":
        return f"{kind.prefix}-{identity_digest(kind, values)}"
    if not stated_id.startswith(f"{kind.prefix}-"):
        return ""  # another tool's
    if not kind.has_id(stated_id):
        problems.append(
            Problem(
                *place, f"{stated_id!r} is no id of a {kind.name}.", f"Such as {kind.prefix}-0001."
            )
        )
    return stated_id


def _id_conflicts(ws: Workspace, kind: Kind, new: Sequence[ImportedRecord]) -> list[Problem]:
    """Return the IDs that two of them share, and those that were used before."""
    problems: list[Problem] = []
    first: dict[str, str] = {}
    if kind.numbering != "hash":
        stored = stored_records(ws, [imported.id for imported in new if imported.id])
    else:
        stored = {}
    for imported in new:
        if imported.id and imported.id in first:
            reason = f"{imported.id} is the id of {first[imported.id]} too."
            problems.append(Problem(*imported.place, reason, "Leave one of them out, or its id."))
        elif imported.id in stored:
            reason, hint = _WHY_TAKEN[stored[imported.id].rests]
            problems.append(Problem(*imported.place, f"{imported.id} {reason}", hint))
        first.setdefault(imported.id, imported.place[0])
    return problems
