"""Manifest, Layer, Contract: who may depend on whom; Violation, Breach: the imports that break it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kl_hooks.model.canonical import digest


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a contract, as import-linter takes it."""

    key: str
    value: str | tuple[str, ...]
    """Booleans are `True` and `False`."""
    line: int


@dataclass(frozen=True, slots=True)
class Contract:
    """A contract of one of import-linter's built-in types."""

    name: str
    type: str
    """`forbidden`, `layers`, `independence`, `protected` or `acyclic_siblings`."""
    options: tuple[Option, ...]
    line: int
    """Line of its name in the manifest."""
    decision: str = ""
    root_packages: tuple[str, ...] = ()
    """The packages whose imports count; empty: those of the repository."""
    include_external_packages: bool = False
    exclude_type_checking_imports: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One module imports another."""

    importer: str
    imported: str
    path: str
    """File of the importer; empty where it is not known."""
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Breach:
    """One way in which a contract is broken."""

    contract: str
    type: str
    importer: str
    """The module or package that depends on what it must not; empty where the contract is not about a dependency."""
    imported: str
    chain: tuple[Step, ...]
    """The shortest chain of imports; one step for a direct import."""
    also: tuple[Step, ...]
    """Other first and last steps of the same chain."""
    rule: str
    """`.kl/architecture.yaml:14`."""
    decision: str = ""
    message: str = ""
    """What is wrong where no import is (a module that an exhaustive contract does not list)."""
    guidance: str = ""
    """The advice of the contract to those who break it."""

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits over the contract and the modules on the way; no line number in it."""
        # without lines, which move with every edit above them
        way = [[step.importer, step.imported] for step in self.chain]
        return digest("breach/1", [self.contract, self.importer, self.imported, way, self.message])[:16]


MANIFEST: Final = ".kl/architecture.yaml"
"""Its path from the top of the repository."""
BASELINE: Final = ".kl/baseline.json"
"""The violations that are accepted for now."""


@dataclass(frozen=True, slots=True)
class Layer:
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
    """Dotted names that belong to the layer wherever they are defined, packages from outside included."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """An import that is allowed although the rule forbids it."""

    source: str
    """A module or layer."""
    target: str
    until: str = ""
    """Last day it applies, `YYYY-MM-DD`; empty: no end."""
    decision: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Manifest:
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
    """`ignore` or `forbid`: whether a layer may reach a forbidden one through a chain of allowed imports."""
    language: str = ""
    """As written in the manifest; empty where it names none."""
    language_line: int = 0
    unassigned_imports: str = "follow"
    """`follow` or `ignore`: whether an import counts for what it reaches through files in no layer."""
    runtime_imports: str = "report"
    """`report`, `forbid` or `ignore`: what an import is that only recorded test runs show."""


@dataclass(frozen=True, slots=True)
class Violation:
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

    @property
    def id(self) -> str:
        """`0fb0e36cee763a0f#1`: unique in one check, stable while lines move."""
        return f"{self.fingerprint}#{self.number}"

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits over who imports what across which layers; no line number in it."""
        return fingerprint(self.source_layer, self.target_layer, self.importer, self.imported)


def fingerprint(source_layer: str, target_layer: str, importer: str, imported: str) -> str:
    """That of a violation with these layers and modules."""
    # without line and file: the baseline must survive lines that move and a module that becomes a package
    return digest("violation/1", [source_layer, target_layer, importer, imported])[:16]
