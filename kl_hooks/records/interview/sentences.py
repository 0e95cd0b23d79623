"""Facts out of an answer: its sentences, each with what it is about before it."""

from __future__ import annotations

import re
from typing import Final

LEAST: Final = 10
"""Characters; what is shorter is no sentence."""
_END: Final = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=\S)|\n+")
_BULLET: Final = re.compile(r"^\s*(?:[-*+•]|[0-9]{1,3}[.)])\s+")
_SHORT: Final = ("e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "resp.", "dr.", "mr.", "ms.")


def sentences(text: str) -> tuple[str, ...]:
    """The sentences and points of a text, each once, without the marks of lists; short ones are left out."""
    parts: list[str] = []
    for part in _pieces(text):
        if parts and parts[-1].lower().split()[-1] in _SHORT:
            parts[-1] = f"{parts[-1]} {part}"
        else:
            parts.append(part)
    found = (" ".join(_BULLET.sub("", part).split()) for part in parts)
    return tuple(dict.fromkeys(one for one in found if len(one) >= LEAST))


def _pieces(text: str) -> list[str]:
    return [piece.strip() for piece in _END.split(text) if piece and piece.strip()]


def facts(answer: str, category: str) -> tuple[str, ...]:
    """`Architecture: It has two rooms.` for each sentence; an answer too short for one is a fact as a whole."""
    label = category.replace("_", " ").strip().capitalize()
    whole = " ".join(answer.split())
    return tuple(f"{label}: {one}" for one in sentences(answer) or ((whole,) if whole else ()))
