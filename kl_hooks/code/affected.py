"""Which files must be resolved again after some changed: those that say a name whose meaning may have changed. Pure.

A link of an unchanged file can only change if a name in its expressions now leads elsewhere. Such a name was defined,
removed or bound anew in a changed file; or it stands in the outline of some file for something that says such a name:
an import under another name, a base class, the class of a field. So the names are followed through outlines until no
new one comes up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from kl_hooks.code.resolve import Outline
from kl_hooks.code.uses import WORD

EVERY: Final = "*"
"""Instead of a name: any name may mean something else."""
_EMPTY: Final[Outline] = {}
_MANY: Final = 20
"""Names from which on it takes longer to search for each than to take the text apart."""


def changed_names(old: Mapping[str, Outline], new: Mapping[str, Outline]) -> set[str]:
    """The names whose meaning may differ between two states of some files; module → outline, before and after.

    `EVERY` among them: the names that a changed star import brings can't be told, so any may differ.
    """
    found: set[str] = set()
    for module in old.keys() | new.keys():
        before, after = old.get(module, _EMPTY), new.get(module, _EMPTY)
        if came_or_went(before, after):
            found.add(module.partition("@")[0].rpartition(".")[2])
        for part in ("defs", "names", "types", "bases"):
            was, now = before.get(part) or {}, after.get(part) or {}
            for key in was.keys() | now.keys():
                if was.get(key) != now.get(key):
                    owner, _, name = key.rpartition(".")
                    # who makes an instance says the name of the class alone
                    found |= {name, owner.rpartition(".")[2]} if name == "__init__" and owner else {name}
        if before.get("stars") != after.get("stars") or before.get("all") != after.get("all"):
            found |= _public(before) | _public(after) | _starred(before) | _starred(after)
    return found


def borne(old: Mapping[str, Outline], new: Mapping[str, Outline]) -> set[str]:
    """The names that symbols of these modules bear, in either state; those of the modules among them."""
    found = {module.partition("@")[0].rpartition(".")[2] for module in (*old, *new)}
    return found | {key.rpartition(".")[2] for one in (*old.values(), *new.values()) for key in one.get("defs") or ()}


def came_or_went(before: Outline, after: Outline) -> bool:
    """True where a module may be there only before or only after: one that can't be read has an outline as empty as one
    that says nothing.
    """
    return not any(before.values()) or not any(after.values())


def resolve_again(
    names: set[str], mentions: Callable[[set[str]], Mapping[str, str]], outline: Callable[[str], Outline | None]
) -> tuple[set[str], set[str]]:
    """The paths that say one of `names`, or a name that depends on one; and all these names.

    `mentions`: names → path → every identifier it says, between spaces, of all paths that say one of them (others may
    be among these; `EVERY`: all paths). `outline`: path → its outline.
    """
    if EVERY in names:
        return set(mentions(names)), names
    known, new, hit = set(names), set(names), set[str]()
    while new:
        now = saying_any(mentions(new), new)
        hit |= now
        found: set[str] = set()
        for path in now:
            found |= _dependent(outline(path) or _EMPTY, known)
        new = found - known
        known |= new
    return hit, known


def saying_any(mentions: Mapping[str, str], names: set[str]) -> set[str]:
    """The paths that say one of `names`."""
    return {path for path, words in mentions.items() if _says(words, names)} if names else set()


def _says(words: str, names: set[str]) -> bool:
    """True if one of the names stands between the spaces. Of few names a search in the text rules most files out."""
    return (len(names) > _MANY or any(name in words for name in names)) and not names.isdisjoint(words.split())


def _dependent(outline: Outline, names: set[str]) -> set[str]:
    """The names in an outline that stand for something which says one of `names`."""
    found = set()
    for part in ("names", "types"):
        for key, expression in (outline.get(part) or {}).items():
            if not names.isdisjoint(WORD.findall(expression)):
                found.add(key.rpartition(".")[2])
    for key, expressions in (outline.get("bases") or {}).items():
        if not names.isdisjoint(WORD.findall(" ".join(expressions))):
            found.add(key.rpartition(".")[2])
    return found


def _public(outline: Outline) -> set[str]:
    return {key for part in ("defs", "names") for key in outline.get(part) or () if "." not in key}


def _starred(outline: Outline) -> set[str]:
    return {EVERY} if outline.get("stars") else set()
