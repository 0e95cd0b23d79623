"""The languages of source files: the ends of their files' names, who reads them, how their modules
are named, and how many files no scanner reads.

A language is data here: `SCANNED` names its scanner and its module system, which are imported only
where one of its files is read. It takes part where the packages that it needs are installed (the
extra `languages`; Python needs none). A question about the graph may find nothing because no
scanner reads the file: such files are counted by language, so that no answer looks complete that is
not.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.scanner.parser import VERSION, no_garbage_collection
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.text import counted

if TYPE_CHECKING:
    from kl_hooks.code.module_systems import ModuleSystem
    from kl_hooks.code.scanner.parser import Key, Read
    from kl_hooks.git.files import FileEntry
    from kl_hooks.git.repository import Repository
    from kl_hooks.hookspecs import Scanner
    from kl_hooks.workspace import Workspace

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
    "Python": (".py",),
    "Python stubs (.pyi)": (".pyi",),
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
"""Language → the ends of the names of its files, named as by GitHub's linguist; stubs by
themselves, since Python is read.
"""
_LANGUAGE_OF: Final = {suffix: name for name, suffixes in LANGUAGES.items() for suffix in suffixes}
SUFFIXES: Final = tuple(_LANGUAGE_OF)
"""The ends of the names of all source files that are known."""


class Language(NamedTuple):
    """A language, or the configuration of its projects, that a scanner of ours reads."""

    name: str
    suffixes: tuple[str, ...]
    """The ends of its files' names; without a dot at the beginning the whole name of a file."""
    version: str
    """Part of the cache key: raised whenever the same bytes would give other facts."""
    scan: str
    """`module:function`, imported when the first file is read; see `hookspecs.Scanner.scan`."""
    imports: str = ""
    """The same of a shorter way to the imports alone, where there is one."""
    modules: str = ""
    """`module:name` of its `ModuleSystem`, where modules are named by their paths; empty: they have
    dotted names, by the rules of `kl_hooks.code.modules`.
    """
    requires: tuple[str, ...] = ()
    """The packages that must be importable; those of the extra `languages`."""
    tests: str = ""
    """The command that runs the tests of most projects."""
    before_paths: str = ""
    """What is between it and the paths of the files whose tests alone are to run; empty: it takes no
    paths.
    """
    test_files: tuple[str, ...] = ()
    """The names of a file with the tests of another one, `{stem}` being the other's name without its
    end.
    """
    of_a_folder: tuple[str, ...] = ()
    """The names, without their end, of files that are called as their folder, too."""
    test_mark: str = ""
    """A pattern of what is written before a function that is a test, such as an attribute; empty: that
    is not marked.
    """


_CARGO_MODULES: Final = "kl_hooks.code.rust.modules:CARGO"
_RUST_PACKAGES: Final = ("tree_sitter", "tree_sitter_rust")
_CARGO_CONFIGURATIONS: Final = ("Cargo.toml",)
_NODE_MODULES: Final = "kl_hooks.code.typescript.modules:NODE"
_NODE_PACKAGES: Final = ("tree_sitter", "tree_sitter_typescript", "tree_sitter_javascript")
_NODE_CONFIGURATIONS: Final = (
    "package.json",
    "jsconfig.json",
    "tsconfig.json",
    # what others extend or refer to has no name of its own; these are usual
    *(
        f"tsconfig.{name}.json"
        for name in ("app", "base", "build", "common", "lib", "node", "shared")
    ),
)


_NODE_SUFFIXES: Final = (".ts", ".tsx", ".js", ".jsx", ".mts", ".cts", ".mjs", ".cjs")


def _of_node(name: str, suffixes: tuple[str, ...], version: str, scan: str) -> Language:
    """A language whose modules Node and the TypeScript compiler find."""
    return Language(
        name,
        suffixes,
        version,
        f"kl_hooks.code.typescript.scanner:{scan}",
        modules=_NODE_MODULES,
        requires=_NODE_PACKAGES,
        tests="npm test",
        before_paths=" -- ",
        of_a_folder=("index",),
        test_files=tuple(
            f"{{stem}}.{mark}{suffix}" for mark in ("test", "spec") for suffix in _NODE_SUFFIXES
        ),
    )


SCANNED: Final = (
    Language(
        "python",
        (".py",),
        VERSION,
        "kl_hooks.code.scanner.python:scan_guarded",
        "kl_hooks.code.scanner.python:imports_guarded",
        tests="pytest",
        before_paths=" ",
        of_a_folder=("__init__",),
        test_files=("test_{stem}.py", "{stem}_test.py"),
    ),
    _of_node("TypeScript", (".ts", ".mts", ".cts"), "typescript/6", "scan_typescript"),
    _of_node("TSX", (".tsx",), "tsx/6", "scan_tsx"),
    _of_node("JavaScript", (".js", ".jsx", ".mjs", ".cjs"), "javascript/6", "scan_javascript"),
    Language(
        "configuration of TypeScript and Node",
        _NODE_CONFIGURATIONS,
        "node-configuration/1",
        "kl_hooks.code.typescript.configuration:scan_configuration",
        modules=_NODE_MODULES,
        requires=_NODE_PACKAGES,
    ),
    Language(
        "Rust",
        (".rs",),
        "rust/8",
        "kl_hooks.code.rust.scanner:scan_rust",
        modules=_CARGO_MODULES,
        requires=_RUST_PACKAGES,
        tests="cargo test",
        of_a_folder=("mod", "lib", "main"),
        test_files=("{stem}.rs", "test_{stem}.rs", "{stem}_test.rs", "{stem}_tests.rs"),
        # `#[test]`, `#[tokio::test(…)]`, `#[rstest]`, `#[wasm_bindgen_test]`; not `#[cfg(test)]`
        test_mark=r"#\[\s*(?:\w+\s*::\s*)*(?:\w+_)?(?:rs)?test(?:_case)?\s*[\](]",
    ),
    Language(
        "configuration of Cargo",
        _CARGO_CONFIGURATIONS,
        "cargo-configuration/3",
        "kl_hooks.code.rust.configuration:scan_cargo",
        modules=_CARGO_MODULES,
        requires=_RUST_PACKAGES,
    ),
)
_CONFIGURATIONS: Final = (*_NODE_CONFIGURATIONS, *_CARGO_CONFIGURATIONS)
"""The languages that are read, in the order in which their scanners are asked."""
EXTRA: Final = "pip install 'kl-hooks[languages]'"
"""Installs what the scanners of some of them need."""

Unread = Mapping[str, int]
"""Language → number of files that no scanner reads; the language with most of them first."""


def scanners_of(ws: Workspace) -> list[Scanner]:
    """All scanners of ours and of plugins, the ones to be asked first first."""
    # ours alone: a commit hook needs nothing else of 14 plugins and their manager
    own = not ws.settings.plugins
    if own:
        return own_scanners()
    return [scanner for scanners in ws.plugins.hook.kl_scanners() for scanner in scanners]


def own_scanners() -> list[Scanner]:
    """Those of all languages whose packages are installed."""
    from kl_hooks.hookspecs import Scanner  # with pluggy; who looks at no file has no need of it

    return [
        Scanner(
            language.name,
            language.suffixes,
            language.version,
            _later(language.scan),
            _later(language.imports) if language.imports else None,
        )
        for language in SCANNED
        if _are_installed(language.requires)
    ]


@cache
def _are_installed(packages: tuple[str, ...]) -> bool:
    if not packages:
        return True
    from importlib.util import find_spec

    return all(find_spec(package) is not None for package in packages)


def _later(place: str) -> Callable[..., Mapping[str, Any]]:
    """The function that `module:function` means, imported when it is first called: most commands
    read no file of most languages.
    """

    def read(*arguments: Any) -> Mapping[str, Any]:
        facts: Mapping[str, Any] = _named(place)(*arguments)
        return facts

    return read


@cache
def _named(place: str) -> Any:
    """What `module:name` means."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _language(path: str) -> Language | None:
    """The language, or the configuration, that a scanner of ours reads under this name."""
    return next((language for language in SCANNED if is_named(path, language.suffixes)), None)


def test_command(paths: Sequence[str]) -> str:
    """The command that runs the tests of files, as far as that depends on the language of the first
    alone: `pytest tests/test_a.py`, `npm test -- src/a.test.ts`, `cargo test`; empty for a language
    without a scanner of ours.
    """
    language = _language(paths[0])
    if language is None:
        return ""
    if not language.before_paths:
        return language.tests
    import shlex  # most commands name no test to run

    of_language = [
        path
        for path in paths
        if (other := _language(path)) is not None and other.tests == language.tests
    ]
    return f"{language.tests}{language.before_paths}{shlex.join(of_language)}"


def test_file_names(path: str) -> dict[str, list[str]]:
    """What the tests of a source file are named after → the names of such test files, by the custom
    of its language; nothing where no scanner of ours reads it.

    A file that is its folder's module is called as the folder, too: `click/__init__.py`,
    `cart/index.ts`, `cart/mod.rs`.
    """
    language = _language(path)
    if language is None:
        return {}
    *folders, name = path.split("/")
    stems = [name.rpartition(".")[0].strip("_")]
    if name.rpartition(".")[0] in language.of_a_folder and folders:
        stems.insert(0, folders[-1])
    return {
        stem: [name.format(stem=stem) for name in language.test_files] for stem in stems if stem
    }


def test_mark(path: str) -> str:
    """The pattern of what marks a function of a file as a test; empty for a language without
    marks.
    """
    if not is_file_module(path):
        return ""
    language = _language(path)
    return language.test_mark if language is not None else ""


def is_named(path: str, suffixes: tuple[str, ...]) -> bool:
    """Whether a file's name ends so, as `.ts`, or is so, as `package.json`."""
    ends, names = _ends_and_names(suffixes)
    return path.endswith(ends) or (bool(names) and path.rpartition("/")[2] in names)


@cache
def _ends_and_names(suffixes: tuple[str, ...]) -> tuple[tuple[str, ...], frozenset[str]]:
    ends = tuple(suffix for suffix in suffixes if suffix.startswith("."))
    return ends, frozenset(suffixes) - frozenset(ends)


def scanner_of(path: str, scanners: Sequence[Scanner]) -> Scanner | None:
    """The scanner for a file: the first that knows its suffix."""
    for scanner in scanners:
        if is_named(path, scanner.suffixes):
            return scanner
    return None


def scan_file(
    path: str, content: bytes, module: str, scanners: Sequence[Scanner]
) -> Mapping[str, Any] | None:
    """The facts of one content (see `hookspecs.Scanner.scan`); None where no scanner knows the name
    of the file. Nothing is stored.
    """
    scanner = scanner_of(path, scanners)
    if scanner is None:
        return None
    return scanner.scan(content, path, module)


def source_suffixes(scanners: Sequence[Scanner]) -> tuple[str, ...]:
    """The ends of the names of all files that these scanners find symbols in: without
    configuration.
    """
    suffixes = (suffix for scanner in scanners for suffix in scanner.suffixes)
    return tuple(suffix for suffix in suffixes if suffix not in _CONFIGURATIONS)


_FILE_MODULES: Final = tuple(
    suffix for language in SCANNED if language.modules for suffix in language.suffixes
)


READ_NAMES: Final = tuple(
    dict.fromkeys(suffix for language in SCANNED for suffix in language.suffixes)
)
"""The ends, or the whole names, of all files that scanners of ours read, configuration included."""
_SOURCE_ENDS: Final = tuple(suffix for suffix in READ_NAMES if suffix.startswith("."))


def is_source(path: str) -> bool:
    """Whether a scanner of ours finds imports in files of this name, where its packages are
    installed. Configuration is no source.
    """
    return path.endswith(_SOURCE_ENDS)


def language_of(path: str) -> str:
    """The language of a source file, by its name; empty for none that is known."""
    return _LANGUAGE_OF.get("." + path.rpartition(".")[2], "")


def names_of_language(name: str) -> tuple[str, ...]:
    """The ends and names of the files of a language (`TypeScript`, `ts`), and of those that it
    shares modules with (`JavaScript`); none for a language without a scanner of ours.
    """
    wanted = name.lower()
    systems = {
        language.modules
        for language in SCANNED
        if wanted == language.name.lower() or f".{wanted}" in language.suffixes
    }
    return tuple(
        suffix
        for language in SCANNED
        if language.modules in systems
        for suffix in language.suffixes
    )


def is_file_module(path: str) -> bool:
    """Whether a file's module is named by its path."""
    return is_named(path, _FILE_MODULES)


def is_read(path: str) -> bool:
    """Whether a scanner of ours reads files of this name, where its packages are installed."""
    return path.endswith(".py") or is_file_module(path)


def module_system(path: str) -> ModuleSystem | None:
    """The module system of a file's language; None where modules have dotted names, and for what no
    scanner of ours reads.
    """
    if not is_file_module(path):
        return None
    language = next(language for language in SCANNED if is_named(path, language.suffixes))
    system: ModuleSystem = _named(language.modules)
    return system


def read_imports(
    entries: Sequence[FileEntry], read: Read, scanners: Sequence[Scanner]
) -> dict[str, dict[str, Any]]:
    """Path → `error` and `imports` of the facts (see `code.scanner.python`) of every entry that a scanner
    knows; of configuration `settings`, if it states any.

    What can't be read is omitted.
    """
    scanner_by_path = {
        entry.path: scanner for entry in entries if (scanner := scanner_of(entry.path, scanners))
    }
    imports_of = {}
    with no_garbage_collection():
        for entry, content in read([entry for entry in entries if entry.path in scanner_by_path]):
            scanner = scanner_by_path[entry.path]
            if scanner.imports:
                whole = scanner.imports(content, entry.path)
            else:
                whole = scanner.scan(content, entry.path, "_")
            hide_literals(whole["imports"], literals_of(scanner))
            imports_of[entry.path] = {"error": whole["error"], "imports": whole["imports"]}
            stated = whole.get("outline", {}).get("settings")
            if stated:
                imports_of[entry.path]["settings"] = stated
    return imports_of


def literals_of(scanner: Scanner) -> str:
    """The `language` of `store.redaction.redact` for a scanner's files. Of other languages than
    Python it knows no literals, so that any part of their source may be a secret.
    """
    if scanner.language == "python":
        return "python"
    return ""


def hide_literals(rows: Sequence[list[Any]], language: str) -> None:
    """Takes secrets out of the statements that hold free text: calls that import by a name in
    quotes. `language`: as `literals_of`.
    """
    for row in rows:
        if row[4] == "dynamic import":
            from kl_hooks.store.redaction import redact_or_omit

            row[5] = redact_or_omit(row[5], language)


def content_keys(entries: Iterable[FileEntry], scanners: Sequence[Scanner]) -> dict[str, Key]:
    """Path → (blob, scanner's version) for each entry that a scanner knows; the first scanner of a
    suffix wins.
    """
    key_of: dict[str, Key] = {}
    for entry in entries:
        scanner = scanner_of(entry.path, scanners)
        if scanner is not None:
            key_of[entry.path] = (entry.blob, scanner.version)
    return key_of


Progress = Callable[[Iterator[Any], int], Iterator[Any]]
"""Given what is about to come and how many, hands it on: so that progress can be shown."""


def no_progress(steps: Iterator[Any], number: int) -> Iterator[Any]:
    """Hand on what comes."""
    return steps


def unread(paths: Iterable[str], scanners: Sequence[Scanner]) -> Unread:
    """How many of these files are in a language, and no scanner reads them."""
    scanned = tuple(suffix for scanner in scanners for suffix in scanner.suffixes)
    numbers = Counter(
        language
        for path in paths
        if (language := _LANGUAGE_OF.get("." + path.rpartition(".")[2]))
        and not is_named(path, scanned)
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
    text = f"{counted(sum(numbers.values()), 'file')} not assessed, no scanner reads {languages}"
    missing = installable(numbers)
    if not missing:
        return text
    listed = " and ".join(filter(None, [", ".join(missing[:-1]), missing[-1]]))
    return f"{text}; {listed}: {EXTRA}"


def installable(numbers: Unread) -> list[str]:
    """Those of these languages whose scanners the extra brings."""
    optional = {
        _LANGUAGE_OF.get(suffix)
        for language in SCANNED
        if language.requires
        for suffix in language.suffixes
    }
    return [language for language in numbers if language in optional]
