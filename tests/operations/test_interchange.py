"""Files that are read and written for an agent: of what the policy hides nothing gets into the
store, into an export or into a proposal.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.operations.hidden_files import AGENT
from tests.operations.private_records import DECISION, hide_private_records
from tests.support import Checkout

FILES = {
    "plans/facts.json": '[{"title": "Bob gets a raise", "text": "5000"}]',
    "plans/bob.md": "# Bob gets a raise\n\n## Context\n\nC\n\n## Decision\n\nBob\n",
    "plans/calls.jsonl": "\n".join(
        json.dumps(message)
        for message in (
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {
                        "id": "1",
                        "function": {"name": "read_file", "arguments": '{"path": "src/pay.py"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "1", "content": "def bob(): pass"},
        )
    ),
    "src/pay.py": "",
}
READING = (
    ("knowledge", "import", "--kind", "fact", "facts.json"),
    ("finding", "import", "calls.jsonl"),
    ("decision", "import", "bob.md"),
    ("knowledge", "add", "bob.md", "--type", "project-overview"),
    ("knowledge", "add", "bob.md"),
)
"""Commands, each with a file of `plans/` that it reads."""


@pytest.fixture
def plans(repo: Checkout) -> Checkout:
    """A repository with files that commands read and the policy hides."""
    assert repo.kl("init", "--yes").returncode == 0
    for path, text in FILES.items():
        repo.write(path, text)
    repo.commit()
    return repo


def hide(repo: Checkout, effect: str = "deny") -> None:
    hide_private_records(repo, effect, "plans")


def reading(command: tuple[str, ...], folder: str) -> list[str]:
    """Return a command with its file in a folder."""
    return [f"{folder}/{word}" if "." in word else word for word in command]


@pytest.mark.parametrize("effect", ["deny", "redact"])
@pytest.mark.parametrize("command", READING)
def test_an_agent_stores_nothing_of_a_file_that_is_hidden(
    plans: Checkout, command: tuple[str, ...], effect: str
) -> None:
    hide(plans, effect)
    (plans.root / "links").symlink_to("plans")
    for folder in ("plans", "links", "./plans"):
        agent = plans.kl(*reading(command, folder), env=AGENT)
        assert agent.returncode == 2 and "denies it to you" in agent.stderr, agent
        assert "Bob" not in agent.stdout + agent.stderr
    person = plans.kl(*reading(command, "plans"))
    assert person.returncode == 0, person.stderr


def test_what_a_rule_hides_once_it_is_imported_is_named_by_its_id_alone(plans: Checkout) -> None:
    plans.write("open.json", '[{"title": "Bob gets a raise", "text": "5", "tags": ["private"]}]')
    hide(plans)
    done = plans.kl("knowledge", "import", "--kind", "fact", "open.json", env=AGENT)
    assert done.returncode == 0 and done.stdout.startswith("FACT-0001  proposed"), done
    assert "Bob" not in done.stdout and "bob" not in done.stdout


def test_an_export_has_what_is_shown_whole(plans: Checkout) -> None:
    for number, tag in ((1, "private"), (2, "open")):
        assert plans.kl("decision", "new", f"Bob {number}", *DECISION, "--tag", tag).returncode == 0
    for effect, note in (("redact", "1 record omitted: hidden from you"), ("deny", "")):
        hide(plans, effect)
        for command in (
            ("decision", "export"),
            ("decision", "export", "--format", "json"),
            ("knowledge", "export", "--kind", "decision"),
            ("knowledge", "export", "--kind", "decision", "--format", "yaml"),
        ):
            agent, person = plans.kl(*command, env=AGENT), plans.kl(*command)
            assert "Bob 1" in person.stdout and "Bob 2" in agent.stdout
            assert "Bob 1" not in agent.stdout + agent.stderr and note in agent.stderr
            assert bool(note) or not agent.stderr
            named = plans.kl(*command[:2], "ADR-0001", env=AGENT)
            assert named.returncode == (2 if effect == "deny" else 0)
            assert "Bob" not in named.stdout + named.stderr


def test_a_proposal_names_and_counts_nothing_of_hidden_code(plans: Checkout) -> None:
    names = ("Pay", "Tax", "Bonus")
    plans.write("plans/code.py", "".join(f"class {name}Repository: pass\n" for name in names))
    plans.write("src/code.py", "".join(f"class Open{name}Repository: pass\n" for name in names))
    plans.write("plans/shop.proto", "")
    plans.commit()
    hide(plans)
    command = ("decision", "discover", "--threshold", "0", "--format", "json")
    person, agent = plans.kl(*command), plans.kl(*command, env=AGENT)
    assert "6: " in person.stdout and "plans/shop.proto" in person.stdout
    assert "3: OpenPayRepository" in agent.stdout.replace("code.", "").replace("src.", "")
    assert "Protocol Buffers" not in agent.stdout and "plans/" not in agent.stdout
    written = plans.kl("decision", "discover", "--write", env=AGENT)
    assert written.returncode == 0, written.stderr
    for path in Path(plans.root / ".kl/knowledge/decisions").glob("*.md"):
        assert "plans/" not in path.read_text("utf-8")


def test_whoever_renumbers_a_hidden_decision_is_given_its_id_and_the_references(
    plans: Checkout,
) -> None:
    assert plans.kl("decision", "new", "Bob 1", *DECISION, "--tag", "private").returncode == 0
    plans.write(".kl/architecture.yaml", "version: 1\nlayers: []\n# as of ADR-0001\n")
    plans.commit()
    hide(plans)
    done = plans.kl("decision", "renumber", "ADR-0001", env=AGENT)
    assert done.returncode == 0 and done.stdout.startswith("ADR-0001 is now ADR-0002\n"), done
    assert ".kl/architecture.yaml:3" in done.stdout and "bob" not in done.stdout


def test_a_finding_that_can_not_be_stored_costs_an_agent_nothing(plans: Checkout) -> None:
    for options, code in (((), 0), (("--strict",), 2)):
        done = plans.kl("finding", "add", "--hook", *options, input="no JSON", env=AGENT)
        assert (done.returncode, done.stdout) == (code, "") and "no JSON" in done.stderr


def test_a_folder_that_is_added_again_keeps_the_type_that_a_file_was_added_with(
    repo: Checkout,
) -> None:
    assert repo.kl("init", "--yes").returncode == 0
    repo.write("guides/overview1.md", "# Overview\n\nWhat the project is for: it sells things.\n")
    repo.commit()
    first = repo.kl("knowledge", "add", "guides/overview1.md", "--type", "project-overview")
    assert first.stdout.startswith("created ")
    again = repo.kl("knowledge", "add", "guides")
    assert "outdated" not in again.stdout and "unknown type" not in again.stderr
    assert "1 skipped" in again.stdout
