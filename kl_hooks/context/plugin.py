"""Hooks of `context`: the retention of its log."""

from __future__ import annotations

from kl_hooks.hookspecs import Policy, hookimpl


@hookimpl
def kl_policies() -> list[Policy]:
    from kl_hooks.context.package_log import POLICY

    return [POLICY]
