"""Import of decisions from files of other tools: all of them become records, or none."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.config.yaml import MapNode, Node, TextNode, load_yaml
from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.catalog import DECISION
from kl_hooks.kinds.decision.formats import (
    FORMATS,
    REFERENCES,
    Draft,
    Entry,
    NotReadable,
    field_of_heading,
    format_of,
    front_matter,
    iso_date,
    split_sections,
)
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.model.record import Record
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.records.repository import used_numbers
from kl_hooks.records.validate import validate
from kl_hooks.records.write import create_records, supersede
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

_MAX_BYTES: Final = 1_000_000
"""Of a file; no decision is longer."""
_MAX_FILES: Final = 5_000
_NO_DECISION: Final = lazy_pattern(
    r"(?i)(readme|index|template|_template|.*adr-template.*|changelog|summary)\.(md|json)"
)
_NUMBER: Final = lazy_pattern(r"(?:(?i:adr)[-_ ]?)?0*(\d{1,6})(?!\d)")
"""At the beginning of a name; a date is none."""
_DATED: Final = lazy_pattern(r"(\d{4})(\d\d)(\d\d)-")
"""The beginning of a file name of log4brains."""
_PAIRS: Final = (
    ("supersedes", "superseded_by"),
    ("superseded_by", "supersedes"),
    ("amends", "amended_by"),
    ("amended_by", "amends"),
)


class ImportResult(NamedTuple):
    """What an import did, or would do."""

    made: tuple[tuple[str, str, str], ...]
    """(ID, title, file)."""
    existing: tuple[tuple[str, str], ...]
    """(ID, file) of what was imported before."""
    skipped: tuple[str, ...]
    """Files of a folder that are no decisions."""
    remarks: tuple[str, ...]
    """What is stored in another form than it was written."""


@dataclass(slots=True)
class _Found:
    """A decision in a file."""

    path: str
    """As it is shown, and stored in the source."""
    entry: Entry
    id: str = ""
    """Of its record, once that is decided."""

    @property
    def file(self) -> str:
        """The name of its file."""
        return self.path.rpartition("/")[2]

    @property
    def source(self) -> str:
        """The source of its record."""
        # a JSON file may have several decisions; 2,000 characters are the longest line of a field
        # (records/validate.py)
        return (
            self.path if self.path.endswith(".md") else f"{self.path} {self.entry.name}".strip()
        )[:2000]

    @property
    def number(self) -> int:
        """The number in the name of its file or in the decision itself; 0: it has none."""
        own = self.entry.name
        if own.lower().startswith("adr"):
            names = (own, self.file)
        else:
            names = (self.file, own)
        return next((int(match[1]) for name in names if (match := _NUMBER.match(name))), 0)

    @property
    def day(self) -> str:
        """The day at the beginning of its file name; empty where there is none."""
        match = _DATED.match(self.file)
        if not match:
            return ""
        return iso_date("-".join(match.groups()))


def import_decisions(
    ws: Workspace,
    places: Sequence[Path],
    form: str = "auto",
    *,
    dry_run: bool = False,
    agent: str = "",
) -> ImportResult:
    """Record every decision in these files and folders that is not recorded yet.

    Problems (exit 2) with everything that is unreadable or invalid; then nothing was written. What
    an agent imports is proposed, whatever its status.
    """
    reader = _Reader(ws.root, form)
    for place in places:
        reader.read_place(place)
    if reader.problems:
        raise Problems(reader.problems)
    records = list_records(ws, RecordFilter((DECISION.name,), archived=True, expired=True))
    new, existing = _split_known(reader.found, records)
    _assign_ids(new, used_numbers(ws, DECISION))
    for one, twin in existing:
        one.id = twin.id
    named = [*new, *(one for one, _ in existing)]
    of_new = _names_of(new)
    # a name in the files of this import means one of them rather than an earlier record
    names = _names_of(named) | {
        name: i for name, i in _names_of_records(records).items() if name not in of_new
    }
    known_ids = {one.id for one in records} | {one.id for one in new}
    remarks = reader.remarks
    raws = [_fields_of(one, names, known_ids, remarks) for one in new]
    _link_both_ways(
        raws, [one.id for one in new], {"authority": "agent", "status": "proposed"} if agent else {}
    )
    problems = [
        problem for one, raw in zip(new, raws, strict=True) for problem in _problems(one, raw)
    ]
    if problems:
        raise Problems(problems)
    made: Sequence[Record] = ()
    if raws and not dry_run:
        made = create_records(
            ws, DECISION, raws, asked=[one.id for one in new], by=f"agent:{agent}" if agent else ""
        )
    # an agent's import only proposes: its word puts no decision out of force (ADR-0018)
    if not dry_run and not agent:
        remarks += _supersede_existing(ws, named, names, known_ids)
    titles = [one.title for one in made] or [str(raw["title"]) for raw in raws]
    rows = tuple((one.id, title, one.path) for one, title in zip(new, titles, strict=True))
    return ImportResult(
        rows,
        tuple((one.id, one.path) for one, _ in existing),
        tuple(reader.skipped),
        tuple(remarks),
    )


class _Reader:
    """Reads decisions in files and folders; collects what is wrong with them."""

    def __init__(self, root: Path, form: str) -> None:
        """`form`: a name in `FORMATS`, or `auto`."""
        self._root, self._form = root, form
        self.found: list[_Found] = []
        self.problems: list[Problem] = []
        self.remarks: list[str] = []
        self.skipped: list[str] = []

    def read_place(self, place: Path) -> None:
        """Read a file, or the decisions of a folder."""
        named = not place.is_dir()
        for number, path in enumerate([place] if named else _files(place)):
            if number >= _MAX_FILES:
                self.problems.append(
                    Problem(self._shown(place), 0, 0, f"holds more than {_MAX_FILES} files.")
                )
                break
            self._read(path, self._shown(path), named=named)

    def _shown(self, path: Path) -> str:
        """The path from the root of the repository where it is inside, else as it is."""
        full = Path(os.path.abspath(path))  # noqa: PTH100 (which follows links)
        if full.is_relative_to(self._root):
            return full.relative_to(self._root).as_posix()
        return str(full)

    def _read(self, path: Path, shown: str, *, named: bool) -> None:
        try:
            data = read_small(path, most=_MAX_BYTES)
            if data is None:
                raise NotReadable("is not there.")
            if len(data) > _MAX_BYTES:
                raise NotReadable(f"is too long; at most {_MAX_BYTES} bytes are read.")
            text = data.decode("utf-8-sig")
            if not named and not _is_decision(path.name, text):
                self.skipped.append(shown)
                return
            if not named:
                text = self._with_title(shown, path.name, text)
            if self._form != "auto":
                reader = FORMATS[self._form]
            else:
                reader = format_of(path.name, text)
            self.found += [_Found(shown, one) for one in reader.read(text)]
        except NotReadable as problem:
            self.problems.append(
                Problem(shown, problem.line, 1 if problem.line else 0, problem.reason)
            )
        except UnicodeDecodeError as problem:
            line = problem.object.count(b"\n", 0, problem.start) + 1
            self.problems.append(
                Problem(shown, line, 1, "this line is not UTF-8.", "Save the file as UTF-8.")
            )
        except UsageProblem as problem:
            self.problems.append(Problem(shown, 0, 0, problem.reason, problem.hint))

    def _with_title(self, shown: str, name: str, text: str) -> str:
        """The text of a file of a folder; one without a title gets that of its file:
        `20200102-use-x.md` is `Use x`.
        """
        if not name.lower().endswith(".md"):
            return text
        keys, body = front_matter(text)
        if "title" in keys or split_sections(body.replace("\r\n", "\n")).title:
            return text
        words = (
            re.sub(r"^(?i:adr)?[-_\d]+|\.md$", "", name)
            .replace("-", " ")
            .replace("_", " ")
            .strip()
            .capitalize()
        )
        self.remarks.append(f"{shown}: has no title; it is named after its file.")
        return f"{text[: len(text) - len(body)]}# {words or 'Decision'}\n\n{body}"


def _is_decision(name: str, text: str) -> bool:
    """True for a file of a folder with the sections of a decision, and for every JSON file."""
    if _NO_DECISION.fullmatch(name):
        return False
    if name.lower().endswith(".json"):
        return True
    sections = split_sections(text.replace("\r\n", "\n")).sections
    fields = {field_of_heading(one.heading) for one in sections}
    return bool(fields & {"decision", "context"}) or any(
        one.heading.lower() == "status" for one in sections
    )


def _files(folder: Path) -> Iterator[Path]:
    """The Markdown and JSON files of a folder and its subfolders, by name."""
    # os.walk follows no link to a folder (followlinks=False), so nothing outside is read
    for below, folders, files in os.walk(_decision_folder(folder)):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for name in sorted(files):
            if name.lower().endswith((".md", ".json")) and not (Path(below) / name).is_symlink():
                yield Path(below) / name


def _decision_folder(folder: Path) -> Path:
    """The folder that `.adr-dir` (adr-tools) or `.log4brains.yml` name, if it is inside; else the
    folder itself.
    """
    # `adr init DIR` writes .adr-dir; log4brains reads adrFolder of its .log4brains.yml
    inner = (
        (read_small(folder / ".adr-dir", within=folder) or b"").decode("utf-8", "replace").strip()
    )
    if not inner and (text := read_small(folder / ".log4brains.yml", within=folder)):
        node: Node | None = load_yaml(".log4brains.yml", text)[0]
        for key in ("project", "adrFolder"):
            if isinstance(node, MapNode):
                entries = node.entries
            else:
                entries = ()
            node = next((value for name, value in entries if name.value == key), None)
        if isinstance(node, TextNode):
            inner = node.value
        else:
            inner = ""
    target = (folder / inner).resolve() if inner else folder
    if target.is_relative_to(folder.resolve()) or not inner:
        return target
    return folder


def _split_known(
    found: Sequence[_Found], records: Sequence[Record]
) -> tuple[list[_Found], list[tuple[_Found, _Found | Record]]]:
    """(new decisions, recorded ones and repeated ones with their twin).

    A decision is known by the file that it is from, and by its words: the same title, context and
    decision of the same day are the same decision, whatever format, folder and number it has.
    """
    sources = {one.text("source"): one for one in records if one.text("source")}
    twins: dict[str, list[tuple[str, _Found | Record]]] = {}
    for record in records:
        words = _words(record.title, record.text("context"), record.text("decision"))
        twins.setdefault(words, []).append((record.text("date")[:10], record))
    new: list[_Found] = []
    existing: list[tuple[_Found, _Found | Record]] = []
    for one in found:
        words = _words(*(one.entry.text(name) for name in ("title", "context", "decision")))
        day = one.entry.text("date")[:10] or one.day
        same = (
            twin for at, twin in twins.get(words, ()) if words and (not at or not day or at == day)
        )
        twin = sources.get(one.source) or next(same, None)
        if twin is not None:
            existing.append((one, twin))
        else:
            twins.setdefault(words, []).append((day, one))
            new.append(one)
    return new, existing


def _words(title: str, context: str, decision: str) -> str:
    """The words of a decision without signs, case and space; empty for one without a context or a
    decision.
    """
    parts = [" ".join(re.findall(r"\w+", one.casefold())) for one in (title, context, decision)]
    if parts[2] and parts[1]:
        return "\0".join(parts)
    return ""


def _assign_ids(decisions: Sequence[_Found], used: set[int]) -> None:
    """Give each its own number where that is free, else one after all of them. `used`: numbers ever
    used.
    """
    used = set(used)
    for decision in decisions:
        if decision.number and decision.number not in used:
            decision.id = f"ADR-{decision.number:04}"
            used.add(decision.number)
    # a second pass: a decision without a number must not take one that a later file has in its name
    following = max(used | {decision.number for decision in decisions}, default=0)
    for decision in decisions:
        if not decision.id:
            following += 1
            decision.id = f"ADR-{following:04}"


def _names_of(decisions: Sequence[_Found]) -> dict[str, str]:
    """Name that references may use → ID of its record."""
    pairs: list[tuple[str, str]] = []
    for decision in decisions:
        names = {decision.file, decision.file.rpartition(".")[0], decision.entry.name}
        if number := decision.number:
            names |= {f"ADR-{number:04}", f"ADR-{number}", str(number)}
        pairs += [(name, decision.id) for name in names - {"0", "ADR-0", "ADR-0000"}]
    return _unique(pairs)


def _names_of_records(records: Sequence[Record]) -> dict[str, str]:
    """Name by which later files may refer to what was imported before → its ID."""
    pairs: list[tuple[str, str]] = []
    for record in records:
        file = record.text("source").rpartition("/")[2]
        number = _NUMBER.match(file)
        names = (file, file.rpartition(".")[0], str(int(number[1])) if number else "", record.id)
        pairs += [(name, record.id) for name in names]
    return _unique(pairs)


def _unique(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Name in small letters → ID; a name of two records is ambiguous, and refers to none."""
    ids: dict[str, set[str]] = {}
    for name, identifier in pairs:
        if name:
            ids.setdefault(name.lower(), set()).add(identifier)
    return {name: next(iter(some)) for name, some in ids.items() if len(some) == 1}


def _fields_of(
    decision: _Found, names: Mapping[str, str], known_ids: set[str], remarks: list[str]
) -> dict[str, Any]:
    """The fields of its record; what fits no field is in `more`."""
    draft = Draft()
    values, unresolved = _resolve_references(decision.entry.values, names, known_ids)
    for name, value in values.items():
        draft.put(name, value)
    status = str(values.get("status", ""))
    if status and status not in DECISION.statuses and status not in DECISION.spellings:
        del draft.values["status"]
        draft.leave("Status", status)
        remarks.append(
            f"{decision.path}: unknown status {status!r}; it stays in the text, and the decision is"
            " proposed."
        )
    if "date" not in draft.values:
        draft.put("date", decision.day)
    if unresolved:
        draft.leave("References", "\n".join(f"- {line}" for line in unresolved))
        remarks.append(
            f"{decision.path}: unknown decisions ({'; '.join(unresolved)}); they stay in the text."
        )
    for name, words in (
        ("decision", str(values["title"])),
        ("context", "The imported file has no context."),
    ):
        if name not in draft.values:
            draft.put(name, words)
            remarks.append(f"{decision.path}: has no section for its {name}.")
    return {**draft.entry().values, "source": decision.source}


def _problems(decision: _Found, raw: Mapping[str, Any]) -> list[Problem]:
    return validate(DECISION, raw, lambda _: (decision.path, 0, 0))[1]


def _resolve_references(
    values: Mapping[str, Any], names: Mapping[str, str], known_ids: set[str]
) -> tuple[dict[str, Any], list[str]]:
    """The values with references as IDs, and the references to unknown decisions, a line each."""
    resolved = dict(values)
    unresolved = []
    for name in REFERENCES:
        ids = []
        for reference in values.get(name, ()):
            # adr-tools pads the numbers of its files (0007), texts often do not
            target = (
                names.get(reference.lower())
                or names.get(reference.lower().lstrip("0"))
                or (reference if reference in known_ids else "")
            )
            if target or name == "related":  # which may be any ID
                ids.append(target or reference)
            else:
                unresolved.append(f"{name.replace('_', ' ')}: {reference}")
        resolved[name] = tuple(dict.fromkeys(ids))
    return {name: value for name, value in resolved.items() if value != ()}, unresolved


def _is_pending(values: Mapping[str, Any]) -> bool:
    """True for a decision that supersedes none, whatever it names: it is only proposed, or was
    rejected.
    """
    status = str(values.get("status") or DECISION.statuses[0])
    return DECISION.spellings.get(status, status) in ("proposed", "rejected")


def _link_both_ways(
    raws: Sequence[dict[str, Any]], ids: Sequence[str], fixed: Mapping[str, str]
) -> None:
    """Make each of two decisions name the other, where only one did; `fixed`: fields that stay as
    they are here.

    The older one is superseded, unless the newer one is only proposed or was rejected: then it
    stays in force.
    """
    for raw in raws:
        raw.update(fixed)
    by_id = dict(zip(ids, raws, strict=True))
    pending = {one for one, raw in by_id.items() if _is_pending(raw)}
    for field, opposite in _PAIRS:
        for identifier, raw in by_id.items():
            for other in (
                () if field == "supersedes" and identifier in pending else raw.get(field, ())
            ):
                if other in by_id and identifier not in by_id[other].get(opposite, ()):
                    by_id[other][opposite] = (*by_id[other].get(opposite, ()), identifier)
    for raw in raws:
        if raw.get("superseded_by"):
            raw["status"] = "superseded"
        # again: what an agent imports stays proposed, though another file names it as superseded
        raw.update(fixed)


def _supersede_existing(
    ws: Workspace, decisions: Sequence[_Found], names: Mapping[str, str], known_ids: set[str]
) -> list[str]:
    """Mark recorded decisions as superseded where a file states it; return why that failed, a line
    each.
    """
    pairs: list[tuple[str, str]] = []
    for decision in decisions:
        values, _ = _resolve_references(decision.entry.values, names, known_ids)
        pairs += [
            (old, decision.id) for old in values.get("supersedes", ()) if not _is_pending(values)
        ]
        pairs += [(decision.id, new) for new in values.get("superseded_by", ())]
    failed = []
    for old, new in dict.fromkeys(pairs):
        try:
            supersede(ws, old, new, by="import")
        except UsageProblem as problem:
            failed.append(f"{old} is not marked as superseded by {new}: {problem}")
    return failed
