"""Markdown: which characters are prose, where headings are, and the text under each. Pure and
linear.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

from kl_hooks.model.definitions import NamedTuple, lazy_pattern

# The info string of a fence of backticks has no backtick (CommonMark 0.31, 4.5).
_FENCE: Final = lazy_pattern(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_ITEM: Final = lazy_pattern(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+")
_HASHES: Final = lazy_pattern(r"(#{1,6})(?:[ \t]+(.*))?")
_NOT_NEWLINE: Final = lazy_pattern(r"[^\n]")
_MARKS: Final = lazy_pattern(r"`+|<!--")
_GAP: Final = lazy_pattern(r"\n[ \t]*(?=\n)")


class Heading(NamedTuple):
    """A heading of a Markdown text."""

    line: int
    """From 0."""
    lines: int
    """1, or 2 where it is underlined."""
    level: int
    words: str


def blank_code(text: str) -> str:
    """Return the text, equally long, with blanks for code (fenced, indented, inline) and HTML
    comments.

    A fence or a comment that never ends reaches to the end of the text, as CommonMark has it.
    """
    return _blank_inline("\n".join(_Blocks().read(text.split("\n")).lines))


def headings(text: str, most: int = 6) -> list[Heading]:
    """Return the headings up to level `most`, with `#` or underlined, in order.

    An indented one is none, for it may belong to an item of a list.
    """
    return [
        heading
        for heading in _headings(text.split("\n"), blank_code(text).split("\n"))
        if heading.level <= most
    ]


def section_headings(lines: Sequence[str]) -> list[Heading]:
    """Return the headings of the second level, with `#`, of an authored file.

    Unlike `headings` this ignores HTML comments: one that never ends must not hide the sections
    after it, or the fields of a record would be lost for a slip of its author.
    """
    prose = _Blocks(has_comments=False).read(lines).lines
    return [
        heading
        for heading in _headings(lines, prose)
        if (heading.level, heading.lines) == (2, 1) and heading.words
    ]


def with_sections(cuts: Sequence[Heading], line_count: int) -> Iterator[tuple[Heading, range]]:
    """Yield each heading with the lines, from 0, of the text between it and the next one."""
    starts = [*(heading.line for heading in cuts), line_count]
    for heading, end in zip(cuts, starts[1:], strict=True):
        yield heading, range(heading.line + heading.lines, end)


def _headings(raw: Sequence[str], prose: Sequence[str]) -> list[Heading]:
    """The headings of all levels. `prose`: the same lines, with blanks for what is none."""
    all_headings = []
    for number, line in enumerate(prose):
        if match := _HASHES.fullmatch(raw[number]) if line.startswith("#") else None:
            words = re.sub(r"(?:^|[ \t])#+[ \t]*$", "", match[2] or "").strip()
            all_headings.append(Heading(number, 1, len(match[1]), words))
        elif (
            line[:1] in ("=", "-")
            and re.fullmatch(r"=+[ \t]*|-{2,}[ \t]*", line)
            and _can_be_underlined(prose, number - 1)
        ):
            all_headings.append(
                Heading(number - 1, 2, 1 if line[0] == "=" else 2, raw[number - 1].strip())
            )
    return all_headings


def close_open_blocks(text: str) -> str:
    """Return the text with a fence or comment that is open at its end closed, so that it swallows
    nothing after it.
    """
    for _ in range(3):  # closing a comment may open a fence that it hid
        if blank_code(text + "\n\n.").endswith("."):
            break
        fence = _Blocks().read(text.split("\n")).fence
        text += f"\n{fence}" if fence else "\n-->"
    return text


def _can_be_underlined(lines: Sequence[str], number: int) -> bool:
    """Return True for a line of words with nothing above it."""
    if number < 0 or not lines[number].strip() or (number and lines[number - 1].strip()):
        return False
    return not lines[number].startswith((" ", "\t", "#", ">", "|", "---")) and not _ITEM.match(
        lines[number]
    )


class _Blocks:
    """Blanks the lines of fenced and indented code, one line after the other."""

    def __init__(self, *, has_comments: bool = True) -> None:
        """`has_comments`: a comment hides a fence in it."""
        self.fence = ""
        self.lines: list[str] = []
        self._fence_indent = self._indent = 0
        """Columns of the list item around the open fence, and around the current line."""
        self._blank = True
        self._code = False
        self._comment = False
        self._has_comments = has_comments

    def read(self, lines: Sequence[str]) -> _Blocks:
        """Add these lines to `lines`, those of code blank; comments and inline code as they are."""
        for line in lines:
            self.lines.append(" " * len(line) if self._is_code(line) else line)
        return self

    def _is_code(self, line: str) -> bool:
        wide = line.expandtabs(4)  # tab stops of 4 columns (CommonMark 2.2)
        indent = len(wide) - len(wide.lstrip(" "))
        if self.fence and line.strip() and indent < self._fence_indent:
            self.fence, self._blank = "", True  # the list item around it ended
        if self.fence:
            closing = line.strip(" \t")
            if closing.startswith(self.fence) and not closing.strip(self.fence[0]):
                self.fence = ""
            return True
        if self._comment:
            self._comment = _comment_open(line, True)
            return False
        item = _ITEM.match(line)
        if indent < self._indent and line.strip() and (self._blank or item):
            self._indent = 0
        # Indented code can't interrupt a paragraph (CommonMark 4.4).
        self._code = (
            bool(line.strip()) and indent - self._indent >= 4 and (self._blank or self._code)
        )
        return self._code or self._opens_fence(line, wide, indent, item is not None)

    def _opens_fence(self, line: str, wide: str, indent: int, is_item: bool) -> bool:
        self._blank = not line.strip()
        item = _ITEM.match(wide) if is_item else None
        while item:  # an item may hold an item on the same line
            self._indent = indent = item.end()
            item = _ITEM.match(wide, indent)
        opened = _FENCE.match(wide[min(self._indent, indent) :])
        self._comment = self._has_comments and not opened and _comment_open(line, False)
        if opened:
            self.fence = opened[1]
            self._fence_indent = self._indent if indent >= self._indent else 0
        return opened is not None


def _comment_open(line: str, inside: bool) -> bool:
    """Return True where a comment is open at the end of the line; marks in inline code do not
    count.
    """
    if not inside:
        if (
            "<!--" not in line
        ):  # nearly always: to blank the inline code of each line took half of the time
            return False
        line = _blank_inline(line, comments=False)
    return line.rfind("<!--") > line.rfind("-->") or (inside and "-->" not in line)


def _blank_inline(text: str, comments: bool = True) -> str:
    """Blank inline code, which ends with its paragraph at the latest, and comments."""
    runs: dict[
        int, list[int]
    ] = {}  # inline code ends at a run of as many backticks (CommonMark 6.1)
    for run in re.finditer("`+", text):
        runs.setdefault(len(run[0]), []).append(run.start())
    gaps = [gap.start() for gap in _GAP.finditer(text)]
    blanked = []
    position = 0
    while mark := _MARKS.search(text, position):
        start = mark.start()
        if mark[0] == "<!--":
            if comments:
                comment_end = text.find("-->", mark.end())
            else:
                comment_end = mark.end() - 3
            end = len(text) if comment_end < 0 else comment_end + 3
            is_text = not comments
        else:
            end, is_text = _end_of_code(text, mark, runs[len(mark[0])], gaps)
        blanked += [
            text[position:start],
            text[start:end] if is_text else _NOT_NEWLINE.sub(" ", text[start:end]),
        ]
        position = end
    return "".join(blanked) + text[position:]


def _end_of_code(
    text: str, mark: re.Match[str], same: list[int], gaps: list[int]
) -> tuple[int, bool]:
    """Return (end of the inline code that begins at `mark`, False), or (end of the mark, True)
    where it is text.

    Both lists are sorted and searched by bisection: scanning on from each mark is quadratic in a
    text of marks.
    """
    closing = bisect_left(same, mark.end())
    gap = bisect_left(gaps, mark.start())
    limit = gaps[gap] if gap < len(gaps) else len(text)
    escaped = mark.start() and text[mark.start() - 1] == "\\"
    if escaped or closing == len(same) or same[closing] > limit:
        return mark.end(), True
    return same[closing] + len(mark[0]), False
