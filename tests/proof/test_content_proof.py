"""What a proof states of its runs, and how many tests of a content are proven, on made-up runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kl_hooks.config.settings import KnownFailure
from kl_hooks.evidence.ledger import Entry
from kl_hooks.model.claim import Tier
from kl_hooks.model.receipt import WAS_RUNNING, Evidence
from kl_hooks.proof.content_proof import Proof
from kl_hooks.proof.content_runs import ContentFacts, ContentRun
from kl_hooks.proof.defined_tests import DefinedTests
from kl_hooks.proof.difference import Difference
from kl_hooks.proof.facts import NOT_ASSESSED, STALE, VALID, Verdict
from kl_hooks.proof.other_runs import OtherRun, Transfer
from kl_hooks.proof.proven_tests import ProvenTests
from kl_hooks.proof.pytest_config import PytestConfig
from kl_hooks.proof.run_rules import judge_run
from tests.evidence.test_claims import DONE, run
from tests.proof.contents import proof
from tests.proof.test_gate_union import CONTENT, PART, A, B, made, wanted

FAILED = {**DONE, "exit": 1, "verdict": "failed", "counts": {"failed": 1}}
KILLED = {**DONE, "complete": False, "how": "killed", "verdict": "inconclusive"}
CONFIG = (PytestConfig(), "")


def other_run(
    entry: Entry, verdicts: Mapping[str, Verdict], *, is_own: bool = False
) -> dict[str, OtherRun]:
    """A run of another content, as facts have it: its entry holds the valid results alone."""
    valid = tuple(
        result
        for result in entry.receipt.evidence
        if verdicts[result.subject.removeprefix("test:")].state == VALID
    )
    derived = entry._replace(receipt=entry.receipt._replace(evidence=valid))
    return {entry.id: OtherRun(derived, entry, verdicts, Difference(), is_own=is_own)}


def entries_of(others: Mapping[str, OtherRun]) -> list[Entry]:
    return [other.entry for other in others.values()]


# In words


def test_a_proof_in_words() -> None:
    empty = Proof(Tier.INFERRED, None, ())
    assert (empty.state, empty.transfer_text, empty.except_flaky, empty.but_for_known) == (
        "proven",
        "",
        "",
        "",
    )
    flaky = empty._replace(flaky=("test_a.py::test_b (failed in 2 of 6 runs)",))
    assert flaky.except_flaky == " except flaky test_a.py::test_b (failed in 2 of 6 runs)"
    assert empty._replace(tier=Tier.GUESSED).state == "not proven"
    later, sooner = (KnownFailure(B[0], "later", day) for day in ("2027-03-01", "2026-12-24"))
    accepting = empty._replace(known_failures=(later, sooner))
    assert accepting.but_for_known == " but for 2 known failures (until 2026-12-24)"


def test_a_transfer_in_words() -> None:
    shown = Proof(Tier.INFERRED, None, (), transfers=(Transfer("c3" * 16, 0, 4),), ran=4)
    assert shown.state == "transferred"
    assert shown.transfer_text == (
        "from run c3c3c3c3: it shows which tests the files have; all 4 ran here"
    )
    transfers = tuple(Transfer(name * 16, valid, 4) for name, valid in (("a1", 1), ("b2", 3)))
    several = shown._replace(
        transfers=(*transfers, transfers[0]),
        transferred_tests=3,
        compared_tests=4,
        ran=1,
    )
    assert several.transfer_text == (
        "from run b2b2b2b2 and 2 more runs: 3 of 4 tests executed nothing that changed; 1 ran here"
    )


# The fold


def test_known_failures_are_those_that_happened_and_the_others_that_pass_can_go() -> None:
    happened, other = (KnownFailure(test, "later", "2027-03-01") for test in (B[0], A[0]))
    content = wanted("test_a.py", "test_b.py", known_failures=(happened, other))
    run_of_all = made("a1", *A, f"{B[0]}=failed", B[1], result=FAILED)
    answer = proof([run_of_all], {}, expected=lambda: content)
    assert (answer.tier, answer.known_failures) == (Tier.INFERRED, (happened,))
    assert answer.notes == (f"known failure {A[0]} passes: remove it from .kl/config.yaml",)
    # of a test with parameters one case may pass while another one fails: the entry is needed
    cases = made("a1", *A, f"{B[0]}[1]=failed", f"{B[0]}[2]", B[1], result=FAILED)
    assert proof([cases], {}, expected=lambda: content).notes == answer.notes
    # a known failure that did not fail is none of this proof
    both = content._replace(known_failures=(happened,))
    assert proof([made("a1", *A, *B)], {}, expected=lambda: both).known_failures == ()
    without = proof([made("a1", *A, *B)], {})
    assert (without.known_failures, without.notes) == ((), ())
    skipped = made("a1", *A, f"{B[0]}=skipped", B[1])
    assert proof([skipped], {}, expected=lambda: both).notes == ()


def test_what_is_transferred_is_counted_once_and_what_is_not_names_the_command() -> None:
    valid, stale = Verdict(VALID), Verdict(STALE, "app.f changed")
    verdicts = {A[0]: valid, A[1]: valid, B[0]: valid, B[1]: stale}
    newer = other_run(made("b2", *A, *B), verdicts)
    older = other_run(made("a1", *A, *B), {**verdicts, B[0]: stale, B[1]: stale})
    others = newer | older
    answer = proof(entries_of(others), {}, expected=lambda: CONTENT, other_runs=others)
    assert (answer.state, answer.stale, answer.ran) == ("not proven", "b2" * 16, 0)
    assert [missing.name for missing in answer.missing] == [B[1]]
    assert answer.command == f"pytest {B[1]}"
    assert not any(reason.startswith("run ") for reason in answer.reasons)
    everything = other_run(made("b2", *A, *B), dict.fromkeys((*A, *B), valid))
    answer = proof(entries_of(everything), {}, expected=lambda: CONTENT, other_runs=everything)
    assert (answer.state, answer.transferred_tests, answer.compared_tests) == ("transferred", 4, 4)
    assert (answer.stale, answer.command) == ("", "")
    assert answer.transfers == (Transfer("b2" * 16, 4, 4, "local"),)


def test_of_very_many_tests_the_impacted_ones_run_where_a_run_is_valid() -> None:
    files = [f"test_{number}.py" for number in range(30)]
    one = DefinedTests({"test_one": True}, {})
    content = wanted(*files)._replace(functions=dict.fromkeys(files, one))
    passed = f"{files[0]}::test_one"
    here = made("a1", passed, selection=PART)
    assert proof([here], {}, expected=lambda: content).command == "pytest"
    stale_name = f"{files[1]}::test_one"
    others = other_run(
        made("b2", passed, stale_name), {passed: Verdict(VALID), stale_name: Verdict(STALE)}
    )
    unknown = other_run(made("c3", passed), {passed: Verdict(NOT_ASSESSED, "no facts")})
    mixed = others | unknown
    answer = proof(entries_of(mixed), {}, expected=lambda: content, other_runs=mixed)
    assert answer.command == "pytest --kl-impacted"
    answer = proof(entries_of(unknown), {}, expected=lambda: content, other_runs=unknown)
    assert (answer.command, answer.stale) == ("pytest", "")


def test_what_addopts_of_the_newest_run_limit_is_named_with_what_undoes_it() -> None:
    selection = {"addopts": ["-m", "not slow"], "keyword": "", **PART}
    answer = proof([made("a1", *A, selection=selection)], {}, expected=lambda: CONTENT)
    assert answer.undone_addopts == "-m 'not slow'"
    assert answer.command.startswith("pytest -m ''")
    assert proof([made("a1", *A, *B)], {}, expected=lambda: CONTENT).undone_addopts == ""


def test_who_signed_a_run_is_a_note() -> None:
    signed = made("a1", *A, *B, origin="ci:SHA256:abc")
    answer = proof([signed], {}, expected=lambda: CONTENT)
    assert "run a1a1a1a1: signed by the key SHA256:abc" in answer.notes


# Numbers


def numbers(entries: list[Entry], **facts: Any) -> ProvenTests:
    return ProvenTests.of(ContentFacts(entries, {}, **facts))


def test_each_test_counts_once_by_its_newest_result() -> None:
    killed = Evidence("TestResult", f"test:{B[1]}", "error", 0, None, {"message": WAS_RUNNING})
    stopped = run("c3", seq=3, evidence=(killed,), result=KILLED)
    unfinished = made("d4", "test_c.py::test_one", result=KILLED)
    failing = made("b2", A[0], f"{A[1]}=failed", result=FAILED)
    accepted = made("a1", f"{B[0]}=failed", result=FAILED)
    content = wanted(
        "test_a.py",
        "test_b.py",
        "test_d.py",
        known_failures=(KnownFailure(B[0], "later", "2027-03-01"),),
    )
    counts = numbers([unfinished, stopped, failing, accepted], expected=lambda: content)
    assert counts == ProvenTests(1, 0, 1, 1, 1, 1, 0, 2)
    assert (counts.total, counts.is_partial) == (7, True)
    assert counts.to_dict() == {"total": 7, **counts._asdict()}
    assert str(counts) == (
        "1 of 7 tests proven here; 1 known to fail; 1 failing;"
        " 1 running when the process was killed; 1 passed in a run that does not count;"
        " 2 never recorded"
    )


def test_of_all_collected_tests_those_with_any_result_are_subtracted() -> None:
    killed = Evidence("TestResult", f"test:{B[1]}", "error", 0, None, {"message": WAS_RUNNING})
    stopped = run("d4", seq=4, evidence=(killed,), result=KILLED)
    unfinished = made("e5", "test_c.py::test_one", result=KILLED)
    failed = (f"{A[1]}=failed", f"{B[0]}=failed", "test_c.py::test_two=failed")
    failing = made("c3", A[0], *failed, result=FAILED, selection={"collected": 30})
    verdicts = {f"test_e.py::test_{name}": Verdict(STALE) for name in ("one", "two", "three")}
    moved = "test_f.py::test_one"
    others = other_run(made("b2", *verdicts, moved), {**verdicts, moved: Verdict(VALID)})
    content = wanted("test_a.py", known_failures=(KnownFailure(B[0], "later", "2027-03-01"),))
    entries = [unfinished, stopped, failing, *entries_of(others)]
    counts = numbers(entries, expected=lambda: content, other_runs=others)
    assert counts == ProvenTests(1, 1, 1, 2, 1, 1, 3, never=20)
    assert counts.total == 30


def test_other_contents_transfer_or_must_run_again() -> None:
    verdicts = {A[0]: Verdict(VALID), A[1]: Verdict(STALE), B[0]: Verdict(VALID)}
    others = other_run(made("a1", *verdicts), verdicts)
    here = made("b2", A[0], selection=PART)
    counts = numbers([here, *entries_of(others)], expected=lambda: CONTENT, other_runs=others)
    assert counts == ProvenTests(proven=1, transferred=1, rerun=1, never=1)
    assert str(counts) == (
        "1 of 4 tests proven here, 1 transferred; 1 must run again; 1 never recorded"
    )
    own = other_run(made("a1", *A), {A[0]: Verdict(VALID), A[1]: Verdict(STALE)}, is_own=True)
    counts = numbers(entries_of(own), other_runs=own)
    assert counts == ProvenTests(proven=1, rerun=1)


def test_partial_is_a_content_with_results_that_do_not_prove_all_of_it() -> None:
    assert not ProvenTests(never=3).is_partial
    assert not ProvenTests(proven=2, transferred=1).is_partial
    assert not ProvenTests(proven=2, known_failures=1).is_partial
    assert ProvenTests(proven=2, rerun=1).is_partial
    assert ProvenTests(transferred=1, never=1).is_partial
    assert ProvenTests(failing=1).is_partial
    assert not ProvenTests().is_partial


def test_a_run_that_collected_everything_counts_the_cases_too() -> None:
    part = {"collected": 9, "deselected": 7}
    assert numbers([made("a1", *A, selection=part)], expected=lambda: CONTENT).never == 7
    every = {"keyword": "one", "markers": "fast", "deselected": 6, "dropped": 1}
    limited = made("a1", *A, selection={"collected": 9, **every})
    assert numbers([limited], expected=lambda: CONTENT).never == 7
    fewer = {"collected": 1, "deselected": 1}
    assert numbers([made("a1", *A, selection=fewer)], expected=lambda: CONTENT).never == 0
    omitted = {"collected": 9, **PART}
    assert numbers([made("a1", *A, selection=omitted)], expected=lambda: CONTENT).never == 2
    inside = made("a1", *A, selection=part, environment={"rootdir": "sub"})
    assert numbers([inside], expected=lambda: CONTENT).never == 2
    newer = made("b2", *A, selection={"collected": 5})
    older = made("a1", *A, selection={"collected": 9})
    assert numbers([newer, older]).never == 3
    on_another_interpreter = made("b2", A[0], selection={"collected": 1})
    assert numbers([on_another_interpreter, older]).never == 7
    assert numbers([on_another_interpreter, made("a1", *A)]).never == 0
    assert numbers([made("a1", *A, selection={"collected": "9"})]) == ProvenTests(proven=2)


def test_who_collects_a_module_imports_it_in_that_environment() -> None:
    others = other_run(made("a1", *A, selection=PART), dict.fromkeys(A, Verdict(VALID)))
    content = wanted("test_a.py", imported=frozenset({"shop.py"}))

    def tier(environment: Mapping[str, str]) -> str:
        nothing = {**DONE, "exit": 5, "verdict": "inconclusive"}
        selection = {"collected": 2, "deselected": 2}
        collecting = run("a2", evidence=(), result=nothing, selection=selection, **environment)
        entries = [collecting, *entries_of(others)]
        return proof(entries, {}, expected=lambda: content, other_runs=others).tier.word

    assert tier({}) == "inferred"
    assert tier({"environment": {"python": "3.9.1"}}) == "guessed"


def test_only_what_source_surely_defines_is_missing_from_the_records() -> None:
    broken = DefinedTests({"test_one": True}, {}, error="not Python")
    content = CONTENT._replace(functions={"test_a.py": broken})
    assert numbers([made("a1", *B)], expected=lambda: content) == ProvenTests(proven=2)
    case = made("a1", f"{A[0]}[1]", f"{A[0]}[2]")
    assert numbers([case], expected=lambda: wanted("test_a.py")) == ProvenTests(proven=2, never=1)
    assert numbers([]) == ProvenTests()
    command = Evidence("ExitCode", "command:pytest", "passed", 5)
    no_test = Evidence("TestResult", "test:test_a.py", "passed", 5)
    assert numbers([run(evidence=(command, no_test))]) == ProvenTests()


# A run with failures


def test_passes_of_a_failed_run_count_unless_something_else_speaks_against_it() -> None:
    failed = made("a1", A[0], f"{A[1]}=failed", result=FAILED)
    judged = judge_run(ContentRun(failed))
    assert (judged.has_failed, judged.counts, judged.shows_passes) == (True, False, True)
    weakened = failed.receipt._replace(selection={"weakened": ["-p no:x"]})
    assert not judge_run(ContentRun(failed._replace(receipt=weakened))).shows_passes
    whole = judge_run(ContentRun(made("a1", *A)))
    assert (whole.shows_passes, whole.is_before_a_loss) == (True, False)
    lost = judge_run(ContentRun(made("a1", *A), lost_until=1))
    assert (lost.shows_passes, lost.is_before_a_loss) == (False, True)


def test_a_failure_that_passed_since_must_run_again_where_that_pass_is_not_valid() -> None:
    stale = Verdict(STALE, "leafdep 1.0 → 2.0 is installed now")
    failed = made("a1", *A, f"{B[0]}=failed", result=FAILED)
    passed = other_run(made("b2", B[0]), {B[0]: stale}, is_own=True)
    answer = proof([*entries_of(passed), failed], {}, expected=lambda: CONTENT, other_runs=passed)
    assert (answer.failing, answer.failed) == ((), "")
    assert (B[0], stale.reason) in answer.missing
    # it failed there too
    again = other_run(made("b2", f"{B[0]}=failed"), {B[0]: stale}, is_own=True)
    answer = proof([*entries_of(again), failed], {}, expected=lambda: CONTENT, other_runs=again)
    assert [failure.test for failure in answer.failing] == [B[0]]
    # a file that could not be collected is settled by its tests
    broken = made("a1", *A, "test_b.py=error", result=FAILED)
    tests = other_run(made("b2", *B), {B[0]: stale, B[1]: Verdict(VALID)}, is_own=True)
    answer = proof([*entries_of(tests), broken], {}, expected=lambda: CONTENT, other_runs=tests)
    assert answer.failing == ()
    assert [missing for missing in answer.missing if missing.reason == stale.reason] == [
        (B[0], stale.reason)
    ]
    # a run of another content settles no failure of this one
    elsewhere = other_run(made("b2", B[0]), {B[0]: stale})
    facts: Any = {"expected": lambda: CONTENT, "other_runs": elsewhere}
    assert proof([*entries_of(elsewhere), failed], {}, **facts).failing[0].test == B[0]
    # a pass here of which every result is valid leaves nothing open
    here = made("b2", B[0], selection=PART)
    assert proof([here, failed], {}, expected=lambda: CONTENT).failing == ()


def test_only_a_run_that_did_not_end_leaves_a_test_open() -> None:
    message = Evidence("TestResult", f"test:{B[0]}", "error", 0, None, {"message": WAS_RUNNING})
    ended = run("a1", evidence=(message,), result=FAILED)
    assert [failure.test for failure in proof([ended], {}).failing] == [B[0]]


def test_what_must_run_again_of_another_content_speaks_against_no_run() -> None:
    verdicts = {A[0]: Verdict(STALE)}
    others = other_run(made("a1", *verdicts), verdicts)
    (other,) = others.values()
    assert judge_run(ContentRun(other.entry, other=other)).counts
