"""Delivering: what is stored, what is recorded, and that none of it can cost the answer."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pluggy
import pytest

from kl_hooks import hookspecs
from kl_hooks.clock import FixedClock, iso, micros
from kl_hooks.context import deliver as deliver_module
from kl_hooks.context import package_log
from kl_hooks.context.deliver import RECORDED_TASK, Delivered, PackageCache, deliver, find_package
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.hookspecs import Retriever, hookimpl
from kl_hooks.model.package import Omission
from kl_hooks.model.request import Request
from kl_hooks.proof.claims import record_claim
from kl_hooks.records.events import Event, append_events
from kl_hooks.records.events import list_events as happened
from kl_hooks.records.write import create_record
from kl_hooks.sharing.file_import import import_file
from kl_hooks.workspace import Workspace, open_workspace
from tests.context.making import ListRetriever, candidate
from tests.support import Checkout

NOW = micros("2026-11-21T12:00:00Z")
SECOND = 1_000_000
LATER = NOW + (PackageCache.TTL_SECONDS + 1) * 1_000_000


class Known:
    """A plugin whose one retriever knows these symbols."""

    def __init__(self, *names: str) -> None:
        self.names = names

    @hookimpl
    def kl_retrievers(self) -> list[Retriever]:
        return [ListRetriever("symbols", tuple(candidate(n) for n in self.names)).offered()]


def opened(root: Path, *names: str, now: int = NOW) -> Workspace:
    """A workspace without git whose only plugin knows `names`."""
    plugins = pluggy.PluginManager("kl")
    plugins.add_hookspecs(hookspecs)
    plugins.register(Known(*names))
    environ = {"HOME": str(root / "home"), "KL_STATE": str(root / "state")}
    return replace(
        open_workspace(root, clock=FixedClock(now), environ=environ), make_plugins=lambda: plugins
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".kl").mkdir()
    return tmp_path


def test_a_package_can_be_had_again_by_its_id(root: Path) -> None:
    ws = opened(root, "total", "other")
    made = deliver(ws, Request("total", "6000", trace_id="t" * 32))
    again = find_package(ws, str(made.document["package_id"]))
    assert again == Delivered(made.document, made.text, made.omissions)
    assert made.document["trace_id"] == "t" * 32
    assert [item["id"] for item in made.document["items"]] == ["function:shop.total"]


def test_the_beginning_of_an_id_is_enough(root: Path) -> None:
    ws = opened(root, "total")
    made = deliver(ws, Request("total", "6000"))
    assert find_package(ws, str(made.document["package_id"])[:7]).text == made.text


@pytest.mark.requirement("E9")
def test_after_its_time_it_is_built_again_from_what_was_asked(root: Path) -> None:
    made = deliver(opened(root, "total"), Request("total", "1500tok", "markdown"))
    package_id = str(made.document["package_id"])
    again = find_package(opened(root, "total", now=LATER), package_id)
    assert again.text == made.text
    assert (
        again.remark == f"{package_id} is no longer cached; built again from its request, the same."
    )
    assert again.document["created_at"] != made.document["created_at"]


def test_built_again_when_more_is_known_it_states_that_it_differs(root: Path) -> None:
    package_id = str(
        deliver(opened(root, "total"), Request("total", "6000")).document["package_id"]
    )
    again = find_package(opened(root, "total", "total_vat", now=LATER), package_id)
    assert (
        f"now {again.document['package_id']}: the knowledge base has changed since" in again.remark
    )


def test_a_poisoned_or_foreign_cache_entry_is_no_package(root: Path) -> None:
    ws = opened(root, "total")
    made = deliver(ws, Request("total", "6000"))
    package_id = str(made.document["package_id"])
    other = {"document": {**made.document, "package_id": "cp-aaaaaaaaaaaa"}, "text": "forged"}
    for value in (b"", b"\x80\x04", b"[]", b'{"document": {}}', json.dumps(other).encode()):
        ws.cache.set(f"package/{package_id}", value, ttl=60)
        # opened anew: where a source fails, as without git, asking it again and again changes the
        # coverage
        assert find_package(opened(root, "total"), package_id).text == made.text


def test_a_package_that_an_older_version_stored_is_read_with_what_it_lists(root: Path) -> None:
    ws = opened(root, "total", "other")
    made = deliver(ws, Request("total", "6000"))
    package_id = str(made.document["package_id"])
    listed = [{"id": "function:old", "reason": "over budget: 3 were left"}]
    older = {**made.document, "schema": "kl.package/3", "omitted": listed}
    entry = {"document": older, "text": "as it was", "policy": ""}
    ws.cache.set(f"package/{package_id}", json.dumps(entry).encode(), ttl=60)
    read = find_package(ws, package_id)
    assert read.text == "as it was"
    assert read.document == {**made.document, "omitted": {"over budget": 1}}
    assert read.omissions == (Omission("function:old", "over budget: 3 were left"),)


def test_an_unknown_package_is_a_usage_error(root: Path) -> None:
    with pytest.raises(UsageProblem, match="cp-123456789abc: no package of this id was made here"):
        find_package(opened(root), "cp-123456789abc")


@pytest.mark.requirement("A63", "A64", "B14")
def test_the_event_states_what_was_given(root: Path) -> None:
    ws = opened(root, "total", "x")
    made = deliver(ws, Request("total", "6000"))
    event, items, hit, lookup = package_log.events_newest_first(ws.state)
    assert (
        items["items"] == [["fact", "function:shop.total", ["src/total.py"], ["symbols"]]]
        and not items["cut"]
    )
    sources = {
        one["source"]: (one["results"], one["status"][:6], type(one["ms"]))
        for one in lookup["sources"]
    }
    assert sources == {"symbols": (1, "ok", int), "code": (0, "failed", int)}
    assert (lookup["event"], lookup["keywords"], lookup["query_count"]) == (
        "knowledge_lookup",
        ["total"],
        1,
    )
    assert (lookup["symbols"], lookup["failure_patterns"], lookup["weight"]) == ([], [], "default")
    assert (hit["event"], hit["retrieved"], hit["included"]) == ("knowledge_hit", 1, 1)
    deliver(ws, Request("zebra", "6000"))
    assert [one["event"] for one in package_log.events_newest_first(ws.state)][
        2
    ] == "knowledge_miss"
    assert event["event"] == "context_assembly"
    assert (event["task"], event["budget"], event["style"]) == ("total", "6000", "text")
    assert event["package_id"] == made.document["package_id"]
    assert (event["knowledge_retrieved"], event["knowledge_included"]) == (1, 1)
    assert event["context_chars"] == len(made.text)
    assert (event["budget_total"], event["budget_used"]) == (6000, len(made.text))
    assert (event["artifacts"], event["memory_loaded"], event["memory_included"]) == (
        {"fact": 1},
        0,
        0,
    )
    assert (event["agent"], event["session"], event["turn"]) == ("", "", 0)
    assert event["coverage"].keys() == {"code", "symbols"}
    assert event["coverage"]["symbols"] == "ok"
    assert event["coverage"]["code"].startswith("failed: "), "there is no git repository"


@pytest.mark.requirement("C2", "D49")
def test_each_record_that_was_given_is_noted_and_the_package_stays_the_same(repo: Checkout) -> None:
    ws = repo.workspace()
    printed = {
        "title": "Zebra",
        "context": "c",
        "decision": "Feed the zebra.",
        "status": "accepted",
    }
    made = create_record(ws, ws.kinds["decision"], printed)
    first = deliver(ws, Request("feed the zebra", "6000"))
    again = deliver(ws, Request("feed the zebra", "6000"))
    given = happened(ws, made.id, "injected")
    assert [one.body["package"] for one in given] == [first.document["package_id"]] * 2
    assert first.text == again.text


FACT = "---\nid: FACT-0009\ntitle: Zebras\nstatus: active\n---\n\n## Answer\n\nFeed the zebra.\n"


@pytest.mark.slow
@pytest.mark.requirement("B46")
def test_an_equal_request_on_equal_content_is_answered_from_the_cache_and_after_any_change_is_not(
    repo: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step changes one input of a package."""
    repo.write("zoo.py", "def feed_zebra():\n    pass\n")
    repo.write(".gitignore", "docs/\n.kl/knowledge/facts/\n")
    repo.commit()
    asked: list[str] = []
    build = deliver_module.build
    monkeypatch.setattr(
        deliver_module, "build", lambda *some: (asked.append("built"), build(*some))[1]
    )
    # an hour after the files are written: what is younger than two seconds is read again each time
    request, clock = Request("feed the zebra", ""), [time.time_ns() // 1000 + 3600 * SECOND]

    def again(request: Request = request, **environ: str) -> tuple[Delivered, bool]:
        ws = repo.workspace()
        ws = replace(ws, clock=FixedClock(clock[0]), environ={**ws.environ, **environ})
        asked.clear()
        return deliver(ws, request), not asked

    ws = repo.workspace()
    expires = iso(clock[0] + 180 * SECOND)
    create_record(
        ws, ws.kinds["fact"], {"title": "Zebra", "answer": "Feed the zebra.", "expires": expires}
    )
    (first, _), (second, cached) = again(), again(request._replace(trace_id="ab" * 16))
    assert cached and second.text == first.text and second.document["trace_id"] == "ab" * 16
    assert (
        second.document["request_id"] != first.document["request_id"]
        or first.document["trace_id"] == ""
    )
    event, *_ = package_log.events_newest_first(ws.state)
    assert (event["event"], event["cached"], event["trace_id"]) == (
        "context_assembly",
        True,
        "ab" * 16,
    )
    given = [one.body["package"] for one in happened(ws, "FACT-0001", "injected")]
    assert given == [first.document["package_id"]] * 2, "what is given from the cache is given"
    changes: dict[str, Callable[[], object]] = {
        "a file": lambda: repo.write("zoo.py", "def feed_zebra():\n    return 1\n"),
        "a new file": lambda: repo.write("more.py", "def feed_zebra_more():\n    pass\n"),
        "a commit": lambda: repo.commit("Feed the zebra twice"),
        "a page that git ignores": lambda: repo.write(
            "docs/zebra.md", "# Zebra\n\nFeed the zebra at noon.\n"
        ),
        "a record that git ignores": lambda: repo.write(
            ".kl/knowledge/facts/FACT-0009-zebras.md", FACT
        ),
        "a row": lambda: create_record(
            ws, ws.kinds["finding"], {"title": "zebra", "entity": "z", "finding": "feed the zebra"}
        ),
        "a claim": lambda: record_claim(ws, "The zebra was fed.", "file:zoo.py"),
        "a policy": lambda: repo.write(".kl/policy.yaml", "version: 1\nrules: []\n"),
        "the settings": lambda: repo.write(".kl/config.yaml", "budget: 3000\n"),
        "evidence": lambda: import_file(
            ws, "junit", "r.xml", b"<testsuite><testcase name='z'/></testsuite>", None
        ),
        "an outcome": lambda: append_events(
            ws, [Event("outcome", "FACT-0001", body={"result": "positive"})]
        ),
        "the end of a record": lambda: clock.__setitem__(0, clock[0] + 181 * SECOND),
        "five minutes": lambda: clock.__setitem__(0, clock[0] + 300 * SECOND),
    }
    for what, change in changes.items():
        assert again()[1], f"before: {what}"
        change()
        assert not again()[1], what
    assert not again(KL_AGENT="bot")[1], "another reader"
    assert not again(request._replace(budget="4000"))[1]
    repo.write(".kl/config.yaml", "context_cache: 0\n")
    assert [again()[1] for _ in range(3)] == [False] * 3


def test_a_secret_in_a_task_is_in_no_byte_of_state_and_cache(root: Path) -> None:
    ws = opened(root, "total")
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    made = deliver(ws, Request(f"total with {secret}", "6000"))
    assert secret not in made.text
    assert find_package(ws, str(made.document["package_id"])).text == made.text
    written = [p for folder in ("state", "home") for p in (root / folder).rglob("*") if p.is_file()]
    assert [p.name for p in written if p.suffix == ".db"] and not [
        p for p in written if secret.encode() in p.read_bytes()
    ]


def test_where_kl_was_not_set_up_it_reports_it_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="not a git repository"):
        deliver(opened(tmp_path, "total"), Request("total", "6000"))
    assert not (tmp_path / "state").exists()


def test_a_state_that_cannot_be_written_costs_a_remark_only(root: Path) -> None:
    (root / "state").write_text("not a folder", encoding="utf-8")
    made = deliver(opened(root, "total"), Request("total", "6000"))
    assert "function:shop.total" in made.text
    assert made.remark.startswith("event not recorded: ")


def test_a_very_long_task_is_answered_but_not_asked_again(root: Path) -> None:
    ws = opened(root, "total")
    assert deliver(ws, Request(f"total {'x' * 200_000}", "6000")).remark == "", (
        "one long word is logged in short"
    )
    made = deliver(ws, Request("total " * RECORDED_TASK, "6000"))
    with pytest.raises(UsageProblem, match="too long to be recorded whole"):
        find_package(replace(ws, clock=FixedClock(LATER)), str(made.document["package_id"]))


@pytest.mark.requirement("E10")
def test_events_are_complete_private_and_survive_bad_lines(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = opened(root)
    monkeypatch.setattr(package_log, "MOST_BYTES", 2_000)
    for n in range(100):
        assert package_log.append_event(ws.state, {"event": "x", "n": n}) == ""
    file, older = (
        ws.state.directory / package_log.FILE,
        ws.state.directory / (package_log.FILE + ".1"),
    )
    assert file.stat().st_size <= 2_000 and older.stat().st_size <= 2_000
    assert [one["n"] for one in package_log.events_newest_first(ws.state)] == list(
        range(99, -1, -1)
    )
    assert oct(file.stat().st_mode)[-3:] == "600"
    with file.open("ab") as stream:
        stream.write(b'not json\n[]\n{"event": "cut')
    assert next(package_log.events_newest_first(ws.state)) == {"event": "x", "n": 99}
    assert "not recorded" in package_log.append_event(ws.state, {"event": "x" * 100_000})


@pytest.mark.requirement("E14")
def test_the_trace_id_is_in_every_event_of_a_package_and_of_one_that_failed(root: Path) -> None:
    ws = opened(root, "total")
    deliver(ws, Request("total", "6000", trace_id="ab" * 16))
    with pytest.raises(UsageProblem):
        deliver(ws, Request("total", "6000", trace_id="ab" * 16, scope=("nowhere",)))
    events = list(package_log.events_newest_first(ws.state))
    assert events[0]["event"] == "context_failed" and "nowhere" in events[0]["error"]
    assert len(events) > 3 and {one["trace_id"] for one in events} == {"ab" * 16}


def test_an_event_is_never_written_through_a_link(root: Path) -> None:
    ws = opened(root)
    assert package_log.append_event(ws.state, {"event": "x"}) == ""
    target = root / "precious"
    target.write_text("mine", encoding="utf-8")
    (ws.state.directory / package_log.FILE).unlink()
    (ws.state.directory / package_log.FILE).symlink_to(target)
    assert package_log.append_event(ws.state, {"event": "x"}).startswith("event not recorded: ")
    assert target.read_text(encoding="utf-8") == "mine"


def test_a_package_is_made_from_one_look_at_the_files_on_disk(
    repo: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("src/cart.py", "def total():\n    return 1\n")
    repo.write("docs/cart.md", "# Cart\n\nThe total of a cart.\n")
    repo.commit()
    repo.kl("context", "why is total wrong")  # brings everything up to date
    commands = list[str]()
    start = subprocess.Popen.__init__

    def counted(self: Any, words: list[str], *rest: Any, **options: Any) -> None:
        commands.extend(word for word in words if word == "ls-files")
        start(self, words, *rest, **options)

    monkeypatch.setattr(subprocess.Popen, "__init__", counted)
    assert repo.kl("context", "what does total return").returncode == 0
    # and once after it was made: what changed meanwhile may be in it
    assert len(commands) == 2
