"""What is linked: mentions of documents from either end, neighbors, search by graph, and merged
records.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from kl_hooks.documents.indexing import sync_documents, visible_documents
from kl_hooks.documents.neighborhood import Scope, neighborhood
from kl_hooks.documents.retrieval import find_linked
from kl_hooks.model.package import Signals, Task
from kl_hooks.records.events import list_events
from tests.support import Checkout

AGENT = {"CLAUDECODE": "1"}
SECRET = "file:docs/secret.md#L1-L3"


@pytest.fixture
def shop(repo: Checkout) -> Checkout:
    code = (
        "def refund_order(order):\n    return open_drawer(order)\n\n\ndef open_drawer(order):\n   "
        " return order\n"
    )
    repo.write("src/shop/pay.py", code)
    repo.write(
        "docs/refunds.md",
        "# Refunds\n\nHow cash comes back.\n\n## Clerks\n\nThey call `refund_order`.\n",
    )
    repo.write(
        "docs/drawer.md",
        "# The drawer\n\nSpring and key: `open_drawer()`. See ADR-0001 and `drawer-lock`.\n",
    )
    repo.write("docs/lock.md", "# Locks\n\nSet `drawer_lock` to yes.\n")
    repo.write("docs/keys.md", "# Keys\n\nWho has `drawer_lock`.\n")
    repo.write("docs/secret.md", "# Secret\n\nThe boss runs `refund_order` twice.\n")
    repo.write(
        ".kl/policy.yaml",
        "version: 1\nrules:\n  - name: secret\n    deny: {paths: [docs/secret.md]}\n",
    )
    repo.kl(
        "decision",
        "new",
        "Refund within a day",
        "--context",
        "c",
        "--decision",
        "d",
        "--about",
        "src/shop/pay.py",
    )
    repo.kl("decision", "accept", "ADR-0001")
    repo.commit()
    return repo


def plain(repo: Checkout, *args: str, env: dict[str, str] | None = None) -> Any:
    done = repo.kl(*args, "--format", "json", env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.requirement("D20", "D22", "D23", "D24")
def test_a_search_by_graph_finds_what_is_linked_with_the_matches(shop: Checkout) -> None:
    shop.git("config", "kl.embedder", "off")
    found = plain(shop, "search", "clerks", "--mode", "graph", "--explain")
    assert found["mode"] == "graph" and "searched by words only" in found["notes"][0]
    by_id = {one["id"]: one for one in found["results"]}
    assert found["results"][0]["id"] == "file:docs/refunds.md#L7-L7"  # the match itself comes first
    # none of these has the word: by way of the function that the match names, and of the page that
    # it is in
    assert by_id.keys() >= {
        "function:shop.pay.refund_order",
        "function:shop.pay.open_drawer",
        SECRET,
    }
    assert by_id["function:shop.pay.refund_order"]["parts"]["own"] == 0
    group, *_ = found["communities"]
    assert group["seeds"] == 1 and "file:docs/refunds.md#L7-L7" in group["members"]
    assert group["summary"].startswith("Refunds › Clerks (") and "is part of" in group["relations"]
    # what is denied is neither a result nor a name in a summary, and nothing is reached by way of
    # it
    for query in ("clerks", "boss secret"):
        assert "ecret" not in json.dumps(
            {**plain(shop, "search", query, "--mode", "graph", env=AGENT), "query": ""}
        )
    near = plain(shop, "search", "clerks", "--mode", "graph", "--hops", "1", "--kind", "code")
    assert [one["id"] for one in near["results"]] == ["function:shop.pay.refund_order"]
    short = shop.kl("search", "clerks", "--mode", "graph", "--budget", "60")
    assert (
        " =  Refunds › Clerks (" in short.stdout and "over the budget of 60 tokens" in short.stderr
    )
    tool = json.loads(
        shop.kl("tool", "query_knowledge_base", '{"query": "clerks", "mode": "graph"}').stdout
    )["result"]
    assert tool["communities"][0]["summary"].startswith("Refunds › Clerks (")


@pytest.mark.requirement("D19", "D43", "D54")
def test_mentions_are_links_from_either_end(shop: Checkout) -> None:
    shown = plain(shop, "graph", "show", "open_drawer")
    assert [(one["source"], one["line"]) for one in shown["mentioned_in"]] == [
        ("file:docs/drawer.md#L1-L3", 1)
    ]
    assert "mentioned in   1\n    docs/drawer.md:1" in shop.kl("graph", "show", "ADR-0001").stdout
    path = shop.kl("graph", "path", "docs/refunds.md", "open_drawer").stdout
    assert (
        "mentions function:shop.pay.refund_order  docs/refunds.md:7 (name)\n  calls"
        " function:shop.pay.open_drawer" in path
    )
    shop.write(
        "README.md", "# Shop\n\nBegin with `open_drawer`.\n"
    )  # a document, and no page of the docs folder
    shown = shop.kl("graph", "path", "README.md", "open_drawer").stdout
    assert "mentions function:shop.pay.open_drawer  README.md:1" in shown
    assert plain(shop, "graph", "show", "refund_order", env=AGENT)["mentioned_in"] == [
        one
        for one in plain(shop, "graph", "show", "refund_order")["mentioned_in"]
        if "secret" not in one["path"]
    ]
    # a name is looked up when somebody asks: after a rename nothing has to be indexed again
    shop.write("src/shop/pay.py", "def give_back(order):\n    return order\n")
    assert plain(shop, "graph", "show", "give_back")["mentioned_in"] == []


@pytest.mark.requirement("D54")
def test_neighbors_are_nearest_first_and_only_what_may_be_shown(shop: Checkout) -> None:
    found = plain(shop, "graph", "neighbors", "docs/refunds.md", "--depth", "3")
    levels = {one["id"]: one["level"] for one in found["neighbors"]}
    assert (
        levels["file:docs/refunds.md#L7-L7"] == 1 and levels["function:shop.pay.refund_order"] == 2
    )
    assert levels["function:shop.pay.open_drawer"] == levels[SECRET] == 3
    assert found["total"] == len(levels) and not found["cut"]
    hidden = plain(shop, "graph", "neighbors", "docs/refunds.md", "--depth", "3", env=AGENT)
    assert SECRET not in json.dumps(hidden) and hidden["total"] == len(hidden["neighbors"])
    only = shop.kl("graph", "neighbors", "ADR-0001", "--relation", "mentions").stdout
    assert (
        only == "adr:ADR-0001  (1 neighbor)\n  1  file:docs/drawer.md#L1-L3 mentions it "
        " docs/drawer.md:1\n"
    )
    # two pages about one option that no code defines
    assert "term:drawer_lock" in shop.kl("graph", "neighbors", "file:docs/lock.md#L1-L3").stdout
    assert shop.kl("graph", "neighbors", "docs/secret.md", env=AGENT).returncode == 2
    assert shop.kl("graph", "neighbors", "nothing_at_all").returncode == 2
    counts = plain(shop, "graph", "stats")
    assert (
        counts["nodes"]["passage"] == 6
        and counts["nodes"]["document"] == 5
        and counts["nodes"]["function"] == 2
    )
    assert counts["most_linked"][0]["links"] >= 1 and counts["parts"] >= 1
    assert "hangs together" in shop.kl("graph", "stats").stdout
    tool = json.loads(
        shop.kl("tool", "graph_neighbors", '{"id": "refund_order", "depth": 1}').stdout
    )["result"]
    assert "file:docs/refunds.md#L7-L7" in [one["id"] for one in tool["neighbors"]]


def test_a_file_has_the_decisions_on_it_and_on_its_folders_as_neighbors(shop: Checkout) -> None:
    for number, place in ((8, "src/shop/pay.py"), (9, "src/shop/")):
        head = f"---\nid: ADR-000{number}\ntitle: T{number}\nstatus: accepted\n"
        text = f"{head}governs:\n  - {place}\n---\n\n## Context\n\nc\n\n## Decision\n\nd\n"
        shop.write(f".kl/knowledge/decisions/ADR-000{number}-t.md", text)
    for name in ("file:src/shop/pay.py", "src/shop/pay.py", "namespace:shop.pay"):
        lines = shop.kl("graph", "neighbors", name).stdout
        assert "adr:ADR-0008 adr_governs file:src/shop/pay.py" in lines, name
        assert "adr:ADR-0009 adr_governs file:src/shop" in lines, name


@pytest.mark.requirement("D43", "D54")
def test_skills_and_the_agents_that_have_them_are_nodes(shop: Checkout) -> None:
    head = "---\nname: release\ndescription: Releases it.\nmetadata:\n  kl-agents: reviewer\n---\n"
    shop.write(".claude/skills/release/SKILL.md", f"{head}See [pay](../../../src/shop/pay.py).\n")
    shop.commit()
    rows = json.loads(shop.kl("skill", "list", "--format", "json").stdout)["records"]
    for name in (rows[0]["id"], "skill:release", "release"):
        lines = shop.kl("graph", "neighbors", name).stdout
        assert lines.startswith("skill:release") and "it belongs_to agent:reviewer" in lines, name
        assert "it references file:src/shop/pay.py" in lines
    assert "skill:release belongs_to it" in shop.kl("graph", "neighbors", "agent:reviewer").stdout
    rule = "{name: skills, deny: {paths: ['.claude/**'], actors: [agent]}}"
    shop.write(".kl/policy.yaml", f"version: 1\nrules:\n  - {rule}\n")
    hidden = shop.kl("graph", "neighbors", "agent:reviewer", env={"KL_AGENT": "codex"})
    assert "release" not in hidden.stdout + hidden.stderr


@pytest.mark.requirement("D43")
def test_agents_that_files_define_are_nodes_with_their_skills(shop: Checkout) -> None:
    shop.write(
        ".claude/skills/release/SKILL.md", "---\nname: release\ndescription: Releases it.\n---\n"
    )
    for number, skills in enumerate(("[release, gone]", "release, gone")):
        head = f"---\nname: Auditor-{number}\ndescription: Audits.\nskills: {skills}\n---\n"
        shop.write(f".claude/agents/audit{number}.md", f"{head}Look twice.\n")
    shop.write(".claude/agents/notes.md", "No agent.\n")
    shop.commit()
    for name in ("agent:auditor-0", "Auditor-0"):
        lines = shop.kl("graph", "neighbors", name).stdout
        assert lines.startswith("agent:auditor-0"), lines
        assert "skill:release belongs_to it" in lines and "gone" not in lines
        assert "it is part of file:.claude/agents/audit0.md" in lines
    lines = shop.kl("graph", "neighbors", "skill:release").stdout
    assert "belongs_to agent:auditor-0" in lines and "belongs_to agent:auditor-1" in lines
    rule = "{name: audits, deny: {paths: ['.claude/agents/audit0.md'], actors: [agent]}}"
    shop.write(".kl/policy.yaml", f"version: 1\nrules:\n  - {rule}\n")
    hidden = shop.kl("graph", "neighbors", "skill:release", env={"KL_AGENT": "codex"}).stdout
    assert "agent:auditor-1" in hidden and "auditor-0" not in hidden
    assert shop.kl("graph", "neighbors", "agent:auditor-0", env={"KL_AGENT": "codex"}).returncode


@pytest.mark.requirement("E3", "D45")
def test_a_package_is_offered_passages_that_name_the_code_of_a_task(shop: Checkout) -> None:
    ws = shop.workspace()
    some = find_linked(ws, Task("x", Signals(symbols=("refund_order",))), 3)
    assert {one.path for one in some} >= {"docs/refunds.md", "docs/secret.md"}
    assert find_linked(ws, Task("x", Signals(keywords=("clerks",))), 3) == []
    sync_documents(ws)
    with ws.store.reading("graph") as db:
        assert db is not None
        around = neighborhood(
            db, ["function:shop.pay.refund_order"], 5, Scope(ws, visible_documents(ws)), most=3
        )
    assert len(around.levels) == 3 and around.cut


@pytest.mark.requirement("D54")
def test_a_record_is_merged_into_another_with_an_event(repo: Checkout) -> None:
    repo.write("a.py", "x = 1\n")
    ids = [
        plain(repo, "memory", "add", text, "--about", "a.py", *more)["id"]
        for text, more in (("Tabs are bad.", ["--tag", "style"]), ("Tabs are always bad.", []))
    ]
    task = plain(repo, "task", "new", "Fix tabs", "--about", ids[0])["id"]
    done = plain(repo, "graph", "merge", *ids)
    assert done["changed"] == [task] and done["from"]["fields"]["superseded_by"] == [ids[1]]
    assert done["into"]["fields"]["tags"] == ["style"] and done["into"]["fields"]["supersedes"] == [
        ids[0]
    ]
    assert plain(repo, "task", "show", task)["fields"]["about"] == [ids[1]]
    assert plain(repo, "graph", "merge", *ids)["changed"] == []  # merging again changes nothing
    (event,) = list_events(repo.workspace(), name="merged")
    assert (event.record, event.body["links"]) == (ids[1], [task])
    for wrong in ((ids[0], task), (ids[0], ids[0])):
        assert repo.kl("graph", "merge", *wrong).returncode == 2
    refused = repo.kl("graph", "merge", *ids, env=AGENT)
    assert refused.returncode == 2 and "is for a person" in refused.stderr
