"""The catalogue: every kind by its name, each name, plural and prefix once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kl_hooks.errors import UsageProblem

if TYPE_CHECKING:
    from kl_hooks.model.kind import Kind


def catalogue(root: Path, kinds: Sequence[Kind]) -> Mapping[str, Kind]:
    """Name → kind: these, in the order given (a plugin's are listed before ours), then those that the repository at
    `root` describes.

    UsageProblem where two kinds share a name, a plural or a prefix.
    """
    found: dict[str, Kind] = {}
    for kind in [*kinds, *_described(root)]:
        for other in found.values():
            if {kind.name, kind.plural} & {other.name, other.plural} or kind.prefix == other.prefix:
                reason = f"the kind {kind.name!r} ({kind.prefix}) is there twice: from {other.by} and from {kind.by}."
                raise UsageProblem(reason, place=kind.by, hint="Give one of them another name and prefix.")
        found[kind.name] = kind
    return found


def _described(root: Path) -> Sequence[Kind]:
    """The kinds of `.kl/kinds/*.yaml`. Problems, all at once, where one can't be read: nobody guesses what it meant."""
    if not (root / ".kl" / "kinds").is_dir():
        return ()
    from kl_hooks.config.kinds_file import read_kinds
    from kl_hooks.config.problems import Problems

    kinds, problems = read_kinds(root)
    if problems:
        raise Problems(problems)
    return kinds
