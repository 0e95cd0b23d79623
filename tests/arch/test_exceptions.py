"""An exception inserted into a manifest: reads as before and one more, and every other byte is as
it was.

What may be in an exception; what may not is refused with the nearest right item.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.arch.exceptions import (
    decision_id,
    insert_exception,
    last_day,
    refuse_again,
    refuse_unknown,
)
from kl_hooks.arch.layers import ManifestProblems
from kl_hooks.arch.manifest_parser import read_manifest
from kl_hooks.clock import FixedClock, micros
from kl_hooks.errors import UsageProblem
from kl_hooks.model.manifest import Allowance, Manifest
from kl_hooks.workspace import open_workspace
from tests.arch.shop import LAYERS

TEXT = "layers:\n  - name: core\n    paths: [c/]   # c\n  - name: web\n    paths:\n      - w/\n"
ONE = Allowance("core", "web", "2030-01-31", "ADR-0007")


def unplaced(manifest: Manifest) -> Manifest:
    """The manifest without lines."""
    return manifest._replace(
        layers=tuple(one._replace(line=0) for one in manifest.layers),
        exceptions=tuple(sorted((one._replace(line=0) for one in manifest.exceptions), key=repr)),
    )


def inserted(data: bytes, one: Allowance = ONE) -> str:
    """What was inserted; everything else is compared here."""
    found = insert_exception("m", data, one)
    assert found is not None
    after, line = found
    before = read_manifest("m", data)
    read = read_manifest("m", after)
    assert unplaced(read) == unplaced(before._replace(exceptions=(*before.exceptions, one)))
    assert [x.line for x in read.exceptions if x._replace(line=0) == one] == [line]
    start = next(
        (n for n, (a, b) in enumerate(zip(data, after, strict=False)) if a != b), len(data)
    )
    more = len(after) - len(data)
    places = [
        n for n in range(max(0, start - more), start + 1) if after[:n] + after[n + more :] == data
    ]
    assert places, "taking out what was inserted gives the old bytes"
    return after[places[-1] : places[-1] + more].decode()


HEADS = st.sampled_from(["", "version: 1\n", "# head\n---\n", "\n\nexhaustive: false\n", "\ufeff"])
ITEMS = st.lists(
    st.sampled_from(
        [
            "{from: a, to: b}",
            "from: a\n~  to: b # why",
            "from: 'a: b'\n~  to: >-\n~    b\n~    c",
            '{"from": "ä", to: "\\u00e4", until: 2030-01-01}',
        ]
    ),
    max_size=3,
)
TAILS = st.sampled_from(
    [
        "",
        "\n",
        "\n# end",
        "\n\n# end\n\n",
        "\nexhaustive: true\n",
        "\ntype_checking_imports: ignore",
        "\n...\n",
    ]
)
COMMENTS = st.sampled_from(["", "  # none yet", " "])


@st.composite
def manifests(draw: st.DrawFn) -> bytes:
    """A valid manifest in one of the many ways in which people write it."""
    items, pad = draw(ITEMS), " " * draw(st.integers(0, 4))
    key = draw(st.sampled_from(["exceptions", "Exceptions", '"exceptions"']))
    style = draw(st.sampled_from(["none", "block", "flow", "lines"]))
    if style == "none":
        text = TEXT.rstrip("\n")
    elif style == "block" and items:
        rows = "\n".join(f"{pad}- {item.replace('~', pad)}" for item in items)
        text = f"{TEXT}{key}:{draw(COMMENTS)}\n{rows}"
    else:
        plain = [item for item in items if item.startswith("{")]
        inside = (
            ", ".join(plain)
            if style == "flow"
            else "".join(f"\n  {item}," for item in plain) + "\n  "
        )
        first = draw(COMMENTS) if style == "lines" else ""
        text = f"{TEXT}{key}: [{first}{inside}]{draw(COMMENTS)}"
    text = draw(HEADS) + text + draw(TAILS)
    indent = (
        draw(st.sampled_from(["", "  "]))
        if "---" not in text and "..." not in text and "\ufeff" not in text
        else ""
    )
    text = "".join(
        indent + line if line.strip() else line for line in text.splitlines(keepends=True)
    )
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n", "\r"]))).encode()


NAMES = st.sampled_from(
    ["core", "web", "shop.core.order", "a b", "ä", "yes", '"', "x: y", "# z", "\U0001f600"]
)


@given(
    manifests(),
    NAMES,
    NAMES,
    st.sampled_from(["", "2030-01-31"]),
    st.sampled_from(["", "ADR-0007"]),
)
def test_one_more_and_nothing_else(
    data: bytes, source: str, target: str, until: str, decision: str
) -> None:
    try:
        read_manifest("m", data)
    except ManifestProblems:
        with pytest.raises(ManifestProblems):
            insert_exception("m", data, ONE)
        return
    once = Allowance(source, target, until, decision)
    inserted(data, once)
    found = insert_exception("m", data, once)
    assert found is not None
    inserted(found[0], Allowance("again", target))


@given(manifests())
def test_most_of_these_manifests_are_valid_or_the_test_above_is_empty(data: bytes) -> None:
    try:
        read_manifest("m", data)
    except ManifestProblems as wrong:
        printed = str(wrong)
        assert (
            "\n...\n" in data.decode().replace("\r\n", "\n").replace("\r", "\n")
            or "given twice" in printed
        ), (
            data,
            printed,
        )


ENTRY = "{from: core, to: web, until: 2030-01-31, decision: ADR-0007}"


@pytest.mark.parametrize(
    ("text", "more"),
    [
        (TEXT, f"\nexceptions:\n  - {ENTRY}\n"),
        (TEXT.rstrip(), f"\n\nexceptions:\n  - {ENTRY}"),
        (TEXT + "exceptions: []  # none\n", f"\n  {ENTRY}\n  "),
        (TEXT + "exceptions:\n    - {from: a, to: b}  # x\n\n# end\n", f"    - {ENTRY}\n"),
        (TEXT + "exceptions:\n- from: a\n  to: b\nexhaustive: false\n", f"- {ENTRY}\n"),
        (TEXT.replace("\n", "\r\n") + "exceptions: [ # why\r\n]\r\n", f"  {ENTRY}\r\n"),
        ("{layers: [{name: core, paths: [c/]}]}", f", exceptions: [{ENTRY}]"),
        ("---\n" + TEXT + "...\n", f"\nexceptions:\n  - {ENTRY}\n"),
    ],
    ids=range(8),
)
def test_where_it_is_put(text: str, more: str) -> None:
    assert inserted(text.encode()) == more


def test_what_can_not_be_written_is_refused() -> None:
    assert insert_exception("m", TEXT.encode(), Allowance("half \udc80", "web")) is None
    with pytest.raises(ManifestProblems):
        insert_exception("m", (TEXT + "exceptions:\n").encode(), ONE)


MODULES = {"shop.core.order", "shop.web.page"}


def test_a_last_day_is_so_many_days_from_today_or_a_date(tmp_path: Path) -> None:
    ws = open_workspace(
        tmp_path, clock=FixedClock(micros("2027-01-31T23:59:59")), environ={"HOME": str(tmp_path)}
    )
    assert [last_day(text, ws) for text in ("1d", "30d", "2027-01-31", "2028-02-29")] == [
        "2027-02-01",
        "2027-03-02",
        "2027-01-31",
        "2028-02-29",
    ]
    for wrong in (
        "",
        "0d",
        "-1d",
        "30",
        "d",
        "99999d",
        "2027-02-29",
        "2027-2-1",
        "31.01.2027",
        "٣d",
        "soon",
        "20270201",
    ):
        with pytest.raises(UsageProblem, match="invalid date"):
            last_day(wrong, ws)
    with pytest.raises(UsageProblem, match="2027-01-30 is over"):
        last_day("2027-01-30", ws)


def test_names_must_exist() -> None:
    manifest = read_manifest("m", LAYERS.encode())
    for source, target in (("core", "web"), ("shop.core.order", "web"), ("core", "shop.web.page")):
        refuse_unknown(manifest, [], MODULES, source, target)
    for source, target, hint in (
        ("coer", "web", 'Did you mean "core"?'),
        ("core", "shop.web.pages", 'Did you mean "shop.web.page"?'),
        ("zzz", "web", "Layers: core, web."),
        ("", "web", "Layers: core, web."),
        ("web", "web", "may import itself"),
    ):
        with pytest.raises(UsageProblem) as refused:
            refuse_unknown(manifest, [], MODULES, source, target)
        assert hint in refused.value.hint


def test_what_is_allowed_already_is_refused_and_what_ends_earlier_is_not() -> None:
    rule = "exceptions:\n  - {from: core, to: web, until: 2027-01-31}\n  - {from: a, to: b}\n"
    manifest = read_manifest("m", (LAYERS + rule).encode())
    refuse_again(manifest, "core", "web", "2027-02-01")
    refuse_again(manifest, "web", "core", "2027-01-01")
    for source, target, until in (
        ("core", "web", "2027-01-31"),
        ("core", "web", "2027-01-01"),
        ("a", "b", "2030-01-01"),
    ):
        with pytest.raises(UsageProblem, match="allowed already"):
            refuse_again(manifest, source, target, until)


def test_a_decision_is_named_by_its_id() -> None:
    assert decision_id("ADR-0004", ()) == "ADR-0004"
    for wrong in ("ADR-4", "adr-0004", "ADR-0004-x", "../x", " "):
        with pytest.raises(UsageProblem, match="no id of a decision"):
            decision_id(wrong, {"ADR-0004"})
