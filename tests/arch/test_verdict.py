"""The answer of a check: what blocks, what contracts add, and its parts for files and folders."""

from __future__ import annotations

from typing import Final

from kl_hooks.arch.content import load_content
from kl_hooks.arch.import_survey import survey_imports
from kl_hooks.arch.layer_check import ContractResult, Verdict, judge
from kl_hooks.arch.manifest_parser import read_manifest
from kl_hooks.model.contract import Breach, Step
from kl_hooks.model.manifest import BASELINE, MANIFEST, Manifest, Violation
from kl_hooks.model.problem import Problem
from tests.support import Checkout

EMPTY: Final = Verdict(Manifest("", ()), (), (), (), 3, "worktree")


def violation(path: str, line: int = 1) -> Violation:
    rule = f"{MANIFEST}:2"
    return Violation(path, line, "a.x", "b.y", "a", "b", "import b.y", "import", rule)


def problem(path: str, message: str = "it can't be read") -> Problem:
    return Problem(path, 1, 1, message)


def breach(*paths: str, also: tuple[str, ...] = ()) -> Breach:
    chain, others = (
        tuple(Step("a.x", "b.y", path, (1,)) for path in some) for some in (paths, also)
    )
    return Breach("one", "forbidden", "a.x", "b.y", chain, others, f"{MANIFEST}:9")


def test_a_verdict_is_clean_where_nothing_blocks() -> None:
    assert EMPTY.clean
    assert EMPTY._replace(warnings=(problem("a.py"),), accepted=(violation("a.py"),)).clean
    for blocking in (
        {"violations": (violation("a.py"),)},
        {"problems": (problem("a.py"),)},
        {"contracts": (breach("a.py"),)},
        {"emptied": (problem(MANIFEST),)},
    ):
        assert not EMPTY._replace(**blocking).clean
    loosened = EMPTY._replace(loosened=(problem(MANIFEST),))
    assert loosened.clean and EMPTY._replace(trusted="main").clean
    assert not loosened._replace(trusted="main").clean


def test_violations_with_one_fingerprint_are_numbered_over_all_of_them() -> None:
    more = EMPTY._replace(violations=(violation("a.py", 1),)).with_violations(
        [violation("a.py", 7), violation("a.py", 9)._replace(imported="b.z")]
    )
    assert [(one.line, one.number) for one in more.violations] == [(1, 1), (7, 2), (9, 1)]


def test_contracts_add_breaches_and_what_keeps_them_from_being_judged() -> None:
    own = EMPTY._replace(
        problems=(problem("a.py", "own"),),
        warnings=(problem("b.py", "in no layer"), problem("c.py", "unused")),
    )
    judged = ContractResult(
        (breach("d.py"),),
        (problem("a.py"), problem("b.py"), problem("d.py")),
        (problem(MANIFEST, "no effect"),),
        5,
    )
    verdict = own.with_contracts(judged)
    assert verdict.contracts == judged.breaches
    assert verdict.stopping == {"a.py", "b.py", "d.py"}
    # a file is named once, with the reason of the layers where they have one
    assert verdict.problems == (
        problem("a.py", "own"),
        problem("b.py", "in no layer"),
        problem("d.py"),
    )
    assert verdict.warnings == (problem("c.py", "unused"), problem(MANIFEST, "no effect"))
    assert verdict.files == 5
    assert own._replace(files=9).with_contracts(judged).files == 9


WIDE: Final = EMPTY._replace(
    violations=(violation("src/a.py"), violation("lib/b.py")),
    accepted=(violation("src/c.py"), violation("lib/c.py")),
    contracts=(
        breach("src/a.py", "lib/b.py"),
        breach("lib/b.py", also=("src/a.py",)),
        breach("lib/b.py"),
        breach(),
    ),
    problems=(problem("src/d.py"), problem("lib/d.py"), problem("lib/e.py")),
    emptied=(problem(MANIFEST),),
    stopping=frozenset({"lib/e.py"}),
    unassigned=("lib/f.py", "src/f.py"),
)


def test_in_some_files_the_rest_is_counted() -> None:
    narrowed, omitted = WIDE.in_files({"src/a.py", "src/d.py"})
    assert [one.path for one in narrowed.violations] == ["src/a.py"]
    assert narrowed.accepted == ()
    # a chain that leads through one of them, and a breach that is about no import
    assert narrowed.contracts == (*WIDE.contracts[:2], WIDE.contracts[3])
    assert [one.path for one in narrowed.problems] == ["src/d.py", "lib/e.py"]
    assert narrowed.emptied == WIDE.emptied
    assert omitted == 3
    # a changed rule forbids everywhere
    for rules in (MANIFEST, BASELINE):
        assert WIDE.in_files({"src/a.py", rules}) == (WIDE, 0)
    assert EMPTY.in_files({"src/a.py"}) == (EMPTY, 0)


def test_in_a_folder_only_what_is_there_is_shown() -> None:
    narrowed = WIDE._replace(problems=(*WIDE.problems, problem(MANIFEST), problem(BASELINE)))
    narrowed = narrowed.in_folder("src/")
    assert [one.path for one in narrowed.violations] == ["src/a.py"]
    assert [one.path for one in narrowed.accepted] == ["src/c.py"]
    paths = [one.path for one in narrowed.problems]
    assert paths == ["src/d.py", "lib/e.py", MANIFEST, BASELINE]
    assert narrowed.unassigned == ("src/f.py",)
    assert WIDE.in_folder("") == WIDE


LAYERS: Final = """\
version: 1
layers:
  - {name: core, paths: [src/core/], may_depend_on: []}
  - {name: web, paths: [src/web/], may_depend_on: [core]}
"""


def test_the_surveyed_imports_are_judged(repo: Checkout) -> None:
    repo.write("src/core/a.py", "import web.b\n")
    repo.write("src/web/b.py", "import core.a\n")
    repo.write("src/web/broken.py", "def (\n")
    repo.write("tools/broken.py", "def (\n")
    repo.write("tools/c.py", "x = 1\n")
    repo.commit("layers")
    ws = repo.workspace()
    found = survey_imports(ws, load_content(ws))
    verdict = judge(read_manifest(MANIFEST, LAYERS.encode()), found, "2026-11-28", "worktree")
    assert [(one.path, one.target_layer) for one in verdict.violations] == [
        ("src/core/a.py", "web")
    ]
    assert [one.path for one in verdict.problems] == ["src/web/broken.py"]
    assert "tools/broken.py" in [one.path for one in verdict.warnings]
    assert (verdict.files, verdict.unjudged, verdict.source) == (2, 1, "worktree")
    assert {"tools/broken.py", "tools/c.py"} <= {*verdict.unassigned}
    assert not {path for path in verdict.unassigned if path.startswith("src/")}
    every = read_manifest(MANIFEST, f"{LAYERS}exhaustive: true\n".encode())
    strict = judge(every, found, "2026-11-28", "worktree")
    assert {"tools/c.py", "src/web/broken.py"} <= {one.path for one in strict.problems}
    none = judge(Manifest(MANIFEST, ()), found, "2026-11-28", "worktree")
    assert (none.files, none.unassigned) == (0, ())


def test_a_forbidden_chain_may_lead_through_imports_within_a_layer(repo: Checkout) -> None:
    repo.write("src/top/a.py", "import mid.b\n")
    repo.write("src/mid/b.py", "import mid.c\n")
    repo.write("src/mid/c.py", "import low.d\n")
    repo.write("src/low/d.py", "x = 1\n")
    repo.commit("layers")
    rules = """\
version: 1
layers:
  - {name: low, paths: [src/low/], may_depend_on: []}
  - {name: mid, paths: [src/mid/], may_depend_on: [low]}
  - {name: top, paths: [src/top/], may_depend_on: [mid]}
"""
    ws = repo.workspace()
    survey = survey_imports(ws, load_content(ws))
    for indirect, statements in (("ignore", []), ("forbid", ["top.a -> mid.b -> mid.c -> low.d"])):
        manifest = read_manifest(MANIFEST, f"{rules}indirect: {indirect}\n".encode())
        verdict = judge(manifest, survey, "2026-11-28", "worktree")
        assert [violation.statement for violation in verdict.violations] == statements
