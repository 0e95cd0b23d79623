"""Which skills a task needs, what they need in turn, and who has them."""

from __future__ import annotations

import json
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.memory.add import add_memory
from kl_hooks.records.write import apply_verb
from kl_hooks.skills.library import (
    RELATIONS,
    Found,
    coverage,
    edges_of,
    follow,
    instructions,
    similarities,
    team,
)
from kl_hooks.skills.uses import requirements
from kl_hooks.tools.call import call
from tests.support import Checkout

from .making import bare, skill, text, write
from .test_files import ask

NAMES = st.sampled_from("abcdefgh")


@pytest.mark.requirement("D38")
def test_the_score_fades_with_each_relation() -> None:
    a = skill("a", requires=["b"])
    b, c, d = skill("b", composes=["c"]), skill("c", requires=["d"]), skill("d", requires=["e"])
    e, better = skill("e"), skill("better", enhances=["a"])
    found = {
        one.record.title: one for one in follow([a, b, c, d, e, better], {"a": 0.8, "e": 0.39})
    }
    # similarity × (1 − 0.15 × depth), and 0.1 for a description; three relations away is the end
    assert {name: round(one.score, 3) for name, one in found.items()} == {
        "a": 0.9,
        "b": 0.78,
        "better": 0.78,
        "c": 0.66,
        "d": 0.54,
    }
    assert found["better"].reason == "it enhances a" and found["c"].reason == "b composes it"
    assert follow([skill("a", succeeds=["old"]), skill("old")], {"old": 0.5})[1].record.title == "a"
    assert follow([a], {"a": 0.3}) == []


@given(
    st.lists(st.tuples(NAMES, st.sampled_from(RELATIONS), NAMES), max_size=20),
    st.dictionaries(NAMES, st.floats(0, 1)),
)
def test_cycles_end_and_order_does_not_matter(
    edges: list[tuple[str, str, str]], scores: dict[str, float]
) -> None:
    skills = [
        skill(
            name,
            **{
                relation: [t for s, r, t in edges if (s, r) == (name, relation)]
                for relation in RELATIONS
            },
        )
        for name in "abcdefgh"
    ]
    found = follow(skills, scores)
    assert found == follow(skills[::-1], scores) and len(
        {one.record.title for one in found}
    ) == len(found)
    assert all(0 <= one.score <= 1.1 and one.depth <= 3 for one in found)
    for name in "abcdefgh":
        needed, missing = requirements(skills, name)
        assert len(set(needed)) == len(needed) and name not in needed and missing == []


@pytest.mark.requirement("D38")
def test_ten_thousand_skills_in_a_cycle_are_followed() -> None:
    skills = [bare(n, "", requires=(f"skill:s{(n + 1) % 10_000}",)) for n in range(10_000)]
    begin = perf_counter()
    needed, _ = requirements(skills, "s0")
    assert len(needed) == 9_999
    assert [one.record.title for one in follow(skills, {"s5": 1.0})] == ["s5", "s6", "s7", "s8"]
    assert len(edges_of(skills)) == 10_000
    assert perf_counter() - begin < 5


@pytest.mark.requirement("D38")
def test_coverage_connectivity_and_a_greedy_team() -> None:
    skills = [
        skill("a", category="testing", requires=["b"], agents=["one", "two"]),
        skill("b", category="testing", agents=["two"]),
        skill("c", category="security", agents=["three"], status="deprecated"),
    ]
    covered = coverage(skills, ["devops"])
    assert covered.categories == {"devops": 0, "security": 0, "testing": 2}
    assert covered.ratio == 1 / 3 and covered.connectivity == 1 / 2
    made = team([Found(one, 1, 0, "") for one in (*skills, skill("d"))])
    assert made.members == {"two": ("a", "b"), "three": ("c",)} and made.missing == ("d",)
    many = [Found(skill(f"s{n}", agents=[f"agent{n}"]), 1, 0, "") for n in range(9)]
    assert len(team(many).members) == 5 and len(team(many).missing) == 4


@given(st.lists(st.text("abcdef ", max_size=12), max_size=6), st.text("abcdef ", max_size=12))
def test_similarity_is_a_share(texts: list[str], query: str) -> None:
    assert all(0 <= one <= 1 for one in similarities(query, texts))


def test_instructions_that_do_not_fit_hide_no_others() -> None:
    from dataclasses import replace

    found = [
        Found(replace(skill(name), body=size * "x"), 1, 0, "")
        for name, size in (("a", 60), ("b", 90), ("c", 20))
    ]
    assert set(instructions(found, 20)) == {"SKILL-a", "SKILL-c"}


@pytest.mark.requirement("D38", "D39")
def test_the_command_and_the_tool_discover_a_chain(repo: Checkout) -> None:
    write(
        repo,
        {
            "pdf-forms": text(
                "pdf-forms",
                "Fills in PDF forms.",
                "Use fill.py.",
                requires="ocr",
                category="analysis",
                agents="claude-code",
            ),
            "ocr": text("ocr", "Reads scanned text.", "Use tesseract."),
            "mail": text("mail", "Sends letters."),
        },
    )
    task = "fill in a PDF form"
    found = ask(repo, "skill", "discover", task)
    assert [(one["name"], one["depth"]) for one in found["skills"]] == [
        ("pdf-forms", 0),
        ("ocr", 1),
    ]
    assert "instructions" in found["skills"][1] and "graph" in found["by"]
    assert all(
        "instructions" not in one
        for one in ask(repo, "skill", "discover", task, "--mode", "manifest")["skills"]
    )
    assert "Use fill.py." in repo.kl("skill", "discover", task).stdout

    def tool(name: str, **given: Any) -> Any:
        return call(repo.workspace(), name, json.dumps(given).encode(), allow_write=True)[0][
            "result"
        ]

    assert [one["name"] for one in tool("discover_skills", description=task)["skills"]] == [
        "pdf-forms",
        "ocr",
    ]
    context = tool("get_skill_context", skill_id="pdf-forms")
    assert (
        context["instructions"] == "Use fill.py."
        and context["requires"][0]["instructions"] == "Use tesseract."
    )
    assert not context["effectiveness"]["known"]
    assert [one["name"] for one in tool("list_skills", category="analysis")["skills"]] == [
        "pdf-forms"
    ]
    assert tool("list_skills", status="draft")["total"] == 0
    assert tool("skill_team", task=task)["missing"] == ["ocr"]
    assert "claude-code" in repo.kl("skill", "team", task).stdout
    shown = repo.kl("skill", "context", "pdf-forms").stdout
    assert "pdf-forms requires ocr" in shown and "Use tesseract." in shown


@pytest.mark.requirement("D38")
def test_what_was_learned_three_times_and_no_skill_teaches_is_a_gap(repo: Checkout) -> None:
    ws = repo.workspace()
    for number, words in enumerate(
        ("Umlauts break the importer", "Umlauts break exports", "Umlauts need UTF-8")
    ):
        made, _ = add_memory(
            ws,
            f"{words} in case {number}.",
            further_values={"category": "failure_mode", "importance": 80},
        )
        apply_verb(ws, made.id, "approve")
    (gap,) = ask(repo, "skill", "gaps")["gaps"]
    assert gap["category"] == "failure_mode" and len(gap["memories"]) == 3
    write(
        repo,
        {
            "umlauts": text(
                "umlauts", "Umlauts break exports and the importer, case by case; they need UTF-8."
            )
        },
    )
    assert repo.kl("skill", "gaps").stdout == "no gaps.\n"
