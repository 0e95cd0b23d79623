"""Upkeep that is killed, wherever that is: the next run ends where an undisturbed one would."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kl_hooks.clock import DAY
from kl_hooks.records.events import list_events
from kl_hooks.records.write import create_record, supersede
from kl_hooks.tiers.entries import Caller
from kl_hooks.tiers.pools import PoolOptions, create_pool
from kl_hooks.tiers.router import Memory
from kl_hooks.upkeep.run import apply_policies, preview
from tests.shares import by_steps
from tests.support import NOW, Checkout

from .making import untidy

CALL = (
    "import os, signal, sys\n"
    "from pathlib import Path\n"
    "from kl_hooks.clock import FixedClock\n"
    "from kl_hooks.upkeep import run as module\n"
    "from kl_hooks.workspace import open_workspace\n"
    "steps = 0\n"
    "def step(frame, event, arg):\n"
    "    global steps\n"
    "    steps += 1\n"
    "    if steps == int(sys.argv[2]): os.kill(os.getpid(), signal.SIGKILL)\n"
    "    return step\n"
    "ws = open_workspace(Path(sys.argv[1]), clock=FixedClock(int(sys.argv[3])))\n"
    "looked = module.preview(ws)\n"
    "sys.settrace(step)\n"
    "for one in looked.results: module._apply_one(ws, one, ws.clock.now())\n"
    "sys.settrace(None)\n"
    "print(steps)\n"
)


def facts(repo: Checkout) -> dict[str, object]:
    ws = repo.workspace()
    with ws.store.reading() as db:
        assert db is not None
        claims = db.rows("SELECT id FROM claim ORDER BY id")
        archive = db.rows("SELECT id, made_at FROM claim_archive ORDER BY id")
        folded = db.rows("SELECT id FROM receipt WHERE folded IS NOT NULL ORDER BY id")
        tiers = [
            db.rows("SELECT key FROM short_entry"),
            db.rows("SELECT key, value, status FROM context_entry ORDER BY key"),
            db.rows("SELECT name, status FROM pool ORDER BY name"),
            # an access that an upkeep counts may be counted by one that comes after it: events, not
            # moments
            db.rows(
                "SELECT name, tier, subject, COUNT(*) FROM tier_event GROUP BY 1, 2, 3 ORDER BY 1,"
                " 2, 3"
            ),
        ]
    files = sorted(
        str(p.relative_to(repo.root)) for p in (repo.root / ".kl").rglob("*") if p.is_file()
    )
    state = sorted(
        p.name
        for p in repo.state.rglob("*")
        if p.is_file() and not p.name.startswith(("kl.db", "."))
    )
    conflicts = [(one.record, dict(one.body)) for one in list_events(ws, name="skill_conflict")]
    return {
        "tiers": tiers,
        "conflicts": conflicts,
        "claims": claims,
        "archive": archive,
        "folded": folded,
        "files": files,
        "state": state,
    }


@pytest.fixture
def messy(repo: Checkout) -> Checkout:
    untidy(repo)
    ws = repo.workspace()
    for title in ("Feed bytes", "Feed text"):
        create_record(
            ws,
            ws.kinds["decision"],
            {"title": title, "context": "c", "decision": "d", "status": "accepted"},
        )
    supersede(ws, "ADR-0001", "ADR-0002")
    earlier = repo.workspace(now=NOW - 9 * DAY)
    memory = Memory(earlier, Caller("agent:a", "s"))
    for key in ("often", "seldom"):
        memory.write(key, key)
    for _ in range(3):
        memory.read("often")
    create_pool(earlier, memory.caller, "brief", PoolOptions(lifetime=60))
    repo.write(
        ".claude/skills/a/SKILL.md",
        "---\nname: a\ndescription: x\nmetadata:\n  kl-requires: b\n---\n",
    )
    preview(ws)
    return repo


def copy(repo: Checkout, folder: Path) -> Checkout:
    shutil.copytree(repo.root, folder, symlinks=True)
    return Checkout(folder)


@pytest.mark.local_database
@pytest.mark.slow
@pytest.mark.requirement("D46")
@pytest.mark.fault(
    "killed process",
    promised="the next run ends where an undisturbed one does",
    injected="SIGKILL of the upkeep before a random line",
)
@by_steps(3)
def test_killed_at_any_step_the_next_run_ends_the_same(
    messy: Checkout, tmp_path: Path, step: int
) -> None:
    undisturbed = copy(messy, tmp_path / "undisturbed")
    done = subprocess.run(
        [sys.executable, "-P", "-c", CALL, str(undisturbed.root), "0", str(NOW)],
        capture_output=True,
        text=True,
        check=True,
    )
    steps = int(done.stdout)
    wanted = facts(undisturbed)
    assert len(json.dumps(wanted)) > 200
    order = random.Random(4)
    for number in range(0, 8, step):
        repo = copy(messy, tmp_path / f"killed{number}")
        at = order.randrange(1, steps)
        killed = subprocess.run(
            [sys.executable, "-P", "-c", CALL, str(repo.root), str(at), str(NOW)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        ws = repo.workspace()
        apply_policies(ws)
        assert facts(repo) == wanted, f"killed at step {at} of {steps}"
        assert apply_policies(ws).changes == ()
        assert {one.record for one in list_events(ws, name="upkeep")} >= {"ADR-0001"}
        verified = repo.kl("evidence", "verify")
        assert verified.returncode == 0, verified.stdout


@pytest.mark.slow
@pytest.mark.fault(
    "many writers",
    promised="they end as one would",
    injected="two upkeeps at once",
)
@pytest.mark.sweep
def test_two_at_once_end_as_one_would(messy: Checkout) -> None:
    call = [sys.executable, "-P", "-c", CALL, str(messy.root), "0", str(NOW)]
    both = [
        subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(2)
    ]
    until = time.monotonic() + 60
    assert [process.wait(max(1, until - time.monotonic())) for process in both] == [0, 0]
    for process in both:
        assert process.stderr is not None
        process.stderr.close()
    assert apply_policies(messy.workspace()).changes == ()
    assert messy.kl("evidence", "verify").returncode == 0
    assert os.listdir(messy.root / ".kl/knowledge/decisions/archive") == ["ADR-0001-feed-bytes.md"]  # noqa: PTH208
