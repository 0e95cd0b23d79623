"""`kl memory new`: the name that every kind has for it; of a memory it is `add`."""

from __future__ import annotations

from kl_hooks.cli.memory_add import add

new = add
