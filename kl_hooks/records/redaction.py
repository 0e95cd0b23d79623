"""Redaction of secrets that somebody wrote into an authored file: out of everything stored or
printed of it.

The file itself is never changed. A text without a secret stays as it is, character for character.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.problem import Problem
from kl_hooks.model.record import Record, Value
from kl_hooks.store.redaction import redact, redact_value

_MARK: Final = lazy_pattern(r"\[redacted:([a-z0-9 _-]+)\]")
# Rules that judge a word by its look, or by the word before it: worth a remark, not a finding.
_HEURISTIC_RULES: Final = frozenset({"random", "assignment"})


def redact_text(text: str) -> str:
    """Return the text without the secrets that can be recognized."""
    redacted = redact(text)
    # Without a new mark nothing was a secret: then the text stays as it is, colors and odd
    # characters included.
    if len(_MARK.findall(redacted)) > len(_MARK.findall(text)):
        return redacted
    return text


def redact_record(record: Record) -> Record:
    """Return the record without secrets in its fields and its body."""
    values = {name: _redact_value(value) for name, value in record.values.items()}
    return replace(record, values=values, body=redact_text(record.body))


def redact_problem(problem: Problem) -> Problem:
    """Return the problem without secrets: it may quote the file."""
    return problem._replace(message=redact_text(problem.message), hint=redact_text(problem.hint))


def find_secrets(path: str, text: str) -> Iterator[tuple[Problem, bool]]:
    """Yield a Problem for each line with a secret, and whether it is certainly one."""
    if redact_text(text) == text:
        return
    for number, line in enumerate(text.split("\n"), 1):
        redacted = redact_text(line)
        if redacted != line:
            rules = sorted({*_MARK.findall(redacted)} - {*_MARK.findall(line)})
        else:
            rules = []
        if rules:
            reason = f"holds what looks like a secret ({', '.join(rules)})."
            hint = "Remove it, and revoke it: git keeps what was committed."
            yield Problem(path, number, 1, reason, hint), not _HEURISTIC_RULES.issuperset(rules)


def _redact_value(value: Value) -> Value:
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, tuple):
        return tuple(redact_text(one) for one in value)
    if isinstance(value, Mapping):  # the key may show that the value is a secret
        redacted_pairs = (
            (pair, next(iter(redact_value({pair[0]: pair[1]}).items()))) for pair in value.items()
        )
        return dict(new if _MARK.search("".join(new)) else old for old, new in redacted_pairs)
    return value
