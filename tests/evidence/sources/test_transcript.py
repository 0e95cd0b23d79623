"""Transcripts: three layouts, and whatever else a file may hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.sources.transcript import (
    Message,
    ToolCall,
    Transcript,
    parse,
    read_transcript,
)

ARGUMENTS = '{"command": ["bash", "-lc", "make x"]}'


def lines(*plain: Any) -> list[bytes]:
    return [json.dumps(one).encode() for one in plain]


def test_claude_code() -> None:
    reported = parse(
        lines(
            {"type": "summary", "summary": "x"},
            {
                "type": "user",
                "sessionId": "s-1",
                "cwd": "/r",
                "timestamp": "T1",
                "message": {"role": "user", "content": "Hi"},
            },
            {
                "type": "assistant",
                "message": {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "hm"},
                        {"type": "text", "text": "Ho"},
                        {
                            "type": "tool_use",
                            "id": "t1",
                            "name": "Bash",
                            "input": {"command": "make"},
                        },
                    ],
                },
            },
            {
                "type": "user",
                "message": {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "t1",
                            "is_error": True,
                            "content": [{"type": "text", "text": "no rule"}],
                        }
                    ],
                },
            },
        )
    )
    assert reported == Transcript(
        "s-1",
        "/r",
        (
            Message("user", "Hi", "T1"),
            Message("assistant", "Ho"),
            ToolCall("Bash", {"command": "make"}, "no rule", True),
        ),
    )


def test_codex() -> None:
    call = {
        "type": "function_call",
        "name": "shell",
        "call_id": "c",
        "arguments": '{"command": ["bash", "-lc", "make x"]}',
    }
    out = {
        "type": "function_call_output",
        "call_id": "c",
        "output": json.dumps({"output": "bad", "metadata": {"exit_code": 2}}),
    }
    reported = parse(
        lines(
            {"type": "session_meta", "payload": {"id": "c-1", "cwd": "/r"}},
            {
                "type": "response_item",
                "payload": {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "Ho"}],
                },
            },
            {"type": "response_item", "payload": call},
            {"type": "response_item", "payload": out},
        )
    )
    assert (reported.session, reported.folder, reported.bad) == ("c-1", "/r", 0)
    assert reported.items[0] == Message("assistant", "Ho")
    did = reported.items[1]
    assert isinstance(did, ToolCall) and (did.command, did.result, did.failed) == (
        "make x",
        "bad",
        True,
    )


def test_plain_chat() -> None:
    reported = parse(
        lines(
            {"role": "user", "content": "Hi"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "1", "function": {"name": "edit", "arguments": '{"path": "a.py"}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "1", "content": "done"},
        )
    )
    assert reported.items == (Message("user", "Hi"), ToolCall("edit", {"path": "a.py"}, "done"))
    assert len(reported.session) == 16 and reported == parse(
        lines(
            {"role": "user", "content": "Hi"},
            *[
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "1", "function": {"name": "edit", "arguments": '{"path": "a.py"}'}}
                    ],
                },
                {"role": "tool", "tool_call_id": "1", "content": "done"},
            ],
        )
    )


PLAIN: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "role",
                    "content",
                    "message",
                    "payload",
                    "text",
                    "id",
                    "input",
                    "tool_calls",
                    "name",
                    "function",
                    "arguments",
                    "call_id",
                    "output",
                    "tool_use_id",
                    "command",
                    "file_path",
                ]
            ),
            inner
            | st.sampled_from(
                ["user", "assistant", "tool", "tool_use", "tool_result", "function_call", "text"]
            ),
        )
    ),
    max_leaves=12,
)


@given(st.lists(PLAIN.map(lambda plain: json.dumps(plain).encode()) | st.binary(max_size=30)))
def test_any_lines_are_read_or_counted(some: list[bytes]) -> None:
    reported = parse(some)
    assert 0 <= reported.bad <= len(some)
    for item in reported.items:
        assert isinstance(item, Message) or (
            isinstance(item.command, str) and isinstance(item.path, str)
        )


def test_a_file_that_is_none_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with pytest.raises(UsageProblem, match="can't be read"):
        read_transcript(path)
    path.write_bytes(b"\x00\xff\nnot json\n")
    with pytest.raises(UsageProblem, match="no line of a transcript"):
        read_transcript(path)
    path.write_bytes(b"")
    assert read_transcript(path).items == ()
    path.write_bytes(b"[" * 100_000 + b"\n" + lines({"role": "user", "content": "x"})[0])
    assert (read_transcript(path).bad, len(read_transcript(path).items)) == (1, 1)
