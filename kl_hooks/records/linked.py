"""Asking about pages: where one leads, what leads to it, who speaks of it without a link, what is like it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.config.files import read_small
from kl_hooks.errors import UsageProblem
from kl_hooks.records.catch_up import catch_up
from kl_hooks.records.hiding import hidden
from kl_hooks.records.markdown import said
from kl_hooks.records.pages.names import Names, Page
from kl_hooks.records.pages.read import MOST_BYTES, page_text
from kl_hooks.records.pages.take import RELATION, leads_to
from kl_hooks.records.pages.wikilink import wikilinks

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace.open import Workspace

_COLUMNS: Final = "path, node, id, title"
_MANY: Final = 2_000
"""Pages that are worth finding by their words before they are read."""
_LEAST: Final = 3
"""Characters of a title that is looked for in other pages."""


@dataclass(frozen=True, slots=True)
class Place:
    """A page, and the line in it that matters."""

    page: Page
    line: int
    text: str
    """What the line says."""
    percent: int = 0
    """Of `related`: how like it is; a page is 100 % like itself."""


@dataclass(frozen=True, slots=True)
class Leads:
    """A link that a page says."""

    target: str
    line: int
    node: str
    """Where it leads; empty: nowhere, or to more than one page."""
    title: str
    several: tuple[str, ...] = ()
    """The paths that it may mean."""


def page_of(ws: Workspace, name: str) -> Page:
    """The page of this id, path, title or slug. UsageProblem, with the nearest, where there is none or several."""
    catch_up(ws)
    place = Path(name)
    path = place.relative_to(ws.root).as_posix() if place.is_absolute() and place.is_relative_to(ws.root) else name
    pages = _pages(ws)
    found = Names(pages).find(path.removeprefix("./"))
    if len(found) == 1:
        return found[0]
    if found:
        reason = f"may be {', '.join(page.path for page in found)}."
        raise UsageProblem(reason, place=name, hint="Name the file.")
    near = get_close_matches(name, [n for page in pages for n in (page.id or page.path, page.title)], 1)
    raise UsageProblem(
        "is no page: no id, file or title is called so.", place=name, hint=f"Did you mean {near[0]!r}?" if near else ""
    )


def outgoing(ws: Workspace, page: Page) -> list[Leads]:
    """The links that a page says, in their order, broken ones too."""
    with ws.store.reading("graph") as db:
        row = db.row("SELECT links FROM page WHERE path = ?", (page.path,)) if db is not None else None
        if db is None or row is None:
            return []
        names = Names(_pages(ws))
        titles = {one.node: one.title for one in _pages(ws)}
        made = []
        for target, _, line, _ in json.loads(row[0]):
            node, some = leads_to(db, names, target), names.find(target)
            several = tuple(one.path for one in some) if len(some) > 1 else ()
            made.append(Leads(target, line, node, titles.get(node, ""), several))
        return made


def backlinks(ws: Workspace, page: Page) -> list[Place]:
    """The places that link to a page, by path and line."""
    from kl_hooks.graph import links

    with ws.store.reading("graph") as db:
        found = links.incoming(db, page.node, RELATION) if db is not None else []
    pages = {one.path: one for one in _pages(ws)}
    return [
        Place(pages[one.path], one.line, _line(ws, one.path, one.line))
        for one in sorted(found, key=lambda link: (link.path, link.line))
        if one.path in pages
    ]


def mentions(ws: Workspace, page: Page, limit: int = 20) -> list[Place]:
    """Pages that say the title or the id of a page without any link to it: the one changed last first."""
    linked = {place.page.path for place in backlinks(ws, page)} | {page.path}
    names = [name for name in (page.id, page.title) if len(name) >= _LEAST]
    if not names:
        return []
    spoken = re.compile(rf"(?<!\w)(?:{'|'.join(map(_loose, names))})(?!\w)", re.IGNORECASE)
    found: list[Place] = []
    with ws.store.reading("graph") as db:
        rows = db.rows(f"SELECT {_COLUMNS} FROM page ORDER BY changed DESC, path") if db is not None else []
        likely = _likely(ws, db, names) if db is not None else None
    for row in rows:
        one = Page(*row)
        if (
            one.path not in linked
            and (likely is None or one.path in likely)
            and (number := _says(ws, one.path, spoken))
        ):
            found.append(Place(one, number, _line(ws, one.path, number)))
            if len(found) == limit:
                break
    return found


def _likely(ws: Workspace, db: Database, names: Sequence[str]) -> set[str] | None:
    """The pages that hold a rare word of these names; None where the words are all too common to tell."""
    from kl_hooks.index import index

    found: set[str] = set()
    for name in names:
        hits = index.search(db, [name], _MANY, _kinds(ws))
        if len(hits) == _MANY or not name.isascii():
            return None
        found.update(hit.path for hit in hits)
    return found


def related(ws: Workspace, page: Page, limit: int = 10) -> list[Place]:
    """The pages most like a page by their words, the most alike first."""
    from kl_hooks.index import index

    words = _telling(ws, page)
    pages = {one.path: one for one in _pages(ws)}
    with ws.store.reading("graph") as db:
        hits = index.search(db, words, limit + 200, _kinds(ws)) if db is not None else []
    own = max((hit.rank for hit in hits if hit.path == page.path), default=0)
    best = max([own, *(hit.rank for hit in hits)], default=1) or 1
    some = [hit for hit in hits if hit.path in pages and hit.path != page.path][:limit]
    return [Place(pages[hit.path], 1, "", max(1, min(100, 100 * hit.rank // best))) for hit in some]


def _kinds(ws: Workspace) -> Sequence[str]:
    return [*ws.kinds, "page"]


def _pages(ws: Workspace) -> list[Page]:
    with ws.store.reading("graph") as db:
        return [Page(*row) for row in db.rows(f"SELECT {_COLUMNS} FROM page ORDER BY path")] if db is not None else []


def _text(ws: Workspace, path: str) -> str:
    try:
        return page_text(path, read_small(ws.root / path, within=ws.root, most=MOST_BYTES) or b"").body
    except UsageProblem:
        return ""


def _line(ws: Workspace, path: str, number: int) -> str:
    lines = _text(ws, path).split("\n")
    return hidden(lines[number - 1].strip()) if 0 < number <= len(lines) else ""


def _loose(name: str) -> str:
    """A pattern for a name whose words may stand on two lines."""
    return r"\s+".join(map(re.escape, name.split()))


def _says(ws: Workspace, path: str, spoken: re.Pattern[str]) -> int:
    """The line on which a page says it first, outside code, comments and other links; 0: nowhere."""
    text = said(_text(ws, path))
    for link in wikilinks(text):
        text = text.replace(f"[[{link.target}", " " * (len(link.target) + 2))
    found = spoken.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def _telling(ws: Workspace, page: Page) -> list[str]:
    """The words of a page that tell most: those of its title, then the frequent ones of its text."""
    counted = Counter(word.lower() for word in re.findall(r"[^\W\d_][\w-]{3,40}", _text(ws, page.path)))
    often = [word for word, _ in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))[:40]]
    return [*re.findall(r"\w+", page.title), *often]


def plain(page: Page) -> dict[str, Any]:
    """A page as JSON has it."""
    return {"id": page.id or page.node, "title": page.title, "path": page.path, "kind": "record" if page.id else "page"}
