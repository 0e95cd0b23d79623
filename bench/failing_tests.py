"""How well a pasted test failure leads to the file to fix: cases made from the fixes in a
repository's history.

    python -m bench.failing_tests CASES.json --make --python VENV/bin/python --repo CLONE … [--each
    12] [--last 1500] python -m bench.failing_tests CASES.json --repo CLONE … [--record --python
    VENV/bin/python] [--keep FOLDER]

`--make` RUNS THE TESTS OF THESE REPOSITORIES, with the interpreter named, in scratch clones: code
of strangers, so this is no command of kl. A case is a commit that changes tests and source: its
tests are run on its parent, those that fail there and pass at the commit are run once more, and
what pytest prints is the task. The answer is the source that the commit changed. The second form
grades packages for these tasks at the parent, with the failing test in place. With `--record`
(which runs tests, too) the suite of the parent and then the failing tests are recorded before that,
as whoever uses the plugin has them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.measure import environment
from kl_hooks.context.build import build
from kl_hooks.context.replay import Replay, bootstrap
from kl_hooks.context.replay import Task as ReplayTask
from kl_hooks.git.commits import TouchedFiles, ancestors, touched_files
from kl_hooks.git.files import files_at
from kl_hooks.git.repository import Repository, find_repository, git_in
from kl_hooks.index.postings import OTHER, SOURCE, corpus_of
from kl_hooks.model.request import Request
from kl_hooks.workspace import open_workspace

MOST_FILES = 4
MOST_FAILING = 3
SECONDS = 150
_FAILED = re.compile(r"(?m)^FAILED (.+?\.py::.+?)(?: - .*)?$")
_RECORDED = (
    "-p",
    "pytest_kl.plugin",
    "--kl",
    "-q",
    "--tb=no",
    "-o",
    "addopts=",
    "--continue-on-collection-errors",
)
_PYTEST = ("-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", "--color=no")


@dataclass(frozen=True)
class Case:
    """A test failure with its fix."""

    repository: str
    commit: str
    parent: str
    tests: list[str]
    """Files of tests that the fix changed."""
    files: list[str]
    """The source files that it changed: the answer."""
    symbols: list[str]
    """The functions, methods and classes of the parent that it changed."""
    text: str
    """What pytest printed: the task."""


def git(folder: Path, *args: str) -> str:
    return subprocess.run(
        ["git", *args], cwd=folder, check=True, capture_output=True, text=True, env=environment()
    ).stdout


def scratch(repo: Path, folder: Path) -> Path:
    """A clone to check out what is wanted in."""
    git(
        folder,
        "clone",
        "--quiet",
        "--shared",
        "--no-checkout",
        str(repo.resolve()),
        str(folder / repo.name),
    )
    return folder / repo.name


def place(clone: Path, case: Case) -> None:
    """The parent, with the tests of the fix."""
    git(clone, "checkout", "--quiet", "--force", "--detach", case.parent)
    git(clone, "clean", "-qfd", "-e", ".kl")
    git(clone, "checkout", "--quiet", case.commit, "--", *case.tests)


def pytest(python: Path, clone: Path, *args: str) -> tuple[int, str]:
    """The exit code and the output of a run; 124 after `SECONDS`."""
    environ = environment() | {
        "PYTHONPATH": os.pathsep.join([str(clone / "src"), str(clone)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "COLUMNS": "80",
    }
    command = [str(python), *_PYTEST, *args]
    try:
        done = subprocess.run(
            command,
            cwd=clone,
            env=environ,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, ""
    return done.returncode, done.stdout


def candidates(repo: Repository, last: int, seed: int) -> Iterator[Case]:
    """The commits that change few files of source, and tests."""
    commits = touched_files(repo, ancestors(repo, last), (".py",))
    for commit in random.Random(seed).sample(commits, len(commits)):
        case = _case(repo, commit)
        if case:
            yield case


def _case(repo: Repository, commit: TouchedFiles) -> Case | None:
    source = {old or path for path, old in commit.changes if corpus_of(old or path) == SOURCE}
    tests = sorted(
        path for path, _ in commit.changes if corpus_of(path) == OTHER and "test" in path
    )
    if not tests or not 0 < len(source) <= MOST_FILES:
        return None
    parents = (
        git_in(repo, "rev-list", "--parents", "-n", "1", commit.sha).decode("ascii").split()[1:]
    )
    if len(parents) != 1:
        return None
    known = {entry.path for entry in files_at(repo, parents[0], (".py",))}
    after = {entry.path for entry in files_at(repo, commit.sha, (".py",))}
    files = sorted(source & known)
    if not files or not after.issuperset(tests):
        return None
    symbols = sorted(
        Replay(repo, "").changed_symbols(ReplayTask(commit.sha, parents[0], "", frozenset(files)))
    )
    return Case(repo.top.name, commit.sha, parents[0], tests, files, symbols, "")


def failure(case: Case, clone: Path, python: Path) -> Case | None:
    """The case with what pytest prints; None where no test fails at the parent only."""
    run = [
        path
        for path in case.tests
        if path.rpartition("/")[2].startswith("test_") or path.endswith("_test.py")
    ]
    if not run:
        return None
    place(clone, case)
    code, out = pytest(python, clone, "-q", "--tb=no", "-rf", *run)
    failed = list(dict.fromkeys(_FAILED.findall(out)))
    if code != 1 or not failed or len(failed) > 40:
        return None
    git(clone, "checkout", "--quiet", "--force", "--detach", case.commit)
    code, out = pytest(python, clone, "-q", "--tb=no", "-rf", *failed)
    still = set(_FAILED.findall(out))
    fixed = [one for one in failed if one not in still][:MOST_FAILING]
    if code not in (0, 1) or not fixed:
        return None
    place(clone, case)
    code, out = pytest(python, clone, *fixed)
    return Case(**(asdict(case) | {"text": out})) if code == 1 and "FAILURES" in out else None


def make(repos: Sequence[Path], python: Path, each: int, last: int, seed: int) -> list[Case]:
    """At most `each` cases of each repository."""
    found: list[Case] = []
    for path in repos:
        with tempfile.TemporaryDirectory() as folder:
            repo = find_repository(path)
            assert repo is not None
            clone, mine, tried = scratch(path, Path(folder)), 0, 0
            for case in candidates(repo, last, seed):
                tried += 1
                try:
                    made = failure(case, clone, python)
                except subprocess.CalledProcessError:
                    continue
                if made:
                    found.append(made)
                    mine += 1
                if mine == each or tried == each * 8:
                    break
            print(f"{path.name}: {mine} cases of {tried} commits", file=sys.stderr, flush=True)
    return found


def prepared(repo: Path, folder: Path, case: Case, recording: Path | None) -> Path:
    """A clone with the failing tests of a case in place; one that was made before is taken as it
    is.
    """
    (folder / case.commit).mkdir(exist_ok=True)
    clone = folder / case.commit / repo.name
    if not (clone / ".kl").exists():
        scratch(repo, folder / case.commit)
        git(clone, "checkout", "--quiet", "--force", "--detach", case.parent)
        (clone / ".kl").mkdir(exist_ok=True)
        if recording:
            pytest(recording, clone, *_RECORDED)
        place(clone, case)
        if recording:
            # whole functions: not every ID of a case can be given back to pytest
            failed = dict.fromkeys(one.partition("[")[0] for one in _FAILED.findall(case.text))
            pytest(recording, clone, *_RECORDED, *failed)
    return clone


def shown_code(clone: Path, case: Case) -> tuple[list[str], list[str]]:
    """The files, in their order, and the symbols in the package for a case."""
    package = build(open_workspace(clone), Request(case.text, "16000"))
    files = [item.candidate.path for item in package.items if item.candidate.kind == "file"]
    return files, [item.candidate.id for item in package.items if item.candidate.kind == "symbol"]


def name_of(symbol: str) -> str:
    """Its dotted name; the one of a case begins with all folders of its file."""
    return symbol.partition(":")[2]


def grade(
    cases: Sequence[Case],
    repos: Sequence[Path],
    lost: bool,
    recording: Path | None,
    keep: Path | None,
) -> None:
    """Print how many cases have the file to fix first, and the mean recall of files and symbols."""
    rows: list[tuple[float, ...]] = []
    for path in repos:
        with tempfile.TemporaryDirectory() as folder:
            for case in (one for one in cases if one.repository == path.name):
                clone = prepared(path, keep or Path(folder), case, recording)
                files, symbols = shown_code(clone, case)
                gold = set(case.files)
                recall = [len(gold.intersection(files[:most])) / len(gold) for most in (1, 5, 10)]
                shown = [
                    one
                    for one in case.symbols
                    if any(f".{name_of(one)}".endswith(f".{name_of(two)}") for two in symbols)
                ]
                inside = len(shown) / len(case.symbols) if case.symbols else 1.0
                rows.append((float(bool(gold.intersection(files[:1]))), *recall, inside))
                if lost and not rows[-1][0]:
                    print(
                        f"  {path.name} {case.commit[:10]} {sorted(gold)}: {files[:3]}", flush=True
                    )
    for name, column in zip(
        ("a file to fix is first", "R@1", "R@5", "R@10", "changed symbols shown"),
        zip(*rows, strict=True),
        strict=True,
    ):
        middle, low, high = bootstrap(column, 1)
        print(f"{name:24} {middle:.3f} [{low:.3f}, {high:.3f}] of {len(rows)}")


def main() -> int:
    """0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", type=Path)
    parser.add_argument("--make", action="store_true")
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--repo", type=Path, action="append", required=True)
    parser.add_argument("--each", type=int, default=12)
    parser.add_argument("--last", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument(
        "--lost", action="store_true", help="Print the cases in which no file to fix is first."
    )
    parser.add_argument(
        "--record", action="store_true", help="Record the suite and the failing tests first."
    )
    parser.add_argument(
        "--keep", type=Path, help="A folder for clones that another call takes as they are."
    )
    given = parser.parse_args()
    if given.make:
        made = make(given.repo, given.python.absolute(), given.each, given.last, given.seed)
        given.cases.write_text(
            json.dumps([asdict(one) for one in made], indent=1), encoding="utf-8"
        )
        return 0
    cases = [Case(**one) for one in json.loads(given.cases.read_text(encoding="utf-8"))]
    grade(
        cases, given.repo, given.lost, given.python.absolute() if given.record else None, given.keep
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
