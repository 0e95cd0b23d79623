"""What `kl verify` hands to CI services: a diagnostic for each symbol or test that is not proven,
under a fingerprint that stays.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from kl_hooks.config.settings import SETTINGS_FILE
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.model.claim import Tier
from kl_hooks.model.report_formats import rendering
from kl_hooks.proof import formats
from kl_hooks.proof.content_proof import Proof
from kl_hooks.proof.impact import PROVEN, SymbolState
from tests.evidence.making import leave_run
from tests.model.test_diagnostic import SCHEMA, read_command
from tests.support import checkout

ODD = "tests/test_c#d, é 100%?.py"
NOTHING = Proof(Tier.GUESSED, None, ())


def render(
    name: str,
    tree: str,
    is_proven: bool,
    states: Sequence[SymbolState],
    proof: Proof,
    command: str,
) -> str:
    report = formats.report(tree, is_proven, states, proof, command)
    return rendering.render(name, [report], "kl verify", SETTINGS_FILE)


def fingerprints(*states: SymbolState, tree: str = "a" * 40, proof: Proof = NOTHING) -> list[str]:
    rows = json.loads(render("gitlab", tree, False, states, proof, "pytest"))
    return [row["fingerprint"] for row in rows]


def test_a_missing_test_in_a_file_with_an_odd_name(tmp_path: Path, home: Path) -> None:
    repo = checkout(
        tmp_path / "repo",
        {"tests/test_a.py": "def test_a(): pass\n", ODD: "def test_b(): pass\n"},
    )
    leave_run(repo.workspace(), [("tests/test_a.py::test_a", "passed", 5)])
    sync_evidence(repo.workspace())
    reports = {
        shape: repo.kl("verify", "--format", shape).stdout
        for shape in ("sarif", "github", "gitlab")
    }
    sarif = json.loads(reports["sarif"])
    SCHEMA.validate(sarif)
    (result,) = sarif["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert (unquote(uri), "#" in uri, "?" in uri) == (ODD, False, False)
    assert result["ruleId"] == "proof/missing" and sarif["runs"][0]["tool"]["driver"]["rules"]
    properties, message = read_command(reports["github"].removesuffix("\n"))
    assert (properties["file"], properties["line"]) == (ODD, "1")
    assert message.startswith(f"{ODD}: no test of it was reported") and "hint: pytest " in message
    (row,) = json.loads(reports["gitlab"])
    assert row["location"]["path"] == ODD


def test_a_proven_content_has_nothing_to_show() -> None:
    assert render("github", "a" * 40, True, (), NOTHING, "") == ""
    assert json.loads(render("gitlab", "a" * 40, True, (), NOTHING, "")) == []
    SCHEMA.validate(json.loads(render("sarif", "a" * 40, True, (), NOTHING, "")))


def test_what_is_not_proven_is_one_finding_whatever_the_content() -> None:
    assert fingerprints(tree="a" * 40) == fingerprints(tree="b" * 40)
    assert read_command(render("github", "a" * 40, False, (), NOTHING, "").strip()) == (
        {"title": "The content is not proven"},
        "tree aaaaaaaaaaaa is not proven: no passing full test run is recorded for this content."
        " hint: pytest",
    )


def test_a_symbol_has_its_rule_and_keeps_its_fingerprint_when_lines_move() -> None:
    stale = SymbolState("function:a.f", "a.py", 3, "stale", "a.g changed", ("test_a.py::t",))
    never = SymbolState("function:a.h", "a.py", 9, "never exercised", "no test executed it")
    proven = SymbolState("function:a.k", "a.py", 12, PROVEN, "")
    log = json.loads(render("sarif", "a" * 40, False, (stale, never, proven), NOTHING, "pytest x"))
    SCHEMA.validate(log)
    results = [(one["ruleId"], one["message"]["text"]) for one in log["runs"][0]["results"]]
    assert results == [
        ("proof/stale", "a.f is stale: a.g changed. hint: pytest x"),
        (
            "proof/never-exercised",
            "a.h is never exercised: no test executed it. hint: it needs a test",
        ),
    ]
    moved = stale._replace(line=40)
    assert fingerprints(stale, never) == fingerprints(moved, never)
    assert len(set(fingerprints(stale, moved))) == 2, "a name that is defined twice"
