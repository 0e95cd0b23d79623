"""Gathers the seeds of a scope: of the project at hand from its documents, of the system from `templates/seed/`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kl_hooks.config.files import read_small
from kl_hooks.config.problems import Problems
from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.seeds.documents import NAMES, document_seeds
from kl_hooks.kinds.seeds.pyproject import NAME, name_of, pyproject_seeds, read_pyproject
from kl_hooks.model.kind import Kind
from kl_hooks.records.document import read
from kl_hooks.records.interview.question import SYSTEM
from kl_hooks.records.seed.seed import Seed, project_id
from kl_hooks.shipped import shipped

SCOPES: Final = ("project", "system")
MOST_BYTES: Final = 1024 * 1024


def project_seeds(root: Path) -> tuple[list[Seed], list[str]]:
    """(the seeds in the documents of the project at `root`, why a document could not be read). Of sections that two
    documents share (CLAUDE.md is often a copy of AGENTS.md) the first counts."""
    remarks: list[str] = []
    texts = {name: text for name in project_paths() if (text := _text(root, name, remarks)) is not None}
    told = read_pyproject(texts.pop(NAME, ""))
    project = project_id(name_of(told) or root.name)
    found = [seed for name, text in texts.items() for seed in document_seeds(project, name, text)]
    found += pyproject_seeds(project, told)
    by_text: dict[str, Seed] = {}
    for seed in found:
        by_text.setdefault(seed.hash, seed)
    by_key: dict[str, Seed] = {}
    for seed in by_text.values():
        by_key.setdefault(seed.key, seed)
    return list(by_key.values()), remarks


def project_paths() -> tuple[str, ...]:
    """The documents that are looked at, those that are not there among them."""
    return (*NAMES, NAME)


def project_of(root: Path) -> str:
    """The `project_id` of the project at `root`: by its pyproject.toml, else by its folder."""
    told = read_pyproject(_text(root, NAME, []) or "")
    return project_id(name_of(told) or root.name)


def _text(root: Path, name: str, remarks: list[str]) -> str | None:
    try:
        data = read_small(root / name, within=root, most=MOST_BYTES)
    except UsageProblem as problem:
        remarks.append(str(problem))
        return None
    if data is not None and len(data) > MOST_BYTES:
        remarks.append(f"{name}: longer than {MOST_BYTES} bytes; left out.")
        return None
    return data.decode("utf-8-sig", "replace") if data is not None else None


def system_seeds(kinds: Mapping[str, Kind]) -> list[Seed]:
    """What kl brings for any project: roles, gates, modes, workflows, rules. Problems for a broken file of ours."""
    made = []
    for kind in kinds.values():
        folder = shipped(f"templates/seed/{kind.plural}")
        for path in sorted(folder.glob("*.md")) if folder.is_dir() else ():
            data = path.read_bytes()
            found = read(kind, f"templates/seed/{kind.plural}/{path.name}", data)
            if found.record is None:
                raise Problems(found.problems)
            values = {name: list(v) if isinstance(v, tuple) else v for name, v in found.record.values.items()}
            values |= {"source": SYSTEM, "authority": "auto"}
            values.pop("status", None)
            key = f"{kind.name}-{path.stem}"
            made.append(Seed(kind.name, key, values, f"templates/seed/{kind.plural}/{path.name}", data.decode()))
    return made
