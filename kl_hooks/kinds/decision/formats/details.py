"""A last section of YAML for what a format has no words for, so that nothing is lost on the way there and back."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kl_hooks.kinds.decision.formats.entry import NotReadable
from kl_hooks.kinds.decision.formats.front import block, written
from kl_hooks.kinds.decision.formats.parts import Part
from kl_hooks.kinds.decision.formats.words import field_of_key
from kl_hooks.model.record import Value

_BLOCK = re.compile(r"```yaml\n(.*)\n```", re.DOTALL)


def details(values: Mapping[str, Value]) -> str:
    """The section that holds these values; empty where there are none."""
    return f"\n## Details\n\n```yaml\n{written(values)}\n```\n" if values else ""


def read_details(part: Part) -> dict[str, object]:
    """The values of such a section; none where it is another one of that name."""
    found = _BLOCK.fullmatch(part.text)
    if part.heading.strip().lower() != "details" or not found:
        return {}
    try:
        keys = block(found[1])
    except NotReadable:
        return {}
    return keys if all(field_of_key(key) for key in keys) else {}
