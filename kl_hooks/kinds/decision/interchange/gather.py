"""Finds the decisions in files and folders that somebody names, and reads each in its format."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kl_hooks.config.files import read_small
from kl_hooks.config.nodes import Mapping as Map
from kl_hooks.config.nodes import Node, Text
from kl_hooks.config.yaml import load
from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.decision.formats.entry import Entry, NotReadable
from kl_hooks.kinds.decision.formats.front import front_matter
from kl_hooks.kinds.decision.formats.parts import apart
from kl_hooks.kinds.decision.formats.table import FORMATS, format_of
from kl_hooks.kinds.decision.formats.words import field_of_heading
from kl_hooks.model.problem import Problem

MOST_BYTES: Final = 1_000_000
"""Of a file; no decision is longer."""
MOST_FILES: Final = 5_000
_NO_DECISION: Final = re.compile(r"(?i)(readme|index|template|_template|.*adr-template.*|changelog|summary)\.(md|json)")


@dataclass(frozen=True, slots=True)
class Found:
    """A decision in a file."""

    path: str
    """As it is to be shown and kept as the source."""
    entry: Entry


@dataclass(slots=True)
class Gathered:
    """What was found in files and folders."""

    found: list[Found] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """Files of a folder that are no decisions."""


def gather(root: Path, places: Sequence[Path], form: str = "auto") -> Gathered:
    """Reads files and folders. `form`: a name in `FORMATS`, or `auto`. Files that can't be read are problems."""
    made = Gathered()
    for place in places:
        named = not place.is_dir()
        for number, path in enumerate([place] if named else _files(place)):
            if number >= MOST_FILES:
                made.problems.append(Problem(_shown(root, place), 0, 0, f"holds more than {MOST_FILES} files."))
                break
            _read(made, _shown(root, path), path, form, named)
    return made


def _read(made: Gathered, name: str, path: Path, form: str, named: bool) -> None:
    try:
        data = read_small(path, most=MOST_BYTES)
        if data is None:
            raise NotReadable("is not there.")
        if len(data) > MOST_BYTES:
            raise NotReadable(f"is too long; at most {MOST_BYTES} bytes are read.")
        text = data.decode("utf-8-sig")
        if not named and not _is_decision(path.name, text):
            made.left.append(name)
            return
        if not named:
            text = _titled(made, name, text)
        shape = FORMATS[form] if form != "auto" else format_of(path.name, text)
        made.found += [Found(name, one) for one in shape.read(text)]
    except NotReadable as wrong:
        made.problems.append(Problem(name, wrong.line, 1 if wrong.line else 0, wrong.reason))
    except UnicodeDecodeError as wrong:
        line = wrong.object.count(b"\n", 0, wrong.start) + 1
        made.problems.append(Problem(name, line, 1, "this line is not UTF-8.", "Save the file as UTF-8."))
    except UsageProblem as wrong:
        made.problems.append(Problem(name, 0, 0, wrong.reason, wrong.hint))


def _titled(made: Gathered, path: str, text: str) -> str:
    """The text of a file of a folder; one without a title gets that of its file: `20200102-use-x.md` is `Use x`."""
    name = path.rpartition("/")[2]
    if not name.lower().endswith(".md"):
        return text
    keys, body = front_matter(text)
    if "title" in keys or apart(body.replace("\r\n", "\n")).title:
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
    parts = apart(text.replace("\r\n", "\n"))
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
        root, _ = load(".log4brains.yml", text)
        place = _value(_value(root, "project"), "adrFolder")
        inner = place.value if isinstance(place, Text) else ""
    target = (folder / inner).resolve() if inner else folder
    return target if target.is_relative_to(folder.resolve()) or not inner else folder


def _value(node: Node | None, key: str) -> Node | None:
    return next((value for name, value in node.entries if name.value == key), None) if isinstance(node, Map) else None


def _shown(root: Path, path: Path) -> str:
    """The path from the root of the repository where it lies in it, else as it is."""
    full = Path(os.path.abspath(path))  # noqa: PTH100 (which follows links)
    return full.relative_to(root).as_posix() if full.is_relative_to(root) else str(full)
