"""`kl arch explain` as people and programs see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.arch.shop import MANIFEST, ORDER
from tests.cli.conftest import Call


def test_a_path_is_read_from_where_one_is(in_shop: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("src/shop")
    code, out, _ = in_shop("arch", "explain", "core/order.py")
    assert code == 0 and out.startswith(f"{ORDER}\n  module   shop.core.order\n")
    assert in_shop("arch", "explain", "shop.core.order")[1] == out


def test_layers_json_and_what_is_not_there(in_shop: Call) -> None:
    found = json.loads(in_shop("arch", "explain", "web", "--format", "json")[1])
    assert (found["schema"], found["kind"], found["layer"]) == ("kl.arch.explain/1", "layer", "web")
    code, _, err = in_shop("arch", "explain", "wbe")
    assert code == 2 and 'Did you mean "web"?' in err
    Path(MANIFEST).unlink()
    assert "nothing to explain" in in_shop("arch", "explain", "web")[1]


def test_a_file_that_is_no_python_is_not_called_missing(in_shop: Call) -> None:
    Path("tool").write_text("#!/usr/bin/env python3\nimport shop.core\n")
    code, _, err = in_shop("arch", "explain", "tool")
    assert (code, err) == (
        2, 'kl: kl arch explain: "tool" is there, but not judged. Files that kl reads are called *.py.\n',
    )  # fmt: skip
