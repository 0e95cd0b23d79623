"""`kl context critical`: what every piece of work is told before it begins."""

from __future__ import annotations

from typing import Any

import click

from kl_hooks.cli.common import format_option, note, say, say_json, workspace
from kl_hooks.context.critical import MOST, SECTIONS, critical, headings
from kl_hooks.model.package import Candidate
from kl_hooks.model.quote import field, quoted


@click.command("critical", epilog="Example: kl context critical --command feature-build --feature FEAT-AUTH-12")
@click.option("--task", default="", help="What will be done, in plain words: adds what fits it.")
@click.option("--feature", default="", metavar="ID", help="A feature whose overview belongs with it.")
@click.option("--command", default="", help="What is being run; feature-build adds architecture.")
@click.option("--without", multiple=True, type=click.Choice([s.name for s in SECTIONS]), help="Leave out a section.")
@click.option("--max-items", default=MOST, show_default=True, type=click.IntRange(1, 100), help="Most in a section.")
@format_option()
def critical_(task: str, feature: str, command: str, without: tuple[str, ...], max_items: int, shape: str) -> None:
    """What binds every piece of work here: decisions, known failures, gates, what this system is."""
    found = critical(workspace(), task=task, feature=feature, command=command, most=max_items, leave=without)
    if shape == "json":
        say_json({"schema": "kl.critical/1", **{name: [_plain(one) for one in some] for name, some in found.items()}})
        return
    for name, some in found.items():
        if some:
            say(f"## {headings()[name]}")
            for one in some:
                say(f"- [{one.tier.word} · {one.authority}] {field(one.id)}" + (f"  {one.path}" if one.path else ""))
                say(quoted(one.summary, "  | "))
            say()
    if not any(found.values()):
        note("nothing binds work here yet. See: kl decision new --edit, kl gate new --edit, kl seed --system")


def _plain(one: Candidate) -> dict[str, Any]:
    return {
        "id": one.id, "kind": one.kind, "title": one.title, "text": one.text, "summary": one.summary, "path": one.path,
        "tier": one.tier.word, "authority": one.authority,
    }  # fmt: skip
