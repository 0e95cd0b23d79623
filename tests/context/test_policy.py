"""The policy: what its rules decide, by properties, and how a wrong file is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.context.fuse import Ranked
from kl_hooks.context.gather import Gathered
from kl_hooks.context.page import assemble
from kl_hooks.context.policy import (
    EFFECTS,
    Governed,
    Policy,
    Rule,
    SharedPolicy,
    conceal,
    govern,
    load_policy,
    read_rules,
)
from kl_hooks.context.signals import read_signals
from kl_hooks.errors import UsageProblem
from kl_hooks.model.package import WITHHELD, Candidate, Package, Task
from kl_hooks.model.problem import Problems
from kl_hooks.model.request import Request
from kl_hooks.records.retrieval import record_candidate, textless_candidate
from kl_hooks.records.write import create_record
from tests.context.making import candidate, code_of_symbols, ranked, steady, symbol
from tests.support import Checkout

WORDS = "fix the checkout total"
KINDS = ("memory", "finding", "decision")

some_paths = st.sampled_from(["src/**", "src/pay/**", "src/pay/*.py", "docs", "*.md", "**/a.py"])
rules = st.builds(
    Rule,
    name=st.text("abc", min_size=1, max_size=3),
    effect=st.sampled_from(EFFECTS),
    paths=st.lists(some_paths, max_size=2).map(tuple),
    kinds=st.lists(st.sampled_from(["memory", "code", "symbol", "page"]), max_size=2).map(tuple),
    tags=st.lists(st.sampled_from(["hr", "law"]), max_size=2).map(tuple),
    actors=st.lists(st.sampled_from(["human", "agent", "agent:codex"]), max_size=2).map(tuple),
)
actors = st.sampled_from(["human", "agent:codex", "agent:other"])
items = st.builds(
    lambda number, kind, path, tags: candidate(
        f"total{number}", kind=kind, path=path, tags=tags, text=f"checkout total {number}"
    ),
    st.integers(0, 30),
    st.sampled_from(["memory", "page", "symbol", "file"]),
    st.sampled_from(["", "src/a.py", "src/pay/a.py", "docs/x.md", "a.md"]),
    st.lists(st.sampled_from(["hr", "law"]), max_size=2).map(tuple),
)


def package(rows: tuple[Candidate, ...], policy: Policy | None, budget: str = "6000") -> Package:
    found = Gathered({"one": rows}, {}, {"one": "ok"})
    return assemble(Task(WORDS, read_signals(WORDS)), found, Request(WORDS, budget), policy=policy)


def shown(made: Package) -> set[tuple[str, str]]:
    return {(item.candidate.id, item.candidate.path) for item in made.items}


@steady
@given(items, st.lists(rules, max_size=5), rules, actors)
def test_deny_wins_and_adding_one_only_takes_away(
    one: Candidate, some: list[Rule], more: Rule, actor: str
) -> None:
    deny = more._replace(effect="deny")
    before = Policy(tuple(some), actor).decide((one,))[0]
    after = Policy((*some, deny), actor).decide((one,))[0]
    assert after == ("deny" if deny.matches(one, actor) else before)


@steady
@given(
    items,
    st.lists(rules, max_size=5).flatmap(
        lambda some: st.tuples(st.just(some), st.permutations(some))
    ),
    actors,
)
def test_the_order_of_the_rules_does_not_matter(
    one: Candidate, orders: tuple[list[Rule], list[Rule]], actor: str
) -> None:
    first, second = (Policy(tuple(some), actor).decide((one,)) for some in orders)
    assert first == second


@steady
@given(items, st.lists(rules, max_size=5))
def test_everybody_reads_what_each_actor_is_shown(
    item: Candidate, policy_rules: list[Rule]
) -> None:
    shared = SharedPolicy(tuple(policy_rules), "agent:")
    effects = {
        Policy(tuple(policy_rules), actor).decide((item,))[0]
        for actor in ("human", "agent:codex", "agent:other")
    }
    effect = shared.decide((item,))[0]
    assert effect == min(effects, key=EFFECTS.index)
    assert shared.concerns_actor or effect == "allow"


@steady
@given(st.lists(items, max_size=12), st.lists(rules, max_size=4), rules, actors)
def test_a_package_under_one_more_deny_holds_nothing_that_it_denies(
    rows: list[Candidate], some: list[Rule], more: Rule, actor: str
) -> None:
    deny = more._replace(effect="deny")
    policy, stricter = Policy(tuple(some), actor), Policy((*some, deny), actor)
    before, made = package(tuple(rows), policy, "100000"), package(tuple(rows), stricter, "100000")
    # in a budget for everything, what was not shown before is not shown now; files may come from
    # their symbols
    ids = {name for name, _ in shown(made)}
    assert {name for name in ids if not name.startswith("file:")} <= {
        name for name, _ in shown(before)
    }
    assert not any(
        deny.matches(item.candidate, actor) for item in made.items if not item.candidate.redacted_by
    )
    assert len(made.text) <= 100_000


@pytest.mark.requirement("E16")
def test_what_is_denied_uses_none_of_the_budget() -> None:
    secret = tuple(
        candidate(f"secret{n}", kind="memory", text=f"checkout total {n} " * 9) for n in range(30)
    )
    open_ = candidate("open_total", kind="finding", text="the checkout total is rounded")
    policy = Policy((Rule("no memories", "deny", kinds=("memory",)),), "human")
    ungoverned, governed, alone = (
        package((*secret, open_), None, "400"),
        package((*secret, open_), policy, "400"),
        package((open_,), None, "400"),
    )
    assert "is rounded" not in ungoverned.text
    assert [item.text for item in governed.items] == [item.text for item in alone.items]
    assert "is rounded" in governed.text and "secret" not in governed.text


@pytest.mark.requirement("E5")
def test_an_allowed_item_is_not_omitted_for_the_text_of_a_hidden_one() -> None:
    hidden, open_ = (
        candidate("a_total", tags=("hr",), text="same total"),
        candidate("b_total", text="same total"),
    )
    for effect in ("deny", "redact"):
        made = package((hidden, open_), Policy((Rule("hr", effect, tags=("hr",)),), "human"))
        assert "function:shop.b_total" in {
            item.candidate.id for item in made.items if item.form == "full"
        }


@pytest.mark.requirement("E5")
def test_what_one_retriever_knows_of_an_item_counts_for_all() -> None:
    plain, tagged = (
        candidate("total", path="", text="total"),
        candidate("total", tags=("hr",), text="total, longer"),
    )
    found = Gathered({"one": (plain,), "two": (tagged,)}, {}, {})
    policy = Policy((Rule("hr", "deny", tags=("hr",)),), "human")
    made = assemble(Task(WORDS, read_signals(WORDS)), found, Request(WORDS), policy=policy)
    assert not made.items and [one.reason for one in made.omissions] == ["denied by policy: hr"]


@pytest.mark.requirement("E5")
def test_a_denied_file_takes_its_symbols_with_it() -> None:
    rows = (symbol("total", "src/a.py", score=9), symbol("checkout", "src/b.py", score=8))
    made = package(
        rows, Policy((Rule("a", "deny", kinds=("file",), paths=("src/a.py",)),), "agent:x")
    )
    assert {item.candidate.path for item in made.items} == {"src/b.py"}
    assert {one.id for one in made.omissions} == {WITHHELD}


@pytest.mark.parametrize(
    ("rule", "path", "matches"),
    [
        ("src/pay/**", "src/pay/a/b.py", True),
        ("src/pay", "src/pay/a.py", True),
        ("src/pay/**", "./src/x/../pay/a.py", True),
        ("src/pay/**", "src/payments.py", False),
        ("*.py", "src/a.py", False),
        ("**/*.py", "src/a.py", True),
        ("src/**", "", False),
    ],
)
def test_a_path_matches_a_glob_of_files_and_folders(rule: str, path: str, matches: bool) -> None:
    assert Rule("x", "deny", paths=(rule,)).matches(candidate("x", path=path), "human") is matches


def test_of_several_files_one_hides_an_item_and_all_allow_it() -> None:
    commit = candidate("c", kind="commit", path="", touches=("src/a.py", "src/pay/b.py"))
    for effect, glob, matches in (
        ("deny", "src/pay", True),
        ("redact", "src/pay", True),
        ("allow", "src/pay", False),
        ("allow", "src", True),
        ("deny", "docs", False),
    ):
        assert Rule("x", effect, paths=(glob,)).matches(commit, "human") is matches


def test_with_an_allow_only_what_is_allowed_or_redacted_is_shown() -> None:
    policy = Policy(
        (Rule("docs", "allow", paths=("docs",)), Rule("src", "redact", paths=("src",))), "human"
    )
    effects = [
        policy.decide((candidate("x", path=path),))[0]
        for path in ("docs/a.md", "src/a.py", "other.py", "")
    ]
    assert effects == ["allow", "redact", "deny", "deny"]


def test_rules_are_read() -> None:
    text = b"""version: 1
rules:
  - name: pay
    deny: {paths: ["src/pay/**"], kinds: [memory], tags: [hr], classification: [secret], actors: [agent, "agent:codex"]}
  - name: rest
    allow: {}
"""
    assert read_rules(text, KINDS) == (
        Rule(
            "pay",
            "deny",
            ("src/pay/**",),
            ("memory",),
            ("hr",),
            ("secret",),
            ("agent", "agent:codex"),
        ),
        Rule("rest", "allow"),
    )
    assert read_rules(b"rules: []\n", KINDS) == ()


def test_every_mistake_is_reported_with_its_place() -> None:
    text = b"""version: 2
rules:
  - name: one
    deny: {kinds: [memmory], actors: [robot], paths: ["/etc", "../x"], tags: []}
  - name: one
    deny: {}
    allow: {}
  - redact: {colour: red}
  - {}
  - words
"""
    with pytest.raises(Problems) as caught:
        read_rules(text, KINDS)
    lines = str(caught.value).splitlines()
    places = {(one.line, one.message.partition(" ")[0]) for one in caught.value.problems}
    assert lines[0] == "13 problems:" and {line for line, _ in places} == {1, 4, 5, 8, 9, 10}
    assert '.kl/policy.yaml:4:20: unknown kind "memmory". Did you mean "memory"?' in lines
    assert any('the name "one" is given twice' in line for line in lines)
    assert any("a rule has one effect, not 2." in line for line in lines)


@pytest.mark.parametrize(
    "text", [b"", b"# nothing\n", b"version: 1\n", b"rules\n", b"\xff", b"rules: [\n", b"- x\n"]
)
def test_a_file_without_rules_is_no_policy_that_allows(text: bytes) -> None:
    with pytest.raises(Problems):
        read_rules(text, KINDS)


@steady
@given(st.binary(max_size=80))
def test_no_bytes_bring_the_reader_down(text: bytes) -> None:
    try:
        read_rules(b"rules:\n  - " + text, KINDS)
    except Problems as wrong:
        assert wrong.problems


# What a rule is about


@pytest.mark.parametrize(
    ("conditions", "facts", "matches"),
    [
        ({}, {}, True),
        ({"kinds": ("memory",)}, {"kind": "memory"}, True),
        ({"kinds": ("memory", "page")}, {"kind": "fact"}, False),
        # files and symbols are code, and nothing else is
        ({"kinds": ("code",)}, {"kind": "symbol"}, True),
        ({"kinds": ("code",)}, {"kind": "file"}, True),
        ({"kinds": ("symbol",)}, {"kind": "symbol"}, True),
        ({"kinds": ("code",)}, {"kind": "memory"}, False),
        ({"tags": ("hr", "law")}, {"tags": ("law",)}, True),
        ({"tags": ("hr",)}, {"tags": ("law",)}, False),
        ({"classification": ("secret", "internal")}, {"classification": "internal"}, True),
        ({"classification": ("secret",)}, {"classification": "public"}, False),
        ({"classification": ("secret",)}, {}, False),
        # one of the paths is enough, every sort of condition is needed
        ({"paths": ("docs", "src")}, {"path": "src/a.py"}, True),
        ({"paths": ("src",), "tags": ("hr",)}, {"path": "src/a.py"}, False),
        ({"paths": ("src",), "tags": ("hr",)}, {"path": "src/a.py", "tags": ("hr",)}, True),
    ],
    ids=str,
)
def test_a_rule_matches_what_meets_each_of_its_conditions(
    conditions: dict[str, tuple[str, ...]], facts: dict[str, object], matches: bool
) -> None:
    assert Rule("x", "deny", **conditions).matches(candidate("a", **facts), "human") is matches


def test_the_rules_see_all_of_a_record_that_they_can_name_without_its_text(repo: Checkout) -> None:
    values = {
        "title": "Plain",
        "context": "c",
        "decision": "d",
        "tags": ["hr"],
        "classification": "secret",
        "scope": ["file:src/a.py"],
    }
    ws = repo.workspace()
    kind = ws.kinds["decision"]
    fields = {field.name for field in kind.all_fields}
    named = {name: value for name, value in values.items() if name in fields}
    record = create_record(ws, kind, named)
    whole, textless = record_candidate(ws, record), textless_candidate(ws, record)
    read = set[str]()

    class Noted:
        def __getattr__(self, name: str) -> object:
            read.add(name)
            return getattr(whole, name)

    rule = Rule("x", "deny", (".kl",), ("decision",), ("hr",), ("secret",))
    assert rule.matches(Noted(), "human") is rule.matches(textless, "human")  # type: ignore[arg-type]
    assert {"path", "touches", "kind", "tags", "classification"} <= read
    for name in read:
        assert getattr(textless, name) == getattr(whole, name), name


@pytest.mark.parametrize(
    ("actors", "actor", "is_named"),
    [
        ((), "human", True),
        ((), "agent:codex", True),
        (("human",), "human", True),
        (("human",), "agent:codex", False),
        (("agent",), "agent:codex", True),
        (("agent:codex",), "agent:codex", True),
        (("agent:codex", "human"), "agent:other", False),
        (("codex",), "agent:codex", False),
    ],
)
def test_a_rule_is_for_an_actor_by_name_or_for_all_of_a_sort(
    actors: tuple[str, ...], actor: str, is_named: bool
) -> None:
    rule = Rule("x", "deny", actors=actors)
    assert rule.names_actor(actor) is is_named
    policy = Policy((rule,), actor)
    assert policy.decide((candidate("a"),)) == (("deny", "x") if is_named else ("allow", ""))
    assert policy.shows(candidate("a")) is (not is_named)
    assert policy.concerns_actor is is_named
    # beside a rule for others
    others = Rule("y", "redact", actors=("agent:nobody",))
    assert Policy((others, rule), actor).concerns_actor is is_named
    # what one actor is allowed is all that anybody is shown
    allow = Rule("z", "allow", actors=("agent:nobody",))
    assert Policy((allow,), actor).concerns_actor
    assert Policy((allow,), actor).decide((candidate("a"),)) == ("deny", "no rule allows it")


def test_no_rules_concern_nobody_and_of_equal_rules_the_first_by_name_is_named() -> None:
    assert not Policy((), "human").concerns_actor
    assert Policy((), "human").decide((candidate("a"),)) == ("allow", "")
    rules_by_name = [
        Rule(name, effect) for name, effect in (("b", "deny"), ("a", "redact"), ("c", "deny"))
    ]
    assert Policy(tuple(rules_by_name), "human").decide((candidate("a"),)) == ("deny", "b")


# What is left of a package


def governed(*rules: Rule, actor: str = "human") -> Governed:
    facts = [
        candidate("a", path="src/a.py", kind="memory", id="MEM-1"),
        candidate("b", path="src/b.py"),
    ]
    code = code_of_symbols(symbol("one", "src/a.py"), symbol("two", "src/b.py"))
    return govern(Policy(rules, actor, "key"), ranked(facts), code, {"list": facts})


def ids(rows: Sequence[Ranked]) -> list[str]:
    return [row.candidate.id for row in rows]


def test_what_is_denied_is_dropped_and_named_to_a_person_alone() -> None:
    everything = governed()
    assert (ids(everything.ranked), everything.omissions) == (["MEM-1", "function:shop.b"], [])
    rule = Rule("a is internal", "deny", paths=("src/a.py",))
    for actor, name in (("human", None), ("agent:x", WITHHELD)):
        left = governed(rule, actor=actor)
        assert ids(left.ranked) == ["function:shop.b"]
        assert ids(left.code.files) == ["file:src/b.py"]
        assert ids(left.code.symbols) == ["function:shop.two"]
        names = {"MEM-1", "file:src/a.py", "function:shop.one"} if name is None else {name}
        assert {omission.id for omission in left.omissions} == names
        assert {omission.reason for omission in left.omissions} == {
            "denied by policy: a is internal"
        }
        assert left.decision.actor == actor


def test_a_symbol_is_not_denied_with_another_file_or_with_an_item_that_is_no_file() -> None:
    left = governed(Rule("x", "deny", kinds=("file",), paths=("src/a.py",)))
    assert ids(left.code.symbols) == ["function:shop.two"]
    left = governed(Rule("x", "deny", kinds=("memory",)))
    assert ids(left.code.symbols) == ["function:shop.one", "function:shop.two"]
    redacting = governed(Rule("x", "redact", kinds=("file",), paths=("src/a.py",)))
    assert ids(redacting.code.symbols) == ["function:shop.one", "function:shop.two"]


def test_of_what_is_redacted_a_text_still_decides_its_rank_and_code_is_concealed_at_once() -> None:
    left = governed(Rule("short", "redact", paths=("src/a.py",)))
    marked, plain = left.ranked
    assert (marked.candidate.redacted_by, marked.candidate.title) == ("short", "a")
    assert (plain.candidate.redacted_by, plain.candidate.title) == ("", "b")
    one, two = left.code.symbols
    assert (one.candidate.title, one.candidate.redacted_by) == ("", "short")
    assert (two.candidate.title, two.candidate.redacted_by) == ("two", "")
    assert [row.candidate.redacted_by for row in left.code.files] == ["short", ""]
    assert all(row.candidate.title == "" for row in left.code.files[:1])
    effects = {name: effect for name, _, effect, _ in left.decision.effects}
    assert effects["MEM-1"] == effects["file:src/a.py"] == "redact"
    assert effects["function:shop.b"] == "allow"
    # of code the place belongs to the item
    places = {name: path for name, path, _, _ in left.decision.effects}
    assert places["MEM-1"] == places["function:shop.b"] == ""
    assert places["function:shop.one"] == "src/a.py"
    assert left.decision.id.startswith("pd-") and len(left.decision.id) == 15
    again = governed(Rule("short", "redact", paths=("src/a.py",)))
    assert (again.decision.id, again.decision.policy) == (left.decision.id, "key")
    assert governed().decision.id != left.decision.id


def test_what_is_redacted_keeps_its_id_kind_and_place() -> None:
    item = candidate(
        "a",
        kind="memory",
        authority="human",
        pinned=True,
        is_lasting=True,
        beyond="limit: 3",
        redacted_by="short",
        tags=("hr",),
        proof="ran",
    )
    left = conceal(item)
    assert left == Candidate(
        item.id,
        "memory",
        "",
        "",
        "",
        item.path,
        item.line,
        authority="human",
        pinned=True,
        is_lasting=True,
        beyond="limit: 3",
        reasons=("redacted by policy: short",),
        redacted_by="short",
    )
    plain = candidate("a")
    assert conceal(plain) is plain
    # the file of a record is named after its title
    record = item._replace(id="ADR-0007", path="docs/ADR-0007-bob-earns.md")
    assert conceal(record).path == "docs/ADR-0007"
    assert conceal(record._replace(id="function:ADR-0007")).path == record.path


def test_the_policy_of_a_repository_is_read_once_and_for_whoever_runs_this(repo: Checkout) -> None:
    ws = repo.workspace()
    assert load_policy(ws) is None
    text = (
        "version: 1\nrules:\n  - name: pay\n    deny: {paths: [src/pay, docs], tags: "
        "[hr], actors: [agent]}\n"
    )
    repo.write(".kl/policy.yaml", text)
    rule = Rule("pay", "deny", ("src/pay", "docs"), (), ("hr",), (), ("agent",))
    mine = load_policy(ws)
    assert mine is not None
    assert (mine.rules, mine.actor) == ((rule,), "human")
    # audits of several years name one policy by it
    assert mine.key == "740a52dc28caa513381600680bfdd4ce5b37e22759891276b163d272b0c4e3eb"
    assert load_policy(ws) == mine, "out of the cache"
    its = load_policy(ws, "agent:codex")
    assert its is not None and (its.rules, its.actor) == ((rule,), "agent:codex")
    assert its.key != mine.key
    ws = replace(ws, environ={**ws.environ, "KL_AGENT": "bot"})
    by_environment, named = load_policy(ws), load_policy(ws, "human")
    assert by_environment is not None and by_environment.actor == "agent:bot"
    assert named == mine
    # whatever else a text is, it is another policy
    repo.write(".kl/policy.yaml", f"{text}# a comment\n")
    edited = load_policy(ws, "human")
    assert edited is not None and edited.key != mine.key
    path = repo.root / ".kl/policy.yaml"
    path.write_bytes(text.encode() + b"# \xff\n")
    with pytest.raises(Problems):
        load_policy(ws)
    path.unlink()
    path.symlink_to("nothing.yaml")
    with pytest.raises(UsageProblem, match="a link to nothing"):
        load_policy(ws)
