"""`kl finding`: imported from an agent, found by a later task, and stale when the content
changes.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import Checkout, Done

SOURCE = '"""Reads names."""\n\n\ndef feed(name):\n    return name\n'


def report(repo: Checkout, tool: str, given: dict[str, Any], answer: Any, *more: str) -> Done:
    plain = {
        "session_id": "s1",
        "cwd": str(repo.root),
        "tool_name": tool,
        "tool_input": given,
        "tool_response": answer,
    }
    return repo.kl("finding", "add", "--hook", *more, input=json.dumps(plain))


def listed(repo: Checkout, *args: str) -> list[tuple[str, str]]:
    found = json.loads(repo.kl("finding", "list", "--format", "json", *args).stdout)["records"]
    return [(one["title"].partition(":")[0], one["status"]) for one in found]


@pytest.fixture
def shop(repo: Checkout) -> Checkout:
    repo.write("src/names.py", SOURCE)
    repo.commit()
    return repo


@pytest.mark.requirement("A57", "A60")
def test_a_call_becomes_one_finding_however_often_it_is_reported(shop: Checkout) -> None:
    for _ in range(2):
        done = report(shop, "Read", {"file_path": f"{shop.root}/src/names.py"}, SOURCE)
        assert (done.returncode, done.stderr) == (0, "")
    (one,) = json.loads(shop.kl("finding", "list", "--format", "json").stdout)["records"]
    assert one["id"].startswith("FND-")
    assert len(one["id"]) == 4 + 16
    assert (one["authority"], one["status"]) == ("agent", "live")
    shown = json.loads(shop.kl("finding", "show", one["id"], "--format", "json").stdout)
    fields = shown["fields"]
    assert (fields["entity"], fields["kind"], fields["confidence"], fields["source"]) == (
        "src/names.py",
        "observation",
        85,
        "s1",
    )
    assert fields["anchors"] == {"file:src/names.py": shop.git("hash-object", "src/names.py")}


@pytest.mark.requirement("A60")
def test_lists_and_answers_name_the_agent_the_entity_the_sort_and_how_sure_it_is(
    shop: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KL_AGENT", "bot")
    done = report(shop, "Read", {"file_path": "src/names.py"}, SOURCE, "--format", "json")
    (new,) = json.loads(done.stdout)["new"]
    expected = {"entity": "src/names.py", "kind": "observation", "confidence": 85, "agent": "bot"}
    assert expected.items() <= new.items() and new["finding"] == "3 lines; defines feed"
    for command in (("list",), ("search", "feed")):
        (one,) = json.loads(shop.kl("finding", *command, "--format", "json").stdout)["records"]
        assert expected.items() <= one["fields"].items() and one["fields"]["source"] == "s1", (
            command
        )
    assert "(kind: observation, confidence: 85, agent: bot)" in shop.kl("finding", "list").stdout


@pytest.mark.requirement("A59", "A61")
def test_what_a_call_was_given_is_the_entity_and_the_sort(shop: Checkout) -> None:
    shop.write("docs/adr/0004-store.md", "# Store\n")
    shop.write("pyproject.toml", "[project]\nname = 'shop'\n")
    hit = "src/names.py:4:def feed(name):"
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("Grep", {"pattern": "feed", "path": "src/names.py"}, hit),
        ("Grep", {"pattern": "feed", "query": "x"}, hit),
        ("Grep", {"query": "who feeds"}, hit),
        ("Read", {"path": "docs/adr/0004-store.md"}, "# Store\n"),
        ("Read", {"path": "pyproject.toml"}, "[project]\n"),
        ("Edit", {"file_path": "src/names.py"}, "done"),
    ]
    for tool, given, answer in calls:
        assert report(shop, tool, given, answer).returncode == 0
    found = json.loads(shop.kl("finding", "list", "--format", "json").stdout)["records"]
    assert sorted((one["fields"]["entity"], one["fields"]["kind"]) for one in found) == [
        ("docs/adr/0004-store.md", "architectural_decision"),
        ("feed", "observation"),
        ("pyproject.toml", "dependency"),
        ("src/names.py", "change"),
        ("src/names.py", "observation"),
        ("who feeds", "observation"),
    ]


@pytest.mark.requirement("A62")
def test_a_later_task_finds_it_and_a_stale_one_never_reaches_a_package(shop: Checkout) -> None:
    report(shop, "Read", {"file_path": "src/names.py"}, SOURCE)
    report(shop, "Grep", {"pattern": "feed"}, "src/names.py:4:def feed(name):")
    assert "FND-" in shop.kl("context", "make feed in src/names.py faster").stdout
    shop.write("src/names.py", SOURCE.replace("return name", "return name.strip()"))
    assert sorted(listed(shop)) == [("feed", "stale"), ("src/names.py", "stale")]
    assert "FND-" not in shop.kl("context", "make feed in src/names.py faster").stdout
    shop.write("src/names.py", SOURCE)
    assert sorted(listed(shop)) == [("feed", "live"), ("src/names.py", "live")]


def test_what_sort_of_finding_it_is_is_no_word_of_its_text(shop: Checkout) -> None:
    report(shop, "Bash", {"command": "make docs"}, {"stdout": "built"})
    [found] = json.loads(shop.kl("finding", "list", "--format", "json").stdout)["records"]
    assert found["fields"]["kind"] == "change"
    package = shop.kl("context", "change how the calculator adds").stdout
    assert "make docs" not in package
    assert "make docs" not in shop.kl("search", "change").stdout
    assert "make docs" in shop.kl("context", "build the docs").stdout


def test_a_change_around_a_symbol_leaves_what_rests_on_the_symbol(shop: Checkout) -> None:
    report(shop, "Read", {"file_path": "src/names.py"}, SOURCE)
    report(shop, "Grep", {"pattern": "feed"}, "src/names.py:4:def feed(name):")
    shop.write("src/names.py", SOURCE + "\n\nMORE = 1\n")
    assert listed(shop, "--status", "stale") == [("src/names.py", "stale")]
    # whichever command lists them
    every = shop.kl("knowledge", "list", "--status", "stale", "--format", "json")
    assert [row["status"] for row in json.loads(every.stdout)["records"]] == ["stale"]
    assert listed(shop, "--status", "live") == [("feed", "live")]
    stale = json.loads(shop.kl("finding", "list", "--status", "stale", "--format", "json").stdout)[
        "records"
    ][0]["id"]
    assert (
        "It is stale: src/names.py has changed since." in shop.kl("finding", "show", stale).stdout
    )


def test_found_again_it_is_valid_for_the_content_of_today(shop: Checkout) -> None:
    report(shop, "Read", {"file_path": "src/names.py"}, SOURCE)
    shop.write("src/names.py", SOURCE.replace("return name", "return name.strip()"))
    assert listed(shop) == [("src/names.py", "stale")]
    report(shop, "Read", {"file_path": "src/names.py"}, SOURCE)
    assert listed(shop) == [("src/names.py", "live")]


@pytest.mark.requirement("A58")
def test_evidence_for_a_command_never_lowers_the_confidence_and_evidence_against_it_does(
    shop: Checkout,
) -> None:
    flaky = ["mkdir", str(shop.root.parent / "once")]
    for command in ([sys.executable, "-c", "pass"], flaky, flaky):
        shop.kl("run", "--", *command)
    shop.kl("claim", "add", "it builds", "--about", "command:make all")
    shop.kl("claim", "add", "it is fast", "--about", f"command:{' '.join(flaky)}")
    commands = [f"{sys.executable} -c pass", " ".join(flaky), "make all", "make none"]
    for command in commands:
        report(shop, "Bash", {"command": command}, {"stdout": ""})
    found = json.loads(shop.kl("finding", "list", "--format", "json").stdout)["records"]
    assert {one["fields"]["entity"]: one["fields"]["confidence"] for one in found} == dict(
        zip(commands, (90, 40, 90, 90), strict=True)
    )


@pytest.mark.requirement("A57")
def test_a_whole_transcript_is_imported_once(shop: Checkout, tmp_path: Path) -> None:
    call = {
        "type": "tool_use",
        "id": "t1",
        "name": "Read",
        "input": {"file_path": str(shop.root / "src/names.py")},
    }
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": SOURCE}
    lines = [
        {
            "type": "assistant",
            "sessionId": "s9",
            "cwd": str(shop.root),
            "message": {"role": "assistant", "content": [call]},
        },
        {"type": "user", "sessionId": "s9", "message": {"role": "user", "content": [answer]}},
    ]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\nnot json\n")
    first = shop.kl("finding", "import", str(path))
    assert first.returncode == 0, first.stderr
    assert "1 finding new, 0 known already." in first.stdout
    assert "1 line could not be read" in first.stderr
    assert "0 findings new, 1 known already." in shop.kl("finding", "import", str(path)).stdout


def test_given_nonsense_it_costs_the_agent_a_remark_only(shop: Checkout) -> None:
    done = shop.kl_process("finding", "add", "--hook", input="{")
    assert (done.returncode, done.stdout) == (0, "")
    assert "no finding stored: stdin: is no JSON" in done.stderr
    assert shop.kl("finding", "add", "--hook", "--strict", input="{").returncode == 2
    assert shop.kl("finding", "add").returncode == 2


def test_where_kl_is_not_used_nothing_is_left(tmp_path: Path, home: Path) -> None:
    from tests.support import checkout

    bare = checkout(tmp_path / "bare", kl=False)
    assert report(bare, "Read", {"path": "a.py"}, "x").returncode == 0
    assert not bare.state.exists()


def test_a_secret_in_a_result_is_in_no_byte_of_the_state(shop: Checkout) -> None:
    secret = "ghp_" + "a1B2" * 9
    report(
        shop,
        "Bash",
        {"command": f"curl -H 'Authorization: Bearer {secret}' x"},
        {"stdout": f"token={secret}"},
    )
    report(shop, "Read", {"path": "src/names.py"}, f"PASSWORD = '{secret}'\n")
    assert len(listed(shop)) == 2
    assert not [
        path
        for path in shop.state.rglob("*")
        if path.is_file() and secret.encode() in path.read_bytes()
    ]


@pytest.mark.slow
@pytest.mark.sweep
def test_a_long_transcript_is_imported_at_once(shop: Checkout, tmp_path: Path) -> None:
    lines = []
    for n in range(400):
        tool, given = [("Grep", {"pattern": f"name_{n}"}), ("Read", {"file_path": "src/names.py"})][
            n % 2
        ]
        call = {"type": "tool_use", "id": f"t{n}", "name": tool, "input": given}
        answer = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"def name_{n}(): 0"}
        lines += [{"type": "assistant", "message": {"role": "assistant", "content": [call]}}]
        lines += [{"type": "user", "message": {"role": "user", "content": [answer]}}]
    path = tmp_path / "long.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    assert "400 findings new" in shop.kl("finding", "import", str(path)).stdout
    assert "0 findings new, 400 known already." in shop.kl("finding", "import", str(path)).stdout


def test_at_a_terminal_it_states_what_it_waits_for(shop: Checkout) -> None:
    ours, theirs = os.openpty()
    os.write(ours, b"{}\n\x04")
    done = shop.kl_process("finding", "add", "--hook", stdin=theirs)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0
    assert done.stderr.startswith("kl: waiting for the JSON of an agent hook")


@pytest.mark.requirement("A60")
def test_findings_that_another_system_stored_are_imported(shop: Checkout) -> None:
    row = {
        "id": "0123456789abcdef",
        "entity": "src/names.py",
        "finding": "feed returns the name",
        "source": "s1",
        "confidence": 0.85,
        "agentName": "Developer",
        "kind": "Discovery",
        "recordedAt": "2026-01-01T00:00:00Z",
    }
    path = shop.write("knowledge_findings.json", json.dumps([row]))
    assert "1 finding new" in shop.kl("finding", "import", str(path)).stdout
    assert "0 findings new" in shop.kl("finding", "import", str(path)).stdout
    (record,) = json.loads(shop.kl("finding", "list", "--format", "json").stdout)["records"]
    assert record["title"] == "src/names.py: feed returns the name"
    assert "confidence: 85, agent: Developer" in shop.kl("finding", "list").stdout
    for other in ([{"entity": "x"}], {"entity": "x"}, [1]):
        path = shop.write("other.json", json.dumps(other))
        assert shop.kl("finding", "import", str(path)).returncode == 2
