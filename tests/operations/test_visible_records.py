"""The policy on records and what names them: links, pages, excerpts, changes and receipts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kl_hooks.code.query.search import Found
from kl_hooks.context.access import Access
from kl_hooks.context.policy import Policy, Rule, audit
from kl_hooks.model.claim import Claim
from kl_hooks.model.excerpt import Excerpt
from kl_hooks.model.receipt import Evidence, Receipt
from kl_hooks.model.record import Record
from kl_hooks.model.symbol import FilePath, Link, NodeId, NodeText, Symbol
from kl_hooks.operations.operation import visible_result
from kl_hooks.operations.parts import Kinds
from kl_hooks.operations.written import Written
from kl_hooks.records.pages import Page, PageLink
from kl_hooks.records.query import get_record
from tests.support import Checkout, checkout, from_template

RULES = (
    Rule("no pay", "deny", tags=("pay",)),
    Rule("plans", "redact", tags=("plan",)),
    Rule("hidden", "deny", paths=("hidden/**",)),
    Rule("short", "redact", paths=("short/**",)),
)
NOTE = "(redacted by policy: plans)"


class Decisions(NamedTuple):
    """An agent's access, and one record under each effect."""

    access: Access
    denied: Record
    redacted: Record
    shown: Record


@pytest.fixture
def decisions(tmp_path: Path, home: Path) -> Decisions:
    """Decisions in files that are named after their titles."""
    titles = {"pay": "Salaries grow", "plan": "Mergers wait", "open": "Tests run"}
    repo = Checkout(tmp_path / "repo")

    def build() -> None:
        checkout(repo.root)
        assert repo.kl("init", "--yes").returncode == 0
        for tag, title in titles.items():
            texts = ("--context", f"{title} today", "--decision", f"{title} always")
            made = repo.kl("decision", "new", title, *texts, "--governs", "src/a.py", "--tag", tag)
            assert made.returncode == 0, made.stderr

    from_template(repo.root, ("decisions", *titles), build, dict(os.environ))
    ws = repo.workspace()
    records = (get_record(ws, f"ADR-000{number}") for number in (1, 2, 3))
    return Decisions(Access(ws, Policy(RULES, "agent:bot", "key")), *records)


def test_a_link_names_no_record_that_is_denied_and_no_title_of_a_redacted_one(
    decisions: Decisions,
) -> None:
    def link(record: Record, target: str = "file:src/a.py") -> Link:
        return Link(f"adr:{record.id}", "governs", target, record.path, 7)

    links = (link(decisions.denied), link(decisions.redacted), link(decisions.shown))
    folder = decisions.redacted.path.rpartition("/")[0]
    assert visible_result(decisions.access, links) == (
        links[1]._replace(path=f"{folder}/ADR-0002"),
        links[2],
    )
    # a name that nothing resolves is a text
    unresolved = link(decisions.shown, "name:Salaries grow")
    shown = visible_result(decisions.access, unresolved)
    assert shown == unresolved._replace(target="name:withheld")
    # without a place the ends decide alone
    assert visible_result(decisions.access, links[2]._replace(path="")).path == ""
    sources = [links[2]._replace(source="file:src/a.py", target=part.source) for part in links]
    assert visible_result(decisions.access, sources) == sources[1:]


def test_a_page_link_keeps_the_words_of_its_own_page(decisions: Decisions) -> None:
    def link(record: Record) -> PageLink:
        several = ("hidden/a.md", "short/a.md", "docs/a.md")
        return PageLink("Salaries grow", 3, f"adr:{record.id}", record.title, several)

    denied, redacted, shown = map(link, decisions[1:])
    paths = ("withheld", "short/a.md", "docs/a.md")
    broken = PageLink("Salaries grow", 3, "", "", ())
    assert visible_result(decisions.access, [denied, redacted, shown, broken]) == [
        PageLink("withheld", 3, "adr:ADR-0002", NOTE, paths),
        PageLink("withheld", 3, "adr:ADR-0003", "Tests run", paths),
        PageLink("withheld", 3, "", "", ()),
    ]


def test_of_a_redacted_page_its_title_and_the_title_in_its_path_are_not_shown(
    decisions: Decisions,
) -> None:
    pages = [
        Page(record.path, f"adr:{record.id}", record.id, record.title) for record in decisions[1:]
    ]
    pages += [Page(f"{name}/a.md", f"file:{name}/a.md", "", "A") for name in ("hidden", "short")]
    folder = decisions.redacted.path.rpartition("/")[0]
    assert visible_result(decisions.access, pages) == [
        Page(f"{folder}/ADR-0002", "adr:ADR-0002", "ADR-0002", NOTE),
        pages[2],
        Page("short/a.md", "file:short/a.md", "", "(redacted by policy: short)"),
    ]


@dataclass(frozen=True)
class Quotation(Excerpt):
    """An excerpt with a place of its own."""

    node: str
    path: FilePath
    text: str

    @property
    def origin(self) -> NodeId:
        return NodeId(self.node)


def test_an_excerpt_is_shown_where_its_origin_is_known_and_open(decisions: Decisions) -> None:
    quotations = [
        Quotation(node, FilePath(path), "Salaries grow slowly")
        for node, path in (
            ("ADR-0001", "docs/a.md"),
            ("ADR-0002", "docs/a.md"),
            ("ADR-0003", "docs/a.md"),
            ("ADR-0003", "hidden/a.md"),
            ("ADR-0003", "short/a.md"),
            ("ADR-0999", "docs/a.md"),
        )
    ]
    shown, short = visible_result(decisions.access, quotations)
    assert (shown.node, shown.path, shown.text) == ("ADR-0003", "docs/a.md", "withheld slowly")
    assert (short.node, short.path, short.text) == ("", "short/a.md", "")


def test_whoever_wrote_a_hidden_record_is_given_its_id_alone(decisions: Decisions) -> None:
    state = (NodeText("Salaries grow here", "adr:ADR-0003"), 3)
    denied, redacted, shown = (
        visible_result(decisions.access, Written(record, "now", state, ("Salaries grow",)))
        for record in decisions[1:]
    )
    assert (denied.record.id, denied.record.title) == ("ADR-0001", "(redacted by policy: no pay)")
    assert (redacted.record.id, redacted.record.title) == ("ADR-0002", NOTE)
    for hidden in (denied, redacted):
        assert (hidden.now, hidden.today, hidden.notes) == ("now", (), ())
    assert shown == Written(decisions.shown, "now", state, ("withheld",))


class Statement(NamedTuple):
    """A value about what was written."""

    change: Written
    reason: str
    items: frozenset[str] = frozenset(("a",))
    steps: tuple[Any, ...] = ()


def test_what_is_stated_of_a_hidden_change_is_not_shown(decisions: Decisions) -> None:
    link = Link("adr:ADR-0003", "governs", "file:src/a.py", "docs/a.md", 7)
    statements = [
        Statement(Written(record, "now"), "by hand", steps=(link,)) for record in decisions[1:]
    ]
    *hidden, shown = visible_result(decisions.access, statements)
    assert shown == statements[2]
    for statement in hidden:
        assert (statement.reason, statement.items, statement.steps) == ("", frozenset(), ())


class Ending(StrEnum):
    """A word of kl."""

    DONE = "done"


class EndedChange(NamedTuple):
    """A value about what was written, with a word of kl."""

    change: Written
    ending: Ending
    reason: str


def test_a_word_of_kl_stays_beside_a_hidden_record(decisions: Decisions) -> None:
    ended = EndedChange(Written(decisions.redacted, "now"), Ending.DONE, "by hand")
    shown = visible_result(decisions.access, ended)
    assert (shown.ending, shown.reason) == (Ending.DONE, "")


def test_a_sentence_that_quotes_is_withheld_where_its_node_is_redacted(
    decisions: Decisions,
) -> None:
    sentences = [
        NodeText("it may apply", f"adr:{record.id}", is_quotation=is_quotation)
        for record in decisions[1:]
        for is_quotation in (False, True)
    ]
    assert visible_result(decisions.access, sentences) == [
        *("withheld",) * 2,
        "it may apply",
        "withheld",
        *("it may apply",) * 2,
    ]


def test_places_of_redacted_symbols_have_no_title_of_a_record(decisions: Decisions) -> None:
    folder, path = decisions.redacted.path.rpartition("/")[0], decisions.redacted.path
    symbol = Symbol("adr:ADR-0002", path, 3, 4, "Mergers wait", "Doc.", "0" * 16)
    place = f"{folder}/ADR-0002"
    shown = visible_result(decisions.access, symbol)
    assert shown == Symbol(symbol.id, place, 3, 4, NOTE, "", "")
    found = Found("adr:ADR-0002", path, 3, "Mergers wait", "text")
    assert visible_result(decisions.access, found) == Found(found.id, place, 3, NOTE, "text")


def denying(repo: Checkout, **conditions: tuple[str, ...]) -> Access:
    """An agent's access where one rule denies."""
    rule = Rule("hidden", "deny", **conditions)
    return Access(repo.workspace(), Policy((rule,), "agent:bot", "key"))


def test_kinds_of_what_is_found_meet_the_rules_for_them(repo: Checkout) -> None:
    kinds = ("symbol", "page", "violation")
    found = [Found(f"{kind}:a", "docs/a.md", 3, "A", "text", kind) for kind in kinds]
    for number, kind in enumerate(kinds):
        access = denying(repo, paths=("docs/**",), kinds=(kind,))
        assert visible_result(access, found) == [*found[:number], *found[number + 1 :]]


def test_a_page_of_a_record_that_is_not_stored_is_one(repo: Checkout) -> None:
    page = Page("docs/a.md", "adr:ADR-0099", "ADR-0099", "A")
    assert visible_result(denying(repo, kinds=("page",)), [page]) == []
    assert visible_result(denying(repo, kinds=("violation",)), [page]) == [page]


def test_a_claim_is_shown_where_what_it_is_about_is(repo: Checkout) -> None:
    made = "2026-11-28T08:00:00Z"
    claims = [
        Claim("It works", f"file:{folder}/a.py", "bob", made) for folder in ("hidden", "open")
    ]
    assert visible_result(denying(repo, paths=("hidden/**",)), claims) == claims[1:]


def test_kinds_have_no_text_of_a_record(repo: Checkout) -> None:
    kinds = Kinds({})
    (shown,) = visible_result(denying(repo, paths=("hidden/**",)), [kinds])
    assert shown is kinds


def test_the_file_that_raised_is_the_one_before_the_name_of_a_function(repo: Checkout) -> None:
    access = denying(repo, paths=("hidden/*.py",))
    detail = {"message": "90", "frame": "hidden/a.py::pay"}
    result = Evidence("PytestTest", "test:tests/a.py::test_a", "failed", detail=detail)
    assert visible_result(access, [result])[0].detail == {}


def test_the_audit_names_the_file_that_was_denied(repo: Checkout) -> None:
    access = denying(repo, paths=("hidden/**",))
    assert visible_result(access, [FilePath("hidden/a.py")]) == ["withheld"]
    access.audit("test")
    (event,) = audit(repo.workspace())
    assert event["items"] == [["deny", "hidden", "file:hidden/a.py"]]


def receipt(*evidence: Evidence, **values: Any) -> Receipt:
    start = "2026-11-28T08:00:00Z"
    return Receipt("0" * 32, "pytest", "pytest", "local:a@b", evidence, start, start, **values)


def test_a_receipt_names_nothing_hidden_and_keeps_its_digest(decisions: Decisions) -> None:
    results = [
        Evidence("PytestTest", f"test:{path}/test_a.py::test_a", "passed", detail={"message": "a"})
        for path in ("hidden", "short", "tests")
    ]
    hidden = {"args": ["hidden/test_a.py", "Salaries grow"]}
    texts = dict.fromkeys(("environment", "selection", "result"), hidden)
    whole = receipt(*results, **texts)
    shown = visible_result(decisions.access, whole)
    assert [result.subject for result in shown.evidence] == [
        "test:short/test_a.py::test_a",
        "test:tests/test_a.py::test_a",
    ]
    assert [result.detail for result in shown.evidence] == [{}, {"message": "a"}]
    assert shown.evidence_digest == whole.evidence_digest
    words = {"args": ["withheld", "withheld"]}
    assert (shown.environment, shown.selection, shown.result) == (words, words, words)
    # where no result is hidden, its digest is still that of the results
    open_receipt = receipt(results[2])
    assert visible_result(decisions.access, open_receipt).folded_digest == ""
    first, second = visible_result(decisions.access, [whole, whole])
    assert first is second


def test_a_result_that_names_a_hidden_record_loses_the_name_alone(decisions: Decisions) -> None:
    detail = {"message": "Salaries grow", "frame": "src/a.py"}
    result = Evidence(
        "PytestTest", "test:tests/a.py::test_a[Salaries grow]", "failed", detail=detail
    )
    shown = visible_result(decisions.access, result)
    assert shown.subject == "test:tests/a.py::test_a[withheld]"
    assert shown.detail == {"message": "withheld", "frame": "src/a.py"}


def test_a_result_of_what_is_in_no_file_keeps_its_details(decisions: Decisions) -> None:
    result = Evidence("CommandRun", "command:make", "passed", detail={"message": "90"})
    assert visible_result(decisions.access, result) == result
