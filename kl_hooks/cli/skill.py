"""`kl skill` and `kl proposal`: the commands that only skills and proposals of skills have."""

from __future__ import annotations

from typing import Any

import click

from kl_hooks.cli.output import (
    counted,
    format_option,
    given,
    initialized_workspace,
    print_answer,
    print_list,
    top_option,
    warn,
)
from kl_hooks.cli.record_output import agent_access, print_record, warn_of_index_problems
from kl_hooks.clock import iso
from kl_hooks.errors import CLEAN, FINDINGS, EnvironmentProblem, UsageProblem
from kl_hooks.evidence.provenance import agent
from kl_hooks.kinds.catalog import SKILL
from kl_hooks.model.text import one_line
from kl_hooks.records.sync import last_sync
from kl_hooks.skills import health as conflicts
from kl_hooks.skills import library, proposals
from kl_hooks.skills.uses import (
    better_variants,
    effectiveness_of,
    end_use,
    outcomes,
    skill_context,
    start_use,
    uses,
    variants,
)
from kl_hooks.skills.uses import promote as promote_variant

_budget = click.option(
    "--budget",
    type=click.IntRange(0, 100_000),
    default=library.BUDGET,
    show_default=True,
    help="Most tokens of instructions.",
)
_name = click.argument("name")


@click.command(epilog='Example: kl skill discover "fill in a PDF form" --mode manifest')
@click.argument("task")
@click.option(
    "--mode",
    type=click.Choice(library.MODES),
    default="auto",
    show_default=True,
    help="auto: with instructions; manifest: names and descriptions.",
)
@_budget
@top_option(10, 100)
@format_option()
def discover(task: str, mode: str, budget: int, limit: int, shape: str) -> None:
    """List the skills in force that TASK needs: by words, by meaning where an embedder is
    installed, by relations.
    """
    ws = initialized_workspace()
    found = library.discover(ws, task, mode, budget, limit)
    plain = found.to_dict()
    with agent_access(ws) as may:
        plain = may.answer(plain, wrote=False)
    warn_of_index_problems()
    rows = []
    for one in plain["skills"]:
        rows.append(f"{one['score']:.2f}  {one['name']:<28} {one_line(one['description'], 90)}")
        rows.append(f"      {one['path']}: {one['reason']}")
        rows += [f"    | {line}" for line in one.get("instructions", "").splitlines()]
    print_list(shape, plain, rows, len(rows), "no skill in force matches.")
    if shape == "text":
        if found.not_in_force:
            why = "not active, not committed, or misnamed"
            warn(f"{counted(found.not_in_force, 'skill')} omitted: {why}. See: kl skill list")
        if found.note:
            warn(found.note)


@click.command(epilog="Example: kl skill context pdf-forms")
@_name
@_budget
@format_option()
def context(name: str, budget: int, shape: str) -> None:
    """Show one skill with its instructions, what it requires, and how well it does."""
    ws = initialized_workspace()
    with agent_access(ws) as may:
        found = may.answer(skill_context(ws, name, budget), wrote=False)
    lines = [
        f"{found.get('name')}  {found.get('status')}  {found.get('path')}",
        f"    {found.get('description')}",
    ]
    lines += [
        f"    {source} {relation} {target}"
        for source, relation, target in found.get("relations", ())
    ]
    lines += [f"    missing: {one}" for one in found.get("missing", ())]
    lines += [f"    effectiveness: {found.get('effectiveness', {}).get('line')}", ""]
    lines += str(found.get("instructions", "")).splitlines()
    for one in found.get("requires", ()):
        lines += [
            "",
            f"requires {one['name']}: {one['description']}",
            *one["instructions"].splitlines(),
        ]
    print_answer(shape, found, lines)
    if shape == "text" and not found.get("in_force"):
        warn(
            "it is not in force, so its text is not shown here: a person commits it, or"
            " activates it."
        )


@click.command(epilog="Example: kl skill use pdf-forms --seed TASK-42")
@_name
@click.option(
    "--seed",
    default="",
    help="What chooses the variant; else the session. The same seed, the same variant.",
)
@format_option()
def use(name: str, seed: str, shape: str) -> None:
    """Record that a skill is used from now on; print the file to follow. Receipts of this session
    count for it.
    """
    made = start_use(initialized_workspace(), name, seed)
    plain = {
        "schema": "kl.skill.use/1",
        "use": made.id,
        "name": made.name,
        "variant": made.variant,
        "path": made.path,
        "version": made.version,
        "seed": made.seed,
        "session": made.session,
        "at": iso(made.at),
    }
    print_answer(
        shape, plain, [f"{made.id}  {made.name}  variant {made.variant}", f"    follow {made.path}"]
    )


@click.command(epilog="Example: kl skill done pdf-forms --success")
@click.argument("name", metavar="USE|NAME")
@click.option(
    "--success/--failure",
    default=None,
    help="Its outcome; runs of tests and commits count for more.",
)
@format_option()
def done(name: str, success: bool | None, shape: str) -> None:
    """Record that a use is over, and print its outcome by the receipts of its session."""
    ws = initialized_workspace()
    made = end_use(ws, name, success)
    outcome = outcomes(ws, uses(ws))[made.id]
    word = {True: "success", False: "failure", None: "unknown"}[outcome.success]
    plain = {
        "schema": "kl.skill.done/1",
        "use": made.id,
        "name": made.name,
        "variant": made.variant,
        "success": outcome.success,
        "reasons": list(outcome.reasons),
    }
    print_answer(shape, plain, [f"{made.id}  {made.name}  {word}: {'; '.join(outcome.reasons)}"])


@click.command(epilog="Example: kl skill versions pdf-forms")
@_name
@format_option()
def versions(name: str, shape: str) -> None:
    """Compare the variants of a skill: the SKILL.md, and each `SKILL.NAME.md` in its folder that is
    committed.
    """
    ws = initialized_workspace()
    record = library.find_skill(ws, name)
    shares = {one: share for one, (_, share) in variants(ws, record).items()}
    mine = [one for one in uses(ws) if one.skill == record.id]
    used = dict.fromkeys(one.variant for one in mine)
    rows: list[dict[str, Any]] = []
    for variant in dict.fromkeys(("main", *shares, *used)):
        known = effectiveness_of(ws, [record], variant)[0][record.id]
        rows.append(
            {
                "variant": variant,
                "traffic": shares.get(variant),
                "line": known.line(),
                **known.to_dict(),
            }
        )
    results = {key: one.success for key, one in outcomes(ws, mine).items()}
    winner = better_variants(mine, results).get(record.id, ("",))[0]
    plain = {
        "schema": "kl.skill.versions/1",
        "id": record.id,
        "name": record.title,
        "variants": rows,
        "winner": winner,
    }
    lines = [f"{one['variant']:<12} {one['uses']:>4} uses   {one['line']}" for one in rows]
    lines += (
        [f"better: {winner}. To take it: kl skill promote {record.title} {winner}"]
        if winner
        else []
    )
    print_answer(shape, plain, lines)


@click.command(epilog="Example: kl skill promote pdf-forms b")
@_name
@click.argument("variant")
@format_option()
def promote(name: str, variant: str, shape: str) -> None:
    """Make a variant the SKILL.md, as the next minor version. For people."""
    path, version = promote_variant(initialized_workspace(), name, variant)
    plain = {"schema": "kl.skill.promoted/1", "path": path, "version": version, "variant": variant}
    print_answer(
        shape,
        plain,
        [f"{path}  version {version}", "hint: commit it, so that agents are shown it."],
    )


@click.command(epilog="Example: kl skill check --apply")
@click.option(
    "--apply", "apply_", is_flag=True, help="Make the changes that are shown. For people."
)
@click.option("--acknowledge", metavar="KEY", help="A person knows of it.")
@click.option("--resolve", metavar="KEY", help="It is dealt with: not reported for 30 days.")
@click.option("--dismiss", metavar="KEY", help="It is none: not reported for 30 days.")
@click.option("--reason", default="", help="Why; --dismiss needs it.")
@top_option(50)
@format_option()
def check(
    apply_: bool,
    acknowledge: str | None,
    resolve: str | None,
    dismiss: str | None,
    reason: str,
    limit: int,
    shape: str,
) -> int:
    """List conflicts: duplicates, overlaps, cycles, missing requirements, contradictions, stale and
    unconnected skills.

    Exit code 1 where there is a critical or high one that --apply does not end, or a file that
    can't be read. Nothing is changed without it.
    """
    ws = initialized_workspace()
    if (name := agent(ws.environ)) and (apply_ or acknowledge or resolve or dismiss):
        raise UsageProblem(
            f"only a person changes skills or conflicts, and this is {name}.",
            place="kl skill check",
        )
    for key, state in (
        (acknowledge, "acknowledged"),
        (resolve, "resolved"),
        (dismiss, "dismissed"),
    ):
        if key:
            if state == "dismissed" and not reason.strip():
                raise UsageProblem("dismiss needs a reason.", place=key, hint="Give it: --reason …")
            conflicts.decide(ws, key, state, reason)
    report, now = conflicts.check(ws), ws.clock.now()
    read = last_sync(ws)
    if read.trouble:  # a check of what was indexed before could pass what is wrong now
        raise EnvironmentProblem(
            f"the skills can't be read: {read.trouble}", place=str(ws.root), hint="See: kl doctor"
        )
    unread = [
        one
        for one in read.problems
        if one.path.startswith(tuple(f"{folder}/" for folder in SKILL.folders))
    ]
    changed = conflicts.apply_repairs(ws, report.open) if apply_ else []
    plain = {
        "schema": "kl.skill.check/1",
        "conflicts": [one.to_dict(now) for one in report.open],
        "suppressed": report.suppressed,
        "changed": [one._asdict() for one in changed],
        "unread": [{"path": one.path, "line": one.line, "reason": one.message} for one in unread],
    }
    rows = [str(one) for one in unread]
    for one in report.open[:limit]:
        rows.append(
            f"{one.key}  {one.severity:<9} {one.sort}: {one.reason}"
            + f" ({one.state})" * (one.state != "detected")
        )
        rows += [
            f"    {'changed' if repair in changed else 'would change'}  {repair.text}"
            for repair in one.repairs
        ]
    print_list(shape, plain, rows, len(rows), "no conflicts.")
    if shape == "text" and not apply_ and any(one.repairs for one in report.open):
        warn("nothing was changed. To make these changes: kl skill check --apply")
    left = conflicts.check(ws) if apply_ else report
    return (
        FINDINGS
        if unread or any(one.severity in ("critical", "high") for one in left.open)
        else CLEAN
    )


@click.command(epilog="Example: kl skill health")
@top_option(10, 500)
@format_option()
def health(limit: int, shape: str) -> None:
    """Show the health of the active skills: 0 to 100, with the points of each term; then what would
    improve them.

    Suggestions follow from recorded uses: a variant that does better, a skill that mostly fails,
    skills that are used together without a relation, instructions that are too long for an answer,
    categories without a skill.
    """
    ws = initialized_workspace()
    found = conflicts.health(ws)
    if found is None:
        print_answer(
            shape,
            {"schema": "kl.skill.health/1", "score": None},
            ["not assessed: there is no active skill."],
        )
        return
    covered = library.coverage(library.all_skills(ws), library.demanded_categories(ws))
    lines = [f"{found.score:.0f} of 100, grade {found.grade}"]
    values = dict(zip(found.terms, found, strict=True))
    lines += [
        f"  {points:+7.2f}  {name} ({values[name]:.2f})" for name, points in found.terms.items()
    ]
    lines += [
        f"  no skill in force: {', '.join(one for one, n in covered.categories.items() if not n)}"
    ] * (covered.ratio < 1 and bool(covered.categories))
    suggested = conflicts.suggestions(ws)
    lines += [
        f"  {one.type} {', '.join(one.skills)}: {one.reason}\n      {one.command}"
        for one in suggested[:limit]
    ]
    plain = found.to_dict() | {
        "coverage": covered.to_dict(),
        "suggestions": [one._asdict() for one in suggested],
    }
    print_answer(shape, plain, lines)
    if shape == "text" and len(suggested) > limit:
        warn(f"these are the first {limit} of {len(suggested)} suggestions; more with --top.")


@click.command(epilog="Example: kl skill gaps")
@format_option()
def gaps(shape: str) -> None:
    """List what was learned three times or more, and no skill teaches."""
    found = library.gaps(initialized_workspace())
    rows = [
        f"{one['category']:<20} {', '.join(one['memories'][:5])}\n    {one['recommendation']}"
        for one in found
    ]
    print_list(shape, {"schema": "kl.skill.gaps/1", "gaps": found}, rows, len(rows), "no gaps.")


@click.command(epilog='Example: kl skill team "fill in a PDF form and mail it"')
@click.argument("task")
@format_option()
def team(task: str, shape: str) -> None:
    """Put at most five agents together that have the skills TASK needs."""
    ws = initialized_workspace()
    with agent_access(ws) as may:
        matches = library.discover(ws, task, "manifest").found
        made = library.team([one for one in matches if may.shows(one.record)])
    plain = {
        "schema": "kl.skill.team/1",
        **made._asdict(),
        "members": {k: list(v) for k, v in made.members.items()},
    }
    lines = [f"{name:<20} {', '.join(some)}" for name, some in made.members.items()]
    lines += [f"no agent has: {', '.join(made.missing)}"] * bool(made.missing)
    print_answer(shape, plain, lines or ["no skill in force matches."])


@click.command(
    epilog=(
        'Example: kl skill propose pdf-forms --description "Fills in PDF forms." --instructions'
        ' "1. …"'
    )
)
@_name
@click.option("--description", required=True, help="What it does, and when to use it.")
@click.option(
    "--instructions", help="What an agent does, step by step. Without them it stays a draft."
)
@click.option("--category", help=f"One of: {', '.join(SKILL.by_name['category'].choices)}.")
@click.option(
    "--requires",
    multiple=True,
    metavar="NAME",
    help="A skill that it can't do without. May be repeated.",
)
@click.option(
    "--enhances",
    multiple=True,
    metavar="NAME",
    help="A skill that it makes better. May be repeated.",
)
@click.option(
    "--composes",
    multiple=True,
    metavar="NAME",
    help="A skill that it is put together of. May be repeated.",
)
@click.option(
    "--succeeds",
    multiple=True,
    metavar="NAME",
    help="A skill whose place it takes. May be repeated.",
)
@click.option(
    "--auto-approve",
    is_flag=True,
    help="Approve it at once: for people, and for agents in kl.trusted-agents.",
)
@format_option()
def propose(name: str, auto_approve: bool, shape: str, **options: Any) -> None:
    """Propose a skill: what is recorded about it is added, and how much that is. A person reviews
    it.
    """
    ws = initialized_workspace()
    made, why = proposals.propose(ws, name, given(options)), ""
    if auto_approve:
        made, why = proposals.approve_own(ws, made)
    print_record(ws, made, shape)
    if why:
        warn(why)


@click.command(epilog="Example: kl skill adopt PROP-0001")
@click.argument("id")
@format_option()
def adopt(id: str, shape: str) -> None:
    """Write the SKILL.md of a proposal that a person approved, exactly as it was then.

    For people.
    """
    ws = initialized_workspace()
    print_record(ws, proposals.adopt(ws, id), shape)


@click.command(epilog="Example: kl proposal approve PROP-0001")
@click.argument("id")
@format_option()
def approve(id: str, shape: str) -> None:
    """Approve a proposal, and propose what it requires and does not exist: at most three skills,
    three levels deep.
    """
    ws = initialized_workspace()
    record, made = proposals.approve(ws, id)
    print_record(ws, record, shape)
    for reason in proposals.suspicions(record):
        warn(f"{record.id} reads like an instruction to its reviewer: {reason}")
    for one in made:
        warn(f"{one.id} proposed: {one.title}, which {record.title} needs")
    if shape == "text":
        warn(f"to write its SKILL.md: kl skill adopt {record.id}")
