"""`kl knowledge registry`: asked for at this moment; a snapshot is a page that people write."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.skills.making import text, write
from tests.support import Checkout

BOT = {"KL_AGENT": "bot", "KL_SESSION": "s-1"}


def ask(
    repo: Checkout, *names: str, env: dict[str, str] | None = None
) -> dict[str, list[dict[str, Any]]]:
    done = repo.kl("knowledge", "registry", *names, "--format", "json", env=env)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)["registries"]
    return found


@pytest.mark.requirement("D53")
def test_registries_are_asked_for_now_and_a_snapshot_has_what_everybody_may_read(
    repo: Checkout,
) -> None:
    write(
        repo,
        {
            "pdf": text("pdf", "Reads | writes PDF.", agents="bot"),
            "ocr": text("ocr", "Reads scans."),
        },
    )
    repo.write("docs/a.md", "# A\n\nText.\n")
    for command in (
        ("pool", "create", "team", "--public"),
        ("pool", "create", "own", "--type", "agent_private"),
        ("skill", "use", "pdf"),
        ("remember", "plan", "x", "--tier", "long"),
    ):
        assert repo.kl(*command, env=BOT).returncode == 0, command
    found = ask(repo)
    assert set(found) == {"skills", "agents", "pools", "contexts", "collections", "kinds"}
    assert [(one["name"], one["uses"]) for one in found["skills"]] == [("ocr", 0), ("pdf", 1)]
    assert [(one["name"], one["skills"], one["uses"]) for one in found["agents"]] == [
        ("bot", ["pdf"], 1)
    ]
    assert [one["name"] for one in found["pools"]] == ["team"] and found["contexts"] == []
    assert found["collections"][0]["documents"] == 1
    mine = ask(repo, "pools", "contexts", env=BOT)
    assert [one["name"] for one in mine["pools"]] == ["own", "team"] and mine["contexts"][0][
        "name"
    ] == "agent:bot"
    # nothing is stored: the next answer is without what was removed
    (repo.root / ".claude/skills/ocr/SKILL.md").unlink()
    assert [one["name"] for one in ask(repo, "skills")["skills"]] == ["pdf"]
    repo.kl("remember", "plan", "x", "--tier", "long")
    assert repo.kl("knowledge", "registry", "--snapshot", "docs/registries.md").returncode == 0
    page = (repo.root / "docs/registries.md").read_text()
    assert (
        "| pdf |" in page
        and "Reads \\| writes PDF." in page
        and "| team |" in page
        and "human" not in page
    )
    assert repo.kl("knowledge", "registry", "--snapshot", "docs/registries.md").returncode == 0
    again = (repo.root / "docs/registries.md").read_text()
    assert again.partition("## Collections")[0] == page.partition("## Collections")[0]
    refused = (
        ("docs/a.md", {}),
        ("../x.md", {}),
        (".claude/skills/pdf/SKILL.md", {}),
        ("docs/b.md", BOT),
    )
    for place, env in refused:
        done = repo.kl("knowledge", "registry", "pools", "--snapshot", place, env=env)
        assert done.returncode == 2, (place, done.stdout)
    assert repo.kl("knowledge", "registry", "nope").returncode == 2


def test_what_is_denied_to_an_agent_is_in_no_number_of_the_kinds(repo: Checkout) -> None:
    repo.write(
        ".kl/policy.yaml",
        "rules:\n  - name: pay\n    deny: {tags: [pay]}\n",
    )
    for title, tags in (("Use tables", "data"), ("Bob earns much", "pay")):
        fields = ("--context", "x", "--decision", "y", "--tag", tags)
        made = repo.kl("decision", "new", title, *fields)
        assert made.returncode == 0, made.stderr

    def decisions(env: dict[str, str] | None) -> int:
        rows = ask(repo, "kinds", env=env)["kinds"]
        return sum(next(row["records"] for row in rows if row["name"] == "decision").values())

    assert (decisions(None), decisions(BOT)) == (2, 1)


@pytest.mark.parametrize("effect", ["deny", "redact"])
@pytest.mark.parametrize("reader", ["agent", "agent:other"])
def test_a_snapshot_has_nothing_that_is_hidden_from_one_of_its_readers(
    repo: Checkout, effect: str, reader: str
) -> None:
    assert repo.kl("init", "--yes").returncode == 0
    write(
        repo,
        {
            "pdf": text("pdf", "Reads PDF.", agents="bot"),
            "ocr": text("ocr", "Reads scans.", agents="scanner"),
        },
    )
    rule = f"{effect}: {{paths: ['.claude/skills/ocr/**'], actors: ['{reader}']}}"
    repo.write(".kl/policy.yaml", f"version: 1\nrules:\n  - name: scans\n    {rule}\n")
    done = repo.kl("knowledge", "registry", "skills", "agents", "--snapshot", "docs/registries.md")
    assert done.returncode == 0, done.stderr
    assert "ocr" in done.stdout and "scanner" in done.stdout
    page = (repo.root / "docs/registries.md").read_text()
    assert "| pdf |" in page and "| bot |" in page
    assert "ocr" not in page and "scan" not in page
