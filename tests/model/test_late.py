"""A pattern in waiting is compiled once, by whoever uses it first."""

from __future__ import annotations

import re

import pytest

from kl_hooks.model import late as module
from kl_hooks.model.late import late


def test_it_is_compiled_when_it_is_used_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(module, "_compile", lambda *args: made.append(args[0]) or re.compile(*args))
    pattern = late(r"a(b+)", re.IGNORECASE)
    assert made == []
    found = [pattern.search("xABB"), pattern.search("abb")]
    assert [one and one[1] for one in found] == ["BB", "bb"]
    assert pattern.sub("", "abc") == "c"
    assert pattern.pattern == r"a(b+)"
    assert set(made) == {r"a(b+)"}
    count = len(made)
    pattern.search("")
    assert len(made) == count


def test_a_pattern_that_is_none_says_so_when_it_is_used() -> None:
    with pytest.raises(re.error):
        late("(").search("")
