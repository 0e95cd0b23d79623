"""An agents' configuration as works: both spellings of keys, every mistake at once, no bytes that bring it down."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.config.problems import Problems
from kl_hooks.kinds.task.agents_file import read_works
from kl_hooks.kinds.task.plan import Work


def test_a_list_of_agents_with_other_settings_beside() -> None:
    text = b"""\
Model: large
Agents:
  - Name: writer
    Model: small
    Requires: [artifact:design]
    Produces:
      - file:src/a.py
  - Name: planner
    Produces: artifact:Design
"""
    assert read_works("agents.yaml", text) == [
        Work("writer", ("artifact:design",), ("file:src/a.py",), 3),
        Work("planner", (), ("artifact:design",), 8),
    ]


def test_a_map_of_agents_by_name() -> None:
    assert read_works("a.yaml", b"agents:\n  writer: {needs: [file:x]}\n  idle:\n") == [
        Work("writer", ("file:x",), (), 2),
        Work("idle", (), (), 3),
    ]


def test_every_mistake_is_said_at_once() -> None:
    text = b"""\
tasks:
  - name: a
    requires: [design, "file:"]
  - name: A
  - requires: [file:x]
  - just text
  - name: b
    produces: {x: y}
"""
    with pytest.raises(Problems) as caught:
        read_works("t.yaml", text)
    assert [str(one) for one in caught.value.problems] == [
        't.yaml:3:16: in "requires": "design" is no token; it begins with artifact:, file: or symbol:.',
        't.yaml:3:24: in "requires": "file:" names nothing after the colon.',
        't.yaml:4:5: "A" is there twice (first at line 2). Give each a name of its own.',
        't.yaml:5:5: an entry without "name".',
        "t.yaml:6:5: expected a map with name, requires and produces.",
        't.yaml:8:15: "produces" must be a list, not a map. Write [] for none.',
    ]


@pytest.mark.parametrize("text", [b"", b"x: 1", b"- [", b"\xff", b"agents: 3", b"plain"])
def test_what_holds_no_list_is_said(text: bytes) -> None:
    with pytest.raises(Problems):
        read_works("t.yaml", text)


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda t: t.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_works_or_problems(text: bytes) -> None:
    try:
        assert isinstance(read_works("t.yaml", text), list)
    except Problems as problems:
        assert problems.problems
