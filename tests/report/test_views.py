"""The views in a real browser: each opens, filters, follows a click, and works by keyboard."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.report.conftest import NARROW, Visit

pytestmark = pytest.mark.once
VIEWS = (
    "now",
    "map",
    "map/layer=core",
    "map/file=src%2Fshop%2Fmodel%2Forder.py",
    "map/from=model&to=cli",
    "proof",
    "proof/change",
    "proof/file=src%2Fshop%2Fmodel%2Forder.py",
    "tests",
    "tests/test=@5",
    "knowledge",
    "knowledge/record=ADR-0002",
    "find/q=order",
)
MAIN = ("now", "map", "proof", "tests", "knowledge")


def test_each_view_is_accessible(visit: Visit) -> None:
    broken = []
    for view in VIEWS:
        visit.open("small", view)
        broken += visit.violations(view)
    assert broken == []


@pytest.mark.parametrize("visit", [{"color_scheme": "dark"}], indirect=True)
@pytest.mark.sweep
def test_each_view_has_enough_contrast_in_the_dark(visit: Visit) -> None:
    broken = []
    for view in MAIN:
        visit.open("small", view)
        broken += visit.violations(view, ["color-contrast", "link-in-text-block"])
    assert broken == []


@pytest.mark.parametrize("visit", [{"viewport": NARROW}], indirect=True)
@pytest.mark.sweep
def test_each_view_fits_a_narrow_window(visit: Visit) -> None:
    broken = []
    for view in VIEWS:
        page = visit.open("small", view)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, view
        if view in MAIN:
            broken += visit.violations(view)
    assert broken == []


@pytest.mark.parametrize("visit", [{"viewport": NARROW}, {}], indirect=True)
def test_the_days_of_the_time_line_do_not_overlap(visit: Visit) -> None:
    page = visit.open("week", "knowledge")
    ends = page.locator(".axis-row text").evaluate_all(
        "texts => texts.map(text => text.getBoundingClientRect()).map(box => [box.left, box.right])"
    )
    assert ends
    assert all(before[1] < after[0] for before, after in pairwise(ends))


def test_contracts_are_listed_with_the_broken_ones_first(visit: Visit) -> None:
    table = visit.open("small", "map").get_by_role("region", name="Contracts of import-linter")
    rows = [row.split("\t") for row in table.locator("tbody tr:has(td)").all_inner_texts()]
    shown = [row[:3] for row in rows if len(row) > 2]
    assert shown == [
        ["No web below", "forbidden", "broken"],
        ["Siblings are apart", "independence", "kept"],
    ]
    page = visit.open("folders", "map")
    assert page.get_by_role("region", name="Contracts of import-linter").count() == 0


@pytest.mark.sweep
def test_names_of_tests_are_not_squeezed_on_paper(visit: Visit) -> None:
    page = visit.open("small", "tests")
    visit.page.emulate_media(media="print")
    visit.page.set_viewport_size({"width": 794, "height": 1123})
    name = page.locator("tbody .test-name").first
    assert name.bounding_box()["height"] < 100
    assert not page.locator("th", has_text="Trend").is_visible()


@pytest.mark.parametrize("sample", ["empty", "big"])
@pytest.mark.share(2)
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


def test_what_nobody_assessed_is_not_called_proven(visit: Visit) -> None:
    visit.open("unassessed", "proof")
    assert visit.text(".panel h2") == "No file was assessed"


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
    # the browser follows a link by the keyboard later, on a busy machine after the next statement
    page.wait_for_url(lambda url: "proof/f" in url)


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


@pytest.mark.sweep
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


def test_the_map_goes_from_a_layer_to_a_module_a_symbol_and_its_tests(visit: Visit) -> None:
    page = visit.open("small", "map")
    assert page.locator(".map .layer").count() == 6
    tops = {
        name: page.locator(f".map a[aria-label^='{name}: ']").bounding_box()["y"]
        for name in ("cli", "api", "core", "store", "git", "model")
    }
    assert tops["cli"] < tops["api"] < tops["core"] < tops["store"] < tops["model"]
    assert tops["store"] == tops["git"]
    visit.click(".map a[aria-label^='core: ']")
    assert visit.text(".panel h2") == "core"
    visit.click(".map a[aria-label^='src/shop/core/tax.py']")
    assert visit.text(".panel h2") == "src/shop/core/tax.py"
    visit.click(".panel h3:has-text('Symbols') + ul a")
    assert "symbol=" in page.url and "Tests that execute it" in visit.text(".panel")
    visit.click(".panel h3:has-text('Tests that') + ul a")
    assert visit.text("h1:visible").startswith("tests/part_0/")
    assert page.locator("dl dt", has_text="Last outcome").count() == 1


def test_forbidden_imports_are_red_with_their_line_and_decision(visit: Visit) -> None:
    page = visit.open("small", "map")
    assert visit.text("h1:visible") == "2 imports against layers or contracts"
    assert page.locator(".arrow.forbidden").count() == 2
    assert page.locator(".arrow.accepted .shaft").first.evaluate(
        "shaft => getComputedStyle(shaft).strokeDasharray"
    ) not in ("none", "")
    texts = page.locator(".arrow-text").all_text_contents()
    assert sorted(texts) == ["× order.py:20", "× price.py:5"]
    visit.click(".panel li:has-text('forbidden') a:has-text('ADR-0001')")
    assert visit.text(".panel h2").startswith("ADR-0001: ")


@pytest.mark.sweep
def test_a_cycle_takes_no_arrow_from_the_nearest_layers(visit: Visit) -> None:
    arrows = []
    for sample in ("small", "cycle"):
        page = visit.open(sample, "map/arrows=nearest")
        arrows.append(page.locator(".arrow.allowed").count())
    assert arrows[0] == arrows[1] > 0


def test_the_filter_of_modules_marks_them_in_the_picture(visit: Visit) -> None:
    page = visit.open("small", "map")
    page.get_by_label("Filter modules").fill("price.py")
    page.locator(".count", has_text="6 of 42").wait_for()
    assert page.locator(".map .module.hit").count() == 6


@pytest.mark.sweep
def test_without_a_manifest_folders_are_ordered_by_their_imports(visit: Visit) -> None:
    page = visit.open("folders", "map")
    assert visit.text("h1:visible") == "Folders and their imports"
    tops = [
        page.locator(f".map a[aria-label^='src/shop/{name}: ']").bounding_box()["y"]
        for name in ("cli", "model")
    ]
    assert tops[0] < tops[1]


def test_tests_are_filtered_and_the_filter_is_an_address(visit: Visit) -> None:
    page = visit.open("small", "tests")
    assert visit.text("h1:visible") == "5 of 160 tests fail"
    page.get_by_label("Last outcome").select_option("flaky")
    page.locator(".count", has_text="3 of 160").wait_for()
    page.get_by_label("Filter tests").fill("tax")
    page.locator(".count", has_text="1 of 160").wait_for()
    assert page.url.endswith("#tests/q=tax&outcome=flaky")
    page.reload()
    assert page.locator(".table tr[aria-rowindex]").count() == 1


def test_what_fails_comes_first_and_a_test_shows_its_runs(visit: Visit) -> None:
    page = visit.open("small", "tests")
    assert page.locator(".table tr[aria-rowindex='2'] td").nth(1).inner_text().strip() == "failed"
    visit.click(".table tr[aria-rowindex='2'] a")
    assert "src/shop/core/price.py: total, rounded changed" in visit.text(".panel dl")
    assert page.locator("[aria-label='Runs of this test'] tr[aria-rowindex]").count() > 10
    label = page.locator(".panel > .strip").get_attribute("aria-label")
    assert label.startswith("30 runs: ") and "failed" in label


@pytest.mark.sweep
def test_twenty_thousand_tests_are_filtered_and_scrolled_at_once(visit: Visit) -> None:
    page = visit.open("big", "tests")
    assert page.locator(".table tr[aria-rowindex]").count() < 80
    page.get_by_label("Filter tests").fill("test_order_19")
    page.locator(".count", has_text="of 20,000").wait_for()
    page.get_by_label("Filter tests").fill("")
    page.locator(".count", has_text="20,000 tests").wait_for()
    for part in (0.3, 0.9, 0.1, 1):
        page.locator(".table").evaluate(
            "(element, part) => { element.scrollTop = part * element.scrollHeight }", part
        )
    page.wait_for_selector(".table tr[aria-rowindex='20001']")
    assert page.locator(".table tr[aria-rowindex]").count() < 80


def test_decisions_show_what_superseded_them(visit: Visit) -> None:
    page = visit.open("small", "knowledge")
    assert page.locator(".moment .over").count() == 2
    assert page.locator(".moment .proposed").count() == 1
    visit.click("li.moment:has-text('superseded by') a >> nth=-1")
    assert "Supersedes" in visit.text(".panel")
    assert page.locator(".links a[aria-current]").count() == 1
    visit.click(".links a:not([aria-current])")
    assert page.locator("li.moment").count() == 12


def test_memory_that_waits_is_shown_with_its_evidence(visit: Visit) -> None:
    page = visit.open("small", "knowledge")
    assert "Evidence: seen in 3 runs" in visit.text("section:has-text('Waiting for review')")
    assert page.locator("progress").count() == 3
    page.get_by_label("Filter records").fill("MEM-0002")
    page.locator(".count", has_text="1 of 24").wait_for()


def test_the_search_finds_files_symbols_tests_and_records(visit: Visit) -> None:
    page = visit.open("small")
    page.keyboard.press("/")
    page.keyboard.type("stock")
    page.wait_for_url("**#find/q=stock")
    heads = page.locator("#view h2").all_inner_texts()
    assert [text.split()[0] for text in heads] == ["Files", "Symbols", "Tests", "Records"]
    assert page.evaluate("document.activeElement.id") == "query"
    visit.click("#view section a")
    assert "map/file=" in page.url
