"""What a test leaves changed, as a run records it: `app.py:REGISTRY`, `:os.environ`,
`conftest.py:db()`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Final

WORKING_FOLDER: Final = ":getcwd"
"""Every relative path starts from it."""
RANDOM: Final = ":random"
LOGGERS: Final = ":logging()"
"""Found by each test that logs."""
_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    ":environ": ("environ", "getenv"),
    RANDOM: ("random", *random.__all__),
    LOGGERS: ("logging",),
}
"""Place → the names by which code uses it; of all others their own."""
UNNAMED: Final = "()"
"""At the end of the name of what code uses by other names (`pytest_kl.states`)."""


def names_of(place: str) -> tuple[str, ...]:
    """The names by which code uses a place; of what the process has: its name, and its module."""
    if _is_of_process(place):
        return tuple(place[1:].split("."))
    return _NAMES.get(place, (place.rpartition(":")[2],))


def _is_of_process(place: str) -> bool:
    """Whether it is what the process has for all of its code, such as `:time.time`."""
    return place.startswith(":") and "." in place and not place.endswith(UNNAMED)


def is_for_all(place: str) -> bool:
    """Whether all tests use it, whatever their code names."""
    return place == WORKING_FOLDER or _is_of_process(place)


def is_stored(place: str) -> bool:
    """Whether it is a file, or the results of a function of the library that are cached."""
    return place.startswith(":") and place.endswith(UNNAMED) and place != LOGGERS


def place_in_words(place: str) -> str:
    """A place for a person: `REGISTRY of app.py`."""
    path, _, name = place.rpartition(":")
    name = name.removesuffix(UNNAMED)
    if name.startswith("#"):
        return "a file outside of the repository"
    if path:
        return f"{name} of {path}"
    return name


def name_of(place: str) -> str:
    """The name at the end of a place: a value may be used from another module than has it."""
    return place.rpartition(":")[2]
