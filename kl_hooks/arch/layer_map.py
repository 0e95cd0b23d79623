"""A map of the layers: on which floor each is, and what the manifest decides about every import
between files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.arch.content import WORKTREE, load_content, utc_day
from kl_hooks.arch.import_survey import Survey, survey_imports
from kl_hooks.arch.layer_check import is_excepted, is_expired
from kl_hooks.arch.layers import EdgeFinder, file_of
from kl_hooks.arch.overview import CheckedWorktree, check_worktree
from kl_hooks.arch.runtime_imports import with_runtime_imports
from kl_hooks.code.modules import plain_name
from kl_hooks.errors import KlError
from kl_hooks.graph.algorithms import components
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.symbol import split_id

if TYPE_CHECKING:
    from kl_hooks.model.contract import Breach, Contract
    from kl_hooks.model.manifest import Layer, Manifest, Violation
    from kl_hooks.workspace import Workspace

ALLOWED, FORBIDDEN, ACCEPTED = range(3)
"""What is decided about an import; `ACCEPTED`: by the baseline or an exception."""


class DecidedImport(NamedTuple):
    """An import of a file by another one."""

    path: str
    imported: str
    """The file that it leads to."""
    line: int
    state: int
    reason: str = ""
    """The rule that it breaks, and what accepts it."""
    decision: str = ""


class JudgedContract(NamedTuple):
    """A contract of import-linter, and how it is broken."""

    contract: Contract
    breaches: tuple[Breach, ...]
    """Empty: nothing breaks it."""


class LayerMap(NamedTuple):
    """The layers, and what of them is broken."""

    checked: CheckedWorktree | None
    """None: there is no manifest, or it can't be used."""
    survey: Survey
    notes: tuple[str, ...]
    contracts: tuple[JudgedContract, ...] = ()
    """Empty also where they can't be judged: a note states why."""

    @property
    def manifest(self) -> Manifest | None:
        """The rules."""
        if self.checked:
            return self.checked.manifest
        return None

    @property
    def layers(self) -> Sequence[Layer]:
        """In the order of the manifest."""
        if self.manifest:
            return self.manifest.layers
        return ()

    @property
    def violations(self) -> Sequence[Violation]:
        """Forbidden imports that nothing accepts."""
        if self.checked:
            return self.checked.verdict.violations
        return ()

    @property
    def accepted(self) -> Sequence[Violation]:
        """Those that the baseline accepts."""
        if self.checked:
            return self.checked.verdict.accepted
        return ()

    def imports(self) -> Iterator[DecidedImport]:
        """Every import of a file by another one, by file and line."""
        decided = _decided_imports(self)
        steps = dict(_forbidden_steps(self.contracts))
        files = {dotted: path for path, dotted in self.survey.modules.items()}
        if self.manifest is None:
            links = self.survey.links
        else:
            links = self.survey.links_under(self.manifest)
        for link in sorted(links, key=lambda link: (link.path, link.line, link.target)):
            if link.relation != "imports":
                continue
            imported = file_of(split_id(link.target)[1], files)
            if imported is not None and imported != link.path:
                module = plain_name(self.survey.modules[imported])
                step = steps.get((link.path, link.line, module), _ALLOWED)
                verdict = decided.get((link.path, link.line, link.target), step)
                yield DecidedImport(link.path, imported, link.line, *verdict)


def read_layer_map(ws: Workspace) -> LayerMap:
    """Check the files on disk against the manifest, as `kl arch show`, with imports that only runs
    show. Rules that can't be used are a note.
    """
    try:
        checked, notes = check_worktree(ws)
    except KlError as problem:
        survey = survey_imports(ws, load_content(ws, WORKTREE))
        return LayerMap(None, survey, (f"the layers are not checked: {problem}",))
    if checked is None:
        return LayerMap(None, survey_imports(ws, load_content(ws, WORKTREE)), notes)
    if checked.manifest.runtime_imports != "ignore":
        verdict = with_runtime_imports(ws, checked.verdict, checked.survey, utc_day(ws))
        checked = checked._replace(verdict=verdict)
    contracts, remarks = _judged_contracts(ws, checked)
    return LayerMap(checked, checked.survey, (*notes, *remarks), contracts)


def _judged_contracts(
    ws: Workspace, checked: CheckedWorktree
) -> tuple[tuple[JudgedContract, ...], tuple[str, ...]]:
    """The contracts, and sentences about those that are broken; where they can't be judged, none
    and why.
    """
    contracts = checked.manifest.contracts
    if not contracts:
        return (), ()
    # import-linter and grimp start only where they are asked for
    from kl_hooks.arch.contracts import check_contracts

    survey = checked.survey
    refused = "the contracts of import-linter are not judged"
    try:
        result = check_contracts(
            ws.state.cache, survey.content, survey.python_modules, checked.manifest
        )
    except KlError as problem:
        return (), (f"{refused}: {problem}",)
    if result.problems:
        return (), (f"{refused}: {result.problems[0]}",)
    judged = tuple(
        JudgedContract(
            contract,
            tuple(breach for breach in result.breaches if breach.contract == contract.name),
        )
        for contract in contracts
    )
    remarks = (
        f'contract "{contract.name}" of import-linter is broken ({breaches[0].rule}).'
        " See: kl arch check"
        for contract, breaches in judged
        if breaches
    )
    return judged, tuple(remarks)


def layer_ranks(layers: Sequence[Layer]) -> dict[str, int]:
    """Layer → its floor: one above the highest of those that it may depend on, 0 for a layer that
    may depend on none. Layers that may depend on each other share a floor.
    """
    below = {layer.name: [*layer.may_depend_on] for layer in layers}
    ranks: dict[str, int] = {}
    for members in components([*below], below):
        others = {name for member in members for name in below[member]} - set(members)
        rank = max((ranks[name] + 1 for name in others if name in ranks), default=0)
        ranks |= dict.fromkeys(members, rank)
    return ranks


_ALLOWED: Final = (ALLOWED, "", "")
_Decided = dict[tuple[str, int, str], tuple[int, str, str]]
"""(path, line, ID of what is imported) → state, reason, decision."""


def _forbidden_steps(
    contracts: Sequence[JudgedContract],
) -> Iterator[tuple[tuple[str, int, str], tuple[int, str, str]]]:
    """(path, line, imported module) of each import that breaks a contract, or that leads to what it
    forbids by other modules → state, reason, decision.
    """
    for contract, breaches in contracts:
        for breach in breaches:
            words = f'contract "{contract.name}" of import-linter ({breach.rule})'
            if len(breach.chain) > 1:
                words = f"a step of a chain of imports that breaks {words}"
            else:
                words = f"it breaks {words}"
            for step in (*breach.chain, *breach.also):
                for line in step.lines:
                    yield (step.path, line, step.imported), (FORBIDDEN, words, contract.decision)


def _place_of(violation: Violation) -> tuple[str, int, str]:
    return violation.path, violation.line, violation.imported


def _decided_imports(layer_map: LayerMap) -> _Decided:
    """The imports that the layers do not allow."""
    if layer_map.checked is None:
        return {}
    manifest = layer_map.checked.manifest
    today = layer_map.checked.today
    forbidden = {_place_of(violation) for violation in layer_map.violations}
    accepted = {_place_of(violation) for violation in layer_map.accepted}
    decided: _Decided = {}
    finder = EdgeFinder(manifest, layer_map.survey.modules)
    for edge in finder.edges(layer_map.survey.links_under(manifest)):
        if edge.allowed:
            continue
        place = (edge.link.path, edge.link.line, edge.link.target)
        key = (edge.link.path, edge.link.line, edge.imported)
        rule = f"{manifest.path}:{edge.source.line}"
        words = f"{edge.source.name} must not import {edge.target.name} (layer rule, {rule})"
        current = [
            exception
            for exception in manifest.exceptions
            if is_excepted(exception, edge) and not is_expired(exception, today)
        ]
        if key in forbidden:
            decided[place] = FORBIDDEN, words, edge.source.decision
        elif current:
            if current[0].until:
                until = f" until {current[0].until}"
            else:
                until = ""
            words = f"{words}; excepted{until} ({manifest.path}:{current[0].line})"
            decided[place] = ACCEPTED, words, current[0].decision or edge.source.decision
        elif key in accepted:
            decided[place] = ACCEPTED, f"{words}; in the baseline", edge.source.decision
    return decided
