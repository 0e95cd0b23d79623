"""How many imports cross from each layer to each other, for pictures; reads the source again, so only on demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kl_hooks.arch.edges import edges
from kl_hooks.arch.formats.findings import Checked
from kl_hooks.arch.source import content
from kl_hooks.arch.survey import survey
from kl_hooks.workspace.open import Workspace


def flows(ws: Workspace, found: Sequence[Checked]) -> dict[tuple[str, str], int]:
    """(layer, layer) → number of imports, allowed or not; of several contents the most that any has."""
    most: Counter[tuple[str, str]] = Counter()
    for source, verdict in found:
        if verdict is not None:
            seen = survey(ws, content(ws, source))
            crossing = edges(verdict.manifest, seen.links_under(verdict.manifest), seen.modules)
            most |= Counter((edge.source.name, edge.target.name) for edge in crossing)
    return dict(most)
