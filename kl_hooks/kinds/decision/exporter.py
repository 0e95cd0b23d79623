"""Export of decisions as files of another tool, or as one text for a pipe."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.kinds.catalog import DECISION
from kl_hooks.kinds.decision.formats import (
    FORMATS,
    REFERENCES,
    Draft,
    Entry,
    Other,
    entry_to_dict,
    field_of_heading,
    split_sections,
)
from kl_hooks.model.record import Record
from kl_hooks.store.files import write_atomic

_HEADINGS: Final = {one.section.lower() for one in DECISION.fields if one.section}


def export_text(records: Sequence[Record], form: str, others: Sequence[Record] = ()) -> str:
    """Return the decisions as one text; a single one in JSON is an object, several are a list."""
    if form == "json":
        found = [entry_to_dict(_entry_of(one)) for one in records]
        return json.dumps(found[0] if len(found) == 1 else found, indent=2) + "\n"
    return "\n".join(_texts(records, form, others).values())


def export_files(
    folder: Path,
    records: Sequence[Record],
    form: str,
    others: Sequence[Record] = (),
    *,
    force: bool = False,
) -> int:
    """Write a file for each decision into a folder, which is made if need be; return how many.

    UsageProblem where one exists, unless `force`. EnvironmentProblem where one can't be written.
    """
    files = _texts(records, form, others)
    # exists() follows links, so it is False for a dangling one, which would be replaced unasked
    existing = sorted(
        name for name in files if (folder / name).exists() or (folder / name).is_symlink()
    )
    if existing and not force:
        if len(existing) > 1:
            remainder = f" and {len(existing) - 1} more"
        else:
            remainder = ""
        raise UsageProblem(
            f"is there already{remainder}.",
            place=str(folder / existing[0]),
            hint="Add --force to replace.",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_atomic(folder / name, text.encode("utf-8", "replace"))
    except OSError as error:
        raise EnvironmentProblem(
            f"can't be written: {error.strerror or error}.", place=str(folder)
        ) from error
    return len(files)


def _texts(records: Sequence[Record], form: str, others: Sequence[Record]) -> dict[str, str]:
    """File name → text of each; references lead to the files of the others, and of those in
    `others`.
    """
    writer = FORMATS[form]
    names: dict[str, Other] = {}
    for decision in (*records, *others):
        number = _number(decision.id)
        names[decision.id] = Other(
            number, decision.title, writer.file(number, decision.title, decision.text("date"))
        )
    used: set[str] = set()
    for decision in records:
        number = names[decision.id].number
        title = decision.title
        file = names[decision.id].file
        if file in used:  # two of one day and title
            file = f"{file.rpartition('.')[0]}-{number}.{file.rpartition('.')[2]}"
            names[decision.id] = Other(number, title, file)
        used.add(file)
    return {
        names[decision.id].file: writer.write(_entry_in(decision, form, names), names)
        for decision in records
    }


def _entry_in(record: Record, form: str, names: Mapping[str, Other]) -> Entry:
    """The Entry under the name that its format uses: a plain number for adr-tools, the ID in JSON.

    log4brains refers to decisions by their files alone.
    """
    entry = _entry_of(record)
    values = dict(entry.values)
    for field in REFERENCES if form == "log4brains" else ():
        if field in values:
            values[field] = tuple(
                names[one].file if one in names else one for one in entry.many(field)
            )
    return Entry(values, _number(record.id) if form == "nygard" else record.id)


def _number(identifier: str) -> str:
    # without zeros: adr-tools writes `7.` in the title of 0007-….md
    match = re.search(r"0*(\d+)$", identifier)
    if not match:
        return identifier
    return match[1]


def _entry_of(record: Record) -> Entry:
    """The record as an Entry: its fields, and in `more` whatever else its file has."""
    draft = Draft()
    for name, value in record.values.items():
        draft.put(name, value)
    parts = split_sections(record.body)
    draft.leave("", parts.head)
    for part in parts.sections:
        if part.heading.strip().lower() not in _HEADINGS and not field_of_heading(part.heading):
            draft.leave(part.heading, part.text)
    return draft.entry(record.id)
