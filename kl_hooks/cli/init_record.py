"""The record of what `kl init` wrote: a small file in the state directory."""

from __future__ import annotations

import json
from typing import Any, Final, Literal, overload

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.store.atomic import write_atomic
from kl_hooks.store.state import State

RECORD: Final = "init.json"
_SCHEMA: Final = "kl.init.record/1"


@overload
def record_of(state: State) -> dict[str, Any] | None: ...


@overload
def record_of(state: State, *, needed: Literal[True]) -> dict[str, Any]: ...


def record_of(state: State, *, needed: bool = False) -> dict[str, Any] | None:
    """The record of earlier runs; None where there is none.

    EnvironmentProblem for one that is not ours, and for none where it is needed.
    """
    try:
        record = json.loads((state.directory / RECORD).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        if not needed:
            return None
        hint = "What kl init wrote is in .kl/; remove it by hand if that is what you want."
        reason = "there is no record of a kl init to undo."
        raise EnvironmentProblem(reason, place=str(state.directory), hint=hint) from None
    except (OSError, ValueError) as error:
        raise EnvironmentProblem(f"can't be read: {error}.", place=str(state.directory / RECORD)) from error
    if not isinstance(record, dict) or record.get("schema") != _SCHEMA:
        raise EnvironmentProblem("is not a record of this version.", place=str(state.directory / RECORD))
    return record


def keep(state: State, record: dict[str, Any] | None) -> None:
    """Writes the record, or takes it away where nothing is left on it. OSError as it comes."""
    if record is None:
        (state.directory / RECORD).unlink()
    else:
        text = json.dumps({"schema": _SCHEMA, **record}, indent=2)
        write_atomic(state.directory / RECORD, text.encode(), mode=0o600)
