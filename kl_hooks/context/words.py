"""The words that signals are read with, as data: what to ignore, what speaks of a failure, what ends a file name."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP: Final = _words(
    """
    the and for are but not you all any can had has have was were will with this that these those then than them they
    there their from into onto over under about after before again also because been being both cannot could does
    doing done each else ever every her here him his how its just like make more most much must need our out should
    some such too use used using very want what when where which while who why would your please
    """
)
"""Too common to point at anything; lower case."""

FAILURE: Final = _words(
    """
    error errors fail fails failed failing failure failures broken breaks crash crashes crashed exception exceptions
    invalid missing undefined wrong unexpected bug bugs issue problem
    """
)
"""Words that say something went wrong; lower case."""

FILE_ENDINGS: Final = _words(
    """
    py pyi pyx ipynb md rst txt toml yaml yml json jsonl ini cfg conf lock sql sh bash html css js jsx mjs ts tsx rs go
    java kt c cc cpp h hpp cs rb php xml csv tsv proto dockerfile
    """
)
"""What may follow the last dot of a word for it to be a file even without a folder before it."""
