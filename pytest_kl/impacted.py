"""`--kl-impacted`: only the tests run without a valid result for this content; the others are
deselected.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from kl_hooks.errors import KlError
from kl_hooks.evidence.shared_names import lasting_name
from kl_hooks.git.files import path_matches
from kl_hooks.model.actors import agent
from kl_hooks.model.text import counted
from kl_hooks.proof.impacted import Skipped, Unrecorded, skipped_tests
from kl_hooks.workspace import open_workspace
from pytest_kl.listener import clean_id
from pytest_kl.outcome import short
from pytest_kl.own_imports import own_imports

WORKER_KEY: Final = "kl-settled"
"""In an xdist worker's input: the tests that don't run. The workers must agree, so the
controller alone looks.
"""


class Selection:
    """Registered where `--kl-impacted` is given."""

    def __init__(self, config: pytest.Config, folder: Path, asked: str) -> None:
        self._config = config
        self._folder = folder
        self._asked = asked
        self._skipped: Skipped | None = None
        """Those that are deselected."""
        self._sample: frozenset[str] = frozenset()
        """Tests with a valid result that run all the same."""
        self._deselected, self._nothing_left = 0, False
        self._unrecorded = 0
        """How many of the deselected no run recorded."""
        self._prefix = ""
        self._excluded: tuple[str, ...] | None = None
        self._trouble = ""
        """Why nothing is deselected though something might be."""

    def _find(self) -> Skipped:
        """The tests that don't run, by their names from the repository's root."""
        if self._skipped is None:
            of_controller = getattr(self._config, "workerinput", {}).get(WORKER_KEY)
            if of_controller is None:
                try:
                    with own_imports():
                        self._skipped = self._read()
                except pytest.UsageError:
                    raise
                except Exception as problem:  # a mistake of ours costs no run
                    self._trouble = short(
                        f"{type(problem).__name__}: {problem}", f"{self._folder}{os.sep}"
                    )
                    self._skipped = Skipped(frozenset())
            else:
                self._skipped = Skipped.from_lists(of_controller)
        return self._skipped

    def _read(self) -> Skipped:
        from kl_hooks.evidence.snapshot import snapshot
        from kl_hooks.proof.audit import settled_with_sample
        from kl_hooks.proof.impact import content_of

        unrecorded = Unrecorded(self._config.getoption("kl_unrecorded", "all"))
        try:
            ws = open_workspace(self._folder)
            if self._asked:
                before = content_of(ws, changed=self._asked).before
            else:
                before = ""
            with snapshot(ws) as stored:
                if before or unrecorded is not Unrecorded.ALL or not self._audits():
                    return skipped_tests(ws, stored, before, unrecorded)
                selected = settled_with_sample(ws, stored)
                self._sample = selected.sample
                return Skipped(selected.settled - selected.sample)
        except KlError as problem:
            raise pytest.UsageError(f"--kl-impacted: {problem}") from problem

    def _audits(self) -> bool:
        """Whether a sample runs: what an agent starts is to be quick."""
        mode = self._config.getoption("kl_audit", None) or self._config.getini("kl_audit")
        return mode != "off" and agent(os.environ) is None

    def _globs(self) -> tuple[str, ...]:
        """Globs of the files that are no tests for the gate (`verify: exclude:`)."""
        if self._excluded is None:
            try:
                with own_imports():
                    self._excluded = open_workspace(self._folder).settings.verify_exclude
            except KlError as problem:
                raise pytest.UsageError(f"--kl-impacted: {problem}") from problem
        return self._excluded

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """What the gate does not expect is not run for it; an argument that names the file is
        asked for it by pytest itself.
        """
        path = collection_path.resolve()
        if not self._globs() or not path.is_relative_to(self._folder):
            return None
        name = path.relative_to(self._folder).as_posix()
        if any(path_matches(name, glob) for glob in self._globs()):
            return True
        return None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """An xdist worker is going to be started."""
        node.workerinput[WORKER_KEY] = self._find().to_lists()

    # last: what another plugin takes out is not ours to count, and what it adds must be seen
    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Deselects the tests that need not run, and reports it to pytest."""
        # recorded names are redacted, and of a name with an address all but that counts
        skipped = self._find()
        root = config.rootpath.resolve()
        if root != self._folder and root.is_relative_to(self._folder):
            self._prefix = f"{root.relative_to(self._folder).as_posix()}/"
        names = {item: lasting_name(clean_id(f"{self._prefix}{item.nodeid}")) for item in items}
        unrecorded = {item for item, name in names.items() if skipped.lacks_record(name)}
        out = [item for item in items if item in unrecorded or names[item] in skipped.settled]
        if out:
            skipped_items = set(out)
            items[:] = [item for item in items if item not in skipped_items]
            config.hook.pytest_deselected(items=out)
        self._deselected, self._unrecorded = len(out), len(unrecorded)
        self._nothing_left = bool(out) and not items and not unrecorded

    @property
    def nothing_had_to_run(self) -> int:
        """The number of valid results where all tests have one; else 0."""
        if self._nothing_left:
            return self._deselected
        return 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """That nothing had to run is what was hoped for, and no failure (pytest's status 5)."""
        if self._nothing_left and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> list[str]:
        """One line after the collection, and one of the sample."""
        if self._trouble:
            return [f"kl: no test is deselected ({self._trouble})"]
        valid = self._deselected - self._unrecorded
        lines = [
            f"kl: {counted(valid, 'test')} deselected, whose results are valid for this"
            " content: kl proof impacted"
        ]
        if self._unrecorded:
            lines.append(
                f"kl: {counted(self._unrecorded, 'test')} deselected that no run recorded, so"
                " nothing is known of them (--kl-unrecorded)"
            )
        if self._sample:
            lines.append(
                f"kl: {counted(len(self._sample), 'test')} with a valid result run as a sample"
                " (--kl-audit=off): kl proof audit"
            )
        return lines

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """A test of the sample that failed: what to run before it counts."""
        if not self._sample:
            return
        failed = dict.fromkeys(
            report.nodeid
            for outcome in ("failed", "error")
            for report in terminalreporter.stats.get(outcome, ())
            if lasting_name(clean_id(f"{self._prefix}{report.nodeid}")) in self._sample
        )
        for nodeid in failed:
            terminalreporter.write_line(
                f"kl: {nodeid} failed, and its earlier result was valid. Run it alone, then "
                f"with its file: pytest {shlex.quote(nodeid)}; pytest "
                f"{nodeid.partition('::')[0]}; then: kl"
                " proof audit"
            )
