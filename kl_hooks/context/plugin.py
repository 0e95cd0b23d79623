"""Hooks of `context`: the code that fits a task, and the retention of its log."""

from __future__ import annotations

from kl_hooks.hookspecs import Policy, Retriever, hookimpl


@hookimpl
def kl_policies() -> list[Policy]:
    # here: plugins are imported by every command that makes the manager, policies by few
    from kl_hooks.context.package_log import POLICY

    return [POLICY]


@hookimpl
def kl_retrievers() -> list[Retriever]:
    """`code`: files and symbols, ranked together."""
    from kl_hooks.context.ranking import ROWS, find_code

    return [Retriever("code", 100, find_code, rows=ROWS)]
