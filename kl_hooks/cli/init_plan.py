"""Looks at a repository and plans what `kl init` writes there."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from kl_hooks.arch.baseline.file import Accepted, accept, baseline_bytes
from kl_hooks.arch.draft import draft
from kl_hooks.arch.foreign.run import set_up
from kl_hooks.arch.groups import packages
from kl_hooks.arch.manifest import read_manifest
from kl_hooks.arch.paths import owner
from kl_hooks.arch.propose import propose
from kl_hooks.arch.run import day, judge
from kl_hooks.arch.source import WORKTREE, content
from kl_hooks.arch.survey import Survey, survey
from kl_hooks.cli.common import counted
from kl_hooks.cli.hooks_standing import all_run
from kl_hooks.cli.init_files import Plan
from kl_hooks.cli.init_precommit import CONFIG, addition, mentions_kl
from kl_hooks.config.files import read_small
from kl_hooks.config.settings import CHECKOUT_FILE
from kl_hooks.model.lifecycle import FILE as LIFECYCLE
from kl_hooks.model.manifest import BASELINE, MANIFEST, Layer, Manifest
from kl_hooks.model.symbol import Link
from kl_hooks.proof.expected_tests import outside_testpaths, source_of
from kl_hooks.shipped import form
from kl_hooks.workspace.open import Workspace


@dataclass
class Found:
    """What is there and what is to be done, as lines for a person: (column, column, …)."""

    plan: Plan
    found: list[tuple[str, ...]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    layers: int = 0
    accepted: int = 0
    """Imports of today that contradict the proposed layers and go into the baseline."""
    snippet: bool = False
    """True where the pre-commit configuration could hold our entry but has to be changed by hand."""
    notes: tuple[str, ...] = ()
    seeds: int = 0
    """Records that the project's documents would give, beyond those that are there."""
    seeded: list[str] = field(default_factory=list)
    """Paths of those that were made."""
    uninstalled: bool = False
    """True where pre-commit runs `kl init` and kl itself is not installed."""
    hooked: bool = False
    """True where git runs every git hook of kl already, or pre-commit runs our entries."""
    set_up: str = ""
    """File of import-linter or tach whose rules could be taken over instead of the proposal."""


def look(ws: Workspace, *, append: bool, exact: bool = False) -> Found:
    """Plans the set-up; writes nothing.

    `append`: the user agreed to entries in his pre-commit configuration. `exact`: see `propose`.
    """
    seen = content(ws)
    read = survey(ws, seen)
    proposal = propose(read.links, read.modules, lambda layers: _through(read, layers), exact=exact)
    wanted = {
        CHECKOUT_FILE: form("config.yaml") + _excluded(ws),
        ".kl/.gitignore": form("gitignore"),
        LIFECYCLE: form("lifecycle.yaml"),
    }
    accepted = 0
    if proposal.layers:
        text = draft(proposal)
        wanted = {MANIFEST: text, **wanted}
        if proposal.against and not _there(ws, MANIFEST):
            entries = _today(ws, read, text)
            wanted = {MANIFEST: text, BASELINE: baseline_bytes(entries).decode("ascii"), **wanted}
            accepted = sum(one.count for one in entries)
    create = {path: text.encode() for path, text in wanted.items() if not _there(ws, path)}
    made = Found(Plan(create), _packages(read), [path for path in wanted if path not in create], notes=read.notes)
    made.layers, made.accepted = len(proposal.layers), accepted
    made.found += [("unread", str(problem)) for problem in read.unread[:5]]
    made.set_up = (set_up(ws) or "") if MANIFEST in create or not proposal.layers else ""
    if made.set_up:
        made.found.append(("rules", made.set_up, "import-linter" if made.set_up != "tach.toml" else "tach"))
    _pre_commit(ws, made, append)
    made.uninstalled = bool(ws.environ.get("PRE_COMMIT"))
    made.hooked = ws.repo is not None and all_run(ws.repo)
    return made


def _excluded(ws: Workspace) -> str:
    """The part of the settings that names files outside `testpaths` which look like tests; empty for none."""
    globs = outside_testpaths(source_of(ws.repo, "")) if ws.repo is not None else []
    if not globs:
        return ""
    lines = "".join(f"    - {json.dumps(os.fsencode(one).decode('utf-8', 'replace'))}\n" for one in globs)
    return f"verify:\n  exclude:  # named like tests, and outside testpaths: kl verify does not expect them\n{lines}"


def _through(read: Survey, layers: Sequence[Layer]) -> list[Link]:
    """The imports that reach one of these layers through files in none."""
    layer_of = owner(layers)
    by_path = {path: layer_of(path) for path in read.modules}
    return read.through(by_path, lambda source, target: source.name != target.name, Manifest(MANIFEST, ()))


def _today(ws: Workspace, read: Survey, text: str) -> tuple[Accepted, ...]:
    """What a check by the drafted manifest finds today."""
    return accept(judge(read_manifest(MANIFEST, text.encode()), read, day(ws), WORKTREE, ()).violations)


def _there(ws: Workspace, path: str) -> bool:
    return (ws.root / path).exists() or (ws.root / path).is_symlink()


def _packages(read: Survey) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for top, files in packages(read.modules).items():
        inside = set(files)
        imports = sum(link.path in inside for link in read.links)
        folder = files[0].rpartition("/")[0] or "."
        rows.append(("python", top, folder, f"{counted(len(files), 'module')}, {counted(imports, 'import')}"))
    return rows


def _pre_commit(ws: Workspace, made: Found, append: bool) -> None:
    text = read_small(ws.root / CONFIG, within=ws.root)
    if text is None:
        return
    made.found.append(("pre-commit", CONFIG))
    if mentions_kl(text):
        made.kept.append(f"{CONFIG} (has our hooks)")
        return
    added = addition(text) if append else None
    if added is None:
        made.snippet = True
    else:
        made.plan = Plan(made.plan.create, {CONFIG: added.encode()})
