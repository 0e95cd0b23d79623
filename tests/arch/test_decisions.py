"""Titles of decisions: from front matter or heading, and from the content that is looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from kl_hooks.arch.decisions import DECISIONS, id_of, title_of, titles
from kl_hooks.arch.run import check
from kl_hooks.arch.source import STAGED, WORKTREE, content
from tests.arch.shop import DRIFT, ORDER, opened, shop
from tests.git.repos import commit, sh, write

RECORD = DECISIONS + "ADR-0004-domain-stays-pure.md"


def record(title: str) -> str:
    return f"---\nid: ADR-0004\ntitle: {title}\nstatus: accepted\n---\n\n## Context\n"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (record("Domain stays pure"), "Domain stays pure"), (record('"a: \\"b\\""'), 'a: "b"'),
        (record("'it''s'"), "it's"),
        ("# Domain stays pure #\n\ntitle: no\n", "Domain stays pure"), ("---\nid: x\n---\n\n# Heading\n", "Heading"),
        ("---\ntitle: x\n", ""), ("", ""), ("---\n", ""), ("text\n## Context\n", ""),
        ("---\r\ntitle: Windows\r\n---\r\n", "Windows"), (record("a\x1b[2Jb"), "a\\x1b[2Jb"),
    ],
    ids=range(11),
)  # fmt: skip
def test_a_title_is_in_the_front_matter_or_the_first_heading(text: str, title: str) -> None:
    assert title_of(text) == title


def test_which_file_is_which_record() -> None:
    assert id_of(RECORD) == "ADR-0004" == id_of("ADR-0004.md")
    assert [id_of(name) for name in ("ADR-00041x.md", "README.md", "ADR-4-x.md", "ADR-0004-x.txt")] == [""] * 4


def test_the_title_is_that_of_the_same_content(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", {RECORD: record("First"), ORDER: DRIFT})
    write(folder, {RECORD: record("Second")})
    sh(folder, "add", "-A")
    write(folder, {RECORD: record("Third")})
    found = {source: titles(content(opened(folder), source), {"ADR-0004"}) for source in ("HEAD", STAGED, WORKTREE)}
    assert found == {"HEAD": {"ADR-0004": "First"}, STAGED: {"ADR-0004": "Second"}, WORKTREE: {"ADR-0004": "Third"}}
    verdict, _ = check(opened(folder), STAGED)
    assert verdict is not None and verdict.titles == {"ADR-0004": "Second"}


def test_what_is_not_there_has_no_title(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", {DECISIONS + "ADR-0005-empty.md": ""})
    commit(folder, "x")
    (folder / DECISIONS / "ADR-0006-out.md").symlink_to("/etc/hostname")
    for source in ("HEAD", STAGED, WORKTREE):
        assert titles(content(opened(folder), source), {"ADR-0004", "ADR-0005", "../x", ""}) == {}
    assert titles(content(opened(folder), WORKTREE), {"ADR-0006"}) == {}, "a record outside is none"
