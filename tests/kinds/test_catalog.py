"""The catalogue: every kind that kl brings is sound data, and no two of them are in each other's
way.
"""

from __future__ import annotations

import re

import pytest

from kl_hooks.config.kinds_file import BUDGET_CATEGORIES, FIELD_TYPES
from kl_hooks.kinds.plugin import kl_kinds
from kl_hooks.model.kind import Kind
from kl_hooks.model.symbol import RECORD_ID

KINDS = list(kl_kinds())


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    one: Kind = request.param
    return one


def test_names_plurals_and_prefixes_are_unique() -> None:
    for names in ([k.name for k in KINDS], [k.plural for k in KINDS], [k.prefix for k in KINDS]):
        assert len(names) == len(set(names))
    assert all(RECORD_ID.fullmatch(f"{k.prefix}-0001") for k in KINDS)


def test_what_a_kind_names_is_there(kind: Kind) -> None:
    assert (
        kind.storage in ("file", "state")
        and kind.budget_category in BUDGET_CATEGORIES
        and kind.purpose
        and kind.section
    )
    assert set(kind.live) <= set(kind.statuses) and set(kind.filed) <= set(kind.statuses)
    assert set(kind.spellings.values()) <= set(kind.statuses)
    assert not set(kind.spellings) & set(kind.statuses)
    for verb in kind.verbs:
        assert {verb.to, *verb.of} <= set(kind.statuses) and verb.description, verb.name
        assert set(verb.needs) <= set(kind.by_name), verb.name
    assert set(kind.identity) | set(kind.list_fields) <= set(kind.by_name)
    assert bool(kind.identity) == (kind.numbering == "hash")


def test_its_fields_are_sound(kind: Kind) -> None:
    names = [name for one in kind.all_fields for name in (one.name, *one.aliases)]
    assert len(names) == len(set(names)), sorted(name for name in names if names.count(name) > 1)
    sections = [one.section for one in kind.all_fields if one.section]
    assert len(sections) == len({one.casefold() for one in sections})
    for one in kind.all_fields:
        assert (
            re.fullmatch(r"[a-z][a-z0-9_]*", one.name)
            and one.type in FIELD_TYPES
            and one.description.endswith(".")
        )
        assert bool(one.choices) == (one.type == "choice") and set(one.also.values()) <= set(
            one.choices
        )
        assert not set(one.also) & set(one.choices)
        # words name what is no record, such as the agents that have a skill
        assert one.relation or one.type != "ids"
        assert not one.relation or one.type in ("ids", "words")


UNION = {
    "outcome": (
        """outcome_type task_id task_title task_requirements success summary approach_used patterns_used
        problems_encountered lessons_learned tests_written test_coverage review_cycles started_at completed_at
        duration_minutes feature_id related_adr_ids created_at"""
    ),
    "turn": (
        """turn_number mode player_summary player_decision coach_decision feature_id task_id coach_feedback
        blockers_found progress_summary acceptance_criteria_status files_modified tests_passed tests_failed coverage
        arch_score started_at completed_at duration_seconds lessons_from_turn what_to_try_next"""
    ),
    "failure": (
        """approach symptom root_cause prevention severity related_adrs fix_applied context task_id feature_id
        file_path similar_failures time_to_fix_minutes"""
    ),
    "feature": (
        """name tagline purpose what_it_is what_it_is_not invariants architecture_summary key_components
        key_decisions created_at updated_at"""
    ),
    "role": (
        "role context primary_responsibility must_do must_not_do ask_before good_examples"
        " bad_examples"
    ),
    "gate": (
        """task_type arch_review_required arch_review_threshold test_pass_required coverage_required
        coverage_threshold lint_command lint_required rationale version effective_from supersedes"""
    ),
    "objective": "title remaining completed",
    "task": "produces requires",
    "fact": "category question answer extracted_facts confidence",
}


@pytest.mark.parametrize("name", UNION)
def test_every_field_of_the_older_layouts_is_read(name: str) -> None:
    (kind,) = [one for one in KINDS if one.name == name]
    assert set(UNION[name].split()) <= set(kind.by_name)
