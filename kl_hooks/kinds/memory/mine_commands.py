"""Commands: those that succeed again and again, and those that keep failing. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kl_hooks.evidence.ledger import Entry
from kl_hooks.kinds.memory.seen import Found, Sighting
from kl_hooks.kinds.memory.sessions import session_of
from kl_hooks.kinds.memory.thresholds import COMMAND_CUT, FAILS_IN_A_ROW, INTERRUPTED, SUCCEEDS_IN_SESSIONS
from kl_hooks.kinds.memory.trivia import trivial
from kl_hooks.model.receipt import Receipt
from kl_hooks.model.text import one_line

PREFIX = "command:"


def command_patterns(entries: Sequence[Entry], by_run: Mapping[str, Receipt]) -> list[Found]:
    """What the runs of commands show, oldest first in `entries`."""
    found: list[Found] = []
    for command, runs in runs_of(entries).items():
        if not trivial(command):
            found += _succeeds(command, runs, by_run)
            found += _fails(command, runs, by_run)
    return found


def runs_of(entries: Iterable[Entry]) -> dict[str, list[tuple[Entry, str]]]:
    """Command line → its runs with their outcome, in the order of `entries`. Stopped and incomplete ones left out."""
    found: dict[str, list[tuple[Entry, str]]] = {}
    for entry in entries:
        for one in entry.receipt.evidence:
            whole = one.kind == "ExitCode" and one.subject.startswith(PREFIX) and entry.receipt.result.get("complete")
            if whole and one.detail.get("exit") not in INTERRUPTED:
                found.setdefault(one.subject.removeprefix(PREFIX), []).append((entry, one.outcome))
    return found


def cut(command: str) -> str:
    """A command as a pattern shows it."""
    line = one_line(command, len(command) * 10 + 1)
    return line if len(line) <= COMMAND_CUT else line[:COMMAND_CUT] + "…"


def _succeeds(command: str, runs: Sequence[tuple[Entry, str]], by_run: Mapping[str, Receipt]) -> list[Found]:
    seen = tuple(_sighting(entry, by_run) for entry, outcome in runs if outcome == "passed")
    enough = len({one.session for one in seen}) >= SUCCEEDS_IN_SESSIONS
    return [Found(f"Shell command succeeds: {cut(command)}", "best_practice", seen, enough)] if seen else []


def _fails(command: str, runs: Sequence[tuple[Entry, str]], by_run: Mapping[str, Receipt]) -> list[Found]:
    seen = tuple(_sighting(entry, by_run) for entry, outcome in runs if outcome == "failed")
    enough = _longest_row([outcome for _, outcome in runs]) >= FAILS_IN_A_ROW
    text = f"Shell command fails repeatedly: {cut(command)}"
    return [Found(text, "failure_mode", seen, enough)] if len(seen) > 1 else []


def _longest_row(outcomes: Sequence[str]) -> int:
    longest = row = 0
    for outcome in outcomes:
        row = row + 1 if outcome == "failed" else 0
        longest = max(longest, row)
    return longest


def _sighting(entry: Entry, by_run: Mapping[str, Receipt]) -> Sighting:
    return Sighting(session_of(entry.receipt, by_run), entry.id, "ExitCode", entry.receipt.ended)
