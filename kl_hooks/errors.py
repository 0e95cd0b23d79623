"""What can go wrong, as four exceptions with an exit code each, and the shape of a good message.

Findings (a violation, a skipped file, a failed claim) are values, not exceptions: see `model`.
"""

from __future__ import annotations

CLEAN = 0
FINDINGS = 1
USAGE_ERROR = 2
ENVIRONMENT_ERROR = 3
INTERNAL_ERROR = 4
INTERRUPTED = 130


class KlError(Exception):
    """An expected failure. `str()` gives one line: place, reason, next step.

    `place` is where (a file, a file:line:column, a command); `reason` what is wrong there; `hint`
    the next step.
    """

    exit_code = INTERNAL_ERROR
    answer: dict[str, object] | None = None
    """What a program can go on with: a command prints it as JSON where that was asked for."""

    result: object | None = None
    """What an operation has found all the same: a command prints it in the format that was asked
    for.
    """

    notes: tuple[str, ...] = ()
    """What could not be read before it failed: a command prints these first."""

    def __init__(self, reason: str, *, place: str = "", hint: str = "") -> None:
        self.reason = reason
        self.place = place
        self.hint = hint
        super().__init__(reason)

    def __str__(self) -> str:
        if self.place:
            line = f"{self.place}: {self.reason}"
        else:
            line = self.reason
        if not self.hint:
            return line
        return f"{line} {self.hint}"


class UsageProblem(KlError):
    """A usage error, or a configuration that can't be read: exit 2."""

    exit_code = USAGE_ERROR


class Denied(UsageProblem):
    """The policy hides from whoever asks what was asked for."""


class ForPeople(UsageProblem):
    """Only a person, or a reviewer that one named, may do it, and an agent asks."""


class NotFound(UsageProblem):
    """Nothing has the name that was given, or nothing that whoever asks may be shown."""


class UnknownRecord(NotFound):
    """There is no record of an ID; the hint names the one with the nearest ID."""

    def __init__(
        self, reason: str, *, place: str, hint: str, nearest: str, other_hint: str
    ) -> None:
        super().__init__(reason, place=place, hint=hint if nearest else other_hint)
        self.nearest = nearest
        """ID of the record that the hint names; empty: none is near."""
        self.other_hint = other_hint
        """The hint for whom that record is hidden from."""


class EnvironmentProblem(KlError):
    """No git, no repository, no store, a locked or too new store: exit 3."""

    exit_code = ENVIRONMENT_ERROR


class StoreBusy(EnvironmentProblem):
    """Somebody else holds the store lock. Losing a race; never corruption."""


class StoreReadOnly(EnvironmentProblem):
    """Whoever asks may read the store, not write it: an administrator has to allow it."""


class StoreNewer(EnvironmentProblem):
    """The store was made by a newer kl: it may be read, not written."""


class StoreDamaged(EnvironmentProblem):
    """The store can't be read as ours: not a database, malformed, or with foreign triggers."""
