"""`kl agents`: what others wrote in the settings of agents stays, byte for byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kl_hooks.agents.adapters import AGENTS, Moment
from kl_hooks.agents.setup import agent_states, enabled_agents, install_agent, uninstall_agent
from tests.support import Checkout, checkout

FILES = {
    "claude": (".claude/settings.local.json", ".mcp.json"),
    "codex": (".codex/hooks.json", ".codex/config.toml"),
    "gemini": (".gemini/settings.json",),
    "cursor": (".cursor/hooks.json", ".cursor/mcp.json"),
}
THEIRS = """{
    "permissions": {"allow": ["Bash(make:*)"], "deny": []},
    "hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "./guard.sh"}]}
        ]
    },
    "mcpServers": {}
}
"""


def files(repo: Checkout) -> dict[str, bytes]:
    """Everything in the working tree."""
    found = (
        path
        for path in repo.root.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(repo.root).parts
    )
    return {str(path.relative_to(repo.root)): path.read_bytes() for path in found}


@pytest.mark.parametrize("agent", FILES)
@pytest.mark.share(2)
def test_what_is_installed_is_registered_and_uninstalled_without_a_trace(
    repo: Checkout, agent: str
) -> None:
    before = files(repo)
    assert repo.kl("agents", "install", agent).returncode == 0
    assert set(files(repo)) - set(before) == set(FILES[agent])
    assert repo.git("config", "--local", "kl.agents") == agent
    commands = json.loads((repo.root / FILES[agent][0]).read_text())["hooks"]
    assert list(commands) == list(AGENTS[agent].events.values())
    assert all(
        f"agents hook {event} --agent {agent}" in json.dumps(one) for event, one in commands.items()
    )
    text = (repo.root / FILES[agent][-1]).read_text()
    servers = (
        tomllib.loads(text)["mcp_servers"] if agent == "codex" else json.loads(text)["mcpServers"]
    )
    assert servers["kl"]["command"] == "sh" and "kl.python" in servers["kl"]["args"][1]
    assert repo.git("config", "--local", "kl.python") == sys.executable
    shown = json.loads(repo.kl("agents", "status", "--format", "json").stdout)["agents"]
    assert [one["agent"] for one in shown if one["enabled"]] == [agent]
    assert f"{len(commands)} of {len(commands)} hooks" in repo.kl("agents", "status").stdout
    again = repo.kl("agents", "install", agent, "--format", "json")
    assert {row["action"] for row in json.loads(again.stdout)["files"]} == {"unchanged"}
    assert repo.kl("agents", "uninstall", agent).returncode == 0
    assert files(repo) == before
    assert repo.git("config", "--local", "kl.agents", ok=False) == ""
    assert repo.git("config", "--local", "kl.python", ok=False) == ""
    assert not (repo.root / FILES[agent][0]).parent.exists()


@pytest.mark.parametrize("agent", FILES)
def test_what_others_wrote_stays(repo: Checkout, agent: str) -> None:
    for path in FILES[agent]:
        repo.write(path, '[mcp_servers.other]\ncommand = "x"' if path.endswith(".toml") else THEIRS)
    before = files(repo)
    assert repo.kl("agents", "install", agent).returncode == 0
    for path in FILES[agent]:
        theirs = before[path].decode().rstrip().removesuffix("}").rstrip()
        assert (repo.root / path).read_text().startswith(theirs[:120]), path
    found = json.loads((repo.root / FILES[agent][0]).read_text())
    assert found["permissions"] == {"allow": ["Bash(make:*)"], "deny": []}
    assert found["hooks"]["PreToolUse"][0]["hooks"][0]["command"] == "./guard.sh"
    assert repo.kl("agents", "uninstall", agent).returncode == 0
    assert files(repo) == before


def test_a_dry_run_shows_a_diff_and_changes_nothing(repo: Checkout) -> None:
    before = files(repo)
    done = repo.kl("agents", "install", "cursor", "--dry-run")
    assert done.returncode == 0
    assert (
        "+++ b/.cursor/hooks.json" in done.stdout
        and "agents hook preToolUse --agent cursor" in done.stdout
    )
    assert files(repo) == before
    assert repo.git("config", "--local", "kl.agents", ok=False) == ""
    assert not (repo.state / "agents").exists()


def test_the_file_that_names_an_interpreter_is_ignored_in_this_clone(repo: Checkout) -> None:
    rules = repo.root / ".git/info/exclude"
    rules.parent.mkdir(exist_ok=True)
    rules.write_text("*.swp")
    done = repo.kl("agents", "install", "claude")
    assert (done.returncode, done.stderr) == (0, "")
    assert "ignored    .claude/settings.local.json, in this clone" in done.stdout
    assert ".claude" not in repo.git("status", "--porcelain")
    repo.kl("agents", "install", "claude")
    assert rules.read_text().count(".claude/settings.local.json") == 1
    repo.kl("agents", "uninstall", "claude")
    assert rules.read_text() == "*.swp\n"
    for args in (("install", "claude", "--dry-run"), ("install", "claude", "--shared")):
        assert "ignored" not in repo.kl("agents", *args).stdout
    assert rules.read_text() == "*.swp\n"


def test_the_rules_of_git_are_replaced_whole_where_they_are_linked_to(
    repo: Checkout, tmp_path: Path
) -> None:
    own_rules, rules = tmp_path / "own rules", repo.root / ".git/info/exclude"
    own_rules.write_text("*.swp\n")
    own_rules.chmod(0o640)
    rules.parent.mkdir(exist_ok=True)
    rules.unlink(missing_ok=True)
    rules.symlink_to(own_rules)
    repo.kl("agents", "install", "claude")
    assert "settings.local" in own_rules.read_text()
    before = own_rules.stat()
    repo.kl("agents", "uninstall", "claude")
    assert rules.is_symlink() and own_rules.read_text() == "*.swp\n"
    after = own_rules.stat()
    assert after.st_mode == before.st_mode
    assert after.st_ino != before.st_ino, (
        "written beside it and renamed: a kill leaves the old rules or the new ones"
    )


def test_a_rule_of_the_team_for_that_file_is_enough_and_a_tracked_file_is_noted(
    repo: Checkout,
) -> None:
    repo.write(".gitignore", "*.local.json\n")
    repo.kl("agents", "install", "claude")
    rules = repo.root / ".git/info/exclude"
    assert not rules.exists() or "settings.local" not in rules.read_text()
    repo.git("add", "-f", ".claude/settings.local.json")
    done = repo.kl("agents", "install", "claude")
    assert "git tracks it, and it names an interpreter of this machine." in done.stderr
    assert "ignored" not in done.stdout and done.returncode == 0
    assert not rules.exists() or "settings.local" not in rules.read_text()


def test_shared_settings_of_claude_are_the_tracked_file(repo: Checkout) -> None:
    assert repo.kl("agents", "install", "claude", "--shared").returncode == 0
    text = (repo.root / ".claude/settings.json").read_text()
    assert sys.executable not in text
    assert not (repo.root / ".claude/settings.local.json").exists()
    assert repo.kl("agents", "uninstall", "claude").returncode == 0
    assert not (repo.root / ".claude").exists()


def run_entry(repo: Checkout, agent: str, path: str, **environ: str) -> tuple[int, str, str]:
    """Run the entry of an agent for the start of a session as the agent does, where no environment
    is activated; exit code, stdout, stderr.
    """
    groups = json.loads((repo.root / path).read_text())["hooks"]
    entry = groups[AGENTS[agent].events[Moment.START]][0]
    command = entry["command"] if "command" in entry else entry["hooks"][0]["command"]
    payload = {"cwd": str(repo.root), "session_id": "s1", "source": "startup"}
    if agent == "cursor":
        payload = {"workspace_roots": [str(repo.root)], "conversation_id": "s1"}
    home = os.environ["HOME"]
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        input=json.dumps(payload),
        cwd=repo.root,
        env={"PATH": "/usr/bin:/bin", "HOME": home, **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("agent", "args", "path"),
    [
        ("claude", (), ".claude/settings.local.json"),
        ("claude", ("--shared",), ".claude/settings.json"),
        ("codex", (), ".codex/hooks.json"),
        ("gemini", (), ".gemini/settings.json"),
        ("cursor", (), ".cursor/hooks.json"),
    ],
)
@pytest.mark.share(3)
def test_entries_run_where_no_environment_is_activated(
    repo: Checkout, agent: str, args: tuple[str, ...], path: str
) -> None:
    repo.kl("objective", "create", "--title", "A parser", "--tasks", "Lexer")
    repo.kl("agents", "install", agent, *args)
    code, stdout, stderr = run_entry(repo, agent, path)
    assert (code, stderr) == (0, "")
    assert "A parser" in stdout
    # a module of the repository is not run in place of ours
    repo.write("kl_hooks.py", "raise SystemExit(3)\n")
    assert run_entry(repo, agent, path)[0] == 0


def test_shared_entries_are_silent_in_a_clone_that_names_no_interpreter(repo: Checkout) -> None:
    repo.kl("objective", "create", "--title", "A parser", "--tasks", "Lexer")
    repo.kl("agents", "install", "claude", "--shared")
    path = ".claude/settings.json"
    for setting in ("", "/no/such/python"):
        repo.git("config", "--local", "kl.python", setting)
        assert run_entry(repo, "claude", path) == (0, "", "")
        status = repo.kl("agents", "status")
        assert "don't start" in status.stderr, status
    # neither the user's configuration nor the environment may name one for every clone
    repo.git("config", "--local", "--unset-all", "kl.python")
    named = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "kl.python"}
    assert run_entry(repo, "claude", path, **named, GIT_CONFIG_VALUE_0=sys.executable) == (
        0,
        "",
        "",
    )


def test_the_server_of_an_earlier_installation_is_brought_up_to_date(repo: Checkout) -> None:
    repo.write(".mcp.json", '{"mcpServers": {"kl": {"command": "kl", "args": ["mcp"]}}}')
    done = repo.kl("agents", "install", "claude")
    assert "updated    .mcp.json" in done.stdout, done
    servers = json.loads((repo.root / ".mcp.json").read_text())["mcpServers"]
    assert servers["kl"]["command"] == "sh"


@pytest.mark.parametrize(
    ("path", "agent", "text", "place"),
    [
        (
            ".claude/settings.local.json",
            "claude",
            '{\n  "a": 1, // why\n}\n',
            ".claude/settings.local.json:2",
        ),
        (".mcp.json", "claude", "[]", ".mcp.json:1"),
        (
            ".claude/settings.local.json",
            "claude",
            '{\n\n"hooks": []}',
            ".claude/settings.local.json:3",
        ),
        (".codex/config.toml", "codex", "a = 1\nb = [\n", ".codex/config.toml:"),
        (".cursor/hooks.json", "cursor", '{"hooks": {"stop": {}}}', ".cursor/hooks.json:1"),
    ],
)
def test_a_file_that_cannot_be_edited_is_refused_and_nothing_is_changed(
    repo: Checkout, path: str, agent: str, text: str, place: str
) -> None:
    repo.write(path, text)
    before = files(repo)
    done = repo.kl("agents", "install", agent)
    assert (done.returncode, done.stdout) == (2, "")
    assert place in done.stderr
    assert files(repo) == before
    assert repo.git("config", "--local", "kl.agents", ok=False) == ""


def test_a_server_of_the_same_name_is_left_as_it_is(repo: Checkout) -> None:
    repo.write(".mcp.json", '{"mcpServers": {"kl": {"command": "mine"}}}')
    done = repo.kl("agents", "install", "claude")
    assert done.returncode == 1
    assert ".mcp.json: mcpServers.kl is there already, and was left as it is." in done.stderr
    assert repo.kl("agents", "uninstall", "claude").returncode == 0
    assert (repo.root / ".mcp.json").read_text() == '{"mcpServers": {"kl": {"command": "mine"}}}'


@pytest.mark.parametrize("text", ["# Rules\n", "# Rules", "", "# Rules\r\n\r\nMore\r\n"])
def test_the_block_is_written_where_the_page_exists_and_removed_again(
    repo: Checkout, text: str
) -> None:
    (repo.root / "CLAUDE.md").write_bytes(text.encode())
    assert repo.kl("agents", "install", "claude").returncode == 0
    page = (repo.root / "CLAUDE.md").read_bytes().decode()
    assert page.startswith(text) and page.count("<!-- kl:begin ") == 1
    block = page[len(text) :]
    assert block.count("\n") <= 40
    assert all(word in block for word in ("kl context", "kl verify", "kl decision new"))
    assert repo.kl("agents", "install", "claude").returncode == 0
    assert (repo.root / "CLAUDE.md").read_bytes().decode() == page
    assert repo.kl("agents", "uninstall", "claude").returncode == 0
    assert (repo.root / "CLAUDE.md").read_bytes().decode() == text


def test_an_edited_block_is_never_overwritten(repo: Checkout) -> None:
    assert repo.kl("agents", "install", "codex", "--block").returncode == 0
    page = repo.root / "AGENTS.md"
    edited = page.read_text().replace("kl verify", "make verify", 1)
    page.write_text(edited)
    done = repo.kl("agents", "install", "codex")
    assert done.returncode == 1
    assert "the managed block in AGENTS.md was edited, and was left as it is" in done.stderr
    assert "managed block, edited" in repo.kl("agents", "status").stdout
    assert repo.kl("agents", "uninstall", "codex").returncode == 1
    assert page.read_text() == edited


def test_a_page_that_imports_agents_md_gets_no_second_block(repo: Checkout) -> None:
    repo.write("AGENTS.md", "# Rules\n")
    repo.write("CLAUDE.md", "@AGENTS.md\n")
    assert repo.kl("agents", "install", "claude").returncode == 0
    assert (repo.root / "CLAUDE.md").read_text() == "@AGENTS.md\n"
    assert "<!-- kl:begin" in (repo.root / "AGENTS.md").read_text()


def test_two_agents_that_read_the_same_page_share_the_block(repo: Checkout) -> None:
    repo.write("AGENTS.md", "# Rules\n")
    for agent in ("codex", "cursor"):
        assert repo.kl("agents", "install", agent).returncode == 0
    assert repo.git("config", "--local", "kl.agents") == "codex cursor"
    assert repo.kl("agents", "uninstall", "codex").returncode == 0
    assert "<!-- kl:begin" in (repo.root / "AGENTS.md").read_text()
    assert repo.kl("agents", "uninstall", "cursor").returncode == 0
    assert (repo.root / "AGENTS.md").read_text() == "# Rules\n"


def test_what_was_added_after_us_stays(repo: Checkout) -> None:
    assert repo.kl("agents", "install", "cursor").returncode == 0
    path = repo.root / ".cursor/hooks.json"
    found = json.loads(path.read_text())
    found["hooks"]["stop"].insert(0, {"command": "./mine.sh"})
    path.write_text(json.dumps(found, indent=4))
    assert repo.kl("agents", "uninstall", "cursor").returncode == 0
    assert json.loads(path.read_text()) == {
        "version": 1,
        "hooks": {"stop": [{"command": "./mine.sh"}]},
    }


def test_a_link_is_followed_inside_the_repository_and_refused_outside(
    repo: Checkout, tmp_path: Path
) -> None:
    repo.write("AGENTS.md", "# Rules\n")
    (repo.root / "CLAUDE.md").symlink_to("AGENTS.md")
    assert repo.kl("agents", "install", "claude").returncode == 0
    assert (repo.root / "CLAUDE.md").is_symlink()
    assert "<!-- kl:begin" in (repo.root / "AGENTS.md").read_text()
    (tmp_path / "out.json").write_text("{}")
    (repo.root / ".cursor").mkdir()
    (repo.root / ".cursor/hooks.json").symlink_to(tmp_path / "out.json")
    assert repo.kl("agents", "install", "cursor").returncode == 2
    assert (tmp_path / "out.json").read_text() == "{}"


def test_where_kl_is_not_set_up_it_fails_with_a_hint(tmp_path: Path, home: Path) -> None:
    bare = checkout(tmp_path / "bare", kl=False)
    done = bare.kl("agents", "install", "claude")
    assert done.returncode == 3 and "kl init" in done.stderr


KEYS = st.sampled_from(
    ["hooks", "mcpServers", "version", "SessionStart", "stop", "kl", "permissions", "a b", "é\n"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
GROUPS = st.dictionaries(
    st.sampled_from(["SessionStart", "PreToolUse", "Stop", "preToolUse", "BeforeTool"]),
    st.lists(
        st.fixed_dictionaries(
            {"matcher": st.text(max_size=5), "hooks": st.lists(VALUES, max_size=2)}
        ),
        max_size=2,
    ),
    max_size=3,
)
PRIOR = st.fixed_dictionaries(
    {},
    optional={
        "permissions": VALUES,
        "hooks": GROUPS,
        "version": st.integers(1, 2),
        "z": VALUES,
        "mcpServers": st.dictionaries(st.sampled_from(["x", "y"]), VALUES, max_size=2),
    },
)
STYLE: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([None, 2, 4, "\t"]),
        "ensure_ascii": st.booleans(),
        "separators": st.sampled_from([None, (",", ":")]),
    }
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    prior=PRIOR,
    style=STYLE,
    end=st.sampled_from(["", "\n", "\r\n", "\n\n"]),
    agent=st.sampled_from(list(FILES)),
)
def test_any_prior_settings_survive(
    repo: Checkout, prior: dict[str, Any], style: dict[str, Any], end: str, agent: str
) -> None:
    ws = repo.workspace()
    assert ws.repo is not None
    text = json.dumps(prior, **style) + end
    text = text.replace("\n", "\r\n") if end == "\r\n" else text
    for path in FILES[agent]:
        full = repo.root / path
        full.parent.mkdir(exist_ok=True)
        full.write_bytes(b"" if path.endswith(".toml") else text.encode())
    before = files(repo)
    try:
        install_agent(ws, ws.repo, AGENTS[agent], shared=False, block=False, dry=False)
        found = json.loads((repo.root / FILES[agent][0]).read_bytes())
        # nothing of theirs is lost, and all of ours is there
        assert all(
            found[key] == value
            for key, value in prior.items()
            if key not in ("hooks", "mcpServers")
        )
        assert all(
            some == found["hooks"][name][: len(some)]
            for name, some in prior.get("hooks", {}).items()
        )
        assert enabled_agents(ws.repo) == [agent]
        state = next(one for one in agent_states(ws.repo) if one.agent == agent)
        count = len(AGENTS[agent].events)
        assert state.files[FILES[agent][0]].startswith(f"{count} of {count} hooks")
        uninstall_agent(ws, ws.repo, AGENTS[agent], dry=False)
        assert files(repo) == before
    finally:
        uninstall_agent(ws, ws.repo, AGENTS[agent], dry=False)
        for path in FILES[agent]:
            (repo.root / path).unlink(missing_ok=True)


def test_the_shipped_plugin_names_the_hooks_that_are_installed(repo: Checkout) -> None:
    folder = Path(__file__).parents[2] / "templates/agents/claude"
    shipped = json.loads((folder / "hooks/hooks.json").read_text())
    assert repo.kl("agents", "install", "claude", "--shared").returncode == 0
    written = json.loads((repo.root / ".claude/settings.json").read_text())
    assert shipped["hooks"] == written["hooks"]
    assert json.loads((folder / ".mcp.json").read_text()) == json.loads(
        (repo.root / ".mcp.json").read_text()
    )
    skill = (folder / "skills/kl/SKILL.md").read_text()
    assert skill.startswith("---\nname: kl\ndescription: ")
