"""Folders of other tools through the command: ids, references, what is left alone, and the export
again.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kinds.decision.formats import published
from tests.support import Checkout, checkout

FIRST = published.NYGARD.replace(
    "# 2. Implement as shell scripts", "# 1. Record architecture decisions"
).replace(
    "Supersedes [1. Record architecture decisions](0001-record-architecture-decisions.md)\n\n", ""
)


@pytest.fixture
def adrs(repo: Checkout) -> Checkout:
    """A repository with a folder of adr-tools."""
    repo.write(".adr-dir", "doc/adr\n")
    repo.write("doc/adr/0001-record-architecture-decisions.md", FIRST)
    repo.write("doc/adr/0002-implement-as-shell-scripts.md", published.NYGARD)
    repo.write("doc/adr/README.md", "# About\n\n## Decision\n\nnone\n")
    repo.write("doc/adr/notes.md", "# Notes\n\nJust words.\n")
    repo.commit("adrs")
    return repo


def shown(repo: Checkout, identifier: str) -> dict[str, object]:
    done = repo.kl("decision", "show", identifier, "--format", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)["fields"]
    return found


@pytest.mark.requirement("B56", "A22", "A26")
def test_a_folder_of_adr_tools(adrs: Checkout) -> None:
    done = adrs.kl("decision", "import", "doc/adr")
    assert done.returncode == 0, done.stderr
    assert "made 2 decisions" in done.stdout and "notes.md: no decision" in done.stderr
    first, second = shown(adrs, "ADR-0001"), shown(adrs, "ADR-0002")
    assert (first["status"], first["superseded_by"]) == ("superseded", ["ADR-0002"])
    assert (second["status"], second["supersedes"], second["date"]) == (
        "accepted",
        ["ADR-0001"],
        "2016-02-12",
    )
    assert (
        "0007-use-bash.md" in str(second["more"])
        and "unknown decisions (amended by: 0007-use-bash.md)" in done.stderr
    )
    page = adrs.kl("decision", "show", "ADR-0001").stdout
    assert "ADR-0002 (accepted) ← ADR-0001 (superseded)" in page
    again = adrs.kl("decision", "import", ".")
    assert "made 0 decisions" in again.stdout and "ADR-0001  is here already" in again.stdout
    assert adrs.kl("knowledge", "check").returncode == 0


def test_taken_numbers_are_not_taken_again(adrs: Checkout) -> None:
    adrs.kl("decision", "new", "Ours", "--context", "c", "--decision", "d")
    done = adrs.kl("decision", "import", "doc/adr", "--dry-run", "--json")
    assert [(one["id"], one["path"][-9:]) for one in json.loads(done.stdout)["made"]] == [
        ("ADR-0003", "isions.md"),
        ("ADR-0002", "cripts.md"),
    ]
    assert sorted(path.name for path in (adrs.root / ".kl/knowledge/decisions").iterdir()) == [
        "ADR-0001-ours.md"
    ]


def test_a_folder_of_log4brains(repo: Checkout) -> None:
    repo.write(".log4brains.yml", "project:\n  name: x\n  adrFolder: ./docs/adr\n")
    repo.write("docs/adr/20201102-use-log4brains.md", published.LOG4BRAINS)
    old = published.LOG4BRAINS.replace("- Date: 2020-11-02\n", "").partition("## Links")[0]
    repo.write(
        "docs/adr/20200101-use-nothing.md",
        old.replace("accepted", "superseded by [x](20201102-use-log4brains.md)"),
    )
    repo.write("docs/adr/template.md", published.LOG4BRAINS)
    repo.write("docs/adr/20210101-nameless-one.md", published.LOG4BRAINS.partition("\n\n")[2])
    done = repo.kl("decision", "import", ".")
    assert done.returncode == 0 and "made 3 decisions" in done.stdout, done.stderr
    assert (
        "ADR-0003  Nameless one" in done.stdout
        and "has no title; it is named after its file" in done.stderr
    )
    assert "ADR-0002" in shown(repo, "ADR-0001")["superseded_by"]
    assert (shown(repo, "ADR-0001")["date"], shown(repo, "ADR-0002")["date"]) == (
        "2020-01-01",
        "2020-11-02",
    )


@pytest.mark.requirement("A20", "B19", "B20")
def test_the_seeds_json(repo: Checkout) -> None:
    repo.write("a/ADR-0003.json", published.SEED_A)
    repo.write("a/b.json", published.SEED_B)
    done = repo.kl("decision", "import", "a", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert shown(repo, "ADR-0003")["governs"] == ["src/store.py", "type:shop.store.Store"]
    assert (shown(repo, "ADR-0004")["confidence"], shown(repo, "ADR-0004")["status"]) == (
        85,
        "superseded",
    )


def test_an_agent_s_import_is_proposed(adrs: Checkout) -> None:
    assert adrs.kl("decision", "import", "doc/adr", env={"KL_AGENT": "bot"}).returncode == 0
    assert {shown(adrs, one)["status"] for one in ("ADR-0001", "ADR-0002")} == {"proposed"}
    assert shown(adrs, "ADR-0001")["authority"] == "agent"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["madr", "nygard", "log4brains", "json"])
@pytest.mark.share(2)
def test_out_and_in_again_is_the_same(form: str, adrs: Checkout, tmp_path: Path) -> None:
    adrs.kl("decision", "import", "doc/adr")
    new = ("decision", "new", "Third [one] | (#3) #")
    adrs.kl(
        *new,
        "--context",
        "c\n\n```\n## x\n```",
        "--decision",
        "- d",
        "--governs",
        "src/",
        "--confidence",
        "80",
        "--trigger",
        "TASK_REVIEW",
        "--alternatives",
        "x\n\ny",
        "--tag",
        "a",
    )
    out = tmp_path / "out"
    done = adrs.kl("decision", "export", "--format", form, "-o", str(out))
    assert done.returncode == 0 and "wrote 3 files" in done.stdout, done.stderr
    assert adrs.kl("decision", "export", "--format", form, "-o", str(out)).returncode == 2
    other = checkout(tmp_path / "other")
    done = other.kl("decision", "import", str(out), "--format", form)
    assert done.returncode == 0, done.stderr
    same = form != "log4brains"  # its names hold dates, so ids follow the names
    for identifier in ("ADR-0001", "ADR-0002", "ADR-0003") if same else ():
        before, after = shown(adrs, identifier), shown(other, identifier)
        for removed in ("source", "updated"):
            before.pop(removed, None), after.pop(removed, None)
        assert after == before
    listed = json.loads(other.kl("decision", "list", "--format", "json").stdout)["records"]
    assert {one["title"] for one in listed} == {
        "Third [one] | (#3) #",
        "Record architecture decisions",
        "Implement as shell scripts",
    }
    assert other.kl("knowledge", "check").returncode == 0


@pytest.mark.parametrize(
    ("name", "data", "printed"),
    [
        ("0003-big.md", b"# Big\n\n## Decision\n\n" + b"x" * 50_000_000, "too long"),
        ("0003-latin.md", "# T\n\n## Decision\n\ncaf\xe9\n".encode("latin-1"), ":5:"),
        (
            "0003-bomb.md",
            b"---\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n---\n# T\n\n## Decision\n\nd\n",
            ":2:",
        ),
        ("0003-deep.md", b"---\na: " + b"[" * 10_000 + b"\n---\n# T\n\n## Decision\n\nd\n", ":2:"),
        (
            "0003-bad.md",
            b"---\nkl-confidence: 900\nkl-governs: [../../etc]\n---\n# T\n\n## Decision\n",
            "confidence",
        ),
        (
            "0003-\u202exdm.md".encode(),
            b"---\nkl-trigger: whim\n---\n# T\n\n## Decision\n\nd\n",
            "\\u202e",
        ),
        ("x.json", b'{"title": "T", "decision": "d", "date": 5', "JSON"),
    ],
    ids=["50 MB", "latin-1", "bomb", "deep", "fields", "right to left", "json"],
)
def test_bad_files_are_named_and_not_written(
    name: str | bytes, data: bytes, printed: str, adrs: Checkout
) -> None:
    path = adrs.root / "doc/adr" / (name.decode() if isinstance(name, bytes) else name)
    path.write_bytes(data)
    done = adrs.kl("decision", "import", "doc/adr")
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert (printed in done.stderr and "0003" in done.stderr) or "x.json" in done.stderr
    assert "\u202e" not in done.stderr
    assert not (adrs.root / ".kl/knowledge/decisions").exists()


def test_what_is_no_decision_is_refused_where_it_was_named(repo: Checkout) -> None:
    repo.write("x.md", "words\n")
    done = repo.kl("decision", "import", "x.md")
    assert done.returncode == 2 and "has no title" in done.stderr
    repo.write("none/x.md", "words\n")
    assert repo.kl("decision", "import", "none").returncode == 1
    assert repo.kl("decision", "import", "nowhere").returncode == 2
