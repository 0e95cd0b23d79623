"""Secrets planted wherever text comes from: not one of them in any byte, or any name, below the
state and the cache.
"""

from __future__ import annotations

import json
import random
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest

from tests.store.secrets import SHAPES
from tests.support import Checkout, checkout

WHERE = (
    "test id",
    "case",
    "message",
    "printed",
    "fixture",
    "keyword",
    "variable",
    "argument",
    "option",
    "output",
    "errors",
    "subject",
    "body",
    "trailer",
    "author",
    "email",
    "branch",
    "file",
    "junit name",
    "junit message",
    "claim",
    "about",
    "agent",
    "worktree",
    "marker",
    "run output cut",
)
TOKENS = ("github", "gitlab", "stripe", "npm", "huggingface", "digitalocean", "shopify", "aws id")


def plant() -> dict[str, str]:
    """A secret of its own for each place; the shapes are those that are known wherever they are."""
    dice = random.Random(99)
    return {place: SHAPES[TOKENS[n % len(TOKENS)]](dice)[1] for n, place in enumerate(WHERE)}


def blobs(path: Path) -> Iterator[bytes]:
    """What is packed in a database, unpacked."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as raw:
        tables = [
            name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        for table in tables:
            for row in raw.execute(f'SELECT * FROM "{table}"'):
                yield from (unpacked(value) for value in row if isinstance(value, bytes))


def unpacked(content: bytes) -> bytes:
    try:
        return zlib.decompress(content)
    except zlib.error:
        return content


def everything(*folders: Path) -> Iterator[tuple[str, bytes]]:
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            yield str(path), str(path.relative_to(folder)).encode()
            if path.is_file():
                content = path.read_bytes()
                yield str(path), unpacked(content)
                yield str(path), content
                if content.startswith(b"SQLite format 3"):
                    yield from ((f"{path} (packed)", blob) for blob in blobs(path))


def make_work(base: Path, secret: dict[str, str]) -> Checkout:
    """A repository in which every way of recording meets a secret; the checkout that was worked
    in.
    """
    main = checkout(base / "main")
    tree = base / f"tree-{secret['worktree']}"
    main.git("worktree", "add", "-q", "-b", f"fix/{secret['branch']}", str(tree))
    repo = Checkout(tree)
    repo.write(
        "tests/test_leaks.py",
        "import os, pytest\ndef make(name):\n    def test(): pass\n    test.__name__ = name\n   "
        f" return test\nglobals()['test_x_{secret['test id']}'] ="
        f" make('test_x_{secret['test id']}')\n@pytest.mark.parametrize('key',"
        f" ['{secret['case']}'])\ndef test_case(key): pass\ndef test_message(): assert 'x' =="
        f" '{secret['message']}'\ndef test_printed(): print('{secret['printed']}'); raise"
        " ValueError(os.environ['DB_PASSWORD'])\n@pytest.fixture\ndef broken(): raise"
        f" RuntimeError('{secret['fixture']}')\ndef test_fixture(broken):"
        f" pass\n@pytest.mark.xfail(reason='{secret['marker']}')\ndef test_marked(): assert"
        " False\n",
    )
    repo.write(f"keys/{secret['file']}.txt", "x\n")
    repo.git("config", "user.name", f"Ada {secret['author']}")
    repo.git("config", "user.email", f"{secret['email']}@example.org")
    repo.commit(
        f"Use {secret['subject']}\n\nAs {secret['body']} says.\n\nToken: {secret['trailer']}"
    )
    return repo


def record_all(repo: Checkout, secret: dict[str, str], base: Path) -> None:
    env = {"DB_PASSWORD": secret["variable"], "KL_AGENT": f"bot {secret['agent']}"}
    tests = repo.pytest("-q", "-k", f"not {secret['keyword']}", env=env)
    assert "3 failed" in tests.stdout or "2 failed" in tests.stdout, tests.stdout
    shown = f"echo {secret['output']}; echo {secret['errors']} >&2; echo $DB_PASSWORD; exit 1"
    assert (
        repo.kl(
            "run", "--", "sh", "-c", shown, secret["argument"], "--token", secret["option"], env=env
        ).returncode
        == 1
    )
    long = f"yes {secret['run output cut']} | head -c 20000; exit 1"
    assert repo.kl("run", "--", "sh", "-c", long).returncode == 1
    name, message = quoteattr(secret["junit name"]), quoteattr(secret["junit message"])
    case = f'<testcase classname="a" name={name}><failure message={message}/>'
    (base / "r.xml").write_text(f"<testsuite>{case}</testcase></testsuite>")
    assert repo.kl("evidence", "import", "junit", str(base / "r.xml")).returncode == 0
    added = repo.kl(
        "claim", "add", f"uses {secret['claim']}", "--about", f"file:{secret['about']}", env=env
    )
    assert added.returncode == 0
    for command in (
        ["status"],
        ["evidence", "list"],
        ["claim", "list"],
        ["verify"],
        ["commits", "record"],
        ["doctor"],
    ):
        assert repo.kl(*command, env=env).returncode in (0, 1)
    assert repo.kl("context", "fix test_message", env=env).returncode == 0


@pytest.mark.slow
def test_no_secret_rests_anywhere(tmp_path: Path, home: Path) -> None:
    secret = plant()
    repo = make_work(tmp_path, secret)
    record_all(repo, secret, tmp_path)
    chain = repo.kl("evidence", "verify")
    assert (chain.returncode, chain.stderr) == (0, "")
    listed = json.loads(repo.kl("evidence", "list", "--format", "json").stdout)["receipts"]
    assert {r["source"] for r in listed} >= {"pytest", "command", "commits", "junit", "claim"}
    assert "[redacted:" in json.dumps(listed)
    stored = list(everything(repo.state, home))
    assert len(stored) > 10
    found = {
        (place, where)
        for place, text in secret.items()
        for where, content in stored
        if text.encode() in content
    }
    found = {
        (place, where) for place, where in found if not (place == "file" and "/graph/" in where)
    }
    assert found == set()


@pytest.mark.local_database
def test_the_look_finds_what_is_planted_in_a_packed_column(tmp_path: Path, home: Path) -> None:
    """The search above can fail: the same search on a store into which a secret was put by hand."""
    repo = checkout(tmp_path / "repo")
    assert repo.kl("run", "--", "true").returncode == 0
    assert repo.kl("status").returncode == 0
    with closing(sqlite3.connect(repo.state / "kl.db")) as raw, raw:
        raw.execute("UPDATE receipt SET outcomes = ?", (zlib.compress(b"a needle in here"),))
    assert [where for where, content in everything(repo.state) if b"needle" in content] != []
