"""`kl seed`, as text."""

from __future__ import annotations

from kl_hooks.cli.output import echo_lines
from kl_hooks.cli.record_output import seeding_lines
from kl_hooks.cli.request_options import operation_command
from kl_hooks.operations.seeding import SEED, Seeding, SeedRequest


@operation_command(SEED)
def seed(seeding: Seeding, _request: SeedRequest) -> None:
    """Print what was, or would be, done with each seed."""
    echo_lines(seeding_lines(seeding))
