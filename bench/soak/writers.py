"""What writes: each of kl's writers as one act under a key of its own, and how often a repository
has what was written under a key.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from bench.soak.stage import Stage, complaints
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.ledger import recent
from kl_hooks.hookspecs import Schema
from kl_hooks.store.store import Store
from kl_hooks.workspace import Workspace, open_workspace
from tests.support import Checkout

MODULE: Final = "def total(prices):\n    return sum(prices)\n"
TESTS: Final = """import os
import pytest
from shop import total

@pytest.mark.parametrize("key", [os.environ.get("SOAK_KEY", "")])
@pytest.mark.parametrize("number", range(4))
def test_total(number, key):
    path = os.environ.get("SOAK_RAN")
    if path:
        with open(path, "a") as file:
            file.write(f"{key}\\n")
    assert total(range(number)) == number * (number - 1) // 2
"""
FILES: Final = {
    "shop.py": MODULE,
    "test_shop.py": TESTS,
    "conftest.py": "",
    "docs/guide.md": "# Guide\n\nPrices are added by total.\n",
}
TESTS_OF_A_RUN: Final = 4
_JUNIT: Final = (
    '<testsuite tests="1"><testcase classname="imported" name="test_{key}" time="0.1"/></testsuite>'
)


class Answer(NamedTuple):
    """How an act ended that was not killed."""

    acknowledged: bool
    problems: list[str]
    text: str
    """What was printed."""


class Facts:
    """What a repository has, by key."""

    def __init__(self, ws: Workspace) -> None:
        self.subjects: Counter[str] = Counter()
        self.complete_runs = 0
        self.values: Counter[str] = Counter()
        with ws.store.reading() as db:
            for entry in recent(db, 100_000, everything=True) if db else []:
                self.subjects.update({fact.subject for fact in entry.receipt.evidence})
                is_run = entry.receipt.source == "pytest" and entry.receipt.result["complete"]
                self.complete_runs += is_run and len(entry.receipt.evidence) == TESTS_OF_A_RUN
            for table in ("short_entry", "context_entry", "pool_value", "record"):
                if db and db.has_table(table):
                    self.values.update(str(row) for row in db.rows(f"SELECT * FROM {table}"))
        self.files: Counter[str] = Counter()
        for path in (ws.root / ".kl").rglob("*-*.md"):
            with suppress(OSError, UnicodeDecodeError):
                self.files[path.read_text("utf-8")] += 1

    def receipts(self, subject: str) -> int:
        """How many receipts have a fact of this subject."""
        return self.subjects[subject]

    def rows(self, key: str) -> int:
        """How many rows of memory have this key."""
        return sum(count for text, count in self.values.items() if f"'{key}'" in text)

    def records(self, key: str) -> int:
        """How many files of records have this key."""
        return sum(count for text, count in self.files.items() if key in text)


class Writer(NamedTuple):
    """One way to write."""

    name: str
    act: Callable[[Stage, str], Answer]
    """Write under a key, in a child."""
    stored: Callable[[Facts, str], int] | None
    """How often it is stored; None: nothing is acknowledged, others' acts must survive it."""


def _command(stage: Stage, *args: str) -> Answer:
    done = stage.kl(*args)
    text = done.stdout + done.stderr
    acknowledged = done.returncode == 0 and "not recorded" not in text
    return Answer(acknowledged, complaints(done, args), text)


def _pytest(stage: Stage, key: str, code: int = 0) -> Answer:
    """A run of pytest with the plugin, in this child, that must end with `code`."""
    os.environ["SOAK_KEY"] = key
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.chdir(stage.repo)
    sys.path.insert(0, str(stage.repo))
    for module in ("shop", "test_shop", "conftest"):
        sys.modules.pop(module, None)
    output = stage.folder / f"output-{os.getpid()}"
    with output.open("w+b") as file:
        for handle in (1, 2):
            os.dup2(file.fileno(), handle)
        ended = pytest.main(["-q", "-p", "pytest_kl.plugin", "-p", "no:cacheprovider"])
        sys.stdout.flush()
        sys.stderr.flush()
    text = output.read_text("utf-8", "replace")
    output.unlink()
    problems = [f"pytest ended with {ended}: {text[-1500:]}"] if ended != code else []
    if code == 0 and ("Traceback" in text or "INTERNALERROR" in text):
        problems.append(f"traceback in pytest: {text[-1500:]}")
    return Answer("; recorded as " in text, problems, text)


def _import_junit(stage: Stage, key: str) -> Answer:
    path = stage.folder / f"{key}.xml"
    path.write_text(_JUNIT.format(key=key), "utf-8")
    return _command(stage, "evidence", "import", "junit", str(path))


def _add_document(stage: Stage, key: str) -> Answer:
    path = stage.folder / f"{key}.md"
    path.write_text(f"# Text of {key}\n\nPrices of {key} are rounded.\n", "utf-8")
    return _command(stage, "document", "add", str(path))


def _edit_and_search(stage: Stage, key: str) -> Answer:
    (stage.repo / "docs" / f"{key}.md").write_text(f"# {key}\n\nAbout {key}.\n", "utf-8")
    return _command(stage, "search", key)


def released_schemas(ws: Workspace) -> list[Schema]:
    """The tables of an early kl: the first step of evidence and of records."""
    schemas = [schema for schema in ws.store.schemas() if schema.database == "kl"]
    return [
        schema._replace(steps=schema.steps[:1])
        for schema in schemas
        if schema.owner in ("evidence", "records")
    ]


def make_repository(stage: Stage) -> None:
    """A repository that kl is used in, where every writer has written once."""
    checkout = Checkout(stage.repo)
    checkout.git("init", "-q")
    checkout.write(".gitignore", "__pycache__/\n")
    checkout.write(".kl/README.md", "Here.\n")
    for name, text in FILES.items():
        checkout.write(name, text)
    checkout.commit("first")
    for writer in WRITERS:
        if writer.stored:
            answer = stage.child(
                lambda writer=writer: writer.act(stage, f"base{writer.name}")
            ).answer
            assert answer.acknowledged, (writer.name, answer)
    stage.child(lambda: stage.kl("status"))


def make_failing_repository(stage: Stage) -> None:
    """The same with an edit that makes the tests fail, and their run."""
    make_repository(stage)
    (stage.repo / "shop.py").write_text("def total(prices):\n    return -1\n", "utf-8")
    answer = stage.child(lambda: _pytest(stage, "red", 1)).answer
    assert answer.acknowledged, answer
    stage.child(lambda: import_all(stage))


def run_tests(stage: Stage, key: str, code: int) -> Answer:
    """Run the tests in a child, which must end with `code`."""
    answer: Answer = stage.child(lambda: _pytest(stage, key, code)).answer
    return answer


def make_old_repository(stage: Stage) -> None:
    """A repository whose store has the tables of an early kl, and a capture that waits."""
    checkout = Checkout(stage.repo)
    checkout.git("init", "-q")
    checkout.write(".kl/README.md", "Here.\n")
    checkout.commit("first")

    def make() -> None:
        ws = open_workspace(stage.repo)
        older = Store(ws.state, lambda: released_schemas(ws), {})
        with older.writing():
            pass
        answer = by_name("run").act(stage, "waiting")
        assert answer.acknowledged, answer

    stage.child(make)


def import_all(stage: Stage) -> list[str]:
    """Import what waits, in a child; what is wrong with that."""
    synced = sync_evidence(open_workspace(stage.repo))
    return [f"import: {synced.trouble}"] if synced.trouble else []


WRITERS: Final = (
    Writer(
        "run",
        lambda stage, key: _command(stage, "run", "--", "true", key),
        lambda facts, key: facts.receipts(f"command:true {key}"),
    ),
    Writer(
        "pytest",
        _pytest,
        lambda facts, key: facts.receipts(f"test:test_shop.py::test_total[0-{key}]"),
    ),
    Writer(
        "junit",
        _import_junit,
        lambda facts, key: facts.receipts(f"test:imported.py::test_{key}"),
    ),
    Writer(
        "remember",
        lambda stage, key: _command(stage, "remember", key, "a value"),
        lambda facts, key: facts.rows(key),
    ),
    Writer(
        "long",
        lambda stage, key: _command(stage, "remember", key, "a value", "--tier", "long"),
        lambda facts, key: facts.rows(key),
    ),
    Writer(
        "pool",
        lambda stage, key: _command(stage, "remember", key, "a value", "--tier", "shared"),
        lambda facts, key: facts.rows(key),
    ),
    Writer(
        "decision",
        lambda stage, key: _command(
            stage, "decision", "new", f"Title {key}.", "--context", "c", "--decision", "d"
        ),
        lambda facts, key: facts.records(f"Title {key}."),
    ),
    Writer(
        "memory",
        lambda stage, key: _command(stage, "memory", "add", f"Learned of {key}, once."),
        lambda facts, key: facts.records(f"Learned of {key}, once."),
    ),
    Writer("document", _add_document, lambda facts, key: facts.rows(f"Text of {key}")),
    Writer("ingest", lambda stage, _: _command(stage, "evidence", "list"), None),
    Writer("index", _edit_and_search, None),
    Writer("maintain", lambda stage, _: _command(stage, "maintain"), None),
)


def by_name(name: str) -> Writer:
    """The writer of a name."""
    return next(writer for writer in WRITERS if writer.name == name)


def state_folders(repo: Path) -> tuple[Path, ...]:
    """What kl writes below a repository: its state, its records, its caches."""
    git = repo / ".git"
    return git / "kl", repo / ".kl", git / "caches", git / "states"
