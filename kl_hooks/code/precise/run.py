"""Starts the limited processes of the precise scanner; one that ends before its time costs the file it was at."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from kl_hooks.code.precise.child import SECONDS
from kl_hooks.errors import EnvironmentProblem

Job = tuple[str, str, bytes]
"""(path, module, content)"""
_BATCH: Final = 40
_START: Final = "import sys; sys.path += sys.argv[2:]; from kl_hooks.code.precise.child import main; main(sys.argv[1])"


def assessed(
    jobs: Sequence[Job], processes: int = 2, tick: Callable[[int], None] | None = None
) -> dict[str, dict[str, Any]]:
    """Path → the child's answer (see `precise_compare.compared`), or `{"failed": reason}`.

    Batches of files go to `processes` children at a time; where one ends (a crash in native code, too much memory or
    time) the file it was at is named, and a new child goes on after it. `tick` hears how many more files are done.
    """
    found: dict[str, dict[str, Any]] = {}
    batches = [jobs[start : start + _BATCH] for start in range(0, len(jobs), _BATCH)]
    with ThreadPoolExecutor(max(1, processes)) as pool:
        for done in pool.map(_batch, batches):
            found |= done
            if tick is not None:
                tick(len(done))
    return found


def edges(packages: dict[str, str]) -> tuple[set[str], dict[tuple[str, str], list[int]]]:
    """What grimp sees in packages (name → folder): the modules, and (importer, imported) → lines.

    EnvironmentProblem if it does not come to an end: one file that it can't read fails a whole graph.
    """
    ended, lines, complaint = _child("grimp", [({"packages": packages}, b"")], 11 * SECONDS)
    if ended:
        raise EnvironmentProblem(f"grimp gave up: {complaint or _how(ended)}", place="kl graph build --precise")
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
    found: dict[str, dict[str, Any]] = {}
    left = list(jobs)
    while left:
        frames = [({"path": path, "module": module}, content) for path, module, content in left]
        ended, answers, complaint = _child("libcst", frames, SECONDS * (len(left) + 1))
        if not answers:  # it says first that it is ready
            raise EnvironmentProblem(f"libcst can't be run: {complaint}", place="kl graph build --precise")
        for answer in answers[1:]:
            found[answer.pop("path")] = answer
        left = [job for job in left if job[0] not in found]
        if left:
            found[left[0][0]] = {"failed": _how(ended)}
            del left[0]
    return found


def _child(
    work: str, frames: Iterable[tuple[dict[str, Any], bytes]], seconds: int
) -> tuple[int, list[dict[str, Any]], str]:
    """(exit code, the lines it answered, the last line of its complaint)"""
    written = b"".join(
        json.dumps({**about, "size": len(content)}).encode() + b"\n" + content for about, content in frames
    )
    command = [sys.executable, "-I", "-S", "-c", _START, work, *_homes()]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, cwd="/") as child:
        try:
            out, complaint = child.communicate(written, timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            out, complaint = child.communicate()
        code = child.returncode
    whole = [line for line in out.split(b"\n")[:-1] if line.startswith(b"{")]
    said = complaint.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return code or bool(said and not whole), [json.loads(line) for line in whole], said


def _homes() -> list[str]:
    """The folders that we and both libraries are imported from, which an isolated child may not know."""
    from importlib.util import find_spec

    specs = [find_spec(name) for name in ("kl_hooks", "libcst", "grimp")]
    return list(dict.fromkeys(str(Path(spec.origin).parents[1]) for spec in specs if spec and spec.origin))


def _how(ended: int) -> str:
    """Why a child ended, for people."""
    if ended == -signal.SIGALRM or ended == -signal.SIGKILL:
        return f"took longer than {SECONDS} seconds"
    if ended < 0:
        return f"ended the process that read it ({signal.Signals(-ended).name})"
    return "ended the process that read it"
