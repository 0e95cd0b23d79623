"""The agents' tools over HTTP: JSON only, on 127.0.0.1, for whoever has the token that is printed
at the start. Each request opens the repository anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from kl_hooks.context.access import access
from kl_hooks.errors import CLEAN, USAGE_ERROR, KlError
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.operations import context
from kl_hooks.operations.operation import perform
from kl_hooks.tools.call import bounded, call, catalogue, failed, read_arguments
from kl_hooks.tools.local_server import LocalHandler, LocalServer, Refused, cache_closed
from kl_hooks.tools.tool import LARGEST_INPUT, SCHEMA, author

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


class Route(NamedTuple):
    """A method and a path, and the tool that answers it."""

    method: str
    path: str
    """A part in braces is an argument."""
    tool: str

    def match(self, path: str) -> dict[str, str] | None:
        """Return the arguments in a path; None where it is another path."""
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(self.path))
        found = re.fullmatch(pattern, path)
        if not found:
            return None
        return {name: unquote(value) for name, value in found.groupdict().items()}


_PACKAGE: Final = "package"
"""No tool: a context package by its ID."""
ROUTES: Final = (
    Route("GET", "/rag/search", "search_documents"),
    Route("GET", "/rag/query", "query_knowledge_base"),
    Route("POST", "/rag/knowledge_bases", "create_knowledge_base"),
    Route("POST", "/rag/documents", "add_document"),
    Route("POST", "/rag/documents/{id}/process", "process_document"),
    Route("POST", "/knowledge/context/build", "context"),
    Route("GET", "/knowledge/context/{id}", _PACKAGE),
    Route("POST", "/tools/{name}", ""),
)
"""In the order in which they are tried. Without a tool: the one that the path names."""


class KnowledgeServer(LocalServer):
    """A server of one repository. `server_address` has the port."""

    def __init__(
        self,
        opened: Callable[[], Workspace],
        token: str,
        *,
        port: int,
        allow_write: bool,
        **limits: Any,
    ) -> None:
        """`limits`: `seconds` and `connections`, as `LocalServer`."""
        self.opened = opened
        self.allow_write = allow_write
        super().__init__(_Handler, token, port=port, command="kl serve", **limits)


class _Handler(LocalHandler):
    server: KnowledgeServer

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        try:
            self._check_sender()
            body = self._body()
            status, value = self._result(body)
        except Refused as refused:
            # what was sent may not have been read to its end
            self.close_connection = True
            problem = KlError(str(refused), place=self.path.partition("?")[0])
            status = refused.status
            value = failed("", problem)
        except (
            Exception
        ) as problem:  # a bug of ours is stated in the answer, and the next request is answered
            self.close_connection = True
            reason = f"internal error: {type(problem).__name__}: {problem}"
            status, value = (
                HTTPStatus.INTERNAL_SERVER_ERROR,
                failed("", KlError(reason, place=self.path)),
            )
        self.send_json(status, value)

    def _check_sender(self) -> None:
        self.check_sender()
        # the name of a scheme has no case (RFC 9110, section 11.1)
        scheme, _, given = self.header("Authorization").partition(" ")
        if scheme.lower() != "bearer" or not self.is_token(given.strip()):
            raise Refused(
                HTTPStatus.UNAUTHORIZED,
                "give the token that kl serve printed: Authorization: Bearer …",
            )

    def _body(self) -> bytes:
        if self.header("Transfer-Encoding"):
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "a body needs a Content-Length.")
        length = self.header("Content-Length", "0")
        if not length.isascii() or not length.isdecimal():
            raise Refused(HTTPStatus.BAD_REQUEST, "Content-Length is no number.")
        # compared as text first: a number of a million digits takes its time to be read
        if len(length) > 12 or int(length) > LARGEST_INPUT:
            raise Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {LARGEST_INPUT} bytes are read."
            )
        # a form of another site is sent without asking first only as text or as a form
        # (fetch.spec.whatwg.org, CORS)
        self.header("Content-Type")
        if int(length) and self.headers.get_content_type() != "application/json":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the body must be application/json.")
        try:
            data = self.rfile.read(int(length))
        except TimeoutError:
            raise Refused(
                HTTPStatus.REQUEST_TIMEOUT,
                f"the body did not arrive in {self.server.seconds:g} seconds.",
            ) from None
        if len(data) < int(length):
            raise Refused(HTTPStatus.BAD_REQUEST, "the body is shorter than its Content-Length.")
        return data

    def _result(self, body: bytes) -> tuple[HTTPStatus, Mapping[str, Any]]:
        parts = urlsplit(self.path)
        found = [
            (route, given) for route in ROUTES if (given := route.match(parts.path)) is not None
        ]
        if not found:
            raise Refused(
                HTTPStatus.NOT_FOUND,
                f"nothing is here. Paths: {', '.join(one.path for one in ROUTES)}.",
            )
        fitting = [(route, given) for route, given in found if route.method == self.command]
        if not fitting:
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"use {found[0][0].method}.")
        route, given = fitting[0]
        try:
            with cache_closed(self.server.opened()) as ws:
                name = route.tool or given.pop("name")
                if name == _PACKAGE and route.tool:
                    return HTTPStatus.OK, _package(ws, given["id"])
                if route.method == "GET" or given:
                    query = parse_qs(parts.query, keep_blank_values=True, max_num_fields=100)
                    body = _merged(body, {**_typed(ws, name, query), **given})
                value, code = call(ws, name, body, allow_write=self.server.allow_write)
        except KlError as problem:
            value = failed(route.tool, problem)
            code = problem.exit_code
        except ValueError as problem:  # too many fields of a query
            raise Refused(HTTPStatus.BAD_REQUEST, str(problem)) from None
        if code == CLEAN:
            return HTTPStatus.OK, value
        return (
            HTTPStatus.BAD_REQUEST if code == USAGE_ERROR else HTTPStatus.SERVICE_UNAVAILABLE
        ), value


def _typed(ws: Workspace, tool: str, query: Mapping[str, list[str]]) -> dict[str, Any]:
    """The values of a query as the tool's schema has them; what is wrong with them the tool
    reports.
    """
    known = catalogue(ws)
    takes = known[tool].takes if tool in known else {}
    also = known[tool].also if tool in known else {}
    made: dict[str, Any] = {}
    for name, values in query.items():
        kind = takes.get(also.get(name, name), {}).get("type")
        last = values[-1]
        if kind == "array":
            made[name] = values
        elif kind == "integer" and last.isascii() and last.isdecimal() and len(last) < 10:
            made[name] = int(last)
        elif kind == "boolean" and last in ("true", "false"):
            made[name] = last == "true"
        else:
            made[name] = last
    return made


def _merged(body: bytes, given: Mapping[str, Any]) -> bytes:
    """The arguments of a path or a query with those of the body. UsageProblem for a body that is no
    object.
    """
    return json.dumps({**read_arguments(body), **given}).encode()


def _package(ws: Workspace, identifier: str) -> dict[str, Any]:
    """A context package: from the cache, or built again from its request."""
    request = context.ShowRequest(identifier, author(ws))
    with access(ws, "GET /knowledge/context", author(ws)) as seen:
        result = context.SHOW.to_dict(perform(ws, context.SHOW, request, seen))
    return {"schema": SCHEMA, "ok": True, "tool": "context", "result": bounded(result)}
