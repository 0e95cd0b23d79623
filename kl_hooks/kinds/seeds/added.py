"""What a document that somebody points at can be, and the seeds in it."""

from __future__ import annotations

import re
from typing import Final

from kl_hooks.kinds.feature.detect import feature_ids
from kl_hooks.kinds.seeds.documents import NAMES, document_seeds
from kl_hooks.kinds.seeds.feature_spec import feature_seed
from kl_hooks.records.front import read_front
from kl_hooks.records.sections import lines_of, sections, title_of
from kl_hooks.records.seed.seed import Seed

TYPES: Final = ("adr", "feature-spec", "project-overview", "project-doc")
_ADR_NAME: Final = re.compile(r"(?i)adr[-_ ]?\d+[^/]*\.(?:md|json)|\d{4}-[^/]+\.md")
_ADR_ID: Final = re.compile(r"(?i)adr-\d{1,9}")


def type_of(path: str, text: str = "") -> str:
    """What a document is: by the ID in its front matter, its name, its title, or the sections of a decision.

    One of `TYPES`; empty where nothing says it.
    """
    name = path.rpartition("/")[2]
    lines = lines_of(text)
    front = read_front(path, lines)[0] if lines and lines[0].rstrip() == "---" else None
    told = str(front.raw.get("id") or front.raw.get("feature_id") or "") if front else ""
    body = lines[front.end + 1 :] if front else lines
    if _ADR_ID.fullmatch(told) or (name.lower().startswith("adr") and _ADR_NAME.fullmatch(name)):
        return "adr"
    if feature_ids(told) or feature_ids(name.rpartition(".")[0]):
        return "feature-spec"
    headings = {section.heading.strip().lower() for section in sections(body)[1:]}
    if headings >= {"status", "context", "decision"} or headings >= {"context", "decision", "consequences"}:
        return "adr"
    if feature_ids(title_of(body)):
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
