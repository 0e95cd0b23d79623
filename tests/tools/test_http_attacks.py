"""Requests of an attacker to `kl serve`: each is refused, or answered without a traceback, and none
reads or writes what it should not.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from kl_hooks.tools.http_server import KnowledgeServer
from tests.support import Checkout

TOKEN: Final = "t0ken-of-a-test"
SECRET: Final = "zq-outside-secret"
_TOOL: Final = "POST /tools/knowledge_search"
_CONTEXT: Final = "POST /knowledge/context/build"


class Attack(NamedTuple):
    """A request, line by line, and the statuses that are right."""

    name: str
    line: str
    headers: tuple[str, ...]
    body: bytes = b""
    statuses: tuple[int, ...] = (400, 401, 403, 404, 405, 411, 413, 414, 415, 431, 501)

    def to_bytes(self, port: int) -> bytes:
        """The request as it is sent."""
        head = (f"{self.line} HTTP/1.1", *self.headers)
        text = "".join(f"{line}\r\n" for line in head).replace("{port}", str(port))
        return text.encode("latin-1") + b"\r\n" + self.body


def _headers(
    *more: str, host: str = "Host: 127.0.0.1:{port}", token: str = TOKEN
) -> tuple[str, ...]:
    return (host, f"Authorization: Bearer {token}", "Content-Type: application/json", *more)


def _sent(line: str, *more: str, body: bytes = b"{}") -> tuple[str, tuple[str, ...], bytes]:
    return line, (*_headers(*more), f"Content-Length: {len(body)}"), body


def _attacks() -> Iterator[Attack]:
    ok_or_refused = (200, 400, 403, 404, 413)
    for host in (
        "Host: evil.example",
        "Host: evil.example:{port}",
        "Host: 127.0.0.1.evil.example:{port}",
        "Host: localhost.evil.example",
        "Host: 127.0.0.1:{port}@evil.example",
        "Host: 0.0.0.0:{port}",
        "Host:",
        "Host: 127.0.0.1:1",
    ):
        headers = (*_headers(host=host), "Content-Length: 2")
        yield Attack(f"rebinding {host}", _TOOL, headers, b"{}")
    for origin in ("http://evil.example", "null", "http://127.0.0.1.evil.example", "file://"):
        line, headers, body = _sent(_TOOL, f"Origin: {origin}")
        yield Attack(f"origin {origin}", line, headers, body)
    for token in ("", "x", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "Bearer", "\xe9" * 8):
        headers = (*_headers(token=token), "Content-Length: 2")
        yield Attack(f"token {token!r}", _TOOL, headers, b"{}")
    plain = ("Host: 127.0.0.1:{port}", "Content-Length: 2")
    yield Attack("no token", _TOOL, plain, b"{}")
    yield Attack("basic token", _TOOL, (*plain, f"Authorization: Basic {TOKEN}"), b"{}")
    yield Attack("token as cookie", _TOOL, (*plain, f"Cookie: token={TOKEN}"), b"{}")
    yield Attack("token in the query", f"{_TOOL}?token={TOKEN}", plain, b"{}")
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        headers = tuple(line.replace("application/json", kind) for line in _headers())
        yield Attack(f"form {kind}", _TOOL, (*headers, "Content-Length: 2"), b"{}")
    for path in (
        "/../outside",
        "/tools/../../outside",
        "/%2e%2e/%2e%2e/outside",
        "/rag/documents/..%2f..%2foutside",
        "/knowledge/context/..%2f..%2f..%2foutside",
        "/tools/%00",
        "//evil.example/tools",
        "http://evil.example/tools",
        "/tools/" + "a" * 100_000,
    ):
        yield Attack(f"path {path[:40]}", f"GET {path}", _headers())
    for method in ("TRACE", "OPTIONS", "CONNECT", "PUT", "DELETE", "HEAD", "G\x00T", "\xff"):
        yield Attack(f"method {method!r}", f"{method} /tools", _headers())
    for number in ("-1", "1e9", "99999999999999999999", "0x2", "2, 3", "+2", ""):
        headers = (*_headers(), f"Content-Length: {number}")
        yield Attack(f"length {number!r}", _TOOL, headers, b"{}")
    chunked = (*_headers(), "Transfer-Encoding: chunked", "Content-Length: 2")
    yield Attack("smuggled", _TOOL, chunked, b"0\r\n\r\nGET /tools HTTP/1.1\r\n\r\n")
    twice = (*_headers(), "Content-Length: 2", "Content-Length: 30")
    yield Attack("two lengths", _TOOL, twice, b"{}")
    for body in (
        b"",
        b"[",
        b"null",
        b"[" * 200_000,
        b'{"query": ' + b'"a"' * 3 + b"}",
        b'{"query": 1e999}',
        b'{"query": "\xff"}',
        b'{"query": "\\ud800"}',
        json.dumps({"query": "x", "__class__": "os.system"}).encode(),
        json.dumps({"query": {"$ne": ""}}).encode(),
        json.dumps({"query": "a" * 2_000_000}).encode(),
    ):
        line, headers, body = _sent(_TOOL, body=body)
        yield Attack(f"body {body[:20]!r}", line, headers, body, ok_or_refused)
    for task in ("../../outside", "$(touch pwned)", "';DROP TABLE doc;--", "\u202e\x00"):
        line, headers, body = _sent(_CONTEXT, body=json.dumps({"task": task}).encode())
        yield Attack(f"task {task!r}", line, headers, body, ok_or_refused)
    source = {"text": "x", "source": "../outside"}
    line, headers, body = _sent("POST /rag/documents", body=json.dumps(source).encode())
    yield Attack("writes where nothing may be written", line, headers, body)
    headers = (*_headers(), *(f"X-{number}: a" for number in range(300)))
    yield Attack("300 headers", "GET /tools", headers)
    yield Attack("a long header", "GET /tools", (*_headers(), f"X: {'a' * 100_000}"))


ATTACKS: Final = tuple(_attacks())


def test_each_attack_is_refused_or_answered_and_nothing_is_read_or_written(
    repo: Checkout, capfd: pytest.CaptureFixture[str]
) -> None:
    outside = repo.root.parent / "outside"
    outside.write_text(SECRET, "utf-8")
    repo.write("src/shop.py", "def total(lines):\n    return sum(lines)\n")
    repo.commit()
    before = written_files(repo)
    wrong = []
    with KnowledgeServer(repo.workspace, TOKEN, port=0, allow_write=False) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            for attack in ATTACKS:
                answer = sent(server.server_port, attack.to_bytes(server.server_port))
                status = int(answer[9:12] or 0) if answer.startswith(b"HTTP/") else 0
                # what is no HTTP may be hung up on
                is_right = status in attack.statuses or not answer
                if not is_right or SECRET.encode() in answer or b"Traceback" in answer:
                    wrong.append((attack.name, status, answer[-300:]))
        finally:
            server.shutdown()
            thread.join()
    print(f"{len(ATTACKS)} attacks")
    assert not wrong, "\n".join(map(str, wrong))
    assert "Traceback" not in capfd.readouterr().err
    assert written_files(repo) == before
    assert len(ATTACKS) >= 46


def written_files(repo: Checkout) -> set[Path]:
    """Return the files beside and in the repository, but for what kl itself stores."""
    folders = (repo.root / ".git", repo.root.parent / "home")
    return {
        path
        for path in repo.root.parent.rglob("*")
        if not any(path.is_relative_to(folder) for folder in folders)
    }


def sent(port: int, request: bytes) -> bytes:
    """Return what comes back; nothing where the server hangs up."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65536), b""))
    except OSError:
        return b""
