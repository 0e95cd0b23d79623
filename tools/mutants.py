"""Mutation testing: change the code in one spot at a time, and see whether the tests notice.

    python tools/mutants.py [--all] [TARGET ...]

`tools/mutants.toml` names the targets (modules and the tests that must notice) and the known
survivors with reasons. For each target pytest collects the tests once; each mutant then runs in a
fork of that process, where the changed code is put in the place of the imported one. No file is
written below the checkout, and of the environment only `ENVIRONMENT` is there, so that the answer
does not depend on the shell. Exit status: 0; 1 where a target is below its percentage, or a
survivor is not listed, or a listed one is killed or lost; 2 where the tests fail without any
change.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import hashlib
import importlib
import json
import os
import pickle
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

LEAST: Final = 95
"""Percent of the mutants of a target that must be killed, where it sets no `least`."""
SAMPLE: Final = 60
"""Mutants of a target that are tried without `--all`."""
WALL: Final = 120
"""Seconds after which a mutant is taken for one that hangs. CPU time is limited by what the tests
need unchanged.
"""
ENVIRONMENT: Final = frozenset({"HOME", "LANG", "PATH", "TMPDIR"})
"""The variables that tests need to find git and a temporary folder."""
_SURVIVED, _KILLED, _BROKEN = 0, 1, 3


class Key(NamedTuple):
    """What a mutant is known by: no line number, so that it is the same after a change elsewhere in
    the file.
    """

    file: str
    function: str
    line: str
    """The source line, without indentation."""
    change: str


@dataclass(frozen=True)
class Mutant:
    """One change of one module."""

    key: Key
    number: int
    """Its position among the changes of the module."""
    lines: frozenset[int]
    """Lines of which one must run for the change to matter; empty: the module's own level, it
    always does.
    """


@dataclass(frozen=True)
class Target:
    """What is changed, and the tests that must notice."""

    name: str
    modules: tuple[str, ...]
    """Files; `file.py::function` for a single function of one."""
    tests: tuple[str, ...]
    deselect: tuple[str, ...] = ()
    least: int = LEAST
    """Percent of its mutants that must be killed."""


# Changes
# -------------------------------------------------------------------------------------------------

_COMPARE: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_BINARY: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_SWAPPED: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}
_PLAIN: Final = (ast.Name, ast.Attribute, ast.Call, ast.NamedExpr, ast.Subscript)
"""Conditions that are negated as a whole; in others an operator is changed."""
_NO_CODE: Final = frozenset(
    {"annotation", "returns", "decorator_list", "args:arguments", "type_params", "bases"}
)


class Site(NamedTuple):
    """A node of a module, and where it is."""

    node: ast.AST
    put: Callable[[ast.AST], None]
    """Puts another node in its place."""
    field: str
    function: str
    statement: ast.stmt


def _sites(node: ast.AST, function: str = "", statement: ast.stmt | None = None) -> Iterator[Site]:
    for name, value in ast.iter_fields(node):
        for index, child in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(child, ast.AST) or not _is_code(node, name, child):
                continue
            inside, around = function, child if isinstance(child, ast.stmt) else statement
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inside = f"{function}.{child.name}".lstrip(".")
            assert around is not None
            yield Site(
                child, _putter(node, name, index, isinstance(value, list)), name, inside, around
            )
            yield from _sites(child, inside, around)


def _putter(node: ast.AST, name: str, index: int, many: bool) -> Callable[[ast.AST], None]:
    def put(new: ast.AST) -> None:
        if many:
            getattr(node, name)[index] = new
        else:
            setattr(node, name, new)

    return put


def _is_code(parent: ast.AST, name: str, child: ast.AST) -> bool:
    """False for what has no effect on behavior (annotations, docstrings), or is no body of a
    function or module.
    """
    if name in _NO_CODE or f"{name}:{type(child).__name__}" in _NO_CODE:
        return False
    if isinstance(parent, ast.ClassDef) and not isinstance(child, ast.FunctionDef):
        return False
    if isinstance(parent, ast.JoinedStr):
        return isinstance(child, ast.FormattedValue)
    if (
        isinstance(child, ast.If)
        and isinstance(child.test, ast.Name)
        and child.test.id == "TYPE_CHECKING"
    ):
        return False
    return not (
        (
            isinstance(child, ast.Import | ast.ImportFrom | ast.JoinedStr)
            and not isinstance(child, ast.JoinedStr)
        )
        or (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant))
    )


Change = tuple[str, str, Callable[[], None]]


def _changes(site: Site) -> Iterator[Change]:
    """Each as (before, after, what makes it)."""
    node = site.node
    if isinstance(node, ast.Compare):
        for index, op in enumerate(node.ops):
            if other := _COMPARE.get(type(op)):
                yield _with(site, lambda new, i=index, o=other: new.ops.__setitem__(i, o()))
    elif isinstance(node, ast.BoolOp):
        swapped = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield _with(site, lambda new: setattr(new, "op", swapped()))
    elif isinstance(node, ast.BinOp | ast.AugAssign) and (binary := _BINARY.get(type(node.op))):
        yield _with(site, lambda new: setattr(new, "op", binary()))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield _instead(site, node.operand)
    elif isinstance(node, ast.Constant) and not isinstance(site.statement, ast.Raise):
        if (value := _other_value(node.value)) is not None:
            yield _instead(site, ast.Constant(value))
    elif isinstance(node, ast.Name) and node.id in _SWAPPED:
        yield _instead(site, ast.Name(_SWAPPED[node.id], ast.Load()))
    elif isinstance(node, ast.Return) and node.value and not isinstance(node.value, ast.Constant):
        yield _with(site, lambda new: setattr(new, "value", None))
    elif _is_removable(node):
        yield _instead(site, ast.Pass())
    if site.field in ("test", "ifs") and isinstance(node, _PLAIN):
        yield _instead(site, ast.UnaryOp(ast.Not(), node))


def _is_removable(node: ast.AST) -> bool:
    """A statement without which the rest still has all its names."""
    if isinstance(node, ast.Assign):
        return not any(isinstance(one, ast.Name | ast.Tuple) for one in node.targets)
    return isinstance(node, ast.Continue | ast.Break | ast.Raise) or (
        isinstance(node, ast.Expr) and not isinstance(node.value, ast.Yield | ast.YieldFrom)
    )


def _other_value(value: object) -> object:
    """None for what stays: texts with a blank are messages, and their wording is not what is judged
    here.
    """
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str) and not any(one.isspace() for one in value):
        return f"XX{value}"
    return None


def _with(site: Site, edit: Callable[[Any], Any]) -> Change:
    new = copy.deepcopy(site.node)
    edit(new)
    return _instead(site, new)


def _instead(site: Site, new: ast.AST) -> Change:
    return _shown(site.node), _shown(new), lambda: site.put(new)


def _shown(node: ast.AST) -> str:
    text = " ".join(ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).split())
    return text if len(text) <= 100 else f"{text[:60]}...{text[-37:]}"


def mutants(path: str, source: str, only: str = "") -> list[Mutant]:
    """All changes of a module, in the order of its source; of one function where `only` names
    one.
    """
    lines, found, seen = source.splitlines(), [], Counter[Key]()
    for number, (site, (before, after, _)) in enumerate(_all_changes(ast.parse(source))):
        line = lines[getattr(site.node, "lineno", site.statement.lineno) - 1].strip()
        key = Key(path, site.function, line, f"{before} -> {after}")
        seen[key] += 1
        if seen[key] > 1:
            key = key._replace(change=f"{key.change} (#{seen[key]})")
        if not only or site.function.split(".")[0] == only:
            found.append(Mutant(key, number, _lines(site) if site.function else frozenset()))
    return found


def _all_changes(tree: ast.Module) -> Iterator[tuple[Site, Change]]:
    for site in list(_sites(tree)):
        for change in _changes(site):
            yield site, change


def _lines(site: Site) -> frozenset[int]:
    statement, node = site.statement, site.node
    first = node if isinstance(node, ast.expr) and hasattr(statement, "body") else statement
    return frozenset(
        {statement.lineno, *range(first.lineno, (first.end_lineno or first.lineno) + 1)}
    )


def changed(source: str, number: int) -> ast.Module:
    """The module with one of its changes made."""
    tree = ast.parse(source)
    change = next(change for at, (_, change) in enumerate(_all_changes(tree)) if at == number)
    change[2]()
    return ast.fix_missing_locations(tree)


# Putting a change in place
# ------------------------------------------------------------------------------------------


class NotImportable(Exception):
    """The changed module fails when it is imported: every test would notice."""


def install(module: types.ModuleType, tree: ast.Module, function: str) -> None:
    """Give an imported module the changed code: others that imported its functions have the same
    objects.

    A function gets the code and defaults of the changed one. A variable of the module is replaced
    wherever a module has it under its name.
    """
    new = dict(vars(module))
    code = compile(tree, str(module.__file__), "exec", dont_inherit=True)
    try:
        exec(code, new)
    except Exception as error:
        raise NotImportable from error
    if function:
        old_function, new_function = _function(vars(module), function), _function(new, function)
        old_function.__code__ = new_function.__code__
        return
    old = dict(vars(module))
    for name, value in new.items():
        if (
            name not in old
            or name.startswith("__")
            or isinstance(value, type | types.FunctionType | types.ModuleType)
        ):
            continue
        for other in list(sys.modules.values()):
            if getattr(other, "__dict__", {}).get(name) is old[name]:
                setattr(other, name, value)


def _function(names: dict[str, Any], path: str) -> Any:
    """The outermost function of this dotted name, without what decorates it."""
    member: Any = None
    for name in path.split("."):
        member = names[name] if member is None else vars(member)[name]
        if isinstance(member, cached_property):
            member = member.func
        member = getattr(member, "fget", None) or getattr(member, "__func__", member)
        member = getattr(member, "__wrapped__", member)
        if isinstance(member, types.FunctionType):
            return member
    raise TypeError(f"{path} is no function")


# Running
# -------------------------------------------------------------------------------------------------


@dataclass
class Result:
    """What became of the mutants of a target."""

    target: str
    of: int = 0
    killed: list[Key] = field(default_factory=list)
    timeouts: int = 0
    survived: list[tuple[Key, str]] = field(default_factory=list)
    """With a remark where no test reaches the line."""
    known: frozenset[Key] = frozenset()
    """All mutants that there are, tried or not."""
    error: str = ""
    seconds: float = 0.0

    @property
    def percent(self) -> float:
        """Of the tried mutants those that a test noticed."""
        tried = len(self.killed) + len(self.survived)
        return 100 * len(self.killed) / tried if tried else 100.0


class Runner:
    """The pytest plugin that, once the tests are collected, runs them on one mutant after the
    other.
    """

    def __init__(self, target: Target, number: int, jobs: int, folder: Path) -> None:
        self.result, self.jobs, self.folder = Result(target.name), jobs, folder
        self.target, self.number = target, number
        self.sources: dict[str, str] = {}
        self.reached: list[tuple[float, frozenset[tuple[str, int]]]] = []
        self.cpu = 0

    def pytest_runtestloop(self, session: Any) -> bool:
        if session.testsfailed or not session.items:
            self.result.error = "the tests could not be collected"
            return True
        chosen = self.choose()
        modules = {path: importlib.import_module(_dotted(path)) for path in self.sources}
        for path, module in modules.items():
            if Path(str(module.__file__)).resolve() != Path(path).resolve():
                self.result.error = f"{path} is imported from {module.__file__}"
                return True
        gc.collect()
        gc.freeze()
        if not self.baseline(session):
            return True
        todo, running = list(reversed(chosen)), dict[int, Mutant]()
        while todo or running:
            while todo and len(running) < self.jobs:
                mutant = todo.pop()
                if order := self.order(mutant, session.items):
                    running[self.start(session, order, mutant, modules[mutant.key.file])] = mutant
                else:
                    self.result.survived.append((mutant.key, "no test reaches it"))
            if running:
                pid, status = os.wait()
                if mutant := running.pop(pid, None):
                    self.judge(mutant, status)
                    shutil.rmtree(self.folder / str(pid), ignore_errors=True)
        return True

    def choose(self) -> list[Mutant]:
        """The mutants to try: a sample that does not depend on the position of a line or on other
        files.
        """
        every: list[Mutant] = []
        for module in self.target.modules:
            path, _, function = module.partition("::")
            self.sources[path] = Path(path).read_text("utf-8")
            every += mutants(path, self.sources[path], function)
        keys = frozenset(mutant.key for mutant in every)
        self.result.of, self.result.known = len(every), keys
        drawn = sorted(keys, key=lambda key: hashlib.sha256(repr(tuple(key)).encode()).digest())
        sample = frozenset(drawn[: self.number])
        return [mutant for mutant in every if mutant.key in sample]

    def order(self, mutant: Mutant, items: Sequence[Any]) -> list[Any]:
        """The tests that reach the change, the fastest first, then the others; none where no test
        reaches it.
        """
        wanted = {(mutant.key.file, line) for line in mutant.lines}
        reaching = [
            at for at, (_, lines) in enumerate(self.reached) if not wanted or wanted & lines
        ]
        reaching.sort(key=lambda at: self.reached[at][0])
        rest = [at for at in range(len(items)) if at not in set(reaching)]
        return [items[at] for at in (*reaching, *rest)] if reaching else []

    def baseline(self, session: Any) -> bool:
        """Run everything unchanged, and note which test reaches which lines."""
        report = self.folder / "baseline"
        pid = os.fork()
        if not pid:
            with _exit_at_the_end():
                _own_folder(self.folder)
                seen = _reached_lines(session, frozenset(self.sources))
                used = resource.getrusage(resource.RUSAGE_SELF)
                report.write_bytes(pickle.dumps((seen, used.ru_utime + used.ru_stime)))
        os.waitpid(pid, 0)
        seen, cpu = pickle.loads(report.read_bytes()) if report.exists() else ([], 0)
        if len(seen) < len(session.items) or session.testsfailed:
            at = session.items[len(seen) - 1].nodeid if seen else "the first test"
            self.result.error = f"{at} fails without any change"
            return False
        self.reached, self.cpu = seen, int(cpu * 2) + 3
        return True

    def start(
        self, session: Any, order: Sequence[Any], mutant: Mutant, module: types.ModuleType
    ) -> int:
        if pid := os.fork():
            return pid
        with _exit_at_the_end():
            _own_folder(self.folder)
            resource.setrlimit(resource.RLIMIT_CPU, (self.cpu, self.cpu + 5))
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(WALL)
            try:
                install(
                    module,
                    changed(self.sources[mutant.key.file], mutant.number),
                    mutant.key.function,
                )
            except NotImportable:
                os._exit(_KILLED)
            except Exception:
                traceback.print_exc()
                os._exit(_BROKEN)
            _run(session, order)
        raise AssertionError

    def judge(self, mutant: Mutant, status: int) -> None:
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == _SURVIVED:
            self.result.survived.append((mutant.key, ""))
            return
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == _BROKEN:
            self.result.error = f"a change could not be put in place: {mutant.key}"
        self.result.killed.append(mutant.key)
        self.result.timeouts += os.WIFSIGNALED(status) and os.WTERMSIG(status) in (
            signal.SIGXCPU,
            signal.SIGALRM,
        )


class _exit_at_the_end:
    """A forked child never returns into the code of its parent."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        os._exit(_KILLED if error is not None else _SURVIVED)


def _own_folder(folder: Path) -> None:
    """Temporary files of this child are below a folder of its own, which the parent removes."""
    mine = folder / str(os.getpid())
    mine.mkdir()
    os.environ["PYTEST_DEBUG_TEMPROOT"] = os.environ["TMPDIR"] = str(mine)
    tempfile.tempdir = None


def _run(session: Any, items: Sequence[Any]) -> None:
    """Run tests up to the first that fails."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            raise AssertionError


def _reached_lines(
    session: Any, files: frozenset[str]
) -> list[tuple[float, frozenset[tuple[str, int]]]]:
    """For each test (its CPU seconds, the lines of these files that it runs); ends after one that
    fails.
    """
    names = {str(Path(path).resolve()): path for path in files}
    lines: set[tuple[str, int]] = set()
    monitoring, tool = sys.monitoring, sys.monitoring.COVERAGE_ID

    def on_line(code: types.CodeType, line: int) -> object:
        if path := names.get(code.co_filename):
            lines.add((path, line))
        # this line, until `restart_events`: so that it costs next to nothing
        return monitoring.DISABLE

    monitoring.use_tool_id(tool, "mutants")
    monitoring.register_callback(tool, monitoring.events.LINE, on_line)
    monitoring.set_events(tool, monitoring.events.LINE)
    found: list[tuple[float, frozenset[tuple[str, int]]]] = []
    for item, following in zip(session.items, [*session.items[1:], None], strict=True):
        lines.clear()
        monitoring.restart_events()
        began = time.process_time()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        found.append((time.process_time() - began, frozenset(lines)))
        if session.testsfailed:
            return found[:-1] if len(found) == len(session.items) else found
    return found


def _dotted(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def try_target(target: Target, number: int, jobs: int) -> Result:
    """Run the mutants of one target, in a process of its own."""
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))
    answer, log = folder / "answer", folder / "log"
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        with _exit_at_the_end(), log.open("w") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
            answer.write_bytes(pickle.dumps(_collect_and_run(target, number, jobs, folder)))
    os.waitpid(pid, 0)
    result = (
        pickle.loads(answer.read_bytes())
        if answer.exists()
        else Result(target.name, error="pytest ended early")
    )
    if result.error:
        result.error += "\n" + log.read_text("utf-8", "replace")[-3000:]
    shutil.rmtree(folder, ignore_errors=True)
    result.seconds = time.monotonic() - began
    return result


def _collect_and_run(target: Target, number: int, jobs: int, folder: Path) -> Result:
    sys.dont_write_bytecode = True
    for name in os.environ.keys() - ENVIRONMENT:
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.path.insert(0, str(Path.cwd()))
    import pytest
    from hypothesis import Phase, settings

    # The same examples each time, none of earlier runs, and no search for a smaller one: a failure
    # is enough.
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile(
        "mutants", deadline=None, max_examples=25, derandomize=True, database=None, phases=phases
    )
    runner = Runner(target, number, jobs, folder)
    options = [
        "-q",
        "-s",
        "-p",
        "no:cacheprovider",
        "-p",
        "_hypothesis_pytestplugin",
        "--hypothesis-profile=mutants",
    ]
    skipped = [f"--deselect={one}" for one in target.deselect]
    pytest.main([*options, *skipped, *target.tests], plugins=[runner])
    return runner.result


# The answer
# -------------------------------------------------------------------------------------------------


def read_config(path: Path) -> tuple[list[Target], dict[Key, str]]:
    """The targets, and the survivors that are known with the reason of each."""
    data = tomllib.loads(path.read_text("utf-8"))
    targets = [
        Target(
            name,
            tuple(fields["modules"]),
            tuple(fields["tests"]),
            tuple(fields.get("deselect", ())),
            fields.get("least", LEAST),
        )
        for name, fields in data["target"].items()
    ]
    known = {
        Key(*(one[name] for name in Key._fields)): one["reason"] for one in data.get("survivor", ())
    }
    return targets, known


def report(result: Result, listed: Iterable[Key], least: int = LEAST) -> bool:
    """Print what became of a target; True where everything is as it should be."""
    if result.error:
        print(f"{result.target}: {result.error}")
        return False
    tried = len(result.killed) + len(result.survived)
    mine = set(listed)
    print(
        f"{result.target:10} {tried:4} of {result.of:4} mutants: {len(result.killed)} killed"
        f" ({result.timeouts} by a timeout), {len(result.survived)} survived"
        f" ({sum(key in mine for key, _ in result.survived)} listed), {result.percent:.1f} %"
        f"  [{result.seconds:.0f} s]"
    )
    new = [(key, remark) for key, remark in result.survived if key not in mine]
    for key, remark in new:
        print(f"\n[[survivor]]{'  # ' + remark if remark else ''}")
        print(
            "\n".join(
                f"{name} = {json.dumps(value, ensure_ascii=False)}"
                for name, value in key._asdict().items()
            )
        )
        print('reason = ""')
    dead = mine.intersection(result.killed)
    for key in sorted(dead):
        print(f"killed, but listed as a survivor: {key.file}: {key.function}: {key.change}")
    if result.percent < least:
        print(f"{result.target}: fewer than {least} % killed.")
    return not new and not dead and result.percent >= least


def main(args: Sequence[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help="those of the configuration; all by default"
    )
    parser.add_argument(
        "--all", action="store_true", help=f"all mutants, not a sample of {SAMPLE} for each target"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (default: 2)")
    parser.add_argument("--config", type=Path, default=Path("tools/mutants.toml"))
    given = parser.parse_args(args)
    targets, known = read_config(given.config)
    if unknown := set(given.targets) - {one.name for one in targets}:
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    good, errors = True, False
    for target in targets:
        if given.targets and target.name not in given.targets:
            continue
        result = try_target(target, sys.maxsize if given.all else SAMPLE, given.jobs)
        files = {one.partition("::")[0] for one in target.modules}
        mine = [key for key in known if key.file in files]
        good &= report(result, mine, target.least)
        errors |= bool(result.error)
        for key in mine if not result.error else ():
            if key not in result.known:
                print(
                    f"listed as a survivor, but there is no such mutant: {key.file}:"
                    f" {key.function}: {key.change}"
                )
                good = False
    return 2 if errors else 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
