"""Lifecycle: the numbers that upkeep goes by, and the changes that it proposes.

Defaults are here; `.kl/knowledge/lifecycle.yaml` may set others. Applying a change is the only
difference between a dry run and a run.
"""

from __future__ import annotations

from kl_hooks.model.definitions import NamedTuple

LIFECYCLE_FILE = ".kl/knowledge/lifecycle.yaml"


class Lifecycle(NamedTuple):
    """How long records and files stay unchanged, in days. 0 switches a rule off, except
    `adr_retention_days`.
    """

    adr_retention_days: int = 0
    """Days after its last change until a superseded decision moves to `archive/`. 0: at once."""
    memory_reinforce_window_days: int = 90
    """An approved memory that nothing confirmed for this long becomes a candidate again."""
    confidence_decay_days: int = 30
    """A verified claim whose newest observation is older counts as inferred, unless the claim has
    an end of its own.
    """
    orphaned_node_grace_period_days: int = 7
    """The graph of a removed worktree is retained this long after it was last written."""
    max_provenance_age_days: int = 0
    """An asserted claim is archived at this age although it has not expired. 0: age alone archives
    nothing.
    """
    memory_candidate_pruning_days: int = 180
    """A candidate memory that nobody reviewed and nothing confirmed for this long is deleted."""
    purge_expired_days: int = 30
    """An expired record in the database is retained this long, hidden from searches; then it is
    deleted.
    """
    run_rows_days: int = 90
    """The per-test rows of a run this old are deleted if newer runs report all its tests and
    nothing refers to them.
    """
    package_log_days: int = 90
    """Events of context packages are retained at least this long."""


class Change(NamedTuple):
    """One edit that is proposed, or was made."""

    what: str
    """The verb: `archive`, `demote`, `prune`, `purge`, `fold`, `remove`, `rotate`, `decay`."""
    id: str
    """What it is done to: the ID of a record, node, claim or receipt, or the path of a state file.
    """
    policy: str
    """The name of the policy that proposes it."""
    reason: str
    """Why, in one line, with the number of days that applies."""
    old: str = ""
    """The current value: a status, a path, a tier."""
    new: str = ""
    """The new value; empty: it is deleted."""

    def to_dict(self) -> dict[str, str]:
        """As in `--format json`, and as the body of its Event."""
        return {
            "what": self.what,
            "id": self.id,
            "policy": self.policy,
            "reason": self.reason,
            "from": self.old,
            "to": self.new,
        }
