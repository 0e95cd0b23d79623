"""Every interface of kl, and how the test calls it.

The commands, tools, routes and hooks are read from what kl itself dispatches by; an interface that
needs an argument which nothing here knows is a failure: who adds one states how it is called.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from kl_hooks.agents.adapters import AGENTS
from kl_hooks.api import Knowledge
from kl_hooks.cli.groups import LazyGroup
from kl_hooks.cli.main import kl
from kl_hooks.errors import CLEAN, FINDINGS, Denied, ForPeople, KlError, NotFound
from kl_hooks.model.kind import Kind
from kl_hooks.records.query import get_record
from kl_hooks.tools.call import catalogue
from kl_hooks.tools.http_server import ROUTES
from kl_hooks.tools.tool import Tool
from kl_hooks.workspace import Workspace
from tests.interfaces.canaries import AGENT, FOLDER, PAGES, WORDS, Canaries, plain_values

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
OUTPUT_FILES = {"decision export": "answer"}
"""Command → where it writes, for one that writes a folder."""
INPUT = {"finding add": json.dumps({"tool_name": "Read", "tool_input": {"file_path": SHOWN_FILE}})}
"""Command → what it reads from stdin."""
_OF_KIND = ("new", "create", "edit", "show", "history", "delete")
_SERVERS = {"mcp": "its tools and resources", "serve": "its routes"}
"""Commands that stay → what of them is called instead."""


GRAPH_VERBS = ("show", "refs", "callers", "uses", "dependents")
_LAST = (
    *(
        "delete",
        "remove",
        "clear",
        "merge",
        "gc",
        "mv",
        "renumber",
        "uninstall",
        "migrate",
        "prune",
    ),
    *("archive", "close", "undo"),
)
"""Commands that delete something: they are called after the others."""
Arguments = tuple[str, ...] | Callable[[], tuple[str, ...]]
"""Of a call; a function makes first what the call takes away."""
FINDING = frozenset(
    ("arch check", "arch fix", "arch mv", "document refresh", "knowledge check", "skill check")
)
"""Commands that end with 1 where they find something; all others end with 0."""
PERSONAL = frozenset(
    (
        *("decision accept", "decision deprecate", "decision reject", "evidence accept"),
        "graph merge",
        *("knowledge accept", "knowledge reject"),
        *("knowledge clear", "memory approve", "memory disprove", "memory reject"),
        *(
            f"{kind} {verb}"
            for kind in ("fact", "feature", "gate", "guide", "mode", "objective", "role")
            for verb in ("accept", "reject")
        ),
        *("memory promote", "memory verify"),
        *("proposal approve", "proposal reject", "proposal review"),
        *("skill activate", "skill adopt", "skill archive", "skill delete", "skill deprecate"),
        *("skill create", "skill new", "skill promote"),
        *("store grant", "store migrate", "store upgrade", "store use"),
        *("trust add", "trust remove", "trust revoke", "uninstall"),
    )
)
"""Commands that are refused to agents."""


class Call(NamedTuple):
    """One call of a command, by an agent."""

    interface: str
    argv: tuple[str, ...]
    input: str = ""

    def outcome(self, exit_code: int, problem: KlError | None, hidden: Iterable[str]) -> str:
        """Return how the call ended: `ran`, `denied`, `refused`, or what is wrong with it.
        `hidden`: names of what the policy hides, which may be as unknown as what is not there.
        """
        if exit_code == CLEAN or (exit_code == FINDINGS and self.interface in FINDING):
            return "ran"
        asked = " ".join(self.argv)
        is_hidden = any(name in asked for name in hidden)
        if isinstance(problem, Denied) or (isinstance(problem, NotFound) and is_hidden):
            return "denied"
        if isinstance(problem, ForPeople):
            return "refused"
        return f"kl {asked}: exit code {exit_code}: {problem}"


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
        former = command.former_commands() if isinstance(command, LazyGroup) else []
        for name in dict.fromkeys((*command.list_commands(context), *former)):
            below = command.get_command(context, name)
            assert below is not None
            yield from leaves(below, (*words, name), context)


def every_command(root: Path) -> list[tuple[tuple[str, ...], click.Command]]:
    """Return every command that a repository has."""
    context = click.Context(kl, info_name="kl")
    context.ensure_object(dict)["root"] = str(root)
    with context:
        return list(leaves(kl, (), context))


def _cases(canaries: Canaries) -> Mapping[str, list[Arguments]]:
    """Return command → arguments, for those that show more with others than the usual ones."""
    ids, open_ids = canaries.ids, canaries.open_ids
    numbers, importers = itertools.count(1), itertools.cycle(("tools.first", "tools.second"))
    records = [*ids_of_records(ids), *ids_of_records(open_ids)]
    node, shown_node = f"file:{HIDDEN_FILE}", f"file:{SHOWN_FILE}"
    graph = [(node,), (f"adr:{ids['decision']}",), (HIDDEN_FILE,), (shown_node,)]
    graph += [(f"adr:{open_ids['decision']}",)]
    pages = [(f"{PAGES}plans.md",), (ids["decision"],), (open_ids["decision"],), ("docs/open.md",)]
    decisions = [(ids["decision"],), (open_ids["decision"],)]
    claims = [(ids["claim"],), (open_ids["claim"],)]
    test = ("tests/test_shop.py::test_total",)
    new = canaries.open_record

    def unused(*words: str) -> Callable[[], tuple[str, ...]]:
        """Arguments with a name that no other call has."""
        return lambda: (f"plain-{next(numbers)}", *words)

    def after(*words: str) -> Callable[[], tuple[str, ...]]:
        """The last word, after this command."""

        def argument() -> tuple[str, ...]:
            assert canaries.repo.kl(*words, env=AGENT).returncode == 0
            return (words[-1],)

        return argument

    def open_context() -> tuple[str, ...]:
        return after("memory", "context", "create", f"plain-{next(numbers)}")()

    def open_pool() -> tuple[str, ...]:
        return after("pool", "create", f"plain-{next(numbers)}")()

    def new_document() -> tuple[str, ...]:
        path = f"docs/plain-{next(numbers)}.md"
        canaries.repo.write(path, f"# {path}\n")
        added = canaries.repo.kl("document", "add", path, "--format", "json", env=AGENT)
        return (re.findall(r"DOC-[0-9a-f]+", added.stdout)[0],)

    def decision_file() -> tuple[str, ...]:
        ws = canaries.repo.workspace()
        return (get_record(ws, new("decision")).path,)

    def hidden_decision_file() -> tuple[str, ...]:
        return (get_record(canaries.repo.workspace(), canaries.hidden_record("decision")).path,)

    return {
        "claim show": [*claims],
        "claim confirm": [*claims],
        "claim add": [("Plain text", "--about", node), ("Plain text", "--about", shown_node)],
        "claim list": [(), ("--about", node)],
        "context show": [(ids["package"],)],
        "context why": [(one["decision"], ids["package"]) for one in (ids, open_ids)],
        "context replay": [()],
        "context TASK": [(WORDS, "--explain"), (WORDS, "--budget", "20000")],
        "context critical": [(), ("--top", "50")],
        "knowledge show": [*((one,) for one in records), (f"claim:{open_ids['claim']}",)],
        "knowledge accept": [(ids["decision"],), (ids["fact"],), (open_ids["fact"],)],
        "knowledge reject": [(ids["decision"],), (ids["fact"],), (open_ids["fact"],)],
        **{f"knowledge {one}": pages for one in ("links", "backlinks", "mentions", "related")},
        "knowledge registry": [(), ("kinds", "skills")],
        "knowledge verify": [(), *decisions],
        "knowledge export": [("--kind", one) for one in ("fact", "outcome", "turn", "decision")],
        "knowledge add": [
            (f"{PAGES}plans.md", "--type", "project-overview"),
            ("docs/open.md", "--type", "project-overview"),
        ],
        "knowledge import": [("facts.json", "--kind", "fact")],
        "decision export": [("--force", *one) for one in ((), *decisions)],
        "decision supersede": [
            (ids["decision"], open_ids["decision"]),
            lambda: (new("decision"), new("decision")),
        ],
        "decision renumber": [
            hidden_decision_file,
            decision_file,
        ],
        "decision record": [("--question", "Which one?", "--answer", "Plain text")],
        "decision import": [
            *((one, "--format", "auto") for one in (f"{PAGES}plans.md", "docs/adr/0001-plain.md")),
            ("docs/adr/0001-plain.md", "--format", "madr", "--json"),
        ],
        **{f"graph {verb}": graph for verb in GRAPH_VERBS if verb != "uses"},
        "graph uses": [(node,), (HIDDEN_FILE,), ("tools.first.FIRST",), ("src.shop.total",)],
        "graph neighbors": [(node,), (HIDDEN_FILE,), (shown_node,)],
        "graph search": [(WORDS,), ("secret",)],
        "graph symbols": [(HIDDEN_FILE,), (SHOWN_FILE,)],
        "graph path": [
            (node, f"adr:{ids['decision']}"),
            (shown_node, "file:tools/first.py"),
        ],
        "graph merge": [(ids["memory"], open_ids["memory"]), lambda: (new("fact"), new("fact"))],
        "report": [
            *(
                ("--format", shape, *more)
                for shape in ("json", "html")
                for more in ((), ("--full",))
            )
        ],
        "role show": [(ids["role"],), (open_ids["role"],)],
        "turn continue": [
            ("--feature", canaries.value("turn", "feature_id")),
            ("--feature", "FEAT-1"),
        ],
        "turn add": [("--feature", ids["feature"], "--summary", "Plain text")],
        "gate for": [
            ("--type", canaries.value("gate", "task_type")),
            ("--type", canaries.open_value("gate", "task_type")),
        ],
        "feature detect": [(f"{ids['feature']} {WORDS}",), (f"{open_ids['feature']} {WORDS}",)],
        "objective link": [
            (ids["objective"], ids["task"]),
            (open_ids["objective"], open_ids["task"]),
        ],
        "objective status": [(), (ids["objective"],), (open_ids["objective"],)],
        "task fulfil": [(ids["task"],), lambda: (new("task"),)],
        **{
            f"skill {one}": [(canaries.value("skill", "title"),), (ids["skill"],), ("plain-skill",)]
            for one in ("show", "context", "use", "versions")
        },
        "skill done": [after("skill", "use", "plain-skill")],
        **{f"skill {one}": [(open_ids["old skill"],)] for one in ("activate", "archive")},
        "skill propose": [unused("--description", WORDS)],
        "skill adopt": [(ids["proposal"],), (open_ids["proposal"],)],
        "skill promote": [("plain-skill", "b")],
        "document show": [(ids["document"],), (f"{PAGES}plans.md",), ("docs/open.md",)],
        "document add": [(f"{PAGES}plans.md",), ("docs/open.md",)],
        **{
            f"document {one}": [(f"{PAGES}plans.md",), ("docs/open.md",)]
            for one in ("new", "create")
        },
        **{f"memory {one}": [unused()] for one in ("add", "new", "create")},
        "document restore": [after("document", "archive", open_ids["document"])],
        "document remove": [(ids["document"],), new_document],
        "document delete": [(ids["document"], "--yes"), lambda: (*new_document(), "--yes")],
        "knowledge clear": [("--yes",)],
        "document refresh": [(ids["document"],), (open_ids["document"],)],
        "finding add": [("--hook",)],
        "finding import": [("transcript.jsonl",)],
        "recall": [("plain",), (ids["memory"],), ("plain text", "--search")],
        "forget": [after("remember", "--ttl", "60", "--", "short", "short")],
        "memory edit": [(one["memory"], "--title", "Plain") for one in (ids, open_ids)],
        "memory import": [("memories.json",)],
        "memory context create": [unused()],
        "memory context show": [("plain",)],
        "memory context snapshot": [("plain",)],
        "memory context write": [("plain", "plain", "Plain text")],
        "memory context restore": [("plain", open_ids["snapshot"])],
        **{f"memory context {one}": [("plain", "agent:other")] for one in ("grant", "revoke")},
        "memory context archive": [open_context],
        "pool create": [unused()],
        "pool read": [("plain",)],
        "pool close": [open_pool],
        **{f"pool {one}": [("plain", "agent:other")] for one in ("grant", "revoke")},
        "pool write": [("plain", "plain", "Plain text")],
        "pool merge": [("plain", '{"plain": 1}')],
        "memory feedback": [(one["memory"], "positive") for one in (ids, open_ids)],
        "memory inject": [(), (WORDS,)],
        "failure record": [(canaries.value("failure", "approach"),)],
        "help": [("all",)],
        "stats recall": [()],
        "evidence accept": [("--reason", "because")],
        "evidence import": [("junit", "junit.xml")],
        "evidence show": [(open_ids["run"],), test],
        "proof symbols": [test],
        "proof tests": [("src.shop.total",)],
        "proof why": [test],
        "store grant": [(WORDS, "reader")],
        "tool": [("knowledge_search", json.dumps({"query": WORDS})), ("--list",)],
        "arch explain": [(SHOWN_FILE,), (HIDDEN_FILE,)],
        "arch fix": [(), ("--dry-run",), (HIDDEN_FILE,)],
        "arch mv": [
            (SHOWN_FILE, "src/store.py", "--dry-run"),
            (SHOWN_FILE, "src/store.py", "--dry-run", "--imports"),
            (HIDDEN_FILE, "src/store.py", "--dry-run"),
        ],
        "arch allow": [
            lambda: (
                next(importers),
                *("src.shop", "--until", "2099-01-01", "--reason", "because"),
            )
        ],
    }


def ids_of_records(ids: Mapping[str, str]) -> list[str]:
    """Return those that are IDs of records."""
    others = ("claim", "page", "package", "run", "snapshot")
    return [identifier for kind, identifier in ids.items() if kind not in others]


def _cases_of_kind(canaries: Canaries, kind: Kind, name: str) -> list[Arguments]:
    """Return the arguments of a command that every kind has, for a hidden record and an open
    one.
    """
    hidden, shown = canaries.ids[kind.name], canaries.open_ids[kind.name]
    verb = next((one for one in kind.verbs if one.name == name), None)
    if name in ("new", "create"):
        return [lambda: _new_record(canaries, kind)]
    if name == "edit":
        return [(identifier, "--title", "Plain text") for identifier in (hidden, shown)]
    needs = ("--yes",) if name == "delete" else ()
    status = ""
    if verb is not None:
        needs = tuple(word for field in verb.needs for word in _option(field, "Plain text"))
        status = verb.of[0] if verb.of else ""
    # files of skills, and documents, are made in other ways
    is_fresh = kind.name not in ("skill", "document") and (verb is not None or name == "delete")
    open_case: Arguments = (shown, *needs)
    if is_fresh:
        open_case = lambda: (canaries.open_record(kind.name, status), *needs)  # noqa: E731
    now = get_record(canaries.repo.workspace(), hidden).status
    is_applicable = verb is None or not verb.of or now in verb.of
    return [*([(hidden, *needs)] if is_applicable else []), open_case]


def _new_record(canaries: Canaries, kind: Kind) -> tuple[str, ...]:
    """Return the options of a new record, with an ID that no other has."""
    unique = f"Plain {canaries.number()}"
    values = plain_values(kind) | dict.fromkeys(("title", *kind.identity), unique)
    return tuple(word for pair in values.items() for word in _option(*pair))


def _option(name: str, value: Any) -> Iterator[str]:
    for one in value if isinstance(value, list) else [value]:
        yield from (f"--{name.replace('_', '-')}", str(one))


def of_other_kinds(kinds: Container[str], names: Iterable[str], separator: str) -> set[str]:
    """Return the names that need no call, since that of another kind is called: what most kinds
    have, such as `list`, is one function. The kinds take turns.
    """
    owners = defaultdict[str, list[str]](list)
    for name in sorted(names):
        kind, _, verb = name.partition(separator)
        if kind in kinds and verb:
            owners[verb].append(name)
    most = max(map(len, owners.values()))
    shared = {verb: of for verb, of in owners.items() if len(of) > most // 2}
    turns = {of[turn % len(of)] for turn, of in enumerate(shared.values())}
    return {name for of in shared.values() for name in of} - turns


def calls(
    canaries: Canaries, *, first_only: bool = False, is_share: bool = False
) -> Iterator[Call]:
    """Yield each call of each command; AssertionError for one that the test can't call.
    `first_only`: of each command one call; what only the others need is not made. `is_share`: what
    most kinds have is called for one of them, and each call prints one form: the forms take turns.
    """
    cases = _cases(canaries)
    commands = every_command(canaries.repo.root)
    names = {" ".join(words) for words, _ in commands}
    assert names >= cases.keys(), cases.keys() - names
    unknown = []
    kinds = canaries.repo.workspace().kinds
    omitted = of_other_kinds(kinds, names, " ") if is_share else set[str]()
    turns = itertools.count()
    for words, command in sorted(commands, key=lambda one: one[0][-1] in _LAST):
        interface = " ".join(words)
        if interface in _SERVERS or interface == "agents hook" or interface in omitted:
            continue
        kind, is_of_kind = kinds.get(words[0]), words[-1] in _OF_KIND and len(words) == 2
        given = cases.get(interface, [])
        if not given and kind and (is_of_kind or words[-1] in {one.name for one in kind.verbs}):
            given = _cases_of_kind(canaries, kind, words[-1])
        try:
            given = given or [_usual(canaries, words, command)]
        except KeyError as missing:
            unknown.append(f"kl {interface}: {missing}")
            continue
        every = _calls_of(words, command, given, turns if is_share else None)
        yield from itertools.islice(every, 1 if first_only else None)
    assert not unknown, f"say in {__name__} how these are called: {unknown}"


def _calls_of(
    words: tuple[str, ...],
    command: click.Command,
    given: list[Arguments],
    turns: Iterator[int] | None,
) -> Iterator[Call]:
    """Yield the calls of a command in each form of its output; in one, if there are turns."""
    interface = " ".join(words)
    head = tuple(word for word in words if word != "TASK")
    writes_file = any(OUTPUT in option.opts for option in command.params)
    outputs = list(_outputs(command))
    for arguments in given:
        has_format = not callable(arguments) and "--format" in arguments
        forms = [()] if has_format else outputs
        if turns is not None:
            forms = [forms[next(turns) % len(forms)]]
        for chosen in forms:
            argv = arguments() if callable(arguments) else arguments
            yield Call(interface, (*head, *chosen, *argv), INPUT.get(interface, ""))
            if writes_file:
                file = OUTPUT_FILES.get(interface, OUTPUT_FILE)
                yield Call(interface, (*head, *chosen, OUTPUT, file, *argv))


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
    yield _open_arguments(canaries, tool)
    if tool.name == "recall":
        yield {"key": ids["memory"]}
    if "task" in tool.takes and "task" not in needed:
        yield {**needed, "task": WORDS, "options": {"weight": "high"}, "budget": "8000"}
    if tool.name.startswith("graph_"):
        for other in (f"adr:{ids['decision']}", ids["memory"]):
            yield {name: other if name == "id" else value for name, value in needed.items()}


def _open_arguments(canaries: Canaries, tool: Tool) -> dict[str, Any]:
    """Return arguments with which a tool runs to its end, about what an agent may see."""
    open_ids, number = canaries.open_ids, canaries.number()
    kind, _, what = tool.name.partition("_")
    named = {**_VALUES, **_TOOL_VALUES, "task": WORDS, "path": SHOWN_FILE, "page": "docs/open.md"}
    named |= {"skill": "plain-skill", "skill_id": "plain-skill", "to": "file:tools/first.py"}
    named |= {"from": f"file:{SHOWN_FILE}", "key": "plain", "about": f"file:{SHOWN_FILE}"}
    named["context"] = f"plain-{number}"
    if kind in open_ids:
        named["id"] = named["old"] = open_ids[kind]
    if what == "delete" or tool.name in ("task_fulfil", "decision_supersede"):
        named["id"] = named["old"] = canaries.open_record(kind)
    if tool.name == "task_reopen":
        named["id"] = canaries.open_record("task", "done")
    if tool.name == "decision_supersede":
        named["new"] = canaries.open_record("decision")
    if kind == "graph":
        named |= {"id": f"file:{SHOWN_FILE}", "name": "src.shop.total"}
    if tool.name == "process_document":
        named["id"] = open_ids["document"]
    if tool.name in ("skill_propose", "create_knowledge_base"):
        named["name"] = f"plain-{number}"
    if tool.name in ("pool_close", "pool_grant"):
        named["pool"] = _made(canaries, "pool", "create", f"plain-{number}")
    if tool.name.startswith("persistent_context_") and tool.name != "persistent_context_create":
        place = named["context"] = _made(canaries, "memory", "context", "create", f"plain-{number}")
        _made(canaries, "memory", "context", "snapshot", place)
        shown = canaries.repo.kl(
            "memory", "context", "show", place, "--format", "json", env=UNNAMED
        )
        named["snapshot"] = json.loads(shown.stdout)["snapshots"][0]["id"]
    if tool.name == "skill_done":
        _made(canaries, "skill", "use", "plain-skill")
        named["use"] = open_ids["skill"]
    if tool.name == "gate_for":
        gate = get_record(canaries.repo.workspace(), canaries.open_record("gate", "active"))
        named["type"] = gate.text("task_type")
    needed = {name: named[name] for name in tool.needs}
    if what == "update":
        needed["title"] = "Plain text"
    extra = {"gate_for": ("type",), "record_claim": ("about",), "write_shared_memory": ("key",)}
    extra |= {f"persistent_context_{one}": ("context",) for one in ("grant", "restore", "snapshot")}
    return needed | {name: named[name] for name in extra.get(tool.name, ())}


def _made(canaries: Canaries, *words: str) -> str:
    """Run a command as the agent that calls the tools; return its last word."""
    done = canaries.repo.kl(*words, env=UNNAMED)
    assert done.returncode == 0, done.stderr
    return words[-1]


UNNAMED = {"KL_AGENT": "unnamed"}
PERSONAL_TOOLS = frozenset(("skill_create",))
"""Tools that are refused to agents."""


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


def tools(
    ws: Workspace, canaries: Canaries, *, is_share: bool = False
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each call of each tool, reading ones first; AssertionError for an unknown argument.
    `is_share`: what most kinds have is called for one of them, and reading ones only last.
    """
    unknown = []
    every = sorted(catalogue(ws).values(), key=lambda one: (one.writes, one.name))
    omitted = set[str]()
    if is_share:
        omitted = of_other_kinds(ws.kinds, (tool.name for tool in every), "_")
    reading = [tool for tool in every if not tool.writes]
    writing = [tool for tool in every if tool.writes]
    # again after those that write: what was written must repeat nothing that is hidden
    for tool in (*([] if is_share else reading), *writing, *reading):
        if tool.name in omitted:
            continue
        try:
            for arguments in tool_arguments(canaries, tool):
                yield tool.name, arguments
        except KeyError as missing:
            unknown.append(f"{tool.name}: {missing}")
    assert not unknown, f"say in {__name__} how these are called: {unknown}"


def api_calls(canaries: Canaries) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the name and the arguments of each call of `kl_hooks.api.Knowledge`, reading ones
    twice: what was written in between must repeat nothing that is hidden. AssertionError for a
    method that is unknown here.
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
