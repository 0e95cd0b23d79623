"""Interchange: records of any kind as JSON or YAML, in the layouts of other tools too, and the plan of an import.

Fields are known by every name that a kind has for them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.config.yaml import ListNode, Node, TextNode, load_yaml
from kl_hooks.config.yaml import MapNode as Map
from kl_hooks.errors import UsageProblem
from kl_hooks.model.canonical import replace_surrogates
from kl_hooks.model.kind import SEEDED, Kind
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.model.record import Record, Value
from kl_hooks.records.document import text_outside_fields
from kl_hooks.records.front_matter import format_entry
from kl_hooks.records.query import get_records, values_to_dict
from kl_hooks.records.repository import identity_digest, is_id_of_kind
from kl_hooks.records.sync import sync
from kl_hooks.records.validate import validate
from kl_hooks.records.write import redact_values
from kl_hooks.store.database import chunks, placeholders

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


FORMATS: Final = ("json", "yaml")
_MOST_RECORDS: Final = 10_000
_NOT_ASCII: Final = re.compile("[^\x00-\x7f]")
"""What ASCII has not. In our YAML it stands between double quotes, where it can be escaped."""


@dataclass(frozen=True, slots=True)
class ImportedRecord:
    """A record as a file gives it."""

    id: str
    raw: Mapping[str, Any]
    """Values under names of fields, as `records.validate` takes them."""
    body: str
    """Markdown: what no field bears is in it too."""
    place: tuple[str, int, int]
    """Which of the file it is, line and column, as a Problem has it."""


def parse_records(kind: Kind, path: str, data: bytes) -> tuple[list[ImportedRecord], list[Problem]]:
    """Each record in a file, and everything wrong in it: with a problem there are no records, and without records one.

    A file holds one object or a list of them; it is JSON if its name says so, else YAML.
    """
    whole, problems = _parse_json(path, data) if path.endswith(".json") else _parse_yaml(path, data)
    items = whole if isinstance(whole, list) else [whole]
    found: list[ImportedRecord] = []
    if len(items) > _MOST_RECORDS:
        return [], [Problem(path, 0, 0, f"holds {len(items)} records; at most {_MOST_RECORDS} are read.")]
    if not items:
        return [], [
            Problem(path, 0, 0, "holds no record.", "Leave it out, or put one object, or a list of them, in it.")
        ]
    for number, item in enumerate([] if problems else items, 1):
        place = (path if len(items) == 1 else f"{path} ({number})", 0, 0)
        if not isinstance(item, Mapping):
            problems.append(Problem(*place, "expected keys and values.", "One object, or a list of them."))
            continue
        raw = {str(key): value for key, value in item.items()}
        identifier = str(next((raw.pop(name) for name in ("id", "Id", "ID") if name in raw), "") or "")
        body = next((raw.pop(name) for name in ("body", "Body") if name in raw), "") or ""
        if not isinstance(body, str):
            problems.append(Problem(*place, '"body" must be text.', "Markdown: what no field bears."))
            continue
        unknown: list[Problem] = []
        problems += validate(kind, raw, lambda name, place=place: place, unknown=unknown)[1]  # type: ignore[misc]
        known = {name for name in raw if not _is_unknown_field(kind, name)}
        rest = {name: value for name, value in raw.items() if name not in known and value not in (None, "", [], {})}
        said = {name: raw[name] for name in raw if name in known}
        found.append(ImportedRecord(identifier, said, _with_unknown_fields(replace_surrogates(body), rest), place))
    return ([] if problems else found), problems


def format_records(kinds: Mapping[str, Kind], records: Sequence[Record], form: str, *, ascii_only: bool = False) -> str:
    """The records as one file: an object, or a list of them where there are several.

    `ascii_only`: every other character is escaped, as JSON and YAML do it, so that any terminal can bear the text.
    """
    texts = [text_outside_fields(kinds[one.kind], one) for one in records]
    bodies: list[dict[str, Value]] = [{"body": text} if text else {} for text in texts]
    if form == "json":
        plain = [{"id": one.id} | values_to_dict(one) | body for one, body in zip(records, bodies, strict=True)]
        return json.dumps(plain[0] if len(plain) == 1 else plain, indent=2, ensure_ascii=ascii_only) + "\n"
    blocks = [
        [f"id: {one.id}", *(line for n, v in {**one.values, **body}.items() for line in format_entry(n, v))]
        for one, body in zip(records, bodies, strict=True)
    ]
    text = "".join(f"{'- ' if not n else '  '}{line}\n" for block in blocks for n, line in enumerate(block))
    text = "\n".join(blocks[0]) + "\n" if len(blocks) == 1 else text
    return _NOT_ASCII.sub(lambda found: f"\\U{ord(found[0]):08x}", text) if ascii_only else text


def _is_unknown_field(kind: Kind, name: str) -> bool:
    unknown: list[Problem] = []
    validate(kind, {name: "x"}, lambda _: ("", 0, 0), whole=False, unknown=unknown)
    return bool(unknown)


def _with_unknown_fields(body: str, rest: Mapping[str, Any]) -> str:
    """The body, and behind it, as Markdown, what no field bears: nothing is lost."""
    if not rest:
        return body
    lines = [
        f"- {name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in rest.items()
    ]
    return "\n".join([*([body, ""] if body else []), "Imported besides:", "", *lines])


def _parse_json(path: str, data: bytes) -> tuple[Any, list[Problem]]:
    try:
        return json.loads(data), []
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 0)
        return None, [Problem(path, line, getattr(error, "colno", 0), f"can't be read as JSON: {error}.")]


def _parse_yaml(path: str, data: bytes) -> tuple[Any, list[Problem]]:
    node, problems = load_yaml(path, data)
    if node is None:
        return None, problems or [Problem(path, 0, 0, "is empty.")]
    return _node_value(node), problems


def _node_value(node: Node) -> Any:
    if isinstance(node, TextNode):
        return node.value if node.value or not node.plain else None
    if isinstance(node, ListNode):
        return [_node_value(one) for one in node.items]
    assert isinstance(node, Map)
    return {key.value: _node_value(value) for key, value in node.entries}


_SEEDED: Final = frozenset(field.name for field in SEEDED)
_WHY_TAKEN: Final = {
    "gone": ("was deleted, and its id is never used again.", "Leave the id out: the record gets a new one."),
    "file": ("has a file that is not here.", "Bring it back from git, or leave the id out."),
    "state": ("is the id of another record.", "Leave it out: the record gets a new one."),
}
"""Where an id rests that no record can be asked for by → why it is not free, and what to do."""


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What can be written now."""

    new: tuple[ImportedRecord, ...]
    """Each with an id that is its own, or without one."""
    passed: tuple[str, ...]
    """Ids of those that are there already."""
    by: str
    """Who brings them in."""


def plan_import(
    ws: Workspace, kind: Kind, given: Sequence[ImportedRecord], sign: Callable[[dict[str, Any]], str]
) -> ImportPlan:
    """What these records come to. Problems, with everything that is in the way of any; nothing is written here.

    `sign` puts down in the values who stands behind a record, and gives whoever brings it in.
    """
    problems: list[Problem] = []
    named, by = [], ""
    for one in given:
        values, wrong = validate(kind, redact_values(one.raw), lambda name, place=one.place: place)  # type: ignore[misc]
        problems += wrong
        values = {name: value for name, value in values.items() if name not in _SEEDED}  # it was not seeded here
        said: dict[str, Any] = dict(values) | ({"expires": None} if one.raw.get("expires", "") is None else {})
        try:
            by = sign(said)
        except UsageProblem as refused:
            problems.append(Problem(*one.place, refused.reason, refused.hint))
        if kind.nature == "directive" and not said.get("source"):
            said["source"] = "import:" + PurePath(one.place[0]).name.partition(" (")[0]
        named.append(replace(one, raw=said, id=_imported_id(kind, one.id, said, problems, one.place)))
    sync(ws)
    there = {one.id for one in get_records(ws, [one.id for one in named if one.id])}
    new = [one for one in named if one.id not in there]
    problems += _id_conflicts(ws, kind, new)
    if problems:
        raise Problems(problems)
    asked = [replace(one, id="") for one in new] if kind.numbering == "hash" else new
    return ImportPlan(tuple(asked), tuple(dict.fromkeys(one.id for one in named if one.id in there)), by)


def _imported_id(
    kind: Kind, given: str, values: dict[str, Any], problems: list[Problem], place: tuple[str, int, int]
) -> str:
    """The id that a record is to have; empty: a new one."""
    if kind.numbering == "hash":
        return f"{kind.prefix}-{identity_digest(kind, values)}"
    if not given.startswith(f"{kind.prefix}-"):
        return ""  # another tool's
    if not is_id_of_kind(kind, given):
        problems.append(Problem(*place, f"{given!r} is no id of a {kind.name}.", f"Such as {kind.prefix}-0001."))
    return given


def _id_conflicts(ws: Workspace, kind: Kind, new: Sequence[ImportedRecord]) -> list[Problem]:
    """Ids that two of them share, and ids that were given once and are not free again."""
    found: list[Problem] = []
    first: dict[str, str] = {}
    rests = _storage_of_ids(ws, [one.id for one in new if one.id]) if kind.numbering != "hash" else {}
    for one in new:
        if one.id and one.id in first:
            reason = f"{one.id} is the id of {first[one.id]} too."
            found.append(Problem(*one.place, reason, "Leave one of them out, or its id."))
        elif one.id in rests:
            reason, hint = _WHY_TAKEN[rests[one.id]]
            found.append(Problem(*one.place, f"{one.id} {reason}", hint))
        first.setdefault(one.id, one.place[0])
    return found


def _storage_of_ids(ws: Workspace, ids: Sequence[str]) -> dict[str, str]:
    with ws.store.reading() as db:
        if db is None:
            return {}
        return {
            identifier: rests
            for some in chunks(ids)
            for identifier, rests in db.rows(f"SELECT id, rests FROM record WHERE id IN ({placeholders(some)})", some)
        }
