"""The pages of `docs/` as a site."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built as by `make site`."""
    pytest.importorskip("mkdocs", reason="the extra kl-hooks[docs] is not installed")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    # strict: a warning, such as of a dead link or a page without a place, is an error
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True)
    config.plugins.on_startup(command="build", dirty=False)
    build(config)
    return folder


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_site_has_every_page_and_asks_no_other_server(site: Path) -> None:
    sources = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    pages = {
        path.parent / "index.html"
        if path.name == "README.md"
        else path.with_suffix("") / "index.html"
        for path in sources
    }
    assert {path.relative_to(site) for path in site.rglob("index.html")} == pages

    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    assert "commands/arch/" in {entry["location"] for entry in index["docs"]}
    text = (site / "report" / "index.html").read_text("utf-8")
    assert 'src="../report.png"' in text
    assert not re.findall(r'(?:src|<link[^>]*href)="(?:https?:)?//[^"]*', text)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_links_to_other_files_lead_to_the_repository(site: Path) -> None:
    text = (site / "versions" / "index.html").read_text("utf-8")
    assert 'href="https://github.com/kl-hooks/kl/blob/main/CHANGELOG.md"' in text
