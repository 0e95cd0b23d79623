"""Pages and their links from outside: `kl knowledge links, backlinks, mentions, related, check`."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from kl_hooks.git import renames
from kl_hooks.git.repository import Repository
from kl_hooks.graph import links
from kl_hooks.records.sync import sync
from tests.support import Checkout

NEW = ("--context", "c", "--decision", "d")


def asked(repo: Checkout, verb: str, *args: str) -> list[dict[str, Any]]:
    done = repo.kl("knowledge", verb, *args, "--format", "json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)[verb]
    return found


def edges(repo: Checkout) -> list[tuple[str, str, str]]:
    sync(repo.workspace())
    with repo.workspace().store.reading("graph") as db:
        assert db is not None
        return [
            (one.source, one.target, one.path)
            for one in links.every(db)
            if one.relation == "references"
        ]


@pytest.fixture
def pages(repo: Checkout) -> Checkout:
    """Two decisions and two pages of docs."""
    repo.kl("decision", "new", "Use SQLite", *NEW, "--rationale", "see [[Storage]]")
    repo.kl("decision", "new", "Use files", *NEW)
    repo.write(
        "docs/storage.md",
        "# Storage\n\nWe [[use sqlite|store]] rows, not [[ADR-0002]].\n\n```\n[[Nowhere]]\n```\n",
    )
    repo.write(
        "docs/deep/other.md",
        "---\ntitle: Other page\n---\n\nHere we use\nSQLite, as storage of rows.\n",
    )
    return repo


@pytest.mark.requirement("D40", "D41", "D43", "D45")
def test_links_are_edges_and_go_with_the_last_link(pages: Checkout) -> None:
    record = ".kl/knowledge/decisions/ADR-0001-use-sqlite.md"
    assert edges(pages) == [
        ("adr:ADR-0001", "file:docs/storage.md", record),
        ("file:docs/storage.md", "adr:ADR-0001", "docs/storage.md"),
        ("file:docs/storage.md", "adr:ADR-0002", "docs/storage.md"),
    ]
    pages.kl("decision", "edit", "ADR-0001", "--related-adrs", "ADR-0002", "--clear", "rationale")
    assert [one[0] for one in edges(pages)] == ["file:docs/storage.md"] * 2
    with pages.workspace().store.reading("graph") as db:
        assert db is not None and [one.relation for one in links.outgoing(db, "adr:ADR-0001")] == [
            "related"
        ]
    pages.write("docs/storage.md", "# Storage\n")
    assert edges(pages) == []
    pages.write("docs/storage.md", "# Storage\n\n[[Other page]]\n")
    assert edges(pages) == [("file:docs/storage.md", "file:docs/deep/other.md", "docs/storage.md")]
    (pages.root / "docs/deep/other.md").unlink()
    assert edges(pages) == []


@pytest.mark.requirement("D41")
def test_a_new_title_is_what_an_old_link_meant(pages: Checkout) -> None:
    pages.write("docs/early.md", "# Early\n\n[[Written later]]\n")
    assert len(edges(pages)) == 3
    pages.kl("decision", "new", "Written later", *NEW)
    assert ("file:docs/early.md", "adr:ADR-0003", "docs/early.md") in edges(pages)


@pytest.mark.requirement("D42", "D44")
def test_backlinks_and_links(pages: Checkout) -> None:
    (found,) = asked(pages, "backlinks", "ADR-0001")
    assert (found["path"], found["line"], found["title"]) == ("docs/storage.md", 3, "Storage")
    assert [one["node"] for one in asked(pages, "links", "docs/storage.md")] == [
        "adr:ADR-0001",
        "adr:ADR-0002",
    ]
    pages.write("docs/storage.md", "# Storage\n\n[[Nowhere]]\n")
    assert "leads nowhere" in pages.kl("knowledge", "links", "storage").stdout
    done = pages.kl("knowledge", "links", "ADR-0009")
    assert done.returncode == 2 and "ADR-000" in done.stderr


@pytest.mark.requirement("D42", "D44")
def test_who_speaks_of_it_without_a_link(pages: Checkout) -> None:
    (found,) = asked(pages, "mentions", "ADR-0001")
    # over the end of a line; not those that link
    assert (found["path"], found["line"]) == ("docs/deep/other.md", 5)
    for number in range(3):
        path = pages.write(
            f"docs/m{number}.md",
            "ADR-0002 is near, `ADR-0001` is code, reuse SQLite is another word\n",
        )
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    assert [one["path"] for one in asked(pages, "mentions", "ADR-0002", "--limit", "2")] == [
        "docs/m2.md",
        "docs/m1.md",
    ]
    assert len(asked(pages, "mentions", "ADR-0001")) == 1


@pytest.mark.requirement("D42", "D44")
def test_pages_that_are_alike(repo: Checkout) -> None:
    words = "The scheduler wakes workers through a queue, and every worker acknowledges its job. "
    repo.write("docs/a.md", f"# Scheduler\n\n{words * 3}")
    repo.write("docs/b.md", f"# Workers\n\n{words}")
    repo.write("docs/c.md", "# Cooking\n\nBoil the potatoes in salted water.\n")
    found = asked(repo, "related", "docs/a.md")
    assert [one["path"] for one in found][:1] == ["docs/b.md"] and 0 < found[0]["percent"] <= 100
    assert (
        "docs/a.md" not in [one["path"] for one in found]
        and len(asked(repo, "related", "a", "--limit", "1")) == 1
    )


def test_another_docs_folder(repo: Checkout) -> None:
    repo.write("handbook/x.md", "# X\n\n[[Nowhere]]\n")
    assert repo.kl("knowledge", "check").returncode == 0
    repo.write(".kl/config.yaml", "version: 1\ndocs: handbook/\n")
    assert "handbook/x.md:3:1" in repo.kl("knowledge", "check").stdout
    for wrong in ("../x", "/etc", ".git", "a/../../b"):
        repo.write(".kl/config.yaml", f"version: 1\ndocs: {wrong}\n")
        assert repo.kl("knowledge", "check").returncode == 2, wrong


def test_check_states_everything_at_once(pages: Checkout) -> None:
    home = ".kl/knowledge/decisions"
    assert pages.kl("knowledge", "check").returncode == 0
    text = (pages.root / home / "ADR-0002-use-files.md").read_text()
    pages.write(f"{home}/ADR-0002-again.md", text.replace("Use files", "Again"))
    pages.write(
        f"{home}/ADR-0003-x.md",
        text.replace("ADR-0002", "ADR-0003").replace("status: proposed", "status: what"),
    )
    half = text.replace("ADR-0002", "ADR-0004").replace(
        "status: proposed", "status: accepted\nsuperseded_by: [ADR-0001]"
    )
    pages.write(
        f"{home}/ADR-0004-x.md", half.replace("authority:", "related_adrs: [ADR-0099]\nauthority:")
    )
    pages.write("docs/new.md", "# Storage\n\n[[Use fiels]] [[storage]]\n")
    done = pages.kl("knowledge", "check", "--format", "json")
    assert done.returncode == 1
    found = [
        (one["path"].rpartition("/")[2], one["line"], one["message"])
        for one in json.loads(done.stdout)["findings"]
    ]
    printed = "\n".join(f"{path}:{line}: {message}" for path, line, message in found)
    for part in (
        "ADR-0002-use-files.md:1: ADR-0002 is the id of",
        'ADR-0003-x.md:4: "status"',
        "there is no ADR-0099",
        "ADR-0004-x.md:5: superseded_by ADR-0001, but",
        "is accepted, and superseded by ADR-0001",
        "new.md:3: [[Use fiels]] leads nowhere",
        "new.md:3: [[storage]] may mean any of",
        "ADR-0001-use-sqlite.md:19: [[Storage]] may mean",
    ):
        assert part in printed, (part, printed)
    only = pages.kl("knowledge", "check", "docs/new.md")
    assert only.returncode == 1 and "ADR-0003" not in only.stdout and "Did you mean" in only.stdout


GOVERNING = """---
id: ADR-0007
title: Carts are lists
status: {status}
date: 2026-11-28
governs: [src/cart.py, src/old/, src/planned.py, function:cart.total, ADR-0001]
---

## Context

Simple.

## Decision

A list.
"""


@pytest.mark.parametrize("is_staged", [False, True])
def test_check_finds_governed_paths_that_were_removed(pages: Checkout, is_staged: bool) -> None:
    words = ("knowledge", "check", *(["--staged"] if is_staged else []), "--format", "json")

    def governed() -> dict[str, list[str]]:
        pages.git("add", "-A")
        answer = json.loads(pages.kl(*words).stdout)
        return {
            part: [
                f"{problem['line']}: {problem['message']}"
                for problem in answer[part]
                if problem["message"].startswith("governs")
            ]
            for part in ("findings", "remarks")
        }

    path = ".kl/knowledge/decisions/ADR-0007-carts.md"
    pages.write(path, GOVERNING.format(status="accepted"))
    pages.write("src/cart.py", "")
    pages.write("src/old/a.py", "")
    pages.commit()
    planned = ["6: governs: there is no src/planned.py yet."]
    # what is staged is read from git's index, and the graph is of the working tree
    symbols = [] if is_staged else ["6: governs: there is no cart.total yet."]
    assert governed() == {"findings": [], "remarks": symbols + planned}
    pages.git("rm", "-q", "-r", "src")
    for _ in ("not committed", "committed"):
        assert [line.partition(" any more; commit ")[0] for line in governed()["findings"]] == [
            "6: governs: there is no src/cart.py",
            "6: governs: there is no src/old",
        ]
        pages.commit()
    pages.write(path, GOVERNING.format(status="deprecated"))
    assert governed() == {"findings": [], "remarks": []}


def test_removed_paths_are_found_by_one_walk_of_the_history(
    pages: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"src/part {number}/ä.py" for number in range(30)]
    for number, name in enumerate(names):
        text = GOVERNING.format(status="accepted").replace("ADR-0007", f"ADR-{number + 10:04}")
        text = text.replace("src/cart.py", name).replace("src/old", f"src/part {number}")
        pages.write(f".kl/knowledge/decisions/ADR-{number + 10:04}-carts.md", text)
        pages.write(name, "")
    added = pages.commit()
    pages.git("checkout", "-q", "-b", "other")
    pages.write("docs/other.md", "# Other\n")
    pages.git("rm", "-q", names[0])
    removed = pages.commit()
    pages.git("checkout", "-q", "-")
    pages.git("rm", "-q", "-r", *names[1:])
    removed_too = pages.commit()
    pages.git("merge", "-q", "--no-edit", "other")
    started: list[tuple[str, ...]] = []
    original = renames.git_in

    def counting(repo: Repository, *words: str, **options: bool) -> bytes:
        started.append(words)
        return original(repo, *words, **options)

    monkeypatch.setattr(renames, "git_in", counting)
    findings = json.loads(pages.kl("knowledge", "check", "--format", "json").stdout)["findings"]
    removals = [one["message"] for one in findings if "any more" in one["message"]]
    assert added not in repr(removals)
    assert [repr(removals).count(commit[:8]) for commit in (removed, removed_too)] == [2, 58]
    assert len(started) == 2


@pytest.mark.fault(
    "working tree state",
    promised="what a sparse checkout omits is there",
    injected="a sparse checkout",
)
def test_a_governed_path_outside_a_sparse_checkout_is_there(pages: Checkout) -> None:
    pages.write(".kl/knowledge/decisions/ADR-0007-carts.md", GOVERNING.format(status="accepted"))
    pages.write("src/cart.py", "")
    pages.write("src/old/a.py", "")
    pages.commit()
    pages.git("sparse-checkout", "set", ".kl", "docs")
    assert not (pages.root / "src/cart.py").exists()
    remarks = json.loads(pages.kl("knowledge", "check", "--format", "json").stdout)
    assert "src/cart.py" not in json.dumps(remarks) and "src/old" not in json.dumps(remarks)
    assert "there is no src/planned.py yet" in json.dumps(remarks)


def test_check_can_t_read(pages: Checkout) -> None:
    (pages.root / "docs/latin.md").write_bytes(b"caf\xe9\n")
    done = pages.kl("knowledge", "check")
    assert done.returncode == 2 and "docs/latin.md:1:1: this line is not UTF-8" in done.stdout
    (pages.root / "docs/latin.rst").write_bytes(b"caf\xe9\n")
    assert "latin.rst" not in done.stdout + pages.kl("knowledge", "check").stdout, (
        "has no links of ours"
    )
    (pages.root / "docs/latin.md").write_bytes(b"x" * 50_000_000)
    done = pages.kl("knowledge", "check")
    assert done.returncode == 2 and "docs/latin.md: is too long" in done.stdout


def test_what_is_staged_is_judged(pages: Checkout) -> None:
    pages.write("docs/x.md", "# X\n\n[[Storage]]\n")
    pages.git("add", "-A")
    pages.write("docs/x.md", "# X\n\n[[Nowhere]]\n")
    assert pages.kl("knowledge", "check").returncode == 1
    assert pages.kl("knowledge", "check", "--staged").returncode == 0
    pages.git("add", "-A")
    pages.write("docs/x.md", "# X\n")
    assert pages.kl("knowledge", "check", "--staged").returncode == 1
    pages.git("rm", "-q", "--cached", "docs/storage.md")
    pages.git("add", "docs/x.md")
    assert "[[Storage]] leads nowhere" in pages.kl("knowledge", "check", "--staged").stdout


GUIDE = (
    "# Guide\n\nWhat it is.\n\n## Loading carts\n\nEvery cart is loaded lazily.\n\n### Of"
    " guests\n\nGuests have wrappers.\n\n```\n## no heading\n```\n\n## Loading carts\n\nAgain.\n"
)
MANUAL = (
    "=========\n Manual\n=========\n\nIntro.\n\nTuning indexes\n==============\n\nAsk for fewer"
    " columns.\n"
)


@pytest.mark.requirement("D43", "D45")
def test_a_page_is_found_by_its_sections_with_heading_and_line(repo: Checkout) -> None:
    repo.write("docs/guide.md", GUIDE)
    repo.write("docs/manual.rst", MANUAL)
    repo.kl("decision", "new", "Carts are loaded lazily", *NEW)
    assert repo.kl("decision", "accept", "ADR-0001").returncode == 0

    def found(*words: str) -> dict[str, Any]:
        return dict(json.loads(repo.kl("knowledge", "search", *words, "--format", "json").stdout))

    (hit,) = found("wrapper")["pages"]
    assert (hit["id"], hit["line"], hit["end_line"]) == ("file:docs/guide.md#of-guests", 9, 16)
    assert (hit["title"], hit["heading"]) == (
        "Guide › Loading carts › Of guests",
        ["Loading carts", "Of guests"],
    )
    assert hit["excerpt"].startswith("Guests have wrappers.") and hit["slug"] == "of-guests"
    both = found("carts", "loaded")
    assert (
        both["order"][0] in ("ADR-0001", "file:docs/guide.md#loading-carts")
        and len(both["records"]) == 1
    )
    assert {one["id"].partition("#")[2] for one in both["pages"]} >= {
        "loading-carts",
        "loading-carts-1",
    }
    (hit,) = found("column")["pages"]
    assert (hit["id"], hit["line"]) == ("file:docs/manual.rst#tuning-indexes", 7)
    assert hit["title"] == "Manual › Tuning indexes"
    only = repo.kl("knowledge", "search", "carts", "loaded", "--kind", "page").stdout
    assert "ADR-0001" not in only and "page  docs/guide.md:5  Guide › Loading carts" in only
    repo.write("docs/guide.md", "# Guide\n\nNothing more.\n")
    assert found("wrapper")["pages"] == []


def test_context_quotes_the_section_that_fits(repo: Checkout) -> None:
    repo.write("docs/guide.md", GUIDE.replace("Guests have", "Some words first.\n\nGuests have"))
    text = repo.kl("context", "explain wrappers of guests", "--budget", "6000").stdout
    assert "## page" in text and "file:docs/guide.md#of-guests  docs/guide.md:9" in text
    assert "Guests have wrappers." in text and "Some words first" not in text
    repo.write("src/guests.py", "def wrapper() -> None:\n    return None\n")
    repo.write(
        "docs/guide.md", GUIDE.replace("Guests have", "Some words first.\n" * 20 + "\nGuests have")
    )
    text = repo.kl("context", "explain wrappers of guests", "--budget", "6000").stdout
    assert (
        "## page\n- [not committed] docs/guide.md:9  | Of guests: Guests have wrappers.\n" in text
        and "| def wrapper" in text
    )
    for number in range(20):
        repo.write(
            f"docs/more{number}.md", f"# More {number}\n\nA wrapper of guests, number {number}.\n"
        )
    package = json.loads(
        repo.kl(
            "context", "explain wrappers of guests", "--budget", "6000", "--format", "json"
        ).stdout
    )
    why = repo.kl("context", "why", package["package_id"], "--format", "json").stdout
    candidates = (*package["items"], *json.loads(why)["omitted"])
    assert len([candidate for candidate in candidates if "docs/" in candidate["id"]]) == 5


@pytest.mark.requirement("D40", "D41", "D44")
def test_markdown_links_to_files_are_links_too(pages: Checkout) -> None:
    pages.write("src/shop/cart.py", "class Cart: pass\n")
    pages.write(
        "docs/deep/hub.md",
        "# Hub\n\n[a](../storage.md#x) [b](../../src/shop/cart.py) `[c](../storage.md)`\n"
        "[d](https://x.y/storage.md) [e](../gone.md) ![f](../storage.md)\n",
    )
    assert [one["path"] for one in asked(pages, "backlinks", "docs/storage.md")][
        -1
    ] == "docs/deep/hub.md"
    leads = [
        (one["target"], one["node"], one["how"])
        for one in asked(pages, "links", "docs/deep/hub.md")
    ]
    assert leads == [
        ("docs/storage.md", "file:docs/storage.md", "markdown link"),
        ("src/shop/cart.py", "file:src/shop/cart.py", "markdown link"),
        ("docs/gone.md", "", "markdown link"),
    ]
    assert pages.kl("knowledge", "check").returncode == 0


@pytest.mark.requirement("D44")
def test_places_have_a_limit_that_counts_and_a_threshold(pages: Checkout) -> None:
    for number in range(4):
        pages.write(f"docs/n{number}.md", f"# Number {number}\n\nSee [[Storage]], rows {number}.\n")
    done = pages.kl("knowledge", "backlinks", "docs/storage.md", "--limit", "2", "--format", "json")
    answer = json.loads(done.stdout)
    assert (len(answer["backlinks"]), answer["total"]) == (2, 5)
    assert answer["page"]["slug"] == "storage" and answer["backlinks"][1]["slug"] == "number-0"
    assert (
        "the first 2 of 5"
        in pages.kl("knowledge", "backlinks", "docs/storage.md", "--limit", "2").stderr
    )
    words = "The scheduler wakes workers through a queue, and every worker acknowledges its job. "
    pages.write("docs/a.md", f"# Scheduler\n\n{words * 3}")
    pages.write("docs/b.md", f"# Workers\n\n{words}")
    pages.write(
        "docs/c.md", "# Cooking\n\nBoil potatoes in salted water, says the cook of the queue.\n"
    )
    near = asked(pages, "related", "docs/a.md", "--least", "1")
    assert [one["path"] for one in near] == ["docs/b.md", "docs/c.md"]
    assert near[0]["similarity"] == near[0]["percent"] / 100
    assert asked(pages, "related", "docs/a.md", "--least", str(near[0]["percent"])) == near[:1]
