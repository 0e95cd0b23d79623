"""Processes of the same interpreter that tests start: with `--kl-symbols-subprocess` each records
itself.

Such a process finds a `sitecustomize` in a temporary folder that the test process puts before its
`PYTHONPATH`; the user's own one runs next. It loads this file and the tracer by path, without
pytest and without the package, and writes what it executed when it ends. A process that left no
report, or did not end by itself, leaves its test incomplete.
"""

# A Path would look functions up in `os`, which a suite may have replaced.
# ruff: noqa: PTH104, PTH108, PTH110, PTH118, PTH119, PTH120, PTH123, PTH208

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from os.path import basename, dirname, exists, join, realpath
from types import CodeType

# as type checkers know it: the start of a child must not wait for typing, json, tempfile and shutil
# (20 ms)
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

_NUMBER: Final = "KL_SYMBOLS_OF"
"""Environment variable: the number of the context that starts processes."""
_START: Final = """\
import os
import sys
def _start():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [one for one in sys.path if os.path.abspath(one) != here]
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec, spec_from_file_location
    try:
        spec = spec_from_file_location("_kl_children", {code!r})
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        module.record_this_process(here, {top!r}, {version!r})
    except Exception:
        pass  # then it reports nothing, and its test is incomplete
    # the one that would have been found without ours
    own = PathFinder.find_spec("sitecustomize", sys.path)
    if own is None or own.loader is None:
        raise ImportError("no other sitecustomize", name="sitecustomize")
    module = module_from_spec(own)
    sys.modules["sitecustomize"] = module
    own.loader.exec_module(module)
_start()
"""


class Report:
    """What one process left."""

    def __init__(self, number: str, notes: Mapping[str, Any] | None) -> None:
        self.number = number
        self.known = notes
        """What it states at its end; None where it has not ended by itself."""


class Children:
    """The temporary folder of one test process, and what its children leave there."""

    def __init__(self, top: str) -> None:
        self._top = top
        self._environ = os.environ
        self._folder = ""
        self.reports: list[Report] = []
        """Read when the recording stops."""
        self._remove: Callable[[str], object] = str
        self._parsed: Callable[[str], Any] = str

    def start(self) -> None:
        """Let children of this process find our start-up."""
        from ast import literal_eval
        from functools import partial
        from shutil import rmtree
        from tempfile import mkdtemp

        self._remove, self._parsed = partial(rmtree, ignore_errors=True), literal_eval
        self._folder = mkdtemp(prefix="kl-symbols-")
        text = _START.format(code=realpath(__file__), top=self._top, version=sys.version)
        with open(join(self._folder, "sitecustomize.py"), "w", encoding="utf-8") as file:
            file.write(text)
        before = self._environ.get("PYTHONPATH")
        self._environ["PYTHONPATH"] = self._folder + (os.pathsep + before if before else "")

    def enter(self, number: int) -> None:
        """What is started from now on belongs to this context."""
        self._environ[_NUMBER] = str(number)

    def stop(self) -> None:
        """Take our variables out of the environment; what a test has put there instead stays. Read
        the reports.
        """
        self._environ.pop(_NUMBER, None)
        now = self._environ.get("PYTHONPATH", "")
        if now.startswith(self._folder):
            remaining = now[len(self._folder) :].removeprefix(os.pathsep)
            if remaining:
                self._environ["PYTHONPATH"] = remaining
            else:
                del self._environ["PYTHONPATH"]
        try:
            names = sorted(os.listdir(self._folder))
        except FileNotFoundError:  # a test removed it: those that started processes are incomplete
            names = []
        for name in names:
            number = name.partition("-")[0]
            kind = name.rpartition(".")[2]
            if kind == "started":
                self.reports.append(Report(number, None))
            elif kind == "ended":
                with open(join(self._folder, name), encoding="utf-8") as file:
                    self.reports.append(Report(number, self._parsed(file.read())))
        self._remove(self._folder)

    @staticmethod
    def arguments(event: Sequence[Any]) -> tuple[str, ...] | None:
        """The arguments of a start of this very interpreter (audit event `subprocess.Popen`); None
        for any other.
        """
        executable, argv = event[:2]
        path_types = (str, bytes, os.PathLike)
        if not isinstance(argv, list | tuple) or not all(
            isinstance(one, path_types) for one in (executable, *argv)
        ):
            return None
        if os.fsdecode(executable) == sys.executable:
            return tuple(map(os.fsdecode, argv[1:]))
        return None

    @staticmethod
    def why_incomplete(processes: Iterable[tuple[str, ...]], reports: Sequence[Report]) -> str:
        """Why not all is known that these processes, and those that they started, executed; empty
        where it is.
        """
        wanted = list(processes)
        ended = []
        for notes in (one.known for one in reports):
            if notes is None:
                return "a process that it started did not end by itself"
            if notes["why"] or (
                notes["child_ran"] and not notes["processes"] and len(reports) == 1
            ):
                return f"of a process that it started: {notes['why'] or 'a child process ran'}"
            wanted += map(tuple, notes["processes"])
            ended.append(tuple(notes["argv"]))
        for argv in wanted:
            if argv not in ended:
                return (
                    f"it started another process ({basename(sys.executable)[:40]}), which recorded"
                    " nothing"
                )
            ended.remove(argv)
        return ""


# in the child


def record_this_process(folder: str, top: str, version: str) -> None:
    """Note what this process executes, and write it when it ends. Does nothing in another
    interpreter.
    """
    number = os.environ.get(_NUMBER, "")
    if not number.isdecimal() or version != sys.version:
        return
    module = _load("tracer")
    reads = _load("reads")
    name = join(folder, f"{number}-{os.getpid()}")
    with open(f"{name}.started", "x", encoding="utf-8"):
        pass
    foreign = _Foreign(top)
    tracer = module.Tracer(top, _Grandchildren(top), foreign.look, reads=reads)
    tracer.start()
    tracer.begin("")
    # the first to be registered is the last to be called
    atexit.register(_write, tracer, foreign, name, os.getpid())


def _load(name: str) -> Any:
    """A module beside this one, by its path."""
    path = join(dirname(realpath(__file__)), f"{name}.py")
    spec = spec_from_file_location(f"_kl_{name}", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _write(
    tracer: Any, foreign: _Foreign, name: str, pid: int, getpid: Callable[[], int] = os.getpid
) -> None:
    """At the end; in a process that was forked, which inherits this, it does nothing."""
    if getpid() != pid:
        return
    tracer.stop()
    # of a script __main__ has no __file__ any more (CPython, pymain_run_file)
    program = (
        getattr(getattr(sys.modules.get("__main__"), "__spec__", None), "origin", None)
        or sys.argv[0]
    )
    notes = tracer.of_process(str(program))
    notes |= {"why": notes["why"] or foreign.why, "argv": sys.orig_argv[1:]}
    with open(f"{name}.new", "w", encoding="utf-8") as file:
        file.write(ascii(notes))
    os.rename(f"{name}.new", f"{name}.ended")
    os.unlink(f"{name}.started")


class _Grandchildren(Children):
    """They inherit the variables of their parent, and report under its number."""

    def start(self) -> None:
        """Nothing is to be set."""

    def enter(self, number: int) -> None:
        """All belongs to the one context."""

    def stop(self) -> None:
        """Nothing is to be taken away."""


class _Foreign:
    """Code that is neither of the repository nor of Python: what it is made from may be a file of
    the repository.
    """

    def __init__(self, top: str) -> None:
        self._top = top
        folders = (dirname(os.__file__), join(sys.prefix, "bin"), dirname(__file__))
        self._python = tuple(realpath(one) + os.sep for one in folders)
        self._known: dict[str, bool] = {}
        self.why = ""

    def look(self, code: CodeType) -> None:
        """Module code that is not of the repository starts."""
        name = code.co_filename
        if self.why or name[:1] == "<":
            return
        path = realpath(name)
        parts = path.replace("/dist-packages/", "/site-packages/").split("/site-packages/")
        if len(parts) > 1:
            first = parts[-1].split("/")[0]
            if first not in self._known:
                folders = (self._top, join(self._top, "src"))
                self._known[first] = any(exists(join(one, first)) for one in folders)
            if self._known[first]:
                self.why = f"it executed the installed copy of {first}"
        elif not path.startswith(self._python):
            self.why = f"it executed {basename(path)}, which is not in the repository"
