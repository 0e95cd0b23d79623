"""A lazy expression is the one that `re.compile` gives, from its first use on."""

from __future__ import annotations

import copy
import gc
import importlib
import pickle
import pkgutil
import re
import warnings
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kl_hooks
from kl_hooks.model import definitions
from kl_hooks.model.definitions import lazy_pattern

TEXTS = st.text("ab1 -\n", max_size=12)
EXPRESSION = r"^(?P<word>[ab]+)(\d)?"


def groups(match: re.Match[str] | None) -> object:
    return match and (match.span(), match.groupdict(), match.lastgroup)


@given(TEXTS)
def test_its_methods_answer_as_those_of_re(text: str) -> None:
    lazy = lazy_pattern(EXPRESSION, re.MULTILINE)
    plain = re.compile(EXPRESSION, re.MULTILINE)
    for method in ("search", "match", "fullmatch"):
        assert groups(getattr(lazy, method)(text)) == groups(getattr(plain, method)(text))
        assert groups(getattr(lazy, method)(text, 1)) == groups(getattr(plain, method)(text, 1))
    assert lazy.findall(text) == plain.findall(text)
    assert lazy.split(text, 1) == plain.split(text, 1)
    assert lazy.sub(r"<\1>", text) == plain.sub(r"<\1>", text)
    assert [*map(groups, lazy.finditer(text))] == [*map(groups, plain.finditer(text))]
    assert (lazy.pattern, lazy.flags, lazy.groups) == (plain.pattern, plain.flags, plain.groups)


def test_it_is_compiled_once_and_at_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[tuple[object, int]] = []

    def noted(text: str | bytes, flags: int) -> object:
        compiled.append((text, flags))
        return re.compile(text, flags)

    monkeypatch.setattr(definitions, "_compile", noted)
    lazy = lazy_pattern(rb"a+", re.IGNORECASE)
    assert compiled == []
    assert lazy.findall(b"aAb") == [b"aA"]
    assert lazy.sub(b"", b"ab") == b"b"
    assert lazy.findall(b"b") == []
    assert compiled == [(rb"a+", re.IGNORECASE)]


def test_it_can_be_copied_and_shown() -> None:
    lazy = lazy_pattern("a+", re.IGNORECASE)
    for used in (False, True):
        assert not used or lazy.fullmatch("aA")
        for other in (copy.copy(lazy), copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy))):
            assert repr(other) == f"lazy_pattern('a+', {re.IGNORECASE})"
            assert other.fullmatch("aA")


def test_what_is_no_expression_is_refused_at_its_first_use() -> None:
    broken = lazy_pattern("(")
    with pytest.raises(re.error):
        broken.search("")
    with pytest.raises(AttributeError):
        _ = lazy_pattern("a").nothing  # type: ignore[attr-defined]


def test_every_expression_of_kl_can_be_compiled() -> None:
    for module in pkgutil.walk_packages(kl_hooks.__path__, "kl_hooks."):
        with suppress(ImportError):  # of an extra that is not installed
            importlib.import_module(module.name)
    lazy = [one for one in gc.get_objects() if isinstance(one, definitions._LazyPattern)]
    assert len(lazy) > 300
    with warnings.catch_warnings():
        # by then a suite may have made warnings errors
        warnings.simplefilter("error")
        re.purge()  # it answers without a warning for what it has compiled
        for pattern in lazy:
            assert re.compile(pattern._text, pattern._flags), pattern._text
