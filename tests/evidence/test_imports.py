"""Importing: each receipt once, refused where it is edited or holds a secret, and never more than
it is.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.sources.receipts import to_lines
from kl_hooks.model.receipt import Evidence, Receipt
from kl_hooks.sharing.file_import import Imported, import_file, readers
from tests.store.secrets import SHAPES
from tests.support import Checkout, checkout

from .making import leave_run
from .sources.test_junit import REPORT
from .test_audit import problems
from .test_claims import run

TREE = "1" * 40


def take(repo: Checkout, *receipts: Receipt) -> Imported:
    lines = "".join(f"{line}\n" for line in to_lines(receipts))
    return import_file(repo.workspace(), "receipts", "r.jsonl", lines.encode(), None)


def test_what_was_exported_comes_in_once_and_is_marked(repo: Checkout, tmp_path: Path) -> None:
    leave_run(
        repo.workspace(), [("a.py::one", "failed", 5)], details={"a.py::one": {"message": "no"}}
    )
    sync_evidence(repo.workspace())
    out = tmp_path / "r.jsonl"
    assert repo.kl("evidence", "export", "-o", str(out)).returncode == 0
    assert repo.kl("evidence", "export").stdout == out.read_text()
    other = checkout(tmp_path / "other")
    for expected in ("2 new, 0 known already, 0 refused.", "0 new, 2 known already, 0 refused."):
        done = other.kl("evidence", "import", "receipts", str(out))
        assert (done.returncode, done.stdout.strip()) == (0, expected)
    theirs = [e.receipt for e in repo.entries()]
    assert [e.receipt for e in other.entries() if e.origin == "imported:receipts"] == theirs
    assert problems(other) == ()
    assert other.kl("claim", "list").stdout.startswith("no claims"), "it proves nothing here"


def test_junit_is_stored_once_and_weighs_nothing_without_a_tree(
    repo: Checkout, tmp_path: Path
) -> None:
    report = tmp_path / "report.xml"
    report.write_bytes(REPORT)
    for expected in ("1 new, 0 known", "0 new, 1 known"):
        assert repo.kl("evidence", "import", "junit", str(report)).stdout.startswith(expected)
    assert (
        "the tree it ran on is unknown" in repo.kl("evidence", "show", repo.entries()[0].id).stdout
    )
    tree = repo.git("rev-parse", "HEAD^{tree}")
    assert repo.kl("evidence", "import", "junit", str(report), "--tree", tree).stdout.startswith(
        "1 new"
    )
    claims = json.loads(repo.kl("claim", "list", "--format", "json").stdout)["claims"]
    assert {(c["about"], c["tier"], c["freshness"]) for c in claims} == {
        ("test:tests/test_a.py::test_ok", "inferred", "current")
    }


REFUSED: dict[str, Any] = {
    "a class that is none": run(evidence=(Evidence("Oracle", "test:a", "passed"),)),
    "a duration below zero": run(evidence=(Evidence("TestResult", "test:a", "passed", -1),)),
    "a tree that is none": run(tree="HEAD"),
    "a time that is none": run(ended="yesterday"),
    "a result that is none": run(result={"verdict": "passed"}),
    "counts that are none": run(
        result={"complete": True, "verdict": "passed", "counts": {"passed": "all"}}
    ),
    "a run that is none": run(name="../../etc/"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.share(2)
def test_what_would_trouble_a_reader_is_refused(repo: Checkout, name: str) -> None:
    done = take(repo, REFUSED[name].receipt, run("b7").receipt)
    assert (done.new, len(done.problems)) == (1, 1)
    assert str(done.problems[0]).startswith("r.jsonl:1:1: refused: ")
    assert repo.kl("status").returncode == 0
    assert problems(repo) == ()


@pytest.mark.parametrize("shape", ["github", "shell", "pem", "url password", "jwt"])
def test_what_holds_a_secret_is_refused_whole(repo: Checkout, shape: str) -> None:
    text, secret = SHAPES[shape](random.Random(7))
    receipt = run(
        evidence=(Evidence("TestResult", "test:a.py::one", "failed", 5, None, {"message": text}),)
    ).receipt
    for one in (
        receipt,
        run().receipt._replace(branch=text),
        run().receipt._replace(environment={"x": [text]}),
    ):
        done = take(repo, one)
        assert (done.new, len(done.problems)) == (0, 1)
        assert "secret" in str(done.problems[0])
        assert secret not in str(done.problems[0])
    assert not any(
        secret.encode() in path.read_bytes() for path in repo.state.rglob("*") if path.is_file()
    )


def test_our_own_receipts_are_never_taken_for_secrets(repo: Checkout) -> None:
    names = [f"tests/test_area_{n}.py::TestThing::test_case[{n:x}-{'é' * n}]" for n in range(50)]
    leave_run(repo.workspace(), [(name, "passed", 5) for name in names])
    repo.kl("run", "--", "sh", "-c", "echo 0123456789abcdef0123456789abcdef01234567; exit 1")
    sync_evidence(repo.workspace())
    every = [e.receipt for e in repo.entries()]
    assert len(every) == 3
    assert take(repo, *every) == Imported(0, 3, ())


def test_the_first_line_of_a_file_states_where_it_is_wrong(repo: Checkout, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("{}\n" + next(iter(to_lines([run().receipt]))) + "\nnonsense\n")
    done = repo.kl("evidence", "import", "receipts", str(path))
    assert done.returncode == 1
    assert done.stdout.strip() == "1 new, 0 known already, 2 refused."
    assert f"{path}:1:1: refused" in done.stderr
    assert f"{path}:3:1: refused" in done.stderr


def test_an_unknown_reader_and_a_wrong_tree_are_usage_errors(
    repo: Checkout, tmp_path: Path
) -> None:
    assert set(readers(repo.workspace())) >= {"junit", "receipts"}
    with pytest.raises(UsageProblem, match="junit, receipts"):
        import_file(repo.workspace(), "cobertura", "x", b"", None)
    report = tmp_path / "report.xml"
    report.write_bytes(REPORT)
    done = repo.kl("evidence", "import", "junit", str(report), "--tree", "HEAD")
    assert (done.returncode, "git rev-parse" in done.stderr) == (2, True)
    report.write_text("<html/>")
    done = repo.kl("evidence", "import", "junit", str(report))
    assert (done.returncode, str(report) in done.stderr) == (2, True)
