"""Claims and tiers: a sentence about a subject, the evidence for it, and how well that supports it
today.

The tier is a pure function of the evidence: nobody grades their own claims.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Any, Final

from kl_hooks.model.canonical import digest
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import HARD_CLASSES


class Tier(IntEnum):
    """Ordered: `Tier.VERIFIED > Tier.GUESSED`."""

    GUESSED = 0
    ASSUMED = 1
    INFERRED = 2
    VERIFIED = 3

    @property
    def word(self) -> str:
        """`verified`, `inferred`, `assumed` or `guessed`."""
        return self.name.lower()


class Observation(NamedTuple):
    """One piece of evidence as the tier rule sees it."""

    kind: str
    """Class of evidence."""
    observer: str
    producer: str
    run: str
    """The execution that was observed: a process that watched it from outside observed the same
    one.
    """
    hard: bool
    """False where it can't count as hard: flaky, incomplete, moved or unknown tree, JUnit without
    `--tree`.
    """
    why_not: str = ""
    """The reason where `hard` is False although the class is a hard one."""
    environment: tuple[str, ...] = ()
    """Implementation and minor version, operating system, machine; an empty text where one of them
    is unknown.
    """
    way: str = ""
    """`serial`, `distributed`, `random:<plugin>:<seed>` …; empty: unknown."""
    attested: bool = False
    """Whether its producer is proven, by the signature of a trusted key. Nothing in the environment
    proves one.
    """
    asserted: bool = False
    """Whether it is hard by an assertion alone: imported, and no trusted key signed it (ADR-0047).
    """


_EXECUTION: Final = frozenset({"TestResult", "ExitCode"})
"""Classes that both observe how one execution of the code under test ended."""


def are_independent(a: Observation, b: Observation) -> bool:
    """Whether two observations are of different executions, under conditions that differ in at
    least one respect.

    The respects: class of evidence, environment, way of running, attested producer. What is unknown
    on one side differs from nothing. Neither the observer nor a producer's unproven name counts
    (ADR-0017).
    """
    if a.run == b.run:
        return False
    # a test's result and the exit code of the command around it are two looks at one execution
    # (ADR-0017)
    if a.kind != b.kind and not {a.kind, b.kind} <= _EXECUTION:
        return True
    # not strict: an assertion has no environment, and what is unknown differs from nothing
    conditions_differ = (
        one and other and one != other
        for one, other in zip(a.environment, b.environment, strict=False)
    )
    ways = bool(a.way and b.way and a.way != b.way)
    # one that a trusted key signed, and one of this store (or of another key): two producers, one
    # of them proven
    return (
        ways or any(conditions_differ) or ((a.attested or b.attested) and a.producer != b.producer)
    )


def _two_classes(a: Observation, b: Observation) -> bool:
    return a.kind != b.kind


def tier(observations: Iterable[Observation], rule: str = "independent") -> Tier:
    """verified: two independent hard ones; inferred: one, or a soft one; assumed: only assertions;
    else guessed.

    `rule` is the setting `verified_requires`: with `classes` two hard ones of different classes are
    enough, also of one execution (A36).
    """
    distinct = list(observations)
    hard = [o for o in distinct if o.hard and o.kind in HARD_CLASSES]
    if rule == "independent":
        agree = are_independent
    else:
        agree = _two_classes
    if any(agree(a, b) for i, a in enumerate(hard) for b in hard[i + 1 :]):
        return Tier.VERIFIED
    if hard or any(o.kind in ("ADR", "RepositoryMemory", "EvidenceGraph") for o in distinct):
        return Tier.INFERRED
    if any(o.asserted or o.kind == "AgentAssertion" for o in distinct):
        return Tier.ASSUMED
    return Tier.GUESSED


OLDER_TREE: Final = "older tree"
"""The freshness of what was observed on another content than today's."""
REFUTED: Final = "refuted"
"""The freshness of a claim whose cited test fails on today's content."""
DOUBTFUL: Final = (OLDER_TREE, REFUTED)
"""What does not count as true today."""


def tier_words(tier: str, freshness: str) -> list[str]:
    """Tier and freshness as they are printed.

    The tier of an older content is never the first word.
    """
    if freshness == REFUTED:
        return [REFUTED]
    if freshness == OLDER_TREE:
        return [f"stale: {tier} on an older tree"]
    return [tier, freshness]


class Support(NamedTuple):
    """One line of why a claim is believed or doubted: a receipt's observation and what it counts
    for.
    """

    observation: Observation
    receipt: str
    outcome: str
    tree: str | None
    at: str
    """ISO time the observation ended."""
    speaks: str
    """`for`, `against` or `nothing`."""
    origin: str = ""
    """Of the receipt: `local`, `ci:<name>`, `signed:<name>`, `imported:…; <why no trusted key
    counts>`; empty: none.
    """


class Anchor(NamedTuple):
    """A symbol or a file that a claim rests on, as it was when the claim was made."""

    path: str
    symbol: str
    """`function:_.f`, with `_` for the module; empty: the whole file, which is not Python."""
    content_hash: str
    """Of the symbol, of `code.scanner`; of a file its blob ID."""

    @property
    def name(self) -> str:
        """`f in src/a.py`, or the path."""
        own = self.symbol.partition(":")[2].removeprefix("_")
        own = own.removeprefix(".").removeprefix("#")
        if own:
            return f"{own} in {self.path}"
        return self.path


class TestPart(NamedTuple):
    """A definition that a test consists of, see `proof.test_parts`."""

    path: str
    """Of its file; empty: the test's own."""
    name: str
    """Empty: the test function itself."""
    digest: str


class CitedTest(NamedTuple):
    """A test that the author of a claim cites, as it was then."""

    nodeid: str
    parts: tuple[TestPart, ...]


class Confirmation(NamedTuple):
    """Somebody looked at a claim again, and it was still so."""

    author: str
    at: str
    """ISO time."""


class Claim(NamedTuple):
    """A sentence with its support; its tier is computed, never stored."""

    text: str
    about: str
    """The Id it is about."""
    author: str
    """`auto` where kl made it from evidence; else who asserted it."""
    made_at: str
    expires: str | None = None
    support: tuple[Support, ...] = ()
    freshness: str = "not assessed"
    """`current` (this tree), `transferred`, `older tree`, `refuted`, `expired`, `not assessed`;
    explained by `reasons`.
    """
    reasons: tuple[str, ...] = ()
    rule: str = "independent"
    """What two hard observations must be for `verified`, see `tier`."""
    max_tier: Tier = Tier.VERIFIED
    """The highest tier that its age allows, see `evidence.claims`."""
    cites: tuple[str, ...] = ()
    """What its author cites for it: IDs of records and tests, hashes of commits."""
    rests_on: tuple[Anchor, ...] = ()
    """What it names, as it was then; empty where nothing of it is in the source, or nobody recorded
    it.
    """
    head: str = ""
    """The commit that was checked out then."""
    tests: tuple[CitedTest, ...] = ()
    """The tests that it cites, as they were then; a test that is absent was not recorded."""
    ended: tuple[str, ...] = ()
    """What it is about or cites and that has ended or is not there, a line each."""
    confirmed: Confirmation | None = None
    """The newest confirmation; what it rests on is as it was at that time."""

    def basis_to_dict(self) -> dict[str, Any]:
        """What it rests on as plain data: `ledger.basis_of` reads it."""
        return {
            "rests_on": [list(anchor) for anchor in self.rests_on],
            "head": self.head,
            "tests": [[test.nodeid, [list(part) for part in test.parts]] for test in self.tests],
        }

    @property
    def since(self) -> str:
        """When somebody last stated it; ISO time."""
        if self.confirmed:
            return self.confirmed.at
        return self.made_at

    @property
    def last_author(self) -> str:
        """Who stated it last."""
        if self.confirmed:
            return self.confirmed.author
        return self.author

    @property
    def is_of_agent(self) -> bool:
        """Whether the last word on it is an agent's."""
        return self.last_author.startswith("agent:")

    @property
    def id(self) -> str:
        """16 hexadecimal digits over sentence and subject: the same claim made twice is one
        claim.
        """
        return digest("claim/1", [self.text, self.about])[:16]

    @property
    def tier(self) -> Tier:
        """Of what speaks for it, as far as its age allows."""
        return min(
            self.max_tier,
            tier((s.observation for s in self.support if s.speaks == "for"), self.rule),
        )
