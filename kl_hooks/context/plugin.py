"""The door of `context`: how its record of packages tidies."""

from __future__ import annotations

from kl_hooks.hookspecs import Policy, hookimpl


@hookimpl
def kl_policies() -> list[Policy]:
    from kl_hooks.context import upkeep

    return [Policy(upkeep.POLICY, "The record of packages is kept as long as promised.", upkeep.look, upkeep.apply)]
