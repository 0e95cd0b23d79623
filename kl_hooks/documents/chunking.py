"""Chunking: a document cut into passages, each with its headings, its lines and the names of code
in it. Pure.

The default cuts at headings, then between paragraphs, and never inside a code block or a table. The
other strategies know nothing of markup: windows of characters, sentences, paragraphs, the largest
separator that fits, or where the subject changes, by a model.
"""

from __future__ import annotations

import io
import json
import logging
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from html.parser import HTMLParser
from itertools import islice, pairwise
from statistics import fmean, pstdev
from typing import Final

from kl_hooks.config.settings import CHUNK_SIZES, STRATEGIES
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.text import one_line
from kl_hooks.records.pages import PageSection, parse_page

_VERSION: Final = 6
"""Raised when the same text is cut in another way: then every document is cut again."""
_MOST_BYTES: Final = 10_000_000
"""Of a document: what is larger is data. It is refused with its size."""
_LONGEST: Final = CHUNK_SIZES[1]
"""Characters of a code block or a table that stays whole: a generated list of a megabyte is no
passage.
"""
_TITLE: Final = 300
_CONVERTED: Final = (".ipynb.md", ".pdf.md", ".html.md", ".htm.md", ".xhtml.md")
_FENCE: Final = lazy_pattern(r" {0,3}(`{3,}|~{3,})")
# a directive whose content is shown as it is, and a paragraph that ends in `::`, which begins a
# literal block
_LITERAL: Final = lazy_pattern(
    r"\s*\.\."
    r" (?:code|code-block|sourcecode|parsed-literal|literalinclude|doctest|testcode|testsetup|testoutput|math|"
    r"table|list-table|csv-table|productionlist|prompt|ipython|tabs|tab)::.*|(?!\s*\.\. ).*::\s*"
)
_ENTRY_KINDS: Final = (
    "function|class|method|classmethod|staticmethod|attribute|property|exception|data|decorator|"
    "module|option|cmdoption|envvar|confval|setting|directive|role|object|macro|type|struct|enum|"
    "enumerator|member|var|event|describe|opcode|command|auto(?:function|class|method|attribute|"
    "property|exception|data|decorator|module)"
)
# what begins the entry of a reference page: a directive of Sphinx, or the same in MyST
_ENTRY: Final = lazy_pattern(rf"\s*\.\. (?:[a-z]+:)?(?:{_ENTRY_KINDS}):: *(\S.*)")
_ENTRY_IN_MARKDOWN: Final = lazy_pattern(
    rf"\s*(?:`{{3,}}|:{{3,}}) ?\{{(?:[a-z]+:)?(?:{_ENTRY_KINDS})\}} *(\S.*)"
)
_ENTRY_NAME: Final = 120
_SIMPLE_TABLE: Final = lazy_pattern(r"\s*=+(?: +=+)+\s*")
_SENTENCE: Final = lazy_pattern(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])|\n\s*\n")
_PARAGRAPH: Final = lazy_pattern(r"\n[ \t]*(?:\n[ \t]*)+")
_SEPARATORS: Final = ("\n\n", "\n", ". ", " ", "")
# in backticks, as a role of Sphinx (`:func:`~a.b``), dotted, called, with an underscore or a
# capital inside; and the IDs of records (ADR-0007)
_NAME: Final = lazy_pattern(
    r"`{1,2}[~!]?([A-Za-z_][\w.]*)(?:\(\))?`{1,2}|\b([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)|\b([A-Za-z_]\w*)(?=\()|"
    r"\b([a-z]\w*_\w+|[A-Z]\w*[a-z]\w*[A-Z]\w*|[A-Z]{2,}[a-z]\w*)\b|\b([A-Z]{2,8}-(?:[0-9]{4,9}|[0-9a-f]{8}))\b"
)
_MOST_NAMES: Final = 200
"""Names of one chunk: a reference list has more, and mentions none in particular."""


class Chunking(NamedTuple):
    """How the documents of a collection are cut."""

    strategy: str = STRATEGIES[0]
    size: int = CHUNK_SIZES[2]
    """Characters of a chunk; a code block or a table that is longer stays whole."""
    overlap: int = 0
    """Characters at the end of a chunk that the next one repeats; not used by `structure`."""

    @property
    def key(self) -> str:
        """Another one where the same text is cut in another way."""
        return f"{_VERSION} {self.strategy} {self.size} {self.overlap}"


class Passage(NamedTuple):
    """A part of a document."""

    heading: tuple[str, ...]
    """The headings that it is under, outermost first, without the document's title."""
    first_line: int
    last_line: int
    """From 1, the last one included."""
    text: str

    @property
    def names(self) -> list[str]:
        """The names in it that look like code or are IDs of records, each once, in order."""
        candidates = dict.fromkeys(
            "".join(groups).rstrip(".") for groups in _NAME.findall(self.text)
        )
        return [name for name in candidates if len(name) > 2][:_MOST_NAMES]


class Cut(NamedTuple):
    """A document, cut."""

    title: str
    passages: tuple[Passage, ...] = ()
    error: str = ""
    """Why it has no passages, in a few words after its name; empty: it has."""
    size: int = 0
    """Bytes."""
    text: str = ""
    """All of it, redacted; of HTML and PDF what was read from it, as Markdown."""


class _UnreadableDocument(ValueError):
    """Why a content is no document, in one line."""


def _decode(data: bytes) -> str:
    """The text of a document. _UnreadableDocument for what is too large or is no text; wrong bytes
    are replaced.
    """
    if len(data) > _MOST_BYTES:
        raise _UnreadableDocument(f"is larger than {_MOST_BYTES // 1_000_000} MB.")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").replace("\r\n", "\n")
    # a binary file as git has it: a NUL in the first 8,000 bytes (buffer_is_binary in
    # xdiff-interface.c)
    if b"\0" in data[:8000]:
        raise _UnreadableDocument("is a binary file.")
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")


def _notebook_text(text: str) -> str:
    """The Markdown cells of a Jupyter notebook, one below the other. _UnreadableDocument where it
    is none.
    """
    try:
        cells = json.loads(text)["cells"]
        sources = [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]
        return "\n\n".join(one if isinstance(one, str) else "".join(one) for one in sources) + "\n"
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise _UnreadableDocument("is not a notebook of Jupyter (nbformat 4).") from problem


_Similarities = Callable[[Sequence[str]], Sequence[float]]
"""Texts → how alike each is to the next one, by a model."""


def cut(
    path: str,
    data: bytes,
    chunking: Chunking,
    clean: Callable[[str], str] = str,
    similarities: _Similarities | None = None,
) -> Cut:
    """The passages of a document, whatever its bytes. The end of `path` decides how it is read.

    `clean` redacts the whole text before it is cut: half a secret would not be found.
    `similarities`: for the strategy `semantic`, which is `recursive` without it.
    """
    try:
        name, text = _text_of(path, data)
        text = clean(text)
        return _cut(name, text, chunking, similarities)._replace(size=len(data), text=text)
    except _UnreadableDocument as problem:
        return Cut(path, (), str(problem), len(data))


def _text_of(path: str, data: bytes) -> tuple[str, str]:
    """(path, text) of a document; what is read from HTML or PDF is Markdown, and its path ends so.

    _UnreadableDocument, a ValueError, for what is none.
    """
    if path.lower().endswith(".pdf") and data.startswith(b"%PDF"):
        return f"{path}.md", _pdf_text(data, path.rpartition("/")[2][:-4])
    text = _decode(data)
    if not path.lower().endswith(HTML):
        return (path, text)
    return (f"{path}.md", _html_text(text))


HTML: Final = (".html", ".htm", ".xhtml")
_MOST_PAGES: Final = 2000


def _pdf_text(data: bytes, name: str) -> str:
    """The text of a PDF as Markdown, a section for each page; `name`: its title where it states
    none.

    _UnreadableDocument where it can't be had.
    """
    if len(data) > _MOST_BYTES:
        raise _UnreadableDocument(f"is larger than {_MOST_BYTES // 1_000_000} MB.")
    try:
        from pypdf import PdfReader
    except ImportError:
        raise _UnreadableDocument("is a PDF, which needs: pip install 'kl-hooks[pdf]'") from None
    log = logging.getLogger("pypdf")
    level = log.level
    try:
        # its remarks on the format, a line each, would be among ours
        log.setLevel(logging.CRITICAL + 1)
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted:
            raise _UnreadableDocument("is an encrypted PDF.")
        pages = [page.extract_text() or "" for page in reader.pages[:_MOST_PAGES]]
        if reader.metadata is not None:
            title = str(reader.metadata.title or "")
        else:
            title = ""
    except _UnreadableDocument:
        raise
    except Exception as problem:  # of a damaged file pypdf raises nearly anything
        raise _UnreadableDocument(f"can't be read as PDF: {one_line(str(problem), 120)}") from None
    finally:
        log.setLevel(level)
    if not any(map(str.strip, pages)):
        raise _UnreadableDocument("is a PDF without text, such as a scan.")
    if title.strip().lower() == "untitled":
        title = ""
    else:
        title = title.strip()
    head = f"# {one_line(title or name, _TITLE)}\n\n"
    texts = [_without_markup(page.strip()) for page in pages]
    return head + "".join(
        f"## Page {number}\n\n{text}\n\n" for number, text in enumerate(texts, 1) if text
    )


def _without_markup(text: str) -> str:
    """Plain text that reads as paragraphs of Markdown: a heading, a fence or a comment in it would
    hide later pages.
    """
    text = re.sub(r"(?m)^[ \t]*(?:=+|-+)[ \t]*$", "", text).replace("<!--", "< !--")
    return re.sub(r"(?m)^([ \t]*)(?=`{3}|~{3})", r"\1\\", re.sub("(?m)^(?=#)", " ", text))


class _HtmlReader(HTMLParser):
    """Writes a page of HTML as Markdown: headings, paragraphs, lists, code and the rows of
    tables.
    """

    _HIDDEN = frozenset(("script", "style", "template", "noscript", "svg", "head", "nav"))
    _IN_HEAD = frozenset(
        ("title", "meta", "link", "base", "script", "style", "template", "noscript")
    )
    _BLOCKS = frozenset(
        (
            "p",
            "div",
            "section",
            "article",
            "main",
            "header",
            "footer",
            "ul",
            "ol",
            "dl",
            "dd",
            "table",
            "blockquote",
            "figure",
            "form",
            "hr",
            "body",
            "br",
        )
    )

    def __init__(self, shown: Collection[str] = ()) -> None:
        """`shown`: elements that are not hidden here, because nothing closes them."""
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title = ""
        self.hidden: list[str] = []
        """The hidden elements that are open, outermost first."""
        self._shown = shown
        self._pre = self._in_title = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "main":
            self.hidden = []  # it is in no other element of text (HTML, 4.4.15)
        if self.hidden == ["head"] and tag not in self._IN_HEAD:
            self.hidden = []  # the end tag of a head may be omitted (HTML, 13.1.2.4)
        if tag == "title":
            # an icon has a title, too
            self._in_title = not self.title and self.hidden in ([], ["head"])
        elif tag in self._HIDDEN and tag not in self._shown:
            self.hidden.append(tag)
        elif re.fullmatch("h[1-6]", tag):
            self.parts.append(f"\n\n{'#' * int(tag[1])} ")
        elif tag == "dt":
            self.parts.append("\n\n###### ")  # the name of an entry
        elif tag == "pre":
            self._pre = True
            self.parts.append("\n\n```\n")
        elif tag == "li":
            self.parts.append("\n- ")
        elif tag == "tr":
            self.parts.append("\n|")
        elif tag == "code" and not self._pre:
            self.parts.append("`")
        elif tag in self._BLOCKS:
            self.parts.append("\n\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in self.hidden:  # one that is never closed ends with what is around it
            del self.hidden[self.hidden.index(tag) :]
        elif tag == "pre":
            self._pre = False
            self.parts.append("\n```\n\n")
        elif tag in ("td", "th"):
            self.parts.append(" |")
        elif tag == "code" and not self._pre:
            self.parts.append("`")
        elif tag in self._BLOCKS or re.fullmatch("h[1-6]|dt", tag):
            self.parts.append("\n\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self.hidden:
            self.parts.append(data if self._pre else re.sub(r"\s+", " ", data))


def _html_text(text: str) -> str:
    """A page of HTML as Markdown."""
    # html.parser looks for the end of each comment and tag anew, also where there is none: 240 kB
    # took 40 s (CVE-2025-6069). A comment that nothing closes lasts to the end of the page, as in
    # browsers; other text is text.
    for start, end in (("<!--", "-->"), ("<![", "]]>")):
        opened = text.find(start, text.rfind(end) + 1)
        text = text if opened < 0 else text[:opened]
    last = text.rfind(">") + 1
    text = text[:last] + text[last:].replace("<", "&lt;")
    reader = _HtmlReader()
    reader.feed(text)
    reader.close()
    if reader.hidden:  # to the end of the page, with all that comes after it
        reader = _HtmlReader(reader.hidden)
        reader.feed(text)
        reader.close()
    body = re.sub(r"\n{3,}", "\n\n", re.sub(r"(?m)^ (?=\S)| +$", "", "".join(reader.parts))).strip(
        "\n"
    )
    title = one_line(reader.title.strip(), _TITLE)
    if title and not re.search("(?m)^# ", body):
        return f"# {title}\n\n{body}\n"
    return f"{body}\n"


def _cut(path: str, text: str, chunking: Chunking, similarities: _Similarities | None) -> Cut:
    if path.endswith(".ipynb"):
        # a notebook's lines are JSON: the lines of a passage are those of its Markdown cells
        text, path = _notebook_text(text), f"{path}.md"
    if path.endswith((".markdown", ".mdown", ".mkd")) or "." not in path.rpartition("/")[2]:
        path += ".md"  # a README without a suffix is Markdown more often than not
    page = parse_page(path, text.encode("utf-8", "replace"), _MOST_BYTES)
    lines = page.body.split("\n")
    title = one_line(
        (
            re.sub(r"\.(ipynb|pdf|html?|xhtml)$", "", page.title)
            if path.endswith(_CONVERTED)
            else page.title
        ),
        _TITLE,
    )
    if chunking.strategy == STRATEGIES[0]:
        markdown = path.endswith(".md")
        passages = [
            passage
            for section in page.sections
            for passage in _section_passages(section, lines, chunking.size, markdown)
        ]
    else:
        passages = list(_plain_passages(page.body, page.sections, chunking, similarities))
    if path.endswith(".pdf.md") and len(passages) > 1 and not passages[0].heading:
        passages = passages[1:]  # its title, which is no page and has no text
    if not passages and page.body.strip():  # a document of headings alone
        passages = [Passage((), 1, len(lines), page.body.strip("\n"))]
    return Cut(title, tuple(part for passage in passages for part in _bounded(passage, chunking)))


def _bounded(passage: Passage, chunking: Chunking) -> Iterator[Passage]:
    """The passage, or its parts where it is too long for any, or under a heading one line of prose
    above the size.
    """
    is_prose = "\n" not in passage.text and not passage.text.startswith(("|", "    ", "\t", ">>> "))
    if len(passage.text) <= (
        chunking.size
        if is_prose and chunking.strategy == STRATEGIES[0]
        else max(chunking.size, _LONGEST)
    ):
        yield passage
        return
    for begin, end in _recursive(passage.text, chunking.size, 0):
        text = passage.text[begin:end]
        first = passage.first_line + passage.text.count("\n", 0, begin)
        if text.strip():
            yield Passage(passage.heading, first, first + text.count("\n"), text)


def _headings(section: PageSection) -> tuple[str, ...]:
    if not section.anchor:
        return ()
    return (*section.around, section.title)


def _section_passages(
    section: PageSection, lines: Sequence[str], size: int, markdown: bool
) -> Iterator[Passage]:
    """A section whole where it fits, else as many blocks together as fit. An entry of a reference
    page is a passage of its own, under its name.
    """
    text = section.text
    first = section.end_line - text.count("\n") - 1  # line (from 0) of the text's beginning
    if section.anchor == "":
        first = 0
    # before the first heading of all there is nothing, and no line
    if text or section.anchor:
        own = lines[first : section.end_line]
    else:
        own = []
    start = -1
    taken = 0
    length = 0
    entry = ""
    for begin, end in _blocks(own, size, markdown):
        here = sum(len(line) + 1 for line in own[begin:end])
        name = _entry_name(own[begin], entry, markdown)
        if start >= 0 and (length + here > size or name != entry):
            yield _passage(section, own, first, (start, taken), entry)
            start = -1
            length = 0
        if start < 0:
            start = begin
        entry = name
        taken, length = end, length + here
    if start >= 0:
        yield _passage(section, own, first, (start, taken), entry)


def _passage(
    section: PageSection, own: Sequence[str], first: int, block: tuple[int, int], entry: str
) -> Passage:
    begin, end = block
    headings = (*_headings(section), *((entry,) if entry else ()))
    return Passage(headings, first + begin + 1, first + end, "\n".join(own[begin:end]))


def _entry_name(line: str, entry: str, markdown: bool) -> str:
    """Return the name of the entry that a block belongs to which begins with this line; empty: to
    none. `entry`: that of the block before, which goes on where this one is indented.
    """
    begins = (_ENTRY_IN_MARKDOWN if markdown else _ENTRY).match(line)
    if begins:
        # of a signature the name alone; of an option all its forms
        if begins[1].startswith("-"):
            words = begins[1]
        else:
            words = begins[1].partition("(")[0]
        return one_line(words, _ENTRY_NAME)
    if entry and line.startswith((" ", "\t")):
        return entry
    return ""


def _blocks(lines: Sequence[str], size: int, markdown: bool) -> Iterator[tuple[int, int]]:
    """(first line, line after the last one) of each paragraph, list, code block and table, without
    blank lines.
    """
    position = 0
    while position < len(lines):
        if not lines[position].strip():
            position += 1
            continue
        end, atomic = _block_end(lines, position, markdown)
        if sum(len(line) + 1 for line in lines[position:end]) > (_LONGEST if atomic else size):
            yield from _smaller(lines, position, end, size, markdown)
        else:
            yield position, end
        position = end


def _block_end(lines: Sequence[str], begin: int, markdown: bool) -> tuple[int, bool]:
    """The line after a block that begins at `begin`, with all that is indented after it; whether it
    must not be cut.
    """
    end, atomic = _part_end(lines, begin, markdown)
    while not (atomic and end < len(lines) and lines[end].strip()):
        # what is indented below belongs to it: a list's item, a directive, a definition
        following = next((n for n in range(end, len(lines)) if lines[n].strip()), len(lines))
        if following == len(lines) or lines[following][0] not in " \t":
            break
        end = _part_end(lines, following, markdown)[0]
    return end, atomic and _part_end(lines, begin, markdown)[0] == end


def _part_end(lines: Sequence[str], begin: int, markdown: bool) -> tuple[int, bool]:
    """The line after a paragraph, code block or table that begins at `begin`, and whether it must
    not be cut.
    """
    if markdown and (fence := _FENCE.match(lines[begin].lstrip())):
        return _end_of_fence(lines, begin, fence[1]), True
    if not markdown and _LITERAL.fullmatch(lines[begin]):
        return _end_of_indent(lines, begin + 1, _indent(lines[begin])), True
    if not markdown and _SIMPLE_TABLE.fullmatch(lines[begin]):
        # its last border is the third, or the second where it has no heading; rows may be apart by
        # blank lines
        borders = list(
            islice(
                (n for n in range(begin, len(lines)) if lines[n].strip() == lines[begin].strip()), 3
            )
        )
        return borders[-1] + 1, True
    if markdown and lines[begin].lstrip().lower().startswith("<table"):
        closing = (n + 1 for n in range(begin, len(lines)) if "</table" in lines[n].lower())
        return next(closing, _end_of_paragraph(lines, begin, markdown)[0]), True
    end, atomic = _end_of_paragraph(lines, begin, markdown)
    code = markdown and lines[begin].startswith(("    ", "\t"))
    return end, atomic or code or _is_table(lines, begin, end) or lines[begin].lstrip().startswith(
        ">>> "
    )


def _end_of_fence(lines: Sequence[str], begin: int, fence: str) -> int:
    for number in range(begin + 1, len(lines)):
        closing = lines[number].strip()
        if closing.startswith(fence) and not closing.strip(fence[0]):
            return number + 1
    return len(lines)


def _end_of_indent(lines: Sequence[str], begin: int, around: int) -> int:
    """The line after everything that is indented more than `around`."""
    end = begin
    for number in range(begin, len(lines)):
        if lines[number].strip():
            if _indent(lines[number]) <= around:
                break
            end = number + 1
    return end


def _end_of_paragraph(lines: Sequence[str], begin: int, markdown: bool) -> tuple[int, bool]:
    """The line after a paragraph, and whether it ends with a literal block, which stays with it."""
    for number in range(begin + 1, len(lines)):
        if not lines[number].strip() or (markdown and _FENCE.match(lines[number])):
            return number, False
        if not markdown and _LITERAL.fullmatch(lines[number]):
            return _end_of_indent(lines, number + 1, _indent(lines[number])), True
    return len(lines), False


def _is_table(lines: Sequence[str], begin: int, end: int) -> bool:
    """Rows with bars in Markdown, a grid in reStructuredText."""
    return end - begin > 1 and all(
        line.lstrip().startswith(("|", "+-", "+=")) for line in lines[begin:end]
    )


def _indent(line: str) -> int:
    wide = line.expandtabs(8)  # as docutils counts tabs
    return len(wide) - len(wide.lstrip(" "))


def _smaller(
    lines: Sequence[str], begin: int, end: int, size: int, markdown: bool
) -> Iterator[tuple[int, int]]:
    """A block that is too long, cut at its blank lines; a paragraph that is too long, at its
    lines.
    """
    while begin < end:
        if not lines[begin].strip():
            begin += 1
            continue
        stop, atomic = _part_end(lines, begin, markdown)
        stop = min(stop, end)
        # all of it at once: its end, looked for again from each piece on, took minutes of a file of
        # megabytes
        while begin < stop:
            following = _fitting(lines, begin, stop, _LONGEST if atomic else size)
            if any(map(str.strip, lines[begin:following])):
                yield begin, following
            begin = following


def _fitting(lines: Sequence[str], begin: int, end: int, size: int) -> int:
    """The line after the last one that fits; at least one."""
    length = 0
    for number in range(begin, end):
        length += len(lines[number]) + 1
        if length > size and number > begin:
            return number
    return end


def _plain_passages(
    body: str,
    sections: Sequence[PageSection],
    chunking: Chunking,
    similarities: _Similarities | None,
) -> Iterator[Passage]:
    """Passages of a strategy that knows no markup; each is under the heading that its first line is
    under.
    """
    starts = [0, *(match.end() for match in re.finditer("\n", body))]
    lines = [section.line for section in sections]
    overlap = min(chunking.overlap, chunking.size // 2)
    if chunking.strategy == "semantic" and similarities is not None:
        ends = _semantic(body, chunking.size, overlap, similarities)
    else:
        ends = _STRATEGIES[chunking.strategy](body, chunking.size, overlap)
    for begin, end in ends:
        text = body[begin:end]
        if not text.strip():
            continue
        begin += len(text) - len(text.lstrip("\n"))
        text = body[begin:end].rstrip()
        first = bisect_right(starts, begin)
        heading = _headings(sections[max(0, bisect_right(lines, first) - 1)])
        yield Passage(heading, first, first + text.count("\n"), text)


def _fixed(text: str, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    for begin in range(0, len(text), size - overlap):
        yield begin, min(begin + size, len(text))
        if begin + size >= len(text):
            return


def _packed(cuts: Iterable[int], text: str, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    """As many pieces together as fit, each passage beginning with the last pieces of the one before
    that fit.
    """
    edges = [0, *cuts, len(text)]
    # what separates a piece from the next one is not shown at the end of a passage, and takes
    # nothing of its size
    ends = [left + len(text[left:right].rstrip()) for left, right in pairwise(edges)]
    begin = 0
    while True:
        last = begin
        while last + 1 < len(ends) and ends[last + 1] - edges[begin] <= size:
            last += 1
        yield edges[begin], ends[last]
        if last + 1 == len(ends):
            return
        following = last + 1
        while following - 1 > begin and ends[last] - edges[following - 1] <= overlap:
            following -= 1
        begin = following


def _sentences(text: str, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    return _packed((match.end() for match in _SENTENCE.finditer(text)), text, size, overlap)


def _paragraphs(text: str, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    return _packed((match.end() for match in _PARAGRAPH.finditer(text)), text, size, overlap)


def _recursive(text: str, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Cut at the largest separator that makes pieces short enough, and pieces that still are too
    long at the next.
    """
    cuts = sorted(set(_recursive_cuts(text, 0, len(text), size, 0)))
    return _packed(cuts, text, size, overlap)


def _recursive_cuts(text: str, begin: int, end: int, size: int, level: int) -> Iterator[int]:
    if end - begin <= size:
        return
    separator = _SEPARATORS[level]
    if not separator:
        yield from range(begin + size, end, size)
        return
    edges = [begin]
    position = begin
    while (separator_position := text.find(separator, position, end)) >= 0:
        position = separator_position + len(separator)
        edges.append(position)
    edges.append(end)
    for left, right in pairwise(edges):
        if left > begin:
            yield left
        yield from _recursive_cuts(text, left, right, size, level + 1)


def _semantic(
    text: str, size: int, overlap: int, similarities: _Similarities
) -> Iterator[tuple[int, int]]:
    """Cut where a sentence is less like the next one than most are; what is still too long as
    `sentence` does.
    """
    edges = [0, *(match.end() for match in _SENTENCE.finditer(text)), len(text)]
    alike = similarities([text[left:right].strip() for left, right in pairwise(edges)])
    # the least similar sixth, which is a standard deviation below the mean where they are spread
    # normally
    bar = fmean(alike) - pstdev(alike) if alike else 0.0
    turns = [0, *(edges[place + 1] for place, one in enumerate(alike) if one < bar), len(text)]
    for left, right in pairwise(turns):
        inner = [edge - left for edge in edges if left < edge < right]
        for begin, end in _packed(inner, text[left:right], size, overlap):
            yield left + begin, left + end


_STRATEGIES: Final[dict[str, Callable[[str, int, int], Iterator[tuple[int, int]]]]] = {
    "fixed": _fixed,
    "sentence": _sentences,
    "paragraph": _paragraphs,
    "recursive": _recursive,
    "semantic": _recursive,
}
