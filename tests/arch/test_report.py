"""A verdict on paper: what people read, what programs read, and nothing that moves a cursor."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.arch.formats import verdict_to_dict
from kl_hooks.arch.layer_check import INDIRECT_METHOD, Verdict
from kl_hooks.arch.report import verdict_lines
from kl_hooks.model.manifest import Layer, Manifest, Violation
from kl_hooks.model.problem import Problem

RULES = Manifest(
    ".kl/architecture.yaml",
    (Layer("domain", ("d/",), (), 9, "ADR-0004"), Layer("api", ("a/",), (), 12)),
)


def broken(
    line: int = 3, way: str = "pass it in", statement: str = "from shop.api.http import user"
) -> Violation:
    return Violation(
        "src/shop/domain/order.py",
        line,
        "shop.domain.order",
        "shop.api.http",
        "domain",
        "api",
        statement,
        "lazy import",
        ".kl/architecture.yaml:9",
        "ADR-0004",
        way,
        (),
    )


def test_what_a_person_reads() -> None:
    bad = Problem("src/shop/api/x.py", 14, 9, "syntax error: invalid syntax.")
    found = (broken(), broken(7, "move it")._replace(number=2))
    verdict = Verdict(
        RULES, found, (bad,), (), 41, "staged", 1, unassigned=("setup.py", "tests/test_a.py")
    )
    assert (
        "\n".join(verdict_lines(verdict, 0.114))
        == """\
src/shop/domain/order.py:3: domain must not import api (layer rule, .kl/architecture.yaml:9, ADR-0004)
    from shop.api.http import user
         ^^^^^^^^^^^^^  (lazy import)
    hint: pass it in
    ID 1c4c778c91c05491#1; domain may import: (nothing)

src/shop/domain/order.py:7: domain must not import api (layer rule, .kl/architecture.yaml:9, ADR-0004)
    from shop.api.http import user
         ^^^^^^^^^^^^^  (lazy import)
    hint: move it
    ID 1c4c778c91c05491#2; domain may import: (nothing)

src/shop/api/x.py:14:9: syntax error: invalid syntax.
1 file could not be read; the other 41 were checked.

2 violations
hint: to accept today's violations and block only new ones: kl arch baseline write
hint: to allow one import for a while: kl arch allow shop.domain.order shop.api.http --until 30d --reason "..."
checked 41 files, 2 layers in 0.11 s from the staged content; 2 files in no layer (--list-unassigned)"""
    )


def test_an_exception_is_offered_for_what_it_can_excuse() -> None:
    chain = broken()._replace(importer="a", imported="c", method=INDIRECT_METHOD)
    lines = verdict_lines(Verdict(RULES, (chain, broken()), (), (), 41, "staged"))
    assert [line.partition(": kl ")[2][:45] for line in lines if "kl arch allow" in line] == [
        "arch allow shop.domain.order shop.api.http --u"[:45]
    ]
    assert "kl arch allow" not in "\n".join(
        verdict_lines(Verdict(RULES, (chain,), (), (), 41, "staged"))
    )


def test_with_a_baseline_and_a_decision_that_has_a_title() -> None:
    titles = {"ADR-0004": "Domain stays pure"}
    verdict = Verdict(
        RULES,
        (broken(),),
        (),
        (),
        41,
        "staged",
        accepted=(broken(), broken()),
        baseline=".kl/baseline.json",
        titles=titles,
    )
    lines = verdict_lines(verdict)
    assert "1 new violation (2 accepted in baseline)" in lines and "baseline write" not in "".join(
        lines
    )
    assert lines[0].endswith('(layer rule, .kl/architecture.yaml:9, ADR-0004 "Domain stays pure")')
    clean = Verdict(
        RULES, (), (), (), 1, "worktree", accepted=(broken(),), baseline=".kl/baseline.json"
    )
    assert verdict_lines(clean) == [
        "clean: checked 1 file, 2 layers from the working tree (1 accepted in baseline)"
    ]
    value = verdict_to_dict(verdict)
    assert (len(value["accepted"]), value["baseline"], value["decisions"]) == (
        2,
        ".kl/baseline.json",
        titles,
    )


def test_clean_is_one_line() -> None:
    assert verdict_lines(Verdict(RULES, (), (), (), 1, "HEAD~1")) == [
        "clean: checked 1 file, 2 layers from HEAD~1"
    ]


def test_what_a_program_reads() -> None:
    verdict = Verdict(RULES, (broken(),), (Problem("p", 1, 2, "m"),), (), 41, "worktree")
    value = json.loads(json.dumps(verdict_to_dict(verdict)))
    assert (value["schema"], value["clean"], value["files"], value["layers"]) == (
        "kl.arch.check/3",
        False,
        41,
        2,
    )
    assert value["source"] == "worktree"
    assert (
        value["violations"][0]["line"] == 3
        and value["violations"][0]["fingerprint"] == broken(99).fingerprint
    )
    assert value["problems"] == [{"path": "p", "line": 1, "column": 2, "message": "m", "hint": ""}]


@given(st.text(max_size=40), st.text(max_size=40))
def test_nothing_found_in_the_source_reaches_the_terminal_raw(statement: str, way: str) -> None:
    verdict = Verdict(RULES, (broken(way=way, statement=statement),), (), (), 1, "staged")
    for line in verdict_lines(verdict):
        assert not any(
            ord(sign) < 32 or 0x7F <= ord(sign) < 0xA0 or sign in "\u2028\u2029\u202e"
            for sign in line
        )
