"""Decision records behind the rules: their titles in the checked content, and the text of a new one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from kl_hooks.arch.content import STAGED, WORKTREE, Content
from kl_hooks.arch.layers import Edge
from kl_hooks.arch.propose import yaml_quoted
from kl_hooks.errors import KlError
from kl_hooks.git import files
from kl_hooks.model.manifest import Allowance, Manifest
from kl_hooks.model.symbol import RECORD_ID
from kl_hooks.model.text import one_line, safe_text
from kl_hooks.store.files import read_small

DECISIONS: Final = ".kl/knowledge/decisions/"
_TITLE: Final = re.compile(r"title:[ \t]*(.+)")
_HEADING: Final = re.compile(r"#[ \t]+(.+?)[ \t]*#*")


def decision_titles(seen: Content, wanted: Collection[str]) -> dict[str, str]:
    """Record id → title, for those of `wanted` whose records are there and have one. Never a reason to fail."""
    ids = {one for one in wanted if RECORD_ID.fullmatch(one)}
    if not ids:
        return {}
    try:
        return {name: title for name, text in _records(seen, ids) if (title := title_of(text))}
    except (KlError, OSError):
        return {}


def title_of(text: str) -> str:
    """The title in the front matter of a record, else its first heading; empty where it has neither."""
    lines = text.lstrip("\ufeff").splitlines()
    front = lines[1 : lines.index("---", 1)] if lines[:1] == ["---"] and "---" in lines[1:] else []
    for line in front:
        if found := _TITLE.fullmatch(line.rstrip()):
            return one_line(_unquoted(found[1]), 120)
    body = lines[len(front) + 2 if front else 0 :]
    heading = next((found[1] for line in body if (found := _HEADING.fullmatch(line.rstrip()))), "")
    return one_line(heading, 120)


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace("''", "'") if text[0] == "'" else text[1:-1].replace('\\"', '"')
    return text


def record_id(path: str) -> str:
    """`ADR-0004` of `.kl/knowledge/decisions/ADR-0004-domain.md`; empty for a file that is no record's."""
    name = path.rpartition("/")[2]
    found = RECORD_ID.match(name)
    return found[0] if found and name.endswith(".md") and name[found.end()] in "-." else ""


def _records(seen: Content, ids: Collection[str]) -> Iterator[tuple[str, str]]:
    """(id, text) of these records."""
    if seen.source == WORKTREE:
        top = seen.repo.top
        for path in sorted((top / DECISIONS).glob("*.md")):
            if (name := record_id(path.name)) in ids:
                yield name, (read_small(path, within=top) or b"").decode("utf-8", "replace")
        return
    found = (
        files.staged_files(seen.repo, (".md",))
        if seen.source == STAGED
        else files.files_at(seen.repo, seen.source, (".md",))
    )
    some = [one for one in found if one.path.startswith(DECISIONS) and record_id(one.path) in ids]
    for entry, text in files.read_files(seen.repo, some, "objects"):
        yield record_id(entry.path), text.decode("utf-8", "replace")


_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9 ._/-]*")
_MOST: Final = 10
"""Imports that are listed."""


def next_decision_id(known: Collection[str]) -> str:
    """The first free id after all known ones: `ADR-0007`."""
    numbers = [int(one.removeprefix("ADR-")) for one in known if re.fullmatch(r"ADR-[0-9]{4,9}", one)]
    return f"ADR-{max(numbers, default=0) + 1:04}"


def decision_file_name(name: str, source: str, target: str) -> str:
    """`ADR-0007-shop-core-order-may-import-shop-web.md`: letters, digits and `-` only."""
    slug = re.sub(r"[^a-z0-9]+", "-", f"{source} may import {target}".lower()).strip("-")
    return f"{name}-{slug[:80].strip('-')}.md"


def decision_text(
    name: str,
    one: Allowance,
    reason: str,
    today: str,
    manifest: Manifest,
    fitting: Sequence[Edge],
    files: Sequence[str],
    *,
    accepted: bool = False,
) -> str:
    """The record: what is allowed, why, and what it costs.

    `fitting`: the imports of today that it excuses; `files`: those of the module that may import, none for a layer.
    `accepted`: somebody asked for it to be; else it is proposed, like every other decision.
    """
    paths = [path for layer in manifest.layers if layer.name == one.source for path in layer.paths]
    title = one_line(f"{one.source} may import {one.target} until {one.until}", 160)
    governs = "".join(f"  - {_yaml(path)}\n" for path in files or paths)
    context = [_context(manifest, edge) for edge in fitting[:_MOST]]
    if len(fitting) > _MOST:
        context.append(f"- and {len(fitting) - _MOST} more")
    listed = "\n".join(context) or f"- nothing of {one.source} imports {one.target} against the rules today"
    return f"""\
---
id: {name}
title: {_yaml(title)}
status: {"accepted" if accepted else "proposed"}
date: {today}
{f"governs:{chr(10)}{governs}" if governs else ""}tags: [architecture, exception]
---

## Context

Imports that {manifest.path} forbids:

{listed}

## Decision

{_paragraphs(reason)}

`kl arch check` accepts imports of `{_code(one.target)}` by `{_code(one.source)}` through {one.until}.

## Alternatives

- Fix the imports now: see the hints of `kl arch check`.

## Consequences

From the day after {one.until} these imports block again. After a fix, remove the exception from {manifest.path}.
"""


def _context(manifest: Manifest, edge: Edge) -> str:
    place = one_line(f"{edge.link.path}:{edge.link.line}", 160)
    rule = f"{manifest.path}, {edge.source.name} -> {edge.target.name}"
    behind = f", {edge.source.decision}" if edge.source.decision else ""
    return (
        f"- `{_code(place)}`: {one_line(edge.importer)} imports {one_line(edge.imported)} ({one_line(rule + behind)})"
    )


def _paragraphs(reason: str) -> str:
    """A person's text, such that no line of it can end the front matter or start a section."""
    lines = [line.strip() for line in safe_text(reason).split("\n")]
    return "\n".join(f"\\{line}" if line.startswith(("#", "---", "===", "```")) else line for line in lines)


def _code(text: str) -> str:
    return one_line(text).replace("`", "'")


def _yaml(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and text.rstrip() == text else yaml_quoted(text)
