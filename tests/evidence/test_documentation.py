"""Which files are documentation: an edit of one asks for no run, unless a test opened it."""

from __future__ import annotations

import pytest

from kl_hooks.evidence.provenance import is_document


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        *(
            (name, True)
            for name in ("README", "README.txt", "src/README", "CONTRIBUTING", "LICENSE")
        ),
        *((name, True) for name in ("a.md", "docs/a.txt", ".gitignore", "NEWS.rst")),
        *((name, False) for name in ("readme.py", "README_of_x", "a.txt", "src/a.toml")),
    ],
)
def test_a_file_is_documentation_by_its_name(path: str, expected: bool) -> None:
    assert is_document(path) is expected
