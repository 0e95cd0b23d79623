"""What no longer holds is given to nobody unasked: by packages, critical context, inject, tools,
searches.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable

import pytest

from tests.support import Checkout

WORDS = "zebra crossings"


def memory(repo: Checkout) -> str:
    return repo.kl("memory", "add", f"Paint {WORDS} white.").stdout.split()[0]


def decision(repo: Checkout, title: str = f"Paint {WORDS}") -> str:
    made = repo.kl(
        "decision", "new", title, "--context", WORDS, "--decision", f"White {WORDS}."
    ).stdout.split()[0]
    repo.kl("decision", "accept", made)
    return made


def disproven(repo: Checkout) -> str:
    made = memory(repo)
    repo.kl("memory", "disprove", made, "--reason", "they are yellow")
    return made


def deprecated_memory(repo: Checkout) -> str:
    made = memory(repo)
    repo.kl("memory", "edit", made, "--standing", "deprecated")
    return made


def rejected(repo: Checkout) -> str:
    made = memory(repo)
    repo.kl("memory", "reject", made, "--reason", "no")
    return made


def candidate(repo: Checkout) -> str:
    return repo.kl("memory", "add", f"Paint {WORDS} white.", "--agent").stdout.split()[0]


def expired(repo: Checkout) -> str:
    made = memory(repo)
    repo.kl("memory", "edit", made, "--ttl-days", "0")
    path = next((repo.root / ".kl/knowledge/memories").glob(f"{made}*.md"))
    path.write_text(
        path.read_text().replace("status: approved", "status: approved\nexpires: 2020-01-01")
    )
    return made


def deprecated_decision(repo: Checkout) -> str:
    made = decision(repo)
    repo.kl("decision", "deprecate", made)
    return made


def superseded(repo: Checkout) -> str:
    made, newer = decision(repo), decision(repo, "Another matter")
    path = next((repo.root / ".kl/knowledge/decisions").glob(f"{newer}*.md"))
    path.write_text(path.read_text().replace(WORDS, "lions").replace(WORDS.capitalize(), "Lions"))
    repo.kl("decision", "supersede", made, newer)
    return made


def archived(repo: Checkout) -> str:
    made = decision(repo)
    path = next((repo.root / ".kl/knowledge/decisions").glob(f"{made}*.md"))
    (path.parent / "archive").mkdir()
    path.rename(path.parent / "archive" / path.name)
    return made


def outdated(repo: Checkout) -> str:
    made = repo.kl("guide", "new", f"On {WORDS}", "--text", f"Paint {WORDS}.").stdout.split()[0]
    repo.kl("guide", "outdate", made)
    return made


CASES = (
    disproven,
    deprecated_memory,
    rejected,
    candidate,
    expired,
    deprecated_decision,
    superseded,
    archived,
    outdated,
)


@pytest.mark.slow
@pytest.mark.requirement("A42", "A43", "B16")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@pytest.mark.share(3)
def test_what_is_not_in_force_is_given_to_nobody_unasked(
    repo: Checkout, case: Callable[[Checkout], str]
) -> None:
    made = case(repo)
    kind = {"MEM": "memory", "ADR": "decision", "GUI": "guide"}[made[:3]]
    repo.commit()
    given = {
        "context": repo.kl("context", f"paint the {WORDS}").stdout,
        "critical": repo.kl("context", "critical", "--task", f"paint the {WORDS}").stdout,
        "inject": repo.kl("memory", "inject", *WORDS.split()).stdout,
        "search": repo.kl("knowledge", "search", *WORDS.split()).stdout,
        "kind search": repo.kl(kind, "search", *WORDS.split()).stdout,
        "tool": repo.kl("tool", f"{kind}_search", json.dumps({"query": WORDS})).stdout,
        "context tool": json.loads(repo.kl("tool", "context", json.dumps({"task": WORDS})).stdout)[
            "result"
        ]["text"],
    }
    assert {
        where: text for where, text in given.items() if f"{made} " in text or f'"{made}"' in text
    } == {}
    assert "not in force" in repo.kl("knowledge", "search", *WORDS.split()).stderr
    assert made in repo.kl("knowledge", "search", "--all", *WORDS.split()).stdout
    assert (
        made in repo.kl("tool", f"{kind}_search", json.dumps({"query": WORDS, "all": True})).stdout
    )


def test_a_record_in_force_is_given_everywhere(repo: Checkout) -> None:
    """Else the test above would see nothing because nothing is ever given."""
    one, other = memory(repo), decision(repo)
    repo.commit()
    for text in (
        repo.kl("context", f"paint the {WORDS}").stdout,
        repo.kl("context", "critical", "--task", f"paint the {WORDS}").stdout,
        repo.kl("knowledge", "search", *WORDS.split()).stdout,
    ):
        assert one in text and other in text
    assert f"({one}, human)" in repo.kl("memory", "inject", *WORDS.split()).stdout
    # a file that nobody committed, and that kl did not write, may claim any authority
    path = next((repo.root / ".kl/knowledge/memories").glob(f"{one}*.md"))
    path.write_text(path.read_text() + "\nMore.\n")
    assert f"({one}, agent)" in repo.kl("memory", "inject", *WORDS.split()).stdout


def test_a_proposed_successor_leaves_the_old_one_in_force(repo: Checkout) -> None:
    old = memory(repo)
    newer = repo.kl("memory", "add", "Paint them yellow.", "--agent").stdout.split()[0]
    path = next((repo.root / ".kl/knowledge/memories").glob(f"{old}*.md"))
    path.write_text(
        path.read_text().replace("status: approved", f"status: approved\nsuperseded_by: [{newer}]")
    )
    assert old in repo.kl("memory", "search", "zebra").stdout
    repo.kl("memory", "approve", newer)
    assert old not in repo.kl("memory", "search", "zebra").stdout


RISK = """\
name: risk
prefix: RISK
purpose: What may go wrong.
home: {home}
statuses: [open, over]
"""


def with_a_risk(repo: Checkout, home: str = "state") -> None:
    repo.write(".kl/kinds/risk.yaml", RISK.format(home=home))
    assert repo.kl("risk", "new", "The disk may fill up").returncode == 0
    assert repo.kl("objective", "new", "Ship it").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("how", ["broken", "gone"])
@pytest.mark.parametrize("rests", ["state", "file"])
@pytest.mark.share(2)
def test_records_of_a_kind_that_nothing_describes_hinder_no_command(
    repo: Checkout, how: str, rests: str
) -> None:
    with_a_risk(repo, rests)
    path = repo.root / ".kl/kinds/risk.yaml"
    before = path.read_text()
    path.write_text(before + "nme: x\n") if how == "broken" else path.unlink()
    fix = "risk.yaml, or restore it" if rests == "state" else ".kl/kinds/, or restore it"
    where = "1 record of the kind risk" if rests == "state" else "1 record in .kl/knowledge/risks/"
    for args in (["list"], ["search", "disk", "ship"], ["health"], ["status"]):
        done = repo.kl("knowledge", *args)
        assert done.returncode == 0 and "RISK" not in done.stdout, (args, done.stdout, done.stderr)
        assert done.stderr.count(where) == 1 and fix in done.stderr, (args, done.stderr)
    done = repo.kl("status")
    assert (done.returncode, "1 objective" in done.stdout, where in done.stderr) == (
        0,
        True,
        True,
    ), done.stderr
    found = json.loads(repo.kl("knowledge", "list", "--format", "json").stdout)
    assert ([one["id"] for one in found["records"]], found["total"]) == (["OBJ-0001"], 1)
    shown = repo.kl("knowledge", "show", "RISK-0001")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert rests == "file" or fix in shown.stderr, shown.stderr
    path.write_text(before)
    assert "RISK-0001" in repo.kl("knowledge", "list").stdout
    assert repo.kl("knowledge", "show", "RISK-0001").returncode == 0
    assert "left out" not in repo.kl("knowledge", "list").stderr


def test_fixed_they_are_found_again_though_the_graph_was_made_without_them(repo: Checkout) -> None:
    with_a_risk(repo)
    path = repo.root / ".kl/kinds/risk.yaml"
    before = path.read_text()
    path.unlink()
    shutil.rmtree(repo.state / "graph")
    assert repo.kl("knowledge", "list").returncode == 0
    path.write_text(before)
    assert "RISK-0001" in repo.kl("knowledge", "search", "disk").stdout


def test_what_is_wrong_with_a_kind_is_reported_once(repo: Checkout) -> None:
    with_a_risk(repo)
    repo.write(".kl/kinds/risk.yaml", RISK.format(home="state") + "nme: x\n")
    for args in (["risk", "list"], ["knowledge", "check"], ["knowledge", "list"]):
        done = repo.kl(*args)
        assert (done.stdout + done.stderr).count("risk.yaml:6:1") == 1, (
            args,
            done.stdout,
            done.stderr,
        )
