"""Skills for the tests of this package: records, and SKILL.md files in a repository."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kl_hooks.kinds.catalog import SKILL
from kl_hooks.model.record import Record
from kl_hooks.records.document import read_document, skill_node
from kl_hooks.records.validate import validate
from kl_hooks.skills.library import RELATIONS
from tests.support import Checkout


def skill(name: str, description: str = "Something.", **fields: Any) -> Record:
    """A skill as it would be read from its file."""
    raw = {"title": name, "description": description, "status": "active", **fields}
    raw |= {
        relation: [skill_node(one) for one in raw[relation]]
        for relation in RELATIONS
        if relation in raw
    }
    values, problems = validate(SKILL, raw, lambda _: ("", 0, 0))
    assert not problems, problems
    return Record("skill", f"SKILL-{name}", values, "", f".claude/skills/{name}/SKILL.md")


def bare(number: int, description: str, **values: Any) -> Record:
    """One of very many skills: nothing is validated."""
    return Record(
        "skill",
        f"SKILL-{number}",
        {"title": f"s{number}", "description": description, "status": "active", **values},
    )


def text(
    name: str, description: str = "Something.", body: str = "1. Do it.", **metadata: str
) -> str:
    """The text of a SKILL.md."""
    ours = "".join(
        f'  {key if key == "version" else f"kl-{key}"}: "{value}"\n'
        for key, value in metadata.items()
    )
    return (
        f"---\nname: {name}\ndescription:"
        f" {description}\n{'metadata:' if ours else ''}\n{ours}---\n\n{body}\n"
    )


def write(repo: Checkout, skills: Mapping[str, str], *, commit: bool = True) -> None:
    """Write SKILL.md files, name → text."""
    for name, content in skills.items():
        repo.write(f".claude/skills/{name}/SKILL.md", content)
        read = read_document(SKILL, f".claude/skills/{name}/SKILL.md", content.encode())
        assert read.record is not None, read.problems
    if commit:
        repo.commit()
