"""`kl context` under a policy, as people and agents see it, and `kl context audit`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.context import policy
from kl_hooks.context.policy import load_policy, read_rules
from kl_hooks.records.write import apply_verb, create_record
from kl_hooks.tools.call import call
from tests.support import Checkout

NOW = ("--now", "2026-11-21T12:00:00Z")
TASK = "round the checkout total of a charge"
POLICY = """version: 1
rules:
  - name: payments are internal
    deny: {paths: ["src/payments/**"]}
  - name: people
    deny: {tags: [hr], actors: [agent]}
  - name: customers
    redact: {paths: ["src/customers/**"], actors: [agent, human]}
  - name: memories stay short
    redact: {kinds: [memory]}
"""


@pytest.fixture
def shop(repo: Checkout) -> Checkout:
    repo.write(
        "src/payments/charge.py",
        'def charge_total() -> int:\n    """Charge the SECRETTOTAL."""\n    return 1\n',
    )
    repo.write(
        "src/customers/vip.py",
        'def vip_checkout_total() -> int:\n    """Round PRIVATE vip totals."""\n    return 90210\n',
    )
    repo.write(
        "src/shop.py",
        'def checkout_total() -> int:\n    """Round a checkout total."""\n    return 1\n',
    )
    assert repo.kl("init", "--yes").returncode == 0
    ws = repo.workspace()
    tagged = {
        "title": "Checkout total HRNOTE",
        "context": "c",
        "decision": "d",
        "status": "accepted",
        "tags": ["hr"],
    }
    create_record(ws, ws.kinds["decision"], tagged)
    memory = create_record(
        ws, ws.kinds["memory"], {"title": "m", "pattern": "Round a checkout total HALFUP"}
    )
    apply_verb(ws, memory.id, "approve")
    repo.commit()
    return repo


def context(repo: Checkout, *args: str, **environ: str) -> str:
    ran = repo.kl("context", TASK, *NOW, "--budget", "6000", *args, env=environ)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def document(repo: Checkout, **environ: str) -> Any:
    return json.loads(context(repo, "--format", "json", **environ))


def omissions(repo: Checkout, made: Any, agent: str = "") -> list[tuple[str, str]]:
    """The ID and reason of what is not in a package."""
    environ = {"KL_AGENT": agent} if agent else {}
    ran = repo.kl("context", "why", made["package_id"], "--format", "json", env=environ)
    return [(row["id"], row["reason"]) for row in json.loads(ran.stdout)["omitted"]]


@pytest.mark.slow
@pytest.mark.requirement("E5")
def test_denied_is_dropped_and_redacted_has_id_kind_and_place_only(shop: Checkout) -> None:
    plain = document(shop)
    assert plain["policy_decision_id"] is None
    whole = json.dumps(plain)
    assert all(word in whole for word in ("SECRETTOTAL", "PRIVATE", "HRNOTE", "HALFUP"))
    shop.write(".kl/policy.yaml", POLICY)
    for style in ("text", "markdown", "xml", "json"):
        for more in (
            (),
            ("--budget", "20000"),
            ("--weight", "high", "--pin", "src/payments/charge.py"),
        ):
            out = context(shop, "--format", style, "--explain", *more)
            assert "HRNOTE" in out and "checkout_total" in out
            assert not any(
                word in out for word in ("SECRETTOTAL", "PRIVATE", "90210", "HALFUP", "def vip")
            )
            assert style == "json" or "src/payments" not in out
    made = document(shop)
    assert made["policy_decision_id"].startswith("pd-")
    redacted = {item["path"]: item for item in made["items"] if item["form"] == "redacted"}
    assert "src/customers/vip.py" in redacted and any(
        item["kind"] == "memory" for item in redacted.values()
    )
    for item in redacted.values():
        assert (item["title"], item["text"], item["proof"], item["tier"]) == ("", "", "", None)
        assert item["reasons"][0].startswith("redacted by policy: ")
    reasons = dict(omissions(shop, made))
    assert reasons["file:src/payments/charge.py"] == "denied by policy: payments are internal"
    text = context(shop)
    assert (
        "- src/customers/vip.py (redacted)\n  vip_checkout_total:1\n" in text
        and "denied by policy" in text
    )


@pytest.mark.slow
@pytest.mark.requirement("E16")
def test_what_is_denied_uses_no_budget(shop: Checkout) -> None:
    shop.write(
        "src/receipt.py",
        'def receipt() -> int:\n    """Print a receipt after checkout."""\n    return 1\n',
    )
    rule = '{paths: ["src/payments/**", "src/customers/**"]}'
    sizes = [str(size) for size in range(256, 900, 40)]
    plain = ["receipt:1" in context(shop, "--budget", size) for size in sizes]
    shop.write(".kl/policy.yaml", f"version: 1\nrules:\n  - name: internal\n    deny: {rule}\n")
    governed = ["receipt:1" in context(shop, "--budget", size) for size in sizes]
    assert all(after or not before for before, after in zip(plain, governed, strict=True))
    assert sum(governed) > sum(plain)


@pytest.mark.slow
@pytest.mark.requirement("E5")
def test_an_agent_is_not_shown_what_it_is_denied(shop: Checkout) -> None:
    shop.write(".kl/policy.yaml", POLICY)
    mine, its = document(shop), document(shop, KL_AGENT="codex")
    assert (
        mine["package_id"] != its["package_id"]
        and mine["policy_decision_id"] != its["policy_decision_id"]
    )
    whole = json.dumps(its)
    assert "HRNOTE" not in whole and "payments/charge" not in whole and "ADR-0001" not in whole
    denied = {name for name, reason in omissions(shop, its, "codex") if "denied" in reason}
    assert denied == {"withheld"}
    # what was made for a person is not in the cache for an agent, whatever ID it knows
    fresh = json.loads(shop.kl("context", TASK, "--format", "json").stdout)
    served = shop.kl("context", "show", fresh["package_id"])
    assert "HRNOTE" in served.stdout and not served.stderr
    again = shop.kl("context", "show", fresh["package_id"], env={"KL_AGENT": "codex"})
    assert "HRNOTE" not in again.stdout and "built again" in again.stderr
    why = shop.kl("context", "why", "ADR-0001", its["package_id"], env={"KL_AGENT": "codex"})
    assert "or the policy denies it" in why.stdout
    # a tool is an agent's, whatever the environment names
    answer, code = call(
        shop.workspace(), "context", json.dumps({"task": TASK}).encode(), allow_write=False
    )
    assert (code, "HRNOTE" in json.dumps(answer)) == (0, False)


@pytest.mark.requirement("E5")
def test_why_names_the_rule(shop: Checkout) -> None:
    shop.write(".kl/policy.yaml", POLICY)
    package = document(shop)["package_id"]
    why = shop.kl("context", "why", "file:src/payments/charge.py", package).stdout
    assert why == f"omitted from {package}: denied by policy: payments are internal\n"


@pytest.mark.requirement("E13")
def test_where_all_is_denied_the_package_is_empty_valid_and_states_it(shop: Checkout) -> None:
    shop.write(".kl/policy.yaml", "rules:\n  - name: nothing leaves\n    deny: {}\n")
    made = document(shop)
    assert made["schema"] == "kl.package/4" and made["items"] == []
    assert {reason for _, reason in omissions(shop, made)} == {"denied by policy: nothing leaves"}
    out = context(shop)
    count = made["omitted"]["denied by policy"]
    assert f"Nothing to show: .kl/policy.yaml denies {count} of the items found." in out
    [*_, event] = json.loads(shop.kl("context", "audit", "--format", "json").stdout)["decisions"]
    assert event["counts"]["allow"] == 0 and event["counts"]["deny"] > 3


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes_and_no_rule_gives_the_same_items(
    shop: Checkout,
) -> None:
    plain = context(shop, "--format", "json")
    shop.write(".kl/policy.yaml", POLICY)
    assert len({context(shop, "--format", "json") for _ in range(2)}) == 1
    shop.write(".kl/policy.yaml", "rules: []\n")
    assert json.loads(context(shop, "--format", "json"))["items"] == json.loads(plain)["items"]
    (shop.root / ".kl/policy.yaml").unlink()
    assert context(shop, "--format", "json") == plain


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["rules: [", "rules:\n  - name: a\n    deny: {kinds: [memmory]}\n", ""]
)
@pytest.mark.share(3)
def test_a_broken_policy_gives_no_package(shop: Checkout, text: str) -> None:
    package = document(shop)["package_id"]
    shop.write(".kl/policy.yaml", text)
    for command in (("context", TASK), ("context", "show", package), ("context", "critical")):
        ran = shop.kl(*command)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert ".kl/policy.yaml" in ran.stderr


@pytest.mark.parametrize("target", ["missing.yaml", "/etc/hostname"])
def test_a_policy_that_is_a_wrong_link_gives_no_package(shop: Checkout, target: str) -> None:
    (shop.root / ".kl/policy.yaml").symlink_to(Path(target))
    ran = shop.kl("context", TASK)
    assert (ran.returncode, ran.stdout) == (2, "")


@pytest.mark.requirement("E5")
def test_critical_context_is_governed(shop: Checkout) -> None:
    shop.write(".kl/policy.yaml", POLICY)
    assert "HRNOTE" in shop.kl("context", "critical").stdout
    assert "HRNOTE" not in shop.kl("context", "critical", env={"KL_AGENT": "codex"}).stdout
    shop.write(".kl/policy.yaml", "rules:\n  - name: hr\n    redact: {tags: [hr]}\n")
    out = shop.kl("context", "critical").stdout
    assert "ADR-0001" in out and "redacted" in out and "HRNOTE" not in out.replace("hrnote", "")


@pytest.mark.requirement("E5")
def test_every_decision_is_in_the_audit(shop: Checkout) -> None:
    assert shop.kl("context", "audit").stdout == ""
    shop.write(".kl/policy.yaml", POLICY)
    first, second = document(shop), document(shop, KL_AGENT="codex")
    answer = json.loads(shop.kl("context", "audit", "--format", "json").stdout)
    assert answer["schema"] == "kl.context.audit/1"
    newest, oldest = answer["decisions"]
    assert (newest["subject"], oldest["subject"]) == ("agent:codex", "human")
    assert (newest["package_id"], newest["purpose"]) == (second["package_id"], second["request_id"])
    assert oldest["policy_decision_id"] == first["policy_decision_id"]
    assert oldest["rules"]["payments are internal"] == 3 and newest["rules"]["people"] == 1
    assert ["deny", "payments are internal", "file:src/payments/charge.py"] in oldest["items"]
    one = shop.kl("context", "audit", "--package", first["package_id"][:8]).stdout
    assert first["package_id"] in one and second["package_id"] not in one
    assert "  deny  file:src/payments/charge.py  (payments are internal)\n" in one
    for shape in ("text", "json"):
        out = shop.kl("context", "audit", "--format", shape, env={"KL_AGENT": "codex"}).stdout
        assert first["package_id"] in out and "charge.py" not in out
    assert shop.kl("context", "audit", "--package", "x").returncode == 2


SECRETS = ("HRNOTE", "SECRETTOTAL", "PRIVATE", "HALFUP", "OBJSECRET")
BOT = {"KL_AGENT": "codex"}


@pytest.fixture
def governed(shop: Checkout) -> Checkout:
    ws = shop.workspace()
    create_record(
        ws,
        ws.kinds["objective"],
        {"title": "Checkout OBJSECRET", "tags": ["hr"], "status": "active"},
    )
    shop.write("docs/customers/vip.md", "# Checkout of vip\n\nPRIVATE checkout of the vips.\n")
    shop.write(
        "docs/open.md", "# Checkout\n\nSee [vip](customers/vip.md) for the checkout total.\n"
    )
    shop.commit()
    policy = POLICY.replace('["src/payments/**"]', '["src/payments/**", "docs/customers/"]')
    shop.write(".kl/policy.yaml", policy)
    return shop


def tool(repo: Checkout, name: str, **given: Any) -> Any:
    return json.loads(repo.kl("tool", name, json.dumps(given)).stdout)


@pytest.mark.requirement("E5")
def test_tools_and_searches_of_agents_obey_the_policy_and_are_audited(governed: Checkout) -> None:
    memory = next(governed.root.glob(".kl/knowledge/memories/MEM-*")).name[:12]
    searches = (
        "decision_search",
        "knowledge_search",
        "memory_search",
        "objective_search",
        "graph_search",
    )
    calls = [
        (name, {"query": "checkout total vip customers charge objsecret"}) for name in searches
    ]
    calls += [
        ("decision_list", {}),
        ("memory_list", {}),
        ("memory_inject", {}),
        ("objective_list", {}),
    ]
    calls += [
        ("knowledge_backlinks", {"page": "docs/open.md"}),
        ("graph_refs", {"id": "checkout_total"}),
    ]
    for name, given in calls:
        answer = tool(governed, name, **given)
        text = json.dumps(answer)
        assert answer["ok"] and not any(
            word in text for word in (*SECRETS, "charge_total", "ADR-0001")
        ), (name, text)
    hits = {
        one["id"]: one
        for one in tool(governed, "graph_search", query="vip checkout total")["result"]["hits"]
    }
    redacted = hits["function:customers.vip.vip_checkout_total"]
    assert redacted["signature"] == "(redacted by policy: customers)"
    assert hits["function:shop.checkout_total"]["signature"].startswith("def checkout_total")
    (one,) = tool(governed, "memory_search", query="checkout")["result"]["records"]
    assert one == {
        "schema": "kl.record/1",
        "id": memory,
        "kind": "memory",
        "status": "approved",
        "title": "withheld",
        "path": one["path"],
        "tags": [],
        "fields": {},
    }
    assert tool(governed, "decision_list")["result"]["total"] == 0
    asked = {
        "decision_read": "ADR-0001",
        "graph_show": "charge_total",
        "graph_callers": "charge_total",
    }
    for name, key, value in (
        *((n, "id", i) for n, i in asked.items()),
        ("symbols", "path", "src/payments/charge.py"),
    ):
        answer = tool(governed, name, **{key: value})
        assert (
            not answer["ok"] and ".kl/policy.yaml denies it to you" in answer["error"]["reason"]
        ), (name, answer)
    words = ("checkout", "vip", "charge")
    commands = [
        (kind, "search", *words)
        for kind in ("decision", "memory", "objective", "knowledge", "graph")
    ]
    commands += [("knowledge", "list"), ("memory", "show", memory), ("memory", "inject")]
    for command in commands:
        for more in ((), ("--format", "json")):
            ran = governed.kl(*command, *more, env=BOT)
            assert ran.returncode == 0 and not any(word in ran.stdout for word in SECRETS), (
                command,
                ran.stdout,
            )
    assert governed.kl("decision", "show", "ADR-0001", env=BOT).returncode == 2
    for verb in ("show", "refs", "callers", "dependents"):
        ran = governed.kl("graph", verb, "charge_total", env=BOT)
        assert (ran.returncode, ran.stdout) == (2, "") and "denies it to you" in ran.stderr, verb
        assert "charge_total" in governed.kl("graph", verb, "charge_total").stdout, (
            "a person can open the file"
        )
    for command in (
        ("symbols", "src/payments/charge.py"),
        ("path", "checkout_total", "charge_total"),
    ):
        ran = governed.kl("graph", *command, env=BOT)
        assert ran.returncode == 2 and "SECRETTOTAL" not in ran.stdout + ran.stderr, command
    governed.write("src/other.py", "def charge_total():\n    pass\n")
    ran = governed.kl("graph", "show", "charge_total", env=BOT)
    assert ran.returncode == 2 and "charge.py" not in ran.stdout + ran.stderr, (
        "among those that it may mean"
    )
    refs = json.loads(
        governed.kl("graph", "refs", "checkout_total", "--format", "json", env=BOT).stdout
    )
    assert refs["schema"] == "kl.graph.refs/2" and refs["total"] == sum(
        len(one["links"]) for one in refs["refs"]
    )
    assert "HRNOTE" in governed.kl("decision", "show", "ADR-0001").stdout, (
        "a person can open the file"
    )
    events = json.loads(governed.kl("context", "audit", "--format", "json").stdout)["decisions"]
    purposes = {one["purpose"]: one for one in events}
    assert {
        "tool decision_read",
        "tool memory_inject",
        "kl decision search",
        "kl graph search",
    } <= purposes.keys()
    assert purposes["tool decision_read"]["items"] == [["deny", "people", "ADR-0001"]]
    assert (
        purposes["kl decision search"]["subject"] == "agent:codex"
        and purposes["tool symbols"]["package_id"] == ""
    )
    assert "kl decision search" in governed.kl("context", "audit").stdout


@pytest.mark.requirement("E5")
def test_hooks_of_agents_obey_the_policy_and_a_broken_one_shows_nothing(governed: Checkout) -> None:
    governed.git("config", "kl.agents", "claude")
    payload = json.dumps({"cwd": str(governed.root), "session_id": "s1", "source": "startup"})

    def start(event: str) -> str:
        done = governed.kl("agents", "hook", event, "--agent", "claude", input=payload)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    events = ("SessionStart", "PreCompact")
    assert not any(word in start(event) for event in events for word in SECRETS)
    (governed.root / ".kl/policy.yaml").unlink()
    assert all("OBJSECRET" in start(event) for event in events) and "HALFUP" in start(
        "SessionStart"
    )
    governed.write(".kl/policy.yaml", "rules:\n  - name: a\n    deny: {kinds: [memmory]}\n")
    assert [start(event) for event in events] == ["", ""]
    answer = tool(governed, "decision_list")
    assert not answer["ok"] and "memmory" in answer["error"]["reason"]
    assert governed.kl("decision", "search", "checkout", env=BOT).returncode == 2
    done = governed.kl("doctor")
    assert done.returncode == 1
    assert 'wrong   policy       .kl/policy.yaml:3:20: unknown kind "memmory".' in done.stdout
    assert "fix: edit .kl/policy.yaml" in done.stdout


def test_a_policy_is_parsed_once_for_each_text(
    governed: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = list[bytes]()
    monkeypatch.setattr(
        policy, "read_rules", lambda text, kinds: parsed.append(text) or read_rules(text, kinds)
    )
    ws = governed.workspace()
    first, second = load_policy(ws), load_policy(governed.workspace())
    assert first == second and first is not None and first.rules[0].name == "payments are internal"
    assert len(parsed) == 1
    governed.write(".kl/policy.yaml", "rules: []\n")
    assert load_policy(ws) != first and len(parsed) == 2
