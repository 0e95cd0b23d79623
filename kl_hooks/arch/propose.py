"""Propose layers from today's imports, such that a first check by them is green. Pure.

Where parts import each other there are two ways. The usual one keeps every part a layer of its own,
puts them in the order that the fewest imports contradict, and leaves those to the baseline. The
exact one makes one layer of parts that import each other, and lets each layer depend on what it
uses today and on nothing else.

Writes a proposal as the text of `.kl/architecture.yaml`, with a comment wherever it is unsure.
Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kl_hooks.arch.layers import TYPE_CHECKING_METHOD, Edge, edges
from kl_hooks.arch.packages import product_packages, project_of, shared_folder
from kl_hooks.code.modules import plain_name
from kl_hooks.graph.algorithms import components, levels, linear_order
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.manifest import Layer, Manifest
from kl_hooks.model.symbol import Link
from kl_hooks.model.text import counted

_MANY_LAYERS = 12
_FOLDERS: Final = 4
"""Folders that are enough of a structure: loose modules that import each other may share a layer
then.
"""
_NEARLY_ALL: Final = 0.8
"""Share of the modules of a package: a folder with more of them is no layer."""
_IMPORT: Final = 2
_LAZY: Final = 1
"""Weight of an import in a function: written there, it often is the one that goes against the
order.
"""

Through = Callable[[Sequence[Layer]], Iterable[Link]]
"""Layers → the imports that reach one of them through files in none, see `arch.import_survey`."""


class Proposal(NamedTuple):
    """Layers from the bottom up, with what is unsure about them."""

    layers: tuple[Layer, ...]
    doubts: Mapping[str, tuple[str, ...]]
    """Layer → sentences for the person who reviews it."""
    unassigned: tuple[str, ...] = ()
    """Files that belong to no layer, with the reason."""
    against: int = 0
    """Imports of today that the layers forbid: the baseline accepts them."""
    is_python_alone: bool = False
    """Whether files of other languages in these layers are not checked."""

    def text(self) -> str:
        """The text of the manifest; reading it back gives the proposal's layers."""
        before: list[str] = []
        blocks = []
        for layer in self.layers:
            comments = "".join(
                f"  # {_comment(line)}\n" for line in self.doubts.get(layer.name, ())
            )
            blocks.append(comments + _layer(layer, before))
            before.append(layer.name)
        left = "".join(f"# In no layer: {_comment(line)}\n" for line in self.unassigned)
        head = _HEAD + (_against(self.against) if self.against else "") + "version: 1\n\nlayers:\n"
        if self.is_python_alone:
            tail = _PYTHON_ALONE + _TAIL
        else:
            tail = _TAIL
        return head + "\n".join(blocks) + ("\n" + left if left else "") + tail


@dataclass
class _Part:
    """One layer in the making: groups that stay together."""

    groups: list[_Group]
    level: int = 0
    loose: bool = False
    """Put together for their level only."""

    @property
    def name(self) -> str:
        if self.loose and len(self.groups) > 1:
            # as in an order of layers: a name of all members is longer with each, and no clearer
            return f"{self.groups[0].package or 'modules'}-{self.level + 1}"
        if len(self.groups) <= 3:
            return "-".join(sorted(group.name for group in self.groups))
        first = min(
            self.groups,
            key=lambda group: (not group.folder, group.name.startswith("_"), group.name),
        )
        return f"{first.name}-and-{len(self.groups) - 1}-more"


def propose(
    links: Iterable[Link],
    modules: Mapping[str, str],
    through: Through | None = None,
    *,
    exact: bool = False,
    projects: Mapping[str, str] | None = None,
) -> Proposal:
    """Layers for the packages among `modules` (path → module), from the imports in `links`.

    `exact`: parts that import each other become one layer, and nothing of today is forbidden.
    `projects`: as for `product_packages`.
    """
    sight = _Sight(list(links), modules, through)
    if exact:
        groups = module_groups(modules, projects)
    else:
        groups = module_groups(_product_modules(modules, sight.links, projects or {}), projects)
    crossing = sight.crossing(groups)
    loops = [loop for loop in _loops(groups, crossing) if len(loop) > 1]
    roots = [group for group in groups if group.root and any(group.name in loop for loop in loops)]
    if roots:
        # a package's own __init__ that everybody imports and that imports everybody would make one
        # lump of it all
        groups = [group for group in groups if group not in roots]
        crossing = sight.crossing(groups)
    unassigned = tuple(
        f"{group.paths[0]}: it imports parts of the package that import it" for group in roots
    )
    # in five of six frameworks one layer had 10 to 28 parts: its first check was clean, and so was
    # any other (ADR-0020)
    if not exact and any(len(loop) > 1 for loop in _loops(groups, crossing)):
        return _ordered(groups, crossing, sight, unassigned)
    by_name = {group.name: group for group in groups}
    parts = [_Part([by_name[name] for name in loop]) for loop in _loops(groups, crossing)]
    _set_levels(parts, crossing)
    if len(parts) > _MANY_LAYERS:
        parts = _merge_loose(parts)
    return _finish(sorted(parts, key=lambda part: (part.level, part.name)), crossing, unassigned)


class _Sight(NamedTuple):
    """The imports, seen exactly as a check will see them."""

    links: Sequence[Link]
    modules: Mapping[str, str]
    through: Through | None

    def crossing(self, groups: Sequence[_Group]) -> list[Edge]:
        """The imports between groups."""
        return self.between([Layer(group.name, group.paths, (), 0) for group in groups])

    def between(self, layers: Sequence[Layer]) -> list[Edge]:
        """The imports between layers, those through files in no layer among them."""
        if self.through:
            links_through = self.through(layers)
        else:
            links_through = ()
        return list(edges(Manifest("", tuple(layers)), (*self.links, *links_through), self.modules))


# -- layers in the order that the fewest imports contradict
# -----------------------------------------------------------


def _ordered(
    groups: Sequence[_Group], crossing: Sequence[Edge], sight: _Sight, unassigned: tuple[str, ...]
) -> Proposal:
    """Every folder a layer; loose modules joined with their neighbors in the order; each may depend
    on all below.
    """
    tests = _nested_tests(sight.modules, [path for group in groups for path in group.paths])
    counted = (
        [edge for edge in crossing if not edge.link.path.startswith(tests)] if tests else crossing
    )
    # beside what it tests, in no folder of its own: it imports whatever it needs
    counted = [edge for edge in counted if not _TEST_BESIDE.search(edge.link.path)]
    weights = _weights(counted)
    order = linear_order([group.name for group in groups], weights)
    by_name = {group.name: group for group in groups}
    parts = _joined([by_name[name] for name in order], weights)
    layers: list[Layer] = []
    for name, paths in _named(parts):
        layers.append(Layer(name, paths, tuple(layer.name for layer in layers), 0))
    if tests:
        # a layer above all: a folder can't be cut out of the layer that it lies in (ADR-0020)
        name = "tests" if all(layer.name != "tests" for layer in layers) else "all-tests"
        layers.append(Layer(name, tests, tuple(layer.name for layer in layers), 0))
    against = [edge for edge in sight.between(layers) if not edge.allowed]
    return Proposal(tuple(layers), _objections(layers, against), unassigned, len(against))


def _weights(crossing: Iterable[Edge]) -> dict[tuple[str, str], int]:
    """(group, group) → what it costs to put the first below the second."""
    weights: dict[tuple[str, str], int] = defaultdict(int)
    for edge in crossing:
        if edge.link.method != TYPE_CHECKING_METHOD:
            weights[edge.source.name, edge.target.name] += (
                _LAZY if edge.link.method == "lazy import" else _IMPORT
            )
    return weights


def _joined(order: Sequence[_Group], weights: Mapping[tuple[str, str], int]) -> list[list[_Group]]:
    """The groups in order, loose modules of one package joined where the order allows it.

    A loose module moves down past everything that it neither imports nor is imported by, to the
    lowest loose modules that it can join: that contradicts no import which the order does not
    contradict already. Where there are hardly any folders, it joins none that it has to do with:
    the modules are the structure.
    """
    flat = sum(group.folder for group in order) < _FOLDERS
    parts: list[list[_Group]] = []
    for group in order:
        if group.folder:
            place = None
        else:
            place = _place(group, parts, weights, flat)
        if place is None:
            parts.append([group])
        else:
            parts[place].append(group)
    return parts


def _place(
    group: _Group, parts: Sequence[list[_Group]], weights: Mapping[tuple[str, str], int], flat: bool
) -> int | None:
    """The lowest part of loose modules that a loose module can join; None for none."""
    best = None
    for place in range(len(parts) - 1, -1, -1):
        part = parts[place]
        related = any(
            (group.name, one.name) in weights or (one.name, group.name) in weights for one in part
        )
        if not part[0].folder and part[0].package == group.package and not (flat and related):
            best = place
        if related:
            break
    return best


def _named(parts: Sequence[list[_Group]]) -> list[tuple[str, tuple[str, ...]]]:
    """Name and paths of each part: a folder's own name, a single module's, or the package's folder
    for several.
    """
    taken: set[str] = {"below", *(part[0].name for part in parts if len(part) == 1)}
    counts: dict[str, int] = defaultdict(int)
    for part in parts:
        counts[part[0].package] += len(part) > 1
    named = []
    for part in parts:
        name = part[0].name
        if len(part) > 1:
            # from the bottom up: shop-1, shop-2 …; plain shop where there is one
            package = part[0].package or "modules"
            number = 1
            if counts[part[0].package] == 1 and package not in taken:
                name = package
            else:
                name = f"{package}-{number}"
            while name in taken:
                number += 1
                name = f"{package}-{number}"
            taken.add(name)
        named.append((name, tuple(sorted(path for group in part for path in group.paths))))
    return named


def _objections(layers: Sequence[Layer], against: Sequence[Edge]) -> dict[str, tuple[str, ...]]:
    """Layer → which imports of it contradict the order, a line for each layer that they lead to."""
    by_pair: dict[str, dict[str, list[Edge]]] = defaultdict(lambda: defaultdict(list))
    for edge in against:
        by_pair[edge.source.name][edge.target.name].append(edge)
    lines_by_layer = {}
    for layer in layers:
        pairs = sorted(by_pair[layer.name].items(), key=lambda pair: (-len(pair[1]), pair[0]))
        lines = [
            f"in the baseline: {len(some)} import{'s' * (len(some) > 1)} of {target}, the first at"
            f" {some[0].link.path}:{some[0].link.line}"
            for target, some in pairs
        ]
        if lines:
            if len(lines) > 6:
                remainder = [f"  and of {counted(len(lines) - 6, 'more layer')}"]
            else:
                remainder = []
            lines_by_layer[layer.name] = (*lines[:6], *remainder)
    return lines_by_layer


# -- layers that forbid nothing of today
# ------------------------------------------------------------------------------


def _uses(crossing: Iterable[Edge]) -> dict[str, list[str]]:
    uses: dict[str, set[str]] = defaultdict(set)
    for edge in crossing:
        uses[edge.source.name].add(edge.target.name)
    return {name: sorted(targets) for name, targets in uses.items()}


def _loops(groups: Sequence[_Group], crossing: Iterable[Edge]) -> list[list[str]]:
    return components([group.name for group in groups], _uses(crossing))


def _part_of(parts: Iterable[_Part]) -> dict[str, int]:
    """_Group's name → number of its part."""
    return {group.name: number for number, part in enumerate(parts) for group in part.groups}


def _part_uses(parts: Sequence[_Part], crossing: Iterable[Edge]) -> dict[int, list[int]]:
    place = _part_of(parts)
    uses: dict[int, set[int]] = defaultdict(set)
    for edge in crossing:
        source = place[edge.source.name]
        target = place[edge.target.name]
        if source != target:
            uses[source].add(target)
    return {source: sorted(targets) for source, targets in uses.items()}


def _set_levels(parts: Sequence[_Part], crossing: Iterable[Edge]) -> None:
    for number, level in levels(range(len(parts)), _part_uses(parts, crossing)).items():
        parts[number].level = level


def _merge_loose(parts: Iterable[_Part]) -> list[_Part]:
    """Join the loose modules of one package and level: nothing on one level imports anything else
    on it.
    """
    merged: list[_Part] = []
    loose: dict[tuple[str, int], _Part] = {}
    for part in parts:
        if any(group.folder for group in part.groups):
            merged.append(part)
            continue
        joined = loose.setdefault((part.groups[0].package, part.level), _Part([], part.level, True))
        joined.groups.extend(part.groups)
    return [*merged, *loose.values()]


def _finish(
    parts: Sequence[_Part], crossing: Sequence[Edge], unassigned: tuple[str, ...]
) -> Proposal:
    uses = _part_uses(parts, crossing)
    names: list[str] = []
    for part in parts:
        name = part.name
        number = 2
        while name in names:
            name, number = f"{part.name}-{number}", number + 1
        names.append(name)
    layers = []
    doubts = {}
    for place, part in enumerate(parts):
        paths = tuple(sorted(path for group in part.groups for path in group.paths))
        layers.append(
            Layer(names[place], paths, tuple(names[target] for target in uses.get(place, ())), 0)
        )
        reasons = _doubts(part, crossing)
        if reasons:
            doubts[names[place]] = reasons
    return Proposal(tuple(layers), doubts, unassigned)


def _doubts(part: _Part, crossing: Iterable[Edge]) -> tuple[str, ...]:
    """Why these groups are one layer, with an import for each direction that could be fixed."""
    if len(part.groups) == 1:
        return ()
    members = {group.name for group in part.groups}
    first: dict[tuple[str, str], Edge] = {}
    for edge in crossing:
        if edge.source.name in members and edge.target.name in members:
            first.setdefault((edge.source.name, edge.target.name), edge)
    if not first:
        return ("loose modules on one level; put together only to keep the list short",)
    reasons = ["these import each other, so they are one layer until that is fixed:"]
    for (source, target), edge in sorted(first.items())[:6]:
        reasons.append(
            f"  {source} -> {target}: {edge.link.path}:{edge.link.line} imports {edge.imported}"
        )
    if len(first) > 6:
        reasons.append(f"  and {len(first) - 6} more")
    return tuple(reasons)


_PLAIN = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_./-]*")
_HEAD = """\
# The layers of this repository, from the bottom up. A layer may always import itself.
# Proposed by `kl init` from today's imports, so that the first check is green: it describes what the code does,
# not what it should do. Review it, tighten it, then run: kl arch check
"""
_TAIL = """
type_checking_imports: ignore  # or: enforce
exhaustive: false              # true: every source file must belong to a layer
exceptions: []                 # - {from: a.b, to: c.d, until: 2030-01-31, decision: ADR-0001}
"""


_PYTHON_ALONE = (
    "\nlanguage: python  # files of other languages in these layers are not checked; without this"
    " line they are"
)
_AGAINST = """\
# {imports} of today {contradict} this order: {accepted} in .kl/baseline.json, and only new ones block.
# kl init --exact proposes layers without exceptions instead: parts that import each other become one.
"""


def _against(number: int) -> str:
    if number == 1:
        return _AGAINST.format(
            imports="1 import", contradict="contradicts", accepted="it is accepted"
        )
    return _AGAINST.format(
        imports=f"{number} imports", contradict="contradict", accepted="they are accepted"
    )


def _layer(layer: Layer, before: list[str]) -> str:
    everything = bool(before) and set(layer.may_depend_on) == set(before)
    if everything:
        allowed = " below"
    else:
        allowed = _list(layer.may_depend_on)
    return (
        f"  - name: {yaml_quoted(layer.name)}\n    paths:{_list(layer.paths)}\n   "
        f" may_depend_on:{allowed}\n"
    )


def _list(words: tuple[str, ...]) -> str:
    """On one line where it fits, else one word a line."""
    line = " [" + ", ".join(yaml_quoted(word) for word in words) + "]"
    if len(line) <= 90:
        return line
    return "\n" + "\n".join(f"      - {yaml_quoted(word)}" for word in words)


def yaml_quoted(word: str) -> str:
    """The word as YAML text: plain where that is safe, else in double quotes with escapes."""
    # words that YAML 1.1 reads as a boolean or null; PyYAML reads `y` and `n` as text, other
    # parsers may not
    if _PLAIN.fullmatch(word) and word.lower() not in (
        "true",
        "false",
        "yes",
        "no",
        "on",
        "off",
        "null",
        "y",
        "n",
    ):
        return word
    return '"' + "".join(_sign(sign) for sign in word) + '"'


def _sign(sign: str) -> str:
    if sign in '"\\':
        return "\\" + sign
    code = ord(sign)
    if sign.isprintable() and code < 0x3000:
        return sign
    return f"\\U{code:08X}"


def _comment(line: str) -> str:
    # a line break in a name would end the comment, and the rest would be read as YAML
    return "".join(sign if sign.isprintable() else "?" for sign in line)


_MANY_PACKAGES: Final = 4
_ROOT_FILE: Final = lazy_pattern(r"/__init__\.py$|(^|/)index\.[cm]?[jt]sx?$")
_FEW_TESTS: Final = 3
"""Test files in a folder that is not named after them, before they can make it a test tree."""
_TEST_BESIDE: Final = lazy_pattern(r"\.(test|spec)\.[cm]?[jt]sx?$")
_TEST_FILE: Final = lazy_pattern(
    rf"test_.*\.py|.*_test\.py|tests?\.py|conftest\.py|.*{_TEST_BESIDE.pattern}"
)
_TEST_FOLDERS: Final = ("tests", "__tests__")


class _Group(NamedTuple):
    """A part of a package."""

    name: str
    """Of its folder or module; unique among the groups."""
    paths: tuple[str, ...]
    """The folder (ending in `/`) or the files."""
    package: str
    """Top-level package it belongs to."""
    root: bool = False
    """The `__init__.py`, or `index.ts`, of a package that has other parts."""

    @property
    def folder(self) -> bool:
        """True if it is a folder rather than loose files."""
        return self.paths[0].endswith("/")


def _product_modules(
    modules: Mapping[str, str], links: Sequence[Link], projects: Mapping[str, str]
) -> dict[str, str]:
    """The modules without test trees, scripts, and what lies in another package's folder without
    being part of it.

    A script lies in a folder without any `__init__.py` whose files nobody imports, beside packages.
    Where modules are named by their paths, it lies at the top of a project that has folders, and
    nobody imports it: `vite.config.ts`.
    """
    tests = _test_trees(modules)
    if tests:
        remaining = {path: dotted for path, dotted in modules.items() if not path.startswith(tests)}
    else:
        remaining = dict(modules)
    tops = product_packages(remaining, projects)
    remaining = _without_scripts(remaining, tops, links, projects)
    tops = {top: files for top, files in tops.items() if modules[files[0]] != files[0]}
    proper = {
        top: shared_folder(files)
        for top, files in tops.items()
        if any(f.endswith("/__init__.py") for f in files)
    }
    inner = (link for link in links if link.path in remaining)
    imported = {plain_name(link.target.partition(":")[2]).partition(".")[0] for link in inner}
    for top, files in tops.items():
        folder = shared_folder(files)
        inside = any(
            other != top and folder != home and folder.startswith(home)
            for other, home in proper.items()
        )
        if inside or (proper and top not in proper and top not in imported):
            remaining = {path: dotted for path, dotted in remaining.items() if path not in files}
    return remaining


def _without_scripts(
    modules: dict[str, str],
    tops: Mapping[str, Sequence[str]],
    links: Iterable[Link],
    projects: Mapping[str, str],
) -> dict[str, str]:
    """The modules without scripts, of those that are named by their paths."""
    imported = {link.target.partition(":")[2] for link in links}
    scripts = set[str]()
    for files in tops.values():
        if modules[files[0]] != files[0]:
            continue
        project = project_of(files[0], projects)
        at_top = [path for path in files if path.rpartition("/")[0] == (project or "")]
        if len(at_top) < len(files):
            scripts |= {path for path in at_top if path not in imported}
    if not scripts:
        return modules
    return {path: module for path, module in modules.items() if path not in scripts}


def _test_trees(modules: Mapping[str, str]) -> tuple[str, ...]:
    """The topmost folders that hold tests: named `tests` (or `test`, with tests in it), or full of
    test files.
    """
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for path in modules:
        folders = path.split("/")[:-1]
        name = path.rpartition("/")[2]
        # the folders above it need not hold tests
        first = next((depth for depth, folder in enumerate(folders) if folder in _TEST_FOLDERS), 0)
        for depth in range(first, len(folders)):
            folder_counts = counts["/".join(folders[: depth + 1]) + "/"]
            folder_counts[0] += name != "__init__.py"
            folder_counts[1] += bool(_TEST_FILE.fullmatch(name))
    trees: list[str] = []
    for folder, (files, tests) in sorted(counts.items()):
        name = folder.rstrip("/").rpartition("/")[2]
        by_name = name in _TEST_FOLDERS or (name == "test" and tests > 0)
        full = tests >= _FEW_TESTS and tests * 3 >= files * 2
        if (by_name or full) and not folder.startswith(tuple(trees)):
            trees.append(folder)
    return tuple(trees)


def _nested_tests(modules: Mapping[str, str], paths: Iterable[str]) -> tuple[str, ...]:
    """The test trees that lie in one of these folders."""
    folders = tuple(path for path in paths if path.endswith("/"))
    return tuple(
        tree for tree in _test_trees(modules) if tree.startswith(folders) and tree not in folders
    )


def module_groups(
    modules: Mapping[str, str], projects: Mapping[str, str] | None = None
) -> list[_Group]:
    """The parts, in the order of their paths; no two have a path in common."""
    tops = product_packages(modules, projects)
    is_dotted = {top: modules[files[0]] != files[0] for top, files in tops.items()}
    groups: list[_Group] = []
    taken: set[str] = {""}
    for top, files in tops.items():
        # packages of one language do not make those of another many
        alike = [name for name in tops if is_dotted[name] == is_dotted[top]]
        whole = len(files) == 1 or len(alike) >= _MANY_PACKAGES
        if whole:
            parts = {shared_folder(files) or files[0]: files}
        else:
            parts = _split(files)
        for path, members in parts.items():
            # a namespace package may share its folder with another: then the files themselves are
            # the paths of the part
            if path in taken or not path.endswith("/"):
                paths = tuple(members)
            else:
                paths = (path,)
            taken.update(paths)
            root = bool(_ROOT_FILE.search(path)) and len(parts) > 1
            # a dotted name begins with the package, a path with folders: `packages/cart/src/`
            is_top = path == f"{shared_folder(files)}__init__.py" or (
                whole and modules[files[0]] == files[0]
            )
            groups.append(_Group(top if is_top else _name(path, top), paths, top, root))
    return _unique(sorted(groups, key=lambda group: group.paths))


def _split(files: list[str]) -> dict[str, list[str]]:
    """Path of a part → its files: one part per folder or module right under the folder that all
    files share. Of a folder that has nearly all of them, its own parts: as one layer it would be
    the whole package, and any check clean.
    """
    base = shared_folder(files)
    parts: dict[str, list[str]] = defaultdict(list)
    for path in files:
        first, slash, _ = path.removeprefix(base).partition("/")
        parts[base + first + slash].append(path)
    largest = max(parts, key=lambda path: len(parts[path]))
    if len(parts[largest]) > _NEARLY_ALL * len(files) and len(parts) > 1:
        inner = _split(parts[largest])
        if len(inner) > 2:  # more than its `__init__.py` and one other
            del parts[largest]
            parts |= inner
    return dict(parts)


def _name(path: str, top: str) -> str:
    *folders, last = path.rstrip("/").split("/")
    if last == "__init__.py":
        if not folders:
            return top
        return folders[-1]
    return last.rpartition(".")[0] or last or top


def _unique(groups: list[_Group]) -> list[_Group]:
    """Names that two parts share get their package in front, and a number where that is not
    enough. A package itself keeps its name, by which it is imported.
    """
    package_of: dict[str, _Group] = {}
    for group in groups:
        if group.root and group.name == group.package:
            # in order: the package comes before one of the same name in it
            package_of.setdefault(group.name, group)
    counts: dict[str, int] = defaultdict(int)
    for group in groups:
        counts[group.name] += 1
    taken: set[str] = set()
    unique = []
    for group in groups:
        if counts[group.name] == 1 or package_of.get(group.name) is group:
            name = group.name
        else:
            name = f"{group.package}-{group.name}"
        name = "".join(sign if sign.isalnum() or sign in "_-." else "-" for sign in name)
        candidate, number = name, 2
        # `below` has a meaning in may_depend_on, so no layer may have that name
        while candidate in taken or candidate == "below":
            candidate, number = f"{name}-{number}", number + 1
        taken.add(candidate)
        unique.append(group._replace(name=candidate))
    return unique
