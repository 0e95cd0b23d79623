"""`kl doctor`: names what is wrong, with its place and the next step."""

from __future__ import annotations

from tests.support import Checkout


def test_every_problem_of_the_settings_is_named_with_its_place(repo: Checkout) -> None:
    repo.write(".kl/config.yaml", "version: 1\nbudgt: 5\nplugin: x\n")
    done = repo.kl("doctor")
    assert done.returncode == 1
    assert '.kl/config.yaml:2:1: unknown key "budgt". Did you mean "budget"?' in done.stdout
    assert '.kl/config.yaml:3:1: unknown key "plugin".' in done.stdout
    assert done.stdout.count("fix: edit .kl/config.yaml") == 2
