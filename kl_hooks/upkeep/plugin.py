"""Hooks of `upkeep`: the policies that look at more than one package."""

from __future__ import annotations

from kl_hooks.hookspecs import Policy, hookimpl


@hookimpl
def kl_policies() -> list[Policy]:
    # here: plugins are imported by every command that makes the manager, policies by few
    from kl_hooks.upkeep.policies import POLICIES

    return list(POLICIES)
