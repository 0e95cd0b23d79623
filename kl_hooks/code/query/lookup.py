"""What a text given by a person means: an Id, a dotted name or its end, a file, a line of a file, a
record, a page.

Here is also what all other questions share: symbols in the database, and the three verdicts (yes,
no, not assessed). "No" is given only where nothing was left unassessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.languages import is_file_module, is_read
from kl_hooks.code.plugin import HEADS
from kl_hooks.errors import NotFound, UsageProblem
from kl_hooks.graph import links
from kl_hooks.index.index import hits_by_id
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.symbol import (
    FILE_SIGN,
    RECORD_ID,
    FilePath,
    Symbol,
    dotted_name,
    last_name,
    record_node,
    split_id,
)
from kl_hooks.model.text import counted, one_line, visible_line_ends
from kl_hooks.store.database import Rows, chunks, placeholders

if TYPE_CHECKING:
    from kl_hooks.code.query.session import Graph
    from kl_hooks.model.symbol import Link


REST: Final = "CASE r.sort WHEN 'namespace' THEN r.outer ELSE r.outer || r.name END"
"""Of a row `r` of symbol_rows: what its Id has after the module; of a test, after the path."""
_HEADS: Final = " ".join(
    f"WHEN {ord(mark)} THEN '{head}' || r.name || substr(r.signature, 2)"
    for head, mark in HEADS.items()
)
SIGNATURE: Final = f"CASE unicode(r.signature) {_HEADS} ELSE r.signature END"
"""Of a row `r` of symbol_rows: its signature."""
SYMBOLS: Final = f"""(
    SELECT r.sort || ':' || CASE r.sort WHEN 'test' THEN f.path ELSE f.module END || {REST} AS id,
        r.sort AS sort, r.name AS name, f.path AS path, r.place AS place, r.line AS line, r.end_line AS end_line,
        {SIGNATURE} AS signature, r.decorators AS decorators, r.doc AS doc,
        lower(hex(r.content_hash)) AS content_hash
    FROM symbol_rows r JOIN files f ON f.number = r.file
) AS symbols"""
"""Symbols with whole Ids and paths, to select from. There is no index of Ids: look for the name,
too.

Not a view, since a database with one is not opened: whoever puts one into it runs with every
question.
"""
_COLUMNS: Final = "id, path, line, end_line, signature, doc, content_hash, decorators"


def select_symbols(db: Rows, condition: str, params: Iterable[Any]) -> list[Symbol]:
    """The symbols that fit a condition over the table's columns, by path and place."""
    # of two that begin on one line the longer one is around the other
    sql = (
        f"SELECT {_COLUMNS} FROM {SYMBOLS} WHERE {condition} ORDER BY path, line, end_line DESC, id"
    )
    rows = db.rows(sql, tuple(params))
    return [
        Symbol._make((*row[:-1], tuple(row[-1].split("\n")) if row[-1] else ())) for row in rows
    ]


def symbols_of_id(db: Rows, identifier: str) -> list[Symbol]:
    """The symbols of this Id."""
    # by name, for its index
    return select_symbols(db, "name = ? AND id = ?", (last_name(identifier), identifier))


def symbols_by_id(db: Rows, ids: Iterable[str]) -> dict[str, Symbol]:
    """Id → its symbol, of those that have one; of several the first."""
    wanted = sorted(set(ids))
    symbol_of = dict[str, Symbol]()
    for batch in chunks(wanted):
        names = sorted({last_name(one) for one in batch})
        condition = f"name IN ({placeholders(names)}) AND id IN ({placeholders(batch)})"
        for symbol in select_symbols(db, condition, (*names, *batch)):
            symbol_of.setdefault(symbol.id, symbol)
    return symbol_of


def symbols_by_place(db: Rows, paths: Iterable[str]) -> dict[str, list[Symbol]]:
    """Path → the symbols of the file in the order of their places, by which postings call them;
    without its tests.
    """
    symbols_of: dict[str, list[Symbol]] = {}
    for batch in chunks(sorted(paths)):
        sql = f"""SELECT {_COLUMNS} FROM {SYMBOLS}
            WHERE path IN ({placeholders(batch)}) AND sort <> 'test' ORDER BY path, place"""
        for row in db.rows(sql, batch):
            symbols_of.setdefault(row[1], []).append(Symbol._make((*row[:-1], ())))
    return symbols_of


def symbols_in_file(db: Rows, path: str) -> list[Symbol]:
    """What a file defines, each under what it is in, in the order of the file; without its tests,
    which are functions of it too.
    """
    symbols = [
        symbol
        for symbol in select_symbols(db, "path = ?", (path,))
        if not symbol.id.startswith("test:")
    ]
    lines: dict[str, int] = {}
    for symbol in symbols:
        lines.setdefault(split_id(symbol.id)[1], symbol.line)

    def places(symbol: Symbol) -> list[tuple[int, str]]:
        """(line, name) of what is around the symbol, from the outermost on, and of itself."""
        name = split_id(symbol.id)[1]
        ends = (end for end, sign in enumerate(name) if sign in f".{FILE_SIGN}")
        around = [name[:end] for end in ends if name[:end] in lines]
        return [(lines[outer], outer) for outer in (*around, name)]

    return sorted(symbols, key=places)


def nested_symbols(db: Rows, symbol: Symbol) -> list[Symbol]:
    """What is defined inside a symbol, at any depth; of a module everything."""
    prefix, name = split_id(symbol.id)
    if prefix == "test":
        return []
    inside = symbols_in_file(db, symbol.path)
    if prefix == "namespace":
        return [one for one in inside if one.id != symbol.id]
    return [one for one in inside if split_id(one.id)[1].startswith(f"{name}.")]


MEMBERS: Final = ("method", "property", "field")
"""What the Id of a member of a class can begin with; of a module's variable, too."""


def class_ids(name: str) -> list[str]:
    """The Ids that a class of this dotted name can have."""
    return [f"type:{name}", f"interface:{name}"]


def class_closure(db: Rows, classes: list[str], *, incoming: bool) -> list[str]:
    """The Ids of all classes that inherit from these (`incoming`) or that these inherit from, the
    nearest first.
    """
    closure: dict[str, None] = {}
    front = classes
    while front:
        near = links.of_many(db, front, incoming=incoming)
        ends = [
            link.source if incoming else link.target
            for name in front
            for link in near.get(name, ())
            if link.relation in ("inherits", "implements")
        ]
        front = [
            related
            for related in dict.fromkeys(ends)
            if related not in closure and related not in classes
        ]
        front = [related for related in front if related.startswith(("type:", "interface:"))]
        closure.update(dict.fromkeys(front))
    return list(closure)


YES: Final = "yes"
NO: Final = "no"
NOT_ASSESSED: Final = "not assessed"


class Answer(NamedTuple):
    """How far an answer can be relied on."""

    found: bool
    unresolved: tuple[Link, ...] = ()
    """Uses of the same name that may or may not mean it."""
    not_assessed: tuple[FilePath, ...] = ()
    """Files that could not be understood, by path."""
    doubts: tuple[str, ...] = ()
    """Other ways in which it may be used: one sentence each."""
    possible: int = 0
    """Places that use its name and may mean it, where these were looked for."""

    @property
    def verdict(self) -> str:
        """`yes`, `no` or `not assessed`."""
        if self.found:
            return YES
        is_open = self.unresolved or self.not_assessed or self.doubts or self.possible
        if is_open:
            return NOT_ASSESSED
        return NO


def may_use(symbol: Symbol, path: str) -> bool:
    """Whether a file is of a language that can use a symbol: Python imports no script, and no
    script Python.
    """
    if not is_read(symbol.path):
        return True
    return is_file_module(path) == is_file_module(symbol.path)


def paths_not_assessed(graph: Graph, symbol: Symbol) -> tuple[FilePath, ...]:
    """The files that could not be understood and may use a symbol."""
    return tuple(path for path in graph.paths_not_assessed if may_use(symbol, path))


def answer(
    graph: Graph, symbol: Symbol, found: bool, names: Iterable[str], doubts: Sequence[str] = ()
) -> Answer:
    """The answer about a symbol, and what is in it, with these names."""
    possible = [link for link in unresolved(graph, names) if may_use(symbol, link.path)]
    return Answer(found, tuple(possible), paths_not_assessed(graph, symbol), tuple(doubts))


def unresolved(graph: Graph, names: Iterable[str]) -> list[Link]:
    """The unresolved uses of these names, by place."""
    wanted = [f"name:{name}" for name in sorted(set(names))]
    links_by_name = links.of_many(graph.db, wanted, incoming=True)
    every = (link for name_links in links_by_name.values() for link in name_links)
    return sorted(every, key=lambda link: (link.path, link.line, link.source, link.relation))


def names_of(ids: Iterable[str]) -> set[str]:
    """The names by which symbols may be used: the last parts of Ids, but those that Python itself
    uses (`__len__`).
    """
    last_names = {last_name(identifier) for identifier in ids}
    return {name for name in last_names if not (name.startswith("__") and name.endswith("__"))}


NOTE_METHODS: Final = ("record", "wikilink", "markdown link", "check")
"""How such links were found."""
_PAGES: Final = (".md", ".rst")


def with_position(graph: Graph, link: Link) -> Link:
    """No file holds a violation: its place is the import."""
    hits = hits_by_id(graph.db, link.source) if link.method == "check" else ()
    if not hits:
        return link
    return link._replace(path=hits[0].path, line=hits[0].line)


def _record_or_page(graph: Graph, text: str) -> Symbol | None:
    """What no source defines, but records or pages name: a record, a page, a file, a symbol to
    come.
    """
    name = text.removeprefix("adr:")
    if RECORD_ID.fullmatch(name.upper()):
        text = name = name.upper()
    for identifier in dict.fromkeys(
        (record_node(name), text, f"file:{text.strip('/')}", *_pages(graph, text))
    ):
        out = links.outgoing(graph.db, identifier)
        into = links.incoming(graph.db, identifier)
        if identifier.startswith("adr:"):
            hits = [hit for hit in hits_by_id(graph.db, name) if hit.kind == "decision"]
        else:
            hits = hits_by_id(graph.db, identifier)
        if hits or any(link.method in NOTE_METHODS for link in (*out, *into)):
            prefix, path_or_name = split_id(identifier)
            if hits:
                path = hits[0].path
            elif prefix == "file":
                path = path_or_name
            elif out:
                path = out[0].path
            else:
                path = ""
            line = max(hits[0].line, 1) if hits else 1
            return Symbol(identifier, path, line, line, hits[0].title if hits else "", "", "")
    return None


def _pages(graph: Graph, text: str) -> list[str]:
    """The Id of the only page whose path ends so:

    `bound-loggers.md`, `bound-loggers.md#context`.
    """
    path, mark, anchor = text.removeprefix("file:").partition("#")
    if not path.endswith(_PAGES):
        return []
    # not LIKE: it ignores case, and `_`, one of its wildcards, is in many paths
    sql = "SELECT DISTINCT path FROM documents WHERE kind = 'page' AND substr(path, -?) = ?"
    pages = [row[0] for row in graph.db.rows(sql, (len(path) + 1, f"/{path}"))]
    if len(pages) != 1:
        return []
    return [f"file:{page}{mark}{anchor}" for page in pages]


_PLACE: Final = lazy_pattern(r"(?P<path>.+?):(?P<line>[0-9]{1,9})(?::[0-9]+)?")
_QUALIFIED: Final = lazy_pattern(r"@.+?\.py(?=\.|$)")
"""What distinguishes modules of one name (see `code.modules`)."""
_SHOWN: Final = 20


class Ambiguous(UsageProblem):
    """The name is ambiguous."""

    def __init__(self, asked: str, candidates: Sequence[Symbol]) -> None:
        self.candidates = tuple(candidates)
        lines = [f"{symbol.id}  {symbol.path}:{symbol.line}" for symbol in candidates[:_SHOWN]]
        shown = [f"\n  {visible_line_ends(line)}" for line in lines]
        if len(candidates) > _SHOWN:
            further = f"\n  … and {len(candidates) - _SHOWN} more"
        else:
            further = ""
        reason = f"ambiguous ({len(candidates)} matches). Use one of:{''.join(shown)}{further}"
        super().__init__(reason, place=one_line(asked))


class Unknown(NotFound):
    """No match."""


def _all_visible(_symbol: Symbol) -> bool:
    return True


def resolve_text(
    graph: Graph, text: str, is_visible: Callable[[Symbol], bool] = _all_visible
) -> Symbol:
    """The one symbol that `text` means. Ambiguous, or Unknown with what may have been meant.
    `is_visible`: the symbols among which it is looked for, as if there were no others.

    In this order: its Id; `path.py`, `path.py:LINE` (the innermost definition there) or
    `path.py::test`, the path from the repository's root or its end; the whole dotted name; a name
    that a module has from another (`pkg.feed`, where `pkg/__init__.py` imports it); the end of a
    dotted name (`C.m`, `feed`), in the case given if that fits anything, else in any; a record, a
    page.
    """
    text = text.strip()
    prefix, name = split_id(text)
    exact = list(filter(is_visible, symbols_of_id(graph.db, text)))
    if exact:
        return exact[0]
    matches = _in_file(graph, name if prefix in ("", "file", "test") else "")
    if matches is None and prefix != "file":
        matches = _symbols_named(graph, prefix, name, is_visible)
        plain = name.replace(FILE_SIGN, ".")
        if not any(_plain(symbol.id, False) == plain for symbol in matches):
            symbol = reexported_symbol(graph, name, prefix)
            if symbol and is_visible(symbol):
                return symbol
    matches = list(filter(is_visible, matches or ()))
    if not matches:
        if symbol := _record_or_page(graph, text):
            return symbol
        raise _unknown_name(graph, text)
    if len(matches) > 1:
        raise Ambiguous(text, matches)
    return matches[0]


def file_of(graph: Graph, text: str) -> str:
    """The path of the one file that `text` means: a path or its end, or a module. UsageProblem as
    `resolve_text`.
    """
    name = split_id(text.strip())[1]
    paths = _paths(graph, name)
    if len(paths) > 1:
        raise Ambiguous(text, [s for path in paths for s in symbols_in_file(graph.db, path)[:1]])
    if paths:
        return paths[0]
    return resolve_text(graph, text).path


def _in_file(graph: Graph, name: str) -> list[Symbol] | None:
    """The symbol for a path, a place, or a test in a file; None if `name` is none of these."""
    path, colons, test = name.partition("::")
    if colons:
        # without `[…]`: pytest adds the parameters of a case to its ID, the graph has one Id for
        # the function
        tests = select_symbols(
            graph.db, "id LIKE 'test:%' AND name = ?", (test.rpartition("::")[2].partition("[")[0],)
        )
        function = name.partition("[")[0]
        return [symbol for symbol in tests if _ends(split_id(symbol.id)[1], function, "/")]
    place = _PLACE.fullmatch(name)
    paths = _paths(graph, place["path"] if place else path)
    if not paths:
        return None
    definitions = []
    for file in paths:
        inside = symbols_in_file(graph.db, file)
        if not inside:
            raise UsageProblem(_why(graph, file), place=file)
        definitions.append(_at_line(inside, int(place["line"])) if place else inside[0])
    return definitions


def _at_line(inside: Sequence[Symbol], line: int) -> Symbol:
    """The innermost definition around a line; decorators and what lies between definitions are the
    outer's.
    """
    around = [symbol for symbol in inside if symbol.line <= line <= symbol.end_line]
    return min(around, key=lambda symbol: symbol.end_line - symbol.line, default=inside[0])


def _paths(graph: Graph, name: str) -> list[str]:
    """The files whose path this is, or ends with this."""
    name = name.removeprefix("./")
    if not is_read(name) and "/" not in name:
        return []
    if graph.db.rows("SELECT 1 FROM files WHERE path = ?", (name,)):
        return [name]
    rows = [row[0] for row in graph.db.rows("SELECT path FROM files ORDER BY path")]
    return [path for path in rows if path.endswith(f"/{name}")]


def _symbols_named(
    graph: Graph, prefix: str, name: str, is_visible: Callable[[Symbol], bool]
) -> list[Symbol]:
    """Symbols with a dotted name, or a name that ends so; nothing less than whole parts."""
    name = name.replace(FILE_SIGN, ".")
    last = name.rpartition(".")[2]
    # LIKE ignores the case of ASCII letters only, and can't use the index: asked where the exact
    # name has no match
    for condition, fold in (("name = ?", False), ("name LIKE ? ESCAPE '\\'", True)):
        if fold:
            asked = re.sub(r"([\\%_])", r"\\\1", last)
        else:
            asked = last
        wanted = name.lower() if fold else name
        fitting = [
            symbol
            for symbol in filter(is_visible, select_symbols(graph.db, condition, (asked,)))
            if _fits(split_id(symbol.id)[0], prefix)
        ]
        names = [(_plain(symbol.id, fold), symbol) for symbol in fitting]
        whole = [symbol for plain, symbol in names if plain == wanted]
        matches = whole or [
            symbol
            for plain, symbol in names
            if _ends(plain, wanted, ".") or _ends(plain, wanted, "/")
        ]
        if matches:
            return matches
    return []


def reexported_symbol(graph: Graph, name: str, prefix: str = "") -> Symbol | None:
    """The symbol that a dotted name means where modules hand names on: `structlog.get_logger`. None
    for no such name.

    What code would get by importing it: resolved by the same resolver as the links of the graph.
    """
    parts = name.split(".")
    modules = [".".join(parts[:end]) for end in range(len(parts) - 1, 0, -1)]
    if not modules or not graph.db.rows(
        f"SELECT 1 FROM files WHERE module IN ({placeholders(modules)})", modules
    ):
        return None
    # imported late: a name that is defined where it is looked for, as most are, needs no resolver
    from kl_hooks.code.file_facts import Outlines
    from kl_hooks.code.linker import Extending, Resolver
    from kl_hooks.code.modules import ModuleIndex
    from kl_hooks.code.scanner.expressions import IMPORTED, Ref

    index = ModuleIndex(dict(graph.db.rows("SELECT path, module FROM files")))
    resolver = Resolver(index, Outlines(graph.db, {}).of, Extending(graph.db))
    for module in modules:
        if index.called(module):
            first, *attributes = parts[module.count(".") + 1 :]
            found = resolver.resolve(Ref(IMPORTED, module, first, tuple(attributes)).text, module)
            if found.symbols and not found.lost and not found.beyond:
                last = symbols_of_id(graph.db, found.symbols[-1].id)
                if last and _fits(split_id(last[0].id)[0], prefix):
                    return last[0]
                return None
    return None


def _fits(prefix: str, asked: str) -> bool:
    """A test is its function too: the function is meant, unless the test was asked for."""
    if asked:
        return prefix == asked
    return prefix != "test"


def _plain(identifier: str, fold: bool) -> str:
    name = _QUALIFIED.sub("", dotted_name(identifier))
    if not fold:
        return name
    return name.lower()


def _ends(text: str, end: str, mark: str) -> bool:
    return text == end or text.endswith(mark + end)


def _unknown_name(graph: Graph, text: str) -> Unknown:
    from difflib import get_close_matches

    last = dotted_name(text).rpartition(".")[2].rpartition("/")[2]
    names = [
        row[0]
        for row in graph.db.rows(
            "SELECT DISTINCT name FROM symbol_rows WHERE name >= '' ORDER BY name"
        )
    ]
    near = [
        select_symbols(graph.db, "name = ? AND id NOT LIKE 'test:%'", (name,))
        for name in get_close_matches(last, names, 3, 0.7)
    ]
    owner = dotted_name(text).rpartition(".")[0].rpartition(".")[2].lower()
    owned = [
        [
            symbol
            for symbol in symbols
            if _ends(_plain(symbol.id, True).rpartition(".")[0], owner, ".")
        ]
        for symbols in near
    ]
    meant = [_likeliest(symbols) for symbols in (owned if owner and any(owned) else near)]
    if any(meant):
        hint = f"Did you mean {' or '.join(filter(None, meant))}?"
    else:
        hint = "Look for it with: kl graph search"
    lost = len(graph.not_assessed)
    from kl_hooks.code.languages import unread_text

    if lost:
        gaps = [f"{counted(lost, 'file')} not assessed"]
    else:
        gaps = []
    gaps += filter(None, [unread_text(graph.count_unread())])
    unsure = f" ({'; '.join(gaps)})" if gaps else ""
    return Unknown(f"no matches{unsure}.", place=one_line(text), hint=hint)


def _likeliest(found: Sequence[Symbol]) -> str:
    """Of several symbols of one name the one to propose: what is not hidden in a function, the
    shortest.
    """
    return min(
        (one.id for one in found), key=lambda one: ("<locals>" in one, len(one), one), default=""
    )


def _why(graph: Graph, path: str) -> str:
    problem = next((p for p in graph.not_assessed if p.path == path), None)
    if not problem:
        return "defines nothing."
    return f"was not assessed: line {problem.line}: {problem.message}"


def file_symbols(graph: Graph, text: str) -> tuple[str, list[tuple[int, Symbol]], str]:
    """The file that `text` means, what it defines, and why that is unknown (empty: it is known).

    (depth, symbol), the outer before the inner.
    """
    path = file_of(graph, text)
    problem = next((str(problem) for problem in graph.not_assessed if problem.path == path), "")
    nested_symbols: list[tuple[int, Symbol]] = []
    names: list[str] = []
    for symbol in symbols_in_file(graph.db, path):
        name = split_id(symbol.id)[1]
        while names and not name.startswith((f"{names[-1]}.", f"{names[-1]}{FILE_SIGN}")):
            names.pop()
        nested_symbols.append((len(names), symbol))
        names.append(name)
    return path, nested_symbols, problem
