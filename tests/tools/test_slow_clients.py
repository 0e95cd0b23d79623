"""`kl serve` and clients that send or read slowly: none holds a thread, and there are not too
many.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from kl_hooks.tools import http_server
from kl_hooks.tools.http_server import KnowledgeServer
from tests.support import Checkout

TOKEN = "t0ken-of-a-test"
BODY = b'{"query": "x"}'


@contextmanager
def serving(repo: Checkout, seconds: float, connections: int) -> Iterator[KnowledgeServer]:
    """A server with these limits, which answers nobody any more at the end."""
    limits: dict[str, Any] = {"seconds": seconds, "connections": connections}
    with KnowledgeServer(repo.workspace, TOKEN, port=0, allow_write=False, **limits) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def request(server: KnowledgeServer, *, length: int = len(BODY)) -> bytes:
    """A request of a tool; its body is `length` bytes."""
    head = f"Host: 127.0.0.1:{server.server_port}\r\nAuthorization: Bearer {TOKEN}\r\n"
    types = f"Content-Type: application/json\r\nContent-Length: {length}\r\n"
    return f"POST /tools/graph_search HTTP/1.1\r\n{head}{types}\r\n".encode()


def connected(server: KnowledgeServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.server_port), timeout=20)


def answer(client: socket.socket) -> bytes:
    """Everything up to the end of the connection."""
    return b"".join(iter(lambda: client.recv(65536), b""))


def is_free(limit: float = 20) -> bool:
    """Wait until no thread answers anybody."""
    deadline = time.monotonic() + limit
    while any("process_request" in thread.name for thread in threading.enumerate()):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def test_a_client_that_stops_within_its_request_is_hung_up_on(
    repo: Checkout, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(repo, 0.1, 8) as server:
        whole = request(server)
        for part in (b"", whole[:9], whole[:40], whole[:-2]):
            with connected(server) as client:
                client.sendall(part)
                assert answer(client) == b"", part
        with connected(server) as client:
            client.sendall(whole + BODY[:3])
            late = answer(client)
        assert late.startswith(b"HTTP/1.1 408 ") and b"did not arrive in 0.1 seconds" in late
        assert is_free()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("in_body", [False, True])
def test_a_byte_now_and_then_gives_no_more_time(repo: Checkout, in_body: bool) -> None:
    with serving(repo, 0.2, 8) as server, connected(server) as client:
        start = request(server, length=10_000) if in_body else b"GET /"
        client.sendall(start)
        began, is_open = time.monotonic(), True
        client.settimeout(0.02)
        while is_open and time.monotonic() - began < 10:
            try:
                client.sendall(b"x")
                is_open = client.recv(1) == b""  # an answer, or its end
                break
            except TimeoutError:
                continue
            except OSError:
                break
        assert time.monotonic() - began < 5
        assert is_free()


def test_a_client_that_reads_nothing_holds_no_thread(
    repo: Checkout, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    large = {"text": "x" * 20_000_000}  # more than the buffers of both sockets
    monkeypatch.setattr(http_server, "call", lambda *_, **__: (large, 0))
    with serving(repo, 0.2, 8) as server, connected(server) as client:
        client.sendall(request(server) + BODY)
        assert client.recv(1) == b"H"
        assert is_free()
    assert capfd.readouterr().err == ""


def test_a_connection_too_many_is_refused_at_once_and_the_next_one_is_answered(
    repo: Checkout,
) -> None:
    with serving(repo, 20, 2) as server:
        with ExitStack() as waiting:
            for _ in range(2):
                client = waiting.enter_context(connected(server))
                client.sendall(b"GET /")
            with connected(server) as client:
                head, _, body = answer(client).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 503 ") and b"Retry-After: 1" in head
            assert json.loads(body)["error"]["reason"] == "too many connections at once."
        assert is_free()
        with connected(server) as client:
            client.sendall(
                request(server).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + BODY
            )
            assert answer(client).startswith(b"HTTP/1.1 200 ")
