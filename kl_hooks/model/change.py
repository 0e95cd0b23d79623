"""Change: an edit that upkeep or review proposes. Applying it is the only difference between a dry run and a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """One edit that is proposed, or was made."""

    what: str
    """The verb: `archive`, `demote`, `prune`, `purge`, `fold`, `remove`, `rotate`, `decay`."""
    id: str
    """What it is done to: a record id, an Id, the id of a claim or a receipt, the path of a state file."""
    policy: str
    """The name of the rule that asks for it."""
    reason: str
    """Why, in one line: what is so, and which number makes it a reason."""
    old: str = ""
    """How it stands now: a status, a path, a tier."""
    new: str = ""
    """How it will stand; empty: it will be gone."""

    def plain(self) -> dict[str, str]:
        """As in `--format json`, and as the body of its Event."""
        return {
            "what": self.what, "id": self.id, "policy": self.policy, "reason": self.reason,
            "from": self.old, "to": self.new,
        }  # fmt: skip
