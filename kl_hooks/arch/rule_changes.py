"""What commits allow that the rules before them did not: changes of the manifest and the baseline they are judged by.

Rules are compared by what they do to the files there are now, so that a renamed layer or a moved folder is no finding:
an import is loosened if the old rules forbid it and the new ones do not. Namespaces, which may have no files, are
compared by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kl_hooks.arch.baseline import BaselineEntry, BaselineProblems, added_entries, match_baseline, read_baseline
from kl_hooks.arch.layers import ManifestProblems, layer_lookup, namespace_lookup
from kl_hooks.arch.manifest import load_manifest
from kl_hooks.code.modules import plain_name
from kl_hooks.errors import UsageProblem
from kl_hooks.model.manifest import BASELINE, MANIFEST, Layer, Manifest, Violation
from kl_hooks.model.problem import Problem

if TYPE_CHECKING:
    from kl_hooks.arch.content import Rules


_HINT: Final = "Review this change of the rules by itself."
_MOST: Final = 5
"""Entries of the baseline that are named one by one."""


def loosened_rules(
    before: Rules, after: Rules, manifest: Manifest | None, modules: Mapping[str, str], found: Sequence[Violation]
) -> tuple[Problem, ...]:
    """How the rules `after` allow more than those `before`, each with its place in the new rules.

    `manifest`: that of `after`, read; None where there is none. `found`: today's violations under it, accepted ones
    too. UsageProblem where the rules before can't be read: nothing can be compared with them.
    """
    if before.manifest is None or before.same(after):
        return ()
    if manifest is None:
        return (Problem(MANIFEST, 0, 0, f"removed since {before.name}: nothing is forbidden any more.", _HINT),)
    try:
        old = load_manifest(None, MANIFEST, before.manifest)
        entries = _entries(before.baseline)
    except (ManifestProblems, BaselineProblems) as problem:
        message = f"can't be compared with the rules of {before.name}, which are invalid: {problem}"
        raise UsageProblem(message, place=MANIFEST, hint="Compare with another revision.") from problem
    weaker = [*_layers(old, manifest, modules), *_options(old, manifest), *_exceptions(old, manifest)]
    problems = [Problem(MANIFEST, line, 1 if line else 0, f"{text}.", _HINT) for line, text in weaker]
    more = list(_accepted(entries, _entries(after.baseline), found, modules))
    problems += [Problem(BASELINE, 0, 0, f"{text}.", _HINT) for text in more]
    since = f"loosened since {before.name}"
    return tuple(one._replace(message=f"{since}: {one.message}") for one in dict.fromkeys(problems))


def _entries(data: bytes | None) -> tuple[BaselineEntry, ...]:
    return read_baseline(BASELINE, data) if data is not None else ()


def _layers(old: Manifest, new: Manifest, modules: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """The pairs of layers between whose files imports were forbidden and are not any more."""
    before, after = layer_lookup(old.layers), layer_lookup(new.layers)
    sorts = sorted({(_name(before(path)), _name(after(path))) for path in modules})
    olds, news = ({layer.name: layer for layer in one.layers} for one in (old, new))
    reported = set[tuple[str, str]]()
    for was, now in sorts:
        for other, current in sorts:
            if not _forbids(olds, was, other) or _forbids(news, now, current) or (was, other) in reported:
                continue
            reported.add((was, other))
            line = news[now].line if now else 0
            names = (was, other) if (was, other) == (now, current) else (f"files of {was}", f"files of {other}")
            yield line, f"{names[0]} may now import {names[1]}{_why(now, current)}"
    for name in olds.keys() & news.keys():
        known = (olds.keys() & set(news[name].may_depend_on)) - set(olds[name].may_depend_on) - {name}
        for other in sorted(known - {other for was, other in reported if was == name}):
            reported.add((name, other))
            yield news[name].line, f"{name} may now import {other}"
    without_files = (olds.keys() & news.keys()) - {was for was, _ in sorts}
    yield from _namespaces(old, new, {*sorts, *((name, name) for name in without_files)}, reported)
    for name in sorted({was for was, now in sorts if was and not now}):
        yield 0, f"files of {name} are now in no layer"


def _namespaces(
    old: Manifest, new: Manifest, sorts: Iterable[tuple[str, str]], reported: set[tuple[str, str]]
) -> Iterator[tuple[int, str]]:
    """The namespaces that some layer was forbidden to import and is not any more.

    No file represents a package from outside, so these are compared by name. `sorts`: old and new layer of the files;
    `reported`: pairs of old layers that are already reported.
    """
    olds, news = ({layer.name: layer for layer in one.layers} for one in (old, new))
    before, after = namespace_lookup(old.layers), namespace_lookup(new.layers)
    for namespace in sorted({name for layer in (*old.layers, *new.layers) for name in layer.namespaces}):
        was, now = before(namespace), after(namespace)
        sources = sorted(
            {
                (source, current)
                for source, current in sorts
                if was and (source, was.name) not in reported and _forbids(olds, source, was.name)
                if current and not _forbids(news, current, _name(now))
            }
        )
        if sources:
            names = ", ".join(
                dict.fromkeys(name if name == current else f"files of {name}" for name, current in sources)
            )
            where = f"the namespace is now in {now.name}" if now else "the namespace is now in no layer"
            yield now.line if now else 0, f"{names} may now import {namespace}: {where}"


def _name(layer: Layer | None) -> str:
    return layer.name if layer else ""


def _forbids(layers: Mapping[str, Layer], source: str, target: str) -> bool:
    return bool(source and target and source != target and target not in layers[source].may_depend_on)


def _why(now: str, current: str) -> str:
    if not now or not current:
        return ": one of them is in no layer"
    return f": both are in {now}" if now == current else ""


def _options(old: Manifest, new: Manifest) -> Iterator[tuple[int, str]]:
    if (old.type_checking_imports, new.type_checking_imports) == ("enforce", "ignore"):
        yield 0, "imports under TYPE_CHECKING are ignored"
    if old.exhaustive and not new.exhaustive:
        yield 0, "files may be in no layer (exhaustive)"
    if (old.indirect, new.indirect) == ("forbid", "ignore"):
        yield 0, "chains of imports are ignored (indirect)"
    if (old.unassigned_imports, new.unassigned_imports) == ("follow", "ignore"):
        yield 0, "imports through files in no layer are ignored (unassigned_imports)"
    if old.runtime_imports == "forbid" != new.runtime_imports:
        yield 0, "imports that only test runs show are no violations (runtime_imports)"
    contracts = {one.name: one for one in new.contracts}
    for one in old.contracts:
        if one.name not in contracts:
            yield 0, f'contract "{one.name}" was removed'
        elif _terms(one) != _terms(contracts[one.name]):
            yield contracts[one.name].line, f'contract "{one.name}" was changed, and may allow more'


def _terms(contract: object) -> str:
    """What a contract demands, without the lines it is written on."""
    from dataclasses import asdict

    def plain(value: object) -> object:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items() if key not in ("line", "decision")}
        return [plain(item) for item in value] if isinstance(value, list | tuple) else value

    return str(plain(asdict(contract)))  # type: ignore[call-overload]


def _exceptions(old: Manifest, new: Manifest) -> Iterator[tuple[int, str]]:
    ends: dict[tuple[str, str], str] = {}
    for one in old.exceptions:
        # days sort as text, and this one comes after all: an exception without an end
        ends[one.source, one.target] = max(ends.get((one.source, one.target), ""), one.until or "9999-99-99")
    for one in new.exceptions:
        before, until = ends.get((one.source, one.target)), f" until {one.until}" if one.until else ""
        if before is None:
            yield one.line, f"{one.source} is excepted from the rules for {one.target}{until}"
        elif (one.until or "9999-99-99") > before:
            yield one.line, f"the exception from {one.source} to {one.target} was extended{until}"


def _accepted(
    old: Sequence[BaselineEntry], new: Sequence[BaselineEntry], found: Sequence[Violation], modules: Mapping[str, str]
) -> Iterator[str]:
    """The entries that the new baseline has in addition; an entry under the new name of a module is none."""
    # the same matching as in a check: else a rename that a check accepts would block as a looser rule
    today = match_baseline(old, found, {plain_name(name) for name in modules.values()}).renamed
    names = {replace(before, count=1): replace(after, count=1) for before, after in today}
    renamed = [replace(names.get(replace(one, count=1), one), count=one.count) for one in old]
    more = added_entries(renamed, new)
    for one in more[:_MOST]:
        yield f"accepts {one}" + (f" ({one.count} times)" if one.count > 1 else "")
    if len(more) > _MOST:
        yield f"accepts {_total(more[_MOST:])} more"


def _total(entries: Iterable[BaselineEntry]) -> int:
    return sum(one.count for one in entries)
