"""What `kl graph build --precise` prints: the differences between the two scanners, or that there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kl_hooks.cli.common import counted, note

if TYPE_CHECKING:
    from kl_hooks.code.precise.compared import Comparison
    from kl_hooks.workspace.open import Workspace


def compared(ws: Workspace) -> tuple[list[str], dict[str, Any]]:
    """The comparison as lines for people and as JSON; what could not be compared is noted."""
    from kl_hooks.code.precise import compared as precise

    found = precise.compared(ws)
    for problem in found.not_assessed:
        note(f"{problem} Not assessed by the precise scanner.")
    return _lines(found), _plain(found)


def _lines(found: Comparison) -> list[str]:
    sums = (found.files, "file"), (found.definitions, "definition"), (found.imports, "import"), (found.edges, "edge")
    result = f"{counted(len(found.differences), 'difference')}:" if found.differences else "equal"
    if found.not_assessed:
        result = f"{len(found.not_assessed)} not assessed; {result}"
    head = f"precise: {', '.join(counted(number, noun) for number, noun in sums)}; {result}"
    unseen = [f"  not compared with grimp: {counted(n, 'time')} {what}" for what, n in sorted(found.unseen.items())]
    return [head, *(f"  {one}" for one in found.differences), *unseen]


def _plain(found: Comparison) -> dict[str, Any]:
    return {
        "files": found.files, "definitions": found.definitions, "imports": found.imports, "edges": found.edges,
        "equal": not found.differences and not found.not_assessed,
        "differences": [
            {"path": d.path, "line": d.line, "what": d.what, "fast": d.fast, "precise": d.precise}
            for d in found.differences
        ],
        "not_assessed": [{"path": p.path, "line": p.line, "message": p.message} for p in found.not_assessed],
        "not_compared": found.unseen,
    }  # fmt: skip
