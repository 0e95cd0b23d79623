"""MEMORY.md: what can't be written is reported, and is in nobody's way."""

from __future__ import annotations

import os

from tests.support import Checkout


def test_a_pipe_in_its_place_is_reported_and_the_memory_is_stored(repo: Checkout) -> None:
    folder = repo.root / ".kl" / "knowledge" / "memories"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "MEMORY.md")
    done = repo.kl("memory", "add", "Tests need UTF-8.")
    assert done.returncode == 0, done.stderr
    assert "MEMORY.md: can't be written" in done.stderr
    assert "Tests need UTF-8." in repo.kl("memory", "list").stdout
