"""What a document that somebody points at can be, and the seeds in it."""

from __future__ import annotations

from typing import Final

from kl_hooks.kinds.feature.detect import feature_ids
from kl_hooks.kinds.seeds.documents import NAMES, document_seeds
from kl_hooks.kinds.seeds.feature_spec import feature_seed
from kl_hooks.records.seed.seed import Seed

TYPES: Final = ("feature-spec", "project-overview", "project-doc")


def type_of(path: str) -> str:
    """What a document is by its name: `feature-spec`, `project-doc`, or empty where the name says nothing."""
    name = path.rpartition("/")[2]
    if feature_ids(name.rpartition(".")[0]):
        return "feature-spec"
    return "project-doc" if path in NAMES or name in NAMES else ""


def seeds_in(project: str, path: str, text: str, sort: str) -> list[Seed]:
    """The seeds in a document of this sort (one of TYPES); none where it holds nothing of it."""
    if sort == "feature-spec":
        found = feature_seed(project, path, text)
        return [found] if found else []
    name = path.rpartition("/")[2]
    readme = True if sort == "project-overview" else name.lower().startswith("readme")
    return document_seeds(project, path, text, readme=readme)
