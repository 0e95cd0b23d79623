"""Settings of the standard library and the interpreter that apply to a whole process, as their own
functions read them: the locale, handlers of signals, the precision of decimals.

Nothing is imported for it: what is not loaded was not set. Read without running code of the program.
"""

from __future__ import annotations

import codecs
import encodings
import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from types import BuiltinFunctionType
from typing import Any, Final

from pytest_kl.contents import MISSING, PLAIN, identity, module_namespace

Reader = Callable[[], Any]
_UMASK: Final = "Umask:"
_OF_INTERPRETER: Final = frozenset(("sys", "gc", "_socket", "_thread", "posix"))
"""Modules in C that hold something for a whole process."""


def _of_module(name: str, function: str) -> Reader | None:
    """A function of a module that is loaded."""
    module = sys.modules.get(name)
    if module is None:
        return None
    reader: Reader | None = module_namespace(module).get(function)
    return reader


def _locale() -> Reader | None:
    read: Any = _of_module("_locale", "setlocale")
    everything = module_namespace(sys.modules["_locale"]).get("LC_ALL") if read else None
    return read and (lambda: read(everything, None))


def _signals() -> Reader | None:
    read: Any = _of_module("_signal", "getsignal")
    last = module_namespace(sys.modules["_signal"]).get("NSIG", 65) if read else 0
    return read and (lambda: [identity(read(number)) for number in range(1, last)])


def _decimal() -> Reader | None:
    read: Any = _of_module("_decimal", "getcontext")
    default: Any = _of_module("_decimal", "DefaultContext")

    def settings() -> Any:
        # not the flags, which each computation sets
        return [
            (
                *(context.prec, context.rounding, context.Emin, context.Emax),
                *context.traps.values(),
            )
            for context in (read(), default)
        ]

    return read and settings


def _umask() -> Reader | None:
    """To ask the system for it is to set it; Linux shows it."""

    def read(opened: Callable[..., Any] = open) -> str:
        with (
            suppress(OSError),
            opened("/proc/self/status", encoding="utf-8", errors="replace") as file,
        ):
            return next((line for line in file if line.startswith(_UMASK)), "")
        return ""

    return read if sys.platform == "linux" else None


def _identities(module: str, name: str) -> Callable[[], Reader | None]:
    """The items of a list of a module."""

    def reader() -> Reader | None:
        space = module_namespace(sys.modules[module]) if module in sys.modules else {}
        return (lambda: [*map(identity, space[name])]) if type(space.get(name)) is list else None

    return reader


def _path() -> list[str]:
    return [path for path in sys.path if type(path) is str]


def _finders() -> list[int]:
    """Without that of kl, which takes the last place again before each test."""
    own = ("pytest_kl.reads", "_kl_reads")
    return [identity(finder) for finder in sys.meta_path if type(finder).__module__ not in own]


def _mimetypes() -> Reader | None:
    """What was added to the standard types, which are read from files when the first is needed."""
    if "mimetypes" not in sys.modules:
        return None
    space = module_namespace(sys.modules["mimetypes"])
    standard: set[tuple[str, str]] = set()

    def read(is_file: Callable[[str], bool] = os.path.isfile) -> Any:
        types = space["_db"]
        if types is None:
            return set()
        if not standard:
            files = [file for file in space["knownfiles"] if is_file(file)]
            standard.update(_all_types(space["MimeTypes"](files)))
        return _all_types(types) - standard

    return read


def _all_types(types: Any) -> set[tuple[str, str]]:
    tables = (*types.types_map, types.encodings_map, types.suffix_map)
    return {pair for table in tables for pair in table.items()}


def _temporary_folder() -> Reader | None:
    """It is found out when it is asked for first."""
    candidates: Any = _of_module("tempfile", "_candidate_tempdir_list")
    if candidates is None:
        return None
    space = module_namespace(sys.modules["tempfile"])
    usual = candidates()[0]
    return lambda: space["tempdir"] or usual


def _event_loop_policy() -> Reader | None:
    """None is as good as that of the standard library, which is made when it is asked for first."""
    if "asyncio.events" not in sys.modules:
        return None
    space = module_namespace(sys.modules["asyncio.events"])

    def read() -> Any:
        kind = type(space.get("_event_loop_policy"))
        module = str(kind.__module__).partition(".")[0]
        return None if module == "asyncio" or kind is type(None) else identity(kind)

    return read


def _value(module: str, name: str) -> Callable[[], Reader | None]:
    """The value of a name of a module, of a dictionary its items."""

    def reader() -> Reader | None:
        if module not in sys.modules:
            return None
        space = module_namespace(sys.modules[module])

        def read() -> Any:
            value = space[name]
            return dict(value) if type(value) is dict else identity(value)

        return read

    return reader


def _pairs() -> Iterator[tuple[str, Reader]]:
    """What a function of C code sets that has a partner which gets it: `sys.setdlopenflags`,
    `gc.set_debug`. Where the partner needs an argument it gives nothing.
    """
    for module in filter(None, map(sys.modules.get, _OF_INTERPRETER)):
        space = module_namespace(module)
        for setter in [name for name in space if name[:3] == "set"]:
            getter: Any = space.get(f"get{setter[3:]}")
            is_pair = type(space[setter]) is type(getter) is BuiltinFunctionType
            if is_pair and _read(getter) is not MISSING:
                yield f"{space['__name__']}.{setter}", partial(_shown, getter)


def _shown(getter: Callable[[], Any]) -> Any:
    return _plain(getter())


def _plain(value: Any) -> Any:
    """By which what was set is compared."""
    if isinstance(value, tuple | list):
        return [*map(_plain, value)]
    return value if type(value) in PLAIN else identity(value)


def _limits() -> Reader | None:
    """Those of the system for this process."""
    read: Any = _of_module("resource", "getrlimit")
    space = module_namespace(sys.modules["resource"]) if read else {}
    limits = [number for name, number in space.items() if name.startswith("RLIMIT_")]
    return read and (lambda: [read(limit) for limit in limits])


def _priority() -> Reader | None:
    read: Any = getattr(os, "getpriority", None)
    return read and partial(read, getattr(os, "PRIO_PROCESS", 0), 0)


def _timers() -> Reader | None:
    """Whether one runs, and again."""
    read: Any = _of_module("_signal", "getitimer")

    def timers() -> Any:
        return [(rest > 0, again) for rest, again in map(read, range(3))]

    return read and timers


def _blocked() -> Reader | None:
    mask: Any = _of_module("_signal", "pthread_sigmask")
    block = module_namespace(sys.modules["_signal"]).get("SIG_BLOCK") if mask else None
    return mask and (lambda: sorted(map(int, mask(block, ()))))


def _stack_size() -> Reader | None:
    """To ask for it is to set it."""
    exchange: Any = _of_module("_thread", "stack_size")

    def read() -> Any:
        size = exchange()
        exchange(size)
        return size

    return exchange and read


def _start_method() -> Reader | None:
    """How multiprocessing starts processes, once somebody chose it."""
    if "multiprocessing.context" not in sys.modules:
        return None
    context = module_namespace(sys.modules["multiprocessing.context"])["_default_context"]

    def read() -> Any:
        chosen = context._actual_context
        return None if chosen is context._default_context else identity(chosen)

    return read


def _threads() -> Reader | None:
    """Those that are alive."""
    active = module_namespace(sys.modules["threading"]).get("_active")
    return (lambda: {*map(identity, [*active.values()])}) if type(active) is dict else None


_SETTINGS: Final[dict[str, Callable[[], Reader | None]]] = {
    "locale.setlocale": _locale,
    "signal.signal": _signals,
    "decimal.getcontext": _decimal,
    "os.umask": _umask,
    "warnings.filters": _identities("warnings", "filters"),
    "csv.field_size_limit": lambda: _of_module("_csv", "field_size_limit"),
    "csv.register_dialect": lambda: _of_module("_csv", "list_dialects"),
    "gc.enable": lambda: gc.isenabled,
    "sys.path": lambda: _path,
    "sys.path_hooks": _identities("sys", "path_hooks"),
    "sys.meta_path": lambda: _finders,
    "mimetypes.add_type": _mimetypes,
    "xml.etree.ElementTree.register_namespace": _value("xml.etree.ElementTree", "_namespace_map"),
    "urllib.request.install_opener": _value("urllib.request", "_opener"),
    "tempfile.tempdir": _temporary_folder,
    "asyncio.set_event_loop_policy": _event_loop_policy,
    "threading.Thread.start": _threads,
    "logging.captureWarnings": _value("logging", "_warnings_showwarning"),
    "zoneinfo.reset_tzpath": _value("zoneinfo._tzpath", "TZPATH"),
    "multiprocessing.set_start_method": _start_method,
    "tracemalloc.start": lambda: _of_module("_tracemalloc", "is_tracing"),
    "faulthandler.enable": lambda: _of_module("faulthandler", "is_enabled"),
    "resource.setrlimit": _limits,
    "os.setpriority": _priority,
    "signal.setitimer": _timers,
    "signal.pthread_sigmask": _blocked,
    "threading.stack_size": _stack_size,
    "time.tzset": lambda: lambda: (time.tzname, time.timezone, time.daylight),
}
"""Function that sets it → what gives the function that reads it; None where it is not loaded."""


def _registries() -> Iterator[tuple[str, Reader]]:
    """What the interpreter holds in C for the whole process, and has no list of: the handlers of
    errors of codecs, and what looks codecs up. Found by a member that each has from the start.
    """
    handler, search = codecs.lookup_error("strict"), encodings.search_function
    for owner in gc.get_referrers(handler, search):
        if type(owner) is dict and owner.get("strict") is handler:
            yield "codecs.register_error", partial(_entries, owner)
        elif type(owner) is list and any(function is search for function in owner):
            yield "codecs.register", partial(_items, owner)


def _entries(registry: dict[str, Any]) -> list[Any]:
    return [*registry, *map(identity, registry.values())]


def _items(registry: list[Any]) -> list[int]:
    return [*map(identity, registry)]


_REGISTRIES: Final[dict[str, Reader]] = dict(_registries())
"""As soon as possible: the more objects there are, the longer it takes."""


class Settings:
    """The settings, as they were before the first test and at the last comparison."""

    def __init__(self) -> None:
        self._readers: dict[str, Reader] = {}
        self._first: dict[str, Any] = {}
        self._last: dict[str, Any] = {}

    def begin(self) -> None:
        """The first test begins."""
        for name, reader in _REGISTRIES.items():
            self._begin(name, reader)
        self._find_readers()

    def _find_readers(self) -> None:
        """What was loaded since is as it begins."""
        for name in _SETTINGS.keys() - self._readers.keys():
            reader = _SETTINGS[name]()
            if reader is not None:
                self._begin(name, reader)
        for name, reader in _pairs():
            if name not in self._readers:
                self._begin(name, reader)

    def _begin(self, name: str, reader: Reader) -> None:
        self._readers[name] = reader
        self._first[name] = self._last[name] = _read(reader)

    def compare(self) -> Iterator[tuple[str, bool]]:
        """(name, whether it is as before the first test), of those that differ from the last time."""
        for name, reader in self._readers.items():
            setting = _read(reader)
            if setting != self._last[name]:
                self._last[name] = setting
                yield name, setting == self._first[name]
        self._find_readers()


def _read(reader: Reader) -> Any:
    try:
        return reader()
    except Exception:  # a suite may have replaced what is asked here
        return MISSING
