"""Options that were typed count, unless they are known to change no result."""

from __future__ import annotations

import pytest

from pytest_kl.typed_options import typed_options

CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--fake", action="store_true")
    parser.addoption("--level", default="1")
    parser.addoption("--klass", default="A")
"""
DROPPED = ["level 1", "without -o xfail_strict=true", "without -p no:doctest", "without -W error"]
INI = "[pytest]\naddopts = --level=2 -o xfail_strict=true -p no:doctest -W error\nmarkers =\n    slow\n"


@pytest.mark.parametrize(
    ("args", "options"),
    [
        ((), []),
        (("test_a.py",), []),
        (("-q", "-x", "-k", "one", "-m", "not slow", "--lf", "--tb=short", "-rA", "-s"), []),
        (
            (
                "-W",
                "ignore",
                "--junitxml=a.xml",
                "--durations=3",
                "-p",
                "no:cacheprovider",
                "--basetemp=tmp",
            ),
            [],
        ),
        (("-n", "2", "--dist", "loadfile", "--cov", "--reruns", "2", "--random-order"), []),
        (("--kl-impacted", "--kl-symbols=off", "--no-header", "--strict-markers"), []),
        (("-o", "console_output_style=count", "-o", "log_cli=true", "-o", "addopts=-q"), DROPPED),
        (("--level=2", "-o", "xfail_strict=true", "-p", "no:doctest"), []),
        (("--level=3",), ["level 3"]),
        (("--fake", "--klass=B"), ["fake True", "klass B"]),
        (("--kl-strict", "--kl-audit=off", "--kl-unrecorded=none", "--kl-symbols-subprocess"), []),
        (("--runxfail", "--import-mode=importlib"), ["importmode importlib", "runxfail True"]),
        (("-o", "filterwarnings=", "-o", "log_cli=true"), ["-o filterwarnings="]),
        (("-p", "no:threadexception", "-p", "no:randomly"), ["-p no:threadexception"]),
        (("-p", "helpers"), ["-p helpers"]),
        (("--assert=plain", "--log-level=ERROR"), ["assertmode plain", "log_level ERROR"]),
        (("--hypothesis-profile=few",), ["hypothesis_profile few"]),
    ],
)
def test_what_may_change_a_result_is_named(
    pytester: pytest.Pytester, args: tuple[str, ...], options: list[str]
) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makeini(INI)
    pytester.makepyfile(helpers="", test_a="def test_one(): pass")
    pytester.syspathinsert()
    assert typed_options(pytester.parseconfig(*args)) == options


def test_the_environment_counts_as_typed(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--runxfail -q")
    assert typed_options(pytester.parseconfig()) == ["runxfail True"]


@pytest.mark.parametrize(
    ("ini", "options"), [("pytest.ini", ["-c other.ini"]), ("", [])], ids=["besides", "alone"]
)
def test_another_configuration_file_counts_where_pytest_takes_one_by_itself(
    pytester: pytest.Pytester, ini: str, options: list[str]
) -> None:
    pytester.path.joinpath("other.ini").write_text("[pytest]\n")
    if ini:
        pytester.path.joinpath(ini).write_text("[pytest]\n")
        assert typed_options(pytester.parseconfig("-c", ini)) == []
    assert typed_options(pytester.parseconfig("-c", "other.ini")) == options
