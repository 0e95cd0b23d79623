"""`kl graph merge`: merges two records."""

from __future__ import annotations

from kl_hooks.cli.output import echo_line, echo_lines
from kl_hooks.cli.record_output import record_line
from kl_hooks.cli.request_options import operation_command
from kl_hooks.operations.record_merge import MERGE, Merged, MergeRequest


@operation_command(MERGE)
def merge(merged: Merged, _request: MergeRequest) -> None:
    """Print both records, and what names the second one now."""
    new = merged.new.record
    echo_lines([record_line(merged.old.record), record_line(new)])
    if merged.changed:
        echo_line(f"now name {new.id}: {', '.join(merged.changed)}")
