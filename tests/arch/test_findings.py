"""Findings: everything a check found, once each, by rules that keep their names."""

from __future__ import annotations

from dataclasses import replace

from kl_hooks.arch.formats.findings import findings, gathered
from kl_hooks.arch.indirect import INDIRECT
from tests.arch.verdicts import UNREAD, broken, verdict


def test_what_blocks_comes_first_and_what_is_accepted_says_so() -> None:
    found = findings(verdict(broken(), accepted=(broken("c/price.py"),), problems=(UNREAD,)))
    assert [(one.path, one.line, one.column, one.accepted) for one in found] == [
        ("c/bad.py", 14, 9, False), ("c/order.py", 3, 0, False), ("c/price.py", 3, 0, True),
    ]  # fmt: skip
    assert [one.rule.id for one in found] == ["arch/not-judged", "layers/core/web", "layers/core/web"]
    assert found[1].fingerprint == broken(line=99).fingerprint


def test_a_rule_says_where_it_stands_what_is_allowed_and_why() -> None:
    (one,) = findings(verdict(replace(broken(), allowed=("util",))))
    assert one.rule.title == "core must not import web"
    for part in (
        "core may import: util",
        ".kl/architecture.yaml:9",
        'ADR-0004 "Domain stays pure"',
        "kl arch allow",
    ):
        assert part in one.rule.help
    assert one.message == (
        "from w import page: core must not import web (layer rule, .kl/architecture.yaml:9, ADR-0004). hint: pass it in"
    )


def test_a_rule_offers_no_exception_for_chains_alone() -> None:
    chain = replace(broken(line=1), imported="c", method=INDIRECT)
    (one,) = findings(verdict(chain))
    assert "kl arch allow" not in one.rule.help and "Fix one import of the chain" in one.rule.help
    assert all("kl arch allow" in one.rule.help for one in findings(verdict(chain, broken())))
    assert all("kl arch allow" in one.rule.help for one in findings(verdict(chain, accepted=(broken(),))))


def test_the_same_import_twice_is_numbered_by_line() -> None:
    found = findings(verdict(broken(line=9), accepted=(broken(line=2),)))
    assert [(one.line, one.number) for one in found] == [(9, 2), (2, 1)]
    assert len({one.fingerprint for one in found}) == 1


def test_several_contents_are_one_list() -> None:
    one = verdict(broken())
    assert len(gathered([("a", one), ("b", one), ("c", None), ("d", verdict(broken("c/price.py")))])) == 2
