"""Pages link to files and headings that exist, and show commands and options that exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from kl_hooks.cli.main import kl

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
HISTORY = {"CHANGELOG.md", "before-0.1.md"}
GUIDES = [page for page in PAGES if page.parent.name != "commands" and page.name not in HISTORY]
"""Pages that people wrote, and that are about the program as it is."""
DECISIONS = sorted((ROOT / ".kl/knowledge/decisions").glob("*.md"))
LINK = re.compile(r"\]\((?!\w+:)([^()\s#]*)(?:#([^()\s]+))?\)")
FENCE = re.compile(r"(?ms)^( *)```(\w*)\n(.*?)^\1```$")
SPAN = re.compile(r"`(kl [a-z][^`\n]*)`")


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors that GitHub gives the headings of a page."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"(?m)^#+ +(.+?)\s*$", text)
    slugs = (re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)
    return frozenset(slugs)


def dead_links(page: Path) -> Iterator[str]:
    """Links of a page that lead to no file or to no heading."""
    text = re.sub(r"`[^`\n]*`\)?", "", FENCE.sub("", page.read_text(encoding="utf-8")))
    for path, anchor in LINK.findall(text):
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            yield path
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield f"{path}#{anchor}"


@pytest.mark.parametrize(
    "page", [*PAGES, *DECISIONS], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_links_lead_somewhere(page: Path) -> None:
    assert list(dead_links(page)) == []


def entries(page: Path) -> set[str]:
    """The entries of a page of changes, by their first lines."""
    return set(re.findall(r"(?m)^- .+$", page.read_text(encoding="utf-8")))


def test_an_entry_of_the_changelog_is_on_one_page() -> None:
    changelog = entries(ROOT / "CHANGELOG.md")
    former = entries(ROOT / "docs" / "reference" / "before-0.1.md")
    assert changelog
    assert former
    assert changelog & former == set()


def shown_commands(text: str) -> Iterator[str]:
    """What a page shows at a prompt and in code spans, one command at a time."""
    for _, language, block in FENCE.findall(text):
        if language == "console":
            lines = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
            for line in lines:
                yield from re.split(r"\s+(?:&&|\|\|?|;)\s+", line.split("  #")[0])
    yield from SPAN.findall(FENCE.sub("", text))


def unknown_words(line: str) -> list[str]:
    """The options of a line that kl does not have, or its subcommand. Placeholders, such as VERB or
    an ellipsis, are not looked at.
    """
    try:
        words = shlex.split(line.split(" > ")[0])
    except ValueError:  # an apostrophe of a text that is cut
        words = line.split()
    if not words or words[0] != "kl" or any(is_placeholder(word) for word in words[1:3]):
        return []
    command, arguments = resolved(words[1:])
    if (
        isinstance(command, click.Group)
        and arguments
        and re.fullmatch(r"[a-z][a-z-]*", arguments[0])
    ):
        return [arguments[0]]
    if command.name == "run":
        return []
    options = {"--help", "--version"} | {
        name
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
    written = (re.split(r"[=\[]", word)[0] for word in arguments if word.startswith("--"))
    return [word for word in written if word not in options and word != "--"]


def is_placeholder(word: str) -> bool:
    """Whether it is for any command: KIND, VERB, `new|edit`, an ellipsis."""
    return "…" in word or "|" in word or "..." in word or word in {"KIND", "VERB", "COMMAND"}


def resolved(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that these words call, and the words after it."""
    command: click.Command = kl
    with click.Context(kl, info_name="kl") as context:
        while isinstance(command, click.Group):
            child = command.get_command(context, words[0]) if words else None
            if child is None and "TASK" in command.list_commands(
                context
            ):  # its first word is a task
                child = command.get_command(context, "TASK")
                words = ["", *words]
            if child is None:
                break
            command, words = child, words[1:]
    return command, words


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_and_options_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    unknown = {line: unknown_words(line) for line in shown_commands(text)}
    assert {line: words for line, words in unknown.items() if words} == {}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("kl verify --at HEAD", []),
        ("kl verify --tree HEAD", ["--tree"]),
        ("kl proof nothing", ["nothing"]),
        ("kl run -- make --jobs", []),
        ("git status --nothing", []),
    ],
)
def test_unknown_words_of_a_line(line: str, words: list[str]) -> None:
    assert unknown_words(line) == words
