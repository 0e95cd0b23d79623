"""The agents' tools over HTTP: JSON only, on 127.0.0.1, for whoever has the token that is printed
at the start.

A page in a browser can send requests to this address too. So each request must have the token,
which no page knows; its `Host` must be this server's, or a page could reach it under a name of its
own that it points here (DNS rebinding); and one that a browser sends on behalf of another origin is
refused. Each request opens the repository anew.
"""

from __future__ import annotations

import hmac
import io
import json
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from kl_hooks.context.access import access
from kl_hooks.errors import CLEAN, USAGE_ERROR, EnvironmentProblem, KlError
from kl_hooks.operations import context
from kl_hooks.operations.operation import perform
from kl_hooks.tools.call import bounded, call, catalogue, failed, read_arguments
from kl_hooks.tools.tool import LARGEST_INPUT, SCHEMA, author

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

HOST: Final = "127.0.0.1"
_SECONDS: Final = 30.0
"""For a client to send its request, and again to read the answer."""
_CONNECTIONS: Final = 32
"""At once, each of which has a thread."""


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


class KnowledgeServer(ThreadingHTTPServer):
    """A server of one repository. `server_address` has the port."""

    daemon_threads = True

    def __init__(
        self,
        opened: Callable[[], Workspace],
        token: str,
        *,
        port: int,
        allow_write: bool,
        seconds: float = _SECONDS,
        connections: int = _CONNECTIONS,
    ) -> None:
        """`seconds`: for a client to send its request, and again to read the answer.

        `connections`: at once; further ones are refused.
        """
        self.opened = opened
        self.token = token
        self.allow_write = allow_write
        self.seconds = seconds
        self._free_connections = BoundedSemaphore(connections)
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as problem:
            hint = "Give another one: --port 0 takes one that is free."
            raise EnvironmentProblem(
                f"port {port} can't be used ({problem}).", place="kl serve", hint=hint
            ) from None
        self.hosts = frozenset(f"{name}:{self.server_port}" for name in (HOST, "localhost"))

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own, or refuse it where there are too many."""
        if not self._free_connections.acquire(blocking=False):
            # the answer fits into the buffer of a new connection, and must not wait for its client
            request.setblocking(False)
            with suppress(OSError):
                request.send(_BUSY)
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread was started
            self._free_connections.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a connection, and let the next one in."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free_connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error outside of an answer, unless the client left before it had its answer."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


_BUSY_ANSWER: Final = json.dumps(failed("", KlError("too many connections at once."))).encode()
_BUSY: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\n"
    b"Cache-Control: no-store\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_BUSY_ANSWER), _BUSY_ANSWER)
)


class _Refused(Exception):
    """A request that no tool sees."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class _TimedReader(io.RawIOBase):
    """What a client sends until a deadline: the timeout of a socket begins anew with each byte."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection, self._seconds = connection, seconds
        self.restart()

    def restart(self) -> None:
        """Begin the time of the next request."""
        self._deadline = time.monotonic() + self._seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Receive what is there. TimeoutError after the deadline."""
        seconds = self._deadline - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        self._connection.settimeout(seconds)
        return self._connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    server: KnowledgeServer
    protocol_version = "HTTP/1.1"
    # what is answered before a version was read: HTTP/0.9, the default, has no status line
    default_request_version = protocol_version
    server_version = "kl"
    sys_version = ""

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self._received = _TimedReader(self.connection, self.server.seconds)
        self.rfile = io.BufferedReader(self._received)

    def handle_one_request(self) -> None:
        """Read a request and answer it, within the time for each."""
        self._received.restart()
        super().handle_one_request()

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """For what is no request, or of another method; the base class would send a page."""
        self.close_connection = True
        self._send(code, failed("", KlError(f"{message or HTTPStatus(code).phrase}.")))

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: queries are nobody else's."""

    def _answer(self) -> None:
        try:
            self._check_sender()
            body = self._body()
            status, value = self._result(body)
        except _Refused as refused:
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
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            value = failed("", KlError(reason, place=self.path))
        self._send(status, value)

    def _send(self, status: int, value: Mapping[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        # an answer that a browser was made to ask for must not be guessed to be a page, nor stored
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        if self.close_connection:
            self.send_header("Connection", "close")
        # of the whole of what is sent
        self.connection.settimeout(self.server.seconds)
        self.end_headers()
        self.wfile.write(data)

    def _header(self, name: str, default: str = "") -> str:
        """Return the value of a header that something is decided by. _Refused where it is there
        twice: a proxy may have decided by the other one.
        """
        values = self.headers.get_all(name, [default])
        if len(values) > 1:
            raise _Refused(HTTPStatus.BAD_REQUEST, f"{name} is there {len(values)} times.")
        return values[0]

    def _check_sender(self) -> None:
        hosts = self.headers.get_all("Host", [])
        origins = self.headers.get_all("Origin", [])
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts:
            raise _Refused(
                HTTPStatus.FORBIDDEN, f"the Host is not {HOST}:{self.server.server_port}."
            )
        if any(one.lower().removeprefix("http://") not in self.server.hosts for one in origins):
            raise _Refused(HTTPStatus.FORBIDDEN, "sent on behalf of another origin.")
        if self._header("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise _Refused(HTTPStatus.FORBIDDEN, "sent on behalf of another site.")
        # the name of a scheme has no case (RFC 9110, section 11.1)
        scheme, _, given = self._header("Authorization").partition(" ")
        # in constant time: how long a comparison takes shows how much of a guess is right
        right = hmac.compare_digest(
            given.strip().encode("utf-8", "replace"), self.server.token.encode()
        )
        if scheme.lower() != "bearer" or not right:
            raise _Refused(
                HTTPStatus.UNAUTHORIZED,
                "give the token that kl serve printed: Authorization: Bearer …",
            )

    def _body(self) -> bytes:
        if self._header("Transfer-Encoding"):
            raise _Refused(HTTPStatus.LENGTH_REQUIRED, "a body needs a Content-Length.")
        length = self._header("Content-Length", "0")
        if not length.isascii() or not length.isdecimal():
            raise _Refused(HTTPStatus.BAD_REQUEST, "Content-Length is no number.")
        # compared as text first: a number of a million digits takes its time to be read
        if len(length) > 12 or int(length) > LARGEST_INPUT:
            raise _Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {LARGEST_INPUT} bytes are read."
            )
        # a form of another site is sent without asking first only as text or as a form
        # (fetch.spec.whatwg.org, CORS)
        self._header("Content-Type")
        if int(length) and self.headers.get_content_type() != "application/json":
            raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the body must be application/json.")
        try:
            data = self.rfile.read(int(length))
        except TimeoutError:
            raise _Refused(
                HTTPStatus.REQUEST_TIMEOUT,
                f"the body did not arrive in {self.server.seconds:g} seconds.",
            ) from None
        if len(data) < int(length):
            raise _Refused(HTTPStatus.BAD_REQUEST, "the body is shorter than its Content-Length.")
        return data

    def _result(self, body: bytes) -> tuple[HTTPStatus, Mapping[str, Any]]:
        parts = urlsplit(self.path)
        found = [
            (route, given) for route in ROUTES if (given := route.match(parts.path)) is not None
        ]
        if not found:
            raise _Refused(
                HTTPStatus.NOT_FOUND,
                f"nothing is here. Paths: {', '.join(one.path for one in ROUTES)}.",
            )
        fitting = [(route, given) for route, given in found if route.method == self.command]
        if not fitting:
            raise _Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"use {found[0][0].method}.")
        route, given = fitting[0]
        try:
            with _cache_closed(self.server.opened()) as ws:
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
            raise _Refused(HTTPStatus.BAD_REQUEST, str(problem)) from None
        if code == CLEAN:
            return HTTPStatus.OK, value
        return (
            HTTPStatus.BAD_REQUEST if code == USAGE_ERROR else HTTPStatus.SERVICE_UNAVAILABLE
        ), value


@contextmanager
def _cache_closed(ws: Workspace) -> Iterator[Workspace]:
    """Close the cache of a workspace in the thread that used it: the connections to its database
    belong to threads, and another one can't close them.
    """
    try:
        yield ws
    finally:
        if "cache" in vars(ws):
            ws.cache.close()


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
