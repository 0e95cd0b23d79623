"""The policy on typed results: what is denied is in no list, nothing that holds it is shown, and of
what is redacted its ID, kind and place are left.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kl_hooks.code.query.search import Found
from kl_hooks.context.access import Access, find_policy
from kl_hooks.documents.collections import REPOSITORY
from kl_hooks.documents.indexing import Chunk
from kl_hooks.documents.search import Result, Snippet
from kl_hooks.errors import UsageProblem
from kl_hooks.model.problem import Problem
from kl_hooks.model.record import Record
from kl_hooks.model.symbol import FilePath, Link, NodeId, NodeText, Symbol, TestName
from kl_hooks.operations.operation import Listing, visible_result
from kl_hooks.records.pages import Page, PageLine
from kl_hooks.records.query import get_record
from tests.pytest_kl.recorded import run_pytest
from tests.support import Checkout

POLICY = """version: 1
rules:
  - name: hidden
    deny: {paths: ["hidden/**"], actors: [agent]}
  - name: short
    redact: {paths: ["short/**"], actors: [agent]}
"""


class Step(NamedTuple):
    """A value that holds a link."""

    level: int
    link: Link


@dataclass(frozen=True)
class Difference:
    """A value about a file."""

    path: FilePath
    line: int
    text: str
    words: tuple[str, ...] = ("word",)


def symbol(path: str) -> Symbol:
    return Symbol(
        "function:elsewhere.total", path, 3, 4, "def total()", "Doc.", "0" * 16, ("@mark",)
    )


def link(path: str, target: str = "name:total") -> Link:
    return Link("function:elsewhere.pay", "calls", target, path, 7, "import", 100)


@pytest.fixture
def access(repo: Checkout) -> Access:
    """An agent's, in a repository with a denied, a redacted and an open file."""
    for folder in ("hidden", "short", "open"):
        repo.write(f"{folder}/code.py", f"def {folder}_total() -> int:\n    return 1\n")
    repo.write(".kl/policy.yaml", POLICY)
    repo.commit()
    assert repo.kl("graph", "build").returncode == 0
    ws = repo.workspace()
    return Access(ws, find_policy(ws, "agent:bot"))


@pytest.mark.parametrize(
    "value",
    [
        symbol("hidden/code.py"),
        Found("function:elsewhere.total", "hidden/code.py", 3, "def total()", "name"),
        link("hidden/code.py"),
        link("open/code.py", "function:hidden.code.hidden_total"),
        Link("function:hidden.code.hidden_total", "calls", "name:x", "open/code.py", 1),
        NodeId("file:hidden/code.py"),
        NodeId("function:hidden.code.hidden_total"),
        Problem("hidden/code.py", 1, 1, "does not parse."),
        Difference(FilePath("hidden/code.py"), 1, "text"),
        Step(1, link("hidden/code.py")),
        {"link": link("hidden/code.py")},
        {NodeId("file:hidden/code.py"): 1},
        TestName("hidden/code.py::test_a[hidden]"),
        {TestName("hidden/code.py::test_a"): 1},
        NodeId("test:hidden/gone.py::test_a"),
        NodeId("function:hidden.gone.total"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_denied_is_in_no_list_and_not_counted(access: Access, value: Any) -> None:
    shown = symbol("open/code.py")
    listing = visible_result(access, Listing((value, shown, value), 1), "total")
    assert (listing.total, listing.items, listing.shown) == (1, (shown,), (shown,))
    with pytest.raises(UsageProblem, match=r"^total: .*denies it to you"):
        visible_result(access, value, "total")


def test_of_what_is_redacted_the_id_and_the_place_are_left(access: Access) -> None:
    note = "(redacted by policy: short)"
    assert visible_result(access, symbol("short/code.py")) == Symbol(
        "function:elsewhere.total", "short/code.py", 3, 4, note, "", ""
    )
    found = Found("function:elsewhere.total", "short/code.py", 3, "def total()", "name")
    assert visible_result(access, found) == Found(found.id, found.path, 3, note, "name")
    problem = Problem("short/code.py", 2, 1, "does not parse.", "Look at it.")
    assert visible_result(access, problem) == Problem("short/code.py", 2, 1, "")
    difference = Difference(FilePath("short/code.py"), 1, "text")
    assert visible_result(access, difference) == Difference(difference.path, 1, "", ())
    assert visible_result(access, link("short/code.py")) == link("short/code.py")
    assert visible_result(access, NodeId("file:short/code.py")) == "file:short/code.py"


def test_a_redacted_value_has_no_node_that_is_denied(access: Access) -> None:
    values = tuple(
        NodeOfFile(FilePath("short/code.py"), NodeId(f"file:{folder}/code.py"))
        for folder in ("hidden", "open")
    )
    assert visible_result(access, values) == (values[1],)


class NodeOfFile(NamedTuple):
    """A value about a file, with one node."""

    path: FilePath
    node: NodeId


def excerpts(folder: str) -> list[Any]:
    """Return a match of each kind and a line of a page, from a folder of the repository."""
    path, snippet = f"{folder}/code.py", Snippet(1, "text", ())
    page = Page(path, f"file:{path}", "", "Title")
    passage = Chunk(1, path, REPOSITORY, (), 1, 2, "text", "0" * 16, "Title")
    names = {"document": f"file:{path}#L1-L2", "code": f"function:{folder}.code.{folder}_total"}
    code, document = (
        Result(kind, names[kind], path, 1, 2, "Title", snippet, 1.0, chunk=chunk)
        for kind, chunk in (("code", None), ("document", passage))
    )
    return [code, document, PageLine(page, 1, "text")]


def test_excerpts_are_shown_of_what_is_shown_whole_alone(access: Access) -> None:
    for folder in ("hidden", "short"):
        assert visible_result(access, excerpts(folder)) == []
    assert visible_result(access, excerpts("open")) == excerpts("open")
    unknown = Result("record", "ADR-0999", "", 1, 0, "Title", Snippet(0, "text", ()), 1.0)
    assert visible_result(access, [unknown]) == []


def test_what_the_policy_is_not_about_is_as_it_was(access: Access) -> None:
    values = [
        (1, None, True, 2.5, "words"),
        {"link": link("open/code.py"), "step": Step(1, link("open/code.py"))},
        Difference(FilePath("open/code.py"), 1, "text"),
        [symbol("open/code.py"), Problem("open/code.py", 1, 1, "does not parse.")],
        Found("function:elsewhere.total", "open/code.py", 3, "def total()", "name"),
        NodeId("function:open.code.open_total"),
    ]
    assert visible_result(access, values) == values


def test_what_is_hidden_stays_a_reason_for_doubt(access: Access) -> None:
    doubts = (
        NodeText("hidden_total may call it", "function:hidden.code.hidden_total"),
        FilePath("hidden/code.py"),
        NodeText("open_total may call it", "function:open.code.open_total"),
        FilePath("open/code.py"),
    )
    shown = visible_result(access, doubts)
    assert shown == ("withheld", "withheld", "open_total may call it", "open/code.py")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("hidden/code.py::test_a[b c] failed in run 3f9a1c2b", "withheld failed in run 3f9a1c2b"),
        ("hidden.code.hidden_total and 2 more changed", "withheld and 2 more changed"),
        ("method:hidden.gone.Plan.total.<locals>.f changed", "method:withheld changed"),
        ("./hidden/gone.txt can't be read", "withheld can't be read"),
        ("open.code.total, short.code.total and open/code.py", None),
        ("hidden words, 3.13.0, e.g. pytest.ini", None),
    ],
)
def test_sentences_lose_the_names_of_what_is_denied(
    access: Access, text: str, shown: str | None
) -> None:
    assert visible_result(access, text) == (text if shown is None else shown)


def test_where_little_is_allowed_sentences_name_no_other_file(repo: Checkout) -> None:
    repo.write("open/code.py", "TOTAL = 1\n")
    repo.write("other/code.py", "TOTAL = 1\n")
    repo.write("root.py", "TOTAL = 1\n")
    repo.write(
        ".kl/policy.yaml", "version: 1\nrules:\n  - allow: {paths: [open/]}\n    name: open\n"
    )
    repo.commit()
    assert repo.kl("graph", "build").returncode == 0
    ws = repo.workspace()
    shown = visible_result(
        Access(ws, find_policy(ws, "agent:bot")),
        "open/code.py, other/code.py, open.code.TOTAL, other.code.TOTAL, root.py, e.g. pytest.ini",
    )
    assert shown == "open/code.py, withheld, open.code.TOTAL, withheld, withheld, e.g. pytest.ini"


def test_of_a_redacted_test_its_name_is_left(access: Access) -> None:
    class Failure(NamedTuple):
        test: TestName
        message: str
        run: int

    failure = Failure(TestName("short/code.py::test_a"), "ValueError: 90,000", 3)
    assert visible_result(access, [failure]) == [failure._replace(message="")]


@pytest.mark.parametrize("value", [Path("hidden/code.py"), b"bytes", {1, 2}, object(), Step])
def test_a_type_that_is_not_known_is_an_error(access: Access, value: Any) -> None:
    with pytest.raises(TypeError, match="can't decide on a"):
        visible_result(access, {"value": [value]})


def test_without_a_policy_a_result_is_not_looked_at(repo: Checkout) -> None:
    value = object()
    assert visible_result(Access(repo.workspace(), None), value) is value


def test_records_and_texts_lose_what_is_hidden(repo: Checkout) -> None:
    assert repo.kl("init", "--yes").returncode == 0
    text = "Salaries are paid by hand"
    created = repo.kl("memory", "add", text, "--tag", "private", "--format", "json")
    assert created.returncode == 0, created.stderr
    record_id = re.findall(r"MEM-[0-9a-f]+", created.stdout)[0]
    rule = "{tags: [private], actors: [agent]}"
    for effect in ("deny", "redact"):
        repo.write(".kl/policy.yaml", f"version: 1\nrules:\n  - name: pay\n    {effect}: {rule}\n")
        ws = repo.workspace()
        access = Access(ws, find_policy(ws, "agent:bot"))
        record = get_record(ws, record_id)
        shown = visible_result(access, (record, NodeId(record_id), f"see {text.lower()}."))
        assert not any("alaries" in repr(part) or "alaries" in str(part) for part in shown), shown
        assert [getattr(part, "id", part) for part in shown][:-1] == (
            [] if effect == "deny" else [record_id, record_id]
        )


class Review(NamedTuple):
    """A value about a record."""

    record: Record
    reason: str
    lines: tuple[str, ...]
    count: int


def test_what_is_stated_of_a_redacted_record_is_not_shown(repo: Checkout) -> None:
    assert repo.kl("init", "--yes").returncode == 0
    assert repo.kl("feature", "new", "Sign in", "--id", "FEAT-A-1").returncode == 0
    ws = repo.workspace()
    value = Review(get_record(ws, "FEAT-A-1"), "by hand", ("in May",), 3)
    assert visible_result(Access(ws, find_policy(ws, "agent:bot")), value) == value
    rule = "redact: {kinds: [feature], actors: [agent]}"
    repo.write(".kl/policy.yaml", f"version: 1\nrules:\n  - name: pay\n    {rule}\n")
    ws = repo.workspace()
    shown = visible_result(Access(ws, find_policy(ws, "agent:bot")), value)
    assert (shown.record.id, shown.record.title) == ("FEAT-A-1", "(redacted by policy: pay)")
    assert (shown.reason, shown.lines, shown.count) == ("", (), 3)


def test_the_graph_names_no_test_and_no_file_that_is_hidden(repo: Checkout) -> None:
    repo.write("shop.py", "class Shop:\n    def total(self) -> int:\n        return 1\n")
    repo.write(
        "hidden/test_merger.py", "import shop\ndef test_merger(): assert shop.Shop().total() == 1\n"
    )
    repo.write("hidden/plan.py", "def broken(:\n")
    assert repo.kl("init", "--yes").returncode == 0
    repo.write(".kl/policy.yaml", POLICY)
    repo.commit()
    run_pytest(repo.root, "hidden/test_merger.py")
    agent = {"KL_AGENT": "bot"}
    for verb in ("show", "callers", "refs", "dependents"):
        for shape in ("text", "json"):
            done = repo.kl("graph", verb, "Shop.total", "--format", shape, env=agent)
            text = done.stdout + done.stderr
            assert done.returncode == 0 and "merger" not in text and "plan.py" not in text, text
            assert "not assessed" in text.replace("_", " ") and "withheld" in text, text
    assert "test_merger" in repo.kl("graph", "show", "Shop.total").stdout
