"""A recorded run compared with another content: what every rule asks, computed once."""

from __future__ import annotations

from kl_hooks.evidence.executed import NOTHING_BEHIND, Executed, test_path
from kl_hooks.evidence.reads import Read
from kl_hooks.proof.bare_names import BareNames
from kl_hooks.proof.executed_names import ExecutedNames
from kl_hooks.proof.facts import Difference
from kl_hooks.proof.run_files import RunFiles
from kl_hooks.proof.run_imports import RunImports, conftests_above
from kl_hooks.proof.touch import TestFacts
from kl_hooks.proof.uses import Uses


class Comparison:
    """The Python files that differ between the content of a run and another one, and the run."""

    def __init__(self, executed: Executed, difference: Difference) -> None:
        self.executed, self.difference = executed, difference
        self.files = RunFiles(executed, difference)
        self.imports = RunImports(self.files)
        self.uses = Uses(self.files, self.imports)
        self.names = ExecutedNames(self.files)
        self.bare_names = BareNames(self.files, self.imports)
        self.symbols = self.files.symbols
        self.changes = self.files.changes
        """Path → how a Python file differs."""
        self.data_changes = self.files.data_changes
        """The same of files that are no source."""
        self.changed = self.files.changed
        """Index of an executed symbol that differs → in words what became of it."""

    def test(self, nodeid: str) -> TestFacts:
        """What a test of the run needs."""
        path = test_path(nodeid)
        tests = self.executed.tests
        recorded = path in tests.files and nodeid in tests.files[path].masks
        own = frozenset(tests.indexes(nodeid) if recorded else ())
        if recorded:
            behind = self.executed.behind(own)
        else:
            behind = NOTHING_BEHIND
        starts = {*map(self.symbols.paths.__getitem__, own), path, *conftests_above(path)}
        all_reads = self.executed.reads
        if all_reads:
            reads = all_reads.tests.get(nodeid, frozenset())
        else:
            reads = frozenset[Read]()
        return TestFacts(nodeid, path, recorded, own, behind, frozenset(starts), reads)
