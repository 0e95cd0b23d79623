"""Seeds when documents, names and branches change; and which agent is not shown what it reads
itself.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import Checkout

README = """# Shop

## Introduction

Sells baskets to people.

## Goals

Sell a million baskets.

## Constraints

No network at run time.

## Usage

Run it with care.
"""


def seeded(repo: Checkout, *args: str) -> dict[str, str]:
    """Title → what was done with it."""
    done = repo.kl("seed", "--format", "json", *args)
    assert done.returncode == 0, done.stderr
    return {one["title"]: one["what"] for one in json.loads(done.stdout)["seeds"]}


def statuses(repo: Checkout, kind: str) -> dict[str, str]:
    rows = json.loads(repo.kl(kind, "list", "--format", "json").stdout)["records"]
    return {f"{one['id']} {one['title']}": one["status"] for one in rows}


@pytest.fixture
def shop(repo: Checkout) -> Checkout:
    repo.write("README.md", README)
    repo.commit()
    return repo


@pytest.mark.requirement("B4")
def test_introduction_goals_and_constraints_are_facts(shop: Checkout) -> None:
    seeded(shop)
    rows = json.loads(shop.kl("fact", "list", "--format", "json").stdout)["records"]
    fields = [
        json.loads(shop.kl("fact", "show", one["id"], "--format", "json").stdout)["fields"]
        for one in rows
    ]
    assert {one["category"]: (one["answers"], one["answer"]) for one in fields} == {
        "project_overview": ("purpose", "Sells baskets to people."),
        "goals": ("goals", "Sell a million baskets."),
        "constraints": ("technical_constraints", "No network at run time."),
    }
    for name in ("entity_id", "source_hash", "seeded_hash"):
        assert name not in fields[0] and name not in shop.kl("fact", "show", rows[0]["id"]).stdout
    done = shop.kl("fact", "edit", rows[0]["id"], "--clear", "seeded_hash")
    assert done.returncode == 2 and "written by kl alone" in done.stderr
    done = shop.kl(
        "tool", "--allow-write", "fact_create", json.dumps({"title": "x", "entity_id": "y"})
    )
    assert done.returncode == 2 and "entity_id" in done.stdout + done.stderr


@pytest.mark.requirement("B7")
def test_a_renamed_project_or_document_takes_its_records_along(shop: Checkout) -> None:
    seeded(shop)
    before = statuses(shop, "guide") | statuses(shop, "fact")
    shop.write("pyproject.toml", '[project]\nname = "market"\n')
    (shop.root / "README.md").rename(shop.root / "README.rst")
    text = "Shop\n====\n\nSells baskets to people.\n\nGoals\n-----\n\nSell a million baskets.\n\n"
    text += (
        "Usage\n-----\n\nRun it with care::\n\n    market --run\n\n.. image:: x.png\n   :width: 3\n"
    )
    shop.write("README.rst", text)
    done = seeded(shop)
    assert (
        done["Usage"]
        == done["What this project is"]
        == done["What this project is to achieve"]
        == "updated"
    )
    assert done["What limits this project"] == "outdated"
    after = statuses(shop, "guide") | statuses(shop, "fact")
    assert {name.split()[0] for name in after} >= {name.split()[0] for name in before}
    assert [name for name, status in after.items() if name.endswith(" Usage")] == [
        "GUIDE-0001 Usage"
    ]
    assert (
        "market --run" in shop.kl("guide", "show", "GUIDE-0001").stdout
        and "image" not in shop.kl("guide", "show", "GUIDE-0001").stdout
    )
    assert set(seeded(shop).values()) == {"skipped"}


@pytest.mark.slow
@pytest.mark.requirement("B7")
def test_a_removed_section_outdates_its_guide_and_back_again_renews_it(shop: Checkout) -> None:
    seeded(shop)
    shop.write("README.md", README.partition("## Usage")[0])
    assert "stale: 1" in shop.kl("knowledge", "health").stdout
    assert seeded(shop)["Usage"] == "outdated"
    assert statuses(shop, "guide") == {"GUIDE-0001 Usage": "outdated"}
    assert (
        "Run it with care"
        not in shop.kl("context", "how to run it with care: usage", "--budget", "6000").stdout
    )
    shop.write("README.md", README)
    assert seeded(shop)["Usage"] == "updated" and statuses(shop, "guide") == {
        "GUIDE-0001 Usage": "current"
    }
    shop.kl("guide", "edit", "GUIDE-0001", "--text", "My own words.")
    shop.write("README.md", README.partition("## Usage")[0])
    assert seeded(shop)["Usage"] == "kept" and statuses(shop, "guide") == {
        "GUIDE-0001 Usage": "current"
    }


@pytest.mark.requirement("B6")
def test_a_branch_without_the_records_is_no_dead_end(shop: Checkout) -> None:
    shop.git("checkout", "-q", "-b", "side")
    seeded(shop)
    shop.commit("seeds")
    shop.git("checkout", "-q", "main")
    assert statuses(shop, "guide") == {}
    assert set(seeded(shop).values()) == {"created"}
    guide = next((shop.root / ".kl/knowledge/guides").glob("*.md"))
    shop.commit("seeds here too")
    guide.unlink()
    assert seeded(shop)["Usage"] == "kept"  # deleted by a person, on this branch
    shop.git("checkout", "-q", str(guide.relative_to(shop.root)))
    shop.git("merge", "-q", "side")
    # the second one states that it is outdated
    assert seeded(shop)["Usage"] in ("skipped", "outdated")
    assert sorted(statuses(shop, "guide").values()) == ["current", "outdated"]


def test_other_places_of_a_contributing_guide_are_read(repo: Checkout) -> None:
    repo.write(".github/CONTRIBUTING.md", "# Hi\n\n## Style\n\nFour spaces, no tabs.\n")
    assert seeded(repo) == {"Style": "created"}


@pytest.mark.requirement("B2")
def test_health_sees_stale_seeds_and_files_never_valid_and_leaves_what_is_given_on_request(
    shop: Checkout,
) -> None:
    seeded(shop)
    shop.kl("seed", "--system")
    shop.write("README.md", README.replace("with care", "with joy"))
    shop.write(".kl/knowledge/guides/GUIDE-0099-x.md", "no front matter\n")
    found = json.loads(shop.kl("knowledge", "health", "--format", "json").stdout)["found"]
    sorts = {(one["id"], one["sort"]) for one in found}
    assert ("GUIDE-0001", "stale") in sorts
    assert (".kl/knowledge/guides/GUIDE-0099-x.md", "broken") in sorts


@pytest.mark.requirement("B2")
def test_what_an_agent_reads_itself_is_omitted_for_that_agent_only_and_counted(
    repo: Checkout,
) -> None:
    repo.write("CLAUDE.md", "# Rules\n\n## Testing zebras\n\nZebras are tested with stripes.\n")
    repo.commit()
    seeded(repo)

    def package(agent: str) -> dict[str, Any]:
        done = repo.kl(
            "context",
            "testing zebras with stripes",
            "--budget",
            "6000",
            "--format",
            "json",
            env={"KL_AGENT": agent},
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    assert "GUIDE-0001" in [one["id"] for one in package("codex")["items"]]
    made = package("claude-code")
    assert "GUIDE-0001" not in [one["id"] for one in made["items"]]
    assert made["omitted"]["claude-code reads CLAUDE.md itself"] == 1
