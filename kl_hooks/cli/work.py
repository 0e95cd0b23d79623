"""`kl task · turn · outcome · objective · gate · role · feature`: pieces of work, their order,
gates and ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kl_hooks.cli.kind_commands import make_record, sign_record
from kl_hooks.cli.output import (
    ABOUT,
    Option,
    echo,
    echo_lines,
    format_option,
    given,
    initialized_workspace,
    print_answer,
    print_rows,
    warn,
    workspace,
)
from kl_hooks.cli.record_output import print_record
from kl_hooks.cli.request_options import operation_command
from kl_hooks.errors import CLEAN, FINDINGS, UsageProblem
from kl_hooks.kinds.catalog import FEATURE, GATE
from kl_hooks.kinds.gate import DO_NOT_ADJUST, Gate, render_role
from kl_hooks.kinds.objective import (
    add_turn,
    continuation,
)
from kl_hooks.kinds.task import (
    Work,
    record_outcome,
    record_queued,
    valid_tokens,
)
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.model.text import one_line
from kl_hooks.operations import own_operations, tasks, work
from kl_hooks.records.document import (
    fields_by_heading,
    leading_title,
    read_front_matter,
    split_lines,
)
from kl_hooks.records.query import (
    get_record,
)
from kl_hooks.records.write import validate_or_raise
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace


@click.command(
    "new",
    epilog=(
        'Example: kl task new "Write the lexer" --requires artifact:grammar --produces'
        " file:src/lexer.py"
    ),
)
@click.argument("title", required=False)
@click.option("--title", "title_option", help="What it is, in one line.")
@click.option(
    "--requires",
    multiple=True,
    metavar="TOKEN",
    help="artifact:NAME, file:PATH or symbol:NAME. May be repeated.",
)
@click.option(
    "--produces",
    multiple=True,
    metavar="TOKEN",
    help="What is there once it is done. May be repeated.",
)
@click.option(
    "--type",
    "--task-type",
    "task_type",
    help="The type of work, which selects its gate: feature, docs …",
)
@click.option("--complexity", type=click.IntRange(1, 10), help="How much there is to it, 1 to 10.")
@click.option("--assignee", help="Who does it.")
@click.option("--objective", metavar="ID", help="The objective it serves.")
@click.option("--feature", "feature_id", metavar="ID", help="The feature it belongs to.")
@click.option(
    "--about",
    multiple=True,
    metavar=ABOUT,
    help="The files and symbols it is about. May be repeated.",
)
@click.option("--description", help="What to do.")
@click.option("--agent", is_flag=True, help="An agent makes it.")
@format_option()
def task_new(
    title: str | None, title_option: str | None, agent: bool, shape: str, **options: Any
) -> None:
    """Make a task. What tasks require and produce gives their order: kl task plan."""
    raw = given(options)
    wrong = valid_tokens([*options["requires"], *options["produces"]])[1]
    if wrong:
        raise Problems([Problem("kl task new", 0, 0, f"{one}.") for one in wrong])
    raw |= {"title": title or title_option or ""}
    make_record(workspace().kinds["task"], raw, agent=agent, shape=shape)


def _plan_code(shown: tasks.ShownPlan, _request: tasks.PlanRequest) -> int:
    return FINDINGS if shown.plan.cycles else CLEAN


@operation_command(tasks.PLAN, exit_code=_plan_code)
def plan(shown: tasks.ShownPlan, _request: tasks.PlanRequest) -> None:
    """Print the order of tasks."""
    order, titles = shown.plan, shown.titles
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
    return f"{name}  {titles[name]}" if name in titles else name


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
    task, outcome = completed.task, completed.outcome
    echo(f"{task.id}  done  {task.title}")
    if produces := Work.of(task).produces:
        echo(f"    there now: {', '.join(produces)}")
    if outcome:
        echo(f'    outcome    {outcome}: kl outcome edit {outcome} --lessons-learned "…"')


_NUMBER = click.IntRange(0, 1_000_000)


@click.command(
    "add",
    epilog=(
        'Example: kl turn add --feature FEAT-AUTH-12 --task T-3 --summary "Sign-in works" --review'
        " approved"
    ),
)
@click.option(
    "--feature", "feature_id", required=True, metavar="ID", help="The feature it worked on."
)
@click.option("--task", "task_id", default="", help="The task it worked on.")
@click.option("--summary", "player_summary", help="What was done.")
@click.option(
    "--decision", "player_decision", help="What the player ended with: implemented, blocked …"
)
@click.option(
    "--review",
    "coach_decision",
    type=click.Choice(["approved", "rejected", "pending"], case_sensitive=False),
    help="The result of the review.",
)
@click.option("--feedback", "coach_feedback", help="What the review asks for.")
@click.option("--mode", help="How it was worked: fresh_start, continuing_work, tdd …")
@click.option("--blocker", "blockers_found", multiple=True, help="An obstacle. May be repeated.")
@click.option(
    "--criterion",
    "criteria",
    multiple=True,
    metavar="TEXT=STATE",
    help="An acceptance criterion. May be repeated.",
)
@click.option(
    "--file",
    "files_modified",
    multiple=True,
    metavar="PATH",
    help="A file it changed. May be repeated.",
)
@click.option(
    "--tests-passed",
    "tests_passed",
    cls=Option,
    old=("--passed",),
    type=_NUMBER,
    help="Tests that passed at its end.",
)
@click.option(
    "--tests-failed",
    "tests_failed",
    cls=Option,
    old=("--failed",),
    type=_NUMBER,
    help="Tests that failed at its end.",
)
@click.option("--coverage", type=click.IntRange(0, 100), help="Coverage at its end, percent.")
@click.option("--arch-score", type=click.IntRange(0, 100), help="Score of the architecture review.")
@click.option("--lessons", "lessons_from_turn", help="What was learned.")
@click.option("--next", "what_to_try_next", help="Where the next round should start.")
@click.option("--progress", "progress_summary", help="How far the task is.")
@click.option("--started", "started_at", metavar="MOMENT", help="When it was begun.")
@click.option("--seconds", "duration_seconds", type=_NUMBER, help="How long it took.")
@format_option()
def turn_add(
    feature_id: str, task_id: str, criteria: tuple[str, ...], shape: str, **options: Any
) -> None:
    """Record a turn. It gets the next number of its feature and task."""
    ws = initialized_workspace()
    raw = {
        n: list(v) if isinstance(v, tuple) else v for n, v in options.items() if v not in (None, ())
    }
    states = _criteria(criteria)
    by = sign_record(ws, raw)
    made = add_turn(
        ws,
        feature_id,
        task_id,
        {**raw, **({"acceptance_criteria_status": states} if states else {})},
        by,
    )
    print_record(ws, made, shape)


def _criteria(given: tuple[str, ...]) -> dict[str, str]:
    # from the right: a criterion may have `=` in it (`total = 0`), a state does not
    pairs = [one.rpartition("=") for one in given]
    if any(not sign or not name.strip() for name, sign, _ in pairs):
        raise click.UsageError("--criterion: write TEXT=STATE.")
    return {name.strip(): state.strip() for name, _, state in pairs}


@operation_command(work.CONTINUE)
def turn_continue(turns: work.Turns, _request: work.ContinueRequest) -> None:
    """Print what the next turn starts from."""
    echo(continuation(turns.turns).rstrip("\n") or "no turn yet: this is the first.")


_KEYS: Final[Mapping[str, str]] = {
    "id": "task_id",
    "task_id": "task_id",
    "title": "title",
    "feature_id": "feature_id",
    "feature": "feature_id",
    "started": "started_at",
    "started_at": "started_at",
    "completed": "completed_at",
    "completed_at": "completed_at",
    "coverage": "test_coverage",
    "test_coverage": "test_coverage",
    "review_cycles": "review_cycles",
    "duration_minutes": "duration_minutes",
}
_TEXTS: Final[Mapping[str, str]] = {
    "requirements": "task_requirements",
    "description": "task_requirements",
    "task": "task_requirements",
    "overview": "task_requirements",
    "acceptance criteria": "task_requirements",
    "summary": "summary",
    "implementation summary": "summary",
    "outcome": "summary",
    "result": "summary",
    "approach": "approach_used",
    "implementation": "approach_used",
    "implementation notes": "approach_used",
}
_LISTS: Final[Mapping[str, str]] = {
    "problems": "problems_encountered",
    "problems encountered": "problems_encountered",
    "issues": "problems_encountered",
    "lessons": "lessons_learned",
    "lessons learned": "lessons_learned",
    "patterns": "patterns_used",
    "patterns used": "patterns_used",
}
_OUTCOMES: Final[Mapping[str, tuple[str, bool]]] = {
    "completed": ("task_completed", True),
    "complete": ("task_completed", True),
    "done": ("task_completed", True),
    "blocked": ("task_blocked", False),
    "cancelled": ("task_cancelled", False),
    "canceled": ("task_cancelled", False),
    "failed": ("task_failed", False),
    "in_review": ("phase_completed", True),
}
"""Status of a task → how it ended, and whether it succeeded."""


@click.command(
    epilog=(
        'Example: kl outcome capture "Sign-in" --success --approach "OAuth" --lesson "Pin the clock'
        ' in tests"'
    )
)
@click.argument("title", required=False)
@click.option("--title", "title_option", help="What the task was, in one line.")
@click.option(
    "--type",
    "outcome_type",
    help="How it ended: task_completed, task_failed, task_blocked, review_passed …",
)
@click.option("--success/--failure", default=None, help="Whether it reached what it was for.")
@click.option(
    "--task", "task_id", cls=Option, old=("--task-id",), metavar="ID", help="The task that ended."
)
@click.option(
    "--requirements", "task_requirements", help="What was asked for; similar tasks are found by it."
)
@click.option("--summary", help="What was done, in a few sentences.")
@click.option("--approach", "approach_used", help="How it was done.")
@click.option(
    "--pattern", "patterns_used", multiple=True, help="A pattern that was applied. May be repeated."
)
@click.option(
    "--problem",
    "problems_encountered",
    multiple=True,
    help="A problem on the way. May be repeated.",
)
@click.option(
    "--lesson",
    "lessons_learned",
    multiple=True,
    help="What to do otherwise next time. May be repeated.",
)
@click.option(
    "--tests-written/--no-tests-written", default=None, help="Whether tests were written for it."
)
@click.option(
    "--coverage",
    "test_coverage",
    type=click.IntRange(0, 100),
    help="Coverage of what it changed, percent.",
)
@click.option("--review-cycles", type=click.IntRange(0, 1000), help="Rounds of review.")
@click.option("--started", "started_at", metavar="MOMENT", help="When it was begun (ISO 8601).")
@click.option("--completed", "completed_at", metavar="MOMENT", help="When it ended.")
@click.option(
    "--minutes", "duration_minutes", type=click.IntRange(0, 1_000_000), help="How long it took."
)
@click.option("--feature", "feature_id", metavar="ID", help="The feature it belongs to.")
@click.option(
    "--decision",
    "related_adr_ids",
    multiple=True,
    metavar="ID",
    help="A decision it followed or met.",
)
@click.option(
    "--from-task-file",
    "path",
    metavar="FILE",
    type=click.Path(),
    help="Take what is not given from this file.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be recorded; record nothing.")
@click.option(
    "--strict", is_flag=True, help="Refuse an outcome without requirements, summary and approach."
)
@format_option()
def capture(
    title: str | None,
    title_option: str | None,
    path: str | None,
    dry_run: bool,
    strict: bool,
    shape: str,
    **options: Any,
) -> None:
    """Record how a task ended. The next task like it starts from there: kl outcome similar."""
    ws = initialized_workspace()
    raw = {**(_read_task_file(path) if path else {}), **given(options)}
    if title or title_option:
        raw["title"] = title or title_option
    raw.setdefault(
        "success",
        True if raw.get("outcome_type") in (None, "task_completed", "review_passed") else None,
    )
    raw.setdefault("outcome_type", "task_failed" if raw["success"] is False else "task_completed")
    raw = {name: value for name, value in raw.items() if value is not None}
    missing = [
        name for name in ("task_requirements", "summary", "approach_used") if not raw.get(name)
    ]
    if strict and missing:
        raise UsageProblem(f"--strict: {', '.join(missing)} missing.", place="kl outcome capture")
    by = sign_record(ws, raw)
    if dry_run:
        _print_dry_run(validate_or_raise(ws.kinds["outcome"], raw, "kl outcome capture"), shape)
        return
    _record_outcome(ws, raw, by, shape)


def _record_outcome(ws: Workspace, raw: dict[str, Any], by: str, shape: str) -> None:
    """Records it, and what was put aside before; where that can't be done now it is put aside, id
    and all.
    """
    identifier, aside = record_outcome(ws, raw, by)
    if not aside:
        record_queued(ws)
        print_record(ws, get_record(ws, identifier, "outcome"), shape)
        return
    warn(f"{aside} It is put aside, and recorded with the next outcome.")
    print_answer(
        shape,
        {"schema": "kl.outcome.capture/1", "dry_run": False, "id": identifier, "put_aside": True},
        [identifier],
    )


def _read_task_file(path: str) -> dict[str, Any]:
    data = read_small(Path(path))
    if data is None:
        raise UsageProblem("there is no such file.", place=path)
    return read_task_file(path, data)


def _print_dry_run(values: Any, shape: str) -> None:
    plain = {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items()
    }
    rows = (f"{name:<20} {'; '.join(v) if isinstance(v, list) else v}" for name, v in plain.items())
    print_answer(shape, {"schema": "kl.outcome.capture/1", "dry_run": True, "fields": plain}, rows)


@operation_command(work.SIMILAR)
def similar(outcomes: work.Outcomes, _request: work.SimilarRequest) -> None:
    """Print how tasks like one ended."""
    none = "no outcome shares a word with it. Record one at the end of a task: kl outcome capture"
    print_rows([*map(_similar_text, outcomes.outcomes.shown)], outcomes.outcomes.total, none)


def _similar_text(one: Record) -> str:
    """How a task ended, its approach, problems and lessons, a line each."""
    ended = "succeeded" if one.values.get("success") else one.text("outcome_type").replace("_", " ")
    lines = [f"{one.id}  {ended}  {one_line(one.title, 120)}"]
    parts = [("approach", one.text("approach_used"))] if one.text("approach_used") else []
    parts += [("problem", text) for text in one.many("problems_encountered")[:3]]
    parts += [("lesson", text) for text in one.many("lessons_learned")[:3]]
    return "\n".join(lines + [f"    {name:<8}  {one_line(text, 160)}" for name, text in parts])


def read_task_file(path: str, data: bytes) -> dict[str, Any]:
    """Return the raw fields of an outcome that a task's Markdown file states. Problems where it
    can't be read.
    """
    try:
        lines = split_lines(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise Problems(
            [Problem(path, line, 0, "this line is not UTF-8.", "Save the file as UTF-8.")]
        ) from None
    raw: dict[str, Any] = {}
    if lines and lines[0].rstrip() == "---":
        front, problems = read_front_matter(path, lines)
        if front is None:
            raise Problems(problems)
        raw, lines = _fields_of_keys(front.raw), lines[front.end + 1 :]
    raw = fields_by_heading(lines, _TEXTS, _LISTS) | raw
    if "title" not in raw and (title := leading_title(lines)):
        raw["title"] = title
    return raw


def _fields_of_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
    raw: dict[str, Any] = {}
    for key, value in keys.items():
        name = _KEYS.get(key.strip().lower())
        if name and value not in (None, "", "null", [], {}):
            raw.setdefault(name, value)
    status = str(keys.get("status") or "").strip().lower().replace("-", "_").replace(" ", "_")
    if status in _OUTCOMES:
        raw["outcome_type"], raw["success"] = _OUTCOMES[status]
    return raw


@click.command(
    "new", epilog='Example: kl objective create --title "A parser" --tasks "Lexer,Grammar"'
)
@click.argument("title", required=False)
@click.option("--title", "title_option", help="What it is, in one line.")
@click.option("--tasks", default="", help="The tasks that remain, separated by commas.")
@click.option(
    "--task", "more", multiple=True, help="One task that remains, verbatim. May be repeated."
)
@click.option("--description", help="Why it matters, and when it is reached.")
@click.option(
    "--about",
    multiple=True,
    metavar=ABOUT,
    help="The files and symbols it is about. May be repeated.",
)
@click.option("--tag", "tags", multiple=True, help="Short words to find it by. May be repeated.")
@click.option("--agent", is_flag=True, help="An agent makes it.")
@format_option()
def objective_new(
    title: str | None,
    title_option: str | None,
    tasks: str,
    more: tuple[str, ...],
    agent: bool,
    shape: str,
    **options: Any,
) -> None:
    """Make an objective: what is being worked towards, and the tasks that remain."""
    remaining = [*(one.strip() for one in tasks.split(",") if one.strip()), *more]
    raw = given(options)
    raw |= {"title": title or title_option or "", "remaining": remaining}
    make_record(workspace().kinds["objective"], raw, agent=agent, shape=shape)


@operation_command(work.STATUS)
def objective_status(objectives: work.Objectives, _request: work.StatusRequest) -> None:
    """Print how far objectives are."""
    pages = []
    for record, progress in objectives.objectives:
        state = [f"({record.status})"] if record.status != "active" else []
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
        title = feature.record.title if feature.record else "(no record)"
        spec = feature.spec or "none found in docs/features, .kl/knowledge/features, features"
        echo_lines([f"{feature.id}  {title}", f"    spec     {spec}"])
        if feature.related:
            echo(f"    related  {', '.join(feature.related)}")
    if not feature_list.features:
        echo("the text names no feature. An id looks like FEAT-AUTH-12.")
