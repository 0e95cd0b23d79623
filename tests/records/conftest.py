"""What the tests of records share: a repository with one commit, and two kinds that nobody
ships.
"""

from __future__ import annotations

import pytest

from kl_hooks.model.kind import Field, Kind, Verb
from kl_hooks.workspace import Workspace
from tests.support import Checkout

FILED = Kind(
    "ruling",
    "rulings",
    "RUL",
    "What was ruled.",
    "file",
    ("proposed", "accepted", "superseded"),
    ("accepted",),
    (
        Field("context", "text", "Why.", section="Context"),
        Field("ruling", "text", "What.", required=True, section="Ruling"),
        Field("governs", "ids", "What it rules.", relation="adr_governs"),
    ),
    (Verb("accept", "accepted", "It holds.", of=("proposed",)),),
    proof="ADR",
)
STORED = Kind(
    "lesson",
    "lessons",
    "LES",
    "What was learned.",
    "state",
    ("candidate", "approved", "rejected"),
    ("approved",),
    (
        Field("pattern", "text", "What was learned.", required=True),
        Field("reason", "line", "Why not."),
    ),
    (
        Verb("approve", "approved", "It holds."),
        Verb("reject", "rejected", "It does not.", needs=("reason",)),
    ),
    filed=("approved",),
    numbering="hash",
    identity=("pattern",),
    ttl={"agent": 90, "auto": 30},
)


@pytest.fixture(autouse=True)
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every workspace of a test knows the two kinds, beside those that kl brings."""
    found = Workspace.kinds.fget  # type: ignore[attr-defined]

    def both(self: Workspace) -> dict[str, Kind]:
        return {**found(self), "ruling": FILED, "lesson": STORED}

    monkeypatch.setattr(Workspace, "kinds", property(both))


@pytest.fixture
def ws(repo: Checkout) -> Workspace:
    """The repository, opened; time does not move."""
    return repo.workspace()
