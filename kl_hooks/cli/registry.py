"""`kl knowledge registry`, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kl_hooks.cli.output import echo_lines, path_from_root, warn, workspace
from kl_hooks.cli.request_options import operation_command
from kl_hooks.model.text import one_line
from kl_hooks.operations import registry as operations


def _from_root(request: operations.RegistryRequest) -> operations.RegistryRequest:
    if not request.snapshot:
        return request
    return request._replace(snapshot=path_from_root(workspace().root, request.snapshot))


@operation_command(operations.REGISTRY, _from_root)
def registry(listed: operations.Registries, request: operations.RegistryRequest) -> None:
    """Print the rows of each registry."""
    echo_lines(_lines(listed))
    if request.snapshot:
        warn(f"written to {request.snapshot}")


def _lines(listed: operations.Registries) -> Iterator[str]:
    for name, rows in listed.plain_rows().items():
        yield name
        yield from (f"  {_line(row)}" for row in rows)
        if not rows:
            yield "  none"


def _line(row: Mapping[str, Any]) -> str:
    first, *others = (one_line(operations.cell(value), 100) for value in row.values())
    return f"{first:<24} {'  '.join(filter(None, others))}".rstrip()
