"""Seeds out of pyproject.toml: the stack, and the commands that it declares. Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kl_hooks.model.canonical import canonical, replace_surrogates
from kl_hooks.model.text import one_line
from kl_hooks.records.interview.sentences import facts
from kl_hooks.records.seed.seed import Seed

NAME: Final = "pyproject.toml"
_MOST: Final = 60
_TOOLS: Final = (
    "black", "coverage", "flake8", "hatch", "importlinter", "isort", "mypy", "nox", "pdm", "poetry", "pylint",
    "pyright", "pytest", "ruff", "setuptools", "tox", "uv",
)  # fmt: skip
_LONGEST: Final = 20_000
"""Characters of a line that people write."""


def read_pyproject(text: str) -> Mapping[str, Any]:
    """What the file says; nothing where it can't be read (whoever builds the project says that better)."""
    if any(len(line) > _LONGEST for line in text.splitlines()):  # a dotted key takes the square of its length
        return {}
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def name_of(told: Mapping[str, Any]) -> str:
    """The name of the project; empty where the file gives none."""
    name = _table(told, "project").get("name") or _table(told, "tool", "poetry").get("name")
    return name if isinstance(name, str) else ""


def pyproject_seeds(project: str, told: Mapping[str, Any]) -> list[Seed]:
    """`project`: its `project_id`."""
    made = list(_purpose(project, told))
    stack, commands = _stack(told), _commands(told)
    for topic, title, lines in (("stack", "What it is built with", stack), ("command", "Commands it brings", commands)):
        if lines:
            values = {"title": title, "topic": topic, "scope": "project", "text": "\n".join(lines), "authority": "auto",
                      "source": f"seed:{NAME}"}  # fmt: skip
            read = canonical(replace_surrogates(lines)).decode()
            made.append(Seed("guide", f"{project}__pyproject-{topic}", values, NAME, read))
    return made


def _purpose(project: str, told: Mapping[str, Any]) -> Iterator[Seed]:
    """What the project says of itself in one line, for where its README says nothing."""
    said = _table(told, "project").get("description") or _table(told, "tool", "poetry").get("description")
    if isinstance(said, str) and len(said.strip()) >= 10:
        text = one_line(said, 500)
        values = {
            "title": "What this project is", "category": "project_overview", "answers": "purpose", "answer": text,
            "facts": list(facts(text, "project_overview")), "authority": "auto", "source": f"seed:{NAME}",
        }  # fmt: skip
        yield Seed("fact", f"{project}__purpose", values, NAME, text)


def _stack(told: Mapping[str, Any]) -> list[str]:
    project = _table(told, "project")
    poetry = _table(told, "tool", "poetry")
    lines = [f"- Python {one_line(str(project['requires-python']), 60)}"] if project.get("requires-python") else []
    needs = [*_texts(project.get("dependencies")), *(n for n in _table(poetry, "dependencies") if n != "python")]
    if needs:
        lines.append(f"- needs {_joined(needs)}")
    for group, some in sorted(
        {**_table(project, "optional-dependencies"), **_table(told, "dependency-groups")}.items()
    ):
        if _texts(some):
            lines.append(f"- with `{one_line(str(group), 60)}`: {_joined(_texts(some))}")
    backend = _table(told, "build-system").get("build-backend")
    lines += [f"- built by {one_line(backend, 60)}"] if isinstance(backend, str) else []
    tools = [name for name in _TOOLS if name in _table(told, "tool")]
    return [*lines, f"- configured here: {', '.join(tools)}"] if tools else lines


def _commands(told: Mapping[str, Any]) -> list[str]:
    scripts = {**_table(told, "project", "scripts"), **_table(told, "tool", "poetry", "scripts")}
    lines = [f"- `{one_line(name, 60)}` runs {one_line(str(target), 120)}" for name, target in sorted(scripts.items())]
    if "pytest" in _table(told, "tool"):
        lines.append("- `pytest` runs the tests")
    return lines[:_MOST]


def _table(told: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """The table of this path; an empty one where there is none."""
    for name in names:
        found = told.get(name)
        told = found if isinstance(found, Mapping) else {}
    return told


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _joined(needs: Iterable[str]) -> str:
    """Names without versions, each once, in their order."""
    found = [re.split(r"[\s<>=!~;\[(@]", need.strip(), maxsplit=1)[0] for need in needs]
    names = list(dict.fromkeys(one_line(name, 60) for name in found if name))
    return ", ".join(names[:_MOST]) + (f" and {len(names) - _MOST} more" if len(names) > _MOST else "")
