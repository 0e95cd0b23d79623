"""Calls of tools as agents tell them: whatever comes in is a call, or wrong use with a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.finding.call import LARGEST, from_hook, text_of
from kl_hooks.kinds.finding.extract import extract

PLAIN: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(["Read", "Grep", "Edit", "Bash", "shell_run", "write_file", "apply_patch", "other", ""])
ARGUMENTS = st.dictionaries(
    st.sampled_from(["path", "file_path", "pattern", "query", "command", "new_string", "input"]), PLAIN, max_size=4
)


def hook(**more: Any) -> bytes:
    return json.dumps({"tool_name": "Read", "tool_input": {}, "tool_response": "", **more}).encode()


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("plain", "plain"),
        ({"stdout": "out", "stderr": "err", "interrupted": False}, "out\nerr"),
        ({"type": "text", "file": {"filePath": "a.py", "content": "1→x"}}, "1→x"),
        ({"mode": "files_with_matches", "filenames": ["a.py", "b.py"]}, "a.py\nb.py"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}, 3], "one\ntwo"),
        (None, ""), (7, ""), ({"content": {"content": ["deep"]}}, "deep"),
    ],
)  # fmt: skip
def test_what_a_tool_gave_back_is_text(answer: Any, text: str) -> None:
    assert text_of(answer) == text
    assert from_hook(hook(tool_response=answer)).result == text


@pytest.mark.parametrize(
    "more",
    [
        {"tool_response": {"exit_code": 1}}, {"tool_response": {"is_error": True}}, {"tool_response": "[ERROR] no"},
        {"hook_event_name": "PostToolUseFailure"}, {"error": "boom"}, {"tool_response": {"success": False}},
    ],
)  # fmt: skip
def test_a_failed_call_is_seen(more: dict[str, Any]) -> None:
    assert from_hook(hook(**more)).failed
    assert not from_hook(hook(tool_response={"exit_code": 0})).failed


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b'"x"', b"{", b"\xff\xfe", b"[" * 100_000, b'{"tool_name": 4}', b" " * (LARGEST + 1), b"nul"],
    ids=lambda content: content[:12],
)
def test_what_is_no_such_json_is_wrong_use_with_a_reason(content: bytes) -> None:
    with pytest.raises(UsageProblem) as problem:
        from_hook(content)
    assert "tool_name, tool_input, tool_response" in problem.value.hint


@given(NAMES, ARGUMENTS | PLAIN, PLAIN, st.dictionaries(st.text(max_size=12), PLAIN, max_size=3))
def test_any_values_leave_a_bounded_finding_or_none(name: str, given_: Any, answer: Any, more: dict[str, Any]) -> None:
    plain = {**more, "tool_name": name, "tool_input": given_, "tool_response": answer}
    found = extract(from_hook(json.dumps(plain).encode()), "/repo")
    if found is not None:
        assert 0 < len(found.entity) <= 200
        assert 0 < len(found.finding) <= 200
        assert len(found.evidence) <= 500
        assert "\n" not in found.entity + found.finding


@given(st.binary(max_size=300))
def test_any_bytes_are_a_call_or_wrong_use(content: bytes) -> None:
    try:
        call = from_hook(content)
    except UsageProblem as problem:
        assert problem.place == "stdin" and problem.reason
    else:
        assert call.tool == json.loads(content)["tool_name"][:100]
