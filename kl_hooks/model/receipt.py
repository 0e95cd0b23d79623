"""Evidence and receipts: what was observed, and one capture of it that can never be edited
unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final

from kl_hooks.model.canonical import digest
from kl_hooks.model.definitions import EMPTY, NamedTuple
from kl_hooks.model.text import counted

TEST_OUTCOMES: Final = ("passed", "skipped", "xfailed", "xpassed", "flaky", "error", "failed")
"""The verdicts of a test, best first. `flaky`: passed on a later attempt. `error`: setup, teardown
or collection.
"""

_RANK: Final = {name: rank for rank, name in enumerate(TEST_OUTCOMES)}
SUPPORTS: Final = frozenset({"passed", "clean"})
"""Outcomes that speak for their subject: a test that passed, a command with exit 0, a check without
findings.
"""
OF_OTHERS: Final = "of_others"
"""The detail of a failure that other tests may have caused: a fixture of wider scope ended, or an
object or a thread that one of them left.
"""
WAS_RUNNING: Final = "the process ended while this test was running"
"""The message of the test in which a killed run ended."""
REFUTES: Final = frozenset({"failed", "error"})
"""Outcomes that speak against it. Everything else counts for neither."""


def worst_outcome(outcomes: Iterable[str]) -> str:
    """The worst test outcome of a non-empty collection. KeyError for a word that is none."""
    return max(outcomes, key=_RANK.__getitem__)


def counted_outcome(number: int, outcome: str) -> str:
    """`2 failed`, `1 error`, `2 errors`."""
    if outcome == "error":
        return counted(number, outcome)
    return f"{number} {outcome}"


def run_outcome(result: Mapping[str, Any]) -> str:
    """The outcome of a run in one word, from a receipt's `result`: its verdict, or how it ended
    early.

    `passed`, `failed`, `inconclusive`; `incomplete` (killed), `interrupted`, `collection-error`,
    `usage-error` …
    """
    ending = result.get("how")
    if result.get("complete") or ending in ("finished", "no-tests"):
        return str(result.get("verdict") or "unknown")
    if ending in ("killed", None):
        return "incomplete"
    return str(ending)


EVIDENCE_CLASSES: Final = (
    "TestResult",
    "ExitCode",
    "Validator",
    "GitHistory",
    "ADR",
    "RepositoryMemory",
    "EvidenceGraph",
    "AgentAssertion",
)
HARD_CLASSES: Final = frozenset(EVIDENCE_CLASSES[:4])


class Evidence(NamedTuple):
    """One observed fact in a receipt, for or against a subject."""

    kind: str
    """Its class, one of `EVIDENCE_CLASSES`."""
    subject: str
    """The Id it speaks about: `test:<nodeid>`, `command:<argv>`, `commit:<sha>`, `check:arch`."""
    outcome: str
    """`passed`, `failed`, … (see `outcome`); `committed` for a commit."""
    duration_us: int = 0
    """Microseconds; 0 where it was not measured."""
    executed: str | None = None
    """Digest of the interned set of symbols the test executed; None: not assessed."""
    detail: Mapping[str, Any] = {}
    """What else is known: `message`, `path`, `line`, `exit`, `tail` … (redacted, plain values)."""

    def to_dict(self) -> dict[str, Any]:
        """As in `kl.receipt/1`: class, subject, outcome, duration_us, executed, and the details,
        which replace none.
        """
        return {
            **self.detail,
            "class": self.kind,
            "subject": self.subject,
            "outcome": self.outcome,
            "duration_us": self.duration_us,
            "executed": self.executed,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Evidence:
        """The inverse of `to_dict()`. KeyError or TypeError where it is not one."""
        duration = plain.get("duration_us") or 0
        # JSON has numbers without an end (1e999), which no integer is
        if not isinstance(duration, int):
            raise TypeError("duration_us is no whole number")
        own_keys = ("class", "subject", "outcome", "duration_us", "executed")
        detail = {k: v for k, v in plain.items() if k not in own_keys}
        return cls(
            str(plain["class"]),
            str(plain["subject"]),
            str(plain["outcome"]),
            duration,
            plain.get("executed"),
            detail,
        )


FACT_CLASSES: Final[Mapping[str, str]] = {
    "reads": "the source files that its tests read as data, and the folders that they listed",
    "lookups": "the modules that its tests looked for and did not find",
    "distributions": "the installed distributions",
    "looks": "the files that its tests looked for, and whose state they asked for",
    "stores": "what computed the values that functions store for later calls",
    "states": "what its tests leave behind for later ones",
    "shares": "what its tests find that earlier ones left, and take away",
    "process": "what its tests leave changed in the whole process",
    "libraries": "the docstrings, and the modules by their names, that installed code got for its tests",
}
"""Class of facts → in words what a run recorded that has it. A run names its classes in
`environment["facts"]`; one of an earlier kl has fewer, and none of its results transfers to a
content that differs in what the missing class is about (`proof.rules.facts_not_recorded`).
"""

HEADER_KEYS: Final = (
    "schema",
    "run",
    "source",
    "observer",
    "producer",
    "parent",
    "tree",
    "tree_all",
    "tree_end",
    "moved",
    "head",
    "branch",
    "dirty",
    "started",
    "ended",
    "environment",
    "selection",
    "result",
    "evidence_digest",
)
RECEIPT_SCHEMA: Final = "kl.receipt/1"


class _Receipt(NamedTuple):
    """The parts of `Receipt`, which stores also what it computes of them."""

    run: str
    """Random id of this capture: the same capture ingested twice is one receipt, a new run is a new
    one.
    """
    source: str
    """pytest, command, commits, junit, arch …"""
    observer: str
    """Who saw it: `pytest` (in process), `kl run` (the parent process), `git`, `arch`, `junit`."""
    producer: str
    """Who made it happen: `local:<user>@<host>`, `ci:<name>:<run>`, `agent:<name>`."""
    evidence: tuple[Evidence, ...]
    started: str
    ended: str
    parent: str | None = None
    """The run that this one was started by (`KL_PARENT`)."""
    tree: str | None = None
    """Git tree id of the tracked files as they were on disk at the start; None: unknown."""
    tree_all: str | None = None
    """The same with untracked, not ignored files."""
    tree_end: str | None = None
    """`tree` again at the end."""
    moved: bool = False
    """Tracked files changed while it ran."""
    head: str | None = None
    branch: str | None = None
    dirty: bool = False
    environment: Mapping[str, Any] = EMPTY
    selection: Mapping[str, Any] = EMPTY
    """`args`, `collected`, `deselected`, `ran`."""
    result: Mapping[str, Any] = EMPTY
    """`exit`, `complete`, `how`, `verdict`, `reasons`, `counts`."""
    folded_digest: str = ""
    """The digest of evidence that upkeep has deleted; empty: the evidence is complete."""


class Receipt(_Receipt):
    """One capture: who ran what, on which tree, in which environment, with which outcomes.
    Append-only.
    """

    @cached_property
    def evidence_digest(self) -> str:
        """sha256 over the canonical evidence, in the order observed."""
        return self.folded_digest or digest("evidence/1", [e.to_dict() for e in self.evidence])

    def header(self) -> dict[str, Any]:
        """Everything but the evidence itself, plus its digest: what the id is the hash of."""
        # chain and origin are the store's, not part of this: export and import must not change the
        # ID (ADR-0003)
        values = {
            k: getattr(self, k) for k in HEADER_KEYS if k not in ("schema", "evidence_digest")
        }
        plain = {k: dict(v) if isinstance(v, Mapping) else v for k, v in values.items()}
        return {"schema": RECEIPT_SCHEMA, **plain, "evidence_digest": self.evidence_digest}

    @cached_property
    def id(self) -> str:
        """64 hexadecimal digits: the hash of the header."""
        return receipt_id(self.header())

    def to_dict(self) -> dict[str, Any]:
        """As `kl evidence show --format json` prints it."""
        return {"id": self.id, **self.header(), "evidence": [e.to_dict() for e in self.evidence]}


class SignedReceipt(NamedTuple):
    """A receipt, and the signatures that were found to be over it."""

    receipt: Receipt
    signatures: tuple[tuple[str, bytes], ...]
    """(public key as in authorized_keys, signature of ssh-keygen)."""


def receipt_id(header: Mapping[str, Any]) -> str:
    """The id that a header has: 64 hexadecimal digits."""
    return digest("receipt/1", dict(header))


def receipt_from_header(
    header: Mapping[str, Any], evidence: tuple[Evidence, ...], *, folded: bool = False
) -> Receipt:
    """A receipt of a header (as `Receipt.header()` gave it) and its evidence. KeyError where
    something is missing.

    `folded`: its evidence was deleted; the header has its digest.
    """
    fields = {k: header[k] for k in HEADER_KEYS if k not in ("schema", "evidence_digest")}
    return Receipt(
        evidence=evidence, **fields, folded_digest=str(header["evidence_digest"]) if folded else ""
    )
