"""Files of which only a hook of the repository makes tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kl_hooks.proof.collecting_hooks import newly_collected
from tests.pytest_kl.recorded import repository

from .recorded import Files, difference_of
from .test_bare_names import commit
from .test_left_behind import impacted, record, verify

HOOK = """
import pytest
class Case(pytest.Item):
    def runtest(self): assert "ok" in self.path.read_text()
class Cases(pytest.File):
    def collect(self):
        if self.path.read_text(): yield Case.from_parent(self, name="case")
def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".yml": return Cases.from_parent(parent, path=file_path)
"""
FILES = {"cases/conftest.py": HOOK, "cases/one.yml": "ok", "test_a.py": "def test_a(): pass\n"}
EVERYWHERE = {"plugin.py": HOOK, "test_a.py": ""}


@pytest.mark.parametrize(
    ("before", "edit", "hooks"),
    [
        (FILES, {"cases/deep/er/two.yml": "ok"}, {"cases/deep/er/two.yml": "cases/conftest.py"}),
        (FILES, {"cases/tool.py": ""}, {"cases/tool.py": "cases/conftest.py"}),
        (FILES, {"other/two.yml": "ok"}, {}),
        (EVERYWHERE, {"other/two.yml": "ok"}, {"other/two.yml": "plugin.py"}),
        # pytest itself makes tests of them, or loads them
        (FILES, {"cases/test_b.py": ""}, {}),
        (FILES, {"cases/deep/conftest.py": ""}, {}),
        # it looks into no folder of these names, and a file that was removed has no tests
        (FILES, {"cases/build/two.yml": ""}, {}),
        (FILES, {"cases/one.yml": None}, {}),
        # had no test in the run, and may have some now
        (FILES, {"cases/one.yml": "ko"}, {"cases/one.yml": "cases/conftest.py"}),
        ({**FILES, "cases/a.txt": ""}, {"cases/a.txt": "1"}, {}),
        ({**FILES, "cases/tool.py": ""}, {"cases/tool.py": "1"}, {}),
        # what it collects may have been there before
        (
            {"cases/one.yml": "ok"},
            {"cases/conftest.py": HOOK},
            {"cases/conftest.py": "cases/conftest.py"},
        ),
        (
            FILES,
            {"cases/conftest.py": HOOK.replace(".yml", ".txt")},
            {"cases/conftest.py": "cases/conftest.py"},
        ),
        (FILES, {"cases/conftest.py": f"{HOOK}# a comment\n"}, {}),
        (FILES, {"cases/conftest.py": None}, {}),
        # the name in a text is no hook
        ({"conftest.py": "X = 'pytest_collect_file'\n"}, {"two.yml": ""}, {}),
        (
            {"conftest.py": "from hooks import pytest_collect_file\n"},
            {"two.yml": ""},
            {"two.yml": "conftest.py"},
        ),
        (
            {"conftest.py": "pytest_collect_file = print\n"},
            {"two.yml": ""},
            {"two.yml": "conftest.py"},
        ),
        (
            {"conftest.py": "class Plugin:\n    def pytest_collect_directory(self): pass\n"},
            {"two.yml": ""},
            {"two.yml": "conftest.py"},
        ),
    ],
)
def test_files_that_a_hook_may_collect(
    before: Files, edit: dict[str, str | None], hooks: dict[str, str]
) -> None:
    changed = {**before, **edit}
    now = {path: text for path, text in changed.items() if text is not None}
    assert newly_collected(difference_of(before, now), []) == hooks
    assert newly_collected(difference_of(before, now), ["cases/one.yml"]) == {
        path: hook for path, hook in hooks.items() if path != "cases/one.yml"
    }


@pytest.mark.skipif(sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on")
@pytest.mark.parametrize("path", ["cases/sub/two.yml", "cases/empty.yml"])
def test_what_a_hook_may_collect_is_proven_by_a_run_that_collects_it(
    tmp_path: Path, path: str
) -> None:
    program = {"pytest.ini": "[pytest]\n", "cases/empty.yml": "", **FILES}
    folder = repository(tmp_path / "program", program)
    assert record(folder) == 0
    commit(folder, {"notes/two.yml": "bad"})
    assert verify(folder) == 0
    commit(folder, {path: "bad"})
    assert verify(folder) == 1
    assert record(folder, "--kl-impacted") == 1
    assert verify(folder) == 1
    commit(folder, {path: "ok"})
    assert record(folder, "--kl-impacted") == 0
    assert verify(folder) == 0
    assert impacted(folder) == set()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on")
def test_a_run_of_a_part_collects_what_it_is_asked_for(tmp_path: Path) -> None:
    program = {"pytest.ini": "[pytest]\n", "test_b.py": "def test_b(): pass\n", **FILES}
    folder = repository(tmp_path / "program", program)
    assert record(folder) == 0
    commit(folder, {"cases/sub/two.yml": ""})
    assert record(folder, "test_a.py") == 0
    assert verify(folder) == 1
    commit(folder, {"notes.md": "x"})
    assert verify(folder) == 1
    assert record(folder, "cases") == 0
    assert verify(folder) == 0


@pytest.mark.skipif(sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on")
def test_a_new_hook_is_proven_by_a_run_that_collects(tmp_path: Path) -> None:
    program = {path: text for path, text in FILES.items() if not path.endswith("conftest.py")}
    folder = repository(tmp_path / "program", {"pytest.ini": "[pytest]\n", **program})
    assert record(folder) == 0
    commit(folder, {"cases/conftest.py": HOOK})
    assert verify(folder) == 1
    assert record(folder, "--kl-impacted") == 0
    assert verify(folder) == 0
