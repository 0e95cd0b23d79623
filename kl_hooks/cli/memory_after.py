"""What the commands of memory share: the record that is meant, and what is said when it was changed."""

from __future__ import annotations

from kl_hooks.cli.common import note, say, say_json, workspace
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.records.query import record_to_dict


def meant(identifier: str) -> Record:
    """The memory of this id. UsageProblem where there is none."""
    from kl_hooks.records.query import get_record

    return get_record(workspace(), identifier, "memory")


def told(record: Record, done: str = "", shape: str = "text") -> None:
    """Says what a memory is now, in a line or two or as JSON, and brings MEMORY.md up to it."""
    from kl_hooks.cli.kind_new import note_proposal

    if shape == "json":
        say_json(record_to_dict(workspace(), record) | {"done": done or record.status})
        listed()
        return
    say(f"{record.id}  {done or record.status}  {one_line(record.title, 120)}")
    if record.path:
        say(f"    {record.path}")
    note_proposal(record)
    if record.text("quarantine"):
        note(f"{record.id} is held back until a person has read it: {record.text('quarantine')}.")
    listed()


def listed() -> None:
    """Brings MEMORY.md up to date."""
    from kl_hooks.kinds.memory.page import write_page

    if trouble := write_page(workspace()):
        note(trouble)
