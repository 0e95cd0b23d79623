"""Rewrites files in a process of its own, with limits: what kills libcst kills no command. Nothing is written here.

`rewrite_apart` starts it; `main` is what runs inside: a job per line of stdin, an answer per line of stdout.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Row = Sequence[Any]
_SECONDS: Final = 60
"""For one file."""
_MEMORY: Final = 2 << 30
_CODE: Final = "from kl_hooks.code.rewrite.process import main; main()"


@dataclass(frozen=True, slots=True)
class Job:
    """One file, and the imports (rows of `code.imports_found`) to move or drop there."""

    content: bytes
    moves: tuple[Row, ...]
    drops: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What became of a job."""

    content: bytes
    """As it was, where nothing could be done."""
    left: tuple[tuple[Row, str], ...] = ()
    """Imports that could not be moved or dropped, each with the reason as a clause."""


def rewrite_apart(jobs: Mapping[str, Job]) -> dict[str, Rewritten]:
    """Path → result for every job. A file on which the process dies or hangs stays as it is, with the reason."""
    todo = list(jobs)
    found: dict[str, Rewritten] = {}
    while todo:
        lines = "".join(json.dumps(_plain(jobs[path])) + "\n" for path in todo)
        answers, trouble = _run(lines, _SECONDS + 2 * len(todo))
        for path, answer in zip(todo, answers, strict=False):
            rows = {json.dumps(row): row for row in (*jobs[path].moves, *jobs[path].drops)}
            left = tuple((rows[json.dumps(row)], str(reason)) for row, reason in answer["left"])
            found[path] = Rewritten(base64.b64decode(answer["content"]), left)
        if len(answers) < len(todo):  # it died on this one: the others get another process
            path = todo[len(answers)]
            job = jobs[path]
            found[path] = Rewritten(job.content, tuple((row, trouble) for row in (*job.moves, *job.drops)))
        todo = todo[len(answers) + 1 :]
    return found


def _run(lines: str, seconds: float) -> tuple[list[Any], str]:
    """The answers that came, and what went wrong, as a clause."""
    command = [sys.executable, "-P", "-c", _CODE]
    try:
        done = subprocess.run(command, input=lines.encode(), capture_output=True, timeout=seconds, check=False)
        out, code = done.stdout, done.returncode
        trouble = f"the rewriting died on this file ({f'signal {-code}' if code < 0 else f'exit {code}'})"
    except subprocess.TimeoutExpired as late:
        out, trouble = late.stdout or b"", f"the rewriting took more than {seconds:.0f} s"
    answers = []
    for line in out.splitlines(keepends=True):
        if line.endswith(b"\n"):
            answers.append(json.loads(line))
    return answers, trouble


def _plain(job: Job) -> dict[str, Any]:
    content = base64.b64encode(job.content).decode("ascii")
    return {"content": content, "moves": [list(row) for row in job.moves], "drops": [list(row) for row in job.drops]}


def main() -> None:
    """What runs in the process."""
    _limit()
    for line in sys.stdin.buffer:
        job = json.loads(line)
        content, left = rewritten(base64.b64decode(job["content"]), job["moves"], job["drops"])
        answer = {"content": base64.b64encode(content).decode("ascii"), "left": left}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def rewritten(content: bytes, moves: list[Row], drops: list[Row]) -> tuple[bytes, list[tuple[Row, str]]]:
    """The new content, and what could not be done. One import that can't go keeps no other from going."""
    from kl_hooks.code.rewrite.edit import Unfixable, rewrite

    try:
        return rewrite(content, moves, drops), []
    except Unfixable as problem:
        if len(moves) + len(drops) == 1:
            return content, [(row, str(problem)) for row in (*moves, *drops)]
    left: list[tuple[Row, str]] = []
    for rows, moving in ((moves, True), (drops, False)):
        for row in list(rows):
            try:
                rewrite(content, [row] if moving else [], [] if moving else [row])
            except Unfixable as problem:
                rows.remove(row)
                left.append((row, str(problem)))
    try:
        return (rewrite(content, moves, drops) if moves or drops else content), left
    except Unfixable as problem:
        return content, [*left, *((row, str(problem)) for row in (*moves, *drops))]


def _limit() -> None:
    """Memory and processor time of this process, where the system can limit them."""
    try:
        import resource
    except ImportError:
        return
    for what, most in ((resource.RLIMIT_AS, _MEMORY), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(what)
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
