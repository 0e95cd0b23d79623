"""SARIF as code scanning takes it: held against the published schema, as far as kl writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from jsonschema import Draft4Validator, ValidationError

from kl_hooks.arch.formats.findings import findings
from kl_hooks.arch.formats.sarif import sarif
from kl_hooks.arch.verdict import Verdict
from tests.arch.verdicts import UNREAD, VERDICTS, broken, verdict

SCHEMA = Draft4Validator(json.loads(Path(__file__).with_name("sarif-2.1.0-subset.json").read_text()))


def log(*found: Verdict | None) -> dict[str, Any]:
    value = json.loads(json.dumps(sarif([(f"rev{n}", one) for n, one in enumerate(found)], "1.2.3")))
    SCHEMA.validate(value)
    assert isinstance(value, dict)
    return value


@given(VERDICTS)
def test_anything_found_is_a_valid_log(found: Verdict) -> None:
    """The schema holds (see `log`), nothing found is lost, and what was not assessed adds nothing."""
    one, both = log(found), log(found, None, found)
    assert sum(len(run["results"]) for run in both["runs"]) == 2 * len(one["runs"][0]["results"])
    assert len(one["runs"][0]["results"]) == len(findings(found))


def test_the_schema_would_refuse_what_is_wrong() -> None:
    value = log(verdict(broken()))
    for change in (
        lambda run: run.pop("tool"), lambda run: run["results"][0].pop("message"),
        lambda run: run["results"][0].update(level="worst"), lambda run: run["results"][0].update(baseline="new"),
        lambda run: run["results"][0]["locations"][0]["physicalLocation"]["region"].update(startLine=0),
    ):  # fmt: skip
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
        ("new", "error", False), ("new", "error", False), ("unchanged", "note", True),
    ]  # fmt: skip
    rules = run["tool"]["driver"]["rules"]
    assert [rules[r["ruleIndex"]]["id"] for r in (bad, new, old)] == [r["ruleId"] for r in (bad, new, old)]
    assert [rule["id"] for rule in rules] == ["arch/not-judged", "layers/core/web"]
    assert "Domain stays pure" in rules[1]["help"]["text"]
    assert run["tool"]["driver"]["version"] == "1.2.3" and run["automationDetails"] == {"id": "kl/arch/"}


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
