"""What `kl doctor` looks at: each question one function that gives findings, none of them raises."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kl_hooks.cli import checkup_pytest
from kl_hooks.cli.common import counted
from kl_hooks.config.problems import Problems
from kl_hooks.errors import KlError, StoreBusy, StoreDamaged, StoreNewer
from kl_hooks.workspace.open import Workspace, open_workspace


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at."""

    what: str
    state: str
    """`ok`, `remark` or `wrong`."""
    says: str
    fix: str = ""
    """The exact next step."""


def examine(root: str | None) -> list[Finding]:
    """Everything, in the order a fix would be made. Where git or the settings fail, the rest is left out."""
    findings = list(_git())
    if any(f.state == "wrong" for f in findings):
        return findings
    try:
        ws = open_workspace(Path(root or os.getcwd()))  # noqa: PTH109
    except Problems as found:
        return [*findings, *(Finding("settings", "wrong", str(one), f"edit {one.path}") for one in found.problems)]
    except KlError as problem:
        says = f"{problem.place}: {problem.reason}" if problem.place else problem.reason
        return [*findings, Finding("settings", "wrong", says, problem.hint)]
    questions: tuple[Callable[[Workspace], Iterator[Finding]], ...] = (
        _repository, _set_up, _hooks, _store, _spool, _manifest, _pytest,
    )  # fmt: skip
    for ask in questions:
        try:
            findings += ask(ws)
        except (KlError, OSError) as problem:
            findings.append(Finding(ask.__name__.strip("_"), "wrong", str(problem)))
    return findings


def _git() -> Iterator[Finding]:
    from kl_hooks.git.repository import MINIMUM_GIT, version

    needed = ".".join(map(str, MINIMUM_GIT))
    try:
        found = version()
    except KlError as problem:
        yield Finding("git", "wrong", problem.reason, problem.hint or f"Install git {needed} or newer.")
        return
    shown = ".".join(map(str, found))
    if found < MINIMUM_GIT:
        yield Finding("git", "wrong", f"git {shown} is too old.", f"Install git {needed} or newer.")
    else:
        yield Finding("git", "ok", f"git {shown}")


def _repository(ws: Workspace) -> Iterator[Finding]:
    from kl_hooks.git.repository import head, is_shallow

    if ws.repo is None:
        yield Finding("repository", "wrong", f"{ws.root} is not in a git repository.", "git init, or give --root")
        return
    if is_shallow(ws.repo):
        says = "shallow clone: commits before its boundary are unknown here, so evidence from history is limited."
        yield Finding("repository", "remark", says, "git fetch --unshallow   (in CI: fetch-depth: 0)")
    elif head(ws.repo)[0] is None:
        yield Finding("repository", "remark", "no commit yet.", "git commit")
    else:
        yield Finding("repository", "ok", str(ws.repo.top))


def _set_up(ws: Workspace) -> Iterator[Finding]:
    if ws.initialised:
        yield Finding("set-up", "ok", str(ws.root / ".kl"))
    else:
        yield Finding("set-up", "wrong", "no .kl/ here: nothing is recorded or enforced.", "kl init")
    for warning in ws.settings.warnings:
        yield Finding("settings", "remark", str(warning))


def _hooks(ws: Workspace) -> Iterator[Finding]:
    from kl_hooks.git.hooks import status

    if ws.repo is None:
        return
    path = ws.git_settings.hooks_path if ws.git_settings else None
    for hook in status(ws.repo):
        if hook.state == "inert":
            says = f"{hook.name} is installed but git does not run it: core.hooksPath is {path}."
            yield Finding("git hooks", "wrong", says, f"git config --unset core.hooksPath, or: {hook.reason}")
        elif hook.state == "broken":
            yield Finding("git hooks", "wrong", f"{hook.name}: {hook.reason}", "kl hooks install")
        elif hook.state == "installed":
            yield Finding("git hooks", "ok", f"{hook.name} is ours")
    if path and not any(h.state == "inert" for h in status(ws.repo)):
        says = f"core.hooksPath is {path}: git hooks in .git/hooks, pre-commit's included, are not run."
        yield Finding("git hooks", "remark", says, "git config --unset core.hooksPath, or call kl from that folder")


def _store(ws: Workspace) -> Iterator[Finding]:
    from kl_hooks.store.lock import store_lock

    try:
        with ws.store.reading() as db:
            exists = db is not None
    except StoreNewer as problem:
        yield Finding("store", "wrong", problem.reason, "pip install --upgrade kl-hooks (captures wait in the spool)")
        return
    except StoreDamaged as problem:
        fix = f"keep the file for a look, then move it away: mv {ws.state.database} {ws.state.database}.damaged"
        yield Finding("store", "wrong", f"{ws.state.database}: {problem.reason}", fix)
        return
    if not exists:
        yield Finding("store", "remark", "no evidence yet; the store is made by the first command that needs it.")
        return
    try:
        with store_lock(ws.state.lock, wait=0.2, what="kl doctor"):
            writable = os.access(ws.state.directory, os.W_OK) and os.access(ws.state.database, os.W_OK)
    except StoreBusy as problem:
        yield Finding("store", "wrong", problem.reason, "wait for it, or end that process; captures wait in the spool")
        return
    except OSError:
        writable = False
    if writable:
        yield Finding("store", "ok", str(ws.state.database))
    else:
        says = f"{ws.state.database} can't be written by you; captures go to another spool."
        yield Finding(
            "store", "wrong", says, f"chown -R $(id -un) {ws.state.directory}; chmod -R u+rwX {ws.state.directory}"
        )


def _spool(ws: Workspace) -> Iterator[Finding]:
    from kl_hooks.store.spool_read import pending
    from kl_hooks.store.state import spool_places

    for directory, origin in spool_places(ws.state, ws.root, ws.environ):
        waiting = list(pending(directory))
        if waiting:
            wait = f"{counted(len(waiting), 'capture')} {'waits' if len(waiting) == 1 else 'wait'}"
            says = f"{wait} in {directory} ({origin})."
            yield Finding("spool", "remark", says, "kl evidence list   (takes them in)")


def _manifest(ws: Workspace) -> Iterator[Finding]:
    from kl_hooks.arch.manifest import ManifestProblems, read_manifest

    path = ws.root / ".kl" / "architecture.yaml"
    if not path.is_file():
        return
    try:
        manifest = read_manifest(".kl/architecture.yaml", path.read_bytes())
    except ManifestProblems as found:
        for problem in found.problems:
            yield Finding("layers", "wrong", str(problem), "kl arch check")
        return
    yield Finding("layers", "ok", f"{counted(len(manifest.layers), 'layer')} in .kl/architecture.yaml")


def _pytest(ws: Workspace) -> Iterator[Finding]:
    for state, says, fix in checkup_pytest.look(ws.root, ws.environ, sys.executable):
        yield Finding("pytest", state, says, fix)
