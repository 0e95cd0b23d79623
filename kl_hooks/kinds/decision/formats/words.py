"""What a heading or a key of another format is called with us."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kl_hooks.kinds.decision.kind import KIND
from kl_hooks.model.kind import Field

HEADINGS: Final[Mapping[str, str]] = {
    "context": "context", "context and problem statement": "context", "problem": "context",
    "problem statement": "context", "background": "context", "issue": "context", "context and problem": "context",
    "decision": "decision", "decision outcome": "decision", "outcome": "decision", "solution": "decision",
    "decision drivers": "drivers", "drivers": "drivers",
    "rationale": "rationale", "justification": "rationale",
    "considered options": "alternatives", "alternatives": "alternatives", "options": "alternatives",
    "alternatives considered": "alternatives", "considered alternatives": "alternatives",
    "options considered": "alternatives",
    "pros and cons of the options": "comparison", "comparison": "comparison",
    "consequences": "consequences", "implications": "consequences",
    "confirmation": "confirmation", "validation": "confirmation", "compliance": "confirmation",
    "violation symptoms": "violation_symptoms",
    "more information": "more", "notes": "more",
}  # fmt: skip
"""Heading in small letters → field."""
LISTS: Final = frozenset(one.name for one in KIND.fields if one.section and one.type == "lines")
"""Fields that are lists in Markdown."""


def field_of_heading(heading: str) -> str:
    """The field that stands under a heading (numbers and signs around it left out); empty: none of ours."""
    return HEADINGS.get(plain_heading(heading), "")


def plain_heading(heading: str) -> str:
    """The words of a heading in small letters, without numbers before, signs around and comments after them."""
    words = re.sub(r"<!--.*?-->|^[\d.)\s]+|[*_`:]+", "", heading[:2_000])
    return " ".join(words.lower().split())


def field_of_key(key: str) -> Field | None:
    """The field of a key such as `kl-governs`, `alternativesConsidered`, `CreatedAt`; None: none of ours."""
    humps = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key.strip())
    name = humps.lower().replace("-", "_").replace(" ", "_")
    return KIND.by_name.get(name) or KIND.by_name.get(name.removeprefix("kl_"))
