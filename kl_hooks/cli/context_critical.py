"""`kl context critical`: what every piece of work is told before it begins."""

from __future__ import annotations

from typing import Any

import click

from kl_hooks.cli.common import format_option, note, say, say_json, workspace
from kl_hooks.context.critical import MOST, SECTIONS, Asked, critical
from kl_hooks.model.package import Candidate
from kl_hooks.model.quote import field, quoted


@click.command("critical", epilog="Example: kl context critical --command feature-build --feature FEAT-AUTH-12")
@click.option("--task", default="", help="What will be done, in plain words: adds what fits it.")
@click.option("--feature", default="", metavar="ID", help="A feature whose overview belongs with it.")
@click.option("--command", default="", help="What is run; feature-build adds architecture, roles and features.")
@click.option("--without", multiple=True, type=click.Choice([s.name for s in SECTIONS]), help="Leave out a section.")
@click.option("--max-items", default=MOST, show_default=True, type=click.IntRange(1, 100), help="Most in a section.")
@format_option()
def critical_(task: str, feature: str, command: str, without: tuple[str, ...], max_items: int, shape: str) -> None:
    """Show what binds every piece of work here: decisions, known failures, gates, what this system is."""
    found = critical(workspace(), Asked(task, feature, command), max_items, without)
    if shape == "json":
        sections = {part.section.name: [_plain(one) for one in part.items] for part in found}
        omitted = {part.section.name: part.omitted for part in found if part.omitted}
        say_json({"schema": "kl.critical/1", **sections, "omitted": omitted})
        return
    for part in found:
        if part.items:
            say(f"## {part.section.heading}")
            for one in part.items:
                words = " · ".join([one.tier.word, *(one.marks or (one.authority,))])
                say(f"- [{words}] {field(one.id)}" + (f"  {one.path}" if one.path else ""))
                say(quoted(one.text if part.section.whole else one.summary, "  | "))
            if part.omitted:
                say(f"… and {part.omitted} more: kl {part.section.kinds[0]} list, or --max-items")
            say()
    if not any(part.items for part in found):
        note("nothing binds work here yet. See: kl decision new --edit, kl gate new --edit, kl seed --system")


def _plain(one: Candidate) -> dict[str, Any]:
    return {
        "id": one.id, "kind": one.kind, "title": one.title, "text": one.text, "summary": one.summary, "path": one.path,
        "tier": one.tier.word, "authority": one.authority,
    }  # fmt: skip
