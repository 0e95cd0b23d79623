"""Vectors: nearest is what a plain scan finds, only missing texts are embedded, models are never
mixed.
"""

from __future__ import annotations

import hashlib
import math
import random
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.hookspecs import Embedder, hookimpl
from kl_hooks.index import vectors
from kl_hooks.index.vectors import nearest, similarities, update_vectors
from kl_hooks.workspace import Workspace
from tests.support import Checkout

DIMENSION = 32


def vector_of(text: str) -> list[float]:
    """A vector that only depends on the text; of an empty one zeros."""
    chance = random.Random(text)
    return [chance.gauss(0, 1) if text else 0.0 for _ in range(DIMENSION)]


class Model:
    """A plugin with an embedder, and what it was asked."""

    def __init__(self, name: str = "test", version: str = "1", **changes: Any) -> None:
        self.asked: list[str] = []
        self.embedder = Embedder(name, version, DIMENSION, 7, self.embed)._replace(**changes)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        assert 0 < len(texts) <= 7
        self.asked += texts
        return [vector_of(text) for text in texts]

    @hookimpl
    def kl_embedder(self, workspace: Workspace) -> Embedder:
        return self.embedder


@pytest.fixture
def open_with(repo: Checkout) -> Callable[[Model], Workspace]:
    def open_workspace(model: Model) -> Workspace:
        ws = repo.workspace()
        ws.plugins.register(model)
        return ws

    return open_workspace


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def store(ws: Workspace, texts: Sequence[str]) -> int:
    """Embed texts; return how many were missing."""
    known = {hash_of(text): text for text in texts}

    def load(hashes: Sequence[str]) -> Mapping[str, str]:
        return {one: known[one] for one in hashes}

    return update_vectors(ws, known, load)


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    lengths = math.hypot(*a) * math.hypot(*b)
    return sum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 0.0


@pytest.mark.requirement("D20", "D22")
def test_nearest_is_what_a_plain_scan_of_the_allowed_texts_finds(
    open_with: Callable[[Model], Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_BLOCK", 11)
    ws = open_with(Model())
    texts = [f"text {number}" for number in range(30)]
    assert store(ws, texts) == 30
    assert store(ws, texts) == 0

    @given(
        st.text(max_size=5),
        st.sets(st.sampled_from(texts)),
        st.integers(1, 12),
        st.sampled_from([-1.0, 0.0, 0.2]),
    )
    def check(query: str, allowed: set[str], limit: int, least: float) -> None:
        found = nearest(ws, query, {hash_of(one) for one in allowed}, limit, least)
        expected = {hash_of(one): cosine(vector_of(query), vector_of(one)) for one in allowed}
        assert {one for one, _ in found} <= expected.keys()
        # a number is stored in a byte: the scores differ in the third decimal
        assert all(abs(expected[one] - score) < 0.01 for one, score in found)
        assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
        sure = [one for one, score in expected.items() if score >= least + 0.01] if query else []
        assert len(found) >= min(limit, len(sure))
        worst = min((score for _, score in found), default=1.0)
        assert all(
            expected[one] <= worst + 0.02
            for one in sure
            if one not in dict(found) and len(found) == limit
        )

    check()
    assert nearest(ws, "", {hash_of(one) for one in texts}, 5) == []


def test_only_what_is_missing_is_embedded_and_a_stop_in_the_middle_loses_one_block(
    open_with: Callable[[Model], Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_BLOCK", 5)
    model = Model()
    ws = open_with(model)
    known = {hash_of(f"text {number}"): f"text {number}" for number in range(12)}
    asked: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        asked.append((done, total))
        if len(asked) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        update_vectors(ws, known, lambda some: {one: known[one] for one in some}, stop)
    assert asked == [(5, 12), (10, 12)]
    # a text that was removed meanwhile is omitted, and none is embedded twice
    removed = sorted(known)[-1]
    assert (
        update_vectors(ws, known, lambda some: {one: known[one] for one in some if one != removed})
        == 2
    )
    assert sorted(model.asked) == sorted(text for one, text in known.items() if one != removed)
    assert len(nearest(ws, "text 1", known, 100, -1)) == 11


def test_another_model_embeds_anew_and_is_never_compared(
    open_with: Callable[[Model], Workspace],
) -> None:
    store(open_with(Model()), ["one", "two"])
    for changed in (Model("other"), Model(version="2")):
        ws = open_with(changed)
        assert nearest(ws, "one", {hash_of("one")}, 5, -1) == []
        assert store(ws, ["one", "two"]) == 2
        assert nearest(ws, "one", {hash_of("one")}, 5)[0][1] == pytest.approx(1, abs=0.01)
    # the vectors of the model before were removed: coming back to it embeds again
    assert store(open_with(Model()), ["one"]) == 1


def test_vectors_of_texts_that_no_longer_exist_are_removed(
    open_with: Callable[[Model], Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_BLOCK", 4)
    ws = open_with(Model())
    store(ws, [f"old {number}" for number in range(20)])
    store(ws, ["new", "old 3"])
    with ws.store.reading("graph") as db:
        assert db is not None
        assert sum(row[0] for row in db.rows("SELECT size FROM vector_blocks")) == 2
    assert [one for one, _ in nearest(ws, "old 3", {hash_of("new"), hash_of("old 3")}, 1)] == [
        hash_of("old 3")
    ]


def test_a_block_that_was_damaged_is_embedded_again(
    open_with: Callable[[Model], Workspace],
) -> None:
    ws = open_with(Model())
    store(ws, ["one", "two"])
    with ws.store.writing("graph") as db, db.transaction():
        db.execute("UPDATE vector_blocks SET vectors = x'00ff'")
    assert nearest(ws, "one", {hash_of("one")}, 5, -1) == []
    assert store(ws, ["one", "two"]) == 2
    assert len(nearest(ws, "one", {hash_of("one")}, 5, -1)) == 1


def broken(texts: Sequence[str]) -> Any:
    raise RuntimeError("weights.bin is\ntruncated")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"embed": broken}, "failed: RuntimeError: weights.bin is truncated"),
        ({"embed": lambda texts: [[math.nan] * DIMENSION for _ in texts]}, "NaN or infinite"),
        (
            {"embed": lambda texts: [[1.0, math.inf] * (DIMENSION // 2) for _ in texts]},
            "NaN or infinite",
        ),
        ({"embed": lambda texts: [[1.0] * 3 for _ in texts]}, "vectors of 3 dimensions, not of 32"),
        ({"embed": lambda texts: [[1.0] * 3, [1.0]]}, "rows of several lengths"),
        ({"embed": lambda texts: ["a"] * len(texts)}, "gives no numbers"),
        ({"embed": lambda texts: []}, "no row of numbers for each of 2 texts"),
        ({"embed": lambda texts: [[]] * len(texts)}, "no row of numbers"),
        (
            {
                "embed": lambda texts: [[1.0] * len(text) for text in texts],
                "dimension": 0,
                "batch": 1,
            },
            "several dim",
        ),
    ],
)
def test_what_is_no_vector_is_refused_in_one_line(
    open_with: Callable[[Model], Workspace], changes: dict[str, Any], reason: str
) -> None:
    ws = open_with(Model(**changes))
    with pytest.raises(EnvironmentProblem, match=reason) as problem:
        store(ws, ["one", "second"])
    assert "\n" not in str(problem.value)
    assert "embedder test" in str(problem.value)


def test_a_model_that_changed_under_its_name_is_refused(
    open_with: Callable[[Model], Workspace],
) -> None:
    store(open_with(Model()), ["one"])
    ws = open_with(Model(embed=lambda texts: [[1.0] * 3 for _ in texts], dimension=0))
    with pytest.raises(EnvironmentProblem, match="3 dimensions; those that are stored have 32"):
        nearest(ws, "one", {hash_of("one")}, 1)
    with pytest.raises(EnvironmentProblem, match="3 dimensions; those that are stored have 32"):
        store(ws, ["two"])


def test_neighbors_in_a_text_are_compared(open_with: Callable[[Model], Workspace]) -> None:
    found = similarities(open_with(Model()), ["a", "a", "b"])
    assert found == pytest.approx([1, cosine(vector_of("a"), vector_of("b"))], abs=1e-5)
    assert similarities(open_with(Model()), ["a"]) == []


def test_a_scan_takes_less_memory_than_the_vectors_twice(
    open_with: Callable[[Model], Workspace],
) -> None:
    numpy = pytest.importorskip("numpy")
    rows = numpy.random.default_rng(1).normal(size=(7, 256))
    model = Model(embed=lambda texts: rows[: len(texts)], dimension=256)
    ws = open_with(model)
    texts = [f"text {number}" for number in range(6_000)]
    store(ws, texts)
    hashes = {hash_of(one) for one in texts}
    tracemalloc.start()
    try:
        nearest(ws, "text", hashes, 10)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= 2 * len(texts) * 256
