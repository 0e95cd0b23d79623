"""The operation of a context package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from kl_hooks.errors import UsageProblem
from kl_hooks.model.actors import trace_id
from kl_hooks.model.parameter import Parameter, RequestField, fields_of
from kl_hooks.model.request import Request
from kl_hooks.model.text import one_line, suggest_spelling
from kl_hooks.operations.operation import Operation

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace


_OWN_ARGUMENTS: Final = ("budget", "queries", "changed")
"""Options of a package that are arguments of the tool; the others are in its `options`."""
_NAMED_OPTIONS: Final = 10
"""Of these in the listing, which has a limit; the others in the page about tools."""
_ALWAYS: Final = ("package_id", "budget", "coverage", "omitted")
"""Keys of the document that each answer has, …"""
_WHERE_NOT_EMPTY: Final = ("searches", "quota")
"""… and that it has where they hold something."""


def _package_options() -> dict[str, RequestField]:
    """Option of `kl context` that `options` of the tool takes → the field of a request."""
    return {
        field.public_name.replace("_", "-"): field
        for field in fields_of(Request)
        if field.name not in _OWN_ARGUMENTS
    }


class PackageRequest(NamedTuple):
    """What a package is asked for."""

    task: Annotated[str, Parameter("In plain words.")] = ""
    budget: Annotated[str, Parameter("6000, or 1500tok")] = ""
    queries: Annotated[tuple[str, ...], Parameter("More.")] = ()
    changed: Annotated[str, Parameter("A...B")] = ""
    options: Annotated[
        dict[str, str],
        Parameter(f"{', '.join([*_package_options()][:_NAMED_OPTIONS])} …"),
    ] = {}  # noqa: RUF012 - the default of a NamedTuple, which nobody changes
    author: str = ""
    """As events name it; empty: whoever runs this."""


class Package(NamedTuple):
    """A package, made under the policy of whoever asks."""

    text: str
    document: Mapping[str, Any]
    """As `kl context --format json` prints it."""
    remark: str = ""
    """What is to be known of it, such as that it was made again."""


def _build(ws: Workspace, request: PackageRequest, _access: Access) -> Package:
    from kl_hooks.context.deliver import deliver, make_request

    options = {name: getattr(request, name) for name in _OWN_ARGUMENTS}
    options |= _read_options(request.options)
    asked = make_request(request.task, "text", trace_id(ws.environ), options)
    delivered = deliver(ws, asked, actor=request.author)
    return Package(delivered.text, delivered.document)


def _read_options(texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a request that `options` holds. UsageProblem for what `kl context` would
    refuse.
    """
    fields = _package_options()
    values: dict[str, Any] = {}
    for name, text in texts.items():
        if name not in fields:
            raise UsageProblem(
                f'"{one_line(name, 60)}" is no option.',
                place="options",
                hint=suggest_spelling(name, fields) or "See: kl context --help",
            )
        values[fields[name].name] = fields[name].read(text)
    return values


def _package_to_dict(package: Package) -> dict[str, Any]:
    document = package.document
    optional = {name: document[name] for name in _WHERE_NOT_EMPTY if document[name]}
    return {"text": package.text, **{name: document[name] for name in _ALWAYS}, **optional}


PACKAGE: Final = Operation(
    "context TASK",
    "A small, ranked, cited context package for a task.",
    PackageRequest,
    _build,
    _package_to_dict,
    "kl.context.text/1",
    'kl context "make names unique"',
    tool="context",
)


class ShowRequest(NamedTuple):
    """Which package."""

    id: Annotated[str, Parameter("Its ID.", argument="ID")]
    author: str = ""
    """As events name it; empty: whoever runs this."""


def _show(ws: Workspace, request: ShowRequest, _access: Access) -> Package:
    from kl_hooks.context.deliver import find_package

    delivered = find_package(ws, request.id, request.author)
    return Package(delivered.text, delivered.document, delivered.remark)


def _shown_to_dict(package: Package) -> dict[str, Any]:
    return {"text": package.text, "package": dict(package.document), "remark": package.remark}


SHOW: Final = Operation(
    "context show",
    "A package that was made before: from the cache, or built again from its request.",
    ShowRequest,
    _show,
    _shown_to_dict,
    "kl.context.shown/1",
    "kl context show cp-1f2e3d4c",
    is_tool=False,
)

OPERATIONS: Final = (PACKAGE, SHOW)
