"""What a Markdown text states outside code and comments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.records.markdown import (
    blank_code,
    close_open_blocks,
    headings,
    section_headings,
    with_sections,
)

MARKS = st.lists(
    st.sampled_from([*"`~#-=<!>\n \tax*\\", "```", "<!--", "-->", "\n\n", "    ", "- ", "1. "])
).map("".join)


@pytest.mark.parametrize(
    "text",
    [
        "```\nHIDDEN\n```\nshown",
        "~~~ python\nHIDDEN\n```\nHIDDEN\n~~~~\nshown",
        "```\nHIDDEN to the end",
        "words\n\n    HIDDEN\n\n    HIDDEN\n\nshown",
        "shown\n    shown, a lazy line",
        "- item\n\n    shown, a paragraph of the item\n\n     shown as well\n\n          HIDDEN",
        "- item\n  ```\n  HIDDEN\n  ```\n  shown",
        "- ```\n  HIDDEN\n\nshown",
        "shown `HIDDEN` shown ``HIDDEN ` HIDDEN`` shown",
        "shown `HIDDEN\nHIDDEN` shown",
        "shown ` shown\n\nshown ` shown",
        "shown \\` shown `HIDDEN` shown",
        "shown <!-- HIDDEN --> shown",
        "shown <!-- HIDDEN\n\n```\nHIDDEN\n-->\nshown",
        "shown <!-- HIDDEN",
        "shown `HIDDEN <!-- HIDDEN` shown\nshown",
        "```\nHIDDEN <!-- HIDDEN\n```\nshown",
        "``` not a fence ``` shown",
    ],
)
def test_code_and_comments_are_not_reported(text: str) -> None:
    shown = blank_code(text)
    assert "HIDDEN" not in shown
    assert shown.count("shown") == text.count("shown")
    assert len(shown) == len(text) and shown.count("\n") == text.count("\n")


def test_headings_of_both_forms() -> None:
    text = (
        "Top\n===\n\n# One #\n\n## `Two` and ##\n\nwords\n---\n\n#no\n\n```\n# no\n```\n\n    #"
        " no\n\nlist\n- a\n---\n"
    )
    assert [(one.line, one.level, one.words) for one in headings(text)] == [
        (0, 1, "Top"),
        (3, 1, "One"),
        (5, 2, "`Two` and"),
        (7, 2, "words"),
    ]
    assert [one.words for one in headings(text, 1)] == ["Top", "One"]


@given(MARKS | st.text())
def test_whatever_the_text_its_places_stay(text: str) -> None:
    shown = blank_code(text)
    assert len(shown) == len(text)
    assert all(new in (old, " ") for new, old in zip(shown, text, strict=True))
    assert blank_code(shown) == blank_code(blank_code(shown))
    headings(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["`", "` ", "<!--", "``a`b", "\\`", "- ", "    x\n\n", "#", "> `<!--`\n", "`\n\n"]
)
@pytest.mark.share(5)
def test_a_long_text_of_marks_is_read_to_its_end(piece: str) -> None:
    """What costs more than its length would take hours here."""
    text = piece * (400_000 // len(piece))
    assert len(blank_code(text)) == len(text)


@given(MARKS | st.text())
def test_what_follows_a_closed_text_is_reported(text: str) -> None:
    whole = close_open_blocks(text)
    assert whole.startswith(text)
    assert headings(f"{whole}\n\n## After")[-1].words == "After"
    assert close_open_blocks(whole) == whole


def test_sections_of_a_record_are_cut_as_those_of_a_page_except_that_no_comment_hides_one() -> None:
    text = (
        "# T\n\n## A\na\n\n```md\n## no\n```\n\n- item\n  ```\n## B\n<!-- open\n\n## C# "
        "##\nU\n-\n##\n"
    )
    cuts = section_headings(text.split("\n"))
    assert [heading.words for heading in cuts] == ["A", "B", "C#"]
    assert [one.words for one in headings(text, 2)] == ["T", "A", "B"], "the comment hides C#"
    lines = text.split("\n")
    assert [lines[part.start : part.stop] for _, part in with_sections(cuts, len(lines))][1] == [
        "<!-- open",
        "",
    ]
    assert list(with_sections([], 3)) == []
