"""Authored files: what is written is read back, what is changed changes nothing else, bad ones are
reported.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.model.kind import Field, Kind
from kl_hooks.model.record import Record, Value
from kl_hooks.records.document import change_fields, read_document, render_document
from kl_hooks.records.validate import validate

KIND = Kind(
    "decision",
    "decisions",
    "ADR",
    "What was decided, and why.",
    "file",
    ("proposed", "accepted"),
    ("accepted",),
    (
        Field("context", "text", "Why.", section="Context"),
        Field("decision", "text", "What.", required=True, section="Decision"),
        Field(
            "alternatives",
            "lines",
            "What else.",
            section="Alternatives",
            aliases=("considered_options",),
        ),
        Field("governs", "ids", "What it rules.", relation="adr_governs"),
        Field("confidence", "number", "How sure.", most=100),
        Field("criteria", "map", "How it is judged."),
    ),
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=80) | st.sampled_from(
    [
        "a\n## Decision\nb",
        "```\n## Context\n",
        "- a\n- b",
        " x",
        "x\n",
        "\r\n",
        "yes",
        "1.10",
        "a: b # c",
        "---",
        "\u202e",
    ]
)
VALUES = st.fixed_dictionaries(
    {"title": TEXTS, "decision": TEXTS, "status": st.sampled_from(["proposed", "accepted"])},
    optional={
        "context": TEXTS,
        "alternatives": st.lists(TEXTS, max_size=4),
        "tags": st.lists(TEXTS, max_size=3),
        "confidence": st.integers(-5, 120),
        "criteria": st.dictionaries(TEXTS, TEXTS, max_size=3),
        "governs": st.lists(TEXTS, max_size=3),
        "source": TEXTS,
    },
)


def _place(name: str) -> tuple[str, int, int]:
    return ("kl", 0, 0)


def _stored(raw: dict[str, object]) -> dict[str, Value]:
    """What passes the check: the rest is omitted, and what must be there is made up."""
    values, _ = validate(KIND, raw, _place, whole=False)
    return {"title": "a", "decision": "b", **values}


@given(VALUES, TEXTS)
def test_what_is_written_is_read_back(raw: dict[str, object], body: str) -> None:
    record = Record("decision", "ADR-0001", _stored(raw), body)
    made = render_document(KIND, record)
    found = read_document(KIND, "ADR-0001-a.md", made.encode("utf-8"))
    assert found.problems == () and found.remarks == ()
    assert found.record is not None and found.record.values == record.values


@given(VALUES, VALUES)
def test_a_change_changes_what_it_states_and_nothing_else(
    raw: dict[str, object], more: dict[str, object]
) -> None:
    before, after = _stored(raw), _stored(more)
    text = render_document(KIND, Record("decision", "ADR-0001", before))
    text = text.replace("---\nid:", "---\n# a comment\nmine: [1, 2]\nid:", 1)
    assert change_fields(KIND, text, {}) == text
    assert change_fields(KIND, text, before) == text
    wanted = {name: after.get(name) for name in before.keys() | after.keys()}
    found = read_document(KIND, "ADR-0001-a.md", change_fields(KIND, text, wanted).encode("utf-8"))
    assert found.record is not None and found.record.values == after
    assert "# a comment\nmine: [1, 2]\n" in change_fields(KIND, text, wanted)


HAND = """\
---
# our first
id: ADR-0001
title: Two scanners   # short
status: accepted
tags: [code, speed]
mine: kept
---

# Two scanners

Before all.

## Context

It was slow.

## Decision

Use `ast`.

## Considered Options

- libcst: exact,
  but slow
- regex

## Notes

## not a heading's end ##
"""


def test_a_file_written_by_hand() -> None:
    found = read_document(KIND, ".kl/knowledge/decisions/ADR-0001-two.md", HAND.encode())
    assert found.record is not None
    assert found.record.values == {
        "title": "Two scanners",
        "status": "accepted",
        "tags": ("code", "speed"),
        "context": "It was slow.",
        "decision": "Use `ast`.",
        "alternatives": ("libcst: exact,\nbut slow", "regex"),
    }
    assert [str(one) for one in found.remarks] == [
        '.kl/knowledge/decisions/ADR-0001-two.md:7:1: decision has no field "mine". Fields: title,'
        " status, date, updated, context, decision, alternatives, governs, confidence, criteria,"
        " about, related, tags, authority, source, expires, supersedes, superseded_by."
    ]
    assert found.record.lines["decision"] == 18


def test_one_line_changes() -> None:
    new = change_fields(KIND, HAND, {"status": "proposed", "decision": "Use both."})
    assert new == HAND.replace("status: accepted", "status: proposed").replace(
        "Use `ast`.", "Use both."
    )
    new = change_fields(KIND, HAND, {"title": "One scanner"})
    assert "title: One scanner   # short\n" in new
    assert change_fields(KIND, HAND.replace("\n", "\r\n"), {"tags": ("a",)}) == HAND.replace(
        "[code, speed]", "[a]"
    ).replace("\n", "\r\n")


def test_everything_wrong_is_reported_at_once() -> None:
    text = (
        "---\nid: 7\nstatus: acepted\ntags: [two words]\nconfidence: 300\nsupersedes:"
        " [../../etc/passwd]\n---\n"
    )
    found = read_document(KIND, "a.md", text.encode())
    assert found.record is None
    assert [str(one) for one in found.problems] == [
        'a.md:1:1: "decision" is missing. What.',
        'a.md:1:1: "title" is missing. What it is, in one line.',
        "a.md:2:1: the id must be like ADR-0001. Write it as `id: …`.",
        'a.md:3:1: "status" must be one of: proposed, accepted. Did you mean "accepted"?',
        (
            "a.md:4:1: \"tags\" holds 'two words', which is no short word. At most 60 characters,"
            " no spaces."
        ),
        'a.md:5:1: "confidence" must be a whole number from 0 to 100.',
        (
            "a.md:6:1: \"supersedes\" holds '../../etc/passwd'. Give a path from the root of the"
            " repository, or an Id."
        ),
    ]


@given(
    st.binary(max_size=300)
    | st.text(max_size=300).map(lambda t: ("---\n" + t + "\n---\n").encode("utf-8", "replace"))
)
def test_no_bytes_bring_it_down(data: bytes) -> None:
    found = read_document(KIND, "a.md", data)
    assert found.record is not None or found.problems


def test_an_unfinished_merge_is_named() -> None:
    text = "---\nid: ADR-0001\n<<<<<<< HEAD\ntitle: a\n=======\ntitle: b\n>>>>>>> other\n---\n"
    assert [str(one) for one in read_document(KIND, "a.md", text.encode()).problems] == [
        "a.md:3:1: holds an unfinished merge. Resolve it, then save the file."
    ]
