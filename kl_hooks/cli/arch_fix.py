"""`kl arch fix`: fix the violations that can be fixed without a change of meaning."""

from __future__ import annotations

from pathlib import Path

import click

from kl_hooks.cli.common import format_option, note, say_json, say_line, workspace
from kl_hooks.cli.paths import from_top


@click.command(epilog="Example: kl arch fix --dry-run src/shop/core/")
@click.argument("paths", nargs=-1, metavar="[FILE]...")
@click.option("--dry-run", is_flag=True, help="Show what would change; write nothing.")
@click.option("--accepted", is_flag=True, help="Also fix what the baseline accepts.")
@format_option()
def fix(paths: tuple[str, ...], dry_run: bool, accepted: bool, shape: str) -> int:
    """Fix forbidden imports in FILEs and folders on disk (none given: everywhere), where that changes no behavior.

    An import that nothing uses is dropped. One that only annotations use is moved under `if TYPE_CHECKING:`, where the
    manifest ignores such imports. Whatever may be noticed at run time stays, and the reason is shown, as is the diff.
    What an exception or the baseline accepts is left alone.

    Exit 0: nothing is left to fix. 1: violations are left (or would be fixed: --dry-run). 2: a bad manifest.
    """
    from kl_hooks.arch.fixing.mend import mend
    from kl_hooks.arch.fixing.report import SCHEMA, plain, text

    ws = workspace()
    top = Path(ws.repo.top if ws.repo else ws.root)
    done = mend(ws, [from_top(path, top) for path in paths], not dry_run, accepted)
    if done is None:
        if shape == "json":
            empty: dict[str, object] = {key: [] for key in ("files", "fixed", "left", "problems")}
            say_json({"schema": SCHEMA, "written": not dry_run, "accepted": 0, **empty})
        else:
            say_line("no .kl/architecture.yaml in this repository - nothing to enforce. Create one with: kl init")
        return 0
    for remark in done.notes:
        note(remark)
    if shape == "json":
        say_json(plain(done.outcome, done.unread, not dry_run, done.accepted))
    else:
        for line in text(done.outcome, done.unread, not dry_run, done.accepted):
            say_line(line)
    return 0 if done.clean and not (dry_run and done.outcome.fixed) else 1
