"""Says which records a command left out because nothing describes their kind any more."""

from __future__ import annotations

from kl_hooks.cli.common import counted, note
from kl_hooks.workspace.open import Workspace


def say_left_out(ws: Workspace) -> None:
    """A line on stderr for each kind, or folder, whose records nobody can read today, with what to do."""
    from kl_hooks.records.query import UNKNOWN_KIND_HINT, files_of_unknown_kinds, rows_of_unknown_kinds

    for kind, number in rows_of_unknown_kinds(ws).items():
        are = "is" if number == 1 else "are"
        note(
            f"{counted(number, 'record')} of the kind {kind} {are} left out: nothing describes it. "
            + UNKNOWN_KIND_HINT.format(kind)
        )
    for place, number in files_of_unknown_kinds(ws).items():
        are = "is" if number == 1 else "are"
        mend = "Mend the file of the kind in .kl/kinds/, or bring it back."
        note(f"{counted(number, 'record')} in {place} {are} left out: no kind has this folder. {mend}")
