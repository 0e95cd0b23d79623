"""Every row of SECURITY.md's table, played in a real repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proof.test_shapes import SHAPES
from tests.proof.tricks import DROPPED, PACKAGE, TRICKS, Trick
from tests.support import checkout


@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.name)
def test_what_the_table_states_is_what_kl_states(trick: Trick, tmp_path: Path, home: Path) -> None:
    repo = checkout(
        tmp_path / "repo", {"pkg.py": PACKAGE, "test_pkg.py": trick.tests, **trick.files}
    )
    trick.act(repo)
    done = repo.kl("verify", *trick.ask)
    text = done.stdout + done.stderr
    assert done.returncode == (1 if trick.detected else 0), text
    assert trick.shows in text


def test_every_way_to_drop_tests_has_a_row() -> None:
    assert DROPPED.keys() == SHAPES.keys()
