"""Which files are as they were committed."""

from __future__ import annotations

from kl_hooks.git.files import differing_from_head
from tests.support import Checkout


def test_only_what_is_as_committed_is_like_head(repo: Checkout) -> None:
    ws = repo.workspace()
    assert ws.repo is not None
    for name in ("same.md", "edited.md", "gone.md", "a b.md", "d/e.md"):
        repo.write(name, f"{name}\n")
    names = ["a b.md", "d/e.md", "edited.md", "gone.md", "never.md", "new.md", "same.md"]
    repo.write("new.md", "x")
    repo.git("add", "same.md", "edited.md", "gone.md", "a b.md", "d/e.md")
    repo.git("commit", "-qm", "x")
    repo.write("edited.md", "other")
    repo.git("add", "edited.md", "new.md")
    (repo.root / "gone.md").unlink()
    assert differing_from_head(ws.repo, names) == {"edited.md", "gone.md", "never.md", "new.md"}
    missing = [f"missing{number}.md" for number in range(600)]  # of so many the whole tree is read
    assert differing_from_head(ws.repo, [*names, *missing]) == {
        "edited.md",
        "gone.md",
        "never.md",
        "new.md",
        *missing,
    }


def test_before_the_first_commit_nothing_is(repo: Checkout) -> None:
    repo.git("checkout", "-q", "--orphan", "bare")
    ws = repo.workspace()
    assert ws.repo is not None
    assert differing_from_head(ws.repo, [".gitignore"]) == {".gitignore"}


def test_line_ends_that_a_checkout_converts_make_no_difference(repo: Checkout) -> None:
    repo.write(".gitattributes", "*.md text=auto\n")
    (repo.root / "skill.md").write_bytes(b"# Release\r\n\r\nOne step.\r\n")
    repo.git("-c", "core.safecrlf=false", "add", "-A")
    repo.git("commit", "-q", "-m", "skill")
    ws = repo.workspace()
    assert ws.repo is not None
    assert differing_from_head(ws.repo, ["skill.md"]) == frozenset()
    (repo.root / "skill.md").write_bytes(b"# Release\r\n\r\nTwo steps.\r\n")
    assert differing_from_head(ws.repo, ["skill.md"]) == {"skill.md"}
