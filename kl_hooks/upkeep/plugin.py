"""The door of `upkeep`: the policies that look at more than one room."""

from __future__ import annotations

from kl_hooks.hookspecs import Policy, hookimpl


@hookimpl
def kl_policies() -> list[Policy]:
    from kl_hooks.upkeep import policies

    return [
        Policy(
            policies.DECISIONS,
            "Superseded decisions go to the archive.",
            policies.superseded_decisions,
            policies.archive_decisions,
        ),
        Policy(
            policies.AGED_MEMORY,
            "Memories that nothing confirmed are candidates again.",
            policies.aged_memories,
            policies.demote_memories,
        ),
        Policy(
            policies.IDLE_CANDIDATES,
            "Candidates that nobody looked at go.",
            policies.idle_candidates,
            policies.prune_candidates,
        ),
        Policy(policies.RUNS, "Rows of tests of old runs are folded.", policies.old_runs, policies.compact_runs),
        Policy(
            policies.GRAPHS,
            "Graphs of worktrees that are gone are dropped.",
            policies.orphaned_graphs,
            policies.delete_graphs,
        ),
        Policy(
            policies.FILES,
            f"Files of the state that {policies.IGNORE_FILE} names are deleted.",
            policies.ephemeral_files,
            policies.delete_files,
        ),
        Policy(
            policies.CACHE,
            "What is over in the cache is dropped.",
            policies.expired_values,
            policies.drop_expired_values,
        ),
    ]
