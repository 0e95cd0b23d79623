"""Who made something happen."""

from __future__ import annotations

import pytest

from kl_hooks.evidence.provenance import agent, ci, producer
from kl_hooks.model.actors import AGENTS

GITHUB = {
    "GITHUB_ACTIONS": "1",
    "GITHUB_RUN_ID": "5",
    "GITHUB_RUN_ATTEMPT": "2",
    "GITHUB_JOB": "test",
}
JOBS = {
    "github": (GITHUB, "github:5:2:test"),
    "gitlab": ({"GITLAB_CI": "true", "CI_JOB_ID": "9"}, "gitlab:9"),
    "a part missing": ({"GITHUB_ACTIONS": "true", "GITHUB_JOB": "test"}, "github:test"),
    "jenkins": ({"JENKINS_URL": "http://x", "BUILD_TAG": "b-1"}, "jenkins:b-1"),
    "unknown": ({"CI": "1"}, "ci"),
    "older": ({"BUILD_NUMBER": "7"}, "ci"),
    "none": ({"CI": ""}, None),
}


@pytest.mark.parametrize("name", JOBS)
def test_a_job_is_named_by_its_service(name: str) -> None:
    environ, named = JOBS[name]
    assert ci(environ) == named
    assert (producer(environ) == f"ci:{named}") == (named is not None)


@pytest.mark.parametrize(("variable", "name"), AGENTS)
def test_an_agent_is_known_by_its_environment(variable: str, name: str) -> None:
    assert agent({variable: "1"}) == name
    assert producer({variable: "1"}).startswith(f"agent:{name}@")
    assert agent({variable: "1", "KL_AGENT": "mine"}) == "mine"


def test_a_person_is_a_user_at_a_host() -> None:
    assert agent({}) is None
    assert producer({}).startswith("local:")
    assert producer({}) == producer({})
    assert "@" in producer({})


def test_a_name_is_cut() -> None:
    assert len(agent({"KL_AGENT": "x" * 500}) or "") == 80
