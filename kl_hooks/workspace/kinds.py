"""The catalogue: every kind by its name, each name, plural and prefix once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kl_hooks.errors import UsageProblem
from kl_hooks.model.problem import Problem

if TYPE_CHECKING:
    from kl_hooks.model.kind import Kind


class Catalogue(NamedTuple):
    """The kinds that can be used, and why others can't."""

    kinds: Mapping[str, Kind]
    """Name → kind."""
    problems: tuple[Problem, ...] = ()
    """What is wrong in `.kl/kinds/`: such a file gives no kind, and nobody guesses what it meant."""


def catalogue(root: Path, kinds: Sequence[Kind]) -> Catalogue:
    """These kinds, in the order given (a plugin's are listed before ours), then those of the repository at `root`.

    UsageProblem where two of `kinds` share a name, a plural or a prefix: what is installed does not fit together. Of
    two files of the repository that share one neither is taken: nobody can tell which was there first.
    """
    found: dict[str, Kind] = {}
    for kind in kinds:
        other = next(iter(_in_the_way(kind, found.values())), None)
        if other:
            reason = f"the kind {kind.name!r} ({kind.prefix}) is there twice: from {other.by} and from {kind.by}."
            raise UsageProblem(reason, place=kind.by, hint="Give one of them another name and prefix.")
        found[kind.name] = kind
    described, problems = _described(root)
    for kind in described:
        others = _in_the_way(kind, [*kinds, *(one for one in described if one is not kind)])
        if others:
            reason = f"its name, plural or prefix is there already: from {', '.join(one.by for one in others)}."
            problems.append(Problem(kind.by, 1, 1, reason, "Give one of them another name, plural and prefix."))
        else:
            found[kind.name] = kind
    return Catalogue(found, tuple(problems))


def _in_the_way(kind: Kind, others: Iterable[Kind]) -> list[Kind]:
    """Those that have its name, plural or prefix."""
    names = {kind.name, kind.plural}
    return [one for one in others if names & {one.name, one.plural} or kind.prefix == one.prefix]


def _described(root: Path) -> tuple[list[Kind], list[Problem]]:
    """The kinds of `.kl/kinds/*.yaml`, and everything that is wrong there."""
    if not (root / ".kl" / "kinds").is_dir():
        return [], []
    from kl_hooks.config.kinds_file import read_kinds

    return read_kinds(root)
