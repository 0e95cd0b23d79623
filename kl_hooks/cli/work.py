"""`kl task · turn · outcome · objective · gate · role · feature`: pieces of work, their order,
gates and ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kl_hooks.cli.kind_commands import name_options, print_written
from kl_hooks.cli.output import echo, echo_lines, print_rows
from kl_hooks.cli.request_options import operation_command
from kl_hooks.errors import CLEAN, FINDINGS
from kl_hooks.kinds.catalog import FEATURE, GATE
from kl_hooks.kinds.gate import DO_NOT_ADJUST, Gate, render_role
from kl_hooks.kinds.objective import continuation
from kl_hooks.kinds.task import Work
from kl_hooks.model.text import one_line
from kl_hooks.operations import outcomes, own_operations, tasks, work

if TYPE_CHECKING:
    from kl_hooks.model.record import Record

task_new = name_options(operation_command(tasks.NEW)(print_written))


def _plan_code(shown: tasks.ShownPlan, _request: tasks.PlanRequest) -> int:
    if shown.plan.cycles:
        return FINDINGS
    return CLEAN


@operation_command(tasks.PLAN, exit_code=_plan_code)
def plan(shown: tasks.ShownPlan, _request: tasks.PlanRequest) -> None:
    """Print the order of tasks."""
    order = shown.plan
    titles = shown.titles
    for way in order.cycles:
        problem = f"a cycle: {' needs '.join(way)}"
        if len(way) == 2:
            problem = f"{way[0]} needs what it produces itself"
        echo(f"{problem}. Take one of its requirements out.")
    for number, wave in enumerate(order.waves, 1):
        echo_lines(f"{number:>3}  {_titled(name, titles)}" for name in wave)
    unmet = {name for name, _ in order.unmet}
    for name in order.blocked:
        if name not in unmet:
            echo(f"  -  {_titled(name, titles)}   (waits for what can't be begun)")
    for name, token in order.unmet:
        echo(f"  ?  {name} requires {token}: nobody produces it, and it is not there")
    if shown.is_done:
        none = 'no task is open. Make one: kl task new "…"'
        echo("everything is done." if shown.total else none)


def _titled(name: str, titles: Mapping[str, str]) -> str:
    if name not in titles:
        return name
    return f"{name}  {titles[name]}"


@operation_command(tasks.ELIGIBLE)
def eligible(shown: tasks.Eligible, _request: tasks.EligibleRequest) -> None:
    """Print what can be begun, and what the others wait for."""
    rows = [f"now    {_titled(name, shown.titles)}" for name in shown.names]
    for name, tokens in shown.waiting.items():
        rows.append(f"later  {name}  waits for {', '.join(tokens)}")
    print_rows(rows, len(rows), "no task is open.")


@operation_command(tasks.FULFIL)
def fulfil(fulfilled: tasks.Fulfilled, _request: tasks.FulfilRequest) -> None:
    """Print what is done, or there."""
    completed = fulfilled.completed
    if completed is None:
        echo(f"{fulfilled.token} is there.")
        return
    task = completed.task
    outcome = completed.outcome
    echo(f"{task.id}  done  {task.title}")
    if produces := Work.of(task).produces:
        echo(f"    there now: {', '.join(produces)}")
    if outcome:
        echo(f'    outcome    {outcome}: kl outcome edit {outcome} --lessons-learned "…"')


turn_add = operation_command(work.ADD_TURN)(print_written)


@operation_command(work.CONTINUE)
def turn_continue(turns: work.Turns, _request: work.ContinueRequest) -> None:
    """Print what the next turn starts from."""
    echo(continuation(turns.turns).rstrip("\n") or "no turn yet: this is the first.")


@operation_command(outcomes.CAPTURE)
def capture(captured: outcomes.Captured, request: outcomes.CaptureRequest) -> None:
    """Print the outcome, or what would be recorded."""
    for outcome in captured.recorded:
        print_written(outcome, request)
    if captured.id and not captured.recorded:
        echo(captured.id)
    for name, value in captured.fields.items():
        echo(f"{name:<20} {'; '.join(value) if isinstance(value, tuple) else value}")


@operation_command(outcomes.SIMILAR)
def similar(ended: outcomes.Outcomes, _request: outcomes.SimilarRequest) -> None:
    """Print how tasks like one ended."""
    none = "no outcome shares a word with it. Record one at the end of a task: kl outcome capture"
    print_rows([*map(_similar_text, ended.outcomes.shown)], ended.outcomes.total, none)


def _similar_text(one: Record) -> str:
    """How a task ended, its approach, problems and lessons, a line each."""
    if one.values.get("success"):
        ended = "succeeded"
    else:
        ended = one.text("outcome_type").replace("_", " ")
    lines = [f"{one.id}  {ended}  {one_line(one.title, 120)}"]
    if one.text("approach_used"):
        parts = [("approach", one.text("approach_used"))]
    else:
        parts = []
    parts += [("problem", text) for text in one.many("problems_encountered")[:3]]
    parts += [("lesson", text) for text in one.many("lessons_learned")[:3]]
    return "\n".join(lines + [f"    {name:<8}  {one_line(text, 160)}" for name, text in parts])


objective_new = name_options(operation_command(work.NEW_OBJECTIVE)(print_written))


@operation_command(work.STATUS)
def objective_status(objectives: work.Objectives, _request: work.StatusRequest) -> None:
    """Print how far objectives are."""
    pages = []
    for record, progress in objectives.objectives:
        if record.status != "active":
            state = [f"({record.status})"]
        else:
            state = []
        pages.append("\n".join([*progress.summary(record), *state]))
    none = 'no active objective. Make one: kl objective create --title "…" --tasks "A,B"'
    echo("\n\n".join(pages) or none)


@operation_command(work.LINK)
def objective_link(linked: work.Linked, _request: work.LinkRequest) -> None:
    """Print how far an objective is now."""
    if not linked.states:
        echo(linked.id)
    for record, progress in linked.states:
        echo_lines(progress.summary(record))


@operation_command(own_operations.gates(GATE))
def gate_for(gate_list: own_operations.GateList, request: own_operations.GateRequest) -> None:
    """Print the gates, a line each."""
    echo_lines(Gate(record).line() for record in gate_list.gates)
    none = f"no gate covers complexity {request.complexity}."
    echo(f"Gates hold for the whole session: {DO_NOT_ADJUST}." if gate_list.gates else none)


@operation_command(work.ROLE_SHOW)
def role_show(shown: work.ShownRole, _request: work.RoleRequest) -> None:
    """Print what an actor in a role must do."""
    echo(render_role(shown.record).rstrip("\n"))


@operation_command(own_operations.detect(FEATURE))
def feature_detect(feature_list: own_operations.FeatureList, request: Any) -> None:
    """Print the features, with the file and the relatives of each."""
    for feature in feature_list.features:
        if feature.record:
            title = feature.record.title
        else:
            title = "(no record)"
        spec = feature.spec or "none found in docs/features, .kl/knowledge/features, features"
        echo_lines([f"{feature.id}  {title}", f"    spec     {spec}"])
        if feature.related:
            echo(f"    related  {', '.join(feature.related)}")
    if not feature_list.features:
        echo("the text names no feature. An id looks like FEAT-AUTH-12.")
