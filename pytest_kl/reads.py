"""Notes which files of the repository each test reads as data, which folders it lists, and what it
looks for: files, modules that are not there, metadata of distributions.

From the audit events of Python (PEP 578): `open`, `os.listdir`, `os.scandir`, and the globs, whose
patterns name what a listing was for. `os.path.exists`, `Path.stat` and their like have no event:
the tracer reports their starts, and calls of `os.stat` and `os.access`. An event counts for the
nearest caller that acts for itself: code of the repository, or a package that is no tool. Reads of
the import system, of warnings and logged tracebacks (which show source), of pytest's collection, of
coverage and of kl don't count. These are recognized by their code objects, and by the files of
modules that are loaded. A module that is not found has no event: the last finder of `sys.meta_path`
is asked for it, which finds nothing. So it is for all distributions (`importlib.metadata`,
"Extending the search algorithm"); metadata of one is a file that is opened.

Nothing is imported but the standard library: the processes that tests start load this file by its
path. Tests replace what they like, so everything that is needed is bound before the first of them.
"""

# A Path would look functions up in `os`, which a suite may have replaced.
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from os.path import dirname, join, realpath
from types import CodeType, FrameType, FunctionType, ModuleType

# as type checkers know it: the start of a child process must not wait for typing
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, Protocol

    class Reader(Protocol):
        """What reads: a test, the set-up of a fixture, the import of a module."""

        reads: set[int]


MOST_KEYS: Final = 100_000
"""Files and listings of one process; beyond it they are not recorded."""
EVERYTHING: Final = "*"
"""The pattern of a listing that takes all names of a folder."""
_MOST_FOLDERS: Final = 10_000
_INSTALLED: Final = ("/site-packages/", "/dist-packages/", "/node_modules/", "/__pycache__/")
_NOT_READ: Final = (*_INSTALLED, "/.git/kl/")
"""Who walks the whole repository lists what kl writes meanwhile, too."""
_MAGIC: Final = frozenset("*?[")
INSTALLED: Final = "/"
"""In the place of a folder: the metadata of a distribution was read, whose name is the pattern."""
VARIABLES: Final = "/environ"
"""In the place of a folder: a variable of the environment was looked for that was not set, …"""
SET_VARIABLES: Final = "/environ/set"
"""… or its value was read, which the process had from its start."""
STATES: Final = "/state"
"""In the place of a folder: the test found changed what an earlier test left, or shares it with
other tests (the value of a fixture, its class). The pattern is `app.py:REGISTRY`, …
"""
STORED: Final = "/state/stored"
"""… it found there what an earlier test had computed and stored, …"""
TOUCHED: Final = "/state/touched"
"""… it did what removes such a state, whether there was one or not, …"""
RESET: Final = "/state/reset"
"""… or it set it anew before it used it, so that it depends on no earlier test there."""
SHARED: Final = "/state/shared"
"""Beside `STORED`: the test shares it with others (its class, the value of a fixture), and nothing
that an earlier one left was seen there."""
NAMED: Final = "/named"
"""In the place of a folder: a module was got by a name that may come from data. The pattern is the
path of its file.
"""
DOCS: Final = "/docs"
"""In the place of a folder: installed code read docstrings. The pattern is the path of the file in
which they are, or `EVERYTHING`.
"""
_METADATA_FOLDERS: Final = (".dist-info/", ".egg-info/")
_ELSEWHERE: Final = (
    *(INSTALLED, VARIABLES, SET_VARIABLES, STATES, STORED, TOUCHED, RESET, SHARED),
    *(NAMED, DOCS),
)
_HELPER = 1
_ACTOR = 2
_TOOL = 3
_METADATA = 4
"""Code that reads for its caller (the standard library, generated code), for itself, as a tool
that looks at the repository without running anything of it, and what reads metadata for its caller.
"""
_METADATA_MODULES: Final = ("importlib.metadata", "importlib.metadata._adapters")
_TOOL_MODULES: Final = (
    "_pytest._code.code",
    "_pytest._code.source",
    "_pytest.assertion.rewrite",
    "_pytest.cacheprovider",
    "_pytest.config",
    "_pytest.config.findpaths",
    "_pytest.doctest",
    "_pytest.main",
    "_pytest.python",
    "_pytest.threadexception",
    "_pytest.unraisableexception",
)
"""Distributions are facts of their own, and what pytest collects is compared by the gate."""
_HELPER_MODULES: Final = ("_pytest.pathlib",)
_HELPER_FUNCTIONS: Final = (("_pytest.assertion.rewrite", "AssertionRewritingHook.get_data"),)
"""What a tool does for others: `pkgutil.get_data`, where pytest loaded the package."""
_TOOL_PACKAGES: Final = ("coverage", "pytest_cov", "kl_hooks", "pytest_kl")
_TOOL_FUNCTIONS: Final = (
    ("warnings", ""),
    ("logging", "Formatter.formatException"),
    ("zipimport", ""),
    ("_frozen_importlib_external", "FileFinder._fill_cache"),
)
"""(module, function; empty: all of them) of the standard library: what reads source and bytecode to
run it, looks for a module, and shows lines of source unasked.
"""
_LOADER_FUNCTIONS: Final = (
    ("runpy", "_get_code_from_file"),
    # not `get_data`: `pkgutil.get_data` and `importlib.resources` read data files by it
    ("_frozen_importlib_external", "SourceLoader.get_code"),
    ("_frozen_importlib_external", "SourcelessFileLoader.get_code"),
)
"""What reads source or bytecode to run it: which symbols that executes is known. Not so of files
with another ending, such as scripts.
"""
_SOURCE: Final = (".py", ".pyc")
_GLOB_FUNCTIONS: Final = (("glob", ""), ("pathlib", "_Selector"))
"""What lists folders for a glob, which has an event with its pattern. `_Selector`, and what derives
from it, was pathlib's own before CPython 3.13.
"""
_GLOBS_WITHOUT_EVENT: Final = ("glob0", "glob1")
"""Functions of `glob` that list a folder and have no event."""
_LOOKS: Final = (
    *("exists", "lexists", "isfile", "isdir", "islink"),
    *("is_file", "is_dir", "is_symlink"),
)
"""Functions of `os.path`, and methods of paths, that ask whether something is there, …"""
_STATES: Final = ("getsize", "getmtime", "getatime", "getctime", "stat", "lstat")
"""… and those that ask for its state."""
STATE_CALLS: Final = (os.stat, os.lstat, os.access, os.DirEntry.stat)
"""The same in C. Who calls them has these names; whether it really does its calls show."""
STATE_NAMES: Final = frozenset(_function.__name__ for _function in STATE_CALLS)
CALL_NAMES: Final = STATE_NAMES | {"cache_clear", "__import__"}
"""The names of all calls that are of interest."""
_SHORTEST_NAME: Final = 3
"""Characters of a name of a variable, or of its beginning."""
_identity: Final = object.__hash__
"""As in the tracer: `id()` raises an audit event."""
_STANDARD: Final = realpath(dirname(os.__file__)) + os.sep


def _codes(value: object) -> Iterator[CodeType]:
    """The code of a function, of the methods of a class and those that derive from it, or of all of
    a module, with what is defined in it.
    """
    if isinstance(value, FunctionType):
        yield from inner_codes(value.__code__)
    elif isinstance(value, classmethod | staticmethod):
        yield from _codes(value.__func__)
    elif isinstance(value, type):
        for member in (*vars(value).values(), *type.__subclasses__(value)):
            yield from _codes(member)
    elif isinstance(value, ModuleType):
        for member in vars(value).values():
            if getattr(member, "__module__", None) == value.__name__:
                yield from _codes(member)


def inner_codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and all that are defined in it."""
    codes = [code]
    for outer in codes:
        yield outer
        codes += [constant for constant in outer.co_consts if type(constant) is CodeType]


def _asking() -> Iterator[tuple[CodeType, bool]]:
    """The code of what looks for files, and whether it asks for their state."""
    modules = (sys.modules.get(name) for name in ("genericpath", "posixpath"))
    path = getattr(sys.modules.get("pathlib"), "Path", object)
    owners = [*filter(None, modules), *path.__mro__]
    for name in (*_LOOKS, *_STATES):
        for owner in owners:
            function = vars(owner).get(name)
            if isinstance(function, FunctionType):
                yield function.__code__, name in _STATES


def _environ_code(name: str) -> CodeType | None:
    """The code of a method of the environment: what reads one variable, or what lists all."""
    own = vars(type(os.environ)).get(name)
    return own.__code__ if isinstance(own, FunctionType) else None


def _source_code() -> list[CodeType]:
    """The code that gives lines of source, where it is loaded."""
    function = getattr(sys.modules.get("linecache"), "getlines", None)
    if isinstance(function, FunctionType):
        return [function.__code__]
    return []


def _importing_code() -> dict[CodeType, str]:
    """The code that imports a module by a name → the argument that has it."""
    functions = (
        (sys.modules.get("importlib"), "import_module", "name"),
        (sys.modules.get("_pytest.outcomes"), "importorskip", "modname"),
    )
    codes = {}
    for module, function_name, argument in functions:
        function = vars(module).get(function_name) if module is not None else None
        if isinstance(function, FunctionType):
            codes[function.__code__] = argument
    return codes


def _code_of_collection() -> CodeType | None:
    """The code by which pytest imports files of tests and packages: what it asks them for are names
    that it is known to ask for.
    """
    function = getattr(sys.modules.get("_pytest.pathlib"), "import_path", None)
    if isinstance(function, FunctionType):
        return function.__code__
    return None


def _operation(name: str) -> int:
    """The number of an operation of bytecode."""
    from opcode import opmap

    return opmap[name]


def _environ_getters() -> list[CodeType]:
    """… and that of what calls it for others."""
    functions = [os.getenv, os.getenvb, MutableMapping.get, MutableMapping.pop]
    codes = [function.__code__ for function in functions]
    own = _environ_code("setdefault")
    return [*codes, *([own] if own is not None else ())]


def _distribution(name: str) -> str:
    """The normalized name (PyPA) of the distribution whose metadata a file is in; empty for other
    files.
    """
    for ending in _METADATA_FOLDERS:
        folder, separator, _ = name.partition(ending)
        if separator:
            plain = folder.rpartition("/")[2].partition("-")[0]
            return plain.replace("_", "-").replace(".", "-").lower()
    return ""


def _path_of_uri(name: str) -> str:
    """The path of a file that SQLite opens by a URI ("Uniform Resource Identifiers" of its
    documentation); other names as they are.
    """
    if name[:5] != "file:":
        return name
    path = name[5:].partition("?")[0].partition("#")[0]
    if path[:2] == "//":
        path = f"/{path[2:].partition('/')[2]}"
    head, *parts = os.fsencode(path).split(b"%")
    try:
        decoded = b"".join(bytes.fromhex(part[:2].decode()) + part[2:] for part in parts)
    except ValueError:
        return path
    return os.fsdecode(head + decoded)


def _is_in_memory(name: str) -> bool:
    """Whether SQLite keeps a database in memory for one connection alone ("In-Memory Databases" of
    its documentation).
    """
    _, question, query = name.partition("?")
    parameters = query.partition("#")[0].split("&") if question and name[:5] == "file:" else []
    is_in_memory = _path_of_uri(name) == ":memory:" or "mode=memory" in parameters
    return is_in_memory and "cache=shared" not in parameters


def _texts(code: CodeType, space: dict[str, Any]) -> Iterator[str]:
    """The texts that are constants of code, or what constants of its module have that it names."""
    for constant in code.co_consts:
        if type(constant) is CodeType:  # a comprehension
            yield from _texts(constant, space)
        else:
            yield from _texts_of(constant)
    for name in code.co_names:
        yield from _texts_of(dict.get(space, name))


def _texts_of(value: Any) -> Iterator[str]:
    if type(value) is str:
        yield value
    elif type(value) in (tuple, frozenset):
        yield from (part for part in value if type(part) is str)


def _constants(frame: FrameType) -> set[str]:
    """The texts in code that may be names of variables as programs name theirs (POSIX, 8.1), or the
    beginning of such names.
    """
    texts = [*_texts(frame.f_code, frame.f_globals)]
    for value in [*frame.f_locals.values()]:  # an argument, or its default
        texts += _texts_of(value)
    return {
        text
        for text in texts
        if len(text) >= _SHORTEST_NAME and text.isupper() and text.isidentifier() and text.isascii()
    }


class LastFinder:
    """The last of `sys.meta_path`, which is asked for what no other finder found (importlib,
    "The meta path"), whether code imports it or only looks for it, by whatever name.
    """

    def __init__(
        self,
        note: Callable[[str, Iterable[object] | None], None],
        note_distributions: Callable[[str], None],
    ) -> None:
        self._note, self._note_distributions = note, note_distributions
        self._finders: list[Any] = []
        """The list that it is in: suites replace it."""

    def find_spec(
        self, name: str, path: Iterable[object] | None = None, target: object = None
    ) -> None:
        """Nothing, after it was noted."""
        self._note(name, path)

    def find_distributions(self, context: Any) -> tuple[object, ...]:
        """Nothing either: all distributions are asked for, or one that was not found."""
        name = getattr(context, "name", None)
        self._note_distributions(name if isinstance(name, str) else EVERYTHING)
        return ()

    def install(self) -> None:
        """Be the last one, as long as nobody replaces the list."""
        finders = sys.meta_path
        if finders and finders[-1] is self:
            return
        self.remove()
        finders.append(self)
        self._finders = finders

    def remove(self) -> None:
        """Leave the list, and the one that a suite made of it."""
        for finders in (self._finders, sys.meta_path):
            for finder in list(finders):
                if finder is self:
                    finders.remove(finder)


class Variables:
    """What code of the repository asks of the environment, itself or by libraries."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._environ, self._now = os.environ, vars(os.environ)["_data"]
        self._initial = dict(self._now)
        """The environment as it was at the start."""
        self._listing = _environ_code("__iter__")
        self.asking = [*filter(None, (_environ_code("__getitem__"), self._listing))]
        """Code whose starts are wanted."""
        self._getters = _environ_getters()
        self._environ_files = {code.co_filename for code in self._getters}
        self._clearing = {MutableMapping.clear.__code__, MutableMapping.popitem.__code__}
        self._loaded = sys.modules
        """Tests may replace it."""
        self._pytest = dirname(file_of(self._loaded.get("_pytest")) or "?") + os.sep
        self._for_iter = _operation("FOR_ITER")
        self._copying = 0, 0
        """Where all variables were listed last: (identity of code, instruction)."""

    def asks(self, code: CodeType, asked: Mapping[str, Any], caller: FrameType | None) -> None:
        """One of `asking` starts; `asked`: its arguments."""
        if code is self._listing:
            self._list(asked, caller)
        else:
            self._ask(asked, caller)

    def _ask(self, asked: Mapping[str, Any], frame: FrameType | None) -> None:
        """Code asks for a variable that is as it was at the start."""
        name = asked.get("key")
        if not self._is_environment(asked) or not isinstance(name, str | bytes):
            return
        name = os.fsdecode(name)
        key = self._environ.encodekey(name)
        value = self._now.get(key)
        if value != self._initial.get(key):
            return
        if value is not None and not self._is_value_read(frame):
            return
        asking = self._asking_frame(frame, name)
        if asking is not None:
            self._reads.note_variable(
                SET_VARIABLES if value is not None else VARIABLES, name, asking
            )

    def _list(self, asked: Mapping[str, Any], frame: FrameType | None) -> None:
        """Code lists all variables, or copies them. Which of them it looks for, its constants show
        (`k.startswith("SHOP_")`): of all others that is not known, and terminals have others each
        time.
        """
        if not self._is_environment(asked):
            return
        while frame is not None and frame.f_code.co_filename in self._environ_files:
            if frame.f_code in self._clearing:
                return
            frame = frame.f_back
        if frame is None:
            return
        code = frame.f_code
        self._copying = _identity(code), frame.f_lasti
        # into a copy a program writes what it hands to another one
        is_iterated = code.co_code[frame.f_lasti] == self._for_iter
        asking = self._asking_frame(frame, "")
        texts = _constants(asking) if asking is not None else set()
        names = [*map(self._environ.decodekey, self._initial)] if texts else []
        for text in texts:
            key = self._environ.encodekey(text)
            is_beginning = text.endswith("_")
            is_own = self._now.get(key) != self._initial.get(key)  # a test has set it
            if is_own or not (is_iterated or is_beginning):
                continue
            fitting = [
                name for name in names if name == text or (is_beginning and name.startswith(text))
            ]
            for name in fitting:
                self._reads.note_variable(SET_VARIABLES, name, asking)
            if is_beginning:
                self._reads.note_variable(VARIABLES, text + EVERYTHING, asking)
            elif not fitting:
                self._reads.note_variable(VARIABLES, text, asking)

    def _is_environment(self, asked: Mapping[str, Any]) -> bool:
        """Whether it is a method of `os.environ`, or of `os.environb`, which has the same
        variables.
        """
        mapping = asked.get("self")
        is_environ = type(mapping) is type(self._environ)
        return is_environ and vars(mapping).get("_data") is self._now

    def _asking_frame(self, frame: FrameType | None, name: str) -> FrameType | None:
        """The code of the repository that asks for a variable, by libraries, too (`expandvars`,
        `ChainMap`); None for a library that asks for its own: then the name is a constant of its
        code. These differ from terminal to terminal.
        """
        while frame is not None:
            code = frame.f_code
            if self._reads.is_of_repository(code.co_filename):
                return frame
            # these ask for a variable to set it again after a test (`monkeypatch`, `patch.dict`)
            is_patching = code.co_filename.startswith(self._pytest) or (
                code.co_filename == file_of(self._loaded.get("unittest.mock"))
            )
            is_tool = is_patching or self._reads.is_tool(code.co_filename)
            if is_tool or (name and name in _texts(code, frame.f_globals)):
                return None
            frame = frame.f_back
        return None

    def _is_value_read(self, frame: FrameType | None) -> bool:
        """Whether one variable is read there: `os.environ[NAME]`, `get`, `"%(NAME)s" % os.environ`.
        Not so what copies or lists all variables, or only looks whether one is set.
        """
        if frame is None:
            return False
        code = frame.f_code
        if code.co_filename in self._environ_files:
            return any(code is getter for getter in self._getters)
        return (_identity(code), frame.f_lasti) != self._copying


class Reads:
    """What this process reads of a repository."""

    def __init__(
        self,
        top: str,
        path_of: Callable[[str], str | None],
        stack: Sequence[Reader],
        fail: Callable[[BaseException], None],
    ) -> None:
        self._top = top
        self._prefix = top + os.sep
        self._path_of = path_of
        self._stack = stack
        self.fail = fail
        self._getcwd, self._stat, self._readlink = os.getcwd, os.stat, os.readlink
        self._getframe = sys._getframe
        self._loaded = sys.modules
        self._unresolved = {
            *(*_TOOL_FUNCTIONS, *_LOADER_FUNCTIONS),
            *(*_GLOB_FUNCTIONS, *_HELPER_FUNCTIONS),
        }
        """Functions of modules that are not loaded yet."""
        self._codes: list[CodeType] = []
        """The code of the others, so that no other object gets their identities, …"""
        self._tools: set[int] = set()
        """… the identities of those that are tools, …"""
        self._globs: set[int] = set()
        """… of those that list for a glob, …"""
        self._loaders: set[int] = set()
        """… of those that load source, …"""
        self._helpers: set[int] = set()
        """… and of those in tools that read for their callers."""
        self._kinds: dict[str, int] = {}
        """co_filename → `_HELPER`, `_ACTOR`, `_TOOL`."""
        self._folders: dict[str, bool] = {}
        """Folder outside of the repository by its name → whether it leads into it."""
        self._numbers: dict[str | tuple[str, str], int] = {}
        """The name of a file, or a folder with a pattern → its number."""
        self._absent: set[int] = set()
        """Files that were not there when they were opened for reading."""
        self.finder = LastFinder(self._look, self._look_for_distributions)
        self._files = dict(_asking())
        """Code that looks for files → whether it asks for their state."""
        self._asking_files = {code.co_filename for code in self._files}
        self._lines = _source_code()
        """Code that reads source to show lines of it."""
        self._importing = _importing_code()
        """Code that imports by a name: a module that is loaded is not looked for again."""
        self._code_of_collection = _code_of_collection()
        self.imports: Callable[[object, object, FrameType | None], None] | None = None
        """Who wants to know of these: called with the name, the package and the caller."""
        self._variables = Variables(self)
        self.asking = [*self._files, *self._variables.asking, *self._lines, *self._importing]
        """Code whose starts are wanted."""
        self.written: Any = None
        """The files that tests write (`pytest_kl.written`); None in a process that one starts."""
        self.notes_seen = False
        """Whether somebody asks which files had an event."""
        self._seen: set[str] = set()
        """These files."""
        self.session: dict[str, set[int]] = {}
        """What was read outside of tests → by the file that pytest called; empty: by none."""

    @property
    def too_many(self) -> bool:
        """Whether more was read, or written by tests, than is noted."""
        too_many_written = self.written is not None and self.written.too_many
        return too_many_written or len(self._numbers) >= MOST_KEYS

    def handlers(self) -> dict[str, Callable[[tuple[Any, ...]], None]]:
        """Audit event → who wants it."""
        return {
            "open": self._on_open,
            "sqlite3.connect": self._on_connect,
            "os.listdir": self._on_list,
            "os.scandir": self._on_list,
            "glob.glob/2": self._on_glob,
            "pathlib.Path.glob": self._on_path_glob,
            "pathlib.Path.rglob": self._on_path_rglob,
            "pickle.find_class": self._on_find_class,
        }

    # events: the hook calls a handler, and whoever reads calls the hook

    def _on_open(self, args: tuple[Any, ...]) -> None:
        self._open(args[0], args[2], self._getframe(1).f_back)

    def _on_connect(self, args: tuple[Any, ...]) -> None:
        name = _plain_path(args[0])
        if name and not _is_in_memory(name):
            # it may be made now
            self._open(_path_of_uri(name), os.O_RDWR | os.O_CREAT, self._getframe(1).f_back)

    def _on_list(self, args: tuple[Any, ...]) -> None:
        folder = args[0]
        if folder is None:
            folder = "."
        elif type(folder) is int:
            folder = self._path_of_descriptor(folder)
        else:
            folder = _plain_path(folder)
        if folder:
            self._list(folder, EVERYTHING, self._getframe(1).f_back)

    def _on_find_class(self, args: tuple[Any, ...]) -> None:
        if self.imports is not None:
            self.imports(args[0], None, self._getframe(1).f_back)

    def _path_of_descriptor(self, number: int) -> str:
        """The folder that is open with this number; empty where the system does not show it, or where
        it is one of git.
        """
        try:
            path = self._readlink(f"/proc/self/fd/{number}")
        except OSError:
            return ""
        # who walks the whole repository lists what git and kl write, too
        return "" if "/.git/" in join(path, "") else path

    def _on_glob(self, args: tuple[Any, ...]) -> None:
        pathname, recursive, root, descriptor = args
        if descriptor is None:
            pathname = join(os.fsdecode(root or ""), os.fsdecode(pathname))
            parts = pathname.split("/")
            if not recursive:
                parts = [EVERYTHING if part == "**" else part for part in parts]
            self._glob(parts, self._getframe(1).f_back)

    def _on_path_glob(self, args: tuple[Any, ...]) -> None:
        parts = [*str(args[0]).split("/"), *str(args[1]).split("/")]
        self._glob(parts, self._getframe(1).f_back)

    def _on_path_rglob(self, args: tuple[Any, ...]) -> None:
        parts = [*str(args[0]).split("/"), "**", *str(args[1]).split("/")]
        self._glob(parts, self._getframe(1).f_back)

    def _look(self, name: str, path: Iterable[object] | None) -> None:
        """No finder found a module: it would be in one of these folders as a file, or as a folder,
        which is a package or a namespace package (PEP 420).
        """
        if name.partition(".")[0] in sys.stdlib_module_names:
            return  # of another platform; a file of such a name reaches all tests by itself
        frame = self._getframe(2)
        last = name.rpartition(".")[2]
        try:
            for folder in list(sys.path if path is None else path):
                if isinstance(folder, str):
                    for wanted in (last, f"{last}.py"):
                        self._list(folder or ".", wanted, frame, listing=False)
        # it would be raised in the code that imports something
        except Exception as problem:
            self.fail(problem)

    def _open(self, name: object, flags: int, frame: FrameType | None) -> None:
        """`flags`: as of `os.open`."""
        if type(name) is not str:
            name = _plain_path(name)
        if not name or (name[0] == "<" and name[-1] == ">"):  # code without a file has such a name
            return
        if _METADATA_FOLDERS[0] in name or _METADATA_FOLDERS[1] in name:
            self._read_metadata(_distribution(name), frame)
        if name[:1] != "/":
            name = join(self._getcwd(), name)
        if self.notes_seen:
            self._seen.add(name)
        if self.written is not None and self._stack:
            self.written.opens(name, flags, frame)
        number = self._numbers.get(name)
        if number is None:
            number = self._add(name, name, bool(flags & os.O_CREAT))
        if number >= 0:
            self._count(number, frame, listing=False, source=name.endswith(_SOURCE))

    def take_seen(self) -> set[str]:
        """The files of the repository that were opened with an event since the last time, by
        whatever code.
        """
        seen, self._seen = self._seen, set()
        paths = (self._path_of(name) for name in seen if self._is_inside(name))
        return {path for path in paths if path}

    def _look_for_distributions(self, name: str) -> None:
        try:
            wanted = name.replace("_", "-").replace(".", "-").lower()
            self._read_metadata(wanted, self._getframe(2))
        # it would be raised in the code that asks for distributions
        except Exception as problem:
            self.fail(problem)

    def _read_metadata(self, distribution: str, frame: FrameType | None) -> None:
        """Of installed packages that are imported their version is known, whatever they read."""
        reader = self._stack[-1] if self._stack else None
        actor = self._actor(frame, False, metadata=True)
        is_import = reader is None or getattr(reader, "code", None) is not None
        if not actor or (is_import and not self._path_of(actor)) or self.too_many:
            return
        number = self._numbers.setdefault((INSTALLED, distribution), len(self._numbers))
        if reader:
            reads = reader.reads
        else:
            reads = self.session.setdefault(self._owner(frame), set())
        reads.add(number)

    def asks(self, code: CodeType, frame: FrameType) -> None:
        """One of `asking` starts. What these call themselves belongs to that."""
        caller = frame.f_back
        if code in self._importing:
            is_collected = caller is not None and caller.f_code is self._code_of_collection
            if self.imports is not None and not is_collected:
                arguments = frame.f_locals
                name = arguments.get(self._importing[code])
                self.imports(name, arguments.get("package"), caller)
        elif code in self._lines:
            # from memory, once it was read: then nothing is opened
            self.ask(frame.f_locals.get("filename"), True, caller)
        elif code not in self._files:
            self._variables.asks(code, frame.f_locals, caller)
        elif caller is not None and caller.f_code.co_filename not in self._asking_files:
            self.ask(frame.f_locals.get(code.co_varnames[0]), self._files[code], caller)

    def ask(self, path: object, state: bool, frame: FrameType | None) -> None:
        """Somebody asks whether a file is there, or for its state."""
        path = _plain_path(path)
        if path and self.written is not None and self._stack:
            if path[:1] == "/":
                whole = path
            else:
                whole = join(self._getcwd(), path)
            self.written.finds(whole.rstrip("/") or "/", frame)
        # most questions are about other files: their callers need not be looked at
        if not path or self._is_outside(path) or not self._actor(frame, False):
            return
        if not self._stack and not self._owner(frame):
            return  # pytest and plugins look for their files
        folder, _, name = path.rstrip("/").rpartition("/")
        if state or not name or _MAGIC.intersection(name):
            self._open(path, os.O_RDONLY, frame)
        else:
            self._list(folder or ("/" if path[:1] == "/" else "."), name, frame, listing=False)

    def _glob(self, parts: Sequence[str], frame: FrameType | None) -> None:
        last = len(parts) - 1
        first_pattern = next(
            (
                first_pattern
                for first_pattern, part in enumerate(parts)
                if _MAGIC.intersection(part)
            ),
            last,
        )
        folder = "/".join(parts[:first_pattern]) or ("." if parts[0] else "/")
        self._list(folder, "/".join(parts[first_pattern:]), frame, listing=False)

    def _list(
        self, folder: str, pattern: str, frame: FrameType | None, listing: bool = True
    ) -> None:
        if folder[:1] != "/":
            folder = join(self._getcwd(), folder)
        if self.written is not None and self._stack and _MAGIC.intersection(pattern):
            self.written.lists(folder.rstrip("/") or "/", frame)
        number = self._numbers.get((folder, pattern))
        if number is None:
            number = self._add((folder, pattern), join(folder, ""), False)
        if number >= 0:
            self._count(number, frame, listing)

    def _add(self, key: str | tuple[str, str], name: str, creates: bool) -> int:
        """The number of what was not read yet; negative where it is not noted."""
        if not self._is_inside(name) or self.too_many:
            return -1
        number = self._numbers[key] = len(self._numbers)
        if not creates and not self._exists(name):
            self._absent.add(number)
        return number

    def _is_inside(self, name: str) -> bool:
        if name.startswith(self._prefix):
            return not any(part in name for part in _NOT_READ)
        folder = dirname(name)
        inside = self._folders.get(folder)
        if inside is None:
            if len(self._folders) > _MOST_FOLDERS:
                self._folders.clear()
            inside = join(realpath(folder), "").startswith(self._prefix)
            self._folders[folder] = inside
        return inside

    def _is_outside(self, path: str) -> bool:
        """Whether a question about a path is certainly none about the repository, nor about the
        metadata of a distribution.
        """
        is_whole = path[0] == "/" and path[-1] != "/"
        return (
            is_whole
            and not self._is_inside(path)
            and _METADATA_FOLDERS[0] not in path
            and _METADATA_FOLDERS[1] not in path
        )

    def _exists(self, name: str) -> bool:
        try:
            self._stat(name)
        except (OSError, ValueError):
            return False
        return True

    # whom a read counts for

    def _count(
        self, number: int, frame: FrameType | None, listing: bool, source: bool = True
    ) -> None:
        if self._stack:
            reads = self._stack[-1].reads
            if number not in reads and self._actor(frame, listing, source=source):
                reads.add(number)
        elif self._actor(frame, listing, source=source):
            self.session.setdefault(self._owner(frame), set()).add(number)

    def acts(self, frame: FrameType | None) -> bool:
        """Whether code that opens a file does it for a test, and is no tool."""
        return bool(self._actor(frame, False))

    def _actor(
        self, frame: FrameType | None, listing: bool, metadata: bool = False, source: bool = True
    ) -> str:
        """The file of the nearest caller that reads for itself; empty for a tool, for a glob that
        lists, and for what loads source. `metadata`: it may read metadata by what is a tool
        otherwise.
        """
        filename = ""  # the interpreter opens the script that it runs
        kinds = self._kinds
        tools = self._tools
        globs = self._globs
        while frame is not None:
            code = frame.f_code
            filename = code.co_filename
            kind = kinds.get(filename)
            if kind is None:
                kind = self._learn(filename)
            identity = _identity(code)
            if (
                kind != _HELPER
                and not (metadata and kind == _METADATA)
                and identity not in self._helpers
            ):
                if kind == _ACTOR:
                    return filename
                return ""
            if identity in tools:
                return ""
            if listing and identity in globs and not self._is_without_event(frame):
                return ""
            if source and identity in self._loaders:
                return ""
            frame = frame.f_back
        return filename

    def is_of_repository(self, filename: str) -> bool:
        """Whether what runs there is the repository's."""
        return bool(self._path_of(filename))

    def is_tool(self, filename: str) -> bool:
        """Whether what is read there is read for no test."""
        kind = self._kinds.get(filename)
        return (self._learn(filename) if kind is None else kind) == _TOOL

    def note_variable(self, place: str, name: str, frame: FrameType | None) -> None:
        """Code in this frame asks for a variable. `place`: `VARIABLES`, or `SET_VARIABLES`."""
        if self.too_many:
            return
        number = self._numbers.setdefault((place, name), len(self._numbers))
        if self._stack:
            reads = self._stack[-1].reads
        else:
            reads = self.session.setdefault(self._owner(frame), set())
        reads.add(number)

    def _is_without_event(self, frame: FrameType | None) -> bool:
        """Whether a function of `glob` lists that has no event."""
        while frame is not None and _identity(frame.f_code) in self._globs:
            if frame.f_code.co_name in _GLOBS_WITHOUT_EVENT:
                return True
            frame = frame.f_back
        return False

    def _learn(self, filename: str) -> int:
        for name in list(self._unresolved):
            module = self._loaded.get(name[0])
            if module is not None:
                self._unresolved.discard(name)
                self._resolve(module, name)
        kind = self._kinds[filename] = self._kind(filename)
        return kind

    def _resolve(self, module: object, name: tuple[str, str]) -> None:
        value: object = module
        for part in name[1].split(".") if name[1] else ():
            value = getattr(value, part, None)
        codes = list(_codes(value))
        self._codes += codes
        if name in _GLOB_FUNCTIONS:
            identities = self._globs
        elif name in _LOADER_FUNCTIONS:
            identities = self._loaders
        elif name in _HELPER_FUNCTIONS:
            identities = self._helpers
        else:
            identities = self._tools
        identities.update(map(_identity, codes))

    def _kind(self, filename: str) -> int:
        if filename[:1] == "<":
            return _HELPER
        if self._path_of(filename):
            return _ACTOR
        if self._is_of(filename, _METADATA_MODULES):
            return _METADATA
        if self._is_of(filename, _TOOL_MODULES):
            return _TOOL
        if self._is_of(filename, _HELPER_MODULES):
            return _HELPER
        for name in _TOOL_PACKAGES:
            file = file_of(self._loaded.get(name))
            if file and filename.startswith(dirname(file) + os.sep):
                return _TOOL
        real = realpath(filename)
        standard = real.startswith(_STANDARD) and not any(part in real for part in _INSTALLED)
        if standard:
            return _HELPER
        return _ACTOR

    def _is_of(self, filename: str, names: Sequence[str]) -> bool:
        return any(file_of(self._loaded.get(name)) == filename for name in names)

    def _owner(self, frame: FrameType | None) -> str:
        """The file of the repository that pytest called."""
        owner = ""
        while frame is not None:
            owner = self._path_of(frame.f_code.co_filename) or owner
            frame = frame.f_back
        return owner

    # the result

    def keys(self) -> dict[int, tuple[str, str, bool]]:
        """Number → (path from the top, pattern of a listing or empty, whether it was not there)."""
        paths: dict[int, tuple[str, str, bool]] = {}
        for key, number in self._numbers.items():
            name, pattern = (key, "") if isinstance(key, str) else key
            if name in _ELSEWHERE and pattern:
                paths[number] = (name, pattern, False)
                continue
            path = "" if pattern and realpath(name) == self._top else self._path_of(name)
            if path is not None and (path or pattern):
                paths[number] = (path, pattern, number in self._absent)
        return paths

    def state(self, sort: str, place: str) -> int:
        """The number of a state that tests share, or of a module got by a name; negative where it is
        not noted. `sort`: `STATES`, `STORED`, `TOUCHED`, `RESET`, `NAMED`, `DOCS`.
        """
        if self.too_many:
            return -1
        return self._numbers.setdefault((sort, place), len(self._numbers))

    def number(self, path: str, pattern: str, absent: bool) -> int:
        """The number of what another process read."""
        name = join(self._top, path) if path else self._top
        key = (name, pattern) if pattern else name
        number = self._numbers.setdefault(key, len(self._numbers))
        if absent:
            self._absent.add(number)
        return number


def _plain_path(path: object) -> str:
    """The name of a path; empty for a descriptor, and for what is no path at all."""
    try:
        return os.fsdecode(path)  # type: ignore[arg-type]
    except Exception:  # whatever the `__fspath__` of a test raises
        return ""


def file_of(module: ModuleType | None) -> str | None:
    """The file of a module, whatever it defines itself."""
    try:
        file = object.__getattribute__(module, "__dict__").get("__file__")
    except AttributeError:
        return None
    if isinstance(file, str):
        return file
    return None
