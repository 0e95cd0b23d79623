"""Does the pytest that people run here load the plugin? Looked at from outside; nothing of the repository is run."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

CONFIGS: Final = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_SWITCHED_OFF: Final = re.compile(r"no:kl\b|--no-kl\b|^\s*kl\s*=\s*[\"']?(?:false|no|off|0)\b", re.M | re.I)
_ASK: Final = "import importlib.util as u, sys; sys.exit(0 if u.find_spec('pytest_kl') else 1)"


def look(root: Path, environ: Mapping[str, str], ours: str) -> Iterator[tuple[str, str, str]]:
    """(state, what it says, fix) for each thing found about pytest."""
    command = shutil.which("pytest", path=environ.get("PATH"))
    if command is None:
        yield "remark", "no `pytest` on PATH: test runs are recorded where it is installed beside kl-hooks.", ""
    else:
        yield from _loaded_by(Path(command), ours)
    if environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        says = "PYTEST_DISABLE_PLUGIN_AUTOLOAD is set: pytest loads no plugin by itself."
        yield "remark", says, "pytest -p pytest_kl.plugin, or unset it"
    if "no:kl" in environ.get("PYTEST_ADDOPTS", "") or "--no-kl" in environ.get("PYTEST_ADDOPTS", ""):
        yield "wrong", "PYTEST_ADDOPTS switches the plugin off.", "take `no:kl` or `--no-kl` out of PYTEST_ADDOPTS"
    for name in CONFIGS:
        path = root / name
        if path.is_file() and _SWITCHED_OFF.search(path.read_text("utf-8", "replace")):
            yield "wrong", f"{name} switches the plugin off (no:kl, --no-kl, or kl = false).", f"edit {name}"


def _loaded_by(command: Path, ours: str) -> Iterator[tuple[str, str, str]]:
    interpreter = _interpreter(command)
    if interpreter is None:
        yield "remark", f"{command} is not a Python script: whether it loads the plugin can't be told.", ""
        return
    try:
        asked = subprocess.run([interpreter, "-I", "-c", _ASK], capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        yield "wrong", f"{command} runs on {interpreter}, which can't be started ({problem}).", "reinstall pytest"
        return
    if asked.returncode == 0:
        yield "ok", f"{command} loads the plugin", ""
    else:
        says = f"{command} runs on {interpreter}, where kl-hooks is not installed: its runs leave no evidence."
        yield "wrong", says, f"{interpreter} -m pip install kl-hooks"


def _interpreter(script: Path) -> str | None:
    """The interpreter named in the first line of a script; None where there is none."""
    try:
        with script.open("rb") as file:
            first = file.readline(512).decode("utf-8", "replace").strip()
    except OSError:
        return None
    words = first.removeprefix("#!").split() if first.startswith("#!") else []
    if words and words[0].endswith("/env"):
        words = words[1:]
    return shutil.which(words[0]) if words and "python" in words[0] else None
