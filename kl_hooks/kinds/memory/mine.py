"""Mining: receipts and commits in, patterns out. Deterministic, no model: equal input, equal patterns. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from kl_hooks.evidence.commits import Logged
from kl_hooks.evidence.ledger import Entry
from kl_hooks.kinds.memory.mine_commands import command_patterns
from kl_hooks.kinds.memory.mine_files import file_patterns
from kl_hooks.kinds.memory.mine_fixes import fix_patterns
from kl_hooks.kinds.memory.mine_tests import passing_tests
from kl_hooks.kinds.memory.seen import Found, in_order, joined
from kl_hooks.kinds.memory.timeline import steps_of_commands, steps_of_tests

TESTS = ("pytest", "junit")


def mine(entries: Sequence[Entry], commits: Sequence[Logged]) -> list[Found]:
    """Every pattern that the receipts and the commits show, those seen in most sessions first.

    Any order in: they are put into the order of the store. Receipts that were imported are left out: nothing proves
    where they came from.
    """
    own = sorted((one for one in entries if not one.origin.startswith("imported")), key=lambda one: one.seq)
    by_run = {one.receipt.run: one.receipt for one in own}
    log = sorted(commits, key=lambda one: (one.at, one.sha))
    commands = [one for one in own if one.receipt.source == "command"]
    tests = steps_of_tests([one for one in own if one.receipt.source in TESTS])
    return in_order(
        joined(
            [
                *command_patterns(commands, by_run),
                *passing_tests(tests, by_run),
                *file_patterns(log),
                *fix_patterns({**tests, **steps_of_commands(commands)}, log, by_run),
            ]
        )
    )
