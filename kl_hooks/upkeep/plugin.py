"""The door of `upkeep`: the policies that look at more than one room."""

from __future__ import annotations

from kl_hooks.hookspecs import Policy, hookimpl


@hookimpl
def kl_policies() -> list[Policy]:
    from kl_hooks.upkeep import cached, decisions, graphs, ignored, memories, runs

    return [
        Policy(decisions.POLICY, "Superseded decisions go to the archive.", decisions.look, decisions.apply),
        Policy(
            memories.AGED, "Memories that nothing confirmed are candidates again.", memories.look_aged, memories.demote
        ),
        Policy(memories.IDLE, "Candidates that nobody looked at go.", memories.look_idle, memories.prune),
        Policy(runs.POLICY, "Rows of tests of old runs are folded.", runs.look, runs.apply),
        Policy(graphs.POLICY, "Graphs of worktrees that are gone are dropped.", graphs.look, graphs.apply),
        Policy(
            ignored.POLICY, f"Files of the state that {ignored.FILE} names are deleted.", ignored.look, ignored.apply
        ),
        Policy(cached.POLICY, "What is over in the cache is dropped.", cached.look, cached.apply),
    ]
