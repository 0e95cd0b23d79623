"""Small programs with tests, executed in this process, with what each test executed as a recorder
names it.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType, ModuleType
from typing import Any

from kl_hooks.code.scanner.python import scan_python
from kl_hooks.evidence.executed import Executed, SymbolHash, TestFile, TestSets
from kl_hooks.evidence.reads import Reads
from kl_hooks.proof.difference import file_symbols
from kl_hooks.proof.facts import (
    Difference,
    FileChange,
    FileSymbols,
    RunFacts,
    Verdict,
)
from kl_hooks.proof.pytest_config import PytestConfigs
from kl_hooks.proof.verdict import judge_results

Files = Mapping[str, str]


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, files: Files) -> None:
        self._files = {
            path.removesuffix(".py").replace("/", "."): (path, text) for path, text in files.items()
        }

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        return importlib.util.spec_from_loader(name, self) if name in self._files else None

    def exec_module(self, module: ModuleType) -> None:
        path, text = self._files[module.__name__]
        exec(compile(text, f"<program>/{path}", "exec", dont_inherit=True), module.__dict__)


@contextmanager
def importable(files: Files) -> Iterator[None]:
    finder = _Finder(files)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for path in files:
            sys.modules.pop(path.removesuffix(".py").replace("/", "."), None)


class _Tracer:
    """Code objects of the program: those called while a module is imported by that module, the
    others by test.
    """

    def __init__(self) -> None:
        self.imported: dict[str, set[tuple[str, str]]] = {}
        self.current: set[tuple[str, str]] = set()

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        found = _place(frame.f_code)
        if event != "call" or found is None:
            return
        outer: FrameType | None = frame
        while outer is not None:
            where = _place(outer.f_code)
            if where and where[1] == "<module>":
                self.imported.setdefault(where[0], set()).add(found)
                return
            outer = outer.f_back
        self.current.add(found)


def _place(code: CodeType) -> tuple[str, str] | None:
    if not code.co_filename.startswith("<program>/"):
        return None
    return code.co_filename.removeprefix("<program>/"), code.co_qualname


def run_program(files: Files) -> tuple[Executed, dict[str, str]]:
    """What the tests of a program executed, and how each ended: its value or exception, as text."""
    tracer = _Tracer()
    ends: dict[str, str] = {}
    sets: dict[str, set[tuple[str, str]]] = {}
    with importable(files):
        for path in sorted(files):
            if not path.rpartition("/")[2].startswith("test_"):
                continue
            module = _traced(
                tracer, lambda path=path: importlib.import_module(path.removesuffix(".py"))
            )  # type: ignore[misc]
            if not isinstance(module, ModuleType):
                ends[path] = repr(module)
                continue
            for name, value in vars(module).items():
                if name.startswith("test") and callable(value):
                    tracer.current = set()
                    ends[f"{path}::{name}"] = re.sub(r" at 0x\w+", "", repr(_traced(tracer, value)))
                    sets[f"{path}::{name}"] = tracer.current
    return _executed(files, tracer.imported, sets), ends


def _traced(tracer: _Tracer, call: Callable[[], Any]) -> Any:
    sys.setprofile(tracer)
    try:
        return call()
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    finally:
        sys.setprofile(None)


def _executed(
    files: Files,
    imported: Mapping[str, set[tuple[str, str]]],
    sets: Mapping[str, set[tuple[str, str]]],
) -> Executed:
    symbols: dict[str, SymbolHash] = {}
    places: dict[str, str] = {}
    named: dict[tuple[str, str], str] = {}
    modules: dict[str, set[str]] = {}
    for path, text in files.items():
        module = path.removesuffix(".py").replace("/", ".")
        facts = scan_python(text.encode(), path, module)
        for at, row in enumerate(facts["symbols"]):
            symbols[row[0]], places[row[0]] = SymbolHash(row[0], row[5]), path
            name = row[0].partition(":")[2].removeprefix(module).removeprefix(".")
            if not row[0].startswith("field:"):
                named[path, name or "<module>"] = row[0]
            if path in imported and (
                row[0].startswith(("namespace:", "type:")) or str(at) in facts["decorators"]
            ):
                modules.setdefault(path, set()).add(row[0])

    def ids(found: Iterable[tuple[str, str]]) -> set[str]:
        return {named[path, re.sub(r"\.<locals>.*", "", name)] for path, name in found}

    for path, found in imported.items():
        modules.setdefault(path, set()).update(ids(found))
    wanted = sorted(set().union(*modules.values(), *(ids(found) for found in sets.values())))
    index = {name: at for at, name in enumerate(wanted)}
    tests: dict[str, dict[str, dict[int, str]]] = {}
    for name, found in sets.items():
        tests.setdefault(name.partition("::")[0], {})[name] = {
            index[one]: "call" for one in ids(found)
        }
    return Executed(
        "a1" * 16,
        "sys.monitoring",
        tuple(symbols[name] for name in wanted),
        TestSets({path: TestFile.of(some) for path, some in tests.items()}),
        {path: frozenset(index[one] for one in some) for path, some in modules.items()},
        {path: imports_of(text, files) for path, text in files.items()},
        {name: places[name] for name in wanted},
        reads=Reads(),
    )


def imports_of(text: str, files: Files) -> tuple[str, ...]:
    names = re.findall(r"^ *(?:from|import) (\w+)", text, re.MULTILINE)
    return tuple(f"{name}.py" for name in dict.fromkeys(names) if f"{name}.py" in files)


def symbols_of_file(text: str | None) -> FileSymbols | None:
    return None if text is None else file_symbols(scan_python(text.encode(), "a.py", "_"))


def difference_of(before: Files, now: Files) -> Difference:
    """As `proof.difference` reads it from git."""
    changes = {}
    for path in before.keys() | now.keys():
        old, new = before.get(path), now.get(path)
        if old != new:
            states = ("100644 a" if old is not None else "", "100644 b" if new is not None else "")
            changes[path] = FileChange(path, *states, symbols_of_file(old), symbols_of_file(new))

    def mentions(words: Iterable[str]) -> dict[str, frozenset[str]]:
        return {
            word: frozenset(
                path for path, text in now.items() if re.search(rf"\b{re.escape(word)}\b", text)
            )
            for word in words
        }

    def text(path: str, at: int) -> bytes | None:
        content = (now if at else before).get(path)
        return None if content is None else content.encode()

    configs = PytestConfigs.of(now, lambda path: text(path, 1))
    return Difference(
        changes,
        mentions=mentions,
        text=text,
        python_files=lambda: frozenset(path for path in now if path.endswith(".py")),
        pytest_config=configs.for_file,
    )


def verdicts(before: Files, now: Files) -> tuple[dict[str, Verdict], dict[str, str]]:
    """What of a run of the tests of `before` holds for `now`; and how the tests ended."""
    executed, ends = run_program(before)
    return judge_results(RunFacts(executed, True), difference_of(before, now), ends), ends
