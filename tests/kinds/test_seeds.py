"""What a project's own documents state: sections with a meaningful heading, the beginning, the
stack; any text is read.

A feature's specification as a record: the id from its front matter, its name or its title.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.catalog import FEATURE
from kl_hooks.kinds.plugin import kl_kinds
from kl_hooks.kinds.seeds import (
    MAX_SECTION_LENGTH,
    document_seeds,
    document_type,
    feature_seed,
    name_of,
    project_seeds,
    pyproject_seeds,
    read_pyproject,
    system_seeds,
    topic_of,
)
from kl_hooks.records.validate import validate

KINDS = {kind.name: kind for kind in kl_kinds()}
README = """\
# Shop

[![build](https://x/b.svg)](https://x)
<img src="logo.png">

A shop for tests. It sells nothing.

## Installation

```sh
## not a heading
pip install shop
```

## License

MIT, whatever that means here.

## How it works

It does not.
"""


def test_a_readme_gives_its_beginning_and_the_sections_that_are_known() -> None:
    purpose, *rest = document_seeds("shop", "README.md", README)
    assert (purpose.kind, purpose.key, purpose.values["answers"]) == (
        "fact",
        "shop__purpose",
        "purpose",
    )
    assert purpose.values["answer"] == "A shop for tests. It sells nothing."
    assert [(one.values["title"], one.values["topic"]) for one in rest] == [
        ("Installation", "command"),
        ("How it works", "architecture"),
    ]
    assert "## not a heading" in rest[0].values["text"]


def test_the_beginning_ends_at_the_next_heading_and_keeps_addresses() -> None:
    text = "Shop\n====\n\nSee <https://shop.example> or ask.\n\n### Important\n\nNot this.\n"
    (purpose,) = document_seeds("shop", "README.md", text)
    assert purpose.values["answer"] == "See <https://shop.example> or ask."
    assert (
        document_seeds("shop", "README.md", "# npm\n\n### Important\n\nYou need something else.\n")
        == []
    )


@pytest.mark.parametrize(
    "beginning",
    [
        "|logo|\n\n|version| |python_version| |tests|",
        '<div align="center"><img src="https://shop.example/logo.svg" alt=""></div>',
        "- [Documentation](https://shop.example)\n- [Chat](https://chat.example)",
        "Shop\n====",
        "|",
    ],
)
def test_a_project_is_what_its_first_sentence_states(beginning: str) -> None:
    text = f"{beginning}\n\nShop is a library that sells things.\n\n- It is small.\n"
    (purpose,) = document_seeds("shop", "README.md", text)
    assert purpose.values["answer"] == "Shop is a library that sells things.\n\n- It is small."


def test_a_sentence_without_spaces_is_one() -> None:
    (purpose,) = document_seeds("shop", "README.md", "|logo|\n\n这是一个用来卖东西的库。\n")
    assert purpose.values["answer"] == "这是一个用来卖东西的库。"


def test_what_is_written_for_agents_is_taken_whole() -> None:
    text = (
        "# Agents\n\nHello there, agent.\n\n## Testing\n\nRun `pytest -q`.\n\n## Zebra\n\nNever"
        " feed the zebra.\n"
    )
    assert [
        (one.key, one.values["topic"]) for one in document_seeds("shop", "AGENTS.md", text)
    ] == [
        ("shop__agents-testing", "testing"),
        ("shop__agents-zebra", "rule"),
    ]


def test_a_long_section_is_cut_between_paragraphs_and_reports_it() -> None:
    text = "## Usage\n\n" + "\n\n".join(["word " * 40] * 40)
    (one,) = document_seeds("shop", "AGENTS.md", text)
    assert len(one.values["text"]) <= MAX_SECTION_LENGTH + 50 and one.values["text"].endswith(
        "(The rest is in AGENTS.md.)"
    )


def test_a_heading_states_the_topic_by_whole_words() -> None:
    assert topic_of("Project structure") == "structure"
    assert topic_of("Testimonials") == ""


def test_pyproject_gives_the_stack_and_the_commands() -> None:
    reported = read_pyproject(
        '[project]\nname = "My Shop"\nrequires-python = ">=3.11"\ndependencies = ["click>=8",'
        ' "rich[x]; os_name", "click"]\n[project.optional-dependencies]\ntest ='
        ' ["pytest>=8"]\n[project.scripts]\nshop = "shop:main"\n[tool.ruff]\n'
    )
    stack, commands = pyproject_seeds("my-shop", reported)
    (purpose,) = pyproject_seeds(
        "x", read_pyproject('[project]\ndescription = "A shop for tests."')
    )
    assert (purpose.values["answers"], purpose.values["answer"]) == ("purpose", "A shop for tests.")
    assert name_of(reported) == "My Shop"
    assert stack.values["text"].splitlines() == [
        "- Python >=3.11",
        "- needs click, rich",
        "- with `test`: pytest",
        "- configured here: ruff",
    ]
    assert commands.values["text"] == "- `shop` runs shop:main"
    assert pyproject_seeds("x", read_pyproject("not toml [")) == []


@pytest.mark.requirement("B4")
def test_the_same_section_in_two_documents_counts_once(tmp_path: Path) -> None:
    text = "## Testing\n\nRun the tests often.\n"
    (tmp_path / "AGENTS.md").write_text(text)
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    (tmp_path / "CONTRIBUTING.md").symlink_to("/etc/hostname")
    seeds, remarks = project_seeds(tmp_path)
    assert [one.path for one in seeds] == ["AGENTS.md"]
    assert len(remarks) == 1 and "leads out" in remarks[0]


@pytest.mark.requirement("B33", "B34", "B4")
def test_what_kl_brings_is_valid_and_never_prefixed() -> None:
    seeds = system_seeds(KINDS)
    keys = {one.key for one in seeds}
    assert {
        "role-player",
        "role-coach",
        "gate-feature-4-6",
        "gate-docs-1-10",
        "mode-direct",
    } <= keys
    assert not [key for key in keys if "__" in key]
    for one in seeds:
        assert validate(KINDS[one.kind], one.values, lambda name: ("x", 0, 0))[1] == []
    gates = {one.key: one.values for one in seeds if one.kind == "gate"}
    assert (
        gates["gate-feature-7-10"]["coverage_threshold"],
        gates["gate-feature-7-10"]["arch_review_threshold"],
    ) == (
        80,
        70,
    )
    assert "coverage_threshold" not in gates["gate-scaffolding-1-3"]


LINES = st.lists(
    st.sampled_from(
        ["# T", "## Usage", "## ", "```", "---", "- x", "", "<!-- a", "b -->", "[![x](y)](z)"]
    )
    | st.text(max_size=30),
    max_size=20,
)


@given(LINES, st.sampled_from(["README.md", "AGENTS.md"]))
def test_any_document_gives_seeds_that_their_kinds_take(lines: list[str], name: str) -> None:
    seeds = document_seeds("p", name, "\n".join(lines))
    assert seeds == document_seeds("p", name, "\n".join(lines))
    for one in seeds:
        values, problems = validate(KINDS[one.kind], one.values, lambda name: ("x", 0, 0))
        assert problems == [] and values["title"]


INNER = st.recursive(
    st.text(max_size=5) | st.integers() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "dependencies", "scripts", "poetry", "pytest"]), inner
        )
    ),
)


@given(
    st.dictionaries(
        st.sampled_from(["project", "tool", "build-system", "dependency-groups"]), INNER
    )
)
def test_any_pyproject_gives_valid_seeds(reported: dict[str, object]) -> None:
    name_of(reported)
    for one in pyproject_seeds("p", reported):
        assert validate(KINDS["guide"], one.values, lambda name: ("x", 0, 0))[1] == []


@pytest.mark.parametrize(
    "piece", ["<!--", "<!-- kl:begin ", "<!-- kl:begin kl:end ", "[[", "- ", "\n", "`"]
)
def test_a_hostile_document_takes_no_longer_than_its_length(piece: str) -> None:
    text = "# A\n\n" + piece * (1_000_000 // len(piece))
    began = time.process_time()
    document_seeds("shop", "AGENTS.md", text)
    assert time.process_time() - began < 20


def test_a_key_without_end_in_pyproject_is_not_waited_for() -> None:
    began = time.process_time()
    assert read_pyproject("a." * 500_000) == {}
    assert time.process_time() - began < 5


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

## Goals

- paid within two seconds

## Acceptance Criteria

- [ ] a card works
- [x] cash works
"""


@pytest.mark.requirement("B56")
def test_the_sections_of_a_specification_are_fields_of_a_feature() -> None:
    seed = feature_seed("shop", "docs/features/FEAT-PAY-1-pay.md", SPEC)
    assert seed is not None and (seed.id, seed.key) == ("FEAT-PAY-1", "shop__feat-pay-1")
    printed = {
        name: seed.values[name] for name in seed.values if name not in ("authority", "source")
    }
    assert printed == {
        "title": "Paying",
        "spec": "docs/features/FEAT-PAY-1-pay.md",
        "purpose": "People pay, as ADR-0003 says.",
        "what_it_is": ["cards", "cash"],
        "what_it_is_not": ["refunds"],
        "invariants": ["never charged twice"],
        "goals": ["paid within two seconds"],
        "acceptance_criteria": ["a card works", "cash works"],
        "key_decisions": ["ADR-0003"],
    }


def test_front_matter_names_the_feature_before_anything_else() -> None:
    seed = feature_seed(
        "shop", "spec.md", "---\nid: feat-pay-2\ntitle: Refunds\nstatus: Draft\n---\n# Other\n"
    )
    assert seed is not None and (seed.id, seed.values["title"], seed.values["status"]) == (
        "FEAT-PAY-2",
        "Refunds",
        "draft",
    )
    assert feature_seed("shop", "spec.md", "# Nothing\n") is None


def test_what_a_document_is_by_its_name() -> None:
    assert document_type("docs/features/FEAT-PAY-1-pay.md") == "feature-spec"
    assert document_type("sub/AGENTS.md") == "project-doc"
    assert document_type("docs/notes.md") == ""


@given(st.text(max_size=120), st.text(alphabet="FEAT-PAY1.md/ ", max_size=20))
def test_any_specification_gives_values_that_the_kind_takes(text: str, path: str) -> None:
    seed = feature_seed("p", f"{path}FEAT-A-1.md", text)
    for one in [seed] if seed else []:
        values, problems = validate(
            FEATURE, {k: v for k, v in one.values.items() if k != "spec"}, lambda name: ("x", 0, 0)
        )
        assert problems == [] and values["title"]
