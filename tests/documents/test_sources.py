"""What `kl document refresh` reads in its owner's name: files of the repository that a person added
by their path, and nothing else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import Checkout, Done

AGENT = {"KL_AGENT": "bot"}
CANARY = "81234"


def answer(done: Done) -> Any:
    return json.loads(done.stdout)


def add_as_agent(repo: Checkout, source: str) -> str:
    """Add a document by the tool, with a source of the agent's choice; its ID."""
    given = json.dumps({"text": "harmless zebra", "title": "note", "source": source})
    done = repo.kl("tool", "add_document", given, "--allow-write", env=AGENT)
    identifier = answer(done)["result"]["id"]
    assert isinstance(identifier, str)
    return identifier


def passages(repo: Checkout, words: str = "zebra") -> str:
    """What an agent finds."""
    given = json.dumps({"query": words})
    return repo.kl("tool", "search_documents", given, env=AGENT).stdout


def row_of(repo: Checkout, identifier: str) -> dict[str, Any]:
    rows = answer(repo.kl("document", "list", "--format", "json"))["documents"]
    (row,) = [row for row in rows if row["id"] == identifier]
    assert isinstance(row, dict)
    return row


@pytest.fixture
def salaries(repo: Checkout) -> Path:
    """A file that agents may not see."""
    repo.write(
        ".kl/policy.yaml",
        "version: 1\nrules:\n  - name: hr\n    deny: {paths: [hr/**], actors: [agent]}\n",
    )
    return repo.write("hr/salaries.txt", f"Bob earns {CANARY}, zebra\n")


def test_the_source_that_an_agent_states_is_never_read(
    repo: Checkout, salaries: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "id_rsa.txt"
    outside.write_text(f"a key {CANARY}, zebra\n")
    (repo.root / "link").symlink_to(tmp_path)
    sources = (
        str(outside),
        os.path.relpath(outside, repo.root),
        "hr/salaries.txt",
        f"{repo.root.name}/../hr/salaries.txt",
        "link/id_rsa.txt",
        ".git/config",
        "docs/x\0y.md",
    )
    ids = [add_as_agent(repo, source) for source in sources]
    done = repo.kl("document", "refresh")
    assert done.returncode == 1
    for identifier in ids:
        (line,) = [line for line in done.stderr.splitlines() if identifier in line]
        assert "an agent added it" in line and "kl document add PATH" in line
        assert row_of(repo, identifier)["needs_refresh"] is False
    assert CANARY not in passages(repo) + repo.stored().decode("latin-1")
    # nor can an agent make it a file that a person added
    given = json.dumps({"id": ids[2], "added_path": "hr/salaries.txt"})
    done = repo.kl("tool", "document_update", given, "--allow-write", env=AGENT)
    assert done.returncode == 2 and "added_path" in done.stdout
    repo.kl("document", "add", str(salaries), env=AGENT)
    assert "an agent added it" in repo.kl("document", "refresh", "DOC-0003").stderr


def test_an_agent_never_replaces_the_text_of_a_person(repo: Checkout) -> None:
    repo.write("notes/a.txt", "# Zebra\n\nThe zebra is the person's.\n")
    repo.kl("document", "add", "notes/a.txt")
    assert add_as_agent(repo, "notes/a.txt") == "DOC-0002"
    assert add_as_agent(repo, "notes/a.txt") == "DOC-0002"  # its own it replaces
    assert "the person's" in passages(repo) and "harmless" in passages(repo)
    repo.write("notes/a.txt", "# Zebra\n\nThe zebra is new.\n")
    assert repo.kl("document", "add", "notes/a.txt").stdout.startswith("DOC-0001")


def test_a_file_that_a_person_added_is_read_again(repo: Checkout) -> None:
    repo.write("notes/a.txt", "The zebra is old.\n")
    repo.write("notes/deep/b.txt", "The zebra sleeps.\n")
    repo.kl("document", "add", "notes")
    assert repo.kl("document", "refresh").stdout == "nothing changed.\n"
    repo.write("notes/a.txt", "The zebra is new.\n")
    assert row_of(repo, "DOC-0001")["needs_refresh"] is True
    done = repo.kl("document", "refresh")
    assert done.returncode == 0 and done.stdout.startswith("DOC-0001  indexed")
    assert "is new" in passages(repo) and "is old" not in passages(repo)
    (repo.root / "notes/a.txt").unlink()
    assert "its source was removed" in repo.kl("document", "refresh").stderr


def test_what_took_the_place_of_an_added_file_is_not_read(
    repo: Checkout, salaries: Path, tmp_path: Path
) -> None:
    (tmp_path / "id_rsa.txt").write_text(f"a key {CANARY}, zebra\n")
    replaced: dict[str, Callable[[Path], None]] = {
        "a/link.txt": lambda path: path.symlink_to(tmp_path / "id_rsa.txt"),
        "b/inside.txt": lambda path: path.symlink_to(salaries),
        "c/pipe.txt": lambda path: os.mkfifo(path),
        "d/folder.txt": lambda path: path.mkdir(),
    }
    for name in (*replaced, "e/id_rsa.txt", "f/sub.txt"):
        repo.write(name, "harmless zebra\n")
        repo.kl("document", "add", name, "--collection", "notes")
    for name, replace in replaced.items():
        (repo.root / name).unlink()
        replace(repo.root / name)
    (repo.root / "e/id_rsa.txt").unlink()
    (repo.root / "e").rmdir()
    (repo.root / "e").symlink_to(tmp_path)  # the folder on the way
    repo.write("f/sub.txt", f"{CANARY} zebra\n")
    repo.write("f/.git", "gitdir: ../.git/modules/f\n")  # as of a submodule
    done = repo.kl("document", "refresh")
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and len(lines) == 6, done.stderr
    for identifier, reason in (
        ("DOC-0001", "a/link.txt is reached by a link"),
        ("DOC-0002", "b/inside.txt is reached by a link"),
        ("DOC-0003", "c/pipe.txt is not a file"),
        ("DOC-0004", "d/folder.txt is not a file"),
        ("DOC-0005", "e/id_rsa.txt is reached by a link"),
        ("DOC-0006", "f/sub.txt is in f (another repository)"),
    ):
        assert any(identifier in line and reason in line for line in lines), (reason, lines)
    assert CANARY not in passages(repo) + repo.stored().decode("latin-1")


def test_what_the_policy_denies_is_not_read(repo: Checkout) -> None:
    for effect in ("deny", "redact"):
        name = f"{effect}/pay.txt"
        repo.write(name, "harmless zebra\n")
        repo.kl("document", "add", name)
        repo.write(name, f"{CANARY} zebra\n")
    repo.write(
        ".kl/policy.yaml",
        "version: 1\nrules:\n  - name: no\n    deny: {paths: [deny/**], kinds: [page]}\n"
        "  - name: red\n    redact: {paths: [redact/**]}\n",
    )
    done = repo.kl("document", "refresh")
    assert done.returncode == 1 and done.stderr.count(".kl/policy.yaml. Change the rule") == 2
    assert CANARY not in repo.stored().decode("latin-1")
    repo.write(".kl/policy.yaml", "version: 1\nrules: wrong\n")
    assert repo.kl("document", "refresh").returncode == 2  # without the rules nothing is read


@pytest.mark.parametrize("folder", [".git/kl", ".git", ".state"])
@pytest.mark.share(3)
def test_the_folders_of_git_and_of_kl_are_never_read(
    repo: Checkout, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write(".gitignore", ".state/\n")
    monkeypatch.setenv("KL_STATE", str(repo.root / ".state"))
    repo.kl("document", "add", "-", input="harmless")  # makes the state directory
    repo.write(f"{folder}/note.txt", "old zebra\n")
    assert repo.kl("document", "add", f"{folder}/note.txt").returncode == 0  # a person named it
    repo.write(f"{folder}/note.txt", f"{CANARY} zebra\n")
    assert repo.kl("document", "refresh").returncode == 1
    assert CANARY not in passages(repo)


def test_documents_of_earlier_versions_stay_and_refresh_states_what_to_do(
    repo: Checkout, tmp_path: Path
) -> None:
    outside = tmp_path / "books/it's.md"
    outside.parent.mkdir()
    outside.write_text("# Zebra\n\nOld text.\n")
    repo.write("notes/a.txt", "The zebra is here.\n")
    repo.kl("document", "add", str(outside), "notes/a.txt", "--collection", "books")
    # as earlier versions stored it: without the path that was added
    store = repo.workspace().store
    with store.writing("kl", "test") as db, db.transaction():
        db.execute("UPDATE record SET body = json_remove(body, '$.added_path')")
    outside.write_text("# Zebra\n\nNew text.\n")
    done = repo.kl("document", "refresh")
    assert done.returncode == 1
    first, second = sorted(done.stderr.splitlines())
    assert "DOC-0001: its source is outside the repository" in first
    assert f"kl document add '{tmp_path}/books/it'\"'\"'s.md' --collection books" in first
    assert "DOC-0002: no file of the repository was stored with it" in second
    assert "kl document add notes/a.txt --collection books" in second
    assert "Old text" in passages(repo)  # nothing is lost
    for place in (str(outside), "notes/a.txt"):
        repo.kl("document", "add", place, "--collection", "books")
    assert "New text" in passages(repo) and "Old text" not in passages(repo)
    assert "DOC-0002" not in repo.kl("document", "refresh").stderr


@pytest.mark.parametrize("place", ["{tmp}/key.txt", "../key.txt", "notes/../../key.txt"])
def test_a_stored_path_that_leads_out_is_not_read(
    repo: Checkout, tmp_path: Path, place: str
) -> None:
    (repo.root.parent / "key.txt").write_text(f"{CANARY} zebra\n")
    (tmp_path / "key.txt").write_text(f"{CANARY} zebra\n")
    repo.write("notes/a.txt", "harmless zebra\n")
    repo.kl("document", "add", "notes/a.txt")
    path = place.format(tmp=tmp_path)
    with repo.workspace().store.writing("kl", "test") as db, db.transaction():
        db.execute("UPDATE record SET body = json_set(body, '$.added_path', ?)", (path,))
    assert "is outside the repository" in repo.kl("document", "refresh").stderr
    assert CANARY not in passages(repo)
