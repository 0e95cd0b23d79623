"""Operations of the store: which database it is, what is in it, and moving it. Only a person
changes any.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.errors import EnvironmentProblem, ForPeople, UsageProblem
from kl_hooks.model.actors import agent
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.operations.operation import Operation
from kl_hooks.store.postgres import LEVELS

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.store.postgres import Address
    from kl_hooks.store.store import Store
    from kl_hooks.workspace import Workspace

_USE: Final = "See: kl store use --help"
_TABLES: Final = {
    "receipts": "receipt",
    "tests": "test",
    "commits": "commit_log",
    "records": "record",
    "events": "record_event",
    "claims": "claim",
    "pools": "pool",
}
_LEVELS: Final = ("none", *LEVELS)
_REPOSITORY: Final = Parameter(
    "Its name in the database; by default from the remote.", metavar="NAME"
)
_CREATE: Final = Parameter("Make tables, roles and the repository where they are missing.")


def require_person(ws: Workspace, decision: str, hint: str) -> None:
    """EnvironmentProblem where there is no repository, ForPeople for an agent. `decision`: what
    only a person decides.
    """
    if ws.repo is None:
        raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint=hint)
    if name := agent(ws.environ):
        raise ForPeople(f"only a person decides {decision}.", place=f"agent:{name}")


def configure(ws: Workspace, *args: str, codes: tuple[int, ...] = (0,)) -> None:
    """Run `git config --local`. `codes`: exit codes that are no error."""
    from kl_hooks.git.repository import git_in

    assert ws.repo is not None
    git_in(ws.repo, "config", "--local", *args, ok=codes)


def _require_person(ws: Workspace) -> None:
    # whoever decides where evidence is read from decides what is proven
    hint = "The address is in git's configuration."
    require_person(ws, "where evidence is stored", hint)


class UseRequest(NamedTuple):
    """Which database."""

    url: Annotated[str, Parameter("Its address.", argument="[URL]")] = ""
    repository: Annotated[str, _REPOSITORY] = ""
    create: Annotated[bool, _CREATE] = False
    local: Annotated[bool, Parameter("Use the database of this clone again.")] = False


class UsedStore(NamedTuple):
    """The database that is used from now on."""

    place: str
    """Its address, or the file of this clone."""
    repository: str | None
    """Its name there; None: it is this clone's."""
    tables: int
    """Steps of tables that were taken."""
    has_local_data: bool = False
    """Whether this clone has recorded something that is not there."""


def _use(ws: Workspace, request: UseRequest, _access: Access) -> UsedStore:
    _require_person(ws)
    if bool(request.url) == request.local:
        raise UsageProblem("give either an address or --local.", place="kl store use")
    if request.local:
        _switch(ws, None)
        return UsedStore(str(ws.state.database), None, 0)
    address = _address(ws, request.url, request.repository)
    with _opened(ws, address, request.create) as (_, tables):
        _switch(ws, address)
    has_local_data = ws.state.database.exists() and ws.store.address is None
    return UsedStore(address.place, address.repository, tables, has_local_data)


def _used_to_dict(used: UsedStore) -> dict[str, Any]:
    if used.repository is not None:
        place = used.place
    else:
        place = "local"
    return {"place": place, "repository": used.repository, "tables": used.tables}


USE: Final = Operation(
    "store use",
    """Use the database at URL from now on. What is stored in this clone stays there: see kl store
    migrate.
    """,
    UseRequest,
    _use,
    _used_to_dict,
    "kl.store.use/1",
    "kl store use postgresql://db.example.org/team --create",
    is_tool=False,
)


class StatusRequest(NamedTuple):
    """Nothing is asked."""


class StoreStatus(NamedTuple):
    """Where the store is, and what is in it."""

    place: str
    repository: str | None
    waiting: int
    """Captures that wait to be imported."""
    problem: str | None
    access: str | None
    members: Mapping[str, str]
    """Role of the server → what it may do."""
    rows: Mapping[str, int]
    milliseconds: int | None


def _status(ws: Workspace, _request: StatusRequest, _access: Access) -> StoreStatus:
    from kl_hooks.evidence.spool_places import spool_places
    from kl_hooks.store.spool import pending_spools

    address = ws.store.address
    access, milliseconds = None, None
    members: dict[str, str] = {}
    rows: dict[str, int] = {}
    start = time.perf_counter()
    try:
        with ws.store.reading() as db:
            if address:
                access = ws.store.server.access()
            if address and db:
                found = db.rows("SELECT * FROM members()")
                members = {name: _LEVELS[level] for name, level, *_ in found}
            rows = {
                word: db.rows(f"SELECT COUNT(*) FROM {table}")[0][0]
                for word, table in _TABLES.items()
                if db and db.has_table(table)
            }
        milliseconds = round((time.perf_counter() - start) * 1000)
        problem = ws.store.problem()
    except EnvironmentProblem as trouble:
        problem = trouble
    return StoreStatus(
        address.place if address else str(ws.state.database),
        address.repository if address else None,
        sum(len(pending_spools(place.folder)) for place in spool_places(ws)),
        str(problem) if problem else None,
        access,
        members,
        rows,
        milliseconds,
    )


STATUS: Final = Operation(
    "store status",
    """Show where the store is, whether it answers, what is in it, and what waits to be imported.

    Exit 3 where it can't be used.
    """,
    StatusRequest,
    _status,
    StoreStatus._asdict,
    "kl.store.status/1",
    "kl store status --format json",
    is_tool=False,
)


class MigrateRequest(NamedTuple):
    """From where to where."""

    target: Annotated[
        str,
        Parameter("Copy the store of this clone there, then use it.", name="to", metavar="URL"),
    ] = ""
    source: Annotated[
        str,
        Parameter(
            "Copy the repository there into this clone, then use that.", name="from", metavar="URL"
        ),
    ] = ""
    repository: Annotated[str, _REPOSITORY] = ""
    create: Annotated[bool, _CREATE] = False


class Migrated(NamedTuple):
    """What was copied and compared."""

    place: str
    rows: Mapping[str, int]
    """By table."""
    sha256: str


def _migrate(ws: Workspace, request: MigrateRequest, _access: Access) -> Migrated:
    from kl_hooks.store.store import Store

    _require_person(ws)
    target = request.target
    source = request.source
    if bool(target) == bool(source):
        raise UsageProblem("give either --to or --from.", place="kl store migrate")
    address = _address(ws, target or source, request.repository)
    if target and ws.store.address and ws.store.address.key == address.key:
        reason = (
            f"this clone uses that database already, repository {address.repository!r}: nothing is"
            " to be copied."
        )
        raise UsageProblem(reason, place=address.place, hint="See: kl store status")
    here = Store(ws.state, ws.store.schemas, ws.environ)
    with _opened(ws, address, request.create) as (there, _):
        if source:
            return _from_server(ws, here, there, address)
        return _to_server(ws, here, there, address)


def _from_server(ws: Workspace, here: Store, there: Store, address: Address) -> Migrated:
    from kl_hooks.evidence.high_water import ledger_writer
    from kl_hooks.store.migration import move_from_server
    from kl_hooks.workspace import open_workspace

    moved = move_from_server(here, there)
    local, shared = _marks(ws, address)
    _copy_mark(shared, local)
    _switch(ws, None)
    if not local.exists():  # this clone only read there: its marks begin with the copy
        with ledger_writer(open_workspace(ws.root, environ=ws.environ), accept=True):
            pass
    return Migrated(str(ws.state.database), moved.rows, moved.sha256)


def _to_server(ws: Workspace, here: Store, there: Store, address: Address) -> Migrated:
    from kl_hooks.store.migration import move_to_server

    if not ws.state.database.exists():
        place = str(ws.state.database)
        raise UsageProblem("nothing is stored in this clone.", place=place, hint=_USE)
    moved = move_to_server(here, there)
    _copy_mark(*_marks(ws, address))
    _switch(ws, address)
    return Migrated(address.place, moved.rows, moved.sha256)


def _marks(ws: Workspace, address: Address) -> tuple[Path, Path]:
    """The high-water mark of this clone, and that of the server."""
    from kl_hooks.store.state import state_of_server

    server = state_of_server(ws.state, address.key)
    return ws.state.directory / "high-water", server.high_water


MIGRATE: Final = Operation(
    "store migrate",
    """Move the store of this clone to a server, or back.

    Every table is copied and compared by number of rows and SHA-256 before the address changes. A
    copy that was killed goes on where it ended. What was there stays: in kl.db, or on the server.
    """,
    MigrateRequest,
    _migrate,
    Migrated._asdict,
    "kl.store.migrate/1",
    "kl store migrate --to postgresql://db.example.org/team --create",
    is_tool=False,
    progress="Copying the store",
)


class UpgradeRequest(NamedTuple):
    """Nothing is asked."""


class Upgraded(NamedTuple):
    """The tables of a server."""

    place: str
    tables: int
    """Steps that were taken."""


def _upgrade(ws: Workspace, _request: UpgradeRequest, _access: Access) -> Upgraded:
    _require_person(ws)
    address = _used(ws)
    return Upgraded(address.place, ws.store.upgrade_server())


UPGRADE: Final = Operation(
    "store upgrade",
    """Make the tables that this version of kl needs and the server lacks. Needs the rights of the
    database's owner.
    """,
    UpgradeRequest,
    _upgrade,
    Upgraded._asdict,
    "kl.store.upgrade/1",
    "kl store upgrade",
    is_tool=False,
    progress="Upgrading the store",
)


class GrantRequest(NamedTuple):
    """Who may do what."""

    name: Annotated[str, Parameter("A role of the server.", argument="NAME")]
    level: Annotated[
        str, Parameter("What it may do.", choices=_LEVELS, argument=f"{{{'|'.join(_LEVELS)}}}")
    ]


class Granted(NamedTuple):
    """What a role may do."""

    repository: str
    name: str
    level: str


def _grant(ws: Workspace, request: GrantRequest, _access: Access) -> Granted:
    _require_person(ws)
    address = _used(ws)
    name, level = request
    if not name.strip():
        raise UsageProblem("names no role of the server.", place="kl store grant")
    with ws.store.writing(what="granting access") as db, db.transaction():
        db.row("SELECT set_access(?, ?)", (name, _LEVELS.index(level)))
    return Granted(address.repository, name, level)


GRANT: Final = Operation(
    "store grant",
    """Let a role of the server read, write or administer this repository, or take that away (none).

    A writer adds evidence and changes records; only an admin removes evidence (kl maintain). The
    role itself is made by the server's administrator: CREATE ROLE alice LOGIN.
    """,
    GrantRequest,
    _grant,
    Granted._asdict,
    "kl.store.grant/1",
    "kl store grant alice writer",
    is_tool=False,
)


def _used(ws: Workspace) -> Address:
    if ws.store.address is None:
        place = str(ws.state.database)
        raise UsageProblem("this clone uses no shared database.", place=place, hint=_USE)
    return ws.store.address


def _address(ws: Workspace, url: str, repository: str) -> Address:
    """The address that is meant. UsageProblem where it is none, or the repository has no name."""
    from kl_hooks.git.identity import remote_name
    from kl_hooks.store.postgres import Address
    from kl_hooks.store.state import clone_id

    if ws.git_settings:
        configured = ws.git_settings.kl.get("storerepository", "")
    else:
        configured = ""
    name = repository or configured or (remote_name(ws.repo) if ws.repo else "")
    if not name:
        hint = "Name it, with the same name in every clone: --repository NAME"
        raise UsageProblem(
            "there is no remote `origin` that names the repository.", place="kl store", hint=hint
        )
    return Address(url, name, clone_id(ws.state)).checked()


def _copy_mark(source: Path, target: Path) -> None:
    """Copy the high-water mark of a store: what it remembers holds for the copy of the store,
    too.
    """
    from kl_hooks.store.files import write_atomic

    if source.exists():
        write_atomic(target, source.read_bytes(), mode=0o600)


def _switch(ws: Workspace, address: Address | None) -> None:
    """Use a database from now on; without an address that of this clone."""
    for key in ("kl.store", "kl.storeRepository"):
        configure(ws, "--unset-all", key, codes=(0, 5))
    if address:
        configure(ws, "kl.storeRepository", address.repository)
        configure(ws, "kl.store", address.url)


@contextmanager
def _opened(ws: Workspace, address: Address, create: bool) -> Iterator[tuple[Store, int]]:
    """The store there, and how many steps of tables were taken. EnvironmentProblem where it can't
    be used.
    """
    from kl_hooks.store.store import Store

    there = Store(ws.state, ws.store.schemas, ws.environ, address)
    try:
        tables = there.upgrade_server() if create else 0
        there.server.open(read_only=True).close()
        if problem := there.problem():
            raise problem
        yield there, tables
    finally:
        there.server.close()


OPERATIONS: Final = (USE, STATUS, MIGRATE, UPGRADE, GRANT)
