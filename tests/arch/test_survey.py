"""The statement behind each import, and what it costs to find those of one file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.arch import survey
from kl_hooks.arch.source import content
from kl_hooks.code import imports
from tests.arch.shop import ORDER, opened, shop

PAGES = [f"shop.web.p{number}" for number in range(7)]
ONE_LINE, MANY_LINES = f"import {', '.join(PAGES)}\n", "".join(f"import {page} as x\n" for page in PAGES)


class Counted(list[Any]):
    """A list that knows how often somebody went through it."""

    times = 0

    def __iter__(self) -> Iterator[Any]:
        Counted.times += 1
        return super().__iter__()


@pytest.mark.parametrize("text", [ONE_LINE, MANY_LINES])
def test_the_statements_of_a_file_are_found_in_one_walk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Whoever asks for each of them: a file of thousands of violations costs no square of that."""
    files = {page.replace("shop.", "src/shop/").replace(".p", "/p") + ".py": "" for page in PAGES}
    ws = opened(shop(tmp_path / "repo", {ORDER: text, **files}))
    found = survey.survey(ws, content(ws))
    links = [link for link in found.links if link.path == ORDER]
    rows = Counted(found.facts[ORDER]["imports"])
    counted, asked = replace(found, facts={ORDER: {"imports": rows}}, _memory={}), list[int]()
    true = imports.file_links
    monkeypatch.setattr(
        survey, "file_links", lambda path, some, known: asked.append(len(some)) or true(path, some, known)
    )
    monkeypatch.setattr(Counted, "times", 0)
    said = [counted.statement(link) for link in links]
    targets = [link.target.partition(":")[2] for link in links]
    assert sorted(targets) == sorted(PAGES)
    assert all(target in one.replace(",", " ").split() for target, one in zip(targets, said, strict=True))
    assert Counted.times == 1
    assert sum(asked) <= len(PAGES)
