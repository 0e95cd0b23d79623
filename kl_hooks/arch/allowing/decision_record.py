"""The decision record behind an exception, in the form of `.kl/knowledge/decisions/`. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from kl_hooks.arch.draft import quoted
from kl_hooks.arch.edges import Edge
from kl_hooks.model.manifest import Allowance, Manifest
from kl_hooks.model.text import one_line, safe_text

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9 ._/-]*")
_MOST: Final = 10
"""Imports that are listed."""


def next_id(known: Collection[str]) -> str:
    """The first free id after all known ones: `ADR-0007`."""
    numbers = [int(one.removeprefix("ADR-")) for one in known if re.fullmatch(r"ADR-[0-9]{4,9}", one)]
    return f"ADR-{max(numbers, default=0) + 1:04}"


def file_name(name: str, source: str, target: str) -> str:
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

- Mend the imports now: see the way out that `kl arch check` names for them.

## Consequences

From the day after {one.until} these imports block again. Whoever mends them takes the exception out of {manifest.path}.
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
    return text if _PLAIN.fullmatch(text) and text.rstrip() == text else quoted(text)
