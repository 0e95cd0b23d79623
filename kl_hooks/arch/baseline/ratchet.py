"""The baseline at work: a verdict held against it, and the file on disk that only ever shrinks by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kl_hooks.arch.baseline.accepted import Match, match
from kl_hooks.arch.baseline.file import Accepted, baseline_bytes
from kl_hooks.arch.baseline.read import read_baseline
from kl_hooks.arch.source import LARGEST, WORKTREE, Content, repository
from kl_hooks.arch.verdict import Verdict
from kl_hooks.code.modules import plain_name
from kl_hooks.config.files import read_small
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.evidence.who import ci
from kl_hooks.model.manifest import BASELINE, Violation
from kl_hooks.store.atomic import write_atomic
from kl_hooks.store.folder_lock import folder_locked
from kl_hooks.workspace.open import Workspace


def held(verdict: Verdict, baseline: bytes, modules: Mapping[str, str]) -> tuple[Verdict, Match]:
    """The verdict with what the baseline accepts taken out of what blocks.

    `modules`: path → dotted name. Raises BaselineProblems.
    """
    entries = read_baseline(BASELINE, baseline)
    found = match(entries, verdict.violations, {plain_name(name) for name in modules.values()})
    return replace(verdict, violations=found.new, accepted=found.accepted, baseline=BASELINE), found


def renewed(found: Iterable[Violation], again: Iterable[Violation]) -> tuple[Violation, ...]:
    """`found`, each as another, closer look has it."""
    better = {(one.path, one.line, one.fingerprint): one for one in again}
    return tuple(better.get((one.path, one.line, one.fingerprint), one) for one in found)


def shrink(ws: Workspace, verdict: Verdict, found: Match, seen: Content) -> str:
    """After a clean check of the work tree: takes what is fixed out of the file, gives renamed modules their new names.

    Returns what was done, in one line, or nothing.
    Only a person's own look does it: not a CI job, not a git hook, and not a look that could not judge every file.
    """
    if verdict.source != WORKTREE or seen.baseline is None or not verdict.clean or verdict.unjudged:
        return ""
    gone = total(read_baseline(BASELINE, seen.baseline)) - total(found.needed)
    if not (gone or found.renamed) or ci(ws.environ) or ws.environ.get("PRE_COMMIT"):
        return ""
    done = [f"{gone} fixed"] * bool(gone) + [f"{len(found.renamed)} renamed"] * bool(found.renamed)
    try:
        written = write(ws, found.today, seen.baseline)
    except EnvironmentProblem as problem:
        return f"{problem.place}: {', '.join(done)}, but it {problem.reason}"
    return f"{BASELINE}: {', '.join(done)}, {total(found.today)} left. Commit it." if written else ""


def total(entries: Iterable[Accepted]) -> int:
    """How many imports these entries accept."""
    return sum(entry.count for entry in entries)


def write(ws: Workspace, entries: Iterable[Accepted], before: bytes | None) -> bool:
    """Writes the file, whole or not at all. False, and nothing is written, if it is not `before` any more.

    EnvironmentProblem where it can't be written.
    """
    top = repository(ws).top
    try:
        with folder_locked((top / BASELINE).parent):
            if read_small(top / BASELINE, within=top, most=LARGEST) != before:
                return False
            write_atomic(top / BASELINE, baseline_bytes(entries), within=top)
    except (OSError, ValueError) as error:
        hint = "Is .kl a folder that you may write to?"
        raise EnvironmentProblem(f"can't be written: {error}.", place=BASELINE, hint=hint) from error
    return True
