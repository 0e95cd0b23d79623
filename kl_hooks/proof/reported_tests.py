"""The tests that the runs of one environment reported together."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kl_hooks.evidence.ledger import COUNTED_LIMITS
from kl_hooks.model.receipt import Receipt
from kl_hooks.proof.configured_selection import OMITTED_FILES


@dataclass
class Reported:
    """What the runs of one environment reported together, by names without parameters."""

    root: str
    tests: dict[str, set[str]] = field(default_factory=dict)
    """File → names such as `TestA::test_b`."""
    skipped: set[str] = field(default_factory=set)
    """Files and folders that were skipped as a whole."""
    whole: set[str] = field(default_factory=set)
    """Files that were run as a whole."""
    everything: bool = False
    """True where one run was limited by nothing, or the runs together reported everything."""
    ids: set[str] = field(default_factory=set)
    """Node IDs."""
    omitted: set[str] = field(default_factory=set)
    """Files of which the configuration itself deselects tests."""
    omits_anywhere: bool = False
    """Whether these are too many to be named."""
    unchanged: list[Callable[[str, Sequence[str]], bool]] = field(default_factory=list)
    """Of each run of other content: whether it asked a file for its tests that has the same ones
    now, given the names of which that is not certain."""
    collected_all: bool = False
    """Whether a run has collected all files, and so imported them."""
    asked: list[str] = field(default_factory=list)
    """The files and folders that the other runs were asked for."""
    unchanged_imports: list[Callable[[str], bool]] = field(default_factory=list)
    """Of each run of other content: whether it imported a file that executes the same now."""
    unchanged_doctests: list[Callable[[str, Collection[str]], bool]] = field(default_factory=list)
    """Of each of these runs: whether it asked a module for its doctests that has the same examples
    now, given the names of definitions."""
    _collected: list[tuple[int, str]] = field(default_factory=list)
    """Of each limited run: how many tests it collected, and the digest of their names (empty: an
    older kl's).
    """

    def add(self, receipt: Receipt, limits: Mapping[str, Any]) -> None:
        """Adds a good run. `limits`: the selection options that left tests out of it; empty for
        none.
        """
        if OMITTED_FILES in receipt.selection:
            files = receipt.selection[OMITTED_FILES]
            if isinstance(files, list | tuple):
                self.omitted |= {self._path(receipt, str(path)) for path in files}
            else:
                self.omits_anywhere = True
        part = receipt.environment.get("rootdir") not in (None, "")
        reported_files: set[str] = set()
        for evidence in receipt.evidence:
            if evidence.kind != "TestResult":
                continue
            path, _, name = evidence.subject.removeprefix("test:").partition("::")
            path = self._path(receipt, path)
            self.ids.add(f"{path}::{name}")
            if name:
                self.tests.setdefault(path, set()).add(name.partition("[")[0])
                reported_files.add(path)
            elif evidence.outcome == "skipped":
                self.skipped.add(path.removesuffix("/__init__.py"))
        self.collected_all |= limits.keys() <= COUNTED_LIMITS and not part
        if limits.keys() <= COUNTED_LIMITS | {"left_out"}:
            self.asked += map(str, receipt.selection.get("args") or ())
        if not limits and not part:
            self.everything = True
        # an argument with `::` asks for tests, not files: then no file of that run is known to be
        # whole
        elif limits.keys() <= {"left_out"} and "::" not in str(receipt.selection.get("args")):
            self.whole |= reported_files
        elif (
            limits.keys() <= COUNTED_LIMITS
            and not part
            and isinstance(receipt.selection.get("collected"), int)
        ):
            digest = str(receipt.selection.get("collected_names") or "")
            self._collected.append((receipt.selection["collected"], digest))
            files = receipt.selection.get("deselected_files")
            # what disappeared without a word ("dropped") may have been of any file
            if (
                isinstance(files, list | tuple)
                and "dropped" not in limits
                and "::" not in str(receipt.selection.get("args"))
            ):
                self.whole |= reported_files - {self._path(receipt, str(one)) for one in files}

    def close(self) -> Reported:
        """Call it when all runs are in: what one omitted may have been reported by the others, test
        by test.
        """
        # runs that collected other names can't be added up: a parameter may hold a clock
        if len(set(self._collected)) == 1 and len(self.ids) >= self._collected[0][0]:
            self.everything = True
        return self

    def _path(self, receipt: Receipt, path: str) -> str:
        """The path from the repository's root, also where pytest's root is above it or the path
        leads upwards.
        """
        # the receipt has pytest's rootdir only where it is not the repository's; absolute, if it is
        # above or elsewhere
        rootdir = str(receipt.environment.get("rootdir") or "")
        if rootdir.startswith("/"):
            path = os.path.relpath(posixpath.join(rootdir, path), self.root)
        if ".." in path or path.startswith("./"):
            return posixpath.normpath(path)
        return path

    def has(self, path: str, name: str) -> bool:
        """Whether this test, or the class that it is in, was reported."""
        reported_names = self.tests.get(path, ())
        parts = name.split("::")
        return any("::".join(parts[:depth]) in reported_names for depth in range(1, len(parts) + 1))

    def omits(self, path: str) -> bool:
        """Whether the configuration may deselect what of this file was not reported."""
        return self.omits_anywhere or path in self.omitted

    def skips(self, path: str) -> bool:
        """Whether the file, or a folder that it is in, was skipped as a whole."""
        parts = path.split("/")
        return any("/".join(parts[:depth]) in self.skipped for depth in range(1, len(parts) + 1))

    def imported(self, path: str) -> bool:
        """Whether a run has imported the file, as pytest does to collect it. Where all of them ran on
        this content, in parts, nothing is asked of what has no test.
        """
        return (
            not self.unchanged_imports
            or any(imported(path) for imported in self.unchanged_imports)
            or self.has_collected(path)
        )

    def has_collected(self, path: str) -> bool:
        """Whether a run on this content was asked for all files, or for the file."""
        return self.collected_all or any(
            f"{path}/".startswith(f"{asked.rstrip('/')}/") for asked in self.asked
        )

    def complete(self, path: str, doubtful: Sequence[str] = ()) -> bool:
        """Whether a run has asked the whole file for its tests. `doubtful`: names that may be
        tests, and unreported.
        """
        return (
            self.everything
            or path in self.whole
            or any(asked(path, doubtful) for asked in self.unchanged)
        )

    def complete_doctests(self, path: str, names: Collection[str]) -> bool:
        """Whether a run has asked a module for all its doctests, when these definitions had the
        docstrings of now.
        """
        return self.complete(path, [path]) or any(
            asked(path, names) for asked in self.unchanged_doctests
        )
