"""The modules stay deep: few names and few modules exist for one user alone.

A public name that exactly one other module uses is a sign of a cut in the wrong place, and so is a
module that only one module of its own folder imports. Both are counted from the source, lazy and
type-checking imports included.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tools.syntax import nodes, tree_of

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("kl_hooks", "pytest_kl")
MOST_NAMES_OF_ONE_USER = 0.25
MOST_MODULES_OF_ONE_IMPORTER = 0.08
SHOWN = 25
"""Offenders in the message of a failure."""

Use = tuple[str, str, str]
"""Module that uses, module that defines, name; an empty name: the module itself."""


@pytest.fixture(scope="module", autouse=True)
def trees_of_this_file() -> Iterator[None]:
    """The trees are not retained for the rest of the run."""
    yield
    trees.cache_clear()


@cache
def trees() -> dict[str, ast.Module]:
    """Module → syntax tree."""
    found = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            found[name] = tree_of(path)
    return found


def public_names(tree: ast.Module) -> Iterator[str]:
    """The functions, classes and constants that a module defines at its top level, without those of
    `_private` name.
    """
    for node in tree.body:
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                names = [name]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names = [name]
            case ast.Assign(targets=targets):
                names = [
                    one.id
                    for target in targets
                    for one in ast.walk(target)
                    if isinstance(one, ast.Name)
                ]
            case _:
                names = []
        yield from (name for name in names if not name.startswith("_"))


def uses(module: str, tree: ast.Module) -> Iterator[Use]:
    """What a module uses from the others: `from a import b`, `import a.b`, and `b.name` where `b`
    is a module.
    """
    modules, every_node = {}, list(nodes(tree))
    for node in every_node:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for one in node.names:
                if (full := f"{node.module}.{one.name}") in trees():
                    modules[one.asname or one.name] = full
                    yield module, full, ""
                elif node.module in trees():
                    yield module, node.module, one.name
        elif isinstance(node, ast.Import):
            yield from ((module, one.name, "") for one in node.names if one.name in trees())
    for node in every_node:
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in modules
        ):
            yield module, modules[node.value.id], node.attr


@cache
def all_uses() -> frozenset[Use]:
    return frozenset(
        use for module, tree in trees().items() for use in uses(module, tree) if use[0] != use[1]
    )


def test_few_public_names_have_exactly_one_user() -> None:
    users: dict[tuple[str, str], set[str]] = defaultdict(set)
    for user, module, name in all_uses():
        users[module, name].add(user)
    names = [(module, name) for module, tree in trees().items() for name in set(public_names(tree))]
    # an operation is called by a command, a tool and a route: what it uses has as many users, and
    # they have its request and its result from the list of operations
    single = {
        (module, name): user
        for module, name in names
        for user in users[module, name]
        if len(users[module, name]) == 1
        and not any(one.startswith("kl_hooks.operations.") for one in (module, user))
    }
    pairs = Counter((module, user) for (module, _), user in single.items())
    share = len(single) / len(names)
    worst = "\n".join(
        f"  {count} names of {module} only for {user}: "
        + ", ".join(
            sorted(name for (where, name), who in single.items() if (where, who) == (module, user))
        )
        for (module, user), count in pairs.most_common(SHOWN)
    )
    assert share <= MOST_NAMES_OF_ONE_USER, (
        f"{len(single)} of {len(names)} names ({share:.1%}):\n{worst}"
    )


def test_few_modules_serve_one_module_of_their_folder() -> None:
    importers: dict[str, set[str]] = defaultdict(set)
    for user, module, _ in all_uses():
        importers[module].add(user)
    ours = [module for module in trees() if module.startswith("kl_hooks.")]
    single = {
        module: user
        for module in ours
        for user in importers[module]
        if len(importers[module]) == 1 and user.rpartition(".")[0] == module.rpartition(".")[0]
    }
    share = len(single) / len(ours)
    listed = "\n".join(f"  {module} only for {user}" for module, user in sorted(single.items()))
    assert share <= MOST_MODULES_OF_ONE_IMPORTER, (
        f"{len(single)} of {len(ours)} modules ({share:.1%}):\n{listed}"
    )


def test_the_count_sees_every_way_of_using_a_name() -> None:
    code = (
        "from kl_hooks import clock\nfrom kl_hooks.errors import KlError\ndef f():\n    return"
        " clock.iso(0)\n"
    )
    assert set(uses("m", ast.parse(code))) == {
        ("m", "kl_hooks.clock", ""), ("m", "kl_hooks.errors", "KlError"), ("m", "kl_hooks.clock", "iso"),
    }  # fmt: skip
    assert list(public_names(ast.parse("A, _B = 1, 2\nC: int = 3\ndef d(): ...\nclass E: ...\n_f = 1\n"))) == [
        "A", "C", "d", "E",
    ]  # fmt: skip
