"""Records made, changed, deleted: in the right place, whole or not at all, with ids that never come
back.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from kl_hooks.clock import iso
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.model.kind import Field
from kl_hooks.model.problem import Problems
from kl_hooks.records.events import list_events
from kl_hooks.records.query import (
    RecordFilter,
    get_record,
    list_records,
    past_versions,
    supersession_chain,
)
from kl_hooks.records.repository import FileChanges
from kl_hooks.records.write import (
    apply_verb,
    change_record,
    create_record,
    create_records,
    delete_record,
    supersede,
)
from kl_hooks.workspace import Workspace
from tests.support import NOW, Checkout

from .conftest import FILED, STORED

pytestmark = pytest.mark.both_databases

RULING = {"title": "Use tabs", "ruling": "Tabs."}
LESSON = {"title": "Umlauts", "pattern": "Names with umlauts need UTF-8."}


def test_a_file_is_named_by_its_id_and_title(repo: Checkout, ws: Workspace) -> None:
    made = create_record(ws, FILED, {**RULING, "tags": ["style"]})
    assert made.path == ".kl/knowledge/rulings/RUL-0001-use-tabs.md"
    assert (repo.root / made.path).read_text() == (
        "---\nid: RUL-0001\ntitle: Use tabs\nstatus: proposed\ndate: 2027-01-15\ntags: [style]\n"
        "authority: human\n---\n\n## Ruling\n\nTabs.\n"
    )
    assert get_record(ws, "RUL-0001").values == made.values


def test_numbers_never_come_back(repo: Checkout, ws: Workspace) -> None:
    one = create_record(ws, FILED, RULING)
    repo.commit()
    delete_record(ws, one)
    assert create_record(ws, FILED, RULING).id == "RUL-0002"
    (repo.root / ".kl/knowledge/rulings/RUL-0002-use-tabs.md").unlink()
    assert create_record(ws, FILED, RULING).id == "RUL-0003"
    repo.write(".kl/knowledge/rulings/archive/RUL-0017-old.md", "whatever")
    assert create_record(ws, FILED, RULING).id == "RUL-0018"


def test_numbers_that_git_has_seen_on_any_branch_are_taken(repo: Checkout, ws: Workspace) -> None:
    repo.git("checkout", "-q", "-b", "other")
    repo.write(".kl/knowledge/rulings/RUL-0041-x.md", "---\nid: RUL-0041\n---\n")
    repo.commit()
    repo.git("rm", "-q", ".kl/knowledge/rulings/RUL-0041-x.md")
    repo.commit()
    repo.git("checkout", "-q", "main")
    assert create_record(ws, FILED, RULING).id == "RUL-0042"


@pytest.mark.share(2)
def test_writers_side_by_side_get_numbers_of_their_own(repo: Checkout) -> None:
    made: list[str] = []

    def write(n: int) -> None:
        for _ in range(5):
            made.append(create_record(repo.workspace(NOW + n), FILED, RULING).id)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [f"RUL-{n:04}" for n in range(1, 21)]


def test_everything_wrong_is_reported_and_nothing_is_written(repo: Checkout, ws: Workspace) -> None:
    with pytest.raises(Problems) as caught:
        create_record(ws, FILED, {"titel": "x", "governs": ["../out"], "expires": "soon"})
    assert sorted(one.message for one in caught.value.problems) == [
        '"expires" must be a date such as 2027-01-31, or a moment in ISO 8601.',
        "\"governs\" holds '../out'.",
        '"ruling" is missing.',
        '"title" is missing.',
        'ruling has no field "titel".',
    ]
    assert not (repo.root / ".kl/knowledge").exists()
    with pytest.raises(Problems):
        create_records(ws, FILED, [RULING, {"title": "no ruling"}])
    assert list_records(ws, RecordFilter(("ruling",))) == []


def test_a_folder_that_can_not_be_written_leaves_nothing_behind(
    repo: Checkout, ws: Workspace, tmp_path: Path
) -> None:
    (repo.root / ".kl/knowledge").symlink_to(tmp_path)
    with pytest.raises(EnvironmentProblem, match="is a link"):
        create_record(ws, FILED, RULING)
    assert not (tmp_path / "rulings").exists()
    assert list_events(ws) == []


def test_secrets_are_never_written(repo: Checkout, ws: Workspace) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    made = create_record(ws, FILED, {"title": "Key", "ruling": f"Use {secret}."})
    create_record(ws, STORED, {"title": "Key", "pattern": f"Use {secret}."})
    assert secret not in (repo.root / made.path).read_text()
    assert all(
        secret.encode() not in path.read_bytes() for path in repo.state.rglob("*") if path.is_file()
    )


def test_a_row_becomes_a_file_and_a_row_again(repo: Checkout, ws: Workspace) -> None:
    made = create_record(ws, STORED, {**LESSON, "authority": "agent"})
    assert (made.path, made.text("expires")[:10]) == ("", iso(NOW + 90 * 86_400_000_000)[:10])
    filed = apply_verb(ws, made.id, "approve")
    assert filed.path == f".kl/knowledge/lessons/{made.id}-umlauts.md"
    assert [one.status for one in list_records(ws, RecordFilter(("lesson",)))] == ["approved"]
    with pytest.raises(UsageProblem, match="needs reason"):
        apply_verb(ws, made.id, "reject")
    back = apply_verb(ws, made.id, "reject", {"reason": "wrong"})
    assert (back.path, back.status) == ("", "rejected")
    assert not (repo.root / filed.path).exists()
    assert get_record(ws, made.id).text("reason") == "wrong"
    assert [one.how for one in past_versions(ws, back)] == ["approve"]
    assert [(one.record, one.name) for one in list_events(ws)].count((made.id, "created")) == 1


def test_the_same_lesson_is_the_same_record_in_every_clone(ws: Workspace) -> None:
    made = create_record(ws, STORED, LESSON)
    with pytest.raises(UsageProblem, match="is there already"):
        create_record(
            ws, STORED, {"title": "Other", "pattern": "  names with UMLAUTS need utf-8. "}
        )
    delete_record(ws, made)
    assert create_record(ws, STORED, LESSON).id == made.id, "it is the same thing again"


def test_a_change_by_hand_between_two_changes_of_ours_stays(repo: Checkout, ws: Workspace) -> None:
    made = create_record(ws, FILED, RULING)
    path = repo.root / made.path
    path.write_text(
        path.read_text()
        .replace("status: proposed", "status: proposed  # for now")
        .replace("Tabs.", "Wide tabs.")
    )
    changed = change_record(ws, get_record(ws, made.id), {"tags": ["style"], "governs": ["src/"]})
    text = path.read_text()
    assert (
        "status: proposed  # for now\n" in text
        and "Wide tabs." in text
        and "tags: [style]\n" in text
    )
    assert changed.text("ruling") == "Wide tabs."
    path.write_text("broken")
    with pytest.raises(UsageProblem, match="can't be read today"):
        change_record(ws, get_record(ws, made.id), {"tags": ["b"]})
    assert path.read_text() == "broken"


def test_a_successor_is_reported_on_both_sides(ws: Workspace) -> None:
    accepted = {**RULING, "status": "accepted"}
    one, two, three = (create_record(ws, FILED, accepted).id for _ in range(3))
    supersede(ws, one, two)
    supersede(ws, two, three)
    assert (get_record(ws, one).status, get_record(ws, one).many("superseded_by")) == (
        "superseded",
        (two,),
    )
    assert get_record(ws, three).many("supersedes") == (two,)
    for start in (one, two, three):
        assert [record.id for record in supersession_chain(ws, get_record(ws, start))] == [
            three,
            two,
            one,
        ]
    for old, new in ((three, one), (two, one), (one, one), (three, two)):
        with pytest.raises(UsageProblem, match="supersede each other"):
            supersede(ws, old, new)
    with pytest.raises(UsageProblem, match="no record of this id"):
        supersede(ws, one, "RUL-0099")
    assert get_record(ws, three).status == "accepted"


def test_a_verb_works_on_what_it_is_for(ws: Workspace) -> None:
    made = create_record(ws, FILED, {**RULING, "status": "superseded"})
    with pytest.raises(UsageProblem, match="is superseded; accept works on what is proposed"):
        apply_verb(ws, made.id, "accept")
    with pytest.raises(UsageProblem, match="has no verb 'akzept'"):
        apply_verb(ws, made.id, "akzept")


def test_a_verb_dates_its_status_where_the_kind_has_a_date_for_it(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    dated = replace(FILED, fields=(*FILED.fields, Field("decided_at", "date", "When.")))
    record = create_record(ws, FILED, {"title": "Use X", "ruling": "X."})
    assert FILED.date_field("accepted") == dated.date_field("superseded") == ""
    assert "decided_at" not in apply_verb(ws, record.id, "accept").values
    known = {**ws.kinds, "ruling": dated}
    monkeypatch.setattr(Workspace, "kinds", property(lambda self: known))
    other = create_record(ws, dated, {"title": "Use Y", "ruling": "Y."})
    assert apply_verb(ws, other.id, "accept").text("decided_at") == iso(NOW)[:10]
    earlier = create_record(ws, dated, {"title": "Use Z", "ruling": "Z."})
    stated = apply_verb(ws, earlier.id, "accept", {"decided_at": "2020-01-01"})
    assert stated.text("decided_at") == "2020-01-01", "what is stated counts"


def test_history_of_a_file_is_git_s(repo: Checkout, ws: Workspace) -> None:
    made = create_record(ws, FILED, RULING)
    assert past_versions(ws, made) == []
    repo.commit("rule it")
    change_record(ws, made, {"ruling": "Spaces."})
    repo.commit("rule otherwise")
    assert [one.how for one in past_versions(ws, get_record(ws, made.id))] == [
        "rule otherwise",
        "rule it",
    ]


def test_two_changes_of_one_row_that_were_begun_together_are_both_stored(ws: Workspace) -> None:
    made = create_record(ws, STORED, LESSON)
    seen = get_record(ws, made.id)
    change_record(ws, seen, {"tags": ["names"]})
    change_record(ws, seen, {"reason": "measured"})
    now = get_record(ws, made.id)
    assert (now.many("tags"), now.text("reason")) == (("names",), "measured")


def test_a_row_that_became_a_file_meanwhile_is_not_written_over(ws: Workspace) -> None:
    made = create_record(ws, STORED, LESSON)
    seen = get_record(ws, made.id)
    apply_verb(ws, made.id, "approve")
    with pytest.raises(UsageProblem, match="somebody else"):
        change_record(ws, seen, {"tags": ["names"]})
    assert [one.status for one in list_records(ws, RecordFilter(("lesson",)))] == ["approved"]


class Killed(BaseException):
    """The process ends here."""


def test_a_file_is_there_until_its_row_is_sure(
    repo: Checkout, ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = create_record(ws, STORED, LESSON)
    filed = apply_verb(ws, made.id, "approve")
    there: list[bool] = []

    def sure() -> bool:
        with ws.store.reading() as db:
            return db is not None and db.row(
                "SELECT rests FROM record WHERE id = ?", (made.id,)
            ) == ("state",)

    put = FileChanges._put

    def watched(self: FileChanges, path: str, data: bytes | None) -> None:
        if data is None:
            there.append(sure())
        put(self, path, data)

    monkeypatch.setattr(FileChanges, "_put", watched)
    apply_verb(ws, made.id, "reject", {"reason": "wrong"})
    assert there == [True], "the file goes when the row can no longer be lost"
    assert not (repo.root / filed.path).exists()


@pytest.mark.fault(
    "killed process",
    promised="it is one record",
    injected="SIGKILL between the file and its row",
)
def test_what_was_killed_between_file_and_row_is_one_record(
    repo: Checkout, ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = create_record(ws, STORED, LESSON)
    with monkeypatch.context() as patch:
        patch.setattr(FileChanges, "__exit__", lambda self, *found: None)
        patch.setattr(
            "kl_hooks.records.write.write_row", lambda *given: (_ for _ in ()).throw(Killed)
        )
        with pytest.raises(Killed):
            apply_verb(ws, made.id, "approve")
    assert list((repo.root / ".kl/knowledge/lessons").glob("*.md")), "as a kill leaves it"
    again = repo.workspace()
    assert [one.status for one in list_records(again, RecordFilter(("lesson",)))] == ["approved"], (
        "the file is the truth"
    )
    assert get_record(again, made.id).path
    apply_verb(again, made.id, "reject", {"reason": "wrong"})
    assert [(one.status, one.path) for one in list_records(again, RecordFilter(("lesson",)))] == [
        ("rejected", "")
    ]
