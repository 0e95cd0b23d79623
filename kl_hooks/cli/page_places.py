"""What `kl knowledge backlinks`, `mentions` and `related` share: places in other pages, shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kl_hooks.cli.common import say, say_json
from kl_hooks.model.text import one_line

if TYPE_CHECKING:
    from kl_hooks.records.linked import Place
    from kl_hooks.records.pages.names import Page


def say_places(page: Page, verb: str, places: Sequence[Place], shape: str, none: str) -> None:
    """The places, a line each, or `kl.knowledge.VERB/1`."""
    from kl_hooks.cli.kind_read import told
    from kl_hooks.records.linked import plain

    told()
    if shape == "json":
        rows = [{**plain(p.page), "line": p.line, "text": p.text, "percent": p.percent} for p in places]
        say_json({"schema": f"kl.knowledge.{verb}/1", "page": plain(page), verb: rows})
        return
    for one in places:
        head = f"{one.percent:>3} %  " if one.percent else ""
        text = f"  {one_line(one.text, 100)}" if one.text else ""
        say(f"{head}{one.page.path}:{one.line}  {one_line(one.page.title, 80)}{text}")
    if not places:
        say(none)
