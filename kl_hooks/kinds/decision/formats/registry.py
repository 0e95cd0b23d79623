"""The formats that are read and written, and the detection of a file's format from its name and its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kl_hooks.kinds.decision.formats import json_objects, log4brains, madr, nygard
from kl_hooks.kinds.decision.formats.entry import Entry, Other
from kl_hooks.kinds.decision.formats.sections import split_sections
from kl_hooks.model.text import slug

_DATED: Final = re.compile(r"\d{8}-.*\.md")


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write decisions down."""

    name: str
    read: Callable[[str], Sequence[Entry]]
    """Text of a file → its decisions. NotReadable."""
    write: Callable[[Entry, Mapping[str, Other]], str]
    """(decision, how the others are linked to) → text of a file."""
    file: Callable[[str, str, str], str]
    """(number, title, date) → name of the file."""


def _numbered(number: str, title: str, date: str) -> str:
    return f"{number.zfill(4)}-{slug(title) or 'decision'}.md"


def _dated(number: str, title: str, date: str) -> str:
    return f"{date[:10].replace('-', '') or '00000000'}-{slug(title) or f'decision-{number}'}.md"


FORMATS: Final[Mapping[str, Format]] = {
    one.name: one
    for one in (
        Format("madr", lambda text: [madr.read(text)], madr.write, _numbered),
        Format("nygard", lambda text: [nygard.read(text)], nygard.write, _numbered),
        Format("log4brains", lambda text: [log4brains.read(text)], log4brains.write, _dated),
        Format(
            "json", json_objects.read_all, json_objects.write, lambda number, title, date: f"ADR-{number.zfill(4)}.json"
        ),
    )
}


def format_of(name: str, text: str) -> Format:
    """Return the format of a file, by its name and its text; MADR, the most forgiving, where nothing decides."""
    if name.lower().endswith(".json") or text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        return FORMATS["json"]
    # only MADR has front matter: log4brains has a list below the title, adr-tools a section Status
    if text.lstrip("\ufeff").startswith("---"):
        return FORMATS["madr"]
    parts = split_sections(text.replace("\r\n", "\n"))
    if any(one.heading.strip().lower() == "status" for one in parts.sections):
        return FORMATS["nygard"]
    return FORMATS["log4brains" if _DATED.fullmatch(name) else "madr"]
