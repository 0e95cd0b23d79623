"""`kl doctor`: what is wrong with the set-up, and the exact fix.

Each question is one function that gives findings; none of them raises.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path
from typing import Final

import click

from kl_hooks.cli.evidence import accepted_line
from kl_hooks.cli.options import format_option
from kl_hooks.cli.output import counted, echo, echo_json
from kl_hooks.errors import EnvironmentProblem, KlError, StoreBusy, StoreDamaged, StoreNewer
from kl_hooks.evidence.capture import spool_folders
from kl_hooks.evidence.integrity import edited_headers, read_marks, rollbacks
from kl_hooks.evidence.journal import QUARANTINED
from kl_hooks.git.run import GitFailed
from kl_hooks.model.problem import Problems
from kl_hooks.proof.gate import accepted
from kl_hooks.store.locks import store_lock
from kl_hooks.store.spool import pending_spools
from kl_hooks.store.sqlite import has_content
from kl_hooks.workspace import Workspace, open_workspace


@click.command(epilog="Example: kl doctor --format json")
@format_option()
@click.pass_context
def doctor(context: click.Context, shape: str) -> int:
    """What is wrong with the set-up, and the exact fix. Exit 1 if something is."""
    findings = _examine(context.find_root().params.get("root"))
    if shape == "json":
        echo_json({"schema": "kl.doctor/1", "findings": [_to_dict(f) for f in findings]})
    else:
        for finding in findings:
            echo(f"  {finding.state:<7} {finding.what:<12} {finding.says}")
            if finding.fix:
                echo(f"          {'':<12} fix: {finding.fix}")
    return 1 if any(f.state == "wrong" for f in findings) else 0


def _to_dict(finding: _Finding) -> dict[str, str]:
    return {"what": finding.what, "state": finding.state, "says": finding.says, "fix": finding.fix}


@dataclass(frozen=True, slots=True)
class _Finding:
    """One thing looked at."""

    what: str
    state: str
    """`ok`, `remark` or `wrong`."""
    says: str
    fix: str = ""
    """The exact next step."""


def _examine(root: str | None) -> list[_Finding]:
    """Everything, in the order a fix would be made. Where git or the settings fail, the rest is left out."""
    findings = list(_git())
    if any(f.state == "wrong" for f in findings):
        return findings
    try:
        ws = open_workspace(Path(root or os.getcwd()))  # noqa: PTH109
    except Problems as found:
        return [*findings, *(_Finding("settings", "wrong", str(one), f"edit {one.path}") for one in found.problems)]
    except KlError as problem:
        says = f"{problem.place}: {problem.reason}" if problem.place else problem.reason
        return [*findings, _Finding("settings", "wrong", says, problem.hint)]
    questions: tuple[Callable[[Workspace], Iterator[_Finding]], ...] = (
        _repository, _set_up, _kinds, _hooks, _store, _spool, _knowledge, _manifest, _pytest,
    )  # fmt: skip
    for ask in questions:
        try:
            findings += ask(ws)
        except (KlError, OSError) as problem:
            findings.append(_Finding(ask.__name__.strip("_"), "wrong", str(problem)))
    return findings


def _set_up(ws: Workspace) -> Iterator[_Finding]:
    if ws.initialized:
        yield _Finding("set-up", "ok", str(ws.root / ".kl"))
    else:
        yield _Finding("set-up", "wrong", "no .kl/ here: nothing is recorded or enforced.", "kl init")
    for warning in ws.settings.warnings:
        yield _Finding("settings", "remark", str(warning))


def _kinds(ws: Workspace) -> Iterator[_Finding]:
    for problem in ws.catalog.problems:
        yield _Finding("kinds", "wrong", str(problem), f"edit {problem.path}")


def _manifest(ws: Workspace) -> Iterator[_Finding]:
    from kl_hooks.arch.layers import ManifestProblems
    from kl_hooks.arch.manifest_parser import read_manifest
    from kl_hooks.model.manifest import MANIFEST
    from kl_hooks.store.files import read_small

    text = read_small(ws.root / MANIFEST, within=ws.root)
    if text is None:
        return
    try:
        manifest = read_manifest(MANIFEST, text)
    except ManifestProblems as found:
        for problem in found.problems:
            yield _Finding("layers", "wrong", str(problem), f"edit {MANIFEST}")
        return
    yield _Finding("layers", "ok", f"{counted(len(manifest.layers), 'layer')} in {MANIFEST}")


def _pytest(ws: Workspace) -> Iterator[_Finding]:
    for state, says, fix in _pytest_facts(ws.root, ws.environ, sys.executable):
        yield _Finding("pytest", state, says, fix)


def _store(ws: Workspace) -> Iterator[_Finding]:
    for state, says, fix in list(_state_facts(ws)) or _store_facts(ws):
        yield _Finding("store", state, says, fix)


def _spool(ws: Workspace) -> Iterator[_Finding]:
    for state, says, fix in _spool_facts(ws):
        yield _Finding("spool", state, says, fix)


def _knowledge(ws: Workspace) -> Iterator[_Finding]:
    for state, says, fix in _knowledge_facts(ws):
        yield _Finding("knowledge", state, says, fix)


def _git() -> Iterator[_Finding]:
    for state, says, fix in _git_program():
        yield _Finding("git", state, says, fix)


def _repository(ws: Workspace) -> Iterator[_Finding]:
    for state, says, fix in list(_index_facts(ws)) or _repository_facts(ws):
        yield _Finding("repository", state, says, fix)


def _hooks(ws: Workspace) -> Iterator[_Finding]:
    for state, says, fix in _hook_facts(ws):
        yield _Finding("git hooks", state, says, fix)


_Facts = tuple[str, str, str]
"""State (`ok`, `remark`, `wrong`), what it says, the fix."""


def _git_program() -> Iterator[_Facts]:
    """About git itself."""
    from kl_hooks.git.repository import MINIMUM_GIT, git_version

    needed = ".".join(map(str, MINIMUM_GIT))
    try:
        found = git_version()
    except KlError as problem:
        yield "wrong", problem.reason, problem.hint or f"Install git {needed} or newer."
        return
    shown = ".".join(map(str, found))
    if found < MINIMUM_GIT:
        yield "wrong", f"git {shown} is too old.", f"Install git {needed} or newer."
    else:
        yield "ok", f"git {shown}", ""


def _repository_facts(ws: Workspace) -> Iterator[_Facts]:
    """About this repository."""
    from kl_hooks.git.repository import head, is_shallow

    if ws.repo is None:
        yield "wrong", f"{ws.root} is not in a git repository.", "git init, or give --root"
        return
    if is_shallow(ws.repo):
        says = "shallow clone: commits before its boundary are unknown here, so evidence from history is limited."
        yield "remark", says, "git fetch --unshallow   (in CI: fetch-depth: 0)"
    elif head(ws.repo)[0] is None:
        yield "remark", "no commit yet.", "git commit"
    else:
        yield "ok", str(ws.repo.top), ""


def _hook_facts(ws: Workspace) -> Iterator[_Facts]:
    """About our native git hooks."""
    from kl_hooks.git.hooks import hook_states, outdated_hooks

    if ws.repo is None:
        return
    path = ws.git_settings.hooks_path if ws.git_settings else None
    older = {one.name for one in outdated_hooks(ws.repo)}
    for hook in hook_states(ws.repo):
        if hook.state == "inert":
            says = f"{hook.name} is installed but git does not run it: core.hooksPath is {path}."
            yield "wrong", says, f"git config --unset core.hooksPath, or: {hook.reason}"
        elif hook.state == "broken":
            yield "wrong", f"{hook.name}: {hook.reason}", "kl hooks install"
        elif hook.state == "installed" and hook.name in older:
            yield "remark", f"{hook.name} was written by an older version of kl.", "kl init --upgrade"
        elif hook.state == "installed":
            yield "ok", f"{hook.name} is ours", ""
    if path and not any(h.state == "inert" for h in hook_states(ws.repo)):
        says = f"core.hooksPath is {path}: git hooks in .git/hooks, pre-commit's included, are not run."
        yield "remark", says, "git config --unset core.hooksPath, or call kl from that folder"


_PYTEST_CONFIGS: Final = (
    "pytest.toml",
    ".pytest.toml",
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
)
_SWITCHED_OFF: Final = re.compile(r"no:kl\b|--no-kl\b|^\s*kl\s*=\s*[\"']?(?:false|no|off|0)\b", re.M | re.I)
_ASK: Final = "import importlib.util as u, sys; sys.exit(0 if u.find_spec('pytest_kl') else 1)"


def _pytest_facts(root: Path, environ: Mapping[str, str], ours: str) -> Iterator[tuple[str, str, str]]:
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
    for name in _PYTEST_CONFIGS:
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


def _state_facts(ws: Workspace) -> Iterator[_Facts]:
    """About the state directory: only what is wrong."""
    state = ws.state
    above = () if state.origin == "override" else (state.directory,)
    for folder in (*above, state.spool, state.graph.parent):
        yield from _no_folder(folder)
    for path in (state.database, state.lock, state.high_water):
        if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
            yield _aside(path, f"is {_file_type(path)}, where kl keeps a file")
    if state.graph.is_dir() and not state.graph.is_symlink():
        yield _aside(state.graph, "is a folder, where kl keeps a file")


def _knowledge_facts(ws: Workspace) -> Iterator[_Facts]:
    """About the folder of records: only what is wrong."""
    from kl_hooks.records.repository import KNOWLEDGE_FOLDER

    yield from _no_folder(ws.root / KNOWLEDGE_FOLDER)


def _index_facts(ws: Workspace) -> Iterator[_Facts]:
    """About git's index: only what is wrong."""
    from kl_hooks.git.files import index_rows

    if ws.repo is None or ws.repo.bare:
        return
    try:
        index_rows(ws.repo)
    except GitFailed as problem:
        path = ws.repo.git_dir / "index"
        fix = f"{_mv(path, 'damaged')}; git reset -q   (then stage again what was staged)"
        yield "wrong", problem.reason, fix if path.name in problem.reason else problem.hint


def _no_folder(path: Path) -> Iterator[_Facts]:
    if os.path.lexists(path) and not path.is_dir():
        yield _aside(path, f"is {_file_type(path)}, where kl keeps a folder")


def _file_type(path: Path) -> str:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return "a link" if path.exists() else "a link that leads nowhere"
    return "a folder" if stat.S_ISDIR(mode) else "a file" if stat.S_ISREG(mode) else "no regular file"


def _aside(path: Path, says: str) -> _Facts:
    return "wrong", f"{path} {says}.", _mv(path, "aside")


def _mv(path: Path, end: str) -> str:
    return f"mv {shlex.quote(str(path))} {shlex.quote(f'{path}.{end}')}"


_NEEDED: Final = 256 * 1024
"""Bytes that a run of tests may need at once."""
_OTHER_PLACE: Final = "export KL_STATE=FOLDER   (one that you can write)"


def _store_facts(ws: Workspace) -> Iterator[_Facts]:
    """About the store. Creates nothing where there is none."""
    database = ws.state.database
    problem = ws.store.problem()
    if isinstance(problem, StoreNewer):
        yield "wrong", problem.reason, "pip install --upgrade kl-hooks (captures wait in the spool)"
    elif isinstance(problem, StoreDamaged):
        yield _damaged(ws, problem)
    elif problem is not None:
        yield "wrong", f"{problem.place}: {problem.reason}", problem.hint
    elif no_place := _no_place(ws):
        yield "wrong", f"{no_place}; captures go to another spool.", _OTHER_PLACE
    elif full := _disk_full(ws):
        yield full
    elif not database.exists() and os.access(_existing_folder(ws.state.directory), os.W_OK):
        yield "remark", "no evidence yet; the store is made by the first command that needs it.", ""
    else:
        yield _can_be_written(ws)
    if not isinstance(problem, StoreDamaged):
        yield from _receipt_facts(ws)


def _damaged(ws: Workspace, problem: EnvironmentProblem) -> _Facts:
    database = ws.state.database
    fix = f"keep the file for a look, then move it away: mv {database} {database}.damaged"
    return "wrong", f"{problem.place or database}: {problem.reason}", fix


def _receipt_facts(ws: Workspace) -> Iterator[_Facts]:
    """About the receipts: lost, edited, unreadable; and losses that were accepted."""
    database = ws.state.database
    marks = read_marks(ws)
    try:
        with ws.store.reading() as db:
            lost = rollbacks(db, marks)
            edited = edited_headers(db) if db else []
        events = accepted(ws)
    except StoreDamaged as problem:
        yield _damaged(ws, problem)
        return
    except EnvironmentProblem as problem:
        yield "wrong", str(problem), problem.hint
        return
    for one in lost:
        gone = "is empty (0 bytes)" if database.exists() and not has_content(database) else "was deleted"
        why = f"{database} {gone}: " if one.had and not has_content(database) else ""
        yield "wrong", f"{why}{one}.", "put the newer kl.db back, or: kl evidence accept --reason TEXT"
    if edited:
        shown = f"{', '.join(edited[:3])}{' …' if len(edited) > 3 else ''}"
        says = f"{counted(len(edited), 'receipt')} edited: the ID is not the hash of the header ({shown})."
        yield "wrong", says, f"kl evidence verify; then put an unedited copy of {database} back"
    yield from (("remark", f"accepted on {accepted_line(one)}", "") for one in events)


def _disk_full(ws: Workspace) -> _Facts | None:
    """The finding, if nothing can be added to the disk of the spool. Asked by writing: a quota shows in no number."""
    import tempfile

    folder = _existing_folder(ws.state.spool)
    if not os.access(folder, os.W_OK) or not ws.state.directory.exists():
        return None
    try:
        with tempfile.TemporaryFile(prefix=".kl-", dir=folder) as file:
            file.write(b"\0" * _NEEDED)
            file.flush()
            os.fsync(file.fileno())
    except OSError as problem:
        if problem.errno not in (ENOSPC, EDQUOT, EFBIG):
            return None
        free = os.statvfs(folder)
        says = f"{folder}: the disk is full ({problem.strerror}; {free.f_bavail * free.f_frsize:,} bytes free)"
        fix = f"free at least {_NEEDED:,} bytes there, or: {_OTHER_PLACE}"
        return "wrong", f"{says}. Runs of tests can't be recorded.", fix
    return None


def _no_place(ws: Workspace) -> str:
    """Why the state directory can never be where it is to be; empty where it is there, or may be. Leaves nothing.

    Of a place that somebody named, rights alone do not tell: the superuser has them all, and /proc takes no folders.
    """
    import tempfile

    folder, there = ws.state.directory, _existing_folder(ws.state.directory)
    if not there.is_dir():
        return f"{there} is not a folder"
    if ws.state.origin != "override" or there == folder or not os.access(there, os.W_OK):
        return ""
    try:
        Path(tempfile.mkdtemp(prefix=".kl-", dir=there)).rmdir()
    except OSError as problem:
        return f"{folder} can't be made ({problem.strerror})"
    return ""


def _can_be_written(ws: Workspace) -> _Facts:
    folder, database = ws.state.directory, ws.state.database
    if os.statvfs(_existing_folder(folder)).f_flag & os.ST_RDONLY:
        says = f"{folder} is on a file system that is mounted read-only; captures go to another spool."
        return "wrong", says, _OTHER_PLACE
    try:
        with store_lock(ws.state.lock, wait=0.2, what="kl doctor"):
            writable = os.access(folder, os.W_OK) and os.access(database, os.W_OK)
    except StoreBusy as problem:
        return "wrong", problem.reason, "wait for it, or end that process; captures wait in the spool"
    except OSError:
        writable = False
    if writable:
        return "ok", str(database), ""
    fix = f"chown -R $(id -un) {folder}; chmod -R u+rwX {folder}"
    return "wrong", f"{database} can't be written by you; captures go to another spool.", fix


def _existing_folder(folder: Path) -> Path:
    """The folder, or the nearest above it that exists."""
    return next(one for one in (folder, *folder.parents) if one.exists())


def _spool_facts(ws: Workspace) -> Iterator[_Facts]:
    """About captures that are not in the store yet, and files in the spool that are none."""
    for folder, origin in spool_folders(ws):
        if count := len(pending_spools(folder)):
            yield "remark", f"captures waiting in {folder} ({origin}): {count}.", "kl evidence list   (imports them)"
        if aside := sorted(folder.glob(f"*{QUARANTINED}")):
            says = f"{len(aside)} files could not be understood and were set aside, such as {aside[0]}."
            yield "remark", says, "look at them, then delete them"
