"""Addresses that would send a password in the clear, by libpq's own reading."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from kl_hooks.errors import UsageProblem

pytest.importorskip("psycopg")

from kl_hooks.store.postgres import _resolved, _tls_options

HOST = "postgresql://db.example.org/team"


@pytest.fixture(autouse=True)
def no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGSSLMODE", "PGHOST", "PGHOSTADDR", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)
    services = "[plain]\nhost=db.example.org\nsslmode=disable\n[tls]\nhost=db.example.org\n"
    (tmp_path / "services").write_text(services)
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))


@pytest.mark.parametrize(
    "url",
    [
        f"{HOST}?hostaddr=127.0.0.1",
        f"{HOST}?hostaddr=127.0.0.1&sslmode=require",
        f"{HOST}?sslmode=disable",
        f"{HOST}?ssl%6dode=allow",
        "postgresql:///team?host=db.example.org&sslmode=disable",
        "postgresql://localhost,db.example.org/team?sslmode=disable",
        "postgresql:///team?hostaddr=192.0.2.1&sslmode=disable",
        "postgresql://?service=plain",
    ],
)
def test_what_sends_a_password_in_the_clear_is_refused(url: str) -> None:
    with pytest.raises(UsageProblem, match=r"kl\.store: (hostaddr sends|sslmode=\w+ sends)"):
        _tls_options(url)


def test_libpq_is_asked_without_a_connection_or_a_change_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PGSERVICE", "tls")
    events: list[str] = []
    monkeypatch.setattr(os, "putenv", lambda *_: events.append("set"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        url = f"postgresql://127.0.0.1:{server.getsockname()[1]}/team?service=plain"
        assert _resolved(url)["sslmode"] == "disable"
        with pytest.raises(BlockingIOError):
            server.accept()
    assert not events and os.environ["PGSERVICE"] == "tls"
    assert _resolved("postgresql:///team")["host"] == "db.example.org"


def test_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSSLMODE", "disable")
    with pytest.raises(UsageProblem):
        _tls_options(HOST)
    assert _tls_options(f"{HOST}?sslmode=verify-full") == {}
    assert _tls_options("postgresql://localhost/team") == {}


def test_this_machine_is_free_and_another_one_gets_tls() -> None:
    for url in ("postgresql:///team", "postgresql://[::1]/team", "postgresql:///t?host=/run/pg"):
        assert _tls_options(f"{url}{'&' if '?' in url else '?'}sslmode=disable") == {}
        assert _tls_options(url) == {}
    assert _tls_options(HOST) == {"sslmode": "require"}
    assert _tls_options("postgresql://?service=tls") == {"sslmode": "require"}
    assert _tls_options(f"{HOST}?sslmode=verify-full&hostaddr=192.0.2.1") == {}
