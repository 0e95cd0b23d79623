"""Import notes: a script that an agent ran imports a package of its repository from another place,
such as an installed copy, so what it shows is not what the agent edited.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from kl_hooks.kinds.shell import simple_commands
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.text import one_line

_INTERPRETER: Final = lazy_pattern(r"python(?:3(?:\.\d{1,2})?)?")
_HARMLESS_OPTIONS: Final = frozenset(("-u", "-B", "-q", "-v"))
"""Options of Python that do not change where it imports from."""
_OTHER_ENVIRONMENT: Final = lazy_pattern(
    r"(?:^|[;&|(\s])(?:cd|pushd|source|\.|export|conda|pyenv|uv|poetry|hatch|nix-shell|docker)\s"
    r"|\b[A-Z][A-Z0-9_]*="
)
"""What a command line may do before it starts Python, so that Python here would not do the same."""
_IMPORT: Final = lazy_pattern(r"^[ \t>.]*(?:import|from)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)
_LONGEST_SCRIPT: Final = 500_000
_SECONDS: Final = 5
# the folder in which it is run is not searched for what this needs itself
_FIND: Final = """\
import sys
sys.path[:] = filter(None, sys.path)
import importlib.util
sys.path.insert(0, sys.argv[1])
spec = importlib.util.find_spec(sys.argv[2])
print(spec.origin if spec and spec.origin else "")
"""


class _Script(NamedTuple):
    interpreter: str
    folder: str
    """Where it imports from first."""
    text: str


def import_notes(line: str, folder: str, top: str) -> Iterator[tuple[str, str]]:
    """Yield (package, note) of each package of the repository at `top` that a script of this
    command line imports from elsewhere.

    `folder`: where the line was run. Only where that is certain: nothing where the line changes the
    environment first, and none of the package's code is run to find out.
    """
    if _OTHER_ENVIRONMENT.search(line):
        return
    packages = _packages(top)
    for script in _scripts(line, folder):
        if _is_inside(script.interpreter, folder, top):
            continue
        for package in sorted(packages.keys() & set(_IMPORT.findall(script.text))):
            origin = _origin(script, package, folder)
            if origin and os.path.realpath(origin) != os.path.realpath(packages[package]):
                own = os.path.relpath(packages[package], top)
                yield (
                    package,
                    f"kl: that script imports {package} from {one_line(origin, 200)}, not from this"
                    f" checkout ({own}): it does not run what you edit.\nhint: run it with"
                    f" PYTHONPATH={os.path.dirname(os.path.dirname(packages[package]))}",  # noqa: PTH120
                )


def _is_inside(interpreter: str, folder: str, top: str) -> bool:
    """Whether a file of the repository is called instead of an interpreter: nothing of it is run
    here. The Python of a virtual environment is a link to one outside.
    """
    return os.sep in interpreter and Path(folder, interpreter).resolve().is_relative_to(
        Path(top).resolve()
    )


def _packages(top: str) -> dict[str, str]:
    """Package of the checkout → its `__init__.py`; in the folder itself or in `src`."""
    packages: dict[str, str] = {}
    for folder in (Path(top), Path(top, "src")):
        if folder.is_dir():
            for path in folder.iterdir():
                init = path / "__init__.py"
                if path.name.isidentifier() and init.is_file():
                    packages.setdefault(path.name, str(init))
    return packages


def _scripts(line: str, folder: str) -> Iterator[_Script]:
    for command in simple_commands(line):
        if command.words and _INTERPRETER.fullmatch(command.name):
            arguments = [word for word in command.words[1:] if word not in _HARMLESS_OPTIONS]
            yield from _script(command.words[0], arguments, line, folder)


def _script(
    interpreter: str, arguments: Sequence[str], line: str, folder: str
) -> Iterator[_Script]:
    if not arguments or arguments[0] == "-":
        yield _Script(interpreter, folder, line)  # a here-document: its text is in the line
    elif arguments[0] == "-c" and len(arguments) > 1:
        yield _Script(interpreter, folder, arguments[1].replace(";", "\n"))
    elif not arguments[0].startswith("-"):
        path = Path(folder, arguments[0])
        if path.is_file():
            with path.open(encoding="utf-8", errors="replace") as file:
                yield _Script(interpreter, str(path.resolve().parent), file.read(_LONGEST_SCRIPT))


def _origin(script: _Script, package: str, folder: str) -> str:
    """The file of a package that the interpreter would import, without importing it; empty: it is
    not known.
    """
    try:
        done = subprocess.run(
            [script.interpreter, "-c", _FIND, script.folder, package],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return ""
    if done.returncode == 0:
        return done.stdout.strip()
    return ""
