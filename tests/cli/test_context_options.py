"""The options of `kl context` that change where a package starts from, how often it looks, and how
it is divided.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import kl_hooks.api as kl
from kl_hooks.cli.context import context
from kl_hooks.config.kinds_file import BUDGET_CATEGORIES
from kl_hooks.records.write import create_record
from tests.support import Checkout

PRICE = '''"""Prices."""


def round_total(cents):
    """Round a checkout total half up."""
    return cents


class Cart:
    def checkout(self):
        return round_total(3)
'''
FILES = {
    "src/shop/__init__.py": "",
    "src/shop/price.py": PRICE,
    "src/shop/mail.py": 'def send_mail(to):\n    """Send a letter."""\n',
    "tests/test_price.py": (
        "from shop.price import round_total\n\n\ndef test_halves():\n    assert round_total(3)\n"
    ),
}
DECISION = """---
id: ADR-{number:04}
title: {title}
status: accepted
date: 2026-11-01
governs: [{governs}]
---

## Context

Totals differ.

## Decision

{title}.
"""


@pytest.fixture
def shop(repo: Checkout) -> Checkout:
    """Two commits: a shop, then a decision on its prices and a change of one function."""
    for path, text in FILES.items():
        repo.write(path, text)
    assert repo.kl("init", "--yes").returncode == 0
    repo.commit("A shop")
    decide(repo, 1, "Round half even", "src/shop/price.py")
    repo.write("src/shop/price.py", PRICE.replace("return cents", "return cents + 1"))
    repo.commit("Add a cent")
    return repo


def decide(repo: Checkout, number: int, title: str, governs: str) -> None:
    slug = title.lower().replace(" ", "-")
    repo.write(
        f".kl/knowledge/decisions/ADR-{number:04}-{slug}.md",
        DECISION.format(number=number, title=title, governs=governs),
    )


def package(repo: Checkout, *args: str) -> dict[str, Any]:
    ran = repo.kl("context", *args, "--format", "json")
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def ids(shown: dict[str, Any]) -> list[str]:
    return [one["id"] for one in shown["items"]]


def test_a_range_of_commits_brings_what_it_changes_its_callers_tests_and_decisions(
    shop: Checkout,
) -> None:
    text = shop.kl("context", "--changed", "HEAD~1...HEAD", "--explain").stdout
    assert "ADR-0001" in text and "Round half even" in text
    lines = text.splitlines()
    assert lines.index("- src/shop/price.py") < next(
        n for n, x in enumerate(lines) if x.startswith("  round_total:4")
    )
    for reason in (
        "          changed in HEAD~1...HEAD",
        "          uses shop.price.round_total, changed in HEAD~1...HEAD",
        "          a test of shop.price.round_total, changed in HEAD~1...HEAD",
        "          it governs src/shop/price.py, and the task names src/shop/price.py",
    ):
        assert reason in lines, (reason, text)
    assert "send_mail" not in text
    shown = package(shop, "--changed", "HEAD~1..HEAD", "send letters")
    assert shown["task"] == "send letters" and "function:shop.mail.send_mail" in ids(shown)
    assert ids(shown).index("function:shop.price.round_total") < ids(shown).index(
        "function:shop.mail.send_mail"
    )
    why = shop.kl("context", "why", "Cart.checkout", shown["package_id"][:5]).stdout
    assert "uses shop.price.round_total, changed in HEAD~1..HEAD" in why
    # up to the files on disk: what is not committed counts too
    shop.write("src/shop/mail.py", 'def send_mail(to):\n    """Send a letter."""\n    return to\n')
    shop.write("src/shop/new.py", "def brand_new():\n    pass\n")
    shown = package(shop, "--changed", "HEAD")
    assert {"function:shop.mail.send_mail", "file:src/shop/new.py"} <= set(ids(shown))
    # in every language that is read
    shop.write("web/cart.ts", "export function sum() {\n  return 1\n}\n")
    shop.write("web/page.ts", "import { sum } from './cart'\nexport function show() { sum() }\n")
    test = "import { sum } from './cart'\ndescribe('cart', () => { it('sums', () => { sum() }) })\n"
    shop.write("web/cart.test.ts", test)
    shop.commit("A page")
    shop.write("web/cart.ts", "export function sum() {\n  return 2\n}\n")
    shown = shop.kl("context", "--changed", "HEAD", "--explain").stdout
    assert "changed in HEAD\n" in shown
    assert "uses web/cart.ts#sum, changed in HEAD" in shown
    assert "a test of web/cart.ts#sum, changed in HEAD" in shown and "cart > sums" in shown
    wrong = shop.kl("context", "--changed", "nowhere...HEAD")
    assert wrong.returncode == 2 and "'nowhere' is not a commit of this repository." in wrong.stderr


def test_at_a_revision_nothing_newer_is_visible_and_the_bytes_are_the_same(shop: Checkout) -> None:
    old, new = (package(shop, "round_total", "--at", rev) for rev in ("HEAD~1", "HEAD"))
    assert "ADR-0001" in ids(new) and "ADR-0001" not in ids(old)
    assert "commit:" not in "".join(ids(old)) or "Add a cent" not in json.dumps(old)
    shop.write("src/shop/later.py", "def round_total_later():\n    pass\n")
    before = shop.git("status", "--porcelain")
    again = shop.kl("context", "round_total", "--at", shop.git("rev-parse", "HEAD~1"))
    assert again.stdout.split()[2] == old["package_id"] and "later" not in again.stdout
    assert shop.git("status", "--porcelain") == before and not shop.git("worktree", "prune", "-v")
    assert shop.kl("context", "show", old["package_id"]).stdout == again.stdout
    # what is denied today is denied there too
    shop.write(
        ".kl/policy.yaml",
        'version: 1\nrules:\n  - name: prices\n    deny: {paths: ["src/shop/price.py"]}\n',
    )
    assert "round_total:4" not in shop.kl("context", "round_total", "--at", "HEAD~1").stdout
    wrong = shop.kl("context", "x", "--at", "nowhere")
    assert wrong.returncode == 2 and "'nowhere' is not a commit" in wrong.stderr


@pytest.mark.requirement("D25", "A7")
def test_several_queries_further_rounds_and_what_a_reader_has(shop: Checkout) -> None:
    decide(shop, 2, "Letters go out at night", "src/shop/mail.py")
    both = shop.kl("context", "round totals", "--query", "letters at night", "--explain").stdout
    assert "query 1: " in both and "query 2: " in both and "found by query 2" in both
    assert "ADR-0001" in both and "ADR-0002" in both
    only = package(shop, "--query", "send letters")
    assert only["task"] == "send letters" and only["searches"] == []
    first, more = package(shop, "halves"), package(shop, "halves", "--iterate", "3")
    assert [one["name"] for one in more["searches"]] == ["query 1", "round 2", "round 3"][
        : len(more["searches"])
    ]
    assert more["searches"][1]["text"] == "test" and len(more["searches"]) == 3
    new = set(ids(more)) - set(ids(first))
    assert new and all(
        "found by round" in str(one["reasons"]) for one in more["items"] if one["id"] in new
    )
    assert package(shop, "halves", "--iterate", "3")["package_id"] == more["package_id"]
    assert shop.kl("context", "x", "--iterate", "6").returncode == 2
    # what is in a package that the reader has is not given again
    rest = shop.kl("context", "halves", "--iterate", "3", "--have", first["package_id"][:6]).stdout
    assert (
        not any(f"  {one} " in rest for one in ids(first)) and rest.split()[2] != more["package_id"]
    )
    nothing = shop.kl("context", "halves", "--have", first["package_id"]).stdout
    assert "Nothing new: what fits this task was given before." in nothing
    assert "is not a package" in shop.kl("context", "x", "--have", "y").stderr
    found = json.loads(
        shop.kl("tool", "context", json.dumps({"queries": ["halves", "send letters"]})).stdout
    )
    assert [one["name"] for one in found["result"]["searches"]] == ["query 1", "query 2"]


@pytest.mark.requirement("B36", "B37", "B38", "B40", "B44", "B45", "B46", "B47", "B48", "B49")
def test_the_profile_quota_follows_from_the_work_and_states_so(shop: Checkout) -> None:
    task = "Round totals half up"
    outcome = ("--title", "Round totals half up", "--failure", "--review-cycles", "3")
    assert shop.kl("outcome", "capture", *outcome).returncode == 0
    shown = package(
        shop, task, "--attempt", "2", "--phase", "implement", "--complexity", "8", "--type", "docs"
    )
    quota = shown["quota"]
    traits = quota["traits"]
    assert set(traits) == {
        "task_id",
        "description",
        "tech_stack",
        "task_type",
        "current_phase",
        "complexity",
        "is_first_of_type",
        "similar_task_count",
        "feature_id",
        "is_refinement",
        "refinement_attempt",
        "previous_failure_type",
        "avg_turns_for_type",
        "success_rate_for_type",
        "current_actor",
        "turn_number",
        "is_autobuild",
        "has_previous_turns",
    }
    assert (traits["task_type"], traits["current_phase"], traits["complexity"]) == (
        "documentation",
        "implement",
        8,
    )
    assert (
        traits["similar_task_count"],
        traits["avg_turns_for_type"],
        traits["success_rate_for_type"],
    ) == (1, 4, 0)
    assert (traits["is_refinement"], traits["previous_failure_type"]) == (True, "task_failed")
    # 6000 tokens, +15 % for few similar tasks, +20 % for another attempt
    assert shown["budget"]["total"] == 8_280 and shown["budget"]["estimator"] == "json/2"
    assert quota["shares"]["warnings"]["share"] == 0.35 and quota["threshold"] == 0.55
    assert {"similar_outcomes", "relevant_patterns", "architecture_context"} <= {
        i["category"] for i in shown["items"]
    }
    assert (
        quota["shares"]["relevant_patterns"]["used"]
        <= 2 * quota["shares"]["relevant_patterns"]["allocated"]
    )
    metrics = quota["metrics"]
    assert (
        metrics["items_above_threshold"] + metrics["items_below_threshold"]
        == metrics["total_items_retrieved"]
    )
    assert metrics["budget_utilization"] == round(shown["budget"]["used"] / 8_280, 4)
    text = shop.kl("context", "show", shown["package_id"]).stdout
    assert (
        f"Job-Specific Context   Budget: {shown['budget']['used']:,}/8,280 tokens (estimate json/2)"
        in text
    )
    assert "## similar outcomes\n" in text and "\n## architecture context\n" in text
    plain = package(shop, task, "--profile", "quota", "--budget", "900tok")
    assert (
        plain["quota"]["traits"]["complexity"] == 5
        and plain["quota"]["adjustments"][0]["percent"] == 15
    )
    assert plain["budget"] == {**plain["budget"], "total": 900, "unit": "tokens"}
    explained = shop.kl("context", task, "--threshold", "strict", "--explain").stdout
    assert (
        "\ntraits: implementation, phase load, complexity 5, 1 similar tasks, fewer than 3 similar"
        in explained
    )
    assert (
        "relevance threshold 0.7\n" in explained
        and "\nshare of warnings: 15.0%, 690 tokens, 0 used\n" in explained
    )
    event = next(
        json.loads(line)
        for line in reversed((shop.state / "events.jsonl").read_text().splitlines())
        if '"context_assembly"' in line
    )
    assert (
        event["metrics"]["total_items_retrieved"] > 0 and event["options"]["threshold"] == "strict"
    )


@pytest.mark.requirement("B39", "B41", "B42")
def test_the_divided_budget_follows_from_complexity_type_and_phase(shop: Checkout) -> None:
    task = "Round totals half up"
    for _ in range(3):  # known work: nothing is added for what is new
        assert shop.kl("outcome", "capture", "--title", task, "--success").returncode == 0

    def divided(*args: str) -> tuple[int, list[float]]:
        shown = package(shop, task, "--profile", "quota", *args)
        assert (
            shown["quota"]["adjustments"] == []
            and shown["budget"]["used"] <= shown["budget"]["total"]
        )
        shares = [shown["quota"]["shares"][name] for name in BUDGET_CATEGORIES]
        assert round(sum(one["share"] for one in shares), 3) == 1
        assert all(
            one["allocated"] <= one["share"] * shown["budget"]["total"] + 1 for one in shares
        )
        return shown["budget"]["total"], [round(one["share"], 3) for one in shares[:6]]

    standard = [0.15, 0.25, 0.2, 0.2, 0.15, 0.05]
    assert [divided("--complexity", level) for level in ("3", "6", "7")] == [
        (2_000, standard),
        (4_000, standard),
        (6_000, standard),
    ]
    assert divided("--type", "review")[1] == [0.143, 0.143, 0.286, 0.238, 0.143, 0.048]
    assert divided("--type", "planning")[1] == [0.227, 0.136, 0.182, 0.273, 0.136, 0.045]
    assert divided("--phase", "implement")[1] == [0.13, 0.217, 0.261, 0.174, 0.174, 0.043]
    assert divided("--phase", "test")[1] == [0.136, 0.318, 0.182, 0.182, 0.136, 0.045]


@pytest.mark.requirement("E17", "E4")
def test_pins_are_cut_to_a_line_and_refused_where_that_is_too_large(shop: Checkout) -> None:
    pins = [option for number in range(2, 6) for option in ("--pin", f"ADR-{number:04}")]
    for number in range(2, 6):
        decide(shop, number, f"Rounding rule {number} " + "of totals " * 12, "src/shop/price.py")
    for size in (700, 900, 2_000, 6_000):
        shown = package(shop, "round_total", *pins, "--budget", str(size))
        assert shown["budget"]["used"] <= size
        assert {f"ADR-{number:04}" for number in range(2, 6)} <= set(ids(shown)), (
            size,
            shown["omitted"],
        )
    ran = shop.kl("context", "round_total", *pins, "--budget", "300")
    assert ran.returncode == 2 and not ran.stdout
    assert re.search(
        r"--pin: ADR-000\d \(\d+\).* can't be included: the pins are larger than 300 ch", ran.stderr
    )
    assert "Pin less, or give more" in ran.stderr


def lookup(repo: Checkout) -> dict[str, Any]:
    """The newest event of what was asked."""
    lines = reversed((repo.state / "events.jsonl").read_text(encoding="utf-8").splitlines())
    found: dict[str, Any] = json.loads(next(line for line in lines if '"knowledge_lookup"' in line))
    return found


@pytest.mark.requirement("A9", "A10", "A11", "A13")
def test_the_event_of_a_package_has_the_signals_of_its_task(shop: Checkout) -> None:
    package(
        shop,
        "The Checkout;fails: round_total(cents) is wrong/WRONG, and CartView crashed - it is not"
        " by us",
    )
    event = lookup(shop)
    assert event["symbols"] == ["round_total", "CartView"]  # at no underscore
    assert event["keywords"] == ["checkout", "fails", "cents", "wrong", "crashed"]
    assert event["failure_patterns"] == ["fails round_total", "wrong", "CartView crashed"]
    package(
        shop, " ".join(f"Word{n}x error" if n % 2 else f"plain{chr(97 + n)}" for n in range(40))
    )
    event = lookup(shop)
    assert (len(event["symbols"]), len(event["keywords"]), len(event["failure_patterns"])) == (
        10,
        15,
        10,
    )
    nothing = package(shop, "the and of it")
    assert nothing["items"] == [] and (lookup(shop)["keywords"], lookup(shop)["query_count"]) == (
        [],
        0,
    )
    assert "holds no word to search by" in shop.kl("context", "show", nothing["package_id"]).stdout
    assert shop.kl("context", "  ").returncode == 2


@pytest.mark.requirement("A14", "A15")
def test_decisions_code_memories_and_findings_are_asked_and_one_id_is_one_item(
    shop: Checkout,
) -> None:
    decide(shop, 2, "Letters are lavender", "src/shop/mail.py")
    ws = shop.workspace()
    found = {
        "title": "Lavender letters are dropped",
        "entity": "src/shop/mail.py",
        "finding": "send_mail drops them",
    }
    create_record(ws, ws.kinds["finding"], found)
    for text, more in (("Lavender letters need ink", ()), ("Lavender letters smell", ("--agent",))):
        assert shop.kl("memory", "add", text + ". " + "They do. " * 60, *more).returncode == 0
    shown = package(
        shop, "send_mail loses lavender letters", "--query", "lavender letters", "--budget", "2000"
    )
    assert sorted(ids(shown)) == sorted(set(ids(shown)))
    kinds = [one["kind"] for one in shown["items"]]
    assert {"decision", "memory", "finding", "symbol"} <= set(kinds) and kinds.count("memory") == 1
    assert "smell" not in json.dumps(shown["items"]) and "function:shop.mail.send_mail" in ids(
        shown
    )
    short = [
        one["text"]
        for one in shown["items"]
        if one["form"] == "summary" and one["kind"] != "symbol"
    ]
    assert short and all(len(text) <= 160 for text in short)
    event = lookup(shop)
    assert (event["symbols"][0], event["query_count"]) == ("send_mail", 4)
    assert {"code", "records"} <= {one["source"] for one in event["sources"]}


@pytest.mark.requirement("A16")
def test_tier_and_end_of_the_newest_claim_are_at_what_it_is_about(shop: Checkout) -> None:
    symbol, record = "function:shop.price.round_total", "ADR-0001"
    claim = ("claim", "add", "--about")
    assert shop.kl(*claim, symbol, "It is exact", "--expires", "2030-01-31").returncode == 0
    assert shop.kl(*claim, "function:shop.mail.send_mail", "It is slow").returncode == 0
    assert shop.kl(*claim, record, "Auditors agree", "--expires", "2031-05-06").returncode == 0
    text = shop.kl("context", "round_total and send_mail", "--pin", record).stdout
    assert "round_total:4 (claim assumed until 2030-01-31)" in text
    assert "send_mail:1 (claim assumed)" in text
    assert "- [inferred · current · claim assumed until 2031-05-06] ADR-0001" in text
    later = shop.kl("context", "round_total", *FULL, "--now", "2030-02-01T00:00:00Z").stdout
    assert "round_total:4" in later and "round_total:4 (claim" not in later
    assert shop.kl(*claim, symbol, "It rounds up", "--support", record).returncode == 0
    text = shop.kl("context", "round_total", *FULL).stdout
    assert "round_total:4 (claim inferred)" in text
    assert shop.kl(*claim, symbol, "It is new", "--expires", "2029-01-31").returncode == 0
    assert (
        "round_total:4 (claim assumed until 2029-01-31)"
        in shop.kl("context", "round_total", *FULL).stdout
    )
    later = shop.kl("context", "round_total", *FULL, "--now", "2030-02-01T00:00:00Z").stdout
    assert "round_total:4 (claim inferred)" in later  # the newest of those that have not ended
    shop.write(
        ".kl/policy.yaml", "version: 1\nrules:\n  - name: claims\n    deny: {kinds: [claim]}\n"
    )
    assert "(claim" not in shop.kl("context", "round_total", *FULL).stdout


@pytest.mark.requirement("E10")
def test_a_package_is_recorded_for_90_days(shop: Checkout) -> None:
    def made(days: int) -> str:
        then = datetime.now(UTC) - timedelta(days=days)
        return str(
            package(shop, f"round_total {days}", "--now", then.strftime("%Y-%m-%dT%H:%M:%SZ"))[
                "package_id"
            ]
        )

    old = made(92)
    assert "events.jsonl" in shop.kl("knowledge", "gc", "--apply").stdout
    removed = shop.kl("context", "show", old)
    assert (
        removed.returncode == 2 and f"{old}: no package of this id was made here" in removed.stderr
    )
    young = made(89)
    assert "events.jsonl" not in shop.kl("knowledge", "gc", "--apply").stdout
    again = shop.kl("context", "show", young)
    assert again.returncode == 0 and again.stdout.split()[2] == young
    assert f"{young} is no longer cached; built again from its request, the same." in again.stderr


@pytest.mark.requirement("B36", "B43")
def test_a_role_gets_its_rules_gates_and_turns(shop: Checkout) -> None:
    assert shop.kl("seed", "--system").returncode == 0
    turn = (
        "--feature",
        "FEAT-PAY-3",
        "--task",
        "TASK-7",
        "--review",
        "rejected",
        "--feedback",
        "No",
    )
    assert shop.kl("turn", "add", *turn).returncode == 0
    task = "Round totals of FEAT-PAY-3 for TASK-7"
    shown = package(shop, task, "--actor", "coach", "--turn", "2", "--complexity", "8")
    text = shop.kl("context", "show", shown["package_id"]).stdout
    assert "## role constraints\n" in text and "# coach (feature-build)" in text
    assert (
        "## quality gate configs\n" in text
        and "coverage at least 80 %" in text
        and "do NOT adjust" in text
    )
    assert "## turn states\n" in text and "MUST ADDRESS" in text
    traits = shown["quota"]["traits"]
    assert (traits["task_id"], traits["feature_id"], traits["has_previous_turns"]) == (
        "TASK-7",
        "FEAT-PAY-3",
        True,
    )
    assert "coach" not in shop.kl("context", task, "--profile", "quota").stdout
    given = {"task": task, "options": {"actor": "player", "complexity": "3"}}
    found = json.loads(shop.kl("tool", "context", json.dumps(given)).stdout)["result"]
    assert (
        "# player (feature-build)" in found["text"] and found["quota"]["traits"]["complexity"] == 3
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ("--phase", "sleep"),
            "'sleep' is not one of 'load', 'plan', 'implement', 'test', 'review'",
        ),
        (("--complexity", "11"), "11 is not in the range 1<=x<=10"),
        (
            ("--actor", "clown"),
            "--actor: 'clown' is no role here. Use player, coach, or the name of a role",
        ),
        (("--threshold", "2"), "--threshold: takes strict, relaxed or 0 to 1, not '2'."),
        (("--phase", "plan", "--profile", "rrf"), "--phase: has no effect with the profile rrf."),
        (("--profile", "quota", "--budget", "100tok"), "--budget must be at least 160 tokens."),
    ],
)
def test_wrong_options_are_refused(repo: Checkout, args: tuple[str, ...], message: str) -> None:
    repo.write(".kl/README", "kl\n")
    ran = repo.kl("context", "x", *args)
    assert ran.returncode == 2 and message in ran.stderr, ran.stderr


def test_wrong_options_of_the_tool_are_refused(repo: Checkout) -> None:
    repo.write(".kl/README", "kl\n")
    for options, message in (
        ({"complexity": "x"}, "complexity: takes 1 to 10, not 'x'."),
        ({"phase": "sleep"}, "phase: takes load, plan, implement, test, review, not 'sleep'."),
        ({"phaze": "plan"}, 'options: "phaze" is no option.'),
    ):
        ran = repo.kl("tool", "context", json.dumps({"task": "x", "options": options}))
        error = json.loads(ran.stdout)["error"]
        assert (ran.returncode, f"{error['place']}: {error['reason']}") == (2, message)


@pytest.mark.requirement("E3", "A15")
def test_a_filter_leaves_what_matches_and_adds_the_records_that_do(shop: Checkout) -> None:
    decide(shop, 2, "Letters go out at night", "src/shop/mail.py")
    ws = shop.workspace()
    create_record(
        ws,
        ws.kinds["fact"],
        {"title": "The currency is euro", "answer": "Euro.", "tags": ["money"]},
    )
    found = package(shop, "round totals", "--filter", "kind=decision")
    assert sorted(ids(found)) == ["ADR-0001", "ADR-0002"], "the second by its kind alone"
    assert "matches kind=decision" in str(found["items"]) and found["coverage"]["filter"] == "ok"
    assert ids(package(shop, "round totals", "--filter", "tag=money")) == ["FACT-0001"]
    assert (
        ids(package(shop, "round totals", "--filter", "tag=money", "--filter", "kind=decision"))
        == []
    )
    assert ids(package(shop, "round totals", "--filter", "status=superseded")) == [], (
        "nothing that is not in force"
    )
    module = set(ids(package(shop, "send letters, round totals", "--filter", "module=shop.mail")))
    assert {"ADR-0002", "function:shop.mail.send_mail"} <= module and not {
        i for i in module if "price" in i
    }
    pinned = package(shop, "round totals", "--filter", "tag=money", "--pin", "src/shop/price.py")
    assert set(ids(pinned)) == {"FACT-0001", "file:src/shop/price.py"}
    for wrong in ("color=red", "kind=decisoin", "tag="):
        ran = shop.kl("context", "x", "--filter", wrong)
        assert ran.returncode == 2 and "--filter" in ran.stderr, wrong
    # records are searched by the names of a task first, and by twelve of its words
    words = [f"keyword{chr(97 + n)}" for n in range(13)]
    for name in ("OddName", words[11], words[10]):
        create_record(ws, ws.kinds["fact"], {"title": f"About {name}", "answer": f"{name}."})
    some = ids(package(shop, f"{' '.join(words)} OddName", "--filter", "kind=fact"))
    assert some[:2] == ["FACT-0002", "FACT-0004"], some


FULL = ("--budget", "6000")
"""With what a brief omits."""
OPTIONS: dict[str, tuple[tuple[str, ...], dict[str, Any], dict[str, str] | None]] = {
    "nothing": ((), {}, {}),
    "--budget": (("--budget", "900"), {"budget": "900"}, None),
    "--weight": (("--weight", "high"), {"weight": "high"}, {"weight": "high"}),
    "--profile": (
        ("--profile", "tier-first"),
        {"profile": "tier-first"},
        {"profile": "tier-first"},
    ),
    "--profile quota": (("--profile", "quota"), {"profile": "quota"}, {"profile": "quota"}),
    "--query": (("--query", "letters"), {"queries": ["letters"]}, None),
    "--iterate": (("--iterate", "2"), {"iterate": 2}, {"iterate": "2"}),
    "--changed": (("--changed", "HEAD~1..HEAD"), {"changed": "HEAD~1..HEAD"}, None),
    "--at": (("--at", "HEAD~1"), {"at": "HEAD~1"}, {"at": "HEAD~1"}),
    "--type": (("--type", "review"), {"type": "review"}, {"type": "review"}),
    "--phase": (("--phase", "test"), {"phase": "test"}, {"phase": "test"}),
    "--complexity": (("--complexity", "9"), {"complexity": 9}, {"complexity": "9"}),
    "--attempt": (("--attempt", "2"), {"attempt": 2}, {"attempt": "2"}),
    "--actor": (("--actor", "coach"), {"actor": "coach"}, {"actor": "coach"}),
    "--turn": (("--turn", "2"), {"turn": 2}, {"turn": "2"}),
    "--threshold": (("--threshold", "relaxed"), {"threshold": "relaxed"}, {"threshold": "relaxed"}),
    "--max-sources": (("--max-sources", "1"), {"max_sources": 1}, {"max-sources": "1"}),
    "--pin": (
        ("--pin", "src/shop/mail.py"),
        {"pins": ["src/shop/mail.py"]},
        {"pin": "src/shop/mail.py"},
    ),
    "--scope": (("--scope", "tests"), {"scope": ["tests"]}, {"scope": "tests"}),
    "--filter": (
        ("--filter", "kind=decision"),
        {"filters": ["kind=decision"]},
        {"filter": "kind=decision"},
    ),
    "--have": (("--have", "{first}"), {"have": ["{first}"]}, {"have": "{first}"}),
    "--format": (("--format", "xml"), {"style": "xml"}, None),
}
"""Option of the command → its arguments there, in the API, and among the options of the tool (None:
its own).
"""


@pytest.mark.slow
def test_the_command_the_api_and_the_tool_take_the_same_options_and_give_the_same_package(
    shop: Checkout,
) -> None:
    known = {
        one
        for param in context.commands["TASK"].params
        for one in param.opts
        if one.startswith("--")
    }
    assert known - {"--explain", "--output", "--now"} == {
        name.split()[0] for name in OPTIONS if name != "nothing"
    }
    task, made = "round totals of a checkout", dict[str, str]()
    first = package(shop, task)["package_id"]
    for name, (command, arguments, tool) in OPTIONS.items():
        text = shop.kl("context", task, *(one.format(first=first) for one in command)).stdout
        filled = {
            k: [one.format(first=first) for one in v] if isinstance(v, list) else v
            for k, v in arguments.items()
        }
        found = kl.open(shop.root).build_context(task, **filled)
        assert found.text == text, name
        made[name] = found.id
        if tool is not None:
            given = {"task": task, "options": {k: v.format(first=first) for k, v in tool.items()}}
            assert (
                json.loads(shop.kl("tool", "context", json.dumps(given)).stdout)["result"]["text"]
                == text
            ), name
    same = [name for name in made if list(made.values()).count(made[name]) > 1]
    assert same == [], "each option has an effect"
    for wrong in (
        {"weight": "heavy"},
        {"profile": "x"},
        {"style": "pdf"},
        {"complexity": 11},
        {"iterate": 6},
    ):
        arguments = dict[str, Any](wrong)
        with pytest.raises(kl.UsageProblem, match=next(iter(wrong))):
            kl.open(shop.root).build_context(task, **arguments)
