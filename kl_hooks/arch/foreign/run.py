"""Reads another tool's set-up from the work tree and puts it into our words, rules kept as strict as they were."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kl_hooks.arch.check import violations
from kl_hooks.arch.contracts.run import judge_contracts
from kl_hooks.arch.foreign.import_linter import read_importlinter
from kl_hooks.arch.foreign.imported import Imported
from kl_hooks.arch.foreign.layered import with_layers
from kl_hooks.arch.foreign.tach import read_tach
from kl_hooks.arch.mistakes import ManifestProblems
from kl_hooks.arch.packages import folders_of
from kl_hooks.arch.source import content
from kl_hooks.arch.survey import Survey, survey
from kl_hooks.config.files import read_small
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.model.contract import Contract
from kl_hooks.model.manifest import MANIFEST
from kl_hooks.workspace.open import Workspace

PLACES: Final = ("setup.cfg", ".importlinter", "pyproject.toml", "tach.toml")
"""Where set-ups are looked for, in import-linter's order."""
_TACH: Final = "tach.toml"


def set_up(ws: Workspace) -> str | None:
    """The first file of the work tree that holds a set-up that can be imported; None without one."""
    for name in PLACES:
        try:
            text = read_small(ws.root / name, within=ws.root)
        except UsageProblem:
            continue
        if text is not None and (name == _TACH or (b"importlinter" in text and _holds(name, text))):
            return name
    return None


def _holds(name: str, text: bytes) -> bool:
    try:
        return read_importlinter(name, text) is not None
    except UsageProblem:
        return True  # theirs, and broken: who imports it is told


def import_set_up(ws: Workspace, name: str | None = None) -> Imported:
    """The set-up in the file `name` (from the root; None: the first there is). UsageProblem where there is none."""
    chosen = name or set_up(ws)
    if chosen is None:
        hint = "Name the file, or propose layers with: kl init"
        raise UsageProblem(f"no set-up of import-linter or tach here (looked for {', '.join(PLACES)}).", hint=hint)
    text = read_small(ws.root / chosen, within=ws.root)
    if text is None:
        raise UsageProblem("there is no such file.", place=chosen)
    seen = survey(ws, content(ws))
    if chosen.endswith(_TACH):
        return read_tach(chosen, text, sorted(seen.modules))
    found = read_importlinter(chosen, text)
    if found is None:
        raise UsageProblem("holds no set-up of import-linter.", place=chosen, hint="It has [importlinter] sections.")
    return _layered(ws, seen, _here(found, seen))


def _here(found: Imported, seen: Survey) -> Imported:
    """Without the root packages that are not in this repository: we look at no others."""
    roots = {root for contract in found.contracts for root in contract.root_packages}
    gone = sorted(root for root in roots if not folders_of(root, seen.modules))
    contracts = tuple(
        replace(one, root_packages=tuple(root for root in one.root_packages if root not in gone))
        for one in found.contracts
    )
    left = [f'the root package "{root}": it is not in this repository' for root in gone]
    return replace(found, contracts=contracts, left=(*found.left, *left))


def _layered(ws: Workspace, seen: Survey, found: Imported) -> Imported:
    """With the first contract that can become layers as layers; others say why they can't."""
    comments = dict(found.comments)
    for contract in [one for one in found.contracts if one.type == "layers"]:
        made, reason = with_layers(found, contract, seen.modules)
        if made is not None and found.layers:
            reason = "there are layers already"
        elif made is not None and not _same(ws, seen, contract, made):
            reason = "import-linter sees other imports here than kl does"
        if made is None or reason:
            comments[contract.name] += f"; stays a contract: {reason}"
        else:
            found = made
    return replace(found, comments={**comments, **{k: v for k, v in found.comments.items() if k not in comments}})


def _same(ws: Workspace, seen: Survey, contract: Contract, made: Imported) -> bool:
    """True if import-linter and our layers give one verdict on what is here now."""
    ours = violations(made.manifest(MANIFEST), seen.links, seen.modules)
    alone = Imported(made.origin, contracts=(contract,)).manifest(MANIFEST)
    try:
        theirs = judge_contracts(ws.state.cache, seen.content, seen.modules, alone)
    except (ManifestProblems, EnvironmentProblem):
        return False
    return bool(ours) == bool(theirs.breaches) and not theirs.problems
