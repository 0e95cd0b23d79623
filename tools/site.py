"""A hook of mkdocs, for what `mkdocs.yml` can't express: a folder in the navigation means its pages,
and links from pages to files outside of `docs/` lead to the repository.

In the repository these are relative links, which readers of the files follow. The site has the pages
of `docs/` alone.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any, Final

_CODE_OR_LINK: Final = re.compile(
    r"^ *```.*?^ *```$|`[^`\n]*`|(?<=\]\()(?!\w+:|#|/)(?P<path>[^()\s#]+)", re.MULTILINE | re.DOTALL
)


def on_config(config: Any) -> Any:
    """Called by mkdocs with its settings; returns them with the navigation written out."""
    config.nav = [_with_pages(row, Path(config.docs_dir)) for row in config.nav]
    return config


def _with_pages(row: Any, docs: Path) -> Any:
    """A row of the navigation: a page, or a title with its rows or a folder."""
    if isinstance(row, str):
        return row
    ((title, below),) = row.items()
    if isinstance(below, str):
        pages = sorted(path.relative_to(docs).as_posix() for path in (docs / below).glob("*.md"))
        return {title: pages}
    return {title: [_with_pages(inner, docs) for inner in below]}


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Called by mkdocs with the text of each page; returns what is read instead."""
    folder = posixpath.join("docs", posixpath.dirname(page.file.src_uri))

    def destination(part: re.Match[str]) -> str:
        if part["path"] is None:
            return part[0]
        path = posixpath.normpath(posixpath.join(folder, part["path"]))
        if path.startswith("docs/"):
            return part[0]
        return f"{config.repo_url}blob/main/{path}"

    return _CODE_OR_LINK.sub(destination, markdown)
