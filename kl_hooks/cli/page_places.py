"""What `kl knowledge backlinks`, `mentions` and `related` share: places in other pages, shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kl_hooks.cli.common import note, say, say_json
from kl_hooks.model.text import one_line

if TYPE_CHECKING:
    from kl_hooks.records.page_search import PageLine
    from kl_hooks.records.pages import Page


def say_places(
    page: Page, verb: str, places: Sequence[PageLine], shape: str, none: str, limit: int | None = None
) -> None:
    """Print the first `limit` places (None: all), a line each, or as `kl.knowledge.VERB/1`."""
    from kl_hooks.cli.kind_read import told
    from kl_hooks.records.page_search import page_line_to_dict, page_to_dict

    told()
    if shape == "json":
        rows = [page_line_to_dict(one) for one in places[:limit]]
        say_json({"schema": f"kl.knowledge.{verb}/1", "page": page_to_dict(page), verb: rows, "total": len(places)})
        return
    for one in places[:limit]:
        head = f"{one.percent:>3} %  " if one.percent else ""
        text = f"  {one_line(one.text, 100)}" if one.text else ""
        say(f"{head}{one.page.path}:{one.line}  {one_line(one.page.title, 80)}{text}")
    if limit and len(places) > limit:
        note(f"these are the first {limit} of {len(places)}; more with --limit.")
    if not places:
        say(none)
