"""The commands that every kind has, as a person types them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click
import pytest

from kl_hooks.cli.kind_commands import _naming_options
from kl_hooks.model.problem import MissingField, Problem, Problems
from kl_hooks.model.text import OwnText
from tests.support import Checkout

RIGHT = ("--context", "It was slow.", "--decision", "Use ast.")


@pytest.mark.slow
@pytest.mark.requirement("A20", "A22")
def test_a_record_from_its_making_to_its_end(repo: Checkout) -> None:
    done = repo.kl(
        "decision", "new", "Two scanners", *RIGHT, "--tag", "speed", "--governs", "src/a.py"
    )
    path = ".kl/knowledge/decisions/ADR-0001-two-scanners.md"
    assert (done.returncode, done.stdout) == (0, f"ADR-0001  proposed  Two scanners\n    {path}\n")
    assert repo.kl("decision", "create", "--title", "More", *RIGHT).stdout.startswith(
        "ADR-0002  proposed  More\n"
    )
    assert repo.kl("decision", "accept", "adr-0001").stdout.startswith("ADR-0001  accepted")
    rows = repo.kl("decision", "list").stdout.splitlines()
    assert [row.split()[:2] for row in rows] == [["ADR-0001", "accepted"], ["ADR-0002", "proposed"]]
    for args in (
        ["--tag", "speed"],
        ["--about", "src/a.py"],
        ["--about", "src"],
        ["--status", "accepted"],
    ):
        assert [
            row.split()[0] for row in repo.kl("decision", "list", *args).stdout.splitlines()
        ] == ["ADR-0001"], args
    page = repo.kl("decision", "show", "ADR-0001").stdout
    assert "Two scanners" in page and "It was slow." in page and path in page
    found = json.loads(repo.kl("decision", "search", "ast", "--all", "--format", "json").stdout)
    # the same text in both: the shorter one comes first
    assert [one["id"] for one in found["records"]] == ["ADR-0002", "ADR-0001"]
    assert (
        repo.kl("decision", "edit", "ADR-0001", "--tag", "a", "--clear", "governs").returncode == 0
    )
    shown = json.loads(repo.kl("decision", "show", "ADR-0001", "--format", "json").stdout)
    assert (shown["fields"]["tags"], "governs" in shown["fields"]) == (["a"], False)
    assert (
        repo.kl("decision", "delete", "ADR-0001", "--yes").stdout == f"deleted ADR-0001  {path}\n"
    )
    assert not (repo.root / path).exists()


def test_what_is_wrong_is_reported_at_once_and_nothing_is_written(repo: Checkout) -> None:
    done = repo.kl(
        "decision", "new", "--tag", "two words", "--confidence", "300", "--governs", "../x"
    )
    assert done.returncode == 2
    for word in (
        '"title" is missing',
        '"context" is missing',
        "two words",
        "from 0 to 100",
        "'../x'",
    ):
        assert word in done.stderr, word
    assert not (repo.root / ".kl/knowledge").exists()


def test_near_ids_and_commands_are_named(repo: Checkout) -> None:
    repo.kl("decision", "new", "Two scanners", *RIGHT)
    done = repo.kl("decision", "show", "ADR-0011")
    assert (done.returncode, "Did you mean ADR-0001?" in done.stderr) == (2, True)
    done = repo.kl("decision", "acept", "ADR-0001")
    assert (done.returncode, "Did you mean 'accept'?" in done.stderr) == (2, True)
    done = repo.kl("decision", "show", "../../etc/passwd")
    assert (done.returncode, done.stdout) == (2, "")


def test_only_people_accept(repo: Checkout) -> None:
    made = repo.kl("decision", "new", "Two scanners", *RIGHT, env={"KL_AGENT": "bot"})
    assert made.returncode == 0
    done = repo.kl("decision", "accept", "ADR-0001", env={"KL_AGENT": "bot"})
    assert (done.returncode, "is for people" in done.stderr) == (2, True)
    assert (
        json.loads(repo.kl("decision", "show", "ADR-0001", "--format", "json").stdout)["authority"]
        == "agent"
    )
    assert repo.kl("decision", "accept", "ADR-0001").returncode == 0


def test_an_agent_answers_for_nobody_else_that_he_vouches_for_it(repo: Checkout) -> None:
    bot = {"KL_AGENT": "bot"}
    done = repo.kl("decision", "new", "Two scanners", *RIGHT, "--authority", "human", env=bot)
    assert (done.returncode, "human is for people" in done.stderr) == (2, True)
    assert repo.kl("decision", "new", "Two scanners", *RIGHT, env=bot).returncode == 0
    done = repo.kl("decision", "edit", "ADR-0001", "--authority", "human", env=bot)
    assert (done.returncode, "human is for people" in done.stderr) == (2, True)
    assert repo.kl("decision", "edit", "ADR-0001", "--confidence", "70", env=bot).returncode == 0
    assert (
        json.loads(repo.kl("decision", "show", "ADR-0001", "--format", "json").stdout)["authority"]
        == "agent"
    )


def test_what_a_person_accepted_is_not_an_agent_s_to_change_or_delete(repo: Checkout) -> None:
    repo.kl("decision", "new", "Two scanners", *RIGHT)
    repo.kl("decision", "accept", "ADR-0001")
    repo.kl("memory", "add", "Names with umlauts need UTF-8.")
    memory = next((repo.root / ".kl/knowledge/memories").glob("MEM-*.md"))
    files = {path: path.read_bytes() for path in (repo.root / ".kl/knowledge").rglob("*-*.md")}
    for args, why in (
        (("decision", "edit", "ADR-0001"), "can't open an editor"),
        (("decision", "delete", "ADR-0001", "--yes"), "a person decided"),
        (("memory", "delete", memory.name[:12], "--yes"), "a person decided"),
    ):
        done = repo.kl(*args, env={"KL_AGENT": "bot"})
        assert done.returncode == 2 and why in done.stderr, args
    done = repo.kl("decision", "edit", "ADR-0001", "--decision", "None.", env={"KL_AGENT": "bot"})
    assert (done.returncode, "noted as a proposal" in done.stderr) == (0, True)
    assert {path: path.read_bytes() for path in files} == files
    assert repo.kl("decision", "edit", "ADR-0001", "--confidence", "70").returncode == 0


def test_no_secret_stays_of_a_heading_or_a_session(repo: Checkout, tmp_path: Path) -> None:
    secret = "ghp_" + "016C7MZq8Yw3dRkT5vXbN2uLpJhG9sAfEo41"
    (repo.root / "AGENTS.md").write_text(f"# Agents\n\n## {secret}\n\nSome words that say more.\n")
    for shape in ("text", "json"):
        done = repo.kl("seed", "--format", shape)
        assert done.returncode == 0 and secret.lower() not in (done.stdout + done.stderr).lower()
    file = tmp_path / "memory.json"
    file.write_text(json.dumps({"content": "Run make.", "source": secret}))
    assert repo.kl("memory", "import", str(file)).returncode == 0
    stored = [
        path
        for path in (*repo.root.rglob("kl.db*"), *(repo.root / ".kl").rglob("*.md"))
        if path.is_file()
    ]
    assert stored and not [path for path in stored if secret.encode() in path.read_bytes()]


def test_a_field_called_as_an_option_is_the_option(repo: Checkout) -> None:
    done = repo.kl("finding", "new", "--help")
    assert done.returncode == 0 and "Warning" not in done.stderr
    assert done.stdout.count("--agent ") == 1


def test_nothing_dangerous_reaches_the_terminal(repo: Checkout) -> None:
    evil = "a\x1b]0;x\x07\u202eb\u200b"
    assert (
        repo.kl(
            "decision", "new", evil, "--context", evil, "--decision", f"{evil}\n{evil}"
        ).returncode
        == 0
    )
    for args in (["list"], ["show", "ADR-0001"], ["search", "--all", "a"]):
        done = repo.kl("decision", *args)
        assert done.returncode == 0 and "\\x1b]0;x\\x07\\u202eb\\u200b" in done.stdout, args
        assert not {"\x1b", "\x07", "\u202e", "\u200b"} & set(done.stdout + done.stderr)


def test_where_kl_is_not_set_up_nothing_is_made(repo: Checkout) -> None:
    repo.git("rm", "-rq", ".kl")
    done = repo.kl("decision", "new", "Two scanners", *RIGHT)
    assert (done.returncode, "kl init" in done.stderr) == (3, True)
    assert repo.kl("decision", "list").returncode == 0
    assert not (repo.root / ".kl").exists()


@pytest.mark.slow
@pytest.mark.requirement("B9")
def test_a_repository_describes_a_kind_of_its_own(repo: Checkout) -> None:
    repo.write(
        ".kl/kinds/runbook.yaml",
        """\
version: 1
name: runbook
plural: runbooks
prefix: RUN
purpose: What to do when something breaks.
home: file
statuses: [current, outdated]
live: [current]
share: warnings
fields:
  - {name: steps, type: lines, says: What to do., required: true, section: Steps}
verbs:
  - {name: retire, to: outdated, says: It does not hold any more.}
""",
    )
    assert "What to do when something breaks." in repo.kl("help", "all").stdout
    done = repo.kl(
        "runbook", "new", "Restart the importer", "--steps", "stop", "--steps", "start importer"
    )
    assert done.stdout.startswith("RUN-0001  current  Restart the importer\n"), done.stderr
    assert (
        "- stop\n- start importer\n"
        in (repo.root / ".kl/knowledge/runbooks/RUN-0001-restart-the-importer.md").read_text()
    )
    assert "RUN-0001" in repo.kl("context", "restart the importer").stdout
    assert repo.kl("runbook", "retire", "RUN-0001").returncode == 0
    assert "RUN-0001" not in repo.kl("context", "restart the importer").stdout
    repo.write(".kl/kinds/bad.yaml", "version: 1\nname: decision\nprefix: lower\n")
    done = repo.kl("runbook", "list")
    assert (done.returncode, ".kl/kinds/bad.yaml" in done.stderr) == (0, True)


def test_delete_without_anybody_to_ask_is_a_usage_error_and_names_the_option(
    repo: Checkout,
) -> None:
    repo.kl("decision", "new", "Two scanners", *RIGHT)
    done = repo.kl("decision", "delete", "ADR-0001")
    assert (done.returncode, "--yes" in done.stderr) == (2, True)
    assert repo.kl("decision", "show", "ADR-0001").returncode == 0


def test_ids_of_any_length_are_in_columns(repo: Checkout) -> None:
    repo.kl("feature", "new", "Sign in", "--id", "FEAT-A-1")
    repo.kl("feature", "new", "Sign in from afar", "--id", "FEAT-AUTHENTICATION-12")
    repo.kl("decision", "new", "Sign nothing", *RIGHT)
    for args in (("feature", "list"), ("knowledge", "list"), ("knowledge", "search", "sign")):
        rows = repo.kl(*args).stdout.splitlines()
        assert len(rows) > 1 and len({row.index("Sign") for row in rows}) == 1, rows


def test_a_flag_is_shown_in_words(repo: Checkout) -> None:
    made = repo.kl("outcome", "capture", "Round totals", "--success").stdout.split()[0]
    assert (
        "yes" in repo.kl("outcome", "show", made).stdout
        and "True" not in repo.kl("context", "round totals").stdout
    )


def test_a_kind_whose_file_is_wrong_is_not_called_unknown(repo: Checkout) -> None:
    repo.write(".kl/kinds/runbook.yaml", "name: runbook\nbogus: 1\n")
    done = repo.kl("runbook", "list")
    assert (done.returncode, ".kl/kinds/runbook.yaml:2:1" in done.stderr) == (2, True), done.stderr
    assert repo.kl("--help").returncode == 0


def test_no_editor_opens_where_nobody_can_see_it(repo: Checkout) -> None:
    repo.kl("decision", "new", "Two scanners", *RIGHT)
    for args in (("edit", "ADR-0001"), ("new", "--edit")):
        done = repo.kl("decision", *args)
        assert (done.returncode, "no terminal" in done.stderr) == (2, True), done.stderr


def test_an_empty_list_names_the_command_to_begin_with(repo: Checkout) -> None:
    assert repo.kl("memory", "list").stdout == 'no memories yet. Make one: kl memory add "…"\n'
    assert (
        repo.kl("decision", "list").stdout == "no decisions yet. Make one: kl decision new --edit\n"
    )
    assert repo.kl("knowledge", "list").stdout.startswith("nothing is known yet.")
    assert repo.kl("decision", "list", "--status", "accepted").stdout == "no decision fits.\n"


def test_a_change_of_status_and_an_edit_answer_in_json_too(repo: Checkout) -> None:
    repo.kl("decision", "new", "Two scanners", *RIGHT)
    for args in (("accept", "ADR-0001"), ("edit", "ADR-0001", "--tag", "speed")):
        found = json.loads(repo.kl("decision", *args, "--format", "json").stdout)
        assert (found["schema"], found["status"]) == ("kl.record/1", "accepted")


def test_a_broken_kind_hinders_no_other_one(repo: Checkout) -> None:
    """Its own commands, and the gate, state what is wrong; everything else works and states it
    too.
    """
    repo.write(
        ".kl/kinds/risk.yaml", "version: 1\nname: risk\nprefix: RISK\nstatuses: [open, Over]\n"
    )
    repo.write(
        ".kl/kinds/twin.yaml", "name: memory\nprefix: TWIN\npurpose: A twin\nstatuses: [open]\n"
    )
    assert repo.kl("decision", "new", "Two scanners", *RIGHT).returncode == 0
    done = repo.kl("decision", "list")
    assert (done.returncode, done.stdout.split()[0]) == (0, "ADR-0001")
    assert ".kl/kinds/risk.yaml:4:18" in done.stderr and "there already" in done.stderr
    for args in (
        ["risk", "list"],
        ["knowledge", "check"],
        ["knowledge", "check", ".kl/knowledge/decisions"],
    ):
        done = repo.kl(*args)
        assert done.returncode == 2 and "risk.yaml:4:18" in done.stdout + done.stderr, args
    repo.write(
        ".kl/kinds/twin.yaml", "name: twin\nprefix: TWIN\npurpose: A twin\nstatuses: [open]\n"
    )
    done = repo.kl("twin", "list")
    assert (done.returncode, "risk.yaml" in done.stderr) == (0, True)


def test_a_list_shows_what_the_status_does_not_state(repo: Checkout) -> None:
    assert repo.kl("outcome", "capture", "Parser", "--failure").returncode == 0
    turn = (
        "--feature",
        "FEAT-A-12",
        "--decision",
        "implemented",
        "--review",
        "rejected",
        "--feedback",
        "No tests.",
    )
    assert repo.kl("turn", "add", *turn).returncode == 0
    assert repo.kl("outcome", "list").stdout.endswith("Parser   (outcome type: task_failed)\n")
    shown = repo.kl("turn", "list").stdout
    assert shown.endswith("   (player decision: implemented, coach decision: rejected)\n"), shown


RULE = """version: 1
name: rule
prefix: RUL
purpose: Rules of this house.
statuses: [proposed, approved, retired]
fields: [{name: text, type: text, says: What it says.}]
verbs:
  - {name: approve, to: approved, says: Let it hold., person: true}
  - {name: retire, to: retired, says: Let it rest.}
"""


def test_what_a_person_decided_is_not_an_agent_s_whatever_the_kind(repo: Checkout) -> None:
    repo.write(".kl/kinds/rule.yaml", RULE)
    bot = {"KL_AGENT": "bot"}
    assert repo.kl("rule", "new", "Read one clock", env=bot).returncode == 0
    assert repo.kl("rule", "edit", "RUL-0001", "--text", "Two drift.", env=bot).returncode == 0
    done = repo.kl("rule", "edit", "RUL-0001", "--clear", "status", env=bot)
    assert (done.returncode, "status is not an agent's to change" in done.stderr) == (2, True)
    assert repo.kl("rule", "edit", "RUL-0001", "--clear", "status").returncode == 2
    assert repo.kl("rule", "approve", "RUL-0001").returncode == 0
    path = next((repo.root / ".kl/knowledge/rules").glob("RUL-0001*.md"))
    before = path.read_bytes()
    for args in (("edit", "RUL-0001", "--title", "Something else"), ("retire", "RUL-0001")):
        done = repo.kl("rule", *args, env=bot)
        assert done.returncode == 0 and "noted as a proposal" in done.stderr, (args, done.stdout)
    done = repo.kl("rule", "delete", "RUL-0001", "--yes", env=bot)
    assert done.returncode == 2 and "a person decided" in done.stderr
    assert path.read_bytes() == before
    assert repo.kl("rule", "retire", "RUL-0001").returncode == 0


def test_what_a_person_made_is_not_an_agent_s_to_delete(repo: Checkout) -> None:
    repo.kl("objective", "new", "Parser", "--description", "All of it.")
    done = repo.kl("objective", "delete", "OBJ-0001", "--yes", env={"KL_AGENT": "bot"})
    assert done.returncode == 2 and "a person made it" in done.stderr
    assert repo.kl("objective", "delete", "OBJ-0001", "--yes").returncode == 0


def test_what_is_missing_names_its_option(repo: Checkout) -> None:
    printed = repo.kl("decision", "new").stderr
    assert "Give --context, or --edit.\n" in printed
    assert "Give --decision, or --edit.\n" in printed
    assert "Give TITLE, or --edit.\n" in printed
    assert repo.kl("objective", "new").stderr.endswith(
        '"title" is missing. What it is, in one line. Give TITLE.\n'
    )
    assert "Give --task-type, or --edit." in repo.kl("gate", "new", "Strict").stderr


@pytest.mark.parametrize("kind", ["decision", "failure", "gate", "turn", "role", "finding"])
def test_the_example_of_new_can_be_typed_unchanged(repo: Checkout, kind: str) -> None:
    (example,) = [
        line
        for line in repo.kl(kind, "new", "--help").stdout.splitlines()
        if "Example: kl " in line
    ]
    assert example.endswith(" --edit")
    writes = repo.write("editor.sh", "#!/bin/sh\nexit 0\n")
    writes.chmod(0o755)
    done = repo.kl(kind, "new", "In one line", "--edit", env={"EDITOR": str(writes)})
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        f"kl {kind} new: nothing was changed in the editor, so nothing was made.\n" in done.stderr
    )
    assert "interrupted" not in done.stderr


@pytest.mark.parametrize(
    "kind", ["memory", "objective", "task", "outcome", "failure", "turn", "role"]
)
def test_what_an_empty_list_states_can_be_typed_unchanged(repo: Checkout, kind: str) -> None:
    advice = repo.kl(kind, "list").stdout.partition("Make one: kl ")[2]
    done = repo.kl(*shlex.split(advice), env={"EDITOR": "false"})
    assert "missing" not in done.stderr.lower()
    assert "Editing failed" in done.stderr if "--edit" in advice else done.returncode == 0, (
        done.stderr
    )


def test_only_a_hint_of_kl_itself_stays_one_with_the_name_of_the_option() -> None:
    """No policy takes anything out of kl's own words: another hint must not become one of them."""
    command = click.Command("new", params=[click.Option(["--title"])])
    for hint in (OwnText("What it is."), "What somebody wrote."):
        with (
            click.Context(command),
            pytest.raises(Problems) as caught,
            _naming_options(has_editor=False),
        ):
            raise Problems([Problem("kl fact new", 0, 0, MissingField("title"), hint)])
        (problem,) = caught.value.problems
        assert problem.hint == f"{hint} Give --title."
        assert isinstance(problem.hint, OwnText) is isinstance(hint, OwnText)
