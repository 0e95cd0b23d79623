"""The oracle: what must hold in the repository after any fault."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from bench.soak.stage import Stage, complaints
from bench.soak.writers import TESTS_OF_A_RUN, Facts, Writer, by_name, import_all
from kl_hooks.workspace import open_workspace

Keys = Mapping[str, Collection[str]]
"""Name of a writer → keys that it wrote under."""
COMMANDS: Final = (
    ("status",),
    ("evidence", "verify"),
    ("doctor",),
    ("decision", "list"),
    ("keys",),
    ("pool", "list"),
    ("memory", "list"),
    ("document", "list"),
    ("evidence", "list"),
    ("knowledge", "health"),
    ("search", "prices"),
    ("context", "round the total"),
)
"""Commands of which one must work after a fault."""
_SOUND: Final = (0, 1)
"""Exit codes of a command that could do its work."""


def next_command(stage: Stage, number: int) -> list[str]:
    """What is wrong with one of the commands after a fault, in this child."""
    command = COMMANDS[number % len(COMMANDS)]
    done = stage.kl(*command)
    problems = complaints(done, command)
    if done.returncode not in _SOUND:
        problems.append(f"after it {' '.join(command)} ends with {done.returncode}: {done.stderr}")
    return problems


def check(stage: Stage, acknowledged: Keys, attempted: Keys, ran: Path | None = None) -> list[str]:
    """What is wrong in the repository, in this child.

    `acknowledged`: stored exactly once. `attempted`: at most once. `ran`: the file in which each
    test left a line when it ran; without four lines of a key nothing is proven.
    """
    problems = import_all(stage)
    facts = Facts(open_workspace(stage.repo))
    for name, keys in acknowledged.items():
        writer = by_name(name)
        problems += [
            f"{name} {key}: {words}" for key in keys if (words := _lost(writer, facts, key))
        ]
    for name, keys in attempted.items():
        stored = by_name(name).stored
        if stored:
            problems += [
                f"{name} {key}: stored {stored(facts, key)} times"
                for key in keys
                if stored(facts, key) > 1
            ]
    verified = stage.kl("evidence", "verify")
    problems += complaints(verified, ("evidence", "verify"))
    if verified.returncode != 0:
        problems.append(f"evidence verify: {verified.stdout} {verified.stderr}")
    return problems + _false_proof(stage, ran)


def _lost(writer: Writer, facts: Facts, key: str) -> str:
    assert writer.stored is not None
    count = writer.stored(facts, key)
    return "" if count == 1 else f"acknowledged, and stored {count} times"


def _false_proof(stage: Stage, ran: Path | None) -> list[str]:
    """Whether `kl verify` calls a content proven that no whole run of the tests has seen."""
    if ran is None:
        return []
    done = stage.kl("verify")
    lines = ran.read_text("utf-8").split() if ran.exists() else []
    is_whole = any(lines.count(key) >= TESTS_OF_A_RUN for key in set(lines))
    if done.returncode == 0 and not is_whole:
        return [f"false proven: {os.linesep.join(lines)} {done.stdout}"]
    return complaints(done, ("verify",))
