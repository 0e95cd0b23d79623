"""A test that opens a file which an earlier one wrote rests on that one: also where the file was
linked, replaced or cut.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.pytest_kl.recorded import environment, git, repository, run_pytest
from tests.support import run_in_process

APP = "TEXT = 'a'\ndef text(): return TEXT\ndef other(): return TEXT\n"
WAYS = {
    "written": "Path('out.txt').write_text(app.text())",
    "linked": "Path('new.txt').write_text(app.text()); os.link('new.txt', 'out.txt')",
    "source of a link": "Path('out.txt').write_text(app.text()); os.link('out.txt', 'new.txt')",
    "source of a symbolic link": (
        "Path('out.txt').write_text(app.text()); os.symlink('out.txt', 'new.txt')"
    ),
    "replaced": "Path('new.txt').write_text(app.text()); os.replace('new.txt', 'out.txt')",
    "written and replaced": (
        "Path('out.txt').write_text('b'); Path('new.txt').write_text(app.text());"
        " os.replace('new.txt', 'out.txt')"
    ),
    "truncated": "os.truncate('out.txt', len(app.text()))",
}
"""How the first test gives the second one its file."""
TESTS = """
import os
from pathlib import Path
import pytest
import app
@pytest.fixture(scope="module", autouse=True)
def clean():
    Path("out.txt").write_text("ab") if {is_there} else None
    yield
    for name in ("out.txt", "new.txt"):
        Path(name).unlink(missing_ok=True)
def test_writes():
    {way}
def test_reads(): assert len(Path("out.txt").read_text()) == 1
def test_else(): assert True
"""

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on"
)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.share(2)
def test_what_changes_in_the_writer_makes_the_reader_run(way: str, tmp_path: Path) -> None:
    tests = TESTS.format(way=WAYS[way], is_there=way == "truncated")
    files = {"app.py": APP, "test_m.py": tests, ".gitignore": "*.txt\n"}
    folder = repository(tmp_path / "program", files)
    assert run_pytest(folder, "-p", "no:randomly").returncode == 0
    changed = APP.replace("def text(): return TEXT", "def text(): return 2 * TEXT")
    (folder / "app.py").write_text(changed)
    git(folder, "commit", "-qam", "text")
    done = run_in_process(["proof", "impacted", "--format", "json"], folder, environment({}))
    impacted = {entry["test"] for entry in json.loads(done.stdout)["tests"]}
    assert impacted == {"test_m.py::test_writes", "test_m.py::test_reads"}
