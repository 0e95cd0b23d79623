"""`kl knowledge clear` and `show` from outside: only what seeding made goes, and it can come again."""

from __future__ import annotations

import json

import pytest

from tests.support import Checkout

README = "# Shop\n\nA shop for tests. It sells nothing.\n\n## Installation\n\npip install shop\n"


@pytest.fixture
def seeded(repo: Checkout) -> Checkout:
    repo.write("README.md", README)
    repo.kl("seed")
    repo.kl("seed", "--system")
    repo.kl("guide", "new", "Mine")
    return repo


@pytest.mark.slow
@pytest.mark.requirement("B55")
def test_only_what_seeding_made_goes_and_it_can_be_sown_again(seeded: Checkout) -> None:
    guide = seeded.root / ".kl/knowledge/guides/GUIDE-0001-installation.md"
    guide.write_text(guide.read_text().replace("pip install shop", "Ask Ada."))
    dry = json.loads(seeded.kl("knowledge", "clear", "--dry-run", "--format", "json").stdout)
    assert (len(dry["removed"]), dry["edited"]) == (15, ["GUIDE-0001"])
    assert json.loads(seeded.kl("knowledge", "clear", "--project-only", "--yes", "--format", "json").stdout) == {
        "schema": "kl.knowledge.clear/2", "dry_run": False, "removed": ["FACT-0001"], "edited": ["GUIDE-0001"],
    }  # fmt: skip
    assert "1 created, 1 skipped" in seeded.kl("seed").stdout
    seeded.kl("knowledge", "clear", "--force", "--yes")
    left = json.loads(seeded.kl("knowledge", "list", "--format", "json").stdout)["records"]
    assert [one["title"] for one in left] == ["Mine"]
    assert "14 created" in seeded.kl("seed", "--system").stdout
    assert "ROLE-0003" in seeded.kl("role", "list").stdout  # an id is never used again


@pytest.mark.slow
def test_without_consent_nothing_goes(seeded: Checkout) -> None:
    assert seeded.kl("knowledge", "clear").returncode != 0
    assert len(json.loads(seeded.kl("knowledge", "clear", "--dry-run", "--format", "json").stdout)["removed"]) == 16


@pytest.mark.slow
@pytest.mark.requirement("B55")
def test_any_record_is_shown_by_its_id(seeded: Checkout) -> None:
    assert "The coach reviews" in seeded.kl("knowledge", "show", "role-0001").stdout
    assert json.loads(seeded.kl("knowledge", "show", "FACT-0001", "--format", "json").stdout)["kind"] == "fact"
    assert seeded.kl("knowledge", "show", "FACT-0099").returncode == 2
