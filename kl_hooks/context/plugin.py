"""The door of `context`: how its record of packages tidies."""

from __future__ import annotations

from kl_hooks.hookspecs import Policy, hookimpl


@hookimpl
def kl_policies() -> list[Policy]:
    from kl_hooks.context import package_log

    return [
        Policy(
            package_log.POLICY,
            "The record of packages is kept as long as promised.",
            package_log.expired_logs,
            package_log.rotate_logs,
        )
    ]
