"""Where redaction begins and ends: of each rule a text that it hides just now, and one that it
leaves.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.store.redaction import (
    configure_redaction,
    redact,
    redact_or_omit,
    redact_value,
    shows_secret,
)

_HIDDEN = "[redacted:assignment]"
_LINE = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn4"
_DIGEST = "aB3" * 16
_RANDOM = "EGF9egd4d6HjPcLg4f"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # names
        ('db_credential="violet-tram"', f'db_credential="{_HIDDEN}"'),
        ('dbpassword="violet tram"', f'dbpassword="{_HIDDEN}"'),
        ('hmac_keys="violet-tram"', f'hmac_keys="{_HIDDEN}"'),
        ('cart_keys="violet-tram"', 'cart_keys="violet-tram"'),
        ('accessKeyId="violet-tram"', 'accessKeyId="violet-tram"'),
        # a scheme: six characters
        ("Authorization: Basic abcde", "Authorization: Basic abcde"),
        ("Authorization: Basic abcdef", f"Authorization: Basic {_HIDDEN}"),
        # numbers: of a password four digits, of a token twelve
        ("password: 123", "password: 123"),
        ("password: 1234", f"password: {_HIDDEN}"),
        ("api_token: 12345678901", "api_token: 12345678901"),
        ("api_token: -123456789.", "api_token: -123456789."),
        # words after a name without a sign
        ("bearer abcdefghijklmno", "bearer abcdefghijklmno"),
        ("bearer abcdefghijklmnop", f"bearer {_HIDDEN}"),
        ("the password is maXimumXs", "the password is maXimumXs"),
        ("--password swordfish", f"--password {_HIDDEN}"),
        ("--password --verbose", "--password --verbose"),
        ("--password PASSWORD", "--password PASSWORD"),
        # code is none
        ("token=self.token", "token=self.token"),
        ("token=session.get(", "token=session.get("),
        ("token = handler", "token = handler"),
        ("token=violet_tram", f"token={_HIDDEN}"),
        ("password=password", "password=password"),
        ("password: true", "password: true"),
        ("password: [redacted:url]", "password: [redacted:url]"),
        ("password = ab_12", f"password = {_HIDDEN}"),
        # commands
        ("wget2 --user a", "wget2 --user a"),
        ("http -a ada:swordfish x", "http -a ada:[redacted:command] x"),
        # what identifies a file opens nothing
        ("SHA384:" + "aB3" * 16, "SHA384:" + "aB3" * 16),
        ("configuration.for.eyJ.x", "configuration.for.eyJ.x"),
        ("wget2 -auth a:b", f"wget2 -auth {_HIDDEN}[redacted:command]"),
        ("curl -u [redacted:url]:hunter2 x", "curl -u [redacted:url]:[redacted:command] x"),
        ("ab -A ada:pw x", "ab -A ada:[redacted:command] x"),
        ("ab -P ada:pw x", "ab -P ada:[redacted:command] x"),
        ("curl x\nlogin -u ada:pw y", "curl x\nlogin -u ada:pw y"),
        ("curl x | login -u ada:pw y", "curl x | login -u ada:pw y"),
        ("mysql -pa -pb", "mysql -p[redacted:command] -p[redacted:command]"),
        # the name before a keyword has 40 characters at most
        (f"--{'a' * 37}-password swordfish", f"--{'a' * 37}-password {_HIDDEN}"),
        (f"-{'a' * 39}-password swordfish", f"-{'a' * 39}-password swordfish"),
        # of a long value the first 72 characters decide
        (f"api_key: {'w-' * 35}w1-w", f"api_key: {_HIDDEN}"),
        (f"api_key: {'w-' * 36}1", f"api_key: {'w-' * 36}1"),
        # a command ends with its line, after 4,000 characters, and at a sign between commands
        ("curl -s x -a\nlogin -u ada:pw y", "curl -s x -a\nlogin -u ada:pw y"),
        (f"curl {'x' * 3994} -u a:b1c1", f"curl {'x' * 3994} -u a:[redacted:command]"),
        (f"curl {'x' * 3995} -u a:b1c1", f"curl {'x' * 3995} -u a:b1c1"),
        (f"curl -a {'x' * 5000} -u a:b1c1", f"curl -a {'x' * 5000} -u a:b1c1"),
        # turns: more than nine, and six for each ten characters
        ("see abcdefgB7-hijklmnC8", "see [redacted:random]"),
        ("see ghijklm1hijklmn2opqrs", "see [redacted:random]"),
        ("see a1X2b3X4c5X6d7X8e9X0f1", "see [redacted:random]"),
        # words
        ("credEntials=violet-tram", f"credEntials={_HIDDEN}"),
        ("password: X1X", f"password: {_HIDDEN}"),
        ("bearer abcdefghijklmnoX", f"bearer {_HIDDEN}"),
        ('token="123456789012"', f'token="{_HIDDEN}"'),
        ("a.eyJQe.01D8XWv-r9f4_", "a.eyJQe.01D8XWv-r9f4_"),
        ("3.To521WLYQS_+L5/KQXG_Og+57Xq9", "3.[redacted:random]"),
        # the end of a key whose beginning is cut off, its line breaks as they are and as written
        (f"{_LINE}\\n{_LINE}\\n-----END RSA PRIVATE KEY-----", "[redacted:private-key]"),
        (f"text here\n{_LINE}\n-----END RSA PRIVATE KEY-----", "text here\n[redacted:private-key]"),
        # what is public leaves the words before it as they are
        *((f"SHA{size}:{_DIGEST}", f"SHA{size}:{_DIGEST}") for size in (224, 256, 384, 512)),
        (f"{_RANDOM} SHA256:{_DIGEST}", f"[redacted:random] SHA256:{_DIGEST}"),
    ],
)
def test_what_is_hidden_and_what_is_left(text: str, expected: str) -> None:
    assert redact(text) == expected


@pytest.mark.parametrize("value", ["postgresql", "testtest", "username", "disabled", "changeme"])
def test_a_value_of_the_environment_that_many_texts_have_is_left(value: str) -> None:
    try:
        configure_redaction(environ={"DB_PASSWORD": value, "OLDPWD": "/home/ada/violet"})
        assert redact(f"{value} of /home/ada/violet") == f"{value} of /home/ada/violet"
        configure_redaction(environ={"DB_PASSWORD": f"{value}-tram"})
        assert value not in redact(f"{value}-tram")
    finally:
        configure_redaction()


def test_the_environment_of_the_process_counts_from_the_start() -> None:
    code = "from kl_hooks.store.redaction import redact; print(redact('the violettram'))"
    environ = {**os.environ, "DB_PASSWORD": "violettram"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    assert "violettram" not in done.stdout


def test_redacting_for_an_answer_redacts() -> None:
    assert redact_or_omit("password: swordfish1") == f"password: {_HIDDEN}"


def test_for_an_answer_nothing_is_left_of_a_text_that_can_not_be_redacted() -> None:
    def refuse(text: str) -> str:
        raise EnvironmentProblem("a plugin is missing")

    try:
        configure_redaction([("missing", refuse)], environ={})
        assert redact_or_omit("two words") == "[redacted:unknown]"
        with pytest.raises(EnvironmentProblem):
            redact("two words")
    finally:
        configure_redaction()


def test_a_text_shows_a_secret_unless_it_is_redacted_already_or_looks_random_alone() -> None:
    assert shows_secret("password: swordfish1")
    assert not shows_secret(f"password: {_HIDDEN}")
    assert shows_secret(f"password: {_HIDDEN}, token=violet-tram1")
    assert not shows_secret(_RANDOM) and not shows_secret("nothing")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["curl", "-u", "ada:pw", "x"], ["curl", "-u", "ada:[redacted:command]", "x"]),
        (["curl", 1, "-u", "ada:pw"], ["curl", 1, "-u", "ada:pw"]),
        (["curl -u ada:pw"], ["curl -u ada:[redacted:command]"]),
        (["curl", "-u", "ada:pw", "a\x1fb"], ["curl", "-u", "ada:[redacted:command]", "a\\x1fb"]),
        (["--password", "swordfish"], ["--password", "[redacted:option]"]),
        (["--password", "-x"], ["--password", "-x"]),
        (["--password", "[redacted:url]"], ["--password", "[redacted:url]"]),
        ([], []),
    ],
)
def test_arguments_of_a_command_as_a_list(arguments: list[object], expected: list[object]) -> None:
    assert redact_value(arguments) == expected


def test_a_function_of_a_plugin_is_applied_until_nothing_changes_and_four_times_at_most() -> None:
    texts = list[str]()

    def noted(text: str) -> str:
        texts.append(text)
        return text

    try:
        configure_redaction([("grow", lambda text: f"{text}!")], environ={})
        assert redact("a b") == "a b!!!!"
        configure_redaction([("noted", noted)], environ={})
        assert redact("a b") == "a b" and texts == ["a b"]
    finally:
        configure_redaction()


def test_source_keeps_a_comment_after_a_value_and_loses_colors() -> None:
    assert redact("password=abc123de#x1 a\n", "python") == "password=abc123de#x1 a\n"
    colored = "\x1b[31mpassword = 'hunter2x'\x1b[0m\n"
    assert redact(colored, "python") == f"password = '{_HIDDEN}'\n"


def test_source_loses_the_secrets_of_its_literals_one_by_one() -> None:
    source = 'password = "a b"; token = token\nkey = ["x", f(secret="violet1tram")]\n'
    expected = source.replace("a b", _HIDDEN).replace("violet1tram", _HIDDEN)
    assert redact(source, "python") == expected
