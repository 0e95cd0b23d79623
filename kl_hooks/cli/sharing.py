"""`kl store · sync · trust`: a team's database, evidence of other clones, and whose signatures
count.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.output import (
    counted,
    format_option,
    print_answer,
    print_list,
    progress,
    short,
    warn,
    workspace,
)
from kl_hooks.errors import CLEAN, ENVIRONMENT_ERROR, FINDINGS, EnvironmentProblem, UsageProblem
from kl_hooks.model.actors import agent
from kl_hooks.model.text import one_line
from kl_hooks.store.files import read_given
from kl_hooks.store.postgres import LEVELS

if TYPE_CHECKING:
    from kl_hooks.evidence.executed import Executed
    from kl_hooks.model.receipt import Receipt
    from kl_hooks.sharing.attestation import TrustedKey
    from kl_hooks.sharing.notes import Shared
    from kl_hooks.store.postgres import Address
    from kl_hooks.store.store import Store
    from kl_hooks.workspace import Workspace


_USE = "See: kl store use --help"
_TABLES = {
    "receipts": "receipt",
    "tests": "test",
    "commits": "commit_log",
    "records": "record",
    "events": "record_event",
    "claims": "claim",
    "pools": "pool",
}
_LEVELS = ("none", *LEVELS)


@click.group()
def store() -> None:
    """Where evidence and records are stored: in this clone, or in a PostgreSQL database that a team
    shares.

    The address is in this clone's git configuration, without a password: libpq reads it from
    PGPASSWORD, ~/.pgpass or a service file. Runs of tests are written to this clone first, and wait
    there while the server is away.
    """


@store.command(epilog="Example: kl store use postgresql://db.example.org/team --create")
@click.argument("url", required=False)
@click.option(
    "--repository",
    default="",
    metavar="NAME",
    help="Its name in the database; by default from the remote.",
)
@click.option(
    "--create", is_flag=True, help="Make tables, roles and the repository where they are missing."
)
@click.option("--local", is_flag=True, help="Use the database of this clone again.")
@format_option()
def use(url: str | None, repository: str, create: bool, local: bool, shape: str) -> None:
    """Use the database at URL from now on. What is stored in this clone stays there: see kl store
    migrate.
    """
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
        lines.append(
            "hint: what this clone has recorded is not there. To copy it first: kl store migrate"
            " --to URL"
        )
    answer = {
        "schema": "kl.store.use/1",
        "place": address.place,
        "repository": address.repository,
        "tables": made,
    }
    print_answer(shape, answer, lines)


@store.command(epilog="Example: kl store status --format json")
@format_option()
def status(shape: str) -> int:
    """Show where the store is, whether it answers, what is in it, and what waits to be imported.

    Exit 3 where it can't be used.
    """
    from kl_hooks.evidence.spool_places import spool_places
    from kl_hooks.store.spool import pending_spools

    ws = workspace()
    waiting = sum(len(pending_spools(place.folder)) for place in spool_places(ws))
    address = ws.store.address
    plain: dict[str, Any] = {
        "schema": "kl.store.status/1",
        "place": address.place if address else str(ws.state.database),
        "repository": address.repository if address else None,
        "waiting": waiting,
        "problem": None,
        "access": None,
        "members": {},
        "rows": {},
        "milliseconds": None,
    }
    start = time.perf_counter()
    try:
        with ws.store.reading() as db:
            if address:
                plain["access"] = ws.store.server.access()
                plain["members"] = (
                    {row[0]: _LEVELS[row[1]] for row in db.rows("SELECT * FROM members()")}
                    if db
                    else {}
                )
            plain["rows"] = {
                word: db.rows(f"SELECT COUNT(*) FROM {table}")[0][0]
                for word, table in _TABLES.items()
                if db and db.has_table(table)
            }
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
        lines.append(
            f"         repository {plain['repository']}, you are: {plain['access'] or 'unknown'}"
        )
    if plain["members"]:
        lines.append(
            "access   " + ", ".join(f"{name} {level}" for name, level in plain["members"].items())
        )
    if plain["problem"]:
        lines.append(f"problem  {plain['problem']}")
    rows = ", ".join(f"{number:,} {word}" for word, number in plain["rows"].items() if number)
    lines.append(f"holds    {rows or 'nothing yet'}")
    if plain["milliseconds"] is not None and plain["repository"]:
        lines.append(f"answered in {plain['milliseconds']} ms")
    if plain["waiting"]:
        waiting = counted(plain["waiting"], "capture")
        until = "imported by the next command that reads evidence"
        if plain["access"] == "reader":
            until = "you may only read here. An administrator runs: kl store grant NAME writer"
        lines.append(f"waiting  {waiting} in the spool; {until}")
    return lines


@store.command(epilog="Example: kl store migrate --to postgresql://db.example.org/team --create")
@click.option("--to", "to", metavar="URL", help="Copy the store of this clone there, then use it.")
@click.option(
    "--from",
    "back",
    metavar="URL",
    help="Copy the repository there into this clone, then use that.",
)
@click.option(
    "--repository",
    default="",
    metavar="NAME",
    help="Its name in the database; by default from the remote.",
)
@click.option(
    "--create", is_flag=True, help="Make tables, roles and the repository where they are missing."
)
@format_option()
def migrate(to: str | None, back: str | None, repository: str, create: bool, shape: str) -> None:
    """Move the store of this clone to a server, or back.

    Every table is copied and compared by number of rows and SHA-256 before the address changes. A
    copy that was killed goes on where it ended. What was there stays: in kl.db, or on the server.
    """
    ws = _person()
    if bool(to) == bool(back):
        raise UsageProblem("give either --to or --from.", place="kl store migrate")
    from kl_hooks.evidence.high_water import ledger_writer
    from kl_hooks.store.migration import move_from_server, move_to_server
    from kl_hooks.store.state import state_of_server
    from kl_hooks.store.store import Store
    from kl_hooks.workspace import open_workspace

    address = _address(ws, to or back or "", repository)
    if to and ws.store.address and ws.store.address.key == address.key:
        reason = (
            f"this clone uses that database already, repository {address.repository!r}: nothing is"
            " to be copied."
        )
        raise UsageProblem(reason, place=address.place, hint="See: kl store status")
    here = Store(ws.state, ws.store.schemas, ws.environ)
    local, shared = (
        ws.state.directory / "high-water",
        state_of_server(ws.state, address.key).high_water,
    )
    with _opened(ws, address, create) as (there, _):
        if not to:
            moved, place = move_from_server(here, there), str(ws.state.database)
            _copy_mark(shared, local)
            _switch(ws, None)
            if not local.exists():  # this clone only read there: its marks begin with the copy
                with ledger_writer(open_workspace(ws.root, environ=ws.environ), accept=True):
                    pass
        elif not ws.state.database.exists():
            raise UsageProblem(
                "nothing is stored in this clone.", place=str(ws.state.database), hint=_USE
            )
        else:
            moved, place = move_to_server(here, there), address.place
            _copy_mark(local, shared)
            _switch(ws, address)
    rows = sum(moved.rows.values())
    lines = [
        (
            f"{rows:,} rows of {len(moved.rows)} tables copied and compared: sha256"
            f" {moved.sha256[:16]}"
        ),
        f"evidence and records are stored in {place}",
    ]
    answer = {
        "schema": "kl.store.migrate/1",
        "place": place,
        "rows": moved.rows,
        "sha256": moved.sha256,
    }
    print_answer(shape, answer, lines)


@store.command(epilog="Example: kl store upgrade")
@format_option()
def upgrade(shape: str) -> None:
    """Make the tables that this version of kl needs and the server lacks. Needs the rights of the
    database's owner.
    """
    ws = _person()
    address = _used(ws)
    count = ws.store.upgrade_server()
    text = f"tables made or changed: {count}" if count else "the tables are up to date."
    print_answer(
        shape, {"schema": "kl.store.upgrade/1", "place": address.place, "tables": count}, [text]
    )


@store.command(epilog="Example: kl store grant alice writer")
@click.argument("name")
@click.argument("level", type=click.Choice(_LEVELS))
@format_option()
def grant(name: str, level: str, shape: str) -> None:
    """Let a role of the server read, write or administer this repository, or take that away (none).

    A writer adds evidence and changes records; only an admin removes evidence (kl maintain). The
    role itself is made by the server's administrator: CREATE ROLE alice LOGIN.
    """
    ws = _person()
    address = _used(ws)
    if not name.strip():
        raise UsageProblem("names no role of the server.", place="kl store grant")
    with ws.store.writing(what="granting access") as db, db.transaction():
        db.row("SELECT set_access(?, ?)", (name, _LEVELS.index(level)))
    plain = {
        "schema": "kl.store.grant/1",
        "repository": address.repository,
        "name": name,
        "level": level,
    }
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
        raise UsageProblem(
            "this clone uses no shared database.", place=str(ws.state.database), hint=_USE
        )
    return ws.store.address


def _address(ws: Workspace, url: str, repository: str) -> Address:
    """The address that is meant. UsageProblem where it is none, or the repository has no name."""
    from kl_hooks.git.identity import remote_name
    from kl_hooks.store.postgres import Address
    from kl_hooks.store.state import clone_id

    configured = ws.git_settings.kl.get("storerepository", "") if ws.git_settings else ""
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
        _git(ws, "config", "--local", "--unset-all", key, ok=(0, 5))
    if address:
        _git(ws, "config", "--local", "kl.storeRepository", address.repository)
        _git(ws, "config", "--local", "kl.store", address.url)


@contextmanager
def _opened(ws: Workspace, address: Address, create: bool) -> Iterator[tuple[Store, int]]:
    """The store there, and how many steps of tables were taken. EnvironmentProblem where it can't
    be used.
    """
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


_SHOWN = 20


@click.command(epilog="Example: kl sync --dry-run")
@click.option(
    "--remote", default="origin", show_default=True, help="A remote's name, path or address."
)
@click.option("--push", "only_push", is_flag=True, help="Only push.")
@click.option("--pull", "only_pull", is_flag=True, help="Only fetch and import.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="List the runs that would be written and pushed; change nothing.",
)
@click.option(
    "--sign",
    metavar="KEY",
    default="",
    help="Sign with this SSH key. Default: git config kl.signingKey.",
)
@click.option(
    "--receipts",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help=(
        "Publish the receipts of this file (of kl evidence export) that are about the commit"
        " checked out. May be repeated: one for each job of a matrix."
    ),
)
@format_option()
def sync(
    remote: str,
    only_push: bool,
    only_pull: bool,
    dry_run: bool,
    sign: str,
    files: tuple[Path, ...],
    shape: str,
) -> int:
    """Exchange evidence with other clones, by git notes on the contents that it is about.

    Names of tests and of what they executed, outcomes, versions and your producer name (user@host)
    leave this machine; messages, output and command lines do not. What comes in counts only where a
    key that you trust signed it (see: kl trust).

    Exit 1: something was refused, or the remote could not be reached.
    """
    from kl_hooks.evidence.ingestion import sync_evidence
    from kl_hooks.sharing.attestation import signing_key
    from kl_hooks.sharing.notes import share

    ws = workspace()
    read = [_read(file) for file in files]
    given = [one for receipts, _, _ in read for one in receipts] if files else None
    executed = {run: one for _, sets, _ in read for run, one in sets.items()}
    refused = [one for _, _, problems in read for one in problems]
    both = only_push == only_pull
    with progress("Exchanging evidence"):
        sync_evidence(ws)
        done = share(
            ws,
            remote,
            push=both or only_push,
            pull=both or only_pull,
            dry_run=dry_run,
            key=signing_key(ws, sign),
            receipts=given,
            executed=executed,
        )
    lines = _sync_lines(done, dry_run, pushing=both or only_push, pulling=both or only_pull)
    print_answer(shape, done.to_dict(), lines)
    for one in (*refused, *done.remarks):
        warn(one)
    return FINDINGS if done.remarks or done.refusals or refused else CLEAN


def _read(file: Path) -> tuple[list[Receipt], dict[str, Executed], list[str]]:
    """The receipts of a file, what their tests executed, and what is wrong with its other lines."""
    from kl_hooks.evidence.sources.receipts import read_executed_lines, read_lines
    from kl_hooks.hookspecs import FileOfEvidence
    from kl_hooks.model.problem import Problem

    whole = FileOfEvidence(str(file), read_given(file), "", "", None)
    found = list(read_lines(whole))
    problems = [str(one) for one in found if isinstance(one, Problem)]
    return (
        [one for one in found if not isinstance(one, Problem)],
        read_executed_lines(whole),
        problems,
    )


def _sync_lines(done: Shared, dry_run: bool, *, pushing: bool, pulling: bool) -> Iterator[str]:
    how = "would be written" if dry_run else f"written{' and signed' if done.signed else ''}"
    if pushing or done.added:
        yield (
            f"{counted(len(done.added), 'run')} {how} to the notes of {done.writer or 'this clone'}"
        )
    for one in done.added[-_SHOWN:]:
        tests = counted(len(one.evidence), "result")
        when = one.ended[:16].replace("T", " ")
        yield f"  {short(one.run, 8)}  {when}  {one.source:<7} {tests}  tree {short(one.tree, 7)}"
    if len(done.added) > _SHOWN:
        yield f"  and {len(done.added) - _SHOWN} older"
    if done.events:
        names = sorted(Counter(one.name for one in done.events).items())
        yield (
            f"{counted(len(done.events), 'event')} {how}:"
            f" {', '.join(f'{n} {name}' for name, n in names)}"
        )
    if (done.added or done.events) and not done.signed and not dry_run:
        yield (
            "they are not signed, so others will not count them: git config kl.signingKey KEY, then"
            " kl sync again"
        )
    if dry_run:
        return
    if done.pushed:
        yield f"pushed to {one_line(done.remote, 100)}"
    if pulling:
        events = (
            f" and {counted(done.imported_events, 'new event')}" if done.imported_events else ""
        )
        yield (
            f"{counted(done.imported, 'new run')}{events} of"
            f" {counted(len(done.writers), 'other writer')} imported"
        )
    if done.refusals:
        yield f"{counted(done.refusals, 'line')} refused:"
        yield from (f"  {one}" for one in done.refused)


_LONGEST_KEY = 1 << 16
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@click.group()
def trust() -> None:
    """The keys whose signatures make evidence of others count: add, list, remove, revoke.

    They are in your git configuration. A team's are in `.kl/trust`, which counts only as it is in a
    commit that you name: git config kl.trustRef origin/main, or kl verify --trust-ref origin/main.
    """


@trust.command(epilog="Example: kl trust add github --key ci.pub --role ci")
@click.argument("name")
@click.option(
    "--key",
    "file",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A public key of OpenSSH, such as id_ed25519.pub.",
)
@click.option("--role", type=click.Choice(["person", "ci"]), default="person", show_default=True)
@click.option(
    "--expires",
    metavar="DATE",
    default="",
    help="The last day (UTC) on which it counts, such as 2027-12-31.",
)
@click.option(
    "--team", is_flag=True, help="Write it to .kl/trust, for everybody, once it is merged."
)
@format_option()
def add(name: str, file: Path, role: str, expires: str, team: bool, shape: str) -> None:
    """Trust a public key from now on, under NAME."""
    from kl_hooks.sharing.attestation import TRUST_FILE, fingerprint, public_key

    ws = _workspace()
    if ws.git_settings and ws.git_settings.kl.get(f"trust.{name}.revoked") and not team:
        raise UsageProblem(
            "this key is revoked.",
            place=name,
            hint=f"Take another name, or: kl trust remove {name}",
        )
    try:
        with file.open("rb") as opened:  # a key is short; a device has no end
            text = opened.read(_LONGEST_KEY).decode("utf-8", "replace")
        key = public_key(text)
    except ValueError as problem:
        private = "PRIVATE KEY" in text
        hint = f"Give the public key: {file}.pub" if private else ""
        raise UsageProblem(f"{problem}.", place=str(file), hint=hint) from None
    line = _checked(ws, name, role, key, expires)
    if team:
        _append(ws.root / TRUST_FILE, line)
        how = (
            f"added to {TRUST_FILE}. It counts once it is in the commit that you trust (git config"
            " kl.trustRef)."
        )
        _print_change(shape, name, "added", how)
        return
    # the key last: killed before it, nothing is trusted; killed after it, nothing of what limits it
    # is missing
    values = ({"validBefore": f"{expires}T23:59:59Z"} if expires else {}) | {
        "role": role,
        "key": key,
    }
    for word, value in values.items():
        _git(ws, "config", "--local", f"kl.trust.{name}.{word}", value)
    _print_change(shape, name, "added", f"{name} ({role}) is trusted here: {fingerprint(key)}")


@trust.command("list", epilog="Example: kl trust list --trust-ref origin/main")
@click.option(
    "--trust-ref", metavar="REF", default="", help="Also the keys of .kl/trust in this commit."
)
@format_option()
def list_(trust_ref: str, shape: str) -> None:
    """List the trusted keys, and where each is configured."""
    from kl_hooks.sharing.attestation import trusted_keys

    found = trusted_keys(workspace(), trust_ref)
    keys = sorted(found.keys.values(), key=lambda one: (one.name, one.fingerprint))
    plain = {
        "schema": "kl.trust.list/1",
        "keys": [_key_to_dict(one) for one in keys],
        "problems": [str(one) for one in found.problems],
        "total": len(keys),
    }
    none = "no key is trusted: evidence of others never counts. See: kl trust add --help"
    print_list(shape, plain, list(_key_lines(keys)), len(keys), none)
    for one in found.problems:
        warn(str(one))


@trust.command(epilog="Example: kl trust remove github")
@click.argument("name")
@format_option()
def remove(name: str, shape: str) -> None:
    """Remove a key from your git configuration: what it signed counts no more."""
    ws = _workspace()
    _known(ws, name)
    _git(ws, "config", "--local", "--remove-section", f"kl.trust.{name}")
    _print_change(shape, name, "removed", f"{name} is not trusted any more.")


@trust.command(epilog="Example: kl trust revoke github")
@click.argument("name")
@format_option()
def revoke(name: str, shape: str) -> None:
    """Mark a key as revoked: what it signed counts no more, also where .kl/trust still names it."""
    ws = _workspace()
    _known(ws, name)
    _git(ws, "config", "--local", f"kl.trust.{name}.revoked", "true")
    _print_change(shape, name, "revoked", f"{name} is revoked.")


def _print_change(shape: str, name: str, what: str, line: str) -> None:
    print_answer(shape, {"schema": "kl.trust.change/1", "name": name, "change": what}, [line])


def _workspace() -> Workspace:
    ws = workspace()
    if ws.repo is None:
        raise EnvironmentProblem(
            "not a git repository.", place=str(ws.root), hint="Keys are in git's configuration."
        )
    # whom to trust decides what is proven: that is a person's decision
    if name := agent(ws.environ):
        raise UsageProblem("only a person decides whom to trust.", place=f"agent:{name}")
    return ws


def _known(ws: Workspace, name: str) -> None:
    if ws.git_settings is None or f"trust.{name}.key" not in ws.git_settings.kl:
        raise UsageProblem(
            "no key of this name is in your git configuration.",
            place=name,
            hint="See: kl trust list",
        )


def _checked(ws: Workspace, name: str, role: str, key: str, expires: str) -> str:
    """The line of allowed_signers. UsageProblem where a part of it is of no use."""
    from kl_hooks.clock import iso
    from kl_hooks.sharing.attestation import NAMESPACE, TrustedKey, read_signer

    if expires and not _DAY.fullmatch(expires):
        raise UsageProblem("give a date such as 2027-12-31.", place=f"--expires {expires}")
    if expires and expires < iso(ws.clock.now())[:10]:
        raise UsageProblem(
            "that is in the past: the key would never count.", place=f"--expires {expires}"
        )
    before = f',valid-before="{expires.replace("-", "")}235959Z"' if expires else ""
    line = f'{role}:{name} namespaces="{NAMESPACE}"{before} {key}'
    found = read_signer("kl trust add", 1, line)
    if not isinstance(found, TrustedKey):
        raise UsageProblem(
            found.message,
            place=name,
            hint="A name has letters, digits, - and _; a date is 2027-12-31.",
        )
    return line


def _append(path: Path, line: str) -> None:
    from kl_hooks.store.files import write_atomic

    before = (
        path.read_bytes()
        if path.exists()
        else b"# Keys that vouch for evidence, as ssh's allowed_signers.\n"
    )
    path.parent.mkdir(exist_ok=True)
    gap = b"" if before.endswith(b"\n") else b"\n"
    write_atomic(path, before + gap + f"{line}{os.linesep}".encode())


def _key_to_dict(one: TrustedKey) -> dict[str, Any]:
    return {
        "name": one.name,
        "role": one.role,
        "fingerprint": one.fingerprint,
        "key": one.key,
        "place": one.place,
        "revoked": one.revoked,
        "origin": one.origin,
    }


def _key_lines(keys: list[TrustedKey]) -> Iterator[str]:
    from kl_hooks.clock import iso

    for one in keys:
        until = f"  until {iso(one.valid_before)[:10]}" if one.valid_before else ""
        yield (
            f"{one.name:<16} {one.role:<7} {one.fingerprint} "
            f" {one.place}{until}{'  revoked' if one.revoked else ''}"
        )
