"""What the verbs of `kl task` share: the works to plan, from records or a file, and what is there already."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kl_hooks.cli.common import note
from kl_hooks.errors import UsageProblem

if TYPE_CHECKING:
    from kl_hooks.kinds.task import Work
    from kl_hooks.workspace.open import Workspace


def works_of(ws: Workspace, path: str | None) -> tuple[list[Work], dict[str, str], set[str]]:
    """(the works, name → title, names of those that are done): of a file, or of the tasks on record."""
    from kl_hooks.kinds.task import invalid_tokens, read_works, work_of
    from kl_hooks.records.query import RecordFilter, list_records

    if path:
        from kl_hooks.config.files import read_small

        data = read_small(Path(path))
        if data is None:
            raise UsageProblem("there is no such file.", place=path)
        return read_works(path, data), {}, set()
    records = list_records(ws, RecordFilter(("task",)))
    for record in records:
        for wrong in invalid_tokens(record):
            note(f"{record.id}: {wrong}. It counts for nothing. See: kl task edit {record.id}")
    done = {record.id for record in records if record.status == "done"}
    return [work_of(record) for record in records], {record.id: record.title for record in records}, done


def there_of(ws: Workspace, works: list[Work], done: set[str]) -> frozenset[str]:
    """The tokens that are there: on disk, in the code, said to be, or produced by what is done."""
    from kl_hooks.kinds.task import available_tokens, fulfilled_tokens

    wanted = list(dict.fromkeys(one for work in works for one in work.requires))
    return fulfilled_tokens(works, done, available_tokens(ws, wanted))
