"""`kl uninstall`: remove kl from a clone, and name what stays."""

from __future__ import annotations

from kl_hooks.cli.output import echo_line, echo_lines
from kl_hooks.cli.request_options import operation_command
from kl_hooks.operations import uninstall as operations


@operation_command(operations.UNINSTALL, exit_code=operations.exit_code)
def uninstall(
    uninstallation: operations.Uninstallation, _request: operations.UninstallRequest
) -> None:
    """Print what is removed, then what stays and how it is removed."""
    action = "would remove" if uninstallation.is_dry_run else "removed"
    for removal in uninstallation.removals:
        if not removal.reason:
            echo_line(f"{action}  {removal.sort}: {removal.place}")
    for removal in uninstallation.removals:
        if removal.reason:
            echo_line(f"stays    {removal.sort}: {removal.place}: {removal.reason}")
            echo_lines([f"         {removal.command}"] if removal.command else [])
