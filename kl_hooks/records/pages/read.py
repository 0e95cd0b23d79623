"""A page as it stands in a file: its title, its links, its words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kl_hooks.model.text import one_line
from kl_hooks.records.front import read_front
from kl_hooks.records.markdown import headings
from kl_hooks.records.pages.wikilink import Wikilink, wikilinks

MOST_BYTES: Final = 1_000_000
"""Of a page; a longer one is read so far."""
_LINE: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Text:
    """What a page says."""

    title: str
    """Of its front matter or its first heading; else the name of the file."""
    links: tuple[Wikilink, ...]
    body: str
    """Without front matter; as many lines stand above it as the front matter has."""


def page_text(path: str, data: bytes) -> Text:
    """Reads a page. Any bytes are a page: what is not UTF-8 is replaced."""
    text = data[:MOST_BYTES].decode("utf-8-sig", "replace").replace("\r\n", "\n")
    lines = text.split("\n")
    front, _ = read_front(path, lines) if lines[0].rstrip() == "---" else (None, [])
    if front is not None:
        lines[: front.end + 1] = [""] * (front.end + 1)
    body = "\n".join(lines)
    said = front.raw.get("title", "") if front is not None else ""
    first = next((one.words for one in headings(body, 1)), "")
    stem = path.rpartition("/")[2].removesuffix(".md")
    title = said if isinstance(said, str) and said.strip() else first
    return Text(one_line(title.strip() or stem, 2000), tuple(wikilinks(body)), body)
