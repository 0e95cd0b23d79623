"""`kl knowledge stats`: how much is known, by kind, status, topic and origin, and how often it is used."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from kl_hooks.cli.common import counted, format_option, say, say_json, workspace

_USES = ("injected", "opened", "reinforced", "outcome")


@click.command(epilog="Example: kl knowledge stats --format json")
@format_option()
def stats(shape: str) -> None:
    """Show how much is known: records by kind, status, topic and authority, seeded ones, and how often they were used.

    Expired and archived records are counted apart.
    """
    from kl_hooks.cli.kind_read import told
    from kl_hooks.cli.left_out import say_left_out
    from kl_hooks.evidence.home import require_home
    from kl_hooks.kinds.topics import topic_field
    from kl_hooks.records.events import list_events
    from kl_hooks.records.query import RecordFilter, list_records
    from kl_hooks.records.repository import is_expired

    ws = workspace()
    require_home(ws)
    records = list_records(ws, RecordFilter(archived=True, expired=True))
    used = Counter(one.name for one in list_events(ws) if one.name in _USES)
    told()
    say_left_out(ws)
    kinds: dict[str, dict[str, Any]] = {}
    for name, kind in ws.kinds.items():
        some = [one for one in records if one.kind == name]
        field = topic_field(kind)
        topics = Counter(one.text(field.name) or "none" for one in some) if field else Counter[str]()
        if some:
            kinds[name] = {
                "records": len(some), "files": sum(bool(one.path) for one in some),
                "archived": sum(one.archived for one in some), "expired": sum(is_expired(ws, one) for one in some),
                "seeded": sum(bool(one.text("entity_id")) for one in some),
                "statuses": dict(sorted(Counter(one.status for one in some).items())),
                "authorities": dict(sorted(Counter(one.authority for one in some).items())),
                "topics": dict(sorted(topics.items())),
            }  # fmt: skip
    uses = {name: used[name] for name in _USES}
    if shape == "json":
        say_json({"schema": "kl.knowledge.stats/1", "records": len(records), "kinds": kinds, "uses": uses})
        return
    for name, row in kinds.items():
        say(f"{name:<10} {row['records']:>5}   {_listed(row['statuses'])}; {_listed(row['authorities'])}")
        more = {key: row[key] for key in ("files", "archived", "expired", "seeded") if row[key]}
        for line in (more, row["topics"]):
            if line:
                say(f"{'':<18} {_listed(line)}")
    say(f"{counted(len(records), 'record')}; {_listed(uses)}.")


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in counts.items())
