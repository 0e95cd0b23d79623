"""One run from its start to its end: opens the record, listens, closes it. Never changes what
pytest does.

Any exception of ours takes recording out of the run, is reported in one line, and leaves outcomes
and exit status alone; only `--kl-strict` turns it into exit status 3.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.clock import iso
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.evidence.capture import (
    begin_capture,
    mark_missing_run,
    new_run_id,
    opening_record,
)
from kl_hooks.evidence.distributions import DISTRIBUTIONS
from kl_hooks.evidence.provenance import edits_since, worktree_state
from kl_hooks.git.worktree import WorktreeState
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import run_outcome
from kl_hooks.model.text import counted, one_line
from kl_hooks.store.files import write_atomic
from kl_hooks.store.redaction import redact, redact_value
from kl_hooks.store.spool import SpoolWriter, pending_spools, read_spool
from kl_hooks.workspace import Workspace, open_workspace
from pytest_kl import outcome
from pytest_kl.distributions import Environment
from pytest_kl.environment import environment_of, selection_of
from pytest_kl.failures import FailureReport
from pytest_kl.imported import NOT_COMPARED, Content, Observer, summarize
from pytest_kl.interference import CONTENT, IMPORTED, Tally, merge_tallies
from pytest_kl.listener import Journal, Listener
from pytest_kl.original import original_functions
from pytest_kl.outcome import IMPACTED, count_phrase, detail_of, short
from pytest_kl.own_imports import own_imports
from pytest_kl.tracer import TRACE, Tracer

WIDTH = 400

_SHORT = 8
"""Digits of a run's id that a person is shown."""

LARGEST_LOOKED_AT = 1_000_000
"""Bytes of an earlier spool file that a header line is worth reading."""
_MOST_CHANGES = 200
"""Files that differ from HEAD of which the last green run is noted."""
STRICT_EXIT = outcome.INTERNAL_ERROR
"""Exit status of a run under `--kl-strict` that passed and could not be recorded."""


class Recording(NamedTuple):
    """A record that has been opened."""

    run: str
    writer: SpoolWriter
    workspace: Workspace
    place: WorktreeState
    prefix: str
    """From the repository's root to pytest's, with a `/` at its end; empty where they are the same.
    """
    previous: str
    """The run before this one, if it has no end; empty where it has, or where none is waiting."""
    started: int
    """When it began, in nanoseconds since 1970 by the clock of files."""

    @property
    def elsewhere(self) -> str:
        """Where the record is written, if not to its usual place."""
        usual = self.writer.path.is_relative_to(self.workspace.state.spool)
        if usual:
            return ""
        return str(self.writer.path)

    @property
    def unread_settings(self) -> str:
        """What is wrong with the repository's settings, so that they are not used; empty where they
        are.
        """
        return next((str(one) for one in self.workspace.settings.unread), "")


class RecordingLost(OSError):
    """What was written of this run is not in its file any more."""


def open_recording(config: pytest.Config, folder: Path) -> Recording:
    """Open a record and write what is fixed before the run. Raises KlError or OSError where no
    place can be written.
    """
    # a copy: tests change os.environ while it is in use
    ws = open_workspace(folder, environ=dict(os.environ), lenient=True)
    run = new_run_id()
    started = ws.clock.now()
    place = worktree_state(ws.repo)
    # before the file of this run is made: it would be the newest
    previous = unfinished_run(ws.state.spool)
    environment = environment_of(config, ws.root)
    selection = selection_of(config, ws.repo, place.listing)
    record = opening_record(
        run,
        "pytest",
        "pytest",
        place,
        started,
        ws.environ,
        selection=selection,
        further_environment=environment,
    )
    writer = begin_capture(ws, run, record)
    rootpath = config.rootpath.resolve()
    below = rootpath != ws.root and rootpath.is_relative_to(ws.root)
    if below:
        prefix = f"{rootpath.relative_to(ws.root).as_posix()}/"
    else:
        prefix = ""
    return Recording(run, writer, ws, place, prefix, previous, time.time_ns())


def check_file(recording: Recording) -> None:
    """Raises `RecordingLost` where the file of this run was taken away or spoiled, by a test perhaps."""
    writer = recording.writer
    if what := writer.missing(recording.run):
        raise RecordingLost(f"the file of this run {what} while it ran: {writer.path}")


def end_record(
    recording: Recording,
    result: Mapping[str, Any],
    selection: Mapping[str, Any],
    environment: Mapping[str, Any],
    tests: int,
) -> dict[str, Any]:
    """The last record. Everything before it is durable when it returns; `RecordingLost` where that is not
    there any more.
    """
    # tree_end is of tracked files alone, so untracked ones need no second hashing
    after = worktree_state(recording.workspace.repo, untracked=False)
    recording.writer.sync()
    check_file(recording)
    return {
        "t": "end",
        "ended": iso(recording.workspace.clock.now()),
        "tree_end": after.tree,
        "moved": after.tree != recording.place.tree,
        "selection": dict(selection),
        "environment": dict(environment),
        "result": dict(result),
        "tests": tests,
        "evidence": 0,
    }


def write_end(recording: Recording, record: Mapping[str, Any]) -> None:
    """Writes the last record, synced: from here on the run counts as ended. `RecordingLost` where it is not
    there after that.
    """
    recording.writer.record(record)
    recording.writer.sync()
    check_file(recording)
    recording.writer.close()


def _green_note(ws: Workspace) -> Path:
    """Where the last green run of this worktree is noted, beside its other derived data."""
    return ws.state.graph.with_suffix(".green.json")


def _note_green_run(recording: Recording, result: Mapping[str, Any]) -> None:
    """Remember the content of a complete, passing run, so that the next one need not open the store
    for it.
    """
    place = recording.place
    if not result.get("complete") or result.get("verdict") != "passed" or not place.head:
        return
    note: dict[str, Any] = {
        "run": recording.run,
        "head": place.head,
        "branch": redact(place.branch or ""),
        "dirty": place.dirty,
        "tree": place.tree_all,
    }
    note |= {"changes": dict(place.differences) if len(place.differences) <= _MOST_CHANGES else {}}
    with suppress(
        Exception
    ):  # the run is recorded: that the next one has a line less is no failure of this one
        write_atomic(_green_note(recording.workspace), json.dumps(note).encode(), 0o600, sync=False)


def _edits_line(recording: Recording) -> str:
    """What was edited since the last green run, for pytest's header; empty where there is nothing
    to report.
    """
    try:
        green = json.loads(_green_note(recording.workspace).read_bytes())
        repo = recording.workspace.repo
        # what another branch has is no edit
        if (
            repo is None
            or not recording.place.head
            or green["branch"] != redact(recording.place.branch or "")
        ):
            return ""
        # the same content, committed meanwhile: git need not be asked
        if green["tree"] and green["tree"] == recording.place.tree_all:
            return ""
        edits = edits_since(repo, green, recording.place)
    except Exception:  # no such file, or none of ours: a line less, and no word about it
        return ""
    if edits:
        return f"kl: {edits}"
    return ""


def unfinished_run(spool: Path) -> str:
    """The ID of the newest run in the spool, if its process has ended without an end record; else
    empty.
    """
    waiting = pending_spools(spool)
    try:
        if not waiting or waiting[-1].stat().st_size > LARGEST_LOOKED_AT:
            return ""
        last = read_spool(waiting[-1])
    except OSError:  # somebody is taking it in at this moment
        return ""
    if last.busy or last.ended or not last.records or not isinstance(last.records[0], dict):
        return ""
    return str(last.records[0].get("run", ""))


class Recorder:
    """Registered for one run, with everything that belongs to it: nothing of ours is global."""

    def __init__(
        self,
        config: pytest.Config,
        folder: Path,
        at_exit: list[Callable[[], None]],
        supervised: Callable[[], bool],
        tracer: Tracer | None = None,
    ) -> None:
        self._config = config
        self._folder = folder
        self._at_exit = at_exit
        self._supervised = supervised
        self._pid = os.getpid()
        # bound now: a child that a test forked may run on into our hooks, and must not end this
        # record
        self._getpid = os.getpid
        self._program = is_program(config)
        self._recording: Recording | None = None
        self._journal: Journal | None = None
        self._listener: Listener | None = None
        self._tally = Tally()
        self._from_workers: dict[str, Any] = {}
        self._content: Content | None = None
        self._observer: Observer | None = None
        self._workers = 0
        self._reports: list[dict[str, Any]] = []
        self._tracer = tracer
        self._traces: list[dict[str, Any]] = []
        self._executed: dict[str, Any] = {}
        self._imported: dict[str, Any] = {}
        self._environment: Environment | None = None
        self._distributions: dict[str, Any] = {}
        self._import_reasons: list[str] = []
        self._compared = False
        self._status: Any = None
        self._raised: BaseException | None = None
        self._shown = ""
        self._session: pytest.Session | None = None
        self._selected: Sequence[str] | None = None
        self._interrupted = ""
        self._internal_error = False
        self._trouble = ""
        self._reported = False
        self._symbols_reported = False

    @property
    def _root(self) -> str:
        """The folder from which paths in texts are given, with a `/` at its end; empty before there
        is a record.
        """
        if self._recording:
            return f"{self._recording.workspace.root}/"
        return ""

    def _text(self, problem: BaseException) -> str:
        return short(f"{type(problem).__name__}: {problem}", self._root)

    # the beginning

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Opens the record: before the header is printed, before anything is collected."""
        self._session = session
        try:
            with own_imports():
                self._start()
        except Exception as problem:
            self._stop_recording(problem)
            if self._strict:
                self._reported = True
                # any other exception in this hook is an INTERNALERROR with a traceback of pytest
                raise pytest.exit.Exception(self._trouble, returncode=STRICT_EXIT) from problem

    def _start(self) -> None:
        recording = open_recording(self._config, self._folder)
        grouped = self._config.getoption("dist", None) == "loadgroup"
        journal = Journal(recording.writer, recording.prefix, grouped)
        self._recording, self._journal = recording, journal
        self._listener = Listener(journal, self._root, self._stop_recording)
        if recording.workspace.repo is not None and recording.place.tree:
            content = Content.of(recording.workspace.repo, recording.place.listing)
            self._content, self._observer = content, Observer(lambda: content)
            self._environment = _environment_of(content.top, recording)
        if self._tracer is not None:
            # now: a suite may replace what an import needs. Imported already but where kl is tested.
            import kl_hooks.proof.execution  # noqa: F401
        self._config.pluginmanager.register(self._listener, "kl-listener")
        self._config.pluginmanager.register(self._tally, "kl-tally")
        if not self._silent:
            if recording.place.dirty:
                branch = ""
            else:
                branch = recording.place.branch or ""
            report = FailureReport(recording.workspace, recording.run, branch, journal.name)
            self._config.pluginmanager.register(report, "kl-failures")

    @property
    def _strict(self) -> bool:
        return bool(self._config.getoption("kl_strict", False))

    @property
    def _silent(self) -> bool:
        return self._config.get_verbosity() <= -2

    def pytest_report_header(self) -> list[str]:
        """The line at the start, and what was edited since the last green run."""
        if self._recording is None or self._silent:
            return []
        line = header_line(
            self._recording.place, self._recording.previous, self._recording.elsewhere
        )
        return [line, *filter(None, [_edits_line(self._recording)])]

    # what is to be run

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """The tests of a run in this process, in their order."""
        try:
            self._selected = [item.nodeid for item in session.items]
            if self._journal is not None:
                self._journal.expect(self._selected)
        except Exception as problem:
            self._stop_recording(problem)

    # optionalhook: where xdist is not installed, pytest refuses hooks that it does not know
    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """The tests that an xdist worker found; all workers find the same."""
        if self._selected is None:
            self._selected = ids

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker has ended. One that did not crash has sent its numbers."""
        output = getattr(node, "workeroutput", None)
        output = output if isinstance(output, dict) else {}
        if isinstance(tally := output.get("kl"), dict) and tally:
            self._from_workers = merge_tallies(self._from_workers, tally)
        if isinstance(imported := output.get(IMPORTED), dict):
            self._reports.append(imported)
        if isinstance(trace := output.get(TRACE), dict):
            self._traces.append(trace)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """A worker is going to be started: it gets the paths of the content tree."""
        self._workers += 1
        if self._content is not None:
            try:
                node.workerinput[CONTENT] = self._content.packed()
            except Exception as problem:
                self._stop_recording(problem)

    # the end

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Ctrl-C, `pytest.exit()`, `--stepwise`, or an error while collecting."""
        self._interrupted = detail_of(excinfo.value, self._root)["message"] or excinfo.typename

    def pytest_internalerror(self) -> None:
        """pytest or a plugin failed."""
        self._internal_error = True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, None, None]:
        """Compares what was imported, while `sys.path` is still that of the tests. Notices when
        somebody else's hook fails here: pytest then ends without having come to its end.
        """
        if self._getpid() == self._pid:
            with original_functions():
                self._compare()
        try:
            return (yield)
        except pytest.exit.Exception:
            raise
        except BaseException:
            self._internal_error = True
            raise

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """At most three lines."""
        if self._getpid() == self._pid:
            with original_functions(), own_imports():
                self._summarize(terminalreporter)

    def _summarize(self, terminalreporter: Any) -> None:
        if self._recording is not None and not self._trouble:
            try:
                check_file(self._recording)
            except Exception as problem:
                self._stop_recording(problem)
        if self._trouble:
            self._report_trouble(terminalreporter)
        elif self._recording is not None and not self._silent:
            try:
                recording = self._recording
                result = outcome.run_result(self._ending())
                self._shown = result["verdict"]
                impacted = terminalreporter.config.pluginmanager.get_plugin(IMPACTED)
                if impacted is not None:
                    valid = impacted.nothing_had_to_run
                else:
                    valid = 0
                for line in (
                    [nothing_to_run_line(valid)]
                    if valid and result["how"] == "no-tests"
                    else closing_lines(recording.run, result, recording.elsewhere)
                ):
                    terminalreporter.write_line(line)
                if recording.unread_settings:
                    terminalreporter.write_line(settings_line(recording.unread_settings))
                own = [self._tracer.trouble] if self._tracer is not None else []
                others = (one.get("trouble", "") for one in (self._executed, *self._traces))
                if trouble := next(filter(None, (*own, *others)), ""):
                    terminalreporter.write_line(symbols_line(trouble))
                    self._symbols_reported = True
            except Exception as problem:
                self._stop_recording(problem)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_unconfigure(self) -> Generator[None, None, None]:
        """Closes the record when everybody else is through, where nobody sees how pytest itself
        ends.
        """
        try:
            return (yield)
        finally:
            if self._session is not None and not self._supervised():
                self._session.exitstatus = self.close(self._session.exitstatus, None)

    def close(self, status: Any, problem: BaseException | None) -> Any:
        """Ends the record: pytest returns `status`, or raises `problem`. The status that it is to
        return.
        """
        if self._getpid() != self._pid:
            return status
        self._status, self._raised = status, problem
        with original_functions(), own_imports():
            if self._recording is not None and not self._trouble and self._journal is not None:
                try:
                    self._finish(self._recording, self._journal)
                except Exception as trouble:
                    self._stop_recording(trouble)
            self._stop_tracer()
        if self._trouble:
            self._report_trouble(None)
            if self._strict and status == outcome.OK:
                return STRICT_EXIT
        return status

    def _finish(self, recording: Recording, journal: Journal) -> None:
        """Writes the end; where pytest is the program, only when the process ends: until then it
        may still fail.
        """
        ending = self._ending()
        result = outcome.run_result(ending) | self._measured()
        self._record_executed(recording, journal)
        further_facts = {
            key: facts
            for key, facts in (
                ("imported", self._imported),
                ("executed", self._executed),
                (DISTRIBUTIONS, self._distributions),
            )
            if facts
        }
        tally = self._tally.plain() or self._from_workers
        numbers = {
            "collected": None,
            "deselected": None,
            **tally,
            "selected": ending.selected,
            "ran": ending.ran,
        }
        record = end_record(recording, result, numbers, further_facts, journal.lines)
        if (
            (trouble := self._executed.get("trouble"))
            and not self._symbols_reported
            and not self._silent
        ):
            self._print_late([symbols_line(trouble)])
        if self._program:
            self._at_exit.append(
                partial(self._finish_at_exit, recording, record, ending, uncaught_exception())
            )
        else:
            write_end(recording, record)
            _note_green_run(recording, result)
        if self._shown and self._shown != result["verdict"]:
            self._correct(recording, result)

    def _measured(self) -> dict[str, Any]:
        """The coverage that pytest-cov reported for this run, where it is on."""
        try:
            coverage = _coverage_total(self._config.pluginmanager.get_plugin("_cov"))
            coverage = redact_value(coverage)
        except Exception:  # another plugin's object: that it is odd is no failure of the recording
            return {}
        if coverage:
            return {"coverage": coverage}
        return {}

    def _finish_at_exit(
        self,
        recording: Recording,
        record: dict[str, Any],
        ending: outcome.Ending,
        before: BaseException | None,
    ) -> None:
        if self._getpid() == self._pid:
            with original_functions(), own_imports():
                self._write_at_exit(recording, record, ending, before)

    def _write_at_exit(
        self,
        recording: Recording,
        record: dict[str, Any],
        ending: outcome.Ending,
        before: BaseException | None,
    ) -> None:
        try:
            problem = uncaught_exception()
            # one that was printed before, or that pytest raised, is in the result already
            if problem is not None and problem is not before and problem is not self._raised:
                raised = ending._replace(exit=1, raised=self._text(problem))
                record["result"] = outcome.run_result(raised) | self._measured()
            write_end(recording, record)
            _note_green_run(recording, record["result"])
            if record["result"]["verdict"] != outcome.run_result(ending)["verdict"]:
                self._correct(recording, record["result"])
        except Exception as trouble:
            self._stop_recording(trouble)
            with suppress(OSError, ValueError):
                self._report_trouble(None)
            if self._strict and self._status == outcome.OK:
                with suppress(OSError, ValueError):
                    sys.stdout.flush()
                os._exit(STRICT_EXIT)  # at exit nothing else changes the status of a process

    def _correct(self, recording: Recording, result: dict[str, Any]) -> None:
        """Print that the verdict differs from the summary."""
        self._print_late(correction_lines(recording.run, result))

    @staticmethod
    def _print_late(lines: Sequence[str]) -> None:
        """Print after pytest's summary; a closed stderr must not cost the record."""
        with suppress(OSError, ValueError):
            # not sys.stderr, which a test may have replaced
            print(*lines, sep="\n", file=sys.__stderr__)

    def _compare(self) -> None:
        """What was imported, of this process or of the workers."""
        if self._recording is not None:
            repo = self._recording.workspace.repo
        else:
            repo = None
        if self._content is None or self._observer is None or repo is None or self._compared:
            return
        self._compared = True
        try:
            reports = self._reports if self._workers else [self._observer.report()]
            complete_reports = [one for one in reports if one is not None]
            self._imported, self._import_reasons = summarize(self._content, repo, complete_reports)
            if len(complete_reports) < max(self._workers, 1):
                self._import_reasons.append(NOT_COMPARED)
            else:
                self._record_distributions(complete_reports)
        except Exception:
            self._imported = {}
            self._import_reasons = [NOT_COMPARED]

    def _record_distributions(self, reports: Sequence[Mapping[str, Any]]) -> None:
        """What is installed, of this process or of the workers; a failure costs these facts alone:
        the run proves its own content, and nothing of others.
        """
        if self._environment is None or self._recording is None:
            return
        with suppress(Exception):
            rows = [
                (str(name), str(file)) for report in reports for name, file in report["outside"]
            ]
            cache = self._recording.workspace.state.graph.with_suffix(".installed.json")
            distributions = self._environment.record(rows, list(sys.path), cache)
            self._distributions = distributions.to_dict()

    def _stop_tracer(self) -> None:
        if self._tracer is not None:
            try:
                self._tracer.stop()
                self._traces.append(self._tracer.plain())
            except Exception as problem:
                self._tracer.fail(problem)
                # else there is nothing to record, and no line has the reason
                self._executed = {"trouble": self._text(problem)}
            self._tracer = None

    def _record_executed(self, recording: Recording, journal: Journal) -> None:
        """Write the executed symbols beside the record: a failure costs these alone, and is
        reported in one line.
        """
        # not before: what hooks execute at the end may decide about the exit status
        self._stop_tracer()
        if not self._traces or self._content is None or self._listener is None:
            return
        try:
            from kl_hooks.proof.execution import record_executed

            names = [journal.name(nodeid) for nodeid in self._listener.verdicts]
            folder = recording.writer.path.parent
            self._executed = record_executed(
                recording.workspace,
                folder,
                recording.run,
                self._traces,
                journal.name,
                names,
                self._environment.uses if self._environment else None,
                recording.started,
            )
        except (
            Exception
        ) as problem:  # among them what a suite raises that has replaced `open` or `sys.modules`
            self._executed = {"trouble": self._text(problem)}

    def _ending(self) -> outcome.Ending:
        assert self._listener is not None and self._journal is not None
        self._listener.settle()
        tests = self._listener.verdicts
        collectors = self._listener.collectors
        session = self._session
        if self._selected is None:
            wanted = None
        else:
            wanted = dict.fromkeys(self._selected)
        lost = [self._journal.name(nodeid) for nodeid in wanted or () if nodeid not in tests]
        if session is not None and lost:
            stopped = session.shouldfail or session.shouldstop
        else:
            stopped = ""
        if self._status is not None:
            status = self._status
        elif session is not None:
            status = session.exitstatus
        else:
            status = None
        # for a usage error pytest has an exit status of its own
        if isinstance(self._raised, pytest.UsageError):
            raised = None
        else:
            raised = self._raised
        if status is None:
            exit_status = None
        else:
            exit_status = int(status)
        if raised is not None:
            exit_status = exit_status_of(raised)
        return outcome.Ending(
            exit=exit_status,
            raised=self._text(raised) if raised is not None else "",
            imports=self._import_reasons
            if self._compared or self._observer is None
            else [NOT_COMPARED],
            verdicts=[*tests.values(), *collectors.values()],
            ran=len(tests),
            selected=None if wanted is None else len(wanted),
            lost=lost,
            collect_only=bool(self._config.getoption("collectonly", False)),
            interrupted=self._interrupted or (short(str(stopped), self._root) if stopped else ""),
            internal_error=self._internal_error,
            collection_errors=sum(verdict == "error" for verdict in collectors.values()),
        )

    # our own failures

    def _stop_recording(self, problem: Exception) -> None:
        """Takes recording out of this run. The record stays without an end, and so is never
        evidence of success.
        """
        if not self._trouble:
            started = self._recording is not None and not isinstance(problem, RecordingLost)
            reason = self._reason_of(problem)
            self._trouble = failure_line(reason, started=started)
            if isinstance(problem, OSError | EnvironmentProblem):
                self._mark_missing(reason)
        plugins = self._config.pluginmanager
        for name in ("kl-listener", "kl-tally", "kl-failures"):
            if plugins.has_plugin(name):
                plugins.unregister(name=name)

    def _reason_of(self, problem: Exception) -> str:
        """Why, in words; an error of the system with its cause."""
        if isinstance(problem, OSError) and problem.errno:
            with suppress(Exception):  # a suite may have replaced what is asked here
                from kl_hooks.store.disk import cause_of

                recording = self._recording
                if recording:
                    folder = recording.workspace.state.directory
                else:
                    folder = self._folder
                return cause_of(problem, Path(folder)).words
        return str(problem) or type(problem).__name__

    def _mark_missing(self, reason: str) -> None:
        """An earlier pass of this content does not count where a later run may have failed."""
        with suppress(Exception):
            recording = self._recording
            if recording:
                ws = recording.workspace
            else:
                ws = open_workspace(self._folder)
            if recording:
                run = recording.run
            else:
                run = new_run_id()
            if mark_missing_run(ws, run, reason) is None:
                self._trouble += "; kl verify does not know of this run"

    def _report_trouble(self, terminalreporter: Any) -> None:
        """Report our failure once; without pytest's terminal on stderr."""
        if self._reported:
            return
        self._reported = True
        if terminalreporter is None:
            print(self._trouble, file=sys.__stderr__)
        else:
            terminalreporter.write_line(self._trouble, yellow=True)


def _environment_of(top: str, recording: Recording) -> Environment | None:
    """What is installed as the run starts; None where that can't be read."""
    try:
        return Environment(top, list(sys.path), recording.workspace.clock.now() / 1_000_000)
    except Exception:  # a run without these facts proves its own content alone
        return None


def is_program(config: pytest.Config) -> bool:
    """Whether pytest is what this process was started for: it ends after the session. Not where a
    script, an IDE, a test or an interactive interpreter calls `pytest.main`.
    """
    file = Path(str(getattr(sys.modules.get("__main__"), "__file__", None) or ""))
    started = file.name in ("pytest", "py.test") or file.parts[-2:] == ("pytest", "__main__.py")
    same = tuple(map(str, config.invocation_params.args)) == tuple(sys.argv[1:])
    return started and same and not (sys.flags.interactive or os.environ.get("PYTHONINSPECT"))


def uncaught_exception() -> BaseException | None:
    """The exception that Python last printed a traceback of, or that a debugger was offered."""
    # last_exc is new in CPython 3.12, which deprecates last_value
    exception: BaseException | None = getattr(sys, "last_exc", None) or getattr(
        sys, "last_value", None
    )
    return exception


def exit_status_of(problem: BaseException) -> int:
    """The exit status with which Python ends for an exception that nobody catches."""
    # Python then dies of SIGINT (CPython 3.8), which shells report as 128 + 2
    if isinstance(problem, KeyboardInterrupt):
        return 130
    if isinstance(problem, SystemExit):
        code = problem.code
    else:
        code = 1
    if isinstance(code, int):
        return code
    if code is None:
        return 0
    return 1


def _coverage_total(plugin: Any) -> dict[str, Any]:
    """`{"hundredths", "least", "precision", "sources"}` as pytest-cov computed it at the end of a run;
    empty where it did not. A total of 87.534 % has 8753 hundredths: receipts have no fractions.

    `plugin`: the object that pytest-cov registers as `_cov`. Its `cov_total` is None until the
    report is made (pytest-cov 2.5 and newer).
    """
    total = getattr(plugin, "cov_total", None)
    if isinstance(total, bool) or not isinstance(total, int | float):
        return {}
    options = getattr(plugin, "options", None)
    precision = getattr(options, "cov_precision", None)
    sources = getattr(options, "cov_source", None)
    # pytest-cov takes that of coverage.py's configuration where no option asks for one
    least = getattr(options, "cov_fail_under", None)
    return {
        "hundredths": int(total * 100 + 1e-6),
        **({"least": f"{least:.10g}"} if isinstance(least, int | float) else {}),
        "precision": precision if isinstance(precision, int) else 0,
        # None or True: no source was named, and coverage.py's own configuration decides
        "sources": [
            str(source).encode("utf-8", "replace").decode()
            for source in (sources if isinstance(sources, list) else ())
        ],
    }


def header_line(place: WorktreeState, previous: str, elsewhere: str) -> str:
    """`kl: recording for tree 3f9a1c2 + uncommitted changes (2 files)`."""
    if place.tree:
        line = f"kl: recording for tree {place.tree[:7]}"
    else:
        line = "kl: recording, the tree is not known"
    if place.tree and place.dirty:
        line += f" + uncommitted changes ({counted(place.changed, 'file')})"
    if elsewhere:
        line += f", stored in {one_line(elsewhere, WIDTH)}"
    if previous:
        line += f"; the run before ({previous[:_SHORT]}) has no end and is no evidence of success"
    return line


def closing_lines(run: str, result: Mapping[str, Any], elsewhere: str = "") -> list[str]:
    """The result of the run, why it is no pass, and how to look at it: two or three lines.

    `elsewhere` as in the header, which a quiet pytest does not print.
    """
    counts = count_phrase(result["counts"]) or "no test was run"
    if elsewhere:
        place = f", stored in {one_line(elsewhere, WIDTH)}"
    else:
        place = ""
    lines = [f"kl: run {run[:_SHORT]}: {counts}; recorded as {run_outcome(result)}{place}"]
    if result["verdict"] == "inconclusive":
        lines.append(one_line(f"kl: no evidence of success: {'; '.join(result['reasons'])}", WIDTH))
    return [*lines, f"kl: kl evidence show {run[:_SHORT]}"]


def nothing_to_run_line(valid: int) -> str:
    """What `--kl-impacted` prints where no test had to run."""
    verb = "is" if valid == 1 else "are"
    return f"kl: nothing had to run: {counted(valid, 'earlier result')} {verb} valid"


def correction_lines(run: str, result: Mapping[str, Any]) -> list[str]:
    """What is printed where the verdict changed after pytest had printed its summary."""
    why = one_line("; ".join(result["reasons"]), WIDTH)
    return [f"kl: run {run[:_SHORT]}: now recorded as {run_outcome(result)}: {why}"]


def symbols_line(trouble: str) -> str:
    """One line where the run is recorded without the functions that its tests executed."""
    return one_line(f"kl: which functions each test executes is not recorded: {trouble}", WIDTH)


def settings_line(trouble: str) -> str:
    """One line where the run is recorded without the settings of the repository."""
    return one_line(f"kl: recorded without the settings of this repository: {trouble}", WIDTH)


def failure_line(reason: str, *, started: bool) -> str:
    """One line for our own failure: what it means, and why."""
    if started:
        what = "recording stopped, this run is stored as incomplete"
    else:
        what = "not recorded"
    return one_line(f"kl: {what} - {reason}", WIDTH)
