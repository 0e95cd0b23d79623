"""The first picture of the page as Mermaid, for the summary of a CI job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kl_hooks.report.counts import counts_of

_PARTS: Final = (
    ("failing", "failing", "#b3281e"),
    ("here", "passed on this content", "#3b75b3"),
    ("transferred", "passed on another content and still valid here", "#a9cdf0"),
    ("stale", "must run again", "#eeb04e"),
    ("unexecuted", "never recorded", "#c3c8ce"),
)
"""Name in `StateCounts`, words, and the color of the page."""


def picture(report: Mapping[str, Any]) -> str:
    """Return how many tests are in which state as a diagram of Mermaid; it has no text of others.

    `report`: `kl.report/1`.
    """
    numbers = counts_of(report)._asdict()
    parts = [(numbers[name], words, color) for name, words, color in _PARTS if numbers[name]]
    if not parts:
        return 'flowchart TD\n    none["no test was recorded"]\n'
    # Mermaid draws the largest part first, and gives it the first color
    parts.sort(key=lambda part: -part[0])
    colors = ", ".join(f'"pie{at}": "{part[2]}"' for at, part in enumerate(parts, 1))
    sections = "".join(f'    "{words}" : {number}\n' for number, words, _ in parts)
    theme = f'{{"theme": "base", "themeVariables": {{{colors}, "pieOpacity": "1"}}}}'
    return f"%%{{init: {theme}}}%%\npie showData title Tests\n{sections}"
