"""What a task should be told whatever its words are: active objectives, the features it names, feedback on them; and
failures that fit it, with how often they happened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kl_hooks.kinds.failure.recording import failure_candidate
from kl_hooks.kinds.feature.detect import feature_ids, specs
from kl_hooks.kinds.objective.linking import objective_candidate
from kl_hooks.kinds.turn.continuing import continuation, is_rejected, last_turns
from kl_hooks.model.package import Candidate
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.records.ask import Wanted, every, search
from kl_hooks.records.files import KNOWLEDGE
from kl_hooks.records.liveness import is_live
from kl_hooks.records.retrieve import as_committed, candidate

if TYPE_CHECKING:
    from kl_hooks.model.task import Task
    from kl_hooks.workspace.open import Workspace

OBJECTIVES: Final = 5
"""Active objectives that every package tells of, those changed last first."""
FAILURES: Final = 5
FEATURES: Final = 3


def find_standing(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """At most `limit` of them: feedback and features first, then objectives, then failures."""
    found = [*_features(ws, task), *_objectives(ws), *_failures(ws, task)]
    return as_committed(ws, list({one.id: one for one in found}.values())[:limit])


def _objectives(ws: Workspace) -> Iterator[Candidate]:
    active = [one for one in every(ws, Wanted(("objective",), ("active",))) if is_live(ws, one)]
    active.sort(key=lambda one: (one.text("updated") or one.text("date"), one.id), reverse=True)
    more = len(active) - OBJECTIVES
    for number, record in enumerate(active[:OBJECTIVES]):
        made = replace(objective_candidate(ws, record), standing=True, reasons=("an active objective",))
        if number == 0:
            others = f"(+{len(active) - 1} more active) " if len(active) > 1 else ""
            said = f"\n{len(active)} objectives are active; the newest {OBJECTIVES} are shown" if more > 0 else ""
            line = made.summary.removeprefix(f"{record.id} ")  # the line above it names the ID
            made = replace(made, pinned=True, text=made.text + said, summary=others + line)
        if more > 0 and number == OBJECTIVES - 1:
            made = replace(made, text=f"{made.text}\nand {more} more active objectives: kl objective status")
        yield made


def _features(ws: Workspace, task: Task) -> Iterator[Candidate]:
    named = feature_ids(task.text)[:FEATURES]
    if not named:
        return
    records = {one.id.upper(): one for one in every(ws, Wanted(("feature",))) if is_live(ws, one)}
    turns = [one for one in every(ws, Wanted(("turn",))) if is_live(ws, one)]
    files = specs(ws.root)
    for name in named:
        yield from _turns(ws, turns, name)
        if name in records:
            yield replace(candidate(ws, records[name]), standing=True, reasons=("the task names it",))
        elif name in files and not files[name].startswith(KNOWLEDGE):
            text = f"{name} is specified in {files[name]}"
            yield Candidate(f"file:{files[name]}", "feature", name, text, text, path=files[name], line=1, standing=True,
                            authority="human", reasons=("the task names it",))  # fmt: skip


def _turns(ws: Workspace, turns: list[Record], feature: str) -> Iterator[Candidate]:
    """For every task of the feature: where its turns stand, if the last one was rejected."""
    tasks = sorted({one.text("task_id") for one in turns if one.text("feature_id").upper() == feature})
    for name in tasks:
        last = last_turns(turns, feature, name)
        if last and is_rejected(last[-1]):
            must = one_line(last[-1].text("coach_feedback"), 160)
            yield replace(candidate(ws, last[-1]), text=continuation(last[-1:]), standing=True,
                          summary=f"{last[-1].title} was rejected. MUST ADDRESS: {must}",
                          reasons=("feedback on it must be addressed",))  # fmt: skip


def _failures(ws: Workspace, task: Task) -> Iterator[Candidate]:
    """Failures that fit, with the warning and the count. They are held to the floor like everything else."""
    signals = task.signals
    words = [*signals.symbols, *signals.paths, *signals.keywords, *signals.failures]
    if not words or not every(ws, Wanted(("failure",)), 1):
        return
    for record in search(ws, words, Wanted(("failure",)), FAILURES):
        if not is_live(ws, record):
            continue
        yield failure_candidate(ws, record)
