"""Titles of decisions: from front matter or heading, and from the content that is looked at.

The record behind an exception: in the form of the others, whatever a person gave as the reason.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.arch.check import run_check
from kl_hooks.arch.content import (
    DECISIONS,
    STAGED,
    WORKTREE,
    decision_titles,
    load_content,
    record_id,
    title_of,
)
from kl_hooks.arch.exceptions import decision_file_name, decision_text, next_decision_id
from kl_hooks.arch.layers import Edge
from kl_hooks.arch.manifest_parser import read_manifest
from kl_hooks.model.manifest import Allowance
from kl_hooks.model.symbol import Link
from tests.arch.shop import DRIFT, LAYERS, ORDER, opened, shop
from tests.git.repos import commit, sh, write

RECORD = DECISIONS + "ADR-0004-domain-stays-pure.md"


def record(title: str) -> str:
    return f"---\nid: ADR-0004\ntitle: {title}\nstatus: accepted\n---\n\n## Context\n"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (record("Domain stays pure"), "Domain stays pure"),
        (record('"a: \\"b\\""'), 'a: "b"'),
        (record("'it''s'"), "it's"),
        ("# Domain stays pure #\n\ntitle: no\n", "Domain stays pure"),
        ("---\nid: x\n---\n\n# Heading\n", "Heading"),
        ("---\ntitle: x\n", ""),
        ("", ""),
        ("---\n", ""),
        ("text\n## Context\n", ""),
        ("---\r\ntitle: Windows\r\n---\r\n", "Windows"),
        (record("a\x1b[2Jb"), "a\\x1b[2Jb"),
    ],
    ids=range(11),
)
def test_a_title_is_in_the_front_matter_or_the_first_heading(text: str, title: str) -> None:
    assert title_of(text) == title


def test_which_file_is_which_record() -> None:
    assert record_id(RECORD) == "ADR-0004" == record_id("ADR-0004.md")
    assert [
        record_id(name) for name in ("ADR-00041x.md", "README.md", "ADR-4-x.md", "ADR-0004-x.txt")
    ] == [""] * 4


def test_the_title_is_that_of_the_same_content(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", {RECORD: record("First"), ORDER: DRIFT})
    write(folder, {RECORD: record("Second")})
    sh(folder, "add", "-A")
    write(folder, {RECORD: record("Third")})
    found = {
        source: decision_titles(load_content(opened(folder), source), {"ADR-0004"})
        for source in ("HEAD", STAGED, WORKTREE)
    }
    assert found == {
        "HEAD": {"ADR-0004": "First"},
        STAGED: {"ADR-0004": "Second"},
        WORKTREE: {"ADR-0004": "Third"},
    }
    verdict, _ = run_check(opened(folder), STAGED)
    assert verdict is not None and verdict.titles == {"ADR-0004": "Second"}


def test_what_is_not_there_has_no_title(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", {DECISIONS + "ADR-0005-empty.md": ""})
    commit(folder, "x")
    (folder / DECISIONS / "ADR-0006-out.md").symlink_to("/etc/hostname")
    for source in ("HEAD", STAGED, WORKTREE):
        assert (
            decision_titles(
                load_content(opened(folder), source), {"ADR-0004", "ADR-0005", "../x", ""}
            )
            == {}
        )
    assert decision_titles(load_content(opened(folder), WORKTREE), {"ADR-0006"}) == {}, (
        "a record outside is none"
    )


RULES = read_manifest("m.yaml", LAYERS.encode())
CORE, WEB = RULES.layers


def edge(line: int = 2) -> Edge:
    link = Link(
        "namespace:shop.core.order", "imports", "namespace:shop.web.page", path=ORDER, line=line
    )
    return Edge(link, "shop.core.order", "shop.web.page", CORE, WEB)


def text(reason: str = "soon", source: str = "core", fitting: int = 1) -> str:
    one = Allowance(source, "web", "2027-01-31", "ADR-0007")
    return decision_text(
        "ADR-0007", one, reason, "2026-11-22", RULES, [edge(n) for n in range(fitting)], []
    )


def test_the_next_free_number() -> None:
    assert next_decision_id(()) == "ADR-0001"
    assert next_decision_id({"ADR-0004", "ADR-0009", "MEM-0044", "", "ADR-x"}) == "ADR-0010"
    assert next_decision_id({"ADR-9999"}) == "ADR-10000"


def test_a_file_name_is_plain_and_states_which_record_it_is() -> None:
    assert (
        decision_file_name("ADR-0007", "shop.core", "Wéb/x")
        == "ADR-0007-shop-core-may-import-w-b-x.md"
    )
    name = decision_file_name("ADR-0007", "../../etc", "x" * 300)
    assert (
        re.fullmatch(r"[A-Za-z0-9.-]+", name) and len(name) < 100 and record_id(name) == "ADR-0007"
    )


def test_it_has_the_sections_and_the_facts() -> None:
    made = text()
    assert title_of(made) == "core may import web until 2027-01-31"
    assert re.findall("^## (.*)$", made, re.M) == [
        "Context",
        "Decision",
        "Alternatives",
        "Consequences",
    ]
    assert (
        f"- `{ORDER}:0`: shop.core.order imports shop.web.page (m.yaml, core -> web, ADR-0004)"
        in made
    )
    front = yaml.safe_load(made.split("---\n")[1])
    assert (front["id"], front["status"], front["governs"]) == (
        "ADR-0007",
        "proposed",
        ["src/shop/core/"],
    )
    assert "and 5 more" in text(fitting=15) and "nothing of core imports web" in text(fitting=0)


@given(
    st.text(min_size=1, max_size=80)
    | st.sampled_from(["# x\n---\n## Decision\n```", "=====\n---"]),
    st.text(max_size=9),
)
def test_no_reason_and_no_name_breaks_its_form(reason: str, source: str) -> None:
    made = text(reason, source)
    made.encode("utf-8", "replace")
    assert re.findall("^#+ (.*)$", made, re.M) == [
        "Context",
        "Decision",
        "Alternatives",
        "Consequences",
    ]
    front = yaml.safe_load(made.split("\n---\n")[0].removeprefix("---\n"))
    assert front["id"] == "ADR-0007" and "may import web" in front["title"]
    assert made.count("\n---\n") == 1
