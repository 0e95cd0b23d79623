"""Register our hooks and the MCP server in the JSON files of a coding agent, in this clone; remove
exactly that again.

What others wrote in these files stays, byte for byte: members are added and removed as text.
Objects, lists and files that were made for our entries are noted in the state directory
(`agents/installed.json`), so that removing leaves none of them and takes nothing else.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from kl_hooks.agents.adapters import AGENTS, ASKING, FOLDER, PYTHON, SETTING, Agent, Moment
from kl_hooks.errors import UsageProblem
from kl_hooks.git.repository import Repository, git_in
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.shipped import form
from kl_hooks.store.files import read_small, write_atomic
from kl_hooks.store.state import prepare_state
from kl_hooks.workspace import Workspace

_STRING: Final = lazy_pattern(r'"(?:[^"\\]|\\.)*"')
_SCALAR: Final = lazy_pattern(r"[^\s,\]}]+")
_SPACE: Final = lazy_pattern(r"[ \t\r\n]*")


@dataclass(slots=True)
class Node:
    """A value and where it is in the text."""

    start: int
    end: int = 0
    value: Any = None
    """Of a text, number or word; of an object or a list None."""
    opening: str = ""
    """`{` or `[`; empty for other values."""
    children: list[tuple[str, int, Node]] = field(default_factory=list)
    """(key, where it starts, value); in a list the key is its place, as text."""

    def get(self, key: str) -> Node | None:
        """The last member of this name, as `json.loads` takes it."""
        return next((node for name, _, node in reversed(self.children) if name == key), None)

    def items(self, path: tuple[str, ...]) -> Iterator[tuple[str, Node]]:
        """Yield (key or place, value) of what is in the object or list at a path; nothing where
        there is none.
        """
        for name in path:
            below = self.get(name)
            if below is None:
                return
            self = below
        yield from ((name, child) for name, _, child in self.children)


def parse(text: str, place: str) -> Node:
    """Return the object in a file. UsageProblem with file and line for what is none."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as problem:
        hint = (
            "Nothing was changed. Comments and trailing commas are not JSON; correct it, or move it"
            " away."
        )
        raise UsageProblem(
            f"is no JSON: {problem.msg}.", place=f"{place}:{problem.lineno}", hint=hint
        ) from None
    except RecursionError:
        raise UsageProblem(
            "is nested too deeply.", place=f"{place}:1", hint="Nothing was changed."
        ) from None
    if not isinstance(value, dict):
        raise UsageProblem("is no JSON object.", place=f"{place}:1", hint="Nothing was changed.")
    return _node(text, _skip(text, 0))


def _skip(text: str, start: int) -> int:
    space = _SPACE.match(text, start)
    if space:
        return space.end()
    return start


def _node(text: str, position: int) -> Node:
    """The value that starts at a place of a text that is known to be JSON."""
    node = Node(position)
    if text[position] not in "{[":
        token = _STRING.match(text, position) or _SCALAR.match(text, position)
        assert token
        node.end, node.value = token.end(), json.loads(token[0])
        return node
    node.opening = text[position]
    position = _skip(text, position + 1)
    while text[position] not in "}]":
        start = position
        key = str(len(node.children))
        if node.opening == "{":
            token = _STRING.match(text, position)
            assert token
            key = json.loads(token[0])
            position = _skip(text, _skip(text, token.end()) + 1)  # behind the colon
        child = _node(text, position)
        node.children.append((key, start, child))
        position = _skip(text, child.end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    node.end = position + 1
    return node


def insert(
    text: str, path: tuple[str, ...], key: str | None, value: Any, place: str
) -> tuple[str, list[str]]:
    """Return the text with a value added, and the paths (`a.b`) of objects and lists that were made
    for it.

    `path`: the keys of the object (with `key`) or list (without) that it belongs to; what is
    missing of it is made. UsageProblem where something else is in the way.
    """
    root = node = parse(text, place)
    for depth, name in enumerate(path):
        below = node.get(name)
        if below is None:
            wrapped: Any = {key: value} if key is not None else [value]
            for step in reversed(path[depth + 1 :]):
                wrapped = {step: wrapped}
            created = [".".join(path[: end + 1]) for end in range(depth, len(path))]
            return _added(text, root, node, depth, name, wrapped), created
        node = below
        _require(
            text,
            node,
            "[" if depth == len(path) - 1 and key is None else "{",
            ".".join(path[: depth + 1]),
            place,
        )
    return _added(text, root, node, len(path), key, value), []


def _require(text: str, node: Node, opening: str, path: str, place: str) -> None:
    if node.opening != opening:
        line = text.count("\n", 0, node.start) + 1
        what = "object" if opening == "{" else "list"
        raise UsageProblem(
            f"{path} is no {what}.", place=f"{place}:{line}", hint="Nothing was changed."
        )


def _added(text: str, root: Node, node: Node, depth: int, key: str | None, value: Any) -> str:
    """The text with a member at the end of an object, or an item at the end of a list, in the style
    of the file.
    """
    end = "\r\n" if "\r\n" in text else "\n"
    unit = _unit(text, root)
    inside = text[node.start : node.end]
    if node.children and "\n" not in inside:
        return _spliced(text, node.children[-1][2].end, f", {_dumped(key, value, None)}")
    if node.children:
        first = node.children[0][1]
        line = text.rfind("\n", 0, first) + 1
        if not text[line:first].strip():
            indent = text[line:first]
        else:
            indent = unit * (depth + 1)
        return _spliced(
            text,
            node.children[-1][2].end,
            f",{end}{_indented(_dumped(key, value, unit), indent, end)}",
        )
    outer = _indent_of(text, node)
    new = _indented(_dumped(key, value, unit), outer + unit, end)
    return _spliced(text, node.start + 1, f"{end}{new}{end}{outer}")


def _spliced(text: str, place: int, new: str) -> str:
    return text[:place] + new + text[place:]


def _unit(text: str, root: Node) -> str:
    """What the file indents by; two spaces where it shows none."""
    if not root.children:
        return "  "
    first = root.children[0][1]
    before = text[text.rfind("\n", 0, first) + 1 : first]
    if before and not before.strip():
        return before
    return "  "


def _indent_of(text: str, node: Node) -> str:
    line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    return line[: len(line) - len(line.lstrip())]


def _dumped(key: str | None, value: Any, unit: str | None) -> str:
    return ("" if key is None else f"{json.dumps(key)}: ") + json.dumps(value, indent=unit)


def _indented(text: str, indent: str, end: str) -> str:
    return end.join(indent + line for line in text.split("\n"))


def remove(text: str, path: tuple[str, ...], place: str) -> str:
    """Return the text without the member or item at a path (a list's item by its place, as text);
    else unchanged.

    The inverse of `insert`: what that has put around a value goes with it.
    """
    root = node = parse(text, place)
    for name in path[:-1]:
        below = node.get(name)
        if below is None:
            return text
        node = below
    number = next(
        (index for index, (name, _, _) in enumerate(node.children) if name == path[-1]), None
    )
    if number is None:
        return text
    _, start, removed = node.children[number]
    if number:
        return text[: node.children[number - 1][2].end] + text[removed.end :]
    if len(node.children) > 1:
        return text[:start] + text[node.children[1][1] :]
    return _emptied(text, root, node, start, removed)


def _emptied(text: str, root: Node, node: Node, start: int, removed: Node) -> str:
    """The text without the only member of an object or list, and without the line ends that
    `insert` put around it.
    """
    before = text[node.start + 1 : start]
    after = text[removed.end : node.end - 1]
    outer = _indent_of(text, node)
    unit = _unit(text, root) if node is not root else before.lstrip("\r\n")
    for end in ("\r\n", "\n"):
        if before == f"{end}{outer}{unit}" and after.startswith(f"{end}{outer}"):
            return (
                text[: node.start + 1] + after.removeprefix(f"{end}{outer}") + text[node.end - 1 :]
            )
    return (
        text[: node.start + 1]
        + (before + after if (before + after).strip() else "")
        + text[node.end - 1 :]
    )


_LAUNCHER: Final = (
    f'kl=$(git config --local --get {PYTHON}) && [ -x "$kl" ] && exec "$kl" -P -m kl_hooks'
)
"""Runs kl in a clone that names an interpreter; begins a command of a shell."""
_SERVER: Final = {"command": "sh", "args": ["-c", f"{_LAUNCHER} mcp"]}
_EARLIER_SERVER: Final = {"command": "kl", "args": ["mcp"]}
_TOML: Final = (
    '# kl:begin\n[mcp_servers.kl]\ncommand = "sh"\n'
    f"args = {json.dumps(_SERVER['args'])}\n# kl:end\n"
)
_TOML_BLOCK: Final = lazy_pattern(r"\n?# kl:begin\n.*?# kl:end\n", re.DOTALL)
_BLOCK: Final = lazy_pattern(
    r"\n?<!-- kl:begin ([0-9a-f]{12}) -->\n(.*?)<!-- kl:end -->\n?", re.DOTALL
)
_MADE: Final = "installed.json"
_FILE_MADE: Final = ""
"""Among what was made for our entries: the file itself."""


class Change(NamedTuple):
    """A file before and after; None: there is none."""

    path: str
    """From the repository's root."""
    before: str | None
    after: str | None
    remark: str = ""
    """Why something in it was left as it is."""
    made: tuple[str, ...] = ()
    """Objects and lists that were made for our entries."""


class AgentState(NamedTuple):
    """What is there of one agent."""

    agent: str
    enabled: bool
    """True where this clone's git configuration names it."""
    asks: bool
    """Prompts bring no package: it asks by itself."""
    files: dict[str, str]
    """File → what of ours is in it."""


def enabled_agents(repo: Repository, setting: str = SETTING) -> list[str]:
    """Return the agents whose hooks do something in this clone."""
    names = (
        git_in(repo, "config", "--local", "--get", setting, ok=(0, 1))
        .decode("utf-8", "replace")
        .split()
    )
    return sorted({name for name in names if name in AGENTS})


def named_python(repo: Repository) -> str:
    """Return the interpreter that this clone names for shared entries; empty: none."""
    output = git_in(repo, "config", "--local", "--get", PYTHON, ok=(0, 1))
    return output.decode("utf-8", "surrogateescape").removesuffix("\n")


def _name_python(repo: Repository) -> None:
    """Name this interpreter where an agent is enabled, else none."""
    if enabled_agents(repo):
        git_in(repo, "config", "--local", PYTHON, sys.executable)
    else:
        git_in(repo, "config", "--local", "--unset-all", PYTHON, ok=(0, 5))


def _enable(repo: Repository, names: Sequence[str], setting: str = SETTING) -> None:
    if names:
        git_in(repo, "config", "--local", setting, " ".join(sorted(set(names))))
    else:
        # git-config(1): 5 where it is not set
        git_in(repo, "config", "--local", "--unset-all", setting, ok=(0, 5))


def install_agent(
    ws: Workspace,
    repo: Repository,
    agent: Agent,
    *,
    shared: bool,
    block: bool,
    dry: bool,
    asks: bool = True,
) -> list[Change]:
    """Register hooks and server, write the managed block, and enable the agent in this clone.
    `dry`: change nothing.

    `block`: make the page of instructions where there is none. `asks`: prompts bring no package.
    UsageProblem where a file can't be read or edited; then none is changed.
    """
    if shared and agent.shared_file:
        hooks_file = agent.shared_file
    else:
        hooks_file = agent.hooks_file
    is_local = hooks_file == agent.hooks_file and bool(agent.shared_file)
    files = _Files(repo.top)
    files.edit(hooks_file, lambda text: _with_hooks(text, hooks_file, agent, is_local=is_local))
    files.edit(agent.servers_file, lambda text: _with_server(text, agent.servers_file))
    page = _page_of(repo.top, agent)
    if block or files.text(page) is not None:
        files.edit(page, lambda text: _with_block(text, page))
    if not dry:
        files.write()
        _note_made(ws, agent, files.changes)
        _enable(repo, [*enabled_agents(repo), agent.name])
        _name_python(repo)
        asking = [name for name in enabled_agents(repo, ASKING) if name != agent.name]
        _enable(repo, [*asking, *([agent.name] if asks else [])], ASKING)
    return files.changes


def uninstall_agent(ws: Workspace, repo: Repository, agent: Agent, *, dry: bool) -> list[Change]:
    """Remove our entries, and what was made for them. Raises as `install_agent`."""
    files = _Files(repo.top)
    created_for = _read_made(ws)
    created: dict[str, list[str]] = created_for.get(agent.name, {})
    others = {path for name, paths in created_for.items() if name != agent.name for path in paths}
    for path in dict.fromkeys((agent.hooks_file, *filter(None, [agent.shared_file]))):
        remove_hooks = partial(_without_hooks, path=path, agent=agent)
        files.edit(path, remove_hooks, created.get(path, ()))
    files.edit(
        agent.servers_file,
        lambda text: _without_server(text, agent.servers_file),
        created.get(agent.servers_file, ()),
    )
    page = _page_of(repo.top, agent)
    if page not in others:  # Codex and Cursor read the same page
        files.edit(page, _without_block, created.get(page, ()))
    if not dry:
        files.write()
        created_for.pop(agent.name, None)
        _write_made(ws, created_for)
        for setting in (SETTING, ASKING):
            _enable(
                repo,
                [name for name in enabled_agents(repo, setting) if name != agent.name],
                setting,
            )
        _name_python(repo)
    return files.changes


def agent_states(repo: Repository) -> list[AgentState]:
    """Return what is there of every agent. Raises UsageProblem for a file that can't be read."""
    enabled = enabled_agents(repo)
    asking = enabled_agents(repo, ASKING)
    files = _Files(repo.top)
    states = []
    for agent in AGENTS.values():
        shown: dict[str, str] = {}
        for path in filter(None, (agent.hooks_file, agent.shared_file)):
            text = files.text(path)
            if text:
                number = len(_our_hooks(parse(text, path), agent))
            else:
                number = 0
            if number:
                shown[path] = f"{number} of {len(agent.events)} hooks"
        text = files.text(agent.servers_file) or ""
        if text and _has_server(text, agent.servers_file):
            shown[agent.servers_file] = ", ".join(
                filter(None, [shown.get(agent.servers_file), "MCP server"])
            )
        page = _page_of(repo.top, agent)
        block = _BLOCK.search(files.text(page) or "")
        if block:
            shown[page] = (
                "managed block" if _digest(block[2]) == block[1] else "managed block, edited"
            )
        states.append(AgentState(agent.name, agent.name in enabled, agent.name in asking, shown))
    return states


class _Files:
    """The files that are edited: read once, written together at the end."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._texts: dict[str, tuple[str | None, str | None]] = {}
        self._about: dict[str, tuple[list[str], list[str]]] = {}

    def text(self, path: str) -> str | None:
        """The text as it will be; None where there is no such file. UsageProblem where it can't be
        read.
        """
        if path not in self._texts:
            content = read_small(self._root / path, within=self._root)
            try:
                if content is None:
                    text = None
                else:
                    text = content.decode("utf-8")
            except UnicodeDecodeError:
                raise UsageProblem(
                    "is not UTF-8.", place=path, hint="Nothing was changed."
                ) from None
            self._texts[path] = text, text
        return self._texts[path][1]

    def edit(
        self,
        path: str,
        change: Callable[[str], tuple[str, list[str], str]],
        made: Sequence[str] | None = None,
    ) -> None:
        """Change a text; `change` returns the new one, what it made, and a remark. `made`: what
        goes where it is empty.

        With `made` a file that is not there is left alone.
        """
        text = self.text(path)
        if text is None and made is not None:
            return
        after, created, remark = change("" if text is None else text)
        after = _pruned(after, path, made or ())
        about, remarks = self._about.setdefault(path, ([], []))
        about += [*created, *([_FILE_MADE] if self._texts[path][0] is None else [])]
        remarks += [remark] if remark else []
        is_deleted = made is not None and _FILE_MADE in made and after.strip() in ("", "{}")
        self._texts[path] = self._texts[path][0], None if is_deleted else after

    @property
    def changes(self) -> list[Change]:
        """What was asked to be edited, changed or not."""
        return [
            Change(path, *self._texts[path], "; ".join(remarks), tuple(dict.fromkeys(created)))
            for path, (created, remarks) in self._about.items()
        ]

    def write(self) -> None:
        """Write what changed. A link within the repository is followed: `CLAUDE.md` often is one to
        `AGENTS.md`.
        """
        for path, (before, after) in self._texts.items():
            full = (self._root / path).resolve()
            if after == before:
                continue
            if after is None:
                full.unlink()
                with suppress(OSError):  # others have files there
                    full.parent.rmdir()
                continue
            full.parent.mkdir(parents=True, exist_ok=True)
            if before is not None:
                mode = full.stat().st_mode & 0o777
            else:
                mode = 0o644
            write_atomic(full, after.encode("utf-8"), mode)


def _pruned(text: str, path: str, made: Sequence[str]) -> str:
    """The text without the objects and lists that were made for our entries and are empty now, the
    innermost first.
    """
    for name in sorted(filter(None, made), key=lambda dotted: -dotted.count(".")):
        keys = tuple(name.split("."))
        if not text.strip() or next(parse(text, path).items(keys), None) is not None:
            continue
        node: Node | None = parse(text, path)
        for key in keys:
            node = node.get(key) if node else None
        # in a file that we made, others' hooks need it now
        alone = name != "version" or _FILE_MADE not in made or len(parse(text, path).children) == 1
        if node is not None and alone and (node.opening or name == "version"):
            text = remove(text, keys, path)
    return text


def _with_hooks(
    text: str, path: str, agent: Agent, *, is_local: bool
) -> tuple[str, list[str], str]:
    text = text if text.strip() else "{}\n"
    wanted = {
        native: _hook(agent, own, native, is_local=is_local) for own, native in agent.events.items()
    }
    here = _our_hooks(parse(text, path), agent)
    parsed = json.loads(text)
    present = {event: parsed["hooks"][event][int(group_place)] for event, group_place, *_ in here}
    if present == wanted and len(here) == len(wanted):
        return text, [], ""
    text = _without_hooks(text, path, agent)[0]
    created: list[str] = []
    if agent.is_flat and parse(text, path).get("version") is None:
        text, _ = insert(text, (), "version", 1, path)
        created.append("version")
    for event, value in wanted.items():
        text, new = insert(text, ("hooks", event), None, value, path)
        created += new
    return text, created, ""


def _hook(agent: Agent, own: Moment, native: str, *, is_local: bool) -> dict[str, Any]:
    call = f"agents hook {native} --agent {agent.name}"
    # the environment of kl need not be activated where the agent runs; a file that others get with
    # the repository must not fail where kl is not installed
    own_python = shlex.join([sys.executable, "-P", "-m", "kl_hooks"])
    if is_local:
        command = f"{own_python} {call}"
    else:
        command = f"{_LAUNCHER} {call} || true"
    if own in agent.matchers:
        matcher = {"matcher": agent.matchers[own]}
    else:
        matcher = {}
    if agent.is_flat:
        return {"command": command, **matcher}
    return {**matcher, "hooks": [{"type": "command", "command": command, "timeout": agent.timeout}]}


def _our_hooks(root: Node, agent: Agent) -> list[tuple[str, ...]]:
    """The paths below `hooks` of what is ours: (event, place), or (event, place, `hooks`, place)
    beside others.
    """
    ours = re.compile(rf"\bkl(?:_hooks)?['\"]? agents hook \w+ --agent {agent.name}\b")
    paths: list[tuple[str, ...]] = []

    def is_ours(node: Node) -> bool:
        command = node.get("command")
        return (
            command is not None
            and isinstance(command.value, str)
            and bool(ours.search(command.value))
        )

    for event, groups in root.items(("hooks",)):
        for group_place, (_, _, group) in enumerate(
            groups.children if groups.opening == "[" else ()
        ):
            inner = group.get("hooks")
            if is_ours(group):
                paths.append((event, str(group_place)))
            elif inner is not None and inner.opening == "[":
                mine = [
                    str(place)
                    for place, (_, _, entry) in enumerate(inner.children)
                    if is_ours(entry)
                ]
                whole = len(mine) == len(inner.children)
                paths += (
                    [(event, str(group_place))]
                    if mine and whole
                    else [(event, str(group_place), "hooks", place) for place in mine]
                )
    return paths


def _without_hooks(text: str, path: str, agent: Agent) -> tuple[str, list[str], str]:
    for where in reversed(_our_hooks(parse(text, path), agent)) if text.strip() else ():
        text = remove(text, ("hooks", *where), path)
    return text, [], ""


def _with_server(text: str, path: str) -> tuple[str, list[str], str]:
    """(a file of servers with ours in it, the objects that were made for it, why it was left as it
    is).
    """
    if path.endswith(".toml"):
        return _with_toml_server(text, path)
    text = text if text.strip() else "{}\n"
    our_entry = _our_entry(text, path)
    if our_entry == _SERVER:
        return text, [], ""
    if our_entry == _EARLIER_SERVER:
        text = remove(text, ("mcpServers", "kl"), path)
    elif our_entry is not None:
        return text, [], "mcpServers.kl is there already, and was left as it is"
    text, created = insert(text, ("mcpServers",), "kl", _SERVER, path)
    return text, created, ""


def _with_toml_server(text: str, path: str) -> tuple[str, list[str], str]:
    servers = _toml(text, path).get("mcp_servers", {})
    block = _TOML_BLOCK.search(text)
    if block is not None:
        start = "\n" if block[0].startswith("\n") else ""
        return text[: block.start()] + start + _TOML + text[block.end() :], [], ""
    if "kl" in servers:
        return text, [], "mcp_servers.kl is there already, and was left as it is"
    return text + ("\n" if text else "") + _TOML, [], ""


def _our_entry(text: str, path: str) -> Any:
    """What a file of servers has under our name; None: nothing."""
    parse(text, path)  # raises, with the place, for what is no JSON
    servers = json.loads(text).get("mcpServers")
    if isinstance(servers, dict):
        return servers.get("kl")
    return None


def _has_server(text: str, path: str) -> bool:
    if path.endswith(".toml"):
        return bool(_toml(text, path)) and _TOML_BLOCK.search(text) is not None
    return _our_entry(text, path) in (_SERVER, _EARLIER_SERVER)


def _without_server(text: str, path: str) -> tuple[str, list[str], str]:
    if not text.strip() or not _has_server(text, path):
        return text, [], ""
    if path.endswith(".toml"):
        return _TOML_BLOCK.sub("", text, count=1), [], ""
    return remove(text, ("mcpServers", "kl"), path), [], ""


def _toml(text: str, path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        position = re.search(r"line (\d+)", str(problem))
        hint = "Nothing was changed. Correct it, or move it away."
        raise UsageProblem(
            f"is no TOML: {problem}.", place=f"{path}:{position[1] if position else 1}", hint=hint
        ) from None


def _page_of(root: Path, agent: Agent) -> str:
    """The page of instructions for the block: the agent's own, or AGENTS.md where that imports
    it.
    """
    if agent.page != "AGENTS.md" and (root / "AGENTS.md").is_file():
        own = read_small(root / agent.page, within=root)
        if own is not None and re.search(rb"^@(?:\./)?AGENTS\.md\s*$", own, re.MULTILINE):
            return "AGENTS.md"
    return agent.page


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:12]


def _with_block(text: str, page: str) -> tuple[str, list[str], str]:
    body = form("agents/block.md")
    block = f"<!-- kl:begin {_digest(body)} -->\n{body}<!-- kl:end -->\n"
    block_before = _BLOCK.search(text)
    if block_before is None:
        # one line end before it, which is removed with it: what was there is restored byte for byte
        return text + ("\n" if text else "") + block, [], ""
    if _digest(block_before[2]) != block_before[1]:
        return text, [], f"the managed block in {page} was edited, and was left as it is"
    start = "\n" if block_before[0].startswith("\n") else ""
    return text[: block_before.start()] + start + block + text[block_before.end() :], [], ""


def _without_block(text: str) -> tuple[str, list[str], str]:
    block = _BLOCK.search(text)
    if block is None:
        return text, [], ""
    if _digest(block[2]) != block[1]:
        return text, [], "the managed block was edited, and was left as it is"
    return text[: block.start()] + text[block.end() :], [], ""


def _made_file(ws: Workspace) -> Path:
    return ws.state.directory / FOLDER / _MADE


def _read_made(ws: Workspace) -> dict[str, dict[str, list[str]]]:
    try:
        created_for = json.loads(read_small(_made_file(ws)) or b"{}")
    except ValueError:
        return {}
    if isinstance(created_for, dict):
        return created_for
    return {}


def _write_made(ws: Workspace, created_for: dict[str, dict[str, list[str]]]) -> None:
    prepare_state(ws.state)
    _made_file(ws).parent.mkdir(mode=0o700, exist_ok=True)
    write_atomic(_made_file(ws), json.dumps(created_for, sort_keys=True).encode(), 0o600)


def _note_made(ws: Workspace, agent: Agent, changes: Sequence[Change]) -> None:
    created_for = _read_made(ws)
    created = created_for.setdefault(agent.name, {})
    for change in changes:
        created[change.path] = sorted({*created.get(change.path, ()), *change.made})
    _write_made(ws, created_for)
