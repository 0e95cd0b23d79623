"""Moves imports of a file under `if TYPE_CHECKING:` and drops others, with libcst: nothing else in it changes.

Runs in a process of its own (`code.rewriting.child`): libcst may not survive what is nested very deeply.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kl_hooks.code.rewriting.block import Unfixable, with_block
from kl_hooks.code.rewriting.need import statement

if TYPE_CHECKING:
    import libcst as cst

Row = Sequence[Any]
"""Of `code.imports_found`."""


def rewrite(content: bytes, moves: Sequence[Row], drops: Sequence[Row]) -> bytes:
    """The file with these imports moved and those dropped. Raises Unfixable.

    The rows must be of imports at the top level that need no run-time binding (`rewriting.need`). What is moved goes to
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
