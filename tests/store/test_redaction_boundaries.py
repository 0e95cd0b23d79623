"""Where redaction begins and ends: of each rule a text that it hides just now, and one that it leaves."""

from __future__ import annotations

import pytest

from kl_hooks.store.redaction import redact

_HIDDEN = "[redacted:assignment]"


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
        # a folder of the environment is none
        ("OLDPWD=/home/ada/violet", "OLDPWD=/home/ada/violet"),
    ],
)
def test_what_is_hidden_and_what_is_left(text: str, expected: str) -> None:
    assert redact(text) == expected
