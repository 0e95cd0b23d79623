"""Which commands a kind has: those of every kind, and those of one kind only, a file `KIND_VERB.py` each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

STANDARD: Final[Mapping[str, str]] = {
    "new": "Make one.",
    "list": "Those that are live, or all.",
    "show": "One, whole.",
    "search": "Those that bear these words, in the archive too.",
    "edit": "Change fields of one.",
    "delete": "Take one away.",
    "history": "What one said before.",
}
"""Command → its line; each works on any kind."""

EXTRA: Final[Mapping[str, Mapping[str, str]]] = {
    "decision": {
        "supersede": "Let one take the place of another.",
        "renumber": "Give one a new id where two files have the same.",
        "record": "Keep an answered question, if it decides enough.",
        "discover": "Propose decisions that the code has taken already.",
        "import": "Take in those of other tools.",
        "export": "Write them in the form of another tool.",
    },
}
"""Kind → command → its line; it stands in `kl_hooks.cli.KIND_COMMAND` under the command's name."""
