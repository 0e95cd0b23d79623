"""Languages of source files, and how many files of each no scanner reads.

A question about the graph may find nothing because no scanner reads the file. Such files are
counted by language, so that no answer looks complete that is not.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.model.text import counted

if TYPE_CHECKING:
    from kl_hooks.git.repository import Repository
    from kl_hooks.hookspecs import Scanner

LANGUAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "C": (".c", ".h"),
    "C#": (".cs",),
    "C++": (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"),
    "Clojure": (".clj", ".cljs", ".cljc"),
    "Cython": (".pyx", ".pxd"),
    "Dart": (".dart",),
    "Elixir": (".ex", ".exs"),
    "Erlang": (".erl",),
    "F#": (".fs",),
    "Go": (".go",),
    "Haskell": (".hs",),
    "Java": (".java",),
    "JavaScript": (".js", ".cjs", ".jsx", ".mjs"),
    "Julia": (".jl",),
    "Kotlin": (".kt", ".kts"),
    "Lua": (".lua",),
    "OCaml": (".ml", ".mli"),
    "PHP": (".php",),
    "Perl": (".pl", ".pm"),
    "Python": (".py", ".pyi"),
    "R": (".r", ".R"),
    "Ruby": (".rb",),
    "Rust": (".rs",),
    "Scala": (".scala",),
    "Svelte": (".svelte",),
    "Swift": (".swift",),
    "TypeScript": (".ts", ".cts", ".mts", ".tsx"),
    "Vue": (".vue",),
    "Zig": (".zig",),
}
"""Language → the ends of the names of its files, named as by GitHub's linguist."""
_LANGUAGE_OF: Final = {suffix: name for name, suffixes in LANGUAGES.items() for suffix in suffixes}
SUFFIXES: Final = tuple(_LANGUAGE_OF)
"""The ends of the names of all source files that are known."""

Unread = Mapping[str, int]
"""Language → number of files that no scanner reads; the language with most of them first."""


def unread(paths: Iterable[str], scanners: Sequence[Scanner]) -> Unread:
    """How many of these files are in a language, and no scanner reads them."""
    scanned = tuple(suffix for scanner in scanners for suffix in scanner.suffixes)
    numbers = Counter(
        language
        for path in paths
        if (language := _LANGUAGE_OF.get("." + path.rpartition(".")[2]))
        and not path.endswith(scanned)
    )
    return dict(sorted(numbers.items(), key=lambda row: (-row[1], row[0])))


def unread_in_worktree(repo: Repository, scanners: Sequence[Scanner]) -> Unread:
    """The same of the files of the working tree, tracked or not. One git process."""
    from kl_hooks.git.files import suffix_pathspecs
    from kl_hooks.git.repository import git_in

    # with -t a file that is deleted on disk has two lines: one with H, as it is in the index, one
    # with R (git-ls-files)
    options = ("-z", "-t", "--cached", "--deleted", "--others", "--exclude-standard")
    listing = git_in(repo, "ls-files", *options, "--", *suffix_pathspecs(SUFFIXES))
    lines = os.fsdecode(listing).split("\0")
    deleted = {line[2:] for line in lines if line.startswith("R ")}
    return unread({line[2:] for line in lines} - deleted, scanners)


def unread_at(repo: Repository, rev: str, scanners: Sequence[Scanner]) -> Unread:
    """The same of the files of a revision. One git process. UsageProblem for no revision."""
    from kl_hooks.git.files import files_at

    return unread((entry.path for entry in files_at(repo, rev, SUFFIXES)), scanners)


def unread_text(numbers: Unread) -> str:
    """`3 files not assessed, no scanner reads TypeScript (2), Rust (1)`; empty where there are
    none.
    """
    if not numbers:
        return ""
    languages = ", ".join(f"{language} ({number})" for language, number in numbers.items())
    return f"{counted(sum(numbers.values()), 'file')} not assessed, no scanner reads {languages}"
