"""`kl knowledge import` and `export`, as people type them."""

from __future__ import annotations

import json

import pytest

from tests.support import Checkout

SEED = "Id: OBJ-0007\nTitle: Ship it\nStatus: Paused\nCompletedTasks: [A]\nRemainingTasks: [B]\nOwner: ada\n"


@pytest.mark.requirement("A53")
def test_objectives_of_another_tool_come_in_and_go_out(repo: Checkout) -> None:
    path = repo.write("old/OBJ-0007.yaml", SEED)
    done = repo.kl("knowledge", "import", "--kind", "objective", str(path))
    assert done.stdout.startswith("OBJ-0007  paused  Ship it\n"), done.stderr
    assert "Owner: ada" in repo.kl("objective", "show", "OBJ-0007", "--format", "json").stdout
    again = repo.kl("knowledge", "import", "--kind", "objective", str(path))
    assert (again.returncode, again.stdout) == (0, "") and "there already" in again.stderr
    out = repo.kl("knowledge", "export", "--kind", "objective", "-o", "all.json")
    assert out.returncode == 0
    (found,) = [json.loads((repo.root / "all.json").read_text())]
    assert (found["id"], found["completed"], found["remaining"]) == ("OBJ-0007", ["A"], ["B"])
    assert "id: OBJ-0007\n" in repo.kl("knowledge", "export", "OBJ-0007", "--format", "yaml").stdout


def test_if_anything_is_wrong_nothing_is_taken_in(repo: Checkout) -> None:
    good = repo.write("a.json", json.dumps([{"title": "One"}, {"title": "Two"}]))
    bad = repo.write("b.yaml", "title: Three\nstatus: nearly\n")
    done = repo.kl("knowledge", "import", "--kind", "objective", str(good), str(bad))
    assert done.returncode == 2 and "b.yaml" in done.stderr and "nearly" not in done.stdout
    assert repo.kl("objective", "list", "--format", "json").stdout.count("OBJ-") == 0
    for args, said in (
        (("--kind", "objectiv", str(good)), "objective"), (("--kind", "memory", str(good)), "kl memory import"),
        (("--kind", "objective", "nothing.json"), "is not there"),
    ):  # fmt: skip
        done = repo.kl("knowledge", "import", *args)
        assert done.returncode == 2 and said in done.stderr, args
