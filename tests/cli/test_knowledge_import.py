"""`kl knowledge import` and `export`, as people type them."""

from __future__ import annotations

import json

import pytest

from kl_hooks.cli.main import OWN_COMMANDS
from kl_hooks.records.events import list_events
from tests.support import Checkout

SEED = (
    "Id: OBJ-0007\nTitle: Ship it\nStatus: Paused\nCompletedTasks: [A]\nRemainingTasks: [B]\nOwner:"
    " ada\n"
)


@pytest.mark.requirement("A53")
def test_objectives_of_another_tool_come_in_and_go_out(repo: Checkout) -> None:
    path = repo.write("old/OBJ-0007.yaml", SEED)
    done = repo.kl("knowledge", "import", "--kind", "objective", str(path))
    assert done.stdout.startswith("OBJ-0007  paused  Ship it\n"), done.stderr
    assert "Owner: ada" in repo.kl("objective", "show", "OBJ-0007", "--format", "json").stdout
    again = repo.kl("knowledge", "import", "--kind", "objective", str(path))
    assert (again.returncode, again.stdout) == (0, "") and "there already" in again.stderr
    out = repo.kl("knowledge", "export", "--kind", "objective", "-o", "all.json")
    assert out.returncode == 0
    (found,) = [json.loads((repo.root / "all.json").read_text())]
    assert (found["id"], found["completed"], found["remaining"]) == ("OBJ-0007", ["A"], ["B"])
    assert "id: OBJ-0007\n" in repo.kl("knowledge", "export", "OBJ-0007", "--format", "yaml").stdout


def test_if_anything_is_wrong_nothing_is_imported(repo: Checkout) -> None:
    good = repo.write("a.json", json.dumps([{"title": "One"}, {"title": "Two"}]))
    bad = repo.write("b.yaml", "title: Three\nstatus: nearly\n")
    done = repo.kl("knowledge", "import", "--kind", "objective", str(good), str(bad))
    assert done.returncode == 2 and "b.yaml" in done.stderr and "nearly" not in done.stdout
    assert repo.kl("objective", "list", "--format", "json").stdout.count("OBJ-") == 0
    for args, printed in (
        (("--kind", "objectiv", str(good)), "objective"),
        (("--kind", "memory", str(good)), "kl memory import"),
        (("--kind", "objective", "nothing.json"), "is not there"),
    ):
        done = repo.kl("knowledge", "import", *args)
        assert done.returncode == 2 and printed in done.stderr, args


@pytest.mark.parametrize(
    ("records", "printed"),
    [
        (
            [{"id": "OBJ-0007", "title": "A"}, {"id": "OBJ-0007", "title": "B"}, {"title": "C"}],
            "a.json (2): OBJ-0007",
        ),
        (
            [{"title": "A"}, {"id": "bogus-1", "title": "B"}, {"id": "OBJ-xx_y!", "title": "C"}],
            "a.json (3): 'OBJ-xx",
        ),
        ([{"title": "A"}, {"title": "B", "status": "nearly"}], "a.json (2)"),
        ([{"title": "A"}, {"id": "OBJ-0001", "title": "Gone"}], "a.json (2): OBJ-0001 was deleted"),
    ],
)
def test_a_record_that_does_not_fit_keeps_all_others_out(
    repo: Checkout, records: list[object], printed: str
) -> None:
    repo.kl("objective", "new", "Gone")
    assert repo.kl("objective", "delete", "OBJ-0001", "--yes").returncode == 0
    repo.write("a.json", json.dumps(records))
    done = repo.kl("knowledge", "import", "--kind", "objective", "a.json")
    assert (done.returncode, done.stdout, printed in done.stderr) == (2, "", True), done.stderr
    assert list((repo.root / ".kl/knowledge/objectives").iterdir()) == []


def test_one_file_that_can_t_be_written_undoes_the_others(repo: Checkout) -> None:
    repo.write(
        "a.json",
        json.dumps([{"id": "OBJ-0001", "title": "One"}, {"id": "OBJ-0002", "title": "Two"}]),
    )
    (repo.root / ".kl/knowledge/objectives/OBJ-0002-two.md").mkdir(parents=True)
    done = repo.kl("knowledge", "import", "--kind", "objective", "a.json")
    assert (done.returncode, done.stdout) == (3, "")
    assert [path.name for path in (repo.root / ".kl/knowledge/objectives").iterdir()] == [
        "OBJ-0002-two.md"
    ]


def test_ids_of_the_file_are_not_given_to_records_that_have_none(repo: Checkout) -> None:
    repo.write(
        "a.json",
        json.dumps(
            [{"title": "A"}, {"title": "B"}, {"id": "OBJ-0002", "title": "C"}, {"title": "D"}]
        ),
    )
    done = repo.kl("knowledge", "import", "--kind", "objective", "a.json")
    assert [line.split()[0] for line in done.stdout.splitlines() if line.startswith("OBJ")] == [
        "OBJ-0003",
        "OBJ-0004",
        "OBJ-0002",
        "OBJ-0005",
    ], done.stderr


def test_a_file_written_by_hand_counts_as_there(repo: Checkout) -> None:
    repo.write(".kl/knowledge/objectives/OBJ-0004-x.md", "---\nid: OBJ-0004\ntitle: X\n---\n")
    repo.write("a.json", json.dumps({"id": "OBJ-0004", "title": "Y"}))
    done = repo.kl("knowledge", "import", "--kind", "objective", "a.json")
    assert (done.returncode, done.stdout, "there already" in done.stderr) == (
        0,
        "",
        True,
    ), done.stderr


def test_the_same_item_twice_is_known_by_what_it_states_where_ids_follow_from_that(
    repo: Checkout,
) -> None:
    one = {"title": "Mock the clock", "approach": "Mock it.", "prevention": "Use a real one."}
    repo.write("a.json", json.dumps([one, one]))
    done = repo.kl("knowledge", "import", "--kind", "failure", "a.json")
    assert (done.returncode, done.stdout, "a.json (2): FAIL-" in done.stderr) == (
        2,
        "",
        True,
    ), done.stderr
    repo.write("a.json", json.dumps(one))
    assert repo.kl("knowledge", "import", "--kind", "failure", "a.json").stdout.startswith("FAIL-")
    again = repo.kl("knowledge", "import", "--kind", "failure", "a.json")
    assert (again.returncode, again.stdout, "there already" in again.stderr) == (
        0,
        "",
        True,
    ), again.stderr


@pytest.mark.parametrize("text", ["[] #x", "---\n[]", "[ ]", "[]"])
def test_a_file_without_a_record_is_reported(repo: Checkout, text: str) -> None:
    for name in ("a.yaml", "a.json"):
        repo.write(name, text)
        done = repo.kl("knowledge", "import", "--kind", "objective", name)
        assert done.returncode == 2 and name in done.stderr, done.stderr
    assert (
        "holds no record" in repo.kl("knowledge", "import", "--kind", "objective", "a.yaml").stderr
    )


PLAN = """\
name: plan
prefix: PLAN
purpose: What we mean to do.
statuses: [proposed, approved]
spellings: {ok: approved}
verbs:
  - {name: approve, to: approved, says: Go., person: true}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "odd",
    [
        {"status": "approved"},
        {"Status": "approved"},
        {"status": "ok"},
        {"status": " OK "},
        {"status": " approved "},
    ],
)
@pytest.mark.share(2)
def test_an_agent_approves_nothing_by_an_import(repo: Checkout, odd: dict[str, str]) -> None:
    repo.write(".kl/kinds/plan.yaml", PLAN)
    repo.write("a.json", json.dumps({"title": "A", **odd}))
    for env, status, authority in (
        ({"KL_AGENT": "bot"}, "proposed", "agent"),
        ({}, "approved", "human"),
    ):
        done = repo.kl(
            "knowledge", "import", "--kind", "plan", "a.json", "--format", "json", env=env
        )
        (made,) = json.loads(done.stdout)["made"]
        found = json.loads(repo.kl("plan", "show", made, "--format", "json").stdout)
        assert (found["status"], found["authority"]) == (status, authority)
        (event,) = list_events(repo.workspace(), made, "created")
        assert event.session == ("agent:bot" if env else "")


def test_an_agent_answers_for_nobody_else_in_an_import(repo: Checkout) -> None:
    repo.write("a.json", json.dumps([{"title": "A"}, {"title": "B", "Authority": " Human"}]))
    done = repo.kl("knowledge", "import", "--kind", "objective", "a.json", env={"KL_AGENT": "bot"})
    assert (
        done.returncode == 2
        and "a.json (2): human is for people" in done.stderr
        and "twice" not in done.stderr
    )
    assert not (repo.root / ".kl/knowledge/objectives").exists()
    repo.write("a.json", json.dumps({"title": "B", "Authority": "auto"}))
    done = repo.kl("knowledge", "import", "--kind", "objective", "a.json", env={"KL_AGENT": "bot"})
    assert done.returncode == 0, done.stderr
    assert (
        json.loads(repo.kl("objective", "show", "OBJ-0001", "--format", "json").stdout)["authority"]
        == "auto"
    )


FILE = """\
---
id: OBJ-0004
title: Größe 𝄞
status: {status}
expires: {expires}
---

# Größe

Why it is so.

## Notes

- ß
"""


def written(
    repo: Checkout, place: str = "", status: str = "active", expires: str = "2999-01-01"
) -> None:
    repo.write(
        f".kl/knowledge/objectives/{place}OBJ-0004-x.md",
        FILE.format(status=status, expires=expires),
    )


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize("env", [{}, {"LC_ALL": "C", "PYTHONUTF8": "0"}])
@pytest.mark.share(2)
def test_what_goes_out_comes_back_on_any_terminal(
    repo: Checkout, form: str, env: dict[str, str]
) -> None:
    written(repo)
    before = json.loads(repo.kl("objective", "show", "OBJ-0004", "--format", "json").stdout)
    done = repo.kl_process("knowledge", "export", "OBJ-0004", "--format", form, env=env)
    assert done.returncode == 0, done.stderr
    repo.write(f"out.{form}", done.stdout)
    (repo.root / ".kl/knowledge/objectives/OBJ-0004-x.md").unlink()
    assert repo.kl("knowledge", "import", "--kind", "objective", f"out.{form}").returncode == 0
    after = json.loads(repo.kl("objective", "show", "OBJ-0004", "--format", "json").stdout)
    assert after["fields"] | before["fields"] == after["fields"]
    assert after["body"].strip() == before["body"].strip()
    assert "Why it is so." in after["body"] and "## Notes" in after["body"]


@pytest.mark.parametrize(("place", "expires"), [("archive/", "2999-01-01"), ("", "2001-01-01")])
def test_what_is_archived_or_has_ended_goes_out_too(
    repo: Checkout, place: str, expires: str
) -> None:
    written(repo, place, expires=expires)
    out = json.loads(repo.kl("knowledge", "export", "--kind", "objective").stdout)
    assert (out["id"], out["expires"]) == ("OBJ-0004", expires)


def test_a_kind_that_there_is_not_is_reported_and_the_near_one_named(repo: Checkout) -> None:
    written(repo)
    for args in (
        ("--kind", "objectiv"),
        ("OBJ-0004", "--kind", "objectiv"),
        ("OBJ-0020", "--kind", "objectiv"),
    ):
        done = repo.kl("knowledge", "export", *args)
        assert (done.returncode, done.stdout) == (2, "")
        assert (
            "there is no kind of this name" in done.stderr
            and 'Did you mean "objective"?' in done.stderr
        )
    assert "no records selected" in repo.kl("knowledge", "export").stderr


@pytest.mark.parametrize("command", ["import", "export"])
def test_the_help_names_the_kinds_that_have_an_import_of_their_own(
    repo: Checkout, command: str
) -> None:
    printed = " ".join(repo.kl("knowledge", command, "--help").stdout.split())
    for kind in (kind for kind, verbs in OWN_COMMANDS.items() if "import" in verbs):
        assert f"kl {kind} import" in printed
