"""Print docs/kinds/*.md and templates/kinds/*.md from the catalog: the fields of each kind, and its
form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kl_hooks.cli.main import KINDS, commands_of
from kl_hooks.kinds.plugin import kl_kinds
from kl_hooks.model.kind import Field, Kind
from kl_hooks.records.document import template
from kl_hooks.records.repository import kind_folder

TOP = Path(__file__).parent.parent
ALWAYS = (
    "title",
    "status",
    "date",
    "updated",
    "about",
    "related",
    "tags",
    "authority",
    "source",
    "expires",
    "supersedes",
    "superseded_by",
)
"""Fields that every kind has."""


_PRINTED = "Printed from the catalog by `make docs`."


def pages() -> Iterator[tuple[Path, str]]:
    """Every printed page: its path and its text."""
    kinds = kl_kinds()
    yield TOP / "docs" / "kinds" / "README.md", _index(kinds)
    for kind in kinds:
        yield TOP / "docs" / "kinds" / f"{kind.name}.md", _page(kind)
        yield TOP / "templates" / "kinds" / f"{kind.name}.md", template(kind)


def _index(kinds: Sequence[Kind]) -> str:
    rows = [
        (f"[{k.name}]({k.name}.md)", k.prefix, k.storage, ", ".join(k.statuses), _start(k.purpose))
        for k in kinds
    ]
    return "\n".join(
        [
            "# Kinds",
            "",
            _PRINTED,
            "",
            "Every kind has the same commands, files and rules; see [kinds](../kinds.md).",
            "",
            *_table(("kind", "ids", "storage", "statuses", "what it is for"), rows),
            "",
            f"Every record has these fields too: {', '.join(ALWAYS)}.",
            "",
        ]
    )


def _page(kind: Kind) -> str:
    fields = [
        one
        for one in kind.all_fields
        if (one.name not in ALWAYS or one in kind.fields) and not one.internal
    ]
    return "\n".join(
        [
            f"# {kind.name}",
            "",
            _PRINTED,
            "",
            _start(kind.purpose),
            "",
            *_facts(kind),
            "",
            *_table(("field", "type", "meaning", "also read as"), [_row(one) for one in fields]),
            "",
            *_table(("command", "does"), _commands(kind)),
            "",
            f"The form: [templates/kinds/{kind.name}.md](../../templates/kinds/{kind.name}.md).",
            "",
        ]
    )


def _facts(kind: Kind) -> Iterator[str]:
    folders = ", ".join(f"`{one}/`" for one in kind.folders) or f"`{kind_folder(kind)}`"
    storage = f"files {folders}" if kind.storage == "file" else "the state directory"
    storage += f"; {', '.join(kind.filed)}: files `{kind_folder(kind)}`" if kind.filed else ""
    yield f"- Ids: `{kind.prefix}-…`, {_NUMBERING[kind.numbering]}"
    yield f"- Storage: {storage}"
    yield (
        f"- Statuses: {', '.join(kind.statuses)}; shown to agents unasked:"
        f" {', '.join(kind.live) or 'none'}"
    )
    if kind.spellings:
        yield (
            f"- Also read as statuses: {', '.join(f'{a} → {b}' for a, b in kind.spellings.items())}"
        )
    if kind.ttl:
        yield f"- Ends after: {', '.join(f'{days} days ({who})' for who, days in kind.ttl.items())}"
    yield f"- Budget category in a context package: {kind.budget_category.replace('_', ' ')}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |"


_NUMBERING = {
    "serial": "counted; a number that was used is never used again",
    "random": "random digits",
    "hash": "digits over what makes two of them the same, so that every clone gives the same id",
    "given": "given by whoever makes it, else counted",
}


def _row(field: Field) -> Sequence[str]:
    sort = f"one of: {', '.join(field.choices)}" if field.choices else field.type
    where = f"; under `## {field.section}`" if field.section else ""
    also = [*field.aliases, *(f"{other} → {word}" for other, word in field.also.items())]
    return (
        f"`{field.name}`{' (required)' if field.required else ''}",
        sort + where,
        field.description,
        ", ".join(also),
    )


def _commands(kind: Kind) -> Iterator[Sequence[str]]:
    assert kind.name in KINDS, kind.name
    for name, line in commands_of(kind).items():
        yield f"`kl {kind.name} {name}`", line


def _start(text: str) -> str:
    return text[:1].upper() + text[1:]
