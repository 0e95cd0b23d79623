"""Records leave as JSON or YAML and come back as they were; layouts of other tools are read."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kl_hooks.kinds.plugin import kl_kinds
from kl_hooks.model.record import Record
from kl_hooks.records.check import checked
from kl_hooks.records.exchange import FORMATS, read, write

from .naughty import naughty
from .test_every_kind import least, sample

OBJECTIVE = next(kind for kind in kl_kinds() if kind.name == "objective")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", list(kl_kinds()), ids=lambda kind: kind.name)
def test_what_leaves_comes_back(kind, form: str) -> None:  # type: ignore[no-untyped-def]
    raw = {field.name: sample(field) for field in kind.all_fields if field.name != "status"}
    values, _ = checked(kind, raw, lambda name: ("kl", 0, 0))
    records = [Record(kind.name, f"{kind.prefix}-000{n}", values) for n in (1, 2)]
    for some in (records[:1], records):
        found, problems = read(kind, f"a.{form}", write(some, form).encode())
        assert problems == []
        assert [(one.id, checked(kind, one.raw, lambda name: ("kl", 0, 0))[0], one.body) for one in found] == [
            (one.id, values, "") for one in some
        ]


@pytest.mark.parametrize("form", FORMATS)
@given(text=st.sampled_from(naughty()) | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_any_text_comes_back(form: str, text: str) -> None:
    values, problems = checked(
        OBJECTIVE, least(OBJECTIVE) | {"description": text, "remaining": [text]}, lambda n: ("", 0, 0)
    )
    assert problems == []
    found, problems = read(
        OBJECTIVE, f"a.{form}", write([Record("objective", "OBJ-0001", values)], form).encode("utf-8")
    )
    assert problems == [] and checked(OBJECTIVE, found[0].raw, lambda n: ("", 0, 0))[0] == values


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
@example(b"[ ]")
@example(b"[] #x")
@example(b"---\n[]")
@example(b"")
def test_no_bytes_bring_it_down(data: bytes) -> None:
    for name in ("a.json", "a.yaml"):
        found, problems = read(OBJECTIVE, name, data)
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
    (one,), problems = read(OBJECTIVE, "OBJ-0001.yaml", text.encode())
    assert problems == []
    values, _ = checked(OBJECTIVE, one.raw, lambda name: ("", 0, 0))
    assert one.id == "OBJ-0001" and one.body == "Imported besides:\n\n- Owner: ada"
    assert values == {
        "title": "Ship the importer", "status": "active", "completed": ("Parse",), "remaining": ("Write",),
    }  # fmt: skip
