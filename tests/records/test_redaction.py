"""Secrets that somebody wrote into a file by hand: the file keeps them, nothing that kl stores or
prints does.
"""

from __future__ import annotations

import json
import re

import pytest

from tests.support import Checkout, sql

SECRET = "ghp_" + "016C7MZq8Yw3dRkT5vXbN2uLpJhG9sAfEo41"
PLACE = ".kl/knowledge/objectives/OBJ-0001-x.md"
TEXT = f"""\
---
id: OBJ-0001
title: Ship {SECRET}
tags: [a, {SECRET}]
about: [src/{SECRET}.py]
source: "{SECRET}"
---

Before {SECRET} all, [[{SECRET}|so {SECRET}]].

## Description

It is {SECRET}.

## Remaining

- one
- two {SECRET}
"""


def stored(repo: Checkout) -> list[str]:
    """The files below the state in which the secret is."""
    files = [path for path in repo.state.rglob("*") if path.is_file()]
    assert any(path.suffix == ".db" for path in files)
    return [path.name for path in files if SECRET.lower().encode() in path.read_bytes().lower()]


def printed(repo: Checkout, *args: str, code: int = 0) -> str:
    done = repo.kl(*args)
    assert done.returncode == code, done.stderr
    assert SECRET.lower() not in (done.stdout + done.stderr).lower(), args
    return done.stdout + done.stderr


def test_nothing_that_is_stored_or_printed_holds_it(repo: Checkout) -> None:
    path = repo.write(PLACE, TEXT)
    for args in (
        ("objective", "list"),
        ("objective", "show", "OBJ-0001"),
        ("knowledge", "export", "OBJ-0001"),
        ("knowledge", "search", "ship"),
        ("objective", "show", "OBJ-0001", "--format", "json"),
        ("context", "ship it"),
        ("knowledge", "links", "OBJ-0001"),
        ("knowledge", "health"),
    ):
        assert "OBJ-0001" in printed(repo, *args) or args[1] in ("links", "health", "ship it")
    assert "[redacted:github]" in printed(repo, "objective", "show", "OBJ-0001")
    assert stored(repo) == [] and path.read_text() == TEXT


def test_a_file_that_can_t_be_read_any_more_has_none_either(repo: Checkout) -> None:
    path = repo.write(PLACE, TEXT)
    repo.commit()
    path.write_text(TEXT.replace("tags: [a,", f"tags: ['a {SECRET}',"))
    out = printed(repo, "objective", "list")
    assert "OBJ-0001" in out and "no short word" in out
    assert stored(repo) == []
    assert "no short word" in printed(repo, "knowledge", "check", code=1)


def test_a_page_of_the_documentation_gives_none_by_its_title_or_its_links(repo: Checkout) -> None:
    repo.write(
        "docs/a.md", f"# About {SECRET}\n\nSee [[{SECRET}]] and [[About {SECRET}|{SECRET}]].\n"
    )
    printed(repo, "knowledge", "list")
    assert stored(repo) == []


def test_a_section_of_a_page_gives_none_by_its_heading_its_anchor_or_its_text(
    repo: Checkout,
) -> None:
    text = (
        f"# A\n\n## Token {SECRET}\n\nThe token {SECRET} of old.\n\n### Below\n\nIt is a token.\n"
    )
    repo.write("docs/a.md", text)
    slug = SECRET.lower().replace("_", "")
    out = printed(repo, "knowledge", "search", "token", "--format", "json") + printed(
        repo, "context", "renew the token"
    )
    assert "#token" in out and "redacted" in out and slug not in out.lower()
    assert stored(repo) == []
    with repo.workspace().store.reading("graph") as db:
        assert db is not None
        remaining = [*db.rows("SELECT * FROM chunk"), *db.rows("SELECT * FROM documents")]
    assert len(remaining) > 4 and slug not in str(remaining).lower()


def test_a_line_that_links_here_or_speaks_of_it_is_shown_without(repo: Checkout) -> None:
    repo.write(PLACE, "---\nid: OBJ-0001\ntitle: The harbour\n---\n")
    repo.write("docs/a.md", f"# A\n\nSee [[OBJ-0001]] {SECRET}.\n")
    repo.write("docs/b.md", f"# B\n\nIn the harbour {SECRET}.\n")
    for verb in ("backlinks", "mentions"):
        assert "[redacted:github]" in printed(repo, "knowledge", verb, "OBJ-0001")


def test_what_was_stored_before_is_read_again(repo: Checkout) -> None:
    repo.write("docs/a.md", "# A\n")
    printed(repo, "knowledge", "list")
    sql(
        repo.workspace().state.graph,
        f"UPDATE page SET title = '{SECRET}'",
        "UPDATE authored_from SET value = 'old' WHERE name = 'kinds'",
    )
    printed(repo, "knowledge", "list")
    with repo.workspace().store.reading("graph") as db:
        assert db is not None and db.rows("SELECT title FROM page") == [("A",)]


def test_an_edit_writes_over_no_field_but_the_one_that_is_edited(repo: Checkout) -> None:
    path = repo.write(PLACE, TEXT)
    printed(repo, "objective", "edit", "OBJ-0001", "--authority", "human")
    printed(repo, "objective", "pause", "OBJ-0001")
    now = path.read_text()
    assert [line for line in TEXT.splitlines() if line not in now.splitlines()] == []
    printed(repo, "objective", "edit", "OBJ-0001", "--description", "It is so.")
    now = path.read_text()
    assert f"It is {SECRET}" not in now and f"Ship {SECRET}" in now and f"two {SECRET}" in now


def test_a_record_that_goes_back_into_the_state_takes_none_along(repo: Checkout) -> None:
    repo.kl("memory", "add", "Names with umlauts need UTF-8.")
    (path,) = (repo.root / ".kl/knowledge/memories").glob("MEM-*.md")
    path.write_text(path.read_text() + f"\n## Evidence\n\n{SECRET}\n")
    path.write_text(re.sub("\nsource: .*", f"\nsource: {SECRET}", path.read_text()))
    printed(repo, "memory", "demote", path.name[:12])
    assert not path.exists() and stored(repo) == []


def test_the_gate_names_file_and_line(repo: Checkout) -> None:
    repo.write(PLACE, TEXT)
    out = printed(repo, "knowledge", "check", code=1)
    for line in (3, 4, 5, 6, 9, 13, 18):
        assert f"{PLACE}:{line}:1: holds what looks like a secret (github)." in out, out
    found = json.loads(printed(repo, "knowledge", "check", "--format", "json", code=1))
    assert len([one for one in found["findings"] if "secret" in one["message"]]) == 7


@pytest.mark.parametrize(
    ("text", "code"), [("Zm9vYmFyQmF6UXV4MTIzNDU2Nzg5MEFiQ2RFZg", 0), ("9f86d081884c7d659a2fe", 0)]
)
def test_a_word_that_only_looks_random_blocks_nobody(repo: Checkout, text: str, code: int) -> None:
    repo.write(PLACE, f"---\nid: OBJ-0001\ntitle: X\n---\n\nA {text} b.\n")
    assert repo.kl("knowledge", "check").returncode == code


def test_a_key_over_several_lines_is_found_where_it_begins(repo: Checkout) -> None:
    key = "\n".join(
        ["-----BEGIN RSA PRIVATE KEY-----", "abcd" * 16, "-----END RSA PRIVATE KEY-----"]
    )
    repo.write(PLACE, f"---\nid: OBJ-0001\ntitle: X\n---\n\nSee:\n\n{key}\n")
    assert f"{PLACE}:8:1: holds what looks like a secret (private-key)." in printed(
        repo, "knowledge", "check", code=1
    )
