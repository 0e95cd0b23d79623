"""Which prompts are about a repository, for prompts of both sorts (`prompts/`)."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from kl_hooks.context.occasion import find_occasion
from kl_hooks.workspace import Workspace, open_workspace
from tests.support import Checkout, checkout

PROMPTS = Path(__file__).parent / "prompts"


def prompts(name: str) -> list[str]:
    return (PROMPTS / f"{name}.txt").read_text("utf-8").splitlines()


PACKAGES = ("click", "packaging")


@pytest.fixture
def workspaces(home: Path, tmp_path: Path) -> dict[str, Workspace]:
    """Name → a repository with the source of that package of the environment."""
    return {name: open_workspace(repository_of(name, tmp_path).root) for name in PACKAGES}


def repository_of(package: str, folder: Path) -> Checkout:
    spec = find_spec(package)
    assert spec is not None and spec.origin is not None
    source = Path(spec.origin).parent
    files = {
        f"{package}/{path.relative_to(source)}": path.read_text("utf-8")
        for path in sorted(source.rglob("*.py"))
    }
    return checkout(folder / package, files)


@pytest.mark.sweep
def test_one_of_a_hundred_greetings_orders_and_questions_is_an_occasion_at_most(
    workspaces: dict[str, Workspace],
) -> None:
    asked = [(ws, text) for ws in workspaces.values() for text in prompts("chat")]
    noticed = [text for ws, text in asked if any(find_occasion(ws, text))]
    assert len(asked) > 580 and len(noticed) * 100 <= len(asked), noticed


@pytest.mark.sweep
def test_97_of_a_hundred_issues_are_an_occasion(workspaces: dict[str, Workspace]) -> None:
    asked = [(ws, text) for name, ws in workspaces.items() for text in prompts(f"issues-{name}")]
    missed = [text for ws, text in asked if not any(find_occasion(ws, text))]
    assert len(asked) > 70 and len(missed) * 100 <= len(asked) * 3, missed


@pytest.mark.parametrize(
    ("text", "sort", "named"),
    [
        ("look at shop/cart.py", "paths", ("shop/cart.py",)),
        ("look at notes.txt", "paths", ("notes.txt",)),
        ("look at ../outside.txt", "paths", ()),
        ('File "/home/ann/repo/shop/cart.py", line 2, in total', "paths", ("shop/cart.py",)),
        ("shop/cart.py::test_it fails", "paths", ("shop/cart.py",)),
        ("what does total_price do?", "names", ("total_price",)),
        ("does total_cost exist?", "names", ()),
        ("pay() hangs", "names", ("pay",)),
        ("pay me later", "names", ()),
        ("the Basket is empty", "names", ("Basket",)),
        ("a basket of fruit", "names", ()),
        ("Fix the tests", "names", ()),
        ("the voucher of a basket is lost", "words", ("voucher", "basket")),
        ("a voucher for lunch", "words", ()),
        ("为什么total_price的结果不对", "names", ("total_price",)),
        (f"see {'long/' * 2000}path.py", "paths", ()),
    ],
)
def test_what_counts(repo: Checkout, text: str, sort: str, named: tuple[str, ...]) -> None:
    repo.write("notes.txt", "Nothing.\n")
    repo.write(
        "shop/cart.py",
        """
class Basket:
    def apply_voucher(self): ...

class Fix: ...

def total_price(): ...
def pay(): ...
""",
    )
    # as in any repository, most of it is about something else
    others = "".join(f"def other_{number}(): return {number}\n" for number in range(200))
    repo.write("shop/others.py", others)
    repo.commit()
    occasion = find_occasion(open_workspace(repo.root), text)
    assert getattr(occasion, sort) == named
    assert any(occasion) == bool(named)


def test_a_record_that_holds_several_words_is_an_occasion(repo: Checkout) -> None:
    title, about = "Invoices are numbered per tenant", ("--context", "c", "--decision", "a counter")
    repo.kl("decision", "new", title, *about)
    repo.kl("decision", "accept", "ADR-0001")
    repo.commit()
    ws = open_workspace(repo.root)
    assert find_occasion(ws, "may two tenants have the same number on their invoices?").records
    assert find_occasion(ws, "what did ADR-0001 decide?").records
    assert not any(find_occasion(ws, "what is an invoice?"))
