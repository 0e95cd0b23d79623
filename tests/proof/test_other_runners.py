"""Reports of other runners: they prove the content that they were imported for, and of pytest's tests
those whose files they name.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.evidence.ledger import Entry
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.proof.content_proof import Proof, prove
from kl_hooks.proof.content_runs import ContentFacts
from kl_hooks.proof.defined_tests import DefinedTests
from kl_hooks.proof.expected_tests import Expected, Missing
from kl_hooks.proof.gate_verdict import GateFacts
from kl_hooks.proof.proven_tests import ProvenTests
from tests.support import checkout

from .test_gate_union import A, B, made, wanted

WEB = ("web/cart.test.ts::Cart > adds", "web/cart.test.ts::Cart > pays")
RUST = "src/cart.rs::tests::adds"
CONTENT = wanted("test_a.py")


def report(name: str, *tests: str, **changes: Any) -> Entry:
    return made(name, *tests, source="junit", observer="junit", **changes)


class _Answer(NamedTuple):
    proof: Proof
    tests: ProvenTests


def prove_content(
    *entries: Entry, reports: tuple[Entry, ...] = (), content: Expected = CONTENT, **facts: Any
) -> _Answer:
    known = ContentFacts(
        entries, expected=lambda: content, reports=lambda: (*reports, *entries), **facts
    )
    return _Answer(prove(known), ProvenTests.of(known))


def test_tests_that_only_another_content_has_results_of_must_run_again() -> None:
    earlier = report("b1", *WEB, RUST)
    answer = prove_content(made("a2", *A), reports=(earlier,))
    reason = "run b1b1b1b1 reported it for another content"
    assert answer.proof.tier.word == "guessed"
    assert answer.proof.missing == tuple(Missing(test, reason) for test in (RUST, *WEB))
    assert answer.proof.command == "", "pytest does not run them"
    assert (answer.tests.proven, answer.tests.rerun) == (len(A), 3)
    # of each file the newest report counts
    answer = prove_content(report("a3", WEB[0]), made("a2", *A), reports=(earlier,))
    assert [test.name for test in answer.proof.missing] == [RUST]
    newer = report("b2", "web/cart.test.ts::Cart > pays later")
    answer = prove_content(made("a2", *A), reports=(newer, earlier))
    assert [test.name for test in answer.proof.missing] == [
        RUST,
        "web/cart.test.ts::Cart > pays later",
    ]
    whole = prove_content(report("a3", *WEB, RUST), made("a2", *A), reports=(earlier,))
    assert (whole.proof.tier.word, whole.tests.rerun) == ("inferred", 0)


def test_reports_of_removed_excluded_or_other_files_ask_for_nothing() -> None:
    for changes in (
        {"path_exists": lambda path: path == "test_a.py"},
        {"content": CONTENT._replace(exclude=("web/*",))},
    ):
        answer = prove_content(made("a2", *A), reports=(report("b1", *WEB),), **changes)
        assert answer.proof.tier.word == "inferred"
    others = (report("b1", "cart::tests::adds", "test_b.py::test_one"), made("b2", *WEB))
    assert prove_content(made("a2", *A), reports=others).proof.tier.word == "inferred"


def test_a_report_proves_no_test_of_pytest_whose_file_it_does_not_name() -> None:
    answer = prove_content(report("a1", *WEB))
    assert answer.proof.missing == (Missing("test_a.py", "not reported"),)
    assert answer.proof.command == "pytest test_a.py"
    assert prove_content(report("a1", *WEB, *A)).proof.tier.word == "inferred"
    together = prove_content(report("a2", *WEB), report("a1", *B), content=wanted("test_b.py"))
    assert together.proof.tier.word == "inferred", "all reports of a content together"
    nothing = {"test_a.py": DefinedTests({}, {})}
    answer = prove_content(report("a1", *WEB), content=CONTENT._replace(functions=nothing))
    assert answer.proof.tier.word == "inferred", "a file without tests needs no report"
    broken = {"test_a.py": DefinedTests({}, {}, error="1:1: invalid syntax")}
    answer = prove_content(report("a1", *WEB), content=CONTENT._replace(functions=broken))
    assert answer.proof.tier.word == "guessed"


def test_what_was_imported_here_is_not_asked_of_a_ci() -> None:
    content = ContentFacts([], reports=lambda: [report("b1", *WEB)])
    assert GateFacts(content).counting.reports() == [report("b1", *WEB)]
    assert GateFacts(content, origin="ci").counting.reports() == ()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on")
def test_a_changed_file_of_another_language_is_proven_by_a_new_report(
    tmp_path: Path, home: Path
) -> None:
    files = {
        "tests/test_cart.py": "def test_cart():\n    pass\n",
        "web/price.js": "export const price = () => 1;\n",
        "web/price.test.js": "",
    }
    repo = checkout(tmp_path / "shop", files=files)

    def imported(seconds: str) -> None:
        case = f'<testcase classname="web/price.test.js" name="Cart &gt; pays" time="{seconds}"/>'
        path = tmp_path / "report.xml"
        path.write_text(f'<testsuites><testsuite name="web">{case}</testsuite></testsuites>')
        tree = repo.git("rev-parse", "HEAD^{tree}")
        done = repo.kl("evidence", "import", "junit", str(path), "--tree", tree)
        assert done.stdout.startswith("1 new")

    imported("0.1")
    alone = repo.kl("verify")
    assert alone.returncode == 1
    assert "tests/test_cart.py: not reported" in alone.stdout
    assert repo.pytest("-q").returncode == 0
    assert repo.kl("verify").returncode == 0
    repo.write("web/price.js", "export const price = () => 20;\n")
    repo.commit()
    changed = repo.kl("verify")
    assert changed.returncode == 1
    assert "1 test must run again" in changed.stdout
    assert "hint: import the report of your tests: kl evidence import junit FILE" in changed.stdout
    assert "hint: pytest" not in changed.stdout
    imported("0.2")
    assert repo.kl("verify").returncode == 0, "the test of pytest executed nothing that changed"


def test_reports_that_others_imported_ask_for_nothing_here(tmp_path: Path, home: Path) -> None:
    files = {"web/price.test.js": "", "test_a.py": ""}
    repo = checkout(tmp_path / "shop", files=files | {"test_b.py": "def test_b():\n    pass\n"})
    other = checkout(tmp_path / "other", files=files)
    path, receipts = tmp_path / "report.xml", tmp_path / "receipts.jsonl"
    case = '<testcase classname="web/price.test.js" name="pays"/>'
    path.write_text(f'<testsuite name="web">{case}</testsuite>')
    tree = other.git("rev-parse", "HEAD^{tree}")
    assert other.kl("evidence", "import", "junit", str(path), "--tree", tree).returncode == 0
    assert other.kl("evidence", "export", "-o", str(receipts)).returncode == 0
    assert repo.kl("evidence", "import", "receipts", str(receipts)).returncode == 0
    assert repo.pytest("-q", "-p", "no:cacheprovider").returncode == 0
    assert repo.kl("verify").returncode == 0
