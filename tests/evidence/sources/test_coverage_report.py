"""Coverage reports of other tools: read, or refused with a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.sources.coverage_report import Function, read_report

LCOV = b"""TN:
SF:src/cart.ts
FN:12,Cart
FN:14,add
FN:19,get total
FNF:3
FNH:2
FNDA:2,Cart
FNDA:0,add
FNDA:2,get total
DA:1,1
DA:14,2
BRDA:12,0,0,2
end_of_record
TN:has_a_total
SF:src/format.ts
DA:2,1
DA:3,0
end_of_record
"""
"""The first file is from vitest 3.2 with its provider v8, shortened."""
ISTANBUL = {
    "/w/shop/src/format.ts": {
        "path": "/w/shop/src/format.ts",
        "statementMap": {},
        "s": {},
        "branchMap": {},
        "b": {},
        "fnMap": {
            "0": {
                "name": "formatPrice",
                "decl": {"start": {"line": 1, "column": 16}, "end": {"line": 1, "column": 27}},
                "loc": {"start": {"line": 1, "column": 41}, "end": {"line": 3, "column": None}},
            },
            "1": {
                "name": "(anonymous_1)",
                "loc": {"start": {"line": 5, "column": None}, "end": {"line": 7, "column": 3}},
            },
        },
        "f": {"0": 3, "1": 0},
    }
}
"""From jest 30, shortened."""
LLVM = {
    "type": "llvm.coverage.json.export",
    "version": "3.1.0",
    "data": [
        {
            "files": [{"filename": "/w/cart/src/lib.rs"}, {"filename": "/w/cart/src/money.rs"}],
            "functions": [
                {
                    "name": "_RNvMCs9E6YwUF2pdF_4cartNtB2_4Cart3new",
                    "count": 2,
                    "filenames": ["/w/cart/src/lib.rs"],
                    "regions": [[24, 5, 24, 25, 2, 0, 0, 0], [24, 28, 24, 41, 2, 0, 0, 0]],
                    "branches": [],
                }
            ],
            "totals": {},
        }
    ],
}
"""From llvm-cov 22 of a crate that rustc 1.95 built, shortened."""
PYTHON = {
    "meta": {"format": 3, "version": "7.6.1", "show_contexts": True},
    "files": {"cart.py": {"executed_lines": [1, 2], "contexts": {"2": ["test_a.py::test_b|run"]}}},
}


def dumped(plain: Any) -> bytes:
    return json.dumps(plain).encode()


def test_lcov_with_functions_and_with_lines_alone() -> None:
    report = read_report(LCOV, "lcov.info")
    cart, total = report.files
    assert (report.format, cart.path, cart.test) == ("lcov", "src/cart.ts", "")
    assert cart.functions == (
        Function("Cart", 12, None, 1),
        Function("add", 14, None, 0),
        Function("get total", 19, None, 1),
    )
    assert (total.test, total.functions, total.lines) == ("has_a_total", None, {2: 1, 3: 0})


@pytest.mark.parametrize(
    ("records", "functions"),
    [
        # methods of one name, in the order of both lists
        (["FN:3,get", "FN:9,get", "FNDA:0,get", "FNDA:4,get"], [("get", 3, 0), ("get", 9, 1)]),
        # of which is not known
        (["FN:3,get", "FN:9,get", "FNDA:4,get"], []),
        # lcov 2.0 adds the last line, lcov 2.2 numbers them
        (["FN:3,8,get(int, int)", "FNDA:1,get(int, int)"], [("get(int, int)", 3, 1)]),
        (["FNL:0,3,8", "FNA:0,7,get", "FNA:0,0,get<int>"], [("get", 3, 1), ("get<int>", 3, 0)]),
        (["FNF:0", "DA:1,1"], []),
        (["FN:3,never"], [("never", 3, 0)]),
    ],
)
def test_functions_of_lcov(records: list[str], functions: list[tuple[str, int, int]]) -> None:
    lines = ["TN:", "SF:a.ts", *records, "end_of_record", ""]
    # Windows ends lines with both
    (file,) = read_report("\r\n".join(lines).encode(), "lcov.info").files
    assert file.functions is not None
    assert [(name, line, calls) for name, line, _, calls in file.functions] == functions


def test_the_json_of_istanbul_llvm_and_coverage() -> None:
    (file,) = read_report(dumped(ISTANBUL), "coverage-final.json").files
    functions = (Function("formatPrice", 1, 16, 1), Function("(anonymous_1)", 5, None, 0))
    assert (file.path, file.functions) == ("/w/shop/src/format.ts", functions)
    jest = read_report(dumped({"numTotalTests": 3, "coverageMap": ISTANBUL}), "jest.json")
    assert (jest.format, jest.files) == ("Istanbul", (file,))
    lib, money = read_report(dumped(LLVM), "cov.json").files
    new = Function("_RNvMCs9E6YwUF2pdF_4cartNtB2_4Cart3new", 24, 4, 1)
    assert (lib.functions, money.functions) == ((new,), ())
    report = read_report(dumped(PYTHON), "coverage.json")
    assert [(file.path, file.test, file.lines) for file in report.files] == [
        ("cart.py", "test_a.py::test_b|run", {2: 1})
    ]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no coverage report"),
        (b"<coverage/>", "no coverage report"),
        (b"[1]", "no coverage report"),
        (b'{"a": 1}', "no coverage report"),
        (b"\xff\xfe{}", "no coverage report"),
        (b"[" * 200_000, "nested too deeply"),
        (b"TN:\nSF:a.ts\nDA:x,1\nend_of_record\n", "lcov.info:3: 'DA:x,1' is not a record"),
        (b"TN:\nSF:a.ts\nDA:0,1\nend_of_record\n", "is not a record"),
        (b"SF:a.ts\nDA:" + b"9" * 5000 + b",1\nend_of_record\n", "is not a record"),
        (b"TN:\nSF:a.ts\nDA:1,1\n", "an end_of_record is missing"),
        (dumped({"type": LLVM["type"], "data": [{"files": []}]}), "lists no functions"),
        (dumped({"type": LLVM["type"], "data": 3}), "another form"),
        (dumped({"a.ts": {"fnMap": {"0": {}}, "f": {}}}), "another form"),
        (b'{"a.ts": {"fnMap": {"0": {"loc": {"start": {"line": NaN}}}}, "f": {"0": 1}}}', "form"),
        (b'{"a.ts": {"fnMap": {"0": {"loc": {"start": {"line": true}}}}, "f": {"0": 1}}}', "form"),
    ],
)
def test_other_files_are_refused_with_a_reason(content: bytes, why: str) -> None:
    with pytest.raises(UsageProblem) as refused:
        read_report(content, "lcov.info")
    assert why in str(refused.value)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(noise: bytes) -> None:
    cut = len(noise) % len(LCOV)
    for content in (noise, LCOV[:cut] + noise + LCOV[cut:], b"SF:" + noise):
        try:
            report = read_report(content, "report")
        except UsageProblem:
            continue
        assert report.format


@example(value="", key="path")
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=3), part),
        max_leaves=6,
    ),
    st.sampled_from(["fnMap", "f", "path", "data", "files", "coverageMap", "functions"]),
)
def test_any_json_is_read_or_refused(value: Any, key: str) -> None:
    function = {"name": "a", "loc": {"start": {"line": 1}}}
    istanbul = {"fnMap": {"0": function}, "f": {"0": 1}, key: value}
    for plain in (value, {key: value}, {"a.ts": istanbul}, {**LLVM, "data": [{key: value}]}):
        try:
            report = read_report(dumped(plain), "report")
        except UsageProblem as problem:
            assert problem.place == "report" and problem.reason
        else:
            assert report.format and all(file.path for file in report.files)
