"""`kl store · sync · trust`: a team's database, evidence of other clones, and whose signatures
count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import click

from kl_hooks.cli.output import counted, echo, echo_lines, print_rows, short
from kl_hooks.cli.request_options import operation_command
from kl_hooks.clock import iso
from kl_hooks.errors import CLEAN, ENVIRONMENT_ERROR, FINDINGS
from kl_hooks.model.text import one_line
from kl_hooks.operations import store as stores
from kl_hooks.operations import trust as trusts
from kl_hooks.operations.sync import SYNC, Synced, SyncRequest

_SHOWN: Final = 20


@click.group()
def store() -> None:
    """Where evidence and records are stored: in this clone, or in a PostgreSQL database that a team
    shares.

    The address is in this clone's git configuration, without a password: libpq reads it from
    PGPASSWORD, ~/.pgpass or a service file. Runs of tests are written to this clone first, and wait
    there while the server is away.
    """


@operation_command(stores.USE, group=store)
def use(used: stores.UsedStore, _request: stores.UseRequest) -> None:
    """Print which database is used."""
    if used.repository is not None:
        repository = f", repository {used.repository}"
    else:
        repository = ""
    echo(f"evidence and records are stored in {used.place}{repository}")
    if used.tables:
        echo(f"tables made or changed: {used.tables}")
    if used.has_local_data:
        echo(
            "hint: what this clone has recorded is not there. To copy it first: kl store migrate"
            " --to URL"
        )


def _status_code(status: stores.StoreStatus, _request: stores.StatusRequest) -> int:
    if status.problem:
        return ENVIRONMENT_ERROR
    return CLEAN


@operation_command(stores.STATUS, group=store, exit_code=_status_code)
def store_status(status: stores.StoreStatus, _request: stores.StatusRequest) -> None:
    """Print where the store is, and what is in it."""
    echo(f"store    {status.place}")
    if status.repository:
        access = status.access or "unknown"
        echo(f"         repository {status.repository}, you are: {access}")
    if status.members:
        members = (f"{name} {level}" for name, level in status.members.items())
        echo(f"access   {', '.join(members)}")
    if status.problem:
        echo(f"problem  {status.problem}")
    rows = ", ".join(f"{number:,} {word}" for word, number in status.rows.items() if number)
    echo(f"holds    {rows or 'nothing yet'}")
    if status.milliseconds is not None and status.repository:
        echo(f"answered in {status.milliseconds} ms")
    if status.waiting:
        until = "imported by the next command that reads evidence"
        if status.access == "reader":
            until = "you may only read here. An administrator runs: kl store grant NAME writer"
        echo(f"waiting  {counted(status.waiting, 'capture')} in the spool; {until}")


@operation_command(stores.MIGRATE, group=store)
def migrate(moved: stores.Migrated, _request: stores.MigrateRequest) -> None:
    """Print what was copied."""
    rows = sum(moved.rows.values())
    digest = moved.sha256[:16]
    echo(f"{rows:,} rows of {len(moved.rows)} tables copied and compared: sha256 {digest}")
    echo(f"evidence and records are stored in {moved.place}")


@operation_command(stores.UPGRADE, group=store)
def upgrade(upgraded: stores.Upgraded, _request: stores.UpgradeRequest) -> None:
    """Print how many tables changed."""
    number = upgraded.tables
    echo(f"tables made or changed: {number}" if number else "the tables are up to date.")


@operation_command(stores.GRANT, group=store)
def store_grant(granted: stores.Granted, _request: stores.GrantRequest) -> None:
    """Print what a role may do."""
    echo(f"{granted.name} is now: {granted.level}, in repository {granted.repository}")


def _sync_code(synced: Synced, _request: SyncRequest) -> int:
    if synced.is_complete:
        return CLEAN
    return FINDINGS


@operation_command(SYNC, exit_code=_sync_code)
def sync(synced: Synced, request: SyncRequest) -> None:
    """Print what was exchanged."""
    echo_lines(_sync_lines(synced, request))


def _sync_lines(synced: Synced, request: SyncRequest) -> Iterator[str]:
    exchange = synced.exchange
    runs = exchange["added"]
    events = exchange["events"]
    verb = f"written{' and signed' if exchange['signed'] else ''}"
    if request.dry_run:
        verb = "would be written"
    if request.is_pushing or runs:
        writer = exchange["writer"] or "this clone"
        yield f"{counted(len(runs), 'run')} {verb} to the notes of {writer}"
    for run in runs[-_SHOWN:]:
        tests = counted(run["tests"], "result")
        when = run["at"][:16].replace("T", " ")
        source = run["source"]
        tree = short(run["tree"], 7)
        yield f"  {short(run['run'], 8)}  {when}  {source:<7} {tests}  tree {tree}"
    if len(runs) > _SHOWN:
        yield f"  and {len(runs) - _SHOWN} older"
    if events:
        names = Counter(event["name"] for event in events)
        kinds = ", ".join(f"{number} {name}" for name, number in sorted(names.items()))
        yield f"{counted(len(events), 'event')} {verb}: {kinds}"
    if request.dry_run:
        return
    if (runs or events) and not exchange["signed"]:
        yield (
            "they are not signed, so others will not count them: git config kl.signingKey KEY, then"
            " kl sync again"
        )
    if exchange["pushed"]:
        yield f"pushed to {one_line(exchange['remote'], 100)}"
    if request.is_pulling:
        number = exchange["imported_events"]
        if number:
            imported = f" and {counted(number, 'new event')}"
        else:
            imported = ""
        writers = counted(len(exchange["writers"]), "other writer")
        yield f"{counted(exchange['imported'], 'new run')}{imported} of {writers} imported"
    if exchange["refusals"]:
        yield f"{counted(exchange['refusals'], 'line')} refused:"
        yield from (f"  {line}" for line in exchange["refused"])


@click.group()
def trust() -> None:
    """The keys whose signatures make evidence of others count: add, list, remove, revoke.

    They are in your git configuration. A team's are in `.kl/trust`, which counts only as it is in a
    commit that you name: git config kl.trustRef origin/main, or kl verify --trust-ref origin/main.
    """


def _print_change(change: trusts.Change, _request: trusts.AddRequest | trusts.KeyRequest) -> None:
    echo(change.line)


operation_command(trusts.ADD, group=trust)(_print_change)


@operation_command(trusts.LIST, group=trust)
def trust_list(trusted_keys: trusts.Keys, _request: trusts.ListRequest) -> None:
    """Print the trusted keys."""
    rows = []
    for key in trusted_keys.keys:
        if key.valid_before:
            until = f"  until {iso(key.valid_before)[:10]}"
        else:
            until = ""
        revoked = "  revoked" if key.revoked else ""
        rows.append(f"{key.name:<16} {key.role:<7} {key.fingerprint}  {key.place}{until}{revoked}")
    none = "no key is trusted: evidence of others never counts. See: kl trust add --help"
    print_rows(rows, len(rows), none)


operation_command(trusts.REMOVE, group=trust)(_print_change)
operation_command(trusts.REVOKE, group=trust)(_print_change)
