"""Notes which functions of the repository each test starts, in the process that runs the tests.

By `sys.monitoring`, which CPython has from 3.12 on (PEP 669): the code of the repository alone is
watched, each function reports its first start in a test and is then silent until the next one. What
runs while a module is imported belongs to that module, and what the set-up of a fixture of wider
scope runs belongs to every test that uses it: a process does both once. Neither does it compute
again what a function stores for later calls: what ran meanwhile is noted with that function.

An exception of ours ends the recording of symbols, not the run. Nothing here is imported but the
standard library: the processes that tests start load this file by its path. Tests replace what they
like, so everything that is needed is bound before the first of them.
"""

# A Path would look functions up in `os`, which a suite may have replaced.
# ruff: noqa: PTH114, PTH117, PTH118, PTH119, PTH120

from __future__ import annotations

import builtins
import gc
import os
import sys
import threading
import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from operator import attrgetter
from os.path import basename, dirname, isabs, islink, join, realpath
from types import CodeType, FrameType, FunctionType

# as type checkers know it: the start of a child process must not wait for typing
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from pytest_kl.children import Children, Report
    from pytest_kl.reads import Reads

TRACE: Final = "kl_trace"
"""Where an xdist worker puts what it noted."""
MODULE: Final = "<module>"
_KEY: Final = attrgetter("co_filename", "co_qualname", "co_firstlineno", "co_flags")
_SUSPENDING: Final = 0x20 | 0x80 | 0x200
"""Flags of generators, coroutines and asynchronous generators, which resume in other tests
(inspect).
"""
_OPENING: Final = frozenset(("__closure__", "cell_contents", "getclosurevars"))
"""Names by which code gets what a function has of its outer functions."""
_FUNCTION: Final = 0x1
"""The flag of functions: the body of a class, which names what it defines, has it not."""
_INSTALLED: Final = ("/site-packages/", "/dist-packages/", "/node_modules/")
_HARMLESS: Final = frozenset(("uname", "ldconfig", "file", "lsb_release", "sysctl", "sw_vers"))
"""Programs that the standard library's `platform`, `uuid` and `ctypes` start: none of them runs
Python.
"""
_STANDARD: Final = sys.stdlib_module_names
_INTERPRETERS: Final = frozenset(("_interpreters", "_xxsubinterpreters"))
"""The modules that start interpreters (PEP 734): from 3.13 on, and before."""
_MOST_SESSION_CALLS: Final = 20_000
_WATCHED_TESTS: Final = 8
_WATCHED_CALLS: Final = 2
"""A memoizing function is watched this often in each of so many tests: values are computed early,
and each time all that the test has executed must be watched anew."""
_OWN: Final = realpath(__file__)
MONITORED: Final = hasattr(sys, "monitoring")
"""Whether this interpreter can show what runs."""
_identity: Final = object.__hash__
"""What `id()` is for: no two living objects share it, for CPython only rotates the address. But
`id()` raises an audit event, and each event calls our hook: three for each function of each test
were a twentieth of flask's suite.
"""


def _real(path: str, paths: dict[str, str]) -> str:
    """Return the real path of an absolute path. `paths`: real paths that are known, which are added
    to: realpath asks for every folder on the way, this asks for each folder once.
    """
    if path not in paths:
        folder = dirname(path)
        name = basename(path)
        if name in ("", os.curdir, os.pardir):
            return realpath(path)
        path_or_link = join(_real(folder, paths), name)
        paths[path] = realpath(path_or_link) if islink(path_or_link) else path_or_link
    return paths[path]


def _children() -> tuple[float, ...]:
    """Changes whenever a child process of this one has ended and was waited for."""
    used = getrusage(RUSAGE_CHILDREN)
    return (used.ru_minflt, used.ru_utime, used.ru_stime)


def _running_children(
    listdir: Callable[[str], list[str]] = os.listdir, opened: Callable[..., Any] = open
) -> frozenset[int]:
    """The processes that this one started and that still run, but for the one of multiprocessing
    that only tidies up; none where the system does not list them.
    """
    tracker = sys.modules.get("multiprocessing.resource_tracker")
    tidying = getattr(getattr(tracker, "_resource_tracker", None), "_pid", None)
    children: set[int] = set()
    with suppress(OSError):
        for thread in listdir("/proc/self/task"):
            # a thread may end meanwhile
            with suppress(OSError), opened(f"/proc/self/task/{thread}/children", "rb") as file:
                children.update(map(int, file.read().split()))
    return frozenset(children - {tidying})


try:
    from resource import RUSAGE_CHILDREN, getrusage
except ImportError:  # not on every platform
    _children = tuple


class Context:
    """What a test, the set-up of a fixture, or the import of a module has started so far."""

    __slots__ = (
        "child_ran",
        "code",
        "fixtures",
        "frame",
        "function",
        "is_fixture",
        "left",
        "lives",
        "name",
        "number",
        "phase",
        "processes",
        "reads",
        "rebound",
        "resets",
        "rests",
        "shared",
        "started",
        "values",
        "why",
    )

    def __init__(self, name: str, code: CodeType | None = None) -> None:
        self.name = name
        self.code = code
        """Of a module: its body; of a test or fixture: its function, where that is known."""
        self.phase = 0
        self.started = (array("I"), array("I"), array("I"))
        """Numbers of code objects, by phase: setup, call, teardown."""
        self.reads: set[int] = set()
        """Numbers of files and listings (`pytest_kl.reads`)."""
        self.fixtures: list[Context] = []
        self.is_fixture = False
        self.why = ""
        """Why this can't be all that ran; empty where it is."""
        self.number = -1
        """By which processes that it starts are known."""
        self.processes: list[tuple[str, ...]] = []
        """The arguments of those that record themselves."""
        self.child_ran = False
        self.frame = 0
        """The identity of the frame of a memoizing function that computes, …"""
        self.function: CodeType | None = None
        """… and its code: the memory of a frame that has ended may be that of another one."""
        self.lives: list[Any] | None = None
        """References to the objects that it stores in; None: they outlive the test."""
        self.rebound: dict[str, Any] = {}
        """What the globals had to which it may assign."""
        self.rests: set[Context] = set()
        """The tests and fixtures that left behind what it uses (`pytest_kl.states`)."""
        self.left: set[Any] = set()
        """What it left changed itself (`pytest_kl.states.Holder`)."""
        self.resets: set[Any] = set()
        """The same of what it set anew before it used it."""
        self.shared: set[Any] = set()
        """What outlives it and has no name, such as the class of a test."""
        self.values: list[Any] = []
        """Of the set-up of a fixture its value."""


class Memoizing:
    """A function that stores what it computes, and what was executed meanwhile."""

    __slots__ = (
        "arguments",
        "caches",
        "code",
        "computed",
        "computes",
        "decided",
        "has_stored",
        "in_threads",
        "left",
        "looks",
        "names",
        "pending",
        "reads",
        "rebinds",
        "test",
        "tests",
        "variables",
    )

    def __init__(self, code: CodeType, looks: bool) -> None:
        self.code = code
        self.looks = looks
        """Whether it runs where the value is known, too. What `functools` caches does not."""
        self.names: set[str] = set()
        """Under which others get the value without calling it."""
        self.computes: frozenset[str] = frozenset()
        """The globals and attributes in which it stores what it computes."""
        self.variables: frozenset[str] = frozenset()
        """The same of variables of outer functions."""
        self.rebinds: frozenset[str] = frozenset()
        """The globals to which it assigns, where it stores nowhere else."""
        self.has_stored = False
        self.decided = False
        """Whether it is known to be one; else its first call decides."""
        self.arguments: tuple[str, ...] = ()
        """Those that it stores in, where it stores nowhere else."""
        self.pending: list[Pending] = []
        self.computed: set[int] = set()
        self.reads: set[int] = set()
        """The files and listings that the value was computed from."""
        self.test: Context | None = None
        """The one in which it was watched last, …"""
        self.left = 0
        """… how often it will be there, …"""
        self.tests = _WATCHED_TESTS
        """… and in how many others."""
        self.caches: list[Any] = []
        """The holders of what `functools` has stored of it."""
        self.in_threads: set[Context] = set()
        """The tests and fixtures in which another thread called it: what it executed there is among
        all that they executed.
        """

    def watch_again(self) -> None:
        """A call stored nothing: the first one that does is watched, whenever it comes."""
        if not self.has_stored:
            self.left = max(self.left, 1)
            self.tests = max(self.tests, 1)

    def take(self, pending: Pending) -> None:
        """What was stored then, other tests may get."""
        self.has_stored = True
        self.computed |= pending.computed
        self.reads |= pending.reads

    def commit(self, test: Context, lives: list[Any] | None) -> None:
        """Objects of earlier tests are used in another one: what was stored in them counts. None:
        it is not known in which.
        """
        waiting = []
        for pending in self.pending:
            used = lives is None or any(
                reference is other for reference in pending.lives or () for other in lives
            )
            if used and pending.test is not test:
                self.take(pending)
            else:
                waiting.append(pending)
        self.pending = waiting


class Pending:
    """What was executed and read while a function stored something in objects that a test may have
    made for itself.
    """

    __slots__ = ("computed", "lives", "reads", "test")

    def __init__(
        self, test: Context, lives: list[Any] | None, computed: set[int], reads: set[int]
    ) -> None:
        self.test = test
        self.lives = lives
        """Weak references to them: there is one for each object. None: they live on."""
        self.computed, self.reads = computed, reads

    def outlives(self, shared: set[int]) -> bool:
        """Whether one of the objects is there after the last test, or was one of those that tests
        have in common (identities of references).
        """
        return any(
            reference() is not None or _identity(reference) in shared
            for reference in self.lives or ()
        )


class Tracer:
    """The recording of one process. Made early: of what was imported before, all counts as run by
    the import.
    """

    def __init__(
        self,
        top: str,
        children: Children | None = None,
        foreign: Callable[[CodeType], None] | None = None,
        memoization: Any = None,
        reads: Any = None,
        states: Any = None,
        watch: Any = None,
        written: Any = None,
        docstrings: Any = None,
    ) -> None:
        self._top = realpath(top)
        self._child_processes, self._foreign = children, foreign
        self._children_record = False
        self._written_module = written
        """The module of that name; None where files of tests concern no other test."""
        self._opened_files: Any = watch and watch.Watch(self._top)
        """What other processes open; None in one of these."""
        self._memoization = memoization
        """The module of that name; None where values die with the process."""
        self._reads_module = reads
        """The module of that name, which a child process loads by its path."""
        # first, since who keeps states asks for the paths of what is there already
        self._paths: dict[str, str | None] = {}
        """co_filename → path from the top; None: no business of ours."""
        self.states: Any = states and states.States(self._path, self._state_read)
        """What tests leave behind; None where that ends with the process."""
        self._states_module = states
        self._library: dict[int, str] = {}
        """Identity of code that sets or asks what the library has for all → what it does."""
        self._library_code: list[CodeType] = []
        """That code."""
        self._docstrings: Any = docstrings and docstrings.Docstrings(self._path)
        """Who reads docstrings; None where that is not noted."""
        self._docstring_readers: dict[int, CodeType] = {}
        """By identity: installed code that reads them."""
        self._shared: list[Any] = []
        self._parent: Any = None
        """What collected the last test, …"""
        self._classes: list[Any] = []
        """… and what its class holds: pytest looks for the class through all of its parents."""
        self._closures: dict[tuple[str, str], set[int]] = {}
        """(file, variable of an outer function) → identities of the code that can get it later."""
        self._opens_closures = False
        """Whether some code asks functions for the variables of their outer functions."""
        self._decisions: Any = memoization and memoization.Decisions(self._path)
        self.memoizing: dict[int, Memoizing] = {}
        """By identity of the code, as long as its calls are watched."""
        self._storing: dict[int, Memoizing] = {}
        """The same of all functions that store what they compute."""
        self._thread = threading.get_ident()
        self._numbered: list[Context] = []
        self._numbers: dict[tuple[str, str, int, int], int] = {}
        self._known: dict[int, int] = {}
        """Identity of a code object → its number: its own hash is computed from all of its
        instructions each time.
        """
        self._codes: list[CodeType] = []
        """Those, so that no other object gets their identity."""
        self._looked_at: list[CodeType] = []
        """The same of code of which is known what it names."""
        self._hits: list[CodeType] = []
        self._stack: list[Context] = []
        self._modules: dict[str, Context] = {}
        self._stamps: dict[str, list[int]] = {}
        self._namespaces: list[Mapping[str, Any]] = []
        self._session: dict[str, set[int]] = {}
        self._session_calls = 0
        self._tests: dict[str, Context] = {}
        self._fixtures: dict[Any, Context] = {}
        self._session_fixtures: set[int] = set()
        """Identities of their code."""
        self._imports: set[tuple[str, str]] = set()
        self._reads: Reads | None = None
        self.asking: set[int] = set()
        """Identities of the code that looks for files (`pytest_kl.reads`)."""
        self._outside: set[tuple[str, str]] = set()
        """(file, first part of a module that it imported while tests ran or modules were loaded).
        """
        self._children: tuple[float, ...] = ()
        self._has_started_processes = False
        self._running: frozenset[int] = frozenset()
        """Processes that run as a test begins, …"""
        self._left_running: frozenset[int] = frozenset()
        """… and those of them that an earlier test started."""
        self._spawning: list[Any] = []
        self._engine: _Monitoring | None = None
        self._getcwd, self._pid, self._getpid, self._stat = (
            os.getcwd,
            os.getpid(),
            os.getpid,
            os.stat,
        )
        self._getframe = sys._getframe
        self._import = builtins.__import__
        self._loaded = sys.modules
        self.trouble = ""

    # begin and end

    def start(self) -> None:
        """Watch what is imported from now on; `trouble` has the reason where that is not
        possible.
        """
        if HANDLERS:  # a test that runs pytest in its own process
            self.trouble = "another run of this process is recorded"
            return
        if not MONITORED:
            self.trouble = f"CPython 3.12 is needed, this is Python {sys.version.partition(' ')[0]}"
            return
        before = self._imported_before()
        engine = _Monitoring(self)
        if engine.trouble:
            self.trouble = engine.trouble
            return
        self._engine = engine
        for code in before:
            self._watch(code)
        for names in self._namespaces:
            self._find_cached(names)
        engine.switch(session=True)
        HANDLERS["exec"] = self._on_exec
        if self._reads_module is not None:
            make = self._reads_module.Reads
            self._reads = make(self._top, self._path, self._stack, self.fail)
            HANDLERS.update(self._reads.handlers())
            if self._opened_files is not None:
                self._opened_files.begin()
                self._reads.notes_seen = self._opened_files.is_on
            if self._written_module is not None:
                written = self._written_module.Written(
                    self._top, self._running_test, self._reads.acts, self._state_read
                )
                self._reads.written = written
                HANDLERS.update(written.handlers())
            self._reads.imports = self._imports_by_name
            self._reads.finder.install()
            self.asking |= set(map(_identity, self._reads.asking))
            if self.states is not None:
                HANDLERS["os.chdir"] = self._on_chdir
                library = self._states_module.watched_code()
                self._library = {_identity(code): name for code, name in library.items()}
                self._library_code = [*library]
                self.asking.update(self._library)
            for code in (*self._reads.asking, *self._library_code):
                engine.watch(code)
            if self._docstrings is not None:
                self._watch_readers(self._docstrings.loaded_readers())
        HANDLERS["import"] = self._on_import
        HANDLERS.update(dict.fromkeys(_PROCESSES, self._on_process))
        HANDLERS.update(dict.fromkeys(_NAMED_PROCESSES, self._named_process))
        HANDLERS["subprocess.Popen"] = self._on_popen
        _install_audit_hook()
        if self._child_processes is not None:
            self._child_processes.start()
            self._children_record = True

    def stop(self) -> None:
        """Watch nothing any more; leaves no trace in the interpreter but an audit hook that does
        nothing.
        """
        HANDLERS.clear()
        if self._reads is not None:
            self._reads.finder.remove()
        if self._opened_files is not None:
            self._opened_files.end()
        engine, self._engine = self._engine, None
        if engine is not None:
            self._flush()
            engine.stop()
            self._stop_children()

    def fail(self, problem: BaseException) -> None:
        """Ends the recording, for the first exception of ours."""
        if not self.trouble:
            self.trouble = f"{type(problem).__name__}: {problem}"
            try:
                self.stop()
            except Exception:
                HANDLERS.clear()

    @property
    def on(self) -> bool:
        """Whether something is recorded."""
        return self._engine is not None

    def _imported_before(self) -> list[CodeType]:
        """The code of modules of the repository that are loaded already, such as plugins that the
        repository has.
        """
        real_paths: dict[str, str] = {}
        for module in list(sys.modules.values()):
            # some objects only claim to be a module, and some load themselves when an attribute is
            # asked for
            try:
                names = object.__getattribute__(module, "__dict__")
                file = names.get("__file__")
            except AttributeError:
                continue
            if not isinstance(file, str) or not file.endswith(".py"):
                continue
            if path := self._path(file, real_paths):
                self._stamps[path] = [*self._stamp(file), 1]
                self._namespaces.append(names)
        if not self._stamps:
            return []
        codes = (one.__code__ for one in gc.get_objects() if type(one) is FunctionType)
        return [code for code in codes if self._path(code.co_filename)]

    # what runs

    def _path(self, filename: str, real_paths: dict[str, str] | None = None) -> str | None:
        """Return the path from the top of a file of the repository; None for any other.
        `real_paths`: those that are known of files that are asked for at the same time.
        """
        try:
            return self._paths[filename]
        except KeyError:
            pass
        path = None
        if filename[:1] != "<":
            if isabs(filename):
                absolute = filename
            else:
                absolute = join(self._getcwd(), filename)
            if real_paths is None:
                real = realpath(absolute)
            else:
                real = _real(absolute, real_paths)
            inside = real.startswith(self._top + os.sep) and not any(
                one in real for one in _INSTALLED
            )
            if inside and real != _OWN and real.isprintable():
                path = real[len(self._top) + 1 :]
        self._paths[filename] = path
        return path

    def _stamp(self, filename: str) -> list[int]:
        try:
            state = self._stat(filename)
        except OSError:
            return [0, 0]
        return [state.st_mtime_ns, state.st_size]

    def _flush(self) -> None:
        """Give what has started since the last time to the innermost context."""
        hits = self._hits[:]
        if not hits:
            return
        # not clear(): another thread may have added something meanwhile
        del self._hits[: len(hits)]
        if self._stack:
            context = self._stack[-1]
            numbers = self._known
            started = context.started[context.phase]
            try:
                started.extend([numbers[_identity(code)] for code in hits])
            except KeyError:
                for code in hits:
                    if _identity(code) not in numbers:
                        numbers[_identity(code)] = self._numbers.setdefault(
                            _KEY(code), len(self._numbers)
                        )
                        self._codes.append(code)
                    started.append(numbers[_identity(code)])

    def _push(self, context: Context) -> None:
        self._flush()
        running = (outer for outer in reversed(self._stack) if not outer.frame)
        self._take_opened(next(running, None))
        self._stack.append(context)
        self._announce()
        if self._engine is not None:
            self._engine.rearm()
            self._engine.switch(session=False)

    def _announce(self) -> None:
        """Give processes that are started from now on the number of their context."""
        if self._child_processes is None or not self._stack:
            return
        context = next(one for one in reversed(self._stack) if not one.frame)
        if context.number < 0:
            context.number = len(self._numbered)
            self._numbered.append(context)
        self._child_processes.enter(context.number)

    def _pop(self, context: Context) -> None:
        self._flush()
        if context in self._stack:
            depth = self._stack.index(context)
            for inner in self._stack[depth + 1 :]:
                if inner.frame:
                    self._merge(inner, context)
            del self._stack[depth:]
            self._announce()
        if self._engine is not None:
            # what ran inside may run again outside, where it counts again
            self._engine.rearm()
            self._engine.switch(session=not self._stack)

    def look(self, code: CodeType, frame: FrameType) -> None:
        """Code starts that was not looked at. What an import executes is looked at when it starts
        again: the module is not ready.
        """
        if self._module_runs():
            return
        try:
            number = self._numbers.setdefault(_KEY(code), len(self._numbers))
            self._looked_at.append(code)
            self.states.look(number, code, frame.f_globals)
            self.states.looked_at.add(_identity(code))
        except Exception as problem:
            self.fail(problem)

    def _module_runs(self) -> bool:
        return any(
            context.code is not None and context.code.co_name == MODULE for context in self._stack
        )

    def outside(self, code: CodeType, frame: FrameType | None) -> bool:
        """Something started outside of every test, such as a hook: it belongs to the file that
        pytest called. False where so much runs there that it is not looked at any more.
        """
        owner = None
        while frame is not None:
            owner = self._paths.get(frame.f_code.co_filename) or owner
            frame = frame.f_back
        if owner:
            number = self._numbers.setdefault(_KEY(code), len(self._numbers))
            self._session.setdefault(owner, set()).add(number)
        self._session_calls += 1
        return self._session_calls < _MOST_SESSION_CALLS

    # what looks for files

    def asks(self, code: CodeType, frame: FrameType) -> bool:
        """A function that looks for files starts, or one that sets or asks what the library has for
        the whole process. False where its further starts in this test show nothing new.
        """
        if self._reads is None:
            return True
        try:
            if _identity(code) in self._docstring_readers:
                self._read_docs(frame)
                return True
            watched = self._library.get(_identity(code))
            if watched is None:
                self._reads.asks(code, frame)
                return True
            return self._uses_library(watched, frame)
        except Exception as problem:
            self.fail(problem)
        return True

    def _uses_library(self, watched: str, frame: FrameType) -> bool:
        owner = next((context for context in reversed(self._stack) if not context.frame), None)
        if watched == self._states_module.SEEDS:
            is_random = "a" in frame.f_locals and frame.f_locals["a"] is None
            self.states.seeded(owner, frame.f_locals.get("self"), is_random)
            return True
        if owner is not None and not self._module_runs():
            self.states.logs(owner)
        return False

    def _read_docs(self, frame: FrameType) -> None:
        """The test, or the module that is imported, has a text of docstrings."""
        if self._stack and self._reads_module is not None:
            for path in self._docstrings.files(frame):
                number = self._state_read(self._reads_module.DOCS, path)
                if number >= 0:
                    self._stack[-1].reads.add(number)

    def _running_test(self) -> Context | None:
        """The test, or the set-up of a fixture, that runs; None while a module is imported, and
        while what all tests of the session have in common is torn down after the last of them.
        """
        if self._stack and self._stack[0].phase == 2 and self._session_fixtures:
            frame: FrameType | None = self._getframe(1)
            while frame is not None:
                if _identity(frame.f_code) in self._session_fixtures:
                    return None
                frame = frame.f_back
        for context in reversed(self._stack):
            if context.code is not None and context.code.co_name == MODULE:
                return None
            if not context.frame:
                return context
        return None

    def _on_chdir(self, args: tuple[Any, ...]) -> None:
        if self._stack:
            self.states.moves(self._stack[0])

    def _state_read(self, sort: str, place: str) -> int:
        if self._reads is None:
            return -1
        return self._reads.state(sort, place)

    def calls(self, function: object, argument: object, frame: FrameType) -> bool:
        """Code of the repository calls something. False where it is nothing that looks for
        files.
        """
        if self._reads is None or self._reads_module is None:
            return False
        is_state = any(function is wanted for wanted in self._reads_module.STATE_CALLS)
        try:
            if is_state:
                self._reads.ask(argument, True, frame)
                return True
            if function is self._import:
                self._imports_by_name(argument, None, frame)
                return True
            cache = self._memoization and self._memoization.cleared(function, argument)
            if cache is None or self.states is None:
                return False
            if self._running_test() is None:
                return True
            for context in self._stack:
                if not context.frame:
                    executed = None
                    # later it decides nothing, and a test that clears often has executed thousands
                    if context.phase == 0:
                        self._flush()
                        executed = set().union(*context.started)
                    self.states.cleared(context, cache, executed)
        except Exception as problem:
            self.fail(problem)
        return True

    def may_call(self, code: CodeType) -> bool:
        """Whether some call of it may be such a one: a call has the function's name."""
        if self._reads_module is None:
            return False
        names: frozenset[str] = self._reads_module.CALL_NAMES
        return not names.isdisjoint(code.co_names)

    # what is stored for later tests

    def _watch(self, code: CodeType) -> None:
        """The starts of this code, and of all that is defined in it, are wanted."""
        if self._engine is None:
            return
        for inner in _inner(code):
            if self._memoization is not None and self._memoization.may_store(inner):
                self.memoizing.setdefault(_identity(inner), Memoizing(inner, looks=True))
            if self.states is not None:
                self._note_closures(inner)
            self._engine.watch(inner)

    def _note_closures(self, code: CodeType) -> None:
        """Which variables of outer functions code has. A generator gets its own ones later, too."""
        variables = code.co_freevars
        if code.co_flags & _SUSPENDING:
            variables += code.co_cellvars
        for name in variables:
            self._closures.setdefault((code.co_filename, name), set()).add(_identity(code))
        if not _OPENING.isdisjoint(code.co_names):
            self._opens_closures = True

    def _find_cached(self, namespace: Mapping[str, Any]) -> None:
        for code, name, cache in (
            self._memoization.cached_functions(namespace) if self._memoization else ()
        ):
            if self._engine is not None and self._path(code.co_filename):
                memoizing = Memoizing(code, looks=False)
                memoizing = self._storing.setdefault(_identity(code), memoizing)
                if self.states is not None and cache is not None:
                    looked_at = self._numbers_of_looked_at() if self._tests else ()
                    holder = self.states.cache(cache, name, code.co_filename, looked_at)
                    memoizing.caches.append(holder)
                self.memoizing[_identity(code)] = memoizing
                memoizing.decided = True
                memoizing.names.add(name)
                memoizing.computes |= {name}
                self._engine.watch(code)

    def _numbers_of_looked_at(self) -> Iterator[tuple[int, CodeType]]:
        for code in self._looked_at:
            yield self._numbers[_KEY(code)], code

    def _decide(self, memoizing: Memoizing, frame: FrameType) -> bool:
        """Whether a function stores what it computes."""
        decision = self._decisions.decide(memoizing.code, frame)
        if decision is None:
            del self.memoizing[_identity(memoizing.code)]
            return False
        memoizing.names |= decision.names
        memoizing.computes = decision.computed
        memoizing.variables = decision.variables
        memoizing.rebinds = decision.rebinds
        memoizing.arguments = decision.arguments
        memoizing.decided = True
        self._storing[_identity(memoizing.code)] = memoizing
        return True

    def compute(self, code: CodeType, frame: FrameType) -> bool:
        """A memoizing function starts: what is executed until it returns is noted with it, too.
        False where it is not: it was watched often enough, or another thread runs it.
        """
        memoizing = self.memoizing[_identity(code)]
        if not self._stack or self._engine is None:
            return False
        if threading.get_ident() != self._thread:
            self._compute_in_thread(memoizing, frame)
            return False
        if memoizing.left <= 0 and memoizing.test is self._stack[0] and not memoizing.pending:
            return False
        if not memoizing.decided and not self._decide(memoizing, frame):
            return False
        while self._stack[-1].frame and not _runs(self._stack[-1], frame):
            self._close()  # an exception left it
        test = self._stack[0]
        lives = None
        if memoizing.arguments and test.name in self._tests:
            lives = self._memoization.lives_of(memoizing.arguments, frame)
            if memoizing.pending:
                memoizing.commit(test, lives)
        if memoizing.test is not test:
            memoizing.test, memoizing.left, memoizing.tests = (
                test,
                _WATCHED_CALLS,
                memoizing.tests - 1,
            )
        memoizing.left -= 1
        if memoizing.left < 0 or memoizing.tests < 0 or lives == []:
            if memoizing.tests < 0 and not memoizing.pending:
                # until then an object of an earlier test may come again
                del self.memoizing[_identity(code)]
            return False
        memoizing.names.update(self._memoization.names_asked(code, frame, self._namespaces))
        self._flush()
        context = Context(code.co_name)
        context.lives = lives
        if memoizing.rebinds:
            context.rebound = self._memoization.values_of(memoizing.rebinds, frame)
        context.frame, context.function = _identity(frame), code
        self._stack.append(context)
        self._engine.rearm()
        return True

    def _compute_in_thread(self, memoizing: Memoizing, frame: FrameType) -> None:
        """The same in another thread, as that in which the client of a web framework runs an
        application.
        """
        contexts = {context for context in self._stack if not context.frame}
        is_new = not contexts <= memoizing.in_threads
        if is_new and (memoizing.decided or self._decide(memoizing, frame)):
            # what only looks whether there is a value is called in many tests
            if memoizing.looks and len(memoizing.in_threads) >= _WATCHED_TESTS:
                return
            memoizing.in_threads |= contexts

    def computed(self, code: CodeType, frame: FrameType, value: object) -> bool:
        """It returns a value. False where it was not watched."""
        if not any(
            context.frame == _identity(frame) and context.function is code
            for context in self._stack
        ):
            return False
        self._flush()
        while self._stack[-1].frame and self._stack[-1].function is not code:
            self._close()
        if self._stack[-1].frame:
            context = self._stack[-1]
            memoizing = self.memoizing[_identity(code)]
            pending = Pending(
                self._stack[0], context.lives, {*context.started[0]}, {*context.reads}
            )
            if context.rebound and not self._memoization.is_assigned(context.rebound, frame):
                memoizing.watch_again()
            elif context.lives is None:
                memoizing.take(pending)
            elif not (pending.computed <= memoizing.computed and pending.reads <= memoizing.reads):
                memoizing.pending.append(pending)
            is_lasting = context.lives is None
            self._close()
            if is_lasting and self.states is not None:
                number = self._numbers.setdefault(_KEY(code), len(self._numbers))
                self.states.result(number, code, value, memoizing.caches)
        return True

    def _settle(self) -> None:
        """After the last test: what died with the test that it was stored in, no other test got."""
        waiting = [memoizing for memoizing in self._storing.values() if memoizing.pending]
        if any(pending.outlives(set()) for memoizing in waiting for pending in memoizing.pending):
            gc.collect()  # objects that refer to each other
        shared = {_identity(reference) for reference in self._shared}
        for memoizing in waiting:
            for pending in memoizing.pending:
                if pending.outlives(shared):
                    memoizing.take(pending)
            memoizing.pending = []

    def _share(self, value: Any) -> None:
        """An object that tests have in common, such as the value of a fixture of wider scope."""
        own = getattr(value, "__dict__", None)
        for shared in (value, *(own.values() if type(own) is dict else ())):
            with suppress(TypeError):
                self._shared.append(weakref.ref(shared))

    def _close(self) -> None:
        """What a memoizing function executed was executed by the test as well."""
        self._flush()
        context = self._stack.pop()
        self._merge(context, self._stack[-1])

    @staticmethod
    def _merge(context: Context, around: Context) -> None:
        around.started[around.phase].extend(context.started[0])
        around.fixtures += context.fixtures
        around.reads |= context.reads

    def _close_all(self) -> None:
        while self._stack and self._stack[-1].frame:
            self._close()

    def _values(self) -> Iterator[tuple[list[int], list[int], list[int]]]:
        """(code that gets a stored value, what was executed and read when it was computed)."""
        self._settle()
        for memoizing in self._storing.values():
            for context in memoizing.in_threads:
                memoizing.computed.update(*context.started)
                memoizing.reads |= context.reads
        computed = [
            memoizing
            for memoizing in self._storing.values()
            if (memoizing.computed or memoizing.reads) and _identity(memoizing.code) in self._known
        ]
        wanted = {name for memoizing in computed for name in memoizing.names}
        readers: dict[str, set[int]] = {name: set() for name in wanted}
        for code in self._codes if wanted else ():
            for name in wanted.intersection(code.co_names) if code.co_flags & _FUNCTION else ():
                if self._memoization.gets(code, name):
                    readers[name].add(self._known[_identity(code)])
        for memoizing in computed:
            own = self._known[_identity(memoizing.code)]
            if memoizing.looks:
                readers_of_value = {own}
            else:
                readers_of_value = set()
            yield (
                sorted(readers_of_value.union(*(readers[name] for name in memoizing.names))),
                sorted({own, *memoizing.computed}),
                sorted(memoizing.reads),
            )

    def _left_behind(self) -> Iterator[tuple[list[int], list[int], list[int]]]:
        """(code of what uses a state, …) as `_values`: it rests on the function of the test that
        left it behind, and that on all that its tests executed.
        """
        contexts = [*self._tests.values(), *self._fixtures.values()]
        users = [context for context in contexts if context.rests]
        writers = set().union(*(context.rests for context in users))
        for writer in writers:
            used = self._with_fixtures(writer)
            executed = sorted(set().union(*(number for one in used for number in one.started)))
            reads = sorted(set().union(*(one.reads for one in used)))
            yield self._functions_of(writer), executed, reads
        for user in users:
            left = {number for writer in user.rests for number in self._functions_of(writer)}
            yield self._functions_of(user), sorted(left), []
            why = next((writer.why for writer in user.rests if writer.why), "")
            user.why = user.why or (why and f"it uses what another test left behind: {why}")

    @staticmethod
    def _with_fixtures(context: Context) -> list[Context]:
        """A test and the fixtures of wider scope that it uses."""
        contexts = [context]
        for context_or_fixture in contexts:
            contexts += [
                fixture for fixture in context_or_fixture.fixtures if fixture not in contexts
            ]
        return contexts

    def _functions_of(self, context: Context) -> list[int]:
        """The number of its function; all that it executed where that is not known."""
        if context.code:
            number = self._known.get(_identity(context.code), -1)
        else:
            number = -1
        if number >= 0:
            return [number]
        return sorted(set().union(*context.started))

    # modules

    def _on_exec(self, args: tuple[Any, ...]) -> None:
        code = args[0]
        if not isinstance(code, CodeType) or self._engine is None:
            return
        if not (path := self._path(code.co_filename)):
            if self._foreign is not None:
                self._foreign(code)
            if code.co_name == MODULE and self._reads is not None:
                self._watch_imports(code)
                if self._docstrings is not None:
                    self._watch_readers(self._docstrings.readers(code))
            return
        self._watch(code)
        if code.co_name != MODULE:
            return
        if path not in self._stamps:
            self._stamps[path] = [*self._stamp(code.co_filename), 0]
        context = self._modules.setdefault(path, Context(path, code))
        context.code = code
        importer = self._importer()
        if importer and importer != path:
            self._imports.add((importer, path))
        self._push(context)
        self._engine.modules(True)

    def _watch_imports(self, module: CodeType) -> None:
        """The calls of a module that is not of the repository and names `__import__`, as that of
        YAML does: it imports what data names.
        """
        codes = [*_inner(module)]
        if self._engine is not None and any("__import__" in code.co_names for code in codes):
            for code in codes:
                self._engine.watch_calls(code)

    def _watch_readers(self, codes: Iterable[CodeType]) -> None:
        """The starts of installed code that reads docstrings, as `inspect.getdoc` does."""
        for code in codes:
            if self._engine is not None and _identity(code) not in self.asking:
                self._docstring_readers[_identity(code)] = code
                self.asking.add(_identity(code))
                self._engine.watch(code)

    def _imports_by_name(self, name: object, package: object, frame: FrameType | None) -> None:
        """Code imports a module by a name. What is loaded is not executed again."""
        if not isinstance(name, str):
            return
        if name[:1] == "." and isinstance(package, str):
            levels = len(name) - len(name.lstrip("."))
            name = f"{package.rsplit('.', levels - 1)[0]}.{name.lstrip('.')}"
        file = self._reads_module.file_of(self._loaded.get(name)) if self._reads_module else None
        path = self._path(file) if file else None
        if path and self._stack and self._reads_module is not None:
            # what gets a class of it by a name, too, does not execute code that has the name
            number = self._state_read(self._reads_module.NAMED, path)
            if number >= 0:
                self._stack[-1].reads.add(number)
        while path and frame is not None:
            importer = self._paths.get(frame.f_code.co_filename)
            if importer:
                if importer != path:
                    self._imports.add((importer, path))
                return
            frame = frame.f_back

    def _importer(self) -> str | None:
        """The file of the repository whose code imports something at this moment."""
        frame: FrameType | None = self._getframe(2)
        while frame is not None:
            if path := self._paths.get(frame.f_code.co_filename):
                return path
            frame = frame.f_back
        return None

    def is_of_repository(self, filename: str) -> bool:
        """Whether what a file defines is recorded: not in an environment inside the repository."""
        return self._path(filename) is not None

    def needs_plugins(self, tests: Iterable[str], plugins: Iterable[str]) -> None:
        """Those of the plugins that are files of the repository are imported by each file of
        tests. Which need a `conftest.py` follows from its folder.
        """
        paths = [path for plugin in plugins if (path := self._path(plugin))]
        for path in paths:
            if path.rpartition("/")[2] == "conftest.py":
                continue
            self._imports |= {(test, path) for name in tests if (test := self._path(name))}

    def left(self, code: CodeType, namespace: Mapping[str, Any]) -> None:
        """A module's body has ended, well or not."""
        self._find_cached(namespace)
        self._namespaces.append(namespace)
        for context in reversed(self._stack):
            if context.code is code:
                self._take_opened(context)
                self._pop(context)
                break
        if self._engine is not None and not self._module_runs():
            self._engine.modules(False)

    def _on_import(self, args: tuple[Any, ...]) -> None:
        """A module is looked for that is not loaded, whether it is there or not."""
        name = args[0]
        if type(name) is str and "." not in name and name not in _STANDARD:
            importer = self._importer()
            if importer:
                self._outside.add((importer, name))

    # processes

    def _on_popen(self, args: tuple[Any, ...]) -> None:
        own = None
        # what a module starts when it is imported belongs to no test; in a child all belongs to one
        if self._child_processes is not None and (self._foreign or not self._module_runs()):
            own = self._child_processes.arguments(args)
        if own is None or not self._stack:
            self._named_process(args)
        elif self._getpid() == self._pid:
            owners = [one for one in self._stack if not one.frame]
            owners[0 if self._foreign else -1].processes.append(own)
            self._spawning = list(args[1])

    def _named_process(self, args: tuple[Any, ...]) -> None:
        # Popen itself may use posix_spawn (CPython, Popen._execute_child)
        if self._spawning and len(args) > 1 and list(args[1] or ()) == self._spawning:
            self._spawning = []
            return
        if args[0] is not None or len(args) < 2:
            name = args[0]
        else:
            name = args[1]
        if isinstance(name, list | tuple) and name:
            name = name[0]
        if isinstance(name, str | bytes | os.PathLike):
            shown = basename(os.fsdecode(name))
        else:
            shown = "?"
        if shown in _HARMLESS:
            self._children = ()
        else:
            self._mark(f"it started another process ({shown[:40]})")

    def _on_process(self, args: tuple[Any, ...]) -> None:
        self._mark("it started another process")

    def _mark(self, why: str) -> None:
        if self._getpid() == self._pid:
            if self._stack and self._opened_files is not None:
                self._opened_files.begin_process()
            # what pytest, its plugins and kl itself start belongs to no test
            if self._stack and not self._has_started_processes:
                self._has_started_processes, self._running = True, _running_children()
            for context in self._stack:
                context.why = context.why or why

    # tests

    def _take_opened(self, context: Context | None) -> None:
        """What was opened until now, by code in C or by another process, belongs to this test,
        fixture or module.
        """
        if self._opened_files is None or not self._opened_files.is_on or self._reads is None:
            return
        opened = self._opened_files.take()
        with_event = self._reads.take_seen()
        # with no process of its own: code in C of this one, which raises no audit event, or a
        # program that nobody here started (ADR-0100)
        if context is not None and not any(part.why for part in (context, *context.fixtures)):
            opened -= with_event
        if context is not None:
            context.reads.update(self._reads.number(path, "", False) for path in opened)

    def begin(self, nodeid: str) -> None:
        """A test begins."""
        self._take_opened(None)
        if self.states is not None:
            self.states.begin()
        context = self._tests.get(nodeid)
        if context is None:
            context = self._tests[nodeid] = Context(nodeid)
        for other in self._stack[:1]:  # one that was run without its protocol has no end of its own
            self._pop(other)
        context.phase = 0
        self._compare_open_files(None)
        self._children = _children()
        if self._has_started_processes and self.on:
            self._running = _running_children()
            self._left_running &= self._running
            if self._left_running:  # it may do something for this test
                context.why = context.why or "a process that an earlier test started still ran"
        if self._reads is not None and self.on:
            self._reads.finder.install()  # an earlier test may have made another list
        self._push(context)

    def enter_phase(self, item: Any, phase: int) -> None:
        """Setup (0), call (1) or teardown (2) of the test that runs."""
        if not self._stack:
            self.begin(item.nodeid)  # somebody runs the test without its protocol
        self._flush()
        self._close_all()
        if self._stack:
            context = self._stack[0]
            context.phase = phase
            if phase == 0:
                self._use_class(context, item)
            elif phase == 2:
                self._use_fixtures(context, item)
                if self.states is not None:
                    for fixture in context.fixtures:
                        self.states.check(context, fixture.values)
            elif self.states is not None:
                self.states.set_up(context, context.started[0])

    def _use_class(self, context: Context, item: Any) -> None:
        """Tests of a class share its attributes."""
        function = getattr(item, "obj", None)
        code = getattr(getattr(function, "__func__", function), "__code__", None)
        if type(code) is CodeType:
            context.code = code
            if self.states is not None:
                # what it stores itself is left behind; to find out costs more than all the rest
                self.memoizing.pop(_identity(code), None)
        if self.states is not None:
            parent = getattr(item, "parent", None)
            if parent is None or parent is not self._parent:
                self._parent, own = parent, getattr(item, "cls", None)
                self._classes = [] if own is None else self.states.of_test_class(own)
            for holder in self._classes:
                self.states.share(context, holder)

    def _leave(self, context: Context) -> None:
        """Note what a test, or the set-up of a fixture, has left behind."""
        if self.states is not None:
            executed = set().union(*context.started)
            shared = [*context.shared]
            for fixture in context.fixtures:
                for holder in fixture.values:
                    self.states.share(context, holder)
                shared += fixture.values
            self.states.end(context, executed, shared, self._memoized)

    def _memoized(self, executed: set[int]) -> tuple[set[str], set[int]]:
        """Of what was executed the functions that store what they compute: where, and numbers."""
        names: set[str] = set()
        functions = set()
        for memoizing in self._storing.values():
            number = self._known.get(_identity(memoizing.code), -1)
            if number in executed:
                names |= memoizing.computes | self._own_variables(memoizing)
                functions.add(number)
        return names, functions

    def _own_variables(self, memoizing: Memoizing) -> set[str]:
        """The variables of outer functions in which it stores, and which nobody gets but by a call
        of a function that does the same.
        """
        if self._opens_closures:
            return set()
        storing = self._storing
        file = memoizing.code.co_filename
        return {
            name
            for name in memoizing.variables
            if all(
                key in storing and name in storing[key].variables
                for key in self._closures.get((file, name), ())
            )
        }

    def _use_fixtures(self, context: Context, item: Any) -> None:
        # private, and the only place that names fixtures asked for by getfixturevalue; the names
        # are public
        active = getattr(getattr(item, "_request", None), "_fixture_defs", None)
        if isinstance(active, dict):
            used = list(active.values())
        else:
            used = []
        names = set(getattr(item, "fixturenames", ()))
        used += [
            fixture
            for fixture in self._fixtures
            if getattr(fixture, "argname", None) in names and fixture not in used
        ]
        used += item.listchain()[:-1]
        context.fixtures += [self._fixtures[one] for one in used if one in self._fixtures]

    def end(self, nodeid: str) -> None:
        """It is over."""
        context = self._tests.get(nodeid)
        if context is None:
            return
        if self._children and not context.why and _children() != self._children:
            # a child may have reported, which is known at the end
            context.child_ran = self._child_processes is not None
            context.why = "" if context.child_ran else "a child process ran"
        # no event is reported for a new interpreter in CPython 3.13, and what runs in one is
        # reported there alone
        if not _INTERPRETERS.isdisjoint(self._loaded):
            context.why = context.why or "it may have used another interpreter of this process"
        self._spawning = []
        if self._has_started_processes:
            self._left_running |= _running_children() - self._running
        self._take_opened(context)
        self._compare_open_files(context)
        self._pop(context)
        self._leave(context)

    def _compare_open_files(self, context: Context | None) -> None:
        """Give what was written to files that are open all the time to a test."""
        if self._reads is not None and self._reads.written is not None:
            self._reads.written.compare_open(context)

    def _stop_children(self) -> None:
        """The environment is the user's again."""
        if self._child_processes is not None and self._children_record:
            self._children_record = False
            self._child_processes.stop()

    def finish(self) -> None:
        """The last test is over. What hooks execute from now on is noted, in this process alone."""
        self._stop_children()
        if self.states is not None:
            self.states.compare_process(self._memoized)

    def begin_fixture(self, fixturedef: Any) -> Context:
        """The set-up of a fixture of wider scope begins."""
        code = getattr(fixturedef.func, "__code__", None)
        context = Context(str(fixturedef.argname), code if type(code) is CodeType else None)
        context.is_fixture = True
        if context.code is not None and fixturedef.scope == "session":
            self._session_fixtures.add(_identity(context.code))
        self._fixtures[fixturedef] = context
        self._push(context)
        return context

    def end_fixture(self, context: Context, fixturedef: Any) -> None:
        """It is over. A fixture that was set up inside belongs to the one around it."""
        self._end_set_up(context)
        self._share((getattr(fixturedef, "cached_result", None) or (None,))[0])
        self._leave(context)
        if self.states is not None:
            context.values += self.states.fixture(fixturedef)
        if self._stack:
            self._stack[-1].fixtures.append(context)

    def begin_collector(self, collector: Any) -> Context:
        """The set-up of a collector begins, on which all of its tests rest: that of a package
        calls `setup_module` of its `__init__.py`, which is no fixture (pytest issue 4085).
        """
        code = getattr(getattr(type(collector), "setup", None), "__code__", None)
        context = Context(str(collector.nodeid), code if type(code) is CodeType else None)
        context.is_fixture = True
        self._fixtures[collector] = context
        self._push(context)
        return context

    def end_collector(self, context: Context) -> None:
        """It is over."""
        self._end_set_up(context)
        self._leave(context)

    def _end_set_up(self, context: Context) -> None:
        if self._has_started_processes:  # on these rest all that use what was set up
            self._running |= _running_children()
        self._take_opened(context)
        self._pop(context)

    # the result

    def plain(self) -> dict[str, Any]:
        """What was noted, as plain values that xdist can send."""
        try:
            self._take_reports()
        except Exception as problem:  # a folder that somebody removed, a file that is cut off
            self.fail(problem)
        values = [*self._values(), *self._left_behind()]
        fixtures: dict[Context, int] = {}
        tests = [
            [
                nodeid,
                *(one.tobytes() for one in context.started),
                self._indexes(context, fixtures),
                context.why,
            ]
            for nodeid, context in self._tests.items()
        ]
        sets = []
        for context in fixtures:  # grows while it is walked: fixtures have fixtures
            inner = self._indexes(context, fixtures)
            sets.append([b"".join(one.tobytes() for one in context.started), inner, context.why])
        return {
            "codes": [[self._paths[name], *rest] for name, *rest in self._numbers],
            "tests": tests,
            "fixtures": sets,
            "modules": {
                path: [b"".join(one.tobytes() for one in context.started), context.why]
                for path, context in self._modules.items()
            },
            "values": [[readers, computed] for readers, computed, _ in values],
            "session": {path: sorted(some) for path, some in self._session.items()},
            "stamps": self._stamps,
            "imports": sorted(map(list, self._imports)),
            "submodules": self._plain_submodules(),
            "submodules_outside": self._plain_submodules_outside(),
            "left": self._plain_left(),
            "reads": self._plain_reads(fixtures, values),
            "outside": sorted(map(list, self._outside)),
            "trouble": self.trouble,
            "recorder": "sys.monitoring",
        }

    def _plain_submodules(self) -> list[tuple[str, str]]:
        """(file whose code has it as an attribute of a package, module): an import binds it there,
        wherever that is.
        """
        if self.states is not None:
            pairs = self.states.submodules.own
        else:
            pairs = ()
        paths = ((self._path(user), self._path(module)) for user, module in pairs)
        return sorted((user, module) for user, module in paths if user and module)

    def _plain_submodules_outside(self) -> list[tuple[str, str]]:
        """The same of modules outside of the repository, by their full names."""
        pairs = self.states.submodules.outside if self.states is not None else ()
        paths = ((self._path(user), name) for user, name in pairs)
        return sorted((user, name) for user, name in paths if user)

    def _plain_left(self) -> dict[str, list[tuple[str, str]]]:
        """Test → (file, name) of what it left changed; no file of what is outside of the
        repository.
        """
        left_by_test: dict[str, list[tuple[str, str]]] = {}
        for name, context in [*self._tests.items(), *self._left_by_fixtures()]:
            left: set[tuple[str, str]] = set()
            for holder in context.left:
                left |= self.states.places(holder)
            if left:
                left_by_test[name] = sorted(left)
        for name, context in self._tests.items():
            for fixture in self._with_fixtures(context)[1:]:
                left_by_test[name] = sorted(
                    {*left_by_test.get(name, ()), *left_by_test.get(self._name_of(fixture), ())}
                )
            if not left_by_test.get(name, True):
                del left_by_test[name]
        return left_by_test

    def _left_by_fixtures(self) -> Iterator[tuple[str, Context]]:
        """The set-ups of fixtures, by their names, with what they leave changed to the end."""
        for context in self._fixtures.values():
            context.left = {holder for holder in context.left if not holder.is_as_before()}
            if context.left:
                yield self._name_of(context), context

    def _name_of(self, fixture: Context) -> str:
        """As that of a test, and like none."""
        if fixture.code:
            path = self._path(fixture.code.co_filename)
        else:
            path = ""
        return f"{path or ''}::{fixture.name}()"

    def _expand_states(self) -> None:
        """What is read of a state is read of all places where it is."""
        if self.states is None:
            return
        numbers = self.states.further_numbers()
        for context in [*self._tests.values(), *self._fixtures.values()] if numbers else ():
            for number in numbers.keys() & context.reads:
                context.reads |= numbers[number]

    def _plain_reads(
        self,
        fixtures: Iterable[Context],
        values: Iterable[tuple[list[int], list[int], list[int]]],
    ) -> dict[str, Any] | None:
        """What was read, by what read it; `fixtures`: in the order of their indexes. None where it
        was not noted.
        """
        if self._reads is None or self._reads.too_many:
            return None
        self._expand_states()
        keys = self._reads.keys()

        def own(reads: Iterable[int]) -> list[int]:
            return [number for number in reads if number in keys]

        return {
            "keys": [[number, *key] for number, key in keys.items()],
            "tests": {name: own(one.reads) for name, one in self._tests.items() if one.reads},
            "fixtures": [own(context.reads) for context in fixtures],
            "modules": {path: own(one.reads) for path, one in self._modules.items() if one.reads},
            "session": {path: own(reads) for path, reads in self._reads.session.items()},
            "values": [[readers, own(reads)] for readers, _, reads in values if reads],
        }

    def of_process(self, main: str) -> dict[str, Any]:
        """What a process without tests executed, as JSON: all of it belongs to the one context;
        `main`: its program.
        """
        (test,) = self._tests.values()
        codes = [[self._paths[name], *rest] for name, *rest in self._numbers]
        bodies = [_KEY(one.code) for one in self._modules.values() if one.code]
        codes += [[self._paths[name], *rest] for name, *rest in bodies]
        program = self._path(main) if main else None
        return {
            "codes": codes,
            "processes": test.processes,
            "modules": {
                path: [number for some in one.started for number in some] if path != program else []
                for path, one in self._modules.items()
            },
            "stamps": self._stamps,
            "imports": sorted(self._imports),
            "reads": self._reads_of_process(),
            "child_ran": bool(self._children) and _children() != self._children,
            "why": self.trouble
            or test.why
            or next((one.why for one in self._modules.values() if one.why), ""),
        }

    def _reads_of_process(self) -> list[tuple[str, str, bool]]:
        """What anything in this process read but its tools."""
        if self._reads is None:
            return []
        contexts = (*self._tests.values(), *self._modules.values(), *self._fixtures.values())
        numbers = set().union(*(context.reads for context in contexts))
        numbers.update(*self._reads.session.values())
        keys = self._reads.keys()
        return [keys[number] for number in sorted(numbers) if number in keys]

    def _take_reports(self) -> None:
        """Give what children of this process executed to the tests and fixtures that started
        them.
        """
        if self._child_processes is None:
            return
        by_number: dict[str, list[Report]] = {}
        for report in self._child_processes.reports:
            by_number.setdefault(report.number, []).append(report)
        for context in self._numbered:
            reports = by_number.get(str(context.number), [])
            for report in reports:
                if report.known is not None:
                    self._take(context, report.known)
            context.why = context.why or self._child_processes.why_incomplete(
                context.processes, reports
            )
            context.child_ran = context.child_ran and not context.processes and not reports
        for context in self._tests.values():
            if context.child_ran and not any(one.processes for one in context.fixtures):
                context.why = context.why or "a child process ran"

    def _take(self, context: Context, notes: Mapping[str, Any]) -> None:
        """What one process executed belongs to a context."""
        own = []
        for path, *code_key in notes["codes"]:
            name = join(self._top, path)
            self._paths[name] = path
            own.append(self._numbers.setdefault((name, *code_key), len(self._numbers)))
        context.started[1].extend(own)
        for path, executed in notes["modules"].items():
            module = self._modules.setdefault(path, Context(path))
            module.started[0].extend(own[at] for at in executed)
            stamp = notes["stamps"].get(path)
            if stamp and self._stamps.setdefault(path, stamp)[:2] != stamp[:2]:
                module.why = "it had another content in another process"
        self._imports |= {(importer, imported) for importer, imported in notes["imports"]}
        if self._reads is not None:
            context.reads |= {self._reads.number(*key) for key in notes["reads"]}

    @staticmethod
    def _indexes(context: Context, index_of: dict[Context, int]) -> list[int]:
        return sorted({index_of.setdefault(one, len(index_of)) for one in context.fixtures})


def _inner(code: CodeType) -> Iterator[CodeType]:
    """A code object and all that are defined in it."""
    todo = [code]
    while todo:
        inner = todo.pop()
        yield inner
        todo += [const for const in inner.co_consts if type(const) is CodeType]


def _runs(context: Context, frame: FrameType | None) -> bool:
    """Whether the memoizing function of a context is one of those that called this frame."""
    while frame is not None and (
        _identity(frame) != context.frame or frame.f_code is not context.function
    ):
        frame = frame.f_back
    return frame is not None


class _Monitoring:
    """`sys.monitoring`, for the code of the repository alone: all other code runs as if we were not
    there.
    """

    def __init__(self, tracer: Tracer) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        self._api = monitoring
        self._events = monitoring.events
        self._tracer = tracer
        self._watched: list[CodeType] = []
        self._silent: list[CodeType] = []
        """What does not report its starts any more."""
        self._calling: set[int] = set()
        """Identities of the code whose calls are reported, too."""
        self._depth = False
        self.trouble = ""
        # 0, 1, 2 and 5 belong to debuggers, coverage, profilers and optimizers (documentation of
        # sys.monitoring)
        self._tool = next((number for number in (4, 3) if monitoring.get_tool(number) is None), -1)
        if self._tool < 0:
            self.trouble = "no tool ID of sys.monitoring is free"
            return
        monitoring.use_tool_id(self._tool, "kl")
        self._on_start, self._on_outside = self._callbacks()
        self._session: bool | None = None
        register = monitoring.register_callback
        frame = sys._getframe
        register(
            self._tool,
            self._events.PY_RETURN,
            lambda code, offset, value: self._left(code, frame(1), value),
        )
        register(
            self._tool,
            self._events.PY_UNWIND,
            lambda code, offset, problem: self._unwound(code, frame(1)),
        )
        register(
            self._tool,
            self._events.CALL,
            lambda code, offset, function, argument: (
                None if tracer.calls(function, argument, frame(1)) else monitoring.DISABLE
            ),
        )

    def _callbacks(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        append = self._tracer._hits.append
        disable = self._api.DISABLE
        tracer = self._tracer
        getframe = sys._getframe
        memoizing = self._tracer.memoizing
        looks = self._tracer.states is not None
        if looks:
            named = self._tracer.states.looked_at
        else:
            named = set()
        silent = self._silent.append
        asking = self._tracer.asking

        def on_start(code: CodeType, offset: int) -> Any:
            key = _identity(code)
            if key in asking:
                if tracer.asks(code, getframe(1)):
                    return None
                silent(code)
                return disable
            append(code)
            if looks and key not in named:
                tracer.look(code, getframe(1))
            if key in memoizing:
                try:
                    if tracer.compute(code, getframe(1)):
                        return None
                except Exception as problem:
                    tracer.fail(problem)
            silent(code)
            return disable

        def on_outside(code: CodeType, offset: int) -> Any:
            if _identity(code) in asking:
                tracer.asks(code, getframe(1))
                return None
            try:
                if tracer.outside(code, getframe(1)):
                    return None
                return disable
            except Exception as problem:
                tracer.fail(problem)
                return disable

        return on_start, on_outside

    def watch(self, code: CodeType) -> None:
        """From now on the starts of this code are reported."""
        self._api.set_local_events(self._tool, code, self._wanted(code))
        self._watched.append(code)
        if self._tracer.may_call(code):
            self._calling.add(_identity(code))

    def watch_calls(self, code: CodeType) -> None:
        """From now on the calls of this code are reported, and no starts."""
        self._api.set_local_events(self._tool, code, self._events.CALL)
        self._watched.append(code)

    def _wanted(self, code: CodeType) -> int:
        events = self._events
        if self._tracer.may_call(code):
            calls = events.CALL
        else:
            calls = 0
        if code.co_name == MODULE:
            return int(events.PY_RETURN | calls)
        if code.co_flags & _SUSPENDING:
            resume = events.PY_RESUME
        else:
            resume = 0
        return int(
            events.PY_START
            | resume
            | calls
            | (events.PY_RETURN if _identity(code) in self._tracer.memoizing else 0)
        )

    def rearm(self) -> None:
        """Let everything report its next start again."""
        silent = self._silent[:]
        # not clear(): another thread may have added something meanwhile
        del self._silent[: len(silent)]
        # restart_events() makes every function of the process be instrumented anew when it runs
        # next, pytest's own ones too (a fifth of flask's suite), and those of another tool, such as
        # coverage, report everything again
        tool = self._tool
        local = self._api.set_local_events
        start = self._events.PY_START
        suspending = self._events.PY_START | self._events.PY_RESUME
        memoizing = self._tracer.memoizing
        calling = self._calling
        for code in silent:
            local(tool, code, 0)
            if _identity(code) in memoizing or _identity(code) in calling:
                local(tool, code, self._wanted(code))
            else:
                local(tool, code, suspending if code.co_flags & _SUSPENDING else start)

    def switch(self, session: bool) -> None:
        """Outside of tests it matters who calls; inside only that something starts."""
        if session is self._session:
            return
        self._session = session
        if session:
            callback = self._on_outside
        else:
            callback = self._on_start
        for event in (self._events.PY_START, self._events.PY_RESUME):
            self._api.register_callback(self._tool, event, callback)

    def modules(self, running: bool) -> None:
        """Whether the body of a module runs: it may end by an exception, which only a global event
        shows.
        """
        if running is not self._depth:
            self._depth = running
            self._api.set_events(self._tool, self._events.PY_UNWIND if running else 0)

    def _left(self, code: CodeType, frame: FrameType, value: object = None) -> Any:
        try:
            if code.co_name == MODULE:
                self._tracer.left(code, frame.f_globals)
            elif _identity(code) not in self._tracer.memoizing or not self._tracer.computed(
                code, frame, value
            ):
                return self._api.DISABLE
        except Exception as problem:
            self._tracer.fail(problem)
        return None

    def _unwound(self, code: CodeType, frame: FrameType) -> None:
        # a global event, of all code: what a function that raises has computed is not stored
        if code.co_name == MODULE:
            self._left(code, frame)

    def stop(self) -> None:
        """Gives the tool ID back."""
        api = self._api
        tool = self._tool
        events = self._events
        api.set_events(tool, 0)
        used = (events.PY_START, events.PY_RESUME, events.PY_RETURN, events.PY_UNWIND, events.CALL)
        for event in used:
            api.register_callback(tool, event, None)
        # in CPython 3.12 free_tool_id does not disable events (its documentation)
        for code in self._watched:
            api.set_local_events(tool, code, 0)
        api.free_tool_id(tool)


HANDLERS: Final[dict[str, Callable[[tuple[Any, ...]], None]]] = {}
"""Audit event → who wants it; empty while nothing is recorded, since an audit hook can't be removed
(PEP 578).
"""
_NAMED_PROCESSES: Final = ("subprocess.Popen", "os.posix_spawn", "os.exec", "os.spawn")
_PROCESSES: Final = ("os.fork", "os.forkpty", "os.system", "pty.spawn")
_installed: Final[list[bool]] = []


def _install_audit_hook() -> None:
    if _installed:
        return
    _installed.append(True)

    # `open()`, `compile()` and each import are audited: one look into a dictionary is all that most
    # of them may cost
    def hook(
        event: str, args: tuple[Any, ...], handlers: dict[str, Callable[[Any], None]] = HANDLERS
    ) -> None:
        if event in handlers:
            try:
                handlers[event](args)
            # whatever is raised here would be raised in the code that opens a file, or imports
            # something
            except Exception as problem:
                owner = getattr(handlers.get(event), "__self__", None)
                if owner is not None:
                    owner.fail(problem)

    sys.addaudithook(hook)
