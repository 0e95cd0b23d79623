"""The suggested fix of a violation: found in the code where there is one."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from kl_hooks.arch.layers import (
    THROUGH_METHOD,
    TYPE_CHECKING_METHOD,
    Edge,
    EdgeFinder,
    file_of,
    is_through,
    layer_lookup,
)
from kl_hooks.code.import_edits import any_of, binds, parsed
from kl_hooks.code.languages import is_file_module
from kl_hooks.code.modules import plain_name
from kl_hooks.code.scanner.parser import encoding_of, lines_of
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.manifest import Manifest
from kl_hooks.model.symbol import Link, split_id

if TYPE_CHECKING:
    from kl_hooks.arch.import_survey import ImportIndex, Survey


_LONGEST: Final = 5_000
"""Bytes of a signature that are looked at; of a longer one the end is not known."""
_DEF: Final = lazy_pattern(rb"\bdef\b")
_TOKEN: Final = lazy_pattern(
    rb"""(?P<prefix>\b[A-Za-z]{1,2})?(?P<quote>'{3}|"{3}|'|")(?P<text>(?s:\\.|(?!(?P=quote)).)*)(?P=quote)"""
    rb"""|\#[^\r\n]*|[()\[\]{}]|(?P<odd>['"\x80-\xff])"""
)


def signatures(content: bytes) -> Iterator[tuple[int, int]]:
    """From the name to the closing bracket of every function: bytes before each end.

    To the end of the text, and no more come, where that is not certain: an f-string may hold
    anything, an escape in a string or a letter of another script may spell any name. A `def` in a
    string or comment counts too.
    """
    spent = 0
    for definition in _DEF.finditer(content):
        start = definition.end()
        # signatures overlap where one holds the word `def`: each is read on its own, all together
        # up to this limit
        if spent <= 4 * len(content):
            end = _end(content, start)
        else:
            end = len(content)
        spent += end - start
        yield start, end
        if end == len(content):
            return


def _end(content: bytes, start: int) -> int:
    depth = 0
    string_end = -1
    for token in _TOKEN.finditer(content, start, start + _LONGEST):
        if token["quote"]:
            # neighboring strings are one string: `"Bas" "ket"` spells a name that neither piece has
            joined = string_end >= 0 and not content[string_end : token.start()].strip()
            if joined or b"\\" in token["text"] or {*b"fFtT"} & {*(token["prefix"] or b"")}:
                break
            string_end = token.end()
        elif token["odd"]:
            break
        elif not token[0].startswith(b"#"):
            depth += 1 if token[0] in b"([{" else -1
            if depth <= 0 and token[0] == b")":
                return token.end()
    return len(content)


_FREE: Final = ("__init__", "__new__", "__call__")


class Place(NamedTuple):
    """A function or method of a file."""

    name: str
    line: int


def users(tree: ast.Module, content: bytes, line: int) -> tuple[list[str], list[Place]]:
    """The names imported by the statement on a line, and the functions that use them, in order.

    No functions where something outside of functions, or a method whose arguments Python decides
    about, uses them too: an argument would not do there.
    """
    imports = [
        n
        for n in near([tree], [line])
        if isinstance(n, ast.Import | ast.ImportFrom) and n.lineno == line
    ]
    if not imports:
        return [], []
    real = [alias.name.rpartition(".")[2] for node in imports for alias in node.names]
    lines = lines_with(content, {name for node in imports for name in binds(node)})
    every = near([tree], lines)
    uses = _uses(imports, every)
    using_functions: dict[Place, None] = {}
    inside: set[int] = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            outer = [n for n in getattr(node, "body", ()) if _is_function(n)]
        else:
            outer = [node]
        for function in outer:
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and _is_free(
                function.name
            ):
                for part in near(function.body, lines):
                    if id(part) in uses:
                        using_functions[Place(function.name, function.lineno)] = None
                        inside.add(id(part))
    notes = {
        id(p)
        for n in every
        if isinstance(n, ast.arg) and n.annotation
        for p in ast.walk(n.annotation)
    }
    return real, [] if uses - inside - notes else list(using_functions)


def near(roots: Iterable[ast.AST], lines: Sequence[int]) -> list[ast.AST]:
    """All nodes below these, the outer before the inner, without the statements that have no part
    on these lines.
    """
    nodes = [node for node in roots if _is_on_line(node, lines)]
    for node in nodes:  # grows while it is walked
        nodes += [child for child in ast.iter_child_nodes(node) if _is_on_line(child, lines)]
    return nodes


def _is_on_line(node: ast.AST, lines: Sequence[int]) -> bool:
    """False for a statement that has no part, decorators included, on these lines, given in
    order.
    """
    if not isinstance(node, ast.stmt):
        return True
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
    place = bisect_left(lines, first)
    return place < len(lines) and lines[place] <= (node.end_lineno or node.lineno)


def lines_with(content: bytes, words: Collection[str]) -> Sequence[int]:
    """Return the lines on which one of these identifiers may be, in order.

    Python takes letters of other scripts for the usual ones, so a line that is not ASCII may hold
    any of them; and so may every line that is not in UTF-8.
    """
    lines = lines_of(content)
    if encoding_of(content) != "utf-8":
        return range(1, len(lines) + 1)
    word = any_of(words)
    if content.isascii():
        return [number for number, line in enumerate(lines, 1) if word.search(line)]
    return [
        number for number, line in enumerate(lines, 1) if not line.isascii() or word.search(line)
    ]


def _uses(imports: Iterable[ast.Import | ast.ImportFrom], nodes: Iterable[ast.AST]) -> set[int]:
    """The ids of the Name nodes that mean what is imported: of `import a.b` those in `a.b`, not
    every `a`.
    """
    named = [(alias, isinstance(node, ast.Import)) for node in imports for alias in node.names]
    modules = {
        alias.name for alias, whole in named if whole and not alias.asname and "." in alias.name
    }
    plain = {
        alias.asname or alias.name
        for alias, _ in named
        if alias.asname or alias.name not in modules
    }
    name_ids = set()
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in plain:
            name_ids.add(id(node))
        elif modules and isinstance(node, ast.Attribute) and ast.unparse(node) in modules:
            name_ids.add(id(_root(node)))
    return name_ids


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def may_accept(content: bytes, names: Collection[str]) -> bool:
    """False where the text alone shows that `takers` would find nothing, as in most files."""
    name_places = sorted(places(content, {*names, *_wanted(names)}))
    if encoding_of(content) != "utf-8":
        return True
    if not name_places and content.isascii():
        return False
    for start, end in signatures(content):
        if (
            bisect_left(name_places, start) < bisect_left(name_places, end)
            or not content[start:end].isascii()
        ):
            return True  # letters of other scripts may spell the same names
    return False


def places(content: bytes, words: Iterable[str]) -> Iterator[int]:
    """Yield the positions of these identifiers in a text, in bytes. A text without them costs next
    to nothing.
    """
    for word in sorted(words):
        sought = word.encode()
        whole = any_of([word])
        place = content.find(sought)
        while place >= 0:
            if whole.match(content, place):
                yield place
            place = content.find(sought, place + 1)


def takers(tree: ast.Module, content: bytes, names: Collection[str]) -> list[Place]:
    """The functions with a parameter that is called like one of the names, or annotated with it; in
    order.
    """
    wanted = _wanted(names)
    # searched in the text of an annotation: the name may be in quotes, or within `list[X]`
    if names:
        noted = re.compile(rf"\b(?:{'|'.join(re.escape(name) for name in sorted(names))})\b")
    else:
        noted = None
    taking = []
    for node in near([tree], lines_with(content, {*names, *wanted})):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not _is_free(node.name):
            continue
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        if any(
            one.arg in wanted
            or (noted and one.annotation and noted.search(ast.unparse(one.annotation)))
            for one in arguments
        ):
            taking.append(Place(node.name, node.lineno))
    return sorted(taking, key=lambda place: place.line)


def _is_free(name: str) -> bool:
    """False for `__getattr__`, `__eq__` and the like:

    Python calls them, with arguments of its own.
    """
    return name in _FREE or not (name.startswith("__") and name.endswith("__"))


def _wanted(names: Iterable[str]) -> set[str]:
    return {word for name in names for word in parameter_names(name)}


def parameter_names(name: str) -> list[str]:
    """Names of a parameter for such an object: `HttpPage` → http_page, page; `current_user` → …,
    user.
    """
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower().strip("_")
    last = snake.rpartition("_")[2]
    if len(last) > 2 and last != snake:
        return [snake, last]
    return [snake]


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


_MAX_WALKS: Final = 30
"""Times that all imports from a module on are followed; whoever asks more often hears that they may
be circular.
"""


class _CycleFinder:
    """Knows who imports whom, directly or through others; imports inside functions count."""

    def __init__(
        self,
        index: ImportIndex | None,
        links: Callable[[], Iterable[Link]],
        modules: Mapping[str, str],
    ) -> None:
        """`index`: all imports, or None: then those that `links` gives. `modules`: path → dotted
        name.
        """
        self._index = index
        self._links = links
        self._modules = modules
        self._walks: dict[tuple[str, str], set[str]] = {}

    def closes(self, path: str, importer: str) -> bool:
        """True if the file `path`, imported by the file `importer`, would import that again, or
        may.
        """
        # files of one folder are in the same packages, so one walk serves them all
        key = (path, importer.rpartition("/")[0])
        if key not in self._walks:
            # not known, so yes: a suggestion must not bring a circular import about
            if len(self._walks) >= _MAX_WALKS:
                return True
            self._walks[key] = self._from(path, set(self._above(importer)))
        return importer in self._walks[key]

    def _from(self, start: str, running: set[str]) -> set[str]:
        """All files that are imported with this one. `running`: packages that are imported before
        it anyway.
        """
        reached = {start}
        todo = [start]
        while todo:
            path = todo.pop()
            new = {
                *self._imported(path),
                *(one for one in self._above(path) if one not in running),
            } - reached
            reached |= new
            todo += new
        return reached

    def _imported(self, path: str) -> Iterator[str]:
        for target, method in self._ends(path):
            if method != TYPE_CHECKING_METHOD:
                file = file_of(target, self._files)
            else:
                file = None
            if file is not None:
                yield file

    def _ends(self, path: str) -> Iterable[tuple[str, str]]:
        """(module, manner) of the imports of a file."""
        if self._index:
            flat = self._index.links.get(path, [])
            return zip(flat[0::4], flat[2::4], strict=True)
        return ((split_id(link.target)[1], link.method) for link in self._given.get(path, ()))

    def _above(self, path: str) -> Iterator[str]:
        """The `__init__.py` files of the packages that a file is in, as they lie."""
        while path := path.rpartition("/")[0]:
            init = f"{path}/__init__.py"
            if init in self._modules:
                yield init

    @cached_property
    def _files(self) -> dict[str, str]:
        return {dotted: path for path, dotted in self._modules.items()}

    @cached_property
    def _given(self) -> Mapping[str, list[Link]]:
        links_of_path: dict[str, list[Link]] = defaultdict(list)
        for link in self._links():
            links_of_path[link.path].append(link)
        return links_of_path


_MOST_USERS: Final = 3
_MOST_FILES: Final = 300
"""Of a layer; beyond them nobody is asked, and the sentence does without examples."""
_MOST_PARSED: Final = 150_000
"""Bytes of files with examples that are parsed; beyond them the sentence has no number."""

_ContentReader = Callable[[Sequence[str]], Mapping[str, bytes]]
"""Paths → their contents."""


def _argument_suggestion(
    edge: Edge, layer: Callable[[], Sequence[str]], read: _ContentReader
) -> str:
    """A sentence without a full stop, or nothing where an argument would not do. `layer`: the files
    of its layer.
    """
    try:
        content = read([edge.link.path]).get(edge.link.path, b"\0")
        tree = parsed(content)
        names, functions = users(tree, content, edge.link.line) if tree else ([], [])
        if not functions or len(functions) > _MOST_USERS:
            return ""
        used_by = " and ".join(
            f"{function.name}() ({_file(edge.link.path)}:{function.line})" for function in functions
        )
        other_takers = _already(
            edge, names, layer(), read, {(edge.link.path, function.line) for function in functions}
        )
    except RecursionError:
        return ""
    what = parameter_names(names[0])[-1]
    return f"pass the {what} in as an argument of {used_by}{other_takers}"


def _already(
    edge: Edge,
    names: Sequence[str],
    layer: Sequence[str],
    read: _ContentReader,
    own: set[tuple[str, int]],
) -> str:
    """`; 4 other core functions already take one (price.py:18, stock.py:40, ...)`."""
    if len(layer) > _MOST_FILES:
        return ""
    contents = read(layer)
    small_files, left = _within(
        sorted(path for path, content in contents.items() if may_accept(content, names)), contents
    )
    taking = []
    for path in small_files:
        tree = parsed(contents[path])
        if tree:
            taking += [(path, function.line) for function in takers(tree, contents[path], names)]
    others = [place for place in taking if place not in own]
    if not others:
        return ""
    places = ", ".join(f"{_file(path)}:{line}" for path, line in others[:2]) + (
        ", ..." if others[2:] or left else ""
    )
    if len(others) == 1 and not left:
        does = "function already takes"
    else:
        does = "functions already take"
    return f"; {'' if left else f'{len(others)} '}other {edge.source.name} {does} one ({places})"


def _within(paths: Sequence[str], contents: Mapping[str, bytes]) -> tuple[list[str], bool]:
    """As many of the files as may be parsed, and whether some were omitted."""
    sizes = accumulate(len(contents[path]) for path in paths)
    small_files = [path for path, size in zip(paths, sizes, strict=True) if size <= _MOST_PARSED]
    return small_files, len(small_files) < len(paths)


def _file(path: str) -> str:
    return path.rpartition("/")[2]


_MOST_ASKED: Final = 50
"""Violations for which sources are read: whoever has more starts with the first ones."""
_MOST_LOOKS: Final = 8
"""Modules, or groups of them, that are asked for one by one before all imports are put in order
once.
"""


class Suggestions:
    """Suggestions from today's imports between layers: which modules get the same name legally."""

    def __init__(
        self,
        manifest: Manifest,
        index: ImportIndex | None,
        crossing: Callable[[], Iterable[Link]],
        modules: Mapping[str, str],
    ) -> None:
        """`index`: who imports whom, to be asked about a few modules; `crossing`: gives all imports
        between layers.

        Both are read only where a suggestion is searched for.
        """
        self._manifest = manifest
        self._index = index
        self._modules = modules
        self._crossing = crossing
        self._asked = self._looks = 0
        self._legal: dict[str, list[Edge]] = {}
        self._cycles = _CycleFinder(index, crossing, modules)

    @cached_property
    def _borders(self) -> EdgeFinder:
        return EdgeFinder(self._manifest, self._modules)

    @cached_property
    def _importing(self) -> Mapping[str, list[Link]]:
        """Imported module → the imports of it."""
        links_by_module: dict[str, list[Link]] = defaultdict(list)
        for link in self._crossing():
            links_by_module[plain_name(split_id(link.target)[1])].append(link)
        return links_by_module

    def _into(self, names: Collection[str]) -> Iterable[Link]:
        self._looks += 1
        if self._index and self._looks <= _MOST_LOOKS:
            return self._index.into(names)
        return (link for name in names for link in self._importing.get(name, ()))

    def _allowed(self, names: Iterable[str]) -> Mapping[str, Sequence[Edge]]:
        """Imported module → the allowed imports of it, for these modules at least."""
        missing = frozenset(names) - self._legal.keys()
        self._legal.update((name, []) for name in missing)
        for edge in self._borders.edges(self._into(missing)) if missing else ():
            if edge.allowed:
                self._legal[edge.imported].append(edge)
        return self._legal

    def out(self, edge: Edge, sight: Survey | None = None) -> str:
        """One sentence without a full stop: what to do instead of this import."""
        if edge.link.method == TYPE_CHECKING_METHOD:
            if is_file_module(edge.link.path):
                form = "an interface"
            else:
                form = "a Protocol"
            need = f"describe what {edge.source.name} needs as {form} of its own"
            return (
                f"only a type checker needs this import: {need}, or set type_checking_imports:"
                " ignore"
            )
        if is_through(edge.link.method):
            between = edge.link.method.removeprefix(THROUGH_METHOD)
            return (
                f"it leads through {between}, in no layer: give that file a layer, or drop one of"
                " the imports"
            )
        sight = sight if self._asked < _MOST_ASKED else None
        self._asked += sight is not None
        kind = sight.kind(edge.link) if sight else ""
        if kind == "unused":
            return "nothing uses it here: remove it, as ruff check --select F401 --fix does"
        if kind == "annotations" and self._manifest.type_checking_imports == "ignore":
            move = "move it under `if TYPE_CHECKING:`, as kl arch fix does where that is safe"
            return f"only annotations use it here: {move}"
        return self._bridge(edge) or self._pass_in(edge, sight) or self._move(edge)

    def _pass_in(self, edge: Edge, sight: Survey | None) -> str:
        if sight is None or is_file_module(edge.link.path):
            return ""  # Python's functions alone are looked at

        return _argument_suggestion(edge, lambda: self._files[edge.source.name], sight.read)

    @cached_property
    def _files(self) -> Mapping[str, list[str]]:
        """Layer → its files."""
        layer_of = layer_lookup(self._manifest.layers)
        files_by_layer: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self._modules):
            layer = layer_of(path)
            if layer is not None:
                files_by_layer[layer.name].append(path)
        return files_by_layer

    def _bridge(self, edge: Edge) -> str:
        """Through a module that may import it and that the source layer may import; one in use
        already comes first.
        """
        if self._manifest.indirect == "forbid":
            return ""  # it would be the middle of a chain that is forbidden
        others = [
            other
            for other in self._allowed([edge.imported])[edge.imported]
            if other.source.name in edge.source.may_depend_on and _offers(other)
        ]
        uses = self._allowed({other.importer for other in others})
        bridges = []
        for other in others:
            users = [use for use in uses[other.importer] if use.source.name == edge.source.name]
            bridges.append((not users, other.importer, other, users))
        # two fields only: edges have no order
        for _, _, other, users in sorted(bridges, key=lambda row: row[:2]):
            if not self._cycles.closes(other.link.path, edge.link.path):
                way = (
                    f"get it through {other.importer} ({other.source.name}), which may import"
                    f" {edge.imported}"
                )
                return way + (
                    f" and which {users[0].link.path}:{users[0].link.line} uses already"
                    if users
                    else ""
                )
        return ""

    def _move(self, edge: Edge) -> str:
        lower = [
            layer.name for layer in self._manifest.layers if layer.name in edge.source.may_depend_on
        ]
        into = " or ".join([edge.source.name, *lower[:1]])
        return f"pass it in as an argument, or move what is needed of {edge.imported} into {into}"


def _offers(edge: Edge) -> bool:
    """True if others can take what is imported from the module that imports it: it has it as soon
    as it is there.
    """
    return (
        edge.link.method in ("import", "star import")
        and edge.importer.rpartition(".")[2] != "__main__"
    )
