"""Draw the picture of the report in README.md: `python tools/report_picture.py REPORT.html`, where
`kl report -o REPORT.html` was run after a change in a repository with recorded tests.

It needs Playwright and a Chromium of the distribution.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Final

from playwright.sync_api import sync_playwright

PICTURE: Final = Path(__file__).parent.parent / "docs" / "report.png"
VIEW: Final = "proof"
WIDTH, HEIGHT = 1180, 700
MOST_BYTES: Final = 150_000


def draw(report: Path) -> None:
    """Write the first screen of the view."""
    with sync_playwright() as driver:
        # as tests/report/conftest.py starts it
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(f"{report.resolve().as_uri()}#{VIEW}")
        page.locator("#view svg").first.wait_for()
        page.screenshot(path=PICTURE)
        browser.close()


def main(report: str) -> str:
    """Write the picture; the reason why it is too large, or empty."""
    draw(Path(report))
    size = PICTURE.stat().st_size
    if size > MOST_BYTES:
        return f"{PICTURE.name} has {size:,} bytes, more than {MOST_BYTES:,}."
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
