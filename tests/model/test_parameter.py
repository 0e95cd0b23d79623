"""Fields of a request: names, values that its fields take, and messages."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.errors import UsageProblem
from kl_hooks.model.parameter import Parameter, fields_of, values_of


class Loan(NamedTuple):
    book: Annotated[str, Parameter("Which book.")]
    shelf: Annotated[str, Parameter("Where.", choices=("east", "west"))] = "east"
    days: Annotated[int, Parameter("How long.", bounds=(1, 30), name="for_days")] = 14
    marks: Annotated[tuple[str, ...], Parameter("Pages.", name="mark")] = ()
    silent: Annotated[bool, Parameter("No letter.")] = False
    copies: Annotated[
        int, Parameter("How many.", bounds=(1, 3), is_clamped=True, aliases=("number",))
    ] = 1
    trace: str = ""


def test_fields_that_are_annotated_are_options_in_their_order() -> None:
    fields = fields_of(Loan)
    assert [field.is_required for field in fields] == [True, False, False, False, False, False]
    assert (fields[0].public_name, fields[0].value_type) == ("book", str)
    assert [(field.public_name, field.value_type, field.default) for field in fields[1:]] == [
        ("shelf", str, "east"),
        ("for_days", int, 14),
        ("mark", tuple, ()),
        ("silent", bool, False),
        ("copies", int, 1),
    ]


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"days": 3, "mark": ["a", "b"]}, {"days": 3, "marks": ("a", "b")}),
        ({"number": 9}, {"copies": 3}),
        ({"for_days": 30, "silent": True}, {"days": 30, "silent": True}),
        ({"shelf": None, "marks": (), "silent": False, "book": ""}, {}),
    ],
)
def test_both_names_are_read_and_what_is_empty_was_not_given(
    options: dict[str, Any], values: dict[str, Any]
) -> None:
    assert values_of(Loan, options) == values


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shelf": "north"}, "shelf: takes east, west, not 'north'."),
        ({"days": 31}, "for_days: takes 1 to 30, not 31."),
        ({"days": True}, "for_days: takes 1 to 30, not True."),
        ({"marks": "p1"}, "mark: takes a list of texts, not 'p1'."),
        ({"marks": [1]}, "mark: takes a list of texts, not [1]."),
        ({"book": 7}, "book: takes a text, not 7."),
        ({"silent": 1}, "silent: takes true or false, not 1."),
        ({"shelv": "east"}, '"shelv" is no option. hint: Did you mean "shelf"?'),
        ({"trace": "x"}, '"trace" is no option.'),
    ],
)
def test_what_a_field_does_not_take_is_refused_with_what_it_takes(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageProblem) as refused:
        values_of(Loan, options)
    problem = refused.value
    shown = f"{problem.place}: {problem.reason}" if problem.place else problem.reason
    assert shown + (f" hint: {problem.hint}" if problem.hint else "") == message


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for field in fields_of(Loan)[:4]:
        try:
            value = field.read(text)
        except UsageProblem:
            continue
        field.check(value)
