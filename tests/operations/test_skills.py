"""Skills under a policy: of a skill that is hidden no agent gets the instructions, by any way to
them, and none begins to use it.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from kl_hooks.tools.call import call
from tests.skills.making import text, write
from tests.support import Checkout

AGENT = {"KL_AGENT": "bot"}


@pytest.fixture
def hidden(repo: Checkout) -> Checkout:
    """A skill that a rule hides, and one that requires it."""
    assert repo.kl("init", "--yes").returncode == 0
    write(
        repo,
        {
            "pdf-forms": text("pdf-forms", "Fills in forms.", "Use fill.py.", requires="ocr"),
            "ocr": text("ocr", "Reads scanned forms.", "Ask the lantern first."),
        },
    )
    return repo


def policy(effect: str) -> str:
    rule = f"{effect}: {{paths: ['.claude/skills/ocr/**'], actors: [agent]}}"
    return f"version: 1\nrules:\n  - name: scans\n    {rule}\n"


@pytest.mark.parametrize("effect", ["deny", "redact"])
def test_the_instructions_of_a_hidden_skill_are_shown_to_no_agent(
    hidden: Checkout, effect: str
) -> None:
    calls: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
        ("discover_skills", {"description": "forms"}, ("skill", "discover", "forms")),
        ("get_skill_context", {"skill_id": "pdf-forms"}, ("skill", "context", "pdf-forms")),
        ("get_skill_context", {"skill_id": "ocr"}, ("skill", "context", "ocr")),
        ("list_skills", {}, ("skill", "list")),
        ("skill_use", {"skill": "ocr"}, ("skill", "use", "ocr")),
    ]
    shown = [hidden.kl(*argv).stdout for _, _, argv in calls]
    assert all("lantern" in answer for answer in shown[:3])
    hidden.write(".kl/policy.yaml", policy(effect))
    for tool, arguments, argv in calls:
        ws = hidden.workspace()
        answer, _ = call(ws, tool, json.dumps(arguments).encode(), allow_write=True)
        commands = [hidden.kl(*argv, "--format", shape, env=AGENT) for shape in ("text", "json")]
        answers = [json.dumps(answer), *(done.stdout + done.stderr for done in commands)]
        assert not [answer for answer in answers if "lantern" in answer or "scanned" in answer]
        is_refused = tool == "skill_use" or (argv[-1] == "ocr" and effect == "deny")
        assert {answer["ok"], *(done.returncode == 0 for done in commands)} == {not is_refused}


@pytest.mark.parametrize("effect", ["deny", "redact"])
def test_the_name_of_a_hidden_skill_is_in_no_answer_about_others(
    hidden: Checkout, effect: str
) -> None:
    write(
        hidden,
        {
            "scan": text("scan", "Reads scanned forms.", "Ask.", requires="ocr"),
            "ocr": text("ocr", "Reads scanned forms.", "Too long to be read. " * 4000),
        },
    )
    commands = [
        ("discover", "forms"),
        ("check",),
        ("health",),
        ("team", "forms"),
        ("context", "pdf-forms"),
    ]
    named = [hidden.kl("skill", *argv, "--format", "json").stdout for argv in commands]
    assert all("ocr" in answer for answer in named), named
    hidden.write(".kl/policy.yaml", policy(effect))
    for argv in commands:
        for shape in ("text", "json"):
            done = hidden.kl("skill", *argv, "--format", shape, env=AGENT)
            assert "ocr" not in done.stdout, done.stdout


def test_what_is_not_hidden_has_its_instructions(hidden: Checkout) -> None:
    hidden.write(".kl/policy.yaml", policy("deny"))
    given = json.dumps({"name": "pdf-forms"}).encode()
    answer, _ = call(hidden.workspace(), "get_skill_context", given, allow_write=False)
    assert answer["result"]["instructions"] == "Use fill.py."
    assert answer["result"]["requires"] == []


@pytest.mark.parametrize("effect", ["deny", "redact"])
@pytest.mark.parametrize("author", ["bot", ""])
@pytest.mark.parametrize("reader", ["agent", "agent:other", "human"])
@pytest.mark.share(4)
def test_a_proposal_states_nothing_of_what_is_hidden_from_those_who_read_it(
    hidden: Checkout, effect: str, author: str, reader: str
) -> None:
    hidden.write("docs/plans/scans.md", "# Lantern scans of forms\n\nReads forms with a lantern.\n")
    hidden.write("docs/forms.md", "# Forms\n\nReads forms.\n")
    hidden.commit()
    rule = f"{effect}: {{paths: ['docs/plans/**', '.claude/skills/ocr/**'], actors: ['{reader}']}}"
    hidden.write(".kl/policy.yaml", f"version: 1\nrules:\n  - name: scans\n    {rule}\n")
    env = {"KL_AGENT": author} if author else {}
    # what the first one stores is a text that may be shown, of which no word is hidden any more
    for name in ("form-reader", "form-writer"):
        words = ("skill", "propose", name, "--description", "Reads forms", "--format", "json")
        done = hidden.kl(*words, env=env)
        assert done.returncode == 0, done.stderr
        fields = json.loads(done.stdout)["fields"]
        assert "docs/forms.md" in repr(fields["sources"])
        assert "antern" not in done.stdout and "scans" not in done.stdout
    shown = hidden.kl("proposal", "show", "PROP-0001", env=AGENT)
    assert "antern" not in shown.stdout + shown.stderr
