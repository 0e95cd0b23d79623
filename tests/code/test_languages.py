"""Files of languages that no scanner reads are counted."""

from __future__ import annotations

from kl_hooks.code.languages import LANGUAGES, SUFFIXES, unread, unread_text
from kl_hooks.code.scanner.python import own_scanners
from kl_hooks.hookspecs import Scanner


def test_each_language_but_pythons_is_counted_once() -> None:
    paths = [f"folder/name{suffix}" for suffix in SUFFIXES]
    numbers = unread(paths, own_scanners())
    assert numbers == {
        name: 1 if name == "Python" else len(suffixes) for name, suffixes in LANGUAGES.items()
    }, "of Python .pyi is not read"
    assert list(numbers.values()) == sorted(numbers.values(), reverse=True)


def test_what_a_scanner_of_a_plugin_reads_is_not_counted() -> None:
    rust = Scanner("rust", (".rs",), "1", lambda content, path, module: {})
    assert unread(["a.rs", "b.go", "README.md", "Makefile"], [rust]) == {"Go": 1}


def test_the_text_names_the_number_of_all_and_of_each() -> None:
    assert unread_text({}) == ""
    assert unread_text({"Go": 1}) == "1 file not assessed, no scanner reads Go (1)"
    assert unread_text({"Go": 2, "C": 1}) == "3 files not assessed, no scanner reads Go (2), C (1)"
