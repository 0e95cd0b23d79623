"""Discovery in a workspace: what the code decided and no record says yet; proposed records on request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kl_hooks.config.files import read_small
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.kinds.decision.discover.dependencies import FILES, declared, from_dependencies
from kl_hooks.kinds.decision.discover.layout import from_layout
from kl_hooks.kinds.decision.discover.libraries import LIBRARIES
from kl_hooks.kinds.decision.discover.patterns import from_patterns
from kl_hooks.kinds.decision.discover.proposal import THRESHOLD, Proposal
from kl_hooks.kinds.decision.kind import KIND
from kl_hooks.records.ask import Wanted, every
from kl_hooks.records.write import create_many

if TYPE_CHECKING:
    from kl_hooks.model.record import Record
    from kl_hooks.workspace.open import Workspace


def discover(ws: Workspace, threshold: int = THRESHOLD) -> tuple[list[Proposal], int]:
    """(proposals that no record was made of yet, the surest first; how many were proposed before).

    What was proposed once is not proposed again, whatever became of it. EnvironmentProblem without git.
    """
    if ws.repo is None:
        raise EnvironmentProblem("there is no git repository to look at.", place=str(ws.root))
    found = [one for one in _all(ws) if one.confidence >= threshold]
    known = {one.text("source") for one in every(ws, Wanted((KIND.name,), archived=True, expired=True))}
    fresh = [one for one in found if one.source not in known]
    return sorted(fresh, key=lambda one: (-one.confidence, one.key)), len(found) - len(fresh)


def propose(ws: Workspace, proposals: Sequence[Proposal]) -> list[Record]:
    """Writes proposals as proposed records, all or none; nobody but a person accepts them."""
    return create_many(ws, KIND, [_raw(one) for one in proposals], by="kl decision discover") if proposals else []


def _raw(one: Proposal) -> dict[str, Any]:
    return {
        "title": one.title,
        "status": "proposed",
        "context": "Seen in the code:\n\n" + "\n".join(f"- {line}" for line in one.evidence),
        "decision": one.decision,
        "governs": list(one.governs),
        "trigger": "discovered",
        "confidence": one.confidence,
        "authority": "auto",
        "source": one.source,
    }


def _all(ws: Workspace) -> list[Proposal]:
    from kl_hooks.code.asking.opened import opened
    from kl_hooks.code.asking.stored import find
    from kl_hooks.git import files

    assert ws.repo is not None
    paths = [one.path for one in files.worktree(ws.repo) if not one.path.startswith(".kl/")]
    dependencies = declared({path: _text(ws, path) for path in FILES if path in paths})
    with opened(ws) as graph:
        symbols = find(graph.db, "1 = 1", ())
        importers = {module: _importers(graph.db, module) for _, module, _ in LIBRARIES.values()}
    return [*from_dependencies(dependencies, importers), *from_layout(paths), *from_patterns(symbols)]


def _importers(db: Any, module: str) -> list[str]:
    """The files outside tests that import a module that is not of this repository."""
    from kl_hooks.graph import links

    found = links.incoming(db, f"namespace:{module}", "imports")
    return sorted({one.path for one in found if not one.path.startswith(("tests/", "test/"))})


def _text(ws: Workspace, path: str) -> str:
    try:
        return (read_small(ws.root / path, within=ws.root) or b"").decode("utf-8", "replace")
    except UsageProblem:
        return ""
