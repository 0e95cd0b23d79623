"""What an agent asked, and what it did with what it was given: recorded, redacted, counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.clock import SystemClock, iso
from kl_hooks.context.effect import effect_statistics
from kl_hooks.context.package_log import FILE
from kl_hooks.context.recall import LEAST_PACKAGES
from kl_hooks.tools.call import call
from tests.support import Checkout

AGENT = {"KL_AGENT": "claude-code"}
SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
PRICE = 'def round_total(cents: int) -> int:\n    """Round a checkout total."""\n    return cents\n'
CART = "from shop.price import round_total\n\n\ndef checkout() -> int:\n    return round_total(3)\n"


@pytest.fixture
def shop(repo: Checkout) -> Checkout:
    repo.write("shop/__init__.py", "")
    repo.write("shop/price.py", PRICE)
    repo.write("shop/cart.py", CART)
    repo.write("tests/test_price.py", "from shop.price import round_total\n")
    assert repo.kl("init", "--yes").returncode == 0
    repo.git("config", "kl.agents", "claude")
    repo.commit()
    return repo


def events(repo: Checkout, name: str) -> list[dict[str, Any]]:
    path = repo.state / FILE
    lines = path.read_text().splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    return [row for row in rows if row["event"] == name]


@pytest.mark.requirement("B14")
def test_each_query_of_an_agent_is_an_event_and_those_of_people_are_none(shop: Checkout) -> None:
    shop.kl("graph", "callers", "round_total")
    assert events(shop, "query") == []
    shop.kl("graph", "callers", "round_total", env={**AGENT, "KL_SESSION": "s7"})
    shop.kl("search", "checkout total", env=AGENT)
    answer, code = call(
        shop.workspace(), "graph_search", b'{"name": "nothing_here"}', allow_write=False
    )
    assert code == 0, answer
    callers, search, tool = events(shop, "query")
    assert (callers["operation"], callers["agent"], callers["session"]) == (
        "graph callers",
        "claude-code",
        "s7",
    )
    assert callers["arguments"] == {"name": "round_total"}
    assert (callers["status"], callers["paths"]) == ("ok", ["shop/price.py", "shop/cart.py"])
    assert "shop/price.py" in search["paths"] and search["results"] > 0
    assert (tool["operation"], tool["results"], tool["paths"]) == ("graph search", 0, [])


@pytest.mark.requirement("B14")
def test_a_query_is_bounded_redacted_and_recorded_where_it_fails(shop: Checkout) -> None:
    words = f"token = {SECRET} {'word ' * 3_000}"
    shop.kl("search", words, env=AGENT)
    shop.kl("graph", "show", "nothing_of_this_name", env=AGENT)
    search, failed = events(shop, "query")
    lines = (shop.state / FILE).read_text().splitlines()
    assert SECRET not in "".join(lines) and SECRET[:12] not in "".join(lines)
    assert len(search["arguments"]["query"]) <= 200 and max(map(len, lines)) < 8_000
    assert (failed["status"], failed["paths"]) == ("failed", [])


@pytest.mark.requirement("B14", "E5")
def test_the_log_of_queries_names_nothing_that_the_policy_hides(shop: Checkout) -> None:
    rule = "{name: cart, deny: {paths: ['shop/cart.py'], actors: [agent]}}"
    shop.write(".kl/policy.yaml", f"version: 1\nrules:\n  - {rule}\n")
    shop.kl("graph", "callers", "round_total", env=AGENT)
    [query] = events(shop, "query")
    assert "shop/cart.py" not in json.dumps(query) and query["paths"] == ["shop/price.py"]


def transcript(path: Path, folder: Path, calls: Sequence[tuple[str, dict[str, str]]]) -> Path:
    """A session as Claude Code writes it, whose calls are after now."""
    later = iso(SystemClock().now() + 5_000_000)
    rows: list[tuple[str, Any]] = [("user", "round the totals")]
    for number, (name, given) in enumerate(calls):
        use = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
        rows.append(("assistant", [use]))
        rows.append(
            ("user", [{"type": "tool_result", "tool_use_id": f"t{number}", "content": "ok"}])
        )
    began = iso(SystemClock().now() - 60_000_000)
    lines = [
        {
            "type": role,
            "sessionId": "s1",
            "cwd": str(folder),
            "timestamp": later if number else began,
            "message": {"role": role, "content": content},
        }
        for number, (role, content) in enumerate(rows)
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def end_session(repo: Checkout, path: Path, session: str = "s1") -> None:
    payload = {
        "hook_event_name": "SessionEnd",
        "cwd": str(repo.root),
        "session_id": session,
        "transcript_path": str(path),
    }
    done = repo.kl("agents", "hook", "SessionEnd", "--agent", "claude", input=json.dumps(payload))
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")


def effect(repo: Checkout) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(repo.kl("stats", "effect", "--format", "json").stdout)
    return shown


@pytest.mark.requirement("B14", "E11")
def test_a_package_is_measured_by_what_the_session_then_read_edited_and_ran(
    shop: Checkout, tmp_path: Path
) -> None:
    made = json.loads(
        shop.kl(
            "context",
            "round_total",
            "--budget",
            "6000",
            "--format",
            "json",
            env={**AGENT, "KL_SESSION": "s1"},
        ).stdout
    )
    named = {item["path"] for item in made["items"] if item["kind"] == "file"}
    assert {"shop/price.py", "shop/cart.py"} <= named
    shop.kl("graph", "callers", "round_total", env=AGENT)
    price, new = str(shop.root / "shop/price.py"), str(shop.root / "shop/new.py")
    path = transcript(
        tmp_path / "s1.jsonl",
        shop.root,
        [
            ("Read", {"file_path": price}),
            ("Edit", {"file_path": price, "old_string": "cents", "new_string": "cent"}),
            ("Write", {"file_path": new, "content": "x = 1\n"}),
            (
                "Bash",
                {"command": "cd shop && cat cart.py; python -m pytest ../tests/test_price.py"},
            ),
        ],
    )
    end_session(shop, path)
    counts = effect(shop)
    files = counts["sections"]["file"]
    # the new file was nothing that a package could name
    assert (counts["sessions"], counts["edited"], counts["edited_named"]) == (1, 1, 1)
    assert files["items"] == len(named) and files["used"] == len(
        named & {"shop/price.py", "shop/cart.py", "tests/test_price.py"}
    )
    assert (files["edited"], files["recall"]) == (1, 100)
    assert counts["tools"]["graph callers"] == {
        "queries": 1,
        "empty": 0,
        "files": 2,
        "used": 2,
        "precision": 100,
    }
    text = shop.kl("stats", "effect").stdout
    assert "1 session with 1 package, which named 100 % (1 of 1) of the files" in text
    assert "weights are proposed after 9 more sessions with a package" in text
    # the same session, mined again as after the next stop, counts once
    path.write_text(path.read_text() + "\n")
    end_session(shop, path)
    assert effect(shop) == counts


def test_what_was_read_before_a_package_named_it_is_no_effect(
    shop: Checkout, tmp_path: Path
) -> None:
    path = transcript(
        tmp_path / "s1.jsonl",
        shop.root,
        [("Read", {"file_path": str(shop.root / "shop/price.py")})],
    )
    path.write_text(path.read_text().replace(iso(SystemClock().now())[:4], "2020"))
    shop.kl("context", "round_total", "--budget", "6000", env={**AGENT, "KL_SESSION": "s1"})
    end_session(shop, path)
    sections = effect(shop)["sections"]
    assert sections["file"]["used"] == 0 and sections["file"]["items"] > 0


def test_all_packages_of_a_long_session_count(shop: Checkout, tmp_path: Path) -> None:
    shop.kl("context", "round_total", env={**AGENT, "KL_SESSION": "s1"})
    log = shop.state / FILE
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    copies = [{**row, "package_id": f"cp-{number:012}"} for number in range(60) for row in rows]
    with log.open("a") as appended:
        appended.writelines(f"{json.dumps(row)}\n" for row in copies)
    read = ("Read", {"file_path": str(shop.root / "shop/price.py")})
    end_session(shop, transcript(tmp_path / "s1.jsonl", shop.root, [read]))
    assert effect(shop)["packages"] == 61


def measured(session: int) -> dict[str, Any]:
    sources = {"records": {"items": 4, "touched": 3}, "commits": {"items": 4, "touched": 0}}
    sections = {"decision": {"items": 4, "used": 3, "edited_named": 1}}
    return {
        "event": "session_effect",
        "created_at": f"2026-11-{session:02}T00:00:00Z",
        "session": f"s{session}",
        "packages": 1,
        "edited": 2,
        "edited_named": 1,
        "sections": sections,
        "sources": sources,
        "tools": {},
    }


def test_weights_are_proposed_from_enough_sessions_on_and_only_the_settings_apply_them(
    shop: Checkout,
) -> None:
    sessions = [measured(number) for number in range(1, LEAST_PACKAGES + 1)]
    few = effect_statistics(sessions[1:])
    assert (few["needed"], few["proposed_weights"]) == (1, {})
    assert effect_statistics(sessions)["sections"]["decision"]["precision"] == 75
    assert effect_statistics(sessions)["sections"]["decision"]["recall"] == 50
    source = {"items": 40, "used": 30, "utility": 75}
    assert effect_statistics(sessions)["sources"]["records"] == source
    before = shop.kl("context", "round_total").stdout
    with (shop.state / FILE).open("a") as log:
        log.writelines(f"{json.dumps(event)}\n" for event in sessions)
    text = shop.kl("stats", "effect").stdout
    assert "source_weights:\n  commits: 81\n  records: 119\n" in text
    assert shop.kl("context", "round_total").stdout == before
    shop.git("config", "kl.context-weights", "learned")
    done = shop.kl("context", "round_total")
    assert done.stdout == before and "has no effect" in shop.kl("config").stderr
    shop.write(".kl/config.yaml", "version: 1\nsource_weights:\n  pages: 81\n  records: 30\n")
    wrong = shop.kl("context", "round_total")
    assert wrong.returncode == 2 and '"records"' in wrong.stderr
