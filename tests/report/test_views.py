"""The views in a real browser: each opens, filters, follows a click, and works by keyboard."""

from __future__ import annotations

from typing import Any

import pytest

from tests.report.conftest import NARROW, Visit

pytestmark = pytest.mark.once
VIEWS = ("now", "proof", "proof/change", "proof/file=src%2Fshop%2Fmodel%2Forder.py")
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": NARROW},
}
RULES = {"resultTypes": ["violations"]}


@pytest.mark.parametrize("visit", LOOKS.values(), ids=list(LOOKS), indirect=True)
def test_each_view_is_accessible_and_fits_its_width(visit: Visit) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    for view in VIEWS:
        page = visit.open("small", view)
        violations = axe.Axe().run(page, options=RULES).response["violations"]
        assert [(rule["id"], rule["nodes"][0]["html"]) for rule in violations] == [], view
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= page.viewport_size["width"], view


@pytest.mark.parametrize("sample", ["empty", "big"])
def test_nothing_and_very_much_are_shown(visit: Visit, sample: str) -> None:
    for view in VIEWS:
        page = visit.open(sample, view)
        assert page.locator("h1:visible").count() == 1, view


def test_the_first_view_answers_and_leads_on(visit: Visit) -> None:
    visit.open("small")
    assert visit.text("h1:visible").startswith("Partly proven")
    assert visit.text("#command") == "pytest --kl-impacted"
    visit.click("text=Failing tests >> xpath=.. >> a")
    assert "tests/test=" in visit.page.url


def test_the_command_is_copied_or_selected(visit: Visit) -> None:
    visit.open("small")
    visit.click("#copy")
    assert visit.text("#copied") in ("Copied", "Selected: copy it with the keyboard")


def test_proof_goes_from_a_folder_to_a_file_to_a_test(visit: Visit) -> None:
    visit.open("small", "proof")
    visit.click(".picture a[aria-label^='Folder src/shop/cli']")
    assert visit.text(".trail strong") == "cli"
    visit.click(".picture a[aria-label*='cli/order.py']")
    assert visit.text(".panel h2") == "src/shop/cli/order.py"
    assert visit.page.locator(".picture a[aria-current]").count() == 1
    assert visit.text(".panel dl .state").strip() in (
        "proven here",
        "transferred",
        "stale",
        "never executed",
        "not assessed",
    )


def test_the_table_of_proof_filters_and_sorts(visit: Visit) -> None:
    page = visit.open("small", "proof")
    page.get_by_label("Filter files").fill("cart.py")
    page.locator(".count", has_text="6 of 42").wait_for()
    assert page.locator(".table tr[aria-rowindex]").count() == 6
    visit.click(".table th button:has-text('Lines')")
    lines = page.locator(".table tr[aria-rowindex] td:nth-child(3)").all_inner_texts()
    assert lines == sorted(lines, key=lambda text: -int(text.replace(",", "")))
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("Lines")


def test_proof_of_a_change_shows_its_files_only(visit: Visit) -> None:
    page = visit.open("small", "proof/change")
    assert visit.text("h1:visible") == "What main...HEAD changes"
    assert page.locator(".picture a[aria-label*='.py,']").count() == 5
    assert page.locator("[aria-label='Changed symbols'] tr[aria-rowindex]").count() == 7


def test_the_picture_has_one_stop_and_arrow_keys(visit: Visit) -> None:
    page = visit.open("small", "proof")
    assert page.locator(".picture a[tabindex='0']").count() == 1
    page.locator(".picture a[tabindex='0']").focus()
    labels = set()
    for key in ("ArrowDown", "ArrowRight", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
        labels.add(page.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert len(labels) >= 3 and None not in labels
    page.keyboard.press("Enter")
    assert "proof/f" in page.url


def test_the_keyboard_reaches_every_view_and_the_search(visit: Visit) -> None:
    page = visit.open("small")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "query"
    page.locator("nav a", has_text="Proof").focus()
    page.keyboard.press("Enter")
    visit.settle()
    assert page.locator("nav a[aria-current=page]").inner_text() == "Proof"
    assert page.evaluate("document.activeElement.id") == "main"


def test_a_table_of_any_length_has_few_rows_in_the_document(visit: Visit) -> None:
    page = visit.open("big", "proof")
    assert page.locator(".table tr[aria-rowindex]").count() < 60
    table = page.locator(".table")
    table.locator("tr[aria-rowindex='2'] a").focus()
    for _ in range(30):
        page.keyboard.press("ArrowDown")
    row = page.evaluate("document.activeElement.closest('tr').getAttribute('aria-rowindex')")
    assert row == "32"
    table.evaluate("element => { element.scrollTop = element.scrollHeight }")
    page.wait_for_selector(".table tr[aria-rowindex='2001']")


def test_the_page_prints_light_and_without_controls(visit: Visit) -> None:
    page = visit.open("small", "proof")
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav, .tools, .search").first.is_visible()
    assert page.locator(".table tr[aria-rowindex]").count() == 42
    assert page.pdf()[:5] == b"%PDF-"
