"""`kl decision` as people and agents use it: from a proposal to the end of its life."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import Checkout, checkout

NEW = ("--context", "c", "--decision", "d")


def made(repo: Checkout, title: str, *more: str, env: dict[str, str] | None = None) -> str:
    done = repo.kl("decision", "new", title, *NEW, *more, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[0]


def shown(repo: Checkout, identifier: str) -> dict[str, Any]:
    done = repo.kl("decision", "show", identifier, "--format", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def listed(repo: Checkout, *args: str) -> list[str]:
    done = repo.kl("decision", *args, "--format", "json")
    assert done.returncode == 0, done.stderr
    return [one["id"] for one in json.loads(done.stdout)["records"]]


@pytest.mark.requirement("A20", "A21", "A23", "B21")
def test_from_proposal_to_accepted(repo: Checkout) -> None:
    identifier = made(
        repo,
        "Use SQLite",
        "--governs",
        "src/a.py",
        "--tag",
        "storage",
        "--alternatives",
        "files, rows",
    )
    assert identifier == "ADR-0001"
    text = (repo.root / ".kl/knowledge/decisions/ADR-0001-use-sqlite.md").read_text()
    assert "status: proposed" in text and "- files, rows" in text
    assert repo.kl("decision", "accept", "ADR-0001").returncode == 0
    fields = shown(repo, "adr-0001")["fields"]
    assert fields["status"] == "accepted" and fields["decided_at"][:4] == fields["date"][:4]
    assert (fields["alternatives"], fields["governs"]) == (["files, rows"], ["src/a.py"])
    assert (
        listed(repo, "search", "sqlite") == listed(repo, "list", "--tag", "storage") == ["ADR-0001"]
    )
    assert listed(repo, "search", "sqlite", "--status", "proposed") == []


@pytest.mark.requirement("A21")
@pytest.mark.parametrize("omitted", ["--context", "--decision"])
def test_what_states_nothing_is_not_made(omitted: str, repo: Checkout) -> None:
    args = [
        part
        for pair in (("--context", "c"), ("--decision", "d"))
        if pair[0] != omitted
        for part in pair
    ]
    done = repo.kl("decision", "new", "T", *args)
    assert done.returncode == 2 and omitted.strip("-") in done.stderr
    assert repo.kl("decision", "new", " ", *NEW).returncode == 2
    assert not (repo.root / ".kl/knowledge").exists()


@pytest.mark.slow
@pytest.mark.requirement("A21", "A23", "A26", "B21")
def test_one_takes_the_place_of_another_and_both_report_it(repo: Checkout) -> None:
    for title in ("One", "Two", "Three"):
        repo.kl("decision", "accept", made(repo, title))
    assert repo.kl("decision", "supersede", "ADR-0001", "ADR-0002").returncode == 0
    done = repo.kl("decision", "supersede", "ADR-0002", "ADR-0003")
    assert done.stdout == "ADR-0003 (accepted) ← ADR-0002 (superseded) ← ADR-0001 (superseded)\n"
    middle = shown(repo, "ADR-0002")
    assert (middle["fields"]["supersedes"], middle["fields"]["superseded_by"]) == (
        ["ADR-0001"],
        ["ADR-0003"],
    )
    for identifier in ("ADR-0001", "ADR-0002", "ADR-0003"):
        assert shown(repo, identifier)["chain"] == ["ADR-0003", "ADR-0002", "ADR-0001"]
    before = {path: path.read_bytes() for path in (repo.root / ".kl/knowledge/decisions").iterdir()}
    for old, new, printed in (
        ("ADR-0003", "ADR-0001", "supersede each other"),
        ("ADR-0001", "ADR-0001", "supersede each other"),
        ("ADR-0003", "ADR-0099", "ADR-0099"),
        ("ADR-0000", "ADR-0001", "ADR-0000"),
    ):
        done = repo.kl("decision", "supersede", old, new)
        assert done.returncode == 2 and printed in done.stderr, (old, new)
    assert {path: path.read_bytes() for path in before} == before
    assert repo.kl("knowledge", "check").returncode == 0


def status_of(repo: Checkout, *ids: str) -> list[str]:
    return [shown(repo, one)["status"] for one in ids]


@pytest.mark.slow
@pytest.mark.requirement("A21")
def test_a_proposal_takes_its_place_only_when_it_is_accepted(repo: Checkout) -> None:
    repo.kl("decision", "accept", made(repo, "One"))
    assert made(repo, "Two", "--supersedes", "adr-0001") == "ADR-0002"
    assert shown(repo, "ADR-0002")["fields"]["supersedes"] == ["ADR-0001"]
    assert status_of(repo, "ADR-0001", "ADR-0002") == ["accepted", "proposed"]
    assert (
        "ADR-0002 (proposed) would take its place" in repo.kl("decision", "show", "ADR-0001").stdout
    )
    assert repo.kl("knowledge", "check").returncode == 0
    assert repo.kl("decision", "accept", "ADR-0002").returncode == 0
    assert status_of(repo, "ADR-0001", "ADR-0002") == ["superseded", "accepted"]
    assert shown(repo, "ADR-0001")["fields"]["superseded_by"] == ["ADR-0002"]
    assert made(repo, "Three") == "ADR-0003"  # the same through `supersede`, and then rejected
    done = repo.kl("decision", "supersede", "ADR-0002", "ADR-0003")
    assert done.stdout == "ADR-0003 (proposed) ← ADR-0002 (accepted)\n"
    assert "ADR-0002 stays in force until ADR-0003 is accepted" in done.stderr
    assert repo.kl("decision", "reject", "ADR-0003").returncode == 0
    assert status_of(repo, "ADR-0002", "ADR-0003") == ["accepted", "rejected"]
    assert repo.kl("decision", "supersede", "ADR-0002", "ADR-0003").returncode == 2
    assert repo.kl("knowledge", "check").returncode == 0
    done = repo.kl(
        "decision", "new", "Four", "--context", "c", "--decision", "d", "--supersedes", "ADR-0099"
    )
    assert done.returncode == 2 and "ADR-0099" in done.stderr


@pytest.mark.requirement("A21", "A23")
def test_an_agent_proposes_what_would_supersede(repo: Checkout) -> None:
    repo.kl("decision", "accept", made(repo, "One"))
    given = {"title": "Two", "context": "c", "decision": "d", "supersedes": ["ADR-0001"]}
    done = repo.kl("tool", "--allow-write", "decision_create", json.dumps(given))
    assert done.returncode == 0, done.stdout + done.stderr
    assert status_of(repo, "ADR-0001", "ADR-0002") == ["accepted", "proposed"]
    repo.kl("decision", "accept", "ADR-0002")
    assert status_of(repo, "ADR-0001", "ADR-0002") == ["superseded", "accepted"]


OTHERS = """# {number}. {title}

Date: 2025-01-0{number}

## Status

{status}

## Context

Containers need {title}.

## Decision

We do {title}.
"""


def foreign(repo: Checkout, number: int, title: str, status: str) -> None:
    repo.write(f"adr/000{number}-x.md", OTHERS.format(number=number, title=title, status=status))


@pytest.mark.requirement("B21")
def test_importing_a_superseding_decision_updates_the_one_that_is_here(repo: Checkout) -> None:
    foreign(repo, 1, "stdout", "Accepted")
    assert repo.kl("decision", "import", "adr").returncode == 0
    foreign(repo, 2, "json", "Accepted\n\nSupersedes [1. stdout](0001-x.md)")
    foreign(repo, 3, "xml", "Proposed\n\nSupersedes [2. json](0002-x.md)")
    done = repo.kl("decision", "import", "adr")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert status_of(repo, "ADR-0001", "ADR-0002", "ADR-0003") == [
        "superseded",
        "accepted",
        "proposed",
    ]
    assert shown(repo, "ADR-0001")["fields"]["superseded_by"] == ["ADR-0002"]
    assert repo.kl("knowledge", "check").returncode == 0


@pytest.mark.slow
def test_twice_through_two_formats_is_once_and_rejected_and_amends_are_stored(
    repo: Checkout,
) -> None:
    foreign(repo, 1, "stdout", "Accepted")
    foreign(repo, 2, "json", "Rejected")
    foreign(repo, 3, "levels", "Accepted\n\nAmends [1. stdout](0001-x.md)")
    assert repo.kl("decision", "import", "adr").returncode == 0
    assert status_of(repo, "ADR-0002") == ["rejected"]
    assert shown(repo, "ADR-0003")["fields"]["amends"] == ["ADR-0001"]
    assert shown(repo, "ADR-0001")["fields"]["amended_by"] == ["ADR-0003"]
    for form in ("madr", "nygard", "log4brains", "json"):
        assert repo.kl("decision", "export", "--format", form, "-o", f"out-{form}").returncode == 0
        done = repo.kl("decision", "import", f"out-{form}")
        assert done.returncode == 0 and "made 0 decisions" in done.stdout, (form, done.stdout)
        assert done.stdout.count("is here already") == 3
    out = repo.kl("decision", "export", "ADR-0002", "ADR-0003", "--format", "nygard").stdout
    assert "## Status\n\nRejected\n" in out and "Amends [1. stdout](0001-stdout.md)" in out
    out = repo.kl("decision", "export", "ADR-0002", "ADR-0003", "--format", "madr").stdout
    assert "status: rejected" in out and "kl-amends: [ADR-0001]" in out
    plain = json.loads(
        repo.kl("decision", "export", "ADR-0002", "ADR-0003", "--format", "json").stdout
    )
    assert [one["status"] for one in plain] == ["Rejected", "Accepted"] and plain[1]["amends"] == [
        "ADR-0001"
    ]


@pytest.mark.slow
@pytest.mark.requirement("A23", "B21")
def test_agents_propose_and_people_accept(repo: Checkout) -> None:
    bot = {"KL_AGENT": "bot"}
    assert made(repo, "Old") == "ADR-0001"
    assert made(repo, "Idea", env=bot) == "ADR-0002"
    assert made(repo, "Other idea", "--agent") == "ADR-0003"
    for identifier in ("ADR-0002", "ADR-0003"):
        assert shown(repo, identifier)["fields"]["status"] == "proposed"
        assert shown(repo, identifier)["authority"] == "agent"
    for args in (("accept", "ADR-0002"), ("deprecate", "ADR-0001"), ("reject", "ADR-0002")):
        done = repo.kl("decision", *args, env=bot)
        assert done.returncode == 2 and "Ask a person to run: kl decision" in done.stderr, args
    done = repo.kl("decision", "supersede", "ADR-0001", "ADR-0002", env=bot)
    assert (done.returncode, "noted as a proposal" in done.stderr) == (0, True)
    assert shown(repo, "ADR-0001")["fields"]["status"] == "proposed"
    assert repo.kl("decision", "reject", "ADR-0003").returncode == 0
    assert shown(repo, "ADR-0003")["fields"]["status"] == "rejected"


@pytest.mark.requirement("A22")
def test_an_id_is_never_used_again(repo: Checkout, tmp_path: Path) -> None:
    home = repo.root / ".kl/knowledge/decisions"
    made(repo, "One")
    (home / "archive").mkdir()
    (home / "ADR-0001-one.md").rename(home / "archive/ADR-0001-one.md")
    assert made(repo, "Two") == "ADR-0002"
    repo.commit()
    (home / "ADR-0002-two.md").unlink()
    repo.commit("gone by hand")
    assert made(repo, "Three") == "ADR-0003"
    assert repo.kl("decision", "delete", "ADR-0003", "--yes").returncode == 0
    repo.git("checkout", "-q", "-b", "side")
    assert made(repo, "Four") == "ADR-0004"
    repo.commit("on a branch")
    repo.git("checkout", "-q", "main")
    assert made(repo, "Five") == "ADR-0005"


@pytest.mark.slow
@pytest.mark.requirement("A25")
def test_the_archive_is_searched_and_not_shown_unasked(repo: Checkout) -> None:
    home = repo.root / ".kl/knowledge/decisions"
    repo.kl("decision", "accept", made(repo, "Use zookeeper for locks"))
    repo.kl("decision", "accept", made(repo, "Use etcd for locks"))
    repo.kl("decision", "supersede", "ADR-0001", "ADR-0002")
    (home / "archive").mkdir()
    (home / "ADR-0001-use-zookeeper-for-locks.md").rename(
        home / "archive/ADR-0001-use-zookeeper-for-locks.md"
    )
    assert listed(repo, "search", "zookeeper") == [] and listed(
        repo, "search", "--all", "zookeeper"
    ) == ["ADR-0001"]
    assert listed(repo, "list") == ["ADR-0002"] and listed(repo, "list", "--all") == [
        "ADR-0001",
        "ADR-0002",
    ]
    package = json.loads(
        repo.kl("context", "which locks: zookeeper or etcd?", "--format", "json").stdout
    )
    ids = [one["id"] for one in package["items"]]
    assert "ADR-0002" in str(ids) and "ADR-0001" not in str(ids)


@pytest.mark.requirement("A24")
def test_what_it_governs_is_an_edge(repo: Checkout) -> None:
    from kl_hooks.graph import links

    repo.write("src/a.py", "def f(): pass\n")
    made(
        repo,
        "One",
        "--governs",
        "src/a.py",
        "--governs",
        "function:src.not_there.g",
        "--governs",
        "src\\b.py",
    )
    assert repo.kl("decision", "list").returncode == 0
    with repo.workspace().store.reading("graph") as db:
        assert db is not None
        found = links.outgoing(db, "adr:ADR-0001", "adr_governs")
    assert [one.target for one in found] == [
        "file:src/a.py",
        "file:src/b.py",
        "function:src.not_there.g",
    ]
    assert {one.path for one in found} == {".kl/knowledge/decisions/ADR-0001-one.md"}
    path = repo.root / ".kl/knowledge/decisions/ADR-0001-one.md"
    path.write_text(
        path.read_text().partition("governs:")[0] + "---\n\n## Context\n\nc\n\n## Decision\n\nd\n"
    )
    repo.kl("decision", "list")
    with repo.workspace().store.reading("graph") as db:
        assert db is not None and links.outgoing(db, "adr:ADR-0001") == []


@pytest.mark.requirement("A24", "D43", "D45")
def test_what_is_written_of_code_is_seen_by_the_questions_of_the_graph(repo: Checkout) -> None:
    repo.write("src/a.py", "def f(): pass\n")
    made(repo, "One", "--governs", "src/a.py", "--governs", "function:src.a.f")
    made(repo, "Two", "--governs", "src/", "--governs", "data/", "--context", "see [[One]]")
    for name, sources in (
        ("file:src/a.py", ["adr:ADR-0001", "adr:ADR-0002"]),
        ("function:src.a.f", ["adr:ADR-0001"]),
        ("adr:ADR-0001", ["adr:ADR-0002"]),
        ("data/", ["adr:ADR-0002"]),
    ):
        done = repo.kl("graph", "refs", name, "--format", "json")
        assert done.returncode == 0, done.stderr
        rows = [link for place in json.loads(done.stdout)["refs"] for link in place["links"]]
        assert [one["source"] for one in rows] == sources, name
    assert "adr_governs" in repo.kl("graph", "refs", "src/a.py").stdout
    page = repo.kl("graph", "show", "src/a.py").stdout
    assert (
        "written of it  2 adr_governs" in page and ".kl/knowledge/decisions/ADR-0001-one.md" in page
    )
    page = repo.kl("graph", "show", "ADR-0002").stdout
    assert "references adr:ADR-0001" in page and "adr_governs file:data" in page
    (repo.root / ".kl/knowledge/decisions/ADR-0001-one.md").unlink()
    assert "ADR-0001" not in repo.kl("graph", "show", "src/a.py").stdout
    assert repo.kl("graph", "refs", "adr:ADR-0099").returncode == 2


@pytest.mark.requirement("B22", "B23", "B21")
def test_an_answer_is_stored_if_it_decides_enough(repo: Checkout) -> None:
    asked = ("decision", "record", "--question", "Which database should we use for orders?")
    done = repo.kl(*asked, "--answer", "yes")
    assert (
        done.returncode == 0
        and "below the threshold of 40 %" in done.stdout
        and "yes or no" in done.stdout
    )
    assert not (repo.root / ".kl/knowledge").exists()
    answer = "PostgreSQL over MySQL because orders need transactions"
    done = repo.kl(
        *asked,
        "--answer",
        answer,
        "--trigger",
        "TASK_REVIEW",
        "--task",
        "TASK-7",
        "--format",
        "json",
    )
    printed = json.loads(done.stdout)
    assert (printed["significant"], printed["id"], printed["title"]) == (
        True,
        "ADR-0001",
        "Use PostgreSQL for orders",
    )
    fields = shown(repo, "ADR-0001")["fields"]
    assert (fields["status"], fields["trigger"], fields["source_task_id"]) == (
        "proposed",
        "task_review",
        "TASK-7",
    )
    assert fields["alternatives"] == ["MySQL"] and fields["confidence"] == printed["significance"]
    repo.write(".kl/config.yaml", "version: 1\nsignificance: 100\n")
    weak = ("--answer", "the queue, as it survives a restart")
    assert "100 %" in repo.kl(*asked, *weak).stdout and listed(repo, "list") == ["ADR-0001"]
    assert (
        repo.kl(*asked, *weak, "--threshold", "10").returncode == 0
        and len(listed(repo, "list")) == 2
    )


@pytest.mark.requirement("A22")
def test_two_branches_that_took_one_id(repo: Checkout, tmp_path: Path) -> None:
    repo.commit()
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "other"))
    other = Checkout(tmp_path / "other")
    for one, name in ((repo, "mine"), (other, "theirs")):
        assert made(one, f"From {name}") == "ADR-0001"
        one.write(f"docs/{name}.md", f"# Page {name}\n\n[[ADR-0001]]\n")
        one.commit(name)
    repo.git("pull", "-q", "--no-rebase", "--no-edit", str(other.root), "main")
    repo.write("docs/both.md", "# Both\n\nSee ADR-0001.\n")
    repo.commit("after the merge")
    for args in (("list",), ("show", "ADR-0001"), ("search", "from")):
        done = repo.kl("decision", *args)
        assert "is the id of" in done.stderr and "kl decision renumber" in done.stderr, args
    checked = repo.kl("knowledge", "check")
    assert checked.returncode == 1 and "is the id of" in checked.stdout
    assert repo.kl("decision", "renumber", "ADR-0001").returncode == 2
    done = repo.kl("decision", "renumber", ".kl/knowledge/decisions/ADR-0001-from-theirs.md")
    assert done.returncode == 0 and "ADR-0001 is now ADR-0002" in done.stdout
    assert "docs/both.md:3" in done.stderr
    assert "[[ADR-0002]]" in (repo.root / "docs/theirs.md").read_text()
    assert "[[ADR-0001]]" in (repo.root / "docs/mine.md").read_text()
    assert (
        shown(repo, "ADR-0002")["title"] == "From theirs"
        and shown(repo, "ADR-0001")["title"] == "From mine"
    )
    assert repo.kl("knowledge", "check").returncode == 0


@pytest.mark.slow
def test_renumbering_never_shortens_a_long_page(repo: Checkout) -> None:
    made(repo, "One")
    page = repo.root / "docs/long.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text("See ADR-0001.\n" + "word and word\n" * 100_000 + "the end\n")
    before = page.read_bytes()
    repo.commit()
    done = repo.kl("decision", "renumber", "ADR-0001")
    assert done.returncode == 0 and "docs/long.md:1" in done.stderr
    assert page.read_bytes() == before


def test_a_renumbering_that_was_killed_is_finished_by_the_next(repo: Checkout) -> None:
    made(repo, "One")
    folder = repo.root / ".kl/knowledge/decisions"
    (before,) = folder.glob("ADR-0001*.md")
    text = before.read_text()
    repo.write("docs/page.md", "See ADR-0001.\n")
    assert repo.kl("decision", "renumber", "ADR-0001").returncode == 0
    before.write_text(text)  # as it is when the end comes before the old file goes
    repo.write("docs/page.md", "See ADR-0001.\n")
    done = repo.kl("decision", "renumber", "ADR-0001")
    assert done.returncode == 0 and "ADR-0001 is now ADR-0002" in done.stdout, done.stderr
    assert [path.name[:8] for path in folder.glob("ADR-*.md")] == ["ADR-0002"]
    assert (repo.root / "docs/page.md").read_text() == "See ADR-0002.\n"
    assert made(repo, "Two") == "ADR-0003"


def test_a_file_of_the_same_words_is_not_taken_for_a_renumbering_that_was_killed(
    repo: Checkout,
) -> None:
    made(repo, "One")
    folder = repo.root / ".kl/knowledge/decisions"
    (one,) = folder.glob("ADR-0001*.md")
    (folder / "ADR-0009-other.md").write_text(one.read_text().replace("ADR-0001", "ADR-0009"))
    done = repo.kl("decision", "renumber", "ADR-0001")
    assert done.returncode == 0 and "ADR-0001 is now ADR-0010" in done.stdout, done.stderr
    assert repo.kl("knowledge", "check").returncode == 0


def test_an_id_in_an_example_is_none_and_a_file_without_one_has_that_of_its_name(
    repo: Checkout,
) -> None:
    made(repo, "One")
    folder = repo.root / ".kl/knowledge/decisions"
    other = folder / "ADR-0002-notes.md"
    other.write_text("# Notes\n\n```\nid: ADR-0001\n```\n")
    done = repo.kl("decision", "renumber", "ADR-0001")
    assert done.returncode == 0 and "ADR-0001 is now ADR-0003" in done.stdout, done.stderr
    before = other.read_bytes()
    done = repo.kl("decision", "renumber", str(other))
    assert "ADR-0002 is now ADR-0004" in done.stdout, done.stderr
    assert (folder / "ADR-0004-notes.md").read_bytes() == before


def test_a_page_that_is_not_utf_8_keeps_its_bytes(repo: Checkout) -> None:
    made(repo, "One")
    page = repo.root / "docs/latin.md"
    page.parent.mkdir(exist_ok=True)
    page.write_bytes(b"caf\xe9 ADR-0001\n")
    done = repo.kl("decision", "renumber", "ADR-0001")
    assert done.returncode == 0, done.stderr
    assert page.read_bytes() == b"caf\xe9 ADR-0002\n"


def test_renumbering_the_only_one_takes_every_reference_along(repo: Checkout) -> None:
    made(repo, "One")
    made(
        repo,
        "Two",
        "--related-adrs",
        "ADR-0001",
        "--rationale",
        "as ADR-0001 says, not ADR-00012 or MY-ADR-0001",
    )
    repo.write(
        ".kl/architecture.yaml",
        "version: 1\nlayers:\n  - {name: a, paths: [a/], decision: ADR-0001}\n",
    )
    done = repo.kl("decision", "renumber", "ADR-0001")
    assert done.returncode == 0, done.stderr
    assert "decision: ADR-0003" in (repo.root / ".kl/architecture.yaml").read_text()
    fields = shown(repo, "ADR-0002")["fields"]
    assert fields["related_adrs"] == ["ADR-0003"]
    assert fields["rationale"] == "as ADR-0003 says, not ADR-00012 or MY-ADR-0001"
    for wrong in ("ADR-0001", "nowhere.md", "../x.md", ".kl/architecture.yaml"):
        assert repo.kl("decision", "renumber", wrong).returncode == 2, wrong


@pytest.mark.requirement("B24")
def test_what_the_code_decided_is_proposed_once(tmp_path: Path, home: Path) -> None:
    repo = checkout(
        tmp_path / "repo",
        {
            "pyproject.toml": (
                '[project]\nname = "shop"\ndependencies = ["fastapi>=0.1", "sqlalchemy",'
                ' "left-pad"]\n'
            ),
            **{f"src/shop/api{n}.py": "import fastapi\n" for n in range(3)},
            "src/shop/__init__.py": "",
            **{
                f"src/shop/{n}.py": f"class {n.title()}Repository: ...\n"
                for n in ("order", "user", "item")
            },
        },
    )
    done = repo.kl("decision", "discover", "--format", "json")
    assert done.returncode == 0, done.stderr
    found = {one["key"]: one for one in json.loads(done.stdout)["proposals"]}
    # sqlalchemy: 60 %, nobody imports it
    assert {"dependency:fastapi", "layout:src", "pattern:repository"} == set(found)
    assert found["dependency:fastapi"]["confidence"] == 95
    assert not (repo.root / ".kl/knowledge").exists()
    assert repo.kl("decision", "discover", "--write").returncode == 0
    for identifier in listed(repo, "list"):
        fields = shown(repo, identifier)["fields"]
        assert (fields["status"], fields["trigger"], fields["authority"]) == (
            "proposed",
            "discovered",
            "auto",
        )
    assert repo.kl("decision", "reject", "ADR-0001").returncode == 0
    done = repo.kl("decision", "discover")
    assert (
        "nothing that no record states already" in done.stdout
        and "3 decisions omitted" in done.stderr
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["../../x", "ADR-0001\x1b[31m", "\u202eADR-0001", "a" * 5000, "ADR-0001/../../x", ""]
)
@pytest.mark.share(3)
def test_odd_names_are_refused_and_shown_harmless(name: str, repo: Checkout) -> None:
    made(repo, "One")
    before = (repo.root / ".kl/knowledge/decisions/ADR-0001-one.md").read_bytes()
    for args in (
        ("show", name),
        ("accept", name),
        ("supersede", name, "ADR-0001"),
        ("supersede", "ADR-0001", name),
        ("renumber", name),
        ("export", name),
    ):
        done = repo.kl("decision", *args)
        assert done.returncode == 2, (args, done.stdout)
        assert "\x1b" not in done.stderr and "\u202e" not in done.stderr and len(done.stderr) < 3000
    assert (repo.root / ".kl/knowledge/decisions/ADR-0001-one.md").read_bytes() == before


def test_a_list_of_archived_decisions_alone_states_how_many_there_are(repo: Checkout) -> None:
    made(repo, "Use ZooKeeper")
    home = repo.root / ".kl/knowledge/decisions"
    (home / "archive").mkdir()
    (home / "ADR-0001-use-zookeeper.md").rename(home / "archive/ADR-0001-use-zookeeper.md")
    none = "none in use: 1 archived. hint: --all lists them\n"
    assert repo.kl("decision", "list").stdout == none
    assert repo.kl("knowledge", "list", "--kind", "decision").stdout == none
    assert "ADR-0001" in repo.kl("decision", "list", "--all").stdout
    assert repo.kl("decision", "list", "--status", "accepted").stdout == "no decision fits.\n"
    hides = "deny: {kinds: [decision], actors: [agent]}"
    repo.write(".kl/policy.yaml", f"version: 1\nrules:\n  - name: all\n    {hides}\n")
    agent = repo.kl("decision", "list", env={"KL_AGENT": "bot"}).stdout
    assert agent == "no decisions yet. Make one: kl decision new --edit\n"


def proposed_changes(repo: Checkout) -> list[dict[str, Any]]:
    done = repo.kl("knowledge", "proposals", "--format", "json")
    assert done.returncode == 0, done.stderr
    changes: list[dict[str, Any]] = json.loads(done.stdout)["changes"]
    return [
        {name: change[name] for name in ("record", "how", "changes", "by")} for change in changes
    ]


def test_renumbering_takes_proposed_changes_along(repo: Checkout) -> None:
    made(repo, "One")
    made(repo, "Two")
    agent = {"KL_AGENT": "bot"}
    for of, values in (
        ("ADR-0001", ("--rationale", "faster")),
        ("ADR-0002", ("--related-adrs", "ADR-0001")),
        ("ADR-0002", ("--rationale", "unlike ADR-0001, not ADR-00012")),
        ("ADR-0002", ("--rationale", "of itself")),
    ):
        assert repo.kl("decision", "edit", of, *values, env=agent).returncode == 0
    before = proposed_changes(repo)
    done = repo.kl("decision", "renumber", "ADR-0001")
    assert (done.returncode, done.stderr) == (0, "")
    after = json.loads(
        json.dumps(before).replace('ADR-0001"', 'ADR-0003"').replace("ADR-0001,", "ADR-0003,")
    )
    assert proposed_changes(repo) == after != before
    for accepted in ("ADR-0003", "ADR-0002"):
        # the decision itself, then its changes
        for _ in range(2):
            assert repo.kl("knowledge", "accept", accepted).returncode == 0
    assert shown(repo, "ADR-0003")["fields"]["rationale"] == "faster"
    fields = shown(repo, "ADR-0002")["fields"]
    # the last of two changes of a field is the one that holds
    assert (fields["related_adrs"], fields["rationale"]) == (["ADR-0003"], "of itself")
    assert proposed_changes(repo) == []


def test_records_of_the_database_name_the_new_id_and_claims_are_listed(repo: Checkout) -> None:
    made(repo, "One")
    agent = {"KL_AGENT": "bot"}
    for words in (
        ("finding", "new", "Slow", "--entity", "a", "--finding", "slow", "--about", "ADR-0001"),
        ("outcome", "capture", "Done", "--decision", "ADR-0001", "--decision", "ADR-0002"),
    ):
        assert repo.kl(*words, env=agent).returncode == 0
    assert repo.kl("claim", "add", "It holds", "--about", "adr:ADR-0001").returncode == 0
    done = repo.kl("decision", "renumber", "ADR-0001", "--format", "json", env=agent)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert len(answer["records"]) == 2 and answer["unsure_records"] == []
    (claim,) = answer["claims"]
    assert (
        claim == json.loads(repo.kl("claim", "list", "--format", "json").stdout)["claims"][0]["id"]
    )
    (outcome,) = json.loads(repo.kl("outcome", "list", "--format", "json").stdout)["records"]
    shown_outcome = json.loads(repo.kl("outcome", "show", outcome["id"], "--format", "json").stdout)
    assert shown_outcome["fields"]["related_adr_ids"] == ["ADR-0002"]
    listed = repo.kl("finding", "list", "--about", "ADR-0002").stdout
    assert (
        "Slow" in listed and "Slow" not in repo.kl("finding", "list", "--about", "ADR-0001").stdout
    )
    assert proposed_changes(repo) == []


def test_texts_of_the_database_that_name_the_former_id_are_listed(repo: Checkout) -> None:
    made(repo, "One")
    finding = (
        "finding",
        "new",
        "As ADR-0001 has it",
        "--entity",
        "a",
        "--finding",
        "not MY-ADR-0001",
    )
    other = ("finding", "new", "As others have it", "--entity", "b", "--finding", "ADR-00012")
    for words in (finding, other, ("claim", "add", "ADR-0001 holds", "--about", "file:a.py")):
        assert repo.kl(*words).returncode == 0
    done = repo.kl("decision", "renumber", "ADR-0001", "--format", "json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    (text,) = answer["texts"]
    assert shown_finding(repo, text)["title"] == "As ADR-0001 has it"
    assert len(answer["claims"]) == 1 and answer["records"] == []
    listed = repo.kl("decision", "renumber", "ADR-0002").stderr
    assert text not in listed and "ADR-0002" not in listed


def shown_finding(repo: Checkout, identifier: str) -> dict[str, Any]:
    done = repo.kl("finding", "show", identifier, "--format", "json")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def merged(repo: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """A merge of two decisions with one ID, of which the own one has a proposed change since
    before.
    """
    repo.commit()
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "other"))
    other = Checkout(tmp_path / "other")
    for one, name in ((repo, "mine"), (other, "theirs")):
        assert made(one, f"From {name}") == "ADR-0001"
        one.commit(name)
    edit = ("decision", "edit", "ADR-0001", "--rationale", "before the merge")
    assert repo.kl(*edit, env={"KL_AGENT": "bot"}).returncode == 0
    finding = ("finding", "new", "Slow", "--entity", "a", "--finding", "x", "--about", "ADR-0001")
    assert repo.kl(*finding).returncode == 0
    # the log of HEAD counts seconds
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2099-01-01T00:00:00Z")
    repo.git("pull", "-q", "--no-rebase", "--no-edit", str(other.root), "main")
    return repo


@pytest.mark.parametrize("renumbered", ["mine", "theirs"])
def test_a_proposed_change_means_the_decision_that_was_checked_out(
    merged: Checkout, renumbered: str
) -> None:
    file = f".kl/knowledge/decisions/ADR-0001-from-{renumbered}.md"
    done = merged.kl("decision", "renumber", file)
    assert done.returncode == 0, done.stderr
    is_mine = renumbered == "mine"
    owner = "ADR-0002" if is_mine else "ADR-0001"
    assert [change["record"] for change in proposed_changes(merged)] == [owner]
    assert shown(merged, owner)["title"] == "From mine"
    left = "ADR-0001: a proposed change names ADR-0001 (edit by agent:bot"
    assert (left in done.stderr) == (not is_mine)
    assert "Slow" in merged.kl("finding", "list", "--about", owner).stdout
    assert (": names ADR-0001; edit it if ADR-0002 is meant" in done.stderr) == (not is_mine)


def test_a_proposed_change_from_before_the_log_of_head_means_neither_decision(
    merged: Checkout,
) -> None:
    merged.git("reflog", "expire", "--expire=2098-01-01", "HEAD")
    done = merged.kl("decision", "renumber", ".kl/knowledge/decisions/ADR-0001-from-mine.md")
    assert done.returncode == 0, done.stderr
    assert "ADR-0001: a proposed change names ADR-0001 (edit by agent:bot" in done.stderr
    assert [change["record"] for change in proposed_changes(merged)] == ["ADR-0001"]
