"""What cites a record that has ended shows that wherever it is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kl_hooks import api
from tests.support import Checkout, checkout

LAYERS = """\
version: 1
layers:
  - name: core
    paths: [core.py]
    may_depend_on: []
    decision: ADR-0001
  - name: app
    paths: [app.py]
    may_depend_on: below
exceptions:
  - {from: core, to: app, until: 2030-01-01, decision: ADR-0001}
"""
FILES = {"core.py": "", "app.py": "import core\n", ".kl/architecture.yaml": LAYERS}
ENDED = "ADR-0001, which is superseded by ADR-0002"


@pytest.fixture
def repo(tmp_path: Path, home: Path) -> Checkout:
    """A decision that a layer, an exception, an objective, another decision and two claims cite."""
    repo = checkout(tmp_path / "r", FILES)
    for title in ("Render by templates", "Render by functions"):
        new = ("decision", "new", title, "--context", "c", "--decision", "d")
        assert repo.kl(*new).returncode == 0
    for name in ("ADR-0001", "ADR-0002"):
        repo.kl("decision", "accept", name)
    assert repo.kl("objective", "new", "Strict rendering", "--about", "ADR-0001").returncode == 0
    repo.kl("claim", "add", "renders by templates", "--about", "ADR-1")
    repo.kl("claim", "add", "is quick", "--about", "file:core.py", "--support", "ADR-0001")
    repo.commit()
    return repo


def claim_ids(repo: Checkout) -> list[str]:
    answer = json.loads(repo.kl("claim", "list", "--format", "json").stdout)
    return [f"claim:{one['id']}" for one in answer["claims"] if one["author"] != "auto"]


def test_what_cites_a_decision_is_named_when_it_ends_and_shows_it_from_then_on(
    repo: Checkout,
) -> None:
    assert "which is" not in repo.kl("claim", "list").stdout
    assert "rests on" not in repo.kl("arch", "check").stderr
    done = repo.kl("decision", "supersede", "ADR-0001", "ADR-0002")
    first, second = claim_ids(repo)
    assert (
        f"5 cite ADR-0001, which is superseded by ADR-0002 now: OBJ-0001, {first}, {second},"
        ' layer "core", exception core → app' in done.stderr
    ), done.stderr
    listed = repo.kl("claim", "list").stdout
    assert f"about {ENDED}\n" in listed and f"cites {ENDED}\n" in listed
    assert f"about {ENDED}" in repo.kl("claim", "show", first).stdout
    assert repo.kl("claim", "show", second).stdout == repo.kl("knowledge", "show", second).stdout
    assert f"It cites {ENDED}." in repo.kl("objective", "show", "OBJ-0001").stdout
    shown = json.loads(repo.kl("objective", "show", "OBJ-0001", "--format", "json").stdout)
    assert shown["ended_citations"] == [f"cites {ENDED}"]
    checked = repo.kl("knowledge", "check")
    assert checked.returncode == 0 and f"about: cites {ENDED}." in checked.stderr, checked.stderr
    package = repo.kl("context", "strict rendering, renders by templates").stdout
    assert f"cites {ENDED}" in package and f"about {ENDED}" in package, package
    for command in (("arch", "check"), ("arch", "show"), ("arch", "explain", "core")):
        done = repo.kl(*command)
        place = ".kl/architecture.yaml:5:1: "
        assert f'{place}layer "core" rests on {ENDED}.' in done.stderr, done.stdout + done.stderr
        assert f"exception core → app rests on {ENDED}." in done.stderr
    assert repo.kl("arch", "check").returncode == 0, "a warning, and no violation"
    # as staged, and once upkeep has moved it to the archive
    repo.git("add", "-A")
    assert ENDED in repo.kl("arch", "check", "--staged").stderr
    folder = repo.root / ".kl/knowledge/decisions"
    (folder / "archive").mkdir()
    (old,) = folder.glob("ADR-0001*")
    old.rename(folder / "archive" / old.name)
    assert ENDED in repo.kl("arch", "check").stderr
    assert f"It cites {ENDED}." in repo.kl("objective", "show", "OBJ-0001").stdout


def test_what_names_no_record_is_reported_when_it_is_made(repo: Checkout) -> None:
    absent = "ADR-0099, which is not in this repository"
    assert f"about {absent}." in repo.kl("claim", "add", "?", "--about", "ADR-99").stderr
    made = repo.kl("objective", "new", "Nothing", "--about", "ADR-0099")
    assert (made.returncode, f"cites {absent}" in made.stderr) == (0, True), made.stderr
    assert f"about {absent}" in repo.kl("claim", "list").stdout


def test_a_claim_is_found_by_the_id_that_packages_print(repo: Checkout) -> None:
    first, _ = claim_ids(repo)
    assert repo.kl("claim", "show", first).returncode == 0
    knowledge = api.open(repo.root)
    record = knowledge.retrieve(first)
    assert record is not None and (record.kind, record.id) == ("claim", first)
    assert record.values["title"] == "renders by templates"
    assert knowledge.retrieve("claim:0000") is None


def test_what_was_disproven_is_not_approved_by_the_way(repo: Checkout) -> None:
    repo.kl("memory", "add", "Templates are quick.")
    (memory,) = (path.name[:12] for path in (repo.root / ".kl/knowledge/memories").glob("MEM-*"))
    repo.kl("memory", "disprove", memory, "--reason", "they are slow")
    done = repo.kl("memory", "approve", memory)
    hint = (
        "it is disproven (they are slow). If it is so after all:"
        f" kl memory approve {memory} --checked"
    )
    assert done.returncode == 2 and hint in done.stderr, done.stdout + done.stderr
    assert repo.kl("memory", "approve", memory, "--checked").returncode == 0
    assert "verified" in repo.kl("memory", "show", memory).stdout
    assert repo.kl("memory", "approve", memory).returncode == 0
