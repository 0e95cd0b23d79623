"""Odd tasks and damaged stores: a package from what can be read, or a clear error; never a
crash.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kl_hooks.context.build import build
from kl_hooks.context.page import NO_WORDS
from kl_hooks.errors import KlError
from kl_hooks.model.request import Request
from tests.support import Checkout, checkout, isolate

FILES = {
    "src/shop/price.py": 'def round_total(cents):\n    """Round a total."""\n    return cents\n',
    "src/shop/größe.py": "def größe_messen():\n    return 1\n",
    "docs/totals.md": "# Totals\n\nHow totals are rounded.\n",
}
TASKS = {
    "operators": 'round_total AND NOT OR NEAR(total, 3) ^round* "total" {price} -cents +x : y',
    "quotes": '\'round_total\'); DROP TABLE symbols; -- """',
    "huge": "round_total " * 90_000,
    "one word": "round_total " + "x" * 1_000_000,
    "emoji": "🏳️‍🌈 round_total 👩‍💻",
    "hidden": "\u202eround_total\u200b \ud800 round_total \x00 \x1b[31m",
    "brackets": "round_total " + "[" * 5_000 + "(" * 5_000 + "`" * 5_000,
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    patch = pytest.MonkeyPatch()
    isolate(patch, tmp_path_factory.mktemp("home"))
    made = checkout(tmp_path_factory.mktemp("shop") / "repo", FILES)
    build(made.workspace(), Request("round_total"))
    yield made
    patch.undo()


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.share(2)
def test_an_odd_task_is_answered(shop: Checkout, name: str) -> None:
    package = build(shop.workspace(), Request(TASKS[name]))
    assert "round_total:1" in package.text and len(package.text) <= 6000
    assert not [how for how in package.coverage.values() if how.startswith("failed")], (
        package.coverage
    )


@pytest.mark.parametrize("task", ["the and of", "!!! ??? ***", "🏳️‍🌈", "\u200b\u202e", "的 是 在"])
def test_a_task_without_a_known_word_gets_an_empty_package(shop: Checkout, task: str) -> None:
    package = build(shop.workspace(), Request(task))
    assert package.items == () and (
        "Nothing known here" in package.text or NO_WORDS in package.text
    )


def test_another_script_finds_its_names(shop: Checkout) -> None:
    assert "größe_messen:1" in build(shop.workspace(), Request("die größe messen")).text


def test_an_empty_task_is_an_error(shop: Checkout) -> None:
    with pytest.raises(KlError, match="the task is empty"):
        build(shop.workspace(), Request(" \n\t"))


def damage(path: Path, how: str) -> None:
    if how == "missing":
        path.unlink(missing_ok=True)
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "no database":
        path.write_bytes(b"no database" * 1000)
    else:  # a page in its middle
        content = bytearray(path.read_bytes())
        content[4096 : len(content) - 100] = b"\xff" * (len(content) - 4196)
        path.write_bytes(bytes(content))


@pytest.mark.parametrize("how", ["missing", "empty", "no database", "page"])
@pytest.mark.parametrize("which", ["kl.db", "graph"])
@pytest.mark.share(3)
def test_a_damaged_store_lowers_the_coverage_at_most(
    tmp_path: Path, home: Path, which: str, how: str
) -> None:
    made = checkout(tmp_path / "repo", FILES)
    build(made.workspace(), Request("round_total"))
    (path,) = [made.state / "kl.db"] if which == "kl.db" else (made.state / "graph").glob("*.db")
    for extra in path.parent.glob(f"{path.name}-*"):
        extra.unlink()
    damage(path, how)
    package = build(made.workspace(), Request("round_total"))
    failed = [name for name, state in package.coverage.items() if state.startswith("failed")]
    assert "round_total:1" in package.text or failed
    assert package.text.count("Not searched: ") == bool(failed)
