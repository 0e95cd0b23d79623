"""How a run can be made to look better than it was: one row per trick, with what `kl verify`
answers.

SECURITY.md prints this table (`make docs`); `test_tricks.py` plays every row in a real repository,
so the page can't promise more than the program does.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.support import Checkout, sql

PACKAGE = "def add(a, b):\n    return a - b\n"
TESTS = (
    "from pkg import add\n\ndef test_type():\n    assert add(1, 1) is not None\n\n"
    "def test_sum():\n    assert add(1, 2) == 3\n"
)
"""One of the two tests fails, whatever the tricks state."""
MOODY = "import os\n\ndef test_sum():\n    assert not os.environ.get('BREAK')\n"
"""Fails where a variable asks for it: the same content passes and fails."""
EXITS = (
    "import pytest\n\ndef test_type():\n    pass\n\ndef test_sum():\n    pytest.exit('enough',"
    " returncode=0)\n"
)
FORKS = (
    "import os\n\ndef test_sum():\n    pid = os.fork()\n    if not pid:\n        os._exit(1)\n   "
    " os.waitpid(pid, 0)\n"
)
PASSING = "def test_type():\n    assert True\n"


@dataclass(frozen=True)
class Trick:
    """A way to make a failing run look green."""

    name: str
    """As the table names it."""
    detected: bool
    """False: `kl verify` states *proven*, and the table states that it can't be detected."""
    answer: str
    """What the table states about it."""
    shows: str = ""
    """Text that `kl verify` prints where the trick is detected."""
    files: Mapping[str, str] = field(default_factory=dict)
    tests: str = TESTS
    act: Callable[[Checkout], None] = lambda repo: _pytest(repo)
    """What is done; plain `pytest` where nothing else is reported."""
    ask: tuple[str, ...] = ()
    """Options of `kl verify`."""


def _pytest(repo: Checkout, *args: str, env: Mapping[str, str] | None = None) -> None:
    repo.pytest("-q", *args, env=env)


def conftest(text: str) -> dict[str, str]:
    return {"conftest.py": "import atexit, os, sys\nimport pytest\n" + text}


REWRITES = conftest(
    "@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_makereport():\n"
    "    report = yield\n    report.outcome = 'passed'\n    return report\n"
)
FROM_ITEM = conftest(
    "make = pytest.TestReport.from_item_and_call.__func__\n"
    "def green(cls, item, call):\n    call.excinfo = None\n    return make(cls, item, call)\n"
    "pytest.TestReport.from_item_and_call = classmethod(green)\n"
)
WORD_OF = conftest(
    "def pytest_configure():\n    import pytest_kl.listener as ours\n    ours.word_of = lambda"
    " *ignored: 'passed'\n    ours.REFUTES = frozenset()\n@pytest.hookimpl(wrapper=True,"
    " tryfirst=True)\ndef pytest_sessionfinish(session):\n    session.exitstatus = 0\n    return"
    " (yield)\n"
)
EXIT_STATUS = conftest(
    "@pytest.hookimpl(trylast=True)\ndef pytest_sessionfinish(session):\n    session.exitstatus"
    " = 0\n"
)
UNCONFIGURE = conftest("def pytest_unconfigure():\n    raise RuntimeError('late')\n")
CLEANUP = conftest(
    "def pytest_configure(config):\n    def late():\n        raise RuntimeError('late')\n   "
    " config.add_cleanup(late)\n"
)
ATEXIT = conftest("atexit.register(os._exit, 1)\n")


def _receipt_by_hand(repo: Checkout) -> None:
    """A complete spool of a run that never happened, written with kl's own functions."""
    from kl_hooks.evidence.capture import new_run_id, open_spool, opening_record
    from kl_hooks.evidence.provenance import worktree_state

    ws = repo.workspace()
    place, run = worktree_state(ws.repo), new_run_id()
    writer = open_spool(ws, run)
    writer.record(
        opening_record(
            run,
            "pytest",
            "pytest",
            place,
            ws.clock.now(),
            ws.environ,
            selection={},
            further_environment={},
        )
    )
    for test in ("test_sum", "test_type"):
        writer.line(f'["t","test_pkg.py::{test}","passed",1,null,null]')
    writer.record(
        {
            "t": "end",
            "ended": "2027-01-15T08:00:01.000000Z",
            "tree_end": place.tree,
            "moved": False,
            "tests": 2,
            "selection": {"collected": 2, "deselected": 0, "selected": 2, "ran": 2},
            "evidence": 0,
            "result": {
                "exit": 0,
                "complete": True,
                "how": "finished",
                "verdict": "passed",
                "reasons": [],
                "counts": {"passed": 2},
            },
        }
    )
    writer.sync()
    writer.close()


def _junit_by_hand(repo: Checkout) -> None:
    cases = "".join(
        f'<testcase classname="test_pkg" name="{name}" time="0.1"/>'
        for name in ("test_sum", "test_type")
    )
    path = repo.root.parent / "green.xml"
    path.write_text(
        f'<testsuites><testsuite name="pytest" tests="2">{cases}</testsuite></testsuites>'
    )
    repo.kl(
        "evidence", "import", "junit", str(path), "--tree", repo.git("rev-parse", "HEAD^{tree}")
    )


def _edited_database(repo: Checkout) -> None:
    """The failing outcomes of the newest run are replaced by those of a green one, the header
    too.
    """
    repo.pytest("-q")
    repo.kl("status")
    sql(
        repo.state / "kl.db",
        'UPDATE receipt SET header = replace(header, \'"verdict":"failed"\','
        ' \'"verdict":"passed"\')',
    )


def _older_database(repo: Checkout) -> None:
    """A copy of the database from before the failing run is put back."""
    repo.pytest("-q")
    repo.kl("status")
    old = repo.root.parent / "old.db"
    shutil.copy(repo.state / "kl.db", old)
    repo.pytest("-q", env={"BREAK": "1"})
    repo.kl("status")
    for name in ("kl.db-wal", "kl.db-shm"):
        (repo.state / name).unlink(missing_ok=True)
    shutil.copy(old, repo.state / "kl.db")


def _replayed_export(repo: Checkout) -> None:
    """Receipts of a green run are exported elsewhere, their tree is edited to this one, and they
    are imported.
    """
    elsewhere = repo.root.parent / "elsewhere"
    shutil.copytree(repo.root, elsewhere)
    other = Checkout(elsewhere)
    other.write("pkg.py", PACKAGE.replace("-", "+"))
    other.commit("fixed")
    other.pytest("-q")
    exported = other.kl("evidence", "export").stdout
    there, here = other.git("rev-parse", "HEAD^{tree}"), repo.git("rev-parse", "HEAD^{tree}")
    path = repo.root.parent / "receipts.jsonl"
    path.write_text(exported.replace(there, here))
    repo.kl("evidence", "import", "receipts", str(path))
    path.write_text(exported)
    repo.kl("evidence", "import", "receipts", str(path))


def _typed_environment(repo: Checkout) -> None:
    repo.write("pkg.py", PACKAGE.replace("-", "+"))
    repo.commit("fixed")
    repo.pytest("-q")
    repo.pytest("-q", env={"GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "1", "KL_AGENT": "reviewer"})


def _parent(repo: Checkout) -> None:
    repo.write("pkg.py", PACKAGE.replace("-", "+"))
    repo.commit("fixed")
    repo.kl_process("run", "--", "true")
    run = json.loads(repo.kl("evidence", "list", "--format", "json").stdout)["receipts"][0]["run"]
    repo.pytest("-q", env={"KL_PARENT": run})


NAMED = "what was expected and not reported is named"
INSIDE = "A run elsewhere that fails contradicts it."
SKIPS = "a `conftest.py` adds skip markers"
"""Played by `test_shapes.py` too."""
PLAYED_ELSEWHERE = (
    (
        (
            "`python -O`, or typed `--noconftest`, `--confcutdir`, `-W ignore` over `filterwarnings"
            " = error`"
        ),
        True,
        "otherwise than configured: what was switched off is named",
    ),
    (
        (
            "any other option that is typed, or in `PYTEST_ADDOPTS`, and not known to be harmless:"
            " `-o`, `-c`, `--runxfail`, `--import-mode`, one of a `conftest.py`"
        ),
        True,
        "otherwise than configured: the option is named",
    ),
    ("parts of a run whose parametrized tests change their names", True, "only a part of it ran"),
    (
        (
            "a fixture or a hook adds skip or xfail marks while the tests run; a wrapper swallows"
            " what a test raises"
        ),
        False,
        f"can't be detected. {INSIDE}",
    ),
    (
        "a plugin or `conftest.py` from outside the content",
        False,
        "can't be detected while it runs; its version, or its digest, is in the receipt",
    ),
    (
        "tests import an installed copy, or another checkout, that differs from this one",
        True,
        "inconclusive: the module, its file here, and the fix are named",
    ),
    (
        "a dependency is upgraded, or another file runs when Python starts, after the run",
        True,
        "the tests that reach it must run again; not where the run was on another machine",
    ),
    (
        "that module is taken out of `sys.modules` before the end, or runs in a subprocess",
        False,
        "can't be detected at the end of the run",
    ),
    (
        "a hook around `pytest_cmdline_main` returns another status",
        True,
        "inconclusive unless that status is 0 and the tests passed",
    ),
    (
        "`os._exit` in an exit function, where a script calls `pytest.main`",
        False,
        "can't be detected: such a run is closed with its session",
    ),
)
"""Played by `test_shapes.py`, `test_distributions.py`, and by `test_imported.py` and
`test_exit_status.py` of `tests/pytest_kl`.
"""
NOT_CALLED = "`pytest_pyfunc_call` calls nothing"
"""Played by `test_shapes.py` too."""
DROPPED = {
    "collection_finish": "`pytest_collection_finish` drops tests",
    "pycollect_makeitem": "`pytest_pycollect_makeitem` returns nothing for a test",
    "collect_ignore": "`collect_ignore` in a `conftest.py`",
    "collect_ignore_glob": "`collect_ignore_glob` in a `conftest.py`",
    "ignore_collect": "`pytest_ignore_collect` in a `conftest.py`",
    "narrowed testpaths": "`testpaths` are narrowed",
    "narrowed python_files": "`python_files` are narrowed",
    "narrowed python_functions": "`python_functions` are narrowed",
    "norecursedirs": "`norecursedirs` hide a folder",
    "another folder": "pytest is run in a folder with a configuration of its own",
}
"""Ways to drop tests without a failure, each played by `test_shapes.py` → how the table names it.
"""
TRICKS = (
    Trick(
        "a `conftest.py` rewrites `report.outcome`",
        False,
        f"can't be detected from inside the process. {INSIDE}",
        files=REWRITES,
    ),
    Trick(
        "a `conftest.py` replaces `TestReport.from_item_and_call`",
        False,
        f"can't be detected. {INSIDE}",
        files=FROM_ITEM,
    ),
    Trick(
        "a `conftest.py` replaces kl's own functions and the exit status",
        False,
        f"can't be detected. {INSIDE}",
        files=WORD_OF,
    ),
    Trick(
        "`session.exitstatus = 0` over a failing test",
        True,
        "the exit status disagrees with the failures",
        "failed",
        EXIT_STATUS,
    ),
    Trick(
        "`pytest_unconfigure` raises",
        True,
        "pytest failed after its last test",
        "inconclusive",
        UNCONFIGURE,
        PASSING,
    ),
    Trick(
        "a cleanup of pytest's configuration raises",
        True,
        "pytest failed after its last test",
        "inconclusive",
        CLEANUP,
        PASSING,
    ),
    Trick(
        "an exit function calls `os._exit(1)`",
        True,
        "incomplete: no end record",
        "incomplete",
        ATEXIT,
        PASSING,
    ),
    Trick(
        "a test calls `os._exit(0)`",
        True,
        "incomplete: no end record; the running test is named",
        "incomplete",
        tests="import os\n\ndef test_type():\n    pass\n\ndef test_sum():\n    os._exit(0)\n",
    ),
    Trick(
        "`pytest.exit(returncode=0)`",
        True,
        "tests were selected but not reported",
        "incomplete (interrupted)",
        tests=EXITS,
    ),
    Trick(
        "a test forks, and ignores what fails in the child",
        False,
        "can't be detected: the test itself reports that it passed",
        tests=FORKS,
    ),
    Trick(
        "everything is skipped",
        True,
        "nothing passed",
        "nothing passed",
        tests="import pytest\n\n@pytest.mark.skip\ndef test_sum():\n    assert 0\n",
    ),
    Trick(
        "`-k`, `-m`, `--lf`, `--deselect`, or arguments leave the failing test out",
        True,
        "a selection, which is named",
        "-k",
        act=lambda repo: _pytest(repo, "-k", "type"),
    ),
    Trick(
        "`addopts` deselect the failing test",
        True,
        "a selection, which is named",
        "deselected",
        files={"pytest.ini": "[pytest]\naddopts = --deselect=test_pkg.py::test_sum\n"},
    ),
    Trick(
        "`pytest_collection_modifyitems` drops it without a word",
        True,
        "the number of dropped tests is recorded",
        "taken out",
        conftest("def pytest_collection_modifyitems(items):\n    del items[1:]\n"),
    ),
    Trick(
        "a spool file is written by hand",
        False,
        "can't be detected: whoever has the user's rights can write what kl writes",
        act=_receipt_by_hand,
    ),
    Trick(
        "a JUnit file is written by hand and imported with `--tree`",
        False,
        "can't be detected: who names the tree vouches for it",
        act=_junit_by_hand,
    ),
    Trick(
        "the database is edited",
        True,
        "the header does not fit its ID; `kl doctor` and `kl evidence verify` name the receipt",
        "",
        act=_edited_database,
    ),
    Trick(
        "an older copy of the database is put back",
        True,
        "not assessed: the store had more receipts. Finds accidents: the marks can be put back too",
        "not assessed",
        tests=MOODY,
        act=_older_database,
    ),
    Trick(
        "an export of another content is edited and imported",
        True,
        "refused or imported, which never counts",
        "",
        act=_replayed_export,
    ),
    Trick(
        "`GITHUB_ACTIONS` or `KL_AGENT` is typed, for a second observation",
        True,
        "words in the environment make no second observation",
        "two independent observations required",
        act=_typed_environment,
        ask=("--require", "verified"),
    ),
    Trick(
        "`KL_PARENT` names some other command that succeeded",
        True,
        "a parent adds no observation",
        "two independent observations required",
        act=_parent,
        ask=("--require", "verified"),
    ),
)


def rows() -> list[tuple[str, bool, str]]:
    """The table: the trick, whether it is detected, and what is reported about it."""
    played = [(one.name, one.detected, one.answer) for one in TRICKS]
    return [
        *played,
        *((title, True, NAMED) for title in DROPPED.values()),
        (NOT_CALLED, True, "what replaces the call of tests is named"),
        (
            SKIPS,
            True,
            "their number is noted; refused where the tests passed in the last complete run",
        ),
        *PLAYED_ELSEWHERE,
    ]
