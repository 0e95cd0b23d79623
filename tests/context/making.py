"""What the context tests are built with: candidates, hypothesis strategies, and a retriever that
looks in a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from kl_hooks.context.fuse import Code, Ranked
from kl_hooks.context.gather import code_of
from kl_hooks.hookspecs import Retriever
from kl_hooks.model.claim import Tier
from kl_hooks.model.package import Candidate, Task

steady = settings(suppress_health_check=[HealthCheck.too_slow])
"""For every property: a busy machine is no failure."""


def candidate(name: str, **more: Any) -> Candidate:
    """A fact called `name`."""
    fields: dict[str, Any] = {
        "id": f"function:shop.{name}",
        "kind": "fact",
        "title": name,
        "text": f"def {name}() -> int",
        "summary": f"def {name}()",
        "path": f"src/{name}.py",
        "line": 7,
        "tier": Tier.GUESSED,
    }
    return Candidate(**{**fields, **more})


def symbol(name: str, path: str = "src/shop.py", **more: Any) -> Candidate:
    """A function called `name`."""
    return Candidate(
        **{
            "id": f"function:shop.{name}",
            "kind": "symbol",
            "title": name,
            "text": "",
            "summary": "",
            "path": path,
            "line": 7,
            **more,
        }
    )


def code_of_symbols(*symbols: Candidate) -> Code:
    """The ranking of these symbols and their files, in this order."""
    return code_of({"named": symbols})


def ranked(candidates: Sequence[Candidate]) -> list[Ranked]:
    """In this order, with falling scores."""
    return [Ranked(c, 1000 - n, {"symbols": 1000 - n}, n) for n, c in enumerate(candidates, 1)]


@dataclass(frozen=True)
class ListRetriever:
    """A retriever over a list: what holds any word of the task, most words first."""

    name: str
    known: tuple[Candidate, ...]
    weight: int = 100

    def find(self, workspace: Any, task: Task, limit: int) -> Sequence[Candidate]:
        words = (*task.signals.keywords, *(s.lower() for s in task.signals.symbols))
        locked = [(sum(w in f"{c.id} {c.text}".lower() for w in words), c) for c in self.known]
        return [c for n, c in sorted(locked, key=lambda h: (-h[0], h[1].id)) if n][:limit]

    def offered(self) -> Retriever:
        """As a plugin hands it over."""
        return Retriever(self.name, self.weight, self.find)


NASTY = [
    "",
    " ",
    "\n",
    "\x00",
    "\x1b[31mred\x1b[0m",
    "\u202eevil",
    "a\u200bb",
    "\ud800",
    "## evidence",
    "- [verified]",
    "```",
    "~~~",
    "<system>",
    "</kl>",
    "`x`",
    "end of cp-000000000000",
    "\r\n- [x] y",
    "\u2028## z",
    "\x0c",
    "=====",
    "  | quoted",
    "'; DROP TABLE x; --",
    "%s%n{0}",
    "🏳️‍🌈",
    "Ω≈ç√",
    "１２３",
    "[a](http://x)",
    "![i](http://x)",
    "<!--",
    "\\x3c",
]
"""Text that breaks careless programs, or that looks like a line of ours."""

text = st.one_of(
    st.text(max_size=60),
    st.lists(st.one_of(st.sampled_from(NASTY), st.text(max_size=12)), max_size=6).map("\n".join),
    st.lists(st.sampled_from(NASTY), max_size=8).map("".join),
)
words = st.sampled_from(["total", "round", "parser", "feed", "cart"])
candidates = st.fixed_dictionaries(
    {
        "id": st.one_of(text, st.integers(0, 20).map(lambda n: f"function:shop.f{n}")),
        "kind": st.one_of(
            st.sampled_from(["failing test", "evidence", "commit", "decision", "other"]), text
        ),
        "title": text,
        "text": st.one_of(text, st.integers(1, 400).map(lambda n: "word " * n)),
        "summary": text,
        "path": st.one_of(text, words.map(lambda w: f"src/{w}.py")),
        "line": st.integers(0, 5000),
        "tier": st.one_of(st.none(), st.sampled_from(Tier)),
        "freshness": st.one_of(st.sampled_from(["current", "older tree", "expired"]), text),
        "reasons": st.lists(text, max_size=2).map(tuple),
    }
).map(lambda values: Candidate(**values))
"""Candidates of every shape, hostile ones too."""
unique = st.lists(candidates, max_size=15, unique_by=lambda c: c.id)

symbols = st.builds(
    symbol,
    st.one_of(text, st.integers(0, 40).map(lambda n: f"Owner{n % 3}.method{n}")),
    st.one_of(text.filter(bool), words.map(lambda w: f"src/{w}.py")),
    summary=text,
    text=text,
    proof=text,
    line=st.integers(0, 5000),
)
code = st.lists(symbols, max_size=30).map(lambda some: code_of_symbols(*some))
"""Rankings of symbols of every shape, hostile ones too."""
