"""The texts of a report: without what the policy hides from its readers, without secrets, and in
one that is published without what is of this machine and its user alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.store.redaction import redact

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace

_ADDRESS: Final = lazy_pattern(r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)+")
_ABSOLUTE: Final = lazy_pattern(r"(?<![\w.~/:-])(/[^\s/\"'`<>|;,()\[\]]+)(/[^\s\"'`<>|;,()\[\]]*)?")
_OF_WINDOWS: Final = lazy_pattern(r"(?<!\w)[A-Za-z]:[\\/][^\s\"'`<>|;,()\[\]]+")
_NO_ADDRESS: Final = "(address)"
_NO_PATH: Final = "(path)"


class ReportTexts:
    """What a report may show of texts and files."""

    def __init__(self, ws: Workspace, readers: Access, *, is_published: bool) -> None:
        """`readers`: for whom it is made; `is_published`: others than the user may open it."""
        self._ws = ws
        self.readers = readers
        self.is_published = is_published
        self._shown: dict[str, bool] = {}

    def sentence(self, text: str) -> str:
        """Return a text that somebody or kl wrote."""
        return self.name(redact(self.readers.text(text)))

    def sentences(self, texts: Iterable[str]) -> list[str]:
        """Return these texts."""
        return [self.sentence(text) for text in texts]

    def name(self, text: str) -> str:
        """Return the name of something in a file that is shown, such as a test."""
        if not self.is_published:
            return text
        for place, substitute in self._places:
            text = text.replace(place, substitute)
        if "@" in text:
            text = _ADDRESS.sub(_NO_ADDRESS, text)
        if "/" in text:
            text = _ABSOLUTE.sub(_without_local_path, text)
        if ":" in text:
            text = _OF_WINDOWS.sub(_NO_PATH, text)
        return text

    def shows_file(self, path: str) -> bool:
        """Return whether a file, and what it defines, may be shown; what is only redacted may not:
        a report has nothing but texts.
        """
        if self.readers.shows_all:
            return True
        if path not in self._shown:
            effects = {
                self.readers.effect_on_place("", path, kind)[0]
                for kind in ("symbol", "page", "document")
            }
            self._shown[path] = effects == {"allow"}
        return self._shown[path]

    @cached_property
    def _places(self) -> list[tuple[str, str]]:
        """Folders of this machine → what is written in their place; the longest first."""
        return sorted(self._local_folders(), key=lambda pair: (-len(pair[0]), pair))

    def _local_folders(self) -> Iterator[tuple[str, str]]:
        roots = {str(self._ws.root), os.path.realpath(self._ws.root)}
        for root in roots:
            yield f"{root}/", ""
            yield root, "."
        for home in {str(Path.home()), os.path.realpath(Path.home())}:
            if len(home) > 1:
                yield home, "~"


def _without_local_path(match: re.Match[str]) -> str:
    # `/api/users` is no path of this machine
    if match[2] and os.path.isdir(match[1]):  # noqa: PTH112 (a name that no Path takes is no folder)
        return _NO_PATH
    return match[0]
