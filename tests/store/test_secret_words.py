"""Words that are secrets by themselves: what is known to be none is not looked at again, and nothing is missed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.store import secret_names, secret_words
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


MARKS = {
    "sk_live_" + "a" * 12: "stripe", "sk-" + "a1" * 12: "openai", "shpat_" + "a1" * 16: "shopify",
    "dapi" + "a1" * 16: "databricks", "glsa_" + "a1" * 16: "grafana", "secret_" + "a1" * 20: "notion",
    "ntn_" + "a1" * 20: "notion", "AKIA" + "A1" * 8: "aws", "glpat-" + "a1" * 10: "gitlab",
    "xoxb-" + "1a" * 10: "slack", "AIza" + "a1" * 16: "google", "npm_" + "a1" * 16: "npm",
    "pypi-" + "a1" * 20: "pypi", "dop_v1_" + "a1" * 20: "digitalocean", "hf_" + "a" * 32: "huggingface",
    "SG." + "a1" * 10 + "." + "b2" * 20: "sendgrid", "key-" + "a1" * 16: "mail", "hvs." + "a1" * 14: "vault",
    "a1" * 7 + ".atlasv1." + "a1" * 24: "hashicorp", "lin_api_" + "a1" * 16: "linear", "figd_" + "a1" * 20: "misc",
    "q1w2x3r4t5y6u7i8o9p0z1": "random",
    "eyJ" + "a" * 20 + ".eyJ" + "b" * 20: "jwt", "eyJ" + "a" * 16 + ".": "jwt",
}  # fmt: skip


def test_each_mark_names_the_rule() -> None:
    assert {word: hide_words(f"at {word} end") for word in MARKS} == {
        word: f"at [redacted:{rule}] end" for word, rule in MARKS.items()
    }


def test_what_only_looks_a_little_like_a_token_stays() -> None:
    for word in ("eyJ" + "a" * 30, "eyJ.aaaaaaaaaaaaaa", "plain.words.with.dots.in.them", "xyz1-xyz1-xyz1-wxyz-wxyz"):
        assert hide_words(word) == word


TURNS = {"": 0, "word": 0, "aB": 2, "ABc": 2, "aBC": 4, "a1": 3, "1a1": 6, "aB1c": 8}


def test_turns_are_counted() -> None:
    assert {word: turns(word) for word in TURNS} == TURNS


NAMES = {
    "DB_PASSWORD": True, "apiKey": True, "api_keys": True, "x-auth-token": True, "token_count": False, "author": False,
    "key": False, "bypass": False, "ssh_key": True, "other_key": False, "password2": True, "2": False,
    "accesskey": True, "idtoken": True, "secretary": False,
}  # fmt: skip


def test_names_that_say_secret() -> None:
    assert {name: secret_names.secret_name(name) for name in NAMES} == NAMES
    passwords = {"DB_PASS": True, "pwd": True, "secret": True, "passwords": False, "secrets": False, "token": False}
    assert {name: secret_names.is_password(name) for name in passwords} == passwords


LOOKS = {"self.token": True, "get_token(": True, "tokens[0]": True, "a-b": False, "abc12def34gh": False}


def test_random_words_and_code() -> None:
    assert {word: secret_names.looks_like_code(word) for word in LOOKS} == LOOKS
    random = {
        "a1b2c3d4": True,
        "a1b2c3d": False,
        "12345678": False,
        "abcdefgh": False,
        "ab!cd!ef": True,
        "a$1bcdefg": True,
    }
    assert {word: secret_names.random_word(word) for word in random} == random
