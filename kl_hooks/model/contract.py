"""Contract, Step, Breach: a rule of import-linter in the manifest, and the chains of imports that
break it.
"""

from __future__ import annotations

from kl_hooks.model.canonical import digest
from kl_hooks.model.definitions import NamedTuple


class Option(NamedTuple):
    """One option of a contract, as import-linter takes it."""

    key: str
    value: str | tuple[str, ...]
    """Booleans are `True` and `False`."""
    line: int


class Contract(NamedTuple):
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


class Step(NamedTuple):
    """One module imports another."""

    importer: str
    imported: str
    path: str
    """File of the importer; empty where it is not known."""
    lines: tuple[int, ...]


class Breach(NamedTuple):
    """One way in which a contract is broken."""

    contract: str
    type: str
    importer: str
    """The module or package that depends on what it must not; empty where the contract is not about
    a dependency.
    """
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
        """16 hexadecimal digits over the contract and the modules on the way; no line number in
        it.
        """
        # without lines, which move with every edit above them
        way = [[step.importer, step.imported] for step in self.chain]
        return digest("breach/1", [self.contract, self.importer, self.imported, way, self.message])[
            :16
        ]
