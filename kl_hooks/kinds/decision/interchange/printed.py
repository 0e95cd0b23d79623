"""Decisions as one text, for a pipe: a list of objects in JSON, files one after the other in Markdown."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kl_hooks.kinds.decision.formats.seed_json import plain
from kl_hooks.kinds.decision.interchange.give_out import entry_of, texts
from kl_hooks.model.record import Record


def printed(records: Sequence[Record], form: str, known: Sequence[Record] = ()) -> str:
    """The text; a single decision in JSON is an object, several are a list."""
    if form == "json":
        found = [plain(entry_of(one)) for one in records]
        return json.dumps(found[0] if len(found) == 1 else found, indent=2) + "\n"
    return "\n".join(texts(records, form, known).values())
