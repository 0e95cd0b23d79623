"""Seeds out of README, CLAUDE.md, AGENTS.md and CONTRIBUTING: sections as guides, what a README says as facts. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kl_hooks.model.slug import slug
from kl_hooks.model.text import one_line
from kl_hooks.records.interview.sentences import facts
from kl_hooks.records.sections import content, lines_of, sections
from kl_hooks.records.seed.seed import Seed

NAMES: Final = (
    "README.md", "README.rst", "AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md", "CONTRIBUTING.rst",
    ".github/CONTRIBUTING.md", "docs/CONTRIBUTING.md",
)  # fmt: skip
MOST_TEXT: Final = 4_000
"""Characters of a section that are taken; the rest stays where it is."""
MOST_SECTIONS: Final = 20
"""Of one document."""
_TOPICS: Final = (
    ("structure", r"structure|layout|directory|director(y|ies)|folders?|overview of the (code|repo)"),
    ("architecture", r"architecture|design|how it works|components?|modules?"),
    ("testing", r"tests?|testing|coverage|quality"),
    ("convention", r"conventions?|style|guidelines?|naming|formatting|commits?|contribut\w*|pull requests?"),
    ("command", r"commands?|usage|getting started|quick ?start|set ?up|install\w*|build\w*|running|run|development"),
    ("stack", r"stack|technolog(y|ies)|requirements?|dependencies|prerequisites"),
    ("workflow", r"workflows?|process|release\w*|deploy\w*"),
    ("product", r"purpose|about|overview|goals?|features?|what (it )?is|why"),
    ("rule", r"rules?|do not|don'?ts?|never|always|must|important|security|notes?|boundar(y|ies)"),
)
_SHORTEST: Final = 10
"""Characters of a text that says something."""
_SAID: Final = (
    ("purpose", "project_overview", "What this project is", re.compile(r"(?i)introduction|overview|about|purpose")),
    ("goals", "goals", "What this project is to achieve", re.compile(r"(?i)(project |design )?goals|objectives|aims")),
    ("technical_constraints", "constraints", "What limits this project",
     re.compile(r"(?i)(technical |design )?constraints|limitations|restrictions")),
)  # fmt: skip
"""Question of the interview that a section of a README answers, category, title, headings."""
_UNDER: Final = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}")
"""A line below a title of reStructuredText."""
_TOPIC: Final = tuple((topic, re.compile(rf"\b(?:{words})\b", re.IGNORECASE)) for topic, words in _TOPICS)
_BADGE: Final = re.compile(
    r"\[?!\[[^\]]{0,200}\]\([^)]{0,9000}\)(?:\]\([^)]{0,500}\))?|</?(?![a-z]+:)[A-Za-z][^>]{0,500}>"
)
_HEADING: Final = re.compile(r" {0,3}#{1,6} ")
_RULE: Final = re.compile(r" {0,3}(={3,}|-{3,}|\*{3,})\s*")
_COMMENT: Final = (re.compile("<!--"), re.compile("-->"))
_MANAGED: Final = (re.compile("<!-- {0,9}kl:begin"), re.compile("kl:end {0,9}-->"))
"""What kl itself wrote there says nothing new."""


def document_seeds(project: str, name: str, text: str, *, readme: bool | None = None) -> list[Seed]:
    """The seeds in the document of this name or path; `project` is its `project_id`. A README, and what is like one,
    gives its beginning and the sections whose heading is known; what is written for agents is taken whole, as rules
    where the heading says nothing else."""
    text = markdown_of(text) if name.lower().endswith(".rst") else text
    lines = lines_of(_without(_COMMENT, _without(_MANAGED, text)))
    readme = name.lower().startswith("readme") if readme is None else readme
    return [*_facts(project, name, lines, readme), *_sections(project, name, lines, readme)]


def markdown_of(text: str) -> str:
    """reStructuredText as Markdown, as far as seeds read it: headings by their underlines, literal blocks as code.

    Directives other than code (`.. image::`, `.. contents::`), comments and targets are left out, blocks and all.
    """
    lines, made, styles = text.splitlines(), list[str](), list[str]()
    at = 0
    while at < len(lines):
        line, below = lines[at].rstrip(), lines[at + 1].rstrip() if at + 1 < len(lines) else ""
        if line and not line[0].isspace() and _UNDER.fullmatch(below) and len(below) >= min(len(line), 4):
            style = below[0] + ("^" if made and _UNDER.fullmatch(made[-1]) and made[-1][0] == below[0] else "")
            if style.endswith("^"):
                made.pop()  # the line above a title is its ornament
            if style not in styles:
                styles.append(style)
            made += ["", f"{'#' * (styles.index(style) + 1)} {line.strip()}", ""]
            at += 2
        elif line.startswith(".. ") or line == "..":
            at = _after_block(lines, at, made, code="code" in line.partition("::")[0])
        elif line.endswith("::"):
            made.append(line[:-1] if len(line) > 2 else "")
            at = _after_block(lines, at, made, code=True)
        else:
            made.append(line)
            at += 1
    return "\n".join(made)


def _after_block(lines: list[str], at: int, made: list[str], *, code: bool) -> int:
    """Where the indented block below a line ends; `code`: it is put into `made`, between fences."""
    end = at + 1
    while end < len(lines) and (not lines[end].strip() or lines[end][0].isspace()):
        end += 1
    block = [line for line in lines[at + 1 : end] if not line.strip().startswith(":") or not code]
    while block and not block[0].strip():
        del block[0]
    while block and not block[-1].strip():
        block.pop()
    if code and block:
        made += ["", "```", *block, "```", ""]
    return end


def _without(ends: tuple[re.Pattern[str], re.Pattern[str]], text: str) -> str:
    """The text without what stands between a beginning and the next end; one look at each character."""
    kept, at = [], 0
    while (begin := ends[0].search(text, at)) and (end := ends[1].search(text, begin.end())):
        kept.append(text[at : begin.start()])
        at = end.end()
    return "".join([*kept, text[at:]])


def _facts(project: str, name: str, lines: list[str], readme: bool) -> Iterator[Seed]:
    """What a README says of the project: its beginning or introduction, its goals, its constraints."""
    if not readme:
        return
    texts = {"purpose": _intro(content(lines, sections(lines)[0]))}
    for section in sections(lines)[1:]:
        for key, _, _, words in _SAID:
            if words.fullmatch(section.heading.strip(" *_`:")) and len(texts.get(key, "")) < _SHORTEST:
                texts[key] = _intro(content(lines, section))
    own = "" if name.lower().startswith("readme") else f"{_stem(name)}-"
    for key, category, title, _ in _SAID:
        text = texts.get(key, "")
        if len(text) < _SHORTEST:
            continue
        answer = _cut(text, name)
        values = {
            "title": title, "category": category, "answers": key, "answer": answer,
            "facts": list(facts(answer, category))[:10], "authority": "auto", "source": f"seed:{name}",
        }  # fmt: skip
        yield Seed("fact", f"{project}__{own}{key.replace('_', '-')}", values, name, text)


def _intro(text: str) -> str:
    """What stands between the title and the next heading of any level, without badges, pictures and rules."""
    kept: list[str] = []
    for number, line in enumerate(lines_of(_BADGE.sub("", text))):
        if _HEADING.match(line):
            if "".join(kept).strip() or (number and line.lstrip().startswith("##")):
                break
        elif not _RULE.fullmatch(line):
            kept.append(line.rstrip())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def _sections(project: str, name: str, lines: list[str], readme: bool) -> Iterator[Seed]:
    found = 0
    for section in sections(lines)[1:]:
        text, heading = content(lines, section).strip(), one_line(_BADGE.sub("", section.heading).strip(" *_`"), 120)
        topic = topic_of(heading)
        if len(text) < _SHORTEST or not heading or (readme and topic in ("", "rule")):
            continue
        if readme and any(words.fullmatch(heading.strip(" :")) for _, _, _, words in _SAID[1:]):
            continue  # a fact, see `_facts`
        found += 1
        if found > MOST_SECTIONS:
            return
        values = {
            "title": heading, "topic": topic or "rule", "scope": "project", "text": _cut(text, name),
            "authority": "auto", "source": f"seed:{name}",
        }  # fmt: skip
        yield Seed("guide", f"{project}__{_stem(name)}-{slug(heading) or found}", values, name, f"{heading}\n{text}")


def _stem(name: str) -> str:
    """`docs/overview.md` → `docs-overview`."""
    return slug(name.rpartition(".")[0].replace("/", "-") or name)


def topic_of(heading: str) -> str:
    """What a section is about, by its heading; empty where the heading says nothing."""
    return next((topic for topic, words in _TOPIC if words.search(heading)), "")


def _cut(text: str, name: str) -> str:
    """At most MOST_TEXT characters, cut between paragraphs where it can be, and then saying so."""
    if len(text) <= MOST_TEXT:
        return text
    head = text[:MOST_TEXT]
    head = head[: head.rfind("\n\n")] if head.rfind("\n\n") > MOST_TEXT // 2 else head[: head.rfind("\n")] or head
    fences = len(re.findall(r"(?m)^ {0,3}```", head))
    return head.rstrip() + ("\n```" if fences % 2 else "") + f"\n\n(The rest stands in {name}.)"
