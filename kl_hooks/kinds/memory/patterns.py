"""Patterns: what mining finds, and which patterns are one memory. Pure."""

from __future__ import annotations

from typing import Final

from kl_hooks.kinds.catalog import MEMORY
from kl_hooks.model.canonical import digest
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.text import one_line
from kl_hooks.records.repository import identity_digest
from kl_hooks.store.redaction import redact

IMPORTANCE: Final = 50
"""Of a memory that nobody rated yet, in percent."""


class Sighting(NamedTuple):
    """One time that a pattern was seen."""

    session: str
    """As `session_of` names it."""
    receipt: str
    """ID of a receipt; of a transcript `transcript:<session>`."""
    proof: str
    """Class of the evidence: `ExitCode`, `TestResult`, `EvidenceGraph`, `AgentAssertion`."""
    at: str
    """ISO 8601."""
    failed: int = 0
    """Calls that failed for want of it, as the transcript has them."""
    seconds: int = 0
    """From the first of them to the call that passed; 0: unknown."""


class Pattern(NamedTuple):
    """A pattern and where it was seen."""

    text: str
    category: str
    sightings: tuple[Sighting, ...]
    enough: bool
    """False below the thresholds: no candidate is made, but a memory that exists is reinforced."""
    importance: int = IMPORTANCE
    untrusted: bool = False
    """Its words are not ours: they come from an agent, or from what an agent was shown."""
    source: str = "receipts"

    @property
    def sessions(self) -> tuple[str, ...]:
        """Each session once, in the order in which they saw it."""
        return tuple(dict.fromkeys(one.session for one in self.sightings))


def identity(text: str) -> str:
    """Return what makes two patterns the same memory: the words, whatever the case and the space
    around them.
    """
    return " ".join(text.split()).casefold()


def id_of(text: str) -> str:
    """Return `MEM-3f9a1c2b`: the same for the same `identity`, in every clone."""
    # redacted first: the stored words are, and another clone must get the same ID from them
    return f"{MEMORY.prefix}-{identity_digest(MEMORY, {'pattern': redact(text)})}"


def title_of(text: str) -> str:
    """Return the first line that is not blank, short."""
    return next((one_line(line, 120) for line in redact(text).splitlines() if line.strip()), "")


def day_session(moment: str, producer: str) -> str:
    """Return the session of a producer's day."""
    return f"{moment[:10]}/{digest('who/1', producer)[:6]}"
