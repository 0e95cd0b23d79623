"""Setting up, and an interview, under a policy: an agent is shown nothing of what is hidden from
it.
"""

from __future__ import annotations

import json

import pytest

from tests.operations.hidden_files import AGENT
from tests.support import Checkout

ANSWER = "Tests are run by tox, and a lantern is lit"


def hide(repo: Checkout, effect: str, what: str) -> None:
    rule = f"{effect}: {{{what}, actors: [agent]}}"
    repo.write(".kl/policy.yaml", f"version: 1\nrules:\n  - name: hidden\n    {rule}\n")


@pytest.fixture
def shop(repo: Checkout) -> Checkout:
    """A package, and a folder with a file that can't be parsed."""
    repo.write("src/shop.py", "def total() -> int:\n    return 1\n")
    repo.write("plans/lantern.py", "import src.shop\n")
    repo.write("plans/broken_lantern.py", "def lantern(:\n")
    repo.commit()
    assert repo.kl("init", "--yes").returncode == 0
    return repo


@pytest.mark.parametrize("effect", ["deny", "redact"])
def test_an_agent_that_sets_up_again_reads_no_hidden_file(shop: Checkout, effect: str) -> None:
    assert "broken_lantern" in shop.kl("init").stdout
    hide(shop, effect, "paths: ['plans/**']")
    for shape in ("text", "json"):
        done = shop.kl("init", "--format", shape, env=AGENT)
        assert done.returncode == 0, done.stderr
        assert "invalid syntax" not in done.stdout + done.stderr
        # of what is redacted the name stays
        assert ("lantern" in done.stdout) == ("plans" in done.stdout) == (effect == "redact")


@pytest.mark.parametrize("effect", ["deny", "redact"])
def test_an_interview_repeats_no_answer_that_is_hidden(shop: Checkout, effect: str) -> None:
    shop.write("answers.yaml", f"technical_constraints: {ANSWER}\n")
    words = ("interview", "--answers", "answers.yaml", "--format")
    hide(shop, effect, "kinds: [fact]")
    for shape in ("text", "json"):
        done = shop.kl(*words, shape, env=AGENT)
        assert done.returncode == 0, done.stderr
        assert "lantern" not in done.stdout + done.stderr
    (item,) = json.loads(shop.kl(*words, "json").stdout)["captured_items"]
    assert item["answer"] == ANSWER
