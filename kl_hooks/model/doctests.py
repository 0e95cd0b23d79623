"""Which Python files have examples that pytest collects with `--doctest-modules`, by their text."""

from __future__ import annotations

import posixpath


def has_examples(path: str, content: bytes) -> bool:
    """Whether a file may have examples that pytest collects.

    pytest imports no `__main__.py` for them, and no `setup.py` of a distribution
    (`_pytest/doctest.py`, `_is_main_py` and `_is_setup_py`).
    """
    name = posixpath.basename(path)
    if name == "setup.py" and (b"setuptools" in content or b"distutils" in content):
        return False
    return name != "__main__.py" and b">>>" in content
