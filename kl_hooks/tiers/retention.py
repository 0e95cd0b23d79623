"""Retention: maintenance policies of memory in tiers. Each is idempotent, and decides by the stored times and now."""

from __future__ import annotations

from kl_hooks.hookspecs import Policy


def policies() -> list[Policy]:
    """Return the policies."""
    return []
