"""`kl skill` and `kl proposal`: the commands that only skills and proposals of skills have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kl_hooks.cli.kind_commands import print_written
from kl_hooks.cli.output import (
    counted,
    echo,
    echo_lines,
    print_rows,
    warn,
)
from kl_hooks.cli.record_output import warn_of_index_problems
from kl_hooks.cli.request_options import operation_command
from kl_hooks.errors import CLEAN, FINDINGS
from kl_hooks.model.text import one_line
from kl_hooks.operations import proposals, skills
from kl_hooks.skills import library

if TYPE_CHECKING:
    from kl_hooks.skills.uses import SkillContext, Use


@operation_command(skills.DISCOVER)
def discover(matches: skills.Matches, _request: skills.DiscoverRequest) -> None:
    """Print the skills that a task needs."""
    warn_of_index_problems()
    rows = []
    for match in matches.matches:
        skill = library.summary(match.record)
        rows.append(f"{match.score:.2f}  {skill['name']:<28} {one_line(skill['description'], 90)}")
        rows.append(f"      {skill['path']}: {match.reason}")
        if match.has_instructions:
            rows += [f"    | {line}" for line in match.record.body.strip().splitlines()]
    print_rows(rows, len(rows), "no skill in force matches.")
    if matches.not_in_force:
        why = "not active, not committed, or misnamed"
        warn(f"{counted(matches.not_in_force, 'skill')} omitted: {why}. See: kl skill list")
    if matches.note:
        warn(matches.note)


@operation_command(skills.CONTEXT)
def context(shown: SkillContext, _request: skills.ContextRequest) -> None:
    """Print a skill with its instructions and what it requires."""
    record = shown.record
    echo(f"{record.title}  {record.status}  {record.path}")
    echo(f"    {one_line(record.text('description'), 300)}")
    echo_lines(f"    {' '.join(relation)}" for relation in shown.relations)
    echo_lines(f"    missing: {name}" for name in shown.missing)
    echo(f"    effectiveness: {shown.effectiveness.line()}")
    echo()
    if shown.is_in_force:
        echo_lines(record.body.strip().splitlines())
    for required in shown.required:
        skill = library.summary(required.record)
        echo()
        echo(f"requires {skill['name']}: {skill['description']}")
        if required.has_instructions:
            echo_lines(required.record.body.strip().splitlines())
    if not shown.is_in_force:
        warn(
            "it is not in force, so its text is not shown here: a person commits it, or"
            " activates it."
        )


@operation_command(skills.USE)
def use(started: Use, _request: skills.UseRequest) -> None:
    """Print the file to follow."""
    echo(f"{started.id}  {started.name}  variant {started.variant}")
    echo(f"    follow {started.path}")


@operation_command(skills.DONE)
def done(ended: skills.EndedUse, _request: skills.DoneRequest) -> None:
    """Print the outcome of a use."""
    ended_use, outcome = ended
    word = {True: "success", False: "failure", None: "unknown"}[outcome.success]
    echo(f"{ended_use.id}  {ended_use.name}  {word}: {'; '.join(outcome.reasons)}")


@operation_command(skills.VERSIONS)
def versions(compared: skills.Variants, _request: skills.SkillRequest) -> None:
    """Print how well each variant does."""
    for variant in compared.variants:
        effectiveness = variant.effectiveness
        echo(f"{variant.name:<12} {effectiveness.uses:>4} uses   {effectiveness.line()}")
    if winner := compared.winner:
        echo(f"better: {winner}. To take it: kl skill promote {compared.record.title} {winner}")


@operation_command(skills.PROMOTE)
def promote(promoted: skills.Promoted, _request: skills.PromoteRequest) -> None:
    """Print the file that changed."""
    echo(f"{promoted.path}  version {promoted.version}")
    echo("hint: commit it, so that agents are shown it.")


def _check_code(report: skills.Check, _request: skills.CheckRequest) -> int:
    if report.unread or report.is_urgent:
        return FINDINGS
    return CLEAN


@operation_command(skills.CHECK, exit_code=_check_code)
def check(report: skills.Check, request: skills.CheckRequest) -> None:
    """Print conflicts, and the changes that end them."""
    rows = [str(problem) for problem in report.unread]
    for shown in report.conflicts.shown:
        conflict = shown.conflict
        if conflict.state != "detected":
            state = f" ({conflict.state})"
        else:
            state = ""
        kind = f"{conflict.key}  {conflict.severity:<9} {conflict.sort}"
        rows.append(f"{kind}: {conflict.reason}{state}")
        for repair in conflict.repairs:
            if repair in report.changes:
                word = "changed"
            else:
                word = "would change"
            rows.append(f"    {word}  {repair.text}")
    print_rows(rows, len(rows), "no conflicts.")
    repairable = any(shown.conflict.repairs for shown in report.conflicts.items)
    if repairable and not request.apply:
        warn("nothing was changed. To make these changes: kl skill check --apply")


@operation_command(skills.HEALTH)
def health(shown: skills.ShownHealth, _request: skills.HealthRequest) -> None:
    """Print the health of all skills, term by term."""
    state = shown.health
    covered = shown.coverage
    if state is None:
        echo("not assessed: there is no active skill.")
        return
    echo(f"{state.score:.0f} of 100, grade {state.grade}")
    values = dict(zip(state.terms, state, strict=True))
    for name, points in state.terms.items():
        echo(f"  {points:+7.2f}  {name} ({values[name]:.2f})")
    missing = [category for category, number in covered.categories.items() if not number]
    if missing:
        echo(f"  no skill in force: {', '.join(missing)}")
    for suggestion in shown.suggestions.shown:
        echo(f"  {suggestion.type} {', '.join(suggestion.skills)}: {suggestion.reason}")
        echo(f"      {suggestion.command}")
    first = len(shown.suggestions.shown)
    total = shown.suggestions.total
    if total > first:
        warn(f"these are the first {first} of {total} suggestions; more with --top.")


@operation_command(skills.GAPS)
def gaps(gap_list: skills.Gaps, _request: skills.GapsRequest) -> None:
    """Print what no skill teaches."""
    rows = [
        f"{gap.category:<20} {', '.join(gap.memories[:5])}\n    {gap.recommendation}"
        for gap in gap_list.gaps
    ]
    print_rows(rows, len(rows), "no gaps.")


@operation_command(skills.TEAM)
def team(skill_team: library.Team, _request: skills.TeamRequest) -> None:
    """Print agents that together have what a task needs."""
    lines = [f"{agent:<20} {', '.join(names)}" for agent, names in skill_team.members.items()]
    if skill_team.missing:
        lines.append(f"no agent has: {', '.join(skill_team.missing)}")
    echo_lines(lines or ["no skill in force matches."])


propose = operation_command(proposals.PROPOSE)(print_written)
adopt = operation_command(proposals.ADOPT)(print_written)


@operation_command(proposals.APPROVE)
def approve(approval: proposals.Approval, request: proposals.ProposalRequest) -> None:
    """Print the proposal, and the next step."""
    print_written(approval.proposal, request)
    warn(f"to write its SKILL.md: kl skill adopt {approval.proposal.record.id}")
