"""Compares the symbols of the Rust scanner with universal-ctags, and draws references to be judged
by eye: `python -m bench.rust_quality [--differences N] [--draw N] [--seed S] [REPOSITORY …]`.

A repository is anything that `git clone` accepts. Needs git and ctags; nothing of a repository is
run. Compared are places: ctags knows no owner of a method where an `impl` has a `where`.

What ctags does not list is not compared: constants, unions, and what is inside of a function. It
loses its way after a raw string that ends in a backslash, so that a second precision counts what it
omits although the line reads `fn name`.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from kl_hooks.code.query.session import open_graph
from kl_hooks.code.rust.walk import walk
from kl_hooks.code.scanner.grammars import is_minified, parse
from kl_hooks.code.scanner.parser import LARGEST
from kl_hooks.code.scanner.trees import line_of
from kl_hooks.graph import links
from kl_hooks.workspace import open_workspace

REPOSITORIES: Final = tuple(
    f"https://github.com/{name}"
    for name in (
        "BurntSushi/ripgrep",
        "rust-itertools/itertools",
        "clap-rs/clap",
        "serde-rs/serde",
        "tokio-rs/tokio",
    )
)
KINDS: Final = {
    "module": "namespace",
    "struct": "type",
    "enum": "type",
    "typedef": "type",
    "interface": "interface",
    "function": "function",
    "method": "function",
    "variable": "field",
    "macro": "function",
    "field": "field",
    "enumerator": "field",
}
"""Kind of ctags → the beginning of an ID."""
SCOPES: Final = ("module", "struct", "enum", "interface", "implementation")
_FILE_MODULE: Final = re.compile(r"\bmod\s+\w+\s*;")


class Symbol(NamedTuple):
    """A symbol at a place."""

    path: str
    line: int
    sort: str
    """The beginning of its ID; methods are functions here."""
    name: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.sort}:{self.name}"


class Comparison(NamedTuple):
    """What ctags and the scanner find."""

    common: int
    missed: list[str]
    omitted: list[str]
    """What ctags does not list, though the line reads so."""
    extra: list[str]
    """What else ctags does not list."""
    owned: int
    """Common symbols of which ctags states an owner."""
    other_owners: list[str]


class Drawn(NamedTuple):
    """A reference, to be judged by eye."""

    place: str
    code: str
    link: str


def clone(repository: str, folder: Path) -> Path:
    """Clone a repository."""
    command = ["git", "clone", "-q", "--depth", "1", repository, str(folder)]
    subprocess.run(command, check=True)
    return folder


def ctags_symbols(folder: Path) -> dict[Symbol, str]:
    """What ctags lists, and its owner where ctags states one."""
    command = ["ctags", "-R", "-f", "-", "--languages=Rust", "--fields=KnZ", "--excmd=number"]
    command += ["--links=no", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    owners = {}
    for text in done.stdout.decode("utf-8", "replace").splitlines():
        name, path, _, kind, *fields = text.split("\t")
        extension_fields = dict(field.partition(":")[::2] for field in fields)
        scope_kind, _, scope = extension_fields.get("scope", "").partition(":")
        if kind not in KINDS or (scope and scope_kind not in SCOPES):
            continue
        symbol = Symbol(path.removeprefix("./"), int(extension_fields["line"]), KINDS[kind], name)
        if kind == "module" and _FILE_MODULE.search(_line(folder, symbol)):
            continue
        # the module is no owner: ctags states it where it does not know the `impl`, too
        owners[symbol] = "" if scope_kind == "module" else scope.rpartition("::")[2]
    return owners


def our_symbols(folder: Path) -> tuple[dict[Symbol, str], set[Symbol]]:
    """What the scanner finds at each place, and its owner; of a symbol with several places all.
    Then those of it that ctags need not list.
    """
    owners, unlisted = {}, set()
    for path in sorted(folder.rglob("*.rs")):
        content = path.read_bytes()
        if len(content) > LARGEST or is_minified(content):
            continue
        tree, _ = parse(content, "rust")
        for declaration in walk(tree.root_node, content).declarations:
            outer, _, name = declaration.name.rpartition(".")
            inner = str(path.relative_to(folder))
            line = line_of(declaration.node.child_by_field_name("name") or declaration.node)
            sort = "function" if declaration.prefix == "method" else declaration.prefix
            symbol = Symbol(inner, line, sort, name)
            owners[symbol] = outer.rpartition(".")[2]
            is_local = "<locals>" in declaration.name
            if is_local or declaration.node.type in ("const_item", "union_item"):
                unlisted.add(symbol)
    return owners, unlisted


def _line(folder: Path, symbol: Symbol) -> str:
    lines = (folder / symbol.path).read_text("utf-8", "replace").split("\n")
    return lines[symbol.line - 1] if symbol.line <= len(lines) else ""


def compare(folder: Path) -> Comparison:
    """What ctags and the scanner find in a repository."""
    theirs = ctags_symbols(folder)
    ours, unlisted = our_symbols(folder)
    common = theirs.keys() & ours.keys()
    extra = ours.keys() - theirs.keys() - unlisted
    written = {symbol for symbol in extra if _is_written(_line(folder, symbol), symbol)}
    stated = [symbol for symbol in common if theirs[symbol]]
    other_owners = [
        f"{symbol} owner {ours[symbol]}, not {theirs[symbol]}"
        for symbol in sorted(stated)
        if ours[symbol] != theirs[symbol]
    ]
    return Comparison(
        len(common),
        sorted(map(str, theirs.keys() - ours.keys())),
        sorted(map(str, written)),
        sorted(map(str, extra - written)),
        len(stated),
        other_owners,
    )


def _is_written(line: str, symbol: Symbol) -> bool:
    """Whether a line defines a symbol by a keyword and its name, or reads as a field or variant."""
    name = re.escape(symbol.name)
    keywords = r"(?:fn|struct|enum|union|type|trait|mod|static(?:\s+mut)?|const|macro_rules!)"
    if re.search(rf"\b{keywords}\s+(?:r#)?{name}\b", line):
        return True
    return (
        symbol.sort == "field"
        and re.search(rf"(?:^|[\s{{,(])(?:r#)?{name}\s*(?:[:,({{=}}]|$)", line) is not None
    )


def drawn_links(folder: Path, state: Path, number: int, seed: int) -> Iterator[Drawn]:
    """Some links of uses, drawn by a seed."""
    environ = {"HOME": str(state), "KL_STATE": str(state / "state")}
    with open_graph(open_workspace(folder, environ=environ)) as graph:
        uses = sorted(
            (link.path, link.line, link.relation, link.target, link.method)
            for link in links.every(graph.db)
            if link.path.endswith(".rs")
            and link.relation in ("calls", "references", "inherits", "implements")
            and not link.target.startswith("name:")
        )
    for path, line, relation, target, method in random.Random(seed).sample(
        uses, min(number, len(uses))
    ):
        code = (folder / path).read_text("utf-8", "replace").split("\n")[line - 1].strip()
        yield Drawn(f"{path}:{line}", code, f"{relation} {target} ({method})")


def _lines(repository: str, comparison: Comparison, number: int) -> Iterator[str]:
    common, missed, omitted, extra, owned, other_owners = comparison
    shares = [
        common / max(common + len(missed), 1),
        (common + len(omitted)) / max(common + len(omitted) + len(extra), 1),
        common / max(common + len(omitted) + len(extra), 1),
        1 - len(other_owners) / max(owned, 1),
    ]
    figures = " | ".join(f"{share:.4f}" for share in shares)
    yield f"| {repository} | {common + len(missed)} | {figures} |"
    for title, texts in (
        ("missed", missed),
        ("omitted by ctags", omitted),
        ("extra", extra),
        ("owner", other_owners),
    ):
        for text in texts[:number]:
            yield f"    {title} {text}"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.rust_quality")
    parser.add_argument("repositories", nargs="*", default=REPOSITORIES, metavar="REPOSITORY")
    parser.add_argument("--differences", type=int, default=0, metavar="N", help="of each sort")
    parser.add_argument("--draw", type=int, default=0, metavar="N", help="references a repository")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if not shutil.which("ctags"):
        sys.stderr.write("bench.rust_quality needs universal-ctags.\n")
        return 3
    titles = "symbols | recall | precision | precision by ctags alone | same owner"
    sys.stdout.write(f"| repository | {titles} |\n|---|---|---|---|---|---|\n")
    with tempfile.TemporaryDirectory(prefix="kl-rust-") as name:
        for place, repository in enumerate(arguments.repositories):
            folder = clone(repository, Path(name) / f"repository-{place}")
            state = Path(name) / f"home-{place}"
            shown = repository.rstrip("/").removesuffix("/repo").rpartition("/")[2]
            for line in _lines(shown, compare(folder), arguments.differences):
                sys.stdout.write(line + "\n")
            for drawn in drawn_links(folder, state, arguments.draw, arguments.seed):
                sys.stdout.write(f"    {drawn.place}\n        {drawn.code}\n        {drawn.link}\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
