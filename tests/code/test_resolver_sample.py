"""300 references in packages nobody here wrote, read by hand: the resolver can't get worse
unseen.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from bench.corpora import WHEELS
from bench.resolver_draw import PER_PACKAGE, draw
from bench.resolver_quality import COLUMN_TRUTHS, ask, every, report, score, table


def test_the_table_is_whole() -> None:
    rows = table()
    assert len(rows) == 300
    assert len({(row["package"], row["path"], row["line"], row["column"]) for row in rows}) == 300
    assert {row["package"] for row in rows} == set(WHEELS)
    assert Counter(row["kind"] for row in rows) == {
        kind: 6 * number for kind, number in PER_PACKAGE.items()
    }
    for row in rows:
        assert ":" in row["truth"] or row["truth"] in COLUMN_TRUTHS, row
        assert row["note"], row


FILES = {
    "m/__init__.py": b"",
    "m/a.py": (
        b"class A:\n    def f(self): pass\ndef g(x, a: A):\n    x.f()\n    a.f()\n    a.b\n   "
        b" len(x)\n"
    ),
}


def row(line: int, column: int, expression: str, truth: str) -> dict[str, str]:
    place = {"line": str(line), "column": str(column), "end_line": str(line)}
    return {
        "package": "m",
        "path": "m/a.py",
        "kind": "local",
        "expression": expression,
        "truth": truth,
        "note": "-",
    } | place


def test_right_wrong_and_lost_are_counted() -> None:
    found = ask(
        FILES,
        [
            row(4, 4, "x.f", "method:m.a.A.f"),
            row(5, 4, "a.f", "method:m.a.A.f"),
            row(5, 4, "a.f", "external"),
            row(6, 4, "a.b", "no symbol"),
        ],
    )
    one = score(found)
    assert (one.number, one.known, one.linked, one.correct, one.unresolved, one.silent) == (
        4,
        2,
        2,
        1,
        1,
        0,
    )
    assert (one.precision, one.recall) == (0.5, 0.5)
    assert [line.partition(":")[0] for line in report(found) if not line.startswith("|")] == [
        "lost",
        "wrong",
    ]


def test_the_draw_is_always_the_same() -> None:
    files = {f"m/{name}.py": FILES["m/a.py"] for name in "abcdefgh"}
    assert draw("m", files) == draw("m", dict(reversed(files.items())))
    assert {use.expression for use in draw("m", files)} == {"x.f", "a.f", "a.b", "A"}


@pytest.mark.slow
@pytest.mark.net
@pytest.mark.share()
def test_precision_and_recall_stay(tmp_path: Path) -> None:
    found = list(every(tmp_path))
    one = score(found)
    assert one.precision >= 0.99, report(found)
    assert one.recall >= 0.97, report(found)
    assert one.silent == 0, report(found)
