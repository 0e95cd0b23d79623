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
    "memory": {
        "add": "Tell what was learned.",
        "review": "Go through the candidates: approve, reject, edit.",
        "inject": "What an agent is given before it starts.",
        "mine": "Take in what receipts and transcripts have shown.",
        "show": "One, whole, with what supports it.",
        "edit": "Change what one says.",
        "delete": "Take one away.",
        "approve": "Accept it: it becomes a file, and agents are told.",
        "reject": "Refuse it: the same pattern never comes back.",
        "demote": "Take it back to the candidates.",
        "promote": "Raise its authority: auto, agent, human.",
        "verify": "It was checked, and holds.",
        "disprove": "It was checked, and does not hold.",
        "feedback": "It helped, or it did not.",
        "configure": "How much is given, and whether patterns are mined unasked.",
    },
    "finding": {
        "add": "Take in what an agent's tool found out or changed.",
        "import": "Take in the findings of an agent's transcript.",
    },
}
"""Kind → command → its line; it stands in `kl_hooks.cli.KIND_COMMAND` under the command's name."""
