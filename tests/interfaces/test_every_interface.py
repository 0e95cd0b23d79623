"""What the policy hides is shown to an agent through no interface: commands, tools, routes,
resources, hooks and exports, each of which is enumerated.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections import defaultdict
from collections.abc import Awaitable, Container, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from kl_hooks import api
from kl_hooks.agents.adapters import AGENTS
from kl_hooks.cli import main
from kl_hooks.errors import KlError
from kl_hooks.tools.http_server import KnowledgeServer
from kl_hooks.workspace import Workspace, open_workspace
from tests.interfaces import commands
from tests.interfaces.canaries import AGENT, PAGES, Canaries, plant, planted
from tests.interfaces.commands import (
    HIDDEN_FILE,
    OUTPUT_FILE,
    PERSONAL,
    PERSONAL_TOOLS,
    api_calls,
    calls,
    hook_payloads,
    routes,
    tools,
)
from tests.mcp_client import with_client
from tests.support import checkout

pytestmark = pytest.mark.slow


@pytest.fixture
def hidden(tmp_path: Path, home: Path, database: str) -> Canaries:
    """A repository whose knowledge is hidden by the policy, and what an agent may write into."""
    if database == "postgresql":
        canaries = plant(checkout(tmp_path / "repo"))
    else:
        canaries = planted(tmp_path)
    canaries.repo.git("config", "kl.agents", " ".join(AGENTS))
    return canaries


def report(leaks: Mapping[str, set[str]]) -> str:
    return "\n".join(
        f"{interface}: {', '.join(sorted(leaks[interface]))}" for interface in sorted(leaks)
    )


@pytest.fixture
def problems(monkeypatch: pytest.MonkeyPatch) -> list[KlError]:
    """The errors that commands print, as they are raised."""
    raised = list[KlError]()
    report_problem = main.report_problem

    def noted(problem: KlError, environ: Mapping[str, str]) -> int:
        raised.append(problem)
        return report_problem(problem, environ)

    monkeypatch.setattr(main, "report_problem", noted)
    return raised


def shown_by_commands(
    canaries: Canaries, environ: Mapping[str, str], problems: list[KlError], is_share: bool
) -> dict[str, set[str]]:
    """Call every command, or a share; return interface → fields that it showed. AssertionError for
    a command that did not run: what fails early shows nothing.
    """
    leaks, files = defaultdict[str, set[str]](set), set[str]()
    outcomes = defaultdict[str, set[str]](set)
    for one in calls(canaries, is_share=is_share):
        problems.clear()
        done = canaries.repo.kl(*one.argv, env=environ, input=one.input)
        problem = problems[-1] if problems else None
        names = (HIDDEN_FILE, PAGES, *canaries.ids.values())
        outcomes[one.interface].add(one.outcome(done.returncode, problem, names))
        file = canaries.repo.root / OUTPUT_FILE
        written = ""
        if file.is_file():
            files.add(one.interface)
            written = file.read_text("utf-8")
            file.unlink()
        if found := canaries.leaks(done.stdout + done.stderr + written, one.argv):
            leaks[one.interface] |= found
    print(f"{len(outcomes)} interfaces, {len(files)} write files, {len(leaks)} show something")
    wrong = sorted(set().union(*outcomes.values()) - {"ran", "denied", "refused"})
    assert not wrong, "\n".join(wrong)
    never = {interface for interface, ends in outcomes.items() if "ran" not in ends}
    personal = PERSONAL & outcomes.keys()
    assert never == personal, f"say in {commands.__name__} what is refused: {never ^ personal}"
    assert is_share or personal == PERSONAL
    assert {"context TASK", "knowledge export"} <= files
    return leaks


def by_effect(test: Any) -> Any:
    """Run a test under a policy that denies, and under one that redacts."""
    return pytest.mark.parametrize("effect", ["deny", "redact"])(test)


def by_scope(test: Any) -> Any:
    """Run a test with a share of the calls, and with all of them."""
    return pytest.mark.share("deny-one")(pytest.mark.parametrize("scope", ["one", "every"])(test))


@by_scope
@by_effect
def test_no_command_shows_an_agent_what_is_hidden(
    hidden: Canaries, effect: str, scope: str, problems: list[KlError]
) -> None:
    hidden.hide(effect)
    leaks = shown_by_commands(hidden, AGENT, problems, is_share=scope == "one")
    assert not leaks, report(leaks)


@by_effect
def test_no_route_shows_what_is_hidden(hidden: Canaries, effect: str) -> None:
    hidden.hide(effect)
    leaks = dict[str, set[str]]()

    def opened() -> Workspace:
        return open_workspace(hidden.repo.root)

    server = KnowledgeServer(opened, "token", port=0, allow_write=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        for method, path, body in routes(hidden):
            status, text = ask(server, method, path, body)
            assert status < 500 and status != 404, (path, status, text)
            leaks[f"{method} {path}"] = hidden.leaks(text)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    shown = {name: fields for name, fields in leaks.items() if fields}
    print(f"{len(leaks)} interfaces, {len(shown)} show something")
    assert not shown, report(shown)


def ask(server: KnowledgeServer, method: str, path: str, body: bytes) -> tuple[int, str]:
    """Return the status and the text of an answer of the server."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    with closing(connection):
        head = {"Authorization": "Bearer token", "Content-Type": "application/json"}
        connection.request(method, path, body, head)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


async def answered(answer: Awaitable[BaseModel]) -> str:
    """Return an answer of the server, or its error, as the client gets it."""
    try:
        return (await answer).model_dump_json()
    except MCPError as problem:
        return str(problem)


def shown_by_mcp(
    canaries: Canaries, names: Container[str] = (), is_share: bool = False
) -> dict[str, set[str]]:
    """Start `kl mcp`, call each tool (or a share, or those of these names) and read each resource
    of it; return what showed something. AssertionError for a tool that did not run: what fails
    early shows nothing.
    """
    leaks, ran = defaultdict[str, set[str]](set), set[str]()
    ws = open_workspace(canaries.repo.root)
    ids = canaries.ids

    async def work(session: ClientSession) -> None:
        nonlocal ran
        listed = {tool.name for tool in (await session.list_tools()).tools}
        called = list(tools(ws, canaries, is_share=is_share))
        expected = {name for name, _ in called}
        assert expected <= listed and (is_share or expected == listed)
        leaks["list of tools"] = canaries.leaks(await answered(session.list_tools()))
        for name, arguments in called:
            if names and name not in names:
                continue
            text = await answered(session.call_tool(name, arguments))
            ran |= {name} if json.loads(text).get("is_error") is False else set()
            leaks[f"tool {name}"] |= canaries.leaks(text, [json.dumps(arguments)])
        resources = await session.list_resources()
        leaks["list of resources"] = canaries.leaks(resources.model_dump_json())
        templates = (await session.list_resource_templates()).resource_templates
        values = {"kl://adr/{id}": ids["decision"], "kl://package/{id}": ids["package"]}
        assert {one.uri_template for one in templates} == values.keys()
        named = (uri.replace("{id}", name) for uri, name in values.items())
        for uri in {*named, *(str(one.uri) for one in resources.resources)}:
            leaks[uri] = canaries.leaks(await answered(session.read_resource(uri)))
        assert names or expected - ran == PERSONAL_TOOLS & expected

    with_client(canaries.repo, work, "--tools", "all", "--allow-write", seconds=300)
    print(f"{len(leaks)} tools and resources")
    return {name: fields for name, fields in leaks.items() if fields}


@by_scope
@by_effect
def test_the_mcp_server_shows_nothing_that_is_hidden(
    hidden: Canaries, effect: str, scope: str
) -> None:
    hidden.hide(effect)
    leaks = shown_by_mcp(hidden, is_share=scope == "one")
    assert not leaks, report(leaks)


def test_without_a_policy_the_mcp_server_shows_it(hidden: Canaries) -> None:
    shown = shown_by_mcp(hidden, ("context", "decision_read"))
    resources = {f"kl://adr/{hidden.ids['decision']}", f"kl://package/{hidden.ids['package']}"}
    assert shown.keys() >= {"tool context", "tool decision_read", *resources}


def shown_by_api(canaries: Canaries) -> dict[str, set[str]]:
    """Call every method of the Python API for an agent; return method → fields that it showed."""
    leaks = defaultdict[str, set[str]](set)
    for name, arguments in api_calls(canaries):
        knowledge = api.open(canaries.repo.root, agent=AGENT["KL_AGENT"])
        answer = repr(getattr(knowledge, name)(*arguments))
        leaks[name] |= canaries.leaks(answer, [repr(arguments)])
    return {name: fields for name, fields in leaks.items() if fields}


@by_effect
@pytest.mark.share("deny")
def test_the_api_shows_an_agent_nothing_that_is_hidden(hidden: Canaries, effect: str) -> None:
    hidden.hide(effect)
    leaks = shown_by_api(hidden)
    assert not leaks, report(leaks)


def test_without_a_policy_the_api_shows_it(hidden: Canaries) -> None:
    reading = {"build_context", "search", "retrieve", "load_failed_approaches"}
    assert shown_by_api(hidden).keys() >= reading


@by_effect
@pytest.mark.share("deny")
def test_no_hook_gives_an_agent_what_is_hidden(hidden: Canaries, effect: str) -> None:
    hidden.hide(effect)
    leaks = dict[str, set[str]]()
    for agent, event, payload in hook_payloads(hidden.repo.root):
        done = hidden.repo.kl("agents", "hook", event, "--agent", agent, input=payload)
        leaks[f"{agent} {event}"] = hidden.leaks(done.stdout + done.stderr)
    shown = {name: fields for name, fields in leaks.items() if fields}
    print(f"{len(leaks)} interfaces, {len(shown)} show something")
    assert not shown, report(shown)
