"""What expired long ago leaves the state, words and all; what was refused stays; a hashed id may
come back.
"""

from __future__ import annotations

import json

import pytest

from kl_hooks.clock import DAY
from kl_hooks.records.events import list_events
from kl_hooks.records.query import RecordFilter, get_record, list_records
from kl_hooks.records.write import apply_verb as verb
from kl_hooks.records.write import change_record, create_record, delete_record
from kl_hooks.upkeep.run import apply_policies, preview
from kl_hooks.workspace import Workspace
from tests.support import NOW, Checkout, sql

pytestmark = pytest.mark.both_databases

ONLY = ("expired records",)


def finding(ws: Workspace, entity: str, expires: str = "") -> str:
    raw = {
        "title": entity,
        "entity": entity,
        "finding": "zebra",
        "expires": expires,
        "authority": "agent",
    }
    return create_record(ws, ws.kinds["finding"], raw).id


@pytest.mark.requirement("C6")
def test_it_is_found_by_nobody_when_it_expires_and_purged_thirty_days_later(repo: Checkout) -> None:
    removed = finding(repo.workspace(), "a.py")
    ws = repo.workspace(now=NOW + 91 * DAY)
    assert list_records(ws, RecordFilter(("finding",))) == []
    assert apply_policies(ws, ONLY).changes == ()
    later = repo.workspace(now=NOW + 122 * DAY)
    assert [(one.what, one.id) for one in preview(later, ONLY).changes] == [("purge", removed)]
    assert len(list_records(later, RecordFilter(expired=True))) == 1, "looking purges nothing"
    apply_policies(later, ONLY)
    assert list_records(later, RecordFilter(expired=True, archived=True)) == []
    assert b"zebra" not in repo.stored().replace(b"\0", b"") or _free_pages_only(repo)
    assert apply_policies(later, ONLY).changes == ()
    assert [(one.name, one.record) for one in list_events(later, removed)][-2:] == [
        ("upkeep", removed),
        ("purged", removed),
    ]


def _free_pages_only(repo: Checkout) -> bool:
    """No row holds the word any more (a freed page of the file may)."""
    sql(repo.state / "kl.db", "VACUUM")
    return b"zebra" not in repo.stored()


def test_what_never_ends_and_what_was_refused_stays(repo: Checkout) -> None:
    ws = repo.workspace()
    finding(ws, "kept.py", "9999-12-31")
    memory = create_record(
        ws, ws.kinds["memory"], {"title": "x", "pattern": "Use x.", "authority": "auto"}
    )
    verb(ws, memory.id, "reject", {"reason": "trivia"})
    later = repo.workspace(now=NOW + 4000 * DAY)
    assert preview(later, ONLY).changes == ()


def test_an_item_known_by_its_words_can_be_added_again(repo: Checkout) -> None:
    ws = repo.workspace()
    first = finding(ws, "a.py")
    delete_record(ws, get_record(ws, first))
    assert finding(ws, "a.py") == first
    assert [one.id for one in list_records(ws, RecordFilter(("finding",)))] == [first]


def test_versions_go_with_it(repo: Checkout) -> None:
    ws = repo.workspace()
    change_record(ws, get_record(ws, finding(ws, "a.py")), {"tool": "Read"})
    apply_policies(repo.workspace(now=NOW + 200 * DAY), ONLY)
    with ws.store.reading() as db:
        assert db is not None
        assert db.rows("SELECT * FROM record_version") == []
        assert [json.loads(body) for (body,) in db.rows("SELECT body FROM record")] == [{}]


@pytest.mark.requirement("C6")
def test_the_file_of_an_expired_memory_goes_too_and_only_with_a_person_looking(
    repo: Checkout,
) -> None:
    from kl_hooks.upkeep.run import UNATTENDED

    ws = repo.workspace()
    raw = {"title": "x", "pattern": "Use x.", "authority": "agent", "status": "approved"}
    made = create_record(ws, ws.kinds["memory"], raw)
    assert made.path and (repo.root / made.path).is_file()
    for days, removed in ((91, 0), (119, 0), (121, 1)):
        assert (
            len(preview(repo.workspace(now=NOW + days * DAY), ("expired files",)).changes)
            == removed
        ), days
    later = repo.workspace(now=NOW + 121 * DAY)
    assert apply_policies(later, UNATTENDED).changes == () and (repo.root / made.path).is_file()
    apply_policies(later, ("expired files",))
    assert (
        not (repo.root / made.path).exists()
        and list_records(later, RecordFilter(expired=True)) == []
    )
    assert apply_policies(later, ("expired files",)).changes == ()
