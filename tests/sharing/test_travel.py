"""Evidence after the history was rewritten, in forks, and with secrets on its way: right, or
plainly not assessed.
"""

from __future__ import annotations

import base64
import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kl_hooks.kinds.catalog import MEMORY
from kl_hooks.records.write import create_record
from kl_hooks.store.state import prepare_state
from tests.store.secrets import ALNUM
from tests.support import Checkout, run_pytest

from .test_notes_and_keys import clones, keys, trust, verdict  # noqa: F401 (fixtures)
from .test_shared_symbols import FILES, published

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
    assert verdict(bob).startswith("transferred (inferred by CI github)"), (
        "all but the news is the same"
    )
    refused = bob.kl("verify", *BY_CI).stdout
    assert (
        "not proven: inferred (one complete passing run of this content signed by a CI required)"
        in refused
    ), refused
    assert "hint: the tests passed in one way" not in refused, "no run of one's own helps"
    on("topic")
    bob.git("checkout", "-q", "--detach", "origin/main")
    bob.git("rebase", "-q", "topic")
    assert verdict(bob).startswith("transferred (inferred by CI github)")
    on("other", "calc.py", FILES["calc.py"].replace("a + b", "a + b + 0"))
    bob.git("checkout", "-q", "origin/main", "--", "test_calc.py", "README.md", ".gitignore")
    bob.commit("with the tests")
    why = "calc.add changed"
    if sys.version_info < (3, 12):
        why = "calc.py changed, and no executed symbols were recorded"
    assert why in bob.kl("verify").stdout

    bob.git("checkout", "-q", "main")
    bob.git("filter-branch", "-f", "--msg-filter", "cat; echo more", "--", "main")
    assert verdict(bob, *BY_CI) == "proven (verified by CI github)", (
        "other commits of the same content"
    )
    bob.git(
        "filter-branch",
        "-f",
        "--index-filter",
        "git rm -q --cached --ignore-unmatch README.md",
        "--",
        "main",
    )
    bob.git("checkout", "-q", "-f", "main")
    assert verdict(bob).startswith("transferred (inferred by CI github)")

    # a fork that was made from the server has its branches, and not its notes: these are fetched
    # from where they are
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


def everything_stored(*folders: Path) -> bytes:
    """All bytes of all files, packed ones too: objects of git, databases, spools, caches."""
    return b"".join(
        path.read_bytes() for one in folders for path in one.rglob("*") if path.is_file()
    )


def objects_of_notes(repo: Checkout) -> str:
    """Every object that the refs of notes reach, as text: names of files and their contents."""
    refs = repo.git("for-each-ref", "--format=%(refname)", "refs/notes/").split()
    assert {one.split("/")[-2] for one in refs} == {"receipts", "executed", "events"}, refs
    rows = [row.split(" ")[0] for row in repo.git("rev-list", "--objects", *refs).splitlines()]
    return "\n".join(repo.git("cat-file", "-p", one) for one in rows)


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info < (3, 12), reason="recorded from CPython 3.12 on")
def test_no_secret_that_is_planted_on_the_way_arrives(
    clones: Callable[[str], Checkout],  # noqa: F811
    keys: dict[str, Path],  # noqa: F811
    tmp_path: Path,
) -> None:
    made = random.Random(16)

    def token(*start: str) -> str:
        return "".join(start) + "".join(made.choices(ALNUM, k=36))

    places = (
        "parameter",
        "message",
        "printed",
        "module",
        "function",
        "opened",
        "user",
        "branch",
        "claim",
        "failure",
        "reason",
        "keyword",
        "mail",
        "environment",
        "plain",
    )
    secrets = {place: token("gh", "p_") for place in places}
    secrets["environment"] = (
        "correct-horse-Battery7"  # of no known shape: only its variable's name shows it
    )
    ann, bob = clones("ann"), clones("bob")
    ann.git("checkout", "-q", "-b", f"try-{secrets['branch']}")
    ann.git("config", "user.email", f"{secrets['mail']}@example.org")
    function, module = secrets["function"], f"test_{secrets['module']}.py"
    ann.write(".kl/README.md", "Here.\n")
    ann.write(".gitignore", "__pycache__/\n.pytest_cache/\n")
    ann.write(f"data_{secrets['opened']}.txt", "1")
    ann.write("calc.py", f"{FILES['calc.py']}\n\ndef {function}():\n    return 1\n")
    ann.write(
        module,
        "import os, pathlib, calc, pytest\n\n\n@pytest.mark.parametrize('n', [1],"
        f" ids=[{secrets['parameter']!r}])\ndef test_one(n):\n    print({secrets['printed']!r})\n  "
        f"  assert calc.{function}() == n\n    assert"
        f" pathlib.Path(__file__).with_name('data_{secrets['opened']}.txt').read_text()\n\n\ndef"
        f" test_message():\n    assert calc.{function}() == 2,"
        f" {secrets['message']!r}\n\n\n@pytest.mark.parametrize('n',"
        " [os.environ['DEPLOY_PASSWORD']])\ndef test_environment(n):\n    assert n\n",
    )
    ann.commit("more")
    env = {
        "USER": secrets["user"],
        "LOGNAME": secrets["user"],
        "DEPLOY_PASSWORD": secrets["environment"],
    }
    prepare_state(ann.workspace().state)
    logs = []
    # the last one executes nothing whose name holds one, so its sets travel
    for args in ((), ("-k", f"not {secrets['keyword']}"), ("test_calc.py",)):
        # a process of its own: it is its own environment that a run redacts
        options = (
            "-p",
            "pytest_kl.plugin",
            "-q",
            "-p",
            "no:cacheprovider",
            "--kl-symbols=on",
            *args,
        )
        done = run_pytest(options, ann.root, os.environ | env, forked=False)
        assert "passed" in done.stdout, done
        logs += [row for row in (done.stdout + done.stderr).splitlines() if row.startswith("kl:")]

    def kl(*args: str) -> str:
        done = ann.kl(*args, env=env)
        assert done.returncode in (0, 1), done
        logs.append(done.stdout + done.stderr)
        return done.stdout

    kl("claim", "add", f"needs {secrets['claim']}", "--about", "file:calc.py")
    kl(
        "failure",
        "record",
        f"adding by {secrets['failure']}",
        "--symptom",
        f"slow {secrets['plain']}",
    )
    identifier = create_record(
        ann.workspace(), MEMORY, {"pattern": "Run make before tests.", "title": "make"}
    ).id
    kl("memory", "reject", identifier, "--reason", f"has {secrets['reason']}")
    kl("sync", "--dry-run", "--format", "json")
    assert "pushed" in kl("sync", "--sign", str(keys["ci"]))
    for name, options in (("receipts", ("--executed",)), ("bundle", ("--sign", str(keys["ci"])))):
        kl("evidence", "export", *options, "-o", str(tmp_path / name))
    trust(bob, keys["ci"], "person", "ann")
    for args in (("sync", "--pull"), ("claim", "list"), ("evidence", "list"), ("verify",)):
        done = bob.kl(*args)
        logs.append(done.stdout + done.stderr)
    assert "new events" in logs[-4], logs[-4]
    assert sum("the name of a file or function looks like a secret" in one for one in logs) == 2
    stored = {
        "notes": objects_of_notes(ann).encode(),
        "bundle": (tmp_path / "bundle").read_bytes() + base64_payloads(tmp_path / "bundle"),
        "receipts": (tmp_path / "receipts").read_bytes(),
        "logs": "\n".join(logs).encode(),
        "store": everything_stored(ann.root / ".git/kl", bob.root / ".git/kl"),
    }
    found = [
        (where, place)
        for where, text in stored.items()
        for place, secret in secrets.items()
        if secret.encode() in text
    ]
    assert found == [], found


def base64_payloads(bundle: Path) -> bytes:
    """What is in the envelopes of a bundle."""
    return b"".join(
        base64.b64decode(json.loads(line)["payload"]) for line in bundle.read_bytes().splitlines()
    )
