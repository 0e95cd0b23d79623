"""Arguments and options of a command, printed from the fields of the request that it makes; and the
command of an operation.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from kl_hooks.cli.output import (
    REPORT_FORMATS,
    Option,
    allowed,
    command_access,
    echo_json,
    format_option,
    progress,
    warn,
    workspace,
    write,
)
from kl_hooks.errors import CLEAN, KlError
from kl_hooks.model.parameter import RequestField, fields_of
from kl_hooks.operations.operation import Operation, perform

if TYPE_CHECKING:
    from kl_hooks.model.diagnostic import Report

_MOST_SHOWN_CHOICES: Final = 4
"""Words of a free choice that are shown in place of its value in help."""
Command = TypeVar("Command", bound=Callable[..., Any])
_MOST_INPUT: Final = 2_000_000
"""Bytes that are read from stdin; a value may have half as many."""


def operation_command(
    operation: Operation,
    complete: Callable[[Any], Any] = lambda request: request,
    *,
    group: click.Group | None = None,
    command_class: type[click.Command] = click.Command,
    formats: Mapping[str, Callable[[Any], str]] = {},
    output_option: Callable[[Any], Any] | None = None,
    exit_code: Callable[[Any, Any], int] = lambda result, request: CLEAN,
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make the command of an operation from a function that prints its result as text.

    The function gets the result and the request, and what the options above it (of the text alone)
    have, by name. JSON is the operation's own. `complete`: adds to the request what only a command
    has, such as its progress.
    `group`: it is a command of. `command_class`: of the command. `formats`: other formats, each the
    function that gives the whole output. `output_option`: in place of `--format`, where that is
    the form of files. `exit_code`: of the result and the request.
    """

    def decorate(print_result: Callable[..., Any]) -> click.Command:
        fields = operation.fields

        def command(shape: str = "text", is_json: bool = False, **values: Any) -> int:
            if is_json:
                shape = "json"
            request = complete(request_of(operation.request, values, fields))
            printer = partial(print_result, **values)
            result = answer(operation, request, shape, printer, formats)
            return exit_code(result, request)

        command = field_options(fields)((output_option or format_option(*formats))(command))
        # click lists the options of decorators from the outermost to the innermost
        command.__click_params__ = [  # type: ignore[attr-defined]
            *command.__click_params__,  # type: ignore[attr-defined]
            *getattr(print_result, "__click_params__", ()),
        ]
        name = operation.name.rpartition(" ")[2]
        text = inspect.cleandoc(operation.help)
        epilog = f"Example: {operation.example}"
        made = click.command(name, command_class, help=text, epilog=epilog)(command)
        if group is not None:
            group.add_command(made)
        return made

    return decorate


def no_output_option(command: Command) -> Command:
    """For commands whose output is a file of the form that their request names."""
    return command


JSON_FLAG: Final = click.option(
    "--json", "is_json", is_flag=True, help="Show what was done as JSON."
)


def answer(
    operation: Operation,
    request: Any,
    shape: str,
    print_result: Callable[[Any, Any], Any],
    formats: Mapping[str, Callable[[Any], str]] = {},
) -> Any:
    """Perform an operation, print its result as JSON, in one of the formats or by the function, and
    return it.
    """
    waiting = progress(operation.progress) if operation.progress else nullcontext()
    try:
        with waiting:
            result = perform(workspace(), operation, request, command_access())
    except KlError as problem:
        for note in problem.notes:
            warn(note)
        if shape == "json" and problem.answer is not None:
            echo_json(problem.answer)
        elif shape != "text" and problem.result is not None:
            _print_document(operation, allowed(problem.result), shape, formats)
        raise
    for note in getattr(result, "notes", ()):
        warn(note)
    if shape == "json" or shape in formats:
        _print_document(operation, result, shape, formats)
    else:
        print_result(result, request)
    return result


def _print_document(
    operation: Operation, result: Any, shape: str, formats: Mapping[str, Callable[[Any], str]]
) -> None:
    if shape == "json":
        echo_json(operation.plain(result))
    else:
        write(formats[shape](result))


def request_of(
    request: Callable[..., Any], values: dict[str, Any], fields: Iterable[RequestField] = ()
) -> Any:
    """Take the fields of a request out of what click read, and make it of them. `fields`: where
    they are not those of its type.
    """
    every = fields or fields_of(request)
    return request(**{field.name: _value(field, values.pop(field.name)) for field in every})


def report_formats(
    reports: Callable[[Any], Sequence[Report]], command: str, place: str
) -> dict[str, Callable[[Any], str]]:
    """The formats of findings, by name, for `operation_command`. `reports`: those of a result;
    `command` and `place` as in `kl_hooks.model.report_formats`.
    """
    return {name: partial(_rendered, name, reports, command, place) for name in REPORT_FORMATS}


def _rendered(
    name: str,
    reports: Callable[[Any], Sequence[Report]],
    command: str,
    place: str,
    result: Any,
) -> str:
    from kl_hooks.model.report_formats.rendering import render

    return render(name, reports(result), command, place)


def _value(field: RequestField, given: Any) -> Any:
    """The value of a field as click read it; what was not given has the field's default."""
    if field.parameter.argument.endswith("...") and field.value_type is str:
        return " ".join(given)
    if field.parameter.is_read_from_stdin and given in (None, "-"):
        return _read_stdin()
    if given is None or (given == () and field.value_type is tuple):
        return field.default
    if field.value_type is dict:
        pairs = [text.partition("=") for text in given]
        if any(not sign for _, sign, _ in pairs):
            raise click.UsageError(f"{_option_name(field)}: write KEY=TEXT.")
        return {key: text for key, _, text in pairs} or field.default
    return field.clamped(given)


def _read_stdin() -> str:
    # one byte more than is taken, so that what is too long is refused and not cut
    data = sys.stdin.buffer.read(_MOST_INPUT + 1)
    return data.decode("utf-8", "replace").removesuffix("\n")


def request_options(request_type: type) -> Callable[[Command], Command]:
    """Give a command an argument or option for each field of a request, in their order, but for
    those that the command itself makes: required ones that are neither argument nor option.

    The function gets each by the name of its field; None, or an empty tuple, where it was not
    given.
    """
    return field_options(fields_of(request_type))


def field_options(fields: Iterable[RequestField]) -> Callable[[Command], Command]:
    """As `request_options`, of the fields of a request."""
    parameters = [
        _argument(field) if field.parameter.argument else _option(field)
        for field in fields
        if field.parameter.argument or field.parameter.is_option or not field.is_required
    ]

    def decorate(command: Command) -> Command:
        # click lists the options of decorators from the outermost to the innermost
        for parameter in reversed(parameters):
            command = parameter(command)
        return command

    return decorate


def _argument(field: RequestField) -> Callable[[Command], Command]:
    name = field.parameter.argument
    return click.argument(
        field.name,
        metavar=name,
        type=_type_of(field),
        nargs=-1 if name.endswith("...") else 1,
        required=field.is_required and not field.parameter.is_read_from_stdin,
    )


def _option(field: RequestField) -> Callable[[Command], Command]:
    parameter = field.parameter
    if parameter.flags:
        return _flags(field)
    text = parameter.help + (f"  [default: {parameter.default}]" if parameter.default else "")
    is_list = field.value_type in (tuple, dict)
    metavar = parameter.metavar
    if parameter.is_free and parameter.choices:
        is_short = len(parameter.choices) <= _MOST_SHOWN_CHOICES
        if is_short:
            metavar = f"[{'|'.join(parameter.choices)}]"
        else:
            metavar = ""
        if not is_short:
            text += f" One of: {', '.join(parameter.choices)}."
    if parameter.is_free and is_list:
        metavar, text = metavar or "TEXT", f"{text} May be repeated."
    if parameter.is_default_shown:
        shown = field.default
    else:
        shown = None
    # click takes a default of None for a value, so that nothing would be missing
    default = {"required": True} if field.is_required else {"default": () if is_list else shown}
    names = (parameter.short, _option_name(field)) if parameter.short else (_option_name(field),)
    return click.option(
        *names,
        field.name,
        cls=Option,
        # the name of the field too: other commands and records have that one
        old=tuple(f"--{name.replace('_', '-')}" for name in field.names[1:]),
        type=_type_of(field),
        is_flag=field.is_flag,
        multiple=is_list,
        show_default=parameter.is_default_shown,
        metavar=metavar or None,
        hidden=parameter.is_hidden,
        help=text,
        **default,
    )


def _flags(field: RequestField) -> Callable[[Command], Command]:
    texts = list(zip(field.parameter.choices, field.parameter.flags, strict=False))

    def choose(choice: str, ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
        former = ctx.params.setdefault(field.name, None)
        if value and former:
            # of two the last would count, without a word
            raise click.UsageError(f"--{former} and --{choice}: give one of them.", ctx)
        if value:
            ctx.params[field.name] = choice

    def decorate(command: Command) -> Command:
        for choice, text in reversed(texts):
            command = click.option(
                f"--{choice}",
                f"{field.name}_{choice.replace('-', '_')}",
                is_flag=True,
                expose_value=False,
                callback=partial(choose, choice),
                help=text,
            )(command)
        return command

    return decorate


def _option_name(field: RequestField) -> str:
    return f"--{field.public_name.replace('_', '-')}"


def _type_of(field: RequestField) -> click.ParamType[Any] | None:
    choices = field.parameter.choices
    bounds = field.parameter.bounds
    if field.parameter.is_free:
        return {int: click.INT, bool: click.BOOL}.get(field.value_type, click.STRING)
    if choices:
        return click.Choice(choices, case_sensitive=False)
    if bounds:
        return click.IntRange(*bounds, clamp=field.parameter.is_clamped)
    if field.value_type is int:
        return click.INT
    if field.value_type not in (str, tuple):
        return None
    return click.STRING
