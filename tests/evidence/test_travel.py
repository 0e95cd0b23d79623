"""Evidence after the history was rewritten, in forks, and with secrets on its way: right, or plainly not assessed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import Checkout

from .test_shared_symbols import FILES, published
from .test_sharing import clones, keys, trust, verdict  # noqa: F401 (fixtures)

BY_CI = ("--require", "verified", "--from", "ci")


@pytest.mark.slow
def test_rewritten_histories_and_forks_have_what_their_contents_have(
    clones: Callable[[str], Checkout],  # noqa: F811
    keys: dict[str, Path],  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FILTER_BRANCH_SQUELCH_WARNING", "1")
    ci, bob = clones("ci"), clones("bob")
    published(ci, keys["ci"])
    assert bob.kl("hooks", "install", "--only", "post-commit", "--sync", "origin").returncode == 0
    bob.git("pull", "-q")
    trust(bob, keys["ci"])
    assert verdict(bob, *BY_CI) == "proven (verified by CI github)"

    def on(branch: str, name: str = "NEWS.md", text: str = "News.\n") -> None:
        """A branch from before CI's commit, with another change."""
        bob.git("checkout", "-q", "-f", "-b", branch, "origin/main~1")
        bob.write(name, text)
        bob.commit(name)

    on("release")
    bob.git("cherry-pick", "origin/main")
    assert verdict(bob).startswith("proven (inferred by CI github; transferred"), "all but the news is the same"
    refused = bob.kl("verify", *BY_CI).stdout
    assert "not proven: inferred (a complete passing run of this content that a key of a CI signed" in refused, refused
    assert "hint: the tests passed in one way" not in refused, "no run of one's own helps"
    on("topic")
    bob.git("checkout", "-q", "--detach", "origin/main")
    bob.git("rebase", "-q", "topic")
    assert verdict(bob).startswith("proven (inferred by CI github; transferred")
    on("other", "calc.py", FILES["calc.py"].replace("a + b", "a + b + 0"))
    bob.git("checkout", "-q", "origin/main", "--", "test_calc.py", "README.md", ".gitignore")
    bob.commit("with the tests")
    assert "calc.add changed" in bob.kl("verify").stdout

    bob.git("checkout", "-q", "main")
    bob.git("filter-branch", "-f", "--msg-filter", "cat; echo more", "--", "main")
    assert verdict(bob, *BY_CI) == "proven (verified by CI github)", "other commits of the same content"
    bob.git("filter-branch", "-f", "--index-filter", "git rm -q --cached --ignore-unmatch README.md", "--", "main")
    bob.git("checkout", "-q", "-f", "main")
    assert verdict(bob).startswith("proven (inferred by CI github; transferred")

    # a fork that was made from the server has its branches, and not its notes: these are fetched from where they are
    bob.git("clone", "-q", "--bare", str(tmp_path / "server.git"), str(tmp_path / "fork.git"))
    bob.git("clone", "-q", "-b", "main", str(tmp_path / "fork.git"), str(tmp_path / "eve"))
    eve = Checkout(tmp_path / "eve")
    assert "0 new runs" in eve.kl("sync", "--pull").stdout
    eve.git("remote", "add", "upstream", str(tmp_path / "server.git"))
    assert eve.kl("hooks", "install", "--only", "post-commit", "--sync", "upstream").returncode == 0
    eve.git("fetch", "-q", "upstream")
    trust(eve, keys["ci"])
    assert verdict(eve, *BY_CI) == "proven (verified by CI github)"
    # and what the fork recorded counts upstream only with a key that upstream trusts
    eve.write("calc.py", FILES["calc.py"].replace("a + b", "a + b + 0"))
    eve.commit("other code")
    eve.git("push", "-q", "origin", "HEAD:topic")
    assert "1 passed" in eve.pytest("-q", "-p", "no:cacheprovider", "--kl-symbols=on").stdout
    assert "pushed" in eve.kl("sync", "--push", "--sign", str(keys["eve"])).stdout
    bob.git("fetch", "-q", str(tmp_path / "fork.git"), "topic")
    bob.git("checkout", "-q", "-f", "--detach", "FETCH_HEAD")
    assert bob.kl("sync", "--pull", "--remote", str(tmp_path / "fork.git")).returncode == 0
    assert "is not trusted here: assumed" in bob.kl("verify").stdout
    trust(bob, keys["eve"], "person", "eve")
    assert verdict(bob) == "proven (inferred by eve)"
    assert bob.kl("verify", "--from", "ci").returncode == 1

    # without the content that CI ran on nothing can be compared, and this is reported
    bob.git("checkout", "-q", "-f", "main")
    for ref in bob.git("for-each-ref", "--format=%(refname)").splitlines():
        if "/notes/" not in ref and ref != "refs/heads/main":
            bob.git("update-ref", "-d", ref)
    bob.git("reflog", "expire", "--expire=now", "--all")
    bob.git("gc", "-q", "--prune=now")
    shown = bob.kl("verify").stdout
    assert "not proven" in shown and "the content it ran on is not in git any more" in shown, shown
