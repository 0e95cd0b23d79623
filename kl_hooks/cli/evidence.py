"""`kl evidence list · show · import · export · verify · accept`."""

from __future__ import annotations

from pathlib import Path

import click

from kl_hooks.cli.common import counted, format_option, note, say, say_json, workspace
from kl_hooks.cli.reading import ledger_open
from kl_hooks.cli.receipts import describe, line
from kl_hooks.errors import UsageProblem
from kl_hooks.model.actors import agent
from kl_hooks.model.text import one_line


@click.group()
def evidence() -> None:
    """Receipts: what was run, on which tree, with which outcomes."""


@evidence.command("list", epilog="Example: kl evidence list --source pytest --limit 5")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 10_000), help="Most receipts shown.")
@click.option("--source", help="Only of this source: pytest, command, commits, junit, arch, claim.")
@click.option("--all", "everything", is_flag=True, help="Also runs that ran no test: --collect-only, usage errors.")
@format_option()
def list_(limit: int, source: str | None, everything: bool, shape: str) -> None:
    """List the newest receipts, newest first."""
    from kl_hooks.evidence.ledger import listing

    with ledger_open(workspace()) as db:
        entries, total, hidden = listing(db, limit, source, everything=everything) if db else ([], 0, 0)
    if shape == "json":
        receipts = [e.receipt.plain() for e in entries]
        say_json({"schema": "kl.evidence.list/1", "receipts": receipts, "total": total, "hidden": hidden})
        return
    for entry in entries:
        say(line(entry))
    if not entries and not hidden:
        nothing = "no evidence yet. Run your tests with pytest, or a command with: kl run -- COMMAND"
        say(f"no evidence of source {one_line(repr(source))}. See: kl evidence list" if source else nothing)
    if total > len(entries):
        say(f"… and {total - len(entries)} more: --limit {total}")
    if hidden:
        say(f"{counted(hidden, 'run')} without tests (--collect-only, usage errors) not shown: --all")


@evidence.command(epilog="Example: kl evidence show 3f9a1c2b, or: kl evidence show tests/test_shop.py")
@click.argument("id")
@format_option()
def show(id: str, shape: str) -> None:
    """Show one receipt, by the first digits of its run ID, or what is known about a file or a test."""
    from kl_hooks.cli.known import say_known
    from kl_hooks.evidence.ledger import find

    ws = workspace()
    with ledger_open(ws) as db:
        if db is None:
            raise click.UsageError("there is no evidence yet. Run your tests with pytest first.")
        try:
            entry = find(db, id)
        except UsageProblem:
            if say_known(ws, db, id, shape):
                return
            raise
    if shape == "json":
        say_json(entry.receipt.plain())
    for text in describe(entry) if shape == "text" else ():
        say(text)


@evidence.command("import", epilog="Example: kl evidence import junit report.xml --tree $(git rev-parse 'HEAD^{tree}')")
@click.argument("reader")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--tree", help="Git tree id it ran on; without it the results never count as hard evidence.")
def import_(reader: str, file: Path, tree: str | None) -> int:
    """Import FILE with READER: `junit`, or `receipts` (what export wrote)."""
    from kl_hooks.evidence.imports import import_file

    if tree is not None and (len(tree) not in (40, 64) or set(tree) - set("0123456789abcdef")):
        raise click.UsageError(f"--tree {tree}: not a full git tree id. Try: git rev-parse 'HEAD^{{tree}}'")
    done = import_file(workspace(), reader, str(file), file.read_bytes(), tree)
    for problem in done.problems:
        note(str(problem))
    say(f"{done.new} new, {done.known} known already, {len(done.problems)} refused.")
    return 1 if done.problems else 0


@evidence.command(epilog="Example: kl evidence export -o receipts.jsonl")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="A file instead of stdout.")
def export(output: Path | None) -> None:
    """Write all receipts as JSON lines, oldest first."""
    from kl_hooks.evidence.ledger import recent
    from kl_hooks.evidence.sources.receipts import to_lines
    from kl_hooks.store.atomic import write_atomic

    with ledger_open(workspace()) as db:
        entries = recent(db, 1_000_000) if db else []
    lines = list(to_lines(e.receipt for e in reversed(entries) if not e.folded))
    if folded := len(entries) - len(lines):
        note(f"{counted(folded, 'receipt')} omitted: compacted by upkeep, so nobody could check them.")
    text = "".join(f"{one}\n" for one in lines)
    if output:
        write_atomic(output, text.encode())
        note(f"{len(lines)} receipts written to {output}.")
    else:
        click.echo(text, nl=False)


@evidence.command(epilog="Example: kl evidence verify")
@format_option()
def verify(shape: str) -> int:
    """Check the hash chain over all receipts, and say what that proves and what it does not."""
    from kl_hooks.cli.audits import audit_lines, plain_audit
    from kl_hooks.evidence.audit import audit
    from kl_hooks.evidence.mark import read_marks
    from kl_hooks.proof.snapshot import accepted

    ws = workspace()
    marks = read_marks(ws)
    with ledger_open(ws) as db:
        done = audit(db, marks)
    events = accepted(ws)
    if shape == "json":
        say_json(plain_audit(done, events))
    for text in audit_lines(done, events) if shape == "text" else ():
        say(text)
    return 1 if done.problems else 0


@evidence.command(epilog='Example: kl evidence accept --reason "kl.db restored from the backup of Monday"')
@click.option("--reason", required=True, help="Why receipts are missing. It is kept with the date and your name.")
@format_option()
def accept(reason: str, shape: str) -> int:
    """Accept a store that has lost receipts, so that `kl verify` answers again.

    For an older copy of kl.db that was put back, or one that was deleted. The reason is recorded as an event, which
    `kl doctor` and `kl evidence verify` list.
    """
    from kl_hooks.proof.snapshot import accept as accept_loss

    if not reason.strip():
        raise click.UsageError("--reason: say why receipts are missing.")
    ws = workspace()
    if name := agent(ws.environ):
        raise UsageProblem("only a person accepts a store that lost receipts.", place=f"agent:{name}")
    lost = accept_loss(ws, reason.strip())
    if shape == "json":
        say_json({"schema": "kl.evidence.accept/1", "accepted": [one.to_dict() for one in lost]})
    for one in lost if shape == "text" else ():
        say(f"accepted: {one}")
    if not lost and shape == "text":
        say("nothing to accept: no receipts are missing.")
    return 0
