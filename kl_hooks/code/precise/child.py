"""The inside of the limited processes that the precise scanner works in: `libcst` and `grimp`, one answer a line.

Nothing of the code looked at is imported: libcst gets bytes, grimp is told where each package lies instead of having
it looked up, and no folder of the repository is on `sys.path`.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator
from typing import IO, Any, Final

MEMORY: Final = 4 << 30
"""Bytes of address space that a child may have."""
SECONDS: Final = 60
"""For one file; for the whole graph of grimp ten times as many."""
_STACK: Final = 256 << 20
_DEEP: Final = 20_000
"""Python frames: a libcst visitor takes several for each level of nesting."""


def main(work: str) -> None:
    """Runs `work`, `libcst` or `grimp`, on what stdin holds; the answers go to stdout."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # which ends the process, native code or not
    threading.stack_size(_STACK)
    sys.setrecursionlimit(_DEEP)
    stage = threading.Thread(target=_libcst if work == "libcst" else _grimp)
    stage.start()
    stage.join()


def frames(stream: IO[bytes]) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Reads what `precise_run` writes: a line of JSON with a `size`, then so many bytes."""
    while line := stream.readline():
        about = json.loads(line)
        yield about, stream.read(about["size"])


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


def _libcst() -> None:
    from kl_hooks.code.precise import visit  # what takes long to import is imported before any file's time runs
    from kl_hooks.code.precise.compare import compared

    _say({"ready": visit.__name__})
    for about, content in frames(sys.stdin.buffer):
        signal.alarm(SECONDS)
        try:
            answer = compared(content, about["path"], about["module"])
        except MemoryError:
            answer = {"failed": "it takes too much memory"}
        except RecursionError:
            answer = {"failed": "nested too deeply for a visitor in Python"}
        except Exception as problem:  # whatever a file does to libcst, it costs that file
            answer = {"failed": f"{type(problem).__name__}: {problem}"}
        _say({"path": about["path"], **answer})
    signal.alarm(0)


def _grimp() -> None:
    ((about, _),) = frames(sys.stdin.buffer)
    signal.alarm(10 * SECONDS)
    import grimp

    _tell_where(about["packages"])
    graph = grimp.build_graph(*sorted(about["packages"]), include_external_packages=False, cache_dir=None)
    _say({"modules": sorted(graph.modules)})
    for one in sorted(graph.modules):
        for other in sorted(graph.find_modules_directly_imported_by(one)):
            details = graph.get_import_details(importer=one, imported=other)
            _say({"edge": [one, other, sorted({found["line_number"] for found in details})]})


def _tell_where(packages: dict[str, str]) -> None:
    """Has grimp find these packages in these folders: `find_spec` would import what stands above them, and would find
    Python's own `json` where the repository has one.
    """
    import importlib.util
    from importlib.machinery import ModuleSpec

    def find_spec(name: str, package: str | None = None) -> ModuleSpec | None:
        if name not in packages:
            return None
        init = os.path.join(packages[name], "__init__.py")  # noqa: PTH118
        spec = ModuleSpec(name, None, origin=init if os.path.exists(init) else None, is_package=True)  # noqa: PTH110
        spec.submodule_search_locations = [packages[name]]
        spec.has_location = spec.origin is not None
        return spec

    importlib.util.find_spec = find_spec
