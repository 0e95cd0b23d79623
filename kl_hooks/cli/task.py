"""`kl task`: what each piece of work requires and produces, and the order that follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.kind_commands import make_record
from kl_hooks.cli.options import ABOUT, format_option, given
from kl_hooks.cli.output import print_answer, print_list, warn, workspace
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.provenance import agent, session
from kl_hooks.kinds.task import Work, Works, complete_task, record_fulfilled, valid_tokens
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


def _works(ws: Workspace, path: str | None) -> Works:
    """The works of a file, or of the tasks on record; with a warning for each token that is none."""
    found = Works.load(ws, path)
    for identifier, error in found.errors:
        warn(f"{identifier}: {error}. It counts for nothing. See: kl task edit {identifier}")
    return found


@click.command(epilog='Example: kl task new "Write the lexer" --requires artifact:grammar --produces file:src/lexer.py')
@click.argument("title", required=False)
@click.option("--title", "title_option", help="What it is, in one line.")
@click.option(
    "--requires", multiple=True, metavar="TOKEN", help="artifact:NAME, file:PATH or symbol:NAME. May be repeated."
)
@click.option("--produces", multiple=True, metavar="TOKEN", help="What is there once it is done. May be repeated.")
@click.option("--type", "--task-type", "task_type", help="The type of work, which selects its gate: feature, docs …")
@click.option("--complexity", type=click.IntRange(1, 10), help="How much there is to it, 1 to 10.")
@click.option("--assignee", help="Who does it.")
@click.option("--objective", metavar="ID", help="The objective it serves.")
@click.option("--feature", "feature_id", metavar="ID", help="The feature it belongs to.")
@click.option("--about", multiple=True, metavar=ABOUT, help="The files and symbols it is about. May be repeated.")
@click.option("--description", help="What to do.")
@click.option("--agent", is_flag=True, help="An agent makes it.")
@format_option()
def new(title: str | None, title_option: str | None, agent: bool, shape: str, **options: Any) -> None:
    """Make a task. What tasks require and produce gives their order: kl task plan."""
    raw = given(options)
    wrong = valid_tokens([*options["requires"], *options["produces"]])[1]
    if wrong:
        raise Problems([Problem("kl task new", 0, 0, f"{one}.") for one in wrong])
    make_record(
        workspace().kinds["task"], raw | {"title": title or title_option or ""}, {"agent": agent, "shape": shape}
    )


@click.command(epilog="Example: kl task plan --from agents.yaml")
@click.option("--from", "path", metavar="FILE", type=click.Path(), help="Plan the agents of this YAML file instead.")
@format_option()
def plan(path: str | None, shape: str) -> int:
    """What can be done side by side, in which order: from what each task requires and produces.

    Exit 1 where tasks wait for each other in a cycle; each cycle is shown whole. What nobody produces and is not
    there orders nothing and is listed.
    """
    ws = workspace()
    works = _works(ws, path)
    titles = works.titles
    made = works.plan(ws, outside=path is not None)
    plain = {"schema": "kl.task.plan/2", **made.to_dict()}
    rows = []
    for way in made.cycles:
        what = f"{way[0]} needs what it produces itself" if len(way) == 2 else f"a cycle: {' needs '.join(way)}"
        rows.append(f"{what}. Take one of its requirements out.")
    rows += [f"{n:>3}  {_titled(name, titles)}" for n, wave in enumerate(made.waves, 1) for name in wave]
    blocked = set(made.blocked) - {name for name, _ in made.unmet}
    rows += [f"  -  {_titled(n, titles)}   (waits for what can't be begun)" for n in made.blocked if n in blocked]
    rows += [f"  ?  {name} requires {one}: nobody produces it, and it is not there" for name, one in made.unmet]
    if len(works.done) == len(works.all):
        rows.append("everything is done." if works.all else 'no task is open. Make one: kl task new "…"')
    print_answer(shape, plain, rows)
    return 1 if made.cycles else 0


def _titled(name: str, titles: Mapping[str, str]) -> str:
    return f"{name}  {titles[name]}" if name in titles else name


@click.command(epilog="Example: kl task eligible --done planner")
@click.option("--from", "path", metavar="FILE", type=click.Path(), help="Of the agents of this YAML file instead.")
@click.option("--done", "finished", multiple=True, metavar="NAME", help="Count this one as done. May be repeated.")
@click.option("--with", "given", multiple=True, metavar="TOKEN", help="Count this token as there. May be repeated.")
@format_option()
def eligible(path: str | None, finished: tuple[str, ...], given: tuple[str, ...], shape: str) -> None:
    """The tasks whose requirements are all there, and what the others still wait for."""
    ws = workspace()
    works = _works(ws, path)
    titles = works.titles
    unknown = [name for name in finished if name not in {work.name for work in works.all}]
    if unknown:
        raise click.UsageError(f"--done {unknown[0]}: there is no task of this name.")
    more, wrong = valid_tokens(given)
    if wrong:
        raise click.UsageError(f"--with: {wrong[0]}.")
    works.done.update(finished)
    there = works.fulfilled(ws, more)
    ready, waiting = works.eligible(there), works.waiting(there)
    plain = [{"name": name, "waits_for": list(tokens)} for name, tokens in waiting.items()]
    rows = [f"now    {_titled(name, titles)}" for name in ready]
    rows += [f"later  {name}  waits for {', '.join(tokens)}" for name, tokens in waiting.items()]
    whole = {"schema": "kl.task.eligible/1", "eligible": list(ready), "waiting": plain}
    print_list(shape, whole, rows, len(rows), "no task is open.")


@click.command(epilog="Example: kl task fulfil artifact:design")
@click.argument("what", metavar="ID|TOKEN")
@click.option("--force", is_flag=True, help="Also where something that the task requires is not there.")
@format_option()
def fulfil(what: str, force: bool, shape: str) -> None:
    """Mark a task (TSK-0001) as done, and with it all it produces; or mark a token (artifact:design) as fulfilled.

    The first time a task is done, its outcome is recorded.
    """
    ws = workspace()
    by = session(ws.environ) or ""
    if ":" in what:
        require_initialized(ws)
        try:
            made = record_fulfilled(ws, what, by)
        except ValueError as error:
            raise UsageProblem(f"{error}.", place="kl task fulfil") from None
        print_answer(shape, {"schema": "kl.task.fulfil/1", "token": made}, [f"{made} is there."])
        return
    done = complete_task(ws, what, _works(ws, None), force=force, by=by, authority="agent" if agent(ws.environ) else "")
    gives = list(Work.of(done.task).produces)
    rows = [f"{done.task.id}  done  {done.task.title}"]
    rows += [f"    there now: {', '.join(gives)}"] if gives else []
    rows += (
        [f'    outcome    {done.outcome}: kl outcome edit {done.outcome} --lessons-learned "…"'] if done.outcome else []
    )
    if done.aside:
        warn(f"{done.aside} The outcome is put aside, and recorded with the next one.")
    plain = {"id": done.task.id, "produces": gives, "outcome": done.outcome or None}
    print_answer(shape, {"schema": "kl.task.fulfil/1", **plain}, rows)
