"""What an earlier kl wrote, under today's code, and what today's code wrote, under the earlier kl:
stores, git hooks, baselines, caches, records, notes.

The earlier versions are commits of this repository. Where its history is not there (an sdist, a
shallow clone) nothing is tried.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Callable
from contextlib import closing
from io import BytesIO
from pathlib import Path

import pytest

from kl_hooks.model.receipt import FACT_CLASSES
from kl_hooks.store.sqlite import FORMAT
from tests.support import Checkout, Done, checkout, run

ROOT = Path(__file__).parents[2]
EARLIER = ("860b4b5", "829f1fdd")
WITH_NOTES = "829f1fdd"
"""The one of them that exchanges notes."""
WITHOUT_PROCESS = "cdb87ee6"
"""It records every class of facts but `process`."""
FILES = {
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\n',
    "src/shop/__init__.py": "",
    "src/shop/core/__init__.py": "",
    "src/shop/core/order.py": (
        "from shop.api.http import tax\n\n\n"
        "def total() -> int:\n    return 1 + tax()\n\n\n"
        "def unused() -> int:\n    return 1\n"
    ),
    "src/shop/api/__init__.py": "",
    "src/shop/api/http.py": "def tax() -> int:\n    return 0\n",
    "tests/test_core.py": (
        "from shop.core.order import total\n\n\ndef test_total():\n    assert total() == 1\n"
    ),
    "docs/guide.md": "# Totals\n",
    ".kl/architecture.yaml": (
        "version: 1\nlayers:\n"
        "- {name: core, paths: [src/shop/core/]}\n"
        "- {name: api, paths: [src/shop/api/], may_depend_on: [core]}\n"
    ),
}
DECISION = (
    *("--governs", "src/shop/core/order.py"),
    *("--context", "Shops count in cents.", "--decision", "A total is a number of cents."),
)

pytestmark = pytest.mark.slow


class EarlierKl:
    """The code of a commit, used as a process uses an installed package."""

    def __init__(self, code: Path) -> None:
        self._code = code

    def python(self, repo: Checkout, *args: str) -> Done:
        """Run Python with that code in a repository."""
        variables = {
            "PYTHONPATH": str(self._code),
            "PYTHONPYCACHEPREFIX": str(self._code / "bytecode"),
            "PYTHONDONTWRITEBYTECODE": "",
        }
        return run([sys.executable, *args], repo.root, variables)

    def kl(self, repo: Checkout, *args: str, code: int = 0) -> str:
        """Run a command that ends with an exit code; return what it prints."""
        done = self.python(repo, "-P", "-m", "kl_hooks", *args)
        assert done.returncode == code, (args, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def pytest(self, repo: Checkout) -> str:
        """Run the repository's tests, which are recorded; return what is printed."""
        plugin = ("-p", "no:cacheprovider", "-p", "pytest_kl.plugin")
        done = self.python(repo, "-m", "pytest", "-q", *plugin)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def earlier_kl(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], EarlierKl]:
    """Commit → its code. A commit is extracted once."""
    folder = tmp_path_factory.mktemp("earlier")

    def extract(commit: str) -> EarlierKl:
        code = folder / commit
        if not code.exists():
            parts = ("kl_hooks", "pytest_kl", "hooks", "templates")
            command = ["git", "-C", str(ROOT), "archive", commit, *parts]
            archive = subprocess.run(command, capture_output=True, check=False)
            if archive.returncode:
                pytest.skip(f"{commit} is not in the history of this checkout")
            with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
                files.extractall(code, filter="data")
        return EarlierKl(code)

    return extract


@pytest.fixture
def shop(home: Path, tmp_path: Path) -> Checkout:
    return checkout(tmp_path / "shop", FILES, kl=False)


def ran(done: Done, code: int = 0) -> str:
    """What a command of today's kl printed, which had to end with an exit code."""
    assert done.returncode == code, (done.args, done.stdout, done.stderr)
    return done.stdout + done.stderr


def runs_of(repo: Checkout) -> int:
    """How many test runs are recorded."""
    listed = ran(repo.kl("evidence", "list", "--format", "json"))
    return sum(receipt["source"] == "pytest" for receipt in json.loads(listed)["receipts"])


def set_format(repo: Checkout, number: int) -> None:
    """Give the store the number of a format, as the kl that introduces it does."""
    with closing(sqlite3.connect(repo.state / "kl.db")) as database:
        database.execute(f"PRAGMA user_version = {number}")


@pytest.mark.parametrize("commit", EARLIER)
@pytest.mark.share("829f1fdd")
def test_a_repository_is_used_by_an_earlier_kl_by_this_one_and_by_the_earlier_again(
    commit: str, earlier_kl: Callable[[str], EarlierKl], shop: Checkout
) -> None:
    earlier = earlier_kl(commit)
    earlier.kl(shop, "init", "--yes")
    earlier.kl(shop, "arch", "check", code=1)
    earlier.kl(shop, "arch", "baseline", "write")
    earlier.kl(shop, "hooks", "install")
    earlier.kl(shop, "memory", "add", "the total is counted without the tax")
    earlier.kl(shop, "decision", "new", "Totals are numbers", *DECISION)
    shop.commit("by the earlier kl")
    earlier.pytest(shop)
    earlier.kl(shop, "verify")
    earlier.kl(shop, "context", "change the total of an order", "--budget", "6000")

    # today's kl, with everything that the earlier one left
    assert "proven" in ran(shop.kl("verify"))
    assert "accepted" in ran(shop.kl("arch", "check"))
    assert "Totals are numbers" in ran(shop.kl("decision", "list"))
    assert "without the tax" in ran(
        shop.kl("context", "change the total of an order", "--budget", "6000")
    )
    assert "without the tax" in ran(shop.kl("memory", "list"))
    assert runs_of(shop) == 1
    shop.write("docs/guide.md", "plain\n")
    shop.commit("through git hooks of the earlier kl")
    ran(shop.pytest("-q"))
    ran(shop.kl("verify"))
    ran(shop.kl("memory", "add", "the total of an order is never negative"))
    ran(shop.kl("init", "--upgrade"))
    assert "older version" not in ran(shop.kl("doctor"))

    # the earlier one, with everything that today's left
    earlier.kl(shop, "verify")
    earlier.kl(shop, "arch", "check")
    assert "never negative" in earlier.kl(shop, "memory", "list")
    assert "without the tax" in earlier.kl(
        shop, "context", "change the total of an order", "--budget", "6000"
    )
    shop.write("docs/guide.md", "changed\n")
    shop.commit("through git hooks of this kl")
    assert "recorded as passed" in earlier.pytest(shop)
    ran(shop.kl("verify"))
    ran(shop.kl("evidence", "verify"))
    assert runs_of(shop) == 3


@pytest.mark.skipif(
    not hasattr(sys, "monitoring"), reason="this Python records no executed symbols"
)
@pytest.mark.parametrize("commit", [*EARLIER, WITHOUT_PROCESS])
@pytest.mark.share("829f1fdd")
def test_what_an_earlier_kl_did_not_record_transfers_nothing_across_a_change_of_it(
    commit: str, earlier_kl: Callable[[str], EarlierKl], shop: Checkout
) -> None:
    earlier = earlier_kl(commit)
    earlier.kl(shop, "init", "--yes")
    shop.commit("by the earlier kl")
    earlier.pytest(shop)

    shop.write("docs/guide.md", "plain\n")
    assert "transferred" in ran(shop.kl("verify"))

    # no test executes it: with all classes the result would count
    order = FILES["src/shop/core/order.py"]
    shop.write("src/shop/core/order.py", order.replace("    return 1\n", "    return 2\n"))
    text = ran(shop.kl("verify"), code=1)
    assert any(f"without {words}" in text for words in FACT_CLASSES.values()), text
    assert "test_total" in ran(shop.kl("proof", "impacted"))

    shop.commit("what today's run can be compared with")
    ran(shop.pytest("-q"))
    shop.write("src/shop/core/order.py", order.replace("    return 1\n", "    return 3\n"))
    assert "transferred" in ran(shop.kl("verify"))
    earlier.kl(shop, "evidence", "verify")
    earlier.pytest(shop)
    earlier.kl(shop, "verify")
    ran(shop.kl("verify"))


@pytest.mark.parametrize(("commit", "gate_code"), [("860b4b5", 0), ("829f1fdd", 3)])
@pytest.mark.share(2)
def test_an_earlier_kl_records_beside_a_newer_store_and_its_gates_state_that(
    commit: str, gate_code: int, earlier_kl: Callable[[str], EarlierKl], shop: Checkout
) -> None:
    earlier = earlier_kl(commit)
    ran(shop.kl("init", "--yes"))
    shop.commit("by this kl")
    ran(shop.pytest("-q"))
    ran(shop.kl("verify"))
    # what a later kl does to a store that older ones must not write
    set_format(shop, FORMAT + 1)

    assert "recorded as passed" in earlier.pytest(shop)
    # the older of them judges by the receipts that it can read, and names those that wait
    assert "newer" in earlier.kl(shop, "verify", code=gate_code)
    assert "newer" in ran(shop.kl("verify"), code=3)

    set_format(shop, FORMAT)
    assert runs_of(shop) == 2
    ran(shop.kl("verify"))


def test_notes_and_bundles_are_exchanged_with_an_earlier_kl(
    earlier_kl: Callable[[str], EarlierKl], shop: Checkout, tmp_path: Path
) -> None:
    earlier = earlier_kl(WITH_NOTES)
    key = tmp_path / "key"
    made = run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], tmp_path)
    assert made.returncode == 0, made.stderr
    ran(shop.kl("init", "--yes"))
    shop.commit("by this kl")
    shop.git("clone", "-q", "--bare", ".", str(tmp_path / "origin.git"))
    shop.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    shop.git("clone", "-q", str(tmp_path / "origin.git"), str(tmp_path / "colleague"))
    colleague = Checkout(tmp_path / "colleague")
    for repo in (shop, colleague):
        ran(repo.kl("trust", "add", "ci", "--key", f"{key}.pub", "--role", "ci"))

    earlier.pytest(shop)
    earlier.kl(shop, "sync", "--sign", str(key))
    assert "1 new run" in ran(colleague.kl("sync"))
    assert "ci" in ran(colleague.kl("verify", "--from", "ci"))

    colleague.write("docs/guide.md", "plain\n")
    colleague.commit("a change")
    colleague.git("push", "-q", "origin", "HEAD")
    ran(colleague.pytest("-q"))
    ran(colleague.kl("sync", "--sign", str(key)))
    shop.git("pull", "-q", "origin", "main")
    assert "1 new run" in earlier.kl(shop, "sync")
    assert "ci" in earlier.kl(shop, "verify", "--from", "ci")

    bundle = tmp_path / "bundle.jsonl"
    ran(colleague.kl("evidence", "export", "--sign", str(key), "-o", str(bundle)))
    earlier.kl(shop, "evidence", "verify", str(bundle))
