"""`kl store`: where evidence and records are stored: in this clone, or in a database that a team shares."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.options import format_option
from kl_hooks.cli.output import counted, print_answer, workspace
from kl_hooks.errors import CLEAN, ENVIRONMENT_ERROR, EnvironmentProblem, UsageProblem
from kl_hooks.model.actors import agent
from kl_hooks.store.postgres import LEVELS

if TYPE_CHECKING:
    from kl_hooks.store.postgres import Address
    from kl_hooks.store.store import Store
    from kl_hooks.workspace import Workspace

_USE = "See: kl store use --help"
_TABLES = {"receipts": "receipt", "tests": "test", "commits": "commit_log", "records": "record",
           "events": "record_event", "claims": "claim", "pools": "pool"}  # fmt: skip
_LEVELS = ("none", *LEVELS)


@click.group()
def store() -> None:
    """Where evidence and records are stored: in this clone, or in a PostgreSQL database that a team shares.

    The address is in this clone's git configuration, without a password: libpq reads it from PGPASSWORD, ~/.pgpass or a
    service file. Runs of tests are written to this clone first, and wait there while the server is away.
    """


@store.command(epilog="Example: kl store use postgresql://db.example.org/team --create")
@click.argument("url", required=False)
@click.option("--repository", default="", metavar="NAME", help="Its name in the database; by default from the remote.")
@click.option("--create", is_flag=True, help="Make tables, roles and the repository where they are missing.")
@click.option("--local", is_flag=True, help="Use the database of this clone again.")
@format_option()
def use(url: str | None, repository: str, create: bool, local: bool, shape: str) -> None:
    """Use the database at URL from now on. What is stored in this clone stays there: see kl store migrate."""
    ws = _person()
    if bool(url) == local:
        raise UsageProblem("give either an address or --local.", place="kl store use")
    if local:
        _switch(ws, None)
        answer = {"schema": "kl.store.use/1", "place": "local", "repository": None, "tables": 0}
        print_answer(shape, answer, [f"evidence and records are stored in {ws.state.database}"])
        return
    address = _address(ws, str(url), repository)
    with _opened(ws, address, create) as (_, made):
        _switch(ws, address)
    lines = [f"evidence and records are stored in {address.place}, repository {address.repository}"]
    lines += [f"tables made or changed: {made}"] if made else []
    if ws.state.database.exists() and ws.store.address is None:
        lines.append("hint: what this clone has recorded is not there. To copy it first: kl store migrate --to URL")
    answer = {"schema": "kl.store.use/1", "place": address.place, "repository": address.repository, "tables": made}
    print_answer(shape, answer, lines)


@store.command(epilog="Example: kl store status --format json")
@format_option()
def status(shape: str) -> int:
    """Show where the store is, whether it answers, what is in it, and what waits to be imported.

    Exit 3 where it can't be used.
    """
    from kl_hooks.evidence.capture import spool_folders
    from kl_hooks.store.spool import pending_spools

    ws = workspace()
    waiting = sum(len(pending_spools(folder)) for folder, _ in spool_folders(ws))
    address = ws.store.address
    plain: dict[str, Any] = {
        "schema": "kl.store.status/1", "place": address.place if address else str(ws.state.database),
        "repository": address.repository if address else None, "waiting": waiting, "problem": None, "access": None,
        "members": {}, "rows": {}, "milliseconds": None,
    }  # fmt: skip
    start = time.perf_counter()
    try:
        with ws.store.reading() as db:
            if address:
                plain["access"] = ws.store.server.access()
                plain["members"] = {row[0]: _LEVELS[row[1]] for row in db.rows("SELECT * FROM members()")} if db else {}
            plain["rows"] = {
                word: db.rows(f"SELECT COUNT(*) FROM {table}")[0][0] for word, table in _TABLES.items()
                if db and db.has_table(table)
            }  # fmt: skip
        plain["milliseconds"] = round((time.perf_counter() - start) * 1000)
        problem = ws.store.problem()
    except EnvironmentProblem as trouble:
        problem = trouble
    plain["problem"] = str(problem) if problem else None
    print_answer(shape, plain, _status_lines(plain))
    return ENVIRONMENT_ERROR if problem else CLEAN


def _status_lines(plain: dict[str, Any]) -> list[str]:
    lines = [f"store    {plain['place']}"]
    if plain["repository"]:
        lines.append(f"         repository {plain['repository']}, you are: {plain['access'] or 'unknown'}")
    if plain["members"]:
        lines.append("access   " + ", ".join(f"{name} {level}" for name, level in plain["members"].items()))
    if plain["problem"]:
        lines.append(f"problem  {plain['problem']}")
    rows = ", ".join(f"{number:,} {word}" for word, number in plain["rows"].items() if number)
    lines.append(f"holds    {rows or 'nothing yet'}")
    if plain["milliseconds"] is not None and plain["repository"]:
        lines.append(f"answered in {plain['milliseconds']} ms")
    if plain["waiting"]:
        waiting = counted(plain["waiting"], "capture")
        lines.append(f"waiting  {waiting} in the spool; imported by the next command that reads evidence")
    return lines


@store.command(epilog="Example: kl store migrate --to postgresql://db.example.org/team --create")
@click.option("--to", "to", metavar="URL", help="Copy the store of this clone there, then use it.")
@click.option("--from", "back", metavar="URL", help="Copy the repository there into this clone, then use that.")
@click.option("--repository", default="", metavar="NAME", help="Its name in the database; by default from the remote.")
@click.option("--create", is_flag=True, help="Make tables, roles and the repository where they are missing.")
@format_option()
def migrate(to: str | None, back: str | None, repository: str, create: bool, shape: str) -> None:
    """Move the store of this clone to a server, or back.

    Every table is copied and compared by number of rows and SHA-256 before the address changes. A copy that was killed
    goes on where it ended. What was there stays: in kl.db, or on the server.
    """
    ws = _person()
    if bool(to) == bool(back):
        raise UsageProblem("give either --to or --from.", place="kl store migrate")
    from kl_hooks.evidence.integrity import ledger_writer
    from kl_hooks.store.migration import move_from_server, move_to_server
    from kl_hooks.store.state import state_of_server
    from kl_hooks.store.store import Store
    from kl_hooks.workspace import open_workspace

    address = _address(ws, to or back or "", repository)
    if to and ws.store.address and ws.store.address.key == address.key:
        reason = f"this clone uses that database already, repository {address.repository!r}: nothing is to be copied."
        raise UsageProblem(reason, place=address.place, hint="See: kl store status")
    here = Store(ws.state, ws.store.schemas, ws.environ)
    local, shared = ws.state.directory / "high-water", state_of_server(ws.state, address.key).high_water
    with _opened(ws, address, create) as (there, _):
        if not to:
            moved, place = move_from_server(here, there), str(ws.state.database)
            _copy_mark(shared, local)
            _switch(ws, None)
            if not local.exists():  # this clone only read there: its marks begin with the copy
                with ledger_writer(open_workspace(ws.root, environ=ws.environ), accept=True):
                    pass
        elif not ws.state.database.exists():
            raise UsageProblem("nothing is stored in this clone.", place=str(ws.state.database), hint=_USE)
        else:
            moved, place = move_to_server(here, there), address.place
            _copy_mark(local, shared)
            _switch(ws, address)
    rows = sum(moved.rows.values())
    lines = [f"{rows:,} rows of {len(moved.rows)} tables copied and compared: sha256 {moved.sha256[:16]}",
             f"evidence and records are stored in {place}"]  # fmt: skip
    answer = {"schema": "kl.store.migrate/1", "place": place, "rows": moved.rows, "sha256": moved.sha256}
    print_answer(shape, answer, lines)


@store.command(epilog="Example: kl store upgrade")
@format_option()
def upgrade(shape: str) -> None:
    """Make the tables that this version of kl needs and the server lacks. Needs the rights of the database's owner."""
    ws = _person()
    address = _used(ws)
    count = ws.store.upgrade_server()
    text = f"tables made or changed: {count}" if count else "the tables are up to date."
    print_answer(shape, {"schema": "kl.store.upgrade/1", "place": address.place, "tables": count}, [text])


@store.command(epilog="Example: kl store grant alice writer")
@click.argument("name")
@click.argument("level", type=click.Choice(_LEVELS))
@format_option()
def grant(name: str, level: str, shape: str) -> None:
    """Let a role of the server read, write or administer this repository, or take that away (none).

    A writer adds evidence and changes records; only an admin removes evidence (kl maintain). The role itself is made
    by the server's administrator: CREATE ROLE alice LOGIN.
    """
    ws = _person()
    address = _used(ws)
    if not name.strip():
        raise UsageProblem("names no role of the server.", place="kl store grant")
    with ws.store.writing(what="granting access") as db, db.transaction():
        db.row("SELECT set_access(?, ?)", (name, _LEVELS.index(level)))
    plain = {"schema": "kl.store.grant/1", "repository": address.repository, "name": name, "level": level}
    print_answer(shape, plain, [f"{name} is now: {level}, in repository {address.repository}"])


def _person() -> Workspace:
    ws = workspace()
    if ws.repo is None:
        reason, hint = "not a git repository.", "The address is in git's configuration."
        raise EnvironmentProblem(reason, place=str(ws.root), hint=hint)
    # whoever decides where evidence is read from decides what is proven
    if name := agent(ws.environ):
        raise UsageProblem("only a person decides where evidence is stored.", place=f"agent:{name}")
    return ws


def _used(ws: Workspace) -> Address:
    if ws.store.address is None:
        raise UsageProblem("this clone uses no shared database.", place=str(ws.state.database), hint=_USE)
    return ws.store.address


def _address(ws: Workspace, url: str, repository: str) -> Address:
    """The address that is meant. UsageProblem where it is none, or the repository has no name."""
    from kl_hooks.store.postgres import Address
    from kl_hooks.store.state import clone_id

    configured = ws.git_settings.kl.get("storerepository", "") if ws.git_settings else ""
    name = repository or configured or _remote_name(ws)
    if not name:
        hint = "Name it, with the same name in every clone: --repository NAME"
        raise UsageProblem("there is no remote `origin` that names the repository.", place="kl store", hint=hint)
    return Address(url, name, clone_id(ws.state)).checked()


def _remote_name(ws: Workspace) -> str:
    """`example.org/team/shop` of the remote's address: the same over ssh and https, without who logs in."""
    remote = _git(ws, "config", "--get", "remote.origin.url", ok=(0, 1)).decode("utf-8", "replace").strip()
    found = re.fullmatch(r"(?:\w+://)?(?:[^@/]*@)?([^:/]+)(?::\d+)?[:/]+(.+?)(?:\.git)?/?", remote)
    return f"{found[1]}/{found[2]}" if found and not remote.startswith(("/", ".")) else ""


def _copy_mark(source: Path, target: Path) -> None:
    """Copy the high-water mark of a store: what it remembers holds for the copy of the store, too."""
    from kl_hooks.store.files import write_atomic

    if source.exists():
        write_atomic(target, source.read_bytes(), mode=0o600)


def _switch(ws: Workspace, address: Address | None) -> None:
    """Use a database from now on; without an address that of this clone."""
    for key in ("kl.store", "kl.storeRepository"):
        _git(ws, "config", "--local", "--unset-all", key, ok=(0, 5))
    if address:
        _git(ws, "config", "--local", "kl.storeRepository", address.repository)
        _git(ws, "config", "--local", "kl.store", address.url)


@contextmanager
def _opened(ws: Workspace, address: Address, create: bool) -> Iterator[tuple[Store, int]]:
    """The store there, and how many steps of tables were taken. EnvironmentProblem where it can't be used."""
    from kl_hooks.store.store import Store

    there = Store(ws.state, ws.store.schemas, ws.environ, address)
    try:
        made = there.upgrade_server() if create else 0
        there.server.open(read_only=True).close()
        if problem := there.problem():
            raise problem
        yield there, made
    finally:
        there.server.close()


def _git(ws: Workspace, *args: str, ok: tuple[int, ...] = (0,)) -> bytes:
    from kl_hooks.git.repository import git_in

    assert ws.repo is not None
    return git_in(ws.repo, *args, ok=ok)
