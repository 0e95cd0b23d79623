"""`kl seed` from outside: created once, skipped after, changed where its source changed, and what
people did stays.
"""

from __future__ import annotations

import json

import pytest

from tests.support import Checkout

README = "# Shop\n\nA shop for tests. It sells nothing.\n\n## Installation\n\npip install shop\n"


def seeds(repo: Checkout, *args: str) -> dict[str, str]:
    done = repo.kl("seed", "--format", "json", *args)
    assert done.returncode == 0, done.stderr
    return {one["key"]: one["what"] for one in json.loads(done.stdout)["seeds"]}


@pytest.mark.requirement("B4", "B5", "B6", "B7")
def test_seeding_again_changes_only_what_changed(repo: Checkout) -> None:
    repo.write("README.md", README)
    assert seeds(repo, "--dry-run") == {
        "repo__purpose": "created",
        "repo__readme-installation": "created",
    }
    assert not (repo.root / ".kl/knowledge").exists()
    assert set(seeds(repo).values()) == {"created"}
    path = repo.root / ".kl/knowledge/guides/GUIDE-0001-installation.md"
    first = path.read_text()
    assert set(seeds(repo).values()) == {"skipped"} and path.read_text() == first
    repo.write("README.md", README.replace("pip install shop", "pipx install shop"))
    assert seeds(repo) == {"repo__purpose": "skipped", "repo__readme-installation": "updated"}
    assert "pipx install shop" in path.read_text()
    date = next(line for line in first.splitlines() if line.startswith("date:"))
    assert date in path.read_text().splitlines()
    assert "installation" in repo.kl("guide", "search", "pipx").stdout.lower()
    repo.write("pyproject.toml", f'[project]\nname = "My_Project.{"x" * 60} 2"\n')
    project = "my-project" + "x" * 40
    assert {key.partition("__")[0] for key in seeds(repo, "--dry-run")} == {project} and len(
        project
    ) == 50


@pytest.mark.requirement("B6")
def test_what_people_did_stays_until_forced(repo: Checkout) -> None:
    repo.write("README.md", README)
    seeds(repo)
    (repo.root / ".kl/knowledge/facts/FACT-0001-what-this-project-is.md").unlink()
    guide = repo.root / ".kl/knowledge/guides/GUIDE-0001-installation.md"
    guide.write_text(guide.read_text().replace("pip install shop", "Ask Ada."))
    repo.write(
        "README.md",
        README.replace("pip install shop", "pipx install shop").replace("nothing", "little"),
    )
    assert set(seeds(repo).values()) == {"kept"}
    assert "Ask Ada." in guide.read_text()
    assert seeds(repo, "--force") == {
        "repo__purpose": "created",
        "repo__readme-installation": "updated",
    }
    assert "Ask Ada." not in guide.read_text()


@pytest.mark.requirement("B3", "B4")
def test_the_system_scope_brings_roles_gates_modes_and_rules_once(repo: Checkout) -> None:
    done = repo.kl("seed", "--system")
    assert done.returncode == 0 and "14 seeds: 14 created" in done.stdout
    assert "14 seeds: 14 skipped" in repo.kl("seed", "--system").stdout
    listed = json.loads(repo.kl("role", "list", "--format", "json").stdout)
    assert {one["title"] for one in listed["records"]} == {"The player builds", "The coach reviews"}


def test_a_document_of_50_megabytes_is_omitted_and_reported(repo: Checkout) -> None:
    repo.write("AGENTS.md", "## Testing\n\nRun the tests.\n")
    with (repo.root / "README.md").open("wb") as file:
        file.truncate(50_000_000)
    done = repo.kl("seed")
    assert (
        done.returncode == 0
        and "README.md: longer than" in done.stderr
        and "1 seed: 1 created" in done.stdout
    )


def test_a_project_that_states_nothing_has_nothing_to_seed(repo: Checkout) -> None:
    assert "no document here" in repo.kl("seed").stdout


def test_where_kl_is_not_set_up_nothing_is_written(tmp_path: object, home: object) -> None:
    from pathlib import Path

    from tests.support import checkout

    bare = checkout(Path(str(tmp_path)) / "bare", {"README.md": README}, kl=False)
    done = bare.kl("seed")
    assert done.returncode == 3 and "kl init" in done.stderr
    assert not (bare.root / ".kl").exists()


@pytest.mark.requirement("B8")
def test_what_keeps_the_records_of_seeding_is_never_shown_to_an_agent(repo: Checkout) -> None:
    repo.write("README.md", README)
    seeds(repo)
    package = repo.kl("context", "installation of the shop with pip").stdout
    assert "pip install shop" in package
    for book in ("source_hash", "source hash", "seeded", "entity", "repo__"):
        assert book not in package


GROUPS = {
    "product_knowledge": "product",
    "command_workflows": "workflow",
    "quality_gate_phases": "workflow",
    "technology_stack": "stack",
    "feature_build_architecture": "architecture",
    "component_status": "component",
    "integration_points": "integration",
    "templates": "template",
    "agents": "agent",
    "patterns": "pattern",
    "rules": "rule",
}


@pytest.mark.slow
@pytest.mark.requirement("B2")
def test_the_groups_of_older_layouts_are_topics_of_guides(repo: Checkout) -> None:
    for group in GROUPS:
        assert repo.kl("guide", "new", group, "--topic", group.upper()).returncode == 0
    found = {}
    for number in range(1, len(GROUPS) + 1):
        one = json.loads(repo.kl("guide", "show", f"GUIDE-{number:04}", "--format", "json").stdout)
        found[one["title"]] = one["fields"]["topic"]
    assert found == GROUPS
