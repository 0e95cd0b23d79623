"""One graph, one search, from outside: pages, records, violations, files and symbols, and the ways
between them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from kl_hooks.tools.call import call
from tests.support import Checkout

NEW = ("--context", "c", "--decision", "d")
FILES = {
    "src/shop/__init__.py": "from .core import Basket\nfrom .core import make as build_basket\n",
    "src/shop/core.py": (
        "from shop.web import page\n\n\nclass Basket:\n    def total(self):\n        return"
        " page()\n\n\ndef make():\n    return Basket()\n"
    ),
    "src/shop/web.py": "def page():\n    return 1\n",
    "docs/pricing.md": "# Pricing\n\nSee [[ADR-0001]].\n\n## Rounding\n\nHalf up.\n",
    ".kl/architecture.yaml": (
        "version: 1\nlayers:\n  - name: core\n    paths: [src/shop/core.py]\n    may_depend_on:"
        " []\n  - name: web\n    paths: [src/shop/web.py]\n    may_depend_on: [core]\n"
    ),
}


@pytest.fixture
def shop(repo: Checkout) -> Checkout:
    """A page that links to a decision, which governs a file, which breaks a rule; a memory."""
    for name, text in FILES.items():
        repo.write(name, text)
    repo.commit()
    repo.kl("decision", "new", "Prices are integers", *NEW, "--governs", "src/shop/core.py")
    repo.kl("memory", "add", "Baskets are never empty")
    assert repo.kl("arch", "check").returncode == 1
    return repo


def asked(repo: Checkout, *args: str) -> dict[str, Any]:
    done = repo.kl("graph", *args, "--format", "json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def tool(repo: Checkout, name: str, **given: Any) -> dict[str, Any]:
    answer, code = call(repo.workspace(), name, json.dumps(given).encode(), allow_write=False)
    assert code == 0, answer
    return dict(answer["result"])


@pytest.mark.requirement("A27", "A28", "D43")
def test_build_counts_what_is_no_code(shop: Checkout) -> None:
    counted = {"decision": 1, "memory": 1, "page": 1, "section": 1, "violation": 1}
    assert asked(shop, "build")["knowledge"] == counted
    assert (
        "records  1 decision, 1 memory, 1 page, 1 section, 1 violation"
        in shop.kl("graph", "build").stdout
    )
    shop.write("docs/pricing.md", "# Pricing\n")
    assert asked(shop, "build")["knowledge"] == {key: 1 for key in counted if key != "section"}


@pytest.mark.requirement("A27", "A31", "D43", "D45")
def test_a_path_leads_from_a_page_over_a_decision_to_a_file_and_a_symbol(shop: Checkout) -> None:
    way = asked(shop, "path", "docs/pricing.md", "Basket.total")
    assert [(step["relation"], step["target"]) for step in way["steps"]] == [
        ("references", "adr:ADR-0001"),
        ("adr_governs", "file:src/shop/core.py"),
        ("defines", "namespace:shop.core"),
        ("defines", "type:shop.core.Basket"),
        ("defines", "method:shop.core.Basket.total"),
    ]
    assert (way["length"], way["answer"], way["reversed"]) == (5, "yes", False)
    way = asked(shop, "path", "pricing.md#rounding", "file:src/shop/web.py")
    assert [step["relation"] for step in way["steps"]] == [
        "is part of",
        "references",
        "adr_governs",
        "depends_on",
    ]
    way = asked(shop, "path", "Basket", "adr-0001")
    assert way["reversed"] and way["from"]["id"] == "adr:ADR-0001" and way["length"] == 3
    assert (
        "this is the chain from TO to FROM" in shop.kl("graph", "path", "Basket", "ADR-0001").stderr
    )
    shop.write("src/alone.py", "X = 1\n")
    assert shop.kl("graph", "path", "docs/pricing.md", "alone").stdout == "No path.\n"
    shop.write("src/bad.py", "x = = 1\n")
    assert asked(shop, "path", "docs/pricing.md", "Basket.total")["not_assessed"]
    shop.kl("decision", "new", "A folder", *NEW, "--governs", "src/shop/")
    assert [one["relation"] for one in asked(shop, "path", "ADR-0002", "web.py")["steps"]][:2] == [
        "adr_governs",
        "holds",
    ]


@pytest.mark.requirement("A27", "A32", "A50", "D45")
def test_search_and_show_reach_every_kind(shop: Checkout) -> None:
    found = {hit["id"]: hit for hit in asked(shop, "search", "baskets")["hits"]}
    memory = next(hit for hit in found.values() if hit["kind"] == "memory")
    assert (
        list(found)[:2] == ["type:shop.core.Basket", memory["id"]]
        and memory["name"] == memory["id"]
    )
    assert next(iter(asked(shop, "search", "adr-0001")["hits"]))["id"] == "ADR-0001"
    (section,) = asked(shop, "search", "rounding", "--kind", "page")["hits"]
    assert (section["id"], section["line"]) == ("file:docs/pricing.md#rounding", 5)
    (drift,) = asked(shop, "search", "web", "--kind", "violation")["hits"]
    page = asked(shop, "show", drift["id"])
    assert {one["relation"]: one["target"] for one in page["links"]} == {
        "found_in": "file:src/shop/core.py",
        "importer": "namespace:shop.core",
        "imported": "namespace:shop.web",
    }
    written = {(one["source"], one["path"]) for one in asked(shop, "show", "Basket")["written"]}
    decision = ".kl/knowledge/decisions/ADR-0001-prices-are-integers.md"
    assert written == {("adr:ADR-0001", decision), (drift["id"], "src/shop/core.py")}
    refs = {one["source"] for at in asked(shop, "refs", "core.py")["refs"] for one in at["links"]}
    assert {"adr:ADR-0001", drift["id"], "namespace:shop"} <= refs
    assert drift["id"] not in shop.kl("graph", "dependents", "shop.web").stdout
    assert asked(shop, "search", "pricing", "--at", "HEAD")["hits"] == []
    assert shop.kl("graph", "show", "docs/pricing.md", "--at", "HEAD").returncode == 2
    wrong = shop.kl("graph", "search", "x", "--kind", "decisions")
    assert (
        wrong.returncode == 2
        and "no such kind: decisions" in wrong.stderr
        and "decision, memory" in wrong.stderr
    )


@pytest.mark.requirement("C17", "C18")
def test_a_name_is_found_where_it_is_imported_from(shop: Checkout) -> None:
    assert asked(shop, "refs", "shop.Basket")["symbol"]["id"] == "type:shop.core.Basket"
    symbol = asked(shop, "show", "shop.Basket.total")["symbol"]
    assert (symbol["name"], symbol["kind"], symbol["owner"]) == (
        "total",
        "method",
        "shop.core.Basket",
    )
    assert asked(shop, "callers", "shop.build_basket")["symbol"]["id"] == "function:shop.core.make"
    assert asked(shop, "search", "shop.build_basket")["hits"][0]["id"] == "function:shop.core.make"
    lost = shop.kl("graph", "refs", "shop.nothing")
    assert lost.returncode == 2 and "shop.nothing" in lost.stderr


@pytest.mark.slow
@pytest.mark.requirement("A50")
def test_a_violation_reaches_the_context_of_a_task_on_its_file_until_it_is_fixed(
    shop: Checkout,
) -> None:
    for task in ("fix rounding in src/shop/core.py", "refactor `Basket`", "clean up shop.core"):
        text = shop.kl("context", task, "--budget", "6000").stdout
        assert "core must not import web: shop.core imports shop.web" in text, task
        assert "src/shop/core.py:1" in text
    assert (
        "must not import"
        not in shop.kl("context", "fix rounding in src/shop/web.py", "--budget", "6000").stdout
    )
    shop.write("src/shop/core.py", "class Basket:\n    pass\n")
    assert (
        "must not import"
        not in shop.kl("context", "fix rounding in src/shop/core.py", "--budget", "6000").stdout
    )


@pytest.mark.requirement("D44", "A32")
def test_agents_ask_the_same(shop: Checkout) -> None:
    shop.write(
        "docs/other.md",
        "# Other\n\nPricing is explained by ADR-0001 of old.\n\n[there](pricing.md)\n",
    )
    shop.write("docs/named.md", "# Named\n\nPricing rounds half up.\n")
    found = tool(shop, "knowledge_search", query="rounding")
    assert (
        found["order"][0] == "file:docs/pricing.md#rounding"
        and found["pages"][0]["excerpt"] == "Half up."
    )
    back = tool(shop, "knowledge_backlinks", page="pricing")
    assert [(one["path"], one["line"], one["slug"]) for one in back["backlinks"]] == [
        ("docs/other.md", 5, "other")
    ]
    mentions = tool(shop, "knowledge_mentions", page="docs/pricing.md", limit=1)
    assert ([one["path"] for one in mentions["mentions"]], mentions["total"]) == (
        ["docs/named.md"],
        1,
    )
    assert (
        tool(shop, "knowledge_mentions", page="ADR-0001")["mentions"][0]["path"] == "docs/other.md"
    )
    near = tool(shop, "knowledge_related", page="docs/named.md", least=1)["related"]
    assert near and 0 < near[0]["similarity"] <= 1 and near[0]["kind"] in ("page", "record")
    assert tool(shop, "knowledge_related", page="docs/named.md", least=100)["related"] == []
    way = tool(shop, "graph_path", **{"from": "docs/pricing.md", "to": "Basket"})
    assert way["steps"][-1]["target"] == "type:shop.core.Basket"
    assert tool(shop, "graph_show", id="ADR-0001")["links"][0]["relation"] == "adr_governs"
    assert tool(shop, "graph_search", query="rounding", kind="page")["hits"][0]["kind"] == "page"
    answer, code = call(
        shop.workspace(),
        "knowledge_related",
        b'{"page": "pricing", "limit": 51}',
        allow_write=False,
    )
    assert code == 2 and "from 1 to 50" in answer["error"]["reason"]


@pytest.mark.requirement("A12", "A15")
def test_a_class_named_by_a_plain_word_is_in_the_context(shop: Checkout) -> None:
    lines = "".join(
        f"def test_items_get_lost_{n}():\n    items = basket = 1\n\n\n" for n in range(80)
    )
    shop.write("tests/test_items.py", lines)
    for task in ("why do baskets lose items", "Basket loses items when lost"):
        package = json.loads(
            shop.kl("context", task, "--budget", "6000", "--format", "json").stdout
        )
        symbols = [item["id"] for item in package["items"] if item["kind"] == "symbol"]
        assert symbols[0] == "type:shop.core.Basket", task
