"""`kl knowledge export`: everything that `import` takes back, exactly, on any terminal."""

from __future__ import annotations

import json

import pytest

from kl_hooks.cli.main import OWN_COMMANDS
from tests.support import Checkout

FILE = """\
---
id: OBJ-0004
title: Größe 𝄞
status: {status}
expires: {expires}
---

# Größe

Why it is so.

## Notes

- ß
"""


def written(repo: Checkout, place: str = "", status: str = "active", expires: str = "2999-01-01") -> None:
    repo.write(f".kl/knowledge/objectives/{place}OBJ-0004-x.md", FILE.format(status=status, expires=expires))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize("env", [{}, {"LC_ALL": "C", "PYTHONUTF8": "0"}])
def test_what_goes_out_comes_back_on_any_terminal(repo: Checkout, form: str, env: dict[str, str]) -> None:
    written(repo)
    before = json.loads(repo.kl("objective", "show", "OBJ-0004", "--format", "json").stdout)
    done = repo.kl_process("knowledge", "export", "OBJ-0004", "--format", form, env=env)
    assert done.returncode == 0, done.stderr
    repo.write(f"out.{form}", done.stdout)
    (repo.root / ".kl/knowledge/objectives/OBJ-0004-x.md").unlink()
    assert repo.kl("knowledge", "import", "--kind", "objective", f"out.{form}").returncode == 0
    after = json.loads(repo.kl("objective", "show", "OBJ-0004", "--format", "json").stdout)
    assert after["fields"] | before["fields"] == after["fields"]
    assert after["body"].strip() == before["body"].strip()
    assert "Why it is so." in after["body"] and "## Notes" in after["body"]


@pytest.mark.parametrize(("place", "expires"), [("archive/", "2999-01-01"), ("", "2001-01-01")])
def test_what_is_archived_or_has_ended_goes_out_too(repo: Checkout, place: str, expires: str) -> None:
    written(repo, place, expires=expires)
    out = json.loads(repo.kl("knowledge", "export", "--kind", "objective").stdout)
    assert (out["id"], out["expires"]) == ("OBJ-0004", expires)


def test_a_kind_that_there_is_not_is_reported_and_the_near_one_named(repo: Checkout) -> None:
    written(repo)
    for args in (("--kind", "objectiv"), ("OBJ-0004", "--kind", "objectiv"), ("OBJ-0020", "--kind", "objectiv")):
        done = repo.kl("knowledge", "export", *args)
        assert (done.returncode, done.stdout) == (2, "")
        assert "there is no kind of this name" in done.stderr and 'Did you mean "objective"?' in done.stderr
    assert "no records selected" in repo.kl("knowledge", "export").stderr


@pytest.mark.parametrize("command", ["import", "export"])
def test_the_help_names_the_kinds_that_have_an_import_of_their_own(repo: Checkout, command: str) -> None:
    printed = " ".join(repo.kl("knowledge", command, "--help").stdout.split())
    for kind in (kind for kind, verbs in OWN_COMMANDS.items() if "import" in verbs):
        assert f"kl {kind} import" in printed
