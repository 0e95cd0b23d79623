"""What recorded runs, the gate and the check of layers show of files that the policy hides: nothing
under deny; under redact the names and places, and none of the text.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

import pytest

from kl_hooks.tools.call import call
from tests.operations.hidden_files import AGENT, TOOLS, HiddenFiles, hidden_files
from tests.support import Checkout

needs_symbols = pytest.mark.skipif(
    not hasattr(sys, "monitoring"), reason="executed symbols are recorded from CPython 3.12 on"
)


@pytest.fixture
def hidden(repo: Checkout) -> HiddenFiles:
    return hidden_files(repo)


@pytest.mark.parametrize("effect", ["deny", "redact"])
@pytest.mark.share("redact")
def test_no_command_shows_what_is_hidden(hidden: HiddenFiles, effect: str) -> None:
    hidden.hide(effect)
    done = hidden.repo.kl("proof", "impacted", env=AGENT)
    assert "tests/test_open.py::test_all" in done.stdout, done
    leaks: Mapping[str, set[str]] = {
        " ".join(command): hidden.leaks(done.stdout + done.stderr, command)
        for command in hidden.commands()
        for done in (hidden.repo.kl(*command, env=AGENT),)
    }
    assert not {name: words for name, words in leaks.items() if words}


@pytest.mark.parametrize("effect", ["deny", "redact"])
@pytest.mark.share("redact")
def test_no_tool_shows_what_is_hidden(hidden: HiddenFiles, effect: str) -> None:
    hidden.hide(effect)
    for name, arguments in TOOLS:
        given = json.dumps(arguments)
        answer, _ = call(hidden.repo.workspace(), name, given.encode(), allow_write=True)
        assert hidden.leaks(json.dumps(answer), [given]) == set(), name


@needs_symbols
def test_what_is_hidden_changes_no_verdict_and_stays_a_reason(hidden: HiddenFiles) -> None:
    command = ("verify", "--require", "proven", "--format", "json")
    person = hidden.repo.kl(*command)
    hidden.hide("deny")
    agent = hidden.repo.kl(*command, env=AGENT)
    assert (person.returncode, agent.returncode) == (1, 1)
    whole, part = json.loads(person.stdout), json.loads(agent.stdout)
    for name in ("state", "accepted", "proven", "tests", "hints"):
        assert part[name] == whole[name], name
    assert [len(answer["failing"]) for answer in (whole, part)] == [1, 1]
    assert "withheld failed in run" in repr(part["reasons"])


def test_a_violation_that_is_hidden_still_blocks(hidden: HiddenFiles) -> None:
    for effect in ("deny", "redact"):
        hidden.hide(effect)
        for command in (("--staged",), ("--format", "json")):
            done = hidden.repo.kl_process("arch", "check", *command, env=AGENT)
            assert done.returncode == 1 and "zqstatement" not in done.stdout, done.stdout
            assert ("withheld" in done.stdout) is (effect == "deny")
        found = json.loads(done.stdout)
        assert (found["clean"], len(found["violations"])) == (False, 1)


def test_a_receipt_has_the_results_that_are_not_hidden_and_its_own_id(hidden: HiddenFiles) -> None:
    show = ("evidence", "show", hidden.run, "--format", "json")
    whole = json.loads(hidden.repo.kl(*show).stdout)
    for effect, shown in (("deny", 2), ("redact", 4)):
        hidden.hide(effect)
        part = json.loads(hidden.repo.kl(*show, env=AGENT).stdout)
        assert len(part["evidence"]) == shown and len(whole["evidence"]) == 4
        assert "zqmessage" in repr(whole) and "zqmessage" not in repr(part)
        assert (part["id"], part["evidence_digest"]) == (whole["id"], whole["evidence_digest"])
        exported = hidden.repo.kl("evidence", "export", env=AGENT)
        assert "1 receipt omitted: hidden from you" in exported.stderr
        assert "zq" not in exported.stdout


@needs_symbols
def test_of_a_hidden_symbol_no_test_is_named_and_none_is_denied(hidden: HiddenFiles) -> None:
    hidden.hide("deny")
    done = hidden.repo.kl("proof", "tests", "veiled.zqplans.zqtotal", env=AGENT)
    assert done.stdout == "no test that you may see executed it.\n"
    assert hidden.repo.kl("proof", "why", "test_zqfails", env=AGENT).returncode == 2
    person = hidden.repo.kl("proof", "why", "test_zqfails")
    assert "ValueError: zqmessage" in person.stdout


def test_a_denied_file_is_denied_whatever_its_name_is_written_like(hidden: HiddenFiles) -> None:
    names = ("veiled/zqplans.py", "./veiled/zqplans.py", "file:veiled/zqplans.py", "file:veiled/")
    assert [hidden.repo.kl("evidence", "show", name).returncode for name in names] == [0] * 4
    hidden.hide("deny")
    shown = [hidden.repo.kl("evidence", "show", name, env=AGENT).returncode for name in names]
    assert shown == [2] * 4


def test_a_question_that_is_none_for_a_module_is_denied_like_others(hidden: HiddenFiles) -> None:
    hidden.hide("deny")
    for name in ("veiled/zqplans.py", "file:veiled/zqplans.py", "veiled.zqplans"):
        done = hidden.repo.kl("graph", "uses", name, env=AGENT)
        assert (done.returncode, ".kl/policy.yaml denies it to you" in done.stderr) == (2, True)
