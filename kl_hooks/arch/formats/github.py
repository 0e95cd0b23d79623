"""A check as workflow commands of GitHub Actions: annotations beside the lines. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from kl_hooks.arch.formats.findings import Checked, Finding, gathered, shown_path, unassigned
from kl_hooks.model.manifest import MANIFEST
from kl_hooks.model.text import one_line

MOST: Final = 9
"""GitHub shows ten annotations of a step and drops the others silently: nine, and how many there are."""


def github(found: Sequence[Checked]) -> list[str]:
    """The commands, worst first, none for what the baseline accepts; files in no layer are one notice."""
    new = _worst_first([one for one in gathered(found) if not one.accepted])
    lines = [_command(one) for one in new[:MOST]]
    if len(new) > MOST:
        files = len({one.path for one in new})
        said = f"{len(new)} findings in {files} files; {MOST} are shown here. All of them: kl arch check"
        lines.append(f"::error title=kl arch check::{_data(said)}")
    if outside := len(unassigned(found)):
        said = f"{outside} file{'s' * (outside > 1)} in no layer. List them: kl arch check --list-unassigned"
        lines.append(f"::notice file={MANIFEST},line=1,title=kl arch check::{_data(said)}")
    return lines


def _worst_first(found: list[Finding]) -> list[Finding]:
    """What could not be judged, then every broken rule once before any twice; what runs before what is only typed."""
    seen: Counter[str] = Counter()
    ranked = []
    for one in sorted(found, key=lambda x: (x.weak, x.path, x.line)):
        seen[one.rule.id] += 1
        rank = (one.level == "warning", not one.rule.id.startswith("arch/"), seen[one.rule.id], one.weak)
        ranked.append(((*rank, one.path, one.line), one))
    return [one for _, one in sorted(ranked, key=lambda pair: pair[0])]


def _command(one: Finding) -> str:
    place = f"file={_property(shown_path(one.path))},line={max(one.line, 1)}"
    column = f",col={one.column}" if one.column else ""
    return f"::{one.level} {place}{column},title={_property(one_line(one.rule.title))}::{_data(one.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
