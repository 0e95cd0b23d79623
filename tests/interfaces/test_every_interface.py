"""What the policy hides is shown to an agent through no interface: commands, tools, routes, resources,
hooks and exports, each of which is enumerated.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import pytest

from kl_hooks import api
from kl_hooks.errors import KlError
from kl_hooks.tools.agent_adapters import AGENTS
from kl_hooks.tools.call import call
from kl_hooks.tools.http_server import KnowledgeServer
from kl_hooks.tools.mcp_server import _decisions, read_resource
from kl_hooks.workspace import Workspace, open_workspace
from tests.interfaces.canaries import AGENT, Canaries, plant
from tests.interfaces.commands import OUTPUT_FILE, api_calls, calls, hook_payloads, routes, tools
from tests.support import Checkout

pytestmark = pytest.mark.slow


@pytest.fixture
def hidden(repo: Checkout) -> Canaries:
    """A repository whose knowledge is hidden by the policy, and what an agent may write into."""
    canaries = plant(repo)
    repo.git("config", "kl.agents", " ".join(AGENTS))
    return canaries


def report(leaks: Mapping[str, set[str]]) -> str:
    return "\n".join(
        f"{interface}: {', '.join(sorted(leaks[interface]))}" for interface in sorted(leaks)
    )


def shown_by_commands(canaries: Canaries, environ: Mapping[str, str]) -> dict[str, set[str]]:
    """Call every command; return interface → fields that it showed."""
    leaks, interfaces, files = defaultdict[str, set[str]](set), set[str](), set[str]()
    for one in calls(canaries):
        done = canaries.repo.kl(*one.argv, env=environ, input=one.input)
        interfaces.add(one.interface)
        file = canaries.repo.root / OUTPUT_FILE
        written = ""
        if file.is_file():
            files.add(one.interface)
            written = file.read_text("utf-8")
            file.unlink()
        if found := canaries.leaks(done.stdout + done.stderr + written, one.argv):
            leaks[one.interface] |= found
    print(f"{len(interfaces)} interfaces, {len(files)} write files, {len(leaks)} show something")
    assert {"context TASK", "knowledge export"} <= files
    return leaks


def by_effect(test: Any) -> Any:
    """Run a test under a policy that denies, and under one that redacts."""
    return pytest.mark.parametrize("effect", ["deny", "redact"])(test)


@by_effect
def test_no_command_shows_an_agent_what_is_hidden(hidden: Canaries, effect: str) -> None:
    hidden.hide(effect)
    leaks = shown_by_commands(hidden, AGENT)
    assert not leaks, report(leaks)


@by_effect
def test_no_tool_shows_what_is_hidden(hidden: Canaries, effect: str) -> None:
    hidden.hide(effect)
    ws, leaks = open_workspace(hidden.repo.root), defaultdict[str, set[str]](set)
    for name, arguments in tools(ws, hidden):
        given = json.dumps(arguments)
        answer, _ = call(open_workspace(hidden.repo.root), name, given.encode(), allow_write=True)
        leaks[name] |= hidden.leaks(json.dumps(answer), [given])
    shown = {name: fields for name, fields in leaks.items() if fields}
    print(f"{len(leaks)} interfaces, {len(shown)} show something")
    assert not shown, report(shown)


@by_effect
def test_no_route_and_no_resource_shows_what_is_hidden(hidden: Canaries, effect: str) -> None:
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
    for uri in (f"kl://adr/{hidden.ids['decision']}", f"kl://package/{hidden.ids['package']}"):
        try:
            leaks[uri] = hidden.leaks(read_resource(opened(), uri))
        except KlError as problem:
            leaks[uri] = hidden.leaks(str(problem))
    leaks["list of resources"] = hidden.leaks(repr(_decisions(opened())))
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


def shown_by_api(canaries: Canaries) -> dict[str, set[str]]:
    """Call every method of the Python API for an agent; return method → fields that it showed."""
    leaks = defaultdict[str, set[str]](set)
    for name, arguments in api_calls(canaries):
        knowledge = api.open(canaries.repo.root, agent=AGENT["KL_AGENT"])
        answer = repr(getattr(knowledge, name)(*arguments))
        leaks[name] |= canaries.leaks(answer, [repr(arguments)])
    return {name: fields for name, fields in leaks.items() if fields}


@by_effect
def test_the_api_shows_an_agent_nothing_that_is_hidden(hidden: Canaries, effect: str) -> None:
    hidden.hide("")
    reading = {"build_context", "search", "retrieve", "load_failed_approaches"}
    assert shown_by_api(hidden).keys() >= reading, "without a policy everything is shown"
    hidden.hide(effect)
    leaks = shown_by_api(hidden)
    assert not leaks, report(leaks)


@by_effect
def test_no_hook_gives_an_agent_what_is_hidden(hidden: Canaries, effect: str) -> None:
    hidden.hide(effect)
    leaks = dict[str, set[str]]()
    for agent, event, payload in hook_payloads(hidden.repo.root):
        done = hidden.repo.kl("agents", "hook", event, "--agent", agent, input=payload)
        leaks[f"{agent} {event}"] = hidden.leaks(done.stdout + done.stderr)
    shown = {name: fields for name, fields in leaks.items() if fields}
    print(f"{len(leaks)} interfaces, {len(shown)} show something")
    assert not shown, report(shown)
