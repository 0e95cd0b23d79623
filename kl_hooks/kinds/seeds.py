"""Seeds: records made from a project's own documents, and those that kl brings for any project."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from unicodedata import east_asian_width

from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.feature import feature_ids
from kl_hooks.kinds.interview import facts_of_answer
from kl_hooks.model.canonical import canonical, replace_surrogates
from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.kind import Kind
from kl_hooks.model.problem import Problems
from kl_hooks.model.text import name_list, one_line, slug
from kl_hooks.records.document import (
    fields_by_heading,
    leading_title,
    read_document,
    read_front_matter,
    split_lines,
    split_sections,
)
from kl_hooks.records.seeding import SYSTEM_SOURCE, Seed
from kl_hooks.shipped import shipped
from kl_hooks.store.files import read_small

_MAX_DOCUMENT_BYTES: Final = 1024 * 1024
MAX_SECTION_LENGTH: Final = 4_000
"""Characters of a section that are seeded."""
_MAX_SECTIONS: Final = 20
"""Of one document."""
_SHORTEST: Final = 10
"""Characters; a shorter text makes no seed."""
_SENTENCE: Final = 4
"""Words that a sentence has at least: badges, logos and titles have fewer."""
_SUBSTITUTION: Final = lazy_pattern(r"\|[\w .-]{1,60}\||</?[a-z][a-z0-9]*(?:\s[^<>]{0,500})?/?>")
"""Of reStructuredText, mostly pictures; and tags."""
_ITEM: Final = lazy_pattern(r"\s*(?:[-*+•]|\d{1,3}[.)])\s")
_PYPROJECT: Final = "pyproject.toml"
_DOCUMENTS: Final = (
    "README.md",
    "README.rst",
    "AGENTS.md",
    "CLAUDE.md",
    "CONTRIBUTING.md",
    "CONTRIBUTING.rst",
    ".github/CONTRIBUTING.md",
    "docs/CONTRIBUTING.md",
)
_TOPICS: Final = tuple(
    (topic, lazy_pattern(rf"\b(?:{words})\b", re.IGNORECASE))
    for topic, words in (
        (
            "structure",
            r"structure|layout|directory|director(y|ies)|folders?|overview of the (code|repo)",
        ),
        ("architecture", r"architecture|design|how it works|components?|modules?"),
        ("testing", r"tests?|testing|coverage|quality"),
        (
            "convention",
            (
                r"conventions?|style|guidelines?|naming|formatting|commits?|contribut\w*|pull"
                r" requests?"
            ),
        ),
        (
            "command",
            (
                r"commands?|usage|getting started|quick ?start|set"
                r" ?up|install\w*|build\w*|running|run|development"
            ),
        ),
        ("stack", r"stack|technolog(y|ies)|requirements?|dependencies|prerequisites"),
        ("workflow", r"workflows?|process|release\w*|deploy\w*"),
        ("product", r"purpose|about|overview|goals?|features?|what (it )?is|why"),
        (
            "rule",
            r"rules?|do not|don'?ts?|never|always|must|important|security|notes?|boundar(y|ies)",
        ),
    )
)
_README_FACTS: Final = (
    (
        "purpose",
        "project_overview",
        "What this project is",
        lazy_pattern(r"(?i)introduction|overview|about|purpose"),
    ),
    (
        "goals",
        "goals",
        "What this project is to achieve",
        lazy_pattern(r"(?i)(project |design )?goals|objectives|aims"),
    ),
    (
        "technical_constraints",
        "constraints",
        "What limits this project",
        lazy_pattern(r"(?i)(technical |design )?constraints|limitations|restrictions"),
    ),
)
"""Question of the interview that a section of a README answers, category, title, headings."""
_UNDER: Final = lazy_pattern(r"([=\-~^\"'`#*+.:_])\1{2,}")
"""The line below a title in reStructuredText."""
# repetitions are bounded: hostile text costs its length times the bound, not the square of its
# length
_BADGE: Final = lazy_pattern(
    r"\[?!\[[^\]]{0,200}\]\([^)]{0,9000}\)(?:\]\([^)]{0,500}\))?|</?(?![a-z]+:)[A-Za-z][^>]{0,500}>"
)
_HEADING: Final = lazy_pattern(r" {0,3}#{1,6} ")
_RULE: Final = lazy_pattern(r" {0,3}(={3,}|-{3,}|\*{3,})\s*")
_COMMENT: Final = (lazy_pattern("<!--"), lazy_pattern("-->"))
_MANAGED: Final = (lazy_pattern("<!-- {0,9}kl:begin"), lazy_pattern("kl:end {0,9}-->"))
"""What kl itself wrote there is nothing new."""
_TEXTS: Final[Mapping[str, str]] = {
    "purpose": "purpose",
    "overview": "purpose",
    "summary": "purpose",
    "problem": "purpose",
    "goal": "purpose",
    "architecture": "architecture_summary",
    "design": "architecture_summary",
    "approach": "architecture_summary",
}
_LISTS: Final[Mapping[str, str]] = {
    "what it is": "what_it_is",
    "scope": "what_it_is",
    "in scope": "what_it_is",
    "requirements": "what_it_is",
    "what it is not": "what_it_is_not",
    "non-goals": "what_it_is_not",
    "out of scope": "what_it_is_not",
    "invariants": "invariants",
    "constraints": "invariants",
    "goals": "goals",
    "objectives": "goals",
    "acceptance criteria": "acceptance_criteria",
    "success criteria": "acceptance_criteria",
    "definition of done": "acceptance_criteria",
    "components": "key_components",
    "key components": "key_components",
}
_BOX: Final = lazy_pattern(r"^\[[ xX]\]\s+")
_DECISION: Final = lazy_pattern(r"\bADR-[0-9]{1,9}\b")
_STATUS: Final = ("planned", "building", "shipped", "draft", "in_progress", "done")
_ADR_NAME: Final = lazy_pattern(r"(?i)adr[-_ ]?\d+[^/]*\.(?:md|json)|\d{4}-[^/]+\.md")
_ADR_ID: Final = lazy_pattern(r"(?i)adr-\d{1,9}")


def project_seeds(root: Path) -> tuple[list[Seed], list[str]]:
    """Return (the seeds in the documents of the project at `root`, why a document could not be
    read).

    Of sections that two documents share (CLAUDE.md is often a copy of AGENTS.md) the first counts.
    """
    remarks: list[str] = []
    texts = {
        name: text for name in document_paths() if (text := _text(root, name, remarks)) is not None
    }
    settings = read_pyproject(texts.pop(_PYPROJECT, ""))
    project = project_id(name_of(settings) or root.name)
    by_text: dict[str, Seed] = {}
    for name, text in texts.items():
        for seed in document_seeds(project, name, text):
            by_text.setdefault(seed.hash, seed)
    for seed in pyproject_seeds(project, settings):
        by_text.setdefault(seed.hash, seed)
    by_key: dict[str, Seed] = {}
    for seed in by_text.values():
        by_key.setdefault(seed.key, seed)
    return list(by_key.values()), remarks


def document_paths() -> tuple[str, ...]:
    """Return the documents that `project_seeds` reads, existing or not."""
    return (*_DOCUMENTS, _PYPROJECT)


def project_id(name: str) -> str:
    """`My_Project 2` → `my-project-2`, at most 50 characters."""
    return (
        re.sub(r"[^a-z0-9-]", "", re.sub(r"[\s_]+", "-", name.strip().lower()))[:50].strip("-")
        or "project"
    )


def _project_id_of(root: Path) -> str:
    """Return the `project_id` of the project at `root`: by its pyproject.toml, else by its
    folder.
    """
    return project_id(name_of(read_pyproject(_text(root, _PYPROJECT, []) or "")) or root.name)


def _text(root: Path, name: str, remarks: list[str]) -> str | None:
    try:
        data = read_small(root / name, within=root, most=_MAX_DOCUMENT_BYTES)
    except UsageProblem as problem:
        remarks.append(str(problem))
        return None
    if data is not None and len(data) > _MAX_DOCUMENT_BYTES:
        remarks.append(f"{name}: longer than {_MAX_DOCUMENT_BYTES} bytes; omitted.")
        return None
    # a byte order mark, as editors on Windows write it, would hide the first heading
    if data is None:
        return None
    return data.decode("utf-8-sig", "replace")


def system_seeds(kinds: Mapping[str, Kind]) -> list[Seed]:
    """Return what kl brings for any project: roles, gates, modes, workflows, rules. Problems for a
    broken file.
    """
    seeds = []
    for kind in kinds.values():
        folder = shipped(f"templates/seed/{kind.plural}")
        for path in sorted(folder.glob("*.md")) if folder.is_dir() else ():
            name = f"templates/seed/{kind.plural}/{path.name}"
            data = path.read_bytes()
            document = read_document(kind, name, data)
            if document.record is None:
                raise Problems(document.problems)
            values = {
                field: list(v) if isinstance(v, tuple) else v
                for field, v in document.record.values.items()
            }
            values |= {"source": SYSTEM_SOURCE, "authority": "auto"}
            values.pop("status", None)
            seeds.append(Seed(kind.name, f"{kind.name}-{path.stem}", values, name, data.decode()))
    return seeds


def document_type(path: str, text: str = "") -> str:
    """Return what a document is: `adr`, `feature-spec` or `project-doc`; empty where nothing
    decides it.

    The ID in its front matter decides, its name, its title, or the sections of a decision.
    """
    name = path.rpartition("/")[2]
    keys, body = _front_and_body(path, text)
    identifier = str(keys.get("id") or keys.get("feature_id") or "")
    if _ADR_ID.fullmatch(identifier) or (
        name.lower().startswith("adr") and _ADR_NAME.fullmatch(name)
    ):
        return "adr"
    if feature_ids(identifier) or feature_ids(name.rpartition(".")[0]):
        return "feature-spec"
    headings = {section.heading.strip().lower() for section in split_sections(body)[1:]}
    if headings >= {"status", "context", "decision"} or headings >= {
        "context",
        "decision",
        "consequences",
    }:
        return "adr"
    if feature_ids(leading_title(body)):
        return "feature-spec"
    if path in _DOCUMENTS or name in _DOCUMENTS:
        return "project-doc"
    return ""


def _front_and_body(path: str, text: str) -> tuple[Mapping[str, Any], list[str]]:
    lines = split_lines(text)
    if lines and lines[0].rstrip() == "---":
        front = read_front_matter(path, lines)[0]
    else:
        front = None
    if not front:
        return ({}, lines)
    return (front.raw, lines[front.end + 1 :])


def type_of_file(name: str, file: Path) -> str:
    """Return the type of a document that a person gives, as `document_type`. `name`: its path from
    the root.
    """
    data = read_small(file, most=_MAX_DOCUMENT_BYTES) or b""
    return document_type(name, data.decode("utf-8-sig", "replace"))


def seeds_of_file(root: Path, name: str, file: Path, sort: str) -> tuple[list[Seed], str]:
    """Return (the seeds in a document that a person gives, why there are none). UsageProblem: there
    is no such file.
    """
    data = read_small(file, most=_MAX_DOCUMENT_BYTES)
    if data is None:
        raise UsageProblem("there is no such file.", place=str(file))
    if len(data) > _MAX_DOCUMENT_BYTES:
        return [], f"{name}: longer than {_MAX_DOCUMENT_BYTES} bytes; omitted."
    if not sort:
        return (
            [],
            f"{name}: unknown type of document; omitted. Give --type, or link to it from a record.",
        )
    seeds = _seeds_of_document(
        _project_id_of(root), name, data.decode("utf-8-sig", "replace"), sort
    )
    if sort == "feature-spec":
        missing = ": no id such as FEAT-AUTH-12."
    else:
        missing = "."
    return seeds, "" if seeds else f"{name}: holds nothing of a {sort}{missing}"


def _seeds_of_document(project: str, path: str, text: str, sort: str) -> list[Seed]:
    """Return the seeds in a document of this sort, as `document_type` names them;
    `project-overview` is a README.
    """
    if sort == "feature-spec":
        seed = feature_seed(project, path, text)
        if not seed:
            return []
        return [seed]
    return document_seeds(project, path, text, readme=True if sort == "project-overview" else None)


def document_seeds(project: str, name: str, text: str, *, readme: bool | None = None) -> list[Seed]:
    """Return the seeds in the document of this name or path; `project` is its `project_id`.

    A README, and what is like one, gives its beginning and the sections whose heading is known;
    what is written for agents is seeded whole, as rules where the heading decides nothing else.
    """
    if name.lower().endswith(".rst"):
        text = _markdown_of(text)
    lines = split_lines(_without(_COMMENT, _without(_MANAGED, text)))
    if readme is None:
        readme = name.rpartition("/")[2].lower().startswith("readme")
    facts = _fact_seeds(project, name, lines) if readme else ()
    return [*facts, *_guide_seeds(project, name, lines, readme)]


def _fact_seeds(project: str, name: str, lines: list[str]) -> Iterator[Seed]:
    """The project in a README: its beginning or introduction, its goals, its constraints."""
    sections = split_sections(lines)
    texts = {"purpose": _from_first_sentence(_introduction(sections[0].text_in(lines)))}
    for section in sections[1:]:
        for key, _, _, words in _README_FACTS:
            if (
                words.fullmatch(section.heading.strip(" *_`:"))
                and len(texts.get(key, "")) < _SHORTEST
            ):
                texts[key] = _introduction(section.text_in(lines))
    prefix = "" if name.lower().startswith("readme") else f"{_stem(name)}-"
    for key, category, title, _ in _README_FACTS:
        if len(text := texts.get(key, "")) >= _SHORTEST:
            yield _fact_seed(
                f"{project}__{prefix}{key.replace('_', '-')}",
                key,
                category,
                title,
                _cut(text, name),
                name,
                text,
            )


def _fact_seed(
    key: str, answers: str, category: str, title: str, answer: str, name: str, text: str
) -> Seed:
    values = {
        "title": title,
        "category": category,
        "answers": answers,
        "answer": answer,
        "facts": list(facts_of_answer(answer, category))[:10],
        "authority": "auto",
        "source": f"seed:{name}",
    }
    return Seed("fact", key, values, name, text)


def _guide_seeds(project: str, name: str, lines: list[str], readme: bool) -> Iterator[Seed]:
    sections_read = 0
    for section in split_sections(lines)[1:]:
        text = section.text_in(lines).strip()
        heading = one_line(_BADGE.sub("", section.heading).strip(" *_`"), 120)
        topic = topic_of(heading)
        if len(text) < _SHORTEST or not heading or (readme and topic in ("", "rule")):
            continue
        if readme and any(
            words.fullmatch(heading.strip(" :")) for _, _, _, words in _README_FACTS[1:]
        ):
            continue  # it is a fact
        sections_read += 1
        if sections_read > _MAX_SECTIONS:
            return
        key = f"{project}__{_stem(name)}-{slug(heading) or sections_read}"
        yield _guide_seed(
            key, topic or "rule", heading, _cut(text, name), name, f"{heading}\n{text}"
        )


def _guide_seed(key: str, topic: str, title: str, text: str, name: str, source: str) -> Seed:
    values = {
        "title": title,
        "topic": topic,
        "scope": "project",
        "text": text,
        "authority": "auto",
        "source": f"seed:{name}",
    }
    return Seed("guide", key, values, name, source)


def topic_of(heading: str) -> str:
    """Return what a section is about, by its heading; empty where no word of it decides that."""
    return next((topic for topic, words in _TOPICS if words.search(heading)), "")


def _stem(name: str) -> str:
    """`docs/overview.md` → `docs-overview`."""
    return slug(name.rpartition(".")[0].replace("/", "-") or name)


def _introduction(text: str) -> str:
    """The text before the next heading of any level, without badges, pictures and rules."""
    lines: list[str] = []
    for number, line in enumerate(split_lines(_BADGE.sub("", text))):
        if _HEADING.match(line):
            if "".join(lines).strip() or (number and line.lstrip().startswith("##")):
                break
        elif not _RULE.fullmatch(line):
            lines.append(line.rstrip())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _from_first_sentence(text: str) -> str:
    """A beginning without titles, lists of links and logos before its first sentence."""
    paragraphs = [paragraph for paragraph in text.split("\n\n") if not _is_ornament(paragraph)]
    first = next(
        (place for place, paragraph in enumerate(paragraphs) if _has_sentence(paragraph)),
        len(paragraphs),
    )
    return "\n\n".join(paragraphs[first:]).strip()


def _is_ornament(paragraph: str) -> bool:
    """True for a paragraph of nothing but substitutions (`|logo| |version|`), tags and signs."""
    return not re.search(r"\w", _SUBSTITUTION.sub("", paragraph))


def _has_sentence(paragraph: str) -> bool:
    """True where a paragraph has some words in a row, other than as a list or a quick link."""
    text = _SUBSTITUTION.sub("", paragraph)
    words = len(re.findall(r"\w{2,}", text))
    # Chinese and Japanese have no spaces between words
    ideographs = sum(east_asian_width(character) in "WF" for character in text)
    return not _ITEM.match(text) and (words >= _SENTENCE or ideographs >= 2 * _SENTENCE)


def _cut(text: str, name: str) -> str:
    """At most MAX_SECTION_LENGTH characters, cut between paragraphs where that is possible, with a
    note of the cut.
    """
    if len(text) <= MAX_SECTION_LENGTH:
        return text
    head = text[:MAX_SECTION_LENGTH]
    paragraphs = head.rfind("\n\n")
    # not at a paragraph that ends early: a long one after it would cost most of the text
    if paragraphs > MAX_SECTION_LENGTH // 2:
        head = head[:paragraphs]
    else:
        head = head[: head.rfind("\n")] or head
    # an odd number: the cut is inside a code block, which would swallow the note below and all that
    # follows
    fences = len(re.findall(r"(?m)^ {0,3}```", head))
    return head.rstrip() + ("\n```" if fences % 2 else "") + f"\n\n(The rest is in {name}.)"


def _without(ends: tuple[re.Pattern[str], re.Pattern[str]], text: str) -> str:
    """The text without what is between a beginning and the next end; linear in its length."""
    parts = []
    start = 0
    while (begin := ends[0].search(text, start)) and (end := ends[1].search(text, begin.end())):
        parts.append(text[start : begin.start()])
        start = end.end()
    return "".join([*parts, text[start:]])


def _markdown_of(text: str) -> str:
    """reStructuredText as Markdown, as far as seeds read it: headings by their underlines, literal
    blocks as code.

    Directives other than code (`.. image::`, `.. contents::`), comments and targets are omitted
    with their blocks.
    """
    lines = text.splitlines()
    markdown = list[str]()
    styles = list[str]()
    number = 0
    while number < len(lines):
        line = lines[number].rstrip()
        below = lines[number + 1].rstrip() if number + 1 < len(lines) else ""
        # docutils: from four characters on an underline may be shorter than its title, with a
        # warning
        if (
            line
            and not line[0].isspace()
            and _UNDER.fullmatch(below)
            and len(below) >= min(len(line), 4)
        ):
            style = below[0] + (
                "^"
                if markdown and _UNDER.fullmatch(markdown[-1]) and markdown[-1][0] == below[0]
                else ""
            )
            if style.endswith("^"):
                markdown.pop()  # the line above a title is its ornament
            if style not in styles:
                styles.append(style)
            markdown += ["", f"{'#' * (styles.index(style) + 1)} {line.strip()}", ""]
            number += 2
        elif line.startswith(".. ") or line == "..":
            number = _after_block(lines, number, markdown, code="code" in line.partition("::")[0])
        elif line.endswith("::"):
            markdown.append(line[:-1] if len(line) > 2 else "")
            number = _after_block(lines, number, markdown, code=True)
        else:
            markdown.append(line)
            number += 1
    return "\n".join(markdown)


def _after_block(lines: list[str], number: int, markdown: list[str], *, code: bool) -> int:
    """Where the indented block below a line ends; `code`: it is put into `made`, between fences."""
    end = number + 1
    while end < len(lines) and (not lines[end].strip() or lines[end][0].isspace()):
        end += 1
    block = [
        line for line in lines[number + 1 : end] if not line.strip().startswith(":") or not code
    ]
    while block and not block[0].strip():
        del block[0]
    while block and not block[-1].strip():
        block.pop()
    if code and block:
        markdown += ["", "```", *block, "```", ""]
    return end


def feature_seed(project: str, path: str, text: str) -> Seed | None:
    """Return the seed in a specification; None where its front matter, name and title have no ID
    such as FEAT-A-12.
    """
    keys, body = _front_and_body(path, text)
    title = str(keys.get("title") or keys.get("name") or leading_title(body))
    ids = feature_ids(
        " ".join(
            [str(keys.get("id") or keys.get("feature_id") or ""), path.rpartition("/")[2], title]
        )
    )
    if not ids:
        return None
    name = one_line(re.sub(rf"(?i)^\W*{re.escape(ids[0])}\W*", "", title).strip(), 200) or ids[0]
    values: dict[str, Any] = {
        "title": name,
        "spec": path,
        "authority": "auto",
        "source": f"seed:{path}",
    }
    values |= fields_by_heading(body, _TEXTS, _LISTS)
    criteria = [_BOX.sub("", item) for item in values.get("acceptance_criteria", ())]
    if criteria:  # which of them are done is a matter of each turn
        values["acceptance_criteria"] = criteria
    decisions = list(dict.fromkeys(_DECISION.findall(text)))
    status = str(keys.get("status") or "").strip().lower()
    if decisions:
        values |= {"key_decisions": decisions}
    if status in _STATUS:
        values |= {"status": status}
    return Seed("feature", f"{project}__{ids[0].lower()}", values, path, text, ids[0])


_MOST: Final = 60
_TOOLS: Final = (
    "black",
    "coverage",
    "flake8",
    "hatch",
    "importlinter",
    "isort",
    "mypy",
    "nox",
    "pdm",
    "poetry",
    "pylint",
    "pyright",
    "pytest",
    "ruff",
    "setuptools",
    "tox",
    "uv",
)
_LONGEST: Final = 20_000
"""Characters of a line that people write."""


def read_pyproject(text: str) -> Mapping[str, Any]:
    """Return the settings in a pyproject.toml; empty where it is invalid, which build tools report
    better.
    """
    if any(
        len(line) > _LONGEST for line in text.splitlines()
    ):  # tomllib reads a dotted key in quadratic time
        return {}
    try:
        return tomllib.loads(text)
    except (
        tomllib.TOMLDecodeError,
        RecursionError,
    ):  # tomllib recurses into nested arrays and tables
        return {}


def name_of(settings: Mapping[str, Any]) -> str:
    """Return the name of the project; empty where the file gives none."""
    name = _table(settings, "project").get("name") or _table(settings, "tool", "poetry").get("name")
    if isinstance(name, str):
        return name
    return ""


def pyproject_seeds(project: str, settings: Mapping[str, Any]) -> list[Seed]:
    """Return the seeds in a pyproject.toml: the purpose, the stack and the commands. `project`: its
    `project_id`.
    """
    seeds = []
    purpose = _table(settings, "project").get("description") or _table(
        settings, "tool", "poetry"
    ).get("description")
    if isinstance(purpose, str) and len(purpose.strip()) >= _SHORTEST:
        text = one_line(purpose, 500)
        key, category, title, _ = _README_FACTS[0]
        seeds.append(
            _fact_seed(f"{project}__purpose", key, category, title, text, _PYPROJECT, text)
        )
    stack = _stack(settings)
    commands = _commands(settings)
    for topic, title, lines in (
        ("stack", "What it is built with", stack),
        ("command", "Commands it brings", commands),
    ):
        if lines:
            source = canonical(replace_surrogates(lines)).decode()
            key = f"{project}__pyproject-{topic}"
            seeds.append(_guide_seed(key, topic, title, "\n".join(lines), _PYPROJECT, source))
    return seeds


def _stack(settings: Mapping[str, Any]) -> list[str]:
    project = _table(settings, "project")
    poetry = _table(settings, "tool", "poetry")
    if project.get("requires-python"):
        lines = [f"- Python {one_line(str(project['requires-python']), 60)}"]
    else:
        lines = []
    needs = [
        *_texts(project.get("dependencies")),
        *(n for n in _table(poetry, "dependencies") if n != "python"),
    ]
    if needs:
        lines.append(f"- needs {_joined(needs)}")
    for group, requirements in sorted(
        {
            **_table(project, "optional-dependencies"),
            **_table(settings, "dependency-groups"),
        }.items()
    ):
        if _texts(requirements):
            lines.append(f"- with `{one_line(str(group), 60)}`: {_joined(_texts(requirements))}")
    backend = _table(settings, "build-system").get("build-backend")
    if isinstance(backend, str):
        lines += [f"- built by {one_line(backend, 60)}"]
    tools = [name for name in _TOOLS if name in _table(settings, "tool")]
    if not tools:
        return lines
    return [*lines, f"- configured here: {', '.join(tools)}"]


def _commands(settings: Mapping[str, Any]) -> list[str]:
    scripts = {
        **_table(settings, "project", "scripts"),
        **_table(settings, "tool", "poetry", "scripts"),
    }
    lines = [
        f"- `{one_line(name, 60)}` runs {one_line(str(target), 120)}"
        for name, target in sorted(scripts.items())
    ]
    if "pytest" in _table(settings, "tool"):
        lines.append("- `pytest` runs the tests")
    return lines[:_MOST]


def _table(settings: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """The table at this path; empty where there is none."""
    for name in names:
        table = settings.get(name)
        if isinstance(table, Mapping):
            settings = table
        else:
            settings = {}
    return settings


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list):
        return []
    return [text for text in value if isinstance(text, str)]


def _joined(needs: Iterable[str]) -> str:
    """Names without versions, each once, in their order."""
    bare_names = [re.split(r"[\s<>=!~;\[(@]", need.strip(), maxsplit=1)[0] for need in needs]
    names = list(dict.fromkeys(one_line(name, 60) for name in bare_names if name))
    return name_list(names, _MOST)
