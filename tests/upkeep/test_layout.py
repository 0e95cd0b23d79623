"""Where everything rests: knowledge in files of the repository, state beside git, archives beside
what they archive.
"""

from __future__ import annotations

import pytest

from kl_hooks.clock import DAY
from kl_hooks.evidence.assertions import add_claim
from kl_hooks.records.write import apply_verb, create_record, supersede
from kl_hooks.upkeep.run import apply_policies
from tests.support import NOW, Checkout


@pytest.mark.requirement("A70")
def test_everything_has_its_place(repo: Checkout) -> None:
    repo.write("src/shop/__init__.py", "")
    repo.write("src/shop/a.py", "A = 1\n")
    repo.commit()
    assert repo.kl("init", "--yes").returncode == 0
    ws = repo.workspace()
    printed = {"context": "c", "decision": "d", "status": "accepted"}
    for title in ("Old way", "New way"):
        create_record(ws, ws.kinds["decision"], {"title": title, **printed})
    supersede(ws, "ADR-0001", "ADR-0002")
    create_record(ws, ws.kinds["objective"], {"title": "Ship it"})
    memory = create_record(ws, ws.kinds["memory"], {"title": "m", "pattern": "Test passes: a"})
    apply_verb(ws, memory.id, "approve")
    create_record(
        ws, ws.kinds["finding"], {"title": "f", "entity": "src/shop/a.py", "finding": "is small"}
    )
    add_claim(ws, "is quick", "file:src/shop/a.py", NOW + DAY)
    assert repo.kl("graph", "build").returncode == 0
    later = repo.workspace(now=NOW + 2 * DAY)
    apply_policies(later)
    files = {
        str(path.relative_to(repo.root / ".kl"))
        for path in (repo.root / ".kl").rglob("*")
        if path.is_file()
    }
    assert files >= {
        "config.yaml",
        "knowledge/lifecycle.yaml",
        "knowledge/decisions/archive/ADR-0001-old-way.md",
        "knowledge/decisions/ADR-0002-new-way.md",
        "knowledge/objectives/OBJ-0001-ship-it.md",
    }
    assert any(path.startswith(f"knowledge/memories/{memory.id}") for path in files)
    assert {path.name for path in repo.state.iterdir()} >= {
        "graph",
        "spool",
        later.state.high_water.name,
    }
    assert later.store.address or (repo.state / "kl.db").is_file()
    with later.store.reading() as db:
        assert db is not None
        assert db.rows("SELECT kind, rests FROM record ORDER BY kind") == [
            ("finding", "state"),
            ("memory", "file"),
        ]
        assert db.rows("SELECT text FROM claim_archive") == [("is quick",)]
