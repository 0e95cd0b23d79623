"""Every kind that is shipped: its fields take any text and give it back, and refuse what does not
fit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.cli.main import KINDS
from kl_hooks.config.kinds_file import BUDGET_CATEGORIES, FIELD_TYPES
from kl_hooks.kinds.plugin import kl_kinds
from kl_hooks.model.kind import Field, Kind
from kl_hooks.model.record import Record
from kl_hooks.records.document import read_document, render_document, template
from kl_hooks.records.validate import validate
from kl_hooks.workspace import build_catalog

from .naughty import naughty

SHIPPED = list(kl_kinds())
TEXTUAL = ("line", "text", "lines", "map")
BY_NAME = pytest.mark.parametrize("kind", SHIPPED, ids=lambda kind: kind.name)


def _place(name: str) -> tuple[str, int, int]:
    return ("kl", 0, 0)


def sample(field: Field) -> Any:
    """A value that fits."""
    return {
        "line": "a",
        "text": "a",
        "lines": ["a"],
        "words": ["a"],
        "choice": (field.choices or ("",))[0],
        "flag": True,
        "number": field.least,
        "date": "2027-01-31",
        "ids": ["src/a.py"],
        "map": {"a": "b"},
    }[field.type]


def least(kind: Kind) -> dict[str, Any]:
    """What a record must have."""
    return {field.name: sample(field) for field in kind.all_fields if field.required}


def test_the_catalogue_and_the_commands_hold_the_same_kinds(tmp_path: Path) -> None:
    assert list(build_catalog(tmp_path, SHIPPED).kinds) == list(KINDS)


@BY_NAME
def test_a_kind_is_whole(kind: Kind) -> None:
    assert (
        kind.storage in ("file", "state")
        and kind.budget_category in BUDGET_CATEGORIES
        and kind.purpose.strip()
    )
    assert set(kind.live) <= set(kind.statuses) and set(kind.filed) <= set(kind.statuses)
    assert set(kind.spellings.values()) <= set(kind.statuses)
    names = [field.name for field in kind.all_fields]
    assert len(names) == len(set(names))
    for field in kind.all_fields:
        assert field.type in FIELD_TYPES and field.description.endswith("."), field.name
        assert (field.type == "choice") == bool(field.choices), field.name
        assert set(field.also.values()) <= set(field.choices), field.name
        assert not field.section or field.type in ("text", "lines"), field.name
        assert field.type != "ids" or field.relation, field.name
    for verb in kind.verbs:
        assert {verb.to, *verb.of} <= set(kind.statuses) and set(verb.needs) <= set(names), (
            verb.name
        )
    assert set(kind.identity) <= set(names) and {kind.summary_field} <= {"", *names}
    assert bool(kind.identity) == (kind.numbering == "hash")


@BY_NAME
def test_every_field_takes_what_fits_and_gives_it_back(kind: Kind) -> None:
    raw = {field.name: sample(field) for field in kind.all_fields if field.name != "status"}
    values, problems = validate(kind, raw, _place)
    assert problems == [] and set(values) == set(raw)
    found = read_document(
        kind,
        f"{kind.prefix}-0001.md",
        render_document(kind, Record(kind.name, f"{kind.prefix}-0001", values)).encode(),
    )
    assert found.record is not None and found.problems == ()
    assert found.record.values == values | {"status": kind.statuses[0]}


@BY_NAME
@pytest.mark.share(3)
def test_every_text_comes_back_as_it_was(kind: Kind) -> None:
    for text in naughty():
        raw = {
            f.name: {"line": text, "text": text, "lines": [text, text], "map": {"k": text}}[f.type]
            for f in kind.all_fields
            if f.type in TEXTUAL and f.name != "status"
        }
        values, problems = validate(kind, least(kind) | raw, _place)
        assert problems == [] or not text.strip(), text
        if not problems:
            written = render_document(
                kind, Record(kind.name, f"{kind.prefix}-0001", values)
            ).encode()
            found = read_document(kind, f"{kind.prefix}-0001.md", written)
            assert found.record is not None, (text, found.problems)
            assert {n: v for n, v in found.record.values.items() if n != "status"} == values, text
            for name, value in values.items():
                assert value == raw.get(name, value) or tuple(raw[name]) == value, text


ANY = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=40)
    | st.sampled_from(naughty())
)
NESTED = ANY | st.lists(ANY, max_size=3) | st.dictionaries(st.text(max_size=5), ANY, max_size=3)


@BY_NAME
@given(data=st.data())
@pytest.mark.share(3)
def test_whatever_is_given_is_stored_or_refused_with_a_reason(
    kind: Kind, data: st.DataObject
) -> None:
    names = st.sampled_from([field.name for field in kind.all_fields])
    raw = data.draw(st.dictionaries(names | st.text(max_size=10), NESTED, max_size=8))
    values, problems = validate(kind, raw, _place)
    assert all(one.message.endswith((".", '"')) and one.path == "kl" for one in problems)
    if not problems:
        written = render_document(kind, Record(kind.name, f"{kind.prefix}-0001", values)).encode(
            "utf-8"
        )
        found = read_document(kind, f"{kind.prefix}-0001.md", written)
        assert found.record is not None
        assert {n: v for n, v in found.record.values.items() if n != "status"} == {
            n: v for n, v in values.items() if n != "status"
        }


@BY_NAME
def test_the_form_states_what_is_missing_and_nothing_else(kind: Kind) -> None:
    found = read_document(kind, f"{kind.prefix}-0000.md", template(kind).encode())
    wanted = {f'"{field.name}" is missing.' for field in kind.all_fields if field.required}
    assert {one.message for one in found.problems} == wanted
    filled = template(kind, least(kind))
    assert read_document(kind, f"{kind.prefix}-0000.md", filled.encode()).problems == ()
