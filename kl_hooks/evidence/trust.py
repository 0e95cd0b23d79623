"""What an observation weighs: whether it can count as hard, and what the process around a run adds.
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kl_hooks.model.claim import Observation
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import HARD_CLASSES, REFUTES, SUPPORTS, Evidence, Receipt

ATTESTED: Final = ("ci:", "signed:")
"""How the origin of a receipt begins that a trusted key signed."""
IMPORTED: Final = "imported"
"""How the stored origin of a receipt begins that was made elsewhere."""
NOTES: Final = f"{IMPORTED}:notes"
"""That of one out of git notes."""


class OriginMeaning(NamedTuple):
    """What it means that a receipt has an origin."""

    name: str
    proves: str
    not_proven: str


ORIGINS: Final = {
    "local": OriginMeaning(
        "recorded in this store",
        "nothing edited it since a head of the chain that was noted elsewhere",
        "that the tests ran as it states: any program that may run here can write such a receipt",
    ),
    IMPORTED: OriginMeaning(
        "imported, and no trusted key signed it",
        "its hashes fit",
        "where it comes from, or that anything ran: it is an assertion, and no gate counts it",
    ),
    "signed": OriginMeaning(
        "signed by a trusted key of a person",
        "the owner of the key vouches for this receipt: content, commit, run, results",
        "that the tests ran; that the key was not stolen; that its owner looked",
    ),
    "ci": OriginMeaning(
        "signed by a trusted key of a CI",
        "the owner of the CI's key vouches for this receipt: content, commit, run, results",
        "that the workflow was not changed, and no other code ran where the key is",
    ),
}
"""Beginning of an origin → what it means."""


def origin_meaning(origin: str) -> OriginMeaning:
    """What an origin means; one of a place where a spool waited is that of this store."""
    return ORIGINS.get(origin.partition(":")[0].partition(";")[0], ORIGINS["local"])


def observation(receipt: Receipt, evidence: Evidence, origin: str = "local") -> Observation:
    """This evidence of this receipt, as the tier rule sees it."""
    why = why_not_hard(receipt, evidence, origin)
    hard = not why and evidence.kind in HARD_CLASSES
    # what a trusted key signed was produced by whoever has the key; the name in the receipt is a
    # word (ADR-0017)
    attested = origin.startswith(ATTESTED)
    return Observation(
        evidence.kind,
        receipt.observer,
        origin if attested else receipt.producer,
        receipt.run,
        hard,
        why,
        environment_key(receipt),
        execution_mode(receipt),
        attested,
        origin.startswith(IMPORTED)
        and evidence.kind in HARD_CLASSES
        and not _why_weak(receipt, evidence),
    )


def environment_key(receipt: Receipt) -> tuple[str, ...]:
    """Implementation and minor version of Python, operating system and machine; empty texts for
    what is unknown.
    """
    environment = receipt.environment
    minor = ".".join(str(environment.get("python") or "").split(".")[:2])
    platform = str(environment.get("platform") or "")
    return str(environment.get("implementation") or ""), minor, platform


def execution_mode(receipt: Receipt) -> str:
    """How the tests were run, as words that differ where the ways do. Empty where nobody recorded
    it.

    One xdist worker runs the tests in their order, one after the other: that is serial.
    """
    way = receipt.environment.get("way")
    if not isinstance(way, Mapping):
        return ""
    workers = way.get("distributed")
    parts = ["distributed" if isinstance(workers, int) and workers > 1 else "serial"]
    if way.get("random_order"):
        if way.get("seed") in (None, ""):
            return ""  # an order that nobody can repeat may have been the same
        parts.append(f"random:{way['random_order']}:{way['seed']}")
    return " ".join(parts)


def why_not_hard(receipt: Receipt, evidence: Evidence, origin: str = "local") -> str:
    """In one phrase why it can't count as hard; empty where it can."""
    weak = _why_weak(receipt, evidence)
    if not origin.startswith(IMPORTED):
        return weak
    word = f"imported, and {origin.partition('; ')[2] or 'no trusted key signed it'}"
    if weak:
        return f"{word}; {weak}"
    return f"{word}: assumed"


def _why_weak(receipt: Receipt, evidence: Evidence) -> str:
    """The same for a receipt of this store."""
    if evidence.outcome == "flaky":
        return "flaky: it passed only on a later attempt"
    if not receipt.result.get("complete"):
        return f"the run is incomplete ({receipt.result.get('how') or 'unknown'})"
    if receipt.result.get("verdict") == "inconclusive":
        return "the run is inconclusive: " + "; ".join(
            receipt.result.get("reasons") or ["no reason was recorded"]
        )
    if receipt.tree is None:
        return "the tree it ran on is unknown"
    if receipt.moved:
        return "tracked files changed while it ran"
    return ""


def ran_no_test(selection: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    """True for a run that only listed tests, or that pytest refused to begin: no evidence about any
    content.

    `selection` and `result` are those of its header. A run that failed to collect a file is
    evidence.
    """
    counts = result.get("counts") or {}
    none = result.get("how") == "usage-error" or bool(selection.get("collect_only"))
    return none and not any(counts.get(word) for word in REFUTES)


def stance(evidence: Evidence) -> str:
    """`for`, `against` or `nothing`: what an outcome means for its subject."""
    if evidence.outcome in SUPPORTS:
        return "for"
    if evidence.outcome in REFUTES:
        return "against"
    return "nothing"


def parent_confirmation(parent: Receipt, child: Receipt) -> tuple[Evidence, ...]:
    """What the process that started a run saw of it: that it ended well.

    Nothing where it did not end well, or can't have been the one that started it: `KL_PARENT` is
    only a word.
    """
    # texts compare as times: `clock.iso` makes all of them equally long, in UTC
    around = (
        parent.started <= child.started
        and child.ended <= parent.ended
        and parent.tree == child.tree
    )
    if not around or parent.source != "command" or child.result.get("verdict") != "passed":
        return ()
    return tuple(one for one in _exits(parent) if stance(one) == "for")


def outer_failure(parent: Receipt, child: Receipt) -> str:
    """In one phrase how a command failed around a run that passed; empty where it did not."""
    code = _failing_exit(parent, child)
    if code is None or contradiction(parent, child):
        return ""
    return f"the command around it exited {code}"


def contradiction(parent: Receipt, child: Receipt) -> str:
    """In one phrase why a run that passed does not count: the very process that recorded it then
    failed.

    Only where the started process is pytest itself (`kl run -- pytest`, `exec`, `python -m`): both
    wrote down the same process ID. Around a shell or tox the exit status may be another command's.
    """
    pid = child.environment.get("pid")
    code = _failing_exit(parent, child)
    if (
        code is None
        or pid is None
        or not any(one.detail.get("pid") == pid for one in _exits(parent))
    ):
        return ""
    return f"the process exited {code} after pytest reported success"


def _failing_exit(parent: Receipt, child: Receipt) -> object:
    if parent.source != "command" or child.result.get("verdict") != "passed":
        return None
    return next(
        (
            one.detail.get("exit", "with a failure")
            for one in _exits(parent)
            if stance(one) == "against"
        ),
        None,
    )


def _exits(parent: Receipt) -> tuple[Evidence, ...]:
    return tuple(one for one in parent.evidence if one.kind == "ExitCode")
