"""Entry point of `store`: the redaction that everything passes before it is written."""

from __future__ import annotations

from collections.abc import Callable

from kl_hooks.hookspecs import hookimpl


@hookimpl
def kl_redact() -> list[tuple[str, Callable[[str], str]]]:
    from kl_hooks.store.redaction import builtin_rules

    return [("built-in", builtin_rules)]
