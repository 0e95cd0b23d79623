"""Authored files are the truth: edits, renames, deletions, merges by any hand are picked up by
whoever looks next.
"""

from __future__ import annotations

import os
from pathlib import Path

from kl_hooks.graph import links
from kl_hooks.records.liveness import not_live_reason
from kl_hooks.records.query import (
    RecordFilter,
    get_record,
    get_records,
    list_records,
    search_records,
)
from kl_hooks.records.sync import sync
from kl_hooks.records.write import create_record, delete_record
from kl_hooks.workspace import Workspace
from tests.support import Checkout

from .conftest import FILED, STORED

TEXT = """---
id: {id}
title: {title}
status: accepted
governs: [src/a.py]
---

## Ruling

{ruling}
"""
FOLDER = ".kl/knowledge/rulings"


def author(
    repo: Checkout,
    identifier: str = "RUL-0001",
    title: str = "Use tabs",
    ruling: str = "Tabs.",
    name: str = "",
) -> Path:
    text = TEXT.format(id=identifier, title=title, ruling=ruling)
    return repo.write(f"{FOLDER}/{name or identifier + '.md'}", text)


def titles(ws: Workspace) -> list[str]:
    return [one.title for one in list_records(ws, RecordFilter(("ruling",)))]


def test_what_a_hand_writes_renames_and_deletes_is_picked_up(repo: Checkout, ws: Workspace) -> None:
    assert titles(ws) == []
    path = author(repo)
    assert titles(ws) == ["Use tabs"]
    author(repo, title="Use spaces", ruling="Spaces and nothing else.")
    assert titles(ws) == ["Use spaces"]
    assert [one.id for one in search_records(ws, ["nothing"], RecordFilter(("ruling",)))] == [
        "RUL-0001"
    ]
    assert search_records(ws, ["tabs"], RecordFilter(("ruling",))) == []
    path.rename(path.with_name("RUL-0001-spaces.md"))
    assert get_record(ws, "rul-0001").path == f"{FOLDER}/RUL-0001-spaces.md"
    (repo.root / f"{FOLDER}/RUL-0001-spaces.md").unlink()
    assert titles(ws) == []
    assert search_records(ws, ["nothing"], RecordFilter(("ruling",))) == []


def test_looking_again_reads_and_writes_nothing(repo: Checkout, ws: Workspace) -> None:
    path = author(repo)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    ws = repo.workspace(now=9_000_000_000_000_000)
    assert sync(ws).read == 1
    before = ws.state.graph.read_bytes()
    assert sync(ws).read == 0
    assert ws.state.graph.read_bytes() == before


def test_a_change_within_the_same_moment_and_of_the_same_length_is_seen(repo: Checkout) -> None:
    path = author(repo, ruling="Tabs.")
    state = path.stat()
    ws = repo.workspace(now=state.st_mtime_ns // 1000 + 1000)
    assert get_record(ws, "RUL-0001").text("ruling") == "Tabs."
    path.write_text(path.read_text().replace("Tabs.", "Tubs."))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert get_record(ws, "RUL-0001").text("ruling") == "Tubs."


def test_a_file_that_was_just_written_is_parsed_once_while_its_bytes_stay(repo: Checkout) -> None:
    path = author(repo)
    ws = repo.workspace(now=path.stat().st_mtime_ns // 1000 + 1000)
    assert sync(ws).read == 1
    before = ws.state.graph.read_bytes()
    assert sync(ws).read == 0
    assert ws.state.graph.read_bytes() == before
    other = author(repo, "RUL-0002")
    assert sync(ws).read == 1, "the one that is new, and not its neighbour"
    other.write_text("no front matter")
    assert (sync(ws).read, sync(ws).read) == (1, 1), (
        "git decides too what is taken for a broken one"
    )


def test_a_file_that_can_not_be_read_keeps_what_it_reported_last_and_reports_it(
    repo: Checkout, ws: Workspace
) -> None:
    path = author(repo)
    assert titles(ws) == ["Use tabs"]
    path.write_text("---\nid: RUL-0001\n<<<<<<< a\ntitle: x\n=======\ntitle: y\n>>>>>>> b\n---\n")
    found = get_record(ws, "RUL-0001")
    assert (found.title, found.broken) == ("Use tabs", "holds an unfinished merge.")
    assert [str(one) for one in sync(ws).problems] == [
        f"{FOLDER}/RUL-0001.md:3:1: holds an unfinished merge. Resolve it, then save the file."
    ]
    assert [one.id for one in search_records(ws, ["tabs"], RecordFilter(("ruling",)))] == [
        "RUL-0001"
    ]
    assert not_live_reason(ws, found), "what can't be read today is shown to nobody unasked"
    author(repo, title="Use both")
    assert (
        get_record(ws, "RUL-0001").title,
        get_record(ws, "RUL-0001").broken,
        sync(ws).problems,
    ) == (
        "Use both",
        "",
        (),
    )


def test_the_last_good_version_comes_from_git_where_the_index_is_new(
    repo: Checkout, ws: Workspace
) -> None:
    path = author(repo)
    repo.commit()
    path.write_text("no front matter")
    assert get_record(ws, "RUL-0001").title == "Use tabs"
    assert get_record(ws, "RUL-0001").broken == "has no front matter."


def test_two_files_of_one_id_are_both_named(repo: Checkout, ws: Workspace) -> None:
    author(repo)
    author(repo, title="Use spaces", name="RUL-0001-spaces.md")
    (problem,) = sync(ws).problems
    assert problem.message == f"RUL-0001 is the id of {FOLDER}/RUL-0001-spaces.md too."
    assert problem.path == f"{FOLDER}/RUL-0001.md"


def test_links_are_there_while_the_file_has_them(repo: Checkout, ws: Workspace) -> None:
    def governing() -> list[str]:
        sync(ws)
        with ws.store.reading("graph") as db:
            assert db is not None
            return [
                f"{k.source} {k.relation} {k.path}:{k.line}"
                for k in links.incoming(db, "file:src/a.py")
            ]

    path = author(repo)
    assert governing() == [f"RUL-0001 adr_governs {FOLDER}/RUL-0001.md:5"]
    path.write_text(path.read_text().replace("governs: [src/a.py]\n", ""))
    assert governing() == []


def test_rows_are_found_by_words_until_they_go(repo: Checkout, ws: Workspace) -> None:
    made = create_record(
        ws, STORED, {"title": "Umlauts", "pattern": "Names with umlauts need UTF-8."}
    )
    assert [one.id for one in search_records(ws, ["umlauts"], RecordFilter(("lesson",)))] == [
        made.id
    ]
    delete_record(ws, made)
    assert search_records(ws, ["umlauts"], RecordFilter(("lesson",))) == []
    assert get_records(ws, [made.id]) == []


def test_other_worktrees_have_other_files_and_the_same_rows(
    repo: Checkout, ws: Workspace, tmp_path: Path
) -> None:
    author(repo)
    repo.commit()
    create_record(ws, STORED, {"title": "Umlauts", "pattern": "Names with umlauts need UTF-8."})
    repo.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    (tmp_path / "other" / FOLDER / "RUL-0001.md").unlink()
    other = repo.workspace(folder=tmp_path / "other")
    assert (titles(ws), titles(other)) == (["Use tabs"], [])
    assert [one.title for one in list_records(other, RecordFilter(("lesson",)))] == ["Umlauts"]
    assert [one.title for one in search_records(other, ["umlauts"], RecordFilter(("lesson",)))] == [
        "Umlauts"
    ]


def test_links_that_lead_out_are_not_followed(
    repo: Checkout, ws: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "out.md").write_text(TEXT.format(id="RUL-0009", title="Out", ruling="x"))
    create_record(ws, FILED, {"title": "In", "ruling": "y"})
    (repo.root / FOLDER / "RUL-0009.md").symlink_to(tmp_path / "out.md")
    assert titles(ws) == ["In"]


def test_files_that_nobody_can_read_are_a_problem_and_no_crash(
    repo: Checkout, ws: Workspace
) -> None:
    author(repo, "RUL-0002", title="Good")
    repo.write(f"{FOLDER}/RUL-0003.md", "x" * 300_000)
    (repo.root / FOLDER / "RUL-0004.md").write_bytes(b"---\nid: RUL-0004\ntitle: \xff\n---\n")
    assert titles(ws) == ["Good"]
    assert [one.message for one in sync(ws).problems] == [
        "is larger than 262144 bytes.",
        "this line is not UTF-8.",
    ]


def test_who_asks_for_one_kind_imports_that_kind_alone(repo: Checkout, ws: Workspace) -> None:
    author(repo)
    assert list_records(ws, RecordFilter(("lesson",))) == []
    assert list_records(ws, RecordFilter(("ruling",))), "the first look takes in everything"
    author(repo, "RUL-0002")
    assert sync(ws, ("lesson",)).read == 0
    assert len(list_records(ws, RecordFilter(("lesson", "ruling")))) == 2
    (repo.root / FOLDER / "RUL-0001.md").unlink()
    sync(ws, ("lesson",))
    assert [one.id for one in get_records(ws, ["RUL-0001"])] == ["RUL-0001"]
    assert [one.id for one in list_records(ws, RecordFilter(("ruling",)))] == ["RUL-0002"]
