"""What a failure states: one line, with its place, without secrets, whatever the tests throw at
it.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_kl.outcome import MESSAGE_LENGTH, detail_of

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def crash(message: str, path: str = "/r/a/test_b.py", lineno: object = 7) -> SimpleNamespace:
    """What pytest calls a longrepr, as far as it is looked at."""
    return SimpleNamespace(reprcrash=SimpleNamespace(message=message, path=path, lineno=lineno))


def test_message_path_and_line() -> None:
    assert detail_of(crash("ValueError: no\n  + more"), "/r/") == {
        "message": "ValueError: no + more",
        "path": "a/test_b.py",
        "line": 7,
    }
    assert detail_of(crash("x", "/elsewhere/c.py"), "/r/")["path"] == "/elsewhere/c.py"
    assert detail_of(crash("x", "C:\\r\\a\\b.py"), "C:/r/")["path"] == "a/b.py"


@pytest.mark.parametrize(
    ("longrepr", "message"),
    [
        ("worker 'gw0' crashed", "worker 'gw0' crashed"),
        (None, ""),
        (
            SimpleNamespace(
                longrepr="x.py:1: in <module>\n    import y\nE   ModuleNotFoundError: y"
            ),
            "ModuleNotFoundError: y",
        ),
        (SimpleNamespace(errorstring="fixture 'db' not found"), "fixture 'db' not found"),
    ],
)
def test_what_has_no_place_has_a_message(longrepr: object, message: str) -> None:
    assert detail_of(longrepr, "/r/") == {"message": message}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('File "/h/r/a/b.py", line 1', 'File "a/b.py", line 1'),
        ("no /h/r/.env, no /h/r/-x", "no .env, no -x"),
        ("/h/r/a and /h/r/b", "a and b"),
        ("not a file: '/h/r'", "not a file: '.'"),
        ("not a file: /h/r/.", "not a file: ."),
        ("in '/h/r/'", "in './'"),
        ("in /h/r.", "in .."),
        ("file:///h/r/a", "file://a"),
        # other folders
        ("/home/h/r/a", "/home/h/r/a"),
        ("x/h/r/a, -/h/r/a, ./h/r/a", "x/h/r/a, -/h/r/a, ./h/r/a"),
        ("/h/r2/a, /h/r-old/a, /h/r.old/a", "/h/r2/a, /h/r-old/a, /h/r.old/a"),
        ("/h/other/h/r/a", "/h/other/h/r/a"),
    ],
)
def test_paths_of_the_checkout_are_given_from_there(text: str, message: str) -> None:
    assert detail_of(crash(text), "/h/r/")["message"] == message
    assert detail_of(text, "/h/r/") == {"message": message}


def test_a_checkout_at_the_root_changes_no_message() -> None:
    assert detail_of(crash("no /a/b and no //"), "/")["message"] == "no /a/b and no //"
    assert detail_of(crash("no /a.b/c"), "/a?b/")["message"] == "no /a.b/c"
    assert detail_of(crash("no /aX/c"), "/aX/")["message"] == "no c"


def test_of_a_long_message_the_first_300_characters_are_stored() -> None:
    assert len(detail_of(crash("y " * 1000), "/r/")["message"]) == 300
    # of a very long one no more than its beginning is looked at
    assert detail_of(crash(" " * 7_999 + "ab"), "/r/")["message"] == "a"


def test_a_secret_across_the_cut_is_redacted_before_it_is_cut() -> None:
    text = detail_of(crash("x" * (MESSAGE_LENGTH - 10) + " " + SECRET), "/r/")["message"]
    assert len(text) <= MESSAGE_LENGTH
    assert "ghp_" not in text


def test_control_characters_are_shown_not_sent() -> None:
    assert (
        detail_of(crash("\x1b]0;title\x07 \u202e"), "/r/")["message"] == r"\x1b]0;title\x07 \u202e"
    )


def test_a_failure_whose_text_fails_is_reported_to_have_none() -> None:
    class Bad:
        def __str__(self) -> str:
            raise KeyError("no text")

    assert detail_of(Bad(), "/r/") == {"message": "the failure has no readable text (KeyError)"}
