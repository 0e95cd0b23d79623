"""The profile `quota`: traits, budgets and shares as tables, thresholds and metrics; and a page
that is divided.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.config.kinds_file import BUDGET_CATEGORIES
from kl_hooks.context.build import combine
from kl_hooks.context.fuse import Code
from kl_hooks.context.gather import Gathered, code_of, near_code
from kl_hooks.context.page import HALVES, STYLES, Shares, estimator_of, fit, read_budget
from kl_hooks.context.quota import (
    Measured,
    Quota,
    Traits,
    budget_tokens,
    metrics,
    read_threshold,
    weights_of,
)
from kl_hooks.errors import UsageProblem
from kl_hooks.model.package import Candidate
from kl_hooks.model.parameter import fields_of
from kl_hooks.model.request import TYPES, Request
from tests.context.making import candidate, code, code_of_symbols, ranked, steady, symbol, unique

PHASES = next(field.parameter.choices for field in fields_of(Request) if field.name == "phase")
KNOWN = Traits(similar_task_count=3)
traits = st.builds(
    Traits,
    task_type=st.sampled_from(TYPES),
    current_phase=st.sampled_from(PHASES),
    complexity=st.integers(1, 10),
    is_first_of_type=st.booleans(),
    similar_task_count=st.integers(0, 5),
    is_refinement=st.booleans(),
    current_actor=st.sampled_from(["player", "coach", "writer"]),
    turn_number=st.integers(0, 3),
    is_autobuild=st.booleans(),
    has_previous_turns=st.booleans(),
)


@pytest.mark.requirement("B39", "B40")
@pytest.mark.parametrize(
    ("changes", "tokens"),
    [
        ({"complexity": 1}, 2_000),
        ({"complexity": 3}, 2_000),
        ({"complexity": 4}, 4_000),
        ({"complexity": 6}, 4_000),
        ({"complexity": 7}, 6_000),
        ({"complexity": 10}, 6_000),
        ({"complexity": 11}, 4_000),
        ({"is_first_of_type": True}, 5_200),
        ({"similar_task_count": 2}, 4_600),
        ({"is_first_of_type": True, "similar_task_count": 0}, 5_200),
        ({"complexity": 8, "similar_task_count": 2}, 6_900),
        ({"is_refinement": True}, 4_800),
        ({"turn_number": 2}, 4_000),
        ({"is_autobuild": True, "turn_number": 2}, 4_600),
        ({"is_autobuild": True, "has_previous_turns": True}, 4_400),
        # 2000 · 1.3 = 2600, · 1.2 = 3120, · 1.15 = 3588, · 1.1 = 3946.8
        (
            {
                "complexity": 2,
                "is_first_of_type": True,
                "is_refinement": True,
                "is_autobuild": True,
                "turn_number": 3,
                "has_previous_turns": True,
            },
            3_946,
        ),
    ],
)
def test_the_budget_follows_from_complexity_and_history(
    changes: dict[str, object], tokens: int
) -> None:
    assert budget_tokens(KNOWN._replace(**changes))[0] == tokens  # type: ignore[arg-type]


def shares(**changes: object) -> dict[str, float]:
    """The shares that are not 0, rounded to three digits."""
    weights = weights_of(KNOWN._replace(**changes))  # type: ignore[arg-type]
    return {
        name: round(weight / sum(weights.values()), 3) for name, weight in weights.items() if weight
    }


@pytest.mark.requirement("B41", "B42", "B43")
def test_the_shares_depend_on_type_phase_novelty_and_attempt() -> None:
    six = BUDGET_CATEGORIES[:6]
    assert shares() == dict(zip(six, (0.15, 0.25, 0.2, 0.2, 0.15, 0.05), strict=True))
    # .30 patterns, .25 architecture and .15 outcomes of 1.05 in all
    assert list(shares(task_type="review").values()) == [0.143, 0.143, 0.286, 0.238, 0.143, 0.048]
    assert list(shares(task_type="planning").values()) == [0.227, 0.136, 0.182, 0.273, 0.136, 0.045]
    assert list(shares(current_phase="implement").values()) == [
        0.13,
        0.217,
        0.261,
        0.174,
        0.174,
        0.043,
    ]
    assert list(shares(current_phase="test").values()) == [0.136, 0.318, 0.182, 0.182, 0.136, 0.045]
    assert list(shares(is_first_of_type=True).values()) == [0.13, 0.217, 0.217, 0.261, 0.13, 0.043]
    refined = shares(
        is_refinement=True, task_type="review", current_phase="test", is_first_of_type=True
    )
    assert list(refined.values()) == [0.05, 0.3, 0.15, 0.1, 0.35, 0.05]
    automated = shares(is_autobuild=True, current_actor="writer")
    assert list(automated.values()) == [0.1, 0.15, 0.15, 0.1, 0.1, 0.05, 0.1, 0.1, 0.1, 0.05]
    player = weights_of(KNOWN._replace(is_autobuild=True))
    assert (player["role_constraints"], player["implementation_modes"], sum(player.values())) == (
        150,
        100,
        1_100,
    )
    coach = weights_of(KNOWN._replace(is_autobuild=True, current_actor="coach"))
    assert (
        coach["role_constraints"],
        coach["quality_gate_configs"],
        coach["implementation_modes"],
    ) == (120, 150, 50)
    later = weights_of(KNOWN._replace(is_autobuild=True, turn_number=2))
    assert (later["turn_states"], later["similar_outcomes"], later["feature_context"]) == (
        175,
        80,
        80,
    )
    again = weights_of(KNOWN._replace(is_autobuild=True, turn_number=2, is_refinement=True))
    assert (again["turn_states"], again["warnings"], again["similar_outcomes"]) == (200, 150, 80)


@steady
@given(traits, st.integers(160, 20_000))
@pytest.mark.requirement("B41")
def test_allocations_never_exceed_the_budget_and_an_unknown_category_has_none(
    found: Traits, total: int
) -> None:
    quota = Quota(found, *budget_tokens(found), weights_of(found), 600, {})
    given_to = {name: quota.allocation(name, total) for name in BUDGET_CATEGORIES}
    assert total - len(given_to) <= sum(given_to.values()) <= total
    assert quota.allocation("nonsense", total) == 0
    assert found.is_autobuild or not any(given_to[name] for name in BUDGET_CATEGORIES[6:])


@pytest.mark.requirement("B46")
def test_the_threshold_depends_on_the_sort_of_task_and_the_preset() -> None:
    sorts = [
        KNOWN._replace(is_autobuild=True, is_first_of_type=True, is_refinement=True),
        KNOWN._replace(is_first_of_type=True, is_refinement=True),
        KNOWN._replace(is_refinement=True),
        KNOWN,
    ]
    assert [read_threshold("", one) for one in sorts] == [500, 500, 550, 600]
    assert [read_threshold("strict", one) for one in sorts] == [600, 600, 650, 700]
    assert [read_threshold("relaxed", one) for one in sorts] == [350, 350, 400, 450]
    assert [read_threshold(text, KNOWN) for text in ("0", "0.25", "1")] == [0, 250, 1000]
    for wrong in ("2", "-0.1", "nan", "high"):
        with pytest.raises(UsageProblem, match="takes strict, relaxed or 0 to 1"):
            read_threshold(wrong, KNOWN)


@pytest.mark.requirement("B48")
def test_metrics_count_relevance_coverage_and_use() -> None:
    some = [
        Measured("warnings", 900, True, True),
        Measured("warnings", 700, True, False),
        Measured("domain_knowledge", 200, False, False),
    ]
    found = metrics(some, 300, 400)
    assert (
        found["total_items_retrieved"],
        found["items_above_threshold"],
        found["items_below_threshold"],
    ) == (3, 2, 1)
    assert (found["avg_relevance_score"], found["relevance_rate"], found["acceptable"]) == (
        0.6,
        0.6667,
        False,
    )
    assert (found["budget_utilization"], found["category_coverage"]["warnings"]) == (0.75, 0.5)
    assert found["category_coverage"]["domain_knowledge"] is None
    assert (
        metrics([], 0, 400)["acceptable"] is False
        and metrics(some[:2], 0, 400)["acceptable"] is True
    )


def divided(found: Traits, total: int) -> Shares:
    quota = Quota(
        found, *budget_tokens(found), weights_of(found), 600, {"fact": "domain_knowledge"}
    )
    allocations = {name: quota.allocation(name, total) for name in BUDGET_CATEGORIES}
    return Shares("Job-Specific Context", allocations, quota.category, 95)


@steady
@given(
    unique, code, traits, st.integers(160, 4_000), st.sampled_from(sorted(STYLES)), st.booleans()
)
@pytest.mark.requirement("B49", "B45", "E6")
def test_a_divided_package_never_exceeds_its_budget(
    many: list[Candidate], found: Code, work: Traits, total: int, style: str, characters: bool
) -> None:
    budget = read_budget(str(total + 200) if characters else f"{total}tok", HALVES)
    many = [one._replace(pinned=number == 0) for number, one in enumerate(many)]
    fitted = fit(
        ranked(many), budget, STYLES[style], code=found, shares=divided(work, budget.total)
    )
    shown = fitted.page(STYLES[style], "cp-3f9a1c20b7de")
    assert estimator_of(budget).count(shown) == fitted.budget.used <= budget.total
    listed = [one.ranked.candidate.id for one in (*fitted.chosen, *fitted.code)] + [
        one.id for one in fitted.omissions
    ]
    asked = [*many, *(one.candidate for one in (*found.files, *found.symbols))]
    assert sorted(listed) == sorted(one.id for one in asked)


@pytest.mark.requirement("B41", "B45", "B47", "B49")
def test_categories_are_filled_in_order_up_to_twice_their_share_and_filling_ends_early() -> None:
    facts = [candidate(f"fact{n}", text="word " * 30) for n in range(40)]
    failing = [candidate(f"test{n}", kind="failing test", text="word " * 30) for n in range(40)]
    symbols = code_of_symbols(*(symbol(f"f{n}", f"src/a{n}.py") for n in range(200)))
    budget = read_budget("2000tok", HALVES)
    work = divided(KNOWN, budget.total)
    fitted = fit(ranked([*facts, *failing]), budget, STYLES["text"], code=symbols, shares=work)
    text = fitted.page(STYLES["text"])
    assert text.splitlines()[0].endswith("items") and "Job-Specific Context   Budget: " in text
    assert "/2,000 tokens (estimate json/2)" in text
    order = [line for line in text.splitlines() if line.startswith("## ")]
    assert order == ["## relevant patterns", "## warnings", "## domain knowledge"]
    sizes = {
        name: HALVES.count("".join(one.block for one in fitted.chosen if one.category == name))
        for name in ("warnings", "domain_knowledge")
    }
    assert work.allocations["warnings"] < sizes["warnings"] <= 2 * work.allocations["warnings"]
    assert sizes["domain_knowledge"] <= 2 * work.allocations["domain_knowledge"]
    reasons = {one.reason for one in fitted.omissions}
    assert "over the share of warnings: 300 tokens" in reasons
    tight = work._replace(allocations={"warnings": 2_000, "domain_knowledge": 2_000})
    early = fit(
        ranked([*failing, *facts]), budget, STYLES["text"], shares=tight._replace(early_end=50)
    )
    assert {"early end: 50 % of the budget is used"} == {
        one.reason for one in early.omissions if "fact" in one.id
    }


def test_a_pin_that_fits_no_budget_is_omitted_with_a_reason_and_others_are_outside_the_shares() -> (
    None
):
    long = "function:" + "x" * 290
    pins = [candidate("huge", id=long, pinned=True), candidate("pin", pinned=True)]
    budget = read_budget("200tok", HALVES)
    none = divided(KNOWN, 300)._replace(allocations={"warnings": 300, "domain_knowledge": 0})
    fitted = fit(ranked([*pins, candidate("fact")]), budget, STYLES["text"], shares=none)
    assert [one.ranked.candidate.title for one in fitted.chosen] == ["pin"]
    assert [(one.id, one.reason) for one in fitted.omissions] == [
        (long, "over budget"),
        ("function:shop.fact", "over the share of domain knowledge: 0 tokens"),
    ]


def test_answers_to_several_searches_become_one_and_each_states_which() -> None:
    def answer(names: str, scores: list[int]) -> Gathered:
        rows = tuple(
            symbol(n, f"{n}.py", score=s, parts=(("x", s),))
            for n, s in zip(names, scores, strict=True)
        )
        facts = (candidate(names[0]),)
        return Gathered(
            {"code": rows, "facts": facts},
            {"code": 100, "facts": 80},
            {"code": "ok", "facts": "ok"},
        )

    one = answer("ab", [10, 5])
    assert combine([("query 1", 100, one)]) is one
    both = combine([("query 1", 100, one), ("round 2", 50, answer("bc", [100, 300]))])
    found = {row.title: row for row in both.lists["code"]}
    # b: 5 of 10, and half of 100 of 300 (but it is listed first there, and c after it is bounded by
    # it)
    assert [row.title for row in both.lists["code"]] == ["a", "b", "c"]
    assert found["b"].score == 500_000 + 166_666 and dict(found["b"].parts) == {
        "query 1": 500_000,
        "round 2": 166_666,
    }
    assert (
        found["b"].reasons[-1] == "found by query 1, round 2"
        and found["c"].reasons[-1] == "found by round 2"
    )
    assert found["c"].score == 166_666
    assert (
        set(both.lists) == {"code", "facts", "facts, round 2"}
        and both.weights["facts, round 2"] == 40
    )
    failed = replace(one, coverage={"code": "failed: locked", "facts": "empty"})
    assert combine([("1", 100, one), ("2", 100, failed)]).coverage == {
        "code": "failed: locked",
        "facts": "ok",
    }


@pytest.mark.parametrize("second, shown", [(400, 2), (600, 3)])
def test_where_one_file_is_clearly_meant_weak_ones_are_no_padding(second: int, shown: int) -> None:
    def file(name: str, score: int) -> Candidate:
        parts = (("names", score),) if score == 1000 else ()
        return Candidate(f"file:{name}", "file", name, "", "", name, score=score, parts=parts)

    rows = [
        file("best.py", 1000),
        file("second.py", second),
        file("weak.py", 200),
        symbol("near", "best.py", score=100),
        symbol("far", "best.py", score=15),
    ]
    found, far = near_code(code_of({"code": rows}))
    assert len(found.files) == shown and len(found.symbols) == shown - 1
    assert len(far) == 5 - len(found.files) - len(found.symbols)
    assert near_code(code_of({"code": rows}), 100_000) == (found, far)
