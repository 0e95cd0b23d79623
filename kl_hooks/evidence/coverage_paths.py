"""Which files of a content the paths of a coverage report mean: relative ones, absolute ones of
this or another machine, those of Windows, and what bundlers make of them (`webpack://shop/./a.ts`).

No path is opened. All paths of a report are read by one rule, the one that most of them fit:
`node_modules/left/src/index.ts` is not taken for `src/index.ts` where other files are named, too.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from kl_hooks.model.definitions import NamedTuple, lazy_pattern

_SCHEME: Final = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]+:/{2,}")
_DRIVE: Final = lazy_pattern(r"[A-Za-z]:/")
_IN_CHECKOUT: Final = 1_000_000
"""What a file of this checkout weighs: more than any number of others, such as copies."""
_NEAR_REPORT: Final = 2
"""What one weighs that is named from the folder of the report, or one above it."""
_ELSEWHERE: Final = 1


class _Rule(NamedTuple):
    """How paths of a report are read."""

    weight: int
    """Of each file that it fits."""
    removed: str
    """What is cut off: `/home/runner/work/shop/`."""
    added: str
    """The folder that comes before it: `web`."""


def content_paths(
    measured: Collection[str], paths: Collection[str], top: str, folder: str
) -> dict[str, str]:
    """Path in a report → path in the content, of those that it has.

    `paths`: the files of the content; `top`: the absolute path of the repository; `folder`: where
    the report is in the repository, empty for its top and for a place outside. Nothing where
    several rules fit as many files, and none is nearer.
    """
    paths_by_name: dict[str, list[str]] = {}
    for path in paths:
        paths_by_name.setdefault(posixpath.basename(path), []).append(path)
    readings = {path: dict(_readings(path, paths_by_name, top, folder)) for path in measured}
    weights: Counter[_Rule] = Counter()
    for of_path in readings.values():
        for rule in of_path:
            weights[rule] += rule.weight
    best = _heaviest(weights, readings)
    if best is None:
        return {}
    return {path: of_path[best] for path, of_path in readings.items() if best in of_path}


def _heaviest(
    weights: Mapping[_Rule, int], readings: Mapping[str, Mapping[_Rule, str]]
) -> _Rule | None:
    """The rule that most files fit, of several that which is nearest to the report; None where that
    leaves a choice.
    """
    if not weights:
        return None
    best = max(weights, key=lambda rule: (weights[rule], rule))
    as_good = [rule for rule in weights if weights[rule] == weights[best]]
    if best.weight == _ELSEWHERE and any(
        len({of_path.get(rule) for rule in as_good}) > 1 for of_path in readings.values()
    ):
        return None
    return best


def _readings(
    path: str, paths_by_name: Mapping[str, Sequence[str]], top: str, folder: str
) -> Iterator[tuple[_Rule, str]]:
    """(rule, file of the content) for each rule by which a path means a file."""
    plain, is_absolute = _plain(path)
    same_name = paths_by_name.get(posixpath.basename(plain), ())
    if is_absolute and plain.startswith(f"{top}/"):
        if plain.removeprefix(f"{top}/") in same_name:
            yield _Rule(_IN_CHECKOUT, f"{top}/", ""), plain.removeprefix(f"{top}/")
        return
    near = {} if is_absolute else _joined(plain, folder)
    for target in same_name:
        if target in near:
            yield _Rule(_NEAR_REPORT, "", near[target]), target
        elif plain.endswith(f"/{target}"):
            yield _Rule(_ELSEWHERE, plain.removesuffix(target), ""), target
        elif not is_absolute and target.endswith(f"/{plain}"):
            yield _Rule(_ELSEWHERE, "", target.removesuffix(f"/{plain}")), target


def _joined(path: str, folder: str) -> dict[str, str]:
    """What a path is relative to the folder of the report, and to each above it → that folder:
    tools write `coverage/lcov.info` in the folder where they run.
    """
    folders = [folder]
    while folders[-1]:
        folders.append(posixpath.dirname(folders[-1]))
    return {posixpath.normpath(posixpath.join(start, path)): start for start in folders}


def _plain(path: str) -> tuple[str, bool]:
    """A path with `/` between its parts and without what tools add; whether it is absolute."""
    plain = path.replace("\\", "/")
    scheme = _SCHEME.match(plain)
    if scheme:
        # webpack://shop/./src/cart.ts?1f2e: the query is the loader's
        plain = f"/{plain[scheme.end() :].partition('?')[0]}"
    is_absolute = plain.startswith("/") or bool(_DRIVE.match(plain))
    return posixpath.normpath(plain), is_absolute
