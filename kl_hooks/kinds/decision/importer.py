"""Import of decisions from files of other tools: all of them become records, or none."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.config.yaml import MapNode as Map
from kl_hooks.config.yaml import Node, TextNode, load_yaml
from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.catalog import DECISION
from kl_hooks.kinds.decision.formats.entry import REFERENCES, Draft, Entry, NotReadable, field_of_heading, front_matter
from kl_hooks.kinds.decision.formats.head import iso_date
from kl_hooks.kinds.decision.formats.registry import FORMATS, format_of
from kl_hooks.kinds.decision.formats.sections import split_sections
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.model.record import Record
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.records.repository import used_numbers
from kl_hooks.records.validate import validate
from kl_hooks.records.write import create_records
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


_MAX_BYTES: Final = 1_000_000
"""Of a file; no decision is longer."""
_MAX_FILES: Final = 5_000
_NO_DECISION: Final = re.compile(r"(?i)(readme|index|template|_template|.*adr-template.*|changelog|summary)\.(md|json)")


@dataclass(frozen=True, slots=True)
class _Found:
    """A decision in a file."""

    path: str
    """As it is to be shown and kept as the source."""
    entry: Entry


@dataclass(slots=True)
class _Gathered:
    """What was found in files and folders."""

    found: list[_Found] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """Files of a folder that are no decisions."""


def _gather(root: Path, places: Sequence[Path], form: str = "auto") -> _Gathered:
    """Reads files and folders. `form`: a name in `FORMATS`, or `auto`. Files that can't be read are problems."""
    made = _Gathered()
    for place in places:
        named = not place.is_dir()
        for number, path in enumerate([place] if named else _files(place)):
            if number >= _MAX_FILES:
                made.problems.append(Problem(_shown(root, place), 0, 0, f"holds more than {_MAX_FILES} files."))
                break
            _read(made, _shown(root, path), path, form, named)
    return made


def _read(made: _Gathered, name: str, path: Path, form: str, named: bool) -> None:
    try:
        data = read_small(path, most=_MAX_BYTES)
        if data is None:
            raise NotReadable("is not there.")
        if len(data) > _MAX_BYTES:
            raise NotReadable(f"is too long; at most {_MAX_BYTES} bytes are read.")
        text = data.decode("utf-8-sig")
        if not named and not _is_decision(path.name, text):
            made.left.append(name)
            return
        if not named:
            text = _titled(made, name, text)
        shape = FORMATS[form] if form != "auto" else format_of(path.name, text)
        made.found += [_Found(name, one) for one in shape.read(text)]
    except NotReadable as wrong:
        made.problems.append(Problem(name, wrong.line, 1 if wrong.line else 0, wrong.reason))
    except UnicodeDecodeError as wrong:
        line = wrong.object.count(b"\n", 0, wrong.start) + 1
        made.problems.append(Problem(name, line, 1, "this line is not UTF-8.", "Save the file as UTF-8."))
    except UsageProblem as wrong:
        made.problems.append(Problem(name, 0, 0, wrong.reason, wrong.hint))


def _titled(made: _Gathered, path: str, text: str) -> str:
    """The text of a file of a folder; one without a title gets that of its file: `20200102-use-x.md` is `Use x`."""
    name = path.rpartition("/")[2]
    if not name.lower().endswith(".md"):
        return text
    keys, body = front_matter(text)
    if "title" in keys or split_sections(body.replace("\r\n", "\n")).title:
        return text
    words = re.sub(r"^(?i:adr)?[-_\d]+|\.md$", "", name).replace("-", " ").replace("_", " ").strip().capitalize()
    made.remarks.append(f"{path}: has no title; it is called after its file.")
    return f"{text[: len(text) - len(body)]}# {words or 'Decision'}\n\n{body}"


def _is_decision(name: str, text: str) -> bool:
    """True for a file of a folder that says a decision, by its sections; every JSON file is asked."""
    if _NO_DECISION.fullmatch(name):
        return False
    if name.lower().endswith(".json"):
        return True
    parts = split_sections(text.replace("\r\n", "\n"))
    fields = {field_of_heading(one.heading) for one in parts.sections} - {"more", ""}
    return bool(fields & {"decision", "context"}) or any(one.heading.lower() == "status" for one in parts.sections)


def _files(folder: Path) -> Iterator[Path]:
    """The Markdown and JSON files of a folder and those below it, by name."""
    for below, folders, files in os.walk(_adr_folder(folder)):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for name in sorted(files):
            if name.lower().endswith((".md", ".json")) and not (Path(below) / name).is_symlink():
                yield Path(below) / name


def _adr_folder(folder: Path) -> Path:
    """Where `.adr-dir` (adr-tools) or `.log4brains.yml` say that the decisions are; the folder itself otherwise."""
    said = read_small(folder / ".adr-dir", within=folder)
    inner = (said or b"").decode("utf-8", "replace").strip()
    if not inner and (text := read_small(folder / ".log4brains.yml", within=folder)):
        root, _ = load_yaml(".log4brains.yml", text)
        place = _value(_value(root, "project"), "adrFolder")
        inner = place.value if isinstance(place, TextNode) else ""
    target = (folder / inner).resolve() if inner else folder
    return target if target.is_relative_to(folder.resolve()) or not inner else folder


def _value(node: Node | None, key: str) -> Node | None:
    return next((value for name, value in node.entries if name.value == key), None) if isinstance(node, Map) else None


def _shown(root: Path, path: Path) -> str:
    """The path from the root of the repository where it lies in it, else as it is."""
    full = Path(os.path.abspath(path))  # noqa: PTH100 (which follows links)
    return full.relative_to(root).as_posix() if full.is_relative_to(root) else str(full)


_NUMBER: Final = re.compile(r"(?:(?i:adr)[-_ ]?)?0*(\d{1,6})(?!\d)")


def _number_of(found: _Found) -> int:
    """The number in the name of the file or in the decision itself; 0: it has none (a date is none)."""
    file, own = found.path.rpartition("/")[2], found.entry.name
    for name in (own, file) if own.lower().startswith("adr") else (file, own):
        if match := _NUMBER.match(name):
            return int(match[1])
    return 0


def _assign_numbers(found: Sequence[_Found], taken: set[int]) -> list[int]:
    """A number for each: its own where that is free, else one after all of them. `taken`: numbers ever used."""
    own = [_number_of(one) for one in found]
    used = set(taken)
    given = []
    for number in own:
        free = number if number and number not in used else 0
        used.add(free)
        given.append(free)
    following = max(used | set(own), default=0)
    for place, number in enumerate(given):
        if not number:
            following += 1
            given[place] = following
    return given


def _names_of(found: Sequence[_Found], ids: Sequence[str]) -> dict[str, str]:
    """What a decision may be called by the others → its id. A name of two decisions is nobody's."""
    known: dict[str, set[str]] = {}
    for one, identifier in zip(found, ids, strict=True):
        file = one.path.rpartition("/")[2]
        number = _number_of(one)
        names = {file, file.rpartition(".")[0], one.entry.name, f"ADR-{number:04}", f"ADR-{number}", str(number)}
        for name in names - {"", "0", "ADR-0", "ADR-0000"}:
            known.setdefault(name.lower(), set()).add(identifier)
    return {name: next(iter(some)) for name, some in known.items() if len(some) == 1}


def _resolve_references(
    values: Mapping[str, Any], names: Mapping[str, str], known: set[str]
) -> tuple[dict[str, Any], list[str]]:
    """The values with references as ids, and the references that lead nowhere, a line each."""
    made, lost = dict(values), []
    for name in REFERENCES:
        ids = []
        for one in values.get(name, ()):
            found = names.get(one.lower()) or names.get(one.lower().lstrip("0")) or (one if one in known else "")
            if found:
                ids.append(found)
            elif name == "related":
                ids.append(one)  # may be any Id
            else:
                lost.append(f"{name.replace('_', ' ')}: {one}")
        made[name] = tuple(dict.fromkeys(ids))
    return {name: value for name, value in made.items() if value != ()}, lost


_PAIRS: Final = (
    ("supersedes", "superseded_by"), ("superseded_by", "supersedes"), ("amends", "amended_by"),
    ("amended_by", "amends"),
)  # fmt: skip


def _is_pending(values: Mapping[str, Any]) -> bool:
    """True for a decision that takes nobody's place, whatever it names: it is only proposed, or was rejected."""
    status = str(values.get("status") or DECISION.statuses[0])
    return DECISION.spellings.get(status, status) in ("proposed", "rejected")


def _link_both_ways(values: Sequence[dict[str, Any]], ids: Sequence[str]) -> None:
    """Makes each of two decisions name the other, where only one did.

    The older one is superseded, unless the newer one is only proposed or was rejected: then it stays in force.
    """
    by_id = dict(zip(ids, values, strict=True))
    pending = {one for one, said in by_id.items() if _is_pending(said)}
    for there, back in _PAIRS:
        for identifier, one in by_id.items():
            for other in one.get(there, ()):
                if there == "supersedes" and identifier in pending:
                    continue
                if other in by_id and identifier not in by_id[other].get(back, ()):
                    by_id[other][back] = (*by_id[other].get(back, ()), identifier)
    for one in values:
        if one.get("superseded_by"):
            one["status"] = "superseded"


_DATED: Final = re.compile(r"(\d{4})(\d\d)(\d\d)-")
"""How log4brains begins the name of a file."""
_LEADING: Final = re.compile(r"(?i)(?:adr[-_ ]?)?0*(\d{1,6})(?!\d)")
"""The number that a file of a decision begins with."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What an import did, or would do."""

    made: tuple[tuple[str, str, str], ...]
    """(id, title, file it came from)."""
    known: tuple[tuple[str, str], ...]
    """(id, file) of what was taken in before."""
    left: tuple[str, ...]
    """Files of a folder that are no decisions."""
    remarks: tuple[str, ...]
    """What was kept in another form than it was written."""


def import_decisions(
    ws: Workspace, places: Sequence[Path], form: str = "auto", *, dry_run: bool = False, agent: str = ""
) -> ImportResult:
    """Makes a record of every decision in these files and folders that is not here yet.

    Problems (exit 2) with everything that can't be read or does not fit; then nothing was written. What an agent takes
    in is proposed, whatever the file says.
    """
    gathered = _gather(ws.root, places, form)
    if gathered.problems:
        raise Problems(gathered.problems)
    here = list_records(ws, RecordFilter((DECISION.name,), archived=True, expired=True))
    remarks = list(gathered.remarks)
    fresh, there = _known_and_new(gathered.found, here)
    ids = [f"ADR-{number:04}" for number in _assign_numbers(fresh, used_numbers(ws, DECISION))]
    named = [*fresh, *(one for one, _ in there)]
    by_name = _names_of(named, [*ids, *(_id_in(place, ids) for _, place in there)]) | {
        name: i for name, i in _earlier(here).items() if name not in _names_of(fresh, ids)
    }
    known_ids = {one.id for one in here} | set(ids)
    raws = _fields_of_all(fresh, ids, by_name, known_ids, agent, remarks)
    problems = [problem for one, raw in zip(fresh, raws, strict=True) for problem in _problems(one, raw)]
    if problems:
        raise Problems(problems)
    pairs = _succeeded(zip([*ids, *(_id_in(place, ids) for _, place in there)], named, strict=True), by_name, known_ids)
    made: Sequence[Record] = ()
    if raws and not dry_run:
        made = create_records(ws, DECISION, raws, asked=ids, by=f"agent:{agent}" if agent else "")
    if not dry_run and not agent:
        remarks += _supersede_existing(ws, pairs)
    shown = [(one.id, one.title) for one in made] or [(i, str(raw["title"])) for i, raw in zip(ids, raws, strict=True)]
    rows = tuple((*row, one.path) for row, one in zip(shown, fresh, strict=True))
    known = tuple((_id_in(place, ids), one.path) for one, place in there)
    return ImportResult(rows, known, tuple(gathered.left), tuple(remarks))


def _known_and_new(
    found: Sequence[_Found], here: Sequence[Record]
) -> tuple[list[_Found], list[tuple[_Found, str | int]]]:
    """(those that are new, those that are here: each with the record's ID, or the place of its twin among the new).

    A decision is known by the file it came from, and by its words: the same title, context and decision of the same
    day are the same decision, whatever format, folder and number it comes in.
    """
    sources = {one.text("source"): one.id for one in here if one.text("source")}
    twins: dict[str, list[tuple[str, str | int]]] = {}
    for record in here:
        said = _words(record.title, record.text("context"), record.text("decision"))
        twins.setdefault(said, []).append((record.text("date")[:10], record.id))
    fresh: list[_Found] = []
    there: list[tuple[_Found, str | int]] = []
    for one in found:
        said = _words(*(one.entry.text(name) for name in ("title", "context", "decision")))
        day = one.entry.text("date")[:10] or _day_in(one.path)
        same = (place for at, place in twins.get(said, ()) if said and (not at or not day or at == day))
        place = sources.get(_source_of(one)) or next(same, None)
        if place is not None:
            there.append((one, place))
            continue
        twins.setdefault(said, []).append((day, len(fresh)))
        fresh.append(one)
    return fresh, there


def _day_in(path: str) -> str:
    """The day that the name of a file begins with; empty where it begins with none."""
    found = _DATED.match(path.rpartition("/")[2])
    return iso_date("-".join(found.groups())) if found else ""


def _words(title: str, context: str, decision: str) -> str:
    """What a decision is known by: its words, without signs, case and space; empty for one that says too little."""
    parts = [" ".join(re.findall(r"\w+", one.casefold())) for one in (title, context, decision)]
    return "\0".join(parts) if parts[2] and parts[1] else ""


def _id_in(place: str | int, ids: Sequence[str]) -> str:
    return place if isinstance(place, str) else ids[place]


def _earlier(here: Sequence[Record]) -> dict[str, str]:
    """What decisions that were imported before may be called by later files: the name of their file, their number."""
    found: dict[str, set[str]] = {}
    for one in here:
        file = one.text("source").rpartition("/")[2]
        number = _LEADING.match(file)
        for name in (file, file.rpartition(".")[0], str(int(number[1])) if number else "", one.id):
            if name:
                found.setdefault(name.lower(), set()).add(one.id)
    return {name: next(iter(ids)) for name, ids in found.items() if len(ids) == 1}


def _succeeded(found: Iterable[tuple[str, _Found]], names: dict[str, str], known: set[str]) -> list[tuple[str, str]]:
    """(old, new) for every decision that a file says took another one's place."""
    pairs: list[tuple[str, str]] = []
    for identifier, one in found:
        values, _ = _resolve_references(one.entry.values, names, known)
        pairs += [(old, identifier) for old in values.get("supersedes", ()) if not _is_pending(values)]
        pairs += [(identifier, new) for new in values.get("superseded_by", ())]
    return list(dict.fromkeys(pairs))


def _supersede_existing(ws: Workspace, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Brings records that were here before up to date with what took their place; why that failed, a line each."""
    from kl_hooks.records.write import supersede

    failed = []
    for old, new in pairs:
        try:
            supersede(ws, old, new, by="import")
        except UsageProblem as problem:
            failed.append(f"{old} is not marked as superseded by {new}: {problem}")
    return failed


def _source_of(found: _Found) -> str:
    """Where a decision came from, as its record keeps it."""
    one = found.path if found.path.endswith(".md") else f"{found.path} {found.entry.name}".strip()
    return one[:2000]


def _fields_of_all(
    found: Sequence[_Found], ids: Sequence[str], names: dict[str, str], known: set[str], agent: str, remarks: list[str]
) -> list[dict[str, Any]]:
    raws = [_fields_of(one, names, known, remarks) for one in found]
    by_agent = {"authority": "agent", "status": "proposed"} if agent else {}
    for one in raws:
        one.update(by_agent)
    _link_both_ways(raws, ids)
    for one in raws:
        one.update(by_agent)
    return raws


def _fields_of(found: _Found, names: dict[str, str], known: set[str], remarks: list[str]) -> dict[str, Any]:
    """The fields of one record; what they can't hold stands in `more`."""
    draft = Draft()
    values, lost = _resolve_references(found.entry.values, names, known)
    for name, value in values.items():
        draft.put(name, value)
    status = str(values.get("status", ""))
    if status and status not in DECISION.statuses and status not in DECISION.spellings:
        del draft.values["status"]
        draft.leave("Status", status)
        remarks.append(f"{found.path}: the status {status!r} is none of ours; kept in its text, and proposed.")
    if "date" not in draft.values:
        draft.put("date", _day_in(found.path))
    if lost:
        draft.leave("References", "\n".join(f"- {line}" for line in lost))
        remarks.append(f"{found.path}: names decisions that are not here ({'; '.join(lost)}); kept in its text.")
    for name, words in (("decision", str(values["title"])), ("context", "The file it was taken from does not say.")):
        if name not in draft.values:
            draft.put(name, words)
            remarks.append(f"{found.path}: has no section for its {name}.")
    return {**draft.entry().values, "source": _source_of(found)}


def _problems(found: _Found, raw: dict[str, Any]) -> list[Problem]:
    return validate(DECISION, raw, lambda name: (found.path, 0, 0))[1]
