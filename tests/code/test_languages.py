"""Files of languages that no scanner reads are counted."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kl_hooks.code import languages
from kl_hooks.code.languages import (
    EXTRA,
    LANGUAGES,
    SCANNED,
    SUFFIXES,
    is_file_module,
    module_system,
    own_scanners,
    scanner_of,
    unread,
    unread_text,
)
from kl_hooks.hookspecs import Scanner

OPTIONAL = {"TypeScript", "JavaScript", "Rust"}


@pytest.fixture
def without_the_extra(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As where tree-sitter is not installed: None in `sys.modules` is a package that is not
    found.
    """
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    languages._are_installed.cache_clear()
    yield
    languages._are_installed.cache_clear()


def test_each_language_that_is_not_read_is_counted_once() -> None:
    paths = [f"folder/name{suffix}" for suffix in SUFFIXES]
    numbers = unread(paths, own_scanners())
    assert numbers == {
        name: len(suffixes)
        for name, suffixes in LANGUAGES.items()
        if name not in {"Python", *OPTIONAL}
    }
    assert list(numbers.values()) == sorted(numbers.values(), reverse=True)


@pytest.mark.usefixtures("without_the_extra")
def test_without_the_extra_what_it_would_read_is_counted_with_the_install_line() -> None:
    assert [scanner.language for scanner in own_scanners()] == ["python"]
    numbers = unread(["a.ts", "b.tsx", "c.js", "d.go", "e.rs"], own_scanners())
    assert numbers == {"TypeScript": 2, "Go": 1, "JavaScript": 1, "Rust": 1}
    assert unread_text(numbers) == (
        "5 files not assessed, no scanner reads TypeScript (2), Go (1), JavaScript (1), Rust (1);"
        f" TypeScript, JavaScript and Rust: {EXTRA}"
    )


def test_no_parser_is_imported_before_one_of_its_files_is_read() -> None:
    source = (
        "import sys; from kl_hooks.code.languages import own_scanners; s = own_scanners();"
        " s[0].scan(b'x = 1', 'a.py', '_');"
        " print(sorted(m for m in sys.modules"
        " if 'tree_sitter' in m or 'typescript' in m or 'rust' in m));"
        " s[1].scan(b'let x = 1', 'a.ts', '_'); print('tree_sitter_typescript' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\nTrue\n"


def test_every_language_names_a_scanner_and_a_module_system_that_there_are() -> None:
    for language in SCANNED:
        end = language.suffixes[0]
        path = f"folder/name{end}" if end.startswith(".") else f"folder/{end}"
        facts = languages._named(language.scan)(b"", path, "_")
        assert facts.keys() >= {"error", "symbols", "imports", "uses", "outline", "names", "text"}
        system = module_system(path)
        assert (system is not None) == bool(language.modules)


def test_what_a_scanner_of_a_plugin_reads_is_not_counted() -> None:
    rust = Scanner("rust", (".rs",), "1", lambda content, path, module: {})
    assert unread(["a.rs", "b.go", "README.md", "Makefile"], [rust]) == {"Go": 1}


def test_stubs_are_not_counted_as_python() -> None:
    numbers = unread(["shop.py", "shop.pyi"], own_scanners())
    assert unread_text(numbers) == ("1 file not assessed, no scanner reads Python stubs (.pyi) (1)")


CONFIGURATIONS = {
    "package.json": True,
    "crates/cart/Cargo.toml": True,
    "my-Cargo.toml": False,
    "web/tsconfig.base.json": True,
    "my-package.json": False,
    "web/old_tsconfig.json": False,
    "web/package.json.bak": False,
}


@pytest.mark.parametrize("path", CONFIGURATIONS)
def test_a_configuration_is_known_by_its_whole_name(path: str) -> None:
    scanner = scanner_of(path, own_scanners())
    assert (scanner is not None) == CONFIGURATIONS[path]
    assert (module_system(path) is not None) == CONFIGURATIONS[path]
    assert is_file_module(path) == CONFIGURATIONS[path]


def test_the_text_names_the_number_of_all_and_of_each() -> None:
    assert unread_text({}) == ""
    assert unread_text({"Go": 1}) == "1 file not assessed, no scanner reads Go (1)"
    assert unread_text({"Go": 2, "C": 1}) == "3 files not assessed, no scanner reads Go (2), C (1)"


MARKS = {
    "#[test]": True,
    "#[tokio::test]": True,
    '#[tokio::test(flavor = "multi_thread")]': True,
    "#[async_std :: test]": True,
    "#[rstest]": True,
    "#[test_case(1, 2)]": True,
    "#[wasm_bindgen_test]": True,
    "#[cfg(test)]": False,
    '#[cfg_attr(test, path = "x.rs")]': False,
    "#[latest]": False,
    "#[tests]": False,
    "#[derive(Debug)]": False,
}


@pytest.mark.parametrize("mark", MARKS)
def test_attributes_that_mark_a_test_in_rust(mark: str) -> None:
    assert bool(re.match(languages.test_mark("src/lib.rs"), mark)) is MARKS[mark]


def test_a_test_file_is_run_by_the_command_of_its_language() -> None:
    paths = ("tests/test_a.py", "web/a.test.ts", "tests/shop.rs", "shop_test.go")
    assert [languages.test_command([path]) for path in paths] == [
        "pytest tests/test_a.py",
        "npm test -- web/a.test.ts",
        "cargo test",
        "",
    ]
    several = ["web/(shop)/a.spec.tsx", "web/b.test.js", "tests/test_a.py"]
    assert languages.test_command(several) == "npm test -- 'web/(shop)/a.spec.tsx' web/b.test.js"


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("src/cart.py", {"test_cart.py", "cart_test.py"}),
        ("shop/__init__.py", {"test_shop.py", "shop_test.py", "test_init.py", "init_test.py"}),
        ("src/cart/index.tsx", {"cart.test.ts", "index.spec.tsx"}),
        ("src/cart.mjs", {"cart.test.mjs", "cart.spec.ts"}),
        ("src/cart/mod.rs", {"cart.rs", "mod_test.rs"}),
        ("shop.go", set()),
    ],
)
def test_the_names_of_files_with_the_tests_of_a_file(path: str, named: set[str]) -> None:
    names = languages.test_file_names(path).values()
    assert named <= {name for names_of_stem in names for name in names_of_stem}


def test_what_marks_a_test() -> None:
    assert languages.test_mark("web/a.test.ts") == languages.test_mark("tests/test_a.py") == ""
