"""Prints the pages that are made from the program and its tests: docs/commands/*.md,
docs/kinds/*.md, the forms in templates/kinds/, docs/hookspecs.md, docs/requirements.md,
docs/faults.md, docs/reference/modules.md, the tables of SECURITY.md. `make docs` runs it.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from kl_hooks import hookspecs
from kl_hooks.cli.main import COMMANDS, kl
from tools import faults_page, kinds_page, requirements_page

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
MODULES_PAGE = DOCS / "reference" / "modules.md"
WIDTH = 100
TABLE = re.compile(r"(?s)(<!-- tricks:[^>]*-->\n).*?(<!-- end of tricks -->)")
"""The part of SECURITY.md that is printed from `tests/proof/tricks.py`."""
ORIGINS = re.compile(r"(?s)(<!-- origins:[^>]*-->\n).*?(<!-- end of origins -->)")
"""The part that is printed from `tests/evidence/origins.py`."""
MODULES = re.compile(r"(?s)(<!-- modules:[^>]*-->\n).*?(<!-- end of modules -->)")
"""The part of docs/reference/modules.md that is printed from the docstrings of modules."""


def pages() -> Iterator[tuple[Path, str]]:
    """Every printed page: its path and its text."""
    names = kl.context_settings["help_option_names"]
    root = click.Context(
        kl, info_name="kl", terminal_width=WIDTH, max_content_width=WIDTH, help_option_names=names
    )
    yield DOCS / "commands" / "README.md", _index()
    for name in COMMANDS:
        command = kl.get_command(root, name)
        assert command is not None, name
        yield DOCS / "commands" / f"{name}.md", _page(command, name, root)
    yield DOCS / "hookspecs.md", _hookspecs()
    yield ROOT / "SECURITY.md", _security()
    yield from kinds_page.pages()
    yield from requirements_page.pages()
    yield from faults_page.pages()


def _index() -> str:
    rows = "\n".join(f"| [`kl {name}`]({name}.md) | {line} |" for name, line in COMMANDS.items())
    return (
        "# Commands\n\nPrinted from the program by `make docs`.\n\n| command | does"
        f" |\n|---|---|\n{rows}\n"
    )


def _page(command: click.Command, name: str, parent: click.Context) -> str:
    return f"# kl {name}\n\nPrinted from the program by `make docs`.\n\n" + "\n".join(
        _sections(command, name, parent)
    )


def _sections(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    context = click.Context(
        command, info_name=name, parent=parent, terminal_width=WIDTH, max_content_width=WIDTH
    )
    command._help_option = (
        None  # click 8.2 keeps the first one made: in a test's process, that of another parent
    )
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    yield f"```console\n$ {context.command_path} --help\n{text}\n```\n"
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            assert found is not None, child
            if found.hidden:
                continue
            yield f"## {context.command_path} {child}\n"
            yield from _sections(found, child, context)


def _security() -> str:
    """SECURITY.md with today's tables of tricks and origins: each row is played by a test."""
    sys.path.insert(0, str(ROOT))
    from tests.proof.tricks import rows

    table = ["| trick | detected | what kl reports |", "|---|---|---|"]
    table += [
        f"| {name} | {'yes' if detected else '**no**'} | {answer} |"
        for name, detected, answer in rows()
    ]
    from tests.evidence.origins import rows as origins

    known = ["| a receipt | proves | does not prove | counts |", "|---|---|---|---|"]
    known += [f"| {' | '.join(row)} |" for row in origins()]
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    text = ORIGINS.sub(lambda found: f"{found[1]}{chr(10).join(known)}{chr(10)}{found[2]}", text)
    return TABLE.sub(lambda found: f"{found[1]}{chr(10).join(table)}{chr(10)}{found[2]}", text)


def modules_page() -> str:
    """docs/reference/modules.md with today's modules, package by package."""
    lines = []
    for package in sorted(
        {path.parent for top in ("kl_hooks", "pytest_kl") for path in (ROOT / top).rglob("*.py")}
    ):
        modules = sorted(path for path in package.glob("*.py") if path.stem != "__init__")
        if modules and "_shipped" not in package.parts:
            name = package.relative_to(ROOT).as_posix()
            lines += ["", f"### {name}", "", f"{_summary(package / '__init__.py')}", ""]
            lines += [
                f"- [`{path.stem}`](../../{name}/{path.name}): {_summary(path)}" for path in modules
            ]
    text = MODULES_PAGE.read_text(encoding="utf-8")
    return MODULES.sub(
        lambda found: f"{found[1]}{chr(10).join(lines)}{chr(10)}{chr(10)}{found[2]}", text
    )


def _summary(path: Path) -> str:
    """The first sentence of a module's docstring."""
    doc = " ".join(
        (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")
        .split("\n\n")[0]
        .split()
    )
    return re.split(r"(?<=[.!?]) (?=[A-Z`])", doc)[0]


def _hookspecs() -> str:
    parts = [
        "# Hookspecs\n",
        (
            "Printed from `kl_hooks/hookspecs.py` by `make docs`. A plugin is an installed package"
            " with an entry point in"
        ),
        (
            "group `kl`, named by your own configuration (`plugins:` in"
            " `~/.config/kl/config.yaml`), never by that of"
        ),
        "a repository. `KL_TRACE=1` prints every call.\n",
    ]
    for name, function in vars(hookspecs).items():
        if name.startswith("kl_"):
            signature = str(inspect.signature(function)).replace("'", "")
            parts.append(
                f"## {name}\n\n```python\ndef"
                f" {name}{signature}\n```\n\n{inspect.getdoc(function)}\n"
            )
    return "\n".join(parts)


def main() -> int:
    """Write the pages, remove those of removed commands."""
    printed = dict(pages())
    for old in set((DOCS / "commands").glob("*.md")) - set(printed):
        old.unlink()
    printed[MODULES_PAGE] = modules_page()
    # not in `pages`: a reworded docstring need not print it again
    for path, text in printed.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
