"""The title of a decision as a heading, and back."""

from __future__ import annotations

from kl_hooks.kinds.decision.formats.head import numbered
from kl_hooks.kinds.decision.formats.parts import apart


def heading(title: str, number: str = "") -> tuple[str, bool]:
    """The heading with the title, and whether reading it gives exactly that title."""
    words = title.replace("<!--", "&lt;!--")
    line = f"# {number}. {words}" if number else f"# {words}"
    read = apart(f"{line}\n\nText.")
    return line, read.head == "Text." and numbered(read.title) == (number, title)
