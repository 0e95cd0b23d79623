"""Context packages: the task, the candidates that might help with it, and the ranked, budgeted
answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kl_hooks.model.claim import Tier
from kl_hooks.model.definitions import NamedTuple

if TYPE_CHECKING:
    from kl_hooks.model.symbol import Symbol

CODE: Final = ("file", "symbol")
"""Kinds of candidates that are source: they are ranked and shown by themselves, and have no tier.
"""
PLACE: Final = "code"
"""Kind of a symbol in a brief, with what relies on it."""
WITHHELD: Final = "withheld"
"""In place of the ID of a denied item, for agents: the ID of code or of a page is its path and
name.
"""


class Signals(NamedTuple):
    """What a task's words point at; all in the order of the text, each once."""

    keywords: tuple[str, ...] = ()
    """Lower-case words longer than two letters, without stop words; at most 15."""
    symbols: tuple[str, ...] = ()
    """Names that look like code: `PascalCase`, `snake_case`, `dotted.names`; at most 10."""
    failures: tuple[str, ...] = ()
    """Words such as `error` or `broken`, with the code name next to them; at most 10."""
    paths: tuple[str, ...] = ()
    """Words that look like a file, such as `src/a.py`; at most 10."""
    frames: tuple[tuple[str, int], ...] = ()
    """(path, line) of tracebacks and pytest reports, as written; the outermost call first; the last
    50.
    """
    tests: tuple[str, ...] = ()
    """Tests as pytest writes them: `tests/test_a.py::test_b[1]`; at most 10."""


class Task(NamedTuple):
    """A request for context."""

    text: str
    signals: Signals
    names: tuple[str, ...] = ()
    """Dotted names of symbols that the request starts from, besides those in the text."""
    paths: tuple[str, ...] = ()
    """Files that it starts from, besides those in the text."""


class Candidate(NamedTuple):
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
    tier: Tier | None = None
    """How well the claim in it is proven; None: it claims nothing (source, a commit)."""
    freshness: str = "not assessed"
    authority: str = "auto"
    """`human`, `agent` or `auto`."""
    reasons: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    """What a reader must know of its origin before its first word: `agent`, `not committed`."""
    is_lasting: bool = False
    """True for what holds whatever the task's words are: an active objective, a decision on a file
    the task names.
    """
    read_from: str = ""
    """The document that it was seeded from, whose text it repeats; empty: none."""
    omit: str = ""
    """Why whoever asks is not shown it: an agent reads that file by itself. Empty: he is."""
    beyond: str = ""
    """Why it is counted, not given, although it fits: enough that is nearer is given. `reason:
    details`.
    """
    pinned: bool = False
    """True for what the smallest package keeps, if only as one line."""
    proof: str = ""
    """Of code: what recorded tests show of it, in a few words."""
    score: int = 0
    """Millionths, where its retriever gives more than an order."""
    parts: tuple[tuple[str, int], ...] = ()
    """What that score is made of."""
    touches: tuple[str, ...] = ()
    """Other files that it is about: those of a commit, those that a record is about."""
    tags: tuple[str, ...] = ()
    classification: str = ""
    """Of a record whose kind has a field of that name: its value."""
    redacted_by: str = ""
    """The rule of the policy by which only its ID, kind and place are shown; empty: none."""
    helped: int = 0
    """Of a record: in how many tasks it helped, without those in which it did not."""


def placed(identifier: str, kind: str, path: str) -> Candidate:
    """Return what a rule needs to see of something that is no record: what and where it is."""
    return Candidate(identifier, kind, "", "", "", path)


class Query(NamedTuple):
    """How one retriever answered."""

    source: str
    results: int
    status: str
    """As in the coverage of a package."""
    ms: int


class Item(NamedTuple):
    """A candidate that made it into the package, and why."""

    candidate: Candidate
    form: str
    """`full`, `summary`, `redacted`, or of code `name`."""
    text: str
    """As rendered in the package."""
    tokens: int
    score: int
    """Millionths."""
    parts: Mapping[str, int]
    """What the score is made of, millionths each."""
    category: str = ""
    """The category of the budget that it uses; empty where the budget is not divided."""


class Search(NamedTuple):
    """One search of a package that made several."""

    name: str
    """`query 2`, `round 2`."""
    text: str
    found: int
    """Candidates that no search before it had found."""


class Omission(NamedTuple):
    """A candidate that did not make it, and why."""

    id: str
    reason: str


class PolicyDecision(NamedTuple):
    """What a policy decided about the candidates of one package."""

    id: str
    policy: str
    """Digest of the policy and of the actor."""
    actor: str
    """`human`, or `agent:NAME`."""
    effects: tuple[tuple[str, str, str, str], ...]
    """(ID, path of code, `allow`, `redact` or `deny`, rule) of each candidate, sorted."""


class Budget(NamedTuple):
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
    characters: Mapping[str, int] = field(default_factory=dict)
    """Kind → characters of its items in the text; of code those of all files."""
    decision: PolicyDecision | None = None
    """None: there is no policy."""
    queries: tuple[Query, ...] = field(default=(), compare=False)
    """What was asked for it; the times differ from one build to the next."""
    commit: str = field(default="", compare=False)
    """HEAD when it was built: other commits may have the same content."""
    searches: tuple[Search, ...] = ()
    """Empty where the task alone was searched, once."""
    quota: Mapping[str, object] = field(default_factory=dict)
    """Of a divided budget: `traits`, `shares`, `metrics`."""


def symbol_candidate(symbol: Symbol, reason: str) -> Candidate:
    """Return a symbol as a candidate for a package."""
    return Candidate(
        symbol.id,
        "symbol",
        symbol.signature,
        "",
        symbol.doc,
        symbol.path,
        symbol.line,
        reasons=(reason,),
    )
