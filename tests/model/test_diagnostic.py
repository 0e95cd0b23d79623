"""Reports of findings, whatever check made them.

Annotations on GitHub: escaped so that the runner reads back what was meant; nine and a count.

GitLab's Code Quality report: the keys that GitLab reads, one fingerprint for each finding.

SARIF as code scanning takes it: compared with the published schema, as far as kl writes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft4Validator, ValidationError

from kl_hooks.cli.output import REPORT_FORMATS
from kl_hooks.model.diagnostic import (
    Diagnostic,
    Report,
    Rule,
    numbered,
)
from kl_hooks.model.report_formats.github import MAX_ANNOTATIONS, github_commands
from kl_hooks.model.report_formats.gitlab import gitlab_report
from kl_hooks.model.report_formats.rendering import render
from kl_hooks.model.report_formats.sarif import sarif_log
from kl_hooks.model.text import safe_text

RULE = Rule("layers/core/web", "core must not import web", "core may import: nothing.")
FINDING = Diagnostic(RULE, "c/order.py", 3, "from w import page.", "f" * 16, "pass it in")
PLACE = ".kl/config.yaml"
TEXTS = st.text(max_size=20) | st.text(alphabet='%:,\r\n"#`<>;|]&\\ \u202e\udc80', max_size=12)
"""Text with whatever some format takes for a sign of its own."""
_NAMES = st.text(st.sampled_from("ab/.#?% :,&=+é語\n\t\x1b"), min_size=1, max_size=20)
PATHS = _NAMES | st.binary(min_size=1, max_size=12).map(
    lambda name: name.replace(b"\0", b"x").decode("utf-8", "surrogateescape")
)
"""Names that a file may have: any bytes but NUL."""
DIAGNOSTICS = st.lists(
    st.builds(
        Diagnostic,
        st.sampled_from([RULE, Rule("proof/stale", "A symbol is stale", "Run the tests.")]),
        PATHS | st.just(""),
        st.integers(0, 9),
        TEXTS,
        st.sampled_from(["a" * 16, "b" * 16]),
        TEXTS,
        column=st.integers(0, 9),
        level=st.sampled_from(["error", "warning", "note"]),
        accepted=st.booleans(),
    ),
    max_size=6,
).map(numbered)
COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")


def read_command(line: str) -> tuple[dict[str, str], str]:
    """A command as the runner reads it: properties apart at `,` and `=`, then unescaped."""
    match = COMMAND.fullmatch(line)
    assert match is not None, line
    pairs = [part.split("=", 1) for part in match[2].split(",")]

    def unescape(text: str) -> str:
        for code, sign in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
            text = text.replace(code, sign)
        return text

    return {key: unescape(value) for key, value in pairs}, unescape(match[3])


def test_a_finding_without_a_place_is_of_the_whole_content() -> None:
    whole = FINDING._replace(path="", line=0)
    assert github_commands([whole], "kl verify") == [
        "::error title=core must not import web::from w import page. hint: pass it in"
    ]
    (row,) = gitlab_report([whole], PLACE)
    assert row["location"] == {"path": PLACE, "lines": {"begin": 1}}
    (result,) = log([whole])["runs"][0]["results"]
    (location,) = result["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == PLACE


def test_signs_of_github_are_escaped() -> None:
    (line,) = github_commands([FINDING._replace(path="c/a,b:c%0A\n.py")], "kl")
    assert "file=c/a%2Cb%3Ac%250A%0A.py,line=3," in line
    assert read_command(line)[0]["file"] == "c/a,b:c%0A\n.py"


@given(DIAGNOSTICS)
def test_what_the_runner_reads_is_what_was_found(diagnostics: list[Diagnostic]) -> None:
    shown = [entry for entry in diagnostics if not entry.accepted]
    lines = github_commands(diagnostics, "kl verify")
    ranked = sorted(shown, key=lambda entry: entry.level == "note")
    assert len(lines) == len(shown)
    for line, entry in zip(lines, ranked, strict=True):
        assert "\n" not in line and "\r" not in line
        line.encode("utf-8")
        properties, message = read_command(line)
        assert properties.get("file", "") == safe_text(entry.path)
        assert int(properties.get("line", "1")) == (entry.line or 1) or not entry.path
        assert (properties["title"], message) == (entry.rule.title, entry.text)


def test_nine_findings_and_how_many_there_are_then_notes() -> None:
    many = [FINDING._replace(path=f"c/f{n:02}.py") for n in range(14)]
    note = FINDING._replace(level="note")
    accepted = FINDING._replace(accepted=True)
    lines = github_commands([note, accepted, *many], "kl arch check")
    assert len(lines) == MAX_ANNOTATIONS + 2
    assert [read_command(line)[0].get("file") for line in lines[:2]] == ["c/f00.py", "c/f01.py"]
    assert read_command(lines[-2]) == (
        {"title": "kl arch check"},
        "14 findings in 14 files; 9 are shown here. All of them: kl arch check",
    )
    assert lines[-1].startswith("::notice ")
    assert len(github_commands(many[:9], "kl arch check")) == 9


def test_the_keys_gitlab_reads() -> None:
    entries = [FINDING, FINDING._replace(level="warning"), FINDING._replace(accepted=True)]
    rows = gitlab_report(entries, PLACE)
    assert rows[0] == {
        "description": "from w import page. hint: pass it in",
        "check_name": "layers/core/web",
        "fingerprint": "f" * 16,
        "severity": "major",
        "location": {"path": "c/order.py", "lines": {"begin": 3}},
    }
    assert [row["severity"] for row in rows] == ["major", "minor", "info"]


@given(DIAGNOSTICS)
def test_a_report_for_gitlab_is_valid(diagnostics: list[Diagnostic]) -> None:
    rows = json.loads(json.dumps(gitlab_report(diagnostics, PLACE)))
    assert len({row["fingerprint"] for row in rows}) == len(rows) == len(diagnostics)
    for row, entry in zip(rows, diagnostics, strict=True):
        assert set(row) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert row["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert row["location"]["lines"]["begin"] >= 1
        json.dumps(row, ensure_ascii=False).encode("utf-8")
        if not any("\udc80" <= sign <= "\udcff" for sign in entry.path):
            assert row["location"]["path"] == (entry.path or PLACE)


def test_fingerprints_do_not_move_with_lines_and_differ_for_each_finding() -> None:
    def fingerprints(*lines: int) -> list[str]:
        entries = numbered(FINDING._replace(line=line) for line in lines)
        (run,) = log(entries)["runs"]
        marks = [result["partialFingerprints"] for result in run["results"]]
        assert {mark["klFinding/v1"] for mark in marks} == {FINDING.fingerprint}
        assert len({mark["primaryLocationLineHash"] for mark in marks}) == len(lines)
        return [row["fingerprint"] for row in gitlab_report(entries, PLACE)]

    assert fingerprints(3, 9) == fingerprints(30, 90)
    assert fingerprints(3) == [FINDING.fingerprint]
    assert fingerprints(9, 3) == fingerprints(3, 9)[::-1], "numbered by line, in the order given"


SCHEMA = Draft4Validator(
    json.loads(Path(__file__).with_name("sarif-2.1.0-subset.json").read_text())
)


def log(*contents: Sequence[Diagnostic]) -> dict[str, Any]:
    """A valid log with a run for each content."""
    reports = [Report(f"kl/{number}/", entries) for number, entries in enumerate(contents)]
    value = json.loads(json.dumps(sarif_log(reports, PLACE)))
    SCHEMA.validate(value)
    assert isinstance(value, dict)
    return value


@given(DIAGNOSTICS)
def test_a_log_is_valid_and_its_uris_lead_back_to_the_paths(diagnostics: list[Diagnostic]) -> None:
    first, second = log(diagnostics, [])["runs"]
    assert second["results"] == [] == second["tool"]["driver"]["rules"]
    assert first["automationDetails"]["id"] != second["automationDetails"]["id"]
    rules = first["tool"]["driver"]["rules"]
    for result, entry in zip(first["results"], diagnostics, strict=True):
        (location,) = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        parts = urlsplit(uri)
        assert uri.isascii() and uri.isprintable() and " " not in uri
        assert not (parts.scheme or parts.query or parts.fragment)
        path = (entry.path or PLACE).encode("utf-8", "surrogateescape")
        assert unquote_to_bytes(uri) == path
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == entry.rule.id


def test_an_accepted_finding_is_suppressed() -> None:
    (run,) = log([FINDING, FINDING._replace(accepted=True, number=2)])["runs"]
    assert [
        (result["baselineState"], result["level"], "suppressions" in result)
        for result in run["results"]
    ] == [("new", "error", False), ("unchanged", "note", True)]


def test_the_schema_would_refuse_what_is_wrong() -> None:
    value = log([FINDING])
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


def test_each_format_is_a_module_that_renders_findings_and_none() -> None:
    reports = [
        Report("kl/arch/", [FINDING._replace(path='c/<a>&".py'), FINDING._replace(accepted=True)])
    ]
    for name in REPORT_FORMATS:
        assert FINDING.rule.id in render(name, reports, "kl arch check", PLACE) or name == "github"
        assert FINDING.rule.id not in render(name, [Report("kl/arch/", [])], "kl", PLACE)


def test_junit_has_a_case_for_each_finding() -> None:
    findings = [FINDING._replace(path='c/<a>&".py'), FINDING._replace(accepted=True, number=2)]
    suite = ElementTree.fromstring(render("junit", [Report("kl/", findings)], "kl verify", PLACE))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "1")
    failed, accepted = suite
    assert (failed.get("name"), failed[0].tag) == (f'c/<a>&".py:{FINDING.line}', "failure")
    assert (failed[0].get("message"), accepted[0].tag) == (FINDING.text, "skipped")
    (passed,) = ElementTree.fromstring(render("junit", [], "kl verify", PLACE))
    assert (passed.get("name"), len(passed)) == ("no findings", 0)
