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

WORKER_KEY: Final = "kl-settled"
"""In an xdist worker's input: the tests that need not run. The workers must agree, so the
controller alone looks.
"""


IMPACTED: Final = "kl-impacted-tests"
"""The name that `Selection` is registered by."""


class Selection:
    """Registered where `--kl-impacted` is given."""

    def __init__(self, config: pytest.Config, folder: Path, asked: str) -> None:
        self._config, self._folder, self._asked = config, folder, asked
        self._settled: frozenset[str] | None = None
        """Those that are deselected."""
        self._sample: frozenset[str] = frozenset()
        """Tests with a valid result that run all the same."""
        self._deselected, self._nothing_left = 0, False
        self._prefix = ""
        self._excluded: tuple[str, ...] | None = None

    def _find(self) -> frozenset[str]:
        """The lasting node IDs, from the repository's root, of tests that need not run."""
        if self._settled is None:
            settled_by_controller = getattr(self._config, "workerinput", {}).get(WORKER_KEY)
            self._settled = (
                frozenset(settled_by_controller)
                if settled_by_controller is not None
                else self._read()
            )
        return self._settled

    def _read(self) -> frozenset[str]:
        from kl_hooks.errors import KlError
        from kl_hooks.evidence.snapshot import snapshot
        from kl_hooks.proof.audit import settled_with_sample
        from kl_hooks.proof.impact import content_of, settled_tests
        from kl_hooks.workspace import open_workspace

        try:
            ws = open_workspace(self._folder)
            before = content_of(ws, changed=self._asked).before if self._asked else ""
            with snapshot(ws) as stored:
                if before or not self._audits():
                    return settled_tests(ws, stored, before)
                selected = settled_with_sample(ws, stored)
                self._sample = selected.sample
                return selected.settled - selected.sample
        except KlError as problem:
            raise pytest.UsageError(f"--kl-impacted: {problem}") from problem

    def _audits(self) -> bool:
        """Whether a sample runs: what an agent starts is to be quick."""
        from kl_hooks.model.actors import agent

        mode = self._config.getoption("kl_audit", None) or self._config.getini("kl_audit")
        return mode != "off" and agent(os.environ) is None

    def _globs(self) -> tuple[str, ...]:
        """Globs of the files that are no tests for the gate (`verify: exclude:`)."""
        if self._excluded is None:
            from kl_hooks.errors import KlError
            from kl_hooks.workspace import open_workspace

            try:
                self._excluded = open_workspace(self._folder).settings.verify_exclude
            except KlError as problem:
                raise pytest.UsageError(f"--kl-impacted: {problem}") from problem
        return self._excluded

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """What the gate does not expect is not run for it; an argument that names the file is
        asked for it by pytest itself.
        """
        from kl_hooks.git.files import path_matches

        path = collection_path.resolve()
        if not self._globs() or not path.is_relative_to(self._folder):
            return None
        name = path.relative_to(self._folder).as_posix()
        return True if any(path_matches(name, glob) for glob in self._globs()) else None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """An xdist worker is going to be started."""
        node.workerinput[WORKER_KEY] = sorted(self._find())

    # last: what another plugin takes out is not ours to count, and what it adds must be seen
    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Deselects the tests that need not run, and reports it to pytest."""
        # recorded names are redacted, and of a name with an address all but that counts
        from kl_hooks.evidence.shared_names import lasting_name
        from pytest_kl.listener import clean_id

        settled, root = self._find(), config.rootpath.resolve()
        if root != self._folder and root.is_relative_to(self._folder):
            self._prefix = f"{root.relative_to(self._folder).as_posix()}/"
        out = [
            item
            for item in items
            if lasting_name(clean_id(f"{self._prefix}{item.nodeid}")) in settled
        ]
        if out:
            settled_items = set(out)
            items[:] = [item for item in items if item not in settled_items]
            config.hook.pytest_deselected(items=out)
        self._deselected, self._nothing_left = len(out), bool(out) and not items

    @property
    def nothing_had_to_run(self) -> int:
        """The number of valid results where all tests have one; else 0."""
        return self._deselected if self._nothing_left else 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """That nothing had to run is what was hoped for, and no failure (pytest's status 5)."""
        if self._nothing_left and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> list[str]:
        """One line after the collection, and one of the sample."""
        from kl_hooks.model.text import counted

        lines = [
            f"kl: {counted(self._deselected, 'test')} deselected, whose results are valid for this"
            " content: kl proof impacted"
        ]
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
        from kl_hooks.evidence.shared_names import lasting_name
        from pytest_kl.listener import clean_id

        failed = dict.fromkeys(
            report.nodeid
            for outcome in ("failed", "error")
            for report in terminalreporter.stats.get(outcome, ())
            if lasting_name(clean_id(f"{self._prefix}{report.nodeid}")) in self._sample
        )
        for nodeid in failed:
            terminalreporter.write_line(
                f"kl: {nodeid} failed, and its earlier result was valid. Run it alone, then with its"
                f" file: pytest {shlex.quote(nodeid)}; pytest {nodeid.partition('::')[0]}; then: kl"
                " proof audit"
            )
