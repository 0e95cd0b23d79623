"""The harness of edits: how kinds are read, how edits are applied and judged, and what is printed.

Its verdicts about kl are judged by `tests/proof/test_edits.py`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.edits.__main__ import main
from bench.edits.kinds import DATA, BadKind, Edit, edited, kinds_in, kinds_of
from bench.edits.report import lines, selections, upper_bound
from bench.edits.trial import Ran, Verdicts, written

KIND = """
group = "bodies"

[project.plain]
"app.py" = '''
def f():
    return 1
'''

[[kind]]
name = "a body"
on = "plain"
files."test_app.py" = '''
import app


def test_f():
    assert app.f() == 1


def test_nothing():
    assert True
'''
edits."value" = { "app.py" = ["return 1", "return 2"] }
edits."a comment" = { "app.py" = ["", "# more\\n"] }
"""


def test_a_kind_is_a_project_and_edits() -> None:
    (kind,) = kinds_of(KIND, "a.toml")
    assert (kind.group, kind.name, kind.common) == ("bodies", "a body", False)
    assert kind.files["app.py"] == "def f():\n    return 1\n"
    assert [edit.name for edit in kind.edits] == ["value", "a comment"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('["return 1", "return 2"]', '["return 7", "return 2"]', "'return 7' is there 0 times"),
        ('["return 1", "return 2"]', '["f", "g"]', "'f' is there 2 times"),
        ('["return 1", "return 2"]', "true", "not an edit: True"),
        ('on = "plain"', 'in = "plain"', r"unknown: \['in'\]"),
        ('{ "app.py" = ["", ', '{ "$shell" = ["", ', r"unknown: \['\$shell'\]"),
        ("[[kind]]", "[[kind]", "a.toml: "),
    ],
)
def test_what_does_not_fit_is_reported_when_it_is_read(old: str, new: str, problem: str) -> None:
    with pytest.raises(BadKind, match=problem):
        kinds_of(KIND.replace(old, new), "a.toml")


def test_two_kinds_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.toml").write_text(KIND, encoding="utf-8")
    with pytest.raises(BadKind, match="there twice"):
        kinds_in([tmp_path])


def test_an_edit_is_a_text_pairs_or_false(tmp_path: Path) -> None:
    assert edited("a b", [["a", "c"], ["b", "d"]], "x") == "c d"
    assert edited(None, ["", "new"], "x") == "new"
    assert edited("a", False, "x") is None
    written(tmp_path, {}, {"deep/a.txt": "one", "b.txt": "two"})
    written(tmp_path, {}, {"deep/a.txt": ["one", "three"], "b.txt": False})
    assert [path.name for path in tmp_path.rglob("*.txt")] == ["a.txt"]
    assert (tmp_path / "deep" / "a.txt").read_text() == "three"


def test_the_key_of_an_edit_changes_with_the_project_and_with_the_edit() -> None:
    (kind,) = kinds_of(KIND, "a.toml")
    (other,) = kinds_of(KIND.replace("assert True", "assert 1"), "a.toml")
    keys = [one.key(edit) for one in (kind, other) for edit in one.edits]
    assert len(set(keys)) == 4
    assert kind.key(Edit("value", {"app.py": "x"})) not in keys


def test_there_are_as_many_kinds_as_the_goal_asks_for() -> None:
    kinds = kinds_in([DATA])
    assert len(kinds) >= 80
    assert sum(len(kind.edits) for kind in kinds) >= 400
    assert len({kind.project for kind in kinds}) >= 10


def test_outcomes_are_the_worst_of_each_test() -> None:
    text = (
        "collected 3 items\n\ntest_a.py::test_x[a b] PASSED    [ 50%]\n"
        "test_a.py::test_x[a b] ERROR   [ 50%]\ntest_a.py::test_y SKIPPED (why) [100%]\n"
        "FAILED test_a.py::test_z - assert\n"
    )
    assert Ran(1, text).outcomes() == {
        "test_a.py::test_x[a b]": "ERROR",
        "test_a.py::test_y": "SKIPPED",
    }


@pytest.mark.parametrize(
    ("verify", "after", "suite", "wrong"),
    [(0, 0, 0, False), (0, 0, 1, True), (1, 0, 1, True), (0, 1, 2, True), (1, 1, 1, False)],
)
def test_a_verdict_is_wrong_where_the_suite_fails(
    verify: int, after: int, suite: int, wrong: bool
) -> None:
    assert Verdicts(verify, after, 0, suite, "", 1, 0, 0, 1, (), (), ()).wrong is wrong


def row(**fields: Any) -> dict[str, Any]:
    base = {
        "group": "a",
        "kind": "k",
        "project": "p",
        "edit": "e",
        "common": False,
        "harmless": False,
        "problem": "",
        "effect": True,
        "wrong": False,
        "verify": 1,
        "impacted": 1,
        "suite": 1,
        "selected": 1,
        "selected_in_all": 1,
        "deselected": 3,
        "false_fresh": [],
        "false_fresh_once": ["t"],
        "testmon": {"selected": 1, "missed": 0},
    }
    return base | fields


def test_the_bound_is_three_of_the_edits_and_grows_with_what_is_wrong() -> None:
    assert upper_bound(0, 400) == 0.0075
    assert upper_bound(0, 0) == upper_bound(0, 2) == 1
    assert 0.0025 < upper_bound(1, 400) < upper_bound(2, 400) < 0.02


def test_selections_are_compared_where_neither_missed_anything() -> None:
    rows = [
        row(selected_in_all=3, testmon={"selected": 2, "missed": 0}),
        row(selected_in_all=50, testmon={"selected": 1, "missed": 1}),
        row(selected_in_all=50, false_fresh=["t"]),
        row(selected_in_all=50, wrong=True),
        row(selected_in_all=50, impacted=2),
        row(selected_in_all=50, testmon=None),
    ]
    assert selections(rows) == (3, 2)


def test_the_report_names_what_is_wrong() -> None:
    rows = [
        row(),
        row(edit="f", wrong=True, verify=0, false_fresh=["t"], common=True),
        row(group="harmless", harmless=True, effect=False, suite=0, impacted=5),
        {
            key: value
            for key, value in row(edit="g", problem="the suite fails").items()
            if key in UNUSED
        },
    ]
    table, findings = lines(rows)[:4], lines(rows)[4:]
    assert table[1].split() == ["a", "2", "2", "1", "1/6", "1", ":", "1"]
    assert table[3].split()[:4] == ["all", "3", "2", "1"]
    assert findings[0].startswith("3 edits of 1 kinds in 1 projects; of 1 more")
    assert findings[1].startswith("wrong: 1 of 3, at most ")
    assert findings[2].startswith("false fresh: 1 of 9 ")
    assert findings[2].endswith("; 3 after the first --kl-impacted")
    assert findings[4] == "harmless: 0 of 1 keep the verdict; goal all"
    assert findings[5:] == [
        "wrong: a / k / f, common: t",
        "false fresh: a / k / f, common: t",
        "false alarm: harmless / k / e",
        "not used: the suite fails: a / k / g",
    ]


UNUSED = ("group", "kind", "project", "edit", "common", "harmless", "problem")
"""What is stored of an edit whose project can't be used."""


@pytest.mark.slow
@pytest.mark.skipif("sys.version_info < (3, 12)", reason="symbols are recorded from 3.12 on")
@pytest.mark.sweep
def test_kinds_of_a_folder_are_judged_once_for_the_same_code(
    tmp_path: Path, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kinds").mkdir()
    broken = KIND[KIND.index("[[kind]]") :].replace('"a body"', '"red"').replace("True", "False")
    (tmp_path / "kinds" / "a.toml").write_text(KIND + broken, encoding="utf-8")
    file = tmp_path / "results.jsonl"
    arguments = ["--kinds", str(tmp_path / "kinds"), "--results", str(file), "--workers", "1"]
    assert main(arguments) == 0
    printed = capfd.readouterr().out
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    judged = {r["edit"]: (r["verify"], r["suite"], r["effect"]) for r in rows if r["kind"] != "red"}
    assert judged == {"value": (1, 1, True), "a comment": (0, 0, False)}
    assert {r["problem"] for r in rows if r["kind"] == "red"} == {"the suite fails"}
    assert "not used: the suite fails: bodies / red / value" in printed
    assert main(arguments) == 0
    assert capfd.readouterr().out == printed
    assert len(file.read_text("utf-8").splitlines()) == len(rows)
