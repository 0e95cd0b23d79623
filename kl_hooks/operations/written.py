"""What an operation returns of a record that it has just written."""

from __future__ import annotations

from typing import Any

from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.record import Record


class Written(NamedTuple):
    """A record that was made or changed. Whoever wrote it is given its ID, also where the rest is
    hidden from him.
    """

    record: Record
    now: str
    """When that was; by it the record may be expired."""
    today: tuple[Any, ...] = ()
    """What is to be known of it today, if that was asked for."""
    notes: tuple[str, ...] = ()
