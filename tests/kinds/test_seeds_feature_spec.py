"""A feature's specification as a record: the id from its front matter, its name or its title."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.feature.kind import KIND
from kl_hooks.kinds.seeds.added import type_of
from kl_hooks.kinds.seeds.feature_spec import feature_seed
from kl_hooks.records.check import checked

SPEC = """\
# FEAT-PAY-1: Paying

## Purpose

People pay, as ADR-0003 says.

## Scope

- cards
- cash

## Out of scope

- refunds

## Invariants

- never charged twice
"""


@pytest.mark.requirement("B56")
def test_the_sections_of_a_specification_are_fields_of_a_feature() -> None:
    seed = feature_seed("shop", "docs/features/FEAT-PAY-1-pay.md", SPEC)
    assert seed is not None and (seed.id, seed.key) == ("FEAT-PAY-1", "shop__feat-pay-1")
    said = {name: seed.values[name] for name in seed.values if name not in ("authority", "source")}
    assert said == {
        "title": "Paying", "spec": "docs/features/FEAT-PAY-1-pay.md", "purpose": "People pay, as ADR-0003 says.",
        "what_it_is": ["cards", "cash"], "what_it_is_not": ["refunds"], "invariants": ["never charged twice"],
        "key_decisions": ["ADR-0003"],
    }  # fmt: skip


def test_front_matter_names_the_feature_before_anything_else() -> None:
    seed = feature_seed("shop", "spec.md", "---\nid: feat-pay-2\ntitle: Refunds\nstatus: Draft\n---\n# Other\n")
    assert seed is not None and (seed.id, seed.values["title"], seed.values["status"]) == (
        "FEAT-PAY-2",
        "Refunds",
        "draft",
    )
    assert feature_seed("shop", "spec.md", "# Nothing\n") is None


def test_what_a_document_is_by_its_name() -> None:
    assert type_of("docs/features/FEAT-PAY-1-pay.md") == "feature-spec"
    assert type_of("sub/AGENTS.md") == "project-doc"
    assert type_of("docs/notes.md") == ""


@given(st.text(max_size=120), st.text(alphabet="FEAT-PAY1.md/ ", max_size=20))
def test_any_specification_gives_values_that_the_kind_takes(text: str, path: str) -> None:
    seed = feature_seed("p", f"{path}FEAT-A-1.md", text)
    for one in [seed] if seed else []:
        values, problems = checked(KIND, {k: v for k, v in one.values.items() if k != "spec"}, lambda name: ("x", 0, 0))
        assert problems == [] and values["title"]
