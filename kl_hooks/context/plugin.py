"""Hooks of `context`: the retention of its log, and the table of what commits touched of packages."""

from __future__ import annotations

from typing import Final

from kl_hooks.hookspecs import Policy, Schema, hookimpl

_STEP_1: Final = """
CREATE TABLE package_recall (
    -- A context package and a commit that names it, compared once (context/recall.py).
    sha TEXT NOT NULL,
    package TEXT NOT NULL,            -- cp-…
    body TEXT NOT NULL,               -- JSON: touched files, the missing ones, symbols, retrievers
    PRIMARY KEY (sha, package)
);
"""


@hookimpl
def kl_schema() -> Schema:
    return Schema(owner="recall", database="kl", steps=(_STEP_1,))


@hookimpl
def kl_policies() -> list[Policy]:
    # here: plugins are imported by every command that makes the manager, policies by few
    from kl_hooks.context.package_log import POLICY

    return [POLICY]
