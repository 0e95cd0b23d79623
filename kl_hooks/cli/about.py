"""What `--about` takes: an Id, said to be wrong where it is none."""

from __future__ import annotations

from pathlib import Path

from kl_hooks.errors import UsageProblem
from kl_hooks.model.ids import PREFIXES, RECORD_ID, split


def identifier(given: str) -> str:
    """The Id, as it was given. UsageProblem for what is none, with the Id that was probably meant."""
    prefix, name = split(given)
    if (prefix and name) or RECORD_ID.fullmatch(given):
        return given
    meant = f"test:{given}" if "::" in given else f"file:{given}" if given and Path(given).exists() else ""
    hint = f"Did you mean {meant!r}?" if meant else f"It begins with one of: {', '.join(f'{p}:' for p in PREFIXES)}"
    raise UsageProblem(f"{given!r} is not an Id.", place="--about", hint=hint)
