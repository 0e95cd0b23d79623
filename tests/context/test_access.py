"""What an answer that is no package may show, by the policy; and what is noted of it."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from kl_hooks.cli.output import command_access
from kl_hooks.code.query.lookup import symbols_in_file
from kl_hooks.context.access import Access, access, find_policy, shared_access
from kl_hooks.context.policy import Policy, Rule, audit
from kl_hooks.errors import EnvironmentProblem, KlError, UnknownRecord, UsageProblem
from kl_hooks.evidence.assertions import add_claim
from kl_hooks.evidence.claims import all_claims
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.model.record import Record
from kl_hooks.model.symbol import path_of
from kl_hooks.records.query import get_record
from kl_hooks.records.sync import sync
from kl_hooks.records.write import create_record
from kl_hooks.store.redaction import configure_redaction
from kl_hooks.workspace import Workspace
from tests.support import Checkout

DENIED = Rule("people", "deny", tags=("people",))
REDACTED = Rule("drafts", "redact", tags=("draft",))
FILES = Rule("pay", "deny", paths=("src/pay/**", "docs/pay.md"))
SHORT = Rule("short", "redact", paths=("src/short/**",))
BOT = "agent:bot"


@pytest.fixture
def ws(repo: Checkout) -> Workspace:
    """A repository with a record of each effect: open ADR-0001, denied ADR-0002, redacted
    ADR-0003.
    """
    repo.write("src/pay/charge.py", "def charge():\n    return 1\n")
    repo.write("src/short/name.py", "def name():\n    return 1\n")
    repo.write("src/shop.py", "def total():\n    return 1\n")
    repo.write("docs/pay.md", "# Pay\n\nPay page words here\n")
    ws = repo.workspace()
    for name, tags in (("open", ()), ("zeta", ("people",)), ("draft", ("draft",))):
        values = {
            "title": f"{name} title of it",
            "context": f"{name} context of it",
            "decision": f"{name} decision of it",
            "status": "accepted",
            "tags": list(tags),
        }
        create_record(ws, ws.kinds["decision"], values)
    repo.commit("files")
    assert repo.kl("graph", "build").returncode in (0, 2)
    sync(ws)
    return ws


def records(ws: Workspace) -> list[Record]:
    return [get_record(ws, f"ADR-000{number}") for number in (1, 2, 3)]


def policy(*rules: Rule, actor: str = BOT) -> Policy:
    return Policy(rules or (DENIED, REDACTED, FILES, SHORT), actor, "key")


def decided(ws: Workspace, *rules: Rule) -> Access:
    return Access(ws, policy(*rules))


def symbol_of(ws: Workspace, path: str) -> str:
    with ws.store.reading("graph") as db:
        assert db is not None
        return next(symbol.id for symbol in symbols_in_file(db, path) if "function:" in symbol.id)


# Records


def test_without_a_policy_everything_is_shown(ws: Workspace) -> None:
    everything = Access(ws, None)
    assert everything.shows_all and not decided(ws).shows_all
    given = records(ws)
    assert everything.records(given) == everything.shown(given) == given
    assert [everything.record(record) for record in given] == given
    assert [everything.written(record) for record in given] == given
    assert everything.text("zeta title of it") == everything.plain("zeta title of it")
    assert everything.shows_node("file:src/pay/charge.py", "page", "src/pay/charge.py")
    assert everything.without_denied(given) == given and everything.effects(["ADR-0002"]) == {}
    assert not everything.denies_name("test:src/pay/gone.py::test_a")
    everything.require_not_denied("ADR-0002")
    assert shared_access(ws).shows_all
    problem = KlError("zeta title of it")
    everything.conceal_in_error(problem)
    assert problem.reason == "zeta title of it"
    everything.audit("test")
    assert audit(ws) == []


def test_of_records_denied_ones_are_omitted_and_of_redacted_ones_little_is_left(
    ws: Workspace,
) -> None:
    asked = decided(ws)
    opened, denied, redacted = records(ws)
    assert [asked.shows(record) for record in records(ws)] == [True, False, False]
    assert asked.shown([opened, denied, redacted]) == [opened]
    folder = ".kl/knowledge/decisions"
    left = Record(
        "decision",
        "ADR-0003",
        {"title": "(redacted by policy: drafts)", "status": "accepted"},
        path=f"{folder}/ADR-0003",
    )
    assert asked.records([denied, redacted, opened]) == [left, opened]
    assert asked.record(redacted) == asked.written(redacted) == left
    assert asked.record(opened) == asked.written(opened) == opened
    with pytest.raises(
        UsageProblem, match=r"ADR-0002: .kl/policy.yaml denies it to you. Ask a person"
    ):
        asked.record(denied)
    assert asked.without_denied([denied, redacted, opened]) == [redacted, opened]
    # who wrote it may name it
    assert asked.written(denied).values["title"] == "(redacted by policy: people)"
    asked.require_shown(opened)
    for hidden in (denied, redacted):
        with pytest.raises(UsageProblem, match=hidden.id):
            asked.require_shown(hidden)


def test_pages_and_files_are_decided_by_their_place(ws: Workspace) -> None:
    asked = decided(ws)
    for path, is_shown in (
        ("docs/pay.md", False),
        ("docs/open.md", True),
        ("src/short/a.py", False),
    ):
        assert asked.shows_node(f"file:{path}", "page", path) is is_shown
        if is_shown:
            asked.require_shown_file(path)
        else:
            with pytest.raises(UsageProblem, match=path):
                asked.require_shown_file(path)
    # a rule may name a page of docs by either kind, and nothing else
    for kind in ("page", "document"):
        by_kind = decided(ws, Rule("x", "deny", kinds=(kind,)))
        assert not by_kind.shows_node("file:a.md", "page", "a.md")
        with pytest.raises(UsageProblem, match=r"a\.md"):
            by_kind.require_shown_file("a.md")
    assert decided(ws, Rule("x", "deny", kinds=("document",))).shows_node(
        "file:a.py", "file", "a.py"
    )


@pytest.mark.parametrize(
    ("node", "path"),
    [("file:a/b.md", "a/b.md"), ("file:a/b.md#part", "a/b.md"), ("adr:ADR-0001", ""), ("", "")],
)
def test_the_path_of_a_node(node: str, path: str) -> None:
    assert path_of(node) == path


def test_a_claim_is_hidden_by_what_it_is_about(ws: Workspace) -> None:
    abouts = {
        "file:src/pay/charge.py": False,
        "adr:ADR-0002": False,
        "adr:ADR-0003": False,
        "file:src/shop.py": True,
    }
    for about in abouts:
        add_claim(ws, f"claim on {about}", about, None)
    claims = {claim.about: claim for claim in all_claims(ws)}
    asked = decided(ws)
    assert {about: asked.shows_claim(claims[about]) for about in abouts} == abouts
    assert asked.claim(claims["file:src/shop.py"]) is claims["file:src/shop.py"]
    with pytest.raises(UsageProblem, match=claims["adr:ADR-0002"].id):
        asked.claim(claims["adr:ADR-0002"])
    assert asked.effect_on_claim(claims["adr:ADR-0003"]) == ("redact", "drafts")
    # rules for people hide nothing from an agent
    for_people = Rule("people", "deny", tags=("people",), actors=("human",))
    assert decided(ws, for_people).shows_claim(claims["adr:ADR-0002"])
    assert Access(ws, None).effect_on_claim(claims["adr:ADR-0002"]) == ("allow", "")


# Answers


def test_a_record_is_decided_by_its_id_its_node_and_a_passage_of_it(ws: Workspace) -> None:
    nodes = ["ADR-0002", "adr:ADR-0002", "ADR-0002#L3-L9", "adr:ADR-0003", "adr:ADR-0001"]
    effects = decided(ws).effects([*nodes, "ADR-0009", "adr:ADR-0009"])
    assert {node: effects[node][0] for node in effects} == dict(
        zip(nodes, ("deny", "deny", "deny", "redact", "allow"), strict=True)
    )


@pytest.mark.parametrize("more", [{}, {"status": "superseded"}, {"expires": "2020-01-01"}])
def test_the_file_of_a_record_is_decided_as_the_record_whatever_its_state(
    ws: Workspace, more: dict[str, str]
) -> None:
    zeta = get_record(ws, "ADR-0002")
    text = (ws.root / zeta.path).read_text("utf-8")
    fields = "".join(f"{name}: {value}\n" for name, value in more.items())
    (ws.root / zeta.path).unlink()
    place = f"archive/{Path(zeta.path).name}" if "status" in more else Path(zeta.path).name
    path = f"{Path(zeta.path).parent.as_posix()}/{place}"
    (ws.root / path).parent.mkdir(exist_ok=True)
    text = text.replace("status: accepted\n", "") if "status" in more else text
    (ws.root / path).write_text(text.replace("---\n", f"---\n{fields}", 1), "utf-8")
    files = (f"file:{path}", f"file:{get_record(ws, 'ADR-0001').path}", "file:src/shop.py")
    effects = decided(ws).effects(files)
    assert [effects[file][0] for file in files] == ["deny", "allow", "allow"]


def test_who_asks_is_who_is_named_or_whoever_runs_this(
    repo: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = repo.workspace()
    assert Access(ws, None, "agent:bot").is_agent and not Access(ws, None).is_agent
    monkeypatch.setenv("KL_AGENT", "bot")
    run_by_agent = repo.workspace()
    assert Access(run_by_agent, None).is_agent and not Access(run_by_agent, None, "human").is_agent


def test_code_is_decided_by_its_file(ws: Workspace) -> None:
    names = [symbol_of(ws, f"src/{name}.py") for name in ("pay/charge", "short/name", "shop")]
    effects = decided(ws).effects(names)
    assert [effects[name][0] for name in names] == ["deny", "redact", "allow"]
    nodes = ("file:src/pay/x.py#part", "file:src/x.py", "file:docs/pay.md")
    effects = decided(ws).effects((*nodes, "src/pay/x.py"))
    assert [effects[node][0] for node in nodes] == ["deny", "allow", "deny"]
    assert "src/pay/x.py" not in effects, "a text that is no ID"
    # rules by kind: what denies a file denies what it defines
    for kind, expected in (("file", "deny"), ("symbol", "deny"), ("page", "allow")):
        rule = Rule("x", "deny", kinds=(kind,), paths=("src/pay", "src/short"))
        assert decided(ws, rule).effects(names)[names[0]][0] == expected
    for kind in ("page", "violation", "symbol"):
        asked = decided(ws, Rule("x", "deny", kinds=(kind,)))
        shown = [name for name in ("page", "violation", "symbol") if name != kind]
        assert [
            name
            for name in ("page", "violation", "symbol")
            if asked.effect_on_place("", "a", name)[0] == "allow"
        ] == shown
    for kind in ("page", "file", "document"):
        rule = Rule("x", "deny", kinds=(kind,), paths=("docs",))
        assert decided(ws, rule).effects(["file:docs/pay.md"])["file:docs/pay.md"][0] == "deny"


def test_the_words_of_what_is_hidden_are_in_no_part_of_an_answer(ws: Workspace) -> None:
    asked = decided(ws)
    assert asked.plain({"note": "He wrote: zeta context of it."}) == {"note": "He wrote: withheld."}
    assert asked.plain(["zeta context of it"]) == ["withheld"]
    assert asked.text("zeta context of it!") == "withheld!"
    problem: KlError = UsageProblem(
        "zeta title of it", place="zeta context of it", hint="zeta decision of it"
    )
    asked.conceal_in_error(problem)
    assert (problem.place, problem.reason, problem.hint) == ("withheld",) * 3
    problems = Problems(
        [Problem("zeta context of it", 3, 1, "zeta title of it", "zeta decision of it")]
    )
    asked.conceal_in_error(problems)
    assert problems.problems == (Problem("withheld", 3, 1, "withheld", "withheld"),)
    # from whom nothing is hidden
    for_others = decided(ws, Rule("people", "deny", tags=("people",), actors=("human",)))
    assert for_others.text("zeta context of it") == "zeta context of it"


def test_a_name_in_a_denied_file_is_denied_whether_the_graph_has_it_or_not(ws: Workspace) -> None:
    asked = decided(ws)
    for name, is_denied in (
        ("test:src/pay/gone.py::test_a", True),
        ("function:src.pay.gone.total", True),
        ("function:src.shop.total", False),
    ):
        assert asked.denies_name(name) is is_denied
    for node in ("ADR-0002", "file:src/pay/charge.py", symbol_of(ws, "src/pay/charge.py")):
        with pytest.raises(UsageProblem, match="denies it to you"):
            asked.require_not_denied(node)
    for node in ("ADR-0003", "ADR-0001", "ADR-0009", "file:src/shop.py"):
        asked.require_not_denied(node)


@pytest.mark.parametrize(("nearest", "is_named"), [("ADR-0002", False), ("ADR-0001", True)])
def test_an_error_proposes_no_record_that_is_denied(
    ws: Workspace, nearest: str, is_named: bool
) -> None:
    hints = {"hint": f"Is it {nearest}?", "other_hint": "See: kl decision list"}
    problem = UnknownRecord("is no record.", place="ADR-0022", nearest=nearest, **hints)
    decided(ws).conceal_in_error(problem)
    assert problem.hint == (f"Is it {nearest}?" if is_named else "See: kl decision list")


# The audit


def test_what_was_decided_is_appended_to_the_audit(ws: Workspace) -> None:
    asked = decided(ws)
    asked.audit("nothing")
    assert audit(ws) == []
    asked.records(records(ws))
    asked.text("pay page words here")
    asked.audit("kl decision list")
    (event,) = audit(ws)
    assert (event["subject"], event["purpose"], event["package_id"]) == (
        BOT,
        "kl decision list",
        "",
    )
    assert event["counts"] == {"deny": 2, "redact": 1, "allow": 1}
    assert event["rules"] == {"people": 1, "pay": 1, "drafts": 1}
    assert sorted(event["items"]) == [
        ["deny", "pay", "file:docs/pay.md"],
        ["deny", "people", "ADR-0002"],
        ["redact", "drafts", "ADR-0003"],
    ]
    assert event["policy_decision_id"].startswith("pd-")
    # the same decision has the same name, under the same policy
    again = decided(ws)
    again.records(records(ws))
    again.text("pay page words here")
    again.audit("other")
    assert audit(ws)[0]["policy_decision_id"] == event["policy_decision_id"]
    other = Access(ws, Policy(policy().rules, BOT, "other key"))
    other.records(records(ws))
    other.audit("other")
    assert audit(ws)[0]["policy_decision_id"] != event["policy_decision_id"]


def test_what_was_decided_twice_is_noted_once_under_its_place(ws: Workspace) -> None:
    asked = decided(ws)
    asked.effects(["file:docs/pay.md"])
    asked.text("pay page words here")
    asked.effect_on_place("", "src/pay/a.py", "page")
    asked.audit("test")
    (event,) = audit(ws)
    items = [["deny", "pay", f"file:{path}"] for path in ("docs/pay.md", "src/pay/a.py")]
    assert sorted(event["items"]) == items


POLICY = """version: 1
rules:
  - name: people
    deny: {tags: [people], actors: [agent]}
"""


def test_the_policy_of_the_working_tree_is_used_for_whoever_asks(
    ws: Workspace, repo: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_policy(ws) is None
    repo.write(".kl/policy.yaml", POLICY)
    mine = find_policy(ws)
    assert mine is not None and mine.actor == "human"
    with access(ws, "kl search") as seen:
        assert seen.records(records(ws)) == records(ws)
    with access(ws, "kl search", BOT) as seen:
        assert len(seen.records(records(ws))) == 2
    assert [event["purpose"] for event in audit(ws)] == ["kl search"] * 2
    assert [event["subject"] for event in audit(ws)] == [BOT, "human"]
    # what was decided before an error is noted, and the error has no hidden word
    with pytest.raises(UsageProblem) as refused, access(ws, "kl show", BOT) as seen:
        seen.records(records(ws))
        raise UsageProblem("zeta title of it")
    assert refused.value.reason == "withheld"
    assert audit(ws)[0]["purpose"] == "kl show"
    repo.write(".kl/policy.yaml", "rules: 7\n")
    with pytest.raises(Problems), access(ws, "kl show"):
        raise AssertionError("without the rules nothing may be shown")
    path = repo.root / ".kl/policy.yaml"
    path.unlink()
    path.symlink_to("nothing.yaml")
    with pytest.raises(UsageProblem, match="a link to nothing"):
        find_policy(ws)


def test_what_everybody_reads_is_shown_as_to_an_agent_that_no_rule_names(
    ws: Workspace, repo: Checkout
) -> None:
    repo.write(".kl/policy.yaml", POLICY)
    shared = shared_access(ws)
    assert shared.is_agent and len(shared.records(records(ws))) == 2


def test_without_a_plugin_that_may_redact_there_is_no_policy_and_no_answer(
    repo: Checkout,
) -> None:
    repo.git("config", "kl.plugins", "missing_plugin")
    try:
        with pytest.raises(EnvironmentProblem, match="missing_plugin"):
            find_policy(repo.workspace())
    finally:
        configure_redaction()  # which refused every text


def test_a_command_asks_once_and_a_person_is_shown_everything(
    repo: Checkout, ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write(".kl/policy.yaml", POLICY)

    def shown(name: str) -> int:
        opened = repo.workspace()
        context = click.Context(click.Command("list"), info_name=name, obj={"workspace": opened})
        with context, click.Context(click.Command("all"), parent=context, info_name="all"):
            assert command_access() is command_access()
            return len(command_access().records(records(ws)))

    assert shown("kl") == 3
    assert audit(ws) == []
    monkeypatch.setenv("KL_AGENT", "bot")
    assert shown("kl") == 2
    monkeypatch.delenv("KL_AGENT")
    (event,) = audit(ws)
    assert (event["purpose"], event["subject"]) == ("kl all", BOT)
    # an agent of a repository without a policy
    (repo.root / ".kl/policy.yaml").unlink()
    monkeypatch.setenv("KL_AGENT", "bot")
    assert shown("kl") == 3
    monkeypatch.delenv("KL_AGENT")
    assert len(audit(ws)) == 1


def test_a_rule_about_files_decides_on_their_symbols(ws: Workspace) -> None:
    files = Rule("files", "deny", kinds=("file",), paths=("src/pay/**",))
    asked = decided(ws, files)
    path = "src/pay/charge.py"
    node = symbol_of(ws, path)
    assert asked.effect_on_place(node, path, "symbol") == ("deny", "files")
    assert asked.effect_on_place(node, path, "page") == ("allow", "")
    assert asked.effect_on_place("", "src/shop.py", "symbol")[0] == "allow"
    assert Access(ws, None).effect_on_place(node, path, "symbol") == ("allow", "")


def test_the_id_of_a_decision_has_twelve_digits(ws: Workspace) -> None:
    asked = decided(ws)
    asked.records(records(ws))
    asked.audit("list")
    name = audit(ws)[0]["policy_decision_id"]
    assert len(name) == len("pd-") + 12
