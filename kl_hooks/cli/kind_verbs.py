"""Which commands a kind has: those of every kind, and those of one kind only, a file `KIND_VERB.py` each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

STANDARD: Final[Mapping[str, str]] = {
    "new": "Make one.",
    "list": "All of them, or those of one status, tag or place.",
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
    "memory": {
        "new": "Tell what was learned: the same as add.",
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
        "import": "Take in memories of fuseraft or agor, as JSON.",
        "export": "All of them as JSON, as fuseraft keeps them.",
        "configure": "How much is given, and whether patterns are mined unasked.",
    },
    "objective": {
        "new": "Make one, with its tasks.",
        "status": "How far one is, or all that are active.",
        "link": "Put a task on its list, or mark it done.",
    },
    "task": {
        "new": "Make one, with what it requires and produces.",
        "plan": "What can be done side by side, in which order.",
        "eligible": "What can be begun now.",
        "fulfil": "A task is done, or something is there.",
    },
    "outcome": {
        "capture": "Record how a task ended.",
        "similar": "How tasks like this one ended.",
    },
    "failure": {
        "record": "What failed, and what prevents it; again: it is counted.",
        "show": "One, whole, and how often it happened.",
    },
    "feature": {"detect": "Which features a text names, with their files."},
    "role": {"show": "A role as a page, by its name or id."},
    "gate": {"for": "What work of a type and complexity must pass."},
    "turn": {
        "add": "Record a round of work and review.",
        "continue": "What the next round starts from.",
    },
    "finding": {
        "add": "Take in what an agent's tool found out or changed.",
        "import": "Take in the findings of an agent's transcript.",
    },
}
"""Kind → command → its line; it stands in `kl_hooks.cli.KIND_COMMAND` under the command's name."""
