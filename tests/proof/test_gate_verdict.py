"""The gate's verdict on plain facts: whose runs count, which other runs are used, and what is noted
next to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.evidence.executed import Executed
from kl_hooks.evidence.ledger import Entry
from kl_hooks.evidence.reads import Read, Reads
from kl_hooks.model.claim import Tier
from kl_hooks.model.receipt import Receipt
from kl_hooks.proof.configured_selection import ConfiguredSelection
from kl_hooks.proof.content_proof import Proof
from kl_hooks.proof.content_runs import ContentFacts
from kl_hooks.proof.facts import NOT_ASSESSED, STALE, VALID, Difference, FileChange, Verdict
from kl_hooks.proof.gate_verdict import (
    GateFacts,
    _runs_to_use,
    decide,
    for_environment,
    not_assessed,
)
from kl_hooks.proof.other_runs import OtherRun
from kl_hooks.proof.pytest_config import PytestConfig
from tests.evidence.making import executed_sets
from tests.evidence.test_claims import DONE, HERE, LINUX, THERE
from tests.proof.test_content_proof import FAILED, other_run
from tests.proof.test_gate_union import CONTENT, PART, A, B, made, wanted

OLDER = {**LINUX, "python": "3.12.1"}
CI, SIGNED = "ci:build", "signed:ann"


def content_of(*entries: Entry, **facts: Any) -> ContentFacts:
    return ContentFacts(entries, {}, (HERE,), **({"expected": lambda: CONTENT} | facts))


def of_other_content(
    entry: Entry, states: Mapping[str, str] | str = VALID, *paths: str, **changes: Any
) -> OtherRun:
    """A run of another content, which differs from the judged one in these files."""
    names = [result.subject.removeprefix("test:") for result in entry.receipt.evidence]
    by_name = dict.fromkeys(names, states) if isinstance(states, str) else states
    verdicts = {
        name: Verdict(state, "" if state == VALID else "app.f changed")
        for name, state in by_name.items()
    }
    (run,) = other_run(entry, verdicts).values()
    files = {path: FileChange(path, "100644 1", "100644 2") for path in paths}
    return run._replace(changes=Difference(files), **changes)


def decided(*own: Entry, others: Sequence[OtherRun] = (), **facts: Any) -> Proof:
    return decide(GateFacts(content_of(*own), other_runs=lambda: others, **facts))


def never() -> Sequence[OtherRun]:
    raise AssertionError("it costs time, and nobody needs it")


# Whose runs count


def test_of_a_proven_content_no_other_run_is_read() -> None:
    proof = decide(GateFacts(content_of(made("a1", *A, *B)), other_runs=never))
    assert (proof.state, proof.tests.proven) == ("proven", 4)
    assert (proof.notes, proof.not_compared, proof.flaky) == ((), (), ())


def test_where_a_ci_is_asked_for_only_what_its_key_signed_counts() -> None:
    local = made("a1", *A, *B)
    no_run = (
        "no trusted key of a CI signed a run of this content (see: kl trust list, kl sync --pull)"
    )
    for entry in (local, local._replace(origin=SIGNED), local._replace(origin="cinema:a")):
        proof = decided(entry, origin="ci")
        assert (proof.tier, proof.reasons) == (Tier.GUESSED, (no_run,))
    signed = made("a2", *A, *B, origin=CI)
    # one run of it is enough
    proof = decided(signed, local, origin="ci")
    assert (proof.tier, proof.runs, proof.tests.proven) == (Tier.VERIFIED, ("a2" * 16,), 4)
    assert decided(signed).tier is Tier.INFERRED
    part = made("a2", *A, origin=CI, selection=PART)
    proof = decided(part, local, origin="ci")
    assert (proof.tier, proof.missing[0].name) == (Tier.GUESSED, "test_b.py")


def test_a_failure_counts_whoever_saw_it() -> None:
    signed = made("a1", *A, *B, origin=CI)
    failed = made("a2", *A, f"{B[0]}=failed", result=FAILED)
    proof = decided(failed, signed, origin="ci")
    assert (proof.tier, proof.failed) == (Tier.GUESSED, "newest")
    # whatever ran elsewhere
    others = [of_other_content(made("b3", *A, *B))]
    proof = decided(failed, others=others)
    assert (proof.tier, proof.failed, proof.transfers) == (Tier.GUESSED, "newest", ())
    assert (proof.tests.failing, proof.tests.transferred) == (1, 1), (
        "of the other tests it is known"
    )


def test_a_run_of_another_content_is_never_the_word_of_a_ci_on_this_one() -> None:
    elsewhere = [
        of_other_content(made("b2", *A, *B, origin=CI)),
        of_other_content(made("b1", *A, *B, origin=CI, environment=OLDER)),
    ]
    assert decided(others=elsewhere).tier is Tier.VERIFIED, "two environments"
    proof = decided(others=elsewhere, origin="ci")
    assert (proof.tier, proof.state) == (Tier.INFERRED, "transferred")
    local = [of_other_content(made("b1", *A, *B))]
    proof = decided(others=local, origin="ci")
    assert (proof.tier, proof.transfers) == (Tier.GUESSED, ())


# Which runs of other contents are used


def test_runs_of_other_contents_prove_with_what_ran_here() -> None:
    here = made("a3", *A, selection=PART)
    proof = decided(
        here,
        others=[
            of_other_content(
                made("b2", *A, *B), {A[0]: STALE, A[1]: STALE, B[0]: VALID, B[1]: VALID}
            )
        ],
    )
    assert (proof.state, proof.ran, proof.transferred_tests) == ("transferred", 2, 2)
    assert (proof.tests.proven, proof.tests.transferred) == (2, 2)


def test_what_must_run_again_is_named_where_no_result_is_valid() -> None:
    stale = of_other_content(made("b2", *A, *B), STALE)
    proof = decided(others=[stale])
    assert (proof.tier, proof.tests.rerun) == (Tier.GUESSED, 4)
    assert {(test.name, test.reason) for test in proof.missing} == {
        (name, "app.f changed") for name in (*A, *B)
    }
    unknown = of_other_content(made("b2", *A, *B), NOT_ASSESSED)
    proof = decided(others=[unknown])
    assert proof.not_compared == ("run b2b2b2b2: app.f changed",)
    assert proof.tests.rerun == 0


def test_where_valid_results_prove_it_no_other_run_counts() -> None:
    removed_test = "test_removed.py::test_one"
    valid = of_other_content(made("b2", *A, selection=PART))
    older = of_other_content(made("b1", *A, *B, removed_test), STALE)
    here = made("a3", *B, selection=PART)
    assert decided(here, others=[valid, older]).state == "transferred"
    proof = decided(here, others=[older])
    assert (proof.state, removed_test in [test.name for test in proof.missing]) == (
        "not proven",
        True,
    )


STATES = st.sampled_from(
    [(VALID,), (STALE,), (NOT_ASSESSED,), (VALID, STALE), (STALE, NOT_ASSESSED)]
)


@given(st.lists(st.tuples(STATES, st.booleans()), max_size=6))
def test_valid_runs_come_first_then_compared_ones_down_to_a_complete_run(
    shapes: list[tuple[tuple[str, ...], bool]],
) -> None:
    runs = [
        of_other_content(
            made(f"b{at}", *A[: len(states)], selection=PART if is_part else {}),
            dict(zip(A, states, strict=False)),
        )
        for at, (states, is_part) in enumerate(shapes)
    ]
    steps = list(_runs_to_use(runs))
    valid = [run for run in runs if run.valid]
    if valid:
        assert steps[0] == valid
    else:
        assert len(steps) <= 1
    last = steps[-1] if steps else []
    assert last == [run for run in runs if run in last], "newest first"
    complete = [run for run in last if run.is_compared and not run.original.receipt.selection]
    for run in runs:
        is_after_complete = bool(complete) and runs.index(run) > runs.index(complete[0])
        assert (run in last) == bool(run.valid or (run.is_compared and not is_after_complete))


def test_what_the_configuration_omits_limits_no_run_of_another_content() -> None:
    config = PytestConfig("pytest.ini", addopts=("-m", "not slow"))
    content = wanted("test_a.py", "test_b.py", configured=ConfiguredSelection.of(config))
    omitting = {
        "markers": "not slow",
        "deselected": 1,
        "deselected_by_options": 1,
        "deselected_files": ["test_a.py"],
    }
    here = made("a3", B[0], selection=PART)
    run = made("b2", A[0], *B, selection=omitting)

    def state(
        *changed: str, selection: Mapping[str, Any] = omitting, expected: Any = content
    ) -> str:
        entry = run._replace(receipt=run.receipt._replace(selection=selection))
        other = of_other_content(entry, VALID, *changed)
        own = content_of(here, expected=lambda: expected)
        return decide(GateFacts(own, other_runs=lambda: [other])).state

    assert state() == state("test_b.py") == "transferred"
    # the file has changed: the test that was never asked may be another one
    assert state("test_a.py") == "not proven"
    # which files these are was too many to name
    unnamed = {**omitting, "deselected_files": None}
    assert state(selection=unnamed) == "transferred"
    assert state("test_b.py", selection=unnamed) == "not proven"
    # nor a run of the content itself
    own = decide(GateFacts(content_of(run, expected=lambda: content)))
    assert (own.state, own.runs) == ("proven", ("b2" * 16,))
    # what was typed is no configuration
    assert state(expected=CONTENT) == "not proven"
    assert state(selection={**omitting, "markers": "not fast"}) == "not proven"


def test_a_content_without_expected_tests_takes_a_run_as_it_is() -> None:
    other = of_other_content(made("b2", *A, selection=PART))
    content = content_of(expected=None)
    assert decide(GateFacts(content, other_runs=lambda: [other])).state == "not proven"


def test_the_commands_around_all_runs_are_read() -> None:
    failing = made("c1", "x", source="command", observer="kl run")
    fact = failing.receipt.evidence[0]._replace(
        kind="ExitCode",
        outcome="failed",
        detail={"exit": 1, "pid": 41},
    )
    parent = failing._replace(receipt=failing.receipt._replace(evidence=(fact,)))
    environment = {**LINUX, "pid": 41}
    other = of_other_content(made("b2", *A, *B, parent=parent.receipt.run, environment=environment))

    def parents(entries: Any) -> dict[str, Entry]:
        wanted_runs = {entry.receipt.parent for entry in entries}
        return {parent.receipt.run: parent} if parent.receipt.run in wanted_runs else {}

    assert decided(others=[other]).state == "transferred"
    proof = decided(others=[other], parents=parents)
    assert (proof.state, proof.transfers) == ("not proven", ())


# What is installed otherwise


def test_results_that_rest_on_what_was_installed_otherwise_are_taken_out() -> None:
    whole, valid = made("a2", *A, *B), made("a1", *A, *B)
    states = {A[0]: Verdict(VALID), A[1]: Verdict(VALID), B[0]: Verdict(VALID)}
    outdated = other_run(whole, {**states, B[1]: Verdict(STALE, "leafdep 1.0 → 2.0")}, is_own=True)
    current = other_run(valid, {**states, B[1]: Verdict(VALID)}, is_own=True)
    runs = [*outdated.values(), *current.values()]
    content = for_environment(content_of(whole, valid), runs)
    assert [len(entry.receipt.evidence) for entry in content.entries] == [3, 4]
    assert content.other_runs.keys() == outdated.keys()
    alone = for_environment(content_of(whole), outdated.values())
    proof = decide(GateFacts(alone, own_runs=list(outdated.values())))
    assert (proof.tier, proof.missing) == (Tier.GUESSED, ((B[1], "leafdep 1.0 → 2.0"),))
    # beside a run of another content
    others = [of_other_content(made("b3", *B), {B[0]: VALID, B[1]: VALID})]
    proof = decide(GateFacts(alone, list(outdated.values()), lambda: others))
    assert (proof.state, proof.tests.proven, proof.tests.transferred) == ("transferred", 3, 1)


def test_a_whole_run_that_holds_no_more_is_named_beside_a_part_of_another_environment() -> None:
    whole = made("a1", *A, *B)
    part = made("b2", A[0], selection=PART, environment=OLDER)
    because = Verdict(STALE, "the variable APP_MODE is set now, which the test looked for")
    states = dict.fromkeys((*A, *B), because) | {B[1]: Verdict(STALE, "leafdep 1.0 → 2.0")}
    (outdated,) = other_run(whole, states, is_own=True).values()
    content = for_environment(content_of(part, whole), [outdated])
    proof = decide(GateFacts(content, [outdated]))
    assert proof.tier is Tier.GUESSED
    assert proof.reasons[0] == (
        f"run {whole.receipt.run[:8]}: 3 results must run again: {because.reason}, and 1 other"
        " reason"
    )
    # where it is the reason of what is missing, it is named there
    alone = decide(GateFacts(for_environment(content_of(whole), [outdated]), [outdated]))
    assert {test.reason for test in alone.missing} == {because.reason, "leafdep 1.0 → 2.0"}
    assert not any("results must run again" in reason for reason in alone.reasons)


def test_why_environments_were_not_compared_is_one_note_for_each_cause() -> None:
    def own(name: str, tests: Sequence[str], cause: str, **changes: Any) -> tuple[Entry, OtherRun]:
        entry = made(name, *tests, **changes)
        (run,) = other_run(entry, dict.fromkeys(tests, Verdict(VALID)), is_own=True).values()
        return entry, run._replace(not_compared=cause)

    removed = "its environment was removed"
    first, run_of_first = own("a1", A, removed, selection=PART)
    second, run_of_second = own("a2", B, removed, selection=PART)
    part, run_of_part = own("a3", A, "it ran on another machine", result=FAILED)
    facts = GateFacts(content_of(second, first), [run_of_second, run_of_first])
    assert decide(facts).notes == (f"runs a2a2a2a2, a1a1a1a1: {removed}",)
    whole, run_of_whole = own("a4", [*A, *B], removed)
    assert decide(GateFacts(content_of(whole), [run_of_whole])).notes == (
        f"run a4a4a4a4: {removed}",
    )
    # of a run that proves nothing it does not matter, of a compared one there is nothing to note
    compared = run_of_whole._replace(not_compared="")
    assert decide(GateFacts(content_of(part, whole), [run_of_part, compared])).notes == ()
    other = of_other_content(made("b5", *A, *B), not_compared=removed)
    assert decided(others=[other]).notes == (f"run b5b5b5b5: {removed}",)


# Flaky tests


def flaky(*tests: str) -> Any:
    def why(test: str, receipt: Receipt) -> str:
        return "flaky: failed in 2 of 6 runs" if test in tests else ""

    return why


def test_passes_of_flaky_tests_are_named_and_alone_they_prove_nothing() -> None:
    run = made("a1", *A, *B)
    proof = decided(run, why_flaky=flaky(B[0]))
    assert (proof.tier, proof.flaky) == (Tier.INFERRED, (f"{B[0]} (failed in 2 of 6 runs)",))
    proof = decided(run, why_flaky=flaky(*A, *B))
    assert (proof.tier, proof.run, proof.runs) == (Tier.GUESSED, None, ())
    named = ", ".join(f"{test} (failed in 2 of 6 runs)" for test in (*A, B[0]))
    assert proof.reasons[0] == f"only flaky tests passed: {named} and 1 more"
    assert len(proof.flaky) == 4
    # a pass on a rerun is one of a flaky test
    rerun = made("a1", A[0], f"{A[1]}=flaky", *B)
    assert decided(rerun).flaky == (f"{A[1]} (passed on a rerun)",)
    only = made("a1", *(f"{test}=flaky" for test in A), *B)
    assert decided(only, why_flaky=flaky(*B)).tier is Tier.GUESSED


def test_a_pass_elsewhere_of_the_same_flaky_test_is_no_other_pass() -> None:
    first = made("a1", f"{A[0]}=flaky", A[1], selection=PART)
    second = made("a2", A[0], *B, selection=PART)
    proof = decided(second, first, why_flaky=flaky(A[1], *B))
    assert (proof.tier, len(proof.flaky)) == (Tier.GUESSED, 4)


def test_flaky_passes_count_where_they_are_of_a_proving_run() -> None:
    whole = made("a1", *A, *B)
    stopped = made("a2", A[0], result={**DONE, "complete": False})
    assert decided(stopped, whole, why_flaky=flaky(A[0])).flaky == (
        f"{A[0]} (failed in 2 of 6 runs)",
    )

    def in_stopped(test: str, receipt: Receipt) -> str:
        return "flaky: failed" if receipt.run == stopped.receipt.run else ""

    assert decided(stopped, whole, why_flaky=in_stopped).flaky == ()
    # of runs of other contents too
    other = of_other_content(made("b2", *A, *B))
    assert decided(others=[other], why_flaky=flaky(B[1])).flaky == (
        f"{B[1]} (failed in 2 of 6 runs)",
    )
    # of what is not proven nobody asks
    assert decided(stopped, why_flaky=flaky(A[0])).flaky == ()


# What is noted beside a verdict


@pytest.mark.parametrize(
    ("untracked", "note"),
    [
        ((), ()),
        (("notes.md",), ()),
        (("a.py",), ("a.py is untracked, and was not there when the tests ran",)),
        (
            ("a.py", "notes.md", "b.py"),
            ("a.py, b.py are untracked, and were not there when the tests ran",),
        ),
    ],
)
def test_untracked_files_that_the_runs_did_not_have_are_noted(
    untracked: Sequence[str], note: tuple[str, ...]
) -> None:
    content = content_of(made("a1", *A, *B, tree_all=HERE))._replace(trees=(HERE, THERE))
    proof = decide(GateFacts(content, untracked=lambda: untracked))
    assert (proof.tier, proof.notes) == (Tier.INFERRED, note)
    # a run had them
    with_them = content._replace(entries=(made("a2", *A, *B, tree_all=THERE), *content.entries))
    assert decide(GateFacts(with_them, untracked=lambda: untracked)).notes == ()
    # where nothing is proven they are no matter
    part = content._replace(entries=(made("a1", *A, tree_all=HERE),))
    assert decide(GateFacts(part, untracked=never)).notes == ()
    # the run that had them proves nothing
    stopped = made("a2", *A, tree_all=THERE, result={**DONE, "complete": False})
    beside = content._replace(entries=(stopped, *content.entries))
    assert decide(GateFacts(beside, untracked=lambda: untracked)).notes == note


def executed(reads: Reads) -> Executed:
    return executed_sets(
        {A[0]: {"function:test_a.test_one": "call"}},
        {"function:test_a.test_one": "test_a.py"},
        modules={"test_a.py": []},
        reads=reads,
    )


def test_changed_files_that_no_event_shows_are_noted_beside_a_transfer() -> None:
    opened = executed(Reads(tests={A[0]: frozenset({Read("data/a.json")})}))
    changed = ("data/c.pem", "data/b.pem", "elsewhere/d.pem")
    run = of_other_content(made("b2", *A, *B), VALID, *changed, executed=opened)
    words = "changed; files that C libraries open, or that are only probed, are not recorded"
    assert decided(others=[run]).notes == (f"data/b.pem, data/c.pem {words}",)
    # a run of the content itself opened one of them
    here = made("a3", *A, selection=PART)
    reads = {here.id: executed(Reads(tests={A[0]: frozenset({Read("data/b.pem")})}))}
    proof = decided(here, others=[run], executed=lambda entry: reads.get(entry.id))
    assert proof.notes == (f"data/c.pem {words}",)
    # nothing is transferred from it
    whole = made("a4", *A, *B)
    assert decided(whole, others=[run]).notes == ()
    assert decided(others=[run._replace(executed=None)]).notes == ()
    second = of_other_content(made("b1", *A, *B), STALE, "data/e.pem", executed=opened)
    assert decided(others=[run, second]).notes == (f"data/b.pem, data/c.pem {words}",)


def test_variables_are_compared_of_the_runs_that_the_proof_rests_on() -> None:
    proving, other = executed(Reads()), executed(Reads())
    runs = [
        of_other_content(made("b2", *A, *B), VALID, executed=proving),
        of_other_content(made("b1", *A, *B), STALE, executed=other),
        of_other_content(made("b0", *A), NOT_ASSESSED),
    ]
    compared: list[Executed] = []

    def note(runs: Iterable[Executed]) -> list[str]:
        compared.extend(runs)
        return ["APP_MODE has another value now"]

    proof = decided(others=runs, variable_notes=note)
    assert proof.notes == ("APP_MODE has another value now",)
    assert [run is proving for run in compared] == [True]
    # beside no proof is no note
    assert decided(others=runs[1:], variable_notes=note).notes == ()


def test_runs_that_count_for_nothing_are_named_with_the_reason() -> None:
    elsewhere = made("d4", A[0], origin="imported:notes; the key of ann is not trusted")
    empty = made("d5", origin="imported:notes")
    unknown = of_other_content(made("b2", *A), NOT_ASSESSED)
    stale, valid = of_other_content(made("b1", *A), STALE), of_other_content(made("b0", *A))
    (own,) = other_run(
        made("a1", *A), dict.fromkeys(A, Verdict(NOT_ASSESSED, "x")), is_own=True
    ).values()
    facts = GateFacts(
        content_of(), [own], lambda: [unknown, stale, valid], untrusted=[elsewhere, empty]
    )
    assert decide(facts).not_compared == (
        "run d4d4d4d4: imported, and the key of ann is not trusted: assumed",
        "run a1a1a1a1: x",
        "run b2b2b2b2: app.f changed",
    )


def test_after_a_loss_of_receipts_only_later_runs_count() -> None:
    loss = "the store lost the receipts 3 to 5"
    earlier = content_of(made("a1", *A, *B))._replace(lost_until=5)
    proof = decide(GateFacts(earlier, losses=(loss,)))
    assert (proof.tier, proof.reasons) == (Tier.GUESSED, (f"not assessed: {loss}",))
    assert proof == not_assessed((loss,))
    assert proof.gaps == (loss,)
    later = content_of(made("a6", *A, *B))._replace(lost_until=5)
    proof = decide(GateFacts(later, losses=(loss,)))
    assert (proof.tier, proof.notes) == (Tier.INFERRED, (f"{loss}: only runs after that count",))
    # a failure is known, whatever was lost
    failed = content_of(made("a1", f"{A[0]}=failed", result=FAILED))._replace(lost_until=5)
    assert decide(GateFacts(failed, losses=(loss,))).failed == "newest"
