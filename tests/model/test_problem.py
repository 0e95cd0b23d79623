"""A problem is one line, whatever its file is called."""

from __future__ import annotations

from kl_hooks.model.problem import Problem


def test_a_name_with_a_line_end_begins_no_line() -> None:
    assert (
        str(Problem("a\n::error::b.md", 3, 1, "is wrong.", "Mend it."))
        == "a\\n::error::b.md:3:1: is wrong. Mend it."
    )
    assert str(Problem("a\nb", 0, 0, "is wrong.")) == "a\\nb: is wrong."
