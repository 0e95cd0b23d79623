"""Gaps: what nobody has said yet, the most important first; a gap ends when it is answered."""

from __future__ import annotations

from collections import Counter

import pytest

from kl_hooks.kinds.catalog import FACT_CATEGORIES
from kl_hooks.kinds.interview import QUESTIONS, REVIEW_MODES, review_questions
from kl_hooks.kinds.plugin import kl_kinds
from kl_hooks.model.record import Record
from kl_hooks.records.interview.question import IMPORTANCES, answered, gaps

OTHERS = ("decision",)
"""Kinds that questions name and that are not in this catalogue yet."""


@pytest.mark.requirement("B51")
def test_there_are_23_questions_and_each_names_kinds_and_fields_that_are_there() -> None:
    assert len(QUESTIONS) == len({one.key for one in QUESTIONS}) == 23
    assert Counter(one.category for one in QUESTIONS) == {
        "project_overview": 4, "architecture": 4, "domain": 2, "constraints": 3, "decisions": 2, "goals": 1,
        "role_customization": 3, "quality_gates": 2, "workflow_preferences": 2,
    }  # fmt: skip
    kinds = {kind.name: kind for kind in kl_kinds()}
    for one in QUESTIONS:
        assert one.category in FACT_CATEGORIES and one.importance in IMPORTANCES and one.asks.endswith("?")
        for place in [*one.filled_by, *([one.adds_to] if one.adds_to else [])]:
            assert place.kind in OTHERS or place.field in kinds[place.kind].by_name, one.key
        if one.adds_to:
            assert kinds[one.adds_to.kind].by_name[one.adds_to.field].type == "lines"


@pytest.mark.requirement("B51")
def test_the_most_important_come_first_and_no_more_than_asked_for() -> None:
    found = gaps(QUESTIONS, ())
    assert len(found) == 10 and {one.importance for one in found} == {"high"}
    everything = gaps(QUESTIONS, (), most=100)
    order = [IMPORTANCES.index(one.importance) for one in everything]
    assert len(everything) == 23 and order == sorted(order)
    assert [one.key for one in gaps(QUESTIONS, {"domain_terminology"}, "domain")] == ["business_rules"]
    assert gaps(QUESTIONS, (), most=0) == gaps(QUESTIONS, (), most=-3) == []


def fact(key: str, source: str = "") -> Record:
    return Record("fact", "FACT-0001", {"answers": key, "source": source})


def test_every_gap_can_end() -> None:
    assert gaps(QUESTIONS, answered(QUESTIONS, [fact(one.key) for one in QUESTIONS], {}), most=100) == []


def test_a_record_of_another_kind_can_answer_and_what_came_with_kl_can_not() -> None:
    decision = Record("decision", "ADR-0001", {"decision": "SQLite."})
    assert answered(QUESTIONS, [], {"decision": [decision]}) == {"tech_decisions"}
    shipped = Record("gate", "GATE-0001", {"coverage_threshold": 60, "source": "seed:system"})
    own = Record("gate", "GATE-0002", {"coverage_threshold": 70})
    assert answered(QUESTIONS, [fact("purpose", "seed:system")], {"gate": [shipped]}) == set()
    assert answered(QUESTIONS, [], {"gate": [shipped, own]}) == {"coverage_threshold"}
    guides = [Record("guide", "GUIDE-0001", {"topic": "architecture"})]
    assert answered(QUESTIONS, [], {"guide": guides}) == {"architecture_summary"}


@pytest.mark.requirement("B53")
def test_three_to_five_questions_for_each_sort_of_review() -> None:
    assert set(REVIEW_MODES) == {"architectural", "code-quality", "decision", "technical-debt", "security"}
    for mode in REVIEW_MODES:
        some = review_questions(mode)
        assert 3 <= len(some) <= 5 and all(one.category in FACT_CATEGORIES for one in some)
        assert not {one.key for one in some} & {one.key for one in QUESTIONS}
