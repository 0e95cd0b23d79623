"""`kl mcp` as clients see it: the official client over stdio, and the size of what it puts into
their conversations.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from mcp import ClientSession
from mcp.shared.exceptions import MCPError

from kl_hooks.errors import UsageProblem
from kl_hooks.tools import mcp_server
from kl_hooks.tools.call import call
from kl_hooks.tools.mcp_server import DEFAULT, answer, listed_tools, tool_listing
from kl_hooks.workspace import Workspace
from tests.mcp_client import with_client
from tests.support import Checkout

READING = [
    name
    for name in DEFAULT
    if not name.endswith(("_create", "_supersede", "_update", "_link_task"))
]
SOURCE = (
    "class Basket:\n    def add(self, line):\n        return line\n\n\ndef feed(basket):\n   "
    " return Basket().add(1)\n"
)
DECISION = {"title": "Feed bytes", "context": "Names.", "decision": "Feed bytes."}


@pytest.fixture
def served(repo: Checkout) -> Checkout:
    repo.write("src/a.py", SOURCE)
    repo.commit()
    return repo


def listing(ws: Workspace, *wanted: str, write: bool = False) -> tuple[list[str], int]:
    found = tool_listing(listed_tools(ws, wanted, allow_write=write))
    text = found.model_dump_json(by_alias=True, exclude_none=True)
    return [one.name for one in found.tools], len(text)


def test_fifteen_tools_in_12000_characters_and_those_that_write_only_where_allowed(
    served: Checkout,
) -> None:
    ws = served.workspace()
    names, size = listing(ws, write=True)
    assert (names, len(names)) == (list(DEFAULT), 15)
    assert size <= 12_000
    assert listing(ws)[0] == READING


def test_sets_and_names_of_tools(served: Checkout) -> None:
    ws = served.workspace()
    assert "task_list" in listing(ws, "tasks")[0] and "task_create" not in listing(ws, "tasks")[0]
    assert listing(ws, "verify", "graph_path")[0] == ["verify", "graph_path"]
    assert set(listing(ws, "core", "knowledge")[0]) > set(READING)
    with pytest.raises(UsageProblem, match="'graphs' is no set of tools and no tool"):
        listing(ws, "graphs")


def test_what_was_cut_is_counted_in_words() -> None:
    made = answer({"result": {"records": [1], "omitted": {"records": 41}}}, 0)
    assert made.structured_content == {"records": [1], "omitted": {"records": 41}}
    assert (
        made.content[-1].text == "41 more in records: ask with a narrower query, or a higher limit."
    )  # type: ignore[union-attr]


def test_a_package_fits_its_budget_with_everything_about_it(served: Checkout) -> None:
    for n in range(300):
        served.write(f"src/rounding_{n}.py", f"def round_half_{n}(total):\n    return total\n")
    ws = served.workspace()
    for budget in (400, 2_000, 8_000):
        asked = json.dumps({"task": "round the total", "budget": str(budget)}).encode()
        reply, code = call(ws, "context", asked, allow_write=False)
        made = answer(reply, code)
        structured = made.structured_content
        assert structured is not None
        # the ID and the schema are the same few characters in every answer; line ends are escaped
        escapes = len(json.dumps(structured["text"])) - len(structured["text"])
        assert len(json.dumps(structured)) <= budget + escapes + 120, budget
        assert len(made.content) == 1
    shown = structured.get("omitted", {})
    assert all(isinstance(number, int) for number in shown.values()), shown


@pytest.mark.requirement("B12")
def test_a_server_counts_failing_sources_over_all_calls(
    served: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Workspace] = []

    def serve(
        open_repository: Callable[[], Workspace], wanted: list[str], *, allow_write: bool
    ) -> None:
        opened.extend(open_repository() for _ in range(2))

    monkeypatch.setattr(mcp_server, "serve", serve)
    assert served.kl("mcp").returncode == 0
    first, second = opened
    assert first is not second and first.failing_sources is second.failing_sources


@pytest.mark.requirement("A3")
def test_a_session_of_the_official_client(served: Checkout) -> None:
    async def work(session: ClientSession) -> None:
        tools = (await session.list_tools()).tools
        assert [one.name for one in tools] == list(DEFAULT)
        assert all(one.output_schema is None for one in tools)
        made = await session.call_tool("decision_create", DECISION)
        created: dict[str, Any] = made.structured_content or {}
        assert not made.is_error and created["status"] == "proposed"
        package = await session.call_tool(
            "context", {"task": "make `feed` faster", "budget": "1500"}
        )
        text = package.content[0].text  # type: ignore[union-attr]
        assert text.startswith("[Pipeline Knowledge] cp-") and "- src/a.py\n  feed:6" in text
        assert (package.structured_content or {})["package_id"] == text.split()[2]
        assert text == served.kl("context", "make `feed` faster", "--budget", "1500").stdout
        wrong = await session.call_tool("graph_refs", {"id": "nowhere"})
        assert wrong.is_error and "nowhere" in wrong.content[0].text  # type: ignore[union-attr]
        late = await session.call_tool("objective_list", {"statsu": 3})
        assert late.is_error and "status" in late.content[0].text  # type: ignore[union-attr]
        with pytest.raises(MCPError, match="no tool 'memory_delete' is listed here"):
            await session.call_tool("memory_delete", {"id": "MEM-1"})
        with pytest.raises(MCPError, match='Did you mean "graph_search"'):
            await session.call_tool("graph_serach", {"query": "feed"})
        # what another process changes is seen: the repository is opened anew for each call
        served.kl("decision", "accept", created["id"])
        listed = (await session.list_resources()).resources
        assert [str(one.uri) for one in listed] == [f"kl://adr/{created['id']}"]
        read = await session.read_resource(listed[0].uri)
        assert "Feed bytes" in read.contents[0].text  # type: ignore[union-attr]
        again = await session.read_resource(f"kl://package/{text.split()[2]}")
        assert again.contents[0].text == text  # type: ignore[union-attr]
        with pytest.raises(MCPError, match="there is no resource of this URI"):
            await session.read_resource("kl://adr/")

    with_client(served, work, "--allow-write")


def test_a_damaged_store_is_an_error_that_is_named_and_no_traceback(
    served: Checkout,
) -> None:
    served.kl("decision", "new", "Feed bytes", "--context", "c", "--decision", "d")
    (served.state / "kl.db").write_bytes(b"no database" * 100)

    async def work(session: ClientSession) -> None:
        with pytest.raises(MCPError, match="is not a database"):
            await session.list_resources()
        with pytest.raises(MCPError, match="is not a database"):
            await session.read_resource("kl://adr/ADR-0001")
        read = await session.call_tool("decision_read", {"id": "ADR-0001"})
        assert read.is_error and "is not a database" in read.content[0].text  # type: ignore[union-attr]

    assert "Traceback" not in with_client(served, work)


def test_reading_is_the_default(served: Checkout) -> None:
    async def work(session: ClientSession) -> None:
        assert [one.name for one in (await session.list_tools()).tools] == READING
        with pytest.raises(MCPError, match="no tool 'decision_create'"):
            await session.call_tool("decision_create", DECISION)

    with_client(served, work)


def test_a_wrong_set_is_exit_2_before_anything_is_served(served: Checkout) -> None:
    ran = served.kl_process("mcp", "--tools", "core,teapots")
    assert ran.returncode == 2 and ran.stdout == ""
    assert "--tools: 'teapots' is no set of tools and no tool." in ran.stderr
