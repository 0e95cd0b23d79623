"""Edits of a file's imports with libcst: some removed, some moved under `if TYPE_CHECKING:`.

Runs in a process of its own (`code.rewrite.process`): libcst may not survive what is nested very deeply.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.rewrite.import_use import binds, statement

if TYPE_CHECKING:
    import libcst as cst


_NAME: Final = "TYPE_CHECKING"
_WIDE: Final = 88
"""Columns that an import from typing may take with one more name in it."""


class Unfixable(Exception):
    """This edit can't be made; the text says why, as a clause."""


def with_block(module: cst.Module, tree: ast.Module, moved: list[cst.SimpleStatementLine]) -> cst.Module:
    """The module with `moved` under `if TYPE_CHECKING:`. Raises Unfixable. `tree`: the file as it was."""
    body: list[Any] = list(module.body)
    usable = _usable(tree)
    place = next((n for n, node in enumerate(body) if usable and _is_block(node)), None)
    if place is not None:
        block = body[place]
        body[place] = block.with_changes(body=block.body.with_changes(body=[*block.body.body, *moved]))
    else:
        if not usable:
            _import_name(module, body)
        _insert_block(body, moved)
    if not any(_imports(node, "__future__", "annotations") for node in body):
        if any("annotations" in binds(node) for node in ast.walk(tree)):
            raise Unfixable("something in the file is called annotations, as what it would have to import is")
        _insert(body, 1 if _is_docstring(body[0] if body else None) else 0, "from __future__ import annotations")
    return module.with_changes(body=body)


def _usable(tree: ast.Module) -> bool:
    """True if the name means what it says; Unfixable where the file calls something else so."""
    binding = [node for node in ast.walk(tree) if _NAME in binds(node)]
    flags = [node for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node) == f"{_NAME} = False"]
    if len(binding) == len(flags) == 1:
        return True
    if len(binding) == 1 and any(node is binding[0] and _means_it(node) for node in tree.body):
        return True
    if binding:
        raise Unfixable(f"something in the file is called {_NAME} that is not typing's")
    return False


def _means_it(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        typing = node.module in ("typing", "typing_extensions")
        return typing and any(alias.name == _NAME and alias.asname in (None, _NAME) for alias in node.names)
    return False


def _is_block(node: Any) -> bool:
    import libcst as cst

    named = isinstance(node, cst.If) and isinstance(node.test, cst.Name) and node.test.value == _NAME
    return named and isinstance(node.body, cst.IndentedBlock)


def _import_name(module: cst.Module, body: list[Any]) -> None:
    """Adds `from typing import TYPE_CHECKING`, to an import from typing where there is one with room."""
    import libcst as cst

    end = _end_of_imports(body)
    for place in range(end):
        node = body[place]
        if _imports(node, "typing") and len(node.body) == 1 and not node.body[0].lpar:
            alias = cst.ImportAlias(cst.Name(_NAME), comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
            longer = node.with_changes(body=[node.body[0].with_changes(names=[alias, *node.body[0].names])])
            if len(module.code_for_node(longer.with_changes(leading_lines=())).rstrip()) <= _WIDE:
                body[place] = longer
                return
    _insert(body, _place_of_typing(body[:end]), f"from typing import {_NAME}")


def _place_of_typing(section: list[Any]) -> int:
    """Where an import from typing stands among sorted ones: after those of Python's own library that sort before."""
    first = next(
        (n for n, node in enumerate(section) if not _is_docstring(node) and not _imports(node, "__future__")), None
    )
    if first is None:
        return len(section)
    own = [n for n in range(first, len(section)) if _module(section[n]).partition(".")[0] in sys.stdlib_module_names]
    before = [n for n in own if not _is_from(section[n]) or _module(section[n]) < "typing"]
    return before[-1] + 1 if before else own[0] if own else first


def _insert_block(body: list[Any], moved: list[cst.SimpleStatementLine]) -> None:
    import libcst as cst

    named = [
        n
        for n, node in enumerate(body)
        if _imports(node, "typing", _NAME) or _imports(node, "typing_extensions", _NAME) or _assigns(node)
    ]
    place = max([_end_of_imports(body), *(n + 1 for n in named[:1])])
    block = cst.If(test=cst.Name(_NAME), body=cst.IndentedBlock(body=moved), leading_lines=[_blank()])
    body.insert(place, block)
    _space(body, place + 1)


def _insert(body: list[Any], place: int, text: str) -> None:
    """A new statement; a blank line parts it from a neighbour of another group, if one did or if it comes first."""
    import libcst as cst

    node: Any = cst.parse_statement(text)
    before, after = (body[n] if 0 <= n < len(body) else None for n in (place - 1, place))
    beside = [other for other in (before, after) if _own(other) and "__future__" not in text]
    if before is not None and before not in beside:
        node = node.with_changes(leading_lines=[_blank()])
    body.insert(place, node)
    if after is None:
        return
    if (
        after in beside and before not in beside
    ):  # it comes first of its group: what stood above the group goes above it
        body[place] = node.with_changes(leading_lines=[_blank()] if before is not None else [])
        lines = list(after.leading_lines)
        while lines and lines[0].comment is None:
            lines.pop(0)
        body[place + 1] = after.with_changes(leading_lines=lines)
    elif after not in beside and not ("__future__" in text and _imports(after, "__future__")):
        _space(body, place + 1)


def _space(body: list[Any], place: int) -> None:
    """At least one blank line above a statement."""
    if place < len(body) and not any(line.comment is None for line in body[place].leading_lines):
        body[place] = body[place].with_changes(leading_lines=[_blank(), *body[place].leading_lines])


def _blank() -> cst.EmptyLine:
    import libcst as cst

    return cst.EmptyLine(indent=False)


def _end_of_imports(body: list[Any]) -> int:
    """How many statements the file begins with that are its docstring or imports."""
    return next(
        (n for n, node in enumerate(body) if not (_module(node) or (n == 0 and _is_docstring(node)))), len(body)
    )


def _own(node: Any) -> bool:
    return _module(node).partition(".")[0] in sys.stdlib_module_names and _module(node) != "__future__"


def _module(node: Any) -> str:
    """The first module that an import statement names (dots for a relative one); empty for anything else."""
    import libcst as cst

    small = node.body[0] if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1 else None
    if isinstance(small, cst.Import):
        return small.names[0].evaluated_name
    if not isinstance(small, cst.ImportFrom):
        return ""
    dotted = cst.Module([]).code_for_node(small.module) if small.module else ""
    return "." * len(small.relative) + dotted


def _is_from(node: Any) -> bool:
    import libcst as cst

    return isinstance(node.body[0], cst.ImportFrom)


def _imports(node: Any, module: str, name: str = "") -> bool:
    """True for `from module import …`, with `name` under its own name if one is given; no star."""
    import libcst as cst

    small = next(iter(node.body), None) if isinstance(node, cst.SimpleStatementLine) else None
    if not isinstance(small, cst.ImportFrom) or isinstance(small.names, cst.ImportStar) or _module(node) != module:
        return False
    return not name or any(alias.evaluated_name == name and alias.asname is None for alias in small.names)


def _assigns(node: Any) -> bool:
    import libcst as cst

    return (
        isinstance(node, cst.SimpleStatementLine) and cst.Module([]).code_for_node(node.body[0]) == f"{_NAME} = False"
    )


def _is_docstring(node: Any) -> bool:
    import libcst as cst

    if not isinstance(node, cst.SimpleStatementLine) or not isinstance(node.body[0], cst.Expr):
        return False
    return isinstance(node.body[0].value, cst.SimpleString | cst.ConcatenatedString)


Row = Sequence[Any]
"""Of `code.imports_found`."""


def rewrite(content: bytes, moves: Sequence[Row], drops: Sequence[Row]) -> bytes:
    """The file with these imports moved and those dropped. Raises Unfixable.

    The rows must be of imports at the top level that need no run-time binding (`import_use`). What is moved goes to
    the end of the first `if TYPE_CHECKING:` block, or to a new one after the imports at the top; `TYPE_CHECKING` and
    `from __future__ import annotations` are imported where they are missing. Encoding, byte order mark and line
    endings stay; so does every comment.
    """
    import libcst as cst

    tree = ast.parse(content)
    try:
        module = cst.parse_module(content)
    except (cst.ParserSyntaxError, UnicodeError, LookupError) as problem:
        said = " ".join(str(problem).split())[:120]
        raise Unfixable(f"libcst can't read the file ({said})") from problem
    if module.bytes != content:
        raise Unfixable("libcst can't write the file as it is (odd line endings?)")
    body, moved = _without(module, tree, moves, drops)
    module = _carried(module, body, top=not moved)
    if moved:
        module = with_block(module, tree, moved)
    elif not (module.body or module.header or module.footer):
        module = module.with_changes(has_trailing_newline=False)
    changed = module.bytes
    _hold(content, changed)
    return changed


def _without(
    module: cst.Module, tree: ast.Module, moves: Sequence[Row], drops: Sequence[Row]
) -> tuple[list[Any], list[cst.SimpleStatementLine]]:
    """The module's statements, None where one went, and the statements to put under the block."""
    places = _places(module, tree)
    going: dict[int, dict[str, bool]] = {}
    for rows, moving in ((moves, True), (drops, False)):
        for row in rows:
            node = statement(tree, row)
            if node is None:
                raise Unfixable("the import is not there any more")
            going.setdefault(places[id(node)], {})[row[1] or row[0]] = moving
    body: list[Any] = list(module.body)
    moved = []
    for place, names in sorted(going.items()):
        line = body[place]
        staying = [alias for alias in line.body[0].names if alias.evaluated_name not in names]
        taken = [alias for alias in line.body[0].names if names.get(alias.evaluated_name)]
        body[place] = _with_names(line, staying) if staying else None
        if taken and len(taken) == len(line.body[0].names):
            moved.append(line.with_changes(leading_lines=()))
        elif taken:
            moved.append(_anew(line, taken))
    return body, moved


def _places(module: cst.Module, tree: ast.Module) -> dict[int, int]:
    """Id of a top-level statement of `tree` → its place among the statements of `module`."""
    import libcst as cst

    places = [
        place
        for place, node in enumerate(module.body)
        for _ in (node.body if isinstance(node, cst.SimpleStatementLine) else (node,))
    ]
    if len(places) != len(tree.body):
        raise Unfixable("libcst and Python read the file differently")
    return {id(node): place for node, place in zip(tree.body, places, strict=True)}


def _with_names(line: cst.SimpleStatementLine, staying: list[cst.ImportAlias]) -> cst.SimpleStatementLine:
    """The import with fewer names; its last one ends as the last one did before."""
    node: Any = line.body[0]
    if staying[-1] is not node.names[-1]:
        staying[-1] = staying[-1].with_changes(comma=_closing(staying[-1].comma, node.names[-1].comma))
    return line.with_changes(body=[node.with_changes(names=staying)])


def _closing(comma: Any, last: Any) -> Any:
    """The last comma, with the comment of the one that takes its place."""
    import libcst as cst

    spaces = [one.whitespace_after if isinstance(one, cst.Comma) else None for one in (comma, last)]
    first, then = spaces
    if isinstance(first, cst.ParenthesizedWhitespace) and isinstance(then, cst.ParenthesizedWhitespace):
        return last.with_changes(whitespace_after=then.with_changes(first_line=first.first_line))
    return last


def _anew(line: cst.SimpleStatementLine, taken: list[cst.ImportAlias]) -> cst.SimpleStatementLine:
    """A new statement on one line with some of the names; comments stay with the old one."""
    import libcst as cst

    node: Any = line.body[0]
    plain = [alias.with_changes(comma=cst.MaybeSentinel.DEFAULT) for alias in taken]
    bare = {"lpar": None, "rpar": None} if isinstance(node, cst.ImportFrom) else {}
    return cst.SimpleStatementLine(body=[node.with_changes(names=plain, **bare)])


def _carried(module: cst.Module, body: list[Any], top: bool) -> cst.Module:
    """The module with the statements that are left; lines above one that went stay where they are.

    `top`: what is first then will be the top of the file, where no blank line belongs.
    """
    kept: list[Any] = []
    above: list[Any] = []
    for old, new in zip(module.body, body, strict=True):
        if new is None:
            above = _joined(above, list(old.leading_lines))
        else:
            lines = _joined(above, list(new.leading_lines)) if above else list(new.leading_lines)
            kept.append(new.with_changes(leading_lines=lines) if above else new)
            above = []
    if top and kept and body[0] is None and not module.header:
        kept[0] = kept[0].with_changes(leading_lines=_joined([], list(kept[0].leading_lines), first=True))
    if any(line.comment for line in above):
        return module.with_changes(body=kept, footer=[*above, *module.footer])
    return module.with_changes(body=kept)


def _joined(above: list[Any], below: list[Any], first: bool = False) -> list[Any]:
    """Both groups of lines; of blank ones that meet no more than the larger group had, none at the top of a file."""
    if any(line.comment for line in above):
        return [*above, *below]
    blank = next((n for n, line in enumerate(below) if line.comment), len(below))
    if first:
        return below[blank:]
    return below if blank >= len(above) else [*above, *below[blank:]]


def _hold(before: bytes, after: bytes) -> None:
    """Raises Unfixable unless the new text compiles and has the same comments."""
    try:
        compile(after, "<new>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as problem:
        raise Unfixable(f"the file would no longer compile ({problem})") from problem
    if comments(before) != comments(after):
        raise Unfixable("a comment belongs to it that would be lost")


def comments(content: bytes) -> Counter[str]:
    """The comments of a file and how often each stands there."""
    tokens = tokenize.tokenize(io.BytesIO(content).readline)
    return Counter(token.string.rstrip() for token in tokens if token.type == tokenize.COMMENT)
