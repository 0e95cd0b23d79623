"""Which page a name means.

`[[links]]` as they are in Markdown.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.records.pages import Page, PageNames, find_wikilinks

ADR = Page(
    ".kl/knowledge/decisions/ADR-0007-two-scanners.md",
    "adr:ADR-0007",
    "ADR-0007",
    "Two  Scanners: why?",
)
DOC = Page("docs/layers.md", "file:docs/layers.md", "", "Layers")
SAME = Page("docs/scanners.md", "file:docs/scanners.md", "", "two scanners: why?")
TWIN = Page("docs/deep/layers.md", "file:docs/deep/layers.md", "", "Other")
NAMES = PageNames([ADR, DOC, SAME, TWIN])


@pytest.mark.requirement("D40")
@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("ADR-0007", [ADR]),
        ("adr-0007", [ADR]),
        ("TWO SCANNERS: WHY?", [ADR]),
        ("two-scanners-why", [ADR]),
        ("two-scanners", [ADR]),
        ("Two-Scanners", []),
        ("layers", [DOC]),
        ("LAYERS", [DOC]),
        ("scanners", [SAME]),
        ("docs/deep/layers.md", [TWIN]),
        ("Layers#The baseline", [DOC]),
        ("nothing", []),
        ("#x", []),
        ("", []),
    ],
)
def test_id_then_title_then_slug_and_records_first(target: str, found: list[Page]) -> None:
    assert NAMES.find(target) == found


@pytest.mark.requirement("D40")
def test_what_nobody_can_know_is_all_of_them() -> None:
    twice = PageNames([DOC, Page("docs/b.md", "file:docs/b.md", "", "Layers")])
    assert [page.path for page in twice.find("layers")] == ["docs/b.md", "docs/layers.md"]
    assert len(PageNames([DOC, TWIN]).find("layers")) == 1, (
        "a title counts more than the name of a file"
    )


@pytest.mark.requirement("D40")
def test_title_and_display() -> None:
    found = find_wikilinks("See [[Two scanners]] and\n[[ADR-0007|the links]], | [[Cell\\|shown]] |")
    assert [(one.target, one.shown, one.line, one.column) for one in found] == [
        ("Two scanners", "", 1, 5),
        ("ADR-0007", "the links", 2, 1),
        ("Cell", "shown", 2, 27),
    ]


@pytest.mark.requirement("D40")
@pytest.mark.parametrize(
    "text",
    [
        "```\n[[No]]\n```",
        "    [[No]]",
        "`[[No]]`",
        "``a ` [[No]]``",
        "<!-- [[No]] -->",
        "<!--\n[[No]]\n\n[[No]]\n-->",
        "~~~\n[[No]]\n",
        "- item\n\n      [[No]]",
        "[[1]](https://example.org)",
        "\\[[No]]",
        "[[ ]]",
        "[[]]",
        "[[1, 2], [3, 4]]",
        "[[a\nb]]",
        "`[[No]]\n[[No]]`",
    ],
)
def test_code_comments_and_other_brackets_are_no_links(text: str) -> None:
    assert find_wikilinks(text) == []


@given(st.text(alphabet="[]|ab \n`\\", max_size=60))
def test_every_link_found_is_where_it_states(text: str) -> None:
    lines = text.split("\n")
    for one in find_wikilinks(text):
        assert (
            lines[one.line - 1][one.column - 1 :].startswith("[[")
            and one.target.strip() == one.target
        )
