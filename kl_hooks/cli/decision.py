"""`kl decision`: the commands that only decisions have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kl_hooks.cli.kind_commands import print_written
from kl_hooks.cli.output import counted, echo, echo_lines, warn, workspace, write
from kl_hooks.cli.record_output import record_line, warn_of_citations, warn_of_index_problems
from kl_hooks.cli.request_options import JSON_FLAG, no_output_option, operation_command
from kl_hooks.errors import CLEAN, FINDINGS
from kl_hooks.kinds.catalog import DECISION
from kl_hooks.kinds.decision.exporter import export_files, export_text
from kl_hooks.operations import decisions, own_operations


@operation_command(decisions.RECORD)
def record(assessed: decisions.AssessedDecision, _request: decisions.AnswerRequest) -> None:
    """Print how much an answer decides, why, and the decision."""
    threshold = f"threshold of {assessed.threshold} %)"
    below = f"below the {threshold}: not recorded."
    echo(
        f"{assessed.percent} % ({f'at least the {threshold}' if assessed.is_significant else below}"
    )
    echo_lines(f"  {points:+4}  {reason}" for points, reason in assessed.reasons)
    echo_lines(record_line(written.record) for written in assessed.records)


@operation_command(decisions.DISCOVER)
def discover(discovery: decisions.Discovery, _request: decisions.DiscoverRequest) -> None:
    """Print each decision that the code has taken, and what shows it."""
    for decision in discovery.decisions:
        proposal = decision.proposal
        if decision.records:
            identifier = decision.records[0].record.id
        else:
            identifier = ""
        echo(f"{identifier}  {proposal.confidence:>3} %  {proposal.title}".lstrip())
        echo_lines(f"         {line}" for line in proposal.evidence)
    if not discovery.decisions:
        echo("nothing that no record states already.")
    if discovery.proposed_before:
        warn(f"{counted(discovery.proposed_before, 'decision')} omitted: proposed before.")
    if discovery.decisions and not discovery.is_written:
        warn("nothing was written. To keep them as proposals: kl decision discover --write")


@operation_command(own_operations.supersede(DECISION))
def supersede(succession: own_operations.Succession, request: Any) -> None:
    """Print the chain, or the change that waits for a person."""
    old = succession.old.record
    new = succession.new.record
    if old.proposal:
        print_written(succession.old, request)
        return
    echo(" ← ".join(f"{record.id} ({record.status})" for record in succession.chain))
    warn_of_index_problems()
    if succession.waits:
        accept = f"kl decision accept {new.id}"
        warn(f"{old.id} stays in force until {new.id} is accepted: {accept}")
    else:
        warn_of_citations(workspace(), [old.id])


@operation_command(decisions.RENUMBER)
def renumber(renumbered: decisions.Renumbered, _request: decisions.RenumberRequest) -> None:
    """Print the new ID, and the places that changed."""
    former = renumbered.former_id
    new = renumbered.decision
    echo(f"{former} is now {new.id}\n    {new.path}")
    echo_lines(f"    changed: {place}" for place in renumbered.changed)
    echo_lines(f"    changed: {record}" for record in renumbered.records)
    for place in renumbered.unsure:
        warn(f"{place}: names {former}; change it by hand if {new.id} is meant.")
    for record in renumbered.unsure_records:
        warn(f"{record}: names {former}; edit it if {new.id} is meant.")
    for record in renumbered.texts:
        warn(f"{record}: its text names {former}; edit it if {new.id} is meant.")
    for claim in renumbered.claims:
        warn(
            f"claim {claim.id} names {former}; make it again for {new.id} if that is meant: "
            f"kl claim add … --about {new.id}"
        )
    for change in renumbered.left:
        proposal = f"{change.how} by {change.by}, {change.at[:10]}"
        warn(
            f"{change.record}: a proposed change names {former} ({proposal}); propose it for"
            f" {new.id} if that is meant. See: kl knowledge proposals"
        )


def _import_code(imported: decisions.ImportedDecisions, _request: Any) -> int:
    if imported.made or imported.existing:
        return CLEAN
    return FINDINGS


@operation_command(decisions.IMPORT, output_option=JSON_FLAG, exit_code=_import_code)
def import_(imported: decisions.ImportedDecisions, _request: decisions.ImportRequest) -> None:
    """Print what was made, or would be."""
    echo_lines(f"{one.id}  {one.title}   ({one.path})" for one in imported.made)
    echo_lines(f"{one.id}  is here already   ({one.path})" for one in imported.existing)
    if not imported.made and not imported.existing:
        warn("there is no decision in what was named.")
        return
    verb = "would make" if imported.is_dry_run else "made"
    echo(f"{verb} {counted(len(imported.made), 'decision')}.")


@operation_command(decisions.EXPORT, output_option=no_output_option)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder; without it: to stdout.",
)
@click.option("--force", is_flag=True, help="Replace files that are there.")
def export(
    exported: decisions.ExportedDecisions,
    request: decisions.ExportRequest,
    output: Path | None,
    force: bool,
) -> None:
    """Write the decisions as files, or as one text."""
    records = exported.decisions
    others = exported.others
    if output is None:
        write(export_text(records, request.form, others))
        return
    written = export_files(output, records, request.form, others, force=force)
    echo(f"wrote {counted(written, 'file')} into {output}.")
