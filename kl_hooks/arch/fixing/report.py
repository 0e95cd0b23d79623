"""What `kl arch fix` did as text (a unified diff first) and as plain data. Pure."""

from __future__ import annotations

import difflib
import io
import tokenize
from collections.abc import Iterator
from typing import Any, Final

from kl_hooks.arch.fixing.fix import Change, Outcome
from kl_hooks.arch.render import problems, violation
from kl_hooks.model.manifest import Violation
from kl_hooks.model.problem import Problem
from kl_hooks.model.text import one_line, safe_text

SCHEMA: Final = "kl.arch.fix/1"
_COLUMN: Final = 34


def text(outcome: Outcome, unread: tuple[Problem, ...], written: bool, accepted: int = 0) -> list[str]:
    """The lines to print.

    `unread`: governed files that could not be read; `written`: this was no dry run; `accepted`: violations that the
    baseline accepts.
    """
    lines = [line for change in outcome.changes for line in diff(change)]
    lines += [""] if lines else []
    for one, manner in outcome.fixed:
        lines.append(_row(f"{'' if written else 'would be '}{manner}", one))
    for one, reason in outcome.left:
        lines += [_row("not fixed", one), f"  {'':<{_COLUMN}} {one_line(reason, 200)}"]
    lines += [one_line(str(problem), 400) for problem in unread]
    lines += [""] if lines else []
    kept = f" ({accepted} accepted in baseline; fix them too: kl arch fix --accepted)" if accepted else ""
    return [*lines, _closing(outcome, written) + kept]


def _row(manner: str, one: Violation) -> str:
    place = safe_text(f"{one.path}:{one.line}")
    return f"  {place:<{_COLUMN}} {manner}: {one_line(one.statement, 100)}  ({one.source_layer} -> {one.target_layer})"


def _closing(outcome: Outcome, written: bool) -> str:
    fixed, left = len(outcome.fixed), len(outcome.left)
    if not fixed:
        return f"nothing to fix, {left} left: see kl arch check" if left else "clean: nothing to fix"
    files = f"in {_count(len(outcome.changes), 'file')}"
    if not written:
        return (
            f"{_count(fixed, 'violation')} could be fixed {files}, {left} left. Nothing was written: kl arch fix does"
        )
    return f"{_count(fixed, 'violation')} fixed {files}, {left} left" + (": see kl arch check" if left else "")


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def diff(change: Change) -> Iterator[str]:
    """A unified diff, without line endings (which never change)."""
    before, after = (_decoded(content).splitlines() for content in (change.before, change.after))
    for line in difflib.unified_diff(before, after, f"a/{change.path}", f"b/{change.path}", lineterm=""):
        yield safe_text(line)


def _decoded(content: bytes) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    except SyntaxError:
        encoding = "utf-8"
    return content.decode(encoding, "backslashreplace").replace("\r\n", "\n")


def plain(outcome: Outcome, unread: tuple[Problem, ...], written: bool, accepted: int = 0) -> dict[str, Any]:
    """As `--format json` prints it."""
    return {
        "schema": SCHEMA,
        "written": written,
        "accepted": accepted,
        "files": [{"path": change.path, "diff": list(diff(change))} for change in outcome.changes],
        "fixed": [{**violation(one), "manner": manner} for one, manner in outcome.fixed],
        "left": [{**violation(one), "reason": reason} for one, reason in outcome.left],
        "problems": problems(unread),
    }
