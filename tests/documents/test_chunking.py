"""Chunking: passages are parts of the document under their headings; code blocks and tables stay
whole.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import pairwise
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.config.settings import STRATEGIES
from kl_hooks.documents.chunking import Chunking, Cut, Passage
from kl_hooks.documents.chunking import cut as cut_bytes

FENCE = "```python\nfor n in range(9):\n\n    print(n)\n# no heading\n```"
PAGE = f"""# Guide

Before all headings.

## Set up

Install it. {"Then wait. " * 20}

{FENCE}

### On Windows

| a | b |
|---|---|
| 1 | 2 |

- one

  and more of one
- two

## Use

Call `shop.total()` or `Basket`.
"""
RST = """Title
=====

Text before::

    literal one

    literal two

Part
----

.. code-block:: python

   x = 1

   y = 2

====  ====
a     b
====  ====
1     2

3     4
====  ====
"""


def cut(path: str, text: str, how: Chunking) -> Cut:
    return cut_bytes(path, text.encode(), how)


def lines_of(text: str, first: int, last: int) -> str:
    return "\n".join(text.split("\n")[first - 1 : last])


@pytest.mark.requirement("D19")
def test_a_page_is_cut_at_its_headings_and_each_passage_knows_its_lines() -> None:
    made = cut("docs/guide.md", PAGE, Chunking())
    assert made.title == "Guide"
    assert [(one.heading, one.first_line) for one in made.passages] == [
        ((), 1),
        (("Set up",), 7),
        (("Set up", "On Windows"), 18),
        (("Use",), 29),
    ]
    assert all(lines_of(PAGE, one.first_line, one.last_line) == one.text for one in made.passages)


@pytest.mark.requirement("D19")
def test_code_blocks_and_tables_are_never_cut() -> None:
    small = [one.text for one in cut("docs/guide.md", PAGE, Chunking(size=100)).passages]
    assert len(small) > 4 and sum(FENCE in one for one in small) == 1
    assert sum("| a | b |\n|---|---|\n| 1 | 2 |" in one for one in small) == 1
    rst = [one.text for one in cut("docs/guide.rst", RST, Chunking(size=100)).passages]
    literal, table = "Text before::\n\n    literal one\n\n    literal two", "1     2\n\n3     4\n="
    for whole in (literal, "   x = 1\n\n   y = 2", table):
        assert sum(whole in one for one in rst) == 1, (whole, rst)
    wide = "| a | b |\n" + "| 1 | 2 |\n" * 5000
    assert all(
        len(one.text) <= 20_000 for one in cut("big.md", f"# Big\n\n{wide}", Chunking()).passages
    )
    row = f"| {'wide ' * 1_000}|"
    assert cut("t.md", f"# T\n\n{row}\n", Chunking()).passages[-1].text == row


@pytest.mark.requirement("D19")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_line_of_a_megabyte_is_many_passages_of_that_line(strategy: str) -> None:
    sentence = "Every refund is paid before noon. "
    for line in (sentence * 10_000, "x" * 100_000, "word " * 20_000):
        made = cut(
            "log.md", f"# Log\n\nBegin.\n\n{line}\n\nEnd.\n", Chunking(strategy=strategy)
        ).passages
        assert max(len(one.text) for one in made) <= 1_500
        assert all(1 <= one.first_line <= one.last_line <= 7 for one in made)
        within = [one.text for one in made if one.first_line == one.last_line == 5]
        assert len(within) >= len(line) // 1_500 - 2
        assert "".join("".join(within).split()) in "".join(line.split())


words = st.lists(
    st.sampled_from(
        ["word", "# head", "## low", "```", "| a |", "    code", "- item", "", "", "x. Y"]
    )
)


@given(
    words,
    st.sampled_from(STRATEGIES),
    st.integers(100, 300),
    st.sampled_from(["a.md", "a.rst", "a.txt"]),
)
def test_nothing_is_lost_and_every_passage_is_a_part_of_the_document(
    lines: list[str], strategy: str, size: int, path: str
) -> None:
    text = "\n".join(lines)
    found = cut(path, text, Chunking(strategy, size, 20)).passages
    covered = set[int]()
    for one in found:
        assert one.text in lines_of(text, one.first_line, one.last_line)
        covered |= set(range(one.first_line, one.last_line + 1))
    if strategy != "structure":
        assert (
            covered >= {number for number, line in enumerate(lines, 1) if line.strip()}
            or not text.strip()
        )


@pytest.mark.requirement("D19")
@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("fixed", ["One two. Three four.", "our.\n\nFive six seven", "even. Eight."]),
        ("sentence", ["One two. Three four.", "Five six seven.", "Eight."]),
        ("paragraph", ["One two. Three four.", "Five six seven. Eight."]),
        ("recursive", ["One two. Three four.", "Five six seven.", "Eight."]),
    ],
)
def test_other_strategies_know_no_markup(strategy: str, expected: list[str]) -> None:
    text = "One two. Three four.\n\nFive six seven. Eight.\n"
    found = cut("a.txt", text, Chunking(strategy, 20, 4)).passages
    assert [one.text for one in found] == expected


def test_of_a_notebook_its_markdown_is_read() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# A\n", "text"]},
        {"cell_type": "code", "source": "x = 1"},
    ]
    made = cut("n.ipynb", json.dumps({"cells": cells}), Chunking())
    assert (made.title, [one.text for one in made.passages]) == ("A", ["# A\ntext"])
    assert "not a notebook" in cut("n.ipynb", "{}", Chunking()).error


def test_what_is_no_text_is_refused_and_wrong_bytes_are_replaced() -> None:
    how = Chunking()
    assert cut_bytes("a.md", b"\x89PNG\0\1", how).error == "is a binary file."
    assert cut_bytes("a.md", b"a" * 10_000_001, how).error == "is larger than 10 MB."
    assert cut_bytes("a.md", b"a\xff\r\nb", how).passages[0].text == "a\ufffd\nb"
    assert cut_bytes("a.md", "ü".encode("utf-16"), how).passages[0].text == "ü"


def test_names_look_like_code() -> None:
    text = (
        "Call `total` or :func:`~shop.api.add`, then Basket.add_line(x) with HTTPServer and"
        " snake_case. It runs so."
    )
    assert Passage((), 1, 1, text).names == [
        "total",
        "shop.api.add",
        "Basket.add_line",
        "HTTPServer",
        "snake_case",
    ]


def test_html_is_read_as_headings_paragraphs_lists_code_and_tables() -> None:
    page = (
        "<html><head><title>Site &amp;"
        " more</title><script>evil()</script></head><body><nav>menu</nav><h1>Install</h1><p>Run"
        " <code>pip install x</code>\nnow.<h2>On"
        " <i>Windows</i></h2><ul><li>First</li><li>Second</li></ul><pre>a = 1\n\n  b ="
        " 2</pre><table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td>2</td></tr></table><style>p{"
    )
    made = cut_bytes("docs/a.HTML", page.encode(), Chunking())
    assert (made.title, made.error) == ("Install", "")
    assert [(one.heading, one.text) for one in made.passages] == [
        ((), "# Install\n\nRun `pip install x` now."),
        (("On Windows",), "- First\n- Second\n\n```\na = 1\n\n  b = 2\n```\n\n|k |v |\n|1 |2 |"),
    ]
    assert (
        cut_bytes("a.htm", b"<title>Only a title</title><p>Text", Chunking()).title
        == "Only a title"
    )


def test_a_head_of_html_ends_where_what_is_shown_begins() -> None:
    for middle in ("<body>", "", "</head>", "<body class=a>"):
        page = (
            "<html><head><meta"
            f" x><title>Site</title><script>evil()</script>{middle}<p>Shown.<h2>More</h2><p>Text."
        )
        found = cut_bytes("a.html", page.encode(), Chunking())
        assert found.text == "# Site\n\nShown.\n\n## More\n\nText.\n"


def test_an_icon_has_no_title_of_a_page_and_a_menu_that_nothing_closes_hides_nothing() -> None:
    for page, text in (
        ("<svg><title>Icon</title></svg><h2>Site</h2>Text.", "## Site\n\nText.\n"),
        (
            "<head><title>Site</title></head><svg><title>Icon</title></svg>Text.",
            "# Site\n\nText.\n",
        ),
        ("<nav>menu<p>Text.", "menu\n\nText.\n"),
        ("<nav>menu<main><p>Text.</main><nav>more</nav>", "Text.\n"),
    ):
        assert cut_bytes("a.html", page.encode(), Chunking()).text == text


@pytest.mark.sweep
def test_a_list_of_very_many_lines_is_cut_in_one_pass() -> None:
    began = process_time()
    made = cut_bytes("a.md", b"- a\n" * 200_000, Chunking())
    # one second; with the list's end looked for again from each passage on it takes more than ten
    assert len(made.passages) == 534 and process_time() - began < 5


@pytest.mark.parametrize("opened", ["<!--", "<![CDATA[", "<?", "<a ", "<a href='", "</a "])
def test_what_html_never_closes_is_looked_for_once(opened: str) -> None:
    """Without the guard html.parser takes minutes for some of these."""
    page = "<p>Shown.</p><!-- closed --><p>a < b</p>" + opened * 20_000
    found = cut_bytes("a.html", page.encode(), Chunking())
    assert found.text.startswith("Shown.\n\na < b")


@given(st.text(alphabet="<>/apreh1 td!-&;=\"'\n", max_size=80))
def test_any_text_is_read_as_html(text: str) -> None:
    assert not cut_bytes("a.html", text.encode(), Chunking()).error


def pdf(*pages: str) -> bytes:
    """A PDF with these texts as pages."""
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    kids = " ".join(f"{3 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
    ]
    for number, text in enumerate(pages):
        lines = text.replace("\n", ") Tj 0 -14 Td (")
        stream = f"BT /F1 12 Tf 20 200 Td ({lines}) Tj ET"
        objects += [
            (
                f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents {4 + 2 * number} 0"
                f" R /Resources << /Font << /F1 {font} >> >> >>"
            ),
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    made, places = "%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(made))
        made += f"{number} 0 obj\n{text}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(made)}\n%%EOF\n"
    return f"{made}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode()


def test_a_pdf_is_read_by_pages_and_what_can_not_be_read_is_stated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = pdf(
        "Replace the gasket",
        "Torque is 40 Nm",
        "Tools\n=====\nA wrench",
        "~~~\ncode <!-- x",
        "The end",
    )
    made = cut_bytes("manual.pdf", data.replace(b"/Size", b"/Size 1 /Size"), Chunking())
    # what would be a heading, a fence or a comment in Markdown hides no page
    assert [(one.heading[-1], one.text) for one in made.passages] == [
        ("Page 1", "Replace the gasket"),
        ("Page 2", "Torque is 40 Nm"),
        ("Page 3", "Tools\n\nA wrench"),
        ("Page 4", "\\~~~\ncode < !-- x"),
        ("Page 5", "The end"),
    ]
    assert made.title == "manual" and capsys.readouterr().err == ""
    assert (
        cut_bytes("scan.pdf", pdf(""), Chunking()).error == "is a PDF without text, such as a scan."
    )
    assert cut_bytes("bad.pdf", data[:300], Chunking()).error.startswith("can't be read as PDF: ")
    assert cut_bytes("bin.pdf", b"\0\1", Chunking()).error == "is a binary file."
    monkeypatch.setitem(sys.modules, "pypdf", None)
    assert (
        cut_bytes("manual.pdf", data, Chunking()).error
        == "is a PDF, which needs: pip install 'kl-hooks[pdf]'"
    )


@pytest.mark.requirement("D19")
def test_semantic_passages_end_where_the_subject_changes() -> None:
    text = "Cats purr. Cats sleep. Cats eat. Bonds pay. Bonds fall. Bonds rise.\n"

    def alike(texts: Sequence[str]) -> list[float]:
        return [float(one.split()[0] == other.split()[0]) for one, other in pairwise(texts)]

    how = Chunking("semantic", 1500, 0)
    assert [
        one.text for one in cut_bytes("a.txt", text.encode(), how, similarities=alike).passages
    ] == [
        "Cats purr. Cats sleep. Cats eat.",
        "Bonds pay. Bonds fall. Bonds rise.",
    ]
    # without a model as `recursive`; and nothing is longer than asked for
    assert len(cut_bytes("a.txt", text.encode(), how).passages) == 1
    short = cut_bytes(
        "a.txt", text.encode(), Chunking("semantic", 20, 0), similarities=alike
    ).passages
    assert (
        all(len(one.text) <= 24 for one in short)
        and " ".join(one.text for one in short) == text.strip()
    )


CONFVALS = """Configuration
=============

Options for HTML
----------------

What HTML has.

.. confval:: html_css_files
   :type: list

   A list of CSS files.

   .. versionadded:: 1.8

.. option:: -n, --nitpicky

   Warn about all.

Text after the entries.

.. function:: open(path, mode="r")

   Open a file.
"""


@pytest.mark.requirement("D19")
def test_an_entry_of_a_reference_page_is_a_passage_under_its_name() -> None:
    passages = cut_bytes("docs/conf.rst", CONFVALS.encode(), Chunking()).passages
    section = "Options for HTML"
    assert [(passage.heading, passage.text.split("\n")[0]) for passage in passages] == [
        ((), "Configuration"),
        ((section,), "What HTML has."),
        ((section, "html_css_files"), ".. confval:: html_css_files"),
        ((section, "-n, --nitpicky"), ".. option:: -n, --nitpicky"),
        ((section,), "Text after the entries."),
        ((section, "open"), '.. function:: open(path, mode="r")'),
    ]
    myst = "# Conf\n\nAll.\n\n```{confval} html_css_files\nFiles.\n```\n\nMore.\n"
    passages = cut_bytes("docs/conf.md", myst.encode(), Chunking()).passages
    assert [passage.heading for passage in passages] == [(), ("html_css_files",), ()]
    html = "<h1>Conf</h1><dl><dt>nitpicky</dt><dd>Warn about all.</dd></dl>"
    (passage,) = cut_bytes("docs/conf.html", html.encode(), Chunking()).passages[1:]
    assert (passage.heading, passage.text.split("\n")[-1]) == (("nitpicky",), "Warn about all.")


@pytest.mark.requirement("D19")
def test_the_newest_release_of_a_changelog_is_not_the_title_of_the_oldest() -> None:
    news = "2.0\n===\n\nNew.\n\nBugs\n----\n\nOne.\n\n1.3\n===\n\nBugs\n----\n\nFixes it.\n"
    changelog = cut_bytes("docs/NEWS.rst", news.encode(), Chunking())
    assert changelog.title == "NEWS"
    assert [passage.heading for passage in changelog.passages] == [
        ("2.0",),
        ("2.0", "Bugs"),
        ("1.3", "Bugs"),
    ]
