"""Annotations on GitHub: escaped so that the runner reads back what was meant; nine and a count."""

from __future__ import annotations

import re

from hypothesis import given

from kl_hooks.arch.formats.findings import findings
from kl_hooks.arch.formats.github import MOST, github
from kl_hooks.arch.verdict import Verdict
from tests.arch.verdicts import UNREAD, VERDICTS, broken, verdict

COMMAND = re.compile(r"::error ([^:]*)::(.*)")


def read(line: str) -> tuple[dict[str, str], str]:
    """A command as the runner reads it: properties apart at `,` and `=`, then unescaped."""
    found = COMMAND.fullmatch(line)
    assert found is not None, line
    pairs = [part.split("=", 1) for part in found[1].split(",")]

    def back(text: str) -> str:
        for code, sign in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
            text = text.replace(code, sign)
        return text

    return {key: back(value) for key, value in pairs}, back(found[2])


def test_one_line_for_each_finding() -> None:
    lines = github([("worktree", verdict(broken(), accepted=(broken("c/price.py"),), problems=(UNREAD,)))])
    assert lines == [
        "::error file=c/bad.py,line=14,col=9,title=A governed file could not be judged::"
        "can't be parsed: invalid syntax.",
        "::error file=c/order.py,line=3,title=core must not import web::from w import page: core must not import"
        " web (layer rule, .kl/architecture.yaml:9, ADR-0004). hint: pass it in",
    ]
    assert github([("worktree", None)]) == [] == github([("worktree", verdict())])


def test_signs_of_the_format_are_escaped() -> None:
    (line,) = github([("x", verdict(broken("c/a,b:c%0A.py")))])
    assert "file=c/a%2Cb%3Ac%250A.py,line=3," in line
    assert read(line)[0]["file"] == "c/a,b:c%0A.py"


@given(VERDICTS)
def test_what_the_runner_reads_is_what_was_found(found: Verdict) -> None:
    new = [one for one in findings(found) if not one.accepted]
    lines = github([("x", found)])
    assert len(lines) == len(new)
    for line in lines:
        assert ("\n" not in line and "\r" not in line and line.isprintable()) or not line.isascii()
        line.encode("utf-8")
        properties, message = read(line)
        assert {"file", "line", "title"} <= set(properties) and int(properties["line"]) >= 1
        assert message in {one.message for one in new}


def test_the_worst_nine_and_how_many_there_are() -> None:
    many = [broken(f"c/f{n:02}.py") for n in range(14)]
    last = broken("c/z.py", target="infra")
    lines = github([("x", verdict(*many, last, problems=(UNREAD,)))])
    assert len(lines) == MOST + 1 == 10
    files = [read(line)[0].get("file") for line in lines]
    assert files[:3] == ["c/bad.py", "c/f00.py", "c/z.py"], "what is not judged, then every rule once"
    assert read(lines[-1]) == (
        {"title": "kl arch check"}, "16 findings in 16 files; 9 are shown here. All of them: kl arch check",
    )  # fmt: skip
    assert len(github([("x", verdict(*many[:9]))])) == 9
