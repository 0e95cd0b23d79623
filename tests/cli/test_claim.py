"""`kl claim`: what is no Id, and what is not there, is said as such."""

from __future__ import annotations

import pytest

from tests.support import Checkout


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ("banana", "'banana' is not an Id. It begins with one of: file:, "),
        (".kl/README.md", "Did you mean 'file:.kl/README.md'?"),
        ("tests/test_a.py::test_b", "Did you mean 'test:tests/test_a.py::test_b'?"),
        ("file:", "'file:' is not an Id."),
    ],
)
@pytest.mark.parametrize("argv", [("add", "is quick"), ("list",)])
def test_what_is_no_id_is_refused_with_the_one_that_was_meant(
    repo: Checkout, argv: tuple[str, ...], about: str, said: str
) -> None:
    done = repo.kl("claim", *argv, "--about", about)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("kl: --about: ")
    assert said in done.stderr


def test_a_claim_about_nothing_is_refused(repo: Checkout) -> None:
    done = repo.kl("claim", "add", "is quick", "--about", "")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'' is not an Id." in done.stderr


@pytest.mark.parametrize("about", ["file:src/not-yet.py", "ADR-0007", "test:tests/test_a.py::test_b"])
def test_any_id_may_be_claimed_about(repo: Checkout, about: str) -> None:
    assert repo.kl("claim", "add", "is quick", "--about", about).returncode == 0
    assert "is quick" in repo.kl("claim", "list", "--about", about).stdout


def test_nothing_found_is_not_nothing_there(repo: Checkout) -> None:
    assert "no claims yet" in repo.kl("claim", "list").stdout
    repo.kl("claim", "add", "is quick", "--about", "file:a.py")
    for limit in (("--tier", "verified"), ("--about", "file:b.py")):
        assert repo.kl("claim", "list", *limit).stdout == "no such claim. See: kl claim list\n"


def test_an_id_that_is_short_unknown_or_shared_is_said_in_one_line(repo: Checkout) -> None:
    made = repo.kl("claim", "add", "is quick", "--about", "file:a.py").stdout.split()[1]
    assert repo.kl("claim", "show", made[:4]).returncode == 0
    for given, said in ((made[:3], "at least 4"), ("", "at least 4"), ("0" * 16, "no claim has this id.")):
        done = repo.kl("claim", "show", given)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert said in done.stderr
