"""The door of `upkeep`: the policies that look at more than one room."""

from __future__ import annotations

from kl_hooks.hookspecs import Policy, hookimpl


@hookimpl
def kl_policies() -> list[Policy]:
    from kl_hooks.upkeep import cached, graphs, ignored, runs

    return [
        Policy(runs.POLICY, "Rows of tests of old runs are folded.", runs.look, runs.apply),
        Policy(graphs.POLICY, "Graphs of worktrees that are gone are dropped.", graphs.look, graphs.apply),
        Policy(
            ignored.POLICY, f"Files of the state that {ignored.FILE} names are deleted.", ignored.look, ignored.apply
        ),
        Policy(cached.POLICY, "What is over in the cache is dropped.", cached.look, cached.apply),
    ]
