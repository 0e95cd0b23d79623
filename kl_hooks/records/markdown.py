"""Markdown: which characters are prose, where headings are, and sections of the second level. Pure and linear."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kl_hooks.model.record import Value

_FENCE: Final = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+")
_HASHES: Final = re.compile(r"(#{1,6})(?:[ \t]+(.*))?")
_SHOWN: Final = re.compile(r"[^\n]")
_MARKS: Final = re.compile(r"`+|<!--")
_GAP: Final = re.compile(r"\n[ \t]*(?=\n)")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a Markdown text."""

    line: int
    """From 0."""
    lines: int
    """1, or 2 where it is underlined."""
    level: int
    words: str


def blank_code(text: str) -> str:
    """The text, equally long, with blanks for code (fenced, indented, inline) and HTML comments, marks included.

    A fence or a comment that never ends reaches to the end of the text, as Markdown has it.
    """
    return _blank_inline("\n".join(_Blocks().take(text.split("\n")).shown))


def headings(text: str, most: int = 6) -> list[Heading]:
    """The headings up to level `most`, those with `#` and those underlined, in their order; none that is indented, for
    it may belong to an item of a list.
    """
    raw, found = text.split("\n"), []
    shown = blank_code(text).split("\n")
    for number, line in enumerate(shown):
        if match := _HASHES.fullmatch(raw[number]) if line.startswith("#") else None:
            words = re.sub(r"(?:^|[ \t])#+[ \t]*$", "", match[2] or "").strip()
            found.append(Heading(number, 1, len(match[1]), words))
        elif re.fullmatch(r"=+[ \t]*|-{2,}[ \t]*", line) and _is_setext_text(shown, number - 1):
            found.append(Heading(number - 1, 2, 1 if line[0] == "=" else 2, raw[number - 1].strip()))
    return [one for one in found if one.level <= most]


def _is_setext_text(lines: list[str], number: int) -> bool:
    """True for a line of words with nothing above it: what a line below makes a heading."""
    if number < 0 or not lines[number].strip() or (number and lines[number - 1].strip()):
        return False
    return not lines[number].startswith((" ", "\t", "#", ">", "|", "---")) and not _ITEM.match(lines[number])


def close_open_blocks(text: str) -> str:
    """The text, with a fence or a comment that is open at its end closed, so that it swallows nothing that follows."""
    for _ in range(3):
        if blank_code(text + "\n\n.").endswith("."):
            break
        fence = _Blocks().take(text.split("\n")).fence
        text += f"\n{fence}" if fence else "\n-->"
    return text


class _Blocks:
    """Finds the lines of fenced and indented code, one line after the other."""

    def __init__(self) -> None:
        self.fence = ""
        self.shown: list[str] = []
        self._fence_inside = self._inside = 0
        self._blank, self._code, self._comment = True, False, False

    def take(self, lines: list[str]) -> _Blocks:
        """Adds to `shown` these lines, those of code blank; comments and inline code as they are."""
        for line in lines:
            self.shown.append(" " * len(line) if self._hidden(line) else line)
        return self

    def _hidden(self, line: str) -> bool:
        indent = _indent(line)
        if self.fence and line.strip() and indent < self._fence_inside:
            self.fence, self._blank = "", True  # the item of the list that it stood in is over
        if self.fence:
            closing = line.strip(" \t")
            if closing.startswith(self.fence) and not closing.strip(self.fence[0]):
                self.fence = ""
            return True
        if self._comment:
            self._comment = _comment_open(line, True)
            return False
        item = _ITEM.match(line)
        if indent < self._inside and line.strip() and (self._blank or item):
            self._inside = 0
        self._code = bool(line.strip()) and indent - self._inside >= 4 and (self._blank or self._code)
        return self._code or self._opens(line, indent, item)

    def _opens(self, line: str, indent: int, item: re.Match[str] | None) -> bool:
        """Takes a line that is no code; True where a fence begins on it."""
        self._blank = not line.strip()
        wide = line.expandtabs(4)
        item = item and _ITEM.match(wide)
        while item:  # an item may hold an item on the same line
            self._inside = indent = item.end()
            item = _ITEM.match(wide, indent)
        opened = _FENCE.match(wide[min(self._inside, indent) :])
        self._comment = not opened and _comment_open(line, False)
        if opened:
            self.fence, self._fence_inside = opened[1], self._inside if indent >= self._inside else 0
        return opened is not None


def _indent(line: str) -> int:
    wide = line.expandtabs(4)
    return len(wide) - len(wide.lstrip(" "))


def _comment_open(line: str, inside: bool) -> bool:
    """True where a comment is open at the end of the line; marks in inline code of the line do not count."""
    if not inside:
        line = _blank_inline(line, comments=False)
    return line.rfind("<!--") > line.rfind("-->") or (inside and "-->" not in line)


def _blank_inline(text: str, comments: bool = True) -> str:
    """The text with blanks for inline code, which ends with its paragraph at the latest, and for comments."""
    runs: dict[int, list[int]] = {}
    for run in re.finditer("`+", text):
        runs.setdefault(len(run[0]), []).append(run.start())
    gaps = [gap.start() for gap in _GAP.finditer(text)]
    made, at = [], 0
    while mark := _MARKS.search(text, at):
        start = mark.start()
        if mark[0] == "<!--":
            found = text.find("-->", mark.end()) if comments else mark.end() - 3
            end, kept = len(text) if found < 0 else found + 3, not comments
        else:
            end, kept = _end_of_code(text, mark, runs[len(mark[0])], gaps)
        made += [text[at:start], text[start:end] if kept else _SHOWN.sub(" ", text[start:end])]
        at = end
    return "".join(made) + text[at:]


def _end_of_code(text: str, mark: re.Match[str], same: list[int], gaps: list[int]) -> tuple[int, bool]:
    """Where the inline code that begins here ends; (end of the mark, True) where it is no code."""
    if mark.start() and text[mark.start() - 1] == "\\":
        return mark.end(), True
    next_one = bisect_left(same, mark.end())
    gap = bisect_left(gaps, mark.start())
    limit = gaps[gap] if gap < len(gaps) else len(text)
    if next_one == len(same) or same[next_one] > limit:
        return mark.end(), True
    return same[next_one] + len(mark[0]), False


_SECTION_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_SECTION_HEADING: Final = re.compile(r"## +(.+?) *#*")
_BULLET: Final = re.compile(r"[-*+] +(.*)")
_COMMENT_ONLY: Final = re.compile(r"(?:<!--(?:(?!-->).)*-->\s*)+", re.DOTALL)
_TITLE: Final = re.compile(r"# +(.+?) *#*")


@dataclass(frozen=True, slots=True)
class Section:
    """Lines `start` to `end` (counted from 0, the end left out) of a body: a heading and what stands under it."""

    heading: str
    """As written; empty: what stands before the first heading."""
    start: int
    end: int


def split_lines(body: str) -> list[str]:
    """The lines of a text without their ends; only newlines divide."""
    return [line.removesuffix("\r") for line in body.split("\n")]


def split_sections(lines: Sequence[str]) -> list[Section]:
    """The sections, in order; headings in fenced code are none."""
    starts = [(0, "")]
    fence = ""
    for number, line in enumerate(lines):
        found = _SECTION_FENCE.match(line)
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        elif not fence and (heading := _SECTION_HEADING.fullmatch(line)):
            starts.append((number, heading[1]))
    ends = [start for start, _ in starts[1:]] + [len(lines)]
    return [Section(heading, start, end) for (start, heading), end in zip(starts, ends, strict=True)]


def leading_title(lines: Sequence[str]) -> str:
    """The heading of the first level that stands before everything else; empty where there is none."""
    first = next((line for line in lines if line.strip()), "")
    found = _TITLE.fullmatch(first)
    return found[1] if found else ""


def section_text(lines: Sequence[str], section: Section) -> str:
    """What stands under the heading, without the empty lines around it; a comment alone, as in a form, is nothing."""
    text = _strip_blank_lines(lines[section.start + bool(section.heading) : section.end])
    return "" if _COMMENT_ONLY.fullmatch(text) else text


def list_items(text: str) -> tuple[str, ...]:
    """The points of a list, lines that go on with a point joined to it; a paragraph outside a list is one too."""
    found: list[list[str]] = []
    gap = True
    for line in split_lines(text):
        bullet = _BULLET.fullmatch(line)
        if bullet:
            found.append([bullet[1]])
        elif line.strip() and (not gap or (found and line.startswith("  "))):
            if gap:
                found[-1].append("")
            found[-1].append(line[2:] if line.startswith("  ") else line)
        elif line.strip():
            found.append([line])
        gap = not line.strip()
    return tuple("\n".join(item) for item in found)


def value_to_markdown(value: Value) -> str:
    """A value as Markdown: text as it is, a list as points."""
    if not isinstance(value, tuple):
        return str(value)
    return "\n".join("- " + item.replace("\n", "\n  ") for item in value)


def _strip_blank_lines(lines: Sequence[str]) -> str:
    said = [number for number, line in enumerate(lines) if line.strip()]
    return "\n".join(lines[said[0] : said[-1] + 1]) if said else ""
