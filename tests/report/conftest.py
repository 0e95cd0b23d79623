"""A real browser for the tests of the page: Chromium of the distribution, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.report.page import render
from tests.report.sample import SAMPLES

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDE = {"width": 1440, "height": 950}
NARROW = {"width": 400, "height": 800}


class Visit:
    """A page of a sample in a browser, and its errors."""

    def __init__(self, page: Any, folder: Path) -> None:
        self.page, self._folder = page, folder
        self.problems: list[str] = []
        page.on("console", self._on_console)
        page.on("pageerror", lambda problem: self.problems.append(str(problem)))
        page.on("request", self._on_request)

    def _on_console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(message.text)

    def _on_request(self, request: Any) -> None:
        if not request.url.startswith(("file:", "http://127.0.0.1")):
            self.problems.append(f"request of {request.url}")

    def open(self, sample: str, address: str = "now") -> Any:
        """Show a view of a sample, and wait for what the browser draws."""
        path = self._folder / f"{sample}.html"
        if not path.exists():
            path.write_text(render(SAMPLES[sample]()), encoding="utf-8")
        self.page.goto(f"{path.as_uri()}#{address}")
        return self.settle()

    def settle(self) -> Any:
        """Wait until two frames were drawn."""
        self.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
        return self.page

    def violations(self, view: str, rules: list[str] | None = None) -> list[tuple[str, str]]:
        """Rules of axe-core that the page breaks, each with the first element; None: all rules."""
        package = pytest.importorskip(
            "axe_playwright_python", reason="pip install axe-playwright-python"
        )
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate((Path(package.__file__).parent / "axe.min.js").read_text())
        options: dict[str, Any] = {"resultTypes": ["violations"]}
        if rules is not None:
            options["runOnly"] = rules
        broken = self.page.evaluate("async options => (await axe.run(options)).violations", options)
        return [(f"{view}: {rule['id']}", rule["nodes"][0]["html"]) for rule in broken]

    def click(self, selector: str) -> Any:
        """Click, and wait for what the browser draws then."""
        self.page.locator(selector).first.click()
        return self.settle()

    def text(self, selector: str) -> str:
        """The text of the first element that a selector names."""
        return str(self.page.locator(selector).first.inner_text())


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed: pip install playwright"
    )
    pytest.importorskip("jinja2", reason="the extra kl-hooks[report] is not installed")
    programs = [path for name in PROGRAMS if (path := shutil.which(name))]
    if not programs:
        pytest.skip("no Chromium: apt-get install chromium")
    with sync_api.sync_playwright() as driver:
        # root may not use the sandbox of Chromium, and tests in a container run as root
        started = driver.chromium.launch(executable_path=programs[0], args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="package")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report-pages")


@pytest.fixture
def visit(request: pytest.FixtureRequest, browser: Any, pages: Path) -> Iterator[Visit]:
    """A tab of its own; a test that does not expect problems must have none."""
    settings = {"viewport": WIDE, **getattr(request, "param", {})}
    context = browser.new_context(**settings)
    context.set_default_timeout(5000)
    visit = Visit(context.new_page(), pages)
    yield visit
    context.close()
    assert visit.problems == []
