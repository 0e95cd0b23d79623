"""Records leave as JSON or YAML and come back as they were; layouts of other tools are read."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kl_hooks.kinds.plugin import kl_kinds
from kl_hooks.model.record import Record
from kl_hooks.records import document
from kl_hooks.records.document import text_outside_fields
from kl_hooks.records.interchange import format_records, parse_records
from kl_hooks.records.validate import validate

from .naughty import naughty
from .test_every_kind import least, sample

OBJECTIVE = next(kind for kind in kl_kinds() if kind.name == "objective")


@pytest.mark.parametrize("form", ("json", "yaml"))
@pytest.mark.parametrize("kind", list(kl_kinds()), ids=lambda kind: kind.name)
def test_what_leaves_comes_back(kind, form: str) -> None:  # type: ignore[no-untyped-def]
    raw = {field.name: sample(field) for field in kind.all_fields if field.name != "status"}
    values, _ = validate(kind, raw, lambda name: ("kl", 0, 0))
    records = [Record(kind.name, f"{kind.prefix}-000{n}", values) for n in (1, 2)]
    for some in (records[:1], records):
        found, problems = parse_records(
            kind, f"a.{form}", format_records({kind.name: kind}, some, form).encode()
        )
        assert problems == []
        assert [
            (one.id, validate(kind, one.raw, lambda name: ("kl", 0, 0))[0], one.body)
            for one in found
        ] == [(one.id, values, "") for one in some]


@pytest.mark.parametrize("form", ("json", "yaml"))
@given(
    text=st.sampled_from(naughty())
    | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
)
def test_any_text_comes_back(form: str, text: str) -> None:
    values, problems = validate(
        OBJECTIVE,
        least(OBJECTIVE) | {"description": text, "remaining": [text]},
        lambda n: ("", 0, 0),
    )
    assert problems == []
    found, problems = parse_records(
        OBJECTIVE,
        f"a.{form}",
        format_records(
            {"objective": OBJECTIVE}, [Record("objective", "OBJ-0001", values)], form
        ).encode("utf-8"),
    )
    assert problems == [] and validate(OBJECTIVE, found[0].raw, lambda n: ("", 0, 0))[0] == values


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
@example(b"[ ]")
@example(b"[] #x")
@example(b"---\n[]")
@example(b"")
def test_no_bytes_bring_it_down(data: bytes) -> None:
    for name in ("a.json", "a.yaml"):
        found, problems = parse_records(OBJECTIVE, name, data)
        assert bool(found) != bool(problems)


def test_the_layout_of_another_tool() -> None:
    text = """\
Id: OBJ-0001
Title: Ship the importer
Status: Active
CompletedTasks: [Parse]
RemainingTasks:
  - Write
Owner: ada
"""
    (one,), problems = parse_records(OBJECTIVE, "OBJ-0001.yaml", text.encode())
    assert problems == []
    values, _ = validate(OBJECTIVE, one.raw, lambda name: ("", 0, 0))
    assert one.id == "OBJ-0001" and one.body == "Imported besides:\n\n- Owner: ada"
    assert values == {
        "title": "Ship the importer",
        "status": "active",
        "completed": ("Parse",),
        "remaining": ("Write",),
    }


@pytest.mark.parametrize("form", ("json", "yaml"))
@pytest.mark.parametrize("ascii_", [False, True])
@given(
    text=st.sampled_from(naughty())
    | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
)
def test_any_text_comes_back_beside_the_fields_and_over_a_wire_that_allows_ascii(
    form: str, ascii_: bool, text: str
) -> None:
    values, _ = validate(OBJECTIVE, least(OBJECTIVE) | {"description": text}, lambda n: ("", 0, 0))
    record = Record("objective", "OBJ-0001", values, text)
    made = format_records({"objective": OBJECTIVE}, [record, record], form, ascii_only=ascii_)
    assert made.isascii() or not ascii_
    found, problems = parse_records(OBJECTIVE, f"a.{form}", made.encode())
    assert (
        problems == []
        and [one.body for one in found] == [text_outside_fields(OBJECTIVE, record)] * 2
    )
    assert validate(OBJECTIVE, found[0].raw, lambda n: ("", 0, 0))[0] == values


TEXTS = st.sampled_from(
    ["A", "a\n## Notes\nb", "```\n## Notes", "# T", "x\n\ny", "- a\n- b", "<!-- x -->", "---"]
)


HEADINGS = st.sampled_from(["Notes", "Description", "Remaining", "More"])


@given(st.lists(st.tuples(HEADINGS, TEXTS), max_size=5, unique_by=lambda one: one[0]), TEXTS)
def test_a_file_with_a_body_comes_back(sections: list[tuple[str, str]], before: str) -> None:
    body = "\n".join([before, *(f"## {heading}\n\n{text}\n" for heading, text in sections)])
    text = f"---\nid: OBJ-0001\ntitle: X\n---\n\n{body}\n"
    record = document.read_document(OBJECTIVE, "OBJ-0001-x.md", text.encode()).record
    assert record is not None
    (one,), _ = parse_records(
        OBJECTIVE, "a.json", format_records({"objective": OBJECTIVE}, [record], "json").encode()
    )
    values, _ = validate(OBJECTIVE, one.raw, lambda n: ("", 0, 0))
    made = document.render_document(OBJECTIVE, Record("objective", "OBJ-0001", values, one.body))
    again = document.read_document(OBJECTIVE, "OBJ-0001-x.md", made.encode()).record
    assert again is not None and again.values == record.values
    assert text_outside_fields(OBJECTIVE, again) == text_outside_fields(OBJECTIVE, record)


@pytest.mark.parametrize("body", [7, ["a"], {"a": "b"}])
def test_a_body_that_is_no_text_is_reported(body: object) -> None:
    found, problems = parse_records(
        OBJECTIVE, "a.json", json.dumps({"title": "A", "body": body}).encode()
    )
    assert found == [] and '"body" must be text' in str(problems[0])


def test_a_body_of_another_tool_is_beside_what_no_field_has() -> None:
    (one,), _ = parse_records(
        OBJECTIVE, "a.json", json.dumps({"title": "A", "Body": "So.", "Owner": "ada"}).encode()
    )
    assert one.body == "So.\n\nImported besides:\n\n- Owner: ada"


def test_a_file_with_too_many_records_is_reported() -> None:
    found, problems = parse_records(
        OBJECTIVE, "a.json", json.dumps([{"title": "A"}] * 10_001).encode()
    )
    assert found == [] and [one.message for one in problems] == [
        "holds 10001 records; at most 10000 are read."
    ]
