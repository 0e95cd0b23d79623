"""Words that are secrets by themselves: what is known to be none is not looked at again, and nothing is missed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.store import secret_words
from kl_hooks.store.secret_names import turns
from kl_hooks.store.secret_words import hide_words

WORDS = st.text("aAbBzZ0189_./-", min_size=10, max_size=40) | st.from_regex(
    r"sk-(proj-)?[A-Za-z0-9]{20,40}", fullmatch=True
)


@given(WORDS)
def test_what_turns_often_has_a_digit_or_four_capital_letters(word: str) -> None:
    assert turns(word) <= 9 or secret_words._MAY_TURN.search(word)


@given(st.lists(st.lists(WORDS, max_size=4).map(" ".join), max_size=6))
def test_what_was_seen_before_changes_nothing(texts: list[str]) -> None:
    first = []
    for text in texts:
        secret_words._harmless.clear()
        first.append(hide_words(text))
    assert [hide_words(text) for text in texts] == [hide_words(text) for text in texts] == first


def test_what_is_remembered_has_an_end() -> None:
    for number in range(secret_words._KEPT + 50):
        hide_words(f"a_word_that_is_long_{number}")
    assert len(secret_words._harmless) <= secret_words._KEPT + 1
    secret = "ghp_" + "a1B2c3D4" * 5
    assert hide_words(secret) == hide_words(secret) == "[redacted:github]"
    assert secret not in secret_words._harmless
