"""The budget is hard, skips what does not fit and goes on."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.context.fuse import Code
from kl_hooks.context.page import (
    NOTHING,
    NOTHING_FITS,
    STYLES,
    Fitted,
    estimator_of,
    fit,
    read_budget,
    whole,
)
from kl_hooks.model.package import Budget, Candidate, Omission
from tests.context.making import (
    candidate,
    code,
    code_of_symbols,
    ranked,
    steady,
    symbol,
    text,
    unique,
)

styles = st.sampled_from(sorted(STYLES))
budgets = st.one_of(
    st.integers(256, 6000).map(lambda n: Budget("characters", n, 0, "characters")),
    st.integers(64, 1500).map(lambda n: Budget("tokens", n, 0, "chars/4")),
)


@pytest.mark.slow
@steady
@given(unique, code, budgets, styles, st.lists(text, max_size=3), st.lists(text, max_size=3))
def test_the_rendered_package_never_exceeds_its_budget(
    many: list[Candidate],
    found: Code,
    budget: Budget,
    style: str,
    notes: list[str],
    reasons: list[str],
) -> None:
    left = [Omission(f"x{n}", reason) for n, reason in enumerate(reasons)]
    fitted = fit(ranked(many), budget, STYLES[style], code=found, notes=notes, omissions=left)
    shown = fitted.page(STYLES[style], "cp-3f9a1c20b7de")
    used = estimator_of(budget).count(shown)
    assert used <= budget.total
    assert fitted.budget.used == used


def by_urgency(many: list[Candidate]) -> list[Candidate]:
    """Pinned ones, then failing tests and what applies whatever the words are, then the rest, each
    in its order.
    """
    return sorted(
        many,
        key=lambda c: (not c.pinned, not (c.pinned or c.is_lasting or c.kind == "failing test")),
    )


@pytest.mark.slow
@steady
@given(unique, code, budgets, styles)
def test_every_candidate_is_in_or_omitted_with_a_reason(
    many: list[Candidate], found: Code, budget: Budget, style: str
) -> None:
    fitted = fit(ranked(many), budget, STYLES[style], code=found)
    shown = [one.ranked.candidate for one in (*fitted.chosen, *fitted.code)]
    omitted = [one.id for one in fitted.omissions]
    given = [*many, *(one.candidate for one in (*found.files, *found.symbols))]
    assert sorted([*(one.id for one in shown), *omitted]) == sorted(one.id for one in given)
    order = [c.id for c in by_urgency(many)]
    assert [c.ranked.candidate.id for c in fitted.chosen] == [
        i for i in order if i in {c.id for c in shown}
    ]
    assert all(one.reason for one in fitted.omissions)
    assert fit(ranked(many), budget, STYLES[style], code=found) == fitted


@steady
@given(unique, code, styles)
def test_where_all_fits_all_is_there(many: list[Candidate], found: Code, style: str) -> None:
    fitted = fit(
        ranked(many), Budget("characters", 10_000_000, 0, "characters"), STYLES[style], code=found
    )
    assert [c.ranked.candidate for c in fitted.chosen] == by_urgency(many)
    assert {c.form for c in fitted.chosen} <= {"full"}
    inside = Counter(one.candidate.path for one in found.symbols)
    assert len(fitted.code) == len(found.files) + sum(min(n, 25) for n in inside.values())


def test_a_long_item_does_not_hide_those_after_it() -> None:
    long = candidate(
        "long", text="x" * 900, summary="y" * 900, title="z" * 900, id="function:" + "long" * 70
    )
    small = [candidate(f"small{n}") for n in range(3)]
    fitted = fit(ranked([long, *small]), read_budget("500"), STYLES["text"])
    assert [c.ranked.candidate for c in fitted.chosen] == small
    assert fitted.omissions[0].id == long.id and fitted.omissions[0].reason.startswith(
        "over budget: "
    )


def test_a_large_item_is_one_line_with_its_id() -> None:
    large = candidate(
        "large", text="def large()\n" + "    code\n" * 200, summary="def large(): does much"
    )
    fitted = fit(ranked([large, candidate("small")]), read_budget("6000"), STYLES["text"])
    assert [c.form for c in fitted.chosen] == ["summary", "full"]
    shown = fitted.page(STYLES["text"])
    line = (
        "- [guessed · not assessed · summary] function:shop.large  src/large.py:7\n  | def large():"
        " does much\n"
    )
    assert line in shown


def test_nothing_found_is_noted_even_in_the_smallest_package() -> None:
    for style in STYLES.values():
        for smallest in ("256", "64tok"):
            assert NOTHING in fit([], read_budget(smallest), style).page(style)


def test_a_budget_that_no_item_fits_is_noted() -> None:
    huge = candidate("x" * 300, text="y" * 300, summary="z" * 300)
    fitted = fit(ranked([huge]), read_budget("256"), STYLES["text"])
    assert fitted.chosen == () and NOTHING_FITS in fitted.page(STYLES["text"])


def test_omissions_are_counted_by_reason_with_the_way_to_ask() -> None:
    far = Omission("a", "below the relevance threshold: holds 0 of 3 words")
    left = [far, Omission("b", "expired"), Omission("c", "expired")]
    shown = fit(ranked([candidate("f")]), read_budget("6000"), STYLES["text"], omissions=left).page(
        STYLES["text"], "cp-3f9a1c20b7de"
    )
    assert (
        "omitted: 1 below the relevance threshold, 2 expired. Why: kl context why ID"
        " cp-3f9a1c20b7de\n" in shown
    )
    assert (
        shown.startswith("[Pipeline Knowledge] cp-3f9a1c20b7de   ") and "   1 of 4 items\n" in shown
    )


def test_paths_come_before_names_and_each_name_is_under_its_path() -> None:
    some = [
        symbol(f"Cart.f{n}", f"src/{'ab'[n % 2]}.py", line=n, id=f"method:a.Cart.f{n}")
        for n in range(6)
    ]
    shown = fit([], read_budget("6000"), STYLES["text"], code=code_of_symbols(*some)).page(
        STYLES["text"]
    )
    assert (
        "\n## code\n- src/a.py\n  Cart.f0:0  .f2:2  .f4:4\n- src/b.py\n  a.Cart.f1:1  .f3:3 "
        " .f5:5\n" in shown
    )
    mixed = [
        symbol(f"{one}.run", line=n, id=f"method:shop.{one}.run") for n, one in enumerate("ABA")
    ]
    mixed.append(symbol("plain", line=9))
    shown = fit([], read_budget("6000"), STYLES["text"], code=code_of_symbols(*mixed)).page(
        STYLES["text"]
    )
    assert "  A.run:0  B.run:1  plain:9\n" in shown
    (tight,) = fit([], read_budget("256"), STYLES["text"], code=code_of_symbols(*some[::-1])).code[
        :1
    ]
    assert tight.ranked.candidate.path == "src/b.py"


def test_bodies_come_before_names_from_2000_tokens_on_and_where_space_is_left_below() -> None:
    long = "    x = 1\n" * 250  # two of these and all names are more than either budget
    some = [
        symbol(f"f{n}", text=f"def f{n}():\n{long if n < 2 else ''}", summary=f"Does {n}.")
        for n in range(300)
    ]
    fitted = [
        fit([], read_budget(size), STYLES["text"], code=code_of_symbols(*some))
        for size in ("1999tok", "2000tok")
    ]
    forms = [[one.form for one in found.code[1:9]] for found in fitted]
    assert forms[0] == ["full"] + ["summary"] * 6 + ["name"]
    assert forms[1] == ["full", "full"] + ["summary"] * 6
    assert len(fitted[0].code) > len(fitted[1].code)
    assert "  f0:7\n  | def f0():\n  |     x = 1\n" in fitted[0].page(STYLES["text"])
    assert "  f1:7  | Does 1.\n" in fitted[0].page(STYLES["text"])
    hidden = [symbol("f0", text="def f0(): ...", redacted_by="policy")]
    assert [
        one.form
        for one in fit([], read_budget("6000"), STYLES["text"], code=code_of_symbols(*hidden)).code
    ] == [
        "name",
        "redacted",
    ]


def test_passages_are_a_line_each_beside_code_below_2000_tokens() -> None:
    """A section of the docs has words of every task; its text was 40 percent of small packages."""
    passage = candidate(
        "file:docs/a.md#use",
        kind="page",
        path="docs/a.md",
        line=7,
        tier=None,
        text="Use it\nso.\n" * 20,
        summary="Use: so.",
    )
    for pinned, budget, found, is_dense in (
        (False, "1500tok", code_of_symbols(symbol("f")), True),
        (False, "2000tok", code_of_symbols(symbol("f")), False),
        (False, "1500tok", Code(), False),
        (True, "1500tok", code_of_symbols(symbol("f")), False),
    ):
        fitted = fit(
            ranked([passage._replace(pinned=pinned)]),
            read_budget(budget),
            STYLES["text"],
            code=found,
        )
        assert ("\n- docs/a.md:7  | Use: so.\n" in fitted.page(STYLES["text"])) == is_dense
        assert [one.form for one in fitted.chosen] == (["summary"] if is_dense else ["full"])


def test_passages_leave_the_first_1000_tokens_to_code_and_half_of_the_next() -> None:
    names = code_of_symbols(
        *(symbol(f"name_of_function_{n}", f"src/a{n // 20}.py") for n in range(400))
    )
    some = [
        candidate(
            f"file:docs/{n}.md",
            kind="page",
            path=f"docs/{n}.md",
            tier=None,
            text="y" * 900,
            summary="x" * 150,
        )
        for n in range(5)
    ]
    for tokens, passages in ((700, 0), (1000, 0), (1200, 3), (1500, 5)):
        without, beside = (
            fit(one, read_budget(f"{tokens}tok"), STYLES["text"], code=names)
            for one in ([], ranked(some))
        )
        assert len(beside.chosen) == passages
        assert sum(len(one.block) for one in beside.chosen) <= max(0, tokens - 1000) * 2
        assert passages or beside.code == without.code
    few = fit(
        ranked(some), read_budget("1000tok"), STYLES["text"], code=code_of_symbols(symbol("f"))
    )
    assert len(few.chosen) == 5  # there is space left


def test_a_file_shows_more_of_its_symbols_in_a_larger_package() -> None:
    some = [symbol(f"f{n}", line=n) for n in range(300)]
    found = code_of_symbols(*some)
    fitted = [
        fit([], read_budget(budget), STYLES["text"], code=found)
        for budget in ("1500", "6000", "4000tok")
    ]
    assert [len(one.code) - 1 for one in fitted] == [25, 90, 242]


def test_records_leave_more_than_half_of_the_budget_to_code_and_take_what_it_leaves() -> None:
    records = ranked([candidate(f"r{n}", text="x" * 200, summary="y" * 150) for n in range(40)])
    names = [symbol(f"name_of_a_function_{n}", f"src/a{n // 20}.py") for n in range(400)]
    both = fit(records, read_budget("6000"), STYLES["text"], code=code_of_symbols(*names))
    assert 6000 * 35 // 100 < sum(len(one.block) for one in both.chosen) < 6000 * 45 // 100
    few = fit(records, read_budget("6000"), STYLES["text"], code=code_of_symbols(*names[:3]))
    assert sum(len(one.block) for one in few.chosen) > 6000 * 80 // 100 and len(few.code) == 4


@pytest.mark.parametrize("style", list(STYLES))
def test_notes_are_reported_as_far_as_they_fit(style: str) -> None:
    fitted = fit([], read_budget("400"), STYLES[style], notes=["x" * 400, "Not searched: commits."])
    assert "x" * 200 not in fitted.page(STYLES[style])
    assert "Not searched: commits." in fitted.page(STYLES[style])


def blocks(fitted: Fitted) -> list[tuple[str, str, str]]:
    return [(one.ranked.candidate.title, one.form, one.text) for one in fitted.chosen]


@pytest.mark.parametrize("estimator", ["characters", "chars/4"])
def test_the_last_character_of_a_budget_is_used(estimator: str) -> None:
    style, one = STYLES["text"], candidate("small")
    unit = "tokens" if estimator == "chars/4" else "characters"
    sizes = [
        n for n in range(64, 600) if fit(ranked([one]), Budget(unit, n, 0, estimator), style).chosen
    ]
    assert sizes == list(range(sizes[0], 600)), "what fits a budget fits each larger one"
    fitted = fit(ranked([one]), Budget(unit, sizes[0], 0, estimator), style)
    assert estimator_of(fitted.budget).count(fitted.widest(style)) == sizes[0]


def test_a_note_may_fill_the_budget_to_its_end() -> None:
    style = STYLES["text"]
    locked = [
        n for n in range(1, 300) if fit([], read_budget("400"), style, notes=["n" * n]).notes[1:]
    ]
    assert locked == list(range(1, locked[-1] + 1))
    assert len(fit([], read_budget("400"), style, notes=["n" * locked[-1]]).widest(style)) == 400


def test_headings_are_paid_for_once_for_each_kind() -> None:
    style = STYLES["text"]
    same = fit(ranked([candidate("a"), candidate("b")]), read_budget("6000"), style)
    shown = same.page(style)
    assert shown.count(style.heading("fact").strip()) == 1
    two = ranked([candidate("a"), candidate("b")])
    least = next(
        n for n in range(256, 1200) if len(fit(two, read_budget(str(n)), style).chosen) == 2
    )
    assert len(fit(two, read_budget(str(least)), style).widest(style)) == least > 256


def test_what_is_pinned_comes_first_and_gets_shorter_until_it_fits() -> None:
    style = STYLES["text"]
    pinned = candidate("pin", text="long " * 200, summary="word " * 60, pinned=True, marks=("m",))
    wide = fit(ranked([candidate("other"), pinned]), read_budget("6000"), style)
    assert [one.ranked.candidate.title for one in wide.chosen] == ["pin", "other"]
    lengths = set()
    for total in range(256, 1200):
        fitted = fit(ranked([pinned]), read_budget(str(total)), style)
        for one in fitted.chosen:
            lengths.add((one.form, len(one.text)))
            short = len(one.text) <= 100
            bare = pinned._replace(path="", line=0, marks=()) if short else pinned
            assert one.block == style.item(bare, "summary", one.text)
            assert ("src/pin.py" not in one.block) == short and (":7" not in one.block) == short
    assert {form for form, _ in lengths} == {"summary"}
    assert {length for _, length in lengths} <= {160, 100, 60, 40, 30, 20}
    plain = candidate("plain", text="long " * 200, summary="word " * 60)
    assert {
        len(c.text)
        for n in range(256, 1200)
        for c in fit(ranked([plain]), read_budget(str(n)), style).chosen
    } == {160}


@pytest.mark.parametrize(("size", "form"), [(1500, "full"), (1501, "summary")])
def test_a_quarter_of_the_budget_is_large(size: int, form: str) -> None:
    bare = candidate("q", text="", summary="")
    text = "x" * (size - len(whole(bare)))
    one = candidate("q", text=text, summary="short")
    while len(whole(one)) > size:
        one = candidate("q", text=one.text[:-1], summary="short")
    while len(whole(one)) < size:
        one = candidate("q", text=one.text + "x", summary="short")
    (chosen,) = fit(ranked([one]), read_budget("6000"), STYLES["text"]).chosen
    assert chosen.form == form


def test_a_summary_as_long_as_the_whole_is_the_whole() -> None:
    one = candidate("s", text="four", summary="five")
    equal = candidate("s", text="four", summary="y" * len(whole(one)))
    assert blocks(fit(ranked([equal]), read_budget("6000"), STYLES["text"]))[0][1:] == (
        "full",
        whole(one),
    )


def test_what_is_omitted_states_how_much_space_there_was() -> None:
    huge = candidate("x" * 300, text="y" * 300, summary="z" * 300)
    style = STYLES["text"]
    fitted = fit(ranked([huge]), read_budget("256"), style)
    free = fit([], read_budget("256"), style)
    space = 256 - len(free._replace(notes=(), of=1).widest(style))
    assert fitted.omissions[0].reason == f"over budget: {space} characters were left"
    assert NOTHING_FITS not in fit([], read_budget("256"), style).page(style)
    some = fit(ranked([candidate("a")]), read_budget("6000"), style)
    assert NOTHING_FITS not in some.page(style)


def test_from_1000_characters_on_100_are_free_for_what_is_omitted() -> None:
    style, many = STYLES["text"], ranked([candidate(f"a{n}") for n in range(20)])
    least = next(
        n for n in range(1000, 4000) if len(fit(many, read_budget(str(n)), style).chosen) == 20
    )
    assert least == len(fit(many, read_budget(str(least)), style).widest(style)) + 100 > 1000


def test_a_large_item_whose_summary_is_no_shorter_is_the_whole() -> None:
    one = candidate("s", text="t" * 110, summary="")
    equal = candidate("s", text="t" * 110, summary="y" * len(whole(one)))
    (chosen,) = fit(ranked([equal]), read_budget("400"), STYLES["text"]).chosen
    assert (chosen.form, len(chosen.text) * 4 > 400) == ("full", True)


def test_a_package_has_a_path_for_each_160_characters_before_any_symbol() -> None:
    # short names leave no space at the end for another path
    folder = "src/a_folder_with_a_long_name/and_another_one"
    names = [symbol(f"f{at}", f"{folder}/a{at % 60}.py", line=at) for at in range(1200)]
    fitted = fit([], read_budget("6400"), STYLES["text"], code=code_of_symbols(*names))
    files = [one for one in fitted.code if one.ranked.candidate.kind == "file"]
    assert len(files) == 40


def test_files_without_symbols_get_their_part_of_the_budget_before_most_records() -> None:
    files = Code(code_of_symbols(*(symbol("f", f"src/a{at}.py") for at in range(37))).files, ())
    records = ranked([candidate(f"r{at}", text="x" * 200) for at in range(40)])
    fitted = fit(records, read_budget("6000"), STYLES["text"], code=files)
    assert len(fitted.code) == 37
    alone = fit(records, read_budget("6000"), STYLES["text"])
    assert 0 < len(fitted.chosen) < len(alone.chosen)
