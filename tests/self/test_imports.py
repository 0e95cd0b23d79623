"""What runs at every commit, and at every look, starts with little: nothing heavy is imported."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import Checkout, checkout, isolate
from tools.syntax import tree_of

HEAVY = {
    "libcst",
    "grimp",
    "yaml",
    "rich",
    "pytest",
    "_pytest",
    "mcp",
    "importlinter",
    "diskcache",
    "asyncio",
    "xml",
}
MANIFEST = """version: 1
layers:
  - name: core
    paths: [src/shop/core/]
    may_depend_on: []
  - name: cli
    paths: [src/shop/cli/]
    may_depend_on: [core]
"""
FILES = {
    ".kl/architecture.yaml": MANIFEST,
    ".kl/config.yaml": "version: 1\n",
    "src/shop/__init__.py": "",
    "src/shop/core/__init__.py": "A = 1\n",
    "src/shop/cli/__init__.py": "from shop.core import A\n",
}
NOT_NEEDED = {
    "yaml",
    "kl_hooks.arch.manifest_parser",
    "kl_hooks.code.scanner.visitor",
    "kl_hooks.code.scanner.references",
    "kl_hooks.code.scanner.symbols",
    "kl_hooks.code.file_facts",
    "kl_hooks.evidence.journal",
    "kl_hooks.evidence.ingestion",
    "kl_hooks.evidence.snapshot",
    "kl_hooks.model.contract",
    "secrets",
    "tempfile",
    "shutil",
    "random",
}
CALL = (
    "import sys; from kl_hooks.__main__ import main; sys.argv[0] = 'kl'\ntry: main()\nexcept"
    " SystemExit as end: code = end.code\nsys.stdout.flush(); sys.stderr.write('\\nMODULES ' + '"
    " '.join(sorted(sys.modules)) + '\\n'); sys.exit(code)"
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    patch = pytest.MonkeyPatch()
    base = tmp_path_factory.mktemp("imports")
    isolate(patch, base / "home")
    made = checkout(base / "shop", FILES)
    assert made.kl("arch", "check").returncode == 0, (
        "from here on the manifest is known in its compiled form"
    )
    assert made.kl("status").returncode == 0
    yield made
    patch.undo()


def modules_of(repo: Checkout, *args: str, input: str = "") -> set[str]:
    command = [sys.executable, "-P", "-c", CALL, *args]
    done = subprocess.run(
        command, cwd=repo.root, input=input, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = done.stderr.rpartition("MODULES ")[2].split()
    assert {"kl_hooks.cli.main", "kl_hooks.arch.gate", "kl_hooks.tools.agent_hooks"} & {*found}
    return set(found)


@pytest.mark.parametrize(
    "command",
    [
        ("commits", "record"),
        ("arch", "check", "--staged"),
        ("status",),
        ("status", "--format", "json"),
        ("evidence", "list"),
        ("run", "--", "true"),
        ("verify", "--help"),
    ],
    ids=" ".join,
)
def test_nothing_heavy_is_imported(shop: Checkout, command: tuple[str, ...]) -> None:
    shop.write("src/shop/core/__init__.py", "A = 2\n")
    shop.git("add", "-A")
    found = modules_of(shop, *command)
    assert sorted({name.partition(".")[0] for name in found} & HEAVY) == []
    entry_points = {"kl_hooks.context", "kl_hooks.context.package_log"}
    assert not {name for name in found - entry_points if name.startswith("kl_hooks.context")}


@pytest.mark.parametrize("source", ["--staged", "--format=text"])
def test_a_check_after_a_change_imports_only_what_it_needs(shop: Checkout, source: str) -> None:
    """No reader of YAML, spools or contracts, no whole scan, no tokens; what is staged needs no
    database.
    """
    modules_of(shop, "arch", "check", source)
    shop.write("src/shop/core/__init__.py", f"A = {source!r}\n")
    shop.git("add", "-A")
    found = modules_of(shop, "arch", "check", source)
    assert sorted(found & NOT_NEEDED) == []
    if source == "--staged":
        assert sorted({"sqlite3", "kl_hooks.store.sqlite", "kl_hooks.index.index"} & found) == []


def test_asking_for_symbols_imports_no_evidence_and_no_other_question(shop: Checkout) -> None:
    found = modules_of(shop, "graph", "symbols", "src/shop/core/__init__.py")
    assert not {name for name in found if name.startswith("kl_hooks.evidence.")} - {
        "kl_hooks.workspace",
        "kl_hooks.evidence.plugin",
    }
    assert "kl_hooks.code.query.dependents" not in found


def test_an_import_compiles_neither_expressions_nor_annotations() -> None:
    root = Path(__file__).parent.parent.parent
    early = []
    for path in sorted([*root.glob("kl_hooks/**/*.py"), *root.glob("pytest_kl/**/*.py")]):
        if path.name == "definitions.py":  # it has what the others use
            continue
        for node in executed_by_an_import(tree_of(path)):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name("re"), attr="compile")):
                    early.append(f"{path.relative_to(root)}:{node.lineno}: use lazy_pattern")
                case ast.ImportFrom(module="typing" | "re", names=names) if {
                    name.name for name in names
                } & {"NamedTuple", "compile"}:
                    early.append(f"{path.relative_to(root)}:{node.lineno}: use that of model")
    assert early == []


def executed_by_an_import(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes outside of functions."""
    for inner in ast.iter_child_nodes(node):
        if not isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield inner
            yield from executed_by_an_import(inner)


def test_noting_a_commit_opens_no_database(shop: Checkout) -> None:
    assert (
        sorted(modules_of(shop, "commits", "record") & {"sqlite3", "_sqlite3", "kl_hooks.plugins"})
        == []
    )


READERS = {
    "kl_hooks.records.document",
    "kl_hooks.records.pages",
    "kl_hooks.config.yaml",
    "difflib",
    "secrets",
}
WRITERS = {
    "kl_hooks.records.write",
    "kl_hooks.evidence.claims",
    "kl_hooks.evidence.ledger",
    "kl_hooks.model.claim",
}
SHELL = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": {"stdout": "ok"}}


@pytest.mark.parametrize(
    ("event", "first", "unneeded"),
    [
        (
            {"hook_event_name": "PreCompact"},
            0,
            READERS | WRITERS | {"kl_hooks.model.package", "kl_hooks.context.policy"},
        ),
        (
            {**SHELL, "tool_input": {"command": "ls -la"}},
            0,
            READERS | WRITERS | {"kl_hooks.records.sync", "sqlite3"},
        ),
        ({**SHELL, "tool_input": {"command": "make it"}}, 1, READERS | WRITERS),
    ],
    ids=["compaction", "a look", "a known command"],
)
def test_hooks_of_agents_import_no_more_than_they_need(
    shop: Checkout, event: dict[str, object], first: int, unneeded: set[str]
) -> None:
    shop.git("config", "kl.agents", "claude")
    given = json.dumps({"cwd": str(shop.root), "session_id": "s1", **event})
    command = ("agents", "hook", str(event["hook_event_name"]), "--agent", "claude")
    for _ in range(first):  # what is new is recorded, and the index brought up to date
        assert shop.kl(*command, input=given).returncode == 0
        assert shop.kl("finding", "list").stdout.startswith("FND-")
    found = modules_of(shop, *command, input=given)
    assert sorted(found & unneeded) == [] and "yaml" not in found


def test_the_look_finds_what_is_heavy(shop: Checkout) -> None:
    shop.write(".kl/architecture.yaml", MANIFEST + "exhaustive: false\n")
    assert "yaml" in modules_of(shop, "arch", "check"), (
        "a manifest that was never read has to be read"
    )
