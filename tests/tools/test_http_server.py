"""`kl serve` with a real client: what it answers, and whom it refuses."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.tools import http_server
from kl_hooks.tools.http_server import ROUTES, KnowledgeServer
from kl_hooks.tools.tool import LARGEST_INPUT
from tests.support import KL, Checkout

TOKEN = "t0ken-of-a-test"
Answer = tuple[int, dict[str, Any], Mapping[str, str]]


class Served(NamedTuple):
    """A server of a repository, and how to ask it."""

    repo: Checkout
    port: int

    def ask(self, method: str, path: str, body: Any = None, **headers: str | None) -> Answer:
        """Ask as a program that knows the token would; a header of None is not sent."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        data = (
            json.dumps(body).encode() if body is not None and not isinstance(body, bytes) else body
        )
        sent: dict[str, str | None] = {
            "Authorization": f"Bearer {TOKEN}",
            "Content-Type": "application/json",
        }
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        given = {name: value for name, value in sent.items() if value is not None}
        connection.request(method, path, data, given)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        assert answer.getheader("Content-Type") == "application/json"
        assert "Access-Control-Allow-Origin" not in dict(answer.getheaders())
        return answer.status, json.loads(content), dict(answer.getheaders())

    def raw(self, request: bytes) -> bytes:
        """What comes back for these bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as made:
            made.sendall(request)
            return b"".join(iter(lambda: made.recv(65536), b""))


@pytest.fixture
def serve(repo: Checkout, request: pytest.FixtureRequest) -> Iterator[Served]:
    repo.write("src/shop.py", "def total_price(lines):\n    return sum(lines)\n")
    repo.commit()
    allow = getattr(request, "param", False)
    with KnowledgeServer(repo.workspace, TOKEN, port=0, allow_write=allow) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield Served(repo, server.server_port)
        server.shutdown()
        thread.join()


@pytest.mark.requirement("D28", "E1", "E9")
def test_a_package_is_built_and_read_again(serve: Served) -> None:
    status, made, _ = serve.ask(
        "POST", "/knowledge/context/build", {"task": "why is total_price slow", "budget": 3000}
    )
    assert (status, made["ok"]) == (200, True)
    assert "total_price" in made["result"]["text"]
    number = made["result"]["package_id"]
    status, again, headers = serve.ask("GET", f"/knowledge/context/{number}")
    assert (status, again["result"]["text"]) == (200, made["result"]["text"])
    assert again["result"]["package"]["package_id"] == number
    assert headers["Cache-Control"] == "no-store"
    status, missing, _ = serve.ask("GET", "/knowledge/context/ffffffffffff")
    assert (status, missing["ok"]) == (400, False)
    assert "no package of this id" in missing["error"]["reason"]


@pytest.mark.requirement("D28")
def test_tools_answer_and_only_read_unless_allowed(serve: Served) -> None:
    status, found, _ = serve.ask("POST", "/tools/graph_search", {"query": "total_price"})
    assert (status, found["ok"], found["tool"]) == (200, True, "graph_search")
    status, refused, _ = serve.ask(
        "POST", "/tools/memory_create", {"content": "Totals are in cents."}
    )
    assert (status, "writing was not allowed" in refused["error"]["reason"]) == (400, True)
    for path, body, word in (
        ("/tools/nothing", {}, "no tool of this name"),
        ("/tools/graph_search", {"quer": "x"}, "is no argument"),
        ("/tools/graph_search", b"[1]", "must be an object"),
        ("/tools/graph_search", b"{", "is no JSON"),
    ):
        status, refused, _ = serve.ask("POST", path, body)
        assert (status, word in refused["error"]["reason"]) == (400, True), (path, refused)


@pytest.mark.requirement("D28")
def test_documents_are_searched_and_asked(serve: Served) -> None:
    serve.repo.write("docs/totals.md", "# Totals\n\nTotals are in cents.\n")
    serve.repo.commit()
    status, found, _ = serve.ask(
        "GET", "/rag/search?query=totals+cents&top_k=2&collections=repository"
    )
    assert (status, found["ok"]) == (200, True), found
    assert [one["path"] for one in found["result"]["results"]] == ["docs/totals.md"]
    status, found, _ = serve.ask("GET", "/rag/query?query=totals+cents&mode=keyword&top_k=1")
    assert (status, [one["path"] for one in found["result"]["results"]]) == (
        200,
        ["docs/totals.md"],
    )
    status, refused, _ = serve.ask("POST", "/rag/documents", {"text": "# Runbook\n"})
    assert (status, "writing was not allowed" in refused["error"]["reason"]) == (400, True)
    for wrong in (
        "/rag/search",
        "/rag/search?query=x&limit=many",
        "/rag/search?query=x&limit=51&a=1",
    ):
        status, refused, _ = serve.ask("GET", wrong)
        assert (status, refused["ok"]) == (400, False), refused


@pytest.mark.parametrize("serve", [True], indirect=True)
def test_a_server_that_may_write_writes(serve: Served) -> None:
    status, made, _ = serve.ask("POST", "/tools/memory_create", {"content": "Totals are in cents."})
    assert (status, made["result"]["status"]) == (200, "candidate")
    status, made, _ = serve.ask(
        "POST", "/rag/knowledge_bases", {"name": "runbooks", "chunk_size": 500}
    )
    assert (status, made["result"]["name"], made["result"]["size"]) == (200, "runbooks", 500)
    status, made, _ = serve.ask(
        "POST", "/rag/documents", {"text": "# Disk\n\nFull.\n", "collection": "runbooks"}
    )
    assert (status, made["result"]["status"]) == (200, "indexed")


@pytest.mark.requirement("D28")
def test_strangers_are_refused(serve: Served) -> None:
    port = serve.port
    path, body = "/tools/graph_search", {"query": "total_price"}
    for headers, expected in (
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": TOKEN}, 401),
        ({"Authorization": f"Bearer {TOKEN}é"}, 401),
        # a page on a name that its owner points to 127.0.0.1
        ({"Host": f"attacker.example:{port}"}, 403),
        ({"Host": "127.0.0.1"}, 403),
        ({"Host": f"127.0.0.1:{port + 1}"}, 403),
        ({"Origin": "https://attacker.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": f"https://127.0.0.1:{port}"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
        ({"Origin": f"http://127.0.0.1:{port}", "Sec_Fetch_Site": "same-origin"}, 200),
        ({"Host": f"LOCALHOST:{port}"}, 200),
        ({"Authorization": f"bearer {TOKEN}"}, 200),
    ):
        status, answer, _ = serve.ask("POST", path, body, **headers)
        assert status == expected, (headers, answer)
        assert answer["ok"] is (expected == 200)
        assert TOKEN not in json.dumps(answer)
    assert serve.ask("GET", path)[0] == 405
    assert serve.ask("GET", "/")[0] == 404
    # a browser asks before it sends what is no form: nobody answers yes
    for method in ("OPTIONS", "PUT", "DELETE"):
        assert serve.ask(method, path)[0] == 501


def test_oversized_and_broken_requests_are_refused(
    serve: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = (
        f"POST /tools/graph_search HTTP/1.1\r\nHost: 127.0.0.1:{serve.port}\r\nAuthorization:"
        f" Bearer {TOKEN}\r\n"
    )
    for more, expected in (
        (f"Content-Length: {LARGEST_INPUT + 1}\r\n\r\n", 413),
        (f"Content-Length: {'9' * 5000}\r\n\r\n", 413),
        ("Content-Length: -1\r\n\r\n", 400),
        ("Content-Length: 1e3\r\n\r\n", 400),
        ("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        ("Host: other.example\r\n\r\n", 403),
        (f"X: {'x' * 70_000}\r\n\r\n", 431),
    ):
        answer = serve.raw((head + more).encode())
        assert answer.startswith(f"HTTP/1.1 {expected} ".encode()), (more[:40], answer[:200])
        assert json.loads(answer.split(b"\r\n\r\n", 1)[1])["ok"] is False
    # TLS, or anything else: answered, and the server goes on
    assert serve.raw(b"\x16\x03\x01\r\n\r\n")
    for body in (b"null", b"[]", b"\xff", b'{"query": NaN}', b"[" * 100_000):
        for method, path in (("GET", "/rag/search"), ("POST", "/rag/documents/DOC-0001/process")):
            status, refused, _ = serve.ask(method, path, body)
            assert (status, refused["error"]["place"]) == (400, "arguments"), (path, body[:20])
    with monkeypatch.context() as broken:
        broken.setattr(http_server, "call", lambda *_, **__: 1 / 0)
        status, refused, headers = serve.ask("POST", "/tools/graph_search", {"query": "x"})
        assert (status, headers["Connection"]) == (500, "close")
        assert "internal error: ZeroDivisionError" in refused["error"]["reason"]
    assert serve.ask("POST", "/tools/graph_search", {"query": "x"})[0] == 200


def test_a_header_that_decides_is_there_once(serve: Served) -> None:
    """A proxy, or a browser, may have decided by the second one."""
    deciding = {
        "Authorization": (f"Bearer {TOKEN}", "Bearer other"),
        "Content-Length": ("2", "20"),
        "Content-Type": ("application/json", "text/plain"),
        "Sec-Fetch-Site": ("none", "cross-site"),
        "Transfer-Encoding": ("", "chunked"),
    }
    once = {"Host": f"127.0.0.1:{serve.port}", "Connection": "close"}
    once |= {name: first for name, (first, _) in deciding.items()}
    for name, (_, second) in deciding.items():
        lines = [*once.items(), (name, second)]
        head = "".join(f"{header}: {value}\r\n" for header, value in lines)
        answer = serve.raw(f"POST /tools/graph_search HTTP/1.1\r\n{head}\r\n{{}}".encode())
        assert answer.startswith(b"HTTP/1.1 400 "), answer[:200]
        assert f"{name} is there 2 times".encode() in answer


def test_a_client_that_left_is_no_error_and_what_is_no_http_has_a_status(
    serve: Served, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("HTTP/2.0", "HTTP/1.1.1"):
        answer = serve.raw(f"GET / {version}\r\n\r\n".encode())
        assert answer.split(b" ", 1)[0] == b"HTTP/1.1", answer[:80]
    left = threading.Event()

    def answer_late(*_: Any, **__: Any) -> tuple[dict[str, Any], int]:
        assert left.wait(20)
        return {"text": "x" * 5_000_000}, 0

    monkeypatch.setattr(http_server, "call", answer_late)
    head = f"Host: 127.0.0.1:{serve.port}\r\nAuthorization: Bearer {TOKEN}\r\n"
    with socket.create_connection(("127.0.0.1", serve.port), timeout=20) as client:
        # to close with a reset, as a process that was killed: SO_LINGER of zero seconds
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.sendall(f"GET /rag/search?query=x HTTP/1.1\r\n{head}\r\n".encode())
        time.sleep(0.05)
    left.set()
    monkeypatch.undo()
    assert serve.ask("POST", "/tools/graph_search", {"query": "x"})[0] == 200
    assert wait_for_threads()
    assert capfd.readouterr().err == ""


def wait_for_threads() -> bool:
    """Wait until the server answers nobody any more."""
    deadline = time.monotonic() + 20
    while any("process_request" in thread.name for thread in threading.enumerate()):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_every_route_is_a_tool_or_a_package(repo: Checkout) -> None:
    from kl_hooks.tools.call import catalogue

    assert {route.tool for route in ROUTES} - {"", "package"} <= catalogue(repo.workspace()).keys()


@pytest.mark.requirement("D28")
def test_the_command_prints_address_and_token_and_ends_when_interrupted(repo: Checkout) -> None:
    with subprocess.Popen(
        [*KL, "serve"], cwd=repo.root, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        first, second = process.stdout.readline(), process.stdout.readline()
        port, token = (
            re.fullmatch(r"http://127\.0\.0\.1:(\d+)  reads only\n", first),
            second.removeprefix("token "),
        )
        assert port is not None
        connection = http.client.HTTPConnection("127.0.0.1", int(port[1]), timeout=20)
        connection.request(
            "GET", "/knowledge/context/x", headers={"Authorization": f"Bearer {token.strip()}"}
        )
        assert connection.getresponse().status == 400
        connection.close()
        with pytest.raises(EnvironmentProblem, match=f"port {port[1]} can't be used"):
            KnowledgeServer(repo.workspace, token, port=int(port[1]), allow_write=False)
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
