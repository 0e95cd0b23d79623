"""What linking costs grows with the files, the imports and the patterns, not with their product.

Counted in calls of functions, so that the load of the machine decides nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from kl_hooks.code.query.session import refresh_graph
from kl_hooks.workspace import Workspace
from tests.code.making import repository

Files = dict[str, str]


def mapped(number: int) -> Files:
    """As many imports as patterns of `paths`."""
    paths = {f"@lib{n}/*": [f"lib/{n}/*"] for n in range(number)}
    source = "".join(f"import {{ a }} from '@lib{n}/a';\n" for n in range(number))
    configuration = json.dumps({"compilerOptions": {"paths": paths}})
    return {"tsconfig.json": configuration, "main.ts": source}


def exported(number: int) -> Files:
    """As many imports as patterns of `exports`."""
    exports = {f"./lib{n}/*": f"./dist/{n}/*.js" for n in range(number)}
    source = "".join(f"import {{ a }} from 'p/lib{n}/a';\n" for n in range(number))
    return {"p/package.json": json.dumps({"name": "p", "exports": exports}), "main.ts": source}


def handed_on(number: int) -> Files:
    """Each file hands on what every other exports, and imports a name that none has."""
    return {
        f"m{n}.ts": "".join(f"export * from './m{m}';\n" for m in range(number) if m != n)
        + f"import {{ missing }} from './m{(n + 1) % number}';\nmissing();\n"
        for n in range(number)
    }


def doubled(number: int) -> Files:
    """Each configuration extends the next one twice, and refers to it twice."""
    files = {
        f"c{n}/tsconfig.json": json.dumps(
            {
                "extends": [f"../c{n + 1}/tsconfig.json"] * 2,
                "references": [{"path": f"../c{n + 1}"}] * 2,
            }
        )
        for n in range(number)
    }
    source = "".join(f"import 'package{n}';\n" for n in range(10))
    return {**files, "c0/main.ts": source}


def calls_of(run: Callable[[Workspace], Any], ws: Workspace) -> int:
    """How many functions are called, those in C included."""
    number = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal number
        number += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run(ws)
    finally:
        sys.setprofile(before)
    return number


@pytest.mark.parametrize(
    ("files", "few", "many"),
    [
        (mapped, 100, 400),
        (exported, 100, 400),
        (handed_on, 20, 40),  # four times as many links
        (doubled, 3, 12),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
@pytest.mark.share(2)
def test_four_times_as_many_links_cost_little_more_than_four_times(
    files: Callable[[int], Files], few: int, many: int, tmp_path: Path
) -> None:
    calls_of_few = calls_of(refresh_graph, repository(tmp_path / "few", files(few)))
    calls_of_many = calls_of(refresh_graph, repository(tmp_path / "many", files(many)))
    assert calls_of_many < 5 * calls_of_few
