"""A server for this machine only: who may ask it, how many at once, and for how long.

It listens on 127.0.0.1. A page in a browser can send requests to this address too. So each request
must have a token, which no page knows; its `Host` must be this server's, or a page could reach it
under a name of its own that it points here (DNS rebinding); and one that a browser sends on behalf
of another origin is refused.
"""

from __future__ import annotations

import hmac
import io
import json
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import EnvironmentProblem, KlError
from kl_hooks.tools.call import failed

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

HOST: Final = "127.0.0.1"
_SECONDS: Final = 30.0
"""For a client to send its request, and again to read the answer."""
_CONNECTIONS: Final = 32
"""At once, each of which has a thread."""


class LocalServer(ThreadingHTTPServer):
    """A server on 127.0.0.1 with a token. `server_address` has the port."""

    daemon_threads = True

    def __init__(
        self,
        handler: type[LocalHandler],
        token: str,
        *,
        port: int,
        command: str,
        seconds: float = _SECONDS,
        connections: int = _CONNECTIONS,
    ) -> None:
        """`command`: which one serves, for messages. `seconds`: for a client to send its request,
        and again to read the answer. `connections`: at once; further ones are refused.
        """
        self.token = token
        self.seconds = seconds
        self._free_connections = BoundedSemaphore(connections)
        try:
            super().__init__((HOST, port), handler)
        except (OSError, OverflowError) as problem:
            hint = "Give another one: --port 0 takes one that is free."
            raise EnvironmentProblem(
                f"port {port} can't be used ({problem}).", place=command, hint=hint
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


class Refused(Exception):
    """A request that is not answered, and why."""

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


@contextmanager
def cache_closed(ws: Workspace) -> Iterator[Workspace]:
    """Close the cache of a workspace in the thread that used it: the connections to its database
    belong to threads, and another one can't close them.
    """
    try:
        yield ws
    finally:
        if "cache" in vars(ws):
            ws.cache.close()


class LocalHandler(BaseHTTPRequestHandler):
    """Reads a request within its time, and checks who sends it. A subclass answers."""

    server: LocalServer
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

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """For what is no request, or of another method; the base class would send a page."""
        self.close_connection = True
        self.send_json(code, failed("", KlError(f"{message or HTTPStatus(code).phrase}.")))

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: queries are nobody else's."""

    def send_json(self, status: int, value: Mapping[str, Any], **headers: str) -> None:
        """Answer with an object. `headers`: as `send_content`."""
        self.send_content(status, "application/json", json.dumps(value).encode(), **headers)

    def send_content(self, status: int, kind: str, data: bytes, **headers: str) -> None:
        """Answer with content of a media type. `headers`: more of them, `_` for `-`."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
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

    def header(self, name: str, default: str = "") -> str:
        """Return the value of a header that something is decided by. Refused where it is there
        twice: a proxy may have decided by the other one.
        """
        values = self.headers.get_all(name, [default])
        if len(values) > 1:
            raise Refused(HTTPStatus.BAD_REQUEST, f"{name} is there {len(values)} times.")
        return values[0]

    def check_sender(self) -> None:
        """Raise Refused for a request of another site, or under another name."""
        hosts, origins = self.headers.get_all("Host", []), self.headers.get_all("Origin", [])
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts:
            raise Refused(
                HTTPStatus.FORBIDDEN, f"the Host is not {HOST}:{self.server.server_port}."
            )
        names = {origin.lower().removeprefix("http://") for origin in origins}
        if not names <= self.server.hosts:
            raise Refused(HTTPStatus.FORBIDDEN, "sent on behalf of another origin.")
        if self.header("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise Refused(HTTPStatus.FORBIDDEN, "sent on behalf of another site.")

    def is_token(self, text: str) -> bool:
        """Whether a text is the token of this server."""
        # in constant time: how long a comparison takes shows how much of a guess is right
        return hmac.compare_digest(text.encode("utf-8", "replace"), self.server.token.encode())
