"""`kl memory`: the commands that only memories have."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.groups import LazyGroup
from kl_hooks.cli.output import (
    ABOUT,
    Option,
    command_access,
    confirm,
    counted,
    echo,
    echo_json,
    echo_lines,
    format_option,
    given,
    initialized_workspace,
    print_answer,
    top_option,
    warn,
    workspace,
    write,
)
from kl_hooks.cli.record_output import (
    agent_access,
    exported,
    listed_records,
    print_deleted,
    record_line,
    record_lines,
    warn_of_proposals,
)
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.kinds.catalog import MEMORY
from kl_hooks.kinds.memory.add import add_memory, revise
from kl_hooks.kinds.memory.add import promote as raise_it
from kl_hooks.kinds.memory.review import (
    Decision,
    Review,
    Reviewer,
    apply_decision,
    record_use,
    review_items,
    review_queue,
)
from kl_hooks.model.actors import agent
from kl_hooks.model.problem import Problems
from kl_hooks.model.record import Record
from kl_hooks.model.text import brief, one_line, safe_text
from kl_hooks.records.query import RecordFilter, get_record, list_records, record_to_dict
from kl_hooks.records.write import apply_verb
from kl_hooks.records.write import delete_record as take_away

if TYPE_CHECKING:
    from kl_hooks.kinds.memory.add import MiningResult
    from kl_hooks.kinds.memory.review import Decision, Review, ReviewItem
    from kl_hooks.workspace import Workspace


def _find_memory(identifier: str) -> Record:
    return get_record(workspace(), identifier, "memory")


def _print_changed(record: Record, done: str = "", shape: str = "text") -> None:
    """Print what a memory is now, in a line or two or as JSON, and update MEMORY.md."""
    record = command_access().written(record)
    line = f"{record.id}  {done or record.status}  {one_line(record.title, 120)}"
    plain = record_to_dict(workspace(), record) | {"done": done or record.status}
    print_answer(shape, plain, [line, *([f"    {record.path}"] if record.path else [])])
    if shape == "text":
        warn_of_proposals(record)
    if shape == "text" and record.text("quarantine"):
        warn(f"{record.id} is quarantined until a person has read it: {record.text('quarantine')}.")
    _update_page()


def _update_page() -> None:
    from kl_hooks.kinds.memory.inject import write_page

    if trouble := write_page(workspace()):
        warn(trouble)


_MOST_TEXT = 1_000_000
"""Characters that are read from stdin; less is stored."""


@click.command(
    epilog='Example: kl memory add "Tests of the importer need LC_ALL=C.UTF-8." --tag tests'
)
@click.argument("text")
@click.option(
    "--agent", "authority", flag_value="agent", help="An agent adds it: a candidate, for 90 days."
)
@click.option(
    "--auto", "authority", flag_value="auto", help="A program found it: a candidate, for 30 days."
)
@click.option(
    "--ttl-days",
    type=click.IntRange(0, 36_500),
    help="Days until it ends; 0: never. Else by authority.",
)
@click.option("--tag", "tags", multiple=True, help="A short word to find it by. May be repeated.")
@click.option("--title", default="", help="What it is, in one line; else its first line.")
@click.option(
    "--category",
    type=click.Choice(MEMORY.by_name["category"].choices),
    help="What sort of learning it is.",
)
@click.option(
    "--importance", type=click.IntRange(0, 100), help="How much it matters, in percent. Else 50."
)
@click.option(
    "--about", multiple=True, metavar=ABOUT, help="A file or symbol it is about. May be repeated."
)
@click.option("--source", default="", help="Where it comes from; else the session.")
@format_option()
def add(
    text: str,
    authority: str | None,
    ttl_days: int | None,
    tags: tuple[str, ...],
    shape: str,
    **more: Any,
) -> None:
    """Record what was learned; `-` reads the TEXT from stdin.

    What a person adds is approved at once and becomes a file. What an agent adds waits for a
    review. The same text added again is the same memory: it is reinforced, or approved.
    """
    ws = workspace()
    text = sys.stdin.read(_MOST_TEXT) if text == "-" else text
    fields = given(more)
    record, done = add_memory(
        ws, text, authority=authority or "", ttl_days=ttl_days, tags=tags, more=fields
    )
    if shape == "json":
        echo_json(record_to_dict(ws, record) | {"done": done})
        _update_page()
        return
    _print_changed(record, record.status if done == "new" else f"{record.status} ({done})")
    if done == "known":
        warn("this session added it before; nothing was changed.")


@click.command(epilog="Example: kl memory show MEM-3f9a1c2b")
@click.argument("id")
@format_option()
def show(id: str, shape: str) -> None:
    """Show a memory: its text, its support, its use. Showing it counts as access."""
    ws = workspace()
    with agent_access(ws) as may:
        record = may.record(_find_memory(id))
    from kl_hooks.operations.records import shown_record
    from kl_hooks.records.liveness import stale_reasons

    (seen,) = review_items(ws, [record])
    quality = round(100 * seen.quality(ws.clock.now()))
    today = {"importance_today": seen.importance, "quality_today": quality}
    plain = record_to_dict(ws, record) | {"memory": seen.to_dict() | today}
    use = (*_use_lines(seen), f"{'quality':<13} {quality} %, by structure, use, rating and age")
    why = stale_reasons(ws, [record]).get(record.id, "")
    outdated = [f"\nIt is outdated: {why}."] if why else []
    lines = (*record_lines(ws, shown_record(ws, record)), "", *use, *outdated)
    print_answer(shape, plain | {"stale": why}, lines)
    try:
        # last: a store that can't be written must not withhold the memory
        record_use(ws, record)
    except EnvironmentProblem as problem:
        warn(f"this access is not counted: {problem}")


def _use_lines(seen: ReviewItem) -> Iterator[str]:
    tally = seen.tally
    yield f"{'tier':<13} {seen.support.tier.word}"
    last = f", last on {tally.reinforced_at[:10]}" if tally.reinforced_at else ""
    yield f"{'seen':<13} in {counted(tally.reinforcement, 'session')}{last}"
    helped = f"helped {tally.positive}, did not {tally.negative}"
    yield f"{'weighs':<13} {seen.importance} % today; given {tally.injected}, {helped}"
    if seen.ready:
        yield (
            f"{'ready':<13} for the project (asked for {tally.opened} times): kl memory approve"
            f" {seen.record.id}"
        )
    for reason in seen.quarantine:
        yield f"{'quarantine':<13} {reason}"
    for line in seen.support.lines:
        yield f"{'evidence':<13} {line}"


@click.command(
    epilog='Example: kl memory edit MEM-3f9a1c2b --text "Tests need Redis 7." --ttl-days 0'
)
@click.argument("id")
@click.option("--text", "pattern", help="Its text.")
@click.option("--title", help="What it is, in one line.")
@click.option(
    "--category",
    type=click.Choice(MEMORY.by_name["category"].choices),
    help="What sort of learning it is.",
)
@click.option("--importance", type=click.IntRange(0, 100), help="How much it matters, in percent.")
@click.option(
    "--standing", type=click.Choice(MEMORY.by_name["standing"].choices), help="How it fared since."
)
@click.option(
    "--tag", "tags", multiple=True, help="Its tags, in place of those it has. May be repeated."
)
@click.option("--about", multiple=True, metavar=ABOUT, help="What it is about. May be repeated.")
@click.option(
    "--ttl-days", type=click.IntRange(0, 36_500), help="Days from now until it ends; 0: never."
)
@click.option("--clear", multiple=True, metavar="FIELD", help="Take a field out. May be repeated.")
@format_option()
def edit(id: str, ttl_days: int | None, clear: tuple[str, ...], shape: str, **options: Any) -> None:
    """Change the text or fields of a memory. What an agent changes of an approved one is a
    candidate again.
    """
    given = {
        name: list(v) if isinstance(v, tuple) else v
        for name, v in options.items()
        if v not in (None, ())
    }
    _print_changed(
        revise(workspace(), _find_memory(id), {**given, **dict.fromkeys(clear)}, ttl_days),
        shape=shape,
    )


@click.command(epilog="Example: kl memory delete MEM-3f9a1c2b --yes")
@click.argument("id")
@click.option("--yes", is_flag=True, help="Do not ask.")
@format_option()
def delete(id: str, yes: bool, shape: str) -> None:
    """Take a memory away. A file stays in git's history; the same pattern is not proposed again."""
    from kl_hooks.records.permissions import agent_author, refuse_delete

    ws, record = workspace(), _find_memory(id)
    refuse_delete(ws.kinds[record.kind], record, agent_author(ws, ""))
    if not yes:
        (listed,) = listed_records(ws, [record])
        confirm(f"delete {record.id} {listed.title}?")
    take_away(ws, record)
    print_deleted(record, shape)
    _update_page()


def decide_memory(
    identifier: str, do: str, reason: str = "", shape: str = "text", *, checked: bool = False
) -> None:
    """Approve or reject a memory and print what it is now. UsageProblem for an agent that is no
    reviewer.
    """
    from kl_hooks.cli.kind_commands import decide_changes
    from kl_hooks.records.write import pending_proposals

    ws = workspace()
    who = Reviewer.current(ws, identifier)
    record = _find_memory(identifier)
    if who.person and record.status == "approved" and pending_proposals(ws, record.id):
        decide_changes(record, shape, accepted=do == "approve")
        return
    again = do == "approve" and record.status == "approved"
    made = apply_decision(ws, record, Decision(record.id, do, "", reason), who)
    if checked:
        made = who.record_check(ws, made, "verified")
    done = "approved, confirmed today" if again else made.status
    _print_changed(made, f"{done}, verified" if checked else done, shape)


@click.command(epilog="Example: kl memory approve MEM-3f9a1c2b")
@click.argument("id")
@click.option(
    "--checked",
    is_flag=True,
    help="Also note that it was checked and is right: it ranks higher from now on.",
)
@format_option()
def approve(id: str, checked: bool, shape: str) -> None:
    """Accept a memory: it becomes a file in .kl/knowledge/memories/, and agents are shown it.

    A person's approval gives it a person's authority. Approving one that is approved confirms it:
    upkeep leaves it alone for another window.

    For people, and for reviewers that your configuration names (git config kl.reviewers).
    """
    decide_memory(id, "approve", shape=shape, checked=checked)


@click.command(epilog='Example: kl memory reject MEM-3f9a1c2b --reason "true only on my machine"')
@click.argument("id")
@click.option("--reason", default="", help="Why, in one line.")
@format_option()
def reject(id: str, reason: str, shape: str) -> None:
    """Refuse a memory: the same pattern never comes back by itself. `approve` takes it back."""
    decide_memory(id, "reject", reason, shape)


@click.command(epilog="Example: kl memory demote MEM-3f9a1c2b")
@click.argument("id")
@click.option("--reason", default="", help="Why, in one line.")
@format_option()
def demote(id: str, reason: str, shape: str) -> None:
    """Take an approved memory back to the candidates: agents are not shown it until it is reviewed
    again.
    """
    record = _find_memory(id)
    _print_changed(
        apply_verb(workspace(), record.id, "demote", {"reason": reason} if reason else {}),
        shape=shape,
    )


@click.command(epilog="Example: kl memory promote MEM-3f9a1c2b")
@click.argument("id")
@format_option()
def promote(id: str, shape: str) -> None:
    """Raise the authority of a memory by one step: auto, agent, human. It expires by the new
    authority.

    For people only. It stays a candidate, or approved, as it was.
    """
    ws = workspace()
    who = Reviewer.current(ws, id)
    made = raise_it(ws, _find_memory(id), who)
    _print_changed(made, f"{made.authority}, {made.status}", shape)


@click.command(epilog="Example: kl memory verify MEM-3f9a1c2b")
@click.argument("id")
@format_option()
def verify(id: str, shape: str) -> None:
    """Note that a memory was checked and is right: it ranks higher from now on. For people and
    named reviewers.
    """
    ws = workspace()
    who = Reviewer.current(ws, id)
    _print_changed(who.record_check(ws, _find_memory(id), "verified"), "verified", shape)


@click.command(
    epilog='Example: kl memory disprove MEM-3f9a1c2b --reason "Redis is not needed since 2.0"'
)
@click.argument("id")
@click.option("--reason", required=True, help="Why, in one line.")
@format_option()
def disprove(id: str, reason: str, shape: str) -> None:
    """Note that a memory was checked and is wrong: agents are not shown it any more. For people and
    reviewers.
    """
    ws = workspace()
    who = Reviewer.current(ws, id)
    _print_changed(who.record_check(ws, _find_memory(id), "disproven", reason), "disproven", shape)


@click.command(epilog="Example: kl memory feedback MEM-3f9a1c2b positive")
@click.argument("id")
@click.argument("result", type=click.Choice(["positive", "negative"]))
@format_option()
def feedback(id: str, result: str, shape: str) -> None:
    """Note how a task ended that a memory was given to.

    From five on, it weighs what it was worth.
    """
    ws = workspace()
    record = _find_memory(id)
    record_use(ws, record, result)
    (seen,) = review_items(ws, [record])
    tally, today = seen.tally, seen.importance
    counts = {"injected": tally.injected, "positive": tally.positive, "negative": tally.negative}
    line = (
        f"{record.id}  given {tally.injected}, helped {tally.positive}, did not {tally.negative};"
        f" weighs {today} %"
    )
    print_answer(
        shape,
        {"schema": "kl.memory.feedback/1", "id": record.id, **counts, "weighs": today},
        [line],
    )


@click.command(epilog="Example: kl memory inject parser utf-8 --top 3")
@click.argument("hints", nargs=-1, metavar="[HINT]...")
@click.option("--top", type=click.IntRange(1, 100), help="Most memories given; else as configured.")
@click.option(
    "--budget",
    default=8000,
    show_default=True,
    type=click.IntRange(200, 1_000_000),
    help="Characters.",
)
@format_option()
def inject(hints: tuple[str, ...], top: int | None, budget: int, shape: str) -> None:
    """The section `Project Knowledge` for an agent that is about to start.

    Approved memories only. With HINTS: those that fit, by authority, then by who asked for them
    last, then by how well they fit. Without, at the start of a session: 20 of them, by tier, then
    by how many sessions confirmed them. Each memory given is counted; that never raises its rank.
    """
    from kl_hooks.kinds.memory.inject import inject, injection_limit

    ws = workspace()
    folder, most = os.getcwd(), top or injection_limit(ws, hints)  # noqa: PTH109
    with agent_access(ws) as may:
        given = inject(ws, list(hints), most, budget, folder=folder, shows=may.shows)
    if given.trouble:
        warn(f"not counted: {given.trouble}")
    if shape == "json":
        echo_json(
            {
                "schema": "kl.memory.inject/1",
                "text": given.text,
                "ids": list(given.ids),
                "brief": list(given.brief),
                "budget": {"unit": "characters", "total": budget, "used": len(given.text)},
            }
        )
        return
    write(given.text)
    if not given.ids:
        warn("no approved memory fits. See: kl memory review")


_MOST_INPUT = 1_000_000


@click.command(epilog="Example: kl memory mine --transcript ~/.claude/projects/shop/3f9a1c2b.jsonl")
@click.option(
    "--transcript",
    "transcripts",
    multiple=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="A session of an agent, as JSON lines (Claude Code, Codex). May be repeated.",
)
@click.option(
    "--agent-event",
    is_flag=True,
    help="Read an agent hook's JSON from stdin and mine the session it names.",
)
@format_option()
def mine(transcripts: tuple[Path, ...], agent_event: bool, shape: str) -> None:
    """Mine receipts, commits and transcripts for candidates, which wait for a review.

    Receipts and commits are mined by `kl status` and `kl memory review` too. No model is asked; the
    same input gives the same patterns. What was rejected does not come back.
    """
    from kl_hooks.kinds.memory.add import MiningResult, mine_receipts, mine_transcripts

    ws = initialized_workspace()
    if agent_event and not ws.settings.memory_auto_extract:
        # an agent hook calls this unasked, so the setting decides; no error, since nobody called
        transcripts, taken = (), MiningResult()
        warn("nothing is mined unasked here: kl memory configure --auto-extract yes")
    elif agent_event or transcripts:
        taken = mine_transcripts(ws, [*transcripts, *(_named_transcript() if agent_event else [])])
    else:
        taken = mine_receipts(ws, again=True)
    _update_page()
    _print_mined(taken, shape)


def _named_transcript() -> list[Path]:
    """The transcript that an agent hook's JSON on stdin names. UsageError for what is none."""
    try:
        plain: Any = json.loads(sys.stdin.read(_MOST_INPUT))
    except (ValueError, RecursionError):
        plain = None
    path = plain.get("transcript_path") if isinstance(plain, dict) else None
    if not isinstance(path, str) or not path:
        raise click.UsageError("--agent-event: stdin holds no JSON object with transcript_path.")
    return [Path(path).expanduser()]  # agents write `~` in it, and no shell has expanded it


def _print_mined(taken: MiningResult, shape: str) -> None:
    lines = [f"{counted(len(taken.new), 'new candidate')}, {len(taken.reinforced)} seen again"]
    lines += (
        [*(f"  {one}" for one in taken.new), "Review them with: kl memory review"]
        if taken.new
        else []
    )
    plain = {"new": list(taken.new), "reinforced": list(taken.reinforced), "waiting": taken.waiting}
    print_answer(shape, {"schema": "kl.memory.mine/1", **plain}, lines)
    if taken.waiting:
        warn(f"{counted(taken.waiting, 'more pattern')} will follow with the next receipts.")
    if taken.trouble:
        warn(taken.trouble)


@click.command(
    epilog="Example: kl memory review --format json | my-reviewer | kl memory review --answers -"
)
@click.option("--all", "everything", is_flag=True, help="Those that were approved or rejected too.")
@top_option(50, 10_000)
@click.option(
    "--answers",
    type=click.Path(allow_dash=True, path_type=str),
    metavar="FILE",
    help=(
        'Take decisions from this JSON file, or - for stdin: {"answers": [{"id": …, "do":'
        ' "approve"}]}.'
    ),
)
@format_option()
def review(everything: bool, limit: int, answers: str | None, shape: str) -> None:
    """Go through the candidates, those that most sessions saw first: approve, reject, edit, skip,
    undo, quit.

    One key and Enter each; `r` takes a reason after it. Nothing is done before the last question is
    answered, so undo always works; Ctrl-C drops it all. `--format json` lists the candidates for a
    program, `--answers` takes its decisions.
    """
    from kl_hooks.kinds.memory.add import mine_receipts

    ws = workspace()
    if answers is not None:
        _review_from_file(answers, shape)
        return
    trouble = mine_receipts(ws).trouble if ws.settings.memory_auto_extract else ""
    records, total = review_queue(ws, limit, everything=everything)
    if trouble:  # an error that prevents reading was raised above
        warn(trouble)
    _update_page()
    if shape == "json":
        found = [one.to_dict() for one in review_items(ws, records)]
        echo_json({"schema": "kl.memory.review/2", "memories": found, "total": total})
        return
    if not records:
        echo("nothing waits for a review.")
        return
    if total > len(records):
        warn(f"these are the first {len(records)} of {total}; more with --top.")

    _apply_decisions(_ask_for_decisions(ws, review_items(ws, records)), "text")


def _review_from_file(answers: str, shape: str) -> None:
    """Carries out the decisions in a file. Problems with everything wrong, and then nothing is
    done.
    """
    name = "stdin" if answers == "-" else answers
    try:
        text = sys.stdin.read() if answers == "-" else Path(answers).read_text("utf-8")
        decisions, problems = Decision.read_all(json.loads(text), name)
    except OSError as problem:
        raise UsageProblem(f"can't be read: {problem.strerror}.", place=name) from problem
    except (ValueError, RecursionError) as problem:
        raise UsageProblem(
            f"is no JSON: {problem}", place=name, hint="See: kl memory review --format json"
        ) from None
    if problems:
        raise Problems(problems)
    _apply_decisions([one for one in decisions if one.do != "skip" or one.text], shape)


def _apply_decisions(decisions: list[Decision], shape: str) -> None:
    ws = workspace()
    done = Reviewer.current(ws, "kl memory review").apply(ws, decisions) if decisions else []
    _update_page()
    plain = {
        "schema": "kl.memory.review/2",
        "memories": [one.to_dict() for one in review_items(ws, done)],
    }
    print_answer(
        shape, plain, [*map(record_line, done), f"{counted(len(done), 'memory')} changed."]
    )


_PROMPT = "approve (a), reject (r), edit (e), skip (s or Enter), undo (u), quit (q): "
_LAST_PROMPT = "that was all: carry out {} of them (Enter), undo (u), drop all (n or q): "
_YES, _NO = ("", "y", "yes"), ("n", "no", "q", "quit")


def _ask_for_decisions(ws: Workspace, memories: Sequence[ReviewItem]) -> list[Decision]:
    """What was decided, and confirmed at the end. Shows one, reads a line, and so on; `quit` goes
    to the last question.

    UsageProblem where the input ends before that is answered: a person who left has confirmed
    nothing.
    """
    # first: nobody should answer fifty questions and be refused at the end
    Reviewer.current(ws, "kl memory review")
    by_id = {one.record.id: one for one in memories}
    review, shown = Review(tuple(by_id)), ("", "")
    while review.at or review.decided:
        if review.at and shown != (review.at, review.text):
            echo_lines(_candidate_lines(by_id[review.at], review))
        shown = (review.at, review.text)
        word = _read_line(_PROMPT if review.at else _LAST_PROMPT.format(len(review.decided)))
        if word is None and not review.at:
            break
        if word is None:  # at a terminal there may be an answer to the last question yet
            review = replace(review, ended=True)
            continue
        if not review.at and word.strip().lower() in _YES + _NO:
            return list(review.decided) if word.strip().lower() in _YES else []
        review = _next_review(review, word.strip())
    if review.decided:
        hint = "Answer the last question too, or: kl memory review --answers FILE"
        raise UsageProblem(
            "the input ended before the last answer, so nothing was decided.", hint=hint
        )
    return []


def _next_review(review: Review, word: str) -> Review:
    key, _, rest = word.partition(" ")
    do = review.action(key)
    if not do:
        warn(f"unknown key: {one_line(word, 40)}")
        return review
    if do == "edit":
        rest = rest or _read_line("new text: ") or ""
    return review.after(do, rest)


def _candidate_lines(one: ReviewItem, review: Review) -> Iterator[str]:
    """A candidate for a reviewer: its text, its support, what speaks against it."""
    tally = one.tally
    yield ""
    yield (
        f"{len(review.made) + 1} of {len(review.ids)}   {one.record.id}   {one.record.status}   "
        f"[{one.support.tier.word}] (×{tally.reinforcement})   {one.record.authority}"
    )
    text = review.text or one.record.text("pattern")
    yield from (f"  {line}" for line in brief(text).splitlines()[:40])
    for line in one.support.lines[-5:]:
        yield f"    {one_line(line)}"
    if len(one.support.lines) > 5:
        yield f"    and {len(one.support.lines) - 5} more. See: kl memory show {one.record.id}"
    if one.ready:
        yield f"  ready for the project: weighs {one.importance} %, asked for {tally.opened} times"
    for reason in one.quarantine:
        yield f"  quarantined: {reason}"


def _read_line(prompt: str) -> str | None:
    """One line from stdin; None at its end."""
    write(safe_text(prompt), err=True)
    line = (
        sys.stdin.readline()
    )  # click.prompt ends with Abort at the end of a pipe; here that is an answer too
    return line.rstrip("\n") if line else None


_LARGEST_FILE = 64 * 1024 * 1024


@click.command("import", epilog="Example: kl memory import .fuseraft/knowledge/repository/*.json")
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@format_option()
def import_(files: tuple[Path, ...], shape: str) -> None:
    """Import memories that fuseraft or agor wrote as JSON: an entry, or a list of them, in each
    file.

    They come in as candidates, also what was approved elsewhere; what was rejected is rejected
    here. If anything is wrong in one of the files, nothing is imported.
    """
    from kl_hooks.kinds.memory.interchange import import_memories, read_memories

    ws = initialized_workspace()
    pairs = [read_memories(_read_json(path), str(path)) for path in files]
    if problems := [problem for _, wrong in pairs for problem in wrong]:
        raise Problems(problems)
    taken = import_memories(ws, [one for found, _ in pairs for one in found], files[0].name)
    plain = {
        "schema": "kl.memory.import/1",
        "new": list(taken.new),
        "reinforced": list(taken.reinforced),
    }
    print_answer(shape, plain, [f"{len(taken.new)} imported, {len(taken.reinforced)} seen again"])
    if taken.new:
        warn("review them with: kl memory review")
    _update_page()


def _read_json(path: Path) -> Any:
    """What a file holds. UsageProblem for one that can't be read, or is no JSON."""
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise UsageProblem(f"is larger than {_LARGEST_FILE >> 20} MB.", place=str(path))
        return json.loads(path.read_bytes())
    except OSError as problem:
        raise UsageProblem(f"can't be read: {problem.strerror}.", place=str(path)) from problem
    except (ValueError, RecursionError) as problem:
        raise UsageProblem(f"is no JSON: {problem}", place=str(path)) from None


@click.command(epilog="Example: kl memory export > memories.json")
@click.option(
    "--status", "statuses", multiple=True, type=click.Choice(MEMORY.statuses), help="Only these."
)
def export(statuses: tuple[str, ...]) -> None:
    """Every memory as JSON on stdout, in the fields that fuseraft keeps. `kl memory import` reads
    it.
    """
    from kl_hooks.kinds.memory.interchange import to_fuseraft
    from kl_hooks.records.liveness import quarantines

    ws = workspace()
    wanted = RecordFilter((MEMORY.name,), statuses, expired=True)
    records = exported(list_records(ws, wanted))
    if agent(ws.environ) is not None and (hidden := quarantines(ws, records)):
        records = [record for record in records if record.id not in hidden]
        warn(f"omitted: {counted(len(hidden), 'quarantined memory')}, which no person has read")
    echo_json(to_fuseraft(review_items(ws, records)))


@click.command(epilog="Example: kl memory configure --top 3 --auto-extract no")
@click.option(
    "--top",
    "top_k",
    cls=Option,
    old=("--top-k",),
    type=click.IntRange(1, 100),
    help="Memories shown to an agent at once.",
)
@click.option(
    "--auto-extract",
    type=click.BOOL,
    help="Whether patterns are mined without being asked for: yes or no.",
)
@format_option()
def configure(top_k: int | None, auto_extract: bool | None, shape: str) -> None:
    """Configure memories in this clone. Stored in git's configuration of the clone: it is yours,
    and no checkout's.
    """
    from kl_hooks.git.repository import git_in

    ws = workspace()
    chosen = {
        "memory-top-k": top_k,
        "memory-auto-extract": None if auto_extract is None else str(auto_extract).lower(),
    }
    for key, value in chosen.items():
        if value is None:
            continue
        if ws.repo is None:
            hint = "Set memory_top_k and memory_auto_extract in your own kl/config.yaml."
            raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint=hint)
        git_in(ws.repo, "config", "--local", f"kl.{key}", str(value))
    top = top_k or ws.settings.memory_top_k
    extract = ws.settings.memory_auto_extract if auto_extract is None else auto_extract
    lines = [f"top-k         {top}", f"auto-extract  {'yes' if extract else 'no'}"]
    print_answer(
        shape, {"schema": "kl.memory.settings/1", "top_k": top, "auto_extract": extract}, lines
    )
    if shape == "text" and (top_k or auto_extract is not None):
        warn("stored in this clone's git configuration (kl.memory-top-k, kl.memory-auto-extract).")


_CONTEXT_COMMANDS = {
    "list": "Those that you can read.",
    "create": "Make one.",
    "show": "One, with its entries by relevance, its snapshots and its log.",
    "write": "Write an entry; the version before it stays.",
    "snapshot": "Store it as it is now.",
    "restore": "Make its entries what they were in a snapshot.",
    "grant": "Let an agent read, write or administrate it.",
    "revoke": "Take that away.",
    "archive": "Nobody reads it any more.",
}


@click.group(cls=LazyGroup, module="kl_hooks.cli.tiers", lines=_CONTEXT_COMMANDS)
def context() -> None:
    """Persistent contexts: what an agent keeps beyond its sessions, in versions. Your own has your
    name.
    """


# `kl memory new` is read for one more release (groups.py)
new = add
