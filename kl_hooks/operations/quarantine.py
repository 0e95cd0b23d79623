"""What of a quarantined record a result may hold unasked: its ID.

kl names the file of a record after its title, so the place of a link that such a record has is text
of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from kl_hooks.model.symbol import RECORD_ID, Link

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


def without_quarantined_titles(ws: Workspace, result: Any) -> Any:
    """Return a result whose links of quarantined records name the file without its title."""
    links = [link for link in _links(result) if RECORD_ID.fullmatch(link.source.rpartition(":")[2])]
    if not links:
        return result
    from kl_hooks.records.liveness import LiveRecords

    pairs = zip(links, LiveRecords(ws).untitled(links), strict=True)
    changed = {link: shown for link, shown in pairs if shown != link}
    return _replaced(result, changed) if changed else result


def _links(value: Any) -> Iterator[Link]:
    if isinstance(value, Link):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _links(part)
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _links(part)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _links(getattr(value, field.name))


def _replaced(value: Any, changed: Mapping[Link, Link]) -> Any:
    if isinstance(value, Link):
        return changed.get(value, value)
    if isinstance(value, Mapping):
        return {key: _replaced(part, changed) for key, part in value.items()}
    if isinstance(value, tuple | list):
        parts = [_replaced(part, changed) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if is_dataclass(value) and not isinstance(value, type):
        parts_by_name = {
            field.name: _replaced(getattr(value, field.name), changed) for field in fields(value)
        }
        return replace(value, **parts_by_name)
    return value
