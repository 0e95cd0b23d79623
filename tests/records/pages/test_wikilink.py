"""`[[links]]` as they stand in Markdown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.records.pages.wikilink import wikilinks


@pytest.mark.requirement("D40")
def test_title_and_display() -> None:
    found = wikilinks("See [[Two scanners]] and\n[[ADR-0007|the links]], | [[Cell\\|shown]] |")
    assert [(one.target, one.shown, one.line, one.column) for one in found] == [
        ("Two scanners", "", 1, 5), ("ADR-0007", "the links", 2, 1), ("Cell", "shown", 2, 27),
    ]  # fmt: skip


@pytest.mark.requirement("D40")
@pytest.mark.parametrize(
    "text",
    [
        "```\n[[No]]\n```", "    [[No]]", "`[[No]]`", "``a ` [[No]]``", "<!-- [[No]] -->",
        "<!--\n[[No]]\n\n[[No]]\n-->",
        "~~~\n[[No]]\n", "- item\n\n      [[No]]", "[[1]](https://example.org)", "\\[[No]]", "[[ ]]", "[[]]",
        "[[1, 2], [3, 4]]", "[[a\nb]]", "`[[No]]\n[[No]]`",
    ],
)  # fmt: skip
def test_code_comments_and_other_brackets_are_no_links(text: str) -> None:
    assert wikilinks(text) == []


@given(st.text(alphabet="[]|ab \n`\\", max_size=60))
def test_every_link_found_stands_where_it_says(text: str) -> None:
    lines = text.split("\n")
    for one in wikilinks(text):
        assert lines[one.line - 1][one.column - 1 :].startswith("[[") and one.target.strip() == one.target
