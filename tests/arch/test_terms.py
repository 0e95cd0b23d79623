"""What may stand in an exception; what may not is refused with the nearest right thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from kl_hooks.arch.allowing.terms import decision_id, last_day, refuse_again, refuse_unknown
from kl_hooks.arch.manifest import read_manifest
from kl_hooks.clock import FixedClock, micros
from kl_hooks.errors import UsageProblem
from kl_hooks.workspace.open import open_workspace
from tests.arch.shop import LAYERS

MODULES = {"shop.core.order", "shop.web.page"}


def test_a_last_day_is_so_many_days_from_today_or_a_date(tmp_path: Path) -> None:
    ws = open_workspace(tmp_path, clock=FixedClock(micros("2027-01-31T23:59:59")), environ={"HOME": str(tmp_path)})
    assert [last_day(text, ws) for text in ("1d", "30d", "2027-01-31", "2028-02-29")] == [
        "2027-02-01", "2027-03-02", "2027-01-31", "2028-02-29",
    ]  # fmt: skip
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
        with pytest.raises(UsageProblem, match="is no day"):
            last_day(wrong, ws)
    with pytest.raises(UsageProblem, match="2027-01-30 is over"):
        last_day("2027-01-30", ws)


def test_names_must_exist() -> None:
    manifest = read_manifest("m", LAYERS.encode())
    for source, target in (("core", "web"), ("shop.core.order", "web"), ("core", "shop.web.page")):
        refuse_unknown(manifest, [], MODULES, source, target)
    for source, target, hint in (
        ("coer", "web", 'Did you mean "core"?'), ("core", "shop.web.pages", 'Did you mean "shop.web.page"?'),
        ("zzz", "web", "Layers: core, web."), ("", "web", "Layers: core, web."), ("web", "web", "may import itself"),
    ):  # fmt: skip
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
