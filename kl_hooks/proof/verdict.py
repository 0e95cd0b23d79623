"""The verdict on each result of a run for another content: the fold of the rules.

Pure: what differs was read by `proof.difference`. A result is valid, stale (with the symbols that
differ) or not assessed (with the reason).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, count, product
from typing import Final

from kl_hooks.proof.comparison import Comparison
from kl_hooks.proof.effect import ChangeRule, Effect
from kl_hooks.proof.facts import STALE, VALID, Definition, Difference, FileChange, RunFacts, Verdict
from kl_hooks.proof.read_rules import (
    READ_RULES,
    READ_TEST_RULES,
    disk_effects,
    unseen_read,
)
from kl_hooks.proof.rules import (
    CHANGE_RULES,
    ENVIRONMENT_RULES,
    RUN_RULES,
    TEST_RULES,
    executed_symbol_changed,
    stale_by_effect,
)
from kl_hooks.proof.touch import TestFacts

_BY_CODE: Final = (executed_symbol_changed, stale_by_effect)
"""The rules on which code is otherwise for a test."""
_VALID: Final = Verdict(VALID)


def judge_results(
    run: RunFacts, difference: Difference, nodeids: Iterable[str]
) -> dict[str, Verdict]:
    """Node ID of each result of a run → whether it is valid for the other content, and for what is
    installed now.
    """
    verdicts = _by_content(run, difference, list(nodeids))
    _judge_disk(run, difference, verdicts)
    if not run.has_other_distributions(difference):
        return verdicts
    changed = run.changed_distributions(difference)
    for name, verdict in verdicts.items():
        if verdict.state == VALID:
            reasons = (rule(run, changed, name) for rule in ENVIRONMENT_RULES)
            verdicts[name] = next(filter(None, reasons), _VALID)
    return verdicts


def _judge_disk(run: RunFacts, difference: Difference, verdicts: dict[str, Verdict]) -> None:
    """Take back what rests on files that git shows no change of, and that are others on disk."""
    if run.executed is None or not run.has_other_files:
        return
    comparison = Comparison(run.executed, Difference())
    effects = list(disk_effects(comparison, run, difference.changes.keys()))
    for name, verdict in verdicts.items():
        if effects and verdict.state == VALID:
            test = comparison.test(name)
            reasons = (Verdict(STALE, one.reason) for one in effects if one.applies(test))
            verdicts[name] = next(reasons, _VALID)


def _by_content(run: RunFacts, difference: Difference, names: list[str]) -> dict[str, Verdict]:
    if not difference.changes:
        return dict.fromkeys(names, _VALID)
    verdict = next(filter(None, (rule(run, difference) for rule in RUN_RULES)), None)
    if verdict:
        return dict.fromkeys(names, verdict)
    has_source = any(change.is_python for change in difference.changes.values())
    if run.executed is None or not (has_source or run.executed.reads is not None):
        return _without_source(run, difference, names)
    comparison = Comparison(run.executed, difference)
    effects = Effects(comparison)
    return {
        name: next(reasons_against(comparison, effects, comparison.test(name)), _VALID)
        for name in names
    }


class Effects:
    """What reaches tests of all that differs, found as far as somebody asks: most results of an
    older run are stale by what they executed themselves.
    """

    def __init__(self, comparison: Comparison) -> None:
        self._known: list[Effect] = []
        self._rest = chain(
            _effects(comparison, CHANGE_RULES, comparison.changes.values()),
            _effects(comparison, READ_RULES, comparison.difference.changes.values()),
        )

    def __iter__(self) -> Iterator[Effect]:
        for at in count():
            if at == len(self._known):
                effect = next(self._rest, None)
                if effect is None:
                    return
                self._known.append(effect)
            yield self._known[at]


def reasons_against(
    comparison: Comparison, effects: Iterable[Effect], test: TestFacts
) -> Iterator[Verdict]:
    """Why a result is not valid for the other content: the reason of each rule that has one."""
    rules = (*TEST_RULES, *READ_TEST_RULES)
    return filter(None, (rule(comparison, effects, test) for rule in rules))


def changed_definitions(
    comparison: Comparison, effects: Iterable[Effect], test: TestFacts
) -> frozenset[Definition] | None:
    """The definitions by whose names code of a test gets what is otherwise, beside the functions that
    it executes itself. None where it may do otherwise by more than these.
    """
    others = (rule for rule in (*TEST_RULES, *READ_TEST_RULES) if rule not in _BY_CODE)
    if any(rule(comparison, effects, test) for rule in others):
        return None
    definitions = {
        effect.definition for effect in effects if effect.state == STALE and effect.applies(test)
    }
    if None in definitions:
        return None
    return frozenset(filter(None, definitions))


def _effects(
    comparison: Comparison, rules: Iterable[ChangeRule], changes: Iterable[FileChange]
) -> Iterator[Effect]:
    for rule, change in product(rules, list(changes)):
        yield from rule(comparison, change)


def _without_source(
    run: RunFacts, difference: Difference, names: Iterable[str]
) -> dict[str, Verdict]:
    """The verdicts where no Python file differs."""
    # without recorded files documentation alone differs, and it was looked for who reads it
    unseen = unseen_read(difference) if run.opened else None
    incomplete: Mapping[str, str] = run.executed.incomplete if run.executed else {}
    return {name: unseen if unseen and name in incomplete else _VALID for name in names}
