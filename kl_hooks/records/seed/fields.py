"""The fields of records that can be seeded: what each was made from, so that seeding again finds what changed."""

from __future__ import annotations

from typing import Final

from kl_hooks.model.kind import Field

SEEDED: Final = (
    Field("entity_id", "line", "What the seed calls it: the same in every run.", internal=True),
    Field("source_path", "line", "The file that it was read from.", internal=True),
    Field("source_hash", "line", "sha256 of what was read there.", internal=True),
    Field(
        "seeded_hash",
        "line",
        "sha256 of what the seed wrote; another one today means that a person edited it.",
        internal=True,
    ),
)
"""Written by `kl seed` alone; nobody fills them in."""
