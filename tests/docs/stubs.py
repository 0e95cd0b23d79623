"""Programs that are put before those of the machine while the commands of a page are run."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.docs.shown import ROOT

_PIP = """\
#!{python}
import re, sys
extras = {extras!r}
for word in sys.argv[1:]:
    named = re.match(r"kl-hooks(?:\\[(.*)\\])?", word)
    if named and not set((named[1] or "").split(",")) <= extras:
        sys.exit(f"pip: kl-hooks has no extra of {{named[1]}}")
"""

_PICK = """\
#!{python}
import json, sys
value = json.load(sys.stdin)
for word in sys.argv[1:]:
    value = value[int(word)] if isinstance(value, list) else value[word]
print(value)
"""


def write_pick(folder: Path, python: str) -> None:
    """Write `pick`, which prints one value of the JSON that it reads: `pick claims 0 id`."""
    script = folder / "pick"
    script.write_text(_PICK.format(python=python))
    script.chmod(0o755)


def write_pip(folder: Path, python: str) -> None:
    """Write a `pip` that installs nothing, and refuses extras that kl does not have."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {"", *project["optional-dependencies"]}
    script = folder / "pip"
    script.write_text(_PIP.format(python=python, extras=extras))
    script.chmod(0o755)
