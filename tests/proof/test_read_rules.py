"""What tests read as data decides which results hold: files that were opened, folders that were
listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from kl_hooks.evidence.executed import Executed, executed_from_dict, executed_to_dict
from kl_hooks.evidence.reads import Read, Reads
from kl_hooks.proof.facts import NOT_ASSESSED, STALE, VALID, Difference, FileChange, RunFacts
from kl_hooks.proof.read_rules import (
    READ_RULES,
    READ_SUBJECTS,
    _is_module,
    data_file_changed,
    link_changed,
    may_have_been_read,
    unrecorded_reads,
)
from kl_hooks.proof.verdict import judge_results
from tests.evidence.making import executed_sets

A, B, C = "test_a.py::test_a", "test_a.py::test_b", "tests/test_c.py::test_c"
OLD, NEW = "100644 1", "100644 2"
LOAD, TEST_A, TEST_B, TEST_C = (
    "function:app.load",
    "function:test_a.test_a",
    "function:test_a.test_b",
    "function:tests.test_c.test_c",
)
PLACES = {
    LOAD: "app.py",
    "namespace:app": "app.py",
    TEST_A: "test_a.py",
    "namespace:test_a": "test_a.py",
    TEST_B: "test_a.py",
    TEST_C: "tests/test_c.py",
    "namespace:tests.test_c": "tests/test_c.py",
}


def run_of(reads: Reads | None, **more: Any) -> Executed:
    return executed_sets(
        {A: {TEST_A: "call"}, B: {TEST_B: "call"}, C: {TEST_C: "call"}},
        PLACES,
        modules={
            "app.py": ["namespace:app"],
            "test_a.py": ["namespace:test_a"],
            "tests/test_c.py": ["namespace:tests.test_c"],
        },
        imports={"tests/test_c.py": ("app.py",)},
        reads=reads,
        **more,
    )


def invalid(
    run: Executed,
    changes: Mapping[str, tuple[str, str]],
    documents: frozenset[str] = frozenset(),
    lasting: frozenset[str] = frozenset(),
) -> set[str]:
    difference = Difference(
        {path: FileChange(path, *states) for path, states in changes.items()},
        documents=documents,
        is_lasting=lasting.__contains__,
    )
    verdicts = judge_results(RunFacts(run, True), difference, [A, B, C])
    return {name for name, verdict in verdicts.items() if verdict.state != VALID}


READS = Reads(
    tests={
        A: frozenset({Read("data/a.json"), Read("src", "**/*.py"), Read("lint.py")}),
        B: frozenset({Read("plugins", "*"), Read("local.ini")}),
    },
    modules={"app.py": frozenset({Read("app.toml")})},
)


@pytest.mark.parametrize(
    ("path", "states", "expected"),
    [
        # opened by one test, by none, by the import of a module
        ("data/a.json", (OLD, NEW), {A}),
        ("data/a.json", (OLD, ""), {A}),
        ("data/b.txt", (OLD, NEW), set()),
        ("app.toml", (OLD, NEW), {C}),
        # source that was read, not run
        ("lint.py", (OLD, NEW), {A}),
        # it was opened and was not there
        ("local.ini", ("", NEW), {B}),
        # a file of this ending in its folder: the test may have looked for it
        ("data/b.json", ("", NEW), {A}),
        ("data/b.json", (OLD, NEW), set()),
        ("data/b.txt", ("", NEW), set()),
        # listings
        ("plugins/two.cfg", ("", NEW), {B}),
        ("plugins/two.cfg", (OLD, ""), {B}),
        ("plugins/two.cfg", (OLD, NEW), set()),
        ("plugins/folder/two.cfg", ("", NEW), {B}),
        ("plugins-two/two.cfg", ("", NEW), set()),
        ("src/deep/er/new.py", ("", NEW), {A}),
        ("src/new.py", ("", NEW), {A}),
        ("src/new.pyi", ("", NEW), set()),
        # a test whose own file is no source
        ("test_a.py::text", (OLD, NEW), set()),
    ],
)
def test_a_change_reaches_the_tests_that_read_it(
    path: str, states: tuple[str, str], expected: set[str]
) -> None:
    assert invalid(run_of(READS), {path: states}) == expected


def test_a_file_in_a_folder_of_both_contents_adds_no_folder_to_a_listing() -> None:
    change = {"plugins/folder/two.cfg": ("", NEW)}
    assert invalid(run_of(READS), change, lasting=frozenset({"plugins/folder"})) == set()
    # a pattern that goes further down does show the file
    deep = Reads(tests={A: frozenset({Read("plugins", "*/*.cfg")})})
    assert invalid(run_of(deep), change, lasting=frozenset({"plugins/folder"})) == {A}


def test_a_module_that_was_not_found_may_come_as_a_file_or_a_folder() -> None:
    looked = frozenset({Read("lib", "extra"), Read("lib", "extra.py")})
    run = run_of(Reads(tests={B: looked}))
    for path in ("lib/extra.py", "lib/extra/__init__.py", "lib/extra/deep/part.py"):
        assert invalid(run, {path: ("", NEW)}) == {B}, path
    for path in ("lib/extra.txt", "lib/other.py", "lib/deep/extra.py", "extra.py"):
        assert invalid(run, {path: ("", NEW)}) == set(), path
    difference = Difference({"lib/extra.py": FileChange("lib/extra.py", "", NEW)})
    reason = judge_results(RunFacts(run, True), difference, [B])[B].reason
    assert reason == "lib/extra.py was added, which the test looked for"
    # it is no reason for a note about other files of the folder
    near = {"lib/data.json": FileChange("lib/data.json", OLD, NEW)}
    assert unrecorded_reads(run, Difference(near), ()) == []


def test_other_bytes_of_the_same_content_reach_the_tests_that_opened_them() -> None:
    def stale(run: Executed, path: str, changes: Mapping[str, FileChange]) -> set[str]:
        facts = RunFacts(run, True, other_bytes={path: f"{path} has other bytes"})
        verdicts = judge_results(facts, Difference(changes), [A, B, C])
        return {name for name, verdict in verdicts.items() if verdict.state != VALID}

    run = run_of(READS)
    assert stale(run, "data/a.json", {}) == {A}
    assert stale(run, "app.toml", {}) == {C}
    assert stale(run, "data/b.txt", {}) == set()
    # next to another change
    other = {"local.ini": FileChange("local.ini", "", NEW)}
    assert stale(run, "data/a.json", other) == {A, B}
    # who opened it was not recorded
    assert stale(run_of(None), "data/a.json", {}) == {A, B, C}


def test_what_is_on_disk_now_reaches_the_tests_that_looked_for_it() -> None:
    reads = Reads(
        tests={
            A: frozenset({Read("data", "*.json"), Read("cfg/local.ini")}),
            B: frozenset({Read("lib", "extra.py"), Read("plugins", "*")}),
        }
    )

    def stale(**facts: frozenset[str]) -> dict[str, str]:
        verdicts = judge_results(RunFacts(run_of(reads), True, **facts), Difference(), [A, B, C])
        return {test: verdict.reason for test, verdict in verdicts.items() if verdict.reason}

    # pytest itself looks for each conftest.py, for the tests of its folder
    assert stale(appeared=frozenset({"tests/conftest.py"})) == {C: "tests/conftest.py is there now"}
    assert stale(appeared=frozenset({"conftest.py"})).keys() == {A, B, C}
    assert stale(appeared=frozenset({"lib/conftest.py"})) == {}
    looked_for = "is there now, which the test looked for"
    assert stale(appeared=frozenset({"cfg/local.ini"})) == {A: f"cfg/local.ini {looked_for}"}
    assert stale(appeared=frozenset({"lib/extra.py"})) == {B: f"lib/extra.py {looked_for}"}
    assert stale(appeared=frozenset({"lib/other.py"})) == {}
    # what the tests executed is not known
    facts = RunFacts(None, True, appeared=frozenset({"conftest.py"}))
    assert judge_results(facts, Difference(), [A])[A].state == VALID
    other_files = "has other files on disk than when the test listed it"
    assert stale(relisted=frozenset({"data/*.json"})) == {A: f"data/ {other_files}"}
    assert stale(relisted=frozenset({"data/*.cfg"})) == {}


def test_what_code_outside_of_the_repository_read_before_the_tests_counts_for_all() -> None:
    run = run_of(Reads(modules={"": frozenset({Read(".env")})}))
    assert invalid(run, {".env": (OLD, NEW)}) == {A, B, C}


def test_a_value_rests_on_the_file_that_it_was_computed_from() -> None:
    reads = Reads(
        tests={A: frozenset({Read("data/a.json")})},
        values={TEST_B: frozenset({Read("data/a.json")})},
    )
    assert invalid(run_of(reads), {"data/a.json": (OLD, NEW)}) == {A, B}


def test_a_value_rests_on_what_the_code_that_computed_it_read() -> None:
    """Test A got a value that `load` computed: of a file, and in a module whose import read one."""
    position = {symbol: at for at, symbol in enumerate(sorted(PLACES))}
    reads = Reads(
        values={LOAD: frozenset({Read("data/load.json")})},
        modules={"app.py": frozenset({Read("app.toml")})},
    )
    run = run_of(reads, values={position[TEST_A]: frozenset({position[LOAD]})})
    assert invalid(run, {"data/load.json": (OLD, NEW)}) == {A}
    assert invalid(run, {"app.toml": (OLD, NEW)}) == {A, C}, "and C, which imports the module"


def test_a_test_that_starts_a_process_may_have_read_anything_but_documentation() -> None:
    run = run_of(READS, incomplete={C: "it started another process (git)"})
    assert invalid(run, {"data/b.txt": (OLD, NEW)}) == {C}
    assert invalid(run, {"NEWS.md": (OLD, NEW)}, frozenset({"NEWS.md"})) == set()
    assert invalid(run, {"NEWS.md": ("", NEW)}, frozenset({"NEWS.md"})) == set()


def test_a_link_and_a_submodule_are_not_assessed() -> None:
    for state in ("120000 1", "160000 1"):
        assert invalid(run_of(READS), {"link": (state, "120000 2")}) == {A, B, C}


def test_a_run_of_an_earlier_kl_has_no_word_on_source_and_listings() -> None:
    run = run_of(None, files={"data/a.json": ""})
    facts = RunFacts(run, True, frozenset({"looks"}))
    for path, states, expected in (
        ("lint.py", (OLD, NEW), NOT_ASSESSED),
        ("plugins/two.cfg", ("", NEW), NOT_ASSESSED),
        ("data/b.txt", (OLD, NEW), VALID),
    ):
        difference = Difference({path: FileChange(path, *states)})
        assert may_have_been_read(difference) is (expected == NOT_ASSESSED)
        verdicts = judge_results(facts, difference, [A])
        assert verdicts[A].state == expected, path
    # the file that any of its tests opened counts for all of them, as ever
    assert invalid(replace(run, reads=None), {"data/a.json": (OLD, NEW)}) == {A, B, C}


def test_what_no_event_shows_is_named_where_tests_read_or_have_code() -> None:
    run = run_of(Reads(tests={A: frozenset({Read("data/a.json"), Read("top.json")})}))

    def named(path: str, states: tuple[str, str] = (OLD, NEW), *others: Executed) -> list[str]:
        documents = frozenset({"tests/NOTES.md"})
        difference = Difference({path: FileChange(path, *states)}, documents=documents)
        return unrecorded_reads(run, difference, others)

    for path in ("data/c.pem", "tests/c.pem", "tests/certificates/c.pem", "other.json"):
        assert named(path) == [path]
    for path in ("elsewhere/c.pem", "Makefile", "tests/NOTES.md", "tests/helper.py"):
        assert named(path) == []
    assert named("data/a.json") == [], "it is known who read it"
    assert named("data/b.json", ("", NEW)) == [], "the test beside it is stale"
    assert named("tests/new.bin", ("", NEW)) == ["tests/new.bin"]
    # a run of this content opened it
    other = run_of(Reads(tests={C: frozenset({Read("tests/new.bin")})}))
    assert named("tests/new.bin", ("", NEW), other) == []
    assert unrecorded_reads(replace(run, reads=None), Difference(), ()) == []


def test_reasons_state_what_became_of_a_file() -> None:
    def reason(path: str, states: tuple[str, str], test: str = A) -> str:
        difference = Difference({path: FileChange(path, *states)})
        return judge_results(RunFacts(run_of(READS), True), difference, [test])[test].reason

    assert reason("data/a.json", (OLD, NEW)) == "data/a.json changed, which the test opened"
    assert reason("data/a.json", (OLD, "")) == "data/a.json was removed, which the test opened"
    assert reason("local.ini", ("", NEW), B) == "local.ini was added, which the test opened"
    listed = "in a folder that the test listed"
    assert reason("plugins/a.cfg", ("", NEW), B) == f"plugins/a.cfg was added {listed}"
    assert reason("plugins/a.cfg", (OLD, ""), B) == f"plugins/a.cfg was removed {listed}"
    beside = "data/b.json was added beside files that the test opened"
    assert reason("data/b.json", ("", NEW)) == beside
    guide = "docs/guide.txt::guide"
    assert reason("docs/guide.txt", (OLD, NEW), guide) == "docs/guide.txt changed"
    assert reason("docs/other.txt", (OLD, NEW), guide) == ""


@pytest.mark.parametrize(
    ("pattern", "path", "is_shown"),
    [
        ("./*.cfg", "plugins/a.cfg", True),
        ("deep//*.cfg", "plugins/deep/a.cfg", True),
        ("X*.cfg", "plugins/Xa.cfg", True),
        ("a.cfg", "plugins/Xa.cfg", False),
        ("**", "plugins/deep/a.cfg", True),
        ("**/b/*.cfg", "plugins/b/a.cfg", True),
        ("**/b/*.cfg", "plugins/c/a.cfg", False),
        ("*/*/*.cfg", "plugins/c/a.cfg", False),
    ],
)
def test_a_listing_shows_what_its_pattern_matches(pattern: str, path: str, is_shown: bool) -> None:
    run = run_of(Reads(tests={A: frozenset({Read("plugins", pattern)})}))
    folders = frozenset({"plugins/deep", "plugins/b", "plugins/c"})
    assert invalid(run, {path: ("", NEW)}, lasting=folders) == ({A} if is_shown else set())
    top = run_of(Reads(tests={A: frozenset({Read("", "X.cfg")})}))
    assert invalid(top, {"X.cfg": ("", NEW)}) == {A}


def test_links_count_where_the_files_that_were_opened_are_recorded() -> None:
    become = Difference({"a.txt": FileChange("a.txt", OLD, "120000 1")})
    verdict = link_changed(RunFacts(run_of(READS), True), become)
    assert verdict is not None and verdict.state == NOT_ASSESSED
    assert "a.txt is a link or a submodule" in verdict.reason
    assert link_changed(RunFacts(run_of(READS), False), become) is None
    assert link_changed(RunFacts(None, True), become) is None
    assert (
        link_changed(RunFacts(run_of(READS), True), Difference({"a": FileChange("a", OLD)})) is None
    )


def test_without_reads_by_test_a_data_file_counts_for_all() -> None:
    def judged(
        path: str, states: tuple[str, str] = (OLD, NEW), opened: bool = True, **facts: Any
    ) -> tuple[str, str]:
        run = run_of(None, files={"data/a.json": ""})
        difference = Difference({path: FileChange(path, *states)}, **facts)
        verdict = data_file_changed(RunFacts(run, opened), difference)
        return (verdict.state, verdict.reason) if verdict else ("", "")

    nothing = ("", "")
    assert judged("data/a.json") == (STALE, "data/a.json changed, which the tests opened")
    beside = "data/b.json was {} beside files that tests opened"
    assert judged("data/b.json", ("", NEW)) == (STALE, beside.format("added"))
    assert judged("data/b.json", (OLD, "")) == (STALE, beside.format("removed"))
    assert judged("data/b.json") == judged("data/b.txt", ("", NEW)) == nothing
    assert judged("app.py") == judged("app.py", opened=False) == nothing
    unknown = "data/a.json changed, and which files the tests opened was not recorded"
    assert judged("data/a.json", opened=False) == (NOT_ASSESSED, unknown)
    document = {"documents": frozenset({"NEWS.md"})}
    assert judged("NEWS.md", opened=False, **document) == nothing
    named = {**document, "read_documents": {"NEWS.md": "a test names it"}}
    assert judged("NEWS.md", opened=False, **named) == (NOT_ASSESSED, "a test names it")
    # source before it, and which test opened it is known
    both = Difference({path: FileChange(path, OLD, NEW) for path in ("app.py", "data/a.json")})
    old, new = run_of(None, files={"data/a.json": ""}), run_of(READS, files={"data/a.json": ""})
    assert data_file_changed(RunFacts(old, True), both) is not None
    assert data_file_changed(RunFacts(new, True), both) is None
    assert data_file_changed(RunFacts(None, True), both) is not None
    assert may_have_been_read(both) and not may_have_been_read(Difference())


def test_a_pattern_of_one_name_is_a_module_that_was_looked_for() -> None:
    names = {"X": True, "parserX.py": True, "*.py": False, "a?": False, "[ab]": False, "": False}
    assert {name: _is_module(Read("", name)) for name in names} == names


def test_each_rule_of_a_read_is_among_those_that_are_asked() -> None:
    assert {rule.__name__ for rule in READ_RULES} == {
        "read_file_changed",
        "listed_folder_changed",
        "sibling_added_or_removed",
    }


def test_reads_survive_the_file_and_a_forged_one_is_refused() -> None:
    run = run_of(READS)
    plain = executed_to_dict(run)
    assert executed_from_dict(plain).reads == READS
    assert executed_from_dict(executed_to_dict(run_of(Reads()))).reads == Reads()
    # an older kl writes none
    assert executed_from_dict({key: plain[key] for key in plain if key != "reads"}).reads is None
    for forged in (
        {"tests": {"other.py": [[["a", ""]], [["test_a.py::test_a", "1"]]]}, "modules": {}},
        {"tests": {"test_a.py": [[["a", ""]], [[A, "2"]]]}, "modules": {}, "values": {}},
        {"tests": {}, "modules": {"a.py": [["a", 1]]}, "values": {}},
        {"tests": {}, "modules": {"a.py": [["a", "", ""]]}, "values": {}},
        {"tests": {}, "values": {}},
        [],
    ):
        with pytest.raises(ValueError):
            executed_from_dict({**plain, "reads": forged})


@pytest.mark.parametrize(
    ("path", "states", "classes"),
    [
        ("a.py", (OLD, NEW), {"reads"}),
        ("b.py", ("", NEW), {"reads", "lookups"}),
        ("b.py", (OLD, ""), {"reads", "lookups"}),
        ("b.txt", ("", NEW), {"reads", "looks"}),
        ("b.txt", (OLD, NEW), {"looks"}),
        ("NEWS.md", ("", NEW), set()),
        ("NEWS.md", (OLD, NEW), set()),
    ],
)
def test_a_change_decides_which_class_of_facts_about_reading_a_run_needs(
    path: str, states: tuple[str, str], classes: set[str]
) -> None:
    alone = Difference({path: FileChange(path, *states)}, documents=frozenset({"NEWS.md"}))
    # next to a change of documentation, which needs none
    news = FileChange("NEWS.md", OLD, NEW)
    beside = alone._replace(changes={"NEWS.md": news, **alone.changes})
    for difference in (alone, beside):
        needed = {name for name, differs in READ_SUBJECTS.items() if differs(difference)}
        assert needed == classes
