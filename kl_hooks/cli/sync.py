"""`kl sync`: evidence to and from other clones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kl_hooks.cli.options import format_option
from kl_hooks.cli.output import counted, print_answer, progress, short, warn, workspace
from kl_hooks.errors import CLEAN, FINDINGS
from kl_hooks.model.text import one_line
from kl_hooks.store.files import read_given

if TYPE_CHECKING:
    from kl_hooks.evidence.executed import Executed
    from kl_hooks.evidence.notes import Shared
    from kl_hooks.model.receipt import Receipt

_SHOWN = 20


@click.command(epilog="Example: kl sync --dry-run")
@click.option("--remote", default="origin", show_default=True, help="A remote's name, path or address.")
@click.option("--push", "only_push", is_flag=True, help="Only push.")
@click.option("--pull", "only_pull", is_flag=True, help="Only fetch and import.")
@click.option("--dry-run", is_flag=True, help="List the runs that would be written and pushed; change nothing.")
@click.option("--sign", metavar="KEY", default="", help="Sign with this SSH key. Default: git config kl.signingKey.")
@click.option(
    "--receipts",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Publish the receipts of this file (of kl evidence export) that are about the commit checked out. May be "
    "repeated: one for each job of a matrix.",
)
@format_option()
def sync(
    remote: str, only_push: bool, only_pull: bool, dry_run: bool, sign: str, files: tuple[Path, ...], shape: str
) -> int:
    """Exchange evidence with other clones, by git notes on the contents that it is about.

    Names of tests and of what they executed, outcomes, versions and your producer name (user@host) leave this machine;
    messages, output and command lines do not. What comes in counts only where a key that you trust signed it (see:
    kl trust).

    Exit 1: something was refused, or the remote could not be reached.
    """
    from kl_hooks.evidence.attestation import signing_key
    from kl_hooks.evidence.ingestion import sync_evidence
    from kl_hooks.evidence.notes import share

    ws = workspace()
    read = [_read(file) for file in files]
    given = [one for receipts, _, _ in read for one in receipts] if files else None
    executed = {run: one for _, sets, _ in read for run, one in sets.items()}
    refused = [one for _, _, problems in read for one in problems]
    both = only_push == only_pull
    with progress("Exchanging evidence"):
        sync_evidence(ws)
        done = share(
            ws, remote, push=both or only_push, pull=both or only_pull, dry_run=dry_run, key=signing_key(ws, sign),
            receipts=given, executed=executed,
        )  # fmt: skip
    lines = _lines(done, dry_run, pushing=both or only_push, pulling=both or only_pull)
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
    return [one for one in found if not isinstance(one, Problem)], read_executed_lines(whole), problems


def _lines(done: Shared, dry_run: bool, *, pushing: bool, pulling: bool) -> Iterator[str]:
    how = "would be written" if dry_run else f"written{' and signed' if done.signed else ''}"
    if pushing or done.added:
        yield f"{counted(len(done.added), 'run')} {how} to the notes of {done.writer or 'this clone'}"
    for one in done.added[-_SHOWN:]:
        tests = counted(len(one.evidence), "result")
        when = one.ended[:16].replace("T", " ")
        yield f"  {short(one.run, 8)}  {when}  {one.source:<7} {tests}  tree {short(one.tree, 7)}"
    if len(done.added) > _SHOWN:
        yield f"  and {len(done.added) - _SHOWN} older"
    if done.events:
        names = sorted(Counter(one.name for one in done.events).items())
        yield f"{counted(len(done.events), 'event')} {how}: {', '.join(f'{n} {name}' for name, n in names)}"
    if (done.added or done.events) and not done.signed and not dry_run:
        yield "they are not signed, so others will not count them: git config kl.signingKey KEY, then kl sync again"
    if dry_run:
        return
    if done.pushed:
        yield f"pushed to {one_line(done.remote, 100)}"
    if pulling:
        events = f" and {counted(done.imported_events, 'new event')}" if done.imported_events else ""
        yield f"{counted(done.imported, 'new run')}{events} of {counted(len(done.writers), 'other writer')} imported"
    if done.refusals:
        yield f"{counted(done.refusals, 'line')} refused:"
        yield from (f"  {one}" for one in done.refused)
