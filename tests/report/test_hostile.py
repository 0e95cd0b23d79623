"""A hostile repository: none of its strings runs, in any view, however it is clicked through."""

from __future__ import annotations

import pytest

from tests.report.conftest import Visit
from tests.report.sample import CANARY
from tests.report.test_views import VIEWS

pytestmark = pytest.mark.once


def _is_untouched(visit: Visit) -> bool:
    return bool(visit.page.evaluate("window.canary === undefined"))


@pytest.mark.parametrize("view", sorted({view.partition("/")[0] for view in VIEWS}))
@pytest.mark.share("find", "proof")
def test_no_string_of_a_repository_runs(visit: Visit, view: str) -> None:
    page = visit.open("hostile", view)
    assert _is_untouched(visit)
    assert page.locator("script").count() == 3
    assert page.locator("img, iframe, object, embed, [onload], [onerror]").count() == 0
    outside = page.evaluate(
        "[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))"
        ".filter(href => !href.startsWith('#'))"
    )
    assert outside == []
    links = page.locator("main a:visible, main button:visible")
    for number in range(0, min(links.count(), 60), 9):
        page.goto(page.url.partition("#")[0] + f"#{view}")
        visit.settle()
        links.nth(number).dispatch_event("click")
        visit.settle()
        assert _is_untouched(visit)


@pytest.mark.parametrize(
    "address",
    [
        f"proof/file=%3Cimg%20src%3Dx%20onerror%3D{CANARY}%3E",
        f"proof/folder=javascript:{CANARY}",
        f"javascript:{CANARY}",
        "proof/file=%E0%A4%A",
        "constructor/__proto__=1",
        "tests/test=@999999999",
        "map/layer=__proto__&file=@-1",
        "find/q=%3Cscript%3E",
    ],
)
@pytest.mark.share(3)
def test_a_hostile_address_shows_a_view_all_the_same(visit: Visit, address: str) -> None:
    page = visit.open("hostile", address)
    assert _is_untouched(visit)
    assert page.locator("h1:visible").count() == 1


def test_the_policy_stops_what_the_page_would_let_through(visit: Visit) -> None:
    page = visit.open("small")
    page.evaluate(
        "code => { const element = document.createElement('script'); element.textContent = code;"
        " document.body.append(element) }",
        CANARY,
    )
    page.evaluate("code => { document.body.setAttribute('onclick', code) }", CANARY)
    page.locator("h1:visible").click()
    assert _is_untouched(visit)
    assert visit.problems and all("Content Security Policy" in text for text in visit.problems)
    visit.problems.clear()
