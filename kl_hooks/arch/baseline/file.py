"""`.kl/baseline.json`: the violations that were accepted, one on each line, without line numbers. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from kl_hooks.model.manifest import Violation, fingerprint

SCHEMA: Final = "kl.baseline/1"
KEYS: Final = ("from", "to", "importer", "imported", "count", "fingerprint")
"""Of an entry."""


@dataclass(frozen=True, slots=True, order=True)
class Accepted:
    """So many imports of one module by another, across two layers, that are accepted."""

    source_layer: str
    target_layer: str
    importer: str
    imported: str
    count: int = 1

    @property
    def fingerprint(self) -> str:
        """The same as that of the violations it accepts."""
        return fingerprint(self.source_layer, self.target_layer, self.importer, self.imported)

    def __str__(self) -> str:
        return f"{self.source_layer} -> {self.target_layer}: {self.importer} imports {self.imported}"


def accept(violations: Iterable[Violation]) -> tuple[Accepted, ...]:
    """The entries that accept exactly these violations, sorted."""
    keys = sorted((v.source_layer, v.target_layer, v.importer, v.imported) for v in violations)
    return tuple(Accepted(*key, count=len(list(same))) for key, same in groupby(keys))


def plain(one: Accepted) -> dict[str, Any]:
    """An entry as the file and `--format json` have it."""
    values = (one.source_layer, one.target_layer, one.importer, one.imported, one.count, one.fingerprint)
    return dict(zip(KEYS, values, strict=True))


def baseline_bytes(entries: Iterable[Accepted]) -> bytes:
    """The file: sorted, an entry on each line, ASCII; the same entries give the same bytes."""
    rows = [f"    {json.dumps(plain(one))}" for one in sorted(entries)]
    inside = "[\n" + ",\n".join(rows) + "\n  ]" if rows else "[]"
    return f'{{\n  "schema": "{SCHEMA}",\n  "violations": {inside}\n}}\n'.encode("ascii")
