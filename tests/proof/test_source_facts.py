"""What is read in source files for a verdict, and cached: the same facts, each content read
once.
"""

from __future__ import annotations

import ast
import json
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

from kl_hooks.code import function_code, import_time, introspection
from kl_hooks.code.scanner import parser
from kl_hooks.proof import source_facts
from kl_hooks.proof.difference import mentions
from kl_hooks.proof.source_facts import SourceFacts
from kl_hooks.store.cache import Cache
from tests.pytest_kl.recorded import environment, git, repository, run_pytest
from tests.support import Checkout, run_in_process

PRODUCT = sorted(Path(source_facts.__file__).parents[1].glob("**/*.py"))[::16]
ODD = [b"", b"def f(:\n", b"\xff\xfe", b"a\0b", b"class A(B, metaclass=C):\n    x: 'T' = 1\n"]


@pytest.mark.parametrize("content", [*ODD, *(path.read_bytes() for path in PRODUCT)])
@pytest.mark.share(5)
def test_facts_that_were_cached_are_those_that_were_read(tmp_path: Path, content: bytes) -> None:
    first, second = SourceFacts(Cache(tmp_path)), SourceFacts(Cache(tmp_path))
    uses, effects = first.introspection(content), first.import_time(content)
    assert uses == introspection.introspection(content) == second.introspection(content)
    assert effects == import_time.import_time(content) == second.import_time(content)


def test_a_cached_fact_that_is_none_is_read_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    SourceFacts(cache).introspection(b"a = b\n")
    (key,) = cache.keys("")
    for packed in (
        b"no zlib",
        zlib.compress(b"no JSON"),
        zlib.compress(b"[]"),
        zlib.compress(b"{}"),
    ):
        cache.set(key, packed, None)
        assert SourceFacts(cache).introspection(b"a = b\n").symbols[""].names == {"a", "b"}
        packed_again = cache.get(key)
        assert packed_again is not None
        assert json.loads(zlib.decompress(packed_again))["symbols"][""]["names"] == ["a", "b"]


def test_every_module_that_decides_what_is_read_is_part_of_the_version() -> None:
    graph = grimp.build_graph("kl_hooks", exclude_type_checking_imports=True)
    reading = {module.__name__ for module in (function_code, import_time, introspection)}
    needed = reading.union(*(graph.find_upstream_modules(module) for module in reading))
    packages = {module for module in needed if graph.find_children(module)}
    assert needed - packages == {module.__name__ for module in source_facts.READERS}


def test_files_with_words_are_those_that_git_finds_for_each_word_alone(repo: Checkout) -> None:
    repo.write("a.py", "import app, os.path\napple = app.App2 | 2\n")
    repo.write("b.py", "apple2 = [a-b]\n_app = 'a.b'\n")
    repo.write("c.py", "app|a\nApp.os\n")
    repo.commit()
    repo.write("new.py", "os_path = App\n")
    workspace = repo.workspace()
    assert workspace.repo is not None
    words = {"app", "App", "apple", "App2", "app2", "a", "absent", "os.path", "a-b", "app|a"}
    together = mentions(workspace.repo, words, None)
    for word in sorted(words):
        options = ("--untracked", "-l", "-w", "-F", "-e", word)
        alone = repo.git("grep", *options, "--", "*.py", ok=False)
        assert together.get(word, frozenset()) == set(alone.split()), word


APP = "STATE = {}\ndef get(): return STATE.get('a')\n"
READING = "import app\ndef test_get(): assert app.get() is None\n"
LEAVING = "import app\ndef test_leaves(): app.STATE['a'] = 1\n"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on")
def test_the_second_verdict_parses_no_file_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"app.py": APP, "test_a.py": READING, "test_b.py": LEAVING}
    folder = repository(tmp_path / "shop", files)
    run_pytest(folder, "test_a.py")
    (folder / "note.txt").write_text("a\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Note")
    run_pytest(folder, "test_b.py")
    parsed = list(_parsed_by_verdicts(folder, monkeypatch, number=2))
    assert parsed[0] > 0
    assert parsed[1] == 0


def _parsed_by_verdicts(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, number: int
) -> Iterator[int]:
    """How many contents each of so many verdicts parses for what is cached."""
    contents: list[bytes] = []

    def parse(content: bytes) -> ast.Module:
        contents.append(content)
        return parser.parse_tree(content)

    for module in (introspection, import_time):
        monkeypatch.setattr(module, "parse_tree", parse)
    for _ in range(number):
        before = len(contents)
        # each command opens a workspace of its own, as each process does
        assert run_in_process(["verify"], folder, environment({})).returncode == 1
        yield len(contents) - before
