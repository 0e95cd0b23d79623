"""`kl failure` and `kl finding`: what failed, counted each time, and what agents' tools found out
or changed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from kl_hooks.cli.output import counted, echo, echo_lines, warn, workspace
from kl_hooks.cli.record_output import record_lines, warn_of_proposals
from kl_hooks.cli.request_options import operation_command
from kl_hooks.errors import CLEAN, KlError
from kl_hooks.kinds.catalog import FAILURE
from kl_hooks.kinds.failure import times_phrase
from kl_hooks.kinds.finding import MAX_HOOK_BYTES
from kl_hooks.model.text import one_line
from kl_hooks.operations import findings, own_operations
from kl_hooks.operations.records import RecordRequest, ShownRecord


@operation_command(own_operations.record_failure(FAILURE))
def failure_record(
    counted_failure: own_operations.CountedFailure, request: own_operations.FailureRequest
) -> None:
    """Print the failure, and how often it happened."""
    record = counted_failure.failure.record
    times = times_phrase(counted_failure.occurrences.total)
    echo(f"{record.id}  {record.status}  {record.title}   (happened {times})\n    {record.path}")
    warn_of_proposals(record)
    if not record.text("prevention") and not record.proposal:
        echo(f'    hint: state what prevents it: kl failure edit {record.id} --prevention "…"')


@operation_command(own_operations.show_failure(FAILURE))
def failure_show(shown: ShownRecord, request: RecordRequest) -> None:
    """Print a failure, whole, and how often it happened."""
    head, *rest = record_lines(workspace(), shown)
    count = shown.occurrences
    assert count is not None
    dates = f"first {count.first[:10]}, last {count.last[:10]}"
    echo_lines([head, f"{'happened':<13} {times_phrase(count.total)}, {dates}", *rest])


def _read_hook(request: findings.HookRequest) -> findings.HookRequest:
    if not request.has_hook:
        raise click.UsageError(
            "give the source: --hook. To write one yourself: kl finding new --edit"
        )
    if sys.stdin is not None and sys.stdin.isatty():
        warn(
            "waiting for the JSON of an agent hook, which is to be typed or pasted here; Ctrl-D"
            " ends it."
        )
    # one byte more than allowed, so that what is too long is refused and not cut
    return request._replace(content=sys.stdin.buffer.read(MAX_HOOK_BYTES + 1))


@operation_command(findings.ADD, _read_hook)
def finding_add(stored: findings.StoredFindings, _request: findings.HookRequest) -> None:
    """Print the new finding."""
    echo_lines(_new_lines(stored))


_add = finding_add.callback


def _without_failing(is_strict: bool, **values: Any) -> int:
    """Run `finding add`; what can't be stored costs the agent nothing, unless it is strict."""
    assert _add is not None
    try:
        return int(_add(is_strict=is_strict, **values))
    except (KlError, OSError) as problem:
        if is_strict:
            raise
        warn(f"no finding stored: {problem}")
        return CLEAN


finding_add.callback = _without_failing


@operation_command(findings.IMPORT)
def finding_import(stored: findings.StoredFindings, _request: findings.TranscriptRequest) -> None:
    """Print the new findings, and how many there are."""
    echo_lines(_new_lines(stored))
    echo(f"{counted(len(stored.new), 'finding')} new, {len(stored.existing)} known already.")


def _new_lines(stored: findings.StoredFindings) -> Iterator[str]:
    for record in (written.record for written in stored.new):
        entity = one_line(record.text("entity"), 60)
        finding = one_line(record.text("finding"), 120)
        yield f"{record.id}  {record.text('kind'):<12} {entity}: {finding}"
