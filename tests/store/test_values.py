"""Values of working memory: one contract for files and a real Redis server, and a server that
misbehaves.
"""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.store.values import DiskValues, RedisValues
from kl_hooks.tiers.entries import Caller
from kl_hooks.tiers.router import Memory
from tests.support import Checkout, checkout

PASSWORD = "opensesame"
Values = DiskValues | RedisValues
ENVIRON = {"KL_REDIS_PASSWORD": PASSWORD}


class Server:
    """A Redis server of our own, on a socket in a temporary folder: one that runs elsewhere is
    never touched.
    """

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "redis.sock"
        command = [
            "redis-server",
            "--port",
            "0",
            "--unixsocket",
            str(self.socket),
            "--save",
            "",
            "--dir",
            str(folder),
            "--requirepass",
            PASSWORD,
            "--maxmemory-policy",
            "noeviction",
        ]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        end = time.monotonic() + 30
        while not self.socket.exists() and time.monotonic() < end:
            time.sleep(0.02)
        import redis

        self.client: Any = redis.Redis(unix_socket_path=str(self.socket), password=PASSWORD)

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def stop(self) -> None:
        self.client.close()
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if shutil.which("redis-server") is None:
        assert not os.environ.get("CI"), "redis-server is missing: .ci/run installs it"
        pytest.skip("redis-server is not installed (Debian: apt-get install redis-server)")
    pytest.importorskip("redis", reason="the extra kl-hooks[redis] is not installed")
    # /tmp: the name of a socket has at most 107 bytes, see unix(7)
    import tempfile

    with tempfile.TemporaryDirectory(prefix="kl-redis-", dir="/tmp") as folder:
        made = Server(Path(folder))
        yield made
        made.stop()


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may answer late."""
    monkeypatch.setattr("kl_hooks.store.values._TIMEOUT", 60.0)


def on_server(server: Server, folder: Path, name: str = "repo") -> Values:
    return RedisValues(server.url, name, ENVIRON, DiskValues(folder))


@pytest.fixture(params=["disk", "redis"])
def values(request: pytest.FixtureRequest, tmp_path: Path) -> Values:
    if request.param == "disk":
        return DiskValues(tmp_path / "values")
    server: Server = request.getfixturevalue("server")
    server.client.flushall()
    return on_server(server, tmp_path / "values")


def put(values: Values, key: str, value: bytes, ttl: float = 60) -> None:
    assert values.change(key, lambda before: value, ttl) == value


@pytest.mark.requirement("D3")
def test_the_contract(values: Values) -> None:
    assert (values.get("k"), values.delete("k"), values.keys("")) == (None, False, [])
    for key in ("k", "*", "a[b]?\\", "ключ\x00", "x" * 600):
        put(values, key, key.encode() + b"\x00\xff")
        assert values.get(key) == key.encode() + b"\x00\xff"
    put(values, "k", b"x" * 1_200_000)
    assert values.get("k") == b"x" * 1_200_000
    assert values.keys("a[") == ["a[b]?\\"]
    assert values.keys("*") == ["*"]
    assert len(values.keys("")) == 5
    assert (values.delete("*"), values.get("*"), values.delete("*")) == (True, None, False)
    put(values, "brief", b"v", ttl=0.05)
    time.sleep(0.1)
    assert (values.get("brief"), values.keys("brief")) == (None, [])
    with pytest.raises(ZeroDivisionError):
        values.change("k", lambda before: b"%d" % (1 // 0), 60)
    assert values.get("k") is not None
    assert values.note == ""


@pytest.mark.parametrize("kind", ["disk", "redis"])
def test_no_change_of_two_is_lost(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server: Server | None = request.getfixturevalue("server") if kind == "redis" else None

    def opened() -> Values:
        return on_server(server, tmp_path / "v") if server else DiskValues(tmp_path / "v")

    def add(number: int) -> None:
        values = opened()
        for _ in range(5):
            values.change("many", lambda before: (before or b"") + b"%d," % number, 60)
        assert values.note == ""
        if isinstance(values, DiskValues):
            values.close()  # its connection is this thread's

    threads = [threading.Thread(target=add, args=(number,)) for number in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    found = (opened().get("many") or b"").split(b",")
    assert sorted(found) == sorted(
        [b"", *[b"%d" % number for number in range(6) for _ in range(5)]]
    )


class Bomb:
    """Unpickling it ends the process."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[int]]:
        return os._exit, (1,)


def test_what_somebody_else_wrote_on_the_server_is_a_miss(server: Server, tmp_path: Path) -> None:
    server.client.flushall()
    values, other = on_server(server, tmp_path / "a"), on_server(server, tmp_path / "b", "other")
    put(values, "k", b"mine")
    assert (other.get("k"), other.keys("")) == (None, [])
    assert 0 < server.client.pttl("kl:repo:k") <= 60_000
    put(values, "moved", b"v")
    server.client.set("kl:repo:k", server.client.get("kl:repo:moved"))
    assert values.get("k") is None
    server.client.set("kl:repo:k", pickle.dumps(Bomb()))
    assert values.get("k") is None
    put(values, "k", b"again")
    assert values.get("k") == b"again"


def test_a_server_that_refuses_or_is_down_leaves_working_memory_on_this_machine(
    tmp_path: Path, server: Server
) -> None:
    server.client.flushall()
    wrong = RedisValues(
        server.url, "repo", {"KL_REDIS_PASSWORD": "wrong"}, DiskValues(tmp_path / "w")
    )
    put(wrong, "k", b"v")
    assert (wrong.get("k"), "the Redis server can't be used" in wrong.note) == (b"v", True)
    assert "wrong" not in wrong.note.partition("(")[2].replace("WRONGPASS", "")
    server.client.config_set("maxmemory", "1")
    try:
        full = on_server(server, tmp_path / "f")
        put(full, "k", b"v")
        assert full.get("k") == b"v"
        # the library quotes the whole command in its message, and with it the value
        assert "maxmemory" in full.note and "SET" not in full.note
    finally:
        server.client.config_set("maxmemory", "0")
    listed = on_server(server, tmp_path / "l")
    server.client.rpush("kl:repo:list", "x")
    put(listed, "list", b"v")
    assert listed.get("list") == b"v"
    down = RedisValues(f"unix://{tmp_path}/none.sock", "repo", {}, DiskValues(tmp_path / "f"))
    assert (down.get("k"), down.keys(""), down.delete("k")) == (b"v", ["k"], True)
    assert "can't be used" in down.note
    # what was written meanwhile is read once the server is back, and the first change moves it
    # there
    late = on_server(server, tmp_path / "l")
    put(DiskValues(tmp_path / "l"), "late", b"local")
    assert late.get("late") == b"local"
    assert late.change("late", lambda before: (before or b"") + b"+", 60) == b"local+"
    assert DiskValues(tmp_path / "l").get("late") is None
    assert on_server(server, tmp_path / "other").get("late") == b"local+"


def test_a_url_with_a_password_another_scheme_and_a_missing_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for url, why in (
        ("redis://u:p@host/0", "has a password in it"),
        ("http://host", "no URL of a Redis server"),
    ):
        with pytest.raises(UsageProblem, match=why):
            RedisValues(url, "repo", {}, DiskValues(tmp_path))
    for url in ("redis://10.0.0.1/0", "redis://memory.example:6379/0", "redis://u@h/0?ssl=true"):
        with pytest.raises(UsageProblem, match="in the clear"):
            RedisValues(url, "repo", {"KL_REDIS_PASSWORD": "p"}, DiskValues(tmp_path))
    for url in ("rediss://memory.example/0", "redis://[::1]/0", "redis:///0", "unix:///s"):
        RedisValues(url, "repo", {"KL_REDIS_PASSWORD": "p"}, DiskValues(tmp_path))
    RedisValues("redis://memory.example/0", "repo", {}, DiskValues(tmp_path))
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(EnvironmentProblem, match="not installed") as problem:
        RedisValues("redis://host", "repo", {}, DiskValues(tmp_path))
    assert "kl-hooks[redis]" in problem.value.hint


@pytest.mark.requirement("D3", "D9")
def test_working_memory_of_a_user_who_configures_a_server(
    repo: Checkout, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KL_REDIS_PASSWORD", PASSWORD)
    server.client.flushall()
    repo.write(".kl/config.yaml", f"redis: {server.url}\n")
    done = repo.kl("remember", "k", "v", "--tier", "working")
    assert "for a user to set, not for a repository" in repo.kl("config").stderr
    assert (done.returncode, server.client.keys()) == (0, [])
    repo.write(".kl/config.yaml", "version: 1\n")
    repo.git("config", "kl.redis", server.url)
    assert (
        repo.kl("remember", "k", "on the server", "--tier", "working", env={"KL_AGENT": "a"}).stderr
        == ""
    )
    assert len(server.client.keys("kl:*agent:a*")) == 1
    shutil.rmtree(repo.workspace().state.cache)
    assert "on the server" in repo.kl("recall", "k", env={"KL_AGENT": "a"}).stdout
    assert repo.kl("recall", "k", env={"KL_AGENT": "b"}).returncode == 1
    ws = repo.workspace()
    memory = Memory(ws, Caller("human", "s"))
    for number in range(3):
        memory.working.write("log", number, append=True)
    found = memory.read("log")
    assert found is not None and found.value == [0, 1, 2]
    repo.git("config", "kl.redis", "unix:///none.sock")
    done = repo.kl("remember", "k", "here", "--tier", "working")
    assert (done.returncode, "working memory is on this machine" in done.stderr) == (0, True)


@pytest.mark.requirement("D3", "D9")
def test_memory_on_a_server_belongs_to_the_repository_and_the_person_not_to_the_path(
    tmp_path: Path, home: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KL_REDIS_PASSWORD", PASSWORD)
    server.client.flushall()
    # in containers every repository is in a folder of the same path
    workspace, elsewhere = tmp_path / "workspace", tmp_path / "elsewhere"

    def prepared(repo: Checkout) -> Checkout:
        repo.kl("init", "--yes")
        repo.git("config", "kl.redis", server.url)
        return repo

    acme = prepared(checkout(workspace, {"acme.py": "A = 1\n"}))
    # the remote of the one is on a server, that of its clone a folder
    acme.git("remote", "add", "origin", "https://example.org/acme/acme.git")
    assert acme.kl("remember", "plan", "rotate keys", "--tier", "working").returncode == 0
    acme.git("clone", "-q", str(workspace), str(elsewhere))
    clone = prepared(Checkout(elsewhere))
    assert "rotate keys" in clone.kl("recall", "plan").stdout
    clone.git("config", "user.email", "somebody.else@example.org")
    assert clone.kl("recall", "plan").returncode == 1
    workspace.rename(tmp_path / "moved")
    other = prepared(checkout(workspace, {"other.py": "B = 2\n"}))
    assert other.kl("recall", "plan").returncode == 1
    assert not any(b"example" in key or b"acme" in key for key in server.client.scan_iter())
