"""Which page a name means."""

from __future__ import annotations

import pytest

from kl_hooks.records.pages.names import Names, Page

ADR = Page(".kl/knowledge/decisions/ADR-0007-two-scanners.md", "adr:ADR-0007", "ADR-0007", "Two  Scanners: why?")
DOC = Page("docs/layers.md", "file:docs/layers.md", "", "Layers")
SAME = Page("docs/scanners.md", "file:docs/scanners.md", "", "two scanners: why?")
TWIN = Page("docs/deep/layers.md", "file:docs/deep/layers.md", "", "Other")
NAMES = Names([ADR, DOC, SAME, TWIN])


@pytest.mark.requirement("D40")
@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("ADR-0007", [ADR]), ("adr-0007", [ADR]), ("TWO SCANNERS: WHY?", [ADR]), ("two-scanners-why", [ADR]),
        ("two-scanners", [ADR]), ("Two-Scanners", []), ("layers", [DOC]), ("LAYERS", [DOC]), ("scanners", [SAME]),
        ("docs/deep/layers.md", [TWIN]), ("Layers#The baseline", [DOC]), ("nothing", []), ("#x", []), ("", []),
    ],
)  # fmt: skip
def test_id_then_title_then_slug_and_records_first(target: str, found: list[Page]) -> None:
    assert NAMES.find(target) == found


@pytest.mark.requirement("D40")
def test_what_nobody_can_tell_is_all_of_them() -> None:
    twice = Names([DOC, Page("docs/b.md", "file:docs/b.md", "", "Layers")])
    assert [page.path for page in twice.find("layers")] == ["docs/b.md", "docs/layers.md"]
    assert len(Names([DOC, TWIN]).find("layers")) == 1, "a title counts more than the name of a file"
