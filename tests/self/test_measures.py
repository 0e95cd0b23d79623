"""What a stranger has to learn: names that mean nothing, nested expressions, long sentences."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tools import measures
from tools.syntax import tree_of


@pytest.fixture(scope="module")
def names() -> measures.BoundNames:
    return sum(
        (measures.bound_names(tree_of(path)) for path in measures.product_files()),
        measures.NO_NAMES,
    )


def test_few_names_mean_nothing(names: measures.BoundNames) -> None:
    assert 100 * names.vague.total() / names.total <= 1.5, names.vague.most_common(5)


def test_few_names_hold_a_role_only(names: measures.BoundNames) -> None:
    assert 100 * names.generic.total() / names.total <= 9, names.generic.most_common(5)


def test_few_sentences_of_guides_are_long() -> None:
    assert measures.long_sentence_share(measures.guides()) <= 10


def test_elements_of_comprehensions_are_not_counted_and_arguments_are() -> None:
    tree = ast.parse(
        "def f(found, one):\n    made = [one for one in found]\n    data = receipt = 1"
    )
    names = measures.bound_names(tree)
    assert (names.total, dict(names.vague)) == (5, {"found": 1, "one": 1, "made": 1})
    assert dict(names.generic) == {"data": 1}


def test_an_f_string_is_one_token_on_every_interpreter(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("# why\nx = f\"{a} and {f'{b}'}\"\n", encoding="utf-8")
    assert measures.token_count(path) == 3


def test_no_conditional_expression_is_inside_another() -> None:
    lines = {
        path.name: measures.nested_conditionals(tree_of(path)) for path in measures.product_files()
    }
    assert not {name: numbers for name, numbers in lines.items() if numbers}


def test_a_conditional_expression_inside_another_is_found() -> None:
    tree = ast.parse("x = 1 if a else 2 if b else 3\ny = f(1 if a else 2) if b else 4")
    assert measures.nested_conditionals(tree) == [1]


def test_code_tables_and_headings_hold_no_sentences() -> None:
    page = (
        "# A heading of words\n\nOne two three. Four five six.\n\n```\nno words "
        "here\n```\n\n| a | b |\n"
    )
    assert measures.sentences(page) == ["One two three.", "Four five six."]
