"""The Python API: typed answers for programs, whatever state the repository is in."""

from __future__ import annotations

import doctest
import fcntl
import json
import logging
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

import kl_hooks
import kl_hooks.api as kl
from kl_hooks.clock import FixedClock
from kl_hooks.context.gather import PAUSED
from kl_hooks.kinds.failure import record_failure
from kl_hooks.records.write import create_record
from tests.support import HERE, NOW, Checkout, checkout

PRICE = (
    '"""Prices."""\n\n\ndef total(prices):\n    """Return the rounded total."""\n    return'
    " round(sum(prices), 2)\n"
)
TASK = "fix rounding in totals"


@pytest.fixture
def shop(repo: Checkout, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    repo.write("shop/price.py", PRICE)
    ws = repo.workspace()
    decided = {
        "context": "A cent.",
        "decision": "Totals are rounded half to even.",
        "status": "accepted",
    }
    create_record(ws, ws.kinds["decision"], {"title": "Round half to even", **decided})
    record_failure(ws, {"approach": "Round floats", "prevention": "Use Decimal."})
    repo.commit()
    monkeypatch.chdir(repo.root)
    return repo


@pytest.mark.requirement("A1", "B10", "B11", "B15", "B16", "B17", "B18", "B27")
def test_the_examples_of_the_page_work(shop: Checkout) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    text = (HERE / "docs" / "api.md").read_text(encoding="utf-8").replace("…", "...")
    examples = doctest.DocTestParser().get_doctest(text, {}, "api.md", "docs/api.md", 0)
    failures: list[str] = []
    done = doctest.DocTestRunner(optionflags=flags).run(examples, out=failures.append)
    assert (done.failed, done.attempted > 20) == (0, True), "".join(failures)


@pytest.mark.requirement("A3")
def test_it_is_the_same_package_as_that_of_the_command_the_tool_and_the_hook(
    shop: Checkout,
) -> None:
    package = kl.open(shop.root / "shop").build_context(TASK)
    assert package.text == shop.kl("context", TASK).stdout
    found = json.loads(shop.kl("tool", "context", json.dumps({"task": TASK})).stdout)["result"]
    assert (found["text"], found["package_id"]) == (package.text, package.id)
    shop.git("config", "kl.agents", "claude")
    payload = {
        "hook_event_name": "UserPromptSubmit",
        "cwd": str(shop.root),
        "session_id": "s1",
        "prompt": TASK,
    }
    hook = shop.kl(
        "agents", "hook", "UserPromptSubmit", "--agent", "claude", input=json.dumps(payload)
    )
    brief = kl.open(shop.root).build_context(TASK, profile="brief", budget="2000")
    assert (
        json.loads(hook.stdout)["hookSpecificOutput"]["additionalContext"].strip()
        == brief.text.strip()
    )
    assert package.coverage["code"] == "ok" and package.document["package_id"] == package.id
    assert (
        kl.open(shop.root).build_context(TASK, given=[item.id for item in package.items]).items
        == ()
    )


@pytest.mark.requirement("B13")
def test_threads_share_one_knowledge(shop: Checkout) -> None:
    """Cold: each of them finds that the graph is to be built."""
    knowledge, texts, ids, errors = kl.open(shop.root), [], [], []
    interval = sys.getswitchinterval()
    # what one thread records is new content for the package of another
    built = threading.Barrier(6, timeout=120)

    def work(number: int) -> None:
        try:
            texts.append(knowledge.build_context(TASK).text)
            built.wait()
            ids.append(knowledge.record("fact", {"title": f"Fact {number}", "answer": "Yes."}))
            ids.append(knowledge.capture_task_outcome(f"Task {number}"))
        except BaseException as problem:
            built.abort()
            errors.append(problem)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    sys.setswitchinterval(1e-5)
    try:
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []
    assert {text.split()[2] for text in texts} == {texts[0].split()[2]}
    assert len(set(ids)) == 12 and None not in ids
    assert {f"FACT-{number:04}" for number in range(1, 7)} <= set(ids)


def lock(shop: Checkout) -> Callable[[], None]:
    handle = os.open(shop.state / "store.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)
    return lambda: os.close(handle)


def damage(shop: Checkout) -> Callable[[], None]:
    path = shop.state / "kl.db"
    whole = path.read_bytes()
    path.write_bytes(b"garbage" * 1000)
    return lambda: bytes_back(path, whole)


def bytes_back(path: Path, whole: bytes) -> None:
    path.write_bytes(whole)


@pytest.mark.requirement("B11", "B12", "B27")
@pytest.mark.parametrize("breaks", [lock, damage])
def test_a_store_that_is_locked_or_damaged_makes_answers_smaller(
    shop: Checkout,
    breaks: Callable[[Checkout], Callable[[], None]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    knowledge = kl.open(shop.root, wait=0.05)
    assert knowledge.available
    repair = breaks(shop)
    package = knowledge.build_context(TASK)
    assert "shop/price.py" in package.text
    outcome = knowledge.capture_task_outcome("Put aside")
    assert outcome and outcome.startswith("OUT-")
    assert knowledge.record("memory", {"pattern": "Prices are in euros."}) is None
    assert knowledge.record_claim("It rounds.", about="file:shop/price.py") is None
    if breaks is damage:
        assert not knowledge.available and "is not a database" in knowledge.problem()
        assert "failed" in package.coverage["records"]
        assert (knowledge.search("round"), knowledge.load_critical_adrs()) == ([], [])
        assert "is not a database" in knowledge.load_critical_context().problem
        assert knowledge.verify()[0::5] == (False, False)
    assert any(
        one.name == "kl_hooks.api" and one.levelno == logging.WARNING for one in caplog.records
    )
    repair()
    assert knowledge.available
    assert [one.id for one in knowledge.find_similar_task_outcomes("put aside")] == [outcome]


@pytest.mark.requirement("B12")
def test_a_source_that_failed_three_times_is_named_and_not_asked(shop: Checkout) -> None:
    knowledge = kl.open(shop.root, clock=FixedClock(NOW))
    repair = damage(shop)
    for _ in range(3):
        assert "is not a database" in knowledge.build_context(TASK).coverage["records"]
    repair()
    again = knowledge.build_context(TASK)
    assert again.coverage["records"] == PAUSED
    assert "Not searched: " in again.text and "records" in again.text
    assert kl.open(shop.root).build_context(TASK).coverage["records"] == "ok", (
        "another client has its own count"
    )


@pytest.mark.requirement("B10", "B11")
def test_the_configuration_is_checked_and_fixed(shop: Checkout) -> None:
    knowledge = kl.open(shop.root, agent="bot")
    with pytest.raises(FrozenInstanceError):
        knowledge.agent = ""  # type: ignore[misc]
    for bad in ({"wait": 0}, {"wait": float("nan")}, {"budget": "7"}, {"budget": "much"}):
        with pytest.raises(kl.UsageProblem):
            kl.open(shop.root, **bad)  # type: ignore[arg-type]
    with pytest.raises(kl.UsageProblem):
        kl.open(shop.root / "nowhere")
    off = kl.open(shop.root, enabled=False)
    assert (off.available, off.build_context(TASK).text, off.record("fact", {"title": "x"})) == (
        False,
        "",
        None,
    )
    number = knowledge.record("decision", {"title": "T", "context": "c", "decision": "d"})
    made = knowledge.retrieve(str(number))
    assert made and (made.status, made.authority) == ("proposed", "agent")
    assert knowledge.search("t") == [] and knowledge.retrieve("ADR-0099") is None


@pytest.mark.parametrize(
    "call",
    [
        lambda k: k.build_context(" "),
        lambda k: k.build_context("x", style="pdf"),
        lambda k: k.build_context("x", pins=["nothing"]),
        lambda k: k.record("recipe", {}),
        lambda k: k.record("decision", {"title": "t"}),
        lambda k: k.search("x", kinds=["recipe"]),
    ],
)
def test_wrong_arguments_are_the_caller_s(
    repo: Checkout, call: Callable[[kl.Knowledge], object]
) -> None:
    with pytest.raises(kl.UsageProblem):
        call(kl.open(repo.root))


@pytest.mark.requirement("B17")
def test_the_policy_governs_what_is_loaded(shop: Checkout) -> None:
    assert kl.open(shop.root).load_failed_approaches("floats")
    shop.write(
        ".kl/policy.yaml",
        "version: 1\nrules:\n  - name: no\n    deny: {kinds: [failure], actors: [agent]}\n",
    )
    assert kl.open(shop.root).load_failed_approaches("floats")
    assert kl.open(shop.root, agent="bot").load_failed_approaches("floats") == []


@pytest.mark.usefixtures("home")
def test_a_full_run_is_a_verdict(tmp_path: Path) -> None:
    made = checkout(tmp_path / "run", {"test_a.py": "def test_a():\n    pass\n"})
    assert not kl.open(made.root).verify().proven
    assert made.pytest("--kl").returncode == 0
    found = kl.open(made.root).verify()
    assert (found.proven, found.tier, found.assessed) == (True, "inferred", True)


def test_types_are_shipped() -> None:
    assert (Path(kl_hooks.__path__[0]) / "py.typed").exists()
