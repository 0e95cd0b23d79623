"""What receipts show of a gate's demands: linters by the program that ran, the total of coverage by
what pytest-cov reported.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kl_hooks.evidence.ledger import Entry
from kl_hooks.kinds.gate import Gate
from kl_hooks.kinds.gate_evidence import GateEvidence, _is_linter, _report_limit
from kl_hooks.model.receipt import Evidence, Receipt
from pytest_kl.recorder import _coverage_total
from tests.kinds.test_gate import gate

DEMANDING = gate(1, lint_required=True, coverage_threshold=75)


def entry(seq: int, source: str, *evidence: Evidence, **more: Any) -> Entry:
    origin = more.pop("origin", "local")
    receipt = Receipt(
        f"{seq:032x}", source, source, "local:x", evidence, "2027-01-01", "2027-01-01", **more
    )
    return Entry(seq, "", origin, f"{seq}", receipt)


def command(seq: int, line: str, outcome: str = "passed", **more: Any) -> Entry:
    return entry(seq, "command", Evidence("ExitCode", f"command:{line}", outcome), **more)


def run(seq: int, hundredths: Any, sources: Any = (), **more: Any) -> Entry:
    coverage = {"hundredths": hundredths, "precision": 0, "sources": list(sources)}
    return entry(seq, "pytest", result={"coverage": coverage}, **more)


def demands(*entries: Entry) -> dict[str, tuple[bool | None, str]]:
    """Name → whether it is met, and why, of receipts given newest first."""
    checked = Gate(DEMANDING).check(GateEvidence.of(True, entries))
    return {demand.name: (demand.met, demand.reason) for demand in checked}


@pytest.mark.parametrize(
    "line",
    [
        "ruff check .",
        "uv run --frozen ruff check src",
        "python3.13 -m flake8",
        "/opt/venv/bin/pylint shop",
        "env FORCE_COLOR=1 pre-commit run --all-files",
        "make -s lint",
        "tox -e lint",
        "./scripts/lint --all",
        "hatch run lint",
    ],
)
def test_a_linter_is_known_by_the_program_that_runs(line: str) -> None:
    assert _is_linter(line)


@pytest.mark.parametrize(
    "line",
    [
        "echo ruff check .",
        "sh -c 'true; ruff check .'",
        "true # flake8",
        "ruff format .",
        "cat pylint",
        "make test",
        "uv pip install ruff check",
        "'unclosed",
        "",
    ],
)
def test_a_command_that_only_has_the_words_is_no_linter(line: str) -> None:
    assert not _is_linter(line)


@pytest.mark.parametrize(
    "line",
    ["ruff check -e .", "ruff check --exit-zero .", "flake8 --version", "pylint --disable=all x"],
)
def test_an_option_that_may_hide_what_a_linter_finds_is_named(line: str) -> None:
    met, reason = demands(command(1, line))["lint"]
    assert met is None
    option = next(word for word in line.split() if word.startswith("-"))
    assert f"({option})" in reason and f"kl gate edit GATE-0001 --lint-command '{line}'" in reason
    assert demands(command(1, line, "failed"))["lint"][0] is False
    assert demands(command(2, line), command(1, "ruff check ."))["lint"][0] is True


def test_a_gate_that_names_its_linter_counts_no_other_command() -> None:
    stated = gate(1, lint_required=True, lint_command="./check --strict 'a b'")

    def met(*entries: Entry) -> tuple[bool | None, str]:
        [demand] = Gate(stated).check(GateEvidence.of(True, entries))
        return demand.met, demand.reason

    assert met(command(1, "ruff check .")) == (
        None,
        "lint is clean: it did not run on this content: kl run -- ./check --strict 'a b'",
    )
    # the same words, quoted otherwise
    assert met(command(1, './check --strict "a b"'))[0] is True
    assert (
        met(command(2, "ruff check ."), command(1, "./check --strict 'a b'", "failed"))[0] is False
    )


def test_the_last_run_of_each_linter_decides_and_one_that_failed_is_enough() -> None:
    assert demands()["lint"][0] is None
    assert demands(command(2, "ruff check ."), command(1, "ruff check .", "failed"))["lint"] == (
        True,
        "lint is clean: ruff check .",
    )
    assert demands(command(2, "ruff check ."), command(1, "pylint x", "failed"))["lint"] == (
        False,
        "failed: pylint x",
    )
    assert demands(command(1, "ruff check .", moved=True))["lint"][0] is None
    assert demands(command(1, "ruff check .", origin="imported:bundle"))["lint"][0] is None


@pytest.mark.parametrize(
    ("entries", "met", "words"),
    [
        ([], None, "Measure it with: pytest --cov --cov-fail-under=75"),
        ([run(1, 7500, ["shop"])], True, "75 % of shop in run 00000000"),
        ([run(1, 7450)], False, "74 % in run"),
        ([run(1, 7460)], True, "75 % in run"),
        ([run(2, 2000), run(1, 9000)], False, "20 % in run"),
        ([run(2, 2000, selection={"keyword": "x"}), run(1, 9000)], True, "90 % in run"),
        ([run(1, 2000, selection={"keyword": "x"})], None, "of a part of the tests"),
        ([run(1, 9000, selection={"keyword": "x"})], True, "90 %"),
        ([run(1, 9000, moved=True)], None, "no coverage is recorded"),
        ([run(1, 9000, origin="imported:bundle")], None, "no coverage is recorded"),
        ([run(1, 9000, origin="ci:github")], True, "90 %"),
        ([run(1, 10_001)], None, "no coverage is recorded"),
        ([run(1, True)], None, "no coverage is recorded"),
        ([run(1, "9000")], None, "no coverage is recorded"),
        ([entry(1, "pytest", result={"coverage": "all"})], None, "no coverage is recorded"),
        ([command(1, "coverage report --fail-under=80")], True, "passed: coverage report"),
        ([command(1, "coverage report --fail-under 60")], None, "no coverage is recorded"),
        ([command(1, "python -m coverage report --fail-under 60", "failed")], False, "failed"),
        ([command(1, "coverage report --fail-under=80", "failed")], None, "no coverage"),
    ],
)
def test_coverage_is_read_from_the_run_or_from_a_report_that_was_asked_for_enough(
    entries: list[Entry], met: bool | None, words: str
) -> None:
    found, reason = demands(*entries)["coverage"]
    assert (found, words in reason) == (met, True), reason


def test_only_a_report_of_coverage_has_a_limit() -> None:
    assert _report_limit("uv run coverage xml --fail-under=81.5") == 81.5
    for line in ("coverage run -m pytest", "coverage report", "coverage report --fail-under=x"):
        assert _report_limit(line) is None


def test_the_total_is_read_from_the_object_of_pytest_cov() -> None:
    options = SimpleNamespace(cov_precision=2, cov_source=["shop", "a\udcff"])
    plugin = SimpleNamespace(cov_total=87.5349, options=options)
    assert _coverage_total(plugin) == {
        "hundredths": 8753,
        "precision": 2,
        "sources": ["shop", "a?"],
    }
    assert _coverage_total(SimpleNamespace(cov_total=0, options=SimpleNamespace(cov_source=True)))
    for nothing in (None, object(), SimpleNamespace(cov_total=None), SimpleNamespace(cov_total="")):
        assert _coverage_total(nothing) == {}
