"""Compares links in Rust with references that a reader marked: `python -m bench.rust_references`.

The table is `tests/code/samples/rust.csv`: one series of repositories was looked at while the
scanner was improved, the other one, `sealed`, afterwards. `--draw N` prints rows without the truth:
N uses of names and N of members (`value.name`, `Type { name: … }`) in each repository, drawn by a
seed from the syntax trees without asking the scanner what they mean, among the names that the
repository defines. Uses inside of `use`, and the names of declarations themselves, are not drawn.

The column `truth` holds the place of the declaration that is meant, `src/cart.rs:12`, or one of
    external     something outside of the repository
    local        a variable, parameter, type parameter or lifetime
    no symbol    what a macro makes, a field of a variant, an argument of a macro that is no use
    unknowable   nothing in the text decides it
Prints precision (right links of all links given) and recall (right links of all references that
mean a declaration), then every wrong link and every one lost. Needs git; nothing of a repository
is run.
"""

from __future__ import annotations

import argparse
import csv
import random
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from bench.measure import ROOT
from kl_hooks.code.query.session import open_graph
from kl_hooks.code.rust.walk import walk
from kl_hooks.code.scanner.grammars import is_minified, parse
from kl_hooks.code.scanner.parser import LARGEST
from kl_hooks.code.scanner.trees import line_of, text_of
from kl_hooks.graph import links
from kl_hooks.workspace import open_workspace

if TYPE_CHECKING:
    from tree_sitter import Node

TABLE: Final = ROOT / "tests/code/samples/rust.csv"
REPOSITORIES: Final = (
    "sharkdp/hyperfine",
    "dtolnay/anyhow",
    "rust-lang/log",
    "toml-rs/toml",
    "hyperium/h2",
)
COLUMNS: Final = (
    "series",
    "repository",
    "commit",
    "path",
    "line",
    "column",
    "name",
    "kind",
    "truth",
    "note",
)
_USES: Final = ("calls", "references", "inherits", "implements")
_LEAVES: Final = ("identifier", "type_identifier", "field_identifier")


class Use(NamedTuple):
    """A place where a name is used; line and column from 1."""

    path: str
    line: int
    column: int
    name: str
    kind: str
    """`name`, or `member` for what follows a dot."""


class Judged(NamedTuple):
    """A row of the table, and the links of its line that can be meant."""

    row: Mapping[str, str]
    targets: list[str]
    means_symbol: bool
    is_right: bool


def declared(folder: Path) -> tuple[dict[tuple[str, int], set[str]], list[tuple[str, bytes]]]:
    """(path, line) → what is declared there, as it is called in an ID (`src/cart.rs#Cart.add`);
    then all files with their content.
    """
    names_by_place = defaultdict(set)
    files = []
    for path in sorted(folder.rglob("*.rs")):
        content = path.read_bytes()
        if len(content) > LARGEST or is_minified(content):
            continue
        inner = path.relative_to(folder).as_posix()
        files.append((inner, content))
        names_by_place[inner, 1].add(inner)
        tree, _ = parse(content, "rust")
        for declaration in walk(tree.root_node, content).declarations:
            line = line_of(declaration.node.child_by_field_name("name") or declaration.node)
            names_by_place[inner, line].add(f"{inner}#{declaration.name}")
    return names_by_place, files


def uses(path: str, content: bytes, defined: set[str]) -> Iterator[Use]:
    """Every use of a defined name in a file."""
    tree, _ = parse(content, "rust")
    waiting = [tree.root_node]
    while waiting:
        node = waiting.pop()
        if node.type in ("use_declaration", "attribute_item", "inner_attribute_item"):
            continue
        waiting += node.children
        if node.type in _LEAVES and text_of(node) in defined and not _is_declared(node):
            row, column = node.start_point
            kind = "member" if node.type == "field_identifier" or _follows_dot(node) else "name"
            yield Use(path, row + 1, column + 1, text_of(node), kind)


def _is_declared(node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type in ("parameter", "let_declaration", "mod_item"):
        return parent is not None and node in (
            parent.child_by_field_name("pattern"),
            parent.child_by_field_name("name"),
        )
    is_item = parent.type.endswith(("_item", "_definition", "_declaration", "enum_variant"))
    return is_item and node == parent.child_by_field_name("name")


def _follows_dot(node: Node) -> bool:
    before = node.prev_sibling
    return before is not None and before.type == "."


def draw(folder: Path, repository: str, number: int, seed: int) -> Iterator[list[object]]:
    """Rows of the table for a repository, without the truth."""
    names_by_place, files = declared(folder)
    defined = {
        name.rpartition("#")[2].rpartition(".")[2]
        for names in names_by_place.values()
        for name in names
    }
    commit = _git(folder, "rev-parse", "HEAD")
    all_uses = [use for path, content in files for use in uses(path, content, defined)]
    for kind in ("name", "member"):
        of_kind = sorted(use for use in all_uses if use.kind == kind)
        generator = random.Random(f"{repository} {kind} {seed}")
        drawn = generator.sample(of_kind, min(number, len(of_kind)))
        for use in sorted(drawn):
            yield ["", repository, commit, *use, "", ""]


def judge(folder: Path, state: Path, rows: Sequence[Mapping[str, str]]) -> Iterator[Judged]:
    """What the links of a repository state of the rows about it."""
    names_by_place, _ = declared(folder)
    targets_by_line = defaultdict(set)
    environ = {"HOME": str(state), "KL_STATE": str(state / "state")}
    with open_graph(open_workspace(folder, environ=environ)) as graph:
        for link in links.every(graph.db):
            if link.relation in _USES and not link.target.startswith("name:"):
                targets_by_line[link.path, link.line].add(link.target)
    for row in rows:
        path, _, line = row["truth"].rpartition(":")
        meant = names_by_place[path, int(line)] if path else set()
        if path and not meant:
            raise ValueError(f"nothing is declared at {row['truth']}")
        targets = targets_by_line[row["path"], int(row["line"])]
        right = [target for target in targets if _name(target) in meant]
        named = [target for target in targets if _ends_with(target, row["name"])]
        if not path and _occurs_again(folder, row):
            named = []  # the link of the line may be another use of the name
        yield Judged(row, right or sorted(named), bool(path), bool(right))


def _occurs_again(folder: Path, row: Mapping[str, str]) -> bool:
    """Whether a line has the name of a row more than once."""
    line = (folder / row["path"]).read_text("utf-8", "replace").split("\n")[int(row["line"]) - 1]
    return len(re.findall(rf"\b{re.escape(row['name'])}\b", line)) > 1


def _name(target: str) -> str:
    """The name in an ID, that of a test as of a function."""
    prefix, _, name = target.partition(":")
    if prefix == "test":
        path, _, inner = name.partition("::")
        return f"{path}#{inner.replace('::', '.')}"
    return name


def _ends_with(target: str, name: str) -> bool:
    return _name(target).rpartition("#")[2].rpartition(".")[2] == name


def report(judged: Sequence[Judged]) -> Iterator[str]:
    """The lines to print."""
    yield "| kind | references | mean a declaration | links | right | precision | recall |"
    yield "|---|---|---|---|---|---|---|"
    series = [*dict.fromkeys(reference.row["series"] for reference in judged)]
    for name, kind in product(series, ("name", "member", "all")):
        of_kind = [
            reference
            for reference in judged
            if reference.row["series"] == name and kind in (reference.row["kind"], "all")
        ]
        linked = [reference for reference in of_kind if reference.targets]
        right = sum(reference.is_right for reference in of_kind)
        meaning = sum(reference.means_symbol for reference in of_kind)
        shares = f"{right / max(len(linked), 1):.3f} | {right / max(meaning, 1):.3f}"
        yield f"| {name}: {kind} | {len(of_kind)} | {meaning} | {len(linked)} | {right} | {shares} |"
    for row, targets, means_symbol, is_right in judged:
        place = f"{row['kind']} {row['repository']} {row['path']}:{row['line']}:{row['column']} {row['name']}"
        if targets and not is_right:
            yield f"wrong: {place} is {row['truth']} ({row['note']}), linked to {targets}"
        elif means_symbol and not is_right:
            yield f"lost: {place} is {row['truth']} ({row['note']})"


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def clone(address: str, folder: Path, commit: str = "HEAD") -> Path:
    """Clone a repository, with the working tree of a commit."""
    _git(ROOT, "clone", "-q", address, str(folder))
    _git(folder, "checkout", "-q", commit)
    return folder


def table() -> list[dict[str, str]]:
    """The rows of the table."""
    with TABLE.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def main() -> int:
    """Print the table, or draw one."""
    parser = argparse.ArgumentParser(prog="python -m bench.rust_references")
    parser.add_argument("--draw", type=int, default=0, metavar="N", help="uses of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--host", default="https://github.com", help="where repositories are")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kl-rust-") as name:
        home = Path(name)
        if arguments.draw:
            writer = csv.writer(sys.stdout, lineterminator="\n")
            writer.writerow(COLUMNS)
            for place, repository in enumerate(REPOSITORIES):
                folder = clone(f"{arguments.host}/{repository}", home / f"repository-{place}")
                writer.writerows(draw(folder, repository, arguments.draw, arguments.seed))
            return 0
        rows = table()
        judged: list[Judged] = []
        for place, repository in enumerate(dict.fromkeys(row["repository"] for row in rows)):
            own_rows = [row for row in rows if row["repository"] == repository]
            address = f"{arguments.host}/{repository}"
            folder = clone(address, home / f"repository-{place}", own_rows[0]["commit"])
            judged += judge(folder, home / f"home-{place}", own_rows)
    print("\n".join(report(judged)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
