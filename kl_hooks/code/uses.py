"""From the frames of a file to what it uses, and to its outline: all that other files need to know of it.

Both are plain JSON, in the expressions of `code.scopes`:
    uses     expression → [symbol, relation, line, symbol, relation, line, …]; a symbol by its place among the file's
             symbols, a relation by its place in RELATIONS
    outline  {"defs": name → prefix of its Id, "names": name → expression, "bases": class → expressions,
              "types": field or function → expression of what it is or returns, "stars": expressions,
              "all": names or null}
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from kl_hooks.code.frames import Frame
from kl_hooks.code.returned import is_setter, returned
from kl_hooks.code.scopes import instance, joined, nameless, owner_class, qualified, spell, stands_for

RELATIONS: Final = ("references", "calls", "inherits")
INHERITS: Final = RELATIONS.index("inherits")
WORD: Final = re.compile(r"[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*")
"""An identifier. `\\w` alone knows neither signs that combine nor all else that Python takes: `हिन्दी`, `a·b`, `℘`."""


def uses_of(frames: Sequence[Frame], places: dict[str, int]) -> dict[str, list[int]]:
    """What is used where. `places`: Id → place among the file's symbols."""
    found: dict[str, list[int]] = {}
    for frame in frames:
        owner = places[(frame.ids or frame.home.ids)[0]]
        home, around, head = frame.home, _around(frame), frame.head
        own = frame.home is frame or not frame.stores
        hidden = _hidden(found, frame, around, owner) if head else ()
        for number, (root, rest, line, code) in enumerate(frame.uses):
            scope = around if number < head else home
            if number < head and (root in hidden or (root, rest) in hidden):
                continue
            base = scope.cache.get(root) if own else stands_for(frame, scope, root)
            if base is None:
                base = scope.cache[root] = stands_for(frame, scope, root)
            if base:
                if rest:
                    expression = joined(base, rest) if "|" in base else f"{base}|{rest}"
                elif base[0] in "~^<" and nameless(base):
                    continue  # the thing itself, not one of its names
                else:
                    expression = base
                flat = found.get(expression)
                if flat is None:
                    found[expression] = [owner, code, line]
                else:
                    flat += (owner, code, line)
            else:
                for name in rest.split(".") if rest else ():
                    found.setdefault(f"?{name}", []).extend((owner, code, line))
    return found


def _hidden(found: dict[str, list[int]], frame: Frame, around: Frame, owner: int) -> set[Any]:
    """Notes the bases of a class; returns the uses before a body that are no more than that: bases, and `[T]`."""
    for root, rest, line in frame.bases:
        expression = spell(frame, around, root, rest)
        for one in [expression] if expression else [f"?{name}" for name in rest.split(".") if name]:
            found.setdefault(one, []).extend((owner, INHERITS, line))
    hidden: set[Any] = {(root, rest) for root, rest, _ in frame.bases}
    return hidden | {parameter.name for parameter in getattr(frame.node, "type_params", ())}


def _around(frame: Frame) -> Frame:
    return frame.outer.home if frame.outer is not None else frame


def outline_of(frames: Sequence[Frame], identifiers: Iterable[str]) -> dict[str, Any]:
    """What other files need to know. `identifiers`: those of the file's symbols, for a module called `_`."""
    module = frames[0]
    defs: dict[str, str] = {}
    for identifier in identifiers:
        prefix, _, name = identifier.partition(":")
        if prefix != "namespace":
            defs.setdefault(name.partition(".")[2], prefix)
    bases: dict[str, list[str]] = {}
    for frame in frames:
        if frame.kind == "class" and frame.node.bases:
            scope = _around(frame)
            named = [spell(frame, scope, root, rest) for root, rest, _ in frame.bases]
            known = [one if one[:1] in ("=", "@", "*") else "" for one in named]
            bases[qualified(frame)] = [*known, *[""] * (len(frame.node.bases) - len(known))]
    return {
        "defs": defs, "names": dict(module.binds), "bases": bases, "types": _types(frames), "stars": module.stars,
        "all": _exported(module.node),
    }  # fmt: skip


def _types(frames: Sequence[Frame]) -> dict[str, str]:
    """Field, attribute of `self`, or function → what it is, or returns; left out where that is not one throughout."""
    seen: dict[str, set[str]] = {}
    for frame in frames:
        if frame.home is not frame:
            continue
        owner = owner_class(frame) if frame.kind == "function" else None
        for name, root, rest in frame.typed:
            if root == "None":
                continue
            if frame.kind != "function" and not name.startswith("self."):
                key = f"{qualified(frame)}.{name}" if frame.kind == "class" else name
            elif owner is not None and name.startswith("self."):
                key = f"{qualified(owner)}.{name[5:]}"
            else:
                continue
            seen.setdefault(key, set()).add(instance(frame, root, rest))
        for name in frame.globals:
            if name in frame.stores:  # whoever says `global` may make it anything
                seen.setdefault(name, set()).add("")
        if frame.kind == "function" and not (frame.node.decorator_list and is_setter(frame.node)):
            seen.setdefault(qualified(frame), set()).add(returned(frame) if frame.node.returns is not None else "")
    return {name: found.pop() for name, found in seen.items() if len(found) == 1 and "" not in found}


def _exported(tree: Any) -> list[str] | None:
    """The names in `__all__`, None where it is not there or not a plain list."""
    names: list[str] | None = None
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if not any(t.__class__ is ast.Name and t.id == "__all__" for t in targets):
            continue
        if node.value.__class__ not in (ast.List, ast.Tuple):
            return None
        found = [e.value for e in node.value.elts if e.__class__ is ast.Constant and e.value.__class__ is str]
        if len(found) != len(node.value.elts):
            return None
        names = [*(names or []), *found] if node.__class__ is ast.AugAssign else found
    return names


def words_of(imports: Iterable[Sequence[Any]], uses: Iterable[str], outline: dict[str, Any]) -> str:
    """Every identifier in a file's imports and expressions, once: who does not say a name does not use it."""
    texts = [text for row in imports for text in row[:2]]
    texts += [*uses, *outline["names"].values(), *outline["types"].values(), *outline["stars"]]
    texts += [one for some in outline["bases"].values() for one in some]
    return " ".join(sorted(set(WORD.findall("\n".join(texts)))))
