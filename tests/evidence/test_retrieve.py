"""What evidence offers to a task: commits that match its words."""

from __future__ import annotations

import pytest

from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.search import find_commits, update_search_index
from kl_hooks.index.index import Document, owners, replace_many
from kl_hooks.model.package import Signals, Task
from tests.support import Checkout


def task(*words: str) -> Task:
    return Task(" ".join(words), Signals(keywords=words))


@pytest.fixture
def worked(repo: Checkout) -> Checkout:
    repo.write("src/parser.py", "P = 1\n")
    repo.commit("Read UTF-8 with the parser\n\nBecause of umlauts.")
    return repo


def test_a_commit_is_found_by_its_subject_its_body_and_its_files(worked: Checkout) -> None:
    for words in (("parser",), ("umlauts",), ("read",)):
        (found,) = find_commits(worked.workspace(), task(*words), 5)
        assert found.id == f"commit:{worked.git('rev-parse', 'HEAD')}"
        assert "Read UTF-8 with the parser" in found.text
        assert "touched src/parser.py" in found.text
    assert find_commits(worked.workspace(), task("nothing"), 5) == []
    assert find_commits(worked.workspace(), task(), 5) == []


def test_a_second_look_writes_nothing(worked: Checkout) -> None:
    assert find_commits(worked.workspace(), task("parser"), 5)
    ws = worked.workspace()
    before = ws.state.graph.read_bytes()
    sync_evidence(ws)
    with ws.store.reading() as db:
        assert db is not None
        update_search_index(ws, db)
    assert ws.state.graph.read_bytes() == before


def test_without_a_store_there_is_nothing(repo: Checkout) -> None:
    repo.git("update-ref", "-d", "HEAD")
    assert find_commits(repo.workspace(), task("first"), 5) == []


def test_documents_of_an_earlier_version_are_removed(worked: Checkout) -> None:
    ws = worked.workspace()
    sync_evidence(ws)
    old = {"failures:0": [Document("test:t", "failure", "t.py", 0, "t")]}
    with ws.store.writing("graph") as index, index.transaction():
        replace_many(index, old)
    assert find_commits(worked.workspace(), task("parser"), 5)
    with ws.store.reading("graph") as index:
        assert index is not None and owners(index, ("failure",)) == set()
