"""The page as text: its parts, what its policy lets run, and what it costs."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys

import pytest

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.report import page
from kl_hooks.report.counts import counts_of
from kl_hooks.report.mermaid import picture
from kl_hooks.report.page import library_records, render, script_data, visible
from tests.report.sample import HOSTILE, empty, hostile, small

pytest.importorskip("jinja2", reason="the extra kl-hooks[report] is not installed")


def _hashes(text: str, tag: str) -> set[str]:
    return {
        f"'sha256-{base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()}'"
        for body in re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    }


@pytest.mark.parametrize("sample", [small, empty, hostile])
def test_the_policy_runs_the_scripts_and_styles_of_the_page_and_no_others(sample: object) -> None:
    text = render(sample())  # type: ignore[operator]
    policies = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert len(policies) == 1
    directives = dict(part.split(" ", 1) for part in policies[0].split("; "))
    assert directives["default-src"] == "'none'"
    assert set(directives["script-src"].split()) == _hashes(text, "script")
    assert set(directives["style-src"].split()) == _hashes(text, "style")
    assert (
        directives["connect-src"] == directives["base-uri"] == directives["form-action"] == "'none'"
    )
    assert text.count("<script") == text.count("</script>") == 3
    assert not re.search(r"<[^>]*\son\w+=", text.partition("<script")[0])
    body = text.partition("<script")[0]
    assert not re.search(r"<(?:link|img|iframe|base|object|embed)\b", body)


def test_the_data_of_the_page_is_the_report() -> None:
    report = hostile()
    text = re.search(r'id="data">(.*?)</script>', render(report), re.DOTALL)
    assert text and "<" not in text[1]
    assert json.loads(text[1]) == report


def test_half_a_surrogate_pair_does_not_stop_the_page() -> None:
    report = small()
    report["repository"]["subject"] = report["tests"]["name"][5] = "half \ud800 a pair"
    report["tests"]["outcome"][5] = "f"
    assert "half ? a pair" in render(report)
    assert json.loads(script_data({"name": "\udfff"})) == {"name": "?"}


def test_what_changes_a_text_unseen_is_shown_as_its_code() -> None:
    assert visible("user\u202etxt.exe") == "user\\u{202e}txt.exe"
    assert visible("a\x00b\u200b\u2066") == "a\\u{0000}b\\u{200b}\\u{2066}"
    assert visible("Grüße, 世界\n") == "Grüße, 世界\n"
    assert visible("x" * 1_000_000) == "x" * 300 + "… (1,000,000 characters)"


def test_the_first_view_is_readable_without_a_script() -> None:
    text = render(small()).partition("<script")[0]
    for part in ("Partly proven: 118 of 160", "pytest --kl-impacted", "CLM-0004", "not proven"):
        assert (part in text) == (part not in ("CLM-0004", "not proven")), part
    assert HOSTILE[0] not in render(hostile()).partition('<script type="application/json"')[0]


def test_without_data_the_page_is_small_and_its_libraries_are_recorded() -> None:
    assert len(render(empty()).encode()) < 400_000
    for record in library_records():
        script = (page._FOLDER / "vendor" / record["file"]).read_bytes()
        assert hashlib.sha256(script).hexdigest() == record["sha256"], record["file"]
        assert len(script) == record["bytes"]
        assert b"</script" not in script and b"<!--" not in script
    assert "Permission is hereby granted" in render(empty())


def test_a_page_of_a_server_may_ask_it_and_no_other() -> None:
    assert "connect-src 'self'" in render(small(), live="v1")


def test_without_jinja_the_problem_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(EnvironmentProblem, match=r'pip install "kl-hooks\[report\]"'):
        render(small())


def test_the_first_picture_as_mermaid_has_the_largest_part_first() -> None:
    report = small()
    report["tests"] |= {"outcome": ["p", "p"], "state": [0, 2]}
    report["now"]["tests"] |= {"here": 2, "transferred": 0, "stale": 7, "failing": 1, "missing": 0}
    assert picture(report) == (
        '%%{init: {"theme": "base", "themeVariables": {"pie1": "#eeb04e", "pie2": "#3b75b3",'
        ' "pie3": "#b3281e", "pieOpacity": "1"}}}%%\n'
        "pie showData title Tests\n"
        '    "must run again" : 7\n    "passed on this content" : 2\n    "failing" : 1\n'
    )
    assert "no test was recorded" in picture(empty())
    assert len(picture(hostile())) < 600


def test_a_test_that_failed_last_is_failing_whatever_changed_since() -> None:
    report = small()
    report["tests"] |= {"outcome": ["f", "e", "f", "p", "p"], "state": [0, 2, 2, 2, 1]}
    report["now"]["tests"] |= {"here": 0, "transferred": 1, "stale": 3, "failing": 1, "missing": 0}
    assert counts_of(report) == (3, 0, 1, 1, 0, 2)
    assert "2 of the failing tests ran on another content" in render(report)
