"""PostgreSQL behind the Database protocol: one server for many repositories, people and machines.

The SQL of the packages is that of SQLite where both agree; `_translated` knows where they do not.
Every table of kl has three more columns here: `repository`, `clone` (empty where a row is
everybody's) and `written_by`. Row level security compares them with the session, so that the
statements above this module need not name them.
"""

from __future__ import annotations

import os
import re
import select
import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlsplit

from kl_hooks.errors import EnvironmentProblem, StoreBusy, StoreReadOnly, UsageProblem
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.text import one_line
from kl_hooks.store.database import Row
from kl_hooks.store.hosts import is_this_machine

if TYPE_CHECKING:
    from types import ModuleType

    import psycopg

    from kl_hooks.hookspecs import Schema

LEVELS: Final = ("reader", "writer", "admin")
"""What somebody may do in a repository; each includes those before it."""
_SECRETS: Final = ("password", "sslpassword")
_PLACE: Final = ("service", "host", "port", "dbname")
"""Parameters of an address that state which server and database it is."""
_LOCK: Final = 0x6B6C
"""First half of the keys of our advisory locks (`kl`); the second is the repository, or 0 for the
tables.
"""
_SESSION: Final = (
    # an audit of a large store takes more than two seconds; the transaction of a client that
    # stopped must not stay open
    ("statement_timeout", "60s"),
    ("lock_timeout", "5s"),
    ("idle_in_transaction_session_timeout", "120s"),
    # compiling a query takes longer than all of ours
    ("jit", "off"),
    ("search_path", "kl, pg_temp"),
)
_PATIENCE: Final = 10.0
"""Seconds in which a server that did not answer is not asked again by the same process."""


class Address(NamedTuple):
    """Where a team's database is, and which repository of it is meant."""

    url: str
    """Without a password: libpq takes it from the environment, a password file or a service file.
    """
    repository: str
    clone: str
    """Identifies this clone among those that use the repository."""

    @property
    def place(self) -> str:
        """The server and database, as messages name them."""
        parts = urlsplit(self.url)
        options = [f"{name}={value}" for name, value in parse_qsl(parts.query) if name in _PLACE]
        port = f":{parts.port}" if parts.port else ""
        place = f"postgresql://{parts.hostname or ''}{port}{parts.path}"
        if options:
            place += f"?{'&'.join(options)}"
        return place

    @property
    def key(self) -> str:
        """What is derived from this repository of this server is not derived from another one."""
        return f"{self.place}\0{self.repository}"

    def checked(self) -> Address:
        """This address. UsageProblem for one that is none, or that holds a password: git's
        configuration is no safe.
        """
        try:
            parts = urlsplit(self.url)
            options = {name for name, _ in parse_qsl(parts.query)}
            well_formed = parts.scheme in ("postgresql", "postgres") and (parts.port or 1) > 0
            secret = bool(parts.password or options & set(_SECRETS))
        except ValueError:
            well_formed, secret = False, False
        if secret:
            hint = "Put it into ~/.pgpass, a service file (?service=NAME) or PGPASSWORD."
            raise UsageProblem("the address holds a password.", place="kl.store", hint=hint)
        if not self.repository:
            hint = "Set it: kl store use URL --repository NAME"
            raise UsageProblem("names no repository.", place="kl.storeRepository", hint=hint)
        if self.repository.strip() != self.repository or not self.repository.isprintable():
            reason = f"is no name of a repository: {one_line(self.repository, 60)!r}."
            hint = (
                "Use printable characters, without space around: kl store use URL --repository NAME"
            )
            raise UsageProblem(reason, place="kl.storeRepository", hint=hint)
        if not well_formed:
            hint = "Such as postgresql://db.example.org/team."
            raise UsageProblem("is no address of a PostgreSQL server.", place="kl.store", hint=hint)
        return self


def _driver() -> ModuleType:
    try:
        import psycopg
    except ImportError:
        hint = "Install it: pip install 'kl-hooks[postgres]'"
        raise EnvironmentProblem("psycopg is not installed.", place="kl.store", hint=hint) from None
    return psycopg


# --- SQL of SQLite as that of PostgreSQL

_TOKEN: Final = lazy_pattern(
    r"(?P<text>'(?:[^']|'')*')|(?P<remark>--[^\n]*)|(?P<value>\?)|(?P<percent>%)"
)
_TYPES: Final = {
    "INTEGER": "bigint",
    "BIGINT": "bigint",
    "TEXT": 'text COLLATE "C"',
    "BLOB": "bytea",
}
"""Collation C compares bytes, as SQLite does: the order of an answer must not depend on the
server's language.
"""
_CREATE: Final = lazy_pattern(
    r"(?is)\s*CREATE TABLE\s+(IF NOT EXISTS\s+)?(\w+)\s*\((.*)\)\s*(?:WITHOUT ROWID)?\s*;?\s*$"
)
_INDEX: Final = lazy_pattern(
    r"(?is)\s*CREATE\s+(UNIQUE\s+)?INDEX\s+(\w+)\s+ON\s+(\w+)\s*\((.*)\)\s*;?\s*$"
)
_COLUMN: Final = lazy_pattern(
    r"(?is)\s*ALTER TABLE\s+(\w+)\s+ADD COLUMN\s+(\w+)\s+(\w+)(.*?);?\s*$"
)
_INSERT: Final = lazy_pattern(
    r"(INSERT INTO \w+ \([^()]*\) VALUES )\(([?, ]+)\)( ON CONFLICT DO NOTHING)?"
)
_ROWS: Final = 500
"""Rows of one statement."""
_KEY: Final = "repository, clone, "
"""What every key begins with: repositories share tables, and never a row."""
_ESCAPE: Final = "\ufdd0"
"""A noncharacter. PostgreSQL's text holds no NUL, which SQLite's does: it is stored as this and
`0`, this as twice. So a NUL sorts behind every letter, and nothing may ask for an order or a
pattern (LIKE) of texts that may hold one.
"""


def _token(match: re.Match[str]) -> str:
    if match["remark"]:
        return ""
    if match["value"]:
        return "%s"
    return match[0].replace("%", "%%")


def _like(match: re.Match[str]) -> str:
    # SQLite's LIKE ignores case in ASCII, and so does ILIKE with collation C; only PostgreSQL has
    # an escape by default
    return f"ILIKE {match[1]} ESCAPE" + (" " if match[2] else " ''")


@lru_cache(maxsize=1024)
def _translated(sql: str) -> str:
    """A statement with psycopg's placeholders, in PostgreSQL's dialect; definitions of tables: see
    `_definition`.
    """
    text = _TOKEN.sub(_token, sql)
    return re.sub(r"(?i)\bLIKE\s+(%s|'(?:[^']|'')*')(\s+ESCAPE\s+)?", _like, text)


def _definition(sql: str, private: frozenset[str], append_only: frozenset[str]) -> str | None:
    """A statement that makes tables, columns or indexes, with what they have more here; None for
    other statements.
    """
    text = re.sub(r"--[^\n]*", "", sql)
    if match := _CREATE.match(text):
        return _table(match[2].lower(), match[3], private, append_only)
    if match := _INDEX.match(text):
        unique, key = ("UNIQUE ", _KEY) if match[1] else ("", "repository, ")
        return f"CREATE {unique}INDEX {match[2]} ON {match[3]} ({key}{match[4]})"
    if match := _COLUMN.match(text):
        return f"ALTER TABLE {match[1]} ADD COLUMN {match[2]} {_TYPES[match[3].upper()]}{match[4]}"
    return None


def _table(name: str, body: str, private: frozenset[str], append_only: frozenset[str]) -> str:
    if name == "schema_step":  # of the server, not of a repository
        return f"CREATE TABLE IF NOT EXISTS {name} ({body}); GRANT SELECT ON {name} TO kl_reader"
    columns = list[str]()
    keys = list[str]()
    for item in re.split(r",(?![^(]*\))", body):
        item = " ".join(item.split())
        if constraint := re.match(r"(?i)(PRIMARY KEY|UNIQUE) \((.*)\)$", item):
            keys.append(f"{constraint[1]} ({_KEY}{constraint[2]})")
            continue
        column, kind, *constraints = item.split(" ")
        words = " ".join(constraints)
        for word in ("PRIMARY KEY", "UNIQUE"):
            if word in words:
                keys.append(f"{word} ({_KEY}{column})")
                words = words.replace(word, "NOT NULL" if "NOT NULL" not in words else "")
                # SQLite numbers the rows of such a table by itself
                numbered = word == "PRIMARY KEY" and kind.upper() == "INTEGER"
                if numbered:
                    words += " GENERATED BY DEFAULT AS IDENTITY"
        columns.append(f"{column} {_TYPES[kind.upper()]} {words}")
    if name in private:
        own = "current_setting('kl.clone')"
    else:
        own = "''"
    columns += [
        "repository bigint NOT NULL DEFAULT current_setting('kl.repository')::bigint",
        f"clone {_TYPES['TEXT']} NOT NULL DEFAULT {own}",
        "written_by text NOT NULL DEFAULT session_user",
    ]
    create_table = f"CREATE TABLE {name} ({', '.join([*columns, *keys])})"
    return ";\n".join([create_table, *_rules(name, name in private, name in append_only)])


def _rules(name: str, private: bool, append_only: bool) -> Iterator[str]:
    """Who may see and change the rows of a table."""
    # the subqueries are evaluated once per statement, not once per row
    if private:
        own = "(SELECT current_setting('kl.clone'))"
    else:
        own = "''"
    # the session states which clone it is, and others can guess that name
    login = " AND (clone = '' OR written_by = session_user)"
    if name == "tier_event":  # one table for what is private and for pools, which are shared
        yield (
            f"CREATE TRIGGER place BEFORE INSERT ON {name} FOR EACH ROW EXECUTE FUNCTION"
            " tier_event_clone()"
        )
        here = "clone IN ('', (SELECT current_setting('kl.clone')))"
    else:
        here = f"clone = {own}"
    is_private = private or name == "tier_event"
    mine = f"{here}{login if is_private else ''} AND repository = (SELECT allowed"
    yield f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY"
    yield f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY"
    yield f"CREATE POLICY kl_read ON {name} FOR SELECT USING ({mine}(1)))"
    yield (
        f"CREATE POLICY kl_add ON {name} FOR INSERT WITH CHECK ({mine}(2)) AND written_by ="
        " session_user)"
    )
    level = 3 if append_only else 2
    yield f"CREATE POLICY kl_change ON {name} FOR UPDATE USING ({mine}({level})))"
    yield f"CREATE POLICY kl_remove ON {name} FOR DELETE USING ({mine}({level})))"
    # the policy for INSERT compares it; a changed row is of whoever changed it
    yield (
        f"CREATE TRIGGER written_by BEFORE UPDATE ON {name} FOR EACH ROW EXECUTE FUNCTION"
        " set_written_by()"
    )
    yield f"GRANT SELECT ON {name} TO kl_reader"
    yield f"GRANT INSERT ON {name} TO kl_writer"
    yield f"GRANT UPDATE, DELETE ON {name} TO {'kl_admin' if append_only else 'kl_writer'}"


_SETUP: Final = """
CREATE SCHEMA IF NOT EXISTS kl;
DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['kl_reader', 'kl_writer', 'kl_admin'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', name);
        END IF;
    END LOOP;
    GRANT kl_reader TO kl_writer;
    GRANT kl_writer TO kl_admin;
    EXECUTE format('GRANT kl_admin TO %I', session_user);
END $$;
GRANT USAGE ON SCHEMA kl TO kl_reader;
CREATE TABLE IF NOT EXISTS kl.repositories (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    made_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS kl.access (
    repository integer NOT NULL REFERENCES kl.repositories,
    member text NOT NULL,
    level integer NOT NULL,
    PRIMARY KEY (repository, member)
);
-- The repository of this session, if whoever logged in may do in it what needs this level; null: no row fits.
CREATE OR REPLACE FUNCTION kl.allowed(needed integer) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kl, pg_temp AS $$
    SELECT a.repository::bigint FROM kl.access a
    WHERE a.repository = nullif(current_setting('kl.repository', true), '')::bigint AND a.level >= needed
    AND pg_has_role(session_user, to_regrole(quote_ident(a.member)), 'MEMBER') LIMIT 1
$$;
CREATE OR REPLACE FUNCTION kl.enter(wanted text) RETURNS TABLE (id integer, level integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kl, pg_temp AS $$
    SELECT p.id, max(a.level) FROM kl.repositories p JOIN kl.access a ON a.repository = p.id
    WHERE p.name = wanted AND pg_has_role(session_user, to_regrole(quote_ident(a.member)), 'MEMBER') GROUP BY p.id
$$;
CREATE OR REPLACE FUNCTION kl.add_repository(wanted text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kl, pg_temp AS $$
BEGIN
    -- not kl_admin: each admin of a repository is a member of it
    IF NOT has_database_privilege(session_user, current_database(), 'CREATE') THEN
        RAISE insufficient_privilege USING MESSAGE = 'only who may create schemas in the database adds repositories';
    END IF;
    INSERT INTO kl.repositories (name) VALUES (wanted) ON CONFLICT DO NOTHING;
    IF FOUND THEN
        INSERT INTO kl.access SELECT p.id, session_user, 3 FROM kl.repositories p WHERE p.name = wanted;
    END IF;
END $$;
-- `wanted`: 1 reader, 2 writer, 3 admin, 0 none.
CREATE OR REPLACE FUNCTION kl.set_access(who text, wanted integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kl, pg_temp AS $$
DECLARE
    here integer := kl.allowed(3);
    groups text[] := ARRAY['kl_reader', 'kl_writer', 'kl_admin'];
    highest integer;
BEGIN
    IF here IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'only an admin of the repository changes who may use it';
    END IF;
    IF who = session_user THEN
        RAISE insufficient_privilege USING MESSAGE = 'an admin cannot change their own access: another admin does';
    END IF;
    -- oids below 16384 are of PostgreSQL itself (FirstNormalObjectId), such as pg_monitor
    IF wanted > 0 AND EXISTS (SELECT FROM pg_roles WHERE rolname = who AND (oid < 16384 OR who = ANY (groups))) THEN
        RAISE insufficient_privilege USING MESSAGE = format('%s is a role of the server itself', who);
    END IF;
    DELETE FROM kl.access WHERE repository = here AND member = who;
    IF wanted > 0 THEN
        EXECUTE format('GRANT %I TO %I', groups[wanted], who);
        INSERT INTO kl.access VALUES (here, who, wanted);
    END IF;
    -- whoever lost a level in all repositories leaves its group
    SELECT coalesce(max(level), 0) INTO highest FROM kl.access WHERE member = who;
    FOR number IN highest + 1 .. 3 LOOP
        IF EXISTS (
            SELECT FROM pg_auth_members m
            WHERE m.roleid = to_regrole(groups[number]) AND m.member = to_regrole(quote_ident(who))
        ) THEN
            EXECUTE format('REVOKE %I FROM %I', groups[number], who);
        END IF;
    END LOOP;
END $$;
-- The login that changed a row, whatever the statement states.
CREATE OR REPLACE FUNCTION kl.set_written_by() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.written_by := session_user;
    RETURN NEW;
END $$;
DO $$
DECLARE tab regclass;
BEGIN
    -- of tables that an earlier version made
    FOR tab IN
        SELECT c.oid FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'kl'::regnamespace AND c.relkind = 'r' AND a.attname = 'written_by'
        AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname = 'written_by')
    LOOP
        EXECUTE format('CREATE TRIGGER written_by BEFORE UPDATE ON %s FOR EACH ROW'
            ' EXECUTE FUNCTION kl.set_written_by()', tab);
    END LOOP;
END $$;
DO $$
DECLARE rule record;
BEGIN
    -- rows of one clone are of the login that wrote them, also in tables that an earlier version made
    FOR rule IN
        SELECT policyname, tablename, qual FROM pg_policies
        WHERE schemaname = 'kl' AND qual LIKE '%kl.clone%' AND qual NOT LIKE '%written_by%'
    LOOP
        EXECUTE format('ALTER POLICY %I ON kl.%I USING ((%s) AND (clone = '''' OR written_by = session_user))',
            rule.policyname, rule.tablename, rule.qual);
    END LOOP;
END $$;
CREATE OR REPLACE FUNCTION kl.members() RETURNS TABLE (member text, level integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kl, pg_temp AS $$
    SELECT a.member, a.level FROM kl.access a WHERE a.repository = kl.allowed(1) ORDER BY a.member
$$;
-- The next row of a table gets a number after the highest of this repository. Higher ones than 2^53 do not count:
-- a row with the last bigint would end the numbers of all repositories.
CREATE OR REPLACE FUNCTION kl.skip_numbers(tab text, col text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kl, pg_temp AS $$
DECLARE
    here bigint := kl.allowed(3);
    highest bigint;
    numbers text := pg_get_serial_sequence(format('kl.%I', tab), col);
    last bigint;
BEGIN
    IF here IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'only an admin of the repository may do this';
    END IF;
    -- nobody takes a number meanwhile, in any repository
    EXECUTE format('LOCK TABLE kl.%I IN SHARE ROW EXCLUSIVE MODE', tab);
    EXECUTE format('SELECT max(%I) FROM kl.%I WHERE repository = $1 AND %I <= 9007199254740992', col, tab, col)
        INTO highest USING here;
    EXECUTE format('SELECT last_value FROM %s', numbers) INTO last;
    IF highest >= last THEN
        PERFORM setval(numbers, highest);
    END IF;
END $$;
CREATE OR REPLACE FUNCTION kl.tier_event_clone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.clone := CASE WHEN NEW.tier = 'shared' THEN '' ELSE current_setting('kl.clone') END;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION kl.allowed, kl.enter, kl.add_repository, kl.set_access, kl.members, kl.skip_numbers FROM PUBLIC;
GRANT EXECUTE ON FUNCTION kl.allowed, kl.enter, kl.members TO kl_reader;
GRANT EXECUTE ON FUNCTION kl.add_repository, kl.set_access, kl.skip_numbers TO kl_admin;
"""


# --- one connection


class PostgresDatabase:
    """A Database on PostgreSQL: one connection, lent by a `Server`."""

    dialect = "postgresql"

    def __init__(
        self, server: Server, connection: psycopg.Connection[Any], read_only: bool, level: int
    ) -> None:
        self._server, self._connection = server, connection
        self.read_only, self.level = read_only, level
        self._lent = True

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        with _translated_errors(self._server.place):
            fetched: list[Row] = self._run(sql, params).fetchall()
            return fetched

    def row(self, sql: str, params: Sequence[Any] = ()) -> Row | None:
        with _translated_errors(self._server.place):
            fetched: Row | None = self._run(sql, params).fetchone()
            return fetched

    def execute(self, sql: str, params: Sequence[Any] = ()) -> None:
        with _translated_errors(self._server.place):
            definition = None
            if not params and re.match(r"(?i)\s*(--[^\n]*\s*)*(CREATE|ALTER)\b", sql):
                definition = _definition(sql, *self._server.special())
            if definition:
                self._connection.execute(definition)
            else:
                self._run(sql, params)

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        values = [list(row) for row in rows]
        with _translated_errors(self._server.place):
            self._refuse_closed()
            if insert := _INSERT.fullmatch(sql):
                # row level security is evaluated once for each statement: 20,000 of them take 8 s
                # of the server
                for start in range(0, len(values), _ROWS):
                    batch = values[start : start + _ROWS]
                    many = ", ".join([f"({insert[2]})"] * len(batch))
                    self._run(
                        f"{insert[1]}{many}{insert[3] or ''}",
                        [value for row in batch for value in row],
                    )
                return
            # values bound by the server: psycopg sends these one after the other without waiting
            # (pipeline)
            with _driver().Cursor(self._connection) as cursor:
                cursor.executemany(
                    _translated(sql), [[_stored(value) for value in row] for row in values]
                )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.execute("BEGIN")
        yield from self._until_the_end()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        if self._connection.info.transaction_status:  # in a transaction already
            yield
            return
        self.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield from self._until_the_end()

    def has_table(self, name: str) -> bool:
        return (
            self.row("SELECT 1 FROM pg_tables WHERE schemaname = 'kl' AND tablename = ?", (name,))
            is not None
        )

    def close(self) -> None:
        if self._lent:
            self._lent = False
            self._server.take_back(self._connection, self.read_only, self.level)

    def _until_the_end(self) -> Iterator[None]:
        try:
            yield
            with _translated_errors(self._server.place):
                # where a statement of the transaction failed, PostgreSQL answers COMMIT with
                # ROLLBACK, and no error
                if self._connection.execute("COMMIT").statusmessage != "COMMIT":
                    raise EnvironmentProblem(
                        "the transaction failed; nothing was written.", place=self._server.place
                    )
        except BaseException:
            with suppress(_driver().Error):
                if self._connection.info.transaction_status:
                    self._connection.execute("ROLLBACK")
            raise

    def _run(self, sql: str, params: Sequence[Any]) -> Any:
        self._refuse_closed()
        return self._connection.execute(_translated(sql), [_stored(value) for value in params])

    def _refuse_closed(self) -> None:
        if not self._lent:
            raise EnvironmentProblem("the database is closed.", place=self._server.place)


@contextmanager
def _translated_errors(place: str) -> Iterator[None]:
    try:
        yield
    except _driver().Error as error:
        raise _problem(error, place) from error


def _close_all(idle: dict[bool, list[tuple[psycopg.Connection[Any], int]]], pid: int) -> None:
    """Close these connections, unless they are those of the process that we were forked from."""
    for connections in idle.values():
        while connections:
            connection, _ = connections.pop()
            if pid == os.getpid():
                connection.close()


def _stored(value: Any) -> Any:
    if isinstance(value, str) and ("\0" in value or _ESCAPE in value):
        return value.replace(_ESCAPE, _ESCAPE * 2).replace("\0", f"{_ESCAPE}0")
    return value


def _restored(text: str) -> str:
    return re.sub(f"{_ESCAPE}(.)", lambda match: "\0" if match[1] == "0" else _ESCAPE, text)


_CONNECTION_HINTS: Final = {
    "does not match host name": "Use the host that the certificate names, or ?sslmode=verify-ca.",
    "root certificate file": (
        "Name the certificate authority of the server: ?sslrootcert=FILE, or =system."
    ),
    "certificate verify failed": (
        "Name the authority that signed the server's certificate: ?sslrootcert=FILE."
    ),
    "does not support SSL": (
        "Turn TLS on at the server. Without it, passwords are sent in the clear."
    ),
    "no encryption": "The server wants TLS: ?sslmode=require, or verify-full.",
    "password authentication failed": "See PGPASSWORD, ~/.pgpass and the service file.",
    "no password supplied": "Put it into ~/.pgpass, a service file (?service=NAME) or PGPASSWORD.",
}
"""What libpq states (in English, whatever the locale: psycopg's binary has no translations) → what
to do.
"""


def _problem(error: psycopg.Error, place: str) -> Exception:
    """What an error of PostgreSQL means here. The statement and its values are never part of a
    message.
    """
    errors = _driver().errors
    reason = one_line(error.diag.message_primary or str(error).partition("\n")[0])
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return EnvironmentProblem(f"{reason}.", place=place)
    if isinstance(error, errors.InsufficientPrivilege):
        return EnvironmentProblem(
            f"you may not do this ({reason}).", place=place, hint="See: kl store status"
        )
    if isinstance(
        error, errors.LockNotAvailable | errors.TransactionRollback | errors.QueryCanceled
    ):
        return StoreBusy(f"the server is busy ({reason}).", place=place, hint="Try again.")
    if isinstance(error, errors.UndefinedObject | errors.InvalidName | errors.ReservedName):
        # a role to whom access is to be granted; whatever else kl names was made by it
        hint = "An administrator of the server makes a role: CREATE ROLE NAME LOGIN"
        return UsageProblem(f"{reason}.", place=place, hint=hint)
    if isinstance(error, errors.UndefinedTable | errors.UndefinedColumn):
        return EnvironmentProblem(
            f"has other tables than this kl ({reason}).", place=place, hint="See: kl store status"
        )
    if isinstance(error, errors.DiskFull):
        hint = "Free some space on the server. Captures wait in the spool."
        return EnvironmentProblem(
            f"the disk of the server is full ({reason}).", place=place, hint=hint
        )
    if reason.startswith(
        ("connection is bad: invalid ", "connection is bad: definition of service")
    ):
        return UsageProblem(
            f"is no address ({reason.removeprefix('connection is bad: ')}).", place="kl.store"
        )
    if isinstance(error, _driver().OperationalError | _driver().InterfaceError):
        hint = next(
            (hint for words, hint in _CONNECTION_HINTS.items() if words in reason),
            "See: kl store status",
        )
        hint = f"Captures wait in the spool. {hint}"
        return EnvironmentProblem(f"the server can't be used ({reason}).", place=place, hint=hint)
    return error


# --- what would be sent in the clear

# the address is in git's configuration, which an archive or a shared folder brings along, and the
# password is the user's: libpq itself resolves where it would go

_CLEAR: Final = ("disable", "allow")
"""Values of `sslmode` with which libpq sends a password without TLS first."""


def _tls_options(url: str) -> dict[str, str]:
    """Options that the connection needs besides those of the address. UsageProblem where the
    address sends a password to another machine in the clear, or to another one than it names.
    """
    from psycopg.conninfo import conninfo_to_dict

    explicit = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    values = _resolved(url)
    mode = values.get("sslmode", "prefer")
    if explicit.get("hostaddr") and explicit.get("host") and mode != "verify-full":
        reason = "hostaddr sends the password of one host to another."
        hint = "Name the host alone, or check its certificate: ?sslmode=verify-full."
        raise UsageProblem(reason, place="kl.store", hint=hint)
    hosts = (values.get("hostaddr") or values.get("host") or "").split(",")
    if all(map(is_this_machine, hosts)):
        return {}
    if mode in _CLEAR:
        reason = f"sslmode={mode} sends the password to another machine in the clear."
        hint = "Use TLS: ?sslmode=require, or verify-full."
        raise UsageProblem(reason, place="kl.store", hint=hint)
    # `prefer` sends everything in the clear where the server offers no TLS
    if mode != "prefer":
        return {}
    return {"sslmode": "require"}


_REFUSED_BEFORE_CONNECTING: Final = "none-such"
"""A value of `target_session_attrs` that libpq refuses: after it has read the environment and the
service file, before it looks for the server.
"""


def _resolved(url: str) -> dict[str, str]:
    """All options of a connection as libpq itself resolves them: the address, the environment, the
    service file. Nothing is connected.
    """
    from psycopg.conninfo import make_conninfo
    from psycopg.pq import PGconn

    refused = make_conninfo(url, target_session_attrs=_REFUSED_BEFORE_CONNECTING)
    connection = PGconn.connect_start(refused.encode())
    try:
        options = connection.info
    finally:
        connection.finish()
    return {option.keyword.decode(): option.val.decode() for option in options if option.val}


# --- the server


class Server:
    """A team's database as one process uses it: connections are made on first need, and used
    again.
    """

    def __init__(
        self, address: Address, wait: float, schemas: Iterable[Schema] | None = None
    ) -> None:
        self.address = address
        self.place = address.place
        self._wait = wait
        self.schemas = list(schemas or ())
        self._idle: dict[bool, list[tuple[psycopg.Connection[Any], int]]] = {True: [], False: []}
        self._pid = os.getpid()
        weakref.finalize(self, _close_all, self._idle, self._pid)
        self._away: tuple[float, EnvironmentProblem] | None = None
        """When (monotonic) the server did not answer, and how that failed."""

    def special(self) -> tuple[frozenset[str], frozenset[str]]:
        """The tables with rows of one clone each, and those to which writers only add."""
        return (
            frozenset(name for schema in self.schemas for name in schema.private),
            frozenset(name for schema in self.schemas for name in schema.append_only),
        )

    def open(self, *, read_only: bool) -> PostgresDatabase:
        """A connection to the repository.

        EnvironmentProblem where the server does not answer, or whoever logs in has no access.
        """
        if self._pid != os.getpid():  # a forked child must not write into its parent's connections
            self._idle, self._pid = {True: [], False: []}, os.getpid()
            weakref.finalize(self, _close_all, self._idle, self._pid)
        while self._idle[read_only]:
            connection, level = self._idle[read_only].pop()
            if not select.select([connection.fileno()], [], [], 0)[0]:
                return PostgresDatabase(self, connection, read_only, level)
            connection.close()  # something was sent that nobody asked for: that it has ended
        connection = self._connect()
        try:
            level = self._enter(connection, read_only)
        except BaseException:
            connection.close()
            raise
        return PostgresDatabase(self, connection, read_only, level)

    def access(self) -> str:
        """What whoever logs in may do: reader, writer or admin."""
        db = self.open(read_only=True)
        db.close()
        return LEVELS[db.level - 1]

    def take_back(self, connection: psycopg.Connection[Any], read_only: bool, level: int) -> None:
        """Store a connection that is idle for the next use; close any other."""
        if connection.closed or connection.info.transaction_status or self._pid != os.getpid():
            connection.close()
        else:
            self._idle[read_only].append((connection, level))

    def close(self) -> None:
        """Close the connections that nobody uses."""
        _close_all(self._idle, self._pid)

    @contextmanager
    def setting_up(self) -> Iterator[PostgresDatabase]:
        """A connection that may change tables, after functions, roles and the repository were made
        where missing.

        One process at a time. EnvironmentProblem where whoever logs in may not do this.
        """
        connection = self._connect()
        try:
            with _translated_errors(self.place):
                # else functions that anybody made in the schema `public` are called by the owner
                connection.execute("SET search_path = pg_catalog, pg_temp")
                connection.execute("SELECT pg_advisory_lock(%s, 0)", (_LOCK,))
                connection.execute(_SETUP)
                connection.execute("SELECT kl.add_repository(%s)", (self.address.repository,))
            level = self._enter(connection, False)
            connection.execute("SET ROLE NONE")
            yield PostgresDatabase(self, connection, False, level)
        finally:
            connection.close()

    @contextmanager
    def writing(self, what: str) -> Iterator[PostgresDatabase]:
        """A connection that alone writes in this repository until the block ends, whatever machine
        others are on. StoreReadOnly where whoever logged in may only read.
        """
        db = self.open(read_only=False)
        try:
            self._refuse_reader(db)
            self._lock(db, what)
            try:
                yield db
            finally:
                # a connection that was lost has released it
                with suppress(EnvironmentProblem):
                    db.row("SELECT pg_advisory_unlock_all()")
        finally:
            db.close()

    def _refuse_reader(self, db: PostgresDatabase) -> None:
        if LEVELS[db.level - 1] != "reader":
            return
        (member,) = db.row("SELECT session_user") or ("YOU",)
        reason = f"you may only read in repository {self.address.repository!r}."
        hint = f"Its administrator runs: kl store grant {one_line(str(member), 63)} writer"
        raise StoreReadOnly(reason, place=self.place, hint=hint)

    def _lock(self, db: PostgresDatabase, what: str) -> None:
        end = time.monotonic() + self._wait
        pause = 0.005
        db.row("SELECT set_config('application_name', ?, false)", (f"kl: {one_line(what)}"[:60],))
        while True:
            row = db.row(
                "SELECT pg_try_advisory_lock(?, current_setting('kl.repository')::integer)",
                (_LOCK,),
            )
            if row and row[0]:
                return
            if time.monotonic() >= end:
                break
            time.sleep(pause)
            pause = min(pause * 2, 0.1)
        sql = (
            "SELECT a.usename, a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid"
            " = l.pid WHERE l.locktype = 'advisory' AND l.granted AND l.classid = ?::oid AND"
            " l.objid = current_setting('kl.repository')::oid"
        )
        holder = db.row(sql, (_LOCK,))
        if holder:
            holder_text = f"{one_line(str(holder[0]), 40)} ({one_line(str(holder[1]), 60)})"
        else:
            holder_text = "another process"
        reason = f"the store is busy: {holder_text} holds it. Waited {self._wait:g} s."
        raise StoreBusy(reason, place=self.place, hint="Try again.")

    def _connect(self) -> psycopg.Connection[Any]:
        if self._away and time.monotonic() - self._away[0] < _PATIENCE:
            raise self._away[1]
        driver = _driver()
        self.address.checked()
        try:
            connection: psycopg.Connection[Any] = driver.connect(
                self.address.url,
                autocommit=True,
                cursor_factory=driver.ClientCursor,
                **self._options(),
            )
        except driver.Error as error:
            problem = _problem(error, self.place)
            if problem is error:
                # what libpq refuses before it connects, such as an unknown parameter: the address,
                # not the server
                raise UsageProblem(
                    f"is no address ({one_line(str(error))}).", place="kl.store"
                ) from None
            if isinstance(problem, EnvironmentProblem):
                self._away = time.monotonic(), problem
            raise problem from None
        self._away = None
        connection.adapters.register_loader("text", _text_loader())
        return connection

    def _options(self) -> dict[str, Any]:
        stated = {name for name, _ in parse_qsl(urlsplit(self.address.url).query)}
        wanted: dict[str, Any] = {
            "connect_timeout": 3,
            "tcp_user_timeout": 10_000,
            "application_name": "kl",
        }
        options = {name: value for name, value in wanted.items() if name not in stated}
        return options | _tls_options(self.address.url)

    def _enter(self, connection: psycopg.Connection[Any], read_only: bool) -> int:
        """Make the repository that of the session; return the level of whoever logged in."""
        errors = _driver().errors
        name = self.address.repository
        hint = "An administrator of the server runs: kl store use URL --create"
        try:
            row = connection.execute("SELECT id, level FROM kl.enter(%s)", (name,)).fetchone()
        except (errors.UndefinedFunction, errors.InvalidSchemaName):
            raise EnvironmentProblem(
                "kl is not set up in this database.", place=self.place, hint=hint
            ) from None
        except errors.InsufficientPrivilege:
            row = None
        except _driver().Error as error:
            raise _problem(error, self.place) from None
        if row is None:
            reason = f"you have no access to a repository {name!r}."
            hint = (
                "Its administrator runs: kl store grant YOU writer. A new one: kl store use URL"
                " --create"
            )
            raise EnvironmentProblem(reason, place=self.place, hint=hint)
        repository, level = row
        wanted = [
            *_SESSION,
            ("kl.repository", str(repository)),
            ("kl.clone", self.address.clone),
            ("default_transaction_read_only", "on" if read_only else "off"),
            # not what the login may do elsewhere: row level security does not bind a superuser
            ("role", f"kl_{LEVELS[level - 1]}"),
        ]
        calls = ", ".join("set_config(%s, %s, false)" for _ in wanted)
        try:
            connection.execute(f"SELECT {calls}", [value for pair in wanted for value in pair])
        except _driver().Error as error:
            raise _problem(error, self.place) from None
        return int(level)


@lru_cache(maxsize=1)
def _text_loader() -> Any:
    from psycopg.adapt import Loader

    class TextLoader(Loader):
        """Text with its NULs."""

        def load(self, data: Any) -> str:
            text = bytes(data).decode()
            if _ESCAPE not in text:
                return text
            return _restored(text)

    return TextLoader
