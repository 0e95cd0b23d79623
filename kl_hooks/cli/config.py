"""`kl config`: the effective settings, and where each comes from."""

from __future__ import annotations

import click

from kl_hooks.cli.output import echo
from kl_hooks.cli.request_options import operation_command
from kl_hooks.operations.config import CONFIG, Config, ConfigRequest, Setting


def _with_root(request: ConfigRequest) -> ConfigRequest:
    has_root = bool(click.get_current_context().find_root().params.get("root"))
    return request._replace(has_root=has_root)


@operation_command(CONFIG, _with_root)
def config(config: Config, _request: ConfigRequest) -> None:
    """Print the settings as a table."""
    rows = [(*_texts(setting), setting.source) for setting in config.settings]
    name_width, value_width = (max(len(row[column]) for row in rows) for column in (0, 1))
    for name, value, source in rows:
        echo(f"{name:<{name_width}}  {value:<{min(value_width, 40)}}  {source}")


def _texts(setting: Setting) -> tuple[str, str]:
    value = setting.value
    if isinstance(value, list):
        return setting.name, ", ".join(value) or "none"
    return setting.name, str(value).lower() if isinstance(value, bool) else str(value) or "none"
