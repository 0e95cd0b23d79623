"""Rewriting in a process of its own: what dies there takes nothing with it."""

from __future__ import annotations

from kl_hooks.code.rewrite.process import Job, rewrite_apart, rewritten
from kl_hooks.code.scanner.python import scan_python


def job(text: str) -> Job:
    content = text.encode()
    return Job(content, (), tuple(scan_python(content, "x.py", "m")["imports"]))


def test_a_file_that_kills_it_stays_and_the_others_are_done() -> None:
    deep = job("from w import A\nx = " + "(" * 90 + "+".join(["1"] * 3000) + ")" * 90 + "\n")
    found = rewrite_apart({"a.py": job("from w import A\n"), "deep.py": deep, "z.py": job("import w\nx = 1\n")})
    assert list(found) == ["a.py", "deep.py", "z.py"]
    assert (found["a.py"].content, found["z.py"].content) == (b"", b"x = 1\n")
    assert not found["a.py"].left and not found["z.py"].left
    if found["deep.py"].left:
        assert found["deep.py"].content == deep.content
        assert "the rewriting died on this file" in found["deep.py"].left[0][1]


def test_one_import_that_can_not_go_keeps_no_other_from_going() -> None:
    one = job("from w import A  # mine\nfrom v import B\n")
    content, left = rewritten(one.content, [], list(one.drops))
    assert content == b"from w import A  # mine\n"
    assert [(row[0], reason) for row, reason in left] == [("w", "a comment belongs to it that would be lost")]


def test_nothing_to_do_starts_nothing() -> None:
    assert rewrite_apart({}) == {}
