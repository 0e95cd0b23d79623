"""Manifest, Layer, Violation: who may depend on whom, and an import that breaks it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kl_hooks.model.canonical import digest
from kl_hooks.model.definitions import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

    from kl_hooks.model.contract import Contract

MANIFEST: Final = ".kl/architecture.yaml"
"""Its path from the top of the repository."""
BASELINE: Final = ".kl/baseline.json"
"""The violations that are accepted for now."""


class Layer(NamedTuple):
    """A named part of the code, by the paths it owns."""

    name: str
    paths: tuple[str, ...]
    """Folders (ending in `/`) or files, from the repository's root; the longest match wins."""
    may_depend_on: tuple[str, ...]
    """Names of layers; `below` has been resolved to names. A layer may always depend on itself."""
    line: int
    """Line of its `may_depend_on` in the manifest (of its name where that key is missing)."""
    decision: str = ""
    """The record behind the rule, such as `ADR-0004`."""
    namespaces: tuple[str, ...] = ()
    """Dotted names that belong to the layer wherever they are defined, packages from outside
    included.
    """


class Allowance(NamedTuple):
    """An import that is allowed although the rule forbids it."""

    source: str
    """A module or layer."""
    target: str
    until: str = ""
    """Last day it applies, `YYYY-MM-DD`; empty: no end."""
    decision: str = ""
    line: int = 0


class Manifest(NamedTuple):
    """`.kl/architecture.yaml`, read and checked."""

    path: str
    layers: tuple[Layer, ...]
    type_checking_imports: str = "ignore"
    """`ignore` or `enforce`."""
    exhaustive: bool = False
    exceptions: tuple[Allowance, ...] = ()
    contracts: tuple[Contract, ...] = ()
    """Contracts of import-linter, run by import-linter itself."""
    indirect: str = "ignore"
    """`ignore` or `forbid`: whether a layer may reach a forbidden one through a chain of allowed
    imports.
    """
    language: str = ""
    """As written in the manifest; empty where it names none."""
    language_line: int = 0
    unassigned_imports: str = "follow"
    """`follow` or `ignore`: whether an import counts for what it reaches through files in no layer.
    """
    runtime_imports: str = "report"
    """`report`, `forbid` or `ignore`: what an import is that only recorded test runs show."""


class Violation(NamedTuple):
    """An import that the manifest forbids."""

    path: str
    line: int
    importer: str
    """Dotted name of the module that imports."""
    imported: str
    source_layer: str
    target_layer: str
    statement: str
    """The import as written in the source, one line."""
    method: str
    """`import`, `lazy import`, `type-checking import` …"""
    rule: str
    """`.kl/architecture.yaml:9`."""
    decision: str = ""
    suggested_fix: str = ""
    allowed: tuple[str, ...] = ()
    """The layers that the source layer may depend on."""
    number: int = 1
    """Position among the violations with the same fingerprint, from 1 in the order of lines."""
    via: tuple[str, ...] = ()
    """The import statements after the first one, as `path:line`, where the import leads through
    other files.
    """

    @property
    def id(self) -> str:
        """`0fb0e36cee763a0f#1`: unique in one check, stable while lines move."""
        return f"{self.fingerprint}#{self.number}"

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits over who imports what across which layers; no line number in it."""
        return fingerprint(self.source_layer, self.target_layer, self.importer, self.imported)


def plain_terms(part: Any, omitted: Collection[str]) -> Any:
    """Return a manifest or a part of it as maps and lists, without the fields of these names."""
    if isinstance(part, tuple) and hasattr(part, "_asdict"):
        return {
            name: plain_terms(value, omitted)
            for name, value in part._asdict().items()
            if name not in omitted
        }
    if isinstance(part, tuple):
        return [plain_terms(value, omitted) for value in part]
    return part


def fingerprint(source_layer: str, target_layer: str, importer: str, imported: str) -> str:
    """That of a violation with these layers and modules."""
    # without line and file: the baseline must survive lines that move and a module that becomes a
    # package
    return digest("violation/1", [source_layer, target_layer, importer, imported])[:16]
