"""Commands that nothing is learned from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.memory.trivia import trivial

TRIVIAL = [
    "git status", "git -C sub log --oneline", "git commit -m 'x y'", "ls", "ls -la /tmp", "cd src", "echo hi", "pwd",
    "cat a b", "/bin/ls", "python --version", "make --help", "env A=1 ls", "sudo ls", "sh -c 'cd src && ls | wc -l'",
    "bash -lc 'git status'", "timeout 60 cat x", "git", "pip list", "docker ps -a", "true", "kl status", "", "   ",
]  # fmt: skip
TELLING = [
    "pytest -q", "make build", "npm run build", "python -m build", "docker compose up -d", "pip install -e .",
    "cargo test", "sh -c 'cd src && make'", "env CI=1 tox -e py312", "uv sync", "git bisect run make",
    "./scripts/deploy.sh staging", "terraform plan", "sh -c 'make'", "timeout 60 make slow", "it's broken ( quoting",
]  # fmt: skip


@pytest.mark.requirement("A41")
@pytest.mark.parametrize("command", TRIVIAL)
def test_looking_around_is_trivial(command: str) -> None:
    assert trivial(command)


@pytest.mark.parametrize("command", TELLING)
def test_building_and_testing_is_not(command: str) -> None:
    assert not trivial(command)


@given(st.text(max_size=200))
def test_any_line_gets_an_answer(command: str) -> None:
    assert trivial(command) in (True, False)
