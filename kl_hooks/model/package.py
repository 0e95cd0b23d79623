"""Context packages: the task, the candidates that might help with it, and the ranked, budgeted answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kl_hooks.model.claim import Tier


@dataclass(frozen=True, slots=True)
class Signals:
    """What a task's words point at; all in the order of the text, each once."""

    keywords: tuple[str, ...] = ()
    """Lower-case words longer than two letters, without stop words; at most 15."""
    symbols: tuple[str, ...] = ()
    """Names that look like code: `PascalCase`, `snake_case`, `dotted.names`; at most 10."""
    failures: tuple[str, ...] = ()
    """Words such as `error` or `broken`, with the code name next to them; at most 10."""
    paths: tuple[str, ...] = ()
    """Words that look like a file, such as `src/a.py`; at most 10."""


@dataclass(frozen=True, slots=True)
class Task:
    """A request for context."""

    text: str
    signals: Signals


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something a retriever found."""

    id: str
    """Its ID: the same ID from two retrievers is one item."""
    kind: str
    """`symbol`, `commit`, `evidence`, `decision` …: its heading."""
    title: str
    text: str
    """The whole of it, plain text, already redacted."""
    summary: str
    """One line to show where the whole does not fit."""
    path: str = ""
    line: int = 0
    tier: Tier = Tier.GUESSED
    freshness: str = "not assessed"
    authority: str = "auto"
    """`human`, `agent` or `auto`."""
    reasons: tuple[str, ...] = ()
    touches: tuple[str, ...] = ()
    """Other files it covers: those that a commit changed. Their content is nearer to the task."""
    marks: tuple[str, ...] = ()
    """What a reader must know of its origin before its first word: `agent`, `not committed`."""
    is_lasting: bool = False
    """True for what holds whatever the task's words are: an active objective, a decision on a file the task names."""
    read_from: str = ""
    """The document that it was seeded from, whose text it repeats; empty: none."""
    omit: str = ""
    """Why whoever asks is not shown it: an agent reads that file by itself. Empty: he is."""
    beyond: str = ""
    """Why it is counted, not given, although it fits: enough that is nearer is given. `reason: details`."""
    pinned: bool = False
    """True for what the smallest package keeps, if only as one line."""


@dataclass(frozen=True, slots=True)
class Item:
    """A candidate that made it into the package, and why."""

    candidate: Candidate
    form: str
    """`full`, `summary` or `redacted`."""
    text: str
    """As rendered in the package."""
    tokens: int
    score: int
    """Millionths."""
    parts: Mapping[str, int]
    """What the score is made of, millionths each."""


@dataclass(frozen=True, slots=True)
class Omission:
    """A candidate that did not make it, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Budget:
    """How large the answer may be and is, in one unit."""

    unit: str
    """`characters` or `tokens`."""
    total: int
    used: int = 0
    estimator: str = "characters"


@dataclass(frozen=True, slots=True)
class Package:
    """The ranked, budgeted answer; never larger than its budget."""

    id: str
    task: str
    budget: Budget
    items: tuple[Item, ...]
    omissions: tuple[Omission, ...]
    coverage: Mapping[str, str]
    """Retriever → `ok`, `empty` or `failed: reason`."""
    text: str
    """The rendered package: what the budget bounds."""
    shares: Mapping[str, int] = field(default_factory=dict)
    """Kind → characters used."""
