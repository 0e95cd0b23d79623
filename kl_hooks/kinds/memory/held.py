"""What is held back: a memory of untrusted origin whose text reads like an order, until a person has read it. Pure."""

from __future__ import annotations

from kl_hooks.kinds.memory.orders import orders
from kl_hooks.model.record import Record


def held_back(record: Record) -> tuple[str, ...]:
    """Why nobody is told of it yet, one reason each; empty: nothing stands against it.

    What a person wrote or approved is trusted. Of the rest the text is looked at each time: it may have been changed
    since, by whatever door.
    """
    if record.authority == "human":
        return ()
    noted = record.text("quarantine")
    found = orders("\n".join((record.title, record.text("pattern"))))
    return tuple(dict.fromkeys([*(part for part in noted.split("; ") if part), *found]))
