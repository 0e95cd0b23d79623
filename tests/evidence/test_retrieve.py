"""What evidence offers to a task: commits and tests that match its words, found again when
something is new.
"""

from __future__ import annotations

import pytest

from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.search import COMMIT, FAILURE, find_commits, find_tests, update_search_index
from kl_hooks.index.index import owners
from kl_hooks.model.claim import Tier
from kl_hooks.model.package import Candidate, Signals, Task
from tests.support import Checkout

from .making import leave_run

SUITE = [
    ("tests/test_parser.py::test_reads_utf8", "passed", 5),
    ("tests/test_parser.py::test_rejects_tabs", "passed", 6),
    ("tests/test_writer.py::test_writes", "passed", 7),
]


def task(*words: str) -> Task:
    return Task(" ".join(words), Signals(keywords=words))


def found_tests(repo: Checkout, *words: str) -> dict[str, Candidate]:
    return {c.id.removeprefix("test:"): c for c in find_tests(repo.workspace(), task(*words), 20)}


@pytest.fixture
def worked(repo: Checkout) -> Checkout:
    repo.write("src/parser.py", "P = 1\n")
    repo.commit("Read UTF-8 with the parser\n\nBecause of umlauts.")
    leave_run(repo.workspace(), SUITE)
    return repo


def test_a_commit_is_found_by_its_subject_its_body_and_its_files(worked: Checkout) -> None:
    for words in (("parser",), ("umlauts",), ("read",)):
        (found,) = find_commits(worked.workspace(), task(*words), 5)
        assert found.id == f"commit:{worked.git('rev-parse', 'HEAD')}"
        assert "Read UTF-8 with the parser" in found.text
        assert "touched src/parser.py" in found.text
    assert find_commits(worked.workspace(), task("nothing"), 5) == []
    assert find_commits(worked.workspace(), task(), 5) == []


def test_a_passing_test_is_no_item_unless_the_task_names_it(worked: Checkout) -> None:
    assert found_tests(worked, "utf8", "parser", "test") == {}
    name = SUITE[0][0]
    (one,) = find_tests(worked.workspace(), Task("", Signals(tests=(name,))), 20)
    assert (one.kind, one.tier, one.freshness, one.path) == (
        "evidence",
        Tier.INFERRED,
        "current",
        "tests/test_parser.py",
    )
    assert "passed; inferred, current, run " in one.text


def test_a_failure_is_found_by_its_message_and_comes_first(worked: Checkout) -> None:
    name = SUITE[2][0]
    bad = [(n, "failed" if n == name else o, t) for n, o, t in SUITE]
    leave_run(
        worked.workspace(), bad, details={name: {"message": "Unexpected umlauts in parser output"}}
    )
    found = found_tests(worked, "parser")
    assert next(iter(found)) == name
    assert "failed; run " in found[name].text
    assert "Unexpected umlauts" in found[name].text


def test_what_is_new_is_found_and_what_was_fixed_is_no_failure_any_more(worked: Checkout) -> None:
    assert found_tests(worked, "brand") == {}
    leave_run(worked.workspace(), [*SUITE, ("tests/test_brand.py::test_brand_new", "failed", 5)])
    assert (
        found_tests(worked, "brand")["tests/test_brand.py::test_brand_new"].kind == "failing test"
    )
    worked.write("src/parser.py", "P = 2\n")
    leave_run(worked.workspace(), [*SUITE, ("tests/test_brand.py::test_brand_new", "passed", 5)])
    assert found_tests(worked, "brand") == {}
    ws = worked.workspace()
    with ws.store.reading("graph") as index:
        assert index is not None
        have = owners(index, (COMMIT, FAILURE))
    assert sorted(o.partition(":")[0] for o in have) == ["commit", "commit", "failures"]


def test_a_second_look_writes_nothing(worked: Checkout) -> None:
    assert found_tests(worked, "utf8") == {}
    ws = worked.workspace()
    before = ws.state.graph.read_bytes()
    sync_evidence(ws)
    with ws.store.reading() as db:
        assert db is not None
        update_search_index(ws, db)
    assert ws.state.graph.read_bytes() == before


def test_without_a_store_there_is_nothing(repo: Checkout) -> None:
    repo.git("update-ref", "-d", "HEAD")
    assert (
        find_tests(repo.workspace(), task("test"), 5)
        == find_commits(repo.workspace(), task("first"), 5)
        == []
    )
