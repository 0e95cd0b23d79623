"""`kl arch show` as people and programs see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.arch.shop import DRIFT, MANIFEST, ORDER
from tests.cli.conftest import Call


def test_ascii_in_the_c_locale_and_boxes_in_a_utf_8_one(in_shop: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(ORDER).write_text(DRIFT)
    monkeypatch.setenv("LC_ALL", "C")
    code, plain, _ = in_shop("arch", "show")
    assert code == 0 and plain.isascii() and "  | core | -x> web 1 NEW  order.py:2\n" in plain
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert "  │ core │ ─x▶ web 1 NEW  order.py:2\n" in in_shop("arch", "show")[1]


def test_json_and_no_manifest(in_shop: Call) -> None:
    found = json.loads(in_shop("arch", "show", "--format", "json")[1])
    assert found["schema"] == "kl.arch.show/1" and [layer["name"] for layer in found["layers"]] == ["web", "core"]
    assert found["arrows"] == [
        {"from": "web", "to": "core", "allowed": True, "imports": 1, "new": [], "baseline": [], "excepted": 0}
    ]
    Path(MANIFEST).unlink()
    assert "nothing to show" in in_shop("arch", "show")[1]
    assert json.loads(in_shop("arch", "show", "--format", "json")[1])["layers"] == []


def test_colour_states_what_the_words_state(in_shop: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(ORDER).write_text(DRIFT)
    monkeypatch.setenv("LC_ALL", "C")
    plain = in_shop("arch", "show")[1]
    assert "\x1b" not in plain, "no terminal, no colours"
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = in_shop("arch", "show")[1]
    assert "  | core | \x1b[31m-x> web 1 NEW  order.py:2\x1b[0m\n" in coloured
    assert " \x1b[31mno: 1 new\x1b[0m\n" in coloured
    assert coloured.replace("\x1b[31m", "").replace("\x1b[0m", "") == plain and "  -x> violation" in coloured
    assert in_shop("arch", "baseline", "write")[0] == 0
    assert "\x1b[33m-x> web 1 baseline" in in_shop("arch", "show")[1]
    assert "\x1b" not in in_shop("arch", "show", "--format", "json")[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in in_shop("arch", "show")[1]
