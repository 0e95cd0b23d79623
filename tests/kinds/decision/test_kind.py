"""The kind `decision`: its fields, every spelling of the seeds, and the records that we and `kl
arch allow` write.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.arch.exceptions import decision_text
from kl_hooks.arch.layers import Edge
from kl_hooks.arch.manifest_parser import read_manifest
from kl_hooks.kinds.catalog import DECISION
from kl_hooks.model.manifest import Allowance
from kl_hooks.model.symbol import Link
from kl_hooks.records.document import read_document, render_document
from kl_hooks.records.validate import validate
from tests.arch.shop import LAYERS, ORDER

OURS = sorted((Path(__file__).parents[3] / ".kl/knowledge/decisions").glob("*.md"))
SEEDS = """title status date context decision alternatives consequences supersedes tags governs
trigger source_task_id source_feature_id source_command rationale alternatives_considered superseded_by
related_adrs created_at decided_at deprecated_at confidence violation_symptoms deciders"""
BASE = {"title": "T", "context": "C", "decision": "D"}


def problems_of(**values: Any) -> list[str]:
    return [
        str(one) for one in validate(DECISION, {**BASE, **values}, lambda name: (name, 1, 1))[1]
    ]


def test_the_fields_of_both_seeds_are_there() -> None:
    assert set(SEEDS.split()) <= set(DECISION.by_name)
    assert DECISION.by_name["governs"].relation == "adr_governs"


@pytest.mark.requirement("B20", "A21")
@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("Proposed", "proposed"),
        ("ACCEPTED", "accepted"),
        ("Superseded", "superseded"),
        ("DEPRECATED", "deprecated"),
        ("Rejected", "rejected"),
        ("superceded", "superseded"),
        ("draft", "proposed"),
    ],
)
def test_statuses_in_any_spelling(given: str, stored: str) -> None:
    values, problems = validate(DECISION, {**BASE, "status": given}, lambda name: (name, 1, 1))
    assert (values["status"], problems) == (stored, [])


@pytest.mark.requirement("B20")
def test_triggers_in_any_spelling() -> None:
    for trigger in DECISION.by_name["trigger"].choices:
        for spelling in (trigger.upper(), trigger.replace("_", "-"), trigger.title()):
            values, problems = validate(
                DECISION, {**BASE, "trigger": spelling}, lambda name: (name, 1, 1)
            )
            assert (values["trigger"], problems) == (trigger, [])


@pytest.mark.parametrize(
    ("given", "percent"), [(0.82, 82), ("0.4", 40), (85, 85), ("1.0", 100), (0, 0)]
)
def test_confidence_is_a_whole_percent(given: Any, percent: int) -> None:
    values, _ = validate(DECISION, {**BASE, "confidence": given}, lambda name: (name, 1, 1))
    assert values["confidence"] == percent


def test_everything_wrong_is_reported_at_once() -> None:
    printed = problems_of(
        title="", status="perhaps", trigger="whim", confidence="120", governs=["../x"], date="soon"
    )
    assert len(printed) == 6 and all(one.partition(":")[0] in DECISION.by_name for one in printed)


@pytest.mark.requirement("A21")
def test_title_context_and_decision_must_state_something() -> None:
    for name in BASE:
        assert problems_of(**{name: "  "})


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name[:8])
def test_our_own_records_are_valid(path: Path) -> None:
    found = read_document(DECISION, f".kl/knowledge/decisions/{path.name}", path.read_bytes())
    assert (found.problems, found.remarks) == ((), ())
    assert (
        found.record is not None and found.record.text("context") and found.record.text("decision")
    )


@given(
    st.text(min_size=1, max_size=60).filter(lambda text: bool(text.strip()))
    | st.just("# x\n---\n## Decision\n```"),
    st.sampled_from(["core", "core: [x]", 'it\'s "quoted"', "a#b"]),
)
def test_what_arch_allow_writes_is_valid(reason: str, source: str) -> None:
    rules = read_manifest("m.yaml", LAYERS.encode())
    link = Link(
        "namespace:shop.core.order", "imports", "namespace:shop.web.page", path=ORDER, line=2
    )
    edge = Edge(link, "shop.core.order", "shop.web.page", *rules.layers)
    one = Allowance(source, "web", "2027-01-31", "ADR-0007")
    text = decision_text("ADR-0007", one, reason, "2026-11-22", rules, [edge], [])
    found = read_document(DECISION, "ADR-0007-x.md", text.encode("utf-8", "replace"))
    assert found.problems == ()
    assert found.record is not None and found.record.status == "proposed"
    assert (
        read_document(
            DECISION, "ADR-0007-x.md", render_document(DECISION, found.record).encode()
        ).record
        is not None
    )
