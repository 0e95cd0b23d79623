"""The limited processes that the precise scanner works in: `libcst` and `grimp`, one answer a line.

One that ends before its time costs the file it was at. Nothing of the code looked at is imported:
libcst gets bytes, grimp gets the folder of each package instead of having it looked up, and no
folder of the repository is on `sys.path`.
"""

from __future__ import annotations

import contextlib
import json
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, Final

from kl_hooks.code import grimp_graph
from kl_hooks.code.precise.scan import scan_precise
from kl_hooks.code.scanner.parser import Facts
from kl_hooks.code.scanner.python import scan_guarded
from kl_hooks.errors import EnvironmentProblem

_PARTS: Final = ("line", "end line", "signature", "docstring")


def compare_file(content: bytes, path: str, module: str) -> dict[str, Any]:
    """`{"definitions": n, "imports": n, "differences": [[line, what, fast, precise], …]}`;
    `{"skipped": reason}` for a file that the fast scanner refuses. Raises as `scan_precise`.
    """
    fast = scan_guarded(content, path, module)
    if fast["error"]:
        return {"skipped": fast["error"]}
    precise = scan_precise(content, path, module)
    differences = [*_definitions(fast, precise), *_imports(fast, precise)]
    counts = {"definitions": len(fast["symbols"]) - 1, "imports": len(fast["imports"])}
    return {**counts, "differences": sorted(differences)}


def _definitions(fast: Facts, precise: Facts) -> Iterator[list[Any]]:
    ours = {row[0]: row for row in fast["symbols"]}
    theirs = {row[0]: row for row in precise["symbols"]}
    for name in ours.keys() | theirs.keys():
        fast_row = ours.get(name)
        precise_row = theirs.get(name)
        if fast_row is None or precise_row is None:
            there = fast_row or precise_row or []
            yield [
                there[1],
                name,
                *("defined" if row else "not there" for row in (fast_row, precise_row)),
            ]
            continue
        for place, part in enumerate(_PARTS, start=1):
            if fast_row[place] != precise_row[place]:
                yield [
                    fast_row[1],
                    f"{part} of {name}",
                    str(fast_row[place]),
                    str(precise_row[place]),
                ]


def _imports(fast: Facts, precise: Facts) -> Iterator[list[Any]]:
    ours, theirs = (sorted(tuple(row) for row in facts["imports"]) for facts in (fast, precise))
    # a list and not a set: `import a; import a` are two equal rows
    left = list(theirs)
    for row in ours:
        if row in left:
            left.remove(row)
        else:
            yield [row[3], _named(row), "imported", "not there"]
    for row in left:
        yield [row[3], _named(row), "not there", "imported"]


def _named(row: Sequence[Any]) -> str:
    module, name, level, _, manner, statement = row
    return f"{manner} of {'.' * level}{module}{':' + name if name else ''} ({statement})"


MEMORY: Final = 4 << 30
"""Bytes of address space that a child may have."""
SECONDS: Final = 60
"""For one file; for the whole graph of grimp ten times as many."""
_STACK: Final = 256 << 20
_DEEP: Final = 20_000
"""Python frames: a libcst visitor takes several for each level of nesting."""


def main(library: str) -> None:
    """Runs `library`, `libcst` or `grimp`, on what stdin holds; the answers go to stdout."""
    # only privileged processes may raise a hard limit (setrlimit(2)); a lower one that is set
    # already is as good
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    # libcst's parser overflows its stack at some 1,200 nested brackets (ADR-0001): expected, and
    # worth no core file
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # which ends the process, native code or not
    # ulimit sets the stack of the main thread before we run; that of a new thread can be chosen
    threading.stack_size(_STACK)
    sys.setrecursionlimit(_DEEP)
    stage = threading.Thread(target=_libcst if library == "libcst" else _grimp)
    stage.start()
    stage.join()


def frames(stream: IO[bytes]) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Reads what `precise_run` writes: a line of JSON with a `size`, then so many bytes."""
    while line := stream.readline():
        about = json.loads(line)
        yield about, stream.read(about["size"])


def _print_answer(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


def _libcst() -> None:
    # what takes long to import is imported before any file's time runs
    from kl_hooks.code.precise import scan

    _print_answer({"ready": scan.__name__})
    for about, content in frames(sys.stdin.buffer):
        # a new alarm replaces the one before (alarm(2)): each file has its own time
        signal.alarm(SECONDS)
        try:
            answer = compare_file(content, about["path"], about["module"])
        except MemoryError:
            answer = {"failed": "it takes too much memory"}
        except RecursionError:
            answer = {"failed": "nested too deeply for a visitor in Python"}
        except Exception as problem:  # whatever a file does to libcst, it costs that file
            answer = {"failed": f"{type(problem).__name__}: {problem}"}
        _print_answer({"path": about["path"], **answer})
    signal.alarm(0)


def _grimp() -> None:
    ((about, _),) = frames(sys.stdin.buffer)
    signal.alarm(10 * SECONDS)
    # by folder: looking packages up would import those around them, and find Python's own `json`
    # instead of another
    folders = {name: [folder] for name, folder in sorted(about["packages"].items())}
    graph = grimp_graph.build(folders, externals=False, without_type_checking=False)
    _print_answer({"modules": sorted(graph.modules)})
    for importer in sorted(graph.modules):
        for imported in sorted(graph.find_modules_directly_imported_by(importer)):
            details = graph.get_import_details(importer=importer, imported=imported)
            _print_answer(
                {"edge": [importer, imported, sorted({found["line_number"] for found in details})]}
            )


Job = tuple[str, str, bytes]
"""(path, module, content)"""
_BATCH: Final = 40
_START: Final = (
    "import sys; sys.path += sys.argv[2:]; from kl_hooks.code.precise.process import main;"
    " main(sys.argv[1])"
)


def assess_files(
    jobs: Sequence[Job], processes: int = 2, tick: Callable[[int], None] | None = None
) -> dict[str, dict[str, Any]]:
    """Path → the child's answer (see `compare_file`), or `{"failed": reason}`.

    Batches of files go to `processes` children at a time; where one ends (a crash in native code,
    too much memory or time) the file it was at is named, and a new child goes on after it. `tick`
    hears how many more files are done.
    """
    answers: dict[str, dict[str, Any]] = {}
    batches = [jobs[start : start + _BATCH] for start in range(0, len(jobs), _BATCH)]
    with ThreadPoolExecutor(max(1, processes)) as pool:
        for done in pool.map(_batch, batches):
            answers |= done
            if tick is not None:
                tick(len(done))
    return answers


def grimp_edges(packages: dict[str, str]) -> tuple[set[str], dict[tuple[str, str], list[int]]]:
    """What grimp sees in packages (name → folder): the modules, and (importer, imported) → lines.

    EnvironmentProblem if it does not come to an end: one file that it can't read fails a whole
    graph.
    """
    # longer than the child's own alarm (10 * SECONDS), which ends native code too: that is set only
    # once it has started
    exit_code, lines, complaint = _child("grimp", [({"packages": packages}, b"")], 11 * SECONDS)
    if exit_code:
        raise EnvironmentProblem(
            f"grimp gave up: {complaint or _exit_reason(exit_code)}",
            place="kl graph build --precise",
        )
    modules: set[str] = set()
    links: dict[tuple[str, str], list[int]] = {}
    for answer in lines:
        if "edge" in answer:
            importer, imported, numbers = answer["edge"]
            links[importer, imported] = numbers
        else:
            modules.update(answer["modules"])
    return modules, links


def _batch(jobs: Sequence[Job]) -> dict[str, dict[str, Any]]:
    answer_of: dict[str, dict[str, Any]] = {}
    remaining = list(jobs)
    while remaining:
        frames = [
            ({"path": path, "module": module}, content) for path, module, content in remaining
        ]
        exit_code, answers, complaint = _child("libcst", frames, SECONDS * (len(remaining) + 1))
        if not answers:  # its first line is that it is ready
            raise EnvironmentProblem(
                f"libcst can't be run: {complaint}", place="kl graph build --precise"
            )
        for answer in answers[1:]:
            answer_of[answer.pop("path")] = answer
        remaining = [job for job in remaining if job[0] not in answer_of]
        if remaining:
            # answers come in the order of the files: the first one without an answer is where the
            # child ended
            answer_of[remaining[0][0]] = {"failed": _exit_reason(exit_code)}
            del remaining[0]
    return answer_of


def _child(
    library: str, frames: Iterable[tuple[dict[str, Any], bytes]], seconds: int
) -> tuple[int, list[dict[str, Any]], str]:
    """(exit code, the lines it answered, the last line that it wrote to stderr)"""
    written = b"".join(
        json.dumps({**about, "size": len(content)}).encode() + b"\n" + content
        for about, content in frames
    )
    # -I: no PYTHON* variable and no current folder on sys.path; -S: no site-packages, whose .pth
    # files run code
    command = [sys.executable, "-I", "-S", "-c", _START, library, *_library_folders()]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/"
    ) as child:
        try:
            out, complaint = child.communicate(written, timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            # once more after kill(), as the docs of subprocess ask: it collects the child and what
            # it had written
            out, complaint = child.communicate()
        code = child.returncode
    # what follows the last line end is half an answer of a child that was ended
    answer_lines = [line for line in out.split(b"\n")[:-1] if line.startswith(b"{")]
    last_error_line = complaint.decode("utf-8", "replace").strip().rpartition("\n")[2]
    if last_error_line and not answer_lines:  # it complained, and answered nothing
        code = code or 1
    return code, [json.loads(line) for line in answer_lines], last_error_line


def _library_folders() -> list[str]:
    """The folders that we and both libraries are imported from, which an isolated child may not
    know.
    """
    from importlib.util import find_spec

    specs = [find_spec(name) for name in ("kl_hooks", "libcst", "grimp")]
    return list(
        dict.fromkeys(str(Path(spec.origin).parents[1]) for spec in specs if spec and spec.origin)
    )


def _exit_reason(exit_code: int) -> str:
    """Why a child ended, for people."""
    if exit_code == -signal.SIGALRM or exit_code == -signal.SIGKILL:
        return f"took longer than {SECONDS} seconds"
    if exit_code < 0:
        return f"ended the process that read it ({signal.Signals(-exit_code).name})"
    return "ended the process that read it"
