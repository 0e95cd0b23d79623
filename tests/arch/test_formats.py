"""Findings: everything a check found, once each, by rules that keep their names.

Annotations on GitHub: escaped so that the runner reads back what was meant; nine and a count.

GitLab's Code Quality report: the keys that GitLab reads, one fingerprint for each finding.

SARIF as code scanning takes it: compared with the published schema, as far as kl writes it.

The flowchart: counted arrows, violations dashed and red, and no text that Mermaid could take for
its own.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft4Validator, ValidationError

from kl_hooks.arch.formats import (
    MAX_ANNOTATIONS,
    _merged_findings,
    findings,
    github,
    gitlab,
    label,
    mermaid,
    sarif,
)
from kl_hooks.arch.layer_check import INDIRECT_METHOD, Verdict
from kl_hooks.model.manifest import Layer, Manifest
from tests.arch.verdicts import TEXTS, UNREAD, VERDICTS, broken, verdict


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
    (one,) = findings(verdict(replace(broken(), allowed=("util",))))
    assert one.rule.title == "core must not import web"
    for part in (
        "core may import: util",
        ".kl/architecture.yaml:9",
        'ADR-0004 "Domain stays pure"',
        "kl arch allow",
    ):
        assert part in one.rule.help
    assert (
        one.message
        == "from w import page: core must not import web (layer rule, .kl/architecture.yaml:9,"
        " ADR-0004). hint: pass it in"
    )


def test_a_rule_offers_no_exception_for_chains_alone() -> None:
    chain = replace(broken(line=1), imported="c", method=INDIRECT_METHOD)
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
    one = verdict(broken())
    assert (
        len(
            _merged_findings(
                [("a", one), ("b", one), ("c", None), ("d", verdict(broken("c/price.py")))]
            )
        )
        == 2
    )


COMMAND = re.compile(r"::error ([^:]*)::(.*)")


def read(line: str) -> tuple[dict[str, str], str]:
    """A command as the runner reads it: properties apart at `,` and `=`, then unescaped."""
    found = COMMAND.fullmatch(line)
    assert found is not None, line
    pairs = [part.split("=", 1) for part in found[1].split(",")]

    def back(text: str) -> str:
        for code, sign in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
            text = text.replace(code, sign)
        return text

    return {key: back(value) for key, value in pairs}, back(found[2])


def test_one_line_for_each_finding() -> None:
    lines = github(
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
    assert github([("worktree", None)]) == [] == github([("worktree", verdict())])


def test_signs_of_the_format_are_escaped() -> None:
    (line,) = github([("x", verdict(broken("c/a,b:c%0A.py")))])
    assert "file=c/a%2Cb%3Ac%250A.py,line=3," in line
    assert read(line)[0]["file"] == "c/a,b:c%0A.py"


@given(VERDICTS)
def test_what_the_runner_reads_is_what_was_found(found: Verdict) -> None:
    new = [one for one in findings(found) if not one.accepted]
    lines = github([("x", found)])
    assert len(lines) == len(new)
    for line in lines:
        assert ("\n" not in line and "\r" not in line and line.isprintable()) or not line.isascii()
        line.encode("utf-8")
        properties, message = read(line)
        assert {"file", "line", "title"} <= set(properties) and int(properties["line"]) >= 1
        assert message in {one.message for one in new}


def test_the_worst_nine_and_how_many_there_are() -> None:
    many = [broken(f"c/f{n:02}.py") for n in range(14)]
    last = broken("c/z.py", target="infra")
    lines = github([("x", verdict(*many, last, problems=(UNREAD,)))])
    assert len(lines) == MAX_ANNOTATIONS + 1 == 10
    files = [read(line)[0].get("file") for line in lines]
    assert files[:3] == [
        "c/bad.py",
        "c/f00.py",
        "c/z.py",
    ], "what is not judged, then every rule once"
    assert read(lines[-1]) == (
        {"title": "kl arch check"},
        "16 findings in 16 files; 9 are shown here. All of them: kl arch check",
    )
    assert len(github([("x", verdict(*many[:9]))])) == 9


def test_the_keys_gitlab_reads() -> None:
    rows = gitlab(
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
    assert gitlab([("worktree", None)]) == [] == gitlab([("worktree", verdict())])


def test_the_same_import_twice_has_two_fingerprints_that_do_not_move() -> None:
    def marks(*lines: int) -> list[str]:
        return [
            row["fingerprint"]
            for row in gitlab([("x", verdict(*(broken(line=line) for line in lines)))])
        ]

    assert marks(3, 9) == marks(30, 90) and len(set(marks(3, 9))) == 2


@given(VERDICTS)
def test_anything_found_is_a_valid_report(found: Verdict) -> None:
    rows = json.loads(json.dumps(gitlab([("x", found)])))
    assert len({row["fingerprint"] for row in rows}) == len(rows) > 0
    for row in rows:
        assert set(row) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert row["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert row["location"]["lines"]["begin"] >= 1 and row["location"]["path"]
        json.dumps(row).encode("utf-8")
        row["description"].encode("utf-8")


SCHEMA = Draft4Validator(
    json.loads(Path(__file__).with_name("sarif-2.1.0-subset.json").read_text())
)


def log(*found: Verdict | None) -> dict[str, Any]:
    value = json.loads(
        json.dumps(sarif([(f"rev{n}", one) for n, one in enumerate(found)], "1.2.3"))
    )
    SCHEMA.validate(value)
    assert isinstance(value, dict)
    return value


@given(VERDICTS)
def test_anything_found_is_a_valid_log(found: Verdict) -> None:
    """The schema holds (see `log`), nothing found is lost, and what was not assessed adds
    nothing.
    """
    one, both = log(found), log(found, None, found)
    assert sum(len(run["results"]) for run in both["runs"]) == 2 * len(one["runs"][0]["results"])
    assert len(one["runs"][0]["results"]) == len(findings(found))


def test_the_schema_would_refuse_what_is_wrong() -> None:
    value = log(verdict(broken()))
    for change in (
        lambda run: run.pop("tool"),
        lambda run: run["results"][0].pop("message"),
        lambda run: run["results"][0].update(level="worst"),
        lambda run: run["results"][0].update(baseline="new"),
        lambda run: run["results"][0]["locations"][0]["physicalLocation"]["region"].update(
            startLine=0
        ),
    ):
        copy = json.loads(json.dumps(value))
        change(copy["runs"][0])
        with pytest.raises(ValidationError):
            SCHEMA.validate(copy)


def test_a_result_has_its_place_rule_and_state() -> None:
    (run,) = log(verdict(broken(), accepted=(broken("c/price.py"),), problems=(UNREAD,)))["runs"]
    bad, new, old = run["results"]
    place = new["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "c/order.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 3},
    }
    assert list(run["originalUriBaseIds"]) == ["%SRCROOT%"]
    assert [(r["baselineState"], r["level"], "suppressions" in r) for r in (bad, new, old)] == [
        ("new", "error", False),
        ("new", "error", False),
        ("unchanged", "note", True),
    ]
    rules = run["tool"]["driver"]["rules"]
    assert [rules[r["ruleIndex"]]["id"] for r in (bad, new, old)] == [
        r["ruleId"] for r in (bad, new, old)
    ]
    assert [rule["id"] for rule in rules] == ["arch/not-judged", "layers/core/web"]
    assert "Domain stays pure" in rules[1]["help"]["text"]
    assert run["tool"]["driver"]["version"] == "1.2.3" and run["automationDetails"] == {
        "id": "kl/arch/"
    }


def test_fingerprints_do_not_move_with_lines_and_differ_for_each_result() -> None:
    def marks(*lines: int) -> list[dict[str, str]]:
        (run,) = log(verdict(*(broken(line=line) for line in lines)))["runs"]
        return [result["partialFingerprints"] for result in run["results"]]

    assert marks(3, 9) == marks(30, 90)
    assert len({one["primaryLocationLineHash"] for one in marks(3, 9)}) == 2
    assert marks(3)[0]["klFinding/v1"] == broken().fingerprint


def test_odd_paths_are_valid_uris_that_lead_back() -> None:
    for path in ("c/a b%.py", "c/ä#?.py", "c:/x.py", "c/\udcff.py"):
        (run,) = log(verdict(broken(path)))["runs"]
        uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert uri.isascii() and not set(uri) & set(" #?:")
        assert unquote_to_bytes(uri) == path.encode("utf-8", "surrogateescape")


def test_no_manifest_is_a_run_without_results() -> None:
    (run,) = log(None)["runs"]
    assert run["results"] == [] and run["tool"]["driver"]["rules"] == []
    first, second = log(None, verdict())["runs"]
    assert first["automationDetails"]["id"] != second["automationDetails"]["id"]


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
