"""The flowchart: counted arrows, violations dashed and red, and no text that Mermaid could take for its own."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.arch.formats.mermaid import label, mermaid
from kl_hooks.model.manifest import Layer, Manifest
from tests.arch.verdicts import TEXTS, broken, verdict

NODE = re.compile(r'    (l\d+)\["([^"]*)"\]')
ARROW = re.compile(r'    (l\d+) (-->|-\.->)\|"([^"]*)"\| (l\d+)')
STYLE = re.compile(r"    linkStyle (\d+(?:,\d+)*) stroke:(#[0-9a-f]{6}),color:\2")


def test_the_picture_of_a_drifting_shop() -> None:
    found = verdict(broken(line=3), broken("c/price.py", 4), accepted=(broken("c/stock.py", target="infra"),))
    flows = {("infra", "core"): 5, ("core", "web"): 2, ("core", "infra"): 1, ("web", "core"): 3}
    assert mermaid([("worktree", found)], flows) == [
        "flowchart TD",
        '    l0["web"]',
        '    l1["infra"]',
        '    l2["core"]',
        '    l0 -.->|"3 excepted"| l2',
        '    l1 -->|"5"| l2',
        '    l2 -.->|"2 new#44; order.py#58;3#44; price.py#58;4"| l0',
        '    l2 -.->|"1 accepted"| l1',
        "    linkStyle 0 stroke:#888888,color:#888888",
        "    linkStyle 2 stroke:#cc0000,color:#cc0000",
        "    linkStyle 3 stroke:#cc7700,color:#cc7700",
    ]


def test_nothing_to_draw_is_an_empty_chart() -> None:
    assert mermaid([("staged", None)], {}) == ["flowchart TD", "    %% no .kl/architecture.yaml"]


def test_the_same_violation_in_two_contents_counts_once() -> None:
    found = verdict(broken())
    assert [line for line in mermaid([("a", found), ("b", found)], {}) if "new" in line] == [
        '    l2 -.->|"1 new#44; order.py#58;3"| l0'
    ]


@given(st.lists(TEXTS.filter(str.strip), min_size=1, max_size=4, unique=True), TEXTS)
def test_any_names_give_nodes_arrows_and_styles_only(names: list[str], path: str) -> None:
    rules = Manifest("m", tuple(Layer(name, ("x/",), (), 1) for name in names))
    one = replace(broken(), source_layer=names[0], target_layer=names[-1], path=path)
    flows = {(names[0], name): 2 for name in names}
    lines = mermaid([("x", replace(verdict(one), manifest=rules))], flows)
    assert lines[0] == "flowchart TD"
    arrows = [line for line in lines if ARROW.fullmatch(line)]
    nodes = [match[1] for line in lines if (match := NODE.fullmatch(line))]
    styles = [match[1].split(",") for line in lines if (match := STYLE.fullmatch(line))]
    assert len(nodes) == len(set(nodes)) == len(names)
    assert 1 + len(nodes) + len(arrows) + len(styles) == len(lines), lines
    assert all(int(number) < len(arrows) for numbers in styles for number in numbers)


@given(TEXTS)
def test_a_label_has_no_signs(text: str) -> None:
    rest = re.sub(r"#\d+;", "", label(text))
    assert all(sign.isalnum() or sign in " _-." for sign in rest)
    label(text).encode("utf-8")
