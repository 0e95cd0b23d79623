"""Which page a link means: by id, by title whatever the case, by slug; records come before the pages of docs. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kl_hooks.model.slug import slug

LONG: Final = 10_000


@dataclass(frozen=True, slots=True)
class Page:
    """A page that can be linked to."""

    path: str
    """From the root."""
    node: str
    """Its Id in the graph: `adr:ADR-0007`, `file:docs/layers.md`."""
    id: str
    """Of a record: its id; empty for a page of docs."""
    title: str


class Names:
    """Every way to name a page."""

    def __init__(self, pages: Iterable[Page]) -> None:
        self._ids: dict[str, list[Page]] = {}
        self._tiers: tuple[dict[str, list[Page]], ...] = ({}, {}, {}, {})
        self._pages = list(pages)
        for page in self._pages:
            for name in {page.id.lower(), page.path.lower()} - {""}:
                self._ids.setdefault(name, []).append(page)
            home = 0 if page.id else 2
            self._tiers[home].setdefault(_folded(page.title), []).append(page)
            for name in {slug(page.title, LONG), _stem(page)} - {""}:
                self._tiers[home + 1].setdefault(name, []).append(page)

    def find(self, target: str) -> list[Page]:
        """The pages that are meant: one, none (it leads nowhere), or several (nobody can tell which).

        `Title#Section` means the page where no page is called so in full.
        """
        for name in dict.fromkeys((target, target.partition("#")[0].strip())):
            if name:
                found = self._ids.get(name.lower()) or next(filter(None, self._by_title(name)), [])
                if found:
                    return sorted(set(found), key=lambda page: page.path)
        return []

    def all(self) -> list[str]:
        """Titles and ids, to find the nearest among."""
        return [name for page in self._pages for name in (page.title, page.id) if name]

    def _by_title(self, name: str) -> Iterable[list[Page]]:
        for home in (0, 2):
            yield self._tiers[home].get(_folded(name), [])
            yield self._tiers[home + 1].get(name, [])


def _folded(title: str) -> str:
    return " ".join(title.split()).casefold()


def _stem(page: Page) -> str:
    """The name of the file, without its id and ending: `ADR-0007-two-scanners.md` → `two-scanners`."""
    name = page.path.rpartition("/")[2].rpartition(".")[0]
    return name.removeprefix(page.id).lstrip("-") if page.id else name
