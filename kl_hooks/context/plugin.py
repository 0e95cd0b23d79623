"""Hooks of `context`: the retention of its log."""

from __future__ import annotations

from kl_hooks.hookspecs import Policy, hookimpl


@hookimpl
def kl_policies() -> list[Policy]:
    # here: plugins are imported by every command that makes the manager, policies by few
    from kl_hooks.context.package_log import POLICY

    return [POLICY]
