"""The whole way, with processes of their own: pytest, git and commands in, a reviewed memory out to an agent."""

from __future__ import annotations

import json
import sys

import pytest

from tests.support import Checkout


@pytest.mark.requirement("C1", "A40", "A41", "A42", "A43")
def test_a_failure_that_a_commit_ended_becomes_what_agents_are_told(repo: Checkout) -> None:
    repo.write("names.py", "def clean(text):\n    return text.strip()\n")
    repo.write("test_names.py", "from names import clean\n\ndef test_bom():\n    assert clean('\\ufeffa') == 'a'\n")
    repo.commit("Clean names")
    assert repo.pytest("-q").returncode == 1
    assert repo.kl("status").returncode == 0
    repo.write("names.py", "def clean(text):\n    return text.strip().lstrip('\\ufeff')\n")
    assert repo.pytest("-q").returncode == 0
    commit = repo.commit("Strip the byte order mark")
    assert "1 waiting for kl memory review" in repo.kl("status").stdout
    listed = json.loads(repo.kl("memory", "review", "--format", "json").stdout)
    (found,) = listed["memories"]
    assert found["pattern"].startswith(
        f"Fixed by commit {commit[:8]} (Strip the byte order mark), which changed names.py: "
        "test_names.py::test_bom failed with: AssertionError: assert"
    )
    assert "\ufeff" not in found["pattern"] and len(found["evidence"]) == 2
    assert repo.kl("memory", "inject", "names").stdout == ""
    assert repo.kl("memory", "approve", found["id"]).returncode == 0
    assert found["id"] in repo.kl("memory", "inject", "names").stdout
    assert found["id"] in repo.kl("context", "names with a byte order mark", "--format", "json").stdout
    repo.commit("Keep what was learned")
    assert repo.kl("knowledge", "gc").returncode == 0


@pytest.mark.requirement("A41", "A44")
def test_commands_of_two_sessions_of_an_agent(repo: Checkout) -> None:
    command = (sys.executable, "-c", "print('built')")
    for session in ("s1", "s2", "s2", "s3"):
        done = repo.kl("run", "--", *command, env={"KL_AGENT": "bot", "KL_SESSION": session})
        assert done.returncode == 0
        repo.kl("run", "--", "git", "status", env={"KL_AGENT": "bot", "KL_SESSION": session})
    assert repo.kl("memory", "mine").returncode == 0
    (found,) = json.loads(repo.kl("memory", "review", "--format", "json").stdout)["memories"]
    assert (found["reinforcement"], found["tier"]) == (3, "inferred")
    assert found["title"].startswith("Shell command succeeds: ")
