"""Every interface of kl, and how the test calls it.

The commands, tools, routes and hooks are read from what kl itself dispatches by; an interface that needs
an argument which nothing here knows is a failure: who adds one states how it is called.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from kl_hooks.api import Knowledge
from kl_hooks.cli.main import kl
from kl_hooks.tools.agent_adapters import AGENTS
from kl_hooks.tools.call import catalogue
from kl_hooks.tools.http_server import ROUTES
from kl_hooks.tools.tool import Tool
from kl_hooks.workspace import Workspace
from tests.interfaces.canaries import FOLDER, PAGES, WORDS, Canaries

HIDDEN_FILE, SHOWN_FILE = f"{FOLDER}secret.py", "src/shop.py"
_VALUES = {
    **dict.fromkeys(("words", "query", "text", "task", "requirements", "hints", "name"), WORDS),
    **dict.fromkeys(("title", "value", "question", "answer", "approach"), "Plain text"),
    **dict.fromkeys(("file", "source", "about", "target", "place"), SHOWN_FILE),
    **dict.fromkeys(("page", "places", "paths"), f"{PAGES}plans.md"),
    "what": HIDDEN_FILE,
    "reason": "because",
    "level": "read",
    "actor": "agent:other",
    "path": "plain",
    "key": "plain",
    "result": "success",
    "event": "SessionStart",
    "agent": "claude",
    "feature_id": "FEAT-1",
    "task_type": "feature",
    "description": "Plain text",
    "command": "true",
    "test": "tests/test_a.py::test_b",
    "symbol": "total",
    "variant": "v1",
    "snapshot_id": "plain",
    "until": "2099-01-01",
    "reader": "junit",
    "transcript": "transcript.jsonl",
    "files": "records.json",
}
"""Argument or required option → what is given for it, where no case below has more."""
OUTPUT, OUTPUT_FILE = "--output", "answer.out"
"""The option of commands that write their answer to a file, and the file."""
_SERVERS = {"mcp": "its tools and resources", "serve": "its routes"}
"""Commands that stay → what of them is called instead."""


_LAST = ("delete", "remove", "clear", "merge", "gc", "mv", "renumber", "uninstall", "migrate")
"""Commands that delete something: they are called after the others."""


class Call(NamedTuple):
    """One call of a command."""

    interface: str
    argv: tuple[str, ...]
    input: str = ""


def leaves(
    command: click.Command, words: tuple[str, ...], parent: click.Context | None
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield the words of every command that is no group, hidden ones too, and the command."""
    context = click.Context(command, info_name=words[-1] if words else "kl", parent=parent)
    context.ensure_object(dict)
    with context.scope(cleanup=False):
        if not isinstance(command, click.Group):
            yield words, command
            return
        for name in dict.fromkeys(command.list_commands(context)):
            below = command.get_command(context, name)
            assert below is not None
            yield from leaves(below, (*words, name), context)


def every_command(root: Path) -> list[tuple[tuple[str, ...], click.Command]]:
    """Return every command that a repository has."""
    context = click.Context(kl, info_name="kl")
    context.ensure_object(dict)["root"] = str(root)
    with context:
        return list(leaves(kl, (), context))


def _cases(canaries: Canaries) -> Mapping[str, list[tuple[str, ...]]]:
    """Return command → arguments, for those that show more with others than the usual ones."""
    ids = canaries.ids
    records = [name for kind, name in ids.items() if kind not in ("claim", "page", "package")]
    node = f"file:{HIDDEN_FILE}"
    graph = [(node,), (f"adr:{ids['decision']}",), (HIDDEN_FILE,)]
    pages = [(f"{PAGES}plans.md",), (ids["decision"],), (".kl/README.md",)]
    return {
        "claim show": [(ids["claim"],)],
        "claim confirm": [(ids["claim"],)],
        "claim add": [("Plain text", "--about", f"file:{HIDDEN_FILE}")],
        "claim list": [(), ("--about", f"file:{HIDDEN_FILE}")],
        "context show": [(ids["package"],)],
        "context why": [(ids["package"], ids["memory"])],
        "context replay": [(ids["package"],)],
        "context TASK": [(WORDS, "--explain"), (WORDS, "--budget", "20000")],
        "context critical": [(), ("--top", "50")],
        "knowledge show": [(one,) for one in records],
        "knowledge accept": [(ids["decision"],), (ids["fact"],)],
        "knowledge reject": [(ids["decision"],), (ids["fact"],)],
        **{f"knowledge {one}": pages for one in ("links", "backlinks", "mentions", "related")},
        "knowledge registry": [(), (ids["decision"],)],
        "knowledge verify": [(), (ids["decision"],)],
        "knowledge export": [(), *(("--kind", one) for one in ("fact", "outcome", "turn"))],
        "knowledge add": [(f"{PAGES}plans.md", "--type", "project-overview")],
        "knowledge import": [("records.json", "--kind", "fact")],
        "decision export": [(), (ids["decision"],)],
        "decision supersede": [(ids["decision"], "ADR-9999")],
        "decision renumber": [(f".kl/knowledge/decisions/{ids['decision']}.md",)],
        "decision record": [("--question", "Which one?", "--answer", "Plain text")],
        **{f"graph {one}": graph for one in ("show", "refs", "callers", "dependents", "neighbors")},
        "graph search": [(WORDS,), ("secret",)],
        "graph symbols": [(HIDDEN_FILE,)],
        "graph path": [(node, f"adr:{ids['decision']}")],
        "graph merge": [(node, f"file:{SHOWN_FILE}")],
        "role show": [(ids["role"],)],
        "turn continue": [
            ("--feature", canaries.value("turn", "feature_id")),
            ("--feature", "FEAT-1"),
        ],
        "turn add": [("--feature", ids["feature"], "--summary", "Plain text")],
        "gate for": [("--type", canaries.value("gate", "task_type")), ("--type", "feature")],
        "feature detect": [(f"{ids['feature']} {WORDS}",)],
        "objective link": [(ids["objective"], ids["task"])],
        "objective status": [(), (ids["objective"],)],
        "task fulfil": [(ids["task"],)],
        **{
            f"skill {one}": [(canaries.value("skill", "title"),), (ids["skill"],)]
            for one in ("show", "context", "use", "versions")
        },
        "skill done": [(ids["skill"],)],
        "skill propose": [("plain-skill", "--description", WORDS)],
        "skill adopt": [(ids["proposal"],)],
        "document show": [(ids["document"],), (f"{PAGES}plans.md",)],
        "document remove": [(ids["document"],)],
        "recall": [("plain",), (ids["memory"],), (WORDS, "--search")],
        "memory context write": [("plain", "plain", "Plain text")],
        "memory context restore": [("plain", "plain")],
        "memory context grant": [("plain", "agent:other")],
        "pool write": [("plain", "plain", "Plain text")],
        "memory feedback": [(ids["memory"], "success")],
        "memory inject": [(), (WORDS,)],
        "failure record": [(canaries.value("failure", "approach"),)],
        "help": [("all",)],
        "stats recall": [()],
        "evidence show": [("HEAD",)],
        "arch explain": [(SHOWN_FILE,), (HIDDEN_FILE,)],
        "arch fix": [(), ("--dry-run",), (HIDDEN_FILE,)],
        "arch mv": [
            (SHOWN_FILE, "src/store.py", "--dry-run"),
            (SHOWN_FILE, "src/store.py", "--dry-run", "--imports"),
            (HIDDEN_FILE, "src/store.py", "--dry-run"),
        ],
        "arch allow": [(SHOWN_FILE, "os", "--until", "2099-01-01", "--reason", "because")],
    }


def calls(canaries: Canaries) -> Iterator[Call]:
    """Yield each call of each command; AssertionError for one that the test can't call."""
    cases = _cases(canaries)
    commands = every_command(canaries.repo.root)
    names = {" ".join(words) for words, _ in commands}
    assert names >= cases.keys(), cases.keys() - names
    unknown = []
    for words, command in sorted(commands, key=lambda one: one[0][-1] in _LAST):
        interface = " ".join(words)
        if interface in _SERVERS or interface == "agents hook":
            continue
        try:
            given = cases.get(interface) or [_usual(canaries, words, command)]
        except KeyError as missing:
            unknown.append(f"kl {interface}: {missing}")
            continue
        outputs = list(_outputs(command))
        head = tuple(word for word in words if word != "TASK")
        writes_file = any(OUTPUT in option.opts for option in command.params)
        for argv in given:
            for chosen in outputs if "--format" not in argv else [()]:
                yield Call(interface, (*head, *chosen, *argv))
                if writes_file:
                    yield Call(interface, (*head, *chosen, OUTPUT, OUTPUT_FILE, *argv))
    assert not unknown, f"say in {__name__} how these are called: {unknown}"


def _outputs(command: click.Command) -> Iterator[tuple[str, ...]]:
    """Yield the options of each form that a command prints its answer in."""
    options = [option for option in command.params if isinstance(option, click.Option)]
    formats = [option for option in options if "--format" in option.opts]
    if not formats:
        yield ()
    for option in formats:
        assert isinstance(option.type, click.Choice)
        yield from (("--format", str(choice)) for choice in option.type.choices)
    if any("--json" in option.opts for option in options):
        yield ("--json",)


def _usual(canaries: Canaries, words: tuple[str, ...], command: click.Command) -> tuple[str, ...]:
    """Return the required arguments and options of a command. KeyError where one is unknown."""
    options, arguments = list[str](), list[str]()
    for one in command.params:
        values = canaries.ids if one.name in ("id", "old", "new", "ids") else {}
        if isinstance(one, click.Argument):
            if one.required or one.nargs != 1 or one.name in ("what", "title", "text", "id"):
                known = values.get(words[0]) or _VALUES.get(str(one.name))
                if known is None and not one.required:
                    continue
                arguments.append(known or _VALUES[str(one.name)])
        elif one.required:
            options += [one.opts[0], _VALUES[str(one.name)]]
    return (*options, *arguments)


def tool_arguments(canaries: Canaries, tool: Tool) -> Iterator[dict[str, Any]]:
    """Yield what a tool is called with. KeyError for an argument that is unknown here."""
    ids = canaries.ids
    kind = tool.name.partition("_")[0]
    named = {**_VALUES, **_TOOL_VALUES, "path": HIDDEN_FILE, "skill": ids["skill"]}
    named |= {"skill_id": ids["skill"], "to": f"adr:{ids['decision']}", "task": WORDS}
    if kind in ids:
        named["id"] = named["old"] = ids[kind]
    elif tool.name.startswith("graph_"):
        named["id"] = f"file:{HIDDEN_FILE}"
    elif tool.name in ("process_document",):
        named["id"] = ids["document"]
    needed = {name: named[name] for name in tool.needs}
    yield needed
    if tool.name == "recall":
        yield {"key": ids["memory"]}
    if "task" in tool.takes and "task" not in needed:
        yield {**needed, "task": WORDS, "options": {"weight": "high"}, "budget": "8000"}
    if tool.name.startswith("graph_"):
        for other in (f"adr:{ids['decision']}", ids["memory"]):
            yield {name: other if name == "id" else value for name, value in needed.items()}


_TOOL_VALUES = {
    "claim": "Plain text",
    "content": "Plain text",
    "context": "plain",
    "decision": "Plain text",
    "entity": "plain",
    "finding": "Plain text",
    "from": f"file:{HIDDEN_FILE}",
    "mode": "plain",
    "new": "ADR-9999",
    "pool": "plain",
    "prevention": "Plain text",
    "role": "plain",
    "snapshot": "1",
    "type": "feature",
    "use": "plain",
}


def tools(ws: Workspace, canaries: Canaries) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each call of each tool, reading ones first; AssertionError for an unknown argument."""
    unknown = []
    every = sorted(catalogue(ws).values(), key=lambda one: (one.writes, one.name))
    # again after those that write: what was written must repeat nothing that is hidden
    for tool in (*every, *(one for one in every if not one.writes)):
        try:
            for arguments in tool_arguments(canaries, tool):
                yield tool.name, arguments
        except KeyError as missing:
            unknown.append(f"{tool.name}: {missing}")
    assert not unknown, f"say in {__name__} how these are called: {unknown}"


def api_calls(canaries: Canaries) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the name and the arguments of each call of `kl_hooks.api.Knowledge`, reading ones twice:
    what was written in between must repeat nothing that is hidden. AssertionError for a method that
    is unknown here.
    """
    ids = canaries.ids
    known: dict[str, list[tuple[Any, ...]]] = {
        "problem": [()],
        "verify": [()],
        "build_context": [(WORDS,)],
        "search": [(WORDS, (), 100)],
        "retrieve": [(name,) for name in (*ids.values(), f"claim:{ids['claim']}")],
        "record": [("failure", {"title": "Plain", "approach": "Plain text"})],
        "record_claim": [("Plain text", (), f"file:{HIDDEN_FILE}")],
        "load_critical_context": [(WORDS, ids["feature"], "feature-build", 50)],
        "load_feature_overview": [(ids["feature"],)],
        "load_critical_adrs": [()],
        "load_failed_approaches": [(WORDS,)],
        "load_role_context": [(canaries.value("role", "title"),)],
        "capture_task_outcome": [("Plain text",)],
        "find_similar_task_outcomes": [(WORDS,)],
    }
    methods = {
        name
        for name, value in vars(Knowledge).items()
        if callable(value) and not name.startswith("_")
    }
    assert methods == known.keys(), (
        f"say in {__name__} how these are called: {methods ^ known.keys()}"
    )
    written = ("record", "record_claim", "capture_task_outcome")
    reading = [name for name in known if name not in written]
    for name in (*reading, *written, *reading):
        yield from ((name, arguments) for arguments in known[name])


def routes(canaries: Canaries) -> Iterator[tuple[str, str, bytes]]:
    """Yield method, path and body of each REST route."""
    ids = canaries.ids
    given = {"/rag/search": "?query=lantern", "/rag/query": "?query=lantern"}
    bodies = {
        "/knowledge/context/build": {"task": WORDS},
        "/rag/knowledge_bases": {"name": "plain"},
        "/rag/documents": {"text": "Plain text"},
        "/tools/{name}": {"query": WORDS},
    }
    for route in ROUTES:
        path = route.path.replace("{name}", "knowledge_search")
        named = ids["package"] if "context/" in path else ids["document"]
        path = path.replace("{id}", named) + given.get(route.path, "")
        body = bodies.get(route.path, {})
        yield route.method, path, json.dumps(body).encode() if body else b""


def hook_payloads(root: Path) -> Iterator[tuple[str, str, str]]:
    """Yield agent, event and payload of each event that an agent sends."""
    published = json.loads(
        (Path(__file__).parent.parent / "tools/payloads.json").read_text(encoding="utf-8")
    )
    assert published.keys() >= AGENTS.keys(), "an agent of which no payload is known"
    for agent in AGENTS:
        for one in published[agent]["events"]:
            payload = {"hook_event_name": one["event"], **published[agent]["common"]}
            payload |= one["payload"]
            if "prompt" in payload:
                payload["prompt"] = WORDS
            yield agent, one["event"], json.dumps(payload).replace("{root}", str(root))
