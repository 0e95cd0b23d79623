"""`kl evidence list · show · import · export · verify`."""

from __future__ import annotations

from pathlib import Path

import click

from kl_hooks.cli.common import counted, format_option, note, say, say_json, workspace
from kl_hooks.cli.reading import ledger_open
from kl_hooks.cli.receipts import describe, line
from kl_hooks.errors import UsageProblem
from kl_hooks.model.text import one_line


@click.group()
def evidence() -> None:
    """Receipts: what was run, on which tree, with which outcomes."""


@evidence.command("list", epilog="Example: kl evidence list --source pytest --limit 5")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 10_000), help="Most receipts shown.")
@click.option("--source", help="Only of this source: pytest, command, commits, junit, arch, claim.")
@format_option()
def list_(limit: int, source: str | None, shape: str) -> None:
    """The newest receipts, newest first."""
    from kl_hooks.evidence.ledger import recent

    with ledger_open(workspace()) as db:
        entries = recent(db, limit, source) if db else []
    if shape == "json":
        say_json({"schema": "kl.evidence.list/1", "receipts": [e.receipt.plain() for e in entries]})
    elif not entries:
        nothing = "no evidence yet. Run your tests with pytest, or a command with: kl run -- COMMAND"
        say(f"no evidence of source {one_line(repr(source))}. See: kl evidence list" if source else nothing)
    for entry in entries if shape == "text" else ():
        say(line(entry))


@evidence.command(epilog="Example: kl evidence show 3f9a1c2b, or: kl evidence show tests/test_shop.py")
@click.argument("id")
@format_option()
def show(id: str, shape: str) -> None:
    """One receipt, by the first digits of its id or its run, or what is known about a file or a test."""
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
    """Take in FILE with READER: `junit`, or `receipts` (what export wrote)."""
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
    """All receipts as JSON lines, oldest first."""
    from kl_hooks.evidence.ledger import recent
    from kl_hooks.evidence.sources.receipts import to_lines
    from kl_hooks.store.atomic import write_atomic

    with ledger_open(workspace()) as db:
        entries = recent(db, 1_000_000) if db else []
    lines = list(to_lines(e.receipt for e in reversed(entries) if not e.folded))
    if folded := len(entries) - len(lines):
        note(f"{counted(folded, 'receipt')} left out: upkeep folded them, and nobody could check what is left.")
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
    from kl_hooks.store import high_water

    ws = workspace()
    with ledger_open(ws) as db:
        done = audit(db, high_water.read(ws.state.high_water))
    if shape == "json":
        say_json(plain_audit(done))
    for text in audit_lines(done) if shape == "text" else ():
        say(text)
    return 1 if done.problems else 0
