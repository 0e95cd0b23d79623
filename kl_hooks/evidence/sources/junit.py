"""`kl evidence import junit FILE`: test results that another tool wrote as JUnit XML.

A JUnit file does not name the tree it ran on: without `--tree` it never counts as hard evidence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.hookspecs import FileOfEvidence
from kl_hooks.model.canonical import digest
from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.receipt import Evidence, Receipt, worst_outcome
from kl_hooks.model.symbol import make_id
from kl_hooks.model.text import one_line
from kl_hooks.store.redaction import redact

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

LARGEST: Final = 64 * 1024 * 1024
_JAVASCRIPT: Final = lazy_pattern(r"\.[cm]?[jt]sx?$")
"""The end of a test file's name in JavaScript or TypeScript."""
_NEXTEST: Final = "nextest-run"
"""What cargo-nextest names the root of its reports."""
_DOCTYPE: Final = lazy_pattern(rb"<!\s*(DOCTYPE|ENTITY)", re.I)


def read_junit(file: FileOfEvidence) -> list[Receipt]:
    """The one receipt that a JUnit file makes. UsageProblem with place and reason for anything that
    is not one.
    """
    root = _parse(file.content, file.name)
    evidence = _evidence(root, is_nextest=root.get("name") == _NEXTEST)
    return [
        Receipt(
            run=digest("junit/1", [file.name, file.tree, file.content.decode("utf-8", "replace")])[
                :32
            ],
            source="junit",
            observer="junit",
            producer=file.producer,
            evidence=evidence,
            started=file.now,
            ended=file.now,
            tree=file.tree,
            tree_end=file.tree,
            selection={
                "args": [],
                "collected": len(evidence),
                "deselected": 0,
                "ran": len(evidence),
            },
            result=_result(evidence),
        )
    ]


def _parse(content: bytes, name: str) -> Element:
    from xml.etree import ElementTree

    if len(content) > LARGEST:
        raise UsageProblem(
            f"larger than {LARGEST >> 20} MiB.",
            place=name,
            hint="Split it, or import single suites.",
        )
    # entities that name each other grow without bound when they are expanded ("billion laughs")
    if _DOCTYPE.search(content):
        raise UsageProblem("has a DOCTYPE, which a test report does not need; refused.", place=name)
    try:
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError, LookupError) as problem:
        raise UsageProblem(
            f"not XML: {problem}.", place=name, hint="Expected a JUnit report."
        ) from problem
    if root.tag not in ("testsuites", "testsuite"):
        raise UsageProblem(
            f"<{root.tag}> is not a JUnit report.", place=name, hint="Expected <testsuites>."
        )
    return root


def _result(evidence: tuple[Evidence, ...]) -> dict[str, object]:
    counts = Counter(one.outcome for one in evidence)
    bad = counts["failed"] + counts["error"]
    if bad:
        verdict = "failed"
    elif counts["passed"]:
        verdict = "passed"
    else:
        verdict = "inconclusive"
    if verdict == "inconclusive":
        reasons = ["nothing passed"]
    else:
        reasons = []
    return {
        "exit": 1 if bad else 0,
        "complete": True,
        "how": "finished",
        "verdict": verdict,
        "reasons": reasons,
        "counts": dict(counts),
    }


def _evidence(root: Element, *, is_nextest: bool) -> tuple[Evidence, ...]:
    """One per test: a rerun or a teardown error writes a second <testcase> of the same name."""
    cases_of: dict[str, list[Evidence]] = {}
    for case in root.iter("testcase"):
        evidence = _case(case, _name_of_nextest(case) if is_nextest else _nodeid(case))
        cases_of.setdefault(evidence.subject, []).append(evidence)
    return tuple(_merged(cases_of[subject]) for subject in sorted(cases_of))


def _merged(cases: list[Evidence]) -> Evidence:
    outcome = worst_outcome(c.outcome for c in cases)
    if outcome == "failed" and cases[-1].outcome == "passed":
        outcome = "flaky"
    chosen = next((c for c in cases if c.outcome == outcome), cases[-1])
    return Evidence(
        "TestResult",
        chosen.subject,
        outcome,
        sum(c.duration_us for c in cases),
        None,
        chosen.detail,
    )


def _case(case: Element, name: str) -> Evidence:
    outcome, message = "passed", ""
    for child in case:
        child_outcome = _outcome_of(child)
        if child_outcome and worst_outcome([outcome, child_outcome]) != outcome:
            outcome = child_outcome
            message = _message(child)
    if message:
        detail = {"message": redact(one_line(message, 300))}
    else:
        detail = {}
    try:
        micros = max(0, int(float(case.get("time") or 0) * 1_000_000))
    except (ValueError, OverflowError):
        micros = 0
    return Evidence("TestResult", make_id("test", redact(name)), outcome, micros, None, detail)


def _message(child: Element) -> str:
    """Why a test failed: stated by an attribute, else by the first line of the text."""
    lines = (line.strip() for line in (child.text or "").splitlines())
    return child.get("message") or next(filter(None, lines), "")


def _outcome_of(child: Element) -> str | None:
    if child.tag == "skipped":
        # pytest marks an expected failure so (`type="pytest.xfail"`)
        if "xfail" in (child.get("type") or ""):
            return "xfailed"
        return "skipped"
    return {"failure": "failed", "error": "error"}.get(child.tag)


def _name_of_nextest(case: Element) -> str:
    """`cart::tests::has_a_total`: the binary, which is no file, and the path in it."""
    return f"{case.get('classname') or ''}::{case.get('name') or ''}"


def _nodeid(case: Element) -> str:
    """pytest writes `classname="tests.test_a.TestB" name="test_c"`: back to
    `tests/test_a.py::TestB::test_c`. Of vitest the class is a path, of jest the whole title:
    `test/cart.test.ts::Cart > has a total`, and the path alone for a file that could not be run.
    """
    name = case.get("name") or ""
    path = case.get("file")
    class_name = case.get("classname") or ""
    if not path and _JAVASCRIPT.search(class_name):
        path = class_name
    if path and _JAVASCRIPT.search(path):
        if name == path:
            return path
        return f"{path}::{name}"
    if not path and " " in class_name:  # no module has such a name
        if name == class_name:
            return name
        return f"{class_name}::{name}"
    parts = [part for part in class_name.split(".") if part]
    if path:
        stem = path.removesuffix(".py").replace("/", ".").split(".")
        return "::".join([path, *(parts[len(stem) :] if parts[: len(stem)] == stem else []), name])
    return "::".join([*_module_first(parts), name])


def _module_first(parts: list[str]) -> Iterator[str]:
    classes = len(parts)
    while classes > 1 and parts[classes - 1][:1].isupper():
        classes -= 1
    if parts:
        yield "/".join(parts[:classes]) + ".py"
    yield from parts[classes:]
