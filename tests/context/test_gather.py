"""Gathering: all retrievers are asked; a failing one is named and costs nothing else."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pluggy
import pytest

from kl_hooks import hookspecs
from kl_hooks.clock import Clock, FixedClock
from kl_hooks.context.gather import PAUSED, all_retrievers, gather
from kl_hooks.context.signals import read_signals
from kl_hooks.errors import StoreBusy
from kl_hooks.hookspecs import Retriever, hookimpl
from kl_hooks.model.package import Candidate, Task
from kl_hooks.workspace import FailingSources
from tests.context.making import ListRetriever, candidate

TASK = Task("total", read_signals("total"))
SECOND = 1_000_000


class Workspace:
    """What gathering needs of a workspace."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.environ: dict[str, str] = {}
        self.clock = clock or FixedClock(0)
        self.failing_sources = FailingSources()


class Offers:
    """A plugin with these retrievers."""

    def __init__(self, *offered: Retriever) -> None:
        self.offered = offered

    @hookimpl
    def kl_retrievers(self) -> Sequence[Retriever]:
        return self.offered


class Broken:
    """A plugin that can't even name its retrievers."""

    @hookimpl
    def kl_retrievers(self) -> Sequence[Retriever]:
        raise ImportError("no module named teapot")


def plugins(*these: object) -> pluggy.PluginManager:
    made = pluggy.PluginManager("kl")
    made.add_hookspecs(hookspecs)
    for n, one in enumerate(these):
        made.register(one, name=f"plugin{n}")
    return made


def of(name: str, *known: str) -> Retriever:
    return ListRetriever(name, tuple(candidate(k) for k in known)).offered()


def raising(problem: Exception) -> Retriever:
    def find(workspace: Any, task: Task, limit: int) -> Sequence[Candidate]:
        raise problem

    return Retriever("bad", 100, find)


def test_all_plugins_are_asked_and_the_retrievers_are_ordered_by_name() -> None:
    found, failed = all_retrievers(plugins(Offers(of("b"), of("d")), Offers(of("a")), Offers()))
    assert ([r.name for r in found], failed) == (["a", "b", "d"], {})


def test_a_plugin_that_fails_is_named_and_the_others_answer() -> None:
    found, failed = all_retrievers(plugins(Offers(of("a")), Broken()))
    assert [r.name for r in found] == ["a"]
    assert failed == {"plugin plugin1": "failed: no module named teapot"}


def test_coverage_distinguishes_ok_from_empty() -> None:
    found = gather([of("one", "total", "x"), of("two", "y")], Workspace(), TASK)
    assert found.coverage == {"one": "ok", "two": "empty"}
    assert [c.id for c in found.lists["one"]] == ["function:shop.total"]
    assert found.weights == {"one": 100, "two": 100}


@pytest.mark.parametrize(
    ("problem", "printed"),
    [
        (StoreBusy("held by pid 7.", place="store"), "failed: store: held by pid 7."),
        (RuntimeError("two\nlines \x1b[31m"), "failed: two lines \\x1b[31m"),
        (KeyError(), "failed: KeyError"),
        (RecursionError("deep"), "failed: deep"),
    ],
)
def test_a_retriever_that_fails_lowers_the_coverage_only(problem: Exception, printed: str) -> None:
    found = gather([raising(problem), of("good", "total")], Workspace(), TASK)
    assert found.coverage == {"bad": printed, "good": "ok"}
    assert list(found.lists) == ["good"]


def test_a_retriever_that_answers_nonsense_has_failed() -> None:
    nonsense = Retriever("bad", 100, lambda *_: ["text"])  # type: ignore[list-item]
    none = Retriever("none", 100, lambda *_: None)  # type: ignore[arg-type,return-value]
    coverage = gather([nonsense, none], Workspace(), TASK).coverage
    assert coverage["bad"] == "failed: gave a str where a Candidate belongs"
    assert coverage["none"].startswith("failed: ")


def test_rows_are_limited_and_a_second_retriever_of_a_name_is_not_asked() -> None:
    def endless(workspace: Any, task: Task, limit: int) -> Any:
        n = 0
        while True:
            n += 1
            yield candidate(f"f{n}")

    found = gather(
        [Retriever("many", 100, endless, rows=7), of("many", "total")], Workspace(), TASK
    )
    assert len(found.lists["many"]) == 7
    assert found.coverage == {
        "many": "ok",
        "many (again)": "failed: the name is taken; only the first was asked",
    }


@pytest.mark.requirement("B44", "E3")
def test_retrievers_of_plugins_are_asked_side_by_side_and_the_answer_is_in_the_order_of_their_names() -> (
    None
):
    both = threading.Barrier(2, timeout=60)

    def wait(workspace: Any, task: Task, limit: int) -> Sequence[Candidate]:
        both.wait()  # broken, and so a failed retriever, unless the other one is at work too
        return [candidate(threading.current_thread().name[:12])] * (limit + 1)

    some = [
        Retriever("b", 100, wait, rows=2),
        of("c", "total"),
        Retriever("d", 100, wait),
        raising(OSError("x")),
    ]
    found = gather(some, Workspace(), TASK)
    assert found.coverage == {"b": "ok", "c": "ok", "d": "ok", "bad": "failed: x"}
    assert (
        list(found.lists) == list(found.weights) == ["b", "c", "d"] and len(found.lists["b"]) == 2
    )
    assert {one.id for one in found.lists["d"]} == {"function:shop.kl-retriever"}


def test_texts_are_redacted_once_more() -> None:
    secret = candidate("f", title="a s3cret", text="total s3cret", summary="the s3cret")
    retriever = ListRetriever("one", (secret,)).offered()
    (found,) = gather(
        [retriever],
        Workspace(),
        TASK,
        lambda text, language="": text.replace("s3cret", "[redacted]"),
    ).lists["one"]
    assert (found.title, found.text, found.summary) == (
        "a [redacted]",
        "total [redacted]",
        "the [redacted]",
    )


@pytest.mark.requirement("B12")
def test_what_failed_three_times_in_a_row_is_asked_again_after_a_minute() -> None:
    ws, asked = Workspace(), []

    def find(workspace: Any, task: Task, limit: int) -> Sequence[Candidate]:
        asked.append(workspace.clock.now())
        raise OSError("no disk")

    def at(second: int, *, works: bool = False) -> str:
        ws.clock = FixedClock(second * SECOND)
        return gather(
            [of("disk", "total") if works else Retriever("disk", 100, find)], ws, TASK
        ).coverage["disk"]

    assert [at(second) for second in (0, 1, 2, 3, 61)] == ["failed: no disk"] * 3 + [PAUSED] * 2
    assert at(62) == "failed: no disk"
    assert at(121) == PAUSED, "it failed when it was tried again"
    assert at(60) == "failed: no disk", "the clock was set back"
    assert at(123, works=True) == "ok"
    assert [at(second) for second in (124, 125)] == ["failed: no disk"] * 2, (
        "one success ends the count"
    )
    assert asked == [second * SECOND for second in (0, 1, 2, 62, 60, 124, 125)]
