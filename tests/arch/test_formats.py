"""Findings: everything a check found, once each, by rules that keep their names. The reports that
are made of them: `tests/model/test_diagnostic.py`.

The flowchart: counted arrows, violations dashed and red, and no text that Mermaid could take for
its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.arch.formats import (
    CheckedContent,
    findings,
    label,
    mermaid,
    reports,
)
from kl_hooks.arch.layer_check import INDIRECT_METHOD, Verdict
from kl_hooks.model.diagnostic import merged
from kl_hooks.model.manifest import MANIFEST, Layer, Manifest
from kl_hooks.model.report_formats.github import MAX_ANNOTATIONS
from kl_hooks.model.report_formats.rendering import render
from tests.arch.verdicts import TEXTS, UNREAD, VERDICTS, broken, verdict
from tests.model.test_diagnostic import read_command


def github_annotations(contents: Sequence[CheckedContent]) -> list[str]:
    return render("github", reports(contents), "kl arch check", MANIFEST).splitlines()


def code_quality(contents: Sequence[CheckedContent]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(
        render("gitlab", reports(contents), "kl arch check", MANIFEST)
    )
    return rows


def test_what_blocks_comes_first_and_what_is_accepted_reports_it() -> None:
    found = findings(verdict(broken(), accepted=(broken("c/price.py"),), problems=(UNREAD,)))
    assert [(one.path, one.line, one.column, one.accepted) for one in found] == [
        ("c/bad.py", 14, 9, False),
        ("c/order.py", 3, 0, False),
        ("c/price.py", 3, 0, True),
    ]
    assert [one.rule.id for one in found] == [
        "arch/not-judged",
        "layers/core/web",
        "layers/core/web",
    ]
    assert found[1].fingerprint == broken(line=99).fingerprint


def test_a_rule_states_where_it_is_what_is_allowed_and_why() -> None:
    (one,) = findings(verdict(broken()._replace(allowed=("util",))))
    assert one.rule.title == "core must not import web"
    for part in (
        "core may import: util",
        ".kl/architecture.yaml:9",
        'ADR-0004 "Domain stays pure"',
        "kl arch allow",
    ):
        assert part in one.rule.help
    assert (
        one.text
        == "from w import page: core must not import web (layer rule, .kl/architecture.yaml:9,"
        " ADR-0004). hint: pass it in"
    )


def test_a_rule_offers_no_exception_for_chains_alone() -> None:
    chain = broken(line=1)._replace(imported="c", method=INDIRECT_METHOD)
    (one,) = findings(verdict(chain))
    assert "kl arch allow" not in one.rule.help and "Fix one import of the chain" in one.rule.help
    assert all("kl arch allow" in one.rule.help for one in findings(verdict(chain, broken())))
    assert all(
        "kl arch allow" in one.rule.help for one in findings(verdict(chain, accepted=(broken(),)))
    )


def test_the_same_import_twice_is_numbered_by_line() -> None:
    found = findings(verdict(broken(line=9), accepted=(broken(line=2),)))
    assert [(one.line, one.number) for one in found] == [(9, 2), (2, 1)]
    assert len({one.fingerprint for one in found}) == 1


def test_several_contents_are_one_list() -> None:
    first, moved = verdict(broken()), verdict(broken(line=9))
    contents = [("a", first), ("b", moved), ("c", None), ("d", verdict(broken("c/price.py")))]
    assert [len(findings) for findings in merged(reports(contents))] == [2, 0]


def test_one_line_for_each_finding() -> None:
    lines = github_annotations(
        [("worktree", verdict(broken(), accepted=(broken("c/price.py"),), problems=(UNREAD,)))]
    )
    assert lines == [
        (
            "::error file=c/bad.py,line=14,col=9,title=A governed file could not be judged::"
            "can't be parsed: invalid syntax."
        ),
        (
            "::error file=c/order.py,line=3,title=core must not import web::from w import page:"
            " core must not import web (layer rule, .kl/architecture.yaml:9, ADR-0004). hint: pass"
            " it in"
        ),
    ]
    assert (
        github_annotations([("worktree", None)])
        == []
        == github_annotations([("worktree", verdict())])
    )


def test_the_worst_nine_and_how_many_there_are() -> None:
    many = [broken(f"c/f{n:02}.py") for n in range(14)]
    last = broken("c/z.py", target="infra")
    lines = github_annotations([("x", verdict(*many, last, problems=(UNREAD,)))])
    assert len(lines) == MAX_ANNOTATIONS + 1 == 10
    files = [read_command(line)[0].get("file") for line in lines]
    assert files[:3] == [
        "c/bad.py",
        "c/f00.py",
        "c/z.py",
    ], "what is not judged, then every rule once"
    assert read_command(lines[-1]) == (
        {"title": "kl arch check"},
        "16 findings in 16 files; 9 are shown here. All of them: kl arch check",
    )
    assert len(github_annotations([("x", verdict(*many[:9]))])) == 9


def test_the_keys_gitlab_reads() -> None:
    rows = code_quality(
        [("worktree", verdict(broken(), accepted=(broken("c/price.py"),), problems=(UNREAD,)))]
    )
    assert rows[1] == {
        "description": (
            "from w import page: core must not import web"
            " (layer rule, .kl/architecture.yaml:9, ADR-0004). hint: pass it in"
        ),
        "check_name": "layers/core/web",
        "fingerprint": broken().fingerprint,
        "severity": "major",
        "location": {"path": "c/order.py", "lines": {"begin": 3}},
    }
    assert [row["severity"] for row in rows] == ["major", "major", "info"]
    assert code_quality([("worktree", None)]) == [] == code_quality([("worktree", verdict())])


def test_a_run_of_sarif_for_each_content() -> None:
    whole = verdict(broken(), accepted=(broken("c/price.py"),), problems=(UNREAD,))
    (report,) = reports([("worktree", whole)])
    assert (report.category, report.successful) == ("kl/arch/", True)
    assert report.properties == {
        "source": "worktree",
        "manifest": ".kl/architecture.yaml",
        "unassigned": 0,
    }
    first, second = reports([("a", None), ("b", whole._replace(invalid=True))])
    assert (first.category, list(first.diagnostics), first.properties["manifest"]) == (
        "kl/arch/a/",
        [],
        None,
    )
    assert (second.category, second.successful) == ("kl/arch/b/", False)


@given(VERDICTS)
def test_nothing_found_is_lost(found: Verdict) -> None:
    new = [entry for entry in findings(found) if not entry.accepted]
    assert len(github_annotations([("x", found)])) == len(new)
    assert len(code_quality([("x", found)])) == len({e.unique_fingerprint for e in findings(found)})


NODE = re.compile(r'    (l\d+)\["([^"]*)"\]')
ARROW = re.compile(r'    (l\d+) (-->|-\.->)\|"([^"]*)"\| (l\d+)')
STYLE = re.compile(r"    linkStyle (\d+(?:,\d+)*) stroke:(#[0-9a-f]{6}),color:\2")


def test_the_picture_of_a_drifting_shop() -> None:
    found = verdict(
        broken(line=3), broken("c/price.py", 4), accepted=(broken("c/stock.py", target="infra"),)
    )
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
    one = broken()._replace(source_layer=names[0], target_layer=names[-1], path=path)
    flows = {(names[0], name): 2 for name in names}
    lines = mermaid([("x", verdict(one)._replace(manifest=rules))], flows)
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
