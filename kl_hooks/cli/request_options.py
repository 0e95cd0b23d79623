"""Options of a command, printed from the fields of the request that it makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kl_hooks.model.parameter import RequestField, fields_of

Command = TypeVar("Command", bound=Callable[..., Any])


def request_options(request_type: type) -> Callable[[Command], Command]:
    """Give a command an option for each field of a request that has a default, in their order.

    The function gets each by the name of its field; None, or an empty tuple, where it was not
    given.
    """
    options = [_option(field) for field in fields_of(request_type) if not field.is_required]

    def decorate(command: Command) -> Command:
        # click lists the options of decorators from the outermost to the innermost
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _option(field: RequestField) -> Callable[[Command], Command]:
    parameter = field.parameter
    text = parameter.help + (f"  [default: {parameter.default}]" if parameter.default else "")
    is_list = field.value_type is tuple
    shown = field.default if parameter.is_default_shown else None
    return click.option(
        f"--{field.public_name.replace('_', '-')}",
        field.name,
        type=_type_of(field),
        is_flag=field.value_type is bool,
        multiple=is_list,
        default=() if is_list else shown,
        show_default=parameter.is_default_shown,
        metavar=parameter.metavar or None,
        help=text,
    )


def _type_of(field: RequestField) -> click.ParamType[Any] | None:
    choices, bounds = field.parameter.choices, field.parameter.bounds
    if choices:
        return click.Choice(choices)
    if bounds:
        return click.IntRange(*bounds)
    return click.STRING if field.value_type in (str, tuple) else None
