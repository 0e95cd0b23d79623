"""The walk over a syntax tree that the tools of this project share."""

from __future__ import annotations

import ast
from pathlib import Path

from tools.syntax import nodes, tree_of


def test_the_nodes_are_those_of_ast_walk_that_have_parts() -> None:
    tree = tree_of(Path(__file__))
    assert list(nodes(tree)) == [node for node in ast.walk(tree) if node._fields]
