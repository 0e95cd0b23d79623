"""Attacks on a team's database with plain SQL, by people who may log in: to become its owner, to
stop other repositories, to read what another clone keeps to itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.team_server import TeamServer, create_repository

if TYPE_CHECKING:
    import psycopg

# as it is called where the schema of kl is made, but for the types of the arguments
_TRAP = """
CREATE FUNCTION public.format(text, {second}) RETURNS text LANGUAGE sql AS $$
    SELECT pg_catalog.format($1, $2) || '; ALTER ROLE mallory SUPERUSER'
$$
"""


@pytest.fixture
def roles(team: TeamServer) -> Iterator[TeamServer]:
    """A server with two people, who may do nothing yet."""
    names = ("mallory", "wendy")
    for name in names:
        team.sql(f"DROP ROLE IF EXISTS {name}", f"CREATE ROLE {name} LOGIN")
    yield team
    for name in names:
        team.sql(f"ALTER ROLE {name} NOSUPERUSER")
        team.sql(f"DROP OWNED BY {name}", f"DROP ROLE {name}", database="team")


@contextmanager
def session(
    team: TeamServer, user: str, repository: int, clone: str = ""
) -> Iterator[psycopg.Connection[Any]]:
    """A connection with the settings that kl would make, which anybody can."""
    import psycopg

    with psycopg.connect(team.url("team", user), autocommit=True) as connection:
        connection.execute(f"SET kl.repository = '{repository}'".encode())
        connection.execute(f"SET kl.clone = '{clone}'".encode())
        connection.execute("SET search_path = kl")
        yield connection


def grant(team: TeamServer, repository: int, member: str, level: int) -> None:
    """Let the owner give somebody a level in a repository."""
    with session(team, "postgres", repository) as owner:
        owner.execute("SELECT set_access(%s, %s)", (member, level))


def test_whoever_sets_up_calls_no_function_of_somebody_else(roles: TeamServer) -> None:
    # as in databases that PostgreSQL 14 or earlier made
    roles.sql("GRANT CREATE ON SCHEMA public TO PUBLIC", database="team")
    with session(roles, "mallory", 0) as mallory:
        for second in ("text", "name"):
            mallory.execute(_TRAP.format(second=second).encode())
    for _ in range(2):  # made, and upgraded
        create_repository(roles.url("team"), "shop")
    assert roles.sql("SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'") == [(False,)]


def test_the_admin_of_one_repository_ends_the_numbers_of_no_other(roles: TeamServer) -> None:
    for name in ("shop", "other"):
        create_repository(roles.url("team"), name)
    grant(roles, 2, "mallory", 3)
    insert = (
        "INSERT INTO record_event ({}at, name, record, session, body) VALUES ({}'', '', "
        "'', '', '') RETURNING seq"
    )
    with session(roles, "mallory", 2) as mallory:
        for number in (500, 2**53 + 1, 2**63 - 1):
            mallory.execute(insert.format("seq, ", f"{number}, ").encode())
        mallory.execute("SELECT skip_numbers('record_event', 'seq')")
    with session(roles, "postgres", 1) as owner:
        assert owner.execute(insert.format("", "").encode()).fetchall() == [(501,)]


def test_rows_of_a_clone_are_those_of_its_login(roles: TeamServer) -> None:
    create_repository(roles.url("team"), "shop")
    for name in ("mallory", "wendy"):
        grant(roles, 1, name, 2)
    # a table of an earlier version has rules that ask for the clone alone
    with session(roles, "postgres", 1) as owner:
        own = "clone = (SELECT current_setting('kl.clone')) AND repository = (SELECT allowed({}))"
        for rule, level in (("kl_read", 1), ("kl_change", 2), ("kl_remove", 2)):
            using = own.format(level)
            owner.execute(f"ALTER POLICY {rule} ON evidence_cursor USING ({using})".encode())
    attacks = (
        "SELECT name FROM evidence_cursor",
        "UPDATE evidence_cursor SET value = 'x' RETURNING name",
        "DELETE FROM evidence_cursor RETURNING name",
    )
    for is_upgraded in (False, True):
        if is_upgraded:
            create_repository(roles.url("team"), "shop")
        with session(roles, "wendy", 1, "laptop") as wendy:
            wendy.execute(
                "INSERT INTO evidence_cursor (name, value) VALUES ('a', '1') ON CONFLICT DO NOTHING"
            )
        with session(roles, "mallory", 1, "laptop") as mallory:
            assert bool(mallory.execute(attacks[0].encode()).fetchall()) is not is_upgraded
            if is_upgraded:
                rows = [mallory.execute(attack.encode()).fetchall() for attack in attacks]
                assert rows == [[], [], []]
    with session(roles, "wendy", 1, "laptop") as wendy:
        changed = "UPDATE evidence_cursor SET value = '2' RETURNING name"
        assert wendy.execute(changed).fetchall() == [("a",)]


def test_events_of_private_tiers_are_of_their_login_and_those_of_pools_are_shared(
    roles: TeamServer,
) -> None:
    create_repository(roles.url("team"), "shop")
    for name in ("mallory", "wendy"):
        grant(roles, 1, name, 2)
    with session(roles, "wendy", 1, "laptop") as wendy:
        columns = wendy.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'tier_event' AND"
            " data_type = 'text' AND column_name NOT IN ('clone', 'written_by', 'tier')"
        ).fetchall()
        numbers = wendy.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'tier_event' AND"
            " data_type = 'bigint' AND column_name NOT IN ('repository', 'seq')"
        ).fetchall()
        names = ", ".join(["tier", *(name for (name,) in (*columns, *numbers))])
        values = ", ".join([*("''" for _ in columns), *("0" for _ in numbers)])
        for tier in ("short", "shared"):
            statement = f"INSERT INTO tier_event ({names}) VALUES ('{tier}', {values})"
            wendy.execute(statement.encode())
    with session(roles, "mallory", 1, "laptop") as mallory:
        assert mallory.execute("SELECT tier FROM tier_event").fetchall() == [("shared",)]
