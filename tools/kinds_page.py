"""Prints docs/kinds/*.md and templates/kinds/*.md from the catalogue: what a record of each kind says, and its form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kl_hooks.cli.kind_verbs import EXTRA, STANDARD
from kl_hooks.cli.main import KINDS
from kl_hooks.kinds.plugin import kl_kinds
from kl_hooks.model.kind import Field, Kind
from kl_hooks.records.files import folder
from kl_hooks.records.form import form

TOP = Path(__file__).parent.parent
ALWAYS = ("title", "status", "date", "updated", "about", "related", "tags", "authority", "source", "expires",
          "supersedes", "superseded_by")  # fmt: skip
"""Fields that every kind has."""


def pages() -> Iterator[tuple[Path, str]]:
    """Every printed page: its path and its text."""
    kinds = kl_kinds()
    yield TOP / "docs" / "kinds" / "README.md", _index(kinds)
    for kind in kinds:
        yield TOP / "docs" / "kinds" / f"{kind.name}.md", _page(kind)
        yield TOP / "templates" / "kinds" / f"{kind.name}.md", form(kind)


def _index(kinds: list[Kind]) -> str:
    rows = "\n".join(f"| [{k.name}]({k.name}.md) | {k.prefix} | {k.home} | {', '.join(k.statuses)} | {_start(k.purpose)} |"
                     for k in kinds)  # fmt: skip
    return (
        "# Kinds\n\nPrinted from the catalogue by `make docs`. Every kind has the same commands, files and rules; see"
        " [knowledge](../knowledge.md).\n\n| kind | ids | at home in | statuses | what it is for |\n|---|---|---|---|---|\n"
        f"{rows}\n\nEvery record has these fields too: {', '.join(ALWAYS)}.\n"
    )


def _page(kind: Kind) -> str:
    home = f"files `{folder(kind)}`" if kind.home == "file" else "the state directory"
    home += f"; {', '.join(kind.filed)}: files `{folder(kind)}`" if kind.filed else ""
    lines = [
        f"# {kind.name}", "", "Printed from the catalogue by `make docs`.", "", f"{_start(kind.purpose)}", "",
        f"- Ids: `{kind.prefix}-…`, {_NUMBERING[kind.numbering]}", f"- At home in {home}",
        f"- Statuses: {', '.join(kind.statuses)}; shown to agents unasked: {', '.join(kind.live) or 'none'}",
        *([f"- Also read as statuses: {', '.join(f'{a} → {b}' for a, b in kind.spellings.items())}"] if kind.spellings else []),
        *([f"- Ends after: {', '.join(f'{d} days ({a})' for a, d in kind.ttl.items())}"] if kind.ttl else []),
        f"- Its share of a package: {kind.share.replace('_', ' ')}", "", "| field | is | says | also read as |",
        "|---|---|---|---|", *(_row(one) for one in kind.all_fields if one.name not in ALWAYS or one in kind.fields), "",
        "| command | does |", "|---|---|", *_commands(kind), "",
        f"The form: [templates/kinds/{kind.name}.md](../../templates/kinds/{kind.name}.md).", "",
    ]  # fmt: skip
    return "\n".join(lines)


_NUMBERING = {
    "serial": "counted; a number that was used is never used again", "random": "random digits",
    "hash": "digits over what makes two of them the same, so that every clone gives the same id",
    "given": "given by whoever makes it, else counted",
}  # fmt: skip


def _row(field: Field) -> str:
    sort = f"one of: {', '.join(field.choices)}" if field.choices else field.type
    where = f"; under `## {field.section}`" if field.section else ""
    also = [*field.aliases, *(f"{other} → {word}" for other, word in field.also.items())]
    return f"| {field.name}{' (required)' if field.required else ''} | {sort}{where} | {field.says} | {', '.join(also)} |"


def _commands(kind: Kind) -> Iterator[str]:
    assert kind.name in KINDS, kind.name
    verbs = {verb.name: verb.says for verb in kind.verbs}
    for name, line in {**STANDARD, **verbs, **EXTRA.get(kind.name, {})}.items():
        yield f"| `kl {kind.name} {name}` | {line} |"


def _start(text: str) -> str:
    return text[:1].upper() + text[1:]
