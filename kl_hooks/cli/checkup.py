"""What `kl doctor` looks at: each question one function that gives findings, none of them raises."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kl_hooks.cli import checkup_git, checkup_pytest, checkup_state, checkup_store
from kl_hooks.cli.common import counted
from kl_hooks.config.problems import Problems
from kl_hooks.errors import KlError
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
        _repository, _set_up, _kinds, _hooks, _store, _spool, _knowledge, _manifest, _pytest,
    )  # fmt: skip
    for ask in questions:
        try:
            findings += ask(ws)
        except (KlError, OSError) as problem:
            findings.append(Finding(ask.__name__.strip("_"), "wrong", str(problem)))
    return findings


def _set_up(ws: Workspace) -> Iterator[Finding]:
    if ws.initialised:
        yield Finding("set-up", "ok", str(ws.root / ".kl"))
    else:
        yield Finding("set-up", "wrong", "no .kl/ here: nothing is recorded or enforced.", "kl init")
    for warning in ws.settings.warnings:
        yield Finding("settings", "remark", str(warning))


def _kinds(ws: Workspace) -> Iterator[Finding]:
    for problem in ws.catalogue.problems:
        yield Finding("kinds", "wrong", str(problem), f"edit {problem.path}")


def _manifest(ws: Workspace) -> Iterator[Finding]:
    from kl_hooks.arch.manifest import read_manifest
    from kl_hooks.arch.mistakes import ManifestProblems
    from kl_hooks.config.files import read_small
    from kl_hooks.model.manifest import MANIFEST

    text = read_small(ws.root / MANIFEST, within=ws.root)
    if text is None:
        return
    try:
        manifest = read_manifest(MANIFEST, text)
    except ManifestProblems as found:
        for problem in found.problems:
            yield Finding("layers", "wrong", str(problem), f"edit {MANIFEST}")
        return
    yield Finding("layers", "ok", f"{counted(len(manifest.layers), 'layer')} in {MANIFEST}")


def _pytest(ws: Workspace) -> Iterator[Finding]:
    for state, says, fix in checkup_pytest.look(ws.root, ws.environ, sys.executable):
        yield Finding("pytest", state, says, fix)


def _store(ws: Workspace) -> Iterator[Finding]:
    for state, says, fix in list(checkup_state.store(ws)) or checkup_store.look(ws):
        yield Finding("store", state, says, fix)


def _spool(ws: Workspace) -> Iterator[Finding]:
    for state, says, fix in checkup_store.waiting(ws):
        yield Finding("spool", state, says, fix)


def _knowledge(ws: Workspace) -> Iterator[Finding]:
    for state, says, fix in checkup_state.knowledge(ws):
        yield Finding("knowledge", state, says, fix)


def _git() -> Iterator[Finding]:
    for state, says, fix in checkup_git.program():
        yield Finding("git", state, says, fix)


def _repository(ws: Workspace) -> Iterator[Finding]:
    for state, says, fix in list(checkup_state.index(ws)) or checkup_git.repository(ws):
        yield Finding("repository", state, says, fix)


def _hooks(ws: Workspace) -> Iterator[Finding]:
    for state, says, fix in checkup_git.hooks(ws):
        yield Finding("git hooks", state, says, fix)
