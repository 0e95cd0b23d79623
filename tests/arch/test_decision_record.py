"""The record behind an exception: in the form of the others, whatever a person gave as the reason."""

from __future__ import annotations

import re

import yaml
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.arch.allowing.decision_record import decision_text, file_name, next_id
from kl_hooks.arch.decisions import id_of, title_of
from kl_hooks.arch.edges import Edge
from kl_hooks.arch.manifest import read_manifest
from kl_hooks.model.manifest import Allowance
from kl_hooks.model.symbol import Link
from tests.arch.shop import LAYERS, ORDER

RULES = read_manifest("m.yaml", LAYERS.encode())
CORE, WEB = RULES.layers


def edge(line: int = 2) -> Edge:
    link = Link("namespace:shop.core.order", "imports", "namespace:shop.web.page", path=ORDER, line=line)
    return Edge(link, "shop.core.order", "shop.web.page", CORE, WEB)


def text(reason: str = "soon", source: str = "core", fitting: int = 1) -> str:
    one = Allowance(source, "web", "2027-01-31", "ADR-0007")
    return decision_text("ADR-0007", one, reason, "2026-11-22", RULES, [edge(n) for n in range(fitting)], [])


def test_the_next_free_number() -> None:
    assert next_id(()) == "ADR-0001"
    assert next_id({"ADR-0004", "ADR-0009", "MEM-0044", "", "ADR-x"}) == "ADR-0010"
    assert next_id({"ADR-9999"}) == "ADR-10000"


def test_a_file_name_is_plain_and_says_which_record_it_is() -> None:
    assert file_name("ADR-0007", "shop.core", "Wéb/x") == "ADR-0007-shop-core-may-import-w-b-x.md"
    name = file_name("ADR-0007", "../../etc", "x" * 300)
    assert re.fullmatch(r"[A-Za-z0-9.-]+", name) and len(name) < 100 and id_of(name) == "ADR-0007"


def test_it_has_the_sections_and_the_facts() -> None:
    made = text()
    assert title_of(made) == "core may import web until 2027-01-31"
    assert re.findall("^## (.*)$", made, re.M) == ["Context", "Decision", "Alternatives", "Consequences"]
    assert f"- `{ORDER}:0`: shop.core.order imports shop.web.page (m.yaml, core -> web, ADR-0004)" in made
    front = yaml.safe_load(made.split("---\n")[1])
    assert (front["id"], front["status"], front["governs"]) == ("ADR-0007", "proposed", ["src/shop/core/"])
    assert "and 5 more" in text(fitting=15) and "nothing of core imports web" in text(fitting=0)


@given(
    st.text(min_size=1, max_size=80) | st.sampled_from(["# x\n---\n## Decision\n```", "=====\n---"]),
    st.text(max_size=9),
)
def test_no_reason_and_no_name_breaks_its_form(reason: str, source: str) -> None:
    made = text(reason, source)
    made.encode("utf-8", "replace")
    assert re.findall("^#+ (.*)$", made, re.M) == ["Context", "Decision", "Alternatives", "Consequences"]
    front = yaml.safe_load(made.split("\n---\n")[0].removeprefix("---\n"))
    assert front["id"] == "ADR-0007" and "may import web" in front["title"]
    assert made.count("\n---\n") == 1
