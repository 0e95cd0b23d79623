"""Whether what kl derives from executed symbols is right: mutants, replayed commits, rotting
claims, flaky tests.

    python -m bench.proof_quality mutants [--repo CLONE …] [--number 12] [--class function …]
    [--full] python -m bench.proof_quality commits [--repo CLONE …] [--number 5] [--full] python -m
    bench.proof_quality rot [--repo CLONE …] [--number 100] python -m bench.proof_quality flaky
    [--number 12]

Clones of attrs, click, flask and packaging are looked for in `KL_BENCH_CLONES`. `mutants`,
`commits` and `flaky` RUN TESTS (see `bench.suite_runs`). `--full` is all tests, 300 mutants, 100
commits: hours. Each ends after `--seconds`.

`mutants`: of the tests that a mutant breaks, the share that had executed the mutated function
(goal: .99), and how many of them kl takes for valid all the same (goal: 0), by class of mutant.
`commits`: of the tests whose outcome a fix changes, how many kl did not name as impacted (goal: 0),
and the share of tests named, beside pytest-testmon. Both write a line for each mutant and commit to
`--results FILE` at once, pass over what it has, and count it. `rot`: the share of claims at
functions that is stale after 20, 100 and 300 commits, beside the floor (the function itself
changed, by `ast` alone) and the files touched. `flaky`: tests with known causes found after n runs,
beside five reruns.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.failing_tests import git
from bench.suite_runs import PLUGIN, Suite, clone_of, first_parents, found_suites, run_suite
from kl_hooks.evidence.executed import Executed
from kl_hooks.evidence.flaky import flaky_tests
from kl_hooks.evidence.snapshot import snapshot
from kl_hooks.git.repository import find_repository
from kl_hooks.model.claim import Anchor, Claim
from kl_hooks.proof.difference import symbols_of_files
from kl_hooks.proof.facts import RunSymbols
from kl_hooks.proof.freshness import assess
from kl_hooks.proof.impact import Runs, content_of
from kl_hooks.proof.impacted import impacted_tests
from kl_hooks.workspace import open_workspace

CLASSES: Final = ("function", "class body", "module constant", "default", "decorator")
SPANS: Final = (20, 100, 300)
_LAST: Final = 800
"""Commits among which fixes are looked for."""
_TESTMON: Final = ("-p", "testmon.pytest_testmon", "--testmon")


class Results:
    """What was measured, a row for each mutant or commit; with a file, by earlier calls too."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        lines = file.read_text(encoding="utf-8").splitlines() if file and file.exists() else []
        self.rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
        self._known = {row["key"] for row in self.rows}

    def has(self, key: str) -> bool:
        """Whether it was measured already."""
        return key in self._known

    def add(self, **row: Any) -> None:
        """One more."""
        self.rows.append(row)
        if self._file:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


# mutants


class Mutant(NamedTuple):
    """A changed file."""

    kind: str
    path: str
    name: str
    """What is changed, as it is called in its file."""
    text: str


def mutants_of(path: str, text: str) -> Iterator[Mutant]:
    """Every mutant of a file: a function that raises, another value in a body or a default, no
    decorator.
    """
    lines = text.splitlines(keepends=True)

    def replaced(node: ast.expr, new: str) -> str:
        first, last = (
            lines[node.lineno - 1].encode(),
            lines[(node.end_lineno or node.lineno) - 1].encode(),
        )
        middle = first[: node.col_offset] + new.encode() + last[node.end_col_offset :]
        return "".join([*lines[: node.lineno - 1], middle.decode(), *lines[node.end_lineno :]])

    def values(body: Sequence[ast.stmt], kind: str, outer: str) -> Iterator[Mutant]:
        for one in body:
            if isinstance(one, ast.Assign | ast.AnnAssign) and one.value is not None:
                constant = next(
                    (n for n in ast.walk(one.value) if isinstance(n, ast.Constant)), None
                )
                if constant is not None and (new := _other(constant)):
                    yield Mutant(kind, path, outer or "<module>", replaced(constant, new))

    def inside(body: Sequence[ast.stmt], outer: str) -> Iterator[Mutant]:
        for one in body:
            if isinstance(one, ast.ClassDef):
                name = f"{outer}{one.name}"
                yield from values(one.body, "class body", name)
                yield from inside(one.body, f"{name}.")
            elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                # before its docstring it would have none any more
                has_docstring = ast.get_docstring(one, clean=False) is not None
                first = one.body[has_docstring and len(one.body) > 1]
                name = f"{outer}{one.name}"
                if first.lineno > one.lineno:
                    raising = f"{' ' * first.col_offset}raise RuntimeError('mutant')\n"
                    start = (
                        min(
                            [
                                first.lineno,
                                *(d.lineno for d in getattr(first, "decorator_list", ())),
                            ]
                        )
                        - 1
                    )
                    yield Mutant(
                        "function", path, name, "".join([*lines[:start], raising, *lines[start:]])
                    )
                for default in (*one.args.defaults, *one.args.kw_defaults):
                    if isinstance(default, ast.Constant) and (new := _other(default)):
                        yield Mutant("default", path, name, replaced(default, new))
                for mark in one.decorator_list:
                    if "overload" not in ast.unparse(mark):
                        without = [
                            *lines[: mark.lineno - 1],
                            *lines[mark.end_lineno or mark.lineno :],
                        ]
                        yield Mutant("decorator", path, name, "".join(without))

    tree = ast.parse(text)
    yield from values(tree.body, "module constant", "")
    yield from inside(tree.body, "")


def _other(node: ast.Constant) -> str:
    """Another constant of the same sort; empty where there is none."""
    value = node.value
    if isinstance(value, bool) or value is None:
        return "False" if value is True else "True"
    if isinstance(value, int):
        return str(value + 1)
    # the first part of several literals side by side, and of an f-string, is no expression of its
    # own
    return repr(value + "x") if isinstance(value, str) and node.end_lineno == node.lineno else ""


@contextmanager
def written(file: Path, text: str) -> Iterator[None]:
    """The file with another text; afterwards it is what it was, its time included."""
    before, state = file.read_bytes(), file.stat()
    file.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        file.write_bytes(before)
        os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))


def mutants(
    suite: Suite,
    clone: Path,
    number: int,
    args: Sequence[str],
    until: float,
    results: Results,
    classes: Sequence[str],
) -> None:
    """Mutate what the tests executed, one change at a time; print what was missed."""
    before = run_suite(clone, suite.module, *PLUGIN, *args)
    again = run_suite(clone, suite.module, *args)
    stable = {
        name
        for name, outcome in before.items()
        if outcome == "passed" and again.get(name) == "passed"
    }
    ws = open_workspace(clone)
    with snapshot(ws) as seen:
        executed = next((one for entry in seen.recent(3) if (one := seen.executed(entry))), None)
    if executed is None:
        raise SystemExit(
            f"{suite.name}: its tests do not run, or this interpreter records no symbols"
        )
    print(f"  {suite.name}: {len(stable)} tests, {len(executed.symbols)} symbols", flush=True)
    killed = Counter(
        row["kind"] for row in results.rows if row["suite"] == suite.name and row["broken"]
    )
    for mutant in _drawn(clone, suite, executed, number):
        key = sha256(f"{suite.name}:{mutant.path}:{mutant.text}".encode()).hexdigest()[:16]
        if results.has(key) or mutant.kind not in classes:
            continue
        # a mutant that breaks nothing shows nothing: of the smaller classes others are tried
        if mutant.kind != "function" and killed[mutant.kind] >= -(-number // 5):
            continue
        if time.monotonic() > until:
            print("  the time is over", flush=True)
            return
        with written(clone / mutant.path, mutant.text):
            ws = open_workspace(clone)
            with snapshot(ws) as seen:
                judged = Runs(ws, seen, content_of(ws)).results
            after = run_suite(clone, suite.module, *args)
            settled = {name for name, result in judged.items() if result.settled}
            broken = {name for name in stable if after and after.get(name) != "passed"}
            wrong = sorted(broken & settled)
            # what a broken test left behind breaks later ones, which pass without it
            alone = run_suite(clone, suite.module, *wrong) if wrong else {}
        if not after:
            continue
        left = [name for name in wrong if alone.get(name) == "passed"]
        missed = sorted(broken - _users(executed, mutant) - executed.incomplete.keys())
        killed[mutant.kind] += bool(broken)
        results.add(
            key=key,
            suite=suite.name,
            kind=mutant.kind,
            path=mutant.path,
            name=mutant.name,
            broken=len(broken),
            missed=missed,
            wrong=wrong,
            left=left,
            stale=1 - len(settled) / max(len(judged), 1),
        )
        words = (
            ("valid all the same", wrong),
            ("of these pass alone", left),
            ("had not executed it", missed),
        )
        for what, some in words:
            if some:
                first = some[0][:200]
                print(
                    f"  {mutant.kind} {mutant.path} {mutant.name}: {what}: {len(some)}, such as"
                    f" {first}",
                    flush=True,
                )


def _drawn(clone: Path, suite: Suite, executed: Executed, number: int) -> list[Mutant]:
    """So many mutants of functions and up to as many of each other class, in turns, of what some
    test executed.
    """
    found: dict[str, list[Mutant]] = {kind: [] for kind in CLASSES}
    for file in sorted((clone / suite.source).rglob("*.py")):
        path = file.relative_to(clone).as_posix()
        for one in mutants_of(path, file.read_text(encoding="utf-8")):
            if _index(executed, one) is not None:
                found[one.kind].append(one)
    dice = random.Random(7)
    for some in found.values():
        dice.shuffle(some)
    # three functions a turn: they are what the goal counts
    functions = found.pop("function")
    turns: list[Mutant] = []
    for at in range(number):
        turns += functions[3 * at : min(3 * at + 3, number)]
        turns += [some[at] for some in found.values() if at < len(some)]
    return turns


def _index(executed: Executed, mutant: Mutant) -> int | None:
    symbols = RunSymbols(executed)
    own = "" if mutant.name == "<module>" else f".{mutant.name}"
    kinds = ("namespace", "function", "method", "property", "type", "interface")
    return next(
        (at for kind in kinds if (at := symbols.find(mutant.path, f"{kind}:_{own}")) is not None),
        None,
    )


def _users(executed: Executed, mutant: Mutant) -> set[str]:
    index = _index(executed, mutant)
    bit = 1 << (index or 0)
    return {
        name
        for name in executed.tests
        if index is not None and executed.dependency_mask(name) & bit
    }


# commits


def commits(
    suite: Suite,
    clone: Path,
    path: Path,
    number: int,
    args: Sequence[str],
    until: float,
    results: Results,
) -> None:
    """Replay fixes: the tests of a commit on the code before it, then on its own. What kl names as
    impacted between the two against what changes its outcome; of commits that change none nothing
    is counted.
    """
    done = sum(row["suite"] == suite.name and row["changed"] > 0 for row in results.rows)
    for sha, files in _fixes(suite, path):
        if done >= number or time.monotonic() > until:
            break
        if results.has(sha):
            continue
        asked = [
            *args,
            *(
                file
                for file in files
                if file.rpartition("/")[2].startswith("test_") and file not in args
            ),
        ]
        asked = [*dict.fromkeys(asked)] if "tests" not in args else [*args]
        git(clone, "checkout", "--quiet", "--force", "--detach", sha)
        git(clone, "clean", "-qfd", "-e", ".kl")
        git(clone, "checkout", "--quiet", f"{sha}^1", "--", suite.source)
        for data in clone.glob(".testmondata*"):
            data.unlink()
        before, _ = _both(suite, clone, asked)
        git(clone, "checkout", "--quiet", "--force", sha)
        ws = open_workspace(clone)
        with snapshot(ws) as seen:
            content = content_of(ws)
            named = {one.test for one in impacted_tests(ws, seen, content).tests}
            known = {name: one.outcome for name, one in Runs(ws, seen, content).results.items()}
        after, selected = _both(suite, clone, asked)
        changed = {name for name in before.keys() & after.keys() if before[name] != after[name]}
        # a run of a neighboring commit may have shown this content's outcome already
        missed = sorted(
            name
            for name in changed
            if not _is_named(name, named) and known.get(name) != after[name]
        )
        run = sum(_is_named(name, named) for name in after)
        results.add(
            key=sha,
            suite=suite.name,
            tests=len(after),
            impacted=run,
            changed=len(changed),
            missed=len(missed),
            testmon=len(selected),
            testmon_missed=len(changed - selected.keys()) if selected else 0,
        )
        if changed:
            done += 1
            words = (
                f"{len(changed)} of {len(after)} outcomes changed, {run} tests named, testmon"
                f" {len(selected)}"
            )
            print(
                f"  {sha[:10]}: {words}" + (f"; missed {missed[:3]}" if missed else ""), flush=True
            )


def _both(suite: Suite, clone: Path, args: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The outcomes of a recorded run, and of those that testmon selects."""
    files = [one for one in args if not one.startswith("tests/") or (clone / one).exists()]
    found = run_suite(clone, suite.module, *PLUGIN, *files)
    if importlib.util.find_spec("testmon") is None:
        return found, {}
    data = {"TESTMON_DATAFILE": str(clone / ".testmondata")}
    return found, run_suite(clone, suite.module, *_TESTMON, *files, environ=data)


def _fixes(suite: Suite, path: Path) -> Iterator[tuple[str, list[str]]]:
    """Commits that change source and tests, newest first, with the Python files that they
    change.
    """
    for sha in reversed(first_parents(path, _LAST)):
        files = git(path, "diff", "--name-only", f"{sha}^1", sha).splitlines()
        python = [one for one in files if one.endswith(".py")]
        if any(one.startswith(f"{suite.source}/") for one in python) and any(
            one.startswith("tests/") for one in python
        ):
            yield sha, python


def _is_named(test: str, named: set[str]) -> bool:
    return test in named or test.partition("[")[0] in named or test.partition("::")[0] in named


# rot


def rot(path: Path, number: int) -> list[tuple[int, float, float, float, int]]:
    """(commits, share of claims that kl calls stale, share of functions that changed, of files that
    did, claims).
    """
    shas = first_parents(path, SPANS[-1] + 1)
    with clone_of(path) as clone:
        git(clone, "checkout", "--quiet", "--force", "--detach", shas[0])
        ws, repo = open_workspace(clone), find_repository(clone)
        assert repo is not None
        files = [line.split(None, 3) for line in git(clone, "ls-tree", "-r", "HEAD").splitlines()]
        states = {
            name: (f"{mode} {blob}", "")
            for mode, _, blob, name in files
            if name.endswith(".py") and "test" not in name
        }
        found = symbols_of_files(ws, repo, states, 0, None)
        anchors = [
            Anchor(name, local, value)
            for name, some in sorted(found.items())
            for local, value in some.hashes.items()
            if local.startswith(("function:", "method:")) and "<locals>" not in local
        ]
        anchors = random.Random(5).sample(anchors, min(number, len(anchors)))
        # as if each was claimed at the first commit
        claims = [
            Claim("is so", one.symbol, "bench", "2020-01-01T00:00:00.000000Z", rests_on=(one,))
            for one in anchors
        ]
        first = {one: _body(clone, one) for one in anchors}
        texts = {one.path: (clone / one.path).read_bytes() for one in anchors}
        rows = []
        for span in SPANS:
            if span >= len(shas):
                continue
            git(clone, "checkout", "--quiet", "--force", "--detach", shas[span])
            stale = sum(
                one.freshness == "older tree" for one in assess(open_workspace(clone), claims)
            )
            floor = sum(_body(clone, one) != first[one] for one in anchors)
            touched = sum(
                not (clone / one.path).exists()
                or (clone / one.path).read_bytes() != texts[one.path]
                for one in anchors
            )
            size = len(anchors)
            rows.append((span, stale / size, floor / size, touched / size, size))
        return rows


def _body(clone: Path, anchor: Anchor) -> str:
    """A function by `ast` alone, without its docstring; empty where it is not there."""
    try:
        body: list[ast.stmt] = ast.parse((clone / anchor.path).read_text(encoding="utf-8")).body
    except (OSError, SyntaxError):
        return ""
    node: ast.stmt | None = None
    for name in anchor.symbol.partition(":")[2].removeprefix("_.").split("."):
        # of several under one name the last stays, as in Python
        same = [one for one in _flat(body) if getattr(one, "name", None) == name]
        node = same[-1] if same else None
        body = getattr(node, "body", [])
    if node is None:
        return ""
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body.pop(0)
    return ast.dump(node)


def _flat(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for one in body:
        yield one
        if isinstance(one, ast.If | ast.Try):
            parts = [
                one.body,
                one.orelse,
                *(h.body for h in getattr(one, "handlers", ())),
                getattr(one, "finalbody", []),
            ]
            for part in parts:
                yield from _flat(part)


# flaky

_FLAKY: Final = """\
import os, random, time
SEED = int(os.environ["SEED"])
STATE = []

def test_random_half(): assert random.Random(f"a{SEED}").random() >= 0.5
def test_random_third(): assert random.Random(f"b{SEED}").random() >= 0.33
def test_random_tenth(): assert random.Random(f"c{SEED}").random() >= 0.1
def test_time(): assert time.time_ns() // 1000 % 4
def test_order_first(): STATE.append(1)
def test_order_second(): assert STATE
def test_shared_state():
    with open(os.environ["SHARED"], "a+") as file:
        file.write("x")
        assert file.tell() % 3
"""
_SHUFFLE: Final = """\
import os, random
def pytest_collection_modifyitems(items):
    random.Random(os.environ["SEED"]).shuffle(items)
"""
_UNSTABLE: Final = 6


def flaky(number: int) -> None:
    """Run a suite of six flaky and twenty steady tests; print how many are found after each number
    of runs.
    """
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "luck"
        top.mkdir()
        steady = "".join(f"def test_steady_{n}(): assert {n} + 1\n" for n in range(20))
        for name, text in (
            ("test_luck.py", _FLAKY),
            ("test_steady.py", steady),
            ("conftest.py", _SHUFFLE),
        ):
            (top / name).write_text(text, encoding="utf-8")
        for args in (
            ("init", "-q"),
            ("add", "-A"),
            ("-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "b"),
        ):
            git(top, *args)
        (top / ".kl").mkdir()
        ends: list[dict[str, str]] = []
        for seed in range(number):
            environ = {"SEED": str(seed), "SHARED": str(Path(folder) / "shared")}
            ends.append(run_suite(top, "test_luck", *PLUGIN, environ=environ))
            ws = open_workspace(top)
            with snapshot(ws) as seen:
                found = {one.test for one in flaky_tests(ws, seen.db)}
            wrong = {name for name in found if "steady" in name or "first" in name}
            print(
                f"  {seed + 1:3} runs: {len(found - wrong)} of {_UNSTABLE} found, {len(wrong)}"
                " falsely",
                flush=True,
            )
        rerun = {
            name
            for at, one in enumerate(ends)
            for name, outcome in one.items()
            if outcome == "failed"
            and any(later.get(name) == "passed" for later in ends[at + 1 : at + 6])
        }
        failures = sum(outcome == "failed" for one in ends for outcome in one.values())
        print(
            f"  rerun five times: {len(rerun)} of {_UNSTABLE}, for {failures * 5} more executions"
            " of tests"
        )


# the command


def _mutants(asked: argparse.Namespace) -> None:
    results = Results(asked.results)
    found = found_suites(asked.repo)
    number = asked.number or (300 if asked.full else 12)
    for at, (suite, path) in enumerate(found):
        share = asked.until - (asked.until - time.monotonic()) * (len(found) - at - 1) / (
            len(found) - at
        )
        with clone_of(path) as clone:
            args = suite.full if asked.full else suite.quick
            mutants(suite, clone, -(-number // len(found)), args, share, results, asked.classes)
    for kind in CLASSES:
        rows = [row for row in results.rows if row["kind"] == kind]
        broken, wrong, left = (
            sum(row["broken"] for row in rows),
            *(sum(len(row[key]) for row in rows) for key in ("wrong", "left")),
        )
        executed = 1 - sum(len(row["missed"]) for row in rows) / max(broken, 1)
        print(
            f"  {kind:16} {len(rows):4} mutants, {sum(row['broken'] > 0 for row in rows):4} broke"
            f" {broken:6} tests; executed by {executed:.4f} of them; {wrong} valid all the same"
            f" ({left} pass alone); {sum(row['stale'] for row in rows) / max(len(rows), 1):.0%} of"
            " all results stale",
            flush=True,
        )


def _commits(asked: argparse.Namespace) -> None:
    results = Results(asked.results)
    found = found_suites(asked.repo)
    for at, (suite, path) in enumerate(found):
        share = asked.until - (asked.until - time.monotonic()) * (len(found) - at - 1) / (
            len(found) - at
        )
        with clone_of(path) as clone:
            args = suite.full if asked.full else suite.quick
            commits(
                suite, clone, path, asked.number or (100 if asked.full else 5), args, share, results
            )
        # a commit that changes no outcome shows nothing
        rows = [row for row in results.rows if row["suite"] == suite.name and row["changed"]]
        if rows:
            total = {
                key: sum(row[key] for row in rows) for key in rows[0] if key not in ("key", "suite")
            }
            size, rest = max(total["tests"], 1), total["testmon"]
            peer = f"; testmon {rest / size:.0%}, missed {total['testmon_missed']}" if rest else ""
            print(
                f"  {suite.name:10} {len(rows)} commits: {total['changed']} outcomes changed, "
                f"{total['missed']} missed; {total['impacted'] / size:.0%} of the tests"
                f" named{peer}",
                flush=True,
            )


def _rot(asked: argparse.Namespace) -> None:
    print("  after      stale  changed  file touched")
    for suite, path in found_suites(asked.repo):
        for span, stale, floor, touched, size in rot(
            path, asked.number or (2000 if asked.full else 100)
        ):
            shares = f"{stale:7.1%} {floor:8.1%} {touched:8.1%}"
            print(f"  {span:5} {shares}  {suite.name}, {size} claims", flush=True)


def _flaky(asked: argparse.Namespace) -> None:
    flaky(asked.number or (30 if asked.full else 12))


BENCHES: Final[Mapping[str, Callable[[argparse.Namespace], None]]] = {
    "mutants": _mutants,
    "commits": _commits,
    "rot": _rot,
    "flaky": _flaky,
}


def main() -> int:
    """0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bench", choices=BENCHES)
    parser.add_argument("--repo", type=Path, action="append", default=[])
    parser.add_argument("--number", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--full", action="store_true")
    parser.add_argument(
        "--class",
        choices=CLASSES,
        action="append",
        dest="classes",
        help="of mutants; all by default",
    )
    parser.add_argument("--results", type=Path)
    asked = parser.parse_args()
    asked.classes = asked.classes or CLASSES
    asked.until = time.monotonic() + (asked.seconds or (24 * 3600 if asked.full else 540))
    BENCHES[asked.bench](asked)
    return 0


if __name__ == "__main__":
    sys.exit(main())
