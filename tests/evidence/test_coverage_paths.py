"""Which files of a content the paths of a coverage report mean."""

from __future__ import annotations

import pytest

from kl_hooks.evidence.coverage_paths import content_paths

PATHS = {"web/src/cart.ts", "web/src/index.ts", "api/src/index.ts", "src/lib.rs"}
HERE = "/w/shop"


@pytest.mark.parametrize(
    ("measured", "folder", "paths"),
    [
        (["src/cart.ts", "src/index.ts"], "web/coverage", ["web/src/cart.ts", "web/src/index.ts"]),
        (["../src/cart.ts"], "web/coverage", ["web/src/cart.ts"]),
        # the report is elsewhere: the only folder where both are
        (["src/cart.ts", "src/index.ts"], "", ["web/src/cart.ts", "web/src/index.ts"]),
        # two folders have it, and none is nearer
        (["src/index.ts"], "", [None]),
        (["src/index.ts"], "api/coverage", ["api/src/index.ts"]),
        # a copy in this checkout is not the file of the repository
        (["/w/shop/src/lib.rs", "/w/shop/node_modules/x/src/index.ts"], "", ["src/lib.rs", None]),
        (["/w/shop/node_modules/x/src/lib.rs"], "", [None]),
        # of another machine
        (["/home/runner/shop/src/lib.rs", "/rustc/1f2e/library/lib.rs"], "", ["src/lib.rs", None]),
        ([r"C:\work\shop\web\src\cart.ts"], "", ["web/src/cart.ts"]),
        (["webpack://shop/./web/src/cart.ts?1f2e"], "", ["web/src/cart.ts"]),
        (
            ["webpack:///web/src/cart.ts", "webpack:///webpack/bootstrap"],
            "",
            ["web/src/cart.ts", None],
        ),
        (["file:///w/shop/src/lib.rs"], "", ["src/lib.rs"]),
        (["../../../../etc/passwd", "/etc/passwd", "a\0b", "", ".", "/"], "web", [None] * 6),
    ],
)
def test_paths_of_reports(measured: list[str], folder: str, paths: list[str | None]) -> None:
    path_of = content_paths(measured, PATHS, HERE, folder)
    assert [path_of.get(path) for path in measured] == paths
