"""`kl arch mv` as people and programs see it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.arch.shop import MANIFEST
from tests.cli.conftest import Call


def test_a_folder_gets_its_new_path(in_shop: Call) -> None:
    code, out, _ = in_shop("arch", "mv", "src/shop/web", "src/shop/ui", "--dry-run")
    assert code == 1 and out.endswith(
        "src/shop/web is now src/shop/ui: 1 path would be changed in 1 file."
        " Nothing was written: kl arch mv does\n"
    )
    assert "-    paths: [src/shop/web/]\n+    paths: [src/shop/ui/]\n" in out
    code, out, _ = in_shop("arch", "mv", "src/shop/web/", "src/shop/ui/", "--format", "json")
    answer = json.loads(out)
    assert (code, answer["schema"], answer["written"], answer["paths"]) == (
        0,
        "kl.arch.mv/1",
        True,
        1,
    )
    code, out, _ = in_shop("arch", "mv", "src/shop/web", "src/shop/ui")
    assert (code, out) == (
        0,
        "nothing to change: no rule names src/shop/web\nnext: git mv src/shop/web src/shop/ui\n",
    )
    assert in_shop("arch", "mv", "src/nope", "src/nowhere")[0] == 2
    Path(MANIFEST).unlink()
    code, _, err = in_shop("arch", "mv", "src/shop/web", "src/shop/ui")
    assert code == 2 and "is not there, so no rule names it" in err
