"""PostgreSQL behind the Database protocol, against a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kl_hooks.errors import UsageProblem
from kl_hooks.store.database import Database
from kl_hooks.store.postgres import Address, Server
from tests.store.contract import DatabaseContract, Opener
from tests.team_server import TeamServer


class TestPostgres(DatabaseContract):
    """The contract of every Database."""

    @pytest.fixture
    def place(self) -> str:
        return "postgresql:///team"

    @pytest.fixture
    def opener(self, team: TeamServer) -> Iterator[Opener]:
        server = Server(Address(team.url("team"), "repo", "clone"), 5.0)
        with server.setting_up():
            pass

        def opened(write: bool) -> Database:
            db = server.open(read_only=not write)
            if write:
                db.execute("RESET ROLE")  # tables are made by the owner of the database
            return db

        yield opened
        server.close()


@pytest.mark.parametrize(
    "url",
    ["postgresql:///x?bogus=1", "postgresql://%zz@h/x", "postgresql:///x?connect_timeout=nan"],
)
def test_what_the_driver_refuses_as_an_address_is_a_wrong_setting(url: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(UsageProblem, match="is no address"):
        Server(Address(url, "repo", "clone"), 5.0).open(read_only=True)


def test_a_place_states_which_server_it_is_and_no_password() -> None:
    places = [
        "postgresql://db.example.org/team",
        "postgresql://db.example.org:6432/team",
        "postgresql:///team?host=/run/pg",
        "postgresql:///team?host=/run/pg&port=6432",
        "postgresql://?service=team",
        "postgresql://?service=other",
    ]
    addresses = [
        Address(f"{one}{'&' if '?' in one else '?'}sslmode=require", "shop", "x") for one in places
    ]
    assert [one.place for one in addresses] == places
    # graphs and marks of two servers are never one
    assert len({one.key for one in addresses}) == len(places)
    assert Address("postgresql://ann:word@h/d?password=word", "r", "x").place == "postgresql://h/d"
